/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* parse.c: the token array → AstFile: what the file holds at top level, each part parsed.
 *
 * A kernel's file is a Python file, and most of a Python file is none of a kernel's business. The
 * top level is therefore walked by tokens: a statement's extent is known without parsing it, its
 * first token says what it may be. Functions, imports and simple assignments go to the grammar;
 * everything else is stepped over. Convention: errors count in functions under a `jit` decorator
 * and in imports; the rest is parsed on trial, in silence.
 *
 * This file is also what the grammar reads from: tile_yylex hands over the tokens of one unit and
 * turns each statement that is not read (with, class …) into one UNSUPPORTED token. */
#include "frontend/syntax/parser.h"
#include "frontend/grammar.h"

#include <string.h>

/* ---- the grammar's source of tokens ---- */

static const struct {
    int kind;
    const char *name;
    bool compound; /* its line may be followed by a block */
} unsupported[] = {
    {TOK_WITH, "with", true},          {TOK_CLASS, "class", true},    {TOK_ASYNC, "async", true},
    {TOK_AT, "decorator", true},       {TOK_GLOBAL, "global", false}, {TOK_DEL, "del", false},
    {TOK_NONLOCAL, "nonlocal", false}, {TOK_YIELD, "yield", false},   {TOK_AWAIT, "await", false},
};

int token_skip_block(const Token *token, int at, int end) {
    if (at >= end || token[at].kind != TOK_INDENT) return at;
    int depth = 0;
    do {
        depth += (token[at].kind == TOK_INDENT) - (token[at].kind == TOK_DEDENT);
        at++;
    } while (at < end && depth > 0);
    return at;
}

int token_line_end(const Token *token, int at, int end) {
    while (at < end && token[at].kind != TOK_NEWLINE && token[at].kind != TOK_YYEOF) at++;
    return at;
}

static bool text_is(const Parser *p, int at, const char *word) {
    const Token *t = &p->token[at];
    return t->kind == TOK_NAME && t->length == strlen(word) &&
           memcmp(p->s->source.text + t->offset, word, t->length) == 0;
}

/* `match` and `case` are words like any other, except where this shape shows them. */
static bool is_match(const Parser *p) {
    if (!text_is(p, p->at, "match") || p->token[p->at - 1].kind == TOK_SEMICOLON) return false;
    int stop = token_line_end(p->token, p->at, p->end);
    return stop > p->at + 1 && stop + 2 < p->end && p->token[stop - 1].kind == TOK_COLON &&
           p->token[stop + 1].kind == TOK_INDENT && text_is(p, stop + 2, "case");
}

static bool line_has_yield(const Parser *p) {
    for (int i = p->at; i < p->end; i++) {
        int kind = p->token[i].kind;
        if (kind == TOK_NEWLINE || kind == TOK_SEMICOLON) return false;
        if (kind == TOK_YIELD || kind == TOK_AWAIT) return true;
    }
    return false;
}

/* The name of the construct that begins at p->at, NULL when the grammar knows it. */
static const char *unsupported_here(const Parser *p, bool begins_statement, bool *compound) {
    int kind = p->token[p->at].kind;
    for (size_t i = 0; i < sizeof unsupported / sizeof *unsupported; i++)
        if (unsupported[i].kind == kind && (begins_statement || kind != TOK_AT)) {
            *compound = unsupported[i].compound;
            return unsupported[i].name;
        }
    if (!begins_statement) return NULL;
    *compound = true;
    if (is_match(p)) return "match";
    if (p->has_yield && line_has_yield(p)) {
        *compound = p->token[p->at].kind == TOK_IF || p->token[p->at].kind == TOK_FOR ||
                    p->token[p->at].kind == TOK_WHILE;
        return "yield";
    }
    return NULL;
}

