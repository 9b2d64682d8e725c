/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* floats.h: the bits of registers as floats, and back; rounding as an instruction says. */
#ifndef TILE_PTX_FLOATS_H
#define TILE_PTX_FLOATS_H

#include "ir/number.h"
#include "ptx/machine/program.h"

#include <math.h>
#include <string.h>

static inline float as_f32(uint64_t v) {
    uint32_t bits = (uint32_t)v;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline double as_f64(uint64_t v) {
    double x;
    memcpy(&x, &v, sizeof x);
    return x;
}

/* NaN is the one that the hardware makes. */
static inline uint64_t of_f32(float x) {
    enum { NO_NUMBER = 0x7FFFFFFF };
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return isnan(x) ? NO_NUMBER : bits;
}

static inline uint64_t of_f64(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return isnan(x) ? UINT64_C(0x7FF8000000000000) : bits;
}

static inline float flushed(float x) {
    return fpclassify(x) == FP_SUBNORMAL ? copysignf(0, x) : x;
}

/* The element type of a type that is one; ELEMS: it is none. */
Elem float_elem(PtxType t);
/* The value of bits of a type of floats; of a pair, of the low one. */
double float_value(PtxType t, uint64_t bits);
/* Sets the rounding that .rz and so on ask for; what it was, for fesetround. */
int enter_rounding(unsigned word);

#endif
