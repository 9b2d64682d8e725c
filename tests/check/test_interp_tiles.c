/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_interp_tiles.c: what the interpreter does with whole tiles: combinations along an axis, new
 * shapes, matrix products, and shared memory with the check of its barriers. */
#include "interp_fixture.h"

#include <math.h>

/* ---- combinations ---- */

static void run_tile(const char *body, int *data, int n, int *result, int nresult) {
    char text[4096];
    snprintf(text, sizeof text,
             "kernel @k(%%x: ptr<i32>, %%y: ptr<i32>) {\n"
             "  %%r: i32[%d] = arange start=0 end=%d\n  %%xs: ptr<i32>[%d] = splat %%x\n"
             "  %%xp: ptr<i32>[%d] = addptr %%xs, %%r\n  %%v: i32[%d] = load %%xp\n%s}\n",
             n, n, n, n, n, body);
    Fixture f = fixture();
    give_buffer(&f, "x", data, (size_t)n * sizeof *data, NULL);
    give_buffer(&f, "y", result, (size_t)nresult * sizeof *result, NULL);
    expect_ok(&f, text);
}

#define STORE_TILE(n)                                                                              \
    "  %rr: i32[" n "] = arange start=0 end=" n "\n  %ys: ptr<i32>[" n "] = splat %y\n"            \
    "  %yp: ptr<i32>[" n "] = addptr %ys, %rr\n  store %yp, %w\n  return\n"

START_TEST(reductions_keep_order_on_every_axis) {
    /* Taking the later of two, or the earlier, is associative but not commutative. */
    int data[64], got[16];
    for (int i = 0; i < 64; i++) data[i] = i * i % 97;
    run_tile("  %t: i32[4,4,4] = reshape %v\n"
             "  %q: i32[4,4] = reduce %t axis=1 { (%a: i32, %b: i32) yield %b }\n"
             "  %w: i32[16] = reshape %q\n" STORE_TILE("16"),
             data, 64, got, 16);
    for (int i = 0; i < 16; i++) ck_assert_int_eq(got[i], data[i / 4 * 16 + 12 + i % 4]);
    run_tile("  %t: i32[4,4,4] = reshape %v\n"
             "  %q: i32[4,4] = reduce %t axis=2 { (%a: i32, %b: i32) yield %a }\n"
             "  %w: i32[16] = reshape %q\n" STORE_TILE("16"),
             data, 64, got, 16);
    for (int i = 0; i < 16; i++) ck_assert_int_eq(got[i], data[i * 4]);
    run_tile("  %t: i32[4,16] = reshape %v\n"
             "  %w: i32[16] = reduce %t axis=0 { (%a: i32, %b: i32)\n"
             "    %c: i32 = add %a, %b\n    yield %c }\n" STORE_TILE("16"),
             data, 64, got, 16);
    for (int i = 0; i < 16; i++)
        ck_assert_int_eq(got[i], data[i] + data[i + 16] + data[i + 32] + data[i + 48]);
}
END_TEST

#define ARGMAX(condition)                                                                          \
    "  %m: i32, %at: i32 = reduce %v, %r axis=0 { (%a: i32, %ai: i32, %b: i32, %bi: i32)\n"        \
    "    %c: i1 = cmp %a, %b pred=ge\n" condition "    yield %k, %ki\n  }\n"                       \
    "  store %y, %at\n  return\n"

START_TEST(reductions_take_several_tiles_and_control_flow) {
    int data[32], got = 0;
    for (int i = 0; i < 32; i++) data[i] = i * 7 % 32;
    run_tile(ARGMAX("    %k: i32 = select %c, %a, %b\n    %ki: i32 = select %c, %ai, %bi\n"), data,
             32, &got, 1);
    ck_assert_int_eq(data[got], 31);
    run_tile(ARGMAX("    %k: i32, %ki: i32 = if %c { yield %a, %ai } { yield %b, %bi }\n"), data,
             32, &got, 1);
    ck_assert_int_eq(data[got], 31);
}
END_TEST

