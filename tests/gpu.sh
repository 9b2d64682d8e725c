#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# tests/gpu.sh [STAGE [OUT]]: everything that needs a GPU, in one go of some minutes, from what
# scripts/stage collected (default: stage). One log and the benches' CSV files go to OUT (default: the
# working directory); a line for each step comes last. Exit code 5 when a step failed.
set -u
stage=$(realpath "${1:-stage}")
out=$(realpath "${2:-.}")
cd "$stage" || exit 2
log=$out/gpu.log
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
table=$work/table
: >"$table"
: >"$log"
status=0

# step SECONDS NAME COMMAND…: its last line, and the whole in the log
step() {
    local limit=$1 name=$2 rc verdict started=$SECONDS
    shift 2
    printf '\n==== %s: %s\n' "$name" "$*" >>"$log"
    timeout "$limit" "$@" >"$work/step" 2>&1
    rc=$?
    cat "$work/step" >>"$log"
    case $rc in
    0) verdict=ok ;;
    77) verdict=skipped ;;
    124) verdict="TIME OVER" status=5 ;;
    *) verdict="FAILED ($rc)" status=5 ;;
    esac
    printf '%-34s %-12s %4ds  %s\n' "$name" "$verdict" $((SECONDS - started)) \
        "$(grep -v '^ *$' "$work/step" | tail -1)" | tee -a "$table"
    [ "$verdict" = ok ] || [ "$verdict" = skipped ] || grep -v '^ *$' "$work/step" | head -40
}

# sanitize TOOL COMMAND…
sanitize() {
    local tool=$1
    shift
    command -v compute-sanitizer >/dev/null || return 77
    compute-sanitizer --tool "$tool" --error-exitcode 9 "$@"
}
export -f sanitize

# sanitize_kernel TOOL TARGET NAME: what it reports about a kernel's smallest cases
sanitize_kernel() {
    local said
    said=$(sanitize "$1" bin/tile-kernels --device=cuda --size=tiny --target="$2" --kernel="$3" 2>&1) &&
        echo ok && return
    printf '%s, %s, %s:\n%s\n' "$1" "$2" "$3" "$(tail -n 12 <<<"$said")"
}
export -f sanitize_kernel

export work
# sanitize_kernels TOOL: all examples, and the kernels that pipelines and exchanges are made for
sanitize_kernels() {
    command -v compute-sanitizer >/dev/null || return 77
    local names='copy rgb2grey matmul rgb2grey_dims softmax layer_norm rms_norm cross_entropy cumsum dropout
        swiglu rotary matmuls streamk grouped_gemm matmul_int4 flash_attention pipeline advance dot dot-types shapes
        reduce masks moves scan gather'
    for target in sm_80 sm_90a; do
        for name in $names; do echo "$1 $target $name"; done
    done | xargs -P 8 -L 1 bash -c 'sanitize_kernel "$@"' _ >"$work/sanitized"
    grep -v '^ok$' "$work/sanitized"
    echo "$(grep -c '^ok$' "$work/sanitized") clean of $((2 * $(wc -w <<<"$names")))"
    [ "$(grep -c '^ok$' "$work/sanitized")" = $((2 * $(wc -w <<<"$names"))) ]
}
export -f sanitize_kernels

# sanitize_random TOOL: SANITIZED kernels
sanitize_random() {
    command -v compute-sanitizer >/dev/null || return 77
    python3 tests/fuzz/kernels.py bin "${SANITIZED:-0-99}" --device=cuda --sanitize="$1"
}
export -f sanitize_random

python_example() {
    command -v python3 >/dev/null || return 77
    python3 "$@"
}
export -f python_example

