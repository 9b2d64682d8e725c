/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* affine.h: affine analysis: an address as a base plus terms.
 *
 * Every integer and pointer is written as constant + sum of (value * factor): terms over scalars,
 * the same for all elements, and terms over tiles. What is no sum is a term of its own. Offsets are
 * taken not to overflow, which the CPU device checks. A loop's carried value is a term; by how much
 * it grows in an iteration is known where it is a constant. Bytes, for pointers. */
#ifndef TILE_IR_ANALYSIS_AFFINE_H
#define TILE_IR_ANALYSIS_AFFINE_H

#include "ir/ir.h"

typedef struct AffineTerm {
    const Value *value;
    int64_t factor;
} AffineTerm;

typedef struct Affine {
    const Value *base; /* of a pointer: a parameter, or what gave another address; else NULL */
    int64_t constant;
    AffineTerm *scalar, *tile; /* sorted by value's number */
    int nscalars, ntiles;
    /* The terms over tiles come to no less, and no more, than these. */
    bool bounded;
    int64_t least, most;
    /* They are the sum of index * stride over the dimensions. */
    bool strided;
    int64_t stride[TILE_MAX_RANK];
} Affine;

typedef struct AffineTable { /* by value number; NULL where nothing was asked for */
    Affine **form;
    const Affine **step; /* of arguments of loops: what an iteration adds; NULL: not known */
    uint32_t n;
} AffineTable;

AffineTable affine_analyse(Session *s, const Func *f);
const Affine *affine_of(const AffineTable *t, const Value *v); /* NULL: no integer or pointer */
/* What one iteration of its loop adds to an argument, when that is a constant. */
bool affine_step(const AffineTable *t, const Value *arg, int64_t *step);
/* May pointers with these bases be equal? Two parameters are taken to point to different memory, as
 * in Triton, and what selects and branches choose among, too. */
bool affine_bases_meet(const Value *a, const Value *b);
/* Of a cast: from an integer to one that holds all of its numbers. */
bool affine_keeps_number(const Op *cast);
/* No two elements of a tile of this shape have the same value. */
bool affine_is_injective(const Affine *a, Type shape);

#endif
