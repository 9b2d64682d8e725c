/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* scratch.c: how much shared memory an operation needs for itself (see scratch.h). */
#include "ir/scratch.h"

/* Bits of a scan's axis, from the lowest: those that registers and lanes hold below the first that
 * a warp holds are summed up before warps meet. */
static int bits_below_warps(const Layout *l, Type t, int axis) {
    for (int b = 0; b < t.log2[axis]; b++) {
        LayoutIn in;
        int k;
        if (layout_find_bit(l, t, axis, b, &in, &k) && in == IN_WARP) return b;
    }
    return -1;
}

Layout scratch_scan_slots(const Op *op) {
    const Layout *l = op->operand[0].value->layout;
    Type t = op->operand[0].value->type;
    int axis = (int)ir_attr_int(op, AT_AXIS, 0), shift = type_dim_shift(t, axis);
    int below = l ? bits_below_warps(l, t, axis) : -1;
    Layout s = {0};
    if (below < 0) return s;
    uint32_t summed = (((uint32_t)1 << below) - 1) << shift;
    uint32_t walk = (((uint32_t)1 << t.log2[axis]) - 1) << shift;
    for (int in = 0; in < IN_DIMS; in++) s.bits[in] = l->bits[in];
    for (int b = below; b < t.log2[axis]; b++) {
        LayoutIn in;
        int k;
        if (layout_find_bit(l, t, axis, b, &in, &k) && in == IN_WARP)
            s.basis[in][k] = (uint32_t)1 << s.out++;
    }
    for (int in = IN_WARP; in >= IN_REG; in--)
        for (int k = 0; k < l->bits[in]; k++) {
            uint32_t v = l->basis[in][k];
            if (!v || (v & summed) || (in == IN_WARP && (v & walk))) continue;
            s.basis[in][k] = (uint32_t)1 << s.out++;
        }
    return s;
}

static int64_t aligned(int64_t bytes) {
    return (bytes + SCRATCH_ALIGN - 1) / SCRATCH_ALIGN * SCRATCH_ALIGN;
}

int64_t scratch_scan_part(const Op *op, int i) {
    Layout s = scratch_scan_slots(op);
    int64_t at = 0;
    for (int k = 0; k < i && s.out; k++)
        at += aligned((int64_t)type_elem_bytes(op->operand[k].value->type) << s.out);
    return at;
}

int64_t scratch_bytes(const Op *op) {
    switch (op->code) {
    case OP_SCAN: return scratch_scan_part(op, op->noperands);
    default: return 0;
    }
}

int buffer_slices(const Op *alloc, bool alone) {
    int slices = alloc->result[0]->type.slices;
    if (!slices) return 1;
    return alone ? (int)ir_attr_int(alloc, AT_ALONE, slices) : slices;
}

int64_t buffer_stride(const Op *alloc) {
    return ir_attr_int(alloc, AT_STRIDE, type_bytes(alloc->result[0]->type));
}

int64_t buffer_bytes(const Op *alloc, bool alone) {
    int64_t one = type_bytes(alloc->result[0]->type);
    return (buffer_slices(alloc, alone) - 1) * buffer_stride(alloc) + one;
}

const Op *buffer_alloc(const Value *v) {
    return op_is(v, OP_BUFFER_SLICE) ? v->def->operand[0].value->def : v->def;
}
