/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* dot_scaled.c: tl.dot_scaled -> a call of the library, which widens both operands and calls
 * tl.dot.
 *
 * No GPU targeted here has an instruction for scaled matrices, so this is what Triton does for such
 * GPUs: each operand is widened, multiplied by its scales in that format, and the products are
 * summed in fp32. What fits what is decided here; the arithmetic is stdlib.tl's. */
#include "frontend/lower/internal.h"

#include <string.h>

static const struct Format {
    const char *name;
    Elem elem, bits; /* what its elements are, and what may hold their bits */
} formats[] = {
    {"e2m1", EL_U8, EL_U8},    {"e4m3", EL_F8E4M3, EL_U8}, {"e5m2", EL_F8E5M2, EL_U8},
    {"bf16", EL_BF16, EL_U16}, {"fp16", EL_F16, EL_U16},
};

/* A side of the product: arguments number i, i + 1 and i + 2, and whether pairs lie along K. */
typedef struct Side {
    int at;
    const char *name;
    Value *x, *scale; /* scale: NULL: there is none */
    const struct Format *format;
    bool k_pack, is_right;
    Type shape; /* once unpacked */
    int64_t factor;
} Side;

enum { ACC = 6, FAST_MATH, LHS_K_PACK, RHS_K_PACK, OUT_DTYPE };

static const char *user(Lower *l, Type t) {
    return type_user_text(&l->s->arena, t);
}

static bool is_packed(const Side *s) {
    return s->format->elem == EL_U8;
}

static int k_dim(const Side *s) {
    return s->is_right ? s->shape.rank - 2 : s->shape.rank - 1;
}

static int free_dim(const Side *s) {
    return s->is_right ? s->shape.rank - 1 : s->shape.rank - 2;
}

/* `-D FORMAT=bf16` is a dtype, which says the same. */
static bool read_format(Lower *l, const Args *a, Side *s) {
    Obj o = a->at[s->at + 2];
    const char *text;
    if (o.kind == OBJ_DTYPE)
        text = obj_text(l, o);
    else if (!arg_text(l, a, s->at + 2, &text))
        return false;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (strcmp(formats[i].name, text) == 0) s->format = &formats[i];
    if (!s->format) arg_error(l, a, s->at + 2, "'e2m1', 'e4m3', 'e5m2', 'bf16' or 'fp16'");
    return s->format;
}

/* The operand as what its format says, and the shape that it stands for. */
static bool read_operand(Lower *l, const Args *a, Side *s) {
    const struct Format *f = s->format;
    Type t = s->x->type;
    if (t.rank != 2 && t.rank != 3)
        fail(l, E_DOT_SHAPE, a->where[s->at],
             "tl.dot_scaled takes tiles of 2 or 3 dimensions, not %s", user(l, t));
    else if (t.depth || (t.elem != f->elem && t.elem != f->bits))
        fail(l, E_DOT_FORMAT, a->where[s->at],
             "tl.dot_scaled: %s in format '%s' must be %s%s%s, not %s", s->name, f->name,
             elem_info[f->elem].triton, f->elem == f->bits ? "" : " or ",
             f->elem == f->bits ? ", two elements to a byte" : elem_info[f->bits].triton,
             user(l, t));
    else if (!s->k_pack && !is_packed(s))
        fail(l, E_DOT_FORMAT, a->span,
             "tl.dot_scaled: only 'e2m1' is packed, so that %s_k_pack=False means nothing for '%s'",
             s->name, f->name);
    else {
        s->shape = t;
        int packed = s->k_pack ? k_dim(s) : free_dim(s);
        if (is_packed(s)) s->shape.log2[packed]++;
        return true;
    }
    return false;
}

