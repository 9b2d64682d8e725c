/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_entries.c: a kernel with a further entry, on the fake driver: which of the two a launch is,
 * with which grid, in which clusters, and how its iterations are shared out; and manifests of such
 * that are damaged. */
#include "tests/run_suite.h"
#include "tests/runtime/one_kernel.h"

#include <stdio.h>
#include <stdlib.h>

/* A kernel with a further entry of programs that stay: which of the two a launch is. */
#define MAP                                                                                        \
    "{\"kind\": \"tensor_map\", \"base\": \"p\", \"offset\": \"0\", \"type\": \"fp16\", "          \
    "\"sizes\": "                                                                                  \
    "[\"n\", \"64\"], \"strides\": [\"64\", \"1\"], \"box\": [8, 64], \"swizzle\": 128}, "
#define STORED_MAP                                                                                 \
    "{\"kind\": \"tensor_map\", \"base\": \"p\", \"offset\": \"0\", \"type\": \"fp16\", "          \
    "\"sizes\": [\"8\", \"n\"], \"strides\": [\"2048\", \"1\"], \"box\": [8, 64], \"swizzle\": "   \
    "128, "                                                                                        \
    "\"stored\": true}, "
#define FURTHER(conditions, hidden)                                                                \
    PLAIN ", \"grid\": [\"n\"], \"entries\": [{\"name\": \"k__p\", \"entry\": \"k__p\", "          \
          "\"conditions\": [" conditions "], \"num_warps\": 9, \"num_stages\": 3, "                \
          "\"shared\": 100000, \"persistent\": 1, \"min_places\": 2, \"hidden\": [" hidden         \
          "{\"kind\": \"grid\", \"axis\": 0}]}]"
static const char two_params[] =
    "{\"name\": \"p\", \"type\": \"*fp16\"}, {\"name\": \"n\", \"type\": \"i32\"}";
static const char two_entries[] =
    ".param .u64 a,\n.param .u32 b\n)\n{\n ret;\n}\n.visible .entry k__p(\n"
    ".param .u64 a,\n.param .u32 b,\n.param .u64 c,\n.param .u32 d";

/* What is told of a launch's entries. */
typedef struct Told {
    bool own, further; /* it takes this one */
    char why[400];     /* it is not the further one; "": nobody said */
} Told;

static void see(void *user, const char *entry, const char *why_not) {
    Told *told = user;
    ck_assert(!told->own && !told->further); /* the one it takes is the last */
    if (why_not) ck_assert_str_eq(entry, "k__p");
    if (why_not) snprintf(told->why, sizeof told->why, "%s", why_not);
    if (!why_not) *(strcmp(entry, "k") == 0 ? &told->own : &told->further) = true;
}

/* Asked first, and nothing is launched; then a launch is by the same entry. The reason begins with
 * `why`. */
static void takes(const tile_grid *grid, tile_arg *args, bool further, const char *why) {
    Told told = {.why = ""};
    FakeLaunch before = fake->last();
    ck_assert_int_eq(tile_kernel_entry(kernel, grid, args, 2, see, &told), TILE_OK);
    FakeLaunch after = fake->last();
    ck_assert_mem_eq(&after, &before, sizeof before);
    ck_assert_int_eq(tile_launch(kernel, grid, args, 2, NULL), TILE_OK);
    ck_assert(told.own == !further && told.further == further);
    ck_assert_msg(strncmp(told.why, why, strlen(why)) == 0 && !*why == !*told.why, "%s", told.why);
}

