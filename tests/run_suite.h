/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* run_suite.h: how the main of a Check suite ends. */
#ifndef TILE_TESTS_RUN_SUITE_H
#define TILE_TESTS_RUN_SUITE_H

#include <check.h>

/* Runs the one case of a suite, and frees both; what main returns. */
static inline int run_suite(Suite *s, TCase *t) {
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}

#endif