/* Steps over the statement at p->at; its error tokens are still reported. */
static void skip_unsupported(Parser *p, bool compound) {
    int from = p->at, kind = p->token[from].kind;
    int at = from;
    if (compound) {
        at = token_line_end(p->token, from, p->end);
        /* A decorator's line is followed by what it decorates. */
        while (kind == TOK_AT && at + 1 < p->end &&
               (p->token[at + 1].kind == TOK_AT || p->token[at + 1].kind == TOK_DEF ||
                p->token[at + 1].kind == TOK_CLASS || p->token[at + 1].kind == TOK_ASYNC))
            at = token_line_end(p->token, at + 1, p->end);
        int behind = token_skip_block(p->token, at + 1, p->end);
        if (behind > at + 1) {
            at = behind;
            p->newline_owed = true;
        }
    } else {
        while (at < p->end && p->token[at].kind != TOK_NEWLINE &&
               p->token[at].kind != TOK_SEMICOLON)
            at++;
    }
    p->at = at;
    for (int i = from; i < at; i++)
        if (p->token[i].kind == TOK_ERROR) {
            p->last = i;
            syntax_lex_error(p, &p->token[i]);
            break;
        }
}

int tile_yylex(TILE_YYSTYPE *value, Span *span, Parser *p) {
    const Token *t = &p->token[p->at < p->end ? p->at : p->last];
    *span = t->span;
    value->token = t;
    if (p->start) {
        int start = p->start;
        p->start = 0;
        return start;
    }
    if (p->newline_owed) {
        p->newline_owed = false;
        p->statement_next = true;
        return TOK_NEWLINE;
    }
    if (p->at >= p->end) return TOK_YYEOF;
    bool behind_colon = p->at > 0 && p->last == p->at - 1 && p->token[p->last].kind == TOK_COLON;
    bool begins = p->statement_next;
    if (begins && t->kind != TOK_INDENT && t->kind != TOK_DEDENT) {
        p->statement = p->at;
        p->statement_next = false;
    }
    p->last = p->at;
    /* Behind a colon (`if x: raise e`) only a word that no expression begins with is a statement.
     */
    begins = begins && p->statement == p->at;
    if ((begins || behind_colon) && p->at > p->def) {
        bool compound;
        const char *name = unsupported_here(p, begins, &compound);
        if (name) {
            skip_unsupported(p, compound);
            value->text = name;
            return TOK_UNSUPPORTED;
        }
    }
    p->at++;
    if (t->kind == TOK_NEWLINE || t->kind == TOK_SEMICOLON) p->statement_next = true;
    if (t->kind == TOK_ERROR) syntax_lex_error(p, t);
    return t->kind;
}

bool parser_grow_stacks(Parser *p, Span at, const StackPart *part, int nparts, ptrdiff_t *size) {
    enum { LIMIT = 12000 }; /* NESTING_LIMIT brackets with every kind of operator between them */
    if (*size >= LIMIT) {
        syntax_too_deep(p, at, "nested too deeply", NESTING_LIMIT);
        return false;
    }
    ptrdiff_t more = *size * 2 < LIMIT ? *size * 2 : LIMIT;
    for (int i = 0; i < nparts; i++) {
        size_t bytes = (size_t)part[i].bytes, each = bytes / (size_t)*size;
        void *old, *stack = arena_array(&p->s->arena, (size_t)more, each);
        memcpy(&old, part[i].at, sizeof old);
        memcpy(stack, old, bytes);
        memcpy(part[i].at, &stack, sizeof stack);
    }
    *size = more;
    return true;
}

bool parser_unit(Parser *p, int start, int from, int def, int to) {
    p->start = start;
    p->def = def;
    p->at = p->last = p->statement = from;
    p->end = to;
    p->statement_next = start != TOK_START_IMPORT && start != TOK_START_FUNCTION;
    p->newline_owed = p->failed = p->said_too_deep = false;
    p->complained = -1;
    p->func = NULL;
    p->stmt = NULL;
    p->imports.n = 0;
    return tile_yyparse(p) == 0 && !p->failed;
}

/* ---- top level ---- */

/* Is the decorator that begins at `at` (its @) `jit`, `triton.jit`, `triton.jit(…)`? */
static bool is_jit(const Parser *p, int at) {
    int name = at + 1;
    while (p->token[name].kind == TOK_NAME && p->token[name + 1].kind == TOK_DOT) name += 2;
    if (!text_is(p, name, "jit")) return false;
    int next = p->token[name + 1].kind;
    return next == TOK_NEWLINE || next == TOK_LPAREN;
}

