/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_jit_faults.c: tile_jit, tile_bundle and tile_tune when the n-th allocation of ours, or the
 * n-th call about a file, fails: no crash, no leak, the right status, and right results whenever
 * there are results.
 *
 * The linker puts the functions below in the place of libc's (--wrap). On the CPU device no code of
 * LLVM runs, which could not go on without memory. */
#include "tests/run_suite.h"
#include "tests/scratch.h"
#include "tile.h"

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef enum Kind { NOTHING, ALLOCATION, FILE_CALL } Kind;

static Kind failing;     /* which calls are counted */
static int calls, fails; /* how many there were; the number of the one that fails */
static int wrong;        /* results that were not right */
static char folder[SCRATCH_SIZE];

static bool it_fails(Kind kind, int error) {
    if (kind != failing || ++calls != fails) return false;
    errno = error;
    return true;
}

/* Declares what --wrap makes of a function: the real one, and ours, which fails with `result`. */
#define WRAP(type, name, params, args, kind, error, result)                                        \
    type __real_##name params;                                                                     \
    type __wrap_##name params;                                                                     \
    type __wrap_##name params {                                                                    \
        return it_fails(kind, error) ? (result) : __real_##name args;                              \
    }

WRAP(void *, malloc, (size_t n), (n), ALLOCATION, ENOMEM, NULL)
WRAP(void *, calloc, (size_t n, size_t size), (n, size), ALLOCATION, ENOMEM, NULL)
WRAP(void *, realloc, (void *p, size_t n), (p, n), ALLOCATION, ENOMEM, NULL)
WRAP(char *, strdup, (const char *s), (s), ALLOCATION, ENOMEM, NULL)
WRAP(char *, strndup, (const char *s, size_t n), (s, n), ALLOCATION, ENOMEM, NULL)
WRAP(ssize_t, read, (int fd, void *to, size_t n), (fd, to, n), FILE_CALL, EIO, -1)
WRAP(ssize_t, write, (int fd, const void *from, size_t n), (fd, from, n), FILE_CALL, ENOSPC, -1)
WRAP(int, rename, (const char *a, const char *b), (a, b), FILE_CALL, EACCES, -1)
WRAP(int, mkdir, (const char *path, mode_t mode), (path, mode), FILE_CALL, EACCES, -1)
WRAP(int, stat, (const char *path, struct stat *st), (path, st), FILE_CALL, EACCES, -1)
WRAP(int, lstat, (const char *path, struct stat *st), (path, st), FILE_CALL, EACCES, -1)
WRAP(int, fstat, (int fd, struct stat *st), (fd, st), FILE_CALL, EIO, -1)
WRAP(DIR *, opendir, (const char *path), (path), FILE_CALL, EMFILE, NULL)
WRAP(int, unlink, (const char *path), (path), FILE_CALL, EACCES, -1)

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...) {
    va_list ap;
    va_start(ap, flags);
    mode_t mode = flags & O_CREAT ? va_arg(ap, mode_t) : 0;
    va_end(ap);
    return it_fails(FILE_CALL, EMFILE) ? -1 : __real_open(path, flags, mode);
}

/* ---- a life ---- */

static const char source[] = "import triton, triton.language as tl\n"
                             "# tile: a warning, which variants keep\n"
                             "@triton.heuristics({'ODD': lambda args: args['n'] % 2 == 1})\n"
                             "@triton.jit(do_not_specialize=['m'])\n"
                             "def k(p: '*i32', n, m, ODD: tl.constexpr):\n"
                             "    tl.store(p, n * 2 + m if ODD else n + m)\n";

static const char tir[] =
    "// tilec manifest begin\n"
    "// {\"manifest\": 1, \"target\": \"cpu\", \"kernels\": [{\"name\": \"k\", \"entry\": \"k\",\n"
    "//  \"params\": [{\"name\": \"n\", \"type\": \"i32\"}], \"constexprs\": {}, \"num_warps\": "
    "4,\n"
    "//  \"num_stages\": 3, \"shared\": 0}]}\n"
    "// tilec manifest end\n"
    "kernel @k(%n: i32) num_warps=4 num_stages=3 {\n"
    "  return\n"
    "}\n";

static tile_status use_jit(tile_context *ctx, tile_ptr p, int odd) {
    static char padded[4096]; /* the option's source ends where it says */
    tile_grid one = {1, 1, 1};
    tile_jit *jit;
    memset(padded, '#', sizeof padded);
    memcpy(padded, source, sizeof source - 1);
    tile_compile_options o = {
        .source = padded, .source_len = sizeof source - 1, .file_name = "k.tl", .kernel = "k"};
    tile_status st = tile_jit_create(ctx, &o, folder, &jit);
    if (st) return st;
    for (int n = 2; n < 6 && !st; n++) {
        int32_t got = 0;
        tile_arg args[] = {tile_pointer(p), tile_i32(n + odd), tile_i32(7)};
        st = tile_jit_launch(jit, &one, args, 3, NULL);
        if (!st) st = tile_copy_to_host(ctx, &got, p, sizeof got);
        int v = n + odd;
        if (!st && got != (v % 2 ? v * 2 + 7 : v + 7)) wrong++; /* Check itself allocates */
    }
    tile_jit_destroy(jit);
    return st;
}

