/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* page.c: a report -> one page of HTML that needs nothing else: source, tile IR and PTX beside each
 * other, then the facts, with drawings where a picture says more.
 *
 * A line of the n-th source line has the id sN, of tile IR iN, of PTX pN; data-s and data-i name
 * the line that it is of. page.js lets these find each other; without it the page can be read as
 * well. */
#include "compiler/report/page.h"

#include <string.h>

extern const char page_css[], page_js[];
extern const size_t page_css_size, page_js_size;

/* ---- text ---- */

/* Code points that turn the direction of what follows, or cannot be seen. */
static bool misleads(uint32_t c) {
    return (c >= 0x80 && c < 0xA0) || (c >= 0x200B && c <= 0x200F) ||
           (c >= 0x2028 && c <= 0x202E) || (c >= 0x2060 && c <= 0x206F) || c == 0x061C ||
           c == 0xFEFF || (c >= 0xFFFE && c <= 0xFFFF);
}

/* The first character of text, which is no ASCII, and its length; 0: it is none. */
static uint32_t decode(const unsigned char *text, size_t len, size_t *used) {
    static const unsigned char mask[] = {0, 0, 0x1F, 0x0F, 0x07};
    size_t n = *text >= 0xF0 ? 4 : *text >= 0xE0 ? 3 : 2;
    *used = 1;
    if (n > len || utf8_valid_prefix((const char *)text, n) != n) return 0;
    uint32_t c = *text & mask[n];
    for (size_t i = 1; i < n; i++) c = c << 6 | (text[i] & 0x3F);
    *used = n;
    return c;
}

void page_text(const char *text, size_t len, Buf *out) {
    const unsigned char *p = (const unsigned char *)text, *end = p + len;
    for (size_t used = 1; p < end; p += used) {
        used = 1;
        if (*p == '&')
            buf_puts(out, "&amp;");
        else if (*p == '<')
            buf_puts(out, "&lt;");
        else if (*p == '>')
            buf_puts(out, "&gt;");
        else if (*p == '"')
            buf_puts(out, "&quot;");
        else if (*p == '\'')
            buf_puts(out, "&#39;");
        else if ((*p < 0x20 && *p != '\t' && *p != '\n') || *p == 0x7F)
            buf_printf(out, "\\x%02x", *p);
        else if (*p < 0x80)
            buf_putc(out, (char)*p);
        else {
            uint32_t c = decode(p, (size_t)(end - p), &used);
            if (!c)
                buf_printf(out, "\\x%02x", *p);
            else if (misleads(c))
                buf_printf(out, "\\u%04x", c);
            else
                buf_write(out, (const char *)p, used);
        }
    }
}

void page_string(const char *text, Buf *out) {
    page_text(text, strlen(text), out);
}

/* A fact's name as words. */
static void put_words(const char *name, Buf *out) {
    char *words = arena_strdup(out->arena, name);
    for (char *p = words; *p; p++)
        if (*p == '_') *p = ' ';
    page_string(words, out);
}

/* ---- the three texts ---- */

/* The text with a line for each of its lines; `open` writes what is inside of a line's tag. */
static void put_lines(Page *p, const char *text, size_t len, void (*open)(Page *p, uint32_t line)) {
    uint32_t line = 1;
    for (const char *at = text, *end = text + len; at < end; line++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop ? stop : end;
        buf_puts(p->out, "<div");
        open(p, line);
        buf_putc(p->out, '>');
        page_text(at, (size_t)(stop - at), p->out);
        buf_puts(p->out, "\n</div>");
        at = stop < end ? stop + 1 : end;
    }
}

static const Op *op_of_line(const Report *r, uint32_t line) {
    return line < (uint32_t)r->op.n ? r->op.at[line] : NULL;
}

static bool has_source_line(const Report *r, uint32_t line) {
    size_t len;
    return line && source_line(&r->s->source, line, &len);
}

static void open_ir(Page *p, uint32_t line) {
    const Op *op = op_of_line(p->r, line);
    buf_printf(p->out, " id=i%u", line);
    if (!op) return;
    buf_printf(p->out, " data-by=%s", report_pass(op));
    if (has_source_line(p->r, op->span.line)) buf_printf(p->out, " data-s=%u", op->span.line);
}

static void open_ptx(Page *p, uint32_t line) {
    uint32_t of = line <= (uint32_t)p->r->line.n ? p->r->line.at[line - 1] : 0;
    buf_printf(p->out, " id=p%u", line);
    if (of) buf_printf(p->out, " data-i=%u", of);
}

static void open_pane(Page *p, const char *id, const char *title) {
    buf_printf(p->out, "<section class=pane><h2 id=%s-name>", id);
    page_string(title, p->out);
    buf_printf(p->out, "</h2>\n<div class=code id=%s tabindex=0 aria-labelledby=%s-name>", id, id);
}

