/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* race.c: finds races: two programs' accesses to one address, one of them a plain write,
 * that nothing puts in order.
 *
 * Order comes from atomics: a program that releases at an address leaves there what it knows (a
 * clock), and one that acquires there later knows that too. An access is in order with an earlier
 * one if its program knows the other's time of it. This is exact for the run that was made: no
 * report is false, and a race is found whichever of the two came first.
 * Each unit of memory, as small as its accesses have been, keeps its last write and the set of
 * reads (and atomics, which conflict with the same) since then. The one idea: writes and sets are
 * kept as numbers; neighbours nearly always have the same, so whole runs are done with two
 * comparisons each. Only buffers that the kernel stores to are watched.
 * Within a program, one store that writes two values to one address is a race of its lanes. */
#include "ir/interp/machine.h"

#include <string.h>

enum { PAGE = 4096, SYNC_UNIT = 4, CACHE = 256 };

typedef struct Tag { /* an access operation of a program at a time */
    uint32_t program, clock;
    const Op *op;
} Tag;

typedef struct Unit {
    uint32_t writer;  /* a tag; 0: the host */
    uint32_t readers; /* a set; 0: nobody */
} Unit;

typedef struct Page {
    int log2; /* bytes of a unit */
    Unit *unit;
} Page;

typedef struct Watched {
    bool stored; /* may be stored to */
    Page *page;
    uint32_t **sync; /* by page, by SYNC_UNIT: a snapshot; 0: nobody released here */
} Watched;

typedef struct Extended { /* a set that was looked up: `set` with tag is
                             `result` */
    uint32_t set, tag, result;
} Extended;

typedef struct Races {
    int levels;
    size_t used; /* bytes */
    Watched *buffer;
    VEC(Tag) tags;      /* from 1 */
    VEC(Clock *) sets;  /* of reads: tags by program; from 1 */
    VEC(Clock *) snaps; /* what was known where something was released; from 1 */
    Extended cache[CACHE];
    uint32_t acquired, acquired_by; /* the last snapshot, and program, that were joined */
    uint32_t mine;                  /* snapshot of the release that is going on; 0: none yet */
    const Clock *mine_of;           /* what the program knew then */
    uint32_t met, met_result;       /* a release over snapshot `met` */
} Races;

void races_init(Run *r) {
    const InterpLaunch *l = r->launch;
    Arena *a = &r->s->arena;
    uint64_t programs = (uint64_t)l->grid[0] * l->grid[1];
    bool huge = programs && l->grid[2] > UINT32_MAX / programs;
    programs *= l->grid[2];
    if (!run_checks(r, CHECK_RACES) || huge || programs < 2 || programs >= UINT32_MAX) return;
    bool everywhere = r->stores_anywhere || !run_checks(r, CHECK_BOUNDS), any = everywhere;
    for (int i = 0; i < l->func->nparams; i++) {
        any |= r->param_stored[i];
        everywhere |= r->param_stored[i] && r->param_buffer[i] < 0;
    }
    if (!any) return;
    Races *x = arena_alloc(a, sizeof *x);
    for (x->levels = 1; x->levels < CLOCK_MAX_LEVELS && programs >> (4 * x->levels);) x->levels++;
    x->buffer = arena_array(a, (size_t)l->nbuffers, sizeof *x->buffer);
    for (int i = 0; i < l->nbuffers; i++) x->buffer[i].stored = everywhere;
    for (int i = 0; i < l->func->nparams; i++)
        if (r->param_stored[i] && r->param_buffer[i] >= 0)
            x->buffer[r->param_buffer[i]].stored = true;
    vec_push(a, &x->tags, (Tag){0});
    vec_push(a, &x->sets, NULL);
    vec_push(a, &x->snaps, NULL);
    r->races = x;
}

/* ---- memory ---- */

static size_t pages_of(const InterpBuffer *b) {
    return (size_t)((b->bytes + PAGE - 1) / PAGE);
}

/* The page with units that have borders at all of `borders`, an OR of offsets. */
static Page *page_at(Arena *a, Watched *w, const InterpBuffer *b, uint64_t at, uint64_t borders,
                     size_t element) {
    if (!w->page) w->page = arena_array(a, pages_of(b), sizeof *w->page);
    Page *p = &w->page[at / PAGE];
    int log2 = p->log2;
    if (!p->unit)
        for (log2 = 0; (size_t)2 << log2 <= element;) log2++;
    while (borders & (((uint64_t)1 << log2) - 1)) log2--;
    if (p->unit && log2 == p->log2) return p;
    Unit *unit = arena_array(a, (size_t)PAGE >> log2, sizeof *unit);
    for (size_t i = 0; p->unit && i < (size_t)PAGE >> log2; i++)
        unit[i] = p->unit[i >> (p->log2 - log2)];
    *p = (Page){log2, unit};
    return p;
}

