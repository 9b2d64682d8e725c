/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* pad.c: a kernel's tiles of 24, 48, 176, 192 … elements along a dimension -> tiles of the next
 * power of two, the rest of which anything may be in: it is masked where it would be seen.
 *
 * Layouts are linear over bits, so tiles are powers of two below. Tiles of other sizes are for
 * grids: 1536 columns are eleven tiles of 144 for 132 multiprocessors, twelve of 128 one too many
 * for a round. What nobody stores of them costs nothing where it counts: passes/narrow.c. */
#include "frontend/lower/internal.h"
#include "ir/effects.h"

#include <math.h>

static Builder at(Lower *l, Op *op) {
    return (Builder){l->s, l->b.f, op->block, op, op->span};
}

/* A 1-D tile as dimension d of that shape. */
static Value *along(Builder *b, Value *v, Type shape, int d) {
    Type t = type_with_shape(v->type, shape);
    for (int i = 0; i < t.rank; i++)
        if (i != d) t.log2[i] = 0;
    if (!type_equal(t, v->type)) v = ir_given(b, OP_RESHAPE, v, t);
    t = type_with_shape(t, shape);
    return type_equal(t, v->type) ? v : ir_given(b, OP_BROADCAST, v, t);
}

/* Whether an element of the tile is there, along dimension d, or along all: NULL, all are. */
static Value *is_there(Builder *b, Type shape, int d) {
    Value *mask = NULL;
    for (int i = 0; i < shape.rank; i++) {
        int64_t n = type_size(shape, i);
        if ((d >= 0 && i != d) || n == type_dim(shape, i)) continue;
        Type t = type_tile(EL_I32, 1, &n);
        Op *range = ir_op(b, OP_ARANGE, NULL, 0, &t, 1, 0);
        ir_set_attr(b->s, range, AT_START, 0);
        ir_set_attr(b->s, range, AT_END, n);
        Value *v = range->result[0];
        v = along(b, ir_cmp(b, PRED_LT, v, ir_const_int(b, t, n)), shape, i);
        mask = mask ? ir_binary(b, OP_AND, mask, v) : v;
    }
    return mask;
}

static Value *both(Builder *b, Value *x, Value *y) {
    return x ? ir_binary(b, OP_AND, x, y) : y;
}

/* The access with a mask, its operand number i, of what is there besides its own. */
static void mask_access(Lower *l, Op *op, int i) {
    Builder b = at(l, op);
    Value *there = is_there(&b, op->operand[0].value->type, -1), *in[3];
    int n = op->noperands > i ? op->noperands : i + 1;
    for (int k = 0; k < n; k++) in[k] = k < op->noperands ? op->operand[k].value : NULL;
    in[i] = both(&b, in[i], there);
    Op *to = ir_op_like(&b, op, in, n, NULL);
    for (int k = 0; k < op->nresults; k++) {
        to->result[k]->name = op->result[k]->name;
        ir_replace_uses(op->result[k], to->result[k]);
    }
    ir_erase(op);
}

static void replace(Builder *b, Op *op, int i, int d, Value *with) {
    Value *there = is_there(b, op->operand[i].value->type, d);
    Value *in[] = {there, op->operand[i].value, with};
    ir_set_operand(op, i, ir_op1(b, OP_SELECT, in, 3));
}

/* Operands of a dot are 0 where K ends: a load that leaves that out may say so itself. */
static void mask_dot(Lower *l, Op *op) {
    for (int i = 0; i < 2; i++) {
        Type t = op->operand[i].value->type;
        int k = i ? t.rank - 2 : t.rank - 1;
        Builder b = at(l, op);
        if (type_size(t, k) < type_dim(t, k)) replace(&b, op, i, k, ir_const_int(&b, t, 0));
    }
}

/* What changes nothing of a reduction by that operation; NULL: it is not known. */
static Value *neutral(Builder *b, const Op *with, Type t) {
    bool is_float = type_is_float(t), is_signed = type_is_signed(t);
    int bits = type_elem_bits(t);
    int64_t least = is_signed ? (int64_t)((uint64_t)1 << (bits - 1)) : 0;
    int64_t most = is_signed ? (int64_t)(((uint64_t)1 << (bits - 1)) - 1) : -1;
    if (bits < 64 && is_signed) least = -least;
    switch (with->code) {
    case OP_ADD:
    case OP_OR:
    case OP_XOR: return ir_const_int(b, t, 0);
    case OP_MUL: return ir_const_int(b, t, 1);
    case OP_AND: return type_is_bool(t) ? ir_const_int(b, t, 1) : ir_const_int(b, t, -1);
    case OP_MAX: return is_float ? ir_const_float(b, t, -HUGE_VAL) : ir_const_int(b, t, least);
    case OP_MIN: return is_float ? ir_const_float(b, t, HUGE_VAL) : ir_const_int(b, t, most);
    default: return NULL;
    }
}