static void close_pane(Page *p) {
    buf_puts(p->out, "</div></section>\n");
}

/* Lines of all sources count on: those behind the first have a line with their name above. */
static void put_sources(Page *p) {
    const Source *first = &p->r->s->source;
    if (!first->text) buf_puts(p->out, "<p>The source is not known: tile IR was compiled.</p>");
    for (const Source *s = first; s; s = s->next) {
        uint32_t line = s->before;
        if (s != first) {
            buf_puts(p->out, "<h3>");
            page_string(source_shown_name(first, s), p->out);
            buf_puts(p->out, "</h3>");
        }
        for (const char *at = s->text, *end = at ? at + s->len : NULL; at < end;) {
            const char *stop = memchr(at, '\n', (size_t)(end - at));
            stop = stop ? stop : end;
            ++line;
            buf_printf(p->out, "<div id=s%u data-n=%u>", line, line - s->before);
            page_text(at, (size_t)(stop - at), p->out);
            buf_puts(p->out, "\n</div>");
            at = stop < end ? stop + 1 : end;
        }
    }
}

static void put_panes(Page *p) {
    const Report *r = p->r;
    buf_puts(p->out, "<div class=panes>\n");
    open_pane(p, "source", fact_named(r->root, "file")->text);
    put_sources(p);
    close_pane(p);
    open_pane(p, "ir", "tile IR");
    put_lines(p, r->listing.data, r->listing.len, open_ir);
    close_pane(p);
    open_pane(p, "ptx", "PTX");
    put_lines(p, r->ptx, strlen(r->ptx), open_ptx);
    close_pane(p);
    buf_puts(
        p->out,
        "</div>\n<p id=where role=status>Point at a line, or press Tab and the arrow keys: the "
        "others show what it is of and what became of it. Enter goes to them.</p>\n");
}

/* ---- facts ---- */

static bool is_named(const Fact *f, const char *name) {
    return f->name && strcmp(f->name, name) == 0;
}

static bool is_inner(const Fact *f) {
    return f->kind == FACT_GROUP || f->kind == FACT_LIST;
}

/* Numbers that go without reasons, of which there are many: written side by side. */
static bool is_counts(const Fact *group) {
    if (group->kind != FACT_GROUP || !group->name || !group->first) return false;
    for (const Fact *f = group->first; f; f = f->next)
        if (f->kind != FACT_NUMBER || f->why || f->line) return false;
    return !fact_named(group, "bytes");
}

static void put_link(Page *p, uint32_t line, const char *at) {
    buf_printf(p->out, "<a href=\"#i%u\">", line);
    if (at) {
        page_string(at, p->out);
        buf_puts(p->out, ", ");
    }
    buf_printf(p->out, "IR %u</a>", line);
}

static bool names_line(const Fact *f) {
    static const char end[] = "ir_line";
    size_t n = strlen(f->name), k = sizeof end - 1;
    return f->kind == FACT_NUMBER && n > k && strcmp(f->name + n - k, end) == 0 && f->number > 0;
}

/* `own`: its name is the source's. */
static void put_row(Page *p, const Fact *f, bool own) {
    buf_puts(p->out, "<tr><th>");
    if (own)
        page_string(f->name, p->out);
    else
        put_words(f->name, p->out);
    buf_puts(p->out, "</th><td>");
    if (names_line(f)) {
        put_link(p, (uint32_t)f->number, NULL);
    } else {
        Buf value = buf_new(p->out->arena);
        fact_put_value(f, &value);
        page_text(value.data, value.len, p->out);
    }
    if (f->line) {
        buf_putc(p->out, ' ');
        put_link(p, f->line, NULL);
    }
    if (f->why) {
        buf_puts(p->out, " <small>");
        page_string(f->why, p->out);
        buf_puts(p->out, "</small>");
    }
    buf_puts(p->out, "</td></tr>\n");
}

static void put_counts(Page *p, const Fact *group) {
    buf_puts(p->out, "<p class=counts><b>");
    put_words(group->name, p->out);
    buf_puts(p->out, "</b>");
    for (const Fact *f = group->first; f; f = f->next) {
        buf_puts(p->out, " <span>");
        page_string(f->name, p->out);
        buf_printf(p->out, " <i>%lld</i></span>", (long long)f->number);
    }
    buf_puts(p->out, "</p>\n");
}

static void put_facts(Page *p, const Fact *in, int depth);

static void put_item(Page *p, const Fact *list, const Fact *f, int depth) {
    buf_printf(p->out, "<article><h%d>", depth);
    page_string(f->text, p->out);
    buf_printf(p->out, "</h%d>", depth);
    if (f->line) {
        buf_puts(p->out, "<p class=at>");
        put_link(p, f->line, f->at);
        buf_puts(p->out, "</p>");
    }
    buf_putc(p->out, '\n');
    if (is_named(list, "loops")) page_pipeline(p, f);
    if (is_named(list, "tiles")) page_tile(p, f);
    put_facts(p, f, depth + 1);
    buf_puts(p->out, "</article>\n");
}

