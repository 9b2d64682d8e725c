/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_runtime.c: the public API on the CPU device: memory, modules, argument checks, the checks of
 * a running kernel, threads, and what happens without a GPU. */
#include "runtime/runtime.h"
#include "tests/run_suite.h"
#include "tile.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* y = x for n elements, eight to a program. */
static const char copy_tir[] =
    "kernel @copy(%x: ptr<f32> divisible=16, %y: ptr<f32>, %n: i32) num_warps=4 num_stages=3 "
    "grid=\"cdiv(n, B)\" constexpr B=\"8\" constexpr ACT=\"\\\"relu\\\"\" {\n"
    "  %pid: i32 = program_id axis=0\n"
    "  %b: i32 = const value=8\n"
    "  %base: i32 = mul %pid, %b\n"
    "  %r: i32[8] = arange start=0 end=8\n"
    "  %s: i32[8] = splat %base\n"
    "  %o: i32[8] = add %s, %r\n"
    "  %ns: i32[8] = splat %n\n"
    "  %m: i1[8] = cmp %o, %ns pred=lt\n"
    "  %xs: ptr<f32>[8] = splat %x\n"
    "  %xp: ptr<f32>[8] = addptr %xs, %o\n"
    "  %v: f32[8] = load %xp, %m @2:3-7\n"
    "  %ys: ptr<f32>[8] = splat %y\n"
    "  %yp: ptr<f32>[8] = addptr %ys, %o\n"
    "  store %yp, %v, %m\n"
    "  return\n"
    "}\n"
    "source \"t.tl\" {\n"
    "  \"first\\n\"\n"
    "  \"  v = load(x)\\n\"\n"
    "}\n";

/* Parameters of every sort; the body does nothing. */
static const char args_tir[] =
    "kernel @args(%p: ptr<f16> divisible=16, %i: i32 divisible=16, one: i32 one, "
    "none: ptr<f32> none, %b: i1, %small: i8, %big: u64, %f: f32) num_warps=4 num_stages=3 {\n"
    "  return\n"
    "}\n";

static tile_context *ctx;
static tile_module *module;
static tile_kernel *kernel;

static void open_cpu(void) {
    ck_assert_int_eq(tile_context_create("cpu", &ctx), TILE_OK);
    module = NULL;
}

static void close_cpu(void) {
    tile_module_unload(module);
    tile_context_destroy(ctx);
}

static void load(const char *text) {
    tile_status st = tile_module_load(ctx, text, strlen(text), &module);
    ck_assert_msg(st == TILE_OK, "%s", tile_error(ctx));
    ck_assert_int_eq(tile_kernel_get(module, NULL, &kernel), TILE_OK);
}

#define fails(call, status, words)                                                                 \
    do {                                                                                           \
        ck_assert_int_eq((call), (status));                                                        \
        ck_assert_msg(strstr(tile_error(ctx), (words)), "%s", tile_error(ctx));                    \
    } while (0)

/* ---- contexts and memory ---- */

START_TEST(devices) {
    tile_context *c;
    ck_assert_int_eq(tile_context_create("cpu", NULL), TILE_INVALID);
    static const char *const unknown[] = {"gpu",     "",           "cuda:",   "cuda:x",
                                          "cuda:1x", "cuda:99999", "cuda:-1", "cpu:0"};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        ck_assert_int_eq(tile_context_create(unknown[i], &c), TILE_INVALID);
        ck_assert_ptr_nonnull(strstr(tile_error(c), "unknown device"));
        tile_ptr p;
        ck_assert_int_eq(tile_alloc(c, 4, &p), TILE_INVALID); /* never opened */
        ck_assert_int_eq(tile_synchronize(c), TILE_INVALID);
        tile_context_destroy(c);
    }
    ck_assert_int_eq(tile_context_from_cuda(NULL, &c), TILE_INVALID);
    tile_context_destroy(c);
    tile_context_destroy(NULL);
    ck_assert_str_eq(tile_context_target(ctx), "cpu");
    ck_assert_ptr_nonnull(strstr(tile_context_device_name(ctx), "CPU"));
    ck_assert_str_eq(tile_error(ctx), "");
    fails(tile_context_set_checks(ctx, 64), TILE_INVALID, "0x40");
    for (int i = TILE_OK; i <= TILE_INTERNAL; i++)
        ck_assert_str_ne(tile_status_text((tile_status)i), "unknown status");
    ck_assert_str_eq(tile_status_text((tile_status)-1), "unknown status");
    ck_assert_str_eq(tile_status_code(TILE_OK), "");
    ck_assert_str_eq(tile_status_code(TILE_NO_MEMORY), "R0001");
    ck_assert_str_eq(tile_status_code(TILE_INTERNAL), "R0012");
    ck_assert_str_eq(tile_status_code((tile_status)(TILE_INTERNAL + 1)), "");
    ck_assert_str_eq(tile_status_code((tile_status)-1), "");
}
END_TEST

