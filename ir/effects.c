/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* effects.c: an op and the types of its operands -> its effects (see effects.h). */
#include "ir/effects.h"

unsigned ir_operand_effects(const Op *op, int i) {
    unsigned table = op_info[op->code].effects, e = 0;
    Type t = op->operand[i].value->type;
    bool shared = t.space == SPACE_SHARED, global = t.depth || t.space == SPACE_DESC;
    if (i >= OP_EFFECT_OPERANDS || (!shared && !global)) return EFFECT_NONE;
    if (table & OP_READS(i)) e |= shared ? EFFECT_READS_SHARED : EFFECT_READS_GLOBAL;
    if (table & OP_WRITES(i)) e |= shared ? EFFECT_WRITES_SHARED : EFFECT_WRITES_GLOBAL;
    return e;
}

unsigned ir_effects(const Op *op) {
    unsigned table = op_info[op->code].effects;
    unsigned e = table & ~(OP_READS(OP_EFFECT_OPERANDS * 2) - 1); /* those of no operand */
    for (int i = 0; i < op->noperands && i < OP_EFFECT_OPERANDS; i++)
        e |= ir_operand_effects(op, i);
    if (op->code == OP_INLINE_ASM && ir_attr_int(op, AT_PURE, 0)) return EFFECT_NONE;
    if (op_is_atomic(op) && ir_attr_int(op, AT_SEM, SEM_ACQ_REL) == SEM_RELAXED)
        e &= ~(unsigned)EFFECT_ORDERS;
    if (ir_attr_int(op, AT_VOLATILE, 0)) e |= EFFECT_OUTPUT;
    if (ir_attr_int(op, AT_OPAQUE, 0)) e |= EFFECT_UNIQUE;
    return e;
}

Value *ir_access_mask(const Op *op) {
    switch (op->code) {
    case OP_LOAD:
    case OP_ATOMIC_LOAD: return ir_operand(op, 1);
    case OP_STORE:
    case OP_ATOMIC_STORE:
    case OP_ATOMIC: return ir_operand(op, 2);
    case OP_ASYNC_COPY: return ir_operand(op, 3);
    default: return NULL;
    }
}

bool ir_is_pure(const Op *op) {
    if (ir_effects(op)) return false;
    for (int r = 0; r < op->nregions; r++)
        for (const Op *x = op->region[r]->first; x; x = x->next)
            if (!ir_is_pure(x)) return false;
    return true;
}