static void put_inner(Page *p, const Fact *f, int depth) {
    if (is_counts(f)) {
        put_counts(p, f);
        return;
    }
    buf_printf(p->out, "<section><h%d>", depth);
    put_words(f->name, p->out);
    buf_printf(p->out, "</h%d>\n", depth);
    if (is_named(f, "shared_memory")) page_shared_map(p, f);
    if (is_named(f, "occupancy")) page_occupancy(p);
    if (is_named(f, "roofline")) page_roofline(p, f);
    if (f->kind == FACT_LIST) {
        buf_puts(p->out, "<div class=cards>\n");
        for (const Fact *x = f->first; x; x = x->next) put_item(p, f, x, depth + 1);
        buf_puts(p->out, "</div>\n");
    } else {
        put_facts(p, f, depth + 1);
    }
    buf_puts(p->out, "</section>\n");
}

/* A table for those that follow each other. */
static void put_facts(Page *p, const Fact *in, int depth) {
    bool open = false;
    if (depth > 6) depth = 6; /* HTML has no more headings */
    for (const Fact *f = in->first; f; f = f->next) {
        if (is_inner(f) && !f->first) continue;
        if (is_inner(f) == open) buf_puts(p->out, open ? "</table>\n" : "<table>\n");
        open = !is_inner(f);
        if (open)
            put_row(p, f, is_named(in, "config"));
        else
            put_inner(p, f, depth);
    }
    if (open) buf_puts(p->out, "</table>\n");
}

static void put_kernel(Page *p, int number) {
    const Fact *f = p->k->facts;
    buf_printf(p->out, "<section class=kernel id=k%d><h2>", number);
    page_string(f->text, p->out);
    buf_puts(p->out, "</h2>\n<p class=at>");
    put_link(p, p->k->f->listed, NULL);
    buf_puts(p->out, "</p>\n");
    put_facts(p, f, 3);
    page_order(p);
    buf_puts(p->out, "</section>\n");
}

static void put_notes(Page *p) {
    const Fact *notes = fact_named(p->r->root, "notes");
    if (!notes->first) return;
    buf_puts(p->out, "<section class=kernel id=notes><h2>notes</h2>\n<ul>");
    for (const Fact *f = notes->first; f; f = f->next) {
        buf_puts(p->out, "<li>");
        page_string(f->text, p->out);
        buf_puts(p->out, "</li>\n");
    }
    buf_puts(p->out, "</ul></section>\n");
}

/* ---- the page ---- */

static void put_heading(Page *p) {
    const Report *r = p->r;
    const char *file = fact_named(r->root, "file")->text;
    buf_puts(p->out, "<header><h1>");
    page_string(file, p->out);
    buf_printf(p->out, "</h1>\n<p>for %s (", r->target->name);
    page_string(r->target->gpus, p->out);
    buf_puts(p->out, "), by tilec ");
    page_string(fact_named(r->root, "tilec")->text, p->out);
    buf_puts(p->out, "</p>\n<nav>");
    for (int i = 0; i < r->kernels.n; i++) {
        buf_printf(p->out, "<a href=\"#k%d\">", i);
        page_string(r->kernels.at[i].facts->text, p->out);
        buf_puts(p->out, "</a> ");
    }
    if (fact_named(r->root, "notes")->first) buf_puts(p->out, "<a href=\"#notes\">notes</a>");
    buf_puts(p->out, "</nav></header>\n");
}

void report_write_html(const Report *r, Buf *out) {
    Page p = {.r = r, .out = out};
    buf_puts(out, "<!DOCTYPE html>\n<html lang=en><head><meta charset=utf-8>\n"
                  "<meta name=viewport content=\"width=device-width, initial-scale=1\">\n"
                  "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; "
                  "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n<title>");
    page_string(fact_named(r->root, "file")->text, out);
    buf_printf(out, " for %s</title>\n<style>\n", r->target->name);
    buf_write(out, page_css, page_css_size);
    buf_puts(out, "</style></head>\n<body>\n");
    put_heading(&p);
    buf_puts(out, "<main>\n");
    put_panes(&p);
    for (int i = 0; i < r->kernels.n; i++) {
        p.k = &r->kernels.at[i];
        put_kernel(&p, i);
    }
    put_notes(&p);
    buf_puts(out, "</main>\n<script type=\"application/json\" id=report>");
    report_write_json(r, out);
    buf_puts(out, "</script>\n<script>\n");
    buf_write(out, page_js, page_js_size);
    buf_puts(out, "</script></body></html>\n");
}
