/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* reduce.c: reductions and scans along one dimension.
 *
 * All of them are one operation with a region that combines two scalars; the builtins differ in
 * what they put into the region: an operation, or a jit function inlined there. */
#include "frontend/lower/internal.h"

bool arg_axis(Lower *l, const Args *a, int i, Type t, int *out) {
    int64_t axis;
    if (!arg_int(l, a, i, &axis)) return false;
    int64_t at = axis < 0 ? axis + t.rank : axis;
    if (at < 0 || at >= t.rank) {
        fail(l, E_AXIS, a->where[i], "%s: invalid axis %lld for %s", builtin_text(l, a->row),
             (long long)axis, type_user_text(&l->s->arena, t));
        return false;
    }
    *out = (int)at;
    return true;
}

typedef struct Fold {
    OpCode code;         /* OP_REDUCE or OP_SCAN */
    OpCode with;         /* the operation that combines, unless fn is given */
    const Obj *fn;       /* a jit function of 2n scalars that returns n */
    const char *library; /* or the name of one in the library */
    bool commutes;       /* which gives the same with its operands swapped */
    Value **input;
    int n;
    bool tuple; /* gives a tuple, though of one */
    int axis;
    bool reverse;
    Span span;
} Fold;

/* Fills the region; false after an error. */
static bool combine(Lower *l, const Fold *f, Block *region) {
    VEC(Value *) out = {0};
    l->b.block = region;
    if (!f->fn && !f->library) {
        vec_push(&l->s->arena, &out, ir_binary(&l->b, f->with, region->args[0], region->args[1]));
    } else {
        Obj *args = arena_array(&l->s->arena, (size_t)f->n * 2, sizeof *args);
        for (int i = 0; i < 2 * f->n; i++) args[i] = obj_value(region->args[i]);
        l->unchecked++;
        Obj r = f->fn ? call_object(l, *f->fn, args, 2 * f->n, f->span)
                      : library_call(l, f->library, args, 2 * f->n, f->span);
        l->unchecked--;
        if (obj_is_poison(r)) return false;
        Obj one = obj_tuple(l, &r, 1), all = r.kind == OBJ_TUPLE ? r : one;
        for (int i = 0; i < all.seq.n && i < f->n; i++) {
            Value *v = to_value(l, all.seq.at[i], f->span);
            Type want = region->args[i]->type;
            if (v && !v->type.rank && !v->type.depth && !want.depth)
                v = cast_value(l, v, want, false, f->span);
            if (!v) return false;
            vec_push(&l->s->arena, &out, v);
        }
        bool fits = all.seq.n == f->n;
        for (int i = 0; fits && i < f->n; i++)
            fits = type_equal(out.at[i]->type, region->args[i]->type);
        if (!fits) {
            fail(l, E_COMBINE, f->span, "the combining function gives %s instead of %d scalars",
                 obj_what(l, r), f->n);
            return false;
        }
    }
    ir_op(&l->b, OP_YIELD, out.at, out.n, NULL, 0, 0);
    return true;
}

static Obj fold(Lower *l, const Fold *f) {
    Type *types = arena_array(&l->s->arena, (size_t)f->n, sizeof *types);
    for (int i = 0; i < f->n; i++) {
        types[i] = f->input[i]->type;
        if (f->code == OP_REDUCE) types[i] = type_without_dim(types[i], f->axis);
    }
    Block *outer = l->b.block;
    Op *op = ir_op(&l->b, f->code, f->input, f->n, types, f->n, 1);
    ir_set_attr(l->s, op, AT_AXIS, f->axis);
    if (f->reverse) ir_set_attr(l->s, op, AT_REVERSE, 1);
    if (f->commutes) ir_set_attr(l->s, op, AT_COMMUTES, 1);
    for (int i = 0; i < 2 * f->n; i++)
        ir_block_arg(l->s, l->b.f, op->region[0], type_element(f->input[i % f->n]->type), NULL);
    bool ok = combine(l, f, op->region[0]);
    l->b.block = outer;
    if (!ok) {
        ir_erase(op);
        return poison();
    }
    Obj *results = arena_array(&l->s->arena, (size_t)f->n, sizeof *results);
    for (int i = 0; i < f->n; i++) results[i] = obj_value(op->result[i]);
    return f->n == 1 && !f->tuple ? results[0] : obj_tuple(l, results, f->n);
}

