/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* schedule_check.c: is a loop's schedule sound?
 *
 * What an op does in iteration i it does at time i + stage, and of what is done at one time in the
 * order of clusters. So of two ops it is known which comes first, for each distance between their
 * iterations. A value is there before it is used. A buffer is read when its copies have been waited
 * for and a barrier has told all warps; its slice is overwritten as many iterations later as there
 * are slices, when its readers are done, for a dot: when it has been waited for, and a barrier has
 * told all warps of that. */
#include "ir/analysis/alias.h"
#include "ir/buffer.h"
#include "ir/effects.h"
#include "passes/schedule.h"
#include "passes/walk.h"

#define NO_FENCE "reads a buffer behind the threads' back: there is no fence between"

typedef struct Check {
    PassCtx *ctx;
    const Schedule *t;
    bool failed;
} Check;

static const char *name_of(const ScheduleRow *r) {
    return op_info[r->op->code].text;
}

static void refuse(Check *c, const ScheduleRow *r, const ScheduleRow *other, const char *why) {
    Diags *d = &c->ctx->s->diags;
    if (c->failed) return;
    c->failed = true;
    diag(d, E_SCHEDULE, r->op->span, "schedule: '%s' of stage %d, cluster %d %s", name_of(r),
         r->stage, r->cluster, why);
    if (other)
        diag(d, CODE_NONE, other->op->span, "'%s' is of stage %d, cluster %d", name_of(other),
             other->stage, other->cluster);
}

/* a, `later` iterations after b's, comes after b. */
static bool comes_after(const ScheduleRow *a, const ScheduleRow *b, int later) {
    int turns = a->stage + later - b->stage;
    return turns > 0 || (turns == 0 && a->time > b->time);
}

/* Some barrier is between a and b, which is `later` iterations after it; in the prologue, too,
 * where barriers are that are of its stages. */
static bool barrier_between(const Check *c, const ScheduleRow *a, const ScheduleRow *b, int later) {
    int from = a->stage, to = b->stage + later;
    for (int i = 0; i < c->t->n; i++) {
        const ScheduleRow *x = &c->t->row[i];
        if (x->op->code != OP_BARRIER) continue;
        int first = x->time > a->time ? from : from + 1, last = x->time < b->time ? to : to - 1;
        if (first < x->stage) first = x->stage;
        if (first <= last) return true;
    }
    return false;
}

/* ---- values ---- */

static const char *needs(Check *c, const Value *v, const ScheduleRow *def, bool before) {
    const char *name = v->name ? v->name : "a value";
    return arena_printf(&c->ctx->s->arena, "needs %s, which '%s' has not made yet%s", name,
                        name_of(def), before ? " in the iteration before" : "");
}

static void check_use(Check *c, const ScheduleRow *user, const Use *u) {
    Value *v = u->value;
    int carried = schedule_carried(c->t, v);
    if (carried >= 0) v = schedule_next(c->t, carried);
    const ScheduleRow *def = schedule_row(c->t, v);
    bool buffer = def && def->op->code == OP_BUFFER_ALLOC;
    if (buffer && !ir_attr(def->op, AT_SLICES) && user->stage != def->stage)
        refuse(c, user, def, "is in another stage than its buffer, which is one slice");
    if (!def || (buffer && (user->stage != def->stage || user->time > def->time))) return;
    bool sums = op_is_async_dot(user->op) && u == &user->op->operand[2];
    if (op_is_async_dot(def->op) && !sums && user->op->code != OP_DOT_WAIT)
        refuse(c, user, def, "takes the result of an asynchronous dot that it does not wait for");
    if (comes_after(user, def, carried >= 0)) return;
    Value *sum = schedule_in_flight(c->t, user, u, v);
    const ScheduleRow *dot = sum ? schedule_row(c->t, sum) : NULL;
    if (!dot || !comes_after(user, dot, carried >= 0))
        refuse(c, user, def, needs(c, u->value, def, carried >= 0));
}

static void check_uses(Check *c, const ScheduleRow *user, const Op *op) {
    for (int i = 0; i < op->noperands; i++) check_use(c, user, &op->operand[i]);
    for (int r = 0; r < op->nregions; r++)
        for (const Op *x = op->region[r]->first; x; x = x->next) check_uses(c, user, x);
}

static unsigned effects_of(const Op *op) {
    unsigned all = ir_effects(op);
    for (int r = 0; r < op->nregions; r++)
        for (const Op *x = op->region[r]->first; x; x = x->next) all |= effects_of(x);
    return all;
}

/* May the op, or one inside it, change what is read, or wait until another program has? */
static bool may_change(const Op *op, const Op *read) {
    const Op *end = op_after(op);
    for (const Op *x = op; x != end; x = op_next(x))
        if (!alias_may_pass(read, x)) return true;
    return false;
}

