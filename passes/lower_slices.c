/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* lower_slices.c: slices that loops and branches hand on -> their numbers.
 *
 * All that comes to one place is a slice of one buffer (verify.c), so its number is enough, and the
 * slice is made of it again where it is used. */
#include "ir/buffer.h"
#include "passes/pass.h"

/* v is a number from here on; what uses it takes a slice that is made of it before `at`, or at the
 * end of the block. */
static void make_number(PassCtx *ctx, Value *v, Block *block, Op *at, Span span) {
    const Op *alloc = buffer_alloc(v);
    Builder b = {ctx->s, ctx->f, block, at, span};
    Value *in[] = {alloc->result[0], v};
    Op *slice = ir_op(&b, OP_BUFFER_SLICE, in, 2, &v->type, 1, 0);
    slice->result[0]->layout = v->layout;
    ir_replace_uses(v, slice->result[0]);
    ir_set_operand(slice, 1, v);
    v->type = type_scalar(EL_I32);
    v->layout = NULL;
    ctx->changed = true;
}

static void split_values(Op *op, void *ctx) {
    if (!op_is_control_flow(op)) return;
    /* Buffers are looked for through loops: the results first, then what is inside. */
    for (int i = 0; i < op->nresults; i++)
        if (type_is_buffer(op->result[i]->type))
            make_number(ctx, op->result[i], op->block, op->next, op->span);
    for (int r = op->nregions - 1; r >= 0; r--)
        for (int i = 0; i < op->region[r]->nargs; i++)
            if (type_is_buffer(op->region[r]->args[i]->type))
                make_number(ctx, op->region[r]->args[i], op->region[r], op->region[r]->first,
                            op->span);
}

/* All slices are made of numbers by now. */
static void hand_on_numbers(Op *op, void *ctx_) {
    PassCtx *ctx = ctx_;
    bool ends = op_traits(op) & TRAIT_T;
    for (int i = 0; i < op->noperands && (ends || op_is_control_flow(op)); i++) {
        const Value *v = op->operand[i].value;
        if (!type_is_buffer(v->type)) continue;
        Builder b = {ctx->s, ctx->f, op->block, op, op->span};
        Value *number = v->def->operand[1].value;
        if (!type_equal(number->type, type_scalar(EL_I32)))
            number = ir_given(&b, OP_CAST, number, type_scalar(EL_I32));
        ir_set_operand(op, i, number);
    }
}

void pass_lower_slices(PassCtx *ctx) {
    ir_walk(ctx->f->body, split_values, ctx);
    if (ctx->changed) ir_walk(ctx->f->body, hand_on_numbers, ctx);
}
