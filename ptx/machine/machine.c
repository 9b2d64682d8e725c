/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* machine.c: a launch -> its blocks, run one cluster after the other, the warps of each in turns.
 *
 * A warp goes on until it waits, ends or has had its turn. When all of a cluster wait, the oldest
 * copy on its way lands, and no sooner. A cluster in which nothing moves is set aside, and the next
 * one begins: what it waits for may be of another. When none is left that could, they wait for
 * ever, which is said with the places; but where memory is another launch's, too, what goes round
 * in a loop may yet find there what it looks for. */
#include "base/patience.h"
#include "ptx/machine/async.h"
#include "ptx/machine/exec.h"

#include <string.h>

enum {
    TURN = 4096,      /* instructions */
    MOST_LIVE = 4096, /* clusters set aside */
    IDLE_ROUNDS = 64, /* of all clusters, in which nothing is done */
    SOME_POLLS = 8
};

typedef struct Cluster {
    Cta **cta;
    bool done;
    uint64_t progress; /* when it was set aside */
} Cluster;

typedef struct Launcher {
    Machine m;
    VEC(Cluster *) live;
    VEC(Cluster *) spare;
    uint64_t next, all; /* clusters */
    uint64_t ended;     /* blocks */
} Launcher;

/* ---- making blocks ---- */

static Memory make_memory(Arena *a, uint64_t bytes) {
    return (Memory){.data = arena_alloc(a, (size_t)bytes + 1),
                    .known = arena_alloc(a, (size_t)bytes + 1),
                    .bytes = bytes};
}

static Cta *make_cta(Machine *m) {
    Arena *a = m->arena;
    const PtxLaunch *l = m->launch;
    Cta *cta = arena_alloc(a, sizeof *cta);
    cta->m = m;
    cta->nthreads = l->block[0] * l->block[1] * l->block[2];
    cta->nwarps = (int)((cta->nthreads + WARP - 1) / WARP);
    cta->warp = arena_array(a, (size_t)cta->nwarps, sizeof *cta->warp);
    cta->shared_bytes = m->program->static_shared + l->dynamic_shared;
    cta->shared = make_memory(a, cta->shared_bytes);
    for (int i = 0; i < cta->nwarps; i++) {
        Warp *w = &cta->warp[i];
        w->cta = cta;
        w->number = i;
        w->reg = arena_array(a, (size_t)m->program->nregisters + 1, sizeof *w->reg);
        w->known = arena_array(a, (size_t)m->program->nregisters + 1, sizeof *w->known);
        w->bits = arena_array(a, (size_t)m->program->nregisters + 1, sizeof *w->bits);
        w->written = arena_array(a, (size_t)m->program->nregisters + 1, sizeof *w->written);
        w->summing = arena_array(a, (size_t)m->program->nregisters + 1, sizeof *w->summing);
        for (uint32_t lane = 0; lane < WARP; lane++) {
            uint32_t t = (uint32_t)i * WARP + lane;
            w->tid[lane][0] = t % l->block[0];
            w->tid[lane][1] = t / l->block[0] % l->block[1];
            w->tid[lane][2] = t / l->block[0] / l->block[1];
        }
        if (!m->program->local_bytes) continue;
        w->local = arena_array(a, WARP, sizeof *w->local);
        for (int lane = 0; lane < WARP; lane++)
            w->local[lane] = make_memory(a, m->program->local_bytes);
    }
    return cta;
}

static void begin_cta(Cta *cta) {
    const PtxProgram *p = cta->m->program;
    memset(cta->shared.known, 0, (size_t)cta->shared.bytes);
    for (int i = 0; i < cta->nwarps; i++) {
        Warp *w = &cta->warp[i];
        uint32_t threads = cta->nthreads - (uint32_t)i * WARP;
        memset(w->known, 0, sizeof *w->known * (size_t)p->nregisters);
        memset(w->summing, 0, sizeof *w->summing * (size_t)p->nregisters);
        memset(w->written, 0, sizeof *w->written * (size_t)p->nregisters);
        w->fenced = 0;
        memset(w->bits, 0, sizeof *w->bits * (size_t)p->nregisters);
        memset(w->pc, 0, sizeof w->pc);
        w->alive = threads < WARP ? (UINT32_C(1) << threads) - 1 : ALL_LANES;
        w->blocked = 0;
        w->polls = 0;
        w->spinning = 0;
        w->turn_at = UINT64_MAX;
        for (int lane = 0; w->local && lane < WARP; lane++)
            memset(w->local[lane].known, 0, (size_t)p->local_bytes);
    }
    async_begin(cta);
}

