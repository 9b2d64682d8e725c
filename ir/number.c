/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* number.c: bits of element types to and from C's numbers (see number.h and ir.h).
 *
 * The small float types are rows of one table of formats; rounding is integer arithmetic on
 * the significand, so that it does not depend on the host's rounding mode. The one idea: an
 * exponent field next to its fraction counts on by itself when rounding carries out of the
 * fraction, from the subnormals into the normals and from the normals into infinity. */
#include "ir/number.h"

#include <math.h>
#include <string.h>

#include "ir/number_round.h" /* behind what it uses */

static const Format format_f16 = FORMAT_F16;
static const Format format_bf16 = FORMAT_BF16;
static const Format format_f8e4m3 = FORMAT_F8E4M3;
static const Format format_f8e5m2 = FORMAT_F8E5M2;
static const Format format_f8e4b15 = {4, 3, 15, true, 0x7e, 0x7e, 0x80}; /* no NaN */

static uint32_t bits_of_float(float v) {
    uint32_t u;
    memcpy(&u, &v, sizeof u);
    return u;
}

static float float_of_bits(uint32_t u) {
    float v;
    memcpy(&v, &u, sizeof v);
    return v;
}

static double double_of_bits(uint64_t u) {
    double v;
    memcpy(&v, &u, sizeof v);
    return v;
}

static inline uint32_t round_float(const Format *f, float v, Rounding r) {
    uint32_t u = bits_of_float(v), fraction = u & 0x7fffff;
    uint32_t sign = (u >> 31) << (f->exponent + f->fraction);
    int exponent = (int)(u >> 23 & 0xff);
    if (exponent == 0xff) return fraction ? f->nan : sign | f->inf;
    if (exponent == 0) return sign | round_magnitude(f, fraction, 23, -126, r);
    return sign | round_magnitude(f, fraction | 0x800000, 23, exponent - 127, r);
}

/* fp16, and then fp8e4b15, whose bits are those of an fp16 without its upper exponent bit. */
static inline uint32_t round_e4b15(uint32_t half) {
    uint32_t magnitude = half & 0x7fff, most = format_f8e4b15.max << 7;
    if (magnitude > most) magnitude = most;
    return (half >> 8 & 0x80) | (magnitude + 0x40) >> 7;
}

static inline float widen(const Format *f, uint32_t bits) {
    uint32_t magnitude = bits & ((1u << (f->exponent + f->fraction)) - 1);
    uint32_t sign = (bits >> (f->exponent + f->fraction)) << 31;
    uint32_t exponent = magnitude >> f->fraction, fraction = magnitude & ((1u << f->fraction) - 1);
    bool ieee =
        f->fraction != 3; /* fp8e4nv uses its largest exponent for numbers, except one NaN */
    if (ieee ? exponent == (1u << f->exponent) - 1 : magnitude == f->nan)
        return float_of_bits(sign | 0x7f800000 |
                             (ieee ? fraction << (23 - f->fraction) : 0x400000));
    if (exponent == 0) { /* fraction * 2^(1 - bias - fraction bits): a float, perhaps subnormal */
        float v = ldexpf((float)fraction, 1 - f->bias - f->fraction);
        return float_of_bits(bits_of_float(v) | sign);
    }
    uint32_t wide = exponent + (uint32_t)(127 - f->bias);
    return float_of_bits(sign | wide << 23 | fraction << (23 - f->fraction));
}

static const Format *format_of(Elem e) {
    switch (e) {
    case EL_F16: return &format_f16;
    case EL_BF16: return &format_bf16;
    case EL_F8E4M3: return &format_f8e4m3;
    case EL_F8E5M2: return &format_f8e5m2;
    case EL_F8E4B15: return &format_f8e4b15;
    default: return NULL;
    }
}

uint64_t elem_round(Elem e, double v, Rounding r) {
    const Format *f = format_of(e);
    if (e == EL_F8E4B15) return round_e4b15(round_double(&format_f16, v, ROUND_ZERO));
    if (f) return round_double(f, v, r);
    if (e == EL_F64) return bits_of_double(v);
    float near = (float)v;
    uint32_t u = bits_of_float(near);
    /* One step toward zero where rounding to nearest went away from it, also from infinity. */
    if (r == ROUND_ZERO && fabs((double)near) > fabs(v)) u--;
    return u;
}

uint64_t elem_from_double(Elem e, double v) {
    return elem_round(e, v, ROUND_NEAREST);
}

double elem_to_double(Elem e, uint64_t bits) {
    const Format *f = format_of(e);
    if (f) return (double)widen(f, (uint32_t)(bits & (elem_info[e].bytes == 1 ? 0xff : 0xffff)));
    return e == EL_F64 ? double_of_bits(bits) : (double)float_of_bits((uint32_t)bits);
}

