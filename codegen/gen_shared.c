/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gen_shared.c: tiles to and from shared memory.
 *
 * Everything here is one question: which offset of the buffer holds the element of this register,
 * lane and warp? The conversion map from the register layout to the buffer's layout answers it,
 * linearly: (share of lane and warp) XOR (constant of the register). The constant is split in the
 * bits that the lane's share may flip, which need a XOR (few different ones, kept in a cache), and
 * the rest, which is a constant offset of the instruction. */
#include "codegen/gen.h"
#include "ir/buffer.h"
#include "ir/desc.h"
#include "ir/roles.h"

#include <stdio.h>
#include <string.h>

LLVMValueRef gen_buffer_pointer(Gen *g, const Value *buffer) {
    buffer = buffer_of_view(buffer);
    if (op_is(buffer, OP_BUFFER_SLICE))
        return LLVMBuildIntToPtr(g->b, gen_scalar(g, buffer), g->ptr_shared, "");
    LLVMValueRef offset = gen_i32(g, (uint32_t)ir_attr_int(buffer->def, AT_OFFSET, 0));
    return LLVMConstInBoundsGEP2(g->i8, g->shared, &offset, 1);
}

/* A scalar's is the one of its one element, which all threads hold. */
static Layout layout_of(const Value *v) {
    return v->layout ? *v->layout : layout_new(v->type);
}

bool gen_shared_view(Gen *g, const Value *buffer, const Layout *at, SharedView *view) {
    Layout shared = layout_of(buffer);
    memset(view, 0, sizeof *view);
    if (!layout_conversion_map(at, &shared, &view->map)) return false;
    view->elem_log2 = log2_of(type_elem_bytes(buffer->type));
    /* The offsets that lanes and warps add, in bytes, as a layout of their own. */
    Layout l = {.out = (uint8_t)(shared.bits[IN_OFFSET] + view->elem_log2)};
    for (int in = IN_LANE; in <= IN_WARP; in++)
        for (int k = 0; k < at->bits[in]; k++)
            layout_push(&l, (LayoutIn)in,
                        hw_index_part(view->map.col[in][k], IN_OFFSET) << view->elem_log2);
    view->lane = gen_lane_part(g, &l, &view->mask);
    buffer = buffer_of_view(buffer);
    const Op *alloc = buffer_alloc(buffer);
    if (alloc) view->packing = buffer_packing(alloc);
    view->packing.low += view->elem_log2;
    view->packing.by <<= view->elem_log2;
    view->moves = op_is(buffer, OP_BUFFER_SLICE);
    if (view->moves) {
        view->buffer = gen_scalar(g, buffer);
        return true;
    }
    LLVMValueRef base = LLVMConstPtrToInt(g->shared, g->i32);
    int64_t offset = ir_attr_int(buffer->def, AT_OFFSET, 0);
    view->buffer = offset ? LLVMConstAdd(base, gen_i32(g, (uint32_t)offset)) : base;
    return true;
}

/* Where the offset of lane and warp is, if parts of it are packed. */
static LLVMValueRef packed_lane(Gen *g, const SharedView *v, LLVMValueRef lane) {
    Packing p = v->packing;
    if (!p.by || !(v->mask >> p.low)) return lane;
    LLVMValueRef part = LLVMBuildLShr(g->entry, lane, gen_i32(g, (uint32_t)p.low), "");
    LLVMValueRef within = LLVMBuildAnd(g->entry, lane, gen_i32(g, (1u << p.low) - 1), "");
    part = LLVMBuildMul(g->entry, part, gen_i32(g, (uint32_t)p.by), "");
    return LLVMBuildAdd(g->entry, part, within, "");
}

/* The pointer of gen_shared_pointer, short of *add bytes: what an instruction adds for nothing. */
static LLVMValueRef base_pointer(Gen *g, SharedView *v, uint32_t offset, uint32_t *more) {
    uint32_t bytes = offset << v->elem_log2, flip = bytes & v->mask, add = bytes & ~v->mask;
    LLVMValueRef address = NULL;
    for (int i = 0; i < v->ncache && !address; i++)
        if (v->cache[i].flip == flip) address = v->cache[i].address;
    if (!address) {
        LLVMBuilderRef b = v->moves ? g->b : g->entry;
        LLVMValueRef lane = flip ? LLVMBuildXor(g->entry, v->lane, gen_i32(g, flip), "") : v->lane;
        lane = packed_lane(g, v, lane);
        address = LLVMBuildIntToPtr(b, LLVMBuildAdd(b, v->buffer, lane, ""), g->ptr_shared, "");
        if (v->ncache < 64) {
            v->cache[v->ncache].flip = flip;
            v->cache[v->ncache++].address = address;
        }
    }
    *more = (uint32_t)buffer_packed(v->packing, add); /* other bits than the lane's */
    return address;
}

