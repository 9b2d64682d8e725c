/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_interp_programs.c: several programs of one launch: those that wait for each other go on, or
 * are found never to; races between them are found, and what is ordered is not taken for one. */
#include "interp_fixture.h"

#include <time.h>

#define HEAD                                                                                       \
    "kernel @k(%lock: ptr<i32>, %data: ptr<i32>, %out: ptr<i32>) {\n"                              \
    "  %pid: i32 = program_id axis=0\n  %zero: i32 = const value=0\n  %one: i32 = const value=1\n"

static int lock[16], data[64], out[256];

static Fixture programs(uint32_t n) {
    Fixture f = fixture();
    memset(lock, 0, sizeof lock);
    memset(data, 0, sizeof data);
    memset(out, 0, sizeof out);
    give_buffer(&f, "lock", lock, sizeof lock, NULL);
    give_buffer(&f, "data", data, sizeof data, NULL);
    give_buffer(&f, "out", out, sizeof out, NULL);
    f.grid[0] = n;
    return f;
}

/* ---- waiting ---- */

/* Until `read` gives `until`; "ne" goes on while they differ. */
#define SPIN(read, until, line)                                                                    \
    "  while {\n    %got" line ": i32 = " read " @" line ":9-20\n"                                 \
    "    %more" line ": i1 = cmp %got" line ", " until " pred=ne\n    condition %more" line        \
    "\n  } {\n    yield\n  }\n"
#define TAKE SPIN("atomic_cas %lock, %zero, %one", "%zero", "9")
#define GIVE "  %was: i32 = atomic %lock, %zero rmw=xchg\n"

/* The first program takes what the last one makes. */
#define HAND_OFF(grid, last, acquire, release)                                                     \
    HEAD "  %n: i32 = const value=" last "\n  %is_last: i1 = cmp %pid, %n pred=eq\n"               \
         "  if %is_last {\n    store %data, %n @20:5-9\n"                                          \
         "    %o: i32 = atomic %lock, %one rmw=xchg" release                                       \
         "\n    yield\n  } {\n    yield\n  }\n"                                                    \
         "  %is_first: i1 = cmp %pid, %zero pred=eq\n  if %is_first {\n" SPIN(                     \
             "atomic_cas %lock, %one, %one" acquire, "%one",                                       \
             "30") "    %v: i32 = load %data @31:5-9\n    store %out, %v\n    yield\n  } {\n    "  \
                   "yield\n  }\n"                                                                  \
                   "  return\n}\n"

START_TEST(a_later_program_may_release) {
    Fixture f = programs(9);
    expect_ok(&f, HAND_OFF("9", "8", "", ""));
    ck_assert_int_eq(out[0], 8);
    f = programs(9);
    expect_ok(&f, HAND_OFF("9", "8", " sem=acquire", " sem=release"));
    ck_assert_int_eq(out[0], 8);
}
END_TEST

/* Each program waits for the next; the last one begins. */
static const char backwards[] = HEAD
    "  %np: i32 = num_programs axis=0\n  %next: i32 = add %pid, %one\n"
    "  %mine: ptr<i32> = addptr %out, %pid\n  %theirs: ptr<i32> = addptr %out, %next\n"
    "  %wait: i1 = cmp %next, %np pred=lt\n  if %wait {\n" SPIN(
        "atomic_cas %theirs, %one, %one", "%one",
        "30") "    yield\n  } {\n    yield\n  }\n"
              "  %o: i32 = atomic %mine, %one rmw=xchg\n  %c: i32 = atomic %data, %one rmw=add\n"
              "  return\n}\n";

START_TEST(chains_of_programs_wait_for_each_other) {
    Fixture f = programs(255);
    expect_ok(&f, backwards);
    ck_assert_int_eq(data[0], 255);
}
END_TEST

