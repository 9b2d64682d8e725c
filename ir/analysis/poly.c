/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* poly.c: sums and products of scalars -> one form for each polynomial (see poly.h). */
#include "ir/analysis/poly.h"

#include <stdlib.h>
#include <string.h>

static const int64_t MOST = (int64_t)1 << 50; /* of a factor: a product of two stays in 128 bits */

Poly poly_unknown(void) {
    return (Poly){.unknown = true};
}

static int compare_symbols(const PolyTerm *a, const PolyTerm *b) {
    if (a->nsymbols != b->nsymbols) return a->nsymbols < b->nsymbols ? -1 : 1;
    for (int i = 0; i < a->nsymbols; i++)
        if (a->symbol[i] != b->symbol[i]) return a->symbol[i]->id < b->symbol[i]->id ? -1 : 1;
    return 0;
}

void poly_push(Poly *x, const PolyTerm *t) {
    int i = 0;
    if (x->unknown || !t->factor) return;
    while (i < x->n && compare_symbols(&x->term[i], t) < 0) i++;
    if (i < x->n && compare_symbols(&x->term[i], t) == 0) {
        x->term[i].factor += t->factor;
        if (!x->term[i].factor) {
            memmove(&x->term[i], &x->term[i + 1], (size_t)(x->n - i - 1) * sizeof *t);
            x->n--;
        } else if (llabs(x->term[i].factor) > MOST) {
            *x = poly_unknown();
        }
        return;
    }
    if (x->n == POLY_MOST_TERMS || llabs(t->factor) > MOST) {
        *x = poly_unknown();
        return;
    }
    memmove(&x->term[i + 1], &x->term[i], (size_t)(x->n - i) * sizeof *t);
    x->term[i] = *t;
    x->n++;
}

Poly poly_constant(int64_t v) {
    Poly x = {0};
    poly_push(&x, &(PolyTerm){.factor = v});
    return x;
}

Poly poly_symbol(const Value *v) {
    Poly x = {0};
    poly_push(&x, &(PolyTerm){.factor = 1, .symbol = {v}, .nsymbols = 1});
    return x;
}

/* a times b; false: it is too large. */
static bool multiply(const PolyTerm *a, const PolyTerm *b, PolyTerm *out) {
    PolyTerm t = {0};
    int i = 0, k = 0;
    if (a->nsymbols + b->nsymbols > POLY_MOST_FACTORS ||
        __builtin_mul_overflow(a->factor, b->factor, &t.factor))
        return false;
    while (i < a->nsymbols || k < b->nsymbols) {
        bool first = k == b->nsymbols || (i < a->nsymbols && a->symbol[i]->id <= b->symbol[k]->id);
        t.symbol[t.nsymbols++] = first ? a->symbol[i++] : b->symbol[k++];
    }
    *out = t;
    return true;
}

Poly poly_add(const Poly *x, const Poly *y, int64_t factor) {
    Poly z = *x;
    PolyTerm by = {.factor = factor}, t;
    if (y->unknown) return poly_unknown();
    for (int i = 0; i < y->n && !z.unknown; i++) {
        if (!multiply(&y->term[i], &by, &t)) return poly_unknown();
        poly_push(&z, &t);
    }
    return z;
}

Poly poly_mul(const Poly *x, const Poly *y) {
    Poly z = {.unknown = x->unknown || y->unknown};
    PolyTerm t;
    for (int i = 0; i < x->n; i++)
        for (int k = 0; k < y->n && !z.unknown; k++) {
            if (!multiply(&x->term[i], &y->term[k], &t)) return poly_unknown();
            poly_push(&z, &t);
        }
    return z;
}

bool poly_equal(const Poly *x, const Poly *y) {
    Poly z = poly_add(x, y, -1);
    return !z.unknown && z.n == 0;
}

bool poly_is_zero(const Poly *x) {
    return !x->unknown && x->n == 0;
}

bool poly_is_constant(const Poly *x, int64_t *out) {
    if (x->unknown || x->n > 1 || (x->n == 1 && x->term[0].nsymbols)) return false;
    *out = x->n ? x->term[0].factor : 0;
    return true;
}

static bool is_parameter(const Value *v) {
    return !v->def && !v->block->parent;
}

bool poly_is_invariant(const Poly *x, const Op *op) {
    for (int i = 0; i < x->n; i++)
        for (int k = 0; k < x->term[i].nsymbols; k++) {
            const Value *v = x->term[i].symbol[k];
            if (op ? !ir_defined_outside(v, op) : !is_parameter(v)) return false;
        }
    return !x->unknown;
}

