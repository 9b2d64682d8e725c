/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* guess.c: a function whose parameters have no types -> types that they could have.
 *
 * Syntax alone is looked at. What loads and stores begin their addresses with is a pointer; what
 * stands behind that in an address counts, and so do bounds of ranges and what is divided without a
 * rest; what is loaded and then counts, lies where integers are. All of it also by way of other
 * names, and of what a called function does with its parameters, until no name is new. A number
 * that does not count has its annotation's type (`int`, `float`), or goes by its name. */
#include "frontend/lower/guess.h"

#include <ctype.h>
#include <string.h>

enum { MOST_NAMES = 200, MOST_DEPTH = 64 };

/* What a name is used for. */
typedef enum Role {
    POINTER,
    COUNT,        /* a number, or a tile of them */
    OF_COUNTS,    /* a pointer to such */
    OF_ADDRESSES, /* a pointer to addresses, which are loaded as integers */
    ROLES
} Role;

struct Guess {
    Lower *l;
    Names names[ROLES];
    bool grown;
    bool returns_count; /* what it returns counts */
    int depth;          /* of calls that hand an address on */
    int *work;          /* that is left: beyond it a guess is poorer */
};

static Guess *guess(Lower *l, const AstFunc *f, bool returns_count, int depth, int *work);
static void look_at_called(Guess *g, const Expr *call, bool returns_count);

const AstFunc *guess_called(const Lower *l, const Expr *call, int *work) {
    const AstFile *file = l->here->file;
    *work -= file->nfuncs / 8;
    for (int i = 0; call->left->kind == EXPR_NAME && i < file->nfuncs; i++)
        if (file->func[i]->name == call->left->name) return file->func[i];
    return NULL;
}

static bool has_role(const Guess *g, Role role, const char *name) {
    for (int i = 0; i < g->names[role].n; i++)
        if (g->names[role].at[i] == name) return true;
    return false;
}

static void note_role(Guess *g, Role role, const char *name) {
    if (!name || g->names[role].n == MOST_NAMES || has_role(g, role, name)) return;
    vec_push(&g->l->s->arena, &g->names[role], name);
    g->grown = true;
}

/* The name that an address begins with: p of `p + a * b - c`, of `p[:, None]`. */
static const char *base_name(const Expr *e) {
    while (e && (e->kind == EXPR_BINARY || e->kind == EXPR_SUBSCRIPT)) e = e->left;
    return e && e->kind == EXPR_NAME ? e->name : NULL;
}

/* tl.load, load */
static const char *function_name(const Expr *call) {
    const Expr *f = call->left;
    return f->kind == EXPR_NAME || f->kind == EXPR_ATTRIBUTE ? f->name : "";
}

static bool is_range(const char *function) {
    return strcmp(function, "range") == 0 || strcmp(function, "static_range") == 0;
}

/* ---- numbers that count ---- */

/* The value of e counts. */
static void count_in(Guess *g, const Expr *e, int depth) {
    if (!e || depth == MOST_DEPTH || --*g->work < 0) return;
    switch (e->kind) {
    case EXPR_NAME: note_role(g, COUNT, e->name); break;
    case EXPR_UNARY:
    case EXPR_SUBSCRIPT: count_in(g, e->left, depth + 1); break;
    case EXPR_BINARY:
    case EXPR_TERNARY:
        count_in(g, e->left, depth + 1);
        count_in(g, e->right, depth + 1);
        break;
    case EXPR_CALL:
        if (strcmp(function_name(e), "load") == 0 && e->nitems)
            note_role(g, OF_COUNTS, base_name(e->item[0]));
        look_at_called(g, e, true);
        if (!find_builtin('c', function_name(e))) break;
        if (e->left->kind == EXPR_ATTRIBUTE) count_in(g, e->left->left, depth + 1);
        for (int i = 0; i < e->nitems; i++) count_in(g, e->item[i], depth + 1);
        break;
    default: break;
    }
}

/* It is made of what counts. */
static bool counts(const Guess *g, const Expr *e, int depth) {
    if (!e || depth == MOST_DEPTH) return false;
    switch (e->kind) {
    case EXPR_NAME: return has_role(g, COUNT, e->name);
    case EXPR_SUBSCRIPT: return counts(g, e->left, depth + 1);
    case EXPR_BINARY: return counts(g, e->left, depth + 1) || counts(g, e->right, depth + 1);
    case EXPR_CALL: return find_builtin('n', function_name(e));
    default: return false;
    }
}

/* What stands behind the name that the address begins with. */
static void count_behind(Guess *g, const Expr *address) {
    for (; address->kind == EXPR_BINARY || address->kind == EXPR_SUBSCRIPT; address = address->left)
        if (address->kind == EXPR_BINARY) count_in(g, address->right, 0);
}

static void look_at_compare(Guess *g, const Expr *e) {
    bool any = counts(g, e->left, 0);
    for (int i = 0; i < e->nitems; i++) any = any || counts(g, e->item[i], 0);
    if (!any) return;
    count_in(g, e->left, 0);
    for (int i = 0; i < e->nitems; i++) count_in(g, e->item[i], 0);
}

/* ---- what is done with a name ---- */

static void note_address(Guess *g, const Expr *e) {
    note_role(g, POINTER, base_name(e));
    count_behind(g, e);
}

/* What a parameter of a called function is used for, its argument is. */
static void hand_on(Guess *g, const Guess *inner, const char *param, const Expr *value) {
    if (!param) return;
    if (has_role(inner, POINTER, param)) note_address(g, value);
    if (has_role(inner, OF_COUNTS, param)) note_role(g, OF_COUNTS, base_name(value));
    if (has_role(inner, OF_ADDRESSES, param)) note_role(g, OF_ADDRESSES, base_name(value));
    if (has_role(inner, COUNT, param)) count_in(g, value, 0);
}

