/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* matmul.c: how fast examples/matmul.tl multiplies square matrices on a GPU, for a few tile shapes.
 *
 *   matmul [--device=cuda[:N]] [--target=native|sm_80|…] [--type=fp16|bf16] [--root=FOLDER]
 *          [--out=FILE.csv]
 *
 * Random data in (-1, 1); each time is the median of many launches that stand in one queue. */
#include "bench.h"

enum { RUNS = 20, LARGEST = 8192 };

typedef struct Shape {
    int bm, bn, bk, num_warps;
} Shape;

static const Shape shapes[] = {{128, 128, 32, 4}, {128, 128, 32, 8}, {128, 128, 64, 8},
                               {64, 128, 32, 4},  {128, 256, 32, 8}, {64, 64, 32, 4}};
static const int sizes[] = {512, 1024, 2048, 4096, LARGEST};
enum { NSHAPES = sizeof shapes / sizeof *shapes, NSIZES = sizeof sizes / sizeof *sizes };

/* Numbers whose sign, exponent and fraction all vary: 16-bit floats in (-1, 1). */
static void make_random(uint16_t *data, size_t n, int is_bf16) {
    uint64_t state = 88172645463325252u;
    for (size_t i = 0; i < n; i++) {
        uint64_t x = bench_random(&state);
        unsigned sign = (unsigned)(x >> 63) << 15, fraction = (unsigned)(x >> 8 & 1023);
        unsigned below = (unsigned)(x >> 32 & 3); /* 2^-1, 2^-2, 2^-3, 2^-4 */
        data[i] = (uint16_t)(sign | (is_bf16 ? (126 - below) << 7 | fraction >> 3
                                             : (14 - below) << 10 | fraction));
    }
}

typedef struct Launch {
    tile_kernel *kernel;
    const tile_arg *args;
} Launch;

static tile_status start(const void *round, int i) {
    const Launch *l = round;
    (void)i; /* the same every time */
    return tile_launch(l->kernel, NULL, l->args, 12, NULL);
}

static tile_status time_launches(tile_context *ctx, tile_kernel *kernel, const tile_arg *args,
                                 double *ms) {
    double time[RUNS] = {0};
    const Launch launch = {kernel, args};
    tile_status st = bench_round(ctx, 2, 1, start, &launch, time); /* to warm up */
    if (!st) st = bench_round(ctx, RUNS, 1, start, &launch, time);
    if (!st) *ms = bench_median(time, RUNS);
    return st;
}

static tile_status run_shape(tile_context *ctx, BenchKernel *k, const Shape *s, const char *type,
                             const tile_ptr *buffer, FILE *csv) {
    char signature[120], text[3][16];
    const char *defines[] = {text[0], text[1], text[2]};
    tile_module *module = NULL;
    tile_kernel *kernel = NULL;
    snprintf(signature, sizeof signature,
             "*%s:16, *%s:16, *%s:16, i32:16, i32:16, i32:16, "
             "i32:16, i32:1, i32:16, i32:1, i32:16, i32:1",
             type, type, type);
    snprintf(text[0], sizeof text[0], "BM=%d", s->bm);
    snprintf(text[1], sizeof text[1], "BN=%d", s->bn);
    snprintf(text[2], sizeof text[2], "BK=%d", s->bk);
    k->signature = signature;
    k->defines = defines;
    k->ndefines = 3;
    k->num_warps = s->num_warps;
    tile_status st = bench_load(ctx, k, &module, &kernel);
    for (int i = 0; i < NSIZES && !st; i++) {
        double ms = 0, n = sizes[i];
        tile_arg size = tile_i32(sizes[i]), one = tile_i32(1);
        tile_arg args[] = {tile_pointer(buffer[0]),
                           tile_pointer(buffer[1]),
                           tile_pointer(buffer[2]),
                           size,
                           size,
                           size,
                           size,
                           one,
                           size,
                           one,
                           size,
                           one};
        st = time_launches(ctx, kernel, args, &ms);
        if (st) break;
        double rate = 2e-9 * n * n * n / ms;
        printf("%-5s %5d  %dx%dx%d, %d warps  %9.4f ms %7.1f TFLOPS\n", type, sizes[i], s->bm,
               s->bn, s->bk, s->num_warps, ms, rate);
        if (csv)
            fprintf(csv, "%s,%d,%dx%dx%d,%d,%.5f,%.2f\n", type, sizes[i], s->bm, s->bn, s->bk,
                    s->num_warps, ms, rate);
    }
    tile_module_unload(module);
    return st;
}

static tile_status run(tile_context *ctx, BenchKernel *k, const char *type, FILE *csv) {
    size_t n = (size_t)LARGEST * LARGEST;
    uint16_t *data = malloc(n * 2);
    tile_ptr buffer[3] = {0};
    tile_status st = data ? TILE_OK : TILE_NO_MEMORY;
    if (data) make_random(data, n, strcmp(type, "bf16") == 0);
    for (int i = 0; i < 3 && !st; i++) {
        st = tile_alloc(ctx, n * 2, &buffer[i]);
        if (!st) st = tile_copy_to_device(ctx, buffer[i], data, n * 2);
    }
    bench_report(ctx, st, "buffers");
    for (int i = 0; i < NSHAPES && !st; i++) st = run_shape(ctx, k, &shapes[i], type, buffer, csv);
    for (int i = 0; i < 3; i++) tile_free(ctx, buffer[i]);
    free(data);
    return st;
}

int main(int argc, char **argv) {
    BenchOptions o = {.name = "matmul", .device = "cuda", .root = ".", .type = "fp16"};
    int code = bench_read_options(&o, argc, argv);
    if (code) return code;
    tile_context *ctx = NULL;
    FILE *csv = NULL;
    code = bench_begin(&o, "type,size,shape,num_warps,ms,tflops", &ctx, &csv);
    BenchKernel k = {.root = o.root, .file = "examples/matmul.tl", .target = o.target};
    if (!code) printf("code for %s on %s\n", k.target, tile_context_device_name(ctx));
    if (!code) code = run(ctx, &k, o.type, csv) ? 5 : 0;
    return bench_end(code, ctx, csv);
}
