/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_hostile.c: a GPU context given what it must not accept, on the fake driver: arguments,
 * grids, modules, devices, streams and contexts of the caller's, a forked child. A clear status
 * each. And what reaches the driver when all is well: parameters, attributes, the current context.
 */
#include "tests/run_suite.h"
#include "tests/runtime/faults.h"
#include "tests/runtime/life.h"
#include "tests/runtime/one_kernel.h"
#include "tile_dlpack.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- arguments ---- */

START_TEST(arguments) {
    ck_assert_int_eq(
        load(PLAIN ", \"grid\": [\"m\"]",
             "{\"name\": \"p\", \"type\": \"*fp16\", \"divisible\": 16},"
             "{\"name\": \"one\", \"type\": \"i32\", \"equals\": 1},"
             "{\"name\": \"m\", \"type\": \"i32\", \"divisible\": 24},"
             "{\"name\": \"odd\", \"type\": \"*i8\", \"divisible\": 24},"
             "{\"name\": \"never\", \"type\": \"i8\", \"equals\": 300},"
             "{\"name\": \"none\", \"type\": \"*i8\", \"none\": true}",
             ".param .u64 a,\n.param .u32 b,\n.param .u32 c,\n.param .u64 d,\n.param .u8 e,\n"
             ".param .u64 f"),
        TILE_OK);
    const tile_arg good[] = {tile_pointer(4096), tile_i32(1),          tile_i32(48),
                             tile_pointer(4800), tile_int(TILE_I8, 1), tile_none()};
    static const struct {
        int which;
        tile_type type;
        int64_t value;
        const char *words; /* what is wrong, where not "never" comes first */
    } cases[] = {
        {0, TILE_POINTER, 4097, "0x1001 is not a multiple of 16 bytes"},
        {0, TILE_POINTER, -1, "not a multiple of 16 bytes"},
        {0, TILE_NONE, 0, "not compiled for None"},
        {0, TILE_I64, 4096, "the kernel takes *fp16, not i64"},
        {1, TILE_I32, 2, "compiled for the value 1, not 2"},
        {1, TILE_I64, 1, "the kernel takes i32, not i64"},
        {2, TILE_I32, 25, "25 is not a multiple of 24"},
        {2, TILE_I32, (int64_t)1 << 33, "does not fit i32"},
        {3, TILE_POINTER, 4801, "not a multiple of 24 bytes"},
        {4, TILE_I8, 1, "compiled for the value 300, not 1"},
        {4, TILE_I8, 300, "300 does not fit i8"},
        {5, TILE_POINTER, 1, "argument 5 (never)"}, /* argument 6 is ignored */
    };
    long before = fake->calls();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tile_arg args[6];
        memcpy(args, good, sizeof good);
        args[cases[i].which] = tile_int(cases[i].type, cases[i].value);
        fails(tile_launch(kernel, NULL, args, 6, NULL), TILE_BAD_LAUNCH, cases[i].words);
    }
    fails(tile_launch(kernel, NULL, good, 5, NULL), TILE_BAD_LAUNCH, "takes 6 arguments (p, one,");
    fails(tile_launch(kernel, NULL, good, 7, NULL), TILE_BAD_LAUNCH, "not 7");
    fails(tile_launch(kernel, NULL, good, -1, NULL), TILE_BAD_LAUNCH, "not -1");
    fails(tile_launch(kernel, NULL, NULL, 6, NULL), TILE_BAD_LAUNCH, "not 0");
    ck_assert_int_eq(fake->calls(), before); /* none of it came to the driver */
}
END_TEST

/* Each type as the driver gets it. */
START_TEST(parameters) {
    ck_assert_int_eq(load(PLAIN,
                          "{\"name\": \"p\", \"type\": \"*fp16\"}, {\"name\": \"a\", \"type\": "
                          "\"i8\"}, {\"name\": \"b\", \"type\": \"u64\"}, {\"name\": \"c\", "
                          "\"type\": \"fp16\"}, {\"name\": \"d\", \"type\": \"bf16\"}, "
                          "{\"name\": \"e\", \"type\": \"fp32\"}, {\"name\": \"f\", \"type\": "
                          "\"fp64\"}, {\"name\": \"g\", \"type\": \"i1\"}, {\"name\": \"h\", "
                          "\"type\": \"i32\", \"divisible\": 16}, {\"name\": \"i\", \"type\": "
                          "\"*i8\", \"none\": true}",
                          ".param .u64 a,\n.param .b8 b,\n.param .u64 c,\n.param .b16 d,\n"
                          ".param .b16 e,\n.param .f32 f,\n.param .f64 g,\n.param .u8 h,\n"
                          ".param .u32 i,\n.param .u64 j"),
                     TILE_OK);
    static const uint64_t want[] = {
        0xfedcba9876543210, 0x80, UINT64_MAX, 0x3555, 0x3eab, 0x3eaaaaab,
        0x3fd5555555555555, 1,    0xfffffff0, 0};
    double third = 1.0 / 3;
    const tile_arg args[] = {tile_pointer(want[0]),
                             tile_int(TILE_I8, -128),
                             tile_int(TILE_U64, -1),
                             tile_float(TILE_FP16, third),
                             tile_float(TILE_BF16, third),
                             tile_float(TILE_FP32, third),
                             tile_float(TILE_FP64, third),
                             tile_int(TILE_I1, 1),
                             tile_i32(-16),
                             tile_pointer(77)};
    tile_grid grid = {3, 2, 1};
    ck_assert_int_eq(tile_launch(kernel, &grid, args, 10, NULL), TILE_OK);
    FakeLaunch l = fake->last();
    ck_assert_int_eq(l.nparams, 10);
    for (int i = 0; i < 10; i++)
        ck_assert_msg(l.param[i] == want[i], "parameter %d is %llx", i,
                      (unsigned long long)l.param[i]);
    ck_assert(l.grid[0] == 3 && l.grid[1] == 2 && l.grid[2] == 1 && l.block[0] == 128);
    ck_assert(l.cluster[0] == 0 && !l.cooperative && l.shared == 0);
}
END_TEST

