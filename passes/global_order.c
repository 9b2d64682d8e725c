/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* global_order.c: which accesses to global memory need a barrier between them.
 *
 * The language is about whole tiles: what one operation stores, the next one loads. On a GPU each
 * thread does its own elements when it gets there, so where an element is accessed by two threads,
 * one of them writing, a barrier has to keep the order. None is needed between pointers into two
 * parameters, which are taken to point to different memory, as in Triton; where affine forms show
 * that the addresses differ, in this iteration of a loop and in later ones; and where one thread
 * accesses the element both times. */
#include "passes/global_order.h"
#include "ir/effects.h"
#include "passes/cost.h"

/* ---- what accesses there are ---- */

static bool touches(const Op *op, GlobalAccess *x) {
    unsigned effects = op->noperands ? ir_operand_effects(op, 0) & EFFECT_GLOBAL : EFFECT_NONE;
    /* What the copy engine reads no barrier of threads orders: who starts it has to. */
    if (!effects || op->operand[0].value->type.space == SPACE_DESC) return false;
    *x = (GlobalAccess){.op = op,
                        .kind = op_is_atomic_update(op)          ? GLOBAL_ATOMIC
                                : effects & EFFECT_WRITES_GLOBAL ? GLOBAL_WRITE
                                                                 : GLOBAL_READ,
                        .pointer = op->operand[0].value,
                        .mask = ir_access_mask(op),
                        .in_flight = op->code == OP_ASYNC_COPY};
    return true;
}

typedef struct Survey { /* the bases that are written, and all */
    const AffineTable *affine;
    VEC(const Value *) written, all;
    Session *s;
} Survey;

static void survey(Op *op, void *ctx) {
    Survey *v = ctx;
    GlobalAccess x = {.kind = GLOBAL_WRITE};
    if (op_is_async_store(op))
        x.pointer = op->operand[0].value->def->operand[0].value;
    else if (!touches(op, &x))
        return;
    const Affine *a = affine_of(v->affine, x.pointer);
    vec_push(&v->s->arena, &v->all, a->base);
    if (x.kind != GLOBAL_READ) vec_push(&v->s->arena, &v->written, a->base);
}

static void count_writes(Op *op, void *ctx) {
    int *n = ctx;
    GlobalAccess x = {.kind = GLOBAL_WRITE};
    if (!op_is_async_store(op) && !touches(op, &x)) return;
    n[0]++;
    n[1] += x.kind != GLOBAL_READ;
}

GlobalOrder global_order(PassCtx *ctx) {
    GlobalOrder o = {.ctx = ctx};
    int n[2] = {0, 0};
    ir_walk(ctx->f->body, count_writes, n);
    if (n[0] < 2 || !n[1]) return o;
    o.affine = affine_analyse(ctx->s, ctx->f);
    Survey v = {.affine = &o.affine, .s = ctx->s};
    ir_walk(ctx->f->body, survey, &v);
    for (int i = 0; i < v.written.n && !o.matters; i++) {
        int meets = 0;
        for (int k = 0; k < v.all.n && meets < 2; k++)
            meets += affine_bases_meet(v.written.at[i], v.all.at[k]);
        o.matters = meets > 1; /* itself, and another */
    }
    return o;
}

bool global_access(const GlobalOrder *o, const Op *op, GlobalAccess *out) {
    return o->matters && touches(op, out);
}

/* ---- do two meet? ---- */

/* What a number is no less and no more than; INT64_MIN and INT64_MAX: no end is known. */
typedef struct Range {
    int64_t least, most;
} Range;

static int64_t scaled(int64_t v, int64_t by) {
    bool open = v == INT64_MIN || v == INT64_MAX;
    int64_t r;
    if (!by) return 0;
    if (!open && !__builtin_mul_overflow(v, by, &r)) return r;
    return (v < 0) == (by < 0) ? INT64_MAX : INT64_MIN;
}

static Range times(Range r, int64_t by) {
    int64_t x = scaled(r.least, by), y = scaled(r.most, by);
    return by < 0 ? (Range){y, x} : (Range){x, y};
}

static Range plus(Range a, Range b) {
    Range r;
    if (a.least == INT64_MIN || b.least == INT64_MIN ||
        __builtin_add_overflow(a.least, b.least, &r.least))
        r.least = INT64_MIN;
    if (a.most == INT64_MAX || b.most == INT64_MAX ||
        __builtin_add_overflow(a.most, b.most, &r.most))
        r.most = INT64_MAX;
    return r;
}

