#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# config_test.sh: matmul in every tile shape of the list, for both generations of matrix instructions:
# assembled with no spills, no stack frame and no serialised wgmma.
# Usage: config_test.sh PATH-TO-tilec [TYPE…]
set -u
tilec=$(realpath "$1")
shift
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
types=("$@")
[ $# -gt 0 ] || types=(fp16 bf16 fp32 fp8e4nv i8)
export work tilec
configs=$(grep -hv '^#' bench/matmul_configs.txt bench/matmul_more.txt) # BM BN BK warps stages

# one TYPE TARGET BM BN BK WARPS STAGES: a line `ok`, `skip` or what is wrong
one() {
    local type=$1 target=$2 bm=$3 bn=$4 bk=$5 warps=$6 stages=$7 c=$1 acc=tl.float32 name
    case $type in
    fp32) bk=$((bk / 2)) ;;
    fp8e4nv) bk=$((bk * 2)) c=fp32 ;;
    i8) bk=$((bk * 2)) c=i32 acc=tl.int32 ;;
    esac
    name=$work/$type.$target.$bm.$bn.$bk.$warps.$stages
    local signature="a_ptr=*$type:16,b_ptr=*$type:16,c_ptr=*$c:16,M=i32,N=i32:16,K=i32:16"
    signature+=',stride_am=i32:16,stride_ak=i32:1,stride_cm=i32:16,stride_cn=i32:1'
    # Operands of one byte, and TF32, only have instructions for a B whose columns are contiguous.
    case $type in
    *16) signature+=',stride_bk=i32:16,stride_bn=i32:1' ;;
    *) signature+=',stride_bk=i32:1,stride_bn=i32:16' ;;
    esac
    if ! "$tilec" examples/matmul.tl --target="$target" -s "$signature" -D BM="$bm" -D BN="$bn" \
        -D BK="$bk" -D ACC="$acc" --num-warps="$warps" --num-stages="$stages" -o "$name.ptx" 2>"$name.log"; then
        echo "$name: $(cat "$name.log")"
        return
    fi
    # So many sums leave threads that also copy too few registers: such tiles are for further entries.
    local entry=
    [ $((bm * bn)) -le $((128 * 32 * warps)) ] || entry=matmul__persistent
    ENTRY=$entry tests/tools/ptxas-check "$name.ptx" "$target" >"$name.log" 2>&1
    case $? in
    0) echo ok ;;
    77) echo skip ;;
    *) echo "$name: $(cat "$name.log")" ;;
    esac
}
export -f one

for type in "${types[@]}"; do
    for target in sm_80 sm_90a; do
        sed "s/^/$type $target /" <<<"$configs"
    done
    # 16 warps are for three warpgroups of factors of 16 bits: in other entries so many threads have 128 registers each,
    # with sums of 256x256. So are tiles of more than 128 sums of a thread.
done | awk '($6 < 16 && $3 * $4 <= 128 * 32 * $6) || $1 ~ /16$/ && $2 == "sm_90a"' | xargs -P "$(nproc)" -L 1 bash -c 'one "$@"' one >"$work/results"
grep -vE '^(ok|skip)$' "$work/results" | sed "s|$work/||"
failed=$(grep -cvE '^(ok|skip)$' "$work/results")
echo "$(grep -c '^ok$' "$work/results") passed, $failed failed, $(grep -c '^skip$' "$work/results") skipped"
[ "$failed" = 0 ]
