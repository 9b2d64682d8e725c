#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# same_test.sh FOLDER/bin [DEVICE [SIZE]]: whole numbers multiplied by every config of
# bench/matmul_configs.txt give the same bits, and normal numbers the same bits in every run; compiled for
# both targets. DEVICE: cuda, or cpu (when not said), which runs the tile IR after all passes.
set -u
bin=$(realpath "$1")
device=${2:-cpu}
cd "$(dirname "$0")/.."
. tests/lib.sh
m=${3:-256} n=${3:-256} k=${3:-192}

# matmul TARGET NUMBERS OUT M N K WARPS STAGES
matmul() {
    local target=$1 numbers=$2 out=$3 kernel=examples/matmul.tl
    local flags=(-D "BM=$4" -D "BN=$5" -D "BK=$6" "--num-warps=$7" "--num-stages=$8" "--target=$target")
    if [ "$device" = cpu ]; then
        kernel=$work/kernel.tir
        "$bin/tilec" "${flags[@]}" -Wno-perf --emit=layout examples/matmul.tl -o "$kernel" >"$work/log" 2>&1 ||
            return
        flags=()
    fi
    "$bin/tilerun" "$kernel" --device="$device" "${flags[@]}" "a_ptr=$numbers:fp16[$m,$k]" \
        "b_ptr=$numbers:fp16[$k,$n]" "c_ptr=empty:fp16[$m,$n]" M=$m N=$n K=$k stride_am=$k stride_ak=1 \
        stride_bk=$n stride_bn=1 stride_cm=$n stride_cn=1 --save=c_ptr="$out" >"$work/log" 2>&1
}

for target in sm_80 sm_90a; do
    while read -r config; do
        name=$target-${config// /-}
        # shellcheck disable=SC2086
        matmul "$target" 'randint(-2,3)' "$work/$name.npy" $config && {
            [ -f "$work/want.npy" ] || cp "$work/$name.npy" "$work/want.npy"
            cmp "$work/$name.npy" "$work/want.npy" >"$work/log" 2>&1
        }
        count $? "$name: whole numbers" "$work/log"
        for run in 1 2; do
            # shellcheck disable=SC2086
            matmul "$target" randn "$work/run$run.npy" $config
        done
        cmp "$work/run1.npy" "$work/run2.npy" >"$work/log" 2>&1
        count $? "$name: two runs" "$work/log"
        rm -f "$work"/run?.npy "$work/$name.npy"
    done < <(grep -v '^#' bench/matmul_configs.txt)
done
finish
