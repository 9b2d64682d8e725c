/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* axis_rules.c: operation by operation, how the runs of its operands become the result's.
 *
 * The hard idea is when runs survive / and % and comparisons. Let k be a power of two, x a run of k
 * elements that starts at a multiple of k, and y a multiple of k that is the same all over the run.
 * Write x0 = k*a, y = k*b. Then for 0 <= j < k, all of it exact:
 *     (x0 + j) / y = (k*a + j) / (k*b) = a / b          one value over the run, if x0 >= 0 < y
 *     (x0 + j) % y = x0 % y + j                         still a run, if x0 >= 0
 *     x0 + j < y  exactly if  x0 < y                    one value: from x0 < y follows x0 + k <= y
 *     y <= x0 + j exactly if  y <= x0                   the same seen from the other side
 * while x0 + j <= y may change within the run (x0 = y); it is x0 + j < y + 1.
 *
 * Two things are taken for granted, as in Triton: 32-bit indices do not wrap in the middle of a run
 * (a wrap never harms divisibility by a power of two), and a divisor is positive. That a dividend
 * is not negative is not taken for granted: C's / and % jump there, so `nonneg` is tracked.*/
#include "ir/analysis/axis_rules.h"

/* The longest runs of x that start at their own multiples while y, a multiple of them too, stays
 * put: the k of the head comment. */
static int64_t run_against(Run x, Run y) {
    int64_t k = min64(min64(x.c, y.k), min64(x.d / x.unit, every(y, 1) / x.unit));
    return max64(k, 1);
}

enum { MOST_OPERANDS = 3 };

/* ---- rules for one dimension ---- */

typedef Run (*Rule)(const Axis *a, const Op *op, const Run *x);

static Run rule_each(const Axis *a, const Op *op, const Run *x) {
    (void)a;
    Run r = {1, 1, MOST, 1};
    for (int i = 0; i < op->noperands; i++) r.k = min64(r.k, x[i].k);
    return r;
}

static Run sum(Run x, Run y, int64_t c) {
    return (Run){c, min64(every(x, c), every(y, c)), min64(x.k, y.k), x.unit};
}

static Run rule_add(const Axis *a, const Op *op, const Run *x) {
    (void)a, (void)op;
    return sum(x[0], x[1], max64(min64(x[0].c, x[1].k), min64(x[0].k, x[1].c)));
}

static Run rule_sub(const Axis *a, const Op *op, const Run *x) {
    (void)a, (void)op;
    return sum(x[0], x[1], min64(x[0].c, x[1].k));
}

static Run rule_addptr(const Axis *a, const Op *op, const Run *x) {
    Run by_bytes[2] = {x[0], x[1]};
    /* Bytes that follow each other are no elements that do. */
    if (ir_attr_int(op, AT_BYTES, 0)) return rule_sub(a, op, by_bytes);
    by_bytes[1].unit = x[0].unit;
    by_bytes[1].d = times(x[1].d, x[0].unit);
    return rule_add(a, op, by_bytes);
}

bool axis_constant_operand(const Axis *a, const Op *op, int i, int64_t *v) {
    const Fact *f = fact_of(a, op->operand[i].value);
    if (!f || !f->axis.has_constant) return false;
    *v = f->axis.constant;
    return true;
}

static Run rule_mul(const Axis *a, const Op *op, const Run *x) {
    int64_t v;
    if (axis_constant_operand(a, op, 1, &v) && v == 1) return x[0];
    if (axis_constant_operand(a, op, 0, &v) && v == 1) return x[1];
    return (Run){1, times(every(x[0], 1), every(x[1], 1)), min64(x[0].k, x[1].k), 1};
}

