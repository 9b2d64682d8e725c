/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* ast.c: the nodes of the syntax tree, made from what the grammar found.
 *
 * Convention: a node's span covers all of it, brackets around it included as soon as it becomes
 * part of something larger. What Python's compiler checks after parsing is checked here: what can
 * be assigned to, the order of arguments and of parameters.
 *
 * The hard idea is depth. Whoever walks the tree recurses, so its height must be bounded whatever
 * the input is. Every node knows its height; brackets and right operands also count as nesting.
 * When a limit is passed, that is said once and the node is replaced by a leaf, which keeps the
 * tree small while the rest of the file is still read. */
#include "frontend/syntax/parser.h"
#include "frontend/grammar.h"

#include <string.h>

const char *const operator_text[OPERATORS] = {
    [OPR_ADD] = "+",         [OPR_SUB] = "-",         [OPR_MUL] = "*",
    [OPR_DIV] = "/",         [OPR_FLOORDIV] = "//",   [OPR_MOD] = "%",
    [OPR_POW] = "**",        [OPR_MATMUL] = "@",      [OPR_AND] = "&",
    [OPR_OR] = "|",          [OPR_XOR] = "^",         [OPR_SHL] = "<<",
    [OPR_SHR] = ">>",        [OPR_NEG] = "-",         [OPR_POS] = "+",
    [OPR_INVERT] = "~",      [OPR_NOT] = "not",       [OPR_LOGICAL_AND] = "and",
    [OPR_LOGICAL_OR] = "or", [OPR_EQ] = "==",         [OPR_NE] = "!=",
    [OPR_LT] = "<",          [OPR_LE] = "<=",         [OPR_GT] = ">",
    [OPR_GE] = ">=",         [OPR_IS] = "is",         [OPR_IS_NOT] = "is not",
    [OPR_IN] = "in",         [OPR_NOT_IN] = "not in",
};

const char *token_name(Parser *p, const Token *token) {
    return intern(&p->s->names, p->s->source.text + token->offset, token->length);
}

/* ---- expressions ---- */

Expr *expr_leaf(Parser *p, ExprKind kind, Span span) {
    Expr *e = arena_alloc(&p->s->arena, sizeof *e);
    e->kind = kind;
    e->span = e->op_span = span;
    e->height = 1;
    return e;
}

/* `child` becomes part of `e`, as an operand in a row (more = 0) or one level down (more = 1). */
static void adopt(Expr *e, const Expr *child, int more) {
    if (!child) return;
    if (e->height <= child->height) e->height = (uint16_t)(child->height + 1);
    if (e->nesting < child->nesting + more) e->nesting = (uint16_t)(child->nesting + more);
}

/* The node is complete: within the limits, or a leaf in its place. */
static Expr *checked(Parser *p, Expr *e) {
    if (e->nesting > NESTING_LIMIT)
        syntax_too_deep(p, e->span, "nested too deeply", NESTING_LIMIT);
    else if (e->height > CHAIN_LIMIT)
        syntax_too_deep(p, e->span, "too many operators in a row", CHAIN_LIMIT);
    else
        return e;
    return expr_leaf(p, EXPR_NONE, e->span);
}

Expr *expr_name(Parser *p, const Token *token) {
    Expr *e = expr_leaf(p, EXPR_NAME, token->span);
    e->name = token_name(p, token);
    return e;
}

Expr *expr_number(Parser *p, const Token *token) {
    const char *text = p->s->source.text + token->offset;
    if (token->kind == TOK_FLOAT) {
        Expr *e = expr_leaf(p, EXPR_FLOAT, token->span);
        e->number = literal_float(&p->s->arena, text, token->length);
        return e;
    }
    Expr *e = expr_leaf(p, EXPR_INT, token->span);
    uint64_t value;
    const char *problem = literal_int(text, token->length, &value);
    if (problem) parser_error(p, E_NUMBER, token->span, "%s", problem);
    e->integer_is_u64 = value > INT64_MAX;
    memcpy(&e->integer, &value, sizeof value);
    return e;
}

Expr *expr_string(Parser *p, const Token *token) {
    Expr *e = expr_leaf(p, EXPR_STRING, token->span);
    const char *text = p->s->source.text + token->offset;
    size_t n = token->length;
    bool is_text = token->kind == TOK_FSTRING_TEXT;
    if (!is_text) literal_strip(&text, &n);
    const char *problem = literal_string(&p->s->arena, text, n, token->flags & TOKEN_RAW, is_text,
                                         &e->string, &e->string_len);
    if (problem) parser_error(p, E_STRING, token->span, "%s", problem);
    return e;
}

