/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* block.c: a tile of pointers and a mask -> the block of a tensor that they are (see block.h).
 *
 * Every tile is brought into the form uniform + sum of number * factor over its dimensions, all of
 * them polynomials of scalars. What a loop carries is its initial value and, times the number of
 * the iteration, what an iteration adds. The factors of an address are strides; what is uniform is
 * shared out: a term that a stride divides, the one with most symbols first, is that stride times
 * part of the index; others are a stride and an index of their own. */
#include "ir/analysis/block.h"
#include "ir/analysis/affine.h"
#include "ir/desc.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_DEPTH = 96, MOST_VISITS = 2048 }; /* visits: of one access, sums may share parts */

typedef struct Form {
    const Value *base; /* of pointers: a parameter */
    Poly uniform, along[TILE_MAX_RANK];
    bool wraps[TILE_MAX_RANK]; /* the number, and `first` before it, are taken modulo `modulus` */
    Poly first[TILE_MAX_RANK], modulus[TILE_MAX_RANK];
    Poly wide; /* of terms of `uniform` that are worked out in 64 bits */
    bool unknown;
} Form;

typedef struct Self { /* loop arguments whose steps are being worked out */
    const Value *arg;
    const struct Self *outer;
} Self;

typedef struct Walk {
    Session *s;
    const Self *self;
    int depth, visits;
} Walk;

static Form *new_form(const Walk *w) {
    return arena_alloc(&w->s->arena, sizeof(Form));
}

static const Form *unknown(const Walk *w) {
    Form *f = new_form(w);
    f->unknown = true;
    return f;
}

static const Form *of_poly(const Walk *w, Poly p) {
    Form *f = new_form(w);
    f->uniform = p;
    f->unknown = p.unknown;
    return f;
}

/* A scalar that is nothing else; tiles have no symbols. */
static const Form *of_value(const Walk *w, const Value *v) {
    /* As a symbol a loop's index would be the number of the iteration. */
    const Op *loop = v->def ? NULL : v->block->parent;
    if (loop && loop->code == OP_FOR && v == v->block->args[0]) return unknown(w);
    bool number = !v->type.rank && !v->type.depth && type_is_int(v->type);
    if (number) return of_poly(w, poly_symbol(v));
    if (v->type.rank || !v->type.depth || v->def || v->block->parent) return unknown(w);
    Form *f = new_form(w);
    f->base = v;
    return f;
}

static bool is_uniform(const Form *f) {
    for (int d = 0; d < TILE_MAX_RANK; d++)
        if (!poly_is_zero(&f->along[d]) || f->wraps[d]) return false;
    return !f->base && !f->unknown;
}

/* x + y * factor; bases and what wraps come from one of them alone. */
static const Form *sum_of(const Walk *w, const Form *x, const Form *y, int64_t factor) {
    if (x->unknown || y->unknown || (y->base && (x->base || factor != 1))) return unknown(w);
    Form *f = new_form(w);
    *f = *x;
    f->wide = poly_add(&x->wide, &y->wide, factor);
    if (y->base) f->base = y->base;
    f->uniform = poly_add(&x->uniform, &y->uniform, factor);
    f->unknown = f->uniform.unknown;
    for (int d = 0; d < TILE_MAX_RANK; d++) {
        f->along[d] = poly_add(&x->along[d], &y->along[d], factor);
        f->unknown |= f->along[d].unknown || (x->wraps[d] && y->wraps[d]);
        if (!y->wraps[d]) continue;
        f->wraps[d] = true;
        f->first[d] = y->first[d];
        f->modulus[d] = y->modulus[d];
    }
    return f;
}

static const Form *product_of(const Walk *w, const Form *x, const Form *y) {
    if (!is_uniform(y)) {
        const Form *other = x;
        x = y;
        y = other;
    }
    if (x->unknown || x->base || !is_uniform(y)) return unknown(w);
    Form *f = new_form(w);
    *f = *x;
    /* What numbers of a tile are multiplied by is a stride, however wide. */
    Poly by_x = poly_mul(&x->wide, &y->uniform), by_y = poly_mul(&x->uniform, &y->wide);
    f->wide = is_uniform(x) ? poly_add(&by_x, &by_y, 1) : by_x;
    f->uniform = poly_mul(&x->uniform, &y->uniform);
    f->unknown = f->uniform.unknown;
    for (int d = 0; d < TILE_MAX_RANK; d++) {
        f->along[d] = poly_mul(&x->along[d], &y->uniform);
        f->unknown |= f->along[d].unknown;
    }
    return f;
}

