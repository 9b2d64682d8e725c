/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* values.c: numbers of the kernels' types in host memory, and deterministic random data.
 *
 * A value is a double on the host. Rounding to a float type of p bits happens once, in value_round:
 * scale so that the last kept bit has weight 1, round to the nearest even, scale back. */
#include "tests/run/values.h"

#include <math.h>
#include <string.h>

typedef enum Class { SIGNED, UNSIGNED, FLOAT } Class;

static const struct TypeRow {
    const char *name;
    size_t size;
    Class class_;
    int precision, least; /* of a float: bits with the hidden one; exponent of its smallest step */
    double most;          /* of a float: the largest number */
} rows[] = {
    [TILE_I1] = {"i1", 1, UNSIGNED, 0, 0, 0},
    [TILE_I8] = {"i8", 1, SIGNED, 0, 0, 0},
    [TILE_I16] = {"i16", 2, SIGNED, 0, 0, 0},
    [TILE_I32] = {"i32", 4, SIGNED, 0, 0, 0},
    [TILE_I64] = {"i64", 8, SIGNED, 0, 0, 0},
    [TILE_U8] = {"u8", 1, UNSIGNED, 0, 0, 0},
    [TILE_U16] = {"u16", 2, UNSIGNED, 0, 0, 0},
    [TILE_U32] = {"u32", 4, UNSIGNED, 0, 0, 0},
    [TILE_U64] = {"u64", 8, UNSIGNED, 0, 0, 0},
    [TILE_FP8E4NV] = {"fp8e4nv", 1, FLOAT, 4, -9, 448.0},
    [TILE_FP8E5] = {"fp8e5", 1, FLOAT, 3, -16, 57344.0},
    [TILE_FP16] = {"fp16", 2, FLOAT, 11, -24, 65504.0},
    [TILE_BF16] = {"bf16", 2, FLOAT, 8, -133, 0x1.FEp127},
    [TILE_FP32] = {"fp32", 4, FLOAT, 24, -149, 0x1.FFFFFEp127},
    [TILE_FP64] = {"fp64", 8, FLOAT, 53, -1074, 0x1.FFFFFFFFFFFFFp1023},
};
enum { NROWS = sizeof rows / sizeof *rows };

size_t type_size(tile_type t) {
    return rows[t].size;
}

const char *type_name(tile_type t) {
    return rows[t].name;
}

tile_type type_find(const char *name, size_t len) {
    for (int t = 0; t < NROWS; t++)
        if (rows[t].name && strlen(rows[t].name) == len && memcmp(rows[t].name, name, len) == 0)
            return (tile_type)t;
    return TILE_NONE;
}

bool type_is_float(tile_type t) {
    return rows[t].class_ == FLOAT;
}

bool type_is_signed(tile_type t) {
    return rows[t].class_ == SIGNED;
}

/* ---- integers ---- */

uint64_t bits_get(tile_type t, const void *data, size_t i) {
    const char *p = (const char *)data + i * rows[t].size;
    uint64_t v = 0;
    memcpy(&v, p, rows[t].size);
    int unused = 64 - 8 * (int)rows[t].size;
    if (rows[t].class_ == SIGNED && unused) {
        uint64_t sign = (uint64_t)1 << (63 - unused);
        v = (v ^ sign) - sign;
    }
    return v;
}

void bits_set(tile_type t, void *data, size_t i, uint64_t v) {
    memcpy((char *)data + i * rows[t].size, &v, rows[t].size);
}

/* ---- floats ---- */

double value_round(tile_type t, double v) {
    const struct TypeRow *r = &rows[t];
    if (r->class_ != FLOAT) return trunc(v);
    if (v == 0 || !isfinite(v) || t == TILE_FP64) return v;
    int exponent; /* v = f * 2^exponent with 0.5 <= |f| < 1 */
    frexp(v, &exponent);
    int step = exponent - r->precision;
    if (step < r->least) step = r->least;
    double rounded = ldexp(nearbyint(ldexp(v, -step)), step);
    return fabs(rounded) > r->most ? copysign(INFINITY, v) : copysign(rounded, v);
}

static float from_half(uint16_t h) {
    uint32_t bits = (uint32_t)(h & 0x7FFF) << 13;
    float f;
    memcpy(&f, &bits, sizeof f);
    f *= 0x1p112f; /* the exponents' biases differ by 112; exact, subnormals too */
    if ((h & 0x7C00) == 0x7C00) f = h & 0x3FF ? NAN : INFINITY;
    return h & 0x8000 ? -f : f;
}

static uint16_t to_half(double v) {
    uint16_t sign = signbit(v) ? 0x8000 : 0;
    if (isnan(v)) return 0x7FFF;
    v = fabs(value_round(TILE_FP16, v));
    if (isinf(v)) return sign | 0x7C00;
    float f = (float)v * 0x1p-112f;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return (uint16_t)(sign | bits >> 13);
}

/* An fp8 number: a code counts the steps up from 0, which double in size every 2^(precision-1). */
static double from_fp8(tile_type t, uint8_t code) {
    int kept = rows[t].precision - 1, magnitude = code & 0x7F, exponent = magnitude >> kept;
    double steps = magnitude & ((1 << kept) - 1);
    double v = exponent ? ldexp(steps + (1 << kept), exponent - 1) : steps;
    v = ldexp(v, rows[t].least);
    if (v > rows[t].most) v = t == TILE_FP8E5 && magnitude == 0x7C ? INFINITY : NAN;
    return code & 0x80 ? -v : v;
}

