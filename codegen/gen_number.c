/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gen_number.c: constants, arithmetic and comparisons, one register at a time.
 *
 * What computes in 16 bits takes two registers at once. Rounding follows the interpreter (one
 * rounding to the element type per op), but for what ops.def leaves to the GPU: fp32 division and
 * functions are the hardware's approximations, and a multiply and an add may be contracted, as
 * Triton does. */
#include "codegen/gen.h"

#include <stdio.h>
#include <string.h>

LLVMValueRef gen_const(Gen *g, Type t, int64_t bits) {
    LLVMTypeRef type = gen_elem_type(g, t);
    if (type_is_pointer(t)) return LLVMConstNull(type);
    LLVMTypeRef as = LLVMIntTypeInContext(g->c, (unsigned)elem_info[t.elem].bits);
    LLVMValueRef v = LLVMConstInt(as, (uint64_t)bits, 0);
    return as == type ? v : LLVMConstBitCast(v, type);
}

static LLVMValueRef contract(const Gen *g, LLVMValueRef v) {
    if (!g->f->no_fp_fusion && LLVMIsAInstruction(v))
        LLVMSetFastMathFlags(v, LLVMFastMathAllowContract);
    return v;
}

static LLVMValueRef float_intrinsic(Gen *g, Intrinsic which, LLVMValueRef *args, int n) {
    LLVMTypeRef t = LLVMTypeOf(args[0]);
    return gen_intrinsic(g, which, &t, 1, args, n);
}

static LLVMValueRef asm_f32(Gen *g, const char *text, LLVMValueRef *args, int n) {
    return gen_asm(g, text, n == 2 ? "=f,f,f" : "=f,f", g->f32, args, n, ASM_PURE);
}

/* x and y are f16, two of them, f32 or f64 (bf16 comes widened). NULL: there is no code for it. */
static LLVMValueRef float_binary(Gen *g, const Op *op, LLVMValueRef x, LLVMValueRef y) {
    LLVMValueRef xy[] = {x, y};
    bool nan = ir_attr_int(op, AT_NAN, 0) != 0;
    switch (op->code) {
    case OP_ADD: return contract(g, LLVMBuildFAdd(g->b, x, y, ""));
    case OP_SUB: return contract(g, LLVMBuildFSub(g->b, x, y, ""));
    case OP_MUL: return contract(g, LLVMBuildFMul(g->b, x, y, ""));
    case OP_DIV:
        if (LLVMTypeOf(x) == g->f32) return asm_f32(g, "div.full.f32 $0, $1, $2;", xy, 2);
        return LLVMBuildFDiv(g->b, x, y, "");
    case OP_DIV_RN: return LLVMBuildFDiv(g->b, x, y, "");
    case OP_REM: return LLVMBuildFRem(g->b, x, y, "");
    case OP_MIN: return float_intrinsic(g, nan ? INTRINSIC_MINIMUM : INTRINSIC_MINNUM, xy, 2);
    case OP_MAX: return float_intrinsic(g, nan ? INTRINSIC_MAXIMUM : INTRINSIC_MAXNUM, xy, 2);
    default: return NULL;
    }
}

static LLVMValueRef umulhi(Gen *g, LLVMValueRef x, LLVMValueRef y) {
    unsigned bits = LLVMGetIntTypeWidth(LLVMTypeOf(x));
    LLVMTypeRef wide = LLVMIntTypeInContext(g->c, bits * 2);
    LLVMValueRef p =
        LLVMBuildMul(g->b, LLVMBuildZExt(g->b, x, wide, ""), LLVMBuildZExt(g->b, y, wide, ""), "");
    p = LLVMBuildLShr(g->b, p, LLVMConstInt(wide, bits, 0), "");
    return LLVMBuildTrunc(g->b, p, LLVMTypeOf(x), "");
}

/* PTX shifts by the width or more give 0 or the sign; LLVM's are undefined there. */
static LLVMValueRef shift(Gen *g, LLVMOpcode code, LLVMValueRef x, LLVMValueRef y) {
    LLVMTypeRef t = LLVMTypeOf(x);
    unsigned bits = LLVMGetIntTypeWidth(t);
    LLVMValueRef width = LLVMConstInt(t, bits, 0), last = LLVMConstInt(t, bits - 1, 0);
    LLVMValueRef in = LLVMBuildICmp(g->b, LLVMIntULT, y, width, "");
    LLVMValueRef by = LLVMBuildSelect(g->b, in, y, last, "");
    LLVMValueRef v = LLVMBuildBinOp(g->b, code, x, by, "");
    return code == LLVMAShr ? v : LLVMBuildSelect(g->b, in, v, LLVMConstNull(t), "");
}

