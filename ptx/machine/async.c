/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* async.c: groups: things on their way that a thread commits and waits for, and those that no
 * thread waits for but a barrier.
 *
 * Groups are a lane's: each counts its own commits, and what lanes started together may land for
 * some of them before it does for others. */
#include "ptx/machine/async.h"

#include "ptx/machine/barrier.h"
#include "ptx/machine/lanes.h"
#include "ptx/machine/race.h"

#include <string.h>

typedef struct Pending {
    VEC(Arrival) queue;
    int first;
} Pending;

void async_begin(Cta *cta) {
    Arena *a = cta->m->arena;
    if (!cta->pending) cta->pending = arena_alloc(a, sizeof(Pending));
    cta->pending->queue.n = cta->pending->first = 0;
    for (int i = 0; i < cta->nwarps; i++) {
        Warp *w = &cta->warp[i];
        if (!w->async) w->async = arena_alloc(a, sizeof *w->async);
        for (int k = 0; k < GROUP_KINDS; k++) {
            w->async->kind[k].going.n = 0;
            memset(w->async->kind[k].committed, 0, sizeof w->async->kind[k].committed);
        }
        memset(w->async->waits_for, 0, sizeof w->async->waits_for);
    }
    barriers_begin(cta);
    race_begin(cta);
}

static const Agent agent_of_group[] = {
    [GROUP_COPY] = AGENT_COPY, [GROUP_BULK] = AGENT_BULK, [GROUP_MMA] = AGENT_MMA};

/* The first kind of thing decides for how much room there is. */
static void keep_spare(const Warp *w, Spare *spare, const Async *a) {
    if (!spare->bytes) spare->bytes = a->bytes;
    if (spare->bytes == a->bytes) vec_push(w->cta->m->arena, &spare->list, a->detail);
}

Async *async_start(Warp *w, const PtxCode *c, GroupKind kind, uint32_t mask, AsyncLand *land,
                   size_t detail) {
    Arena *arena = w->cta->m->arena;
    AsyncState *s = w->async;
    Async a = {.code = c, .land = land, .mask = mask, .bytes = detail, .since = w->cta->m->time};
    Spare *spare = &s->kind[kind].spare;
    memcpy(a.group, s->kind[kind].committed, sizeof a.group);
    bool again = spare->bytes == detail && spare->list.n;
    a.detail = again ? spare->list.at[--spare->list.n] : arena_alloc(arena, detail);
    vec_push(arena, &s->kind[kind].going, a);
    return &s->kind[kind].going.at[s->kind[kind].going.n - 1];
}

void async_commit(Warp *w, GroupKind kind, uint32_t mask) {
    EACH_LANE(mask, l) w->async->kind[kind].committed[l]++;
}

/* Which of its lanes are to land now. */
typedef uint32_t DueFn(const Warp *w, GroupKind kind, const Async *a, uint32_t mask, uint64_t when);

static uint32_t due_of_group(const Warp *w, GroupKind kind, const Async *a, uint32_t mask,
                             uint64_t left) {
    uint32_t due = 0;
    EACH_LANE(mask & a->mask, l)
    due |= (uint32_t)(a->group[l] + left < w->async->kind[kind].committed[l]) << l;
    return due;
}

static uint32_t due_of_time(const Warp *w, GroupKind kind, const Async *a, uint32_t mask,
                            uint64_t before) {
    (void)w, (void)kind;
    return a->since < before ? mask & a->mask : 0;
}

static bool land(Warp *w, GroupKind kind, uint32_t mask, DueFn *is_due, uint64_t when,
                 bool read_only) {
    AsyncState *s = w->async;
    int kept = 0, n = s->kind[kind].going.n;
    bool ok = true;
    for (int i = 0; i < n; i++) {
        Async *a = &s->kind[kind].going.at[i];
        uint32_t due = is_due(w, kind, a, mask, when);
        if (due && ok && a->read && !a->was_read) {
            ok = a->read(w, a);
            a->was_read = true;
        }
        if (due && ok && !read_only) {
            ok = a->land(w, a, due);
            a->mask &= ~due;
            w->cta->m->changes++;
        }
        if (a->mask)
            s->kind[kind].going.at[kept++] = *a;
        else
            keep_spare(w, &s->kind[kind].spare, a);
    }
    s->kind[kind].going.n = kept;
    return ok;
}

