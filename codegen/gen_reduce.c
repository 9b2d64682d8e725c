/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gen_reduce.c: reductions within a warp: registers first, then butterfly shuffles over lanes;
 * where the order matters, from the lowest bit of the axis to the highest, wherever each is held.
 *
 * Reductions that cross warps were split before (passes/reduce.c). After the butterflies every lane
 * of a group has the result, which is what the result's layout says: those lanes hold replicas. */
#include "codegen/gen.h"
#include "ir/reduction.h"

#include <string.h>

typedef struct Reduction {
    const Op *op;
    int n; /* operands */
    int regs;
    LLVMValueRef *x;     /* n values per register: x[register * n + operand] */
    LLVMValueRef *other; /* n values */
} Reduction;

/* a = combine(a, b), by the op's region. */
static void combine(Gen *g, const Reduction *r, LLVMValueRef *a, const LLVMValueRef *b) {
    const Block *region = r->op->region[0];
    for (int i = 0; i < r->n; i++) {
        gen_new_tile(g, region->args[i]).at[0] = a[i];
        gen_new_tile(g, region->args[r->n + i]).at[0] = b[i];
    }
    gen_block(g, region);
    for (int i = 0; i < r->n; i++) a[i] = gen_scalar(g, region->last->operand[i].value);
}

/* Register k combined with those that differ from it in `bits`: a tree, of which each part is done
 * before the next is begun, so that few partial results are there at a time. The highest bits are
 * the leaves, so that partners, which are neighbours, are computed in pairs. */
static void combine_tree(Gen *g, const Reduction *r, int k, uint32_t bits) {
    if (!bits) return;
    uint32_t lowest = bits & (0 - bits);
    int other = k | (int)lowest;
    combine_tree(g, r, k, bits & ~lowest);
    combine_tree(g, r, other, bits & ~lowest);
    combine(g, r, &r->x[k * r->n], &r->x[other * r->n]);
}

/* Register k with what the lane that differs in `bit` has of it. */
static void combine_lanes(Gen *g, const Reduction *r, int k, int bit) {
    for (int i = 0; i < r->n; i++) r->other[i] = gen_shuffle_xor(g, r->x[k * r->n + i], 1u << bit);
    combine(g, r, &r->x[k * r->n], r->other);
}

/* The same in both lanes: the lower one's value is the first operand. */
static void combine_lanes_in_order(Gen *g, const Reduction *r, int k, int bit) {
    LLVMValueRef *x = &r->x[k * r->n];
    LLVMValueRef upper = LLVMBuildAnd(g->entry, g->lane, gen_i32(g, 1u << bit), "");
    upper = LLVMBuildICmp(g->entry, LLVMIntNE, upper, gen_i32(g, 0), "");
    for (int i = 0; i < r->n; i++) {
        LLVMValueRef own = x[i], shuffled = gen_shuffle_xor(g, own, 1u << bit);
        x[i] = LLVMBuildSelect(g->b, upper, shuffled, own, "");
        r->other[i] = LLVMBuildSelect(g->b, upper, own, shuffled, "");
    }
    combine(g, r, x, r->other);
}

/* After each bit of the axis a value is that of twice as many neighbours. The layout is plain
 * (layout.c): registers or lanes hold each bit by itself. */
static void reduce_in_order(Gen *g, const Reduction *r, int axis) {
    const Value *first = r->op->operand[0].value;
    const Layout *l = first->layout;
    uint32_t done = layout_broadcast_bits(l, IN_REG);
    for (int p = 0; p < first->type.log2[axis]; p++) {
        uint32_t at = (uint32_t)1 << (type_dim_shift(first->type, axis) + p);
        for (int bit = 0; bit < l->bits[IN_REG]; bit++) {
            if (l->basis[IN_REG][bit] != at) continue;
            done |= 1u << bit;
            for (int k = 0; k < r->regs; k++)
                if (!((uint32_t)k & done))
                    combine(g, r, &r->x[k * r->n], &r->x[(k | 1 << bit) * r->n]);
        }
        for (int bit = 0; bit < l->bits[IN_LANE]; bit++)
            for (int k = 0; k < r->regs && l->basis[IN_LANE][bit] == at; k++)
                if (!((uint32_t)k & done)) combine_lanes_in_order(g, r, k, bit);
    }
}

void gen_reduce(Gen *g, const Op *op) {
    const Value *first = op->operand[0].value;
    const Layout *l = first->layout;
    int regs = gen_registers(first), axis = (int)ir_attr_int(op, AT_AXIS, 0), n = op->noperands;
    Reduction r = {.op = op, .n = n, .regs = regs};
    Layout kept = layout_without_dim(l, first->type, axis);
    /* Bits that are broadcast once the axis is gone, and were not before, walk the axis. */
    uint32_t axis_regs = layout_broadcast_bits(&kept, IN_REG) & ~layout_broadcast_bits(l, IN_REG);
    uint32_t axis_lanes =
        layout_broadcast_bits(&kept, IN_LANE) & ~layout_broadcast_bits(l, IN_LANE);
    uint32_t broadcast = layout_broadcast_bits(&kept, IN_REG);
    r.x = arena_array(&g->s->arena, (size_t)regs * (size_t)n, sizeof *r.x);
    r.other = arena_array(&g->s->arena, (size_t)n, sizeof *r.other);
    for (int i = 0; i < n; i++) {
        Tile t = gen_tile(g, op->operand[i].value);
        for (int k = 0; k < regs; k++) r.x[k * n + i] = t.at[k];
    }
    bool commutes = ir_reduce_commutes(op);
    if (!commutes) reduce_in_order(g, &r, axis);
    for (int k = 0; k < regs && commutes; k++)
        if (!((uint32_t)k & axis_regs)) combine_tree(g, &r, k, axis_regs);
    for (int bit = 0; bit < LANE_BITS && commutes; bit++)
        for (int k = 0; k < regs && (axis_lanes >> bit & 1); k++)
            if (!((uint32_t)k & broadcast)) combine_lanes(g, &r, k, bit);
    for (int i = 0; i < n; i++) {
        Tile out = gen_new_tile(g, op->result[i]);
        for (int k = 0, at = 0; k < regs && at < out.n; k++)
            if (!((uint32_t)k & broadcast)) out.at[at++] = r.x[k * n + i];
    }
}
