/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* dependent_launch.c: a kernel -> one that may start while the grid before it ends, and lets the
 * next.
 *
 *     numbers; addresses; x = load p; ...     ->
 *         numbers; grid_wait; grid_launch; addresses; x = load p; ...
 * and with roles
 *     mbarriers, maps; warps     ->
 *         mbarriers, maps; grid_wait; grid_launch; warps
 *
 * grid_wait ends when all grids before this one are done and what they wrote is seen. So all
 * programs of the kernel wait, in front of all that touches memory: the kernel is done only after
 * those before it, which is what the next one waits for. Tiles are not
 * worked out before: addresses would wait in registers (a transposition of 128x256 in 8 warps took
 * 254 instead of 32). It is launched early where the runtime says so (runtime/cuda.c); else the two
 * instructions do nothing. A source that has such instructions of its own is left as it is: only
 * its author knows what they are for. */
#include "ir/effects.h"
#include "ir/target.h"
#include "passes/pass.h"
#include "passes/walk.h"

static void look_for_grid(Op *op, void *found) {
    *(bool *)found |= op->code == OP_GRID_WAIT || op->code == OP_GRID_LAUNCH;
}

/* Or for an end: a kernel all of whose programs return before they wait would be done too early. */
static void look_for_memory(Op *op, void *found) {
    const unsigned seen = EFFECT_GLOBAL | EFFECT_OUTPUT | EFFECT_ENDLESS | EFFECT_ENDS;
    *(bool *)found |= (ir_effects(op) & seen) != 0;
}

static bool touches_memory(Op *op) {
    bool found = false;
    look_for_memory(op, &found);
    for (int r = 0; r < op->nregions; r++) ir_walk(op->region[r], look_for_memory, &found);
    return found;
}

static bool makes_tile(const Op *op) {
    for (int i = 0; i < op->nresults; i++)
        if (type_is_tile(op->result[i]->type) && op->result[i]->type.space == SPACE_REGISTER)
            return true;
    return false;
}

/* Behind numbers, and what roles begin with. */
static Op *place_of_wait(const Func *f) {
    Op *op = f->body->first;
    while (op != f->body->last && !makes_tile(op) && !touches_memory(op)) op = op->next;
    return op;
}

static bool does_something(const Func *f) {
    bool found = false;
    for (Op *op = f->body->first; op && op != f->body->last && !found; op = op->next)
        found = touches_memory(op);
    return found;
}

void pass_dependent_launch(PassCtx *ctx) {
    Func *f = ctx->f;
    bool own = false;
    ir_walk(f->body, look_for_grid, &own);
    if (own || !ctx->target->dependent_launch || !does_something(f)) return;
    Op *first = place_of_wait(f);
    Builder b = {ctx->s, f, f->body, first, first->span};
    ir_op(&b, OP_GRID_WAIT, NULL, 0, NULL, 0, 0);
    ir_op(&b, OP_GRID_LAUNCH, NULL, 0, NULL, 0, 0);
    f->dependent_launch = 1;
    ctx->changed = true;
}
