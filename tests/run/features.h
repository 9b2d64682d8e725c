/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* features.h: how a kernel of tests/run is run, as data, and the references in plain C. */
#ifndef TILE_TESTS_FEATURES_H
#define TILE_TESTS_FEATURES_H

#include "tests/run/suite.h"

enum { MAX_SLOTS = 8 };

/* One parameter with its value: a buffer or an integer. */
typedef struct Slot {
    tile_type type;
    bool is_buffer, is_output;
    Fill fill;
    size_t n;
    int64_t value;
    void *data; /* of a buffer, on the host: what goes in, or what must come out */
} Slot;

/* Writes what must come out; all bytes of an output are 0xCD before. May change the inputs first,
 * where the kernel is defined for some values only. */
typedef void Want(Slot *slot);

typedef struct Feature {
    const char *file;    /* tests/run/FILE.tl */
    const char *defines; /* as in Source; WARPS=n is also the number of warps */
    /* Parameters in order: `TYPE[n]:fill` is an input, `>TYPE[n]` an output, `TYPE=value` a number;
     * T and U stand for each of `types` and `other_types` in turn. */
    const char *params;
    const char *types, *other_types;
    tile_grid grid; /* x 0: the kernel's own */
    Want *want;
    /* How far a float may be off: relative to it in units of 2^-(its precision), and absolutely.
     * Both 0: not at all. */
    double last_places, off;
} Feature;

extern const Feature features[];
extern const int feature_count;

#endif
