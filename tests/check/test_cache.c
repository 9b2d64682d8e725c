/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_cache.c: the cache on disk: its size, and many processes that share it and are killed. How
 * long the processes run: $TILE_TEST_SECONDS, 10 by default. */
#include "compiler/jit/cache.h"
#include "tests/run_suite.h"
#include "tests/scratch.h"

#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char folder[SCRATCH_SIZE];

static void make_folder(void) {
    ck_assert_ptr_nonnull(mkdtemp(scratch(folder, "tile-cache")));
}

/* Calls see(path) for each file; returns how many there are with this end. */
static int each_file(const char *end, void (*see)(const char *path)) {
    int n = 0;
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));) {
        size_t len = strlen(e->d_name), m = strlen(end);
        if (len < m || strcmp(e->d_name + len - m, end) || e->d_name[len - 1] == '.') continue;
        char path[400];
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (see) see(path);
        n++;
    }
    if (d) closedir(d);
    return n;
}

static void removed(const char *path) {
    unlink(path);
}

static void remove_folder(void) {
    each_file("", removed);
    rmdir(folder);
}

static uint64_t bytes;
static void weighed(const char *path) {
    struct stat st;
    if (stat(path, &st) == 0) bytes += (uint64_t)st.st_size;
}

static uint64_t weight(void) {
    bytes = 0;
    each_file(".tilec", weighed);
    return bytes;
}

/* ---- size ---- */

static void put(int number, size_t len, uint64_t limit) {
    char key[32], *text = calloc(len + 1, 1);
    snprintf(key, sizeof key, "key %d", number);
    memset(text, 'a' + number % 26, len);
    cache_put(folder, (CacheText){key, strlen(key)}, (CacheText){text, len}, limit);
    free(text);
}

static bool has(int number) {
    char key[32];
    size_t len;
    snprintf(key, sizeof key, "key %d", number);
    char *text = cache_get(folder, (CacheText){key, strlen(key)}, &len);
    bool found = text != NULL;
    free(text);
    return found;
}

/* Makes an entry look as if it was used so many seconds ago. */
static int aged;
static void age(const char *path) {
    struct timespec t[2] = {{.tv_sec = time(NULL) - 100000}, {.tv_sec = time(NULL) - 100000}};
    struct stat st;
    if (stat(path, &st) || time(NULL) - st.st_mtime > 1000) return;
    t[0].tv_sec = t[1].tv_sec += ++aged;
    utimensat(AT_FDCWD, path, t, 0);
}

START_TEST(the_oldest_go) {
    uint64_t limit = 100000;
    aged = 0;
    for (int i = 0; i < 9; i++) {
        put(i, 10000, limit);
        each_file(".tilec", age); /* in the order they were put */
    }
    for (int i = 0; i < 9; i++) ck_assert(i == 0 || i == 1 || has(i));
    ck_assert(has(0)); /* used now, so no longer the oldest */
    put(9, 10000, limit);
    ck_assert_uint_le(weight(), limit);
    ck_assert(has(0));
    ck_assert(!has(1));
    ck_assert(has(9));
    for (int i = 10; i < 100; i++) {
        put(i, 5000 + (size_t)i * 100, limit);
        ck_assert_uint_le(weight(), limit);
        ck_assert(has(i));
    }
    put(100, 200000, limit); /* larger than all there may be */
    ck_assert(!has(100));
    ck_assert(has(99));
}
END_TEST

/* A key of the same hash would take the same file; only the same key is answered. */
START_TEST(keys_are_compared) {
    put(1, 100, 1 << 20);
    char from[400] = "", to[400];
    DIR *d = opendir(folder);
    for (struct dirent *e; (e = readdir(d));)
        if (strstr(e->d_name, ".tilec")) snprintf(from, sizeof from, "%s/%s", folder, e->d_name);
    closedir(d);
    put(2, 100, 1 << 20);
    d = opendir(folder);
    for (struct dirent *e; (e = readdir(d));) {
        snprintf(to, sizeof to, "%s/%s", folder, e->d_name);
        if (strstr(e->d_name, ".tilec") && strcmp(to, from)) break;
    }
    closedir(d);
    ck_assert(has(1) && has(2));
    ck_assert_int_eq(rename(from, to), 0); /* whole, but of key 1 */
    ck_assert(!has(1) && !has(2));
    put(2, 100, 1 << 20);
    ck_assert(has(2));
}
END_TEST