START_TEST(entries) {
    ck_assert_int_eq(load(FURTHER("\"n != 1001\", \"n % 2 == 0\"", MAP), two_params, two_entries),
                     TILE_OK);
    static const struct {
        uint64_t p;
        int32_t n;
        uint32_t x, y, launched; /* the grid; 0: the expression's */
        const char *why;         /* it is not the further one; "": it is */
    } cases[] = {
        {4096, 1000, 0, 0, 264, ""},
        {4096, 1000, 265, 1, 264, ""},
        {4096, 1000, 264, 1, 264,
         "it is faster from 2 places for a program on, and here that is 1"},
        {4104, 1000, 0, 0, 1000,
         "no tensor map of 'p' with the sizes and strides n, 64, 64, 1, 0: its address must be a "
         "multiple of 16 bytes"},
        {4096, 1001, 0, 0, 1001, "n != 1001 does not hold: 1001 and 1001"},
        {4096, 999, 0, 0, 999, "n % 2 == 0 does not hold: 1 and 0"},
        {4096, 1000, 500, 2, 500, "its programs share out 1 axis of a grid, and 2^30 places"},
        {4096, 1000, (1u << 30) + 1, 1, (1u << 30) + 1, "its programs share out 1 axis"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tile_arg args[] = {tile_pointer(cases[i].p), tile_i32(cases[i].n)};
        tile_grid grid = {cases[i].x, cases[i].y, 1};
        bool further = !*cases[i].why;
        takes(cases[i].x ? &grid : NULL, args, further, cases[i].why);
        FakeLaunch l = fake->last();
        unsigned threads = further ? 288 : 128;
        ck_assert_msg(l.grid[0] == cases[i].launched && l.block[0] == threads,
                      "launch %zu: %u programs of %u", i, l.grid[0], l.block[0]);
        uint64_t asked = cases[i].x ? cases[i].x : (uint64_t)cases[i].n;
        ck_assert_int_eq(l.nparams, further ? 4 : 2);
        ck_assert(!further || (l.param[2] == 4096 && l.param[3] == asked));
    }
    /* What is stored by has rows of whole 16 bytes. */
    ck_assert_int_eq(load(FURTHER("", STORED_MAP), two_params, two_entries), TILE_OK);
    for (int n = 1000; n <= 1008; n += 4) {
        tile_arg args[] = {tile_pointer(4096), tile_i32(n)};
        ck_assert_int_eq(tile_launch(kernel, NULL, args, 2, NULL), TILE_OK);
        ck_assert_int_eq(fake->last().nparams, n % 8 ? 2 : 4);
    }
}
END_TEST

/* Programs that stay, which a launch may run in clusters of two. */
#define WORTH(expression)                                                                          \
    PLAIN ", \"grid\": [\"n\"], \"entries\": [{\"name\": \"k__p\", \"entry\": \"k__p\", "          \
          "\"conditions\": [], \"num_warps\": 9, \"num_stages\": 3, \"shared\": 100000, "          \
          "\"persistent\": 1, \"min_places\": 2, \"worth_places\": " expression                    \
          ", \"hidden\": [" MAP "{\"kind\": \"grid\", \"axis\": 0}]}]"

/* How many places make it worth it is the launch's to work out; 264 programs run at once. */
START_TEST(worth) {
    static const struct {
        const char *module;
        int32_t n;
        bool further;
    } cases[] = {
        {WORTH("\"2 - n % 2\""), 262, false},
        {WORTH("\"2 - n % 2\""), 263, true},
        {WORTH("\"2 - n % 2\""), 266, true},
        {WORTH("\"3\""), 528, false},
        {WORTH("\"3\""), 529, true},
        {WORTH("\"1073741824 * (1 - min(n // 900, 1))\""), 899, false},
        {WORTH("\"1073741824 * (1 - min(n // 900, 1))\""), 900, true},
        {WORTH("\"9223372036854775807\""), 1 << 30, false},
        {WORTH("\"n // (n - n)\""), 1000, false}, /* it is not known */
        {WORTH("\"n %\""), 264, false},           /* min_places says it */
        {WORTH("\"n %\""), 265, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_int_eq(load(cases[i].module, two_params, two_entries), TILE_OK);
        tile_arg args[] = {tile_pointer(4096), tile_i32(cases[i].n)};
        for (int again = 0; again < 2; again++) { /* the second time as it is kept */
            ck_assert_int_eq(tile_launch(kernel, NULL, args, 2, NULL), TILE_OK);
            FakeLaunch l = fake->last();
            ck_assert_msg((l.nparams == 4) == cases[i].further, "case %zu: %d places", i,
                          cases[i].n);
        }
    }
    fails(load(WORTH("1"), two_params, two_entries), TILE_BAD_MODULE, "'worth_places'");
}
END_TEST

#define IN_CLUSTERS(more)                                                                          \
    PLAIN ", \"grid\": [\"n\"], \"entries\": [{\"name\": \"k__p\", \"entry\": \"k__p\", "          \
          "\"conditions\": [], \"num_warps\": 9, \"num_stages\": 3, \"shared\": 100000, "          \
          "\"persistent\": 1, \"min_places\": 1, \"dependent_launch\": 1" more                     \
          ", \"hidden\": [" MAP "{\"kind\": \"grid\", \"axis\": 0}]}]"

/* Its grid and cluster for n places. */
static void launched(int n, unsigned programs, unsigned cluster, bool early) {
    tile_arg args[] = {tile_pointer(4096), tile_i32(n)};
    ck_assert_int_eq(tile_launch(kernel, NULL, args, 2, NULL), TILE_OK);
    FakeLaunch l = fake->last();
    ck_assert_msg(l.grid[0] == programs && l.cluster[0] == cluster && l.early == early,
                  "%d places: %u programs, clusters of %u", n, l.grid[0], l.cluster[0]);
    ck_assert(l.nparams == 4 && l.param[3] == (uint64_t)n);
}

START_TEST(clusters) {
    static const char asked[] = IN_CLUSTERS(", \"max_cluster\": 2, \"cluster_when\": \"n % 10\"");
    ck_assert_int_eq(load(asked, two_params, two_entries), TILE_OK);
    launched(1000, 264, 0, false);
    launched(1001, 264, 2, false);
    launched(263, 264, 2, false);
    launched(7, 8, 2, true);
    launched(10, 10, 0, true);
    launched(1, 1, 0, true); /* nobody to share with */
    ck_assert_int_eq(load(IN_CLUSTERS(", \"max_cluster\": 2"), two_params, two_entries), TILE_OK);
    launched(7, 7, 0, true);
    static const char *const unknown[] = {
        IN_CLUSTERS(", \"max_cluster\": 2, \"cluster_when\": \"n %\""),
        IN_CLUSTERS(", \"max_cluster\": 2, \"cluster_when\": \"n, n\""),
        IN_CLUSTERS(", \"max_cluster\": 2, \"cluster_when\": \"n % (n - n)\""),
        IN_CLUSTERS(", \"max_cluster\": 2, \"cluster_when\": \"n % 10\", \"cluster\": [1, 2]"),
    };
    for (size_t i = 0; i < 3; i++) {
        ck_assert_int_eq(load(unknown[i], two_params, two_entries), TILE_OK);
        launched(7, 7, 0, true);
    }
    /* Those of a shape that the kernel needs are another thing. */
    ck_assert_int_eq(load(unknown[3], two_params, two_entries), TILE_OK);
    tile_arg args[] = {tile_pointer(4096), tile_i32(7)};
    ck_assert_int_eq(tile_launch(kernel, NULL, args, 2, NULL), TILE_OK);
    ck_assert(fake->last().cluster[0] == 1 && fake->last().cluster[1] == 2);
    static const char *const damaged[][2] = {
        {IN_CLUSTERS(", \"max_cluster\": 1"), "'max_cluster'"},
        {IN_CLUSTERS(", \"max_cluster\": 9"), "'max_cluster'"},
        {IN_CLUSTERS(", \"max_cluster\": 2, \"cluster_when\": 1"), "'cluster_when'"}};
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++)
        fails(load(damaged[i][0], two_params, two_entries), TILE_BAD_MODULE, damaged[i][1]);
    /* A GPU that has none takes the programs as they are. */
    tile_context_destroy(ctx);
    fake->device(9, 0, 0);
    ck_assert_int_eq(tile_context_create("cuda:1", &ctx), TILE_OK);
    module = NULL;
    ck_assert_int_eq(load(asked, two_params, two_entries), TILE_OK);
    launched(1001, 264, 0, false);
    fake->device(9, 0, 1);
}
END_TEST

/* By its own name a further entry is launched however many places there are; with its own
 * messages. */
START_TEST(entries_by_name) {
    tile_kernel *further;
    tile_grid grid = {7, 1, 1}, plane = {7, 2, 1};
    tile_arg good[] = {tile_pointer(4096), tile_i32(7)}, odd[] = {tile_pointer(4104), tile_i32(7)};
    ck_assert_int_eq(load(FURTHER("\"n != 8\"", MAP), two_params, two_entries), TILE_OK);
    ck_assert_int_eq(tile_kernel_get(module, "k__p", &further), TILE_OK);
    ck_assert_int_eq(tile_launch(further, &grid, good, 2, NULL), TILE_OK);
    ck_assert(fake->last().grid[0] == 7 && fake->last().block[0] == 288);
    fails(tile_launch(further, &grid, odd, 2, NULL), TILE_BAD_LAUNCH, "a multiple of 16 bytes");
    fails(tile_launch(further, &plane, good, 2, NULL), TILE_BAD_LAUNCH,
          "share out 1 axis of a grid, and 2^30 places at most");
    good[1] = tile_i32(8);
    fails(tile_launch(further, &grid, good, 2, NULL), TILE_BAD_LAUNCH,
          "'k__p', an entry of kernel 'k', is for launches where n != 8");
    /* Who asks is told the same; a launch without programs takes none. */
    Told told = {.why = ""};
    tile_grid none = {0, 1, 1};
    fails(tile_kernel_entry(further, &grid, good, 2, see, &told), TILE_BAD_LAUNCH,
          "'k__p', an entry of kernel 'k', is for launches where n != 8");
    ck_assert_int_eq(tile_kernel_entry(kernel, &none, good, 2, see, &told), TILE_OK);
    ck_assert(!told.own && !told.further && !*told.why);
    ck_assert_int_eq(tile_kernel_entry(kernel, NULL, good, 2, NULL, NULL), TILE_INVALID);
    /* What this runtime or this GPU cannot do is left to the kernel's own entry. */
    static const char *const beyond[] = {FURTHER("\"n <\"", MAP), FURTHER("\"m == 1\"", MAP),
                                         FURTHER("", "{\"kind\": \"of the future\"}, ")};
    good[1] = tile_i32(1000);
    for (size_t i = 0; i < sizeof beyond / sizeof *beyond; i++) {
        ck_assert_int_eq(load(beyond[i], two_params, two_entries), TILE_OK);
        takes(NULL, good, false, "it is for other GPUs or another runtime than this");
        ck_assert_int_eq(fake->last().block[0], 128);
        ck_assert_int_eq(tile_kernel_get(module, "k__p", &further), TILE_OK);
        fails(tile_launch(further, NULL, good, 2, NULL), TILE_BAD_LAUNCH,
              "'k__p', an entry of kernel 'k', is for other GPUs or another runtime than this");
    }
    static const char *const damaged[][2] = {
        {PLAIN ", \"entries\": 1", "'entries'"},
        {PLAIN ", \"entries\": [{}]", "'name'"},
        {PLAIN ", \"entries\": [{\"name\": \"e\"}]", "'entry'"},
        {PLAIN ", \"entries\": [{\"name\": \"e\", \"entry\": \"e\"}]", "'num_warps'"},
        {PLAIN ", \"entries\": [{\"name\": \"e\", \"conditions\": 1}]", "'conditions'"},
        {PLAIN ", \"entries\": [{\"name\": \"e\", \"conditions\": [1]}]", "'conditions'"},
        {FURTHER("", "{\"kind\": \"grid\", \"axis\": 1}, "), "'axis'"},
    };
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++)
        fails(load(damaged[i][0], two_params, two_entries), TILE_BAD_MODULE, damaged[i][1]);
}
END_TEST

