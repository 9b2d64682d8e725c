/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* barrier.c: puts a barrier where a thread may meet memory that another still uses.
 *
 * Going through the program in order, it keeps which bytes were read and which written since the
 * last barrier. A read of written bytes, or a write of read or written ones, needs a barrier before
 * it, which forgets all; but what a dot reads or a copy writes that nobody has waited for goes on
 * behind a barrier, too. Accesses of the slices that one loop fills among each other are left to
 * their loop's schedule, which has barriers of its own (schedule.h). What the copy engine writes
 * each thread waits for itself; but before it writes, a fence has to order what threads wrote
 * there, however many barriers came since. Loops are gone through until the state at their end adds
 * nothing to the state at their start. Conservative within a thread: it may not know that the bytes
 * are its own. Which accesses to global memory need one is for global_order.c to say; where they
 * lie in a loop and what they meet before it, the barrier is put before the loop. So is one for
 * shared memory where that leaves fewer in the loop, which is tried out.
 *
 * A role tells the copy engine's by an arrival that it has read a slice. What its threads read
 * themselves, not by units of their own, needs a fence before that.
 *
 * A thread that waits for the copy engine must not be two phases behind: what it writes counts as
 * read, so that before it writes there again all threads have come. */
#include "ir/desc.h"
#include "ir/effects.h"
#include "ir/buffer.h"
#include "passes/global_order.h"
#include "passes/walk.h"

#include <string.h>

typedef enum InFlight { LANDED, BY_DOT, BY_COPY, BY_STORE } InFlight;

typedef struct Interval {
    int64_t from, to;
    bool written;
    const Op *slices;   /* the buffer of several that it is one slice of; NULL: none */
    InFlight in_flight; /* not waited for yet: no barrier ends that */
    bool unfenced;      /* threads wrote it, and no fence came since: the copy engine may come
                           before */
    bool met;           /* since then a barrier came: all that is left of it is that */
    const Op *apart;    /* the buffer, of which each warp has a part of its own; NULL: not so */
    BranchWays inside;  /* of branches, is the access */
    bool met_in_warp;   /* since then one of each warp's threads came */
} Interval;

typedef struct Pending { /* what happened since the last barrier, or goes on */
    Interval *at;
    int n, cap;
    GlobalAccesses global;
    bool engine; /* some copies are by descriptors */
    bool loaded; /* threads read slices since the last fence or barrier */
} Pending;

typedef struct Walk {
    PassCtx *ctx;
    const GlobalOrder *order;
    bool trial; /* nothing is put, only counted */
    int puts;
    uint8_t *of_warps; /* by id of a buffer's value: whether it is; UNKNOWN: not looked at yet */
} Walk;

enum { UNKNOWN, OF_WARPS, OF_ALL };

static bool is_of_warps(const Walk *w, const Op *alloc) {
    uint8_t *known = &w->of_warps[alloc->result[0]->id];
    if (*known == UNKNOWN) *known = buffer_is_of_warps(alloc) ? OF_WARPS : OF_ALL;
    return *known == OF_WARPS;
}

/* Slices of buffers that lie between each other: one loop fills them. */
static bool same_stages(const Op *a, const Op *b) {
    int64_t apart = a && b ? ir_attr_int(a, AT_OFFSET, 0) - ir_attr_int(b, AT_OFFSET, 0) : 0;
    return a && b &&
           (a == b || (a->block == b->block && buffer_stride(a) == buffer_stride(b) &&
                       apart < buffer_stride(a) && apart > -buffer_stride(a)));
}

static void note(PassCtx *ctx, Pending *p, Interval x) {
    for (int i = 0; i < p->n; i++)
        if (p->at[i].from <= x.from && x.to <= p->at[i].to && p->at[i].written == x.written &&
            p->at[i].slices == x.slices && p->at[i].in_flight == x.in_flight &&
            p->at[i].unfenced == x.unfenced && p->at[i].met == x.met && p->at[i].apart == x.apart &&
            p->at[i].met_in_warp == x.met_in_warp && ways_equal(&p->at[i].inside, &x.inside))
            return;
    vec_push(&ctx->s->arena, p, x);
}