/* With a GPU it opens and names a target; without one it says what is missing. "auto" never
 * fails. */
START_TEST(gpu_or_not) {
    tile_context *c;
    tile_status st = tile_context_create("cuda", &c);
    ck_assert_ptr_nonnull(c);
    if (st == TILE_OK)
        ck_assert_ptr_nonnull(strstr(tile_context_target(c), "sm_"));
    else {
        ck_assert_int_eq(st, TILE_NO_DEVICE);
        ck_assert_ptr_nonnull(strstr(tile_error(c), "CUDA driver"));
    }
    tile_context_destroy(c);
    ck_assert_int_eq(tile_context_create("cuda:9999", &c), TILE_NO_DEVICE);
    ck_assert_str_ne(tile_error(c), "");
    tile_context_destroy(c);
    tile_context *automatic;
    ck_assert_int_eq(tile_context_create(NULL, &automatic), TILE_OK);
    ck_assert_int_eq(strcmp(tile_context_target(automatic), "cpu") == 0, st != TILE_OK);
    tile_context_destroy(automatic);
}
END_TEST

START_TEST(memory) {
    tile_ptr p, q, w;
    char text[16] = "abcdefghijklmno", back[16] = "";
    ck_assert_int_eq(tile_alloc(ctx, 16, &p), TILE_OK);
    ck_assert_uint_eq(p % 256, 0);
    ck_assert_int_eq(tile_alloc(ctx, 0, &q), TILE_OK);
    ck_assert(q != 0 && q != p);
    ck_assert_int_eq(tile_copy_to_device(ctx, p, text, 16), TILE_OK);
    ck_assert_int_eq(tile_copy_on_device(ctx, p + 8, p, 8, NULL), TILE_OK);
    ck_assert_int_eq(tile_fill(ctx, p + 1, '-', 2), TILE_OK);
    ck_assert_int_eq(tile_copy_to_host(ctx, back, p, 16), TILE_OK);
    ck_assert_int_eq(memcmp(back, "a--defghabcdefgh", 16), 0);
    fails(tile_copy_to_device(ctx, p + 1, text, 16), TILE_INVALID, "do not lie in one buffer");
    fails(tile_copy_to_host(ctx, back, p + 16, 1), TILE_INVALID, "do not lie in one buffer");
    fails(tile_copy_to_host(ctx, back, p - 1, 1), TILE_INVALID, "do not lie in one buffer");
    fails(tile_fill(ctx, p + 8, 0, SIZE_MAX), TILE_INVALID, "do not lie in one buffer");
    fails(tile_copy_on_device(ctx, p, q, 1, NULL), TILE_INVALID, "do not lie in one buffer");
    fails(tile_copy_to_host(ctx, NULL, p, 1), TILE_INVALID, "NULL");
    ck_assert_int_eq(tile_copy_to_host(ctx, NULL, 0, 0), TILE_OK);
    fails(tile_free(ctx, p + 4), TILE_INVALID, "not the start of a buffer");
    ck_assert_int_eq(tile_wrap(ctx, text, sizeof text, &w), TILE_OK);
    fails(tile_wrap(ctx, text + 4, 4, &w), TILE_INVALID, "overlaps");
    ck_assert_int_eq(tile_free(ctx, (tile_ptr)(uintptr_t)text), TILE_OK);
    ck_assert_int_eq(tile_wrap(ctx, text + 4, 4, &w), TILE_OK);
    fails(tile_wrap(ctx, text, 5, &w), TILE_INVALID, "overlaps");
    ck_assert_int_eq(tile_wrap(ctx, text, 4, &w), TILE_OK); /* touching is not overlapping */
    fails(tile_wrap(ctx, NULL, 4, &w), TILE_INVALID, "NULL");
    ck_assert_int_eq(tile_free(ctx, 0), TILE_OK);
    ck_assert_int_eq(tile_free(ctx, q), TILE_OK);
    fails(tile_free(ctx, q), TILE_INVALID, "in a buffer that was freed already");
    fails(tile_alloc(ctx, SIZE_MAX, &q), TILE_NO_MEMORY, "no memory");
    fails(tile_alloc(ctx, SIZE_MAX / 4, &q), TILE_NO_MEMORY, "no memory");
    /* p is left for the context to free. */
}
END_TEST

