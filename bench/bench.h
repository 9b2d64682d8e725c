/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* bench.h: what the benches share: their command line, kernels compiled from a source for given
 * promises and constexprs, launches timed in turn, messages, random bits and medians. */
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

enum { BENCH_MOST = 32 };

/* Starts launch i of a round. */
typedef tile_status BenchStart(const void *round, int i);

/* Launches 0 … n - 1 in turn, each `repeat` times and without a pause; events stand between them,
 * and ms[i] is the time of one. The first runs once before, so that it is not timed while the queue
 * fills. n is at most BENCH_MOST. */
static inline tile_status bench_round(tile_context *ctx, int n, int repeat, BenchStart *start,
                                      const void *round, double *ms) {
    tile_event *event[BENCH_MOST + 1] = {NULL};
    tile_status st = start(round, 0);
    if (!st) st = tile_event_record(ctx, NULL, &event[0]);
    for (int i = 0; i < n && !st; i++) {
        for (int j = 0; j < repeat && !st; j++) st = start(round, i);
        if (!st) st = tile_event_record(ctx, NULL, &event[i + 1]);
    }
    for (int i = 0; i < n && !st; i++) {
        st = tile_event_elapsed(event[i], event[i + 1], &ms[i]);
        ms[i] /= repeat;
    }
    for (int i = 0; i <= n; i++) tile_event_destroy(event[i]);
    return bench_report(ctx, st, "timing");
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

/* What a command line says, over the defaults set before. A bench takes --type (fp16 or bf16) if
 * `type` is set, and --rounds if `most_rounds` is. */
typedef struct BenchOptions {
    const char *name, *device, *target, *root, *type, *out;
    int rounds, most_rounds;
} BenchOptions;

/* 0; or 2, and the usage is printed. */
static inline int bench_read_options(BenchOptions *o, int argc, char **argv) {
    const char *v;
    int wrong = 0;
    for (int i = 1; i < argc; i++) {
        if ((v = bench_option(argv[i], "--device")))
            o->device = v;
        else if ((v = bench_option(argv[i], "--target")))
            o->target = strcmp(v, "native") ? v : NULL;
        else if ((v = bench_option(argv[i], "--root")))
            o->root = v;
        else if ((v = bench_option(argv[i], "--out")))
            o->out = v;
        else if (o->type && (v = bench_option(argv[i], "--type")) &&
                 (!strcmp(v, "fp16") || !strcmp(v, "bf16")))
            o->type = v;
        else if (o->most_rounds && (v = bench_option(argv[i], "--rounds")))
            o->rounds = atoi(v);
        else
            wrong = 1;
    }
    if (!wrong && (!o->most_rounds || (o->rounds >= 1 && o->rounds <= o->most_rounds))) return 0;
    fprintf(stderr,
            "usage: %s [--device=cuda[:N]] [--target=native|sm_80|...] %s%s[--root=FOLDER] "
            "[--out=FILE.csv]\n",
            o->name, o->type ? "[--type=fp16|bf16] " : "", o->most_rounds ? "[--rounds=N] " : "");
    return 2;
}

/* The GPU, and the CSV file if there is to be one. 0, or the exit code. */
static inline int bench_begin(BenchOptions *o, const char *columns, tile_context **ctx,
                              FILE **csv) {
    int code = bench_open(o->device, ctx, &o->target);
    if (code || !o->out) return code;
    *csv = fopen(o->out, "w");
    if (!*csv) {
        fprintf(stderr, "cannot write %s\n", o->out);
        return 3;
    }
    fprintf(*csv, "%s\n", columns);
    return 0;
}

/* Closes both; the exit code. */
static inline int bench_end(int code, tile_context *ctx, FILE *csv) {
    if (csv && fclose(csv) && !code) code = 3;
    tile_context_destroy(ctx);
    return code;
}

#endif
