/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gen_reduce.c: reductions within a warp: registers first, then butterfly shuffles over lanes;
 * where the order matters, from the lowest bit of the axis to the highest, wherever each is held,
 * with lanes that share the registers' work.
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

/* ---- in order ---- */

/* A reduction from the lowest bit of the axis to the highest. Of the registers that are there, only
 * those with no bit of `done` hold values. A register bit may have moved to a lane: then a lane has
 * only the values for which that bit is the lane's. */
typedef struct Ordered {
    const Reduction *r;
    uint32_t done;
    int lane_of[LAYOUT_MAX_BITS]; /* of a register bit: the lane bit that it has moved to; -1: none
                                   */
} Ordered;

/* Whether a lane is the upper one of two that differ in `bit`. */
static LLVMValueRef upper_lane(Gen *g, int bit) {
    LLVMValueRef masked = LLVMBuildAnd(g->entry, g->lane, gen_i32(g, 1u << bit), "");
    return LLVMBuildICmp(g->entry, LLVMIntNE, masked, gen_i32(g, 0), "");
}

/* Register k with what the lane that differs in `bit` has, where `sent` is what each of both shows
 * the other, and may be x itself: the lower lane's value is the first operand. */
static void combine_ordered(Gen *g, const Reduction *r, int k, int bit, LLVMValueRef *sent) {
    LLVMValueRef *x = &r->x[k * r->n], upper = upper_lane(g, bit);
    for (int i = 0; i < r->n; i++) {
        LLVMValueRef own = x[i], shuffled = gen_shuffle_xor(g, sent[i], 1u << bit);
        x[i] = LLVMBuildSelect(g->b, upper, shuffled, own, "");
        r->other[i] = LLVMBuildSelect(g->b, upper, own, shuffled, "");
    }
    combine(g, r, x, r->other);
}

/* Both lanes combine half of the registers each: a lane keeps those whose bit `moved` is its own
 * `bit`, and gets the other lane's of these. */
static void scatter_lanes(Gen *g, const Reduction *r, int k, int bit, int moved) {
    LLVMValueRef *low = &r->x[k * r->n], *high = &r->x[(k | 1 << moved) * r->n];
    LLVMValueRef upper = upper_lane(g, bit);
    for (int i = 0; i < r->n; i++) {
        LLVMValueRef mine = LLVMBuildSelect(g->b, upper, high[i], low[i], "");
        high[i] = LLVMBuildSelect(g->b, upper, low[i], high[i], "");
        low[i] = mine;
    }
    combine_ordered(g, r, k, bit, high);
}

/* The values of both lanes in each again. */
static void gather_lanes(Gen *g, const Reduction *r, int k, int bit, int moved) {
    LLVMValueRef *low = &r->x[k * r->n], *high = &r->x[(k | 1 << moved) * r->n];
    LLVMValueRef upper = upper_lane(g, bit);
    for (int i = 0; i < r->n; i++) {
        LLVMValueRef own = low[i], shuffled = gen_shuffle_xor(g, own, 1u << bit);
        low[i] = LLVMBuildSelect(g->b, upper, shuffled, own, "");
        high[i] = LLVMBuildSelect(g->b, upper, own, shuffled, "");
    }
}

/* The bit of registers to move to a lane: one of the axis rather, which is reduced there later; -1:
 * none is left. */
static int bit_to_move(const Ordered *o, const Layout *l, uint32_t axis_bits) {
    int found = -1;
    for (int bit = 0; bit < l->bits[IN_REG]; bit++) {
        if (o->done >> bit & 1) continue;
        bool of_axis = (l->basis[IN_REG][bit] & axis_bits) != 0;
        if (found < 0 || of_axis || !(l->basis[IN_REG][found] & axis_bits)) found = bit;
    }
    return found;
}

/* Whether lanes have yet to exchange values for a bit of the axis. */
static bool lanes_follow(const Ordered *o, const Layout *l, uint32_t axis_bits) {
    for (int bit = 0; bit < l->bits[IN_LANE]; bit++)
        if (l->basis[IN_LANE][bit] & axis_bits) return true;
    for (int bit = 0; bit < l->bits[IN_REG]; bit++)
        if (o->lane_of[bit] >= 0 && (l->basis[IN_REG][bit] & axis_bits)) return true;
    return false;
}

/* The next bit of the axis is `bit` of the lanes, and `axis_bits` are above it. To halve what the
 * exchanges after this one move is worth one exchange more at the end. */
static void reduce_lanes(Gen *g, Ordered *o, const Layout *l, uint32_t axis_bits, int bit) {
    const Reduction *r = o->r;
    int moved = lanes_follow(o, l, axis_bits) ? bit_to_move(o, l, axis_bits) : -1;
    if (moved >= 0) {
        o->lane_of[moved] = bit;
        o->done |= 1u << moved;
    }
    for (int k = 0; k < r->regs; k++) {
        if ((uint32_t)k & o->done) continue;
        if (moved >= 0)
            scatter_lanes(g, r, k, bit, moved);
        else
            combine_ordered(g, r, k, bit, &r->x[k * r->n]);
    }
}

/* The bit of a place's registers or lanes that holds a bit of the tile; -1: none does. */
static int bit_of(const Layout *l, int place, uint32_t at) {
    int bit = 0;
    while (bit < l->bits[place] && l->basis[place][bit] != at) bit++;
    return bit < l->bits[place] ? bit : -1;
}

/* After each bit of the axis a value is that of twice as many neighbours. The layout is plain
 * (layout.c): registers or lanes hold each bit by itself. */
static void reduce_in_order(Gen *g, const Reduction *r, int axis) {
    const Value *first = r->op->operand[0].value;
    const Layout *l = first->layout;
    Ordered o = {.r = r, .done = layout_broadcast_bits(l, IN_REG)};
    for (int bit = 0; bit < LAYOUT_MAX_BITS; bit++) o.lane_of[bit] = -1;
    int shift = type_dim_shift(first->type, axis), n = first->type.log2[axis];
    for (int p = 0; p < n; p++) {
        uint32_t at = 1u << (shift + p), above = ((1u << n) - (2u << p)) << shift;
        int reg = bit_of(l, IN_REG, at), lane = bit_of(l, IN_LANE, at);
        if (reg >= 0 && o.lane_of[reg] >= 0) {
            lane = o.lane_of[reg];
            o.lane_of[reg] = -1;
        } else if (reg >= 0) {
            o.done |= 1u << reg;
            for (int k = 0; k < r->regs; k++)
                if (!((uint32_t)k & o.done))
                    combine(g, r, &r->x[k * r->n], &r->x[(k | 1 << reg) * r->n]);
        }
        if (lane >= 0) reduce_lanes(g, &o, l, above, lane);
    }
    for (int bit = 0; bit < l->bits[IN_REG]; bit++) {
        if (o.lane_of[bit] < 0) continue;
        o.done &= ~(1u << bit);
        for (int k = 0; k < r->regs; k++)
            if (!((uint32_t)k & (o.done | 1u << bit))) gather_lanes(g, r, k, o.lane_of[bit], bit);
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