/* The register stays sorted and right under any order of allocation. */
START_TEST(many_buffers) {
    enum { N = 300 };
    tile_ptr p[N];
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < N; i++) ck_assert_int_eq(tile_alloc(ctx, i % 7, &p[i]), TILE_OK);
        for (size_t i = 0; i < N; i++) ck_assert_int_eq(tile_fill(ctx, p[i], 1, i % 7), TILE_OK);
        for (size_t i = 0; i < N; i++) {
            size_t k = i * 101 % N;
            ck_assert_int_eq(tile_fill(ctx, p[k], 1, i % 7 + 7), TILE_INVALID);
            ck_assert_int_eq(tile_free(ctx, p[k]), TILE_OK);
        }
    }
    ck_assert_uint_eq(ctx->nbuffers, 0);
}
END_TEST

/* ---- launching ---- */

START_TEST(launches) {
    load(copy_tir);
    enum { N = 29 };
    float in[N], out[N];
    for (int i = 0; i < N; i++) in[i] = (float)i * 0.5f;
    tile_ptr x, y;
    ck_assert_int_eq(tile_alloc(ctx, sizeof in, &x), TILE_OK);
    ck_assert_int_eq(tile_alloc(ctx, sizeof in, &y), TILE_OK);
    ck_assert_int_eq(tile_copy_to_device(ctx, x, in, sizeof in), TILE_OK);
    tile_arg args[] = {tile_pointer(x), tile_pointer(y), tile_i32(N)};
    tile_event *start = NULL, *end = NULL;
    ck_assert_int_eq(tile_event_record(ctx, NULL, &start), TILE_OK);
    ck_assert_int_eq(tile_launch(kernel, NULL, args, 3, NULL), TILE_OK);
    ck_assert_int_eq(tile_event_record(ctx, NULL, &end), TILE_OK);
    double ms = -1;
    ck_assert_int_eq(tile_event_elapsed(start, end, &ms), TILE_OK);
    ck_assert(ms >= 0 && ms < 60000);
    tile_event_destroy(start);
    tile_event_destroy(end);
    ck_assert_int_eq(tile_copy_to_host(ctx, out, y, sizeof out), TILE_OK);
    ck_assert_int_eq(memcmp(in, out, sizeof in), 0);

    tile_grid grid;
    ck_assert_int_eq(tile_kernel_grid(kernel, NULL, args, 3, &grid), TILE_OK);
    ck_assert_uint_eq(grid.x, 4);
    ck_assert_int_eq(tile_kernel_grid(kernel, "n, B, 2", args, 3, &grid), TILE_OK);
    ck_assert(grid.x == N && grid.y == 8 && grid.z == 2);
    fails(tile_kernel_grid(kernel, "q", args, 3, &grid), TILE_BAD_LAUNCH, "unknown name 'q'");
    fails(tile_kernel_grid(kernel, "x", args, 3, &grid), TILE_BAD_LAUNCH, "not an integer");
    fails(tile_kernel_grid(kernel, "ACT", args, 3, &grid), TILE_BAD_LAUNCH, "not an integer");
    fails(tile_kernel_grid(kernel, "0 - n", args, 3, &grid), TILE_BAD_LAUNCH, "comes to -29");

    /* A grid of one program writes eight elements; a grid of none writes nothing. */
    ck_assert_int_eq(tile_fill(ctx, y, 0, sizeof out), TILE_OK);
    ck_assert_int_eq(tile_launch(kernel, &(tile_grid){1, 0, 1}, args, 3, NULL), TILE_OK);
    ck_assert_int_eq(tile_copy_to_host(ctx, out, y, sizeof out), TILE_OK);
    ck_assert(out[1] == 0);
    ck_assert_int_eq(tile_launch(kernel, &(tile_grid){1, 1, 1}, args, 3, NULL), TILE_OK);
    ck_assert_int_eq(tile_copy_to_host(ctx, out, y, sizeof out), TILE_OK);
    ck_assert(out[7] == in[7] && out[8] == 0);
    fails(tile_launch(kernel, &(tile_grid){1, 65536, 1}, args, 3, NULL), TILE_BAD_LAUNCH, "limits");
    fails(tile_launch(kernel, &(tile_grid){0x80000000u, 1, 1}, args, 3, NULL), TILE_BAD_LAUNCH,
          "limits");
}
END_TEST

