/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* integers.c: tile-integers: random expressions of integers, on a device beside the interpreter.
 *
 *   tile-integers [--device=cpu|cuda[:N]] [--target=native|sm_80|…] [--expressions=N] [--seconds=N]
 *                 [--seed=S] [--jobs=N] [--one=S:E]
 *
 * A kernel, known by its seed, computes some dozens of expressions from tiles of every integer
 * type: operators, min and max, comparisons, shifts, divisions, casts, functions of bits,
 * reductions, loops of few turns with a counter that is -1, 0 and 1 in turn; a third of the numbers
 * are the ends of their types and powers of two. What nothing defines is left out: division by zero
 * and of the smallest by -1, shifts by the width. On a GPU, its results must be those of the same
 * source in the interpreter, bit for bit; on the CPU device, those of the tile IR after all passes
 * must, and all must become PTX. Ends after N expressions or seconds; N jobs share them. --one
 * keeps one expression of one kernel, and prints the source. Ends with `N passed, N failed`; exit
 * code 5 when an expression failed, 77 when there is no device. A kernel that does not end is one,
 * too. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "tests/fuzz/integers.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PARAMS = 2 * TYPES + SCALARS, MOST_REPORTS = 20, KERNEL_SECONDS = 90 };

typedef struct Counts {
    long passed, failed;
} Counts;

typedef struct Progress { /* of a job, for who waits for it */
    pid_t pid;
    uint64_t seed; /* of the kernel that it is at */
    Counts counts;
} Progress;

typedef struct Job {
    const char *device, *target;
    uint64_t seed, step, only_seed;
    long kernels; /* to try */
    int only;     /* the one expression to keep; -1: all */
    bool show;    /* the source */
    double until; /* by the clock */
    Progress *progress;
    tile_context *cpu, *ctx;
    bool on_cpu;
} Job;

/* ---- running ---- */

/* Some of the ends of a type, powers of two and what is next to them, and any bits. */
static uint64_t number(uint64_t *rng) {
    uint64_t r = random_bits(rng), bit = (uint64_t)1 << (r >> 8 & 63);
    switch (r & 15) {
    case 0: return 0;
    case 1: return 1;
    case 2: return UINT64_MAX;
    case 3: return bit;
    case 4: return bit - 1;
    case 5: return 0 - bit;
    case 6: return (uint64_t)1 << ((8 << (r >> 16 & 3)) - 1); /* the smallest of a signed type */
    case 7: return r >> 32 & 7;
    default: return random_bits(rng);
    }
}

typedef struct Memory { /* of one kernel */
    int size;
    void *in[TYPES];
    tile_arg scalar[SCALARS];
} Memory;

static size_t in_bytes(int type, int size) {
    return (size_t)(INPUTS * size * int_types[type].bits / 8);
}
static size_t out_bytes(int type, int size) {
    return (size_t)(PER_KERNEL * size * int_types[type].bits / 8);
}

static void *need(void *p) {
    if (p) return p;
    fprintf(stderr, "tile-integers: out of memory\n");
    exit(3);
}

static void make_memory(Memory *m, uint64_t seed, int size) {
    uint64_t rng = seed * 0xD1342543DE82EF95u + 7;
    m->size = size;
    for (int t = 0; t < TYPES; t++) {
        m->in[t] = need(malloc(in_bytes(t, size)));
        for (int i = 0; i < INPUTS * size; i++)
            bits_set(int_types[t].type, m->in[t], (size_t)i, number(&rng));
    }
    m->scalar[0] = tile_i32((int32_t)(random_bits(&rng) >> 40 & 7)); /* turns of loops */
    m->scalar[1] = tile_i64((int64_t)number(&rng));
    m->scalar[2] = tile_int(TILE_I16, (int16_t)number(&rng));
}

