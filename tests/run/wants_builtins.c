/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* wants_builtins.c: what the kernels of tests/run about builtins must compute, in plain C: sorts,
 * moved elements, reductions with indices, scans, random numbers, atomics, windows into memory. */
#include "tests/run/wants.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- sorting ---- */

static int rising(const void *x, const void *y) {
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

void want_sort(Slot *v) {
    enum { H = 8, W = 32, K = 4 };
    tile_type t = v[0].type;
    double row[W];
    for (size_t i = 0; i < H; i++) {
        for (size_t j = 0; j < W; j++) row[j] = value_get(t, v[0].data, i * W + j);
        qsort(row, W, sizeof *row, rising);
        for (size_t j = 0; j < W; j++) {
            value_set(t, v[1].data, i * W + j, row[j]);
            value_set(t, v[1].data, H * W + i * W + j, row[W - 1 - j]);
            value_set(t, v[1].data, 2 * H * W + 2 * H * K + H + i * W + j, row[j]);
        }
        for (size_t j = 0; j < K; j++) {
            value_set(t, v[1].data, 2 * H * W + i * K + j, row[W - 1 - j]);
            value_set(t, v[1].data, 2 * H * W + H * K + i * K + j, row[j]);
        }
        value_set(t, v[1].data, 2 * H * W + 2 * H * K + i, row[W - 1]);
    }
}

/* ---- moving ---- */

typedef struct Moves {
    size_t size; /* of an element */
    const char *a, *b;
    char *out; /* where the next element goes */
} Moves;

static void put(Moves *m, const char *from, size_t i) {
    memcpy(m->out, from + i * m->size, m->size);
    m->out += m->size;
}

void want_moves(Slot *v) {
    enum { H = 8, W = 16 };
    tile_type t = v[0].type;
    Moves m = {type_size(t), v[0].data, v[1].data, v[3].data};
    const int32_t *index = v[2].data;
    for (size_t i = 0; i < H; i++)
        for (size_t j = 0; j < W; j++) {
            put(&m, m.a, i * W + j);
            put(&m, m.b, i * W + j);
        }
    for (size_t i = 0; i < H; i++) {
        for (size_t j = 0; j < W; j++) put(&m, m.a, i * W + j);
        for (size_t j = 0; j < W; j++) put(&m, m.b, i * W + j);
    }
    for (size_t i = 0; i < H * W; i++) put(&m, m.a, i);
    for (size_t i = 0; i < H * W; i++) put(&m, m.b, i);
    for (size_t side = 0; side < 2; side++)
        for (size_t i = 0; i < H * W; i += 2) put(&m, m.a, i + side);
    for (size_t i = 0; i < H; i++)
        for (size_t j = 0; j < W; j++) put(&m, m.a, (H - 1 - i) * W + j);
    for (size_t i = 0; i < H; i++)
        for (size_t j = 0; j < W; j++) put(&m, m.a, i * W + W - 1 - j);
    for (size_t i = 0; i < H; i++)
        for (size_t j = 0; j < W; j++) put(&m, m.a, i * W + (size_t)(index[i * W + j] & (W - 1)));
    for (size_t i = 0; i < H; i++)
        for (size_t j = 0; j < W; j++) put(&m, m.a, (size_t)(index[i * W + j] & (H - 1)) * W + j);
    for (size_t k = 0; k < W / 4; k++) /* (H, 4, W/4) seen as (W/4, H, 4) */
        for (size_t i = 0; i < H; i++)
            for (size_t j = 0; j < 4; j++) put(&m, m.a, i * W + j * (W / 4) + k);
    size_t best = 0;
    for (size_t i = 1; i < H * W; i++)
        if (value_get(t, m.a, i) > value_get(t, m.a, best)) best = i;
    put(&m, m.a, best);
    put(&m, m.a, 2);
    put(&m, m.a, 1);
}

/* ---- reductions and scans ---- */

/* The place of the best of n elements, the first of equals. */
static int32_t best_of(tile_type t, const void *x, size_t from, size_t step, size_t n, int sign) {
    size_t best = 0;
    for (size_t i = 1; i < n; i++)
        if (sign * value_get(t, x, from + i * step) > sign * value_get(t, x, from + best * step))
            best = i;
    return (int32_t)best;
}

void want_extremes(Slot *v) {
    enum { H = 16, W = 32 };
    tile_type t = v[0].type;
    const void *x = v[0].data;
    void *out = v[1].data;
    int32_t *index = v[2].data;
    for (size_t i = 0; i < H; i++) {
        index[i] = index[H + W + i] = best_of(t, x, i * W, 1, W, 1);
        index[2 * H + 2 * W + i] = best_of(t, x, i * W, 1, W, -1);
        value_set(t, out, i, value_get(t, x, i * W + (size_t)index[i]));
    }
    for (size_t j = 0; j < W; j++) {
        index[H + j] = index[2 * H + W + j] = best_of(t, x, j, W, H, -1);
        value_set(t, out, H + j, value_get(t, x, (size_t)index[H + j] * W + j));
        value_set(t, out, H + W + j, value_get(t, x, (size_t)best_of(t, x, j, W, H, 1) * W + j));
    }
    index[3 * H + 2 * W] = best_of(t, x, 0, 1, H * W, 1);
    value_set(t, out, H + 2 * W, value_get(t, x, (size_t)index[3 * H + 2 * W]));
    value_set(t, out, H + 2 * W + 1, value_get(t, x, (size_t)best_of(t, x, 0, 1, H * W, -1)));
}

void want_scan(Slot *v) {
    enum { H = 16, W = 32 };
    tile_type t = v[0].type;
    double down[W] = {0}, through[W] = {0};
    for (size_t i = 0; i < H; i++) {
        double sum = 0, product = 1, b = 0;
        size_t up = H - 1 - i;
        for (size_t j = 0; j < W; j++) {
            size_t at = i * W + j, back = i * W + W - 1 - j;
            double x = value_get(t, v[0].data, at), y = value_get(t, v[0].data, back);
            sum += x;
            value_set(t, v[1].data, at, sum);
            down[j] += value_get(t, v[0].data, up * W + j);
            value_set(t, v[1].data, H * W + up * W + j, down[j]);
            product *= y > 0 ? 1 : -1;
            value_set(t, v[1].data, 2 * H * W + back, product);
            through[j] = through[j] * (x > 0 ? 1 : -1) + x;
            value_set(t, v[1].data, 3 * H * W + at, through[j]);
            b = b * (y > 0 ? 1 : -1) + y;
            value_set(t, v[1].data, 4 * H * W + back, b);
        }
    }
}

void want_histogram(Slot *v) {
    enum { BINS = 16 };
    int32_t *out = v[1].data;
    memset(out, 0, 3 * BINS * sizeof *out);
    for (size_t i = 0; i < v[0].n; i++) {
        uint64_t x = bits_get(v[0].type, v[0].data, i);
        if (x < BINS) out[x]++;
        if (x < BINS && (int64_t)i < v[2].value) out[BINS + x]++;
        out[2 * BINS + (x & 3)]++;
    }
}

/* ---- random numbers ---- */

/* Philox 4x32 as its authors describe it: counters in, four numbers out. */
static void philox32(uint64_t seed, uint64_t offset, int rounds, uint32_t *c) {
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    c[0] = (uint32_t)offset;
    c[1] = (uint32_t)(offset >> 32);
    c[2] = c[3] = 0;
    for (int i = 0; i < rounds; i++) {
        uint64_t p = (uint64_t)0xD2511F53u * c[0], q = (uint64_t)0xCD9E8D57u * c[2];
        uint32_t next[] = {(uint32_t)(q >> 32) ^ c[1] ^ k0, (uint32_t)q,
                           (uint32_t)(p >> 32) ^ c[3] ^ k1, (uint32_t)p};
        memcpy(c, next, sizeof next);
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
}

static void multiply(uint64_t x, uint64_t y, uint64_t *high, uint64_t *low) {
    uint64_t a = x >> 32, b = x & 0xffffffff, c = y >> 32, d = y & 0xffffffff;
    uint64_t middle = (b * d >> 32) + (a * d & 0xffffffff) + b * c;
    *low = x * y;
    *high = a * c + (a * d >> 32) + (middle >> 32);
}

static void philox64(uint64_t seed, uint64_t offset, uint64_t *c) {
    uint64_t k0 = seed, k1 = 0;
    c[0] = offset;
    c[1] = c[2] = c[3] = 0;
    for (int i = 0; i < 10; i++) {
        uint64_t high0, low0, high2, low2;
        multiply(0xD2E7470EE14C6C93u, c[0], &high0, &low0);
        multiply(0xCA5A826395121157u, c[2], &high2, &low2);
        uint64_t next[] = {high2 ^ c[1] ^ k0, low2, high0 ^ c[3] ^ k1, low0};
        memcpy(c, next, sizeof next);
        k0 += 0x9E3779B97F4A7C15u;
        k1 += 0xBB67AE8584CAA73Bu;
    }
}

static float uniform32(uint32_t x) {
    uint32_t y = x >> 31 ? ~x : x;
    return (float)y * 4.6566127342e-10f;
}

static double normal(uint32_t a, uint32_t b, bool sine) {
    double u = uniform32(a) < 1e-7f ? 1e-7f : uniform32(a);
    double angle = (float)((double)6.2831855f * uniform32(b)), radius = sqrt(-2 * log(u));
    return radius * (sine ? sin(angle) : cos(angle));
}

void want_random(Slot *v) {
    enum { SIZE = 64 };
    uint32_t *ints = v[0].data, c[4];
    uint64_t wide[4];
    float *floats = v[1].data;
    uint64_t seed = (uint64_t)v[2].value, far = (uint64_t)v[3].value;
    for (uint32_t i = 0; i < SIZE; i++) {
        philox32(seed, i, 10, c);
        for (int k = 0; k < 4; k++) ints[k * SIZE + (int)i] = c[k];
        floats[i] = uniform32(c[0]);
        floats[2 * SIZE + i] = (float)normal(c[0], c[1], false);
        floats[3 * SIZE + i] = (float)normal(c[2], c[3], true);
        philox32(seed, far + i, 10, c);
        ints[4 * SIZE + i] = c[0];
        floats[SIZE + i] = uniform32(c[3]);
        philox32(77, i, 7, c);
        ints[5 * SIZE + i] = c[0];
        philox64(seed, i, wide);
        ints[6 * SIZE + i] = (uint32_t)(wide[0] >> 32);
        ints[7 * SIZE + i] = (uint32_t)wide[3];
        uint64_t y = wide[0] >> 63 ? ~wide[0] : wide[0];
        floats[4 * SIZE + i] = (float)y * 1.0842020432385337e-19f;
    }
}

/* ---- windows into memory ---- */

void want_block_pointer(Slot *v) {
    size_t m = (size_t)v[2].value, n = (size_t)v[3].value;
    const float *in = v[0].data;
    float *out = v[1].data;
    for (size_t i = 0; i < m; i++) {
        float sum = 0;
        for (size_t j = 0; j < n; j++) {
            out[j * m + i] = in[i * n + j];
            sum += in[i * n + j];
        }
        out[m * n + i] = sum;
    }
}

void want_descriptor(Slot *v) {
    enum { ROWS = 8, W = 16 };
    size_t m = (size_t)v[2].value, n = (size_t)v[3].value;
    const float *in = v[0].data;
    float *out = v[1].data;
    for (size_t i = 0; i < m * n; i++) out[i] = 2 * in[i];
    out[m * n - 1] += 1;
    for (size_t r = 0; r < ROWS; r++)
        for (size_t j = 0; j < W; j++) {
            bool inside = 3 * r < m && n - 5 + j < n;
            float x = inside ? in[3 * r * n + n - 5 + j] : -1;
            out[m * n + r * W + j] = x;
            if (3 * r < m && 2 + j < n) out[m * n + ROWS * W + 3 * r * n + 2 + j] = x;
        }
}

/* ---- atomics ---- */

typedef struct Place {
    tile_type type;
    void *data;
} Place;

static int64_t place_get(Place p, size_t i) {
    return type_is_float(p.type) ? (int64_t)value_get(p.type, p.data, i)
                                 : (int64_t)bits_get(p.type, p.data, i);
}

static void place_set(Place p, size_t i, int64_t v) {
    if (type_is_float(p.type))
        value_set(p.type, p.data, i, (double)v);
    else
        bits_set(p.type, p.data, i, (uint64_t)v);
}

static bool greater(Place p, int64_t a, int64_t b) {
    bool by_bits = !type_is_float(p.type) && !type_is_signed(p.type);
    uint64_t mask = type_size(p.type) == 4 ? 0xffffffff : UINT64_MAX;
    return by_bits ? ((uint64_t)a & mask) > ((uint64_t)b & mask) : a > b;
}

void want_atomics(Slot *v) {
    enum { BLOCK = 128, FIRST = 64 };
    Place p = {v[0].type, v[0].data};
    int64_t programs = v[1].value;
    bool whole = !type_is_float(p.type);
    for (size_t i = 0; i < FIRST; i++) place_set(p, i, 0);
    for (int64_t k = 0; k < programs * BLOCK; k++) {
        int64_t i = k % BLOCK, x = k % 101 - 50;
        size_t at = (size_t)(i % 4) * 8;
        if (i % 3) place_set(p, at, place_get(p, at) + x);
        if (greater(p, x - 30, place_get(p, at + 1))) place_set(p, at + 1, x - 30);
        if (k < 300 && greater(p, place_get(p, at + 2), x + 30)) place_set(p, at + 2, x + 30);
        if (whole) place_set(p, at + 5, place_get(p, at + 5) | x);
        if (whole) place_set(p, at + 6, place_get(p, at + 6) & (x | 64));
        if (whole && i > 5) place_set(p, at + 7, place_get(p, at + 7) ^ x);
        place_set(p, FIRST + (size_t)k, 5);
        place_set(p, 34, place_get(p, 34) + x);
    }
    place_set(p, 3, programs * (programs - 1) / 2);
    place_set(p, 4, programs - 1);
    place_set(p, 32, 7);
    place_set(p, 33, 1);
}

/* ---- libdevice ---- */

static int ones(uint64_t x) {
    int n = 0;
    for (; x; x &= x - 1) n++;
    return n;
}

static uint32_t mirrored(uint32_t x) {
    uint32_t r = 0;
    for (int i = 0; i < 32; i++) r |= (x >> i & 1) << (31 - i);
    return r;
}

static int32_t float_bits(float f) {
    int32_t i;
    memcpy(&i, &f, sizeof i);
    return i;
}

void want_libdevice(Slot *v) {
    enum { SIZE = 128 };
    const int32_t *in = v[0].data;
    const float *floats = v[1].data;
    for (size_t i = 0; i < SIZE; i++) {
        int32_t x = in[i], y = in[SIZE + i], *out = (int32_t *)v[2].data + i;
        float f = floats[i];
        uint32_t u = (uint32_t)x;
        int lead = 0, low = 0;
        while (lead < 32 && !(u >> (31 - lead) & 1)) lead++;
        while (low < 32 && !(u >> low & 1)) low++;
        out[0] = ones(u);
        out[SIZE] = lead;
        out[2 * SIZE] = u ? low + 1 : 0;
        out[3 * SIZE] = (int32_t)mirrored(u);
        out[4 * SIZE] = (int32_t)(((int64_t)x * y) >> 32);
        out[5 * SIZE] = (int32_t)(((int64_t)x + y) >> 1);
        out[6 * SIZE] = (int32_t)(((int64_t)x + y + 1) >> 1);
        out[7 * SIZE] = ones((uint64_t)((int64_t)x * 65537));
        bool sign = float_bits(f) < 0;
        out[8 * SIZE] = (isnan(f) ? 1 : 0) + (isinf(f) ? 2 : 0) + (isfinite(f) ? 4 : 0) + sign * 8;
        out[9 * SIZE] = float_bits(f);
        out[10 * SIZE] = isnan(f) ? 0 : float_bits(nextafterf(f, -f));
        out[11 * SIZE] = isnan(f) ? 0 : float_bits(ldexpf(f, x % 20));
        float g = (isfinite(f) ? f : 1.5f) * 3;
        out[12 * SIZE] = (int32_t)rintf(g);
        out[13 * SIZE] = (int32_t)floorf(g);
        out[14 * SIZE] = (int32_t)roundf(g);
    }
}

static long double inverse_erf(long double x) {
    long double low = 0, high = 40, a = fabsl(x);
    for (int i = 0; i < 100; i++) {
        long double middle = (low + high) / 2;
        if (erfcl(middle) > 1 - a)
            low = middle;
        else
            high = middle;
    }
    return copysignl(low, x);
}

void want_libdevice_floats(Slot *v) {
    enum { SIZE = 128, RESULTS = 14 };
    const long double pi = 3.14159265358979323846264338L, root = 0.70710678118654752440084436L;
    tile_type t = v[0].type;
    for (size_t i = 0; i < SIZE; i++) {
        long double x = value_get(t, v[0].data, i),
                    w = value_round(t, value_get(t, v[0].data, i) * 3);
        long double s = x / (1 + fabsl(x)), turn = w - 2 * rintl(w / 2);
        long double result[RESULTS] = {inverse_erf(s),
                                       sinl(pi * turn),
                                       cosl(pi * turn),
                                       erfcl(-w * root) / 2,
                                       logbl(x),
                                       1 / cbrtl(x),
                                       1 / hypotl(x, w),
                                       fdiml(x, 0.25L),
                                       1 / sqrtl(fabsl(x)),
                                       1 / x,
                                       sqrtl(x * x + w * w + s * s),
                                       x > 1   ? 1
                                       : x > 0 ? x
                                               : 0,
                                       scalbnl(x, ilogbl(w)),
                                       s};
        for (size_t k = 0; k < RESULTS; k++)
            value_set(t, v[1].data, k * SIZE + i, (double)result[k]);
    }
}

/* ---- whole computations ---- */

void want_batch(Slot *v) {
    enum { B = 4, M = 16, N = 32, K = 32 };
    tile_type t = v[0].type;
    for (size_t b = 0; b < B; b++)
        for (size_t i = 0; i < M; i++)
            for (size_t j = 0; j < N; j++) {
                double sum = 0;
                for (size_t k = 0; k < K; k++)
                    sum += value_get(t, v[0].data, (b * M + i) * K + k) *
                           value_get(t, v[1].data, (b * K + k) * N + j);
                value_set(v[2].type, v[2].data, (b * M + i) * N + j, sum);
                value_set(v[2].type, v[2].data, B * M * N + (b * M + i) * N + j, 2 * sum);
            }
}

void want_stdlib(Slot *v) {
    enum { H = 16, W = 32, I = 5, J = 4, GROUP = 3 };
    float *out = v[1].data;
    double e[H][W], rows[H] = {0}, columns[W] = {0};
    for (size_t i = 0; i < H; i++)
        for (size_t j = 0; j < W; j++) {
            e[i][j] = exp(value_get(v[0].type, v[0].data, i * W + j));
            rows[i] += e[i][j];
            columns[j] += e[i][j];
        }
    for (size_t i = 0; i < H; i++)
        for (size_t j = 0; j < W; j++) {
            out[i * W + j] = (float)(e[i][j] / columns[j]);
            out[(H + i) * W + j] = (float)(e[i][j] / rows[i]);
            out[(2 * H + i) * W + j] = (float)(e[i][j] / (1 + e[i][j]));
        }
    int32_t *order = v[2].data, count = 0;
    for (size_t first = 0; first < I; first += GROUP)
        for (size_t j = 0; j < J; j++)
            for (size_t i = first; i < I && i < first + GROUP; i++) order[i * J + j] = count++;
}
