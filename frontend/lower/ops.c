/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* ops.c: operators on tensors: promotion, broadcasting, casts, pointer arithmetic.
 *
 * Convention: an operand is an Obj that is a Value or a number. A number has no type of its own: it
 * takes the tensor's if its kind (bool, integer, float) is not above the tensor's. unify.c brings
 * operands to one type. */
#include "frontend/lower/internal.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const struct {
    uint8_t code; /* OpCode */
    bool div;     /* promotes as a division */
    bool ints;    /* takes integers only */
} operator_ops[OPERATORS] = {
    [OPR_ADD] = {OP_ADD, false, false},    [OPR_SUB] = {OP_SUB, false, false},
    [OPR_MUL] = {OP_MUL, false, false},    [OPR_DIV] = {OP_DIV, true, false},
    [OPR_FLOORDIV] = {OP_DIV, true, true}, [OPR_MOD] = {OP_REM, true, false},
    [OPR_AND] = {OP_AND, false, true},     [OPR_OR] = {OP_OR, false, true},
    [OPR_XOR] = {OP_XOR, false, true},     [OPR_SHL] = {OP_SHL, false, true},
    [OPR_SHR] = {OP_SHR, false, true},
};

static const char *user(Lower *l, Type t) {
    return type_user_text(&l->s->arena, t);
}

/* ---- numbers ---- */

static bool below(uint64_t v, int bits) {
    return v <= UINT64_MAX >> (64 - bits);
}

Elem number_elem(Obj o) {
    if (o.kind == OBJ_BOOL) return EL_I1;
    if (o.kind == OBJ_FLOAT) {
        double m = fabs(o.f);
        bool fits =
            m == 0 || isnan(m) || isinf(m) || (m >= (double)FLT_MIN && m <= (double)FLT_MAX);
        return fits ? EL_F32 : EL_F64;
    }
    if (o.big) return EL_U64;
    if (o.i >= INT32_MIN && o.i <= INT32_MAX) return EL_I32;
    return o.i > 0 && below((uint64_t)o.i, 32) ? EL_U32 : EL_I64;
}

Type obj_type(Obj o) {
    return o.kind == OBJ_VALUE ? o.value->type : type_scalar(number_elem(o));
}

bool int_fits(Obj o, Elem e) {
    int bits = elem_info[e].bits;
    if (elem_info[e].class_ != ELEM_I) return (o.big || o.i >= 0) && below((uint64_t)o.i, bits);
    int64_t max = (int64_t)(UINT64_MAX >> (65 - bits));
    return !o.big && o.i <= max && o.i >= -max - 1;
}

Obj positive_zero(Lower *l, Obj number, Span span) {
    if (number.kind != OBJ_FLOAT || number.f != 0 || !signbit(number.f)) return number;
    differs(l, CHANGE_NEGATIVE_ZERO, span, "the constant -0.0 keeps its sign and was 0.0");
    return changed(l, CHANGE_NEGATIVE_ZERO) ? number : obj_float(0);
}

Value *number_value(Lower *l, Obj number, Type t, Span span) {
    if (!l->b.f) {
        fail(l, E_KERNEL_ONLY, span, "this cannot be computed outside a kernel");
        return NULL;
    }
    if (type_is_float(t))
        return ir_const_float(&l->b, t, obj_double(positive_zero(l, number, span)));
    if (number.kind == OBJ_FLOAT) { /* toward zero, as a cast would */
        if (!(fabs(number.f) < 9.2e18)) {
            fail(l, E_NUMBER_RANGE, span, "%s is out of range for type %s", obj_text(l, number),
                 user(l, type_element(t)));
            return NULL;
        }
        number = type_is_bool(t) ? obj_bool(number.f != 0) : obj_int((int64_t)number.f);
    }
    if (type_is_bool(t)) number = obj_bool(number.i != 0);
    if (!int_fits(number, (Elem)t.elem)) {
        fail(l, E_NUMBER_RANGE, span, "%s is out of range for %s", obj_text(l, number),
             user(l, type_element(t)));
        return NULL;
    }
    return ir_const_int(&l->b, t, number.i);
}

