/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* wants_machine.c: references of the kernels about what the machine does in a way of its own:
 * matrix products of every type, atomics, conversions of fp8.
 *
 * Outputs hold 0xCD in every byte before a kernel runs, so atomics without preparation start from
 * there. */
#include "tests/run/wants.h"

#include <math.h>
#include <string.h>

/* ---- products ---- */

static void want_product(const Slot *v, size_t m, size_t n, size_t k, size_t batch, size_t part,
                         size_t times) {
    tile_type t = v[0].type, to = v[2].type;
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            double sum = 0;
            for (size_t p = 0; p < k; p++)
                sum += value_get(t, v[0].data, batch * m * k + i * k + p) *
                       value_get(t, v[1].data, batch * k * n + p * n + j);
            value_set(to, v[2].data, part * m * n + i * n + j, sum * (double)times);
        }
}

/* M from the sizes M K, K N and M N of one product. */
static size_t rows_of(size_t mk, size_t kn, size_t mn) {
    return (size_t)lround(sqrt((double)mk * (double)mn / (double)kn));
}

void want_dot_types(Slot *v) {
    size_t mn = v[2].n / 2, m = rows_of(v[0].n, v[1].n, mn), n = mn / m, k = v[0].n / m;
    want_product(v, m, n, k, 0, 0, 1);
    want_product(v, m, n, k, 0, 1, 2);
}

void want_dot_batch(Slot *v) {
    size_t mn = v[2].n / 2, m = rows_of(v[0].n / 2, v[1].n / 2, mn), n = mn / m, k = v[0].n / 2 / m;
    for (size_t i = 0; i < 2; i++) want_product(v, m, n, k, i, i, 1);
}

/* ---- atomics ---- */

enum { PLACES = 16, PROGRAM = 64 };

void want_atomic_numbers(Slot *v) {
    tile_type t = v[0].type;
    size_t n = v[0].n, programs = (n + PROGRAM - 1) / PROGRAM;
    for (size_t p = 0; p < PLACES; p++) {
        double sum = 0;
        for (size_t i = p; i < n; i += PLACES) sum += value_get(t, v[0].data, i);
        value_set(t, v[1].data, p, sum);
    }
    for (size_t i = 0; i < n; i++) bits_set(TILE_I32, v[2].data, i, i);
    for (size_t i = 0; i < programs; i++) bits_set(TILE_I32, v[3].data, i, 100 - i);
    bits_set(TILE_I32, v[4].data, 0, n);
    bits_set(TILE_I32, v[4].data, 1, programs);
    bits_set(TILE_I32, v[4].data, 2, 1);
}

static bool less(tile_type t, uint64_t a, uint64_t b) {
    if (type_is_float(t)) return value_get(t, &a, 0) < value_get(t, &b, 0);
    return type_is_signed(t) ? (int64_t)a < (int64_t)b : a < b;
}

static void extremes(Slot *v, double scale) {
    tile_type t = v[0].type;
    for (size_t i = 0; i < v[0].n; i++) {
        uint64_t x = bits_get(t, v[0].data, i), scaled = x;
        if (type_is_float(t)) value_set(t, &scaled, 0, value_get(t, &x, 0) * scale);
        if (less(t, bits_get(t, v[1].data, i % PLACES), x)) bits_set(t, v[1].data, i % PLACES, x);
        if (less(t, scaled, bits_get(t, v[2].data, i % PLACES)))
            bits_set(t, v[2].data, i % PLACES, scaled);
    }
}

void want_atomic_extremes(Slot *v) {
    extremes(v, 1);
}

void want_atomic_extremes_fp32(Slot *v) {
    extremes(v, (double)1e12F);
}

void want_atomic_extremes_fp64(Slot *v) {
    extremes(v, 1e80);
}

