/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* launch.c: what a launch costs the host: tile_launch beside a bare cuLaunchKernel of the same
 * kernel with the same arguments, which does hardly anything.
 *
 *   launch [--device=cuda[:N]] [--rounds=N] [--limit=RATIO] [--out=FILE.csv]
 *
 * A round starts each contender 200 times, one contender after the other, and waits in between, so
 * that no queue fills; the figures are medians over the rounds (500: 100,000 launches each). With
 * --limit the exit code is 5 when tile_launch takes more than so many times as long as the bare
 * launch. On the tests' fake driver the figures are the runtime's own host time:
 *
 *   LD_LIBRARY_PATH=build/tests/fake build/bench/launch */
#include "bench.h"

#include <dlfcn.h>
#include <time.h>

enum { BATCH = 200, MAX_ROUNDS = 100000, ARGS = 6 };

static const char source[] = "import triton\n"
                             "import triton.language as tl\n"
                             "# tile: grid = cdiv(n, BLOCK)\n"
                             "@triton.jit\n"
                             "def idle(x, y, z, n, stride, scale, BLOCK: tl.constexpr):\n"
                             "    if n == 0:\n"
                             "        tl.store(z, tl.load(x) + tl.load(y) * scale + stride)\n";

/* The entry points of the driver that a bare launch needs. */
typedef struct Driver {
    int (*push)(void *context);
    int (*pop)(void **context);
    int (*load)(void **module, const void *ptx, unsigned n, int *options, void **values);
    int (*unload)(void *module);
    int (*get)(void **function, void *module, const char *name);
    int (*launch)(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                  unsigned bz, unsigned shared, void *stream, void **params, void **extra);
} Driver;

typedef struct Bench {
    tile_context *ctx;
    tile_module *module;
    tile_kernel *kernel;
    tile_kernel_info info;
    Driver driver;
    void *cu_module, *function;
    tile_arg arg[ARGS];
    tile_ptr pointer[3];
    int32_t n, stride;
    float scale;
    void *param[ARGS];
} Bench;

static int find(void *library, const char *name, void *out) {
    void *symbol = dlsym(library, name);
    memcpy(out, &symbol, sizeof symbol);
    return symbol != NULL;
}

static int find_driver(Driver *d) {
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NODELETE);
    return library && find(library, "cuCtxPushCurrent_v2", &d->push) &&
           find(library, "cuCtxPopCurrent_v2", &d->pop) &&
           find(library, "cuModuleLoadDataEx", &d->load) &&
           find(library, "cuModuleUnload", &d->unload) &&
           find(library, "cuModuleGetFunction", &d->get) &&
           find(library, "cuLaunchKernel", &d->launch);
}

/* ---- the contenders ---- */

static int bare(Bench *b) {
    return b->driver.launch(b->function, 1, 1, 1, (unsigned)b->info.num_warps * 32, 1, 1,
                            (unsigned)b->info.shared_bytes, NULL, b->param, NULL);
}

static int bare_pushed(Bench *b) {
    void *old;
    int r = b->driver.push(tile_context_cuda(b->ctx));
    if (!r) r = bare(b);
    b->driver.pop(&old);
    return r;
}

static int given_grid(Bench *b) {
    static const tile_grid one = {1, 1, 1};
    return (int)tile_launch(b->kernel, &one, b->arg, ARGS, NULL);
}

static int own_grid(Bench *b) {
    return (int)tile_launch(b->kernel, NULL, b->arg, ARGS, NULL);
}

static const struct {
    const char *name;
    int (*start)(Bench *b);
    int current;  /* the context is the thread's */
    int baseline; /* the contender to compare with */
} contender[] = {
    {"cuLaunchKernel", bare, 1, 0},
    {"tile_launch, grid given", given_grid, 1, 0},
    {"tile_launch, the kernel's grid", own_grid, 1, 0},
    {"push, cuLaunchKernel, pop", bare_pushed, 0, 3},
    {"tile_launch, no context current", own_grid, 0, 3},
};
enum { CONTENDERS = sizeof contender / sizeof *contender };

