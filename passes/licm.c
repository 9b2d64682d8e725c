/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* licm.c: the pass `licm`: what is the same in every turn of a loop is done before it.
 *
 * An op moves out when it has no effect, cannot fault and needs nothing that the loop makes. No op
 * of tile IR faults but an access to memory, so whether the loop turns at all does not matter. Ops
 * inside a branch stay: moving them would do work that may not be asked for. Inner loops go first,
 * so that what leaves one may leave the next as well. */
#include "ir/effects.h"
#include "passes/schedule.h"
#include "passes/walk.h"

/* Everything op uses, in its regions too (a reduction's), is from before the loop or its own. */
static bool invariant(const Op *op, const Op *loop) {
    const Op *end = op_after(op);
    for (const Op *x = op; x != end; x = op_next(x))
        for (int i = 0; i < x->noperands; i++) {
            const Value *v = x->operand[i].value;
            const Block *home = v->def ? v->def->block : v->block;
            bool own = false;
            for (; home && !own; home = home->parent ? home->parent->block : NULL)
                own = home->parent == op;
            if (!own && !ir_defined_outside(v, loop)) return false;
        }
    return true;
}

static bool hoist_from(Op *loop) {
    bool changed = false;
    for (int r = 0; r < loop->nregions; r++)
        for (Op *op = loop->region[r]->first, *next; op; op = next) {
            next = op->next;
            if (op_is_control_flow(op) || (op_traits(op) & TRAIT_T) || !ir_is_pure(op) ||
                !invariant(op, loop))
                continue;
            ir_move_before(op, loop);
            schedule_clear(op);
            changed = true;
        }
    return changed;
}

void pass_licm(PassCtx *ctx) {
    VEC(Op *) loops = {0};
    for (Op *op = ctx->f->body->first; op; op = op_next(op))
        if (op->code == OP_FOR || op->code == OP_WHILE) vec_push(&ctx->s->arena, &loops, op);
    while (loops.n)
        if (hoist_from(loops.at[--loops.n])) ctx->changed = true;
}
