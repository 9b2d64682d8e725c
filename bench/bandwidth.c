/* bandwidth.c: how fast examples/copy.tl and examples/rgb2grey.tl move bytes on a GPU, against the
 * driver's own device-to-device copy of as many bytes, timed in the same process.
 *
 *   bandwidth [--device=cuda[:N]] [--target=native|sm_80|…] [--rounds=N] [--root=FOLDER]
 *             [--out=FILE.csv]
 *
 * Every case has a table of block shapes. A round times each of them and the copy once, in turn, so
 * that a change of clocks meets all alike; the figures are medians over the rounds. Buffers hold
 * random data and are larger than the L2 cache. Bytes are counted as read plus written. */
#include "bench.h"

#include <math.h>

enum { SHAPES = 8, MAX_ROUNDS = 200, CHUNK = (1 << 26) - 12288, SAMPLE = 1 << 20 };

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

typedef struct Bench {
    tile_context *ctx;
    const char *target, *root;
    int rounds;
    FILE *csv;
    unsigned char *chunk; /* random bytes */
    unsigned char *got;   /* SAMPLE elements of the result */
    char best[NCASES][200];
} Bench;

/* One kernel or the copy, with its times. */
typedef struct Contender {
    char label[40];
    tile_module *module;
    tile_kernel *kernel; /* NULL: the copy */
    double ms[MAX_ROUNDS];
} Contender;

static size_t bytes_in(const Case *c) {
    return c->h * c->w * c->size * (size_t)c->channels;
}

static size_t bytes_out(const Case *c) {
    return c->h * c->w * c->size;
}

/* ---- kernels ---- */

static tile_status load(const Bench *b, const Case *c, const Shape *shape, Contender *out) {
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

static tile_status fill(const Bench *b, tile_ptr to, size_t bytes) {
    for (size_t at = 0; at < bytes; at += CHUNK) {
        size_t n = bytes - at < CHUNK ? bytes - at : CHUNK;
        tile_status st = tile_copy_to_device(b->ctx, to + at, b->chunk, n);
        if (st) return st;
    }
    return TILE_OK;
}

static double element(const Case *c, const unsigned char *data, size_t i) {
    float f;
    if (c->size == 1) return data[i];
    memcpy(&f, data + i * 4, 4);
    return (double)f;
}

/* Element i of the result: of the input, which is the chunk over and over. */
static int right(const Bench *b, const Case *c, size_t i, double got) {
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
static tile_status check(const Bench *b, const Case *c, const Contender *k, tile_ptr out) {
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

static tile_status start(const Bench *b, const Case *c, const Contender *k, tile_ptr in,
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
    const Bench *b;
    const Case *c;
    const Contender *k;
    tile_ptr in, out;
} Round;

static tile_status start_one(const void *round, int i) {
    const Round *r = round;
    return start(r->b, r->c, &r->k[i], r->in, r->out);
}

/* All contenders in turn, the copy first. */
static tile_status run_round(const Bench *b, const Case *c, Contender *k, int n, int round,
                             tile_ptr in, tile_ptr out) {
    /* Short work is repeated, so that an event's own time does not count. */
    int repeat = bytes_in(c) + bytes_out(c) < (size_t)1 << 29 ? 4 : 1;
    const Round r = {b, c, k, in, out};
    double ms[SHAPES + 1] = {0};
    tile_status st = bench_round(b->ctx, n, repeat, start_one, &r, ms);
    for (int i = 0; i < n; i++) k[i].ms[round] = ms[i];
    return st;
}

static void print_case(Bench *b, int which, Contender *k, int n) {
    const Case *c = &cases[which];
    double bytes = (double)(bytes_in(c) + bytes_out(c)), copy = 0, least = 0;
    printf("%s %s %zux%zu, %.0f MB read and written\n", c->name, c->type, c->h, c->w, bytes * 1e-6);
    for (int i = 0; i < n; i++) {
        double ms = bench_median(k[i].ms, b->rounds), rate = bytes / ms * 1e-6;
        if (i == 0) copy = ms;
        printf("    %-18s %8.4f ms %8.1f GB/s %7.4f of the copy\n", k[i].label, ms, rate,
               copy / ms);
        if (b->csv)
            fprintf(b->csv, "%s,%s,%zu,%zu,\"%s\",%.5f,%.2f,%.5f\n", c->name, c->type, c->h, c->w,
                    k[i].label, ms, rate, copy / ms);
        if (i == 0 || (least > 0 && ms >= least)) continue;
        least = ms;
        snprintf(b->best[which], sizeof b->best[which],
                 "%-9s %-5s %5zux%-10zu %-18s %8.1f GB/s %7.4f of the copy", c->name, c->type, c->h,
                 c->w, k[i].label, rate, copy / ms);
    }
    fflush(stdout);
}

static tile_status measure(Bench *b, int which, Contender *k, int n, tile_ptr in, tile_ptr out) {
    const Case *c = &cases[which];
    tile_status st = fill(b, in, bytes_in(c));
    for (int i = 1; i < n && !st; i++) {
        st =
            bench_report(b->ctx, tile_fill(b->ctx, out, 0xFF, bytes_out(c)), "clearing the result");
        if (!st) st = bench_report(b->ctx, start(b, c, &k[i], in, out), k[i].label);
        if (!st) st = check(b, c, &k[i], out);
    }
    for (int i = 0; i < 3 && !st; i++) st = run_round(b, c, k, n, 0, in, out); /* to warm up */
    for (int i = 0; i < b->rounds && !st; i++) st = run_round(b, c, k, n, i, in, out);
    if (!st) print_case(b, which, k, n);
    return st;
}

static tile_status run_case(Bench *b, int which) {
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
    BenchOptions o = {.name = "bandwidth",
                      .device = "cuda",
                      .root = ".",
                      .rounds = 25,
                      .most_rounds = MAX_ROUNDS};
    int code = bench_read_options(&o, argc, argv);
    if (code) return code;
    Bench *b = calloc(1, sizeof *b);
    if (!b) return 5;
    code = bench_begin(&o, "kernel,type,h,w,shape,ms,gb_per_s,ratio", &b->ctx, &b->csv);
    b->target = o.target;
    b->root = o.root;
    b->rounds = o.rounds;
    b->chunk = malloc(CHUNK);
    b->got = malloc((size_t)SAMPLE * 4);
    if (!code && (!b->chunk || !b->got)) code = 5;
    for (int i = 0; i < NCASES && !code; i++) code = run_case(b, i) ? 5 : 0;
    if (!code) printf("\nbest, code for %s on %s\n", b->target, tile_context_device_name(b->ctx));
    for (int i = 0; i < NCASES && !code; i++) printf("%s\n", b->best[i]);
    code = bench_end(code, b->ctx, b->csv);
    free(b->chunk);
    free(b->got);
    free(b);
    return code;
}