static double now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* ns of a launch of contender i. 0, or what a start returned. */
static int time_batch(Bench *b, int i, double *ns) {
    void *old;
    if (contender[i].current && b->driver.push(tile_context_cuda(b->ctx))) return 1;
    int r = 0;
    double started = now_ns();
    for (int j = 0; j < BATCH && !r; j++) r = contender[i].start(b);
    *ns = (now_ns() - started) / BATCH;
    if (contender[i].current) b->driver.pop(&old);
    return r ? r : (int)tile_synchronize(b->ctx);
}

static int compare(Bench *b, int rounds, double limit, FILE *csv) {
    double *ns = calloc((size_t)rounds * CONTENDERS, sizeof *ns);
    if (!ns) return 5;
    int code = 0;
    for (int round = -5; round < rounds && !code; round++) /* the first few warm up */
        for (int i = 0; i < CONTENDERS && !code; i++) {
            double t = 0;
            code = time_batch(b, i, &t) ? 5 : 0;
            if (code) fprintf(stderr, "%s: %s\n", contender[i].name, tile_error(b->ctx));
            if (round >= 0) ns[i * rounds + round] = t;
        }
    double median[CONTENDERS];
    for (int i = 0; i < CONTENDERS && !code; i++) {
        median[i] = bench_median(ns + i * rounds, rounds);
        double low = ns[i * rounds + rounds / 10], high = ns[i * rounds + rounds * 9 / 10];
        double ratio = median[i] / median[contender[i].baseline];
        printf("%-32s %8.0f ns   p10 %8.0f   p90 %8.0f   %5.3f\n", contender[i].name, median[i],
               low, high, ratio);
        if (csv)
            fprintf(csv, "\"%s\",%.1f,%.1f,%.1f,%.4f\n", contender[i].name, median[i], low, high,
                    ratio);
        if (limit > 0 && ratio > limit) code = 5;
    }
    free(ns);
    return code;
}

/* ---- setting up ---- */

static int compile(Bench *b, tile_compiled **out) {
    static const char *const defines[] = {"BLOCK=1024"};
    tile_compile_options options = {.source = source,
                                    .source_len = strlen(source),
                                    .file_name = "idle.tl",
                                    .signature = "*fp32:16,*fp32:16,*fp32:16,i32,i32:16,fp32",
                                    .defines = defines,
                                    .ndefines = 1,
                                    .no_perf_notes = 1,
                                    .target = tile_context_target(b->ctx)};
    tile_status st = tile_compile(&options, out);
    if (st) fputs(tile_compiled_text(*out, TILE_PART_DIAGNOSTICS, NULL), stderr);
    return st != TILE_OK;
}

/* The same module for both: through tile.h, and bare. */
static int load(Bench *b, const char *ptx, size_t size) {
    void *old;
    tile_status st = tile_module_load(b->ctx, ptx, size, &b->module);
    if (!st) st = tile_kernel_get(b->module, NULL, &b->kernel);
    if (!st) st = tile_kernel_describe(b->kernel, &b->info);
    for (int i = 0; i < 3 && !st; i++) st = tile_alloc(b->ctx, 4096, &b->pointer[i]);
    if (bench_report(b->ctx, st, "loading")) return 1;
    b->n = 1;
    b->stride = 4096;
    b->scale = 0.5f;
    for (int i = 0; i < 3; i++) {
        b->arg[i] = tile_pointer(b->pointer[i]);
        b->param[i] = &b->pointer[i];
    }
    b->arg[3] = tile_i32(b->n);
    b->arg[4] = tile_i32(b->stride);
    b->arg[5] = tile_f32(b->scale);
    b->param[3] = &b->n;
    b->param[4] = &b->stride;
    b->param[5] = &b->scale;
    if (!find_driver(&b->driver) || b->driver.push(tile_context_cuda(b->ctx))) return 1;
    int r = b->driver.load(&b->cu_module, ptx, 0, NULL, NULL);
    if (!r) r = b->driver.get(&b->function, b->cu_module, b->info.name);
    b->driver.pop(&old);
    if (r) fprintf(stderr, "the driver refuses the bare module: error %d\n", r);
    return r;
}