Value *to_value(Lower *l, Obj o, Span span) {
    if (o.kind == OBJ_VALUE) return o.value;
    if (obj_is_number(o)) return number_value(l, o, obj_type(o), span);
    if (!obj_is_poison(o))
        fail(l, E_NOT_A_TENSOR, span, "expected a tensor or a number, not %s", obj_what(l, o));
    return NULL;
}

Obj decay(Lower *l, Obj o, Span span) {
    if (obj_is_number(o)) return obj_value(to_value(l, o, span));
    if (o.kind != OBJ_TUPLE) return o; /* fields of an instance stay as they are declared */
    Obj t = copy_structure(l, o);
    for (int i = 0; i < t.seq.n; i++) t.seq.at[i] = decay(l, t.seq.at[i], span);
    return t;
}

bool type_is_known(Lower *l, Type t, Span span) {
    if (t.elem < ELEMS) return true;
    fail(l, E_TYPE_UNSUPPORTED, span, "type %s is not supported in this architecture",
         elem_info[t.elem].triton);
    note(l, (Span){0}, "the supported fp8 dtypes are fp8e4b15, fp8e4nv and fp8e5");
    return false;
}

/* ---- promotion ---- */

static int kind_of(Elem e) {
    ElemClass c = elem_info[e].class_;
    return c == ELEM_F ? 2 : c == ELEM_B ? 0 : 1;
}

Elem promote_ints(Elem a, Elem b) {
    bool sa = elem_info[a].class_ == ELEM_I, sb = elem_info[b].class_ == ELEM_I;
    int wa = elem_info[a].bits, wb = elem_info[b].bits;
    if (sa == sb) return wa > wb ? a : b;
    if (!sa) return wa >= wb ? a : b;
    return wb >= wa ? b : a;
}

static bool is_narrow_float(Elem e) {
    return elem_info[e].class_ == ELEM_F && elem_info[e].bits < 32;
}

bool promote(Lower *l, Elem a, bool a_number, Elem b, bool b_number, bool div, const char *what,
             Span span, Elem *out) {
    if (a_number != b_number) {
        Elem number = a_number ? a : b, tensor = a_number ? b : a;
        if (kind_of(number) <= kind_of(tensor)) {
            *out = div && is_narrow_float(tensor) ? EL_F32 : tensor;
            return true;
        }
    }
    if (a == EL_F64 || b == EL_F64) return *out = EL_F64, true;
    if (div && (is_narrow_float(a) || is_narrow_float(b))) return *out = EL_F32, true;
    if (a == EL_F32 || b == EL_F32) return *out = EL_F32, true;
    if (a == EL_F16 || b == EL_F16) return *out = EL_F16, true;
    if (a == EL_BF16 && b == EL_BF16) return *out = EL_BF16, true;
    if (a == EL_BF16 || b == EL_BF16) return *out = EL_F32, true;
    if (elem_is_fp8(a) && elem_is_fp8(b)) return *out = a == b ? a : EL_F16, true;
    const char *ta = elem_info[a].triton, *tb = elem_info[b].triton;
    if (elem_is_fp8(a) || elem_is_fp8(b)) {
        fail(l, E_MIXED_TYPES, span, "'%s' cannot mix %s and %s: convert one with .to()", what, ta,
             tb);
        return false;
    }
    if (div && (elem_info[a].class_ == ELEM_I) != (elem_info[b].class_ == ELEM_I)) {
        fail(l, E_MIXED_TYPES, span,
             "Cannot use '%s' with %s and %s because they have different signedness", what, ta, tb);
        note(l, (Span){0}, "convert one of them with .to()");
        return false;
    }
    *out = promote_ints(a, b);
    return true;
}

