/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_number.c: conversions of element types, each against another way of getting the answer: a
 * table of every number of a small format, made from the format's definition with ldexp, and a
 * search in it for the nearest. */
#include "ir/number.h"
#include "tests/run_suite.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct Small {
    Elem elem;
    int exponent, fraction, bias;
    int finite;    /* how many patterns from 0 on are numbers */
    uint32_t over; /* what is too large becomes */
    uint32_t nan;
} Small;

static const Small smalls[] = {
    {EL_F16, 5, 10, 15, 0x7c00, 0x7c00, 0x7fff},
    {EL_BF16, 8, 7, 127, 0x7f80, 0x7f80, 0x7fff},
    {EL_F8E4M3, 4, 3, 7, 0x7f, 0x7e, 0x7f},
    {EL_F8E5M2, 5, 2, 15, 0x7c, 0x7b, 0x7f},
};
/* In loops over millions; ck_assert writes to a pipe each time. */
#define EXPECT(condition, ...)                                                                     \
    do {                                                                                           \
        if (!(condition)) ck_abort_msg(__VA_ARGS__);                                               \
    } while (0)

enum { SMALLS = sizeof smalls / sizeof *smalls, TABLE = 0x8000 };

static double value_of(const Small *f, int pattern) {
    int e = pattern >> f->fraction, m = pattern & ((1 << f->fraction) - 1);
    if (e == 0) return ldexp(m, 1 - f->bias - f->fraction);
    return ldexp((1 << f->fraction) + m, e - f->bias - f->fraction);
}

static uint32_t sign_bit(const Small *f) {
    return 1u << (f->exponent + f->fraction);
}

/* The pattern whose value is nearest to v >= 0, even on a tie; or the one not above it. */
static uint32_t search(const Small *f, const double *table, double v, Rounding r) {
    int lo = 0, hi = f->finite - 1;
    double next = 2 * table[hi] - table[hi - 1]; /* where the largest number's successor would be */
    if (v >= table[hi]) {
        bool beyond = r == ROUND_NEAREST &&
                      (v > (table[hi] + next) / 2 || (v == (table[hi] + next) / 2 && (hi & 1)));
        return beyond ? f->over : (uint32_t)hi;
    }
    while (hi - lo > 1) {
        int mid = (lo + hi) / 2;
        if (table[mid] <= v)
            lo = mid;
        else
            hi = mid;
    }
    if (r == ROUND_ZERO) return (uint32_t)lo;
    double below = v - table[lo], above = table[hi] - v; /* exact: a bit more than the format */
    if (below == above) return (uint32_t)(lo & 1 ? hi : lo);
    return (uint32_t)(below < above ? lo : hi);
}

static double *table_of(const Small *f) {
    double *t = malloc(TABLE * sizeof *t);
    ck_assert_ptr_nonnull(t);
    for (int i = 0; i < f->finite; i++) t[i] = value_of(f, i);
    return t;
}

START_TEST(every_pattern_has_its_value) {
    const Small *f = &smalls[_i];
    for (int p = 0; p < f->finite; p++) {
        EXPECT(elem_to_double(f->elem, (uint64_t)p) == value_of(f, p), "pattern %x", p);
        double minus = elem_to_double(f->elem, (uint32_t)p | sign_bit(f));
        EXPECT(minus == -value_of(f, p) && signbit(minus), "pattern %x negated", p);
    }
    for (int p = f->finite; p < (int)sign_bit(f); p++) {
        double v = elem_to_double(f->elem, (uint64_t)p);
        bool infinite = f->elem != EL_F8E4M3 && (p & ((1 << f->fraction) - 1)) == 0;
        ck_assert(infinite ? isinf(v) && v > 0 : isnan(v));
    }
}
END_TEST

START_TEST(every_boundary_rounds_to_nearest_even) {
    const Small *f = &smalls[_i];
    double *t = table_of(f);
    for (int p = 0; p < f->finite; p++) {
        double step = p + 1 < f->finite ? t[p + 1] - t[p] : t[p] - t[p - 1];
        double tie = t[p] + step / 2;
        double at[] = {t[p],
                       nextafter(t[p], 0),
                       nextafter(t[p], INFINITY),
                       t[p] + step / 4,
                       nextafter(tie, 0),
                       tie,
                       nextafter(tie, INFINITY)};
        for (size_t k = 0; k < sizeof at / sizeof *at; k++)
            for (int r = ROUND_NEAREST; r <= ROUND_ZERO; r++) {
                uint32_t want = search(f, t, at[k], (Rounding)r);
                uint64_t got = elem_round(f->elem, at[k], (Rounding)r);
                uint64_t minus = elem_round(f->elem, -at[k], (Rounding)r);
                EXPECT(got == want, "%a: %x, not %x", at[k], (unsigned)got, want);
                EXPECT(minus == (want | sign_bit(f)), "%a: %x", -at[k], (unsigned)minus);
                float narrow = (float)at[k];
                uint16_t out = 0;
                if ((double)narrow != at[k]) continue;
                elem_narrow(f->elem, &narrow, &out, 1, (Rounding)r);
                EXPECT(out == want, "%a as a float: %x, not %x", at[k], out, want);
            }
    }
    free(t);
}
END_TEST

