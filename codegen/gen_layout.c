/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gen_layout.c: layouts -> code: from hardware indices to those of elements, and register moves and
 * shuffles for a change of layout.
 *
 * The one trick: an index is (share of lane and warp) XOR (share of the register), the first
 * computed once per layout in the entry block, the second a constant. Where their bits do not meet
 * XOR is an addition, which address arithmetic can fold. */
#include "codegen/gen.h"

#include <string.h>

/* x's bits [from, from+n) moved to bit `to`. */
static LLVMValueRef move_bits(Gen *g, LLVMValueRef x, int from, int n, int to) {
    LLVMBuilderRef b = g->entry;
    LLVMValueRef v = LLVMBuildAnd(b, x, gen_i32(g, (((uint32_t)1 << n) - 1) << from), "");
    if (to > from) return LLVMBuildShl(b, v, gen_i32(g, (uint32_t)(to - from)), "");
    if (to < from) return LLVMBuildLShr(b, v, gen_i32(g, (uint32_t)(from - to)), "");
    return v;
}

static int single_bit(uint32_t v) {
    if (!v || (v & (v - 1))) return -1;
    int n = 0;
    while (v >> n != 1) n++;
    return n;
}

/* XORs the images of the bits of x into *sum. Only runs of single-bit vectors move together: a
 * multiplication by a vector with two bits would carry where XOR does not. */
static void add_images(Gen *g, LLVMValueRef x, const uint32_t *basis, int bits, LLVMValueRef *sum,
                       uint32_t *mask) {
    for (int k = 0; k < bits;) {
        int to = single_bit(basis[k]), n = 1;
        LLVMValueRef part;
        uint32_t may;
        if (to >= 0) {
            while (k + n < bits && basis[k + n] == basis[k] << n) n++;
            part = move_bits(g, x, k, n, to);
            may = (((uint32_t)1 << n) - 1) << to;
        } else if (basis[k]) {
            LLVMValueRef bit = move_bits(g, x, k, 1, 0);
            part = LLVMBuildMul(g->entry, bit, gen_i32(g, basis[k]), "");
            may = basis[k];
        } else {
            k++;
            continue;
        }
        if (!*sum)
            *sum = part;
        else if (*mask & may)
            *sum = LLVMBuildXor(g->entry, *sum, part, "");
        else
            *sum = LLVMBuildOr(g->entry, *sum, part, "");
        *mask |= may;
        k += n;
    }
}

LLVMValueRef gen_lane_part(Gen *g, const Layout *l, uint32_t *mask) {
    Layout key = *l;
    key.bits[IN_REG] = 0;
    memset(key.basis[IN_REG], 0, sizeof key.basis[IN_REG]);
    LanePart *p = g->parts;
    while (p && !layout_equal(&p->layout, &key)) p = p->next;
    if (!p) {
        p = arena_alloc(&g->s->arena, sizeof *p);
        p->layout = key;
        p->next = g->parts;
        g->parts = p;
        add_images(g, g->lane, l->basis[IN_LANE], l->bits[IN_LANE], &p->value, &p->mask);
        add_images(g, g->warp, l->basis[IN_WARP], l->bits[IN_WARP], &p->value, &p->mask);
        if (!p->value) p->value = gen_i32(g, 0);
    }
    *mask = p->mask;
    return p->value;
}

LLVMValueRef gen_index(Gen *g, const Layout *l, int r) {
    uint32_t mask, hw[IN_DIMS] = {(uint32_t)r}, c = layout_apply(l, hw);
    LLVMValueRef lane = gen_lane_part(g, l, &mask);
    if (!c) return lane;
    if (!mask) return gen_i32(g, c);
    if (mask & c) return LLVMBuildXor(g->b, lane, gen_i32(g, c), "");
    return LLVMBuildNUWAdd(g->b, lane, gen_i32(g, c), "");
}

LLVMValueRef gen_owner_predicate(Gen *g, const Layout *l) {
    uint32_t lanes = layout_broadcast_bits(l, IN_LANE), warps = layout_broadcast_bits(l, IN_WARP);
    LLVMValueRef zero = gen_i32(g, 0), p = NULL;
    if (lanes) {
        LLVMValueRef x = LLVMBuildAnd(g->entry, g->lane, gen_i32(g, lanes), "");
        p = LLVMBuildICmp(g->entry, LLVMIntEQ, x, zero, "");
    }
    if (warps) {
        LLVMValueRef x = LLVMBuildAnd(g->entry, g->warp, gen_i32(g, warps), "");
        x = LLVMBuildICmp(g->entry, LLVMIntEQ, x, zero, "");
        p = p ? LLVMBuildAnd(g->entry, p, x, "") : x;
    }
    return p;
}

