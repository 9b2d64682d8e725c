/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* affine.c: a function -> the affine form of its integers and pointers (see affine.h).
 *
 * One walk in the order of definitions; what a loop carries as a pointer or tile is taken to be its
 * initial value plus a term for itself, the same for all elements, and when what comes round is not
 * that plus scalars, the walk is made again without the belief. */
#include "ir/analysis/affine.h"
#include "ir/analysis/alias.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_TERMS = 12, MOST_ROUNDS = 8 };
static const int64_t MOST_BYTES = (int64_t)1 << 50; /* of any number here: sums cannot overflow */

typedef struct Analysis {
    Session *s;
    AffineTable t;
    bool *opaque; /* by value number: loop arguments that are no sum with their initial value */
    bool again;
} Analysis;

static bool has_form(Type t) {
    return t.space == SPACE_REGISTER && (t.depth || (type_is_int(t) && !type_is_bool(t)));
}

const Affine *affine_of(const AffineTable *t, const Value *v) {
    return v->id < t->n ? t->form[v->id] : NULL;
}

/* ---- forms ---- */

static bool too_large(int64_t v) {
    return v > MOST_BYTES || v < -MOST_BYTES;
}

/* into += from * factor, both sorted; false when there are too many terms, or numbers too large. */
static bool add_terms(AffineTerm *into, int *n, const AffineTerm *from, int nfrom, int64_t factor) {
    AffineTerm sum[2 * MOST_TERMS];
    int k = 0, i = 0, j = 0;
    while (i < *n || j < nfrom) {
        bool left = j == nfrom || (i < *n && into[i].value->id <= from[j].value->id);
        bool right = i == *n || (j < nfrom && from[j].value->id <= into[i].value->id);
        AffineTerm t = {left ? into[i].value : from[j].value, left ? into[i].factor : 0};
        if (right) t.factor += from[j].factor * factor;
        i += left;
        j += right;
        if (too_large(t.factor)) return false;
        if (t.factor) sum[k++] = t;
    }
    if (k > MOST_TERMS) return false;
    memcpy(into, sum, (size_t)k * sizeof *sum);
    *n = k;
    return true;
}

typedef struct Draft { /* a form with room */
    Affine a;
    AffineTerm scalar[MOST_TERMS], tile[MOST_TERMS];
} Draft;

static void start(Draft *d) {
    memset(d, 0, sizeof *d);
    d->a.bounded = d->a.strided = true;
}

/* d += x * factor, element by element. */
static bool add_form(Draft *d, const Affine *x, int64_t factor) {
    if (!x || too_large(factor) || too_large(x->constant)) return false;
    if (x->base && (d->a.base || factor != 1)) return false;
    if (x->base) d->a.base = x->base;
    d->a.constant += x->constant * factor;
    if (too_large(d->a.constant)) return false;
    for (int i = 0; i < x->nscalars; i++)
        if (too_large(x->scalar[i].factor)) return false;
    if (!add_terms(d->scalar, &d->a.nscalars, x->scalar, x->nscalars, factor)) return false;
    if (!add_terms(d->tile, &d->a.ntiles, x->tile, x->ntiles, factor)) return false;
    d->a.bounded &= x->bounded;
    d->a.strided &= x->strided;
    d->a.least += (factor < 0 ? x->most : x->least) * factor;
    d->a.most += (factor < 0 ? x->least : x->most) * factor;
    if (too_large(d->a.least) || too_large(d->a.most)) d->a.bounded = false;
    for (int k = 0; k < TILE_MAX_RANK; k++) d->a.stride[k] += x->stride[k] * factor;
    return true;
}

static void store_form(Analysis *a, const Value *v, const Draft *d) {
    Affine *f = arena_copy(&a->s->arena, &d->a, sizeof d->a);
    f->scalar = f->tile = NULL;
    if (f->nscalars)
        f->scalar = arena_copy(&a->s->arena, d->scalar, (size_t)f->nscalars * sizeof *f->scalar);
    if (f->ntiles) f->tile = arena_copy(&a->s->arena, d->tile, (size_t)f->ntiles * sizeof *f->tile);
    if (!f->bounded) f->least = f->most = 0;
    a->t.form[v->id] = f;
}

