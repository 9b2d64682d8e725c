/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_jit_cache.c: what the JIT's cache holds, as C and tilec --cache show it; pins; clearing,
 * while other threads put and get. */
#include "compiler/jit/cache.h"
#include "tests/run_suite.h"
#include "tests/scratch.h"
#include "tile.h"

#include <check.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

static const char source[] = "import triton, triton.language as tl\n"
                             "@triton.jit\n"
                             "def twice(p: '*fp32', n, B: tl.constexpr):\n"
                             "    i = tl.arange(0, B)\n"
                             "    tl.store(p + i, tl.load(p + i, mask=i < n) * 2, mask=i < n)\n";

static char folder[SCRATCH_SIZE];

static void setup(void) {
    ck_assert_ptr_nonnull(mkdtemp(scratch(folder, "tile-jit-cache")));
    setenv("TILEC_CACHE", folder, 1);
}

static void teardown(void) {
    scratch_empty(folder);
    rmdir(folder);
}

/* Makes a variant of the kernel, with its name on the command of `B`. */
static void make(const char *b) {
    tile_context *ctx;
    tile_jit *jit;
    tile_kernel *kernel;
    ck_assert_int_eq(tile_context_create("cpu", &ctx), TILE_OK);
    tile_compile_options o = {.source = source,
                              .source_len = strlen(source),
                              .file_name = "a \"b\"\033.tl",
                              .defines = &b,
                              .ndefines = 1,
                              .num_warps = 8};
    tile_status st = tile_jit_create(ctx, &o, NULL, &jit);
    ck_assert_msg(!st, "%s", tile_error(ctx));
    tile_arg args[] = {tile_pointer(256), tile_i32(7)};
    st = tile_jit_kernel(jit, args, 2, &kernel);
    ck_assert_msg(!st, "%s", tile_error(ctx));
    tile_jit_destroy(jit);
    tile_context_destroy(ctx);
}

typedef struct Seen {
    int n, pinned, usable;
    char id[10][64], kernel[40], target[40], signature[80], options[200], file[40];
    int64_t made, used;
    uint64_t bytes;
} Seen;

static void see(void *user, const tile_jit_cached *e) {
    Seen *s = user;
    ck_assert_int_lt(s->n, 10);
    snprintf(s->id[s->n++], 64, "%s", e->id);
    s->pinned += e->pinned;
    s->usable += e->usable;
    s->bytes += e->bytes;
    s->made = e->made;
    s->used = e->used;
    if (!e->usable) return;
    snprintf(s->kernel, 40, "%s", e->kernel);
    snprintf(s->target, 40, "%s", e->target);
    snprintf(s->signature, 80, "%s", e->signature);
    snprintf(s->options, 200, "%s", e->options);
    snprintf(s->file, 40, "%s", e->file);
}

static Seen listed(void) {
    Seen s = {.n = 0};
    ck_assert_int_eq(tile_jit_cache_list(NULL, see, &s), TILE_OK);
    return s;
}

/* What tilec prints, and its exit code. */
static int tilec(const char *words, char out[4000]) {
    char command[1000];
    snprintf(command, sizeof command, "%s/bin/tilec %s 2>&1", TILE_BINARY_DIR, words);
    FILE *p = popen(command, "r");
    ck_assert_ptr_nonnull(p);
    size_t n = fread(out, 1, 3999, p);
    out[n] = '\0';
    return WEXITSTATUS(pclose(p));
}

