/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* reduction.h: what may be done with the order in which a reduce combines. Its region is taken to
 * be associative; one that need not commute is applied to its operands in their order. */
#ifndef TILE_IR_REDUCTION_H
#define TILE_IR_REDUCTION_H

#include "ir/ir.h"

/* The one operation that a reduce of one operand combines by, if it commutes; or NULL. */
const Op *ir_combines_by(const Op *reduce);
/* The order does not matter: the op says so (`commutes`), or the region combines each operand by
 * one operation that commutes. */
bool ir_reduce_commutes(const Op *reduce);

#endif