Expr *expr_label(Parser *p, const Token *token) {
    Expr *e = expr_leaf(p, EXPR_STRING, token->span);
    e->string = arena_strndup(&p->s->arena, p->s->source.text + token->offset, token->length);
    e->string_len = token->length;
    return e;
}

/* Neighbouring strings become one; with an f-string among them, so does each run of strings. */
Expr *expr_join_strings(Parser *p, const ExprVec *parts, Span span) {
    ExprVec joined = {0};
    bool is_fstring = parts->trailing_comma; /* the grammar's mark */
    for (int i = 0; i < parts->n;) {
        int end = i + 1;
        if (parts->at[i]->kind == EXPR_STRING)
            while (end < parts->n && parts->at[end]->kind == EXPR_STRING) end++;
        Expr *part = parts->at[i];
        if (end > i + 1) {
            Buf text = buf_new(&p->s->arena);
            for (int k = i; k < end; k++)
                buf_write(&text, parts->at[k]->string, parts->at[k]->string_len);
            part->span = part->op_span = span_join(part->span, parts->at[end - 1]->span);
            part->string = text.data;
            part->string_len = text.len;
        }
        vec_push(&p->s->arena, &joined, part);
        i = end;
    }
    if (is_fstring) return expr_items(p, EXPR_FSTRING, &joined, span);
    joined.at[0]->span = joined.at[0]->op_span = span;
    return joined.at[0];
}

Expr *expr_unary(Parser *p, Operator op, Span op_span, Expr *x, Span span) {
    Expr *e = expr_leaf(p, EXPR_UNARY, span);
    e->op = op;
    e->op_span = op_span;
    e->left = x;
    adopt(e, x, 1);
    return checked(p, e);
}

Expr *expr_binary(Parser *p, ExprKind kind, Operator op, Span op_span, Expr *a, Expr *b,
                  Span span) {
    Expr *e = expr_leaf(p, kind, span);
    e->op = op;
    e->op_span = op_span;
    e->left = a;
    e->right = b;
    adopt(e, a, 0);
    adopt(e, b, op == OPR_POW); /* the one that groups to the right */
    return checked(p, e);
}

Expr *expr_compare(Parser *p, Expr *left, Operator op, Span op_span, Expr *right, Span span) {
    /* a < b < c comes as (a < b) < c; the grammar hands a parenthesised one in as an operand. */
    Expr *e = left;
    if (left->kind != EXPR_COMPARE || left->is_parenthesised) {
        e = expr_leaf(p, EXPR_COMPARE, span);
        e->op_span = op_span;
        e->left = left;
        adopt(e, left, 0);
    }
    int n = e->nitems + 1;
    if ((n & (n - 1)) == 0) { /* the arrays double when n reaches a power of two */
        size_t cap = 2 * (size_t)n;
        Expr **item = arena_array(&p->s->arena, cap, sizeof *item);
        Operator *ops = arena_array(&p->s->arena, cap, sizeof *ops);
        if (e->nitems) {
            memcpy(item, e->item, (size_t)e->nitems * sizeof *item);
            memcpy(ops, e->compare_op, (size_t)e->nitems * sizeof *ops);
        }
        e->item = item;
        e->compare_op = ops;
    }
    e->span = span;
    e->item[e->nitems] = right;
    e->compare_op[e->nitems++] = op;
    adopt(e, right, 0);
    return checked(p, e);
}

Expr *expr_ternary(Parser *p, Expr *then, Expr *cond, Expr *otherwise, Span span) {
    Expr *e = expr_leaf(p, EXPR_TERNARY, span);
    e->left = then;
    e->cond = cond;
    e->right = otherwise;
    e->op_span = cond->span;
    adopt(e, then, 0);
    adopt(e, cond, 0);
    adopt(e, otherwise, 1);
    return checked(p, e);
}

Expr *expr_items(Parser *p, ExprKind kind, const ExprVec *items, Span span) {
    Expr *e = expr_leaf(p, kind, span);
    e->item = items->at;
    e->nitems = items->n;
    for (int i = 0; i < items->n; i++) adopt(e, items->at[i], 0);
    return checked(p, e);
}

