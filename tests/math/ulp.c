/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* ulp.c: how exact each function of floats is on a device, in units of the last place (ulp).
 *
 *   tile-ulp [--device=cpu|cuda] [--target=sm_NN] [--only=NAME] [--type=fp32|fp64] [--inputs=N]
 *            [--threads=N] [--markdown]
 *
 * A kernel that applies the function to a buffer is compiled from tile IR (from the language, what
 * the library is written in) and fed with every fp32
 * number (--inputs=N: that many of them, spread over all patterns of bits); fp64 and pairs get
 * numbers of all sizes at random, with the special ones among them. The results are compared with
 * the C library's in the next wider type. On the CPU device the function is expanded as for a GPU
 * first, so that the expansions are measured without one; what has an instruction there is exact.
 * Prints a table; exit code 5 when a function exceeds its bound (functions.c). */
#include "tests/math/ulp.h"
#include "tile.h"

#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 512, MAX_THREADS = 64, SAMPLE = 1 << 18, PAIRS = 1 << 24 };
#define ALL_INPUTS ((uint64_t)1 << 32)

typedef struct Options {
    const char *device, *target, *only, *type;
    uint64_t inputs; /* 0: all there are, on the CPU device a sample */
    int threads;
    bool markdown;
} Options;

typedef struct Worst {
    double ulp;
    double x, y, got, want;
} Worst;

typedef struct Run {
    const Function *f;
    const Options *o;
    tile_context *ctx;
    bool cpu, wide;         /* wide: fp64 */
    uint64_t inputs, chunk; /* chunk: how many at once */
    void *x, *y, *got;
    tile_ptr on_device[3];
} Run;

/* One thread's part of a chunk. */
typedef struct Part {
    const Run *run;
    uint64_t first; /* number of the chunk's first input */
    size_t from, to;
    bool compare;
    Worst worst;
    pthread_t thread;
} Part;

/* ---- inputs ---- */

static uint64_t scramble(uint64_t i) {
    i += 0x9e3779b97f4a7c15u;
    i = (i ^ i >> 30) * 0xbf58476d1ce4e5b9u;
    i = (i ^ i >> 27) * 0x94d049bb133111ebu;
    return i ^ i >> 31;
}

static const double specials[] = {
    0.0,      -0.0, 1.0,    -1.0, 2.0, -2.0,   3.0,     -3.0,     0.5,  -0.5,
    INFINITY, NAN,  1e-310, 1e39, -7,  1e-45,  -1e-40,  16777217, 1e30, -INFINITY,
    0.75,     4.5,  -1e38,  1e15, 88,  -104.5, 9007e12, 1e-38,    710,  -745.5,
};
enum { SPECIALS = sizeof specials / sizeof specials[0] };

/* Number i of argument k: specials, anything, and mostly what is not far from 1. */
static double random_input(const Run *run, uint64_t i, int k) {
    uint64_t r = scramble(2 * i + (uint64_t)k);
    if (i < SPECIALS * SPECIALS) return specials[k ? i % SPECIALS : i / SPECIALS];
    double x;
    uint64_t bits = r;
    uint32_t bits32 = (uint32_t)r;
    float narrow;
    if (i % 4) {
        uint64_t exponent = 1023 - 24 + (r >> 52) % 34;
        bits = (r & 0x800fffffffffffffu) | exponent << 52;
        memcpy(&x, &bits, sizeof x);
        return x;
    }
    memcpy(&x, &bits, sizeof x);
    memcpy(&narrow, &bits32, sizeof narrow);
    return run->wide ? x : (double)narrow;
}

static void make_input(const Run *run, uint64_t i, size_t at) {
    if (run->wide) {
        ((double *)run->x)[at] = random_input(run, i, 0);
        ((double *)run->y)[at] = random_input(run, i, 1);
    } else if (run->f->nargs == 2) {
        ((float *)run->x)[at] = (float)random_input(run, i, 0);
        ((float *)run->y)[at] = (float)random_input(run, i, 1);
    } else {
        bool all = run->inputs == ALL_INPUTS;
        float special = (float)specials[i % SPECIALS];
        uint32_t bits = (uint32_t)(all ? i : i * 2654435761u);
        if (!all && i < SPECIALS) memcpy(&bits, &special, sizeof bits);
        memcpy((float *)run->x + at, &bits, sizeof bits);
    }
}

