/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gen_fragment.c: parts of sums, in a launch's workspace or as the copy engine brought them from
 * there -> accesses of 16 bytes, in which the lanes of a warp follow each other: register after
 * register as threads hold them, in no other order. */
#include "codegen/gen.h"
#include "ir/roles.h"

enum { MOST_BYTES = 16, MOST_ELEMS = 4 /* registers that a run goes by (gen_run.c) */ };

typedef struct Fragment {
    Type t;
    int elems, bits, words; /* of one access */
    LLVMTypeRef access;
    LLVMValueRef base; /* of this thread */
    uint32_t stride;   /* bytes from one access to the next */
} Fragment;

/* Of a tile that lies from `from` on. False after an error: the tile is held in another way than
 * one element in one register. */
static bool begin(Gen *g, const Op *op, const Value *v, LLVMValueRef from, Fragment *x) {
    const Layout *l = v->layout;
    int size = type_elem_bytes(v->type), n = gen_registers(v);
    for (int in = IN_REG; l && in <= IN_WARP; in++)
        if (layout_broadcast_bits(l, (LayoutIn)in)) {
            gen_error(g, E_LAYOUT, op, "threads hold elements of this tile several times");
            return false;
        }
    *x = (Fragment){.t = v->type, .elems = MOST_BYTES / size};
    n /= (int)ir_attr_int(op, AT_CHUNKS, 1);
    if (x->elems > MOST_ELEMS) x->elems = MOST_ELEMS;
    if (x->elems > n) x->elems = n;
    int bytes = x->elems * size;
    x->bits = size == 8 ? 64 : bytes < 4 ? bytes * 8 : 32;
    x->words = bytes * 8 / x->bits;
    LLVMTypeRef word = LLVMIntTypeInContext(g->c, (unsigned)x->bits);
    x->access = x->words > 1 ? LLVMVectorType(word, (unsigned)x->words) : word;
    x->stride = (uint32_t)(layout_warps_of_block(g->f, op->block) * 32 * bytes);
    LLVMValueRef at = LLVMBuildMul(g->b, g->tid, gen_i32(g, (uint32_t)bytes), "");
    x->base = LLVMBuildGEP2(g->b, g->i8, from, &at, 1, "");
    return true;
}

static LLVMValueRef address(Gen *g, const Fragment *x, int first) {
    LLVMValueRef by = gen_i32(g, (uint32_t)(first / x->elems) * x->stride);
    return LLVMBuildGEP2(g->b, g->i8, x->base, &by, 1, "");
}

static unsigned alignment(const Fragment *x) {
    return (unsigned)(x->bits / 8 * x->words);
}

/* Elements from number `first` of the fragment on, as many as one access moves. */
static void load(Gen *g, const Fragment *x, int first, LLVMValueRef *elem) {
    LLVMValueRef word[MOST_BYTES], v = LLVMBuildLoad2(g->b, x->access, address(g, x, first), "");
    LLVMSetAlignment(v, alignment(x));
    for (int w = 0; w < x->words; w++)
        word[w] = x->words > 1 ? LLVMBuildExtractElement(g->b, v, gen_i32(g, (uint32_t)w), "") : v;
    gen_unpack(g, x->t, word, x->bits, elem, x->elems);
}

void gen_fragment_store(Gen *g, const Op *op, int from, int count) {
    Fragment x;
    Tile in = gen_tile(g, op->operand[1].value);
    if (!begin(g, op, op->operand[1].value, gen_scalar(g, op->operand[0].value), &x)) return;
    for (int i = from; i < from + count; i += x.elems) {
        LLVMValueRef word[MOST_BYTES], v = LLVMGetPoison(x.access);
        gen_pack(g, x.t, &in.at[i], x.elems, x.bits, word);
        for (int w = 0; w < x.words; w++)
            v = x.words > 1 ? LLVMBuildInsertElement(g->b, v, word[w], gen_i32(g, (uint32_t)w), "")
                            : word[w];
        LLVMSetAlignment(LLVMBuildStore(g->b, v, address(g, &x, i)), alignment(&x));
    }
}

void gen_fragment_load(Gen *g, const Op *op, int from, int count) {
    Fragment x;
    Tile out = gen_tile(g, op->result[0]);
    for (int i = from; i < from + count; i++)
        out.at[i] = LLVMGetPoison(gen_elem_type(g, op->result[0]->type));
    if (!begin(g, op, op->result[0], gen_scalar(g, op->operand[0].value), &x)) return;
    for (int i = from; i < from + count; i += x.elems) load(g, &x, i, &out.at[i]);
}

static LLVMValueRef sum_of(Gen *g, Type t, LLVMValueRef a, LLVMValueRef b) {
    return type_is_float(t) ? LLVMBuildFAdd(g->b, a, b, "") : LLVMBuildAdd(g->b, a, b, "");
}

void gen_fragment_add(Gen *g, const Op *op) {
    Fragment x;
    Tile in = gen_tile(g, op->operand[0].value), out = gen_new_tile(g, op->result[0]);
    int n = in.n / (int)ir_attr_int(op, AT_CHUNKS, 1),
        first = n * (int)ir_attr_int(op, AT_CHUNK, 0);
    for (int i = 0; i < in.n; i++) out.at[i] = in.at[i];
    if (!begin(g, op, op->result[0], gen_buffer_pointer(g, op->operand[1].value), &x)) return;
    for (int i = 0; i < n; i += x.elems) {
        LLVMValueRef elem[MOST_BYTES];
        load(g, &x, i, elem);
        for (int k = 0; k < x.elems; k++)
            out.at[first + i + k] = sum_of(g, x.t, in.at[first + i + k], elem[k]);
    }
}
