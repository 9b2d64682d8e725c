/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* functions.c: the table of functions, and the C library's values of them in the next wider type.
 *
 * The bounds are what docs/math.md promises. exp of fp32 is Triton's: its error grows with |x|. */
#define _DEFAULT_SOURCE /* j0l, lgammal_r */
#include "tests/math/ulp.h"

#include <math.h>
#include <stddef.h>

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

/* ---- special functions: the C library's, or series ---- */

#define PI 3.14159265358979323846264338327950288L

static long double bessel_y(long double x, long double (*f)(long double)) {
    return x < 0 || isnan(x) ? (long double)NAN
           : isinf(x)        ? 0
           : x == 0          ? -(long double)INFINITY
                             : f(x);
}

/* The sum of (x / 2)^(2k + n) / (k! (k + n)!), or what it comes to far out. */
static long double bessel_i(int n, long double x) {
    long double a = fabsl(x), t = n ? a / 2 : 1, sum = t;
    if (isnan(x)) return x;
    if (a < 40) {
        for (int k = 1; k < 200; k++) sum += t *= a * a / 4 / (k * (long double)(k + n));
    } else if (isinf(a)) {
        sum = a;
    } else {
        sum = t = 1;
        for (int k = 1; k < 30; k++)
            sum += t *= -(4.0L * n * n - (2 * k - 1) * (2 * k - 1)) / (k * 8 * a);
        sum *= expl(a - 0.5L * logl(2 * PI * a));
    }
    return n ? copysignl(sum, x) : sum;
}

static long double exp_of_square(long double x) {
    long double square = x * x, power = expl(square);
    return isinf(power) ? power : power * (1 + fmal(x, x, -square));
}

static long double erfcxl(long double x) {
    if (x < 100) return exp_of_square(x) * erfcl(x);
    long double t = 1, sum = 1;
    for (int k = 1; k < 10; k++) sum += t *= -(2 * k - 1) / (2 * x * x);
    return isnan(x) ? x : sum / (x * sqrtl(PI));
}

static long double erfcinvl(long double x) {
    if (!(x >= 0 && x <= 2)) return (long double)NAN;
    if (x == 0 || x == 2) return x == 0 ? (long double)INFINITY : -(long double)INFINITY;
    long double q = x > 1 ? 2 - x : x, y = sqrtl(PI) / 2 * (1 - q);
    if (q < 0.2L) y = sqrtl(-logl(q) - 0.5L * logl(-logl(q) * PI) + 0.3L);
    for (int i = 0; i < 12; i++) {
        long double error = y < 0.5L ? (1 - q) - erfl(y) : erfcl(y) - q;
        long double step = error * sqrtl(PI) / 2 * exp_of_square(y);
        y += step / (1 + y * step);
    }
    return x > 1 ? -y : y;
}

static long double lgamma_of(long double x) {
    int sign;
    return isinf(x) ? fabsl(x) : lgammal_r(x, &sign);
}

/* Near a zero the C library is not more exact than fp64 is there. */
static double amplitude(double x) {
    return fabs(x) < 8 ? 0x1p-8 : isinf(x) ? 0x1p-1022 : 0.8 / sqrt(fabs(x));
}

/* Between its zeros lgamma is known as exactly as what it is the difference of. */
static double terms_of_lgamma(double x) {
    return x > -11.0001 && x < -2.2637 ? 8 : 0;
}

#define SPECIAL(name, value)                                                                       \
    static double d_##name(double x_, double y) {                                                  \
        long double x = x_;                                                                        \
        (void)y;                                                                                   \
        return (double)(value);                                                                    \
    }                                                                                              \
    static long double l_##name(long double x, long double y) {                                    \
        (void)y;                                                                                   \
        return value;                                                                              \
    }
SPECIAL(j0, isinf(x) ? 0 : j0l(x))
SPECIAL(j1, isinf(x) ? 0 : j1l(x))
SPECIAL(y0, bessel_y(x, y0l))
SPECIAL(y1, bessel_y(x, y1l))
SPECIAL(cyl_bessel_i0, bessel_i(0, x))
SPECIAL(cyl_bessel_i1, bessel_i(1, x))
SPECIAL(erfcx, erfcxl(x))
SPECIAL(erfcinv, erfcinvl(x))
SPECIAL(normcdfinv, -sqrtl(2) * erfcinvl(2 * x))
SPECIAL(lgamma, lgamma_of(x))
SPECIAL(tgamma, isinf(x) && x < 0 ? (long double)NAN : tgammal(x))

#define LIBRARY(name, bound_f32, bound_f64, size)                                                  \
    { #name, NULL, 1, bound_f32, bound_f64, false, d_##name, l_##name, size }
#define MATH(name, bound_f32, bound_f64)                                                           \
    { #name, "math %x func=" #name, 1, bound_f32, bound_f64, false, d_##name, l_##name, NULL }
#define MATH2(name, bound_f32, bound_f64)                                                          \
    { #name, "math2 %x, %y func2=" #name, 2, bound_f32, bound_f64, false, d_##name, l_##name, NULL }

const Function functions[] = {
    MATH(exp, 100, 1.5),
    {"exp2", "math %x func=exp2", 1, 2.5, 1.5, true, d_exp2, l_exp2, NULL},
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
    {"sqrt_rn", "math %x func=sqrt_rn", 1, 0.5, 0.5, false, d_sqrt, l_sqrt, NULL},
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
    {"x / y", "div %x, %y", 2, 2.5, 0.5, false, d_divide, l_divide, NULL},
    {"x % y", "rem %x, %y", 2, 0, 0, false, d_remainder, l_remainder, NULL},
    {"div_rn", "div_rn %x, %y", 2, 0.5, 0.5, false, d_divide, l_divide, NULL},
    LIBRARY(j0, 1, 7, amplitude),
    LIBRARY(j1, 1, 7, amplitude),
    LIBRARY(y0, 1, 7, amplitude),
    LIBRARY(y1, 1, 7, amplitude),
    LIBRARY(cyl_bessel_i0, 1, 6, NULL),
    LIBRARY(cyl_bessel_i1, 1, 6, NULL),
    LIBRARY(erfcinv, 1, 6, NULL),
    LIBRARY(erfcx, 1, 4, NULL),
    LIBRARY(normcdfinv, 1, 8, NULL),
    LIBRARY(lgamma, 1, 4, terms_of_lgamma),
    LIBRARY(tgamma, 1, 10, NULL),
};
const int function_count = sizeof functions / sizeof functions[0];