START_TEST(what_is_no_number_converts) {
    const Small *f = &smalls[_i];
    ck_assert_uint_eq(elem_from_double(f->elem, (double)NAN), f->nan);
    ck_assert_uint_eq(elem_from_double(f->elem, (double)INFINITY), f->over);
    ck_assert_uint_eq(elem_from_double(f->elem, -(double)INFINITY), f->over | sign_bit(f));
    ck_assert_uint_eq(elem_from_double(f->elem, 1e300), f->over);
    ck_assert_uint_eq(elem_from_double(f->elem, 5e-324), 0);
    ck_assert_uint_eq(elem_from_double(f->elem, -0.0), sign_bit(f));
}
END_TEST

START_TEST(lanes_widen_and_narrow_as_single_values_do) {
    const Small *f = &smalls[_i];
    int patterns = (int)sign_bit(f) * 2, bytes = elem_info[f->elem].bytes;
    for (int p = 0; p < patterns; p++) {
        uint8_t byte = (uint8_t)p;
        uint16_t half = (uint16_t)p;
        float wide;
        elem_widen(f->elem, bytes == 1 ? (void *)&byte : (void *)&half, &wide, 1);
        double v = elem_to_double(f->elem, (uint64_t)p);
        EXPECT(isnan(v) ? isnan(wide) : (double)wide == v && !signbit(wide) == !signbit(v),
               "pattern %x", p);
    }
    for (uint32_t u = 0; u < UINT32_MAX - 40009; u += 40009) { /* a prime's multiples: all kinds */
        float v;
        memcpy(&v, &u, sizeof v);
        for (int r = ROUND_NEAREST; r <= ROUND_ZERO; r++) {
            uint16_t out = 0;
            elem_narrow(f->elem, &v, &out, 1, (Rounding)r);
            EXPECT(out == elem_round(f->elem, (double)v, (Rounding)r), "%a: %x", (double)v, out);
        }
    }
}
END_TEST

#ifdef __FLT16_MAX__ /* the compiler has the type: its own conversion is one more witness */
START_TEST(halves_agree_with_the_compiler) {
    for (uint32_t u = 0; u < UINT32_MAX - 9973; u += 9973) {
        float v;
        memcpy(&v, &u, sizeof v);
        _Float16 half = (_Float16)v;
        uint16_t want;
        memcpy(&want, &half, sizeof want);
        if (isnan(v)) continue;
        EXPECT(elem_from_double(EL_F16, (double)v) == want, "%a: not %x", (double)v, want);
    }
}
END_TEST
#endif

START_TEST(floats_round_to_zero_on_request) {
    double between = 1 + ldexp(3, -25); /* nearer to the float above 1 */
    float up = 1 + ldexpf(1, -23), one = 1;
    uint32_t want;
    memcpy(&want, &up, sizeof want);
    ck_assert_uint_eq(elem_round(EL_F32, between, ROUND_NEAREST), want);
    memcpy(&want, &one, sizeof want);
    ck_assert_uint_eq(elem_round(EL_F32, between, ROUND_ZERO), want);
    ck_assert_uint_eq(elem_round(EL_F32, -between, ROUND_ZERO), want | 1u << 31);
    ck_assert_uint_eq(elem_round(EL_F32, 1e300, ROUND_ZERO), 0x7f7fffff);
    ck_assert_uint_eq(elem_round(EL_F32, 1e300, ROUND_NEAREST), 0x7f800000);
    ck_assert_uint_eq(elem_round(EL_F32, (double)INFINITY, ROUND_ZERO), 0x7f800000);
}
END_TEST

/* Of every fp16 the nearest of 127 numbers, the larger on a tie; of floats that of the fp16 that is
 * nearer to zero. */
