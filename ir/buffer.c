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

const Op *buffer_alloc(const Value *v) {
    return op_is(v, OP_BUFFER_SLICE) ? v->def->operand[0].value->def : v->def;
}
