/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* dot.c: tl.dot: which operands fit each other, and what type the result has. */
#include "frontend/lower/internal.h"

#include <string.h>
#include <strings.h>

static const char *user(Lower *l, Type t) {
    return type_user_text(&l->s->arena, t);
}

/* What an operand type allows: the fewest elements along K, and the accumulator (ELEMS: fp32, or
 * fp16 on request). */
static const struct {
    uint8_t elem, min_k, acc;
} dot_types[] = {
    {EL_I8, 32, EL_I32}, {EL_F8E4M3, 32, ELEMS}, {EL_F8E5M2, 32, ELEMS}, {EL_F8E4B15, 32, ELEMS},
    {EL_F16, 16, ELEMS}, {EL_BF16, 16, EL_F32},  {EL_F32, 8, EL_F32},    {EL_F64, 4, EL_F64},
};

static int dot_row(Type t) {
    for (size_t i = 0; i < sizeof dot_types / sizeof *dot_types; i++)
        if (!t.depth && dot_types[i].elem == t.elem) return (int)i;
    return -1;
}

static bool is_fp8(Type t) {
    return !t.depth && elem_is_fp8((Elem)t.elem);
}

static bool dot_operands_fit(Lower *l, const Args *a, Value *x, Value *y) {
    Type s = x->type, t = y->type;
    int row = dot_row(s), r = s.rank;
    bool same_batch = s.rank == t.rank && r >= 2 && memcmp(s.log2, t.log2, (size_t)r - 2) == 0;
    bool one_type = type_equal(type_element(s), type_element(t)) || (is_fp8(s) && is_fp8(t));
    if (s.rank != t.rank || r < 2)
        fail(l, E_DOT_SHAPE, a->span,
             "tl.dot needs two tiles of 2 or more dimensions, not %s and %s", user(l, s),
             user(l, t));
    else if (row < 0)
        fail(l, E_DOT_TYPE, a->where[0], "tl.dot does not take %s", user(l, s));
    else if (!one_type)
        fail(l, E_DOT_TYPE, a->span, "tl.dot needs one type on both sides, not %s and %s",
             user(l, s), user(l, t));
    else if (!same_batch)
        fail(l, E_DOT_SHAPE, a->span, "tl.dot: %s times %s: the batches differ", user(l, s),
             user(l, t));
    else if (s.log2[r - 1] != t.log2[r - 2])
        fail(l, E_DOT_SHAPE, a->span, "tl.dot: %s times %s: the inner sizes %lld and %lld differ",
             user(l, s), user(l, t), (long long)type_size(s, r - 1),
             (long long)type_size(t, r - 2));
    else if (type_dim(s, r - 1) < dot_types[row].min_k)
        fail(l, E_DOT_SHAPE, a->span,
             "tl.dot: Input shapes should have M >= 1, N >= 1 and K >= %d, and %s has K = %lld",
             dot_types[row].min_k, user(l, s), (long long)type_dim(s, r - 1));
    else if (type_log2_numel(s) - (s.log2[r - 1] & DIM_LOG2) + (t.log2[r - 1] & DIM_LOG2) >
             TILE_MAX_LOG2)
        fail(l, E_TILE_LIMIT, a->span, "tl.dot: %s times %s has more than %d elements", user(l, s),
             user(l, t), 1 << TILE_MAX_LOG2);
    else
        return true;
    return false;
}

static bool dot_precision(Lower *l, const Args *a, int64_t *out) {
    static const char *const words[] = {"tf32", "tf32x3", "ieee", "bf16x3", "bf16x6", NULL};
    const char *text;
    bool allow = true;
    if (!arg_text(l, a, 3, &text)) return false;
    if (a->at[4].kind != OBJ_NONE) {
        if (*text) {
            fail(l, E_EXCLUSIVE, a->where[4],
                 "tl.dot: give either 'input_precision' or 'allow_tf32'");
            return false;
        }
        if (!arg_bool(l, a, 4, &allow)) return false;
    }
    *out = allow ? PRECISION_TF32 : PRECISION_IEEE;
    for (int i = 0; *text && words[i]; i++)
        if (strcasecmp(words[i], text) == 0) return *out = i, true;
    if (*text) arg_error(l, a, 3, "'tf32', 'tf32x3', 'ieee', 'bf16x3' or 'bf16x6'");
    return !*text;
}

