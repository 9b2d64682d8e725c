/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* rgb2grey.c: a colour PNG in, a grey PNG out, by a tile kernel on the GPU or the CPU.
 *
 *   rgb2grey [--device=auto|cpu|cuda] KERNEL IN.png OUT.png
 *
 * KERNEL is rgb2grey.tl, compiled here, or the .ptx or .tir that tilec made of it. The picture goes
 * to the kernel as three planes of bytes, and its answer is checked against plain C. */
#include "load_kernel.h"
#include "picture.h"

#include <math.h>

static tile_status convert(tile_context *ctx, const char *kernel_file, const Picture *p,
                           uint8_t *grey) {
    char signature[120];
    long w = (long)p->w, h = (long)p->h;
    size_t n = p->w * p->h;
    snprintf(signature, sizeof signature, "rgb_ptr=*u8:16,grey_ptr=*u8:16,h=i32%s,w=i32%s",
             promise(h), promise(w));
    tile_module *module = NULL;
    tile_kernel *kernel = NULL;
    tile_ptr in = 0, out = 0;
    tile_status st = load_kernel(ctx, kernel_file, signature, &module, &kernel);
    if (!st) st = tile_alloc(ctx, n * 3, &in);
    if (!st) st = tile_alloc(ctx, n, &out);
    if (!st) st = tile_copy_to_device(ctx, in, p->planes, n * 3);
    if (!st) {
        tile_arg args[] = {tile_pointer(in), tile_pointer(out), tile_i32((int32_t)h),
                           tile_i32((int32_t)w)};
        st = tile_launch(kernel, NULL, args, 4, NULL);
    }
    if (!st) st = tile_copy_to_host(ctx, grey, out, n);
    tile_free(ctx, in);
    tile_free(ctx, out);
    tile_module_unload(module);
    return st;
}

/* Pixels that are not the weighted sum, rounded down. Where the exact sum is within a hair of a
 * whole number, the kernel's single precision may fall on either side of it. */
static size_t count_wrong(const Picture *p, const uint8_t *grey) {
    size_t n = p->w * p->h, wrong = 0;
    for (size_t i = 0; i < n; i++) {
        double exact =
            0.2989 * p->planes[i] + 0.5870 * p->planes[n + i] + 0.1140 * p->planes[2 * n + i];
        int got = grey[i];
        if (got != (int)floor(exact - 1e-4) && got != (int)floor(exact + 1e-4)) wrong++;
    }
    return wrong;
}

int main(int argc, char **argv) {
    const char *device = "auto";
    if (argc > 1 && strncmp(argv[1], "--device=", 9) == 0) {
        device = argv[1] + 9;
        argv++;
        argc--;
    }
    if (argc != 4) {
        fprintf(stderr, "usage: rgb2grey [--device=auto|cpu|cuda] KERNEL IN.png OUT.png\n");
        return 2;
    }
    Picture p = {0};
    tile_context *ctx = NULL;
    uint8_t *grey = NULL;
    int code = picture_read(argv[2], &p);
    if (!code) {
        grey = malloc(p.w * p.h);
        tile_status st = grey ? tile_context_create(device, &ctx) : TILE_NO_MEMORY;
        if (!st) st = convert(ctx, argv[1], &p, grey);
        if (st) report(ctx, st);
        code = st ? 5 : picture_write(argv[3], p.w, p.h, 1, grey);
    }
    if (!code) {
        size_t wrong = count_wrong(&p, grey);
        printf("rgb2grey: %zux%zu on %s: %zu of %zu pixels wrong\n", p.w, p.h,
               tile_context_device_name(ctx), wrong, p.w * p.h);
        if (wrong) code = 5;
    }
    tile_context_destroy(ctx);
    free(p.planes);
    free(grey);
    return code;
}