static const char reduces[] =
    "a reduction along it by more than one operation of +, *, &, |, ^, min or max";

static const char *mask_reduce(Lower *l, Op *op) {
    int axis = (int)ir_attr_int(op, AT_AXIS, 0);
    Type t = op->operand[0].value->type;
    const Op *with = op->region[0]->first;
    if (type_size(t, axis) == type_dim(t, axis)) return NULL;
    Builder b = at(l, op);
    bool one = op->noperands == 1 && with->next && with->next->code == OP_YIELD &&
               with->next->operand[0].value == with->result[0];
    Value *v = one ? neutral(&b, with, t) : NULL;
    if (!v) return reduces;
    replace(&b, op, 0, axis, v);
    return NULL;
}

/* It adds or drops dimensions of 1 alone. */
static bool keeps_dims(const Op *op) {
    Type from = op->operand[0].value->type, to = op->result[0]->type;
    for (int i = 0, k = 0;; i++, k++) {
        while (i < from.rank && !from.log2[i]) i++;
        while (k < to.rank && !to.log2[k]) k++;
        if (i == from.rank || k == to.rank) return i == from.rank && k == to.rank;
        if (from.log2[i] != to.log2[k]) return false;
    }
}

static const char *mask_assert(Lower *l, Op *op) {
    Builder b = at(l, op);
    Value *v = op->operand[0].value;
    if (v->type.rank) replace(&b, op, 0, -1, ir_const_int(&b, v->type, 1));
    return NULL;
}

/* NULL, or what cannot be done with such a tile. */
static const char *mask_op(Lower *l, Op *op) {
    switch (op->code) {
    case OP_LOAD:
    case OP_ATOMIC_LOAD: return mask_access(l, op, 1), NULL;
    case OP_STORE:
    case OP_ATOMIC:
    case OP_ATOMIC_STORE: return mask_access(l, op, 2), NULL;
    case OP_HISTOGRAM: return mask_access(l, op, 1), NULL;
    case OP_DOT: return mask_dot(l, op), NULL;
    case OP_REDUCE: return mask_reduce(l, op);
    case OP_ASSERT: return mask_assert(l, op);
    case OP_SCAN: return ir_attr_int(op, AT_REVERSE, 0) ? "a scan from its end" : NULL;
    case OP_RESHAPE: return keeps_dims(op) ? NULL : "another shape";
    case OP_ARANGE:
    case OP_SPLAT:
    case OP_BROADCAST:
    case OP_TRANS:
    case OP_JOIN:
    case OP_SPLIT:
    case OP_CONST: return NULL;
    case OP_INLINE_ASM: return ir_is_pure(op) ? NULL : "assembly that has effects";
    case OP_FOR:
    case OP_IF:
    case OP_WHILE:
    case OP_YIELD:
    case OP_CONDITION: return NULL;
    default:
        return op_is_pure_elementwise(op)
                   ? NULL
                   : arena_printf(&l->s->arena, "'%s'", op_info[op->code].text);
    }
}

static bool touches_short(const Op *op) {
    bool is = false;
    for (int i = 0; i < op->noperands; i++) is |= type_is_short(op->operand[i].value->type);
    for (int i = 0; i < op->nresults; i++) is |= type_is_short(op->result[i]->type);
    return is;
}

static void look_for_short(Op *op, void *found) {
    *(bool *)found |= touches_short(op);
}

static void mask_one(Op *op, void *ctx) {
    Lower *l = ctx;
    const char *what = touches_short(op) ? mask_op(l, op) : NULL;
    if (what)
        fail(l, E_UNPADDED, op->span,
             "a tile of a size that is no power of two does not take part in %s", what);
}

static void pad_args(Block *b) {
    for (int i = 0; i < b->nargs; i++) b->args[i]->type = type_padded(b->args[i]->type);
}

static void pad_one(Op *op, void *ctx) {
    Lower *l = ctx;
    for (int i = 0; i < op->nregions; i++) pad_args(op->region[i]);
    for (int i = 0; i < op->nresults; i++) op->result[i]->type = type_padded(op->result[i]->type);
    if (op->code != OP_ARANGE) return;
    int64_t end = ir_attr_int(op, AT_START, 0) + type_dim(op->result[0]->type, 0);
    if (end > (int64_t)INT32_MAX + 1)
        fail(l, E_ARANGE, op->span,
             "tl.arange: its numbers, up to the next power of two, must fit int32");
    ir_set_attr(l->s, op, AT_END, end);
}

void pad_tiles(Lower *l, Func *f) {
    bool any = false;
    ir_walk(f->body, look_for_short, &any);
    if (!any) return;
    ir_walk(f->body, mask_one, l);
    if (!l->failed) ir_walk(f->body, pad_one, l);
}
