/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* math.c: builtins that compute: elementwise functions, where. */
#include "frontend/lower/internal.h"

#include <string.h>

static const char *user(Lower *l, Type t) {
    return type_user_text(&l->s->arena, t);
}

/* ---- elementwise ---- */

/* Functions of a float take fp32 and fp64 only: converting is the writer's decision, as in Triton.
 */
static bool is_wide_float(Type t) {
    return !t.depth && (t.elem == EL_F32 || t.elem == EL_F64);
}

static Obj needs_wide_float(Lower *l, const Args *a, Type t, const char *takes) {
    fail(l, a->span, "%s takes %s, not %s", builtin_text(l, a->row), takes, user(l, t));
    note(l, (Span){0}, "convert it with .to(tl.float32)");
    return poison();
}

static Value *math(Lower *l, MathFunc func, Value *x) {
    Value *r = ir_unary(&l->b, OP_MATH, x);
    ir_set_attr(l->s, r->def, AT_FUNC, func);
    return r;
}

Obj bi_math(Lower *l, const Args *a, int64_t data) {
    Value *x = arg_value(l, a, 0);
    if (!x) return poison();
    bool fits = is_wide_float(x->type) && (data != MATH_SQRT_RN || x->type.elem == EL_F32);
    if (!fits)
        return needs_wide_float(l, a, x->type, data == MATH_SQRT_RN ? "fp32" : "fp32 or fp64");
    return obj_value(math(l, (MathFunc)data, x));
}

Obj bi_math2(Lower *l, const Args *a, int64_t data) {
    Value *x, *y;
    if (!unify_typed(l, a->at[0], a->at[1], builtin_text(l, a->row), a->span, &x, &y))
        return poison();
    if (!is_wide_float(x->type)) return needs_wide_float(l, a, x->type, "fp32 or fp64");
    Value *r = ir_binary(&l->b, OP_MATH2, x, y);
    ir_set_attr(l->s, r->def, AT_FUNC2, data);
    return obj_value(r);
}

/* libdevice's conversions, data: the element they give and how they round before that. */
Obj bi_convert(Lower *l, const Args *a, int64_t data) {
    Value *x = arg_value(l, a, 0);
    if (!x) return poison();
    MathFunc round = (MathFunc)(data >> 8);
    if (x->type.depth) return arg_error(l, a, 0, "made of numbers");
    if (round != MATHS && !is_wide_float(x->type))
        return needs_wide_float(l, a, x->type, "fp32 or fp64");
    if (round != MATHS) x = math(l, round, x);
    return obj_value(cast_value(l, x, type_scalar((Elem)(data & 0xff)), false, a->span));
}

Obj bi_reinterpret(Lower *l, const Args *a, int64_t data) {
    Value *x = arg_value(l, a, 0);
    return x ? obj_value(bitcast_value(l, x, type_scalar((Elem)data), a->span)) : poison();
}

Obj bi_sigmoid(Lower *l, const Args *a, int64_t data) {
    (void)data;
    Value *x = arg_value(l, a, 0);
    if (!x) return poison();
    if (!is_wide_float(x->type)) return needs_wide_float(l, a, x->type, "fp32 or fp64");
    Value *one = ir_const_float(&l->b, x->type, 1);
    Value *e = math(l, MATH_EXP, ir_unary(&l->b, OP_NEG, x));
    return obj_value(ir_binary(&l->b, OP_DIV, one, ir_binary(&l->b, OP_ADD, one, e)));
}

Obj bi_abs(Lower *l, const Args *a, int64_t data) {
    (void)data;
    Obj o = a->at[0];
    if (obj_is_number(o)) return obj_double(o) < 0 ? const_unary(l, OPR_NEG, o, a->span) : o;
    Value *x = arg_value(l, a, 0);
    if (!x) return poison();
    if (x->type.depth) return arg_error(l, a, 0, "a number");
    bool never_negative = type_is_int(x->type) && !type_is_signed(x->type);
    return obj_value(never_negative ? x : ir_unary(&l->b, OP_ABS, x));
}

Obj bi_operator(Lower *l, const Args *a, int64_t data) {
    Operator op = (Operator)data;
    if (op == OPR_LOGICAL_AND || op == OPR_LOGICAL_OR) {
        Value *x = arg_value(l, a, 0), *y = arg_value(l, a, 1);
        return x && y ? logical(l, op, x, y, a->span) : poison();
    }
    return binary(l, op, a->at[0], a->at[1], a->span);
}

/* bf16 is compared in fp32. */
static Obj widen_bf16(Lower *l, Obj o, Span span) {
    if (o.kind != OBJ_VALUE || o.value->type.depth || o.value->type.elem != EL_BF16) return o;
    return obj_value(cast_value(l, o.value, type_scalar(EL_F32), false, span));
}

static Value *minmax(Lower *l, OpCode code, Value *x, Value *y, int64_t nan) {
    Value *r = ir_binary(&l->b, code, x, y);
    if (nan && type_is_float(x->type)) ir_set_attr(l->s, r->def, AT_NAN, 1);
    return r;
}

Obj bi_minmax(Lower *l, const Args *a, int64_t data) {
    int64_t nan;
    if (!arg_int(l, a, 2, &nan)) return poison();
    Obj x = widen_bf16(l, a->at[0], a->span), y = widen_bf16(l, a->at[1], a->span);
    Value *vx, *vy;
    if (!unify_typed(l, x, y, builtin_text(l, a->row), a->span, &vx, &vy)) return poison();
    return obj_value(minmax(l, (OpCode)data, vx, vy, nan));
}

