/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* alias.c: a pointer -> the object that it points into (see alias.h). */
#include "ir/analysis/alias.h"
#include "ir/effects.h"

/* What carried value i of a loop begins with, if each iteration hands on what is made from its own
 * argument: pointers that change places point into either's object. */
static const Value *loop_origin(const Op *loop, int i) {
    const Value *arg = loop->region[0]->args[1 + i], *begin = loop->operand[3 + i].value;
    const Value *v = loop->region[0]->last->operand[i].value;
    while (v && v != arg) {
        bool other_arg = !v->def && v->block == loop->region[0];
        if (other_arg || ir_defined_outside(v, loop)) return v == begin ? begin : NULL;
        v = alias_step(v);
    }
    return v ? begin : NULL;
}

/* What a load gets from a buffer that is written once, by a store before it in its block, as where
 * a layout is converted: so the steps cannot go in circles. NULL: not so. */
static const Value *stored_for(const Op *load) {
    const Op *store = NULL, *before = load->prev;
    for (const Use *u = load->operand[0].value->uses; u; u = u->next) {
        if (u->op->code == OP_SHARED_LOAD) continue;
        if (store || u->op->code != OP_SHARED_STORE) return NULL;
        store = u->op;
    }
    if (!store || store->block != load->block) return NULL;
    while (before && before != store) before = before->prev;
    return before ? store->operand[0].value : NULL;
}

const Value *alias_step(const Value *v) {
    const Op *op = v->def ? v->def : v->block->parent;
    switch (op ? op->code : OPS) {
    case OP_FOR: {
        int i = v->def ? v->index : v->index - 1;
        return i < 0 ? NULL : loop_origin(op, i);
    }
    case OP_MAKE_DESC:
    case OP_ADDPTR:
    case OP_SPLAT:
    case OP_BROADCAST:
    case OP_RESHAPE:
    case OP_TRANS:
    case OP_CONVERT:
    case OP_HINT: return op->operand[0].value;
    case OP_SHARED_LOAD: return stored_for(op);
    default: return NULL;
    }
}

const Value *alias_underlying_object(const Value *v) {
    for (const Value *from = v; from; from = alias_step(v)) v = from;
    bool param = !v->def && !v->block->parent;
    return param || op_is(v, OP_WORKSPACE) ? v : NULL;
}

typedef struct Writes {
    const Value *into;
    bool found;
} Writes;

static void find_write(Op *op, void *ctx) {
    Writes *w = ctx;
    if (!(ir_effects(op) & EFFECT_WRITES_GLOBAL)) return;
    bool of_operand = false;
    for (int i = 0; i < op->noperands; i++) {
        if (!(ir_operand_effects(op, i) & EFFECT_WRITES_GLOBAL)) continue;
        const Value *object = alias_underlying_object(op->operand[i].value);
        w->found |= !object || object == w->into;
        of_operand = true;
    }
    w->found |= !of_operand;
}

bool alias_only_reads(const Func *f, const Value *p) {
    Writes w = {.into = p};
    ir_walk(f->body, find_write, &w);
    return !w.found;
}

bool alias_is_of_workspace(const Op *op) {
    const Value *at = op->noperands ? alias_underlying_object(op->operand[0].value) : NULL;
    return at && op_is(at, OP_WORKSPACE);
}

bool alias_may_pass(const Op *read, const Op *op) {
    if (op_acquires(op)) return false;
    if (!(ir_effects(op) & EFFECT_WRITES_GLOBAL)) return true;
    const Value *from = alias_underlying_object(read->operand[0].value);
    bool there = op->code == OP_STORE || op->code == OP_DESC_STORE || op_is_atomic(op);
    const Value *into = there ? alias_underlying_object(op->operand[0].value) : NULL;
    return from && into && from != into;
}
