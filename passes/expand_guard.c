/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* expand_guard.c: iterations that may not exist, of a pipelined loop (see expand_pipeline.c).
 *
 * For an iteration that does not exist nothing is copied: under a false mask the hardware would
 * fill its slice with zeros, which takes longer than the copy. The last iterations of a loop of 16
 * were slower by a third. Only where a buffer is read ahead of the last stage it has to be filled.
 */
#include "passes/expand_pipeline.h"

#include "ir/analysis/poly.h"

#include <string.h>

static Value *scalar(Builder *b, Type t, int64_t v) {
    return ir_const_int(b, t, v);
}

/* How far it is from lo to hi, and the size of a step. */
typedef struct Way {
    Value *from, *to, *size; /* from < to: there is an iteration; size NULL: 1 */
} Way;

static Way known_way(Builder *b, Value *lo, Value *hi, int64_t step, Type t) {
    bool up = step > 0;
    Value *size = step == 1 || step == -1 ? NULL : scalar(b, t, up ? step : -step);
    return (Way){up ? lo : hi, up ? hi : lo, size};
}

/* Of a step that is 0 there are iterations without end: its size is whatever divides. */
static Way unknown_way(Builder *b, Value *lo, Value *hi, Value *step, Type t) {
    Value *zero = scalar(b, step->type, 0), *size = step;
    if (!poly_is_natural_place(step)) {
        Value *up = ir_cmp(b, PRED_GT, step, zero);
        Value *from = ir_op1(b, OP_SELECT, (Value *[]){up, lo, hi}, 3);
        hi = ir_op1(b, OP_SELECT, (Value *[]){up, hi, lo}, 3);
        lo = from;
        size = ir_op1(b, OP_SELECT, (Value *[]){up, step, ir_binary(b, OP_SUB, zero, step)}, 3);
    }
    size = ir_binary(b, OP_MAX, ir_given(b, OP_BITCAST, size, t), scalar(b, t, 1));
    return (Way){lo, hi, size};
}

TripCount trip_count_of(const Op *loop, Builder *b) {
    Value *lo = loop->operand[0].value, *hi = loop->operand[1].value;
    Value *by = loop->operand[2].value;
    int64_t step;
    Type t = type_with_elem(lo->type, type_elem_bytes(lo->type) == 8 ? EL_U64 : EL_U32);
    Way w =
        ir_int_constant(by, &step) ? known_way(b, lo, hi, step, t) : unknown_way(b, lo, hi, by, t);
    Value *way = ir_given(b, OP_BITCAST, ir_binary(b, OP_SUB, w.to, w.from), t);
    TripCount e = {ir_cmp(b, PRED_LT, w.from, w.to), ir_binary(b, OP_SUB, way, scalar(b, t, 1))};
    if (w.size) e.last = ir_binary(b, OP_DIV, e.last, w.size);
    return e;
}

Value *iteration_exists(Builder *b, TripCount e, int number) {
    if (number == 0) return e.any;
    Value *there = ir_cmp(b, PRED_GE, e.last, scalar(b, e.last->type, number));
    return ir_binary(b, OP_AND, there, e.any);
}

Value *remaining_after(Builder *b, TripCount e, int ahead) {
    Type t = e.last->type;
    Value *left = ir_binary(b, OP_SUB, e.last, scalar(b, t, ahead - 1));
    return ir_op1(b, OP_SELECT, (Value *[]){iteration_exists(b, e, ahead), left, scalar(b, t, 0)},
                  3);
}

Value *one_less(Builder *b, Value *left, Value *any) {
    Value *x[] = {any, ir_binary(b, OP_SUB, left, scalar(b, left->type, 1)), left};
    return ir_op1(b, OP_SELECT, x, 3);
}

Value *next_slice(Builder *b, Value *number, int slices) {
    Type i32 = type_scalar(EL_I32);
    Value *up = ir_binary(b, OP_ADD, number, scalar(b, i32, 1));
    Value *end = ir_cmp(b, PRED_EQ, up, scalar(b, i32, slices));
    Value *x[] = {end, scalar(b, i32, 0), up};
    return ir_op1(b, OP_SELECT, x, 3);
}

bool op_is_guarded(const Op *op) {
    return op->code == OP_LOAD || op_is_async_copy(op);
}

/* mask, where there is one, and exists, in the layout of `like`. */
static Value *mask_and(Builder *b, Value *mask, Value *exists, const Value *like) {
    Value *on = exists;
    if (type_is_tile(like->type)) {
        on = ir_given(b, OP_SPLAT, exists, type_with_shape(type_scalar(EL_I1), like->type));
        on->layout = like->layout;
    }
    if (!mask) return on;
    on = ir_binary(b, OP_AND, mask, on);
    on->layout = like->layout;
    return on;
}

/* Reads nothing where the iteration does not exist. */
static Op *emit_load(Builder *b, const Op *op, Value *const *operands, Value *exists) {
    const Value *r = op->result[0];
    Value *mask = op->noperands > 1 ? operands[1] : NULL;
    Value *x[] = {operands[0], mask_and(b, mask, exists, op->operand[0].value),
                  op->noperands > 2 ? operands[2] : NULL};
    if (!x[2]) { /* nobody looks at it, but it should be some number */
        x[2] = ir_op(b, OP_CONST, NULL, 0, &r->type, 1, 0)->result[0];
        ir_set_attr(b->s, x[2]->def, AT_VALUE, 0);
        x[2]->layout = r->layout;
    }
    Op *load = ir_op_like(b, op, x, 3, NULL);
    load->result[0]->layout = r->layout;
    load->result[0]->name = r->name;
    return load;
}

Op *emit_guarded(Builder *b, const Op *op, Value *const *operands, Value *exists, bool by_mask) {
    b->span = op->span;
    if (op->code == OP_LOAD) return emit_load(b, op, operands, exists);
    bool engine = op->code == OP_ASYNC_DESC_LOAD; /* reads nothing outside the tensor */
    Value *x[GUARDED_MOST_OPERANDS], *on = operands[2];
    int n = op->noperands;
    memcpy(x, operands, (size_t)n * sizeof *x);
    if (!by_mask) {
        bool always = op_is(on, OP_CONST) && ir_attr_int(on->def, AT_VALUE, 0);
        x[2] = always ? exists : ir_binary(b, OP_AND, on, exists);
    } else if (!engine) {
        x[3] = mask_and(b, n > 3 ? x[3] : NULL, exists, op->operand[0].value);
        n = 4;
    }
    return ir_op_like(b, op, x, n, NULL);
}