# shards DEVICE: attention that waits for the shards of all ranks, here all there, and a product whose first programs
# bring them, beside the CPU device's
shards() {
    local causal ranks n=0
    local i call='-I examples --kernel=ring_attention -D D=64 q_ptr=randn:fp16[2,256,64] out_ptr=zeros:fp16[2,256,64]
        flags=full(7):i32[16] heads=2 kv_heads=2 M=256 scale=0.18 launch=7 together=1'
    for ranks in 1 2 3; do
        for causal in False True; do
            set -- "$1" $call -D RANKS=$ranks -D CAUSAL=$causal rank=$((ranks / 2)) \
                "kv=randn:fp16[$ranks,2,2,256,64]"
            bin/tilerun examples/distributed/ring_attention.tl --device=cpu "${@:2}" -D BM=16 -D BN=16 \
                --save=out_ptr="$work/shards.npy" || return 1
            bin/tilerun examples/distributed/ring_attention.tl --device="$1" "${@:2}" -D BM=128 -D BN=128 \
                --num-warps=8 --num-stages=2 --expect=out_ptr="$work/shards.npy:0.01" || return 1
            n=$((n + 1))
        done
    done
    for ranks in 2 3 4; do
        set -- "$1" --kernel=gather_matmul -D RANKS=$ranks -D FETCH=$ranks -D PARTS=2 rank=1 launch=7 "flags=zeros:i32[128]" N=256 K=512 \
            "b=randint(-2,3):fp16[512,256]" "a=zeros:fp16[$((256 * ranks)),512]" "c=zeros:fp16[$((256 * ranks)),256]" \
            M=$((256 * ranks))
        for i in $(seq 0 $((ranks - 2))); do set -- "$@" "shards.$i=randint(-2,3):fp16[$((256 * ranks)),512]"; done
        bin/tilerun examples/distributed/gather_matmul.tl --device=cpu "${@:2}" last=0 -D BM=16 -D BN=32 -D BK=32 -D CHUNK=128 \
            --save=c="$work/shards.npy" || return 1
        bin/tilerun examples/distributed/gather_matmul.tl --device="$1" "${@:2}" last=$((ranks - 1)) -D BM=128 -D BN=256 -D BK=64 \
            -D PIECES=4 --num-warps=8 --num-stages=4 --expect=c="$work/shards.npy:0" || return 1
        n=$((n + 1))
    done
    echo "$n launches that wait for shards, as on the CPU device"
}
export -f shards

