/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* diag.c: collects diagnostics and renders them with their source line and caret (see diag.h). */
#include "base/diag.h"

#include "base/file.h"

#include <string.h>

Span span_join(Span a, Span b) {
    if (a.line == 0) return b;
    if (b.line == 0) return a;
    if (b.line > a.line)
        a.end = SPAN_TO_LINE_END;
    else if (b.line == a.line && b.end > a.end)
        a.end = b.end;
    return a;
}

const Source *source_at(const Source *first, uint32_t line) {
    while (first && first->next && line > first->next->before) first = first->next;
    return first;
}

uint32_t source_line_number(const Source *first, uint32_t line) {
    const Source *src = source_at(first, line);
    return src && line ? line - src->before : line;
}

const char *source_shown_name(const Source *first, const Source *source) {
    const char *name = source && source->name ? source->name : "kernel.tl";
    return source == first ? file_base_name(name) : name;
}

uint32_t source_lines_up_to(const Source *last) {
    uint32_t lines = last->before + 2; /* an error may stand behind the last newline */
    const char *p = last->text, *end = last->text + last->len;
    while (p && (p = memchr(p, '\n', (size_t)(end - p)))) {
        p++;
        lines++;
    }
    return lines;
}

const char *source_line(const Source *first, uint32_t line, size_t *len) {
    const Source *src = source_at(first, line);
    if (!src || !src->text || line == 0) return NULL;
    const char *p = src->text, *end = src->text + src->len;
    line -= src->before;
    for (uint32_t i = 1; i < line; i++) {
        p = memchr(p, '\n', (size_t)(end - p));
        if (!p) return NULL;
        p++;
    }
    const char *stop = memchr(p, '\n', (size_t)(end - p));
    if (!stop) stop = end;
    if (stop > p && stop[-1] == '\r') stop--;
    *len = (size_t)(stop - p);
    return p;
}

/* A pass that makes several ops of one (an unrolled loop, a pipeline's prologue) makes as many
 * notes. */
static bool said_already(const Diags *d, const Diag *x) {
    for (const Diag *y = d->first; y; y = y->next)
        if (y->severity == x->severity && !memcmp(&y->span, &x->span, sizeof x->span) &&
            !strcmp(y->text, x->text))
            return true;
    return false;
}

/* Bytes of the character at s[0..n), 0 when there is none: text that is no UTF-8 is shown, too. */
static size_t char_bytes(const char *s, size_t n) {
    unsigned char c = (unsigned char)*s;
    size_t k = c < 0x80 ? 1 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
    return k <= n && utf8_valid_prefix(s, k) == k ? k : 0;
}

/* Nothing that a terminal would act on: neither control characters nor bytes by themselves. */
static void put_line(const char *s, size_t n, Buf *out) {
    for (size_t k; n; s += k ? k : 1, n -= k ? k : 1) {
        k = char_bytes(s, n);
        unsigned char c = (unsigned char)*s;
        bool control = c < 32 || c == 127 || (c == 0xC2 && k && (unsigned char)s[1] < 0xA0);
        if (!k || control)
            buf_putc(out, k ? ' ' : '?');
        else
            buf_write(out, s, k);
    }
}

/* Text from outside, an option's value say, becomes UTF-8 and harmless to a terminal. */
static char *printable(Arena *a, char *text) {
    size_t n = strlen(text);
    bool plain = utf8_valid_prefix(text, n) == n;
    for (size_t i = 0; i < n; i++)
        plain = plain && ((unsigned char)text[i] >= 32 || text[i] == '\n');
    if (plain) return text;
    Buf out = buf_new(a);
    put_line(text, n, &out);
    return out.data;
}

/* Counts it; false: it is not wanted, or one of too many. */
static bool admit(Diags *d, Severity *severity, Code code) {
    if (d->muted) return false;
    if (*severity == DIAG_WARNING && d->warnings_are_errors) *severity = DIAG_ERROR;
    if (code) /* the notes on what is dropped are, too */
        d->dropping = (*severity == DIAG_WARNING && d->no_warnings) ||
                      (*severity == DIAG_PERF && d->no_perfs);
    if (d->dropping) return false;
    if (*severity == DIAG_ERROR) d->errors++;
    if (*severity == DIAG_WARNING) d->warnings++;
    return d->errors <= DIAG_MAX_ERRORS;
}

static void add(Diags *d, Severity severity, Code code, Span span, char *text) {
    Diag *x = arena_alloc(d->arena, sizeof *x);
    *x = (Diag){.severity = severity, .code = code, .span = span};
    x->text = printable(d->arena, text);
    if (severity == DIAG_PERF && said_already(d, x)) return;
    if (d->last)
        d->last->next = x;
    else
        d->first = x;
    d->last = x;
}

