/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gpu_checks.h: the context and the checks of a test on a real driver, which includes it once. */
#ifndef TILE_TESTS_GPU_CHECKS_H
#define TILE_TESTS_GPU_CHECKS_H

#include "tile.h"

#include <stdio.h>

static int passed, failed;
static tile_context *ctx;

static void check(int good, const char *what, const char *file, int line) {
    passed += good != 0;
    failed += good == 0;
    if (!good) printf("%s:%d: %s\n    %s\n", file, line, what, ctx ? tile_error(ctx) : "");
}
#define CHECK(good) check((good), #good, __FILE__, __LINE__)

/* The exit code where there is no GPU, or 0. */
static int open_context(void) {
    tile_status st = tile_context_create("cuda", &ctx);
    if (!st) return 0;
    printf("%s: %s\n", tile_status_text(st), ctx ? tile_error(ctx) : "");
    tile_context_destroy(ctx);
    return st == TILE_NO_DEVICE ? 77 : 1;
}

#endif
