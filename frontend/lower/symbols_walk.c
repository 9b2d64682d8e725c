/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* symbols_walk.c: syntax tree -> which names are one symbol, and where each got its value (see
 * symbols.h).
 *
 * Python's rules: a name that a function gives a value is its own everywhere in it; lambdas and
 * comprehensions have names of their own; all else is the function's around, or the top level's.
 * The walk goes in the order of evaluation, so that `x = f(x)` reads the x above. */
#include "frontend/lower/internal.h"
#include "frontend/lower/symbols_build.h"

#include <stdlib.h>
#include <string.h>

typedef struct Walk {
    SymbolIndex *x;
    Arena *a;
    const Room *room; /* NULL: top level */
} Walk;

/* ---- symbols by room and name ---- */

static size_t name_hash(const Room *room, const char *name) {
    uint64_t h = ((uint64_t)(uintptr_t)room >> 4) * 0x9e3779b97f4a7c15u;
    h = (h ^ (uint64_t)(uintptr_t)name >> 4) * 0xbf58476d1ce4e5b9u;
    return (size_t)(h >> 32);
}

static Symbol *find_in(const SymbolIndex *x, const Room *room, const char *name) {
    if (!x->cnamed) return NULL;
    size_t at = name_hash(room, name) & (x->cnamed - 1);
    for (; x->named[at]; at = (at + 1) & (x->cnamed - 1))
        if (x->named[at]->room == room && x->named[at]->name == name) return x->named[at];
    return NULL;
}

static void insert(SymbolIndex *x, Symbol *s) {
    size_t at = name_hash(s->room, s->name) & (x->cnamed - 1);
    while (x->named[at]) at = (at + 1) & (x->cnamed - 1);
    x->named[at] = s;
}

static Symbol *declare(Walk *w, const char *name, SymbolKind kind, Span span) {
    SymbolIndex *x = w->x;
    Symbol *s = find_in(x, w->room, name);
    if (s) return s;
    if ((size_t)x->symbols.n * 2 >= x->cnamed) {
        x->cnamed = x->cnamed ? x->cnamed * 2 : 256;
        x->named = arena_array(w->a, x->cnamed, sizeof(Symbol *));
        for (int i = 0; i < x->symbols.n; i++) insert(x, x->symbols.at[i]);
    }
    s = arena_alloc(w->a, sizeof *s);
    *s = (Symbol){.name = name, .kind = kind, .room = w->room, .span = span};
    vec_push(w->a, &x->symbols, s);
    insert(x, s);
    return s;
}

static Symbol *resolve(const Walk *w, const char *name) {
    for (const Room *room = w->room; room; room = room->outer) {
        Symbol *s = find_in(w->x, room, name);
        if (s) return s;
    }
    return find_in(w->x, NULL, name);
}

static Room *open_room(Walk *w, const AstFunc *func) {
    Room *room = arena_alloc(w->a, sizeof *room);
    *room = (Room){w->room, func};
    w->room = room;
    return room;
}

/* ---- occurrences ---- */

static void read_name(Walk *w, const char *name, Span span) {
    Occurrence *o = symbols_place(w->x, span, name);
    o->symbol = resolve(w, name);
    if (!o->symbol) return;
    bool local = o->symbol->room != NULL;
    o->definition = local && o->symbol->latest.line ? o->symbol->latest : o->symbol->span;
}

static void write_name(Walk *w, const char *name, Span span) {
    Occurrence *o = symbols_place(w->x, span, name);
    o->symbol = resolve(w, name);
    o->writes = true;
    o->definition = o->span;
    if (o->symbol) o->symbol->latest = o->span;
}

static void visit(Walk *w, const Expr *e);
static void visit_function(Walk *w, const AstFunc *f);

static void visit_lambda(Walk *w, const Expr *e) {
    const Room *outer = w->room;
    for (int i = 0; i < e->nlambda_params; i++) visit(w, e->lambda_param[i].default_);
    open_room(w, outer ? outer->func : NULL);
    for (int i = 0; i < e->nlambda_params; i++) {
        const AstParam *p = &e->lambda_param[i];
        if (!p->name) continue;
        declare(w, p->name, SYMBOL_PARAMETER, p->span)->param = p;
        write_name(w, p->name, p->span);
    }
    visit(w, e->left);
    w->room = outer;
}

static void declare_targets(Walk *w, const Expr *e) {
    if (!e) return;
    if (e->kind == EXPR_NAME) declare(w, e->name, SYMBOL_VARIABLE, e->span);
    if (e->kind == EXPR_STARRED) declare_targets(w, e->left);
    if (e->kind == EXPR_TUPLE || e->kind == EXPR_LIST)
        for (int i = 0; i < e->nitems; i++) declare_targets(w, e->item[i]);
}

