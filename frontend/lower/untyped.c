/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* untyped.c: the parameters of a kernel that have no type or value -> one error, and a signature
 * that could be meant (guess.c), ready for the command line; for editors, which have no launch that
 * would tell, the same as if it had been given, with constexprs whose values could be so. */
#include <ctype.h>
#include <string.h>

#include "frontend/lower/guess.h"

/* ---- for editors ---- */

/* Assumes nothing: the kernel goes on without. */
static bool leaves_open(Lower *l) {
    if (l->options->symbols->unknown) l->failed = true;
    return l->options->symbols->unknown;
}

const char *assumed_type(Lower *l, const AstFunc *f, const AstParam *p) {
    SymbolIndex *x = l->options->symbols;
    if (leaves_open(l)) return NULL;
    if (x->guessed != f) x->guess = guess_roles(l, f);
    x->guessed = f;
    const char *type = guess_type(x->guess, p);
    assume(l, p, type, true);
    return type;
}

/* How a constexpr is used says what it could be. */
typedef struct Uses {
    Lower *l;
    const char *name;
    int depth;          /* of calls that hand it on */
    int work;           /* that is left */
    const char *string; /* that it is compared with */
    bool truth, dtype, called;
} Uses;

static void look_at_uses(Uses *u, StmtList list);

static bool is_it(const Uses *u, const Expr *e) {
    return e && e->kind == EXPR_NAME && e->name == u->name;
}

static void look_at_truth(Uses *u, const Expr *e) {
    u->truth |= is_it(u, e);
}

static void hand_on(Uses *u, const AstFunc *f, const char *name) {
    const char *outer = u->name;
    if (u->depth == GUESS_CALLS) return;
    u->depth++;
    u->name = name;
    look_at_uses(u, f->body);
    u->name = outer;
    u->depth--;
}

static void look_at_call(Uses *u, const Expr *e) {
    const AstFunc *f = guess_called(u->l, e, &u->work);
    u->called |= is_it(u, e->left);
    bool converts = e->left->kind == EXPR_ATTRIBUTE && strcmp(e->left->name, "to") == 0;
    u->dtype |= converts && e->nitems && is_it(u, e->item[0]);
    for (int i = 0; f && i < e->nitems && i < f->nparams; i++)
        if (is_it(u, e->item[i])) hand_on(u, f, f->param[i].name);
    for (int i = 0; i < e->nkeywords; i++) {
        const Keyword *k = &e->keyword[i];
        if (!k->name || !is_it(u, k->value)) continue;
        u->dtype |= strstr(k->name, "dtype") != NULL;
        if (f) hand_on(u, f, k->name);
    }
}

static void look_at_use(Uses *u, const Expr *e) {
    if (!e || --u->work < 0) return;
    if (e->kind == EXPR_CALL) look_at_call(u, e);
    if (e->kind == EXPR_ATTRIBUTE && is_it(u, e->left)) u->dtype |= strcmp(e->name, "value") != 0;
    for (int i = 0; e->kind == EXPR_COMPARE && i < e->nitems; i++)
        if (is_it(u, e->left) && e->item[i]->kind == EXPR_STRING && !u->string)
            u->string = e->item[i]->string;
    if (e->kind == EXPR_UNARY && e->op == OPR_NOT) look_at_truth(u, e->left);
    if (e->kind == EXPR_BOOL) look_at_truth(u, e->left), look_at_truth(u, e->right);
    if (e->kind == EXPR_TERNARY) look_at_truth(u, e->cond);
    look_at_use(u, e->left);
    look_at_use(u, e->right);
    look_at_use(u, e->cond);
    for (int i = 0; i < e->nitems; i++) look_at_use(u, e->item[i]);
    for (int i = 0; i < e->nkeywords; i++) look_at_use(u, e->keyword[i].value);
}

