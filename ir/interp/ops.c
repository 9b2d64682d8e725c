/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* ops.c: what the elementwise operations do to lanes: a table of loops by operation and
 * element type, expanded from one row per operation.
 *
 * Convention: integers wrap (what could overflow is computed unsigned), and what C or LLVM leave
 * undefined has one meaning here, close to what a GPU does: x / 0 is all ones, x % 0 is x, the
 * smallest integer / -1 is itself, and shifts by the width or more push every bit out.
 * Small floats (number.h) have no loops of their own: they go through float in short pieces.
 * Nothing is contracted: x * y + z as two operations rounds twice. */
#include "ir/interp/machine.h"
#include "ir/number.h"

#include <string.h>
#include <tgmath.h>

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

enum { PIECE = 512 }; /* lanes converted at a time */

/* ---- integers ---- */

/* ROW(…, id, T, S, U, SIGNED, BITS): kept as T; S and U are T promoted, as it is and unsigned. */
#define INT_TYPES(ROW, ...)                                                                        \
    ROW(__VA_ARGS__, I1, uint8_t, uint32_t, uint32_t, 0, 1)                                        \
    ROW(__VA_ARGS__, I8, int8_t, int32_t, uint32_t, 1, 8)                                          \
    ROW(__VA_ARGS__, I16, int16_t, int32_t, uint32_t, 1, 16)                                       \
    ROW(__VA_ARGS__, I32, int32_t, int32_t, uint32_t, 1, 32)                                       \
    ROW(__VA_ARGS__, I64, int64_t, int64_t, uint64_t, 1, 64)                                       \
    ROW(__VA_ARGS__, U8, uint8_t, uint32_t, uint32_t, 0, 8)                                        \
    ROW(__VA_ARGS__, U16, uint16_t, uint32_t, uint32_t, 0, 16)                                     \
    ROW(__VA_ARGS__, U32, uint32_t, uint32_t, uint32_t, 0, 32)                                     \
    ROW(__VA_ARGS__, U64, uint64_t, uint64_t, uint64_t, 0, 64)

/* OP(id, operands, result in terms of a and b, or of ua and ub, which are the same unsigned) */
/* clang-format off */
#define INT_OPS(OP)                                                                                \
    OP(ADD, 2, ua + ub)                                                                            \
    OP(SUB, 2, ua - ub)                                                                            \
    OP(MUL, 2, ua * ub)                                                                            \
    OP(DIV, 2, ub == 0 ? (U)-1 : SIGNED && ub == (U)-1 ? 0 - ua : (U)(a / b))                      \
    OP(REM, 2, ub == 0 ? ua : SIGNED && ub == (U)-1 ? 0 : (U)(a % b))                              \
    OP(NEG, 1, 0 - ua)                                                                             \
    OP(ABS, 1, (ua ^ SIGN(a)) - SIGN(a))                                                           \
    OP(MIN, 2, a < b ? ua : ub)                                                                    \
    OP(MAX, 2, a > b ? ua : ub)                                                                    \
    OP(AND, 2, ua & ub)                                                                            \
    OP(OR, 2, ua | ub)                                                                             \
    OP(XOR, 2, ua ^ ub)                                                                            \
    OP(SHL, 2, ub >= BITS ? 0 : ua << ub)                                                          \
    OP(SHR, 2, ub >= BITS ? SIGN(a) : (U)(a >> ub))                                                \
    OP(UMULHI, 2, (U)upper_half(ua & MASK, ub & MASK, BITS))
/* clang-format on */

#define SIGN(a) (SIGNED ? (U)((a) >> (sizeof(U) * 8 - 1)) : 0) /* the sign in every bit */
#define MASK ((U)-1 >> (sizeof(U) * 8 - BITS))

static uint64_t upper_half(uint64_t a, uint64_t b, int bits) {
    if (bits <= 32) return (a * b) >> bits;
    uint64_t a0 = a & UINT32_MAX, a1 = a >> 32, b0 = b & UINT32_MAX, b1 = b >> 32;
    uint64_t middle = a1 * b0 + (a0 * b0 >> 32);
    uint64_t other = a0 * b1 + (middle & UINT32_MAX);
    return a1 * b1 + (middle >> 32) + (other >> 32);
}

