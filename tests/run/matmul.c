/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* matmul.c: examples/matmul.tl on every shape: small and odd sizes, transposed operands, fp16, bf16
 * and fp32, with and without the fused activation.
 *
 * All products are of corners of one pair of 1024 x 1024 matrices, so one reference serves all
 * shapes: the sums over the first K products, kept for all rows and columns and carried on from one
 * K to the next. Two kinds of data: small whole numbers, whose sums are exact whatever the order,
 * compared bit for bit; and normal ones, compared with a bound. */
#include "tests/run/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1024, NARGS = 12 };

typedef struct Case {
    tile_type type;
    size_t m, n, k;
    bool a_transposed, b_transposed, activation, unspecialised;
} Case;

typedef struct Matmul {
    Suite *s;
    tile_type type;
    bool whole;
    size_t k;                       /* how many products are in sum */
    double *a, *b;                  /* rounded to the type, rows of MOST */
    unsigned char *a_bits, *b_bits; /* the same as the type holds them */
    double *sum, *size;             /* of the products, of their absolute values */
    unsigned char *host;            /* one matrix of the type */
    unsigned char *want; /* for whole numbers: the results' bits, without and with activation */
    Array da, db, dc;
    char text[200]; /* of case_text */
} Matmul;

/* The kernel multiplies by a single-precision 0.01. */
static double activate(double x, bool activation) {
    return activation && x < 0 ? (double)((float)x * 0.01f) : x;
}

/* Adds products k, k+1, … to_k-1 to every sum. */
static void carry_on(Matmul *w, size_t to_k) {
    for (size_t k = w->k; k < to_k; k++)
        for (size_t i = 0; i < MOST; i++) {
            double x = w->a[i * MOST + k], *sum = w->sum + i * MOST, *size = w->size + i * MOST;
            const double *b = w->b + k * MOST;
            for (size_t j = 0; j < MOST; j++) sum[j] += x * b[j];
            for (size_t j = 0; j < MOST && !w->whole; j++) size[j] += fabs(x * b[j]);
        }
    w->k = to_k;
    size_t n = (size_t)MOST * MOST;
    for (size_t i = 0; i < n && w->whole; i++) {
        value_set(w->type, w->want, i, w->sum[i]);
        value_set(w->type, w->want, n + i, activate(w->sum[i], true));
    }
}

static void start(Matmul *w, tile_type type, bool whole) {
    uint64_t state = 2 * (uint64_t)type + whole;
    w->type = type;
    w->whole = whole;
    w->k = 0;
    for (size_t i = 0; i < (size_t)MOST * MOST; i++) {
        double x = whole ? (double)(random_bits(&state) % 9) - 4 : random_normal(&state);
        double y = whole ? (double)(random_bits(&state) % 9) - 4 : random_normal(&state);
        value_set(type, w->a_bits, i, x);
        value_set(type, w->b_bits, i, y);
        w->a[i] = value_get(type, w->a_bits, i);
        w->b[i] = value_get(type, w->b_bits, i);
        w->sum[i] = w->size[i] = 0;
    }
}

/* ---- one case ---- */

static const char *case_text(Matmul *w, const Case *c) {
    snprintf(w->text, sizeof w->text, "matmul %s %zux%zux%zu%s%s%s%s, %s", type_name(c->type), c->m,
             c->n, c->k, c->a_transposed ? ", a transposed" : "",
             c->b_transposed ? ", b transposed" : "", c->activation ? ", leaky_relu" : "",
             c->unspecialised ? ", unspecialised" : "", w->whole ? "whole numbers" : "normal data");
    return w->text;
}

/* Small tiles on the CPU: many programs there too, and little work for tiles that are mostly empty.
 */