/* ---- errors ---- */

/* |got - want| in ulps (of `size`, if that is more than want) of a format of that precision and
 * least exponent; infinity when one is a NaN, an infinity, or a zero of another sign. Beyond the
 * format's range infinity counts as the next power of two. */
static double error_of(long double got, long double want, double size, int precision, int lowest,
                       int highest) {
    long double beyond = ldexpl(1, highest);
    if (isnan(got) || isnan(want)) return isnan(got) && isnan(want) ? 0 : INFINITY;
    if (isinf(want)) return got == want ? 0 : INFINITY;
    if (want == 0 && size == 0) return got == 0 && signbit(got) == signbit(want) ? 0 : INFINITY;
    if (fabsl(want) > beyond) want = copysignl(beyond, want);
    if (isinf(got)) got = copysignl(beyond, got);
    int exponent;
    frexpl(fabsl(want) > size ? want : (long double)size, &exponent);
    if (exponent > highest) exponent = highest;
    if (exponent < lowest) exponent = lowest;
    return (double)(fabsl(got - want) / ldexpl(1, exponent - precision));
}

static void compare(Part *p, size_t at) {
    const Run *run = p->run;
    double x, y, got, ulp, size = 0;
    long double want;
    if (run->f->size)
        size = run->f->size(run->wide ? ((double *)run->x)[at] : ((float *)run->x)[at]);
    if (run->wide) {
        x = ((double *)run->x)[at], y = ((double *)run->y)[at], got = ((double *)run->got)[at];
        want = run->f->f64(x, y);
        ulp = error_of(got, want, size, 53, -1021, 1024);
    } else {
        x = ((float *)run->x)[at], y = ((float *)run->y)[at], got = ((float *)run->got)[at];
        want = run->f->f32(x, y);
        bool flushed = run->f->flushes && got == 0 && fabsl(want) < ldexpl(1, -126);
        ulp = flushed ? 0 : error_of(got, want, size, 24, -125, 128);
    }
    if (ulp > p->worst.ulp) p->worst = (Worst){ulp, x, y, got, (double)want};
}

static void *work(void *part) {
    Part *p = part;
    for (size_t at = p->from; at < p->to; at++) {
        if (p->compare)
            compare(p, at);
        else
            make_input(p->run, p->first + at, at);
    }
    return NULL;
}

static void in_parts(const Run *run, uint64_t first, size_t n, bool compare, Worst *worst) {
    Part part[MAX_THREADS];
    int count = run->o->threads;
    for (int t = 0; t < count; t++) {
        part[t] = (Part){.run = run,
                         .first = first,
                         .from = n * (size_t)t / (size_t)count,
                         .to = n * (size_t)(t + 1) / (size_t)count,
                         .compare = compare,
                         .worst = *worst};
        if (pthread_create(&part[t].thread, NULL, work, &part[t])) {
            fprintf(stderr, "tile-ulp: no more threads\n");
            exit(3);
        }
    }
    for (int t = 0; t < count; t++) {
        pthread_join(part[t].thread, NULL);
        if (part[t].worst.ulp > worst->ulp) *worst = part[t].worst;
    }
}

/* ---- running ---- */

static void check(const Run *run, tile_status st, const char *what) {
    if (!st) return;
    fprintf(stderr, "tile-ulp: %s: %s: %s: %s\n", run->f->name, what, tile_status_text(st),
            run->ctx ? tile_error(run->ctx) : "");
    exit(st == TILE_NO_DEVICE ? 77 : 3);
}

static void write_source(const Run *run, char *text, size_t size) {
    const char *t = run->wide ? "fp64" : "fp32";
    snprintf(text, size,
             "import triton\n"
             "import triton.language as tl\n"
             "@triton.jit\n"
             "def f(px: '*%s:16', py: '*%s:16', out: '*%s:16'):\n"
             "    i = tl.program_id(0) * %d + tl.arange(0, %d)\n"
             "    tl.store(out + i, tl.math.%s(tl.load(px + i)))\n",
             t, t, t, BLOCK, BLOCK, run->f->name);
}

