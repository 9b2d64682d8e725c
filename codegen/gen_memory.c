/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gen_memory.c: loads and stores of global memory, as wide as the pass access says.
 *
 * A run of registers that is adjacent in memory becomes one access of up to 16 bytes. A mask is a
 * predicate on that one instruction (inline PTX), never a branch; without a mask LLVM's own vector
 * loads and stores are used, which it may schedule freely. */
#include "codegen/gen.h"

#include <stdio.h>
#include <string.h>

/* ---- elements and words ---- */

static LLVMTypeRef int_type(Gen *g, int bits) {
    return LLVMIntTypeInContext(g->c, (unsigned)bits);
}

static LLVMValueRef as_memory(Gen *g, Type t, LLVMValueRef x) { /* pointers as i64, int1 as i8 */
    if (type_is_pointer(t)) return LLVMBuildPtrToInt(g->b, x, g->i64, "");
    return t.elem == EL_I1 ? LLVMBuildZExt(g->b, x, g->i8, "") : x;
}

static LLVMValueRef from_memory(Gen *g, Type t, LLVMValueRef x) {
    if (type_is_pointer(t)) return LLVMBuildIntToPtr(g->b, x, g->ptr, "");
    if (t.elem == EL_I1) return LLVMBuildICmp(g->b, LLVMIntNE, x, LLVMConstNull(g->i8), "");
    return x;
}

static LLVMTypeRef memory_type(Gen *g, Type t) {
    if (type_is_pointer(t)) return g->i64;
    return t.elem == EL_I1 ? g->i8 : gen_elem_type(g, t);
}

/* Two bytes as a word and back: LLVM would send a vector of two bytes through memory. */
static LLVMValueRef pack_bytes(Gen *g, LLVMValueRef low, LLVMValueRef high) {
    low = LLVMBuildZExt(g->b, low, g->i16, "");
    high = LLVMBuildZExt(g->b, high, g->i16, "");
    return LLVMBuildOr(g->b, low, LLVMBuildShl(g->b, high, LLVMConstInt(g->i16, 8, false), ""), "");
}

static LLVMValueRef unpack_byte(Gen *g, LLVMValueRef word, int i) {
    LLVMValueRef by = LLVMConstInt(g->i16, (unsigned)i * 8, false);
    return LLVMBuildTrunc(g->b, LLVMBuildLShr(g->b, word, by, ""), g->i8, "");
}

/* The vector that these are the elements of, in order, as gen_unpack took it apart; NULL: none is.
 */
static LLVMValueRef vector_of(const LLVMValueRef *elem, int n, LLVMTypeRef type) {
    LLVMValueRef v = NULL;
    for (int i = 0; i < n; i++) {
        if (!LLVMIsAExtractElementInst(elem[i])) return NULL;
        LLVMValueRef from = LLVMGetOperand(elem[i], 0), at = LLVMGetOperand(elem[i], 1);
        if (v ? from != v : LLVMTypeOf(from) != type) return NULL;
        if (!LLVMIsAConstantInt(at) || LLVMConstIntGetZExtValue(at) != (unsigned)i) return NULL;
        v = from;
    }
    return v;
}

static LLVMValueRef join(Gen *g, Type t, const LLVMValueRef *elem, int n, LLVMTypeRef vector) {
    LLVMValueRef v = LLVMGetPoison(vector);
    for (int i = 0; i < n; i++)
        v = LLVMBuildInsertElement(g->b, v, as_memory(g, t, elem[i]), gen_i32(g, (uint32_t)i), "");
    return v;
}

