/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* life_module.c: a device -> the text of a module for it (see life.h). */
#include "tests/runtime/life.h"

/* y = x for n elements, eight to a program. */
static const char tir[] =
    "kernel @copy(%x: ptr<f32> divisible=16, %y: ptr<f32>, %n: i32, %scale: f32) num_warps=4 "
    "num_stages=3 grid=\"cdiv(n, B)\" constexpr B=\"8\" {\n"
    "  %pid: i32 = program_id axis=0\n"
    "  %b: i32 = const value=8\n"
    "  %base: i32 = mul %pid, %b\n"
    "  %r: i32[8] = arange start=0 end=8\n"
    "  %s: i32[8] = splat %base\n"
    "  %o: i32[8] = add %s, %r\n"
    "  %ns: i32[8] = splat %n\n"
    "  %m: i1[8] = cmp %o, %ns pred=lt\n"
    "  %xs: ptr<f32>[8] = splat %x\n"
    "  %xp: ptr<f32>[8] = addptr %xs, %o\n"
    "  %v: f32[8] = load %xp, %m\n"
    "  %ys: ptr<f32>[8] = splat %y\n"
    "  %yp: ptr<f32>[8] = addptr %ys, %o\n"
    "  store %yp, %v, %m\n"
    "  return\n"
    "}\n";

/* The same for a driver and for the PTX machine, and kernels that ask for special launches. */
static const char ptx[] =
    "// tilec manifest begin\n"
    "// {\"manifest\": 1, \"target\": \"sm_80\", \"kernels\": [\n"
    "//  {\"name\": \"copy\", \"entry\": \"copy\", \"params\": [\n"
    "//    {\"name\": \"x\", \"type\": \"*fp32\", \"divisible\": 16},\n"
    "//    {\"name\": \"y\", \"type\": \"*fp32\"}, {\"name\": \"n\", \"type\": \"i32\"},\n"
    "//    {\"name\": \"scale\", \"type\": \"fp32\"}], \"constexprs\": {\"B\": 8},\n"
    "//   \"num_warps\": 4, \"num_stages\": 3, \"shared\": 65536, \"grid\": [\"cdiv(n, B)\"]},\n"
    "//  {\"name\": \"special\", \"entry\": \"special\", \"params\": [],\n"
    "//   \"num_warps\": 1, \"num_stages\": 3, \"shared\": 0, \"cluster\": [16, 1, 1],\n"
    "//   \"cooperative\": true, \"grid\": [\"32\"]},\n"
    "//  {\"name\": \"mapped\", \"entry\": \"mapped\", \"params\": [\n"
    "//    {\"name\": \"x\", \"type\": \"*fp32\"}, {\"name\": \"n\", \"type\": \"i32\"}],\n"
    "//   \"num_warps\": 9, \"num_stages\": 3, \"shared\": 0, \"grid\": [\"1\"], \"hidden\": [\n"
    "//    {\"kind\": \"tensor_map\", \"base\": \"x\", \"offset\": \"0\", \"type\": \"fp32\",\n"
    "//     \"sizes\": [\"n // 8\", \"8\"], \"strides\": [\"8\", \"1\"], \"box\": [8, 8],\n"
    "//     \"swizzle\": 32}]},\n"
    "//  {\"name\": \"sums\", \"entry\": \"sums\", \"params\": [{\"name\": \"n\", \"type\": "
    "\"i32\"}],\n"
    "//   \"num_warps\": 5, \"num_stages\": 3, \"shared\": 100000, \"grid\": [\"300\"],\n"
    "//   \"persistent\": 1, \"hidden\": [{\"kind\": \"grid\", \"axis\": 0},\n"
    "//     {\"kind\": \"workspace\", \"bytes\": 4096}, {\"kind\": \"mark\"},\n"
    "//     {\"kind\": \"stream_k\", \"iterations\": \"n\", \"iteration_clocks\": 1000,\n"
    "//      \"least_clocks\": 0, \"part_clocks\": 0, \"meet_clocks\": 0}]}]}\n"
    "// tilec manifest end\n"
    ".version 7.8\n.target sm_80\n.address_size 64\n"
    ".visible .entry copy(\n .param .u64 copy_0,\n .param .u64 copy_1,\n .param .u32 copy_2,\n"
    " .param .b32 copy_3\n)\n{\n"
    " .reg .pred %p<3>;\n .reg .b32 %r<5>;\n .reg .b64 %rd<6>;\n"
    " ld.param.u64 %rd1, [copy_0];\n ld.param.u64 %rd2, [copy_1];\n"
    " ld.param.u32 %r1, [copy_2];\n mov.u32 %r2, %tid.x;\n mov.u32 %r3, %ctaid.x;\n"
    " setp.lt.u32 %p1, %r2, 8;\n shl.b32 %r3, %r3, 3;\n or.b32 %r3, %r3, %r2;\n"
    " setp.lt.and.s32 %p2, %r3, %r1, %p1;\n mul.wide.s32 %rd3, %r3, 4;\n"
    " add.s64 %rd4, %rd1, %rd3;\n add.s64 %rd5, %rd2, %rd3;\n"
    " @%p2 ld.global.b32 %r4, [%rd4];\n @%p2 st.global.b32 [%rd5], %r4;\n ret;\n}\n"
    ".visible .entry special(\n)\n{\n ret;\n}\n"
    ".visible .entry mapped(\n .param .u64 mapped_0,\n .param .u32 mapped_1,\n .param .u64 "
    "mapped_2\n)\n{\n"
    " ret;\n}\n" /* mapped_2: of the fake, which looks at the map's first bytes */
    ".visible .entry sums(\n .param .u32 p_0,\n .param .u32 p_1,\n .param .u64 p_2,\n"
    " .param .u64 p_3,\n .param .u32 p_4,\n .param .u32 p_5,\n .param .u32 p_6\n)\n{\n ret;\n}\n";

const char *life_module(bool cpu) {
    return cpu ? tir : ptx;
}
