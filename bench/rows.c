/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* rows.c: kernels that read each row of a matrix once and write it once, against the device's own
 * copy of as many bytes: softmax, layer norm and RMS norm of examples/, which nothing but memory
 * should hold up.
 *
 *   rows [--device=cuda[:N]] [--target=native|sm_80|…] [--rounds=N] [--root=FOLDER]
 * [--out=FILE.csv]
 *
 * Every way to run a kernel (the whole row as one tile or blocks of it, 2 to 32 warps) and the copy
 * take turns; the ratio is that of the medians. The results of each way are checked first: some
 * rows, against double precision. Exit code 77 without a GPU. */
#include "memory.h"

#include <math.h>

/* CHUNK is a multiple of each case's row. */
enum { WAYS = 7, CHUNK = 1 << 24, MAX_COLS = 16384, MAX_ARGS = 10 };

typedef struct Way {
    const char *kernel;
    int block, num_warps;
} Way;

typedef enum Function { SOFTMAX, LAYER_NORM, RMS_NORM } Function;

typedef struct Case {
    Function function;
    const char *name, *type;
    size_t size; /* of an element */
    size_t rows, cols;
    const char *signature;
    Way way[WAYS];
} Case;

/* clang-format off */
static const Case cases[] = {
    {SOFTMAX, "softmax", "fp32", 4, 8192, 16384,
     "*fp32:16, *fp32:16, i32:16, i32:16, i32:16, i32:16",
     {{"softmax", 16384, 8}, {"softmax", 16384, 16}, {"softmax", 16384, 32},
      {"softmax_online", 16384, 16}, {"softmax_online", 8192, 16}, {"softmax_online", 4096, 8},
      {"softmax_online", 4096, 4}}},
    {LAYER_NORM, "layer_norm", "fp32", 4, 8192, 4096,
     "*fp32:16, *fp32:16, *fp32:16, *fp32:16, *fp32:16, *fp32:16, i32:16, i32:16, i32:16, fp32",
     {{"layer_norm", 4096, 2}, {"layer_norm", 4096, 4}, {"layer_norm", 4096, 8},
      {"layer_norm", 4096, 16}}},
    {LAYER_NORM, "layer_norm", "fp16", 2, 8192, 4096,
     "*fp16:16, *fp16:16, *fp16:16, *fp16:16, *fp32:16, *fp32:16, i32:16, i32:16, i32:16, fp32",
     {{"layer_norm", 4096, 2}, {"layer_norm", 4096, 4}, {"layer_norm", 4096, 8},
      {"layer_norm", 4096, 16}}},
    {RMS_NORM, "rms_norm", "fp16", 2, 8192, 4096,
     "*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16, fp32",
     {{"rms_norm", 4096, 2}, {"rms_norm", 4096, 4}, {"rms_norm", 4096, 8},
      {"rms_norm", 4096, 16}}},
};
/* clang-format on */
enum { NCASES = sizeof cases / sizeof *cases };

/* vector: weight, bias, the rows' means, their deviations. */
typedef struct Buffers {
    tile_ptr in, out, vector[4];
} Buffers;

static const float eps = 1e-5f;

/* ---- data ---- */

/* Numbers in (-4, 4) whose sign, exponent and fraction all vary. */
static void make_random(unsigned char *data, size_t size) {
    uint64_t state = 88172645463325252u;
    for (size_t i = 0; i < CHUNK; i += size) {
        uint64_t x = bench_random(&state);
        uint32_t sign = (uint32_t)(x >> 63), below = (uint32_t)(x >> 32 & 3);
        uint32_t single = sign << 31 | (128 - below) << 23 | (uint32_t)(x & 0x7FFFFF);
        uint16_t half = (uint16_t)(sign << 15 | (16 - below) << 10 | (uint32_t)(x & 0x3FF));
        memcpy(data + i, size == 4 ? (const void *)&single : (const void *)&half, size);
    }
}

