/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* llvm_bugs.c: LLVM IR that LLVM's back end would not come to an end with -> IR that it translates
 * to the same PTX.
 *
 * NaryReassociate, which the NVPTX back end runs, may turn the minimum of an integer minimum and c
 * about in two ways in turn, for ever (llvm/llvm-project#56335, open). It leaves vectors alone, and
 * a vector of one element is a scalar again in instruction selection. The passes that gain from
 * knowing minima are over by then.
 * tests/fuzz/integers.c has found this. */
#include "codegen/gen.h"

/* v's intrinsic, a minimum or maximum of two integers; NINTRINSICS: it is none. */
static Intrinsic extreme_of(Gen *g, LLVMValueRef v) {
    Intrinsic i = gen_intrinsic_of(g, v);
    bool integer = LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMIntegerTypeKind;
    bool extreme =
        i == INTRINSIC_SMAX || i == INTRINSIC_SMIN || i == INTRINSIC_UMAX || i == INTRINSIC_UMIN;
    return integer && extreme ? i : NINTRINSICS;
}

/* v computed as a vector of one element. */
static void hide_extreme(Gen *g, LLVMValueRef v, Intrinsic which) {
    LLVMTypeRef scalar = LLVMTypeOf(v), vector = LLVMVectorType(scalar, 1);
    LLVMValueRef args[2];
    LLVMPositionBuilderBefore(g->b, v);
    for (unsigned k = 0; k < 2; k++)
        args[k] = LLVMBuildBitCast(g->b, LLVMGetOperand(v, k), vector, "");
    LLVMValueRef with = gen_intrinsic(g, which, &vector, 1, args, 2);
    gen_replace(v, LLVMBuildBitCast(g->b, with, scalar, ""));
}

/* Of a chain every other one is hidden: what is hidden is no minimum to the next. */
static void avoid(Gen *g, LLVMValueRef v) {
    Intrinsic i = extreme_of(g, v);
    if (i < NINTRINSICS &&
        (extreme_of(g, LLVMGetOperand(v, 0)) == i || extreme_of(g, LLVMGetOperand(v, 1)) == i))
        hide_extreme(g, v, i);
}

void gen_avoid_llvm_bugs(Gen *g) {
    gen_each_instruction(g, avoid);
}