/* The power of two above 1 that a scalar divisor is at most, since it is the smaller of that and
 * something; 0: it is no such. */
static int64_t largest_divisor(const Op *op) {
    const Value *y = op->operand[1].value;
    int64_t most = 0;
    if (!op_is(y, OP_MIN) || y->type.rank || type_elem_bits(y->type) < 32) return 0;
    for (int i = 0; i < 2 && !most; i++) ir_int_constant(y->def->operand[i].value, &most);
    return most > 1 && !(most & (most - 1)) ? most : 0;
}

/* The remainder beside a quotient is made of it, whichever comes first. */
static bool divides_alike(const Op *op, const Op *other) {
    return other && other->block == op->block && other->operand[0].value == op->operand[0].value &&
           other->operand[1].value == op->operand[1].value;
}

/* x / y, by shifts where y is that power of two: programs that are ordered in groups of so many
 * rows, of which the last one may have fewer, divide by it, and a division takes 100 clocks. */
static LLVMValueRef quotient_by_most(Gen *g, const Op *op, LLVMValueRef x, LLVMValueRef y) {
    LLVMValueRef most = LLVMConstInt(LLVMTypeOf(y), (uint64_t)largest_divisor(op), 0), q[2];
    LLVMBasicBlockRef block[3];
    if (divides_alike(op, g->divided.op)) return g->divided.q;
    for (int i = 0; i < 3; i++)
        block[i] = LLVMAppendBasicBlockInContext(g->c, g->func, i < 2 ? "divide" : "divided");
    LLVMBuildCondBr(g->b, LLVMBuildICmp(g->b, LLVMIntEQ, y, most, ""), block[0], block[1]);
    for (int i = 0; i < 2; i++) {
        LLVMPositionBuilderAtEnd(g->b, block[i]);
        q[i] = type_is_signed(op->result[0]->type) ? LLVMBuildSDiv(g->b, x, i ? y : most, "")
                                                   : LLVMBuildUDiv(g->b, x, i ? y : most, "");
        LLVMBuildBr(g->b, block[2]);
    }
    LLVMPositionBuilderAtEnd(g->b, block[2]);
    LLVMValueRef phi = LLVMBuildPhi(g->b, LLVMTypeOf(x), "");
    LLVMAddIncoming(phi, q, block, 2);
    g->divided.op = op;
    g->divided.q = phi;
    return phi;
}

static LLVMValueRef int_binary(Gen *g, const Op *op, Type t, LLVMValueRef x, LLVMValueRef y) {
    bool is_signed = type_is_signed(t);
    LLVMValueRef less;
    if ((op->code == OP_DIV || op->code == OP_REM) && largest_divisor(op)) {
        LLVMValueRef q = quotient_by_most(g, op, x, y);
        return op->code == OP_DIV ? q : LLVMBuildSub(g->b, x, LLVMBuildMul(g->b, q, y, ""), "");
    }
    switch (op->code) {
    case OP_ADD: return LLVMBuildAdd(g->b, x, y, "");
    case OP_SUB: return LLVMBuildSub(g->b, x, y, "");
    case OP_MUL: return LLVMBuildMul(g->b, x, y, "");
    case OP_DIV: return is_signed ? LLVMBuildSDiv(g->b, x, y, "") : LLVMBuildUDiv(g->b, x, y, "");
    case OP_REM: return is_signed ? LLVMBuildSRem(g->b, x, y, "") : LLVMBuildURem(g->b, x, y, "");
    case OP_AND: return LLVMBuildAnd(g->b, x, y, "");
    case OP_OR: return LLVMBuildOr(g->b, x, y, "");
    case OP_XOR: return LLVMBuildXor(g->b, x, y, "");
    case OP_SHL: return shift(g, LLVMShl, x, y);
    case OP_SHR: return shift(g, is_signed ? LLVMAShr : LLVMLShr, x, y);
    case OP_UMULHI: return umulhi(g, x, y);
    case OP_MIN:
    case OP_MAX:
        less = LLVMBuildICmp(g->b, is_signed ? LLVMIntSLT : LLVMIntULT, x, y, "");
        return op->code == OP_MIN ? LLVMBuildSelect(g->b, less, x, y, "")
                                  : LLVMBuildSelect(g->b, less, y, x, "");
    default: return NULL;
    }
}

