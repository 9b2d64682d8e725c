#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# mix_test.sh: what the code of each example and of its loops is made of, by `tilec --stats`, with
# registers and spills by ptxas, is what tests/codegen/goldens/ says, so that a change to the compiler
# shows there. Usage: mix_test.sh PATH-TO-tilec [--bless]
set -u
tilec=$(realpath "$1")
bless=${2:-}
cd "$(dirname "$0")/.."
. tests/lib.sh
goldens=tests/codegen/goldens
llvm=$(sed -n 's/^TILE_LLVM_VERSION:STRING=//p' "$(dirname "$tilec")/../CMakeCache.txt" 2>/dev/null)
if [ "${llvm:-22}" != 22 ]; then # which has other instructions for the same
    echo "mix: the goldens are what LLVM 22 makes, not $llvm"
    exit 77
fi
# Where ptxas may lie: tilec asks the one that PATH finds.
for folder in ${PTXAS:+"$(dirname "$PTXAS")"} /usr/local/cuda*/bin; do PATH=$PATH:$folder; done

# check NAME EXAMPLE OPTION…
check() {
    local base=$1 source=examples/$2.tl target name golden difference
    shift 2
    for target in sm_80 sm_90a; do
        name=$base.$target
        golden=$goldens/$name.mix
        if ! "$tilec" -Wno-perf --stats --target="$target" "$@" "$source" -o "$work/$name.ptx" >"$work/log" 2>&1; then
            fail "$name does not compile" "$work/log"
            continue
        fi
        # Where a loop stands in the file is not what it is made of.
        sed 's/^  loop at line [0-9]*/  loop/' "$work/log" >"$work/$name.mix"
        if [ "$bless" = --bless ]; then
            mkdir -p "$goldens"
            cp "$work/$name.mix" "$golden"
        fi
        # Without ptxas, or with another one, its lines say nothing.
        if [ "$(grep -x 'ptxas [0-9.]*' "$work/$name.mix")" != "$(grep -x 'ptxas [0-9.]*' "$golden" 2>/dev/null)" ]; then
            grep -v '^ptxas' "$work/$name.mix" >"$work/have"
            grep -v '^ptxas' "$golden" >"$work/want" 2>/dev/null
        else
            cp "$work/$name.mix" "$work/have"
            cp "$golden" "$work/want" 2>/dev/null || : >"$work/want"
        fi
        if difference=$(diff "$work/want" "$work/have"); then
            pass
        else
            fail "$golden differs (< golden, > now; --bless to accept):"
            echo "$difference"
        fi
    done
}

for source in examples/*.tl; do check "$(basename "$source" .tl)" "$(basename "$source" .tl)"; done
# As a launch from source finds them to be: sizes and addresses that 16 divides; larger tiles.
check copy-wide copy -s 'src=*fp32:16,dst=*fp32:16,n=i32:16'
check rgb2grey-wide rgb2grey -s 'rgb_ptr=*u8:16,grey_ptr=*u8:16,h=i32,w=i32:16'
check matmul-large matmul -D BM=128 -D BN=128 -D BK=64 --num-warps=8 -D ACTIVATION=leaky_relu
# Factors of 8 bits, the second across K: transposed on its way, 256x128 by a role of its own.
for tile in '64 64' '256 128'; do
    read -r rows columns <<<"$tile"
    check "matmul-fp8-$rows" matmul -s 'a_ptr=*fp8e4nv:16,b_ptr=*fp8e4nv:16,c_ptr=*fp16:16' -D BM="$rows" -D BN="$columns" -D BK=128 \
        --num-warps=$((columns / 16))
done
finish