/* Which threads are to wait for each other. */
typedef enum Meeting { MEET_NOT, MEET_WARPS, MEET_ALL } Meeting;

static Meeting clashes(const Pending *p, Interval x, bool engine) {
    Meeting of = MEET_NOT;
    for (int i = 0; i < p->n && of != MEET_ALL; i++) {
        const Interval *y = &p->at[i];
        if (y->to <= x.from || x.to <= y->from || !(y->written || x.written) ||
            same_stages(x.slices, y->slices) || ways_exclude(&x.inside, &y->inside) ||
            (y->met && !engine))
            continue;
        if (!x.apart || y->apart != x.apart)
            of = MEET_ALL;
        else if (!y->met_in_warp)
            of = MEET_WARPS;
    }
    return of;
}

static void merge(PassCtx *ctx, Pending *into, const Pending *from) {
    for (int i = 0; i < from->n; i++) note(ctx, into, from->at[i]);
    into->loaded |= from->loaded;
}

static Pending copy_of(const Walk *w, const Pending *p) {
    Pending c = {.engine = p->engine};
    merge(w->ctx, &c, p);
    global_merge(w->order, &c.global, &p->global);
    return c;
}

/* What a barrier ends. */
static void forget(Pending *p) {
    int kept = 0;
    for (int i = 0; i < p->n; i++) {
        Interval x = p->at[i];
        if (!x.in_flight && !x.unfenced) continue;
        x.met |= x.in_flight == LANDED;
        p->at[kept++] = x;
    }
    p->n = kept;
    p->loaded = false;
    global_forget(&p->global);
}

/* What a barrier of each warp ends: others may still be at their parts. */
static void forget_in_warps(Pending *p) {
    for (int i = 0; i < p->n; i++) p->at[i].met_in_warp |= p->at[i].apart != NULL;
}

/* What the threads wrote the copy engine's writes come behind, once all threads are here; but not
 * what their copies still bring. */
static void fence(Pending *p) {
    for (int i = 0; i < p->n; i++)
        if (p->at[i].in_flight != BY_COPY) p->at[i].unfenced = p->at[i].met = false;
    p->loaded = false;
}

/* All of these have been waited for by this thread: others' may still be in flight. */
static void done(Pending *p, InFlight what) {
    for (int i = 0; i < p->n; i++)
        if (p->at[i].in_flight == what) p->at[i].in_flight = LANDED;
    if (what == BY_COPY) global_landed(&p->global);
}

static void wait_for(const Op *op, Pending *p) {
    bool none = ir_attr_int(op, AT_PENDING, 0) == 0;
    if (op->code == OP_DOT_WAIT && none) done(p, BY_DOT);
    if (op->code != OP_ASYNC_WAIT) return;
    if (none && (ir_attr(op, AT_PENDING) || !ir_attr(op, AT_STORES))) done(p, BY_COPY);
    if (ir_attr(op, AT_STORES) && !ir_attr_int(op, AT_STORES, 0)) done(p, BY_STORE);
}

static Interval interval_of(const Walk *w, const Value *buffer, bool written) {
    const Op *alloc = buffer_alloc(buffer);
    int64_t at = ir_attr_int(alloc, AT_OFFSET, 0);
    bool slices = alloc->result[0]->type.slices > 0;
    return (Interval){.from = at,
                      .to = at + buffer_bytes(alloc),
                      .written = written,
                      .slices = slices ? alloc : NULL,
                      .apart = is_of_warps(w, alloc) ? alloc : NULL};
}

/* The loop that fills these slices begins, maybe not for the first time, as in another loop: what
 * was there is to it like any other's. */
static void reopen(Pending *p, const Op *alloc) {
    for (int i = 0; i < p->n; i++)
        if (same_stages(p->at[i].slices, alloc)) p->at[i].slices = NULL;
}

static void visit_block(Walk *w, Block *b, Pending *p);

static void put(Walk *w, OpCode code, Op *before) {
    PassCtx *ctx = w->ctx;
    Builder build = {ctx->s, ctx->f, before->block, before, before->span};
    if (w->trial) return;
    ir_op(&build, code, NULL, 0, NULL, 0, 0);
    ctx->changed = true;
}

static void fence_before(Walk *w, Op *before, Pending *p) {
    put(w, OP_ASYNC_FENCE, before);
    fence(p);
}

