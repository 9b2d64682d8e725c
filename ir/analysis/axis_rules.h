/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* axis_rules.h: what axis analysis and its rules share (private to ir/axis*.c).
 *
 * A rule sees one dimension of its operands as a Run each and gives the Run of the result. */
#ifndef TILE_IR_ANALYSIS_AXIS_RULES_H
#define TILE_IR_ANALYSIS_AXIS_RULES_H

#include "ir/analysis/axis.h"

typedef struct AxisFact {
    AxisInfo axis;
    bool nonneg; /* no element is below 0 */
} Fact;

typedef struct Axis {
    Session *s;
    const Func *f;
    Fact **fact;    /* by value id; NULL: not reached yet, so anything may still be claimed of it */
    uint32_t known; /* of values below this nothing changes */
    bool changed, give_up;
    bool guess; /* that no divisor that is not known cuts a run */
} Axis;

/* One dimension: runs of `c` rise by 1 (by `unit` in bytes, for pointers) from multiples of d;
 * runs of `k` are equal. */
typedef struct Run {
    int64_t c, d, k, unit;
} Run;

/* Powers beyond this are not told apart; 0 is a multiple of it. */
static const int64_t MOST = (int64_t)1 << 30;

static inline int64_t min64(int64_t a, int64_t b) {
    return a < b ? a : b;
}
static inline int64_t max64(int64_t a, int64_t b) {
    return a > b ? a : b;
}
static inline int64_t times(int64_t a, int64_t b) {
    return min64(a * b, MOST);
} /* both <= MOST */
static inline int64_t low_bit(int64_t v) {
    return v ? min64((int64_t)((uint64_t)v & (0 - (uint64_t)v) & INT64_MAX), MOST) : MOST;
}

/* What every element at a multiple of n along the dimension is a multiple of. */
static inline int64_t every(Run r, int64_t n) {
    return n >= r.c ? r.d : min64(r.d, n * r.unit);
}

/* The distance between neighbours of a run. */
static inline int64_t unit_of(Type t) {
    return t.depth ? type_elem_bytes(type_pointee(t)) : 1;
}

static inline const Fact *fact_of(const Axis *a, const Value *v) {
    return a->fact[v->id];
}

static inline Run run_of(const Axis *a, const Value *v, int dim) {
    const Fact *f = fact_of(a, v);
    Run r = {1, 1, 1, unit_of(v->type)};
    if (!f) return r;
    r.c = f->axis.contiguity[dim];
    r.d = f->axis.divisibility[dim];
    r.k = f->axis.constancy[dim];
    return r;
}

/* The Run of an elementwise op's one result along `dim`; without a rule of its own: equal where all
 * its operands are. */
Run axis_rule(const Axis *a, const Op *op, int dim);
/* Is there one for this op? */
bool axis_has_rule(const Op *op);
/* No element of the result is below 0. */
bool axis_result_nonneg(const Axis *a, const Op *op);
/* Every element of operand i is *v. */
bool axis_constant_operand(const Axis *a, const Op *op, int i, int64_t *v);
bool axis_nonneg_operand(const Axis *a, const Op *op, int i);

#endif
