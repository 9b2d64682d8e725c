/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tilerun_report.c: a launch -> what is said about it: how long it takes and at which rate, how far
 * its buffers are from expected ones; sentences for people, or with --json one object. */
#include "tools/tilerun.h"

#include "base/file.h"
#include "base/json.h"
#include "ir/compare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BENCH_MAX = 200, EXPECT_LIMIT_GB = 64 };

/* JSON has no infinity: null. */
static json_t *real(double v) {
    json_t *j = json_real(v);
    return j ? j : json_null();
}

int report_begin(Run *r) {
    if (!r->o.json) return -1;
    r->report = json_object();
    return r->report ? -1 : complain(&r->o.messages, EXIT_RUN, "out of memory");
}

/* An object that lacks something for want of memory must not look whole. */
static int added(const Run *r, int result) {
    return result ? complain(&r->o.messages, EXIT_RUN, "out of memory") : -1;
}

/* ---- which entry a launch takes ---- */

/* For people: of a kernel that has one entry there is nothing to tell. */
static void print_entry(void *user, const char *entry, const char *why_not) {
    const Run *r = user;
    if (why_not)
        printf("  not by %s: %s\n", entry, why_not);
    else if (strcmp(entry, r->info.name) != 0)
        printf("  by %s\n", entry);
}

/* NULL as soon as something is lacking. */
static void keep_entry(void *user, const char *entry, const char *why_not) {
    json_t **o = user;
    if (!*o) return;
    bool kept =
        why_not ? !json_array_append_new(json_object_get(*o, "not_by"),
                                         json_pack("{s:s, s:s}", "entry", entry, "why", why_not))
                : !json_object_set_new(*o, "entry", json_string(entry));
    if (kept) return;
    json_decref(*o);
    *o = NULL;
}

static int report_entry(Run *r, const tile_grid *grid) {
    int n = r->info.num_params;
    if (!r->report) return failed(r, tile_kernel_entry(r->kernel, grid, r->arg, n, print_entry, r));
    json_t *o = json_pack("{s:[]}", "not_by");
    tile_status st = tile_kernel_entry(r->kernel, grid, r->arg, n, keep_entry, &o);
    int code = added(r, json_object_update_new(r->report, o));
    return st ? failed(r, st) : code;
}

int report_launch(Run *r, const tile_grid *grid) {
    if (!r->report) return -1;
    const tile_kernel_info *k = &r->info;
    int code = added(
        r, json_object_update_new(
               r->report,
               json_pack("{s:s, s:s, s:s, s:[I,I,I], s:i, s:i, s:i, s:I, s:I}", "kernel", k->name,
                         "device", tile_context_device_name(r->ctx), "target",
                         tile_context_target(r->ctx), "grid", (json_int_t)grid->x,
                         (json_int_t)grid->y, (json_int_t)grid->z, "num_warps", k->num_warps,
                         "num_stages", k->num_stages, "registers", k->registers, "spill_bytes",
                         (json_int_t)k->spill_bytes, "shared_bytes", (json_int_t)k->shared_bytes)));
    return code < 0 ? report_entry(r, grid) : code;
}

/* ---- what accesses take ---- */

static double per(uint64_t n, uint64_t of) {
    return of ? (double)n / (double)of : 0;
}

static void print_count(const tile_count *c) {
    enum { SECTOR = 32, SHOWN = 70 };
    char global[48] = "", shared[48] = "";
    if (c->global_requests)
        snprintf(global, sizeof global, "%.2f of %.2f", per(c->sectors, c->global_requests),
                 per(c->global_bytes, c->global_requests * SECTOR));
    if (c->shared_requests)
        snprintf(shared, sizeof shared, "%.2f of %.2f", per(c->wavefronts, c->shared_requests),
                 per(c->least_wavefronts, c->shared_requests));
    int n = c->length > SHOWN ? SHOWN : (int)c->length;
    printf("%8u %6u %10llu %14s %14s  ", c->ptx_line, c->line, (unsigned long long)c->warps, global,
           shared);
    for (int i = 0; i < n; i++) putchar(c->text[i] < ' ' ? ' ' : c->text[i]);
    putchar('\n');
}

/* JSON keeps what is no access, too. */
static void on_count(void *user, const tile_count *c) {
    Run *r = user;
    if (!r->report) {
        if (c->global_requests || c->shared_requests) print_count(c);
        return;
    }
    json_array_append_new(
        json_object_get(r->report, "counts"),
        json_pack(
            "{s:s, s:s%, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:i, s:i, s:I, s:i}",
            "entry", c->entry, "text", c->text, c->length, "ptx_line", (json_int_t)c->ptx_line,
            "line", (json_int_t)c->line, "warps", (json_int_t)c->warps, "lanes",
            (json_int_t)c->lanes, "global_requests", (json_int_t)c->global_requests, "sectors",
            (json_int_t)c->sectors, "global_bytes", (json_int_t)c->global_bytes, "shared_requests",
            (json_int_t)c->shared_requests, "wavefronts", (json_int_t)c->wavefronts,
            "least_wavefronts", (json_int_t)c->least_wavefronts, "loop", c->loop, "loop_around",
            c->loop_around, "loop_line", (json_int_t)c->loop_line, "registers", c->registers));
}