START_TEST(failing_checks) {
    load(copy_tir);
    tile_ptr x, y;
    ck_assert_int_eq(tile_alloc(ctx, 80, &x), TILE_OK);
    ck_assert_int_eq(tile_alloc(ctx, 96, &y), TILE_OK);
    tile_arg args[] = {tile_pointer(x), tile_pointer(y), tile_i32(24)};
    fails(tile_launch(kernel, NULL, args, 3, NULL), TILE_CHECK_FAILED, "");
    ck_assert_int_eq(tile_fill(ctx, x, 0, 80), TILE_OK);
    fails(tile_launch(kernel, NULL, args, 3, NULL), TILE_CHECK_FAILED, "t.tl:2:3: error");
    ck_assert_ptr_nonnull(strstr(tile_error(ctx), "'x'"));
    ck_assert_ptr_nonnull(strstr(tile_error(ctx), "^~~~"));
    args[2] = tile_i32(20);
    ck_assert_int_eq(tile_launch(kernel, NULL, args, 3, NULL), TILE_OK);
    /* Of a tensor without elements nothing may be touched. */
    args[0] = tile_pointer(0);
    fails(tile_launch(kernel, NULL, args, 3, NULL), TILE_CHECK_FAILED, "its address is 0");
    args[2] = tile_i32(0);
    ck_assert_int_eq(tile_launch(kernel, NULL, args, 3, NULL), TILE_OK);
    args[2] = tile_i32(20);
    tile_ptr gone;
    ck_assert_int_eq(tile_alloc(ctx, 80, &gone), TILE_OK);
    ck_assert_int_eq(tile_free(ctx, gone), TILE_OK);
    args[0] = tile_pointer(gone);
    fails(tile_launch(kernel, NULL, args, 3, NULL), TILE_CHECK_FAILED, "use after free: load of");
    fails(tile_copy_to_host(ctx, &gone, gone, 4), TILE_INVALID, "lie in a buffer that was freed");
    args[0] = tile_pointer(x);
    /* Copying what was never written leaves it so. */
    tile_ptr z;
    ck_assert_int_eq(tile_alloc(ctx, 80, &z), TILE_OK);
    ck_assert_int_eq(tile_copy_on_device(ctx, x, z, 80, NULL), TILE_OK);
    ck_assert_int_eq(tile_launch(kernel, NULL, args, 3, NULL), TILE_CHECK_FAILED);
    ck_assert_int_eq(tile_context_set_checks(ctx, TILE_CHECK_ALL & ~TILE_CHECK_UNINIT), TILE_OK);
    ck_assert_int_eq(tile_launch(kernel, NULL, args, 3, NULL), TILE_OK);
}
END_TEST

static char printed[256];

static void keep_line(void *user, const char *text, size_t len) {
    size_t *at = user;
    ck_assert_uint_lt(*at + len, sizeof printed);
    memcpy(printed + *at, text, len);
    *at += len;
}

START_TEST(printing_goes_to_the_caller) {
    load("kernel @show(%x: ptr<i32>) grid=\"2\" {\n  %p: i32 = program_id axis=0\n"
         "  print %p text=\"pid\"\n  return\n}\n");
    tile_ptr x;
    size_t at = 0;
    ck_assert_int_eq(tile_alloc(ctx, 4, &x), TILE_OK);
    tile_arg args[] = {tile_pointer(x)};
    ck_assert_int_eq(tile_launch(kernel, NULL, args, 1, NULL), TILE_OK); /* dropped */
    ck_assert_int_eq(tile_context_set_print(ctx, keep_line, &at), TILE_OK);
    ck_assert_int_eq(tile_launch(kernel, NULL, args, 1, NULL), TILE_OK);
    ck_assert_str_eq(printed, "pid (0, 0, 0) idx () pid: 0\npid (1, 0, 0) idx () pid: 1\n");
    ck_assert_int_eq(tile_context_set_print(ctx, NULL, NULL), TILE_OK);
    ck_assert_int_eq(tile_launch(kernel, NULL, args, 1, NULL), TILE_OK);
    ck_assert_uint_eq(at, strlen(printed));
    ck_assert_int_eq(tile_context_set_print(NULL, NULL, NULL), TILE_INVALID);
}
END_TEST