static void look_at_uses(Uses *u, StmtList list) {
    for (int i = 0; i < list.n; i++) {
        const Stmt *s = list.at[i];
        if (s->kind == STMT_IF || s->kind == STMT_WHILE) look_at_truth(u, s->value);
        look_at_use(u, s->value);
        look_at_uses(u, s->body);
        look_at_uses(u, s->orelse);
    }
}

/* A power of two, which sizes of tiles are; of stages, warps and groups fewer. */
static int64_t likely_size(const char *name) {
    static const char *const few[] = {"stage", "warp", "group", "num_", "split"};
    char lower[64];
    size_t n = 0;
    for (; name[n] && n + 1 < sizeof lower; n++) lower[n] = (char)tolower((unsigned char)name[n]);
    lower[n] = '\0';
    bool block = strstr(lower, "block") || strstr(lower, "size");
    for (size_t i = 0; i < sizeof few / sizeof *few && !block; i++)
        if (strstr(lower, few[i])) return 4;
    return 64;
}

/* A value that goes with the uses; poison: it is a function. */
static Obj likely_constexpr(Lower *l, const AstFunc *f, const AstParam *p) {
    Uses u = {.l = l, .name = p->name, .work = GUESS_WORK};
    look_at_uses(&u, f->body);
    return u.called   ? poison()
           : u.string ? obj_string(l, u.string)
           : u.dtype  ? obj_dtype(l, type_scalar(EL_F32))
           : u.truth  ? obj_bool(true)
                      : obj_int(likely_size(p->name));
}

Obj assumed_constexpr(Lower *l, const AstFunc *f, const AstParam *p) {
    if (leaves_open(l)) return poison();
    Obj o = likely_constexpr(l, f, p);
    assume(l, p, obj_is_poison(o) ? NULL : obj_repr(l, o), false);
    return o;
}

/* ---- for people ---- */

enum { NAMED = 4 }; /* of what lacks something; how many more there are is said */

static void put_names(Buf *out, const AstParam *const *params, int n) {
    for (int i = 0; i < n && i < NAMED; i++)
        buf_printf(out, "%s'%s'", i ? ", " : "", params[i]->name);
    if (n > NAMED) buf_printf(out, " and %d more", n - NAMED);
}

void report_missing(Lower *l, const AstFunc *f, const AstParam *const *missing, int n) {
    Arena *a = &l->s->arena;
    Buf names = buf_new(a), values = buf_new(a);
    put_names(&names, missing, n);
    for (int i = 0; i < n; i++) {
        Obj o = likely_constexpr(l, f, missing[i]);
        buf_printf(&values, "%s-D %s=", i ? " " : "", missing[i]->name);
        if (o.kind == OBJ_STRING) /* -D takes it as it is */
            buf_printf(&values, "%.*s", (int)o.text.n, o.text.at);
        else
            buf_puts(&values, obj_is_poison(o) ? "VALUE" : obj_repr(l, o));
    }
    fail(l, E_CONSTEXPR_VALUE, missing[0]->span, "constexprs %s have no value", names.data);
    note(l, (Span){0}, "give them values, maybe %s", values.data);
}

void report_untyped(Lower *l, const AstFunc *f, const AstParam *const *untyped, int n) {
    Arena *a = &l->s->arena;
    const Guess *g = guess_roles(l, f);
    Buf names = buf_new(a), signature = buf_new(a);
    put_names(&names, untyped, n);
    for (int i = 0; i < n; i++)
        buf_printf(&signature, "%s%s=%s", i ? "," : "", untyped[i]->name,
                   guess_type(g, untyped[i]));
    fail(l, E_UNTYPED, untyped[0]->span,
         n == 1 ? "parameter %s has no type" : "parameters %s have no type", names.data);
    note(l, (Span){0}, "annotate %s, %s: \"%s\", or say -s '%s' with the types that launches pass",
         n == 1 ? "it" : "them", untyped[0]->name, guess_type(g, untyped[0]), signature.data);
}