static LLVMValueRef compare(Gen *g, const Op *op, Type t, LLVMValueRef x, LLVMValueRef y) {
    static const LLVMIntPredicate ints[] = {LLVMIntEQ,  LLVMIntNE,  LLVMIntSLT,
                                            LLVMIntSLE, LLVMIntSGT, LLVMIntSGE};
    static const LLVMIntPredicate uints[] = {LLVMIntEQ,  LLVMIntNE,  LLVMIntULT,
                                             LLVMIntULE, LLVMIntUGT, LLVMIntUGE};
    static const LLVMRealPredicate reals[] = {LLVMRealOEQ, LLVMRealUNE, LLVMRealOLT,
                                              LLVMRealOLE, LLVMRealOGT, LLVMRealOGE};
    int64_t p = ir_attr_int(op, AT_PRED, PRED_EQ);
    if (type_is_float(t))
        return LLVMBuildFCmp(g->b, reals[p], gen_widen(g, x, t), gen_widen(g, y, t), "");
    return LLVMBuildICmp(g->b, type_is_signed(t) ? ints[p] : uints[p], x, y, "");
}

static LLVMValueRef unary(Gen *g, const Op *op, Type t, LLVMValueRef x) {
    if (type_is_float(t)) { /* the sign bit alone, in any format */
        unsigned bits = (unsigned)elem_info[t.elem].bits;
        LLVMTypeRef as = LLVMIntTypeInContext(g->c, bits);
        LLVMValueRef sign = LLVMConstInt(as, (uint64_t)1 << (bits - 1), 0);
        if (t.elem == EL_F32 || t.elem == EL_F64)
            return op->code == OP_NEG ? LLVMBuildFNeg(g->b, x, "")
                                      : float_intrinsic(g, INTRINSIC_FABS, &x, 1);
        LLVMValueRef i = LLVMBuildBitCast(g->b, x, as, "");
        i = op->code == OP_NEG ? LLVMBuildXor(g->b, i, sign, "")
                               : LLVMBuildAnd(g->b, i, LLVMConstNot(sign), "");
        return LLVMBuildBitCast(g->b, i, LLVMTypeOf(x), "");
    }
    LLVMValueRef minus = LLVMBuildNeg(g->b, x, "");
    if (op->code == OP_NEG) return minus;
    if (!type_is_signed(t)) return x;
    LLVMValueRef below = LLVMBuildICmp(g->b, LLVMIntSLT, x, LLVMConstNull(LLVMTypeOf(x)), "");
    return LLVMBuildSelect(g->b, below, minus, x, "");
}

static LLVMValueRef add_pointer(Gen *g, const Op *op, LLVMValueRef p, LLVMValueRef i) {
    Type ptr = op->operand[0].value->type, off = op->operand[1].value->type;
    if (LLVMTypeOf(i) != g->i64)
        i = type_is_signed(off) ? LLVMBuildSExt(g->b, i, g->i64, "")
                                : LLVMBuildZExt(g->b, i, g->i64, "");
    int bytes = type_elem_bytes(type_element(type_pointee(ptr)));
    if (ir_attr_int(op, AT_BYTES, 0)) bytes = 1;
    LLVMTypeRef step = LLVMIntTypeInContext(g->c, (unsigned)bytes * 8);
    return LLVMBuildGEP2(g->b, step, p, &i, 1, "");
}

/* Arithmetic that 16-bit floats have instructions for, of one element or two. */
static bool computes_in_16_bits(const Op *op, Type t) {
    if (t.depth || (t.elem != EL_F16 && t.elem != EL_BF16)) return false;
    switch (op->code) {
    case OP_ADD:
    case OP_SUB:
    case OP_MUL:
    case OP_FMA:
    case OP_MIN:
    case OP_MAX: return true;
    default: return false;
    }
}

/* Sums and products by fma, which every GPU has that has bf16 at all: it rounds once, a product
 * with 1 is exact, and adding -0 keeps a zero's sign. x are i16, or i32 of two. Inline PTX is not
 * contracted.
 */
static LLVMValueRef bf16_arithmetic(Gen *g, const Op *op, LLVMValueRef *x, int n, bool two) {
    static const struct {
        OpCode code;
        const char *constant, *operands;
    } form[] = {{OP_ADD, "3f80", "$1, c, $2"},
                {OP_SUB, "bf80", "$2, c, $1"},
                {OP_MUL, "8000", "$1, $2, c"},
                {OP_FMA, "8000", "$1, $2, $3"}};
    char text[128];
    if (op->code == OP_MIN || op->code == OP_MAX) {
        snprintf(text, sizeof text, "%s%s.bf16%s $0, $1, $2;", op->code == OP_MIN ? "min" : "max",
                 ir_attr_int(op, AT_NAN, 0) ? ".NaN" : "", two ? "x2" : "");
    } else {
        int k = 0;
        while (form[k].code != op->code) k++;
        const char *c = form[k].constant;
        snprintf(text, sizeof text, "{ .reg .b%d c; mov.b%d c, 0x%s%s; fma.rn.bf16%s $0, %s; }",
                 two ? 32 : 16, two ? 32 : 16, c, two ? c : "", two ? "x2" : "", form[k].operands);
    }
    static const char *const constraints[2][2] = {{"=h,h,h", "=h,h,h,h"}, {"=r,r,r", "=r,r,r,r"}};
    return gen_asm(g, text, constraints[two][n == 3], two ? g->i32 : g->i16, x, n, ASM_PURE);
}

