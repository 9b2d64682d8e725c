/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* expression.h: integers that a launch can work out from its arguments (base/expr.h). */
#ifndef TILE_IR_EXPRESSION_H
#define TILE_IR_EXPRESSION_H

#include "ir/ir.h"

/* Quotients by a positive number round down in an expression, and toward zero in a kernel: they are
 * for what is asked for where it is 0 or more. */
typedef enum Quotients {
    WITHOUT_QUOTIENTS,
    WITH_QUOTIENTS, /* by a positive constant */
    WITH_DIVISORS   /* and remainders, by anything that a condition keeps above 0 */
} Quotients;

/* Writes v as an expression over parameters, of numbers, + - * and maybe //. False: it is made of
 * more, and what was written is of no use. */
bool ir_expression(const Value *v, Quotients q, Buf *out);

/* A launch of this further entry is asked whether the condition holds; false: there are too many to
 * ask. */
bool ir_ask(Func *f, const char *condition);

#endif
