/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* buffer.c: BUFFER_ALLOC -> its slices and bytes (see buffer.h). */
#include "ir/buffer.h"
#include "ir/desc.h"
#include "ir/layout.h"

int buffer_slices(const Op *alloc) {
    int slices = alloc->result[0]->type.slices;
    return slices ? slices : 1;
}

/* One past the greatest offset of an element below `live` of each dimension: what is highest in the
 * offset is settled first. */
static int64_t live_elements(const Op *alloc, const Layout *l) {
    Type t = type_in_space(alloc->result[0]->type, SPACE_REGISTER);
    int64_t end = type_numel(t);
    /* A dimension that alone has the offset's high bits, in order, ends the buffer where it ends.
     */
    for (int d = 0; d < t.rank; d++) {
        int64_t live = desc_live(alloc, t, d);
        int bits = l->bits[IN_OFFSET], shift = type_dim_shift(t, d), run = 0;
        while (run < t.log2[d] &&
               l->basis[IN_OFFSET][bits - 1 - run] == (uint32_t)1 << (shift + t.log2[d] - 1 - run))
            run++;
        int64_t unit = (int64_t)1 << (t.log2[d] - run);
        int64_t ends = (live + unit - 1) / unit * (type_numel(t) >> run);
        if (run && ends < end) end = ends;
    }
    return end;
}

int64_t buffer_slice_bytes(const Op *alloc) {
    enum { SWIZZLE = 1024 }; /* repeats after so many bytes at most */
    Type t = alloc->result[0]->type;
    const Layout *l = alloc->result[0]->layout;
    int64_t bytes = type_bytes(t);
    if (!l || !ir_attr(alloc, AT_LIVE)) return bytes;
    int64_t live = live_elements(alloc, l) * type_elem_bytes(t);
    live = (live + SWIZZLE - 1) / SWIZZLE * SWIZZLE;
    return live < bytes ? live : bytes;
}

int64_t buffer_stride(const Op *alloc) {
    return ir_attr_int(alloc, AT_STRIDE, buffer_slice_bytes(alloc));
}

int64_t buffer_bytes(const Op *alloc) {
    return (buffer_slices(alloc) - 1) * buffer_stride(alloc) + buffer_slice_bytes(alloc);
}

/* What v is one step nearer to its buffer: what a loop begins with, or a branch ends with. */
static const Value *nearer(const Value *v) {
    const Op *op = v->def ? v->def : v->block->parent;
    int i = v->index;
    if (!op) return NULL;
    switch (op->code) {
    case OP_BUFFER_SLICE:
    case OP_BUFFER_REINTERPRET:
    case OP_BUFFER_TRANS: return op->operand[0].value;
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

bool buffer_is_view(const Op *op) {
    return op->code == OP_BUFFER_TRANS || op->code == OP_BUFFER_REINTERPRET;
}

const Value *buffer_of_view(const Value *v) {
    while (v->def && buffer_is_view(v->def)) v = v->def->operand[0].value;
    return v;
}

const Op *buffer_alloc(const Value *v) {
    while (v && !op_is(v, OP_BUFFER_ALLOC)) v = nearer(v);
    return v ? v->def : NULL;
}
