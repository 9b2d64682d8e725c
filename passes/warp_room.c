/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* warp_room.c: groups of blocks and stores of a program with roles -> how many stages they get of a
 * multiprocessor's shared memory (see warp_specialize.h).
 *
 * A program goes one way at a branch, and what it keeps there and what it would keep the other way
 * share room: allocate.c sees it where all roles branch on one value, made in front of them. */
#include "ir/effects.h"
#include "ir/target.h"
#include "passes/cost.h"
#include "passes/walk.h"
#include "passes/warp_specialize.h"

/* ---- branches ---- */

/* A scalar that roles may share, made in front of them: of the program's number and arguments. */
static bool is_shared(const Specialize *x, const Value *v, int depth) {
    enum { MOST_DEPTH = 8 };
    const Op *op = v->def;
    if (!op) return !v->block->parent;
    if (op->nregions || v->type.rank || depth == MOST_DEPTH ||
        (op->code != OP_PROGRAM_ID && op->code != OP_CONST && !op_is_pure_elementwise(op)))
        return false;
    for (int i = 0; i < op->noperands; i++)
        if (!is_shared(x, op->operand[i].value, depth + 1)) return false;
    return true;
}

static bool holds_loop(const Op *branch) {
    bool some = false;
    for (int r = 0; r < branch->nregions; r++) ir_walk(branch->region[r], look_for_loop, &some);
    return some;
}

/* All roles go the same way at a branch of the program, and at one in its ways around loops: what
 * it depends on is one value then, by which allocate.c sees that what one way keeps in shared
 * memory and what the other does are never there at once. */
static bool is_taken_alike(const Specialize *x, const Op *branch) {
    const Op *around = branch->block->parent;
    return branch->code == OP_IF && is_shared(x, branch->operand[0].value, 0) &&
           (!around || (holds_loop(branch) && is_taken_alike(x, around)));
}

BranchWays ways_of_roles(const Specialize *x, const Op *op) {
    BranchWays alike = {0}, all = ir_ways_of(op);
    for (int i = 0; i < all.n; i++) {
        const Op *branch = op->block->parent;
        while (branch && (branch->code != OP_IF || branch->operand[0].value != all.on[i]))
            branch = branch->block->parent;
        if (!branch || !is_taken_alike(x, branch)) continue;
        alike.on[alike.n] = all.on[i];
        alike.way[alike.n++] = all.way[i];
    }
    return alike;
}

/* Before `front`, or it is there. */
static void keep_in_front(const Specialize *x, const Value *v, uint8_t *kept, Op *front) {
    Op *op = v->def;
    if (!op || kept[v->id]) return;
    kept[v->id] = 1;
    for (int i = 0; i < op->noperands; i++) keep_in_front(x, op->operand[i].value, kept, front);
    if (op->block != x->f->body) ir_move_before(op, front);
}

static void share(const Specialize *x, const Op *from, uint8_t *kept, Op *front) {
    for (const Op *op = from; op; op = op->next) {
        if (!is_taken_alike(x, op)) continue;
        keep_in_front(x, op->operand[0].value, kept, front);
        for (int r = 0; r < op->nregions; r++) share(x, op->region[r]->first, kept, front);
    }
}

const uint8_t *share_conditions(const Specialize *x, const Op *from, Op *front) {
    uint8_t *kept = arena_alloc(&x->s->arena, x->f->nvalues);
    share(x, from, kept, front);
    return kept;
}

/* ---- room ---- */

enum { MOST_TAKEN = MOST_GROUPS + 1 };
typedef struct Taken {
    BranchWays inside;
    int64_t bytes;
} Taken;

static bool is_excluded(const Taken *t, int n, int i) {
    for (int k = 0; k < n; k++)
        if (ways_exclude(&t[i].inside, &t[k].inside)) return true;
    return false;
}

/* The most bytes of those, MOST_TAKEN of them, that a program may have at once: without one of two
 * that exclude each other, or without the other. */
static int64_t most_at_once(const Taken *t, int n) {
    int i = 0, rest = 0;
    int64_t all = 0;
    for (int k = 0; k < n; k++) all += t[k].bytes;
    while (i < n && !is_excluded(t, n, i)) i++;
    if (i == n) return all;
    Taken with[MOST_TAKEN], without[MOST_TAKEN];
    int nwith = 0;
    for (int k = 0; k < n; k++) {
        if (k != i) without[rest++] = t[k];
        if (!ways_exclude(&t[i].inside, &t[k].inside)) with[nwith++] = t[k];
    }
    int64_t a = most_at_once(with, nwith), b = most_at_once(without, rest);
    return a > b ? a : b;
}

