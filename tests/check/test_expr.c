/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_expr.c: base/expr: values, Python's division, overflow, errors with their place. */
#include "base/expr.h"
#include "tests/run_suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static ExprName look_up(void *ctx, const char *name, size_t len, int64_t *value) {
    (void)ctx;
    if (len == 1 && *name == 'M') return *value = 1000, EXPR_KNOWN;
    if (len == 2 && memcmp(name, "BM", 2) == 0) return *value = 64, EXPR_KNOWN;
    if (len == 3 && memcmp(name, "ACT", 3) == 0) return EXPR_NOT_INTEGER;
    return EXPR_UNKNOWN;
}

static const struct {
    const char *text;
    int64_t value;
} good[] = {
    {"1", 1},
    {" 1_000 ", 1000},
    {"2 + 3 * 4", 14},
    {"(2 + 3) * 4", 20},
    {"10 - 4 - 3", 3},
    {"M", 1000},
    {"cdiv(M, BM)", 16},
    {"cdiv(M, BM) * cdiv(M, BM)", 256},
    {"triton.cdiv(M, 500)", 2},
    {"tl.cdiv(M - 1, 500)", 2},
    {"cdiv(1001, 500)", 3},
    {"cdiv(0, 5)", 0},
    {"7 // 2", 3},
    {"-7 // 2", -4},
    {"7 // -2", -4},
    {"-7 // -2", 3},
    {"7 % 3", 1},
    {"-7 % 3", 2},
    {"7 % -3", -2},
    {"8 / 2", 4},
    {"min(3, 2, 5)", 2},
    {"max(3, M)", 1000},
    {"- - 3", 3},
    {"+3", 3},
    {"9223372036854775807", INT64_MAX},
    {"-9223372036854775807 - 1", INT64_MIN},
};

START_TEST(values) {
    ExprError e;
    int64_t v = 0;
    ck_assert_msg(expr_eval(good[_i].text, strlen(good[_i].text), look_up, NULL, &v, &e), "%s: %s",
                  good[_i].text, e.text);
    ck_assert_msg(v == good[_i].value, "%s gives %lld", good[_i].text, (long long)v);
}
END_TEST

static const struct {
    const char *text, *error;
    size_t at;
} bad[] = {
    {"", "ends here", 0},
    {"1 +", "ends here", 3},
    {"1 2", "unexpected '2'", 2},
    {"1 \x13", "unexpected byte 0x13", 2},
    {"(1", "expected ')'", 2},
    {"N * 2", "unknown name 'N'", 0},
    {"2 * ACT", "'ACT' is not an integer", 4},
    {"1 // 0", "division by zero", 2},
    {"1 % 0", "division by zero", 2},
    {"cdiv(1, 0)", "division by zero", 0},
    {"7 / 2", "not an integer", 2},
    {"9223372036854775808", "too large", 0},
    {"9223372036854775807 + 1", "too large", 20},
    {"-9223372036854775807 - 2", "too large", 21},
    {"4294967296 * 4294967296", "too large", 11},
    {"(-9223372036854775807 - 1) // -1", "too large", 27},
    {"-(-9223372036854775807 - 1)", "too large", 0},
    {"cdiv(1)", "2 arguments", 0},
    {"cdiv(1, 2, 3)", "2 arguments", 0},
    {"min(1)", "2 arguments", 0},
    {"ceil(1, 2)", "no function 'ceil'", 0},
    {"1.5", "integer", 0},
    {"1e5", "integer", 0},
    {"$", "expected a number", 0},
    {"1, 2", "more than 1", 3},
};

START_TEST(errors) {
    ExprError e = {0};
    int64_t v;
    ck_assert(!expr_eval(bad[_i].text, strlen(bad[_i].text), look_up, NULL, &v, &e));
    ck_assert_msg(strstr(e.text, bad[_i].error), "%s: %s", bad[_i].text, e.text);
    ck_assert_msg(e.at == bad[_i].at, "%s: at %zu", bad[_i].text, e.at);
}
END_TEST

