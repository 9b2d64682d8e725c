/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* print.c: tile IR -> text that ir_parse reads back to the same text, byte for byte.
 *
 * Every value's printed name is unique in its function: its hint, or hint.N, or a running number.
 * Printing what was parsed meets the same names in the same order, so they come out again. */
#include "ir/func_attrs.h"
#include "ir/names.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

typedef struct Printer {
    Session *s;
    Buf *out;
    const Func *f;
    const char **name; /* by value id */
    NameMap taken;
    int unnamed;
    VEC(const Layout *) layouts;
    bool spans;
    uint32_t line; /* of what is at counted in *out; 0: lines are not counted */
    size_t counted;
} Printer;

static bool plain_name(const char *s) {
    if (!*s || isdigit((unsigned char)*s)) return false;
    for (; *s; s++)
        if (!isalnum((unsigned char)*s) && *s != '_' && *s != '.') return false;
    return true;
}

static void print_name(Buf *out, char sigil, const char *s) {
    if (sigil) buf_putc(out, sigil);
    if (plain_name(s) || (isdigit((unsigned char)*s) && sigil == '%'))
        buf_puts(out, s);
    else
        buf_quote(out, s, strlen(s));
}

static const char *value_name(Printer *p, const Value *v) {
    if (v->id < p->f->nvalues && p->name[v->id]) return p->name[v->id];
    Arena *a = &p->s->arena;
    const char *name;
    if (!v->name || !v->name[0] || isdigit((unsigned char)v->name[0])) {
        do { /* a parameter may have a number for a name */
            const char *t = arena_printf(a, "%d", p->unnamed++);
            name = intern(&p->s->names, t, strlen(t));
        } while (names_at(&p->taken, name)->count);
    } else {
        const char *hint = intern(&p->s->names, v->name, strlen(v->name));
        name = hint;
        struct NameSlot *slot = names_at(&p->taken, hint);
        while (slot->count) { /* taken: try hint.1, hint.2 … from where the last search ended */
            int n = slot->count++;
            const char *t = arena_printf(a, "%s.%d", hint, n);
            name = intern(&p->s->names, t, strlen(t));
            if (!names_at(&p->taken, name)->count) break;
            slot = names_at(&p->taken, hint);
        }
        names_at(&p->taken, name)->count = 1;
    }
    return p->name[v->id] = name;
}

static int layout_number(Printer *p, const Layout *l) {
    for (int i = 0; i < p->layouts.n; i++)
        if (p->layouts.at[i] == l) return i;
    vec_push(&p->s->arena, &p->layouts, l);
    return p->layouts.n - 1;
}

static void print_type(Printer *p, const Value *v) {
    type_print(p->out, v->type);
    if (v->layout) buf_printf(p->out, "@L%d", layout_number(p, v->layout));
}

static void print_def(Printer *p, const Value *v) {
    print_name(p->out, '%', value_name(p, v));
    buf_puts(p->out, ": ");
    print_type(p, v);
}

static void print_span(const Printer *p, Span span) {
    Buf *out = p->out;
    if (!span.line || !p->spans) return;
    buf_printf(out, " @%u:%u-", span.line, span.col);
    if (span.end == SPAN_TO_LINE_END)
        buf_putc(out, '*');
    else
        buf_printf(out, "%u", span.end);
}

static void print_bits(Buf *out, Type t, int64_t bits) {
    if (!type_is_float(t)) {
        if (!type_is_pointer(t) && elem_info[t.elem].class_ == ELEM_U)
            buf_printf(out, "%llu", (unsigned long long)bits);
        else
            buf_printf(out, "%lld", (long long)bits);
        return;
    }
    double d = elem_to_double((Elem)t.elem, (uint64_t)bits);
    if (isnan(d))
        buf_printf(out, "nan(0x%llx)", (unsigned long long)bits);
    else if (isinf(d))
        buf_puts(out, d < 0 ? "-inf" : "inf");
    else
        buf_printf(out, "%a", d);
}

static void print_attr(Buf *out, const Op *op, const Attr *a) {
    buf_printf(out, " %s=", attr_info[a->id].text);
    switch (attr_info[a->id].kind) {
    case ATTR_INT: buf_printf(out, "%lld", (long long)a->i); break;
    case ATTR_BITS: print_bits(out, op->result[0]->type, a->i); break;
    case ATTR_WORD: buf_puts(out, attr_words(a->id)[a->i]); break;
    case ATTR_TEXT: buf_quote(out, a->text, strlen(a->text)); break;
    case ATTR_DIMS:
        for (int i = 0; i < a->ndims; i++) buf_printf(out, "%s%d", i ? "," : "[", a->dims[i]);
        buf_puts(out, a->ndims ? "]" : "[]");
        break;
    }
}

static void print_block(Printer *p, Block *b, int depth);

static uint32_t line_here(Printer *p) {
    for (; p->counted < p->out->len; p->counted++) p->line += p->out->data[p->counted] == '\n';
    return p->line;
}

static void print_op(Printer *p, Op *op, int depth) {
    Buf *out = p->out;
    if (p->line) op->listed = line_here(p);
    buf_printf(out, "%*s", 2 * depth, "");
    for (int i = 0; i < op->nresults; i++) {
        if (i) buf_puts(out, ", ");
        print_def(p, op->result[i]);
    }
    if (op->nresults) buf_puts(out, " = ");
    buf_puts(out, op_info[op->code].text);
    for (int i = 0; i < op->noperands; i++) {
        buf_puts(out, i ? ", " : " ");
        print_name(out, '%', value_name(p, op->operand[i].value));
    }
    for (int i = 0; i < op->nattrs; i++) print_attr(out, op, &op->attr[i]);
    print_span(p, op->span);
    for (int r = 0; r < op->nregions; r++) {
        buf_puts(out, " {");
        Block *b = op->region[r];
        if (b->nargs) {
            buf_puts(out, " (");
            for (int i = 0; i < b->nargs; i++) {
                if (i) buf_puts(out, ", ");
                print_def(p, b->args[i]);
            }
            buf_putc(out, ')');
        }
        buf_putc(out, '\n');
        print_block(p, b, depth + 1);
        buf_printf(out, "%*s}", 2 * depth, "");
    }
    buf_putc(out, '\n');
}

