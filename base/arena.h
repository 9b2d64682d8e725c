/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* arena.h: memory with one lifetime.
 *
 * An Arena hands out zeroed, 16-byte aligned memory and gives all of it back at once. Nothing in a
 * compilation is freed on its own, so no node needs an owner. An allocation cannot fail from its
 * caller's view: when memory or the arena's limit runs out, control jumps to the arena's `oom`
 * point, which every entry of the library sets before it calls anything that allocates. */
#ifndef TILE_BASE_ARENA_H
#define TILE_BASE_ARENA_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ArenaBlock ArenaBlock;

typedef struct Arena {
    ArenaBlock *head; /* newest block */
    size_t used;      /* bytes handed out */
    size_t limit;     /* bytes that may be taken from the system; 0: no limit */
    size_t held;      /* bytes taken from the system */
    jmp_buf *oom;     /* where to go when memory runs out; must outlive every allocation */
} Arena;

void arena_init(Arena *a, size_t limit, jmp_buf *oom);
void arena_free(Arena *a); /* gives back every block; the arena may be used again */
void *arena_alloc(Arena *a, size_t bytes);
void *arena_array(Arena *a, size_t count, size_t size); /* checks count * size for overflow */
void *arena_copy(Arena *a, const void *from, size_t bytes);
char *arena_strndup(Arena *a, const char *s, size_t n);
char *arena_strdup(Arena *a, const char *s);
char *arena_printf(Arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
char *arena_vprintf(Arena *a, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));

/* A growable array in an arena: VEC(int) v = {0}; vec_push(arena, &v, 3); v.at[0]; v.n. */
#define VEC(T)                                                                                     \
    struct {                                                                                       \
        T *at;                                                                                     \
        int n, cap;                                                                                \
    }
#define vec_push(a, v, x)                                                                          \
    ((v)->n == (v)->cap                                                                            \
         ? (void)((v)->at = vec_grow((a), (v)->at, (v)->n, &(v)->cap, sizeof *(v)->at))            \
         : (void)0,                                                                                \
     (void)((v)->at[(v)->n++] = (x)))
void *vec_grow(Arena *a, void *at, int n, int *cap, size_t size);

#endif
