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
    fail(l, E_ELEMENT_TYPE, a->span, "%s: Expected dtype %s but got %s", builtin_text(l, a->row),
         takes, user(l, t));
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

static Value *with_elem(Lower *l, Value *v, Elem elem) {
    return ir_given(&l->b, OP_CAST, v, type_with_elem(v->type, elem));
}

/* fp32 has not all integers of 32 bits, and whether an exponent is odd decides the sign. */
static bool is_exact_power(Obj x, Obj y) {
    if (x.kind != OBJ_VALUE || y.kind != OBJ_VALUE) return false;
    Type base = x.value->type, power = y.value->type;
    return !base.depth && base.elem == EL_F32 && !power.depth && type_is_int(power) &&
           type_elem_bits(power) >= 32;
}

Obj bi_math2(Lower *l, const Args *a, int64_t data) {
    Obj in[2] = {a->at[0], a->at[1]};
    Value *x, *y;
    bool exact = data == MATH2_POW && is_exact_power(in[0], in[1]);
    for (int i = 0; exact && i < 2; i++) in[i] = obj_value(with_elem(l, in[i].value, EL_F64));
    if (!unify_typed(l, in[0], in[1], builtin_text(l, a->row), a->span, &x, &y)) return poison();
    if (!is_wide_float(x->type)) return needs_wide_float(l, a, x->type, "fp32 or fp64");
    Value *r = ir_binary(&l->b, OP_MATH2, x, y);
    ir_set_attr(l->s, r->def, AT_FUNC2, data);
    return obj_value(exact ? with_elem(l, r, EL_F32) : r);
}

/* libdevice's add_rd and the like; data: the arithmetic, the direction, and what it is that they
 * are part of. A difference is a sum, and a reciprocal a quotient. */
Obj bi_rounded(Lower *l, const Args *a, int64_t data) {
    enum { MOST_OPERANDS = 3 };
    Arith arith = (Arith)(data & 0xff);
    Obj at[MOST_OPERANDS];
    Value *v[MOST_OPERANDS] = {NULL};
    const char *fn = builtin_text(l, a->row);
    int n = 0, given = a->n < MOST_OPERANDS ? a->n : MOST_OPERANDS;
    bool reciprocal = data >> 16 & ROUNDED_RCP;
    if (reciprocal) at[n++] = obj_float(1);
    for (int i = 0; i < given; i++) at[n++] = a->at[i];
    if (n == 1 && !(v[0] = arg_value(l, a, 0))) return poison();
    for (int i = 1; i < n; i++)
        for (int k = 0; k < i; k++) {
            if (!unify_operands(l, at[k], at[i], false, fn, a->span, &v[k], &v[i])) return poison();
            at[k] = obj_value(v[k]);
            at[i] = obj_value(v[i]);
        }
    if (!is_wide_float(v[0]->type)) return needs_wide_float(l, a, v[0]->type, "fp32 or fp64");
    if (data >> 16 & ROUNDED_SUB) v[1] = ir_unary(&l->b, OP_NEG, v[1]);
    Op *op = ir_op(&l->b, OP_ROUNDED, v, n, &v[0]->type, 1, 0);
    ir_set_attr(l->s, op, AT_ARITH, arith);
    ir_set_attr(l->s, op, AT_DIRECTION, data >> 8 & 0xff);
    return obj_value(op->result[0]);
}

/* ll2float_rd and the like; data: the element they give, and the direction. */
Obj bi_convert_rounded(Lower *l, const Args *a, int64_t data) {
    Value *x = arg_value(l, a, 0);
    if (!x) return poison();
    Type to = type_with_elem(x->type, (Elem)(data & 0xff));
    bool small = type_is_int(x->type) && type_elem_bits(x->type) < 32;
    if (!type_is_int(x->type) && (x->type.depth || x->type.elem != EL_F64))
        return arg_error(l, a, 0, "made of integers or of fp64");
    if (small) x = cast_value(l, x, type_scalar(EL_I32), false, a->span);
    Op *op = ir_op(&l->b, OP_ROUNDED, &x, 1, &to, 1, 0);
    ir_set_attr(l->s, op, AT_ARITH, ARITH_CVT);
    ir_set_attr(l->s, op, AT_DIRECTION, data >> 8);
    return obj_value(op->result[0]);
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
    bool checked = true;
    if (a->n > 2 && !arg_bool(l, a, 2, &checked)) return poison();
    l->unchecked += !checked;
    Obj r = binary(l, op, a->at[0], a->at[1], a->span);
    l->unchecked -= !checked;
    return r;
}

