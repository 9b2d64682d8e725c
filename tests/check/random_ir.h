/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* random_ir.h: random kernels in tile IR, and what they compute, for tests that compare.
 *
 * random_kernel makes one function of straight-line ops, loops and branches over integers (floats
 * and memory if `wild`) that stores the values it makes, each to its own place in the parameter
 * `out`, as 64-bit numbers: all of them, or if wild, most. `tame` keeps to what axis analysis takes
 * for granted: nothing wraps but casts, and divisors are positive. */
#ifndef TILE_TESTS_RANDOM_IR_H
#define TILE_TESTS_RANDOM_IR_H

#include "ir/interp/interp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct Entry {
    Value *v;
    double bound; /* no element is larger in magnitude (tame) */
    bool positive;
} Entry;

typedef struct Stored { /* where the elements of a value go in `out` */
    Value *v;
    int64_t at;
} Stored;

typedef struct Gen {
    Builder b;
    uint64_t rng;
    bool tame, wild; /* wild: floats, loads, dots */
    VEC(Entry) pool; /* what may be used here */
    VEC(Stored) stored;
    int64_t room; /* elements of `out` in use */
    Value *out, *in;
    int regions;
} Gen;

enum { GEN_IN_COUNT = 64, GEN_MAX_PARAMS = 16 };

static uint64_t gen_next(Gen *g) {
    g->rng ^= g->rng << 13;
    g->rng ^= g->rng >> 7;
    g->rng ^= g->rng << 17;
    return g->rng * 0x2545F4914F6CDD1Du >> 11;
}
static int gen_below(Gen *g, int n) {
    return (int)(gen_next(g) % (uint64_t)n);
}
static bool gen_chance(Gen *g, int percent) {
    return gen_below(g, 100) < percent;
}

static double gen_limit(Type t) {
    if (t.depth || type_is_float(t)) return 0x1p60;
    return ldexp(1, type_elem_bits(t) - type_is_signed(t)) - 1;
}

static Value *gen_range(Gen *g, int64_t start, int64_t n) {
    Type t = type_tile(EL_I32, 1, &n);
    Op *op = ir_op(&g->b, OP_ARANGE, NULL, 0, &t, 1, 0);
    ir_set_attr(g->b.s, op, AT_START, start);
    ir_set_attr(g->b.s, op, AT_END, start + n);
    return op->result[0];
}

/* Stores a value as its bits, widened. */
static void gen_store(Gen *g, Value *v) {
    Builder *b = &g->b;
    Type t = v->type;
    static const Elem same_size[] = {[1] = EL_I8, [2] = EL_I16, [4] = EL_I32, [8] = EL_I64};
    Value *bits = v;
    if (type_is_float(t))
        bits = ir_given(b, OP_BITCAST, v, type_with_elem(t, same_size[type_elem_bytes(t)]));
    if (bits->type.elem != EL_I64 || bits->type.depth)
        bits = ir_given(b, OP_CAST, bits, type_with_elem(t, EL_I64));
    Value *start = ir_const_int(b, type_scalar(EL_I32), g->room);
    Value *to = ir_binary(b, OP_ADDPTR, g->out, start);
    if (t.rank) {
        Value *index = gen_range(g, 0, type_numel(t));
        index = ir_given(b, OP_RESHAPE, index, type_with_elem(t, EL_I32));
        to =
            ir_binary(b, OP_ADDPTR, ir_given(b, OP_SPLAT, to, type_with_shape(to->type, t)), index);
    }
    ir_op(b, OP_STORE, (Value *[]){to, bits}, 2, NULL, 0, 0);
    vec_push(&b->s->arena, &g->stored, ((Stored){v, g->room}));
    g->room += type_numel(t);
}

static void gen_add(Gen *g, Value *v, double bound, bool positive) {
    vec_push(&g->b.s->arena, &g->pool, ((Entry){v, bound, positive}));
    if (!g->wild || gen_chance(g, 60)) gen_store(g, v);
}

static Entry gen_any(Gen *g) {
    return g->pool.at[gen_below(g, g->pool.n)];
}