/* No store of the loop may change what the op reads iterations early. */
static bool reads_what_is_written(const Check *c, const ScheduleRow *r) {
    if (!(effects_of(r->op) & EFFECT_READS_GLOBAL)) return false;
    for (int i = 0; i < c->t->n; i++)
        if (may_change(c->t->row[i].op, r->op)) return true;
    return false;
}

/* Under how many numbers the loop carries the dot's result on, in flight at the end of a turn. */
static int times_carried(const Check *c, const Value *dot) {
    int times = 0;
    for (int i = 0; i < c->t->loop->nresults; i++) {
        const Value *next = schedule_next(c->t, i);
        const ScheduleRow *r = schedule_row(c->t, next);
        times += next == dot || (r && r->stage > c->t->last && r->op->operand[0].value == dot);
    }
    return times;
}

/* A wait behind the last stage is for dots of that stage, whose results the loop carries on: in the
 * first turn it waits for what is carried in. */
static void check_deferred(Check *c, const ScheduleRow *r) {
    for (int i = 0; i < r->op->noperands; i++) {
        const Value *dot = r->op->operand[i].value;
        const ScheduleRow *def = schedule_row(c->t, dot);
        if (r->stage > c->t->last + 1 || !def || def->stage != c->t->last ||
            times_carried(c, dot) != 1)
            refuse(c, r, def,
                   "is behind the last stage by more than one, or not for a dot of that stage "
                   "whose result the loop carries on once");
    }
}

static bool tells_others(const Op *op) {
    const Op *end = op_after(op);
    for (const Op *x = op; x != end; x = op_next(x))
        if (op_orders(x)) return true;
    return false;
}

/* Who is told may write over what this iteration reads: it has come by then. */
static void check_told(Check *c, const ScheduleRow *r) {
    if (!tells_others(r->op)) return;
    for (int i = 0; i < c->t->n; i++) {
        const ScheduleRow *wait = &c->t->row[i];
        bool copies = wait->op->code == OP_ASYNC_WAIT && !ir_attr(wait->op, AT_STORES);
        if (copies && !comes_after(r, wait, 0))
            refuse(c, r, wait, "tells others before the iteration's copies have been waited for");
    }
}

/* What runs ahead does so for iterations that do not exist, too. */
static void check_ahead(Check *c, const ScheduleRow *r) {
    const Op *op = r->op;
    bool waits = op->code == OP_ASYNC_WAIT || op->code == OP_ASYNC_COMMIT ||
                 op->code == OP_ASYNC_FENCE || op->code == OP_BARRIER || op->code == OP_DOT_WAIT;
    bool guarded = op->code == OP_LOAD || op_is_async_copy(op);
    unsigned effects = effects_of(op) & ~(unsigned)EFFECT_READS_SHARED;
    if (r->stage > c->t->last) check_deferred(c, r);
    if (r->stage >= c->t->last || waits || op->code == OP_BUFFER_ALLOC) return;
    if (op->code == OP_SHARED_STORE) effects &= ~(unsigned)EFFECT_WRITES_SHARED;
    if (effects && !guarded)
        refuse(c, r, NULL, "can be in the last stage alone: it does more than its results");
    else if (reads_what_is_written(c, r))
        refuse(c, r, NULL,
               "can be in the last stage alone: the loop writes memory that it may read");
}

/* ---- buffers ---- */

/* The wait that ends what `from` started: a copy, by its token or that of its group; a dot, by its
 * result. NULL: none does. */
static const ScheduleRow *wait_of(const Check *c, const Value *from) {
    const ScheduleRow *first = NULL;
    for (const Use *u = from->uses; u; u = u->next) {
        if (u->op->block != c->t->loop->region[0]) continue;
        const ScheduleRow *r = NULL;
        for (int i = 0; i < c->t->n && !r; i++)
            if (c->t->row[i].op == u->op) r = &c->t->row[i];
        if (r && u->op->code == OP_ASYNC_COMMIT) r = wait_of(c, u->op->result[0]);
        if (!r || (r->op->code != OP_ASYNC_WAIT && r->op->code != OP_DOT_WAIT)) continue;
        if (!first || comes_after(first, r, 0)) first = r;
    }
    return first;
}

/* Between what the threads have written and the barrier, a fence makes it seen by the units that
 * read for warpgroups' dots. */
static bool fence_between(const Check *c, const ScheduleRow *landed, const ScheduleRow *read,
                          bool barrier) {
    for (int i = 0; i < c->t->n; i++) {
        const ScheduleRow *x = &c->t->row[i];
        if (x->op->code == OP_ASYNC_FENCE && comes_after(x, landed, 0) &&
            (barrier ? barrier_between(c, x, read, 0) : comes_after(read, x, 0)))
            return true;
    }
    return false;
}