static Value *minmax(Lower *l, OpCode code, Value *x, Value *y, int64_t nan) {
    Value *r = ir_binary(&l->b, code, x, y);
    if (nan && type_is_float(x->type)) ir_set_attr(l->s, r->def, AT_NAN, 1);
    return r;
}

Obj bi_minmax(Lower *l, const Args *a, int64_t data) {
    int64_t nan;
    if (!arg_int(l, a, 2, &nan)) return poison();
    Value *v[2];
    if (!unify_numbers(l, a->at, 2, ORDERED, builtin_text(l, a->row), a->span, v)) return poison();
    return obj_value(minmax(l, (OpCode)data, v[0], v[1], nan));
}

Obj bi_clamp(Lower *l, const Args *a, int64_t data) {
    (void)data;
    int64_t nan;
    Value *v[3];
    if (!arg_int(l, a, 3, &nan) || !unify_numbers(l, a->at, 3, ORDERED, "tl.clamp", a->span, v))
        return poison();
    if (!type_is_float(v[0]->type) && !changed(l, CHANGE_CLAMP))
        return fail(l, E_ELEMENT_TYPE, a->span, "tl.clamp takes floats before Triton 3.9, not %s",
                    user(l, v[0]->type));
    /* The order shows in what a NaN becomes: Triton clips to [-c, c] from above first. */
    bool clips = obj_is_number(a->at[1]) && obj_is_number(a->at[2]) && type_is_float(v[0]->type) &&
                 obj_double(a->at[1]) == -obj_double(a->at[2]);
    OpCode first = clips ? OP_MIN : OP_MAX;
    Value *once = minmax(l, first, v[0], v[clips ? 2 : 1], nan);
    return obj_value(minmax(l, clips ? OP_MAX : OP_MIN, once, v[clips ? 1 : 2], nan));
}

/* The operation `data`, whose operands and result are of one type: which it takes, its row of
 * ops.def says. */
Obj bi_elementwise(Lower *l, const Args *a, int64_t data) {
    enum { MOST_OPERANDS = 3 };
    Value *v[MOST_OPERANDS] = {NULL};
    const char *fn = builtin_text(l, a->row), letter = *op_info[data].operands;
    int n = a->n < MOST_OPERANDS ? a->n : MOST_OPERANDS;
    bool unified = n == 1 ? (v[0] = arg_value(l, a, 0)) != NULL
                          : unify_numbers(l, a->at, n, COMPUTED, fn, a->span, v);
    if (!unified) return poison();
    if (!ir_letter_fits(letter, v[0]->type))
        return fail(l, E_ELEMENT_TYPE, a->span, "%s takes %s, not %s", fn,
                    letter == 'i'   ? "integers"
                    : letter == 'f' ? "floats"
                                    : "numbers",
                    user(l, v[0]->type));
    return obj_value(ir_op1(&l->b, (OpCode)data, v, n));
}