Expr *expr_testlist(Parser *p, const ExprVec *items, Span span) {
    if (items->n > 1 || items->trailing_comma) return expr_items(p, EXPR_TUPLE, items, span);
    if (items->at[0]->kind == EXPR_STARRED)
        parser_error(p, E_STARRED, items->at[0]->span,
                     "a starred expression needs a tuple around it");
    return items->at[0];
}

Expr *expr_attribute(Parser *p, Expr *x, const Token *name, Span span) {
    Expr *e = expr_leaf(p, EXPR_ATTRIBUTE, span);
    e->left = x;
    e->name = token_name(p, name);
    e->op_span = name->span;
    adopt(e, x, 0);
    return checked(p, e);
}

Expr *expr_call(Parser *p, Expr *callee, const ArgVec *args, Span span) {
    Expr *e = expr_leaf(p, EXPR_CALL, span);
    e->left = callee;
    e->op_span = callee->kind == EXPR_ATTRIBUTE ? callee->op_span : callee->span;
    e->item = args->positional.at;
    e->nitems = args->positional.n;
    e->keyword = args->at;
    e->nkeywords = args->n;
    e->height = (uint16_t)(args->height + 1);
    e->nesting = (uint16_t)(args->nesting + 1);
    adopt(e, callee, 0);
    return checked(p, e);
}

void args_add(Parser *p, ArgVec *args, const Arg *arg) {
    Expr *x = arg->value;
    if (arg->is_keyword) {
        Keyword k = {.name = arg->name, .value = x, .span = arg->span};
        vec_push(&p->s->arena, args, k);
    } else {
        if (args->n > 0 && x->kind != EXPR_STARRED)
            parser_error(p, E_ARGUMENT_ORDER, x->span,
                         "positional argument follows keyword argument");
        vec_push(&p->s->arena, &args->positional, x);
    }
    if (args->height < x->height) args->height = x->height;
    if (args->nesting < x->nesting) args->nesting = x->nesting;
}

Expr *expr_subscript(Parser *p, Expr *x, Expr *index, Span span) {
    Expr *e = expr_leaf(p, EXPR_SUBSCRIPT, span);
    e->left = x;
    e->right = index;
    e->op_span = index->span;
    adopt(e, x, 0);
    adopt(e, index, 1);
    return checked(p, e);
}

Expr *expr_slice(Parser *p, Expr *from, Expr *to, Expr *step, Span span) {
    Expr *e = expr_leaf(p, EXPR_SLICE, span);
    e->left = from;
    e->right = to;
    e->cond = step;
    adopt(e, from, 0);
    adopt(e, to, 0);
    adopt(e, step, 0);
    return checked(p, e);
}

Expr *expr_starred(Parser *p, Expr *x, Span span) {
    Expr *e = expr_leaf(p, EXPR_STARRED, span);
    e->left = x;
    adopt(e, x, 0);
    return checked(p, e);
}

Expr *expr_lambda(Parser *p, const ParamVec *params, Expr *body, Span span) {
    Expr *e = expr_leaf(p, EXPR_LAMBDA, span);
    params_finish(p, params, &e->lambda_param, &e->nlambda_params);
    e->left = body;
    adopt(e, body, 1);
    for (int i = 0; i < params->n; i++) adopt(e, params->at[i].default_, 1);
    return checked(p, e);
}

Expr *expr_comprehension(Parser *p, Expr *item, const CompVec *clauses, Span span) {
    Expr *e = item;
    for (int i = clauses->n - 1; i >= 0; i--) {
        const CompFor *c = &clauses->at[i];
        Expr *inner = e;
        e = expr_leaf(p, EXPR_LISTCOMP, span);
        e->left = inner;
        e->right = c->target;
        e->cond = c->iter;
        e->item = c->conditions.at;
        e->nitems = c->conditions.n;
        e->is_inner_for = i > 0;
        adopt(e, inner, 1);
        adopt(e, c->target, 1);
        adopt(e, c->iter, 1);
        for (int k = 0; k < c->conditions.n; k++) adopt(e, c->conditions.at[k], 1);
        e = checked(p, e);
    }
    return e;
}

Expr *expr_walrus(Parser *p, const Token *name, Expr *value, Span span) {
    Expr *e = expr_leaf(p, EXPR_WALRUS, span);
    e->name = token_name(p, name);
    e->op_span = name->span;
    e->left = value;
    adopt(e, value, 0);
    return checked(p, e);
}

