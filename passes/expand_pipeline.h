/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* expand_pipeline.h: what the files of the pass `expand_pipeline` share (see expand_pipeline.c). */
#ifndef TILE_PASSES_EXPAND_PIPELINE_H
#define TILE_PASSES_EXPAND_PIPELINE_H

#include "ir/desc.h"
#include "passes/schedule.h"

/* How far a loop goes: as an unsigned number of the index's size, for what it walks over may be
 * longer than the index counts, and the index ahead may pass its type's end. */
typedef struct TripCount {
    Value *any;  /* there is an iteration */
    Value *last; /* the number of the last, from 0 */
} TripCount;

/* Something that the new loop carries: a value of an iteration that is needed in a later turn. */
typedef struct Carry {
    Value *of;    /* what an op of the body makes, or an argument of the body */
    int stage;    /* of an argument: as it is for iterations that are in this stage, */
    int turns;    /* of a result: as it was so many turns ago; 0: an argument */
    Value *entry; /* as the loop begins */
    Value *now;   /* in its body */
    Value *by;  /* a pointer that is what it was and a sum of these: the sum is carried; or NULL */
    Value *sum; /* that, in the body */
    int place;  /* among what the loop carries */
} Carry;

typedef struct StageState { /* for the iterations that are in one stage */
    bool begun;
    bool guards;         /* some of its ops are not done for iterations that do not exist */
    bool indexed;        /* some use the index */
    Value *index, *left; /* as the loop begins, then in its body: iterations to go, this one too */
    Value *exists;       /* in the body: there is one to go */
    int index_at, left_at; /* places among what the loop carries */
} StageState;

typedef struct Rotation { /* which slice comes next, of buffers of so many, in one stage */
    int stage, slices, place;
    Value *number;
} Rotation;

typedef struct Slice {
    const Value *buffer;
    int stage;
    Value *value; /* in the body */
} Slice;

typedef struct Expand {
    PassCtx *ctx;
    Session *s;
    Func *f;
    Schedule t;
    Op *loop, *to; /* as it was, and pipelined */
    TripCount trips;
    bool read_ahead;   /* buffers are, for iterations that do not exist, too: they are filled */
    StageState *stage; /* last + 2 */
    VEC(Carry) carries;
    VEC(Rotation) rotations;
    VEC(Slice) slices;
    Value **next;  /* by carried value's number: what it becomes; of a wait behind the last
                      stage, the dot that it waits for */
    Value **alloc; /* by row: the multi-buffer */
    Value ***made; /* the prologue's values: by iteration, by id */
    Value **index; /* the prologue's: by iteration */
    Value **exists;
    Value **map; /* by id: of the clone being made */
    Value **now; /* by id: in the body, this turn's */
} Expand;

/* expand_guard.c: what is done for iterations that may not exist. */
TripCount trip_count_of(const Op *loop, Builder *b);
Value *iteration_exists(Builder *b, TripCount t, int number);
/* How many iterations there are beyond the first `ahead`. */
Value *remaining_after(Builder *b, TripCount t, int ahead);
/* left - 1, if any is. */
Value *one_less(Builder *b, Value *left, Value *any);
/* The slice after this of so many. */
Value *next_slice(Builder *b, Value *number, int slices);
bool op_is_guarded(const Op *op);
enum { GUARDED_MOST_OPERANDS = 3 + DESC_MAX_RANK };
/* op, of other operands, done only where the iteration exists. by_mask: it nearly always does, so
 * that is left to the masks, for which ptxas needs no branches. */
Op *emit_guarded(Builder *b, const Op *op, Value *const *operands, Value *exists, bool by_mask);

/* expand_pointers.c: pointers that each iteration moves on by the same number are what they were
 * before the loop, and a number that is counted: one for all of them, that GPUs keep with what all
 * threads share. */
/* Puts at b the scalar that argument `carried` moves on by: bytes, in 64 bits; NULL: it is none. */
Value *pointer_increment(const Schedule *t, Builder *b, int carried);
/* start moved on by so many bytes. */
Value *pointer_moved(Builder *b, Value *start, Value *bytes);
/* Behind optimisation barriers: those of the values that are integers of so many bits. */
void make_opaque(Builder *b, Value **v, int n, int bits);
/* Would an outer loop keep much of what the prologue makes of its first index? */
bool index_is_made_again(const Expand *x);

#endif