/* ---- shapes ---- */

Value *broadcast_value(Lower *l, Value *v, Type shape, Span span) {
    Type t = type_with_shape(v->type, shape);
    if (type_same_shape(v->type, shape)) return v;
    if (v->type.rank == 0) return ir_given(&l->b, OP_SPLAT, v, t);
    Type padded = v->type;
    int missing = (int)shape.rank - (int)v->type.rank;
    bool fits = missing >= 0;
    if (fits) {
        padded = type_with_shape(v->type, (Type){.rank = shape.rank});
        for (int i = missing; i < shape.rank; i++) padded.log2[i] = v->type.log2[i - missing];
    }
    for (int i = 0; fits && i < shape.rank; i++)
        fits = padded.log2[i] == shape.log2[i] || padded.log2[i] == 0;
    if (!fits) {
        fail(l, E_BROADCAST, span, "%s cannot be broadcast to the shape of %s", user(l, v->type),
             user(l, t));
        return NULL;
    }
    if (missing > 0) v = ir_given(&l->b, OP_RESHAPE, v, padded);
    return type_same_shape(padded, t) ? v : ir_given(&l->b, OP_BROADCAST, v, t);
}

bool broadcast_pair(Lower *l, Value **x, Value **y, Span span) {
    Type a = (*x)->type, b = (*y)->type, shape = a.rank >= b.rank ? a : b;
    if (type_same_shape(a, b)) return true;
    for (int i = 0; a.rank && b.rank && i < shape.rank; i++) {
        int ia = i - (shape.rank - a.rank), ib = i - (shape.rank - b.rank);
        int da = ia < 0 ? 0 : a.log2[ia], db = ib < 0 ? 0 : b.log2[ib];
        if (da != db && da && db) {
            fail(l, E_BROADCAST, span,
                 "shapes %s and %s do not broadcast: dimension %d is %lld against %lld", user(l, a),
                 user(l, b), i, (long long)type_size(a, ia), (long long)type_size(b, ib));
            return false;
        }
        shape.log2[i] = (uint8_t)(da > db ? da : db);
    }
    if (type_log2_numel(shape) > TILE_MAX_LOG2) {
        fail(l, E_TILE_LIMIT, span,
             "shapes %s and %s broadcast to a tile of %lld elements; the limit is %d", user(l, a),
             user(l, b), (long long)type_numel(shape), 1 << TILE_MAX_LOG2);
        return false;
    }
    *x = broadcast_value(l, *x, shape, span);
    *y = broadcast_value(l, *y, shape, span);
    return *x && *y;
}

/* ---- casts ---- */

Value *cast_value(Lower *l, Value *v, Type elem, bool rtz, Span span) {
    Type from = type_element(v->type), to = type_with_shape(elem, v->type);
    if (type_equal(from, type_element(elem)) && from.constant == elem.constant) return v;
    if (!from.depth && !elem.depth) {
        Value *r = ir_given(&l->b, OP_CAST, v, to);
        if (rtz && type_is_float(from) && type_is_float(elem)) ir_set_attr(l->s, r->def, AT_RTZ, 1);
        return r;
    }
    if (from.depth && elem.depth) return ir_given(&l->b, OP_BITCAST, v, to);
    Type wide = type_with_elem(v->type, EL_I64);
    bool to_int =
        from.depth && type_is_int(elem) && (type_elem_bits(elem) == 64 || type_is_bool(elem));
    if (to_int && type_is_bool(elem)) v = ir_given(&l->b, OP_CAST, v, wide);
    if (to_int) return ir_given(&l->b, OP_CAST, v, to);
    if (elem.depth && type_is_int(from)) {
        if (type_elem_bits(from) != 64) v = ir_given(&l->b, OP_CAST, v, wide);
        return ir_given(&l->b, OP_CAST, v, to);
    }
    fail(l, E_CAST, span, "%s cannot be converted to %s", user(l, v->type), user(l, elem));
    note(l, (Span){0}, "pointers convert to and from 64-bit integers only");
    return NULL;
}

