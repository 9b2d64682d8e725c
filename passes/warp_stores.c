/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* warp_stores.c: a program's stores of blocks -> a role of one warp, which has the copy engine make
 * them out of shared memory, while the program goes on.
 *
 *     for t…: desc_store C, c, m, n
 * becomes, of two mbarriers,
 *     consumer: for t…: wait empty; buffer = c; fence; arrive at full
 *     storer: for t…: wait full; async_desc_store C, buffer, m, n; await its read; arrive at empty
 *
 * The consumer's warps do not wait for each other, and do not work out where the block goes: on an
 * H200 that, the barriers and starting the copy took half of what is between two tiles' products.
 * Others see the block when the grid is done, the program itself never knows: nothing else may
 * touch what it points into. */
#include "ir/analysis/alias.h"
#include "ir/desc.h"
#include "ir/effects.h"
#include "ir/roles.h"
#include "passes/cost.h"
#include "passes/warp_specialize.h"

typedef struct Look {
    const Op *store;
    bool alone; /* nothing else touches its tensor, or tells others what has been stored */
} Look;

static void look_around(Op *op, void *ctx) {
    Look *x = ctx;
    bool tells = op_is_atomic(op) || op->code == OP_INLINE_ASM || op->code == OP_GRID_LAUNCH;
    if (op == x->store || (!tells && !(ir_effects(op) & EFFECT_GLOBAL))) return;
    if (alias_is_of_workspace(op)) return;
    const Value *at = tells ? NULL : alias_underlying_object(op->operand[0].value);
    if (!at || at == alias_underlying_object(x->store->operand[0].value)) x->alone = false;
}

bool store_is_alone(const Func *f, const Op *store) {
    Look look = {store, alias_underlying_object(store->operand[0].value) != NULL};
    ir_walk(f->body, look_around, &look);
    return look.alone;
}

/* It is done once, or in a loop over places of the grid, which store in no order; maybe in one way
 * of a branch. The storer's warp can work out whether, and where. */
static bool is_anywhere(Specialize *x, const Op *store) {
    const Op *around = store->block->parent;
    for (int i = desc_first_index(store); i < store->noperands; i++)
        if (!is_scalar_work(x, store->operand[i].value)) return false;
    if (around && around->code == OP_IF) {
        if (!is_scalar_work(x, around->operand[0].value)) return false;
        around = around->block->parent;
        if (!around || !ir_attr_int(around, AT_PARALLEL, 0)) return false;
    }
    if (!around) return true;
    if (around->code != OP_FOR || !ir_attr_int(around, AT_PARALLEL, 0) || around->block->parent)
        return false;
    for (int i = 0; i < 3; i++)
        if (!is_scalar_work(x, around->operand[i].value)) return false;
    return true;
}

Value *store_buffer(Builder *b, const Op *store, int slices) {
    Type t = type_in_space(store->operand[1].value->type, SPACE_SHARED);
    t.slices = (uint16_t)slices;
    Value *buffer = shared_buffer(b, t);
    ir_copy_attr(b->s, store->operand[0].value->def, buffer->def, AT_LIVE);
    if (ir_attr(buffer->def, AT_LIVE)) ir_set_attr(b->s, buffer->def, AT_PACKED, 1);
    return buffer;
}

int64_t block_bytes(const Op *op) {
    return (desc_live_bytes(op->operand[0].value->def) + COST_STAGE_ALIGN - 1) / COST_STAGE_ALIGN *
           COST_STAGE_ALIGN;
}

/* As many stages as keep the tensor cores busy have room beside buffers of so many bytes. */
static bool leave_stages(const Specialize *x, int64_t bytes) {
    int64_t turn = 0;
    for (int i = 0; i < x->n; i++) turn += x->group[i].bytes;
    return x->f->num_warps >= COST_ROLES_CONSUMERS &&
           bytes + COST_STAGE_ALIGN + COST_STAGES_BESIDE * turn <= x->ctx->target->max_shared;
}

static void find_store(Op *op, void *ctx) {
    Specialize *x = ctx;
    Layout l;
    if (op->code != OP_DESC_STORE || op->operand[desc_first_index(op)].value->type.rank ||
        x->nstores == MOST_STORES || !desc_layout(op->operand[0].value->def, &l) ||
        !is_anywhere(x, op))
        return;
    int64_t stored = x->stored + block_bytes(op);
    if ((stored > COST_ROLES_REST && !leave_stages(x, stored)) || !store_is_alone(x->f, op)) return;
    x->stored = stored;
    x->store[x->nstores++] = (Store){.op = op};
}

void find_stores(Specialize *x) {
    enum { OTHERS = 2 }; /* warps besides the consumer's */
    bool many = x->f->num_warps >= COST_STORER_WARPS && x->f->num_warps + OTHERS <= MAX_WARPS;
    if (x->n && !x->refused && many) ir_walk(x->f->body, find_store, x);
}

static void count_store(Op *op, void *n) {
    *(int *)n += op->code == OP_DESC_STORE;
}

bool stores_all(const Specialize *x) {
    int n = 0;
    ir_walk(x->f->body, count_store, &n);
    return n == x->nstores;
}

void make_store_buffers(Specialize *x, Builder *b) {
    for (int k = 0; k < x->nstores; k++) {
        Store *st = &x->store[k];
        st->buffer = store_buffer(b, st->op, STORE_STAGES);
        st->full = shared_barriers(b, STORE_STAGES, x->consumers);
        st->empty = shared_barriers(b, STORE_STAGES, 1);
    }
}

Turn put_store(Specialize *x, const Store *st, Op *op, Turn t) {
    Builder b = {x->s, x->f, op->block, op, op->span};
    Value *put[] = {op->operand[1].value, stage_slice(&b, st->buffer, t.stage)};
    wait_stage(&b, st->empty, t);
    Op *store = ir_op(&b, OP_SHARED_STORE, put, 2, NULL, 0, 0);
    ir_copy_attr(x->s, op->operand[0].value->def, store, AT_LIVE);
    ir_op(&b, OP_ASYNC_FENCE, NULL, 0, NULL, 0, 0);
    arrive_at_stage(&b, st->full, t);
    t = next_turn(&b, t, STORE_STAGES);
    ir_erase(op);
    return t;
}

Turn send_store(Specialize *x, const Store *st, Op *op, Turn t) {
    Builder b = {x->s, x->f, op->block, op, op->span};
    Value *in[2 + DESC_MAX_RANK];
    Type token = type_token();
    wait_stage(&b, st->full, t);
    in[0] = op->operand[0].value;
    in[1] = stage_slice(&b, st->buffer, t.stage);
    for (int i = 2; i < op->noperands; i++) in[i] = op->operand[i].value;
    Value *sent = ir_op(&b, OP_ASYNC_DESC_STORE, in, op->noperands, &token, 1, 0)->result[0];
    ir_set_attr(x->s, ir_op(&b, OP_ASYNC_WAIT, &sent, 1, NULL, 0, 0), AT_READ, 1);
    arrive_at_stage(&b, st->empty, t);
    t = next_turn(&b, t, STORE_STAGES);
    ir_erase(op);
    return t;
}