START_TEST(grids) {
    ck_assert_int_eq(load(PLAIN ", \"grid\": [\"cdiv(n, 0)\"]",
                          "{\"name\": \"n\", \"type\": \"i32\"}", ".param .u32 n"),
                     TILE_OK);
    tile_arg n = tile_i32(5);
    fails(tile_launch(kernel, NULL, &n, 1, NULL), TILE_BAD_LAUNCH, "division by zero");
    ck_assert_int_eq(load(PLAIN ", \"grid\": [\"n\", \"cdiv(n\"]",
                          "{\"name\": \"n\", \"type\": \"i32\"}", ".param .u32 n"),
                     TILE_OK); /* it can still be launched with a grid of the caller's */
    fails(tile_launch(kernel, NULL, &n, 1, NULL), TILE_BAD_LAUNCH, "expected ')'");
    tile_grid grid = {1, 1, 1};
    ck_assert_int_eq(tile_launch(kernel, &grid, &n, 1, NULL), TILE_OK);
    ck_assert_int_eq(
        load(PLAIN ", \"grid\": [\"n\"]", "{\"name\": \"n\", \"type\": \"i64\"}", ".param .u64 n"),
        TILE_OK);
    static const struct {
        int64_t n;
        const char *words;
    } bad[] = {
        {-1, "comes to -1"},
        {(int64_t)1 << 40, "comes to 1099511627776"},
        {(int64_t)1 << 31, "2147483648 x 1 x 1 programs: the limits are 2147483647, 65535, 65535"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        n = tile_i64(bad[i].n);
        fails(tile_launch(kernel, NULL, &n, 1, NULL), TILE_BAD_LAUNCH, bad[i].words);
    }
    n = tile_i64(0); /* a grid of nothing runs nothing, and says so by going well */
    long before = fake->calls();
    ck_assert_int_eq(tile_launch(kernel, NULL, &n, 1, NULL), TILE_OK);
    grid = (tile_grid){4, 0, 4};
    ck_assert_int_eq(tile_launch(kernel, &grid, &n, 1, NULL), TILE_OK);
    ck_assert_int_eq(fake->calls(), before);
    grid.y = 65536;
    fails(tile_launch(kernel, &grid, &n, 1, NULL), TILE_BAD_LAUNCH, "the limits");
}
END_TEST

/* ---- launches that a kernel asks for ---- */

/* A grid of no more programs than the 132 multiprocessors is launched with what one has. */
START_TEST(alone_on_multiprocessors) {
    ck_assert_int_eq(
        load("\"num_warps\": 4, \"shared\": 70000, \"shared_single_cta\": 200000", "", ""),
        TILE_OK);
    tile_kernel_info info;
    ck_assert_int_eq(tile_kernel_describe(kernel, &info), TILE_OK);
    ck_assert(info.shared_bytes == 70000 && info.shared_bytes_single_cta == 200000);
    static const struct {
        tile_grid grid;
        unsigned shared;
    } cases[] = {{{1, 1, 1}, 200000},   {{132, 1, 1}, 200000},     {{133, 1, 1}, 70000},
                 {{11, 12, 1}, 200000}, {{2, 33, 2}, 200000},      {{2, 34, 2}, 70000},
                 {{1, 133, 1}, 70000},  {{1, 65535, 65535}, 70000}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_int_eq(tile_launch(kernel, &cases[i].grid, NULL, 0, NULL), TILE_OK);
        ck_assert_msg(fake->last().shared == cases[i].shared, "launch %zu: %u bytes", i,
                      fake->last().shared);
    }
    ck_assert_int_eq(tile_context_set_concurrent(ctx, 1), TILE_OK);
    ck_assert_int_eq(tile_launch(kernel, &cases[0].grid, NULL, 0, NULL), TILE_OK);
    ck_assert_int_eq(fake->last().shared, 70000);
    ck_assert_int_eq(tile_context_set_concurrent(ctx, 0), TILE_OK);
    ck_assert_int_eq(tile_launch(kernel, &cases[0].grid, NULL, 0, NULL), TILE_OK);
    ck_assert_int_eq(fake->last().shared, 200000);
    /* More than this GPU has: as if it did not say so. */
    ck_assert_int_eq(
        load("\"num_warps\": 4, \"shared\": 70000, \"shared_single_cta\": 300000", "", ""),
        TILE_OK);
    ck_assert_int_eq(tile_launch(kernel, &cases[0].grid, NULL, 0, NULL), TILE_OK);
    ck_assert_int_eq(fake->last().shared, 70000);
    ck_assert_int_eq(load("\"num_warps\": 4, \"shared\": 70000, \"shared_single_cta\": 90000, "
                          "\"cooperative\": true",
                          "", ""),
                     TILE_OK);
    ck_assert_int_eq(tile_launch(kernel, &cases[0].grid, NULL, 0, NULL), TILE_OK);
    ck_assert(fake->last().cooperative && fake->last().shared == 90000);
    fails(load("\"num_warps\": 4, \"shared\": 70000, \"shared_single_cta\": 60000", "", ""),
          TILE_BAD_MODULE, "'shared_single_cta'");
}
END_TEST

/* A kernel that waits for the grids before it, of programs that leave multiprocessors free. */
START_TEST(early_launches) {
    static const struct {
        tile_grid grid;
        bool early;
    } cases[] = {{{1, 1, 1}, true},
                 {{131, 1, 1}, true},
                 {{132, 1, 1}, false},
                 {{12, 11, 1}, false},
                 {{65536, 65535, 65535}, false}};
    ck_assert_int_eq(load(PLAIN ", \"dependent_launch\": 1", "", ""), TILE_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_int_eq(tile_launch(kernel, &cases[i].grid, NULL, 0, NULL), TILE_OK);
        FakeLaunch l = fake->last();
        ck_assert_msg(l.early == cases[i].early, "grid %zu", i);
        ck_assert(l.grid[0] == cases[i].grid.x && l.block[0] == 128);
    }
    /* One of another compiler's, that may not wait. */
    ck_assert_int_eq(load(PLAIN, "", ""), TILE_OK);
    ck_assert_int_eq(tile_launch(kernel, &cases[0].grid, NULL, 0, NULL), TILE_OK);
    ck_assert(!fake->last().early);
    /* One all of whose programs run at once is launched so, and not early. */
    ck_assert_int_eq(load(PLAIN ", \"dependent_launch\": 1, \"cooperative\": true", "", ""),
                     TILE_OK);
    ck_assert_int_eq(tile_launch(kernel, &cases[0].grid, NULL, 0, NULL), TILE_OK);
    ck_assert(!fake->last().early && fake->last().cooperative);
    fails(load(PLAIN ", \"dependent_launch\": 2", "", ""), TILE_BAD_MODULE, "'dependent_launch'");
}
END_TEST

START_TEST(special_launches) {
    ck_assert_int_eq(load("\"num_warps\": 8, \"shared\": 100000, \"cluster\": [2, 2], "
                          "\"cooperative\": true",
                          "", ""),
                     TILE_OK);
    tile_kernel_info info;
    ck_assert_int_eq(tile_kernel_describe(kernel, &info), TILE_OK);
    ck_assert(info.cluster[0] == 2 && info.cluster[1] == 2 && info.cluster[2] == 1);
    ck_assert(info.cooperative && info.resident_programs == 2 && info.multiprocessors == 132);
    ck_assert(info.registers == 40 && info.spill_bytes == 8 && info.shared_bytes == 100000);
    tile_grid grid = {132, 2, 1};
    ck_assert_int_eq(tile_launch(kernel, &grid, NULL, 0, NULL), TILE_OK);
    FakeLaunch l = fake->last();
    ck_assert(l.cluster[0] == 2 && l.cluster[1] == 2 && l.cluster[2] == 1 && l.cooperative);
    ck_assert(l.grid[0] == 132 && l.grid[1] == 2 && l.block[0] == 256 && l.shared == 100000);
    grid.x = 133;
    fails(tile_launch(kernel, &grid, NULL, 0, NULL), TILE_BAD_LAUNCH,
          "133 x 2 x 1 programs does not divide into the clusters of kernel 'k', 2 x 2 x 1");
    grid.x = 134;
    fails(tile_launch(kernel, &grid, NULL, 0, NULL), TILE_BAD_LAUNCH,
          "all its programs at once: 268, and this GPU takes 264");
    fails(load(PLAIN ", \"cluster\": [4, 4, 2]", "", ""), TILE_BAD_MODULE, "'cluster'");
    fails(load(PLAIN ", \"cooperative\": 1", "", ""), TILE_BAD_MODULE, "'cooperative'");
    tile_context_destroy(ctx);
    fake->device(8, 0, 0);
    ck_assert_int_eq(tile_context_create("cuda:1", &ctx), TILE_OK);
    module = NULL;
    fails(load(PLAIN ", \"cluster\": [2]", "", ""), TILE_BAD_MODULE,
          "runs in clusters, which this GPU (Fake GPU 1) cannot do");
    fake->device(9, 0, 1);
}
END_TEST

/* A kernel with the map of a tensor of n rows of 64 halves, `stride` from each other. */
START_TEST(tensor_maps) {
    ck_assert_int_eq(
        load("\"num_warps\": 9, \"shared\": 0, \"grid\": [\"1\"], \"hidden\": [{\"kind\": "
             "\"tensor_map\", "
             "\"base\": \"p\", \"offset\": \"n - n\", \"type\": \"fp16\", \"sizes\": [\"n\", "
             "\"64\"], "
             "\"strides\": [\"stride // one\", \"1\"], \"box\": [8, 64], \"swizzle\": 128}]",
             "{\"name\": \"p\", \"type\": \"*fp16\"}, {\"name\": \"n\", \"type\": \"i32\"},"
             "{\"name\": \"stride\", \"type\": \"i64\"}, {\"name\": \"one\", \"type\": \"i32\"}",
             ".param .u64 a,\n.param .u32 b,\n.param .u64 c,\n.param .u32 d,\n.param .b128 e"),
        TILE_OK);
    static const struct {
        uint64_t p;
        int32_t n;
        int64_t stride;
        int32_t one;
        const char *words; /* NULL: a good one */
    } cases[] = {
        {4096, 100, 72, 1, NULL},
        {4104, 100, 72, 1, "its address must be a multiple of 16 bytes"},
        {4096, 0, 72, 1, "each size must be from 1 to 2^31 - 1"},
        {4096, -5, 72, 1, "each size must be from 1 to 2^31 - 1"},
        {4096, 100, 68, 1, "strides must be multiples of 16 bytes"},
        {4096, 100, 0, 1, "strides must be multiples of 16 bytes"},
        {4096, 100, (int64_t)1 << 41, 1, "strides must be multiples of 16 bytes"},
        {4096, 100, 72, 0,
         "no descriptor of 'p' with the sizes and strides n, 64, stride // one, 1, n - n: "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tile_arg args[] = {tile_pointer(cases[i].p), tile_i32(cases[i].n),
                           tile_i64(cases[i].stride), tile_i32(cases[i].one)};
        tile_status st = tile_launch(kernel, NULL, args, 4, NULL);
        if (cases[i].words)
            fails(st, TILE_BAD_LAUNCH, cases[i].words);
        else
            ck_assert_int_eq(st, TILE_OK);
    }
    FakeLaunch l = fake->last();
    ck_assert(l.block[0] == 288 && l.nparams == 5 && l.param[4] == 4096); /* the map's first word */
    /* Of rows that begin with lines L2 fetches two for a request, of others one. */
    static const struct {
        uint64_t p;
        int64_t stride;
        unsigned promotion;
    } lines[] = {{4096, 64, 3}, {4096, 192, 3}, {4096, 72, 2}, {4096, 96, 2}, {4160, 64, 2}};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        tile_arg args[] = {tile_pointer(lines[i].p), tile_i32(100), tile_i64(lines[i].stride),
                           tile_i32(1)};
        ck_assert_int_eq(tile_launch(kernel, NULL, args, 4, NULL), TILE_OK);
        ck_assert_uint_eq(fake->last().param[5] >> 24, lines[i].promotion);
    }
    /* A map is made once; each tensor has its own. */
    long calls[5];
    for (int i = 0; i < 5; i++) {
        tile_arg args[] = {tile_pointer(8192u << (i == 2)), tile_i32(i < 4 ? 100 : 101),
                           tile_i64(72), tile_i32(1)};
        long before = fake->calls();
        ck_assert_int_eq(tile_launch(kernel, NULL, args, 4, NULL), TILE_OK);
        calls[i] = fake->calls() - before;
        ck_assert_uint_eq(fake->last().param[4], 8192u << (i == 2));
    }
    ck_assert(calls[1] == calls[0] - 1 && calls[2] == calls[0]);
    ck_assert_int_eq(calls[3], calls[1]);
    ck_assert_int_eq(calls[4], calls[0]);
    fails(load(PLAIN ", \"hidden\": [{\"kind\": \"of the future\"}]", "", ""), TILE_BAD_MODULE,
          "hidden parameters, which this version of the runtime cannot make");
    /* So many elements on that their bytes are no number. */
    ck_assert_int_eq(
        load("\"num_warps\": 9, \"shared\": 0, \"grid\": [\"1\"], \"hidden\": [{\"kind\": "
             "\"tensor_map\", \"base\": \"p\", \"offset\": \"n\", \"type\": \"fp16\", "
             "\"sizes\": [\"64\", \"64\"], \"strides\": [\"64\", \"1\"], \"box\": [8, 64], "
             "\"swizzle\": 128}]",
             "{\"name\": \"p\", \"type\": \"*fp16\"}, {\"name\": \"n\", \"type\": \"i64\"}",
             ".param .u64 a,\n.param .u64 b,\n.param .u64 c"),
        TILE_OK);
    tile_arg args[] = {tile_pointer(4096), tile_i64(INT64_MIN)};
    fails(tile_launch(kernel, NULL, args, 2, NULL), TILE_BAD_LAUNCH,
          "its first element lies outside of all memory");
    args[1] = tile_i64(8);
    ck_assert_int_eq(tile_launch(kernel, NULL, args, 2, NULL), TILE_OK);
}
END_TEST

/* ---- modules ---- */

START_TEST(modules) {
    char *text = ptx_of("sm_90a", PLAIN, "", "");
    char *version = strstr(text, ".version 8.0");
    memcpy(version, ".version 9.9", 12);
    fails(tile_module_load(ctx, text, strlen(text), &module), TILE_BAD_MODULE,
          "the PTX is of version 9.9, and the driver is of CUDA 13.0");
    ck_assert_ptr_nonnull(strstr(tile_error(ctx), "CUDA_ERROR_UNSUPPORTED_PTX_VERSION, 222"));
    ck_assert_ptr_nonnull(strstr(tile_error(ctx), "Unsupported .version")); /* its compiler's log */
    memcpy(version, ".verzion 8.0", 12);
    fails(tile_module_load(ctx, text, strlen(text), &module), TILE_BAD_MODULE, "Missing .version");
    memcpy(version, ".version 8.0", 12);
    memcpy(strstr(text, ".entry k("), ".entry q(", 9);
    fails(tile_module_load(ctx, text, strlen(text), &module), TILE_BAD_MODULE,
          "the PTX has no entry 'k'");
    free(text);
    text = ptx_of("sm_100a", PLAIN, "", "");
    tile_status st = tile_module_load(ctx, text, strlen(text), &module);
    ck_assert(st == TILE_OK || st == TILE_BAD_MODULE); /* a target this library may not know */
    tile_module_unload(module);
    module = NULL;
    free(text);
    fails(load("\"num_warps\": 4, \"shared\": 300000", "", ""), TILE_BAD_MODULE,
          "needs 300000 bytes of shared memory");
    fails(tile_module_load(ctx, life_module(true), strlen(life_module(true)), &module),
          TILE_BAD_MODULE, "a GPU takes PTX");
    /* Cut anywhere in the manifest it is refused; cut later the driver has its say. */
    const char *whole = life_module(false), *code = strstr(whole, ".version");
    for (size_t n = 0; whole[n]; n++) {
        st = tile_module_load(ctx, whole, n, &module);
        if (whole + n < code + 12)
            ck_assert_msg(st == TILE_BAD_MODULE, "%zu: %s", n, tile_error(ctx));
        else
            ck_assert(st == TILE_OK || st == TILE_BAD_MODULE);
        if (st) ck_assert_str_ne(tile_error(ctx), "");
        tile_module_unload(module);
        module = NULL;
    }
}
END_TEST

/* What an error of the driver's comes to, where it depends on the call and where it does not. */
START_TEST(errors) {
    static const struct {
        int code;
        tile_status at_launch, at_copy, at_load;
    } cases[] = {
        {1, TILE_BAD_LAUNCH, TILE_INVALID, TILE_BAD_MODULE},
        {2, TILE_NO_MEMORY, TILE_NO_MEMORY, TILE_NO_MEMORY},
        {100, TILE_NO_DEVICE, TILE_NO_DEVICE, TILE_NO_DEVICE},
        {218, TILE_BAD_MODULE, TILE_BAD_MODULE, TILE_BAD_MODULE},
        {400, TILE_BAD_LAUNCH, TILE_INVALID, TILE_BAD_MODULE},
        {700, TILE_DEVICE_ERROR, TILE_DEVICE_ERROR, TILE_DEVICE_ERROR},
        {701, TILE_BAD_LAUNCH, TILE_BAD_LAUNCH, TILE_BAD_LAUNCH},
        {719, TILE_DEVICE_ERROR, TILE_DEVICE_ERROR, TILE_DEVICE_ERROR},
        {720, TILE_BAD_LAUNCH, TILE_BAD_LAUNCH, TILE_BAD_LAUNCH},
        {4242, TILE_DEVICE_ERROR, TILE_DEVICE_ERROR, TILE_DEVICE_ERROR},
    };
    ck_assert_int_eq(load(PLAIN, "", ""), TILE_OK);
    tile_grid one = {1, 1, 1};
    tile_ptr p;
    ck_assert_int_eq(tile_alloc(ctx, 16, &p), TILE_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char words[40];
        snprintf(words, sizeof words, ", %d)", cases[i].code);
        fake->let_fail(3, cases[i].code, false); /* after ctx_current and ctx_push */
        fails(tile_launch(kernel, &one, NULL, 0, NULL), cases[i].at_launch, words);
        ck_assert_str_eq(fake->failed(), "fake_launch");
        fake->let_fail(2, cases[i].code, false);
        fails(tile_fill(ctx, p, 0, 16), cases[i].at_copy, words);
        ck_assert_str_eq(fake->failed(), "fake_fill");
        fake->let_fail(2, cases[i].code, false);
        tile_module *m;
        fails(tile_module_load(ctx, life_module(false), strlen(life_module(false)), &m),
              cases[i].at_load, words);
        ck_assert_str_eq(fake->failed(), "fake_module_load");
    }
    ck_assert_ptr_nonnull(strstr(tile_error(ctx), "an unknown error"));
    fake->let_fail(0, 0, false);
}
END_TEST

/* ---- devices, and what is the caller's ---- */

START_TEST(devices) {
    tile_context *c;
    ck_assert_int_eq(tile_context_create("cuda:2", &c), TILE_NO_DEVICE);
    ck_assert_ptr_nonnull(strstr(tile_error(c), "there is no GPU 2; the driver has 2"));
    ck_assert_ptr_null(tile_context_cuda(c));
    tile_context_destroy(c);
    fake->device(7, 5, 0);
    ck_assert_int_eq(tile_context_create("cuda", &c), TILE_NO_DEVICE);
    ck_assert_ptr_nonnull(strstr(tile_error(c), "7.5; 8.0 is needed"));
    tile_context_destroy(c);
    ck_assert_int_eq(tile_context_create("auto", &c), TILE_OK);
    ck_assert_str_eq(tile_context_target(c), "cpu");
    tile_context_destroy(c);
    static const struct {
        int major, minor;
        const char *target;
    } best[] = {{8, 0, "sm_80"},   {8, 6, "sm_86"},   {8, 7, "sm_87"},   {8, 9, "sm_89"},
                {10, 0, "sm_100"}, {10, 3, "sm_103"}, {11, 0, "sm_110"}, {12, 0, "sm_120"},
                {12, 1, "sm_120"}, {9, 1, "sm_89"}};
    for (size_t i = 0; i < sizeof best / sizeof *best; i++) {
        fake->device(best[i].major, best[i].minor, 1);
        ck_assert_int_eq(tile_context_create("cuda", &c), TILE_OK);
        ck_assert_str_eq(tile_context_target(c), best[i].target);
        tile_context_destroy(c);
    }
    fake->device(9, 0, 1);
    ck_assert_int_eq(tile_context_create("auto", &c), TILE_OK);
    ck_assert_str_eq(tile_context_target(c), "sm_90a");
    ck_assert_ptr_nonnull(tile_context_cuda(c));
    tile_context_destroy(c);
    tile_ptr p;
    fails(tile_alloc(ctx, SIZE_MAX, &p), TILE_NO_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY");
    char byte = 0;
    fails(tile_copy_to_device(ctx, 4096, &byte, 1), TILE_INVALID, "copy to the device");
    fails(tile_wrap(ctx, &byte, 1, &p), TILE_INVALID, "a GPU cannot use");
}
END_TEST

/* Two GPUs and the CPU: who reaches whom, and what handles are worth. */
START_TEST(many_gpus) {
    tile_context *other, *cpu;
    tile_shared_handle h, wrong;
    tile_ptr p, q, at;
    size_t bytes;
    ck_assert_int_eq(tile_context_create("cuda:1", &other), TILE_OK);
    ck_assert_int_eq(tile_context_create("cpu", &cpu), TILE_OK);
    ck_assert_int_eq(tile_alloc_shared(other, 1000, &p), TILE_OK);
    ck_assert_int_eq(tile_alloc(ctx, 1000, &q), TILE_OK);
    fails(tile_context_enable_peer(ctx, cpu), TILE_INVALID, "go by the host: tile_copy_to_host");
    ck_assert_int_eq(tile_context_enable_peer(cpu, ctx), TILE_INVALID);
    fails(tile_copy_peer(ctx, q, cpu, 16, 4, NULL), TILE_INVALID, "no memory in common");
    fake->connected(false);
    fails(tile_context_enable_peer(ctx, other), TILE_UNSUPPORTED,
          "tile_copy_peer copies by the host");
    ck_assert_int_eq(tile_shared_export(other, p, &h), TILE_OK);
    fails(tile_shared_open(ctx, &h, sizeof h, &at, NULL), TILE_UNSUPPORTED, "PEER_ACCESS");
    ck_assert_int_eq(tile_copy_peer(ctx, q, other, p, 1000, NULL), TILE_OK);
    fake->connected(true);
    for (int again = 0; again < 2; again++)
        ck_assert_int_eq(tile_context_enable_peer(ctx, other), TILE_OK);
    tile_context *same;
    ck_assert_int_eq(tile_context_create("cuda:1", &same), TILE_OK);
    ck_assert_int_eq(tile_context_enable_peer(other, same), TILE_OK); /* one primary context */
    tile_context_destroy(same);
    ck_assert_int_eq(tile_context_create("cuda:2", &same), TILE_NO_DEVICE);
    ck_assert_ptr_nonnull(strstr(tile_error(same), "there is no GPU 2; the driver has 2"));
    tile_context_destroy(same);
    /* Kept apart from all else: whoever opens it has what the driver cut it from. */
    ck_assert_int_eq(tile_shared_open(ctx, &h, sizeof h, &at, &bytes), TILE_OK);
    ck_assert_uint_eq(bytes, 1000);
    ck_assert_int_eq(tile_free(ctx, at), TILE_OK);
    fails(tile_free(ctx, at), TILE_INVALID, "freed already");
    ck_assert_int_eq(tile_shared_open(cpu, &h, sizeof h, &at, NULL), TILE_INVALID);
    ck_assert_ptr_nonnull(strstr(tile_error(cpu), "of a GPU's memory"));
    for (size_t i = 0; i < sizeof h; i++) { /* its size among them */
        wrong = h;
        wrong.bytes[i] ^= 0x80;
        tile_status st = tile_shared_open(ctx, &wrong, sizeof wrong, &at, &bytes);
        if (st == TILE_OK) { /* fewer bytes; or what the fake driver does not read of its 64 */
            ck_assert_uint_le(bytes, 2 << 20);
            ck_assert_int_eq(tile_free(ctx, at), TILE_OK);
        } else {
            ck_assert_int_eq(st, TILE_INVALID);
        }
    }
    wrong = h;
    wrong.bytes[19] = 1; /* of the size */
    fails(tile_shared_open(ctx, &wrong, sizeof wrong, &at, NULL), TILE_INVALID, "handle says");
    ck_assert_int_eq(tile_free(other, p), TILE_OK);
    fails(tile_shared_open(ctx, &h, sizeof h, &at, NULL), TILE_INVALID, "does not open");
    void *stream;
    ck_assert_int_eq(tile_stream_create(ctx, &stream), TILE_OK);
    ck_assert_ptr_nonnull(stream);
    ck_assert_int_eq(tile_copy_on_device(ctx, q, q, 4, stream), TILE_OK);
    uint32_t number = 0;
    ck_assert_int_eq(tile_stream_write_value(ctx, stream, q + 996, 0x12345678), TILE_OK);
    ck_assert_int_eq(tile_copy_to_host(ctx, &number, q + 996, 4), TILE_OK);
    ck_assert_uint_eq(number, 0x12345678);
    fails(tile_stream_write_value(ctx, stream, 0, 1), TILE_INVALID, "a multiple of 4 is wanted");
    fails(tile_stream_write_value(ctx, stream, q + 2, 1), TILE_INVALID,
          "a multiple of 4 is wanted");
    fails(tile_stream_write_value(ctx, stream, q + (1 << 20), 1), TILE_INVALID, "write a number");
    ck_assert_int_eq(tile_stream_write_value(NULL, stream, q, 1), TILE_INVALID);
    ck_assert_int_eq(tile_stream_wait_value(ctx, stream, q + 996, 0x12345670), TILE_OK);
    fails(tile_stream_wait_value(ctx, stream, 0, 1), TILE_INVALID, "a multiple of 4 is wanted");
    fails(tile_stream_wait_value(ctx, stream, q + 2, 1), TILE_INVALID, "a multiple of 4 is wanted");
    fails(tile_stream_wait_value(ctx, stream, q + (1 << 20), 1), TILE_INVALID, "wait for a number");
    ck_assert_int_eq(tile_stream_wait_value(NULL, stream, q, 1), TILE_INVALID);
    ck_assert_int_eq(tile_alloc(cpu, 8, &at), TILE_OK);
    ck_assert_int_eq(tile_stream_write_value(cpu, NULL, at + 4, 7), TILE_OK);
    ck_assert_int_eq(tile_copy_to_host(cpu, &number, at + 4, 4), TILE_OK);
    ck_assert_uint_eq(number, 7);
    ck_assert_int_eq(tile_stream_write_value(cpu, NULL, at + 8, 7), TILE_INVALID);
    ck_assert_int_eq(tile_stream_wait_value(cpu, NULL, at + 4, 7), TILE_OK);
    ck_assert_int_eq(tile_stream_wait_value(cpu, NULL, at + 8, 7), TILE_INVALID);
    ck_assert_int_eq(tile_stream_destroy(ctx, stream), TILE_OK);
    fails(tile_stream_destroy(ctx, stream), TILE_INVALID, "cannot end a stream");
    ck_assert_int_eq(tile_free(ctx, q), TILE_OK);
    tile_context_destroy(cpu);
    tile_context_destroy(other);
}
END_TEST

typedef int (*CreateContext)(void **context, unsigned flags, int device);
typedef int (*CreateStream)(void **stream, unsigned flags);
typedef int (*Destroy)(void *object);

START_TEST(callers_own) {
    void *cu, *stream;
    CreateContext create;
    CreateStream create_stream;
    Destroy destroy, destroy_stream;
    fault_driver_symbol("cuCtxCreate_v2", &create, sizeof create);
    fault_driver_symbol("cuCtxDestroy_v2", &destroy, sizeof destroy);
    fault_driver_symbol("cuStreamCreate", &create_stream, sizeof create_stream);
    fault_driver_symbol("cuStreamDestroy_v2", &destroy_stream, sizeof destroy_stream);
    ck_assert_int_eq(create(&cu, 0, 0), 0); /* and current from now on */
    tile_context *own;
    ck_assert_int_eq(tile_context_from_cuda(cu, &own), TILE_OK);
    ck_assert_ptr_eq(tile_context_cuda(own), cu);
    ck_assert_int_eq(create_stream(&stream, 0), 0);
    tile_module *m;
    tile_kernel *special;
    ck_assert_int_eq(tile_module_load(own, life_module(false), strlen(life_module(false)), &m),
                     TILE_OK);
    ck_assert_int_eq(tile_kernel_get(m, "special", &special), TILE_OK);
    /* The context is current: asking that and launching is all that the driver hears. */
    long before = fake->calls();
    ck_assert_int_eq(tile_launch(special, NULL, NULL, 0, stream), TILE_OK);
    ck_assert_int_eq(fake->calls(), before + 2);
    ck_assert_ptr_eq(fake->last().stream, stream);
    ck_assert_int_eq(tile_synchronize_stream(own, stream), TILE_OK);
    tile_event *e = NULL;
    ck_assert_int_eq(tile_event_record(own, stream, &e), TILE_OK);
    int done;
    ck_assert_int_eq(tile_event_done(e, &done), TILE_OK);
    ck_assert_int_eq(done, 0);
    ck_assert_int_eq(tile_event_done(e, &done), TILE_OK);
    ck_assert_int_eq(done, 1);
    ck_assert_int_eq(tile_event_order(e, stream), TILE_OK);
    double ms;
    tile_event *other = NULL;
    ck_assert_int_eq(tile_event_record(ctx, NULL, &other), TILE_OK);
    ck_assert_int_eq(tile_event_elapsed(e, other, &ms), TILE_INVALID);
    ck_assert_int_eq(tile_event_record(ctx, NULL, &e), TILE_INVALID);
    ck_assert_ptr_nonnull(strstr(tile_error(ctx), "of another context"));
    tile_event_destroy(other);
    ck_assert_int_eq(destroy_stream(stream), 0);
    /* A stream that is no more. */
    ck_assert_int_eq(tile_launch(special, NULL, NULL, 0, stream), TILE_BAD_LAUNCH);
    ck_assert_ptr_nonnull(strstr(tile_error(own), "CUDA_ERROR_INVALID_HANDLE"));
    ck_assert_int_eq(tile_synchronize_stream(own, stream), TILE_INVALID);
    ck_assert_int_eq(tile_event_record(own, stream, &e), TILE_INVALID);
    tile_event_destroy(e);
    tile_module_unload(m);
    tile_context_destroy(own);
    ck_assert_int_eq(fake->depth(), 1); /* still the caller's, still current */
    ck_assert_int_eq(destroy(cu), 0);
    /* A context that is no more. */
    ck_assert_int_eq(tile_context_from_cuda(cu, &own), TILE_INVALID);
    ck_assert_ptr_nonnull(strstr(tile_error(own), "CUDA_ERROR_INVALID_CONTEXT"));
    tile_context_destroy(own);
}
END_TEST

/* Tensors know on which GPU they are. */
START_TEST(tensors) {
    tile_ptr p;
    int64_t shape[] = {16};
    ck_assert_int_eq(tile_alloc(ctx, 64, &p), TILE_OK);
    tile_tensor t = {.data = p, .type = TILE_FP32, .ndim = 1, .shape = shape}, *in;
    DLManagedTensorVersioned *m;
    ck_assert_int_eq(tile_tensor_export(ctx, &t, NULL, NULL, &m), TILE_OK);
    ck_assert(m->dl_tensor.device.device_type == kDLCUDA && m->dl_tensor.device.device_id == 0);
    m->dl_tensor.device.device_id = 1;
    fails(tile_tensor_import(ctx, m, NULL, &in), TILE_INVALID, "device 2:1");
    m->dl_tensor.device = (DLDevice){kDLCPU, 0};
    fails(tile_tensor_import(ctx, m, NULL, &in), TILE_INVALID, "device 1:0");
    m->dl_tensor.device = (DLDevice){kDLCUDAManaged, 0};
    ck_assert_int_eq(tile_tensor_import(ctx, m, NULL, &in), TILE_OK);
    tile_tensor_release(in);
}
END_TEST

/* ---- processes ---- */

START_TEST(forked_child) {
    ck_assert_int_eq(tile_module_load(ctx, life_module(false), strlen(life_module(false)), &module),
                     TILE_OK);
    ck_assert_int_eq(tile_kernel_get(module, "special", &kernel), TILE_OK);
    tile_event *e = NULL;
    ck_assert_int_eq(tile_event_record(ctx, NULL, &e), TILE_OK);
    tile_ptr p;
    int64_t shape[] = {16};
    ck_assert_int_eq(tile_alloc(ctx, 64, &p), TILE_OK);
    tile_tensor t = {.data = p, .type = TILE_FP32, .ndim = 1, .shape = shape}, *in;
    DLManagedTensorVersioned *m;
    ck_assert_int_eq(tile_tensor_export(ctx, &t, NULL, NULL, &m), TILE_OK);
    ck_assert_int_eq(tile_tensor_import(ctx, m, NULL, &in), TILE_OK);
    long before = fake->calls();
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        int done;
        double ms;
        tile_module *none;
        bool ok = tile_launch(kernel, NULL, NULL, 0, NULL) == TILE_FORKED &&
                  tile_free(ctx, p) == TILE_FORKED && tile_synchronize(ctx) == TILE_FORKED &&
                  tile_event_record(ctx, NULL, &e) == TILE_FORKED &&
                  tile_event_wait(e) == TILE_FORKED && tile_event_done(e, &done) == TILE_FORKED &&
                  tile_event_order(e, NULL) == TILE_FORKED &&
                  tile_event_elapsed(e, e, &ms) == TILE_FORKED &&
                  tile_tensor_import(ctx, m, NULL, &in) == TILE_FORKED &&
                  tile_module_load(ctx, "", 0, &none) == TILE_FORKED && !tile_context_cuda(ctx) &&
                  strstr(tile_error(ctx), "fork") != NULL;
        tile_event_destroy(e);
        tile_tensor_release(in);
        tile_module_unload(module);
        tile_context_destroy(ctx);
        ok = ok && fake->calls() == before; /* the parent's GPU was left alone */
        _exit(ok ? 0 : 1);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    tile_tensor_release(in);
    tile_event_destroy(e);
    ck_assert_int_eq(tile_launch(kernel, NULL, NULL, 0, NULL), TILE_OK);
}
END_TEST

int main(void) {
    Suite *s = suite_create("hostile");
    TCase *t = tcase_create("hostile");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, open_gpu, close_gpu);
    tcase_add_test(t, arguments);
    tcase_add_test(t, parameters);
    tcase_add_test(t, grids);
    tcase_add_test(t, alone_on_multiprocessors);
    tcase_add_test(t, special_launches);
    tcase_add_test(t, early_launches);
    tcase_add_test(t, tensor_maps);
    tcase_add_test(t, modules);
    tcase_add_test(t, errors);
    tcase_add_test(t, devices);
    tcase_add_test(t, many_gpus);
    tcase_add_test(t, callers_own);
    tcase_add_test(t, tensors);
    tcase_add_test(t, forked_child);
    return run_suite(s, t);
}
