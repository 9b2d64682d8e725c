/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* swizzle_grid.c: the place of a program in a 2-D grid -> its place when the grid is walked in
 * groups of rows, so that programs that run at one time share rows and columns of what they read.
 *
 * Axis 0 counts rows, axis 1 columns. The hardware starts programs with axis 0 running fastest; the
 * n-th of them (of every axis 2) becomes the n-th of this order, for groups of 2 of 5 rows:
 *
 *      0  2  4          the rows of one group, column by column, then the next group;
 *      1  3  5          the last group may be smaller
 *      6  8 10
 *      7  9 11
 *     12 13 14
 *
 * It is a permutation of the grid, so every kernel whose programs do not wait for one another stays
 * right, and the launch does not change. The arithmetic is unsigned, in 32 bits; a grid that has
 * more programs than that keeps the hardware's order. */
#include "passes/grid_order.h"
#include "passes/walk.h"

typedef VEC(Op *) Ops;

static Value *unsigned_given(Builder *b, OpCode code, int axis) {
    Op *op = ir_op(b, code, NULL, 0, (Type[]){type_scalar(EL_I32)}, 1, 0);
    ir_set_attr(b->s, op, AT_AXIS, axis);
    return ir_given(b, OP_BITCAST, op->result[0], type_scalar(EL_U32));
}

static Value *number(Builder *b, int64_t v) {
    return ir_const_int(b, type_scalar(EL_U32), v);
}

static Value *select(Builder *b, Value *condition, Value *x, Value *y) {
    return ir_op1(b, OP_SELECT, (Value *[]){condition, x, y}, 3);
}

/* As an index is: int32. Its sign bit is off, and said to be, for whoever divides by it later. */
static Value *index_of(Builder *b, Value *v) {
    Type i32 = type_scalar(EL_I32);
    return ir_binary(b, OP_AND, ir_given(b, OP_BITCAST, v, i32), ir_const_int(b, i32, INT32_MAX));
}

void grid_in_groups(Builder *b, int rows_axis, int size, Value *place[2]) {
    Value *my[2], *all[2];
    for (int i = 0; i < 2; i++) my[i] = unsigned_given(b, OP_PROGRAM_ID, i);
    for (int i = 0; i < 2; i++) all[i] = unsigned_given(b, OP_NUM_PROGRAMS, i);
    Value *rows = all[rows_axis], *cols = all[!rows_axis];
    Value *high = ir_binary(b, OP_UMULHI, all[0], all[1]);
    Value *fits = ir_cmp(b, PRED_EQ, high, number(b, 0));
    /* One that does not fit is many grids of one column. */
    Value *my_slow = select(b, fits, my[1], number(b, 0));
    Value *my_cols = select(b, fits, cols, number(b, 1));
    Value *most = ir_binary(b, OP_MIN, rows, number(b, size));
    Value *in_group = ir_binary(b, OP_MUL, most, my_cols);
    Value *n = ir_binary(b, OP_ADD, ir_binary(b, OP_MUL, my_slow, all[0]), my[0]);
    Value *group = ir_binary(b, OP_DIV, n, in_group);
    Value *rest = ir_binary(b, OP_SUB, n, ir_binary(b, OP_MUL, group, in_group));
    Value *first = ir_binary(b, OP_MUL, group, most);
    Value *height = ir_binary(b, OP_MIN, ir_binary(b, OP_SUB, rows, first), most);
    Value *new_col = ir_binary(b, OP_DIV, rest, height);
    Value *down = ir_binary(b, OP_SUB, rest, ir_binary(b, OP_MUL, new_col, height));
    Value *row = ir_binary(b, OP_ADD, first, down);
    if (rows_axis) row = select(b, fits, row, my[1]);
    place[rows_axis] = index_of(b, row);
    place[!rows_axis] = index_of(b, select(b, fits, new_col, my[!rows_axis]));
}

void pass_swizzle_grid(PassCtx *ctx) {
    Func *f = ctx->f;
    int rows = f->swizzle;
    if (!rows) return;
    Ops asks[2] = {{0}, {0}};
    for (Op *op = f->body->first; op; op = op_next(op)) {
        int64_t axis = op->code == OP_PROGRAM_ID ? ir_attr_int(op, AT_AXIS, 0) : 2;
        if (axis < 2) vec_push(&ctx->s->arena, &asks[axis], op);
    }
    if (f->grid[0] ? !f->grid[1] : !asks[1].n) {
        diag(&ctx->s->diags, P_SWIZZLE, f->span, "the grid has one axis: nothing to swizzle");
        return;
    }
    f->swizzled = rows;
    f->swizzle = 0;
    ctx->changed = true;
    if (!asks[0].n && !asks[1].n) return;
    Builder b = {ctx->s, f, f->body, f->body->first, f->span};
    Value *place[2];
    grid_in_groups(&b, 0, rows, place);
    for (int axis = 0; axis < 2; axis++)
        for (int i = 0; i < asks[axis].n; i++) {
            Op *op = asks[axis].at[i];
            if (op->result[0]->name) place[axis]->name = op->result[0]->name;
            ir_replace_uses(op->result[0], place[axis]);
            ir_erase(op);
        }
}
