/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* software_pipeline.h: what the files of the software pipeline share (see software_pipeline.c). */
#ifndef TILE_PASSES_SOFTWARE_PIPELINE_H
#define TILE_PASSES_SOFTWARE_PIPELINE_H

#include "passes/layout_choice.h"
#include "passes/pass.h"

typedef struct Copy { /* one load that becomes a copy */
    Op *load, *store; /* store: into the buffer that dots read; NULL: the value has other uses */
    Value *buffer;    /* that buffer */
    Type type;        /* of a slice */
    const Layout *layout; /* of a slice */
    bool plain;           /* by a load and a store, not asynchronously */
    Value *slices;
    Value *stage, *ahead; /* plain: where to and what, loaded by the prefetch slice in the body */
} Copy;

typedef struct Pipeline {
    PassCtx *ctx;
    Session *s;
    Func *f;
    AxisTable axis;
    Op *loop;
    int stages, most; /* stages; and where a program is alone on its multiprocessor, else 0 */
    int64_t stage_bytes;
    Value *alone;     /* is it? NULL: that is all one */
    Value **token;    /* of the copies in flight, by iteration, the oldest first */
    int tokens, few;  /* how many; and where the program is not alone: the last of these */
    Op *first_mma;    /* the last dot that needs nothing the body worked out; NULL: none does */
    Op *last_mma;     /* the dot behind which the copies start; NULL: before all */
    int first_mmas;   /* dots up to it */
    bool lands_apart; /* dots are in flight where copies start, and all copies are asynchronous */
    bool lands_first; /* the wait for the next iteration's is before this one's copies start: one
                         barrier does for both */
    bool slack;   /* copies overwrite the stage that the dots before the deferred ones read, so they
                     need not wait for any: an iteration less ahead than there are stages for */
    bool refused; /* a load, with a note that says why */
    VEC(Copy) copies;
    VEC(const Value *) written; /* what the loop's stores point into; NULL: unknown */
    uint8_t *slice;             /* by value id: belongs to the prefetch slice that runs ahead */
    uint8_t *for_dots;          /* by value id: a dot's operand is made of it */
    uint8_t *worked_on;         /* by value id: not only addresses and masks of loads */
    uint8_t *deferred; /* Deferral, by carried value's number: of a dot that is in flight at the
                          loop's end */
    uint8_t *carried;  /* by carried value's number: the prefetch slice needs it */
    Value **induction; /* by its number: the scalar that moves its pointers on each time; NULL */
    Value **map;       /* of the clone being made */
    uint32_t size;
} Pipeline;

/* pipeline_copies.c: collects in p->copies the loads of the loop's body that can be copied ahead,
 * with notes about the others, and in p->slice and p->carried what their addresses are made of.
 * all: also those that no dot is made of. */
void pipeline_find_copies(Pipeline *p, bool all);
bool pipeline_is_zero(const Value *v);
/* software_pipeline.c: this thread's copies of the oldest iteration in flight, or of one `later`,
 * are there, for all units. */
void pipeline_land(Pipeline *p, Builder *b, int later);

/* pipeline_dots.c, before and after the body has its new place. */
typedef enum Deferral { DEFER_NONE, DEFER_RESULT, DEFER_ARG } Deferral;
void pipeline_plan_dots(Pipeline *p);
/* others: bytes of shared memory besides the stages. May change their number. */
void pipeline_plan_stages(Pipeline *p, int64_t others);
/* Waits for the dots; what lies from first to last goes behind the leading ones. arg and out are
 * the carried values as the body gets and yields them. */
void pipeline_place_waits(Pipeline *p, Block *body, Value **arg, Value **out, Op *first, Op *last);
/* v once the dots that `others` come from are done; n 0: its own. */
Value *pipeline_wait_dot(Pipeline *p, Builder *b, Value *v, Value *const *others, int n);
/* The results of the loop's deferred dots, of `values` by number; how many. */
int pipeline_deferred(const Pipeline *p, Value *const *values, Value **out);

#endif
