/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_graphs.c: launches that go as graphs of one kernel, on the fake driver: from which launch
 * on, with what each was asked for, which never do, and what goes with a module, a number or a
 * context, and calls that fail. test_threads launches from many threads. */
#include "tests/run_suite.h"
#include "tests/runtime/one_kernel.h"

#include <stdbool.h>
#include <stdio.h>

/* Launches before the first graph; from one question whether the stream is behind to the next, the
 * first of which comes with the last of those; and what is held of a kernel that is launched so,
 * and of its stream. */
enum { BEFORE = 15, ASKED_EVERY = 37, MARKED_AHEAD = 8, OF_KERNEL = 2, OF_STREAM = 1 };

static const char params[] = "{\"name\": \"p\", \"type\": \"*u32\"}, {\"name\": \"n\", \"type\": "
                             "\"i32\"}";
static const char declared[] = ".param .u64 a,\n.param .u32 b";

/* With arguments and a grid of its own; whether it went as a graph. */
static bool goes(tile_kernel *k, void *stream, int n) {
    tile_arg args[] = {tile_pointer((tile_ptr)n * 256), tile_i32(n)};
    tile_grid grid = {(uint32_t)n % 200 + 1, 2, 1};
    ck_assert_int_eq(tile_launch(k, &grid, args, 2, stream), TILE_OK);
    FakeLaunch l = fake->last();
    ck_assert_ptr_eq(l.stream, stream);
    ck_assert(l.grid[0] == (unsigned)n % 200 + 1 && l.grid[1] == 2 && l.block[0] == 128);
    ck_assert(l.nparams == 2 && l.param[0] == (uint64_t)n * 256 && l.param[1] == (uint64_t)n);
    /* Few programs take all shared memory (shared_single_cta). */
    ck_assert_uint_eq(l.shared, l.grid[0] * 2 <= 132 ? 90000 : 70000);
    return l.graph;
}

static tile_status load_shared(const char *more) {
    char facts[200];
    snprintf(facts, sizeof facts,
             "\"num_warps\": 4, \"shared\": 70000, \"shared_single_cta\": 90000%s", more);
    return load(facts, params, declared);
}

static int graphs_of(tile_kernel *k, void *stream, int launches) {
    int n = 0;
    for (int i = 0; i < launches; i++) n += goes(k, stream, i + 1);
    return n;
}

/* None unless asked for; each as it was asked for; none any more, and nothing is held. */
START_TEST(again_and_again) {
    ck_assert_int_eq(load_shared(""), TILE_OK);
    ck_assert_int_eq(graphs_of(kernel, NULL, 100), 0);
    ck_assert_int_eq(tile_context_set_launch_graphs(ctx, 8), TILE_OK);
    long before = fake->live();
    for (int i = 1; i <= 300; i++) ck_assert_int_eq(goes(kernel, NULL, i), i > BEFORE);
    ck_assert_int_eq(fake->live(), before + OF_KERNEL + OF_STREAM);
    ck_assert_int_eq(tile_context_set_launch_graphs(ctx, 0), TILE_OK);
    ck_assert_int_eq(fake->live(), before);
    ck_assert_int_eq(graphs_of(kernel, NULL, 100), 0);
    ck_assert_int_eq(fake->disturbed(), 0);
}
END_TEST

/* One for each stream, by its number: the default one's two handles are one stream, and a stream
 * that takes over a handle is another. */
START_TEST(streams) {
    void *stream[2];
    ck_assert_int_eq(load_shared(""), TILE_OK);
    ck_assert_int_eq(tile_context_set_launch_graphs(ctx, 64), TILE_OK);
    for (int i = 0; i < 2; i++) ck_assert_int_eq(tile_stream_create(ctx, &stream[i]), TILE_OK);
    ck_assert_int_eq(graphs_of(kernel, stream[0], 40), 40 - BEFORE);
    ck_assert_int_eq(graphs_of(kernel, stream[1], 40), 40 - BEFORE);
    ck_assert_int_eq(graphs_of(kernel, NULL, 10), 0);
    ck_assert_int_eq(graphs_of(kernel, (void *)1, 10), 10 - (BEFORE - 10));
    ck_assert_int_eq(graphs_of(kernel, (void *)2, 10), 0);
    for (int i = 0; i < 2; i++) ck_assert_int_eq(tile_stream_destroy(ctx, stream[i]), TILE_OK);
    ck_assert_int_eq(tile_stream_create(ctx, &stream[0]), TILE_OK);
    ck_assert_int_eq(graphs_of(kernel, stream[0], BEFORE), 0);
    ck_assert_int_eq(tile_stream_destroy(ctx, stream[0]), TILE_OK);
}
END_TEST

