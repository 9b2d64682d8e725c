/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* examples_rows.c: the examples that work on rows of a matrix: softmax, layer norm, RMS norm, cross
 * entropy, running sums. References in double precision; every bound is derived where it is made.
 *
 * U is half of single precision's last place: what one operation may be off by, relatively.
 * Division and square root on a GPU are off by two last places at most. */
#include "tests/run/examples.h"

#include <math.h>
#include <stdlib.h>

#define U 0x1p-24
#define APPROX 0x1p-22

typedef struct Shape {
    size_t rows, cols;
    int num_warps;
    bool plain; /* no specialisation */
} Shape;

enum { MAX_SHAPES = 16 };

/* Every size around the block as the number of columns; few rows and many; several warps. */
static int list_shapes(const Example *x, size_t block, Shape *list) {
    static const size_t rows[] = {0, 1, 33};
    static const int warps[] = {1, 2, 8};
    size_t size[NSIZES];
    int n = 0;
    example_sizes(block, size);
    for (int i = x->s->size == SIZE_TINY ? 2 : 1; i < (x->s->size == SIZE_TINY ? 5 : NSIZES); i++)
        list[n++] = (Shape){5, size[i], 0, false};
    for (int i = 0; i < 3; i++) list[n++] = (Shape){rows[i], block, 0, i == 2};
    for (int i = 0; i < 3 && example_has_warps(x); i++)
        list[n++] = (Shape){5, block + 1, warps[i], false};
    if (x->s->size == SIZE_FULL) list[n++] = (Shape){1823, 4 * block + 16, 0, false};
    return n;
}

static const tile_type floats[] = {TILE_FP32, TILE_FP16, TILE_BF16};

/* ---- softmax ---- */

/* The exponentials and their sum are off by what exp, the sum and the subtraction of the maximum
 * are (its error grows with the distance); then one division, and the store rounds. The online
 * kernel scales its sum once for each block: one exp and one rounding more. */
static void softmax_row(tile_type t, const double *in, size_t n, size_t blocks, double *want,
                        double *bound) {
    double top = -INFINITY, least = INFINITY, total = 0;
    for (size_t i = 0; i < n; i++) top = fmax(top, in[i]), least = fmin(least, in[i]);
    for (size_t i = 0; i < n; i++) total += exp(in[i] - top);
    double span = top - least;
    double sum = sum_error(n) + (double)(1 + blocks) * (exp_error(span) + span * U + U);
    for (size_t i = 0; i < n; i++) {
        double d = top - in[i];
        want[i] = exp(-d) / total;
        bound[i] = want[i] * (exp_error(d) + d * U + sum + APPROX) + rounding(t, want[i]);
    }
}

static void softmax_case(Example *x, tile_type t, const Shape *h, bool online) {
    size_t n = h->rows * h->cols, block = online ? 64 : next_power_of_2(h->cols);
    example_begin(x, "examples/softmax.tl", online ? "softmax_online" : "softmax", h->num_warps,
                  "softmax%s %s %zux%zu %d warps", online ? "_online" : "", type_name(t), h->rows,
                  h->cols, h->num_warps);
    example_define(x, "BLOCK=%zu", block);
    example_unspecialised(x, h->plain);
    const double *in = example_in(x, t, n, FILL_NORMAL);
    int out = example_out(x, t, n);
    example_int(x, (int64_t)h->rows);
    example_int(x, (int64_t)h->cols);
    example_int(x, (int64_t)h->cols);
    example_int(x, (int64_t)h->cols);
    if (example_run(x, NULL)) {
        double *want = suite_alloc(n * sizeof *want), *bound = suite_alloc(n * sizeof *bound);
        for (size_t r = 0; r < n; r += h->cols)
            softmax_row(t, in + r, h->cols, online ? h->cols / block + 1 : 0, want + r, bound + r);
        example_check(x, out, want, bound);
        free(want);
        free(bound);
    }
    example_end(x);
}

void cases_softmax(Example *x) {
    Shape shape[MAX_SHAPES];
    int n = list_shapes(x, 128, shape);
    for (int t = 0; t < 3; t++)
        for (int i = 0; i < n; i++)
            for (int online = 0; online < 2; online++)
                softmax_case(x, floats[t], &shape[i], online);
}

/* ---- layer norm ---- */

typedef struct Norm {
    double mean, rstd;             /* exact */
    double mean_error, rstd_error; /* absolute, relative */
} Norm;