typedef struct Seen {
    int calls, between; /* between: while no program ended */
    uint64_t ended, programs;
} Seen;

static void see_progress(void *user, uint64_t ended, uint64_t programs) {
    Seen *s = user;
    ck_assert(ended == s->ended || ended == s->ended + 1);
    s->between += ended == s->ended;
    s->ended = ended;
    s->programs = programs;
    s->calls++;
}

START_TEST(launches_tell_their_progress) {
    Seen seen = {0};
    tile_arg args[] = {tile_i32(1)};
    load("kernel @turn(%n: i32) grid=\"1\" {\n  %a: i32 = const value=0\n"
         "  %i: i32 = const value=1\n"
         "  %b: i32 = for %a, %n, %i, %a { (%k: i32, %c: i32)\n"
         "    %d: i32 = add %c, %k\n    yield %d\n  }\n  return\n}\n");
    tile_grid grid = {3, 2, 1};
    ck_assert_int_eq(tile_context_set_progress(ctx, see_progress, &seen), TILE_OK);
    ck_assert_int_eq(tile_launch(kernel, &grid, args, 1, NULL), TILE_OK);
    ck_assert(seen.ended == 6 && seen.programs == 6 && seen.calls == 6);
    /* One program that runs for long is not silent. */
    seen = (Seen){0};
    args[0] = tile_i32(10000);
    ck_assert_int_eq(tile_launch(kernel, NULL, args, 1, NULL), TILE_OK);
    ck_assert(seen.ended == 1 && seen.programs == 1 && seen.between > 20);
    seen = (Seen){0};
    ck_assert_int_eq(tile_context_set_progress(ctx, NULL, NULL), TILE_OK);
    ck_assert_int_eq(tile_launch(kernel, NULL, args, 1, NULL), TILE_OK);
    ck_assert_int_eq(seen.calls, 0);
    ck_assert_int_eq(tile_context_set_progress(NULL, NULL, NULL), TILE_INVALID);
}
END_TEST

START_TEST(kernel_facts) {
    load(copy_tir);
    tile_kernel_info info;
    ck_assert_int_eq(tile_kernel_describe(kernel, &info), TILE_OK);
    ck_assert_str_eq(info.name, "copy");
    ck_assert_str_eq(info.grid, "cdiv(n, B)");
    ck_assert_int_eq(info.num_params, 3);
    ck_assert_int_eq(info.num_warps, 4);
    tile_kernel_param p;
    ck_assert_int_eq(tile_kernel_get_param(kernel, 0, &p), TILE_OK);
    ck_assert_str_eq(p.name, "x");
    ck_assert_str_eq(p.type_text, "*fp32");
    ck_assert(p.type == TILE_POINTER && p.element == TILE_FP32 && p.divisible == 16);
    ck_assert_int_eq(tile_kernel_get_param(kernel, 2, &p), TILE_OK);
    ck_assert(p.type == TILE_I32 && p.divisible == 1 && !p.has_equals && !p.none);
    ck_assert_int_eq(tile_kernel_get_param(kernel, 3, &p), TILE_INVALID);
    ck_assert_int_eq(tile_kernel_get_param(kernel, -1, &p), TILE_INVALID);
    tile_kernel *k;
    fails(tile_kernel_get(module, "paste", &k), TILE_NOT_FOUND, "it has copy");
    ck_assert_ptr_null(k);
    tile_module_unload(module);
    load(args_tir);
    static const char *const types[] = {"*fp16", "i32", "i32", "*fp32", "i1", "i8", "u64", "fp32"};
    for (int i = 0; i < 8; i++) {
        ck_assert_int_eq(tile_kernel_get_param(kernel, i, &p), TILE_OK);
        ck_assert_str_eq(p.type_text, types[i]);
        ck_assert_int_eq(p.has_equals, i == 2);
        ck_assert_int_eq(p.none, i == 3);
    }
}
END_TEST

