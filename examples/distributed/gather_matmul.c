/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gather_matmul.c: c = a @ b, where each rank has some rows of a and some columns of b, and wants
 * its columns of c: an all-gather and a product.
 *
 *   mpirun -n RANKS gather_matmul [--device=auto|cpu|cuda] [--m=N] [--n=N] [--k=N] [--bench]
 *          [--gather=kernel|copy]
 *
 * --gather=
 *   kernel  (without it) in one kernel, which reads the other ranks' memory: gather_matmul.tl
 *   copy    the same kernel, to which the others send their rows, by copies in a second stream; a
 *           number that the stream writes behind each copy tells it
 *
 * One GPU runs examples/matmul.tl, on rank 0: the data are whole numbers
 * small enough for every sum to be exact, so c is the same bit for bit, and some rows are worked
 * out on the host. */
#include "ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHECKED_ROWS = 4, TOGETHER = 8, PARTS = 2, MOST_ROWS = 1024, NARROWEST = 16 };
/* TOGETHER: tiles of a copy; PARTS of a tile have a flag each where programs fetch them; NARROWEST:
 * columns of a piece of a tile */
static const char own_config[] = "BM=128,BN=256,BK=64,GROUP_M=8,num_warps=8,num_stages=4";
static const char cpu_config[] = "BM=16,BN=32,BK=32";

typedef struct Product {
    Ranks *r;
    int rank, ranks; /* of those that share the work: all, or rank 0 alone */
    long m, n, k, fetch;
    int copies;
    tile_jit *jit;
    Share all; /* a; each rank's own rows lie in their place */
    tile_ptr a, b, c;
} Product;

static long columns(const Product *p) {
    return p->n / p->ranks;
}

static void fill(void *user, int measure) {
    Product *p = user;
    Weight w = {p->k, 5};
    long rows = p->m / p->ranks, row = p->rank * rows;
    ranks_fill(p->r, p->a + (size_t)(row * p->k) * 2, rows, p->k, row, 0, measure ? NULL : input,
               NULL);
    ranks_fill(p->r, p->b, p->k, columns(p), 0, p->rank * columns(p), measure ? NULL : weight, &w);
}

static void run_alone(const Product *p) {
    int32_t n = (int32_t)p->n, k = (int32_t)p->k;
    tile_arg args[] = {tile_typed_pointer(TILE_FP16, p->a),
                       tile_typed_pointer(TILE_FP16, p->b),
                       tile_typed_pointer(TILE_FP16, p->c),
                       tile_i32((int32_t)p->m),
                       tile_i32(n),
                       tile_i32(k),
                       tile_i32(k),
                       tile_i32(1),
                       tile_i32(n),
                       tile_i32(1),
                       tile_i32(n),
                       tile_i32(1)};
    ranks_launch(p->r, p->jit, (tile_grid){0, 0, 0}, args, 12, NULL);
}

/* A size of a tile, "BM="; 0: --config does not say it, once. */
static long block(const Product *p, const char *name) {
    const char *config = p->r->config;
    if (!config) config = p->r->on_gpu ? own_config : cpu_config;
    long size = 0;
    for (const char *at = config; (at = strstr(at, name)) != NULL; at += 3) {
        char *end;
        if (at > config && at[-1] != ',') continue;
        if (size || at[3] < '1' || at[3] > '9') return 0;
        size = strtol(at + 3, &end, 10);
        if (*end && *end != ',') return 0;
    }
    return size;
}

static long fetching(const Product *p) {
    return p->copies ? 0 : p->r->on_gpu ? p->fetch : 2;
}

/* Programs that share a tile. */
static long pieces(const Product *p) {
    long n = 4;
    while (n > 1 && block(p, "BN=") / n < NARROWEST) n /= 2;
    return n;
}

/* Tiles that are left when each program has as many as all others: where they are few, they are
 * shared. Elsewhere than on a GPU two are, so that it is seen that this is right. */
static int32_t last_tiles(const Product *p, const tile_arg *args, int nargs) {
    long bn = block(p, "BN="), tiles = p->m / block(p, "BM=") * ((columns(p) + bn - 1) / bn);
    tile_kernel *kernel = NULL;
    tile_kernel_info info;
    ranks_must(p->r, tile_jit_kernel(p->jit, args, nargs, &kernel), "a kernel");
    ranks_must(p->r, tile_kernel_describe(kernel, &info), "a kernel");
    long programs = (long)info.multiprocessors * info.resident_programs - fetching(p);
    if (!info.multiprocessors) return tiles > 2 ? 2 : 0;
    long left = programs > 0 ? tiles % programs : 0;
    return (int32_t)(2 * left <= programs ? left : 0);
}

static void launch(void *user) {
    const Product *p = user;
    tile_arg args[MAX_RANKS + 10];
    int n = 0;
    for (int s = 1; s < p->ranks; s++)
        args[n++] = tile_typed_pointer(TILE_FP16, p->all.data.rank[(p->rank + s) % p->ranks]);
    args[n++] = tile_typed_pointer(TILE_FP16, p->a);
    args[n++] = tile_typed_pointer(TILE_FP16, p->b);
    args[n++] = tile_typed_pointer(TILE_FP16, p->c);
    args[n++] = tile_typed_pointer(TILE_I32, p->all.flags.mine);
    args[n++] = tile_i32((int32_t)p->m);
    args[n++] = tile_i32((int32_t)columns(p));
    args[n++] = tile_i32((int32_t)p->k);
    args[n++] = tile_i32(p->rank);
    args[n++] = tile_i32((int32_t)p->r->launches);
    args[n] = tile_i32(0);
    args[n] = tile_i32(last_tiles(p, args, n + 1));
    ranks_launch(p->r, p->jit, (tile_grid){0, 0, 0}, args, n + 1, NULL);
}

