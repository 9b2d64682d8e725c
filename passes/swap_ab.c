/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* swap_ab.c: sums of dots with rows that nobody stores, or of bytes that lie across K -> sums of
 * the transposed factors' products, whose columns these rows are.
 *
 *     for k: acc = dot a, b, acc           for k: accT = dot trans b, trans a, accT
 *     store acc                       ->   store trans accT
 *
 * A warpgroup's instruction takes 64 rows and any multiple of 8 columns: 160 rows of 256 are
 * computed as 160 columns. Nothing moves for it: the copy engine writes blocks as they lie, which
 * the instruction reads along either dimension, and a transposed tile is held by the threads that
 * hold the tile. Each element is the same sum in the same order.
 *
 * Bytes are read along K alone, but for a first factor that threads read into registers. Where the
 * second factor's blocks lie across they swap, too: nobody has to transpose them in their stage, of
 * whose shared memory's time that takes more than the product leaves (H100, fp8, 8192, 256x128:
 * 0.837 -> 0.763 ms).
 *
 * Where threads copy the blocks it is slower (H100, 6144x256x4096, 96x128 in 4 warps: 34.9 us as it
 * is, 40.5 swapped), so it is for further entries. */
#include "ir/analysis/demand.h"
#include "ir/desc.h"
#include "passes/layout_choice.h"
#include "passes/schedule.h"
#include "passes/warp_specialize.h"

static Value *transposed(Builder *b, Value *v) {
    if (!op_is(v, OP_CONST)) return ir_trans(b, v);
    Type t = v->type;
    t.log2[0] = v->type.log2[1];
    t.log2[1] = v->type.log2[0];
    Value *same = ir_op_like(b, v->def, NULL, 0, &t)->result[0];
    same->name = v->name;
    return same;
}

/* How many elements instructions of warpgroups compute, if so much is wanted; 0: there are no such
 * instructions. */
static int64_t computed(const PassCtx *ctx, const Op *dot, int64_t rows, int64_t columns) {
    DotChoice d = choose_dot(dot, ctx->f->num_warps, ctx->target);
    Type t = dot->result[0]->type;
    if (!d.wgmma) return 0;
    return wgmma_rows(&d, t, rows) * (d.wn ? type_dim(t, 1) : columns);
}

/* The instruction reads operand i as the engine wrote it. */
static bool is_read_as_it_lies(PassCtx *ctx, const Op *dot, int i) {
    const Specialize x = {.ctx = ctx, .s = ctx->s, .f = ctx->f};
    Loaded from;
    return loaded_beside(dot, i, &from) && !lies_across(&x, dot, i, &from);
}

static int64_t in_eights(int64_t n) {
    return (n + 7) / 8 * 8;
}

/* The loop carries the sum that is operand 2 of `op` instead of the one that `dot` adds to, its
 * value i. */
static void carry(PassCtx *ctx, const Op *dot, Op *op, int i) {
    Op *loop = dot->block->parent;
    Builder start = {ctx->s, ctx->f, loop->block, loop, loop->span};
    Value *from = transposed(&start, loop->operand[3 + i].value);
    Op *to = ir_for_widen(ctx->s, ctx->f, loop, &from, 1);
    Block *body = to->region[0];
    Op *before = op->operand[2].value->def;
    ir_set_operand(op, 2, body->args[to->nresults]);
    ir_erase(before);
    ir_yield_more(ctx->s, ctx->f, body->last, &op->result[0], 1);
    ir_replace_uses(dot->result[0], body->args[1 + i]);
    Builder end = {ctx->s, ctx->f, to->block, to->next, to->span};
    ir_replace_uses(to->result[i], transposed(&end, to->result[to->nresults - 1]));
}

/* Its instruction takes bytes along K alone, but for a first factor that threads read. */
static bool lets_threads_read(PassCtx *ctx, Op *dot) {
    Loaded from;
    bool bytes = type_elem_bytes(dot->operand[0].value->type) == 1;
    if (!bytes || is_read_as_it_lies(ctx, dot, 0) || !loaded_beside(dot, 0, &from)) return false;
    ir_set_attr(ctx->s, dot, AT_PAIRS, 1);
    if (is_read_as_it_lies(ctx, dot, 0) && is_read_as_it_lies(ctx, dot, 1)) return true;
    ir_drop_attr(dot, AT_PAIRS);
    return false;
}

static void swap(PassCtx *ctx, Op *dot) {
    int i = dot_chained(dot);
    Type t = dot->result[0]->type;
    if (i < 0 || t.rank != 2) return;
    if (lets_threads_read(ctx, dot)) return;
    int64_t rows = in_eights(demand_of(ctx->s, ctx->f, dot->result[0], 0));
    int64_t columns = ir_attr_int(dot, AT_COLUMNS, type_dim(t, 1));
    Builder b = {ctx->s, ctx->f, dot->block, dot, dot->span};
    Value *in[] = {transposed(&b, dot->operand[1].value), transposed(&b, dot->operand[0].value),
                   transposed(&b, dot->operand[2].value)};
    Op *op = ir_op_like(&b, dot, in, 3, &in[2]->type);
    int64_t before = computed(ctx, dot, rows, columns), after = computed(ctx, op, columns, rows);
    bool pairs = after && lets_threads_read(ctx, op);
    if (pairs || (after && after < before && is_read_as_it_lies(ctx, op, 0) &&
                  is_read_as_it_lies(ctx, op, 1))) {
        ir_drop_attr(op, AT_COLUMNS);
        if (rows < type_dim(t, 0)) ir_set_attr(ctx->s, op, AT_COLUMNS, rows);
        carry(ctx, dot, op, i);
        ir_erase(dot);
        ctx->changed = true;
    } else {
        ir_erase(op);
        for (int k = 0; k < 3; k++) ir_erase(in[k]->def);
    }
}

typedef struct Dots {
    Arena *arena;
    VEC(Op *) found;
} Dots;

static void find(Op *op, void *found) {
    Dots *d = found;
    if (op->code == OP_DOT) vec_push(d->arena, &d->found, op);
}

void pass_swap_ab(PassCtx *ctx) {
    Dots d = {.arena = &ctx->s->arena};
    ir_walk(ctx->f->body, find, &d);
    for (int i = 0; i < d.found.n; i++) swap(ctx, d.found.at[i]);
}
