/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_tune.c: tile_tune as a program calls it: many threads that compile, arguments from a
 * callback, buffers that come back as they were, and what each mistake of the caller's is answered
 * with. */
#include "tests/run_suite.h"
#include "tile.h"

#include <check.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Adds to its buffer, so that a launch on anything but the saved contents gives another result. */
static const char kernel_text[] =
    "import triton\n"
    "import triton.language as tl\n"
    "configs = [triton.Config({'B': b}, num_warps=w) for b in [16, 32, 64] for w in [1, 2, 4, 8]]\n"
    "\n"
    "@triton.autotune(configs=configs, key=['n'])\n"
    "@triton.jit\n"
    "def grow(p, q, n, by, B: tl.constexpr):\n"
    "    i = tl.program_id(0) * B + tl.arange(0, B)\n"
    "    tl.store(p + i, tl.load(p + i, mask=i < n) + by, mask=i < n)\n";

enum { N = 200, CONFIGS = 12 };

typedef struct Host {
    tile_context *ctx;
    tile_ptr p;
    int binds, reports, records;
    int last_done, last_total;
    bool failed;
    tile_status answer;
} Host;

static tile_status bind(void *user, tile_kernel *kernel, tile_arg *args, size_t *bytes) {
    Host *h = user;
    tile_kernel_param param;
    h->binds++;
    ck_assert(tile_kernel_get_param(kernel, 0, &param) == TILE_OK);
    ck_assert_str_eq(param.type_text, "*i32");
    args[0] = tile_pointer(h->p);
    bytes[0] = N * sizeof(int32_t);
    args[1] = tile_none();
    args[2] = tile_i32(N);
    args[3] = tile_i32(3);
    return h->answer;
}

static void progress(void *user, const tile_tune_progress *p) {
    Host *h = user;
    h->reports++;
    h->records += p->record != NULL;
    ck_assert(p->done >= h->last_done && p->done <= p->total);
    /* One launch checks, three time on the CPU device. */
    int timings = p->total / 2, checks = p->total - timings; /* more checks: one is known */
    bool first = p->done == 0, last = p->done == p->total;
    int to_check = p->done < checks ? checks - p->done : 0;
    int to_time = p->total - p->done - to_check;
    h->failed |= p->record && p->record->failure; /* two steps in one */
    if (!h->failed) ck_assert_int_eq(p->launches, to_check + 3 * to_time);
    ck_assert_msg(first ? p->left == -1 : last ? p->left == 0 : p->left > 0, "%g", p->left);
    h->last_done = p->done;
    h->last_total = p->total;
}

static tile_compile_options compile_options(void) {
    return (tile_compile_options){.source = kernel_text,
                                  .source_len = sizeof kernel_text - 1,
                                  .signature = "p=*i32:16,q=None,n=i32,by=i32"};
}

static tile_tune_options tune_options(Host *h, const tile_compile_options *compile) {
    return (tile_tune_options){.compile = compile,
                               .grid = "cdiv(n, B)",
                               .bind = bind,
                               .progress = progress,
                               .user = h,
                               .threads = 8,
                               .budget_ms = 1};
}

static Host host(void) {
    Host h = {.answer = TILE_OK};
    int32_t start[N];
    for (int i = 0; i < N; i++) start[i] = i;
    ck_assert(tile_context_create("cpu", &h.ctx) == TILE_OK);
    ck_assert(tile_alloc(h.ctx, sizeof start, &h.p) == TILE_OK);
    ck_assert(tile_copy_to_device(h.ctx, h.p, start, sizeof start) == TILE_OK);
    return h;
}

static void buffer_is_as_before(Host *h) {
    int32_t now[N];
    ck_assert(tile_copy_to_host(h->ctx, now, h->p, sizeof now) == TILE_OK);
    for (int i = 0; i < N; i++) ck_assert_int_eq(now[i], i);
}