enum { GUARD_DEPTH = 32 }; /* of definitions deeper than that nothing is known */

typedef struct TopLevel {
    Parser parser;
    VEC(AstFunc *) funcs;
    VEC(AstClass *) classes;
    VEC(AstImport) imports;
    VEC(AstGlobal) globals;
    VEC(AstInner) inner;
    Directives directives;
    int end;   /* index of the YYEOF token */
    int depth; /* blocks of top-level `if`, `try` … that were entered */
    int order; /* numbers given so far */
    /* Of each depth: the conditions inside the block; those that hold in the next elif or else; the
     * last `try`. */
    Guard *guard[GUARD_DEPTH], *others[GUARD_DEPTH], *tried[GUARD_DEPTH];
    bool headed; /* the statement before begins a block */
} TopLevel;

static Guard *add_guard(TopLevel *top, Guard *outer, GuardKind kind, Span span) {
    Guard *g = arena_alloc(&top->parser.s->arena, sizeof *g);
    *g = (Guard){.outer = outer, .kind = kind, .span = span, .order = top->order++};
    g->imports.from = top->imports.n;
    g->globals.from = top->globals.n;
    return g;
}

/* A block begins. One that no statement begins, a mistake, stands under what is around it. */
static void enter_block(TopLevel *top, bool headed) {
    int d = ++top->depth;
    if (d >= GUARD_DEPTH) return;
    if (!headed) top->guard[d] = top->guard[d - 1];
    top->others[d] = top->guard[d];
    top->tried[d] = NULL;
}

/* A block ends. */
static void leave_block(TopLevel *top) {
    Guard *g = top->depth < GUARD_DEPTH ? top->guard[top->depth] : NULL;
    if (g) g->imports.to = top->imports.n;
    if (g) g->globals.to = top->globals.n;
    if (top->depth > 0) top->depth--;
}

static Guard *current_guard(TopLevel *top, Span span) {
    if (top->depth < GUARD_DEPTH) return top->guard[top->depth];
    return add_guard(top, top->guard[GUARD_DEPTH - 1], GUARD_LOOP, span);
}

/* `if` or `elif` stands at `at`, with its colon. */
static Guard *add_condition(TopLevel *top, Guard *base, int at, int colon) {
    Parser *p = &top->parser;
    bool was_muted = p->s->diags.muted;
    p->s->diags.muted = true;
    bool parsed = parser_unit(p, TOK_START_ASSIGNMENT, at + 1, at + 1, colon);
    p->s->diags.muted = was_muted;
    const Expr *c = parsed && p->stmt && p->stmt->kind == STMT_EXPR ? p->stmt->value : NULL;
    Guard *yes = add_guard(top, base, GUARD_IF, c ? c->span : p->token[at].span);
    Guard *no = add_guard(top, base, GUARD_IF, yes->span);
    yes->condition = no->condition = c;
    yes->wanted = true;
    top->others[top->depth] = no;
    return yes;
}

/* `if`, `try` and the like stand at `at`, with their colon: what holds in the block below. */
static void enter_guard(TopLevel *top, int at, int colon) {
    int d = top->depth, kind = top->parser.token[at].kind;
    Span span = top->parser.token[at].span;
    if (d + 1 >= GUARD_DEPTH) return;
    Guard *base = kind == TOK_ELIF || kind == TOK_ELSE ? top->others[d] : top->guard[d];
    Guard *inside = base;
    if (kind == TOK_IF || kind == TOK_ELIF) inside = add_condition(top, base, at, colon);
    if (kind == TOK_FOR || kind == TOK_WHILE) {
        inside = add_guard(top, base, GUARD_LOOP, span);
        top->others[d] = inside;
    }
    if (kind == TOK_TRY) {
        inside = top->tried[d] = add_guard(top, base, GUARD_TRY, span);
        top->others[d] = add_guard(top, base, GUARD_EXCEPT, span); /* its `else` */
        top->others[d]->tried = inside;
    }
    if (kind == TOK_EXCEPT && top->tried[d]) {
        inside = add_guard(top, base, GUARD_EXCEPT, span);
        inside->tried = top->tried[d];
        inside->wanted = true;
        inside->tried->nexcepts++;
    }
    top->guard[d + 1] = inside;
}