/* x / 2^n with the quotient of a negative number rounded down (`floors`) or toward zero. */
static Run shifted_down(Run x, int64_t divisor, bool one_sided) {
    Run r = {1, 1, x.k, 1};
    if (one_sided) r.k = max64(r.k, min64(min64(x.c, x.d), divisor));
    /* Exact for the first element of a run; the others round to the same while the run is short. */
    if (x.d >= divisor && (x.c == 1 || (one_sided && x.c <= divisor))) r.d = x.d / divisor;
    return r;
}

bool axis_nonneg_operand(const Axis *a, const Op *op, int i) {
    const Fact *f = fact_of(a, op->operand[i].value);
    return f && f->nonneg;
}

static Run rule_div(const Axis *a, const Op *op, const Run *x) {
    int64_t v;
    bool up = axis_nonneg_operand(a, op, 0);
    if (axis_constant_operand(a, op, 1, &v) && v > 0 && v <= MOST) {
        if (v == 1) return x[0];
        if ((v & (v - 1)) == 0) return shifted_down(x[0], v, up);
    }
    Run r = rule_each(a, op, x);
    if (up) r.k = max64(r.k, run_against(x[0], x[1]));
    if (a->guess) r.k = max64(r.k, min64(x[0].c, x[1].k));
    return r;
}

static Run rule_rem(const Axis *a, const Op *op, const Run *x) {
    int64_t c = axis_nonneg_operand(a, op, 0) ? run_against(x[0], x[1]) : 1;
    if (a->guess) c = min64(x[0].c, x[1].k);
    return sum(x[0], x[1], c);
}

static bool shift_operand(const Axis *a, const Op *op, int64_t *power) {
    int64_t n;
    if (!axis_constant_operand(a, op, 1, &n) || n < 0 || n >= 31) return false;
    *power = (int64_t)1 << n;
    return *power <= MOST;
}

static Run rule_shl(const Axis *a, const Op *op, const Run *x) {
    int64_t power = 1;
    bool known = shift_operand(a, op, &power);
    if (known && power == 1) return x[0];
    return (Run){1, times(every(x[0], 1), power), min64(x[0].k, x[1].k), 1};
}

static Run rule_shr(const Axis *a, const Op *op, const Run *x) {
    int64_t power;
    if (!shift_operand(a, op, &power)) return rule_each(a, op, x);
    return power == 1 ? x[0] : shifted_down(x[0], power, true);
}

/* With a constant mask whose low t bits are ones, runs of 2^t that start at their multiples go
 * through; with one whose low t bits are zeros, such runs become one value. */
static Run masked(Run x, Run y, int64_t mask) {
    Run r = {1, max64(every(x, 1), every(y, 1)), min64(x.k, y.k), 1};
    int64_t aligned = min64(x.c, x.d);
    int64_t through = min64(aligned, low_bit(~mask));
    if (through > 1) {
        r.c = through;
        r.d = every(x, through);
    }
    r.k = max64(r.k, min64(aligned, low_bit(mask)));
    return r;
}

static Run rule_and(const Axis *a, const Op *op, const Run *x) {
    int64_t v;
    if (axis_constant_operand(a, op, 1, &v)) return masked(x[0], x[1], v);
    if (axis_constant_operand(a, op, 0, &v)) return masked(x[1], x[0], v);
    return (Run){1, max64(every(x[0], 1), every(x[1], 1)), min64(x[0].k, x[1].k), 1};
}

/* Where one side's run starts at a multiple of its length and the other side has zeros there, or
 * and exclusive or add. */
static Run rule_or(const Axis *a, const Op *op, const Run *x) {
    (void)a, (void)op;
    return sum(x[0], x[1], max64(run_against(x[0], x[1]), run_against(x[1], x[0])));
}

static Run rule_minmax(const Axis *a, const Op *op, const Run *x) {
    (void)a, (void)op;
    return sum(x[0], x[1], 1);
}

static Run rule_negate(const Axis *a, const Op *op, const Run *x) {
    (void)a, (void)op;
    return (Run){1, every(x[0], 1), x[0].k, 1};
}

