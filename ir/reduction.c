/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* reduction.c: the region of a reduce -> whether its operands may come in any order. */
#include "ir/reduction.h"

/* What the region yields for operand i, if that is one operation that commutes of the two values of
 * that operand. */
static const Op *combined_by(const Op *reduce, int i) {
    const Block *b = reduce->region[0];
    const Value *v = b->last->operand[i].value;
    const Op *op = v->def;
    if (!op || op->block != b || op->noperands != 2 || !(op_traits(op) & TRAIT_C)) return NULL;
    const Value *x = op->operand[0].value, *y = op->operand[1].value;
    const Value *first = b->args[i], *second = b->args[reduce->noperands + i];
    return (x == first && y == second) || (x == second && y == first) ? op : NULL;
}

const Op *ir_combines_by(const Op *reduce) {
    const Block *b = reduce->region[0];
    bool one = reduce->noperands == 1 && b->first->next == b->last;
    return one ? combined_by(reduce, 0) : NULL;
}

bool ir_reduce_commutes(const Op *reduce) {
    if (ir_attr_int(reduce, AT_COMMUTES, 0)) return true;
    for (int i = 0; i < reduce->noperands; i++)
        if (!combined_by(reduce, i)) return false;
    return true;
}
