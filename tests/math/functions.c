/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* functions.c: the table of functions, and the C library's values of them in the next wider type.
 *
 * The bounds are what docs/math.md promises. exp of fp32 is Triton's: its error grows with |x|. */
#include "tests/math/ulp.h"

#include <math.h>

#define ONE(name)                                                                                  \
    static double d_##name(double x, double y) {                                                   \
        (void)y;                                                                                   \
        return name(x);                                                                            \
    }                                                                                              \
    static long double l_##name(long double x, long double y) {                                    \
        (void)y;                                                                                   \
        return name##l(x);                                                                         \
    }
#define TWO(name)                                                                                  \
    static double d_##name(double x, double y) {                                                   \
        return name(x, y);                                                                         \
    }                                                                                              \
    static long double l_##name(long double x, long double y) {                                    \
        return name##l(x, y);                                                                      \
    }
/* What the C library has not. */
#define OWN(name, x, y, in_double, in_long_double)                                                 \
    static double d_##name(double x, double y) {                                                   \
        (void)y;                                                                                   \
        return in_double;                                                                          \
    }                                                                                              \
    static long double l_##name(long double x, long double y) {                                    \
        (void)y;                                                                                   \
        return in_long_double;                                                                     \
    }
ONE(exp)
ONE(exp2)
ONE(expm1)
ONE(log)
ONE(log2)
ONE(log10)
ONE(log1p)
ONE(sin)
ONE(cos)
ONE(tan)
ONE(asin)
ONE(acos)
ONE(atan)
ONE(sinh)
ONE(cosh)
ONE(tanh)
ONE(asinh)
ONE(acosh)
ONE(atanh)
ONE(erf)
ONE(erfc)
ONE(cbrt)
ONE(sqrt)
ONE(floor)
ONE(ceil)
ONE(trunc)
ONE(rint)
ONE(round)
TWO(pow)
TWO(fmod)
TWO(atan2)
TWO(hypot)
TWO(copysign)
OWN(exp10, x, y, pow(10, x), powl(10, x))
OWN(rsqrt, x, y, 1 / sqrt(x), 1 / sqrtl(x))
OWN(divide, x, y, x / y, x / y)
/* The operator %: of zeros +0, and an infinite y leaves any x as it is. */
OWN(remainder, x, y, isinf(y) ? x : fmod(x, y) + 0, isinf(y) ? x : fmodl(x, y) + 0)

#define MATH(name, bound_f32, bound_f64)                                                           \
    { #name, "math %x func=" #name, 1, bound_f32, bound_f64, false, d_##name, l_##name }
#define MATH2(name, bound_f32, bound_f64)                                                          \
    { #name, "math2 %x, %y func2=" #name, 2, bound_f32, bound_f64, false, d_##name, l_##name }

const Function functions[] = {
    MATH(exp, 100, 1.5),
    {"exp2", "math %x func=exp2", 1, 2.5, 1.5, true, d_exp2, l_exp2},
    MATH(exp10, 1.5, 1.5),
    MATH(expm1, 2, 2),
    MATH(log, 1.5, 1),
    MATH(log2, 1.5, 1),
    MATH(log10, 2, 1),
    MATH(log1p, 2, 2),
    MATH(sin, 2, 1),
    MATH(cos, 2, 1),
    MATH(tan, 2, 3),
    MATH(asin, 2, 2),
    MATH(acos, 2, 2),
    MATH(atan, 2, 2),
    MATH(sinh, 2, 3),
    MATH(cosh, 2, 2),
    MATH(tanh, 2, 2),
    MATH(asinh, 3, 3),
    MATH(acosh, 3, 3),
    MATH(atanh, 3, 3),
    MATH(erf, 2, 2),
    MATH(erfc, 4.5, 5),
    MATH(cbrt, 1, 1),
    MATH(sqrt, 2, 0.5),
    {"sqrt_rn", "math %x func=sqrt_rn", 1, 0.5, 0.5, false, d_sqrt, l_sqrt},
    MATH(rsqrt, 2, 1.5),
    MATH(floor, 0, 0),
    MATH(ceil, 0, 0),
    MATH(trunc, 0, 0),
    MATH(rint, 0, 0),
    MATH(round, 0, 0),
    MATH2(pow, 2, 2),
    MATH2(fmod, 0, 0),
    MATH2(atan2, 2, 2),
    MATH2(hypot, 1.5, 1.5),
    MATH2(copysign, 0, 0),
    {"x / y", "div %x, %y", 2, 2.5, 0.5, false, d_divide, l_divide},
    {"x % y", "rem %x, %y", 2, 0, 0, false, d_remainder, l_remainder},
    {"div_rn", "div_rn %x, %y", 2, 0.5, 0.5, false, d_divide, l_divide},
};
const int function_count = sizeof functions / sizeof functions[0];