/* It reads a buffer until it has been waited for. */
static bool reads_behind(const Op *op) {
    return op_is_async_dot(op) || op_is_async_store(op);
}

/* A write of a buffer, and a read of it in the same iteration. */
static void check_pair(Check *c, const ScheduleRow *write, const ScheduleRow *read, int slices) {
    Arena *a = &c->ctx->s->arena;
    const ScheduleRow *landed = write, *done = read;
    bool engine = write->op->code == OP_ASYNC_DESC_LOAD; /* who waits sees all that it brings */
    if (op_is_async_copy(write->op) && !(landed = wait_of(c, write->op->result[0]))) {
        refuse(c, read, write, "reads what a copy writes that nothing waits for");
        return;
    }
    if (reads_behind(read->op) && !(done = wait_of(c, read->op->result[0]))) {
        refuse(c, read, NULL, "is asynchronous, and nothing waits for it");
        return;
    }
    if (!comes_after(read, landed, 0) || (landed != write && !comes_after(landed, write, 0)))
        refuse(c, read, landed == write ? write : landed,
               landed == write ? "reads a buffer before it is written"
                               : "reads a buffer before its copies have been waited for");
    else if (!engine && !barrier_between(c, landed, read, 0))
        refuse(c, read, landed,
               "reads a buffer that other warps may not have written yet: there "
               "is no barrier between");
    else if (!engine && ir_attr(read->op, AT_WGMMA) && !fence_between(c, landed, read, true))
        refuse(c, read, landed, NO_FENCE);
    else if (!comes_after(write, done, slices)) {
        int enough = slices;
        while (!comes_after(write, done, enough)) enough++;
        refuse(c, write, done,
               arena_printf(a,
                            "overwrites a slice before its reader is done: that takes %d slices, "
                            "not %d",
                            enough, slices));
    }
    if (!c->failed && !barrier_between(c, done, write, slices))
        refuse(c, write, done,
               "overwrites a slice that other warps may still read: there is no "
               "barrier between");
}

/* The same of a buffer that is one slice: its barriers are the pass barrier's to put, where the
 * reader is. */
static void check_single(Check *c, const ScheduleRow *write, const ScheduleRow *read) {
    const ScheduleRow *done = reads_behind(read->op) ? wait_of(c, read->op->result[0]) : read;
    const ScheduleRow *first = write < read ? write : read, *second = write < read ? read : write;
    if (!comes_after(second, first, 0))
        refuse(c, second, first, "uses a buffer before what is written above it does");
    else if (write < read && ir_attr(read->op, AT_WGMMA) && !fence_between(c, write, read, false))
        refuse(c, read, write, NO_FENCE);
    else if (!done || !comes_after(write, done, 1))
        refuse(c, write, done ? done : read, "overwrites a buffer before its reader is done");
}

static void check_buffer(Check *c, const ScheduleRow *alloc) {
    const Value *buffer = alloc->op->result[0];
    int slices = (int)ir_attr_int(alloc->op, AT_SLICES, 0);
    if (alloc->stage > c->t->last)
        refuse(c, alloc, NULL, "is behind the last stage, and so used by nothing");
    for (int i = 0; i < c->t->n; i++)
        for (int k = 0; k < c->t->n; k++) {
            const ScheduleRow *write = &c->t->row[i], *read = &c->t->row[k];
            bool writes = false, reads = false;
            for (int o = 0; o < write->op->noperands; o++)
                writes |= write->op->operand[o].value == buffer &&
                          (ir_operand_effects(write->op, o) & EFFECT_WRITES_SHARED);
            if (!writes) break;
            for (int o = 0; o < read->op->noperands; o++)
                reads |= buffer_of_view(read->op->operand[o].value) == buffer &&
                         (ir_operand_effects(read->op, o) & EFFECT_READS_SHARED);
            if (reads && slices) check_pair(c, write, read, slices);
            if (reads && !slices && read != write) check_single(c, write, read);
        }
}

bool schedule_check(PassCtx *ctx, const Schedule *t) {
    Check c = {.ctx = ctx, .t = t};
    for (int i = 0; i < t->n; i++) {
        const ScheduleRow *r = &t->row[i];
        if (r->op->code == OP_BUFFER_ALLOC) continue;
        check_uses(&c, r, r->op);
        check_ahead(&c, r);
        check_told(&c, r);
    }
    for (int i = 0; i < t->n; i++)
        if (t->row[i].op->code == OP_BUFFER_ALLOC) check_buffer(&c, &t->row[i]);
    return !c.failed;
}