Value *bitcast_value(Lower *l, Value *v, Type elem, Span span) {
    Type to = type_with_shape(elem, v->type);
    if (type_equal(to, v->type)) return v;
    if (type_elem_bits(to) != type_elem_bits(v->type)) {
        fail(l, E_BITCAST, span, "a bitcast keeps the size: %s has %d bits, %s has %d",
             user(l, type_element(v->type)), type_elem_bits(v->type), user(l, elem),
             type_elem_bits(to));
        return NULL;
    }
    return ir_given(&l->b, OP_BITCAST, v, to);
}

/* ---- operators ---- */

bool is_operand(Obj o) {
    return o.kind == OBJ_VALUE || obj_is_number(o);
}

bool wrong_operands(Lower *l, const char *what, Obj x, Obj y, Span span) {
    fail(l, E_OPERANDS, span,
         is_operand(x) && is_operand(y) ? "'%s': invalid operands of type %s and %s"
                                        : "'%s' cannot be applied to %s and %s",
         what, obj_what(l, x), obj_what(l, y));
    return false;
}

Value *add_pointer(Lower *l, Value *p, Value *offset, Span span) {
    if (!type_is_int(offset->type)) {
        fail(l, E_OPERANDS, span, "a pointer takes an integer offset, not %s",
             user(l, offset->type));
        return NULL;
    }
    if (type_is_bool(offset->type))
        offset = cast_value(l, offset, type_scalar(EL_I32), false, span);
    return broadcast_pair(l, &p, &offset, span) ? ir_binary(&l->b, OP_ADDPTR, p, offset) : NULL;
}

static Obj pointer_arithmetic(Lower *l, Operator op, Obj x, Obj y, Span span) {
    bool first = obj_type(x).depth > 0;
    Obj p = first ? x : y, other = first ? y : x;
    Type t = obj_type(other);
    if (t.depth || !type_is_int(t) || (op != OPR_ADD && !(op == OPR_SUB && first))) {
        wrong_operands(l, operator_text[op], x, y, span);
        note(l, (Span){0}, "pointers allow only pointer + integer and pointer - integer");
        return poison();
    }
    Value *offset = NULL;
    if (obj_is_number(other)) {
        if (op == OPR_SUB) other = const_unary(l, OPR_NEG, other, span);
        if (!obj_is_poison(other))
            offset = number_value(l, other, type_with_shape(obj_type(other), p.value->type), span);
    } else {
        offset = other.value;
        if (op == OPR_SUB && !type_is_signed(t)) /* an unsigned negative would lose its sign */
            offset = cast_value(l, offset, type_scalar(EL_I64), false, span);
        if (op == OPR_SUB) offset = ir_unary(&l->b, OP_NEG, offset);
    }
    return offset ? obj_value(add_pointer(l, p.value, offset, span)) : poison();
}

/* `>>` is arithmetic when its left operand was signed, whatever the operands became. */
static Value *shift_right(Lower *l, Obj left, Value *x, Value *y, Span span) {
    Type t = type_element(x->type);
    bool arithmetic = left.kind == OBJ_VALUE && type_is_signed(left.value->type);
    if (!arithmetic || type_is_signed(t)) return ir_binary(&l->b, OP_SHR, x, y);
    Type as_signed = type_scalar((Elem)(t.elem - EL_U8 + EL_I8));
    x = bitcast_value(l, x, as_signed, span);
    y = bitcast_value(l, y, as_signed, span);
    return bitcast_value(l, ir_binary(&l->b, OP_SHR, x, y), t, span);
}