START_TEST(entries_say_what_they_are) {
    char out[4000];
    make("B=16");
    Seen s = listed();
    ck_assert_int_eq(s.n, 1);
    ck_assert_int_eq(s.usable, 1);
    ck_assert_uint_eq(strlen(s.id[0]), 32);
    ck_assert_str_eq(s.kernel, "twice");
    ck_assert_str_eq(s.target, "cpu");
    ck_assert_str_eq(s.signature, "p=:16,n=i32");
    ck_assert_msg(strstr(s.options, "B=16") && strstr(s.options, "num_warps=8"), "%s", s.options);
    ck_assert_str_eq(s.file, "a \"b\"\033.tl");
    ck_assert(s.used && llabs((long long)(s.used - (int64_t)time(NULL))) < 100);
    ck_assert(!s.made || llabs((long long)(s.made - (int64_t)time(NULL))) < 100);
    ck_assert_int_eq(tilec("--cache", out), 0);
    ck_assert_msg(strstr(out, s.id[0]) && strstr(out, "twice on cpu, of a \"b\"?.tl\n") &&
                      strstr(out, "\n1 variant, "),
                  "%s", out);
    ck_assert_int_eq(
        tilec("--cache=json | python3 -c 'import json, sys; d, = json.load(sys.stdin); "
              "print(d[\"kernel\"], d[\"pinned\"], d[\"file\"] == \"a \\\"b\\\"\\x1b.tl\")'",
              out),
        0);
    ck_assert_str_eq(out, "twice False True\n");
}
END_TEST

/* Neither is shown as what it is not, and both can be cleared. */
START_TEST(others_are_not_usable) {
    char out[4000], path[400];
    static const char key[] = "another digest\n-1\n";
    cache_put(folder, (CacheText){key, strlen(key)}, (CacheText){"text", 4}, 1 << 20);
    snprintf(path, sizeof path, "%s/0123456789abcdef0123456789abcdef.tilec", folder);
    FILE *f = fopen(path, "w");
    fputs("torn", f);
    fclose(f);
    Seen s = listed();
    ck_assert_int_eq(s.n, 2);
    ck_assert_int_eq(s.usable, 0);
    ck_assert_int_eq(tilec("--cache", out), 0);
    ck_assert_ptr_nonnull(strstr(out, "of another version of tilec, or damaged"));
    ck_assert_int_eq(tilec("--cache=clear", out), 0);
    ck_assert_ptr_nonnull(strstr(out, "removed 2 variants"));
    ck_assert_int_eq(listed().n, 0);
}
END_TEST

START_TEST(pinned_stay) {
    char out[4000], words[100];
    make("B=16");
    make("B=32");
    Seen s = listed();
    ck_assert_int_eq(s.n, 2);
    snprintf(words, sizeof words, "--cache=pin:%.9s", s.id[1]);
    ck_assert_int_eq(tilec(words, out), 0);
    ck_assert_int_eq(listed().pinned, 1);
    ck_assert_int_eq(tilec(words, out), 0); /* again */
    ck_assert_int_eq(tilec("--cache=clear", out), 0);
    Seen left = listed();
    ck_assert_int_eq(left.n, 1);
    ck_assert_str_eq(left.id[0], s.id[1]);
    /* It is the oldest by far, and there is no room for anything else. */
    struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    char path[400];
    snprintf(path, sizeof path, "%s/%s.tilec", folder, s.id[1]);
    ck_assert_int_eq(utimensat(AT_FDCWD, path, old, 0), 0);
    for (int i = 0; i < 3; i++) {
        char key[16];
        snprintf(key, sizeof key, "%d", i);
        cache_put(folder, (CacheText){key, 1}, (CacheText){words, 90}, 200);
    }
    ck_assert_int_eq(listed().pinned, 1);
    words[0] = '\0';
    snprintf(words, sizeof words, "--cache=unpin:%.9s", s.id[1]);
    ck_assert_int_eq(tilec(words, out), 0);
    ck_assert_int_eq(listed().pinned, 0);
    cache_put(folder, (CacheText){"last", 4}, (CacheText){words, 90}, 200);
    left = listed();
    for (int i = 0; i < left.n; i++) ck_assert_str_ne(left.id[i], s.id[1]);
}
END_TEST

