/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* position.c: places <-> positions of LSP, paths <-> URIs (see position.h). */
#include "compiler/lsp/position.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- UTF-16 ---- */

/* Bytes of the character at s, and its units; of text that is no UTF-8 one each. */
static size_t character_at(const char *s, size_t n, size_t *units) {
    unsigned char c = (unsigned char)*s;
    size_t bytes = c < 0xC0 ? 1 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
    *units = bytes == 4 ? 2 : 1;
    return bytes < n ? bytes : n;
}

size_t position_units(const char *line, size_t n) {
    size_t units = 0;
    for (size_t i = 0, u; i < n; units += u) i += character_at(line + i, n - i, &u);
    return units;
}

static const char *line_start(const char *text, const char *end, size_t line) {
    const char *at = text;
    for (; line; line--) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop) return end;
        at = stop + 1;
    }
    return at;
}

static size_t line_length(const char *at, const char *end) {
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    if (!stop) stop = end;
    if (stop > at && stop < end && stop[-1] == '\r') stop--;
    return (size_t)(stop - at);
}

size_t position_offset(const char *text, size_t len, Position p) {
    const char *end = text + len, *at = line_start(text, end, p.line);
    size_t n = line_length(at, end), i = 0, units = 0;
    while (i < n) {
        size_t u, bytes = character_at(at + i, n - i, &u);
        if (units + u > p.character) break;
        units += u;
        i += bytes;
    }
    return (size_t)(at - text) + i;
}

void position_place(const char *text, size_t len, Position p, uint32_t *line, uint32_t *col) {
    size_t offset = position_offset(text, len, p), start = offset;
    while (start && text[start - 1] != '\n') start--;
    size_t n = 1;
    for (size_t i = 0; i < start; i++) n += text[i] == '\n';
    *line = n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
    *col = offset - start < SPAN_TO_LINE_END - 1 ? (uint32_t)(offset - start + 1)
                                                 : SPAN_TO_LINE_END - 1;
}

json_t *position_json(size_t line, size_t character) {
    return json_pack("{s:I, s:I}", "line", (json_int_t)line, "character", (json_int_t)character);
}

bool lines_make(Lines *l, const Source *first) {
    size_t n = 1;
    for (size_t i = 0; i < first->len; i++) n += first->text[i] == '\n';
    *l = (Lines){first, malloc(n * sizeof *l->start), (uint32_t)n};
    if (!l->start) return false;
    l->start[0] = 0;
    n = 1;
    for (size_t i = 0; i < first->len; i++)
        if (first->text[i] == '\n') l->start[n++] = i + 1;
    return true;
}

const char *lines_at(const Lines *l, uint32_t line, size_t *len) {
    const Source *first = l->first;
    if (!line || line > l->n) return source_line(first, line, len);
    const char *at = first->text + l->start[line - 1];
    *len = line_length(at, first->text + first->len);
    return at;
}

json_t *range_json(const Lines *l, Span span) {
    uint32_t number = source_line_number(l->first, span.line);
    size_t len = 0, from = span.col ? span.col - 1 : 0, to = span.end ? span.end - 1u : from;
    const char *text = lines_at(l, span.line, &len);
    if (text) {
        if (to > len || span.end == SPAN_TO_LINE_END) to = len;
        if (from > to) from = to;
        from = position_units(text, from);
        to = position_units(text, to);
    }
    size_t line = number ? number - 1 : 0;
    return json_pack("{s:o, s:o}", "start", position_json(line, from), "end",
                     position_json(line, to < from ? from : to));
}

json_t *location_json(const Lines *l, Span span) {
    const Source *source = source_at(l->first, span.line);
    char *uri = path_uri(source->name);
    json_t *out = uri ? json_pack("{s:o, s:o}", "uri", text_json(uri, strlen(uri)), "range",
                                  range_json(l, span))
                      : NULL;
    free(uri);
    return out;
}

json_t *text_json(const char *s, size_t n) {
    if (utf8_valid_prefix(s, n) == n) return json_stringn_nocheck(s, n);
    char *fixed = malloc(3 * n + 1);
    size_t k = 0;
    for (size_t i = 0; fixed && i < n;) {
        size_t valid = utf8_valid_prefix(s + i, n - i);
        memcpy(fixed + k, s + i, valid);
        k += valid;
        i += valid;
        if (i == n) break;
        memcpy(fixed + k, "\xEF\xBF\xBD", 3);
        k += 3;
        i++;
    }
    json_t *out = fixed ? json_stringn_nocheck(fixed, k) : NULL;
    free(fixed);
    return out;
}

/* ---- URIs ---- */

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    c = (char)tolower((unsigned char)c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* False: it is no file of this machine. */
static bool decode_path(const char *uri, char *to) {
    if (strncmp(uri, "file://", 7)) return false;
    uri += 7;
    if (strncmp(uri, "localhost/", 10) == 0) uri += 9;
    if (*uri != '/') return false;
    for (; *uri; uri++) {
        int high = *uri == '%' ? hex_digit(uri[1]) : -1, low = high < 0 ? -1 : hex_digit(uri[2]);
        int c = low < 0 ? (unsigned char)*uri : high * 16 + low;
        if (!c || (*uri == '%' && low < 0)) return false;
        if (low >= 0) uri += 2;
        *to++ = (char)c;
    }
    *to = '\0';
    return true;
}

char *uri_path(const char *uri) {
    char *path = malloc(strlen(uri) + 3);
    if (path && !decode_path(uri, path)) sprintf(path, "<%s>", uri);
    return path;
}

char *path_uri(const char *path) {
    char folder[PATH_MAX] = "";
    const char *colon = strchr(path, ':'), *slash = strchr(path, '/');
    if (colon && (!slash || colon < slash)) return strdup(path);
    if (*path != '/' && !getcwd(folder, sizeof folder)) return NULL;
    size_t n = strlen(folder), k = strlen(path);
    char *uri = malloc(7 + 3 * (n + 1 + k) + 1), *to = uri;
    if (!uri) return NULL;
    to = stpcpy(to, "file://");
    for (size_t i = 0; i < n + 1 + k; i++) {
        char c = i < n ? folder[i] : i == n ? '/' : path[i - n - 1];
        if (i == n && !n) continue; /* the path has its own */
        if (isalnum((unsigned char)c) || strchr("/-._~", c))
            *to++ = c;
        else
            to += sprintf(to, "%%%02X", (unsigned char)c);
    }
    *to = '\0';
    return uri;
}
