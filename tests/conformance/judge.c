/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* judge.c: whether a result agrees with its row: two arrays of elements to yes or no.
 *
 * Convention: bit for bit, but for NaN, which equals NaN. Approximations are measured against a
 * reference in long double instead, in units of the last place of the result; Triton's own value
 * has to pass the same measure, which is what shows that the reference is right.
 * The hard part is what the language leaves open, and so is not compared: floats converted to
 * integers or to fp8 that do not hold them, integer division by 0 and of the least number by -1,
 * and remainders in fp64 of quotients so large that the steps in between round. */
#include "tests/conformance/rows.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef long double Reference(long double x, long double y);

static long double ref_div(long double x, long double y) {
    return x / y;
}
static long double ref_half(long double x, long double y) {
    (void)y;
    return x / 2;
}
static long double ref_quarter(long double x, long double y) {
    (void)y;
    return x / 4;
}
static long double ref_two_over_three(long double x, long double y) {
    (void)y;
    return 2 / (x * 0 + 3);
}
static long double ref_sigmoid(long double x, long double y) {
    (void)y;
    return 1 / (1 + expl(-x));
}
static long double ref_rsqrt(long double x, long double y) {
    (void)y;
    return 1 / sqrtl(x);
}
static long double ref_cast(long double x, long double y) {
    (void)y;
    return x;
}
static long double ref_clamp(long double x, long double y) {
    (void)y;
    return x < -1 ? -1 : x > 1 ? 1 : x;
}
#define REF_LIBM(name)                                                                             \
    static long double ref_##name(long double x, long double y) {                                  \
        (void)y;                                                                                   \
        return name##l(x);                                                                         \
    }
REF_LIBM(exp)
REF_LIBM(exp2)
REF_LIBM(log)
REF_LIBM(log2)
REF_LIBM(sin)
REF_LIBM(cos)
REF_LIBM(sqrt)
REF_LIBM(erf)

/* Approximations: how many units in the last place they may be off in a result of fp32 (or
 * smaller) and of fp64; `spread` more for each unit of |x|, where an error of the argument is
 * multiplied. Functions of fp32 that PTX approximates may take subnormals for 0. */
static const struct Approximation {
    const char *expr;
    Reference *ref;
    double units, units64, spread;
} approximations[] = {
    {"x / y", ref_div, 2, 0.5, 0},
    {"x / 2", ref_half, 2, 0.5, 0},
    {"x / 4.0", ref_quarter, 2, 0.5, 0},
    {"2 / (x * 0 + 3)", ref_two_over_three, 2, 0.5, 0},
    {"tl.fdiv(x, y)", ref_div, 2, 0.5, 0},
    {"tl.exp(x)", ref_exp, 2, 2, 1},
    {"tl.exp2(x)", ref_exp2, 2, 2, 0},
    {"tl.log(x)", ref_log, 2, 2, 0},
    {"tl.log2(x)", ref_log2, 2, 2, 0},
    {"tl.sin(x)", ref_sin, 2, 2, 0},
    {"tl.cos(x)", ref_cos, 2, 2, 0},
    {"tl.sqrt(x)", ref_sqrt, 2, 0.5, 0},
    {"tl.rsqrt(x)", ref_rsqrt, 2, 2, 0},
    {"tl.erf(x)", ref_erf, 3, 2, 0},
    {"tl.sigmoid(x)", ref_sigmoid, 4, 4, 1},
    /* Exact: for what Triton breaks down on, there is nothing else to compare with. */
    {"x.to(tl.float8e4nv)", ref_cast, 0, 0, 0},
    {"x.to(tl.float8e5)", ref_cast, 0, 0, 0},
    {"tl.clamp(x, -1.0, 1.0)", ref_clamp, 0, 0, 0},
};
enum { NAPPROXIMATIONS = sizeof approximations / sizeof *approximations };