static Range range_of(const GlobalOrder *o, const Value *v, int depth);

static Range range_of_form(const GlobalOrder *o, const Affine *a, int depth) {
    Range r = {a->constant, a->constant};
    for (int i = 0; i < a->nscalars; i++)
        r = plus(r, times(range_of(o, a->scalar[i].value, depth), a->scalar[i].factor));
    return r;
}

/* A scalar that is a term of its own. */
static Range range_of(const GlobalOrder *o, const Value *v, int depth) {
    Range r = {INT64_MIN, INT64_MAX};
    if (op_is(v, OP_PROGRAM_ID)) r.least = 0;
    if (op_is(v, OP_NUM_PROGRAMS) || op_is(v, OP_WORK_SIZE)) r.least = 1;
    bool number = !v->type.depth && !v->type.rank; /* else it is by how much a tile has moved */
    if (number && type_is_int(v->type) && !type_is_signed(v->type)) r.least = 0;
    const Op *loop = v->def ? NULL : v->block->parent;
    int64_t by;
    if (!loop || loop->code != OP_FOR || v->index || !depth || !number) return r;
    /* A counter: from the start, in the direction of the step. */
    const Affine *start = affine_of(&o->affine, loop->operand[0].value);
    Range first = range_of_form(o, start, depth - 1);
    if (affine_step(&o->affine, v, &by) && by < 0)
        r.most = first.most;
    else if (range_of_form(o, o->affine.step[v->id], depth - 1).least >= 0)
        r.least = first.least;
    return r;
}

enum { LOOPS_DEEP = 3 }; /* counters that start where other counters are */

typedef struct Difference { /* of two addresses in bytes, without the terms over tiles */
    Range constant;         /* in any case */
    Range step;             /* and for each iteration between them, of which there is one or more */
} Difference;

/* How v, factor x in the earlier address and y in the later one, makes them differ. */
static void add_difference(const GlobalOrder *o, Difference *d, const Value *v, int64_t x,
                           int64_t y, const Op *loop) {
    Range r = range_of(o, v, LOOPS_DEEP);
    bool same = !loop || ir_defined_outside(v, loop);
    bool counts = !same && !v->def && v->block == loop->region[0] && o->affine.step[v->id];
    if (same || counts) {
        d->constant = plus(d->constant, times(r, y - x));
        if (counts)
            d->step = plus(d->step, times(range_of_form(o, o->affine.step[v->id], LOOPS_DEEP), y));
    } else {
        d->constant = plus(d->constant, plus(times(r, y), times(r, -x)));
    }
}

/* The scalar part of b, reached in a later iteration of `loop` (NULL: in the same), less that of a.
 */
static Difference difference(const GlobalOrder *o, const Affine *a, const Affine *b,
                             const Op *loop) {
    Difference d = {{b->constant - a->constant, b->constant - a->constant}, {0, 0}};
    int i = 0, k = 0;
    while (i < a->nscalars || k < b->nscalars) {
        const AffineTerm *x = i < a->nscalars ? &a->scalar[i] : NULL;
        const AffineTerm *y = k < b->nscalars ? &b->scalar[k] : NULL;
        bool left = x && (!y || x->value->id <= y->value->id);
        bool right = y && (!x || y->value->id <= x->value->id);
        add_difference(o, &d, left ? x->value : y->value, left ? x->factor : 0,
                       right ? y->factor : 0, loop);
        i += left;
        k += right;
    }
    return d;
}

static bool same_tile(const Affine *a, const Affine *b, const Op *loop) {
    if (a->ntiles != b->ntiles) return false;
    for (int i = 0; i < a->ntiles; i++) {
        const Value *v = a->tile[i].value;
        if (v != b->tile[i].value || a->tile[i].factor != b->tile[i].factor) return false;
        if (loop && !ir_defined_outside(v, loop)) return false;
    }
    return true;
}

/* One thread has to do with each element of x's tile, and the same one with y's. */
static bool same_threads(const GlobalAccess *x, const GlobalAccess *y) {
    const Layout *l = x->pointer->layout, *m = y->pointer->layout;
    if (!l || !m) /* a scalar is stored by thread 0, and loaded by all */
        return !l && !m && x->kind != GLOBAL_READ && y->kind != GLOBAL_READ;
    return l == m && !layout_broadcast_bits(l, IN_LANE) && !layout_broadcast_bits(l, IN_WARP);
}

