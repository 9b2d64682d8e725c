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

# Two projects, of which one is checked out, with another commit than the list has.
mkdir -p "$work/public/adders"
cp examples/vector_add.tl "$work/public/adders/add.tl"
printf '%s\n' 'repository adders https://example.org/adders 0123456789' '' \
    "add.tl --kernel=vector_add -s '*fp32,*fp32,*fp32,i32' -D BLOCK=256  # one" 'gone.tl --kernel=add' \
    'repository other https://example.org/other 0123456789' 'x.tl --kernel=x' >"$work/list"
public() {
    local code=$1 name=$2 pattern
    scripts/replay "$tilec" --from= --public="$work/public" --list="$work/list" >"$work/log" 2>&1
    [ $? -eq "$code" ] || { fail "$name: another exit code than $code" "$work/log"; return; }
    for pattern in "${@:3}"; do
        grep -qE -e "$pattern" "$work/log" || { fail "$name: no $pattern" "$work/log"; return; }
    done
    pass
}
public 0 'public kernels' '^0 of 2 differ, .*, 0 in neither$' 'adders has no gone.tl .line 4.' \
    'public/other is not there: git clone https://example.org/other .*/other && git -C .*/other checkout 0123456789'
git -C "$work/public/adders" init -q
git -C "$work/public/adders" -c user.name=x -c user.email=x@example.org commit -q --allow-empty -m x
public 0 'another commit' 'adders is at [0-9a-f]{12}: git -C .*/adders checkout 0123456789' '^0 of 2 differ'
rm -r "$work/public/adders"
public 2 'no checkout' 'there is nothing to compile'
scripts/replay "$tilec" --list="$work/list" >"$work/log" 2>&1
[ $? -eq 2 ] && grep -q 'list:1: it needs --public' "$work/log" && pass || fail 'no --public' "$work/log"
# Every line of the list that is kept is one of tilec's; the files are not here.
missing=$(mktemp -d -p "$work")
awk '$1 == "repository" { print $2 }' tests/replay/public.list | (cd "$missing" && xargs mkdir)
scripts/replay "$tilec" --from= --public="$missing" >"$work/log" 2>&1
[ "$(grep -c ' has no .* (line [0-9]*)$' "$work/log")" -eq "$(grep -c -- ' --kernel=' tests/replay/public.list)" ] &&
    pass || fail 'the list that is kept' "$work/log"

replay 2 'no version' no-such-commit "'no-such-commit' is neither a commit nor a program"
finish
