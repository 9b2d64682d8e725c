/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* ping_pong.c: a role's loop whose dots go on beside long work -> its warpgroups take turns.
 *
 *     for …: s = dot q, k; acc = dot p, v, acc; wait for s; p = … s …; wait for acc
 * becomes
 *     order_arrive once
 *     for …:
 *         order_wait; s = dot q, k; acc = dot p, v, acc; order_arrive
 *         wait for s; p = … s …; wait for acc
 *     order_wait once
 *
 * Warpgroups that go round in step all start their dots at once, and then all have none while they
 * work on what came of them. In turns, one's dots are done while the others work.
 *
 * What an order_wait waits for is that the one before has started its dots. Until then that one
 * must not wait for this one: for a barrier of the role's, or for a buffer that was let go of since
 * its own order_wait. */
#include "ir/roles.h"
#include "passes/pass.h"
#include "passes/schedule.h"

typedef struct Turn {
    Op *first, *wait; /* the dots that are started together lie from first on, before wait */
} Turn;

static void look_for_meeting(Op *op, void *found) {
    *(bool *)found |= op->code == OP_BARRIER || op->code == OP_FOR || op->code == OP_WHILE;
}

/* All of the loop's dots are started before one is waited for, then one is while another goes on,
 * and none does into the next turn. */
static bool find_turn(const Op *loop, Turn *t) {
    int dots = 0;
    const Op *last = NULL;
    for (Op *op = loop->region[0]->first; op; op = op->next) {
        if (op->code == OP_DOT) {
            if (!op_is_async_dot(op) || t->wait) return false;
            if (!t->first) t->first = op;
            dots++;
        }
        if (t->first && !t->wait && op->code == OP_MBAR_ARRIVE) return false;
        if (op->code != OP_DOT_WAIT) continue;
        if (!t->wait) t->wait = op;
        last = op;
    }
    return dots > 1 && t->first && last && ir_attr_int(t->wait, AT_PENDING, 0) &&
           !ir_attr_int(last, AT_PENDING, 0);
}

static void put(PassCtx *ctx, OpCode code, Op *before, int id, bool once) {
    Builder b = {ctx->s, ctx->f, before->block, before, before->span};
    Op *op = ir_op(&b, code, NULL, 0, NULL, 0, 0);
    ir_set_attr(ctx->s, op, AT_ID, id);
    if (once) ir_set_attr(ctx->s, op, AT_ONCE, 1);
}

static void visit(Op *loop, void *ctx_) {
    PassCtx *ctx = ctx_;
    const Op *roles = roles_of(ctx->f);
    int role = role_of_block(loop->block);
    if (loop->code != OP_FOR || role < 0) return;
    int groups = role_warps(roles, role) / WARPGROUP;
    int id = roles->nregions + 1 + role_first_warp(roles, role) / WARPGROUP;
    bool meets = false;
    Turn t = {0};
    ir_walk(loop->region[0], look_for_meeting, &meets);
    if (groups < 2 || id + groups > NAMED_BARRIERS || meets || !find_turn(loop, &t)) return;
    put(ctx, OP_ORDER_ARRIVE, loop, id, true);
    put(ctx, OP_ORDER_WAIT, t.first, id, false);
    put(ctx, OP_ORDER_ARRIVE, t.wait, id, false);
    put(ctx, OP_ORDER_WAIT, loop->next, id, true);
    ctx->changed = true;
}

void pass_ping_pong(PassCtx *ctx) {
    if (roles_of(ctx->f)) ir_walk(ctx->f->body, visit, ctx);
}