static Obj tensor_binary(Lower *l, Operator op, Obj x, Obj y, Span span) {
    Value *vx, *vy;
    if (!unify_operands(l, x, y, operator_ops[op].div, operator_text[op], span, &vx, &vy))
        return poison();
    if (operator_ops[op].ints && type_is_float(vx->type)) {
        wrong_operands(l, operator_text[op], x, y, span);
        note(l, (Span){0},
             op == OPR_FLOORDIV ? "'//' takes integers; for floats: tl.floor(x / y)"
                                : "it takes integers only");
        return poison();
    }
    if (op == OPR_DIV && !type_is_float(vx->type)) {
        vx = cast_value(l, vx, type_scalar(EL_F32), false, span);
        vy = cast_value(l, vy, type_scalar(EL_F32), false, span);
    }
    check_overflow(l, op, vx, vy, span);
    return obj_value(op == OPR_SHR ? shift_right(l, x, vx, vy, span)
                                   : ir_binary(&l->b, (OpCode)operator_ops[op].code, vx, vy));
}

static Obj as_constant(Obj o, bool constant) {
    o.constant = constant;
    return o;
}

Obj binary(Lower *l, Operator op, Obj x, Obj y, Span span) {
    if (obj_is_poison(x) || obj_is_poison(y)) return poison();
    if (is_foreign(l, x, span) || is_foreign(l, y, span)) return poison();
    if (x.kind == OBJ_INSTANCE || y.kind == OBJ_INSTANCE) return class_binary(l, op, x, y, span);
    if (x.kind != OBJ_VALUE && y.kind != OBJ_VALUE) {
        Obj r = const_binary(l, op, x, y, span);
        r.returned = obj_is_number(r) && (x.returned || y.returned);
        return as_constant(r, x.constant || y.constant);
    }
    if (is_outside(l, x, span) || is_outside(l, y, span)) return poison();
    if (op == OPR_MATMUL || op == OPR_POW) {
        fail(l, E_OPERANDS, span, "'%s' is not defined for tensors", operator_text[op]);
        note(l, (Span){0},
             op == OPR_MATMUL ? "the matrix product is tl.dot(a, b)"
                              : "write x * x, or tl.exp2(y * tl.log2(x))");
        return poison();
    }
    if (!is_operand(x) || !is_operand(y))
        return wrong_operands(l, operator_text[op], x, y, span), poison();
    if (obj_type(x).depth || obj_type(y).depth) return pointer_arithmetic(l, op, x, y, span);
    return tensor_binary(l, op, x, y, span);
}

Obj unary(Lower *l, Operator op, Obj x, Span span) {
    if (obj_is_poison(x)) return x;
    if (is_foreign(l, x, span) || is_outside(l, x, span)) return poison();
    if (x.kind == OBJ_INSTANCE) return class_unary(l, op, x, span);
    if (x.kind != OBJ_VALUE) return as_constant(const_unary(l, op, x, span), x.constant);
    Value *v = x.value;
    Type t = v->type;
    if (op == OPR_NEG && type_is_float(t))
        differs(l, CHANGE_NEGATION, span, "the negative of 0.0 is -0.0 and was 0.0");
    if (op == OPR_NEG && type_is_float(t) && !changed(l, CHANGE_NEGATION))
        return obj_value(ir_binary(&l->b, OP_SUB, ir_const_int(&l->b, t, 0), v));
    if (op == OPR_NEG && !t.depth) {
        if (l->checks_overflow) check_overflow(l, OPR_SUB, ir_const_int(&l->b, t, 0), v, span);
        return obj_value(ir_unary(&l->b, OP_NEG, v));
    }
    bool flips = op == OPR_NOT ? type_is_bool(t) : op == OPR_INVERT && type_is_int(t);
    if (flips) return obj_value(ir_binary(&l->b, OP_XOR, v, ir_const_int(&l->b, t, -1)));
    fail(l, E_OPERANDS, span, "'%s' cannot be applied to %s", operator_text[op], user(l, t));
    if (op == OPR_NOT) note(l, (Span){0}, "'not' takes int1: compare with 0 instead");
    if (op == OPR_POS) note(l, (Span){0}, "Triton has no unary plus on tensors: leave it out");
    return poison();
}