START_TEST(lists) {
    ExprError e;
    int64_t v[3];
    ck_assert_int_eq(expr_eval_list("1, M , 3", 8, look_up, NULL, v, 3, &e), 3);
    ck_assert_int_eq(v[0], 1);
    ck_assert_int_eq(v[1], 1000);
    ck_assert_int_eq(v[2], 3);
    ck_assert_int_eq(expr_eval_list("5,", 2, NULL, NULL, v, 3, &e), 1);
    ck_assert_int_eq(expr_eval_list("1,2,3,4", 7, NULL, NULL, v, 3, &e), -1);
    ck_assert_int_eq(expr_eval_list("1,,2", 4, NULL, NULL, v, 3, &e), -1);
}
END_TEST

static ExprName slots(void *ctx, const char *name, size_t len, int64_t *value) {
    (void)ctx;
    if (len != 1 || *name < 'a' || *name > 'c') return EXPR_UNKNOWN;
    *value = *name - 'a';
    return EXPR_SLOT;
}

static int64_t slot_value(const void *ctx, int64_t number) {
    return ((const int64_t *)ctx)[number];
}

/* Compiled once, run with other values; what fails depends on them. */
START_TEST(kept_code) {
    static const char text[] = "cdiv(a, b) * c, a // (b - 1), -c";
    ExprOp op[32];
    ExprError e;
    int64_t v[3];
    int n = expr_compile(text, strlen(text), slots, NULL, op, 32, 3, &e);
    ck_assert_msg(n > 0, "%s", e.text);
    ck_assert_int_eq(expr_run(op, n, slot_value, (int64_t[]){10, 4, 7}, v, &e), 3);
    ck_assert(v[0] == 21 && v[1] == 3 && v[2] == -7);
    ck_assert_int_eq(expr_run(op, n, slot_value, (int64_t[]){-9, 2, 1}, v, &e), 3);
    ck_assert(v[0] == -4 && v[1] == -9 && v[2] == -1);
    ck_assert_int_eq(expr_run(op, n, slot_value, (int64_t[]){1, 1, 1}, v, &e), -1);
    ck_assert_str_eq(e.text, "division by zero");
    ck_assert_uint_eq(e.at, 18);
    for (int room = 0; room < n; room++) {
        ck_assert_int_eq(expr_compile(text, strlen(text), slots, NULL, op, room, 3, &e), -1);
        ck_assert_ptr_nonnull(strstr(e.text, "more than"));
    }
    /* The deepest nesting that is allowed fits the stack of running. */
    char deep[600] = "";
    for (int i = 0; i < EXPR_MAX_DEPTH - 2; i++) strcat(deep, "1+1*(");
    strcat(deep, "1");
    for (int i = 0; i < EXPR_MAX_DEPTH - 2; i++) strcat(deep, ")");
    ck_assert(expr_eval(deep, strlen(deep), NULL, NULL, v, &e));
    ck_assert_int_eq(v[0], EXPR_MAX_DEPTH - 1);
}
END_TEST

/* Nesting has a limit, whichever way it nests, and the text's length is believed. */
/* 1: all hold, 0: not all, -1: an error */
START_TEST(conditions) {
    static const struct {
        const char *text;
        int holds;
    } row[] = {
        {"M == 1000", 1},    {"M != 1000", 0},
        {"M >= 1000", 1},    {"M<1000", 0},
        {"M > 999", 1},      {"M <= 999", 0},
        {"3<4", 1},          {"M % 8 == 0, BM < M", 1},
        {"M < 5, M > 5", 0}, {"cdiv(M, BM) == 16", 1},
        {"M", -1},           {"M = 3", -1},
        {"M == ", -1},       {"M == 1000,", -1},
        {"Q > 1", -1},       {"ACT == 1", -1},
        {"1 < 2 < 3", -1},   {"", -1},
        {"M / 0 > 1", -1},   {"1 == 1)", -1},
        {"M ~ 7", 1},        {"M ~ 7, M < 5", 0},
        {"M ~", -1},         {"Q ~ 1", -1},
        {"M ~ 1 ~ 2", -1},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        ExprVerdict v;
        ExprError e = {0};
        bool ok = expr_judge(row[i].text, strlen(row[i].text), look_up, NULL, &v, &e);
        ck_assert_msg((ok ? v.holds : -1) == row[i].holds, "%s: %s", row[i].text, e.text);
        ck_assert_int_eq(ok, e.text[0] == '\0');
        ck_assert_int_eq(e.of_value, strstr(row[i].text, "/ 0") != NULL);
    }
}
END_TEST