Expr *expr_parenthesised(Parser *p, Expr *x) {
    x->nesting++;
    x->is_parenthesised = true;
    return checked(p, x);
}

/* {x}, {x!r}, {x=}, which is a label and !r unless more is said, {x:>8} */
Expr *expr_field(Parser *p, Expr *x, const Token *close, bool labelled) {
    bool told = close->flags & (TOKEN_STR | TOKEN_SPEC);
    x->is_repr = close->flags & TOKEN_REPR || (labelled && !told);
    x->has_format = close->flags & TOKEN_SPEC;
    return expr_parenthesised(p, x);
}

/* ---- statements ---- */

Stmt *stmt_new(Parser *p, StmtKind kind, Span span) {
    Stmt *s = arena_alloc(&p->s->arena, sizeof *s);
    s->kind = kind;
    s->span = span;
    return s;
}

/* NULL when x can be assigned to, else what it is. */
static const char *not_a_target(const Expr *x, const Expr **where) {
    static const char *const what[] = {
        [EXPR_INT] = "a number",
        [EXPR_FLOAT] = "a number",
        [EXPR_STRING] = "a string",
        [EXPR_FSTRING] = "a string",
        [EXPR_TRUE] = "True",
        [EXPR_FALSE] = "False",
        [EXPR_NONE] = "None",
        [EXPR_ELLIPSIS] = "...",
        [EXPR_DICT] = "a dict",
        [EXPR_SET] = "a set",
        [EXPR_UNARY] = "an expression",
        [EXPR_BINARY] = "an expression",
        [EXPR_BOOL] = "an expression",
        [EXPR_COMPARE] = "a comparison",
        [EXPR_TERNARY] = "a conditional expression",
        [EXPR_CALL] = "a function call",
        [EXPR_LAMBDA] = "a lambda",
        [EXPR_LISTCOMP] = "a comprehension",
        [EXPR_WALRUS] = "a named expression",
        [EXPR_SLICE] = "a slice",
    };
    *where = x;
    if (x->kind == EXPR_STARRED) return not_a_target(x->left, where);
    if (x->kind == EXPR_TUPLE || x->kind == EXPR_LIST)
        for (int i = 0; i < x->nitems; i++) {
            const char *wrong = not_a_target(x->item[i], where);
            if (wrong) return wrong;
        }
    return (size_t)x->kind < sizeof what / sizeof *what ? what[x->kind] : NULL;
}

void stmt_target(Parser *p, Stmt *s, Expr *target) {
    const Expr *where;
    const char *wrong = not_a_target(target, &where);
    bool single = s->kind == STMT_AUGASSIGN || s->kind == STMT_ANNASSIGN;
    if (!wrong && single && (target->kind == EXPR_TUPLE || target->kind == EXPR_LIST)) {
        wrong = "several targets in this form";
        where = target;
    }
    if (wrong) parser_error(p, E_ASSIGN_TARGET, where->span, "cannot assign to %s", wrong);
    /* a = b = c = …: the array doubles when the count reaches a power of two */
    int n = s->ntargets;
    if ((n & (n - 1)) == 0) {
        Expr **more = arena_array(&p->s->arena, n ? 2 * (size_t)n : 1, sizeof *more);
        if (n) memcpy(more, s->target, (size_t)n * sizeof *more);
        s->target = more;
    }
    s->target[s->ntargets++] = target;
}

void stmt_block(Parser *p, Stmt *s, StmtList *block, const StmtVec *body) {
    if (!body) return;
    if (body->height >= NESTING_LIMIT) {
        syntax_too_deep(p, s->span, "nested too deeply", NESTING_LIMIT);
        return;
    }
    block->at = body->at;
    block->n = body->n;
    if (s->height <= body->height) s->height = (uint16_t)(body->height + 1);
}

Stmt *stmt_def(Parser *p, Span def, AstFunc *func) {
    if (!func) return stmt_new(p, STMT_PASS, def); /* its error was reported */
    Stmt *s = stmt_new(p, STMT_DEF, span_join(def, func->span));
    s->func = func;
    stmt_block(p, s, &(StmtList){0}, &(StmtVec){.height = func->height});
    if (s->height == 0) func->body = (StmtList){0};
    return s;
}

