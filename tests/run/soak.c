/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* soak.c: see soak.h. A launch is repeated on copies of its buffers, one set for each stream: what
 * it changes is put back before, and compared after by a kernel in the same stream, which counts
 * bytes that differ. So nothing waits, and no launch goes unseen. */
#include "tests/run/soak.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    STREAMS = 4,
    MAX_ARRAYS = 24,
    MAX_SOAK_ARGS = 64,
    BYTES_MOST = 1 << 20, /* of the buffers of a launch */
    BETTER_MOST = 4,      /* how often a larger launch of a kernel replaces a smaller one */
    ORDER_EVERY = 512,    /* launches, after which a stream waits for another */
    ALLOC_EVERY = 4096,
    SECTIONS = 16,         /* after each, all is waited for and one stream is made anew */
    HOST_GROWTH = 1 << 20, /* bytes, of what malloc and the driver keep */
    BLOCK = 4096
};

typedef struct Kept {
    const Array *array;
    size_t before, total;
    bool changes;
    tile_ptr image, after; /* what it holds before and after a launch */
    tile_ptr work[STREAMS];
} Kept;

struct SoakRecord {
    SoakRecord *next;
    char name[200];
    tile_kernel *kernel;
    tile_grid grid;
    bool own_grid, by_order;
    int better;
    Arg arg[MAX_SOAK_ARGS];
    int array_of[MAX_SOAK_ARGS];
    int nargs, narrays;
    size_t bytes;
    Kept array[MAX_ARRAYS];
    long launched;
    tile_ptr differing; /* how many bytes were not as they should be, int32 */
};

static const char differs_source[] =
    "import triton, triton.language as tl\n"
    "@triton.jit\n"
    "def differs(a: '*u8:16', b: '*u8:16', n: 'i32', count: '*i32', BLOCK: tl.constexpr):\n"
    "    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
    "    wrong = tl.load(a + at, at < n, 0) != tl.load(b + at, at < n, 0)\n"
    "    bytes = tl.sum(wrong.to(tl.int32))\n"
    "    if bytes > 0:\n"
    "        tl.atomic_add(count, bytes)\n";

typedef struct Run {
    Suite *s;
    void *stream[STREAMS];
    tile_module *module;
    tile_kernel *differs;
    tile_event *event;
    uint64_t state;
    bool ok;
} Run;

/* ---- keeping launches ---- */

static void free_arrays(Suite *s, SoakRecord *r) {
    for (int i = 0; i < r->narrays; i++) {
        Kept *k = &r->array[i];
        tile_ptr all[STREAMS + 2] = {k->image, k->after};
        memcpy(all + 2, k->work, sizeof k->work);
        for (int n = 0; n < STREAMS + 2; n++)
            if (all[n]) tile_free(s->ctx, all[n]);
    }
    if (r->differing) tile_free(s->ctx, r->differing);
    r->differing = 0;
    r->narrays = 0;
}

static tile_ptr copy_of(Suite *s, tile_ptr from, size_t bytes) {
    tile_ptr to = 0;
    tile_status st = tile_alloc(s->ctx, bytes, &to);
    if (!st) st = tile_copy_on_device(s->ctx, to, from, bytes, NULL);
    if (st) suite_case(s, false, "soak: %s", tile_error(s->ctx));
    return to;
}

/* The buffers of a launch, each once. False: it is none to repeat. */
static bool list_arrays(SoakRecord *r, const SoakLaunch *l) {
    r->nargs = l->nargs;
    for (int i = 0; i < l->nargs; i++) {
        const Array *a = l->args[i].array;
        r->arg[i] = l->args[i];
        r->array_of[i] = -1;
        if (!l->args[i].is_pointer) continue;
        if (!a || a->leads_to || !a->bytes || l->args[i].value.value.p != a->ptr) return false;
        int n = 0;
        while (n < r->narrays && r->array[n].array != a) n++;
        if (n == MAX_ARRAYS) return false;
        if (n == r->narrays)
            r->array[r->narrays++] = (Kept){.array = a, .before = a->before, .total = a->total};
        r->array_of[i] = n;
        if (n + 1 == r->narrays) r->bytes += a->total;
    }
    return r->narrays > 0 && r->bytes <= BYTES_MOST;
}