void gen_pack(Gen *g, Type t, const LLVMValueRef *elem, int n, int bits, LLVMValueRef *word) {
    int size = type_elem_bytes(t) * 8, per = bits / size;
    for (int w = 0; w * per < n; w++) {
        if (per == 1) {
            word[w] = LLVMBuildBitCast(g->b, as_memory(g, t, elem[w]), int_type(g, bits), "");
            continue;
        }
        if (size == 8 && per == 2) {
            word[w] = pack_bytes(g, as_memory(g, t, elem[w * 2]), as_memory(g, t, elem[w * 2 + 1]));
            continue;
        }
        LLVMTypeRef vector = LLVMVectorType(memory_type(g, t), (unsigned)per);
        LLVMTypeRef type = int_type(g, bits);
        LLVMValueRef v = vector_of(&elem[w * per], per, vector);
        bool whole = v && LLVMIsABitCastInst(v) && LLVMTypeOf(LLVMGetOperand(v, 0)) == type;
        if (!v) v = join(g, t, &elem[w * per], per, vector);
        word[w] = whole ? LLVMGetOperand(v, 0) : LLVMBuildBitCast(g->b, v, type, "");
    }
}

void gen_unpack(Gen *g, Type t, const LLVMValueRef *word, int bits, LLVMValueRef *elem, int n) {
    int size = type_elem_bytes(t) * 8, per = bits / size;
    for (int w = 0; w * per < n; w++) {
        LLVMTypeRef m = memory_type(g, t);
        if (per == 1) {
            elem[w] = from_memory(g, t, LLVMBuildBitCast(g->b, word[w], m, ""));
            continue;
        }
        if (size == 8 && per == 2) {
            for (int i = 0; i < 2; i++)
                elem[w * 2 + i] = from_memory(g, t, unpack_byte(g, word[w], i));
            continue;
        }
        LLVMValueRef v = LLVMBuildBitCast(g->b, word[w], LLVMVectorType(m, (unsigned)per), "");
        for (int i = 0; i < per; i++)
            elem[w * per + i] =
                from_memory(g, t, LLVMBuildExtractElement(g->b, v, gen_i32(g, (uint32_t)i), ""));
    }
}

/* ---- one access ---- */

typedef struct Shape { /* of one access: `words` registers of `bits` */
    int bits, words;
} Shape;

static Shape access_shape(int bytes) {
    if (bytes < 4) return (Shape){bytes * 8, 1};
    return (Shape){32, bytes / 4};
}

static Shape element_shape(Type t, int bytes) { /* 8-byte elements go in 64-bit registers */
    if (type_elem_bytes(t) == 8) return (Shape){64, bytes / 8};
    return access_shape(bytes);
}

static char letter_of(int bits) {
    return bits == 64 ? 'l' : bits == 32 ? 'r' : 'h';
}

/* PTX takes a cache operator or an eviction priority, not both: the operators that are the default
 * give way to a priority, the others win over it. */
static const char *modifier_text(const Op *op) {
    static const char *const cache[] = {"", ".ca", ".cg", ".cs", ".cv", ".wb", ".wt"};
    static const char *const evict[] = {"", ".L1::evict_first", ".L1::evict_last"};
    int64_t c = ir_attr_int(op, AT_CACHE, CACHE_NONE), e = ir_attr_int(op, AT_EVICT, EVICT_NONE);
    bool is_default = c == CACHE_NONE || c == CACHE_CA || c == CACHE_WB;
    return e && is_default ? evict[e] : cache[c];
}

static bool plain(const Op *op) {
    return !ir_attr_int(op, AT_CACHE, CACHE_NONE) && !ir_attr_int(op, AT_EVICT, EVICT_NONE) &&
           !ir_attr_int(op, AT_VOLATILE, 0);
}

static void text_of_access(char *text, size_t size, const Op *op, Shape s, bool load,
                           int first_operand, const char *predicate) {
    char regs[64] = "", vec[16] = "";
    if (s.words > 1) snprintf(vec, sizeof vec, ".v%d", s.words);
    for (int i = 0; i < s.words; i++) {
        char one[16];
        snprintf(one, sizeof one, i ? ", $%d" : "$%d", first_operand + i);
        strcat(regs, one);
    }
    bool is_volatile = ir_attr_int(op, AT_VOLATILE, 0) != 0;
    if (load)
        snprintf(text, size, "%sld%s.global%s%s.b%d %s%s%s, [$%d];", predicate,
                 is_volatile ? ".volatile" : "", is_volatile ? "" : modifier_text(op), vec, s.bits,
                 s.words > 1 ? "{" : "", regs, s.words > 1 ? "}" : "", s.words);
    else
        snprintf(text, size, "%sst.global%s%s.b%d [$0], %s%s%s;", predicate, modifier_text(op), vec,
                 s.bits, s.words > 1 ? "{" : "", regs, s.words > 1 ? "}" : "");
}

