/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* indent.c: words and bare newlines → tokens with NEWLINE, INDENT and DEDENT.
 *
 * Python's rules: a line inside brackets goes on with the one before; otherwise its indentation
 * (tabs reach to the next multiple of 8) opens or closes blocks. Convention: every logical line
 * ends in NEWLINE, and DEDENTs come after it, so that a parser which skips to the end of a line
 * never leaves a block by mistake.
 *
 * The hard idea is the bracket that is never closed: it would swallow the rest of the file. When
 * the end of the file, or a line that begins with a word no expression can contain, shows that a
 * bracket is open by mistake, the bracket's token is marked and reading goes back to the first
 * line since that was not indented deeper than the statement: most likely the next statement. */
#include "frontend/syntax/token.h"
#include "frontend/grammar.h"

enum { TAB = 8, GOING_BACK_LIMIT = 50 };

typedef struct Level {
    uint32_t columns;     /* with tabs to multiples of TAB */
    uint32_t tabs_as_one; /* with tabs as one column: both must order lines alike */
} Level;

typedef struct OpenBracket {
    int token;  /* index into out */
    int closer; /* the kind that closes it */
} OpenBracket;

typedef struct Indenter {
    Session *s;
    const TokenList *raw;
    TokenList *out;
    int at; /* next raw token */
    Level level[NESTING_LIMIT + 1];
    int nlevels;
    OpenBracket bracket[NESTING_LIMIT];
    int nbrackets;
    bool line_begins;       /* at the start of a logical line */
    Level statement;        /* indentation of the current logical line */
    int back_raw, back_out; /* where to go back to; back_raw < 0: nowhere */
    int went_back;
    bool stop;
} Indenter;

static void put(Indenter *in, const Token *like, int kind, LexError error) {
    Token token = *like;
    token.kind = (uint16_t)kind;
    token.error = (uint8_t)error;
    if (kind == TOK_NEWLINE || kind == TOK_DEDENT) token.length = 0;
    vec_push(&in->s->arena, in->out, token);
}

static Level measure(const Indenter *in, const Token *token) {
    const char *text = in->s->source.text;
    uint32_t start = token->offset;
    while (start > 0 && text[start - 1] != '\n') start--;
    Level level = {0, 0};
    for (uint32_t i = start; i < token->offset; i++) {
        if (text[i] == '\t') {
            level.columns = (level.columns / TAB + 1) * TAB;
            level.tabs_as_one++;
        } else if (text[i] == '\f') {
            level = (Level){0, 0};
        } else if (text[i] == ' ') {
            level.columns++;
            level.tabs_as_one++;
        }
    }
    return level;
}

/* Nothing after this point can be read sensibly, whoever needs it: this is said at once. */
static void give_up(Indenter *in, const Token *at) {
    diag(&in->s->diags, E_NESTING_LIMIT, at->span, "nested too deeply (limit %d)", NESTING_LIMIT);
    put(in, at, TOK_ERROR, LEX_OK);
    in->stop = true;
}

static void begin_line(Indenter *in, const Token *first) {
    Level here = measure(in, first);
    Level *top = &in->level[in->nlevels - 1];
    bool consistent = true;
    in->line_begins = false;
    in->statement = here;
    if (here.columns > top->columns) {
        consistent = here.tabs_as_one > top->tabs_as_one;
        if (in->nlevels > NESTING_LIMIT) {
            give_up(in, first);
            return;
        }
        in->level[in->nlevels++] = here;
        put(in, first, TOK_INDENT, LEX_OK);
    } else {
        /* A line between two levels is taken for one of the inner block: the likelier slip, and
         * the function goes on. */
        while (in->nlevels > 1 && here.columns <= in->level[in->nlevels - 2].columns) {
            in->nlevels--;
            put(in, first, TOK_DEDENT, LEX_OK);
        }
        top = &in->level[in->nlevels - 1];
        if (here.columns != top->columns)
            put(in, first, TOK_ERROR, LEX_DEDENT);
        else
            consistent = here.tabs_as_one == top->tabs_as_one;
    }
    if (!consistent) put(in, first, TOK_ERROR, LEX_TABS);
}

/* Words that begin a statement and occur in no expression. */
static bool only_begins_statement(int kind) {
    switch (kind) {
    case TOK_DEF:
    case TOK_CLASS:
    case TOK_RETURN:
    case TOK_WHILE:
    case TOK_WITH:
    case TOK_TRY:
    case TOK_EXCEPT:
    case TOK_FINALLY:
    case TOK_ELIF:
    case TOK_PASS:
    case TOK_BREAK:
    case TOK_CONTINUE:
    case TOK_ASSERT:
    case TOK_DEL:
    case TOK_RAISE:
    case TOK_IMPORT:
    case TOK_GLOBAL:
    case TOK_NONLOCAL: return true;
    default: return false;
    }
}

