/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* wants.c: what the arithmetic kernels of tests/run must compute, in plain C, and the table of all
 * feature kernels.
 *
 * Integers are 64 bits here and cut to their type when stored; floats are doubles and rounded once
 * when stored, which for + - * of up to 24 bits is what the type's own arithmetic gives. */
#include "tests/run/features.h"
#include "tests/run/wants.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ALL_INTS "i8 i16 i32 i64 u8 u16 u32 u64"
#define ALL_FLOATS "fp16 bf16 fp32 fp64"

/* ---- integers ---- */

static void want_integers(Slot *v) {
    size_t n = (size_t)v[4].value;
    tile_type t = v[0].type;
    bool is_signed = type_is_signed(t);
    for (size_t i = 0; i < n; i++) {
        uint64_t a = bits_get(t, v[0].data, i), b = bits_get(t, v[1].data, i);
        uint64_t shift = bits_get(t, v[2].data, i);
        int64_t sa = (int64_t)a, sb = (int64_t)b;
        bool less = is_signed ? sa < sb : a < b, equal = a == b;
        bool five = is_signed ? sa > 5 : a > 5, fifty = is_signed ? sb < 50 : b < 50;
        uint64_t row[] = {
            a + b,
            a - b,
            a * b,
            is_signed ? (uint64_t)(sa / sb) : a / b,
            is_signed ? (uint64_t)(sa % sb) : a % b,
            a & b,
            a | b,
            a ^ b,
            ~a,
            0 - a,
            a << shift,
            is_signed ? (uint64_t)(sa >> shift) : a >> shift,
            less ? a : b,
            less ? b : a,
            is_signed && sa < 0 ? 0 - a : a,
            equal,
            !equal,
            less,
            less || equal,
            !less && !equal,
            !less,
            less ? a : b * b,
            a + 3,
            100 - a,
            is_signed ? (uint64_t)(sa / 4) : a / 4,
            is_signed ? (uint64_t)(sa % 16) : a % 16,
            a * 8,
            (five && fifty) || equal,
        };
        for (size_t k = 0; k < sizeof row / sizeof *row; k++)
            bits_set(t, v[3].data, k * n + i, row[k]);
    }
}

static void want_integer_division(Slot *v) {
    tile_type t = v[0].type;
    for (size_t i = 0; i < v[0].n; i++) /* each is rounded to single precision, then divided */
        value_set(TILE_FP32, v[2].data, i,
                  (double)((float)value_get(t, v[0].data, i) / (float)value_get(t, v[1].data, i)));
}

/* ---- floats ---- */

/* The number of the two where one is NaN; -0 is less than 0. */
static double least(double a, double b) {
    if (isnan(a) || isnan(b)) return isnan(a) ? b : a;
    if (a == 0 && b == 0) return signbit(a) ? a : b;
    return a < b ? a : b;
}

static void want_floats(Slot *v) {
    size_t n = (size_t)v[3].value;
    tile_type t = v[0].type;
    for (size_t i = 0; i < n; i++) {
        double a = value_get(t, v[0].data, i), b = value_get(t, v[1].data, i);
        double row[] = {a + b,
                        a - b,
                        a * b,
                        -a,
                        fabs(a),
                        least(a, b),
                        -least(-a, -b),
                        a < b ? a : b,
                        a == b,
                        a != b,
                        a<b, a <= b, a>
                            b,
                        a >= b,
                        a < 0.5,
                        a == a && b == b,
                        a != 0,
                        a * 0.5};
        for (size_t k = 0; k < sizeof row / sizeof *row; k++)
            value_set(t, v[2].data, k * n + i, row[k]);
    }
}

static void want_division(Slot *v) {
    size_t n = (size_t)v[3].value;
    tile_type t = v[0].type;
    for (size_t i = 0; i < n; i++) {
        double a = value_get(t, v[0].data, i), b = value_get(t, v[1].data, i);
        value_set(t, v[2].data, i, a / b);
        value_set(t, v[2].data, n + i, fmod(a, b));
        value_set(t, v[2].data, 2 * n + i, a / 3);
    }
}

static double sigmoid(double x) {
    return 1 / (1 + exp(-x));
}

static void want_math(Slot *v) {
    size_t n = (size_t)v[2].value;
    tile_type t = v[0].type;
    for (size_t i = 0; i < n; i++) {
        double x = value_get(t, v[0].data, i), p = value_round(t, fabs(x) + 0.125);
        double row[] = {exp(x),  exp2(x),     log(p),   log2(p), sin(x),       cos(x),
                        sqrt(p), 1 / sqrt(p), floor(x), ceil(x), fma(x, p, x), sigmoid(x)};
        for (size_t k = 0; k < sizeof row / sizeof *row; k++)
            value_set(t, v[1].data, k * n + i, row[k]);
    }
}

/* ---- types ---- */

/* Narrow floats from wide integers may be rounded twice, and floats beyond an integer's range give
 * anything: the inputs stay where there is one answer. */
static void tame(tile_type from, tile_type to, void *data, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (!type_is_float(from)) {
            uint64_t x = bits_get(from, data, i);
            if (to == TILE_FP16 || to == TILE_BF16)
                bits_set(from, data, i,
                         type_is_signed(from) ? (uint64_t)((int64_t)x % 2000) : x % 2000);
        } else if (!type_is_float(to) && to != TILE_I1) {
            double x = value_get(from, data, i) * 30;
            if (!(fabs(x) < 120)) x = 2.75;
            value_set(from, data, i, type_is_signed(to) ? x : fabs(x));
        }
    }
}

