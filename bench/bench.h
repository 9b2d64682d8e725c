/* bench.h: what the benches share: kernels compiled from a source for given promises and
 * constexprs, messages, random bits and medians. */
#ifndef TILE_BENCH_H
#define TILE_BENCH_H

#include "tile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Prints what a failed call on the context was for; passes the status on. */
static inline tile_status bench_report(const tile_context *ctx, tile_status st, const char *what) {
    if (st) fprintf(stderr, "%s: %s: %s\n", what, tile_status_text(st), tile_error(ctx));
    return st;
}

/* The whole file, malloc'ed; NULL when it cannot be read. */
static inline char *bench_read(const char *path, size_t *len) {
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    long size = fseek(f, 0, SEEK_END) ? -1 : ftell(f);
    char *text = size < 0 || fseek(f, 0, SEEK_SET) ? NULL : malloc((size_t)size + 1);
    *len = text ? fread(text, 1, (size_t)size, f) : 0;
    fclose(f);
    return text;
}

typedef struct BenchKernel {
    const char *root, *file; /* the source is root/file */
    const char *kernel;      /* NULL: the only one */
    const char *target, *signature;
    const char *const *defines;
    int ndefines, num_warps;
} BenchKernel;

static inline tile_status bench_load(tile_context *ctx, const BenchKernel *k, tile_module **module,
                                     tile_kernel **kernel) {
    char path[4096];
    size_t len;
    snprintf(path, sizeof path, "%s/%s", k->root, k->file);
    char *text = bench_read(path, &len);
    if (!text) {
        fprintf(stderr, "cannot read %s\n", path);
        return TILE_IO;
    }
    tile_compile_options options = {.source = text,
                                    .source_len = len,
                                    .file_name = k->file,
                                    .kernel = k->kernel,
                                    .signature = k->signature,
                                    .ignore_annotations = 1,
                                    .defines = k->defines,
                                    .ndefines = k->ndefines,
                                    .num_warps = k->num_warps,
                                    .target = k->target};
    tile_compiled *compiled = NULL;
    tile_status st = tile_compile(&options, &compiled);
    fputs(tile_compiled_text(compiled, TILE_PART_DIAGNOSTICS, NULL), stderr);
    if (!st) {
        const char *ptx = tile_compiled_text(compiled, TILE_PART_OUTPUT, &len);
        st = tile_module_load(ctx, ptx, len, module);
        if (!st) st = tile_kernel_get(*module, NULL, kernel);
        bench_report(ctx, st, k->file);
    }
    tile_compiled_free(compiled);
    free(text);
    return st;
}

static inline uint64_t bench_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static inline int bench_order(const void *x, const void *y) {
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

/* Sorts them. */
static inline double bench_median(double *v, int n) {
    qsort(v, (size_t)n, sizeof *v, bench_order);
    return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

/* The value of an option `--name=value`, else NULL. */
static inline const char *bench_option(const char *arg, const char *name) {
    size_t n = strlen(name);
    return strncmp(arg, name, n) == 0 && arg[n] == '=' ? arg + n + 1 : NULL;
}

/* A GPU, and the target to compile for (its own when *target is NULL). 0, or the exit code: 77 when
 * there is none. */
static inline int bench_open(const char *device, tile_context **ctx, const char **target) {
    tile_status st = tile_context_create(device, ctx);
    bench_report(*ctx, st, device);
    if (st) return st == TILE_NO_DEVICE ? 77 : 5;
    if (strcmp(tile_context_target(*ctx), "cpu") == 0) {
        fprintf(stderr, "the CPU device interprets: there is nothing to time\n");
        return 77;
    }
    if (!*target) *target = tile_context_target(*ctx);
    return 0;
}

#endif
