/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* integers.h: what tile-integers is made of: the kernels of random expressions (integers_source.c),
 * and who runs them and compares (integers.c). */
#ifndef TILE_TESTS_FUZZ_INTEGERS_H
#define TILE_TESTS_FUZZ_INTEGERS_H

#include "tests/run/values.h"

enum {
    TYPES = 8,
    INPUTS = 4, /* of each type */
    SCALARS = 3,
    PER_KERNEL = 64,
    TEXT = 1 << 20
};

typedef struct IntType {
    const char *name, *suffix;
    tile_type type;
    int bits;
    bool is_signed;
} IntType;
extern const IntType int_types[TYPES];

typedef struct Writer { /* of a kernel's source */
    uint64_t rng;
    char text[TEXT];
    size_t len;
    bool mute;           /* what is written is dropped */
    bool in_loop;        /* `k` counts its turns */
    const char *carried; /* what the loop carries; NULL: nothing */
    const IntType *carried_type;
} Writer;

/* The kernel of this seed: its text in w, the elements of a tile, its warps. only: the one
 * expression to keep; -1: all. */
void write_kernel(Writer *w, uint64_t seed, int only, int *size, int *warps);

#endif
