/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* syntax.c: a grammar that is stuck → a sentence for whoever wrote the file.
 *
 * Convention: a statement is complained of once, at its first mistake; the next statement starts
 * afresh. The hard idea is to say what is missing and not what the parser's tables hold: first come
 * the mistakes that people make and that have an answer (a bracket never closed, a missing colon,
 * `=` for `==`, `else if`), then a short list of what could stand there, operators left out, since
 * an operator could stand nearly anywhere. */
#include "frontend/syntax/parser.h"
#include "frontend/grammar.h"

#include <string.h>

enum { SHOWN = 40, LISTED = 4 };

void parser_error(Parser *p, Code code, Span span, const char *fmt, ...) {
    p->failed = true;
    va_list ap;
    va_start(ap, fmt);
    const char *text = arena_vprintf(&p->s->arena, fmt, ap);
    va_end(ap);
    diag(&p->s->diags, code, span, "%s", text);
}

void syntax_too_deep(Parser *p, Span span, const char *what, int limit) {
    if (!p->said_too_deep) parser_error(p, E_NESTING_LIMIT, span, "%s (limit %d)", what, limit);
    p->said_too_deep = p->failed = true;
}

/* The token's text on one line, cut after SHOWN bytes; bytes that cannot be shown as \xHH. */
static const char *token_text(Parser *p, const Token *token) {
    const char *s = p->s->source.text + token->offset;
    size_t n = token->length;
    bool cut = n > SHOWN;
    if (cut) n = SHOWN;
    while (n > 0 && cut && ((unsigned char)s[n] & 0xC0) == 0x80) n--;
    Buf text = buf_new(&p->s->arena);
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c < 32 || c == 127)
            buf_printf(&text, "\\x%02x", c);
        else
            buf_putc(&text, s[i]);
    }
    if (cut) buf_puts(&text, "…");
    return text.data;
}

/* False when the current statement has had its error. */
static bool may_complain(Parser *p) {
    p->failed = true;
    if (p->complained == p->statement) return false;
    p->complained = p->statement;
    return true;
}

/* The innermost bracket of this statement, up to its last token read, that was never closed. */
static const Token *unclosed_bracket(const Parser *p) {
    for (int i = p->last; i >= p->statement && i >= 0; i--)
        if (p->token[i].flags & TOKEN_UNCLOSED) return &p->token[i];
    return NULL;
}

static void complain_of_bracket(Parser *p, const Token *bracket) {
    parser_error(p, E_UNCLOSED, bracket->span, "'%s' was never closed", token_text(p, bracket));
}

void syntax_lex_error(Parser *p, const Token *token) {
    static const struct {
        Code code;
        const char *text;
    } messages[] = {
#define X(id, code, text) {code, text},
        LEX_ERRORS(X)
#undef X
    };
    bool said = token->error == LEX_OK;
    if (!may_complain(p) || said) return;
    const Token *bracket = unclosed_bracket(p);
    if (bracket) {
        complain_of_bracket(p, bracket);
        return;
    }
    Code code = messages[token->error].code;
    const char *before = messages[token->error].text, *hole = strstr(before, "%s");
    if (hole)
        parser_error(p, code, token->span, "%.*s%s%s", (int)(hole - before), before,
                     token_text(p, token), hole + 2);
    else
        parser_error(p, code, token->span, "%s", before);
}

void syntax_missing_block(Parser *p, Span newline) {
    /* Finding a line means counting up to it: only for what will be seen. */
    bool seen = !p->s->diags.muted && p->s->diags.errors < DIAG_MAX_ERRORS;
    size_t len = 0, first = 0;
    const char *line = seen ? source_line(&p->s->source, newline.line, &len) : NULL;
    while (line && first < len && (line[first] == ' ' || line[first] == '\t')) first++;
    Span span = {.line = newline.line,
                 .col = (uint16_t)(first < SPAN_TO_LINE_END - 1 ? first + 1 : 1),
                 .end = newline.col};
    parser_error(p, E_BLOCK, span, "expected an indented block after this line");
}

/* ---- what kinds of token there are, as far as messages care ---- */

enum {
    BEGINS_EXPRESSION = 1,
    GOES_ON = 2, /* could follow any operand */
    KEYWORD = 4,
    HEADER = 8, /* begins a line that ends in a colon */
};

