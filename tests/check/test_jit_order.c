/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_jit_order.c: along which dimension the lanes of a warp go where that shows at the launch
 * alone: what the compiler makes of the values it is told, what it says that it went by, and which
 * variants tile_jit makes of that, on the fake driver. */
#include "compiler/compile.h"
#include "tests/run_suite.h"
#include "tests/scratch.h"
#include "tile.h"

#include <check.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Strides a and b of 32 x 64 elements; n is no stride. */
#define KERNEL(decorator)                                                                          \
    "import triton\nimport triton.language as tl\n"                                                \
    "@triton.jit" decorator "\n"                                                                   \
    "def k(x: '*fp16:16', a, b, n):\n"                                                             \
    "    i = tl.arange(0, 32)[:, None]\n"                                                          \
    "    j = tl.arange(0, 64)[None, :]\n"                                                          \
    "    p = x + i * a + j * b\n"                                                                  \
    "    tl.store(p, tl.load(p, mask=i < n) + 1, mask=i < n)\n"

/* ---- what the compiler makes of values ---- */

typedef enum Walk { COLUMNS, ROWS } Walk; /* which index neighbouring lanes count up */

typedef struct Told {
    const char *signature, *a, *b;
    Walk walk;
    int asked; /* of each of a and b */
} Told;

static void check_told(const char *text, const Told *row) {
    const char *values[] = {"n=100", row->a, row->b};
    uint8_t asked[3] = {0};
    tile_compile_options o = {.source = text,
                              .source_len = strlen(text),
                              .signature = row->signature,
                              .emit = TILE_EMIT_LAYOUT,
                              .values = values,
                              .nvalues = row->a ? 3 : 1};
    tile_compiled *c;
    tile_status st = compile_noting(&o, asked, &c);
    ck_assert_msg(st == TILE_OK, "%s", tile_compiled_text(c, TILE_PART_DIAGNOSTICS, NULL));
    const char *tir = tile_compiled_text(c, TILE_PART_OUTPUT, NULL);
    const char *load = strstr(tir, "f16[32,64]@L"), *at;
    char layout[40];
    ck_assert_ptr_nonnull(load);
    snprintf(layout, sizeof layout, "layout @L%d reg=", atoi(load + strlen("f16[32,64]@L")));
    ck_assert_ptr_nonnull(at = strstr(tir, layout));
    ck_assert_ptr_nonnull(at = strstr(at, " lane=["));
    bool wide = row->signature && strstr(row->signature, ":1");
    int lane = atoi(at + strlen(" lane=["));
    ck_assert_msg(wide || lane == (row->walk == ROWS ? 64 : 1), "%s %s: lanes walk by %d", row->a,
                  row->b, lane);
    ck_assert_int_eq(asked[0], 0);
    ck_assert_int_eq(asked[1], row->asked);
    ck_assert_int_eq(asked[2], row->asked);
    tile_compiled_free(c);
}

START_TEST(sizes_decide_the_order) {
    static const char plain[] = "a=i32,b=i32,n=i32", wide[] = "a=i64,b=i64,n=i32";
    static const Told row[] = {
        {plain, NULL, NULL, COLUMNS, 0},
        {plain, "a=3", "b=1001", ROWS, SIZE_ASKED},
        {wide, "a=3", "b=1001", ROWS, SIZE_ASKED},
        {plain, "a=-3", "b=1001", ROWS, SIZE_ASKED},
        {"a=i32,b=u64,n=i32", "a=3", "b=18446744073709551615", ROWS, SIZE_ASKED},
        {plain, "a=15", "b=17", ROWS, SIZE_ASKED},
        {plain, "a=1001", "b=3", COLUMNS, SIZE_ASKED},
        {plain, "a=1001", "b=1003", COLUMNS, SIZE_ASKED},
        {plain, "a=2", "b=3", COLUMNS, SIZE_ASKED},
        {"a=i32:8,b=i32,n=i32", "a=8", "b=1001", ROWS, SIZE_ASKED},
        /* Who knows which stride is 1 asks for no sizes. */
        {"a=i32:1,b=i32,n=i32", "a=1", "b=1001", ROWS, 0},
        {"a=i32,b=i32:1,n=i32", "a=1001", "b=1", COLUMNS, 0},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) check_told(KERNEL(""), &row[i]);
    static const Told unheard = {plain, "a=3", "b=1001", COLUMNS, 0};
    check_told(KERNEL("(do_not_specialize=['a', 'b'])"), &unheard);
}
END_TEST