/* One loop per format, so that the compiler folds the format's numbers into each. */
#define WIDEN(T, format)                                                                           \
    for (int64_t i = 0; i < n; i++) to[i] = widen(&(format), ((const T *)from)[i])
#define NARROW(T, format)                                                                          \
    for (int64_t i = 0; i < n; i++) ((T *)to)[i] = (T)round_float(&(format), from[i], r)

void elem_widen(Elem e, const void *from, float *to, int64_t n) {
    switch (e) {
    case EL_F16: /* a shift aligns the fields and a multiplication by 2^112 mends the exponent */
        for (int64_t i = 0; i < n; i++) {
            uint32_t h = ((const uint16_t *)from)[i], magnitude = (h & 0x7fff) << 13;
            uint32_t u = bits_of_float(float_of_bits(magnitude) * 0x1p112f);
            u |= magnitude >= 0x0f800000 ? 0x7f800000u : 0;
            to[i] = float_of_bits(u | (h & 0x8000) << 16);
        }
        return;
    case EL_BF16:
        for (int64_t i = 0; i < n; i++)
            to[i] = float_of_bits((uint32_t)((const uint16_t *)from)[i] << 16);
        return;
    case EL_F8E4M3: WIDEN(uint8_t, format_f8e4m3); return;
    case EL_F8E5M2: WIDEN(uint8_t, format_f8e5m2); return;
    case EL_F8E4B15: WIDEN(uint8_t, format_f8e4b15); return;
    default: return;
    }
}

void elem_narrow(Elem e, const float *from, void *to, int64_t n, Rounding r) {
    switch (e) {
    case EL_F16: NARROW(uint16_t, format_f16); return;
    case EL_BF16: NARROW(uint16_t, format_bf16); return;
    case EL_F8E4M3: NARROW(uint8_t, format_f8e4m3); return;
    case EL_F8E5M2: NARROW(uint8_t, format_f8e5m2); return;
    case EL_F8E4B15:
        for (int64_t i = 0; i < n; i++)
            ((uint8_t *)to)[i] =
                (uint8_t)round_e4b15(round_float(&format_f16, from[i], ROUND_ZERO));
        return;
    default: return;
    }
}

int64_t elem_wrap(Elem e, int64_t v) {
    const ElemInfo *info = &elem_info[e];
    if (info->class_ == ELEM_F || info->bits == 64) return v;
    uint64_t mask = ((uint64_t)1 << info->bits) - 1, low = (uint64_t)v & mask;
    if (info->class_ == ELEM_I && (low >> (info->bits - 1) & 1)) low |= ~mask;
    return (int64_t)low;
}

double elem_odd_double(int64_t v, bool is_unsigned) {
    bool negative = !is_unsigned && v < 0;
    uint64_t magnitude = negative ? 0 - (uint64_t)v : (uint64_t)v;
    int surplus = 0; /* bits beyond a double's 53 */
    while (surplus < 11 && magnitude >> (53 + surplus)) surplus++;
    uint64_t rest = magnitude & (((uint64_t)1 << surplus) - 1);
    magnitude ^= rest;
    if (rest) magnitude |= (uint64_t)1 << surplus;
    double d = (double)magnitude; /* exact */
    return negative ? -d : d;
}

float elem_odd_fma(float x, float y, float z) {
    double product = (double)x * (double)y; /* exact: 24 bits by 24 */
    double sum = product + (double)z;
    if (!isfinite(sum)) return (float)sum;
    double back = sum - product; /* Knuth's two-sum: sum + rest is exactly product + z */
    double rest = (product - (sum - back)) + ((double)z - back);
    float near = (float)sum;
    uint32_t u = bits_of_float(near);
    double over = fabs((double)near) - fabs(sum); /* of near beyond sum; infinity beyond all */
    if (over > 0 || (over == 0 && rest != 0 && (rest < 0) != (sum < 0)))
        u--; /* the exact value lies nearer to zero than near does */
    else if (over == 0 && rest == 0)
        return near;
    return float_of_bits(u | 1);
}

int64_t elem_saturate_i64(double v, int64_t lo, int64_t hi) {
    if (isnan(v)) return 0;
    if (v <= (double)lo) return lo; /* lo is a power of two: exact */
    return v >= (double)hi ? hi : (int64_t)v;
}

uint64_t elem_saturate_u64(double v, uint64_t hi) {
    if (!(v > 0)) return 0;
    return v >= (double)hi ? hi : (uint64_t)v;
}
