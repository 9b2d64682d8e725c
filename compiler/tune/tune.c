/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tune.c: tile_tune: the configs of a kernel -> times in a tuning file, and the fastest.
 *
 *   plan ──▶ compile and load, on many threads ──▶ check, as they become ready ──▶ time, likely
 *   fastest first ──▶ a record each, stored when it is known
 *
 * Checks come before times, so that what is timed is right: of the different results the one that
 * most configs agree on counts. Records that the file has already are not made again, which is also
 * how a tuning that was killed goes on; the fastest of them takes part in the checks as the result
 * to agree with. */
#include "compiler/tune/tune.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MAX_THREADS = 256, DEFAULT_BUDGET_MS = 100 };

typedef enum CandidateState {
    WAITING, /* to be compiled */
    READY,   /* compiled and loaded, or failed: `why` */
    CHECKED, /* ran, agrees with result `which` */
    DONE,    /* has a record */
    SKIPPED  /* had one before */
} CandidateState;

typedef struct Candidate {
    const char *config;
    CandidateState state;
    bool reference; /* has a record, and is here for its result */
    tile_status status;
    tile_module *module;
    tile_kernel *kernel;
    int which;
    double ms; /* of the check */
    char why[TUNE_TEXT];
} Candidate;

typedef struct Tuner {
    tile_context *ctx;
    const tile_tune_options *o;
    tile_tuning *tuning;
    TunePlan plan;
    TuneBench bench;
    Candidate *candidate;
    int n, done, total;  /* done, total: steps */
    Candidate **order;   /* of compiling: those without a record */
    int norder, checked; /* checked: so many of them, also those that failed */
    tile_arg *arg;
    size_t *bytes;
    int nargs;
    char *key;
    const char *target;
    double started, checks_started, checks_ended; /* ended: the last so far */
    TuneTime best;                                /* runs 0: none yet */
    /* what the threads share */
    pthread_mutex_t lock;
    pthread_cond_t ready;
    int next;
    bool stop;
} Tuner;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static tile_status told(Tuner *t, tile_status st, const char *text) {
    const tile_tune_options *o = t->o;
    if (!text || !*text) text = tile_status_text(st); /* there was no memory for a sentence */
    if (st && o->message && o->message_size) tune_line(text, o->message, o->message_size);
    return st;
}

/* A call on the context failed. */
static tile_status failed(Tuner *t, tile_status st) {
    return told(t, st, st == TILE_NO_MEMORY ? "out of memory" : tile_error(t->ctx));
}

/* ---- records ---- */

static tile_tuned record_of(const Tuner *t, const Candidate *c) {
    return (tile_tuned){
        .kernel = plan_name(&t->plan),
        .device = tile_context_device_name(t->ctx),
        .target = t->target,
        .types = t->plan.types,
        .key = t->key,
        .source = t->plan.source,
        .config = c ? c->config : NULL,
    };
}

static double budget(const Tuner *t) {
    return t->o->budget_ms > 0 ? t->o->budget_ms : DEFAULT_BUDGET_MS;
}

/* What is still to come: another check takes as long as those before it did, compiling included,
 * and how long timing takes follows from a check's launch. Looks at no candidate that a thread may
 * be compiling. */
static void foresee(const Tuner *t, tile_tune_progress *p) {
    int unchecked = t->norder - t->checked, untimed = 0;
    double ms = 0;
    for (int i = 0; i < t->checked; i++) {
        const Candidate *c = t->order[i];
        if (c->state != CHECKED || c->reference) continue;
        untimed++;
        ms += bench_expected(&t->bench, c->ms, budget(t));
    }
    if (t->checked) {
        double each = (t->checks_ended - t->checks_started) / t->checked;
        if (untimed) each += ms / 1e3 / untimed;
        p->left = unchecked * each + ms / 1e3;
    }
    if (!t->checked && t->order[0]->reference) untimed--; /* its time is known */
    p->launches = unchecked + bench_first_runs(&t->bench) * (unchecked + untimed);
}

