/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tuned.c: prints which variant of the kernel `which` a launch takes for each pair of sizes n m on
 * its command line, as V=NUMBER, on the CPU device. artefact_test.sh makes
 * which.h of kernels.tl. */
#include "which.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    tile_context *ctx;
    tile_bundle *kernels = NULL;
    tile_ptr p = 0;
    tile_status st = tile_context_create("cpu", &ctx);
    if (!st) st = kernels_load(ctx, &kernels);
    if (!st) st = tile_alloc(ctx, 64, &p);
    for (int i = 1; i + 1 < argc && !st; i += 2) {
        int32_t out[3];
        unsigned offset = argv[i][0] == '+' ? 4 : 0; /* not where 16 bytes were promised */
        st = which_launch(kernels, p + offset, atoi(argv[i]), atoi(argv[i + 1]), NULL);
        if (!st) st = tile_copy_to_host(ctx, out, p + offset, sizeof out);
        if (!st) printf("V=%d\n", (int)out[0]);
    }
    if (st) printf("%s\n", tile_error(ctx));
    tile_bundle_destroy(kernels);
    tile_context_destroy(ctx);
    return st != TILE_OK;
}