Obj compare(Lower *l, Operator op, Obj x, Obj y, Span span) {
    static const Pred preds[OPERATORS] = {
        [OPR_EQ] = PRED_EQ, [OPR_NE] = PRED_NE, [OPR_LT] = PRED_LT,
        [OPR_LE] = PRED_LE, [OPR_GT] = PRED_GT, [OPR_GE] = PRED_GE};
    if (obj_is_poison(x) || obj_is_poison(y)) return poison();
    if ((op == OPR_IN || op == OPR_NOT_IN) && y.kind == OBJ_FOREIGN &&
        strcmp(y.path, "os.environ") == 0) {
        Obj given;
        return obj_bool(host_environ(l, x, &given) == (op == OPR_IN));
    }
    bool same = x.kind == OBJ_FOREIGN && obj_same(x, y); /* whatever it is, it is itself */
    if (!same && (is_foreign(l, x, span) || is_foreign(l, y, span))) return poison();
    bool ordering = op >= OPR_EQ && op <= OPR_GE;
    if (ordering && (x.kind == OBJ_INSTANCE || y.kind == OBJ_INSTANCE))
        return class_binary(l, op, x, y, span);
    if (ordering && (is_outside(l, x, span) || is_outside(l, y, span))) return poison();
    if (!ordering || (x.kind != OBJ_VALUE && y.kind != OBJ_VALUE)) {
        if ((op == OPR_IN || op == OPR_NOT_IN) && (!obj_is_const(x) || !obj_is_const(y)))
            return fail(l, E_COMPILE_TIME, span, "'%s' works on compile-time values only",
                        operator_text[op]);
        return as_constant(const_compare(l, op, x, y, span), x.constant || y.constant);
    }
    Value *v[2];
    if (!unify_numbers(l, (Obj[]){x, y}, 2, COMPARED, operator_text[op], span, v)) {
        if (x.kind == OBJ_NONE || y.kind == OBJ_NONE)
            note(l, (Span){0}, "to ask whether an argument was given, write 'is None'");
        return poison();
    }
    return obj_value(ir_cmp(&l->b, preds[op], v[0], v[1]));
}

Obj logical(Lower *l, Operator op, Value *x, Value *y, Span span) {
    if (!type_is_bool(x->type) || !type_is_bool(y->type)) {
        fail(l, E_OPERANDS, span, "'%s' takes int1 on both sides, not %s and %s", operator_text[op],
             user(l, x->type), user(l, y->type));
        note(l, (Span){0}, "compare with 0 first; for bits use '%s'",
             op == OPR_LOGICAL_AND ? "&" : "|");
        return poison();
    }
    if (!broadcast_pair(l, &x, &y, span)) return poison();
    return obj_value(ir_binary(&l->b, op == OPR_LOGICAL_AND ? OP_AND : OP_OR, x, y));
}

bool is_no_condition(Lower *l, Obj o, Span span) {
    if (is_foreign(l, o, span)) return true;
    if (o.kind != OBJ_INSTANCE) return false;
    fail(l, E_CONDITION, span, "%s is no condition", obj_what(l, o));
    return true;
}

Value *condition_value(Lower *l, Obj o, bool one_element, Span span, const char *what) {
    Value *v = to_value(l, o, span);
    if (v && one_element && v->type.rank && type_log2_numel(v->type) == 0)
        v = only_element(l, v, span);
    if (!v) return NULL;
    if (v->type.rank) {
        fail(l, E_CONDITION, span, "the condition of %s is %s and must be a scalar", what,
             user(l, v->type));
        note(l, (Span){0}, "to choose element by element, use tl.where(condition, x, y)");
        return NULL;
    }
    return cast_value(l, v, type_scalar(EL_I1), false, span);
}