static void write_ir(const Run *run, char *text, size_t size) {
    const char *t = run->wide ? "f64" : "f32";
    snprintf(text, size,
             "kernel @f(%%px: ptr<%s> divisible=16, %%py: ptr<%s> divisible=16, %%out: ptr<%s> "
             "divisible=16) num_warps=4 num_stages=1 {\n"
             "  %%pid: i32 = program_id axis=0\n"
             "  %%size: i32 = const value=%d\n"
             "  %%start: i32 = mul %%pid, %%size\n"
             "  %%lane: i32[%d] = arange start=0 end=%d\n"
             "  %%starts: i32[%d] = splat %%start\n"
             "  %%i: i32[%d] = add %%starts, %%lane\n"
             "  %%sx: ptr<%s>[%d] = splat %%px\n"
             "  %%ax: ptr<%s>[%d] = addptr %%sx, %%i\n"
             "  %%x: %s[%d] = load %%ax\n"
             "  %%sy: ptr<%s>[%d] = splat %%py\n"
             "  %%ay: ptr<%s>[%d] = addptr %%sy, %%i\n"
             "  %%y: %s[%d] = load %%ay\n"
             "  %%r: %s[%d] = %s\n"
             "  %%so: ptr<%s>[%d] = splat %%out\n"
             "  %%ao: ptr<%s>[%d] = addptr %%so, %%i\n"
             "  store %%ao, %%r\n"
             "  return\n}\n",
             t, t, t, BLOCK, BLOCK, BLOCK, BLOCK, BLOCK, t, BLOCK, t, BLOCK, t, BLOCK, t, BLOCK, t,
             BLOCK, t, BLOCK, t, BLOCK, run->f->op, t, BLOCK, t, BLOCK);
}

static tile_module *build(const Run *run) {
    char text[2000];
    if (run->f->op)
        write_ir(run, text, sizeof text);
    else
        write_source(run, text, sizeof text);
    const char *target = run->o->target ? run->o->target : tile_context_target(run->ctx);
    bool cpu = run->cpu;
    tile_compile_options options = {.source = text,
                                    .source_len = strlen(text),
                                    .input_is_tir = run->f->op != NULL,
                                    .no_warnings = 1,
                                    .target = cpu ? NULL : target,
                                    .passes = cpu ? "math" : NULL,
                                    .emit = cpu ? TILE_EMIT_TIR : TILE_EMIT_PTX};
    tile_compiled *out = NULL;
    tile_status st = tile_compile(&options, &out);
    if (st) {
        fprintf(stderr, "tile-ulp: %s: %s\n", run->f->name,
                tile_compiled_text(out, TILE_PART_DIAGNOSTICS, NULL));
        exit(4);
    }
    size_t size;
    tile_module *module = NULL;
    const char *code = tile_compiled_text(out, TILE_PART_OUTPUT, &size);
    check(run, tile_module_load(run->ctx, code, size, &module), "load");
    tile_compiled_free(out);
    return module;
}

static Worst measure(Run *run) {
    size_t bytes = run->wide ? sizeof(double) : sizeof(float);
    tile_module *module = build(run);
    tile_kernel *kernel;
    Worst worst = {0};
    check(run, tile_kernel_get(module, NULL, &kernel), "kernel");
    for (uint64_t first = 0; first < run->inputs; first += run->chunk) {
        size_t n = (size_t)(run->inputs - first < run->chunk ? run->inputs - first : run->chunk);
        in_parts(run, first, n, false, &worst);
        const void *host[] = {run->x, run->y};
        for (int k = 0; k < (run->f->nargs == 2 || first == 0 ? 2 : 1); k++)
            check(run, tile_copy_to_device(run->ctx, run->on_device[k], host[k], n * bytes),
                  "copy");
        tile_grid grid = {(uint32_t)(n / BLOCK), 1, 1};
        tile_arg args[] = {tile_pointer(run->on_device[0]), tile_pointer(run->on_device[1]),
                           tile_pointer(run->on_device[2])};
        check(run, tile_launch(kernel, &grid, args, 3, NULL), "launch");
        check(run, tile_copy_to_host(run->ctx, run->got, run->on_device[2], n * bytes), "copy");
        in_parts(run, first, n, true, &worst);
    }
    tile_module_unload(module);
    return worst;
}

static uint64_t inputs_of(const Run *run) {
    uint64_t most = run->wide || run->f->nargs == 2 ? PAIRS : ALL_INPUTS;
    uint64_t n = run->o->inputs ? run->o->inputs : run->cpu ? SAMPLE : most;
    if (n > most) n = most;
    return (n + BLOCK - 1) / BLOCK * BLOCK;
}