/* x modulo y, of a number that goes along one dimension by ones. */
static const Form *remainder_of(const Walk *w, const Form *x, const Form *y) {
    int along = -1;
    int64_t by;
    if (x->unknown || x->base || !is_uniform(y)) return unknown(w);
    for (int d = 0; d < TILE_MAX_RANK; d++) {
        if (x->wraps[d]) return unknown(w);
        if (poly_is_zero(&x->along[d])) continue;
        if (along >= 0 || !poly_is_constant(&x->along[d], &by) || by != 1) return unknown(w);
        along = d;
    }
    if (along < 0) return unknown(w);
    Form *f = new_form(w);
    *f = *x;
    f->wraps[along] = true;
    f->first[along] = x->uniform;
    f->modulus[along] = y->uniform;
    return f;
}

/* Where the operand's dimension d is in the result of an op that moves tiles; -1: it is taken
 * apart. A dimension of 1 is nowhere. */
static int moved_dim(const Op *op, int d) {
    Type from = op->operand[0].value->type, to = op->result[0]->type;
    if (op->code == OP_BROADCAST) return d;
    if (op->code == OP_TRANS) {
        const Attr *order = ir_attr(op, AT_ORDER);
        for (int i = 0; i < to.rank; i++)
            if (order->dims[i] == d) return i;
        return -1;
    }
    int i = 0, k = 0;
    for (;; i++, k++) { /* a reshape that only adds or drops dimensions of size 1 */
        while (i < from.rank && !from.log2[i]) i++;
        while (k < to.rank && !to.log2[k]) k++;
        if (i == from.rank || k == to.rank || from.log2[i] != to.log2[k]) return -1;
        if (i == d) return k;
    }
}

static const Form *moved(const Walk *w, const Op *op, const Form *x) {
    if (x->unknown) return x;
    Form *f = new_form(w);
    f->base = x->base;
    f->uniform = x->uniform;
    f->wide = x->wide;
    Type from = op->operand[0].value->type;
    for (int d = 0; d < from.rank; d++) {
        if (!from.log2[d]) continue; /* its number is 0 */
        if (poly_is_zero(&x->along[d]) && !x->wraps[d]) continue;
        int to = moved_dim(op, d);
        if (to < 0) return unknown(w);
        f->along[to] = x->along[d];
        f->wraps[to] = x->wraps[d];
        f->first[to] = x->first[d];
        f->modulus[to] = x->modulus[d];
    }
    return f;
}

static const Form *form_of(Walk *w, const Value *v);

/* Below 0 its numbers go on at the top, which sums and comparisons of polynomials know nothing of.
 */
static bool is_unsigned(Type t) {
    return !t.depth && elem_info[t.elem].class_ == ELEM_U;
}

static bool op_is_arithmetic(const Op *op) {
    return op->code == OP_ADD || op->code == OP_SUB || op->code == OP_NEG || op->code == OP_MUL ||
           op->code == OP_SHL || op->code == OP_REM;
}

static bool keeps_number(const Op *cast) {
    bool from = is_unsigned(cast->operand[0].value->type), to = is_unsigned(cast->result[0]->type);
    bool wider =
        type_elem_bits(cast->result[0]->type) > type_elem_bits(cast->operand[0].value->type);
    return affine_keeps_number(cast) && (from == to || (from && wider));
}

/* What a `for` carries, or its index: what it begins with and what each iteration adds. */
static const Form *of_argument(Walk *w, const Value *arg) {
    const Op *loop = arg->block->parent;
    const Value *iv = arg->block->args[0];
    for (const Self *s = w->self; s; s = s->outer)
        if (s->arg == arg) return of_poly(w, poly_symbol(arg));
    const Form *init = form_of(w, loop->operand[arg == iv ? 0 : 2 + arg->index].value), *step;
    if (arg == iv) {
        step = form_of(w, loop->operand[2].value);
    } else {
        Self self = {arg, w->self};
        Poly was = poly_symbol(arg);
        w->self = &self;
        Form *next = new_form(w);
        *next = *form_of(w, arg->block->last->operand[arg->index - 1].value);
        w->self = self.outer;
        if (next->unknown) return of_value(w, arg);
        next->uniform = poly_add(&next->uniform, &was, -1);
        step = next;
    }
    if (init->unknown || !is_uniform(step) || !poly_is_invariant(&step->uniform, loop))
        return of_value(w, arg);
    Poly number = poly_symbol(iv);
    return sum_of(w, init, product_of(w, step, of_poly(w, number)), 1);
}