static Entry gen_const(Gen *g, Type t) {
    static const double floats[] = {0.0, -0.0, 1.0,     -1.0,     0.5,
                                    3.0, 1e-7, 70000.0, INFINITY, -INFINITY};
    if (t.depth) return (Entry){ir_const_bits(&g->b, t, 0), 0, false};
    if (type_is_float(t))
        return (Entry){ir_const_float(&g->b, t, floats[gen_below(g, 10)]), 0, false};
    int64_t v =
        gen_chance(g, 30) ? gen_below(g, 3) - 1 : (int64_t)gen_below(g, 8) << gen_below(g, 4);
    if (!g->tame && gen_chance(g, 20)) v = (int64_t)gen_next(g);
    v = elem_wrap((Elem)t.elem, v);
    return (Entry){ir_const_int(&g->b, t, v), fabs((double)v), v > 0};
}

/* Something else of type t: from the pool, a scalar of it in every element, or a constant. */
static Entry gen_like(Gen *g, Type t) {
    for (int tries = 0; tries < 12; tries++) {
        Entry e = gen_any(g);
        if (type_equal(e.v->type, t)) return e;
        if (t.rank && type_equal(e.v->type, type_element(t))) {
            e.v = ir_given(&g->b, OP_SPLAT, e.v, t);
            return e;
        }
    }
    return gen_const(g, t);
}

static double gen_ceiling(double x) {
    return ldexp(1, (int)ceil(log2(x + 1)) + 1) - 1;
}

static void gen_binary(Gen *g) {
    static const OpCode ints[] = {OP_ADD, OP_ADD, OP_SUB, OP_MUL, OP_DIV, OP_REM, OP_MIN,
                                  OP_MAX, OP_AND, OP_OR,  OP_XOR, OP_SHL, OP_SHR, OP_UMULHI};
    static const OpCode floats[] = {OP_ADD, OP_SUB, OP_MUL,    OP_DIV,
                                    OP_MIN, OP_MAX, OP_DIV_RN, OP_REM};
    Entry x = gen_any(g), y;
    Type t = x.v->type;
    if (t.depth) return;
    OpCode code = type_is_float(t) ? floats[gen_below(g, 8)] : ints[gen_below(g, 14)];
    y = code == OP_SHL || code == OP_SHR || gen_chance(g, 25) ? gen_const(g, t) : gen_like(g, t);
    if (!g->tame) {
        if (gen_chance(g, 20)) y = x;
        gen_add(g, ir_binary(&g->b, code, x.v, y.v), 0, false);
        if (gen_chance(g, 20)) gen_add(g, ir_binary(&g->b, code, y.v, x.v), 0, false);
        return;
    }
    double bound = 0;
    bool positive = false, is_signed = type_is_signed(t);
    switch (code) {
    case OP_ADD: bound = x.bound + y.bound; break;
    case OP_SUB:
        if (!is_signed) return;
        bound = x.bound + y.bound;
        break;
    case OP_MUL: bound = x.bound * y.bound; break;
    case OP_DIV:
    case OP_REM:
        if (!y.positive) return;
        bound = x.bound;
        break;
    case OP_MIN:
    case OP_MAX: bound = fmax(x.bound, y.bound); break;
    case OP_AND:
    case OP_OR:
    case OP_XOR: bound = gen_ceiling(fmax(x.bound, y.bound)); break;
    case OP_SHL:
        if (y.bound > 20) return;
        bound = x.bound * exp2(y.bound);
        break;
    case OP_SHR: bound = x.bound; break;
    default: return;
    }
    if (type_is_bool(t) && code != OP_AND && code != OP_OR && code != OP_XOR) return;
    if (bound > gen_limit(t)) return;
    positive = x.positive && y.positive && (code == OP_ADD || code == OP_MUL || code == OP_MIN);
    gen_add(g, ir_binary(&g->b, code, x.v, y.v), bound, positive);
}

static void gen_cmp(Gen *g) {
    Entry x = gen_any(g), y = gen_like(g, x.v->type);
    if (gen_chance(g, 10)) y = x;
    gen_add(g, ir_cmp(&g->b, (Pred)gen_below(g, 6), x.v, y.v), 1, false);
}