START_TEST(wrong_arguments) {
    load(args_tir);
    tile_ptr p;
    ck_assert_int_eq(tile_alloc(ctx, 64, &p), TILE_OK);
    const tile_arg good[] = {tile_pointer(p),
                             tile_i32(32),
                             tile_i32(1),
                             tile_none(),
                             tile_int(TILE_I1, 1),
                             tile_int(TILE_I8, -128),
                             tile_int(TILE_U64, -1),
                             tile_f32(0.1f)};
    const struct {
        int which;
        tile_arg arg;
        const char *words; /* NULL: it is fine */
    } cases[] = {
        {0, tile_pointer(p + 16), NULL},
        {0, tile_pointer(p + 8), "not a multiple of 16 bytes"},
        {0, tile_pointer(0), NULL}, /* a tensor without elements */
        {0, tile_none(), "None"},
        {0, tile_i32(5), "the kernel takes *fp16, not i32"},
        {1, tile_i32(0), NULL},
        {1, tile_i32(-16), NULL},
        {1, tile_i32(8), "8 is not a multiple of 16"},
        {1, tile_i64(32), "the kernel takes i32, not i64"},
        {1, tile_int(TILE_I32, (int64_t)1 << 40), "does not fit i32"},
        {1, tile_f32(32), "the kernel takes i32, not fp32"},
        {1, tile_pointer(p), "the kernel takes i32, not a pointer"},
        {1, tile_int((tile_type)99, 1), "no type"},
        {2, tile_i32(2), "compiled for the value 1, not 2"},
        {3, tile_pointer(p), NULL},
        {4, tile_int(TILE_I1, 2), "2 does not fit i1"},
        {5, tile_int(TILE_I8, 128), "128 does not fit i8"},
        {7, tile_float(TILE_FP64, 0.1), "the kernel takes fp32, not fp64"},
    };
    tile_grid one = {1, 1, 1};
    ck_assert_int_eq(tile_launch(kernel, &one, good, 8, NULL), TILE_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tile_arg args[8];
        memcpy(args, good, sizeof good);
        args[cases[i].which] = cases[i].arg;
        if (!cases[i].words) {
            ck_assert_int_eq(tile_launch(kernel, &one, args, 8, NULL), TILE_OK);
            continue;
        }
        fails(tile_launch(kernel, &one, args, 8, NULL), TILE_BAD_LAUNCH, cases[i].words);
        char place[40];
        snprintf(place, sizeof place, "argument %d (", cases[i].which + 1);
        ck_assert_ptr_nonnull(strstr(tile_error(ctx), place));
    }
    fails(tile_launch(kernel, &one, good, 7, NULL), TILE_BAD_LAUNCH,
          "takes 8 arguments (p, i, one,");
    fails(tile_launch(kernel, &one, good, 9, NULL), TILE_BAD_LAUNCH, "not 9");
    fails(tile_launch(kernel, &one, NULL, 8, NULL), TILE_BAD_LAUNCH, "not 0");
    fails(tile_launch(kernel, NULL, good, 8, NULL), TILE_BAD_LAUNCH, "states no grid");
    ck_assert_int_eq(tile_launch(NULL, &one, good, 8, NULL), TILE_INVALID);
}
END_TEST

/* ---- modules ---- */