START_TEST(a_spin_may_count_its_turns) {
    Fixture f = programs(2);
    expect_ok(&f, HEAD "  %is_last: i1 = cmp %pid, %one pred=eq\n  if %is_last {\n"
                       "    %o: i32 = atomic %lock, %one rmw=xchg\n    yield\n  } {\n"
                       "    %turns: i32 = while %zero { (%t: i32)\n"
                       "      %got: i32 = atomic %lock, %zero rmw=add\n"
                       "      %more: i1 = cmp %got, %one pred=ne\n      condition %more, %t\n"
                       "    } { (%u: i32)\n      %w: i32 = add %u, %one\n      yield %w\n    }\n"
                       "    store %out, %turns\n    yield\n  }\n  return\n}\n");
    ck_assert_int_gt(out[0], 0);
}
END_TEST

START_TEST(a_spin_may_write_what_nobody_waits_for) {
    Fixture f = programs(3);
    expect_ok(&f, HEAD "  %two: i32 = const value=2\n  %is_last: i1 = cmp %pid, %two pred=eq\n"
                       "  if %is_last {\n    %o: i32 = atomic %lock, %one rmw=xchg\n    yield\n"
                       "  } {\n    while {\n      %got: i32 = atomic_cas %lock, %one, %one\n"
                       "      %more: i1 = cmp %got, %one pred=ne\n      condition %more\n"
                       "    } {\n      %c: i32 = atomic %out, %one rmw=add\n      yield\n    }\n"
                       "    yield\n  }\n  return\n}\n");
    ck_assert_int_gt(out[0], 0);
}
END_TEST

START_TEST(a_bounded_spin_ends_by_itself) {
    Fixture f = programs(2);
    expect_ok(&f, HEAD "  %most: i32 = const value=200000\n"
                       "  %turns: i32 = while %zero { (%t: i32)\n"
                       "    %got: i32 = atomic %lock, %zero rmw=add\n"
                       "    %a: i1 = cmp %got, %one pred=ne\n    %b: i1 = cmp %t, %most pred=lt\n"
                       "    %more: i1 = and %a, %b\n    condition %more, %t\n"
                       "  } { (%u: i32)\n    %w: i32 = add %u, %one\n    yield %w\n  }\n"
                       "  %p: ptr<i32> = addptr %out, %pid\n  store %p, %turns\n  return\n}\n");
    ck_assert(out[0] == 200000 && out[1] == 200000);
}
END_TEST

START_TEST(a_deadlock_names_where_each_waits) {
    Fixture f = programs(2); /* nobody makes the data */
    expect_error(
        &f, HAND_OFF("2", "8", "", ""),
        "test:30:9: error: deadlock: program (0, 0, 0) waits, and no other program is left "
        "that could end it [C0010]\n");
    ck_assert_ptr_nonnull(strstr(f.said, "test:30:9: note: program (0, 0, 0) waits here"));
    f = programs(7);
    lock[0] = 1; /* taken for ever */
    expect_error(&f, HEAD TAKE GIVE "  return\n}\n",
                 "test:9:9: error: deadlock: 7 programs wait for each other [C0010]\n");
    ck_assert_ptr_nonnull(strstr(f.said, "note: program (3, 0, 0) waits here"));
    ck_assert_ptr_nonnull(strstr(f.said, "note: and 3 more"));
}
END_TEST

START_TEST(two_locks_in_different_orders) {
    /* Each program takes its own lock, and when both have done so wants the other's. */
    Fixture f = programs(2);
    expect_error(&f,
                 HEAD "  %other: i32 = xor %pid, %one\n  %p: ptr<i32> = addptr %lock, %pid\n"
                      "  %q: ptr<i32> = addptr %lock, %other\n  %two: i32 = const value=2\n"
                      "  %o: i32 = atomic %p, %one rmw=xchg\n"
                      "  %c: i32 = atomic %data, %one rmw=add\n" SPIN("atomic %data, %zero rmw=add",
                                                                      "%two", "14")
                          SPIN("atomic_cas %q, %zero, %one", "%zero",
                               "17") "  %g: i32 = atomic %p, %zero rmw=xchg\n  return\n}\n",
                 "test:17:9: error: deadlock: 2 programs wait for each other [C0010]\n");
    ck_assert_int_eq(lock[0] + lock[1], 2);
}
END_TEST