/* tl.fdiv promotes as `/` does; tl.div_rn takes fp32 as it is. */
Obj bi_fdiv(Lower *l, const Args *a, int64_t data) {
    Value *v[2];
    bool exact = data == OP_DIV_RN, approx = false;
    const char *what = builtin_text(l, a->row);
    if (exact) {
        for (int i = 0; i < 2; i++)
            if (a->at[i].kind == OBJ_VALUE && obj_type(a->at[i]).elem != EL_F32)
                return needs_wide_float(l, a, obj_type(a->at[i]), "fp32");
        if (!unify_numbers(l, a->at, 2, COMPUTED, what, a->span, v)) return poison();
    } else if (!arg_bool(l, a, 2, &exact) || !arg_bool(l, a, 3, &approx) ||
               !unify_operands(l, a->at[0], a->at[1], true, what, a->span, &v[0], &v[1])) {
        return poison();
    }
    if (!type_is_float(v[0]->type))
        return fail(l, E_ELEMENT_TYPE, a->span, "%s takes floats, and one integer at most", what);
    if (exact && approx)
        return fail(l, E_EXCLUSIVE, a->span, "%s: 'approx' and 'ieee_rounding' cannot both be True",
                    what);
    if (approx && v[0]->type.elem != EL_F32)
        return fail(l, E_ELEMENT_TYPE, a->span,
                    "%s: approx division requires fp32 operands, not %s", what,
                    user(l, v[0]->type));
    for (int i = 0; i < 2; i++)
        if (a->at[i].kind == OBJ_VALUE && !is_wide_float(type_element(a->at[i].value->type)))
            newer(l, FEATURE_FDIV_TYPES, a->where[i]);
    return obj_value(ir_binary(&l->b, exact ? OP_DIV_RN : OP_DIV, v[0], v[1]));
}

Obj bi_umulhi(Lower *l, const Args *a, int64_t data) {
    (void)data;
    Value *v[2];
    for (int i = 0; i < 2; i++) { /* numbers widen nothing that is too narrow */
        bool fits = a->at[i].kind == OBJ_BOOL || !is_operand(a->at[i]);
        Type t = fits ? type_scalar(EL_I32) : obj_type(a->at[i]);
        if (t.depth || !type_is_int(t) || type_elem_bits(t) < 32)
            return fail(l, E_ELEMENT_TYPE, a->span,
                        "tl.umulhi takes integers of 32 or 64 bits, not %s", user(l, t));
    }
    if (!unify_numbers(l, a->at, 2, COMPUTED, "tl.umulhi", a->span, v)) return poison();
    return obj_value(ir_binary(&l->b, OP_UMULHI, v[0], v[1]));
}

/* Before Triton 3.9 the dimension was not kept unless that was asked for, and went missing: what is
 * reduced then meets the wrong elements, or has no shape that fits. */
Obj bi_softmax(Lower *l, const Args *a, int64_t data) {
    (void)data;
    Value *x = arg_value(l, a, 0);
    bool keep;
    int dim = 0;
    if (!x || !arg_bool(l, a, 2, &keep)) return poison();
    if (a->at[1].kind != OBJ_NONE && !arg_axis(l, a, 1, x->type, &dim)) return poison();
    if (!keep && dim != 0)
        differs(l, CHANGE_SOFTMAX, a->span,
                "%s is along dimension %d; it was not, without keep_dims=True",
                builtin_text(l, a->row), dim);
    if (a->npositional > 2) {
        differs(l, CHANGE_SOFTMAX, a->where[2], "'keep_dims' is given by name");
        if (changed(l, CHANGE_SOFTMAX))
            return fail(l, E_BY_NAME, a->where[2],
                        "%s: 'keep_dims' and 'ieee_rounding' are given by name",
                        builtin_text(l, a->row));
    }
    Obj args[] = {obj_value(x), a->at[1], obj_bool(keep || changed(l, CHANGE_SOFTMAX)), a->at[3]};
    return library_call(l, "softmax", args, 4, a->span);
}

/* ---- where ---- */

static bool where_sides(Lower *l, const Args *a, Value **x, Value **y) {
    Obj ox = a->at[1], oy = a->at[2];
    bool px = ox.kind == OBJ_VALUE && ox.value->type.depth;
    bool py = oy.kind == OBJ_VALUE && oy.value->type.depth;
    if (!px && !py) return unify_operands(l, ox, oy, false, "tl.where", a->span, x, y);
    if (px && py && ox.value->type.constant == oy.value->type.constant &&
        type_equal(type_element(ox.value->type), type_element(oy.value->type))) {
        *x = ox.value;
        *y = oy.value;
        return broadcast_pair(l, x, y, a->span);
    }
    fail(l, E_MIXED_TYPES, a->span, "tl.where: %s and %s have no common type", obj_what(l, ox),
         obj_what(l, oy));
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
