/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* const.c: Python's arithmetic on objects that are known while compiling.
 *
 * Integers are those that fit int64 or uint64; a result that fits neither is an error, where Python
 * would go on with big numbers. Internally an integer is sign and magnitude (Wide), so each
 * operator is written once for all of that range. */
#include "frontend/lower/internal.h"

#include <math.h>
#include <string.h>

/* ---- making and asking ---- */

Obj obj_none(void) {
    return (Obj){.kind = OBJ_NONE};
}
Obj obj_bool(bool v) {
    return (Obj){.kind = OBJ_BOOL, .i = v};
}
Obj obj_int(int64_t v) {
    return (Obj){.kind = OBJ_INT, .i = v};
}
Obj obj_float(double v) {
    return (Obj){.kind = OBJ_FLOAT, .f = v};
}

Obj obj_string(Lower *l, const char *s) {
    Obj o = {.kind = OBJ_STRING};
    o.text.n = strlen(s);
    o.text.at = arena_strndup(&l->s->arena, s, o.text.n);
    return o;
}

Obj obj_dtype(Lower *l, Type t) {
    return (Obj){.kind = OBJ_DTYPE, .type = arena_copy(&l->s->arena, &t, sizeof t)};
}

Obj obj_value(Value *v) {
    return v ? (Obj){.kind = OBJ_VALUE, .value = v} : (Obj){.kind = OBJ_POISON};
}

Obj obj_tuple(Lower *l, const Obj *at, int n) {
    Obj o = {.kind = OBJ_TUPLE};
    o.seq.n = n;
    o.seq.at = arena_array(&l->s->arena, (size_t)n + 1, sizeof(Obj));
    int weight = 1;
    for (int i = 0; i < n; i++) {
        o.seq.at[i] = at[i];
        weight += 1 + at[i].weight;
        if (weight > UINT16_MAX) weight = UINT16_MAX;
    }
    o.weight = (uint16_t)weight;
    return o;
}

bool obj_is_structure(Obj o) {
    return o.kind == OBJ_TUPLE || o.kind == OBJ_INSTANCE;
}

Obj copy_structure(Lower *l, Obj o) {
    Obj copy = obj_tuple(l, o.seq.at, o.seq.n);
    copy.kind = o.kind;
    copy.seq.of_class = o.seq.of_class;
    return copy;
}

Obj checked(Lower *l, Obj o, Span span) {
    if (o.kind == OBJ_STRING && o.text.n > STRING_LIMIT)
        return fail(l, E_SEQUENCE_LIMIT, span, "a string of more than %d bytes", STRING_LIMIT);
    int limit = l->b.f ? TUPLE_LIMIT : HOST_TUPLE_LIMIT;
    if (o.weight > limit)
        return fail(l, E_SEQUENCE_LIMIT, span, "a tuple of more than %d elements", limit);
    return o;
}

static bool is_sequence(Obj o) {
    return o.kind == OBJ_TUPLE || o.kind == OBJ_DICT || o.kind == OBJ_CONFIG ||
           o.kind == OBJ_SLICE || o.kind == OBJ_TUPLE_TYPE || o.kind == OBJ_INSTANCE ||
           o.kind == OBJ_SET;
}

bool obj_is_number(Obj o) {
    return o.kind == OBJ_BOOL || o.kind == OBJ_INT || o.kind == OBJ_FLOAT;
}

bool obj_is_torch_tensor(Obj o) {
    return o.kind == OBJ_UNKNOWN && o.is_pointer;
}

bool obj_is_const(Obj o) {
    if (is_sequence(o))
        for (int i = 0; i < o.seq.n; i++)
            if (!obj_is_const(o.seq.at[i])) return false;
    if (o.kind == OBJ_BUILTIN && o.builtin.self) return obj_is_const(*o.builtin.self);
    if (o.kind == OBJ_METHOD) return obj_is_const(*o.method.self);
    return o.kind != OBJ_VALUE && o.kind != OBJ_POISON && o.kind != OBJ_FOREIGN;
}

