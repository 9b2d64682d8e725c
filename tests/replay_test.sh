#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# tests/replay_test.sh TILEC: scripts/replay finds no difference between a tilec and itself, and names
# what differs from one whose PTX is another, that compiles less, or that is none. Ends with
# `N passed, N failed`.
set -u
tilec=$(realpath "$1")
cd "$(dirname "$0")/.."
. tests/lib.sh

# replay CODE NAME BASE PATTERN…: ends with that code and prints lines that match
replay() {
    local code=$1 name=$2 base=$3 rc pattern
    shift 3
    scripts/replay "$base" --target=sm_80 --from=examples --only=vector_add --keep="$work/kept" >"$work/log" 2>&1
    rc=$?
    [ $rc -eq "$code" ] || { fail "$name: exit code $rc, not $code" "$work/log"; return; }
    for pattern in "$@"; do
        grep -qE -e "$pattern" "$work/log" || { fail "$name: no $pattern" "$work/log"; return; }
    done
    pass
}

# other NAME COMMANDS: a tilec that does something else with what it printed
other() {
    printf '#!/bin/bash\nset -o pipefail\n"%s" "$@" | %s\n' "$tilec" "$2" >"$work/$1"
    chmod +x "$work/$1"
}

other commented "sed 's,^//.*LLVM.*,// another comment,'"
other another "sed '0,/add\(.rn\)\?.f32/s//sub.f32/'"
other renamed "sed 's/%r1\\b/%r9999/g'"
other launched "sed 's/\"num_warps\": 4/\"num_warps\": 8/'"
other broken '{ cat >/dev/null; echo "x.tl:1:1: error: no such thing" >&2; exit 1; }'

replay 0 'the same' "$tilec" '^0 of [1-9][0-9]* differ, 0 compile .*, 0 in neither$'
replay 0 'a comment' "$work/commented" '^0 of [1-9]'
[ ! -e "$work/kept" ] && pass || fail 'what is the same is kept'
replay 1 'an instruction' "$work/another" ' -> .*examples/vector_add.tl sm_80.*: .*\+1 add(\.rn)?\.f32.*-1 sub.f32' \
    '^of these: instructions ([0-9]+) -> \1,'
ls "$work"/kept/base/examples_vector_add.tl_sm_80.ptx "$work"/kept/new/examples_vector_add.tl_sm_80.ptx \
    >/dev/null && pass || fail 'what differs is not kept'
replay 1 'a name' "$work/renamed" ': the same instructions, other operands' ' have the same instructions'
replay 1 'a launch' "$work/launched" ' -> .*examples/vector_add.tl'
replay 1 'an error' "$work/broken" '^    base: no such thing' '^    new:  compiles' \
    '^0 of 0 differ, [1-9][0-9]* compile in one'
scripts/replay "$tilec" --from=kernels --only='dot.tl' --target=sm_90a >"$work/log" 2>&1
count $? 'kernels of the tests' "$work/log"
printf '# comment\n%s\n' "--target=sm_80 examples/vector_add.tl -D 'BLOCK=256'" >"$work/list"
scripts/replay "$tilec" --list="$work/list" --from=examples --only="$work/list:2" >"$work/log" 2>&1
grep -q '^0 of 1 differ' "$work/log" && pass || fail 'a list' "$work/log"
replay 2 'no version' no-such-commit "'no-such-commit' is neither a commit nor a program"
finish
