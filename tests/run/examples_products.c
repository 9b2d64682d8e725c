/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* examples_products.c: the matrix products among the examples: naive, swizzled and autotuned,
 * Stream-K, grouped, with weights of 4 bits. (matmul.tl itself has matmul.c.)
 *
 * References are sums in double precision, next to the sums of the products' sizes, which the
 * bounds are made of: k products of two numbers of at most 11 bits are exact in single precision,
 * and each of the k sums is at worst cut off at 2^-23 of what has been added up. */
#include "tests/run/examples.h"

#include <math.h>
#include <stdlib.h>

static const char *type_constant(tile_type t) {
    return t == TILE_FP16 ? "float16" : t == TILE_BF16 ? "bfloat16" : "float32";
}

typedef struct Product {
    size_t m, n, k;
    const double *a, *b; /* rows of k, of n; or as the steps say */
    size_t a_row, a_col, b_row, b_col;
    double *sum, *size;
} Product;

static void product_make(Product *p) {
    p->sum = suite_alloc(p->m * p->n * sizeof(double));
    p->size = suite_alloc(p->m * p->n * sizeof(double));
    for (size_t i = 0; i < p->m; i++)
        for (size_t j = 0; j < p->n; j++) {
            double sum = 0, size = 0;
            for (size_t k = 0; k < p->k; k++) {
                double x = p->a[i * p->a_row + k * p->a_col] * p->b[k * p->b_row + j * p->b_col];
                sum += x;
                size += fabs(x);
            }
            p->sum[i * p->n + j] = sum;
            p->size[i * p->n + j] = size;
        }
}

/* `factor`: what each product is off by, relatively; `parts`: how many sums of the type c were
 * added up to the result. */
static void product_check(Example *x, int buffer, Product *p, tile_type c, bool exact,
                          double factor, double parts) {
    for (size_t i = 0; i < p->m * p->n; i++) {
        double kept = p->size[i];
        p->size[i] = kept * ((double)p->k * 0x1p-23 + factor) + rounding(c, p->sum[i]) +
                     parts * rounding(c, kept);
    }
    example_check(x, buffer, p->sum, exact ? NULL : p->size);
    free(p->sum);
    free(p->size);
}

static void give_sizes(Example *x, size_t m, size_t n, size_t k) {
    example_int(x, (int64_t)m);
    example_int(x, (int64_t)n);
    example_int(x, (int64_t)k);
}

/* Strides of a (m x k), b (k x n) and c (m x n); a and b may lie column by column. */
static void give_strides(Example *x, const Product *p) {
    const size_t stride[] = {p->a_row, p->a_col, p->b_row, p->b_col, p->n, 1};
    for (int i = 0; i < 6; i++) example_int(x, (int64_t)stride[i]);
}

static Product product_of(size_t m, size_t n, size_t k, bool a_turned, bool b_turned) {
    return (Product){.m = m,
                     .n = n,
                     .k = k,
                     .a_row = a_turned ? 1 : k,
                     .a_col = a_turned ? m : 1,
                     .b_row = b_turned ? 1 : n,
                     .b_col = b_turned ? k : 1};
}

/* Sizes around a block in each dimension in turn. */
static int list_sizes(const Example *x, size_t block, size_t (*list)[3]) {
    size_t size[NSIZES];
    int n = 0;
    example_sizes(block, size);
    for (int d = 0; d < 3; d++)
        for (int i = 0; i < NSIZES; i++, n++) {
            if (x->s->size == SIZE_TINY && i != 1 && i != 4) {
                n--;
                continue;
            }
            list[n][0] = d == 0 ? size[i] : block + 1;
            list[n][1] = d == 1 ? size[i] : 2 * block;
            list[n][2] = d == 2 ? size[i] : block + 8;
        }
    return n;
}

enum { MAX_SHAPES = 3 * NSIZES };

/* ---- in four steps ---- */

typedef struct Step {
    const char *name, *defines;
    int config, num_warps;
    bool tf32; /* single precision is cut to 10 bits */
} Step;

