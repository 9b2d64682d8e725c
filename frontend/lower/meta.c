/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* meta.c: builtins about values known while compiling: ranges, Python's functions,
 * assertions, questions to a dtype. */
#include "frontend/lower/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- numbers ---- */

Obj bi_constexpr(Lower *l, const Args *a, int64_t data) {
    (void)data;
    Obj o = a->at[0];
    o.constant = true;
    return obj_is_const(o) ? o : arg_error(l, a, 0, "a compile-time value");
}

/* Where it is no decorator: the function with one. Those of Triton's that kernels may call need
 * none. */
Obj bi_constexpr_function(Lower *l, const Args *a, int64_t data) {
    (void)data;
    Obj fn = a->at[0];
    if (fn.kind == OBJ_BUILTIN) return fn;
    if (fn.kind != OBJ_FUNC) return arg_error(l, a, 0, "a function");
    AstFunc *copy = arena_copy(&l->s->arena, fn.func, sizeof *fn.func);
    Expr name = {.kind = EXPR_NAME, .span = a->span, .name = "constexpr_function"};
    copy->decorator = arena_array(&l->s->arena, (size_t)copy->ndecorators + 1, sizeof(Expr *));
    copy->decorator[0] = arena_copy(&l->s->arena, &name, sizeof name);
    for (int i = 0; i < copy->ndecorators; i++) copy->decorator[i + 1] = fn.func->decorator[i];
    copy->ndecorators++;
    fn.func = copy;
    return fn;
}

Obj bi_cdiv(Lower *l, const Args *a, int64_t data) {
    (void)data;
    Obj x = a->at[0], div = a->at[1];
    if (obj_is_number(x) && obj_is_number(div)) { /* exact, also for negative numbers */
        Obj q = const_binary(l, OPR_FLOORDIV, const_unary(l, OPR_NEG, x, a->span), div, a->span);
        return obj_is_poison(q) ? q : const_unary(l, OPR_NEG, q, a->span);
    }
    Obj up = binary(l, OPR_SUB, binary(l, OPR_ADD, x, div, a->span), obj_int(1), a->span);
    return binary(l, OPR_FLOORDIV, up, div, a->span);
}

Obj bi_next_power_of_2(Lower *l, const Args *a, int64_t data) {
    (void)data;
    int64_t n, p = 1;
    if (!arg_int(l, a, 0, &n)) return poison();
    if (n > (int64_t)1 << 62)
        return fail(l, E_NUMBER_RANGE, a->span, "the result does not fit 64 bits");
    while (p < n) p *= 2;
    return obj_int(p);
}

Obj bi_log2_of(Lower *l, const Args *a, int64_t data) {
    (void)data;
    int64_t n, log2 = 0;
    if (!arg_int(l, a, 0, &n)) return poison();
    for (; n > 1; n >>= 1) log2++;
    return obj_int(log2);
}

Obj bi_is_power_of_two(Lower *l, const Args *a, int64_t data) {
    (void)data;
    int64_t n;
    return arg_int(l, a, 0, &n) ? obj_bool(n > 0 && !(n & (n - 1))) : poison();
}

/* Constants are not wrapped here. */
Obj bi_unwrap(Lower *l, const Args *a, int64_t data) {
    (void)l, (void)data;
    return a->at[0];
}

Obj bi_len(Lower *l, const Args *a, int64_t data) {
    (void)data;
    Obj o = a->at[0];
    if (o.kind == OBJ_TUPLE || o.kind == OBJ_SET) return obj_int(o.seq.n);
    if (o.kind == OBJ_DICT) return obj_int(o.seq.n / 2);
    if (o.kind == OBJ_STRING) return obj_int((int64_t)o.text.n);
    return arg_error(l, a, 0, "a tuple or a string");
}