static uint32_t *sync_at(Arena *a, Watched *w, const InterpBuffer *b, uint64_t at) {
    if (!w->sync) w->sync = arena_array(a, pages_of(b), sizeof *w->sync);
    uint32_t **page = &w->sync[at / PAGE];
    if (!*page) *page = arena_array(a, PAGE / SYNC_UNIT, sizeof **page);
    return &(*page)[at % PAGE / SYNC_UNIT];
}

/* ---- order ---- */

static uint32_t tag_of(Races *x, Arena *a, const Access *acc) {
    Program *p = acc->p;
    AccessTag *t = &p->tag[acc->st->access];
    if (t->tag && t->clock == p->clock) return t->tag;
    *t = (AccessTag){(uint32_t)x->tags.n, p->clock};
    vec_push(a, &x->tags, ((Tag){p->number, p->clock, acc->st->op}));
    return t->tag;
}

typedef struct Ordering { /* are these accesses known to the program? */
    const Races *x;
    const Program *p;
    uint32_t culprit; /* a tag that is not */
} Ordering;

static bool tag_known(Ordering *o, uint32_t tag) {
    const Tag *t = &o->x->tags.at[tag];
    if (t->program == o->p->number || t->clock <= clock_get(o->p->knows, o->x->levels, t->program))
        return true;
    o->culprit = tag;
    return false;
}

static bool reader_known(void *ctx, uint32_t program, uint32_t tag) {
    (void)program;
    return tag_known(ctx, tag);
}

static uint32_t with_reader(Races *x, Arena *a, uint32_t set, uint32_t tag) {
    Extended *e = &x->cache[(set * 31 + tag) % CACHE];
    if (e->tag == tag && e->set == set) return e->result;
    *e = (Extended){set, tag, set};
    const Tag *t = &x->tags.at[tag];
    uint32_t had = clock_get(x->sets.at[set], x->levels, t->program);
    if (had && x->tags.at[had].clock == t->clock) return set;
    Clock *more = clock_set(a, x->sets.at[set], x->levels, t->program, tag);
    e->result = (uint32_t)x->sets.n;
    vec_push(a, &x->sets, more);
    return e->result;
}

/* The first of n units where the access is a race, or n. Neighbours that are like the one before
 * are sound as it was. */
static int64_t read_units(Races *x, Arena *a, Ordering *o, uint32_t tag, Unit *u, int64_t n) {
    uint32_t fine = 0, old = 0, extended = with_reader(x, a, 0, tag);
    for (int64_t i = 0; i < n; i++) {
        if (u[i].writer != fine && u[i].writer && !tag_known(o, u[i].writer)) return i;
        fine = u[i].writer;
        if (u[i].readers != old) extended = with_reader(x, a, old = u[i].readers, tag);
        u[i].readers = extended;
    }
    return n;
}

static int64_t write_units(const Races *x, Ordering *o, uint32_t tag, Unit *u, int64_t n) {
    uint32_t fine = 0, fine_readers = 0;
    for (int64_t i = 0; i < n; i++) {
        if (u[i].writer != fine && u[i].writer && !tag_known(o, u[i].writer)) return i;
        fine = u[i].writer;
        if (u[i].readers != fine_readers && u[i].readers &&
            !clock_all(x->sets.at[u[i].readers], x->levels, reader_known, o))
            return i;
        fine_readers = u[i].readers;
        u[i] = (Unit){.writer = tag};
    }
    return n;
}

bool races_access(const Access *acc, int buffer, uint64_t at, uint64_t bytes, RaceKind kind) {
    Races *x = acc->r->races;
    if (!x || !x->buffer[buffer].stored || x->used > (size_t)INTERP_RACE_MB << 20) return true;
    Arena *a = &acc->r->s->arena;
    const InterpBuffer *b = &acc->r->launch->buffer[buffer];
    size_t before = a->used;
    uint32_t tag = tag_of(x, a, acc);
    Ordering o = {.x = x, .p = acc->p};
    for (uint64_t end = at + bytes; at < end;) {
        uint64_t stop = at - at % PAGE + PAGE;
        if (stop > end) stop = end;
        Page *page = page_at(a, &x->buffer[buffer], b, at, at | stop, acc->size);
        Unit *u = page->unit + (at % PAGE >> page->log2);
        int64_t n = (int64_t)((stop - at) >> page->log2);
        int64_t good =
            kind == RACE_WRITE ? write_units(x, &o, tag, u, n) : read_units(x, a, &o, tag, u, n);
        if (good < n) {
            const Tag *other = &x->tags.at[o.culprit];
            return report_race(acc, kind, b, at + ((uint64_t)good << page->log2), other->op,
                               other->program);
        }
        at = stop;
    }
    x->used += a->used - before;
    return true;
}

