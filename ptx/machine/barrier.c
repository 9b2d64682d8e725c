/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* barrier.c: bar.sync and bar.arrive, barriers of a cluster, mbarriers (PTX ISA, "Parallel
 * Synchronization and Communication Instructions"). */
#include "ptx/machine/barrier.h"

#include "ptx/machine/async.h"
#include "ptx/machine/lanes.h"
#include "ptx/machine/race.h"

#include <string.h>

enum { NAMED = 16, CLUSTER_BARRIER = NAMED };

typedef struct Barrier {
    uint32_t arrived, expected; /* threads; expected 0: all of the block */
    uint64_t phase;
    uint32_t holds, counted;   /* of bar.red: of those arrived now, in how many threads it holds */
    uint32_t was, was_counted; /* of those before */
    Knowledge pending, done;   /* of who has arrived now, and before */
} Barrier;

typedef struct Known { /* what an mbarrier knows */
    uint64_t at;       /* its offset in shared memory */
    uint32_t phase;
    Knowledge pending, done;
} Known;

typedef struct Barriers {
    Barrier named[NAMED];
    Barrier cluster; /* of the block of rank 0 */
    Known known[RACE_BARRIERS];
    int nknown;
} Barriers;

static void begin_barrier(Cta *cta, Barrier *b) {
    if (!b->pending.of) {
        b->pending = race_knowledge(cta);
        b->done = race_knowledge(cta);
    }
    race_forget(cta, &b->pending);
    race_forget(cta, &b->done);
    b->arrived = b->expected = b->holds = b->counted = 0;
    b->phase = 0;
}

void barriers_begin(Cta *cta) {
    if (!cta->barriers) cta->barriers = arena_alloc(cta->m->arena, sizeof *cta->barriers);
    for (int i = 0; i < NAMED; i++) begin_barrier(cta, &cta->barriers->named[i]);
    begin_barrier(cta, &cta->barriers->cluster);
    cta->barriers->nknown = 0;
}

/* ---- of a block ---- */

static uint32_t threads_alive(const Cta *cta) {
    uint32_t n = 0;
    for (int i = 0; i < cta->nwarps; i++)
        if (cta->warp[i].alive) n += WARP;
    return n;
}

static void open_barrier(Cta *cta, Barrier *b) {
    b->phase++;
    b->was = b->holds;
    b->was_counted = b->counted;
    b->arrived = b->expected = b->holds = b->counted = 0;
    race_join(cta, &b->done, &b->pending);
    race_forget(cta, &b->pending);
    cta->m->changes++;
}

/* Which one, operand `at`, and of how many threads, if that is said before operand `end`. */
static Barrier *named(Warp *w, const PtxCode *c, uint32_t mask, int at, int end, uint32_t *number,
                      uint32_t *threads) {
    int lane = __builtin_ctz(mask);
    *number = (uint32_t)lane_of(w, &c->operand[at], lane);
    *threads = at + 1 < end ? (uint32_t)lane_of(w, &c->operand[at + 1], lane) : 0;
    if (*number >= NAMED)
        machine_fail(w, c, lane, C_BARRIER, "there is no barrier %u", *number);
    else if (*threads % WARP)
        machine_fail(w, c, lane, C_BARRIER, "%u threads are not whole warps", *threads);
    else
        return &w->cta->barriers->named[*number];
    return NULL;
}

static bool arrive(Warp *w, const PtxCode *c, uint32_t mask, Barrier *b, uint32_t threads) {
    if (b->arrived && b->expected != threads) {
        machine_fail(w, c, __builtin_ctz(mask), C_BARRIER,
                     "it is of %u threads, and others wait here for %u", threads, b->expected);
        return false;
    }
    b->expected = threads;
    b->arrived += WARP;
    if (b->arrived > (threads ? threads : threads_alive(w->cta))) {
        machine_fail(w, c, __builtin_ctz(mask), C_BARRIER,
                     "more threads come here than the %u it is of", threads);
        return false;
    }
    race_release(w, &b->pending);
    w->cta->m->changes++;
    return true;
}

static bool is_full(const Warp *w, const Barrier *b) {
    return b->arrived && b->arrived >= (b->expected ? b->expected : threads_alive(w->cta));
}

/* Until all are here, of whom `holds` count; when they are, the next instruction. */
static PtxOutcome wait_for_all(Warp *w, const PtxCode *c, uint32_t mask, Barrier *b,
                               uint32_t number, uint32_t threads, uint32_t holds) {
    uint64_t *waits = &w->async->waits_for[number];
    if (!*waits) {
        if (!arrive(w, c, mask, b, threads)) return OUTCOME_FAIL;
        *waits = b->phase + 1;
        b->holds += (uint32_t)__builtin_popcount(holds);
        b->counted += (uint32_t)__builtin_popcount(mask);
    }
    if (*waits == b->phase + 1 && is_full(w, b)) open_barrier(w->cta, b);
    if (*waits == b->phase + 1) return OUTCOME_WAIT;
    *waits = 0;
    race_acquire(w, &b->done);
    return OUTCOME_NEXT;
}

PtxOutcome exec_bar_sync(Warp *w, const PtxCode *c, uint32_t mask) {
    uint32_t number, threads;
    Barrier *b = named(w, c, mask, 0, c->noperands, &number, &threads);
    return b ? wait_for_all(w, c, mask, b, number, threads, 0) : OUTCOME_FAIL;
}

/* In how many threads the last operand holds: that number, or whether it does in all, or in any. */
PtxOutcome exec_bar_red(Warp *w, const PtxCode *c, uint32_t mask) {
    uint32_t number, threads, holds = 0;
    const PtxOperand *last = &c->operand[c->noperands - 1];
    Barrier *b = named(w, c, mask, 1, c->noperands - 1, &number, &threads);
    if (!b) return OUTCOME_FAIL;
    EACH_LANE(mask, l) holds |= (uint32_t)(lane_of(w, last, l) & 1) << l;
    PtxOutcome o = wait_for_all(w, c, mask, b, number, threads, holds);
    if (o != OUTCOME_NEXT) return o;
    uint64_t r = c->field[FIELD_OP] == WORD_OP_POPC  ? b->was
                 : c->field[FIELD_OP] == WORD_OP_AND ? b->was == b->was_counted
                                                     : b->was != 0;
    EACH_LANE(mask, l) w->reg[c->operand[0].reg][l] = r;
    return OUTCOME_NEXT;
}

PtxOutcome exec_bar_arrive(Warp *w, const PtxCode *c, uint32_t mask) {
    uint32_t number, threads;
    Barrier *b = named(w, c, mask, 0, c->noperands, &number, &threads);
    if (!b || !arrive(w, c, mask, b, threads)) return OUTCOME_FAIL;
    if (is_full(w, b)) open_barrier(w->cta, b);
    return OUTCOME_NEXT;
}

/* ---- of a cluster ---- */

static uint32_t cluster_alive(const Cta *cta) {
    uint32_t n = 0;
    for (int i = 0; i < cta->m->cluster; i++)
        for (int k = 0; k < cta->cluster[i]->nwarps; k++)
            n += (uint32_t)__builtin_popcount(cta->cluster[i]->warp[k].alive);
    return n;
}

PtxOutcome exec_cluster_arrive(Warp *w, const PtxCode *c, uint32_t mask) {
    Barrier *b = &w->cta->cluster[0]->barriers->cluster;
    uint64_t *waits = &w->async->waits_for[CLUSTER_BARRIER];
    if (*waits)
        return machine_fail(w, c, __builtin_ctz(mask), C_BARRIER,
                            "it has arrived before, and not waited");
    *waits = b->phase + 1;
    b->arrived += (uint32_t)__builtin_popcount(mask);
    if (c->field[FIELD_SEM] == WORD_SEM_RELAXED)
        race_release_init(w, &b->pending);
    else
        race_release(w, &b->pending);
    w->cta->m->changes++;
    return OUTCOME_NEXT;
}

PtxOutcome exec_cluster_wait(Warp *w, const PtxCode *c, uint32_t mask) {
    Barrier *b = &w->cta->cluster[0]->barriers->cluster;
    uint64_t *waits = &w->async->waits_for[CLUSTER_BARRIER];
    if (!*waits) return machine_fail(w, c, __builtin_ctz(mask), C_BARRIER, "it has not arrived");
    if (*waits == b->phase + 1 && b->arrived >= cluster_alive(w->cta)) open_barrier(w->cta, b);
    if (*waits == b->phase + 1) return OUTCOME_WAIT;
    *waits = 0;
    race_acquire(w, &b->done);
    return OUTCOME_NEXT;
}

PtxOutcome exec_fence_init(Warp *w, const PtxCode *c, uint32_t mask) {
    (void)c, (void)mask;
    race_fence_init(w);
    return OUTCOME_NEXT;
}

PtxOutcome exec_fence_async(Warp *w, const PtxCode *c, uint32_t mask) {
    (void)c, (void)mask;
    race_fence(w);
    return OUTCOME_NEXT;
}

/* ---- mbarriers ---- */

/* The 64 bits in shared memory, as this machine has them: what is in them is the hardware's own. */
enum { COUNT_BITS = 20, BYTES_BITS = 21, PHASE_BIT = 62, VALID_BIT = 63 };

typedef struct Mbarrier {
    uint32_t pending, expected;
    int32_t bytes; /* on their way; below 0: more have come than were told of */
    bool phase, valid;
} Mbarrier;

static Mbarrier unpack(uint64_t v) {
    enum { UP = 64 - 2 * COUNT_BITS - BYTES_BITS };
    uint64_t mask = (UINT64_C(1) << COUNT_BITS) - 1;
    return (Mbarrier){.pending = (uint32_t)(v & mask),
                      .expected = (uint32_t)(v >> COUNT_BITS & mask),
                      .bytes = (int32_t)((int64_t)(v << UP) >> (UP + 2 * COUNT_BITS)),
                      .phase = v >> PHASE_BIT & 1,
                      .valid = v >> VALID_BIT & 1};
}

static uint64_t pack(const Mbarrier *b) {
    uint64_t bytes = (uint64_t)(int64_t)b->bytes & ((UINT64_C(1) << BYTES_BITS) - 1);
    return b->pending | (uint64_t)b->expected << COUNT_BITS | bytes << (2 * COUNT_BITS) |
           (uint64_t)b->phase << PHASE_BIT | (uint64_t)b->valid << VALID_BIT;
}

/* What is known of the barrier at an offset of a block's shared memory; of a new one nothing. NULL
 * after a diagnostic. */
static Known *known_of_barrier(Warp *w, const PtxCode *c, int lane, Cta *cta, uint64_t at) {
    Barriers *b = cta->barriers;
    for (int i = 0; i < b->nknown; i++)
        if (b->known[i].at == at) return &b->known[i];
    if (b->nknown == RACE_BARRIERS) {
        machine_fail(w, c, lane, C_BARRIER, "more than %d barriers in a block", RACE_BARRIERS);
        return NULL;
    }
    Known *k = &b->known[b->nknown++];
    if (!k->pending.of) {
        k->pending = race_knowledge(cta);
        k->done = race_knowledge(cta);
    }
    race_forget(cta, &k->pending);
    race_forget(cta, &k->done);
    k->at = at;
    k->phase = 0;
    return k;
}

/* Whose shared memory the address lies in, and where. */
static Cta *block_of(const Warp *w, uint64_t address, uint64_t *at) {
    uint64_t rank = address >> RANK_SHIFT & UINT8_MAX;
    *at = (address & ((UINT64_C(1) << RANK_SHIFT) - 1)) - PTX_SHARED_BASE;
    return rank ? w->cta->cluster[rank - 1] : w->cta;
}

/* The barrier that the operand of the lane names; made now, or there for everyone. */
static bool find_barrier(Warp *w, const PtxCode *c, const PtxOperand *o, int lane, bool made,
                         Access *a) {
    *a = (Access){.kind = made ? ACCESS_WRITE : ACCESS_ATOMIC,
                  .barrier = !made,
                  .agent = made ? AGENT_INIT : AGENT_THREADS,
                  .space = space_of(c),
                  .bytes = 8,
                  .align = 8,
                  .mask = UINT32_C(1) << lane,
                  .orders = true};
    return access_addresses(w, c, o, a) && access_shared(w, c, a) && access_find(w, c, a);
}

static bool load_barrier(Warp *w, const PtxCode *c, int lane, const Access *a, Mbarrier *b) {
    uint64_t v;
    memcpy(&v, a->data[lane], sizeof v);
    *b = unpack(v);
    if (b->valid && !memchr(a->known[lane], 0, sizeof v)) return true;
    machine_fail(w, c, lane, C_BARRIER, "this is no barrier: nobody has made it one");
    return false;
}

static void store_barrier(Warp *w, int lane, const Access *a, Mbarrier *b, Known *k) {
    if (!b->pending && !b->bytes) {
        b->phase = !b->phase;
        b->pending = b->expected;
        k->phase++;
        race_join(w->cta, &k->done, &k->pending);
        race_forget(w->cta, &k->pending);
    }
    uint64_t v = pack(b);
    memcpy(a->data[lane], &v, sizeof v);
    memset(a->known[lane], 1, sizeof v);
    w->cta->m->changes++;
}

static Known *known_here(Warp *w, const PtxCode *c, int lane, const Access *a) {
    uint64_t at;
    Cta *cta = block_of(w, a->address[lane] & ~WINDOW_MASK, &at);
    return known_of_barrier(w, c, lane, cta, at);
}

PtxOutcome exec_mbarrier_init(Warp *w, const PtxCode *c, uint32_t mask) {
    EACH_LANE(mask, l) {
        Access a;
        uint32_t n = (uint32_t)lane_of(w, &c->operand[1], l);
        Mbarrier b = {.pending = n, .expected = n, .valid = true};
        if (!n || n >> COUNT_BITS)
            return machine_fail(w, c, l, C_BARRIER, "a barrier for %u arrivals", n);
        if (!find_barrier(w, c, &c->operand[0], l, true, &a)) return OUTCOME_FAIL;
        Known *k = known_here(w, c, l, &a);
        if (!k) return OUTCOME_FAIL;
        store_barrier(w, l, &a, &b, k);
    }
    return OUTCOME_NEXT;
}

PtxOutcome exec_mbarrier_inval(Warp *w, const PtxCode *c, uint32_t mask) {
    EACH_LANE(mask, l) {
        Access a;
        Mbarrier b;
        if (!find_barrier(w, c, &c->operand[0], l, true, &a) || !load_barrier(w, c, l, &a, &b))
            return OUTCOME_FAIL;
        memset(a.known[l], 0, 8);
    }
    return OUTCOME_NEXT;
}

static bool expect_bytes(Warp *w, const PtxCode *c, int lane, Mbarrier *b, int64_t bytes) {
    int64_t all = b->bytes + bytes;
    if (all < INT64_C(1) << COUNT_BITS && all > -(INT64_C(1) << COUNT_BITS)) {
        b->bytes = (int32_t)all;
        return true;
    }
    machine_fail(w, c, lane, C_BARRIER, "a barrier counts less than 2^20 bytes");
    return false;
}

static bool count_arrivals(Warp *w, const PtxCode *c, int lane, Mbarrier *b, uint32_t n) {
    if (n <= b->pending) {
        b->pending -= n;
        return true;
    }
    machine_fail(w, c, lane, C_BARRIER, "more arrive than the %u that the barrier is for",
                 b->expected);
    return false;
}

/* mbarrier.arrive{.expect_tx} {state,} [barrier] {, n} */
static PtxOutcome arrive_at(Warp *w, const PtxCode *c, uint32_t mask, bool tells_bytes) {
    int at = c->operand[0].kind == OPERAND_ADDRESS ? 0 : 1;
    EACH_LANE(mask, l) {
        Access a;
        Mbarrier b;
        if (!find_barrier(w, c, &c->operand[at], l, false, &a) || !load_barrier(w, c, l, &a, &b))
            return OUTCOME_FAIL;
        Known *known = known_here(w, c, l, &a);
        if (!known) return OUTCOME_FAIL;
        if (c->field[FIELD_SEM] != WORD_SEM_RELAXED) race_release(w, &known->pending);
        uint64_t state = pack(&b);
        uint64_t n = c->noperands > at + 1 ? lane_of(w, &c->operand[at + 1], l) : 1;
        if (tells_bytes && !expect_bytes(w, c, l, &b, (uint32_t)n)) return OUTCOME_FAIL;
        if (!count_arrivals(w, c, l, &b, tells_bytes ? 1 : (uint32_t)n)) return OUTCOME_FAIL;
        store_barrier(w, l, &a, &b, known);
        if (at && c->operand[0].kind == OPERAND_REGISTER) {
            w->reg[c->operand[0].reg][l] = state;
            w->known[c->operand[0].reg] |= UINT32_C(1) << l;
        }
    }
    return OUTCOME_NEXT;
}

PtxOutcome exec_mbarrier_arrive(Warp *w, const PtxCode *c, uint32_t mask) {
    return arrive_at(w, c, mask, false);
}

PtxOutcome exec_mbarrier_arrive_expect(Warp *w, const PtxCode *c, uint32_t mask) {
    return arrive_at(w, c, mask, true);
}

PtxOutcome exec_mbarrier_expect(Warp *w, const PtxCode *c, uint32_t mask) {
    EACH_LANE(mask, l) {
        Access a;
        Mbarrier b;
        if (!find_barrier(w, c, &c->operand[0], l, false, &a) || !load_barrier(w, c, l, &a, &b) ||
            !expect_bytes(w, c, l, &b, (uint32_t)lane_of(w, &c->operand[1], l)))
            return OUTCOME_FAIL;
        Known *known = known_here(w, c, l, &a);
        if (!known) return OUTCOME_FAIL;
        store_barrier(w, l, &a, &b, known);
    }
    return OUTCOME_NEXT;
}

bool mbarrier_arrive_late(Warp *w, const PtxCode *c, int lane, uint64_t address, uint32_t time) {
    Access a = {.kind = ACCESS_ATOMIC,
                .barrier = true,
                .space = IN_SHARED,
                .bytes = 8,
                .align = 8,
                .mask = UINT32_C(1) << lane};
    Mbarrier b;
    a.address[lane] = address;
    if (!access_find(w, c, &a) || !load_barrier(w, c, lane, &a, &b)) return false;
    Known *known = known_here(w, c, lane, &a);
    if (!known || !count_arrivals(w, c, lane, &b, 1)) return false;
    race_tell(w, &known->pending, AGENT_COPY, time);
    store_barrier(w, lane, &a, &b, known);
    return true;
}

/* Which phase has ended: that of the parity, or that of a state. Where it waits it does for as long
 * as that takes: that a wait gives up, and is made again, changes nothing. */
static PtxOutcome wait_at(Warp *w, const PtxCode *c, uint32_t mask, bool waits) {
    bool parity = c->field[FIELD_PARITY] != 0;
    uint32_t done = 0;
    EACH_LANE(mask, l) {
        Access a;
        Mbarrier b;
        uint64_t of = lane_of(w, &c->operand[2], l);
        if (!find_barrier(w, c, &c->operand[1], l, false, &a) || !load_barrier(w, c, l, &a, &b))
            return OUTCOME_FAIL;
        bool phase = parity ? of & 1 : unpack(of).phase;
        done |= (uint32_t)(b.phase != phase) << l;
        Known *known = known_here(w, c, l, &a);
        if (!known) return OUTCOME_FAIL;
        if (b.phase != phase && c->field[FIELD_SEM] != WORD_SEM_RELAXED)
            race_acquire(w, &known->done);
    }
    if (waits && done != mask) return OUTCOME_WAIT;
    EACH_LANE(mask, l) w->reg[c->operand[0].reg][l] = done >> l & 1;
    return done == mask ? OUTCOME_NEXT : OUTCOME_YIELD;
}

PtxOutcome exec_mbarrier_test(Warp *w, const PtxCode *c, uint32_t mask) {
    return wait_at(w, c, mask, false);
}

PtxOutcome exec_mbarrier_try(Warp *w, const PtxCode *c, uint32_t mask) {
    return wait_at(w, c, mask, true);
}

bool mbarrier_coming(Warp *w, const PtxCode *c, int lane, Cta *cta, uint64_t barrier, uint64_t at,
                     uint32_t bytes, uint32_t *phase) {
    uint64_t in = barrier - PTX_SHARED_BASE;
    if (in >= cta->shared.bytes || cta->shared.bytes - in < 8 || in % 8) {
        machine_fail(w, c, lane, C_BARRIER, "there is no barrier at byte %lld of shared memory",
                     (long long)in);
        return false;
    }
    Known *k = known_of_barrier(w, c, lane, cta, in);
    if (!k) return false;
    *phase = k->phase + 1;
    return race_coming(w, c, lane, cta, at, bytes, (int)(k - cta->barriers->known), *phase);
}

bool mbarrier_complete(Warp *w, const PtxCode *c, int lane, Cta *cta, uint64_t at, int64_t bytes,
                       uint32_t phase) {
    Access a = {0};
    Mbarrier b;
    at -= PTX_SHARED_BASE; /* mbarrier_coming has looked */
    a.data[lane] = cta->shared.data + at;
    a.known[lane] = cta->shared.known + at;
    Known *k = known_of_barrier(w, c, lane, cta, at);
    if (!k || !load_barrier(w, c, lane, &a, &b) || !expect_bytes(w, c, lane, &b, -bytes))
        return false;
    race_came(cta, &k->pending, (int)(k - cta->barriers->known), phase);
    store_barrier(w, lane, &a, &b, k);
    return true;
}

/* ---- addresses of other blocks of the cluster ---- */

/* mapa.shared::cluster.u32 d, a, rank: the address in that block's memory. */
PtxOutcome exec_mapa(Warp *w, const PtxCode *c, uint32_t mask) {
    Lanes v;
    take_lanes(&v, w, c);
    uint64_t window = c->field[FIELD_SPACE] ? 0 : WINDOW_SHARED;
    EACH_LANE(mask, l) {
        uint64_t in = v.a[l] & ((UINT64_C(1) << RANK_SHIFT) - 1), rank = v.b[l] & UINT32_MAX;
        if (rank >= (uint64_t)w->cta->m->cluster)
            return machine_fail(w, c, l, C_CLUSTER, "the cluster has no block %llu",
                                (unsigned long long)rank);
        v.d[l] = window | (rank + 1) << RANK_SHIFT | in;
    }
    return OUTCOME_NEXT;
}