static void matmul_case(Example *x, const Step *step, tile_type t, const size_t dim[3], int bits) {
    char file[100];
    Product p = product_of(dim[0], dim[1], dim[2], bits & 1, bits >> 1 & 1);
    bool whole = bits >> 2 & 1;
    snprintf(file, sizeof file, "examples/%s.tl", step->name);
    example_begin(x, file, NULL, step->num_warps, "%s %s %zux%zux%zu%s%s%s config %d %d warps",
                  step->name, type_name(t), p.m, p.n, p.k, bits & 1 ? " a turned" : "",
                  bits & 2 ? " b turned" : "", whole ? " whole numbers" : "", step->config,
                  step->num_warps);
    example_define(x, "%s", step->defines);
    x->source.config = step->config;
    example_unspecialised(x, bits >> 3 & 1);
    Fill how = whole ? FILL_SMALL : FILL_NORMAL;
    p.a = example_in(x, t, p.m * p.k, how);
    p.b = example_in(x, t, p.k * p.n, how);
    int c = example_out(x, t, p.m * p.n);
    give_sizes(x, p.m, p.n, p.k);
    give_strides(x, &p);
    if (example_run(x, NULL)) {
        product_make(&p);
        product_check(x, c, &p, t, whole, step->tf32 && t == TILE_FP32 ? 0x1p-9 : 0, 0);
    }
    example_end(x);
}

void cases_matmuls(Example *x) {
    static const tile_type types[] = {TILE_FP16, TILE_BF16, TILE_FP32};
    static const Step steps[] = {
        {"matmul_naive", "BM=32 BN=32 BK=32", 0, 0, false},
        {"matmul_swizzle", "BM=32 BN=32 BK=32 GROUP=2", 0, 0, false},
        {"matmul_autotuned", "BM=32 BN=32 BK=32 GROUP_M=2", 0, 4, true},
    };
    size_t list[MAX_SHAPES][3];
    int n = list_sizes(x, 32, list);
    for (int s = 0; s < 3; s++)
        for (int t = 0; t < 3; t++)
            for (int i = 0; i < n; i++)
                matmul_case(x, &steps[s], types[t], list[i], (i * 5 + s) % 16);
    for (int w = 1; w <= 8 && example_has_warps(x); w *= 2) {
        Step step = steps[1];
        step.num_warps = w;
        matmul_case(x, &step, TILE_FP16, (size_t[]){103, 67, 97}, 4);
    }
    /* Each config as it stands; the large tiles take the interpreter long. */
    for (int config = 0; config < 7; config++) {
        Step step = {"matmul_autotuned", "", config, 0, true};
        if (example_has_warps(x) || config > 4)
            matmul_case(x, &step, TILE_FP16, (size_t[]){257, 129, 96}, 4);
    }
}

/* ---- Stream-K ---- */

typedef struct StreamK {
    tile_type c, acc;
    size_t m, n, k, programs, block;
    int group, num_warps;
    bool whole, plain;
} StreamK;

static void streamk_case(Example *x, const StreamK *h) {
    Product p = product_of(h->m, h->n, h->k, false, false);
    size_t tiles = ((h->m + h->block - 1) / h->block) * ((h->n + h->block - 1) / h->block);
    size_t per_tile = (h->k + h->block - 1) / h->block;
    /* The uneven part and one whole round, so that every program has more than a tile to do. */
    size_t shared = tiles <= h->programs ? tiles : tiles % h->programs + h->programs;
    size_t iters = shared * per_tile;
    example_begin(x, "examples/streamk.tl", "first_wave", h->num_warps,
                  "streamk %s in %s %zux%zux%zu, %zu programs, group %d, %d warps%s",
                  type_name(h->c), type_name(h->acc), h->m, h->n, h->k, h->programs, h->group,
                  h->num_warps, h->whole ? ", whole numbers" : "");
    example_define(x, "BM=%zu BN=%zu BK=%zu GROUP_M=%d ACC=%s", h->block, h->block, h->block,
                   h->group, type_constant(h->acc));
    example_unspecialised(x, h->plain);
    p.a = example_in(x, TILE_FP16, h->m * h->k, h->whole ? FILL_SMALL : FILL_NORMAL);
    p.b = example_in(x, TILE_FP16, h->k * h->n, h->whole ? FILL_SMALL : FILL_NORMAL);
    int c = example_out(x, h->c, h->m * h->n);
    example_zeros(x, TILE_I32, tiles);
    give_sizes(x, h->m, h->n, h->k);
    give_strides(x, &p);
    example_int(x, (int64_t)h->programs);
    example_int(x, (int64_t)(iters / h->programs));
    example_int(x, (int64_t)(iters % h->programs));
    bool ran = example_run(x, NULL);

    example_kernel(x, "full_tiles");
    for (int i = 0; i < 3; i++) example_again(x, i);
    give_sizes(x, h->m, h->n, h->k);
    give_strides(x, &p);
    example_int(x, (int64_t)shared);
    if (example_run(x, NULL) && ran) {
        product_make(&p);
        /* A tile is cut into at most as many parts as it has iterations. */
        product_check(x, c, &p, h->c, h->whole, 0, (double)per_tile);
    }
    example_end(x);
}

