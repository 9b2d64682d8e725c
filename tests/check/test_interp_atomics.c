/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_interp_atomics.c: atomics on the CPU device: every operation on every type it takes, old
 * values, masks, several lanes at one address, and the checks of their accesses; and the operations
 * with text: print, assert, inline assembly. */
#include "interp_fixture.h"

#include <math.h>

enum { LANES = 8 };

/* x[i] by y[i] with `atomic`, old values to o[i]; t is the type. */
static void text_of(char *text, size_t size, const char *t, const char *atomic) {
    snprintf(text, size,
             "kernel @k(%%x: ptr<%s>, %%y: ptr<%s>, %%o: ptr<%s>) {\n"
             "  %%r: i32[8] = arange start=0 end=8\n"
             "  %%xs: ptr<%s>[8] = splat %%x\n  %%xp: ptr<%s>[8] = addptr %%xs, %%r\n"
             "  %%ys: ptr<%s>[8] = splat %%y\n  %%yp: ptr<%s>[8] = addptr %%ys, %%r\n"
             "  %%os: ptr<%s>[8] = splat %%o\n  %%op: ptr<%s>[8] = addptr %%os, %%r\n"
             "  %%v: %s[8] = load %%yp\n  %%old: %s[8] = %s\n  store %%op, %%old\n  return\n}\n",
             t, t, t, t, t, t, t, t, t, t, t, atomic);
}

static uint64_t get(Elem e, const void *p, int i) {
    uint64_t bits = 0;
    size_t size = (size_t)elem_info[e].bytes;
    memcpy(&bits, (const char *)p + (size_t)i * size, size);
    return bits;
}

static void put(Elem e, void *p, int i, uint64_t bits) {
    size_t size = (size_t)elem_info[e].bytes;
    memcpy((char *)p + (size_t)i * size, &bits, size);
}

static uint64_t int_result(Elem e, const char *rmw, uint64_t a, uint64_t b) {
    int64_t x = elem_wrap(e, (int64_t)a), y = elem_wrap(e, (int64_t)b);
    bool less = elem_info[e].class_ == ELEM_U ? (uint64_t)x < (uint64_t)y : x < y;
    uint64_t v = strcmp(rmw, "add") == 0   ? a + b
                 : strcmp(rmw, "max") == 0 ? (less ? b : a)
                 : strcmp(rmw, "min") == 0 ? (less ? a : b)
                 : strcmp(rmw, "and") == 0 ? (a & b)
                 : strcmp(rmw, "or") == 0  ? (a | b)
                 : strcmp(rmw, "xor") == 0 ? (a ^ b)
                                           : b;
    return elem_info[e].bytes == 4 ? v & UINT32_MAX : v;
}

START_TEST(integers_combine) {
    static const char *const rmws[] = {"add", "max", "min", "and", "or", "xor", "xchg"};
    static const Elem elems[] = {EL_I32, EL_U32, EL_I64, EL_U64};
    uint64_t seed = 5;
    for (int k = 0; k < 7; k++)
        for (int j = 0; j < 4; j++) {
            Elem e = elems[j];
            uint64_t x[LANES] = {0}, y[LANES] = {0}, o[LANES] = {0}, before[LANES];
            for (int i = 0; i < LANES; i++) {
                put(e, x, i, random_bits(&seed));
                put(e, y, i, random_bits(&seed));
            }
            memcpy(before, x, sizeof x);
            char text[2048], atomic[64];
            snprintf(atomic, sizeof atomic, "atomic %%xp, %%v rmw=%s", rmws[k]);
            text_of(text, sizeof text, elem_info[e].text, atomic);
            Fixture f = fixture();
            give_buffer(&f, "x", x, sizeof x, NULL);
            give_buffer(&f, "y", y, sizeof y, NULL);
            give_buffer(&f, "o", o, sizeof o, NULL);
            expect_ok(&f, text);
            for (int i = 0; i < LANES; i++) {
                uint64_t a = get(e, before, i), b = get(e, y, i);
                ck_assert_uint_eq(get(e, o, i), a);
                ck_assert_uint_eq(get(e, x, i), int_result(e, rmws[k], a, b));
            }
        }
}
END_TEST