static void write_target(Walk *w, const Expr *e) {
    if (!e) return;
    if (e->kind == EXPR_NAME)
        write_name(w, e->name, e->span);
    else if (e->kind == EXPR_STARRED)
        write_target(w, e->left);
    else if (e->kind == EXPR_TUPLE || e->kind == EXPR_LIST)
        for (int i = 0; i < e->nitems; i++) write_target(w, e->item[i]);
    else
        visit(w, e);
}

/* The first iterable belongs to what is around. */
static void visit_comprehension(Walk *w, const Expr *e) {
    const Room *outer = w->room;
    visit(w, e->cond);
    open_room(w, outer ? outer->func : NULL);
    declare_targets(w, e->right);
    write_target(w, e->right);
    for (int i = 0; i < e->nitems; i++) visit(w, e->item[i]);
    visit(w, e->left);
    w->room = outer;
}

static void visit_keywords(Walk *w, const Expr *e) {
    for (int i = 0; i < e->nkeywords; i++) {
        const Keyword *k = &e->keyword[i];
        if (k->name && k->span.line) {
            Occurrence *o = symbols_place(w->x, k->span, k->name);
            o->of = e->left;
            o->is_keyword = true;
        }
        visit(w, k->value);
    }
}

static void visit(Walk *w, const Expr *e) {
    if (!e) return;
    switch (e->kind) {
    case EXPR_NAME: read_name(w, e->name, e->span); return;
    case EXPR_LAMBDA: visit_lambda(w, e); return;
    case EXPR_LISTCOMP: visit_comprehension(w, e); return;
    case EXPR_WALRUS:
        visit(w, e->left);
        write_name(w, e->name, e->span);
        return;
    case EXPR_ATTRIBUTE:
        visit(w, e->left);
        if (e->op_span.line) symbols_place(w->x, e->op_span, e->name)->of = e->left;
        return;
    default: break;
    }
    visit(w, e->left);
    visit(w, e->right);
    visit(w, e->cond);
    for (int i = 0; i < e->nitems; i++) visit(w, e->item[i]);
    visit_keywords(w, e);
}

/* ---- statements ---- */

/* Where the name that an import binds stands in it. */
static Span name_of_import(const AstImport *im) {
    size_t n = strlen(im->as), first = strcspn(im->module, ".");
    bool at_start = !im->member && first == n && memcmp(im->as, im->module, n) == 0;
    Span span = im->span;
    if (!at_start && span.end != SPAN_TO_LINE_END && (size_t)(span.end - span.col) >= n)
        span.col = (uint16_t)(span.end - n);
    return span;
}

static bool is_star(const AstImport *im) {
    return im->member && strcmp(im->member, "*") == 0;
}

static void declare_walrus(Walk *w, const Expr *e) {
    if (!e || e->kind == EXPR_LAMBDA) return;
    if (e->kind == EXPR_WALRUS) declare(w, e->name, SYMBOL_VARIABLE, e->span);
    declare_walrus(w, e->left);
    declare_walrus(w, e->right);
    declare_walrus(w, e->cond);
    for (int i = 0; i < e->nitems; i++) declare_walrus(w, e->item[i]);
    for (int i = 0; i < e->nkeywords; i++) declare_walrus(w, e->keyword[i].value);
}

static void declare_names(Walk *w, StmtList list) {
    for (int i = 0; i < list.n; i++) {
        const Stmt *s = list.at[i];
        for (int t = 0; t < s->ntargets; t++) declare_targets(w, s->target[t]);
        declare_walrus(w, s->value);
        declare_walrus(w, s->message);
        if (s->kind == STMT_DEF && s->func)
            declare(w, s->func->name, SYMBOL_FUNCTION, s->func->span)->func = s->func;
        for (int k = 0; k < s->nimports; k++)
            if (!is_star(&s->import[k]))
                declare(w, s->import[k].as, SYMBOL_IMPORT, name_of_import(&s->import[k]))->import =
                    &s->import[k];
        declare_names(w, s->body);
        declare_names(w, s->orelse);
        declare_names(w, s->last);
    }
}

static void visit_stmts(Walk *w, StmtList list);

static void visit_stmt(Walk *w, const Stmt *s) {
    visit(w, s->value);
    visit(w, s->annotation);
    visit(w, s->message);
    bool reads = s->kind == STMT_AUGASSIGN && s->ntargets && s->target[0]->kind == EXPR_NAME;
    Symbol *changed = reads ? resolve(w, s->target[0]->name) : NULL;
    Span before = changed ? changed->latest : (Span){0};
    for (int t = 0; t < s->ntargets; t++) write_target(w, s->target[t]);
    if (changed && before.line)
        symbols_place(w->x, s->target[0]->span, s->target[0]->name)->definition = before;
    if (s->kind == STMT_DEF && s->func) visit_function(w, s->func);
    for (int i = 0; i < s->nimports; i++)
        if (!is_star(&s->import[i])) write_name(w, s->import[i].as, name_of_import(&s->import[i]));
    visit_stmts(w, s->body);
    visit_stmts(w, s->orelse);
    visit_stmts(w, s->last);
}