LLVMValueRef gen_shared_pointer(Gen *g, SharedView *v, uint32_t offset) {
    uint32_t add;
    LLVMValueRef address = base_pointer(g, v, offset, &add);
    if (!add) return address;
    LLVMValueRef by = gen_i32(g, add);
    return LLVMBuildInBoundsGEP2(g->b, g->i8, address, &by, 1, "");
}

void gen_load_matrices(Gen *g, SharedView *v, uint32_t offset, bool trans, LLVMValueRef reg[4]) {
    LLVMValueRef p = gen_shared_pointer(g, v, offset);
    LLVMTypeRef overload = g->ptr_shared;
    LLVMValueRef all = gen_intrinsic(g, trans ? INTRINSIC_LDMATRIX_TRANS : INTRINSIC_LDMATRIX,
                                     &overload, 1, &p, 1);
    for (unsigned i = 0; i < 4; i++) reg[i] = LLVMBuildExtractValue(g->b, all, i, "");
}

/* ---- whole tiles ---- */

typedef struct Access {
    int vec, bits, words; /* log2 elements; the register size and number of one access */
} Access;

static Access shared_access(Type t, int vec) {
    int size = type_elem_bytes(t), bytes = size << vec;
    if (bytes < 4) return (Access){vec, bytes * 8, 1};
    if (size == 8) return (Access){vec, 64, bytes / 8};
    return (Access){vec, 32, bytes / 4};
}

static LLVMTypeRef access_type(Gen *g, Access a) {
    LLVMTypeRef w = LLVMIntTypeInContext(g->c, (unsigned)a.bits);
    return a.words == 1 ? w : LLVMVectorType(w, (unsigned)a.words);
}

static unsigned access_bytes(Access a) {
    return (unsigned)(a.bits / 8 * a.words);
}

void gen_shared_read(Gen *g, Type t, SharedView *v, const Layout *at, int vec, uint32_t flip,
                     LLVMValueRef *elem) {
    Access a = shared_access(t, vec);
    int n = 1 << at->bits[IN_REG];
    for (int i = 0; i < n; i += 1 << a.vec) {
        uint32_t hw[IN_DIMS] = {(uint32_t)i};
        uint32_t offset = hw_index_part(conversion_map_apply(&v->map, hw), IN_OFFSET) ^ flip;
        LLVMValueRef x =
            LLVMBuildLoad2(g->b, access_type(g, a), gen_shared_pointer(g, v, offset), "");
        LLVMSetAlignment(x, access_bytes(a));
        LLVMValueRef word[16];
        for (int w = 0; w < a.words; w++)
            word[w] =
                a.words == 1 ? x : LLVMBuildExtractElement(g->b, x, gen_i32(g, (uint32_t)w), "");
        gen_unpack(g, t, word, a.bits, &elem[i], 1 << a.vec);
    }
}

/* log2 of the elements that one instruction moves. */
static int width_of(const Op *op) {
    return log2_of(ir_attr_int(op, AT_VECTOR, 1));
}

void gen_shared_load(Gen *g, const Op *op) {
    const Value *buffer = op->operand[0].value, *r = op->result[0];
    Tile out = gen_new_tile(g, r);
    Layout at = layout_of(r);
    SharedView v;
    if (!gen_shared_view(g, buffer, &at, &v)) {
        gen_error(g, E_BUG, op,
                  "no way from the buffer to the tile's layout; this is a bug in tilec");
        for (int i = 0; i < out.n; i++) out.at[i] = LLVMGetPoison(gen_elem_type(g, r->type));
        return;
    }
    gen_shared_read(g, r->type, &v, &at, width_of(op), 0, out.at);
}

/* One access where `on` holds, without a branch. */
static void store_where(Gen *g, LLVMValueRef on, SharedView *v, uint32_t offset, Access a,
                        LLVMValueRef *word) {
    Buf text = buf_new(&g->s->arena), constraints = buf_new(&g->s->arena);
    uint32_t add;
    LLVMValueRef pointer = base_pointer(g, v, offset, &add);
    LLVMValueRef args[6] = {LLVMBuildPtrToInt(g->b, pointer, g->i32, ""), on};
    buf_puts(&text, "@$1 st.shared");
    if (a.words > 1) buf_printf(&text, ".v%d", a.words);
    buf_printf(&text, ".b%d [$0+%u], %s", a.bits, add, a.words > 1 ? "{" : "");
    buf_puts(&constraints, "r,b");
    for (int w = 0; w < a.words; w++) {
        buf_printf(&text, w ? ", $%d" : "$%d", 2 + w);
        buf_puts(&constraints, a.bits == 64 ? ",l" : a.bits == 32 ? ",r" : ",h");
        args[2 + w] = a.bits == 8 ? LLVMBuildZExt(g->b, word[w], g->i16, "") : word[w];
    }
    buf_printf(&text, "%s;", a.words > 1 ? "}" : "");
    buf_puts(&constraints, ",~{memory}");
    gen_asm(g, text.data, constraints.data, LLVMVoidTypeInContext(g->c), args, 2 + a.words,
            ASM_ORDERED);
}