static tile_status use_bundle(tile_context *ctx) {
    tile_image images[] = {{"cpu", 0, "n > 5", tir, sizeof tir - 1},
                           {"sm_80", 0, NULL, "", 0},
                           {"cpu", 1, NULL, tir, sizeof tir - 1}};
    tile_grid one = {1, 1, 1};
    tile_bundle *b;
    tile_status st = tile_bundle_create(ctx, images, 3, &b);
    if (st) return st;
    for (int n = 0; n < 10 && !st; n += 9) {
        tile_arg arg = tile_i32(n);
        st = tile_bundle_launch(b, NULL, &one, &arg, 1, NULL);
    }
    tile_bundle_destroy(b);
    return st;
}

static tile_status live(void) {
    tile_context *ctx;
    tile_ptr p = 0;
    tile_status st = tile_context_create("cpu", &ctx);
    if (!st) st = tile_alloc(ctx, 4, &p);
    if (!st) st = use_jit(ctx, p, 0);
    if (!st) st = use_jit(ctx, p, 0); /* from disk */
    if (!st) st = use_jit(ctx, p, 1);
    if (!st) st = use_bundle(ctx);
    tile_context_destroy(ctx);
    return st;
}

static tile_status bind(void *user, tile_kernel *kernel, tile_arg *args, size_t *bytes) {
    (void)kernel;
    args[0] = tile_pointer(*(tile_ptr *)user);
    args[1] = tile_i32(64);
    bytes[0] = 64 * sizeof(int32_t);
    return TILE_OK;
}

static const char tuned_source[] =
    "import triton, triton.language as tl\n"
    "@triton.autotune(configs=[triton.Config({'B': b}) for b in [32, 64]], key=['n'])\n"
    "@triton.jit\n"
    "def k(p, n, B: tl.constexpr):\n"
    "    i = tl.program_id(0) * B + tl.arange(0, B)\n"
    "    tl.store(p + i, i, mask=i < n)\n";

/* One thread compiles, so that call number n is the same one each time. */
static tile_status tune(void) {
    tile_context *ctx;
    tile_tuning *t = NULL;
    tile_tuned best;
    tile_ptr p = 0;
    char path[sizeof folder + 16], message[200] = "";
    snprintf(path, sizeof path, "%s/tuning.json", folder);
    tile_compile_options c = {.source = tuned_source,
                              .source_len = sizeof tuned_source - 1,
                              .signature = "p=*i32:16,n=i32"};
    tile_tune_options o = {.compile = &c,
                           .grid = "cdiv(n, B)",
                           .bind = bind,
                           .user = &p,
                           .threads = 1,
                           .budget_ms = 1e-3,
                           .message = message,
                           .message_size = sizeof message};
    tile_status st = tile_context_create("cpu", &ctx);
    if (!st) st = tile_alloc(ctx, 64 * sizeof(int32_t), &p);
    if (!st) st = tile_tuning_open(path, &t);
    if (!st) {
        st = tile_tune(ctx, &o, t, &best);
        if (st && !message[0]) wrong++;
    }
    tile_tuning_close(t);
    tile_context_destroy(ctx);
    return st;
}

static void empty_folder(void) {
    DIR *d = __real_opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));) {
        char path[400];
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        __real_unlink(path);
    }
    if (d) closedir(d);
}

/* The status of a life whose call number n of this kind fails; *count: how many calls it made. */
static tile_status live_with(tile_status (*life)(void), Kind kind, int n, int *count) {
    failing = kind;
    calls = 0;
    fails = n;
    tile_status st = life();
    failing = NOTHING;
    *count = calls;
    return st;
}

static void every_call(tile_status (*life)(void), Kind kind, tile_status expected) {
    int count, unused;
    ck_assert_ptr_nonnull(mkdtemp(scratch(folder, "tile-faults")));
    ck_assert_int_eq(live_with(life, kind, 0, &count), TILE_OK);
    ck_assert_int_gt(count, 20);
    int refused = 0;
    for (int n = 1; n <= count; n++) {
        empty_folder();
        tile_status st = live_with(life, kind, n, &unused);
        ck_assert_msg(st == TILE_OK || st == expected, "call %d of %d: %s", n, count,
                      tile_status_text(st));
        refused += st != TILE_OK;
        ck_assert_int_eq(life(), TILE_OK); /* with what is on disk now */
    }
    ck_assert_int_eq(wrong, 0);
    if (expected) ck_assert_int_gt(refused, count / 3);
    empty_folder();
    rmdir(folder);
}

START_TEST(allocations) {
    every_call(live, ALLOCATION, TILE_NO_MEMORY);
}
END_TEST

/* The cache is never in the way. */
START_TEST(file_calls) {
    every_call(live, FILE_CALL, TILE_OK);
}
END_TEST

START_TEST(tuning_allocations) {
    every_call(tune, ALLOCATION, TILE_NO_MEMORY);
}
END_TEST

START_TEST(tuning_file_calls) {
    every_call(tune, FILE_CALL, TILE_IO);
}
END_TEST

int main(void) {
    Suite *s = suite_create("jit_faults");
    TCase *t = tcase_create("jit_faults");
    tcase_set_timeout(t, 300);
    tcase_add_test(t, allocations);
    tcase_add_test(t, file_calls);
    tcase_add_test(t, tuning_allocations);
    tcase_add_test(t, tuning_file_calls);
    return run_suite(s, t);
}
