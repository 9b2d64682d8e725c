/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_jit_faults.c: tile_jit, tile_bundle and tile_tune when the n-th allocation of ours, or the
 * n-th call about a file, fails: no crash, no leak, the right status, and right results whenever
 * there are results. */
#include "tests/check/fault_fixture.h"
#include "tests/run_suite.h"

#include <stdio.h>
#include <string.h>

/* ---- a life ---- */

static const char source[] = "import triton, triton.language as tl\n"
                             "# tile: a warning, which variants keep\n"
                             "@triton.heuristics({'ODD': lambda args: args['n'] % 2 == 1})\n"
                             "@triton.jit(do_not_specialize=['m'])\n"
                             "def k(p: '*i32', n, m, ODD: tl.constexpr):\n"
                             "    tl.store(p, n * 2 + m if ODD else n + m)\n";

static const char tir[] =
    "// tilec manifest begin\n"
    "// {\"manifest\": 1, \"target\": \"cpu\", \"kernels\": [{\"name\": \"k\", \"entry\": \"k\",\n"
    "//  \"params\": [{\"name\": \"n\", \"type\": \"i32\"}], \"constexprs\": {}, \"num_warps\": "
    "4,\n"
    "//  \"num_stages\": 3, \"shared\": 0}]}\n"
    "// tilec manifest end\n"
    "kernel @k(%n: i32) num_warps=4 num_stages=3 {\n"
    "  return\n"
    "}\n";

static tile_status use_jit(tile_context *ctx, tile_ptr p, int odd) {
    static char padded[4096]; /* the option's source ends where it says */
    tile_grid one = {1, 1, 1};
    tile_jit *jit;
    memset(padded, '#', sizeof padded);
    memcpy(padded, source, sizeof source - 1);
    tile_compile_options o = {
        .source = padded, .source_len = sizeof source - 1, .file_name = "k.tl", .kernel = "k"};
    tile_status st = tile_jit_create(ctx, &o, folder, &jit);
    if (st) return st;
    for (int n = 2; n < 6 && !st; n++) {
        int32_t got = 0;
        tile_arg args[] = {tile_pointer(p), tile_i32(n + odd), tile_i32(7)};
        st = tile_jit_launch(jit, &one, args, 3, NULL);
        if (!st) st = tile_copy_to_host(ctx, &got, p, sizeof got);
        int v = n + odd;
        if (!st && got != (v % 2 ? v * 2 + 7 : v + 7)) wrong++; /* Check itself allocates */
    }
    tile_jit_destroy(jit);
    return st;
}

static tile_status use_bundle(tile_context *ctx) {
    tile_image images[] = {{"cpu", 0, "n > 5", tir, sizeof tir - 1},
                           {"sm_80", 0, NULL, "", 0},
                           {"cpu", 1, NULL, tir, sizeof tir - 1}};
    tile_grid one = {1, 1, 1};
    tile_bundle *b;
    tile_status st = tile_bundle_create(ctx, images, 3, &b);
    if (st) return st;
    for (int n = 0; n < 10 && !st; n += 9) {
        tile_arg arg = tile_i32(n);
        st = tile_bundle_launch(b, NULL, &one, &arg, 1, NULL);
    }
    tile_bundle_destroy(b);
    return st;
}

static tile_status live(void) {
    tile_context *ctx;
    tile_ptr p = 0;
    tile_status st = tile_context_create("cpu", &ctx);
    if (!st) st = tile_alloc(ctx, 4, &p);
    if (!st) st = use_jit(ctx, p, 0);
    if (!st) st = use_jit(ctx, p, 0); /* from disk */
    if (!st) st = use_jit(ctx, p, 1);
    if (!st) st = use_bundle(ctx);
    tile_context_destroy(ctx);
    return st;
}

static tile_status bind(void *user, tile_kernel *kernel, tile_arg *args, size_t *bytes) {
    (void)kernel;
    args[0] = tile_pointer(*(tile_ptr *)user);
    args[1] = tile_i32(64);
    bytes[0] = 64 * sizeof(int32_t);
    return TILE_OK;
}

static const char tuned_source[] =
    "import triton, triton.language as tl\n"
    "@triton.autotune(configs=[triton.Config({'B': b}) for b in [32, 64]], key=['n'])\n"
    "@triton.jit\n"
    "def k(p, n, B: tl.constexpr):\n"
    "    i = tl.program_id(0) * B + tl.arange(0, B)\n"
    "    tl.store(p + i, i, mask=i < n)\n";

/* One thread compiles, so that call number n is the same one each time. */
static tile_status tune(void) {
    tile_context *ctx;
    tile_tuning *t = NULL;
    tile_tuned best;
    tile_ptr p = 0;
    char path[sizeof folder + 16], message[200] = "";
    snprintf(path, sizeof path, "%s/tuning.json", folder);
    tile_compile_options c = {.source = tuned_source,
                              .source_len = sizeof tuned_source - 1,
                              .signature = "p=*i32:16,n=i32"};
    tile_tune_options o = {.compile = &c,
                           .grid = "cdiv(n, B)",
                           .bind = bind,
                           .user = &p,
                           .threads = 1,
                           .budget_ms = 1e-3,
                           .message = message,
                           .message_size = sizeof message};
    tile_status st = tile_context_create("cpu", &ctx);
    if (!st) st = tile_alloc(ctx, 64 * sizeof(int32_t), &p);
    if (!st) st = tile_tuning_open(path, &t);
    if (!st) {
        st = tile_tune(ctx, &o, t, &best);
        if (st && !message[0]) wrong++;
    }
    tile_tuning_close(t);
    tile_context_destroy(ctx);
    return st;
}

START_TEST(allocations) {
    every_call(live, ALLOCATION, TILE_NO_MEMORY);
}
END_TEST

/* The cache is never in the way. */
START_TEST(file_calls) {
    every_call(live, FILE_CALL, TILE_OK);
}
END_TEST

START_TEST(tuning_allocations) {
    every_call(tune, ALLOCATION, TILE_NO_MEMORY);
}
END_TEST

START_TEST(tuning_file_calls) {
    every_call(tune, FILE_CALL, TILE_IO);
}
END_TEST

int main(void) {
    Suite *s = suite_create("jit_faults");
    TCase *t = tcase_create("jit_faults");
    tcase_set_timeout(t, 300);
    tcase_add_test(t, allocations);
    tcase_add_test(t, file_calls);
    tcase_add_test(t, tuning_allocations);
    tcase_add_test(t, tuning_file_calls);
    return run_suite(s, t);
}
