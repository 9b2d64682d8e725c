/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* launch_numbers.c: what the roles of a further entry make of a launch's arguments alone -> numbers
 * that the launch hands over.
 *
 *     tiles = (N + 255) / 256; q = place / tiles; r = place % tiles
 * becomes
 *     n = launch_number tiles; m = launch_number 2^62 / tiles + 1
 *     q = (place * m) >> 62; r = place - q * n
 *
 * All programs would work out the same, and the first copies wait for it: a quotient takes 150
 * clocks and more, a product 10. The product is exact: what is divided and the divisor are below
 * 2^31, so it is off by less than one part in the divisor.
 *
 * Numbers of 32 bits wrap around in a kernel and not in a launch, and quotients round toward zero
 * there. So a launch of the entry is asked whether what stands below a number's last step fits; of
 * the last step it sees that itself. */
#include "ir/analysis/poly.h"
#include "ir/expression.h"
#include "passes/pass.h"

#include <string.h>

enum { MOST_NUMBERS = 12, MOST_DEPTH = 12, ONE_BITS = 62, LOW_BITS = 32 };

typedef enum Kind { NOT_ASKED, NO_NUMBER, A_NUMBER, A_QUOTIENT } Kind;

typedef struct Divided { /* a quotient that is there */
    const Block *block;
    const Value *x, *y;
    Value *q;
} Divided;

typedef struct Launch {
    Session *s;
    Func *f;
    Builder at;     /* where the launch's numbers are made */
    uint32_t known; /* ids below are */
    uint8_t *kind;  /* by value id: a Kind */
    bool *natural;  /* by value id: a quotient or remainder of what is 0 or more */
    Value **copy;   /* by value id: the same in front of the roles */
    Value **handed; /* by value id: its number */
    bool *asked;    /* by value id: `handed` says whether there is one */
    struct {
        const char *text;
        Value *v;
    } number[MOST_NUMBERS];
    int n;
    Divided last;
    bool changed;
} Launch;

/* ---- what a launch can work out ---- */

static bool is_32_bits(const Value *v) {
    return type_equal(v->type, type_scalar(EL_I32));
}

/* Of sums, products and quotients by constants, in 32 bits; A_QUOTIENT: there is one of the last,
 * so it is worth a parameter. */
static Kind kind_of(Launch *x, const Value *v, int depth) {
    int64_t by;
    const Op *op = v->def;
    if (v->id >= x->known || !is_32_bits(v) || depth > MOST_DEPTH) return NO_NUMBER;
    if (x->kind[v->id]) return x->kind[v->id];
    Kind kind = NO_NUMBER;
    if (ir_int_constant(v, &by) || (!op && !v->block->parent)) {
        kind = A_NUMBER;
    } else if (op && op->code == OP_HINT) {
        kind = kind_of(x, op->operand[0].value, depth + 1);
    } else if (op &&
               (op->code == OP_ADD || op->code == OP_SUB || op->code == OP_MUL ||
                (op->code == OP_DIV && ir_int_constant(op->operand[1].value, &by) && by > 0))) {
        Kind l = kind_of(x, op->operand[0].value, depth + 1);
        Kind r = kind_of(x, op->operand[1].value, depth + 1);
        kind = l < r ? l : r;
        if (kind >= A_NUMBER) kind = op->code == OP_DIV || l > r ? A_QUOTIENT : r;
    }
    return x->kind[v->id] = (uint8_t)kind;
}

/* v in front of the roles, made of copies. */
static Value *copy_of(Launch *x, Value *v) {
    Op *op = v->def;
    if (!op) return v;
    if (x->copy[v->id]) return x->copy[v->id];
    Value *in[2] = {NULL, NULL};
    for (int i = 0; i < op->noperands; i++) in[i] = copy_of(x, op->operand[i].value);
    return x->copy[v->id] = ir_op_like(&x->at, op, in, op->noperands, NULL)->result[0];
}

/* One for each text: v is in front of the roles. */
static Value *launch_number(Launch *x, Value *v) {
    Buf text = buf_new(&x->s->arena);
    if (!ir_expression(v, WITH_DIVISORS, &text)) return NULL;
    for (int i = 0; i < x->n; i++)
        if (strcmp(x->number[i].text, text.data) == 0) return x->number[i].v;
    if (x->n == MOST_NUMBERS) return NULL;
    Value *number = ir_unary(&x->at, OP_LAUNCH_NUMBER, v);
    x->number[x->n].text = text.data;
    x->number[x->n++].v = number;
    return number;
}