bool obj_is_poison(Obj o) {
    if (is_sequence(o))
        for (int i = 0; i < o.seq.n; i++)
            if (obj_is_poison(o.seq.at[i])) return true;
    return o.kind == OBJ_POISON;
}

bool obj_same(Obj a, Obj b) {
    if (a.kind != b.kind) return false;
    switch (a.kind) {
    case OBJ_POISON:
    case OBJ_NONE: return true;
    case OBJ_BOOL:
    case OBJ_INT: return a.i == b.i && a.big == b.big;
    case OBJ_FLOAT: return memcmp(&a.f, &b.f, sizeof a.f) == 0;
    case OBJ_STRING: return a.text.n == b.text.n && memcmp(a.text.at, b.text.at, a.text.n) == 0;
    case OBJ_DTYPE: return type_equal(*a.type, *b.type);
    case OBJ_CONSTEXPR_TYPE: return obj_same(*a.of, *b.of);
    case OBJ_TUPLE:
    case OBJ_TUPLE_TYPE:
    case OBJ_INSTANCE:
    case OBJ_SET:
    case OBJ_DICT:
    case OBJ_CONFIG:
    case OBJ_SLICE:
        if (a.seq.n != b.seq.n || a.seq.of_class != b.seq.of_class) return false;
        for (int i = 0; i < a.seq.n; i++)
            if (!obj_same(a.seq.at[i], b.seq.at[i])) return false;
        return true;
    case OBJ_RANGE: return a.range == b.range;
    case OBJ_FUNC: return a.func == b.func;
    case OBJ_BUILTIN: return a.builtin.row == b.builtin.row && a.builtin.self == b.builtin.self;
    case OBJ_MODULE:
    case OBJ_FOREIGN: return strcmp(a.path, b.path) == 0;
    case OBJ_SOURCE: return a.source == b.source;
    case OBJ_VALUE: return a.value == b.value;
    case OBJ_LAMBDA: return a.lambda == b.lambda;
    case OBJ_CLASS: return a.class_ == b.class_;
    case OBJ_METHOD:
        return a.method.func == b.method.func && obj_same(*a.method.self, *b.method.self);
    case OBJ_UNSET: return true;
    case OBJ_ARGS: return true;
    case OBJ_UNKNOWN: return strcmp(a.path, b.path) == 0;
    }
    return false;
}

double obj_double(Obj o) {
    if (o.kind == OBJ_FLOAT) return o.f;
    return o.big ? (double)(uint64_t)o.i : (double)o.i;
}

bool obj_truth(Obj o) {
    switch (o.kind) {
    case OBJ_NONE: return false;
    case OBJ_BOOL:
    case OBJ_INT: return o.i != 0;
    case OBJ_FLOAT: return o.f != 0;
    case OBJ_STRING: return o.text.n != 0;
    case OBJ_TUPLE:
    case OBJ_SET:
    case OBJ_DICT: return o.seq.n != 0;
    default: return true;
    }
}

/* ---- integers ---- */

typedef struct Wide {
    bool negative; /* never with mag 0 */
    uint64_t mag;
    bool overflow;
} Wide;

static Wide widen(Obj o) {
    if (o.big || o.i >= 0) return (Wide){.mag = (uint64_t)o.i};
    return (Wide){.negative = true, .mag = 0 - (uint64_t)o.i};
}

static Wide wide(bool negative, uint64_t mag, bool overflow) {
    return (Wide){.negative = negative && mag, .mag = mag, .overflow = overflow};
}

static Wide wide_add(Wide x, Wide y) {
    if (x.negative == y.negative) return wide(x.negative, x.mag + y.mag, x.mag + y.mag < x.mag);
    if (x.mag >= y.mag) return wide(x.negative, x.mag - y.mag, false);
    return wide(y.negative, y.mag - x.mag, false);
}

