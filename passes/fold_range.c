/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fold_range.c: comparisons of integers that the ranges of their operands decide, and quotients in
 * 64 bits of numbers that have 32 (part of `fold`).
 *
 * `cols < N` of a loop that walks N numbers in equal blocks always holds, and a load behind it
 * needs neither a mask nor what it has elsewhere. A range is of all elements, in every turn of the
 * loops around: what its type can hold, unless what it is made of says less. A sum that might wrap
 * around says nothing. */
#include "passes/fold.h"

enum { MOST_DEPTH = 64 }; /* of expressions: deeper ones are not looked into */

static const FoldRange anything = {.known = true, .lo = INT64_MIN, .hi = INT64_MAX};

static bool has_range(Type t) {
    return type_is_int(t) && !type_is_bool(t) && !t.depth && t.space == SPACE_REGISTER;
}

/* All that a number of the type can be. */
static FoldRange range_of_type(Type t) {
    int bits = type_elem_bits(t);
    if (bits > 63) return anything; /* what u64 has above is negative: see is_ordered */
    if (!type_is_signed(t)) return (FoldRange){true, 0, (int64_t)(((uint64_t)1 << bits) - 1)};
    int64_t half = (int64_t)1 << (bits - 1);
    return (FoldRange){true, -half, half - 1};
}

/* Is the order of the numbers that of the bits as a signed number? Of u64 only the lower half. */
static bool is_ordered(Type t, FoldRange r) {
    return type_is_signed(t) || type_elem_bits(t) < 64 || r.lo >= 0;
}

static FoldRange within(Type t, FoldRange r) {
    FoldRange all = range_of_type(t);
    return r.known && r.lo >= all.lo && r.hi <= all.hi ? r : all;
}

/* The ends of x op y; not known where one does not fit 64 bits. */
static FoldRange of_corners(OpCode code, FoldRange x, FoldRange y) {
    int64_t v[4], ends[2][2] = {{x.lo, x.hi}, {y.lo, y.hi}};
    FoldRange r = {.known = true, .lo = INT64_MAX, .hi = INT64_MIN};
    for (int i = 0; i < 4; i++) {
        int64_t a = ends[0][i & 1], b = ends[1][i >> 1];
        bool over = code == OP_ADD   ? __builtin_add_overflow(a, b, &v[i])
                    : code == OP_SUB ? __builtin_sub_overflow(a, b, &v[i])
                                     : __builtin_mul_overflow(a, b, &v[i]);
        if (over) return (FoldRange){0};
        if (v[i] < r.lo) r.lo = v[i];
        if (v[i] > r.hi) r.hi = v[i];
    }
    return r;
}

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static FoldRange of_two(OpCode code, FoldRange x, FoldRange y) {
    bool divides = y.lo == y.hi && y.lo > 0;
    switch (code) {
    case OP_ADD:
    case OP_SUB:
    case OP_MUL: return of_corners(code, x, y);
    case OP_MIN: return (FoldRange){true, least(x.lo, y.lo), least(x.hi, y.hi)};
    case OP_MAX: return (FoldRange){true, most(x.lo, y.lo), most(x.hi, y.hi)};
    case OP_DIV: return (FoldRange){divides, divides ? x.lo / y.lo : 0, divides ? x.hi / y.lo : 0};
    case OP_REM:
        if (y.lo <= 0) return (FoldRange){0};
        return (FoldRange){true, x.lo < 0 ? most(x.lo, 1 - y.hi) : 0,
                           x.hi > 0 ? least(x.hi, y.hi - 1) : 0};
    case OP_AND:
        if (y.lo < 0) return (FoldRange){0};
        return (FoldRange){true, 0, x.lo < 0 ? y.hi : least(x.hi, y.hi)};
    default: return (FoldRange){0};
    }
}

static FoldRange range_of(Fold *fold, const Value *v, int depth);

/* The index of a loop whose step is a constant; where its start is one, too, it stops before its
 * end. */
static FoldRange of_index(Fold *fold, const Op *loop, int depth) {
    FoldRange lo = range_of(fold, loop->operand[0].value, depth);
    FoldRange hi = range_of(fold, loop->operand[1].value, depth);
    Type t = loop->operand[0].value->type;
    int64_t step, start, way;
    if (!is_ordered(t, lo) || !is_ordered(t, hi)) return (FoldRange){0};
    if (!fold_constant(loop->operand[2].value, &step) || step == 0) return (FoldRange){0};
    if (step < 0 && !type_is_signed(t)) return (FoldRange){0};
    if (step < 0)
        return (FoldRange){hi.lo < INT64_MAX && lo.hi > hi.lo, hi.lo + (hi.lo < INT64_MAX), lo.hi};
    if (hi.hi <= lo.lo) return (FoldRange){0};
    bool exact = fold_constant(loop->operand[0].value, &start) &&
                 !__builtin_sub_overflow(hi.hi - 1, start, &way);
    return (FoldRange){true, lo.lo, exact ? start + way / step * step : hi.hi - 1};
}

