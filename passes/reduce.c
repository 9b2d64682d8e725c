/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* reduce.c: `reduce` along an axis that warps share -> two within a warp, with a small conversion.
 * One that need not commute combines neighbours first, in their order.
 *
 * The axis is cut in three, [high, warps, low], by a reshape, which costs nothing. Low and high are
 * reduced where they are; what is left is one value per warp, converted (through shared memory, as
 * any conversion) to a layout where one thread holds the values of all warps, or, where those are
 * many, the lanes of each warp, and reduced there.
 * When warps do not hold neighbouring bits of the axis the whole tile is converted instead. */
#include "ir/reduction.h"
#include "passes/cost.h"
#include "passes/exchange.h"
#include "passes/layout_choice.h"
#include "passes/pass.h"

#include <string.h>

typedef struct Split {
    PassCtx *ctx;
    Op *op;
    Builder b;
} Split;

/* Bits of dimension `dim` that warps walk, as a mask; *single: each by a vector of its own. */
static uint32_t warp_bits(const Layout *l, Type t, int dim, bool *single) {
    uint32_t mask = 0, all = ((uint32_t)1 << t.log2[dim]) - 1;
    int shift = type_dim_shift(t, dim);
    *single = true;
    for (int k = 0; k < l->bits[IN_WARP]; k++) {
        uint32_t v = l->basis[IN_WARP][k], part = v >> shift & all;
        if (!part) continue;
        if ((v & (v - 1)) || (mask & part)) *single = false;
        mask |= part;
    }
    return mask;
}

/* How the axis of a reduction is cut. */
typedef struct Cut {
    int low, warps; /* bits of the axis; warps 0: warps share none of it */
    bool together;  /* else the tile is converted whole */
} Cut;

static Cut cut_of(const Op *op) {
    const Value *v = op->operand[0].value;
    Cut c = {.warps = 0};
    bool single;
    uint32_t bits =
        v->layout ? warp_bits(v->layout, v->type, (int)ir_attr_int(op, AT_AXIS, 0), &single) : 0;
    if (!bits) return c;
    while (!(bits >> c.low & 1)) c.low++;
    while (bits >> (c.low + c.warps) & 1) c.warps++;
    c.together = single && bits >> (c.low + c.warps) == 0 && v->type.rank + 2 <= TILE_MAX_RANK;
    return c;
}

int64_t reduce_exchange_bytes(const Op *op) {
    Cut c = cut_of(op);
    int64_t bytes = 0;
    for (int i = 0; c.warps && i < op->noperands; i++) {
        Type t = op->operand[i].value->type;
        int all = t.log2[ir_attr_int(op, AT_AXIS, 0)];
        int left = !c.together ? all : ir_reduce_commutes(op) ? c.warps : all - c.low;
        bytes += type_bytes(t) >> (all - left);
    }
    return bytes;
}

/* l with what warps hold of `dim` held by registers instead, or, where that is more than a thread
 * should have, by lanes that hold copies, for as long as there are any; warps then hold copies. */
static Layout without_warps(const Layout *l, Type t, int dim, int n) {
    Layout r = *l;
    uint32_t all = (((uint32_t)1 << t.log2[dim]) - 1) << type_dim_shift(t, dim);
    int moved = 0, lane = 0;
    for (int k = 0; k < r.bits[IN_WARP]; k++) moved += (r.basis[IN_WARP][k] & all) != 0;
    bool many = ((int64_t)n << (r.bits[IN_REG] + moved)) > COST_MOST_PARTIALS;
    for (int k = 0; k < r.bits[IN_WARP]; k++) {
        if (!(r.basis[IN_WARP][k] & all)) continue;
        while (lane < r.bits[IN_LANE] && r.basis[IN_LANE][lane]) lane++;
        if (many && lane < r.bits[IN_LANE])
            r.basis[IN_LANE][lane] = r.basis[IN_WARP][k];
        else
            layout_push(&r, IN_REG, r.basis[IN_WARP][k]);
        r.basis[IN_WARP][k] = 0;
    }
    return r;
}

static void reshape_all(Split *s, Value **x, int n, Type shape) {
    for (int i = 0; i < n; i++) {
        const Layout *l = x[i]->layout;
        x[i] = ir_given(&s->b, OP_RESHAPE, x[i], type_with_shape(x[i]->type, shape));
        x[i]->layout = l;
    }
}