LLVMValueRef gen_owner(Gen *g, const Value *v) {
    if (v->layout) return gen_owner_predicate(g, v->layout);
    return LLVMBuildICmp(g->entry, LLVMIntEQ, g->tid, gen_i32(g, 0), "");
}

/* ---- moves ---- */

typedef struct Shuffle { /* the value of another lane: of lane number `lane`, or of this one XOR by
                          */
    Intrinsic which;
    LLVMValueRef lane;
} Shuffle;

static LLVMValueRef shuffle_word(Gen *g, LLVMValueRef x, Shuffle how) {
    LLVMValueRef args[] = {LLVMConstInt(g->i32, UINT32_MAX, 0), x, how.lane, gen_i32(g, 31)};
    return gen_intrinsic(g, how.which, NULL, 0, args, 4);
}

/* Any element through 32-bit shuffles. */
static LLVMValueRef shuffle(Gen *g, LLVMValueRef x, Shuffle lane) {
    LLVMTypeRef t = LLVMTypeOf(x);
    if (t == g->ptr) {
        LLVMValueRef i = LLVMBuildPtrToInt(g->b, x, g->i64, "");
        return LLVMBuildIntToPtr(g->b, shuffle(g, i, lane), t, "");
    }
    if (t == g->i64 || t == g->f64) {
        LLVMTypeRef pair = LLVMVectorType(g->i32, 2);
        LLVMValueRef v = LLVMBuildBitCast(g->b, x, pair, ""), out = LLVMGetPoison(pair);
        for (unsigned i = 0; i < 2; i++) {
            LLVMValueRef w = LLVMBuildExtractElement(g->b, v, gen_i32(g, i), "");
            out = LLVMBuildInsertElement(g->b, out, shuffle_word(g, w, lane), gen_i32(g, i), "");
        }
        return LLVMBuildBitCast(g->b, out, t, "");
    }
    LLVMTypeRef as = t == g->f32 ? g->i32 : t == g->f16 ? g->i16 : t;
    LLVMValueRef i = LLVMBuildBitCast(g->b, x, as, "");
    if (as != g->i32) i = LLVMBuildZExt(g->b, i, g->i32, "");
    i = shuffle_word(g, i, lane);
    /* A test that ptxas joins with the predicate that it goes into; that of a masked bit it does
     * not (Hopper: ISETP with two predicates, LOP3 and PLOP3 otherwise). */
    if (t == g->i1) return LLVMBuildICmp(g->b, LLVMIntNE, i, gen_i32(g, 0), "");
    if (as != g->i32) i = LLVMBuildTrunc(g->b, i, as, "");
    return LLVMBuildBitCast(g->b, i, t, "");
}

LLVMValueRef gen_shuffle_xor(Gen *g, LLVMValueRef x, uint32_t by) {
    return shuffle(g, x, (Shuffle){INTRINSIC_SHUFFLE_BFLY, gen_i32(g, by)});
}

LLVMValueRef gen_shuffle_from(Gen *g, LLVMValueRef x, LLVMValueRef lane) {
    return shuffle(g, x, (Shuffle){INTRINSIC_SHUFFLE_IDX, lane});
}

/* What a linear map of the lane or warp number gives for part `in` of the hardware index: an i32.
 */
static LLVMValueRef image_of(Gen *g, const ConversionMap *r, LayoutIn by, LayoutIn in) {
    uint32_t basis[LANE_BITS], mask = 0;
    for (int k = 0; k < r->bits[by] && k < LANE_BITS; k++)
        basis[k] = hw_index_part(r->col[by][k], in);
    LLVMValueRef v = NULL;
    add_images(g, by == IN_LANE ? g->lane : g->warp, basis, r->bits[by], &v, &mask);
    return v ? v : gen_i32(g, 0);
}

/* How a move is to be done within a warp; false: it cannot be. */
static bool kind_of_move(const ConversionMap *r, bool *shuffles, bool *picks) {
    *shuffles = *picks = false;
    for (int in = 0; in < IN_DIMS; in++)
        for (int k = 0; k < r->bits[in]; k++) {
            uint64_t c = r->col[in][k];
            if (hw_index_part(c, IN_BLOCK) ||
                hw_index_part(c, IN_WARP) != (in == IN_WARP ? 1u << k : 0))
                return false;
            if (in == IN_WARP && hw_index_part(c, IN_LANE)) return false;
            if (in == IN_WARP && hw_index_part(c, IN_REG)) *picks = true;
            if (in == IN_LANE && (hw_index_part(c, IN_LANE) != 1u << k || hw_index_part(c, IN_REG)))
                *shuffles = true;
            if (in == IN_REG && hw_index_part(c, IN_LANE)) *shuffles = true;
        }
    return !(*shuffles && *picks);
}