static Cluster *make_cluster(Launcher *x) {
    Machine *m = &x->m;
    Cluster *c = arena_alloc(m->arena, sizeof *c);
    c->cta = arena_array(m->arena, (size_t)m->cluster, sizeof(Cta *));
    for (int i = 0; i < m->cluster; i++) {
        c->cta[i] = make_cta(m);
        c->cta[i]->cluster = c->cta;
    }
    return c;
}

/* Cluster number n of the grid, x first, as blocks are. */
static Cluster *begin_cluster(Launcher *x, uint64_t n) {
    Machine *m = &x->m;
    Cluster *c = x->spare.n ? x->spare.at[--x->spare.n] : make_cluster(x);
    uint64_t at[3];
    for (int d = 0; d < 3; d++) {
        uint64_t size = m->launch->grid[d] / m->cluster_shape[d];
        at[d] = n % size * m->cluster_shape[d];
        n /= size;
    }
    c->done = false;
    for (int i = 0; i < m->cluster; i++) {
        Cta *cta = c->cta[i];
        uint32_t rank = (uint32_t)i;
        cta->rank = i;
        for (int d = 0; d < 3; d++) {
            cta->in_cluster[d] = rank % m->cluster_shape[d];
            rank /= m->cluster_shape[d];
            cta->id[d] = (uint32_t)at[d] + cta->in_cluster[d];
        }
        begin_cta(cta);
    }
    return c;
}

/* ---- a warp ---- */

typedef struct Group { /* lanes at one place */
    int pc, limit;     /* the next place of others, who go on with it, or wait for it, there */
    uint32_t mask;
} Group;

static bool pick(Warp *w, Group *g) {
    uint32_t ready = w->alive & ~w->blocked;
    if (!ready) return false;
    *g = (Group){.pc = INT32_MAX, .limit = INT32_MAX};
    EACH_LANE(ready, l) if (w->pc[l] < g->pc) g->pc = w->pc[l];
    EACH_LANE(w->alive, l) {
        if (w->pc[l] == g->pc)
            g->mask |= UINT32_C(1) << l;
        else if (w->pc[l] > g->pc && w->pc[l] < g->limit)
            g->limit = w->pc[l];
    }
    w->blocked &= ~g->mask;
    return true;
}

static void put_back(Warp *w, const Group *g) {
    EACH_LANE(g->mask & w->alive, l) w->pc[l] = g->pc;
}

/* Lanes of the group in which the guard holds. False after a diagnostic. */
static bool guarded(Warp *w, const PtxCode *c, uint32_t group, uint32_t *mask) {
    *mask = group;
    if (c->guard < 0) return true;
    uint32_t on = 0, unknown = group & ~w->known[c->guard];
    if (unknown && (w->cta->m->launch->checks & PTX_CHECK_UNINIT)) {
        machine_fail(w, c, __builtin_ctz(unknown), C_UNINIT,
                     "%s, which decides whether this is done, is not known",
                     w->cta->m->program->register_name[c->guard]);
        return false;
    }
    const uint64_t *p = w->reg[c->guard];
    EACH_LANE(group, l) on |= (uint32_t)((p[l] & 1) != c->guard_not) << l;
    *mask = on;
    return true;
}

/* All lanes are here that do this together. */
static bool is_whole(const Warp *w, const PtxCode *c, uint32_t mask) {
    return !(c->traits & TRAIT_WARP) || mask == w->alive;
}

/* What its first operand is known of is known of the others. */
static void mark_known(Warp *w, const PtxCode *c, uint32_t mask) {
    uint32_t known = mask;
    for (int i = 1; i < c->noperands; i++) known &= known_of(w, &c->operand[i]);
    const PtxOperand *to = &c->operand[0];
    if (to->kind == OPERAND_REGISTER) {
        uint64_t have[WARP]; /* before it is one of the operands itself */
        EACH_LANE(mask & ~known, l) have[l] = result_known(w, c, l);
        set_known(w, to->reg, mask, known);
        EACH_LANE(mask & ~known, l)
        set_bits_known(w, to->reg, l, have[l], ptx_type[c->type[0]].bits);
    }
    if (to->second >= 0) set_known(w, to->second, mask, known);
}

/* Places and registers, as a number. */
static uint64_t state_of(const Warp *w) {
    enum { SHIFT = 29 };
    const uint64_t by = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t h = w->alive ^ (uint64_t)w->blocked << WARP;
    int n = w->cta->m->program->nregisters;
    for (int l = 0; l < WARP; l++) h = (h ^ h >> SHIFT ^ (uint64_t)w->pc[l]) * by;
    for (int i = 0; i < n; i++) {
        h = (h ^ h >> SHIFT ^ w->known[i]) * by;
        for (int l = 0; l < WARP; l++) h = (h ^ h >> SHIFT ^ w->reg[i][l]) * by;
    }
    return h;
}