static void report(Tuner *t, const tile_tuned *record) {
    if (!t->o->progress) return;
    tile_tune_progress p = {.done = t->done,
                            .total = t->total,
                            .seconds = now() - t->started,
                            .left = -1,
                            .record = record,
                            .best_ms = t->best.runs ? t->best.median : 0};
    foresee(t, &p);
    t->o->progress(t->o->user, &p);
}

static tile_status store(Tuner *t, Candidate *c, const tile_tuned *record) {
    c->state = DONE;
    tile_status st = tile_tuning_add(t->tuning, record);
    report(t, record);
    return told(t, st, tile_tuning_error(t->tuning));
}

static tile_status store_failure(Tuner *t, Candidate *c) {
    tile_tuned r = record_of(t, c);
    r.failure = c->why;
    t->done = c->state == CHECKED ? t->done + 1 : t->done + 2;
    return store(t, c, &r);
}

static bool same(const char *a, const char *b) {
    return strcmp(a, b) == 0;
}

/* The record that the file has of this config, compiled from this source. */
static bool find_record(const Tuner *t, const Candidate *c, tile_tuned *out) {
    tile_tuned w = record_of(t, c);
    for (int i = 0; tile_tuning_get(t->tuning, i, out) == TILE_OK; i++)
        if (same(out->kernel, w.kernel) && same(out->device, w.device) &&
            same(out->target, w.target) && same(out->types, w.types) && same(out->key, w.key) &&
            same(out->source, w.source) && same(out->config, w.config))
            return true;
    return false;
}

/* ---- compiling ---- */

static void compile(Tuner *t, Candidate *c) {
    tile_compile_options q = *t->o->compile;
    bool on_cpu = same(tile_context_target(t->ctx), "cpu");
    q.kernel = plan_name(&t->plan);
    q.config = 0;
    q.config_text = c->config;
    q.emit = on_cpu ? TILE_EMIT_TIR : TILE_EMIT_PTX;
    q.target = on_cpu ? NULL : t->target;
    q.no_warnings = q.no_perf_notes = 1;
    q.color = q.time = q.stats = q.report = q.annotate = q.warnings_are_errors = 0;
    q.passes = q.dump_after = NULL;
    tile_compiled *out;
    c->status = tile_compile(&q, &out);
    if (c->status && out) tune_reason(out, c->why, sizeof c->why);
    if (!c->status) {
        size_t len;
        const char *text = tile_compiled_text(out, TILE_PART_OUTPUT, &len);
        c->status = tile_module_load(t->ctx, text, len, &c->module);
        if (!c->status) c->status = tile_kernel_get(c->module, q.kernel, &c->kernel);
        if (c->status) tune_line(tile_error(t->ctx), c->why, sizeof c->why);
    }
    tile_compiled_free(out);
}