static void print_block(Printer *p, Block *b, int depth) {
    for (Op *op = b->first; op; op = op->next) print_op(p, op, depth);
}

static void collect_layouts(Printer *p, const Block *b) {
    for (int i = 0; i < b->nargs; i++)
        if (b->args[i]->layout) layout_number(p, b->args[i]->layout);
    for (const Op *op = b->first; op; op = op->next) {
        for (int i = 0; i < op->nresults; i++)
            if (op->result[i]->layout) layout_number(p, op->result[i]->layout);
        for (int r = 0; r < op->nregions; r++) collect_layouts(p, op->region[r]);
    }
}

static void print_layout(Buf *out, const Layout *l) {
    static const char *const part[IN_DIMS] = {"reg", "lane", "warp", "block"};
    for (int in = 0; in < IN_DIMS; in++) {
        buf_printf(out, " %s=[", part[in]);
        for (int i = 0; i < l->bits[in]; i++)
            buf_printf(out, "%s%u", i ? "," : "", l->basis[in][i]);
        buf_putc(out, ']');
    }
    buf_printf(out, " out=%d\n", l->out);
}

static void print_func_attr(Buf *out, const Func *f, const FuncAttr *a) {
    const ConstexprInfo *list;
    int n;
    switch (a->kind) {
    case FUNC_ATTR_NUMBER: /* that says something, or has a default */
        if (a->absent > 0 || func_number(f, a) != a->absent)
            buf_printf(out, " %s=%lld", a->text, (long long)func_number(f, a));
        break;
    case FUNC_ATTR_TEXT:
        for (int i = 0; i < a->most; i++) {
            const char *text = func_text(f, a, i);
            if (!text) continue;
            buf_printf(out, " %s=", a->text);
            buf_quote(out, text, strlen(text));
        }
        break;
    case FUNC_ATTR_NAMED_JSON:
        list = func_json(f, a, &n);
        for (int i = 0; i < n; i++) {
            buf_printf(out, " %s ", a->text);
            print_name(out, 0, list[i].name);
            buf_putc(out, '=');
            buf_quote(out, list[i].json, strlen(list[i].json));
        }
    }
}

static void print_header(Printer *p, const Func *f) {
    Buf *out = p->out;
    buf_puts(out, "kernel ");
    print_name(out, '@', f->name);
    buf_putc(out, '(');
    for (int i = 0; i < f->nparams; i++) {
        const Param *a = &f->param[i];
        if (i) buf_puts(out, ", ");
        if (a->value) {
            p->name[a->value->id] = intern(&p->s->names, a->name, strlen(a->name));
            names_at(&p->taken, p->name[a->value->id])->count = 1;
        }
        print_name(out, a->value ? '%' : 0, a->name);
        buf_puts(out, ": ");
        type_print(out, a->type);
        if (a->divisible > 1) buf_printf(out, " divisible=%d", a->divisible);
        if (a->size) buf_puts(out, a->size == SIZE_SMALL ? " small" : " large");
        if (a->is_one) buf_puts(out, " one");
        if (a->is_none) buf_puts(out, " none");
        print_span(p, a->span);
    }
    buf_putc(out, ')');
    for (int i = 0; i < func_attrs; i++) print_func_attr(out, f, &func_attr[i]);
    print_span(p, f->span);
    buf_puts(out, " {\n");
}

static void print_func(Session *s, const Func *f, bool spans, uint32_t line, Buf *out) {
    Printer p = {
        .s = s, .out = out, .f = f, .taken = {.arena = &s->arena}, .spans = spans, .line = line};
    p.name = arena_array(&s->arena, f->nvalues, sizeof *p.name);
    print_header(&p, f);
    collect_layouts(&p, f->body);
    for (int i = 0; i < p.layouts.n; i++) {
        buf_printf(out, "  layout @L%d", i);
        print_layout(out, p.layouts.at[i]);
    }
    print_block(&p, f->body, 1);
    buf_puts(out, "}\n");
}

void ir_print_listing(Module *m, Buf *out) {
    uint32_t line = 1;
    size_t counted = 0;
    for (Func *f = m->funcs; f; f = f->next) {
        if (f != m->funcs) buf_putc(out, '\n');
        for (; counted < out->len; counted++) line += out->data[counted] == '\n';
        f->listed = line;
        print_func(m->session, f, false, 1, out);
    }
}

static void print_source(const Source *src, Buf *out) {
    buf_puts(out, "\nsource ");
    buf_quote(out, src->name ? src->name : "", strlen(src->name ? src->name : ""));
    buf_puts(out, " {\n");
    const char *p = src->text, *end = src->text + src->len;
    while (p < end) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        stop = stop ? stop + 1 : end;
        buf_puts(out, "  ");
        buf_quote(out, p, (size_t)(stop - p));
        buf_putc(out, '\n');
        p = stop;
    }
    buf_puts(out, "}\n");
}

void ir_print(const Module *m, Buf *out) {
    for (const Func *f = m->funcs; f; f = f->next) {
        if (f != m->funcs) buf_putc(out, '\n');
        print_func(m->session, f, !m->own_source, 0, out);
    }
    if (m->own_source) return;
    for (const Source *src = &m->source; src && src->text; src = src->next) print_source(src, out);
}
