/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_ptx_counts.c: what asynchronous accesses take, by addresses whose sectors and conflicts are
 * known beforehand. */
#include "tests/check/ptx_fixture.h"
#include "tests/run_suite.h"

typedef struct Takes {
    uint64_t sectors, bytes, wavefronts, least;
} Takes;

/* All that the body's instructions take. */
static Takes takes(PtxTest *t, const char *body) {
    static PtxCount count[COUNTED];
    Takes all = {0};
    memset(count, 0, sizeof count);
    t->count = count;
    t->checks = PTX_CHECK_BOUNDS | PTX_CHECK_ALIGN;
    const char *said = run_body(t, body);
    if (said) fprintf(stderr, "%s: %s\n", body, said);
    ck_assert(!said);
    for (int i = 0; i < COUNTED; i++) {
        all.sectors += count[i].sectors;
        all.bytes += count[i].global_bytes;
        all.wavefronts += count[i].wavefronts;
        all.least += count[i].least_wavefronts;
    }
    ptx_test_end(t);
    return all;
}

static int differs(const char *what, Takes has, Takes want) {
    if (!memcmp(&has, &want, sizeof has)) return 0;
    fprintf(stderr,
            "%s: %llu sectors, %llu bytes, %llu of %llu wavefronts, not %llu, %llu, %llu, %llu\n",
            what, (unsigned long long)has.sectors, (unsigned long long)has.bytes,
            (unsigned long long)has.wavefronts, (unsigned long long)has.least,
            (unsigned long long)want.sectors, (unsigned long long)want.bytes,
            (unsigned long long)want.wavefronts, (unsigned long long)want.least);
    return 1;
}

/* Lane l's row of 128 bytes begins at %r2, its place in global memory is %rd1. */
#define ROW_OF_LANE                                                                                \
    "mov.u32 %r1, sm; mad.lo.u32 %r2, %r9, 128, %r1; mad.wide.u32 %rd1, %r9, 16, %rd9;\n"
/* The unit of the row that the 128-byte swizzle has unit 0 in. */
#define SWIZZLE "and.b32 %r3, %r9, 7; shl.b32 %r3, %r3, 4; xor.b32 %r2, %r2, %r3;\n"
#define PACKED "mad.lo.u32 %r2, %r9, 16, %r1;\n"
#define COPY(form) "cp.async." form "; cp.async.wait_all;"
#define MATRIX "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r4}, [%r2];"

START_TEST(a_tile_with_and_without_a_swizzle) {
    static const struct {
        const char *body;
        Takes takes;
    } rows[] = {
        /* A column of units of 16 bytes: eight rows in the same four banks, or one in each four. */
        {ROW_OF_LANE COPY("cg.shared.global [%r2], [%rd1], 16"), {16, 512, 32, 4}},
        {ROW_OF_LANE SWIZZLE COPY("cg.shared.global [%r2], [%rd1], 16"), {16, 512, 4, 4}},
        {ROW_OF_LANE PACKED COPY("cg.shared.global [%r2], [%rd1], 16"), {16, 512, 4, 4}},
        {ROW_OF_LANE COPY("ca.shared.global [%r2], [%rd1], 8"), {16, 256, 32, 2}},
        {ROW_OF_LANE SWIZZLE COPY("ca.shared.global [%r2], [%rd1], 8"), {16, 256, 4, 2}},
        {ROW_OF_LANE COPY("ca.shared.global [%r2], [%rd1], 4"), {16, 128, 32, 1}},
        {ROW_OF_LANE SWIZZLE COPY("ca.shared.global [%r2], [%rd1], 4"), {16, 128, 4, 1}},
        /* Lanes that bring zeros write, and read nothing. */
        {ROW_OF_LANE SWIZZLE "setp.lt.u32 %p1, %r9, 16; selp.b32 %r5, 16, 0, %p1;\n" COPY(
             "cg.shared.global [%r2], [%rd1], 16, %r5"),
         {8, 256, 4, 4}},
        /* A core matrix: 8 rows of 16 bytes. */
        {ROW_OF_LANE MATRIX, {0, 0, 8, 1}},
        {ROW_OF_LANE SWIZZLE MATRIX, {0, 0, 1, 1}},
        {ROW_OF_LANE PACKED MATRIX, {0, 0, 1, 1}},
    };
    static PtxTest t;
    int wrong = 0;
    memset(&t, 0, sizeof t);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        wrong += differs(rows[i].body, takes(&t, rows[i].body), rows[i].takes);
    ck_assert_int_eq(wrong, 0);
}
END_TEST

typedef struct Box { /* of halves */
    uint64_t size[2], stride;
    uint32_t box[2];
    int swizzle, x, y;
    Takes takes;
} Box;

