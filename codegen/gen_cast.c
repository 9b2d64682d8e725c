/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gen_cast.c: conversions between element types, one register or two at a time.
 *
 * Every conversion rounds once, as the interpreter has it. Where the hardware has no direct way the
 * value goes through an f32 that was rounded to odd: cut toward zero, its last bit set if anything
 * was lost, so that rounding it again to fewer bits gives what rounding the original would have.
 * Floats beyond an integer's range become its nearest end, and NaN 0. */
#include "codegen/gen.h"

/* The register that x is half of, as gen_unpack takes it apart; NULL: there is none. LLVM 22 moves
 * the half to a register of its own first. */
static LLVMValueRef word_of_pair(Gen *g, LLVMValueRef x, bool *upper) {
    if (!LLVMIsAExtractElementInst(x)) return NULL;
    LLVMValueRef pair = LLVMGetOperand(x, 0), at = LLVMGetOperand(x, 1);
    if (!LLVMIsABitCastInst(pair) || !LLVMIsAConstantInt(at)) return NULL;
    LLVMValueRef word = LLVMGetOperand(pair, 0);
    if (LLVMTypeOf(word) != g->i32 || LLVMTypeOf(x) != g->i16) return NULL;
    *upper = LLVMConstIntGetZExtValue(at) == 1;
    return word;
}

/* What bf16 is of an f32. */
static LLVMValueRef upper_half_of_f32(Gen *g, LLVMValueRef bits) {
    LLVMValueRef i = LLVMBuildShl(g->b, bits, gen_i32(g, 16), "");
    return LLVMBuildBitCast(g->b, i, g->f32, "");
}

LLVMValueRef gen_widen(Gen *g, LLVMValueRef x, Type t) {
    if (gen_is_fp8(t)) {
        gen_fp8_widen(g, &x, 1, (Elem)t.elem, &x);
        return LLVMBuildFPExt(g->b, x, g->f32, "");
    }
    if (t.depth || (t.elem != EL_F16 && t.elem != EL_BF16)) return x;
    if (t.elem == EL_F16) return LLVMBuildFPExt(g->b, x, g->f32, "");
    bool upper = false;
    LLVMValueRef i = word_of_pair(g, x, &upper);
    if (!upper) return upper_half_of_f32(g, i ? i : LLVMBuildZExt(g->b, x, g->i32, ""));
    i = LLVMBuildAnd(g->b, i, gen_i32(g, 0xffff0000), "");
    return LLVMBuildBitCast(g->b, i, g->f32, "");
}

/* For a cast, whose result may be needed late: where LLVM has moved the half to a register of its
 * own, ptxas keeps fewer. Liger-Kernel's GeGLU with 16 warps: 63 registers, two programs on an SM
 * of an H200; 72 and one otherwise, which is 16 % slower. */
static LLVMValueRef widen_for_cast(Gen *g, LLVMValueRef x, Type t) {
    if (t.depth || t.elem != EL_BF16) return gen_widen(g, x, t);
    return upper_half_of_f32(g, LLVMBuildZExt(g->b, x, g->i32, ""));
}

LLVMValueRef gen_narrow(Gen *g, LLVMValueRef x, Type t) {
    if (gen_is_fp8(t)) {
        gen_fp8_narrow(g, &x, 1, (Elem)t.elem, false, &x);
        return x;
    }
    if (t.depth || (t.elem != EL_F16 && t.elem != EL_BF16)) return x;
    if (t.elem == EL_F16) return LLVMBuildFPTrunc(g->b, x, g->f16, "");
    return LLVMBuildBitCast(g->b, LLVMBuildFPTrunc(g->b, x, g->bf16, ""), g->i16, "");
}

static LLVMValueRef convert_asm(Gen *g, const char *text, const char *constraints, LLVMTypeRef to,
                                LLVMValueRef x) {
    return gen_asm(g, text, constraints, to, &x, 1, ASM_PURE);
}

/* x, an f64 or an integer of 32 or 64 bits, as an f32 rounded to odd. */
static LLVMValueRef to_odd_f32(Gen *g, LLVMValueRef x, bool is_signed) {
    LLVMTypeRef t = LLVMTypeOf(x);
    LLVMValueRef near, lost;
    if (t == g->f64) {
        near = convert_asm(g, "cvt.rz.f32.f64 $0, $1;", "=f,d", g->f32, x);
        lost = LLVMBuildFCmp(g->b, LLVMRealUNE, LLVMBuildFPExt(g->b, near, g->f64, ""), x, "");
    } else {
        static const char *const there[2][2] = {
            {"cvt.rz.f32.u32 $0, $1;", "cvt.rz.f32.s32 $0, $1;"},
            {"cvt.rz.f32.u64 $0, $1;", "cvt.rz.f32.s64 $0, $1;"}};
        static const char *const back[2][2] = {
            {"cvt.rzi.u32.f32 $0, $1;", "cvt.rzi.s32.f32 $0, $1;"},
            {"cvt.rzi.u64.f32 $0, $1;", "cvt.rzi.s64.f32 $0, $1;"}};
        bool wide = t == g->i64;
        near = convert_asm(g, there[wide][is_signed], wide ? "=f,l" : "=f,r", g->f32, x);
        LLVMValueRef again = convert_asm(g, back[wide][is_signed], wide ? "=l,f" : "=r,f", t, near);
        lost = LLVMBuildICmp(g->b, LLVMIntNE, again, x, "");
    }
    LLVMValueRef bits = LLVMBuildBitCast(g->b, near, g->i32, "");
    bits = LLVMBuildOr(g->b, bits, LLVMBuildZExt(g->b, lost, g->i32, ""), "");
    return LLVMBuildBitCast(g->b, bits, g->f32, "");
}