static Run rule_select(const Axis *a, const Op *op, const Run *x) {
    (void)a, (void)op;
    int64_t c = min64(x[0].k, min64(x[1].c, x[2].c));
    return (Run){c, min64(every(x[1], c), every(x[2], c)), min64(x[0].k, min64(x[1].k, x[2].k)),
                 x[1].unit};
}

/* x < y over runs of x; where y is a constant, x <= y is x < y + 1. */
static int64_t below(const Axis *a, const Op *op, const Run *x, int left, bool or_equal) {
    Run y = x[!left];
    int64_t v;
    if (or_equal) {
        if (!axis_constant_operand(a, op, !left, &v) || v == INT64_MAX) return 1;
        y.d = low_bit(v + 1);
    }
    return run_against(x[left], y);
}

static Run rule_cmp(const Axis *a, const Op *op, const Run *x) {
    Run r = rule_each(a, op, x);
    if (type_is_float(op->operand[0].value->type)) return r;
    /* Two runs side by side keep their distance. */
    if (x[0].unit == x[1].unit) r.k = max64(r.k, min64(x[0].c, x[1].c));
    bool strict = false;
    switch ((Pred)ir_attr_int(op, AT_PRED, PRED_EQ)) {
    case PRED_EQ:
    case PRED_NE: return r;
    case PRED_LT:
    case PRED_GE: strict = true; break;
    case PRED_LE:
    case PRED_GT: break;
    }
    r.k = max64(r.k, below(a, op, x, 0, !strict));
    r.k = max64(r.k, below(a, op, x, 1, strict));
    return r;
}

static Run rule_cast(const Axis *a, const Op *op, const Run *x) {
    Type from = op->operand[0].value->type, to = op->result[0]->type;
    bool whole = (type_is_int(from) || from.depth) && (type_is_int(to) || to.depth);
    if (!whole || type_is_bool(to)) return rule_each(a, op, x);
    int bits = type_elem_bits(to), was = type_elem_bits(from);
    bool kept =
        bits >= was && (type_is_signed(from) == type_is_signed(to) ||
                        (type_is_signed(from) ? axis_nonneg_operand(a, op, 0) : bits > was));
    int64_t c = x[0].c;
    /* Where values may come out as others, the lower bits of an aligned run still do not carry out
     * of it. */
    if (!kept) c = min64(min64(c, x[0].d), (int64_t)1 << min64(bits - 1, 30));
    /* To or from a pointer neighbours are not 1 apart any more, unless they are bytes. */
    if (unit_of(from) != unit_of(to)) c = 1;
    return (Run){c, every(x[0], c), x[0].k, unit_of(to)};
}

/* One access reads one value from one address, however many lanes ask for it. */
static Run rule_load(const Axis *a, const Op *op, const Run *x) {
    if (ir_attr_int(op, AT_VOLATILE, 0)) return (Run){1, 1, 1, 1};
    return rule_each(a, op, x);
}

static int64_t at_least(int64_t known, const Op *op, AttrId promise, int dim) {
    const Attr *a = ir_attr(op, promise);
    return a && dim < a->ndims ? max64(known, min64((int64_t)1 << min64(a->dims[dim], 30), MOST))
                               : known;
}

/* The writer's word is taken: longer runs begin where shorter ones began. */
static Run promised(const Op *op, Run x, int dim) {
    x.c = at_least(x.c, op, AT_CONTIGUOUS, dim);
    x.d = at_least(x.d, op, AT_DIVISIBLE, dim);
    x.k = at_least(x.k, op, AT_CONSTANT, dim);
    return x;
}

/* How a result comes to be never negative. */
typedef enum Sign {
    SIGN_UNKNOWN,
    SIGN_ALWAYS,
    SIGN_FIRST, /* if operand 0 is */
    SIGN_ALL,   /* if all operands are (for select: but the condition) */
    SIGN_ANY,   /* if one operand is */
} Sign;