/* Takes one after the other until there are no more. */
static void *compile_some(void *user) {
    Tuner *t = user;
    pthread_mutex_lock(&t->lock);
    while (!t->stop && t->next < t->norder) {
        Candidate *c = t->order[t->next++];
        pthread_mutex_unlock(&t->lock);
        compile(t, c);
        pthread_mutex_lock(&t->lock);
        c->state = READY;
        pthread_cond_signal(&t->ready);
    }
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

/* Waits for one that is compiled; when no thread could be started, compiles. */
static void wait_for(Tuner *t, Candidate *c, int nthreads) {
    if (!nthreads && c->state == WAITING) compile_some(t);
    pthread_mutex_lock(&t->lock);
    while (c->state == WAITING) pthread_cond_wait(&t->ready, &t->lock);
    pthread_mutex_unlock(&t->lock);
}

/* ---- checking ---- */

/* Whether the tuning can go on after this. A launch that does not fit its arguments is the caller's
 * mistake and would fail in every config; a lost device fails everything. */
static bool goes_on(Tuner *t, tile_status st) {
    if (st == TILE_COMPILE_ERROR || st == TILE_BAD_MODULE || st == TILE_CHECK_FAILED) return true;
    return st == TILE_DEVICE_ERROR && tile_synchronize(t->ctx) == TILE_OK;
}

static tile_status check(Tuner *t, Candidate *c) {
    tile_status st = c->status;
    if (!st) {
        st = bench_check(&t->bench, c->kernel, &c->which, &c->ms, c->why, sizeof c->why);
        if (st) tune_line(tile_error(t->ctx), c->why, sizeof c->why);
    }
    t->checked++;
    t->checks_ended = now();
    if (!st) {
        c->state = CHECKED;
        t->done++;
        report(t, NULL);
        return TILE_OK;
    }
    if (!goes_on(t, st)) return told(t, st, c->why);
    if (!c->reference) return store_failure(t, c);
    c->state = SKIPPED;
    t->done++;
    return TILE_OK;
}

static tile_status check_all(Tuner *t, int nthreads) {
    tile_status st = TILE_OK;
    t->checks_started = now();
    for (int i = 0; !st && i < t->norder; i++) {
        Candidate *c = t->order[i];
        wait_for(t, c, nthreads);
        st = check(t, c);
    }
    return st;
}

static tile_status check_with_threads(Tuner *t) {
    pthread_t thread[MAX_THREADS];
    long cores = t->o->threads > 0 ? t->o->threads : sysconf(_SC_NPROCESSORS_ONLN);
    int want = cores < 1 ? 1 : cores > MAX_THREADS ? MAX_THREADS : (int)cores, n = 0;
    if (want > t->norder) want = t->norder;
    while (n < want && pthread_create(&thread[n], NULL, compile_some, t) == 0) n++;
    tile_status st = check_all(t, n);
    pthread_mutex_lock(&t->lock);
    t->stop = true;
    pthread_mutex_unlock(&t->lock);
    for (int i = 0; i < n; i++) pthread_join(thread[i], NULL);
    return st;
}

/* Of the different results the one of most configs counts, or that of the reference. */
static tile_status drop_wrong(Tuner *t) {
    int right = 0;
    for (int i = 1; i < t->bench.nresults; i++)
        if (t->bench.result[i].members > t->bench.result[right].members) right = i;
    for (int i = 0; i < t->norder; i++)
        if (t->order[i]->reference && t->order[i]->state == CHECKED) right = t->order[i]->which;
    tile_status st = TILE_OK;
    for (int i = 0; !st && i < t->norder; i++) {
        Candidate *c = t->order[i];
        if (c->state != CHECKED || c->which == right) continue;
        if (!c->which)
            snprintf(c->why, sizeof c->why, "wrong result: %d other configs agree on another",
                     t->bench.result[right].members);
        st = store_failure(t, c);
    }
    return st;
}

/* ---- timing ---- */

static int by_ms(const void *a, const void *b) {
    double x = (*(Candidate *const *)a)->ms, y = (*(Candidate *const *)b)->ms;
    return (x > y) - (x < y);
}

static tile_status time_one(Tuner *t, Candidate *c) {
    TuneTime time;
    tile_status st =
        bench_time(&t->bench, c->kernel, c->ms, budget(t), t->best.runs ? &t->best : NULL, &time);
    if (st) {
        tune_line(tile_error(t->ctx), c->why, sizeof c->why);
        return goes_on(t, st) ? store_failure(t, c) : told(t, st, c->why);
    }
    tile_tuned r = record_of(t, c);
    r.median_ms = time.median;
    r.low_ms = time.low;
    r.high_ms = time.high;
    r.runs = time.runs;
    if (!t->best.runs || time.median < t->best.median) t->best = time;
    t->done++;
    return store(t, c, &r);
}

/* Those that were fast once come first, so that the others are soon seen to be slower. */
static tile_status time_all(Tuner *t) {
    qsort(t->order, (size_t)t->norder, sizeof *t->order, by_ms);
    tile_status st = TILE_OK;
    for (int i = 0; !st && i < t->norder; i++)
        if (t->order[i]->state == CHECKED && !t->order[i]->reference) st = time_one(t, t->order[i]);
    return st;
}

/* ---- the arguments ---- */

/* The caller's arguments are needed before anything is compiled, for they name the bucket: he gets
 * to see the kernel as the CPU device loads it. */
static tile_status bind(Tuner *t, tile_context *cpu, tile_module **m) {
    size_t len;
    const char *text = tile_compiled_text(t->plan.lowered, TILE_PART_OUTPUT, &len);
    tile_kernel *k;
    tile_kernel_info info;
    tile_status st = tile_module_load(cpu, text, len, m);
    if (!st) st = tile_kernel_get(*m, NULL, &k);
    if (!st) st = tile_kernel_describe(k, &info);
    if (st) return told(t, st, cpu ? tile_error(cpu) : NULL);
    t->nargs = info.num_params;
    size_t room = (size_t)t->nargs + 1;
    t->arg = calloc(room, sizeof *t->arg);
    t->bytes = calloc(room, sizeof *t->bytes);
    t->bench.buffer = calloc(room, sizeof *t->bench.buffer);
    if (!t->arg || !t->bytes || !t->bench.buffer) return told(t, TILE_NO_MEMORY, "out of memory");
    st = t->o->bind(t->o->user, k, t->arg, t->bytes);
    for (int i = 0; !st && i < t->nargs; i++) {
        tile_kernel_param p;
        st = tile_kernel_get_param(k, i, &p);
        if (st || t->arg[i].type != TILE_POINTER || !t->bytes[i]) continue;
        t->bench.buffer[t->bench.nbuffers++] =
            (TuneBuffer){.ptr = t->arg[i].value.p, .bytes = t->bytes[i], .element = p.element};
    }
    return st;
}

static tile_status bind_on_cpu(Tuner *t) {
    tile_context *cpu;
    tile_module *m = NULL;
    tile_status st = tile_context_create("cpu", &cpu);
    st = st ? told(t, st, tile_error(cpu)) : bind(t, cpu, &m);
    tile_module_unload(m);
    tile_context_destroy(cpu);
    return st;
}

typedef struct ArgText {
    const Tuner *t;
    char text[40];
} ArgText;

static const char *text_of_arg(void *user, const char *name, int param) {
    ArgText *x = user;
    (void)name;
    if (param >= x->t->nargs) return NULL;
    const tile_arg *a = &x->t->arg[param];
    if (a->type >= TILE_FP8E4NV && a->type <= TILE_FP64)
        snprintf(x->text, sizeof x->text, "%.17g", a->value.f);
    else if (a->type == TILE_U64)
        snprintf(x->text, sizeof x->text, "%llu", (unsigned long long)a->value.i);
    else if (a->type >= TILE_I1 && a->type < TILE_FP8E4NV)
        snprintf(x->text, sizeof x->text, "%lld", (long long)a->value.i);
    else
        return NULL;
    return x->text;
}

/* ---- the configs ---- */

/* "M=4096" for each argument that is a number, in one piece of memory; NULL: there is none. */
static char *make_facts(const Tuner *t, const char **fact, int *n) {
    enum { ROOM = 200 };
    char *all = calloc((size_t)t->nargs + 1, ROOM);
    ArgText text = {.t = t};
    for (int i = 0; all && i < t->nargs; i++) {
        const char *name =
            json_string_value(json_object_get(json_array_get(t->plan.params, (size_t)i), "name"));
        const char *value = text_of_arg(&text, name, i);
        char *at = all + (size_t)i * ROOM;
        if (name && value && snprintf(at, ROOM, "%s=%s", name, value) < ROOM) fact[(*n)++] = at;
    }
    return all;
}

typedef struct Ranked {
    double clocks;
    int config;
} Ranked;

static int by_clocks(const void *a, const void *b) {
    const Ranked *x = a, *y = b;
    if (x->clocks != y->clocks) return x->clocks < y->clocks ? -1 : 1;
    return x->config - y->config;
}

/* Leaves those that the model takes for the fastest, in the list's order of them. */
static tile_status keep_most(Tuner *t) {
    size_t n = (size_t)t->n;
    const char **fact = calloc((size_t)t->nargs + 1, sizeof *fact);
    double *clocks = calloc(n, sizeof *clocks);
    Ranked *rank = calloc(n, sizeof *rank);
    tile_compile_options o = *t->o->compile;
    o.values = fact;
    o.nvalues = 0;
    char *all = fact ? make_facts(t, fact, &o.nvalues) : NULL;
    tile_status st = all && clocks && rank ? forecast_clocks(&t->plan, &o, t->o->grid, 0, clocks)
                                           : TILE_NO_MEMORY;
    for (int i = 0; !st && i < t->n; i++) rank[i] = (Ranked){clocks[i], i};
    if (!st) qsort(rank, n, sizeof *rank, by_clocks);
    for (int i = 0; !st && i < t->o->most; i++)
        t->candidate[i].config = plan_config(&t->plan, rank[i].config);
    if (!st) t->n = t->o->most;
    free(fact);
    free(all);
    free(clocks);
    free(rank);
    return st ? told(t, st, t->plan.why) : TILE_OK;
}

/* ---- the whole ---- */

/* Which configs have a record already; the fastest of them joins in for its result. */
static void skip_known(Tuner *t) {
    Candidate *reference = NULL;
    double least = 0;
    bool any = false;
    for (int i = 0; i < t->n; i++) {
        Candidate *c = &t->candidate[i];
        tile_tuned r;
        if (t->o->again || !find_record(t, c, &r)) {
            t->order[t->norder++] = c;
            any = true;
            continue;
        }
        c->state = SKIPPED;
        if (r.failure) continue;
        if (!reference || r.median_ms < least) {
            reference = c;
            least = r.median_ms;
            t->best = (TuneTime){r.median_ms, r.low_ms, r.high_ms, r.runs};
        }
    }
    if (!any || !reference) return;
    reference->reference = true;
    reference->state = WAITING;
    memmove(t->order + 1, t->order, (size_t)t->norder * sizeof *t->order);
    t->order[0] = reference;
    t->norder++;
}

static tile_status prepare(Tuner *t) {
    tile_status st = plan_read(&t->plan, t->o->compile);
    if (!st && t->o->space) st = plan_space(&t->plan, t->o->space);
    if (st) return told(t, st, t->plan.why);
    t->n = plan_configs(&t->plan);
    if (!t->n)
        return told(t, TILE_INVALID,
                    "the kernel has no list of configs (@triton.autotune): give a space");
    st = plan_params(&t->plan);
    if (st) return told(t, st, t->plan.why);
    st = bind_on_cpu(t);
    if (st) return st;
    ArgText text = {.t = t};
    t->key = plan_key(&t->plan, text_of_arg, &text);
    t->candidate = calloc((size_t)t->n, sizeof *t->candidate);
    t->order = calloc((size_t)t->n + 1, sizeof(Candidate *));
    if (!t->key || !t->candidate || !t->order) return told(t, TILE_NO_MEMORY, "out of memory");
    for (int i = 0; i < t->n; i++) t->candidate[i].config = plan_config(&t->plan, i);
    if (t->o->most > 0 && t->o->most < t->n) st = keep_most(t);
    if (st) return st;
    skip_known(t);
    bool known = t->norder && t->order[0]->reference;
    t->total = 2 * t->norder - known;
    return TILE_OK;
}

static tile_status tune(Tuner *t) {
    tile_status st = prepare(t);
    if (st || !t->norder) return st;
    report(t, NULL);
    t->bench.arg = t->arg;
    t->bench.nargs = t->nargs;
    st = failed(t, bench_begin(&t->bench));
    if (!st) st = check_with_threads(t);
    if (!st) st = drop_wrong(t);
    if (!st) st = time_all(t);
    return st;
}

/* The fastest of this very bucket. */
static tile_status find_best(Tuner *t, tile_tuned *best) {
    tile_tuned like = record_of(t, NULL);
    tile_status st = tile_tuning_find(t->tuning, &like, best);
    if (!st && !same(best->key, t->key)) st = TILE_NOT_FOUND;
    return told(t, st, "every config failed");
}

tile_status tile_tune(tile_context *ctx, const tile_tune_options *o, tile_tuning *tuning,
                      tile_tuned *best) {
    if (!ctx || !o || !o->compile || !o->bind || !tuning || !best) return TILE_INVALID;
    Tuner t = {.ctx = ctx, .o = o, .tuning = tuning, .started = now()};
    t.bench = (TuneBench){.ctx = ctx, .grid = o->grid, .tolerance = o->tolerance};
    t.target = tile_target_name(o->compile->target);
    if (!t.target) t.target = o->compile->target ? o->compile->target : tile_context_target(ctx);
    if (same(tile_context_target(ctx), "cpu")) t.target = "cpu";
    if (pthread_mutex_init(&t.lock, NULL)) return told(&t, TILE_NO_MEMORY, "out of memory");
    if (pthread_cond_init(&t.ready, NULL)) {
        pthread_mutex_destroy(&t.lock);
        return told(&t, TILE_NO_MEMORY, "out of memory");
    }
    tile_status st = tune(&t);
    if (!st) st = find_best(&t, best);
    for (int i = 0; t.candidate && i < t.n; i++) tile_module_unload(t.candidate[i].module);
    bench_end(&t.bench);
    free(t.bench.buffer);
    plan_free(&t.plan);
    pthread_cond_destroy(&t.ready);
    pthread_mutex_destroy(&t.lock);
    free(t.candidate);
    free(t.order);
    free(t.arg);
    free(t.bytes);
    free(t.key);
    return st;
}

/* ---- choosing without measuring ---- */

typedef struct Facts {
    const tile_compile_options *o;
    char text[200];
} Facts;

/* What the options know of the launch: "NAME=VALUE". */
static const char *text_of_fact(void *user, const char *name, int param) {
    Facts *f = user;
    size_t n = strlen(name);
    (void)param;
    for (int i = 0; i < f->o->nvalues; i++)
        if (strncmp(f->o->values[i], name, n) == 0 && f->o->values[i][n] == '=') {
            snprintf(f->text, sizeof f->text, "%s", f->o->values[i] + n + 1);
            return f->text;
        }
    return NULL;
}

tile_status tile_tune_find(const tile_compile_options *options, const tile_tuning *tuning,
                           const char *device, tile_tuned *out) {
    if (!options || !tuning || !out) return TILE_INVALID;
    TunePlan plan = {.o = options};
    Facts facts = {.o = options};
    tile_status st = plan_read(&plan, options);
    if (st) {
        plan_free(&plan);
        return st;
    }
    plan_params(&plan); /* where it cannot be lowered without a config, types count for nothing */
    char *key = plan_key(&plan, text_of_fact, &facts);
    tile_tuned like = {
        .kernel = plan_name(&plan),
        .device = device,
        .target =
            tile_target_name(options->target) ? tile_target_name(options->target) : options->target,
        .types = plan.types,
        .key = key && *key ? key : NULL,
    };
    st = key ? tile_tuning_find(tuning, &like, out) : TILE_NO_MEMORY;
    free(key);
    plan_free(&plan);
    return st;
}