/* The PTX machine hands over no more than it can make: it would read what is not there. */
START_TEST(hidden_of_the_ptx_machine) {
    tile_kernel *further;
    tile_grid grid = {3, 1, 1};
    tile_arg args[] = {tile_pointer(4096), tile_i32(3)};
    tile_context_destroy(ctx);
    ck_assert_int_eq(tile_context_create("ptx:sm_90a", &ctx), TILE_OK);
    module = NULL;
    ck_assert_int_eq(load(FURTHER("", "{\"kind\": \"of the future\"}, "), two_params, two_entries),
                     TILE_OK);
    ck_assert_int_eq(tile_launch(kernel, &grid, args, 2, NULL), TILE_OK);
    ck_assert_int_eq(tile_kernel_get(module, "k__p", &further), TILE_OK);
    fails(tile_launch(further, &grid, args, 2, NULL), TILE_BAD_LAUNCH,
          "is for other GPUs or another runtime than this");
    fails(load(FURTHER("", MAP MAP), two_params, two_entries), TILE_BAD_MODULE,
          "'k__p' takes 4 parameters, and its manifest lists 5");
    fake->device(9, 0, 1);
}
END_TEST

#define NUMBER(type, value)                                                                        \
    "{\"kind\": \"number\", \"type\": \"" type "\", \"value\": \"" value "\"}, "

