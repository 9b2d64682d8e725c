/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* listing.c: `.loc` directives in PTX -> the source's lines as comments, or nothing.
 *
 * LLVM writes `.loc FILE LINE COLUMN` in front of the instructions that an operation became, each
 * time the place changes. ptxas takes bytes outside ASCII nowhere, comments included, so those of
 * the source are escaped. */
#include "compiler/report/listing.h"

#include "base/file.h"

#include <stdlib.h>
#include <string.h>

/* The line that begins at text[0], up to its newline; *rest is what follows. */
static size_t line_length(const char *text, size_t n, size_t *rest) {
    const char *end = memchr(text, '\n', n);
    size_t len = end ? (size_t)(end - text) : n;
    *rest = n - len - (end != NULL);
    return len;
}

static bool opens_with(const char *text, size_t n, const char *word) {
    size_t k = strlen(word);
    return n >= k && memcmp(text, word, k) == 0;
}

/* The line of a `.loc` directive at the head of text[0..n) and its file's number; 0 when there is
 * none or no line in it. */
static uint32_t read_loc(const char *text, size_t n, unsigned long *file) {
    static const char word[] = "\t.loc\t";
    if (!opens_with(text, n, word)) return 0;
    char *end;
    *file = strtoul(text + sizeof word - 1, &end, 10);
    return (uint32_t)strtoul(end, NULL, 10);
}

/* ---- with the source ---- */

/* A `.file` of the PTX: the source that it is, and where each of its lines begins, as lines are
 * asked for in any order. */
typedef struct File {
    unsigned long number;
    const Source *source;
    VEC(size_t) start;
} File;
typedef VEC(File) Files;

static void add_file(Files *files, const Source *first, const char *text, size_t n, Arena *a) {
    static const char word[] = "\t.file\t";
    if (!opens_with(text, n, word)) return;
    char *at;
    File f = {.number = strtoul(text + sizeof word - 1, &at, 10)};
    at += strspn(at, " \t\"");
    size_t length = (size_t)(text + n - at);
    while (length && (at[length - 1] == '"' || at[length - 1] == '\r')) length--;
    for (const Source *s = first; s && !f.source; s = s->next) {
        const char *name = source_shown_name(first, s);
        if (strlen(name) == length && memcmp(name, at, length) == 0) f.source = s;
    }
    if (!f.source || !f.source->text) return;
    vec_push(a, &f.start, 0);
    for (size_t i = 0; i < f.source->len; i++)
        if (f.source->text[i] == '\n') vec_push(a, &f.start, i + 1);
    vec_push(a, files, f);
}

static void put_comment(const File *f, bool alone, uint32_t line, Buf *out) {
    const Source *source = f->source;
    size_t begin = f->start.at[line - 1], end = begin;
    while (end < source->len && source->text[end] != '\n') end++;
    while (begin < end && (source->text[begin] == ' ' || source->text[begin] == '\t')) begin++;
    buf_printf(out, alone ? "\t// " : "\t// %s:", file_base_name(source->name));
    buf_printf(out, "%u: ", line);
    for (size_t i = begin; i < end; i++) {
        unsigned char c = (unsigned char)source->text[i];
        if (c == '\t')
            buf_putc(out, ' ');
        else if (c < 0x20 || c > 0x7E)
            buf_printf(out, "\\x%02x", c);
        else
            buf_putc(out, (char)c);
    }
    buf_putc(out, '\n');
}

void listing_annotate(const Source *first, const Buf *ptx, Buf *out) {
    Files files = {0};
    const File *shown_file = NULL;
    uint32_t shown = 0;
    size_t n = ptx->len, rest;
    for (const char *at = ptx->data; n; at += n - rest, n = rest)
        add_file(&files, first, at, line_length(at, n, &rest), out->arena);
    n = ptx->len;
    for (const char *at = ptx->data; n; at += n - rest, n = rest) {
        size_t len = line_length(at, n, &rest);
        unsigned long number;
        uint32_t line = read_loc(at, len, &number);
        const File *f = NULL;
        for (int i = 0; line && i < files.n; i++)
            if (files.at[i].number == number) f = &files.at[i];
        if (opens_with(at, len, "}")) shown = 0;
        if (f && (line != shown || f != shown_file) && line <= (uint32_t)f->start.n) {
            put_comment(f, f->source == first, line, out);
            shown = line;
            shown_file = f;
        }
        buf_write(out, at, n - rest);
    }
}

/* ---- without ---- */

static bool is_line_info(const char *at, size_t len) {
    static const char *const words[] = {"\t.loc\t",       "\t.file\t",    "\t.section\t.debug",
                                        "$L__func_begin", "$L__func_end", "$L__tmp"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (opens_with(at, len, words[i])) return true;
    return false;
}

void listing_strip(const Buf *ptx, Buf *out) {
    size_t n = ptx->len, rest;
    for (const char *at = ptx->data; n; at += n - rest, n = rest) {
        size_t len = line_length(at, n, &rest);
        if (!is_line_info(at, len)) buf_write(out, at, n - rest);
    }
}

void listing_lines(const Buf *ptx, Arena *a, ListingLines *lines) {
    size_t n = ptx->len, rest;
    uint32_t line = 0;
    for (const char *at = ptx->data; n; at += n - rest, n = rest) {
        size_t len = line_length(at, n, &rest);
        unsigned long file;
        bool info = is_line_info(at, len);
        if (opens_with(at, len, "\t.loc\t")) line = read_loc(at, len, &file);
        if (opens_with(at, len, "}")) line = 0;
        bool code = len && at[0] == '\t' && at[1] != '.';
        if (!info) vec_push(a, lines, code ? line : 0);
    }
}