static void look_at_called(Guess *g, const Expr *e, bool returns_count) {
    const AstFunc *f = g->depth < GUESS_CALLS ? guess_called(g->l, e, g->work) : NULL;
    if (!f) return;
    const Guess *inner = guess(g->l, f, returns_count, g->depth + 1, g->work);
    for (int i = 0; i < e->nitems && i < f->nparams; i++)
        hand_on(g, inner, f->param[i].name, e->item[i]);
    for (int i = 0; i < e->nkeywords; i++)
        hand_on(g, inner, e->keyword[i].name, e->keyword[i].value);
}

/* tl.load(p).to(tl.pointer_type(tl.float16)) */
static void look_at_cast(Guess *g, const Expr *e) {
    const Expr *from = e->left->left, *to = e->nitems ? e->item[0] : NULL;
    if (to && to->kind == EXPR_CALL && strcmp(function_name(to), "pointer_type") == 0 &&
        from->kind == EXPR_CALL && strcmp(function_name(from), "load") == 0 && from->nitems)
        note_role(g, OF_ADDRESSES, base_name(from->item[0]));
}

static void look_at_call(Guess *g, const Expr *e) {
    const char *function = function_name(e);
    bool member = e->left->kind == EXPR_ATTRIBUTE;
    look_at_called(g, e, false);
    if (member && find_builtin('p', function) && e->nitems) note_address(g, e->item[0]);
    if (member && strcmp(function, "to") == 0) look_at_cast(g, e);
    for (int i = 0; is_range(function) && i < e->nitems; i++) count_in(g, e->item[i], 0);
}

static void look_at(Guess *g, const Expr *e) {
    if (!e || --*g->work < 0) return;
    if (e->kind == EXPR_CALL) look_at_call(g, e);
    if (e->kind == EXPR_COMPARE) look_at_compare(g, e);
    if (e->kind == EXPR_BINARY && (e->op == OPR_FLOORDIV || e->op == OPR_MOD)) count_in(g, e, 0);
    look_at(g, e->left);
    look_at(g, e->right);
    look_at(g, e->cond);
    for (int i = 0; i < e->nitems; i++) look_at(g, e->item[i]);
    for (int i = 0; i < e->nkeywords; i++) look_at(g, e->keyword[i].value);
}

/* `to` becomes, or grows by, the value. */
static void look_at_assign(Guess *g, const Expr *to, const Expr *value, bool grows) {
    if (!to || to->kind != EXPR_NAME || !value) return;
    bool pointer = has_role(g, POINTER, to->name);
    if (pointer && !grows) note_address(g, value);
    if (has_role(g, COUNT, to->name) || (pointer && grows)) count_in(g, value, 0);
    if (grows) return;
    if (has_role(g, OF_COUNTS, to->name)) note_role(g, OF_COUNTS, base_name(value));
    if (has_role(g, OF_ADDRESSES, to->name)) note_role(g, OF_ADDRESSES, base_name(value));
}

static void look_through(Guess *g, StmtList list) {
    for (int i = 0; i < list.n; i++) {
        const Stmt *s = list.at[i];
        look_at(g, s->value);
        if (s->kind == STMT_RETURN && g->returns_count) count_in(g, s->value, 0);
        if (s->kind == STMT_ASSIGN || s->kind == STMT_AUGASSIGN)
            for (int k = 0; k < s->ntargets; k++)
                look_at_assign(g, s->target[k], s->value, s->kind == STMT_AUGASSIGN);
        bool counted = s->kind == STMT_FOR && s->value && s->value->kind == EXPR_CALL &&
                       is_range(function_name(s->value));
        if (counted && s->ntargets && s->target[0]->kind == EXPR_NAME)
            note_role(g, COUNT, s->target[0]->name);
        look_through(g, s->body);
        look_through(g, s->orelse);
    }
}

static Guess *guess(Lower *l, const AstFunc *f, bool returns_count, int depth, int *work) {
    Guess *g = arena_alloc(&l->s->arena, sizeof *g);
    g->l = l;
    g->returns_count = returns_count;
    g->depth = depth;
    g->work = work;
    do {
        g->grown = false;
        look_through(g, f->body);
    } while (g->grown && *work > 0);
    return g;
}

const Guess *guess_roles(Lower *l, const AstFunc *f) {
    int work = GUESS_WORK;
    Guess *g = guess(l, f, false, 0, &work);
    g->work = NULL;
    return g;
}

/* ---- types ---- */

static bool sounds_like_a_float(const char *name) {
    static const char *const words[] = {"scale", "eps",  "alpha",    "beta",
                                        "lr",    "prob", "momentum", "slope"};
    char lower[64];
    size_t n = 0;
    for (; name[n] && n + 1 < sizeof lower; n++) lower[n] = (char)tolower((unsigned char)name[n]);
    lower[n] = '\0';
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(lower, words[i])) return true;
    return false;
}

const char *guess_type(const Guess *g, const AstParam *p) {
    const Expr *a = p->annotation;
    bool tensor = a && a->kind == EXPR_ATTRIBUTE && strcmp(a->name, "Tensor") == 0;
    if (has_role(g, OF_ADDRESSES, p->name)) return "*i64";
    if (has_role(g, OF_COUNTS, p->name)) return "*i32";
    if (tensor || has_role(g, POINTER, p->name) || text_ends_in(p->name, "ptr")) return "*fp32";
    if (a && a->kind == EXPR_NAME)
        return strcmp(a->name, "float") == 0 ? "fp32" : strcmp(a->name, "bool") == 0 ? "i1" : "i32";
    return !has_role(g, COUNT, p->name) && sounds_like_a_float(p->name) ? "fp32" : "i32";
}