START_TEST(regions_use_values_from_outside) {
    int data[8] = {5, 1, 4, 1, 5, 9, 2, 6}, got[8];
    run_tile("  %k: i32 = const value=10\n"
             "  %w: i32[8] = scan %v axis=0 { (%a: i32, %b: i32)\n"
             "    %m: i32 = mul %a, %k\n    %c: i32 = add %m, %b\n    yield %c }\n" STORE_TILE("8"),
             data, 8, got, 8);
    ck_assert_int_eq(got[7], 51415926);
    ck_assert_int_eq(got[2], 514);
    /* on several pairs at once, and yielded as it is */
    run_tile("  %k: i32 = const value=6\n  %t: i32[2,4] = reshape %v\n"
             "  %q: i32[2] = reduce %t axis=1 { (%a: i32, %b: i32)\n"
             "    %m: i32 = max %a, %b\n    %c: i32 = min %m, %k\n    yield %c }\n"
             "  %u: i32[2,4] = scan %t axis=1 { (%d: i32, %e: i32) yield %k }\n"
             "  %q2: i32[2,1] = reshape %q\n  %q4: i32[2,4] = broadcast %q2\n"
             "  %s: i32[2,4] = add %q4, %u\n  %w: i32[8] = reshape %s\n" STORE_TILE("8"),
             data, 8, got, 8);
    for (int r = 0; r < 2; r++) {
        int most = r ? 6 : 5; /* of 5 1 4 1; of 5 9 2 6, no more than 6 */
        for (int i = 0; i < 4; i++) ck_assert_int_eq(got[r * 4 + i], most + (i ? 6 : data[r * 4]));
    }
}
END_TEST

START_TEST(scans_go_both_ways_along_an_axis) {
    int data[16], got[16];
    for (int i = 0; i < 16; i++) data[i] = i + 1;
    for (int reverse = 0; reverse < 2; reverse++)
        for (int axis = 0; axis < 2; axis++) {
            char body[1024];
            snprintf(body, sizeof body, "%s axis=%d reverse=%d %s",
                     "  %t: i32[4,4] = reshape %v\n  %u: i32[4,4] = scan %t", axis, reverse,
                     "{ (%a: i32, %b: i32)\n    %c: i32 = add %a, %b yield %c }\n"
                     "  %w: i32[16] = reshape %u\n" STORE_TILE("16"));
            run_tile(body, data, 16, got, 16);
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++) {
                    int want = 0;
                    for (int k = 0; k < 4; k++) {
                        int along = axis ? j : i;
                        if (reverse ? k >= along : k <= along)
                            want += axis ? data[i * 4 + k] : data[k * 4 + j];
                    }
                    ck_assert_int_eq(got[i * 4 + j], want);
                }
        }
}
END_TEST

/* What comes before an element, and a hundred times what is in its row or column. */
START_TEST(scans_say_what_comes_before_and_totals) {
    int data[32], got[64];
    for (int i = 0; i < 32; i++) data[i] = i * 3 % 7;
    for (int axis = 0; axis < 2; axis++)
        for (int reverse = 0; reverse < 2; reverse++) {
            char body[1024];
            snprintf(body, sizeof body,
                     "  %%t: i32[4,8] = reshape %%v\n  %%b: i32[4,8], %%s: i32[%d] = scan %%t "
                     "axis=%d reverse=%d exclusive=1 totals=1 { (%%x1: i32, %%x2: i32)\n"
                     "    %%x3: i32 = add %%x1, %%x2\n    yield %%x3\n  }\n"
                     "  %%s2: i32[%s] = reshape %%s\n  %%s3: i32[4,8] = broadcast %%s2\n"
                     "  %%c: i32[4,8] = const value=100\n  %%s4: i32[4,8] = mul %%s3, %%c\n"
                     "  %%q: i32[4,8] = add %%b, %%s4\n  %%w: i32[32] = reshape %%q\n%s",
                     axis ? 4 : 8, axis, reverse, axis ? "4,1" : "1,8", STORE_TILE("32"));
            run_tile(body, data, 32, got, 32);
            for (int i = 0; i < 32; i++) {
                int sum = 0, before = 0, at = axis ? i % 8 : i / 8, len = axis ? 8 : 4;
                for (int k = 0; k < len; k++) {
                    int x = data[axis ? i / 8 * 8 + k : k * 8 + i % 8];
                    sum += x;
                    if (reverse ? k > at : k < at) before += x;
                }
                if (at == (reverse ? len - 1 : 0)) before = got[i] - 100 * sum; /* any value */
                ck_assert_int_eq(got[i], 100 * sum + before);
            }
        }
}
END_TEST