static void gen_select(Gen *g) {
    Entry x = gen_any(g), y = gen_like(g, x.v->type);
    Entry m = gen_like(g, type_with_elem(x.v->type, EL_I1));
    Value *v = ir_op1(&g->b, OP_SELECT, (Value *[]){m.v, x.v, y.v}, 3);
    gen_add(g, v, fmax(x.bound, y.bound), x.positive && y.positive);
}

static void gen_unary(Gen *g) {
    Entry x = gen_any(g);
    Type t = x.v->type;
    if (t.depth || (g->tame && !type_is_signed(t))) return;
    gen_add(g, ir_unary(&g->b, gen_chance(g, 50) ? OP_NEG : OP_ABS, x.v), x.bound, false);
}

static void gen_cast(Gen *g, Entry x) {
    static const Elem whole[] = {EL_I32, EL_I64, EL_I16, EL_I8, EL_U32, EL_U64, EL_U16, EL_U8};
    static const Elem floats[] = {EL_F16, EL_BF16, EL_F32, EL_F64, EL_F8E4M3, EL_F8E5M2};
    if (x.v->type.depth) {
        if (g->tame) /* addresses as numbers */
            gen_add(g, ir_given(&g->b, OP_CAST, x.v, type_with_elem(x.v->type, EL_I64)), 0x1p45,
                    true);
        return;
    }
    Elem to = g->wild && gen_chance(g, 50)    ? floats[gen_below(g, 6)]
              : !g->tame && gen_chance(g, 10) ? EL_I1
                                              : whole[gen_below(g, 8)];
    Type t = type_with_elem(x.v->type, to);
    double limit = gen_limit(t);
    bool kept = x.bound <= limit && (type_is_signed(t) || !type_is_signed(x.v->type));
    gen_add(g, ir_given(&g->b, OP_CAST, x.v, t), kept ? x.bound : gen_ceiling(limit / 2),
            kept && x.positive);
    if (g->wild && gen_chance(g, 50)) gen_cast(g, g->pool.at[g->pool.n - 1]);
}

static void gen_addptr(Gen *g) {
    Entry p = gen_any(g);
    if (!p.v->type.depth) return;
    Entry x = gen_like(g, type_with_elem(p.v->type, gen_chance(g, 70) ? EL_I32 : EL_I64));
    if (x.bound > 0x1p40) return;
    gen_add(g, ir_binary(&g->b, OP_ADDPTR, p.v, x.v), 0x1p45, false);
}

static void gen_trans(Gen *g, Entry x) {
    int order[TILE_MAX_RANK];
    Type t = x.v->type, r = t;
    for (int i = 0; i < t.rank; i++) order[i] = i;
    for (int i = t.rank - 1; i > 0; i--) {
        int k = gen_below(g, i + 1), o = order[i];
        order[i] = order[k];
        order[k] = o;
    }
    for (int i = 0; i < t.rank; i++) r.log2[i] = t.log2[order[i]];
    Value *v = ir_given(&g->b, OP_TRANS, x.v, r);
    ir_set_dims(g->b.s, v->def, AT_ORDER, order, t.rank);
    gen_add(g, v, x.bound, x.positive);
    if (t.rank > 1 && gen_chance(g, 40)) gen_trans(g, g->pool.at[g->pool.n - 1]);
}

static void gen_shape(Gen *g) {
    static const uint8_t shapes[][3] = {{4}, {5}, {2, 3}, {3, 2}, {3, 0}, {0, 3}, {1, 2, 2}, {3}};
    static const uint8_t ranks[] = {1, 1, 2, 2, 2, 2, 3, 1};
    Entry x = gen_any(g);
    Type t = x.v->type, r = t;
    int k = gen_below(g, 8);
    r.rank = ranks[k];
    memset(r.log2, 0, sizeof r.log2);
    memcpy(r.log2, shapes[k], r.rank);
    if (t.rank == 0) {
        gen_add(g, ir_given(&g->b, OP_SPLAT, x.v, r), x.bound, x.positive);
    } else if (gen_chance(g, 40)) {
        r = t;
        for (int i = 0; i < t.rank; i++)
            if (t.log2[i] == 0 && type_log2_numel(r) < 5)
                r.log2[i] = (uint8_t)(1 + gen_below(g, 3));
        gen_add(g, ir_given(&g->b, OP_BROADCAST, x.v, r), x.bound, x.positive);
    } else if (gen_chance(g, 30)) {
        gen_trans(g, x);
    } else if (type_log2_numel(r) == type_log2_numel(t)) {
        gen_add(g, ir_given(&g->b, OP_RESHAPE, x.v, r), x.bound, x.positive);
    }
}

