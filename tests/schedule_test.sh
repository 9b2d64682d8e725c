#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# schedule_test.sh: a loop's schedule, printed, edited and compiled again, gives the same results, or is
# refused with what it breaks. Usage: schedule_test.sh BUILD/bin
set -u
bin=$(realpath "$1")
cd "$(dirname "$0")/.."
. tests/lib.sh

passes=$("$bin/tilec" --help | sed -n '/^Passes, in/,$s/^  \([a-z_]*\) .*/\1/p' | paste -sd,)

# run KERNEL FILE: on numbers whose products and sums are exact in matmul, and small in attention; leaves out.npy
run() {
    local args=(a_ptr="randint(-4,4):fp16[192,640]" b_ptr="randint(-4,4):fp16[640,192]"
        c_ptr="empty:fp16[192,192]" M=192 N=192 K=640 stride_am=640 stride_ak=1 stride_bk=192
        stride_bn=1 stride_cm=192 stride_cn=1 --save=c_ptr="$work/out.npy")
    [ "$1" = matmul ] ||
        args=(q_ptr="randn:fp16[1,64,64]" k_ptr="randn:fp16[1,300,64]" v_ptr="randn:fp16[1,300,64]"
            out_ptr="empty:fp16[1,64,64]" lse_ptr="empty:fp32[1,64]" heads=1 M=64 N=300 scale=0.125
            q_head=4096 q_row=64 k_head=19200 k_row=64 v_head=19200 v_row=64 out_head=4096 out_row=64
            --save=out_ptr="$work/out.npy")
    "$bin/tilerun" "$2" --device=cpu --seed=1 "${args[@]}" >"$work/log" 2>&1
}

# scheduled KERNEL TARGET OPTION…: the kernel with its schedule, and what it stores without
scheduled() {
    "$bin/tilec" -Wno-perf --dump-after=schedule "--target=$2" "${@:3}" "examples/$1.tl" -o "$work/$1.ptx" \
        2>"$work/$1.$2.tir"
    [ -s "$work/$1.npy" ] && return
    run "$1" "examples/$1.tl"
    count $? "$1, as written" "$work/log"
    cp "$work/out.npy" "$work/$1.npy"
}

# edited KERNEL TARGET SED-SCRIPT: into edited.tir
edited() {
    sed -E "$3" "$work/$1.$2.tir" >"$work/edited.tir"
    [ -z "$3" ] || ! cmp -s "$work/$1.$2.tir" "$work/edited.tir" || echo 'nothing to change' >"$work/edited.tir"
}

# same KERNEL TARGET SED-SCRIPT: edited so, the result is what it was
same() {
    edited "$@"
    "$bin/tilec" -Wno-perf --verify=each "--target=$2" --emit=tir "--passes=$passes" "$work/edited.tir" -o "$work/final.tir" \
        >"$work/log" 2>&1 && run "$1" "$work/final.tir" && cmp -s "$work/out.npy" "$work/$1.npy"
    count $? "$1, $2, $3" "$work/log"
}

# refused KERNEL TARGET SED-SCRIPT MESSAGE: edited so, it is not compiled
refused() {
    edited "$@"
    ! "$bin/tilec" -Wno-perf "--target=$2" "$work/edited.tir" -o "$work/x.ptx" >"$work/log" 2>&1 &&
        grep -q "error: schedule: .*$4" "$work/log"
    count $? "$1, $2, $3: expected '$4'" "$work/log"
}

# What is printed is all there is to it: compiled again, it is the same code.
for kernel in matmul flash_attention; do
    for target in sm_80 sm_90a; do
        scheduled $kernel $target
        "$bin/tilec" -Wno-perf --target=$target "$work/$kernel.$target.tir" -o "$work/again.ptx" >"$work/log" 2>&1
        diff <(grep -v '^//' "$work/$kernel.ptx") <(grep -v '^//' "$work/again.ptx") >>"$work/log"
        count $? "$kernel, $target: the same again" "$work/log"
        same $kernel $target ''
    done
