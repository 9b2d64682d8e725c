/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_interp.c: the interpreter's accesses and control flow, and each check of an access: shown
 * finding a planted mistake, and silent where there is none. */
#include "interp_fixture.h"

/* x[i] to y[i] for i < n, in blocks of 8; what varies between the tests is put in by them. */
#define COPY(mask, between)                                                                        \
    "kernel @copy(%x_ptr: ptr<f32>, %y_ptr: ptr<f32>, %n: i32) num_warps=4 num_stages=3 {\n"       \
    "  %pid: i32 = program_id axis=0\n"                                                            \
    "  %b: i32 = const value=8\n"                                                                  \
    "  %start: i32 = mul %pid, %b\n"                                                               \
    "  %s: i32[8] = splat %start\n"                                                                \
    "  %r: i32[8] = arange start=0 end=8\n"                                                        \
    "  %o: i32[8] = add %s, %r\n"                                                                  \
    "  %nn: i32[8] = splat %n\n"                                                                   \
    "  %m: i1[8] = cmp %o, %nn pred=lt\n"                                                          \
    "  %x: ptr<f32>[8] = splat %x_ptr\n"                                                           \
    "  %xp: ptr<f32>[8] = addptr %x, %o\n"                                                         \
    "  %v: f32[8] = load %xp" mask " @12:9-20\n" between "  %y: ptr<f32>[8] = splat %y_ptr\n"      \
    "  %yp: ptr<f32>[8] = addptr %y, %o\n"                                                         \
    "  store %yp, %v, %m @14:5-30\n"                                                               \
    "  return\n}\n"

static float in[64], out[64];
static uint8_t in_written[sizeof in], out_written[sizeof out];

static Fixture copy_fixture(int n, uint32_t programs) {
    Fixture f = fixture();
    for (int i = 0; i < 64; i++) in[i] = (float)i + 0.5f, out[i] = -1;
    memset(in_written, 1, sizeof in_written);
    memset(out_written, 0, sizeof out_written);
    give_buffer(&f, "x_ptr", in, (size_t)n * sizeof *in, in_written);
    give_buffer(&f, "y_ptr", out, (size_t)n * sizeof *out, out_written);
    give_int(&f, n);
    f.grid[0] = programs;
    return f;
}

START_TEST(copies_what_the_mask_says) {
    Fixture f = copy_fixture(19, 3);
    expect_ok(&f, COPY(", %m", ""));
    for (int i = 0; i < 64; i++) {
        ck_assert(out[i] == (i < 19 ? in[i] : -1.0f));
        ck_assert_int_eq(out_written[(size_t)i * 4 + 3], i < 19);
    }
}
END_TEST

START_TEST(addresses_may_jump) {
    Fixture f = copy_fixture(16, 1);
    expect_ok(&f, "kernel @k(%x_ptr: ptr<f32>, %y_ptr: ptr<f32>, %n: i32) {\n"
                  "  %i: i32[8] = arange start=0 end=8\n  %k: i32[8] = const value=6\n"
                  "  %j: i32[8] = xor %i, %k\n  %d: i32[8] = add %i, %i\n"
                  "  %xs: ptr<f32>[8] = splat %x_ptr\n  %xp: ptr<f32>[8] = addptr %xs, %j\n"
                  "  %v: f32[8] = load %xp\n  %ys: ptr<f32>[8] = splat %y_ptr\n"
                  "  %yp: ptr<f32>[8] = addptr %ys, %d\n  store %yp, %v\n  return\n}\n");
    for (int i = 0; i < 16; i++) ck_assert(out[i] == (i % 2 ? -1 : in[(i / 2) ^ 6]));
}
END_TEST

START_TEST(a_grid_may_be_empty) {
    Fixture f = copy_fixture(19, 0);
    expect_ok(&f, COPY("", ""));
    ck_assert(out[0] == -1.0f);
}
END_TEST

START_TEST(finds_loads_out_of_bounds) {
    Fixture f = copy_fixture(19, 3);
    expect_error(
        &f, COPY("", ""),
        "test:12:9: error: out of bounds: load of 'x_ptr' at element 19 (byte 76 of 76) in "
        "program (2, 0, 0), tile index [3]");
}
END_TEST

