/* rgb2grey.c: a colour PNG in, a grey PNG out, by a tile kernel on the GPU or the CPU.
 *
 *   rgb2grey [--device=auto|cpu|cuda] KERNEL IN.png OUT.png
 *
 * KERNEL is rgb2grey.tl, compiled here, or the .ptx or .tir that tilec made of it. The picture goes
 * to the kernel as three planes of bytes, and its answer is checked against plain C. */
#include "load_kernel.h"

#include <math.h>
#include <png.h>
#include <stdint.h>

typedef struct Picture {
    size_t w, h;
    uint8_t *planes; /* r, then g, then b, h * w bytes each */
    uint8_t *grey;
} Picture;

/* Any 8-bit PNG (grey, palette, RGB, with alpha or without) as planes. */
static int read_picture(const char *path, Picture *p) {
    png_image image;
    memset(&image, 0, sizeof image);
    image.version = PNG_IMAGE_VERSION;
    if (!png_image_begin_read_from_file(&image, path)) {
        fprintf(stderr, "%s: %s\n", path, image.message);
        return 3;
    }
    image.format = PNG_FORMAT_RGB;
    p->w = image.width;
    p->h = image.height;
    size_t n = p->w * p->h;
    png_color black = {0, 0, 0}; /* behind what is transparent */
    uint8_t *rgb = malloc(PNG_IMAGE_SIZE(image));
    p->planes = malloc(n * 3);
    p->grey = malloc(n);
    if (!rgb || !p->planes || !p->grey || !png_image_finish_read(&image, &black, rgb, 0, NULL)) {
        fprintf(stderr, "%s: %s\n", path, image.message[0] ? image.message : "out of memory");
        png_image_free(&image);
        free(rgb);
        return 3;
    }
    for (size_t i = 0; i < n; i++)
        for (size_t c = 0; c < 3; c++) p->planes[c * n + i] = rgb[i * 3 + c];
    free(rgb);
    return 0;
}

static int write_picture(const char *path, const Picture *p) {
    png_image image;
    memset(&image, 0, sizeof image);
    image.version = PNG_IMAGE_VERSION;
    image.width = (png_uint_32)p->w;
    image.height = (png_uint_32)p->h;
    image.format = PNG_FORMAT_GRAY;
    if (png_image_write_to_file(&image, path, 0, p->grey, 0, NULL)) return 0;
    fprintf(stderr, "%s: %s\n", path, image.message);
    return 3;
}

static tile_status convert(tile_context *ctx, const char *kernel_file, Picture *p) {
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
    if (!st) st = tile_copy_to_host(ctx, p->grey, out, n);
    tile_free(ctx, in);
    tile_free(ctx, out);
    tile_module_unload(module);
    return st;
}

/* Pixels that are not the weighted sum, rounded down. Where the exact sum is within a hair of a
 * whole number, the kernel's single precision may fall on either side of it. */
static size_t count_wrong(const Picture *p) {
    size_t n = p->w * p->h, wrong = 0;
    for (size_t i = 0; i < n; i++) {
        double exact =
            0.2989 * p->planes[i] + 0.5870 * p->planes[n + i] + 0.1140 * p->planes[2 * n + i];
        int got = p->grey[i];
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
    int code = read_picture(argv[2], &p);
    if (!code) {
        tile_status st = tile_context_create(device, &ctx);
        if (!st) st = convert(ctx, argv[1], &p);
        if (st) report(ctx, st);
        code = st ? 5 : write_picture(argv[3], &p);
    }
    if (!code) {
        size_t wrong = count_wrong(&p);
        printf("rgb2grey: %zux%zu on %s: %zu of %zu pixels wrong\n", p.w, p.h,
               tile_context_device_name(ctx), wrong, p.w * p.h);
        if (wrong) code = 5;
    }
    tile_context_destroy(ctx);
    free(p.planes);
    free(p.grey);
    return code;
}
