/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* ask.c: builtins that ask what an object is, or give a type by name. */
#include "frontend/lower/internal.h"

#include <string.h>

/* The name of a class as isinstance takes it: a builtin that makes such objects. */
bool is_instance(Lower *l, Obj o, Obj class, bool *known) {
    *known = true;
    if (class.kind == OBJ_CLASS) return instance_of(l, o, class.class_);
    *known = class.kind == OBJ_MODULE && strcmp(class.path, "torch.Tensor") == 0;
    if (*known) *known = obj_is_const(o);
    if (*known) return obj_is_torch_tensor(o);
    *known = class.kind == OBJ_BUILTIN && !class.builtin.self;
    if (!*known) return false;
    const char *name = class.builtin.row->name;
    if (strcmp(name, "tensor") == 0) return o.kind == OBJ_VALUE;
    if (strcmp(name, "constexpr") == 0) return obj_is_const(o);
    if (strcmp(name, "dtype") == 0) return o.kind == OBJ_DTYPE;
    if (strcmp(name, "constexpr_type") == 0) return o.kind == OBJ_CONSTEXPR_TYPE;
    if (strcmp(name, "tuple_type") == 0) return o.kind == OBJ_TUPLE_TYPE;
    if (strcmp(name, "tuple") == 0) return o.kind == OBJ_TUPLE && !obj_is_descriptor(o);
    if (strcmp(name, "list") == 0) return o.kind == OBJ_TUPLE && !obj_is_descriptor(o);
    if (strcmp(name, "int") == 0) return o.kind == OBJ_INT || o.kind == OBJ_BOOL;
    if (strcmp(name, "bool") == 0) return o.kind == OBJ_BOOL;
    if (strcmp(name, "float") == 0) return o.kind == OBJ_FLOAT;
    if (strcmp(name, "str") == 0) return o.kind == OBJ_STRING;
    if (strcmp(name, "slice") == 0) return o.kind == OBJ_SLICE;
    if (strcmp(name, "block_type") == 0) return o.kind == OBJ_DTYPE && o.type->rank;
    if (strcmp(name, "tensor_descriptor") == 0 || strcmp(name, "tensor_descriptor_base") == 0)
        return obj_is_descriptor(o) && descriptor_is_tensor(o);
    if (strcmp(name, "pointer_type") == 0) return o.kind == OBJ_DTYPE && o.type->depth;
    *known = false;
    return false;
}

Obj bi_isinstance(Lower *l, const Args *a, int64_t data) {
    (void)data;
    Obj classes = a->at[1], one = obj_tuple(l, &classes, 1);
    if (classes.kind != OBJ_TUPLE) classes = one;
    bool is = false, known;
    for (int i = 0; i < classes.seq.n; i++) {
        Obj class = classes.seq.at[i];
        /* Triton hands Python's isinstance what is in the constexpr. */
        bool wrapper = class.kind == OBJ_BUILTIN && class.builtin.row->fn == bi_constexpr;
        if (wrapper) continue;
        is = is_instance(l, a->at[0], class, &known) || is;
        if (!known) return arg_error(l, a, 1, "a class such as tl.tensor, tl.constexpr or int");
    }
    return obj_bool(is);
}

/* The attribute, or poison without a word. */
static Obj try_attribute(Lower *l, const Args *a, const char *name) {
    bool muted = l->s->diags.muted;
    l->s->diags.muted = true;
    Obj o = attribute(l, a->at[0], intern(&l->s->names, name, strlen(name)), a->span);
    l->s->diags.muted = muted;
    return o;
}

Obj bi_hasattr(Lower *l, const Args *a, int64_t data) {
    (void)data;
    if (a->at[1].kind != OBJ_STRING) return arg_error(l, a, 1, "a string");
    Obj o = try_attribute(l, a, a->at[1].text.at), given;
    if (o.kind == OBJ_FOREIGN) return o; /* perhaps */
    if (a->at[0].kind == OBJ_FOREIGN || a->at[0].kind == OBJ_MODULE) {
        const char *path = arena_printf(&l->s->arena, "%s.%s", a->at[0].path, a->at[1].text.at);
        if (given_value(l, path, a->span, &given)) return obj_bool(obj_truth(given));
    }
    return obj_bool(!obj_is_poison(o));
}

