/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* schedule.h: a loop's schedule: when each op of its body is done, as data.
 *
 * A schedule is a table, a row for each op of the loop's body: op -> (stage, cluster, role). In
 * tile IR the rows are attributes of the ops, which print and parse like any other, and the number
 * of slices is one of what becomes a multi-buffer:
 *
 *     %a = buffer_alloc slices=4 stage=0 cluster=1
 *     %t = async_copy %ptrs, %a, %true stage=0 cluster=1
 *     %g = async_commit %t stage=0 cluster=1
 *     async_wait %g stage=2 cluster=0
 *     barrier stage=2 cluster=0
 *     %d = dot %a, %b, %acc async=1 stage=2 cluster=2
 *     %w = dot_wait %d stage=3 cluster=3
 *
 * The ops are written as one iteration does them, one after the other: without its attributes the
 * loop means the same. Iteration i begins at time i, and does an op of stage s at time i + s; what
 * is done at one time, by as many iterations as there are stages, is one turn of the loop that is
 * made of it, in the order of clusters, and within a cluster as it is written.
 *
 * The last stage is that of most ops: a turn of the new loop is the iteration that is there. What
 * is in an earlier stage runs ahead, maybe for an iteration that does not exist: it copies and
 * loads, or has no effect. Only waits for dots may be one stage later: an iteration's dots are
 * still in flight then when the next begins.
 *
 * role: the warps that do the op: 0 are all that run the loop, and there are no others.
 *
 * schedule.c decides, a tuner or a person may have; schedule_check.c says what is wrong with it;
 * expand_pipeline.c makes the pipelined loop, and knows of stages, clusters and what ops need of
 * each other alone. */
#ifndef TILE_PASSES_SCHEDULE_H
#define TILE_PASSES_SCHEDULE_H

#include "passes/pass.h"

typedef struct ScheduleRow {
    Op *op;
    int stage, cluster, role;
    int time; /* its place among all that is done in a turn */
} ScheduleRow;

typedef struct Schedule {
    Op *loop;
    ScheduleRow *row; /* as the body is written, without the yield */
    int n;
    int *order;      /* rows by their time */
    int last;        /* the last stage, but of waits for dots */
    uint32_t values; /* ids below this are in `by_value` */
    int *by_value;   /* the row that a value of the body comes from, + 1; 0: it comes from none */
} Schedule;

/* The loop has one: some op of its body has a stage. */
bool loop_is_scheduled(const Op *loop);
/* Reads it. An op without a stage is done with the first that needs it; without such a one, with
 * the last stage. */
Schedule schedule_of(PassCtx *ctx, Op *loop);
void schedule_set(PassCtx *ctx, Op *op, int stage, int cluster);
/* Takes it off what is in the loop no more. */
void schedule_clear(Op *op);
/* The row of what v is the result of, in the body itself; NULL: it comes from elsewhere. */
const ScheduleRow *schedule_row(const Schedule *t, const Value *v);
/* The number of the carried value that v is as the body's argument; -1: none. */
int schedule_carried(const Schedule *t, const Value *v);
/* What the loop carries on for that number. */
Value *schedule_next(const Schedule *t, int carried);
/* What a use takes instead of `awaited`, which a wait for a dot makes: where it is a dot's sum,
 * that dot's result, for dots are done in order, and the wait is behind the last stage; else NULL.
 */
Value *schedule_in_flight(const Schedule *t, const ScheduleRow *user, const Use *u, Value *awaited);
/* The op starts a dot that goes on beside what follows. */
static inline bool op_is_async_dot(const Op *op) {
    return op->code == OP_DOT && ir_attr_int(op, AT_ASYNC, 0);
}
/* The number of the value that the dot's loop carries as its sum, which nobody looks at within the
 * loop; -1: it does more. */
int dot_chained(const Op *dot);
/* Some dot takes v, maybe with its dimensions moved, as operand i; -1: as any. */
bool feeds_dot(const Value *v, int i);
/* Nothing is broken by it; else false, after a diagnostic that says which op needs which. */
bool schedule_check(PassCtx *ctx, const Schedule *t);

#endif