/* add.rm.f32 and the like: PTX has them all. */
static LLVMValueRef rounded(Gen *g, const Op *op, LLVMValueRef *x) {
    Type t = op->result[0]->type, from = op->operand[0].value->type;
    int64_t arith = ir_attr_int(op, AT_ARITH, ARITH_ADD);
    const char *word = attr_words(AT_ARITH)[arith];
    const char *way = attr_words(AT_DIRECTION)[ir_attr_int(op, AT_DIRECTION, TOWARD_ZERO)];
    int n = op->noperands, bits = type_elem_bits(from);
    bool same = type_equal(t, from);
    if (arith == ARITH_CVT && (same || (t.elem == EL_F64 && bits == 32))) /* nothing to round */
        return gen_convert(g, x[0], from, t, false);
    char in = type_is_float(from) ? (bits == 32 ? 'f' : 'd') : (bits == 32 ? 'r' : 'l');
    Arena *a = &g->s->arena;
    const char *source = "";
    if (arith == ARITH_CVT)
        source = arena_printf(a, ".%c%d",
                              type_is_float(from)    ? 'f'
                              : type_is_signed(from) ? 's'
                                                     : 'u',
                              bits);
    const char *constraints = arena_printf(a, "=%c%.*s", t.elem == EL_F32 ? 'f' : 'd', 2 * n,
                                           (char[]){',', in, ',', in, ',', in, 0});
    const char *text = arena_printf(a, "%s.%s.%s%s $0%.*s;", word, way, elem_info[t.elem].text,
                                    source, 4 * n, ", $1, $2, $3");
    return gen_asm(g, text, constraints, gen_elem_type(g, t), x, n, ASM_PURE);
}

/* NULL: there is no code for it. */
static LLVMValueRef element(Gen *g, const Op *op, LLVMValueRef *x) {
    Type t = op->operand[0].value->type;
    switch (op->code) {
    case OP_CMP: return compare(g, op, t, x[0], x[1]);
    case OP_SELECT: return LLVMBuildSelect(g->b, x[0], x[1], x[2], "");
    case OP_NEG:
    case OP_ABS: return unary(g, op, t, x[0]);
    case OP_ADDPTR: return add_pointer(g, op, x[0], x[1]);
    case OP_ROUNDED: return rounded(g, op, x);
    case OP_BITCAST:
        if (t.depth || op->result[0]->type.depth)
            return gen_convert(g, x[0], t, op->result[0]->type, false);
        return LLVMBuildBitCast(g->b, x[0], gen_elem_type(g, op->result[0]->type), "");
    case OP_FMA:
        if (computes_in_16_bits(op, t) && t.elem == EL_BF16)
            return bf16_arithmetic(g, op, x, 3, false);
        for (int i = 0; gen_is_fp8(t) && i < 3; i++) x[i] = gen_widen(g, x[i], t);
        if (gen_is_fp8(t)) return gen_narrow(g, float_intrinsic(g, INTRINSIC_FMA, x, 3), t);
        return float_intrinsic(g, INTRINSIC_FMA, x, 3);
    default: break;
    }
    if (!type_is_float(t)) return int_binary(g, op, t, x[0], x[1]);
    if (computes_in_16_bits(op, t))
        return t.elem == EL_F16 ? float_binary(g, op, x[0], x[1])
                                : bf16_arithmetic(g, op, x, 2, false);
    LLVMValueRef second = x[1] ? gen_widen(g, x[1], t) : NULL;
    LLVMValueRef v = float_binary(g, op, gen_widen(g, x[0], t), second);
    return v ? gen_narrow(g, v, t) : NULL;
}

