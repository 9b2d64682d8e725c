/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* shape.c: builtins that make tiles or give them another shape. */
#include "frontend/lower/internal.h"

#include <string.h>

static const char *user(Lower *l, Type t) {
    return type_user_text(&l->s->arena, t);
}

/* ---- making ---- */

Obj bi_arange(Lower *l, const Args *a, int64_t data) {
    (void)data;
    int64_t start, end;
    if (!arg_int(l, a, 0, &start) || !arg_int(l, a, 1, &end)) return poison();
    if (start < INT32_MIN || end > INT32_MAX)
        return fail(l, E_ARANGE, a->span, "tl.arange: its numbers must fit int32");
    if (end <= start)
        return fail(l, E_ARANGE, a->span,
                    "tl.arange: the end, %lld, must be greater than the start, %lld",
                    (long long)end, (long long)start);
    int64_t n = end - start;
    if (!type_fits_dim(n)) {
        fail(l, E_POWER_OF_TWO, a->span, "arange's range must be a power of 2");
        int64_t up = 1;
        while (up < n) up *= 2;
        note(l, (Span){0}, "it has %lld elements: take %lld and mask off what is too much",
             (long long)n, (long long)up);
        return poison();
    }
    if (n > (int64_t)1 << TILE_MAX_LOG2)
        return fail(l, E_TILE_LIMIT, a->span, "tl.arange: a tile has at most %d elements",
                    1 << TILE_MAX_LOG2);
    Type t = type_tile(EL_I32, 1, &n);
    Op *op = ir_op(&l->b, OP_ARANGE, NULL, 0, &t, 1, 0);
    ir_set_attr(l->s, op, AT_START, start);
    ir_set_attr(l->s, op, AT_END, end);
    if (type_is_short(t)) beyond_triton(l, a->span, "sizes that are no powers of two");
    return obj_value(op->result[0]);
}

static Obj filled(Lower *l, Obj value, Type t, Span span) {
    if (obj_is_number(value) && !t.depth) return obj_value(number_value(l, value, t, span));
    Value *v = to_value(l, value, span);
    if (v && v->type.rank)
        return fail(l, E_ARGUMENT_KIND, span, "tl.full: the value must be a scalar, not %s",
                    user(l, v->type));
    v = v ? cast_value(l, v, type_element(t), false, span) : NULL;
    return v ? obj_value(broadcast_value(l, v, t, span)) : poison();
}

Obj bi_full(Lower *l, const Args *a, int64_t data) {
    (void)data;
    Type elem, t;
    if (!arg_type(l, a, 2, &elem) || !arg_shape(l, a, 0, elem, &t)) return poison();
    return filled(l, a->at[1], t, a->where[1]);
}

Obj bi_zeros(Lower *l, const Args *a, int64_t data) {
    (void)data;
    Type elem, t;
    if (!arg_type(l, a, 1, &elem) || !arg_shape(l, a, 0, elem, &t)) return poison();
    if (t.depth) return obj_value(ir_const_int(&l->b, t, 0));
    return filled(l, obj_int(0), t, a->span);
}

Obj bi_zeros_like(Lower *l, const Args *a, int64_t data) {
    (void)data;
    Value *v = arg_value(l, a, 0);
    return v ? obj_value(ir_const_int(&l->b, v->type, 0)) : poison();
}

Obj bi_to_tensor(Lower *l, const Args *a, int64_t data) {
    (void)data;
    return obj_value(arg_value(l, a, 0));
}

Obj bi_cast(Lower *l, const Args *a, int64_t data) {
    (void)data;
    Type elem;
    const char *rounding;
    bool bitcast;
    Value *v = arg_value(l, a, 0);
    if (!v || !arg_type(l, a, 1, &elem) || !arg_text(l, a, 2, &rounding) ||
        !arg_bool(l, a, 3, &bitcast))
        return poison();
    bool rtz = strcmp(rounding, "rtz") == 0;
    if (*rounding && !rtz && strcmp(rounding, "rtne") != 0)
        return arg_error(l, a, 2, "'rtne' or 'rtz'");
    Value *r = bitcast ? bitcast_value(l, v, elem, a->span) : cast_value(l, v, elem, rtz, a->span);
    return obj_value(r);
}

/* ---- other shapes ---- */

Obj bi_broadcast(Lower *l, const Args *a, int64_t data) {
    (void)data;
    Value *x = arg_value(l, a, 0), *y = arg_value(l, a, 1);
    if (!x || !y || !broadcast_pair(l, &x, &y, a->span)) return poison();
    Obj both[] = {obj_value(x), obj_value(y)};
    return obj_tuple(l, both, 2);
}

Obj bi_broadcast_to(Lower *l, const Args *a, int64_t data) {
    (void)data;
    Value *v = arg_value(l, a, 0);
    Type t;
    if (!v || !arg_shape(l, a, 1, type_element(v->type), &t)) return poison();
    if (v->type.rank && v->type.rank != t.rank)
        return fail(l, E_BROADCAST, a->span,
                    "tl.broadcast_to: %s and %s have different numbers of dimensions",
                    user(l, v->type), user(l, t));
    return obj_value(broadcast_value(l, v, t, a->span));
}

