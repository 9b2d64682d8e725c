/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* flow.c: an op with regions -> which values go on as which: into its regions, round, and out. */
#include "ir/ir.h"

typedef struct Flow {
    FlowFn *fn;
    void *ctx;
} Flow;

static void hand_on(const Flow *f, const Op *from, int first, Value *const *to, int n) {
    for (int i = 0; i < n && from && first + i < from->noperands; i++)
        f->fn(from->operand[first + i].value, to[i], f->ctx);
}

void ir_each_flow(const Op *op, FlowFn *fn, void *ctx) {
    const Flow f = {fn, ctx};
    if (op->code == OP_SELECT)
        for (int i = 1; i < 3; i++) fn(op->operand[i].value, op->result[0], ctx);
    if (op->code != OP_FOR && op->code != OP_WHILE && op->code != OP_IF) return;
    const Block *head = op->region[0];
    const Op *first = head->last, *last = op->region[op->nregions - 1]->last;
    if (op->code == OP_FOR) {
        hand_on(&f, op, 3, head->args + 1, head->nargs - 1);
        hand_on(&f, last, 0, head->args + 1, head->nargs - 1);
        hand_on(&f, op, 3, op->result, op->nresults);
        hand_on(&f, last, 0, op->result, op->nresults);
    } else if (op->code == OP_WHILE) {
        hand_on(&f, op, 0, head->args, head->nargs);
        hand_on(&f, last, 0, head->args, head->nargs);
        hand_on(&f, first, 1, op->region[1]->args, op->region[1]->nargs);
        hand_on(&f, first, 1, op->result, op->nresults);
    } else {
        hand_on(&f, first, 0, op->result, op->nresults);
        hand_on(&f, last, 0, op->result, op->nresults);
    }
}

BranchWay ir_way_of(const Op *op) {
    BranchWay w = {NULL, 0};
    for (const Block *b = op->block; b->parent; b = b->parent->block) {
        const Op *branch = b->parent;
        const Value *on = branch->code == OP_IF ? branch->operand[0].value : NULL;
        if (on && on->def && !on->def->block->parent) w = (BranchWay){on, b == branch->region[1]};
    }
    return w;
}
