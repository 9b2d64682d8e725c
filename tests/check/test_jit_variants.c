/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_jit_variants.c: how many variants tile_jit makes of a kernel, and for which arguments, on
 * the CPU device: multiples of 8, ones of every width, and the limits. */
#include "tests/run_suite.h"
#include "tile.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

static tile_context *ctx;
static tile_jit *jit;

static void open_cpu(void) {
    ck_assert_int_eq(tile_context_create("cpu", &ctx), TILE_OK);
    jit = NULL;
}

static void close_cpu(void) {
    tile_jit_destroy(jit);
    tile_context_destroy(ctx);
}

static void created(const char *text) {
    tile_compile_options o = {.source = text, .source_len = strlen(text), .file_name = "k.tl"};
    ck_assert_msg(tile_jit_create(ctx, &o, "", &jit) == TILE_OK, "%s", tile_error(ctx));
}

static int count(void) {
    int variants;
    tile_jit_counts(jit, &variants, NULL);
    return variants;
}

/* ---- what an argument's value makes of its parameter ---- */

typedef struct Kept {
    tile_arg arg;
    int divisible, is_one;
} Kept;

static void check_kept(const char *decorator, const Kept *row, size_t n) {
    char text[300];
    snprintf(text, sizeof text, "import triton\n@triton.jit%s\ndef k(a):\n    pass\n", decorator);
    created(text);
    for (size_t i = 0; i < n; i++) {
        tile_kernel *k;
        tile_kernel_param p;
        tile_status st = tile_jit_kernel(jit, &row[i].arg, 1, &k);
        ck_assert_msg(st == TILE_OK, "%s: row %zu: %s", decorator, i, tile_error(ctx));
        tile_kernel_get_param(k, 0, &p);
        ck_assert_msg(p.divisible == row[i].divisible && p.has_equals == row[i].is_one,
                      "%s: row %zu: divisible by %d, %s", decorator, i, (int)p.divisible,
                      p.has_equals ? "one" : "not one");
        tile_grid one = {1, 1, 1};
        ck_assert_int_eq(tile_launch(k, &one, &row[i].arg, 1, NULL), TILE_OK);
    }
    tile_jit_destroy(jit);
    jit = NULL;
}

static tile_arg number(tile_type type, int64_t v) {
    return (tile_arg){.type = type, .value.i = v};
}

#define ROWS(row) (row), sizeof(row) / sizeof *(row)

START_TEST(promises_are_the_strongest_that_hold) {
    for (tile_type t = TILE_I8; t <= TILE_U64; t++) {
        Kept row[] = {{number(t, 0), 16, 0},  {number(t, 1), 1, 1},   {number(t, 2), 1, 0},
                      {number(t, 8), 8, 0},   {number(t, 16), 16, 0}, {number(t, 24), 8, 0},
                      {number(t, 100), 1, 0}, {number(t, 112), 16, 0}};
        check_kept("", ROWS(row));
    }
    Kept large[] = {{tile_i64(INT64_C(1) << 40), 16, 0},
                    {tile_i64((INT64_C(1) << 40) + 8), 8, 0},
                    {tile_i64((INT64_C(1) << 40) + 1), 1, 0},
                    {tile_i64(-8), 8, 0},
                    {tile_i64(-1), 1, 0}};
    check_kept("", ROWS(large));
    Kept view[] = {{tile_typed_pointer(TILE_FP16, 256), 16, 0},
                   {tile_typed_pointer(TILE_FP16, 264), 8, 0},
                   {tile_typed_pointer(TILE_FP16, 260), 1, 0}};
    check_kept("", ROWS(view));
    Kept none[] = {{{.type = TILE_I1, .value.i = 1}, 1, 0}, {tile_f32(8), 1, 0}};
    check_kept("", ROWS(none));
}
END_TEST

/* As Triton has it: without regard to alignment a one is still a one. */
START_TEST(do_not_specialize_leaves_out) {
    Kept any_value[] = {{tile_i64(1), 1, 0}, {tile_i64(8), 1, 0}, {tile_i64(16), 1, 0}};
    check_kept("(do_not_specialize=['a'])", ROWS(any_value));
    check_kept("(do_not_specialize=[0])", ROWS(any_value));
    Kept any_alignment[] = {{tile_i64(1), 1, 1},
                            {tile_i64(8), 1, 0},
                            {tile_i64(16), 1, 0},
                            {tile_typed_pointer(TILE_FP32, 8), 1, 0}};
    check_kept("(do_not_specialize_on_alignment=['a'])", ROWS(any_alignment));
}
END_TEST

