/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* atomic.c: the steps of atomics: lane by lane, each one a read, a combination and a write
 * that no other program comes between.
 *
 * Convention: lanes go in row-major order, so the old values of several lanes at one address are
 * one order of the many a GPU may take. What combines is the loop of the plain operation, run on
 * one lane.
 * The one idea: an operation that leaves memory as it was (a compare that fails, a flag set again)
 * does not count as a write, which is how a spin is told from work. A poll that has not seen what
 * it waits for sets its program aside and is done again when memory has changed.
 * Memory that other launches write, too, is changed by the processor's own compare and swap; where
 * another came first, the lane is done again. */
#include "base/whole.h"
#include "ir/interp/machine.h"

#include <string.h>

/* The element that an atomic works on: NULL to skip it. Old is its value before. */
typedef struct Cell {
    uint8_t *at;
    const InterpBuffer *b;
    uint64_t old;
    bool lost; /* another launch has changed it since */
} Cell;

static uint16_t taint_at(const Tile *t, int64_t lane) {
    return t->tainted ? t->taint[lane] : 0;
}

static bool is_written(const Access *a, const Cell *c) {
    return !c->b->written || !run_checks(a->r, CHECK_UNINIT) ||
           !memchr(c->b->written + (c->at - c->b->base), 0, a->size);
}

static bool check_value(const Access *a, const Tile *value, int64_t i) {
    uint16_t taint = taint_at(value, i);
    return taint < ORIGIN_UNINIT || report_taint(a->r, a->p, a->st, USED_STORED, taint, a->type, i);
}

static bool unwritten(const Access *a, int64_t i, TaintUse use) {
    return report_taint(a->r, a->p, a->st, use, run_origin(a->r, a->st->op, ORIGIN_UNWRITTEN),
                        a->type, i);
}

static void put(const Access *a, Cell *c, const void *bits) {
    uint8_t *written = c->b->written ? c->b->written + (c->at - c->b->base) : NULL;
    c->lost = c->b->foreign && !whole_swap(c->at, &c->old, bits, a->size);
    if (c->lost) return;
    if (memcmp(&c->old, bits, a->size) != 0) {
        a->p->writes++;
        a->r->changes++;
    }
    if (!c->b->foreign) memcpy(c->at, bits, a->size);
    /* Others may look at it. */
    if (written && memchr(written, 0, a->size)) memset(written, 1, a->size);
}

static bool combine(const Access *a, const AtomicPlan *plan, Cell *c, int64_t i) {
    const uint8_t *value = a->value->data + (size_t)i * a->size;
    if (!check_value(a, a->value, i)) return false;
    if (plan->exchange) {
        put(a, c, value);
        return true;
    }
    if (!is_written(a, c)) return unwritten(a, i, USED_STORED);
    uint64_t result = 0, operand = 0;
    memcpy(&operand, value, a->size);
    const void *src[3] = {&c->old, &operand, &operand};
    lane_op_run(&plan->lane, 2, &result, src, 1);
    put(a, c, &result);
    return true;
}

static bool compare_and_swap(const Access *a, Cell *c, int64_t i) {
    const Tile *expected = a->value, *next = &a->p->tile[a->st->src[2]];
    if (!is_written(a, c)) return unwritten(a, i, USED_COMPARED);
    if (!check_value(a, expected, i) || !check_value(a, next, i)) return false;
    if (memcmp(&c->old, expected->data + (size_t)i * a->size, a->size) == 0)
        put(a, c, next->data + (size_t)i * a->size);
    return true;
}

/* Where old values go; NULL: there are none. */
static Tile *old_values(const Access *a) {
    if (a->old) return a->old;
    return a->st->ndst ? &a->p->tile[a->st->dst[0]] : NULL;
}

static bool change(const Access *a, const AtomicPlan *plan, Cell *c, int64_t i) {
    switch (a->st->op->code) {
    case OP_ATOMIC_LOAD: return true;
    case OP_ATOMIC_CAS: return compare_and_swap(a, c, i);
    default: return combine(a, plan, c, i);
    }
}

static bool one_lane(const Access *a, const AtomicPlan *plan, const InterpBuffer *b, uint8_t *at,
                     int64_t i) {
    Tile *d = old_values(a);
    int buffer = (int)(b - a->r->launch->buffer);
    uint64_t offset = (uint64_t)(at - b->base);
    Cell c = {.at = at, .b = b};
    if (plan->acquire) races_acquire(a, buffer, offset);
    if (!races_access(a, buffer, offset, a->size, RACE_ATOMIC)) return false;
    bool known;
    do {
        c.lost = false;
        whole_read(&c.old, at, a->size);
        known = is_written(a, &c);
        if (!change(a, plan, &c, i)) return false;
    } while (c.lost);
    if (d) memcpy(d->data + (size_t)i * a->size, &c.old, a->size);
    if (d && d->tainted) d->taint[i] = 0;
    if (!known && d && !a->old) access_mark(a, i, 1, ORIGIN_UNWRITTEN);
    if (plan->release) races_release(a, buffer, offset);
    return true;
}