static Wide wide_negate(Wide x) {
    return wide(!x.negative, x.mag, x.overflow);
}

static Wide wide_mul(Wide x, Wide y) {
    bool overflow = x.mag && y.mag > UINT64_MAX / x.mag;
    return wide(x.negative != y.negative, x.mag * y.mag, overflow);
}

/* Python's: the quotient is rounded down, the remainder has the divisor's sign. */
static Wide wide_floordiv(Wide x, Wide y) {
    bool negative = x.negative != y.negative;
    uint64_t q = x.mag / y.mag;
    if (negative && x.mag % y.mag) q++;
    return wide(negative, q, false);
}

static Wide wide_mod(Wide x, Wide y) {
    uint64_t r = x.mag % y.mag;
    if (r && x.negative != y.negative) r = y.mag - r;
    return wide(y.negative, r, false);
}

static Wide wide_pow(Wide x, uint64_t e) {
    Wide r = wide(false, 1, false);
    while (e) {
        if (e & 1) r = wide_mul(r, x);
        e >>= 1;
        if (r.overflow || !e) break;
        x = wide_mul(x, x);
        if (x.overflow) return x; /* more factors follow: the result cannot fit */
    }
    return r;
}

static Obj narrow(Lower *l, Wide w, Operator op, Span span) {
    bool fits = w.negative ? w.mag <= (uint64_t)INT64_MAX + 1 : true;
    if (w.overflow || !fits)
        return fail(l, E_NUMBER_RANGE, span, "the result of '%s' does not fit 64 bits",
                    operator_text[op]);
    Obj o = obj_int((int64_t)(w.negative ? 0 - w.mag : w.mag));
    o.big = !w.negative && w.mag > INT64_MAX;
    return o;
}

static Obj int_bits(Lower *l, Operator op, Obj x, Obj y, Span span) {
    bool negative = (!x.big && x.i < 0) || (!y.big && y.i < 0);
    if ((x.big || y.big) && negative)
        return fail(l, E_NUMBER_RANGE, span, "'%s' of %s and %s does not fit 64 bits",
                    operator_text[op], obj_text(l, x), obj_text(l, y));
    uint64_t a = (uint64_t)x.i, b = (uint64_t)y.i;
    uint64_t r = op == OPR_AND ? a & b : op == OPR_OR ? a | b : a ^ b;
    if (x.kind == OBJ_BOOL && y.kind == OBJ_BOOL) return obj_bool(r & 1);
    Obj o = obj_int((int64_t)r);
    o.big = !negative && r > INT64_MAX;
    return o;
}

static Obj int_shift(Lower *l, Operator op, Obj x, Obj y, Span span) {
    if (!y.big && y.i < 0)
        return fail(l, E_ARITHMETIC, span, "negative shift count %lld", (long long)y.i);
    bool far = y.big || y.i > 63;
    Wide w = widen(x);
    if (op == OPR_SHL) {
        if (far && w.mag) return narrow(l, wide(false, 0, true), op, span);
        uint64_t n = far ? 0 : (uint64_t)y.i;
        return narrow(l, wide(w.negative, w.mag << n, n && w.mag >> (64 - n)), op, span);
    }
    if (far) return obj_int(w.negative ? -1 : 0);
    return narrow(l, wide_floordiv(w, wide(false, (uint64_t)1 << y.i, false)), op, span);
}

