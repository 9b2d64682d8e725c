/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fold_cast.c: conversions of conversions (part of `fold`).
 *
 * The one fact that decides: does the inner conversion keep every value? Then the outer one may as
 * well start from the original, unless it treats the two types differently: what is too large for
 * an integer wraps when it comes from an integer and saturates when it comes from a float. */
#include "passes/fold.h"

/* Bits of precision and largest exponent of the floats, by which one holds another's values. */
static const struct {
    int precision, exponent, smallest; /* smallest: exponent of the least subnormal, negated */
} float_range[ELEMS] = {
    [EL_F8E4M3] = {4, 8, 9},     [EL_F8E5M2] = {3, 15, 16}, [EL_F16] = {11, 15, 24},
    [EL_F8E4B15] = {4, 0, 17},   [EL_BF16] = {8, 127, 133}, [EL_F32] = {24, 127, 149},
    [EL_F64] = {53, 1023, 1074},
};

/* Every value of `from` is a value of `to`. */
static bool holds(Elem to, Elem from) {
    ElemClass x = elem_info[from].class_, y = elem_info[to].class_;
    int bits = elem_info[from].bits, room = elem_info[to].bits;
    if (from == to) return true;
    if (y == ELEM_B) return false;
    if (x == ELEM_F)
        return y == ELEM_F && float_range[to].precision >= float_range[from].precision &&
               float_range[to].exponent >= float_range[from].exponent &&
               float_range[to].smallest >= float_range[from].smallest;
    int magnitude = bits - (x == ELEM_I);
    if (y == ELEM_F)
        return float_range[to].precision >= magnitude && float_range[to].exponent >= magnitude;
    if (y == ELEM_I) return room - 1 >= magnitude;
    return x != ELEM_I && room >= magnitude;
}

static bool fold_int_or_float(Fold *fold, Op *op, Value *inner) {
    Value *x = inner->def->operand[0].value;
    Elem from = (Elem)x->type.elem, mid = (Elem)inner->type.elem;
    Elem to = (Elem)op->result[0]->type.elem;
    bool whole =
        type_is_int(x->type) && type_is_int(inner->type) && type_is_int(op->result[0]->type);
    /* Integers: the lower bits pass through a conversion that keeps at least as many. */
    bool lower_bits =
        whole && mid != EL_I1 && to != EL_I1 && elem_info[to].bits <= elem_info[mid].bits;
    if (!lower_bits && !holds(mid, from)) return false;
    /* fp8 goes anywhere through a wider float, and not even back to itself as it was: it saturates.
     */
    if (type_is_float(x->type) && elem_info[from].bits == 8) return false;
    if (from == to) return fold_replace(op, x);
    if (type_is_int(x->type) && type_is_float(inner->type) &&
        (ir_attr(op, AT_RTZ) || (type_is_int(op->result[0]->type) && !holds(to, from))))
        return false;
    return fold_replace(op, fold_same_op(fold, op, &x, op->result[0]->type));
}

bool fold_cast(Fold *fold, Op *op) {
    if (op->code != OP_CAST && op->code != OP_BITCAST) return false;
    Value *x = op->operand[0].value;
    Type t = op->result[0]->type;
    bool fp8 = type_is_float(x->type) && type_elem_bits(x->type) == 8; /* a cast saturates */
    if (type_equal(x->type, t) && !(fp8 && op->code == OP_CAST)) return fold_replace(op, x);
    if (!op_is(x, op->code)) return false;
    Value *y = x->def->operand[0].value;
    if (op->code == OP_BITCAST)
        return fold_replace(op, type_equal(y->type, t) ? y : fold_same_op(fold, op, &y, t));
    if (y->type.depth || x->type.depth || t.depth) /* 64 bits all the way */
        return type_equal(y->type, t) && fold_replace(op, y);
    return fold_int_or_float(fold, op, x);
}
