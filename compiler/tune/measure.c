/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* measure.c: one compiled config on the device: is its result that of the others, and how long
 * does it take (see tune.h)?
 *
 * Results are compared on the host, with the rule and the tolerances of ir/compare.h. The buffers
 * are put back to what they were before each config's check. Times are the device's own; the
 * interval around the median comes from the order of the samples alone (of n, the ones 0.98 *
 * sqrt(n) places off the middle), so nothing is assumed about how they are distributed. */
#include "compiler/tune/tune.h"

#include "ir/compare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A kernel is given up when even the fastest of its first runs is this much above the upper bound
 * of the best median. */
#define CLEARLY_SLOWER 1.25

enum { FIRST_RUNS = 5, CPU_RUNS = 3, SCRATCH_MB = 128 };

/* ---- buffers and results ---- */

tile_status bench_begin(TuneBench *b) {
    tile_status st = TILE_OK;
    for (int i = 0; !st && i < b->nbuffers; i++) {
        TuneBuffer *f = &b->buffer[i];
        st = tile_alloc(b->ctx, f->bytes, &f->saved);
        if (!st) st = tile_copy_on_device(b->ctx, f->saved, f->ptr, f->bytes, NULL);
    }
    if (st || strcmp(tile_context_target(b->ctx), "cpu") == 0) return st;
    b->scratch_bytes = (size_t)SCRATCH_MB << 20;
    if (tile_alloc(b->ctx, b->scratch_bytes, &b->scratch))
        b->scratch = 0; /* then caches are warm */
    return TILE_OK;
}

static tile_status restore(TuneBench *b) {
    tile_status st = TILE_OK;
    for (int i = 0; !st && i < b->nbuffers; i++)
        st = tile_copy_on_device(b->ctx, b->buffer[i].ptr, b->buffer[i].saved, b->buffer[i].bytes,
                                 NULL);
    return st;
}

static void free_result(TuneBench *b, TuneResult *r) {
    for (int i = 0; r->data && i < b->nbuffers; i++) free(r->data[i]);
    free(r->data);
    free(r->rms);
    *r = (TuneResult){0};
}

/* The caller gets his buffers back as they were. */
void bench_end(TuneBench *b) {
    bool saved = b->nbuffers > 0;
    for (int i = 0; i < b->nbuffers; i++) saved = saved && b->buffer[i].saved;
    if (saved && restore(b) == TILE_OK) tile_synchronize(b->ctx);
    for (int i = 0; i < b->nresults; i++) free_result(b, &b->result[i]);
    for (int i = 0; i < b->nbuffers; i++)
        if (b->buffer[i].saved) tile_free(b->ctx, b->buffer[i].saved);
    if (b->scratch) tile_free(b->ctx, b->scratch);
}

static Elem elem_of(tile_type t) {
    return t >= TILE_I1 && t <= TILE_FP64 ? (Elem)(t - 1)
                                          : EL_U64; /* addresses are whole numbers */
}

static Array array_of(const TuneBuffer *f, const char *data) {
    Elem e = elem_of(f->element);
    return (Array){e, data, f->bytes / (size_t)elem_info[e].bytes};
}

/* Which buffers the first kernel changed. */
static tile_status find_written(TuneBench *b) {
    tile_status st = TILE_OK;
    for (int i = 0; !st && i < b->nbuffers; i++) {
        TuneBuffer *f = &b->buffer[i];
        char *before = malloc(f->bytes + 1), *after = malloc(f->bytes + 1);
        st = before && after ? tile_copy_to_host(b->ctx, before, f->saved, f->bytes)
                             : TILE_NO_MEMORY;
        if (!st) st = tile_copy_to_host(b->ctx, after, f->ptr, f->bytes);
        f->written = !st && memcmp(before, after, f->bytes) != 0;
        free(before);
        free(after);
    }
    return st;
}

static tile_status fetch(TuneBench *b, TuneResult *r) {
    *r = (TuneResult){.data = calloc((size_t)b->nbuffers + 1, sizeof *r->data),
                      .rms = calloc((size_t)b->nbuffers + 1, sizeof *r->rms)};
    tile_status st = r->data && r->rms ? TILE_OK : TILE_NO_MEMORY;
    for (int i = 0; !st && i < b->nbuffers; i++) {
        const TuneBuffer *f = &b->buffer[i];
        if (!f->written) continue;
        r->data[i] = malloc(f->bytes + 1);
        st = r->data[i] ? tile_copy_to_host(b->ctx, r->data[i], f->ptr, f->bytes) : TILE_NO_MEMORY;
    }
    return st;
}

static bool agrees(TuneBench *b, const TuneResult *got, const TuneResult *want, char *why,
                   size_t size) {
    for (int i = 0; i < b->nbuffers; i++) {
        const TuneBuffer *f = &b->buffer[i];
        if (!f->written) continue;
        Array g = array_of(f, got->data[i]), w = array_of(f, want->data[i]);
        Difference d;
        double t = b->tolerance > 0 ? b->tolerance : compare_tolerance(g.elem);
        compare_arrays(&g, &w, t, want->rms[i], &d);
        if (!d.beyond) continue;
        snprintf(why, size,
                 "wrong result: %zu of %zu elements of a buffer are off by more than %.3g * "
                 "(|expected| + %.3g): by up to %.3g",
                 d.beyond, g.count, t, want->rms[i], d.max_abs);
        return false;
    }
    return true;
}

