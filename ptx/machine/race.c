/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* race.c: finds races in shared memory: two accesses of a byte, one of them a write, by warps or
 * what they have started, that nothing puts in order.
 *
 * Order comes from barriers: who arrives leaves there what it knows, who has waited knows that,
 * too. The copy engine and the tensor cores see what threads have written only once a thread that
 * knows of it has made a fence (PTX ISA, "Async proxy"). A byte keeps its last write and the set of
 * its reads since; sets are numbers, as neighbours nearly always have the same. The threads of a
 * warp are taken to know of each other.
 *
 * This is exact for the run that was made: no report is false, and which came first does not
 * matter. */
#include "ptx/machine/race.h"

#include "ptx/machine/async.h"

#include <string.h>

enum { CACHE = 1024, NOBODY = 0, KNOWN = 256 };

typedef struct Tag { /* an agent, from 1, at a time */
    uint32_t agent, time;
} Tag;

typedef struct Set {
    Tag *tag;
    int n;
} Set;

typedef struct Cell {
    Tag writer;
    uint32_t readers, updaters; /* sets; those that read and write as one step */
    uint16_t value;             /* 0: not known; that which was written, and KNOWN */
} Cell;

typedef struct Extended {
    uint32_t set, result;
    Tag tag;
} Extended;

typedef struct SharedRaces {
    Cell *cell;
    uint32_t *time;   /* of each warp of the block */
    uint32_t *made;   /* by each warp: barriers up to that time, that a fence was made for */
    Knowledge *knows; /* of each warp */
    VEC(Set) sets;    /* from 1 */
    Extended cache[CACHE];
} SharedRaces;

/* ---- agents ---- */

static uint32_t agents_of_block(const Cta *cta) {
    return (uint32_t)cta->nwarps * AGENTS + RACE_BARRIERS;
}

static uint32_t agents(const Cta *cta) {
    return agents_of_block(cta) * (uint32_t)cta->m->cluster + 1;
}

static uint32_t agent_of(const Warp *w, Agent a) {
    return 1 + (uint32_t)w->cta->rank * agents_of_block(w->cta) + (uint32_t)w->number * AGENTS + a;
}

static uint32_t barrier_agent(const Cta *of, int barrier) {
    return 1 + (uint32_t)of->rank * agents_of_block(of) + (uint32_t)of->nwarps * AGENTS +
           (uint32_t)barrier;
}

static bool checks(const Cta *cta) {
    return (cta->m->launch->checks & PTX_CHECK_RACES) != 0;
}

Knowledge race_knowledge(Cta *cta) {
    if (!checks(cta)) return (Knowledge){NULL, NULL};
    size_t n = agents(cta);
    return (Knowledge){arena_array(cta->m->arena, n, sizeof(uint32_t)),
                       arena_array(cta->m->arena, n, sizeof(uint32_t))};
}

void race_begin(Cta *cta) {
    Arena *a = cta->m->arena;
    if (!checks(cta)) return;
    SharedRaces *r = cta->races;
    if (!r) {
        r = cta->races = arena_alloc(a, sizeof *r);
        r->cell = arena_array(a, (size_t)cta->shared.bytes + 1, sizeof *r->cell);
        r->time = arena_array(a, (size_t)cta->nwarps, sizeof *r->time);
        r->made = arena_array(a, (size_t)cta->nwarps, sizeof *r->made);
        r->knows = arena_array(a, (size_t)cta->nwarps, sizeof *r->knows);
        for (int i = 0; i < cta->nwarps; i++) r->knows[i] = race_knowledge(cta);
        vec_push(a, &r->sets, (Set){0});
    }
    memset(r->cell, 0, ((size_t)cta->shared.bytes + 1) * sizeof *r->cell);
    memset(r->cache, 0, sizeof r->cache);
    r->sets.n = 1;
    for (int i = 0; i < cta->nwarps; i++) {
        race_forget(cta, &r->knows[i]);
        r->time[i] = 1;
        r->made[i] = 0;
        r->knows[i].of[1 + (uint32_t)cta->rank * agents_of_block(cta) + (uint32_t)i * AGENTS] = 1;
    }
}

/* ---- knowing ---- */

static Knowledge *knows(const Warp *w) {
    return &w->cta->races->knows[w->number];
}

static void take_more(uint32_t *to, const uint32_t *from, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        if (from[i] > to[i]) to[i] = from[i];
}

void race_join(const Cta *cta, Knowledge *k, const Knowledge *more) {
    if (!checks(cta)) return;
    take_more(k->of, more->of, agents(cta));
    take_more(k->seen, more->seen, agents(cta));
}

void race_forget(const Cta *cta, Knowledge *k) {
    if (!checks(cta)) return;
    memset(k->of, 0, agents(cta) * sizeof *k->of);
    memset(k->seen, 0, agents(cta) * sizeof *k->seen);
}

