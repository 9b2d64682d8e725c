#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# bench/tune.sh [FOLDER [OUT]]: how long it takes to choose among 14 configs of
# examples/matmul_autotuned.tl at 4096 and 8192, everything compiled anew: `tilerun --tune`, and Triton's
# autotuner on the same source where Python has PyTorch and Triton. FOLDER is a stage or a build folder
# (default: the one this script lies in); the tuning file, the logs and tune.csv go to OUT (default: the
# working directory). SIZES="256 512" takes others, DEVICE=cpu another device. Exit code 77 without a GPU.
set -euo pipefail
root=$(realpath "$(dirname "$0")/..")
default=$root/build
[ ! -x "$root/bin/tilerun" ] || default=$root
folder=$(realpath "${1:-$default}")
out=$(realpath "${2:-.}")
tilerun=$folder/bin/tilerun
[ -x "$tilerun" ] || { echo "no $tilerun: run scripts/build" >&2; exit 2; }
device=${DEVICE:-cuda}
read -ra sizes <<<"${SIZES:-4096 8192}"

configs=$(grep -v '^#' "$root/bench/matmul_configs.txt") # BM BN BK warps stages

# The example with this list in place of its own; Triton reads the same file.
source=$out/matmul_14.py
awk -v configs="$configs" '
    /^    configs=\[/ {
        print
        n = split(configs, line, "\n")
        for (i = 1; i <= n; i++) {
            split(line[i], c, " ")
            printf "        triton.Config({\"BM\": %d, \"BN\": %d, \"BK\": %d, \"GROUP_M\": 8}, num_warps=%d, num_stages=%d),\n",
                   c[1], c[2], c[3], c[4], c[5]
        }
        skipping = 1
        next
    }
    /^    \],/ { skipping = 0 }
    !skipping' "$root/examples/matmul_autotuned.tl" >"$source"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
csv=$out/tune.csv
echo 'who,size,seconds,config,milliseconds' >"$csv"
rm -f "$out/tuning.json"
for n in "${sizes[@]}"; do
    rc=0
    "$tilerun" "$source" --device="$device" --check=none --kernel=matmul_autotuned --tune \
        --tuning="$out/tuning.json" --json "a_ptr=randn:fp16[$n,$n]" "b_ptr=randn:fp16[$n,$n]" \
        "c_ptr=empty:fp16[$n,$n]" "M=$n" "N=$n" "K=$n" "stride_am=$n" stride_ak=1 "stride_bk=$n" \
        stride_bn=1 "stride_cm=$n" stride_cn=1 >"$work/ours.json" 2>"$out/tune_$n.log" || rc=$?
    if [ "$rc" -ne 0 ]; then
        cat "$out/tune_$n.log" >&2
        ! grep -q 'no device:' "$out/tune_$n.log" || exit 77
        exit 5
    fi
    sed -n 's/.*"\(seconds\|best\)": "\{0,1\}\([^"]*[^",]\)"\{0,1\},*$/\1 \2/p' "$work/ours.json" >"$work/ours"
    seconds=$(awk '$1 == "seconds" { print $2 }' "$work/ours")
    best=$(awk '$1 == "best" { print $2 }' "$work/ours")
    ms=$(grep -F "$best: " "$out/tune_$n.log" | awk '{ print $2 }' | tail -1)
    echo "ours,$n,$seconds,\"$best\",$ms" >>"$csv"
    grep -c ' ms (' "$out/tune_$n.log" >"$work/count" || true
    [ "$(cat "$work/count")" -gt 0 ] || exit 5
done
if [ "$device" != cpu ] && python3 -c 'import torch, triton; assert torch.cuda.is_available()' 2>/dev/null; then
    for n in "${sizes[@]}"; do
        TRITON_CACHE_DIR=$work/cache-$n python3 "$root/bench/tune_triton.py" "$source" "$n" >>"$csv"
    done
else
    echo "tune.sh: no Triton with a GPU here: ours alone" >&2
fi
echo
cat "$csv"
