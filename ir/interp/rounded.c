/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* rounded.c: lanes computed with a rounding other than to nearest: what OP_ROUNDED means, for the
 * CPU device and for folding alike.
 *
 * The processor's own rounding mode is set around each loop and set back. The compiler does not
 * know of it (GCC has no FENV_ACCESS), so every lane is read and written through volatile
 * variables, which it moves across no call: what lies between the two calls is computed there. */
#include "ir/interp/machine.h"

#include <fenv.h>
#include <tgmath.h>

/* mode of a LaneFn: the arithmetic, and the direction above it */
enum { DIRECTION_SHIFT = 8 };

static int enter_mode(int mode) {
    static const int modes[] = {FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
    int before = fegetround();
    fesetround(modes[mode >> DIRECTION_SHIFT]);
    return before;
}

#define COMPUTE_LOOP(id, T)                                                                        \
    static void COMPUTE_##id(void *dst, const void *const *src, int64_t n, int mode) {             \
        Arith arith = (Arith)(mode & ((1 << DIRECTION_SHIFT) - 1));                                \
        int operands = arith_operands(arith), before = enter_mode(mode);                           \
        const T *x = src[0], *y = src[operands > 1], *z = src[operands > 2 ? 2 : 0];               \
        for (int64_t i = 0; i < n; i++) {                                                          \
            volatile T a = x[i], b = y[i], c = z[i], r;                                            \
            switch (arith) {                                                                       \
            case ARITH_ADD: r = a + b; break;                                                      \
            case ARITH_MUL: r = a * b; break;                                                      \
            case ARITH_DIV: r = a / b; break;                                                      \
            case ARITH_FMA: r = fma((T)a, (T)b, (T)c); break;                                      \
            case ARITH_SQRT: r = sqrt((T)a); break;                                                \
            default: r = a; break;                                                                 \
            }                                                                                      \
            ((T *)dst)[i] = r;                                                                     \
        }                                                                                          \
        fesetround(before);                                                                        \
    }
COMPUTE_LOOP(F32, float)
COMPUTE_LOOP(F64, double)

/* Integers that the other type holds are converted exactly by the same loop. */
#define CONVERT_LOOP(to, T, from, S)                                                               \
    static void to##_OF_##from(void *dst, const void *const *src, int64_t n, int mode) {           \
        int before = enter_mode(mode);                                                             \
        const S *x = src[0];                                                                       \
        for (int64_t i = 0; i < n; i++) {                                                          \
            volatile S a = x[i];                                                                   \
            volatile T r = (T)a;                                                                   \
            ((T *)dst)[i] = r;                                                                     \
        }                                                                                          \
        fesetround(before);                                                                        \
    }
#define SOURCES(LOOP, ...)                                                                         \
    LOOP(__VA_ARGS__, I32, int32_t)                                                                \
    LOOP(__VA_ARGS__, U32, uint32_t)                                                               \
    LOOP(__VA_ARGS__, I64, int64_t)                                                                \
    LOOP(__VA_ARGS__, U64, uint64_t)                                                               \
    LOOP(__VA_ARGS__, F64, double)
SOURCES(CONVERT_LOOP, F32, float)
SOURCES(CONVERT_LOOP, F64, double)

#define CELL(to, T, from, S) [EL_##from] = to##_OF_##from,
bool rounded_lane_op(const Op *op, LaneOp *out) {
    static LaneFn *const to_f32[ELEMS] = {SOURCES(CELL, F32, float)};
    static LaneFn *const to_f64[ELEMS] = {SOURCES(CELL, F64, double)};
    int arith = (int)ir_attr_int(op, AT_ARITH, ARITH_ADD);
    bool narrow = out->result == EL_F32;
    out->mode = arith | (int)ir_attr_int(op, AT_DIRECTION, TOWARD_ZERO) << DIRECTION_SHIFT;
    if (op->noperands != arith_operands(arith) || (!narrow && out->result != EL_F64)) return false;
    if (arith == ARITH_CVT)
        out->fn = (narrow ? to_f32 : to_f64)[out->elem];
    else if (out->elem == out->result)
        out->fn = narrow ? COMPUTE_F32 : COMPUTE_F64;
    return out->fn != NULL;
}