Obj bi_clamp(Lower *l, const Args *a, int64_t data) {
    (void)data;
    int64_t nan;
    Obj at[3];
    Value *x, *low, *high;
    if (!arg_int(l, a, 3, &nan)) return poison();
    for (int i = 0; i < 3; i++) at[i] = widen_bf16(l, a->at[i], a->where[i]);
    if (!unify_typed(l, at[1], at[2], "tl.clamp", a->span, &low, &high) ||
        !unify_typed(l, at[0], obj_value(low), "tl.clamp", a->span, &x, &low) ||
        !unify_typed(l, obj_value(x), obj_value(high), "tl.clamp", a->span, &x, &high) ||
        !unify_typed(l, obj_value(x), obj_value(low), "tl.clamp", a->span, &x, &low))
        return poison();
    if (!type_is_float(x->type))
        return fail(l, a->span, "tl.clamp takes floats, not %s", user(l, x->type));
    /* The order shows in what a NaN becomes: Triton clips to [-c, c] from above first. */
    bool clips = obj_is_number(a->at[1]) && obj_is_number(a->at[2]) &&
                 obj_double(a->at[1]) == -obj_double(a->at[2]);
    if (clips) return obj_value(minmax(l, OP_MAX, minmax(l, OP_MIN, x, high, nan), low, nan));
    return obj_value(minmax(l, OP_MIN, minmax(l, OP_MAX, x, low, nan), high, nan));
}

/* The operation `data`, whose operands and result are of one type: which it takes, its row of
 * ops.def says. */
Obj bi_elementwise(Lower *l, const Args *a, int64_t data) {
    enum { MOST_OPERANDS = 3 };
    Obj x[MOST_OPERANDS] = {a->at[0]};
    Value *v[MOST_OPERANDS] = {NULL};
    const char *fn = builtin_text(l, a->row), letter = *op_info[data].operands;
    int n = a->n < MOST_OPERANDS ? a->n : MOST_OPERANDS;
    if (n == 1 && !(v[0] = arg_value(l, a, 0))) return poison();
    for (int i = 1; i < n; i++) {
        x[i] = a->at[i];
        for (int k = 0; k < i; k++) {
            if (!unify_typed(l, x[k], x[i], fn, a->span, &v[k], &v[i])) return poison();
            x[k] = obj_value(v[k]);
            x[i] = obj_value(v[i]);
        }
    }
    if (!ir_letter_fits(letter, v[0]->type))
        return fail(l, a->span, "%s takes %s, not %s", fn,
                    letter == 'i'   ? "integers"
                    : letter == 'f' ? "floats"
                                    : "numbers",
                    user(l, v[0]->type));
    return obj_value(ir_op1(&l->b, (OpCode)data, v, n));
}

Obj bi_fdiv(Lower *l, const Args *a, int64_t data) {
    Value *x, *y;
    bool exact = false;
    if (data == OP_DIV && !arg_bool(l, a, 2, &exact)) return poison();
    if (!unify_typed(l, a->at[0], a->at[1], builtin_text(l, a->row), a->span, &x, &y))
        return poison();
    bool fits = is_wide_float(x->type) && (data != OP_DIV_RN || x->type.elem == EL_F32);
    if (!fits) return needs_wide_float(l, a, x->type, data == OP_DIV_RN ? "fp32" : "fp32 or fp64");
    return obj_value(ir_binary(&l->b, exact ? OP_DIV_RN : (OpCode)data, x, y));
}

Obj bi_umulhi(Lower *l, const Args *a, int64_t data) {
    (void)data;
    Value *x, *y;
    if (!unify_typed(l, a->at[0], a->at[1], "tl.umulhi", a->span, &x, &y)) return poison();
    if (!type_is_int(x->type) || type_elem_bits(x->type) < 32)
        return fail(l, a->span, "tl.umulhi takes integers of 32 or 64 bits, not %s",
                    user(l, x->type));
    return obj_value(ir_binary(&l->b, OP_UMULHI, x, y));
}

/* ---- where ---- */

static bool where_sides(Lower *l, const Args *a, Value **x, Value **y) {
    Obj ox = a->at[1], oy = a->at[2];
    bool px = ox.kind == OBJ_VALUE && ox.value->type.depth;
    bool py = oy.kind == OBJ_VALUE && oy.value->type.depth;
    if (!px && !py) return unify_operands(l, ox, oy, false, "tl.where", a->span, x, y);
    if (px && py && type_equal(type_element(ox.value->type), type_element(oy.value->type))) {
        *x = ox.value;
        *y = oy.value;
        return broadcast_pair(l, x, y, a->span);
    }
    fail(l, a->span, "tl.where: %s and %s have no common type", obj_what(l, ox), obj_what(l, oy));
    return false;
}

Obj bi_where(Lower *l, const Args *a, int64_t data) {
    (void)data;
    Value *c = arg_value(l, a, 0), *x, *y;
    if (!c || !where_sides(l, a, &x, &y)) return poison();
    c = cast_value(l, c, type_scalar(EL_I1), false, a->where[0]);
    if (!c || !broadcast_pair(l, &c, &x, a->span) || !broadcast_pair(l, &c, &y, a->span) ||
        !broadcast_pair(l, &x, &y, a->span))
        return poison();
    Value *operand[] = {c, x, y};
    return obj_value(ir_op1(&l->b, OP_SELECT, operand, 3));
}
