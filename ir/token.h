/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* token.h: the tokens of tile IR's text, between token.c and parse.c. */
#ifndef TILE_IR_TOKEN_H
#define TILE_IR_TOKEN_H

#include "ir/ir.h"
#include "ir/names.h"

typedef enum Tok { T_END, T_WORD, T_NUMBER, T_STRING, T_VALUE, T_SYMBOL, T_SPAN, T_PUNCT } Tok;

typedef struct Parser {
    Session *s;
    const char *p, *end, *line_start;
    uint32_t line;
    Tok tok;
    const char *text; /* of the token: word, value and symbol names (interned), punctuation */
    size_t len;       /* of a string or number */
    Span at;          /* of the token */
    Span span;        /* what a T_SPAN says */
    bool failed;
    bool placed;            /* the text says where something was in a source */
    VEC(Span *) own_places; /* of what it says nothing of: places in the text itself */
    Module *module;
    Func *f;
    NameMap values;
    const Layout **layout;
    int nlayouts;
    int depth;
} Parser;

/* The first failure ends the parse: later ones are not reported and every token is T_END. */
void token_fail(Parser *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void token_next(Parser *p);
bool is_punct(const Parser *p, char c);
bool is_word(const Parser *p, const char *w);
bool take_punct(Parser *p, char c);
void want_punct(Parser *p, char c);
int64_t want_int(Parser *p);
int64_t want_uint(Parser *p); /* 64 bits without a sign */
int64_t want_int_in(Parser *p, int64_t low, int64_t high);
/* Of a T_SPAN, which is taken; none: line 0. */
Span opt_span(Parser *p);

#endif