static FoldRange of_op(Fold *fold, const Op *op, int depth) {
    FoldRange x = {0}, y = {0};
    if (op->nresults != 1 || op->nregions) return x;
    if (op->code == OP_CONST) {
        int64_t bits = ir_attr_int(op, AT_VALUE, 0);
        return (FoldRange){true, bits, bits};
    }
    if (op->code == OP_ARANGE)
        return (FoldRange){true, ir_attr_int(op, AT_START, 0), ir_attr_int(op, AT_END, 1) - 1};
    if (op->code == OP_PROGRAM_ID || op->code == OP_CLUSTER_ID || op->code == OP_STREAM_K)
        return (FoldRange){true, 0, INT32_MAX - 1};
    if (op->code == OP_NUM_PROGRAMS || op->code == OP_NUM_CLUSTERS || op->code == OP_WORK_SIZE)
        return (FoldRange){true, 1, INT32_MAX};
    int first = op->code == OP_SELECT;
    if (op->noperands <= first || !has_range(op->operand[first].value->type)) return x;
    x = range_of(fold, op->operand[first].value, depth);
    if (op->noperands > first + 1) {
        if (!has_range(op->operand[first + 1].value->type)) return (FoldRange){0};
        y = range_of(fold, op->operand[first + 1].value, depth);
    }
    switch (op->code) {
    case OP_SPLAT:
    case OP_BROADCAST:
    case OP_RESHAPE:
    case OP_TRANS:
    case OP_HINT: return x;
    case OP_CAST: return is_ordered(op->operand[0].value->type, x) ? x : (FoldRange){0};
    case OP_SELECT: return (FoldRange){true, least(x.lo, y.lo), most(x.hi, y.hi)};
    default:
        return is_ordered(op->result[0]->type, x) && is_ordered(op->result[0]->type, y)
                   ? of_two(op->code, x, y)
                   : (FoldRange){0};
    }
}

static void grow(Fold *fold, uint32_t n) {
    if (n < fold->nranges) return;
    uint32_t more = n * 2 + 64;
    FoldRange *wide = arena_array(&fold->s->arena, more, sizeof *wide);
    for (uint32_t i = 0; i < fold->nranges; i++) wide[i] = fold->range[i];
    fold->range = wide;
    fold->nranges = more;
}

static FoldRange range_of(Fold *fold, const Value *v, int depth) {
    const Op *parent = v->def ? NULL : v->block->parent;
    bool index = parent && parent->code == OP_FOR && v == v->block->args[0];
    if (depth == MOST_DEPTH || (!v->def && !index)) return range_of_type(v->type);
    grow(fold, v->id);
    if (!fold->range[v->id].known) {
        FoldRange r = within(v->type, v->def ? of_op(fold, v->def, depth + 1)
                                             : of_index(fold, parent, depth + 1));
        fold->range[v->id] = r; /* the array may have grown since */
    }
    return fold->range[v->id];
}

/* 1: holds, 0: does not, -1: not known. */
static int decided(Pred pred, FoldRange x, FoldRange y) {
    switch (pred) {
    case PRED_LT: return x.hi < y.lo ? 1 : x.lo >= y.hi ? 0 : -1;
    case PRED_LE: return x.hi <= y.lo ? 1 : x.lo > y.hi ? 0 : -1;
    case PRED_GT: return decided(PRED_LT, y, x);
    case PRED_GE: return decided(PRED_LE, y, x);
    case PRED_EQ: return x.hi < y.lo || y.hi < x.lo ? 0 : -1;
    case PRED_NE: return x.hi < y.lo || y.hi < x.lo ? 1 : -1;
    default: return -1;
    }
}

bool fold_comparison(Fold *fold, Op *op) {
    if (op->code != OP_CMP || !has_range(op->operand[0].value->type)) return false;
    Type t = op->operand[0].value->type;
    FoldRange x = range_of(fold, op->operand[0].value, 0);
    FoldRange y = range_of(fold, op->operand[1].value, 0);
    if (!is_ordered(t, x) || !is_ordered(t, y)) return false;
    int holds = decided((Pred)ir_attr_int(op, AT_PRED, PRED_EQ), x, y);
    return holds >= 0 && fold_replace(op, ir_const_int(&fold->b, op->result[0]->type, holds));
}

static bool fits_i32(Type t, FoldRange r) {
    return r.known && is_ordered(t, r) && r.lo >= INT32_MIN && r.hi <= INT32_MAX;
}

/* What was widened before it is divided is divided first: a GPU divides 64 bits in some 100
 * instructions, and an index of 64 bits is not known to be small. */
bool fold_quotient(Fold *fold, Op *op) {
    bool quotient = op->code == OP_DIV || op->code == OP_REM;
    if (!quotient || !has_range(op->operand[0].value->type)) return false;
    Value *x = op->operand[0].value, *y = op->operand[1].value;
    Type wide = x->type, narrow = type_with_elem(wide, EL_I32);
    if (type_elem_bits(wide) != 64 || !op_is(x, OP_CAST) ||
        !has_range(x->def->operand[0].value->type))
        return false;
    FoldRange of_x = range_of(fold, x, 0), of_y = range_of(fold, y, 0);
    if (!fits_i32(wide, of_x) || !fits_i32(wide, of_y)) return false;
    if (of_x.lo == INT32_MIN && of_y.lo <= -1 && of_y.hi >= -1) return false; /* 2^31 */
    x = ir_given(&fold->b, OP_CAST, x, narrow);
    y = ir_given(&fold->b, OP_CAST, y, narrow);
    Value *in[] = {x, y};
    return fold_replace(op, ir_given(&fold->b, OP_CAST, fold_same_op(fold, op, in, narrow), wide));
}