bool async_wait(Warp *w, GroupKind kind, uint32_t mask, uint32_t left, bool read_only) {
    bool ok = land(w, kind, mask, due_of_group, left, read_only);
    EACH_LANE(mask, l) {
        uint32_t committed = w->async->kind[kind].committed[l];
        if (committed > left) race_landed(w, agent_of_group[kind], committed - left);
    }
    return ok;
}

bool async_finish(Warp *w, GroupKind kind, uint32_t mask, uint64_t before) {
    return land(w, kind, mask, due_of_time, before, false);
}

void async_send(Cta *cta, Arrival a) {
    vec_push(cta->m->arena, &cta->pending->queue, a);
}

bool async_land(Cta *cta, bool *landed) {
    Pending *p = cta->pending;
    *landed = p->first < p->queue.n;
    if (!*landed) return true;
    Arrival a = p->queue.at[p->first++];
    if (p->first == p->queue.n) p->queue.n = p->first = 0;
    return a.land(cta, &a);
}

bool async_end(Cta *cta) {
    for (int i = 0; i < cta->nwarps; i++) {
        Warp *w = &cta->warp[i];
        for (int k = 0; k < GROUP_KINDS; k++)
            for (int n = 0; n < w->async->kind[k].going.n; n++) {
                Async *a = &w->async->kind[k].going.at[n];
                bool bulk = k == GROUP_BULK, ok = bulk && a->was_read;
                int lane = __builtin_ctz(a->mask);
                if (!ok) {
                    machine_fail(w, a->code, lane, C_WAIT,
                                 "the block has ended, and nobody has waited for this");
                    return false;
                }
                if (!a->land(w, a, a->mask)) return false;
            }
    }
    if (cta->pending->first < cta->pending->queue.n) {
        const Arrival *a = &cta->pending->queue.at[cta->pending->first];
        machine_fail(a->warp, a->code, a->lane, C_WAIT,
                     "the block has ended, and nobody has waited for this");
        return false;
    }
    return true;
}

/* ---- cp.async ---- */

typedef struct CopyDetail {
    uint8_t *to[WARP], *known[WARP];
    const uint8_t *from[WARP], *from_known[WARP];
    uint32_t bytes, read[WARP];
} CopyDetail;

static bool land_copy(Warp *w, Async *a, uint32_t mask) {
    const CopyDetail *d = a->detail;
    (void)w;
    EACH_LANE(mask, l) {
        memset(d->to[l], 0, d->bytes);
        memset(d->known[l], 1, d->bytes);
        if (!d->read[l]) continue;
        memcpy(d->to[l], d->from[l], d->read[l]);
        if (d->from_known[l]) memcpy(d->known[l], d->from_known[l], d->read[l]);
    }
    return true;
}

/* What a lane reads of so many bytes: as many as the operand says, or none where it is true. */
static uint32_t bytes_read(const Warp *w, const PtxOperand *o, int lane, uint32_t bytes) {
    uint64_t v = lane_of(w, o, lane);
    bool ignores =
        o->kind == OPERAND_REGISTER && w->cta->m->program->register_type[o->reg] == PT_PRED;
    return !ignores ? (uint32_t)v : v & 1 ? 0 : bytes;
}

