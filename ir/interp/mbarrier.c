/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* mbarrier.c: barriers that count: phases that end when all arrivals and all bytes have come.
 *
 * Arriving passes on what the arriving threads know; the phase that so ends gives it to whoever
 * waits for it. Copies come as late as they may: when a wait cannot be passed without. */
#include "ir/interp/machine.h"
#include "ir/roles.h"

#include <string.h>

/* The number of one that may be used; -1: it may not, which is reported. */
static int usable(Run *r, Program *p, const Step *st, const Program *of, const SharedBuffer *b,
                  int slice) {
    const Mbarrier *m = &of->mbarrier[b->mbarrier + slice];
    int64_t at = b->at + slice * b->stride;
    const char *wrong = NULL;
    if (!m->count)
        wrong = "this barrier is used before mbar_init";
    else if (!strand_knows(p, m->made_by, m->made))
        wrong = "no barrier lets all threads know of this barrier's mbar_init";
    else if (of->shared.owner[at] != b->number)
        wrong = "overlapping buffers: another was written over this barrier";
    if (!wrong) return b->mbarrier + slice;
    report_shared(r, p, st, wrong, at);
    return -1;
}

int mbarrier_number(Run *r, Program *p, const Step *st, const Program *of, const SharedBuffer *b,
                    int i) {
    int slice = b->slices > 1 ? (int)first_lane(&p->tile[st->src[i]], EL_I32) : 0;
    return usable(r, p, st, of, b, slice);
}

bool step_mbar_init(Run *r, Program *p, const Step *st) {
    const SharedBuffer *b = st->detail;
    int from = 0, n = (int)b->slices;
    if (b->slices > 1 && st->src[0] >= 0) { /* one of them */
        from = (int)first_lane(&p->tile[st->src[0]], EL_I32);
        n = 1;
    }
    const Op *alloc = b->op;
    const char *name = alloc->result[0]->name ? alloc->result[0]->name : "barrier";
    for (int i = from; i < from + n; i++) {
        Mbarrier *m = &p->mbarrier[b->mbarrier + i];
        m->name = b->slices > 1 ? arena_printf(&r->s->arena, "%s[%d]", name, i) : name;
        m->count = m->pending = ir_attr_int(st->op, AT_COUNT, 1);
        m->bytes = 0;
        m->phase = 0;
        m->made_by = clock_of_strand(p, p->current);
        m->made = strand_of(p)->now;
        for (int64_t at = b->at + i * b->stride, k = 0; k < b->bytes; k++)
            p->shared.owner[at + k] = b->number;
    }
    return true;
}

/* Everything that the phase waits for has come. */
static bool end_phase(Run *r, Program *p, const Step *st, int barrier) {
    Mbarrier *m = &p->mbarrier[barrier];
    int n = clock_components(r), bulk = clock_of_mbarrier(r, p, barrier, true);
    if (m->pending) return true;
    if (m->bytes < 0) {
        diag(&r->s->diags, C_BARRIER, st->op->span,
             "%lld bytes more came to barrier '%s' than its phase %u expects, in %s",
             (long long)-m->bytes, m->name, (unsigned)m->phase, report_program(r, p));
        return false;
    }
    if (m->bytes) return true;
    m->phase++;
    m->pending = m->count;
    m->arrived[bulk] = m->arrived[bulk - 1] = m->arrived[n + bulk] = m->phase;
    clock_max(m->ended, m->arrived, r);
    memset(m->arrived, 0, 2 * (size_t)n * sizeof *m->arrived);
    return true;
}

bool mbarrier_bytes(Run *r, Program *p, const Step *st, int barrier, int64_t bytes) {
    p->mbarrier[barrier].bytes -= bytes;
    return end_phase(r, p, st, barrier);
}

bool mbarrier_arrive(Run *r, Program *p, const Step *st, int barrier, int64_t n,
                     const uint32_t *clock) {
    Mbarrier *m = &p->mbarrier[barrier];
    if (m->pending < n) {
        diag(&r->s->diags, C_BARRIER, st->op->span,
             "%lld arrivals at barrier '%s', whose phase %u has only %lld to come of %lld, in %s",
             (long long)n, m->name, (unsigned)m->phase, (long long)m->pending, (long long)m->count,
             report_program(r, p));
        return false;
    }
    m->pending -= n;
    clock_max(m->arrived, clock, r);
    return end_phase(r, p, st, barrier);
}

bool step_mbar_expect(Run *r, Program *p, const Step *st) {
    int barrier = mbarrier_number(r, p, st, p, st->detail, 0);
    if (barrier < 0) return false;
    p->mbarrier[barrier].bytes += ir_attr_int(st->op, AT_BYTES, 0);
    return mbarrier_arrive(r, p, st, barrier, 1, strand_of(p)->knows); /* of one thread */
}