/* The mean is a sum and a division. The variance adds up squares of what is off by the mean's error
 * (whose share in it cancels but for its square) and by one rounding; then eps is added, and a root
 * and a division follow. */
static Norm norm_of(const double *in, size_t n, double eps) {
    double sum = 0, size = 0, squares = 0;
    for (size_t i = 0; i < n; i++) sum += in[i], size += fabs(in[i]);
    Norm m = {.mean = sum / (double)n};
    m.mean_error = sum_error(n) * size / (double)n + APPROX * fabs(m.mean);
    for (size_t i = 0; i < n; i++) squares += (in[i] - m.mean) * (in[i] - m.mean);
    double variance = squares / (double)n;
    m.rstd = 1 / sqrt(variance + eps);
    double off = m.mean_error * m.mean_error * m.rstd * m.rstd;
    m.rstd_error = (off + sum_error(n) + 6 * U + APPROX) / 2 + 2 * APPROX;
    return m;
}

static void norm_row(tile_type t, const Norm *m, const double *in, const double *weight,
                     const double *bias, size_t n, double *want, double *bound) {
    for (size_t i = 0; i < n; i++) {
        double scaled = (in[i] - m->mean) * m->rstd * weight[i], w = fabs(weight[i] * m->rstd);
        want[i] = scaled + bias[i];
        bound[i] = w * m->mean_error + fabs(scaled) * (m->rstd_error + 4 * U) + U * fabs(want[i]) +
                   rounding(t, want[i]);
    }
}

enum { GROUPS = 4 }; /* rows of partial sums in the backward pass */

/* The backward pass, the gradients of weight and bias in GROUPS rows and their sums. Its inputs x,
 * mean and rstd are the forward pass's, so mean and rstd carry their errors along. */
typedef struct Backward {
    const double *x, *weight, *dy;
    const Norm *norm;
    double *dx, *dx_bound, *dw, *dw_bound, *db, *db_bound;
} Backward;

/* xhat is off by e: the mean's error, and relatively by rstd's and three roundings. c1 and c2 are
 * sums of products that carry it; dx puts them together. */
static void backward_row(const Backward *b, tile_type t, size_t row, size_t n) {
    const double *in = b->x + row * n, *dy = b->dy + row * n;
    const Norm *m = &b->norm[row];
    double c1 = 0, c2 = 0, off1 = 0, off2 = 0, size1 = 0, count = (double)n;
    for (size_t i = 0; i < n; i++) {
        double xhat = (in[i] - m->mean) * m->rstd, wdy = b->weight[i] * dy[i];
        double e = m->mean_error * m->rstd + fabs(xhat) * (m->rstd_error + 3 * U);
        c1 += xhat * wdy;
        c2 += wdy;
        off1 += fabs(wdy) * e;
        size1 += fabs(xhat * wdy);
        off2 += fabs(wdy);
        b->dw[i] += dy[i] * xhat;
        b->dw_bound[i] += fabs(dy[i]) * e + 3 * U * fabs(dy[i] * xhat);
        b->db[i] += dy[i];
    }
    c1 /= count, c2 /= count;
    off1 = off1 / count + (sum_error(n) + 3 * U + APPROX) * size1 / count;
    off2 = (sum_error(n) + 2 * U + APPROX) * off2 / count;
    for (size_t i = 0; i < n; i++) {
        double xhat = (in[i] - m->mean) * m->rstd, wdy = b->weight[i] * dy[i];
        double e = m->mean_error * m->rstd + fabs(xhat) * (m->rstd_error + 3 * U);
        double dx = (wdy - (xhat * c1 + c2)) * m->rstd;
        double size = fabs(wdy) + fabs(xhat * c1) + fabs(c2);
        b->dx[row * n + i] = dx;
        b->dx_bound[row * n + i] =
            m->rstd * (e * fabs(c1) + fabs(xhat) * off1 + off2 + 4 * U * size) +
            fabs(dx) * (m->rstd_error + 2 * U) + rounding(t, dx);
    }
}

static double *zeros(size_t n) {
    double *p = suite_alloc(n * sizeof *p);
    for (size_t i = 0; i < n; i++) p[i] = 0;
    return p;
}