Obj bi_getattr(Lower *l, const Args *a, int64_t data) {
    (void)data;
    if (a->at[1].kind != OBJ_STRING) return arg_error(l, a, 1, "a string");
    const char *name = intern(&l->s->names, a->at[1].text.at, a->at[1].text.n);
    if (!a->given[2]) return attribute(l, a->at[0], name, a->span);
    Obj o = try_attribute(l, a, name);
    return obj_is_poison(o) ? a->at[2] : o;
}

/* tl.tensor is a class to ask for, not to call. */
Obj bi_class(Lower *l, const Args *a, int64_t data) {
    (void)data;
    return fail(l, E_HOST_ONLY, a->name_span, "%s cannot be called in a kernel",
                builtin_text(l, a->row));
}

Obj bi_dtype_named(Lower *l, const Args *a, int64_t data) {
    (void)data;
    Type t;
    return arg_type(l, a, 0, &t) ? obj_dtype(l, t) : poison();
}

Obj bi_pointer_type(Lower *l, const Args *a, int64_t data) {
    (void)data;
    Type t;
    if (!arg_type(l, a, 0, &t)) return poison();
    if (t.depth >= POINTER_MAX_DEPTH) return arg_error(l, a, 0, "a pointer of at most 3 levels");
    return obj_dtype(l, type_pointer_to(t));
}

Obj bi_block_type(Lower *l, const Args *a, int64_t data) {
    (void)data;
    Type elem, t;
    if (!arg_type(l, a, 0, &elem) || !arg_shape(l, a, 1, elem, &t)) return poison();
    return obj_dtype(l, t);
}

Obj bi_int_dtype(Lower *l, const Args *a, int64_t data) {
    (void)data;
    int64_t bits;
    bool is_signed;
    if (!arg_int(l, a, 0, &bits) || !arg_bool(l, a, 1, &is_signed)) return poison();
    for (Elem e = 0; e < ELEMS; e++) {
        ElemClass kind = elem_info[e].class_;
        bool fits = bits == 1 ? e == EL_I1 : e != EL_I1 && kind == (is_signed ? ELEM_I : ELEM_U);
        if (fits && elem_info[e].bits == bits) return obj_dtype(l, type_scalar(e));
    }
    return arg_error(l, a, 0, "1, 8, 16, 32 or 64");
}

Obj bi_bitwidth(Lower *l, const Args *a, int64_t data) {
    (void)data;
    Type t;
    return arg_type(l, a, 0, &t) ? obj_int(type_elem_bits(t)) : poison();
}

/* A type as signatures write it: "*fp32", "i32". */
Obj bi_str_to_ty(Lower *l, const Args *a, int64_t data) {
    (void)data;
    Type t;
    if (a->at[0].kind != OBJ_STRING || !parse_type(a->at[0].text.at, a->at[0].text.n, &t))
        return arg_error(l, a, 0, "the text of a type, as \"*fp32\"");
    return obj_dtype(l, t);
}

Obj bi_slice(Lower *l, const Args *a, int64_t data) {
    (void)data;
    bool one = a->given[0] && !a->given[1] && !a->given[2]; /* slice(stop) */
    Obj part[] = {one ? obj_none() : a->at[0], one ? a->at[0] : a->at[1], a->at[2]};
    Obj o = obj_tuple(l, part, 3);
    o.kind = OBJ_SLICE;
    return o;
}

/* ---- the target ---- */

Obj bi_answer(Lower *l, const Args *a, int64_t data) {
    (void)l, (void)a;
    return obj_bool(data);
}

Obj bi_current_target(Lower *l, const Args *a, int64_t data) {
    (void)l, (void)a, (void)data;
    return (Obj){.kind = OBJ_MODULE, .path = "triton.target"};
}

Obj bi_capability_geq(Lower *l, const Args *a, int64_t data) {
    (void)data;
    int64_t major, minor;
    if (!arg_int(l, a, 0, &major) || !arg_int(l, a, 1, &minor)) return poison();
    return obj_bool(major <= l->options->capability / 10 &&
                    (major < l->options->capability / 10 || minor <= l->options->capability % 10));
}
