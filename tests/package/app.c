/* app.c: runs the kernel that tilec put into scale.h, with the installed runtime: C11 and C++17.
 * Usage: app DEVICE. Its own `diag` must not meet one of the library's. */
#include "scale.h"

#include <stdio.h>

enum { N = 1000 };

int diag(int wrong);
int diag(int wrong) {
    printf("%d of %d values are wrong\n", wrong, (int)N);
    return wrong != 0;
}

int main(int argc, char **argv) {
    static float x[N], y[N];
    tile_context *ctx = NULL;
    tile_bundle *kernels = NULL;
    tile_ptr dx = 0, dy = 0;
    int wrong = 0;
    if (argc != 2) return 2;
    for (int i = 0; i < N; i++) x[i] = (float)i;
    tile_status st = tile_context_create(argv[1], &ctx);
    if (!st) st = scale_load(ctx, &kernels);
    if (!st) st = tile_alloc(ctx, sizeof x, &dx);
    if (!st) st = tile_alloc(ctx, sizeof y, &dy);
    if (!st) st = tile_copy_to_device(ctx, dx, x, sizeof x);
    if (!st) st = scale_launch(kernels, dx, dy, N, 0.5f, NULL);
    if (!st) st = tile_copy_to_host(ctx, y, dy, sizeof y);
    if (st) fprintf(stderr, "%s: %s\n", tile_status_text(st), tile_error(ctx));
    for (int i = 0; i < N; i++) wrong += y[i] != x[i] * 0.5f;
    tile_bundle_destroy(kernels);
    tile_context_destroy(ctx);
    return st ? 1 : diag(wrong);
}
