/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* app.c: runs the kernel that tilec put into scale.h, with the installed runtime: C11 and C++17.
 * Usage: app DEVICE. Its own `diag` must not meet one of the library's. */
#include "scale.h"

#include <stdio.h>

enum {
    N = 1000,
    ALL = N + 24
}; /* the kernel's last block goes beyond N, which it must not write */

int diag(int wrong, const char *device);
int diag(int wrong, const char *device) {
    printf("%d of %d values are wrong on %s\n", wrong, (int)ALL, device);
    return wrong != 0;
}

int main(int argc, char **argv) {
    static float x[ALL], y[ALL];
    const float untouched = -1.0f;
    tile_context *ctx = NULL;
    tile_bundle *kernels = NULL;
    tile_ptr dx = 0, dy = 0;
    int wrong = 0, rc = 1;
    if (argc != 2) return 2;
    for (int i = 0; i < ALL; i++) {
        x[i] = (float)(i + 1);
        y[i] = untouched;
    }
    tile_status st = tile_context_create(argv[1], &ctx);
    if (!st) st = scale_load(ctx, &kernels);
    if (!st) st = tile_alloc(ctx, sizeof x, &dx);
    if (!st) st = tile_alloc(ctx, sizeof y, &dy);
    if (!st) st = tile_copy_to_device(ctx, dx, x, sizeof x);
    if (!st) st = tile_copy_to_device(ctx, dy, y, sizeof y);
    if (!st) st = scale_launch(kernels, dx, dy, N, 0.5f, NULL);
    for (int i = 0; i < ALL; i++) y[i] = 0; /* what is compared comes from the device */
    if (!st) st = tile_copy_to_host(ctx, y, dy, sizeof y);
    for (int i = 0; i < ALL; i++) wrong += y[i] != (i < N ? x[i] * 0.5f : untouched);
    if (st)
        fprintf(stderr, "%s: %s\n", tile_status_text(st), tile_error(ctx));
    else
        rc = diag(wrong, tile_context_device_name(ctx));
    tile_bundle_destroy(kernels);
    tile_context_destroy(ctx);
    return rc;
}