void cases_streamk(Example *x) {
    size_t list[MAX_SHAPES][3];
    int n = list_sizes(x, 16, list);
    static const size_t programs[] = {1, 2, 3, 5, 7, 16};
    for (int i = 0; i < n; i++) {
        if (list[i][2] == 0) continue; /* K is at least 1 */
        StreamK h = {TILE_FP32, TILE_FP32, list[i][0], list[i][1], list[i][2], programs[i % 6],
                     16,        i % 3,     0,          i % 2,      i % 4 == 3};
        streamk_case(x, &h);
    }
    streamk_case(x, &(StreamK){TILE_FP16, TILE_FP32, 100, 70, 130, 4, 32, 2, 0, false, false});
    streamk_case(x, &(StreamK){TILE_FP16, TILE_FP16, 100, 70, 100, 5, 32, 2, 0, true, false});
    for (int w = 1; w <= 8 && example_has_warps(x); w *= 2)
        streamk_case(x, &(StreamK){TILE_FP32, TILE_FP32, 200, 300, 517, 37, 32, 4, w, true, false});
    if (x->s->size == SIZE_FULL)
        streamk_case(x,
                     &(StreamK){TILE_FP32, TILE_FP32, 640, 832, 1024, 108, 64, 8, 0, false, false});
}

/* ---- many products in one launch ---- */

enum { MAX_PROBLEMS = 5 };

static void grouped_case(Example *x, tile_type t, const size_t (*dim)[3], int count, int programs,
                         int num_warps) {
    Product p[MAX_PROBLEMS];
    double address[3][MAX_PROBLEMS], sizes[3 * MAX_PROBLEMS], strides[3 * MAX_PROBLEMS];
    int c[MAX_PROBLEMS];
    size_t groups = (size_t)count;
    example_begin(x, "examples/grouped_gemm.tl", NULL, num_warps,
                  "grouped_gemm %s, %d problems from %zux%zux%zu, %d programs, %d warps",
                  type_name(t), count, dim[0][0], dim[0][1], dim[0][2], programs, num_warps);
    example_define(x, "PROGRAMS=%d BM=32 BN=32 BK=32 DTYPE=%s", programs, type_constant(t));
    for (int g = 0; g < count; g++) {
        const size_t m = dim[g][0], n = dim[g][1], k = dim[g][2];
        p[g] = product_of(m, n, k, false, false);
        p[g].a = example_in(x, t, m * k, FILL_SMALL);
        p[g].b = example_in(x, t, k * n, FILL_SMALL);
        c[g] = example_out(x, t, m * n);
        for (int i = 0; i < 3; i++) {
            Array *matrix = &x->buffer[c[g] - 2 + i].array;
            address[i][g] = (double)matrix->ptr;
            if (g) x->buffer[c[g - 1] - 2 + i].array.next = matrix;
            sizes[3 * g + i] = (double)dim[g][i];
            strides[3 * g + i] = (double)(i == 0 ? k : n);
        }
    }
    x->nargs = 0; /* the matrices are not parameters; their addresses lie in buffers */
    for (int i = 0; i < 3; i++) {
        example_values(x, TILE_I64, groups, address[i]);
        x->buffer[x->nbuffers - 1].array.leads_to = &x->buffer[c[0] - 2 + i].array;
    }
    example_values(x, TILE_I32, 3 * groups, sizes);
    example_values(x, TILE_I32, 3 * groups, strides);
    example_int(x, count);
    if (example_run(x, NULL))
        for (int g = 0; g < count; g++) {
            product_make(&p[g]);
            product_check(x, c[g], &p[g], t, true, 0, 0);
        }
    example_end(x);
}

