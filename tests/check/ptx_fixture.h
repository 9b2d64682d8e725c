/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* ptx_fixture.h: small kernels of PTX through the machine: one warp, unless a test says otherwise.
 * Each thread has a place of 8 bytes in `out`. */
#ifndef TILE_TEST_PTX_FIXTURE_H
#define TILE_TEST_PTX_FIXTURE_H

#include "ptx/machine/machine.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLACES = 1024, STEPS = 200000, COUNTED = 64 };

typedef struct PtxTest {
    Session s;
    _Alignas(1024) uint64_t out[PLACES];
    char printed[256];
    const char *target, *outside; /* declarations before the kernel */
    uint32_t threads, grid, cluster, dynamic_shared;
    uint64_t max_steps;
    unsigned checks;
    void *map;       /* of 128 bytes; a second parameter where it is not NULL */
    PtxCount *count; /* of COUNTED instructions; NULL: nobody asks */
} PtxTest;

static inline void keep_printed(void *user, const char *text, size_t len) {
    PtxTest *t = user;
    size_t have = strlen(t->printed);
    snprintf(t->printed + have, sizeof t->printed - have, "%.*s", (int)len, text);
}

/* The kernel that the body is; %rd9 is `out`, %rd8 the thread's place there, %r9 its number. */
static inline char *kernel_text(const PtxTest *t, const char *body) {
    static const char frame[] =
        ".version 8.0\n.target %s\n.address_size 64\n%s\n"
        ".visible .entry k(.param .u64 out%s)\n{\n"
        ".reg .pred %%p<8>; .reg .b16 %%h<16>; .reg .b32 %%r<40>; .reg .f32 %%f<40>;\n"
        ".reg .b64 %%rd<16>; .reg .f64 %%fd<40>; .shared .align 1024 .b8 sm[8192];\n"
        "ld.param.u64 %%rd9, [out]; mov.u32 %%r9, %%tid.x; mad.wide.u32 %%rd8, %%r9, 8, %%rd9;\n"
        "%s\nret;\n}\n";
    size_t size = sizeof frame + strlen(body) + (t->outside ? strlen(t->outside) : 0) + 100;
    char *text = malloc(size);
    ck_assert(text != NULL);
    snprintf(text, size, frame, t->target ? t->target : "sm_90a", t->outside ? t->outside : "",
             t->map ? ", .param .align 64 .b8 map[128]" : "", body);
    return text;
}

/* Loads and runs it; what went wrong, of the session, or NULL. End with ptx_test_end. */
static inline const char *run_text(PtxTest *t, const char *text) {
    if (setjmp(t->s.bail)) return "out of memory";
    session_init(&t->s);
    memset(t->out, 0, sizeof t->out);
    *t->printed = '\0';
    const PtxModule *m = ptx_load(&t->s, text, strlen(text));
    if (m) {
        ck_assert_int_ge(m->nprograms, 1);
        uint64_t base = (uint64_t)(uintptr_t)t->out;
        const void *param[] = {&base, t->map};
        PtxBuffer buffer[4] = {{.name = "out", .base = (uint8_t *)t->out, .bytes = sizeof t->out}};
        int n = 1;
        ck_assert(!t->count || m->program[0].ncode <= COUNTED);
        for (int i = 0; i < m->nglobals && n < 4; i++)
            if (m->global[i].base) buffer[n++] = m->global[i];
        PtxLaunch launch = {.program = &m->program[0],
                            .param = param,
                            .grid = {t->grid ? t->grid : 1, 1, 1},
                            .block = {t->threads ? t->threads : 32, 1, 1},
                            .cluster = {t->cluster, 0, 0},
                            .dynamic_shared = t->dynamic_shared,
                            .buffer = buffer,
                            .nbuffers = n,
                            .checks = t->checks ? t->checks : PTX_CHECK_ALL,
                            .count = t->count,
                            .max_steps = t->max_steps ? t->max_steps : STEPS,
                            .print = keep_printed,
                            .print_user = t};
        ck_assert_int_eq(ptx_run(&t->s, &launch), t->s.diags.errors == 0);
    }
    return t->s.diags.first ? t->s.diags.first->text : NULL;
}

static inline const char *run_body(PtxTest *t, const char *body) {
    char *text = kernel_text(t, body);
    const char *said = run_text(t, text);
    free(text);
    return said;
}

static inline void ptx_test_end(PtxTest *t) {
    session_free(&t->s);
}

typedef struct PtxSaid {
    const char *body, *said; /* NULL: nothing is wrong */
} PtxSaid;

/* How often, 0 or 1, the machine says something else of a kernel with this body. */
static inline int ptx_says(PtxTest *t, const char *body, const char *want) {
    const char *said = run_body(t, body);
    bool ok = want ? said && strstr(said, want) : !said;
    if (!ok)
        fprintf(stderr, "%.200s: said '%s', not '%s'\n", body, said ? said : "nothing",
                want ? want : "nothing");
    ptx_test_end(t);
    return !ok;
}

/* All of a table are tried with so many threads, and those that are not as it says shown. */
static inline void ptx_says_all(const PtxSaid *row, size_t n, uint32_t threads) {
    static PtxTest t;
    int wrong = 0;
    memset(&t, 0, sizeof t);
    t.threads = threads;
    for (size_t i = 0; i < n; i++) wrong += ptx_says(&t, row[i].body, row[i].said);
    ck_assert_int_eq(wrong, 0);
}
#define SAY_ALL(rows, threads) ptx_says_all(rows, sizeof(rows) / sizeof *(rows), threads)

#endif