static void put_barrier(Walk *w, Op *before, Pending *p) {
    bool late = false;
    for (int i = 0; i < p->n; i++) late |= p->at[i].unfenced;
    if (late && desc_moves_buffer(before)) fence_before(w, before, p);
    put(w, OP_BARRIER, before);
    w->puts++;
    forget(p);
}

/* What x needs a barrier for, for who has to say so in Triton. */
static void say_for_triton(const Walk *w, const GlobalAccess *before, const GlobalAccess *x) {
    static const char *const does[2][2] = {{"loads", "loaded"}, {"stores", "stored"}};
    PassCtx *ctx = w->ctx;
    if (!ctx->warn_triton || !before->op || w->trial) return;
    diag(
        &ctx->s->diags, W_TRITON_BARRIER, x->op->span,
        "Triton needs a tl.debug_barrier() before this, which %s what other threads of the program "
        "may have %s",
        does[x->kind != GLOBAL_READ][0], does[before->kind != GLOBAL_READ][1]);
    diag(&ctx->s->diags, CODE_NONE, before->op->span, "it was %s here",
         does[before->kind != GLOBAL_READ][1]);
}

/* Some access in the loop meets one before it: the barrier goes before the loop. */
static void order_before_loop(Walk *w, Op *loop, Pending *p) {
    const GlobalOrder *order = w->order;
    const Op *end = op_after(loop);
    for (const Op *op = loop; op != end && p->global.n; op = op_next(op)) {
        GlobalAccess x;
        const GlobalAccess *before =
            global_access(order, op, &x) ? global_conflict(order, &p->global, &x) : NULL;
        if (!before) continue;
        say_for_triton(w, before, &x);
        put_barrier(w, loop, p);
        return;
    }
}

/* A loop's body may run after itself, or not at all. */
static void visit_loop(Walk *w, Op *op, Pending *p) {
    bool loaded = !p->loaded;
    for (int before = -1, global = -1;
         before != p->n || global != p->global.n || loaded != p->loaded;) {
        before = p->n;
        loaded = p->loaded;
        global = p->global.n;
        Pending end = copy_of(w, p);
        for (int r = 0; r < op->nregions; r++) visit_block(w, op->region[r], &end);
        merge(w->ctx, p, &end);
        global_carry(w->order, &p->global, &end.global, op);
    }
}

/* Of few loops: each of those around is gone through several times, and this one each time. */
static bool is_innermost(const Op *loop) {
    enum { MOST_AROUND = 5 };
    int around = 0;
    for (const Op *at = loop->block->parent; at; at = at->block->parent)
        around += at->code == OP_FOR || at->code == OP_WHILE;
    for (const Op *op = op_next(loop), *end = op_after(loop); op != end; op = op_next(op))
        if (op->code == OP_FOR || op->code == OP_WHILE) return false;
    return around <= MOST_AROUND;
}

/* How many barriers the loop gets, behind one or not. */
static int barriers_in(const Walk *w, Op *loop, const Pending *p, bool behind) {
    Walk trial = {w->ctx, w->order, true, 0, w->of_warps};
    Pending at = copy_of(w, p);
    if (behind) forget(&at);
    visit_loop(&trial, loop, &at);
    return trial.puts;
}

static void visit_regions(Walk *w, Op *op, Pending *p) {
    if (op->code == OP_WARPS) { /* each by itself: between roles it is for mbarriers to order */
        Pending before = copy_of(w, p);
        for (int r = 0; r < op->nregions; r++) {
            Pending role = copy_of(w, &before);
            visit_block(w, op->region[r], &role);
            merge(w->ctx, p, &role);
            global_merge(w->order, &p->global, &role.global);
        }
        return;
    }
    if (op->code == OP_IF) {
        Pending other = copy_of(w, p);
        visit_block(w, op->region[0], p);
        visit_block(w, op->region[1], &other);
        merge(w->ctx, p, &other);
        global_merge(w->order, &p->global, &other.global);
        return;
    }
    if (!w->trial && p->n && is_innermost(op) &&
        barriers_in(w, op, p, true) < barriers_in(w, op, p, false))
        put_barrier(w, op, p);
    visit_loop(w, op, p);
}

