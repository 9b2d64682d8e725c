#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# tests/roles_test.sh TILERUN [DEVICE [TARGET…]]: products by roles of warps and by descriptors
# (examples/matmul_roles*.tir, matmul_desc.tir) are right
# in several shapes, on the CPU device or DEVICE with code for each TARGET. On the CPU device each of the mistakes
# planted below is found, with its line and role, and the code after all passes is right, too. Ends with
# `N passed, N failed`.
set -u
cd "$(dirname "$0")/.."
tilerun=$(realpath "$1") device=${2:-cpu}
targets=("${@:3}")
. tests/lib.sh

M=200 N=336 K=400
# reference M N K: inputs, and what the product of them is by examples/matmul.tl
reference() {
    M=$1 N=$2 K=$3
    "$tilerun" --device="$device" examples/matmul.tl "a_ptr=randint(-4,5):fp16[M,K]" "b_ptr=randint(-4,5):fp16[K,N]" \
        "c_ptr=zeros:fp16[M,N]" M="$M" N="$N" K="$K" stride_am="$K" stride_ak=1 stride_bk="$N" stride_bn=1 \
        stride_cm="$N" stride_cn=1 --save=a_ptr="$work/a.npy" --save=b_ptr="$work/b.npy" \
        --save=c_ptr="$work/c.npy"
}
# product FILE [OPTION…]: runs it on these inputs; programs that stay are few, so that each takes several tiles
product() {
    local few=()
    ! grep -q '%programs' "$1" || few=(programs=3)
    "$tilerun" --device="$device" "$@" a=@"$work/a.npy" b=@"$work/b.npy" "c=zeros:fp16[$M,$N]" M="$M" N="$N" \
        K="$K" lda="$K" ldb="$N" ldc="$N" "${few[@]}" --expect=c="$work/c.npy:0"
}
shapes=('128 128 64' '1 16 1040' '513 272 208' '64 16 16' '304 608 112' '200 336 400') # the fifth of fewer turns than parts
[[ $device == cpu || $device == ptx* ]] || shapes+=('1024 1024 1024' '2048 4096 512' '4096 4096 4096')
for shape in "${shapes[@]}"; do
    # shellcheck disable=SC2086 # a shape is words
    ok "inputs of $shape" reference $shape
    for file in examples/matmul_{roles,desc,persistent,roles_cp}.tir; do
        for target in "${targets[@]:-native}"; do
            case $file:$target in *_cp.tir:* | *:sm_9* | *:native) ;; *) continue ;; esac # others have no TMA
            ok "$file $shape $target" product $file --target="$target"
        done
    done