/* What a dict that is written out has for a text; NULL: nothing. */
static Expr *value_of(const Expr *dict, const char *key) {
    for (int i = 0; dict && dict->kind == EXPR_DICT && i + 1 < dict->nitems; i += 2)
        if (dict->item[i]->kind == EXPR_STRING && strcmp(dict->item[i]->string, key) == 0)
            return dict->item[i + 1];
    return NULL;
}

/* PyTorch's compiler writes a kernel's types into triton_meta={'signature': {'x': '*fp32'}} of a
 * decorator: parameters are as if annotated with them. */
static void annotate_by_meta(AstFunc *f) {
    for (int i = 0; i < f->ndecorators; i++)
        for (int k = 0; k < f->decorator[i]->nkeywords; k++) {
            const char *name = f->decorator[i]->keyword[k].name;
            if (!name || strcmp(name, "triton_meta") != 0) continue;
            const Expr *types = value_of(f->decorator[i]->keyword[k].value, "signature");
            for (int n = 0; n < f->nparams; n++) {
                Expr *type = value_of(types, f->param[n].name);
                bool is_type =
                    type && type->kind == EXPR_STRING && strcmp(type->string, "constexpr") != 0;
                if (is_type && !f->param[n].annotation) f->param[n].annotation = type;
            }
        }
}

AstFunc *parser_function(Parser *p, int from, int def, int behind) {
    bool jit = false;
    for (int at = from; at < def; at = token_line_end(p->token, at, def) + 1)
        jit = jit || is_jit(p, at);
    if (!jit && p->token[def].kind != TOK_DEF) return NULL;
    bool was_muted = p->s->diags.muted;
    p->s->diags.muted = was_muted || !jit;
    bool parsed = parser_unit(p, TOK_START_FUNCTION, from, def, behind);
    p->s->diags.muted = was_muted;
    if (p->func) p->func->broken = !parsed;
    if (p->func && jit) annotate_by_meta(p->func);
    return jit || parsed ? p->func : NULL;
}

/* Those inside the def or class at `def`. */
static void note_inner(TopLevel *top, int def, int behind) {
    Parser *p = &top->parser;
    const Token *token = p->token;
    if (token[def].kind != TOK_DEF && token[def].kind != TOK_CLASS) return;
    bool jit = false;
    for (int at = token_line_end(token, def, behind) + 1; at < behind;
         at = token_line_end(token, at, behind) + 1) {
        while (token[at].kind == TOK_INDENT || token[at].kind == TOK_DEDENT) at++;
        if (token[at].kind == TOK_AT)
            jit |= is_jit(p, at);
        else if (jit && token[at].kind == TOK_DEF && token[at + 1].kind == TOK_NAME)
            vec_push(&p->s->arena, &top->inner,
                     ((AstInner){token_name(p, &token[at + 1]), token_name(p, &token[def + 1]),
                                 token[at + 1].span, token[def + 1].span}));
        if (token[at].kind != TOK_AT) jit = false;
    }
}

/* A def or a class, with the decorators above it; returns the index behind it. */
static int top_definition(TopLevel *top, int at) {
    Parser *p = &top->parser;
    const Token *token = p->token;
    int from = at;
    while (token[at].kind == TOK_AT) at = token_line_end(token, at, top->end) + 1;
    int def = at, behind = def;
    if (token[def].kind != TOK_INDENT && token[def].kind != TOK_DEDENT && def < top->end)
        behind = token_skip_block(token, token_line_end(token, def, top->end) + 1, top->end);
    if (token[def].kind == TOK_CLASS) {
        AstClass *c = parser_class(p, from, def, behind);
        if (!c || !c->is_aggregate) note_inner(top, def, behind);
        if (!c) return behind;
        c->guard = current_guard(top, c->span);
        c->order = top->order++;
        vec_push(&p->s->arena, &top->classes, c);
        return behind;
    }
    AstFunc *f = parser_function(p, from, def, behind);
    note_inner(top, def, behind);
    if (!f) return behind;
    f->guard = current_guard(top, f->span);
    f->order = top->order++;
    for (int i = from; i < def; i = token_line_end(token, i, top->end) + 1)
        directives_of(p->s, &top->directives, f, token[i].offset);
    directives_of(p->s, &top->directives, f, token[def].offset);
    vec_push(&p->s->arena, &top->funcs, f);
    return behind;
}

