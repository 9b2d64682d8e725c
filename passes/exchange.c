/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* exchange.c: operations in which threads hand each other elements -> buffers in shared memory,
 * stores into them and reads out of them.
 *
 * A gather reads at places that only the running program knows, so its tile is stored whole, in
 * row-major order; a histogram counts in a buffer of bins. An atomic, or the
 * volatile load of a scalar, is done by one of the threads that hold an element, its owner, which
 * stores the result for the others. Barriers are put by the pass of that name, as for all buffers;
 * those that the order of an atomic asks for are put here: a program is many threads but orders as
 * one, so a release comes after a barrier of all, an acquire before one. */
#include "passes/exchange.h"
#include "ir/effects.h"
#include "passes/pass.h"

/* One thread has the result, and more want it. */
static bool has_owner(const Op *op) {
    bool scalar_load = op->code == OP_LOAD && ir_attr_int(op, AT_VOLATILE, 0) && op->nresults &&
                       !op->result[0]->type.rank;
    if (!scalar_load && !op_is_atomic(op)) return false;
    if (!op->nresults) return false;
    const Value *r = op->result[0];
    if (!ir_has_uses(r) || ir_attr_int(op, AT_OWNER, 0)) return false;
    if (!r->type.rank) return true;
    return r->layout &&
           (layout_broadcast_bits(r->layout, IN_LANE) || layout_broadcast_bits(r->layout, IN_WARP));
}

/* The totals of a scan: of each run of its axis below the first bit that warps hold. */
static int64_t scan_bytes(const Op *op) {
    const Value *x = op->operand[0].value;
    int axis = (int)ir_attr_int(op, AT_AXIS, 0), below = 0, k;
    LayoutIn held = IN_REG;
    int64_t bytes = 0;
    while (below < x->type.log2[axis] &&
           layout_find_bit(x->layout, x->type, axis, below, &held, &k) && held != IN_WARP)
        below++;
    for (int i = 0; held == IN_WARP && i < op->noperands; i++)
        bytes += type_bytes(op->operand[i].value->type) >> below;
    return bytes;
}

int64_t exchange_bytes(const Op *op) {
    if (has_owner(op)) return type_bytes(op->result[0]->type);
    switch (op->code) {
    case OP_GATHER: return type_bytes(op->operand[0].value->type);
    case OP_HISTOGRAM: return type_bytes(op->result[0]->type);
    case OP_REDUCE: return reduce_exchange_bytes(op);
    case OP_SCAN: return op->operand[0].value->layout ? scan_bytes(op) : 0;
    default: return 0;
    }
}

static Value *row_major_buffer(Builder *b, Type t) {
    Type type = type_in_space(t, SPACE_SHARED);
    Value *buffer = ir_op(b, OP_BUFFER_ALLOC, NULL, 0, &type, 1, 0)->result[0];
    if (t.rank) buffer->layout = intern_layout(b->s, layout_row_major(t));
    return buffer;
}

/* v is what op gave. */
static void replace_op(Op *op, Value *v) {
    v->layout = op->result[0]->layout;
    v->name = op->result[0]->name;
    ir_replace_uses(op->result[0], v);
    ir_erase(op);
}

static void expand_gather(Builder *b, Op *op) {
    Value *x = op->operand[0].value, *from = row_major_buffer(b, x->type);
    ir_binary(b, OP_SHARED_STORE, x, from);
    Op *gather = ir_op(b, OP_SHARED_GATHER, (Value *[]){from, op->operand[1].value}, 2,
                       &op->result[0]->type, 1, 0);
    ir_set_attr(b->s, gather, AT_AXIS, ir_attr_int(op, AT_AXIS, 0));
    replace_op(op, gather->result[0]);
}

static void expand_histogram(Builder *b, Op *op) {
    Value *r = op->result[0], *bins = row_major_buffer(b, r->type);
    Value *none = ir_const_int(b, r->type, 0);
    none->layout = r->layout;
    ir_binary(b, OP_SHARED_STORE, none, bins);
    Value *args[] = {bins, op->operand[0].value, ir_operand(op, 1)};
    ir_op(b, OP_SHARED_COUNT, args, 1 + op->noperands, NULL, 0, 0);
    replace_op(op, ir_given(b, OP_SHARED_LOAD, bins, r->type));
}

/* Nothing that other programs could see lies between a barrier and op. */
static bool follows_barrier(const Op *op) {
    const unsigned harmless = EFFECT_READS_SHARED | EFFECT_UNIQUE;
    for (const Op *p = op->prev; p; p = p->prev) {
        if (p->code == OP_BARRIER) return true;
        if (!ir_is_pure(p) && (p->nregions || ir_effects(p) & ~harmless)) return false;
    }
    return false;
}

static bool orders(const Op *op, Sem how) {
    int64_t sem = ir_attr_int(op, AT_SEM, SEM_ACQ_REL);
    return op_is_atomic(op) && (sem == SEM_ACQ_REL || sem == (int64_t)how);
}

/* The owners' result to all who hold it: stored before the barrier `wait`, if there is one, loaded
 * behind it. */
static void spread_result(Builder *b, Op *op, Op *wait) {
    Value *r = op->result[0];
    Op *behind = b->before;
    if (wait) b->before = wait;
    Value *buffer = row_major_buffer(b, r->type);
    b->before = behind;
    Value *all = ir_given(b, OP_SHARED_LOAD, buffer, r->type);
    all->layout = r->layout;
    all->name = r->name;
    r->name = NULL;
    ir_replace_uses(r, all);
    b->before = wait ? wait : all->def;
    Op *store = ir_op(b, OP_SHARED_STORE, (Value *[]){r, buffer}, 2, NULL, 0, 0);
    ir_set_attr(b->s, op, AT_OWNER, 1);
    ir_set_attr(b->s, store, AT_OWNER, 1);
}

static bool expand_access(Builder *b, Op *op) {
    bool release = orders(op, SEM_RELEASE) && !follows_barrier(op), spread = has_owner(op);
    Op *wait = NULL;
    if (release) ir_op(b, OP_BARRIER, NULL, 0, NULL, 0, 0);
    b->before = op->next;
    if (orders(op, SEM_ACQUIRE)) wait = ir_op(b, OP_BARRIER, NULL, 0, NULL, 0, 0);
    if (spread) spread_result(b, op, wait);
    return release || wait || spread;
}

static void expand(Op *op, void *ctx_) {
    PassCtx *ctx = ctx_;
    Builder b = {ctx->s, ctx->f, op->block, op, op->span};
    switch (op->code) {
    case OP_GATHER:
    case OP_HISTOGRAM:
        if (!op->operand[0].value->layout) return;
        (op->code == OP_GATHER ? expand_gather : expand_histogram)(&b, op);
        ctx->changed = true;
        return;
    default:
        if (op->code == OP_LOAD || op_is_atomic(op)) ctx->changed |= expand_access(&b, op);
        return;
    }
}

void pass_exchange(PassCtx *ctx) {
    ir_walk(ctx->f->body, expand, ctx);
}
