/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* flow.h: what `if` and loops share: variables as lists of values, and
 * operations that learn their results late.
 *
 * Results must be known when an operation is made, and are not until its
 * regions are. So regions are lowered into a draft with no results, and their
 * blocks are moved into the final operation. */
#ifndef TILE_FRONTEND_LOWER_FLOW_H
#define TILE_FRONTEND_LOWER_FLOW_H

#include "frontend/lower/internal.h"

typedef VEC(Value *) Values;

/* Puts the final operation where the draft stands and gives it the regions. */
Op *finish_op(Lower *l, Op *draft, const Values *operands, const Values *like);
void end_region(Lower *l, Block *block, const Values *values);

/* Objects as lists of values, tuples leaf by leaf. */
bool holds_value(Obj o);
void leaves(Lower *l, Obj o, Values *out);
Obj with_leaves(Lower *l, Obj o, Value *const **next); /* its values replaced by those at *next */
bool same_form(Obj a, Obj b);
/* A value of this form, where none is taken; here, which it is, is undefined. */
Obj any_value(Lower *l, Obj like, Span span);
void name_results(const Obj *o, const char *name);
const char *undefined_text(Lower *l, const char *what, Span span);

/* `if condition: arm 0, else: arm 1`, each lowered by `arm`, behind which each goes on with what
 * `then` has for it; afterwards names have the value of the arm that ran. */
typedef void (*ArmFn)(Lower *l, void *ctx, int arm);
void lower_branches(Lower *l, Value *condition, Span span, ArmFn fn, void *ctx,
                    const Continuation *const *then);

#endif
