/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* report_text.c: a report -> text, JSON, PTX with its operations above it. */
#include "compiler/report/report.h"

#include "base/file.h"

#include <string.h>

void report_write_text(const Report *r, Buf *out) {
    const Fact *notes = fact_named(r->root, "notes");
    buf_printf(out, "%s for %s (%s), by tilec %s\n", fact_named(r->root, "file")->text,
               r->target->name, r->target->gpus, fact_named(r->root, "tilec")->text);
    for (const Fact *k = fact_named(r->root, "kernels")->first; k; k = k->next) {
        buf_printf(out, "\n%s\n", k->text);
        facts_write_text(k, 1, out);
    }
    if (!notes->first) return;
    buf_puts(out, "\nnotes\n");
    facts_write_text(notes, 1, out);
}

void report_write_json(const Report *r, Buf *out) {
    facts_write_json(r->root, out);
    buf_putc(out, '\n');
}

static const char *heading(Arena *a, const Report *r) {
    const Fact *k = fact_named(r->root, "kernels")->first;
    return arena_printf(a, "%s, %s for %s", fact_named(r->root, "file")->text,
                        k ? k->text : "no kernel", r->target->name);
}

void report_compare_text(const Report *a, const Report *b, bool all, Buf *out) {
    buf_printf(out, "A: %s\n", heading(out->arena, a));
    buf_printf(out, "B: %s\n\n", heading(out->arena, b));
    size_t before = out->len;
    facts_compare_text(a->root, b->root, all, out);
    if (!memchr(out->data + before, '\n', out->len - before - 1)) {
        out->len = before; /* of the table the heading alone */
        buf_puts(out, "Nothing differs.\n");
    }
}

void report_compare_json(const Report *a, const Report *b, Buf *out) {
    facts_compare_json(a->root, b->root, out);
}

/* ---- annotated PTX ---- */

/* ptxas takes bytes outside ASCII nowhere, comments included. */
static void put_ascii(const char *text, size_t n, Buf *out) {
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '\t')
            buf_putc(out, ' ');
        else if (c < 0x20 || c > 0x7E)
            buf_printf(out, "\\x%02x", c);
        else
            buf_putc(out, (char)c);
    }
}

static size_t spaces_at(const char *text, size_t n) {
    size_t i = 0;
    while (i < n && (text[i] == ' ' || text[i] == '\t')) i++;
    return i;
}

/* The listing's lines, as places in it. */
static const char **line_starts(const Report *r, int *n) {
    VEC(const char *) at = {0};
    const char *p = r->listing.data, *end = p + r->listing.len;
    vec_push(&r->s->arena, &at, NULL);
    while (p < end) {
        vec_push(&r->s->arena, &at, p);
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        p = stop ? stop + 1 : end;
    }
    vec_push(&r->s->arena, &at, end);
    *n = at.n;
    return at.at;
}

static void put_source(const Report *r, Span span, Buf *out) {
    size_t len;
    const char *text = source_line(&r->s->source, span.line, &len);
    buf_printf(out, "//~ %s", report_source_place(r, span));
    if (text) {
        size_t skip = spaces_at(text, len);
        buf_puts(out, ": ");
        put_ascii(text + skip, len - skip, out);
    }
    buf_putc(out, '\n');
}

/* Those of the kernel, which its operations name, from that line on. */
static void put_layouts(const char *const *start, uint32_t line, Buf *out) {
    static const char begin[] = "  layout @";
    for (; *start[line] && strncmp(start[line], begin, sizeof begin - 1) == 0; line++) {
        buf_puts(out, "//~ ");
        put_ascii(start[line], (size_t)(start[line + 1] - start[line] - 1), out);
        buf_putc(out, '\n');
    }
}

static void put_op(const Report *r, const char *const *start, uint32_t line, Buf *out) {
    if (line >= (uint32_t)r->op.n || !r->op.at[line]) { /* the line that names the kernel */
        put_layouts(start, line + 1, out);
        buf_printf(out, "//~   IR %u: what the kernel begins with\n", line);
        return;
    }
    size_t len = (size_t)(start[line + 1] - start[line]);
    if (len && start[line][len - 1] == '\n') len--;
    size_t skip = spaces_at(start[line], len);
    buf_printf(out, "//~   IR %u, %s: ", line, report_pass(r->op.at[line]));
    put_ascii(start[line] + skip, len - skip, out);
    buf_putc(out, '\n');
}

void report_annotate(const Report *r, const Buf *ptx, Buf *out) {
    int nstarts;
    const char **start = line_starts(r, &nstarts);
    uint32_t shown = 0, source = 0;
    size_t number = 0;
    for (const char *p = ptx->data, *end = p + ptx->len; p < end; number++) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        stop = stop ? stop + 1 : end;
        uint32_t line = number < (size_t)r->line.n ? r->line.at[number] : 0;
        if (*p == '}') shown = source = 0;
        if (line && line != shown && (int)line + 1 < nstarts) {
            const Op *op = line < (uint32_t)r->op.n ? r->op.at[line] : NULL;
            if (op && op->span.line && op->span.line != source) {
                put_source(r, op->span, out);
                source = op->span.line;
            }
            put_op(r, start, line, out);
            shown = line;
        }
        buf_write(out, p, (size_t)(stop - p));
        p = stop;
    }
}