/* v is a term of its own; an address, a base. */
static void store_term(Analysis *a, const Value *v) {
    Draft d;
    start(&d);
    if (v->type.depth && !v->type.rank) {
        d.a.base = v;
    } else {
        bool tile = v->type.rank > 0;
        *(tile ? d.tile : d.scalar) = (AffineTerm){v, 1};
        *(tile ? &d.a.ntiles : &d.a.nscalars) = 1;
        d.a.bounded = d.a.strided = !tile;
        if (v->type.depth) d.a.base = v;
    }
    store_form(a, v, &d);
}

/* ---- operations ---- */

static bool constant_of(const Affine *x, int64_t *out) {
    if (!x || x->base || x->nscalars || x->ntiles) return false;
    *out = x->constant;
    return true;
}

/* The tile's terms, moved about by v's operation, are one term; scalars stay what they are. */
static bool moved(const Op *op, const Affine *x, Draft *d) {
    if (!add_form(d, x, 1)) return false;
    if (!x->ntiles) return true;
    const Value *v = op->result[0];
    d->tile[0] = (AffineTerm){v, 1};
    d->a.ntiles = 1;
    Type from = op->operand[0].value->type, to = v->type;
    memset(d->a.stride, 0, sizeof d->a.stride);
    if (op->code == OP_BROADCAST) {
        memcpy(d->a.stride, x->stride, sizeof d->a.stride);
    } else if (op->code == OP_TRANS) {
        const Attr *order = ir_attr(op, AT_ORDER);
        for (int i = 0; i < to.rank; i++) d->a.stride[i] = x->stride[order->dims[i]];
    } else { /* a reshape that only adds or drops dimensions of size 1 */
        int i = 0, k = 0;
        while (d->a.strided && (i < from.rank || k < to.rank)) {
            while (i < from.rank && !from.log2[i]) i++;
            while (k < to.rank && !to.log2[k]) k++;
            bool end = i == from.rank || k == to.rank;
            d->a.strided = end ? i == from.rank && k == to.rank : from.log2[i] == to.log2[k];
            if (end) break;
            d->a.stride[k++] = x->stride[i++];
        }
    }
    return true;
}

bool affine_keeps_number(const Op *op) {
    Type from = op->operand[0].value->type, to = op->result[0]->type;
    return !from.depth && !to.depth && has_form(from) && has_form(to) &&
           type_elem_bits(to) >= type_elem_bits(from);
}

static bool form_of(const Analysis *a, const Op *op, Draft *d) {
    const Affine *x = op->noperands ? affine_of(&a->t, op->operand[0].value) : NULL;
    const Affine *y = op->noperands > 1 ? affine_of(&a->t, op->operand[1].value) : NULL;
    int64_t by;
    switch (op->code) {
    case OP_CONST:
        d->a.constant = ir_attr_int(op, AT_VALUE, 0);
        return !op->result[0]->type.depth && !too_large(d->a.constant);
    case OP_ARANGE:
        if (!op->result[0]->type.rank) return false;
        d->tile[0] = (AffineTerm){op->result[0], 1};
        d->a.ntiles = 1;
        d->a.least = ir_attr_int(op, AT_START, 0);
        d->a.most = ir_attr_int(op, AT_END, 0) - 1;
        d->a.stride[0] = 1;
        d->a.constant = 0;
        return true;
    case OP_SPLAT:
    case OP_HINT:
    case OP_CONVERT: return add_form(d, x, 1);
    case OP_BROADCAST:
    case OP_RESHAPE:
    case OP_TRANS: return moved(op, x, d);
    case OP_ADD: return add_form(d, x, 1) && add_form(d, y, 1);
    case OP_SUB: return add_form(d, x, 1) && add_form(d, y, -1);
    case OP_NEG: return add_form(d, x, -1);
    case OP_MUL:
        if (constant_of(x, &by)) return add_form(d, y, by);
        return constant_of(y, &by) && add_form(d, x, by);
    case OP_SHL:
        return constant_of(y, &by) && by >= 0 && by < 32 && add_form(d, x, (int64_t)1 << by);
    case OP_CAST: return affine_keeps_number(op) && add_form(d, x, 1);
    case OP_ADDPTR:
        by = ir_attr_int(op, AT_BYTES, 0)
                 ? 1
                 : type_elem_bytes(type_element(type_pointee(op->operand[0].value->type)));
        return add_form(d, x, 1) && add_form(d, y, by);
    default: return false;
    }
}