/* At the barrier of that program, p itself or another of its cluster. */
static bool arrive_there(Run *r, Program *p, const Step *st, Program *of) {
    int barrier = mbarrier_number(r, p, st, of, st->detail, 0);
    if (barrier < 0) return false;
    uint32_t *clock = of->mbarrier[barrier].arrived;
    strand_release(r, p, clock);
    if (of != p) r->changes++;
    return mbarrier_arrive(r, of, st, barrier, strand_warps(r, p), clock);
}

bool step_mbar_arrive(Run *r, Program *p, const Step *st) {
    if (st->op->noperands < 2) return arrive_there(r, p, st, p);
    for (int i = 1; i < st->op->noperands; i++) {
        const Tile *rank = &p->tile[st->src[i]];
        if (rank->tainted && rank->taint[0] >= ORIGIN_UNINIT)
            return report_taint(r, p, st, USED_ADDRESS, rank->taint[0], type_scalar(EL_I32), 0);
        Program *of = cluster_program(r, p, st, first_lane(rank, EL_I32));
        if (!of || !arrive_there(r, p, st, of)) return false;
    }
    return true;
}

static bool parity_of(Run *r, Program *p, const Step *st, uint32_t *parity) {
    const Tile *phase = &p->tile[st->src[1]];
    if (phase->tainted && phase->taint[0] >= ORIGIN_UNINIT)
        return report_taint(r, p, st, USED_COMPARED, phase->taint[0], type_scalar(EL_I32), 0);
    *parity = (uint32_t)first_lane(phase, EL_I32) & 1;
    return true;
}

static bool wait_for(Run *r, Program *p, const Step *st, int barrier, uint32_t parity) {
    const Mbarrier *m = &p->mbarrier[barrier];
    while ((m->phase & 1) == parity && m->copies)
        if (!async_land_at(r, p, st, barrier)) return false;
    if ((m->phase & 1) == parity)
        strand_block(p, st);
    else
        clock_max(strand_of(p)->knows, m->ended, r);
    return true;
}

bool step_mbar_wait(Run *r, Program *p, const Step *st) {
    uint32_t parity;
    int barrier = mbarrier_number(r, p, st, p, st->detail, 0);
    return barrier >= 0 && parity_of(r, p, st, &parity) && wait_for(r, p, st, barrier, parity);
}

/* The warpgroups are in step here: the first waits for what all did the turn before, and what the
 * others wait for is the first's next arrival, so that the phase has to be the one that goes on. */
bool step_order_wait(Run *r, Program *p, const Step *st) {
    const SharedBuffer *b = st->detail;
    uint32_t parity;
    if (!parity_of(r, p, st, &parity)) return false;
    for (int i = (int)b->slices - 1; i >= 0; i--) {
        int barrier = usable(r, p, st, p, b, i);
        if (barrier < 0) return false;
        const Mbarrier *m = &p->mbarrier[barrier];
        if (!i) return wait_for(r, p, st, barrier, parity ^ 1);
        if ((m->phase & 1) == parity) continue;
        diag(&r->s->diags, C_BARRIER, st->op->span,
             "warpgroup %d does not wait for its turn: phase %u of barrier '%s' goes on, and what "
             "it waits for is the one before, in %s",
             i, (unsigned)m->phase, m->name, report_program(r, p));
        return false;
    }
    return true;
}

bool step_order_arrive(Run *r, Program *p, const Step *st) {
    const SharedBuffer *b = st->detail;
    for (int i = 0; i < (int)b->slices; i++) {
        int barrier = usable(r, p, st, p, b, i);
        if (barrier < 0) return false;
        uint32_t *clock = p->mbarrier[barrier].arrived;
        strand_release(r, p, clock);
        if (!mbarrier_arrive(r, p, st, barrier, WARPGROUP, clock)) return false;
    }
    return true;
}

const char *mbarrier_text(Run *r, const Program *p, const Step *st) {
    Arena *a = &r->s->arena;
    if (st->op->code == OP_CLUSTER_BARRIER) return "the other programs of its cluster";
    bool order = st->op->code == OP_ORDER_WAIT; /* blocked at the first */
    if (st->op->code != OP_MBAR_WAIT && !order) {
        const NamedBarrier *n = &p->named[barrier_id(st->op)];
        return arena_printf(a, "barrier %d, where %d of %d warps have come", barrier_id(st->op),
                            n->here, n->warps);
    }
    const SharedBuffer *b = st->detail;
    int slice = b->slices > 1 && !order ? (int)first_lane(&p->tile[st->src[0]], EL_I32) : 0;
    const Mbarrier *m = &p->mbarrier[b->mbarrier + slice];
    return arena_printf(
        a, "phase %u of barrier '%s': %lld of %lld arrivals and %lld bytes are missing",
        (unsigned)m->phase, m->name, (long long)m->pending, (long long)m->count,
        (long long)m->bytes);
}