void soak_before(Suite *s, const SoakLaunch *l) {
    Soak *soak = s->soak;
    SoakRecord *old = soak->records;
    while (old && strcmp(old->name, l->name)) old = old->next;
    if (l->nargs > MAX_SOAK_ARGS || (old && old->better == BETTER_MOST)) return;
    SoakRecord *r = suite_alloc(sizeof *r);
    *r = (SoakRecord){.kernel = l->kernel, .by_order = l->by_order, .own_grid = !l->grid};
    snprintf(r->name, sizeof r->name, "%s", l->name);
    if (l->grid) r->grid = *l->grid;
    if (!list_arrays(r, l) || (old && old->bytes >= r->bytes)) {
        free(r);
        return;
    }
    r->better = old ? old->better + 1 : 0;
    for (int i = 0; i < r->narrays; i++)
        r->array[i].image = copy_of(s, r->array[i].array->base, r->array[i].total);
    soak->pending = r;
}

static void drop(Suite *s, SoakRecord *r) {
    free_arrays(s, r);
    free(r);
}

void soak_after(Suite *s, bool launched) {
    Soak *soak = s->soak;
    SoakRecord *r = soak->pending, **at = &soak->records;
    soak->pending = NULL;
    if (!r) return;
    if (!launched) {
        drop(s, r);
        return;
    }
    for (int i = 0; i < r->narrays; i++) {
        Kept *k = &r->array[i];
        k->after = copy_of(s, k->array->base, k->total);
        k->array = NULL;
    }
    while (*at && strcmp((*at)->name, r->name)) at = &(*at)->next;
    SoakRecord *old = *at;
    r->next = old ? old->next : NULL;
    *at = r;
    soak->nrecords += !old;
    if (old) drop(s, old);
}

/* ---- one launch ---- */

static bool must(Run *run, tile_status st, const char *what) {
    if (!st) return true;
    if (run->ok) suite_case(run->s, false, "soak: %s: %s", what, tile_error(run->s->ctx));
    run->ok = false;
    return false;
}

static void compare(Run *run, const SoakRecord *r, tile_ptr a, tile_ptr b, size_t bytes, int i) {
    tile_grid grid = {(uint32_t)((bytes + BLOCK - 1) / BLOCK), 1, 1};
    tile_arg args[] = {tile_pointer(a), tile_pointer(b), tile_i32((int32_t)bytes),
                       tile_pointer(r->differing)};
    must(run, tile_launch(run->differs, &grid, args, 4, run->stream[i]), "comparing");
}

static void launch(Run *run, SoakRecord *r, int i) {
    tile_context *ctx = run->s->ctx;
    tile_arg args[MAX_SOAK_ARGS];
    for (int n = 0; n < r->narrays && run->ok; n++)
        if (r->array[n].changes)
            must(run,
                 tile_copy_on_device(ctx, r->array[n].work[i], r->array[n].image, r->array[n].total,
                                     run->stream[i]),
                 "copying");
    for (int n = 0; n < r->nargs; n++) {
        args[n] = r->arg[n].value;
        if (r->array_of[n] < 0) continue;
        const Kept *k = &r->array[r->array_of[n]];
        args[n].value.p = k->work[i] + k->before;
    }
    if (!run->ok) return;
    must(run, tile_launch(r->kernel, r->own_grid ? NULL : &r->grid, args, r->nargs, run->stream[i]),
         r->name);
    r->launched++;
    for (int n = 0; n < r->narrays && run->ok; n++)
        if (r->array[n].changes)
            compare(run, r, r->array[n].work[i], r->array[n].after, r->array[n].total, i);
}

static int32_t differing(Run *run, const SoakRecord *r) {
    int32_t n = 0;
    must(run, tile_copy_to_host(run->s->ctx, &n, r->differing, sizeof n), "reading");
    return n;
}

/* ---- before and after ---- */