void want_atomic_bits(Slot *v) {
    tile_type t = v[0].type;
    memcpy(v[5].data, v[4].data, v[4].n * type_size(t));
    for (size_t i = 0; i < v[0].n; i++) {
        uint64_t x = bits_get(t, v[0].data, i);
        size_t p = i % PLACES;
        bits_set(t, v[1].data, p, bits_get(t, v[1].data, p) & x);
        bits_set(t, v[2].data, p, bits_get(t, v[2].data, p) | x);
        bits_set(t, v[3].data, p, bits_get(t, v[3].data, p) ^ x);
        bits_set(t, v[4].data, i, x);
    }
}

void want_lock(Slot *v) {
    enum { PROGRAMS = 60 };
    for (size_t i = 0; i < v[0].n; i++) {
        uint32_t x = (uint32_t)i;
        for (int p = 0; p < PROGRAMS; p++) x = x * 3 + 1;
        bits_set(TILE_I32, v[0].data, i, x);
    }
    static const uint64_t end[] = {1, 0, PROGRAMS, 5 * PROGRAMS};
    for (size_t i = 0; i < 4; i++) bits_set(TILE_I32, v[1].data, i, end[i]);
}

/* ---- fp8 ---- */

/* Conversions to fp8 end at the largest number. */
void want_casts_to_fp8(Slot *v) {
    tile_type from = v[0].type, to = v[1].type;
    double most = to == TILE_FP8E5 ? 57344 : 448;
    for (size_t i = 0; i < v[0].n; i++) {
        double x = value_get(from, v[0].data, i);
        value_set(to, v[1].data, i, fabs(x) > most ? copysign(most, x) : x);
    }
}

/* Which blocks of a and b, of K columns and rows, iteration i of loop `which` multiplies. */
static void blocks_of(int which, size_t i, size_t row, size_t *a, size_t *b) {
    *a = *b = i;
    switch (which) {
    case 0: *a = *b = 15 - i; break;
    case 3: *a = row % 2 * i; break;
    case 4: *a = *b = 2 * i; break;
    case 5: *a = i % 2 * 8 + i / 2; break;
    default: break;
    }
}

void want_advance(Slot *v) {
    enum { M = 64, N = 32, K = 32, ALL = 512, LOOPS = 8 };
    tile_type t = v[0].type;
    size_t n = (size_t)v[4].value;
    *(int32_t *)v[2].data = K;
    for (int which = 0; which < LOOPS; which++)
        for (size_t row = 0; row < M; row++)
            for (size_t col = 0; col < N; col++) {
                double sum = 0;
                size_t times = which == 4 || which == 5 ? n / 2 : n;
                for (size_t k = 0; k < times * K; k++) {
                    size_t a, b;
                    blocks_of(which, k / K, row, &a, &b);
                    sum += value_get(t, v[0].data, row * ALL + a * K + k % K) *
                           value_get(t, v[1].data, (b * K + k % K) * N + col);
                }
                value_set(TILE_FP32, v[3].data, ((size_t)which * M + row) * N + col, sum);
            }
}

/* The same columns of b by row after row of blocks of a. */
void want_again(Slot *v) {
    enum { M = 64, K = 32, ALL = 256 };
    tile_type type = v[0].type;
    size_t N = v[2].n / M;
    size_t times = (size_t)v[3].value, n = (size_t)v[4].value * K;
    for (size_t row = 0; row < M; row++)
        for (size_t col = 0; col < N; col++) {
            double sum = 0;
            for (size_t t = 0; t < times; t++)
                for (size_t k = 0; k < n; k++)
                    sum += value_get(type, v[0].data, (t * M + row) * ALL + k) *
                           value_get(type, v[1].data, k * N + col);
            value_set(TILE_FP32, v[2].data, row * N + col, sum);
        }
}

