/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* math.h: what the files of the math pass share (private to passes/math*.c).
 *
 * The expansions are texts in math_f32.def and math_f64.def, written in a small language whose
 * every operator is one op of tile IR (math_expand.c reads it). */
#ifndef TILE_PASSES_MATH_H
#define TILE_PASSES_MATH_H

#include "ir/ir.h"

typedef struct MathFn {
    Elem elem; /* of what `name` as written in a body refers to: fp32 or fp64 */
    const char *name;
    const char *params; /* "x y" */
    const char *body;
} MathFn;

/* The function called name[0..n) for this element type; NULL when there is none. */
const MathFn *math_find(Elem elem, const char *name, size_t n);
/* True for the functions that generated code has an instruction for. */
bool math_is_native(Elem elem, MathFunc f);
/* The ops of fn on these operands, at the builder's insertion point. NULL after an error: the text
 * is wrong, which is a bug in tilec. */
Value *math_expand(Builder *b, const MathFn *fn, Value *const *args, int nargs);

#endif
