#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# tests/counts_test.sh BIN: what `tilerun --counts` says of accesses whose sectors and bank conflicts are known
# beforehand: loads with strides, and PTX written by hand. (tests/counters.py holds it against a GPU.)
set -u
cd "$(dirname "$0")/.."
bin=$(realpath "$1")
. tests/lib.sh

# says NAME TEXT COMMAND…: a line of what it prints has the text
says() {
    if "${@:3}" >"$work/log" 2>&1 && grep -qF "$2" "$work/log"; then pass; else fail "$1" "$work/log"; fi
}
arguments=('src=randn:fp32[65536]' 'dst=empty:fp32[65536]' n=128)
for stride in 1:4.00 2:8.00 4:16.00 8:32.00 16:32.00; do
    cat >"$work/strided.tl" <<EOF
import triton
import triton.language as tl


# tile: grid = 1
@triton.jit
def strided(src: "*fp32:16", dst: "*fp32:16", n: "i32"):
    i = tl.arange(0, 128)
    tl.store(dst + i, tl.load(src + i * ${stride%:*}), mask=i < n)
EOF
    says "a stride of ${stride%:*}" "${stride#*:} of 4.00                 ld.global.b32" \
        "$bin/tilerun" "$work/strided.tl" --device=ptx --counts "${arguments[@]}"
done

# by_hand LOG2 TYPE VALUE: a kernel whose lanes store to shared memory, so many bytes apart
by_hand() {
    "$bin/tilec" -Wno-perf examples/copy.tl -o "$work/copy.ptx" || return
    sed '/^{/,$d' "$work/copy.ptx"
    cat <<EOF
{
    .reg .b32 %r<8>;
    .reg .b64 %rd<4>;
    .shared .align 128 .b8 room[32768];
    mov.u32 %r1, %tid.x;
    shl.b32 %r2, %r1, $1;
    and.b32 %r2, %r2, 32767;
    mov.b64 %rd1, room;
    cvt.u32.u64 %r3, %rd1;
    add.s32 %r4, %r3, %r2;
    cvt.u64.u32 %rd2, %r1;
    st.shared.$2 [%r4], $3;
    ret;
}
EOF
}
for case in "2 b32 %r1:1.00 of 1.00" "3 b32 %r1:2.00 of 1.00" "5 b32 %r1:8.00 of 1.00" "7 b32 %r1:32.00 of 1.00" \
    "3 b64 %rd2:2.00 of 2.00" "4 b64 %rd2:4.00 of 2.00" "4 v4.b32 {%r1,%r1,%r1,%r1}:4.00 of 4.00" \
    "5 v4.b32 {%r1,%r1,%r1,%r1}:8.00 of 4.00"; do
    # shellcheck disable=SC2086 # three words
    by_hand ${case%:*} >"$work/hand.ptx"
    says "by hand: $case" "${case#*:}  st.shared" \
        "$bin/tilerun" "$work/hand.ptx" --device=ptx --counts "${arguments[@]}" --grid=1
done
"$bin/tilerun" "$work/strided.tl" --device=cpu --counts "${arguments[@]}" >"$work/said" 2>&1
says '--counts on another device' 'for the PTX machine' cat "$work/said"
says 'every instruction' '"text": "ret"' "$bin/tilerun" "$work/hand.ptx" --device=ptx --counts --json "${arguments[@]}" --grid=1
"$bin/tilec" -Wno-perf --kernel matmul_naive examples/matmul_naive.tl --target=sm_80 -o "$work/loop.ptx" &&
    "$bin/tilerun" "$work/loop.ptx" --device=ptx:sm_80 --counts --json {a,b}_ptr=randn:fp16[64,64] c_ptr=empty:fp16[64,64] \
        M=64 N=64 K=64 stride_{am,bk,cm}=64 stride_{ak,bn,cn}=1 >"$work/loop.json" 2>&1
# Its products are in the one loop, its copies before it, too; what is in none has no line of one.
says 'the loop of each instruction' 'as it has to be' python3 - "$work/loop.json" <<'EOF'
import json
import sys
counts = json.load(open(sys.argv[1]))["counts"]
mma = {(c["loop"], c["loop_around"]) for c in counts if c["text"].startswith("mma.sync")}
copies = {c["loop"] for c in counts if c["text"].startswith("cp.async.c")}
lines = all((c["loop"] < 0) <= (c["loop_line"] == 0 and c["loop_around"] == -1) for c in counts)
often = {c["warps"] for c in counts if c["text"].startswith("ret")} == {4}
print("as it has to be" if (mma, copies, lines, often) == ({(0, -1)}, {0, -1}, True, True) else (mma, copies, lines, often))
EOF
"$bin/tilerun" "$work/hand.ptx" --device=ptx --counts --json "${arguments[@]}" --grid=1 >"$work/said" 2>&1
# %r1, %r2 and the two of %rd1, then %r1 to %r3, at the end nothing.
says "registers alive" "4 3 0" python3 -c "
import json, sys
said = {c['text'].split()[0]: c['registers'] for c in json.load(open(sys.argv[1]))['counts']}
print(said['cvt.u32.u64'], said['add.s32'], said['ret'])
" "$work/said"
finish