int report_counts(Run *r) {
    if (!r->o.counts) return -1;
    if (r->report && json_object_set_new(r->report, "counts", json_array()))
        return complain(&r->o.messages, EXIT_RUN, "out of memory");
    if (!r->report)
        puts("     PTX source      warps sectors/request wavefronts/req  instruction\n"
             "    line   line                      (needed)  (no conflict)");
    return failed(r, tile_context_set_counts(r->ctx, on_count, r));
}

int report_counted(Run *r) {
    return r->o.counts ? failed(r, tile_context_set_counts(r->ctx, NULL, NULL)) : -1;
}

int report_end(Run *r) {
    if (!r->report) return -1;
    char *text = json_to_text(r->report, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    if (!text) return complain(&r->o.messages, EXIT_RUN, "out of memory");
    puts(text);
    free(text);
    return -1;
}

/* ---- timing ---- */

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Queues n launches, each between two events, and fills ms with their times. Nothing is waited for
 * in between, so that the device never waits for the host. */
static tile_status time_runs(Run *r, const tile_grid *grid, int n, double *ms) {
    tile_event *event[BENCH_MAX + 1] = {NULL};
    tile_status st = tile_event_record(r->ctx, NULL, &event[0]);
    for (int i = 0; !st && i < n; i++) {
        st = tile_launch(r->kernel, grid, r->arg, r->info.num_params, NULL);
        if (!st) st = tile_event_record(r->ctx, NULL, &event[i + 1]);
    }
    for (int i = 0; !st && i < n; i++) st = tile_event_elapsed(event[i], event[i + 1], &ms[i]);
    for (int i = 0; i <= n; i++) tile_event_destroy(event[i]);
    return st;
}

/* One `# tile: flops` or `bytes`, 0 when the kernel states none. */
static int work_of(Run *r, const char *expression, double *out) {
    int64_t v = 0;
    tile_status st = TILE_OK;
    if (expression) st = tile_kernel_value(r->kernel, expression, r->arg, r->info.num_params, &v);
    *out = (double)v;
    return failed(r, st);
}

int report_bench(Run *r, const tile_grid *grid) {
    double ms[BENCH_MAX] = {0}, flops, bytes;
    int code = work_of(r, r->info.flops, &flops);
    if (code < 0) code = work_of(r, r->info.bytes, &bytes);
    if (code >= 0) return code;
    progress_start(&r->progress, "timing");
    tile_status st = time_runs(r, grid, 1, ms);
    double budget = 500.0;
    int least = r->on_cpu ? 1 : 20, n = least;
    if (ms[0] * BENCH_MAX < budget)
        n = BENCH_MAX;
    else if (ms[0] * least < budget)
        n = (int)(budget / ms[0]);
    /* A launch that takes the CPU device so long is not made again to be timed. */
    if (!st && n > 1) st = time_runs(r, grid, n, ms);
    progress_stop(&r->progress);
    if (st) return failed(r, st);
    qsort(ms, (size_t)n, sizeof *ms, by_size);
    double median = ms[n / 2], p10 = ms[n / 10], p90 = ms[n - 1 - n / 10];
    double gb = median > 0 ? bytes / median / 1e6 : 0, tera = median > 0 ? flops / median / 1e9 : 0;
    if (r->report) {
        json_t *o = json_pack("{s:i, s:f, s:f, s:f, s:f, s:f}", "runs", n, "median_us",
                              median * 1e3, "p10_us", p10 * 1e3, "p90_us", p90 * 1e3, "least_us",
                              ms[0] * 1e3, "most_us", ms[n - 1] * 1e3);
        if (r->info.bytes) json_object_set_new(o, "gb_per_s", real(gb));
        if (r->info.flops) json_object_set_new(o, "tflops", real(tera));
        return added(r, json_object_set_new(r->report, "bench", o));
    }
    char middle[DURATION_TEXT], low[DURATION_TEXT], high[DURATION_TEXT];
    duration_text(median, middle);
    if (n == 1)
        printf("%s: %s, 1 run", r->info.name, middle);
    else
        printf("%s: median %s of %d runs (p10 %s, p90 %s)", r->info.name, middle, n,
               duration_text(p10, low), duration_text(p90, high));
    if (r->info.bytes) printf(", %.4g GB/s", gb);
    if (r->info.flops) printf(", %.4g TFLOPS", tera);
    putchar('\n');
    return report_entry(r, grid);
}

/* ---- comparing with what is expected ---- */

/* " at [3, 17]" */
static const char *place(const NpyArray *a, size_t i, char *text, size_t size) {
    size_t index[NPY_MAX_RANK], n = 0;
    for (int d = a->rank - 1; d >= 0; d--) {
        index[d] = i % a->dim[d];
        i /= a->dim[d];
    }
    n += (size_t)snprintf(text, size, "[");
    for (int d = 0; d < a->rank && n < size; d++)
        n += (size_t)snprintf(text + n, size - n, "%s%zu", d ? ", " : "", index[d]);
    if (n < size) snprintf(text + n, size - n, "]");
    return text;
}

static bool same_shape(const NpyArray *a, const NpyArray *b) {
    bool same = a->rank == b->rank;
    for (int d = 0; same && d < a->rank; d++) same = a->dim[d] == b->dim[d];
    return same;
}

static int judge(Run *r, const Expect *e, const NpyArray *shape, const Array *got,
                 const Array *want) {
    Difference d;
    double tolerance = e->given ? e->tolerance : compare_tolerance(got->elem);
    compare_arrays(got, want, tolerance, compare_rms(want), &d);
    const char *name = r->o.value[e->value].name;
    char abs_at[400], rel_at[400], ulp_at[400], first[400];
    place(shape, d.abs_at, abs_at, sizeof abs_at);
    place(shape, d.rel_at, rel_at, sizeof rel_at);
    place(shape, d.ulp_at, ulp_at, sizeof ulp_at);
    place(shape, d.first, first, sizeof first);
    if (r->report) {
        json_t *list = json_object_get(r->report, "expect");
        json_t *o =
            json_pack("{s:s, s:s, s:b, s:I, s:f, s:I, s:o, s:s, s:o, s:s, s:o, s:s}", "name", name,
                      "file", e->file, "ok", d.beyond == 0, "elements", (json_int_t)got->count,
                      "tolerance", tolerance, "beyond", (json_int_t)d.beyond, "max_abs",
                      real(d.max_abs), "max_abs_at", abs_at, "max_rel", real(d.max_rel),
                      "max_rel_at", rel_at, "max_ulp", real(d.max_ulp), "max_ulp_at", ulp_at);
        if (o && d.beyond) json_object_set_new(o, "first_beyond", json_string(first));
        int code = added(r, json_array_append_new(list, o));
        if (code >= 0) return code;
    } else {
        bool equal = !d.beyond && !(d.max_abs > 0);
        printf("%s: %s: %zu of %zu element%s ", name, d.beyond ? "failed" : "passed",
               got->count - d.beyond, got->count, got->count == 1 ? "" : "s");
        if (equal)
            printf("equal to %s\n", e->file);
        else
            printf("within %.3g of %s; largest error: absolute %.3g at %s, relative %.3g at %s, "
                   "%.4g ulp at %s\n",
                   tolerance, e->file, d.max_abs, abs_at, d.max_rel, rel_at, d.max_ulp, ulp_at);
    }
    if (!d.beyond) return -1;
    message(&r->o.messages, C_DIFFERENT,
            "%s: %zu of %zu elements are beyond the tolerance %.3g; the first at %s is "
            "%.9g, expected %.9g",
            name, d.beyond, got->count, tolerance, first, compare_element(got, d.first),
            compare_element(want, d.first));
    return EXIT_RUN;
}

static int expect_one(Run *r, const Expect *e) {
    RunValue *v = &r->o.value[e->value];
    char *text, *data = malloc(v->array.bytes + 1);
    size_t len;
    FileError error;
    NpyArray a;
    if (!data) return complain(&r->o.messages, EXIT_RUN, "out of memory");
    int code = failed(r, tile_copy_to_host(r->ctx, data, v->ptr, v->array.bytes));
    if (code >= 0) {
        free(data);
        return code;
    }
    if (!file_read_as(e->file, NPY_BEGINS, (size_t)EXPECT_LIMIT_GB << 30, &text, &len, &error)) {
        free(data);
        return complain(&r->o.messages, EXIT_FILES, error.text);
    }
    if (!npy_parse(text, len, &a, &error)) {
        message(&r->o.messages, R_IO, "%s: %s", e->file, error.text);
        code = EXIT_FILES;
    } else if (!same_shape(&a, &v->array)) {
        message(&r->o.messages, E_COMMAND_LINE, "%s: its shape is not that of %s", e->file,
                v->name);
        code = EXIT_USAGE;
    } else {
        size_t count = v->array.bytes / (size_t)elem_info[v->elem].bytes;
        /* NumPy has no name for some types: their bits come as unsigned integers. */
        bool bits = elem_info[v->elem].class_ == ELEM_F && elem_info[a.elem].class_ == ELEM_U &&
                    elem_info[v->elem].bytes == elem_info[a.elem].bytes;
        Array got = {v->elem, data, count}, want = {bits ? v->elem : a.elem, a.data, count};
        code = judge(r, e, &a, &got, &want);
    }
    free(text);
    free(data);
    return code;
}

int report_expected(Run *r) {
    int worst = -1;
    if (r->report && r->o.nexpects) json_object_set_new(r->report, "expect", json_array());
    for (int i = 0; i < r->o.nexpects; i++) {
        int code = expect_one(r, &r->o.expect[i]);
        if (code >= 0 && code != EXIT_RUN) return code;
        if (code > worst) worst = code;
    }
    return worst;
}