/* Of a move whose lanes ask each other: the register of the lane asked that is wanted beside the
 * one given by the result's register is one of the span of what the lane bits contribute. */
typedef struct LaneMove {
    LLVMValueRef lanes, regs;
    uint32_t reg[32];
    int n;
} LaneMove;

static LaneMove lane_move_of(Gen *g, const ConversionMap *r) {
    LaneMove s = {image_of(g, r, IN_LANE, IN_LANE), image_of(g, r, IN_LANE, IN_REG), {0}, 1};
    for (int k = 0; k < r->bits[IN_LANE]; k++) {
        uint32_t v = hw_index_part(r->col[IN_LANE][k], IN_REG);
        bool known = false;
        for (int i = 0; i < s.n; i++) known |= s.reg[i] == v;
        for (int i = 0, n = s.n; i < n && !known && s.n < 32; i++) s.reg[s.n++] = s.reg[i] ^ v;
    }
    return s;
}

static LLVMValueRef shuffle_any(Gen *g, const LaneMove *s, Tile x, uint32_t reg, uint32_t lane) {
    LLVMValueRef v = NULL, source = s->lanes;
    if (lane) source = LLVMBuildXor(g->b, source, gen_i32(g, lane), "");
    for (int k = 0; k < s->n; k++) {
        LLVMValueRef w = gen_shuffle_from(g, x.at[reg ^ s->reg[k]], source);
        LLVMValueRef mine =
            v ? LLVMBuildICmp(g->b, LLVMIntEQ, s->regs, gen_i32(g, s->reg[k]), "") : NULL;
        v = v ? LLVMBuildSelect(g->b, mine, w, v, "") : w;
    }
    return v;
}

/* Of a move in which each warp picks from its own registers: the one wanted differs from the one
 * given by the result's register by a sum of `by`; a bit of its own says whether each is in it. */
typedef struct Pick {
    int n;
    uint32_t by[LANE_BITS], bit[LANE_BITS];
    LLVMValueRef on[LANE_BITS];
} Pick;

static Pick pick_of(Gen *g, const ConversionMap *r) {
    Pick p = {0};
    for (int k = 0; k < r->bits[IN_WARP] && p.n < LANE_BITS; k++) {
        uint32_t v = hw_index_part(r->col[IN_WARP][k], IN_REG);
        for (int i = 0; i < p.n; i++)
            if (v & p.bit[i]) v ^= p.by[i];
        if (!v) continue;
        uint32_t bit = v & (0 - v);
        for (int i = 0; i < p.n; i++)
            if (p.by[i] & bit) p.by[i] ^= v;
        p.by[p.n] = v;
        p.bit[p.n++] = bit;
    }
    LLVMValueRef regs = image_of(g, r, IN_WARP, IN_REG);
    for (int i = 0; i < p.n; i++) {
        LLVMValueRef b = LLVMBuildAnd(g->b, regs, gen_i32(g, p.bit[i]), "");
        p.on[i] = LLVMBuildICmp(g->b, LLVMIntNE, b, gen_i32(g, 0), "");
    }
    return p;
}

/* By halves of the registers, so that few are live at once. */
static LLVMValueRef pick(Gen *g, const Pick *p, int n, Tile x, uint32_t reg) {
    if (!n) return x.at[reg];
    LLVMValueRef off = pick(g, p, n - 1, x, reg), on = pick(g, p, n - 1, x, reg ^ p->by[n - 1]);
    return LLVMBuildSelect(g->b, p->on[n - 1], on, off, "");
}

bool gen_move(Gen *g, const Layout *at, const Layout *from, Tile x, Tile *out) {
    ConversionMap r;
    bool shuffles, picks;
    if (!layout_conversion_map(at, from, &r) || !kind_of_move(&r, &shuffles, &picks)) return false;
    LaneMove by_lanes = {0};
    Pick p = {0};
    if (shuffles) by_lanes = lane_move_of(g, &r);
    if (picks) p = pick_of(g, &r);
    for (int i = 0; i < out->n; i++) {
        uint32_t hw[IN_DIMS] = {(uint32_t)i};
        uint64_t at_i = conversion_map_apply(&r, hw);
        uint32_t reg = hw_index_part(at_i, IN_REG), lane = hw_index_part(at_i, IN_LANE);
        out->at[i] = shuffles ? shuffle_any(g, &by_lanes, x, reg, lane) : pick(g, &p, p.n, x, reg);
    }
    return true;
}
