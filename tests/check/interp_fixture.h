/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* interp_fixture.h: runs a kernel given as tile IR text over buffers of the test, and keeps what
 * was said (shared by test_interp*.c). */
#ifndef TILE_TESTS_INTERP_FIXTURE_H
#define TILE_TESTS_INTERP_FIXTURE_H

#include "ir/interp/interp.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ARGS = 8, MOST_SAID = 4096 };

typedef struct Fixture {
    InterpArg arg[MOST_ARGS];
    InterpBuffer buffer[MOST_ARGS];
    int nargs, nbuffers;
    uint32_t grid[3];
    unsigned checks;
    uint64_t max_steps;
    void (*print)(void *user, const char *text, size_t len);
    void *print_user;
    char said[MOST_SAID]; /* the diagnostics, rendered */
} Fixture;

static inline Fixture fixture(void) {
    return (Fixture){.grid = {1, 1, 1}, .checks = CHECK_ALL, .max_steps = 10000000};
}

/* The next argument: a buffer, named as the kernel names it. */
static inline void give_buffer(Fixture *f, const char *name, void *base, size_t bytes,
                               uint8_t *written) {
    f->arg[f->nargs++].p = (uint64_t)(uintptr_t)base;
    f->buffer[f->nbuffers++] =
        (InterpBuffer){.name = name, .base = base, .bytes = bytes, .written = written};
}

static inline void give_int(Fixture *f, int64_t v) {
    f->arg[f->nargs++].i = v;
}
static inline void give_float(Fixture *f, double v) {
    f->arg[f->nargs++].f = v;
}

/* Runs the first kernel of the text. Fails the test if the text itself is wrong. */
static inline bool run(Fixture *f, const char *text) {
    Session s;
    volatile bool ok = false, parsed = false;
    if (setjmp(s.bail)) {
        session_free(&s);
        ck_abort_msg("the session bailed out");
    }
    session_init(&s);
    Module *m = ir_parse(&s, text, strlen(text));
    if (m && m->funcs) {
        parsed = true;
        InterpLaunch launch = {.module = m,
                               .func = m->funcs,
                               .arg = f->arg,
                               .buffer = f->buffer,
                               .nbuffers = f->nbuffers,
                               .grid = {f->grid[0], f->grid[1], f->grid[2]},
                               .checks = f->checks,
                               .max_steps = f->max_steps,
                               .print = f->print,
                               .print_user = f->print_user};
        if (m->funcs->nparams != f->nargs)
            parsed = false;
        else
            ok = interp_run(&s, &launch);
    }
    Buf out = buf_new(&s.arena);
    diag_render(&s.diags, &(Source){.name = "test"}, false, &out);
    snprintf(f->said, sizeof f->said, "%s", out.data ? out.data : "");
    session_free(&s);
    ck_assert_msg(parsed, "not a kernel with %d parameters: %s\n%s", f->nargs, f->said, text);
    return ok;
}

static inline void expect_ok(Fixture *f, const char *text) {
    ck_assert_msg(run(f, text), "%s", f->said);
    ck_assert_str_eq(f->said, "");
}

static inline void expect_error(Fixture *f, const char *text, const char *part) {
    ck_assert_msg(!run(f, text), "nothing was found wrong, but should be: %s", part);
    ck_assert_msg(strstr(f->said, part) != NULL, "said\n%sand should say\n%s", f->said, part);
}

static inline uint64_t random_bits(uint64_t *state) { /* splitmix64 */
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static inline int run_suite(Suite *s) {
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
