/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* outline.c: a document -> what it defines: functions with their parameters, classes, globals. */
#include "compiler/lsp/server.h"

#include <string.h>

enum { PARAMS_SHOWN = 100 };
enum {
    KIND_CLASS = 5,
    KIND_METHOD = 6,
    KIND_FUNCTION = 12,
    KIND_VARIABLE = 13,
    KIND_CONSTANT = 14
};

static size_t indent_of(const char *line, size_t n) {
    size_t i = 0;
    while (i < n && (line[i] == ' ' || line[i] == '\t')) i++;
    return i;
}

/* From its `def` to the last line that is further to the right. */
static json_t *block_range(const Analysis *a, Span name) {
    const char *text = a->s.source.text, *end = text + a->s.source.len;
    size_t len = 0, last_len = 0;
    const char *at = lines_at(&a->lines, name.line, &len);
    if (!at) return range_json(&a->lines, name);
    size_t base = indent_of(at, len), line = name.line - 1, last = line;
    const char *last_at = at;
    int brackets = 0;
    bool header = true;
    for (last_len = len; at < end; line++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t n = (size_t)((stop ? stop : end) - at), indent = indent_of(at, n);
        bool blank = indent == n || at[indent] == '\r' || at[indent] == '#';
        if (!header && !blank && indent <= base) break;
        for (size_t i = 0; header && i < n; i++) {
            brackets += at[i] == '(' || at[i] == '[';
            brackets -= at[i] == ')' || at[i] == ']';
            if (at[i] == ':' && brackets <= 0) header = false;
        }
        if (!blank) last = line, last_at = at, last_len = n;
        if (!stop) break;
        at = stop + 1;
    }
    if (last_len && last_at[last_len - 1] == '\r') last_len--;
    return json_pack("{s:o, s:o}", "start", position_json(name.line - 1, 0), "end",
                     position_json(last, position_units(last_at, last_len)));
}

/* What an outline is made for and of. */
typedef struct Outline {
    Analysis *a;
    Reply *reply;
} Outline;

/* Takes children, which may be NULL. */
static void add_symbol(const Outline *l, json_t *out, const char *name, int kind, Span span,
                       bool block, const char *detail, json_t *children) {
    if (!name || !*name || !span.line || json_array_size(out) >= PLACES_LIMIT) {
        json_decref(children);
        return;
    }
    json_t *s =
        json_pack("{s:o, s:i, s:o, s:o}", "name", text_json(name, strlen(name)), "kind", kind,
                  "range", block ? block_range(l->a, span) : range_json(&l->a->lines, span),
                  "selectionRange", range_json(&l->a->lines, span));
    if (detail) reply_set(l->reply, s, "detail", text_json(detail, strlen(detail)));
    if (children) reply_set(l->reply, s, "children", children);
    reply_add(l->reply, out, s);
}

static void add_function(const Outline *l, json_t *out, const AstFunc *f, int kind) {
    if (json_array_size(out) >= PLACES_LIMIT) return;
    json_t *params = json_array();
    l->reply->starved = l->reply->starved || !params;
    for (int i = 0; i < f->nparams && i < PARAMS_SHOWN; i++)
        add_symbol(l, params, f->param[i].name, KIND_VARIABLE, f->param[i].span, false, NULL, NULL);
    bool jit = false;
    for (int i = 0; i < f->ndecorators; i++) {
        const Expr *e = f->decorator[i];
        if (e->kind == EXPR_CALL) e = e->left;
        jit |= (e->kind == EXPR_NAME || e->kind == EXPR_ATTRIBUTE) && strcmp(e->name, "jit") == 0;
    }
    add_symbol(l, out, f->name, kind, f->span, true, jit ? "jit" : NULL, params);
}

/* Of tile IR, whose kernels are in the text alone. */
static void add_kernels(const Outline *l, json_t *out) {
    const Source *source = &l->a->s.source;
    const char *at = source->text, *end = at + source->len;
    for (uint32_t line = 1; at < end; line++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t n = (size_t)((stop ? stop : end) - at);
        if (n > 8 && memcmp(at, "kernel @", 8) == 0) {
            size_t k = 8;
            while (k < n && at[k] != '(' && at[k] != ' ' && k < 200) k++;
            char name[200];
            memcpy(name, at + 8, k - 8);
            name[k - 8] = '\0';
            add_symbol(l, out, name, KIND_FUNCTION, (Span){line, 9, (uint16_t)(k + 1)}, false, NULL,
                       NULL);
        }
        if (!stop) return;
        at = stop + 1;
    }
}

json_t *feature_symbols(Server *v, const json_t *params, Reply *r) {
    Document *d = document_asked(v, params, r);
    if (!d) return NULL;
    const Outline outline = {d->analysis, r}, *l = &outline;
    json_t *out = json_array();
    const AstFile *f = l->a->file;
    if (!f) {
        add_kernels(l, out);
        return out;
    }
    for (int i = 0; i < f->nglobals; i++)
        add_symbol(l, out, f->global[i].name, KIND_CONSTANT, f->global[i].span, false, NULL, NULL);
    for (int i = 0; i < f->nclasses; i++) {
        json_t *methods = json_array();
        r->starved = r->starved || !methods;
        for (int k = 0; k < f->class_[i]->nfuncs; k++)
            add_function(l, methods, f->class_[i]->func[k], KIND_METHOD);
        add_symbol(l, out, f->class_[i]->name, KIND_CLASS, f->class_[i]->span, true, NULL, methods);
    }
    for (int i = 0; i < f->nfuncs; i++) add_function(l, out, f->func[i], KIND_FUNCTION);
    return out;
}
