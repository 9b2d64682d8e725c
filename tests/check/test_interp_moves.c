/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_interp_moves.c: the interpreter's operations that put elements elsewhere (join, split,
 * gather), count them (histogram), or check promises about them (hint): against plain C, over every
 * axis, and each check shown to find what is planted and to be silent where nothing is. */
#include "interp_fixture.h"

/* `%v: i32[n]`, loaded from `data`, becomes `%w: i32[nresult]`, stored to `result`. */
static void text_of(char *text, size_t size, const char *body, int n, int nresult) {
    snprintf(text, size,
             "kernel @k(%%x: ptr<i32>, %%y: ptr<i32>) {\n"
             "  %%r: i32[%d] = arange start=0 end=%d\n  %%xs: ptr<i32>[%d] = splat %%x\n"
             "  %%xp: ptr<i32>[%d] = addptr %%xs, %%r\n  %%v: i32[%d] = load %%xp\n%s"
             "  %%rr: i32[%d] = arange start=0 end=%d\n  %%ys: ptr<i32>[%d] = splat %%y\n"
             "  %%yp: ptr<i32>[%d] = addptr %%ys, %%rr\n  store %%yp, %%w\n  return\n}\n",
             n, n, n, n, n, body, nresult, nresult, nresult, nresult);
}

static Fixture tile_fixture(int *data, int n, int *result, int nresult) {
    Fixture f = fixture();
    give_buffer(&f, "x", data, (size_t)n * sizeof *data, NULL);
    give_buffer(&f, "y", result, (size_t)nresult * sizeof *result, NULL);
    return f;
}

static void run_tile(const char *body, int *data, int n, int *result, int nresult) {
    char text[4096];
    text_of(text, sizeof text, body, n, nresult);
    Fixture f = tile_fixture(data, n, result, nresult);
    f.checks = CHECK_ALL & ~(unsigned)CHECK_UNDEFINED; /* what is no bin counts nowhere */
    expect_ok(&f, text);
}

static void fail_tile(const char *body, int *data, int n, int nresult, const char *part) {
    char text[4096];
    int result[256];
    text_of(text, sizeof text, body, n, nresult);
    Fixture f = tile_fixture(data, n, result, nresult);
    expect_error(&f, text, part);
}

static void fill(int *data, int n) {
    for (int i = 0; i < n; i++) data[i] = i * 37 % 101;
}

START_TEST(join_interleaves_along_a_new_dimension) {
    int data[32], got[64];
    fill(data, 32);
    run_tile("  %n: i32[32] = neg %v\n  %a: i32[4,8] = reshape %v\n  %b: i32[4,8] = reshape %n\n"
             "  %j: i32[4,8,2] = join %a, %b\n  %w: i32[64] = reshape %j\n",
             data, 32, got, 64);
    for (int i = 0; i < 64; i++) ck_assert_int_eq(got[i], i % 2 ? -data[i / 2] : data[i / 2]);
}
END_TEST

START_TEST(split_takes_the_halves_apart) {
    int data[64], got[32];
    fill(data, 64);
    run_tile("  %t: i32[4,8,2] = reshape %v\n  %a: i32[4,8], %b: i32[4,8] = split %t\n"
             "  %k: i32 = const value=1000\n  %ks: i32[4,8] = splat %k\n"
             "  %ka: i32[4,8] = mul %a, %ks\n  %s: i32[4,8] = add %ka, %b\n"
             "  %w: i32[32] = reshape %s\n",
             data, 64, got, 32);
    for (int i = 0; i < 32; i++) ck_assert_int_eq(got[i], data[2 * i] * 1000 + data[2 * i + 1]);
}
END_TEST

START_TEST(scalars_are_joined_and_split) {
    int data[2] = {11, 31}, got[1];
    run_tile("  %a: i32, %b: i32 = split %v\n  %j: i32[2] = join %b, %a\n"
             "  %c: i32, %d: i32 = split %j\n  %e: i32 = sub %c, %d\n  %w: i32[1] = splat %e\n",
             data, 2, got, 1);
    ck_assert_int_eq(got[0], 20);
}
END_TEST