static double number(const unsigned char *data, size_t i, size_t size) {
    float f;
    uint16_t h;
    if (size == 4) {
        memcpy(&f, data + 4 * i, 4);
        return (double)f;
    }
    memcpy(&h, data + 2 * i, 2);
    uint32_t bits = (uint32_t)(h & 0x7FFF) << 13; /* the exponents' biases differ by 112 */
    memcpy(&f, &bits, 4);
    return (double)(h & 0x8000 ? -f : f) * 0x1p112;
}

/* ---- kernels ---- */

static tile_status load(const MemoryBench *b, const Case *c, const Way *w, Contender *out) {
    char file[60], block[24];
    const char *defines[] = {block};
    snprintf(file, sizeof file, "examples/%s.tl", c->name);
    snprintf(block, sizeof block, "BLOCK=%d", w->block);
    snprintf(out->label, sizeof out->label, "%s, block %d, %d warps", w->kernel, w->block,
             w->num_warps);
    BenchKernel kernel = {.root = b->root,
                          .file = file,
                          .kernel = w->kernel,
                          .target = b->target,
                          .signature = c->signature,
                          .defines = defines,
                          .ndefines = 1,
                          .num_warps = w->num_warps};
    return bench_load(b->ctx, &kernel, &out->module, &out->kernel);
}

static int arguments(const Case *c, const Buffers *d, tile_arg *arg) {
    static const int vectors[] = {[SOFTMAX] = 0, [LAYER_NORM] = 4, [RMS_NORM] = 1};
    int n = 0;
    arg[n++] = tile_pointer(d->in);
    arg[n++] = tile_pointer(d->out);
    for (int i = 0; i < vectors[c->function]; i++) arg[n++] = tile_pointer(d->vector[i]);
    arg[n++] = tile_i32((int32_t)c->rows);
    arg[n++] = tile_i32((int32_t)c->cols);
    arg[n++] = tile_i32((int32_t)c->cols);
    arg[n++] = c->function == SOFTMAX ? tile_i32((int32_t)c->cols) : tile_f32(eps);
    return n;
}

static tile_status start(const MemoryBench *b, const Case *c, const Contender *k,
                         const Buffers *d) {
    tile_arg arg[MAX_ARGS];
    int n = arguments(c, d, arg);
    if (k->kernel) return tile_launch(k->kernel, NULL, arg, n, NULL);
    return tile_copy_on_device(b->ctx, d->out, d->in, c->rows * c->cols * c->size, NULL);
}

/* ---- right results ---- */

/* The weight is the chunk's beginning, the bias too. */
static void want_row(const Case *c, const unsigned char *weight, const unsigned char *in,
                     double *want) {
    size_t n = c->cols;
    double top = -INFINITY, mean = 0, sum = 0;
    for (size_t i = 0; i < n; i++) {
        want[i] = number(in, i, c->size);
        top = fmax(top, want[i]);
        mean += want[i] / (double)n;
    }
    if (c->function == RMS_NORM) mean = 0;
    for (size_t i = 0; i < n; i++) {
        want[i] = c->function == SOFTMAX ? exp(want[i] - top) : want[i] - mean;
        sum += c->function == SOFTMAX ? want[i] : want[i] * want[i];
    }
    double scale = c->function == SOFTMAX ? 1 / sum : 1 / sqrt(sum / (double)n + (double)eps);
    for (size_t i = 0; i < n; i++) {
        double w = c->function == SOFTMAX ? 1 : number(weight, i, c->size);
        want[i] = want[i] * scale * w + (c->function == LAYER_NORM ? w : 0);
    }
}

/* The first rows and the last ones: a way that does not work must not win. The tolerance is far
 * below what a wrong element would be off by, and far above rounding. */
