/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* persistent.c: a program for each place of the grid -> programs that stay: as many as the GPU
 * holds at once, which take the places one after the other.
 *
 *     for t = program_id 0 to X * Y * Z step num_programs 0: the program at place t
 *
 * in the hardware's order, axis 0 fastest. The loop is `parallel`: programs are in no order, so
 * what one place loads may be loaded before what another stores is stored. That holds where no
 * program waits for another and none tells who it is by other means than its place. */
#include "ir/effects.h"
#include "passes/grid_order.h"

#include <string.h>

typedef struct Walk {
    PassCtx *ctx;
    const Op *why_not;
    const char *why;
    int axes; /* of the grid, up to the last that is asked for */
    Op *body; /* the loop */
    Value *place[3];
} Walk;

const char *grid_why_ordered(const Func *f, const Op *op) {
    unsigned e = ir_effects(op);
    if (op->code == OP_INLINE_ASM)
        return e || strstr(ir_attr(op, AT_TEXT)->text, "cta")
                   ? "inline assembly may ask which program this is"
                   : NULL;
    if (op->code == OP_ASSERT) return f->debug ? "an assertion names the program" : NULL;
    bool meets = e & (EFFECT_OUTPUT | EFFECT_ENDLESS) || op_orders(op);
    return meets || op->code == OP_GRID_LAUNCH
               ? "it may wait for another program, or is seen from outside"
               : NULL;
}

static void judge(Op *op, void *ctx) {
    Walk *w = ctx;
    const char *why = NULL;
    if (op->code == OP_PROGRAM_ID || op->code == OP_NUM_PROGRAMS) {
        int axis = (int)ir_attr_int(op, AT_AXIS, 0);
        if (axis >= w->axes) w->axes = axis + 1;
    } else if (op->code == OP_WARPS || op->code == OP_WORK_SIZE) {
        why = "it says already how its warps or programs share work";
    } else if (op->code == OP_RETURN) {
        if (op != w->ctx->f->body->last) why = "it returns before its end";
    } else {
        why = grid_why_ordered(w->ctx->f, op);
    }
    if (!why || w->why) return;
    w->why = why;
    w->why_not = op;
}

static Value *grid_op(Builder *b, OpCode code, int axis) {
    Type i32 = type_scalar(EL_I32);
    Op *op = ir_op(b, code, NULL, 0, &i32, 1, 0);
    ir_set_attr(b->s, op, AT_AXIS, axis);
    return op->result[0];
}

static void make_loop(Walk *w, Builder *b, Value *size[3]) {
    Value *all = size[0];
    for (int i = 1; i < w->axes; i++) all = ir_binary(b, OP_MUL, all, size[i]);
    Value *first = grid_op(b, OP_PROGRAM_ID, 0), *by = grid_op(b, OP_NUM_PROGRAMS, 0);
    w->body = ir_for(b, first, all, by, NULL, 0);
    ir_set_attr(b->s, w->body, AT_PARALLEL, 1);
}

/* Where in the grid place t is. */
static void find_place(Walk *w, Builder *b, Value *t, Value *size[3]) {
    for (int i = 0; i < w->axes; i++) {
        bool last = i + 1 == w->axes;
        w->place[i] = last ? t : ir_binary(b, OP_REM, t, size[i]);
        if (!last) t = ir_binary(b, OP_DIV, t, size[i]);
    }
}

static void rename(Op *op, void *ctx) {
    Walk *w = ctx;
    int axis = (int)ir_attr_int(op, AT_AXIS, 0);
    if (op->code == OP_NUM_PROGRAMS) op->code = OP_WORK_SIZE;
    if (op->code != OP_PROGRAM_ID) return;
    w->place[axis]->name = op->result[0]->name;
    ir_replace_uses(op->result[0], w->place[axis]);
    ir_erase(op);
}

void pass_persistent(PassCtx *ctx) {
    Func *f = ctx->f;
    Walk w = {.ctx = ctx, .axes = 1};
    while (w.axes < 3 && f->grid[w.axes]) w.axes++;
    if (f->persistent) return;
    ir_walk(f->body, judge, &w);
    if (w.why) {
        diag(&ctx->s->diags, P_PERSISTENT, w.why_not->span,
             "the programs of kernel '%s' do not stay for more than one place of the grid: %s",
             f->entry_of ? f->entry_of : f->name, w.why);
        return;
    }
    Op *first = f->body->first, *end = f->body->last;
    Builder b = {ctx->s, f, f->body, first, f->span};
    Value *size[3] = {NULL};
    for (int i = 0; i < w.axes; i++) size[i] = grid_op(&b, OP_WORK_SIZE, i);
    make_loop(&w, &b, size);
    Block *body = w.body->region[0];
    for (Op *op = first, *next; op != end; op = next) {
        next = op->next;
        ir_append(body, op);
    }
    Builder in = {ctx->s, f, body, body->first, f->span};
    find_place(&w, &in, body->args[0], size);
    ir_walk(body, rename, &w);
    Builder at_end = {ctx->s, f, body, NULL, end->span};
    ir_op(&at_end, OP_YIELD, NULL, 0, NULL, 0, 0);
    f->persistent = w.axes;
    ctx->changed = true;
}
