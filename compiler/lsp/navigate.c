/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* navigate.c: a place in a document -> where its symbol gets its value, and where else it stands:
 * in the document, and in others that are open. */
#include "compiler/lsp/server.h"

#include <string.h>

/* The occurrence at params.position, settled; NULL with *none: there is none there. */
static Occurrence *asked(Server *v, const json_t *params, Reply *r, Document **d, bool *none) {
    uint32_t line, col;
    *none = false;
    *d = document_asked(v, params, r);
    if (!*d || !document_place(*d, params, r, &line, &col)) return NULL;
    Analysis *a = (*d)->analysis;
    Occurrence *o = a->has_symbols ? symbols_at(&a->symbols, line, col) : NULL;
    *none = !o || !o->name;
    return *none ? NULL : o;
}

json_t *feature_definition(Server *v, const json_t *params, Reply *r) {
    Document *d;
    bool none;
    Occurrence *o = asked(v, params, r, &d, &none);
    if (!o) return none ? json_null() : NULL;
    Analysis *a = d->analysis;
    if (setjmp(a->s.bail)) return NULL;
    symbols_settle(&a->symbols, o);
    return o->definition.line ? location_json(&a->lines, o->definition) : json_null();
}

/* ---- other places ---- */

/* What a symbol is by, in all files: the place where it is defined. */
typedef struct Identity {
    const Symbol *symbol; /* in the document that was asked, if it is one of that alone */
    const char *file;
    uint32_t line, col;
    const char *name;
} Identity;

/* "f" of `from m import f as g`. */
static const char *own_name(const Occurrence *o) {
    const AstImport *im = o->symbol ? o->symbol->import : NULL;
    return im && im->member ? im->member : o->name;
}

static Identity identity_of(Analysis *a, const Occurrence *o) {
    const Symbol *s = o->symbol;
    bool local = s && (s->room || s->kind == SYMBOL_GLOBAL);
    Span at = s && !s->import ? s->span : o->definition;
    const Source *source = source_at(&a->s.source, at.line);
    return (Identity){local ? s : NULL, at.line ? source->name : NULL,
                      source_line_number(&a->s.source, at.line), at.col, own_name(o)};
}

/* Names alone are compared first: only of those that are the same it is found out what they mean.
 */
static bool same_symbol(Analysis *a, Occurrence *o, const Identity *wanted, bool here) {
    if (!o->name || strcmp(own_name(o), wanted->name)) return false;
    if (here && o->symbol && o->symbol == wanted->symbol) return true;
    if (o->symbol && o->symbol->room) return false;
    symbols_settle(&a->symbols, o);
    Identity its = identity_of(a, o);
    return its.file && wanted->file && its.line == wanted->line && its.col == wanted->col &&
           strcmp(its.file, wanted->file) == 0;
}

static bool is_declaration(const Occurrence *o) {
    return o->symbol && memcmp(&o->span, &o->symbol->span, sizeof o->span) == 0;
}

static json_t *highlight_json(const Analysis *a, const Occurrence *o) {
    return json_pack("{s:o, s:i}", "range", range_json(&a->lines, o->span), "kind",
                     o->writes ? 3 : 2);
}

/* Those of one document. */
static void add_places(Analysis *a, const Identity *wanted, bool here, bool declarations,
                       bool highlights, Reply *r, json_t *out) {
    if (!a || !a->has_symbols) return;
    if (setjmp(a->s.bail)) {
        r->starved = r->starved || a->s.out_of_memory;
        return;
    }
    for (int i = 0; i < a->symbols.all.n && json_array_size(out) < PLACES_LIMIT; i++) {
        Occurrence *o = a->symbols.all.at[i];
        if (!same_symbol(a, o, wanted, here) || (!declarations && is_declaration(o))) continue;
        reply_add(r, out, highlights ? highlight_json(a, o) : location_json(&a->lines, o->span));
    }
}

static bool wanted_place(Analysis *a, Occurrence *o, Identity *out) {
    if (setjmp(a->s.bail)) return false;
    symbols_settle(&a->symbols, o);
    *out = identity_of(a, o);
    return true;
}

/* What a request asks for, and the document it is in. False: `answer` is all there is to say. */
static bool asked_for(Server *v, const json_t *params, Reply *r, Document **d, Identity *wanted,
                      json_t **answer) {
    bool none;
    Occurrence *o = asked(v, params, r, d, &none);
    *answer = !o && none ? json_null() : NULL;
    return o && wanted_place((*d)->analysis, o, wanted);
}

json_t *feature_references(Server *v, const json_t *params, Reply *r) {
    Document *d;
    Identity wanted;
    json_t *answer;
    if (!asked_for(v, params, r, &d, &wanted, &answer)) return answer;
    const json_t *context = json_object_get(params, "context");
    bool declarations = !json_is_false(json_object_get(context, "includeDeclaration"));
    json_t *out = json_array();
    for (int i = 0; i < v->ndocuments; i++) {
        bool here = &v->document[i] == d;
        if (here || !wanted.symbol || !wanted.symbol->room)
            add_places(v->document[i].analysis, &wanted, here, declarations, false, r, out);
    }
    return out;
}

json_t *feature_highlight(Server *v, const json_t *params, Reply *r) {
    Document *d;
    Identity wanted;
    json_t *answer;
    if (!asked_for(v, params, r, &d, &wanted, &answer)) return answer;
    json_t *out = json_array();
    add_places(d->analysis, &wanted, true, true, true, r, out);
    return out;
}
