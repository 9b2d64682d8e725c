/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* join.c: builtins that move elements between tiles or positions: join, split, gather,
 * histogram. */
#include "frontend/lower/internal.h"

static const char *user(Lower *l, Type t) {
    return type_user_text(&l->s->arena, t);
}

/* A scalar as a tile of one element: the operations work on tiles. */
static Value *as_tile(Lower *l, Value *x) {
    int64_t one = 1;
    Type line = type_with_shape(x->type, type_tile(EL_I1, 1, &one));
    return x->type.rank ? x : ir_given(&l->b, OP_SPLAT, x, line);
}

Obj bi_join(Lower *l, const Args *a, int64_t data) {
    (void)data;
    Value *x = arg_value(l, a, 0), *y = arg_value(l, a, 1);
    if (!x || !y || !broadcast_pair(l, &x, &y, a->span)) return poison();
    if (!type_equal(x->type, y->type))
        return fail(l, E_MIXED_TYPES, a->span,
                    "tl.join needs one type on both sides, not %s and %s", user(l, x->type),
                    user(l, y->type));
    Type t = x->type;
    if (t.rank == TILE_MAX_RANK || type_log2_numel(t) == TILE_MAX_LOG2)
        return fail(l, E_TILE_LIMIT, a->span, "tl.join: two of %s are too much for a tile",
                    user(l, t));
    Value *operand[] = {as_tile(l, x), as_tile(l, y)};
    Type joined = operand[0]->type;
    t.log2[t.rank++] = 1;
    joined.log2[joined.rank++] = 1;
    Value *r = ir_op(&l->b, OP_JOIN, operand, 2, &joined, 1, 0)->result[0];
    return obj_value(type_equal(t, joined) ? r : ir_given(&l->b, OP_RESHAPE, r, t));
}

Obj bi_split(Lower *l, const Args *a, int64_t data) {
    (void)data;
    Value *x = arg_value(l, a, 0);
    if (!x) return poison();
    Type t = x->type;
    if (!t.rank || t.log2[t.rank - 1] != 1)
        return fail(l, E_SPLIT, a->where[0], "tl.split needs a last dimension of 2, not %s",
                    user(l, t));
    bool to_scalars = t.rank == 1;
    if (to_scalars) {
        t.log2[t.rank++] = 1;
        t.log2[0] = 0;
        x = ir_given(&l->b, OP_RESHAPE, x, t);
    }
    Type half[2];
    half[0] = half[1] = type_without_dim(t, t.rank - 1);
    Op *op = ir_op(&l->b, OP_SPLIT, &x, 1, half, 2, 0);
    Obj both[2];
    for (int i = 0; i < 2; i++)
        both[i] = obj_value(to_scalars ? only_element(l, op->result[i], a->span) : op->result[i]);
    return obj_tuple(l, both, 2);
}

Obj bi_gather(Lower *l, const Args *a, int64_t data) {
    (void)data;
    int axis;
    Value *x = arg_value(l, a, 0), *index = x ? arg_value(l, a, 1) : NULL;
    if (!index || !arg_axis(l, a, 2, x->type, &axis)) return poison();
    if (!type_is_int(index->type)) return arg_error(l, a, 1, "made of integers");
    Type s = x->type, t = index->type;
    bool fits = s.rank == t.rank;
    for (int d = 0; fits && d < s.rank; d++) fits = d == axis || s.log2[d] == t.log2[d];
    if (!fits)
        return fail(l, E_GATHER, a->where[1],
                    "tl.gather: %s and the index %s differ in more than axis %d", user(l, s),
                    user(l, t), axis);
    if (type_is_bool(t)) index = cast_value(l, index, type_scalar(EL_I32), false, a->span);
    Type r = type_with_shape(s, t);
    Value *operand[] = {x, index};
    Op *op = ir_op(&l->b, OP_GATHER, operand, 2, &r, 1, 0);
    ir_set_attr(l->s, op, AT_AXIS, axis);
    return obj_value(op->result[0]);
}

Obj bi_histogram(Lower *l, const Args *a, int64_t data) {
    (void)data;
    Value *x = arg_value(l, a, 0), *mask = NULL;
    Type t;
    if (!x || !arg_shape(l, a, 1, type_scalar(EL_I32), &t)) return poison();
    if (!type_is_int(x->type) || x->type.rank != 1)
        return fail(l, E_HISTOGRAM, a->where[0],
                    "tl.histogram counts a 1-D tile of integers, not %s", user(l, x->type));
    if (type_elem_bits(x->type) != 32) {
        differs(l, CHANGE_HISTOGRAM, a->span, "tl.histogram of %s is an error and was none",
                user(l, type_element(x->type)));
        if (changed(l, CHANGE_HISTOGRAM))
            return fail(l, E_HISTOGRAM, a->where[0],
                        "histogram only supports 32-bit integer input, not %s", user(l, x->type));
    }
    if (t.rank != 1) return arg_error(l, a, 1, "one number");
    if (a->at[2].kind != OBJ_NONE) {
        mask = arg_value(l, a, 2);
        if (!mask) return poison();
        if (!type_is_bool(mask->type)) return arg_error(l, a, 2, "a mask of int1");
        mask = broadcast_value(l, mask, x->type, a->where[2]);
        if (!mask) return poison();
    }
    if (type_is_bool(x->type)) x = cast_value(l, x, type_scalar(EL_I32), false, a->span);
    Value *operand[] = {x, mask};
    return obj_value(ir_op(&l->b, OP_HISTOGRAM, operand, mask ? 2 : 1, &t, 1, 0)->result[0]);
}