static bool is_wide(const Value *v) {
    return !v->type.depth && type_elem_bits(v->type) > 32 - is_unsigned(v->type);
}

/* All of f is worked out in 64 bits. */
static const Form *all_wide(const Walk *w, const Form *f) {
    Form *wide = new_form(w);
    *wide = *f;
    wide->wide = f->uniform;
    return wide;
}

/* v as such a sum: of an index and the numbers of a tile's elements it is what the index was. */
static const Form *computed_sum(const Walk *w, const Value *v, const Form *x, const Form *y,
                                int64_t factor) {
    const Form *f = sum_of(w, x, y, factor);
    bool one = poly_is_zero(&x->uniform) || poly_is_zero(&y->uniform);
    return f->unknown || one || !is_wide(v) ? f : all_wide(w, f);
}

/* v as such a product: of numbers of a tile it is they times a stride, and no index. */
static const Form *computed_product(const Walk *w, const Value *v, const Form *x, const Form *y) {
    const Form *f = product_of(w, x, y);
    bool number = is_uniform(x) && is_uniform(y);
    return f->unknown || !number || !is_wide(v) ? f : all_wide(w, f);
}

static const Form *of_op(Walk *w, const Op *op) {
    const Value *v = op->result[0];
    int64_t by;
    if (is_unsigned(v->type) && op_is_arithmetic(op)) return of_value(w, v);
    if (op->code == OP_CONST)
        return type_is_int(v->type) ? of_poly(w, poly_constant(ir_attr_int(op, AT_VALUE, 0)))
                                    : unknown(w);
    if (op->code == OP_ARANGE) {
        Form *f = new_form(w);
        f->uniform = poly_constant(ir_attr_int(op, AT_START, 0));
        f->along[0] = poly_constant(1);
        return f;
    }
    const Value *x = ir_operand(op, 0), *y = ir_operand(op, 1);
    const Form *a;
    switch (op->code) {
    case OP_SPLAT:
    case OP_HINT: return form_of(w, x);
    case OP_BROADCAST:
    case OP_RESHAPE:
    case OP_TRANS: return moved(w, op, form_of(w, x));
    case OP_ADD: return computed_sum(w, v, form_of(w, x), form_of(w, y), 1);
    case OP_SUB: return computed_sum(w, v, form_of(w, x), form_of(w, y), -1);
    case OP_NEG: return sum_of(w, of_poly(w, poly_constant(0)), form_of(w, x), -1);
    case OP_MUL: return computed_product(w, v, form_of(w, x), form_of(w, y));
    case OP_SHL:
        if (!ir_int_constant(y, &by) || by < 0 || by > 31) return of_value(w, v);
        return computed_product(w, v, form_of(w, x), of_poly(w, poly_constant((int64_t)1 << by)));
    case OP_REM: return v->type.rank ? remainder_of(w, form_of(w, x), form_of(w, y)) : unknown(w);
    case OP_CAST: return keeps_number(op) ? form_of(w, x) : of_value(w, v);
    case OP_ADDPTR:
        a = form_of(w, y);
        by =
            ir_attr_int(op, AT_BYTES, 0) ? 1 : type_elem_bytes(type_element(type_pointee(x->type)));
        return sum_of(w, form_of(w, x), product_of(w, a, of_poly(w, poly_constant(by))), 1);
    default: return of_value(w, v);
    }
}

/* Its number is the operand's. */
static bool passes_on(const Value *v) {
    if (!v->def) return false;
    switch (v->def->code) {
    case OP_CAST: return keeps_number(v->def);
    case OP_SPLAT:
    case OP_HINT:
    case OP_BROADCAST:
    case OP_RESHAPE:
    case OP_TRANS:
    case OP_ADD: /* what these make of it computed_sum and computed_product say */
    case OP_SUB:
    case OP_MUL:
    case OP_SHL: return true;
    default: return false;
    }
}

static const Form *form_of(Walk *w, const Value *v) {
    if (w->depth == MOST_DEPTH || w->visits == MOST_VISITS) return unknown(w);
    w->depth++;
    w->visits++;
    const Op *loop = v->def ? NULL : v->block->parent;
    const Form *f = v->def && v->def->nresults == 1 && !v->def->nregions ? of_op(w, v->def)
                    : loop && loop->code == OP_FOR                       ? of_argument(w, v)
                                                                         : of_value(w, v);
    /* A scalar always is itself. */
    if (f->unknown && !v->type.rank) f = of_value(w, v);
    if (is_wide(v) && !passes_on(v) && !f->unknown) f = all_wide(w, f);
    w->depth--;
    return f;
}