static const struct Approximation *approximation_of(const Row *r) {
    for (int i = 0; i < NAPPROXIMATIONS; i++)
        if (strcmp(approximations[i].expr, r->expr) == 0) return &approximations[i];
    return NULL;
}

/* ---- operands ---- */

static bool is_integer(tile_type t) {
    return !type_is_float(t);
}

/* Element i as the operator sees it: an integer operand of a float result is first rounded. */
static long double operand(tile_type t, const unsigned char *data, size_t i, tile_type result) {
    if (type_is_float(t)) return value_get(t, data, i);
    uint64_t bits = bits_get(t, data, i);
    long double v = type_is_signed(t) ? (long double)(int64_t)bits : (long double)bits;
    if (result == TILE_FP32) return (float)v;
    return type_is_float(result) ? (long double)(double)v : v;
}

static bool same_bits(tile_type t, const void *a, const void *b, size_t i) {
    size_t size = type_size(t);
    return memcmp((const char *)a + i * size, (const char *)b + i * size, size) == 0;
}

/* ---- what the language leaves open ---- */

static bool fits(tile_type t, double v) {
    int bits = t == TILE_I1 ? 1 : 8 * (int)type_size(t);
    double whole = trunc(v);
    if (t == TILE_I1) return true; /* compared with 0 */
    if (type_is_signed(t)) return whole >= -ldexp(1, bits - 1) && whole < ldexp(1, bits - 1);
    return whole >= 0 && whole < ldexp(1, bits);
}

/* Integer division: x and y as the result's type has them. */
static bool division_is_open(const Rows *rows, const Row *r, size_t i) {
    int bits = r->result == TILE_I1 ? 1 : 8 * (int)type_size(r->result);
    uint64_t mask = UINT64_MAX >> (64 - bits), least = (uint64_t)1 << (bits - 1);
    uint64_t x = bits_get(r->x, rows->data + r->x_at, i) & mask;
    uint64_t y = bits_get(r->y, rows->data + r->y_at, i) & mask;
    if (strchr(r->expr, '3')) return false; /* by 3 */
    return y == 0 || (type_is_signed(r->result) && x == least && y == mask);
}

/* The remainder of floats is x - trunc(x / y) * y, and the quotient may be two units of its last
 * place off: next to a whole number it may be another one, and beyond 2^precision anything. */
static bool quotient_is_open(const Rows *rows, const Row *r, size_t i) {
    long double x = operand(r->x, rows->data + r->x_at, i, r->result);
    long double y = operand(r->y, rows->data + r->y_at, i, r->result);
    int precision = r->result == TILE_FP64 ? 53 : 24;
    long double q = fabsl(x / (strchr(r->expr, '3') ? 3 : y));
    if (isnan(q) || isinf(q)) return false;
    long double away = fabsl(q - roundl(q));
    return q >= ldexpl(1, precision) || (away != 0 && away <= ldexpl(q, 2 - precision));
}

bool row_leaves_open(const Rows *rows, const Row *r, size_t i) {
    double x = value_get(r->x, rows->data + r->x_at, i);
    bool divides = strstr(r->expr, "//") || strchr(r->expr, '%');
    bool is_fp8 = r->result == TILE_FP8E4NV || r->result == TILE_FP8E5;
    if (strcmp(r->kind, "cast") == 0 && type_is_float(r->x) && is_integer(r->result))
        return !fits(r->result, x);
    if (strcmp(r->kind, "cast") == 0 && is_fp8) return isinf(value_round(r->result, x));
    if (divides && is_integer(r->result)) return division_is_open(rows, r, i);
    if (strchr(r->expr, '%')) return quotient_is_open(rows, r, i);
    return false;
}

/* ---- approximations ---- */