static Obj int_binary(Lower *l, Operator op, Obj x, Obj y, Span span) {
    Wide a = widen(x), b = widen(y);
    if (!b.mag && (op == OPR_DIV || op == OPR_FLOORDIV || op == OPR_MOD))
        return fail(l, E_ARITHMETIC, span, "division by zero");
    switch (op) {
    case OPR_ADD: return narrow(l, wide_add(a, b), op, span);
    case OPR_SUB: return narrow(l, wide_add(a, wide_negate(b)), op, span);
    case OPR_MUL: return narrow(l, wide_mul(a, b), op, span);
    case OPR_DIV: return obj_float(obj_double(x) / obj_double(y));
    case OPR_FLOORDIV: return narrow(l, wide_floordiv(a, b), op, span);
    case OPR_MOD: return narrow(l, wide_mod(a, b), op, span);
    case OPR_POW:
        if (b.negative && !a.mag) return fail(l, E_ARITHMETIC, span, "division by zero");
        if (b.negative) return obj_float(pow(obj_double(x), obj_double(y)));
        return narrow(l, wide_pow(a, b.mag), op, span);
    case OPR_AND:
    case OPR_OR:
    case OPR_XOR: return int_bits(l, op, x, y, span);
    case OPR_SHL:
    case OPR_SHR: return int_shift(l, op, x, y, span);
    default: return fail(l, E_OPERANDS, span, "'%s' has no meaning here", operator_text[op]);
    }
}

static Obj float_binary(Lower *l, Operator op, double x, double y, Span span) {
    if (y == 0 && (op == OPR_DIV || op == OPR_FLOORDIV || op == OPR_MOD))
        return fail(l, E_ARITHMETIC, span, "division by zero");
    switch (op) {
    case OPR_ADD: return obj_float(x + y);
    case OPR_SUB: return obj_float(x - y);
    case OPR_MUL: return obj_float(x * y);
    case OPR_DIV: return obj_float(x / y);
    case OPR_FLOORDIV: return obj_float(floor(x / y));
    case OPR_MOD: {
        double r = fmod(x, y);
        return obj_float(r != 0 && (r < 0) != (y < 0) ? r + y : r);
    }
    case OPR_POW: return obj_float(pow(x, y));
    default: return fail(l, E_OPERANDS, span, "'%s' takes integers, not float", operator_text[op]);
    }
}

/* ---- operators ---- */

Obj const_unary(Lower *l, Operator op, Obj x, Span span) {
    if (op == OPR_NOT) return obj_bool(!obj_truth(x));
    if (x.kind == OBJ_FLOAT && op == OPR_NEG) return obj_float(-x.f);
    if (x.kind == OBJ_FLOAT && op == OPR_POS) return x;
    if (obj_is_number(x) && x.kind != OBJ_FLOAT) {
        x.kind = OBJ_INT;
        if (op == OPR_POS) return x;
        if (op == OPR_NEG) return narrow(l, wide_negate(widen(x)), OPR_SUB, span);
        if (op == OPR_INVERT)
            return narrow(l, wide_add(wide_negate(widen(x)), wide(true, 1, false)), OPR_SUB, span);
    }
    return fail(l, E_OPERANDS, span, "'%s' cannot be applied to %s", operator_text[op],
                obj_what(l, x));
}

Obj concat(Lower *l, Obj x, Obj y, Span span) {
    int n = x.seq.n + y.seq.n;
    Obj *at = arena_array(&l->s->arena, (size_t)n + 1, sizeof *at);
    for (int i = 0; i < n; i++) at[i] = i < x.seq.n ? x.seq.at[i] : y.seq.at[i - x.seq.n];
    l->steps += n / 8;
    Obj o = checked(l, obj_tuple(l, at, n), span);
    if (o.kind == OBJ_TUPLE) o.kind = x.kind;
    return o;
}

static Obj repeat(Lower *l, Obj seq, Obj times, Span span) {
    int64_t n = times.i > 0 && seq.seq.n ? times.i : 0;
    int limit = l->b.f ? TUPLE_LIMIT : HOST_TUPLE_LIMIT;
    if (times.big || n > limit || n * (seq.weight - 1) >= limit) /* and one for the tuple itself */
        return fail(l, E_SEQUENCE_LIMIT, span, "a tuple of more than %d elements", limit);
    int total = (int)n * seq.seq.n;
    Obj *at = arena_array(&l->s->arena, (size_t)total + 1, sizeof *at);
    for (int i = 0; i < total; i++) at[i] = seq.seq.at[i % seq.seq.n];
    return obj_tuple(l, at, total);
}

