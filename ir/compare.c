/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* compare.c: element by element, the largest differences of two arrays (see compare.h).
 *
 * Most elements of two results of one kernel are the same bits, so those are passed over eight
 * bytes at a time before anything is converted. */
#include "ir/compare.h"

#include "ir/ir.h"

#include <math.h>
#include <string.h>

typedef struct FloatShape {
    int fraction; /* bits behind the point */
    int least;    /* exponent of the smallest normal number */
} FloatShape;

static FloatShape shape_of(Elem e) {
    switch (e) {
    case EL_F8E4M3: return (FloatShape){3, -6};
    case EL_F8E5M2: return (FloatShape){2, -14};
    case EL_F8E4B15: return (FloatShape){3, -14};
    case EL_F16: return (FloatShape){10, -14};
    case EL_BF16: return (FloatShape){7, -126};
    case EL_F32: return (FloatShape){23, -126};
    case EL_F64: return (FloatShape){52, -1022};
    default: return (FloatShape){0, 0};
    }
}

static bool is_float(Elem e) {
    return elem_info[e].class_ == ELEM_F;
}

double compare_tolerance(Elem e) {
    if (!is_float(e)) return 0;
    double roundings = elem_info[e].bytes < 4 ? 4 : 256;
    return roundings * ldexp(1, -shape_of(e).fraction);
}

/* The distance of a value to the next of this type. */
static double step_at(Elem e, double v) {
    FloatShape s = shape_of(e);
    int exponent = s.least;
    if (v != 0) {
        int above;
        frexp(v, &above);
        if (above - 1 > exponent) exponent = above - 1;
    }
    return ldexp(1, exponent - s.fraction);
}

static uint64_t bits_at(const Array *a, size_t i) {
    uint64_t bits = 0; /* little-endian: the low bytes are the element */
    size_t size = (size_t)elem_info[a->elem].bytes;
    memcpy(&bits, (const char *)a->data + i * size, size);
    return bits;
}

static int64_t int_at(const Array *a, size_t i) {
    int shift = 64 - 8 * elem_info[a->elem].bytes;
    uint64_t high = bits_at(a, i) << shift;
    return elem_info[a->elem].class_ == ELEM_I ? (int64_t)high >> shift : (int64_t)(high >> shift);
}

double compare_element(const Array *a, size_t i) {
    if (is_float(a->elem)) return elem_to_double(a->elem, bits_at(a, i));
    return a->elem == EL_U64 ? (double)bits_at(a, i) : (double)int_at(a, i);
}

double compare_rms(const Array *a) {
    double sum = 0;
    size_t n = 0;
    for (size_t i = 0; i < a->count; i++) {
        double v = compare_element(a, i);
        if (!isfinite(v)) continue;
        sum += v * v;
        n++;
    }
    return n ? sqrt(sum / (double)n) : 0;
}

/* Whole numbers exactly: as doubles two large ones could seem equal. */
static double distance(const Array *got, const Array *want, size_t i, double g, double w) {
    bool whole = !is_float(got->elem) && !is_float(want->elem);
    if (whole && got->elem != EL_U64 && want->elem != EL_U64) {
        int64_t x = int_at(got, i), y = int_at(want, i);
        return x > y ? (double)((uint64_t)x - (uint64_t)y) : (double)((uint64_t)y - (uint64_t)x);
    }
    if (whole && got->elem == want->elem) {
        uint64_t x = bits_at(got, i), y = bits_at(want, i);
        return x > y ? (double)(x - y) : (double)(y - x);
    }
    if (isnan(g) || isnan(w)) return isnan(g) && isnan(w) ? 0 : INFINITY;
    if (isinf(g) || isinf(w)) return g == w ? 0 : INFINITY;
    return fabs(g - w);
}

static void look_at(const Array *got, const Array *want, size_t i, double tolerance, double rms,
                    Difference *out) {
    double g = compare_element(got, i), w = compare_element(want, i);
    double d = distance(got, want, i, g, w);
    if (!(d > 0)) return;
    double size = isfinite(w) ? fabs(w) : 0;
    if (!(d <= tolerance * (size + rms))) {
        if (!out->beyond++) out->first = i;
    }
    if (d > out->max_abs) out->max_abs = d, out->abs_at = i;
    if (w != 0) {
        double rel = isinf(d) ? d : d / size;
        if (rel > out->max_rel) out->max_rel = rel, out->rel_at = i;
    }
    if (is_float(got->elem)) {
        double ulp = isinf(d) ? d : d / step_at(got->elem, w);
        if (ulp > out->max_ulp) out->max_ulp = ulp, out->ulp_at = i;
    }
}

void compare_arrays(const Array *got, const Array *want, double tolerance, double rms,
                    Difference *out) {
    *out = (Difference){0};
    size_t size = (size_t)elem_info[got->elem].bytes, block = sizeof(uint64_t) / size, i = 0;
    if (got->elem == want->elem) {
        const char *g = got->data, *w = want->data;
        for (; i + block <= got->count; i += block) {
            if (memcmp(g + i * size, w + i * size, sizeof(uint64_t)) == 0) continue;
            for (size_t k = i; k < i + block; k++) look_at(got, want, k, tolerance, rms, out);
        }
    }
    for (; i < got->count; i++) look_at(got, want, i, tolerance, rms, out);
}