/* ---- masks ---- */

enum { WHOLE = -1, NOWHERE = -2 };

/* The dimension along which x - y goes, by ones, from *first on; WHOLE: it is *first everywhere. */
static int dim_of_difference(Walk *w, const Value *x, const Value *y, Poly *first) {
    const Form *f = sum_of(w, form_of(w, x), form_of(w, y), -1);
    int64_t by;
    int dim = WHOLE;
    for (int d = 0; d < x->type.rank && !f->unknown; d++) {
        if (f->wraps[d]) return NOWHERE;
        if (poly_is_zero(&f->along[d]) || !x->type.log2[d]) continue;
        if (dim >= 0 || !poly_is_constant(&f->along[d], &by) || by != 1) return NOWHERE;
        dim = d;
    }
    *first = f->uniform;
    return f->unknown || f->base ? NOWHERE : dim;
}

/* x < y + more, element by element: number < limit, or number >= limit, along one dimension. */
static bool bound_of(Walk *w, const Value *x, const Value *y, int64_t more, BlockBound *out) {
    Poly first, limit = poly_constant(more);
    *out = (BlockBound){.dim = dim_of_difference(w, x, y, &first)};
    if (out->dim == NOWHERE) {
        *out = (BlockBound){.dim = dim_of_difference(w, y, x, &first), .from = true};
        limit = poly_constant(1 - more);
    }
    if (out->dim == NOWHERE) return false;
    out->limit = poly_add(&limit, &first, -1);
    return !out->limit.unknown;
}

static int compared(Walk *w, const Op *op, BlockBound *out) {
    const Value *x = op->operand[0].value, *y = op->operand[1].value;
    if (!type_is_int(x->type) || x->type.depth || is_unsigned(x->type)) return -1;
    switch (ir_attr_int(op, AT_PRED, 0)) {
    case PRED_LT: return bound_of(w, x, y, 0, out) ? 1 : -1;
    case PRED_LE: return bound_of(w, x, y, 1, out) ? 1 : -1;
    case PRED_GT: return bound_of(w, y, x, 0, out) ? 1 : -1;
    case PRED_GE: return bound_of(w, y, x, 1, out) ? 1 : -1;
    default: return -1;
    }
}

static int bounds(Walk *w, const Value *mask, BlockBound *out, int room) {
    const Op *op = mask->def;
    int64_t is;
    int n;
    if (!op || w->depth == MOST_DEPTH || !room) return -1;
    if (ir_int_constant(mask, &is)) return is ? 0 : -1;
    w->depth++;
    switch (op->code) {
    case OP_AND:
        n = bounds(w, op->operand[0].value, out, room);
        if (n >= 0) {
            int more = bounds(w, op->operand[1].value, out + n, room - n);
            n = more < 0 ? -1 : n + more;
        }
        break;
    case OP_SPLAT: n = bounds(w, op->operand[0].value, out, room); break;
    case OP_BROADCAST:
    case OP_RESHAPE:
        n = bounds(w, op->operand[0].value, out, room);
        for (int i = 0; i < n; i++)
            if (out[i].dim >= 0 && (out[i].dim = moved_dim(op, out[i].dim)) < 0) n = -1;
        break;
    case OP_CMP: n = compared(w, op, out); break;
    default: n = -1;
    }
    w->depth--;
    return n;
}

int block_bounds(Session *s, const Value *mask, BlockBound *out) {
    Walk w = {.s = s};
    return bounds(&w, mask, out, BLOCK_MOST_BOUNDS);
}

/* ---- the block ---- */

static bool has_term(const Poly *x, const PolyTerm *t) {
    bool has = x->unknown;
    for (int i = 0; i < x->n; i++) {
        const PolyTerm *of = &x->term[i];
        has |= of->nsymbols == t->nsymbols &&
               !memcmp(of->symbol, t->symbol, (size_t)t->nsymbols * sizeof(Value *));
    }
    return has;
}

typedef struct Split { /* what an address is shared out by */
    BlockAccess *b;
    const Form *f;
    BlockBound at[BLOCK_MOST_BOUNDS];
    int nbounds; /* of the mask */
} Split;

/* Whether what the mask, or a remainder, says of dimension d's index speaks of the term; where
 * nothing is said of the index it is open. */