START_TEST(floats_combine) {
    static const struct {
        Elem elem;
        const char *rmw;
    } cases[] = {{EL_F16, "add"},  {EL_BF16, "add"}, {EL_F32, "add"}, {EL_F64, "add"},
                 {EL_F32, "max"},  {EL_F32, "min"},  {EL_F64, "max"}, {EL_F64, "min"},
                 {EL_F16, "xchg"}, {EL_F32, "xchg"}, {EL_F64, "xchg"}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        Elem e = cases[k].elem;
        double a[LANES] = {1, -2.5, 0, 100, 0.1, 3e4, -7, INFINITY};
        double b[LANES] = {2, -2.75, 4, 0.03125, 0.2, 3e4, 7, 1};
        uint64_t x[LANES] = {0}, y[LANES] = {0}, o[LANES] = {0};
        for (int i = 0; i < LANES; i++) {
            put(e, x, i, elem_from_double(e, a[i]));
            put(e, y, i, elem_from_double(e, b[i]));
        }
        char text[2048], atomic[64];
        snprintf(atomic, sizeof atomic, "atomic %%xp, %%v rmw=%s sem=relaxed", cases[k].rmw);
        text_of(text, sizeof text, elem_info[e].text, atomic);
        Fixture f = fixture();
        give_buffer(&f, "x", x, sizeof x, NULL);
        give_buffer(&f, "y", y, sizeof y, NULL);
        give_buffer(&f, "o", o, sizeof o, NULL);
        expect_ok(&f, text);
        for (int i = 0; i < LANES; i++) {
            double p = elem_to_double(e, elem_from_double(e, a[i]));
            double q = elem_to_double(e, get(e, y, i));
            double want = cases[k].rmw[0] == 'a'   ? p + q
                          : cases[k].rmw[0] == 'x' ? q
                          : cases[k].rmw[1] == 'a' ? fmax(p, q)
                                                   : fmin(p, q);
            ck_assert_uint_eq(get(e, o, i), elem_from_double(e, a[i]));
            ck_assert_uint_eq(get(e, x, i), elem_from_double(e, want));
        }
    }
}
END_TEST

START_TEST(one_address_takes_every_lane) {
    /* All lanes add to x[0]: the old values are the sums so far. */
    int x[LANES] = {100}, y[LANES], o[LANES], sum = 100;
    for (int i = 0; i < LANES; i++) y[i] = i * i + 1;
    char text[2048];
    text_of(text, sizeof text, "i32", "atomic %xs, %v rmw=add");
    Fixture f = fixture();
    give_buffer(&f, "x", x, sizeof x, NULL);
    give_buffer(&f, "y", y, sizeof y, NULL);
    give_buffer(&f, "o", o, sizeof o, NULL);
    expect_ok(&f, text);
    for (int i = 0; i < LANES; i++) {
        ck_assert_int_eq(o[i], sum);
        sum += y[i];
    }
    ck_assert_int_eq(x[0], sum);
}
END_TEST

#define MASKED(after)                                                                              \
    "kernel @k(%x: ptr<i32>, %o: ptr<i32>) {\n"                                                    \
    "  %r: i32[8] = arange start=0 end=8\n  %k: i32 = const value=5\n"                             \
    "  %ks: i32[8] = splat %k\n  %m: i1[8] = cmp %r, %ks pred=lt\n"                                \
    "  %xs: ptr<i32>[8] = splat %x\n  %xp: ptr<i32>[8] = addptr %xs, %r\n"                         \
    "  %os: ptr<i32>[8] = splat %o\n  %op: ptr<i32>[8] = addptr %os, %r\n"                         \
    "  %old: i32[8] = atomic %xp, %ks, %m rmw=add @3:1-9\n  store %op, %old" after "  return\n}\n"

START_TEST(masks_leave_lanes_alone) {
    int x[5] = {1, 2, 3, 4, 5}, o[8];
    memset(o, 0xff, sizeof o);
    Fixture f = fixture();
    give_buffer(&f, "x", x, sizeof x, NULL);
    give_buffer(&f, "o", o, sizeof o, NULL);
    expect_ok(&f, MASKED(", %m\n"));
    for (int i = 0; i < 8; i++) ck_assert_int_eq(o[i], i < 5 ? i + 1 : -1);
    for (int i = 0; i < 5; i++) ck_assert_int_eq(x[i], i + 6);
    expect_error(&f, MASKED("\n"),
                 "a masked-off lane of the atomic at line 3 is stored here, in program (0, 0, 0), "
                 "tile index [5]");
}
END_TEST

