/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_jit_threads.c: tile_jit in sixteen threads: which share variants, which compile each its
 * own, and whose cache is deleted meanwhile. $TILE_TEST_ROUNDS: how often each does it, 50 by
 * default. */
#include "compiler/jit/cache.h"
#include "tests/check/jit_fixture.h"
#include "tests/run_suite.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/stat.h>

enum { THREADS = 16 };

/* $TILE_TEST_ROUNDS, 50 by default. */
static int rounds(void) {
    const char *wish = getenv("TILE_TEST_ROUNDS");
    return wish ? atoi(wish) : 50;
}

/* Each thread gets its number; one that returns something failed. */
static void in_threads(void *(*work)(void *number)) {
    pthread_t thread[THREADS];
    int failed = 0;
    for (uintptr_t i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&thread[i], NULL, work, (void *)i), 0);
    for (int i = 0; i < THREADS; i++) {
        void *bad = NULL;
        pthread_join(thread[i], &bad);
        failed += bad != NULL;
    }
    ck_assert_int_eq(failed, 0);
}

static void *launch_many(void *seed) {
    unsigned r = (unsigned)(uintptr_t)seed * 2654435761u + 1;
    for (int i = 0, n_rounds = rounds(); i < n_rounds; i++) {
        r = r * 1664525u + 1013904223u;
        float x[64] = {0}, y[64];
        int offset = (int)(r >> 8 & 3), n = r >> 12 & 1 ? 16 : 9, stride = 1 + (int)((r >> 16) % 3);
        tile_ptr p;
        tile_alloc(ctx, sizeof x, &p);
        tile_copy_to_device(ctx, p, x, sizeof x);
        tile_arg args[] = {tile_pointer(p + 4 * (unsigned)offset), tile_i32(n), tile_i32(stride)};
        tile_status st = tile_jit_launch(jit, NULL, args, 3, NULL);
        if (!st) st = tile_copy_to_host(ctx, y, p, sizeof y);
        for (int k = 0; k < n; k++) x[offset + k * stride] = 1;
        tile_free(ctx, p);
        if (st || memcmp(x, y, sizeof x)) return (void *)1;
    }
    return NULL;
}

/* Sixteen threads come for the same few variants: each is compiled once. */
START_TEST(many_threads_compile_once) {
    created(add_one, folder);
    in_threads(launch_many);
    char path[400];
    int variants;
    tile_jit_counts(jit, &variants, NULL);
    /* Addresses of 16, 8 and 4; n; a stride that is 1 or not: 2 and 3 share. */
    ck_assert_int_eq(variants, 3 * 2 * 2);
    ck_assert_int_eq(entries(path), variants);
}
END_TEST

static const char constant[] = "import triton, triton.language as tl\n"
                               "# tile: grid = 1\n"
                               "@triton.jit\n"
                               "def k(p: '*i32', V: tl.constexpr):\n"
                               "    tl.store(p, V)\n";

/* Everything anew each round: a jit, its one variant, and now and then PTX, through LLVM. */
static void *compile_many(void *number) {
    for (int i = 0, n_rounds = rounds(); i < n_rounds; i++) {
        char define[32];
        int32_t want = (int32_t)(uintptr_t)number * 100000 + i, got = 0;
        snprintf(define, sizeof define, "V=%d", want);
        const char *defines[] = {define};
        tile_compile_options o = {.source = constant,
                                  .source_len = sizeof constant - 1,
                                  .defines = defines,
                                  .ndefines = 1};
        tile_jit *own = NULL;
        tile_ptr p = 0;
        tile_status st = tile_alloc(ctx, 4, &p);
        tile_arg arg = tile_pointer(p);
        if (!st) st = tile_jit_create(ctx, &o, i % 2 ? "" : folder, &own);
        if (!st) st = tile_jit_launch(own, NULL, &arg, 1, NULL);
        if (!st) st = tile_copy_to_host(ctx, &got, p, sizeof got);
        tile_jit_destroy(own);
        tile_free(ctx, p);
        tile_compiled *c = NULL;
        if (!st && i % 10 == 0) st = tile_compile(&o, &c);
        tile_compiled_free(c);
        if (st || got != want) return (void *)1;
    }
    return NULL;
}

START_TEST(many_threads_compile) {
    in_threads(compile_many);
}
END_TEST

/* ---- a cache that is deleted ---- */

/* What is stored at i of 32, by V: as the kernels have it. */
enum { LANES = 32, KERNELS = 4, VALUES = 3, OPTIONS = 4, DEEDS = KERNELS * VALUES * OPTIONS };
static const char *const kernels[KERNELS] = {
    "    tl.store(p + i, i * V)\n",
    "    tl.store(p + i, tl.sum(i) + V)\n",
    "    s = i * 0\n"
    "    for k in range(V):\n"
    "        s += tl.where(i < k, i, k)\n"
    "    tl.store(p + i, s)\n",
    "    tl.store(p + i, tl.cumsum(i, 0) - V)\n",
};
static const char *const options[OPTIONS] = {NULL, "num_warps=1", "num_warps=8,num_stages=2",
                                             "num_stages=1"};