/* A reduction over argument `axis_at` (None: over all elements), dimensions kept as 1 on request.
 */
static Obj reduce(Lower *l, const Args *a, Fold *f, int axis_at, int keep_at) {
    bool keep;
    Type whole = f->input[0]->type;
    bool all = a->at[axis_at].kind == OBJ_NONE;
    if (!arg_bool(l, a, keep_at, &keep)) return poison();
    if (!whole.rank)
        return fail(l, E_NEEDS_TILE, a->span, "%s needs a tile, not %s", builtin_text(l, a->row),
                    type_user_text(&l->s->arena, whole));
    if (!all && !arg_axis(l, a, axis_at, whole, &f->axis)) return poison();
    int64_t numel = type_numel(whole);
    Type flat = type_tile(EL_I1, 1, &numel);
    for (int i = 0; all && whole.rank > 1 && i < f->n; i++)
        f->input[i] =
            ir_given(&l->b, OP_RESHAPE, f->input[i], type_with_shape(f->input[i]->type, flat));
    Obj r = fold(l, f);
    if (!keep || obj_is_poison(r)) return r;
    if (all)
        for (int i = 0; i < whole.rank; i++) whole.log2[i] = 0;
    else
        whole.log2[f->axis] = 0;
    Obj *at = r.kind == OBJ_TUPLE ? r.seq.at : &r;
    for (int i = 0; i < f->n; i++) {
        Value *v = at[i].value;
        at[i] = obj_value(ir_given(&l->b, v->type.rank ? OP_RESHAPE : OP_SPLAT, v,
                                   type_with_shape(v->type, whole)));
    }
    return r;
}

/* Integers below 32 bits are summed in 32. */
static Elem sum_elem(Elem e) {
    if (elem_info[e].class_ == ELEM_F || elem_info[e].bits >= 32) return e;
    return elem_info[e].class_ == ELEM_I ? EL_I32 : EL_U32;
}

static Value *number_tile(Lower *l, const Args *a, int i) {
    Value *v = arg_value(l, a, i);
    if (v && v->type.depth) {
        arg_error(l, a, i, "made of numbers");
        return NULL;
    }
    return v;
}

Obj bi_sum(Lower *l, const Args *a, int64_t data) {
    (void)data;
    Value *x = number_tile(l, a, 0);
    if (!x) return poison();
    Type elem = type_scalar(sum_elem((Elem)x->type.elem));
    if (a->at[3].kind != OBJ_NONE && !arg_type(l, a, 3, &elem)) return poison();
    x = cast_value(l, x, elem, false, a->span);
    if (!x) return poison();
    Fold f = {.code = OP_REDUCE, .with = OP_ADD, .input = &x, .n = 1, .span = a->span};
    return reduce(l, a, &f, 1, 2);
}

/* The indices along the axis, or of the whole tile in row-major order, in the shape of x. */
static Value *index_tile(Lower *l, Type x, bool all, int axis) {
    int64_t n = all ? type_numel(x) : type_size(x, axis);
    Type line = type_tile(EL_I32, 1, &n), shape = x;
    Op *range = ir_op(&l->b, OP_ARANGE, NULL, 0, &line, 1, 0);
    ir_set_attr(l->s, range, AT_START, 0);
    ir_set_attr(l->s, range, AT_END, n);
    for (int d = 0; d < shape.rank; d++)
        if (!all && d != axis) shape.log2[d] = 0;
    Value *v = range->result[0];
    shape = type_with_shape(line, shape);
    if (!type_equal(shape, line)) v = ir_given(&l->b, OP_RESHAPE, v, shape);
    Type whole = type_with_shape(line, x);
    return type_equal(shape, whole) ? v : ir_given(&l->b, OP_BROADCAST, v, whole);
}