static bool read_scale(Lower *l, const Args *a, Side *s) {
    int i = s->at + 1;
    if (a->at[i].kind == OBJ_NONE) return true;
    if (!(s->scale = arg_value(l, a, i))) return false;
    Type t = s->scale->type;
    bool fits = !t.depth && (type_is_float(t) || t.elem == EL_U8 || t.elem == EL_I8);
    if (!fits) {
        arg_error(l, a, i, "made of uint8, which are exponents, or of floats");
        return false;
    }
    int64_t k = type_dim(s->shape, k_dim(s)), n = type_dim(s->shape, free_dim(s));
    bool batch =
        t.rank == s->shape.rank && memcmp(t.log2, s->shape.log2, (size_t)s->shape.rank - 2) == 0;
    if (batch && type_dim(t, t.rank - 2) == n) s->factor = k / type_dim(t, t.rank - 1);
    if (s->factor == 16 || s->factor == 32) return true;
    fail(
        l, E_DOT_SCALE, a->where[i],
        "tl.dot_scaled: %s_scale must have the shape [%s%lld, %lld], or [%s%lld, %lld] for a scale "
        "for each 16, not that of %s",
        s->name, t.rank > 2 ? "…, " : "", (long long)n, (long long)k / 32, t.rank > 2 ? "…, " : "",
        (long long)n, (long long)k / 16, user(l, t));
    if (s->is_right) note(l, (Span){0}, "rhs_scale is not transposed: its rows are rhs's columns");
    return false;
}

static bool read_side(Lower *l, const Args *a, Side *s) {
    return (s->x = arg_value(l, a, s->at)) && read_format(l, a, s) &&
           arg_bool(l, a, s->is_right ? RHS_K_PACK : LHS_K_PACK, &s->k_pack) &&
           read_operand(l, a, s) && read_scale(l, a, s);
}

/* The side as the library takes it: bits as what they are, and the dimension of pairs, or -1. */
static bool give_side(Lower *l, const Side *s, Obj *x, Obj *scale, Obj *packed, Span span) {
    Value *v = s->x;
    if (v->type.elem != s->format->elem)
        v = bitcast_value(l, v, type_scalar(s->format->elem), span);
    *x = obj_value(v);
    *scale = s->scale ? obj_value(s->scale) : obj_none();
    *packed = obj_int(!is_packed(s) ? -1 : s->k_pack ? k_dim(s) : free_dim(s));
    return v != NULL;
}

static bool sides_fit(Lower *l, const Args *a, const Side *x, const Side *y) {
    int64_t kx = x->shape.rank ? type_dim(x->shape, k_dim(x)) : 0;
    int64_t ky = y->shape.rank ? type_dim(y->shape, k_dim(y)) : 0;
    if (x->shape.rank != y->shape.rank)
        fail(l, E_DOT_SHAPE, a->span,
             "tl.dot_scaled: both operands must have 2 or both 3 dimensions, not %s and %s",
             user(l, x->x->type), user(l, y->x->type));
    else if (kx != ky)
        fail(l, E_DOT_SHAPE, a->span,
             "tl.dot_scaled: %s times %s: the inner sizes %lld and %lld differ",
             user(l, x->x->type), user(l, y->x->type), (long long)kx, (long long)ky);
    else if (x->scale && y->scale && x->factor != y->factor)
        fail(l, E_DOT_SCALE, a->span,
             "tl.dot_scaled: a scale is for %lld elements of lhs and for %lld of rhs",
             (long long)x->factor, (long long)y->factor);
    else
        return true;
    return false;
}

Obj bi_dot_scaled(Lower *l, const Args *a, int64_t data) {
    (void)data;
    Side x = {.at = 0, .name = "lhs"}, y = {.at = 3, .name = "rhs", .is_right = true};
    Type out;
    bool fast;
    if (!read_side(l, a, &x) || !read_side(l, a, &y) || !sides_fit(l, a, &x, &y) ||
        !arg_bool(l, a, FAST_MATH, &fast))
        return poison();
    if (a->at[OUT_DTYPE].kind == OBJ_NONE)
        out = type_scalar(EL_F32);
    else if (!arg_type(l, a, OUT_DTYPE, &out))
        return poison();
    if (!type_equal(out, type_scalar(EL_F32)))
        return arg_error(l, a, OUT_DTYPE, "tl.float32; convert the result with .to()");
    bool half = x.format->elem == EL_F16 || y.format->elem == EL_F16;
    Obj give[9] = {[6] = a->at[ACC],
                   [7] = obj_dtype(l, type_scalar(half ? EL_F16 : EL_BF16)),
                   [8] = obj_bool(fast)};
    if (!give_side(l, &x, &give[0], &give[1], &give[2], a->span) ||
        !give_side(l, &y, &give[3], &give[4], &give[5], a->span))
        return poison();
    return library_call(l, "dot_scaled", give, sizeof give / sizeof *give, a->span);
}
