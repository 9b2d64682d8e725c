/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gen_gather.c: buffers accessed at indices that the program works out: a gather reads there, a
 * histogram counts there by atomic additions. */
#include "codegen/gen.h"

static LLVMValueRef byte_pointer(Gen *g, LLVMValueRef begin, LLVMValueRef offset) {
    return LLVMBuildInBoundsGEP2(g->b, g->i8, begin, &offset, 1, "");
}

static LLVMValueRef index_of(Gen *g, const Layout *l, int r) {
    return l ? gen_index(g, l, r) : gen_i32(g, 0);
}

static LLVMValueRef shifted(Gen *g, LLVMValueRef x, int left) {
    if (left > 0) return LLVMBuildShl(g->b, x, gen_i32(g, (uint32_t)left), "");
    return left < 0 ? LLVMBuildLShr(g->b, x, gen_i32(g, (uint32_t)-left), "") : x;
}

static LLVMValueRef masked(Gen *g, LLVMValueRef x, int bits) {
    return LLVMBuildAnd(g->b, x, gen_i32(g, ((uint32_t)1 << bits) - 1), "");
}

/* An integer of type t as 32 bits. */
static LLVMValueRef narrowed(Gen *g, Type t, LLVMValueRef x) {
    int bits = elem_info[t.elem].bits;
    if (bits > 32) return LLVMBuildTrunc(g->b, x, g->i32, "");
    if (bits == 32) return x;
    return type_is_signed(t) ? LLVMBuildSExt(g->b, x, g->i32, "")
                             : LLVMBuildZExt(g->b, x, g->i32, "");
}

/* The buffer is in row-major order: dimensions before the axis, the index along it, dimensions
 * behind it. */
void gen_shared_gather(Gen *g, const Op *op) {
    const Value *buffer = op->operand[0].value, *index = op->operand[1].value;
    Type tx = buffer->type, ti = index->type;
    Tile at = gen_tile(g, index), out = gen_new_tile(g, op->result[0]);
    int size = type_elem_bytes(tx), log2_size = log2_of(size);
    int axis = (int)ir_attr_int(op, AT_AXIS, 0), behind = type_dim_shift(tx, axis);
    LLVMTypeRef word_type = LLVMIntTypeInContext(g->c, (unsigned)size * 8);
    LLVMValueRef begin = gen_buffer_pointer(g, buffer);
    for (int r = 0; r < out.n; r++) {
        LLVMValueRef flat = index_of(g, op->result[0]->layout, r);
        LLVMValueRef before = shifted(g, flat, -(behind + ti.log2[axis]));
        LLVMValueRef offset = shifted(g, before, tx.log2[axis]);
        LLVMValueRef i = masked(g, narrowed(g, ti, at.at[r]), tx.log2[axis]);
        offset = shifted(g, LLVMBuildOr(g->b, offset, i, ""), behind);
        offset = LLVMBuildOr(g->b, offset, masked(g, flat, behind), "");
        LLVMValueRef p = byte_pointer(g, begin, shifted(g, offset, log2_size));
        LLVMValueRef word = LLVMBuildLoad2(g->b, word_type, p, "");
        LLVMSetAlignment(word, (unsigned)size);
        gen_unpack(g, type_element(op->result[0]->type), &word, size * 8, &out.at[r], 1);
    }
}

/* ---- histogram ---- */

/* Bin of one value; *counts: whether it has one. */
static LLVMValueRef bin_of(Gen *g, Type t, LLVMValueRef x, int64_t bins, LLVMValueRef *counts) {
    LLVMValueRef wide = elem_info[t.elem].bits == 64 ? x : narrowed(g, t, x);
    LLVMValueRef end = LLVMConstInt(LLVMTypeOf(wide), (uint64_t)bins, 0);
    *counts = LLVMBuildICmp(g->b, LLVMIntULT, wide, end, "");
    return LLVMTypeOf(wide) == g->i32 ? wide : LLVMBuildTrunc(g->b, wide, g->i32, "");
}

void gen_shared_count(Gen *g, const Op *op) {
    const Value *bins = op->operand[0].value, *x = op->operand[1].value;
    Tile in = gen_tile(g, x), mask = {0};
    if (op->noperands > 2) mask = gen_tile(g, op->operand[2].value);
    uint32_t broadcast = layout_broadcast_bits(x->layout, IN_REG);
    LLVMValueRef first = gen_owner_predicate(g, x->layout), begin = gen_buffer_pointer(g, bins);
    for (int i = 0; i < in.n; i++) {
        if ((uint32_t)i & broadcast) continue;
        LLVMValueRef counts,
            bin = bin_of(g, type_element(x->type), in.at[i], type_numel(bins->type), &counts);
        if (mask.n) counts = LLVMBuildAnd(g->b, counts, mask.at[i], "");
        if (first) counts = LLVMBuildAnd(g->b, counts, first, "");
        LLVMValueRef p = byte_pointer(g, begin, shifted(g, bin, 2));
        LLVMValueRef args[] = {LLVMBuildPtrToInt(g->b, p, g->i32, ""), counts};
        gen_asm(g, "@$1 red.shared.add.u32 [$0], 1;", "r,b,~{memory}", LLVMVoidTypeInContext(g->c),
                args, 2, ASM_ORDERED);
    }
}
