/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* remainder.c: the remainder of a range by a number, whose quotient nobody wants -> a test whether
 * the range ends below it, and remainders only where it does not.
 *
 * `(pid * BLOCK + arange(0, BLOCK)) % N` keeps the offsets of the last program inside a matrix; in
 * all others it changes nothing, and costs a division, with its latency, before the first load.
 * Axis analysis knows less of the guard than of the remainder, so this comes after all that asks.
 */
#include "passes/pass.h"
#include "passes/walk.h"

typedef struct Range { /* elements are base + lo … base + hi, modulo the type's size */
    Value *base;       /* i64; NULL: 0 */
    int64_t lo, hi;
} Range;

enum { MOST_DEPTH = 16 };

static Value *wide(Builder *b, Value *scalar) {
    return ir_given(b, OP_CAST, scalar, type_scalar(EL_I64));
}

/* Looks through what an index is made of: ranges and scalars, and their sums. */
static bool range_of(Builder *b, const Value *v, int depth, Range *r) {
    const Op *op = v->def;
    Range x, y;
    int64_t number;
    *r = (Range){0};
    if (!op || depth > MOST_DEPTH) return false;
    if (ir_int_constant(v, &number)) {
        if (number < INT32_MIN || number > INT32_MAX) return false;
        r->lo = r->hi = number;
        return true;
    }
    switch (op->code) {
    case OP_ARANGE:
        r->lo = ir_attr_int(op, AT_START, 0);
        r->hi = ir_attr_int(op, AT_END, 0) - 1;
        return true;
    case OP_SPLAT:
        if (b) r->base = wide(b, op->operand[0].value);
        return true;
    case OP_RESHAPE:
    case OP_BROADCAST:
    case OP_TRANS:
    case OP_CONVERT:
    case OP_HINT: return range_of(b, op->operand[0].value, depth + 1, r);
    case OP_ADD:
        if (!range_of(b, op->operand[0].value, depth + 1, &x) ||
            !range_of(b, op->operand[1].value, depth + 1, &y))
            return false;
        *r = (Range){x.base, x.lo + y.lo, x.hi + y.hi};
        if (y.base) r->base = x.base ? ir_binary(b, OP_ADD, x.base, y.base) : y.base;
        return true;
    default: return false;
    }
}

/* This pass made the branch that op is in. */
static bool is_guarded(const Op *op) {
    const Op *choice = op->block->parent, *yield = NULL;
    if (choice && choice->code == OP_IF) yield = choice->region[0]->first;
    return yield && yield->code == OP_YIELD && yield->noperands == 1 &&
           yield->operand[0].value == op->operand[0].value;
}

static Value *end_of(Builder *b, const Range *r, int64_t n) {
    Value *v = ir_const_int(b, type_scalar(EL_I64), n);
    return r->base ? ir_binary(b, OP_ADD, r->base, v) : v;
}

/* The quotient is wanted, too: the remainder is a product and a difference then. */
static bool has_quotient(const Op *rem) {
    const Value *by = ir_repeated(rem->operand[1].value);
    for (const Use *u = rem->operand[0].value->uses; u; u = u->next)
        if (u->op->code == OP_DIV && u->op->operand[0].value == rem->operand[0].value &&
            ir_repeated(u->op->operand[1].value) == by)
            return true;
    return false;
}

static void guard(Op *op, void *ctx_) {
    PassCtx *ctx = ctx_;
    if (op->code != OP_REM || is_guarded(op)) return;
    Value *x = op->operand[0].value, *result = op->result[0],
          *by = ir_repeated(op->operand[1].value);
    Type t = result->type;
    int64_t known;
    Range r;
    if (!type_is_tile(t) || !type_is_int(t) || type_elem_bits(t) != 32 || loop_around(op) ||
        type_is_tile(by->type) || ir_int_constant(by, &known) || has_quotient(op) ||
        !range_of(NULL, x, 0, &r))
        return;
    Builder b = {ctx->s, ctx->f, op->block, op, op->span};
    range_of(&b, x, 0, &r);
    Value *lo = end_of(&b, &r, r.lo), *hi = end_of(&b, &r, r.hi);
    Value *below = ir_cmp(&b, PRED_LT, hi, wide(&b, by));
    Value *above = ir_cmp(&b, PRED_GE, lo, ir_const_int(&b, type_scalar(EL_I64), 0));
    Value *inside = ir_binary(&b, OP_AND, above, below);
    Op *choice = ir_op(&b, OP_IF, &inside, 1, &t, 1, 2);
    choice->result[0]->layout = result->layout;
    choice->result[0]->name = result->name;
    ir_replace_uses(result, choice->result[0]);
    b.before = NULL;
    b.block = choice->region[0];
    ir_op(&b, OP_YIELD, &x, 1, NULL, 0, 0);
    b.block = choice->region[1];
    ir_append(b.block, op);
    ir_op(&b, OP_YIELD, &result, 1, NULL, 0, 0);
    ctx->changed = true;
}

void pass_remainder(PassCtx *ctx) {
    ir_walk(ctx->f->body, guard, ctx);
}