/* A heuristic that knows the value knows its size. */
START_TEST(values_and_sizes_are_told_apart) {
    static const char text[] = "import triton\nimport triton.language as tl\n"
                               "@triton.heuristics({'EVEN': lambda args: args['a'] % 2 == 0})\n"
                               "@triton.jit\n"
                               "def k(x: '*fp16:16', a: 'i32', b: 'i32', n: 'i32', EVEN: "
                               "tl.constexpr):\n"
                               "    p = x + tl.arange(0, 32)[:, None] * a\n"
                               "    tl.store(p + tl.arange(0, 64)[None, :] * b, n)\n";
    const char *values[] = {"a=3", "b=1001", "n=5"};
    uint8_t asked[3] = {0};
    tile_compile_options o = {
        .source = text, .source_len = strlen(text), .values = values, .nvalues = 3};
    for (int lowered = 0; lowered < 2; lowered++) {
        tile_compiled *c;
        o.emit = lowered ? TILE_EMIT_TIR : TILE_EMIT_PTX;
        memset(asked, 0, sizeof asked);
        ck_assert_int_eq(compile_noting(&o, asked, &c), TILE_OK);
        ck_assert_int_eq(asked[0], lowered ? VALUE_ASKED : VALUE_ASKED | SIZE_ASKED);
        ck_assert_int_eq(asked[1], lowered ? 0 : SIZE_ASKED);
        ck_assert_int_eq(asked[2], 0);
        tile_compiled_free(c);
    }
}
END_TEST

/* ---- variants ---- */

static tile_context *ctx;
static char folder[SCRATCH_SIZE];

/* The context's dlopen finds the library of that name that is there. */
static void open_fake(void) {
    ck_assert_msg(dlopen(TILE_BINARY_DIR "/tests/fake/libcuda.so.1", RTLD_NOW) != NULL, "%s",
                  dlerror());
    ck_assert_ptr_nonnull(mkdtemp(scratch(folder, "tile-jit-order")));
    ck_assert_int_eq(tile_context_create("cuda", &ctx), TILE_OK);
}

static void close_fake(void) {
    tile_context_destroy(ctx);
    scratch_empty(folder);
    rmdir(folder);
}

static tile_kernel *variant(tile_jit *jit, int64_t a, int64_t b, int n) {
    tile_arg args[] = {tile_pointer(256), tile_i64(a), tile_i64(b), tile_i32(n)};
    tile_kernel *k;
    ck_assert_msg(tile_jit_kernel(jit, args, 4, &k) == TILE_OK, "%s", tile_error(ctx));
    return k;
}

static void check_counts(const tile_jit *jit, int variants, int from_disk) {
    int v, d;
    tile_jit_counts(jit, &v, &d);
    ck_assert_int_eq(v, variants);
    ck_assert_int_eq(d, from_disk);
}

static tile_jit *jit_of(const char *text) {
    tile_compile_options o = {.source = text, .source_len = strlen(text)};
    tile_jit *jit;
    ck_assert_msg(tile_jit_create(ctx, &o, folder, &jit) == TILE_OK, "%s", tile_error(ctx));
    return jit;
}

/* Two strides make four variants by their sizes at most, in memory and on disk. */
START_TEST(sizes_make_few_variants) {
    for (int pass = 0; pass < 2; pass++) {
        tile_jit *jit = jit_of(KERNEL(""));
        tile_kernel *rows = variant(jit, 3, 1001, 7), *columns = variant(jit, 1001, 3, 7);
        ck_assert_ptr_ne(rows, columns);
        check_counts(jit, 2, pass ? 2 : 0);
        for (int i = 2; i < 8; i++) {
            ck_assert_ptr_eq(variant(jit, i, 1001 + 2 * i, 99), rows);
            ck_assert_ptr_eq(variant(jit, 1001 + 2 * i, i, 3), columns);
        }
        check_counts(jit, 2, pass ? 2 : 0);
        for (int a = 17; a < 24; a++)
            for (int b = 2; b < 24; b++) variant(jit, a, b == 8 || b == 16 ? 9 : b, 7);
        check_counts(jit, 3, pass ? 3 : 0);
        variant(jit, 5, 6, 7);
        variant(jit, 6, 5, 9);
        check_counts(jit, 4, pass ? 4 : 0);
        tile_jit_destroy(jit);
    }
}
END_TEST

START_TEST(do_not_specialize_asks_no_sizes) {
    tile_jit *jit = jit_of(KERNEL("(do_not_specialize=['a', 'b'])"));
    tile_kernel *k = variant(jit, 3, 1001, 7);
    ck_assert_ptr_eq(variant(jit, 1001, 3, 7), k);
    ck_assert_ptr_eq(variant(jit, 1, 64, 7), k);
    check_counts(jit, 1, 0);
    tile_jit_destroy(jit);
}
END_TEST

int main(void) {
    Suite *s = suite_create("jit order");
    TCase *t = tcase_create("compiler");
    tcase_add_test(t, sizes_decide_the_order);
    tcase_add_test(t, values_and_sizes_are_told_apart);
    suite_add_tcase(s, t);
    t = tcase_create("fake");
    tcase_add_checked_fixture(t, open_fake, close_fake);
    tcase_set_timeout(t, 300);
    tcase_add_test(t, sizes_make_few_variants);
    tcase_add_test(t, do_not_specialize_asks_no_sizes);
    return run_suite(s, t);
}