done

# ---- a matmul of mma.sync: copies in stage 0, all else in stage 2, 3 slices ----
deeper='s/slices=3/slices=5/; s/stage=2/stage=4/'
same matmul sm_80 "$deeper"
same matmul sm_80 's/slices=3/slices=2/; s/stage=2/stage=1/'
same matmul sm_80 's/slices=3/slices=7/'
# Copies last, or before the barrier, where a slice more is theirs.
same matmul sm_80 '/async_(copy|commit)/s/cluster=1/cluster=3/'
same matmul sm_80 's/slices=3/slices=4/; s/cluster=0/cluster=2/; s/stage=2 cluster=2/stage=2 cluster=3/
                   /(wait|fence|barrier)/s/cluster=3/cluster=2/'
# The wait a stage before its reads: a barrier between, in the prologue, too.
same matmul sm_80 's/slices=3/slices=4/; /(wait|fence|barrier)/s/stage=2/stage=1/'
refused matmul sm_80 's/slices=3/slices=2/' 'takes 3 slices, not 2'
refused matmul sm_80 's/stage=2/stage=3/' 'takes 4 slices, not 3'
refused matmul sm_80 '/barrier/d' 'no barrier between'
refused matmul sm_80 '/async_wait/s/cluster=0/cluster=4/' 'before its copies have been waited for'
refused matmul sm_80 '/async_commit/s/stage=0 cluster=1/stage=2 cluster=1/' 'has not made yet'
refused matmul sm_80 '/dot /s/stage=2 cluster=2/stage=0 cluster=3/' 'before its copies'

# ---- of warpgroups: a wait for dots in stage 3, and a barrier between it and the copies ----
both='s/stage=3/stage=4/; s/stage=2/stage=3/; s/slices=3/slices=4/'
same matmul sm_90a "$both"
same matmul sm_90a 's/stage=3 cluster=3/stage=2 cluster=3/' # nothing is in flight at the end
same matmul sm_90a 's/slices=3/slices=4/; s/slices=6/slices=7/; /barrier .*cluster=4/d
                    /async_(copy|commit)/s/cluster=5/cluster=2/'
refused matmul sm_90a '/async_(copy|commit)/s/cluster=5/cluster=2/' 'overwrites a slice before'
refused matmul sm_90a '/barrier .*cluster=4/d' 'overwrites a slice that other warps may still read'
refused matmul sm_90a '/async_fence/d' 'no fence between'
refused matmul sm_90a '/dot_wait/s/stage=3/stage=4/' 'behind the last stage by more than one'

# ---- attention: two dots, the second in flight at the end ----
same flash_attention sm_80 "$deeper"
same flash_attention sm_90a 's/stage=2/stage=4/; s/stage=1/stage=3/; s/slices=3/slices=5/'
same flash_attention sm_90a 's/stage=2 cluster=5/stage=1 cluster=7/'
# The first dot an iteration ahead, beside the rest of the one before.
ahead='s/stage=2/stage=3/; /(async_wait|fence|barrier|dot %q)/!s/stage=1/stage=2/'
same flash_attention sm_90a "$ahead; s/slices=3/slices=4/"
refused flash_attention sm_90a "$ahead" 'takes 4 slices, not 3'
refused flash_attention sm_90a '/dot %q/s/stage=1 cluster=2/stage=1 cluster=4/; /dot_wait .*stage=1/s/cluster=4/cluster=2/' \
    'has not made yet'
# A flag that says that a turn's copies have come.
"$bin/tilec" -Wno-perf --dump-after=schedule --target=sm_80 --kernel=sends tests/passes/schedule-released.tl -o "$work/x.ptx" \
    2>"$work/sends.sm_80.tir"
refused sends sm_80 '/async_wait|async_fence|barrier .*cluster=0/s/cluster=0/cluster=1/; /addptr %flags|atomic/s/cluster=2/cluster=0/' \
    'tells others before the iteration.s copies have been waited for'
finish
