/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* bandwidth.c: how fast examples/copy.tl and examples/rgb2grey.tl move bytes on a GPU, against the
 * driver's own device-to-device copy of as many bytes, timed in the same process.
 *
 *   bandwidth [--device=cuda[:N]] [--target=native|sm_80|…] [--rounds=N] [--root=FOLDER]
 *             [--out=FILE.csv]
 *
 * Every case has a table of block shapes. A round times each of them and the copy once, in turn, so
 * that a change of clocks meets all alike; the figures are medians over the rounds. Buffers hold
 * random data and are larger than the L2 cache. Bytes are counted as read plus written. */
#include "memory.h"

#include <math.h>

enum { SHAPES = 8, CHUNK = (1 << 26) - 12288, SAMPLE = 1 << 20 };

typedef struct Shape {
    int bh, bw, num_warps; /* bw 0: the end of the list */
} Shape;

typedef struct Case {
    const char *name, *type;
    size_t size;  /* of an element */
    size_t h, w;  /* copy: h is 1 */
    int channels; /* 3: rgb2grey, 1: copy */
    Shape shape[SHAPES];
} Case;

/* The best shapes keep 16 bytes in flight for each thread (and plane) of 128 or 256. */
/* clang-format off */
static const Case cases[] = {
    {"copy", "fp32", 4, 1, (size_t)1 << 28, 1,
     {{1, 512, 4}, {1, 1024, 8}, {1, 1024, 4}, {1, 2048, 8}, {1, 2048, 4}, {1, 4096, 8}}},
    {"copy", "u8", 1, 1, (size_t)1 << 30, 1,
     {{1, 2048, 4}, {1, 4096, 8}, {1, 4096, 4}, {1, 8192, 8}, {1, 8192, 4}, {1, 1024, 4}}},
    {"rgb2grey", "u8", 1, 16384, 16384, 3,
     {{1, 2048, 4}, {1, 4096, 8}, {1, 1024, 4}, {1, 2048, 8}, {1, 4096, 4}, {1, 8192, 8},
      {4, 512, 4}, {4, 256, 4}}},
    {"rgb2grey", "fp32", 4, 16384, 16384, 3,
     {{1, 512, 4}, {1, 1024, 8}, {1, 1024, 4}, {1, 2048, 8}, {1, 2048, 4}, {1, 8192, 8},
      {2, 256, 4}, {4, 256, 8}}},
    {"rgb2grey", "u8", 1, 4320, 7680, 3,
     {{1, 2048, 4}, {1, 4096, 8}, {1, 1024, 4}, {1, 2048, 8}, {1, 512, 4}, {4, 512, 4}}},
    {"rgb2grey", "fp32", 4, 4320, 7680, 3,
     {{1, 512, 4}, {1, 1024, 8}, {1, 256, 4}, {1, 1024, 4}, {2, 256, 4}, {4, 256, 8}}},
};
/* clang-format on */
enum { NCASES = sizeof cases / sizeof *cases };

static size_t bytes_in(const Case *c) {
    return c->h * c->w * c->size * (size_t)c->channels;
}

static size_t bytes_out(const Case *c) {
    return c->h * c->w * c->size;
}

/* ---- kernels ---- */

static tile_status load(const MemoryBench *b, const Case *c, const Shape *shape, Contender *out) {
    char file[60], signature[60], bh[24], bw[24];
    int is_copy = c->channels == 1;
    snprintf(file, sizeof file, "examples/%s.tl", c->name);
    snprintf(signature, sizeof signature, "*%s:16, *%s:16, i32:16%s", c->type, c->type,
             is_copy ? "" : ", i32:16");
    snprintf(bw, sizeof bw, "%s=%d", is_copy ? "BLOCK" : "BW", shape->bw);
    snprintf(bh, sizeof bh, "BH=%d", shape->bh);
    snprintf(out->label, sizeof out->label, "%dx%d, %d warps", shape->bh, shape->bw,
             shape->num_warps);
    const char *defines[] = {bw, bh};
    BenchKernel kernel = {.root = b->root,
                          .file = file,
                          .target = b->target,
                          .signature = signature,
                          .defines = defines,
                          .ndefines = is_copy ? 1 : 2,
                          .num_warps = shape->num_warps};
    return bench_load(b->ctx, &kernel, &out->module, &out->kernel);
}

/* ---- data ---- */

static void make_random(unsigned char *data, size_t bytes, int is_float) {
    uint64_t state = 88172645463325252u;
    for (size_t i = 0; i < bytes; i += 8) {
        uint64_t x = bench_random(&state);
        if (is_float) { /* two floats in [0, 256) */
            float pair[2] = {(float)(x >> 40) * 0x1p-16f, (float)(x & 0xFFFFFF) * 0x1p-16f};
            memcpy(data + i, pair, 8);
        } else {
            memcpy(data + i, &x, 8);
        }
    }
}

static double element(const Case *c, const unsigned char *data, size_t i) {
    float f;
    if (c->size == 1) return data[i];
    memcpy(&f, data + i * 4, 4);
    return (double)f;
}