static const uint8_t class_of[] = {
    [TOK_NAME] = BEGINS_EXPRESSION,
    [TOK_INTEGER] = BEGINS_EXPRESSION,
    [TOK_FLOAT] = BEGINS_EXPRESSION,
    [TOK_STRING] = BEGINS_EXPRESSION,
    [TOK_FSTRING_START] = BEGINS_EXPRESSION,
    [TOK_ELLIPSIS] = BEGINS_EXPRESSION,
    [TOK_TILDE] = BEGINS_EXPRESSION,
    [TOK_LBRACE] = BEGINS_EXPRESSION,
    [TOK_LPAREN] = BEGINS_EXPRESSION | GOES_ON,
    [TOK_LBRACKET] = BEGINS_EXPRESSION | GOES_ON,
    [TOK_MINUS] = BEGINS_EXPRESSION | GOES_ON,
    [TOK_PLUS] = BEGINS_EXPRESSION | GOES_ON,
    [TOK_STAR] = BEGINS_EXPRESSION | GOES_ON,
    [TOK_POWER] = BEGINS_EXPRESSION | GOES_ON,
    [TOK_TRUE] = BEGINS_EXPRESSION | KEYWORD,
    [TOK_FALSE] = BEGINS_EXPRESSION | KEYWORD,
    [TOK_NONE] = BEGINS_EXPRESSION | KEYWORD,
    [TOK_LAMBDA] = BEGINS_EXPRESSION | KEYWORD,
    [TOK_NOT] = BEGINS_EXPRESSION | GOES_ON | KEYWORD,
    [TOK_AND] = GOES_ON | KEYWORD,
    [TOK_OR] = GOES_ON | KEYWORD,
    [TOK_IS] = GOES_ON | KEYWORD,
    [TOK_IN] = GOES_ON | KEYWORD,
    [TOK_IF] = GOES_ON | KEYWORD | HEADER,
    [TOK_FOR] = GOES_ON | KEYWORD | HEADER,
    [TOK_ELIF] = KEYWORD | HEADER,
    [TOK_ELSE] = KEYWORD | HEADER,
    [TOK_WHILE] = KEYWORD | HEADER,
    [TOK_DEF] = KEYWORD | HEADER,
    [TOK_RETURN] = KEYWORD,
    [TOK_PASS] = KEYWORD,
    [TOK_BREAK] = KEYWORD,
    [TOK_CONTINUE] = KEYWORD,
    [TOK_ASSERT] = KEYWORD,
    [TOK_IMPORT] = KEYWORD,
    [TOK_FROM] = KEYWORD,
    [TOK_AS] = KEYWORD,
    [TOK_ASYNC] = KEYWORD,
    [TOK_AWAIT] = KEYWORD,
    [TOK_CLASS] = KEYWORD,
    [TOK_DEL] = KEYWORD,
    [TOK_EXCEPT] = KEYWORD,
    [TOK_FINALLY] = KEYWORD,
    [TOK_GLOBAL] = KEYWORD,
    [TOK_NONLOCAL] = KEYWORD,
    [TOK_RAISE] = KEYWORD,
    [TOK_TRY] = KEYWORD,
    [TOK_WITH] = KEYWORD,
    [TOK_YIELD] = KEYWORD,
    [TOK_DOT] = GOES_ON,
    [TOK_SLASH] = GOES_ON,
    [TOK_FLOORDIV] = GOES_ON,
    [TOK_PERCENT] = GOES_ON,
    [TOK_AT] = GOES_ON,
    [TOK_AMPERSAND] = GOES_ON,
    [TOK_BAR] = GOES_ON,
    [TOK_CARET] = GOES_ON,
    [TOK_SHL] = GOES_ON,
    [TOK_SHR] = GOES_ON,
    [TOK_EQ] = GOES_ON,
    [TOK_NE] = GOES_ON,
    [TOK_LT] = GOES_ON,
    [TOK_LE] = GOES_ON,
    [TOK_GT] = GOES_ON,
    [TOK_GE] = GOES_ON,
    [TOK_WALRUS] = GOES_ON,
    [TOK_ADD_ASSIGN] = GOES_ON,
    [TOK_SUB_ASSIGN] = GOES_ON,
    [TOK_MUL_ASSIGN] = GOES_ON,
    [TOK_DIV_ASSIGN] = GOES_ON,
    [TOK_FLOORDIV_ASSIGN] = GOES_ON,
    [TOK_MOD_ASSIGN] = GOES_ON,
    [TOK_POW_ASSIGN] = GOES_ON,
    [TOK_MATMUL_ASSIGN] = GOES_ON,
    [TOK_AND_ASSIGN] = GOES_ON,
    [TOK_OR_ASSIGN] = GOES_ON,
    [TOK_XOR_ASSIGN] = GOES_ON,
    [TOK_SHL_ASSIGN] = GOES_ON,
    [TOK_SHR_ASSIGN] = GOES_ON,
};

