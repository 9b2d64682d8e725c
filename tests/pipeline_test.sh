#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# pipeline_test.sh: the CPU device runs a pipelined kernel as it is, and finds what is wrong with it
# once a wait lets one group more be in flight or a barrier is gone. Usage: pipeline_test.sh BUILD/bin
set -u
bin=$(realpath "$1")
cd "$(dirname "$0")/.."
. tests/lib.sh

# matmul FILE [ROWS]: runs it on numbers whose products and sums are exact. With 64 rows and columns the
# result is one tile, whose program has a multiprocessor to itself: a loop with more slices runs then.
matmul() {
    local n=${2:-192}
    "$bin/tilerun" "$1" --device=cpu a_ptr="randint(-4,4):fp16[$n,640]" \
        b_ptr="randint(-4,4):fp16[640,$n]" c_ptr="empty:fp16[$n,$n]" "M=$n" "N=$n" K=640 \
        stride_am=640 stride_ak=1 "stride_bk=$n" stride_bn=1 "stride_cm=$n" stride_cn=1 \
        --save=c_ptr="$work/c.npy" >"$work/log" 2>&1
}

# wrong TARGET SED-SCRIPT MESSAGE [ROWS]: changed so, the run fails and says so
wrong() {
    local rc=1
    sed "$2" "$work/$1.tir" >"$work/wrong.tir"
    if cmp -s "$work/$1.tir" "$work/wrong.tir"; then
        echo "nothing to change" >"$work/log"
    elif ! matmul "$work/wrong.tir" "${4:-}"; then
        grep -q "$3" "$work/log" && rc=0
    fi
    count $rc "$1, $2: expected '$3'" "$work/log"
}

for n in 192 64; do
    matmul examples/matmul.tl $n
    count $? "as lowered, $n" "$work/log"
    cp "$work/c.npy" "$work/want$n.npy"
done
"$bin/tilec" --single-entry --target=sm_90a --num-stages=5 --emit=layout examples/matmul.tl -o "$work/once.tir"
[ "$(sed -n '/= for/,/yield/p' "$work/once.tir" | grep -c barrier)" = 2 ]
count $? 'one barrier in each of two loops' "$work/once.tir"
"$bin/tilec" --single-entry --target=sm_90a -D BM=128 -D BN=256 --num-warps=8 --num-stages=3 --emit=layout \
    examples/matmul.tl -o "$work/slack.tir"
grep -q '<4 x ' "$work/slack.tir" && grep -q 'async_wait .* pending=1' "$work/slack.tir" &&
    [ "$(sed -n '/= for/,/yield/p' "$work/slack.tir" | grep -c barrier)" = 1 ]
count $? 'a slack slice' "$work/slack.tir"
for target in sm_80 sm_90a once slack; do
    [ -s "$work/$target.tir" ] ||
        "$bin/tilec" --single-entry --target=$target --emit=layout examples/matmul.tl -o "$work/$target.tir"
    for n in 192 64; do
        matmul "$work/$target.tir" $n && cmp -s "$work/c.npy" "$work/want$n.npy"
        count $? "$target: pipelined, $n: the same result" "$work/log"
    done
done

landing='the one that it is for among them' barrier='missing barrier'
wrong sm_80 's/\(async_wait .*\)pending=1/\1pending=2/' "$landing"
wrong sm_80 '/= for/,/async_wait/{/async_wait/d}' 'before the copy to it has landed'
wrong sm_80 '/= for/,/barrier/{/barrier/d}' "$barrier"
wrong sm_90a 's/\(async_wait .*\)pending=1/\1pending=2/' "$landing"
wrong sm_90a 's/\(async_wait .*\)pending=4/\1pending=5/' "$landing" 64
wrong sm_90a 's/<6 x /<5 x /' 'no such slice' 64
wrong sm_90a 's/\(dot_wait .*\) pending=1/\1 pending=2/' 'while a dot may read it'
wrong sm_90a '/= for/,/barrier/{/barrier/d}' "$barrier"
# Other warps' dots may still read the slot after this one's wait.
wrong sm_90a '/dot_wait .* pending=1/,/barrier/{/barrier/d}' "$barrier"
# Where one barrier tells that copies have landed and that dots are done.
wrong once 's/\(async_wait .*\)pending=2/\1pending=3/' "$landing"
wrong once 's/\(async_wait .*\)pending=3/\1pending=4/' "$landing"
wrong once 's/\(async_wait .*\)pending=5/\1pending=6/' "$landing" 64
wrong once 's/\(async_wait .*\)pending=6/\1pending=7/' "$landing" 64
wrong once '/= for/,/barrier/{/barrier/d}' "$barrier"
wrong once '/async_fence/,/= for/{/barrier/d}' "$barrier"
wrong once 's/\(dot_wait .*\) pending=1/\1 pending=2/' 'while a dot may read it'
# Where copies start at once.
wrong slack 's/\(async_wait .*\)pending=1/\1pending=2/' "$landing"
wrong slack 's/<4 x /<3 x /' 'no such slice'
wrong slack '/= for/,/barrier/{/barrier/d}' "$barrier"
wrong slack 's/\(dot_wait .*\) pending=1/\1 pending=2/' 'while a dot may read it'
finish