static uint8_t to_fp8(tile_type t, double v) {
    unsigned sign = signbit(v) ? 0x80 : 0, code = 0x7F;
    v = fabs(value_round(t, v));
    if (isinf(v)) return (uint8_t)(sign | (t == TILE_FP8E5 ? 0x7C : 0x7F)); /* e4nv has none */
    for (unsigned c = 0; c < 0x7F; c++)
        if (from_fp8(t, (uint8_t)c) == v) code = c;
    return (uint8_t)(sign | code);
}

double value_get(tile_type t, const void *data, size_t i) {
    const char *p = (const char *)data + i * rows[t].size;
    uint16_t h;
    uint32_t bits;
    float f;
    double d;
    switch (t) {
    case TILE_FP8E4NV:
    case TILE_FP8E5: return from_fp8(t, (uint8_t)*p);
    case TILE_FP16: memcpy(&h, p, 2); return (double)from_half(h);
    case TILE_BF16:
        memcpy(&h, p, 2);
        bits = (uint32_t)h << 16;
        memcpy(&f, &bits, 4);
        return (double)f;
    case TILE_FP32: memcpy(&f, p, 4); return (double)f;
    case TILE_FP64: memcpy(&d, p, 8); return d;
    default:
        return rows[t].class_ == SIGNED ? (double)(int64_t)bits_get(t, data, i)
                                        : (double)bits_get(t, data, i);
    }
}

void value_set(tile_type t, void *data, size_t i, double v) {
    char *p = (char *)data + i * rows[t].size;
    uint16_t h;
    uint32_t bits;
    float f;
    switch (t) {
    case TILE_FP8E4NV:
    case TILE_FP8E5: *p = (char)to_fp8(t, v); break;
    case TILE_FP16:
        h = to_half(v);
        memcpy(p, &h, 2);
        break;
    case TILE_BF16:
        f = (float)value_round(TILE_BF16, v);
        memcpy(&bits, &f, 4);
        h = isnan(v) ? 0x7FFF : (uint16_t)(bits >> 16);
        memcpy(p, &h, 2);
        break;
    case TILE_FP32:
        f = (float)v;
        memcpy(p, &f, 4);
        break;
    case TILE_FP64: memcpy(p, &v, 8); break;
    default: bits_set(t, data, i, v < 0 ? (uint64_t)(int64_t)v : (uint64_t)v);
    }
}

/* ---- random data ---- */

/* splitmix64 */
uint64_t random_bits(uint64_t *state) {
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

double random_unit(uint64_t *state) {
    return ldexp((double)(random_bits(state) >> 11), -53);
}

double random_normal(uint64_t *state) {
    double r = sqrt(-2 * log(1 - random_unit(state)));
    return r * cos(6.283185307179586 * random_unit(state));
}

static int64_t random_between(uint64_t *state, int64_t lo, int64_t hi) {
    return lo + (int64_t)(random_bits(state) % (uint64_t)(hi - lo + 1));
}

static double special_float(uint64_t *state) {
    static const double list[] = {0.0,     -0.0,  1.0, -1.0,     2.5,       -2.5,
                                  65504.0, 1e-30, NAN, INFINITY, -INFINITY, 0.5};
    uint64_t pick = random_bits(state) % 24;
    return pick < sizeof list / sizeof *list ? list[pick] : random_normal(state);
}

static uint64_t random_int(Fill how, tile_type t, size_t i, uint64_t *state) {
    bool negative = rows[t].class_ == SIGNED;
    switch (how) {
    case FILL_SMALL: return (uint64_t)random_between(state, negative ? -4 : 0, 4);
    case FILL_WHOLE:
    case FILL_NORMAL: return (uint64_t)random_between(state, negative ? -100 : 0, 100);
    case FILL_COUNT: return i;
    case FILL_LOG2: return random_bits(state) % 8;
    case FILL_DIVISOR:
        for (;;) { /* often small, so that quotients are not all 0 */
            uint64_t v = random_bits(state) >> random_bits(state) % 64;
            if (negative && random_bits(state) & 1) v = 0 - v;
            uint64_t kept[1] = {0};
            bits_set(t, kept, 0, v);
            v = bits_get(t, kept, 0);
            if (v != 0 && v != UINT64_MAX) return v;
        }
    default: return random_bits(state);
    }
}

void fill(Fill how, tile_type t, void *data, size_t n, uint64_t *state) {
    if (how == FILL_PATTERN || (how == FILL_BITS && rows[t].class_ != FLOAT && t != TILE_I1)) {
        size_t bytes = n * rows[t].size, at = 0; /* gigabytes of it: eight bytes at a time */
        for (; at < bytes; at += 8) {
            uint64_t v = random_bits(state);
            memcpy((char *)data + at, &v, bytes - at < 8 ? bytes - at : 8);
        }
        return;
    }
    enum { PERIOD = 1000003 }; /* logarithms take time: so many differ, then they come again */
    for (size_t i = 0; i < n; i++) {
        if (i >= PERIOD && how != FILL_COUNT)
            memcpy((char *)data + i * rows[t].size, (char *)data + (i - PERIOD) * rows[t].size,
                   rows[t].size);
        else if (t == TILE_I1)
            bits_set(t, data, i, random_bits(state) & 1);
        else if (rows[t].class_ != FLOAT)
            bits_set(t, data, i, random_int(how, t, i, state));
        else if (how == FILL_SMALL || how == FILL_WHOLE)
            value_set(t, data, i, (double)(int64_t)random_int(how, TILE_I32, i, state));
        else if (how == FILL_SPECIAL)
            value_set(t, data, i, special_float(state));
        else if (how == FILL_COUNT)
            value_set(t, data, i, (double)i);
        else
            value_set(t, data, i, random_normal(state));
    }
}
