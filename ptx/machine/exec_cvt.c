/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* exec_cvt.c: conversions (PTX ISA, "Data Movement and Conversion Instructions: cvt"): of integers
 * by value, of floats rounded once, pairs at a time. */
#include "ptx/machine/floats.h"
#include "ptx/machine/lanes.h"

#include <fenv.h>

typedef struct Cvt {
    const PtxCode *c;
    PtxType to, from;
} Cvt;

/* The least and the largest of an integer type, as numbers of the source's kind. */
static int64_t least_of(PtxType t) {
    return ptx_type[t].class == 'S' ? INT64_MIN >> (64 - ptx_type[t].bits) : 0;
}

static uint64_t most_of(PtxType t) {
    return UINT64_MAX >> (64 - ptx_type[t].bits + (ptx_type[t].class == 'S'));
}

static uint64_t int_of_int(const Cvt *x, uint64_t v) {
    int64_t n = extended(x->from, v);
    bool negative = n < 0 && ptx_type[x->from].class == 'S';
    if (x->c->field[FIELD_SATURATE]) {
        if (negative)
            n = n < least_of(x->to) ? least_of(x->to) : n;
        else if ((uint64_t)n > most_of(x->to))
            n = (int64_t)most_of(x->to);
    }
    return low_bits((uint64_t)n, ptx_type[x->to].bits);
}

static double integral(const PtxCode *c, double v) {
    switch (c->field[FIELD_ROUND]) {
    case WORD_ROUND_RNI: return nearbyint(v);
    case WORD_ROUND_RZI: return trunc(v);
    case WORD_ROUND_RMI: return floor(v);
    case WORD_ROUND_RPI: return ceil(v);
    default: return v;
    }
}

/* Beyond its range it is the nearest there is; NaN is 0, or of 64 bits the top bit. */
static uint64_t int_of_float(const Cvt *x, uint64_t v) {
    double d = float_value(x->from, v);
    PtxTypeInfo to = ptx_type[x->to];
    if (x->c->field[FIELD_FTZ] == WORD_FTZ_YES) d = (double)flushed((float)d);
    if (isnan(d)) return x->from == PT_F64 || to.bits == 64 ? UINT64_C(1) << (to.bits - 1) : 0;
    d = integral(x->c, d);
    uint64_t r = to.class == 'S'
                     ? (uint64_t)elem_saturate_i64(d, least_of(x->to), (int64_t)most_of(x->to))
                     : elem_saturate_u64(d, most_of(x->to));
    return low_bits(r, to.bits);
}

static Rounding small_rounding(const PtxCode *c) {
    return c->field[FIELD_ROUND] == WORD_ROUND_RZ ? ROUND_ZERO : ROUND_NEAREST;
}

static uint64_t float_of_int(const Cvt *x, uint64_t v) {
    volatile int64_t n = extended(x->from, v);
    bool is_signed = ptx_type[x->from].class == 'S';
    int before = enter_rounding(x->c->field[FIELD_ROUND]);
    uint64_t r;
    if (x->to == PT_F64) {
        volatile double d = is_signed ? (double)n : (double)(uint64_t)n;
        r = of_f64(d);
    } else if (x->to == PT_F32) {
        volatile float f = is_signed ? (float)n : (float)(uint64_t)n;
        r = of_f32(f);
    } else {
        r = elem_round(float_elem(x->to), elem_odd_double(n, !is_signed), small_rounding(x->c));
    }
    fesetround(before);
    return r;
}

/* 10 bits of fraction, ties away from zero; in a register as a float. */
static uint64_t tf32_of(uint64_t v) {
    enum { DROPPED = 13, INFINITE = 0x7F800000 };
    uint32_t bits = (uint32_t)v;
    if ((bits & INFINITE) == INFINITE) return bits;
    bits += UINT32_C(1) << (DROPPED - 1);
    return bits >> DROPPED << DROPPED;
}

/* Bits of a fraction; 0: of no type whose NaNs keep theirs. */
static int fraction_bits(PtxType t) {
    return t == PT_F64 ? 52 : t == PT_F32 ? 23 : t == PT_F16 ? 10 : t == PT_BF16 ? 7 : 0;
}

