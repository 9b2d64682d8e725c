/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* block.h: block analysis: a tile of pointers under a mask as a block of a tensor.
 *
 * An access is one when its address is base + sum of index * stride over its dimensions, where
 * index is first + 0, 1, 2 …, and its mask says of some dimensions that index < size or index >= 0,
 * or that of the tile's elements a constant number is there, and no more. That is what a descriptor
 * says (ir/desc.h).
 *
 * Heads and batches, head * stride in the address, are dimensions of the tensor, too, along which
 * the tile has one element: `leading` ones, in front of its own. Of strides that are multiples of
 * each other, as of groups of 8 heads, the smallest has one, unless a mask speaks of a part. */
#ifndef TILE_IR_ANALYSIS_BLOCK_H
#define TILE_IR_ANALYSIS_BLOCK_H

#include "ir/analysis/poly.h"

typedef struct BlockDim {
    Poly stride; /* bytes: one term */
    Poly first;  /* the index of the tile's first element; of loops around it by iteration */
    bool bounded, starts; /* starts: the mask leaves out what is below 0 */
    Poly size;            /* if bounded */
    int64_t live;         /* the mask has the first so many of the tile's elements alone; 0: all */
    /* The index is taken modulo the size, which is no bound then: beyond it lie other elements
     * than a descriptor's. */
    bool wraps;
    bool wide; /* some of the index is worked out in 64 bits: it may not fit 32 */
} BlockDim;

/* A dimension without a bound is stepped along by so many at most: pointers may walk further than
 * integers do. */
enum { BLOCK_MOST_LEADING = 3, BLOCK_FAR = 1 << 15 };

typedef struct BlockAccess {
    const Value *base; /* a parameter */
    Poly offset;       /* bytes behind it, of parameters alone */
    int rank, nleading;
    BlockDim dim[TILE_MAX_RANK], leading[BLOCK_MOST_LEADING];
} BlockAccess;

/* The load's or store's block. NULL, or why it is none: the end of a sentence about the access. */
const char *block_of(Session *s, const Op *access, BlockAccess *out);

/* A conjunct of a mask: of the dimension's elements those are there whose number is below; of dim
 * -1 all or none, as if they had number 0. */
typedef struct BlockBound {
    int dim;
    Poly limit;
    bool from; /* no: that or more */
} BlockBound;
enum { BLOCK_MOST_BOUNDS = 8 };
/* What the mask is the conjunction of, how many; -1: of something else, too. */
int block_bounds(Session *s, const Value *mask, BlockBound *out);

#endif