/* Nearly `want`, in units of the last place that `want` would have in the type. */
static bool is_near(const struct Approximation *a, tile_type t, long double x, long double got,
                    long double want) {
    if (isnan(want)) return isnan(got);
    int precision = 53, least = -1074;
    double units = t == TILE_FP64 ? a->units64 : a->units;
    double most = 0x1.FFFFFFFFFFFFFp1023, smallest = t == TILE_FP64 || units == 0 ? 0 : 0x1p-126;
    if (t == TILE_FP32) precision = 24, least = -149, most = 0x1.FFFFFEp127;
    if (t == TILE_FP16) precision = 11, least = -24, most = 65504;
    if (t == TILE_BF16) precision = 8, least = -133, most = 0x1.FEp127;
    if (t == TILE_FP8E4NV) precision = 4, least = -9, most = 448;
    if (t == TILE_FP8E5) precision = 3, least = -16, most = 57344;
    if (isinf(got) && fabsl(want) > most) return signbit(got) == signbit(want);
    if (isinf(want) || isinf(got) || got == want) return got == want;
    int exponent;
    frexpl(want, &exponent);
    int step = exponent - precision < least ? least : exponent - precision;
    if (a->spread > 0 && isfinite(x)) units += a->spread * (double)fabsl(x);
    if (units == 0) units = 0.5; /* exact: correctly rounded */
    return fabsl(got - want) <= units * ldexpl(1, step) + smallest;
}

/* ---- the verdict ---- */

/* Answers of equal right where Triton's is an accident of its instructions. */
static bool is_as_good(const Rows *rows, const Row *r, size_t i, double value) {
    double x = value_get(r->x, rows->data + r->x_at, i);
    bool is_cast = strcmp(r->kind, "cast") == 0;
    /* clamp makes a limit of a NaN; which one, the NaN's sign says in some of Triton's ways. */
    if (strncmp(r->expr, "tl.clamp", 8) == 0 && isnan(x))
        return fabs(value) == (strstr(r->expr, "1.0") ? 1 : 2);
    /* Bytes are packed in fours, and one that the conversion leaves open spills into the next. */
    for (size_t k = i & ~(size_t)3; is_cast && type_size(r->result) == 1 && k <= i; k++)
        if (row_leaves_open(rows, r, k)) return value == trunc(x);
    /* e5m2 to bf16 is a shift there, which makes numbers of infinity and NaN. */
    if (is_cast && r->x == TILE_FP8E5 && r->result == TILE_BF16)
        return isnan(x) ? isnan(value) : value == x;
    return false;
}

bool row_agrees(const Rows *rows, const Row *r, const void *got, char *text, size_t size) {
    const struct Approximation *a = approximation_of(r);
    const unsigned char *x = rows->data + r->x_at, *y = rows->data + r->y_at;
    const unsigned char *triton = r->expect == EXPECT_VALUES ? rows->data + r->out_at : NULL;
    /* What is exact is compared with Triton; where it breaks down, with the reference. */
    bool measured = a && type_is_float(r->result) && (a->units > 0 || !triton);
    if (!measured && !triton) return true;
    for (size_t i = 0; i < r->n; i++) {
        if (row_leaves_open(rows, r, i)) continue;
        if (!measured && same_bits(r->result, got, triton, i)) continue;
        long double vx = operand(r->x, x, i, r->result), vy = operand(r->y, y, i, r->result);
        double value = value_get(r->result, got, i);
        double theirs = triton ? value_get(r->result, triton, i) : NAN;
        long double want = measured ? a->ref(vx, vy) : theirs;
        bool near = measured && is_near(a, r->result, vx, value, want);
        if (near && triton && !is_near(a, r->result, vx, theirs, want)) {
            snprintf(text, size,
                     "element %zu, x = %.9Lg, y = %.9Lg: the reference, %.17Lg, "
                     "is not near Triton's %.17g",
                     i, vx, vy, want, theirs);
            return false;
        }
        if (near || (!measured && type_is_float(r->result) && isnan(value) && isnan(theirs)) ||
            is_as_good(rows, r, i, value))
            continue;
        snprintf(text, size, "element %zu, x = %.9Lg, y = %.9Lg: %.17g, not %.17Lg (Triton: %.17g)",
                 i, vx, vy, value, want, theirs);
        return false;
    }
    return true;
}