/* Is it `jit`, `heuristics(…)` or `autotune(…)`, which take a function and give a kernel? */
static bool makes_kernel(const Expr *e) {
    bool called = e->kind == EXPR_CALL;
    if (called) e = e->left;
    if (e->kind != EXPR_NAME && e->kind != EXPR_ATTRIBUTE) return false;
    if (strcmp(e->name, "jit") == 0) return !called;
    return called && (strcmp(e->name, "heuristics") == 0 || strcmp(e->name, "autotune") == 0);
}

/* f = triton.jit(f) below f, in the same block: a decorator of f, written as a call. */
static bool add_decorator(TopLevel *top, const char *name, const Expr *value) {
    Arena *a = &top->parser.s->arena;
    if (!value || value->kind != EXPR_CALL || value->nitems != 1 || value->nkeywords ||
        value->item[0]->kind != EXPR_NAME || value->item[0]->name != name ||
        !makes_kernel(value->left))
        return false;
    AstFunc *f = NULL;
    for (int i = 0; i < top->funcs.n; i++)
        if (top->funcs.at[i]->name == name) f = top->funcs.at[i];
    if (!f || f->guard != current_guard(top, f->span)) return false;
    for (int i = 0; i < top->globals.n; i++)
        if (top->globals.at[i].name == name && top->globals.at[i].order > f->order) return false;
    Expr **all = arena_array(a, (size_t)f->ndecorators + 1, sizeof *all);
    all[0] = value->left;
    for (int i = 0; i < f->ndecorators; i++) all[i + 1] = f->decorator[i];
    f->decorator = all;
    f->ndecorators++;
    f->order = top->order++;
    return true;
}

static void add_global(TopLevel *top, const char *name, Span span, Expr *annotation, Expr *value) {
    if (add_decorator(top, name, value)) return;
    AstGlobal g = {name, annotation, value, span, current_guard(top, span), top->order++};
    vec_push(&top->parser.s->arena, &top->globals, g);
}

/* target = value, of which names get parts that match; what else they get is not read. */
static void add_targets(TopLevel *top, const Expr *target, Expr *annotation, Expr *value) {
    if (target->kind == EXPR_STARRED) add_targets(top, target->left, NULL, NULL);
    if (target->kind == EXPR_NAME) add_global(top, target->name, target->span, annotation, value);
    if (target->kind != EXPR_TUPLE && target->kind != EXPR_LIST) return;
    bool pairs = value && (value->kind == EXPR_TUPLE || value->kind == EXPR_LIST) &&
                 target->nitems == value->nitems;
    for (int k = 0; pairs && k < target->nitems; k++)
        pairs = target->item[k]->kind != EXPR_STARRED && value->item[k]->kind != EXPR_STARRED;
    for (int k = 0; k < target->nitems; k++)
        add_targets(top, target->item[k], NULL, pairs ? value->item[k] : NULL);
}

/* NAME = value, NAME: annotation = value, a = b = value, a, b = x, y, NAME += value. */
static void top_assignment(TopLevel *top, int at, int stop) {
    Parser *p = &top->parser;
    bool was_muted = p->s->diags.muted;
    p->s->diags.muted = true;
    bool parsed = parser_unit(p, TOK_START_ASSIGNMENT, at, at, stop);
    p->s->diags.muted = was_muted;
    const Stmt *s = parsed ? p->stmt : NULL;
    int next = p->token[at + 1].kind;
    if (!s && p->token[at].kind == TOK_NAME && (next == TOK_ASSIGN || next == TOK_COLON))
        add_global(top, token_name(p, &p->token[at]), p->token[at].span, NULL, NULL);
    if (!s || s->kind == STMT_EXPR || (s->kind == STMT_ANNASSIGN && !s->value)) return;
    for (int i = 0; i < s->ntargets; i++)
        add_targets(top, s->target[i], s->annotation, s->kind == STMT_AUGASSIGN ? NULL : s->value);
}

