/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* arena.c: blocks of memory, bumped through and freed together (see arena.h). */
#include "base/arena.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ArenaBlock {
    ArenaBlock *next;
    size_t size, used; /* of the bytes behind this header */
    max_align_t data[];
};

enum { ARENA_ALIGN = 16, ARENA_BLOCK = 64 * 1024 };

void arena_init(Arena *a, size_t limit, jmp_buf *oom) {
    *a = (Arena){.limit = limit, .oom = oom};
}

void arena_free(Arena *a) {
    for (ArenaBlock *b = a->head; b;) {
        ArenaBlock *next = b->next;
        free(b);
        b = next;
    }
    a->head = NULL;
    a->used = a->held = 0;
}

static ArenaBlock *new_block(Arena *a, size_t bytes) {
    size_t size = bytes > ARENA_BLOCK ? bytes : ARENA_BLOCK;
    size_t whole = size + sizeof(ArenaBlock);
    if (a->limit && (whole > a->limit || a->held > a->limit - whole)) longjmp(*a->oom, 1);
    ArenaBlock *b = calloc(1, whole);
    if (!b) longjmp(*a->oom, 1);
    b->size = size;
    b->next = a->head;
    a->head = b;
    a->held += whole;
    return b;
}

void *arena_alloc(Arena *a, size_t bytes) {
    if (bytes > SIZE_MAX / 2) longjmp(*a->oom, 1);
    bytes = (bytes + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
    if (bytes == 0) bytes = ARENA_ALIGN;
    ArenaBlock *b = a->head;
    if (!b || b->size - b->used < bytes) b = new_block(a, bytes);
    void *p = (char *)b->data + b->used;
    b->used += bytes;
    a->used += bytes;
    return p;
}

void *arena_array(Arena *a, size_t count, size_t size) {
    if (size && count > SIZE_MAX / 2 / size) longjmp(*a->oom, 1);
    return arena_alloc(a, count * size);
}

void *arena_copy(Arena *a, const void *from, size_t bytes) {
    void *p = arena_alloc(a, bytes);
    if (bytes) memcpy(p, from, bytes);
    return p;
}

char *arena_strndup(Arena *a, const char *s, size_t n) {
    char *p = arena_alloc(a, n + 1);
    if (n) memcpy(p, s, n);
    p[n] = 0;
    return p;
}

char *arena_strdup(Arena *a, const char *s) {
    return arena_strndup(a, s, strlen(s));
}

char *arena_vprintf(Arena *a, const char *fmt, va_list ap) {
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    if (n < 0) longjmp(*a->oom, 1);
    char *p = arena_alloc(a, (size_t)n + 1);
    vsnprintf(p, (size_t)n + 1, fmt, ap);
    return p;
}

char *arena_printf(Arena *a, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    char *p = arena_vprintf(a, fmt, ap);
    va_end(ap);
    return p;
}

void *vec_grow(Arena *a, void *at, int n, int *cap, size_t size) {
    if (*cap > INT32_MAX / 2) longjmp(*a->oom, 1);
    int want = *cap ? *cap * 2 : 8;
    void *p = arena_array(a, (size_t)want, size);
    if (n) memcpy(p, at, (size_t)n * size);
    *cap = want;
    return p;
}
