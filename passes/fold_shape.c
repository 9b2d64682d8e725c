/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fold_shape.c: shape ops of shape ops, and elementwise ops on their results (part of `fold`).
 *
 * An elementwise op whose tiles are all repeated, or all reshaped, from tiles of one smaller or
 * other shape is done there, and its result repeated or reshaped: pointer and mask arithmetic
 * becomes scalar as far as it is. Shape ops only ever sink below elementwise ops, never rise. */
#include "passes/fold.h"
#include "ir/effects.h"

static Value *shaped(Fold *fold, OpCode code, Value *x, Type result) {
    if (type_equal(x->type, result)) return x;
    return ir_given(&fold->b, code, x, result);
}

/* x, known to hold one value everywhere, in another shape. */
static Value *uniform(Fold *fold, Value *x, Type shape) {
    Type t = type_with_shape(x->type, shape);
    int64_t bits;
    if (fold_constant(x, &bits)) return ir_const_bits(&fold->b, t, bits);
    return shaped(fold, OP_SPLAT, op_is(x, OP_SPLAT) ? x->def->operand[0].value : x, t);
}

static bool is_uniform(const Value *v) {
    return op_is(v, OP_SPLAT) || op_is(v, OP_CONST);
}

/* A permutation that leaves the dimensions over 1 in their order moves nothing. */
static bool keeps_order(Type from, const Attr *order) {
    int last = -1;
    for (int i = 0; i < order->ndims; i++) {
        if (from.log2[order->dims[i]] == 0) continue;
        if (order->dims[i] < last) return false;
        last = order->dims[i];
    }
    return true;
}

static bool fold_trans(Fold *fold, Op *op, Value *x) {
    const Attr *order = ir_attr(op, AT_ORDER);
    Type t = op->result[0]->type;
    if (keeps_order(x->type, order)) return fold_replace(op, shaped(fold, OP_RESHAPE, x, t));
    if (!op_is(x, OP_TRANS)) return false;
    const Attr *inner = ir_attr(x->def, AT_ORDER);
    int both[TILE_MAX_RANK];
    for (int i = 0; i < order->ndims; i++) both[i] = inner->dims[order->dims[i]];
    Value *v = ir_given(&fold->b, OP_TRANS, x->def->operand[0].value, t);
    ir_set_dims(fold->s, v->def, AT_ORDER, both, order->ndims);
    return fold_replace(op, v);
}

static bool fold_shape_op(Fold *fold, Op *op) {
    Value *x = op->operand[0].value;
    Type t = op->result[0]->type;
    if (op->code == OP_SPLAT) return op_is(x, OP_CONST) && fold_replace(op, uniform(fold, x, t));
    if (is_uniform(x)) return fold_replace(op, uniform(fold, x, t));
    if (op->code == OP_TRANS) return fold_trans(fold, op, x);
    if (type_equal(x->type, t)) return fold_replace(op, x);
    if (op->code == OP_RESHAPE && x->type.rank == 0) /* of one element in every dimension */
        return fold_replace(op, uniform(fold, x, t));
    if (!op_is(x, op->code)) return false;
    return fold_replace(op, shaped(fold, op->code, x->def->operand[0].value, t));
}

/* ---- elementwise ops above shape ops ---- */

/* The shape op that all tiles of op come out of, from one shape, but for those that are uniform:
 * NULL in *source when all are uniform. False: there is none. */
static bool common_source(const Op *op, const Op **source) {
    bool splat = false;
    *source = NULL;
    for (int i = 0; i < op->noperands; i++) {
        const Value *v = op->operand[i].value;
        if (is_uniform(v)) {
            splat |= op_is(v, OP_SPLAT);
            continue;
        }
        if (!op_is(v, OP_BROADCAST) && !op_is(v, OP_RESHAPE)) return false;
        if (!*source) *source = v->def;
        if (v->def->code != (*source)->code ||
            !type_same_shape(v->def->operand[0].value->type, (*source)->operand[0].value->type))
            return false;
    }
    return *source || splat;
}

static bool lift_elementwise(Fold *fold, Op *op) {
    enum { MOST_OPERANDS = 3 };
    const Op *source;
    Type t = op->result[0]->type;
    if (t.rank == 0 || op->noperands > MOST_OPERANDS || !common_source(op, &source)) return false;
    Type shape = source ? source->operand[0].value->type : type_element(t);
    Value *operands[MOST_OPERANDS];
    for (int i = 0; i < op->noperands; i++) {
        Value *v = op->operand[i].value;
        operands[i] = is_uniform(v) ? uniform(fold, v, shape) : v->def->operand[0].value;
    }
    Value *small = fold_same_op(fold, op, operands, type_with_shape(t, shape));
    small->name = op->result[0]->name;
    return fold_replace(op, ir_given(&fold->b, source ? source->code : OP_SPLAT, small, t));
}

bool fold_shape(Fold *fold, Op *op) {
    switch (op->code) {
    case OP_SPLAT:
    case OP_BROADCAST:
    case OP_RESHAPE:
    case OP_TRANS: return fold_shape_op(fold, op);
    default: break;
    }
    return op_is_pure_elementwise(op) && lift_elementwise(fold, op);
}
