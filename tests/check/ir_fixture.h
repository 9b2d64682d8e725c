/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* ir_fixture.h: a session for texts of tile IR, and what was said of them (shared by test_ir*.c).
 */
#ifndef TILE_TESTS_IR_FIXTURE_H
#define TILE_TESTS_IR_FIXTURE_H

#include "ir/ir.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static inline Session *new_session(void) {
    Session *s = malloc(sizeof *s);
    ck_assert_ptr_nonnull(s);
    return s;
}

static inline void end_session(Session *s) {
    session_free(s);
    free(s);
}

static inline char *all_said(Session *s) {
    Buf b = buf_new(&s->arena);
    diag_render(&s->diags, &(Source){.name = "test"}, false, &b);
    return b.data;
}

#endif
