/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* whole.h: elements of memory that other threads or processes write meanwhile, read and replaced as
 * a whole by the processor's own atomics. What is not aligned, or of no size that it has, is not
 * whole: a GPU has no atomics there either. */
#ifndef TILE_BASE_WHOLE_H
#define TILE_BASE_WHOLE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* The bytes may be of any type. */
typedef uint8_t __attribute__((may_alias)) Whole8;
typedef uint16_t __attribute__((may_alias)) Whole16;
typedef uint32_t __attribute__((may_alias)) Whole32;
typedef uint64_t __attribute__((may_alias)) Whole64;

static inline void whole_read(void *to, const uint8_t *at, size_t size) {
#define READ(type)                                                                                 \
    case sizeof(type): {                                                                           \
        type v = __atomic_load_n((const type *)(const void *)at, __ATOMIC_SEQ_CST);                \
        memcpy(to, &v, sizeof v);                                                                  \
        return;                                                                                    \
    }
    switch ((uintptr_t)at % size ? 0 : size) {
        READ(Whole8)
        READ(Whole16)
        READ(Whole32)
        READ(Whole64)
    default: memcpy(to, at, size);
    }
#undef READ
}

/* False: it was not `old` any more, and stays as it is. */
static inline bool whole_swap(uint8_t *at, const void *old, const void *bits, size_t size) {
#define SWAP(type)                                                                                 \
    case sizeof(type): {                                                                           \
        type expected, v;                                                                          \
        memcpy(&expected, old, sizeof v);                                                          \
        memcpy(&v, bits, sizeof v);                                                                \
        return __atomic_compare_exchange_n((type *)(void *)at, &expected, v, false,                \
                                           __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                    \
    }
    switch ((uintptr_t)at % size ? 0 : size) {
        SWAP(Whole8)
        SWAP(Whole16)
        SWAP(Whole32)
        SWAP(Whole64)
    default: memcpy(at, bits, size); return true;
    }
#undef SWAP
}

#endif