bool access_atomic(const Access *a, const AtomicPlan *plan) {
    Tile *d = old_values(a);
    const InterpBuffer *b = NULL;
    uint8_t *at = NULL;
    int64_t done = 0;
    if (d) {
        a->p->last_read = a->st->op;
        a->p->reads++;
        a->p->polls++;
        d->tainted = false;
        memset(d->data, 0, (size_t)a->lanes * a->size);
    }
    for (int64_t i = 0, n;; i += n) {
        if (!access_next_run(a, &i, 1, &n, &b, &at)) return false;
        if (i > done && d && !a->old && run_checks(a->r, CHECK_UNINIT))
            access_mark(a, done, i - done, ORIGIN_MASKED_OFF);
        if (n == 0) break;
        done = i + 1;
        if (b && b->foreign && d) a->p->foreign_reads++;
        if (b && !one_lane(a, plan, b, at, i)) return false;
    }
    if (plan->release) races_released(a);
    return true;
}

bool step_atomic(Run *r, Program *p, const Step *st) {
    Access a = access_of(r, p, st, 2);
    return access_atomic(&a, st->detail);
}

bool step_atomic_load(Run *r, Program *p, const Step *st) {
    Access a = access_of(r, p, st, 1);
    return access_atomic(&a, st->detail);
}

bool step_atomic_cas(Run *r, Program *p, const Step *st) {
    Access a = access_of(r, p, st, 3); /* it has no mask */
    return access_atomic(&a, st->detail);
}

/* ---- polls ---- */

/* Reads one element that has not been seen as it is waited for. */
static bool poll_lane(const Access *a, const AtomicPlan *plan, const InterpBuffer *b, uint8_t *at,
                      int64_t i, uint8_t *seen) {
    int buffer = (int)(b - a->r->launch->buffer);
    uint64_t offset = (uint64_t)(at - b->base);
    Cell c = {.at = at, .b = b};
    whole_read(&c.old, at, a->size);
    *seen = memcmp(&c.old, a->value->data + (size_t)i * a->size, a->size) == 0;
    if (*seen && plan->acquire) races_acquire(a, buffer, offset);
    if (!races_access(a, buffer, offset, a->size, RACE_ATOMIC)) return false;
    /* Nothing that lies in a workspace before the launch is its mark. */
    bool compares = (uint64_t)(uintptr_t)b->base == a->r->launch->workspace;
    return compares || is_written(a, &c) ? check_value(a, a->value, i)
                                         : unwritten(a, i, USED_COMPARED);
}

/* What the first element says holds for all; a program's time passes when nothing else can happen
 * (sched.c). */
static uint64_t deadline_of(const Run *r, const Access *a) {
    if (a->st->nsrc < 3) return UINT64_MAX;
    uint64_t timeout = (uint64_t)first_lane(&a->p->tile[a->st->src[2]], EL_U64);
    return timeout > UINT64_MAX - r->now ? UINT64_MAX : r->now + timeout;
}

/* One turn: each element that is still waited for is read. The step is done again until all have
 * been seen or time is up; between two turns others go on. */
bool step_atomic_poll(Run *r, Program *p, const Step *st) {
    Access a = access_of(r, p, st, 3);
    Tile *d = &p->tile[st->dst[0]];
    Counter *c = &p->counter[st->loop];
    const InterpBuffer *b = NULL;
    uint8_t *at = NULL;
    bool all = true, foreign = false;
    if (!c->at) {
        c->at = 1;
        c->deadline = deadline_of(r, &a);
        d->tainted = false;
        memset(d->data, 0, (size_t)a.lanes);
    }
    p->last_read = st->op;
    p->reads++;
    p->polls++;
    for (int64_t i = 0, n;; i += n) {
        if (!access_next_run(&a, &i, 1, &n, &b, &at)) return false;
        if (n == 0) break;
        foreign |= b && b->foreign;
        if (!d->data[i] && b && !poll_lane(&a, st->detail, b, at, i, &d->data[i])) return false;
        all &= d->data[i];
    }
    if (all || c->deadline <= r->now) {
        c->at = 0;
        return true;
    }
    if (p->deadline > c->deadline) p->deadline = c->deadline;
    p->at--;
    p->state = PROGRAM_WAITS;
    p->foreign = foreign;
    p->seen_changes = r->changes;
    return true;
}
