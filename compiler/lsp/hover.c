/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* hover.c: a place in a document -> what stands there, as Markdown: kind and type of a name, the
 * layout of its tile, the parameters and the words of a function.
 *
 * A function that is inlined several times, or a loop that is unrolled, has a name stand for
 * several types: all are shown, up to the index's limit. */
#include "compiler/lsp/server.h"

#include "ir/layout.h"

#include <ctype.h>
#include <string.h>

enum { COMMENT_LINES = 30, HEADER_BYTES = 1500 };

/* ---- functions ---- */

/* Where the line of a place begins in its source's text; NULL: the text is not there. */
static const char *line_at(const Analysis *a, Span span, const char **end) {
    const Source *source = source_at(&a->s.source, span.line);
    size_t len;
    if (!source || !source->text) return NULL;
    *end = source->text + source->len;
    return lines_at(&a->lines, span.line, &len);
}

const char *function_header(Analysis *a, const AstFunc *f) {
    const char *end, *at = line_at(a, f->span, &end);
    Buf b = buf_new(&a->s.arena);
    if (!f->span.line || !at) return f->name;
    while (at < end && isspace((unsigned char)*at)) at++;
    int brackets = 0;
    char quote = '\0';
    for (; at < end && b.len < HEADER_BYTES; at++) {
        char c = *at;
        if (quote) {
            if (c == quote || c == '\n') quote = '\0';
        } else if (c == '\'' || c == '"') {
            quote = c;
        } else if (c == '#') {
            while (at + 1 < end && at[1] != '\n') at++;
            continue;
        } else if (strchr("([{", c)) {
            brackets++;
        } else if (strchr(")]}", c)) {
            brackets--;
        } else if (c == ':' && brackets <= 0) {
            break;
        }
        bool blank = !quote && isspace((unsigned char)c);
        if (!blank)
            buf_putc(&b, c);
        else if (b.len && b.data[b.len - 1] != ' ' && b.data[b.len - 1] != '(')
            buf_putc(&b, ' ');
    }
    return b.len ? b.data : f->name;
}

static const char *line_before(const char *text, const char *at) {
    if (at == text) return NULL;
    at--;
    while (at > text && at[-1] != '\n') at--;
    return at;
}

/* The comment right above a definition and its decorators, without its signs. */
static void put_comment(const Analysis *a, const AstFunc *f, Buf *out) {
    const char *end, *at = line_at(a, f->span, &end), *first = NULL;
    const Source *source = source_at(&a->s.source, f->span.line);
    const char *def = at;
    while (at && (at = line_before(source->text, at)) && *at == '@') def = at;
    for (int n = 0; at && n < COMMENT_LINES && *at == '#'; n++) {
        first = at;
        at = line_before(source->text, at);
    }
    for (at = first; at && at < def;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop) return;
        bool directive = strncmp(at, "# tile:", 7) == 0 || strncmp(at, "# SPDX-", 7) == 0;
        const char *from = at + (at[1] == ' ' ? 2 : 1);
        if (!directive && from <= stop) {
            buf_write(out, from, (size_t)(stop - from));
            buf_putc(out, '\n');
        }
        at = stop + 1;
    }
}

static void put_function(Analysis *a, const AstFunc *f, Buf *out) {
    buf_printf(out, "```python\n%s\n```\n", function_header(a, f));
    if (f->docstring)
        buf_printf(out, "\n%s\n", f->docstring);
    else if (f->span.line)
        put_comment(a, f, out);
}

static void put_builtin(Analysis *a, const Builtin *row, Buf *out) {
    const char *params, *why, *name = symbols_builtin(&a->symbols, row, &params, &why);
    buf_printf(out, "```python\n%s(%s)\n```\n", name, params ? params : "…");
    if (why) buf_printf(out, "\nNot supported: %s\n", why);
}

/* ---- objects ---- */

static void put_object(Analysis *a, Obj o, Buf *out) {
    switch (o.kind) {
    case OBJ_FUNC: put_function(a, o.func, out); break;
    case OBJ_METHOD: put_function(a, o.method.func, out); break;
    case OBJ_BUILTIN: put_builtin(a, o.builtin.row, out); break;
    case OBJ_CLASS: buf_printf(out, "```python\nclass %s\n```\n", o.class_->name); break;
    case OBJ_MODULE: buf_printf(out, "```python\nmodule %s\n```\n", o.path); break;
    case OBJ_SOURCE:
        buf_printf(out, "```python\nmodule %s\n```\n\n%s\n", symbols_module_name(o),
                   symbols_module_file(o));
        break;
    default: break;
    }
}