/* An `=`, `+=`, … between brackets none of which is open. */
static bool assigns(const Token *token, int at, int stop) {
    for (int brackets = 0; at < stop; at++) {
        int k = token[at].kind;
        brackets += k == TOK_LPAREN || k == TOK_LBRACKET || k == TOK_LBRACE;
        brackets -= k == TOK_RPAREN || k == TOK_RBRACKET || k == TOK_RBRACE;
        if (!brackets && (k == TOK_ASSIGN || (k >= TOK_ADD_ASSIGN && k <= TOK_SHR_ASSIGN)))
            return true;
    }
    return false;
}

/* Another statement: inside of a `try` it counts whether it fails. It is kept as a global without a
 * name. */
static void top_expression(TopLevel *top, int at, int stop) {
    Parser *p = &top->parser;
    const Guard *g = top->depth < GUARD_DEPTH ? top->guard[top->depth] : NULL;
    while (g && g->kind != GUARD_TRY) g = g->outer;
    if (!g || p->token[at].kind == TOK_PASS) return;
    bool was_muted = p->s->diags.muted;
    p->s->diags.muted = true;
    bool parsed = parser_unit(p, TOK_START_ASSIGNMENT, at, at, stop);
    p->s->diags.muted = was_muted;
    const Stmt *s = parsed ? p->stmt : NULL;
    add_global(top, "", p->token[at].span, NULL, s && s->kind == STMT_EXPR ? s->value : NULL);
}

/* The statements of one line without blocks, or of what stands behind a colon. */
static void top_simple(TopLevel *top, int at, int stop) {
    Parser *p = &top->parser;
    while (at < stop) {
        int next = at;
        while (next < stop && p->token[next].kind != TOK_SEMICOLON) next++;
        int kind = p->token[at].kind;
        if (kind == TOK_IMPORT || kind == TOK_FROM) {
            parser_unit(p, TOK_START_IMPORT, at, at, next);
            for (int i = 0; i < p->imports.n; i++) {
                AstImport im = p->imports.at[i];
                if (!im.module) continue; /* the line does not parse */
                im.guard = current_guard(top, im.span);
                im.order = top->order++;
                vec_push(&p->s->arena, &top->imports, im);
            }
        } else if (assigns(p->token, at, next)) {
            top_assignment(top, at, next);
        } else {
            top_expression(top, at, next);
        }
        at = next + 1;
    }
}

static bool is_block_to_enter(int kind) {
    return kind == TOK_IF || kind == TOK_ELIF || kind == TOK_ELSE || kind == TOK_TRY ||
           kind == TOK_EXCEPT || kind == TOK_FINALLY || kind == TOK_WITH || kind == TOK_FOR ||
           kind == TOK_WHILE;
}

/* One statement; returns the index of the next. */
static int top_statement(TopLevel *top, int at) {
    const Token *token = top->parser.token;
    int kind = token[at].kind;
    int stop = token_line_end(token, at, top->end);
    bool headed = top->headed;
    top->headed = false;
    if (kind == TOK_INDENT || kind == TOK_DEDENT) {
        if (kind == TOK_INDENT)
            enter_block(top, headed);
        else
            leave_block(top);
        return at + 1;
    }
    if (kind == TOK_AT || kind == TOK_DEF || kind == TOK_CLASS) return top_definition(top, at);
    if (is_block_to_enter(kind)) {
        int colon = at, brackets = 0;
        for (; colon < stop && (brackets > 0 || token[colon].kind != TOK_COLON); colon++) {
            int k = token[colon].kind;
            brackets += k == TOK_LPAREN || k == TOK_LBRACKET || k == TOK_LBRACE;
            brackets -= k == TOK_RPAREN || k == TOK_RBRACKET || k == TOK_RBRACE;
        }
        enter_guard(top, at, colon);
        top->depth++; /* what stands behind the colon is inside */
        for (int i = at + 1; kind == TOK_FOR && i < colon && token[i].kind != TOK_IN; i++)
            if (token[i].kind == TOK_NAME)
                add_global(top, token_name(&top->parser, &token[i]), token[i].span, NULL, NULL);
        top_simple(top, colon + 1, stop);
        leave_block(top);
        top->headed = true;
        return stop + 1;
    }
    if (token[stop].kind == TOK_NEWLINE && token[stop + 1].kind == TOK_INDENT)
        return token_skip_block(token, stop + 1, top->end); /* async … */
    top_simple(top, at, stop);
    return stop + 1;
}