START_TEST(e4b15_is_rounded_through_fp16) {
    for (uint32_t h = 0; h < 0x10000; h++) {
        double v = fabs(elem_to_double(EL_F16, h)), best = INFINITY;
        uint32_t want = 0x7e;
        for (uint32_t p = 0; p <= 0x7e && v <= 1.75; p++) {
            double d = fabs(elem_to_double(EL_F8E4B15, p) - v);
            if (d <= best) want = p, best = d;
        }
        want |= isnan(v) ? 0 : h >> 8 & 0x80;
        uint64_t got = elem_from_double(EL_F8E4B15, elem_to_double(EL_F16, h));
        EXPECT(got == want, "fp16 %x: %x, not %x", h, (uint32_t)got, want);
    }
    for (int p = 0; p < 0x100; p++) {
        int e = p >> 3 & 15, m = p & 7;
        double v = e ? ldexp(8 + m, e - 18) : ldexp(m, -17);
        EXPECT(elem_to_double(EL_F8E4B15, (uint64_t)p) == (p & 0x80 ? -v : v), "%x", p);
    }
    for (uint32_t u = 0; u < UINT32_MAX - 99991; u += 99991) {
        float v;
        uint8_t got;
        memcpy(&v, &u, sizeof v);
        if (isnan(v)) continue;
        uint64_t half = elem_round(EL_F16, (double)v, ROUND_ZERO);
        elem_narrow(EL_F8E4B15, &v, &got, 1, ROUND_NEAREST);
        EXPECT(got == elem_from_double(EL_F8E4B15, elem_to_double(EL_F16, half)), "%a", (double)v);
        EXPECT(got == elem_from_double(EL_F8E4B15, (double)v), "%a", (double)v);
    }
}
END_TEST

/* ---- rounding once, checked in 128-bit integers ---- */

__extension__ typedef __int128 Wide;
enum { SCALE = 60 }; /* numbers below are multiples of 2^-SCALE */

static Wide scaled(double v) {
    int e;
    double m = frexp(v, &e);
    int64_t whole = (int64_t)ldexp(m, 53);
    int shift = e - 53 + SCALE;
    return shift >= 0 ? (Wide)whole * ((Wide)1 << shift) : (Wide)whole / ((Wide)1 << -shift);
}

/* Nearest pattern of f to `exact` >= 0, whose unit is 2^-SCALE; only patterns that have values. */
static uint32_t search_wide(const Small *f, Wide exact, int lo, int hi) {
    while (hi - lo > 1) {
        int mid = (lo + hi) / 2;
        if (scaled(value_of(f, mid)) <= exact)
            lo = mid;
        else
            hi = mid;
    }
    Wide below = exact - scaled(value_of(f, lo)), above = scaled(value_of(f, hi)) - exact;
    if (below == above) return (uint32_t)(lo & 1 ? hi : lo);
    return (uint32_t)(below < above ? lo : hi);
}

