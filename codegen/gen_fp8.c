/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gen_fp8.c: fp8 to wider floats and back, one element or a pair at a time.
 *
 * Where the GPU has the conversions they come two at a time, as PTX; elsewhere they are a few
 * integer instructions with the same results: rounded once, to nearest even or toward zero, with
 * numbers beyond the largest becoming the largest. The one trick: adding a power of two whose last
 * place is the format's smallest number rounds what is below the normal numbers. */
#include "codegen/gen.h"

typedef struct Format {
    int fraction, bias;
    uint32_t max; /* bits of the largest number */
} Format;

enum { NAN_BITS = 0x7f, F32_FRACTION = 23, F32_BIAS = 127 };

static Format format_of(Elem e) {
    return e == EL_F8E4M3 ? (Format){3, 7, 0x7e} : (Format){2, 15, 0x7b};
}

static LLVMValueRef f32_of_bits(Gen *g, uint32_t bits) {
    return LLVMConstBitCast(gen_i32(g, bits), g->f32);
}

static LLVMValueRef select(Gen *g, LLVMValueRef p, LLVMValueRef x, LLVMValueRef y) {
    return LLVMBuildSelect(g->b, p, x, y, "");
}

/* ---- by integer instructions ---- */

static LLVMValueRef soft_narrow(Gen *g, LLVMValueRef x, Elem e, bool rtz) {
    LLVMBuilderRef b = g->b;
    Format f = format_of(e);
    uint32_t shift = (uint32_t)(F32_FRACTION - f.fraction);
    uint32_t down = (uint32_t)(F32_BIAS - f.bias);
    LLVMValueRef u = LLVMBuildBitCast(b, x, g->i32, "");
    LLVMValueRef sign =
        LLVMBuildAnd(b, LLVMBuildLShr(b, u, gen_i32(g, 24), ""), gen_i32(g, 0x80), "");
    LLVMValueRef size = LLVMBuildAnd(b, u, gen_i32(g, 0x7fffffff), "");
    /* Normal numbers: half a last place, less one where the number is even, and cut. */
    LLVMValueRef near = size;
    if (!rtz) {
        LLVMValueRef odd = LLVMBuildLShr(b, size, gen_i32(g, shift), "");
        odd = LLVMBuildAnd(b, odd, gen_i32(g, 1), "");
        near = LLVMBuildAdd(b, size, gen_i32(g, (1u << (shift - 1)) - 1), "");
        near = LLVMBuildAdd(b, near, odd, "");
    }
    near = LLVMBuildLShr(b, near, gen_i32(g, shift), "");
    near = LLVMBuildSub(b, near, gen_i32(g, down << f.fraction), "");
    /* Below them: their number is what the sum with the power of two has in its fraction. */
    uint32_t power = (uint32_t)(F32_BIAS + 1 - f.bias - f.fraction + F32_FRACTION) << F32_FRACTION;
    LLVMValueRef args[] = {LLVMBuildBitCast(b, size, g->f32, ""), f32_of_bits(g, power)};
    LLVMValueRef sum =
        rtz ? gen_asm(g, "add.rz.f32 $0, $1, $2;", "=f,f,f", g->f32, args, 2, ASM_PURE)
            : LLVMBuildFAdd(b, args[0], args[1], "");
    LLVMValueRef count =
        LLVMBuildSub(b, LLVMBuildBitCast(b, sum, g->i32, ""), gen_i32(g, power), "");
    LLVMValueRef least = gen_i32(g, (down + 1) << F32_FRACTION), max = gen_i32(g, f.max);
    LLVMValueRef v = select(g, LLVMBuildICmp(b, LLVMIntULT, size, least, ""), count, near);
    v = select(g, LLVMBuildICmp(b, LLVMIntULT, v, max, ""), v, max);
    v = LLVMBuildOr(b, v, sign, "");
    LLVMValueRef nan = LLVMBuildICmp(b, LLVMIntUGT, size, gen_i32(g, 0x7f800000), "");
    return LLVMBuildTrunc(b, select(g, nan, gen_i32(g, NAN_BITS), v), g->i8, "");
}

/* To f16, which holds every fp8 number. e5m2 is the upper half of one; e4m3 has a bit of exponent
 * less, and a multiplication mends the bias, also below the normal numbers. */
static LLVMValueRef soft_widen(Gen *g, LLVMValueRef x, Elem e) {
    LLVMBuilderRef b = g->b;
    LLVMValueRef u = LLVMBuildZExt(b, x, g->i16, ""), eight = LLVMConstInt(g->i16, 8, 0);
    u = LLVMBuildShl(b, u, eight, "");
    if (e == EL_F8E5M2) return LLVMBuildBitCast(b, u, g->f16, "");
    LLVMValueRef sign = LLVMBuildAnd(b, u, LLVMConstInt(g->i16, 0x8000, 0), "");
    LLVMValueRef size = LLVMBuildAnd(b, u, LLVMConstInt(g->i16, 0x7f00, 0), "");
    LLVMValueRef nan =
        LLVMBuildICmp(b, LLVMIntEQ, size, LLVMConstInt(g->i16, NAN_BITS << 8, 0), "");
    size = LLVMBuildLShr(b, size, LLVMConstInt(g->i16, 1, 0), "");
    LLVMValueRef v =
        LLVMBuildFMul(b, LLVMBuildBitCast(b, size, g->f16, ""), LLVMConstReal(g->f16, 256.0), "");
    v = LLVMBuildBitCast(b, v, g->i16, "");
    v = select(g, nan, LLVMConstInt(g->i16, 0x7fff, 0), v);
    return LLVMBuildBitCast(b, LLVMBuildOr(b, v, sign, ""), g->f16, "");
}

