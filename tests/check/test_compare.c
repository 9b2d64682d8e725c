/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_compare.c: the largest differences of arrays, against differences that are known because
 * they were made. */
#include "ir/compare.h"
#include "ir/ir.h"
#include "tests/run_suite.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>

static Difference differ(Elem g, const void *got, Elem w, const void *want, size_t n, double t) {
    Array a = {g, got, n}, b = {w, want, n};
    Difference d;
    compare_arrays(&a, &b, t, compare_rms(&b), &d);
    return d;
}

/* The next bit pattern is the next number: one step, wherever it is. */
START_TEST(the_next_number_is_one_ulp_away) {
    static const Elem elems[] = {EL_F8E4M3, EL_F8E5M2, EL_F16, EL_BF16, EL_F32, EL_F64};
    Elem e = elems[_i];
    size_t size = (size_t)elem_info[e].bytes;
    uint64_t step = size < 4 ? 1 : ((uint64_t)1 << (8 * size - 16)) + 12345;
    uint64_t end = (uint64_t)1 << (8 * size - 1);
    for (uint64_t bits = 0; bits + 1 < end; bits += step) {
        uint64_t next = bits + 1;
        if (!isfinite(elem_to_double(e, next))) break;
        Difference d = differ(e, &next, e, &bits, 1, 0);
        if (d.max_ulp != 1 || d.beyond != 1)
            ck_abort_msg("%s 0x%llx: %g ulp", elem_info[e].text, (unsigned long long)bits,
                         d.max_ulp);
    }
}
END_TEST

START_TEST(the_largest_of_each_kind_is_found) {
    float want[100], got[100];
    for (int i = 0; i < 100; i++) want[i] = got[i] = 1;
    want[3] = 1000, got[3] = 1002;     /* absolute 2 */
    want[40] = 0.5f, got[40] = 0.625f; /* relative 0.25 */
    want[41] = 0, got[41] = 0x1p-100f;
    Difference d = differ(EL_F32, got, EL_F32, want, 100, 0);
    ck_assert_double_eq(d.max_abs, 2);
    ck_assert_uint_eq(d.abs_at, 3);
    ck_assert_double_eq(d.max_rel, 0.25);
    ck_assert_uint_eq(d.rel_at, 40);
    ck_assert_double_eq(d.max_ulp, 0x1p49);
    ck_assert_uint_eq(d.ulp_at, 41);
    ck_assert_uint_eq(d.beyond, 3);
    ck_assert_uint_eq(d.first, 3);
    double rms = compare_rms(&(Array){EL_F32, want, 100});
    d = differ(EL_F32, got, EL_F32, want, 100, 2 / (1000 + rms));
    ck_assert_uint_eq(d.beyond, 0);
    d = differ(EL_F32, got, EL_F32, want, 100, 1.99 / (1000 + rms));
    ck_assert_uint_eq(d.beyond, 1);
}
END_TEST

START_TEST(what_is_no_number_is_equal_to_its_like_only) {
    float want[4] = {NAN, INFINITY, -INFINITY, NAN}, got[4] = {-NAN, INFINITY, -INFINITY, NAN};
    ck_assert_uint_eq(differ(EL_F32, got, EL_F32, want, 4, 0).beyond, 0);
    got[2] = INFINITY;
    got[3] = 0;
    Difference d = differ(EL_F32, got, EL_F32, want, 4, 1e9);
    ck_assert_uint_eq(d.beyond, 2);
    ck_assert_uint_eq(d.first, 2);
    ck_assert(isinf(d.max_abs));
}
END_TEST

START_TEST(integers_are_exact) {
    int64_t want[2] = {INT64_MIN, (int64_t)1 << 60}, got[2] = {INT64_MIN, ((int64_t)1 << 60) + 1};
    Difference d = differ(EL_I64, got, EL_I64, want, 2, compare_tolerance(EL_I64));
    ck_assert_uint_eq(d.beyond, 1);
    ck_assert_uint_eq(d.first, 1);
    ck_assert_double_eq(d.max_abs, 1);
    uint64_t large[1] = {UINT64_MAX}, near[1] = {UINT64_MAX - 2};
    ck_assert_double_eq(differ(EL_U64, near, EL_U64, large, 1, 0).max_abs, 2);
    int8_t minus[9] = {-1, -1, -1, -1, -1, -1, -1, -1, -1};
    int32_t plus[9] = {-1, -1, -1, -1, -1, -1, -1, -1, 255};
    d = differ(EL_I8, minus, EL_I32, plus, 9, 0);
    ck_assert_uint_eq(d.beyond, 1);
    ck_assert_double_eq(d.max_abs, 256);
}
END_TEST

int main(void) {
    Suite *s = suite_create("compare");
    TCase *t = tcase_create("compare");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, the_next_number_is_one_ulp_away, 0, 6);
    tcase_add_test(t, the_largest_of_each_kind_is_found);
    tcase_add_test(t, what_is_no_number_is_equal_to_its_like_only);
    tcase_add_test(t, integers_are_exact);
    return run_suite(s, t);
}
