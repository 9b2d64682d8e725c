/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* strand.c: the roles of a program: each goes its own way until it cannot, then another goes on.
 *
 * What one may rely on of the others is known by clocks, not by the order they happen to run in.
 * A strand's time goes on whenever it passes on what it has done, so that what it does afterwards
 * is not taken to be known; at a barrier, whoever meets there knows what all of them did. Within a
 * strand, too: what its threads did since the last barrier not all of them know. */
#include "ir/interp/machine.h"
#include "ir/roles.h"

#include <string.h>

void clock_max(uint32_t *into, const uint32_t *from, const Run *r) {
    for (int i = 0; i < 2 * clock_components(r); i++)
        if (into[i] < from[i]) into[i] = from[i];
}

int strand_warps(const Run *r, const Program *p) {
    return p->current ? role_warps(r->roles, p->current - 1) : warps_of_program(r->launch->func);
}

const char *strand_name(Run *r, int strand) {
    if (!r->roles) return NULL;
    if (!strand) return "the code outside roles";
    return arena_printf(&r->s->arena, "role '%s'", role_name(&r->s->arena, r->roles, strand - 1));
}

void strands_new(Run *r, Program *p) {
    Arena *a = &r->s->arena;
    size_t clock = 2 * (size_t)clock_components(r);
    p->strand = arena_array(a, (size_t)r->nstrands, sizeof *p->strand);
    for (int i = 0; i < r->nstrands; i++)
        p->strand[i].knows = arena_array(a, clock, sizeof *p->strand[i].knows);
    p->mbarrier = arena_array(a, (size_t)r->nmbarriers, sizeof *p->mbarrier);
    for (int i = 0; i < r->nmbarriers; i++) {
        p->mbarrier[i].arrived = arena_array(a, clock, sizeof *p->mbarrier[i].arrived);
        p->mbarrier[i].ended = arena_array(a, clock, sizeof *p->mbarrier[i].ended);
    }
    p->named = arena_array(a, NAMED_BARRIERS, sizeof *p->named);
}

void strands_start(Run *r, Program *p) {
    size_t clock = 2 * (size_t)clock_components(r);
    for (int i = 0; i < r->nstrands; i++) {
        Strand *s = &p->strand[i];
        uint32_t *knows = s->knows;
        async_drop_copies(r, &s->copies); /* what a kernel did not wait for */
        *s = (Strand){.now = 1, .knows = knows, .live = i == 0};
        memset(knows, 0, clock * sizeof *knows);
    }
    for (int i = 0; i < r->nmbarriers; i++) {
        Mbarrier *m = &p->mbarrier[i];
        uint32_t *arrived = m->arrived, *ended = m->ended;
        async_drop_copies(r, &m->copies);
        *m = (Mbarrier){.arrived = arrived, .ended = ended};
        memset(arrived, 0, clock * sizeof *arrived);
        memset(ended, 0, clock * sizeof *ended);
    }
    memset(p->named, 0, NAMED_BARRIERS * sizeof *p->named);
    p->current = p->idle = 0;
}

void strand_release(const Run *r, Program *p, uint32_t *into) {
    Strand *s = strand_of(p);
    uint32_t *own = &s->knows[clock_of_strand(p, p->current)], before = *own;
    *own = s->now++;
    clock_max(into, s->knows, r);
    /* Its warps do not wait for each other. */
    if (strand_warps(r, p) > 1) *own = before;
}

/* ---- who goes on ---- */

void strand_block(Program *p, const Step *st) {
    strand_of(p)->blocked = st;
    p->at--;
    p->state = PROGRAM_BLOCKED;
}

static void go_on_with(Program *p, int strand) {
    strand_of(p)->at = p->at;
    p->current = strand;
    p->at = strand_of(p)->at;
    p->state = PROGRAM_RUNS;
}

bool strands_report(Run *r, Program *p, bool first) {
    int was = p->current;
    for (int i = 0; i < r->nstrands; i++) {
        const Step *st = p->strand[i].blocked;
        if (!p->strand[i].live || !st) continue;
        p->current = i;
        diag(&r->s->diags, first ? C_DEADLOCK : CODE_NONE, st->op->span, "%s%s waits for %s",
             first ? "deadlock: " : "", report_program(r, p), mbarrier_text(r, p, st));
        first = false;
    }
    p->current = was;
    return false;
}