Stmt *stmt_if(Parser *p, const Elif *first, const ElifVec *elifs, const StmtVec *orelse) {
    const StmtVec *otherwise = orelse;
    StmtVec nested;
    for (int i = elifs->n - 1; i >= -1; i--) {
        const Elif *at = i < 0 ? first : &elifs->at[i];
        Stmt *s = stmt_new(p, STMT_IF, at->span);
        s->value = at->condition;
        stmt_block(p, s, &s->body, at->body);
        stmt_block(p, s, &s->orelse, otherwise);
        if (i < 0) return s;
        nested = (StmtVec){0};
        stmts_add(p, &nested, s);
        otherwise = &nested;
    }
    return NULL; /* not reached: i == -1 returns */
}

Stmt *stmt_import(Parser *p, Span span) {
    Stmt *s = stmt_new(p, STMT_IMPORT, span);
    s->import = arena_copy(&p->s->arena, p->imports.at, (size_t)p->imports.n * sizeof *s->import);
    s->nimports = p->imports.n;
    p->imports.n = 0;
    return s;
}

void stmts_add(Parser *p, StmtVec *list, Stmt *s) {
    vec_push(&p->s->arena, list, s);
    if (list->height < s->height) list->height = s->height;
}

void stmts_add_all(Parser *p, StmtVec *list, const StmtVec *more) {
    for (int i = 0; i < more->n; i++) stmts_add(p, list, more->at[i]);
}

/* ---- functions and imports ---- */

/* Takes the markers `*` and `/` out of a parameter list and checks the order of what is left. */
void params_finish(Parser *p, const ParamVec *from, AstParam **param, int *nparams) {
    VEC(AstParam) out = {0};
    bool keyword_only = false, had_default = false;
    for (int i = 0; i < from->n; i++) {
        AstParam x = from->at[i];
        if (out.n == PARAM_LIMIT) {
            parser_error(p, E_PARAMETER_LIMIT, x.span, "too many parameters (limit %d)",
                         PARAM_LIMIT);
            break;
        }
        if (x.is_star) {
            if (keyword_only)
                parser_error(p, E_PARAMETER_LIST, x.span, "a second '*' among the parameters");
            keyword_only = true;
        }
        if (!x.name) continue;
        for (int k = 0; k < out.n; k++)
            if (out.at[k].name == x.name)
                parser_error(p, E_PARAMETER_LIST, x.span, "duplicate parameter '%s'", x.name);
        bool plain = !x.is_star && !x.is_star_star;
        if (plain && !keyword_only && had_default && !x.default_)
            parser_error(p, E_PARAMETER_LIST, x.span,
                         "parameter '%s' without a default follows one with a default", x.name);
        if (x.is_star_star && i + 1 < from->n)
            parser_error(p, E_PARAMETER_LIST, x.span, "'**%s' must be the last parameter", x.name);
        had_default = had_default || x.default_;
        x.keyword_only = plain && keyword_only;
        vec_push(&p->s->arena, &out, x);
    }
    *param = out.at;
    *nparams = out.n;
}

AstFunc *func_new(Parser *p, const Token *name, const ParamVec *params) {
    AstFunc *f = arena_alloc(&p->s->arena, sizeof *f);
    f->name = token_name(p, name);
    f->span = name->span;
    params_finish(p, params, &f->param, &f->nparams);
    return f;
}

void func_body(AstFunc *f, const StmtVec *body) {
    f->body = (StmtList){body->at, body->n};
    f->height = body->height;
    if (f->body.n > 0 && f->body.at[0]->kind == STMT_EXPR &&
        f->body.at[0]->value->kind == EXPR_STRING) {
        f->docstring = f->body.at[0]->value->string;
        f->body.at++;
        f->body.n--;
    }
}

void import_add(Parser *p, const Token *member, const Token *as, Span span) {
    const char *name = member ? token_name(p, member) : intern(&p->s->names, "*", 1);
    AstImport one = {.member = name, .as = as ? token_name(p, as) : name, .span = span};
    vec_push(&p->s->arena, &p->imports, one);
}

void import_from(Parser *p, const char *module) {
    const char *name = intern(&p->s->names, module, strlen(module));
    for (int i = 0; i < p->imports.n; i++) p->imports.at[i].module = name;
}

void import_module(Parser *p, const char *module, const Token *as, Span span) {
    /* `import a.b` makes `a` known, and `a.b` through it. */
    size_t n = as ? strlen(module) : strcspn(module, ".");
    const char *name = intern(&p->s->names, module, n);
    AstImport one = {.module = name, .as = as ? token_name(p, as) : name, .span = span};
    vec_push(&p->s->arena, &p->imports, one);
}