static LLVMValueRef float_to_float(Gen *g, LLVMValueRef x, Type from, Type to, bool rtz) {
    LLVMBuilderRef b = g->b;
    LLVMTypeRef t = gen_elem_type(g, to);
    if (gen_is_fp8(from) && to.elem == EL_F16) {
        gen_fp8_widen(g, &x, 1, (Elem)from.elem, &x);
        return x;
    }
    LLVMValueRef w = widen_for_cast(g, x, from);
    if (to.elem == EL_F64) return LLVMBuildFPExt(b, w, t, "");
    bool wide = from.elem == EL_F64;
    if (wide && rtz) {
        w = convert_asm(g, "cvt.rz.f32.f64 $0, $1;", "=f,d", g->f32, w);
    } else if (wide) {
        if (to.elem == EL_F32 || to.elem == EL_F16) return LLVMBuildFPTrunc(b, w, t, "");
        w = to_odd_f32(g, w, true);
    }
    if (to.elem == EL_F32) return w;
    if (gen_is_fp8(to)) {
        gen_fp8_narrow(g, &w, 1, (Elem)to.elem, rtz, &w);
        return w;
    }
    if (!rtz) return gen_narrow(g, w, to);
    if (to.elem == EL_F16)
        return LLVMBuildBitCast(b, convert_asm(g, "cvt.rz.f16.f32 $0, $1;", "=h,f", g->i16, w), t,
                                "");
    return convert_asm(g, "cvt.rz.bf16.f32 $0, $1;", "=h,f", t, w);
}

/* The hardware's conversions to 32 and 64 bits stop at the ends by themselves; smaller integers are
 * brought to their ends from there. */
static LLVMValueRef float_to_int(Gen *g, LLVMValueRef x, Type from, Type to) {
    static const char *const texts[2][2][2] = {
        {{"cvt.rzi.u32.f32 $0, $1;", "cvt.rzi.s32.f32 $0, $1;"},
         {"cvt.rzi.u64.f32 $0, $1;", "cvt.rzi.s64.f32 $0, $1;"}},
        {{"cvt.rzi.u32.f64 $0, $1;", "cvt.rzi.s32.f64 $0, $1;"},
         {"cvt.rzi.u64.f64 $0, $1;", "cvt.rzi.s64.f64 $0, $1;"}}};
    static const char *const constraints[2][2] = {{"=r,f", "=l,f"}, {"=r,d", "=l,d"}};
    LLVMBuilderRef b = g->b;
    int bits = elem_info[to.elem].bits;
    bool is_signed = type_is_signed(to), wide = bits == 64, from_f64 = from.elem == EL_F64;
    LLVMValueRef w = widen_for_cast(g, x, from);
    LLVMTypeRef t = wide ? g->i64 : g->i32;
    LLVMValueRef v =
        convert_asm(g, texts[from_f64][wide][is_signed], constraints[from_f64][wide], t, w);
    /* The conversions of 64 bits or from f64 may make another number of a NaN than 0. */
    if (wide || from_f64) {
        LLVMValueRef nan = LLVMBuildFCmp(b, LLVMRealUNO, w, w, "");
        v = LLVMBuildSelect(b, nan, LLVMConstNull(t), v, "");
    }
    if (bits >= 32) return v;
    uint32_t top = ((uint32_t)1 << (bits - is_signed)) - 1;
    LLVMValueRef hi = gen_i32(g, top), lo = gen_i32(g, ~top);
    LLVMIntPredicate less = is_signed ? LLVMIntSLT : LLVMIntULT;
    v = LLVMBuildSelect(b, LLVMBuildICmp(b, less, v, hi, ""), v, hi, "");
    if (is_signed) v = LLVMBuildSelect(b, LLVMBuildICmp(b, less, v, lo, ""), lo, v, "");
    return LLVMBuildTrunc(b, v, gen_elem_type(g, to), "");
}

