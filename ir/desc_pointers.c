/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* desc_pointers.c: a block of a descriptor's tensor -> a tile of pointers and a mask (see desc.h).
 *
 * Index arithmetic is in 64 bits and one-dimensional; only the last sum is as large as the block.
 */
#include "ir/desc.h"

#include <math.h>

Value *desc_size(const Op *desc, int dim) {
    return desc->operand[1 + dim].value;
}

Value *desc_stride(const Op *desc, int dim) {
    return desc->operand[1 + desc->result[0]->type.rank + dim].value;
}

bool desc_has_front(const Op *desc) {
    return ir_attr_int(desc, AT_FRONT, 0) != 0;
}

bool desc_goes_on(const Op *desc, int dim) {
    return ir_attr_int(desc, AT_FRONT, 0) >> dim & 1;
}

bool desc_is_stored(const Op *desc) {
    for (const Use *u = desc->result[0]->uses; u; u = u->next)
        if (u->op->code == OP_ASYNC_DESC_STORE || u->op->code == OP_ASYNC_DESC_REDUCE) return true;
    return false;
}

int desc_first_index(const Op *access) {
    return access->noperands - access->operand[0].value->type.rank;
}

bool desc_moves_buffer(const Op *access) {
    return access->noperands > 1 && access->operand[0].value->type.space == SPACE_DESC &&
           type_is_buffer(access->operand[1].value->type);
}

bool desc_order(const Op *access, uint8_t order[TILE_MAX_RANK]) {
    const Attr *of = ir_attr(access, AT_ORDER);
    Type block = access->operand[0].value->type;
    int given = of ? of->ndims : block.rank, n = 0;
    uint32_t seen = 0;
    for (int i = 0; i < given; i++) {
        int d = of ? of->dims[i] : i;
        if (d >= block.rank || seen >> d & 1) return false;
        seen |= (uint32_t)1 << d;
    }
    for (int d = 0; d < block.rank; d++)
        if (!(seen >> d & 1)) {
            if (block.log2[d]) return false;
            order[n++] = (uint8_t)d;
        }
    for (int i = 0; i < given; i++) order[n++] = (uint8_t)(of ? of->dims[i] : i);
    return true;
}

Type desc_tile(Type desc, Value *const *index) {
    Type t = type_in_space(desc, SPACE_REGISTER);
    if (index[0]->type.rank) t.log2[0] = index[0]->type.log2[0];
    return t;
}

uint32_t desc_checked_dims(const Op *access) {
    Type t = access->operand[0].value->type;
    const Attr *sure = ir_attr(access, AT_IN_BOUNDS);
    uint32_t dims = ((uint32_t)1 << t.rank) - 1;
    for (int i = 0; sure && i < sure->ndims; i++) dims &= ~((uint32_t)1 << sure->dims[i]);
    return dims;
}

/* A scalar in every element, or dimensions of size 1 repeated. */
static Value *spread(Builder *b, Value *v, Type shape) {
    Type t = type_with_shape(v->type, shape);
    if (type_same_shape(v->type, shape)) return v;
    return ir_given(b, v->type.rank ? OP_BROADCAST : OP_SPLAT, v, t);
}

static Value *as_i64(Builder *b, Value *v) {
    return v->type.elem == EL_I64 ? v : ir_given(b, OP_CAST, v, type_with_elem(v->type, EL_I64));
}

/* A 1-D tile as dimension `dim` of a tile of the block's rank. */
static Value *along(Builder *b, Value *v, Type block, int dim) {
    Type t = type_with_shape(v->type, block);
    for (int i = 0; i < block.rank; i++)
        if (i != dim) t.log2[i] = 0;
    return type_equal(t, v->type) ? v : ir_given(b, OP_RESHAPE, v, t);
}

/* 0, 1, 2 … in int64. */
static Value *numbers(Builder *b, int64_t n) {
    Type t = type_tile(EL_I32, 1, &n);
    Op *range = ir_op(b, OP_ARANGE, NULL, 0, &t, 1, 0);
    ir_set_attr(b->s, range, AT_START, 0);
    ir_set_attr(b->s, range, AT_END, n);
    return ir_given(b, OP_CAST, range->result[0], type_with_elem(t, EL_I64));
}

/* The index + 0, 1, 2 … in int64; rows have their numbers. */
static Value *positions(Builder *b, Value *index, int64_t n) {
    index = as_i64(b, index);
    if (index->type.rank) return index;
    Value *number = numbers(b, n);
    return ir_binary(b, OP_ADD, spread(b, index, number->type), number);
}

static Value *within(Builder *b, Value *index, Value *size, bool front) {
    Value *low = front ? NULL : ir_cmp(b, PRED_GE, index, ir_const_int(b, index->type, 0));
    Value *high = ir_cmp(b, PRED_LT, index, spread(b, size, index->type));
    return low ? ir_binary(b, OP_AND, low, high) : high;
}

static Type both_shapes(Type x, Type y) {
    if (!x.rank) return y;
    for (int i = 0; i < x.rank; i++)
        if (y.log2[i] > x.log2[i]) x.log2[i] = y.log2[i];
    return x;
}

/* Those that are there by both; *mask NULL: all. */
static void and_mask(Builder *b, Value **mask, Value *here) {
    if (!*mask) {
        *mask = here;
        return;
    }
    Type shape = both_shapes((*mask)->type, here->type);
    Value *also = spread(b, *mask, shape);
    *mask = ir_binary(b, OP_AND, also, spread(b, here, shape));
}

void desc_pointers(Builder *b, const Op *desc, Value *const *index, uint32_t checked, Value **p,
                   Value **mask) {
    Type block = desc_tile(desc->result[0]->type, index);
    *p = desc->operand[0].value;
    *mask = NULL;
    for (int i = 0; i < block.rank; i++) {
        Value *at = positions(b, index[i], type_dim(block, i));
        Value *step =
            ir_binary(b, OP_MUL, at, spread(b, as_i64(b, desc_stride(desc, i)), at->type));
        step = along(b, step, block, i);
        Type shape = both_shapes((*p)->type, step->type);
        Value *base = spread(b, *p, shape);
        *p = ir_binary(b, OP_ADDPTR, base, spread(b, step, shape));
        int64_t all = type_dim(block, i), live = desc_live(desc, block, i);
        if (live < all) {
            Value *number = numbers(b, all);
            Value *is = ir_cmp(b, PRED_LT, number, ir_const_int(b, number->type, live));
            and_mask(b, mask, along(b, is, block, i));
        }
        if (!(checked >> i & 1)) continue;
        Value *size = as_i64(b, desc_size(desc, i));
        and_mask(b, mask, along(b, within(b, at, size, desc_goes_on(desc, i)), block, i));
    }
    if (*mask) *mask = spread(b, *mask, block);
}

Value *desc_padding(Builder *b, const Op *desc, Type tile) {
    bool nan = ir_attr_int(desc, AT_PADDING, PADDING_ZERO) == PADDING_NAN;
    return nan ? ir_const_float(b, tile, (double)NAN) : ir_const_int(b, tile, 0);
}
