/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* examples_elements.c: the examples that work on elements: dropout, SwiGLU, rotary embedding, the
 * grey picture with expand_dims, and the demonstration of swizzle2d. References in double
 * precision; U is half of single precision's last place, APPROX what a division on a GPU may be off
 * by. */
#include "tests/run/examples.h"

#include <math.h>
#include <stdlib.h>

#define U 0x1p-24
#define APPROX 0x1p-22

static const tile_type floats[] = {TILE_FP32, TILE_FP16, TILE_BF16};
static const int warps[] = {0, 1, 8};

static double *numbers(size_t n) {
    return suite_alloc(n * sizeof(double));
}

/* ---- dropout ---- */

/* Philox with 4 words of 32 bits and 10 rounds (Salmon et al. 2011): the first word. */
static uint32_t philox(uint64_t seed, uint32_t counter) {
    uint32_t c[4] = {counter, 0, 0, 0}, k[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    for (int round = 0; round < 10; round++) {
        uint64_t p = 0xD2511F53ull * c[0], q = 0xCD9E8D57ull * c[2];
        uint32_t next[4] = {(uint32_t)(q >> 32) ^ c[1] ^ k[0], (uint32_t)q,
                            (uint32_t)(p >> 32) ^ c[3] ^ k[1], (uint32_t)p};
        for (int i = 0; i < 4; i++) c[i] = next[i];
        k[0] += 0x9E3779B9u;
        k[1] += 0xBB67AE85u;
    }
    return c[0];
}

/* As Triton makes a float of [0, 1) of it. */
static float uniform(uint32_t word) {
    int32_t x = (int32_t)word;
    return (float)(x < 0 ? -x - 1 : x) * 4.6566127342e-10f;
}

static void dropout_case(Example *x, tile_type t, size_t n, double p, int seed, int num_warps) {
    example_begin(x, "examples/dropout.tl", NULL, num_warps,
                  "dropout %s n=%zu p=%g seed=%d %d warps", type_name(t), n, p, seed, num_warps);
    example_define(x, "BLOCK=256");
    const double *in = example_in(x, t, n, FILL_NORMAL);
    int out = example_out(x, t, n);
    example_int(x, (int64_t)n);
    example_float(x, p);
    example_int(x, seed);
    if (example_run(x, NULL)) {
        double *want = numbers(n), *bound = numbers(n);
        for (size_t i = 0; i < n; i++) {
            /* The seed is a 32-bit number whose sign goes along. */
            bool keep = uniform(philox((uint64_t)(int64_t)seed, (uint32_t)i)) > (float)p;
            want[i] = keep ? in[i] / (1 - (double)(float)p) : 0;
            /* 1 - p is rounded, and the division. */
            bound[i] = keep ? fabs(want[i]) * (U + APPROX) + rounding(t, want[i]) : 0;
        }
        example_check(x, out, want, bound);
        free(want);
        free(bound);
    }
    example_end(x);
}

void cases_dropout(Example *x) {
    size_t size[NSIZES];
    example_sizes(256, size);
    for (int t = 0; t < 3; t++)
        for (int i = 0; i < NSIZES; i++) dropout_case(x, floats[t], size[i], 0.5, 123 + i, 0);
    for (int i = 0; i < 3; i++) {
        dropout_case(x, TILE_FP32, 775, 0.1, 16, warps[i]);
        dropout_case(x, TILE_FP32, 775, 0.9, -5, warps[i]);
    }
    dropout_case(x, TILE_FP32, 775, 0, 2147483647, 0);
}

/* ---- SwiGLU ---- */

/* sigmoid: an exponential, a sum, a division. */
static double sigmoid_error(double v) {
    return exp_error(v) + APPROX + 2 * U;
}

static void swiglu_case(Example *x, tile_type t, size_t n, int num_warps) {
    double *want = numbers(n), *bound = numbers(n), *want_up = numbers(n), *bound_up = numbers(n);
    example_begin(x, "examples/swiglu.tl", "swiglu", num_warps, "swiglu %s n=%zu %d warps",
                  type_name(t), n, num_warps);
    example_define(x, "BLOCK=256");
    const double *gate = example_in(x, t, n, FILL_NORMAL), *up = example_in(x, t, n, FILL_NORMAL);
    int out = example_out(x, t, n);
    example_int(x, (int64_t)n);
    bool ran = example_run(x, NULL);
    for (size_t i = 0; i < n && ran; i++) {
        want[i] = gate[i] / (1 + exp(-gate[i])) * up[i];
        bound[i] = fabs(want[i]) * (sigmoid_error(gate[i]) + 2 * U) + rounding(t, want[i]);
    }
    if (ran) example_check(x, out, want, bound);

    example_kernel(x, "swiglu_backward");
    const double *dout = example_in(x, t, n, FILL_NORMAL);
    example_again(x, 0);
    example_again(x, 1);
    int dgate = example_out(x, t, n), dup = example_out(x, t, n);
    example_int(x, (int64_t)n);
    ran = example_run(x, NULL) && ran;
    for (size_t i = 0; i < n && ran; i++) {
        double g = gate[i], s = 1 / (1 + exp(-g)), e = sigmoid_error(g);
        double d = dout[i] * up[i] * s, inner = 1 + g * (1 - s);
        want[i] = d * inner;
        /* 1 - s carries the absolute error of s; then five roundings. */
        bound[i] = fabs(d) * (e * fabs(inner) + fabs(g) * (e * s + 2 * U) + 5 * U * (1 + fabs(g))) +
                   rounding(t, want[i]);
        want_up[i] = dout[i] * g * s;
        bound_up[i] = fabs(want_up[i]) * (e + 2 * U) + rounding(t, want_up[i]);
    }
    if (ran) example_check(x, dgate, want, bound);
    if (ran) example_check(x, dup, want_up, bound_up);
    example_end(x);
    free(want), free(bound), free(want_up), free(bound_up);
}

void cases_swiglu(Example *x) {
    size_t size[NSIZES];
    example_sizes(256, size);
    for (int t = 0; t < 3; t++)
        for (int i = 0; i < NSIZES; i++) swiglu_case(x, floats[t], size[i], 0);
    for (int i = 0; i < 3; i++) swiglu_case(x, TILE_FP16, 775, warps[i]);
}

/* ---- rotary embedding ---- */

typedef struct Rotary {
    tile_type type;
    size_t tokens, heads, half;
    bool right_angles; /* sines and cosines are 0, 1 and -1: the results are exact */
    bool inverse;
    int num_warps;
} Rotary;

static void rotary_case(Example *x, const Rotary *h) {
    size_t points = h->tokens * h->half, n = h->tokens * h->heads * h->half * 2;
    double *c = numbers(points), *s = numbers(points), *want = numbers(n), *bound = numbers(n);
    for (size_t i = 0; i < points; i++) {
        static const double turn[] = {1, 0, -1, 0, 1};
        double angle = (double)(i / h->half) * pow(10000, -(double)(i % h->half) / (double)h->half);
        c[i] = h->right_angles ? turn[i % 4] : cos(angle);
        s[i] = h->right_angles ? turn[i % 4 + 1] : sin(angle);
    }
    example_begin(x, "examples/rotary.tl", NULL, h->num_warps,
                  "rotary %s %zu tokens %zu heads %zu points%s%s %d warps", type_name(h->type),
                  h->tokens, h->heads, h->half, h->right_angles ? " right angles" : "",
                  h->inverse ? " inverse" : "", h->num_warps);
    example_define(x, "BH=4 BLOCK=%zu INVERSE=%s", next_power_of_2(h->half),
                   h->inverse ? "True" : "False");
    const double *in = example_in(x, h->type, n, FILL_NORMAL);
    const double *cosines = example_values(x, TILE_FP32, points, c);
    const double *sines = example_values(x, TILE_FP32, points, s);
    int out = example_out(x, h->type, n);
    example_int(x, (int64_t)h->tokens);
    example_int(x, (int64_t)h->heads);
    example_int(x, (int64_t)h->half);
    bool ran = example_run(x, NULL);
    for (size_t i = 0; i < n && ran; i++) {
        size_t point = i % (2 * h->half) % h->half, row = i / (2 * h->half);
        size_t at = row / h->heads * h->half + point;
        bool second = i % (2 * h->half) >= h->half;
        double sine = h->inverse ? -sines[at] : sines[at];
        double p = in[i] * cosines[at], q = in[second ? i - h->half : i + h->half] * sine;
        want[i] = second ? p + q : p - q;
        /* Two products and a sum are rounded, then the store. */
        bound[i] = 2 * U * (fabs(p) + fabs(q)) + rounding(h->type, want[i]);
    }
    if (ran) example_check(x, out, want, h->right_angles ? NULL : bound);
    example_end(x);
    free(c), free(s), free(want), free(bound);
}

void cases_rotary(Example *x) {
    size_t heads[NSIZES], half[NSIZES];
    example_sizes(4, heads);
    example_sizes(16, half);
    for (int t = 0; t < 3; t++)
        for (int i = 1; i < NSIZES; i++) {
            rotary_case(x, &(Rotary){floats[t], 5, 3, half[i], false, i % 2, 0});
            rotary_case(x, &(Rotary){floats[t], 2, heads[i], 16, i % 2, false, 0});
        }
    for (int i = 0; i < 3; i++)
        rotary_case(x, &(Rotary){TILE_FP16, 7, 5, 64, true, true, warps[i]});
    rotary_case(x, &(Rotary){TILE_FP16, 0, 5, 16, false, false, 0});
}

/* ---- the grey picture ---- */

/* Three products and two sums, each off by U of at most 255: nearer to a whole number than that,
 * the dropped fraction may go either way. */
static void grey_case(Example *x, size_t h, size_t w, int num_warps) {
    static const double weight[] = {0.2989, 0.5870, 0.1140};
    size_t n = h * w;
    example_begin(x, "examples/rgb2grey_dims.tl", NULL, num_warps, "rgb2grey_dims %zux%zu %d warps",
                  h, w, num_warps);
    example_define(x, "BH=8 BW=32");
    const double *in = example_in(x, TILE_U8, 3 * n, FILL_BITS);
    int out = example_out(x, TILE_U8, n);
    example_int(x, (int64_t)h);
    example_int(x, (int64_t)w);
    if (example_run(x, NULL)) {
        double *want = numbers(n), *bound = numbers(n);
        for (size_t i = 0; i < n; i++) {
            double sum = weight[0] * in[i] + weight[1] * in[n + i] + weight[2] * in[2 * n + i];
            bool sure = fabs(sum - nearbyint(sum)) > 5 * 255 * U;
            want[i] = sure ? floor(sum) : nearbyint(sum) - 0.5;
            bound[i] = sure ? 0 : 0.5;
        }
        example_check(x, out, want, bound);
        free(want);
        free(bound);
    }
    example_end(x);
}

void cases_rgb2grey_dims(Example *x) {
    size_t rows[NSIZES], cols[NSIZES];
    example_sizes(8, rows);
    example_sizes(32, cols);
    for (int i = 0; i < NSIZES; i++) {
        grey_case(x, rows[i], 33, 0);
        grey_case(x, 9, cols[i], 0);
    }
    for (int i = 0; i < 3; i++) grey_case(x, 31, 97, warps[i]);
}

/* ---- swizzle2d ---- */

static void swizzle_case(Example *x, size_t rows, size_t cols, size_t group, const double *given) {
    size_t n = rows * cols, count = 0;
    double *want = numbers(n);
    /* Groups of rows, each walked column by column, are numbered in this order. */
    for (size_t first = 0; first < rows; first += group)
        for (size_t col = 0; col < cols; col++)
            for (size_t row = first; row < rows && row < first + group; row++)
                want[row * cols + col] = (double)count++;
    example_begin(x, "examples/swizzle2d_demo.tl", NULL, 0,
                  "swizzle2d_demo %zux%zu in groups of %zu", rows, cols, group);
    example_define(x, "ROWS=%zu COLS=%zu GROUP=%zu", rows, cols, group);
    example_in(x, TILE_I32, n, FILL_COUNT);
    int out = example_out(x, TILE_I32, n);
    if (example_run(x, NULL)) example_check(x, out, given ? given : want, NULL);
    example_end(x);
    free(want);
}

void cases_swizzle2d_demo(Example *x) {
    static const double given[] = {0, 3,  6,  9,  1,  4,  7,  10, 2,  5,
                                   8, 11, 12, 14, 16, 18, 13, 15, 17, 19};
    swizzle_case(x, 5, 4, 3, given);
    swizzle_case(x, 1, 1, 1, NULL);
    swizzle_case(x, 7, 5, 2, NULL);
    swizzle_case(x, 6, 3, 6, NULL);
    swizzle_case(x, 4, 9, 8, NULL);
}