static Source case_source(const Suite *s, const Case *c) {
    static const char *const defines[2][2] = {
        {"", "ACTIVATION=leaky_relu"},
        {"BM=32 BN=32 BK=32 GROUP_M=2", "BM=32 BN=32 BK=32 GROUP_M=2 ACTIVATION=leaky_relu"}};
    return (Source){.file = "examples/matmul.tl",
                    .defines = defines[s->on_cpu][c->activation],
                    .unspecialised = c->unspecialised};
}

static void case_args(const Case *c, Array *a, Array *b, Array *d, Arg *args) {
    size_t number[] = {c->m,
                       c->n,
                       c->k,
                       c->a_transposed ? 1 : c->k,
                       c->a_transposed ? c->m : 1,
                       c->b_transposed ? 1 : c->n,
                       c->b_transposed ? c->k : 1,
                       c->n,
                       1};
    args[0] = give_array(a);
    args[1] = give_array(b);
    args[2] = give_array(d);
    for (int i = 0; i < 9; i++) args[3 + i] = give_int(TILE_I32, (int64_t)number[i]);
}

/* The upper left corner of a matrix, in rows or in columns, on the device. */
static bool upload(Matmul *w, Array *to, const unsigned char *from, size_t rows, size_t cols,
                   bool transposed, size_t shift) {
    size_t es = type_size(w->type);
    if (!array_make(w->s, to, w->type, rows * cols, shift)) return false;
    for (size_t i = 0; i < rows; i++) {
        if (!transposed) memcpy(w->host + i * cols * es, from + i * MOST * es, cols * es);
        for (size_t j = 0; j < cols && transposed; j++)
            memcpy(w->host + (j * rows + i) * es, from + (i * MOST + j) * es, es);
    }
    return array_write(w->s, to, w->host);
}

/* What the result may be off by. The products are exact in single precision, but those of fp32,
 * whose factors a dot cuts to tf32 unless told otherwise: each is off by less than 2^-10. k
 * products are added, every sum at worst cut off at 2^-23 of what has been added up; the activation
 * rounds once more, and so does the store: half of the type's last place, or of its smallest step.
 */
static double bound(const Matmul *w, const Case *c, double want, double size) {
    int precision = w->type == TILE_FP16 ? 11 : w->type == TILE_BF16 ? 8 : 24;
    double off = (double)c->k * 0x1p-23 * size + ldexp(fabs(want), -precision);
    if (w->type == TILE_FP32) off += 2 * 0x1p-10 * size;
    if (c->activation) off += 0x1p-23 * fabs(want);
    return 1.01 * off + 0x1p-25;
}

static void check_result(Matmul *w, const Case *c, const unsigned char *got) {
    size_t es = type_size(w->type), row = 0, col = 0;
    bool right = true;
    for (row = 0; row < c->m; row++) {
        const unsigned char *line = got + row * c->n * es;
        size_t at = row * MOST + (c->activation ? (size_t)MOST * MOST : 0);
        if (w->whole && memcmp(line, w->want + at * es, c->n * es) == 0) continue;
        for (col = 0; col < c->n && right; col++) {
            double want = activate(w->sum[row * MOST + col], c->activation);
            double off = fabs(value_get(w->type, line, col) - want);
            right = w->whole ? memcmp(line + col * es, w->want + (at + col) * es, es) == 0
                             : off <= bound(w, c, want, w->size[row * MOST + col]);
        }
        if (!right) break;
    }
    suite_case(w->s, right, "%s: element (%zu, %zu) is %.9g, not %.9g", case_text(w, c), row,
               col - 1, right ? 0 : value_get(w->type, got, row * c->n + col - 1),
               right ? 0 : activate(w->sum[row * MOST + col - 1], c->activation));
}

