/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* opened.c: loaded before a program's libraries, writes each path that it opens or asks about to
 * the file $OPENED, as strace would where it may trace. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void note(const char *path) {
    static int out = -1;
    const char *name = getenv("OPENED");
    int (*real)(const char *, int, ...) = dlsym(RTLD_NEXT, "open");
    if (out < 0 && name) out = real(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (out < 0 || !path) return;
    char line[4096];
    int n = snprintf(line, sizeof line, "%s\n", path);
    if (write(out, line, (size_t)n) < 0) abort();
}

#define OPENS(name)                                                                                \
    int name(const char *path, int flags, ...) {                                                   \
        va_list ap;                                                                                \
        va_start(ap, flags);                                                                       \
        int mode = va_arg(ap, int);                                                                \
        va_end(ap);                                                                                \
        note(path);                                                                                \
        int (*real)(const char *, int, ...) = dlsym(RTLD_NEXT, #name);                             \
        return real(path, flags, mode);                                                            \
    }
OPENS(open)
OPENS(open64)

#define OPENS_AT(name)                                                                             \
    int name(int at, const char *path, int flags, ...) {                                           \
        va_list ap;                                                                                \
        va_start(ap, flags);                                                                       \
        int mode = va_arg(ap, int);                                                                \
        va_end(ap);                                                                                \
        note(path);                                                                                \
        int (*real)(int, const char *, int, ...) = dlsym(RTLD_NEXT, #name);                        \
        return real(at, path, flags, mode);                                                        \
    }
OPENS_AT(openat)
OPENS_AT(openat64)

#define OPENS_STREAM(name)                                                                         \
    FILE *name(const char *path, const char *mode) {                                               \
        note(path);                                                                                \
        FILE *(*real)(const char *, const char *) = dlsym(RTLD_NEXT, #name);                       \
        return real(path, mode);                                                                   \
    }
OPENS_STREAM(fopen)
OPENS_STREAM(fopen64)

#define ASKS(name, type)                                                                           \
    int name(const char *path, struct type *st) {                                                  \
        note(path);                                                                                \
        int (*real)(const char *, struct type *) = dlsym(RTLD_NEXT, #name);                        \
        return real(path, st);                                                                     \
    }
ASKS(stat, stat)
ASKS(lstat, stat)
ASKS(stat64, stat64)
ASKS(lstat64, stat64)

int access(const char *path, int mode) {
    note(path);
    int (*real)(const char *, int) = dlsym(RTLD_NEXT, "access");
    return real(path, mode);
}