START_TEST(every_config_is_measured) {
    Host h = host();
    tile_compile_options c = compile_options();
    tile_tune_options o = tune_options(&h, &c);
    tile_tuning *t;
    tile_tuned best, r;
    ck_assert(tile_tuning_open(NULL, &t) == TILE_OK);
    ck_assert(tile_tune(h.ctx, &o, t, &best) == TILE_OK);
    ck_assert_int_eq(h.binds, 1);
    ck_assert_int_eq(h.records, CONFIGS);
    ck_assert_int_eq(h.last_done, 2 * CONFIGS);
    ck_assert_int_eq(h.last_total, 2 * CONFIGS);
    ck_assert_int_eq(tile_tuning_count(t), CONFIGS);
    for (int i = 0; i < CONFIGS; i++) {
        ck_assert(tile_tuning_get(t, i, &r) == TILE_OK);
        ck_assert_msg(!r.failure && r.runs >= 3 && r.low_ms <= r.median_ms &&
                          r.median_ms <= r.high_ms && best.median_ms <= r.median_ms,
                      "%s: %s", r.config, r.failure);
        ck_assert_str_eq(r.key, "n=200");
        ck_assert_str_eq(r.types, "*i32,*i8,i32,i32");
    }
    buffer_is_as_before(&h);
    /* Again: nothing is left to do, nor with a smaller space of the same configs. */
    h.reports = h.last_done = 0;
    ck_assert(tile_tune(h.ctx, &o, t, &best) == TILE_OK);
    ck_assert_int_eq(h.reports, 0);
    /* Two more: a known one is checked with them, and not timed. */
    o.space = "B=16,128,256;num_warps=1;num_stages=3";
    ck_assert(tile_tune(h.ctx, &o, t, &r) == TILE_OK);
    ck_assert_int_eq(h.last_total, 5);
    ck_assert_int_eq(h.last_done, 5);
    o.space = NULL;
    ck_assert(tile_tuning_find(t, &best, &best) == TILE_OK);
    /* What it found is what a compilation asks for. */
    static const char *const facts[] = {"n=150"};
    c.values = facts;
    c.nvalues = 1;
    c.target = "cpu";
    ck_assert(tile_tune_find(&c, t, NULL, &r) == TILE_OK);
    ck_assert_str_eq(r.config, best.config);
    c.signature = "p=*i64:16,q=None,n=i32,by=i32";
    ck_assert(tile_tune_find(&c, t, NULL, &r) == TILE_NOT_FOUND);
    tile_tuning_close(t);
    tile_context_destroy(h.ctx);
}
END_TEST

static const struct {
    const char *what, *signature, *space, *grid, *kernel, *words;
    tile_status answer, status;
} mistakes[] = {
    {"bind refuses", NULL, NULL, NULL, NULL, "", TILE_IO, TILE_IO},
    {"no such kernel", NULL, NULL, NULL, "shrink", "no kernel 'shrink'", TILE_OK,
     TILE_COMPILE_ERROR},
    {"an empty space", NULL, "", NULL, NULL, "the space is empty", TILE_OK, TILE_INVALID},
    {"a space without values", NULL, "B", NULL, NULL, "NAME=VALUE", TILE_OK, TILE_INVALID},
    {"another type", "p=*i32:16,q=None,n=i64,by=i32", NULL, NULL, NULL,
     "argument 3 (n) of kernel 'grow': the kernel takes i64, not i32", TILE_OK, TILE_BAD_LAUNCH},
    {"a grid of unknown names", NULL, NULL, "cdiv(m, B)", NULL, "unknown name 'm'", TILE_OK,
     TILE_BAD_LAUNCH},
    {"nothing compiles", NULL, "B=7,9", NULL, NULL, "power of 2", TILE_OK, TILE_COMPILE_ERROR},
    {"everything fails", NULL, "B=128", "cdiv(n, B) + 0 * cdiv(n, B) - 5 * n", NULL, "comes to",
     TILE_OK, TILE_BAD_LAUNCH},
};

START_TEST(mistakes_are_told) {
    Host h = host();
    tile_compile_options c = compile_options();
    char message[300] = "";
    tile_tuning *t;
    tile_tuned best;
    if (mistakes[_i].signature) c.signature = mistakes[_i].signature;
    c.kernel = mistakes[_i].kernel;
    tile_tune_options o = tune_options(&h, &c);
    o.space = mistakes[_i].space;
    if (mistakes[_i].grid) o.grid = mistakes[_i].grid;
    o.message = message;
    o.message_size = sizeof message;
    h.answer = mistakes[_i].answer;
    ck_assert(tile_tuning_open(NULL, &t) == TILE_OK);
    tile_status st = tile_tune(h.ctx, &o, t, &best);
    ck_assert_msg(st == mistakes[_i].status && strstr(message, mistakes[_i].words), "%s: %d %s",
                  mistakes[_i].what, (int)st, message);
    ck_assert_int_eq(tile_tuning_count(t), 0);
    buffer_is_as_before(&h);
    tile_tuning_close(t);
    tile_context_destroy(h.ctx);
}
END_TEST