/* ---- within one store ---- */

typedef struct Place { /* of a table that is hashed by address */
    uint64_t address;
    int64_t lane;
    uint32_t round; /* the store that wrote this entry */
} Place;

static bool active(const Access *a, int64_t i) {
    return !a->mask || a->mask->data[i];
}

/* Addresses that only rise are all different. */
static bool rising(const Access *a) {
    const uint64_t *address = (const uint64_t *)(const void *)a->address->data;
    uint64_t last = 0;
    for (int64_t i = 0; i < a->lanes; i++) {
        if (!active(a, i)) continue;
        if (address[i] <= last) return false;
        last = address[i];
    }
    return true;
}

bool races_within(const Access *a, const Tile *value) {
    Run *r = a->r;
    if (!run_checks(r, CHECK_RACES) || a->lanes < 2 || rising(a)) return true;
    const uint64_t *address = (const uint64_t *)(const void *)a->address->data;
    if (r->places < 2 * a->lanes) {
        r->places = 2 * a->lanes; /* a power of two, as lanes are */
        r->place = arena_array(&r->s->arena, (size_t)r->places, sizeof *r->place);
        r->place_round = 0;
    }
    r->place_round++;
    for (int64_t i = 0; i < a->lanes; i++) {
        if (!active(a, i)) continue;
        uint64_t at =
            (address[i] / a->size * 0x9E3779B97F4A7C15u >> 20) & (uint64_t)(r->places - 1);
        Place *p = &r->place[at];
        while (p->round == r->place_round && p->address != address[i])
            p = &r->place[at = (at + 1) & (uint64_t)(r->places - 1)];
        if (p->round != r->place_round)
            *p = (Place){address[i], i, r->place_round};
        else if (memcmp(value->data + (size_t)i * a->size, value->data + (size_t)p->lane * a->size,
                        a->size) != 0)
            return report_twice(a, i, p->lane);
    }
    return true;
}

/* ---- acquire and release ---- */

void races_acquire(const Access *acc, int buffer, uint64_t at) {
    Races *x = acc->r->races;
    if (!x) return;
    Arena *a = &acc->r->s->arena;
    Program *p = acc->p;
    size_t before = a->used;
    uint32_t snap = *sync_at(a, &x->buffer[buffer], &acc->r->launch->buffer[buffer], at);
    if (snap && (snap != x->acquired || p->number != x->acquired_by)) {
        p->knows = clock_join(a, p->knows, x->snaps.at[snap], x->levels);
        x->acquired = snap;
        x->acquired_by = p->number;
    }
    x->used += a->used - before;
}

/* What one who acquires here later knows: this program's past, and what was left here before. */
void races_release(const Access *acc, int buffer, uint64_t at) {
    Races *x = acc->r->races;
    if (!x) return;
    Arena *a = &acc->r->s->arena;
    Program *p = acc->p;
    size_t before = a->used;
    uint32_t *sync = sync_at(a, &x->buffer[buffer], &acc->r->launch->buffer[buffer], at);
    if (!x->mine || x->mine_of != p->knows) {
        Clock *mine = clock_set(a, p->knows, x->levels, p->number, p->clock);
        x->mine = (uint32_t)x->snaps.n;
        x->mine_of = p->knows;
        x->met = 0, x->met_result = x->mine;
        vec_push(a, &x->snaps, mine);
    }
    if (*sync != x->met && *sync != x->mine) {
        Clock *mine = x->snaps.at[x->mine];
        Clock *both = clock_join(a, mine, x->snaps.at[*sync], x->levels);
        x->met = *sync;
        x->met_result = x->mine;
        if (both != mine) {
            x->met_result = (uint32_t)x->snaps.n;
            vec_push(a, &x->snaps, both);
        }
    }
    if (*sync != x->mine) *sync = x->met_result;
    x->used += a->used - before;
}

void races_released(const Access *acc) {
    Races *x = acc->r->races;
    if (!x || !x->mine) return;
    acc->p->clock++;
    x->mine = 0;
}