/* How far sizes are from what a condition names. */
START_TEST(distances) {
    static const struct {
        const char *text;
        double doublings; /* -1: no size is named */
    } row[] = {{"M == 1000", -1},         {"M ~ 1000", 0}, {"M ~ 2001", 1},
               {"M ~ 2001, M ~ 4003", 3}, {"2001 ~ M", 1}, {"M > 5, M + 1 ~ 2003", 1},
               {"-5 ~ 0, 0 ~ -7", 0},     {"-5 ~ 7", 3},   {"0 ~ 9223372036854775807", 63}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        ExprVerdict v;
        ExprError e;
        ck_assert(expr_judge(row[i].text, strlen(row[i].text), look_up, NULL, &v, &e));
        ck_assert(v.holds && v.has_sizes == (row[i].doublings >= 0));
        if (v.has_sizes) ck_assert_double_eq_tol(v.doublings, row[i].doublings, 1e-12);
    }
}
END_TEST

/* Another language's writer sees each step. */
START_TEST(steps) {
    static const char text[] = "cdiv(M, 4) * -2 <= 7 // 3, M ~ 5";
    static const char want[] = "# # cdiv # neg mul . # # floordiv <= # . # ~ ";
    ExprOp op[64];
    ExprError e;
    char got[200] = "";
    int n = expr_compile_conditions(text, strlen(text), look_up, NULL, op, 64, &e);
    ck_assert_int_gt(n, 0);
    for (int i = 0; i < n; i++) {
        const char *name;
        ExprStep step = expr_step(&op[i], &name);
        strcat(got, step == STEP_PUSH || step == STEP_PUSH_SLOT ? "#"
                    : step == STEP_ENDS && !*name               ? "."
                                                                : name);
        strcat(got, " ");
    }
    ck_assert_str_eq(got, want);
}
END_TEST

START_TEST(deep) {
    static const char *const opening[] = {"(", "-", "min(1,"};
    enum { N = 200000 };
    char *text = malloc(N + 8);
    ck_assert_ptr_nonnull(text);
    for (int k = 0; k < 3; k++) {
        size_t n = 0;
        while (n < N) {
            memcpy(text + n, opening[k], strlen(opening[k]));
            n += strlen(opening[k]);
        }
        ExprError e;
        int64_t v;
        ck_assert(!expr_eval(text, n, look_up, NULL, &v, &e));
        ck_assert_ptr_nonnull(strstr(e.text, "nested deeper"));
    }
    free(text);
    ExprError e;
    int64_t v = 0;
    ck_assert(expr_eval("12345", 3, NULL, NULL, &v, &e));
    ck_assert_int_eq(v, 123);
}
END_TEST

int main(void) {
    Suite *s = suite_create("expr");
    TCase *t = tcase_create("expr");
    tcase_add_loop_test(t, values, 0, (int)(sizeof good / sizeof *good));
    tcase_add_loop_test(t, errors, 0, (int)(sizeof bad / sizeof *bad));
    tcase_add_test(t, lists);
    tcase_add_test(t, conditions);
    tcase_add_test(t, distances);
    tcase_add_test(t, kept_code);
    tcase_add_test(t, steps);
    tcase_add_test(t, deep);
    return run_suite(s, t);
}
