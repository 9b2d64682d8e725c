/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* token.c: text of tile IR -> tokens, one at a time, for parse.c. Comments run from // to the end
 * of the line. Names are interned; a quoted name may hold any bytes. */
#include "ir/token.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

void token_fail(Parser *p, const char *fmt, ...) {
    if (p->failed) return;
    p->failed = true;
    va_list ap;
    va_start(ap, fmt);
    const char *text = arena_vprintf(&p->s->arena, fmt, ap);
    va_end(ap);
    diag(&p->s->diags, E_TIR_SYNTAX, p->at, "%s", text);
    p->tok = T_END;
}

static bool name_char(char c) {
    return isalnum((unsigned char)c) || c == '_' || c == '.';
}

static void skip_space(Parser *p) {
    while (p->p < p->end) {
        if (*p->p == '\n') {
            p->line++;
            p->line_start = ++p->p;
        } else if (*p->p == ' ' || *p->p == '\t' || *p->p == '\r') {
            p->p++;
        } else if (*p->p == '/' && p->end - p->p > 1 && p->p[1] == '/') {
            while (p->p < p->end && *p->p != '\n') p->p++;
        } else {
            return;
        }
    }
}

static int hex_digit(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* A quoted string, escapes resolved; p->p is at the opening quote. */
static void lex_string(Parser *p) {
    Buf b = buf_new(&p->s->arena);
    p->p++;
    while (p->p < p->end && *p->p != '"' && *p->p != '\n') {
        char c = *p->p++;
        if (c == '\\' && p->p < p->end) {
            c = *p->p++;
            if (c == 'n')
                c = '\n';
            else if (c == 't')
                c = '\t';
            else if (c == 'x' && p->end - p->p >= 2 && hex_digit(p->p[0]) >= 0 &&
                     hex_digit(p->p[1]) >= 0) {
                c = (char)(hex_digit(p->p[0]) * 16 + hex_digit(p->p[1]));
                p->p += 2;
            } else if (c != '"' && c != '\\') {
                token_fail(p, "unknown escape in a string");
                return;
            }
        }
        buf_putc(&b, c);
    }
    if (p->p >= p->end || *p->p != '"') {
        token_fail(p, "unterminated string");
        return;
    }
    p->p++;
    p->text = b.data;
    p->len = b.len;
}

static uint32_t lex_uint(Parser *p) {
    uint64_t v = 0;
    while (p->p < p->end && isdigit((unsigned char)*p->p)) {
        v = v * 10 + (uint64_t)(*p->p++ - '0');
        if (v > UINT32_MAX) v = UINT32_MAX;
    }
    return (uint32_t)v;
}

static uint16_t to_col(uint32_t v) {
    return v > UINT16_MAX ? UINT16_MAX : (uint16_t)v;
}

static void lex_span(Parser *p) {
    p->span.line = lex_uint(p);
    bool ok = p->p < p->end && *p->p == ':';
    if (ok) p->p++;
    p->span.col = to_col(lex_uint(p));
    ok = ok && p->p < p->end && *p->p == '-';
    if (ok) p->p++;
    if (ok && p->p < p->end && *p->p == '*') {
        p->p++;
        p->span.end = SPAN_TO_LINE_END;
    } else {
        p->span.end = to_col(lex_uint(p));
    }
    if (!ok) token_fail(p, "a place is written @line:col-end");
}

static void lex_name(Parser *p) {
    const char *from = p->p;
    while (p->p < p->end && name_char(*p->p)) p->p++;
    p->text = intern(&p->s->names, from, (size_t)(p->p - from));
}

void token_next(Parser *p) {
    if (p->failed) return;
    skip_space(p);
    size_t col = (size_t)(p->p - p->line_start) + 1;
    p->at = (Span){p->line, to_col((uint32_t)(col > UINT16_MAX ? UINT16_MAX : col)), 0};
    const char *from = p->p;
    if (p->p >= p->end) {
        p->tok = T_END;
        return;
    }
    char c = *p->p, d = p->end - p->p > 1 ? p->p[1] : 0;
    if (c == '"') {
        p->tok = T_STRING;
        lex_string(p);
    } else if (c == '%' || (c == '@' && !isdigit((unsigned char)d))) {
        p->tok = c == '%' ? T_VALUE : T_SYMBOL;
        p->p++;
        if (d == '"') {
            lex_string(p);
            if (!p->failed) p->text = intern(&p->s->names, p->text, p->len);
            if (!p->failed && strlen(p->text) != p->len) token_fail(p, "a NUL in a name");
        } else if (name_char(d)) {
            lex_name(p);
        } else {
            token_fail(p, "a name must follow '%c'", c);
        }
    } else if (c == '@') {
        p->tok = T_SPAN;
        p->p++;
        lex_span(p);
    } else if (isdigit((unsigned char)c) || (c == '-' && (isdigit((unsigned char)d) || d == 'i'))) {
        p->tok = T_NUMBER;
        if (c == '-') p->p++;
        while (p->p < p->end &&
               (name_char(*p->p) || ((*p->p == '+' || *p->p == '-') && (p->p[-1] == 'p'))))
            p->p++;
        p->text = from;
        p->len = (size_t)(p->p - from);
    } else if (isalpha((unsigned char)c) || c == '_') {
        p->tok = T_WORD;
        lex_name(p);
    } else {
        p->tok = T_PUNCT;
        p->p++;
        p->text = intern(&p->s->names, from, 1);
    }
    if (!p->failed) p->at.end = to_col((uint32_t)(p->at.col + (size_t)(p->p - from)));
}

bool is_punct(const Parser *p, char c) {
    return p->tok == T_PUNCT && p->text[0] == c;
}
bool is_word(const Parser *p, const char *w) {
    return p->tok == T_WORD && strcmp(p->text, w) == 0;
}

bool take_punct(Parser *p, char c) {
    if (!is_punct(p, c)) return false;
    token_next(p);
    return true;
}

void want_punct(Parser *p, char c) {
    if (!take_punct(p, c)) token_fail(p, "expected '%c'", c);
}

/* A signed number, or with *high one that needs all 64 bits, as its bits. */
static int64_t any_int(Parser *p, bool *high) {
    if (p->tok != T_NUMBER || p->len > 24) {
        token_fail(p, "expected a number");
        return 0;
    }
    char digits[32];
    memcpy(digits, p->text, p->len);
    digits[p->len] = 0;
    char *end;
    errno = 0;
    int64_t v = digits[0] == '-' ? strtoll(digits, &end, 10) : (int64_t)strtoull(digits, &end, 10);
    if (errno || *end) token_fail(p, "'%s' is not a 64-bit integer", digits);
    *high = digits[0] != '-' && v < 0;
    return v;
}

int64_t want_int(Parser *p) {
    bool high = false;
    int64_t v = any_int(p, &high);
    if (high) token_fail(p, "%llu does not fit i64", (unsigned long long)v);
    token_next(p);
    return v;
}

int64_t want_uint(Parser *p) {
    bool high = false;
    int64_t v = any_int(p, &high);
    if (!high && v < 0) token_fail(p, "%lld does not fit u64", (long long)v);
    token_next(p);
    return v;
}

int64_t want_int_in(Parser *p, int64_t low, int64_t high) {
    int64_t v = want_int(p);
    if (!p->failed && (v < low || v > high)) {
        token_fail(p, "%lld is out of range: expected %lld to %lld", (long long)v, (long long)low,
                   (long long)high);
        return low;
    }
    return v;
}

Span opt_span(Parser *p) {
    if (p->tok != T_SPAN) return (Span){0};
    Span span = p->span;
    p->placed = true;
    token_next(p);
    return span;
}