START_TEST(compare_and_swap) {
    static const Elem elems[] = {EL_I16, EL_I32, EL_U32, EL_I64, EL_U64, EL_F16, EL_F32, EL_F64};
    for (size_t k = 0; k < sizeof elems / sizeof *elems; k++) {
        Elem e = elems[k];
        uint64_t x[LANES] = {0}, y[LANES] = {0}, o[LANES] = {0};
        for (int i = 0; i < LANES; i++) {
            put(e, x, i, (uint64_t)(1000 + i));
            put(e, y, i, (uint64_t)(1000 + (i % 2 ? i : 77))); /* the odd ones agree */
        }
        char text[2048];
        text_of(text, sizeof text, elem_info[e].text, "atomic_cas %xp, %v, %z");
        char *at = strstr(text, "  %old"), whole[3072];
        snprintf(whole, sizeof whole, "%.*s  %%z: %s[8] = const value=0\n%s", (int)(at - text),
                 text, elem_info[e].text, at);
        Fixture f = fixture();
        give_buffer(&f, "x", x, sizeof x, NULL);
        give_buffer(&f, "y", y, sizeof y, NULL);
        give_buffer(&f, "o", o, sizeof o, NULL);
        expect_ok(&f, whole);
        for (int i = 0; i < LANES; i++) {
            ck_assert_uint_eq(get(e, o, i), (uint64_t)(1000 + i));
            ck_assert_uint_eq(get(e, x, i), i % 2 ? 0 : (uint64_t)(1000 + i));
        }
    }
}
END_TEST

#define SCALAR(op)                                                                                 \
    "kernel @k(%x: ptr<i32>, %o: ptr<i32>, %n: i32) {\n"                                           \
    "  %k: i32 = const value=5\n  %p: ptr<i32> = addptr %x, %n\n  %old: i32 = " op " @4:9-30\n"    \
    "  store %o, %old @5:5-20\n  return\n}\n"

START_TEST(accesses_are_checked) {
    int x[4] = {7, 8, 9, 10}, o = 0;
    uint8_t written[sizeof x];
    memset(written, 1, sizeof written);
    Fixture f = fixture();
    give_buffer(&f, "x", x, sizeof x, written);
    give_buffer(&f, "o", &o, sizeof o, NULL);
    give_int(&f, 3);
    expect_ok(&f, SCALAR("atomic %p, %k rmw=max"));
    ck_assert(o == 10 && x[3] == 10);
    f.arg[2].i = 4;
    expect_error(&f, SCALAR("atomic %p, %k rmw=add"),
                 "test:4:9: error: out of bounds: atomic on 'x' at element 4 (byte 16 of 16) in "
                 "program (0, 0, 0)");
    f.arg[2].i = -1;
    expect_error(&f, SCALAR("atomic_cas %p, %k, %k"), "out of bounds: atomic on 'x' at element -1");
    f.arg[2].i = 2;
    f.checks = CHECK_ALL & ~(unsigned)CHECK_BOUNDS;
    f.arg[2].i = 1000000;
    expect_ok(&f, SCALAR("atomic %p, %k rmw=add"));
    ck_assert_int_eq(o, 0);
}
END_TEST

START_TEST(place_of_what_nobody_wrote) {
    int x = 3, o = 0;
    uint8_t written[sizeof x] = {0};
    Fixture f = fixture();
    give_buffer(&f, "x", &x, sizeof x, written);
    give_buffer(&f, "o", &o, sizeof o, NULL);
    static const char text[] = "kernel @k(%x: ptr<i32>, %o: ptr<i32>) {\n"
                               "  %v: i32 = load %x\n"
                               "  %n: i32 = const value=9\n"
                               "  %at: i32, %there: i1 = cluster_place %v, %n\n"
                               "  store %o, %at\n"
                               "  return\n}\n";
    expect_error(&f, text, "an element that nobody wrote, loaded at line 2, is stored here");
    memset(written, 1, sizeof written);
    expect_ok(&f, text);
    ck_assert_int_eq(o, 3);
}
END_TEST

