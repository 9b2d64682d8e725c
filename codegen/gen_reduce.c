/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gen_reduce.c: reductions within a warp: registers first, then butterfly shuffles over lanes.
 *
 * Reductions that cross warps were split before (passes/reduce.c). After the butterflies every lane
 * of a group has the result, which is what the result's layout says: those lanes hold replicas. */
#include "codegen/gen.h"

#include <string.h>

typedef struct Reduction {
    const Op *op;
    int n;           /* operands */
    LLVMValueRef *x; /* n values per register: x[register * n + operand] */
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

void gen_reduce(Gen *g, const Op *op) {
    const Value *first = op->operand[0].value;
    const Layout *l = first->layout;
    Reduction r = {.op = op, .n = op->noperands};
    int regs = gen_registers(first), axis = (int)ir_attr_int(op, AT_AXIS, 0);
    Layout kept = layout_without_dim(l, first->type, axis);
    /* Bits that are broadcast once the axis is gone, and were not before, walk the axis. */
    uint32_t axis_regs = layout_broadcast_bits(&kept, IN_REG) & ~layout_broadcast_bits(l, IN_REG);
    uint32_t axis_lanes =
        layout_broadcast_bits(&kept, IN_LANE) & ~layout_broadcast_bits(l, IN_LANE);
    uint32_t broadcast = layout_broadcast_bits(&kept, IN_REG);
    r.x = arena_array(&g->s->arena, (size_t)regs * (size_t)r.n, sizeof *r.x);
    for (int i = 0; i < r.n; i++) {
        Tile t = gen_tile(g, op->operand[i].value);
        for (int k = 0; k < regs; k++) r.x[k * r.n + i] = t.at[k];
    }
    for (int k = 0; k < regs; k++)
        if (!((uint32_t)k & axis_regs)) combine_tree(g, &r, k, axis_regs);
    LLVMValueRef *other = arena_array(&g->s->arena, (size_t)r.n, sizeof *other);
    for (int bit = 0; bit < LANE_BITS; bit++) {
        if (!(axis_lanes >> bit & 1)) continue;
        for (int k = 0; k < regs; k++) {
            if ((uint32_t)k & broadcast) continue;
            for (int i = 0; i < r.n; i++)
                other[i] = gen_shuffle_xor(g, r.x[k * r.n + i], 1u << bit);
            combine(g, &r, &r.x[k * r.n], other);
        }
    }
    for (int i = 0; i < r.n; i++) {
        Tile out = gen_new_tile(g, op->result[i]);
        for (int k = 0, at = 0; k < regs && at < out.n; k++)
            if (!((uint32_t)k & broadcast)) out.at[at++] = r.x[k * r.n + i];
    }
}