/* In a stream that is not like others no launch goes so; one that is captured for a while has its
 * graph again. */
START_TEST(streams_of_their_own_kind) {
    void *stream;
    ck_assert_int_eq(load_shared(""), TILE_OK);
    ck_assert_int_eq(tile_context_set_launch_graphs(ctx, 64), TILE_OK);
    static const FakeStream kinds[] = {FAKE_GREEN, FAKE_WINDOW, FAKE_DOMAIN, FAKE_DOMAIN_MAP,
                                       FAKE_CAPTURED};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        ck_assert_int_eq(tile_stream_create(ctx, &stream), TILE_OK);
        fake->stream(stream, kinds[i]);
        ck_assert_int_eq(graphs_of(kernel, stream, 40), 0);
        fake->stream(stream, FAKE_ORDINARY);
        ck_assert_int_eq(graphs_of(kernel, stream, 40),
                         kinds[i] == FAKE_CAPTURED ? 40 - BEFORE : 0);
        fake->stream(stream, FAKE_CAPTURED);
        ck_assert_int_eq(graphs_of(kernel, stream, 40), 0);
        ck_assert_int_eq(tile_stream_destroy(ctx, stream), TILE_OK);
    }
}
END_TEST

/* A stream that is behind when it is asked has launches as ever, until it is asked again. */
START_TEST(behind) {
    void *stream;
    ck_assert_int_eq(load_shared(""), TILE_OK);
    ck_assert_int_eq(tile_context_set_launch_graphs(ctx, 64), TILE_OK);
    ck_assert_int_eq(tile_stream_create(ctx, &stream), TILE_OK);
    ck_assert_int_eq(graphs_of(kernel, stream, BEFORE + ASKED_EVERY - MARKED_AHEAD),
                     ASKED_EVERY - MARKED_AHEAD);
    fake->stream(stream, FAKE_BEHIND); /* not with what was there at the mark */
    ck_assert_int_eq(graphs_of(kernel, stream, MARKED_AHEAD + ASKED_EVERY - 1),
                     MARKED_AHEAD + ASKED_EVERY - 1);
    ck_assert_int_eq(graphs_of(kernel, stream, 1), 0);
    fake->stream(stream, FAKE_ORDINARY);
    ck_assert_int_eq(graphs_of(kernel, stream, ASKED_EVERY - 1), 0);
    ck_assert_int_eq(graphs_of(kernel, stream, 100), 100);
    ck_assert_int_eq(tile_stream_destroy(ctx, stream), TILE_OK);
}
END_TEST

/* Kernels whose launches say more than a node of a graph does, and drivers that nobody measured. */
START_TEST(launches_that_say_more) {
    static const char *const more[] = {", \"cooperative\": true", ", \"cluster\": [1, 2, 1]"};
    ck_assert_int_eq(tile_context_set_launch_graphs(ctx, 64), TILE_OK);
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        ck_assert_int_eq(load_shared(more[i]), TILE_OK);
        for (int n = 0; n < 40; n++) ck_assert(!goes(kernel, NULL, 20));
    }
    /* What would start early goes as a graph all the same, but where a stream is captured. */
    void *stream;
    ck_assert_int_eq(tile_stream_create(ctx, &stream), TILE_OK);
    ck_assert_int_eq(load_shared(", \"dependent_launch\": 1"), TILE_OK);
    for (int n = 0; n < 40; n++) {
        ck_assert_int_eq(goes(kernel, stream, 20), n >= BEFORE);
        ck_assert_int_eq(fake->last().early, n < BEFORE);
    }
    fake->stream(stream, FAKE_CAPTURED);
    ck_assert(!goes(kernel, stream, 20) && fake->last().early);
    ck_assert_int_eq(tile_stream_destroy(ctx, stream), TILE_OK);
    tile_module_unload(module);
    module = NULL;
    tile_context_destroy(ctx);
    fake->driver(12090);
    ck_assert_int_eq(tile_context_create("cuda", &ctx), TILE_OK);
    fake->driver(13000);
    ck_assert_int_eq(tile_context_set_launch_graphs(ctx, 64), TILE_OK);
    ck_assert_int_eq(load_shared(""), TILE_OK);
    ck_assert_int_eq(graphs_of(kernel, NULL, 100), 0);
}
END_TEST