Obj const_binary(Lower *l, Operator op, Obj x, Obj y, Span span) {
    Arena *a = &l->s->arena;
    if (obj_is_number(x) && obj_is_number(y)) {
        if (x.kind == OBJ_FLOAT || y.kind == OBJ_FLOAT)
            return float_binary(l, op, obj_double(x), obj_double(y), span);
        return int_binary(l, op, x, y, span);
    }
    if (op == OPR_ADD && x.kind == OBJ_STRING && y.kind == OBJ_STRING)
        return checked(l, obj_string(l, arena_printf(a, "%s%s", x.text.at, y.text.at)), span);
    if (op == OPR_ADD && x.kind == OBJ_TUPLE && y.kind == OBJ_TUPLE) return concat(l, x, y, span);
    bool set_op = op == OPR_OR || op == OPR_AND || op == OPR_SUB || op == OPR_XOR;
    if (set_op && x.kind == OBJ_SET && y.kind == OBJ_SET) return set_binary(l, op, x, y);
    if (op == OPR_MUL && x.kind == OBJ_TUPLE && y.kind == OBJ_INT) return repeat(l, x, y, span);
    if (op == OPR_MUL && y.kind == OBJ_TUPLE && x.kind == OBJ_INT) return repeat(l, y, x, span);
    return fail(l, E_OPERANDS, span, "'%s' cannot be applied to %s and %s", operator_text[op],
                obj_what(l, x), obj_what(l, y));
}

static int order(Obj x, Obj y) { /* of two integers */
    Wide a = widen(x), b = widen(y);
    if (a.negative != b.negative) return a.negative ? -1 : 1;
    int c = (a.mag > b.mag) - (a.mag < b.mag);
    return a.negative ? -c : c;
}

/* How many numbers it gives; -1: that is known when the kernel runs. */
static int64_t numbers_of(const Range *r) {
    const Obj *part[] = {&r->start, &r->stop, &r->step};
    for (int i = 0; i < 3; i++)
        if (part[i]->kind != OBJ_INT || part[i]->big) return -1;
    int64_t from = r->start.i, to = r->stop.i, by = r->step.i;
    if (by == 0 || (by > 0 ? from >= to : from <= to)) return 0;
    uint64_t first = (uint64_t)from, last = (uint64_t)to, step = (uint64_t)by;
    uint64_t n = by > 0 ? (last - first - 1) / step : (first - last - 1) / (0 - step);
    return n < INT64_MAX ? (int64_t)n + 1 : INT64_MAX;
}

/* Ranges are equal that give the same numbers. */
static bool same_range(const Range *a, const Range *b) {
    int64_t n = numbers_of(a);
    if (n < 0 || n != numbers_of(b)) return a == b;
    return n == 0 || (a->start.i == b->start.i && (n == 1 || a->step.i == b->step.i));
}

static bool same_dict(Obj x, Obj y) {
    bool same = x.seq.n == y.seq.n;
    for (int i = 0; i + 1 < x.seq.n && same; i += 2) {
        int k = dict_place(y, x.seq.at[i]);
        same = k >= 0 && obj_equal(x.seq.at[i + 1], y.seq.at[k + 1]);
    }
    return same;
}