/* Of six integers, in all combinations of four kinds. */
static tile_status launch_kinds(int kinds) {
    static const int of_kind[] = {1, 16, 7, 8};
    tile_arg args[6];
    for (int i = 0; i < 6; i++) args[i] = tile_i32(of_kind[kinds >> 2 * i & 3]);
    tile_grid one = {1, 1, 1};
    return tile_jit_launch(jit, &one, args, 6, NULL);
}

/* Beyond 64 variants there are those of Triton alone: three kinds. */
START_TEST(fine_variants_are_few) {
    enum { FINE = 64, ALL = 4 * 4 * 4 * 4 * 4 * 4, TRITONS = 3 * 3 * 3 * 3 * 3 * 3 };
    created("import triton\n@triton.jit\ndef k(a, b, c, d, e, f):\n    pass\n");
    for (int pass = 0; pass < 2; pass++)
        for (int i = ALL - 1; i >= 0; i--) {
            ck_assert_msg(launch_kinds(i) == TILE_OK, "%s", tile_error(ctx));
            if (!pass && i >= ALL - FINE) ck_assert_int_eq(count(), ALL - i);
        }
    ck_assert_int_gt(count(), FINE);
    ck_assert_int_le(count(), TRITONS + FINE);
}
END_TEST

/* What an annotation promises is kept, however many there are. */
START_TEST(annotated_promises_hold_in_all) {
    static const char text[] =
        "import triton\nimport triton.language as tl\n"
        "@triton.heuristics({'N': lambda args: args['n']})\n"
        "@triton.jit\ndef k(n, eight: 'i32:8', other, N: tl.constexpr):\n    pass\n";
    tile_compile_options o = {.source = text, .source_len = strlen(text), .annotations_hold = 1};
    ck_assert_int_eq(tile_jit_create(ctx, &o, "", &jit), TILE_OK);
    tile_grid one = {1, 1, 1};
    for (int n = 2; n < 200; n++) {
        tile_arg args[] = {tile_i32(2 * n + 1), tile_i32(8 * n), tile_i32(24)};
        tile_kernel *k;
        tile_kernel_param p;
        tile_status st = tile_jit_kernel(jit, args, 3, &k);
        if (!st) st = tile_launch(k, &one, args, 3, NULL);
        ck_assert_msg(st == TILE_OK, "%s", tile_error(ctx));
        tile_kernel_get_param(k, 1, &p);
        ck_assert_int_eq(p.divisible, n % 2 ? 8 : 16);
        tile_kernel_get_param(k, 2, &p);
        ck_assert_int_eq(p.divisible, n < 66 ? 8 : 1);
    }
}
END_TEST

static tile_status launch_n(int n) {
    tile_grid one = {1, 1, 1};
    tile_arg arg = tile_i32(n);
    return tile_jit_launch(jit, &one, &arg, 1, NULL);
}

START_TEST(variants_have_a_limit) {
    enum { MOST = 4096 };
    created("import triton\nimport triton.language as tl\n"
            "@triton.heuristics({'N': lambda args: args['n']})\n"
            "@triton.jit\ndef k(n, N: tl.constexpr):\n    pass\n");
    for (int n = 1; n <= MOST; n++) ck_assert_msg(launch_n(n) == TILE_OK, "%s", tile_error(ctx));
    for (int again = 0; again < 2; again++) {
        ck_assert_int_eq(launch_n(MOST + 1), TILE_BAD_LAUNCH);
        ck_assert_msg(strstr(tile_error(ctx), "kernel 'k' has 4096 variants, the most that") !=
                          NULL,
                      "%s", tile_error(ctx));
    }
    ck_assert_int_eq(launch_n(MOST), TILE_OK);
    ck_assert_int_eq(count(), MOST);
}
END_TEST

int main(void) {
    Suite *s = suite_create("jit variants");
    TCase *t = tcase_create("cpu");
    tcase_add_checked_fixture(t, open_cpu, close_cpu);
    tcase_set_timeout(t, 1200);
    tcase_add_test(t, promises_are_the_strongest_that_hold);
    tcase_add_test(t, do_not_specialize_leaves_out);
    tcase_add_test(t, fine_variants_are_few);
    tcase_add_test(t, annotated_promises_hold_in_all);
    tcase_add_test(t, variants_have_a_limit);
    return run_suite(s, t);
}
