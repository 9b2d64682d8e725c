/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* exchange.c: operations in which threads hand each other elements -> buffers in shared memory,
 * stores into them and reads out of them.
 *
 * A gather reads at places that only the running program knows, so its tile is stored whole, in
 * row-major order; a histogram counts in a buffer of bins. Barriers are put by the pass of that
 * name, as for all buffers. */
#include "passes/exchange.h"
#include "ir/scratch.h"
#include "passes/pass.h"

int64_t exchange_bytes(const Op *op) {
    switch (op->code) {
    case OP_GATHER: return type_bytes(op->operand[0].value->type);
    case OP_HISTOGRAM: return type_bytes(op->result[0]->type);
    default: return scratch_bytes(op);
    }
}

static Value *row_major_buffer(Builder *b, Type t) {
    Type type = type_in_space(t, SPACE_SHARED);
    Layout l = layout_new(t);
    for (int i = 0; i < l.out; i++) layout_push(&l, IN_OFFSET, (uint32_t)1 << i);
    Value *buffer = ir_op(b, OP_BUFFER_ALLOC, NULL, 0, &type, 1, 0)->result[0];
    buffer->layout = intern_layout(b->s, l);
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

static void expand(Op *op, void *ctx_) {
    PassCtx *ctx = ctx_;
    Builder b = {ctx->s, ctx->f, op->block, op, op->span};
    if (!op->noperands || !op->operand[0].value->layout) return;
    switch (op->code) {
    case OP_GATHER: expand_gather(&b, op); break;
    case OP_HISTOGRAM: expand_histogram(&b, op); break;
    default: return;
    }
    ctx->changed = true;
}

void pass_exchange(PassCtx *ctx) {
    ir_walk(ctx->f->body, expand, ctx);
}