static bool equal(Obj x, Obj y) {
    if (obj_is_number(x) && obj_is_number(y)) {
        if (x.kind == OBJ_FLOAT || y.kind == OBJ_FLOAT) return obj_double(x) == obj_double(y);
        return order(x, y) == 0;
    }
    if (x.kind == OBJ_CONSTEXPR_TYPE && y.kind == OBJ_CONSTEXPR_TYPE) return equal(*x.of, *y.of);
    if (x.kind == y.kind &&
        (x.kind == OBJ_TUPLE || x.kind == OBJ_TUPLE_TYPE || x.kind == OBJ_SLICE)) {
        if (x.seq.n != y.seq.n) return false;
        for (int i = 0; i < x.seq.n; i++)
            if (!equal(x.seq.at[i], y.seq.at[i])) return false;
        return true;
    }
    if (x.kind == OBJ_SET && y.kind == OBJ_SET) return same_set(x, y);
    if (x.kind == OBJ_DICT && y.kind == OBJ_DICT) return same_dict(x, y);
    if (x.kind == OBJ_RANGE && y.kind == OBJ_RANGE) return same_range(x.range, y.range);
    return obj_same(x, y);
}

bool obj_equal(Obj x, Obj y) {
    return equal(x, y);
}

int dict_place(Obj dict, Obj key) {
    for (int i = 0; i + 1 < dict.seq.n; i += 2)
        if (obj_equal(dict.seq.at[i], key)) return i;
    return -1;
}

static bool holds(Operator op, double x, double y) {
    switch (op) {
    case OPR_LT: return x < y;
    case OPR_LE: return x <= y;
    case OPR_GT: return x > y;
    default: return x >= y;
    }
}

/* Two tuples become what decides between them: their first elements that differ, or their lengths.
 */
static void first_difference(Obj *x, Obj *y) {
    if (x->kind != OBJ_TUPLE || y->kind != OBJ_TUPLE) return;
    int n = x->seq.n < y->seq.n ? x->seq.n : y->seq.n, i = 0;
    while (i < n && equal(x->seq.at[i], y->seq.at[i])) i++;
    Obj longer_x = obj_int(x->seq.n), longer_y = obj_int(y->seq.n);
    *x = i < n ? x->seq.at[i] : longer_x;
    *y = i < n ? y->seq.at[i] : longer_y;
}

Obj const_compare(Lower *l, Operator op, Obj x, Obj y, Span span) {
    /* Whether an argument is None is known even where its value is not. */
    if ((op == OPR_IS || op == OPR_IS_NOT) && (x.kind == OBJ_UNKNOWN || y.kind == OBJ_UNKNOWN))
        l->needs = NULL;
    switch (op) {
    case OPR_EQ: return obj_bool(equal(x, y));
    case OPR_NE: return obj_bool(!equal(x, y));
    case OPR_IS: return obj_bool(obj_same(x, y));
    case OPR_IS_NOT: return obj_bool(!obj_same(x, y));
    case OPR_IN:
    case OPR_NOT_IN: {
        bool found = false;
        if (y.kind == OBJ_TUPLE || y.kind == OBJ_DICT || y.kind == OBJ_SET) {
            for (int i = 0; i < y.seq.n; i += y.kind == OBJ_DICT ? 2 : 1)
                found |= equal(x, y.seq.at[i]);
        } else if (y.kind == OBJ_STRING && x.kind == OBJ_STRING) {
            found = strstr(y.text.at, x.text.at) != NULL;
        } else {
            break;
        }
        return obj_bool(found == (op == OPR_IN));
    }
    default:
        if (!l->b.f) first_difference(&x, &y); /* a kernel has no such comparison */
        if (obj_is_number(x) && obj_is_number(y)) {
            if (x.kind == OBJ_FLOAT || y.kind == OBJ_FLOAT)
                return obj_bool(holds(op, obj_double(x), obj_double(y)));
            return obj_bool(holds(op, order(x, y), 0));
        }
        if (x.kind == OBJ_STRING && y.kind == OBJ_STRING)
            return obj_bool(holds(op, strcmp(x.text.at, y.text.at), 0));
    }
    return fail(l, E_OPERANDS, span, "'%s' cannot compare %s and %s", operator_text[op],
                obj_what(l, x), obj_what(l, y));
}
