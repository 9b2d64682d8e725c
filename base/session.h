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
    struct Owned *owned;         /* what session_own() gave room for */
    struct LayoutTable *layouts; /* ir/layout_intern.c; NULL: none yet */
    int step;                    /* what goes on, in the numbers of who does it: ops note it */
    jmp_buf bail;                /* set by the entry function: `if (setjmp(s->bail)) …` */
    bool out_of_memory;          /* true when control came to `bail` through the arena */
} Session;

enum { SESSION_MEMORY_LIMIT_MB = 2048 };

/* Prepares *s. The caller sets s->bail with setjmp before anything allocates:
 *     Session s;
 *     if (setjmp(s.bail)) { … the diagnostics so far; session_free(&s); return …; }
 *     session_init(&s);                                                                      */
void session_init(Session *s);
/* Adds a source behind those there are; its text must live as long as the session. */
const Source *session_add_source(Session *s, const char *name, const char *text, size_t len);
/* Room for a pointer to malloc'ed memory that session_free frees: asked for before the memory is,
 * as the arena may jump. */
char **session_own(Session *s);
void session_free(Session *s);
/* Gives up after a diagnostic was added (limits, malformed input too deep to go on from). */
_Noreturn void session_bail(Session *s);
/* Gives up for want of memory, as the arena does. */
_Noreturn void session_starve(Session *s);

#endif
