/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* session.c: set-up and tear-down of a compilation's memory (see session.h). */
#include "base/session.h"

void session_init(Session *s) {
    arena_init(&s->arena, (size_t)SESSION_MEMORY_LIMIT_MB << 20, &s->bail);
    s->names = (Interner){.arena = &s->arena};
    s->diags = (Diags){.arena = &s->arena};
    s->source = (Source){0};
    s->layouts = NULL;
    s->out_of_memory = true; /* cleared by session_bail: the arena jumps without a word */
}

void session_free(Session *s) {
    arena_free(&s->arena);
}

_Noreturn void session_bail(Session *s) {
    s->out_of_memory = false;
    longjmp(s->bail, 1);
}
