/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* token.h: source text → the array of tokens that the grammar reads.
 *
 * The whole file is cut into tokens first; a statement is then a stretch of the array, which lets
 * the parser skip what it does not read. Text that is no token becomes an error token; what it says
 * is reported only if the parser comes to it. Token kinds are the TOK_… of the grammar. */
#ifndef TILE_FRONTEND_SYNTAX_TOKEN_H
#define TILE_FRONTEND_SYNTAX_TOKEN_H

#include "frontend/syntax/ast.h"

/* What an error token says. %s is the token's text; LEX_OK: it was said already. */
#define LEX_ERRORS(X)                                                                              \
    X(LEX_OK, CODE_NONE, "")                                                                       \
    X(LEX_CHARACTER, E_CHARACTER, "invalid character '%s'")                                        \
    X(LEX_BACKSLASH, E_CHARACTER, "a backslash must be the last character of its line")            \
    X(LEX_AND, E_OTHER_OPERATOR, "'&&' is not an operator here: write 'and'")                      \
    X(LEX_OR, E_OTHER_OPERATOR, "'||' is not an operator here: write 'or'")                        \
    X(LEX_NOT, E_OTHER_OPERATOR, "'!' is not an operator here: write 'not'")                       \
    X(LEX_NUMBER, E_NUMBER, "invalid number '%s'")                                                 \
    X(LEX_LEADING_ZERO, E_NUMBER, "a number cannot start with 0 (octal is written 0o17): '%s'")    \
    X(LEX_COMPLEX, E_NUMBER, "complex numbers are not supported: '%s'")                            \
    X(LEX_STRING, E_STRING, "unterminated string")                                                 \
    X(LEX_TRIPLE_STRING, E_STRING, "unterminated triple-quoted string")                            \
    X(LEX_FIELD, E_FSTRING, "'{' in this f-string was never closed")                               \
    X(LEX_FIELD_BRACE, E_FSTRING, "a single '}' in an f-string: write '}}'")                       \
    X(LEX_FSTRING_DEPTH, E_NESTING_LIMIT, "f-strings are nested too deeply (limit 16)")            \
    X(LEX_UNMATCHED, E_UNMATCHED, "unmatched '%s'")                                                \
    X(LEX_NOT_PAREN, E_UNMATCHED, "'%s' does not match the open '('")                              \
    X(LEX_NOT_BRACKET, E_UNMATCHED, "'%s' does not match the open '['")                            \
    X(LEX_NOT_BRACE, E_UNMATCHED, "'%s' does not match the open '{'")                              \
    X(LEX_TABS, E_INDENTATION, "inconsistent use of tabs and spaces in the indentation")           \
    X(LEX_DEDENT, E_INDENTATION, "unindent does not match any outer indentation level")
typedef enum LexError {
#define X(id, code, text) id,
    LEX_ERRORS(X)
#undef X
} LexError;

enum {
    TOKEN_RAW = 1,      /* a string with an r prefix */
    TOKEN_UNCLOSED = 2, /* an opening bracket without its partner */
    TOKEN_REPR = 4,     /* a field of an f-string that ends in !r */
    TOKEN_STR = 8,      /* or !s */
    TOKEN_SPEC = 16,    /* or has a format */
};

typedef struct Token {
    Span span;
    uint32_t offset, length; /* in the source text */
    uint16_t kind;           /* TOK_…; TOK_ERROR for an error token */
    uint8_t error;           /* a LexError */
    uint8_t flags;
} Token;

typedef struct TokenList {
    VEC(Token);
} TokenList;

/* The words and bare newlines of the text, as they stand, and the comments (lexer.l). */
void lexer_run(Session *s, TokenList *out, TokenList *comments);
/* Joins lines inside brackets and turns indentation into INDENT and DEDENT (indent.c). Every
 * logical line ends in NEWLINE, before any DEDENT; the list ends in YYEOF. */
void indent_run(Session *s, const TokenList *raw, TokenList *out);
/* The code points that can be part of a name, beyond ASCII: every letter of every script, which is
 * to say all but the blocks of spaces, punctuation and symbols. Returns the offset of the first
 * character that cannot, n when all can (literal.c). */
size_t name_valid_prefix(const char *s, size_t n);

/* The values of number and string tokens (literal.c). The result is NULL, or a message. */
const char *literal_int(const char *s, size_t n, uint64_t *value);
double literal_float(Arena *a, const char *s, size_t n);
/* The text between the quotes of a string token; is_fstring also reads {{ and }} as one brace. */
const char *literal_string(Arena *a, const char *s, size_t n, bool raw, bool is_fstring,
                           const char **out, size_t *out_len);
/* Takes prefix and quotes off a whole string token. */
void literal_strip(const char **s, size_t *n);

#endif
