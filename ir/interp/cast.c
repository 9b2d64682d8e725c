/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cast.c: lanes of one element type to lanes of another, by value.
 *
 * Convention: types that C has convert in one loop, a row of a table; int1 comes in as a uint8, and
 * small floats go through float, which holds them all. Integers wrap; a float out of an integer's
 * range becomes its nearest end, and NaN 0, as a GPU's cvt has it.
 * The hard part is rounding once: an integer of 64 bits goes to a small float by way of a double
 * that is rounded to odd (number.h), never to nearest twice. */
#include "ir/interp/machine.h"

#include <string.h>

enum { PIECE = 512 };

typedef void CastFn(void *dst, const void *src, int64_t n);

#define INT_SOURCES(LOOP, ...)                                                                     \
    LOOP(__VA_ARGS__, I8, int8_t)                                                                  \
    LOOP(__VA_ARGS__, I16, int16_t)                                                                \
    LOOP(__VA_ARGS__, I32, int32_t)                                                                \
    LOOP(__VA_ARGS__, I64, int64_t)                                                                \
    LOOP(__VA_ARGS__, U8, uint8_t)                                                                 \
    LOOP(__VA_ARGS__, U16, uint16_t)                                                               \
    LOOP(__VA_ARGS__, U32, uint32_t)                                                               \
    LOOP(__VA_ARGS__, U64, uint64_t)
#define FLOAT_SOURCES(LOOP, ...)                                                                   \
    LOOP(__VA_ARGS__, F32, float)                                                                  \
    LOOP(__VA_ARGS__, F64, double)
#define SIGNED_TARGETS(ROW)                                                                        \
    ROW(I8, int8_t, INT8_MIN, INT8_MAX)                                                            \
    ROW(I16, int16_t, INT16_MIN, INT16_MAX)                                                        \
    ROW(I32, int32_t, INT32_MIN, INT32_MAX)                                                        \
    ROW(I64, int64_t, INT64_MIN, INT64_MAX)
#define UNSIGNED_TARGETS(ROW)                                                                      \
    ROW(U8, uint8_t, UINT8_MAX)                                                                    \
    ROW(U16, uint16_t, UINT16_MAX)                                                                 \
    ROW(U32, uint32_t, UINT32_MAX)                                                                 \
    ROW(U64, uint64_t, UINT64_MAX)
#define FLOAT_TARGETS(ROW)                                                                         \
    ROW(F32, float, )                                                                              \
    ROW(F64, double, )

#define LOOP_OF(name, T, S, value)                                                                 \
    static void name(void *dst, const void *src, int64_t n) {                                      \
        T *d = dst;                                                                                \
        const S *x = src;                                                                          \
        for (int64_t i = 0; i < n; i++) d[i] = (T)(value);                                         \
    }
#define PLAIN_LOOP(to, T, from, S) LOOP_OF(to##_from_##from, T, S, x[i])
#define SIGNED_LOOP(lo, hi, to, T, from, S)                                                        \
    LOOP_OF(to##_from_##from, T, S, elem_saturate_i64((double)x[i], lo, hi))
#define UNSIGNED_LOOP(hi, to, T, from, S)                                                          \
    LOOP_OF(to##_from_##from, T, S, elem_saturate_u64((double)x[i], hi))
#define NONZERO_LOOP(to, T, from, S) LOOP_OF(to##_from_##from, T, S, x[i] != 0)

#define SIGNED_ROW(to, T, lo, hi)                                                                  \
    INT_SOURCES(PLAIN_LOOP, to, T) FLOAT_SOURCES(SIGNED_LOOP, lo, hi, to, T)
#define UNSIGNED_ROW(to, T, hi)                                                                    \
    INT_SOURCES(PLAIN_LOOP, to, T) FLOAT_SOURCES(UNSIGNED_LOOP, hi, to, T)
#define FLOAT_ROW(to, T, unused) INT_SOURCES(PLAIN_LOOP, to, T) FLOAT_SOURCES(PLAIN_LOOP, to, T)
SIGNED_TARGETS(SIGNED_ROW)
UNSIGNED_TARGETS(UNSIGNED_ROW)
FLOAT_TARGETS(FLOAT_ROW)
INT_SOURCES(NONZERO_LOOP, I1, uint8_t)
FLOAT_SOURCES(NONZERO_LOOP, I1, uint8_t)

#define CELL(to, from, S) [EL_##from] = to##_from_##from,
#define TABLE_ROW(to, ...) [EL_##to] = {INT_SOURCES(CELL, to) FLOAT_SOURCES(CELL, to)},
static CastFn *const cast_fns[ELEMS][ELEMS] = {SIGNED_TARGETS(TABLE_ROW) UNSIGNED_TARGETS(TABLE_ROW)
                                                   FLOAT_TARGETS(TABLE_ROW) TABLE_ROW(I1)};

/* To a float that C does not have, or in a direction C does not round. */
static void round_lanes(Elem to, void *dst, const double *from, int64_t n, Rounding r) {
    int bytes = elem_info[to].bytes;
    for (int64_t i = 0; i < n; i++) {
        uint64_t bits = elem_round(to, from[i], r);
        if (bytes == 1)
            ((uint8_t *)dst)[i] = (uint8_t)bits;
        else if (bytes == 2)
            ((uint16_t *)dst)[i] = (uint16_t)bits;
        else
            memcpy((char *)dst + (size_t)i * (size_t)bytes, &(uint32_t){(uint32_t)bits}, 4);
    }
}

static void cast_piece(Elem to, void *dst, Elem from, const void *src, int64_t n, Rounding r) {
    float narrow[PIECE];
    double wide[PIECE];
    int64_t whole[PIECE];
    if (from == EL_I1) from = EL_U8;
    if (elem_is_small_float(from)) {
        elem_widen(from, src, narrow, n);
        src = narrow;
        from = EL_F32;
    }
    bool small = elem_is_small_float(to);
    if (small && from == EL_F32) {
        elem_narrow(to, src, dst, n, r);
    } else if (small && from != EL_F64) {
        cast_fns[EL_I64][from](whole, src, n);
        for (int64_t i = 0; i < n; i++) wide[i] = elem_odd_double(whole[i], from == EL_U64);
        round_lanes(to, dst, wide, n, r);
    } else if (small || (to == EL_F32 && from == EL_F64 && r == ROUND_ZERO)) {
        round_lanes(to, dst, src, n, r);
    } else {
        cast_fns[to][from](dst, src, n);
    }
}

void lane_cast(Elem to, void *dst, Elem from, const void *src, int64_t n, Rounding r) {
    size_t in = (size_t)elem_info[from].bytes, out = (size_t)elem_info[to].bytes;
    for (int64_t i = 0; i < n; i += PIECE) {
        int64_t some = n - i < PIECE ? n - i : PIECE;
        cast_piece(to, (char *)dst + (size_t)i * out, from, (const char *)src + (size_t)i * in,
                   some, r);
    }
}
