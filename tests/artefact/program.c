/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* program.c: includes the header that tilec made of kernels.tl and runs it on the CPU device, or on
 * the one that is named: prints `N passed, N failed`. C11, C23 and C++. */
#include "kernels.h"

#include <stdio.h>
#include <string.h>

static int passed, failed;
static tile_context *ctx;
static tile_bundle *kernels;

static void check(const char *what, int good) {
    if (good) {
        passed++;
    } else {
        failed++;
        printf("artefact: %s: %s\n", what, tile_error(ctx));
    }
}

/* The variant that ran for these arguments, `offset` bytes into a buffer; -1 when none did. */
static int variant(unsigned offset, int32_t n, int64_t m) {
    int32_t out[3] = {-1, -1, -1};
    tile_ptr p;
    if (tile_alloc(ctx, 256, &p)) return -2;
    tile_status st = which_launch(kernels, p + offset, n, m, NULL);
    if (!st) st = tile_copy_to_host(ctx, out, p + offset, sizeof out);
    tile_free(ctx, p);
    if (!st && (out[1] != n || out[2] != (int32_t)m)) return -3;
    return st ? -1 : out[0];
}

static void variants(void) {
    check("aligned, n a multiple of 16, m large", variant(0, 32, 2000) == 1);
    check("the same with m small", variant(0, 32, 999) == 2);
    check("misaligned", variant(4, 32, 2000) == 5);
    check("n is one", variant(0, 1, 2000) == 3);
    check("n is one, misaligned", variant(4, 1, 5) == 3);
    check("n is neither", variant(0, 33, 64) == 4);
    check("m is 0: its condition has no value", variant(0, 33, 0) == 5);
    check("nothing holds but the general one", variant(8, 33, 65) == 5);
    check("zero is a multiple of 16", variant(16, 0, 0) == 2);
    check("None is refused", which_launch(kernels, 0, 1, 1, NULL) == TILE_BAD_LAUNCH);
    check("and the argument is named", strstr(tile_error(ctx), "out_ptr") != NULL);
}

static void every_type(void) {
    static const double want[14] = {
        1,   -128, -32768, 255,     65535, 4294967295.0, 9007199254740992.0,
        1.5, -2.5, 0.1f,   -1e-300, 448,   57344,        1};
    double out[14];
    tile_grid one = {1, 1, 1};
    tile_ptr p;
    if (tile_alloc(ctx, sizeof out, &p)) return;
    for (int pass = 1; pass <= 2; pass++) {
        tile_status st = na_xC3_xAFve_launch_grid(
            kernels, one, p, 5, -128, -32768, 255, 65535, 4294967295u, 9007199254740992u, 1.5f,
            -2.5f, 0.1f, -1e-300, 448.0f, 57344.0f, pass == 1 ? 0 : p, NULL);
        check("every type is launched", st == TILE_OK);
        check("the results are read", tile_copy_to_host(ctx, out, p, sizeof out) == TILE_OK);
        for (int i = 0; i < 13; i++) check("a value arrives", out[i] == want[i]);
        check("None has a variant of its own", out[13] == pass);
    }
    tile_free(ctx, p);
}

/* Tuples and descriptors are passed part by part. */
static void arguments_with_parts(void) {
    int32_t in[8] = {1, 2, 3, 4, 5, 6, 7, 8}, out[4];
    tile_ptr p, q;
    if (tile_alloc(ctx, sizeof in, &p) || tile_alloc(ctx, sizeof out, &q)) return;
    tile_status st = tile_copy_to_device(ctx, p, in, sizeof in);
    if (!st) st = parts_launch(kernels, q, 2, p, 4, 1, NULL);
    if (!st) st = tile_copy_to_host(ctx, out, q, sizeof out);
    check("parts are launched", st == TILE_OK);
    for (int i = 0; i < 4; i++) check("a block arrives", out[i] == (i < 3 ? in[i + 1] : 0) + 7);
    tile_free(ctx, p);
    tile_free(ctx, q);
}

static void mistakes(void) {
    tile_kernel *k;
    tile_arg args[3];
    tile_image image;
    tile_bundle *none;
    args[0] = tile_pointer(16);
    args[1] = tile_i32(1);
    args[2] = tile_i32(1); /* i64 is wanted */
    check("a wrong type", tile_bundle_kernel(kernels, "which", args, 3, &k) == TILE_BAD_LAUNCH &&
                              strstr(tile_error(ctx), "the kernel takes i64, not i32") != NULL);
    check("a wrong number", tile_bundle_kernel(kernels, "which", args, 2, &k) == TILE_BAD_LAUNCH &&
                                strstr(tile_error(ctx), "takes 3 arguments") != NULL);
    check("an unknown name", tile_bundle_kernel(kernels, "nope", args, 3, &k) == TILE_NOT_FOUND);
    image.target = "sm_90a";
    image.variant = 0;
    image.when = NULL;
    image.data = "x";
    image.size = 1;
    if (strcmp(tile_context_target(ctx), "cpu") == 0)
        check("nothing for this device",
              tile_bundle_create(ctx, &image, 1, &none) == TILE_BAD_MODULE &&
                  strstr(tile_error(ctx), "none of the kernels' images") != NULL);
    image.target = tile_context_target(ctx);
    check("no manifest", tile_bundle_create(ctx, &image, 1, &none) == TILE_BAD_MODULE &&
                             strstr(tile_error(ctx), "no manifest") != NULL);
    check("no images", tile_bundle_create(ctx, &image, 0, &none) == TILE_INVALID);
    check("more images than there may be",
          tile_bundle_create(ctx, &image, 4097, &none) == TILE_INVALID &&
              strstr(tile_error(ctx), "4097 images: the limit is 4096") != NULL);
    tile_bundle_destroy(NULL);
}

int main(int argc, char **argv) {
    if (tile_context_create(argc > 1 ? argv[1] : "cpu", &ctx)) {
        printf("%s\n", tile_error(ctx));
        tile_context_destroy(ctx);
        return 77;
    }
    check("load", kernels_load(ctx, &kernels) == TILE_OK);
    if (kernels) {
        variants();
        every_type();
        arguments_with_parts();
        mistakes();
    }
    tile_bundle_destroy(kernels);
    tile_context_destroy(ctx);
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