/* What op does to the buffer that operand i is; false: it reads and writes none. */
static bool shared_access(const Walk *w, const Op *op, int i, Interval *x) {
    unsigned effects = ir_operand_effects(op, i);
    if (!(effects & (EFFECT_READS_SHARED | EFFECT_WRITES_SHARED))) return false;
    *x = interval_of(w, op->operand[i].value, effects & EFFECT_WRITES_SHARED);
    x->inside = ir_ways_of(op);
    x->in_flight = op->code == OP_ASYNC_COPY      ? BY_COPY
                   : op_is_async_store(op)        ? BY_STORE
                   : ir_attr_int(op, AT_ASYNC, 0) ? BY_DOT
                                                  : LANDED;
    return true;
}

/* Others' operands of a dot than those of warpgroups are loaded by threads, too. */
static bool reads_by_threads(const Op *op) {
    return op->code == OP_SHARED_LOAD || op->code == OP_SHARED_GATHER ||
           op->code == OP_FRAGMENT_ADD || (op->code == OP_DOT && !ir_attr(op, AT_WGMMA));
}

/* The accesses to global memory that op makes; true: it needs a barrier before it. */
static bool meets_global(const Walk *w, const Op *op, Pending *p) {
    GlobalAccess x;
    if (!global_access(w->order, op, &x)) return false;
    const GlobalAccess *before = global_conflict(w->order, &p->global, &x);
    if (before) say_for_triton(w, before, &x);
    return before;
}

static void note_global(const GlobalOrder *order, const Op *op, Pending *p) {
    GlobalAccess x;
    if (global_access(order, op, &x)) global_note(order, &p->global, x);
}

static void visit_block(Walk *w, Block *b, Pending *p) {
    const GlobalOrder *order = w->order;
    for (Op *op = b->first; op; op = op->next) {
        if (op->code == OP_BARRIER) forget(p);
        if (op->code == OP_WARP_BARRIER) forget_in_warps(p);
        if (op->code == OP_ASYNC_FENCE && !ir_attr_int(op, AT_GLOBAL, 0)) fence(p);
        if (op->code == OP_MBAR_ARRIVE && p->loaded) fence_before(w, op, p);
        wait_for(op, p);
        if (op->code == OP_ASYNC_WAIT && ir_attr(op, AT_STORES) && !ir_attr_int(op, AT_READ, 0))
            global_stored(order, &p->global);
        if (op->code == OP_BUFFER_ALLOC && op->result[0]->type.slices) reopen(p, op);
        bool engine = desc_moves_buffer(op);
        Meeting clash = meets_global(w, op, p) ? MEET_ALL : MEET_NOT;
        Interval x;
        for (int i = 0; i < op->noperands; i++) {
            Meeting of = shared_access(w, op, i, &x) ? clashes(p, x, engine) : MEET_NOT;
            if (of > clash) clash = of;
        }
        if (clash == MEET_ALL) put_barrier(w, op, p);
        if (clash == MEET_WARPS) {
            put(w, OP_WARP_BARRIER, op);
            forget_in_warps(p);
        }
        for (int i = 0; i < op->noperands; i++)
            if (shared_access(w, op, i, &x)) {
                x.written &= op->code != OP_MBAR_DESC_LOAD && op->code != OP_MBAR_FRAGMENT_LOAD;
                x.unfenced = p->engine && x.written;
                p->loaded |= p->engine && x.slices && reads_by_threads(op);
                note(w->ctx, p, x);
            }
        note_global(order, op, p);
        if (op->code == OP_FOR || op->code == OP_WHILE) order_before_loop(w, op, p);
        if (op->nregions) visit_regions(w, op, p);
    }
}

static void look_for_engine(Op *op, void *found) {
    *(bool *)found |= desc_moves_buffer(op);
}

void pass_barrier(PassCtx *ctx) {
    Pending p = {0};
    ir_walk(ctx->f->body, look_for_engine, &p.engine);
    GlobalOrder order = global_order(ctx);
    Walk w = {.ctx = ctx, .order = &order};
    w.of_warps = arena_alloc(&ctx->s->arena, ctx->f->nvalues);
    visit_block(&w, ctx->f->body, &p);
}