int64_t bytes_of_groups(const Specialize *x, Stages which) {
    Taken t[MOST_TAKEN];
    for (int i = 0; i < x->n; i++) {
        const Group *g = &x->group[i];
        int64_t stages = which == ALL_STAGES ? g->stages : which == ONE_STAGE || !g->held;
        t[i] = (Taken){g->inside, g->bytes * stages};
    }
    return most_at_once(t, x->n);
}

int64_t bytes_of_stores(const Specialize *x, const Op *op) {
    Taken t[MOST_STORES];
    int n = 0;
    BranchWays inside = op ? ways_of_roles(x, op) : (BranchWays){0};
    for (int i = 0; i < x->nstores; i++)
        if (!ways_exclude(&inside, &x->store[i].inside))
            t[n++] = (Taken){x->store[i].inside, x->store[i].bytes};
    return most_at_once(t, n);
}

typedef struct Stored { /* what goes through shared memory besides */
    const Specialize *x;
    Taken by_descriptors[MOST_TAKEN]; /* and those for which it has no room: */
    int n;
    int64_t bytes, by_threads;
    bool unknown;
} Stored;

static void add_stored(Op *op, void *ctx) {
    Stored *s = ctx;
    Taken t = {ways_of_roles(s->x, op), 0};
    if (op->code == OP_DESC_STORE && !cost_is_stored_as_held(op->operand[1].value->type))
        t.bytes = block_bytes(op);
    for (int k = 0; k < s->x->nstores; k++)
        if (s->x->store[k].op == op) t.bytes = s->x->store[k].bytes;
    if (t.bytes && s->n < MOST_TAKEN)
        s->by_descriptors[s->n++] = t;
    else
        s->bytes += t.bytes;
    if (op->code != OP_STORE) return;
    s->unknown = true;
    s->by_threads += type_bytes(op->operand[1].value->type);
}

static Stored what_is_stored(const Specialize *x) {
    Stored s = {.x = x};
    ir_walk(x->f->body, add_stored, &s);
    s.bytes += most_at_once(s.by_descriptors, s.n);
    return s;
}

/* What a program has where as many warps consume as are to be on a multiprocessor. */
static int64_t shared_of_program(const Specialize *x) {
    int64_t programs = (COST_ROLES_CONSUMERS + x->f->num_warps - 1) / x->f->num_warps;
    return cost_share_of(x->ctx->target, programs);
}

/* Stages of so many bytes that fit, where as many warps as are to be on a multiprocessor are; or
 * where one program is, if that would be too few. */
static int stages_that_fit(const Specialize *x, int64_t bytes) {
    Stored s = what_is_stored(x);
    if (s.unknown || (s.bytes > COST_ROLES_REST && s.bytes > bytes_of_stores(x, NULL)))
        s.bytes = COST_ROLES_REST;
    int64_t most = (shared_of_program(x) - s.bytes - COST_STAGE_ALIGN) / bytes;
    return (int)(most < LEAST_STAGES ? (x->ctx->target->max_shared - COST_ROLES_REST) / bytes
                                     : most);
}

/* Where programs stay the block that is held comes for the next place while this one's dots take
 * it, if that leaves them their stages. */
static void hold_two(Specialize *x) {
    Stored s = what_is_stored(x);
    int64_t left = shared_of_program(x) - s.bytes - s.by_threads - bytes_of_groups(x, ALL_STAGES);
    for (int i = 0; i < x->n; i++) {
        Group *g = &x->group[i];
        if (!g->held || !loop_around(g->held) || left - g->bytes < COST_HELD_REST) continue;
        g->stages = 2;
        left -= g->bytes;
    }
}

bool has_room(Specialize *x) {
    const Op *loop = x->group[0].dot[0]->block->parent;
    int64_t all = bytes_of_groups(x, ONE_STAGE_BROUGHT); /* held: as a copy by threads would take */
    int asked = 0;
    for (int i = 0; i < x->n; i++) {
        if (x->group[i].held) continue;
        if (x->group[i].stages > asked) asked = x->group[i].stages;
        if (x->group[i].stages < LEAST_STAGES) return false; /* it was asked not to be ahead */
    }
    int most = stages_that_fit(x, all);
    if (most < LEAST_STAGES)
        diag(&x->s->diags, P_ROLES, loop->span,
             "no warp of its own brings blocks: two stages of %lld bytes, and %d for what else "
             "goes through shared memory, are more than %s has",
             (long long)all, COST_ROLES_REST, x->ctx->target->name);
    else if (most < asked && !x->f->entry_of)
        diag(&x->s->diags, P_STAGES, loop->span,
             "a stage of this loop takes %lld bytes of shared memory: %d stages instead of %d",
             (long long)all, most, asked);
    for (int i = 0; i < x->n; i++)
        if (x->group[i].stages > most) x->group[i].stages = most;
    if (most >= LEAST_STAGES) hold_two(x);
    return most >= LEAST_STAGES;
}