typedef enum Said { NOT_OF_IT, OPEN, OF_IT } Said;
static Said what_is_said(const Split *x, int d, const PolyTerm *t) {
    int64_t number;
    bool bounded = false;
    for (int i = 0; i < x->nbounds; i++) /* of a leading dimension's index */
        if (x->at[i].dim == WHOLE && t->nsymbols && has_term(&x->at[i].limit, t)) return NOT_OF_IT;
    for (int i = 0; i < x->nbounds; i++) {
        if (x->at[i].dim != d || poly_is_constant(&x->at[i].limit, &number)) continue;
        if (has_term(&x->at[i].limit, t)) return OF_IT;
        bounded = true;
    }
    if (x->b->dim[d].wraps) return has_term(&x->f->first[d], t) ? OF_IT : NOT_OF_IT;
    bool far = t->nsymbols && (t->factor > BLOCK_FAR || t->factor < -BLOCK_FAR);
    return bounded || far ? NOT_OF_IT : OPEN;
}

/* The dimension whose stride divides the term: the one of most symbols, then of the largest number.
 */
static int owner_of(const BlockAccess *b, const PolyTerm *t, PolyTerm *quotient) {
    int best = -1;
    for (int d = 0; d < b->rank; d++) {
        const PolyTerm *by = &b->dim[d].stride.term[0], *than;
        PolyTerm q;
        if (!b->dim[d].stride.n || !poly_divides(by, t, &q)) continue;
        than = best < 0 ? NULL : &b->dim[best].stride.term[0];
        if (than && (than->nsymbols > by->nsymbols ||
                     (than->nsymbols == by->nsymbols && than->factor >= by->factor)))
            continue;
        best = d;
        *quotient = q;
    }
    return best;
}

/* The first is so many times the second; 0: not known, or too many. */
static int64_t times(const PolyTerm *first, const PolyTerm *second) {
    PolyTerm q;
    bool known = poly_divides(second, first, &q) && !q.nsymbols && q.factor <= BLOCK_FAR;
    return known ? q.factor : 0;
}

/* The leading dimension that steps of `by` are along, and *index in its steps, if there is one: of
 * an index that is a sum, as groups of 8 and a rest, the smallest step is the dimension's. What
 * masks say of one part of an index is not said of the whole: of such the steps are equal. */
static BlockDim *leading_of(const Split *x, const PolyTerm *by, PolyTerm *index) {
    bool masked = false;
    for (int i = 0; i < x->nbounds; i++) masked |= x->at[i].dim == WHOLE;
    for (int k = 0; k < x->b->nleading; k++) {
        BlockDim *d = &x->b->leading[k];
        PolyTerm *step = &d->stride.term[0];
        int64_t more = times(by, step), less = times(step, by);
        if (more == 1 || (more && !masked)) {
            index->factor *= more;
            return d;
        }
        bool far = false;
        if (!less || masked) continue;
        for (int i = 0; i < d->first.n; i++)
            far |= llabs(d->first.term[i].factor) > BLOCK_FAR / less;
        if (far) continue;
        for (int i = 0; i < d->first.n; i++) d->first.term[i].factor *= less;
        *step = *by;
        return d;
    }
    return NULL;
}

/* A term that is a number known at launch times a scalar of 32 bits: a stride and an index. */
static bool lead(const Split *x, const PolyTerm *t) {
    BlockAccess *b = x->b;
    PolyTerm by = {.factor = t->factor < 0 ? -t->factor : t->factor};
    PolyTerm index = {.factor = t->factor < 0 ? -1 : 1};
    Poly stride = {0};
    for (int i = 0; i < t->nsymbols; i++) {
        const Value *v = t->symbol[i];
        bool varies = v->def || v->block->parent;
        PolyTerm *of = varies ? &index : &by;
        of->symbol[of->nsymbols++] = v;
        if (varies && is_wide(v)) return false;
    }
    if (index.nsymbols != 1 || (!by.nsymbols && by.factor % DESC_ALIGN)) return false;
    poly_push(&stride, &by);
    BlockDim *at = leading_of(x, &stride.term[0], &index);
    if (!at && b->nleading == BLOCK_MOST_LEADING) return false;
    if (!at) {
        at = &b->leading[b->nleading++];
        at->stride = stride;
    }
    poly_push(&at->first, &index);
    return true;
}

/* A term that a launch knows, as a layer's number times its stride, and of which no mask speaks:
 * the tensor begins there. */
