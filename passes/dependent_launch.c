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
 * those before it, which is what the next one waits for. Tiles are not worked out before: addresses
 * would wait in registers (a transposition of 128x256 in 8 warps took 254 instead of 32).
 *
 * It is launched early where the runtime says so (runtime/cuda.c); else the two instructions do
 * nothing. A source that has such instructions of its own is left as it is: only its author knows
 * what they are for. */
#include "ir/effects.h"
#include "ir/target.h"
#include "passes/pass.h"
#include "passes/walk.h"

static void add_effects(Op *op, void *all) {
    *(unsigned *)all |= ir_effects(op);
}

static void look_for_grid(Op *op, void *found) {
    *(bool *)found |= op->code == OP_GRID_WAIT || op->code == OP_GRID_LAUNCH;
}

enum { SEEN_OUTSIDE = EFFECT_GLOBAL | EFFECT_OUTPUT | EFFECT_ENDLESS };

/* An op that makes or touches what has to wait; or one by which programs end, since a kernel all of
 * whose programs return before they wait would be done too early. */
static bool is_behind_wait(Op *op) {
    unsigned effects = ir_effects(op);
    for (int r = 0; r < op->nregions; r++) ir_walk(op->region[r], add_effects, &effects);
    for (int i = 0; i < op->nresults; i++) {
        Type t = op->result[i]->type;
        if (type_is_tile(t) && t.space == SPACE_REGISTER) return true;
    }
    return effects & (SEEN_OUTSIDE | (unsigned)EFFECT_ENDS);
}

void pass_dependent_launch(PassCtx *ctx) {
    Func *f = ctx->f;
    bool own = false;
    unsigned effects = 0;
    ir_walk(f->body, look_for_grid, &own);
    ir_walk(f->body, add_effects, &effects);
    if (own || !ctx->target->dependent_launch || !(effects & SEEN_OUTSIDE)) return;
    Op *first = f->body->first;
    while (!is_behind_wait(first)) first = first->next;
    Builder b = {ctx->s, f, f->body, first, first->span};
    ir_op(&b, OP_GRID_WAIT, NULL, 0, NULL, 0, 0);
    ir_op(&b, OP_GRID_LAUNCH, NULL, 0, NULL, 0, 0);
    f->dependent_launch = 1;
    ctx->changed = true;
}
