/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* axis.h: axis analysis: what is known of a tile's values along each dimension.
 *
 * contiguity c: in runs of c elements (aligned at multiples of c in the dimension) values rise
 * by 1. divisibility d: the first value of every such run is a multiple of d (for pointers: of d
 * bytes). constancy k: in runs of k elements, likewise aligned, all values are equal. All are
 * powers of two. A scalar has one "dimension" of size 1. After Triton's AxisInfo. */
#ifndef TILE_IR_ANALYSIS_AXIS_H
#define TILE_IR_ANALYSIS_AXIS_H

#include "ir/ir.h"

typedef struct AxisInfo {
    int64_t contiguity[TILE_MAX_RANK], divisibility[TILE_MAX_RANK], constancy[TILE_MAX_RANK];
    bool has_constant; /* every element equals `constant` */
    int64_t constant;
} AxisInfo;

typedef struct AxisTable { /* by value id; values without an entry know nothing */
    struct AxisFact **fact;
    struct AxisFact **guess; /* the same if no run is cut by an unknown divisor: for ordering alone;
                              * NULL: nothing divides, and there is no difference */
    uint8_t *fastest; /* of a tile of pointers: 1 + axis_fastest_dim(), 0 where nobody asked */
    uint32_t n, room;
    Param *param; /* of the function */
    int nparams;
} AxisTable;

/* A forward analysis to a fixed point over the whole function. Params' promises (divisible, is_one)
 * are its axioms. */
AxisTable axis_analyse(Session *s, const Func *f);
/* Adds what has been made since, in a function that computes the same as it did: of values that are
 * known already nothing is looked at again. */
void axis_extend(Session *s, const Func *f, AxisTable *t);
const AxisInfo *axis_of(const AxisTable *t, const Value *v); /* NULL when nothing is known */
/* How many elements, starting at multiples of the result, a memory access through pointer tile
 * `ptr` (masked by `mask` or NULL) may take at once along dimension `dim`: contiguous, aligned to
 * the whole, one mask. A power of two, at least 1; at most 16 bytes' worth. */
int64_t axis_access_width(const AxisTable *t, const Value *ptr, const Value *mask, int dim);
/* The dimension along which ptr has the most contiguity. Of those that tie it is the one that would
 * have most if / and % by unknown numbers, which are mostly larger than a run, cut none; else, of
 * those without runs, the one whose neighbours are not known to be far from each other: a stride
 * that is a multiple of 16 is no small number, and neither is one that is large at the launch, of
 * which its parameter says that it was asked (Param.size); one of which nothing is known may be
 * small; else the last. */
int axis_fastest_dim(const AxisTable *t, const Value *ptr);

#endif