/* Two neighbouring elements of f16 or bf16 at once, in the word that they came in or will go in. */
static void pair(Gen *g, const Op *op, const Tile *in, int i, LLVMValueRef *out) {
    Type t = op->result[0]->type;
    bool bf16 = t.elem == EL_BF16;
    LLVMTypeRef vector = LLVMVectorType(g->f16, 2);
    LLVMValueRef x[3], v;
    for (int k = 0; k < op->noperands; k++) {
        gen_pack(g, t, &in[k].at[i], 2, 32, &x[k]);
        if (!bf16) x[k] = LLVMBuildBitCast(g->b, x[k], vector, "");
    }
    if (bf16)
        v = bf16_arithmetic(g, op, x, op->noperands, true);
    else if (op->code == OP_FMA)
        v = float_intrinsic(g, INTRINSIC_FMA, x, 3);
    else
        v = float_binary(g, op, x[0], x[1]);
    v = LLVMBuildBitCast(g->b, v, g->i32, "");
    gen_unpack(g, t, &v, 32, out, 2);
}

void gen_elementwise(Gen *g, const Op *op, int from, int n) {
    Tile out = gen_tile(g, op->result[0]), in[3] = {{0}};
    for (int k = 0; k < op->noperands; k++) in[k] = gen_tile(g, op->operand[k].value);
    uint32_t redundant = (uint32_t)ir_attr_int(op, AT_REDUNDANT, 0);
    Type t = op->result[0]->type;
    bool pairs = computes_in_16_bits(op, t) && out.n % 2 == 0 && !(redundant & 1);
    for (int i = from; i < from + n; i++) {
        LLVMValueRef x[3] = {0};
        if ((uint32_t)i & redundant) {
            out.at[i] = out.at[(uint32_t)i & ~redundant];
            continue;
        }
        if (pairs) {
            pair(g, op, in, i, &out.at[i]);
            i++;
            continue;
        }
        int twin = gen_twin(in, op->noperands, i);
        if (twin >= 0) {
            out.at[i] = out.at[twin];
            continue;
        }
        for (int k = 0; k < op->noperands; k++) x[k] = in[k].at[i];
        out.at[i] = element(g, op, x);
        if (out.at[i]) continue;
        if (!i) gen_not_yet(g, op);
        out.at[i] = LLVMGetPoison(gen_elem_type(g, t));
    }
}

/* ---- functions ---- */

/* What has an instruction; the math pass made arithmetic of the rest. */
static LLVMValueRef math_f32(Gen *g, int64_t f, LLVMValueRef x) {
    switch (f) {
    case MATH_EXP: /* as Triton: its error grows with |x| */
        x = LLVMBuildFMul(g->b, x, LLVMConstReal(g->f32, 1.44269504), "");
        return float_intrinsic(g, INTRINSIC_EX2, &x, 1);
    case MATH_EXP2:
        return float_intrinsic(g, g->f->no_reflect_ftz ? INTRINSIC_EX2 : INTRINSIC_EX2_FTZ, &x, 1);
    case MATH_SQRT: return float_intrinsic(g, INTRINSIC_SQRT_APPROX, &x, 1);
    case MATH_SQRT_RN: return float_intrinsic(g, INTRINSIC_SQRT_RN, &x, 1);
    case MATH_RSQRT: return float_intrinsic(g, INTRINSIC_RSQRT_APPROX, &x, 1);
    case MATH_RCP: return float_intrinsic(g, INTRINSIC_RCP_APPROX_FTZ, &x, 1);
    default: return NULL;
    }
}

/* The same instructions for fp32 and fp64; NINTRINSICS: none. */
static Intrinsic math_intrinsic(int64_t f) {
    switch (f) {
    case MATH_SQRT:
    case MATH_SQRT_RN: return INTRINSIC_SQRT;
    case MATH_FLOOR: return INTRINSIC_FLOOR;
    case MATH_CEIL: return INTRINSIC_CEIL;
    case MATH_TRUNC: return INTRINSIC_TRUNC;
    case MATH_RINT: return INTRINSIC_RINT;
    default: return NINTRINSICS;
    }
}

void gen_math(Gen *g, const Op *op, int from, int n) {
    Type t = op->result[0]->type;
    Tile in = gen_tile(g, op->operand[0].value), out = gen_tile(g, op->result[0]);
    int64_t f = ir_attr_int(op, AT_FUNC, 0);
    for (int i = from; i < from + n; i++) {
        LLVMValueRef v = t.elem == EL_F32 ? math_f32(g, f, in.at[i]) : NULL;
        Intrinsic which = math_intrinsic(f);
        if (!v && which < NINTRINSICS) v = float_intrinsic(g, which, &in.at[i], 1);
        if (!v && !i)
            gen_error(g, E_GPU_LACKS, op, "%s of %s is not supported yet by the code generator",
                      attr_words(AT_FUNC)[f], elem_info[t.elem].triton);
        out.at[i] = v ? v : LLVMGetPoison(gen_elem_type(g, t));
    }
}