# installed DEVICE: the programs that a project outside the tree made of what is installed
installed() {
    local app n=0
    for app in package/bin/*; do
        echo "$app:"
        "$app" "$1" || return 1
        n=$((n + 1))
    done
    echo "$n programs of the installed package ran on $1"
    [ "$n" -eq 6 ]
}
export -f installed

k=bin/tile-kernels
step 60 "kernels, CPU device" $k --device=cpu --size=small
for target in sm_80 sm_90a; do
    step 240 "kernels, code for $target" $k --device=cuda --target=$target --size=full
    step 120 "kernels' bits, $target" $k --device=cuda --target=$target --size=tiny --same-bits=tests/bits/kernels.tsv
    step 240 "conformance, $target" bin/tile-conformance --device=cuda --target=$target \
        --same-bits=tests/bits/conformance.tsv
    step 240 "roles, $target" tests/roles_test.sh bin/tilerun cuda $target
    step 120 "CPU and GPU agree, $target" $k --device=cuda --target=$target --diff
    step 120 "random integers, $target" bin/tile-integers --device=cuda --target=$target \
        --seconds="${INTEGERS:-20}" --jobs="$(nproc)"
done
step 200 "a million launches" $k --device=cuda --size=small --soak=1000000
step 900 "random kernels" python3 tests/fuzz/kernels.py bin "${KERNELS:-20000-20999}" --device=cuda
step 200 "random products" python3 tests/fuzz/products.py bin --device=cuda 1-200 746 1390 1775
step 200 "random attention" python3 tests/fuzz/attention.py bin --device=cuda 1-100
step 200 "random fused products" python3 tests/fuzz/fused.py bin --device=cuda 1-200
step 200 "random attention around it" python3 tests/fuzz/scores.py bin --device=cuda 1-200
step 200 "random branches" python3 tests/fuzz/branches.py bin --device=cuda 1-200
step 200 "random planes" python3 tests/fuzz/planes.py bin --device=cuda 1-200
step 120 "random blocks" python3 tests/fuzz/blocks.py bin --device=cuda
step 120 "random blocks' bits" python3 tests/fuzz/blocks.py bin --device=cuda --same-bits=tests/bits/blocks.tsv 1-100
step 60 "the same bits in every config" bash tests/same_test.sh bin cuda 1024
step 60 "runtime on the driver" bin/tile-runtime-gpu
step 60 "launches as graphs" bin/tile-graphs-gpu
# split OPTION…: launches that share out iterations, on streams and in a graph
split() {
    bin/tilec -Wno-perf --target=sm_90a "$@" --stream-k=auto examples/matmul.tl -o "$work/split.ptx" &&
        bin/tilec -Wno-perf --target=sm_90a "$@" --single-entry examples/matmul.tl -o "$work/plain.ptx" &&
        bin/tile-split-gpu "$work/split.ptx" "$work/plain.ptx"
}
export -f split
step 60 "parts of sums" bash -c split
step 300 "what accesses take" python3 tests/counters.py bin "$out"
step 60 "parts of sums, large tiles" bash -c 'split -D BM=128 -D BN=256 -D BK=64 --num-warps=8'
step 300 "functions of floats" bin/tile-ulp --device=cuda --inputs=16777216 --threads=16
step 60 "shards that are waited for" bash -c 'shards cuda'
step 60 "kernels of a header" bin/tile-artefact cuda
step 60 "kernels of launchers" bin/tile-launcher
for device in cpu cuda; do
    step 60 "installed package, $device" bash -c "installed $device"
done
step 120 "tutorial" tests/tutorial_test.sh --device=cuda .
step 60 "compiling when launched" bench/jit launch cuda
step 60 "example rgb2grey" examples/rgb2grey --device=cuda examples/rgb2grey.tl examples/photo.png \
    "$work/grey.png"
step 60 "example matmul" examples/matmul --device=cuda examples/matmul.tl 1024 1024 1024
step 60 "example matmul, odd sizes" examples/matmul --device=cuda examples/matmul.tl 1000 777 333
for filter in blur edges; do
    step 60 "example filter: $filter" examples/filter --device=cuda examples/filter.tl $filter \
        examples/photo.png "$work/$filter.png"
done
step 60 "example transformer" examples/transformer --device=cuda
step 60 "example transformer, larger" examples/transformer --device=cuda 256 512 8 1024
step 60 "example jit" examples/jit --device=cuda
step 60 "example share_stream" examples/share_stream examples/vector_add.tl
bin/tilec -Wno-perf examples/vector_add.tl -o "$work/vector_add.ptx"
step 120 "example CuPy" bash -c "python_example examples/cupy_launch.py $work/vector_add.ptx"
step 120 "example PyTorch" bash -c "python_example examples/torch_launch.py $work/vector_add.ptx"
for tool in memcheck racecheck synccheck; do
    step 60 "$tool matmul" bash -c "sanitize $tool examples/matmul --device=cuda examples/matmul.tl \
        257 100 65"
    step 60 "$tool rgb2grey" bash -c "sanitize $tool examples/rgb2grey --device=cuda \
        examples/rgb2grey.tl examples/photo.png $work/grey.png"
    step 400 "$tool, kernels and examples" bash -c "sanitize_kernels $tool"
    step 900 "$tool, random kernels" bash -c "sanitize_random $tool"
done
for target in sm_80 native; do
    step 120 "bandwidth, $target" bench/bandwidth --target=$target --out="$out/bandwidth-$target.csv"
done
for target in sm_80 native; do
    step 90 "rows, $target" bench/rows --target=$target --out="$out/rows-$target.csv"
done
step 60 "launch overhead" bench/launch --limit=1.2 --out="$out/launch.csv"
step 120 "choosing among 14 configs" bench/tune.sh . "$out"
step 90 "matmul bench" bench/matmul --target=native --out="$out/matmul.csv"

echo
grep -A8 '^best, ' "$log"
cat "$table" >>"$log"
echo
cat "$table"
exit $status
