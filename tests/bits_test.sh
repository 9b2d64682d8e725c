#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# bits_test.sh: that --same-bits finds other bits, and what tests/record_bits.py makes of the runs of two devices.
# Usage: bits_test.sh BIN
set -u
bin=$(realpath "$1")
cd "$(dirname "$0")/.."
. tests/lib.sh
tab=$'\t'

# run OPTION…: the launches of one kernel; the code in $code, what it said in $work/said
run() {
    "$bin/tile-kernels" --device=ptx --size=tiny --kernel=scan "$@" >"$work/said" 2>&1
    code=$?
}
# says NAME TEXT
says() {
    if grep -qF -- "$2" "$work/said"; then pass; else fail "$1" "$work/said"; fi
}
# is NAME CODE
is() {
    if [ "$code" -eq "$2" ]; then pass; else fail "$1: exit code $code" "$work/said"; fi
}

run --bits="$work/one"
is 'bits are written' 0
ok 'a line for each launch' sh -c "[ \$(wc -l <'$work/one') -eq 8 ]"
ok 'its form' grep -qxE "[0-9a-f]{16}${tab}sm_90a${tab}run/scan i32\[512\], i32\[2560\]; H=16 W=32" "$work/one"
run --bits="$work/two"
ok 'twice the same' cmp "$work/one" "$work/two"
run --same-bits="$work/one"
is 'the same bits' 0
says 'all are compared' '8 the same, 0 others, 0 open (~); cases that it does not have: 0; lines without a case: 0'

sed '3s/^.\{16\}/0123456789abcdef/' "$work/one" >"$work/other"
run --same-bits="$work/other"
is 'another hash' 5
says 'which case' 'other bits than'
says 'how many' '7 the same, 1 others'
sed '3s/^[^\t]*/~/' "$work/other" >"$work/open"
run --same-bits="$work/open"
is 'a case that may differ' 0
says 'it is counted' '7 the same, 0 others, 1 open (~)'
{
    sed 2d "$work/one"
    printf '0123456789abcdef\tsm_80,sm_90a\trun/gone i32[1]\n'
    printf '0123456789abcdef\tsm_80\trun/another i32[1]\n'
} >"$work/older"
run --same-bits="$work/older"
is 'a test was added, another taken away' 0
says 'which was added' 'not in '
says 'both are counted' 'cases that it does not have: 1; lines without a case: 1'
grep -v sm_90a "$work/older" >"$work/sm_80"
run --same-bits="$work/sm_80"
is 'a file of another target' 2
run --same-bits="$work/none"
is 'no file' 2

"$bin/tile-kernels" --device=ptx --size=tiny --kernel=math --bits="$work/math" >"$work/said"
ok 'inexact instructions' grep -qE "${tab}ex2,rsqrt,sqrt,div,contract,abs$" "$work/math"
"$bin/tile-kernels" --device=ptx:sm_80 --size=tiny --kernel=dot-types --bits="$work/dot" >"$work/said"
ok 'of products of floats' grep -qE "fp16\[.*${tab}mma\$" "$work/dot"
ok 'not of integers' grep -qE ' i8\[.* K=64$' "$work/dot"

"$bin/tile-conformance" --device=ptx --rule=atomic --bits="$work/rules" >"$work/said" 2>&1
ok 'rules' grep -qE "${tab}rule atomic-xchg.tl, T = u32, 4 warps${tab}atom" "$work/rules"
"$bin/tile-conformance" --device=ptx --only='i32,i32,x + y' --bits="$work/rows" >"$work/said" 2>&1
ok 'rows' grep -qxE "[0-9a-f]{16}${tab}sm_90a${tab}i32, i32: x \+ y" "$work/rows"

# Runs of a program that does not exist: two on the GPU, one on the machine.
python3 - >"$work/said" 2>&1 <<'PY'
import sys
sys.path.insert(0, "tests")
from types import SimpleNamespace as Space
from record_bits import judge
def judged(*cases):
    done = Space(returncode=0)
    return judge([Space(done=done, name="n", target="t", command="", case={"c": c} if c else {}) for c in cases])
mma, none = "mma", ""
checks = [
    (judged(("1", none), ("1", none), ("1", none)), {"c": ("1", "")}, 0),
    (judged(("1", mma), ("1", mma), ("1", mma)), {"c": ("1", "")}, 0),
    (judged(("1", mma), ("1", mma), ("2", mma)), {"c": ("~", "mma")}, 0),
    (judged(("1", mma), ("3", mma), ("1", mma)), {"c": ("~", "mma")}, 0),
    (judged(("1", none), ("1", none), ("2", none)), {}, 1),
    (judged(("1", none), ("2", none), ("1", none)), {}, 1),
    (judged(("1", none), ("1", none), None), {}, 1),
]
for (lines, errors), want, wrong in checks:
    assert (lines, len(errors)) == (want, wrong), (lines, errors, want, wrong)
PY
code=$?
is 'what is recorded' 0

finish
