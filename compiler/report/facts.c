/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* facts.c: facts -> a tree of them; the tree -> text, JSON. */
#include "compiler/report/facts.h"

#include <math.h>
#include <string.h>

/* ---- building ---- */

static Fact *add(Arena *a, Fact *in, FactKind kind, const char *name) {
    Fact *f = arena_alloc(a, sizeof *f);
    f->kind = kind;
    f->name = name;
    if (!in) return f;
    if (in->last)
        in->last->next = f;
    else
        in->first = f;
    return in->last = f;
}

Fact *fact_group(Arena *a, Fact *in, const char *name) {
    return add(a, in, FACT_GROUP, name);
}

Fact *fact_list(Arena *a, Fact *in, const char *name) {
    return add(a, in, FACT_LIST, name);
}

Fact *fact_item(Arena *a, Fact *list, const char *fmt, ...) {
    va_list ap;
    Fact *f = add(a, list, FACT_GROUP, NULL);
    va_start(ap, fmt);
    f->text = arena_vprintf(a, fmt, ap);
    va_end(ap);
    return f;
}

Fact *fact_number(Arena *a, Fact *in, const char *name, int64_t v) {
    Fact *f = add(a, in, FACT_NUMBER, name);
    f->number = v;
    return f;
}

Fact *fact_real(Arena *a, Fact *in, const char *name, double v) {
    Fact *f = add(a, in, FACT_REAL, name);
    f->real = v;
    return f;
}

Fact *fact_text(Arena *a, Fact *in, const char *name, const char *fmt, ...) {
    va_list ap;
    Fact *f = add(a, in, FACT_TEXT, name);
    va_start(ap, fmt);
    f->text = arena_vprintf(a, fmt, ap);
    va_end(ap);
    return f;
}

Fact *fact_place(Arena *a, Fact *in, const char *name, const char *text) {
    Fact *f = add(a, in, FACT_TEXT, name);
    f->text = text;
    f->place = true;
    return f;
}

void fact_why(Arena *a, Fact *f, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    f->why = arena_vprintf(a, fmt, ap);
    va_end(ap);
}

Fact *fact_named(const Fact *in, const char *name) {
    for (Fact *f = in ? in->first : NULL; f; f = f->next)
        if (f->name && strcmp(f->name, name) == 0) return f;
    return NULL;
}

static bool same_text(const char *a, const char *b) {
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* But for the lines of the tile IR, and how often. */
static bool is_same(const Fact *a, const Fact *b) {
    static const char times[] = "times";
    if (a->kind != b->kind || !same_text(a->name, b->name) || !same_text(a->text, b->text) ||
        !same_text(a->at, b->at) || !same_text(a->why, b->why) || a->number != b->number ||
        a->real != b->real)
        return false;
    const Fact *x = a->first, *y = b->first;
    for (;; x = x->next, y = y->next) {
        while (x && same_text(x->name, times)) x = x->next;
        while (y && same_text(y->name, times)) y = y->next;
        if (!x || !y) return !x && !y;
        if (!is_same(x, y)) return false;
    }
}

void fact_merge_last(Arena *a, Fact *list) {
    Fact *last = list->last, *same = list->first, *before = list->first;
    while (same != last && !is_same(same, last)) same = same->next;
    if (!last || same == last) return;
    Fact *times = fact_named(same, "times");
    if (!times) times = fact_number(a, same, "times", 1);
    times->number++;
    while (before->next != last) before = before->next;
    before->next = NULL;
    list->last = before;
}

/* ---- text ---- */

enum { NAME_COLUMNS = 34, INDENT = 2 };

static bool is_inner(const Fact *f) {
    return f->kind == FACT_GROUP || f->kind == FACT_LIST;
}

void fact_put_value(const Fact *f, Buf *out) {
    if (f->kind == FACT_NUMBER)
        buf_printf(out, "%lld", (long long)f->number);
    else if (f->kind == FACT_REAL)
        buf_printf(out, "%.4g", f->real);
    else
        buf_puts(out, f->text ? f->text : "");
}

static void put_name(const char *name, Buf *out) {
    for (; *name; name++) buf_putc(out, *name == '_' ? ' ' : *name);
}

void facts_write_text(const Fact *group, int depth, Buf *out) {
    for (const Fact *f = group->first; f; f = f->next) {
        if (is_inner(f) && !f->first) continue;
        size_t start = out->len;
        buf_printf(out, "%*s", INDENT * depth, "");
        if (f->name)
            put_name(f->name, out);
        else
            buf_puts(out, f->text);
        if (f->at) buf_printf(out, ", %s", f->at);
        if (!is_inner(f)) {
            size_t used = out->len - start;
            buf_printf(out, "%*s ", used < NAME_COLUMNS ? (int)(NAME_COLUMNS - used) : 1, "");
            fact_put_value(f, out);
        }
        if (f->why) buf_printf(out, is_inner(f) ? ": %s" : "  (%s)", f->why);
        buf_putc(out, '\n');
        if (is_inner(f)) facts_write_text(f, depth + 1, out);
    }
}

/* ---- JSON ---- */

void facts_json_text(const char *text, size_t len, Buf *out) {
    buf_putc(out, '"');
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '"' || c == '\\')
            buf_printf(out, "\\%c", c);
        else if (c == '\n')
            buf_puts(out, "\\n");
        else if (c < 0x20 || c == '<') /* `<` may end a script that it lies in */
            buf_printf(out, "\\u%04x", c);
        else
            buf_putc(out, (char)c);
    }
    buf_putc(out, '"');
}

static void put_key(const char *name, const char *more, bool *first, Buf *out) {
    buf_printf(out, "%s\"%s%s\": ", *first ? "" : ", ", name, more);
    *first = false;
}

static void put_text(const char *text, Buf *out) {
    facts_json_text(text, strlen(text), out);
}

static void put_list(const Fact *list, Buf *out) {
    buf_putc(out, '[');
    for (const Fact *f = list->first; f; f = f->next) {
        if (f != list->first) buf_puts(out, ", ");
        facts_write_json(f, out);
    }
    buf_putc(out, ']');
}

void facts_write_json(const Fact *group, Buf *out) {
    bool first = true;
    buf_putc(out, '{');
    if (!group->name && group->text) {
        put_key("title", "", &first, out);
        put_text(group->text, out);
        if (group->at) {
            put_key("at", "", &first, out);
            put_text(group->at, out);
        }
        if (group->why) {
            put_key("why", "", &first, out);
            put_text(group->why, out);
        }
        if (group->line) {
            put_key("ir_line", "", &first, out);
            buf_printf(out, "%u", group->line);
        }
    }
    for (const Fact *f = group->first; f; f = f->next) {
        put_key(f->name, "", &first, out);
        switch (f->kind) {
        case FACT_GROUP: facts_write_json(f, out); break;
        case FACT_LIST: put_list(f, out); break;
        case FACT_NUMBER: buf_printf(out, "%lld", (long long)f->number); break;
        case FACT_REAL: buf_printf(out, isfinite(f->real) ? "%.9g" : "null", f->real); break;
        case FACT_TEXT: put_text(f->text, out); break;
        }
        if (f->why) {
            put_key(f->name, "_why", &first, out);
            put_text(f->why, out);
        }
        if (f->line) {
            put_key(f->name, "_ir_line", &first, out);
            buf_printf(out, "%u", f->line);
        }
    }
    buf_putc(out, '}');
}