START_TEST(gather_takes_along_any_axis) {
    enum { D0 = 2, D1 = 4, D2 = 8, ALL = D0 * D1 * D2 };
    int data[ALL], got[ALL];
    fill(data, ALL);
    for (int axis = 0; axis < 3; axis++) {
        int dims[] = {D0, D1, D2}, inner = axis == 0 ? D1 * D2 : axis == 1 ? D2 : 1;
        char body[1024];
        snprintf(body, sizeof body,
                 "  %%t: i32[2,4,8] = reshape %%v\n  %%k: i32 = const value=%d\n"
                 "  %%ks: i32[64] = splat %%k\n  %%m: i32[64] = and %%v, %%ks\n"
                 "  %%i: i32[2,4,8] = reshape %%m\n  %%g: i32[2,4,8] = gather %%t, %%i axis=%d\n"
                 "  %%w: i32[64] = reshape %%g\n",
                 dims[axis] - 1, axis);
        run_tile(body, data, ALL, got, ALL);
        for (int i = 0; i < ALL; i++) {
            int at = i / inner % dims[axis], want = data[i] & (dims[axis] - 1);
            ck_assert_int_eq(got[i], data[i + (want - at) * inner]);
        }
    }
}
END_TEST

START_TEST(gather_may_be_longer_or_shorter_than_its_source) {
    int data[8] = {3, 1, 4, 1, 5, 9, 2, 6}, got[16];
    run_tile("  %i: i32[16] = arange start=0 end=16\n  %k: i32 = const value=1\n"
             "  %ks: i32[16] = splat %k\n  %h: i32[16] = shr %i, %ks\n"
             "  %w: i32[16] = gather %v, %h axis=0\n",
             data, 8, got, 16);
    for (int i = 0; i < 16; i++) ck_assert_int_eq(got[i], data[i / 2]);
    run_tile("  %i: i32[2] = arange start=5 end=7\n  %w: i32[2] = gather %v, %i axis=0\n", data, 8,
             got, 2);
    ck_assert(got[0] == 9 && got[1] == 2);
}
END_TEST

START_TEST(gather_finds_indices_outside) {
    int data[8] = {0, 7, 1, 6, 2, 8, 3, 4};
    fail_tile(
        "  %w: i32[8] = gather %v, %v axis=0 @7:9-30\n", data, 8, 8,
        "test:7:9: error: gather index 8 is outside 0…7 in program (0, 0, 0), tile index [5]");
    data[5] = -1;
    fail_tile("  %w: i32[8] = gather %v, %v axis=0\n", data, 8, 8,
              "gather index -1 is outside 0…7");
}
END_TEST

START_TEST(histogram_counts_what_is_in_range) {
    int data[64], got[16], want[16] = {0};
    for (int i = 0; i < 64; i++) data[i] = i * i % 23 - 2;
    for (int i = 0; i < 64; i++)
        if (data[i] >= 0 && data[i] < 16) want[data[i]]++;
    run_tile("  %w: i32[16] = histogram %v\n", data, 64, got, 16);
    ck_assert_mem_eq(got, want, sizeof got);
}
END_TEST

START_TEST(histogram_leaves_masked_elements_out) {
    int data[64], got[8], want[8] = {0};
    for (int i = 0; i < 64; i++) data[i] = i % 8;
    for (int i = 0; i < 41; i++) want[i % 8]++;
    run_tile("  %k: i32 = const value=41\n  %ks: i32[64] = splat %k\n"
             "  %m: i1[64] = cmp %r, %ks pred=lt\n  %w: i32[8] = histogram %v, %m\n",
             data, 64, got, 8);
    ck_assert_mem_eq(got, want, sizeof got);
}
END_TEST

/* ---- hints ---- */