static void begin(Run *run) {
    Suite *s = run->s;
    const char *defines[] = {"BLOCK=4096"};
    tile_compile_options o = {.source = differs_source,
                              .source_len = sizeof differs_source - 1,
                              .file_name = "differs",
                              .defines = defines,
                              .ndefines = 1,
                              .target = s->on_cpu ? NULL : s->target,
                              .emit = s->on_cpu ? TILE_EMIT_TIR : TILE_EMIT_PTX};
    tile_compiled *c = NULL;
    size_t size = 0;
    tile_status st = tile_compile(&o, &c);
    const char *text = tile_compiled_text(c, TILE_PART_OUTPUT, &size);
    if (st) suite_case(s, false, "soak: %s", tile_compiled_text(c, TILE_PART_DIAGNOSTICS, NULL));
    run->ok = !st && must(run, tile_module_load(s->ctx, text, size, &run->module), "loading") &&
              must(run, tile_kernel_get(run->module, NULL, &run->differs), "loading");
    tile_compiled_free(c);
    for (int i = 0; i < STREAMS && run->ok; i++)
        must(run, tile_stream_create(s->ctx, &run->stream[i]), "a stream");
}

static void prepare(Run *run, SoakRecord *r) {
    Suite *s = run->s;
    must(run, tile_alloc(s->ctx, sizeof(int32_t), &r->differing), "memory");
    for (int n = 0; n < r->narrays && run->ok; n++) {
        Kept *k = &r->array[n];
        must(run, tile_fill(s->ctx, r->differing, 0, sizeof(int32_t)), "memory");
        compare(run, r, k->image, k->after, k->total, 0);
        must(run, tile_synchronize(s->ctx), "waiting");
        k->changes = run->ok && differing(run, r) != 0;
        for (int i = 0; i < STREAMS && run->ok; i++)
            k->work[i] = copy_of(s, k->changes ? k->after : k->image, k->total);
    }
    if (run->ok) must(run, tile_fill(s->ctx, r->differing, 0, sizeof(int32_t)), "memory");
    must(run, tile_synchronize(s->ctx), "waiting");
}

/* Some launches alone: whether they leave the same bits each time. */
static bool is_steady(Run *run, SoakRecord *r) {
    for (int n = 0; n < 3 && run->ok; n++) launch(run, r, 0);
    must(run, tile_synchronize(run->s->ctx), "waiting");
    return run->ok && differing(run, r) == 0;
}

static long host_bytes(void) {
    long pages = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f && fscanf(f, "%ld %ld", &pages, &resident) != 2) resident = 0;
    if (f) fclose(f);
    return resident * sysconf(_SC_PAGESIZE);
}

/* What is taken of a GPU's memory; 0 on another device. */
static long long device_bytes(Suite *s) {
    void *cu = tile_context_cuda(s->ctx);
    void *library = cu ? dlopen("libcuda.so.1", RTLD_NOW) : NULL, *symbol[3];
    int (*push)(void *), (*pop)(void **), (*info)(size_t *, size_t *);
    if (!library) return 0;
    symbol[0] = dlsym(library, "cuCtxPushCurrent_v2");
    symbol[1] = dlsym(library, "cuCtxPopCurrent_v2");
    symbol[2] = dlsym(library, "cuMemGetInfo_v2");
    size_t left = 0, all = 0;
    if (symbol[0] && symbol[1] && symbol[2]) {
        memcpy(&push, &symbol[0], sizeof push);
        memcpy(&pop, &symbol[1], sizeof pop);
        memcpy(&info, &symbol[2], sizeof info);
        if (!push(cu)) {
            if (info(&left, &all)) left = all = 0;
            pop(&cu);
        }
    }
    dlclose(library);
    return (long long)(all - left);
}

static size_t below(Run *run, size_t n) {
    run->state = run->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (size_t)(run->state >> 33) % n;
}

/* Streams wait for each other now and then, memory comes and goes, and so does a stream. */
static void disturb(Run *run, long i) {
    tile_context *ctx = run->s->ctx;
    if (i % ORDER_EVERY == 0) {
        must(run, tile_event_record(ctx, run->stream[below(run, STREAMS)], &run->event),
             "an event");
        if (run->ok)
            must(run, tile_event_order(run->event, run->stream[below(run, STREAMS)]), "an event");
    }
    if (i % ALLOC_EVERY == 0) {
        tile_ptr p = 0;
        must(run, tile_alloc(ctx, 1 + below(run, BYTES_MOST), &p), "memory");
        if (p) must(run, tile_free(ctx, p), "memory");
    }
}

