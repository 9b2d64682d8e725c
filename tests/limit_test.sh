#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# tests/limit_test.sh TILEC: the worst case of each limit (tests/{frontend,codegen}/limit-*.tl) ends in
# its error within 2 seconds; what is large and within all limits (tests/codegen/large-*.tl) is PTX
# within 1 second, and so are three that are written here. Each within 1 GiB. Seconds are the processor's, so that it does not matter what else
# runs here. Ends with `N passed, N failed`.
set -u
cd "$(dirname "$0")/.."
tilec=$1
. tests/lib.sh

# ends FILE CODE MS SUFFIX: counts how tilec ends with the options in the file's RUN line
ends() {
    local file=$1 code=$2 most=$3 options rc ms TIMEFORMAT='%3U %3S'
    options=$(sed -n 's/^# RUN: tilec \(.*\)%s.*/\1/p' "$file")
    # shellcheck disable=SC2086 # options are words
    {
        time (ulimit -v $((1024 * 1024)) &&
            timeout 60 "$tilec" $options -Wno-perf "$file" -o "$work/x.${4}" >"$work/log" 2>&1)
        rc=$?
    } 2>"$work/time"
    ms=$(awk '{ print int(($1 + $2) * 1000) }' "$work/time")
    if [ $rc -eq "$code" ] && [ $ms -le "$most" ] && { [ "$code" -eq 0 ] || grep -q ': error: ' "$work/log"; }
    then
        pass
    else
        fail "$file: exit code $rc after $ms ms (want $code within $most)" "$work/log"
    fi
}

for file in tests/frontend/limit-*.tl; do ends "$file" 1 2000 tir; done
for file in tests/codegen/limit-*.tl; do ends "$file" 1 2000 ptx; done
for file in tests/codegen/large-*.tl; do ends "$file" 0 1500 ptx; done

# Thousands of ops with regions, each in time and memory of its own size: maps of the same tiles, which `cse` tells
# apart, and sines, which are maps behind `math`.
{
    printf '%s\n' '# RUN: tilec --passes=cse,dce %s' 'import triton' 'import triton.language as tl'
    for ((i = 0; i < 2000; i++)); do
        printf '@triton.jit\ndef f%d(a, n):\n    if a > 0:\n        a = a * n + %d\n    return a\n' $i $i
    done
    printf '%s\n' '@triton.jit' 'def maps(p: "*i32"):' '    x = tl.load(p + tl.arange(0, 32))' '    s = x'
    for ((i = 0; i < 2000; i++)); do echo "    s += tl.map_elementwise(f$i, x, x)"; done
    echo '    tl.store(p + tl.arange(0, 32), s)'
} >"$work/maps.tl"
cat >"$work/sines.tl" <<'.'
# RUN: tilec --passes=math,cse,dce %s
import triton
import triton.language as tl
@triton.jit
def sines(p: "*fp32"):
    x = tl.load(p + tl.arange(0, 32))
    s = x
    for i in tl.static_range(1500):
        s += tl.sin(x + i)
    tl.store(p + tl.arange(0, 32), s)
.
# Ten thousand changes of the shape of what is repeated: `layout` asks of each whether it is.
cat >"$work/turns.tl" <<'.'
# RUN: tilec --passes=fold,cse,dce,layout %s
import triton
import triton.language as tl
@triton.jit
def turns(p: "*i32", q: "*i32"):
    i = tl.arange(0, 64)
    j = tl.arange(0, 16)
    w = tl.broadcast_to(tl.load(p + tl.load(q + i))[:, None], (64, 16))
    for n in tl.static_range(100):
        for m in tl.static_range(100):
            w = tl.trans(tl.reshape(w, (16, 64)))
    tl.store(p + j[None, :] * 64 + i[:, None], w)
.
for file in "$work"/maps.tl "$work"/sines.tl "$work"/turns.tl; do ends "$file" 0 1500 tir; done
finish && [ "$passed" -gt 0 ]
