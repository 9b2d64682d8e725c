/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* ping_pong.c: a role's loop whose dots go on beside long work -> its warpgroups take turns.
 *
 *     for …: s = dot q, k; acc = dot p, v, acc; wait for s; p = … s …; wait for acc
 * becomes
 *     for …, phase:
 *         order_wait phase; s = dot q, k; acc = dot p, v, acc; order_arrive
 *         wait for s; p = … s …; wait for acc; phase ^ 1
 * The dot that is left behind the loop takes a turn, too: at once it would be beside the last of
 * the others'.
 *
 * Warpgroups that go round in step all start their dots at once, and then all have none while they
 * work on what came of them. In turns, one's dots are done while the others work.
 *
 * What an order_wait waits for is that the one before has started its dots. Until then that one
 * must not wait for this one: for a barrier of the role's, or for a buffer that was let go of since
 * its own order_wait. Barriers come later, where threads meet in shared memory: in such a loop they
 * do not touch it.
 *
 * Each warpgroup has an mbarrier. One turn is a phase of all of them, counted on from loop to loop
 * through those around. */
#include "ir/buffer.h"
#include "ir/effects.h"
#include "ir/roles.h"
#include "passes/pass.h"
#include "passes/schedule.h"
#include "passes/walk.h"

typedef struct Turn {
    Op *first, *wait; /* the dots that are started together lie from first on, before wait */
} Turn;

typedef struct Order { /* of a role */
    PassCtx *ctx;
    Value *barriers;
    bool any;
} Order;

/* ---- which loops ---- */

typedef struct Touch {
    const Func *f;
    const Op *alloc; /* who writes this buffer is looked for */
    bool found;
} Touch;

/* Threads write the buffer: what brings blocks by descriptors comes to a barrier of its own. */
static void look_for_write(Op *op, void *ctx) {
    Touch *t = ctx;
    if (op->code == OP_MBAR_DESC_LOAD || op->code == OP_MBAR_FRAGMENT_LOAD) return;
    for (int i = 0; i < op->noperands; i++)
        t->found |= ir_operand_effects(op, i) & EFFECT_WRITES_SHARED &&
                    buffer_alloc(op->operand[i].value) == t->alloc;
}

/* There is a barrier, or will be one. */
static void look_for_meeting(Op *op, void *ctx) {
    Touch *t = ctx, written = {.f = t->f};
    t->found |= op->code == OP_BARRIER || op->code == OP_FOR || op->code == OP_WHILE;
    if (op->code != OP_DOT)
        t->found |= ir_effects(op) & (EFFECT_READS_SHARED | EFFECT_WRITES_SHARED);
    for (int i = 0; i < 2 && op->code == OP_DOT && !t->found; i++) {
        const Value *of = op->operand[i].value;
        written.alloc = of->type.space == SPACE_SHARED ? buffer_alloc(of) : NULL;
        if (written.alloc) ir_walk(t->f->body, look_for_write, &written);
        t->found |= written.found;
    }
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

static bool has_turns(const Func *f, const Op *loop, Turn *turn) {
    Touch meets = {.f = f};
    *turn = (Turn){0};
    if (loop->code != OP_FOR || !find_turn(loop, turn)) return false;
    for (const Op *around = loop; (around = loop_around(around));)
        if (around->code == OP_WHILE) return false;
    ir_walk(loop->region[0], look_for_meeting, &meets);
    return !meets.found;
}

static void look_for_turns(Op *op, void *ctx) {
    Order *o = ctx;
    Turn t;
    o->any |= has_turns(o->ctx->f, op, &t);
}

static bool any_turns(const Order *o, Op *op) {
    Order in = {.ctx = o->ctx};
    for (int r = 0; r < op->nregions; r++) ir_walk(op->region[r], look_for_turns, &in);
    return in.any;
}

/* ---- the turns ---- */

/* The phase behind the turn, counted in front of `end`. */
static Value *put_turn(Order *o, const Turn *t, Value *phase, Op *end) {
    Value *in[] = {o->barriers, phase};
    Builder b = {o->ctx->s, o->ctx->f, t->first->block, t->first, t->first->span};
    ir_op(&b, OP_ORDER_WAIT, in, 2, NULL, 0, 0);
    b.before = t->wait;
    ir_op(&b, OP_ORDER_ARRIVE, in, 1, NULL, 0, 0);
    b.before = end;
    return ir_binary(&b, OP_XOR, phase, ir_const_int(&b, phase->type, 1));
}

/* The dot behind the loop that goes on with its last turn's; NULL: none, or threads meet there. */
static Op *last_dot(const Func *f, const Op *loop) {
    Touch meets = {.f = f};
    Op *op = loop->next;
    while (op && !op->nregions && !op_is_async_dot(op)) op = op->next;
    if (op) look_for_meeting(op, &meets);
    return op && op_is_async_dot(op) && !meets.found ? op : NULL;
}

/* The phase behind the block. */
static Value *count_turns(Order *o, Block *block, Value *phase) {
    Session *s = o->ctx->s;
    Func *f = o->ctx->f;
    for (Op *op = block->first, *next; op; op = next) {
        Turn turn;
        bool here = has_turns(f, op, &turn);
        int n = op->nresults;
        next = op->next;
        if (!here && !any_turns(o, op)) continue;
        bool loops = op->code == OP_FOR;
        Op *to = loops ? ir_for_widen(s, f, op, &phase, 1) : ir_if_widen(s, f, op, &phase->type, 1);
        for (int r = 0; r < to->nregions; r++) {
            Block *in = to->region[r];
            Value *begin = loops ? in->args[1 + n] : phase;
            Value *end = here ? put_turn(o, &turn, begin, in->last) : count_turns(o, in, begin);
            ir_yield_more(s, f, in->last, &end, 1);
        }
        phase = to->result[n];
        Op *last = here ? last_dot(f, to) : NULL;
        if (last) phase = put_turn(o, &(Turn){last, last->next}, phase, last->next);
    }
    return phase;
}

/* Beside the barriers of stages, in front of what makes them known to all. */
static void take_turns(PassCtx *ctx, const Op *roles, int role) {
    Block *in = roles->region[role];
    int groups = role_warps(roles, role) / WARPGROUP;
    Order o = {.ctx = ctx};
    if (groups < 2) return;
    ir_walk(in, look_for_turns, &o);
    if (!o.any) return;
    Builder b = {ctx->s, ctx->f, roles->block, roles->block->first, roles->span};
    Type t = type_barrier(groups);
    o.barriers = ir_op(&b, OP_BUFFER_ALLOC, NULL, 0, &t, 1, 0)->result[0];
    ir_set_attr(b.s, ir_op(&b, OP_MBAR_INIT, &o.barriers, 1, NULL, 0, 0), AT_COUNT, WARPGROUP);
    b = (Builder){ctx->s, ctx->f, in, in->first, roles->span};
    count_turns(&o, in, ir_const_int(&b, type_scalar(EL_I32), 0));
    ctx->changed = true;
}

/* Where nothing makes barriers known there are no stages to wait for. */
void pass_ping_pong(PassCtx *ctx) {
    const Op *roles = roles_of(ctx->f), *op = roles;
    while (op && op->code != OP_BARRIER && op->code != OP_CLUSTER_BARRIER) op = op->prev;
    for (int r = 0; op && r < roles->nregions; r++) take_turns(ctx, roles, r);
}