START_TEST(nothing_given) {
    Host h = host();
    tile_compile_options c = compile_options();
    tile_tune_options o = tune_options(&h, &c);
    tile_tuning *t;
    tile_tuned best;
    ck_assert(tile_tuning_open(NULL, &t) == TILE_OK);
    ck_assert(tile_tune(NULL, &o, t, &best) == TILE_INVALID);
    ck_assert(tile_tune(h.ctx, NULL, t, &best) == TILE_INVALID);
    ck_assert(tile_tune(h.ctx, &o, NULL, &best) == TILE_INVALID);
    ck_assert(tile_tune(h.ctx, &o, t, NULL) == TILE_INVALID);
    c.defines = NULL;
    c.ndefines = 2; /* so it says */
    ck_assert(tile_tune(h.ctx, &o, t, &best) == TILE_INVALID);
    ck_assert(tile_tune_find(&c, t, NULL, &best) == TILE_INVALID);
    o.bind = NULL;
    ck_assert(tile_tune(h.ctx, &o, t, &best) == TILE_INVALID);
    tile_tuning_close(t);
    tile_context_destroy(h.ctx);
}
END_TEST

/* ---- by forecast ---- */

static const char sums_text[] =
    "import triton\n"
    "import triton.language as tl\n"
    "configs = [triton.Config({'B': b}, num_warps=w) for b, w in [(64, 4), (512, 8), (128, 8)]]\n"
    "\n"
    "# tile: grid = cdiv(M, B), cdiv(N, B)\n"
    "@triton.autotune(configs=configs, key=['K'])\n"
    "@triton.jit\n"
    "def sums(a: '*fp16:16', b: '*fp16:16', c: '*fp16:16', M: 'i32:16', N: 'i32:16', K: 'i32:16',\n"
    "         B: tl.constexpr):\n"
    "    m = tl.program_id(0) * B + tl.arange(0, B)\n"
    "    n = tl.program_id(1) * B + tl.arange(0, B)\n"
    "    k = tl.arange(0, 64)\n"
    "    acc = tl.zeros((B, B), dtype=tl.float32)\n"
    "    for i in range(0, K, 64):\n"
    "        x = tl.load(a + m[:, None] * K + (i + k)[None, :], mask=(m < M)[:, None], other=0.0)\n"
    "        y = tl.load(b + (i + k)[:, None] * N + n[None, :], mask=(n < N)[None, :], other=0.0)\n"
    "        acc = tl.dot(x, y, acc)\n"
    "    tl.store(c + m[:, None] * N + n[None, :], acc.to(tl.float16),\n"
    "             mask=(m < M)[:, None] & (n < N)[None, :])\n";

#define SIZES(m, n, k)                                                                             \
    { "M=" m, "N=" n, "K=" k }
static const struct {
    const char *values[3];
    tile_status answer;
    const char *text; /* the config, or what the message has */
    int multiprocessors;
} forecasts[] = {
    /* Few programs: small tiles, of which the GPU takes more at once. Many: large ones. One that
     * needs more shared memory than there is is none. */
    {SIZES("512", "512", "2048"), TILE_OK, "B=64,num_warps=4", 0},
    {SIZES("8192", "8192", "8192"), TILE_OK, "B=128,num_warps=8", 0},
    /* 16 tiles of 128x128 fill a GPU of 8 multiprocessors as well as 64 of 64x64 do. */
    {SIZES("512", "512", "2048"), TILE_OK, "B=128,num_warps=8", 8},
    {SIZES("512", "512", ""), TILE_NOT_FOUND, "K", 0},
    {{"M=512", "N=512", "M=512"}, TILE_NOT_FOUND, "--for=NAME=VALUE", 0},
    {SIZES("512", "512", "99999999999999999999"), TILE_NOT_FOUND, "K", 0},
    {SIZES("0", "512", "2048"), TILE_NOT_FOUND, "cdiv(M, B), is 0", 0},
    {SIZES("-64", "-64", "2048"), TILE_NOT_FOUND, "is -1", 0},
    {SIZES("512", "512", "2147483648"), TILE_NOT_FOUND, "'K' is not", 0},
    {SIZES("512", "512", "0"), TILE_OK, "B=", 0},
    {SIZES("512", "512", "2048"), TILE_INVALID, "", -1},
};

static tile_compile_options sums_options(const char *const *values) {
    return (tile_compile_options){.source = sums_text,
                                  .source_len = sizeof sums_text - 1,
                                  .target = "sm_90a",
                                  .values = values,
                                  .nvalues = 3};
}

START_TEST(a_config_is_forecast) {
    char config[100] = "", message[300] = "";
    tile_compile_options o = sums_options(forecasts[_i].values);
    tile_status st = tile_tune_forecast(&o, NULL, forecasts[_i].multiprocessors, config,
                                        sizeof config, message, sizeof message);
    ck_assert_msg(st == forecasts[_i].answer, "%d: %s %s", (int)st, config, message);
    ck_assert_msg(strstr(st ? message : config, forecasts[_i].text) != NULL, "%s%s", config,
                  message);
    ck_assert(tile_tune_forecast(&o, NULL, 0, config, 0, NULL, 0) == TILE_INVALID);
    ck_assert(tile_tune_forecast(NULL, NULL, 0, config, sizeof config, NULL, 0) == TILE_INVALID);
    if (!st) ck_assert(tile_tune_forecast(&o, NULL, 0, config, 4, NULL, 0) == TILE_INVALID);
}
END_TEST