static tile_status check(const MemoryBench *b, const Case *c, const Contender *k,
                         const Buffers *d) {
    const size_t rows[] = {0, 1, c->rows / 2, c->rows - 1}, bytes = c->cols * c->size;
    double *want = malloc(c->cols * sizeof *want);
    tile_status st = want ? TILE_OK : TILE_NO_MEMORY;
    for (int r = 0; r < 4 && !st; r++) {
        st = tile_copy_to_host(b->ctx, b->got, d->out + rows[r] * bytes, bytes);
        if (bench_report(b->ctx, st, "reading the result")) break;
        want_row(c, b->chunk, b->chunk + rows[r] * bytes % CHUNK, want);
        for (size_t i = 0; i < c->cols && !st; i++) {
            double got = number(b->got, i, c->size), near = c->size == 2 ? 0x1p-9 : 0x1p-17;
            if (fabs(got - want[i]) <= near * (fabs(want[i]) + (c->function == SOFTMAX ? 0 : 1)))
                continue;
            fprintf(stderr, "rows: %s: row %zu, column %zu is %g, not %g\n", k->label, rows[r], i,
                    got, want[i]);
            st = TILE_CHECK_FAILED;
        }
    }
    free(want);
    return st;
}

/* ---- timing ---- */

typedef struct Round {
    const MemoryBench *b;
    const Case *c;
    const Contender *k;
    const Buffers *d;
} Round;

static tile_status start_one(const void *round, int i) {
    const Round *r = round;
    return start(r->b, r->c, &r->k[i], r->d);
}

static tile_status measure(MemoryBench *b, int which, Contender *k, int n, const Buffers *d) {
    const Case *c = &cases[which];
    size_t bytes = c->rows * c->cols * c->size;
    tile_status st = memory_fill(b, d->in, bytes);
    for (int i = 0; i < 2 && !st; i++) st = memory_fill(b, d->vector[i], c->cols * c->size);
    for (int i = 1; i < n && !st; i++) {
        st = bench_report(b->ctx, tile_fill(b->ctx, d->out, 0xFF, bytes), "clearing the result");
        if (!st) st = bench_report(b->ctx, start(b, c, &k[i], d), k[i].label);
        if (!st) st = check(b, c, &k[i], d);
    }
    const MemoryCase shown = {c->name, c->type, c->rows, c->cols, 2 * bytes};
    const Round round = {b, c, k, d};
    return st ? st : memory_time(b, which, &shown, k, n, start_one, &round);
}

static tile_status run_case(MemoryBench *b, int which) {
    const Case *c = &cases[which];
    Contender *k = calloc(WAYS + 1, sizeof *k);
    Buffers d = {0};
    tile_ptr *buffer[] = {&d.in, &d.out, &d.vector[0], &d.vector[1], &d.vector[2], &d.vector[3]};
    size_t matrix = c->rows * c->cols * c->size, most = c->rows > c->cols ? c->rows : c->cols;
    int n = 1;
    tile_status st = k ? TILE_OK : TILE_NO_MEMORY;
    if (k) snprintf(k[0].label, sizeof k[0].label, "device copy");
    for (int i = 0; i < WAYS && c->way[i].kernel && !st; i++) st = load(b, c, &c->way[i], &k[n++]);
    make_random(b->chunk, c->size);
    for (int i = 0; i < 6 && !st; i++)
        st = bench_report(b->ctx, tile_alloc(b->ctx, i < 2 ? matrix : 4 * most, buffer[i]),
                          "tile_alloc");
    if (!st) st = measure(b, which, k, n, &d);
    for (int i = 0; i < 6; i++) tile_free(b->ctx, *buffer[i]);
    for (int i = 1; i < n; i++) tile_module_unload(k[i].module);
    free(k);
    return st;
}

int main(int argc, char **argv) {
    static const MemoryPlan plan = {.name = "rows",
                                    .columns = "kernel,type,rows,cols,way,ms,gb_per_s,ratio",
                                    .chunk_size = CHUNK,
                                    .got_size = (size_t)MAX_COLS * 4,
                                    .ncases = NCASES,
                                    .run = run_case};
    return memory_main(&plan, argc, argv);
}