void race_release(Warp *w, Knowledge *k) {
    if (!checks(w->cta)) return;
    race_join(w->cta, k, knows(w));
    knows(w)->of[agent_of(w, AGENT_THREADS)] = ++w->cta->races->time[w->number];
}

void race_acquire(Warp *w, const Knowledge *k) {
    if (checks(w->cta)) race_join(w->cta, knows(w), k);
}

void race_landed(Warp *w, Agent agent, uint32_t time) {
    if (!checks(w->cta)) return;
    uint32_t *of = &knows(w)->of[agent_of(w, agent)];
    if (time > *of) *of = time;
}

void race_tell(Warp *w, Knowledge *k, Agent agent, uint32_t time) {
    if (!checks(w->cta)) return;
    uint32_t *of = &k->of[agent_of(w, agent)];
    if (time > *of) *of = time;
}

void race_fence_init(Warp *w) {
    if (!checks(w->cta)) return;
    w->cta->races->made[w->number] = knows(w)->of[agent_of(w, AGENT_INIT)];
}

void race_release_init(Warp *w, Knowledge *k) {
    if (!checks(w->cta)) return;
    race_tell(w, k, AGENT_INIT, w->cta->races->made[w->number]);
}

void race_fence(Warp *w) {
    if (checks(w->cta)) take_more(knows(w)->seen, knows(w)->of, agents(w->cta));
}

/* ---- accesses ---- */

/* What the warp's agent does from now on is at this time of its. */
uint32_t race_time(const Warp *w, int lane, Agent agent) {
    static const GroupKind kind[] = {
        [AGENT_COPY] = GROUP_COPY, [AGENT_BULK] = GROUP_BULK, [AGENT_MMA] = GROUP_MMA};
    if (agent == AGENT_THREADS || agent == AGENT_INIT) return w->cta->races->time[w->number];
    return w->async->kind[kind[agent]].committed[lane] + 1;
}

/* What it writes is not seen by the copy engine and the tensor cores but for a fence. */
static bool is_generic(const Cta *cta, uint32_t agent) {
    uint32_t in = (agent - 1) % agents_of_block(cta), kind = in % AGENTS;
    return in < (uint32_t)cta->nwarps * AGENTS && (kind == AGENT_THREADS || kind == AGENT_COPY);
}

static const char *name_agent(const Warp *w, uint32_t agent) {
    static const char *const what[] = {"", "a cp.async of ", "a bulk copy of ", "a wgmma of ", ""};
    const Cta *cta = w->cta;
    uint32_t block = (agent - 1) / agents_of_block(cta), in = (agent - 1) % agents_of_block(cta);
    Arena *a = &cta->m->s->arena;
    if (in >= (uint32_t)cta->nwarps * AGENTS) return "a copy that comes to a barrier";
    const char *of =
        block == (uint32_t)cta->rank ? "" : arena_printf(a, " of block %u of the cluster", block);
    return arena_printf(a, "%swarp %u%s", what[in % AGENTS], in / AGENTS, of);
}

static bool is_of_warp(const Warp *w, uint32_t agent) {
    return agent == agent_of(w, AGENT_THREADS);
}

/* Is it in order with what the warp does now by that agent? */
static bool knows_tag(const Warp *w, Agent agent, Tag t, bool was_write) {
    const Knowledge *k = knows(w);
    if (t.agent == NOBODY || t.agent == agent_of(w, agent)) return true; /* its own, in order */
    bool other_proxy = agent == AGENT_BULK || agent == AGENT_MMA;
    if (other_proxy && was_write && is_generic(w->cta, t.agent)) return k->seen[t.agent] >= t.time;
    if (is_of_warp(w, t.agent)) return true;
    return k->of[t.agent] >= t.time;
}

static bool report(Warp *w, const PtxCode *c, int lane, uint64_t at, Agent agent, Tag t,
                   bool wrote) {
    bool not_seen = wrote && (agent == AGENT_BULK || agent == AGENT_MMA) &&
                    is_generic(w->cta, t.agent) && knows(w)->of[t.agent] >= t.time;
    machine_fail(w, c, lane, C_RACE, "race: byte %llu of shared memory, which %s %s, and %s",
                 (unsigned long long)at, name_agent(w, t.agent), wrote ? "wrote" : "reads or read",
                 not_seen ? "no fence.proxy.async lets this see that"
                          : "nothing puts that before this");
    return false;
}