static uint64_t random_bits(uint64_t *state) { /* splitmix64 */
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

START_TEST(fma_of_small_floats_rounds_once) {
    const Small *f = &smalls[_i];
    uint64_t state = 7;
    int lo = (f->bias - 10) * (1 << f->fraction), span = 20 << f->fraction; /* 2^-10 to 2^10 */
    if (lo < 1 << f->fraction) lo = 1 << f->fraction;
    if (lo + span > f->finite) span = f->finite - lo;
    int ties = 0;
    for (int i = 0; i < 200000; i++) {
        int x = lo + (int)(random_bits(&state) % (uint64_t)span);
        int y = lo + (int)(random_bits(&state) % (uint64_t)span);
        int z = lo + (int)(random_bits(&state) % (uint64_t)span);
        double a = value_of(f, x), b = value_of(f, y), c = value_of(f, z);
        if (i & 1) c = -c;
        Wide exact = scaled(a * b) + scaled(c);
        bool negative = exact < 0;
        if (negative) exact = -exact;
        if (exact >= scaled(value_of(f, f->elem == EL_BF16 ? 0x4c00 : f->finite - 1))) continue;
        uint32_t want = search_wide(f, exact, f->elem == EL_BF16 ? 0x2a00 : 0,
                                    f->elem == EL_BF16 ? 0x4c00 : f->finite - 1);
        if (exact < scaled(ldexp(1, -20))) continue; /* below what the search of bf16 covers */
        float odd = elem_odd_fma((float)a, (float)b, (float)c);
        uint16_t got = 0;
        elem_narrow(f->elem, &odd, &got, 1, ROUND_NEAREST);
        want |= negative ? sign_bit(f) : 0;
        EXPECT(got == want, "%a * %a + %a: %x, not %x", a, b, c, got, want);
        double twice = a * b + c;
        ties += elem_from_double(f->elem, (double)(float)twice) != want;
    }
    /* The inputs tell rounding once from rounding twice wherever a float is too short. */
    if (f->elem == EL_BF16 || f->elem == EL_F16) ck_assert_int_gt(ties, 0);
}
END_TEST

START_TEST(an_addend_far_below_breaks_a_tie) {
    float x = 1.0078125f, y = 1.5f; /* 1.51171875: half way between two numbers of bf16 */
    float tiny = ldexpf(1, -100);
    uint16_t up = 0, down = 0;
    float more = elem_odd_fma(x, y, tiny), less = elem_odd_fma(x, y, -tiny);
    elem_narrow(EL_BF16, &more, &up, 1, ROUND_NEAREST);
    elem_narrow(EL_BF16, &less, &down, 1, ROUND_NEAREST);
    ck_assert_uint_eq(up, down + 1u);
}
END_TEST

START_TEST(integers_of_64_bits_round_once) {
    const Small *f = &smalls[1]; /* bf16: the others overflow long before */
    uint64_t state = 11;
    int64_t at[64] = {((int64_t)1 << 62) + ((int64_t)1 << 54) + 1,
                      ((int64_t)1 << 62) + ((int64_t)1 << 54),
                      ((int64_t)1 << 62) + ((int64_t)3 << 54) - 1,
                      INT64_MAX,
                      INT64_MIN,
                      -1,
                      0,
                      1};
    for (int i = 8; i < 64; i++) at[i] = (int64_t)random_bits(&state) >> (i % 12);
    for (int i = 0; i < 64; i++) {
        Wide exact = at[i] < 0 ? -(Wide)at[i] : at[i];
        int lo = 0, hi = f->finite - 1; /* patterns of integers, by their exact values */
        while (hi - lo > 1) {
            int mid = (lo + hi) / 2;
            double v = value_of(f, mid);
            if (v < 1e20 && (Wide)v <= exact && (v == floor(v) || v < 1 || (Wide)v < exact))
                lo = mid;
            else
                hi = mid;
        }
        Wide below = 2 * (exact - (Wide)value_of(f, lo));
        Wide gap = (Wide)value_of(f, hi) - (Wide)value_of(f, lo);
        uint32_t want = (uint32_t)(below > gap || (below == gap && (lo & 1)) ? hi : lo);
        if (exact < 128) want = (uint32_t)elem_from_double(EL_BF16, (double)exact);
        if (at[i] < 0) want |= 0x8000;
        ck_assert_uint_eq(elem_from_double(EL_BF16, elem_odd_double(at[i], false)), want);
    }
    ck_assert(elem_odd_double(-1, true) == 0x1.fffffffffffffp63);
}
END_TEST

START_TEST(integers_wrap_and_saturate) {
    ck_assert_int_eq(elem_wrap(EL_I8, 200), -56);
    ck_assert_int_eq(elem_wrap(EL_U8, -1), 255);
    ck_assert_int_eq(elem_wrap(EL_I1, 3), 1);
    ck_assert_int_eq(elem_wrap(EL_I32, (int64_t)1 << 31), INT32_MIN);
    ck_assert_int_eq(elem_wrap(EL_U32, -1), UINT32_MAX);
    ck_assert_int_eq(elem_wrap(EL_I64, INT64_MIN), INT64_MIN);
    ck_assert_int_eq(elem_saturate_i64(1e30, INT64_MIN, INT64_MAX), INT64_MAX);
    ck_assert_int_eq(elem_saturate_i64(-1e30, INT64_MIN, INT64_MAX), INT64_MIN);
    ck_assert_int_eq(elem_saturate_i64((double)NAN, -128, 127), 0);
    ck_assert_int_eq(elem_saturate_i64(-128.9, -128, 127), -128);
    ck_assert_int_eq(elem_saturate_i64(-3.9, -128, 127), -3);
    ck_assert_uint_eq(elem_saturate_u64(-0.5, 255), 0);
    ck_assert_uint_eq(elem_saturate_u64(1e30, UINT64_MAX), UINT64_MAX);
    ck_assert_uint_eq(elem_saturate_u64(254.9, 255), 254);
    ck_assert_uint_eq(elem_saturate_u64((double)NAN, 255), 0);
}
END_TEST

int main(void) {
    Suite *s = suite_create("number");
    TCase *t = tcase_create("number");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, every_pattern_has_its_value, 0, SMALLS);
    tcase_add_loop_test(t, every_boundary_rounds_to_nearest_even, 0, SMALLS);
    tcase_add_loop_test(t, what_is_no_number_converts, 0, SMALLS);
    tcase_add_loop_test(t, lanes_widen_and_narrow_as_single_values_do, 0, SMALLS);
#ifdef __FLT16_MAX__
    tcase_add_test(t, halves_agree_with_the_compiler);
#endif
    tcase_add_test(t, floats_round_to_zero_on_request);
    tcase_add_test(t, e4b15_is_rounded_through_fp16);
    tcase_add_loop_test(t, fma_of_small_floats_rounds_once, 0, SMALLS);
    tcase_add_test(t, an_addend_far_below_breaks_a_tie);
    tcase_add_test(t, integers_of_64_bits_round_once);
    tcase_add_test(t, integers_wrap_and_saturate);
    return run_suite(s, t);
}
