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

/* A program comes there once at most. */
static bool is_once(const Block *b) {
    while (b->parent && (b->parent->code == OP_IF || b->parent->code == OP_WARPS))
        b = b->parent->block;
    return !b->parent;
}

/* The way of a branch on that value; -1: it is none of these. */
static int way_on(const BranchWays *w, const Value *on) {
    for (int i = 0; i < w->n; i++)
        if (w->on[i] == on) return w->way[i];
    return -1;
}

BranchWays ir_ways_of(const Op *op) {
    BranchWays w = {0};
    for (const Block *b = op->block; b->parent; b = b->parent->block) {
        const Op *branch = b->parent;
        const Value *on = branch->code == OP_IF ? branch->operand[0].value : NULL;
        if (!on || !on->def || way_on(&w, on) >= 0 || !is_once(on->def->block)) continue;
        int last = w.n < MOST_WAYS ? w.n++ : MOST_WAYS - 1; /* the innermost is dropped */
        for (int i = last; i > 0; i--) {
            w.on[i] = w.on[i - 1];
            w.way[i] = w.way[i - 1];
        }
        w.on[0] = on;
        w.way[0] = b == branch->region[1];
    }
    return w;
}

bool ways_exclude(const BranchWays *a, const BranchWays *b) {
    for (int i = 0; i < a->n; i++) {
        int way = way_on(b, a->on[i]);
        if (way >= 0 && way != a->way[i]) return true;
    }
    return false;
}

BranchWays ways_of_both(const BranchWays *a, const BranchWays *b) {
    BranchWays w = {0};
    for (int i = 0; i < a->n; i++) {
        if (way_on(b, a->on[i]) != a->way[i]) continue;
        w.on[w.n] = a->on[i];
        w.way[w.n++] = a->way[i];
    }
    return w;
}

bool ways_equal(const BranchWays *a, const BranchWays *b) {
    return a->n == b->n && ways_of_both(a, b).n == a->n;
}