START_TEST(drafts_of_the_dead_are_removed) {
    char path[400];
    for (int old = 0; old < 2; old++) {
        snprintf(path, sizeof path, "%s/.x%d.tilec.1-2-3.tmp", folder, old);
        fclose(fopen(path, "w"));
        struct timespec t[2] = {{.tv_sec = time(NULL) - 8000}, {.tv_sec = time(NULL) - 8000}};
        if (old) utimensat(AT_FDCWD, path, t, 0);
    }
    put(1, 10, 1 << 20);
    ck_assert_int_eq(each_file(".tmp", NULL), 1);
}
END_TEST

/* ---- processes ---- */

enum { PROCESSES = 16, KEYS = 60, LIMIT = 3 << 20, WRONG = 9 };

/* The text of a key is known from it alone, so that any process can tell a wrong one. */
static size_t text_of(unsigned k, char *text) {
    unsigned r = k * 2654435761u + 1;
    size_t len = 100 + r % 120000;
    for (size_t i = 0; i < len; i++) {
        r = r * 1664525u + 1013904223u;
        text[i] = (char)(r >> 24);
    }
    return len;
}

static size_t key_of(unsigned k, char *key) {
    return (size_t)sprintf(key, "%u %0*u", k, (int)(k * 37 % 3000) + 1, k);
}

/* 0: not there; 1: there and right; WRONG */
static int check(unsigned k, const char *text, size_t len) {
    static char key[4000];
    size_t n = key_of(k, key), got_len = 0;
    char *got = cache_get(folder, (CacheText){key, n}, &got_len);
    int result = !got ? 0 : got_len == len && memcmp(got, text, len) == 0 ? 1 : WRONG;
    free(got);
    return result;
}

static _Noreturn void work(unsigned seed) {
    static char text[130000], key[4000];
    for (unsigned r = seed * 747796405u + 1;; r = r * 1664525u + 1013904223u) {
        unsigned k = (r >> 16) % KEYS;
        size_t len = text_of(k, text);
        int there = check(k, text, len);
        if (there == WRONG) _exit(WRONG);
        if (!there)
            cache_put(folder, (CacheText){key, key_of(k, key)}, (CacheText){text, len}, LIMIT);
    }
}

static pid_t start(unsigned seed) {
    pid_t pid = fork();
    if (pid == 0) work(seed);
    ck_assert_int_gt(pid, 0);
    return pid;
}

/* Sixteen at a time, killed at random and replaced; then every entry left is some key's, whole. */
START_TEST(processes_are_killed) {
    const char *wish = getenv("TILE_TEST_SECONDS");
    double seconds = wish ? strtod(wish, NULL) : 10;
    pid_t pid[PROCESSES];
    unsigned seed = 0, killed = 0;
    struct timespec now, from;
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (int i = 0; i < PROCESSES; i++) pid[i] = start(++seed);
    do {
        struct timespec pause = {.tv_nsec = (long)(seed * 7919 % 13) * 1000000};
        nanosleep(&pause, NULL);
        int i = (int)(seed * 2654435761u >> 16) % PROCESSES, status = 0;
        kill(pid[i], SIGKILL);
        ck_assert_int_eq(waitpid(pid[i], &status, 0), pid[i]);
        ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL,
                      "a process ended by itself: status %d", status);
        killed++;
        pid[i] = start(++seed);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((double)(now.tv_sec - from.tv_sec) + 1e-9 * (double)(now.tv_nsec - from.tv_nsec) <
             seconds);
    for (int i = 0; i < PROCESSES; i++) {
        kill(pid[i], SIGKILL);
        waitpid(pid[i], NULL, 0);
    }
    static char text[130000];
    int good = 0;
    for (unsigned k = 0; k < KEYS; k++) {
        int there = check(k, text, text_of(k, text));
        ck_assert_int_ne(there, WRONG);
        good += there;
    }
    ck_assert_int_gt(good, 0);
    ck_assert_int_gt(killed, 10);
    ck_assert_int_eq(each_file(".tilec", NULL), good); /* none is torn */
}
END_TEST

int main(void) {
    Suite *s = suite_create("cache");
    TCase *t = tcase_create("cache");
    tcase_add_checked_fixture(t, make_folder, remove_folder);
    tcase_set_timeout(t, 600);
    tcase_add_test(t, the_oldest_go);
    tcase_add_test(t, keys_are_compared);
    tcase_add_test(t, drafts_of_the_dead_are_removed);
    tcase_add_test(t, processes_are_killed);
    return run_suite(s, t);
}