/* fp8e4b15 was made for this: an fp16 without the upper bit of its exponent, with which no number
 * is larger than 2. No GPU has it, every GPU does it in a few instructions (number.h says how). */
static LLVMValueRef widen_e4b15(Gen *g, LLVMValueRef x) {
    LLVMBuilderRef b = g->b;
    LLVMValueRef u = LLVMBuildZExt(b, x, g->i32, "");
    LLVMValueRef sign =
        LLVMBuildAnd(b, LLVMBuildShl(b, u, gen_i32(g, 8), ""), gen_i32(g, 0x8000), "");
    LLVMValueRef size =
        LLVMBuildAnd(b, LLVMBuildShl(b, u, gen_i32(g, 7), ""), gen_i32(g, 0x3f80), "");
    u = LLVMBuildTrunc(b, LLVMBuildOr(b, sign, size, ""), g->i16, "");
    return LLVMBuildBitCast(b, u, g->f16, "");
}

static LLVMValueRef narrow_e4b15(Gen *g, LLVMValueRef x) {
    LLVMBuilderRef b = g->b;
    LLVMValueRef u = gen_asm(g, "cvt.rz.f16.f32 $0, $1;", "=h,f", g->i16, &x, 1, ASM_PURE);
    u = LLVMBuildZExt(b, u, g->i32, "");
    LLVMValueRef most = gen_i32(g, 0x3f00), size = LLVMBuildAnd(b, u, gen_i32(g, 0x7fff), "");
    size = select(g, LLVMBuildICmp(b, LLVMIntULT, size, most, ""), size, most);
    size = LLVMBuildLShr(b, LLVMBuildAdd(b, size, gen_i32(g, 0x40), ""), gen_i32(g, 7), "");
    LLVMValueRef sign =
        LLVMBuildAnd(b, LLVMBuildLShr(b, u, gen_i32(g, 8), ""), gen_i32(g, 0x80), "");
    return LLVMBuildTrunc(b, LLVMBuildOr(b, sign, size, ""), g->i8, "");
}

/* ---- by the hardware, in pairs ---- */

static const char *hard_widen_text(Elem e) {
    return e == EL_F8E4M3 ? "cvt.rn.f16x2.e4m3x2 $0, $1;" : "cvt.rn.f16x2.e5m2x2 $0, $1;";
}

static const char *hard_narrow_text(Elem e) {
    return e == EL_F8E4M3 ? "cvt.rn.satfinite.e4m3x2.f32 $0, $1, $2;"
                          : "cvt.rn.satfinite.e5m2x2.f32 $0, $1, $2;";
}

static void hard_widen(Gen *g, const LLVMValueRef *x, int n, Elem e, LLVMValueRef *out) {
    LLVMValueRef v = LLVMBuildZExt(g->b, x[0], g->i16, "");
    if (n > 1) {
        LLVMValueRef high = LLVMBuildZExt(g->b, x[1], g->i16, "");
        high = LLVMBuildShl(g->b, high, LLVMConstInt(g->i16, 8, 0), "");
        v = LLVMBuildOr(g->b, v, high, "");
    }
    v = gen_asm(g, hard_widen_text(e), "=r,h", g->i32, &v, 1, ASM_PURE);
    v = LLVMBuildBitCast(g->b, v, LLVMVectorType(g->f16, 2), "");
    for (int i = 0; i < n; i++)
        out[i] = LLVMBuildExtractElement(g->b, v, gen_i32(g, (uint32_t)i), "");
}

static void hard_narrow(Gen *g, const LLVMValueRef *x, int n, Elem e, LLVMValueRef *out) {
    LLVMValueRef args[] = {n > 1 ? x[1] : LLVMConstNull(g->f32), x[0]}; /* the upper half first */
    LLVMValueRef v = gen_asm(g, hard_narrow_text(e), "=h,f,f", g->i16, args, 2, ASM_PURE);
    out[0] = LLVMBuildTrunc(g->b, v, g->i8, "");
    if (n < 2) return;
    v = LLVMBuildLShr(g->b, v, LLVMConstInt(g->i16, 8, 0), "");
    out[1] = LLVMBuildTrunc(g->b, v, g->i8, "");
}

/* ---- whole tiles ---- */

bool gen_is_fp8(Type t) {
    return !t.depth && elem_is_fp8((Elem)t.elem);
}

void gen_fp8_widen(Gen *g, const LLVMValueRef *x, int n, Elem e, LLVMValueRef *out) {
    for (int i = 0; i < n; i += 2) {
        if (g->o->target->fp8_cvt && e != EL_F8E4B15) {
            hard_widen(g, x + i, n - i < 2 ? 1 : 2, e, out + i);
            continue;
        }
        for (int k = i; k < i + 2 && k < n; k++)
            out[k] = e == EL_F8E4B15 ? widen_e4b15(g, x[k]) : soft_widen(g, x[k], e);
    }
}

void gen_fp8_narrow(Gen *g, const LLVMValueRef *x, int n, Elem e, bool rtz, LLVMValueRef *out) {
    for (int i = 0; i < n; i += 2) {
        if (g->o->target->fp8_cvt && e != EL_F8E4B15 && !rtz) {
            hard_narrow(g, x + i, n - i < 2 ? 1 : 2, e, out + i);
            continue;
        }
        for (int k = i; k < i + 2 && k < n; k++)
            out[k] = e == EL_F8E4B15 ? narrow_e4b15(g, x[k]) : soft_narrow(g, x[k], e, rtz);
    }
}