/* A turn has ended. Lanes that come to a state again with nothing changed meanwhile go round until
 * somebody else changes something: they wait. The state is compared with that of the last turn
 * whose number is a power of two, so that loops of any length are found (Brent). */
static void find_loop(Warp *w, const Group *g) {
    const Machine *m = w->cta->m;
    if (w->turn_at != m->changes) {
        w->turn_at = m->changes;
        w->turns = 0;
        return;
    }
    uint64_t now = state_of(w);
    if (w->turns && w->state == now) {
        w->blocked |= g->mask;
        w->spinning |= g->mask;
        w->blocked_at = m->changes;
        w->turns = 0;
        return;
    }
    if (!(w->turns & (w->turns - 1))) w->state = now;
    w->turns++;
}

/* False after a diagnostic. */
static bool run_warp(Warp *w) {
    Machine *m = w->cta->m;
    const PtxCode *code = m->program->code;
    Group g;
    if (w->blocked && w->blocked_at != m->changes) w->blocked = w->spinning = 0;
    if (!pick(w, &g)) return true;
    for (int left = TURN; left > 0; left--) {
        if (g.pc >= m->program->ncode) { /* behind the last one a kernel returns */
            w->alive &= ~g.mask;
            m->changes++;
            if (!pick(w, &g)) return true;
            continue;
        }
        const PtxCode *c = &code[g.pc];
        uint32_t mask;
        if (m->time++ >= m->max_steps) {
            machine_fail(w, c, __builtin_ctz(g.mask), C_STEPS,
                         "more than %llu instructions, the limit",
                         (unsigned long long)m->max_steps);
            return false;
        }
        if (!guarded(w, c, g.mask, &mask)) return false;
        PtxOutcome o = OUTCOME_NEXT;
        if (mask) o = is_whole(w, c, mask) ? c->exec(w, c, mask) : OUTCOME_WAIT;
        if (m->launch->count && mask && o != OUTCOME_WAIT) {
            m->launch->count[g.pc].warps++;
            m->launch->count[g.pc].lanes += (uint64_t)__builtin_popcount(mask);
        }
        if (o == OUTCOME_FAIL) return false;
        bool yields = o == OUTCOME_YIELD;
        if (yields) o = OUTCOME_NEXT;
        if (mask && o == OUTCOME_NEXT && !(c->traits & (TRAIT_MOVES | TRAIT_NOTHING)))
            mark_known(w, c, mask);
        if (o == OUTCOME_NEXT && ++g.pc < g.limit && !yields) continue;
        if (o == OUTCOME_JUMPED) {
            EACH_LANE(g.mask & ~mask, l) w->pc[l] = g.pc + 1;
        } else {
            put_back(w, &g);
        }
        if (o == OUTCOME_WAIT) {
            w->blocked |= g.mask;
            w->blocked_at = m->changes;
        }
        if (yields) break;
        if (!pick(w, &g)) return true;
    }
    put_back(w, &g);
    find_loop(w, &g);
    return true;
}

void warp_polls(Warp *w, const PtxCode *c, uint64_t found) {
    const Machine *m = w->cta->m;
    bool same = w->polled == c && w->found == found && w->polled_at == m->progress;
    w->polls = same ? w->polls + 1 : 0;
    w->polled = c;
    w->found = found;
    w->polled_at = m->progress;
}

/* ---- a cluster ---- */

static bool all_blocked(const Cluster *c, const Machine *m) {
    for (int i = 0; i < m->cluster; i++)
        for (int k = 0; k < c->cta[i]->nwarps; k++) {
            const Warp *w = &c->cta[i]->warp[k];
            if (w->alive && ((w->alive & ~w->blocked) || w->blocked_at != m->changes)) return false;
        }
    return true;
}

static bool has_ended(Cluster *c, const Machine *m) {
    for (int i = 0; i < m->cluster; i++)
        for (int k = 0; k < c->cta[i]->nwarps; k++)
            if (c->cta[i]->warp[k].alive) return false;
    return true;
}

/* One of its warps asks again and again for what only another cluster can do. */
static bool polls(const Cluster *c, const Machine *m) {
    for (int i = 0; i < m->cluster; i++)
        for (int k = 0; k < c->cta[i]->nwarps; k++) {
            const Warp *w = &c->cta[i]->warp[k];
            if (w->alive && w->polls > SOME_POLLS && w->polled_at == m->progress) return true;
        }
    return false;
}

