/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_ptx_live.c: registers alive before each instruction of kernels of a few lines, counted by
 * hand. */
#include "ptx/live.h"
#include "tests/run_suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Alive {
    const char *body, *alive, *preds; /* by instruction; preds NULL: none anywhere */
} Alive;

static const char frame[] = ".version 8.0\n.target sm_90a\n.visible .entry k(.param .u64 out)\n{\n"
                            ".reg .pred \t%%p<8>;\n.reg .b16 %%h<8>; .reg .b32 \t%%r<40>;\n"
                            ".reg .b64 %%rd<8>;\n.reg .f32 one, two;\n%s\n}\n";

static PtxLive live_of(Session *s, const char *body, int *n) {
    size_t size = sizeof frame + strlen(body);
    char *text = arena_alloc(&s->arena, size);
    snprintf(text, size, frame, body);
    PtxFile file = ptx_read(&s->arena, text, strlen(text));
    ck_assert_int_eq(file.kernels.n, 1);
    *n = file.kernels.at[0].insts.n;
    return ptx_live(&s->arena, &file.kernels.at[0]);
}

static bool are(const int *has, int n, const char *want) {
    char text[200] = "", *at = text;
    for (int i = 0; i < n; i++) at += sprintf(at, "%s%d", i ? " " : "", has[i]);
    if (!strcmp(text, want)) return true;
    fprintf(stderr, "%s, not %s\n", text, want);
    return false;
}

static bool is_right(Session *s, const Alive *a) {
    int insts, most = 0, where = 0;
    PtxLive l = live_of(s, a->body, &insts);
    bool ok = are(l.alive, insts, a->alive);
    for (int k = 0; k < insts; k++) {
        if (!a->preds) ok &= !l.preds[k];
        if (l.alive[k] > most) most = l.alive[where = k];
    }
    if (a->preds) ok &= are(l.preds, insts, a->preds);
    ok &= l.at_most == most && l.where == where;
    if (!ok) fprintf(stderr, "of:\n%s\n", a->body);
    return ok;
}

static int wrong_of(const Alive *a, size_t n) {
    static Session s;
    static int wrong;
    wrong = 0;
    if (setjmp(s.bail)) return -1;
    session_init(&s);
    for (size_t i = 0; i < n; i++) wrong += !is_right(&s, &a[i]);
    session_free(&s);
    return wrong;
}
#define CHECK_ALL(rows) ck_assert_int_eq(wrong_of(rows, sizeof(rows) / sizeof *(rows)), 0)

START_TEST(one_behind_the_other) {
    static const Alive rows[] = {
        {"mov.b64 %rd1, 8;\nmov.b32 %r1, 1;\nadd.s32 %r2, %r1, %r1;\nst.global.b32 [%rd1+4], %r2;\n"
         "ret;",
         "0 2 3 3 0", NULL},
        {"mov.b16 %h1, 1;\nmov.b32 %r1, {%h1, %h1};\nst.shared.b32 [%r1], %r1;", "0 1 1", NULL},
        {"mov.f32 one, 0f00000000;\nmov.f32 two, one;\nadd.f32 two, one, two;\n"
         "st.shared.f32 [0], two;",
         "0 1 2 1", NULL},
        /* What nobody reads is not alive; special registers are none. */
        {"mov.u32 %r1, %tid.x;\nmov.u32 %r2, %ntid.x;\nst.shared.b32 [0], %r1;", "0 1 1", NULL},
        {"ret;", "0", NULL},
    };
    CHECK_ALL(rows);
}
END_TEST

START_TEST(loops_and_branches) {
    static const Alive rows[] = {
        {"mov.b32 %r1, 0;\nmov.b32 %r2, 5;\nL:\nadd.s32 %r1, %r1, %r2;\nsetp.lt.s32 %p1, %r1, "
         "100;\n"
         "@%p1 bra L;\nst.shared.b32 [%r1], %r1;\nret;",
         "0 1 2 2 2 1 0", "0 0 0 0 1 0 0"},
        /* What only the inner loop's tail reads is alive all around it. */
        {"mov.b64 %rd1, 1;\nmov.b32 %r1, 0;\nA:\nmov.b32 %r2, 0;\nB:\nadd.s32 %r2, %r2, 1;\n"
         "setp.lt.s32 %p1, %r2, 9;\n@%p1 bra B;\nadd.s32 %r1, %r1, 1;\nsetp.lt.s32 %p1, %r1, 9;\n"
         "@%p1 bra A;\nst.global.b32 [%rd1], %r1;",
         "0 2 3 4 4 4 3 3 3 3", "0 0 0 0 0 1 0 0 1 0"},
        {"setp.eq.s32 %p1, 1, 1;\n@%p1 bra T;\nmov.b32 %r1, 1;\nbra.uni J;\nT:\nmov.b32 %r1, "
         "2;\nJ:\n"
         "st.shared.b32 [0], %r1;",
         "0 0 0 1 0 1", "0 1 0 0 0 0"},
        {"mov.b32 %r1, 3;\nmov.b32 %r2, 1;\nT: .branchtargets A, B;\nbrx.idx %r2, T;\nA:\n"
         "st.shared.b32 [0], %r1;\nret;\nB:\nret;",
         "0 1 2 1 0 0", NULL},
        /* What nothing leads to has nothing alive. */
        {"mov.b32 %r1, 1;\nbra.uni E;\nst.shared.b32 [0], %r1;\nE:\nst.shared.b32 [4], %r1;",
         "0 1 0 1", NULL},
        {"mov.b32 %r1, 1;\nsetp.eq.s32 %p1, %r1, 2;\n@%p1 ret;\nst.shared.b32 [4], %r1;", "0 1 1 1",
         "0 0 1 0"},
    };
    CHECK_ALL(rows);
}
END_TEST