/* Element i of the result: of the input, which is the chunk over and over. */
static int right(const MemoryBench *b, const Case *c, size_t i, double got) {
    static const double weight[] = {0.2989, 0.5870, 0.1140};
    size_t period = CHUNK / c->size, plane = c->h * c->w;
    if (c->channels == 1) return got == element(c, b->chunk, i % period);
    double sum = 0;
    for (size_t k = 0; k < 3; k++)
        sum += weight[k] * element(c, b->chunk, (k * plane + i) % period);
    /* Single precision: five roundings of at most 256; bytes drop the fraction after that. */
    return c->size == 1 ? got >= floor(sum - 1e-4) && got <= floor(sum + 1e-4)
                        : fabs(got - sum) <= 5 * 256 * 0x1p-24;
}

/* The first and the last elements: a block shape that does not work must not win. */
static tile_status check(const MemoryBench *b, const Case *c, const Contender *k, tile_ptr out) {
    size_t n = c->h * c->w, starts[] = {0, n - SAMPLE};
    for (int part = 0; part < 2; part++) {
        tile_status st =
            tile_copy_to_host(b->ctx, b->got, out + starts[part] * c->size, SAMPLE * c->size);
        if (st) return bench_report(b->ctx, st, "reading the result");
        for (size_t i = 0; i < SAMPLE; i++)
            if (!right(b, c, starts[part] + i, element(c, b->got, i))) {
                fprintf(stderr, "bandwidth: %s %s, %s: element %zu is wrong\n", c->name, c->type,
                        k->label, starts[part] + i);
                return TILE_CHECK_FAILED;
            }
    }
    return TILE_OK;
}

/* ---- timing ---- */

static tile_status start(const MemoryBench *b, const Case *c, const Contender *k, tile_ptr in,
                         tile_ptr out) {
    size_t half = (bytes_in(c) + bytes_out(c)) / 2;
    tile_arg args[] = {tile_pointer(in), tile_pointer(out),
                       tile_i32((int32_t)(c->channels == 1 ? c->w : c->h)),
                       tile_i32((int32_t)c->w)};
    /* With three planes in and one out, the copy of as many bytes goes from one half of the input
     * buffer to the other. */
    if (!k->kernel)
        return tile_copy_on_device(b->ctx, c->channels == 1 ? out : in + half, in, half, NULL);
    return tile_launch(k->kernel, NULL, args, c->channels == 1 ? 3 : 4, NULL);
}

typedef struct Round {
    const MemoryBench *b;
    const Case *c;
    const Contender *k;
    tile_ptr in, out;
} Round;

static tile_status start_one(const void *round, int i) {
    const Round *r = round;
    return start(r->b, r->c, &r->k[i], r->in, r->out);
}

static tile_status measure(MemoryBench *b, int which, Contender *k, int n, tile_ptr in,
                           tile_ptr out) {
    const Case *c = &cases[which];
    tile_status st = memory_fill(b, in, bytes_in(c));
    for (int i = 1; i < n && !st; i++) {
        st =
            bench_report(b->ctx, tile_fill(b->ctx, out, 0xFF, bytes_out(c)), "clearing the result");
        if (!st) st = bench_report(b->ctx, start(b, c, &k[i], in, out), k[i].label);
        if (!st) st = check(b, c, &k[i], out);
    }
    const MemoryCase shown = {c->name, c->type, c->h, c->w, bytes_in(c) + bytes_out(c)};
    const Round round = {b, c, k, in, out};
    return st ? st : memory_time(b, which, &shown, k, n, start_one, &round);
}

static tile_status run_case(MemoryBench *b, int which) {
    const Case *c = &cases[which];
    Contender *k = calloc(SHAPES + 1, sizeof *k);
    tile_ptr in = 0, out = 0;
    int n = 1;
    /* Room for the copy to read and write as many bytes as the kernel. */
    size_t in_bytes = bytes_in(c) + (c->channels == 1 ? 0 : bytes_out(c));
    tile_status st = k ? TILE_OK : TILE_NO_MEMORY;
    if (k) snprintf(k[0].label, sizeof k[0].label, "device copy");
    for (int i = 0; i < SHAPES && c->shape[i].bw && !st; i++)
        st = load(b, c, &c->shape[i], &k[n++]);
    make_random(b->chunk, CHUNK, c->size == 4);
    if (!st) st = bench_report(b->ctx, tile_alloc(b->ctx, in_bytes, &in), "tile_alloc");
    if (!st) st = bench_report(b->ctx, tile_alloc(b->ctx, bytes_out(c), &out), "tile_alloc");
    if (!st) st = measure(b, which, k, n, in, out);
    tile_free(b->ctx, in);
    tile_free(b->ctx, out);
    for (int i = 1; i < n; i++) tile_module_unload(k[i].module);
    free(k);
    return st;
}

int main(int argc, char **argv) {
    static const MemoryPlan plan = {.name = "bandwidth",
                                    .columns = "kernel,type,h,w,shape,ms,gb_per_s,ratio",
                                    .chunk_size = CHUNK,
                                    .got_size = (size_t)SAMPLE * 4,
                                    .ncases = NCASES,
                                    .run = run_case};
    return memory_main(&plan, argc, argv);
}