/* ---- values ---- */

static void put_layout(Analysis *a, const Occurrence *o, Buf *out) {
    for (int i = 0; i < o->nseen; i++) {
        const Value *v = analysis_value(a, &o->seen[i], o->name);
        if (!v) continue;
        Buf drawn = buf_new(&a->s.arena);
        layout_draw(v->layout, v->type, false, "", &drawn);
        size_t n = strcspn(drawn.data, "\n");
        buf_printf(out, "\nLayout: `%.*s`\n", (int)n, drawn.data);
        const Layout *l = v->layout;
        buf_printf(out, "\n%lld elements in %lld registers of each thread; %d warps\n",
                   (long long)1 << type_log2_numel(v->type), (long long)1 << l->bits[IN_REG],
                   1 << l->bits[IN_WARP]);
    }
}

static const char *kind_text(const Occurrence *o) {
    static const char *const text[] = {"variable", "parameter", "function",
                                       "class",    "global",    "import"};
    return o->symbol ? text[o->symbol->kind] : o->is_keyword ? "parameter" : "attribute";
}

static const Assumption *assumption_of(const Analysis *a, const Occurrence *o) {
    for (int i = 0; i < a->symbols.assumed.n; i++)
        if (o->symbol && o->symbol->param &&
            memcmp(&a->symbols.assumed.at[i].span, &o->symbol->param->span, sizeof(Span)) == 0)
            return &a->symbols.assumed.at[i];
    return NULL;
}

static void put_seen(const Occurrence *o, Buf *out) {
    for (int i = 0; i < o->nseen; i++) buf_printf(out, "%s%s", i ? " or " : "", o->seen[i].what);
    if (o->more) buf_puts(out, " or …");
}

/* "def f(x)" has said what it is; its result is what is left. */
static void put_value(Analysis *a, const Occurrence *o, Buf *out) {
    bool called = o->object.kind == OBJ_FUNC || o->object.kind == OBJ_BUILTIN ||
                  o->object.kind == OBJ_METHOD || o->object.kind == OBJ_CLASS;
    if (o->nseen && called) {
        buf_puts(out, "\nResult: `");
        put_seen(o, out);
        buf_puts(out, "`\n");
    } else if (o->nseen || (o->symbol && !out->len)) {
        buf_puts(out, "```python\n");
        if (o->name) buf_printf(out, "(%s) %s", kind_text(o), o->name);
        if (o->nseen && o->name) buf_puts(out, ": ");
        put_seen(o, out);
        buf_puts(out, "\n```\n");
    }
    put_layout(a, o, out);
    const Assumption *x = assumption_of(a, o);
    if (x && x->what)
        buf_printf(out, "\nAssumed: nothing says %s, so it is checked with `%s`.\n",
                   x->is_type ? "its type" : "its value", x->what);
}

static void put_keyword(Analysis *a, const Occurrence *o, Buf *out) {
    buf_printf(out, "```python\n(parameter) %s\n```\n", o->name);
    put_object(a, o->object, out);
}

json_t *feature_hover(Server *v, const json_t *params, Reply *r) {
    uint32_t line, col;
    Document *d = document_asked(v, params, r);
    if (!d || !document_place(d, params, r, &line, &col)) return NULL;
    Analysis *a = d->analysis;
    if (!a->has_symbols) return json_null();
    if (setjmp(a->s.bail)) return NULL;
    Occurrence *o = symbols_at(&a->symbols, line, col);
    if (!o) return json_null();
    symbols_settle(&a->symbols, o);
    Buf text = buf_new(&a->s.arena);
    if (o->is_keyword) {
        put_keyword(a, o, &text);
    } else {
        put_object(a, o->object, &text);
        put_value(a, o, &text);
    }
    if (!text.len) return json_null();
    return json_pack("{s:{s:s, s:o}, s:o}", "contents", "kind", "markdown", "value",
                     text_json(text.data, text.len), "range", range_json(&a->lines, o->span));
}
