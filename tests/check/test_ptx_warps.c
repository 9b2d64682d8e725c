/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_ptx_warps.c: parts of a warp that come together or do not, and warps that are in each
 * other's way. */
#include "ptx_fixture.h"
#include "run_suite.h"

/* Odd lanes go a way that lies behind what all do together, and come back. */
#define ODD_BEHIND(together)                                                                       \
    "mov.u32 %r1, 0;\nand.b32 %r2, %r9, 1;\nsetp.ne.u32 %p1, %r2, 0;\n@%p1 bra SLOW;\n"            \
    "BACK: " together "\nret;\nSLOW: mov.u32 %r1, 1;\nbra BACK;"
#define APART "not all threads of the warp are here"

START_TEST(parts_of_a_warp_wait_for_each_other) {
    static const PtxSaid rows[] = {
        {ODD_BEHIND("bar.sync 0;"), NULL},
        {ODD_BEHIND("movmatrix.sync.aligned.m8n8.trans.b16 %r3, %r1;"), NULL},
        {ODD_BEHIND("mov.u32 %r3, sm; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r4}, [%r3];"),
         NULL},
        {ODD_BEHIND("wgmma.fence.sync.aligned; wgmma.commit_group.sync.aligned;"), NULL},
        /* Who has ended is not waited for; a matrix needs all. */
        {"setp.lt.u32 %p1, %r9, 8;\n@%p1 ret;\nbar.sync 0;", NULL},
        {"setp.lt.u32 %p1, %r9, 8;\n@%p1 ret;\nmovmatrix.sync.aligned.m8n8.trans.b16 %r3, %r9;",
         APART},
        /* They never come. */
        {"setp.lt.u32 %p1, %r9, 8;\n@%p1 bar.sync 0;", APART},
        {ODD_BEHIND("@%p1 movmatrix.sync.aligned.m8n8.trans.b16 %r3, %r1;"), APART},
        {"setp.lt.u32 %p1, %r9, 8;\n@%p1 bra B;\nbar.sync 0;\nret;\nB: bar.sync 0;\nbar.sync 0;",
         APART},
        {"setp.lt.u32 %p1, %r9, 8;\n@%p1 bra B;\nbar.sync 0;\nB: bra B;",
         "goes round here for ever"},
    };
    static const PtxSaid two_warps[] = {
        {ODD_BEHIND("bar.sync 0;"), NULL},
        {ODD_BEHIND("bar.sync 0; bar.sync 0;"), NULL},
        {ODD_BEHIND("bar.red.popc.u32 %r3, 0, %p1; st.global.u32 [%rd8], %r3;"), NULL},
        {"setp.lt.u32 %p1, %r9, 40;\n@%p1 bar.sync 0;", APART},
    };
    SAY_ALL(rows, 32);
    SAY_ALL(two_warps, 64);
}
END_TEST

/* Where in shared memory: its thread's place, or that of its lane. */
#define PLACE "mad.lo.u32 %r1, %r9, 4, sm;\n"
#define LANE_PLACE "and.b32 %r1, %r9, 31;\nmad.lo.u32 %r1, %r1, 4, sm;\n"
#define COPY(from)                                                                                 \
    "cp.async.ca.shared.global [%r1], [" from "], 4;\ncp.async.wait_all;\nbar.sync 0;\n"

START_TEST(two_copies_to_one_place_are_a_race) {
    static const PtxSaid rows[] = {
        {PLACE COPY("%rd8"), NULL},
        {LANE_PLACE COPY("%rd8"), "race: byte 0 of shared memory, which a cp.async of warp"},
        {LANE_PLACE COPY("%rd9"), "race: byte 0"},
        {"setp.lt.u32 %p1, %r9, 32;\n" LANE_PLACE "@%p1 " COPY("%rd9"), NULL},
        /* What threads store is the same value, or it is not. */
        {LANE_PLACE "st.shared.u32 [%r1], 7;\nbar.sync 0;", NULL},
        {LANE_PLACE "st.shared.u32 [%r1], %r9;\nbar.sync 0;", "race: byte 0"},
        {LANE_PLACE "st.shared.u32 [%r1], 0;\n" COPY("%rd9"), "race: byte 0"},
    };
    SAY_ALL(rows, 64);
}
END_TEST

int main(void) {
    Suite *s = suite_create("ptx_warps");
    TCase *c = tcase_create("ptx_warps");
    tcase_add_test(c, parts_of_a_warp_wait_for_each_other);
    tcase_add_test(c, two_copies_to_one_place_are_a_race);
    return run_suite(s, c);
}
