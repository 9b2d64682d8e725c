/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* jit_fixture.h: a kernel's source -> a tile_jit on the CPU device, with a cache in a folder of its
 * own: for the suites that launch by one. */
#ifndef TILE_TESTS_CHECK_JIT_FIXTURE_H
#define TILE_TESTS_CHECK_JIT_FIXTURE_H

#include "tests/scratch.h"
#include "tile.h"

#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char head[] = "import triton, triton.language as tl\n";
static const char add_one[] = "# tile: grid = cdiv(n, BLOCK)\n"
                              "@triton.jit\n"
                              "def add_one(x_ptr: '*fp32', n, s, BLOCK: tl.constexpr = 16):\n"
                              "    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
                              "    x = tl.load(x_ptr + i * s, mask=i < n)\n"
                              "    tl.store(x_ptr + i * s, x + 1.0, mask=i < n)\n";

static tile_context *ctx;
static tile_jit *jit;
static char folder[SCRATCH_SIZE];

static inline void open_cpu(void) {
    ck_assert_ptr_nonnull(mkdtemp(scratch(folder, "tile-jit")));
    ck_assert_int_eq(tile_context_create("cpu", &ctx), TILE_OK);
    jit = NULL;
}

static inline void close_cpu(void) {
    tile_jit_destroy(jit);
    tile_context_destroy(ctx);
    scratch_empty(folder);
    rmdir(folder);
}

static inline tile_status create(const char *text, const char *cache, tile_jit **out) {
    tile_compile_options o = {.source = text, .source_len = strlen(text), .file_name = "k.tl"};
    return tile_jit_create(ctx, &o, cache, out);
}

static inline char *joined(const char *a, const char *b) {
    static char text[8192];
    int n = snprintf(text, sizeof text, "%s%s", a, b);
    ck_assert(n > 0 && (size_t)n < sizeof text);
    return text;
}

static inline void created(const char *text, const char *cache) {
    tile_jit_destroy(jit);
    jit = NULL;
    tile_status st = create(joined(head, text), cache, &jit);
    ck_assert_msg(st == TILE_OK, "%s", tile_error(ctx));
}

/* How many entries the cache has; the path of one of them. */
static inline int entries(char path[400]) {
    int n = 0;
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));)
        if (strstr(e->d_name, ".tilec")) {
            n++;
            snprintf(path, 400, "%s/%s", folder, e->d_name);
        }
    if (d) closedir(d);
    return n;
}

#endif