static void run_case(Matmul *w, const Case *c) {
    size_t shift = c->unspecialised ? 1 : 0;
    Arg args[NARGS];
    Source source = case_source(w->s, c);
    const char *why;
    bool ok = upload(w, &w->da, w->a_bits, c->m, c->k, c->a_transposed, shift) &&
              upload(w, &w->db, w->b_bits, c->k, c->n, c->b_transposed, shift) &&
              array_make(w->s, &w->dc, w->type, c->m * c->n, shift) &&
              array_poison(w->s, &w->dc, 0xFF); /* NaN: no result of ours */
    if (!ok) return;
    case_args(c, &w->da, &w->db, &w->dc, args);
    if (!kernel_run(w->s, &source, NULL, args, NARGS, &why)) {
        suite_case(w->s, false, "%s: %s", case_text(w, c), why);
        return;
    }
    const void *got = array_read(w->s, &w->dc, case_text(w, c));
    if (got) check_result(w, c, got);
}

/* ---- all cases ---- */

/* In groups by type and then by K, which the reference grows with. */
static size_t list_cases(Size size, Case *list) {
    static const tile_type types[] = {TILE_FP16, TILE_BF16, TILE_FP32};
    static const size_t full[] = {1, 15, 64, 100, 257, 1024}, tiny[] = {1, 15, 100};
    const size_t *dim = size == SIZE_TINY ? tiny : full;
    size_t ndims = size == SIZE_FULL ? 6 : size == SIZE_SMALL ? 4 : 3, count = 0;
    for (int t = 0; t < 3; t++)
        for (size_t i = 0; i < ndims * ndims * ndims; i++)
            for (int bits = 0; bits < 16; bits++) {
                Case c = {types[t], dim[i / ndims % ndims], dim[i % ndims], dim[i / ndims / ndims],
                          bits & 1, bits >> 1 & 1,          bits >> 2 & 1,  bits >> 3 & 1};
                /* Single precision and no specialisation: the smaller shapes, no activation. */
                bool rare = c.type == TILE_FP32 || c.unspecialised;
                if (rare && (c.activation || c.m > 257 || c.n > 257 || c.k > 257)) continue;
                if (c.unspecialised && c.type != TILE_FP16) continue;
                if (size == SIZE_TINY && (c.activation != c.a_transposed)) continue;
                list[count++] = c;
            }
    return count;
}

void run_matmul(Suite *s) {
    size_t n = (size_t)MOST * MOST;
    Matmul w = {.s = s,
                .a = suite_alloc(n * sizeof(double)),
                .b = suite_alloc(n * sizeof(double)),
                .sum = suite_alloc(n * sizeof(double)),
                .size = suite_alloc(n * sizeof(double)),
                .a_bits = suite_alloc(n * sizeof(float)),
                .b_bits = suite_alloc(n * sizeof(float)),
                .host = suite_alloc(n * sizeof(float)),
                .want = suite_alloc(2 * n * sizeof(float))};
    Case *list = suite_alloc(3 * 216 * 16 * sizeof *list);
    size_t count = list_cases(s->size, list);
    for (size_t i = 0; i < count; i++) {
        Arg args[NARGS];
        Array some = {.type = list[i].type, .ptr = list[i].unspecialised ? 2 : 256};
        Source source = case_source(s, &list[i]);
        case_args(&list[i], &some, &some, &some, args);
        variant_expect(s, &source, args, NARGS);
    }
    variants_compile(s);
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first; end < count && list[end].type == list[first].type;) end++;
        for (int whole = 0; whole < 2; whole++) {
            start(&w, list[first].type, whole);
            for (size_t i = first; i < end; i++) {
                if (w.k != list[i].k) carry_on(&w, list[i].k);
                run_case(&w, &list[i]);
            }
            suite_group(s, "matmul %s, %s", type_name(w.type),
                        whole ? "whole numbers, bit for bit" : "normal data, with a bound");
        }
    }
    array_free(s, &w.da);
    array_free(s, &w.db);
    array_free(s, &w.dc);
    free(w.a);
    free(w.b);
    free(w.sum);
    free(w.size);
    free(w.a_bits);
    free(w.b_bits);
    free(w.host);
    free(w.want);
    free(list);
}
