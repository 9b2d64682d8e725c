/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* divergence.c: a function -> which of its values may differ from program to program (see
 * divergence.h). Goes over all ops until nothing is added: values only ever become divergent. */
#include "ir/analysis/divergence.h"

typedef struct Divergence {
    uint8_t *is; /* by value id */
    const Op *places;
    bool more;
} Divergence;

static void add(Divergence *d, const Value *v) {
    d->more |= !d->is[v->id];
    d->is[v->id] = 1;
}

static void hand_on(Value *from, Value *to, void *ctx) {
    Divergence *d = ctx;
    if (d->is[from->id]) add(d, to);
}

/* Bounds and conditions make all that they rule over differ. */
static void spread(Op *op, void *ctx) {
    Divergence *d = ctx;
    int ruling = op == d->places      ? 0
                 : op->code == OP_FOR ? 3
                 : op->code == OP_IF  ? 1
                                      : op->noperands;
    bool any = op->code == OP_PROGRAM_ID || op->code == OP_CLUSTER_RANK ||
               op->code == OP_CLUSTER_PLACE || (op->code == OP_CLUSTER_ID && !d->places) ||
               op->code == OP_INLINE_ASM; /* it may ask which multiprocessor this is */
    for (int i = 0; i < ruling; i++) any |= d->is[op->operand[i].value->id];
    if (op->code == OP_WHILE) any |= d->is[op->region[0]->last->operand[0].value->id];
    for (int i = 0; any && i < op->nresults; i++) add(d, op->result[i]);
    for (int r = 0; any && r < op->nregions; r++)
        for (int i = 0; i < op->region[r]->nargs; i++) add(d, op->region[r]->args[i]);
    ir_each_flow(op, hand_on, d);
}

Value *divergence_place(const Op *places) {
    for (const Op *op = places->region[0]->first; op; op = op->next)
        if (op->code == OP_CLUSTER_PLACE) return op->result[0];
    return places->region[0]->args[0];
}

const uint8_t *divergence_analyse(Session *s, const Func *f, const Op *places) {
    Divergence d = {.is = arena_alloc(&s->arena, f->nvalues), .places = places};
    if (places) add(&d, divergence_place(places));
    do {
        d.more = false;
        ir_walk(f->body, spread, &d);
    } while (d.more);
    return d.is;
}