/* Numbers are worked out for a launch, and stand where the manifest has them; where one has no
 * value, or does not fit, the kernel's own entry takes the launch. */
START_TEST(numbers) {
    static const char params[] =
        ".param .u64 a,\n.param .u32 b\n)\n{\n ret;\n}\n.visible .entry k__p(\n.param .u64 a,\n"
        ".param .u32 b,\n.param .u32 c,\n.param .u64 d,\n.param .u64 e,\n.param .u32 f";
    ck_assert_int_eq(load(FURTHER("", NUMBER("i32", "(n + 63) // 64") MAP NUMBER(
                                          "i64", "4611686018427387904 // (n - 1000) + 1")),
                          two_params, params),
                     TILE_OK);
    tile_arg args[] = {tile_pointer(4096), tile_i32(1007)};
    ck_assert_int_eq(tile_launch(kernel, NULL, args, 2, NULL), TILE_OK);
    FakeLaunch l = fake->last();
    ck_assert(l.block[0] == 288 && l.nparams == 6 && l.param[2] == 16 && l.param[3] == 4096);
    ck_assert(l.param[4] == ((uint64_t)1 << 62) / 7 + 1 && l.param[5] == 1007);
    args[1] = tile_i32(1000); /* nothing to divide by */
    takes(NULL, args, false, "its numbers: ");
    ck_assert(fake->last().block[0] == 128 && fake->last().nparams == 2);
    tile_kernel *further;
    ck_assert_int_eq(tile_kernel_get(module, "k__p", &further), TILE_OK);
    fails(tile_launch(further, NULL, args, 2, NULL), TILE_BAD_LAUNCH, "its hidden numbers: ");
    ck_assert_int_eq(load(FURTHER("", NUMBER("i32", "n * 2147483")), two_params, two_entries),
                     TILE_OK);
    ck_assert_int_eq(tile_launch(kernel, NULL, args, 2, NULL), TILE_OK);
    ck_assert_int_eq(fake->last().block[0], 288);
    args[1] = tile_i32(1001);
    takes(NULL, args, false, "its numbers: a number does not fit 32 bits");
    ck_assert_int_eq(fake->last().block[0], 128);
    ck_assert_int_eq(tile_kernel_get(module, "k__p", &further), TILE_OK);
    fails(tile_launch(further, NULL, args, 2, NULL), TILE_BAD_LAUNCH,
          "its hidden numbers: a number does not fit 32 bits");
    /* What this runtime does not know is left to the kernel's own entry. */
    static const char *const beyond[] = {FURTHER("", NUMBER("fp32", "n")),
                                         FURTHER("", NUMBER("i32", "n +")),
                                         FURTHER("", NUMBER("i32", "m"))};
    for (size_t i = 0; i < sizeof beyond / sizeof *beyond; i++) {
        ck_assert_int_eq(load(beyond[i], two_params, two_entries), TILE_OK);
        ck_assert_int_eq(tile_launch(kernel, NULL, args, 2, NULL), TILE_OK);
        ck_assert_int_eq(fake->last().block[0], 128);
    }
    fails(load(FURTHER("", "{\"kind\": \"number\", \"type\": \"i32\"}, "), two_params, two_entries),
          TILE_BAD_MODULE, "'value'");
}
END_TEST