/* A pointer that a branch or a choice gives: of one base when both sides are. */
static void common_base(Analysis *a, const Value *v, const Affine *x, const Affine *y) {
    store_term(a, v);
    if (v->type.depth && x && y && x->base == y->base) a->t.form[v->id]->base = x->base;
}

/* ---- control ---- */

/* An argument that a `for` carries: itself a term, or, of an address or tile, its initial value
 * plus itself. */
static void enter_loop(Analysis *a, const Op *loop) {
    const Block *body = loop->region[0];
    for (int i = 0; i < body->nargs; i++) {
        const Value *arg = body->args[i];
        if (!has_form(arg->type)) continue;
        bool plain = i == 0 || (!arg->type.depth && !arg->type.rank);
        const Affine *init = plain ? NULL : affine_of(&a->t, loop->operand[2 + i].value);
        Draft d;
        start(&d);
        AffineTerm self = {arg, 1};
        if (plain || a->opaque[arg->id] || !add_form(&d, init, 1) ||
            !add_terms(d.scalar, &d.a.nscalars, &self, 1, 1))
            store_term(a, arg);
        else
            store_form(a, arg, &d);
    }
}

static bool same_terms(const AffineTerm *x, int nx, const AffineTerm *y, int ny) {
    for (int i = 0; i < nx && nx == ny; i++)
        if (x[i].value != y[i].value || x[i].factor != y[i].factor) return false;
    return nx == ny;
}

/* What comes round, less the argument, is what an iteration adds. */
static void leave_loop(Analysis *a, const Op *loop) {
    const Block *body = loop->region[0];
    a->t.step[body->args[0]->id] = affine_of(&a->t, loop->operand[2].value);
    for (int i = 1; i < body->nargs; i++) {
        const Value *arg = body->args[i];
        if (!has_form(arg->type)) continue;
        const Affine *x = affine_of(&a->t, arg);
        const Affine *y = affine_of(&a->t, body->last->operand[i - 1].value);
        bool sum = y && x->base == y->base && same_terms(x->tile, x->ntiles, y->tile, y->ntiles);
        if (!sum) {
            bool plain = !arg->type.depth && !arg->type.rank;
            if (!plain && !a->opaque[arg->id]) a->opaque[arg->id] = a->again = true;
            continue;
        }
        Draft d;
        start(&d);
        Affine x0 = *x, y0 = *y;
        x0.base = y0.base = NULL;
        x0.ntiles = y0.ntiles = 0;
        if (add_form(&d, &y0, 1) && add_form(&d, &x0, -1)) {
            Affine *step = arena_copy(&a->s->arena, &d.a, sizeof d.a);
            step->tile = NULL;
            step->scalar = arena_copy(&a->s->arena, d.scalar, sizeof d.scalar);
            a->t.step[arg->id] = step;
        }
    }
}

static void visit_block(Analysis *a, const Block *b);

static void visit_op(Analysis *a, const Op *op) {
    if (op->code == OP_FOR) {
        enter_loop(a, op);
        visit_block(a, op->region[0]);
        leave_loop(a, op);
    } else {
        for (int r = 0; r < op->nregions; r++) {
            for (int i = 0; i < op->region[r]->nargs; i++)
                if (has_form(op->region[r]->args[i]->type)) store_term(a, op->region[r]->args[i]);
            visit_block(a, op->region[r]);
        }
    }
    for (int i = 0; i < op->nresults; i++) {
        const Value *v = op->result[i];
        Draft d;
        start(&d);
        if (!has_form(v->type)) continue;
        const Affine *side[2] = {NULL, NULL};
        if (op->code == OP_IF || op->code == OP_SELECT)
            for (int k = 0; k < 2; k++)
                side[k] =
                    affine_of(&a->t, op->code == OP_SELECT ? op->operand[1 + k].value
                                                           : op->region[k]->last->operand[i].value);
        if (op->code == OP_FOR) { /* what it ends with has its base, when it was believed */
            const Affine *arg = affine_of(&a->t, op->region[0]->args[1 + i]);
            common_base(a, v, arg, arg);
        } else if (side[0]) {
            common_base(a, v, side[0], side[1]);
        } else if (op->nresults == 1 && form_of(a, op, &d)) {
            store_form(a, v, &d);
        } else {
            store_term(a, v);
        }
    }
}

