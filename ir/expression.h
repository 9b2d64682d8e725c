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
/* The same of a form that has %s for v. */
bool ir_ask_of(Session *s, Func *f, const Value *v, const char *form);
/* And whether v comes to the same in a launch, where nothing wraps around and quotients round down,
 * as in the kernel: whatever it is made of fits 32 bits, and what is divided is not below 0. v is
 * one of parameters, sums, products and quotients. */
bool ir_ask_exact(Session *s, Func *f, const Value *v);
/* The same but for v's own last step, which a launch sees to. */
bool ir_ask_steps(Session *s, Func *f, const Value *v);

#endif