/* The i-th axis lies outside the result, or another one names the same dimension. */
static Obj bad_axis(Lower *l, const Args *a, const Dims *axes, int i, Type t) {
    int rank = t.rank + axes->n;
    const char *fn = builtin_text(l, a->row);
    if (axes->at[i] < -rank || axes->at[i] >= rank)
        return fail(l, E_AXIS, a->where[1], "%s: invalid axis %lld for %s, expected %d to %d", fn,
                    (long long)axes->at[i], user(l, t), -rank, rank - 1);
    Buf b = buf_new(&l->s->arena);
    for (int k = 0; k < axes->n; k++)
        buf_printf(&b, "%s%lld", k ? ", " : "",
                   (long long)(axes->at[k] < 0 ? axes->at[k] + rank : axes->at[k]));
    return fail(l, E_AXIS, a->where[1], "%s: duplicate axes, normalized axes = [%s]", fn, b.data);
}

Obj bi_expand_dims(Lower *l, const Args *a, int64_t data) {
    (void)data;
    Value *v = arg_value(l, a, 0);
    Dims axes;
    if (!v || !arg_dims(l, a, 1, &axes)) return poison();
    int rank = v->type.rank + axes.n;
    uint32_t is_new = 0;
    if (rank > TILE_MAX_RANK)
        return fail(l, E_RANK_LIMIT, a->span, "a tile has at most %d dimensions", TILE_MAX_RANK);
    for (int i = 0; i < axes.n; i++) {
        int64_t at = axes.at[i] < 0 ? axes.at[i] + rank : axes.at[i];
        if (at < 0 || at >= rank || is_new >> at & 1) return bad_axis(l, a, &axes, i, v->type);
        is_new |= 1u << at;
    }
    Obj index[TILE_MAX_RANK], none[3] = {obj_none(), obj_none(), obj_none()};
    Obj keep = obj_tuple(l, none, 3);
    keep.kind = OBJ_SLICE;
    for (int i = 0; i < rank; i++) index[i] = is_new >> i & 1 ? obj_none() : keep;
    return index_value(l, v, obj_tuple(l, index, rank), a->span);
}

Obj bi_squeeze(Lower *l, const Args *a, int64_t data) {
    (void)data;
    Value *v = arg_value(l, a, 0);
    int axis;
    if (!v || !arg_axis(l, a, 1, v->type, &axis)) return poison();
    if (v->type.log2[axis])
        return fail(l, E_RESHAPE, a->where[1], "tl.squeeze: dimension %d of %s is not 1", axis,
                    user(l, v->type));
    return obj_value(ir_given(&l->b, OP_RESHAPE, v, type_without_dim(v->type, axis)));
}

static Value *reshaped(Lower *l, Value *v, Type t) {
    if (type_equal(v->type, t)) return v;
    return ir_given(&l->b, v->type.rank ? OP_RESHAPE : OP_SPLAT, v, t);
}

Obj bi_reshape(Lower *l, const Args *a, int64_t data) {
    (void)data;
    Value *v = arg_value(l, a, 0);
    Type t;
    if (!v || !arg_shape(l, a, 1, type_element(v->type), &t)) return poison();
    if (type_log2_numel(t) != type_log2_numel(v->type))
        return fail(l, E_RESHAPE, a->span, "%s: %s has %lld elements, %s has %lld",
                    builtin_text(l, a->row), user(l, v->type), (long long)type_numel(v->type),
                    user(l, t), (long long)type_numel(t));
    return obj_value(t.rank ? reshaped(l, v, t) : only_element(l, v, a->span));
}

Obj bi_ravel(Lower *l, const Args *a, int64_t data) {
    (void)data;
    Value *v = arg_value(l, a, 0);
    if (!v) return poison();
    int64_t n = type_numel(v->type);
    return obj_value(reshaped(l, v, type_with_shape(v->type, type_tile(EL_I1, 1, &n))));
}

/* tl.trans without dimensions swaps the last two; data is 1 for tl.permute, which needs them. */
Obj bi_trans(Lower *l, const Args *a, int64_t data) {
    Value *v = arg_value(l, a, 0);
    Dims dims;
    if (!v || !arg_dims(l, a, 1, &dims)) return poison();
    int rank = v->type.rank, order[TILE_MAX_RANK];
    if (!dims.n && !data) {
        if (rank < 2)
            return fail(l, E_AXIS, a->span, "tl.trans: %s has no two dimensions to swap",
                        user(l, v->type));
        for (int i = 0; i < rank; i++)
            vec_push(&l->s->arena, &dims, i < rank - 2 ? i : i == rank - 1 ? rank - 2 : rank - 1);
    }
    uint32_t seen = 0;
    bool fits = dims.n == rank;
    for (int i = 0; fits && i < rank; i++) {
        int64_t d = dims.at[i] < 0 ? dims.at[i] + rank : dims.at[i];
        fits = d >= 0 && d < rank && !(seen >> d & 1);
        if (fits) seen |= 1u << d;
        order[i] = (int)d;
    }
    if (!fits)
        return fail(l, E_AXIS, a->where[1], "%s: the order must name each dimension of %s once",
                    builtin_text(l, a->row), user(l, v->type));
    if (!rank) return obj_value(v);
    Type t = v->type;
    for (int i = 0; i < rank; i++) t.log2[i] = v->type.log2[order[i]];
    Value *r = ir_given(&l->b, OP_TRANS, v, t);
    ir_set_dims(l->s, r->def, AT_ORDER, order, rank);
    return obj_value(r);
}
