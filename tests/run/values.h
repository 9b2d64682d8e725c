/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* values.h: numbers of the kernels' types in host memory, and deterministic random data.
 *
 * Written apart from ir/number.c on purpose: what is expected of a kernel must not come from the
 * code under test. A type is a tile_type of tile.h. */
#ifndef TILE_TESTS_VALUES_H
#define TILE_TESTS_VALUES_H

#include "tile.h"

#include <stdbool.h>

size_t type_size(tile_type t);
const char *type_name(tile_type t);
/* TILE_NONE when there is no such type. */
tile_type type_find(const char *name, size_t len);
bool type_is_float(tile_type t);
bool type_is_signed(tile_type t); /* of the integers */

/* Element i as a double; 64-bit integers are rounded. */
double value_get(tile_type t, const void *data, size_t i);
/* v, rounded once to the type (floats to the nearest, ties to even; integers toward zero). */
void value_set(tile_type t, void *data, size_t i, double v);
/* Element i of an integer array: sign- or zero-extended; stored modulo 2^bits. */
uint64_t bits_get(tile_type t, const void *data, size_t i);
void bits_set(tile_type t, void *data, size_t i, uint64_t v);
/* v as the type holds it, as a double. */
double value_round(tile_type t, double v);

uint64_t random_bits(uint64_t *state);
double random_unit(uint64_t *state); /* [0, 1) */
double random_normal(uint64_t *state);

typedef enum Fill {
    FILL_BITS,    /* integers: any value; floats: as FILL_NORMAL */
    FILL_SMALL,   /* whole numbers from -4 (or 0) to 4 */
    FILL_WHOLE,   /* whole numbers that every type of more than 8 bits holds: -100 (or 0) to 100 */
    FILL_DIVISOR, /* neither 0 nor -1 */
    FILL_NORMAL,  /* floats: standard normal; integers: as FILL_WHOLE */
    FILL_SPECIAL, /* floats: normals with NaN, infinities, zeros of both signs, ties among them */
    FILL_COUNT,   /* 0, 1, 2, … modulo 2^bits */
    FILL_LOG2,    /* 0 to 7: shift counts that every type allows */
    FILL_PATTERN  /* any bits, of floats too */
} Fill;
void fill(Fill how, tile_type t, void *data, size_t n, uint64_t *state);

#endif