/* 8-bit registers do not exist in PTX: bytes travel in 16-bit ones. */
static LLVMTypeRef register_type(Gen *g, int bits) {
    return int_type(g, bits < 16 ? 16 : bits);
}

static LLVMValueRef to_register(Gen *g, LLVMValueRef w, int bits) {
    return bits < 16 ? LLVMBuildZExt(g->b, w, g->i16, "") : w;
}

static LLVMValueRef from_register(Gen *g, LLVMValueRef w, int bits) {
    return bits < 16 ? LLVMBuildTrunc(g->b, w, g->i8, "") : w;
}

static void load_asm(Gen *g, const Op *op, Shape s, LLVMValueRef address, LLVMValueRef mask,
                     const LLVMValueRef *other, LLVMValueRef *word) {
    char text[256], constraints[96] = "", predicate[16] = "";
    LLVMValueRef args[8];
    int n = 0;
    if (mask) snprintf(predicate, sizeof predicate, "@$%d ", s.words + 1);
    text_of_access(text, sizeof text, op, s, true, 0, predicate);
    for (int i = 0; i < s.words; i++) {
        char one[16];
        snprintf(one, sizeof one, "=%c,", letter_of(s.bits));
        strcat(constraints, one);
    }
    strcat(constraints, "l");
    args[n++] = address;
    if (mask) {
        strcat(constraints, ",b");
        args[n++] = mask;
        /* Lanes that are off keep what their registers held: `other`, put there before. */
        for (int i = 0; i < s.words; i++) {
            char one[16];
            snprintf(one, sizeof one, ",%d", i);
            strcat(constraints, one);
            args[n++] =
                other ? to_register(g, other[i], s.bits) : LLVMConstNull(register_type(g, s.bits));
        }
    }
    LLVMTypeRef reg = register_type(g, s.bits), fields[4] = {reg, reg, reg, reg};
    LLVMTypeRef ret =
        s.words == 1 ? reg : LLVMStructTypeInContext(g->c, fields, (unsigned)s.words, 0);
    LLVMValueRef v = gen_asm(g, text, constraints, ret, args, n, ASM_ORDERED);
    for (int i = 0; i < s.words; i++)
        word[i] = from_register(
            g, s.words == 1 ? v : LLVMBuildExtractValue(g->b, v, (unsigned)i, ""), s.bits);
}

static LLVMTypeRef vector_type(Gen *g, Shape s) {
    LLVMTypeRef w = int_type(g, s.bits);
    return s.words == 1 ? w : LLVMVectorType(w, (unsigned)s.words);
}

static void load_plain(Gen *g, Shape s, LLVMValueRef address, LLVMValueRef *word) {
    LLVMValueRef v = LLVMBuildLoad2(g->b, vector_type(g, s), address, "");
    LLVMSetAlignment(v, (unsigned)(s.bits / 8 * s.words));
    for (int i = 0; i < s.words; i++)
        word[i] = s.words == 1 ? v : LLVMBuildExtractElement(g->b, v, gen_i32(g, (uint32_t)i), "");
}

