/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* async.c: copies and dots that run behind the program: slices, groups, waits.
 *
 * A copy lands as late as it may: its bytes move when a wait asks for its group, and until then
 * they are under way, so that a read of them, or a write over them, is found, and a write over what
 * is copied. What an asynchronous dot reads is busy until a wait for it. So a pipelined program is
 * checked without a GPU. */
#include "ir/interp/machine.h"

#include <string.h>

struct AsyncCopy { /* under way, or free for the next */
    AsyncCopy *next;
    const Step *st;
    int64_t base;   /* of the slice */
    uint64_t group; /* how many commits came before it */
    int64_t lanes, room, room_bytes;
    uint64_t *address;
    uint8_t *active, *source; /* source: what was to be copied when it was started */
};

/* The first byte of the buffer as operand i of this step names it. */
int64_t shared_base(const Program *p, const Step *st, const SharedBuffer *b, int i) {
    if (b->slices < 2) return b->at;
    int64_t n = first_lane(&p->tile[st->src[i]], EL_I32);
    return b->at + (n < 0 || n >= b->slices ? 0 : n) * b->stride;
}

bool step_alone(Run *r, Program *p, const Step *st) {
    Tile *d = &p->tile[st->dst[0]];
    d->data[0] = r->launch->alone;
    d->tainted = false;
    return true;
}

bool step_buffer_slice(Run *r, Program *p, const Step *st) {
    const SharedBuffer *b = st->detail;
    int32_t n = (int32_t)first_lane(&p->tile[st->src[1]], EL_I32);
    if (n < 0 || n >= b->slices)
        return report_shared(r, p, st, "no such slice of the buffer", b->at);
    memcpy(p->tile[st->dst[0]].data, &n, sizeof n);
    p->tile[st->dst[0]].tainted = false;
    return true;
}

static AsyncCopy *new_copy(Run *r, int64_t lanes, int64_t bytes) {
    for (AsyncCopy **at = &r->free_copies; *at; at = &(*at)->next)
        if ((*at)->room >= lanes && (*at)->room_bytes >= bytes) {
            AsyncCopy *c = *at;
            *at = c->next;
            return c;
        }
    AsyncCopy *c = arena_alloc(&r->s->arena, sizeof *c);
    c->room = lanes;
    c->address = arena_array(&r->s->arena, (size_t)lanes, sizeof *c->address);
    c->active = arena_alloc(&r->s->arena, (size_t)lanes);
    c->room_bytes = bytes;
    c->source = arena_alloc(&r->s->arena, (size_t)bytes);
    return c;
}

AsyncCopy *async_copy_free(Run *r, AsyncCopy *c) {
    AsyncCopy *next = c->next;
    c->next = r->free_copies;
    r->free_copies = c;
    return next;
}

static bool is_busy(const Program *p, int64_t from, int64_t to) {
    for (int i = 0; i < p->nbusy; i++)
        if (p->busy[i].from < to && from < p->busy[i].to) return true;
    return false;
}

/* Nothing may be in the way when the copy's bytes come, which may be at once. */
static bool claim(Run *r, Program *p, const Step *st, const SharedBuffer *b, int64_t base) {
    int64_t bytes = b->bytes;
    if (!run_checks(r, CHECK_RACES)) return true;
    if (is_busy(p, base, base + bytes))
        return report_shared(r, p, st, "overwritten while a dot may read it", base);
    for (int64_t i = base; i < base + bytes; i++) {
        if (p->shared_state[i] & SHARED_READ)
            return report_shared(r, p, st, "missing barrier: overwritten since read without one",
                                 i);
        if (p->shared_state[i] & (SHARED_WRITTEN | SHARED_COMING))
            return report_shared(r, p, st, "overwritten before it was read", i);
        p->shared_state[i] |= SHARED_COMING;
    }
    return true;
}

static bool start_copy(Run *r, Program *p, const Step *st) {
    if (!first_lane(&p->tile[st->src[2]], EL_I1)) return true;
    Access a = access_of(r, p, st, 3);
    const SharedBuffer *b = st->detail;
    const InterpBuffer *from = NULL;
    uint8_t *at = NULL;
    AsyncCopy *c = new_copy(r, a.lanes, a.lanes * (int64_t)a.size);
    for (int64_t i = 0, n = 1; n; i += n) {
        if (!access_next_run(&a, &i, a.lanes, &n, &from, &at)) return false;
        if (from) memcpy(c->source + (size_t)i * a.size, at, (size_t)n * a.size);
    }
    c->st = st;
    c->base = shared_base(p, st, b, 1);
    c->group = p->copy_groups;
    c->lanes = a.lanes;
    memcpy(c->address, a.address->data, (size_t)a.lanes * sizeof *c->address);
    if (a.mask)
        memcpy(c->active, a.mask->data, (size_t)a.lanes);
    else
        memset(c->active, 1, (size_t)a.lanes);
    AsyncCopy **last = &p->copies;
    while (*last) last = &(*last)->next;
    c->next = NULL;
    *last = c;
    return claim(r, p, st, b, c->base);
}

