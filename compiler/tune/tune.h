/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tune.h: what the files of tuning share.
 *
 *   plan.c     a source -> the configs to try, the kernel's parameters, the name of the bucket
 *   measure.c  a loaded kernel -> its result held against the others', and its time
 *   forecast.c a config's manifest and a launch's arguments -> clocks, by a model of the GPU
 *   tune.c          tile_tune: compiles them all on many threads, checks, times, keeps records */
#ifndef TILE_COMPILER_TUNE_H
#define TILE_COMPILER_TUNE_H

#include "tile.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum { TUNE_TEXT = 600, TUNE_MAX_CONFIGS = 4096, TUNE_MAX_RUNS = 200 };

typedef struct TunePlan {
    const tile_compile_options *o;
    json_t *kernel;         /* {"name", "key", "configs"} of the kernel, from tile_compile */
    json_t *params;         /* [{"name", "type", …}] of its manifest; NULL: not known */
    tile_compiled *lowered; /* its tile IR in one of the configs */
    json_t *space;          /* configs that were asked for instead of the list */
    char *types;            /* "*fp16,i32"; NULL: not known */
    uint64_t hash;          /* of what the result depends on, */
    char source[17];        /* as text */
    char why[TUNE_TEXT];    /* after a failure */
} TunePlan;

/* Reads which kernel it is, and its list. TILE_INVALID when there are several kernels. */
tile_status plan_read(TunePlan *p, const tile_compile_options *o);
/* The options for something that is asked without telling the user, in that config (NULL: as the
 * source stands). */
tile_compile_options plan_quiet(const tile_compile_options *o, tile_emit emit, const char *config);
/* "BM=64,128;num_warps=4,8" -> every combination. */
tile_status plan_space(TunePlan *p, const char *space);
/* Finds the parameters by lowering the kernel in the first config that can be. */
tile_status plan_params(TunePlan *p);
int plan_configs(const TunePlan *p);
const char *plan_config(const TunePlan *p, int i);
const char *plan_name(const TunePlan *p);
/* The bucket, malloc'ed: "M=4096,N=4096". value: the text of a parameter's argument, NULL when it
 * is not known or no part of a bucket. */
char *plan_key(const TunePlan *p, const char *(*value)(void *ctx, const char *name, int param),
               void *ctx);
void plan_free(TunePlan *p);
/* Of each config the clocks that a launch with these values, on this grid (NULL: the source's),
 * takes by the model; INFINITY: it cannot be compiled. TILE_NOT_FOUND: there is no model, p->why
 * says why. */
tile_status forecast_clocks(TunePlan *p, const tile_compile_options *values, const char *grid,
                            int multiprocessors, double *clocks);
/* The first error among the diagnostics, without its place. */
void tune_reason(const tile_compiled *c, char *text, size_t size);
/* The first line of text, as far as it is UTF-8 and fits. */
void tune_line(const char *from, char *text, size_t size);

/* A buffer that launches use. */
typedef struct TuneBuffer {
    tile_ptr ptr, saved; /* saved: its contents before any launch */
    size_t bytes;
    tile_type element;
    bool written; /* by the first kernel that ran */
} TuneBuffer;

/* Equal results. The text of each written buffer, on the host. */
typedef struct TuneResult {
    char **data;
    double *rms;
    int members;
} TuneResult;

enum { TUNE_MAX_RESULTS = 4 };

typedef struct TuneBench {
    tile_context *ctx;
    const char *grid;
    const tile_arg *arg;
    int nargs;
    TuneBuffer *buffer;
    int nbuffers;
    TuneResult result[TUNE_MAX_RESULTS];
    int nresults;
    double tolerance; /* 0: that of compare.h */
    tile_ptr scratch; /* written before a timed launch, so that caches hold nothing of it; or 0 */
    size_t scratch_bytes;
} TuneBench;

typedef struct TuneTime {
    double median, low, high; /* milliseconds */
    int runs;
} TuneTime;

/* Saves the buffers; bench_end puts them back. */
tile_status bench_begin(TuneBench *b);
void bench_end(TuneBench *b);
/* Launches once on the saved buffers. *which: the result it agrees with, a new one when there was
 * none; -1: more different ones than are told apart. *ms: how long it took. *why: how far it is
 * from result 0, when it is not of it. */
tile_status bench_check(TuneBench *b, tile_kernel *k, int *which, double *ms, char *why,
                        size_t size);
/* How many launches of a kernel are timed at least, and how long timing one takes in all whose
 * launch takes this long; milliseconds. */
int bench_first_runs(const TuneBench *b);
double bench_expected(const TuneBench *b, double launch, double budget);
/* Times launches worth budget_ms; gives up on what is clearly slower than best (or NULL). */
tile_status bench_time(TuneBench *b, tile_kernel *k, double estimate, double budget,
                       const TuneTime *best, TuneTime *out);

#endif