START_TEST(hints_that_hold_change_nothing) {
    int data[16], got[16];
    for (int i = 0; i < 16; i++) data[i] = 32 + i + (i / 8) * 24; /* two runs of eight */
    run_tile("  %w: i32[16] = hint %v contiguous=[3] divisible=[5]\n", data, 16, got, 16);
    ck_assert_mem_eq(got, data, sizeof got);
    for (int i = 0; i < 16; i++) data[i] = i / 4 * 3;
    run_tile("  %w: i32[16] = hint %v constant=[2]\n", data, 16, got, 16);
    ck_assert_mem_eq(got, data, sizeof got);
    for (int i = 0; i < 16; i++) data[i] = i / 4 * 16 + i % 4;
    run_tile("  %t: i32[4,4] = reshape %v\n"
             "  %h: i32[4,4] = hint %t contiguous=[0,2] divisible=[0,4]\n"
             "  %w: i32[16] = reshape %h\n",
             data, 16, got, 16);
    ck_assert_mem_eq(got, data, sizeof got);
}
END_TEST

START_TEST(hints_that_do_not_hold_are_found) {
    int data[16];
    for (int i = 0; i < 16; i++) data[i] = 8 + i;
    fail_tile("  %w: i32[16] = hint %v divisible=[4] @9:5-20\n", data, 16, 16,
              "test:9:5: error: multiple_of(16) does not hold: the element is 8 in program (0, 0, "
              "0), tile index [0]");
    data[11] = 50;
    fail_tile("  %w: i32[16] = hint %v constant=[1]\n", data, 16, 16,
              "max_constancy(2) does not hold: the element is 9");
    data[0] = 7;
    fail_tile("  %a: i32[1,16] = reshape %v\n  %h: i32[1,16] = hint %a divisible=[0,1]\n"
              "  %w: i32[16] = reshape %h\n",
              data, 16, 16, "multiple_of(2) does not hold: the element is 7");
}
END_TEST

START_TEST(hints_of_scalars_and_pointers) {
    static int data[16], out[16];
    char text[1024];
    snprintf(text, sizeof text,
             "kernel @k(%%x: ptr<i32>, %%n: i32, %%y: ptr<i32>) {\n"
             "  %%m: i32 = hint %%n divisible=[3]\n  %%r: i32[16] = arange start=0 end=16\n"
             "  %%xs: ptr<i32>[16] = splat %%x\n  %%p: ptr<i32>[16] = addptr %%xs, %%r\n"
             "  %%h: ptr<i32>[16] = hint %%p contiguous=[4] divisible=[2]\n"
             "  %%v: i32[16] = load %%h\n  %%ys: ptr<i32>[16] = splat %%y\n"
             "  %%q: ptr<i32>[16] = addptr %%ys, %%r\n  store %%q, %%v\n  return\n}\n");
    for (int n = 23; n <= 24; n++) {
        Fixture f = fixture();
        fill(data, 16);
        give_buffer(&f, "x", data, sizeof data, NULL);
        give_int(&f, n);
        give_buffer(&f, "y", out, sizeof out, NULL);
        if (n % 8)
            expect_error(
                &f, text,
                "multiple_of(8) does not hold: the element is 23 in program (0, 0, 0) [C0012]\n");
        else
            expect_ok(&f, text);
    }
    ck_assert_mem_eq(out, data, sizeof out);
}
END_TEST

int main(void) {
    Suite *s = suite_create("interp_moves");
    TCase *t = tcase_create("moves");
    tcase_add_test(t, join_interleaves_along_a_new_dimension);
    tcase_add_test(t, split_takes_the_halves_apart);
    tcase_add_test(t, scalars_are_joined_and_split);
    tcase_add_test(t, gather_takes_along_any_axis);
    tcase_add_test(t, gather_may_be_longer_or_shorter_than_its_source);
    tcase_add_test(t, gather_finds_indices_outside);
    tcase_add_test(t, histogram_counts_what_is_in_range);
    tcase_add_test(t, histogram_leaves_masked_elements_out);
    tcase_add_test(t, hints_that_hold_change_nothing);
    tcase_add_test(t, hints_that_do_not_hold_are_found);
    tcase_add_test(t, hints_of_scalars_and_pointers);
    suite_add_tcase(s, t);
    return run_suite(s);
}