#define INT_LOOP(op, operands, expr, id, T, S_, U_, signed_, bits)                                 \
    static void op##_##id(void *dst, const void *const *src, int64_t n, int mode) {                \
        enum { SIGNED = (signed_), BITS = (bits) };                                                \
        typedef S_ S;                                                                              \
        typedef U_ U;                                                                              \
        T *d = dst;                                                                                \
        const T *x = src[0], *y = src[(operands)-1];                                               \
        (void)mode;                                                                                \
        for (int64_t i = 0; i < n; i++) {                                                          \
            const S a = (S)x[i], b = (S)y[i];                                                      \
            const U ua = (U)a, ub = (U)b;                                                          \
            (void)b, (void)ua, (void)ub;                                                           \
            d[i] = (T)((expr)&MASK);                                                               \
        }                                                                                          \
    }
#define INT_LOOPS(op, operands, expr) INT_TYPES(INT_LOOP, op, operands, expr)
INT_OPS(INT_LOOPS)

/* Bit patterns of floats: a sign is a bit, whatever the rest says. */
#define SIGN_LOOPS(bits)                                                                           \
    static void NEG_bits##bits(void *dst, const void *const *src, int64_t n, int mode) {           \
        const uint##bits##_t *x = src[0], sign = (uint##bits##_t)((uint64_t)1 << ((bits)-1));      \
        uint##bits##_t *d = dst;                                                                   \
        (void)mode;                                                                                \
        for (int64_t i = 0; i < n; i++) d[i] = (uint##bits##_t)(x[i] ^ sign);                      \
    }                                                                                              \
    static void ABS_bits##bits(void *dst, const void *const *src, int64_t n, int mode) {           \
        const uint##bits##_t *x = src[0], sign = (uint##bits##_t)((uint64_t)1 << ((bits)-1));      \
        uint##bits##_t *d = dst;                                                                   \
        (void)mode;                                                                                \
        for (int64_t i = 0; i < n; i++) d[i] = (uint##bits##_t)(x[i] & ~sign);                     \
    }
SIGN_LOOPS(8)
SIGN_LOOPS(16)
SIGN_LOOPS(32)
SIGN_LOOPS(64)

/* ---- floats ---- */

#define FLOAT_TYPES(ROW, ...)                                                                      \
    ROW(__VA_ARGS__, F32, float)                                                                   \
    ROW(__VA_ARGS__, F64, double)

/* mode: NaN wins. Of two zeros, -0 is the smaller. A remainder of zero is +0, as in Triton, where
 * it is what is left of x after a subtraction; an infinite divisor leaves any x as it is. */
/* clang-format off */
#define FLOAT_OPS(OP)                                                                              \
    OP(ADD, 2, a + b)                                                                              \
    OP(SUB, 2, a - b)                                                                              \
    OP(MUL, 2, a * b)                                                                              \
    OP(DIV, 2, a / b)                                                                              \
    OP(DIV_RN, 2, a / b)                                                                           \
    OP(REM, 2, isinf(b) ? a : fmod(a, b) + 0)                                                      \
    OP(MIN, 2, a < b ? a : b < a ? b : a == b ? (signbit(a) ? a : b) : NOT_A_NUMBER)               \
    OP(MAX, 2, a > b ? a : b > a ? b : a == b ? (signbit(a) ? b : a) : NOT_A_NUMBER)
/* clang-format on */
#define NOT_A_NUMBER (!mode && a == a ? a : !mode && b == b ? b : (F)NAN)

#define FLOAT_LOOP(op, operands, expr, id, T)                                                      \
    static void op##_##id(void *dst, const void *const *src, int64_t n, int mode) {                \
        typedef T F;                                                                               \
        F *d = dst;                                                                                \
        const F *x = src[0], *y = src[(operands)-1];                                               \
        (void)mode;                                                                                \
        for (int64_t i = 0; i < n; i++) {                                                          \
            const F a = x[i], b = y[i];                                                            \
            d[i] = expr;                                                                           \
        }                                                                                          \
    }
#define FLOAT_LOOPS(op, operands, expr) FLOAT_TYPES(FLOAT_LOOP, op, operands, expr)
FLOAT_OPS(FLOAT_LOOPS)

#define FMA_LOOP(name, T, fused)                                                                   \
    static void name(void *dst, const void *const *src, int64_t n, int mode) {                     \
        T *d = dst;                                                                                \
        const T *x = src[0], *y = src[1], *z = src[2];                                             \
        (void)mode;                                                                                \
        for (int64_t i = 0; i < n; i++) d[i] = fused(x[i], y[i], z[i]);                            \
    }
FMA_LOOP(FMA_F32, float, fma)
FMA_LOOP(FMA_F64, double, fma)
FMA_LOOP(FMA_small, float, elem_odd_fma)