START_TEST(clear_all_takes_pins) {
    char out[4000];
    make("B=16");
    ck_assert_int_eq(tile_jit_cache_pin(NULL, listed().id[0], 1), TILE_OK);
    ck_assert_int_eq(tilec("--cache=clear:all", out), 0);
    ck_assert_ptr_nonnull(strstr(out, "removed 1 variant,"));
    make("B=16");
    ck_assert_int_eq(listed().pinned, 0);
}
END_TEST

START_TEST(mistakes) {
    char out[4000];
    make("B=16");
    make("B=32");
    ck_assert_int_eq(tile_jit_cache_pin(NULL, "", 1), TILE_NOT_FOUND);
    ck_assert_int_eq(tile_jit_cache_pin(NULL, "xyz", 1), TILE_NOT_FOUND);
    ck_assert_int_eq(tile_jit_cache_pin(NULL, "../", 1), TILE_NOT_FOUND);
    ck_assert_int_eq(tilec("--cache=pin:xyz", out), 2);
    ck_assert_str_eq(out, "tilec: error: --cache: no id begins with 'xyz' [E0002]\n");
    ck_assert_int_eq(tilec("--cache=all", out), 2);
    cache_put(folder, (CacheText){"k", 1}, (CacheText){"t", 1}, 1 << 20);
    for (int i = 0; i < 40; i++) { /* until two begin alike */
        char key[16];
        snprintf(key, sizeof key, "k%d", i);
        cache_put(folder, (CacheText){key, strlen(key)}, (CacheText){"t", 1}, 1 << 20);
    }
    int several = 0;
    for (int d = 0; d < 16; d++) {
        char id[2] = {"0123456789abcdef"[d], 0};
        several += tile_jit_cache_pin(NULL, id, 1) == TILE_INVALID;
    }
    ck_assert_int_gt(several, 8);
    setenv("TILEC_CACHE", "", 1);
    ck_assert_int_eq(tile_jit_cache_list(NULL, see, NULL), TILE_NOT_FOUND);
    ck_assert_int_eq(tilec("--cache", out), 0);
    ck_assert_str_eq(out, "0 variants, 0.0 KB\n");
    setenv("TILEC_CACHE", "/nowhere/at/all", 1);
    ck_assert_int_eq(tile_jit_cache_clear(NULL, 1, NULL, NULL), TILE_NOT_FOUND);
    ck_assert_int_ne(access("/nowhere", F_OK), 0);
}
END_TEST

static bool stop;
static void *put_and_get(void *user) {
    char key[16];
    for (int i = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); i++) {
        size_t len;
        snprintf(key, sizeof key, "%d", i % 9);
        cache_put(folder, (CacheText){key, 1}, (CacheText){key, 2}, 1 << 20);
        char *text = cache_get(folder, (CacheText){key, 1}, &len);
        if (text) ck_assert(len == 2 && text[0] == key[0]);
        free(text);
    }
    return user;
}

static void count(void *user, const CacheEntry *e) {
    ck_assert_ptr_nonnull(e->key.data); /* whole */
    ++*(int *)user;
}

START_TEST(beside_those_who_use_it) {
    pthread_t thread[4];
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&thread[i], NULL, put_and_get, NULL), 0);
    for (int i = 0; i < 300; i++) {
        int n = 0, removed;
        uint64_t bytes;
        ck_assert(cache_each(folder, count, &n));
        ck_assert_int_le(n, 9);
        ck_assert_int_ge(cache_pin(folder, "a", i % 2), 0);
        ck_assert(cache_clear(folder, i % 3 == 0, &removed, &bytes));
    }
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    for (int i = 0; i < 4; i++) pthread_join(thread[i], NULL);
}
END_TEST

int main(void) {
    TCase *t = tcase_create("jit cache");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 120);
    tcase_add_test(t, entries_say_what_they_are);
    tcase_add_test(t, others_are_not_usable);
    tcase_add_test(t, pinned_stay);
    tcase_add_test(t, clear_all_takes_pins);
    tcase_add_test(t, mistakes);
    tcase_add_test(t, beside_those_who_use_it);
    return run_suite(suite_create("jit cache"), t);
}
