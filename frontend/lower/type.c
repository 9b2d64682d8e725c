/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* type.c: the types of objects that are no tensors (constexpr_type, tuple_type), and what a dtype
 * answers.
 *
 * The type of a constant is the constant once more: two are equal if their values are. */
#include "frontend/lower/internal.h"

#include <string.h>

static Obj constexpr_type(Lower *l, Obj value) {
    Obj o = {.kind = OBJ_CONSTEXPR_TYPE};
    o.of = arena_copy(&l->s->arena, &value, sizeof value);
    return o;
}

bool has_type(Obj o) {
    switch (o.kind) {
    case OBJ_POISON:
    case OBJ_MODULE:
    case OBJ_FOREIGN:
    case OBJ_ARGS:
    case OBJ_UNKNOWN: return false;
    default: return !obj_is_descriptor(o);
    }
}

Obj type_object(Lower *l, Obj o) {
    if (o.kind == OBJ_VALUE) return obj_dtype(l, o.value->type);
    if (o.kind != OBJ_TUPLE) return constexpr_type(l, o);
    Obj t = obj_tuple(l, o.seq.at, o.seq.n);
    t.kind = OBJ_TUPLE_TYPE;
    for (int i = 0; i < t.seq.n; i++)
        t.seq.at[i] = has_type(o.seq.at[i]) ? type_object(l, o.seq.at[i]) : o.seq.at[i];
    return t;
}

Obj bi_constexpr_type(Lower *l, const Args *a, int64_t data) {
    (void)data;
    if (!obj_is_const(a->at[0])) return arg_error(l, a, 0, "a compile-time value");
    return constexpr_type(l, a->at[0]);
}

Obj bi_tuple_type(Lower *l, const Args *a, int64_t data) {
    (void)data;
    Obj types = a->at[0];
    bool ok = types.kind == OBJ_TUPLE;
    for (int i = 0; ok && i < types.seq.n; i++) {
        ObjKind k = types.seq.at[i].kind;
        ok = k == OBJ_DTYPE || k == OBJ_CONSTEXPR_TYPE || k == OBJ_TUPLE_TYPE;
    }
    if (!ok) return arg_error(l, a, 0, "a tuple of types");
    types.kind = OBJ_TUPLE_TYPE;
    return types;
}

/* ---- dtypes ---- */

static const struct {
    const char *name;
    int mantissa, bias;
} float_format[] = {{"fp8e4b15", 3, 15}, {"fp8e4nv", 3, 7},   {"fp8e4b8", 3, 8},
                    {"fp8e5", 2, 15},    {"fp8e5b16", 2, 16}, {"fp16", 10, 15},
                    {"bf16", 7, 127},    {"fp32", 23, 127},   {"fp64", 52, 1023}};

bool float_format_of(Type t, const char *name, Obj *out) {
    bool mantissa = strcmp(name, "fp_mantissa_width") == 0;
    if (t.depth || t.rank || (!mantissa && strcmp(name, "exponent_bias") != 0)) return false;
    for (size_t i = 0; i < sizeof float_format / sizeof *float_format; i++)
        if (strcmp(float_format[i].name, elem_info[t.elem].triton) == 0) {
            *out = obj_int(mantissa ? float_format[i].mantissa : float_format[i].bias);
            return true;
        }
    return false;
}

Obj bi_dtype_kind(Lower *l, const Args *a, int64_t data) {
    (void)data;
    Type t = *a->at[0].type;
    if (t.depth || t.rank)
        return fail(l, E_ARGUMENT_KIND, a->name_span, "%s has no kind", obj_what(l, a->at[0]));
    return obj_int(type_is_float(t) ? 2 : !type_is_bool(t));
}

Obj bi_dtype_codegen_name(Lower *l, const Args *a, int64_t data) {
    (void)data;
    const char *name = type_user_text(&l->s->arena, *a->at[0].type);
    bool brain = strncmp(name, "bf", 2) == 0;
    if (!brain && strncmp(name, "fp", 2) != 0) return obj_string(l, name);
    return obj_string(l, arena_printf(&l->s->arena, "%s%s", brain ? "bfloat" : "float", name + 2));
}

Obj bi_dtype_shapes(Lower *l, const Args *a, int64_t data) {
    (void)data;
    Type t = *a->at[0].type;
    return t.rank ? shape_tuple(l, t)
                  : fail(l, E_NO_ATTRIBUTE, a->name_span, "%s is a scalar's and has no shape",
                         obj_what(l, a->at[0]));
}

Obj bi_dtype_with_element(Lower *l, const Args *a, int64_t data) {
    (void)data;
    if (a->at[1].kind != OBJ_DTYPE || a->at[1].type->rank) return arg_error(l, a, 1, "a dtype");
    return obj_dtype(l, type_with_shape(*a->at[1].type, *a->at[0].type));
}

/* data: 1 the largest value, 0 the smallest */
Obj bi_dtype_limit(Lower *l, const Args *a, int64_t data) {
    Type t = *a->at[0].type;
    if (t.depth || t.rank || !type_is_int(t))
        return fail(l, E_ARGUMENT_KIND, a->name_span, "%s is no integer type",
                    obj_what(l, a->at[0]));
    int bits = type_elem_bits(t);
    bool is_signed = type_is_signed(t);
    uint64_t most = UINT64_MAX >> (64 - bits + is_signed);
    Obj o = obj_int((int64_t)(data ? most : is_signed ? ~most : 0));
    o.big = data && most > INT64_MAX;
    return o;
}
