/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* schedule_table.c: attributes of a loop's ops <-> its schedule's table (see schedule.h). */
#include "passes/schedule.h"

#include <stdlib.h>

bool loop_is_scheduled(const Op *loop) {
    if (loop->code != OP_FOR) return false;
    for (const Op *op = loop->region[0]->first; op; op = op->next)
        if (ir_attr(op, AT_STAGE)) return true;
    return false;
}

void schedule_set(PassCtx *ctx, Op *op, int stage, int cluster) {
    ir_set_attr(ctx->s, op, AT_STAGE, stage);
    ir_set_attr(ctx->s, op, AT_CLUSTER, cluster);
}

void schedule_clear(Op *op) {
    ir_drop_attr(op, AT_STAGE);
    ir_drop_attr(op, AT_CLUSTER);
    ir_drop_attr(op, AT_ROLE);
}

const ScheduleRow *schedule_row(const Schedule *t, const Value *v) {
    int i = v->id < t->values ? t->by_value[v->id] : 0;
    return i ? &t->row[i - 1] : NULL;
}

int schedule_carried(const Schedule *t, const Value *v) {
    return v->block == t->loop->region[0] && v->index > 0 ? v->index - 1 : -1;
}

Value *schedule_next(const Schedule *t, int carried) {
    return t->loop->region[0]->last->operand[carried].value;
}

Value *schedule_in_flight(const Schedule *t, const ScheduleRow *user, const Use *u,
                          Value *awaited) {
    bool sum = op_is_async_dot(user->op) && u == &user->op->operand[2];
    if (!sum || !op_is(awaited, OP_DOT_WAIT)) return NULL;
    Value *v = awaited->def->operand[0].value;
    const ScheduleRow *wait = schedule_row(t, awaited), *dot = schedule_row(t, v);
    return wait && wait->stage > t->last && dot && op_is_async_dot(v->def) ? v : NULL;
}

/* The row in whose op, or in what that is made of, the use is. */
static ScheduleRow *user_of(const Schedule *t, const Use *u) {
    const Op *op = u->op;
    while (op->block != t->loop->region[0]) op = op->block->parent;
    for (int i = 0; i < t->n; i++)
        if (t->row[i].op == op) return &t->row[i];
    return NULL;
}

static bool earlier(const ScheduleRow *a, const ScheduleRow *b) {
    return a->stage != b->stage ? a->stage < b->stage : a->cluster < b->cluster;
}

/* Rows that have no place yet, whose users have: from the end of the body on. */
static void place_others(Schedule *t) {
    for (int i = t->n - 1; i >= 0; i--) {
        ScheduleRow *row = &t->row[i], *first = NULL;
        if (row->stage >= 0) continue;
        for (int k = 0; k < row->op->nresults; k++)
            for (const Use *u = row->op->result[k]->uses; u; u = u->next) {
                ScheduleRow *user = user_of(t, u);
                if (user && (!first || earlier(user, first))) first = user;
            }
        row->stage = first ? first->stage : t->last;
        if (first) row->cluster = first->cluster;
        for (int k = 0; k < t->n && !first; k++)
            if (t->row[k].stage == t->last && t->row[k].cluster > row->cluster)
                row->cluster = t->row[k].cluster;
    }
}

static int by_cluster(const void *a, const void *b) {
    const ScheduleRow *x = *(ScheduleRow *const *)a, *y = *(ScheduleRow *const *)b;
    if (x->cluster != y->cluster) return x->cluster < y->cluster ? -1 : 1;
    return x < y ? -1 : x > y;
}

Schedule schedule_of(PassCtx *ctx, Op *loop) {
    Arena *a = &ctx->s->arena;
    Block *body = loop->region[0];
    Schedule t = {.loop = loop, .values = ctx->f->nvalues};
    for (const Op *op = body->first; op != body->last; op = op->next) t.n++;
    t.row = arena_array(a, (size_t)t.n, sizeof *t.row);
    t.order = arena_array(a, (size_t)t.n, sizeof *t.order);
    t.by_value = arena_array(a, t.values, sizeof *t.by_value);
    int i = 0;
    for (Op *op = body->first; op != body->last; op = op->next, i++) {
        t.row[i] = (ScheduleRow){.op = op,
                                 .stage = (int)ir_attr_int(op, AT_STAGE, -1),
                                 .cluster = (int)ir_attr_int(op, AT_CLUSTER, 0),
                                 .role = (int)ir_attr_int(op, AT_ROLE, 0)};
        bool turns = op->code != OP_DOT_WAIT && op->code != OP_BUFFER_ALLOC;
        if (turns && t.row[i].stage > t.last) t.last = t.row[i].stage;
        for (int k = 0; k < op->nresults; k++) t.by_value[op->result[k]->id] = i + 1;
    }
    place_others(&t);
    ScheduleRow **sorted = arena_array(a, (size_t)t.n, sizeof *sorted);
    for (i = 0; i < t.n; i++) sorted[i] = &t.row[i];
    qsort(sorted, (size_t)t.n, sizeof *sorted, by_cluster);
    for (i = 0; i < t.n; i++) {
        sorted[i]->time = i;
        t.order[i] = (int)(sorted[i] - t.row);
    }
    return t;
}
