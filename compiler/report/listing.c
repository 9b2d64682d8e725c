/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* listing.c: `.loc` directives in PTX -> the source's lines as comments, or nothing.
 *
 * LLVM writes `.loc FILE LINE COLUMN` in front of the instructions that an operation became, each
 * time the place changes. ptxas takes bytes outside ASCII nowhere, comments included, so those of
 * the source are escaped. */
#include "compiler/report/listing.h"

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

uint32_t listing_loc(const char *text, size_t n) {
    static const char word[] = "\t.loc\t";
    if (!opens_with(text, n, word)) return 0;
    char *end;
    strtoul(text + sizeof word - 1, &end, 10); /* the file: there is one */
    return (uint32_t)strtoul(end, NULL, 10);
}

/* ---- with the source ---- */

/* Where each line of the source begins: made once, lines are asked for in any order. */
typedef VEC(size_t) Starts;

static Starts line_starts(Arena *a, const Source *source) {
    Starts s = {0};
    vec_push(a, &s, 0);
    for (size_t i = 0; i < source->len; i++)
        if (source->text[i] == '\n') vec_push(a, &s, i + 1);
    return s;
}

static void put_comment(const Source *source, const Starts *starts, uint32_t line, Buf *out) {
    size_t begin = starts->at[line - 1], end = begin;
    while (end < source->len && source->text[end] != '\n') end++;
    while (begin < end && (source->text[begin] == ' ' || source->text[begin] == '\t')) begin++;
    buf_printf(out, "\t// %u: ", line);
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

void listing_annotate(const Source *source, const Buf *ptx, Buf *out) {
    Starts starts = {0};
    uint32_t shown = 0;
    if (source->text) starts = line_starts(out->arena, source);
    size_t n = ptx->len, rest;
    for (const char *at = ptx->data; n; at += n - rest, n = rest) {
        size_t len = line_length(at, n, &rest);
        uint32_t line = listing_loc(at, len);
        if (opens_with(at, len, "}")) shown = 0;
        if (line && line != shown && line <= (uint32_t)starts.n) {
            put_comment(source, &starts, line, out);
            shown = line;
        }
        buf_write(out, at, n - rest);
    }
}

/* ---- without ---- */

void listing_strip(const Buf *ptx, Buf *out) {
    static const char *const words[] = {"\t.loc\t",       "\t.file\t",    "\t.section\t.debug",
                                        "$L__func_begin", "$L__func_end", "$L__tmp"};
    size_t n = ptx->len, rest;
    for (const char *at = ptx->data; n; at += n - rest, n = rest) {
        size_t len = line_length(at, n, &rest);
        bool drop = false;
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
            drop |= opens_with(at, len, words[i]);
        if (!drop) buf_write(out, at, n - rest);
    }
}