/* (m, b) stands for x -> m * x + b; these do not commute, and both tiles go through the region. */
START_TEST(scans_take_several_tiles) {
    int data[16], got[16];
    for (int i = 0; i < 16; i++) data[i] = i % 3 + 1;
    for (int reverse = 0; reverse < 2; reverse++) {
        char body[1024];
        snprintf(body, sizeof body, "%s reverse=%d %s",
                 "  %m: i32[16], %u: i32[16] = scan %v, %r axis=0", reverse,
                 "{ (%a: i32, %b: i32, %c: i32, %d: i32)\n    %e: i32 = mul %a, %c\n"
                 "    %f: i32 = mul %c, %b\n    %g: i32 = add %f, %d\n    yield %e, %g\n  }\n"
                 "  %w: i32[16] = add %u, %m\n" STORE_TILE("16"));
        run_tile(body, data, 16, got, 16);
        unsigned m = 1, b = 0;
        for (int k = 0; k < 16; k++) {
            int i = reverse ? 15 - k : k;
            b = (unsigned)data[i] * b + (unsigned)i;
            m *= (unsigned)data[i];
            ck_assert_int_eq(got[i], (int)(m + b));
        }
    }
}
END_TEST

/* ---- shapes and matrices ---- */

START_TEST(tiles_change_shape) {
    int data[16], got[64];
    for (int i = 0; i < 16; i++) data[i] = i;
    run_tile("  %t: i32[2,8] = reshape %v\n  %u: i32[8,2] = trans %t order=[1,0]\n"
             "  %w: i32[16] = reshape %u\n" STORE_TILE("16"),
             data, 16, got, 16);
    for (int i = 0; i < 16; i++) ck_assert_int_eq(got[i], i % 2 * 8 + i / 2);
    run_tile("  %t: i32[2,4,2] = reshape %v\n  %u: i32[2,2,4] = trans %t order=[2,0,1]\n"
             "  %w: i32[16] = reshape %u\n" STORE_TILE("16"),
             data, 16, got, 16);
    for (int i = 0; i < 16; i++) ck_assert_int_eq(got[i], i / 4 % 2 * 8 + i % 4 * 2 + i / 8);
    run_tile("  %t: i32[2,1,8] = reshape %v\n  %u: i32[2,4,8] = broadcast %t\n"
             "  %w: i32[64] = reshape %u\n" STORE_TILE("64"),
             data, 16, got, 64);
    for (int i = 0; i < 64; i++) ck_assert_int_eq(got[i], i / 32 * 8 + i % 8);
    run_tile("  %t: i32[16,1] = reshape %v\n  %u: i32[16,4] = broadcast %t\n"
             "  %w: i32[64] = reshape %u\n" STORE_TILE("64"),
             data, 16, got, 64);
    for (int i = 0; i < 64; i++) ck_assert_int_eq(got[i], i / 4);
}
END_TEST

