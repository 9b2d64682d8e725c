/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* symbols.c: what lowering notes at names and operators -> an index by place (see symbols.h). */
#include "frontend/lower/internal.h"
#include "frontend/lower/symbols_build.h"

#include <string.h>

/* ---- places ---- */

static size_t place_hash(Span s) {
    uint64_t h = ((uint64_t)s.line << 32 | (uint64_t)s.col << 16 | s.end) * 0x9e3779b97f4a7c15u;
    return (size_t)(h >> 32); /* the line is in the upper half alone */
}

static bool same_place(Span a, Span b) {
    return a.line == b.line && a.col == b.col && a.end == b.end;
}

static void grow_places(SymbolIndex *x, Arena *a) {
    size_t cap = x->cplaces ? x->cplaces * 2 : 256;
    x->place = arena_array(a, cap, sizeof(Occurrence *));
    x->cplaces = cap;
    for (int i = 0; i < x->all.n; i++) {
        size_t at = place_hash(x->all.at[i]->span) & (cap - 1);
        while (x->place[at]) at = (at + 1) & (cap - 1);
        x->place[at] = x->all.at[i];
    }
}

Occurrence *symbols_place(SymbolIndex *x, Span span, const char *name) {
    Arena *a = &x->lower->s->arena;
    if (name) {
        size_t end = span.col + strlen(name);
        span.end = end < SPAN_TO_LINE_END ? (uint16_t)end : SPAN_TO_LINE_END;
    }
    if ((size_t)x->all.n * 2 >= x->cplaces) grow_places(x, a);
    size_t at = place_hash(span) & (x->cplaces - 1);
    for (; x->place[at]; at = (at + 1) & (x->cplaces - 1))
        if (same_place(x->place[at]->span, span)) return x->place[at];
    Occurrence *o = arena_alloc(a, sizeof *o);
    *o = (Occurrence){.span = span, .name = name};
    vec_push(a, &x->all, o);
    return x->place[at] = o;
}

/* ---- what lowering notes ---- */

static bool in_first_source(const Lower *l, Span span) {
    const Source *next = l->s->source.next;
    return span.line && (!next || span.line <= next->before);
}

static bool names_something(Obj o) {
    return o.kind == OBJ_FUNC || o.kind == OBJ_BUILTIN || o.kind == OBJ_METHOD ||
           o.kind == OBJ_MODULE || o.kind == OBJ_SOURCE || o.kind == OBJ_CLASS ||
           o.kind == OBJ_FOREIGN;
}

static bool seen_before(const Occurrence *at, const Seen *seen) {
    for (int i = 0; i < at->nseen; i++) {
        const Seen *s = &at->seen[i];
        if (s->is_value != seen->is_value) continue;
        if (s->is_value ? type_equal(s->type, seen->type) : strcmp(s->what, seen->what) == 0)
            return true;
    }
    return false;
}

void see(Lower *l, Span span, const char *name, Obj o) {
    SymbolIndex *x = l->options->symbols;
    if (!x || l->s->diags.muted || o.kind == OBJ_POISON || !in_first_source(l, span)) return;
    if (o.kind == OBJ_UNSET || o.kind == OBJ_ARGS || o.kind == OBJ_UNKNOWN) return;
    Occurrence *at = symbols_place(x, span, name);
    if (names_something(o) || o.kind == OBJ_DTYPE) at->object = o;
    if (at->more || names_something(o)) return;
    Seen seen = {.is_value = o.kind == OBJ_VALUE};
    if (seen.is_value) {
        seen.type = o.value->type;
        if (o.value->def) seen.made = o.value->def->span;
    } else {
        seen.what = obj_what(l, o);
    }
    if (seen_before(at, &seen)) return;
    if (at->nseen == SEEN_LIMIT) {
        at->more = true;
        return;
    }
    if (seen.is_value) seen.what = obj_what(l, o);
    at->seen[at->nseen++] = seen;
}

void reach(Lower *l, const AstFunc *f) {
    SymbolIndex *x = l->options->symbols;
    if (x && in_first_source(l, f->span)) symbols_place(x, f->span, f->name)->reached = true;
}

bool is_reached(const Lower *l, const AstFunc *f) {
    return symbols_place(l->options->symbols, f->span, f->name)->reached;
}

void assume(Lower *l, const AstParam *p, const char *what, bool is_type) {
    SymbolIndex *x = l->options->symbols;
    for (int i = 0; i < x->assumed.n; i++)
        if (same_place(x->assumed.at[i].span, p->span)) return;
    const AstFunc *f = l->params ? l->frame->func : NULL;
    vec_push(&l->s->arena, &x->assumed, ((Assumption){p->span, p->name, what, f, is_type}));
}
