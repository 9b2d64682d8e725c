/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* untyped.c: the parameters of a kernel that have no type -> one error, and a signature that
 * could be meant, ready for the command line.
 *
 * The guess looks at syntax alone: what loads and stores begin their addresses with is a pointer,
 * also by way of other names; a number's type is its annotation's (`int`, `float`) or goes by its
 * name. It is shown, never used. */
#include <string.h>

#include "frontend/lower/internal.h"

typedef struct Guess {
    Lower *l;
    Names pointers;
    bool grown;
} Guess;

static bool has_name(const Names *names, const char *name) {
    for (int i = 0; i < names->n; i++)
        if (names->at[i] == name) return true;
    return false;
}

/* The name that an address begins with: p of `p + a * b - c`, of `p[:, None]`. */
static const char *base_name(const Expr *e) {
    while (e && (e->kind == EXPR_BINARY || e->kind == EXPR_SUBSCRIPT)) e = e->left;
    return e && e->kind == EXPR_NAME ? e->name : NULL;
}

static void note_pointer(Guess *g, const Expr *e) {
    const char *name = base_name(e);
    if (!name || has_name(&g->pointers, name)) return;
    vec_push(&g->l->s->arena, &g->pointers, name);
    g->grown = true;
}

static bool takes_address(const char *function) {
    return strcmp(function, "load") == 0 || strcmp(function, "store") == 0 ||
           strncmp(function, "atomic_", 7) == 0 || strcmp(function, "make_block_ptr") == 0 ||
           strcmp(function, "make_tensor_descriptor") == 0;
}

static void look_at(Guess *g, const Expr *e) {
    if (!e) return;
    if (e->kind == EXPR_CALL && e->left->kind == EXPR_ATTRIBUTE && e->nitems &&
        takes_address(e->left->name))
        note_pointer(g, e->item[0]);
    look_at(g, e->left);
    look_at(g, e->right);
    look_at(g, e->cond);
    for (int i = 0; i < e->nitems; i++) look_at(g, e->item[i]);
    for (int i = 0; i < e->nkeywords; i++) look_at(g, e->keyword[i].value);
}

static void look_through(Guess *g, StmtList list) {
    for (int i = 0; i < list.n; i++) {
        const Stmt *s = list.at[i];
        const Expr *to = s->ntargets ? s->target[0] : NULL;
        look_at(g, s->value);
        if (s->kind == STMT_ASSIGN && to && to->kind == EXPR_NAME &&
            has_name(&g->pointers, to->name))
            note_pointer(g, s->value);
        look_through(g, s->body);
        look_through(g, s->orelse);
    }
}

static bool ends_in(const char *name, const char *end) {
    size_t n = strlen(name), k = strlen(end);
    return n >= k && strcmp(name + n - k, end) == 0;
}

static const char *number_type(const AstParam *p) {
    static const char *const floats[] = {"scale", "eps",  "alpha",    "beta",
                                         "lr",    "prob", "momentum", "slope"};
    const Expr *a = p->annotation;
    if (a && a->kind == EXPR_NAME)
        return strcmp(a->name, "float") == 0 ? "fp32" : strcmp(a->name, "bool") == 0 ? "i1" : "i32";
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++)
        if (strstr(p->name, floats[i])) return "fp32";
    return "i32";
}

static const char *guess_type(const Guess *g, const AstParam *p) {
    const Expr *a = p->annotation;
    bool tensor = a && a->kind == EXPR_ATTRIBUTE && strcmp(a->name, "Tensor") == 0;
    if (tensor || has_name(&g->pointers, p->name) || ends_in(p->name, "ptr")) return "*fp32";
    return number_type(p);
}

void report_untyped(Lower *l, const AstFunc *f, const AstParam *const *untyped, int n) {
    enum { NAMED = 4 };
    Arena *a = &l->s->arena;
    Guess g = {.l = l};
    do {
        g.grown = false;
        look_through(&g, f->body);
    } while (g.grown && g.pointers.n < 200);
    Buf names = buf_new(a), signature = buf_new(a);
    for (int i = 0; i < n; i++) {
        if (i < NAMED) buf_printf(&names, "%s'%s'", i ? ", " : "", untyped[i]->name);
        buf_printf(&signature, "%s%s=%s", i ? "," : "", untyped[i]->name,
                   guess_type(&g, untyped[i]));
    }
    if (n > NAMED) buf_printf(&names, " and %d more", n - NAMED);
    fail(l, E_UNTYPED, untyped[0]->span,
         n == 1 ? "parameter %s has no type" : "parameters %s have no type", names.data);
    note(l, (Span){0}, "annotate %s, %s: \"%s\", or say -s '%s' with the types that launches pass",
         n == 1 ? "it" : "them", untyped[0]->name, guess_type(&g, untyped[0]), signature.data);
}