/* All wait for the last one, each with a tile of its own. */
#define ALL_WAIT(shape)                                                                            \
    HEAD "  %np: i32 = num_programs axis=0\n  %last: i32 = sub %np, %one\n"                        \
         "  %r: i32[" shape "] = arange start=0 end=" shape "\n"                                   \
         "  %here: i1 = cmp %pid, %last pred=eq\n  if %here {\n"                                   \
         "    %o: i32 = atomic %lock, %one rmw=xchg\n    yield\n  } {\n    yield\n  }\n" SPIN(     \
             "atomic_cas %lock, %one, %one", "%one",                                               \
             "30") "  %s: i32 = reduce %r axis=0 { (%a: i32, %b: i32)\n    %c: i32 = add %a, "     \
                   "%b\n    yield %c\n"                                                            \
                   "  }\n  %q: i32 = atomic %data, %s rmw=max\n  return\n}\n"

START_TEST(there_is_a_limit_to_waiting) {
    Fixture f = programs(INTERP_MAX_WAITING);
    expect_ok(&f, ALL_WAIT("16"));
    ck_assert_int_eq(data[0], 120);
    f = programs(INTERP_MAX_WAITING + 1);
    expect_error(
        &f, ALL_WAIT("16"),
        "test:30:9: error: 4096 programs wait at once, more than can be set aside, and none "
        "can go on");
    f = programs(200); /* of large tiles, not that many */
    expect_error(&f, ALL_WAIT("1048576"), "more than can be set aside");
    ck_assert_int_eq(lock[0], 0);
}
END_TEST

START_TEST(a_loop_that_nothing_can_end) {
    Fixture f = programs(1);
    expect_error(&f,
                 HEAD "  %t: i1 = cmp %one, %one pred=eq\n"
                      "  while {\n    condition %t\n  } {\n    yield\n  }\n  return\n}\n",
                 "endless loop: program (0, 0, 0) goes round it, and nothing changes");
}
END_TEST

/* ---- races ---- */

#define PART "  %p: ptr<i32> = addptr %data, %pid\n"

START_TEST(writes_to_one_place_race) {
    Fixture f = programs(3);
    expect_error(&f, HEAD "  store %data, %one @7:5-20\n  return\n}\n",
                 "test:7:5: error: race: program (1, 0, 0) writes 'data' element 0, which program "
                 "(0, 0, 0) wrote, and nothing puts the two in order [C0008]\n");
    ck_assert_ptr_nonnull(strstr(f.said, "test:7:5: note: program (0, 0, 0) wrote it here"));
    f.grid[0] = 1;
    expect_ok(&f, HEAD "  store %data, %one\n  return\n}\n");
    f.grid[0] = 3;
    f.checks = CHECK_ALL & ~(unsigned)CHECK_RACES;
    expect_ok(&f, HEAD "  store %data, %one\n  return\n}\n");
}
END_TEST

/* A pointer that lies nowhere may come to any buffer. */
START_TEST(writes_from_afar_race) {
    Fixture f = fixture();
    give_buffer(&f, "data", data, sizeof data, NULL);
    f.arg[0].p = sizeof data[0];
    give_int(&f, (int64_t)((uintptr_t)data / sizeof data[0]) - 1);
    f.grid[0] = 3;
    expect_error(&f,
                 "kernel @k(%p: ptr<i32>, %far: i64) {\n  %one: i32 = const value=1\n"
                 "  %q: ptr<i32> = addptr %p, %far\n  store %q, %one\n  return\n}\n",
                 "race: program (1, 0, 0) writes 'data' element 0, which program (0, 0, 0) wrote");
}
END_TEST

START_TEST(own_places_do_not_race) {
    Fixture f = programs(64);
    expect_ok(&f, HEAD PART "  %a: i32 = load %p\n  %b: i32 = add %a, %pid\n  store %p, %b\n"
                            "  %c: i32 = load %p\n  store %p, %c\n  return\n}\n");
    ck_assert_int_eq(data[63], 63);
}
END_TEST

