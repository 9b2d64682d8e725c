/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* eval.h: an elementwise operation on constants, worked out by the interpreter's own loops: folding
 * cannot disagree with running. */
#ifndef TILE_IR_INTERP_EVAL_H
#define TILE_IR_INTERP_EVAL_H

#include "ir/ir.h"

/* The result of op for one lane whose operands have these bits (as AT_VALUE keeps them). False when
 * op has no such meaning. */
bool ir_eval(const Op *op, const int64_t *operands, int64_t *result);

#endif
