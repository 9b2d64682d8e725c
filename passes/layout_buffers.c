/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* layout_buffers.c: buffers of tile IR that was written with them -> their layouts (see
 * layout_buffers.h). */
#include "passes/layout_buffers.h"
#include "ir/buffer.h"
#include "ir/desc.h"

#include <string.h>

/* Calls fn for each op that uses the buffer or a slice of it, and the operand. */
static void each_use(const Op *alloc, void (*fn)(const Op *op, int i, void *ctx), void *ctx) {
    for (const Use *u = alloc->result[0]->uses; u; u = u->next)
        if (u->op->code == OP_BUFFER_SLICE || buffer_is_view(u->op))
            each_use(u->op, fn, ctx);
        else
            fn(u->op, (int)(u - u->op->operand), ctx);
}

typedef struct Writer {
    const AxisTable *axis;
    int dim; /* that elements follow each other along */
} Writer;

static void look_for_writer(const Op *op, int i, void *ctx) {
    Writer *w = ctx;
    (void)i;
    uint8_t order[TILE_MAX_RANK];
    if (op->code == OP_ASYNC_COPY) w->dim = axis_fastest_dim(w->axis, op->operand[0].value);
    if (op->code != OP_MBAR_DESC_LOAD || !desc_order(op, order)) return;
    int rank = op->operand[0].value->type.rank, lacks = rank - op->operand[1].value->type.rank;
    for (int d = lacks; d < rank; d++)
        if (order[d] == rank - 1) w->dim = d - lacks;
}

/* Which of the view's dimensions each of the buffer's, or the slice's, is. */
static void dims_in_view(const Value *view, uint8_t *of) {
    for (int d = 0; d < view->type.rank; d++) of[d] = (uint8_t)d;
    for (const Value *v = view; op_is(v, OP_BUFFER_TRANS); v = v->def->operand[0].value) {
        uint8_t before[TILE_MAX_RANK];
        memcpy(before, of, sizeof before);
        for (int d = 0; d < v->type.rank; d++) of[ir_attr(v->def, AT_ORDER)->dims[d]] = before[d];
    }
}

void layout_buffer_of_dot(PassCtx *ctx, const AxisTable *axis, const Op *dot, int i) {
    const Value *view = dot->operand[i].value;
    const Op *alloc = buffer_alloc(view);
    Type t = type_in_space(view->type, SPACE_REGISTER);
    Writer w = {axis, t.rank - 1};
    uint8_t in_view[TILE_MAX_RANK];
    dims_in_view(view, in_view);
    each_use(alloc, look_for_writer, &w);
    Layout from = choose_access_layout(t, (Access){in_view[w.dim], 3}, 1);
    Layout read = choose_operand_shared(dot, i, &from);
    const Layout *l = intern_layout(ctx->s, layout_transposed(&read, t, in_view));
    Value *buffer = alloc->result[0];
    if (!buffer->layout) buffer->layout = l;
    if (buffer->layout == l) return;
    diag(&ctx->s->diags, E_BUFFER_LAYOUT, dot->span,
         "operand %d of this dot is a buffer that another reads otherwise: give each its own", i);
    diag(&ctx->s->diags, CODE_NONE, alloc->span, "the buffer is made here");
}

typedef struct Users {
    const Value *tile; /* one that is stored or loaded; NULL: none is */
    const Op *by_desc; /* blocks come, or go, by a descriptor: an op that moves one; or NULL */
} Users;

static void look_for_tile(const Op *op, int i, void *ctx) {
    Users *u = ctx;
    if (op->code == OP_SHARED_STORE && i == 1) u->tile = op->operand[0].value;
    if (op->code == OP_SHARED_LOAD) u->tile = op->result[0];
    if (op->code == OP_ASYNC_COPY && !u->tile) u->tile = op->operand[0].value;
    if (desc_moves_buffer(op)) u->by_desc = op;
}