bool poly_divides(const PolyTerm *by, const PolyTerm *t, PolyTerm *out) {
    PolyTerm q = {.factor = t->factor / by->factor};
    int k = 0;
    if (t->factor % by->factor) return false;
    for (int i = 0; i < t->nsymbols; i++)
        if (k < by->nsymbols && by->symbol[k] == t->symbol[i])
            k++;
        else
            q.symbol[q.nsymbols++] = t->symbol[i];
    if (k < by->nsymbols) return false;
    *out = q;
    return true;
}

typedef struct Natural { /* what is taken for granted */
    bool sizes;          /* parameters are 0 or more, and divisors */
    bool places;         /* so are divisors of places; sums of places do not overflow */
    PolyCounts *counts;  /* a launch's numbers are; which; NULL: none is */
} Natural;

/* It makes the same number of another type of a signed one. */
static bool keeps_number(const Op *cast) {
    Type from = cast->operand[0].value->type;
    return type_is_int(from) && type_is_signed(from) &&
           type_elem_bits(from) <= type_elem_bits(cast->result[0]->type);
}

/* A launch can work it out: its argument, or sums, products and quotients of such. */
static bool is_of_launch(const Value *v, int depth) {
    enum { MOST_DEPTH = 6 };
    const Op *op = v->def;
    int64_t number;
    if (ir_int_constant(v, &number)) return true;
    if (!type_is_int(v->type) || v->type.rank || depth == MOST_DEPTH) return false;
    if (!op) return is_parameter(v);
    switch (op->code) {
    case OP_CAST: return keeps_number(op) && is_of_launch(op->operand[0].value, depth + 1);
    case OP_HINT: return is_of_launch(op->operand[0].value, depth + 1);
    case OP_ADD:
    case OP_SUB:
    case OP_MUL:
    case OP_DIV:
        return is_of_launch(op->operand[0].value, depth + 1) &&
               is_of_launch(op->operand[1].value, depth + 1);
    default: return false;
    }
}

static bool is_granted(PolyCounts *counts, const Value *v, int least) {
    int i = 0;
    if (!is_of_launch(v, 0)) return false;
    while (i < counts->n && counts->at[i] != v) i++;
    if (i == POLY_MOST_COUNTS) return false;
    if (i == counts->n) counts->least[counts->n++] = 0;
    counts->at[i] = v;
    if (least > counts->least[i]) counts->least[i] = least;
    return true;
}

static bool is_count(const Value *v) {
    return op_is(v, OP_NUM_PROGRAMS) || op_is(v, OP_NUM_CLUSTERS) || op_is(v, OP_WORK_SIZE) ||
           op_is(v, OP_CLUSTER_SIZE);
}

/* A difference of places: a cluster's program has none in front of the first one's. */
static bool is_place_less(const Value *x, const Value *y, bool natural) {
    int64_t by;
    if (op_is(y, OP_CLUSTER_RANK)) return natural;
    return is_count(x) && ir_int_constant(y, &by) && by <= 1;
}

static bool is_natural(const Value *v, const Natural *granted, int depth);

/* One of two is, for which less is granted: nothing, where that is enough. */
static bool is_either(const Value *x, const Value *y, const Natural *granted, int depth) {
    const Natural nothing = {.sizes = granted->sizes, .places = granted->places};
    int n = granted->counts ? granted->counts->n : 0;
    if (is_natural(x, &nothing, depth) || is_natural(y, &nothing, depth)) return true;
    if (!granted->counts) return false;
    if (is_natural(x, granted, depth)) return true;
    granted->counts->n = n;
    return is_natural(y, granted, depth);
}

/* A sum of two that are is one. Where counts are granted an argument that is added may be an
 * offset. */
static bool may_add(const Value *x, const Value *y, const Natural *granted) {
    if (granted->sizes || granted->places) return true;
    while (op_is(x, OP_CAST)) x = x->def->operand[0].value;
    while (op_is(y, OP_CAST)) y = y->def->operand[0].value;
    return granted->counts && !is_parameter(x) && !is_parameter(y);
}

