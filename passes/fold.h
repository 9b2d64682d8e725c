/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fold.h: what the files of the fold pass share (private to passes/fold*.c).
 *
 * Every fold_* function looks at one op and returns true when it took the op out of the function,
 * having put what replaces it, if anything new, right before it. */
#ifndef TILE_PASSES_FOLD_H
#define TILE_PASSES_FOLD_H

#include "passes/pass.h"

typedef struct FoldRules FoldRules; /* fold.def, parsed */

typedef struct FoldRange { /* of an integer's elements: lo … hi */
    bool known;
    int64_t lo, hi;
} FoldRange;

typedef struct Fold {
    Session *s;
    Func *f;
    Builder b; /* in front of the op being looked at, with its span */
    const FoldRules *rules;
    FoldRange *range; /* by value id, as far as they were asked for */
    uint32_t nranges;
} Fold;

/* Uses of op's one result become uses of `with`, which has its type; op is erased. */
bool fold_replace(Op *op, Value *with);
/* A copy of op, which has one result, on other operands. */
Value *fold_same_op(Fold *fold, const Op *op, Value *const *operands, Type result);
/* The bits of a constant, of any type. */
bool fold_constant(const Value *v, int64_t *bits);

const FoldRules *fold_parse_rules(Session *s); /* NULL after an error: a row is malformed */
bool fold_by_rules(Fold *fold, Op *op);
bool fold_shape(Fold *fold, Op *op);      /* shape ops, and elementwise ops on their results */
bool fold_cast(Fold *fold, Op *op);       /* CAST, BITCAST */
bool fold_comparison(Fold *fold, Op *op); /* CMP of integers */
bool fold_quotient(Fold *fold, Op *op);   /* DIV, REM of integers of 64 bits */
bool fold_control(Fold *fold, Op *op);    /* if, for, while */

#endif