static void check_backward(Example *x, tile_type t, const Shape *h, Backward *b, const int *out) {
    size_t n = h->rows * h->cols;
    b->dx = zeros(n), b->dx_bound = zeros(n);
    b->dw = zeros(h->cols), b->dw_bound = zeros(h->cols);
    b->db = zeros(h->cols), b->db_bound = zeros(h->cols);
    for (size_t r = 0; r < h->rows; r++) backward_row(b, t, r, h->cols);
    /* Each sum over the rows goes through an addition for each row, at most. */
    for (size_t i = 0; i < n; i++) {
        double xhat = (b->x[i] - b->norm[i / h->cols].mean) * b->norm[i / h->cols].rstd;
        b->dw_bound[i % h->cols] += fabs(b->dy[i] * xhat) * (double)(h->rows + GROUPS) * U;
        b->db_bound[i % h->cols] += fabs(b->dy[i]) * (double)(h->rows + GROUPS) * U;
    }
    example_check(x, out[0], b->dx, b->dx_bound);
    if (h->rows >= GROUPS) { /* else some rows of partial sums were never written */
        example_check(x, out[1], b->dw, b->dw_bound);
        example_check(x, out[2], b->db, b->db_bound);
    }
    free(b->dx), free(b->dx_bound);
    free(b->dw), free(b->dw_bound);
    free(b->db), free(b->db_bound);
}

/* Buffers of the forward pass, by the order of its parameters. */
enum { LN_X, LN_Y, LN_WEIGHT, LN_BIAS, LN_MEAN, LN_RSTD, LN_DY, LN_DX, LN_DWS, LN_DBS };

static void backward_case(Example *x, tile_type t, const Shape *h, Backward *b) {
    size_t n = h->rows * h->cols;
    x->nargs = 0;
    example_kernel(x, "layer_norm_backward");
    example_define(x, "BLOCK=%zu GROUPS=%d", next_power_of_2(h->cols), GROUPS);
    b->dy = example_in(x, t, n, FILL_SMALL);
    example_again(x, LN_X);
    example_again(x, LN_WEIGHT);
    example_again(x, LN_MEAN);
    example_again(x, LN_RSTD);
    example_out(x, t, n);
    example_out(x, TILE_FP32, GROUPS * h->cols);
    example_out(x, TILE_FP32, GROUPS * h->cols);
    example_zeros(x, TILE_I32, 2 * GROUPS);
    example_int(x, (int64_t)h->rows);
    example_int(x, (int64_t)h->cols);
    example_int(x, (int64_t)h->cols);
    bool ran = example_run(x, NULL);
    if (h->rows < GROUPS) {
        if (ran) check_backward(x, t, h, b, (int[]){LN_DX, -1, -1});
        return;
    }
    example_kernel(x, "layer_norm_backward_sum");
    example_define(x, "BM=16 BN=32");
    example_again(x, LN_DWS);
    example_again(x, LN_DBS);
    int dw = example_out(x, TILE_FP32, h->cols), db = example_out(x, TILE_FP32, h->cols);
    example_int(x, GROUPS);
    example_int(x, (int64_t)h->cols);
    if ((example_run(x, NULL)) && ran) check_backward(x, t, h, b, (int[]){LN_DX, dw, db});
}

static void layer_norm_case(Example *x, tile_type t, const Shape *h) {
    const float eps = 1e-5f;
    size_t n = h->rows * h->cols;
    example_begin(x, "examples/layer_norm.tl", "layer_norm", h->num_warps,
                  "layer_norm %s %zux%zu %d warps", type_name(t), h->rows, h->cols, h->num_warps);
    example_define(x, "BLOCK=%zu", next_power_of_2(h->cols));
    example_unspecialised(x, h->plain);
    const double *in = example_in(x, t, n, FILL_NORMAL);
    example_out(x, t, n);
    const double *weight = example_in(x, t, h->cols, FILL_NORMAL);
    const double *bias = example_in(x, t, h->cols, FILL_NORMAL);
    example_out(x, TILE_FP32, h->rows);
    example_out(x, TILE_FP32, h->rows);
    example_int(x, (int64_t)h->rows);
    example_int(x, (int64_t)h->cols);
    example_int(x, (int64_t)h->cols);
    example_float(x, (double)eps);
    Norm *norm = suite_alloc(h->rows * sizeof *norm);
    if (example_run(x, NULL)) {
        double *want = zeros(n), *bound = zeros(n);
        for (size_t r = 0; r < h->rows; r++) {
            norm[r] = norm_of(in + r * h->cols, h->cols, (double)eps);
            norm_row(t, &norm[r], in + r * h->cols, weight, bias, h->cols, want + r * h->cols,
                     bound + r * h->cols);
        }
        example_check(x, LN_Y, want, bound);
        for (size_t r = 0; r < h->rows; r++) want[r] = norm[r].mean, bound[r] = norm[r].mean_error;
        example_check(x, LN_MEAN, want, bound);
        for (size_t r = 0; r < h->rows; r++) {
            want[r] = norm[r].rstd;
            bound[r] = norm[r].rstd * norm[r].rstd_error;
        }
        example_check(x, LN_RSTD, want, bound);
        free(want);
        free(bound);
    }
    Backward b = {.x = in, .weight = weight, .norm = norm};
    backward_case(x, t, h, &b);
    free(norm);
    example_end(x);
}

