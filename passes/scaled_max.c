/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* scaled_max.c: a loop that takes the largest of products by one number -> the product of the
 * largest, where that number is positive.
 *
 *     for …: m = mul x, s; top = reduce max m; p = … sub m, top …
 * becomes
 *     if 0 < s < inf:
 *         for …: m = mul x, s; t = reduce max x; top = mul t, s; p = … sub m, top …
 *     else the loop as it is
 *
 * The products are then for the differences alone, and one instruction with these, as before: where
 * the two are not one instruction, masked products, they would have to be to gain anything, and
 * that rounds otherwise. The same bits: rounding keeps order, so the product of the largest is the
 * largest of the products; of zeros both orders take +0 for the larger one; and s makes no NaN
 * that x was not.
 *
 * The sign of s is known when the loop begins, so the test is outside. */
#include "ir/reduction.h"
#include "passes/cost.h"
#include "passes/live_words.h"
#include "passes/pass.h"
#include "passes/schedule.h"
#include "passes/walk.h"

#include <math.h>

typedef struct Scaled { /* a reduction of products */
    Op *reduce;
    Value *x, *by; /* what is multiplied, and the number: a scalar, or a constant */
} Scaled;

typedef VEC(Scaled) ScaledList;

static bool is_of_largest(const Op *reduce) {
    const Op *by = ir_combines_by(reduce);
    return by && (by->code == OP_MAX || by->code == OP_MIN);
}

enum { INFINITE = 0x7F800000 }; /* bits of an infinity of f32 */

static bool is_known_positive(const Value *v) {
    int64_t bits = op_is(v, OP_CONST) ? (int32_t)ir_attr_int(v->def, AT_VALUE, 0) : 0;
    return bits > 0 && bits < INFINITE;
}

/* The differences that one instruction makes with the products. */
static bool is_for_differences(const Value *v, const Op *reduce) {
    for (const Use *u = v->uses; u; u = u->next)
        if (u->op != reduce && u->op->code != OP_SUB && u->op->code != OP_ADD) return false;
    return v->uses->next;
}

static bool find(const Op *loop, Op *reduce, Scaled *out) {
    const Value *v = reduce->operand[0].value;
    *out = (Scaled){.reduce = reduce};
    if (!is_of_largest(reduce) || !type_is_float(v->type) || v->type.elem != EL_F32 || !v->layout)
        return false;
    if (bytes_held(v) < COST_SCALED_MAX_ELEMS * 4 || !is_for_differences(v, reduce)) return false;
    if (!op_is(v, OP_MUL) || v->def->block != loop->region[0]) return false;
    for (int i = 0; i < 2 && !out->by; i++) {
        Value *by = ir_repeated(v->def->operand[i].value);
        bool known = op_is(by, OP_CONST);
        if (known ? !is_known_positive(by)
                  : type_is_tile(by->type) || !ir_defined_outside(by, loop))
            continue;
        out->by = by;
        out->x = v->def->operand[1 - i].value;
    }
    return out->by;
}

static void find_all(Session *s, const Op *loop, ScaledList *all) {
    Scaled one;
    for (Op *op = loop->region[0]->first; op; op = op->next)
        if (op->code == OP_REDUCE && find(loop, op, &one)) vec_push(&s->arena, all, one);
}

/* by in every element of a value as `like`. */
static Value *spread(Builder *b, Value *by, const Value *like) {
    bool known = op_is(by, OP_CONST);
    if (!known && !type_is_tile(like->type)) return by;
    Value *v = known ? ir_const_bits(b, like->type, ir_attr_int(by->def, AT_VALUE, 0))
                     : ir_given(b, OP_SPLAT, by, like->type);
    v->layout = like->layout;
    return v;
}

static Value *product(Builder *b, Value *x, Value *by) {
    Value *v = ir_binary(b, OP_MUL, x, spread(b, by, x));
    v->layout = x->layout;
    return v;
}

static void rewrite(PassCtx *ctx, const Scaled *r) {
    Value *top = r->reduce->result[0];
    Builder b = {ctx->s, ctx->f, r->reduce->block, r->reduce->next, r->reduce->span};
    ir_set_operand(r->reduce, 0, r->x);
    Value *scaled = product(&b, top, r->by);
    scaled->name = top->name;
    ir_replace_uses(top, scaled);
    ir_set_operand(scaled->def, 0, top);
}

static Value *is_positive(Builder *b, Value *v) {
    Value *above = ir_cmp(b, PRED_GT, v, ir_const_float(b, v->type, 0));
    Value *below = ir_cmp(b, PRED_LT, v, ir_const_float(b, v->type, (double)INFINITY));
    return ir_binary(b, OP_AND, above, below);
}

/* Of the branch that both loops are in, the result that v is; -1: none. */
static int result_of(const Op *branch, const Value *v) {
    return v->def == branch ? v->index : -1;
}

/* What is in flight behind the loop is waited for in each arm: ptxas does not let a sum go on that
 * is moved to where both arms have theirs. */
static void wait_in_arms(PassCtx *ctx, Op *branch) {
    for (Op *op = branch->next, *next; op && !op_is_async_dot(op); op = next) {
        bool its = op->code == OP_DOT_WAIT;
        next = op->next;
        for (int i = 0; i < op->noperands && its; i++)
            its = result_of(branch, op->operand[i].value) >= 0;
        if (!its) continue;
        Value **in = arena_array(&ctx->s->arena, (size_t)op->noperands, sizeof *in);
        int at = result_of(branch, op->operand[0].value);
        for (int r = 0; r < 2; r++) {
            Op *yield = branch->region[r]->last;
            Builder b = {ctx->s, ctx->f, branch->region[r], yield, op->span};
            for (int i = 0; i < op->noperands; i++)
                in[i] = yield->operand[result_of(branch, op->operand[i].value)].value;
            Op *wait = ir_op_like(&b, op, in, op->noperands, NULL);
            wait->result[0]->layout = op->result[0]->layout;
            ir_set_operand(yield, at, wait->result[0]);
        }
        ir_replace_uses(op->result[0], branch->result[at]);
        ir_erase(op);
    }
}

static void visit(Op *loop, void *ctx_) {
    PassCtx *ctx = ctx_;
    ScaledList all = {0};
    Value *positive = NULL;
    bool inner = false;
    if (loop->code != OP_FOR) return;
    ir_walk(loop->region[0], look_for_loop, &inner);
    if (!inner) find_all(ctx->s, loop, &all);
    Builder b = {ctx->s, ctx->f, loop->block, loop, loop->span};
    for (int i = 0; i < all.n; i++) {
        if (is_known_positive(all.at[i].by)) continue;
        Value *one = is_positive(&b, all.at[i].by);
        positive = positive ? ir_binary(&b, OP_AND, positive, one) : one;
    }
    if (positive) {
        Op *copy = ir_version(ctx->s, ctx->f, loop, positive, NULL);
        wait_in_arms(ctx, copy->block->parent);
        all.n = 0;
        find_all(ctx->s, copy, &all);
    }
    for (int i = 0; i < all.n; i++) rewrite(ctx, &all.at[i]);
    ctx->changed |= all.n > 0;
}

void pass_scaled_max(PassCtx *ctx) {
    if (!ctx->f->no_fp_fusion) ir_walk(ctx->f->body, visit, ctx);
}