static bool is_closer(int kind) {
    return kind == TOK_RPAREN || kind == TOK_RBRACKET || kind == TOK_RBRACE ||
           kind == TOK_FIELD_CLOSE;
}

/* Every open bracket is open by mistake: the logical line ends here, or where it should have. */
static void leave_brackets(Indenter *in) {
    for (int i = 0; i < in->nbrackets; i++)
        in->out->at[in->bracket[i].token].flags |= TOKEN_UNCLOSED;
    in->nbrackets = 0;
    if (in->back_raw >= 0 && in->went_back < GOING_BACK_LIMIT) {
        in->at = in->back_raw;
        in->out->n = in->back_out;
        in->went_back++;
    }
    put(in, &in->raw->at[in->at - 1], TOK_NEWLINE, LEX_OK);
    in->line_begins = true;
}

/* Called for the first token of a line inside brackets; true when the brackets were left. */
static bool line_inside_brackets(Indenter *in, const Token *first) {
    if (only_begins_statement(first->kind) || first->kind == TOK_YYEOF) {
        leave_brackets(in);
        return true;
    }
    if (in->back_raw < 0 && !is_closer(first->kind) && first->kind != TOK_NEWLINE &&
        measure(in, first).columns <= in->statement.columns) {
        in->back_raw = in->at;
        in->back_out = in->out->n;
    }
    return false;
}

static void open_bracket(Indenter *in, const Token *token, int closer) {
    if (in->nbrackets == NESTING_LIMIT) {
        give_up(in, token);
        return;
    }
    if (in->nbrackets == 0) in->back_raw = -1;
    put(in, token, token->kind, LEX_OK);
    in->bracket[in->nbrackets++] = (OpenBracket){in->out->n - 1, closer};
}

static void close_bracket(Indenter *in, const Token *token) {
    if (in->nbrackets == 0) {
        put(in, token, TOK_ERROR, LEX_UNMATCHED);
        return;
    }
    int match = in->nbrackets - 1;
    while (match > 0 && in->bracket[match].closer != token->kind) match--;
    if (in->bracket[match].closer != token->kind) {
        int open = in->bracket[--in->nbrackets].closer;
        put(in, token, TOK_ERROR,
            open == TOK_RPAREN     ? LEX_NOT_PAREN
            : open == TOK_RBRACKET ? LEX_NOT_BRACKET
                                   : LEX_NOT_BRACE);
        return;
    }
    /* It closes an outer bracket: those inside were never closed. */
    for (int i = match + 1; i < in->nbrackets; i++)
        in->out->at[in->bracket[i].token].flags |= TOKEN_UNCLOSED;
    in->nbrackets = match;
    put(in, token, token->kind, LEX_OK);
}

static void step(Indenter *in) {
    const Token *token = &in->raw->at[in->at];
    int kind = token->kind;
    if (in->nbrackets > 0) {
        bool first = in->at > 0 && in->raw->at[in->at - 1].kind == TOK_NEWLINE;
        if ((first || kind == TOK_YYEOF) && line_inside_brackets(in, token)) return;
    } else if (in->line_begins && kind != TOK_NEWLINE && kind != TOK_YYEOF) {
        begin_line(in, token);
        if (in->stop) return;
    }
    in->at++;
    switch (kind) {
    case TOK_NEWLINE:
        if (in->nbrackets == 0 && !in->line_begins) {
            put(in, token, TOK_NEWLINE, LEX_OK);
            in->line_begins = true;
        }
        break;
    case TOK_YYEOF: in->stop = true; break;
    case TOK_LPAREN: open_bracket(in, token, TOK_RPAREN); break;
    case TOK_LBRACKET: open_bracket(in, token, TOK_RBRACKET); break;
    case TOK_LBRACE: open_bracket(in, token, TOK_RBRACE); break;
    case TOK_FIELD_OPEN: open_bracket(in, token, TOK_FIELD_CLOSE); break;
    case TOK_RPAREN:
    case TOK_RBRACKET:
    case TOK_RBRACE:
    case TOK_FIELD_CLOSE: close_bracket(in, token); break;
    case TOK_ERROR:
        if (token->error == LEX_FIELD) /* the f-string ends here, and all that it opened */
            while (in->nbrackets > 0 && in->bracket[--in->nbrackets].closer != TOK_FIELD_CLOSE) {
            }
        vec_push(&in->s->arena, in->out, *token);
        break;
    default: vec_push(&in->s->arena, in->out, *token); break;
    }
}

void indent_run(Session *s, const TokenList *raw, TokenList *out) {
    Indenter in = {
        .s = s, .raw = raw, .out = out, .nlevels = 1, .line_begins = true, .back_raw = -1};
    while (!in.stop) step(&in);
    const Token *end = &raw->at[raw->n - 1];
    if (!in.line_begins) put(&in, end, TOK_NEWLINE, LEX_OK);
    while (in.nlevels-- > 1) put(&in, end, TOK_DEDENT, LEX_OK);
    put(&in, end, TOK_YYEOF, LEX_OK);
}