START_TEST(guarded_writes) {
    static const Alive rows[] = {
        {"mov.b32 %r1, 1;\nsetp.eq.s32 %p1, %r1, 1;\n@%p1 mov.b32 %r1, 2;\nst.shared.b32 [0], %r1;",
         "0 1 1 1", "0 0 1 0"},
        {"mov.b32 %r1, 1;\nsetp.eq.s32 %p1, %r1, 1;\nmov.b32 %r1, 2;\n@!%p1 st.shared.b32 [0], "
         "%r1;",
         "0 1 0 1", "0 0 1 1"},
        /* It held nothing before, */
        {"setp.eq.s32 %p1, 1, 1;\n@%p1 mov.b32 %r1, 2;\n@%p1 st.shared.b32 [0], %r1;", "0 0 1",
         "0 1 1"},
        /* but where a loop comes back with what it wrote. */
        {"L:\nsetp.eq.s32 %p1, 1, 1;\n@%p1 mov.b32 %r1, 2;\nst.shared.b32 [0], %r1;\n@%p1 bra L;\n"
         "ret;",
         "1 1 1 1 0", "0 1 1 1 0"},
        {"mov.b32 %r3, 0;\nL:\nadd.s32 %r1, %r1, %r3;\nsetp.lt.s32 %p1, %r1, 9;\n@%p1 bra L;\nret;",
         "0 2 2 2 0", "0 0 0 1 0"},
        {"setp.eq.s32 %p1|%p2, 1, 1;\nselp.b32 %r1, 1, 2, %p1;\nselp.b32 %r2, 1, 2, %p2;\n"
         "st.shared.b32 [%r1], %r2;",
         "0 0 1 2", "0 2 1 0"},
    };
    CHECK_ALL(rows);
}
END_TEST

START_TEST(vectors_and_braces) {
    static const Alive rows[] = {
        {"mov.b32 %r5, 0;\nld.shared.v4.b32 {%r1, %r2, %r3, _}, [%r5+16];\n"
         "st.shared.v2.b32 [%r5], {%r1, %r2};\nst.shared.b32 [%r3], %r3;",
         "0 1 4 1", NULL},
        {"mov.b64 %rd1, 1;\nmov.b64 {%r1, %r2}, %rd1;\nmov.b64 %rd2, {%r2, %r1};\n"
         "st.shared.b64 [0], %rd2;",
         "0 2 2 2", NULL},
        {"mov.b64 %rd1, 1;\nmov.b32 %r1, 1;\nmov.b32 %r2, 1;\n"
         "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd1, {%r1, %r2}], [%r1];",
         "0 2 3 4", NULL},
        /* A name is that of the innermost braces that declare it. */
        {"mov.b32 %r1, 1;\n{\n.reg .b64 %r1;\nmov.b64 %r1, 7;\n{\nst.shared.b64 [0], %r1;\n}\n}\n"
         "st.shared.b32 [0], %r1;",
         "0 1 3 1", NULL},
        {"mov.b32 %r1, 1;\ncall.uni (retval0), f, (param0);\nbar.sync %r1, 32;", "0 1 1", NULL},
    };
    CHECK_ALL(rows);
}
END_TEST

#define FACTORS "mov.b64 %rd1, 0;\nmov.b64 {%r1, %r2}, %rd1;\nmov.b64 {%r3, %r4}, %rd1;\n"
#define SUMS "{%r5, %r6, %r7, %r8}"
#define WGMMA(a, adds)                                                                             \
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 " SUMS ", " a ", %rd1, " adds               \
    ", 1, 1, 0;\nwgmma.commit_group.sync.aligned;\n"
#define WAIT(n) "wgmma.wait_group.sync.aligned " n ";\n"

