/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* dot.c: dots that the target has no instruction for -> dots that it has.
 *
 * fp8 becomes f16, which holds all of it, where matrix instructions do not take fp8. An f32 operand
 * of which more than tf32 is wanted becomes a sum of parts of few bits each, x = high + rest, and
 * the dot a chain of dots of parts, the smallest products first. What an infinity is short of its
 * part is NaN and counts as 0. */
#include "ir/mma.h"
#include "ir/target.h"
#include "passes/pass.h"

enum { MOST_PARTS = 3 };

typedef struct Parts {
    Value *at[MOST_PARTS]; /* the largest first */
} Parts;

static Value *difference(Builder *b, Value *x, Value *part) {
    Value *d = ir_binary(b, OP_SUB, x, part);
    return ir_op1(b, OP_SELECT,
                  (Value *[]){ir_cmp(b, PRED_EQ, d, d), d, ir_const_int(b, d->type, 0)}, 3);
}

/* tf32 parts stay f32, whose low bits the instruction ignores: the first is x itself. */
static Parts tf32_parts(Builder *b, Value *x) {
    Type bits = type_with_elem(x->type, EL_I32);
    Value *high = ir_given(b, OP_BITCAST, x, bits);
    high = ir_binary(b, OP_AND, high, ir_const_int(b, bits, ~(int64_t)0x1fff));
    high = ir_given(b, OP_BITCAST, high, x->type);
    return (Parts){{x, difference(b, x, high)}};
}

static Parts bf16_parts(Builder *b, Value *x, int n) {
    Parts p = {{NULL}};
    for (int i = 0; i < n; i++) {
        p.at[i] = ir_given(b, OP_CAST, x, type_with_elem(x->type, EL_BF16));
        if (i + 1 < n) x = difference(b, x, ir_given(b, OP_CAST, p.at[i], x->type));
    }
    return p;
}

static Value *dot(Builder *b, Value *x, Value *y, Value *acc) {
    return ir_op1(b, OP_DOT, (Value *[]){x, y, acc}, 3);
}

/* The sum of products of parts i of x and j of y with i + j <= last. */
static Value *dot_of_parts(Builder *b, Parts x, Parts y, int last, Value *acc) {
    for (int sum = last; sum >= 0; sum--)
        for (int i = sum; i >= 0; i--) acc = dot(b, x.at[i], y.at[sum - i], acc);
    return acc;
}

static bool is_fp8(Type t) {
    return elem_is_fp8((Elem)t.elem);
}

static Value *as_f16(Builder *b, Value *x) {
    return is_fp8(x->type) ? ir_given(b, OP_CAST, x, type_with_elem(x->type, EL_F16)) : x;
}

static void lower_dot(Op *op, void *ctx_) {
    PassCtx *ctx = ctx_;
    if (op->code != OP_DOT) return;
    Value *x = ir_operand(op, 0), *y = ir_operand(op, 1), *acc = ir_operand(op, 2), *made;
    if (type_is_buffer(x->type) || type_is_buffer(y->type)) return;
    Builder b = {ctx->s, ctx->f, op->block, op, op->span};
    if (is_fp8(x->type) || is_fp8(y->type)) {
        if (mma_find((Elem)x->type.elem, (Elem)y->type.elem, (Elem)acc->type.elem, ctx->target->sm))
            return;
        made = dot(&b, as_f16(&b, x), as_f16(&b, y), acc);
    } else if (x->type.elem == EL_F32 && y->type.elem == EL_F32) {
        switch (ir_attr_int(op, AT_PRECISION, PRECISION_TF32)) {
        case PRECISION_TF32X3:
            made = dot_of_parts(&b, tf32_parts(&b, x), tf32_parts(&b, y), 1, acc);
            break;
        case PRECISION_BF16X3:
            made = dot_of_parts(&b, bf16_parts(&b, x, 2), bf16_parts(&b, y, 2), 1, acc);
            break;
        case PRECISION_BF16X6:
            made = dot_of_parts(&b, bf16_parts(&b, x, 3), bf16_parts(&b, y, 3), 2, acc);
            break;
        default: return;
        }
    } else {
        return;
    }
    made->name = op->result[0]->name;
    ir_replace_uses(op->result[0], made);
    ir_erase(op);
    ctx->changed = true;
}

void pass_dot(PassCtx *ctx) {
    ir_walk(ctx->f->body, lower_dot, ctx);
}
