/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* filter.c: a PNG in, the picture blurred or its edges out, by a tile kernel on the GPU or the CPU.
 *
 *   filter [--device=auto|cpu|cuda] KERNEL blur|edges IN.png OUT.png
 *
 * KERNEL is filter.tl, compiled here, or the .ptx or .tir that tilec made of it: one module with
 * two kernels. Every byte of the result is compared with what plain C computes. */
#include "load_kernel.h"
#include "picture.h"

typedef struct Filter {
    const char *name;
    int (*at)(const uint8_t *plane, long w, long h, long x, long y); /* the same in C */
} Filter;

/* ---- the filters in C ---- */

static int pixel(const uint8_t *plane, long w, long h, long x, long y) {
    x = x < 0 ? 0 : x >= w ? w - 1 : x;
    y = y < 0 ? 0 : y >= h ? h - 1 : y;
    return plane[y * w + x];
}

static int blurred(const uint8_t *plane, long w, long h, long x, long y) {
    static const int weight[] = {1, 4, 6, 4, 1};
    int sum = 0;
    for (int i = -2; i <= 2; i++)
        for (int j = -2; j <= 2; j++)
            sum += weight[i + 2] * weight[j + 2] * pixel(plane, w, h, x + j, y + i);
    return (sum + 128) >> 8;
}

static int steepness(const uint8_t *plane, long w, long h, long x, long y) {
    static const int weight[] = {1, 2, 1};
    int across = 0, down = 0;
    for (int d = -1; d <= 1; d++) {
        int k = weight[d + 1];
        across += k * (pixel(plane, w, h, x + 1, y + d) - pixel(plane, w, h, x - 1, y + d));
        down += k * (pixel(plane, w, h, x + d, y + 1) - pixel(plane, w, h, x + d, y - 1));
    }
    int steep = abs(across) + abs(down);
    return steep > 255 ? 255 : steep;
}

static const Filter filters[] = {{"blur", blurred}, {"edges", steepness}};

static size_t count_wrong(const Filter *f, const Picture *p, const uint8_t *result) {
    size_t n = p->w * p->h, wrong = 0;
    for (size_t c = 0; c < 3; c++)
        for (size_t i = 0; i < n; i++)
            wrong += result[c * n + i] != f->at(p->planes + c * n, (long)p->w, (long)p->h,
                                                (long)(i % p->w), (long)(i / p->w));
    return wrong;
}

/* ---- the filters as kernels ---- */

static tile_status apply(tile_context *ctx, const char *kernel_file, const Filter *f,
                         const Picture *p, uint8_t *result) {
    size_t bytes = p->w * p->h * 3;
    tile_module *module = NULL;
    tile_kernel *kernel = NULL;
    tile_ptr in = 0, out = 0;
    tile_status st = load_module(ctx, kernel_file, NULL, &module);
    if (!st) st = tile_kernel_get(module, f->name, &kernel);
    if (!st) st = tile_alloc(ctx, bytes, &in);
    if (!st) st = tile_alloc(ctx, bytes, &out);
    if (!st) st = tile_copy_to_device(ctx, in, p->planes, bytes);
    if (!st) {
        tile_arg args[] = {tile_pointer(in), tile_pointer(out), tile_i32((int32_t)p->h),
                           tile_i32((int32_t)p->w), tile_i32(3)};
        st = tile_launch(kernel, NULL, args, 5, NULL);
    }
    if (!st) st = tile_copy_to_host(ctx, result, out, bytes);
    tile_free(ctx, in);
    tile_free(ctx, out);
    tile_module_unload(module);
    return st;
}

static int run(const char *device, const char *kernel_file, const Filter *f, const Picture *p,
               const char *path) {
    tile_context *ctx = NULL;
    uint8_t *result = malloc(p->w * p->h * 3);
    tile_status st = result ? tile_context_create(device, &ctx) : TILE_NO_MEMORY;
    if (!st) st = apply(ctx, kernel_file, f, p, result);
    if (st) report(ctx, st);
    int code = st ? 5 : picture_write(path, p->w, p->h, 3, result);
    if (!code) {
        size_t wrong = count_wrong(f, p, result);
        printf("filter: %s of %zux%zu on %s: %zu of %zu bytes wrong\n", f->name, p->w, p->h,
               tile_context_device_name(ctx), wrong, p->w * p->h * 3);
        if (wrong) code = 5;
    }
    tile_context_destroy(ctx);
    free(result);
    return code;
}

int main(int argc, char **argv) {
    const char *device = "auto";
    if (argc > 1 && strncmp(argv[1], "--device=", 9) == 0) {
        device = argv[1] + 9;
        argv++;
        argc--;
    }
    const Filter *filter = NULL;
    for (size_t i = 0; argc == 5 && i < sizeof filters / sizeof *filters; i++)
        if (strcmp(argv[2], filters[i].name) == 0) filter = &filters[i];
    if (!filter) {
        fprintf(stderr,
                "usage: filter [--device=auto|cpu|cuda] KERNEL blur|edges IN.png OUT.png\n");
        return 2;
    }
    Picture p = {0};
    int code = picture_read(argv[3], &p);
    if (!code) code = run(device, argv[1], filter, &p, argv[4]);
    free(p.planes);
    return code;
}