START_TEST(memory_nobody_wrote_is_not_combined) {
    int x[2] = {7, 8}, o = 0;
    uint8_t written[sizeof x] = {0};
    Fixture f = fixture();
    give_buffer(&f, "x", x, sizeof x, written);
    give_buffer(&f, "o", &o, sizeof o, NULL);
    give_int(&f, 0);
    expect_error(&f, SCALAR("atomic %p, %k rmw=add"),
                 "test:4:9: error: uninitialised memory: an element that nobody wrote, loaded at "
                 "line 4, is stored here");
    expect_error(&f, SCALAR("atomic_cas %p, %k, %k"), "is compared here");
    ck_assert(x[0] == 7 && !written[0]);
    expect_error(&f, SCALAR("atomic %p, %k rmw=xchg"), /* that is fine, but the old value is not */
                 "test:5:5: error: uninitialised memory");
    ck_assert(x[0] == 5 && written[0] && written[3] && !written[4]);
    expect_ok(&f, SCALAR("atomic %p, %k rmw=add"));
    ck_assert(o == 5 && x[0] == 10);
}
END_TEST

START_TEST(types_without_an_atomic_are_refused) {
    Fixture f = fixture();
    float x = 0, o = 0;
    give_buffer(&f, "x", &x, sizeof x, NULL);
    give_buffer(&f, "o", &o, sizeof o, NULL);
    expect_error(&f,
                 "kernel @k(%x: ptr<f32>, %o: ptr<f32>) {\n  %k: f32 = const value=0x0\n"
                 "  %p: f32 = atomic %x, %k rmw=xor\n  store %o, %p\n  return\n}\n",
                 "there is no such atomic for this element type");
}
END_TEST

/* ---- text ---- */

#define ASSERTS(constant)                                                                          \
    "kernel @k(%x: ptr<i32>) {\n  %r: i32[8] = arange start=0 end=8\n"                             \
    "  %k: i32 = const value=" constant "\n  %ks: i32[8] = splat %k\n"                             \
    "  %m: i1[8] = cmp %r, %ks pred=lt\n  assert %m text=\"r < k\" @6:5-20\n"                      \
    "  store %x, %k\n  return\n}\n"

START_TEST(assertions_end_the_run) {
    int x = 0;
    Fixture f = fixture();
    give_buffer(&f, "x", &x, sizeof x, NULL);
    expect_error(&f, ASSERTS("6"),
                 "test:6:5: error: assertion failed: r < k in program (0, 0, 0), tile index [6]");
    ck_assert_int_eq(x, 0);
    expect_ok(&f, ASSERTS("8"));
    ck_assert_int_eq(x, 8);
}
END_TEST

START_TEST(undefined_values_are_not_asserted) {
    int x = 1;
    uint8_t written[sizeof x] = {0};
    Fixture f = fixture();
    give_buffer(&f, "x", &x, sizeof x, written);
    expect_error(&f,
                 "kernel @k(%x: ptr<i32>) {\n  %v: i32 = load %x\n  %b: i1 = cast %v\n"
                 "  assert %b text=\"\"\n  return\n}\n",
                 "is asserted here");
}
END_TEST

START_TEST(inline_assembly_is_for_gpus) {
    int x = 0;
    Fixture f = fixture();
    give_buffer(&f, "x", &x, sizeof x, NULL);
    const char *text = "kernel @k(%x: ptr<i32>) {\n  %v: i32 = load %x\n  %c: i1 = cast %v\n"
                       "  if %c {\n    %w: i32 = inline_asm %v text=\"mov.b32 $0, $1;\" "
                       "constraints=\"=r,r\" pure=1 pack=1 @5:7-20\n    store %x, %w\n    yield\n"
                       "  } {\n    yield\n  }\n  return\n}\n";
    expect_ok(&f, text); /* not come to */
    x = 1;
    expect_error(&f, text, "test:5:7: error: inline assembly runs on GPUs only");
}
END_TEST

