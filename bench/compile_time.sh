#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# bench/compile_time.sh [TILEC]: the median time of 20 runs of `tilec FILE -o …`, process start
# included, for every example.
set -euo pipefail
tilec=$(realpath "${1:-build/bin/tilec}")
cd "$(dirname "$0")/.."
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
runs=20
for source in examples/*.tl; do
    for _ in $(seq $runs); do
        start=$EPOCHREALTIME
        "$tilec" "$source" -o "$out/x.ptx" >/dev/null 2>&1
        end=$EPOCHREALTIME
        echo $((${end/./} - ${start/./}))
    done | sort -n | awk -v name="$source" -v runs=$runs '
        { t[NR] = $1 }
        END { printf "%-26s %6.1f ms (%.1f to %.1f)\n", name,
              (t[runs / 2] + t[runs / 2 + 1]) / 2000, t[1] / 1000, t[runs] / 1000 }'
done