/* c = a * b + c over tiles of one buffer each; the accumulator's type may differ. */
static void run_dot(const char *type, const char *sum, const char *attrs, void *a, void *b, void *c,
                    size_t bytes, size_t sum_bytes) {
    char text[2048];
    snprintf(text, sizeof text,
             "kernel @k(%%a: ptr<%s>, %%b: ptr<%s>, %%c: ptr<%s>) {\n"
             "  %%r: i32[32] = arange start=0 end=32\n  %%q: i32[64] = arange start=0 end=64\n"
             "  %%as: ptr<%s>[32] = splat %%a\n  %%ap: ptr<%s>[32] = addptr %%as, %%r\n"
             "  %%bs: ptr<%s>[32] = splat %%b\n  %%bp: ptr<%s>[32] = addptr %%bs, %%r\n"
             "  %%cs: ptr<%s>[64] = splat %%c\n  %%cp: ptr<%s>[64] = addptr %%cs, %%q\n"
             "  %%av: %s[32] = load %%ap\n  %%bv: %s[32] = load %%bp\n  %%cv: %s[64] = load %%cp\n"
             "  %%am: %s[8,4] = reshape %%av\n  %%bm: %s[4,8] = reshape %%bv\n"
             "  %%cm: %s[8,8] = reshape %%cv\n  %%d: %s[8,8] = dot %%am, %%bm, %%cm %s\n"
             "  %%dv: %s[64] = reshape %%d\n  store %%cp, %%dv\n  return\n}\n",
             type, type, sum, type, type, type, type, sum, sum, type, type, sum, type, type, sum,
             sum, attrs, sum);
    Fixture f = fixture();
    give_buffer(&f, "a", a, 32 * bytes, NULL);
    give_buffer(&f, "b", b, 32 * bytes, NULL);
    give_buffer(&f, "c", c, 64 * sum_bytes, NULL);
    expect_ok(&f, text);
}

START_TEST(matrix_products_of_every_type) {
    uint64_t state = 3;
    int x[32], y[32], z[64];
    for (int i = 0; i < 32; i++) x[i] = (int)(random_bits(&state) % 17) - 8;
    for (int i = 0; i < 32; i++) y[i] = (int)(random_bits(&state) % 17) - 8;
    for (int i = 0; i < 64; i++) z[i] = i - 32;
    static const struct {
        Elem elem, sum;
    } kinds[] = {{EL_F16, EL_F32}, {EL_BF16, EL_F32}, {EL_F32, EL_F32},    {EL_F64, EL_F64},
                 {EL_I8, EL_I32},  {EL_F16, EL_F16},  {EL_F8E4M3, EL_F32}, {EL_F8E5M2, EL_F32}};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        uint64_t a[32] = {0}, b[32] = {0}, c[64] = {0};
        Elem e = kinds[k].elem, s = kinds[k].sum;
        size_t bytes = (size_t)elem_info[e].bytes, sum_bytes = (size_t)elem_info[s].bytes;
        for (int i = 0; i < 64; i++) {
            uint64_t xb = elem_info[e].class_ == ELEM_F ? elem_from_double(e, x[i % 32])
                                                        : (uint64_t)x[i % 32];
            uint64_t yb = elem_info[e].class_ == ELEM_F ? elem_from_double(e, y[i % 32])
                                                        : (uint64_t)y[i % 32];
            uint64_t zb =
                elem_info[s].class_ == ELEM_F ? elem_from_double(s, z[i]) : (uint64_t)z[i];
            if (i < 32) memcpy((char *)a + (size_t)i * bytes, &xb, bytes);
            if (i < 32) memcpy((char *)b + (size_t)i * bytes, &yb, bytes);
            memcpy((char *)c + (size_t)i * sum_bytes, &zb, sum_bytes);
        }
        run_dot(elem_info[e].text, elem_info[s].text, "", a, b, c, bytes, sum_bytes);
        for (int i = 0; i < 64; i++) {
            int want = z[i];
            for (int n = 0; n < 4; n++) want += x[i / 8 * 4 + n] * y[n * 8 + i % 8];
            uint64_t bits = 0;
            memcpy(&bits, (char *)c + (size_t)i * sum_bytes, sum_bytes);
            double got = s == EL_I32 ? (double)(int32_t)bits : elem_to_double(s, bits);
            ck_assert_msg(got == want, "%s: [%d] is %g, not %d", elem_info[e].text, i, got, want);
        }
    }
}
END_TEST

START_TEST(fp32_products_take_the_precision_asked_for) {
    float a[32] = {0}, b[32] = {0};
    a[0] = 1 + 0x1p-9f + 0x1p-20f;
    b[0] = 1;
    static const struct {
        const char *attrs;
        float want;
    } kinds[] = {{"precision=tf32", 1 + 0x1p-9f},
                 {"precision=ieee", 1 + 0x1p-9f + 0x1p-20f},
                 {"precision=tf32x3", 1 + 0x1p-9f + 0x1p-20f},
                 {"precision=bf16x3", 1 + 0x1p-9f},
                 {"precision=bf16x6", 1 + 0x1p-9f + 0x1p-20f},
                 {"", 1 + 0x1p-9f}};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        float c[64] = {0};
        run_dot("f32", "f32", kinds[k].attrs, a, b, c, 4, 4);
        ck_assert_msg(c[0] == kinds[k].want, "%s: %a", kinds[k].attrs, (double)c[0]);
    }
}
END_TEST