/* Of NaN and -0.0 Python's min and max give what comes first; a kernel's would not. */
static bool has_order(Lower *l, const Args *a, Obj all) {
    for (int i = 0; i < all.seq.n; i++) {
        Obj o = all.seq.at[i];
        if (o.kind != OBJ_FLOAT || (!isnan(o.f) && (o.f != 0 || !signbit(o.f)))) continue;
        fail(l, E_ARITHMETIC, a->span, "constexpr %s does not support %s", a->row->name,
             isnan(o.f) ? "NaN values" : "negative zero");
        return false;
    }
    return true;
}

/* min and max: of numbers a number, else tl.minimum and tl.maximum. data: the comparison that makes
 * a later argument the better one. */
Obj bi_python_minmax(Lower *l, const Args *a, int64_t data) {
    Obj all = a->at[0];
    if (all.seq.n == 1 && all.seq.at[0].kind == OBJ_TUPLE) all = all.seq.at[0];
    if (all.seq.n == 1 && !l->b.f) all = unordered_elements(l, all.seq.at[0], a->span);
    if (obj_is_poison(all)) return all;
    if (!all.seq.n) return fail(l, E_ARGUMENT_MISSING, a->span, "%s needs arguments", a->row->name);
    if (l->b.f && obj_is_const(all) && !has_order(l, a, all)) return poison();
    Obj best = all.seq.at[0];
    Obj fn = {.kind = OBJ_BUILTIN};
    fn.builtin.row = find_builtin('L', data == OPR_LT ? "minimum" : "maximum");
    for (int i = 1; i < all.seq.n && !obj_is_poison(best); i++) {
        Obj pair[] = {best, all.seq.at[i]};
        if (pair[0].kind == OBJ_VALUE || pair[1].kind == OBJ_VALUE) {
            best = call_object(l, fn, pair, 2, a->span);
            continue;
        }
        Obj better = const_compare(l, (Operator)data, pair[1], pair[0], a->span);
        best = obj_is_poison(better) || !obj_truth(better) ? best : pair[1];
        if (obj_is_poison(better)) best = better;
    }
    return best;
}

static Obj parse_number(Lower *l, const Args *a, ObjKind kind) {
    const char *text = a->at[0].text.at;
    char *end;
    Obj o = kind == OBJ_INT ? obj_int(strtoll(text, &end, 10)) : obj_float(strtod(text, &end));
    if (end != text && !*end) return o;
    return arg_error(l, a, 0, kind == OBJ_INT ? "the text of an integer" : "the text of a number");
}

Obj bi_number(Lower *l, const Args *a, int64_t data) {
    Obj o = a->at[0];
    ObjKind kind = (ObjKind)data;
    if (!obj_is_const(o)) {
        arg_error(l, a, 0, "a compile-time value");
        note(l, (Span){0}, "to convert a tensor, use .to(tl.float32) or another dtype");
        return poison();
    }
    if (kind == OBJ_STRING) return obj_string(l, obj_text(l, o));
    if (kind == OBJ_BOOL) return obj_bool(obj_truth(o));
    if (o.kind == OBJ_STRING) return parse_number(l, a, kind);
    if (!obj_is_number(o)) return arg_error(l, a, 0, "a number");
    if (kind == OBJ_FLOAT) return obj_float(obj_double(o));
    if (o.kind != OBJ_FLOAT) {
        o.kind = OBJ_INT;
        return o;
    }
    if (!(fabs(o.f) < 9.2e18))
        return fail(l, E_NUMBER_RANGE, a->span, "%s does not fit 64 bits", obj_text(l, o));
    return obj_int((int64_t)o.f);
}

Obj bi_tuple(Lower *l, const Args *a, int64_t data) {
    (void)data;
    if (!l->b.f) return host_elements(l, a->at[0], a->span);
    return a->at[0].kind == OBJ_TUPLE ? a->at[0] : arg_error(l, a, 0, "a tuple");
}

/* ---- ranges: data 0 range, 1 tl.range, 2 tl.static_range ---- */