static int32_t expected(int kernel, int v, int i) {
    int sum = 0;
    switch (kernel) {
    case 0: return i * v;
    case 1: return LANES * (LANES - 1) / 2 + v;
    case 2:
        for (int k = 0; k < v; k++) sum += i < k ? i : k;
        return sum;
    default: return i * (i + 1) / 2 - v;
    }
}

/* A kernel with options, anew, with the cache; false after a wrong result or a status. */
static bool does(int deed, int *from_disk) {
    int kernel = deed % KERNELS, v = 2 + deed / KERNELS % VALUES;
    char text[600], define[32];
    const char *defines[] = {define};
    int32_t got[LANES] = {0};
    tile_jit *own = NULL;
    tile_ptr p = 0;
    snprintf(text, sizeof text,
             "%s# tile: grid = 1\n@triton.jit\ndef k(p: '*i32', V: tl.constexpr):\n"
             "    i = tl.arange(0, %d)\n%s",
             head, LANES, kernels[kernel]);
    snprintf(define, sizeof define, "V=%d", v);
    tile_compile_options o = {.source = text,
                              .source_len = strlen(text),
                              .options = options[deed / KERNELS / VALUES],
                              .defines = defines,
                              .ndefines = 1};
    bool ok = tile_alloc(ctx, sizeof got, &p) == TILE_OK;
    tile_arg arg = tile_pointer(p);
    ok = ok && tile_jit_create(ctx, &o, folder, &own) == TILE_OK &&
         tile_jit_launch(own, NULL, &arg, 1, NULL) == TILE_OK &&
         tile_copy_to_host(ctx, got, p, sizeof got) == TILE_OK;
    for (int i = 0; ok && i < LANES; i++) ok = got[i] == expected(kernel, v, i);
    if (own) tile_jit_counts(own, NULL, from_disk);
    tile_jit_destroy(own);
    tile_free(ctx, p);
    return ok;
}

static void *do_many(void *number) {
    unsigned r = (unsigned)(uintptr_t)number * 2654435761u + 1;
    for (int i = 0, n_rounds = rounds(); i < n_rounds; i++) {
        int from_disk;
        r = r * 1664525u + 1013904223u;
        if (!does((int)((r >> 12) % DEEDS), &from_disk)) return (void *)1;
    }
    return NULL;
}

static atomic_bool done;
static atomic_int deletions, seen, torn;

static void count_torn(void *user, const CacheEntry *entry) {
    (void)user;
    seen++;
    torn += !entry->key.data;
}

/* This thread alone deletes, so that an entry it finds is there until it was looked at. Now and
 * then the folder is gone, too, or a file is in its place. */
static void *delete_always(void *unused) {
    for (unsigned n = 0; !atomic_load(&done); n++) {
        struct timespec pause = {.tv_nsec = (long)(n * 7919 % 11) * 500000};
        nanosleep(&pause, NULL);
        cache_each(folder, count_torn, NULL);
        scratch_empty(folder);
        if (n % 2 && rmdir(folder) == 0) {
            deletions++;
            int fd = n % 4 == 1 ? open(folder, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;
            if (fd >= 0) close(fd);
            nanosleep(&pause, NULL);
            if (fd >= 0) unlink(folder);
        }
    }
    return unused;
}

/* Every launch is right, whatever becomes of the cache; no entry is ever half there; and the cache
 * works as before once it is left alone. It goes on until entries were seen and the folder deleted;
 * where that never happens, the time limit fails it. */
START_TEST(the_cache_is_deleted_meanwhile) {
    pthread_t deleter;
    int from_disk = 0;
    atomic_store(&done, false);
    deletions = seen = torn = 0;
    ck_assert_int_eq(pthread_create(&deleter, NULL, delete_always, NULL), 0);
    /* The folder may never be found empty in one round: the deleter sleeps, too. */
    do in_threads(do_many);
    while (!seen || !deletions);
    atomic_store(&done, true);
    pthread_join(deleter, NULL);
    ck_assert_int_eq(torn, 0);
    ck_assert(mkdir(folder, 0700) == 0 || errno == EEXIST);
    for (int pass = 0; pass < 2; pass++)
        for (int deed = 0; deed < DEEDS; deed++) {
            ck_assert(does(deed, &from_disk));
            if (pass) ck_assert_int_eq(from_disk, 1);
        }
    char path[400];
    ck_assert_int_eq(entries(path), DEEDS);
}
END_TEST

int main(void) {
    Suite *s = suite_create("jit_threads");
    TCase *t = tcase_create("jit_threads");
    tcase_add_checked_fixture(t, open_cpu, close_cpu);
    tcase_set_timeout(t, 1200);
    tcase_add_test(t, many_threads_compile_once);
    tcase_add_test(t, many_threads_compile);
    tcase_add_test(t, the_cache_is_deleted_meanwhile);
    return run_suite(s, t);
}