void cases_layer_norm(Example *x) {
    Shape shape[MAX_SHAPES];
    int n = list_shapes(x, 128, shape);
    for (int t = 0; t < 3; t++)
        for (int i = 0; i < n; i++) layer_norm_case(x, floats[t], &shape[i]);
}

/* ---- RMS norm ---- */

static void rms_norm_case(Example *x, tile_type t, const Shape *h) {
    const float eps = 1e-6f;
    size_t n = h->rows * h->cols;
    example_begin(x, "examples/rms_norm.tl", NULL, h->num_warps, "rms_norm %s %zux%zu %d warps",
                  type_name(t), h->rows, h->cols, h->num_warps);
    example_define(x, "BLOCK=%zu", next_power_of_2(h->cols));
    example_unspecialised(x, h->plain);
    const double *in = example_in(x, t, n, FILL_NORMAL);
    int out = example_out(x, t, n);
    const double *weight = example_in(x, t, h->cols, FILL_NORMAL);
    example_int(x, (int64_t)h->rows);
    example_int(x, (int64_t)h->cols);
    example_int(x, (int64_t)h->cols);
    example_float(x, (double)eps);
    if (example_run(x, NULL)) {
        double *want = zeros(n), *bound = zeros(n), squares = 0;
        for (size_t i = 0; i < n; i++) {
            if (i % h->cols == 0) {
                squares = 0;
                for (size_t j = 0; j < h->cols; j++) squares += in[i + j] * in[i + j];
            }
            want[i] = in[i] / sqrt(squares / (double)h->cols + (double)eps) * weight[i % h->cols];
            /* The sum of squares, a division and eps, halved by the root; the root; two products.
             */
            double off = (sum_error(h->cols) + 3 * U + APPROX) / 2 + APPROX + 2 * U;
            bound[i] = fabs(want[i]) * off + rounding(t, want[i]);
        }
        example_check(x, out, want, bound);
        free(want);
        free(bound);
    }
    example_end(x);
}

void cases_rms_norm(Example *x) {
    Shape shape[MAX_SHAPES];
    int n = list_shapes(x, 128, shape);
    for (int t = 0; t < 3; t++)
        for (int i = 0; i < n; i++) rms_norm_case(x, floats[t], &shape[i]);
}

/* ---- cross entropy ---- */

enum { IGNORE = -100, CE_BLOCK = 64 };

typedef struct Entropy {
    double lse, lse_error;
} Entropy;

/* The sum as in the online softmax; its logarithm turns a relative error into an absolute one and
 * adds its own; then the maximum is added. */
static Entropy entropy_of(const double *in, size_t n) {
    double top = -INFINITY, least = INFINITY, total = 0;
    for (size_t i = 0; i < n; i++) top = fmax(top, in[i]), least = fmin(least, in[i]);
    for (size_t i = 0; i < n; i++) total += exp(in[i] - top);
    double span = top - least, blocks = (double)n / CE_BLOCK + 2;
    double sum = sum_error(n) + blocks * (exp_error(span) + span * U + U);
    Entropy e = {.lse = top + log(total)};
    e.lse_error = sum + APPROX * (1 + fabs(log(total))) + U * fabs(e.lse);
    return e;
}

