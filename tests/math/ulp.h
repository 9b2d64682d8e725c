/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* ulp.h: the functions whose errors tile-ulp measures, with their exact values. */
#ifndef TILE_TESTS_ULP_H
#define TILE_TESTS_ULP_H

#include <stdbool.h>

/* What a kernel computes: one operation of tile IR on %x, or on %x and %y; or (op is NULL) the
 * builtin tl.math.NAME of x. */
typedef struct Function {
    const char *name;
    const char *op;
    int nargs;
    /* The most that it may be off, in units of the result's last place; 0.5: exactly rounded. */
    double bound_f32, bound_f64;
    bool flushes; /* a device may give 0 for an fp32 result below the normal range */
    /* The value for fp32, and for fp64: more exact than the type by far. */
    double (*f32)(double x, double y);
    long double (*f64)(long double x, long double y);
    /* Where it is not 0, errors are counted in the last place of this, if the result is smaller: of
     * what has zeros without end. NULL: 0. */
    double (*size)(double x);
} Function;

extern const Function functions[];
extern const int function_count;

#endif