/* Compiles and runs the source; out[type] gets what it stored. NULL, or what went wrong. */
static const char *run(tile_context *ctx, const tile_compile_options *o, const Memory *m,
                       void **out) {
    static char message[4096];
    tile_compiled *compiled = NULL;
    tile_module *module = NULL;
    tile_kernel *kernel;
    tile_arg args[PARAMS];
    tile_ptr ptr[2 * TYPES] = {0};
    size_t size;
    message[0] = '\0';
    tile_status st = tile_compile(o, &compiled);
    if (st) {
        snprintf(message, sizeof message, "%s",
                 tile_compiled_text(compiled, TILE_PART_DIAGNOSTICS, NULL));
        tile_compiled_free(compiled);
        return message;
    }
    const char *text = tile_compiled_text(compiled, TILE_PART_OUTPUT, &size);
    st = tile_module_load(ctx, text, size, &module);
    tile_compiled_free(compiled);
    if (!st) st = tile_kernel_get(module, NULL, &kernel);
    for (int t = 0; t < TYPES && !st; t++) {
        st = tile_alloc(ctx, in_bytes(t, m->size), &ptr[2 * t]);
        if (!st) st = tile_copy_to_device(ctx, ptr[2 * t], m->in[t], in_bytes(t, m->size));
        if (!st) st = tile_alloc(ctx, out_bytes(t, m->size), &ptr[2 * t + 1]);
        if (!st) st = tile_fill(ctx, ptr[2 * t + 1], 0, out_bytes(t, m->size));
        args[2 * t] = tile_pointer(ptr[2 * t]);
        args[2 * t + 1] = tile_pointer(ptr[2 * t + 1]);
    }
    memcpy(args + (size_t)2 * TYPES, m->scalar, sizeof m->scalar);
    tile_grid one = {1, 1, 1};
    if (!st) st = tile_launch(kernel, &one, args, PARAMS, NULL);
    if (!st) st = tile_synchronize(ctx);
    for (int t = 0; t < TYPES && !st; t++)
        st = tile_copy_to_host(ctx, out[t], ptr[2 * t + 1], out_bytes(t, m->size));
    if (st) snprintf(message, sizeof message, "%s: %s", tile_status_text(st), tile_error(ctx));
    tile_module_unload(module);
    for (int i = 0; i < 2 * TYPES; i++) tile_free(ctx, ptr[i]);
    return st ? message : NULL;
}

/* The whole pipeline, as --passes takes it. */
static const char all_passes[] =
#define PASS(name, level, text) "," #name
#include "passes/passes.def"
#undef PASS
    ;

/* The type that expression e differs in, and the element; -1: none. */
static int differs(void **want, void **got, int size, int e, int *element) {
    for (int t = 0; t < TYPES; t++)
        for (int i = 0; i < size; i++) {
            size_t at = (size_t)e * (size_t)size + (size_t)i;
            if (bits_get(int_types[t].type, want[t], at) == bits_get(int_types[t].type, got[t], at))
                continue;
            *element = i;
            return t;
        }
    return -1;
}

/* Whether the source becomes PTX, for one target and the other in turn if none is named; what ptxas
 * makes of it a GPU has to say. */
static const char *assemble(tile_compile_options o, uint64_t seed) {
    static const char *const targets[] = {"sm_80", "sm_90a"};
    tile_compiled *out = NULL;
    if (!o.target) o.target = targets[seed % 2];
    o.passes = NULL;
    o.emit = TILE_EMIT_PTX;
    tile_status st = tile_compile(&o, &out);
    tile_compiled_free(out);
    return st ? "it becomes no PTX" : NULL;
}