static void run(void *user) {
    Product *p = user;
    if (p->ranks == 1) {
        run_alone(p);
        return;
    }
    p->r->launches++;
    if (p->copies)
        ranks_beside(p->r, &p->all, launch, p);
    else
        launch(p);
}

static void open_product(void *user) {
    Product *p = user;
    Ranks *r = p->r;
    size_t a_bytes = (size_t)(p->m * p->k) * 2;
    const char *gpu = r->config ? r->config : own_config;
    char more[200], all[2][400];
    snprintf(more, sizeof more, "RANKS=%d,FETCH=%ld,PARTS=%d,TOGETHER=%d,PIECES=%ld", p->ranks,
             fetching(p), PARTS, TOGETHER, pieces(p));
    snprintf(all[0], sizeof all[0], "%s,%s", gpu, more);
    snprintf(all[1], sizeof all[1], "%s,CHUNK=128,%s", cpu_config, more);
    char shards[MAX_RANKS * 16] = "shards=(";
    for (int s = 1; s < p->ranks; s++) strcat(shards, "*fp16:16,");
    strcat(shards, ")");
    if (p->ranks == 1)
        p->jit = ranks_kernel(r, "matmul.tl", "matmul", NULL, gpu, cpu_config);
    else
        p->jit = ranks_kernel(r, "distributed/gather_matmul.tl", "gather_matmul", shards, all[0],
                              all[1]);
    size_t tile = (size_t)(block(p, "BM=") * p->k) * 2, share = a_bytes / (size_t)p->ranks;
    if (p->ranks > 1) p->all = ranks_share(r, share, p->copies ? tile * TOGETHER : tile / PARTS, 0);
    p->a = p->ranks > 1 ? p->all.data.mine : ranks_alloc(r, a_bytes);
    p->b = ranks_alloc(r, (size_t)(p->k * columns(p)) * 2);
    p->c = ranks_alloc(r, (size_t)(p->m * columns(p)) * 2);
}

static void close_product(void *user) {
    Product *p = user;
    ranks_must(p->r, tile_synchronize(p->r->ctx), "waiting");
    tile_jit_destroy(p->jit);
    if (p->ranks > 1) ranks_unshare(p->r, &p->all);
}

/* Some rows against the host's. */
static long check_rows(const void *user, const uint16_t *c) {
    const Product *p = user;
    Weight w = {p->k, 5};
    long wrong = 0;
    for (int i = 0; i < CHECKED_ROWS; i++) {
        long row = (p->m - 1) * i / (CHECKED_ROWS - 1);
        for (long j = 0; j < p->n; j++) {
            int sum = 0;
            for (long k = first_row(&w, j); k < p->k; k += p->k / NONZERO)
                sum += input(row, k, NULL) * weight(k, j, &w);
            double got = half_value(c[row * p->n + j]);
            if (got != sum && !wrong++)
                fprintf(stderr, "c[%ld][%ld] is %g, and %d on the host\n", row, j, got, sum);
        }
    }
    return wrong;
}

int main(int argc, char **argv) {
    Ranks r;
    Product p = {.r = &r, .m = 192, .n = 96, .k = 64};
    const char *gather = "kernel";
    Option options[] = {
        {"gather", NULL, &gather, "kernel or copy: how rows come"},
        {"m", &p.m, NULL, "rows of a"},
        {"n", &p.n, NULL, "columns of b"},
        {"k", &p.k, NULL, "columns of a"},
        {"fetch", &p.fetch, NULL,
         "programs that fetch rows, on a GPU; without it four for each other rank"}};
    ranks_start(&r, &argc, &argv, "An all-gather and a matrix product.", options, 5);
    p.copies = strcmp(gather, "copy") == 0;
    if (!p.fetch) p.fetch = 4L * (r.size - 1);
    if (!p.copies && strcmp(gather, "kernel") != 0)
        ranks_refuse(&r, "--gather is kernel or copy, not %s", gather);
    for (int i = 0; i < 2; i++) {
        const char *name = i ? "BN=" : "BM=";
        if (block(&p, name) < 1 || block(&p, name) > MOST_ROWS)
            ranks_refuse(&r, "--config=%s: %sN, from 1 to %d, is wanted once: %s", r.config, name,
                         MOST_ROWS, i ? "tiles are counted" : "a flag is for N rows");
    }
    ranks_divides(&r, "m", p.m, block(&p, "BM=") * r.size);
    ranks_divides(&r, "n", p.n, 16 * r.size);
    ranks_divides(&r, "k", p.k, 16);
    ranks_counts(&r, "a", p.m, p.k);
    ranks_counts(&r, "b", p.k, p.n);
    ranks_counts(&r, "c", p.m, p.n);
    p.rank = r.rank;
    p.ranks = r.size;
    Product one = p;
    one.rank = 0;
    one.ranks = 1;
    Trial t = {.name = "gather_matmul",
               .all = &p,
               .one = &one,
               .open = open_product,
               .fill = fill,
               .run = run,
               .close = close_product,
               .check = check_rows,
               .result = "c",
               .of_all = &p.c,
               .of_one = &one.c,
               .rows = p.m,
               .column = p.rank * columns(&p),
               .columns = columns(&p),
               .width = p.n,
               .flops = 2.0 * (double)p.m * (double)p.n * (double)p.k};
    return ranks_end(&r, ranks_try(&r, &t, "%s, %ldx%ldx%ld", gather, p.m, p.n, p.k));
}
