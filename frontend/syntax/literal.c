/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* literal.c: the text of a number, string or name token → its value.
 *
 * Convention: the lexer has checked the shape of numbers and the quotes of strings, so only values
 * can be wrong here. A message that is returned has no place of its own: the token's is meant. */
#include "frontend/syntax/token.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int digit_value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return 99;
}

const char *literal_int(const char *s, size_t n, uint64_t *value) {
    unsigned base = 10;
    size_t i = 0;
    if (n > 2 && s[0] == '0') {
        char c = (char)(s[1] | 0x20);
        base = c == 'x' ? 16 : c == 'o' ? 8 : c == 'b' ? 2 : 10;
        if (base != 10) i = 2;
    }
    uint64_t v = 0;
    for (; i < n; i++) {
        if (s[i] == '_') continue;
        unsigned d = (unsigned)digit_value(s[i]);
        if (v > (UINT64_MAX - d) / base) {
            *value = 0;
            return "integer is too large: it does not fit into 64 bits";
        }
        v = v * base + d;
    }
    *value = v;
    return NULL;
}

double literal_float(Arena *a, const char *s, size_t n) {
    /* strtod reads the decimal point of the host program's locale, whatever that is. */
    char half[16];
    int len = snprintf(half, sizeof half, "%.1f", 0.5);
    const char *point = len > 2 ? half + 1 : ".5";
    size_t point_len = len > 2 ? (size_t)len - 2 : 1;
    Buf text = buf_new(a);
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '.')
            buf_write(&text, point, point_len);
        else if (s[i] != '_')
            buf_putc(&text, s[i]);
    }
    return strtod(text.data, NULL);
}

void literal_strip(const char **s, size_t *n) {
    while (*n && **s != '\'' && **s != '"') (*s)++, (*n)--;
    const char *text = *s;
    size_t quotes = *n >= 6 && text[1] == text[0] && text[2] == text[0] ? 3 : 1;
    *s += quotes;
    *n -= 2 * quotes;
}

static void put_utf8(Buf *b, uint32_t c) {
    if (c < 0x80) {
        buf_putc(b, (char)c);
        return;
    }
    int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const unsigned char lead[] = {0, 0xC0, 0xE0, 0xF0};
    buf_putc(b, (char)(lead[more] | c >> 6 * more));
    for (int i = more - 1; i >= 0; i--) buf_putc(b, (char)(0x80 | (c >> 6 * i & 0x3F)));
}

/* Reads up to `most` digits of `base`; returns how many there were. */
static size_t read_digits(const char *s, size_t n, size_t most, unsigned base, uint32_t *value) {
    size_t i = 0;
    for (*value = 0; i < n && i < most; i++) {
        unsigned d = (unsigned)digit_value(s[i]);
        if (d >= base) break;
        *value = *value * base + d;
    }
    return i;
}

/* One escape at s[0] == '\\'; *used is its length. */
static const char *put_escape(Buf *out, const char *s, size_t n, size_t *used) {
    static const char from[] = "\\'\"abfnrtv", to[] = "\\'\"\a\b\f\n\r\t\v";
    if (n < 2) {
        buf_putc(out, '\\');
        *used = 1;
        return NULL;
    }
    char c = s[1];
    *used = 2;
    const char *known = c ? strchr(from, c) : NULL;
    if (known) {
        buf_putc(out, to[known - from]);
        return NULL;
    }
    if (c == '\n') return NULL;
    if (c == '\r' && n > 2 && s[2] == '\n') {
        *used = 3;
        return NULL;
    }
    uint32_t value;
    if (c >= '0' && c <= '7') {
        *used = 1 + read_digits(s + 1, n - 1, 3, 8, &value);
        put_utf8(out, value);
        return NULL;
    }
    size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (digits) {
        *used = 2 + read_digits(s + 2, n - 2, digits, 16, &value);
        if (*used < 2 + digits) return "a \\x, \\u or \\U escape has too few hexadecimal digits";
        if (value > 0x10FFFF || (value >= 0xD800 && value < 0xE000))
            return "a \\u or \\U escape names no character";
        put_utf8(out, value);
        return NULL;
    }
    if (c == 'N') return "\\N{…} escapes are not supported";
    buf_write(out, s, 2); /* Python keeps a backslash that means nothing */
    return NULL;
}

const char *literal_string(Arena *a, const char *s, size_t n, bool raw, bool is_fstring,
                           const char **out, size_t *out_len) {
    Buf text = buf_new(a);
    const char *problem = NULL;
    for (size_t i = 0; i < n;) {
        size_t used = 1;
        if (s[i] == '\\' && !raw) {
            const char *wrong = put_escape(&text, s + i, n - i, &used);
            if (wrong && !problem) problem = wrong;
        } else if (s[i] == '\r' && i + 1 < n && s[i + 1] == '\n') {
            /* a line of a CRLF file ends in \n for Python too */
        } else {
            buf_putc(&text, s[i]);
            if (is_fstring && (s[i] == '{' || s[i] == '}') && i + 1 < n && s[i + 1] == s[i])
                used = 2;
        }
        i += used;
    }
    *out = text.data;
    *out_len = text.len;
    return problem;
}

/* Blocks of spaces, punctuation and symbols that an editor or a keyboard puts into code: what a
 * language calls a letter lies outside them. */
static const struct {
    uint32_t first, last;
} no_letters[] = {
    {0x80, 0xA9},     {0xAB, 0xB4},     {0xB6, 0xB6},       {0xB8, 0xB9},     {0xBB, 0xBF},
    {0xD7, 0xD7},     {0xF7, 0xF7},     {0x2000, 0x203E},   {0x2041, 0x2053}, {0x2055, 0x2070},
    {0x2074, 0x207E}, {0x2080, 0x208F}, {0x20A0, 0x20CF},   {0x2190, 0x2BFF}, {0x3000, 0x3004},
    {0x3008, 0x3020}, {0xE000, 0xF8FF}, {0xFE30, 0xFE32},   {0xFE35, 0xFE4C}, {0xFE50, 0xFE6F},
    {0xFEFF, 0xFEFF}, {0xFF01, 0xFF0F}, {0xFF1A, 0xFF20},   {0xFF3B, 0xFF3E}, {0xFF40, 0xFF40},
    {0xFF5B, 0xFF65}, {0xFFE0, 0xFFFF}, {0x1F000, 0x1FAFF},
};

size_t name_valid_prefix(const char *s, size_t n) {
    for (size_t i = 0; i < n;) {
        unsigned char c = (unsigned char)s[i];
        size_t len = c < 0x80 ? 1 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
        if (n - i < len) return i;
        uint32_t point = len == 1 ? c : c & (0x7Fu >> len);
        for (size_t k = 1; k < len; k++) point = point << 6 | ((unsigned char)s[i + k] & 0x3Fu);
        for (size_t k = 0; c >= 0x80 && k < sizeof no_letters / sizeof *no_letters; k++)
            if (point >= no_letters[k].first && point <= no_letters[k].last) return i;
        i += len;
    }
    return n;
}