/* How many products of fp8 the matrix instruction may sum by itself before fp32 takes over: advice
 * that is not followed, but not more than there are. */
static bool imprecise_fits(Lower *l, const Args *a, Type x) {
    int64_t most, k = type_size(x, x.rank - 1);
    if (a->at[5].kind == OBJ_NONE) return true;
    if (!arg_int(l, a, 5, &most)) return false;
    if (!is_fp8(x) || most <= k) return true;
    fail(l, E_ARGUMENT_RANGE, a->where[5], "max_num_imprecise_acc (%lld) must be <= K (%lld)",
         (long long)most, (long long)k);
    return false;
}

/* What the product is accumulated in. */
static bool dot_result(Lower *l, const Args *a, const Value *x, const Value *acc, Type *out) {
    *out = type_scalar(dot_types[dot_row(x->type)].acc);
    bool given = a->at[6].kind != OBJ_NONE;
    Type want = *out;
    if (given && !arg_type(l, a, 6, &want)) return false;
    if (out->elem != ELEMS) {
        if (!type_equal(want, type_scalar(EL_BF16))) return true;
        arg_error(l, a, 6, "tl.float32; convert the result with .to()");
        return false;
    }
    bool follows = acc && (acc->type.elem == EL_F16 || acc->type.elem == EL_F32);
    out->elem = follows ? acc->type.elem : EL_F32;
    if (!given) return true;
    *out = want;
    if (type_equal(want, type_scalar(EL_F16)) || type_equal(want, type_scalar(EL_F32))) return true;
    arg_error(l, a, 6, "tl.float32 or tl.float16; convert the result with .to()");
    return false;
}

/* Batch dimensions made one: the operation knows at most one. */
static Value *as_batch(Lower *l, Value *v) {
    Type t = v->type;
    int extra = t.rank - 3;
    if (extra <= 0) return v;
    for (int i = 0; i < extra; i++) t.log2[0] = (uint8_t)(t.log2[0] + t.log2[1 + i]);
    for (int i = 1; i < 3; i++) t.log2[i] = t.log2[i + extra];
    for (int i = 3; i < t.rank; i++) t.log2[i] = 0;
    t.rank = 3;
    return ir_given(&l->b, OP_RESHAPE, v, t);
}

Obj bi_dot(Lower *l, const Args *a, int64_t data) {
    (void)data;
    Value *x = arg_value(l, a, 0), *y = arg_value(l, a, 1);
    int64_t precision;
    if (!x || !y || !dot_operands_fit(l, a, x, y) || !dot_precision(l, a, &precision) ||
        !imprecise_fits(l, a, x->type))
        return poison();
    Value *acc = a->at[2].kind == OBJ_NONE ? NULL : arg_value(l, a, 2);
    if (!acc && a->at[2].kind != OBJ_NONE) return poison();
    Type out;
    if (!dot_result(l, a, x, acc, &out)) return poison();
    out = type_with_shape(out, x->type);
    out.log2[out.rank - 1] = y->type.log2[out.rank - 1];
    if (!acc) acc = ir_const_int(&l->b, out, 0);
    if (!type_equal(acc->type, out)) {
        fail(l, E_DOT_ACCUMULATOR, a->where[2], "tl.dot: the accumulator is %s and must be %s",
             user(l, acc->type), user(l, out));
        note(l, (Span){0}, "%s times %s", user(l, x->type), user(l, y->type));
        bool may = acc->type.elem == EL_F16 || acc->type.elem == EL_F32;
        if (may && type_same_shape(acc->type, out) && a->at[6].kind != OBJ_NONE)
            note(l, (Span){0}, "pass out_dtype=tl.%s to use this accumulator",
                 acc->type.elem == EL_F16 ? "float16" : "float32");
        return poison();
    }
    Value *operand[] = {as_batch(l, x), as_batch(l, y), as_batch(l, acc)};
    Value *r = ir_op1(&l->b, OP_DOT, operand, 3);
    if (x->type.elem == EL_F32) ir_set_attr(l->s, r->def, AT_PRECISION, precision);
    if (x->type.elem == EL_I8 && l->b.f->saturate_int8) ir_set_attr(l->s, r->def, AT_SATURATE, 1);
    return obj_value(out.rank > 3 ? ir_given(&l->b, OP_RESHAPE, r, out) : r);
}