static void gen_arange(Gen *g) {
    int64_t n = (int64_t)1 << (2 + gen_below(g, 4)), start = gen_below(g, 3) * gen_below(g, 9) - 4;
    if (gen_chance(g, 70)) start = 0;
    gen_add(g, gen_range(g, start, n), (double)(llabs(start) + n), start > 0);
}

static void gen_program_id(Gen *g) {
    Type t = type_scalar(EL_I32);
    Op *op = ir_op(&g->b, gen_chance(g, 70) ? OP_PROGRAM_ID : OP_NUM_PROGRAMS, NULL, 0, &t, 1, 0);
    ir_set_attr(g->b.s, op, AT_AXIS, gen_below(g, 3));
    gen_add(g, op->result[0], 8, op->code == OP_NUM_PROGRAMS);
}

/* A load within bounds; with a mask, either an `other` or a select that hides the rest. */
static void gen_load(Gen *g) {
    Entry x = gen_any(g);
    if (x.v->type.depth || x.v->type.elem != EL_I32) return;
    Builder *b = &g->b;
    Type t = x.v->type;
    Value *last = ir_const_int(b, t, GEN_IN_COUNT - 1);
    Value *p = g->in;
    if (t.rank) p = ir_given(b, OP_SPLAT, p, type_with_shape(p->type, t));
    p = ir_binary(b, OP_ADDPTR, p, ir_binary(b, OP_AND, x.v, last));
    Value *m = gen_like(g, type_with_elem(t, EL_I1)).v;
    Value *other = gen_like(g, type_pointee(p->type)).v;
    if (gen_chance(g, 40)) {
        Value *v = ir_op1(b, OP_LOAD, (Value *[]){p, m, other}, 3);
        if (gen_chance(g, 50)) /* by another mask */
            v = ir_op1(b, OP_SELECT, (Value *[]){gen_like(g, m->type).v, v, gen_like(g, v->type).v},
                       3);
        gen_add(g, v, 0, false);
        return;
    }
    Value *v = ir_op1(b, OP_LOAD, (Value *[]){p, m}, 2);
    if (gen_chance(g, 30)) other = gen_like(g, other->type).v;
    gen_add(g, ir_op1(b, OP_SELECT, (Value *[]){m, v, other}, 3), 0, false);
}

/* A product of int8 tiles, whose sums are exact in any order, with something added. */
static void gen_dot(Gen *g) {
    Builder *b = &g->b;
    Value *x = gen_like(g, type_tile(EL_I8, 2, (int64_t[]){4, 8})).v;
    Value *y = gen_like(g, type_tile(EL_I8, 2, (int64_t[]){8, 4})).v;
    Type t = type_tile(EL_I32, 2, (int64_t[]){4, 4});
    Value *acc = gen_chance(g, 70) ? ir_const_int(b, t, 0) : gen_like(g, t).v;
    Value *dot = ir_op1(b, OP_DOT, (Value *[]){x, y, acc}, 3), *c = gen_like(g, t).v;
    gen_add(g, gen_chance(g, 50) ? ir_binary(b, OP_ADD, dot, c) : ir_binary(b, OP_ADD, c, dot), 0,
            false);
}

static void gen_ops(Gen *g, int n);

/* Enters a region; leaving puts the builder and the pool back. */
typedef struct GenMark {
    Builder b;
    int pool;
} GenMark;
static GenMark gen_enter(Gen *g, Block *region) {
    GenMark m = {g->b, g->pool.n};
    g->b.block = region;
    g->b.before = NULL;
    g->regions++;
    return m;
}
static void gen_leave(Gen *g, GenMark m, Value *const *yielded, int n) {
    ir_op(&g->b, OP_YIELD, yielded, n, NULL, 0, 0);
    g->b = m.b;
    g->pool.n = m.pool;
    g->regions--;
}

