/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* compare.h: two arrays of elements -> how far they are apart, and where.
 *
 * What counts as equal enough is one rule for all element types: with a tolerance t, an element may
 * differ by t * (|wanted| + the root mean square of all wanted). The second term stands for the
 * rounding of sums that nearly cancel, whose error has the size of what was summed up and not of
 * what is left. Integers have a tolerance of 0 unless one is asked for. NaN equals NaN, and an
 * infinity equals itself. */
#ifndef TILE_IR_COMPARE_H
#define TILE_IR_COMPARE_H

#include "ir/type.h"

typedef struct Array {
    Elem elem;
    const void *data;
    size_t count;
} Array;

typedef struct Difference {
    size_t beyond;  /* elements beyond the tolerance */
    size_t first;   /* the first of them */
    double max_abs; /* infinity where one is NaN or infinite and the other is not */
    double max_rel; /* of elements that should not be 0 */
    double max_ulp; /* in steps of got's type at the wanted value; 0 for integers */
    size_t abs_at, rel_at, ulp_at;
} Difference;

/* What results of one kernel compiled in two ways may differ by: 4 roundings for floats narrower
 * than fp32, in which sums are not kept; 256 for fp32 and fp64, in which they are; 0 for others. */
double compare_tolerance(Elem e);
/* The root mean square of the finite elements, 0 when there are none. */
double compare_rms(const Array *a);
/* Both arrays have got->count elements. rms: compare_rms(want). */
void compare_arrays(const Array *got, const Array *want, double tolerance, double rms,
                    Difference *out);
/* An element as a double. */
double compare_element(const Array *a, size_t i);

#endif
