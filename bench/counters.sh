#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# bench/counters.sh [FOLDER [OUT]]: what one launch of examples/matmul.tl at 4096 does, by the hardware's
# counters (ncu), for the main configs and both targets: shared-memory bank conflicts of loads and
# stores, the share of global reads that hit L2, the registers of a thread; the sectors of 32 bytes that
# multiprocessors ask for, those that L2 is asked for when requests are merged, and the cycles in which
# shared memory is busy of those of the multiprocessors; then the same for rows of a, b or both that are 8 or
# 16 elements longer; then the naive order and the swizzled one at 16384. FOLDER is a stage or a build
# folder (default: the one this script lies in); counters.csv goes to OUT (default: the working directory). Exit code 77
# without ncu.
set -euo pipefail
root=$(realpath "$(dirname "$0")/..")
default=$root/build
[ ! -x "$root/bin/tilerun" ] || default=$root
folder=$(realpath "${1:-$default}")
out=$(realpath "${2:-.}")
cd "$root"
tilerun=$folder/bin/tilerun
[ -x "$tilerun" ] || { echo "no $tilerun: run scripts/build" >&2; exit 2; }
command -v ncu >/dev/null || { echo "ncu is not there" >&2; exit 77; }
size=${SIZE:-4096} large=${LARGE:-16384}
shared=l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op
metrics=${shared}_ld.sum,${shared}_st.sum,lts__t_sector_op_read_hit_rate.pct,launch__registers_per_thread
metrics+=,gpu__time_duration.sum
asked=l1tex__m_xbar2l1tex_read_sectors.sum merged=lts__t_sectors_srcunit_tex_op_read.sum
busy=l1tex__data_pipe_lsu_wavefronts.sum cycles=sm__cycles_active.sum
metrics+=,$asked,$merged,$busy,$cycles
failed=0

# measure TARGET LABEL SOURCE SWIZZLE BM BN BK WARPS STAGES [LONGER_A LONGER_B]: a line
# "TARGET,LABEL,metric,value" for each; the last two: elements that rows are longer by
measure() {
    local target=$1 label=$2 source=$3 swizzle=$4
    local flags=(-D "BM=$5" -D "BN=$6" -D "BK=$7" "--num-warps=$8" "--num-stages=$9")
    local a_row=$((size + ${10:-0})) b_row=$((size + ${11:-0}))
    [ -z "$swizzle" ] || flags+=("--swizzle-grid=$swizzle")
    [ "$source" != bench/matmul_types.tl ] ||
        flags+=(-D ACC=tl.float32 -D PRECISION=tf32 -D ALIGN=8 -D GROUP_M=8)
    ncu --csv --print-units base --clock-control none --launch-count 1 --kernel-name "regex:matmul" --metrics "$metrics" \
        "$tilerun" "$source" --device=cuda --target="$target" "${flags[@]}" \
        "a_ptr=randn:fp16[$size,$a_row]" "b_ptr=randn:fp16[$size,$b_row]" "c_ptr=empty:fp16[$size,$size]" \
        "M=$size" "N=$size" "K=$size" "stride_am=$a_row" stride_ak=1 "stride_bk=$b_row" stride_bn=1 \
        "stride_cm=$size" stride_cn=1 2>&1 </dev/null |
        awk -F'","' -v head="$target,$label" '
            /"ID"/ { for (i = 1; i <= NF; i++) { if ($i == "Metric Name") n = i; if ($i ~ /^Metric Value/) v = i } next }
            n { value = $v; gsub(/[",]/, "", value); print head "," $n "," value; seen = 1; next }
            { said = said "\n" $0 }
            END {
                if (seen) exit 0
                print "counters.sh: " head ":" said > "/dev/stderr"
                exit 5
            }'
}

csv=$out/counters.csv
echo "target,config,metric,value" >"$csv"
for target in sm_90a sm_80; do
    while read -r config; do
        [ -n "$config" ] || continue
        # shellcheck disable=SC2086
        measure "$target" "grouped $config" examples/matmul.tl "" $config >>"$csv" || failed=5
    done <<'END'
128 256 64 8 3
128 256 64 8 4
128 128 64 8 4
128 128 64 4 4
64 128 32 4 4
END
done
# Rows out of step with the caches' lines (16) and with their sectors (8).
for longer in "0 0" "16 0" "0 16" "8 0" "0 8" "8 8"; do
    # shellcheck disable=SC2086
    measure sm_90a "rows +${longer/ / +}" bench/matmul_types.tl "" 128 256 64 8 4 $longer >>"$csv" || failed=5
done
# What the order of programs does for L2 shows where a row of blocks is more than L2 holds.
size=$large
measure sm_90a "$large naive 128 256 64 8 3" examples/matmul_naive.tl "" 128 256 64 8 3 >>"$csv" || failed=5
measure sm_90a "$large naive G=8 128 256 64 8 3" examples/matmul_naive.tl 8 128 256 64 8 3 >>"$csv" || failed=5
# A row for each config; columns are the metrics.
awk -F, 'NR > 1 {
    row = $1 " " $2
    if (!(row in seen)) { seen[row] = ++rows; name[rows] = row }
    value[row, $3] = $4
} END {
    printf "%-34s %12s %12s %8s %5s %10s %8s %8s %6s\n", "launch, at '"${SIZE:-4096}"' if not said", "conflicts ld",
        "conflicts st", "L2 hit %", "regs", "µs", "asked M", "of L2 M", "busy %"
    for (i = 1; i <= rows; i++) {
        r = name[i]
        all = value[r, "'"$cycles"'"]
        printf "%-34s %12s %12s %8s %5s %10.1f %8.1f %8.1f %6.1f\n", r, value[r, "'"$shared"'_ld.sum"],
            value[r, "'"$shared"'_st.sum"], value[r, "lts__t_sector_op_read_hit_rate.pct"],
            value[r, "launch__registers_per_thread"], value[r, "gpu__time_duration.sum"] / 1000,
            value[r, "'"$asked"'"] / 1e6, value[r, "'"$merged"'"] / 1e6, all ? 100 * value[r, "'"$busy"'"] / all : 0
    }
}' "$csv"
exit $failed