done
# Unchanged sources: their loads by pointers made blocks of descriptors, then copied by a warp of its own.
tilec=$(dirname "$tilerun")/tilec raise=swizzle_grid,lower_desc,fold,cse,dce,licm,combine,raise_desc,cse,licm,dce
# made NAME KERNEL PASSES… [OPTION…]: writes the kernel after these passes as $work/NAME.tir
made() {
    local name=$1 source=$2 passes=$3
    ok "$name" "$tilec" "$source" --target=sm_90a --emit=tir --passes="$passes" -o "$work/$name.tir" -Wno-perf "${@:4}"
}
# source_run NAME [OPTION…]: the product by it
source_run() {
    "$tilerun" --device="$device" "$work/$1.tir" "${@:2}" a_ptr=@"$work/a.npy" b_ptr=@"$work/b.npy" "c_ptr=zeros:fp16[$M,$N]" \
        M="$M" N="$N" K="$K" stride_am="$K" stride_ak=1 stride_bk="$N" stride_bn=1 stride_cm="$N" stride_cn=1 \
        --expect=c_ptr="$work/c.npy:0"
}
if [[ $device == cpu || " ${targets[*]}" == *' sm_9'* ]]; then
    for file in matmul matmul_naive matmul_swizzle; do
        made $file.raised examples/$file.tl $raise
        made $file.roles examples/$file.tl $raise,warp_specialize
        ok "$file is raised" [ "$(grep -c ' = desc_load ' "$work/$file.raised.tir")" = 2 ]
        ok "$file has roles" grep -q 'warps roles="consumer producer"' "$work/$file.roles.tir"
    done
    made large.roles examples/matmul.tl $raise,warp_specialize -D BM=128 -D BN=256 -D BK=64 --num-warps=8
    # Further entries: programs that stay, each for several places of these grids on the CPU.
    entry=swizzle_grid,lower_desc,fold,cse,dce,licm,combine,narrow,entries large=(-D BM=128 -D BN=256 -D BK=64 --num-warps=8)
    for file in matmul matmul_naive matmul_swizzle; do
        made $file.entry examples/$file.tl $entry
        ok "$file has a further entry" grep -q "entry_of=\"$file\"" "$work/$file.entry.tir"
    done
    made matmul.large.entry examples/matmul.tl $entry "${large[@]}"
    made matmul.two.entry examples/matmul.tl $entry -D BM=32 -D BN=32 -D BK=32 --num-warps=2
    # Columns that are no power of two: of boxes that end with them, and of boxes that go on.
    made matmul.short.entry examples/matmul.tl $entry -D BN=48
    made matmul.wide.entry examples/matmul.tl $entry "${large[@]}" -D BN=176
    made matmul_naive.short.entry examples/matmul_naive.tl $entry -D BN=80
    made matmul.rows.entry examples/matmul.tl $entry -D BM=64 -D BN=144 -D BK=64 --num-warps=8 # which share rows
    # A warpgroup of four would have rows that nobody stores, of the tile or of the transposed one: it is not there.
    made matmul.three.entry examples/matmul.tl $entry -D BM=192 -D BN=192 -D BK=64 --num-warps=16
    made matmul.three_swapped.entry examples/matmul.tl $entry -D BM=176 -D BN=192 -D BK=64 --num-warps=16
    for name in three three_swapped; do
        ok "$name: warps are left out" grep -q 'num_warps=\[12,1,1\]' "$work/matmul.$name.entry.tir"
    done
    # Blocks whose stages leave room for parts of them alone: of the transposed one's rows, of columns, the last of which
    # has fewer, beside four stages, and beside three where there is room for one part.
    made matmul.parts.entry examples/matmul.tl $entry -D BM=160 -D BN=256 -D BK=64 --num-warps=8
    made matmul.parts_short.entry examples/matmul.tl $entry -D BM=192 -D BN=176 -D BK=64 --num-warps=16 --num-stages=4
    made matmul.parts_deep.entry examples/matmul.tl $entry "${large[@]}" --num-stages=4
    made matmul.parts_one.entry examples/matmul.tl $entry -D BM=256 -D BN=192 -D BK=64 --num-warps=8
    # What is stored under the next tile's products, of a transposed one: as its dots leave it, or there is no room.
    later=(-D BM=96 -D BN=256 -D BK=64 --num-warps=8 --num-stages=4)
    made matmul.later_swapped.entry examples/matmul.tl $entry "${later[@]}"
    ok "a tile of 96 rows" "$tilec" examples/matmul.tl --target=sm_90a -o "$work/later.ptx" -Wno-perf "${later[@]}"
    ok "it keeps its further entry" grep -q 'entry matmul__persistent' "$work/later.ptx"
    # buffer NAME TYPE: where parts wait
    buffer() { ok "$1: parts wait in $2" grep -qF "shared<$2>" "$work/matmul.$1.entry.tir"; }
    buffer large '2 x f16[128,128]' # halves
    buffer parts '2 x f16[64,256]'
    buffer parts_short '1 x f16[256,64]'
    buffer parts_deep '2 x f16[128,64]'
    buffer parts_one '1 x f16[256,64]'
    made matmul.parts_none.entry examples/matmul.tl $entry -D BM=256 -D BN=256 -D BK=64 --num-warps=8
    ok 'sums of too many registers go in no parts' [ "$(grep -c async_desc_store "$work/matmul.parts_none.entry.tir")" = 0 ]
    ok "columns are left out" grep -q 'dot .* columns=176' "$work/matmul.wide.entry.tir"
    made matmul.short_split.entry examples/matmul.tl $entry --stream-k=auto "${large[@]}" -D BN=192
    # The same, whose programs share out iterations; a GPU does where it pays.
    made matmul.split.entry examples/matmul.tl $entry --stream-k=auto
    made matmul_naive.split.entry examples/matmul_naive.tl $entry --stream-k=auto
    made matmul.large_split.entry examples/matmul.tl $entry --stream-k=auto "${large[@]}"
    ok "programs share out iterations" grep -q "= stream_k " "$work/matmul.split.entry.tir"
    ok "and bring each other blocks" grep -q 'mbar_desc_load .* multicast=1' "$work/matmul.split.entry.tir"
    split_shapes=("${shapes[@]}" '64 64 1040' '320 128 96' '64 112 1040' '64 144 1040' '192 112 400')
    [ "$device" = cpu ] && split_shapes+=('16 16 0') || split_shapes+=('200 336 4000' '128 128 8192' '513 272 20800' '1536 1536 1536' '3072 3072 1024')
    for shape in "${split_shapes[@]}"; do
        # shellcheck disable=SC2086 # a shape is words
        ok "inputs of $shape" reference $shape
        for name in matmul.{split,large_split,short_split}.entry matmul_naive.split.entry; do
            ok "$name $shape" source_run $name --kernel="${name%%.*}__persistent"
        done
    done
    for shape in "${shapes[@]}"; do
        # shellcheck disable=SC2086 # a shape is words
        ok "inputs of $shape" reference $shape
        for name in matmul{,_naive,_swizzle}.{raised,roles} large.roles; do
            ok "$name $shape" source_run $name
        done
        ok "matmul.rows.entry $shape" source_run matmul.rows.entry --kernel=matmul
        for name in matmul{,_naive,_swizzle,.large,.two,.short,.wide,.three,.three_swapped,.parts{,_short,_deep,_one},.later_swapped,_naive.short}.entry; do
            ok "$name $shape" source_run $name --kernel="${name%%.*}__persistent"
        done
    done
    # As code: what threads store beside what matters, and who is not there, tile IR does not have.
    if [ "$device" = cpu ]; then
        for name in matmul.{rows,wide,three,three_swapped,large,parts,parts_short,parts_deep,later_swapped}.entry; do
            device=ptx:sm_90a
            ok "code of $name" source_run "$name"
            device=cpu
        done
    fi
    # Factors that lie the other way round: blocks come as they lie, into buffers of the dot's shape.
    declare -A lies=([n]='M K K 1' [t]='K M 1 M') lies_b=([n]='K N N 1' [t]='N K 1 K')
    stride() { [ "$1" = 1 ] && echo i32:1 || echo i32; }
    # form_run FORM TYPE M N K OPTION…: the product of factors that lie so
    form_run() {
        local M=$3 N=$4 K=$5
        read -r -a a <<<"${lies[${1:0:1}]}"
        read -r -a b <<<"${lies_b[${1:1:1}]}"
        "$tilerun" --device="$device" "${@:6}" "a_ptr=randint(-4,5):$2[${a[0]},${a[1]}]" \
            "b_ptr=randint(-4,5):$2[${b[0]},${b[1]}]" "c_ptr=zeros:fp32[M,N]" M="$M" N="$N" K="$K" \
            stride_am=$((a[2])) stride_ak=$((a[3])) stride_bk=$((b[2])) stride_bn=$((b[3])) stride_cm="$N" stride_cn=1
    }
    for form in nn nt tn tt; do
        read -r -a a <<<"${lies[${form:0:1}]}"
        read -r -a b <<<"${lies_b[${form:1:1}]}"
        for type in fp16 fp32 fp8e4nv fp16.48 fp8e4nv.80; do
            # wgmma reads others along K alone: where they lie the other way, a role of its own transposes them, or
            # threads read one of bytes, the first of the product or of the transposed one
            rows=64 warps=4 lies_so='order=\[1,0\]'
            [[ $type = fp16* || $form = nt ]] || rows=128 warps=8 lies_so=buffer_reinterpret
            [[ $type$form != fp8*nn && $type$form != fp8*tt ]] || lies_so=pairs=1
            [[ $form != nn || $lies_so != order* ]] || continue                    # roles above
            [[ $type != fp8e4nv.80 || $lies_so != buffer_reinterpret ]] || continue # part of a block
            columns=64
            [[ $type != *.* ]] || columns=${type#*.}
            type=${type%.*}
            options=(--num-warps=$warps -D BM=$rows -D BN=$columns -D BK=64 -D GROUP_M=8 -D ACC=tl.float32 -D PRECISION=tf32 -D ALIGN=1
                -s "*$type:16,*$type:16,*fp32:16,i32,i32,i32,$(stride "${a[2]}"),$(stride "${a[3]}"),$(stride "${b[2]}"),$(stride "${b[3]}"),i32,i32:1")
            made $form.$type bench/matmul_types.tl "$entry" "${options[@]}"
            # Those who transpose say of parts of sums, too, that they are there.
            [[ $lies_so = order* ]] || made $form.$type.split bench/matmul_types.tl "$entry" "${options[@]}" --stream-k=auto
            ok "$form $type goes the other way round" grep -q "$lies_so" "$work/$form.$type.tir"
            for shape in '192 128 128' '208 336 400' '16 16 1040'; do
                # shellcheck disable=SC2086 # a shape is words
                ok "$form $type $columns $shape, plain" form_run $form $type $shape "$work/$form.$type.tir" \
                    --kernel=matmul_types --save=c_ptr="$work/form.npy"
                # shellcheck disable=SC2086
                ok "$form $type $columns $shape" form_run $form $type $shape "$work/$form.$type.tir" \
                    --kernel=matmul_types__persistent --expect=c_ptr="$work/form.npy:0"
                if [[ $device:$shape = 'cpu:208 336 400' && $columns != 64 ]]; then
                    device=ptx:sm_90a
                    # shellcheck disable=SC2086
                    ok "code of $form $type $columns" form_run $form $type $shape "$work/$form.$type.tir" \
                        --kernel=matmul_types__persistent --expect=c_ptr="$work/form.npy:0"
                    device=cpu
                fi
                [[ $lies_so != order* ]] || continue
                # shellcheck disable=SC2086
                ok "$form $type $columns $shape, shared out" form_run $form $type $shape "$work/$form.$type.split.tir" \
                    --kernel=matmul_types__persistent --expect=c_ptr="$work/form.npy:0"
            done
        done
    done
    attend=tests/passes/warp-specialize.tl
    made attend $attend swizzle_grid,fold,cse,dce,licm,combine --kernel=attend
    made attend.roles $attend $raise,warp_specialize --kernel=attend
    for size in '64 64' '200 336' '16 1040'; do
        read -r m n <<<"$size"
        inputs=("q=randn:fp16[$m,64]" "kt=randn:fp16[64,$n]" "v=randn:fp16[$n,64]" "o=zeros:fp16[$m,64]" M="$m" N="$n")
        ok "attend $size" "$tilerun" --device="$device" "$work/attend.tir" --grid=$(((m + 63) / 64)) "${inputs[@]}" \
            --save=o="$work/o.npy"
        ok "attend.roles $size" "$tilerun" --device="$device" "$work/attend.roles.tir" --grid=$(((m + 63) / 64)) \
            "${inputs[@]}" --expect=o="$work/o.npy:0"
    done
    # Batches and heads: what comes, and goes, has their number as an index.
    made batches.entry tests/passes/leading.tl $entry
    for size in '64 64 64' '200 336 80' '16 16 1040'; do
        read -r m n k <<<"$size"
        inputs=("a=randint(-4,5):fp16[3,$m,$k]" "b=randint(-4,5):fp16[3,$k,$n]" "c=zeros:fp16[3,$m,$n]" M="$m" N="$n" K="$k"
            --grid=$(((m + 63) / 64 * ((n + 31) / 32))),3)
        ok "batches $size, plain" "$tilerun" --device="$device" "$work/batches.entry.tir" --kernel=batches "${inputs[@]}" \
            --save=c="$work/c3.npy"
        ok "batches $size" "$tilerun" --device="$device" "$work/batches.entry.tir" --kernel=batches__persistent \
            "${inputs[@]}" --expect=c="$work/c3.npy:0"
    done
    # Blocks by descriptors, made in the kernel or its arguments.
    made described.entry tests/passes/described.tl $entry
    described_run() { # KERNEL OPTION…
        "$tilerun" --device="$device" "$work/described.entry.tir" --kernel="$1" "${inputs[@]}" --grid="$grid" "${@:2}"
    }
    for size in '64 64 64' '200 336 80' '16 16 1040'; do
        read -r m n k <<<"$size"
        grid=$(((m + 63) / 64 * ((n + 63) / 64)))
        inputs=("a_ptr=randint(-4,5):fp16[$m,$k]" "b_ptr=randint(-4,5):fp16[$k,$n]" "c_ptr=zeros:fp16[$m,$n]" M="$m" N="$n" K="$k")
        ok "tensors $size, plain" described_run tensors --save=a_ptr="$work/a4.npy" --save=b_ptr="$work/b4.npy" \
            --save=c_ptr="$work/c4.npy"
        ok "tensors $size" described_run tensors__persistent --expect=c_ptr="$work/c4.npy:0"
        inputs=(a.base=@"$work/a4.npy" b.base=@"$work/b4.npy" "c.base=zeros:fp16[$m,$n]" N="$n" K="$k"
            a.shape.0="$m" a.shape.1="$k" a.strides.0="$k" b.shape.0="$k" b.shape.1="$n" b.strides.0="$n"
            c.shape.0="$m" c.shape.1="$n" c.strides.0="$n" a.strides.1=1 b.strides.1=1 c.strides.1=1)
        ok "arguments $size" described_run arguments__persistent --expect=c.base="$work/c4.npy:0"
        ok "arguments $size, plain" described_run arguments --expect=c.base="$work/c4.npy:0"
    done
    inputs=("q_ptr=randn:fp16[384,64]" "k_ptr=randn:fp16[384,64]" "v_ptr=randn:fp16[384,64]" "o_ptr=zeros:fp16[384,64]"
        H=2 N=192 scale=0.125)
    grid=3,2
    ok "attend by descriptors, plain" described_run attend --save=o_ptr="$work/o.npy"
    ok "attend by descriptors" described_run attend__persistent --expect=o_ptr="$work/o.npy:0"
    made again.plain tests/passes/roles-again.tl ${raise%%,raise_desc*} --num-warps=8
    made again.roles tests/passes/roles-again.tl $raise,persistent,licm,dce,overlap,cse,dce,warp_specialize,stage_stores,lower_desc,fold,cse,licm,dce \
        --num-warps=8
    for run in 'natural 128 1' 'terms 256 0' 'wraps 64 5' 'wraps 64 50' 'twice_held 128 1' 'stored 128 1' 'store_between 128 1' \
        'beside 128 1' 'mixed 128 1' 'last 0 2147483584'; do
        read -r name k m <<<"$run"
        inputs=("a=randint(-3,4):fp16[65536]" "b=randint(-3,4):fp16[65536]" "t=randint(2,3):i32[4]" o=zeros:fp32[65536]
            p=zeros:fp32[65536] K="$k" M="$m" --grid=1 --kernel="$name")
        ok "again: $run, plain" "$tilerun" --device="$device" "$work/again.plain.tir" "${inputs[@]}" --save=o="$work/o.npy" \
            --save=p="$work/p.npy"
        ok "again: $run" "$tilerun" --device="$device" "$work/again.roles.tir" "${inputs[@]}" --expect=o="$work/o.npy:0" \
            --expect=p="$work/p.npy:0"
    done
    # Attention backward, whose loops ask: blocks that two dots take, one of them the other way round, and numbers of
    # rows that threads read.
    exact=0
    [ "$device" = cpu ] || exact=2e-3 # where products and sums become one instruction is ptxas' business
    for part in kv q; do
        sed 's/ in range(\(.*\)):/ in tl.range(\1, warp_specialize=True):/' bench/kernels/attention_backward_$part.tl >"$work/$part.tl"
        outs=(dq)
        [ $part = q ] || outs=(dk dv)
        for causal in False True; do
            made backward.$part "$work/$part.tl" ${raise%%,raise_desc*},entries -D CAUSAL=$causal --num-stages=2
            entry_of=$(grep -o "attention_backward_${part}__[a-z_]*" "$work/backward.$part.tir" | head -1)
            for n in 64 160; do
                inputs=({q,k,v,do}"_ptr=randn:fp16[2,$n,64]" {lse,delta}"_ptr=rand:fp32[2,$n]" heads=2 N="$n" scale=0.125)
                saved=() expected=()
                for o in "${outs[@]}"; do
                    inputs+=("${o}_ptr=zeros:fp16[2,$n,64]")
                    saved+=(--save="${o}_ptr=$work/$o.npy")
                    expected+=(--expect="${o}_ptr=$work/$o.npy:$exact")
                done
                ok "backward, $part, causal $causal, $n, plain" "$tilerun" --device="$device" "$work/backward.$part.tir" \
                    --kernel=attention_backward_$part "${inputs[@]}" "${saved[@]}"
                ok "backward, $part, causal $causal, $n" "$tilerun" --device="$device" "$work/backward.$part.tir" \
                    --kernel="$entry_of" "${inputs[@]}" "${expected[@]}"
            done
        done
    done
    flash=examples/flash_attention.tl
    for causal in False True; do
        made flash.$causal $flash swizzle_grid,fold,cse,dce,licm,combine -D CAUSAL=$causal -D BM=128 --num-warps=8
        made flash.$causal.roles $flash $raise,persistent,licm,dce,overlap,cse,dce,warp_specialize,stage_stores,lower_desc,fold,cse,licm,dce \
            -D CAUSAL=$causal -D BM=128 --num-warps=8
        ok 'both loops of attention take the same stages' [ "$(grep -c '3 x f16' "$work/flash.$causal.roles.tir")" = 2 ]
        for size in '256 256' '200 336' '300 20'; do
            read -r m n <<<"$size"
            [ $causal = False ] || n=$m
            inputs=("q_ptr=randn:fp16[2,$m,64]" "k_ptr=randn:fp16[2,$n,64]" "v_ptr=randn:fp16[2,$n,64]" heads=2 M="$m" N="$n"
                scale=0.125 q_head=$((m * 64)) q_row=64 k_head=$((n * 64)) k_row=64 v_head=$((n * 64)) v_row=64
                out_head=$((m * 64)) out_row=64 "out_ptr=zeros:fp16[2,$m,64]" "lse_ptr=zeros:fp32[2,$m]")
            ok "flash, causal $causal, $size, plain" "$tilerun" --device="$device" "$work/flash.$causal.tir" "${inputs[@]}" \
                --save=out_ptr="$work/o.npy" --save=lse_ptr="$work/l.npy"
            ok "flash, causal $causal, $size" "$tilerun" --device="$device" "$work/flash.$causal.roles.tir" "${inputs[@]}" \
                --expect=out_ptr="$work/o.npy:0" --expect=lse_ptr="$work/l.npy:0"
        done
    done
fi
if [ "$device" != cpu ]; then
    for run in 'desc-boxes n=1' 'await-phases n=5 odd=0' 'await-phases n=5 odd=1' 'barrier-fence n=4' 'desc-stores n=5' 'desc-front n=1'; do # asserts hold, too
        read -r file args <<<"$run"
        # shellcheck disable=SC2086 # arguments are words
        [[ " ${targets[*]}" != *' sm_9'* ]] ||
            ok "$run" "$tilerun" --device="$device" --target=sm_90a tests/passes/$file.tir x=arange:f32[8192] $args
    done
    finish
    exit
fi

passes=$(sed -n 's/^PASS(\([a-z_0-9]*\),.*/\1/p' passes/passes.def | paste -sd,)
for code in matmul_roles:sm_90a matmul_desc:sm_90a matmul_persistent:sm_90a matmul_roles_cp:sm_90a matmul_roles_cp:sm_80; do
    ok "$code, passes" "$tilec" "examples/${code%:*}.tir" --target="${code#*:}" \
        --passes="$passes" --emit=tir -Wno-perf -o "$work/after.tir"
    ok "$code after all passes" product "$work/after.tir"
done

# A whole kernel as one role of two: its loop is pipelined there, by that role's warps and barriers.
"$tilec" examples/matmul.tl --passes= --emit=tir -o "$work/whole.tir"
awk '/^kernel/ { print; print "  warps roles=\"idle works\" num_warps=[4,4] {\n    yield\n  } {"; next }
    /^  return/ { print "    yield\n  }" } { print }' "$work/whole.tir" | sed '/^\/\//d' >"$work/role.tir"
for target in sm_80 sm_90a; do
    ok "a kernel in a role, passes, $target" "$tilec" "$work/role.tir" --target=$target \
        --passes="$passes" --emit=tir -Wno-perf -o "$work/role.$target.tir"
    ok "a kernel in a role, $target" "$tilerun" --device=cpu "$work/role.$target.tir" a_ptr=@"$work/a.npy" \
        b_ptr=@"$work/b.npy" "c_ptr=zeros:fp16[$M,$N]" M=$M N=$N K=$K stride_am=$K stride_ak=1 stride_bk=$N \
        stride_bn=1 stride_cm=$N stride_cn=1 --expect=c_ptr="$work/c.npy:0"
    ok "a kernel in a role is pipelined, $target" grep -q 'async_copy' "$work/role.$target.tir"
done
# Where each warp has a part of a buffer, its own threads wait for each other: they must, and others' wait is another.
for change in '/warp_barrier/d' 's/^( *)barrier @/\1warp_barrier @/'; do
    sed -E "$change" "$work/role.sm_90a.tir" >"$work/wrong.tir"
    ok "changed by $change" test "$(cmp "$work/role.sm_90a.tir" "$work/wrong.tir" | wc -l)" = 1
    "$tilerun" --device=cpu "$work/wrong.tir" a_ptr=@"$work/a.npy" b_ptr=@"$work/b.npy" "c_ptr=zeros:fp16[$M,$N]" M=$M N=$N K=$K \
        stride_am=$K stride_ak=1 stride_bk=$N stride_bn=1 stride_cm=$N stride_cn=1 >"$work/said" 2>&1
    ok "found: $change" grep -q "missing barrier: .* role 'works'" "$work/said"
done

# mistake FILE NAME SED MESSAGE ROLE LINE: with the change the run ends with an error of that message, about the
# role (empty: there is none), at a line of the changed file in which LINE stands
mistake() {
    local file=examples/$1.tir line at
    sed -E "$3" "$file" >"$work/wrong.tir"
    if cmp -s "$file" "$work/wrong.tir"; then
        fail "$2: nothing changed"
        return
    fi
    local few=()
    [ "$1" != matmul_persistent ] || few=(programs=1)
    timeout 60 "$tilerun" --device=cpu "$work/wrong.tir" a=@"$work/a.npy" b=@"$work/b.npy" "c=zeros:fp16[$M,$N]" \
        M=$M N=$N K=$K lda=$K ldb=$N ldc=$N "${few[@]}" >"$work/log" 2>&1
    [ $? -eq 5 ] || fail "$2: is not found" "$work/log"
    at=$(sed -nE 's/^[^:]*:([0-9]+):[0-9]+: error: .*/\1/p' "$work/log" | head -1)
    line=$(sed -n "${at:-0}p" "$work/wrong.tir" 2>/dev/null)
    if grep -E 'error: ' "$work/log" | head -1 | grep -F "$4" | grep -qF "${5:+role '$5'}" && [[ $line == *"$6"* ]]; then
        pass
    else
        fail "$2: at line ${at:-?} ($line)" "$work/log"
    fi
}
# entry_mistake ENTRY 'M N K' NAME SED MESSAGE: the same of a further entry
entry_mistake() {
    local M N K
    read -r M N K <<<"$2"
    sed -Ez "$4" "$work/$1.entry.tir" >"$work/wrong.tir"
    if cmp -s "$work/$1.entry.tir" "$work/wrong.tir"; then
        fail "$3: nothing changed"
    elif timeout 60 "$tilerun" --device=cpu "$work/wrong.tir" --kernel=matmul__persistent "a_ptr=randint(1,2):fp16[$M,$K]" \
        "b_ptr=randint(1,2):fp16[$K,$N]" "c_ptr=zeros:fp16[$M,$N]" M="$M" N="$N" K="$K" stride_am="$K" stride_ak=1 \
        stride_bk="$N" stride_bn=1 stride_cm="$N" stride_cn=1 >"$work/log" 2>&1; then
        fail "$3: is not found"
    elif grep -qF "error: $5" "$work/log"; then
        pass
    else
        fail "$3: says something else" "$work/log"
    fi
}
# Programs that hand each other parts of sums; that bring each other blocks; that do both.
split_mistake() { entry_mistake matmul.split '64 64 1040' "$@"; }
cluster_mistake() { entry_mistake matmul '512 272 208' "$@"; }
both_mistake() { entry_mistake matmul.split '64 112 1040' "$@"; }
line='[^\n]*\n'
split_mistake 'a part is not waited for' "s/[^\n]*= atomic_poll $line//" "race: role 'consumer' of program (2, 0, 0) reads 'workspace'"
split_mistake 'a part is not told of' "s/[^\n]*atomic_store [^\n]*sem=release$line//" "deadlock: role 'producer'"
split_mistake 'a part is told of in no order' 's/(atomic_store [^\n]*)sem=release/\1sem=relaxed/' 'race: '
split_mistake 'a part is not stored' "s/[^\n]*fragment_store $line//" 'uninitialised: nobody has written what is copied'
split_mistake 'a part is added before it is there' "s/[^\n]*mbar_wait $line($line[^\n]*fragment_add)/\1/" \
    'read before the copy to it has landed'
cluster_mistake 'the neighbour is not told' 's/(mbar_arrive %[0-9]+), %[0-9]+, %[0-9]+ /\1 /' "deadlock: role 'consumer' of program (0, 0, 0)"
cluster_mistake 'a program is told what its neighbour is to be' \
    's/(%[0-9]+)(: i32 = cluster_rank [^}]*mbar_arrive %[0-9]+), %[0-9]+, %[0-9]+ /\1\2, \1, \1 /' \
    "race: role 'consumer' of program (1, 0, 0) reads it, and nothing puts that before this"
cluster_mistake 'one is told for both' 's/(mbar_arrive %[0-9]+, )(%[0-9]+), %[0-9]+ /\1\2, \2 /' 'deadlock: '
cluster_mistake 'a program ends while its neighbour tells it' "s/  cluster_barrier $line(  return)/\1/" \
    "program 0 of the cluster is asked for, in role 'consumer' of program (1, 0, 0): that has ended"
cluster_mistake 'a program begins before its neighbour does' 's/cluster_barrier/barrier/' 'this barrier is used before mbar_init'
cluster_mistake 'both bring a block' \
    "s/(if %[0-9]+ [^\n]*\{\n *)if %[0-9]+ [^\n]*\{\n( *mbar_desc_load $line) *yield$line *\} \{\n *yield$line *\}\n/\1\2/g" \
    'overwritten before it was read'
cluster_mistake 'nobody brings a block' "s/[^\n]*mbar_desc_load $line( *yield$line *\} \{\n *yield)/\1/g" 'deadlock: '
cluster_mistake "a barrier counts one program's warps" 's/count=8/count=4/' 'deadlock: '
both_mistake 'the neighbour is not told of a part' \
    "s/(fragment_add $line *async_fence $line[^\n]*buffer_slice $line *mbar_arrive %[0-9]+), %[0-9]+, %[0-9]+ /\\1 /" 'deadlock: '
both_mistake 'both have one part' \
    's/mul (%[0-9]+), (%[0-9]+)( [^\n]*\n[^\n]*= add %[0-9]+), %[0-9]+( [^\n]*\n[^\n]*= cast )/mul \1, \2\3, \2\4/' 'race: '
later_mistake() { entry_mistake matmul.parts_deep '512 1280 272' "$@"; }
later_mistake 'the last place leaves its parts to none' 's/( = or )(%[0-9]+), %[0-9]+( [^\n]*\n[^\n]*if )/\1\2, \2\3/' "deadlock: role 'storer'"
later_mistake 'a part goes where another still is' "s/[^\n]*mbar_wait $line([^\n]*shared_store )/\1/" "race: role 'storer' reads it"
entry_mistake matmul.split '192 48 400' 'one who has no place stores' \
    's/: i1 = select (%[0-9]+), (%[0-9]+), %[0-9]+ /: i1 = cmp \1, \2 pred=eq /' \
    "race: role 'consumer' of program (2, 0, 0) writes 'c_ptr'"
tma=matmul_roles cp=matmul_roles_cp desc=matmul_desc stay=matmul_persistent
mistake $stay 'a consumer begins each tile at stage 0' 's/%zeros, %s\.t, %phase\.t /%zeros, %0, %0 /' \
    'deadlock' consumer 'mbar_wait %filled'
mistake $stay 'a tile overwrites the one that is being stored' '/async_wait %out\.t read=1/d' \
    'overwritten while a copy out of it may read it' consumer 'shared_store %h'
mistake $stay 'one thread waits for the store, and others go on' '/async_wait %out\.t read=1/{n;d}' \
    'overwritten since read without one' consumer 'shared_store %h'
mistake $stay 'the last store is not waited for' '/async_wait %out\.end/d' \
    'ends while the copy engine still copies out of its shared memory' '' return
mistake $tma 'threads read a stage, and arrive before they have' 's/ async=1//' \
    'missing async_fence: threads read it' producer 'mbar_desc_load'
mistake $desc 'a copy is not waited for' '/async_wait %both/d' 'read before the copy to it has landed' '' '= dot '
mistake $desc 'a slice is filled while it is read' '/barrier stage/d' 'overwritten since read without one' '' \
    async_desc_load
mistake $desc 'no fence before the copy to memory' '/async_fence/d' 'missing async_fence' '' async_desc_store
mistake $desc 'no barrier before the copy to memory' '/async_fence/{n;d}' 'read since written without one' '' \
    async_desc_store
mistake $desc 'the copy to memory is not waited for' '/async_wait %out/d' \
    'ends while the copy engine still copies out of its shared memory' '' return
mistake $tma 'a consumer does not arrive' '/mbar_arrive %empty1/d' \
    "deadlock" consumer0 'mbar_wait %full0'
mistake $tma 'waits for the wrong phase' \
    's/(mbar_wait %full0), %phase0/\1, %wrong/; s/^( *)(%full0: .*)/\1%wrong: i32 = xor %phase0, %1\n\1\2/' \
    "race: role 'consumer0' reads it" producer mbar_desc_load
mistake $tma 'begins in the wrong phase' 's/(%0, %steps, %1, %0), %1 \{/\1, %0 {/' \
    '1 of 1 arrivals and 0 bytes are missing' consumer0 'mbar_wait %full0'
mistake $tma 'a stage is filled before it is free' '/mbar_wait %free/d' \
    "1 arrivals at barrier 'full[0]', whose phase 0 has only 0 to come" producer mbar_expect
mistake $tma 'a stage is freed before the product is done' '/%w0: f32/{h;d}; /mbar_arrive %empty0/{G}' \
    "race: role 'consumer0' reads it" producer mbar_desc_load
mistake $tma 'the product is not waited for' 's/%w0: f32\[64,128\] = dot_wait %d0/%w0: f32[64,128] = hint %d0/' \
    "has a dot in flight that reads it" producer mbar_desc_load
mistake $tma 'reads before the copy has landed' 's/(%full[01]: barrier = buffer_slice %full), %s[01]/\1, %0/' \
    'read before the copy to it has landed' consumer0 'dot %at0'
mistake $tma 'waits for another copy' 's/(%full1: barrier = buffer_slice %full), %s1/\1, %0/' \
    "a copy brought it, which came to barrier 'full[1]': nothing here waits for that" consumer1 'dot %at1'
mistake $tma 'nobody waits for the copy' '/mbar_wait %full1/d' 'uninitialised memory' consumer1 'store %p1'
mistake $tma 'too few bytes' 's/bytes=32768/bytes=24576/' \
    "8192 bytes more came to barrier 'full[0]' than its phase 0 expects" consumer0 'mbar_wait %full0'
mistake $tma 'too many bytes' 's/bytes=32768/bytes=40960/' '8192 bytes are missing' consumer0 'mbar_wait %full0'
mistake $tma 'no bytes are expected' '/mbar_expect/d' '1 of 1 arrivals and -32768 bytes' consumer0 'mbar_wait'
mistake $tma 'one consumer goes on for longer' 's/(%end1: i32, %turn1: i32 = for %0, )%steps/\1%K.up/' \
    'deadlock' consumer1 'mbar_wait %full1'
mistake $tma 'the producer ends early' 's/(%last: i32, %turn: i32 = for )%0/\1%1/' deadlock consumer0 'mbar_wait'
mistake $tma 'a barrier is not known to be there' '0,/^  barrier$/{/^  barrier$/d}' \
    "no barrier lets all threads know of this barrier's mbar_init" consumer0 mbar_wait
mistake $tma 'one consumer is enough to free' 's/mbar_init %empty count=8/mbar_init %empty count=4/' \
    'deadlock' consumer0 'mbar_wait %full0'
mistake $tma 'a barrier of two roles, one of which comes' 's/(    %h0: f16)/    barrier id=3 warps=8\n\1/' \
    'barrier 3, where 4 of 8 warps have come' consumer0 'barrier id=3'
mistake $tma 'the barrier of all threads' 's/(    %h0: f16)/    barrier id=0 warps=9\n\1/' \
    'barrier 0, where 4 of 9 warps have come' consumer0 'barrier id=0'
mistake $tma "another role's barrier" 's/(    %h0: f16)/    barrier id=2 warps=4\n    barrier id=2 warps=2\n\1/' \
    '4 warps come to barrier 2, which is of 2' consumer0 'barrier id=2 warps=2'
mistake $tma 'always the same stage' 's/(%to1: .* = buffer_slice %a1), %s/\1, %0/' \
    'overwritten before it was read' producer mbar_desc_load
mistake $tma 'arrives twice' 's/^( *)(mbar_arrive %empty0)/\1\2\n\1\2/' \
    "race: role 'consumer1' reads it" producer mbar_desc_load
mistake $tma 'comes to the wrong barrier' 's/(mbar_desc_load %b.tensor, %tob), %filled/\1, %free/' \
    '16384 bytes are missing' consumer0 'mbar_wait %full0'
mistake $tma 'a block between two of 16 bytes' 's/(mbar_desc_load .*), %at$/\1, %k/' 'misaligned' producer \
    mbar_desc_load
mistake $cp 'no fence before the product' '/async_fence/d' 'missing async_fence' consumer0 'dot %at0'
mistake $cp 'a fence before the wait' 's/^( *)(%full0: .*)/\1async_fence\n\1\2/; 0,/^      async_fence$/{n}; /mbar_wait %full0/{n;d}' \
    'missing async_fence' consumer0 'dot %at0'
mistake $cp 'arrives before the last copy' \
    '/async_arrive/d; s/^( *)(%tob: .*)/\1%early: barrier = buffer_slice %full, %s\n\1async_arrive %early\n\1\2/' \
    'read before the copy to it has landed' consumer0 'dot %at0'
mistake $cp 'counts one warp of four' 's/mbar_init %full count=128/mbar_init %full count=32/' \
    "128 arrivals at barrier 'full[0]'" consumer0 'mbar_wait %full0'
mistake $cp 'the copies never arrive' '/async_arrive/d' '128 of 128 arrivals' consumer0 'mbar_wait %full0'
mistake $cp 'a stage is filled before it is free' '/mbar_wait %free/d' 'overwritten before it was read' \
    producer 'async_copy %p0'
finish