static void want_casts(Slot *v) {
    tile_type from = v[0].type, to = v[1].type;
    tame(from, to, v[0].data, v[0].n);
    for (size_t i = 0; i < v[0].n; i++) {
        double x = value_get(from, v[0].data, i);
        if (to == TILE_I1)
            bits_set(to, v[1].data, i, x != 0);
        else if (!type_is_float(from) && !type_is_float(to))
            bits_set(to, v[1].data, i, bits_get(from, v[0].data, i));
        else if (to == TILE_FP32 && !type_is_float(from)) /* 64 bits to 24 at once */
            value_set(to, v[1].data, i,
                      type_is_signed(from) ? (double)(float)(int64_t)bits_get(from, v[0].data, i)
                                           : (double)(float)bits_get(from, v[0].data, i));
        else
            value_set(to, v[1].data, i, x);
    }
}

/* The type of a + b for tiles of these types. */
static tile_type promoted(tile_type a, tile_type b) {
    static const tile_type floats[] = {TILE_FP64, TILE_FP32, TILE_FP16};
    for (int i = 0; i < 3; i++)
        if (a == floats[i] || b == floats[i]) return floats[i];
    if (a == TILE_BF16 || b == TILE_BF16) return a == b ? TILE_BF16 : TILE_FP32;
    if (type_is_signed(a) == type_is_signed(b)) return type_size(a) >= type_size(b) ? a : b;
    tile_type u = type_is_signed(a) ? b : a, s = type_is_signed(a) ? a : b;
    return type_size(u) >= type_size(s) ? u : s;
}

static double as_double(tile_type t, uint64_t bits) {
    uint64_t kept = 0;
    bits_set(t, &kept, 0, bits);
    return value_get(t, &kept, 0);
}

static void want_promotion(Slot *v) {
    tile_type a = v[0].type, b = v[1].type, r = promoted(a, b);
    size_t n = (size_t)v[3].value;
    if (type_is_float(r)) {
        tame(a, TILE_FP16, v[0].data, n);
        tame(b, TILE_FP16, v[1].data, n);
    }
    for (size_t i = 0; i < n; i++) {
        double row[3];
        if (type_is_float(r)) {
            double x = value_round(r, value_get(a, v[0].data, i));
            double y = value_round(r, value_get(b, v[1].data, i));
            row[0] = value_round(r, x + y);
            row[1] = value_round(r, x * y);
            row[2] = i % 2 == 0 ? x : y;
        } else {
            uint64_t x = bits_get(a, v[0].data, i), y = bits_get(b, v[1].data, i);
            row[0] = as_double(r, x + y);
            row[1] = as_double(r, x * y);
            row[2] = as_double(r, i % 2 == 0 ? x : y);
        }
        for (size_t k = 0; k < 3; k++) value_set(TILE_FP64, v[2].data, k * n + i, row[k]);
    }
}

/* ---- matrices ---- */

static void want_dot(Slot *v) {
    size_t k = (size_t)v[3].value, m = v[0].n / k, n = v[1].n / k, size = m * n;
    tile_type t = v[0].type;
    double *c = malloc(size * sizeof *c);
    for (size_t i = 0; c && i < size; i++) {
        c[i] = 0;
        for (size_t p = 0; p < k; p++)
            c[i] += value_get(t, v[0].data, i / n * k + p) * value_get(t, v[1].data, p * n + i % n);
    }
    for (size_t i = 0; c && i < size; i++) {
        double column = 0;
        for (size_t p = 0; p < m; p++) column += value_round(t, c[p * n + i % n]);
        value_set(TILE_FP32, v[2].data, i, c[i]);
        value_set(TILE_FP32, v[2].data, size + i, 2 * c[i] + 1);
        value_set(TILE_FP32, v[2].data, 2 * size + i, c[i]);
        if (v[2].n > 3 * size) value_set(TILE_FP32, v[2].data, 3 * size + i, column);
    }
    free(c);
}

static void want_reduce(Slot *v) {
    enum { H = 16, W = 32 };
    tile_type t = v[0].type;
    double all = 0, widest = 0, x[H][W];
    for (size_t i = 0; i < H; i++)
        for (size_t j = 0; j < W; j++) x[i][j] = value_get(t, v[0].data, i * W + j);
    for (size_t j = 0; j < W; j++) {
        double sum = 0, most = x[0][j];
        for (size_t i = 0; i < H; i++) {
            sum += x[i][j];
            most = x[i][j] > most ? x[i][j] : most;
        }
        value_set(t, v[1].data, j, sum);
        value_set(t, v[1].data, W + j, most);
        all += sum;
    }
    for (size_t i = 0; i < H; i++) {
        double sum = 0, low = x[i][0], high = x[i][0];
        for (size_t j = 0; j < W; j++) {
            sum += x[i][j];
            low = x[i][j] < low ? x[i][j] : low;
            high = x[i][j] > high ? x[i][j] : high;
        }
        value_set(t, v[1].data, 2 * W + i, sum);
        value_set(t, v[1].data, 2 * W + H + i, low);
        widest = high - low > widest ? high - low : widest;
    }
    value_set(t, v[1].data, 2 * W + 2 * H, all);
    value_set(t, v[1].data, 2 * W + 2 * H + 1, widest);
}

/* ---- the table ---- */

const Feature features[] = {
#define FEATURE(file, defines, params, types, other, x, y, z, want, places, off)                   \
    {file, defines, params, types, other, {x, y, z}, want, places, off},
#include "tests/run/features.def"
#undef FEATURE
};
const int feature_count = sizeof features / sizeof *features;