static LLVMValueRef int_to_float(Gen *g, LLVMValueRef x, Type from, Type to) {
    LLVMBuilderRef b = g->b;
    bool is_signed = type_is_signed(from);
    if (to.elem != EL_BF16 && !gen_is_fp8(to)) {
        LLVMTypeRef t = gen_elem_type(g, to);
        return is_signed ? LLVMBuildSIToFP(b, x, t, "") : LLVMBuildUIToFP(b, x, t, "");
    }
    LLVMValueRef f; /* an f32 has room for 16 bits and, rounded to odd, stands for more */
    if (elem_info[from.elem].bits <= 16)
        f = is_signed ? LLVMBuildSIToFP(b, x, g->f32, "") : LLVMBuildUIToFP(b, x, g->f32, "");
    else
        f = to_odd_f32(g, x, is_signed);
    return gen_narrow(g, f, to);
}

LLVMValueRef gen_convert(Gen *g, LLVMValueRef x, Type from, Type to, bool rtz) {
    LLVMBuilderRef b = g->b;
    LLVMTypeRef t = gen_elem_type(g, to);
    if (from.depth || to.depth) {
        if (from.depth && to.depth) return x;
        return from.depth ? LLVMBuildPtrToInt(b, x, t, "") : LLVMBuildIntToPtr(b, x, t, "");
    }
    if (from.elem == to.elem) return x;
    bool ff = type_is_float(from), tf = type_is_float(to);
    if (type_is_bool(to)) {
        if (ff)
            return LLVMBuildFCmp(b, LLVMRealUNE, gen_widen(g, x, from),
                                 LLVMConstNull(from.elem == EL_F64 ? g->f64 : g->f32), "");
        return LLVMBuildICmp(b, LLVMIntNE, x, LLVMConstNull(LLVMTypeOf(x)), "");
    }
    if (ff && tf) return float_to_float(g, x, from, to, rtz);
    if (ff) return float_to_int(g, x, from, to);
    if (tf) return int_to_float(g, x, from, to);
    if (elem_info[to.elem].bits < elem_info[from.elem].bits) return LLVMBuildTrunc(b, x, t, "");
    if (elem_info[to.elem].bits == elem_info[from.elem].bits) return x;
    return type_is_signed(from) ? LLVMBuildSExt(b, x, t, "") : LLVMBuildZExt(b, x, t, "");
}

/* Two f32 at once to a register of two f16 or bf16: one instruction and no packing after it. */
static void narrow_pair(Gen *g, Elem to, const LLVMValueRef *in, LLVMValueRef *out) {
    LLVMValueRef x[] = {in[1], in[0]};
    LLVMTypeRef pair = LLVMVectorType(gen_elem_type(g, type_scalar(to)), 2);
    LLVMValueRef v =
        gen_intrinsic(g, to == EL_F16 ? INTRINSIC_F16_PAIR : INTRINSIC_BF16_PAIR, NULL, 0, x, 2);
    if (LLVMTypeOf(v) != pair) v = LLVMBuildBitCast(g->b, v, pair, "");
    for (uint32_t k = 0; k < 2; k++) out[k] = LLVMBuildExtractElement(g->b, v, gen_i32(g, k), "");
}

/* Pairs of fp8 are what its instructions take: from or to f32, and the last step alone. */
static void convert_fp8(Gen *g, Tile in, Tile out, Type from, Type to, bool rtz) {
    Type middle = type_scalar(gen_is_fp8(from) ? EL_F16 : EL_F32);
    for (int i = 0; i < out.n; i += 2) {
        int n = out.n - i < 2 ? 1 : 2;
        LLVMValueRef x[2];
        if (gen_is_fp8(from)) {
            gen_fp8_widen(g, &in.at[i], n, (Elem)from.elem, x);
            for (int k = 0; k < n; k++) out.at[i + k] = gen_convert(g, x[k], middle, to, rtz);
        } else {
            for (int k = 0; k < n; k++) x[k] = gen_convert(g, in.at[i + k], from, middle, rtz);
            gen_fp8_narrow(g, x, n, (Elem)to.elem, rtz, &out.at[i]);
        }
    }
}

void gen_cast(Gen *g, const Op *op, int first, int n) {
    Type from = op->operand[0].value->type, to = op->result[0]->type;
    Tile in = gen_tile(g, op->operand[0].value), out = gen_tile(g, op->result[0]);
    in = (Tile){in.at + first, n};
    out = (Tile){out.at + first, n};
    bool rtz = ir_attr_int(op, AT_RTZ, 0) != 0, plain = !from.depth && !to.depth;
    bool small_from = from.elem == EL_F32 || from.elem == EL_F16 || from.elem == EL_BF16;
    bool fp8 =
        plain && from.elem != to.elem && (gen_is_fp8(from) || (gen_is_fp8(to) && small_from));
    if (fp8) {
        convert_fp8(g, in, out, from, to, rtz);
        return;
    }
    bool pairs = plain && from.elem == EL_F32 && !rtz && out.n % 2 == 0 &&
                 (to.elem == EL_F16 || to.elem == EL_BF16);
    for (int i = 0; i < out.n; i += pairs ? 2 : 1) {
        if (pairs)
            narrow_pair(g, (Elem)to.elem, &in.at[i], &out.at[i]);
        else
            out.at[i] = gen_convert(g, in.at[i], from, to, rtz);
    }
}