START_TEST(finds_stores_out_of_bounds) {
    Fixture f = copy_fixture(16, 2);
    f.buffer[1].bytes = 15 * sizeof *out;
    expect_error(&f, COPY(", %m", ""),
                 "out of bounds: store to 'y_ptr' at element 15 (byte 60 of 60) in program (1, 0, "
                 "0), tile index [7]");
}
END_TEST

START_TEST(finds_what_strays_into_the_next_buffer) {
    Fixture f = copy_fixture(16, 3); /* x_ptr and y_ptr lie behind one another in `in` */
    f.buffer[1].base = (uint8_t *)&in[16];
    f.arg[1].p = (uint64_t)(uintptr_t)&in[16];
    f.arg[2].i = 24;
    f.buffer[1].bytes = 24 * sizeof *in;
    expect_error(&f, COPY(", %m", ""), "load of 'x_ptr' at element 16 (byte 64 of 64)");
}
END_TEST

START_TEST(a_pointer_may_come_from_either_buffer) {
    /* out[i] = i even ? x[i] : y[i], the pointers changing places every time round */
    const char *text = "kernel @k(%x_ptr: ptr<f32>, %y_ptr: ptr<f32>, %n: i32, %o: ptr<f32>) {\n"
                       "  %z: i32 = const value=0\n  %one: i32 = const value=1\n"
                       "  %s: ptr<f32>, %t: ptr<f32> = for %z, %n, %one, %x_ptr, %y_ptr "
                       "{ (%i: i32, %p: ptr<f32>, %q: ptr<f32>)\n"
                       "    %pi: ptr<f32> = addptr %p, %i\n    %v: f32 = load %pi @7:1-5\n"
                       "    %oi: ptr<f32> = addptr %o, %i\n    store %oi, %v\n"
                       "    yield %q, %p\n  }\n  return\n}\n";
    float result[8];
    Fixture f = copy_fixture(8, 1);
    for (int i = 0; i < 8; i++) out[i] = (float)-i;
    memset(out_written, 1, sizeof out_written);
    give_buffer(&f, "o", result, sizeof result, NULL);
    expect_ok(&f, text);
    for (int i = 0; i < 8; i++) ck_assert(result[i] == (i % 2 ? out[i] : in[i]));
    f.buffer[1].bytes = 5 * sizeof *out; /* y[5] is in no buffer */
    expect_error(&f, text, "test:7:1: error: out of bounds: load of 'y_ptr' at element 5");
}
END_TEST

START_TEST(names_elements_before_a_buffer) {
    Fixture f = copy_fixture(8, 1);
    const char *text = "kernel @k(%x_ptr: ptr<f32>, %y_ptr: ptr<f32>, %n: i32) {\n"
                       "  %i: i32 = const value=-3\n"
                       "  %p: ptr<f32> = addptr %x_ptr, %i\n"
                       "  %v: f32 = load %p @3:1-9\n"
                       "  store %y_ptr, %v\n"
                       "  return\n}\n";
    expect_error(&f, text,
                 "load of 'x_ptr' at element -3 (byte -12 of 32) in program (0, 0, 0) [C0001]\n");
}
END_TEST

START_TEST(without_bounds_checks_strays_do_nothing) {
    Fixture f = copy_fixture(16, 3);
    f.arg[2].i = 24;
    f.checks = CHECK_ALL & ~(unsigned)CHECK_BOUNDS;
    in[20] = 7;
    expect_ok(&f, COPY("", ""));
    ck_assert(out[15] == in[15] && out[16] == -1);
}
END_TEST

START_TEST(finds_misaligned_addresses) {
    Fixture f = copy_fixture(16, 1);
    f.arg[0].p += 2;
    expect_error(&f, COPY(", %m", ""),
                 "misaligned: load of 'x_ptr' at byte 2 in program (0, 0, 0), tile index [0]: the "
                 "address of fp32 must be a multiple of 4");
    f.checks &= ~(unsigned)CHECK_ALIGN;
    f.arg[2].i = 8;
    expect_ok(&f, COPY(", %m", ""));
}
END_TEST

/* ---- undefined values ---- */

