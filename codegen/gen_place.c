/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gen_place.c: places and the moves between them: lane and warp numbers -> element indices, and
 * register moves and shuffles for a change of layout.
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
    if (as != g->i32) i = LLVMBuildTrunc(g->b, i, as, "");
    return LLVMBuildBitCast(g->b, i, t, "");
}

LLVMValueRef gen_shuffle_xor(Gen *g, LLVMValueRef x, uint32_t by) {
    return shuffle(g, x, (Shuffle){INTRINSIC_SHUFFLE_BFLY, gen_i32(g, by)});
}

LLVMValueRef gen_shuffle_from(Gen *g, LLVMValueRef x, LLVMValueRef lane) {
    return shuffle(g, x, (Shuffle){INTRINSIC_SHUFFLE_IDX, lane});
}

/* What a linear map of the lane number gives for part `in` of the place, as an i32. */
static LLVMValueRef lane_image(Gen *g, const ConversionMap *r, LayoutIn in) {
    uint32_t basis[LANE_BITS], mask = 0;
    for (int k = 0; k < r->bits[IN_LANE] && k < LANE_BITS; k++)
        basis[k] = hw_index_part(r->col[IN_LANE][k], in);
    LLVMValueRef v = NULL;
    add_images(g, g->lane, basis, r->bits[IN_LANE], &v, &mask);
    return v ? v : gen_i32(g, 0);
}

bool gen_move(Gen *g, const Layout *at, const Layout *from, Tile x, Tile *out) {
    ConversionMap r;
    if (!layout_conversion_map(at, from, &r)) return false;
    bool shuffles = false;
    for (int in = 0; in < IN_DIMS; in++)
        for (int k = 0; k < r.bits[in]; k++) {
            uint64_t c = r.col[in][k];
            if (hw_index_part(c, IN_BLOCK) ||
                hw_index_part(c, IN_WARP) != (in == IN_WARP ? 1u << k : 0))
                return false;
            if (in == IN_WARP && (hw_index_part(c, IN_LANE) || hw_index_part(c, IN_REG)))
                return false;
            if (in == IN_LANE && (hw_index_part(c, IN_LANE) != 1u << k || hw_index_part(c, IN_REG)))
                shuffles = true;
            if (in == IN_REG && hw_index_part(c, IN_LANE)) shuffles = true;
        }
    LLVMValueRef lanes = shuffles ? lane_image(g, &r, IN_LANE) : NULL;
    LLVMValueRef regs = shuffles ? lane_image(g, &r, IN_REG) : NULL;
    /* Registers that lanes may ask for beside the one given by the result's register: the span of
     * what the lane bits contribute. */
    uint32_t span[32] = {0};
    int nspan = 1;
    for (int k = 0; k < r.bits[IN_LANE] && shuffles; k++) {
        uint32_t v = hw_index_part(r.col[IN_LANE][k], IN_REG);
        bool known = false;
        for (int i = 0; i < nspan; i++) known |= span[i] == v;
        for (int i = 0, n = nspan; i < n && !known && nspan < 32; i++) span[nspan++] = span[i] ^ v;
    }
    for (int i = 0; i < out->n; i++) {
        uint32_t hw[IN_DIMS] = {(uint32_t)i};
        uint64_t p = conversion_map_apply(&r, hw);
        uint32_t reg = hw_index_part(p, IN_REG), lane = hw_index_part(p, IN_LANE);
        if (!shuffles) {
            out->at[i] = x.at[reg];
            continue;
        }
        LLVMValueRef source = lane ? LLVMBuildXor(g->b, lanes, gen_i32(g, lane), "") : lanes;
        LLVMValueRef v = NULL;
        for (int k = 0; k < nspan; k++) {
            LLVMValueRef w =
                shuffle(g, x.at[reg ^ span[k]], (Shuffle){INTRINSIC_SHUFFLE_IDX, source});
            if (!v) {
                v = w;
                continue;
            }
            LLVMValueRef mine = LLVMBuildICmp(g->b, LLVMIntEQ, regs, gen_i32(g, span[k]), "");
            v = LLVMBuildSelect(g->b, mine, w, v, "");
        }
        out->at[i] = v;
    }
    return true;
}