bool strand_switch(Run *r, Program *p) {
    int live = 0;
    bool waits = false, yields = false;
    strand_of(p)->state = p->state;
    for (int i = 0; i < r->nstrands; i++) {
        const Strand *s = &p->strand[i];
        live += s->live;
        waits |= s->live && s->state == PROGRAM_WAITS;
        yields |= s->live && s->state == PROGRAM_YIELDS;
    }
    int next = p->current;
    do next = (next + 1) % r->nstrands;
    while (live && !p->strand[next].live);
    if (++p->idle > live && !waits && !yields) {
        if (r->cluster < 2) return strands_report(r, p, true);
        p->seen_changes = r->changes; /* another of its cluster may do what they wait for */
        waits = true;
    }
    bool aside = p->idle > live || live == 1;
    go_on_with(p, next);
    if (!aside || (!waits && !yields)) return true;
    p->state = yields ? PROGRAM_YIELDS : PROGRAM_WAITS;
    p->idle = 0;
    return true;
}

/* ---- roles ---- */

bool step_roles(Run *r, Program *p, const Step *st) {
    const int *start = st->detail;
    size_t clock = 2 * (size_t)clock_components(r);
    Strand *all = strand_of(p);
    all->live = false;
    for (int i = 1; i < r->nstrands; i++) {
        Strand *s = &p->strand[i];
        s->live = true;
        s->at = start[i - 1];
        s->state = PROGRAM_RUNS;
        memcpy(s->knows, all->knows, clock * sizeof *s->knows);
        s->copy_groups = all->copy_groups; /* tokens go on from there */
        s->copies_started = all->copies_started;
        s->stores = all->stores;
        s->nbusy = 0;
    }
    /* The thread that starts copies to memory for all is of the first role. */
    memcpy(p->strand[1].busy, all->busy, sizeof all->busy);
    p->strand[1].nbusy = all->nbusy;
    all->nbusy = 0;
    p->at = st->target;
    go_on_with(p, 1);
    return true;
}

/* The last of them goes on for all threads, who know what every role knows. */
bool step_role_end(Run *r, Program *p, const Step *st) {
    strand_of(p)->live = false;
    strand_of(p)->blocked = NULL;
    p->state = PROGRAM_BLOCKED;
    for (int i = 1; i < r->nstrands; i++)
        if (p->strand[i].live) return true;
    Strand *all = &p->strand[0];
    for (int c = 0; c < 2 * clock_components(r); c++) {
        uint32_t least = UINT32_MAX;
        for (int i = 1; i < r->nstrands; i++)
            if (p->strand[i].knows[c] < least) least = p->strand[i].knows[c];
        if (all->knows[c] < least) all->knows[c] = least;
    }
    all->live = true;
    all->at = st->target;
    go_on_with(p, 0);
    return true;
}

/* ---- barriers ---- */

/* Whoever has come knows what the others know. */
static void meet(const Run *r, Program *p, NamedBarrier *n) {
    int was = p->current;
    for (int i = 0; i < r->nstrands; i++) {
        Strand *s = &p->strand[i];
        if (!(n->arrived >> i & 1)) continue;
        s->knows[clock_of_strand(p, i)] = s->now++;
        s->released = i != was;
    }
    for (int i = 0; i < r->nstrands; i++)
        for (int k = 0; k < r->nstrands; k++)
            if ((n->arrived >> i & 1) && (n->arrived >> k & 1))
                clock_max(p->strand[i].knows, p->strand[k].knows, r);
    *n = (NamedBarrier){0};
}

bool step_warp_barrier(Run *r, Program *p, const Step *st) {
    Strand *s = strand_of(p);
    (void)r, (void)st;
    s->met_in_warps = s->now++;
    return true;
}

bool step_barrier(Run *r, Program *p, const Step *st) {
    const Func *f = r->launch->func;
    Strand *s = strand_of(p);
    int id = barrier_id(st->op), warps = barrier_warps(f, st->op);
    NamedBarrier *n = &p->named[id];
    s->settled = s->now;
    if (s->released) {
        s->released = false;
        return true;
    }
    if (!(n->arrived >> p->current & 1)) {
        if (n->arrived && n->warps != warps) {
            diag(&r->s->diags, C_BARRIER, st->op->span,
                 "%d warps are to meet at barrier %d here, and %d where others wait, in %s", warps,
                 id, n->warps, report_program(r, p));
            return false;
        }
        n->warps = warps;
        n->arrived |= (uint64_t)1 << p->current;
        n->here += strand_warps(r, p);
        if (n->here > n->warps) {
            diag(&r->s->diags, C_BARRIER, st->op->span,
                 "%d warps come to barrier %d, which is of %d, in %s", n->here, id, n->warps,
                 report_program(r, p));
            return false;
        }
    }
    if (n->here == n->warps)
        meet(r, p, n);
    else
        strand_block(p, st);
    return true;
}