START_TEST(finds_memory_nobody_wrote) {
    Fixture f = copy_fixture(16, 2);
    in_written[4 * 11 + 2] = 0;
    expect_error(&f, COPY(", %m", ""),
                 "test:14:5: error: uninitialised memory: an element that nobody wrote, loaded at "
                 "line 12, is stored here, in program (1, 0, 0), tile index [3]");
    ck_assert_ptr_nonnull(strstr(f.said, "test:12:9: note: loaded here"));
    f.checks &= ~(unsigned)CHECK_UNINIT;
    expect_ok(&f, COPY(", %m", ""));
    f = copy_fixture(16, 2); /* unwritten, but not loaded: beyond the mask */
    f.arg[2].i = 12;
    in_written[4 * 12] = 0;
    expect_ok(&f, COPY(", %m", ""));
}
END_TEST

#define STORE_ALL                                                                                  \
    "  %w: ptr<f32>[8] = splat %y_ptr\n"                                                           \
    "  %wp: ptr<f32>[8] = addptr %w, %r\n"                                                         \
    "  store %wp, %u @13:5-9\n"
#define ZEROS "  %z: f32[8] = const value=0.0\n"

START_TEST(finds_masked_off_lanes_that_are_stored) {
    Fixture f = copy_fixture(16, 1);
    f.arg[2].i = 5;
    expect_error(
        &f, COPY(", %m", ZEROS "  %u: f32[8] = add %v, %z\n" STORE_ALL),
        "test:13:5: error: a masked-off lane of the load at line 12, which has no `other`, "
        "is stored here, in program (0, 0, 0), tile index [5]");
    ck_assert_ptr_nonnull(strstr(f.said, "test:12:9: note: masked off here"));
    f.checks &= ~(unsigned)CHECK_UNINIT;
    expect_ok(&f, COPY(", %m", ZEROS "  %u: f32[8] = add %v, %z\n" STORE_ALL));
}
END_TEST

START_TEST(a_select_may_hide_masked_off_lanes) {
    Fixture f = copy_fixture(16, 1);
    f.arg[2].i = 5;
    expect_ok(&f, COPY(", %m", ZEROS "  %u: f32[8] = select %m, %v, %z\n" STORE_ALL));
    expect_error(&f, COPY(", %m", ZEROS "  %u: f32[8] = select %m, %z, %v\n" STORE_ALL),
                 "tile index [5]");
}
END_TEST

START_TEST(other_defines_masked_off_lanes) {
    Fixture f = copy_fixture(16, 1);
    f.arg[2].i = 5;
    const char *text = COPY(", %m, %zz", "  %u: f32[8] = add %v, %v\n" STORE_ALL);
    char with[2048]; /* the constant has to come before the load */
    const char *at = strstr(text, "  %v:");
    snprintf(with, sizeof with, "%.*s  %%zz: f32[8] = const value=3.0\n%s", (int)(at - text), text,
             at);
    expect_ok(&f, with);
}
END_TEST

START_TEST(an_undefined_other_matters_only_where_it_is_taken) {
    Fixture f = copy_fixture(16, 1);
    f.arg[2].i = 5;
    expect_ok(&f, COPY(", %m", "  %yes: i1[8] = const value=1\n"
                               "  %u: f32[8] = load %xp, %yes, %v\n" STORE_ALL));
    expect_error(&f, COPY(", %m", "  %u: f32[8] = load %xp, %m, %v\n" STORE_ALL),
                 "a masked-off lane of the load at line 12");
}
END_TEST

START_TEST(sums_over_masked_off_lanes_are_undefined) {
    Fixture f = copy_fixture(16, 1);
    const char *sum = COPY(", %m", "  %t: f32 = reduce %v axis=0 { (%a: f32, %c: f32)\n"
                                   "    %d: f32 = add %a, %c\n    yield %d\n  }\n"
                                   "  store %y_ptr, %t @13:5-9\n");
    f.arg[2].i = 8;
    expect_ok(&f, sum);
    f.arg[2].i = 7;
    expect_error(&f, sum, "a masked-off lane of the load at line 12");
}
END_TEST

#define AS_MASK(first)                                                                             \
    COPY(", %m", ZEROS "  %pos: i1[8] = cmp %v, %z pred=gt\n"                                      \
                       "  %both: i1[8] = and " first "\n  %w: ptr<f32>[8] = splat %y_ptr\n"        \
                       "  %wp: ptr<f32>[8] = addptr %w, %r\n"                                      \
                       "  store %wp, %z, %both @13:5-9\n")