#define MATH_LOOP(unused, id, T)                                                                   \
    static void MATH_##id(void *dst, const void *const *src, int64_t n, int mode) {                \
        MathFn *fn = math_fn(mode);                                                                \
        T *d = dst;                                                                                \
        const T *x = src[0];                                                                       \
        for (int64_t i = 0; i < n; i++) d[i] = (T)fn((double)x[i]);                                \
    }
FLOAT_TYPES(MATH_LOOP, )
#define MATH2_LOOP(unused, id, T)                                                                  \
    static void MATH2_##id(void *dst, const void *const *src, int64_t n, int mode) {               \
        MathFn2 *fn = math_fn2(mode);                                                              \
        T *d = dst;                                                                                \
        const T *x = src[0], *y = src[1];                                                          \
        for (int64_t i = 0; i < n; i++) d[i] = (T)fn((double)x[i], (double)y[i]);                  \
    }
FLOAT_TYPES(MATH2_LOOP, )

/* ---- comparison, choice, pointers ---- */

#define PREDS(OP)                                                                                  \
    OP(EQ, ==)                                                                                     \
    OP(NE, !=)                                                                                     \
    OP(LT, <)                                                                                      \
    OP(LE, <=)                                                                                     \
    OP(GT, >)                                                                                      \
    OP(GE, >=)
#define CMP_LOOP(pred, relation, id, T, ...)                                                       \
    static void CMP_##pred##_##id(void *dst, const void *const *src, int64_t n, int mode) {        \
        uint8_t *d = dst;                                                                          \
        const T *x = src[0], *y = src[1];                                                          \
        (void)mode;                                                                                \
        for (int64_t i = 0; i < n; i++) d[i] = x[i] relation y[i];                                 \
    }
#define CMP_LOOPS(pred, relation)                                                                  \
    INT_TYPES(CMP_LOOP, pred, relation)                                                            \
    CMP_LOOP(pred, relation, F32, float)                                                           \
    CMP_LOOP(pred, relation, F64, double)
PREDS(CMP_LOOPS)

#define SELECT_LOOP(bits)                                                                          \
    static void SELECT_bits##bits(void *dst, const void *const *src, int64_t n, int mode) {        \
        uint##bits##_t *d = dst;                                                                   \
        const uint8_t *c = src[0];                                                                 \
        const uint##bits##_t *x = src[1], *y = src[2];                                             \
        (void)mode;                                                                                \
        for (int64_t i = 0; i < n; i++) d[i] = c[i] ? x[i] : y[i];                                 \
    }
SELECT_LOOP(8)
SELECT_LOOP(16)
SELECT_LOOP(32)
SELECT_LOOP(64)

/* mode: bytes of what is pointed to. Unsigned arithmetic: the sum may leave every buffer. */
#define ADDPTR_LOOP(unused, id, T, S, U, ...)                                                      \
    static void ADDPTR_##id(void *dst, const void *const *src, int64_t n, int mode) {              \
        uint64_t *d = dst;                                                                         \
        const uint64_t *p = src[0];                                                                \
        const T *x = src[1];                                                                       \
        for (int64_t i = 0; i < n; i++) d[i] = p[i] + (uint64_t)x[i] * (uint64_t)mode;             \
    }
INT_TYPES(ADDPTR_LOOP, )

/* ---- finding the loop ---- */

