#!/bin/bash
# speed_test.sh: tilec takes at most 100 ms for examples/matmul.tl, start-up included (median of 20,
# the best of three tries, for the machine may be busy). Usage: speed_test.sh PATH-TO-tilec
set -eu
tilec=$(realpath "$1")
cd "$(dirname "$0")/.."
limit_us=100000

median_us() {
    for _ in $(seq 20); do
        local start=${EPOCHREALTIME/[.,]/}
        "$tilec" -Wno-perf examples/matmul.tl -o /dev/null
        echo $((${EPOCHREALTIME/[.,]/} - start))
    done | sort -n | sed -n 10p
}
for _ in 1 2 3; do
    took=$(median_us)
    echo "tilec examples/matmul.tl: $((took / 1000)) ms"
    if [ "$took" -le "$limit_us" ]; then
        echo "1 passed, 0 failed"
        exit 0
    fi
done
echo "0 passed, 1 failed"
exit 1