START_TEST(undefined_lanes_are_no_masks_unless_decided) {
    Fixture f = copy_fixture(16, 1);
    f.arg[2].i = 5;
    expect_ok(&f, AS_MASK("%pos, %m")); /* false & anything is false */
    expect_error(&f, AS_MASK("%pos, %pos"), "is used as a mask here");
}
END_TEST

START_TEST(undefined_values_are_no_addresses_branches_or_bounds) {
    static const char *const uses[][2] = {
        {"  %p: ptr<f32> = addptr %y_ptr, %i\n  %q: f32 = load %p @9:1-2\n",
         "part of this address"},
        {"  %c: i1 = cmp %i, %i pred=eq\n  if %c @9:1-2 { yield } { yield }\n",
         "is branched on here"},
        {"  for %i, %one, %one @9:1-2 { (%k: i32) yield }\n", "is a bound of this loop"},
        {"  for %one, %i, %one @9:1-2 { (%k: i32) yield }\n", "is a bound of this loop"},
        {"  %w: i32 = while %i { (%a: i32) %c: i1 = cmp %a, %one pred=ne\n"
         "    condition %c, %a @9:1-2 } { (%e: i32) yield %one }\n",
         "is branched on here"},
    };
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++) {
        char text[1024];
        snprintf(text, sizeof text,
                 "kernel @k(%%x_ptr: ptr<i32>, %%y_ptr: ptr<f32>, %%n: i32) {\n"
                 "  %%one: i32 = const value=1\n"
                 "  %%i: i32 = load %%x_ptr @8:1-5\n%s  return\n}\n",
                 uses[i][0]);
        Fixture f = copy_fixture(16, 1);
        memset(in, 0, sizeof in);
        in[0] = 1.4e-45f; /* as an integer: 1 */
        expect_ok(&f, text);
        in_written[1] = 0;
        expect_error(&f, text, uses[i][1]);
        ck_assert_ptr_nonnull(strstr(f.said, "test:9:1: error"));
        ck_assert_ptr_nonnull(strstr(f.said, "test:8:1: note"));
    }
}
END_TEST

/* ---- offsets that wrap ---- */

/* %o is `op`; `then` makes of it %i, the offset of the load. */
static const char *offset_kernel(const char *op, const char *then) {
    static char text[2048];
    snprintf(text, sizeof text, "%s  %%o: i32 = %s @7:1-5\n%s%s",
             "kernel @k(%x_ptr: ptr<f32>, %y_ptr: ptr<f32>, %n: i32) {\n"
             "  %one: i32 = const value=1\n"
             "  %big: i32 = const value=1073741824\n"
             "  %four: i32 = const value=4\n"
             "  %small: i32 = const value=3\n",
             op, then,
             "  %p: ptr<f32> = addptr %x_ptr, %i\n"
             "  %v: f32 = load %p @9:1-2\n"
             "  store %y_ptr, %v\n  return\n}\n");
    return text;
}

START_TEST(finds_offsets_that_wrapped) {
    static const char *const wrap[][2] = {{"mul %big, %four", "the mul at line 7 wrapped"},
                                          {"shl %big, %four", "the shl at line 7 wrapped"}};
    const char *same = "  %i: i32 = add %o, %small\n";
    for (int i = 0; i < 2; i++) {
        Fixture f = copy_fixture(16, 1);
        expect_error(&f, offset_kernel(wrap[i][0], same), wrap[i][1]);
        ck_assert_ptr_nonnull(strstr(f.said, "test:9:1: error: int32 overflow in an offset"));
        ck_assert_ptr_nonnull(strstr(f.said, "test:7:1: note: it wrapped here"));
        f.checks &= ~(unsigned)CHECK_OVERFLOW;
        expect_ok(&f, offset_kernel(wrap[i][0], same)); /* wraps to 0: in bounds, by chance */
        ck_assert(out[0] == in[3]);
    }
}
END_TEST