START_TEST(products_of_batches_do_not_mix) {
    int data[32], got[32];
    for (int i = 0; i < 32; i++) data[i] = i * 5 % 13 - 6;
    run_tile(
        "  %b: i8[32] = cast %v\n  %t: i8[2,4,4] = reshape %b\n  %z: i32[2,4,4] = const value=7\n"
        "  %u: i8[2,4,4] = trans %t order=[0,2,1]\n  %d: i32[2,4,4] = dot %t, %u, %z\n"
        "  %w: i32[32] = reshape %d\n" STORE_TILE("32"),
        data, 32, got, 32);
    for (int i = 0; i < 32; i++) {
        int want = 7;
        const int *row = data + i / 4 * 4, *col = data + i / 16 * 16 + i % 4 * 4;
        for (int k = 0; k < 4; k++) want += row[k] * col[k];
        ck_assert_int_eq(got[i], want);
    }
}
END_TEST

/* ---- shared memory ---- */

static void run_shared(const char *body, const char *error) {
    char text[4096];
    int data[16], got[16];
    for (int i = 0; i < 16; i++) data[i] = i * 3;
    snprintf(text, sizeof text, "%s%s}\n",
             "kernel @k(%x: ptr<i32>, %y: ptr<i32>) {\n  %r: i32[16] = arange start=0 end=16\n"
             "  %xs: ptr<i32>[16] = splat %x\n  %xp: ptr<i32>[16] = addptr %xs, %r\n"
             "  %ys: ptr<i32>[16] = splat %y\n  %yp: ptr<i32>[16] = addptr %ys, %r\n"
             "  %v: i32[16] = load %xp\n",
             body);
    Fixture f = fixture();
    give_buffer(&f, "x", data, sizeof data, NULL);
    give_buffer(&f, "y", got, sizeof got, NULL);
    if (error) {
        expect_error(&f, text, error);
        f.checks &= ~(unsigned)CHECK_RACES;
        if (strstr(error, "barrier")) expect_ok(&f, text);
        return;
    }
    expect_ok(&f, text);
    for (int i = 0; i < 16; i++) ck_assert_int_eq(got[i], data[i]);
}

#define A "  %a: shared<i32[16]> = buffer_alloc offset=0\n"
#define B "  %b: shared<i32[16]> = buffer_alloc offset=0\n"
#define BESIDE "  %b: shared<i32[16]> = buffer_alloc @31:1-5\n"
#define PUT_A "  shared_store %v, %a @20:1-5\n"
#define PUT_B "  shared_store %v, %b @21:1-5\n"
#define GET_A(n) "  %" n ": i32[16] = shared_load %a @22:1-5\n"
#define WAIT "  barrier @30:1-5\n"
#define DONE "  store %yp, %w @23:1-5\n  return\n"

START_TEST(shared_memory_carries_tiles) {
    run_shared(A PUT_A WAIT GET_A("w") DONE, NULL);
    run_shared(A BESIDE PUT_A PUT_B WAIT GET_A("w") DONE, NULL);
    run_shared(A PUT_A WAIT GET_A("q") WAIT PUT_A WAIT GET_A("w") DONE, NULL);
}
END_TEST

START_TEST(missing_barriers_are_found) {
    run_shared(A PUT_A GET_A("w") DONE, "test:22:1: error: missing barrier: read since written");
    run_shared(A PUT_A WAIT GET_A("w") PUT_A DONE,
               "test:20:1: error: missing barrier: overwritten since read");
    run_shared(A B PUT_A PUT_B WAIT "  %w: i32[16] = shared_load %b\n" DONE,
               "test:21:1: error: missing barrier: written twice");
}
END_TEST