static bool land_one(const Cluster *c, const Machine *m, bool *landed) {
    *landed = false;
    for (int i = 0; i < m->cluster && !*landed; i++)
        if (!async_land(c->cta[i], landed)) return false;
    return true;
}

/* Until it has ended, or nothing moves. False after a diagnostic. */
static bool run_cluster(Launcher *x, Cluster *c) {
    Machine *m = &x->m;
    for (;;) {
        uint64_t before = m->changes;
        for (int i = 0; i < m->cluster; i++)
            for (int k = 0; k < c->cta[i]->nwarps; k++)
                if (c->cta[i]->warp[k].alive && !run_warp(&c->cta[i]->warp[k])) return false;
        c->done = has_ended(c, m);
        if (c->done) break;
        if (polls(c, m)) return true;
        bool landed = false;
        if (m->changes == before && all_blocked(c, m)) {
            if (!land_one(c, m, &landed)) return false;
            if (!landed) return true;
            m->changes++;
        }
    }
    /* What is still on its way has to have been waited for. */
    for (int i = 0; i < m->cluster; i++)
        if (!async_end(c->cta[i])) return false;
    m->progress++;
    return true;
}

/* ---- the grid ---- */

/* Lanes of the warp wait for others of it, which wait elsewhere. False: none do. */
static bool say_apart(Warp *w, int *said) {
    (void)said;
    EACH_LANE(w->spinning ? 0 : w->alive, l) {
        const PtxCode *c = &w->cta->m->program->code[w->pc[l]];
        uint32_t here = 0, mask;
        EACH_LANE(w->alive, other) here |= (uint32_t)(w->pc[other] == w->pc[l]) << other;
        if (!guarded(w, c, here, &mask) || !mask || is_whole(w, c, mask)) continue;
        machine_fail(w, c, l, C_CONVERGENCE, "not all threads of the warp are here");
        return true;
    }
    return false;
}

/* Where it waits; the first of them has the message of all. True: that is enough. */
static bool say_waiting(Warp *w, int *said) {
    enum { MOST = 4 };
    if (!w->alive) return false;
    int lane = __builtin_ctz(w->spinning ? w->spinning : w->alive);
    const char *first = w->spinning ? "deadlock: it goes round here for ever, and nothing changes"
                                    : "deadlock: it waits here for ever";
    machine_fail(w, &w->cta->m->program->code[w->pc[lane]], lane, C_DEADLOCK, "%s",
                 (*said)++ ? "so does this one" : first);
    return *said == MOST;
}

typedef bool WarpFn(Warp *w, int *said);

static bool any_warp(const Launcher *x, WarpFn *is_one) {
    int said = 0;
    for (int n = 0; n < x->live.n; n++)
        for (int i = 0; i < x->m.cluster; i++)
            for (int k = 0; k < x->live.at[n]->cta[i]->nwarps; k++)
                if (is_one(&x->live.at[n]->cta[i]->warp[k], &said)) return true;
    return false;
}

static void say_deadlock(const Launcher *x) {
    if (!any_warp(x, say_apart)) any_warp(x, say_waiting);
}

static bool looks(Warp *w, int *said) {
    (void)said;
    return w->alive && (w->spinning || w->polls > SOME_POLLS);
}

/* Gives other launches time to write what a warp looks for. False: none does, or it took too long.
 */
static bool wait_for_others(Launcher *x, Patience *patience) {
    Machine *m = &x->m;
    const PtxLaunch *l = m->launch;
    bool foreign = false;
    for (int i = 0; i < l->nbuffers; i++) foreign |= l->buffer[i].foreign;
    if (!foreign || !any_warp(x, looks) || !patience_nap(patience, l->foreign_ms, NULL))
        return false;
    m->changes++; /* for all that it is known */
    return true;
}

