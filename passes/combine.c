/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* combine.c: the pass `combine`: two operations that the hardware does as one.
 *
 *     select(m, load(p, m), x)    becomes    load(p, m, x)
 *     dot(a, b, 0) + c            becomes    dot(a, b, c)
 *
 * Only where the first op has no other use. Order is the one difficulty: x must be there before the
 * load, which cannot move past writes; a dot of tiles has no effect and is done where the sum was.
 */
#include "ir/effects.h"
#include "passes/pass.h"
#include "passes/walk.h"

typedef struct Combine {
    PassCtx *ctx;
    uint32_t *place; /* by value id: how many ops come before its definition, in order */
    uint32_t known;  /* ids from here on are new */
} Combine;

static bool used_once(const Value *v) {
    return v->uses && !v->uses->next;
}

static bool same_layout(const Value *a, const Value *b) {
    return a->layout == b->layout;
}

/* x, which is visible at a use of the load, is visible at the load too: both are in blocks around
 * that use, so the order of the definitions decides. */
static bool there_before(const Combine *c, const Value *x, const Value *load) {
    return x->id < c->known && load->id < c->known && c->place[x->id] < c->place[load->id];
}

static bool select_of_load(Combine *c, Op *op) {
    Value *v = ir_operand(op, 1), *mask = ir_operand(op, 0), *other = ir_operand(op, 2);
    if (op->code != OP_SELECT || !op_is(v, OP_LOAD) || !used_once(v)) return false;
    Op *load = v->def;
    if (ir_operand(load, 1) != mask || !same_layout(v, op->result[0])) return false;
    Builder b = {
        .s = c->ctx->s, .f = c->ctx->f, .block = load->block, .before = load, .span = load->span};
    if (!there_before(c, other, v)) {
        if (!op_is(other, OP_CONST) || other->layout) return false;
        other = ir_clone(&b, other->def, NULL, 0)->result[0];
    }
    Value *operands[] = {ir_operand(load, 0), mask, other};
    Op *both = ir_op_like(&b, load, operands, 3, NULL);
    both->result[0]->layout = v->layout;
    both->result[0]->name = op->result[0]->name;
    ir_replace_uses(op->result[0], both->result[0]);
    ir_erase(op);
    ir_erase(load);
    return true;
}

static bool is_zero(const Value *v) {
    if (!op_is(v, OP_CONST)) return false;
    int64_t bits = ir_attr_int(v->def, AT_VALUE, 0);
    return type_is_float(v->type) ? elem_to_double((Elem)v->type.elem, (uint64_t)bits) == 0
                                  : bits == 0;
}

static bool sum_of_dot(Combine *c, Op *op, int at) {
    Value *v = ir_operand(op, at), *acc = ir_operand(op, !at);
    if (op->code != OP_ADD || !op_is(v, OP_DOT) || !used_once(v)) return false;
    Op *dot = v->def;
    if (ir_attr(dot, AT_SATURATE)) return false; /* each sum stops at the ends by itself */
    /* In the block of the sum, or it would be done more often than before. */
    if (dot->block != op->block || !ir_is_pure(dot) || !is_zero(ir_operand(dot, 2))) return false;
    if (!same_layout(v, acc) || !same_layout(v, op->result[0])) return false;
    Builder b = {
        .s = c->ctx->s, .f = c->ctx->f, .block = op->block, .before = op, .span = dot->span};
    Value *operands[] = {ir_operand(dot, 0), ir_operand(dot, 1), acc};
    Value *sum = ir_op_like(&b, dot, operands, 3, NULL)->result[0];
    sum->layout = op->result[0]->layout;
    sum->name = op->result[0]->name;
    ir_replace_uses(op->result[0], sum);
    ir_erase(op);
    ir_erase(dot);
    return true;
}

void pass_combine(PassCtx *ctx) {
    Combine c = {.ctx = ctx, .known = ctx->f->nvalues};
    c.place = arena_array(&ctx->s->arena, c.known, sizeof *c.place);
    uint32_t at = 0;
    for (Op *op = ctx->f->body->first; op; op = op_next(op)) {
        at++;
        for (int i = 0; i < op->nresults; i++) c.place[op->result[i]->id] = at;
        for (int r = 0; r < op->nregions; r++)
            for (int i = 0; i < op->region[r]->nargs; i++) c.place[op->region[r]->args[i]->id] = at;
    }
    Op *next;
    for (Op *op = ctx->f->body->first; op; op = next) {
        next = op_next(op);
        if (select_of_load(&c, op) || sum_of_dot(&c, op, 0) || sum_of_dot(&c, op, 1))
            ctx->changed = true;
    }
}