/* The first kernels have graphs as long as they are launched, then others; with a module go its
 * graphs, and only those. */
START_TEST(places) {
    enum { KERNELS = 40, PLACES = 8, ROUNDS = 60, IDLE = 4096 };
    tile_module *m[KERNELS];
    tile_kernel *k[KERNELS];
    ck_assert_int_eq(tile_context_set_launch_graphs(ctx, PLACES), TILE_OK);
    for (int i = 0; i < KERNELS; i++) {
        ck_assert_int_eq(load_shared(""), TILE_OK);
        m[i] = module;
        k[i] = kernel;
        module = NULL;
    }
    long before = fake->live();
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < KERNELS; i++)
            ck_assert_int_eq(goes(k[i], NULL, i + 1), i < PLACES && round >= BEFORE);
    ck_assert_int_eq(fake->live(), before + OF_KERNEL * PLACES + OF_STREAM);
    for (int n = 0; n < IDLE + PLACES * BEFORE; n++) goes(k[PLACES + n % PLACES], NULL, n);
    for (int i = 0; i < 3 * PLACES; i++)
        ck_assert_int_eq(goes(k[i], NULL, i + 1), i >= PLACES && i < 2 * PLACES);
    ck_assert_int_eq(fake->live(), before + OF_KERNEL * PLACES + OF_STREAM);
    ck_assert_int_eq(fake->disturbed(), 0);
    for (int i = 0; i < KERNELS; i++) {
        tile_module_unload(m[i]);
        int left = i < PLACES ? PLACES : i < 2 * PLACES ? 2 * PLACES - 1 - i : 0;
        ck_assert_int_eq(fake->live(), before - 1 - i + OF_KERNEL * left + OF_STREAM);
    }
}
END_TEST

/* Streams come and go: each has graphs, and what is held is of the last ones. */
START_TEST(streams_that_go) {
    enum { PLACES = 4, TURNS = 60 };
    ck_assert_int_eq(load_shared(""), TILE_OK);
    ck_assert_int_eq(tile_context_set_launch_graphs(ctx, PLACES), TILE_OK);
    long before = fake->live();
    int graphs = 0;
    for (int i = 0; i < TURNS; i++) {
        void *stream[2];
        for (int k = 0; k < 2; k++) ck_assert_int_eq(tile_stream_create(ctx, &stream[k]), TILE_OK);
        for (int n = 0; n < 1500; n++)
            for (int k = 0; k < 2; k++) graphs += goes(kernel, stream[k], n + k);
        for (int k = 0; k < 2; k++) ck_assert_int_eq(tile_stream_destroy(ctx, stream[k]), TILE_OK);
    }
    ck_assert_int_gt(graphs, TURNS * 2 * 1500 / 10 * 4); /* others have the places for a while */
    ck_assert_int_le(fake->live(), before + OF_KERNEL * PLACES + OF_STREAM * 64);
}
END_TEST

/* More at once than have a place each: the first keep theirs. */
START_TEST(many_streams) {
    enum { AT_ONCE = 65 };
    void *stream[AT_ONCE];
    ck_assert_int_eq(load_shared(""), TILE_OK);
    ck_assert_int_eq(tile_context_set_launch_graphs(ctx, 2 * AT_ONCE), TILE_OK);
    for (int i = 0; i < AT_ONCE; i++)
        ck_assert_int_eq(tile_stream_create(ctx, &stream[i]), TILE_OK);
    for (int n = 0; n < 30; n++)
        for (int i = 0; i < AT_ONCE; i++)
            ck_assert_int_eq(goes(kernel, stream[i], n), n >= BEFORE && i < AT_ONCE - 1);
    for (int i = 0; i < AT_ONCE; i++)
        ck_assert_int_eq(tile_stream_destroy(ctx, stream[i]), TILE_OK);
}
END_TEST

/* Whichever call of a launch fails, of one that is a graph or makes one: it is made as it was asked
 * for, or is said to have failed, and is not made. */