static bool run_grid(Launcher *x) {
    Machine *m = &x->m;
    int idle = 0;
    Patience patience = {0};
    for (int turn = 0; x->next < x->all || x->live.n;) {
        bool fresh = x->next < x->all && (!x->live.n || turn >= x->live.n) && x->live.n < MOST_LIVE;
        if (fresh) vec_push(m->arena, &x->live, begin_cluster(x, x->next++));
        if (turn >= x->live.n) turn = fresh ? x->live.n - 1 : 0;
        Cluster *c = x->live.at[turn];
        uint64_t before = m->progress;
        if (!run_cluster(x, c)) return false;
        c->progress = m->progress;
        idle = m->progress != before || fresh ? 0 : idle + 1;
        if (c->done) {
            vec_push(m->arena, &x->spare, c);
            for (int i = turn; i + 1 < x->live.n; i++) x->live.at[i] = x->live.at[i + 1];
            x->live.n--;
            x->ended += (uint64_t)m->cluster;
            if (m->launch->progress)
                m->launch->progress(m->launch->progress_user, x->ended,
                                    x->all * (uint64_t)m->cluster);
            turn = 0; /* those set aside may go on */
            if (x->live.n && x->live.at[0]->progress == m->progress) turn = x->live.n;
        } else {
            turn++;
        }
        if (!idle) patience.since = 0;
        if (idle > (patience.since ? x->live.n : IDLE_ROUNDS * (x->live.n + 1)) &&
            !wait_for_others(x, &patience)) {
            say_deadlock(x);
            return false;
        }
    }
    return true;
}

static bool refuse(Session *s, const char *why) {
    diag(&s->diags, E_PTX_LAUNCH, (Span){0}, "the PTX machine: %s", why);
    return false;
}

/* What is wrong with the launch; NULL: nothing. */
static const char *check_launch(Session *s, const PtxLaunch *l) {
    enum { MOST_THREADS = 1024, MOST_CLUSTER = 16 };
    static const uint32_t most[] = {INT32_MAX, UINT16_MAX, UINT16_MAX};
    uint64_t threads = 1, cluster = 1;
    for (int d = 0; d < 3; d++) {
        uint32_t n = l->cluster[d] ? l->cluster[d] : 1;
        if (l->block[d] > MOST_THREADS || !l->block[d]) threads = UINT32_MAX;
        if (l->grid[d] > most[d]) return "a grid has less than 2^31, 2^16 and 2^16 blocks";
        if (n > MOST_CLUSTER) return "a cluster has 16 blocks at most";
        if (l->grid[d] % n) return "a grid is a multiple of its clusters";
        threads *= l->block[d];
        cluster *= n;
    }
    if (threads > MOST_THREADS) return "a block has 1 to 1024 threads";
    if (cluster > MOST_CLUSTER) return "a cluster has 16 blocks at most";
    uint64_t shared = l->program->static_shared + l->dynamic_shared;
    if (shared > l->program->most_shared)
        return arena_printf(&s->arena, "%llu bytes of shared memory, of which the target has %u",
                            (unsigned long long)shared, l->program->most_shared);
    return NULL;
}

bool ptx_run(Session *s, const PtxLaunch *l) {
    Launcher *x = arena_alloc(&s->arena, sizeof *x);
    const PtxProgram *p = l->program;
    x->m = (Machine){.s = s, .launch = l, .program = p, .arena = &s->arena, .cluster = 1};
    x->all = 1;
    x->m.max_steps = l->max_steps ? l->max_steps : UINT64_MAX;
    const char *why = check_launch(s, l);
    if (why) return refuse(s, why);
    for (int d = 0; d < 3; d++) {
        uint32_t n = l->cluster[d] ? l->cluster[d] : 1;
        x->m.cluster_shape[d] = n;
        x->m.cluster *= (int)n;
        x->all *= l->grid[d] / n;
    }
    x->m.param = make_memory(&s->arena, p->param_bytes);
    memset(x->m.param.known, 1, (size_t)p->param_bytes);
    for (int i = 0; i < p->nparams; i++)
        memcpy(x->m.param.data + p->variables.at[i].address, l->param[i],
               (size_t)p->variables.at[i].bytes);
    return run_grid(x);
}

static void report_place(const Warp *w, const PtxCode *c, int lane, Buf *out) {
    const PtxInst *i = c->inst;
    buf_printf(out, "PTX line %u (", ptx_line(w->cta->m->program, c));
    if (i->line) buf_printf(out, "source line %u, ", i->line);
    buf_printf(out, "thread %u of block (%u, %u, %u)), %.*s: ",
               (uint32_t)w->number * WARP + (uint32_t)lane, w->cta->id[0], w->cta->id[1],
               w->cta->id[2], i->op.len, i->op.text);
}

PtxOutcome machine_fail(Warp *w, const PtxCode *c, int lane, Code code, const char *fmt, ...) {
    Session *s = w->cta->m->s;
    Buf text = buf_new(&s->arena);
    va_list ap;
    report_place(w, c, lane, &text);
    va_start(ap, fmt);
    buf_vprintf(&text, fmt, ap);
    va_end(ap);
    diag(&s->diags, code, (Span){0}, "%s", text.data);
    return OUTCOME_FAIL;
}
