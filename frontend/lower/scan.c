/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* scan.c: questions about syntax alone: which names a body mentions or assigns, what it
 * returns.
 *
 * Both walks follow every branch, also those that a constexpr condition will leave out: an answer
 * is "may", never "does". */
#include "frontend/lower/internal.h"

typedef struct Scan {
    Lower *l;
    Names *mentioned; /* NULL: not asked */
    Names *assigned;
    Names hidden; /* names of comprehensions and lambdas around: not those of the function */
    bool returns_value;
} Scan;

static void add_name(Scan *s, Names *names, const char *name) {
    if (!names) return;
    for (int i = 0; i < names->n; i++)
        if (names->at[i] == name) return;
    vec_push(&s->l->s->arena, names, name);
}

static bool is_hidden(const Scan *s, const char *name) {
    for (int i = 0; i < s->hidden.n; i++)
        if (s->hidden.at[i] == name) return true;
    return false;
}

static void scan_target(Scan *s, const Expr *e);

/* What a comprehension's elements, or a lambda's body, call names of their own. */
static void hide_names(Scan *s, const Expr *e) {
    Names own = {0};
    Scan targets = {.l = s->l, .assigned = &own};
    if (e->kind == EXPR_LISTCOMP) scan_target(&targets, e->right);
    for (int i = 0; i < own.n; i++) vec_push(&s->l->s->arena, &s->hidden, own.at[i]);
    for (int i = 0; e->kind == EXPR_LAMBDA && i < e->nlambda_params; i++)
        vec_push(&s->l->s->arena, &s->hidden, e->lambda_param[i].name);
}

static void scan_expr(Scan *s, const Expr *e) {
    if (!e) return;
    if (e->kind == EXPR_NAME && !is_hidden(s, e->name)) add_name(s, s->mentioned, e->name);
    if (e->kind == EXPR_WALRUS) add_name(s, s->assigned, e->name);
    int outer = s->hidden.n;
    hide_names(s, e);
    scan_expr(s, e->left);
    scan_expr(s, e->right);
    scan_expr(s, e->cond);
    for (int i = 0; i < e->nitems; i++) scan_expr(s, e->item[i]);
    for (int i = 0; i < e->nkeywords; i++) scan_expr(s, e->keyword[i].value);
    s->hidden.n = outer;
}

static void scan_target(Scan *s, const Expr *e) {
    if (!e) return;
    if (e->kind == EXPR_NAME)
        add_name(s, s->assigned, e->name);
    else if (e->kind == EXPR_STARRED)
        scan_target(s, e->left);
    else if (e->kind == EXPR_TUPLE || e->kind == EXPR_LIST)
        for (int i = 0; i < e->nitems; i++) scan_target(s, e->item[i]);
    else
        scan_expr(s, e);
}

static void scan_stmts(Scan *s, StmtList list) {
    for (int i = 0; i < list.n; i++) {
        const Stmt *stmt = list.at[i];
        for (int t = 0; t < stmt->ntargets; t++) scan_target(s, stmt->target[t]);
        if (stmt->kind == STMT_AUGASSIGN && stmt->ntargets) scan_expr(s, stmt->target[0]);
        scan_expr(s, stmt->value);
        scan_expr(s, stmt->message);
        if (stmt->kind == STMT_RETURN && stmt->value && stmt->value->kind != EXPR_NONE)
            s->returns_value = true;
        scan_stmts(s, stmt->body);
        scan_stmts(s, stmt->orelse);
    }
}

Names assigned_names(Lower *l, StmtList list, const Expr *also) {
    Names names = {0};
    Scan s = {.l = l, .assigned = &names};
    scan_stmts(&s, list);
    scan_expr(&s, also);
    return names;
}

/* A name that the function gives a value is its own everywhere in it, as in Python. */
Names global_names(Lower *l, const AstFunc *f) {
    Names mentioned = {0}, own = {0}, names = {0};
    Scan s = {.l = l, .mentioned = &mentioned, .assigned = &own};
    scan_stmts(&s, f->body);
    for (int i = 0; i < f->nparams; i++) add_name(&s, &own, f->param[i].name);
    s.hidden = own;
    for (int i = 0; i < mentioned.n; i++)
        if (!is_hidden(&s, mentioned.at[i])) vec_push(&l->s->arena, &names, mentioned.at[i]);
    return names;
}

bool returns_value(Lower *l, const AstFunc *f) {
    Scan s = {.l = l};
    scan_stmts(&s, f->body);
    return s.returns_value;
}