static Takes moves(PtxTest *t, const Box *b, bool stores) {
    static _Alignas(64) uint8_t map[128];
    static const uint32_t one[] = {1, 1};
    enum { HALVES = 6 };
    char body[1000];
    ck_assert_int_eq(ptx_encode_map(map, HALVES, 2, (uint64_t)(uintptr_t)t->out, b->size,
                                    &b->stride, b->box, one, 0, b->swizzle, 0, 0),
                     0);
    t->map = map;
    snprintf(body, sizeof body,
             stores ? "setp.eq.u32 %%p1, %%r9, 0;\n"
                      "@%%p1 cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [map, {%d, "
                      "%d}], [sm];\n"
                      "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"
                    : "setp.eq.u32 %%p1, %%r9, 0; @%%p1 mbarrier.init.shared.b64 [sm+8184], 1;\n"
                      "@%%p1 cp.async.bulk.tensor.2d.shared::cluster.global.tile."
                      "mbarrier::complete_tx::bytes [sm], [map, {%d, %d}], [sm+8184];\n"
                      "@%%p1 mbarrier.arrive.expect_tx.shared.b64 _, [sm+8184], %u; bar.sync 0;\n"
                      "again: mbarrier.try_wait.parity.shared.b64 %%p2, [sm+8184], 0;\n"
                      "@!%%p2 bra again;",
             b->x, b->y, b->box[0] * b->box[1] * 2);
    return takes(t, body);
}

START_TEST(blocks_of_tensors) {
    static const Box boxes[] = {
        {{64, 32}, 128, {64, 8}, 3, 0, 0, {32, 1024, 8, 8}},
        {{64, 32}, 128, {64, 8}, 0, 0, 0, {32, 1024, 8, 8}},
        {{64, 32}, 128, {32, 8}, 2, 32, 8, {16, 512, 4, 4}},
        {{64, 32}, 128, {16, 8}, 1, 48, 0, {8, 256, 2, 2}},
        /* What lies outside the tensor is written, and not read. */
        {{64, 32}, 128, {64, 8}, 3, 0, 28, {16, 512, 8, 8}},
        {{64, 32}, 128, {64, 8}, 3, 56, 0, {8, 128, 8, 8}},
        {{64, 32}, 128, {64, 8}, 3, -60, 0, {8, 64, 8, 8}},
        {{64, 32}, 128, {64, 8}, 3, 64, 0, {0, 0, 8, 8}},
        /* Half of each sector; two rows of one; rows that overlap. */
        {{64, 32}, 128, {8, 32}, 0, 0, 0, {32, 512, 4, 4}},
        {{8, 32}, 16, {8, 32}, 0, 0, 0, {16, 512, 4, 4}},
        {{16, 32}, 16, {16, 8}, 1, 0, 0, {5, 256, 2, 2}},
    };
    static PtxTest t;
    int wrong = 0;
    memset(&t, 0, sizeof t);
    for (size_t i = 0; i < 2 * sizeof boxes / sizeof *boxes; i++) {
        const Box *b = &boxes[i / 2];
        char what[80];
        if (i % 2 && b->x < 0) continue; /* the engine does not store so */
        snprintf(what, sizeof what, "%s %d", i % 2 ? "store" : "load", (int)i / 2);
        Takes want = b->takes, has = moves(&t, b, i % 2);
        wrong += differs(what, has, want);
    }
    ck_assert_int_eq(wrong, 0);
}
END_TEST

START_TEST(plain_blocks) {
    static PtxTest t;
    memset(&t, 0, sizeof t);
    Takes has =
        takes(&t, "setp.eq.u32 %p1, %r9, 0;\n"
                  "@%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd9+16], [sm+16], 240;\n"
                  "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;");
    ck_assert_int_eq(differs("store", has, (Takes){8, 240, 2, 2}), 0);
}
END_TEST

/* No descriptor names a core matrix whose rows share banks: what a wrong swizzle breaks is the
 * values. */
START_TEST(products_out_of_shared_memory) {
    static PtxTest t;
    int wrong = 0;
    memset(&t, 0, sizeof t);
    t.threads = 128;
    for (int i = 0; i < 4 * 4 * 4; i++) {
        int swizzle = i / 16, start = i / 4 % 4 * 32, across_a = i / 2 % 2, across_b = i % 2;
        static const unsigned rows[] = {128, 1024, 512, 256}; /* bytes of 8 */
        char body[1000], what[80];
        snprintf(body, sizeof body,
                 "mov.u32 %%r1, sm; add.u32 %%r1, %%r1, %d; shr.u32 %%r1, %%r1, 4; or.b32 %%r1, "
                 "%%r1, %d;\n"
                 "mov.b64 %%rd1, {%%r1, %u}; wgmma.fence.sync.aligned;\n"
                 "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%%f1,%%f2,%%f3,%%f4}, %%rd1, "
                 "%%rd1, 0, 1, 1, %d, %d;\n"
                 "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;",
                 start, (128 >> 4) << 16, (unsigned)swizzle << 30 | rows[swizzle] >> 4, across_a,
                 across_b);
        snprintf(what, sizeof what, "swizzle %d, from %d, across %d %d", swizzle, start, across_a,
                 across_b);
        wrong += differs(what, takes(&t, body), (Takes){0, 0, 18, 18});
    }
    ck_assert_int_eq(wrong, 0);
}
END_TEST

int main(void) {
    Suite *s = suite_create("ptx_counts");
    TCase *c = tcase_create("ptx_counts");
    tcase_set_timeout(c, 60);
    tcase_add_test(c, a_tile_with_and_without_a_swizzle);
    tcase_add_test(c, blocks_of_tensors);
    tcase_add_test(c, plain_blocks);
    tcase_add_test(c, products_out_of_shared_memory);
    return run_suite(s, c);
}
