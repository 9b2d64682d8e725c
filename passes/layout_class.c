/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* layout_class.c: the ops of a function -> classes of values that share a layout (layout.c).
 *
 * What an elementwise op or a loop unifies is one class (union-find). Accesses of memory and dots
 * are anchors: a class takes the layout of its strongest one, when that is asked for first. */
#include "ir/effects.h"
#include "ir/roles.h"
#include "passes/cost.h"
#include "passes/layout_assign.h"

static uint32_t find(Assign *a, uint32_t x) {
    while (a->class_[x].parent != x) {
        a->class_[x].parent = a->class_[a->class_[x].parent].parent;
        x = a->class_[x].parent;
    }
    return x;
}

/* A rematerialisable value unifies nothing: each use gets its own. */
static void unify(Assign *a, const Value *x, const Value *y) {
    if (!type_is_tile(x->type) || !type_is_tile(y->type)) return;
    if (a->remat_depth[x->id] || a->remat_depth[y->id]) return;
    a->class_[find(a, x->id)].parent = find(a, y->id);
}

static void unify_structured(Assign *a, Op *op) {
    const Op *last = op->region[op->nregions - 1]->last;
    switch (op->code) {
    case OP_FOR:
        for (int i = 0; i < op->nresults; i++) {
            unify(a, op->operand[3 + i].value, op->region[0]->args[1 + i]);
            unify(a, op->result[i], op->region[0]->args[1 + i]);
            unify(a, last->operand[i].value, op->region[0]->args[1 + i]);
        }
        break;
    case OP_WHILE: {
        const Op *cond = op->region[0]->last;
        for (int i = 0; i < op->noperands; i++) {
            unify(a, op->operand[i].value, op->region[0]->args[i]);
            unify(a, last->operand[i].value, op->region[0]->args[i]);
        }
        for (int i = 0; i < op->nresults; i++) {
            unify(a, op->result[i], cond->operand[1 + i].value);
            unify(a, op->region[1]->args[i], cond->operand[1 + i].value);
        }
        break;
    }
    case OP_IF:
        for (int i = 0; i < op->nresults; i++) {
            unify(a, op->region[0]->last->operand[i].value, op->result[i]);
            unify(a, last->operand[i].value, op->result[i]);
        }
        break;
    default: break;
    }
}

static void unify_op(Op *op, void *ctx) {
    Assign *a = ctx;
    if (op->nregions) unify_structured(a, op);
    if (op->code == OP_DOT) unify(a, op->operand[2].value, op->result[0]);
    if (op->code == OP_SCAN)
        for (int i = 0; i < op->nresults; i++) unify(a, op->operand[i].value, op->result[i]);
    if (op->code == OP_MAP) {
        for (int i = 1; i < op->noperands; i++)
            unify(a, op->operand[i].value, op->operand[0].value);
        for (int i = 0; i < op->nresults; i++) unify(a, op->result[i], op->operand[0].value);
    }
    if (op->code == OP_GATHER) unify(a, op->operand[1].value, op->result[0]);
    if (op->code == OP_DOT_WAIT) unify(a, op->operand[0].value, op->result[0]);
    if (op->code == OP_FRAGMENT_ADD) unify(a, op->operand[0].value, op->result[0]);
    if (op->code == OP_FRAGMENT_LOAD) unify(a, op->operand[1].value, op->result[0]);
    if (op->code == OP_ASYNC_COPY && op->noperands > 3)
        unify(a, op->operand[3].value, op->operand[0].value);
    if (!(op_traits(op) & TRAIT_E)) return;
    /* A store only consumes: what it stores keeps its own layout if that is good enough. */
    const Value *with = NULL;
    for (int i = 0; i < op->noperands + op->nresults; i++) {
        const Value *v = i < op->noperands ? op->operand[i].value : op->result[i - op->noperands];
        if ((op->code == OP_STORE && i == 1) || !type_is_tile(v->type) || a->remat_depth[v->id])
            continue;
        if (with) unify(a, v, with);
        with = v;
    }
}

/* The broadcast that v goes to, through changes of shape and arithmetic; NULL: to another use, too,
 * or to none. Ways that meet again are looked at once. */
static const Op *spread_by(Assign *a, const Value *v, int depth) {
    const Op *found = NULL;
    if (depth > COST_MOST_REMAT_DEPTH) return NULL;
    if (a->spread_known[v->id]) return a->spread[v->id];
    a->spread_known[v->id] = true;
    for (const Use *u = v->uses; u; u = u->next) {
        const Op *by = u->op;
        if (by->code != OP_BROADCAST) {
            bool moves_on = by->code == OP_RESHAPE || (op_traits(by) & TRAIT_E);
            by = moves_on && !ir_effects(by) ? spread_by(a, by->result[0], depth + 1) : NULL;
        }
        if (!by) return NULL;
        found = by;
    }
    a->spread[v->id] = found;
    return found;
}

/* A vector of which each thread would load one element or less, to hand it on to others, is loaded
 * by all that need it: the cache has it, and shared memory costs a barrier. NULL: this is none. */
static const Op *load_is_repeated(Assign *a, const Op *op) {
    const Value *v = op->result[0];
    int threads = LANE_BITS + log2_of(warps_of_value(a->f, v));
    bool vector = type_log2_numel(v->type) <= threads && !ir_attr_int(op, AT_VOLATILE, 0);
    return vector ? spread_by(a, v, 0) : NULL;
}