static void section(Run *run, SoakRecord **record, int n, long launches) {
    for (long i = 0; i < launches && run->ok; i++) {
        launch(run, record[below(run, (size_t)n)], (int)below(run, STREAMS));
        disturb(run, i);
    }
    int i = (int)below(run, STREAMS);
    must(run, tile_synchronize(run->s->ctx), "waiting");
    must(run, tile_stream_destroy(run->s->ctx, run->stream[i]), "a stream");
    run->stream[i] = NULL;
    if (run->ok) must(run, tile_stream_create(run->s->ctx, &run->stream[i]), "a stream");
}

static void soak(Run *run, SoakRecord **record, int n) {
    Suite *s = run->s;
    struct timespec t0, t1;
    long part = s->soak->launches / SECTIONS + 1, before = 0, host = 0, made = 0;
    long long device = 0;
    for (int i = 0; i < n * STREAMS; i++) launch(run, record[i / STREAMS], i % STREAMS);
    section(run, record, n, part); /* what grows once has grown */
    for (int i = 0; i < n; i++) before += record[i]->launched;
    host = host_bytes();
    device = device_bytes(s);
    clock_gettime(CLOCK_MONOTONIC, &t0);
    for (int i = 0; i < SECTIONS && run->ok; i++) section(run, record, n, part);
    clock_gettime(CLOCK_MONOTONIC, &t1);
    host = host_bytes() - host;
    device = device_bytes(s) - device;
    for (int i = 0; i < n && run->ok; i++) {
        SoakRecord *r = record[i];
        made += r->launched;
        for (int k = 0; k < r->narrays; k++) /* what is only read */
            for (int at = 0; at < STREAMS && !r->array[k].changes && run->ok; at++)
                compare(run, r, r->array[k].work[at], r->array[k].image, r->array[k].total, at);
        must(run, tile_synchronize(s->ctx), "waiting");
        int32_t wrong = run->ok ? differing(run, r) : -1;
        suite_case(s, !wrong, "soak: %s: %d bytes are other ones, in %ld launches", r->name, wrong,
                   r->launched);
    }
    suite_case(s, host <= HOST_GROWTH, "soak: the host's memory grew by %ld bytes", host);
    suite_case(s, device <= 0, "soak: the device's memory grew by %lld bytes", device);
    printf(
        "%ld launches of %d kernels in %d streams, each compared: %.1f s, the host's memory %+ld "
        "bytes, the device's %+lld\n",
        made - before, n, STREAMS,
        (double)(t1.tv_sec - t0.tv_sec) + (double)(t1.tv_nsec - t0.tv_nsec) * 1e-9, host, device);
}

void soak_run(Suite *s) {
    Run run = {.s = s, .state = 1, .ok = true};
    SoakRecord **steady = suite_alloc(((size_t)s->soak->nrecords + 1) * sizeof *steady);
    int n = 0;
    begin(&run);
    for (SoakRecord *r = s->soak->records; r && run.ok; r = r->next) {
        prepare(&run, r);
        bool same = run.ok && is_steady(&run, r);
        if (same)
            steady[n++] = r;
        else if (run.ok && r->by_order)
            printf("not repeated: %s, whose bits depend on the order of its programs\n", r->name);
        else
            suite_case(s, false, "soak: %s: another launch left other bits", r->name);
    }
    suite_case(s, n > 0, "soak: no kernel to launch");
    if (n && run.ok) soak(&run, steady, n);
    suite_group(s, "soak");
    for (int i = 0; i < STREAMS; i++) tile_stream_destroy(s->ctx, run.stream[i]);
    tile_event_destroy(run.event);
    tile_module_unload(run.module);
    free(steady);
}

void soak_free(Suite *s) {
    for (SoakRecord *r = s->soak->records, *next; r; r = next) {
        next = r->next;
        drop(s, r);
    }
    s->soak->records = NULL;
}