static void store_asm(Gen *g, const Op *op, Shape s, LLVMValueRef address, LLVMValueRef mask,
                      const LLVMValueRef *word) {
    char text[256], constraints[96] = "l", predicate[16] = "";
    LLVMValueRef args[8];
    int n = 0;
    if (mask) snprintf(predicate, sizeof predicate, "@$%d ", s.words + 1);
    text_of_access(text, sizeof text, op, s, false, 1, predicate);
    args[n++] = address;
    for (int i = 0; i < s.words; i++) {
        char one[16];
        snprintf(one, sizeof one, ",%c", letter_of(s.bits));
        strcat(constraints, one);
        args[n++] = to_register(g, word[i], s.bits);
    }
    if (mask) {
        strcat(constraints, ",b");
        args[n++] = mask;
    }
    strcat(constraints, ",~{memory}");
    gen_asm(g, text, constraints, LLVMVoidTypeInContext(g->c), args, n, ASM_ORDERED);
}

static void store_plain(Gen *g, Shape s, LLVMValueRef address, const LLVMValueRef *word) {
    LLVMValueRef v = word[0];
    if (s.words > 1) {
        v = LLVMGetPoison(vector_type(g, s));
        for (int i = 0; i < s.words; i++)
            v = LLVMBuildInsertElement(g->b, v, word[i], gen_i32(g, (uint32_t)i), "");
    }
    LLVMSetAlignment(LLVMBuildStore(g->b, v, address), (unsigned)(s.bits / 8 * s.words));
}

/* ---- tiles ---- */

void gen_load(Gen *g, const Op *op, int from, int count) {
    const Value *r = op->result[0];
    Tile out = gen_tile(g, r), ptr = gen_tile(g, op->operand[0].value), mask = {0}, other = {0};
    if (op->noperands > 1) mask = gen_tile(g, op->operand[1].value);
    if (op->noperands > 2) other = gen_tile(g, op->operand[2].value);
    int n = (int)ir_attr_int(op, AT_VECTOR, 1);
    Shape s = element_shape(r->type, n * type_elem_bytes(r->type));
    uint32_t broadcast = r->layout ? layout_broadcast_bits(r->layout, IN_REG) : 0;
    for (int i = from; i < from + count; i += n) {
        if ((uint32_t)i & broadcast) { /* held already by the register without those bits */
            for (int k = 0; k < n; k++) out.at[i + k] = out.at[(i & (int)~broadcast) + k];
            continue;
        }
        LLVMValueRef word[16], off[16];
        if (other.n) gen_pack(g, r->type, &other.at[i], n, s.bits, off);
        if (mask.n || !plain(op))
            load_asm(g, op, s, ptr.at[i], mask.n ? mask.at[i] : NULL, other.n ? off : NULL, word);
        else
            load_plain(g, s, ptr.at[i], word);
        gen_unpack(g, r->type, word, s.bits, &out.at[i], n);
    }
}

/* LLVM looks for what to merge among all the stores of a block, each with each, which takes seconds
 * for some hundreds. In inline PTX it leaves them alone. */
enum { MANY_STORES = 128 };

void gen_store(Gen *g, const Op *op, int from, int count) {
    const Value *v = op->operand[1].value;
    Tile x = gen_tile(g, v), ptr = gen_tile(g, op->operand[0].value), mask = {0};
    if (op->noperands > 2) mask = gen_tile(g, op->operand[2].value);
    int n = (int)ir_attr_int(op, AT_VECTOR, 1);
    Shape s = element_shape(v->type, n * type_elem_bytes(v->type));
    LLVMValueRef first = gen_owner(g, v); /* one thread writes each element */
    uint32_t broadcast = v->layout ? layout_broadcast_bits(v->layout, IN_REG) : 0;
    for (int i = from; i < from + count; i += n) {
        if ((uint32_t)i & broadcast) continue;
        LLVMValueRef word[16], p = mask.n ? mask.at[i] : NULL;
        if (first) p = p ? LLVMBuildAnd(g->b, p, first, "") : first;
        gen_pack(g, v->type, &x.at[i], n, s.bits, word);
        if (p || !plain(op) || x.n / n >= MANY_STORES)
            store_asm(g, op, s, ptr.at[i], p, word);
        else
            store_plain(g, s, ptr.at[i], word);
    }
}