START_TEST(a_read_of_a_neighbours_element_races_either_way) {
    const char *text = HEAD PART "  %q: ptr<i32> = addptr %data, %one\n  %v: i32 = load %q @8:5-9\n"
                                 "  store %p, %v @9:5-9\n  return\n}\n";
    Fixture f = programs(2); /* the read comes first */
    expect_error(&f, text,
                 "test:9:5: error: race: program (1, 0, 0) writes 'data' element 1, which program "
                 "(0, 0, 0) read");
    ck_assert_ptr_nonnull(strstr(f.said, "test:8:5: note: program (0, 0, 0) read it here"));
    f = programs(2); /* the write comes first */
    expect_error(&f,
                 HEAD PART "  store %p, %one @9:5-9\n  %v: i32 = load %data @8:5-9\n"
                           "  store %out, %v\n  return\n}\n",
                 "test:8:5: error: race: program (1, 0, 0) reads 'data' element 0, which program "
                 "(0, 0, 0) wrote");
}
END_TEST

/* Tiles of eight elements, `stride` apart. */
#define TILES(stride)                                                                              \
    HEAD "  %n: i32 = const value=" stride "\n  %start: i32 = mul %pid, %n\n"                      \
         "  %s: i32[8] = splat %start\n  %r: i32[8] = arange start=0 end=8\n"                      \
         "  %o: i32[8] = add %s, %r\n  %d: ptr<i32>[8] = splat %data\n"                            \
         "  %p: ptr<i32>[8] = addptr %d, %o\n  store %p, %o\n  return\n}\n"

START_TEST(tiles_that_overlap_race) {
    Fixture f = programs(4);
    expect_ok(&f, TILES("8"));
    f = programs(4);
    expect_error(&f, TILES("7"), "race: program (1, 0, 0) writes 'data' element 7, which");
}
END_TEST

START_TEST(bytes_next_to_each_other_do_not_race) {
    static uint8_t bytes[64];
    Fixture f = fixture();
    give_buffer(&f, "b", bytes, sizeof bytes, NULL);
    f.grid[0] = 64;
    expect_ok(&f, "kernel @k(%b: ptr<u8>) {\n  %pid: i32 = program_id axis=0\n"
                  "  %p: ptr<u8> = addptr %b, %pid\n  %v: u8 = cast %pid\n  store %p, %v\n"
                  "  return\n}\n");
    ck_assert_uint_eq(bytes[63], 63);
}
END_TEST

/* Program 0 writes word 0 as a whole, program 1 one of the bytes there or behind it. */
#define WORD_AND_BYTE(byte)                                                                        \
    HEAD "  %first: i1 = cmp %pid, %zero pred=eq\n  if %first {\n    store %data, %one\n"          \
         "    yield\n  } {\n    %a: i64 = cast %data\n    %k: i64 = const value=" byte "\n"        \
         "    %b: i64 = add %a, %k\n    %p: ptr<u8> = cast %b\n    %v: u8 = const value=3\n"       \
         "    store %p, %v\n    yield\n  }\n  return\n}\n"

START_TEST(accesses_of_several_widths_are_told_apart) {
    Fixture f = programs(2);
    expect_ok(&f, WORD_AND_BYTE("4"));
    f = programs(2);
    expect_error(&f, WORD_AND_BYTE("2"),
                 "race: program (1, 0, 0) writes 'data' element 2, which program (0, 0, 0) wrote");
}
END_TEST

START_TEST(atomics_do_not_race_with_each_other) {
    static const char *const sems[] = {"acq_rel", "relaxed", "acquire", "release"};
    for (int k = 0; k < 4; k++) {
        char text[1024];
        snprintf(text, sizeof text, "%s  %%o: i32 = atomic %%data, %%pid rmw=add sem=%s\n%s", HEAD,
                 sems[k], "  %q: ptr<i32> = addptr %out, %pid\n  store %q, %o\n  return\n}\n");
        Fixture f = programs(32);
        expect_ok(&f, text);
        ck_assert_int_eq(data[0], 31 * 32 / 2);
    }
}
END_TEST

