/* app.c: loads scale.ptx or scale.tir with the installed runtime and runs it: C11 and C++17.
 * Usage: app DEVICE FILE. Its own `diag` must not meet one of the library's. */
#include "tile.h"

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
    tile_module *module = NULL;
    tile_kernel *kernel = NULL;
    tile_ptr dx = 0, dy = 0;
    int wrong = 0;
    if (argc != 3) return 2;
    for (int i = 0; i < N; i++) x[i] = (float)i;
    tile_status st = tile_context_create(argv[1], &ctx);
    if (!st) st = tile_module_load_file(ctx, argv[2], &module);
    if (!st) st = tile_kernel_get(module, NULL, &kernel);
    if (!st) st = tile_alloc(ctx, sizeof x, &dx);
    if (!st) st = tile_alloc(ctx, sizeof y, &dy);
    if (!st) st = tile_copy_to_device(ctx, dx, x, sizeof x);
    if (!st) {
        tile_arg args[] = {tile_pointer(dx), tile_pointer(dy), tile_i32(N), tile_f32(0.5f)};
        st = tile_launch(kernel, NULL, args, 4, NULL);
    }
    if (!st) st = tile_copy_to_host(ctx, y, dy, sizeof y);
    if (st) fprintf(stderr, "%s: %s\n", tile_status_text(st), tile_error(ctx));
    for (int i = 0; i < N; i++) wrong += y[i] != x[i] * 0.5f;
    tile_module_unload(module);
    tile_context_destroy(ctx);
    return st ? 1 : diag(wrong);
}