static Obj extreme_with_index(Lower *l, const Args *a, OpCode with, Value *x) {
    static const char *const combine_by[2][2] = {{"larger_any", "larger_left"},
                                                 {"smaller_any", "smaller_left"}};
    bool left, all = a->at[1].kind == OBJ_NONE;
    int axis = 0;
    if (!arg_bool(l, a, 3, &left)) return poison();
    if (!x->type.rank)
        return fail(l, E_NEEDS_TILE, a->span, "%s needs a tile, not %s", builtin_text(l, a->row),
                    type_user_text(&l->s->arena, x->type));
    if (!all && !arg_axis(l, a, 1, x->type, &axis)) return poison();
    bool is_bf16 = x->type.elem == EL_BF16; /* compared in fp32, which GPUs can */
    if (is_bf16) x = cast_value(l, x, type_scalar(EL_F32), false, a->span);
    Value *input[] = {x, index_tile(l, x->type, all, axis)};
    Fold f = {.code = OP_REDUCE, .input = input, .n = 2, .span = a->span};
    f.library = combine_by[with == OP_MIN][left];
    f.commutes = left; /* of what is equal, the lower index wins */
    Obj r = reduce(l, a, &f, 1, 4);
    if (!is_bf16 || obj_is_poison(r)) return r;
    differs(l, CHANGE_INDICES, a->span, "%s gives bf16 and gave fp32", builtin_text(l, a->row));
    if (changed(l, CHANGE_INDICES))
        r.seq.at[0] =
            obj_value(cast_value(l, r.seq.at[0].value, type_scalar(EL_BF16), false, a->span));
    return r;
}

Obj bi_extreme(Lower *l, const Args *a, int64_t data) {
    bool indices;
    Value *x = number_tile(l, a, 0);
    if (!x || !arg_bool(l, a, 2, &indices)) return poison();
    if (indices) return extreme_with_index(l, a, (OpCode)data, x);
    /* Small types are compared in 32 bits: what Triton returns has that type, too. */
    Elem e = (Elem)x->type.elem;
    Elem wide = elem_info[e].bits >= 32 ? e : type_is_float(x->type) ? EL_F32 : EL_I32;
    x = cast_value(l, x, type_scalar(wide), false, a->span);
    Fold f = {.code = OP_REDUCE, .with = (OpCode)data, .input = &x, .n = 1, .span = a->span};
    return reduce(l, a, &f, 1, 4);
}

/* The only element of a tile: its sum. */
Value *only_element(Lower *l, Value *x, Span span) {
    int64_t one = 1;
    Type line = type_with_shape(x->type, type_tile(EL_I1, 1, &one));
    if (!x->type.rank) return x;
    if (x->type.rank > 1) x = ir_given(&l->b, OP_RESHAPE, x, line);
    Type elem = type_element(x->type);
    if (elem.depth) x = cast_value(l, x, type_scalar(EL_I64), false, span);
    Fold f = {.code = OP_REDUCE, .with = OP_ADD, .input = &x, .n = 1, .span = span};
    if (type_is_int(elem) || elem.depth) f.with = OP_OR;
    Obj r = fold(l, &f);
    return elem.depth ? cast_value(l, r.value, elem, false, span) : r.value;
}

Obj bi_item(Lower *l, const Args *a, int64_t data) {
    (void)data;
    Value *x = arg_value(l, a, 0);
    if (!x) return poison();
    if (type_log2_numel(x->type))
        return fail(l, E_NEEDS_TILE, a->where[0], "%s needs a tile of one element, not %s",
                    builtin_text(l, a->row), type_user_text(&l->s->arena, x->type));
    return obj_value(only_element(l, x, a->span));
}

