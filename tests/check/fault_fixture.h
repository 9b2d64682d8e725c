/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fault_fixture.h: a life, which is what a program does with a library -> the same again and again,
 * while allocation n, or call n about a file, fails, for every n.
 *
 * The linker puts the functions below in the place of libc's (--wrap) in our code, and in that of
 * LLVM where it is an archive: no code of LLVM may run, which could not go on without memory. What
 * jansson allocates is counted, too, but not while it reads: where its buffer cannot grow, version
 * 2.14 drops a character of a string and then writes behind its copy. */
#ifndef TILE_TESTS_CHECK_FAULT_FIXTURE_H
#define TILE_TESTS_CHECK_FAULT_FIXTURE_H

#include "tests/scratch.h"
#include "tile.h"

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

typedef enum Kind { NOTHING, ALLOCATION, FILE_CALL } Kind;

static Kind failing;     /* which calls are counted */
static int calls, fails; /* how many there were; the number of the one that fails */
static int wrong;        /* results that were not right */
static char folder[SCRATCH_SIZE];

static bool reading; /* jansson does */

static inline bool it_fails(Kind kind, int error) {
    if (kind != failing || reading || ++calls != fails) return false;
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

json_t *__real_json_loadb(const char *text, size_t len, size_t flags, json_error_t *error);
json_t *__wrap_json_loadb(const char *text, size_t len, size_t flags, json_error_t *error);
json_t *__wrap_json_loadb(const char *text, size_t len, size_t flags, json_error_t *error) {
    reading = true;
    json_t *value = __real_json_loadb(text, len, flags, error);
    reading = false;
    return value;
}

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...) {
    va_list ap;
    va_start(ap, flags);
    mode_t mode = flags & O_CREAT ? va_arg(ap, mode_t) : 0;
    va_end(ap);
    return it_fails(FILE_CALL, EMFILE) ? -1 : __real_open(path, flags, mode);
}

static inline void empty_folder(void) {
    DIR *d = __real_opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));) {
        char path[400];
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        __real_unlink(path);
    }
    if (d) closedir(d);
}

/* The status of a life whose call number n of this kind fails; *count: how many calls it made. */
static inline tile_status live_with(tile_status (*life)(void), Kind kind, int n, int *count) {
    failing = kind;
    calls = 0;
    fails = n;
    tile_status st = life();
    failing = NOTHING;
    *count = calls;
    return st;
}

static inline void every_call(tile_status (*life)(void), Kind kind, tile_status expected) {
    int count, unused;
    json_set_alloc_funcs(__wrap_malloc, free);
    ck_assert_ptr_nonnull(mkdtemp(scratch(folder, "tile-faults")));
    ck_assert_int_eq(live_with(life, kind, 0, &count), TILE_OK);
    ck_assert_int_gt(count, 5);
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

#endif