/* NULL: it cannot be one. */
static Value *number_of(Launch *x, Value *v) {
    if (!x->asked[v->id] && ir_ask_steps(x->s, x->f, v))
        x->handed[v->id] = launch_number(x, copy_of(x, v));
    x->asked[v->id] = true;
    return x->handed[v->id];
}

/* ---- quotients of places ---- */

/* 2^62 / d + 1, of a number in front of the roles that is above 0, in 64 bits. */
static Value *reciprocal_of(Launch *x, Value *d) {
    Builder *b = &x->at;
    Value *one = ir_const_int(b, d->type, (int64_t)1 << ONE_BITS);
    one = ir_binary(b, OP_DIV, one, d);
    return launch_number(x, ir_binary(b, OP_ADD, one, ir_const_int(b, d->type, 1)));
}

/* The upper words of a product of 32 and 64 bits. */
static Value *quotient(Builder *b, Value *v, Value *reciprocal) {
    Type u32 = type_scalar(EL_U32), u64 = type_scalar(EL_U64);
    Value *m = ir_given(b, OP_CAST, reciprocal, u64), *n = ir_given(b, OP_CAST, v, u32);
    Value *low = ir_given(b, OP_CAST, m, u32);
    Value *high = ir_binary(b, OP_SHR, m, ir_const_int(b, u64, LOW_BITS));
    high = ir_given(b, OP_CAST, ir_given(b, OP_CAST, high, u32), u64);
    Value *carried = ir_given(b, OP_CAST, ir_binary(b, OP_UMULHI, n, low), u64);
    Value *sum = ir_binary(b, OP_MUL, ir_given(b, OP_CAST, n, u64), high);
    sum = ir_binary(b, OP_ADD, sum, carried);
    sum = ir_binary(b, OP_SHR, sum, ir_const_int(b, u64, ONE_BITS - LOW_BITS));
    return ir_given(b, OP_CAST, sum, type_scalar(EL_I32));
}

/* v / d of a number d. */
static Value *by_number(Launch *x, Builder *b, Value *v, Value *d) {
    if (kind_of(x, d, 0) < A_NUMBER || (kind_of(x, d, 0) == A_QUOTIENT && !number_of(x, d)) ||
        !ir_ask_of(x->s, x->f, d, "%s > 0"))
        return NULL;
    Value *wide = ir_given(&x->at, OP_CAST, copy_of(x, d), type_scalar(EL_I64));
    Value *reciprocal = reciprocal_of(x, wide);
    return reciprocal ? quotient(b, v, reciprocal) : NULL;
}

/* The terms of min(all - first * most, most), rows of a group of so many, of which the last one has
 * what is left: all and most, in either order of operands. */
static Value *rows_of_group(const Value *v, int64_t *most) {
    int64_t by;
    if (!op_is(v, OP_MIN)) return NULL;
    for (int i = 0; i < 2; i++) {
        const Value *left = v->def->operand[i].value;
        if (!ir_int_constant(v->def->operand[!i].value, most) || *most < 2 || *most & (*most - 1))
            continue;
        if (!op_is(left, OP_SUB) || !op_is(left->def->operand[1].value, OP_MUL)) continue;
        const Op *first = left->def->operand[1].value->def;
        for (int k = 0; k < 2; k++)
            if (ir_int_constant(first->operand[k].value, &by) && by == *most)
                return left->def->operand[0].value;
    }
    return NULL;
}

static void end_arm(Builder *b, Op *branch, int r, Value *v) {
    Builder arm = {b->s, b->f, branch->region[r], NULL, b->span};
    ir_op(&arm, OP_YIELD, &v, 1, NULL, 0, 0);
}

/* v / d of rows of a group: of a full one a shift, of the last one a product. A launch of more
 * programs than there are tiles has groups of none, or of less. */