static bool report(const Run *run, Worst w, double bound) {
    char where[80] = "";
    int digits = run->wide ? 17 : 9;
    const char *type = run->wide ? "fp64" : "fp32";
    if (w.ulp > 0)
        snprintf(where, sizeof where, run->f->nargs == 2 ? "%.*g, %.*g" : "%.*g", digits, w.x,
                 digits, w.y);
    if (run->o->markdown)
        printf(" %.2f | %s | %g |", w.ulp, where, bound);
    else
        printf("%-9s %s %10.4f ulp%s%s\n", run->f->name, type, w.ulp, w.ulp > 0 ? " at " : "",
               where);
    /* The C library's value is itself rounded, which shows in halves. */
    bool right = w.ulp <= bound + 0.001;
    if (!right)
        fprintf(run->o->markdown ? stderr : stdout,
                "FAILED: %s(%s) of %s is %.17g, not %.17g: %g ulp, and %g is allowed\n",
                run->f->name, where, type, w.got, w.want, w.ulp, bound);
    fflush(stdout);
    return right;
}

static const char *value_of(const char *arg, const char *name) {
    size_t n = strlen(name);
    return strncmp(arg, name, n) == 0 && arg[n] == '=' ? arg + n + 1 : NULL;
}

static bool read_options(int argc, char **argv, Options *o) {
    for (int i = 1; i < argc; i++) {
        const char *v;
        if (strcmp(argv[i], "--markdown") == 0)
            o->markdown = true;
        else if ((v = value_of(argv[i], "--device")))
            o->device = v;
        else if ((v = value_of(argv[i], "--target")))
            o->target = v;
        else if ((v = value_of(argv[i], "--only")))
            o->only = v;
        else if ((v = value_of(argv[i], "--type")))
            o->type = v;
        else if ((v = value_of(argv[i], "--inputs")))
            o->inputs = strtoull(v, NULL, 10);
        else if ((v = value_of(argv[i], "--threads")))
            o->threads = atoi(v);
        else
            return false;
    }
    return o->threads >= 1 && o->threads <= MAX_THREADS;
}

int main(int argc, char **argv) {
    Options o = {.device = "cpu", .threads = 4};
    if (!read_options(argc, argv, &o)) {
        fprintf(stderr, "tile-ulp: usage: see the head of tests/math/ulp.c\n");
        return 2;
    }
    Run run = {.o = &o, .f = &functions[0]};
    check(&run, tile_context_create(o.device, &run.ctx), "device");
    run.cpu = strcmp(tile_context_target(run.ctx), "cpu") == 0;
    run.chunk = run.cpu ? SAMPLE : PAIRS;
    void **host[] = {&run.x, &run.y, &run.got};
    for (int k = 0; k < 3; k++) {
        check(&run, tile_alloc(run.ctx, run.chunk * sizeof(double), &run.on_device[k]), "alloc");
        *host[k] = calloc(run.chunk, sizeof(double));
        if (!*host[k]) check(&run, TILE_NO_MEMORY, "alloc");
    }
    int passed = 0, failed = 0;
    if (o.markdown)
        printf("| function | fp32: ulp | at | bound | fp64: ulp | at | bound |\n"
               "|---|---|---|---|---|---|---|\n");
    for (int i = 0; i < function_count; i++) {
        run.f = &functions[i];
        if (o.only && strcmp(o.only, run.f->name) != 0) continue;
        if (o.markdown) printf("| %s |", run.f->name);
        for (int wide = 0; wide < 2; wide++) {
            double bound = wide ? run.f->bound_f64 : run.f->bound_f32;
            run.wide = wide;
            if (o.type && strcmp(o.type, wide ? "fp64" : "fp32") != 0) continue;
            run.inputs = inputs_of(&run);
            if (report(&run, measure(&run), bound))
                passed++;
            else
                failed++;
        }
        if (o.markdown) printf("\n");
    }
    for (int k = 0; k < 3; k++) {
        check(&run, tile_free(run.ctx, run.on_device[k]), "free");
        free(*host[k]);
    }
    tile_context_destroy(run.ctx);
    if (!o.markdown) printf("%d passed, %d failed\n", passed, failed);
    return failed ? 5 : passed ? 0 : 2;
}
