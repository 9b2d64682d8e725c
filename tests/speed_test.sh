#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# speed_test.sh: tilec takes at most 100 ms for each example, start-up included, in at most 200 MB of
# memory. Counted is processor time, which is what it takes on a machine with nothing else to do: the
# median of 7 runs, the best of three tries. And what runs at its start, the constructors of LLVM that are
# in it, is within 2 MB.
# Usage: speed_test.sh PATH-TO-tilec
set -u
tilec=$(realpath "$1")
cd "$(dirname "$0")/.." || exit 2
limit_ms=100
limit_kb=200000
. tests/lib.sh
TIMEFORMAT='%U %S'

median_ms() {
    for _ in $(seq 7); do
        { time "$tilec" -Wno-perf "$1" -o /dev/null 2>/dev/null || echo failed; } 2>&1
    done | awk '{ print /failed/ ? "failed" : ($1 + $2) * 1000 }' | sort -n | sed -n 4p
}

# Address space is more than memory in use, so what fits here fits there.
fits() {
    (ulimit -v $limit_kb && exec "$tilec" -Wno-perf "$1" -o /dev/null)
}

for source in examples/*.tl; do
    for _ in 1 2 3; do
        took=$(median_ms "$source")
        case $took in *[!0-9]*) took=failed ;; esac
        [ "$took" = failed ] || [ "$took" -gt $limit_ms ] || break
    done
    printf '%-32s %4s ms\n' "$source" "$took"
    if [ "$took" != failed ] && [ "$took" -le $limit_ms ]; then pass; else fail "$source is slow"; fi
    ok "$source fits into $limit_kb kB" fits "$source"
done

# A kernel of many loops takes what its loops do, and no more for each by how many there are.
cat >"$work/loops.tl" <<'EOF'
import triton
import triton.language as tl


@triton.jit
def loops(a: "*fp16:16", b: "*fp16:16", c: "*fp32:16", K: "i32:16"):
    i, k = tl.arange(0, 64), tl.arange(0, 32)
    for _ in tl.static_range(100):
        sums = tl.zeros((64, 64), tl.float32)
        for at in range(0, K, 32):
            x = tl.load(a + i[:, None] * K + at + k[None, :])
            sums = tl.dot(x, tl.load(b + (at + k)[:, None] * 64 + i[None, :]), sums)
        tl.store(c + i[:, None] * 64 + i[None, :], sums)
        a += 64 * K
EOF
many_loops() {
    (ulimit -v $limit_kb && exec "$tilec" -Wno-perf --emit=layout "$work/loops.tl" -o /dev/null)
}
ok "100 loops fit into $limit_kb kB" many_loops

# From the first to the last, in kB; over a whole text of 30 MB each would take pages of its own.
spread=$(nm -n "$tilec" | awk '/ _GLOBAL__sub_I_/ { print $1 }' | sed -n '1p;$p')
set -- $spread
if [ $# -lt 2 ]; then
    skip # LLVM's shared library, or symbols stripped
else
    kb=$(((16#$2 - 16#$1) / 1024))
    if [ $kb -le 2048 ]; then pass; else fail "constructors are spread over $kb kB"; fi
fi
finish
