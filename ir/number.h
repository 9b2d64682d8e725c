/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* number.h: exact conversions between the element types' bits and C's numbers.
 *
 * fp16, bf16 and the fp8 types are "small floats": every value of theirs is a float too, and
 * all arithmetic on them is done in float and rounded back once. A float's 24 bits are at least
 * twice a small float's bits plus two, so for + - * / and the square root the second rounding
 * changes nothing: the result is the exact one rounded once.
 * NaN is converted to the type's one canonical NaN, as the GPU's cvt does. The fp8 types saturate:
 * too large values and infinities become the largest number (cvt's satfinite). fp8e4b15 is what
 * Triton's conversion makes of it: a number is cut to fp16 and then rounded, ties away from zero;
 * 1.75 is what is too large, and NaN; 1.875 is read, but never made. */
#ifndef TILE_IR_NUMBER_H
#define TILE_IR_NUMBER_H

#include "ir/ir.h"

typedef enum Rounding { ROUND_NEAREST, ROUND_ZERO } Rounding;

static inline bool elem_is_small_float(Elem e) {
    return e == EL_F16 || e == EL_BF16 || elem_is_fp8(e);
}
/* v rounded once to element type e, which must be a float; its bits. */
uint64_t elem_round(Elem e, double v, Rounding r);
/* n small floats to floats, and back. */
void elem_widen(Elem e, const void *from, float *to, int64_t n);
void elem_narrow(Elem e, const float *from, void *to, int64_t n, Rounding r);
/* The double nearest v, except that one not exactly v ends in a 1 bit (rounding to odd), so that
 * rounding it again, to a small float, gives what rounding v would. */
double elem_odd_double(int64_t v, bool is_unsigned);
/* x * y + z of small floats as a float rounded to odd: narrowing it rounds the exact value once. */
float elem_odd_fma(float x, float y, float z);
/* double to a 64-bit integer: toward zero; beyond the range to its end; NaN to 0. */
int64_t elem_saturate_i64(double v, int64_t lo, int64_t hi);
uint64_t elem_saturate_u64(double v, uint64_t hi);

#endif
