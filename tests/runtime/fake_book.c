/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fake_book.c: keeps the fake driver's books (see fake_book.h): one list of objects, one lock. */
#include "tests/runtime/fake_book.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Object *objects;
static const char *failed_name;
static bool fail_on, env_read;
static int fail_code;
static atomic_long calls, fail_at;

/* ---- failing on request ---- */

CuResult book_begin(const char *name) {
    long n = atomic_fetch_add(&calls, 1) + 1, at = atomic_load(&fail_at);
    if (at == 0 || n < at) return CU_SUCCESS;
    pthread_mutex_lock(&lock);
    CuResult r = n == at || fail_on ? fail_code : CU_SUCCESS;
    if (r && !failed_name) failed_name = name;
    pthread_mutex_unlock(&lock);
    return r;
}

void book_let_fail(long n, int code, bool on) {
    pthread_mutex_lock(&lock);
    fail_code = code;
    fail_on = on;
    failed_name = NULL;
    atomic_store(&calls, 0);
    atomic_store(&fail_at, n);
    pthread_mutex_unlock(&lock);
}

void book_read_environment(void) {
    const char *text = getenv("FAKE_CUDA_FAIL");
    long n;
    int code;
    if (env_read || !text || sscanf(text, "%ld:%d", &n, &code) != 2) return;
    env_read = true;
    book_let_fail(n, code, false);
}

long book_calls(void) {
    return atomic_load(&calls);
}

const char *book_failed(void) {
    pthread_mutex_lock(&lock);
    const char *name = failed_name;
    pthread_mutex_unlock(&lock);
    return name;
}

/* ---- what has been given out ---- */

static Object *put(Object like) {
    Object *o = malloc(sizeof *o);
    if (!o) return NULL;
    *o = like;
    o->uses = 1;
    pthread_mutex_lock(&lock);
    o->next = objects;
    objects = o;
    pthread_mutex_unlock(&lock);
    return o;
}

Object *book_add(Kind kind, Object *parent) {
    return put((Object){.kind = kind, .parent = parent});
}

Object *book_add_memory(void *memory, size_t bytes) {
    return put((Object){.kind = MEMORY, .memory = memory, .bytes = bytes});
}

Object *book_add_opened(CuPtr start) {
    return put((Object){.kind = OPENED, .opened = start});
}

static const void *key(const Object *o) {
    return o->kind == MEMORY   ? o->memory
           : o->kind == OPENED ? (const void *)(uintptr_t)o->opened
                               : o;
}

bool book_knows(const void *p, Kind kind) {
    pthread_mutex_lock(&lock);
    const Object *o = objects;
    while (o && ((const void *)o != p || o->kind != kind)) o = o->next;
    pthread_mutex_unlock(&lock);
    return o != NULL;
}

bool book_take(const void *p, Kind kind) {
    pthread_mutex_lock(&lock);
    Object **at = &objects;
    while (*at && !((*at)->kind == kind && key(*at) == p)) at = &(*at)->next;
    Object *o = *at;
    if (o) *at = o->next;
    pthread_mutex_unlock(&lock);
    if (!o) return false;
    free(o->memory);
    free(o->text);
    free(o);
    return true;
}

bool book_range(CuPtr p, CuPtr *start, size_t *bytes) {
    pthread_mutex_lock(&lock);
    const Object *o = objects;
    while (o && !(o->kind == MEMORY && p - (uintptr_t)o->memory <= o->bytes)) o = o->next;
    if (o) {
        *start = (uintptr_t)o->memory;
        *bytes = o->bytes;
    }
    pthread_mutex_unlock(&lock);
    return o != NULL;
}

/* Where one ends, another may begin. */
bool book_inside(CuPtr p, size_t bytes) {
    pthread_mutex_lock(&lock);
    const Object *o = objects;
    for (; o; o = o->next) {
        size_t at = p - (uintptr_t)o->memory;
        if (o->kind == MEMORY && at <= o->bytes && bytes <= o->bytes - at) break;
    }
    pthread_mutex_unlock(&lock);
    return o != NULL;
}

void book_take_functions(const Object *module) {
    for (;;) {
        pthread_mutex_lock(&lock);
        const Object *o = objects;
        while (o && !(o->kind == FUNCTION && o->parent == module)) o = o->next;
        pthread_mutex_unlock(&lock);
        if (!o || !book_take(o, FUNCTION)) break;
    }
}

long book_count(void) {
    long n = 0;
    pthread_mutex_lock(&lock);
    for (const Object *o = objects; o; o = o->next) n += o->kind != FUNCTION;
    pthread_mutex_unlock(&lock);
    return n;
}

uint64_t book_number(void) {
    static atomic_uint_fast64_t last = 2;
    return atomic_fetch_add(&last, 1) + 1;
}

void book_clear(void) {
    while (objects) {
        const Object *o = objects;
        book_take(key(o), o->kind);
    }
}