static void visit_stmts(Walk *w, StmtList list) {
    for (int i = 0; i < list.n; i++) visit_stmt(w, list.at[i]);
}

static void visit_function(Walk *w, const AstFunc *f) {
    const Room *outer = w->room;
    if (!f->name) return;
    if (!f->in_class) write_name(w, f->name, f->span);
    for (int i = 0; i < f->ndecorators; i++) visit(w, f->decorator[i]);
    for (int i = 0; i < f->nparams; i++) {
        visit(w, f->param[i].annotation);
        visit(w, f->param[i].default_);
    }
    open_room(w, f);
    for (int i = 0; i < f->nparams; i++) {
        const AstParam *p = &f->param[i];
        if (!p->name) continue;
        declare(w, p->name, SYMBOL_PARAMETER, p->span)->param = p;
        write_name(w, p->name, p->span);
    }
    declare_names(w, f->body);
    visit_stmts(w, f->body);
    w->room = outer;
}

/* ---- the file ---- */

/* The last definition counts, functions before others. */
static void declare_top(Walk *w, const AstFile *f) {
    for (int i = 0; i < f->nimports; i++)
        if (!is_star(&f->import[i])) {
            Span span = name_of_import(&f->import[i]);
            Symbol *s = declare(w, f->import[i].as, SYMBOL_IMPORT, span);
            s->import = &f->import[i];
        }
    for (int i = 0; i < f->nglobals; i++) {
        if (!*f->global[i].name) continue;
        Symbol *s = declare(w, f->global[i].name, SYMBOL_GLOBAL, f->global[i].span);
        if (s->kind != SYMBOL_GLOBAL) continue; /* what a `try` imports, or else has */
        s->global = &f->global[i];
        s->span = f->global[i].span;
    }
    for (int i = 0; i < f->nclasses; i++) {
        Symbol *s = declare(w, f->class_[i]->name, SYMBOL_CLASS, f->class_[i]->span);
        s->kind = SYMBOL_CLASS;
        s->class_ = f->class_[i];
        s->span = f->class_[i]->span;
    }
    for (int i = 0; i < f->nfuncs; i++) {
        if (!f->func[i]->name) continue;
        Symbol *s = declare(w, f->func[i]->name, SYMBOL_FUNCTION, f->func[i]->span);
        s->kind = SYMBOL_FUNCTION;
        s->import = NULL;
        s->func = f->func[i];
        s->span = f->func[i]->span;
    }
}

static void visit_class(Walk *w, const AstClass *c) {
    write_name(w, c->name, c->span);
    for (int i = 0; i < c->nbases; i++) visit(w, c->base[i]);
    for (int i = 0; i < c->ndecorators; i++) visit(w, c->decorator[i]);
    for (int i = 0; i < c->nfields; i++) {
        visit(w, c->field[i].annotation);
        visit(w, c->field[i].value);
    }
    for (int i = 0; i < c->nfuncs; i++) visit_function(w, c->func[i]);
}

static int by_place(const void *a, const void *b) {
    const Span *x = &(*(Occurrence *const *)a)->span, *y = &(*(Occurrence *const *)b)->span;
    if (x->line != y->line) return x->line < y->line ? -1 : 1;
    if (x->col != y->col) return x->col < y->col ? -1 : 1;
    return (x->end > y->end) - (x->end < y->end);
}

void symbols_walk(SymbolIndex *x, const AstFile *f) {
    Walk w = {.x = x, .a = &x->lower->s->arena};
    declare_top(&w, f);
    for (int i = 0; i < f->nimports; i++)
        if (!is_star(&f->import[i])) write_name(&w, f->import[i].as, name_of_import(&f->import[i]));
    for (int i = 0; i < f->nglobals; i++) {
        const AstGlobal *g = &f->global[i];
        if (*g->name) write_name(&w, g->name, g->span);
        visit(&w, g->annotation);
        visit(&w, g->value);
    }
    for (int i = 0; i < f->nclasses; i++) visit_class(&w, f->class_[i]);
    for (int i = 0; i < f->nfuncs; i++) visit_function(&w, f->func[i]);
    if (x->all.n) qsort(x->all.at, (size_t)x->all.n, sizeof *x->all.at, by_place);
}