START_TEST(products_that_go_on) {
    static const Alive rows[] = {
        /* The factor is read until the wait. */
        {FACTORS WGMMA("{%r1, %r2, %r3, %r4}", "0") WAIT("0") "st.shared.v4.b32 [0], " SUMS ";",
         "0 2 4 6 8 8 4", NULL},
        {FACTORS WGMMA("%rd1", "0") WAIT("0") "st.shared.v4.b32 [0], " SUMS ";", "0 2 2 2 4 4 4",
         NULL},
        {FACTORS WGMMA("{%r1, %r2, %r3, %r4}", "0") WAIT("1")
             WAIT("0") "st.shared.v4.b32 [0], " SUMS ";",
         "0 2 4 6 8 8 8 4", NULL},
        {FACTORS WGMMA("{%r1, %r2, %r3, %r4}", "0") WGMMA("%rd1", "1")
             WAIT("1") "st.shared.v4.b32 [0], " SUMS ";",
         "0 2 4 6 10 10 8 8 4", NULL},
        /* Sums are read, too, where the product adds to them, if there are any. */
        {"ld.shared.v4.b32 " SUMS ", [0];\nmov.b64 %rd1, 0;\n" WGMMA("%rd1", "1")
             WAIT("0") "st.shared.v4.b32 [0], " SUMS ";",
         "0 4 6 4 4 4", NULL},
        {"ld.shared.v4.b32 " SUMS ", [0];\nmov.b64 %rd1, 0;\n" WGMMA("%rd1", "0")
             WAIT("0") "st.shared.v4.b32 [0], " SUMS ";",
         "0 0 2 4 4 4", NULL},
        {"mov.b64 %rd1, 0;\n" WGMMA("%rd1", "1") WAIT("0") "st.shared.v4.b32 [0], " SUMS ";",
         "0 2 4 4 4", NULL},
    };
    CHECK_ALL(rows);
}
END_TEST

/* Which operand an instruction writes says insts.def, too. */
START_TEST(every_instruction_writes_what_it_does) {
    static const struct {
        const char *name, *operands;
    } insts[] = {
#define INST(name, exec, types, operands, words, traits) {name, operands},
#include "ptx/machine/insts.def"
#undef INST
    };
    static Session s;
    static int seen;
    seen = 0;
    ck_assert(!setjmp(s.bail));
    session_init(&s);
    for (size_t i = 0; i < sizeof insts / sizeof *insts; i++) {
        char body[200];
        int n;
        bool is_written = insts[i].operands[0] == 'd';
        if ((!is_written && insts[i].operands[0] != 's') || strstr(insts[i].name, "wgmma"))
            continue;
        snprintf(body, sizeof body, "mov.b32 %%r1, 1;\n%s %%r1;\nst.shared.b32 [0], %%r1;",
                 insts[i].name);
        PtxLive l = live_of(&s, body, &n);
        ck_assert_int_eq(n, 3);
        ck_assert_msg(l.alive[1] == !is_written, "%s: %d alive before it", insts[i].name,
                      l.alive[1]);
        seen++;
    }
    ck_assert_int_ge(seen, 80);
    session_free(&s);
}
END_TEST

/* 2,000 loops in a row, of ten instructions each, with a sum that lives through all. */
START_TEST(large_kernels) {
    enum { LOOPS = 2000, MOST = 320 };
    Session s;
    ck_assert(!setjmp(s.bail));
    session_init(&s);
    char *body = arena_alloc(&s.arena, (size_t)LOOPS * MOST + 100), *at = body;
    at += sprintf(at, ".reg .b32 %%x<%d>;\nmov.b32 %%r1, 0;\n", LOOPS * 10);
    for (int i = 0; i < LOOPS; i++) {
        int x = i * 10;
        at += sprintf(at, "mov.b32 %%x%d, 0;\nL%d:\nadd.s32 %%x%d, %%x%d, 1;\n", x, i, x, x);
        for (int k = 1; k < 6; k++)
            at += sprintf(at, "add.s32 %%x%d, %%x%d, 1;\n", x + k, x + k - 1);
        at +=
            sprintf(at, "add.s32 %%r1, %%r1, %%x%d;\nsetp.lt.s32 %%p1, %%x%d, 9;\n@%%p1 bra L%d;\n",
                    x + 5, x, i);
    }
    sprintf(at, "st.shared.b32 [0], %%r1;");
    int n;
    PtxLive l = live_of(&s, body, &n);
    ck_assert_int_eq(n, LOOPS * 10 + 2);
    ck_assert_int_eq(l.at_most, 3);
    ck_assert_int_eq(l.alive[n - 1], 1);
    session_free(&s);
}
END_TEST

int main(void) {
    Suite *s = suite_create("ptx_live");
    TCase *c = tcase_create("ptx_live");
    tcase_set_timeout(c, 20);
    tcase_add_test(c, one_behind_the_other);
    tcase_add_test(c, loops_and_branches);
    tcase_add_test(c, guarded_writes);
    tcase_add_test(c, vectors_and_braces);
    tcase_add_test(c, products_that_go_on);
    tcase_add_test(c, every_instruction_writes_what_it_does);
    tcase_add_test(c, large_kernels);
    return run_suite(s, c);
}