START_TEST(a_plain_write_races_with_an_atomic) {
    Fixture f = programs(2);
    const char *text = HEAD "  %first: i1 = cmp %pid, %zero pred=eq\n  if %first {\n"
                            "    store %data, %one @9:5-9\n    yield\n  } {\n"
                            "    %o: i32 = atomic %data, %one rmw=add @11:5-9\n    yield\n  }\n"
                            "  return\n}\n";
    expect_error(&f, text,
                 "test:11:5: error: race: program (1, 0, 0) does an atomic on 'data' element 0, "
                 "which program (0, 0, 0) wrote");
}
END_TEST

#define ADD_UNDER_LOCK                                                                             \
    "  %v: i32 = load %data @20:5-9\n  %w: i32 = add %v, %pid\n  store %data, %w @21:5-9\n"

START_TEST(a_lock_puts_writes_in_order) {
    Fixture f = programs(40);
    expect_ok(&f, HEAD TAKE ADD_UNDER_LOCK GIVE "  return\n}\n");
    ck_assert_int_eq(data[0], 39 * 40 / 2);
}
END_TEST

START_TEST(a_lock_without_release_or_acquire_does_not) {
    Fixture f = programs(4);
    expect_error(&f,
                 HEAD TAKE ADD_UNDER_LOCK
                 "  %was: i32 = atomic %lock, %zero rmw=xchg sem=relaxed\n  return\n}\n",
                 "race: program (1, 0, 0) reads 'data' element 0, which program (0, 0, 0) wrote");
    f = programs(4);
    expect_error(&f,
                 HEAD SPIN("atomic_cas %lock, %zero, %one sem=relaxed", "%zero", "9")
                     ADD_UNDER_LOCK GIVE "  return\n}\n",
                 "race: program (1, 0, 0) reads 'data' element 0");
    f = programs(4); /* a lock for one block's threads is none for others */
    expect_error(&f,
                 HEAD TAKE ADD_UNDER_LOCK
                 "  %was: i32 = atomic %lock, %zero rmw=xchg scope=cta\n  return\n}\n",
                 "race: program (1, 0, 0) reads 'data' element 0");
}
END_TEST

START_TEST(a_write_after_the_release_is_not_ordered) {
    Fixture f = programs(2);
    expect_error(&f, HEAD TAKE GIVE "  store %data, %one\n  return\n}\n",
                 "race: program (1, 0, 0) writes 'data' element 0");
}
END_TEST

START_TEST(one_program_without_the_lock_is_found) {
    /* Program 2 forgets it. The lock's own history must not make up for that. */
    Fixture f = programs(5);
    expect_error(&f,
                 HEAD "  %two: i32 = const value=2\n  %good: i1 = cmp %pid, %two pred=ne\n"
                      "  if %good {\n" TAKE "    yield\n  } {\n    yield\n  }\n" ADD_UNDER_LOCK
                      "  if %good {\n" GIVE "    yield\n  } {\n    yield\n  }\n  return\n}\n",
                 "test:20:5: error: race: program (2, 0, 0) reads 'data' element 0, which program "
                 "(1, 0, 0) wrote");
}
END_TEST

START_TEST(a_hand_off_needs_both_sides) {
    Fixture f = programs(9);
    expect_error(&f, HAND_OFF("9", "8", " sem=relaxed", " sem=release"),
                 "test:31:5: error: race: program (0, 0, 0) reads 'data' element 0, which program "
                 "(8, 0, 0) wrote");
    f = programs(9);
    expect_error(&f, HAND_OFF("9", "8", " sem=acquire", " sem=relaxed"),
                 "race: program (0, 0, 0) reads 'data' element 0");
}
END_TEST

START_TEST(order_passes_through_a_third_program) {
    /* The first writes; all acquire and release, one after the other; the last one writes. */
    Fixture f = programs(200);
    expect_ok(&f, HEAD "  %f: i1 = cmp %pid, %zero pred=eq\n  if %f {\n    store %data, %one\n"
                       "    yield\n  } {\n    yield\n  }\n"
                       "  %o: i32 = atomic %lock, %one rmw=add\n  %last: i32 = const value=199\n"
                       "  %l: i1 = cmp %pid, %last pred=eq\n  if %l {\n    store %data, %pid\n"
                       "    yield\n  } {\n    yield\n  }\n  return\n}\n");
    ck_assert_int_eq(data[0], 199);
}
END_TEST

