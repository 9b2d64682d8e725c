/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* walk.h: the order in which passes go over a function: every op before those in its regions, every
 * region before the next, by pointers alone, so that nesting costs no stack and ops may come and go
 * around the one at hand. */
#ifndef TILE_PASSES_WALK_H
#define TILE_PASSES_WALK_H

#include "ir/ir.h"

static inline Op *first_op_from(const Op *op, int region) {
    for (int r = region; r < op->nregions; r++)
        if (op->region[r]->first) return op->region[r]->first;
    return NULL;
}

/* The op after op and all that is in its regions; NULL at the end of the function. */
static inline Op *op_after(const Op *op) {
    while (!op->next) {
        const Op *parent = op->block->parent;
        if (!parent) return NULL;
        int r = 0;
        while (parent->region[r] != op->block) r++;
        Op *inside = first_op_from(parent, r + 1);
        if (inside) return inside;
        op = parent;
    }
    return op->next;
}

/* The op after op, which may be one in its regions. */
static inline Op *op_next(const Op *op) {
    Op *inside = first_op_from(op, 0);
    return inside ? inside : op_after(op);
}

/* The innermost loop that op is in; NULL: it is in none. */
static inline Op *loop_around(const Op *op) {
    Op *parent = op->block->parent;
    while (parent && parent->code != OP_FOR && parent->code != OP_WHILE)
        parent = parent->block->parent;
    return parent;
}

/* For ir_walk: whether there is a loop, in a bool. */
static inline void look_for_loop(Op *op, void *found) {
    *(bool *)found |= op->code == OP_FOR || op->code == OP_WHILE;
}

#endif
