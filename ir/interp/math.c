/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* math.c: the functions of math.def, as C's mathematics library has them.
 *
 * Everything is worked out in double: a float result is the exact value rounded once but for the
 * rare cases that lie within double's own error of a tie, and a double result is libm's. */
#include "ir/interp/machine.h"

#include <math.h>

/* Where a row's name is not the C function's. */
static double sqrt_rn(double x) {
    return sqrt(x);
}
static double rsqrt(double x) {
    return 1 / sqrt(x);
}
static double rcp(double x) {
    return 1 / x;
}
static double exp_10(double x) { /* C has none; powers of ten come out exact */
    return pow(10, x);
}

static MathFn *const math_fns[MATHS] = {
    [MATH_EXP] = exp,     [MATH_EXP2] = exp2,   [MATH_LOG] = log,     [MATH_LOG2] = log2,
    [MATH_SIN] = sin,     [MATH_COS] = cos,     [MATH_SQRT] = sqrt,   [MATH_SQRT_RN] = sqrt_rn,
    [MATH_RSQRT] = rsqrt, [MATH_RCP] = rcp,     [MATH_FLOOR] = floor, [MATH_CEIL] = ceil,
    [MATH_TRUNC] = trunc, [MATH_RINT] = rint,   [MATH_ROUND] = round, [MATH_EXP10] = exp_10,
    [MATH_EXPM1] = expm1, [MATH_LOG10] = log10, [MATH_LOG1P] = log1p, [MATH_TAN] = tan,
    [MATH_ASIN] = asin,   [MATH_ACOS] = acos,   [MATH_ATAN] = atan,   [MATH_SINH] = sinh,
    [MATH_COSH] = cosh,   [MATH_TANH] = tanh,   [MATH_ASINH] = asinh, [MATH_ACOSH] = acosh,
    [MATH_ATANH] = atanh, [MATH_ERF] = erf,     [MATH_ERFC] = erfc,   [MATH_CBRT] = cbrt,
};

static MathFn2 *const math_fns2[MATH2S] = {
    [MATH2_POW] = pow,     [MATH2_FMOD] = fmod,         [MATH2_ATAN2] = atan2,
    [MATH2_HYPOT] = hypot, [MATH2_COPYSIGN] = copysign,
};

MathFn *math_fn(int64_t func) {
    return func < 0 || func >= MATHS ? NULL : math_fns[func];
}

MathFn2 *math_fn2(int64_t func) {
    return func < 0 || func >= MATH2S ? NULL : math_fns2[func];
}
