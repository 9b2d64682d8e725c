/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* buffer.c: BUFFER_ALLOC -> its slices and bytes (see buffer.h). */
#include "ir/buffer.h"
#include "ir/desc.h"
#include "ir/layout.h"
#include "ir/roles.h"

int buffer_slices(const Op *alloc) {
    int slices = alloc->result[0]->type.slices;
    return slices ? slices : 1;
}

/* A dimension's last bits alone, in order, are the highest of an offset's first so many. */
static int highest_run(Type t, const Layout *l, int bits, int d) {
    int run = 0;
    while (run < t.log2[d] && l->basis[IN_OFFSET][bits - 1 - run] ==
                                  (uint32_t)1 << (type_dim_shift(t, d) + t.log2[d] - 1 - run))
        run++;
    return run;
}

/* Units of the dimension, whose number is those bits, that hold what matters. */
static int64_t live_units(const Op *alloc, Type t, int d, int run) {
    int64_t unit = (int64_t)1 << (t.log2[d] - run);
    return (desc_live(alloc, t, d) + unit - 1) / unit;
}

/* One past the greatest offset of an element below `live` of each dimension, of those whose offset
 * is of so many bits: what is highest in the offset is settled first. */
static int64_t live_elements(const Op *alloc, const Layout *l, int bits) {
    Type t = type_in_space(alloc->result[0]->type, SPACE_REGISTER);
    int64_t end = (int64_t)1 << bits;
    for (int d = 0; d < t.rank; d++) {
        int run = highest_run(t, l, bits, d);
        int64_t ends = live_units(alloc, t, d, run) << (bits - run);
        if (run && ends < end) end = ends;
    }
    return end;
}

/* In whole repetitions of a swizzle. */
static int64_t live_bytes(const Op *alloc, const Layout *l, int bits) {
    enum { SWIZZLE = 1024 }; /* repeats after so many bytes at most */
    int64_t elem = type_elem_bytes(alloc->result[0]->type), all = elem << bits;
    int64_t live = (live_elements(alloc, l, bits) * elem + SWIZZLE - 1) / SWIZZLE * SWIZZLE;
    return live < all ? live : all;
}

static const Layout *live_layout(const Op *alloc) {
    return ir_attr(alloc, AT_LIVE) ? alloc->result[0]->layout : NULL;
}

/* The dimension that numbers the parts; -1: there is only one. */
static int dim_of_parts(const Op *alloc, const Layout *l, int *run) {
    Type t = type_in_space(alloc->result[0]->type, SPACE_REGISTER);
    for (int d = 0; d < t.rank; d++)
        if ((*run = highest_run(t, l, l->bits[IN_OFFSET], d)) > 0) return d;
    return -1;
}

Packing buffer_packing(const Op *alloc) {
    const Layout *l = live_layout(alloc);
    int run;
    if (!l || !ir_attr_int(alloc, AT_PACKED, 0) || dim_of_parts(alloc, l, &run) < 0)
        return (Packing){0};
    int low = l->bits[IN_OFFSET] - run;
    int64_t by = live_bytes(alloc, l, low) / type_elem_bytes(alloc->result[0]->type);
    return by < (int64_t)1 << low ? (Packing){low, by} : (Packing){0};
}

/* Bits that lanes add to the number of an element. */
static uint32_t lane_bits(const Layout *l) {
    uint32_t bits = 0;
    for (int k = 0; k < l->bits[IN_LANE]; k++) bits |= l->basis[IN_LANE][k];
    return bits;
}

Liveness live_registers(const Op *store, int first, int n, int warps) {
    const Value *x = store->operand[0].value;
    const Layout *l = x->layout;
    if (!l || !ir_attr(store, AT_LIVE)) return LIVE_ALL;
    uint32_t lanes = lane_bits(l);
    bool some = false, all = true;
    for (int w = 0; w < warps && w < 1 << l->bits[IN_WARP]; w++)
        for (int i = first; i < first + n; i++) {
            uint32_t hw[IN_DIMS] = {[IN_REG] = (uint32_t)i, [IN_WARP] = (uint32_t)w};
            uint32_t at = layout_apply(l, hw);
            some |= desc_is_live(store, x->type, at & ~lanes);
            all &= desc_is_live(store, x->type, at | lanes);
        }
    return all ? LIVE_ALL : some ? LIVE_SOME : LIVE_NONE;
}

bool stores_what_matters(const Func *f, const Op *store) {
    enum { GROUP = 8 }; /* registers that one instruction stores at most */
    const Layout *l = store->operand[0].value->layout;
    int all = l ? 1 << l->bits[IN_REG] : 0, n = all < GROUP ? all : GROUP;
    for (int i = 0; i < all; i += n)
        if (live_registers(store, i, n, warps_of_block(f, store->block)) == LIVE_SOME) return false;
    return true;
}

int64_t buffer_slice_bytes(const Op *alloc) {
    Type t = type_in_space(alloc->result[0]->type, SPACE_REGISTER);
    const Layout *l = live_layout(alloc);
    Packing p = buffer_packing(alloc);
    int run, d = l ? dim_of_parts(alloc, l, &run) : -1;
    if (!l) return type_bytes(alloc->result[0]->type);
    if (p.by) return live_units(alloc, t, d, run) * p.by * type_elem_bytes(t);
    return live_bytes(alloc, l, l->bits[IN_OFFSET]);
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

bool buffer_is_of_warps(const Op *alloc) {
    const Layout *held = NULL;
    for (const Use *u = alloc->result[0]->uses; u; u = u->next) {
        const Op *op = u->op;
        const Value *tile = op->code == OP_SHARED_STORE  ? op->operand[0].value
                            : op->code == OP_SHARED_LOAD ? op->result[0]
                                                         : NULL;
        if (!tile || !tile->layout || (held && !layout_same_warps(held, tile->layout)))
            return false;
        held = tile->layout;
    }
    return held && layout_same_warps(held, held);
}