void diag(Diags *d, Code code, Span span, const char *fmt, ...) {
    Severity severity = code_severity(code);
    if (!admit(d, &severity, code)) return;
    va_list ap;
    va_start(ap, fmt);
    add(d, severity, code, span, arena_vprintf(d->arena, fmt, ap));
    va_end(ap);
}

void diag_again(Diags *d, Severity severity, Code code, Span span, const char *text) {
    if (admit(d, &severity, code)) add(d, severity, code, span, arena_strdup(d->arena, text));
}

static const struct {
    const char *word, *color;
} severities[] = {
    [DIAG_ERROR] = {"error", "\033[1;31m"},
    [DIAG_WARNING] = {"warning", "\033[1;35m"},
    [DIAG_PERF] = {"perf", "\033[1;33m"},
    [DIAG_NOTE] = {"note", "\033[1;36m"},
};

/* Columns are bytes; what is drawn is characters, so continuation bytes of UTF-8 take no room. */
static bool starts_char(char c) {
    return ((unsigned char)c & 0xC0) != 0x80;
}

/* Many diagnostics may be about one line far down: the search goes on from the last one. */
typedef struct Place {
    const Source *in;
    Source rest;   /* from the start of `line` on */
    uint32_t line; /* of `in` */
} Place;

static const char *find_line(Place *at, const Source *src, uint32_t line, size_t *len) {
    if (!src || !src->text) return NULL;
    if (at->in != src || line < at->line)
        *at = (Place){src, {.text = src->text, .len = src->len}, 1};
    const char *found = source_line(&at->rest, line - at->line + 1, len);
    if (found) {
        at->rest.len -= (size_t)(found - at->rest.text);
        at->rest.text = found;
        at->line = line;
    }
    return found;
}

/* As many of them as there are characters. */
static void put_many(char what, const char *s, size_t n, Buf *out) {
    for (size_t k; n; s += k ? k : 1, n -= k ? k : 1) {
        k = char_bytes(s, n);
        buf_putc(out, what);
    }
}

static void render_excerpt(const Source *src, Place *at, Span span, bool color, Buf *out) {
    enum { WIDEST = 160 };
    size_t len;
    const char *line = find_line(at, src, source_line_number(src, span.line), &len);
    if (!line) return;
    size_t col = span.col ? span.col - 1u : 0;
    if (col > len) col = len;
    size_t end = span.end == SPAN_TO_LINE_END ? len : span.end ? span.end - 1u : col;
    if (end > len) end = len;
    if (end <= col) end = col + 1;
    /* A very long line is shown around its caret only. */
    size_t from = 0;
    if (len > WIDEST && col > WIDEST / 2) from = col - WIDEST / 2;
    while (from < col && !starts_char(line[from])) from++;
    size_t to = len - from > WIDEST ? from + WIDEST : len;
    while (to < len && !starts_char(line[to])) to++;
    buf_puts(out, "    ");
    put_line(line + from, to - from, out);
    buf_puts(out, "\n    ");
    put_many(' ', line + from, col - from, out);
    if (color) buf_puts(out, "\033[1;32m");
    buf_putc(out, '^');
    if (end > to) end = to;
    size_t first = col < end ? char_bytes(line + col, end - col) : 0;
    col += first ? first : 1;
    if (col < end) put_many('~', line + col, end - col, out);
    if (color) buf_puts(out, "\033[0m");
    buf_putc(out, '\n');
}

void diag_sentence(const Diag *x, Buf *out) {
    buf_puts(out, x->text);
    if (x->severity != DIAG_NOTE) buf_printf(out, " [%s]", code_text(x->code));
}

void diag_render(const Diags *d, const Source *first, bool color, Buf *out) {
    Place at = {0};
    for (const Diag *x = d->first; x; x = x->next) {
        const Source *src = source_at(first, x->span.line);
        if (color) buf_puts(out, "\033[1m");
        if (src && src->name) {
            put_line(src->name, strlen(src->name), out);
            buf_putc(out, ':');
        }
        if (x->span.line)
            buf_printf(out, "%u:%u:", source_line_number(src, x->span.line), x->span.col);
        if ((src && src->name) || x->span.line) buf_putc(out, ' ');
        if (color) buf_printf(out, "%s", severities[x->severity].color);
        buf_printf(out, "%s: ", severities[x->severity].word);
        if (color) buf_puts(out, "\033[0m");
        diag_sentence(x, out);
        buf_putc(out, '\n');
        if (x->span.line) render_excerpt(src, &at, x->span, color, out);
    }
    if (d->errors > DIAG_MAX_ERRORS)
        buf_printf(out, "%d more errors\n", d->errors - DIAG_MAX_ERRORS);
    else if (d->errors == DIAG_MAX_ERRORS) /* lowering and the parser stop there */
        buf_printf(out, "that is %d errors: what is wrong behind them is not looked for\n",
                   DIAG_MAX_ERRORS);
}
