/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fold_control.c: branches and loops whose course is known (part of `fold`).
 *
 * A region that runs exactly once is put in the place of its op; a loop that never runs gives its
 * initial values; a value that goes round a loop unchanged, or out of both arms of an if, is taken
 * from outside. */
#include "passes/fold.h"
#include "passes/schedule.h"

/* Moves what region holds before op, with `args` for the region's arguments; op's results are the
 * operands of its terminator from `first` on. */
static bool inline_region(Op *op, Block *region, Value *const *args, int first) {
    for (int i = 0; i < region->nargs; i++) ir_replace_uses(region->args[i], args[i]);
    Op *end = region->last;
    while (region->first != end) {
        schedule_clear(region->first);
        ir_move_before(region->first, op);
    }
    for (int i = 0; i < op->nresults; i++)
        ir_replace_uses(op->result[i], end->operand[first + i].value);
    ir_erase(op);
    return true;
}

static bool fold_if(Op *op) {
    int64_t taken;
    if (fold_constant(op->operand[0].value, &taken))
        return inline_region(op, op->region[taken ? 0 : 1], NULL, 0);
    for (int i = 0; i < op->nresults; i++) {
        Value *x = op->region[0]->last->operand[i].value;
        if (x == op->region[1]->last->operand[i].value) ir_replace_uses(op->result[i], x);
    }
    return false;
}

typedef enum Trips { NEVER, ONCE, UNKNOWN } Trips;

static Trips trip_count(const Op *op) {
    int64_t lo, hi, step;
    if (op->operand[0].value == op->operand[1].value) return NEVER;
    if (!fold_constant(op->operand[0].value, &lo) || !fold_constant(op->operand[1].value, &hi) ||
        !fold_constant(op->operand[2].value, &step) || step == 0)
        return UNKNOWN;
    bool down = type_is_signed(op->operand[0].value->type) && step < 0;
    bool is_signed = type_is_signed(op->operand[0].value->type);
    bool ahead = is_signed ? (down ? lo > hi : lo < hi) : (uint64_t)lo < (uint64_t)hi;
    if (!ahead) return NEVER;
    uint64_t way = down ? (uint64_t)lo - (uint64_t)hi : (uint64_t)hi - (uint64_t)lo;
    uint64_t stride = down ? 0 - (uint64_t)step : (uint64_t)step;
    return way <= stride ? ONCE : UNKNOWN;
}

static bool fold_for(Fold *fold, Op *op) {
    enum { FIRST = 3 }; /* operands before the initial values */
    Trips trips = trip_count(op);
    if (trips == NEVER) {
        for (int i = 0; i < op->nresults; i++)
            ir_replace_uses(op->result[i], op->operand[FIRST + i].value);
        ir_erase(op);
        return true;
    }
    Block *body = op->region[0];
    if (trips == ONCE) {
        Value **args = arena_array(&fold->s->arena, (size_t)body->nargs, sizeof *args);
        args[0] = op->operand[0].value;
        for (int i = 1; i < body->nargs; i++) args[i] = op->operand[FIRST + i - 1].value;
        return inline_region(op, body, args, 0);
    }
    for (int i = 0; i < op->nresults; i++) {
        Value *in = op->operand[FIRST + i].value, *arg = body->args[1 + i];
        Value *out = body->last->operand[i].value;
        if (out != arg && out != in) continue;
        ir_replace_uses(arg, in);
        ir_replace_uses(op->result[i], in);
    }
    return false;
}

static bool fold_while(Fold *fold, Op *op) {
    int64_t go_on;
    if (!fold_constant(op->region[0]->last->operand[0].value, &go_on) || go_on) return false;
    Value **args = arena_array(&fold->s->arena, (size_t)op->noperands, sizeof *args);
    for (int i = 0; i < op->noperands; i++) args[i] = op->operand[i].value;
    return inline_region(op, op->region[0], args, 1);
}

bool fold_control(Fold *fold, Op *op) {
    switch (op->code) {
    case OP_IF: return fold_if(op);
    case OP_FOR: return fold_for(fold, op);
    case OP_WHILE: return fold_while(fold, op);
    default: return false;
    }
}
