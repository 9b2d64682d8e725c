#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# examples_test.sh: the programs of examples/ do what their head comments say, on the CPU device, from
# source and from what tilec made ahead of time; those for a GPU run where there is one.
# Usage: examples_test.sh BUILD-FOLDER
set -u
build=$(realpath "$1")
cd "$(dirname "$0")/.."
. tests/lib.sh

# Exit code 77: what it needs is not here.
maybe() {
    "${@:2}" >"$work/log" 2>&1
    count $? "$1" "$work/log"
}
fails() { # CODE TEXT COMMAND…
    local code=$1 text=$2
    shift 2
    "$@" >"$work/out" 2>&1
    [ $? -eq "$code" ] && grep -qF -e "$text" "$work/out" || { cat "$work/out"; return 1; }
}

at=$build/examples
small=$work/small.png odd=$work/odd.png # the CPU device is slow under sanitizers
ok 'a picture is made' "$at/make_photo" "$small" 64 48
ok 'a picture of odd size' "$at/make_photo" "$odd" 37 11
for filter in blur edges; do
    for picture in "$small" "$odd"; do
        ok "$filter" "$at/filter" --device=cpu examples/filter.tl $filter "$picture" "$work/out.png"
    done
done
ok 'filter.tir' "$build/bin/tilec" examples/filter.tl -o "$work/filter.tir"
ok 'a filter compiled before' "$at/filter" --device=cpu "$work/filter.tir" edges "$odd" "$work/out.png"
ok 'its result is a picture' "$at/filter" --device=cpu "$work/filter.tir" blur "$work/out.png" "$work/out2.png"
ok 'no such filter' fails 2 usage: "$at/filter" examples/filter.tl sharpen "$odd" "$work/out.png"
ok 'no such picture' fails 3 none.png "$at/filter" --device=cpu examples/filter.tl blur "$work/none.png" "$work/out.png"
ok 'rgb2grey' "$at/rgb2grey" --device=cpu examples/rgb2grey.tl "$odd" "$work/grey.png"
ok 'matmul' "$at/matmul" --device=cpu examples/matmul.tl 48 32 16

ok 'jit' sh -c "'$at/jit' --device=cpu | grep -x 'f(3, 4) = 5'"
ok 'jit, another expression' sh -c "'$at/jit' --device=cpu 'tl.maximum(x, y) - 1' | grep -x 'f(7, 4) = 6'"
ok 'jit, a mistake' fails 1 "name 'z' is not defined" "$at/jit" --device=cpu 'x + z'
ok 'jit, and its place' sh -c "'$at/jit' --device=cpu 'x + z' 2>&1 | grep -x '        ^'"

ok 'transformer' "$at/transformer" --device=cpu 20 64 1 48
ok 'transformer, two heads' "$at/transformer" --device=cpu 65 128 2 80
ok 'it needs the runtime alone' sh -c "! ldd '$at/transformer' | grep -iE 'llvm|tile_compiler'"
ok 'transformer, sizes that do not fit' fails 2 usage: "$at/transformer" 20 60 1 48

ok 'PTX for Python' "$build/bin/tilec" -Wno-perf examples/vector_add.tl -o "$work/vector_add.ptx"
maybe 'share_stream' "$at/share_stream" examples/vector_add.tl
if command -v python3 >/dev/null; then
    ok 'a manifest read by Python' sh -c "python3 examples/tile_manifest.py '$work/vector_add.ptx' n=5000 |
        grep -x 'vector_add: grid (5, 1, 1), block (128, 1, 1), 0 bytes of shared memory'"
    maybe 'CuPy' python3 examples/cupy_launch.py "$work/vector_add.ptx"
    maybe 'PyTorch' python3 examples/torch_launch.py "$work/vector_add.ptx"
fi

finish
