/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* session.h: what one compilation (or one load, or one launch on the CPU) owns.
 *
 * Every phase takes the Session first. It is data, not global state: two threads compile at once
 * with two sessions. */
#ifndef TILE_BASE_SESSION_H
#define TILE_BASE_SESSION_H

#include "base/diag.h"

typedef struct Session {
    Arena arena;
    Interner names;
    Diags diags;
    Source source;
    struct LayoutTable *layouts; /* ir/layout_intern.c; NULL: none yet */
    jmp_buf bail;                /* set by the entry function: `if (setjmp(s->bail)) …` */
    bool out_of_memory;          /* true when control came to `bail` through the arena */
} Session;

enum { SESSION_MEMORY_LIMIT_MB = 2048 };

/* Prepares *s. The caller sets s->bail with setjmp before anything allocates:
 *     Session s;
 *     if (setjmp(s.bail)) { … the diagnostics so far; session_free(&s); return …; }
 *     session_init(&s);                                                                      */
void session_init(Session *s);
void session_free(Session *s);
/* Gives up after a diagnostic was added (limits, malformed input too deep to go on from). */
_Noreturn void session_bail(Session *s);

#endif