/* To and from f64 a NaN stays what it is, but quiet: its sign, and of its fraction the first bits
 * (seen on an H100: f32 and f16, and f64 to both). Elsewhere there is one NaN. */
static bool keeps_nan(const Cvt *x, uint64_t v) {
    bool wide = x->from == PT_F64 || x->to == PT_F64;
    return wide && fraction_bits(x->from) && fraction_bits(x->to) && !x->c->field[FIELD_SATURATE] &&
           isnan(float_value(x->from, v));
}

static uint64_t nan_of_nan(const Cvt *x, uint64_t v) {
    int from = fraction_bits(x->from), to = fraction_bits(x->to);
    int bits = ptx_type[x->from].bits, result = ptx_type[x->to].bits;
    uint64_t fraction = v << (64 - from) | UINT64_C(1) << 63;
    uint64_t sign = v >> (bits - 1) & 1,
             exponent = low_bits(UINT64_MAX, (unsigned)(result - 1 - to));
    return sign << (result - 1) | exponent << to | fraction >> (64 - to);
}

static uint64_t float_of_float(const Cvt *x, uint64_t v) {
    const PtxCode *c = x->c;
    if (x->to == PT_TF32) return tf32_of(v);
    if (keeps_nan(x, v)) return nan_of_nan(x, v);
    double d = integral(c, float_value(x->from, v));
    bool flushes = c->field[FIELD_FTZ] == WORD_FTZ_YES;
    if (flushes && x->from == PT_F32) d = (double)flushed((float)d);
    if (c->field[FIELD_SATURATE] == WORD_SATURATE_UNIT) d = isnan(d) || d < 0 ? 0 : d > 1 ? 1 : d;
    if (c->field[FIELD_RELU] && d < 0) d = 0;
    if (x->to == PT_F64) return of_f64(d);
    if (x->to != PT_F32) return elem_round(float_elem(x->to), d, small_rounding(c));
    int before = enter_rounding(c->field[FIELD_ROUND]);
    volatile double exact = d;
    volatile float f = (float)exact;
    fesetround(before);
    return of_f32(flushes ? flushed(f) : f);
}

/* A signed one goes on to the end of a register that is wider. */
static uint64_t widened(const Cvt *x, uint64_t v) {
    return ptx_type[x->to].class == 'S' ? (uint64_t)extended(x->to, v) : v;
}

static uint64_t convert(const Cvt *x, uint64_t v) {
    bool to_float = ptx_type[x->to].class == 'F', from_float = ptx_type[x->from].class == 'F';
    if (from_float) return to_float ? float_of_float(x, v) : int_of_float(x, v);
    return to_float ? float_of_int(x, v) : int_of_int(x, v);
}

static bool is_pair(PtxType t) {
    return t == PT_F16X2 || t == PT_BF16X2 || t == PT_E4M3X2 || t == PT_E5M2X2;
}

PtxOutcome exec_cvt(Warp *w, const PtxCode *c, uint32_t mask) {
    Lanes v;
    Cvt x = {c, (PtxType)c->type[0], (PtxType)c->type[1]};
    if (c->ntypes != 2 || c->noperands > 3) return not_known(w, c, mask);
    take_lanes(&v, w, c);
    if (!is_pair(x.to)) {
        if (is_pair(x.from)) return not_known(w, c, mask);
        EACH_LANE(mask, l) v.d[l] = widened(&x, convert(&x, v.a[l]));
        return OUTCOME_NEXT;
    }
    /* Of two operands the first is the upper half. */
    unsigned half = ptx_type[x.to].bits / 2u, from = ptx_type[x.from].bits / 2u;
    if (is_pair(x.from) != (c->noperands == 2)) return not_known(w, c, mask);
    EACH_LANE(mask, l) {
        uint64_t high = c->noperands == 3 ? v.a[l] : low_bits(v.a[l], 2 * from) >> from;
        uint64_t low = c->noperands == 3 ? v.b[l] : low_bits(v.a[l], from);
        v.d[l] = low_bits(convert(&x, high), half) << half | low_bits(convert(&x, low), half);
    }
    return OUTCOME_NEXT;
}