static void note_store(Assign *a, const Op *store) {
    const Value *v = store->operand[1].value;
    if (!type_is_tile(v->type) || a->remat_depth[v->id]) return;
    Class *c = &a->class_[find(a, v->id)];
    Access x = choose_access(&a->axis, store);
    if (!c->is_stored || x.vec > c->stored.vec) c->stored = x;
    c->is_stored = true;
}

/* Loads that come element by element have no wish but that lanes follow the dimension; a store of
 * what they bring may have one. Index arithmetic is done once for a run then, too. */
static Access wish_of(const Class *c) {
    Access x = c->access;
    if (x.vec == 0 && c->stored.dim == x.dim)
        x.vec = c->stored.vec < log2_of(COST_MOST_SINGLE_LOADS) ? c->stored.vec
                                                                : log2_of(COST_MOST_SINGLE_LOADS);
    return x;
}

static int loops_around(const Op *op) {
    int n = 0;
    for (const Op *o = op->block->parent; o; o = o->block->parent)
        n += o->code == OP_FOR || o->code == OP_WHILE;
    return n;
}

static void note_depth(const Op **deepest, const Op *op) {
    if (!*deepest || loops_around(op) > loops_around(*deepest)) *deepest = op;
}

/* What a loop carries on from memory is reduced there in each iteration: it is loaded once as the
 * reduction leaves it. */
static bool is_reduced_deeper(const Class *c) {
    return c->deepest_reduce && c->deepest_load &&
           loops_around(c->deepest_reduce) > loops_around(c->deepest_load);
}

static void anchor_op(Op *op, void *ctx) {
    Assign *a = ctx;
    if (op->code == OP_STORE) note_store(a, op);
    if (op->code == OP_DOT) {
        Class *c = &a->class_[find(a, op->result[0]->id)];
        if (c->rank == 2) return;
        c->layout = intern_layout(
            a->s, choose_dot(op, layout_warps_of_block(a->f, op->block), a->ctx->target).acc);
        c->rank = 2;
    }
    if (op->code == OP_REDUCE)
        for (int i = 0; i < op->nresults; i++) {
            Class *c = &a->class_[find(a, op->result[i]->id)];
            if (!type_is_tile(op->result[i]->type)) continue;
            if (!c->reduce) c->reduce = op;
            note_depth(&c->deepest_reduce, op);
        }
    if (op->code == OP_SHARED_LOAD) { /* in whatever layout it is needed */
        Class *c = &a->class_[find(a, op->result[0]->id)];
        if (!c->rank && !c->repeat) c->repeat = spread_by(a, op->result[0], 0);
    }
    if (op->code != OP_LOAD && op->code != OP_ASYNC_COPY) return;
    const Value *held = op->code == OP_LOAD ? op->result[0] : op->operand[0].value;
    if (!type_is_tile(held->type)) return;
    Class *c = &a->class_[find(a, held->id)];
    if (c->rank == 2) return;
    note_depth(&c->deepest_load, op);
    Access x = choose_access(&a->axis, op);
    int bytes = type_elem_bytes(type_pointee(op->operand[0].value->type));
    /* No access of the class should make a thread's run so long that its lanes lie far apart. */
    int limit = log2_of(COST_MOST_RUN_BYTES / bytes);
    const Op *repeat = op->code == OP_LOAD ? load_is_repeated(a, op) : NULL;
    if (c->rank == 0) {
        c->repeat = repeat;
        c->access = x;
        c->bytes = bytes;
    } else {
        int most = log2_of(COST_MOST_RUN_BYTES / c->bytes);
        if (x.vec + log2_of(bytes) > c->access.vec + log2_of(c->bytes)) c->access.dim = x.dim;
        if (x.vec > c->access.vec) c->access.vec = x.vec;
        if (c->access.vec > most) c->access.vec = most;
        if (c->bytes < bytes) c->bytes = bytes;
        if (!repeat) c->repeat = NULL;
    }
    if (c->access.vec > limit) c->access.vec = limit;
    c->rank = 1;
}

const Layout *class_layout(Assign *a, const Value *v, const Layout *otherwise) {
    Class *c = &a->class_[find(a, v->id)];
    const Op *repeat = c->repeat;
    c->repeat = NULL; /* what it spreads may be the same class */
    const Class *wide = repeat ? layout_class_of(a, repeat->result[0]) : NULL;
    if (!c->layout && wide && (wide->layout || wide->rank || wide->reduce)) {
        const Layout *l = operand_layout(a, repeat, 0, class_layout(a, repeat->result[0], NULL));
        if (!c->rank || 1 << l->bits[IN_REG] <= COST_MOST_REPEATED) c->layout = l; /* 0: shared */
    }
    if (!c->layout) {
        if (c->rank == 1 && !is_reduced_deeper(c))
            c->layout = intern_layout(
                a->s, choose_access_layout(v->type, wish_of(c), warps_of_value(a->f, v)));
        else if (c->reduce)
            c->layout = reduced_layout(a, c->reduce);
        else if (otherwise)
            c->layout = otherwise;
        else if (c->is_stored)
            c->layout = intern_layout(
                a->s, choose_access_layout(v->type, c->stored, warps_of_value(a->f, v)));
        else
            c->layout =
                intern_layout(a->s, choose_default_layout(v->type, warps_of_value(a->f, v)));
    }
    return c->layout;
}

Class *layout_class_of(Assign *a, const Value *v) {
    return &a->class_[find(a, v->id)];
}

void layout_make_classes(Assign *a) {
    for (uint32_t i = 0; i < a->n; i++) a->class_[i].parent = i;
    ir_walk(a->f->body, unify_op, a);
    ir_walk(a->f->body, anchor_op, a);
}