/* A further entry whose programs share out the loops of n places, of k iterations each. */
#define SPLIT_IN(places, hidden)                                                                   \
    PLAIN ", \"grid\": [\"n\"], \"entries\": [{\"name\": \"k__p\", \"entry\": \"k__p\", "          \
          "\"conditions\": [], \"num_warps\": 9, \"num_stages\": 3, \"shared\": 100000, "          \
          "\"persistent\": 1, " places ", \"hidden\": ["                                           \
          "{\"kind\": \"grid\", \"axis\": 0}, " hidden "]}]"
#define SPLIT(hidden) SPLIT_IN("\"min_places\": 2", hidden)
#define WORKSPACE(bytes) "{\"kind\": \"workspace\", \"bytes\": " bytes "}"
#define MARK ", {\"kind\": \"mark\"}"
#define SHARES(iterations, clocks)                                                                 \
    ", {\"kind\": \"stream_k\", \"iterations\": \"" iterations "\", \"iteration_clocks\": " clocks \
    ", \"least_clocks\": 280, \"part_clocks\": 2000, \"meet_clocks\": 7000}"
static const char split_params[] =
    "{\"name\": \"n\", \"type\": \"i32\"}, {\"name\": \"k\", \"type\": \"i32\"}";
static const char split_entries[] =
    ".param .u32 a,\n.param .u32 b\n)\n{\n ret;\n}\n.visible .entry k__p(\n.param .u32 a,\n"
    ".param .u32 b,\n.param .u32 c,\n.param .u64 d,\n.param .u64 e,\n.param .u32 f,\n"
    ".param .u32 g,\n.param .u32 h";

