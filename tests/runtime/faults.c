/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* faults.c: the calls that --wrap diverts: counted, failed on request, else passed on (see
 * faults.h).
 *
 * libcuda.so.1 is always the fake driver of this build, whatever the machine has. */
#include "tests/runtime/faults.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static atomic_bool armed;
static atomic_long count;
static long fail_at;
static bool fail_on;
static FaultKind armed_kind;
static const char *missing;

void fault_arm(FaultKind kind, long n, bool on) {
    armed_kind = kind;
    fail_at = n;
    fail_on = on;
    atomic_store(&count, 0);
    atomic_store(&armed, true);
}

long fault_disarm(void) {
    atomic_store(&armed, false);
    return atomic_load(&count);
}

void fault_missing(const char *name) {
    missing = name;
}

static bool fails(FaultKind kind) {
    if (!atomic_load(&armed) || kind != armed_kind) return false;
    long n = atomic_fetch_add(&count, 1) + 1;
    return fail_at && (n == fail_at || (fail_on && n > fail_at));
}

#define REAL(type, name, ...)                                                                      \
    extern type __real_##name(__VA_ARGS__);                                                        \
    extern type __wrap_##name(__VA_ARGS__)

REAL(void *, malloc, size_t);
REAL(void *, calloc, size_t, size_t);
REAL(void *, realloc, void *, size_t);
REAL(char *, strdup, const char *);
REAL(void *, mmap, void *, size_t, int, int, int, off_t);
REAL(int, mprotect, void *, size_t, int);
REAL(int, pthread_mutex_init, pthread_mutex_t *, const pthread_mutexattr_t *);
REAL(int, open, const char *, int, ...);
REAL(ssize_t, read, int, void *, size_t);
REAL(ssize_t, write, int, const void *, size_t);
REAL(int, stat, const char *, struct stat *);
REAL(int, fstat, int, struct stat *);
REAL(int, fchmod, int, mode_t);
REAL(int, flock, int, int);
REAL(int, rename, const char *, const char *);
REAL(char *, realpath, const char *, char *);
REAL(void *, dlopen, const char *, int);
REAL(void *, dlsym, void *, const char *);

void *__wrap_malloc(size_t size) {
    return fails(FAULT_MEMORY) ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size) {
    return fails(FAULT_MEMORY) ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t size) {
    return fails(FAULT_MEMORY) ? NULL : __real_realloc(p, size);
}

char *__wrap_strdup(const char *text) {
    return fails(FAULT_MEMORY) ? NULL : __real_strdup(text);
}

void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset) {
    if (!fails(FAULT_MEMORY)) return __real_mmap(at, size, protection, flags, fd, offset);
    errno = ENOMEM;
    return MAP_FAILED;
}

int __wrap_mprotect(void *at, size_t size, int protection) {
    if (!fails(FAULT_MEMORY)) return __real_mprotect(at, size, protection);
    errno = ENOMEM;
    return -1;
}

int __wrap_pthread_mutex_init(pthread_mutex_t *m, const pthread_mutexattr_t *attributes) {
    return fails(FAULT_MEMORY) ? ENOMEM : __real_pthread_mutex_init(m, attributes);
}

int __wrap_open(const char *path, int flags, ...) {
    va_list ap;
    va_start(ap, flags);
    mode_t mode = flags & O_CREAT ? va_arg(ap, mode_t) : 0;
    va_end(ap);
    if (!fails(FAULT_FILE)) return __real_open(path, flags, mode);
    errno = EMFILE;
    return -1;
}

ssize_t __wrap_read(int fd, void *to, size_t size) {
    if (!fails(FAULT_FILE)) return __real_read(fd, to, size);
    errno = EIO;
    return -1;
}

ssize_t __wrap_write(int fd, const void *from, size_t size) {
    if (!fails(FAULT_FILE)) return __real_write(fd, from, size);
    errno = ENOSPC;
    return -1;
}

int __wrap_stat(const char *path, struct stat *st) {
    if (!fails(FAULT_FILE)) return __real_stat(path, st);
    errno = EACCES;
    return -1;
}

int __wrap_fstat(int fd, struct stat *st) {
    if (!fails(FAULT_FILE)) return __real_fstat(fd, st);
    errno = EOVERFLOW;
    return -1;
}

int __wrap_fchmod(int fd, mode_t mode) {
    if (!fails(FAULT_FILE)) return __real_fchmod(fd, mode);
    errno = EPERM;
    return -1;
}

int __wrap_flock(int fd, int operation) {
    if (!fails(FAULT_FILE)) return __real_flock(fd, operation);
    errno = ENOLCK;
    return -1;
}

int __wrap_rename(const char *from, const char *to) {
    if (!fails(FAULT_FILE)) return __real_rename(from, to);
    errno = EACCES;
    return -1;
}

char *__wrap_realpath(const char *path, char *to) {
    if (!fails(FAULT_MEMORY)) return __real_realpath(path, to);
    errno = ENOMEM;
    return NULL;
}

void *__wrap_dlopen(const char *name, int flags) {
    bool driver = name && strcmp(name, "libcuda.so.1") == 0;
    if (driver && missing && strcmp(missing, name) == 0)
        return __real_dlopen("no-such-library.so.1", flags);
    return __real_dlopen(driver ? FAKE_CUDA : name, flags);
}

void *__wrap_dlsym(void *library, const char *name) {
    return missing && strcmp(missing, name) == 0 ? NULL : __real_dlsym(library, name);
}

static void *json_alloc(size_t size) {
    return __wrap_malloc(size);
}

void fault_init(void) {
    json_set_alloc_funcs(json_alloc, free);
}

void fault_driver_symbol(const char *name, void *out, size_t size) {
    void *library = __real_dlopen(FAKE_CUDA, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    void *symbol = library ? __real_dlsym(library, name) : NULL;
    if (!symbol) {
        fprintf(stderr, "%s has no %s\n", FAKE_CUDA, name);
        exit(2);
    }
    memcpy(out, &symbol, size); /* ISO C has no cast to a function pointer */
    dlclose(library);
}

const FakeCuda *fault_driver(void) {
    const FakeCuda *fake;
    fault_driver_symbol("fake_cuda", &fake, sizeof fake);
    return fake;
}