/* ---- the file ---- */

/* False when the text cannot be read at all. */
static bool check_text(Session *s) {
    const Source *src = &s->source;
    size_t limit = (size_t)SOURCE_LIMIT_MB << 20;
    if (src->len > limit) {
        size_t mb = (src->len + (1 << 20) - 1) >> 20;
        diag(&s->diags, E_SOURCE_LIMIT, (Span){0}, "the file has %zu MB; the limit is %d MB", mb,
             SOURCE_LIMIT_MB);
        return false;
    }
    size_t valid = utf8_valid_prefix(src->text, src->len);
    const char *nul = src->len ? memchr(src->text, 0, valid) : NULL;
    size_t bad = nul ? (size_t)(nul - src->text) : valid;
    if (bad == src->len) return true;
    Span at = {.line = src->before + 1};
    size_t start = 0;
    for (size_t i = 0; i < bad; i++)
        if (src->text[i] == '\n') {
            at.line++;
            start = i + 1;
        }
    size_t col = bad - start + 1;
    at.col = (uint16_t)(col < SPAN_TO_LINE_END ? col : SPAN_TO_LINE_END - 1);
    at.end = at.col < SPAN_TO_LINE_END - 1 ? (uint16_t)(at.col + 1) : at.col;
    if (nul)
        diag(&s->diags, E_NOT_TEXT, at, "the file is not text: it holds a NUL byte");
    else
        diag(&s->diags, E_NOT_TEXT, at, "the file is not UTF-8: byte 0x%02x",
             (unsigned char)src->text[bad]);
    return false;
}

AstFile *ast_parse(Session *s) {
    AstFile *file = arena_alloc(&s->arena, sizeof *file);
    if (!check_text(s)) return file;
    TokenList raw = {0}, comments = {0}, tokens = {0};
    lexer_run(s, &raw, &comments);
    indent_run(s, &raw, &tokens);
    for (int i = 0; !s->source.name && i < tokens.n; i++) /* the library: it has no places */
        tokens.at[i].span = (Span){0};
    TopLevel top = {.parser = {.s = s, .token = tokens.at}, .end = tokens.n - 1};
    for (int i = 0; i < tokens.n; i++)
        if (tokens.at[i].kind == TOK_YIELD || tokens.at[i].kind == TOK_AWAIT)
            top.parser.has_yield = true;
    for (int i = 0; !s->source.name && i < comments.n; i++) comments.at[i].span = (Span){0};
    directives_read(s, &comments, &top.directives);
    for (int at = 0; at < top.end;) at = top_statement(&top, at);
    *file = (AstFile){.func = top.funcs.at,
                      .nfuncs = top.funcs.n,
                      .import = top.imports.at,
                      .nimports = top.imports.n,
                      .global = top.globals.at,
                      .nglobals = top.globals.n,
                      .class_ = top.classes.at,
                      .nclasses = top.classes.n,
                      .inner = top.inner.at,
                      .ninner = top.inner.n,
                      .directive = top.directives.at,
                      .ndirectives = top.directives.n};
    for (int i = 0; i < file->nfuncs; i++) file->func[i]->file = file;
    for (int i = 0; i < file->nclasses; i++) {
        AstClass *c = file->class_[i];
        c->file = file;
        for (int k = 0; k < c->nfuncs; k++) c->func[k]->file = file;
    }
    return file;
}