static bool displace(BlockAccess *b, const PolyTerm *t) {
    for (int i = 0; i < t->nsymbols; i++)
        if (t->symbol[i]->def || t->symbol[i]->block->parent) return false;
    if (t->nsymbols) poly_push(&b->offset, t);
    return t->nsymbols > 0;
}

static const char *share_out(Split *x) {
    for (int i = 0; i < x->f->uniform.n; i++) {
        PolyTerm q;
        const PolyTerm *t = &x->f->uniform.term[i];
        int d = owner_of(x->b, t, &q);
        bool wide = has_term(&x->f->wide, t);
        Said said = d >= 0 ? what_is_said(x, d, &q) : NOT_OF_IT;
        bool fits = d >= 0 && (q.nsymbols <= 1 || (!wide && said == OF_IT));
        if (!(fits && said) && lead(x, t)) continue;
        if (!(fits && said == OF_IT) && displace(x->b, t)) continue;
        if (d < 0) return "its addresses have a part that no stride divides";
        if (!fits) return "part of an index is a product, which may not fit 32 bits";
        poly_push(&x->b->dim[d].first, &q);
        x->b->dim[d].wide |= q.nsymbols && wide;
    }
    return NULL;
}

/* Of the whole tile: it bounds the leading dimension whose index it speaks of. */
static const char *bound_leading(BlockAccess *b, const BlockBound *by) {
    Poly least = poly_constant(-1);
    least = poly_add(&least, &by->limit, 1); /* the tile is there if this is 0 or more */
    for (int k = 0; k < b->nleading; k++) {
        BlockDim *d = &b->leading[k];
        Poly size = poly_add(&d->first, &by->limit, 1);
        if (poly_equal(&least, &d->first)) {
            d->starts = true;
            return NULL;
        }
        if (!poly_is_invariant(&size, NULL) || !has_term(&by->limit, &d->first.term[0])) continue;
        if (d->bounded && !poly_equal(&d->size, &size))
            return "its mask bounds one dimension in two ways";
        d->bounded = true;
        d->size = size;
        return NULL;
    }
    return "its mask is no conjunction of bounds of indices";
}

static const char *bound(BlockAccess *b, const BlockBound *by) {
    if (by->dim == WHOLE) return bound_leading(b, by);
    BlockDim *d = &b->dim[by->dim];
    Poly size = poly_add(&d->first, &by->limit, 1); /* the index at the limit */
    int64_t live;
    if (by->from) {
        d->starts = poly_is_zero(&size) && !d->wraps;
        return d->starts ? NULL : "its mask bounds an index from below, and not by 0";
    }
    if (poly_is_constant(&by->limit, &live) && live > 0 && live < INT32_MAX) {
        d->live = d->live && d->live < live ? d->live : live;
        return NULL;
    }
    if (size.unknown) return "its mask is too large a sum";
    if (d->wraps || (d->bounded && !poly_equal(&d->size, &size)))
        return "its mask bounds one dimension in two ways";
    d->bounded = true;
    d->size = size;
    return NULL;
}

const char *block_of(Session *s, const Op *access, BlockAccess *out) {
    Walk w = {.s = s};
    const Value *p = access->operand[0].value;
    const Value *mask = ir_operand(access, access->code == OP_LOAD ? 1 : 2);
    const Form *f = form_of(&w, p);
    if (f->unknown || !f->base)
        return "its addresses are no sum of a parameter and indices times strides";
    *out = (BlockAccess){.base = f->base, .rank = p->type.rank};
    for (int d = 0; d < out->rank; d++) {
        if (f->along[d].n > 1) return "a stride is a sum";
        if (p->type.log2[d] && !f->along[d].n) return "it reads elements more than once";
        out->dim[d].stride = f->along[d];
        out->dim[d].wraps = f->wraps[d];
        if (f->wraps[d]) out->dim[d].size = f->modulus[d];
    }
    Split x = {.b = out, .f = f};
    x.nbounds = mask ? block_bounds(s, mask, x.at) : 0;
    const char *why = share_out(&x);
    if (why) return why;
    for (int d = 0; d < out->rank; d++)
        if (out->dim[d].wraps && !poly_equal(&out->dim[d].first, &f->first[d]))
            return "an index is a sum of a remainder and more";
    if (x.nbounds < 0) return "its mask is no conjunction of bounds of indices";
    for (int i = 0; i < x.nbounds && !why; i++) why = bound(out, &x.at[i]);
    return why;
}