static void cross_entropy_case(Example *x, tile_type t, const Shape *h) {
    size_t n = h->rows * h->cols;
    double *labels = zeros(h->rows), *want = zeros(n + h->rows), *bound = zeros(n + h->rows);
    example_begin(x, "examples/cross_entropy.tl", "cross_entropy", h->num_warps,
                  "cross_entropy %s %zux%zu %d warps", type_name(t), h->rows, h->cols,
                  h->num_warps);
    example_define(x, "BLOCK=%d", CE_BLOCK);
    example_unspecialised(x, h->plain);
    for (size_t r = 0; r < h->rows; r++)
        labels[r] = r % 5 == 2 ? IGNORE : (double)(r * 7919 % h->cols);
    const double *in = example_in(x, t, n, FILL_NORMAL);
    example_values(x, TILE_I64, h->rows, labels);
    int loss = example_out(x, TILE_FP32, h->rows), lse = example_out(x, TILE_FP32, h->rows);
    example_int(x, (int64_t)h->rows);
    example_int(x, (int64_t)h->cols);
    example_int(x, (int64_t)h->cols);
    bool ran = example_run(x, NULL);
    for (size_t r = 0; r < h->rows && ran; r++) {
        Entropy e = entropy_of(in + r * h->cols, h->cols);
        bool ignored = labels[r] < 0;
        want[r] = ignored ? 0 : e.lse - in[r * h->cols + (size_t)labels[r]];
        bound[r] = ignored ? 0 : e.lse_error + U * fabs(want[r]);
    }
    if (ran) example_check(x, loss, want, bound);

    example_kernel(x, "cross_entropy_backward");
    example_again(x, 0);
    example_again(x, 1);
    const double *dloss = example_in(x, TILE_FP32, h->rows, FILL_NORMAL);
    example_again(x, lse);
    int dx = example_out(x, t, n);
    example_int(x, (int64_t)h->rows);
    example_int(x, (int64_t)h->cols);
    example_int(x, (int64_t)h->cols);
    ran = example_run(x, NULL) && ran;
    for (size_t i = 0; i < n && ran; i++) {
        size_t r = i / h->cols;
        Entropy e = entropy_of(in + r * h->cols, h->cols);
        double d = in[i] - e.lse, p = exp(d), one = (size_t)labels[r] == i % h->cols ? 1 : 0;
        bool ignored = labels[r] < 0;
        want[i] = ignored ? 0 : (p - one) * dloss[r];
        double off = p * (e.lse_error + exp_error(d) + fabs(d) * U) + 2 * U * fabs(p - one);
        bound[i] = ignored ? 0 : fabs(dloss[r]) * off + rounding(t, want[i]);
    }
    if (ran) example_check(x, dx, want, bound);
    example_end(x);
    free(labels);
    free(want);
    free(bound);
}

void cases_cross_entropy(Example *x) {
    Shape shape[MAX_SHAPES];
    int n = list_shapes(x, CE_BLOCK, shape);
    for (int t = 0; t < 3; t++)
        for (int i = 0; i < n; i++)
            if (shape[i].rows < 1000) cross_entropy_case(x, floats[t], &shape[i]);
}

/* ---- running sums ---- */

/* Whole numbers add up exactly, whatever the order. Others: within a block a number goes through
 * as many additions as in a sum, then one for each block before. */
static void cumsum_case(Example *x, tile_type in_type, tile_type acc, const Shape *h, bool whole) {
    size_t n = h->rows * h->cols, block = 128;
    example_begin(x, "examples/cumsum.tl", NULL, h->num_warps, "cumsum %s in %s %zux%zu %d warps%s",
                  type_name(in_type), type_name(acc), h->rows, h->cols, h->num_warps,
                  whole ? " whole numbers" : "");
    example_define(x, "BLOCK=%zu ACC=%s", block,
                   acc == TILE_I64    ? "int64"
                   : acc == TILE_FP64 ? "float64"
                                      : "float32");
    const double *in = example_in(x, in_type, n, whole ? FILL_WHOLE : FILL_NORMAL);
    int out = example_out(x, acc, n);
    example_int(x, (int64_t)h->rows);
    example_int(x, (int64_t)h->cols);
    example_int(x, (int64_t)h->cols);
    if (example_run(x, NULL)) {
        double *want = zeros(n), *bound = zeros(n), sum = 0, size = 0;
        for (size_t i = 0; i < n; i++) {
            if (i % h->cols == 0) sum = size = 0;
            want[i] = sum += in[i];
            size += fabs(in[i]);
            bound[i] = 2 * size * (sum_error(block) + (double)(i % h->cols / block) * U);
        }
        example_check(x, out, want, whole ? NULL : bound);
        free(want);
        free(bound);
    }
    example_end(x);
}

void cases_cumsum(Example *x) {
    Shape shape[MAX_SHAPES];
    int n = list_shapes(x, 128, shape);
    for (int i = 0; i < n; i++) {
        cumsum_case(x, TILE_FP32, TILE_FP32, &shape[i], true);
        cumsum_case(x, TILE_FP32, TILE_FP32, &shape[i], false);
        cumsum_case(x, TILE_BF16, TILE_FP32, &shape[i], false);
        cumsum_case(x, TILE_I8, TILE_I64, &shape[i], true);
        cumsum_case(x, TILE_FP64, TILE_FP64, &shape[i], true);
    }
}