START_TEST(what_does_not_wrap_or_is_a_hash_is_an_offset) {
    Fixture f = copy_fixture(16, 1);
    expect_ok(&f, offset_kernel("mul %small, %four", "  %i: i32 = add %o, %small\n"));
    ck_assert(out[0] == in[15]);
    expect_ok(&f, offset_kernel("mul %big, %four", "  %i: i32 = and %o, %small\n"));
    expect_ok(&f, offset_kernel("mul %big, %four", "  %c: i1 = cmp %o, %one pred=lt\n"
                                                   "  %i: i32 = select %c, %one, %small\n"));
    expect_error(&f,
                 offset_kernel("mul %big, %four", "  %c: i1 = cmp %o, %one pred=lt\n"
                                                  "  %i: i32 = select %c, %o, %small\n"),
                 "int32 overflow");
}
END_TEST

START_TEST(narrowing_casts_that_lose_bits_wrap) {
    Fixture f = copy_fixture(16, 1);
    const char *widen = "add %big, %one";
    expect_error(&f,
                 offset_kernel(widen, "  %w: i64 = cast %o\n  %w2: i64 = mul %w, %w\n"
                                      "  %i: i32 = cast %w2 @8:1-5\n"),
                 "the cast at line 8 wrapped");
    expect_ok(&f, offset_kernel("add %small, %one", "  %w: i64 = cast %o\n"
                                                    "  %w2: i64 = add %w, %w\n"
                                                    "  %i: i32 = cast %w2\n"));
    ck_assert(out[0] == in[8]);
}
END_TEST

/* ---- control ---- */

static int64_t run_scalar(const char *body, int64_t x, int64_t y) {
    char text[2048];
    int64_t result = -1;
    snprintf(text, sizeof text, "kernel @k(%%r: ptr<i64>, %%x: i64, %%y: i64) {\n%s}\n", body);
    Fixture f = fixture();
    give_buffer(&f, "r", &result, sizeof result, NULL);
    give_int(&f, x);
    give_int(&f, y);
    expect_ok(&f, text);
    return result;
}

#define COUNT(type)                                                                                \
    "  %zero: i64 = const value=0\n  %a: " type " = cast %x\n  %b: " type " = cast %y\n"           \
    "  %d: " type " = const value=STEP\n"                                                          \
    "  %s: i64 = for %a, %b, %d, %zero { (%i: " type ", %acc: i64)\n"                              \
    "    %w: i64 = cast %i\n    %k: i64 = const value=1000\n    %sh: i64 = mul %acc, %k\n"         \
    "    %n: i64 = add %sh, %w\n    yield %n\n  }\n  store %r, %s\n  return\n"

static int64_t count(const char *text, const char *step, int64_t x, int64_t y) {
    char body[1024];
    const char *at = strstr(text, "STEP");
    snprintf(body, sizeof body, "%.*s%s%s", (int)(at - text), text, step, at + 4);
    return run_scalar(body, x, y);
}

START_TEST(for_counts_up_and_down) {
    ck_assert_int_eq(count(COUNT("i32"), "2", 1, 7), 1003005);
    ck_assert_int_eq(count(COUNT("i32"), "1", 5, 5), 0);
    ck_assert_int_eq(count(COUNT("i32"), "1", 6, 5), 0);
    ck_assert_int_eq(count(COUNT("i32"), "-3", 7, 0), 7004001);
    ck_assert_int_eq(count(COUNT("i64"), "4", 0, 9), 4008);
    ck_assert_int_eq(count(COUNT("u32"), "1", 4294967294, 4294967295), 4294967294);
    /* the next index would be beyond the type */
    ck_assert_int_eq(count(COUNT("i8"), "100", 27, 127), 27);
    ck_assert_int_eq(count(COUNT("i8"), "-100", -28, -128), -28);
    ck_assert_int_eq(count(COUNT("u64"), "8", -5, -1), -5);
    ck_assert_int_eq(count(COUNT("i64"), "8", INT64_MAX - 5, INT64_MAX), INT64_MAX - 5);
    ck_assert_int_eq(count(COUNT("i64"), "-8", INT64_MIN + 5, INT64_MIN), INT64_MIN + 5);
}
END_TEST

START_TEST(a_step_of_zero_is_an_error) {
    Fixture f = fixture();
    int64_t r = 0;
    give_buffer(&f, "r", &r, sizeof r, NULL);
    give_int(&f, 0);
    expect_error(&f,
                 "kernel @k(%r: ptr<i64>, %x: i64) {\n  %n: i64 = const value=5\n"
                 "  for %x, %n, %x @3:1-4 { (%i: i64) yield }\n  return\n}\n",
                 "test:3:1: error: the step of this loop is 0 in program (0, 0, 0)");
}
END_TEST