/* cp.async.cg.shared.global [to], [from], bytes {, of them read, or whether none}. */
PtxOutcome exec_cp_async(Warp *w, const PtxCode *c, uint32_t mask) {
    uint32_t bytes = (uint32_t)c->operand[2].value;
    Access to = {.kind = ACCESS_WRITE,
                 .agent = AGENT_COPY,
                 .space = IN_SHARED,
                 .bytes = bytes,
                 .align = bytes,
                 .mask = mask};
    Access from = {
        .kind = ACCESS_READ, .space = IN_GLOBAL, .bytes = bytes, .align = bytes, .mask = mask};
    const PtxOperand *size =
        c->noperands - (c->field[FIELD_HINT] != 0) > 3 ? &c->operand[3] : &c->operand[2];
    if (bytes != 4 && bytes != 8 && bytes != 16) return not_known(w, c, mask);
    if (!access_addresses(w, c, &c->operand[0], &to)) return OUTCOME_FAIL;
    if (!access_addresses(w, c, &c->operand[1], &from)) return OUTCOME_FAIL;
    uint32_t read[WARP] = {0};
    EACH_LANE(mask, l) {
        read[l] = bytes_read(w, size, l, bytes);
        if (read[l] > bytes)
            return machine_fail(w, c, l, C_BOUNDS, "it reads %u of %u bytes", read[l], bytes);
        if (!read[l]) from.mask &= ~(UINT32_C(1) << l); /* it may point anywhere */
    }
    EACH_LANE(from.mask, l) {
        Access one = from;
        one.mask = UINT32_C(1) << l;
        one.bytes = read[l];
        if (!access_find(w, c, &one)) return OUTCOME_FAIL;
        from.data[l] = one.data[l];
        from.known[l] = one.known[l];
        if (!one.mask) from.mask &= ~(UINT32_C(1) << l);
    }
    if (!access_find(w, c, &to)) return OUTCOME_FAIL;
    access_count(w, c, &from);
    access_count(w, c, &to);
    CopyDetail *d = async_start(w, c, GROUP_COPY, mask, land_copy, sizeof *d)->detail;
    d->bytes = bytes;
    EACH_LANE(mask, l) {
        bool reads = from.mask >> l & 1;
        d->to[l] = to.data[l];
        d->known[l] = to.known[l];
        d->read[l] = reads ? read[l] : 0;
        d->from[l] = reads ? from.data[l] : NULL;
        d->from_known[l] = reads ? from.known[l] : NULL;
        memset(to.known[l], 0, bytes);
    }
    return OUTCOME_NEXT;
}

typedef struct LateArrival { /* of lanes, when what they have started has landed */
    uint32_t mask;
    uint64_t address[WARP], before;
} LateArrival;

static bool land_arrival(Cta *cta, Arrival *x) {
    const LateArrival *d = x->detail;
    (void)cta;
    if (!async_finish(x->warp, GROUP_COPY, d->mask, d->before)) return false;
    EACH_LANE(d->mask, l) {
        uint32_t time = race_time(x->warp, l, AGENT_COPY);
        if (!mbarrier_arrive_late(x->warp, x->code, l, d->address[l], time)) return false;
    }
    return true;
}

/* cp.async.mbarrier.arrive.noinc.shared.b64 [barrier] */
PtxOutcome exec_cp_arrive(Warp *w, const PtxCode *c, uint32_t mask) {
    LateArrival d = {.mask = mask, .before = w->cta->m->time};
    if (c->field[FIELD_COUNTS] != WORD_COUNTS_NO) return not_known(w, c, mask);
    EACH_LANE(mask, l) d.address[l] = (uint32_t)lane_of(w, &c->operand[0], l);
    Arrival x = {.warp = w, .code = c, .lane = __builtin_ctz(mask), .land = land_arrival};
    x.detail = arena_copy(w->cta->m->arena, &d, sizeof d);
    async_send(w->cta, x);
    return OUTCOME_NEXT;
}

PtxOutcome exec_cp_commit(Warp *w, const PtxCode *c, uint32_t mask) {
    (void)c;
    async_commit(w, GROUP_COPY, mask);
    return OUTCOME_NEXT;
}

PtxOutcome exec_cp_wait(Warp *w, const PtxCode *c, uint32_t mask) {
    bool ok = async_wait(w, GROUP_COPY, mask, (uint32_t)c->operand[0].value, false);
    return ok ? OUTCOME_NEXT : OUTCOME_FAIL;
}

/* What is in no group yet, too. */
PtxOutcome exec_cp_wait_all(Warp *w, const PtxCode *c, uint32_t mask) {
    async_commit(w, GROUP_COPY, mask);
    (void)c;
    return async_wait(w, GROUP_COPY, mask, 0, false) ? OUTCOME_NEXT : OUTCOME_FAIL;
}