static uint32_t with_reader(Cta *of, uint32_t set, Tag tag) {
    SharedRaces *r = of->races;
    Arena *a = of->m->arena;
    Extended *e = &r->cache[(set * 31 + tag.agent * 7 + tag.time) % CACHE];
    if (e->result && e->set == set && e->tag.agent == tag.agent && e->tag.time == tag.time)
        return e->result;
    Set from = r->sets.at[set], to = {arena_array(a, (size_t)from.n + 1, sizeof(Tag)), 0};
    for (int i = 0; i < from.n; i++)
        if (from.tag[i].agent != tag.agent) to.tag[to.n++] = from.tag[i];
    to.tag[to.n++] = tag;
    *e = (Extended){set, (uint32_t)r->sets.n, tag};
    vec_push(a, &r->sets, to);
    return e->result;
}

static const Tag *unknown_reader(const Warp *w, const Cta *of, uint32_t set, Agent agent) {
    const Set *s = &of->races->sets.at[set];
    for (int i = 0; i < s->n; i++)
        if (!knows_tag(w, agent, s->tag[i], false)) return &s->tag[i];
    return NULL;
}

/* Nobody in the set is in the way. Neighbours nearly always have the same one. */
static const Tag *in_the_way(const Warp *w, const Cta *of, uint32_t set, uint32_t *fine,
                             Agent agent) {
    if (!set || set == *fine) return NULL;
    const Tag *t = unknown_reader(w, of, set, agent);
    if (!t) *fine = set;
    return t;
}

/* As a cell has it. */
static uint16_t value_of(const Access *a, int lane, uint32_t i) {
    return a->value[lane] ? (uint16_t)(KNOWN | a->value[lane][i]) : 0;
}

static bool access_as(Warp *w, const PtxCode *c, int lane, Cta *of, uint64_t at, const Access *a,
                      Tag as) {
    SharedRaces *r = of->races;
    AccessKind kind = a->kind;
    Agent agent = a->agent;
    uint32_t bytes = a->bytes;
    uint32_t fine_readers = 0, fine_updaters = 0, old = 0, extended = 0;
    for (uint32_t i = 0; i < bytes; i++) {
        Cell *x = &r->cell[at + i];
        uint16_t value = kind == ACCESS_WRITE ? value_of(a, lane, i) : 0;
        bool known = knows_tag(w, agent, x->writer, true),
             again = !known && value && value == x->value;
        if (!known && !again) return report(w, c, lane, at + i, agent, x->writer, true);
        const Tag *t = kind == ACCESS_ATOMIC || again
                           ? NULL
                           : in_the_way(w, of, x->updaters, &fine_updaters, agent);
        if (t) return report(w, c, lane, at + i, agent, *t, true);
        if (kind != ACCESS_READ) t = in_the_way(w, of, x->readers, &fine_readers, agent);
        if (t) return report(w, c, lane, at + i, agent, *t, false);
        if (kind == ACCESS_WRITE && !again) {
            *x = (Cell){.writer = as, .value = value};
            continue;
        }
        uint32_t *set = kind == ACCESS_READ ? &x->readers : &x->updaters;
        if (!extended || *set != old) extended = with_reader(of, old = *set, as);
        *set = extended;
    }
    return true;
}

bool race_access(Warp *w, const PtxCode *c, int lane, Cta *of, uint64_t at, const Access *a) {
    if (!checks(w->cta)) return true;
    Tag as = {agent_of(w, a->agent), race_time(w, lane, a->agent)};
    if (a->agent == AGENT_INIT) knows(w)->of[as.agent] = as.time;
    return access_as(w, c, lane, of, at, a, as);
}

bool race_read(Warp *w, const PtxCode *c, int lane, uint64_t at, uint32_t bytes, Agent agent) {
    Access a = {.kind = ACCESS_READ, .agent = agent, .bytes = bytes};
    return race_access(w, c, lane, w->cta, at, &a);
}

bool race_knows(Warp *w, const PtxCode *c, int lane, Cta *of, uint64_t at, uint32_t bytes) {
    for (uint32_t i = 0; checks(w->cta) && i < bytes; i++) {
        const Cell *x = &of->races->cell[at + i];
        if (!knows_tag(w, AGENT_THREADS, x->writer, true))
            return report(w, c, lane, at + i, AGENT_THREADS, x->writer, true);
    }
    return true;
}

/* It is the copy engine that writes: what threads wrote there before it has to be seen by that. */
bool race_coming(Warp *w, const PtxCode *c, int lane, Cta *of, uint64_t at, uint32_t bytes,
                 int barrier, uint32_t time) {
    if (!checks(w->cta)) return true;
    Tag as = {barrier_agent(of, barrier), time};
    Access a = {.kind = ACCESS_WRITE, .agent = AGENT_BULK, .bytes = bytes};
    return access_as(w, c, lane, of, at, &a, as);
}

void race_came(const Cta *of, Knowledge *k, int barrier, uint32_t time) {
    if (!checks(of)) return;
    uint32_t *known = &k->of[barrier_agent(of, barrier)];
    if (time > *known) *known = time;
}