static const struct {
    Rule rule;
    Sign sign;
} rule_table[OPS] = {
    [OP_PROGRAM_ID] = {rule_each, SIGN_ALWAYS},
    [OP_NUM_PROGRAMS] = {rule_each, SIGN_ALWAYS},
    [OP_CLUSTER_ID] = {rule_each, SIGN_ALWAYS},
    [OP_NUM_CLUSTERS] = {rule_each, SIGN_ALWAYS},
    [OP_WORK_SIZE] = {rule_each, SIGN_ALWAYS},
    [OP_STREAM_K] = {rule_each, SIGN_ALWAYS},
    [OP_ADD] = {rule_add, SIGN_ALL},
    [OP_SUB] = {rule_sub, SIGN_UNKNOWN},
    [OP_MUL] = {rule_mul, SIGN_ALL},
    [OP_DIV] = {rule_div, SIGN_FIRST},
    [OP_REM] = {rule_rem, SIGN_FIRST},
    [OP_NEG] = {rule_negate, SIGN_UNKNOWN},
    [OP_ABS] = {rule_negate, SIGN_ALWAYS},
    [OP_MIN] = {rule_minmax, SIGN_ALL},
    [OP_MAX] = {rule_minmax, SIGN_ANY},
    [OP_AND] = {rule_and, SIGN_ANY},
    [OP_OR] = {rule_or, SIGN_ALL},
    [OP_XOR] = {rule_or, SIGN_ALL},
    [OP_SHL] = {rule_shl, SIGN_FIRST},
    [OP_SHR] = {rule_shr, SIGN_FIRST},
    [OP_CMP] = {rule_cmp, SIGN_UNKNOWN},
    [OP_SELECT] = {rule_select, SIGN_ALL},
    [OP_CAST] = {rule_cast, SIGN_FIRST},
    [OP_BITCAST] = {rule_cast, SIGN_FIRST},
    [OP_ADDPTR] = {rule_addptr, SIGN_UNKNOWN},
    [OP_LOAD] = {rule_load, SIGN_UNKNOWN},
    [OP_HINT] = {NULL, SIGN_FIRST}, /* see promised() */
};

bool axis_result_nonneg(const Axis *a, const Op *op) {
    Type t = op->result[0]->type;
    if (!type_is_int(t)) return false;
    if (elem_info[t.elem].class_ != ELEM_I) return true;
    Sign sign = rule_table[op->code].sign;
    if (sign == SIGN_ALWAYS) return true;
    if (sign == SIGN_UNKNOWN) return false;
    if (op->code == OP_CAST || op->code == OP_BITCAST) {
        Type from = op->operand[0].value->type;
        if (!type_is_int(from)) return false;
        bool room = type_elem_bits(t) > type_elem_bits(from) ||
                    (type_is_signed(from) && type_elem_bits(t) == type_elem_bits(from));
        return room && axis_nonneg_operand(a, op, 0);
    }
    int64_t divisor;
    if (op->code == OP_DIV && axis_constant_operand(a, op, 1, &divisor) && divisor < 0)
        return false;
    int from = op->code == OP_SELECT, to = sign == SIGN_FIRST ? 1 : op->noperands;
    for (int i = from; i < to; i++)
        if (axis_nonneg_operand(a, op, i) != (sign != SIGN_ANY)) return sign == SIGN_ANY;
    return sign != SIGN_ANY;
}

bool axis_has_rule(const Op *op) {
    return op->noperands <= MOST_OPERANDS &&
           (rule_table[op->code].rule || (op_traits(op) & TRAIT_E));
}

Run axis_rule(const Axis *a, const Op *op, int dim) {
    Run x[MOST_OPERANDS];
    for (int i = 0; i < op->noperands; i++) x[i] = run_of(a, op->operand[i].value, dim);
    if (op->code == OP_HINT) return promised(op, x[0], dim);
    Rule rule = rule_table[op->code].rule;
    return rule ? rule(a, op, x) : rule_each(a, op, x);
}