#define INT_CELL(op, id, ...) [EL_##id] = op##_##id,
#define INT_ROW(op, ...) [OP_##op] = {INT_TYPES(INT_CELL, op)},
#define FLOAT_CELL(op, id, ...) [EL_##id] = op##_##id,
#define FLOAT_ROW(op, ...) [OP_##op] = {FLOAT_TYPES(FLOAT_CELL, op)},
#define FLOAT_SIGN_ROW(op)                                                                         \
    [OP_##op] = {[EL_F8E4M3] = op##_bits8, [EL_F8E5M2] = op##_bits8, [EL_F16] = op##_bits16,       \
                 [EL_BF16] = op##_bits16,  [EL_F32] = op##_bits32,   [EL_F64] = op##_bits64,       \
                 [EL_F8E4B15] = op##_bits8}

static LaneFn *const int_fns[OPS][ELEMS] = {INT_OPS(INT_ROW)};
static LaneFn *const float_fns[OPS][ELEMS] = {
    FLOAT_OPS(FLOAT_ROW) FLOAT_SIGN_ROW(NEG),
    FLOAT_SIGN_ROW(ABS),
    [OP_FMA] = {[EL_F32] = FMA_F32, [EL_F64] = FMA_F64},
    [OP_MATH] = {[EL_F32] = MATH_F32, [EL_F64] = MATH_F64},
    [OP_MATH2] = {[EL_F32] = MATH2_F32, [EL_F64] = MATH2_F64},
};
#define CMP_CELL(pred, relation, id, ...) [EL_##id] = CMP_##pred##_##id,
#define CMP_ROW(pred, relation)                                                                    \
    [PRED_##pred] = {                                                                              \
        INT_TYPES(CMP_CELL, pred, relation)[EL_F32] = CMP_##pred##_F32, [EL_F64] =                 \
                                                                            CMP_##pred##_F64},
static LaneFn *const cmp_fns[][ELEMS] = {PREDS(CMP_ROW)};
static LaneFn *const addptr_fns[ELEMS] = {INT_TYPES(INT_CELL, ADDPTR)};

static LaneFn *select_fn(int bytes) {
    return bytes == 1   ? SELECT_bits8
           : bytes == 2 ? SELECT_bits16
           : bytes == 4 ? SELECT_bits32
                        : SELECT_bits64;
}

static bool find_loop(OpCode code, Elem e, LaneOp *out) {
    bool is_float = elem_info[e].class_ == ELEM_F;
    out->fn = (is_float ? float_fns : int_fns)[code][e];
    if (!out->fn && elem_is_small_float(e)) {
        out->fn = code == OP_FMA ? FMA_small : float_fns[code][EL_F32];
        out->kind = LANES_THROUGH_FLOAT;
    }
    return out->fn != NULL;
}

bool lane_op_find(const Op *op, LaneOp *out) {
    Type t = ir_operand(op, 0)->type;
    Elem e = stored_elem(t);
    bool small = elem_is_small_float(e);
    *out = (LaneOp){.elem = e, .result = stored_elem(op->result[0]->type)};
    switch (op->code) {
    case OP_CMP: {
        int64_t pred = ir_attr_int(op, AT_PRED, PRED_EQ);
        if (pred < PRED_EQ || pred > PRED_GE) return false;
        out->fn = cmp_fns[pred][small ? EL_F32 : e];
        if (small) out->kind = LANES_THROUGH_FLOAT;
        return true;
    }
    case OP_SELECT: out->fn = select_fn(elem_info[out->result].bytes); return true;
    case OP_ADDPTR:
        out->mode = ir_attr_int(op, AT_BYTES, 0) ? 1 : type_elem_bytes(type_pointee(t));
        out->fn = addptr_fns[stored_elem(ir_operand(op, 1)->type)];
        return out->fn != NULL;
    case OP_CAST:
        out->kind = LANES_CAST;
        out->mode = ir_attr_int(op, AT_RTZ, 0) ? ROUND_ZERO : ROUND_NEAREST;
        break;
    case OP_BITCAST:
        out->kind = LANES_COPY;
        return elem_info[out->elem].bytes == elem_info[out->result].bytes;
    case OP_ROUNDED: return rounded_lane_op(op, out);
    case OP_MATH: out->mode = (int)ir_attr_int(op, AT_FUNC, -1); break;
    case OP_MATH2: out->mode = (int)ir_attr_int(op, AT_FUNC2, -1); break;
    case OP_MIN:
    case OP_MAX: out->mode = ir_attr_int(op, AT_NAN, 0) != 0; break;
    default: break;
    }
    const ElemInfo *info = &elem_info[out->result];
    out->may_wrap = info->class_ == ELEM_I && info->bits <= 32 &&
                    (op->code == OP_ADD || op->code == OP_SUB || op->code == OP_MUL ||
                     op->code == OP_SHL || (op->code == OP_CAST && type_is_int(t)));
    out->partial = type_is_int(t) && (op->code == OP_DIV || op->code == OP_REM ||
                                      op->code == OP_SHL || op->code == OP_SHR);
    if (op->code == OP_CAST) return true;
    if ((op->code == OP_MATH && !math_fn(out->mode)) ||
        (op->code == OP_MATH2 && !math_fn2(out->mode)))
        return false;
    return find_loop(op->code, e, out);
}

bool lane_op_of(OpCode code, Elem e, LaneOp *out) {
    *out = (LaneOp){.elem = e, .result = e};
    return find_loop(code, e, out);
}

void lane_op_run(const LaneOp *op, int noperands, void *dst, const void *const *src, int64_t n) {
    switch (op->kind) {
    case LANES_PLAIN: op->fn(dst, src, n, op->mode); return;
    case LANES_CAST: lane_cast(op->result, dst, op->elem, src[0], n, (Rounding)op->mode); return;
    case LANES_COPY: memcpy(dst, src[0], (size_t)n * (size_t)elem_info[op->elem].bytes); return;
    case LANES_THROUGH_FLOAT: break;
    }
    float in[3][PIECE], out[PIECE];
    const void *from[3] = {in[0], in[1], in[2]};
    size_t width = (size_t)elem_info[op->elem].bytes, to = (size_t)elem_info[op->result].bytes;
    for (int64_t i = 0; i < n; i += PIECE) {
        int64_t some = n - i < PIECE ? n - i : PIECE;
        for (int k = 0; k < noperands; k++)
            elem_widen(op->elem, (const char *)src[k] + (size_t)i * width, in[k], some);
        void *at = (char *)dst + (size_t)i * to;
        if (!elem_is_small_float(op->result)) {
            op->fn(at, from, some, op->mode);
            continue;
        }
        op->fn(out, from, some, op->mode);
        elem_narrow(op->result, out, at, some, ROUND_NEAREST);
    }
}

/* ---- wrapping ---- */

static int64_t exact_shift(int64_t a, int64_t b) { /* of at most 32-bit a; any b that shows it */
    return a == 0 ? 0 : b < 0 || b > 31 ? INT64_MAX : (int64_t)((uint64_t)a << b);
}

/* Looks at exact results in 64 bits: they fit T or they wrapped. */
#define WRAP_LOOP(T, expr)                                                                         \
    do {                                                                                           \
        const T *x = src[0], *y = src[1];                                                          \
        for (int64_t i = 0; i < n; i++) {                                                          \
            const int64_t a = x[i], b = y[i], exact = (expr);                                      \
            const bool wrapped = exact != (T)exact;                                                \
            any |= wrapped;                                                                        \
            if (taint && wrapped && !taint[i]) taint[i] = origin;                                  \
        }                                                                                          \
    } while (0)
#define WRAP_TYPES(expr)                                                                           \
    do {                                                                                           \
        if (e == EL_I32)                                                                           \
            WRAP_LOOP(int32_t, expr);                                                              \
        else if (e == EL_I16)                                                                      \
            WRAP_LOOP(int16_t, expr);                                                              \
        else                                                                                       \
            WRAP_LOOP(int8_t, expr);                                                               \
    } while (0)

static bool cast_wraps(Elem to, Elem from, const void *src, int64_t n, uint16_t *taint,
                       uint16_t origin) {
    int64_t wide[PIECE];
    bool any = false, huge = from == EL_U64;
    for (int64_t i = 0; i < n; i += PIECE) {
        int64_t some = n - i < PIECE ? n - i : PIECE;
        const char *at = (const char *)src + (size_t)i * (size_t)elem_info[from].bytes;
        lane_cast(EL_I64, wide, from, at, some, ROUND_NEAREST);
        for (int64_t k = 0; k < some; k++) {
            bool wrapped = elem_wrap(to, wide[k]) != wide[k] || (huge && wide[k] < 0);
            any |= wrapped;
            if (taint && wrapped && !taint[i + k]) taint[i + k] = origin;
        }
    }
    return any;
}

bool lane_op_wraps(const Op *op, const void *const *src, int64_t n, uint16_t *taint,
                   uint16_t origin) {
    Elem e = stored_elem(op->result[0]->type), from = stored_elem(ir_operand(op, 0)->type);
    bool any = false;
    switch (op->code) {
    case OP_ADD: WRAP_TYPES(a + b); break;
    case OP_SUB: WRAP_TYPES(a - b); break;
    case OP_MUL: WRAP_TYPES(a * b); break;
    case OP_SHL: WRAP_TYPES(exact_shift(a, b)); break;
    case OP_CAST:
        if (elem_info[from].bits >= elem_info[e].bits) /* a wider one holds every value */
            return cast_wraps(e, from, src[0], n, taint, origin);
        break;
    default: break;
    }
    return any;
}

/* ---- what is not defined ---- */

bool lane_op_undefined(const Op *op, const void *const *src, int64_t n, uint16_t *taint,
                       uint16_t origin) {
    Type t = type_element(op->result[0]->type);
    size_t size = (size_t)type_elem_bytes(t);
    const bool shift = op->code == OP_SHL || op->code == OP_SHR;
    const uint64_t width = (uint64_t)type_elem_bits(t);
    const uint8_t *by = src[1];
    bool any = false;
    for (int64_t i = 0; i < n; i++) {
        uint64_t b = 0;
        memcpy(&b, by + (size_t)i * size, size);
        bool bad = shift ? b >= width : b == 0;
        any |= bad;
        if (taint && bad && taint[i] < ORIGIN_UNINIT) taint[i] = origin;
    }
    return any;
}