static char printed[8192];

static void keep(void *user, const char *text, size_t len) {
    size_t *at = user;
    ck_assert(*at + len < sizeof printed && text[len - 1] == '\n');
    memcpy(printed + *at, text, len);
    *at += len;
    printed[*at] = '\0';
}

START_TEST(prints_a_line_for_each_element) {
    int x = 0;
    size_t at = 0;
    Fixture f = fixture();
    give_buffer(&f, "x", &x, sizeof x, NULL);
    f.print = keep;
    f.print_user = &at;
    f.grid[0] = 2;
    expect_ok(&f, "kernel @k(%x: ptr<i32>) {\n  %r: i32[2] = arange start=-1 end=1\n"
                  "  %f: f32[2] = cast %r\n  %p: i32 = program_id axis=0\n"
                  "  print %f, %p text=\"v\"\n  print %r text=\" h:\" hex=1\n"
                  "  print text=\" end\"\n  return\n}\n");
    ck_assert_str_eq(printed, "pid (0, 0, 0) idx (0) v: (operand 0) -1.000000\n"
                              "pid (0, 0, 0) idx (1) v: (operand 0) 0.000000\n"
                              "pid (0, 0, 0) idx () v: (operand 1) 0\n"
                              "pid (0, 0, 0) idx (0) h: 0xffffffff\n"
                              "pid (0, 0, 0) idx (1) h: 0x00000000\n"
                              "pid (0, 0, 0) end\n"
                              "pid (1, 0, 0) idx (0) v: (operand 0) -1.000000\n"
                              "pid (1, 0, 0) idx (1) v: (operand 0) 0.000000\n"
                              "pid (1, 0, 0) idx () v: (operand 1) 1\n"
                              "pid (1, 0, 0) idx (0) h: 0xffffffff\n"
                              "pid (1, 0, 0) idx (1) h: 0x00000000\n"
                              "pid (1, 0, 0) end\n");
    at = 0;
    f.grid[0] = 1;
    expect_ok(&f, "kernel @k(%x: ptr<i32>) {\n  %r: i32[32] = arange start=0 end=32\n"
                  "  %m: i32[2,16] = reshape %r\n  print %m text=\"\"\n  return\n}\n");
    ck_assert_ptr_nonnull(strstr(printed, "idx (0,  9): 9\n"));
    ck_assert_ptr_nonnull(strstr(printed, "idx (1, 15): 31\n"));
    at = 0;
    expect_ok(&f, "kernel @k(%x: ptr<i32>) {\n  %r: i32[1] = arange start=-3 end=-2\n"
                  "  %f: f32[1] = cast %r\n  %h: f16[1] = cast %f\n  %e: f8e5[1] = cast %f\n"
                  "  print %f text=\"f\" hex=1\n  print %h text=\"h\" hex=1\n"
                  "  print %e text=\"e\" hex=1\n  return\n}\n");
    ck_assert_str_eq(printed, "pid (0, 0, 0) idx (0) f: -0x1.8p+1\n"
                              "pid (0, 0, 0) idx (0) h: -0x1.8p+1\n"
                              "pid (0, 0, 0) idx (0) e: 0xc2\n");
}
END_TEST

int main(void) {
    Suite *s = suite_create("interp_atomics");
    TCase *t = tcase_create("atomics");
    tcase_add_test(t, integers_combine);
    tcase_add_test(t, floats_combine);
    tcase_add_test(t, one_address_takes_every_lane);
    tcase_add_test(t, masks_leave_lanes_alone);
    tcase_add_test(t, compare_and_swap);
    tcase_add_test(t, accesses_are_checked);
    tcase_add_test(t, place_of_what_nobody_wrote);
    tcase_add_test(t, memory_nobody_wrote_is_not_combined);
    tcase_add_test(t, types_without_an_atomic_are_refused);
    tcase_add_test(t, assertions_end_the_run);
    tcase_add_test(t, undefined_values_are_not_asserted);
    tcase_add_test(t, inline_assembly_is_for_gpus);
    tcase_add_test(t, prints_a_line_for_each_element);
    suite_add_tcase(s, t);
    return run_suite(s);
}