START_TEST(buffers_over_each_other_are_found) {
    run_shared(A B PUT_A WAIT PUT_B WAIT GET_A("w") DONE,
               "test:22:1: error: overlapping buffers: another buffer was written over this: byte "
               "0 of shared memory in program (0, 0, 0)");
    run_shared(A B PUT_A WAIT GET_A("q") WAIT PUT_B WAIT "  %w: i32[16] = shared_load %b\n" DONE,
               NULL); /* dead by then */
    run_shared(A GET_A("w") DONE, "an element that nobody wrote");
}
END_TEST

#define SLICES "  %a: shared<2 x i32[16]> = buffer_alloc offset=0\n"
#define SLICE "  %i: i32 = const value=0\n  %s: shared<i32[16]> = buffer_slice %a, %i\n"
#define COPY                                                                                       \
    "  %on: i1 = const value=1\n  %t: token = async_copy %xp, %s, %on @50:1-5\n  %g: token = "     \
    "async_commit %t\n"
#define LAND "  async_wait pending=0\n" WAIT "  %w: i32[16] = shared_load %s\n"
#define OTHER "  %o: i32[16] = add %v, %r\n"

START_TEST(what_a_copy_reads_stays_as_it_is) {
    run_shared(SLICES SLICE COPY LAND DONE, NULL);
    run_shared(SLICES SLICE COPY "  async_wait %g\n" WAIT "  %w: i32[16] = shared_load %s\n" DONE,
               NULL);
    run_shared(SLICES SLICE COPY "  async_wait %g pending=1 @51:1-5\n" WAIT
                                 "  %w: i32[16] = shared_load %s\n" DONE,
               "test:51:1: error: this wait lets 1 groups of copies go on, the one that it is for "
               "among them, in program (0, 0, 0)");
    run_shared(SLICES SLICE COPY OTHER "  store %xp, %o\n" LAND DONE,
               "test:50:1: error: what this copy reads was written between its start and the wait "
               "for it, in program (0, 0, 0)");
}
END_TEST

#define BACK "  %b16: i32[16] = const value=15\n  %i: i32[16] = sub %b16, %r\n"
#define GATHER(n, i) "  %" n ": i32[16] = shared_gather %a, " i " axis=0 @40:1-5\n"

START_TEST(gathers_read_buffers) {
    run_shared(A PUT_A WAIT GATHER("w", "%r") DONE, NULL);
    run_shared(BACK A PUT_A WAIT GATHER("u", "%i") WAIT
               "  shared_store %u, %a\n" WAIT GATHER("w", "%i") DONE,
               NULL);
    run_shared(A PUT_A GATHER("w", "%r") DONE,
               "test:40:1: error: missing barrier: read since written");
    run_shared(A PUT_A WAIT GATHER("w", "%r") PUT_A DONE,
               "test:20:1: error: missing barrier: overwritten since read");
    run_shared(A B PUT_A WAIT PUT_B WAIT GATHER("w", "%r") DONE,
               "test:40:1: error: overlapping buffers");
    run_shared(A PUT_A WAIT GATHER("w", "%v") DONE, "gather index 18 is outside 0…15");
    run_shared(A GATHER("w", "%r") DONE, "an element that nobody wrote");
}
END_TEST

#define COUNT "  shared_count %a, %g @41:1-5\n"
#define BINS "  %two: i32[16] = const value=2\n  %g: i32[16] = div %r, %two\n"
#define NONE "  %z: i32[16] = const value=0\n  shared_store %z, %a @42:1-5\n"
/* %w becomes %v where all pairs were counted in their bins, and in no others. */
#define RIGHT                                                                                      \
    "  %e: i32[16] = const value=8\n  %m: i1[16] = cmp %r, %e pred=lt\n"                           \
    "  %s: i32[16] = select %m, %two, %z\n  %same: i1[16] = cmp %u, %s pred=eq\n"                  \
    "  %w: i32[16] = select %same, %v, %z\n"

