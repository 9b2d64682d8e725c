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
    bool returns_value;
} Scan;

static void add_name(Scan *s, Names *names, const char *name) {
    if (!names) return;
    for (int i = 0; i < names->n; i++)
        if (names->at[i] == name) return;
    vec_push(&s->l->s->arena, names, name);
}

static void scan_expr(Scan *s, const Expr *e) {
    if (!e) return;
    if (e->kind == EXPR_NAME) add_name(s, s->mentioned, e->name);
    if (e->kind == EXPR_WALRUS) add_name(s, s->assigned, e->name);
    scan_expr(s, e->left);
    scan_expr(s, e->right);
    scan_expr(s, e->cond);
    for (int i = 0; i < e->nitems; i++) scan_expr(s, e->item[i]);
    for (int i = 0; i < e->nkeywords; i++) scan_expr(s, e->keyword[i].value);
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

Names mentioned_names(Lower *l, StmtList list, bool *returns_value) {
    Names names = {0};
    Scan s = {.l = l, .mentioned = &names};
    scan_stmts(&s, list);
    *returns_value = s.returns_value;
    return names;
}