START_TEST(tiles_may_be_updated_under_a_lock) {
    static float tile[1024];
    memset(tile, 0, sizeof tile);
    Fixture f = fixture();
    int flag = 0;
    give_buffer(&f, "lock", &flag, sizeof flag, NULL);
    give_buffer(&f, "data", tile, sizeof tile, NULL);
    f.grid[0] = 100;
    expect_ok(&f, "kernel @k(%lock: ptr<i32>, %data: ptr<f32>) {\n"
                  "  %zero: i32 = const value=0\n  %one: i32 = const value=1\n" TAKE
                  "  %r: i32[1024] = arange start=0 end=1024\n"
                  "  %d: ptr<f32>[1024] = splat %data\n  %p: ptr<f32>[1024] = addptr %d, %r\n"
                  "  %v: f32[1024] = load %p\n  %k: f32[1024] = const value=1.0\n"
                  "  %w: f32[1024] = add %v, %k\n  store %p, %w\n" GIVE "  return\n}\n");
    for (int i = 0; i < 1024; i++) ck_assert(tile[i] == 100);
}
END_TEST

START_TEST(many_programs_share_a_counter_within_reason) {
    /* 100,000 programs: what is remembered of each must not grow with their number. */
    Fixture f = programs(100000);
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    expect_ok(&f, HEAD "  %o: i32 = atomic %lock, %one rmw=add\n  %k: i32 = const value=63\n"
                       "  %i: i32 = and %o, %k\n  %v: i32 = load %data\n"
                       "  %last: i32 = const value=99999\n  %l: i1 = cmp %o, %last pred=eq\n"
                       "  if %l {\n    store %out, %o\n    yield\n  } {\n    yield\n  }\n"
                       "  return\n}\n");
    clock_gettime(CLOCK_MONOTONIC, &to);
    ck_assert_int_eq(out[0], 99999);
    ck_assert_int_lt(to.tv_sec - from.tv_sec, 20);
}
END_TEST

int main(void) {
    Suite *s = suite_create("interp_programs");
    TCase *t = tcase_create("programs");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, a_later_program_may_release);
    tcase_add_test(t, chains_of_programs_wait_for_each_other);
    tcase_add_test(t, a_spin_may_count_its_turns);
    tcase_add_test(t, a_spin_may_write_what_nobody_waits_for);
    tcase_add_test(t, a_bounded_spin_ends_by_itself);
    tcase_add_test(t, a_deadlock_names_where_each_waits);
    tcase_add_test(t, two_locks_in_different_orders);
    tcase_add_test(t, there_is_a_limit_to_waiting);
    tcase_add_test(t, a_loop_that_nothing_can_end);
    tcase_add_test(t, writes_to_one_place_race);
    tcase_add_test(t, writes_from_afar_race);
    tcase_add_test(t, own_places_do_not_race);
    tcase_add_test(t, a_read_of_a_neighbours_element_races_either_way);
    tcase_add_test(t, tiles_that_overlap_race);
    tcase_add_test(t, bytes_next_to_each_other_do_not_race);
    tcase_add_test(t, accesses_of_several_widths_are_told_apart);
    tcase_add_test(t, atomics_do_not_race_with_each_other);
    tcase_add_test(t, a_plain_write_races_with_an_atomic);
    tcase_add_test(t, a_lock_puts_writes_in_order);
    tcase_add_test(t, a_lock_without_release_or_acquire_does_not);
    tcase_add_test(t, a_write_after_the_release_is_not_ordered);
    tcase_add_test(t, one_program_without_the_lock_is_found);
    tcase_add_test(t, a_hand_off_needs_both_sides);
    tcase_add_test(t, order_passes_through_a_third_program);
    tcase_add_test(t, tiles_may_be_updated_under_a_lock);
    tcase_add_test(t, many_programs_share_a_counter_within_reason);
    suite_add_tcase(s, t);
    return run_suite(s);
}