static void try_kernel(Job *j, Writer *w, uint64_t seed) {
    int size, warps;
    j->progress->seed = seed;
    alarm(KERNEL_SECONDS); /* a loop may be endless on the device, or compile without end */
    write_kernel(w, seed, j->only, &size, &warps);
    if (j->show) fputs(w->text, stdout);
    Memory m;
    make_memory(&m, seed, size);
    void *want[TYPES], *got[TYPES];
    for (int t = 0; t < TYPES; t++) {
        want[t] = need(malloc(out_bytes(t, size)));
        got[t] = need(malloc(out_bytes(t, size)));
    }
    tile_compile_options o = {.source = w->text,
                              .source_len = w->len,
                              .file_name = "integers.tl",
                              .num_warps = warps,
                              .emit = TILE_EMIT_TIR,
                              .no_perf_notes = 1};
    const char *wrong = run(j->cpu, &o, &m, want);
    if (!wrong) {
        o.target = j->target;
        if (j->on_cpu) {
            o.passes = all_passes + 1;
            o.verify_each = 1;
        } else
            o.emit = TILE_EMIT_PTX;
        wrong = run(j->ctx, &o, &m, got);
        if (!wrong && j->on_cpu) wrong = assemble(o, seed);
    }
    int bad = 0;
    for (int e = 0; e < PER_KERNEL && !wrong; e++) {
        int i = 0, t = differs(want, got, size, e, &i);
        if (t < 0) continue;
        size_t at = (size_t)e * (size_t)size + (size_t)i;
        if (j->progress->counts.failed++ < MOST_REPORTS)
            printf("--one=%llu:%d: element %d is %lld, not %lld (stored as %s; %d elements, %d "
                   "warps)\n",
                   (unsigned long long)seed, e, i,
                   (long long)bits_get(int_types[t].type, got[t], at),
                   (long long)bits_get(int_types[t].type, want[t], at), int_types[t].name, size,
                   warps);
        bad++;
    }
    if (wrong) {
        printf("--one=%llu:-1: %s\n", (unsigned long long)seed, wrong);
        j->progress->counts.failed++;
    } else
        j->progress->counts.passed += (j->only >= 0 ? 1 : PER_KERNEL) - bad;
    fflush(stdout);
    for (int t = 0; t < TYPES; t++) {
        free(want[t]);
        free(got[t]);
        free(m.in[t]);
    }
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* An exit code. */
static int work(Job *j) {
    tile_status st = tile_context_create("cpu", &j->cpu);
    if (!st) st = tile_context_create(j->device, &j->ctx);
    if (st) {
        fprintf(stderr, "tile-integers: %s: %s\n", j->device, j->ctx ? tile_error(j->ctx) : "");
        return st == TILE_NO_DEVICE ? 77 : 5;
    }
    j->on_cpu = strcmp(tile_context_target(j->ctx), "cpu") == 0;
    if (strcmp(j->target, "native") == 0)
        j->target = j->on_cpu ? NULL : tile_context_target(j->ctx);
    Writer *w = need(malloc(sizeof *w));
    memset(w, 0, sizeof *w);
    for (long i = 0; i < j->kernels && now() < j->until; i++)
        try_kernel(j, w, j->seed + (uint64_t)i * j->step);
    free(w);
    tile_context_destroy(j->ctx);
    tile_context_destroy(j->cpu);
    return 0;
}

static int usage(const char *what) {
    fprintf(stderr,
            "tile-integers: %s\nusage: tile-integers [--device=cpu|cuda[:N]] "
            "[--target=native|sm_80|...] [--expressions=N] [--seconds=N] [--seed=S] [--jobs=N] "
            "[--one=S:E]\n",
            what);
    return 2;
}

static const char *option(const char *arg, const char *name) {
    size_t n = strlen(name);
    return strncmp(arg, name, n) == 0 ? arg + n : NULL;
}

int main(int argc, char **argv) {
    Job j = {.device = "cpu", .target = "native", .seed = 1, .step = 1, .only = -1};
    long expressions = 0, jobs = 1;
    double seconds = 0;
    const char *v;
    for (int i = 1; i < argc; i++) {
        if ((v = option(argv[i], "--device=")))
            j.device = v;
        else if ((v = option(argv[i], "--target=")))
            j.target = v;
        else if ((v = option(argv[i], "--expressions=")))
            expressions = strtol(v, NULL, 10);
        else if ((v = option(argv[i], "--seconds=")))
            seconds = strtod(v, NULL);
        else if ((v = option(argv[i], "--seed=")))
            j.seed = strtoull(v, NULL, 10);
        else if ((v = option(argv[i], "--jobs=")))
            jobs = strtol(v, NULL, 10);
        else if ((v = option(argv[i], "--one=")) && strchr(v, ':')) {
            j.seed = strtoull(v, NULL, 10);
            j.only = (int)strtol(strchr(v, ':') + 1, NULL, 10);
            expressions = 1;
            j.show = true;
        } else
            return usage(argv[i]);
    }
    if (jobs < 1 || jobs > 256 || expressions < 0 || seconds < 0) return usage("a number is wrong");
    if (!expressions && seconds == 0) expressions = 100L * PER_KERNEL;
    long kernels = (expressions + PER_KERNEL - 1) / PER_KERNEL;
    j.until = now() + (seconds > 0 ? seconds : 1e9);
    /* Jobs are processes: a driver compiles for one thread of a process at a time. */
    Progress *progress = mmap(NULL, (size_t)jobs * sizeof *progress, PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (progress == MAP_FAILED) return 3;
    for (long n = 0; n < jobs; n++) {
        Job mine = j;
        mine.seed = j.seed + (uint64_t)n;
        mine.step = (uint64_t)jobs;
        mine.kernels = expressions ? (kernels - n + jobs - 1) / jobs : INT32_MAX;
        mine.progress = &progress[n];
        pid_t pid = fork();
        if (pid == 0) _exit(work(&mine));
        progress[n].pid = pid;
    }
    int code = 0, status;
    for (pid_t pid; (pid = wait(&status)) > 0;) {
        int exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 5;
        code = exit_code > code ? exit_code : code;
        long n = 0;
        while (n < jobs && progress[n].pid != pid) n++;
        if (n == jobs || WIFEXITED(status)) continue;
        printf("--one=%llu:-1: signal %d (%d: no end within %d s)\n",
               (unsigned long long)progress[n].seed, WTERMSIG(status), SIGALRM, KERNEL_SECONDS);
        progress[n].counts.failed++;
    }
    Counts all = {0};
    for (long n = 0; n < jobs; n++) {
        all.passed += progress[n].counts.passed;
        all.failed += progress[n].counts.failed;
    }
    printf("%ld passed, %ld failed\n", all.passed, all.failed);
    return code ? code : all.failed ? 5 : 0;
}