/* Of 264 programs at once: what is launched, and for how many places and iterations. Where
 * iterations are shared out the launch has a workspace, a mark that is no other's, and leaves
 * nothing. */
START_TEST(split_launches) {
    static const struct {
        int32_t n, k;
        unsigned programs; /* of the further entry; 0: it is the other */
        uint64_t places, first, share;
    } cases[] = {
        {300, 64, 264, 36, 4, 10},
        {264, 64, 0, 0, 0, 0},
        {300, 1, 264, 0, 0, 0},
        {300, 3, 264, 0, 0, 0},
        {300, 0, 264, 0, 0, 0},
        {300, -7, 264, 0, 0, 0},
        {100, 64, 125, 100, 55, 36},
        {100, 6, 0, 0, 0, 0},
        {20, 100000, 260, 20, 7696, 7692},
        {500, 64, 264, 0, 0, 0},
        {529, 300, 264, 1, 0, 25},
        {40, 4000000, 0, 0, 0, 0}, /* more than numbers of 32 bits count */
    };
    ck_assert_int_eq(
        load(SPLIT(WORKSPACE("16384") MARK SHARES("k", "1000")), split_params, split_entries),
        TILE_OK);
    uint64_t mark = 0;
    long live = fake->live();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tile_arg args[] = {tile_i32(cases[i].n), tile_i32(cases[i].k)};
        takes(NULL, args, cases[i].programs, cases[i].programs ? "" : "it is faster from 2 places");
        FakeLaunch l = fake->last();
        unsigned programs = cases[i].programs ? cases[i].programs : (unsigned)cases[i].n;
        ck_assert_msg(l.grid[0] == programs && l.block[0] == (cases[i].programs ? 288 : 128),
                      "launch %zu: %u programs of %u", i, l.grid[0], l.block[0]);
        ck_assert_int_eq(fake->live(), live);
        if (!cases[i].programs) continue;
        ck_assert_msg(l.param[5] == cases[i].places && l.param[6] == cases[i].first &&
                          l.param[7] == cases[i].share,
                      "launch %zu: %d places behind %d in shares of %d", i, (int)l.param[5],
                      (int)l.param[6], (int)l.param[7]);
        ck_assert(!l.param[3] == !cases[i].places);
        if (cases[i].places) ck_assert(l.param[4] && l.param[4] != mark);
        if (cases[i].places) mark = l.param[4];
    }
    /* Of a workspace for which there is no memory, and any other call that fails. */
    tile_arg args[] = {tile_i32(300), tile_i32(64)};
    long before = fake->calls();
    ck_assert_int_eq(tile_launch(kernel, NULL, args, 2, NULL), TILE_OK);
    long n = fake->calls() - before;
    for (long i = 1; i <= n; i++) {
        fake->let_fail(i, 2, false);
        tile_status st = tile_launch(kernel, NULL, args, 2, NULL);
        const char *failed = fake->failed();
        bool own = !st && fake->last().block[0] == 128;
        ck_assert_msg(st || own || !strcmp(failed, "fake_ctx_current") ||
                          !strcmp(failed, "fake_ctx_pop"),
                      "%s", failed);
        ck_assert_int_eq(own, !strcmp(failed, "fake_mem_alloc"));
        ck_assert_int_eq(fake->live(), live);
    }
    fake->let_fail(0, 0, false);
}
END_TEST