enum { GEN_CARRIED = 3 };
static const double GEN_LOOP_BOUND = 0x1p24;

static bool gen_may_carry(const Gen *g, Entry e, double bound) {
    Type t = e.v->type;
    return !g->tame || t.depth || ((t.elem == EL_I32 || t.elem == EL_I64) && e.bound <= bound);
}

static void gen_for(Gen *g) {
    static const int steps[] = {1, 1, 2, 4, 16, 3};
    Value *operands[3 + GEN_CARRIED];
    Type types[GEN_CARRIED], index = type_scalar(EL_I32);
    int n = 0, step = steps[gen_below(g, 6)];
    Builder *b = &g->b;
    for (int i = 0; i < GEN_CARRIED; i++) {
        Entry e = gen_any(g);
        if (!gen_may_carry(g, e, 0x1p20)) continue;
        types[n] = e.v->type;
        operands[3 + n++] = e.v;
    }
    Value *lo = gen_like(g, index).v;
    Value *trips = ir_const_int(b, index, gen_below(g, 4) * step);
    Value *hi = gen_chance(g, 30) ? ir_binary(b, OP_ADD, lo, trips) : trips;
    if (hi == trips) lo = ir_const_int(b, index, 0);
    operands[0] = lo;
    operands[1] = hi;
    operands[2] = ir_const_int(b, index, step);
    Op *op = ir_op(b, OP_FOR, operands, 3 + n, types, n, 1);
    Value *args[1 + GEN_CARRIED], *yielded[GEN_CARRIED];
    GenMark mark = gen_enter(g, op->region[0]);
    for (int i = 0; i <= n; i++)
        args[i] = ir_block_arg(b->s, b->f, op->region[0], i ? types[i - 1] : index, NULL);
    for (int i = 0; i <= n; i++) gen_add(g, args[i], GEN_LOOP_BOUND, false);
    gen_ops(g, 2 + gen_below(g, 6));
    for (int i = 0; i < n; i++) {
        Entry e = gen_like(g, types[i]);
        yielded[i] = gen_may_carry(g, e, GEN_LOOP_BOUND) && type_equal(e.v->type, types[i])
                         ? e.v
                         : args[1 + i];
        if (gen_chance(g, 30)) {
            yielded[i] = args[1 + i];
            Entry y = gen_like(g, types[i].depth ? type_with_elem(types[i], EL_I32) : types[i]);
            if (g->tame && y.bound > 0x1p16) continue;
            yielded[i] = ir_binary(b, types[i].depth ? OP_ADDPTR : OP_ADD, args[1 + i], y.v);
        }
    }
    gen_leave(g, mark, yielded, n);
    for (int i = 0; i < n; i++) gen_add(g, op->result[i], GEN_LOOP_BOUND, false);
}

static void gen_if(Gen *g) {
    Entry cond = gen_like(g, type_scalar(EL_I1)), x = gen_any(g);
    Type t = x.v->type;
    Op *op = ir_op(&g->b, OP_IF, &cond.v, 1, &t, 1, 2);
    double bound = 0;
    for (int r = 0; r < 2; r++) {
        GenMark mark = gen_enter(g, op->region[r]);
        gen_ops(g, 1 + gen_below(g, 4));
        Entry y = gen_like(g, t);
        bound = fmax(bound, y.bound);
        gen_leave(g, mark, &y.v, 1);
    }
    gen_add(g, op->result[0], bound, false);
}

