/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* memory.h: what the benches share whose kernels only memory should hold up: ways to run a kernel
 * that take turns with the device's own copy of as many bytes, the table of their times and the CSV
 * file. */
#ifndef TILE_BENCH_MEMORY_H
#define TILE_BENCH_MEMORY_H

#include "bench.h"

enum { MEMORY_ROUNDS = 200, MEMORY_LINE = 200 };

typedef struct MemoryBench {
    tile_context *ctx;
    const char *target, *root;
    int rounds;
    FILE *csv;
    unsigned char *chunk; /* random data, which the inputs are over and over */
    size_t chunk_size;
    unsigned char *got;        /* a part of the result */
    char (*best)[MEMORY_LINE]; /* of each case */
} MemoryBench;

/* One way, or the copy (kernel NULL), with its times. */
typedef struct Contender {
    char label[60];
    tile_module *module;
    tile_kernel *kernel;
    double ms[MEMORY_ROUNDS];
} Contender;

/* What is the same for all contenders. */
typedef struct MemoryCase {
    const char *name, *type;
    size_t rows, cols, bytes; /* bytes: read and written */
} MemoryCase;

static inline tile_status memory_fill(const MemoryBench *b, tile_ptr to, size_t bytes) {
    tile_status st = TILE_OK;
    for (size_t at = 0; at < bytes && !st; at += b->chunk_size) {
        size_t n = bytes - at < b->chunk_size ? bytes - at : b->chunk_size;
        st = tile_copy_to_device(b->ctx, to + at, b->chunk, n);
    }
    return bench_report(b->ctx, st, "writing the input");
}

static inline void memory_print(MemoryBench *b, int which, const MemoryCase *c, Contender *k,
                                int n) {
    double bytes = (double)c->bytes, copy = 0, least = 0;
    printf("%s %s %zux%zu, %.0f MB read and written\n", c->name, c->type, c->rows, c->cols,
           bytes * 1e-6);
    for (int i = 0; i < n; i++) {
        double ms = bench_median(k[i].ms, b->rounds), rate = bytes / ms * 1e-6;
        if (i == 0) copy = ms;
        printf("    %-36s %8.4f ms %8.1f GB/s %7.4f of the copy\n", k[i].label, ms, rate,
               copy / ms);
        if (b->csv)
            fprintf(b->csv, "%s,%s,%zu,%zu,\"%s\",%.5f,%.2f,%.5f\n", c->name, c->type, c->rows,
                    c->cols, k[i].label, ms, rate, copy / ms);
        if (i == 0 || (least > 0 && ms >= least)) continue;
        least = ms;
        snprintf(b->best[which], MEMORY_LINE,
                 "%-10s %-5s %5zux%-10zu %-36s %8.1f GB/s %7.4f of the copy", c->name, c->type,
                 c->rows, c->cols, k[i].label, rate, copy / ms);
    }
    fflush(stdout);
}

/* Rounds of all contenders in turn, the copy first, and the table of case `which`. */
static inline tile_status memory_time(MemoryBench *b, int which, const MemoryCase *c, Contender *k,
                                      int n, BenchStart *start, const void *round) {
    enum { WARM = 3 };
    /* Short work is repeated, so that an event's own time does not count. */
    int repeat = c->bytes < (size_t)1 << 29 ? 4 : 1;
    double ms[BENCH_MOST] = {0};
    tile_status st = TILE_OK;
    for (int i = 0; i < WARM + b->rounds && !st; i++) {
        st = bench_round(b->ctx, n, repeat, start, round, ms);
        for (int j = 0; j < n && i >= WARM; j++) k[j].ms[i - WARM] = ms[j];
    }
    if (!st) memory_print(b, which, c, k, n);
    return st;
}

typedef struct MemoryPlan {
    const char *name, *columns;
    size_t chunk_size, got_size;
    int ncases;
    tile_status (*run)(MemoryBench *b, int which);
} MemoryPlan;

static inline int memory_main(const MemoryPlan *p, int argc, char **argv) {
    BenchOptions o = {
        .name = p->name, .device = "cuda", .root = ".", .rounds = 25, .most_rounds = MEMORY_ROUNDS};
    MemoryBench b = {.chunk_size = p->chunk_size};
    int code = bench_read_options(&o, argc, argv);
    if (code) return code;
    code = bench_begin(&o, p->columns, &b.ctx, &b.csv);
    b.target = o.target;
    b.root = o.root;
    b.rounds = o.rounds;
    b.chunk = malloc(p->chunk_size);
    b.got = malloc(p->got_size);
    b.best = calloc((size_t)p->ncases, sizeof *b.best);
    if (!code && (!b.chunk || !b.got || !b.best)) code = 5;
    for (int i = 0; i < p->ncases && !code; i++) code = p->run(&b, i) ? 5 : 0;
    if (!code) printf("\nbest, code for %s on %s\n", b.target, tile_context_device_name(b.ctx));
    for (int i = 0; i < p->ncases && !code; i++) printf("%s\n", b.best[i]);
    code = bench_end(code, b.ctx, b.csv);
    free(b.chunk);
    free(b.got);
    free(b.best);
    return code;
}

#endif