static int open_all(Bench *b, const char *device) {
    const char *target = NULL;
    tile_compiled *compiled = NULL;
    int code = bench_open(device, &b->ctx, &target);
    if (!code && compile(b, &compiled)) code = 5;
    if (!code) {
        size_t size;
        const char *ptx = tile_compiled_text(compiled, TILE_PART_OUTPUT, &size);
        if (load(b, ptx, size)) code = 5;
    }
    tile_compiled_free(compiled);
    return code;
}

static void close_all(Bench *b) {
    if (b->cu_module && !b->driver.push(tile_context_cuda(b->ctx))) {
        void *old;
        b->driver.unload(b->cu_module);
        b->driver.pop(&old);
    }
    tile_module_unload(b->module);
    tile_context_destroy(b->ctx);
}

/* ---- for launch.py: what a launch from Python cannot go without ---- */

/* Of the process that opens build/bench/launch.so. */
void *PyCapsule_GetPointer(void *capsule, const char *name) __attribute__((weak));
void Py_IncRef(void *object) __attribute__((weak));

/* A launch's kernel and arguments, on a context that keeps so many graphs of launches; NULL: it was
 * said why. It lives as long as the process. */
Bench *tile_bench_open(const char *device, int graphs);
Bench *tile_bench_open(const char *device, int graphs) {
    Bench *b = calloc(1, sizeof *b);
    if (!b) return NULL;
    int code = open_all(b, device);
    if (!code && !tile_context_set_launch_graphs(b->ctx, graphs)) return b;
    close_all(b);
    free(b);
    return NULL;
}

/* A function of Python's (METH_FASTCALL | METH_KEYWORDS) that looks at none of its arguments: of a
 * capsule with what tile_bench_open gave. It returns the capsule. */
void *tile_bench_call(void *self, void *const *args, intptr_t n, void *names);
void *tile_bench_call(void *self, void *const *args, intptr_t n, void *names) {
    Bench *b = PyCapsule_GetPointer(self, NULL);
    (void)args;
    (void)n;
    (void)names;
    if (!b || given_grid(b)) abort(); /* it would be no figure */
    Py_IncRef(self);
    return self;
}

static int usage(void) {
    fputs("usage: launch [--device=cuda[:N]] [--rounds=N] [--limit=RATIO] [--out=FILE.csv]\n",
          stderr);
    return 2;
}

int main(int argc, char **argv); /* of another name in build/bench/launch.so */
int main(int argc, char **argv) {
    Bench b = {0};
    const char *device = "cuda", *out = NULL, *v;
    int rounds = 500;
    double limit = 0;
    for (int i = 1; i < argc; i++) {
        if ((v = bench_option(argv[i], "--device")))
            device = v;
        else if ((v = bench_option(argv[i], "--rounds")))
            rounds = atoi(v);
        else if ((v = bench_option(argv[i], "--limit")))
            limit = strtod(v, NULL);
        else if ((v = bench_option(argv[i], "--out")))
            out = v;
        else
            return usage();
    }
    if (rounds < 10 || rounds > MAX_ROUNDS) return usage();
    int code = open_all(&b, device);
    FILE *csv = NULL;
    if (!code && out && !(csv = fopen(out, "w"))) {
        fprintf(stderr, "cannot write %s\n", out);
        code = 3;
    }
    if (!code) {
        printf("%s: %d rounds of %d launches\n", tile_context_device_name(b.ctx), rounds, BATCH);
        code = compare(&b, rounds, limit, csv);
    }
    if (csv) fclose(csv);
    close_all(&b);
    return code;
}