static int64_t element_bytes(const Value *pointer) {
    return type_elem_bytes(type_element(type_pointee(pointer->type)));
}

/* An element of x, and later one of y, may lie at one address and be another thread's. */
static bool meet(const GlobalOrder *o, const GlobalAccess *x, const GlobalAccess *y) {
    const Affine *a = affine_of(&o->affine, x->pointer), *b = affine_of(&o->affine, y->pointer);
    if (!affine_bases_meet(a->base, b->base)) return false;
    if (a->base != b->base) return true;
    Difference d = difference(o, a, b, x->carried);
    Range apart = d.constant; /* how far y's elements may lie above x's, an iteration later */
    if (x->carried) apart = plus(apart, d.step);
    if (a->bounded && b->bounded)
        apart = plus(apart, (Range){b->least - a->most, b->most - a->least});
    else
        apart = (Range){INT64_MIN, INT64_MAX};
    if (d.step.least >= 0 && apart.least != INT64_MIN && apart.least >= element_bytes(x->pointer))
        return false;
    if (d.step.most <= 0 && apart.most != INT64_MAX && apart.most <= -element_bytes(y->pointer))
        return false;
    bool still = !d.constant.least && !d.constant.most && !d.step.least && !d.step.most;
    if (!still || !same_tile(a, b, x->carried) || !same_threads(x, y)) return true;
    if (!x->pointer->type.rank || affine_is_injective(a, x->pointer->type)) return false;
    /* What a store puts at one address twice is the same, so who loads it has stored it himself. */
    return x->kind != GLOBAL_WRITE || y->kind != GLOBAL_READ || x->mask != y->mask;
}

const GlobalAccess *global_conflict(const GlobalOrder *o, const GlobalAccesses *before,
                                    const GlobalAccess *y) {
    for (int i = 0; i < before->n; i++) {
        const GlobalAccess *x = &before->at[i];
        if (x->kind == GLOBAL_READ && y->kind == GLOBAL_READ) continue;
        if (x->kind == GLOBAL_ATOMIC && y->kind == GLOBAL_ATOMIC) continue; /* order of their own */
        if (!x->op || meet(o, x, y)) return x;
    }
    return NULL;
}

/* ---- what is kept ---- */

void global_note(const GlobalOrder *o, GlobalAccesses *all, GlobalAccess x) {
    for (int i = 0; i < all->n; i++) {
        const GlobalAccess *y = &all->at[i];
        if (!y->op) return; /* any address */
        if (y->kind == x.kind && y->pointer == x.pointer && y->mask == x.mask &&
            y->carried == x.carried && y->in_flight == x.in_flight)
            return;
    }
    if (all->n >= COST_MOST_ACCESSES) { /* one write that may be anywhere */
        all->n = 0;
        x = (GlobalAccess){.kind = GLOBAL_WRITE};
    }
    vec_push(&o->ctx->s->arena, all, x);
}

void global_stored(const GlobalOrder *o, GlobalAccesses *all) {
    if (o->matters) global_note(o, all, (GlobalAccess){.kind = GLOBAL_WRITE});
}

void global_merge(const GlobalOrder *o, GlobalAccesses *into, const GlobalAccesses *from) {
    for (int i = 0; i < from->n; i++) global_note(o, into, from->at[i]);
}

void global_carry(const GlobalOrder *o, GlobalAccesses *into, const GlobalAccesses *end,
                  const Op *loop) {
    bool programs = ir_attr_int(loop, AT_PARALLEL, 0); /* the iterations are: in no order */
    for (int i = 0; i < end->n; i++) {
        GlobalAccess x = end->at[i];
        bool within = x.op && ir_inside(x.op, loop);
        if (within && programs && (x.op->code == OP_LOAD || x.op->code == OP_STORE)) continue;
        if (within) x.carried = loop;
        global_note(o, into, x);
    }
}

void global_forget(GlobalAccesses *all) {
    int kept = 0;
    for (int i = 0; i < all->n; i++)
        if (all->at[i].in_flight) all->at[kept++] = all->at[i];
    all->n = kept;
}

void global_landed(GlobalAccesses *all) {
    for (int i = 0; i < all->n; i++) all->at[i].in_flight = false;
}
