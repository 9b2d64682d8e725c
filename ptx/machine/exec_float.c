/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* exec_float.c: arithmetic of floats as the hardware rounds it (PTX ISA, "Floating-Point
 * Instructions", "Half Precision Floating-Point Instructions"), and comparisons.
 *
 * What the ISA gives as approximate (.approx, .full) is rounded right here: nearer the truth than
 * any device has to be. NaN is the one that the hardware makes. Small floats are computed as floats
 * and rounded once (ir/number.h). */
#include "ptx/machine/floats.h"
#include "ptx/machine/lanes.h"

#include <fenv.h>

Elem float_elem(PtxType t) {
    switch (t) {
    case PT_F16:
    case PT_F16X2: return EL_F16;
    case PT_BF16:
    case PT_BF16X2: return EL_BF16;
    case PT_E4M3:
    case PT_E4M3X2: return EL_F8E4M3;
    case PT_E5M2:
    case PT_E5M2X2: return EL_F8E5M2;
    case PT_TF32:
    case PT_F32: return EL_F32;
    case PT_F64: return EL_F64;
    default: return ELEMS;
    }
}

double float_value(PtxType t, uint64_t bits) {
    float x;
    if (t == PT_F64) return as_f64(bits);
    if (t == PT_F32 || t == PT_TF32) return (double)as_f32(bits);
    elem_widen(float_elem(t), &bits, &x, 1); /* the machine has low bytes first */
    return (double)x;
}

int enter_rounding(unsigned word) {
    int before = fegetround();
    switch (word) {
    case WORD_ROUND_RZ: fesetround(FE_TOWARDZERO); break;
    case WORD_ROUND_RM: fesetround(FE_DOWNWARD); break;
    case WORD_ROUND_RP: fesetround(FE_UPWARD); break;
    default: break;
    }
    return before;
}

/* ---- one number ---- */

/* The smaller of two: a number rather than none, -0 rather than 0. */
#define LESSER(name, T)                                                                            \
    static T name(T x, T y, bool propagate) {                                                      \
        if (isnan(x) || isnan(y))                                                                  \
            return propagate || (isnan(x) && isnan(y)) ? (T)NAN : isnan(x) ? y : x;                \
        if (x == y) return signbit(x) ? x : y;                                                     \
        return x < y ? x : y;                                                                      \
    }
LESSER(lesser_f32, float)
LESSER(lesser_f64, double)

/* The compiler knows nothing of the rounding mode: volatile variables keep what is computed between
 * the calls that set it (as in ir/interp/rounded.c). */
static double compute_f64(FloatOp op, double ax, double ay, double az, bool nan) {
    volatile double x = ax, y = ay, z = az, r;
    switch (op) {
    case FLOAT_ADD: r = x + y; break;
    case FLOAT_SUB: r = x - y; break;
    case FLOAT_MUL: r = x * y; break;
    case FLOAT_DIV: r = x / y; break;
    case FLOAT_FMA: r = fma(x, y, z); break;
    case FLOAT_MIN: r = lesser_f64(x, y, nan); break;
    case FLOAT_MAX: r = -lesser_f64(-x, -y, nan); break;
    case FLOAT_ABS: r = fabs(x); break;
    case FLOAT_NEG: r = -x; break;
    case FLOAT_SQRT: r = sqrt(x); break;
    case FLOAT_RSQRT: r = 1 / sqrt(x); break;
    case FLOAT_RCP: r = 1 / x; break;
    case FLOAT_EX2: r = exp2(x); break;
    case FLOAT_LG2: r = log2(x); break;
    case FLOAT_SIN: r = sin(x); break;
    case FLOAT_COS: r = cos(x); break;
    case FLOAT_TANH: r = tanh(x); break;
    case FLOAT_COPYSIGN: r = copysign(y, x); break; /* the sign of the first operand */
    default: r = x;
    }
    return r;
}

/* The NaN that comes of doubles, as an H100 has it: the last of the operands that are one, made
 * quiet; of quotients the first. Where none is, it is negative. */
static uint64_t nan_f64(FloatOp op, const uint64_t in[3]) {
    const uint64_t quiet = UINT64_C(1) << 51;
    int n = op == FLOAT_FMA ? 3 : op <= FLOAT_MAX ? 2 : 1, found = -1;
    for (int i = 0; i < n; i++)
        if (isnan(as_f64(in[i])) && (found < 0 || op != FLOAT_DIV)) found = i;
    return found < 0 ? UINT64_C(0xFFF8000000000000) : in[found] | quiet;
}

static float compute_f32(FloatOp op, float ax, float ay, float az, bool nan) {
    volatile float x = ax, y = ay, z = az, r;
    switch (op) {
    case FLOAT_ADD: r = x + y; break;
    case FLOAT_SUB: r = x - y; break;
    case FLOAT_MUL: r = x * y; break;
    case FLOAT_DIV: r = x / y; break;
    case FLOAT_FMA: r = fmaf(x, y, z); break;
    case FLOAT_MIN: r = lesser_f32(x, y, nan); break;
    case FLOAT_MAX: r = -lesser_f32(-x, -y, nan); break;
    case FLOAT_SQRT: r = sqrtf(x); break;
    case FLOAT_RCP: r = 1 / x; break;
    case FLOAT_ABS: r = fabsf(x); break;
    case FLOAT_NEG: r = -x; break;
    case FLOAT_COPYSIGN: r = copysignf(y, x); break;
    default: r = (float)compute_f64(op, (double)x, (double)y, (double)z, nan);
    }
    return r;
}

static float limit(const PtxCode *c, float r) {
    if (c->field[FIELD_FTZ] == WORD_FTZ_YES) r = flushed(r);
    if (c->field[FIELD_SATURATE]) r = isnan(r) || r < 0 ? 0 : r > 1 ? 1 : r;
    return c->field[FIELD_RELU] && r < 0 ? 0 : r;
}

/* .xorsign.abs: of the operands' magnitudes, with the sign that their product has. Takes the signs
 * away; what is left belongs to the result. */
static uint64_t take_signs(const PtxCode *c, uint64_t sign, uint64_t in[2]) {
    if (!c->field[FIELD_XORSIGN]) return 0;
    uint64_t both = (in[0] ^ in[1]) & sign;
    in[0] &= ~sign;
    in[1] &= ~sign;
    return both;
}

/* Of the small type e; its bits. */
static uint64_t compute_small(const PtxCode *c, Elem e, FloatOp op, const uint64_t *all, bool nan) {
    enum { SIGN = 0x8000 };
    uint64_t in[3] = {all[0], all[1], all[2]}, sign = take_signs(c, SIGN, in);
    uint16_t bits[3] = {(uint16_t)in[0], (uint16_t)in[1], (uint16_t)in[2]}, r;
    float v[3], of;
    if (op == FLOAT_NEG) return bits[0] ^ SIGN;
    if (op == FLOAT_ABS) return bits[0] & (SIGN - 1);
    elem_widen(e, bits, v, 3);
    for (int i = 0; i < 3 && c->field[FIELD_FTZ] == WORD_FTZ_YES; i++)
        if (!(bits[i] & (e == EL_F16 ? 0x7C00 : 0x7F80))) v[i] = copysignf(0, v[i]);
    of = op == FLOAT_FMA ? elem_odd_fma(v[0], v[1], v[2]) : compute_f32(op, v[0], v[1], v[2], nan);
    of = limit(c, of);
    elem_narrow(e, &of, &r, 1, ROUND_NEAREST);
    return isnan(of) ? r : r | sign;
}

static uint64_t compute_pair(const PtxCode *c, Elem e, FloatOp op, const uint64_t *in, bool nan) {
    uint64_t high[3] = {in[0] >> 16, in[1] >> 16, in[2] >> 16};
    return compute_small(c, e, op, in, nan) | compute_small(c, e, op, high, nan) << 16;
}

/* rcp and rsqrt.approx.ftz.f64: of the upper half of the bits alone, and nothing but that. Without
 * .ftz rsqrt is as precise as a program makes it. */
static uint64_t approximate_f64(FloatOp op, uint64_t v) {
    uint64_t upper = UINT64_MAX << 32;
    double x = as_f64(v & upper);
    if (fpclassify(x) == FP_SUBNORMAL) x = copysign(0, x);
    x = compute_f64(op, x, x, x, false);
    if (fpclassify(x) == FP_SUBNORMAL) x = copysign(0, x);
    return of_f64(x) & upper;
}

PtxOutcome float_lanes(Warp *w, const PtxCode *c, uint32_t mask, FloatOp op) {
    Lanes v;
    take_lanes(&v, w, c);
    bool nan = c->field[FIELD_NAN] != 0, ftz = c->field[FIELD_FTZ] == WORD_FTZ_YES;
    int before = enter_rounding(c->field[FIELD_ROUND]);
    PtxOutcome outcome = OUTCOME_NEXT;
    EACH_LANE(mask, l) {
        uint64_t in[3] = {v.a[l], v.b[l], v.c[l]}, sign;
        float x[3];
        switch (c->type[0]) {
        case PT_F32:
            if (op == FLOAT_NEG || op == FLOAT_ABS) { /* of NaN, too, nothing but the sign */
                v.d[l] = op == FLOAT_NEG ? (uint32_t)in[0] ^ 0x80000000u : in[0] & 0x7FFFFFFFu;
                break;
            }
            sign = take_signs(c, 0x80000000u, in);
            for (int i = 0; i < 3; i++) x[i] = ftz ? flushed(as_f32(in[i])) : as_f32(in[i]);
            v.d[l] = of_f32(limit(c, compute_f32(op, x[0], x[1], x[2], nan)));
            if (!isnan(as_f32(v.d[l]))) v.d[l] |= sign;
            break;
        case PT_F64:
            if (c->field[FIELD_APPROX] == WORD_APPROX_APPROX && ftz)
                v.d[l] = approximate_f64(op, in[0]);
            else if (op == FLOAT_NEG || op == FLOAT_ABS)
                v.d[l] = op == FLOAT_NEG ? in[0] ^ UINT64_C(1) << 63 : in[0] & UINT64_MAX >> 1;
            else {
                double r = compute_f64(op, as_f64(in[0]), as_f64(in[1]), as_f64(in[2]), nan);
                v.d[l] = isnan(r) ? nan_f64(op, in) : of_f64(r);
            }
            break;
        case PT_F16: v.d[l] = compute_small(c, EL_F16, op, in, nan); break;
        case PT_BF16: v.d[l] = compute_small(c, EL_BF16, op, in, nan); break;
        case PT_F16X2: v.d[l] = compute_pair(c, EL_F16, op, in, nan); break;
        case PT_BF16X2: v.d[l] = compute_pair(c, EL_BF16, op, in, nan); break;
        default: outcome = OUTCOME_FAIL;
        }
    }
    fesetround(before);
    return outcome == OUTCOME_FAIL ? not_known(w, c, mask) : outcome;
}

#define FLOAT_ONLY(name, op)                                                                       \
    PtxOutcome name(Warp *w, const PtxCode *c, uint32_t mask) {                                    \
        return float_lanes(w, c, mask, op);                                                        \
    }
FLOAT_ONLY(exec_fma, FLOAT_FMA)
FLOAT_ONLY(exec_sqrt, FLOAT_SQRT)
FLOAT_ONLY(exec_rsqrt, FLOAT_RSQRT)
FLOAT_ONLY(exec_rcp, FLOAT_RCP)
FLOAT_ONLY(exec_ex2, FLOAT_EX2)
FLOAT_ONLY(exec_lg2, FLOAT_LG2)
FLOAT_ONLY(exec_sin, FLOAT_SIN)
FLOAT_ONLY(exec_cos, FLOAT_COS)
FLOAT_ONLY(exec_tanh, FLOAT_TANH)
FLOAT_ONLY(exec_copysign, FLOAT_COPYSIGN)

/* ---- comparisons ---- */

PtxOutcome exec_testp(Warp *w, const PtxCode *c, uint32_t mask) {
    Lanes v;
    take_lanes(&v, w, c);
    EACH_LANE(mask, l) {
        int kind = c->type[0] == PT_F32 ? fpclassify(as_f32(v.a[l])) : fpclassify(as_f64(v.a[l]));
        switch (c->field[FIELD_TEST]) {
        case WORD_TEST_FINITE: v.d[l] = kind != FP_NAN && kind != FP_INFINITE; break;
        case WORD_TEST_INFINITE: v.d[l] = kind == FP_INFINITE; break;
        case WORD_TEST_NUMBER: v.d[l] = kind != FP_NAN; break;
        case WORD_TEST_NAN: v.d[l] = kind == FP_NAN; break;
        case WORD_TEST_NORMAL: v.d[l] = kind == FP_NORMAL || kind == FP_ZERO; break;
        case WORD_TEST_SUBNORMAL: v.d[l] = kind == FP_SUBNORMAL; break;
        default: return not_known(w, c, mask);
        }
    }
    return OUTCOME_NEXT;
}

typedef struct Compared {
    bool less, equal, unordered;
} Compared;

static Compared compare_floats(double x, double y) {
    return (Compared){x < y, x == y, isnan(x) || isnan(y)};
}

static Compared compare(PtxType t, uint64_t x, uint64_t y) {
    unsigned up = 64u - ptx_type[t].bits;
    if (ptx_type[t].class == 'F') return compare_floats(float_value(t, x), float_value(t, y));
    x <<= up;
    y <<= up;
    bool is_signed = ptx_type[t].class == 'S';
    return (Compared){is_signed ? (int64_t)x < (int64_t)y : x < y, x == y, false};
}

/* lo and hi, of unsigned numbers, are words of products, too. */
static unsigned comparison(const PtxCode *c) {
    unsigned part = c->field[FIELD_PART];
    return part == WORD_PART_LO   ? WORD_COMPARE_LT
           : part == WORD_PART_HI ? WORD_COMPARE_GT
                                  : c->field[FIELD_COMPARE];
}

static bool holds(unsigned comparison, Compared x) {
    bool more = !x.less && !x.equal && !x.unordered;
    switch (comparison) {
    case WORD_COMPARE_EQ: return x.equal;
    case WORD_COMPARE_NE: return x.less || more;
    case WORD_COMPARE_LT: return x.less;
    case WORD_COMPARE_LE: return x.less || x.equal;
    case WORD_COMPARE_GT: return more;
    case WORD_COMPARE_GE: return more || x.equal;
    case WORD_COMPARE_EQU: return x.equal || x.unordered;
    case WORD_COMPARE_NEU: return !x.equal;
    case WORD_COMPARE_LTU: return x.less || x.unordered;
    case WORD_COMPARE_LEU: return x.less || x.equal || x.unordered;
    case WORD_COMPARE_GTU: return more || x.unordered;
    case WORD_COMPARE_GEU: return more || x.equal || x.unordered;
    case WORD_COMPARE_NUM: return !x.unordered;
    default: return x.unordered;
    }
}

static bool combined(unsigned op, bool x, bool y) {
    return op == WORD_OP_AND ? x && y : op == WORD_OP_OR ? x || y : op == WORD_OP_XOR ? x != y : x;
}

/* setp, and set, whose result is of the first type. A third operand is combined with it. The second
 * result is the opposite, and of a pair of numbers what their upper halves give. */
PtxOutcome exec_setp(Warp *w, const PtxCode *c, uint32_t mask) {
    Lanes v;
    bool set = ptx_begins(c->inst->op, "set"), ftz = c->field[FIELD_FTZ] == WORD_FTZ_YES;
    PtxType t = (PtxType)c->type[set], to = set ? (PtxType)c->type[0] : PT_PRED;
    bool combines = c->field[FIELD_OP] != 0;
    bool pair = t == PT_F16X2 || t == PT_BF16X2;
    if ((pair && set) || !comparison(c) || combines != (c->noperands > 3))
        return not_known(w, c, mask);
    take_lanes(&v, w, c);
    uint64_t *second = c->operand[0].second < 0 ? NULL : w->reg[c->operand[0].second];
    EACH_LANE(mask, l) {
        uint64_t x = v.a[l], y = v.b[l], yes = 1;
        if (ftz && t == PT_F32) {
            x = of_f32(flushed(as_f32(x)));
            y = of_f32(flushed(as_f32(y)));
        }
        bool is = holds(comparison(c), compare(t, x, y));
        bool other = c->noperands > 3 && (v.c[l] & 1);
        if (to == PT_F32)
            yes = of_f32(1);
        else if (to != PT_PRED)
            yes = ptx_type[to].bits == 32 ? UINT32_MAX : UINT64_MAX;
        bool r = c->noperands > 3 ? combined(c->field[FIELD_OP], is, other) : is;
        v.d[l] = r ? yes : 0;
        is = pair ? holds(comparison(c), compare(t, x >> 16, y >> 16)) : !is;
        if (second) second[l] = combines ? combined(c->field[FIELD_OP], is, other) : is;
    }
    return OUTCOME_NEXT;
}
