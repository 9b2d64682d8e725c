/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* schedule_plan.h: what the files of the pass `schedule` share (see schedule.c). */
#ifndef TILE_PASSES_SCHEDULE_PLAN_H
#define TILE_PASSES_SCHEDULE_PLAN_H

#include "passes/cost.h"
#include "passes/layout_choice.h"
#include "passes/schedule.h"

typedef struct Copy {     /* one load that becomes a copy */
    Op *load, *store;     /* store: into the buffer that dots read; NULL: there is none */
    Value *buffer;        /* that buffer; then the one that is copied to */
    Type type;            /* of a slice */
    const Layout *layout; /* of a slice */
    bool plain;           /* by a load and a store, not asynchronously */
    Value *prefetched;    /* plain: what was loaded */
} Copy;

typedef VEC(Op *) OpList;

typedef struct Plan {
    PassCtx *ctx;
    Session *s;
    Func *f;
    const AxisTable *axis;
    Op *loop;
    LoopChoice choice;
    Op *first_mma; /* the last dot that needs nothing the body worked out; NULL: none does */
    Op *last_mma;  /* the last dot that is in flight at the end of an iteration, or first_mma */
    bool waits;    /* the loop has a load that stays where it is, for the dots of its turn */
    bool refused;  /* a load, with a note that says why */
    bool sums;     /* dots that only add to what goes round are in flight at the end */
    VEC(Copy) copies;
    VEC(Value *) stored;     /* buffers of the body: a dot's operand, made before any dot is done */
    bool acquires;           /* the loop may come to see what others write */
    VEC(const Op *) effects; /* ops of the loop that reads may not pass */
    uint8_t *slice;     /* by value id: of the prefetch slice: addresses and masks are made of it */
    uint8_t *for_dots;  /* by value id: a dot's operand is made of it */
    uint8_t *worked_on; /* by value id: not only addresses and masks of loads */
    uint8_t *carried;   /* by carried value's number: the prefetch slice needs it */
    uint8_t *deferred;  /* by carried value's number: of a dot that is in flight at the end */
    Value **map;        /* of the prefetch slice: by id of the values it is a copy of */
    uint32_t size;      /* of what is by value id */
    /* What the body is made of now, in groups that are done together. */
    OpList prefetch; /* addresses and masks */
    OpList start;    /* copies */
    OpList store;    /* of what plain loads loaded */
    OpList land;     /* the wait for an iteration's copies */
    OpList started;  /* dots, which are in flight from where they stand */
    OpList late; /* the waits for deferred dots: each before an op of `before`, or, where that is
                    NULL, behind the last of these dots */
    OpList before;
    Op *landed,
        *free; /* barriers: all warps' copies have landed; what is overwritten is not read */
} Plan;

/* schedule_copies.c: collects in p->copies the loads of the loop's body that can be copied ahead,
 * with notes about the others, and in p->slice and p->carried what their addresses are made of.
 * all: also those that no dot is made of. */
void plan_copies(Plan *p, bool all);

/* schedule_dots.c */
/* Finds in p->stored the buffers that could have two slices, so that their dots may be in flight.
 */
void plan_stored(Plan *p);
/* Which dots are in flight while the body goes on. */
void plan_dots(Plan *p, LoopCost *cost);
/* Barriers between what is stored for dots in flight and these. */
void plan_stored_barriers(Plan *p, Block *body);
/* Puts the waits for them into the body, whose end carries out[i] on. */
void plan_dot_waits(Plan *p, Block *body, Value **out);

#endif