void cases_grouped_gemm(Example *x) {
    static const size_t around[][3] = {
        {31, 32, 33}, {32, 33, 31}, {1, 97, 64}, {103, 1, 32}, {97, 40, 1}};
    static const size_t empty[][3] = {{0, 32, 32}, {33, 65, 0}, {64, 0, 32}, {40, 48, 40}};
    static const size_t one[][3] = {{1, 1, 1}};
    grouped_case(x, TILE_FP16, around, 5, 4, 0);
    grouped_case(x, TILE_BF16, around, 5, 132, 0);
    grouped_case(x, TILE_FP32, around, 5, 1, 0);
    grouped_case(x, TILE_FP16, empty, 4, 3, 0);
    grouped_case(x, TILE_FP16, one, 1, 2, 0);
    for (int w = 1; w <= 8 && example_has_warps(x); w *= 2)
        grouped_case(x, TILE_FP16, around, 3, 16, w);
}

/* ---- weights of four bits ---- */

/* A weight times its scale is rounded to the type of a, as the kernel does; from there on a product
 * as any other. */
static void int4_case(Example *x, tile_type t, const size_t dim[3], size_t group, int num_warps) {
    size_t m = dim[0], n = dim[1], k = (dim[2] + 7) / 8 * 8, groups = (k + group - 1) / group;
    Product p = product_of(m, n, k, false, false);
    double *words = suite_alloc((k / 8 * n + 1) * sizeof *words);
    double *b = suite_alloc((k * n + 1) * sizeof *b);
    uint64_t state = m * 31 + n * 7 + k;
    for (size_t i = 0; i < k / 8 * n; i++)
        words[i] = (double)(int32_t)(uint32_t)random_bits(&state);
    example_begin(x, "examples/matmul_int4.tl", NULL, num_warps,
                  "matmul_int4 %s %zux%zux%zu, groups of %zu, %d warps", type_name(t), m, n, k,
                  group, num_warps);
    example_define(x, "BM=16 BN=32 BK=32 GROUP=%zu", group);
    p.a = example_in(x, t, m * k, FILL_NORMAL);
    example_values(x, TILE_I32, k / 8 * n, words);
    const double *scales = example_in(x, t, groups * n, FILL_NORMAL);
    int c = example_out(x, t, m * n);
    give_sizes(x, m, n, k);
    example_int(x, (int64_t)k);
    example_int(x, (int64_t)n);
    example_int(x, (int64_t)n);
    example_int(x, (int64_t)n);
    if (example_run(x, NULL)) {
        for (size_t i = 0; i < k * n; i++) {
            size_t row = i / n, col = i % n;
            uint32_t word = (uint32_t)(int32_t)words[row / 8 * n + col];
            int q = (int)(word >> row % 8 * 4 & 0xF) - 8;
            b[i] = value_round(t, q * scales[row / group * n + col]);
        }
        p.b = b;
        product_make(&p);
        product_check(x, c, &p, t, false, 0, 0);
    }
    example_end(x);
    free(words);
    free(b);
}

void cases_matmul_int4(Example *x) {
    size_t list[MAX_SHAPES][3];
    int n = list_sizes(x, 32, list);
    for (int i = 0; i < n; i++) {
        int4_case(x, TILE_FP16, list[i], i % 2 ? 32 : 64, 0);
        int4_case(x, TILE_BF16, list[i], 128, 0);
    }
    for (int w = 1; w <= 8 && example_has_warps(x); w *= 2)
        int4_case(x, TILE_FP16, (size_t[]){33, 97, 200}, 64, w);
}