Obj bi_bit_reduce(Lower *l, const Args *a, int64_t data) {
    Value *x = number_tile(l, a, 0);
    if (!x) return poison();
    if (!type_is_int(x->type)) return arg_error(l, a, 0, "made of integers");
    Fold f = {.code = OP_REDUCE, .with = (OpCode)data, .input = &x, .n = 1, .span = a->span};
    return reduce(l, a, &f, 1, 2);
}

/* The tiles of a tl.reduce or tl.associative_scan: one, or a tuple of one shape. */
static bool fold_inputs(Lower *l, const Args *a, Fold *f) {
    Obj o = a->at[0], one = obj_tuple(l, &o, 1);
    f->tuple = o.kind == OBJ_TUPLE;
    if (!f->tuple) o = one;
    f->n = o.seq.n;
    f->input = arena_array(&l->s->arena, (size_t)f->n + 1, sizeof *f->input);
    for (int i = 0; i < f->n; i++) {
        f->input[i] = to_value(l, o.seq.at[i], a->where[0]);
        if (!f->input[i]) return false;
        if (!type_same_shape(f->input[i]->type, f->input[0]->type)) {
            arg_error(l, a, 0, "made of tiles of one shape");
            return false;
        }
    }
    if (!f->n || !f->input[0]->type.rank) {
        arg_error(l, a, 0, "a tile or a tuple of tiles");
        return false;
    }
    f->fn = &a->at[2];
    bool callable = f->fn->kind == OBJ_FUNC || f->fn->kind == OBJ_BUILTIN;
    if (!callable) arg_error(l, a, 2, "a jit function");
    return callable;
}

Obj bi_reduce(Lower *l, const Args *a, int64_t data) {
    (void)data;
    Fold f = {.code = OP_REDUCE, .span = a->span};
    return fold_inputs(l, a, &f) ? reduce(l, a, &f, 1, 3) : poison();
}

Obj bi_scan(Lower *l, const Args *a, int64_t data) {
    (void)data;
    Fold f = {.code = OP_SCAN, .span = a->span};
    if (!fold_inputs(l, a, &f) || !arg_axis(l, a, 1, f.input[0]->type, &f.axis) ||
        !arg_bool(l, a, 3, &f.reverse))
        return poison();
    return fold(l, &f);
}

/* What a scan of elements e gives, in the version before Triton 3.9 or since. */
static Elem scan_elem(Elem e, OpCode with, bool now) {
    if (!now && e == EL_BF16) return EL_F32;
    return with == OP_ADD || now ? sum_elem(e) : e;
}

Obj bi_cumulative(Lower *l, const Args *a, int64_t data) {
    Value *x = number_tile(l, a, 0);
    Fold f = {.code = OP_SCAN, .with = (OpCode)data, .input = &x, .n = 1, .span = a->span};
    if (!x || !arg_axis(l, a, 1, x->type, &f.axis) || !arg_bool(l, a, 2, &f.reverse))
        return poison();
    bool asked = a->at[3].kind != OBJ_NONE, is_bf16 = x->type.elem == EL_BF16;
    Change change = is_bf16 ? CHANGE_SCAN_BF16 : CHANGE_CUMPROD;
    Elem e = (Elem)x->type.elem, was = scan_elem(e, f.with, false), is = scan_elem(e, f.with, true);
    Type elem = type_scalar(changed(l, change) ? is : was);
    if (asked && !arg_type(l, a, 3, &elem)) return poison();
    if (!asked && was != is)
        differs(l, change, a->span, "%s gives %s and gave %s", builtin_text(l, a->row),
                elem_info[is].triton, elem_info[was].triton);
    x = cast_value(l, x, elem, false, a->span);
    if (!x) return poison();
    if (type_is_bool(x->type)) f.with = OP_AND; /* the product of bits; sums of them are wider */
    return fold(l, &f);
}