START_TEST(what_has_no_forecast) {
    const char *const values[] = SIZES("512", "512", "2048"), *const by[] = {"n=512", "by=1",
                                                                             "n=1"};
    tile_compile_options gpu = sums_options(values), none = gpu, other = compile_options();
    gpu.target = "sm_1";
    none.source = NULL;
    other.values = by;
    other.nvalues = 3;
    const struct {
        const tile_compile_options *o;
        tile_status answer;
        const char *text;
    } cases[] = {{&gpu, TILE_INVALID, ""},
                 {&none, TILE_INVALID, "needs the source"},
                 {&other, TILE_NOT_FOUND, "not one loop of sums"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char config[100] = "", message[300] = "";
        tile_status st =
            tile_tune_forecast(cases[i].o, NULL, 0, config, sizeof config, message, sizeof message);
        ck_assert_msg(st == cases[i].answer && strstr(message, cases[i].text), "%zu: %d, %s", i,
                      (int)st, message);
    }
}
END_TEST

/* 64 tiles of whatever size: the smaller are done sooner. */
START_TEST(a_grid_is_given) {
    static const struct {
        const char *grid;
        tile_status answer;
        const char *text;
    } cases[] = {{NULL, TILE_OK, "B=128"},
                 {"64", TILE_OK, "B=64"},
                 {"1, M - M", TILE_NOT_FOUND, "the grid, 1, M - M, is 0"},
                 {"1 +", TILE_NOT_FOUND, ""},
                 {"", TILE_NOT_FOUND, ""},
                 {"M, N, K, 1", TILE_NOT_FOUND, ""}};
    const char *const values[] = {"M=8192", "N=8192", "K=8192"};
    tile_compile_options o = sums_options(values);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char config[100] = "", message[300] = "";
        tile_status st = tile_tune_forecast(&o, cases[i].grid, 0, config, sizeof config, message,
                                            sizeof message);
        ck_assert_msg(st == cases[i].answer && strstr(st ? message : config, cases[i].text),
                      "%zu: %d, %s%s", i, (int)st, config, message);
    }
}
END_TEST

/* ---- memory that runs out in what makes and reads JSON ---- */

static _Atomic long left;

static void *failing_malloc(size_t size) {
    return left-- > 0 ? malloc(size) : NULL;
}

START_TEST(json_without_memory) {
    Host h = host();
    tile_compile_options c = compile_options();
    tile_tune_options o = tune_options(&h, &c);
    o.space = "B=16,32";
    o.threads = 1; /* the count is of one thread */
    json_set_alloc_funcs(failing_malloc, free);
    int failures = 0;
    tile_status st = TILE_NO_MEMORY;
    for (long n = 0; st != TILE_OK && n < 100000; n += n < 200 ? 1 : 7) {
        tile_tuning *t = NULL;
        tile_tuned best;
        h.last_done = 0;
        left = n;
        st = tile_tuning_open(NULL, &t);
        if (!st) st = tile_tune(h.ctx, &o, t, &best);
        left = INT32_MAX;
        ck_assert_msg(st == TILE_OK || st == TILE_NO_MEMORY || st == TILE_COMPILE_ERROR ||
                          st == TILE_BAD_MODULE || st == TILE_NOT_FOUND ||
                          st == TILE_BAD_LAUNCH, /* a constexpr was not read: the grid lacks it */
                      "%ld: %d", n, (int)st);
        failures += st != TILE_OK;
        tile_tuning_close(t);
        buffer_is_as_before(&h);
    }
    ck_assert(st == TILE_OK);
    ck_assert_int_gt(failures, 50);
    tile_context_destroy(h.ctx);
}
END_TEST

int main(void) {
    Suite *s = suite_create("tune");
    TCase *t = tcase_create("tune");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, every_config_is_measured);
    tcase_add_loop_test(t, mistakes_are_told, 0, (int)(sizeof mistakes / sizeof *mistakes));
    tcase_add_test(t, nothing_given);
    tcase_add_loop_test(t, a_config_is_forecast, 0, (int)(sizeof forecasts / sizeof *forecasts));
    tcase_add_test(t, what_has_no_forecast);
    tcase_add_test(t, a_grid_is_given);
    tcase_add_test(t, json_without_memory);
    return run_suite(s, t);
}