/* Each of `times` factors times n others, twice; and the first rows of these, summed up. */
void want_between(Slot *v) {
    enum { K = 32 };
    tile_type t = v[0].type;
    size_t N = v[2].n == 4096 ? 64 : 256, M = v[2].n / N;
    size_t times = (size_t)v[4].value, n = (size_t)v[5].value;
    double total = 0;
    for (size_t i = 0; i < n * times; i++)
        for (size_t col = 0; col < N; col++) total += value_get(t, v[1].data, i % n * K * N + col);
    value_set(TILE_FP32, v[3].data, 0, total);
    for (size_t row = 0; row < M; row++)
        for (size_t col = 0; col < N; col++) {
            double sum = 0;
            for (size_t turn = 0; turn < times; turn++)
                for (size_t k = 0; k < n * K; k++)
                    sum += 2 * value_get(t, v[0].data, (turn * M + row) * K + k % K) *
                           value_get(t, v[1].data, k * N + col);
            value_set(TILE_FP32, v[2].data, row * N + col, sum);
        }
}

/* n blocks of 16 products, less 5. */
void want_sectors(Slot *v) {
    enum { M = 64, N = 256, K = 16, LESS = 5 };
    tile_type t = v[0].type;
    size_t lda = (size_t)v[3].value, ldb = (size_t)v[4].value, skip = (size_t)v[5].value;
    size_t all = v[6].value ? (size_t)v[6].value * K - LESS : 0;
    for (size_t row = 0; row < M; row++)
        for (size_t col = 0; col < N; col++) {
            double sum = 0;
            for (size_t k = 0; k < all; k++)
                sum += value_get(t, v[0].data, skip + row * lda + k) *
                       value_get(t, v[1].data, skip + k * ldb + col);
            value_set(TILE_FP32, v[2].data, row * N + col, sum);
        }
}

void want_pipeline(Slot *v) {
    enum { M = 64, N = 32, K = 32, MOST = 8, ALL = MOST * K };
    tile_type t = v[0].type;
    int8_t *w = v[2].data;
    int32_t *rows = v[3].data, *chain = v[6].data;
    size_t n = (size_t)v[7].value;
    for (int i = 0; i < ALL; i++) rows[i] = i % 5 == 4 ? -1 : (i * 37 + 11) % ALL;
    for (size_t i = 0; i < M; i++)
        for (size_t j = 0; j < N; j++) {
            double sum[5] = {0};
            for (size_t k = 0; k < n * K; k++) {
                double a = value_get(t, v[0].data, i * ALL + k);
                sum[0] += a * value_get(t, v[1].data, k * N + j);
                if (rows[k] >= 0) sum[1] += a * value_get(t, v[1].data, (size_t)rows[k] * N + j);
                sum[2] += a * (k < ALL / 2 ? w[k * N + j] : 1);
            }
            for (size_t k = 0; k < n / 2 * K; k++)
                sum[3] +=
                    value_get(t, v[0].data, i * ALL + 2 * k) * value_get(t, v[1].data, k * N + j);
            for (size_t k = 0; k < n / 2 * K; k++) {
                size_t block = k / K, from = (block / 2 * 3 + block % 2) * K + k % K;
                sum[4] +=
                    value_get(t, v[0].data, i * ALL + from) * value_get(t, v[1].data, from * N + j);
            }
            for (size_t k = 0; k < 5; k++)
                value_set(TILE_FP32, v[4].data, (k * M + i) * N + j, sum[k]);
        }
    for (size_t k = 0; k < K; k++)
        for (size_t j = 0; j < N; j++) {
            double total = 0;
            for (size_t i = 0; i < n; i++)
                total += k < K - i ? value_get(t, v[1].data, (i * K + k) * N + j) : 3;
            value_set(TILE_FP32, v[5].data, k * N + j, total);
            total = value_get(t, v[1].data, k * N + j) + value_get(t, v[1].data, (K + k) * N + j);
            value_set(TILE_FP32, v[5].data, (K + k) * N + j, total);
        }
    for (size_t j = 0; j < N; j++) {
        chain[j] = (int32_t)j;
        for (size_t i = 0; i < n; i++) chain[(i + 1) * N + j] = chain[i * N + j] * 3 + 1;
    }
}