START_TEST(carried_values_change_places) {
    const char *fibonacci =
        "  %o: i64 = const value=1\n  %z: i64 = const value=0\n"
        "  %f: i64, %g: i64 = for %z, %x, %o, %z, %o { (%i: i64, %a: i64, %b: i64)\n"
        "    %c: i64 = add %a, %b\n    yield %b, %c\n  }\n"
        "  store %r, %f\n  return\n";
    ck_assert_int_eq(run_scalar(fibonacci, 50, 0), 12586269025);
    const char *swap = "  %o: i64 = const value=1\n  %z: i64 = const value=0\n"
                       "  %f: i64, %g: i64 = for %z, %x, %o, %x, %y { (%i: i64, %a: i64, %b: i64)\n"
                       "    yield %b, %a\n  }\n  %d: i64 = sub %f, %g\n"
                       "  store %r, %d\n  return\n";
    ck_assert_int_eq(run_scalar(swap, 4, 10), -6);
    ck_assert_int_eq(run_scalar(swap, 5, 10), 5);
}
END_TEST

START_TEST(if_takes_one_arm) {
    const char *max = "  %c: i1 = cmp %x, %y pred=gt\n"
                      "  %m: i64, %w: i64 = if %c { %k: i64 = const value=100 yield %x, %k }\n"
                      "    { %k2: i64 = const value=200 yield %y, %k2 }\n"
                      "  %s: i64 = add %m, %w\n  store %r, %s\n  return\n";
    ck_assert_int_eq(run_scalar(max, 3, 9), 209);
    ck_assert_int_eq(run_scalar(max, 9, 3), 109);
}
END_TEST

static const char collatz[] = "  %o: i64 = const value=1\n  %z: i64 = const value=0\n"
                              "  %two: i64 = const value=2\n  %three: i64 = const value=3\n"
                              "  %n: i64, %steps: i64 = while %x, %z { (%a: i64, %s: i64)\n"
                              "    %go: i1 = cmp %a, %o pred=ne\n    condition %go, %a, %s\n"
                              "  } { (%b: i64, %t: i64)\n"
                              "    %odd: i64 = rem %b, %two\n    %c: i1 = cmp %odd, %o pred=eq\n"
                              "    %v: i64 = if %c {\n"
                              "      %m: i64 = mul %b, %three\n      %p: i64 = add %m, %o\n"
                              "      yield %p\n    } {\n      %h: i64 = div %b, %two\n"
                              "      yield %h\n    }\n    %u: i64 = add %t, %o\n    yield %v, %u\n"
                              "  }\n  store %r, %steps\n  return\n";

START_TEST(while_goes_on_while_it_may) {
    ck_assert_int_eq(run_scalar(collatz, 27, 0), 111);
    ck_assert_int_eq(run_scalar(collatz, 1, 0), 0);
}
END_TEST

START_TEST(endless_loops_are_found) {
    Fixture f = fixture();
    int64_t r = 0;
    char text[2048];
    snprintf(text, sizeof text, "kernel @k(%%r: ptr<i64>, %%x: i64, %%y: i64) {\n%s}\n", collatz);
    give_buffer(&f, "r", &r, sizeof r, NULL);
    give_int(&f, 0); /* 0, 0, 0 … */
    give_int(&f, 0);
    f.max_steps = 5000;
    expect_error(&f, text, "program (0, 0, 0) ran 5000 steps: an endless loop?");
}
END_TEST

