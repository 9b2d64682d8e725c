/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_ptx_limits.c: how large PTX may be that the machine runs, its launches, and how long they
 * may take. */
#include "tests/check/ptx_fixture.h"
#include "tests/run_suite.h"

/* before, so often what is in the middle, behind. */
static char *repeated(const char *before, const char *middle, int n, const char *behind) {
    size_t one = strlen(middle), size = strlen(before) + one * (size_t)n + strlen(behind) + 1;
    char *text = malloc(size), *at = text;
    ck_assert(text != NULL);
    at += sprintf(at, "%s", before);
    for (int i = 0; i < n; i++, at += one) memcpy(at, middle, one);
    strcpy(at, behind);
    return text;
}

START_TEST(sizes_have_limits) {
    static const struct {
        const char *before, *middle;
        int n;
        const char *behind, *said;
    } rows[] = {
        {"", "{", 62, "", NULL},
        {"", "{", 200, "", "more than 64 braces in each other: 'k'"},
        {"", "{", 1000000, "", "more than 64 braces"},
        {"mov.b64 ", "{", 1000000, "", ""},
        {"mov.b64 {", "%r1,", 300, "%r1}, %rd9;", "more than 255 elements"},
        {"add.u32 ", "%r1,", 200000, "%r1;", "too many operands"},
        {"add", ".u32", 100000, " %r1;", "too many types"},
        {"", ".reg .b32 %y;", 5000, "", "of 4096 names"},
        {"", ".shared .b8 y;", 5000, "", "4096 variables at most"},
        {"", "x:", 70000, "", "more than 65536 labels"},
        {"", "ret;", 1100000, "", "more than a million instructions"},
        {"T: .branchtargets ", "L,", 100000, "L;\nbrx.idx 100000, T;\nL:", NULL},
        {"mov.u32 %", "r", 1000000, ", 1;", "not understood: '%rrrr"},
        {"ld.global.u32 %r1, ", "[", 100000, "", "not understood"},
        {"mov.u32 %r1, ", "-", 100000, ";", "not understood"},
        {"", "foo;", 100, "", "does not know the instruction 'foo'"},
    };
    static PtxTest t;
    int wrong = 0;
    memset(&t, 0, sizeof t);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *body = repeated(rows[i].before, rows[i].middle, rows[i].n, rows[i].behind);
        wrong += ptx_says(&t, body, rows[i].said);
        free(body);
    }
    /* Each block is a place to come to; what is known of them is not as large as their square. */
    char *body = repeated("setp.eq.u32 %p1, %r9, 99;\n", "@%p1 bra L;\n", 60000, "L:");
    wrong += ptx_says(&t, body, NULL);
    free(body);
    ck_assert_int_eq(wrong, 0);
}
END_TEST

START_TEST(launches_have_limits) {
    static const struct {
        uint32_t threads, grid, cluster, shared;
        const char *target, *said;
    } rows[] = {
        {1024, 1, 0, 0, NULL, NULL},
        {1025, 1, 0, 0, NULL, "1 to 1024 threads"},
        {UINT32_MAX, 1, 0, 0, NULL, "1 to 1024 threads"},
        {32, 16, 16, 0, NULL, NULL},
        {32, 17, 17, 0, NULL, "16 blocks at most"},
        {32, 4, 3, 0, NULL, "a multiple of its clusters"},
        {32, UINT32_MAX, 0, 0, NULL, "less than 2^31"},
        {32, 1, 0, 200000, NULL, NULL},
        {32, 1, 0, 200000, "sm_80", "208192 bytes of shared memory, of which the target has"},
        {32, 1, 0, UINT32_MAX, NULL, "of which the target has 232448"},
    };
    static PtxTest t;
    int wrong = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        memset(&t, 0, sizeof t);
        t.threads = rows[i].threads;
        t.grid = rows[i].grid;
        t.cluster = rows[i].cluster;
        t.dynamic_shared = rows[i].shared;
        t.target = rows[i].target;
        wrong += ptx_says(&t, "", rows[i].said);
    }
    ck_assert_int_eq(wrong, 0);
}
END_TEST

