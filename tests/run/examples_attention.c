/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* examples_attention.c: examples/flash_attention.tl against attention as its formula says. */
#include "tests/run/examples.h"

#include <math.h>
#include <stdlib.h>

typedef struct Attention {
    tile_type type;
    size_t heads, m, n, d;
    bool causal;
    int num_warps;
    bool plain;   /* no specialisation */
    size_t block; /* rows and keys of a block; 0: a few */
} Attention;

typedef struct Reference {
    const double *q, *k, *v;
    float scale;
    double *p; /* the weights of one row */
    double *out, *out_bound, *lse, *lse_bound;
} Reference;

/* Row i of one head. A score is a sum of d products, exact but for d sums cut off at 2^-23, and
 * rounded three times more; in the exponent that is an absolute error, so relatively it comes back
 * times log(2), together with two last places of exp2. A weight is then rounded to the type of v,
 * where the smallest weights lose all their bits: 2^-25 in half precision. Numerator and sum are
 * added up in single precision, block by block, each time scaled (exp2 and a rounding; n counts
 * them amply). */
static void attention_row(const Attention *h, const Reference *r, size_t head, size_t i) {
    const double log2e = 1.4426950408889634;
    size_t n = h->causal && i + 1 < h->n ? i + 1 : h->n, row = head * h->m + i;
    double top = -INFINITY, total = 0, off = 0;
    for (size_t j = 0; j < n; j++) {
        double score = 0, size = 0;
        for (size_t c = 0; c < h->d; c++) {
            double x = r->q[row * h->d + c] * r->k[(head * h->n + j) * h->d + c];
            score += x;
            size += fabs(x);
        }
        r->p[j] = score * (double)r->scale * log2e;
        top = fmax(top, r->p[j]);
        off = fmax(off, size * (double)r->scale * log2e * ((double)h->d + 8) * 0x1p-23);
    }
    for (size_t j = 0; j < n; j++) total += r->p[j] = exp2(r->p[j] - top);
    double e = 2 * off * 0.7 + (double)(2 * n + 8) * 0x1p-22;
    double step = h->type == TILE_FP16 ? 0x1p-25 : 0;
    for (size_t c = 0; c < h->d; c++) {
        double sum = 0, size = 0, sizes = 0;
        for (size_t j = 0; j < n; j++) {
            double v = r->v[(head * h->n + j) * h->d + c];
            sum += r->p[j] * v;
            size += r->p[j] * fabs(v);
            sizes += fabs(v);
        }
        double half = h->type == TILE_FP16 ? 0x1p-11 : 0x1p-8;
        r->out[row * h->d + c] = sum / total;
        r->out_bound[row * h->d + c] =
            (size * (2 * e + half) + sizes * step) / total + rounding(h->type, sum / total);
    }
    r->lse[row] = top + log2(total);
    r->lse_bound[row] = off + e * log2e + 0x1p-21 * (1 + fabs(r->lse[row]));
}

static void attention_case(Example *x, const Attention *h) {
    size_t nq = h->heads * h->m * h->d, nk = h->heads * h->n * h->d, rows = h->heads * h->m;
    /* A warp takes at least 16 rows. */
    size_t bm = x->s->on_cpu                       ? 16
                : h->num_warps && h->num_warps < 4 ? 16 * (size_t)h->num_warps
                                                   : 64;
    size_t bn = x->s->on_cpu || h->causal || h->plain ? 16 : h->d > 64 ? 32 : 64;
    if (h->block) bm = bn = h->block;
    Reference r = {.scale = (float)(1 / sqrt((double)h->d))};
    example_begin(x, "examples/flash_attention.tl", NULL, h->num_warps,
                  "flash_attention %s %zu heads of %zu, %zu rows, %zu keys%s, %d warps",
                  type_name(h->type), h->heads, h->d, h->m, h->n, h->causal ? ", causal" : "",
                  h->num_warps);
    example_define(x, "D=%zu CAUSAL=%s BM=%zu BN=%zu", h->d, h->causal ? "True" : "False", bm, bn);
    example_unspecialised(x, h->plain);
    r.q = example_in(x, h->type, nq, FILL_NORMAL);
    r.k = example_in(x, h->type, nk, FILL_NORMAL);
    r.v = example_in(x, h->type, nk, FILL_NORMAL);
    int out = example_out(x, h->type, nq), lse = example_out(x, TILE_FP32, rows);
    example_int(x, (int64_t)h->heads);
    example_int(x, (int64_t)h->m);
    example_int(x, (int64_t)h->n);
    example_float(x, (double)r.scale);
    for (int i = 0; i < 4; i++) {
        example_int(x, (int64_t)((i == 1 || i == 2 ? h->n : h->m) * h->d));
        example_int(x, (int64_t)h->d);
    }
    if (example_run(x, NULL)) {
        r.p = suite_alloc(h->n * sizeof(double));
        r.out = suite_alloc(nq * sizeof(double)), r.out_bound = suite_alloc(nq * sizeof(double));
        r.lse = suite_alloc(rows * sizeof(double)),
        r.lse_bound = suite_alloc(rows * sizeof(double));
        for (size_t i = 0; i < rows; i++) attention_row(h, &r, i / h->m, i % h->m);
        example_check(x, out, r.out, r.out_bound);
        example_check(x, lse, r.lse, r.lse_bound);
        free(r.p), free(r.out), free(r.out_bound), free(r.lse), free(r.lse_bound);
    }
    example_end(x);
}

void cases_flash_attention(Example *x) {
    static const tile_type types[] = {TILE_FP16, TILE_BF16};
    size_t size[NSIZES];
    example_sizes(x->s->on_cpu ? 16 : 64, size);
    for (int t = 0; t < 2; t++)
        for (size_t d = 64; d <= 128; d *= 2)
            for (int i = x->s->size == SIZE_TINY ? 4 : 0;
                 i < (x->s->size == SIZE_TINY ? 5 : NSIZES); i++)
                for (int causal = 0; causal < 2; causal++) {
                    if (x->s->on_cpu && (d == 128 || t == 1) && i % 3 != 1) continue;
                    Attention h = {types[t], 2, size[i], size[4], d, causal, 0, i == 3, 0};
                    attention_case(x, &h);
                    h.m = size[4], h.n = size[i];
                    if (h.n && h.n != h.m) attention_case(x, &h);
                }
    for (int w = 1; w <= 8 && example_has_warps(x); w *= 2)
        attention_case(x, &(Attention){TILE_FP16, 3, 200, 200, 64, w & 1, w, false, 0});
    if (x->s->size != SIZE_FULL) return;
    attention_case(x, &(Attention){TILE_FP16, 4, 1024, 1024, 64, true, 0, false, 0});
    /* Two warpgroups of a further entry take turns; it is for more programs than multiprocessors,
     * or for programs of unequal length. */
    if (!example_has_warps(x)) return;
    for (size_t d = 64; d <= 128; d *= 2) {
        attention_case(x, &(Attention){TILE_FP16, 70, 200, 300, d, false, 8, false, 128});
        attention_case(x, &(Attention){TILE_FP16, 4, 500, 500, d, true, 8, false, 128});
    }
}
