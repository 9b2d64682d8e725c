/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* class.c: the tokens of a class at top level → its fields and functions.
 *
 * As the top level is, a class's body is walked by tokens: annotated names and assignments become
 * fields, functions go to the grammar, and what else stands there is stepped over. Errors count
 * under a decorator `aggregate`, and in functions under `jit`; most classes of a file are none of a
 * kernel's business. */
#include "frontend/grammar.h"
#include "frontend/syntax/parser.h"

#include <string.h>

typedef struct ClassBody {
    Parser *p;
    AstClass *made;
    VEC(AstField) fields;
    VEC(AstFunc *) funcs;
    int end; /* index behind the class */
} ClassBody;

/* tokens[from..to) as an expression, or NULL. */
static Expr *expression(Parser *p, int from, int to) {
    bool parsed = parser_unit(p, TOK_START_ASSIGNMENT, from, from, to);
    return parsed && p->stmt && p->stmt->kind == STMT_EXPR ? p->stmt->value : NULL;
}

/* triton.aggregate, which was tl.core._aggregate first */
static bool is_aggregate(const char *name) {
    return strcmp(name, "aggregate") == 0 || strcmp(name, "_aggregate") == 0;
}

/* The lines @… from `from` up to `to`; true when one of them is `aggregate`. */
static bool read_decorators(Parser *p, AstClass *made, int from, int to) {
    VEC(Expr *) all = {0};
    bool aggregate = false;
    for (int at = from; at < to; at = token_line_end(p->token, at, to) + 1) {
        Expr *e = expression(p, at + 1, token_line_end(p->token, at, to));
        if (!e) continue;
        bool named = e->kind == EXPR_NAME || e->kind == EXPR_ATTRIBUTE;
        aggregate = aggregate || (named && is_aggregate(e->name));
        vec_push(&p->s->arena, &all, e);
    }
    made->decorator = all.at;
    made->ndecorators = all.n;
    return aggregate;
}

/* `NAME` or `NAME(bases)` in tokens[at..colon); false when it does not parse. */
static bool read_header(Parser *p, AstClass *made, int at, int colon) {
    Expr *e = expression(p, at, colon);
    const Expr *name = e && e->kind == EXPR_CALL ? e->left : e;
    if (!name || name->kind != EXPR_NAME) return false;
    made->name = name->name;
    made->span = name->span;
    made->base = e->item;
    made->nbases = e->kind == EXPR_CALL ? e->nitems : 0;
    return true;
}

/* One simple statement of the body. */
static void read_simple(ClassBody *b, int at, int stop) {
    Parser *p = b->p;
    bool parsed = parser_unit(p, TOK_START_ASSIGNMENT, at, at, stop);
    const Stmt *s = parsed ? p->stmt : NULL;
    bool field = s && (s->kind == STMT_ANNASSIGN || s->kind == STMT_ASSIGN);
    for (int i = 0; field && i < s->ntargets; i++) {
        const Expr *target = s->target[i];
        if (target->kind != EXPR_NAME) continue;
        AstField f = {target->name, s->annotation, s->value, target->span};
        vec_push(&p->s->arena, &b->fields, f);
    }
}

static int read_simples(ClassBody *b, int at) {
    const Token *token = b->p->token;
    int stop = token_line_end(token, at, b->end);
    while (at < stop) {
        int next = at;
        while (next < stop && token[next].kind != TOK_SEMICOLON) next++;
        read_simple(b, at, next);
        at = next + 1;
    }
    return stop + 1;
}

/* One statement of the body; the index of the next. */
static int read_statement(ClassBody *b, int at) {
    const Token *token = b->p->token;
    int from = at;
    while (at < b->end && token[at].kind == TOK_AT) at = token_line_end(token, at, b->end) + 1;
    int behind = token_skip_block(token, token_line_end(token, at, b->end) + 1, b->end);
    if (at < b->end && (from < at || token[at].kind == TOK_DEF)) {
        AstFunc *f = b->made->is_aggregate ? parser_function(b->p, from, at, behind) : NULL;
        if (f) {
            f->in_class = true;
            vec_push(&b->p->s->arena, &b->funcs, f);
        }
        return behind;
    }
    bool block = behind > token_line_end(token, at, b->end) + 1;
    return block ? behind : read_simples(b, at);
}

AstClass *parser_class(Parser *p, int from, int at, int behind) {
    const Token *token = p->token;
    ClassBody b = {.p = p, .made = arena_alloc(&p->s->arena, sizeof *b.made), .end = behind};
    bool was_muted = p->s->diags.muted;
    p->s->diags.muted = true;
    bool aggregate = read_decorators(p, b.made, from, at);
    p->s->diags.muted = was_muted || !aggregate;
    int line = token_line_end(token, at, behind), colon = at, brackets = 0;
    for (; colon < line && (brackets > 0 || token[colon].kind != TOK_COLON); colon++) {
        int k = token[colon].kind;
        brackets += k == TOK_LPAREN || k == TOK_LBRACKET || k == TOK_LBRACE;
        brackets -= k == TOK_RPAREN || k == TOK_RBRACKET || k == TOK_RBRACE;
    }
    bool read = read_header(p, b.made, at + 1, colon);
    bool whole = read && (aggregate || b.made->nbases); /* of others the name is enough */
    int next = colon + 1;
    b.made->is_aggregate = aggregate;
    if (whole && next < behind && token[next].kind == TOK_NEWLINE) {
        next += 1 + (next + 1 < behind && token[next + 1].kind == TOK_INDENT);
        while (next < behind && token[next].kind != TOK_DEDENT) next = read_statement(&b, next);
    } else if (whole) {
        read_simples(&b, next);
    }
    p->s->diags.muted = was_muted;
    b.made->field = b.fields.at;
    b.made->nfields = b.fields.n;
    b.made->func = b.funcs.at;
    b.made->nfuncs = b.funcs.n;
    return read ? b.made : NULL;
}