static void gen_ops(Gen *g, int n) {
    enum { DEEPEST = 3 };
    for (int i = 0; i < n; i++) {
        int k = gen_below(g, 100);
        if (k < 30)
            gen_binary(g);
        else if (k < 40)
            gen_cmp(g);
        else if (k < 48)
            gen_select(g);
        else if (k < 52)
            gen_unary(g);
        else if (k < 60)
            gen_cast(g, gen_any(g));
        else if (k < 76)
            gen_shape(g);
        else if (k < 82)
            gen_arange(g);
        else if (k < 84)
            gen_program_id(g);
        else if (k < 90) {
            if (g->tame)
                gen_addptr(g);
            else
                gen_load(g);
        } else if (k < 92) {
            if (g->wild) gen_dot(g);
        } else if (g->regions < DEEPEST) {
            if (k < 96)
                gen_for(g);
            else
                gen_if(g);
        }
    }
}

typedef struct GenParam {
    const char *name;
    Elem elem;
    int depth, divisible;
    bool positive;
} GenParam;

static Value *gen_param(Gen *g, GenParam p) {
    Type t = {.elem = (uint8_t)p.elem, .depth = (uint8_t)p.depth};
    return ir_param(g->b.s, g->b.f, &(Param){.name = p.name, .type = t, .divisible = p.divisible});
}

static const GenParam gen_params[] = {
    {"out", EL_I64, 1, 16, false}, {"in", EL_F32, 1, 16, false}, {"n", EL_I32, 0, 16, true},
    {"m", EL_I32, 0, 1, true},     {"s", EL_I32, 0, 8, false},   {"x", EL_I32, 0, 1, false},
    {"w", EL_I64, 0, 4, true},     {"u", EL_U32, 0, 16, false},  {"p", EL_F16, 1, 16, false},
    {"q", EL_I8, 1, 4, false},     {"r", EL_F64, 1, 1, false},
};
enum { GEN_PARAMS = sizeof gen_params / sizeof gen_params[0] };

static Func *random_kernel(Gen *g, Module *m, uint64_t seed, int ops) {
    Func *f = ir_func(m, "random");
    g->rng = seed * 2 + 1;
    g->b = (Builder){.s = m->session, .f = f, .block = f->body};
    for (int i = 0; i < 8; i++) gen_next(g);
    for (int i = 0; i < GEN_PARAMS; i++) {
        Value *v = gen_param(g, gen_params[i]);
        if (i == 0)
            g->out = v;
        else if (i == 1)
            g->in = v;
        else if (g->tame || !v->type.depth)
            gen_add(g, v, 0x1p10, gen_params[i].positive);
    }
    if (ops) {
        static const int64_t shapes[][3] = {{4, 8, 1}, {8, 4, 1}, {2, 4, 4}};
        gen_arange(g);
        for (int i = 0; i < 3; i++) {
            Value *v = gen_range(g, 0, 32);
            v = ir_given(&g->b, OP_RESHAPE, v, type_tile(EL_I32, i < 2 ? 2 : 3, shapes[i]));
            gen_add(g, v, 32, false);
        }
    }
    gen_ops(g, ops);
    ir_op(&g->b, OP_RETURN, NULL, 0, NULL, 0, 0);
    return f;
}

/* Values for the parameters that keep their promises; `out` and `in` are left to the caller. */
static void random_args(Gen *g, InterpArg *args) {
    for (int i = 2; i < GEN_PARAMS; i++) {
        const GenParam *p = &gen_params[i];
        int64_t v = (int64_t)gen_below(g, 1024 / p->divisible) * p->divisible;
        if (p->positive && v == 0) v = p->divisible;
        if (p->depth)
            v += 0x10000;
        else if (!p->positive && elem_info[p->elem].class_ == ELEM_I && gen_chance(g, 40))
            v = -v;
        if (p->depth)
            args[i].p = (uint64_t)v;
        else
            args[i].i = v;
    }
}

/* What a random kernel reads from `in`: numbers, and those that are none. */
static void random_input(float *in) {
    static const float odd[] = {0.0f,   -0.0f,    INFINITY,      -INFINITY, NAN,  1e-40f,
                                3e38f,  124.0f,   70000.0f,      -70000.0f, 1.0f, -1.0f,
                                255.5f, 65504.0f, 2147483648.0f, 0.5f};
    for (int i = 0; i < GEN_IN_COUNT; i++) in[i] = i % 4 ? (float)(i - 20) * 0.37f : odd[i / 4];
}

#endif