/* As a term of a polynomial, at depth 0, a loop's index is the number of the iteration. */
static bool is_natural(const Value *v, const Natural *granted, int depth) {
    enum { MOST_DEPTH = 16 };
    const Op *op = v->def, *loop = op ? NULL : v->block->parent;
    bool sizes = granted->sizes;
    int64_t by;
    if (ir_int_constant(v, &by)) return by >= 0;
    if (depth == MOST_DEPTH) return false;
    if (granted->counts && depth && is_granted(granted->counts, v, 0)) return true;
    if (!op && !loop) return sizes;
    if (!op) {
        bool index = loop->code == OP_FOR && v == loop->region[0]->args[0];
        bool up = index && ((ir_int_constant(loop->operand[2].value, &by) && by > 0) ||
                            (granted->places && ir_attr_int(loop, AT_PARALLEL, 0)));
        return (index && !depth) || (up && is_natural(loop->operand[0].value, granted, depth + 1));
    }
    const Value *x = ir_operand(op, 0), *y = ir_operand(op, 1);
    if (x && y && (x->type.rank || y->type.rank)) return false;
    if (op->code == OP_AND || op->code == OP_MAX) return is_either(x, y, granted, depth + 1);
    bool first = x && !x->type.rank && is_natural(x, granted, depth + 1);
    if (op->code == OP_DIV && granted->counts)
        return first && ((ir_int_constant(y, &by) && by > 0) || is_granted(granted->counts, y, 1));
    switch (op->code) {
    case OP_PROGRAM_ID:
    case OP_NUM_PROGRAMS:
    case OP_WORK_SIZE: return true;
    case OP_CLUSTER_ID:
    case OP_NUM_CLUSTERS:
    case OP_CLUSTER_RANK:
    case OP_CLUSTER_SIZE:
    case OP_CLUSTER_PLACE:
    case OP_STREAM_K: return granted->places;
    case OP_HINT: return granted->places && first;
    case OP_SUB: return granted->places && is_place_less(x, y, first);
    case OP_CAST: return first && keeps_number(op);
    case OP_REM: return first; /* as C has it */
    case OP_DIV: return first && (sizes || granted->places || (ir_int_constant(y, &by) && by > 0));
    case OP_ADD: return first && may_add(x, y, granted) && is_natural(y, granted, depth + 1);
    case OP_MUL: return (sizes || granted->counts) && first && is_natural(y, granted, depth + 1);
    case OP_MIN: return first && is_natural(y, granted, depth + 1);
    default: return false;
    }
}

/* A parameter by itself is 0 or more where it has to be for another term. */
static bool is_natural_term(const PolyTerm *t, const Natural *granted) {
    PolyCounts *counts = granted->counts;
    if (counts && t->nsymbols == 1 && is_parameter(t->symbol[0])) {
        for (int i = 0; i < counts->n; i++)
            if (counts->at[i] == t->symbol[0]) return true;
        return false;
    }
    for (int k = 0; k < t->nsymbols; k++) {
        bool multiplies = counts && t->nsymbols > 1;
        if (!(multiplies && is_granted(counts, t->symbol[k], 0)) &&
            !is_natural(t->symbol[k], granted, 0))
            return false;
    }
    return true;
}

static bool are_natural(const Poly *x, const Natural *granted) {
    for (int own = 0; own < 2; own++) /* parameters by themselves last */
        for (int i = 0; i < x->n; i++) {
            const PolyTerm *t = &x->term[i];
            if (t->factor < 0) return false;
            if ((t->nsymbols == 1 && is_parameter(t->symbol[0])) == own &&
                !is_natural_term(t, granted))
                return false;
        }
    return !x->unknown;
}

bool poly_is_natural(const Poly *x) {
    return are_natural(x, &(Natural){0});
}

bool poly_is_natural_of_sizes(const Poly *x) {
    return are_natural(x, &(Natural){.sizes = true});
}

bool poly_is_natural_place(const Value *v) {
    return is_natural(v, &(Natural){.places = true}, 1);
}

bool poly_is_natural_with(const Poly *x, PolyCounts *out) {
    *out = (PolyCounts){0};
    return are_natural(x, &(Natural){.counts = out});
}

static int64_t promised(const Func *f, const Value *v) {
    for (int i = 0; i < f->nparams; i++)
        if (f->param[i].value == v && f->param[i].divisible > 1) return f->param[i].divisible;
    return 1;
}

int64_t poly_divisor(const Func *f, const Poly *x) {
    enum { ENOUGH = 1 << 20 }; /* nobody asks for more */
    int64_t all = 0;
    for (int i = 0; i < x->n; i++) {
        int64_t d = llabs(x->term[i].factor), rest;
        for (int k = 0; k < x->term[i].nsymbols && d < ENOUGH; k++)
            d *= promised(f, x->term[i].symbol[k]);
        for (; d; d = rest) { /* Euclid: all = gcd(all, d) */
            rest = all % d;
            all = d;
        }
    }
    return all ? all : ENOUGH;
}
