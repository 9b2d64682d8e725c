/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cost.h: the table of costs (cost.def), and the cost model of schedules: how many slices, how far
 * ahead, and what is waited for when. */
#ifndef TILE_PASSES_COST_H
#define TILE_PASSES_COST_H

#include "ir/target.h"
#include "ir/type.h"

enum Cost {
#define COST(name, number, why) COST_##name = (number),
#include "passes/cost.def"
#undef COST
};

typedef struct LoopCost { /* what a choice depends on */
    const Target *target;
    int threads;
    int64_t carried;    /* bytes of the tiles that the loop carries, which are in registers */
    int64_t others;     /* bytes of shared memory besides the slices */
    int64_t iteration;  /* bytes of a slice of each buffer */
    bool in_flight;     /* dots are where copies start, and all copies are asynchronous */
    bool for_dots;      /* dots read the slices, and all copies are asynchronous */
    bool results_later; /* of these some whose results the body goes on with */
} LoopCost;

typedef struct LoopChoice {
    int slices;
    int more;        /* of a program that has an SM to itself, or 0: nothing is gained by that */
    int ahead;       /* iterations that copies start before they are used */
    int lands_ahead; /* those that they are waited for before: 1: one barrier tells of them, and
                        that dots are done which read what is overwritten next */
} LoopChoice;

/* The shared memory that each of so many programs on an SM has. */
int64_t cost_share_of(const Target *sm, int64_t programs);
/* How many programs an SM holds at a time. */
int64_t cost_programs(const LoopCost *c, int slices);
/* Beside stages that stay there is no room for a tile of t to go through shared memory on its way
 * out, and results of 32 bits fill whole sectors as dots hold them. */
static inline bool cost_is_stored_as_held(Type t) {
    return type_bytes(t) > COST_ROLES_REST && type_elem_bytes(t) >= 4;
}
/* slices: as many as were asked for, and fit. */
LoopChoice cost_choose(const LoopCost *c, int slices);

#endif