/* Triton passes over what a kernel gives Python's range by name. */
static bool takes_no_options(Lower *l, const Args *a, Obj options) {
    if (!options.seq.n) return true;
    const char *name = options.seq.at[0].text.at;
    if (l->b.f)
        has_no_effect(l, a->where[3],
                      arena_printf(&l->s->arena,
                                   "'%s' has no effect: range takes no options, tl.range does",
                                   name));
    else
        fail(l, E_UNKNOWN_PARAMETER, a->where[3], "range has no parameter '%s'", name);
    return l->b.f;
}

Obj bi_range(Lower *l, const Args *a, int64_t data) {
    Range *r = arena_alloc(&l->s->arena, sizeof *r);
    if (data == 0 && !takes_no_options(l, a, a->at[3])) return poison();
    bool one = a->at[1].kind == OBJ_NONE;
    r->start = one ? obj_int(0) : a->at[0];
    r->stop = one ? a->at[0] : a->at[1];
    r->step = a->at[2].kind == OBJ_NONE ? obj_int(1) : a->at[2];
    r->is_static = data == 2;
    r->num_stages = -1;
    if (data == 1 && a->at[3].kind != OBJ_NONE) {
        int64_t n;
        if (!arg_int(l, a, 3, &n)) return poison();
        if (n < 0 || n > STAGES_LIMIT) return arg_error(l, a, 3, "between 0 and 16");
        r->num_stages = (int)n;
    }
    if (data == 1 && !arg_bool(l, a, 7, &r->warp_specialize)) return poison();
    Obj o = {.kind = OBJ_RANGE};
    o.range = r;
    return o;
}

/* tl.condition(c): the condition of a `while`, with options for Triton's optimizer. */
Obj bi_condition(Lower *l, const Args *a, int64_t data) {
    (void)l, (void)data;
    return a->at[0];
}

/* ---- said while compiling ---- */

Obj bi_static_assert(Lower *l, const Args *a, int64_t data) {
    (void)data;
    bool holds;
    if (!arg_bool(l, a, 0, &holds)) return poison();
    if (holds) return obj_none();
    const char *text = obj_text(l, a->at[1]);
    return fail(l, E_ASSERTION, a->span, "static assertion failed%s%s", *text ? ": " : "", text);
}

Obj bi_static_print(Lower *l, const Args *a, int64_t data) {
    (void)data;
    Buf b = buf_new(&l->s->arena);
    for (int i = 0; i < a->at[0].seq.n; i++) {
        if (i) buf_puts(&b, obj_text(l, a->at[1]));
        buf_puts(&b, obj_text(l, a->at[0].seq.at[i]));
    }
    flush_call_notes(l);
    diag(&l->s->diags, N_PRINT, a->span, "%s", b.data);
    return obj_none();
}

/* ---- dtypes ---- */

Obj bi_dtype_elem(Lower *l, const Args *a, int64_t data) {
    (void)l;
    const Type *t = a->at[0].type;
    return obj_bool(!t->depth && t->elem == data);
}

Obj bi_dtype_is(Lower *l, const Args *a, int64_t data) {
    (void)l;
    Type t = *a->at[0].type;
    bool fp8 = !t.depth && elem_is_fp8((Elem)t.elem);
    switch (data) {
    case 'p': return obj_bool(t.depth > 0);
    case 't': return obj_bool(t.rank > 0);
    case 'c': return obj_bool(t.depth > 0 && t.constant);
    case 'b': return obj_bool(type_is_bool(t));
    case 'i': return obj_bool(type_is_int(t));
    case 's': return obj_bool(type_is_signed(t));
    case 'u': return obj_bool(type_is_int(t) && !type_is_signed(t));
    case 'f': return obj_bool(type_is_float(t));
    case 'n': return obj_bool(type_is_float(t) && !fp8);
    default: return obj_bool(fp8);
    }
}