/* `if`s in each other, the text parser having a limit of its own. */
static bool run_nested(int depth, char *said, size_t size, int64_t *result) {
    Session s;
    if (setjmp(s.bail)) {
        session_free(&s);
        return false;
    }
    session_init(&s);
    Module *m = ir_module(&s);
    Func *f = ir_func(m, "k");
    Value *to = ir_param(
        &s, f, &(Param){.name = "r", .type = type_pointer_to(type_scalar(EL_I64)), .divisible = 1});
    Builder b = {.s = &s, .f = f, .block = f->body};
    Value *yes = ir_const_int(&b, type_scalar(EL_I1), 1);
    for (int i = 0; i < depth; i++) {
        Op *op = ir_op(&b, OP_IF, &yes, 1, NULL, 0, 2);
        Builder after = {.s = &s, .f = f, .block = op->region[1]};
        ir_op(&after, OP_YIELD, NULL, 0, NULL, 0, 0);
        b.block = op->region[0];
    }
    Value *v = ir_const_int(&b, type_scalar(EL_I64), 5);
    ir_op(&b, OP_STORE, (Value *[]){to, v}, 2, NULL, 0, 0);
    while (b.block != f->body) {
        ir_op(&b, OP_YIELD, NULL, 0, NULL, 0, 0);
        b.block = b.block->parent->block;
    }
    ir_op(&b, OP_RETURN, NULL, 0, NULL, 0, 0);
    InterpArg arg = {.p = (uint64_t)(uintptr_t)result};
    InterpBuffer buffer = {.base = (uint8_t *)result, .bytes = sizeof *result};
    InterpLaunch launch = {.module = m,
                           .func = f,
                           .arg = &arg,
                           .buffer = &buffer,
                           .nbuffers = 1,
                           .grid = {1, 1, 1},
                           .checks = CHECK_ALL};
    bool ok = interp_run(&s, &launch);
    snprintf(said, size, "%s", s.diags.first ? s.diags.first->text : "");
    session_free(&s);
    return ok;
}

START_TEST(deep_nesting_is_refused) {
    char said[256];
    int64_t result = 0;
    ck_assert_msg(run_nested(150, said, sizeof said, &result), "%s", said);
    ck_assert_int_eq(result, 5);
    ck_assert(!run_nested(250, said, sizeof said, &result));
    ck_assert_str_eq(said, "regions are nested deeper than 200");
}
END_TEST

START_TEST(unsound_functions_are_refused) {
    Session s;
    if (setjmp(s.bail)) ck_abort_msg("the session bailed out");
    session_init(&s);
    Module *m = ir_module(&s);
    InterpLaunch launch = {.module = m, .func = ir_func(m, "k"), .grid = {1, 1, 1}};
    ck_assert(!interp_run(&s, &launch)); /* an empty body */
    ck_assert_int_eq(s.diags.errors, 1);
    session_free(&s);
}
END_TEST

int main(void) {
    Suite *s = suite_create("interp");
    TCase *t = tcase_create("access");
    tcase_add_test(t, copies_what_the_mask_says);
    tcase_add_test(t, addresses_may_jump);
    tcase_add_test(t, a_grid_may_be_empty);
    tcase_add_test(t, finds_loads_out_of_bounds);
    tcase_add_test(t, finds_stores_out_of_bounds);
    tcase_add_test(t, finds_what_strays_into_the_next_buffer);
    tcase_add_test(t, a_pointer_may_come_from_either_buffer);
    tcase_add_test(t, names_elements_before_a_buffer);
    tcase_add_test(t, without_bounds_checks_strays_do_nothing);
    tcase_add_test(t, finds_misaligned_addresses);
    tcase_add_test(t, finds_memory_nobody_wrote);
    tcase_add_test(t, finds_masked_off_lanes_that_are_stored);
    tcase_add_test(t, a_select_may_hide_masked_off_lanes);
    tcase_add_test(t, other_defines_masked_off_lanes);
    tcase_add_test(t, an_undefined_other_matters_only_where_it_is_taken);
    tcase_add_test(t, sums_over_masked_off_lanes_are_undefined);
    tcase_add_test(t, undefined_lanes_are_no_masks_unless_decided);
    tcase_add_test(t, undefined_values_are_no_addresses_branches_or_bounds);
    tcase_add_test(t, finds_offsets_that_wrapped);
    tcase_add_test(t, what_does_not_wrap_or_is_a_hash_is_an_offset);
    tcase_add_test(t, narrowing_casts_that_lose_bits_wrap);
    suite_add_tcase(s, t);
    t = tcase_create("control");
    tcase_add_test(t, for_counts_up_and_down);
    tcase_add_test(t, a_step_of_zero_is_an_error);
    tcase_add_test(t, carried_values_change_places);
    tcase_add_test(t, if_takes_one_arm);
    tcase_add_test(t, while_goes_on_while_it_may);
    tcase_add_test(t, endless_loops_are_found);
    tcase_add_test(t, deep_nesting_is_refused);
    tcase_add_test(t, unsound_functions_are_refused);
    suite_add_tcase(s, t);
    return run_suite(s);
}