/* Nesting is bounded where functions are made: a region's blocks are as deep as the source's. */
static void visit_block(Analysis *a, const Block *b) {
    for (const Op *op = b->first; op; op = op->next) visit_op(a, op);
}

AffineTable affine_analyse(Session *s, const Func *f) {
    Analysis a = {.s = s, .t = {.n = f->nvalues}};
    a.t.form = arena_array(&s->arena, f->nvalues, sizeof *a.t.form);
    a.t.step = arena_array(&s->arena, f->nvalues, sizeof *a.t.step);
    a.opaque = arena_alloc(&s->arena, f->nvalues);
    for (int round = 0; round < MOST_ROUNDS; round++) {
        a.again = false;
        if (round == MOST_ROUNDS - 1) memset(a.opaque, 1, f->nvalues);
        for (int i = 0; i < f->nparams; i++)
            if (f->param[i].value && has_form(f->param[i].value->type))
                store_term(&a, f->param[i].value);
        visit_block(&a, f->body);
        if (!a.again) break;
    }
    return a.t;
}

bool affine_step(const AffineTable *t, const Value *arg, int64_t *step) {
    const Affine *a = arg->id < t->n ? t->step[arg->id] : NULL;
    if (!a || a->nscalars || a->ntiles) return false;
    *step = a->constant;
    return true;
}

bool affine_is_injective(const Affine *a, Type shape) {
    if (!a->strided || !shape.rank) return false;
    int64_t reach = 0; /* how far the dimensions of smaller strides go */
    bool done[TILE_MAX_RANK] = {false};
    for (int n = 0; n < shape.rank; n++) {
        int next = -1;
        for (int d = 0; d < shape.rank; d++)
            if (!done[d] && shape.log2[d] &&
                (next < 0 || llabs(a->stride[d]) < llabs(a->stride[next])))
                next = d;
        if (next < 0) return true;
        done[next] = true;
        if (llabs(a->stride[next]) <= reach) return false;
        reach += llabs(a->stride[next]) * (type_dim(shape, next) - 1);
        if (too_large(reach)) return false;
    }
    return true;
}

static bool is_param(const Value *v) {
    return v && !v->def && !v->block->parent;
}

enum { MOST_ORIGINS = 16, MOST_CHOICES = 64 };

typedef struct Origins { /* what an address may have begun as */
    const Value *at[MOST_ORIGINS];
    int n, choices;
    bool unknown;
} Origins;

/* Through selects and branches, whose results are either of two. */
static void add_origins(Origins *o, const Value *v) {
    for (const Value *from = v; from; from = alias_step(v)) v = from;
    const Op *op = v->def;
    bool select = op && op->code == OP_SELECT, branch = op && op->code == OP_IF;
    if (o->unknown || (!select && !branch && !is_param(v)) || o->choices == MOST_CHOICES ||
        o->n == MOST_ORIGINS) {
        o->unknown = true;
    } else if (is_param(v)) {
        o->at[o->n++] = v;
    } else {
        o->choices++;
        for (int i = 0; i < 2; i++)
            add_origins(o, select ? op->operand[1 + i].value
                                  : op->region[i]->last->operand[v->index].value);
    }
}

bool affine_bases_meet(const Value *a, const Value *b) {
    Origins x = {0}, y = {0};
    if (!a || !b || a == b) return true;
    add_origins(&x, a);
    add_origins(&y, b);
    if (x.unknown || y.unknown) return true;
    for (int i = 0; i < x.n; i++)
        for (int k = 0; k < y.n; k++)
            if (x.at[i] == y.at[k]) return true;
    return false;
}