START_TEST(loops_that_change_nothing_are_found) {
    static const PtxSaid rows[] = {
        {"L: bra L;", "(thread 0 of block (0, 0, 0)), bra: deadlock: it goes round here for ever"},
        {"L: add.u32 %r1, %r9, 1;\nadd.u32 %r2, %r9, 2;\nbra L;", "goes round here for ever"},
        {"L: xor.b32 %r9, %r9, 1;\nnot.b32 %r9, %r9;\nbra L;", "goes round here for ever"},
        {"L: ld.global.volatile.u32 %r1, [%rd9];\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra L;",
         "goes round here for ever"},
        {"L: ld.global.u32 %r1, [%rd9];\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra L;",
         "goes round here for ever"},
        {"mov.u32 %r1, 0;\nL: add.u32 %r1, %r1, 1;\nbra L;", "more than 200000 instructions"},
        {"L: st.global.u32 [%rd8], %r1;\nmov.u32 %r1, %clock;\nbra L;", "not known"},
        /* One half of the warp waits for the other. */
        {"setp.lt.u32 %p1, %r9, 16;\n@%p1 bra L;\nbra W;\n"
         "L: ld.global.volatile.u32 %r1, [%rd9+512];\nsetp.eq.u32 %p2, %r1, 0;\n@%p2 bra L;\nret;\n"
         "W: mov.u32 %r2, 1;\nst.global.volatile.u32 [%rd9+512], %r2;",
         NULL},
    };
    SAY_ALL(rows, 32);
    static PtxTest t; /* one warp for another; a loop that takes long is none that never ends */
    memset(&t, 0, sizeof t);
    t.threads = 64;
    t.checks = PTX_CHECK_ALL & ~(unsigned)PTX_CHECK_RACES;
    int wrong = ptx_says(
        &t,
        "mov.u32 %r1, 0;\nst.shared.volatile.u32 [sm], %r1;\nbar.sync 0;\n"
        "setp.ge.u32 %p1, %r9, 32;\n@%p1 bra W;\n"
        "L: ld.shared.volatile.u32 %r1, [sm];\nsetp.eq.u32 %p2, %r1, 0;\n@%p2 bra L;\nret;\n"
        "W: mov.u32 %r2, 0;\nS: add.u32 %r2, %r2, 1;\nsetp.lt.u32 %p3, %r2, 20000;\n@%p3 bra S;\n"
        "st.shared.volatile.u32 [sm], %r2;",
        NULL);
    ck_assert_int_eq(wrong, 0);
}
END_TEST

/* Barriers of a block, and bytes of a text that is printed: as many as may be, and one more. */
START_TEST(runs_have_limits) {
    static PtxTest t;
    static char body[8000], outside[20000];
    int wrong = 0;
    memset(&t, 0, sizeof t);
    for (int n = 64; n <= 65; n++) {
        char *at = body + sprintf(body, "setp.eq.u32 %%p3, %%r9, 0;\n");
        for (int i = 0; i < n; i++)
            at += sprintf(at, "@%%p3 mbarrier.init.shared.b64 [sm+%d], 1;\n", 8 * i);
        wrong += ptx_says(&t, body, n > 64 ? "more than 64 barriers in a block" : NULL);
    }
    t.outside = outside;
    for (int n = 4095; n <= 4096; n++) {
        char *at = outside + sprintf(outside, ".global .b8 format[4100] = {");
        for (int i = 0; i < n; i++) at += sprintf(at, "37,");
        strcpy(at, "0};");
        if (n == 4095) strcpy(strrchr(outside, '7') - 1, "120,0};"); /* "%%", and what is one */
        wrong +=
            ptx_says(&t,
                     "setp.eq.u32 %p1, %r9, 0; @!%p1 bra E; .local .align 8 .b8 args[8];\n"
                     "mov.u64 %rd2, args; cvta.local.u64 %rd2, %rd2; mov.u64 %rd3, format;\n"
                     "cvta.global.u64 %rd3, %rd3; { .param .b64 a; .param .b64 b; .param .b32 c;\n"
                     "st.param.b64 [a], %rd3; st.param.b64 [b], %rd2;\n"
                     "call (c), vprintf, (a, b); ld.param.b32 %r1, [c]; }\nE:",
                     n > 4095 ? "a text of more than 4096 bytes" : NULL);
    }
    ck_assert_int_eq(wrong, 0);
}
END_TEST

/* A file's size, a kernel's parameters, the errors of a file. */
START_TEST(files_have_limits) {
    static Session s;
    static char text[2000], *at;
    static int more;
    ck_assert(!setjmp(s.bail));
    session_init(&s);
    ck_assert_ptr_null(ptx_load(&s, "", ((size_t)1 << 28) + 1)); /* no byte of it is read */
    ck_assert_str_eq(s.diags.first->text, "the PTX is of more than 268435456 bytes");
    session_free(&s);
    for (more = 0; more < 2; more++) {
        if (setjmp(s.bail)) ck_abort();
        session_init(&s);
        sprintf(text,
                ".version 8.0\n.target sm_90a\n.address_size 64\n"
                ".visible .entry k(.param .align 1 .b8 x[%d])\n{\nret;\n}\n",
                32764 + more);
        ck_assert_int_eq(ptx_load(&s, text, strlen(text)) == NULL, more);
        if (more) ck_assert_ptr_nonnull(strstr(s.diags.first->text, "more than 32764 bytes"));
        session_free(&s);
    }
    if (setjmp(s.bail)) ck_abort();
    session_init(&s);
    at = text +
         sprintf(text, ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k()\n{\n");
    for (int i = 0; i < 30; i++) at += sprintf(at, "foo;\n");
    strcpy(at, "}\n");
    ck_assert_ptr_null(ptx_load(&s, text, strlen(text)));
    ck_assert_int_eq(s.diags.errors, 20);
    ck_assert_ptr_nonnull(strstr(s.diags.last->text, "that is 20 errors"));
    session_free(&s);
}
END_TEST

int main(void) {
    Suite *s = suite_create("ptx_limits");
    TCase *c = tcase_create("ptx_limits");
    tcase_set_timeout(c, 60);
    tcase_add_test(c, sizes_have_limits);
    tcase_add_test(c, launches_have_limits);
    tcase_add_test(c, loops_that_change_nothing_are_found);
    tcase_add_test(c, runs_have_limits);
    tcase_add_test(c, files_have_limits);
    return run_suite(s, c);
}
