/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* poly.h: polynomials: sums of products of scalars, as which addresses are compared.
 *
 * A symbol is a scalar of the function that is no sum or product of others. The index of a loop, as
 * a symbol, stands for the number of the iteration, from 0. Numbers are taken not to overflow. */
#ifndef TILE_IR_ANALYSIS_POLY_H
#define TILE_IR_ANALYSIS_POLY_H

#include "ir/ir.h"

enum { POLY_MOST_TERMS = 8, POLY_MOST_FACTORS = 4 };

typedef struct PolyTerm {
    int64_t factor; /* not 0 */
    const Value *symbol[POLY_MOST_FACTORS];
    int nsymbols; /* sorted by number, maybe one twice */
} PolyTerm;

typedef struct Poly {
    PolyTerm term[POLY_MOST_TERMS]; /* no two with the same symbols */
    int n;
    bool unknown; /* too large, or of something that is no number */
} Poly;

Poly poly_constant(int64_t v);
Poly poly_symbol(const Value *v);
Poly poly_unknown(void);
Poly poly_add(const Poly *x, const Poly *y, int64_t factor); /* x + y * factor */
Poly poly_mul(const Poly *x, const Poly *y);
bool poly_equal(const Poly *x, const Poly *y);
bool poly_is_zero(const Poly *x);
bool poly_is_constant(const Poly *x, int64_t *out);
/* No symbol of it is made in a region of op, or an argument of one; op NULL: all are parameters. */
bool poly_is_invariant(const Poly *x, const Op *op);
/* Term t is by times *out, without a remainder. */
bool poly_divides(const PolyTerm *by, const PolyTerm *t, PolyTerm *out);
void poly_push(Poly *x, const PolyTerm *t); /* x += t */
/* It is known to be 0 or more: a sum of products of program ids, numbers of iterations and the
 * like.
 */
bool poly_is_natural(const Poly *x);
/* The same where parameters are: sizes and strides. */
bool poly_is_natural_of_sizes(const Poly *x);
/* A scalar is, where the place is one of the grid, of which there are 2^30 at most: numbers of
 * places, programs and clusters, their sums, quotients and remainders. */
bool poly_is_natural_place(const Value *v);
/* The same where numbers of a launch that count something do: what is divided by is 1 or more, what
 * is divided or multiplied 0 or more. A parameter by itself is no count: it may be an offset. Which
 * these are: sums, products and quotients of parameters. */
enum { POLY_MOST_COUNTS = 6 };
typedef struct PolyCounts {
    const Value *at[POLY_MOST_COUNTS];
    int least[POLY_MOST_COUNTS]; /* 0 or 1 */
    int n;
} PolyCounts;
bool poly_is_natural_with(const Poly *x, PolyCounts *out);
/* What all terms are multiples of: of symbols that are parameters, what is promised of them. */
int64_t poly_divisor(const Func *f, const Poly *x);

#endif