static Value *by_rows(Launch *x, Builder *b, Value *v, Value *d) {
    int64_t most;
    Type i32 = v->type, i64 = type_scalar(EL_I64), u32 = type_scalar(EL_U32);
    Value *all = rows_of_group(d, &most);
    if (!all || kind_of(x, all, 0) != A_QUOTIENT || !number_of(x, all)) return NULL;
    Builder *at = &x->at;
    Value *last = ir_given(at, OP_CAST, copy_of(x, all), i64), *one = ir_const_int(at, i64, 1);
    last = ir_binary(at, OP_ADD, last, ir_const_int(at, i64, most - 1));
    last = ir_binary(at, OP_REM, last, ir_const_int(at, i64, most));
    Value *reciprocal = reciprocal_of(x, ir_binary(at, OP_ADD, last, one));
    if (!reciprocal) return NULL;
    Value *some = ir_cmp(b, PRED_GE, d, ir_const_int(b, i32, 1));
    Op *branch = ir_op(b, OP_IF, &some, 1, &i32, 1, 2);
    Builder in = {b->s, b->f, branch->region[0], NULL, b->span};
    Builder out = {b->s, b->f, branch->region[1], NULL, b->span};
    Value *shift = ir_const_int(&in, u32, __builtin_ctzll((uint64_t)most));
    Value *full = ir_binary(&in, OP_SHR, ir_given(&in, OP_CAST, v, u32), shift);
    Value *is_full = ir_cmp(&in, PRED_EQ, d, ir_const_int(&in, i32, most));
    Value *way[] = {is_full, ir_given(&in, OP_CAST, full, i32), quotient(&in, v, reciprocal)};
    end_arm(b, branch, 0, ir_op1(&in, OP_SELECT, way, 3));
    end_arm(b, branch, 1, ir_binary(&out, OP_DIV, v, d));
    return branch->result[0];
}

/* Asked before any is replaced. */
static void find_natural(Launch *x, Op *op) {
    int64_t by;
    if ((op->code != OP_DIV && op->code != OP_REM) || !is_32_bits(op->operand[0].value) ||
        ir_int_constant(op->operand[1].value, &by))
        return;
    x->natural[op->result[0]->id] = poly_is_natural_place(op->operand[0].value);
}

static void divide(Launch *x, Op *op) {
    if (op->nresults != 1 || op->result[0]->id >= x->known || !x->natural[op->result[0]->id])
        return;
    Value *v = op->operand[0].value, *d = op->operand[1].value;
    Builder b = {x->s, x->f, op->block, op, op->span};
    Divided *last = &x->last;
    if (last->block != op->block || last->x != v || last->y != d) {
        Value *q = by_number(x, &b, v, d);
        *last = (Divided){op->block, v, d, q ? q : by_rows(x, &b, v, d)};
    }
    Value *r = last->q;
    if (!r) return;
    if (op->code == OP_REM) r = ir_binary(&b, OP_SUB, v, ir_binary(&b, OP_MUL, r, d));
    ir_replace_uses(op->result[0], r);
    ir_erase(op);
    x->changed = true;
}

/* ---- all that roles do ---- */

static void hand_over(Launch *x, Op *op) {
    bool is_number = op->nresults == 1 && kind_of(x, op->result[0], 0) >= A_NUMBER;
    for (int i = 0; !is_number && i < op->noperands; i++) {
        Value *v = op->operand[i].value;
        Value *number = kind_of(x, v, 0) == A_QUOTIENT ? number_of(x, v) : NULL;
        if (!number) continue;
        ir_set_operand(op, i, number);
        x->changed = true;
    }
}

static void each(Launch *x, Block *block, void (*fn)(Launch *x, Op *op)) {
    for (Op *op = block->first, *next; op; op = next) {
        next = op->next;
        for (int r = 0; r < op->nregions; r++) each(x, op->region[r], fn);
        fn(x, op);
    }
}

void pass_launch_numbers(PassCtx *ctx) {
    Func *f = ctx->f;
    Launch x = {.s = ctx->s, .f = f, .known = f->nvalues};
    if (!f->entry_of || !f->persistent) return;
    x.at = (Builder){ctx->s, f, f->body, f->body->first, f->span};
    x.kind = arena_alloc(&ctx->s->arena, f->nvalues);
    x.natural = arena_array(&ctx->s->arena, f->nvalues, sizeof *x.natural);
    x.handed = arena_array(&ctx->s->arena, f->nvalues, sizeof *x.handed);
    x.asked = arena_array(&ctx->s->arena, f->nvalues, sizeof *x.asked);
    x.copy = arena_array(&ctx->s->arena, f->nvalues, sizeof *x.copy);
    for (Op *op = f->body->first; op; op = op->next)
        for (int r = 0; op->code == OP_WARPS && r < op->nregions; r++) {
            each(&x, op->region[r], find_natural);
            each(&x, op->region[r], divide);
            each(&x, op->region[r], hand_over);
        }
    ctx->changed |= x.changed;
}