/* ---- by matrices ---- */

enum { BY_MATRIX = MATRIX_PAIR + MATRIX_FOUR };

static MatrixForm form_of(const Op *op) {
    return (MatrixForm)ir_attr_int(op, AT_MATRIX, MATRIX_NONE);
}

static bool matrix_view(Gen *g, const Op *op, SharedView *view) {
    Layout at = layout_matrix_rows(op->operand[0].value->layout, form_of(op));
    return gen_shared_view(g, op->operand[1].value, &at, view);
}

/* None of the elements of these registers is to be stored, in whatever thread. */
static bool is_left_out(const Gen *g, const Op *op, int first, int n) {
    return live_registers(op, first, n, warps_of_block(g->f, op->block)) == LIVE_NONE;
}

static void store_matrices(Gen *g, const Op *op, Tile in, SharedView *v) {
    const Value *x = op->operand[0].value;
    for (int i = 0; i < in.n; i += 1 << BY_MATRIX) {
        if (is_left_out(g, op, i, 1 << BY_MATRIX)) continue;
        uint32_t hw[IN_DIMS] = {(uint32_t)i}, add;
        uint32_t offset = hw_index_part(conversion_map_apply(&v->map, hw), IN_OFFSET);
        LLVMValueRef args[1 + (1 << MATRIX_FOUR)], pointer = base_pointer(g, v, offset, &add);
        args[0] = LLVMBuildPtrToInt(g->b, pointer, g->i32, "");
        gen_pack(g, x->type, &in.at[i], 1 << BY_MATRIX, 32, &args[1]);
        Buf text = buf_new(&g->s->arena);
        buf_printf(&text, "stmatrix.sync.aligned.m8n8.x4%s.shared.b16 [$0+%u], {$1, $2, $3, $4};",
                   form_of(op) == MATRIX_COLUMNS ? ".trans" : "", add);
        gen_asm(g, text.data, "r,r,r,r,r,~{memory}", LLVMVoidTypeInContext(g->c), args,
                1 + (1 << MATRIX_FOUR), ASM_CONVERGENT);
    }
}

void gen_shared_store(Gen *g, const Op *op) {
    const Value *x = op->operand[0].value, *buffer = op->operand[1].value;
    Tile in = gen_tile(g, x);
    SharedView v;
    Layout at = layout_of(x);
    bool matrices = form_of(op) != MATRIX_NONE;
    if (!(matrices ? matrix_view(g, op, &v) : gen_shared_view(g, buffer, &at, &v))) {
        gen_error(g, E_BUG, op,
                  "no way from the tile's layout to the buffer; this is a bug in tilec");
        return;
    }
    if (matrices) {
        store_matrices(g, op, in, &v);
        return;
    }
    Access a = shared_access(x->type, width_of(op));
    uint32_t broadcast = layout_broadcast_bits(&at, IN_REG);
    LLVMValueRef first = ir_attr_int(op, AT_OWNER, 0) ? gen_owner(g, x) : NULL;
    for (int i = 0; i < in.n; i += 1 << a.vec) {
        if ((uint32_t)i & broadcast) continue;
        if (is_left_out(g, op, i, 1 << a.vec)) continue;
        uint32_t hw[IN_DIMS] = {(uint32_t)i};
        uint32_t offset = hw_index_part(conversion_map_apply(&v.map, hw), IN_OFFSET);
        LLVMValueRef word[16], all;
        gen_pack(g, x->type, &in.at[i], 1 << a.vec, a.bits, word);
        if (first) {
            store_where(g, first, &v, offset, a, word);
            continue;
        }
        all = word[0];
        if (a.words > 1) {
            all = LLVMGetPoison(access_type(g, a));
            for (int w = 0; w < a.words; w++)
                all = LLVMBuildInsertElement(g->b, all, word[w], gen_i32(g, (uint32_t)w), "");
        }
        LLVMSetAlignment(LLVMBuildStore(g->b, all, gen_shared_pointer(g, &v, offset)),
                         access_bytes(a));
    }
}
