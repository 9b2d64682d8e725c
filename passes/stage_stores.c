/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* stage_stores.c: a program's stores of blocks -> through a buffer in shared memory, from which the
 * copy engine stores while the program goes on.
 *
 *     for t…: desc_store C, c, m, n
 * becomes
 *     for t…, last: await read of last; buffer = c; last = async_desc_store C, buffer, m, n
 *     await read of last
 *
 * so a program that stays computes its next block meanwhile: those of few warps do, of many a warp
 * of its own stores (warp_stores.c). A store in a branch of the loop's body starts a copy or hands
 * on the token it found. Others see the block when the grid is done, the program itself never
 * knows: nothing else may touch what it points into. */
#include "ir/analysis/alias.h"
#include "ir/desc.h"
#include "ir/effects.h"
#include "ir/roles.h"
#include "ir/target.h"
#include "passes/cost.h"
#include "passes/warp_specialize.h"

typedef struct Stage {
    PassCtx *ctx;
    VEC(Op *) stores;
    Op *store;
    int64_t bytes;
} Stage;

typedef struct Around {
    Op *branch; /* of the loop's body, in which the store is; NULL: it is in none */
    Op *loop;   /* over places of the grid, which store in no order; NULL: the store is done once */
} Around;

/* False: it is elsewhere. */
static bool find_around(const Op *store, Around *out) {
    Op *around = store->block->parent;
    out->branch = around && around->code == OP_IF ? around : NULL;
    if (out->branch) around = around->block->parent;
    out->loop = around && ir_attr_int(around, AT_PARALLEL, 0) ? around : NULL;
    if (out->branch && !out->loop) return false;
    if (out->loop) around = around->block->parent;
    return !around || (around->code == OP_WARPS && !around->block->parent);
}

static bool is_wanted(Stage *x, Around *around) {
    Layout l;
    const Op *op = x->store;
    if (op->code != OP_DESC_STORE || op->operand[desc_first_index(op)].value->type.rank ||
        !desc_layout(op->operand[0].value->def, &l) || !find_around(op, around))
        return false;
    int64_t bytes = block_bytes(op);
    if (x->bytes + bytes > COST_ROLES_REST || !store_is_alone(x->ctx->f, op)) return false;
    x->bytes += bytes;
    return true;
}

static Value *none(Builder *b) {
    Type t = type_token();
    return ir_op(b, OP_TOKEN_DONE, NULL, 0, &t, 1, 0)->result[0];
}

static void wait_read(Builder *b, Value *token) {
    Op *wait = ir_op(b, OP_ASYNC_WAIT, &token, 1, NULL, 0, 0);
    ir_set_attr(b->s, wait, AT_READ, 1);
}

/* In place of the store; the copy's token. */
static Value *start(Stage *x, Value *buffer, Value *last) {
    Op *op = x->store;
    Builder b = {x->ctx->s, x->ctx->f, op->block, op, op->span};
    Type token = type_token();
    Value *put[] = {op->operand[1].value, buffer}, *in[2 + DESC_MAX_RANK];
    if (last) {
        wait_read(&b, last);
        ir_op(&b, OP_BARRIER, NULL, 0, NULL, 0, 0);
    }
    Op *store = ir_op(&b, OP_SHARED_STORE, put, 2, NULL, 0, 0);
    ir_copy_attr(x->ctx->s, op->operand[0].value->def, store, AT_LIVE);
    ir_op(&b, OP_ASYNC_FENCE, NULL, 0, NULL, 0, 0);
    ir_op(&b, OP_BARRIER, NULL, 0, NULL, 0, 0);
    in[0] = op->operand[0].value;
    in[1] = buffer;
    for (int i = 2; i < op->noperands; i++) in[i] = op->operand[i].value;
    Value *done = ir_op(&b, OP_ASYNC_DESC_STORE, in, op->noperands, &token, 1, 0)->result[0];
    ir_erase(op);
    return done;
}

/* The same in a branch: the token that goes on behind it, of the store or of the turn before. */
static Value *start_in_branch(Stage *x, Op *branch, Value *buffer, Value *last) {
    Session *s = x->ctx->s;
    Func *f = x->ctx->f;
    Type token = type_token();
    int n = branch->nresults, r = x->store->block == branch->region[1];
    Value *started = start(x, buffer, last);
    Op *to = ir_if_widen(s, f, branch, &token, 1);
    ir_yield_more(s, f, to->region[r]->last, &started, 1);
    ir_yield_more(s, f, to->region[!r]->last, &last, 1);
    return to->result[n];
}

static void stage(Stage *x, const Around *around) {
    Session *s = x->ctx->s;
    Func *f = x->ctx->f;
    Op *op = x->store, *loop = around->loop;
    Builder top = {s, f, f->body, f->body->first, op->span};
    Value *buffer = store_buffer(&top, op, 0);
    Builder end = {s, f, op->block, op->block->last, op->span};
    Value *last;
    if (loop) {
        Builder before = {s, f, loop->block, loop, op->span};
        Value *begin = none(&before);
        int n = loop->nresults;
        Op *to = ir_for_widen(s, f, loop, &begin, 1);
        Block *body = to->region[0];
        last = body->args[1 + n];
        last = around->branch ? start_in_branch(x, around->branch, buffer, last)
                              : start(x, buffer, last);
        ir_yield_more(s, f, body->last, &last, 1);
        last = to->result[n];
        end.block = to->block;
        end.before = to->next;
    } else {
        last = start(x, buffer, NULL);
    }
    wait_read(&end, last);
    x->ctx->changed = true;
}

static void collect(Op *op, void *ctx) {
    Stage *x = ctx;
    if (op->code == OP_DESC_STORE) vec_push(&x->ctx->s->arena, &x->stores, op);
}

/* Where a role stores, what it left is for threads to store. */
void pass_stage_stores(PassCtx *ctx) {
    enum { CONSUMER_AND_PRODUCER = 2 };
    Stage x = {.ctx = ctx};
    const Op *roles = roles_of(ctx->f);
    if (!ctx->target->tma || !roles || roles->nregions > CONSUMER_AND_PRODUCER) return;
    ir_walk(ctx->f->body, collect, &x);
    for (int i = 0; i < x.stores.n; i++) {
        Around around;
        x.store = x.stores.at[i];
        if (is_wanted(&x, &around)) stage(&x, &around);
    }
}
