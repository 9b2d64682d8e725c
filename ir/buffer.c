/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* buffer.c: BUFFER_ALLOC -> its slices and bytes (see buffer.h). */
#include "ir/buffer.h"

int buffer_slices(const Op *alloc) {
    int slices = alloc->result[0]->type.slices;
    return slices ? slices : 1;
}

int64_t buffer_stride(const Op *alloc) {
    return ir_attr_int(alloc, AT_STRIDE, type_bytes(alloc->result[0]->type));
}

int64_t buffer_bytes(const Op *alloc) {
    int64_t one = type_bytes(alloc->result[0]->type);
    return (buffer_slices(alloc) - 1) * buffer_stride(alloc) + one;
}

/* What v is one step nearer to its buffer: what a loop begins with, or a branch ends with. */
static const Value *nearer(const Value *v) {
    const Op *op = v->def ? v->def : v->block->parent;
    int i = v->index;
    if (!op) return NULL;
    switch (op->code) {
    case OP_BUFFER_SLICE: return op->operand[0].value;
    case OP_FOR:
        if (!v->def) i--;
        return i < 0 ? NULL : op->operand[3 + i].value;
    case OP_IF: return v->def ? op->region[0]->last->operand[i].value : NULL;
    case OP_WHILE:
        if (!v->def && v->block == op->region[0]) return op->operand[i].value;
        return op->region[0]->last->operand[1 + i].value;
    default: return NULL;
    }
}

const Op *buffer_alloc(const Value *v) {
    while (v && !op_is(v, OP_BUFFER_ALLOC)) v = nearer(v);
    return v ? v->def : NULL;
}