START_TEST(calls_that_fail) {
    enum { NOT_MADE = 999 };
    ck_assert_int_eq(tile_context_set_launch_graphs(ctx, 8), TILE_OK);
    for (int launches = BEFORE; launches <= BEFORE + 1; launches++) {
        int made = 0, refused = 0;
        for (long n = 1; n <= 20; n++) {
            ck_assert_int_eq(load_shared(""), TILE_OK);
            ck_assert_int_eq(graphs_of(kernel, NULL, launches), launches - BEFORE);
            FakeLaunch old = fake->last();
            tile_arg args[] = {tile_pointer(NOT_MADE * 256), tile_i32(NOT_MADE)};
            tile_grid grid = {NOT_MADE, 1, 1};
            fake->let_fail(n, 2, false);
            tile_status st = tile_launch(kernel, &grid, args, 2, NULL);
            bool failed = fake->failed() != NULL;
            fake->let_fail(0, 0, false);
            FakeLaunch l = fake->last();
            if (st) ck_assert_mem_eq(&l, &old, sizeof l);
            if (!st) ck_assert(l.param[1] == NOT_MADE && l.grid[0] == NOT_MADE);
            ck_assert(failed || !st);
            made += failed && !st;
            refused += st != TILE_OK;
        }
        ck_assert_int_gt(made, 3);
        ck_assert_int_gt(refused, 0);
    }
}
END_TEST

/* Whichever call fails while graphs are given up: nothing stays with the driver (close_gpu looks).
 */
START_TEST(giving_up_that_fails) {
    for (long n = 1; n <= 12; n++)
        for (int by_unloading = 0; by_unloading < 2; by_unloading++) {
            ck_assert_int_eq(tile_context_set_launch_graphs(ctx, 8), TILE_OK);
            ck_assert_int_eq(load_shared(""), TILE_OK);
            ck_assert_int_gt(graphs_of(kernel, NULL, 20), 0);
            fake->let_fail(n, 2, false);
            if (by_unloading)
                tile_module_unload(module);
            else
                tile_context_set_launch_graphs(ctx, 8);
            bool unreached = fake->failed() && strcmp(fake->failed(), "fake_ctx_push") == 0;
            fake->let_fail(0, 0, false);
            if (by_unloading) module = NULL;
            if (by_unloading && unreached) { /* what could not be reached stays */
                fake->forget();
                tile_context_destroy(ctx);
                ck_assert_int_eq(tile_context_create("cuda", &ctx), TILE_OK);
            }
        }
}
END_TEST

START_TEST(numbers) {
    fails(tile_context_set_launch_graphs(ctx, -1), TILE_INVALID, "-1 graphs of launches");
    fails(tile_context_set_launch_graphs(ctx, TILE_MAX_LAUNCH_GRAPHS + 1), TILE_INVALID,
          "it is 0 to 1024");
    ck_assert_int_eq(tile_context_set_launch_graphs(NULL, 1), TILE_INVALID);
    ck_assert_int_eq(load_shared(""), TILE_OK);
    for (int n = 1; n <= TILE_MAX_LAUNCH_GRAPHS; n *= 2) {
        ck_assert_int_eq(tile_context_set_launch_graphs(ctx, n), TILE_OK);
        ck_assert_int_eq(graphs_of(kernel, NULL, 20), 20 - BEFORE);
    }
    static const char *const others[] = {"cpu", "ptx"};
    for (int i = 0; i < 2; i++) {
        tile_context *other;
        ck_assert_int_eq(tile_context_create(others[i], &other), TILE_OK);
        ck_assert_int_eq(tile_context_set_launch_graphs(other, 5), TILE_OK);
        tile_context_destroy(other);
    }
}
END_TEST

int main(void) {
    Suite *s = suite_create("graphs");
    TCase *t = tcase_create("graphs");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, open_gpu, close_gpu);
    tcase_add_test(t, again_and_again);
    tcase_add_test(t, streams);
    tcase_add_test(t, streams_of_their_own_kind);
    tcase_add_test(t, behind);
    tcase_add_test(t, launches_that_say_more);
    tcase_add_test(t, places);
    tcase_add_test(t, streams_that_go);
    tcase_add_test(t, many_streams);
    tcase_add_test(t, calls_that_fail);
    tcase_add_test(t, giving_up_that_fails);
    tcase_add_test(t, numbers);
    return run_suite(s, t);
}