START_TEST(counts_read_and_write_buffers) {
    run_shared(BINS A NONE WAIT COUNT WAIT GET_A("u") RIGHT DONE, NULL);
    run_shared(BINS A NONE COUNT WAIT GET_A("u") RIGHT DONE,
               "test:41:1: error: missing barrier: read since written");
    run_shared(BINS A NONE WAIT COUNT GET_A("u") RIGHT DONE,
               "test:22:1: error: missing barrier: read since written");
    run_shared(BINS A NONE WAIT GET_A("q") COUNT WAIT GET_A("u") RIGHT DONE,
               "test:41:1: error: missing barrier: overwritten since read");
}
END_TEST

/* Half of the tile is masked off: that may be stored, and read, and counts where it is used. */
#define HALF                                                                                       \
    "  %e: i32[16] = const value=8\n  %m: i1[16] = cmp %r, %e pred=lt\n"                           \
    "  %h: i32[16] = load %xp, %m\n"

START_TEST(undefined_elements_pass_through_shared_memory) {
    run_shared(HALF A
               "  shared_store %h, %a\n" WAIT GET_A("u") "  %w: i32[16] = select %m, %u, %v\n" DONE,
               NULL);
    run_shared(HALF A "  shared_store %h, %a\n" WAIT GET_A("w") DONE,
               "an element that nobody wrote");
}
END_TEST

#define SWIZZLED                                                                                   \
    "  %a: shared<i32[16]>@L0 = buffer_alloc offset=0\n  %b: shared<i32[16]> = buffer_alloc "      \
    "offset=0\n"

/* Written through a swizzle, the buffer's bytes lie in another order: where it says. */
START_TEST(layouts_place_elements_in_shared_memory) {
    int data[16], got[16];
    for (int i = 0; i < 16; i++) data[i] = i * 3;
    const char *text = "kernel @k(%x: ptr<i32>, %y: ptr<i32>) {\n"
                       "  layout @L0 reg=[1,2,5,10] lane=[] warp=[] block=[] out=4\n"
                       "  %r: i32[16] = arange start=0 end=16\n"
                       "  %xs: ptr<i32>[16] = splat %x\n  %xp: ptr<i32>[16] = addptr %xs, %r\n"
                       "  %ys: ptr<i32>[16] = splat %y\n  %yp: ptr<i32>[16] = addptr %ys, %r\n"
                       "  %v: i32[16] = load %xp\n" SWIZZLED PUT_A WAIT
                       "  %w: i32[16] = shared_load %b\n" DONE "}\n";
    Fixture f = fixture();
    give_buffer(&f, "x", data, sizeof data, NULL);
    give_buffer(&f, "y", got, sizeof got, NULL);
    expect_error(&f, text, "overlapping buffers");
    f.checks &= ~(unsigned)CHECK_RACES;
    expect_ok(&f, text);
    for (int at = 0; at < 16; at++) {
        int element = (at & 3) ^ (at & 4 ? 5 : 0) ^ (at & 8 ? 10 : 0);
        ck_assert_int_eq(got[at], data[element]);
    }
}
END_TEST

int main(void) {
    Suite *s = suite_create("interp_tiles");
    TCase *t = tcase_create("tiles");
    tcase_add_test(t, reductions_keep_order_on_every_axis);
    tcase_add_test(t, reductions_take_several_tiles_and_control_flow);
    tcase_add_test(t, regions_use_values_from_outside);
    tcase_add_test(t, scans_go_both_ways_along_an_axis);
    tcase_add_test(t, scans_say_what_comes_before_and_totals);
    tcase_add_test(t, scans_take_several_tiles);
    tcase_add_test(t, tiles_change_shape);
    tcase_add_test(t, matrix_products_of_every_type);
    tcase_add_test(t, fp32_products_take_the_precision_asked_for);
    tcase_add_test(t, products_of_batches_do_not_mix);
    tcase_add_test(t, shared_memory_carries_tiles);
    tcase_add_test(t, layouts_place_elements_in_shared_memory);
    tcase_add_test(t, missing_barriers_are_found);
    tcase_add_test(t, buffers_over_each_other_are_found);
    tcase_add_test(t, what_a_copy_reads_stays_as_it_is);
    tcase_add_test(t, gathers_read_buffers);
    tcase_add_test(t, counts_read_and_write_buffers);
    tcase_add_test(t, undefined_elements_pass_through_shared_memory);
    suite_add_tcase(s, t);
    return run_suite(s);
}