static bool is(int kind, unsigned class) {
    return kind >= 0 && (size_t)kind < sizeof class_of && (class_of[kind] & class) != 0;
}

static bool contains(const int *kinds, int n, int kind) {
    for (int i = 0; i < n; i++)
        if (kinds[i] == kind) return true;
    return false;
}

/* Brackets open between the statement's first token and the one that does not fit. */
static int open_brackets(const Parser *p) {
    int depth = 0;
    for (int i = p->statement; i < p->last; i++) {
        int kind = p->token[i].kind;
        depth += kind == TOK_LPAREN || kind == TOK_LBRACKET || kind == TOK_LBRACE ||
                 kind == TOK_FIELD_OPEN;
        depth -= kind == TOK_RPAREN || kind == TOK_RBRACKET || kind == TOK_RBRACE ||
                 kind == TOK_FIELD_CLOSE;
    }
    return depth;
}

/* What could stand there: at most LISTED items, none when there would be more. */
static void list_expected(Buf *out, const int *expected, int n, const char *(*name)(int kind)) {
    const char *item[LISTED];
    int nitems = 0;
    bool operand = contains(expected, n, TOK_NAME) && contains(expected, n, TOK_LPAREN);
    bool line_may_end = contains(expected, n, TOK_NEWLINE);
    /* `in` is an operator where `not in` could stand too; behind `for x` it is the only way on. */
    bool comparison = contains(expected, n, TOK_NOT);
    if (operand) item[nitems++] = contains(expected, n, TOK_PASS) ? "a statement" : "an expression";
    for (int i = 0; i < n; i++) {
        int kind = expected[i];
        if (operand && (is(kind, BEGINS_EXPRESSION) || contains(expected, n, TOK_PASS))) continue;
        if (is(kind, GOES_ON) && !(kind == TOK_IN && !comparison)) continue;
        if (line_may_end &&
            (kind == TOK_SEMICOLON || kind == TOK_COMMA || kind == TOK_COLON || kind == TOK_ASSIGN))
            continue;
        if (kind == TOK_YYEOF || kind == TOK_UNSUPPORTED || kind == TOK_FSTRING_LABEL) continue;
        if (nitems == LISTED) return;
        item[nitems++] = kind == TOK_NAME ? "a name" : name(kind);
    }
    for (int i = 0; i < nitems; i++)
        buf_printf(out, "%s%s", i == 0 ? ", expected " : i + 1 == nitems ? " or " : ", ", item[i]);
}

void syntax_error(Parser *p, int unexpected, Span span, const int *expected, int nexpected,
                  const char *(*name)(int kind)) {
    if (!may_complain(p)) return;
    const Token *token = &p->token[p->last];
    const Token *bracket = unclosed_bracket(p);
    int previous = p->last > p->statement ? p->token[p->last - 1].kind : TOK_YYEOF;
    int header = p->token[p->statement].kind;
    bool in_header = is(header, HEADER) && open_brackets(p) == 0;
    if (bracket) {
        complain_of_bracket(p, bracket);
    } else if (unexpected == TOK_INDENT) {
        parser_error(p, E_INDENTATION, span, "unexpected indent");
    } else if (unexpected == TOK_IF && previous == TOK_ELSE) {
        parser_error(p, E_ELSE_IF, span, "unexpected 'if' behind 'else': write 'elif'");
    } else if (unexpected == TOK_ASSIGN && in_header && header != TOK_DEF && header != TOK_FOR) {
        parser_error(p, E_EQUALS, span, "unexpected '=': a comparison is written '=='");
    } else if (unexpected == TOK_NEWLINE && in_header && contains(expected, nexpected, TOK_COLON)) {
        parser_error(p, E_COLON, span, "expected ':' at the end of this '%s' line",
                     token_text(p, &p->token[p->statement]));
    } else if (is(unexpected, KEYWORD) && contains(expected, nexpected, TOK_NAME) &&
               (previous == TOK_DOT || previous == TOK_DEF ||
                !contains(expected, nexpected, TOK_LPAREN) ||
                p->token[p->last + 1].kind == TOK_ASSIGN)) {
        parser_error(p, E_KEYWORD, span, "'%s' is a keyword and cannot be a name",
                     token_text(p, token));
    } else {
        Buf text = buf_new(&p->s->arena);
        bool itself =
            unexpected == TOK_NAME || unexpected == TOK_INTEGER || unexpected == TOK_FLOAT;
        if (itself)
            buf_printf(&text, "unexpected '%s'", token_text(p, token));
        else
            buf_printf(&text, "unexpected %s", name(unexpected));
        list_expected(&text, expected, nexpected, name);
        parser_error(p, E_UNEXPECTED, span, "%s", text.data);
    }
}