/* What an index reaches lies in row-major order; what the copy engine writes, as its boxes do. */
static void settle_buffer(Op *op, void *ctx_) {
    PassCtx *ctx = ctx_;
    if (op->code != OP_BUFFER_ALLOC || op->result[0]->type.space != SPACE_SHARED) return;
    Value *buffer = op->result[0];
    Type t = type_in_space(buffer->type, SPACE_REGISTER);
    if (buffer->layout || !t.rank) return;
    Users users = {0};
    each_use(op, look_for_tile, &users);
    const Value *tile = users.tile;
    Layout l = layout_row_major(t);
    /* Else code generation says why not. */
    bool boxes = users.by_desc && desc_layout(users.by_desc->operand[0].value->def, &l);
    if (!boxes && tile && tile->layout && !users.by_desc)
        l = choose_move_shared(t, tile->layout, tile->layout);
    buffer->layout = intern_layout(ctx->s, l);
}

static void look_for_engine(const Op *op, int i, void *found) {
    bool views =
        i == 1 && desc_moves_buffer(op) && op_is(op->operand[1].value, OP_BUFFER_REINTERPRET);
    if (views) *(const Op **)found = op;
}

/* As the copy engine writes the block that it brings to such a view of the buffer. */
static const Layout *engine_layout(PassCtx *ctx, const Op *view) {
    const Op *copy = NULL;
    uint8_t order[TILE_MAX_RANK];
    Layout l;
    each_use(buffer_alloc(view->result[0]), look_for_engine, &copy);
    const Value *desc = copy ? copy->operand[0].value : NULL;
    if (!copy || !desc_layout(desc->def, &l)) return view->operand[0].value->layout;
    if (ir_attr(copy, AT_ORDER) && desc_order(copy, order))
        l = layout_transposed(&l, type_in_space(desc->type, SPACE_REGISTER), order);
    return intern_layout(ctx->s, l);
}

static void settle_view(Op *op, void *ctx_) {
    PassCtx *ctx = ctx_;
    if (op->code != OP_BUFFER_SLICE && !buffer_is_view(op)) return;
    const Value *of = op->operand[0].value;
    op->result[0]->layout = of->layout;
    if (op->code == OP_BUFFER_REINTERPRET) op->result[0]->layout = engine_layout(ctx, op);
    if (op->code == OP_BUFFER_TRANS && of->layout)
        op->result[0]->layout = intern_layout(
            ctx->s, layout_transposed(of->layout, type_in_space(of->type, SPACE_REGISTER),
                                      ir_attr(op, AT_ORDER)->dims));
}

/* How the copy engine is to write, or read, this block: as its buffer lies. */
static const Layout *block_layout(PassCtx *ctx, const Op *op) {
    const Value *desc = op->operand[0].value;
    const Layout *l = op->operand[1].value->layout;
    uint8_t order[TILE_MAX_RANK], back[TILE_MAX_RANK];
    if (ir_attr(op, AT_ORDER) && desc_order(op, order)) {
        Type block = type_in_space(desc->type, SPACE_REGISTER), t = block;
        for (int d = 0; d < t.rank; d++) {
            t.log2[d] = block.log2[order[d]];
            back[order[d]] = (uint8_t)d;
        }
        l = intern_layout(ctx->s, layout_transposed(l, t, back));
    }
    return l;
}

/* A map of a tensor says how blocks lie: where they go to buffers that lie otherwise, there is
 * another one for these. */
static void settle_desc(Op *op, void *ctx_) {
    PassCtx *ctx = ctx_;
    if (!desc_moves_buffer(op)) return;
    Value *desc = op->operand[0].value;
    const Layout *l = block_layout(ctx, op);
    if (!desc->layout) desc->layout = l;
    if (desc->layout == l) return;
    Op *make = desc->def;
    Builder b = {ctx->s, ctx->f, make->block, make->next, make->span};
    Value *other = ir_clone(&b, make, NULL, 0)->result[0];
    other->layout = l;
    for (Use *u = desc->uses, *next; u; u = next) {
        next = u->next;
        if (desc_moves_buffer(u->op) && block_layout(ctx, u->op) == l)
            ir_set_operand(u->op, 0, other);
    }
}

void layout_settle_buffers(PassCtx *ctx) {
    ir_walk(ctx->f->body, settle_buffer, ctx);
    ir_walk(ctx->f->body, settle_view, ctx);
    ir_walk(ctx->f->body, settle_desc, ctx);
}
