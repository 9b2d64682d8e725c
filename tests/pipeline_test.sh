#!/bin/bash
# pipeline_test.sh: the CPU device runs a pipelined kernel as it is, and finds what is wrong with it
# once a wait lets one group more be under way or a barrier is gone. Usage: pipeline_test.sh BUILD/bin
set -u
bin=$(realpath "$1")
cd "$(dirname "$0")/.."
. tests/lib.sh

# matmul FILE: runs it on numbers whose products and sums are exact
matmul() {
    "$bin/tilerun" "$1" --device=cpu a_ptr='randint(-4,4):fp16[192,192]' \
        b_ptr='randint(-4,4):fp16[192,192]' c_ptr='empty:fp16[192,192]' M=192 N=192 K=192 \
        stride_am=192 stride_ak=1 stride_bk=192 stride_bn=1 stride_cm=192 stride_cn=1 \
        --save=c_ptr="$work/c.npy" >"$work/log" 2>&1
}

# wrong TARGET SED-SCRIPT MESSAGE: changed so, the run fails and says so
wrong() {
    local rc=1
    sed "$2" "$work/$1.tir" >"$work/wrong.tir"
    if cmp -s "$work/$1.tir" "$work/wrong.tir"; then
        echo "nothing to change" >"$work/log"
    elif ! matmul "$work/wrong.tir"; then
        grep -q "$3" "$work/log" && rc=0
    fi
    count $rc "$1, $2: expected '$3'" "$work/log"
}

matmul examples/matmul.tl
count $? 'as lowered' "$work/log"
cp "$work/c.npy" "$work/want.npy"
for target in sm_80 sm_90a; do
    "$bin/tilec" --target=$target --emit=layout examples/matmul.tl -o "$work/$target.tir"
    matmul "$work/$target.tir" && cmp -s "$work/c.npy" "$work/want.npy"
    count $? "$target: pipelined, the same result" "$work/log"
done

"$bin/tilec" --target=sm_90a --num-stages=5 --emit=layout examples/matmul.tl -o "$work/once.tir"
matmul "$work/once.tir" && cmp -s "$work/c.npy" "$work/want.npy"
count $? 'with one barrier, the same result' "$work/log"
[ "$(sed -n '/= for/,/yield/p' "$work/once.tir" | grep -c barrier)" = 1 ]
count $? 'one barrier in the loop' "$work/once.tir"

landing='before the copy to it has landed' barrier='missing barrier'
wrong sm_80 's/async_wait pending=1/async_wait pending=2/' "$landing"
wrong sm_80 '/= for/,/barrier/{/barrier/d}' "$barrier"
wrong sm_90a 's/async_wait pending=1/async_wait pending=2/' "$landing"
wrong sm_90a 's/\(dot_wait .*\) pending=1/\1 pending=2/' 'while a dot may read it'
wrong sm_90a '/= for/,/barrier/{/barrier/d}' "$barrier"
# Other warps' dots may still read the slot after this one's wait.
wrong sm_90a '/dot_wait .* pending=1/,/barrier/{/barrier/d}' "$barrier"
# Where one barrier tells that copies have landed and that dots are done.
wrong once 's/async_wait pending=2/async_wait pending=3/' "$landing"
wrong once 's/async_wait pending=3/async_wait pending=4/' "$landing"
wrong once '/= for/,/barrier/{/barrier/d}' "$barrier"
wrong once '/async_fence/,/= for/{/barrier/d}' "$barrier"
wrong once 's/\(dot_wait .*\) pending=1/\1 pending=2/' 'while a dot may read it'
finish