START_TEST(damaged_modules) {
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"", "no code"},
        {"// only a comment", "no code"},
        {"hello", "not sound tile IR"},
        {"\x7f"
         "ELF",
         "this cubin has no manifest at its end"},
        {".version 7.0\n", "no manifest"},
        {"// tilec manifest begin\n// {}\n.version 7.0\n", "no manifest"},
        {"// tilec manifest begin\n// {\n// tilec manifest end\n.version 7.0\n", "damaged"},
        {"// tilec manifest begin\n// {}\n// tilec manifest end\n.version 7.0\n",
         "'manifest' must"},
        {"// tilec manifest begin\n// {\"manifest\": 2}\n// tilec manifest end\n.version 7.0\n",
         "version 2"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        fails(tile_module_load(ctx, cases[i].text, strlen(cases[i].text), &module), TILE_BAD_MODULE,
              cases[i].words);
    fails(tile_module_load(ctx, "a\0b", 3, &module), TILE_BAD_MODULE, "not text");
    fails(tile_module_load(ctx, NULL, 3, &module), TILE_INVALID, "NULL");
    fails(tile_module_load_file(ctx, "no-such-file.tir", &module), TILE_IO, "no-such-file.tir");
    fails(tile_module_load_file(ctx, "/", &module), TILE_IO, "directory");
    ck_assert_ptr_null(module);
    /* Cut after any number of bytes, it loads or is refused; nothing else. */
    int refused = 0;
    for (size_t n = 0; n < sizeof copy_tir; n++) {
        char *cut = malloc(n ? n : 1);
        ck_assert_ptr_nonnull(cut);
        memcpy(cut, copy_tir, n);
        tile_status st = tile_module_load(ctx, cut, n, &module);
        ck_assert(st == TILE_OK || st == TILE_BAD_MODULE);
        refused += st != TILE_OK;
        tile_module_unload(module);
        module = NULL;
        free(cut);
    }
    ck_assert_int_gt(refused, (int)(strstr(copy_tir, "source") - copy_tir) - 10);
}
END_TEST

/* ---- processes and threads ---- */

START_TEST(forked_child) {
    load(copy_tir);
    tile_ptr p;
    ck_assert_int_eq(tile_alloc(ctx, 64, &p), TILE_OK);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        tile_ptr q;
        bool ok = tile_alloc(ctx, 4, &q) == TILE_FORKED && tile_free(ctx, p) == TILE_FORKED &&
                  tile_launch(kernel, NULL, NULL, 0, NULL) == TILE_FORKED &&
                  strstr(tile_error(ctx), "fork") != NULL;
        tile_module_unload(module);
        tile_context_destroy(ctx);
        _exit(ok ? 0 : 1);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    ck_assert_int_eq(tile_free(ctx, p), TILE_OK);
}
END_TEST

/* Each thread launches on buffers of its own and makes mistakes of its own. */
static void *worker(void *arg) {
    int which = *(int *)arg;
    char unit[40];
    snprintf(unit, sizeof unit, "no-such-%d", which);
    for (int round = 0; round < 20; round++) {
        float in[16], out[16];
        for (int i = 0; i < 16; i++) in[i] = (float)(i + which);
        tile_ptr x, y;
        tile_kernel *none;
        if (tile_alloc(ctx, sizeof in, &x) || tile_alloc(ctx, sizeof in, &y)) return "alloc";
        if (tile_copy_to_device(ctx, x, in, sizeof in)) return "copy";
        tile_arg args[] = {tile_pointer(x), tile_pointer(y), tile_i32(16)};
        if (tile_launch(kernel, NULL, args, 3, NULL)) return "launch";
        if (tile_kernel_get(module, unit, &none) != TILE_NOT_FOUND) return "get";
        if (tile_copy_to_host(ctx, out, y, sizeof out)) return "copy";
        if (memcmp(in, out, sizeof in)) return "values";
        if (!strstr(tile_error(ctx), unit)) return "error of another thread";
        if (tile_free(ctx, x) || tile_free(ctx, y)) return "free";
    }
    return NULL;
}

START_TEST(threads) {
    load(copy_tir);
    enum { N = 4 };
    pthread_t thread[N];
    int which[N];
    for (int i = 0; i < N; i++) {
        which[i] = i;
        ck_assert_int_eq(pthread_create(&thread[i], NULL, worker, &which[i]), 0);
    }
    for (int i = 0; i < N; i++) {
        void *problem;
        pthread_join(thread[i], &problem);
        ck_assert_msg(!problem, "%s", (char *)problem);
    }
}
END_TEST

int main(void) {
    Suite *s = suite_create("runtime");
    TCase *t = tcase_create("runtime");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, open_cpu, close_cpu);
    tcase_add_test(t, devices);
    tcase_add_test(t, gpu_or_not);
    tcase_add_test(t, memory);
    tcase_add_test(t, many_buffers);
    tcase_add_test(t, launches);
    tcase_add_test(t, failing_checks);
    tcase_add_test(t, printing_goes_to_the_caller);
    tcase_add_test(t, launches_tell_their_progress);
    tcase_add_test(t, kernel_facts);
    tcase_add_test(t, wrong_arguments);
    tcase_add_test(t, damaged_modules);
    tcase_add_test(t, forked_child);
    tcase_add_test(t, threads);
    return run_suite(s, t);
}
