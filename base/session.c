/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* session.c: set-up and tear-down of a compilation's memory (see session.h). */
#include "base/session.h"

#include <stdlib.h>

void session_init(Session *s) {
    arena_init(&s->arena, (size_t)SESSION_MEMORY_LIMIT_MB << 20, &s->bail);
    s->names = (Interner){.arena = &s->arena};
    s->diags = (Diags){.arena = &s->arena};
    s->source = (Source){0};
    s->layouts = NULL;
    s->owned = NULL;
    s->out_of_memory = true; /* cleared by session_bail: the arena jumps without a word */
}

const Source *session_add_source(Session *s, const char *name, const char *text, size_t len) {
    Source *last = &s->source;
    while (last->next) last = last->next;
    Source *added = arena_alloc(&s->arena, sizeof *added);
    *added = (Source){name, text, len, source_lines_up_to(last), NULL};
    return last->next = added;
}

struct Owned {
    struct Owned *next;
    char *data;
};

char **session_own(Session *s) {
    struct Owned *o = arena_alloc(&s->arena, sizeof *o);
    o->next = s->owned;
    s->owned = o;
    return &o->data;
}

void session_free(Session *s) {
    for (struct Owned *o = s->owned; o; o = o->next) free(o->data);
    s->owned = NULL;
    arena_free(&s->arena);
}

_Noreturn void session_bail(Session *s) {
    s->out_of_memory = false;
    longjmp(s->bail, 1);
}

_Noreturn void session_starve(Session *s) {
    s->out_of_memory = true;
    longjmp(s->bail, 1);
}