static void keep_result(TuneBench *b, TuneResult *r) {
    for (int i = 0; i < b->nbuffers; i++)
        if (r->data[i]) {
            Array a = array_of(&b->buffer[i], r->data[i]);
            r->rms[i] = compare_rms(&a);
        }
    b->result[b->nresults++] = *r;
    *r = (TuneResult){0};
}

/* ---- launches ---- */

static tile_status one_run(TuneBench *b, tile_kernel *k, const tile_grid *grid, tile_event **start,
                           tile_event **end) {
    tile_status st = TILE_OK;
    if (b->scratch) st = tile_fill(b->ctx, b->scratch, 0, b->scratch_bytes);
    if (!st) st = tile_event_record(b->ctx, NULL, start);
    if (!st) st = tile_launch(k, grid, b->arg, b->nargs, NULL);
    if (!st) st = tile_event_record(b->ctx, NULL, end);
    return st;
}

/* n launches, all queued before the first is waited for. */
static tile_status some_runs(TuneBench *b, tile_kernel *k, const tile_grid *grid, int n,
                             double *ms) {
    tile_event *start[TUNE_MAX_RUNS] = {NULL}, *end[TUNE_MAX_RUNS] = {NULL};
    tile_status st = TILE_OK;
    for (int i = 0; !st && i < n; i++) st = one_run(b, k, grid, &start[i], &end[i]);
    if (!st) st = tile_synchronize(b->ctx);
    for (int i = 0; !st && i < n; i++) st = tile_event_elapsed(start[i], end[i], &ms[i]);
    for (int i = 0; i < n; i++) {
        tile_event_destroy(start[i]);
        tile_event_destroy(end[i]);
    }
    return st;
}

tile_status bench_check(TuneBench *b, tile_kernel *k, int *which, double *ms, char *why,
                        size_t size) {
    tile_grid grid;
    TuneResult r = {0};
    tile_status st = tile_kernel_grid(k, b->grid, b->arg, b->nargs, &grid);
    if (!st) st = restore(b);
    if (!st) st = some_runs(b, k, &grid, 1, ms);
    if (!st && !b->nresults) st = find_written(b);
    if (!st) st = fetch(b, &r);
    *which = -1;
    for (int i = b->nresults - 1; !st && i >= 0;
         i--) /* down to 0, whose distance is the one told */
        if (agrees(b, &r, &b->result[i], why, size)) *which = i;
    if (!st && *which < 0 && b->nresults < TUNE_MAX_RESULTS) {
        *which = b->nresults;
        keep_result(b, &r);
    }
    if (!st && *which >= 0) b->result[*which].members++;
    free_result(b, &r);
    return st;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void summarise(double *ms, int n, TuneTime *out) {
    qsort(ms, (size_t)n, sizeof *ms, by_size);
    double half = 0.98 * sqrt(n), middle = (n - 1) / 2.0;
    int low = (int)floor(middle - half), high = (int)ceil(middle + half);
    *out = (TuneTime){.median = n % 2 ? ms[n / 2] : (ms[n / 2 - 1] + ms[n / 2]) / 2,
                      .low = ms[low < 0 ? 0 : low],
                      .high = ms[high >= n ? n - 1 : high],
                      .runs = n};
}

int bench_first_runs(const TuneBench *b) {
    return strcmp(tile_context_target(b->ctx), "cpu") == 0 ? CPU_RUNS : FIRST_RUNS;
}

double bench_expected(const TuneBench *b, double launch, double budget) {
    double least = launch * bench_first_runs(b), most = launch * TUNE_MAX_RUNS;
    return budget < least ? least : budget > most ? most : budget;
}

tile_status bench_time(TuneBench *b, tile_kernel *k, double estimate, double budget,
                       const TuneTime *best, TuneTime *out) {
    double ms[TUNE_MAX_RUNS];
    tile_grid grid;
    tile_status st = tile_kernel_grid(k, b->grid, b->arg, b->nargs, &grid);
    int first = bench_first_runs(b), n = first;
    if (!st) st = some_runs(b, k, &grid, first, ms);
    if (st) return st;
    summarise(ms, first, out);
    if (best && ms[0] > CLEARLY_SLOWER * best->high) return TILE_OK;
    /* The first launch of all loads code; those since tell better. */
    if (out->median < estimate) estimate = out->median;
    double fit = estimate > 0 ? budget / estimate : TUNE_MAX_RUNS;
    n = fit > TUNE_MAX_RUNS ? TUNE_MAX_RUNS : (int)fit;
    if (n <= first) return TILE_OK;
    st = some_runs(b, k, &grid, n - first, ms + first);
    if (!st) summarise(ms, n, out);
    return st;
}