/* The same in clusters of two: half as many share out half as many places. */
START_TEST(split_clusters) {
    static const struct {
        int32_t n, k;
        unsigned programs, cluster;
        uint64_t places, first, share;
    } cases[] = {
        {300, 64, 264, 2, 18, 4, 10},
        {299, 64, 264, 2, 18, 4, 10}, /* the last of a cluster has no place */
        {301, 64, 264, 2, 19, 20, 22},
        {263, 64, 264, 2, 0, 0, 0},
        {20, 100000, 260, 2, 10, 7696, 7692},
        {7, 100000, 128, 2, 4, 6250, 6250},
        {1, 100000, 17, 0, 1, 5888, 5882}, /* nobody to share with */
    };
    fake->device(9, 0, 1);
    ck_assert_int_eq(load(SPLIT_IN("\"max_cluster\": 2, \"cluster_when\": \"1\"",
                                   WORKSPACE("16384") MARK SHARES("k", "1000")),
                          split_params, split_entries),
                     TILE_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tile_arg args[] = {tile_i32(cases[i].n), tile_i32(cases[i].k)};
        ck_assert_int_eq(tile_launch(kernel, NULL, args, 2, NULL), TILE_OK);
        FakeLaunch l = fake->last();
        ck_assert_msg(l.grid[0] == cases[i].programs && l.cluster[0] == cases[i].cluster,
                      "launch %zu: %u programs, clusters of %u", i, l.grid[0], l.cluster[0]);
        ck_assert_msg(l.param[5] == cases[i].places && l.param[6] == cases[i].first &&
                          l.param[7] == cases[i].share,
                      "launch %zu: %d places behind %d in shares of %d", i, (int)l.param[5],
                      (int)l.param[6], (int)l.param[7]);
    }
}
END_TEST

START_TEST(damaged_splits) {
    static const char *const damaged[][2] = {
        {SPLIT(WORKSPACE("8") MARK SHARES("k", "1000")), "'bytes'"},
        {SPLIT(WORKSPACE("1e9") MARK SHARES("k", "1000")), "'bytes'"},
        {SPLIT(WORKSPACE("20000000") MARK SHARES("k", "1000")), "'bytes'"},
        {SPLIT(WORKSPACE("16384") MARK SHARES("k", "-1")), "'iteration_clocks'"},
        {SPLIT(WORKSPACE("16384") MARK SHARES("k", "\"1\"")), "'iteration_clocks'"},
        {SPLIT(WORKSPACE("16384") MARK ", {\"kind\": \"stream_k\"}"), "'iterations'"},
    };
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++)
        fails(load(damaged[i][0], split_params, split_entries), TILE_BAD_MODULE, damaged[i][1]);
    /* Parameters that do not come together are left to the kernel's own entry; iterations that are
     * no expression are none that are shared out. */
    static const struct {
        const char *facts;
        unsigned threads;
    } beyond[] = {
        {SPLIT(WORKSPACE("16384")), 128},
        {SPLIT(WORKSPACE("16384") MARK), 128},
        {SPLIT("{\"kind\": \"mark\"}" SHARES("k", "1000")), 128},
        {SPLIT(WORKSPACE("16384") MARK SHARES("k +", "1000")), 288},
        {SPLIT(WORKSPACE("16384") MARK SHARES("q", "1000")), 288},
        {SPLIT(WORKSPACE("16384") MARK SHARES("n // (k - 64)", "1000")), 288},
    };
    for (size_t i = 0; i < sizeof beyond / sizeof *beyond; i++) {
        tile_arg args[] = {tile_i32(300), tile_i32(64)};
        ck_assert_int_eq(load(beyond[i].facts, split_params, split_entries), TILE_OK);
        ck_assert_int_eq(tile_launch(kernel, NULL, args, 2, NULL), TILE_OK);
        ck_assert_uint_eq(fake->last().block[0], beyond[i].threads);
        ck_assert(beyond[i].threads == 128 || !fake->last().param[5]);
    }
}
END_TEST

int main(void) {
    Suite *s = suite_create("entries");
    TCase *t = tcase_create("entries");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, open_gpu, close_gpu);
    tcase_add_test(t, entries);
    tcase_add_test(t, worth);
    tcase_add_test(t, clusters);
    tcase_add_test(t, entries_by_name);
    tcase_add_test(t, numbers);
    tcase_add_test(t, hidden_of_the_ptx_machine);
    tcase_add_test(t, split_launches);
    tcase_add_test(t, split_clusters);
    tcase_add_test(t, damaged_splits);
    return run_suite(s, t);
}
