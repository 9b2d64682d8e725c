/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* longest_first.c: a grid whose programs have the longer loops the larger their number on an axis
 * is, as under a causal mask -> the same, in an order that begins with the longest.
 *
 * The hardware starts programs in the order of their numbers, axis 0 fastest, one where another
 * ends: with the longest last all but a few multiprocessors wait for these. Of 512 tiles, 1 to 32
 * blocks long, in 16 heads, 132 multiprocessors take 1.31 of the time that would be even; counted
 * from the other end of the axis 1.27; in groups of 8 heads, the longest of each first, 1.00. So an
 * axis that is not the fastest is counted from its other end, and the fastest goes behind axis 1 in
 * such groups, besides. Programs are in no order: nothing but time comes of it; what grows is
 * judged as if parameters were positive. */
#include "ir/effects.h"
#include "passes/cost.h"
#include "passes/grid_order.h"

enum { AXES = 3, MOST_DEPTH = 64 };

/* How a value goes as the program's number does. */
typedef enum Growth { FALLS = -1, STAYS = 0, GROWS = 1, UNKNOWN = 2 } Growth;

static Growth turned(Growth g) {
    return g == UNKNOWN ? UNKNOWN : (Growth)-g;
}

static Growth both(Growth x, Growth y) {
    return x == STAYS ? y : y == STAYS || x == y ? x : UNKNOWN;
}

typedef struct Walk {
    bool grows[AXES], falls[AXES];
    bool asked[AXES];     /* by program_id */
    uint8_t *found[AXES]; /* by value id: its growth, from 1 on; 0: not asked yet */
    PassCtx *ctx;
} Walk;

static Growth growth(const Walk *w, const Value *v, int axis, int depth);

static Growth growth_of_op(const Walk *w, const Op *op, int axis, int depth) {
    int64_t by;
    if (op->code == OP_PROGRAM_ID) return ir_attr_int(op, AT_AXIS, 0) == axis ? GROWS : STAYS;
    Growth x = op->noperands > 0 ? growth(w, op->operand[0].value, axis, depth + 1) : STAYS;
    Growth y = op->noperands > 1 ? growth(w, op->operand[1].value, axis, depth + 1) : STAYS;
    switch (op->code) {
    case OP_ADD:
    case OP_MIN:
    case OP_MAX: return both(x, y);
    case OP_SUB: return both(x, turned(y));
    case OP_CAST:
    case OP_HINT: return x;
    case OP_MUL:
    case OP_SHL:
    case OP_DIV:
        if (ir_int_constant(op->operand[1].value, &by) && by < 0) return turned(x);
        return y == STAYS || (op->code == OP_MUL && x == STAYS) ? both(x, y) : UNKNOWN;
    default: return x == STAYS && y == STAYS && op->noperands <= 2 ? STAYS : UNKNOWN;
    }
}

static Growth growth(const Walk *w, const Value *v, int axis, int depth) {
    const Op *op = v->def;
    uint8_t *found = &w->found[axis][v->id];
    int64_t by;
    if (ir_int_constant(v, &by)) return STAYS;
    if (!op) return v->block->parent ? UNKNOWN : STAYS; /* a parameter */
    if (op->nregions) return UNKNOWN;
    if (*found || depth == MOST_DEPTH) return *found ? (Growth)(*found - 1 + FALLS) : UNKNOWN;
    Growth g = growth_of_op(w, op, axis, depth);
    *found = (uint8_t)(1 + g - FALLS);
    return g;
}

static void look_for_dot(Op *op, void *found) {
    *(bool *)found |= op->code == OP_DOT;
}

static void judge(Op *op, void *ctx) {
    Walk *w = ctx;
    bool dots = false;
    if (op->code == OP_PROGRAM_ID) w->asked[ir_attr_int(op, AT_AXIS, 0)] = true;
    if (op->code != OP_FOR) return;
    ir_walk(op->region[0], look_for_dot, &dots);
    for (int k = 0; dots && k < AXES; k++) {
        Growth from = growth(w, op->operand[0].value, k, 0);
        Growth to = growth(w, op->operand[1].value, k, 0);
        Growth length = both(to, turned(from));
        w->grows[k] |= length == GROWS;
        w->falls[k] |= length == FALLS;
    }
}

static Value *size_of(Builder *b, int axis) {
    Type i32 = type_scalar(EL_I32);
    Op *op = ir_op(b, OP_NUM_PROGRAMS, NULL, 0, &i32, 1, 0);
    ir_set_attr(b->s, op, AT_AXIS, axis);
    return op->result[0];
}

typedef struct Order {
    Value *place[AXES]; /* NULL: the hardware's */
    uint32_t nvalues;   /* of the program as it was */
} Order;

static void take_place(Op *op, void *ctx) {
    const Order *o = ctx;
    if (op->code != OP_PROGRAM_ID) return;
    Value *place = o->place[ir_attr_int(op, AT_AXIS, 0)];
    if (!place || op->result[0]->id >= o->nvalues) return;
    place->name = op->result[0]->name;
    ir_replace_uses(op->result[0], place);
    ir_erase(op);
}

typedef struct Ordered {
    const Func *f;
    bool is;
} Ordered;

/* Atomics, too: who counts up may be told what to do by the number. */
static void look_for_order(Op *op, void *ctx) {
    Ordered *o = ctx;
    o->is |= op_is_atomic(op) || grid_why_ordered(o->f, op);
}

void pass_longest_first(PassCtx *ctx) {
    Walk w = {.ctx = ctx};
    Func *f = ctx->f;
    Order order = {.nvalues = f->nvalues};
    Builder b = {ctx->s, f, f->body, f->body->first, f->span};
    Ordered ordered = {.f = f};
    ir_walk(f->body, look_for_order, &ordered);
    for (int k = 0; k < AXES; k++) w.found[k] = arena_alloc(&ctx->s->arena, f->nvalues);
    ir_walk(f->body, judge, &w);
    for (int k = 0; k < AXES && !ordered.is; k++) {
        if (!w.grows[k] || w.falls[k]) continue;
        if (k == 0 && w.asked[1]) grid_in_groups(&b, 1, COST_LONGEST_FIRST_ROWS, order.place);
        Value *from = k ? NULL : order.place[0];
        if (!from) {
            Type i32 = type_scalar(EL_I32);
            Op *id = ir_op(&b, OP_PROGRAM_ID, NULL, 0, &i32, 1, 0);
            ir_set_attr(ctx->s, id, AT_AXIS, k);
            from = order.place[k] ? order.place[k] : id->result[0];
        }
        Value *last = ir_binary(&b, OP_SUB, size_of(&b, k), ir_const_int(&b, from->type, 1));
        order.place[k] = ir_binary(&b, OP_SUB, last, from);
        ctx->changed = true;
    }
    if (ctx->changed) ir_walk(f->body, take_place, &order);
}