/* A token is the number of its group, from 1; 0: of what is done. */
static void give_token(Program *p, const Step *st, uint64_t group) {
    Tile *d = &p->tile[st->dst[0]];
    memcpy(d->data, &group, sizeof group);
    d->tainted = false;
}

bool step_async_copy(Run *r, Program *p, const Step *st) {
    give_token(p, st, p->copy_groups + 1);
    return start_copy(r, p, st);
}

bool step_token_done(Run *r, Program *p, const Step *st) {
    (void)r;
    give_token(p, st, 0);
    return true;
}

/* A copy reads memory at any time between its start and the wait for it. */
static bool report_changed(Run *r, const Program *p, const Step *st) {
    diag(&r->s->diags, DIAG_ERROR, st->op->span,
         "what this copy reads was written between its start and the wait for it, in %s",
         report_program(r, p));
    return false;
}

static bool land(Run *r, Program *p, const AsyncCopy *c) {
    const SharedBuffer *b = c->st->detail;
    Access a = access_of(r, p, c->st, 3);
    Tile address = {.data = (uint8_t *)c->address}, mask = {.data = c->active};
    a.address = &address;
    a.mask = &mask;
    for (int64_t e = 0; e < c->lanes; e++) { /* what no lane brings is zero */
        int64_t to = c->base + (b->offset_of ? b->offset_of[e] : e) * (int64_t)a.size;
        memset(p->shared + to, 0, a.size);
        memset(p->shared_state + to, SHARED_WRITTEN, a.size);
        for (size_t k = 0; k < a.size; k++) p->shared_owner[to + (int64_t)k] = b->number;
    }
    const InterpBuffer *from = NULL;
    uint8_t *at = NULL;
    p->reads++;
    for (int64_t i = 0, n;; i += n) {
        if (!access_next_run(&a, &i, a.lanes, &n, &from, &at)) return false;
        if (n == 0) return true;
        if (!from) continue;
        if (run_checks(r, CHECK_RACES) &&
            memcmp(c->source + (size_t)i * a.size, at, (size_t)n * a.size) != 0)
            return report_changed(r, p, c->st);
        uint64_t first = (uint64_t)(at - from->base);
        if (!races_access(&a, (int)(from - r->launch->buffer), first, (uint64_t)n * a.size,
                          RACE_READ))
            return false;
        for (int64_t e = i; e < i + n; e++) {
            int64_t to = c->base + (b->offset_of ? b->offset_of[e] : e) * (int64_t)a.size;
            memcpy(p->shared + to, at + (size_t)(e - i) * a.size, a.size);
        }
    }
}

bool step_async_commit(Run *r, Program *p, const Step *st) {
    (void)r;
    give_token(p, st, ++p->copy_groups);
    return true;
}

/* The newest group that the wait's tokens name. */
static uint64_t awaited_group(const Program *p, const Step *st) {
    uint64_t newest = 0;
    for (int i = 0; i < st->nsrc; i++) {
        uint64_t group;
        memcpy(&group, p->tile[st->src[i]].data, sizeof group);
        if (group > newest) newest = group;
    }
    return newest;
}

bool step_async_wait(Run *r, Program *p, const Step *st) {
    uint64_t awaited = awaited_group(p, st), until = awaited;
    if (ir_attr(st->op, AT_PENDING)) { /* as many as counted, which has to be enough */
        bool alone = ir_attr(st->op, AT_ALONE) && r->launch->alone;
        uint64_t pending = (uint64_t)ir_attr_int(st->op, alone ? AT_ALONE : AT_PENDING, 0);
        until = p->copy_groups < pending ? 0 : p->copy_groups - pending;
        if (awaited > until && run_checks(r, CHECK_RACES)) {
            diag(&r->s->diags, DIAG_ERROR, st->op->span,
                 "this wait lets %d groups of copies go on, the one that it is for among them, in "
                 "%s",
                 (int)pending, report_program(r, p));
            return false;
        }
    }
    while (p->copies && p->copies->group < until) {
        bool ok = land(r, p, p->copies);
        p->copies = async_copy_free(r, p->copies);
        if (!ok) return false;
    }
    return true;
}

void async_dot_reads(Program *p, int64_t from, int64_t bytes) {
    if (p->nbusy == MOST_BUSY) return; /* more dots than any pass leaves under way */
    p->busy[p->nbusy++] = (BusyBytes){from, from + bytes, p->dot_groups};
}

bool step_async_dot(Run *r, Program *p, const Step *st) {
    p->dot_groups++;
    return step_dot(r, p, st);
}

bool step_dot_wait(Run *r, Program *p, const Step *st) {
    uint64_t pending = (uint64_t)ir_attr_int(st->op, AT_PENDING, 0);
    int kept = 0;
    for (int i = 0; i < p->nbusy; i++) {
        BusyBytes x = p->busy[i];
        if (x.group + pending >= p->dot_groups)
            p->busy[kept++] = x;
        else /* other warps may not be as far: a barrier has to come before the bytes change */
            for (int64_t k = x.from; k < x.to; k++) p->shared_state[k] |= SHARED_READ;
    }
    p->nbusy = kept;
    return step_copy(r, p, st);
}

bool step_async_fence(Run *r, Program *p, const Step *st) {
    (void)r;
    (void)p;
    (void)st;
    return true;
}