/* The op's region over other operands, along another axis; results are typed and laid out by rule.
 */
static Op *reduce_along(Split *s, Value **x, int axis) {
    Op *op = s->op;
    int n = op->noperands;
    Type *types = arena_array(&s->ctx->s->arena, (size_t)n, sizeof *types);
    for (int i = 0; i < n; i++) types[i] = type_without_dim(x[i]->type, axis);
    Op *r = ir_op(&s->b, OP_REDUCE, x, n, types, n, 1);
    ir_set_attr(s->ctx->s, r, AT_AXIS, axis);
    if (ir_attr_int(op, AT_COMMUTES, 0)) ir_set_attr(s->ctx->s, r, AT_COMMUTES, 1);
    Layout l = layout_without_dim(x[0]->layout, x[0]->type, axis);
    layout_drop_replicas(&l);
    const Layout *kept = intern_layout(s->ctx->s, l);
    for (int i = 0; i < n; i++)
        if (types[i].rank) r->result[i]->layout = kept;
    ir_clone_region(&s->b, op->region[0], r->region[0]);
    return r;
}

static void results_of(const Op *op, Value **x) {
    for (int i = 0; i < op->nresults; i++) x[i] = op->result[i];
}

static void convert_all(Split *s, Value **x, int n, const Layout *l) {
    for (int i = 0; i < n; i++) {
        x[i] = ir_unary(&s->b, OP_CONVERT, x[i]);
        x[i]->layout = l;
    }
}

static void split(Op *op, void *ctx_) {
    PassCtx *ctx = ctx_;
    if (op->code != OP_REDUCE) return;
    Type t = op->operand[0].value->type;
    int axis = (int)ir_attr_int(op, AT_AXIS, 0), n = op->noperands;
    Cut c = cut_of(op);
    if (!c.warps) return;
    Split s = {ctx, op, {ctx->s, ctx->f, op->block, op, op->span}};
    Value **x = arena_array(&ctx->s->arena, (size_t)n, sizeof *x);
    for (int i = 0; i < n; i++) x[i] = op->operand[i].value;
    if (c.together) {
        Type cut = t; /* dimension axis becomes high, warps, low */
        memmove(&cut.log2[axis + 2], &t.log2[axis], (size_t)(TILE_MAX_RANK - axis - 2));
        cut.rank = (uint8_t)(t.rank + 2);
        cut.log2[axis] = (uint8_t)(t.log2[axis] - c.low - c.warps);
        cut.log2[axis + 1] = (uint8_t)c.warps;
        cut.log2[axis + 2] = (uint8_t)c.low;
        reshape_all(&s, x, n, cut);
        if (ir_reduce_commutes(op)) {
            /* High, which registers hold, goes first: then lanes exchange one value, not many. */
            results_of(reduce_along(&s, x, axis), x);
            results_of(reduce_along(&s, x, axis + 1), x);
        } else { /* neighbours first; high and warps are one dimension again then */
            results_of(reduce_along(&s, x, axis + 2), x);
            Type rest = type_without_dim(t, axis);
            memmove(&rest.log2[axis + 1], &rest.log2[axis],
                    (size_t)(TILE_MAX_RANK - axis - 1) * sizeof *rest.log2);
            rest.rank = t.rank;
            rest.log2[axis] = (uint8_t)(t.log2[axis] - c.low);
            reshape_all(&s, x, n, rest);
        }
    }
    convert_all(&s, x, n, intern_layout(ctx->s, without_warps(x[0]->layout, x[0]->type, axis, n)));
    Op *last = reduce_along(&s, x, axis);
    for (int i = 0; i < n; i++) {
        Value *r = last->result[i];
        r->name = op->result[i]->name;
        if (r->layout && r->layout != op->result[i]->layout) {
            r = ir_unary(&s.b, OP_CONVERT, r);
            r->layout = op->result[i]->layout;
        }
        ir_replace_uses(op->result[i], r);
    }
    ir_erase(op);
    ctx->changed = true;
}

void pass_reduce(PassCtx *ctx) {
    ir_walk(ctx->f->body, split, ctx);
}
