/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* symbols_ask.c: questions to an index of symbols -> places, objects and members (see symbols.h).
 *
 * Those that need modules or globals go to the lowering that is kept, in silence: what it finds
 * wrong then was said before, or is nobody's business. */
#include "frontend/lower/internal.h"

#include <stdio.h>
#include <string.h>

/* The lowering as between two kernels, and what it says is dropped. */
typedef struct Quiet {
    Diags diags;
    Visit visit;
} Quiet;

static Quiet quiet_begin(Lower *l) {
    Quiet q = {l->s->diags, {l->here, l->at}};
    l->s->diags.muted = true;
    l->b = (Builder){.s = l->s};
    l->here = l->first;
    l->at = INT32_MAX;
    l->steps = 0;
    l->work = 0;
    l->depth = 0;
    l->inlined = 0;
    l->lookup = NULL;
    l->lookups = 0;
    l->abandoned = false;
    l->library_call = (Span){0};
    l->library_row = NULL;
    return q;
}

static void quiet_end(Lower *l, Quiet q) {
    if (q.diags.last) q.diags.last->next = NULL;
    l->s->diags = q.diags;
    l->chain = NULL;
    l->chain_module = NULL;
    leave_module(l, q.visit);
}

/* ---- where modules define names ---- */

static Span start_of(const SourceModule *m) {
    return m && m->source ? (Span){m->source->before + 1, 1, 1} : (Span){0};
}

static Span place_of_import(Lower *l, const AstImport *im, int depth);

/* Where m gives the name a value, perhaps by handing it on. */
static Span place_in(Lower *l, SourceModule *m, const char *name, int depth) {
    const AstFile *f = m->file;
    Span found = {0};
    if (depth > HANDED_ON_LIMIT || !m->source) return found;
    for (int i = 0; i < f->nfuncs; i++)
        if (f->func[i]->name == name) found = f->func[i]->span;
    for (int i = 0; i < f->nclasses && !found.line; i++)
        if (f->class_[i]->name == name) found = f->class_[i]->span;
    for (int i = 0; i < f->nglobals && !found.line; i++)
        if (f->global[i].name == name) found = f->global[i].span;
    Visit before = enter_module(l, m);
    for (int i = 0; i < f->nimports && !found.line; i++) {
        const AstImport *im = &f->import[i];
        bool star = im->member && strcmp(im->member, "*") == 0;
        SourceModule *from = star ? imported_module(l, im) : NULL;
        if (from) found = place_in(l, from, name, depth + 1);
        if (!star && im->as == name) {
            found = place_of_import(l, im, depth + 1);
            if (!found.line) found = im->span;
        }
    }
    leave_module(l, before);
    return found;
}

static Span place_of_import(Lower *l, const AstImport *im, int depth) {
    if (is_known_module(im->module) || always_there(im->module)) return (Span){0};
    SourceModule *m = imported_module(l, im);
    if (!im->member || strcmp(im->member, "*") == 0) return start_of(m);
    Span found = m ? place_in(l, m, im->member, depth) : (Span){0};
    return found.line ? found : start_of(imported_member(l, im));
}

/* ---- objects ---- */

/* A name at top level, or an attribute of one, as far as that is a module's. */
static Obj static_object(Lower *l, const Expr *e) {
    if (!e) return poison();
    if (e->kind == EXPR_NAME) {
        Obj o;
        return lookup_top(l, e->name, e->span, &o) ? o : poison();
    }
    if (e->kind != EXPR_ATTRIBUTE) return poison();
    Obj of = static_object(l, e->left);
    bool is_module = of.kind == OBJ_MODULE || of.kind == OBJ_SOURCE;
    return is_module ? attribute(l, of, e->name, e->span) : poison();
}

static Span param_place(Obj callee, const char *name) {
    const AstFunc *f = callee.kind == OBJ_FUNC     ? callee.func
                       : callee.kind == OBJ_METHOD ? callee.method.func
                                                   : NULL;
    for (int i = 0; f && i < f->nparams; i++)
        if (f->param[i].name == name) return f->param[i].span;
    return (Span){0};
}

static Span place_of(Obj o) {
    switch (o.kind) {
    case OBJ_FUNC: return o.func->span;
    case OBJ_METHOD: return o.method.func->span;
    case OBJ_CLASS: return o.class_->ast ? o.class_->ast->span : (Span){0};
    case OBJ_SOURCE: return start_of(o.source);
    default: return (Span){0};
    }
}

/* The occurrence that a call's callee is. */
static Occurrence *callee_of(SymbolIndex *x, const Expr *callee) {
    bool dotted = callee->kind == EXPR_ATTRIBUTE && callee->op_span.line;
    return symbols_at(x, dotted ? callee->op_span.line : callee->span.line,
                      dotted ? callee->op_span.col : callee->span.col);
}

static void settle_attribute(Lower *l, Occurrence *o) {
    Obj of = static_object(l, o->of);
    if (of.kind == OBJ_SOURCE) o->definition = place_in(l, of.source, o->name, 0);
    bool is_module = of.kind == OBJ_MODULE || of.kind == OBJ_SOURCE;
    if (obj_is_poison(o->object) && is_module) o->object = attribute(l, of, o->name, o->span);
}

static void settle_keyword(SymbolIndex *x, Lower *l, Occurrence *o) {
    Occurrence *callee = callee_of(x, o->of);
    Obj function =
        callee && !obj_is_poison(callee->object) ? callee->object : static_object(l, o->of);
    o->object = function;
    o->definition = param_place(function, o->name);
    if (!o->definition.line) o->definition = place_of(function);
}

void symbols_settle(SymbolIndex *x, Occurrence *o) {
    Lower *l = x->lower;
    if (o->settled) return;
    o->settled = true;
    Quiet q = quiet_begin(l);
    const Symbol *s = o->symbol;
    if (o->is_keyword) {
        settle_keyword(x, l, o);
    } else if (o->of) {
        settle_attribute(l, o);
    } else if (s && s->import) {
        Span target = place_of_import(l, s->import, 0);
        if (target.line) o->definition = target;
        if (obj_is_poison(o->object)) o->object = import_object(l, s->import, o->span);
        if (o->object.kind == OBJ_FUNC) o->definition = o->object.func->span;
    } else if (s && s->func && !s->room && obj_is_poison(o->object)) {
        o->object = (Obj){.kind = OBJ_FUNC};
        o->object.func = s->func;
    } else if (!s && o->name) { /* Python's own, or of a star import */
        o->definition = place_in(l, l->first, o->name, 0);
        if (obj_is_poison(o->object)) o->object = lookup_name(l, o->name, o->span);
    }
    if (!o->definition.line) o->definition = place_of(o->object);
    quiet_end(l, q);
}

Occurrence *symbols_at(const SymbolIndex *x, uint32_t line, uint32_t col) {
    int low = 0, high = x->all.n;
    while (low < high) {
        int mid = low + (high - low) / 2;
        if (x->all.at[mid]->span.line < line)
            low = mid + 1;
        else
            high = mid;
    }
    Occurrence *best = NULL;
    bool best_inside = false;
    for (; low < x->all.n && x->all.at[low]->span.line == line; low++) {
        Occurrence *o = x->all.at[low];
        if (col < o->span.col || col > o->span.end) continue;
        bool inside = col < o->span.end;
        bool shorter = best && o->span.end - o->span.col < best->span.end - best->span.col;
        if (best && (best_inside > inside || (best_inside == inside && !shorter))) continue;
        best = o;
        best_inside = inside;
    }
    return best;
}

/* ---- members ---- */

/* "a.b.c" at top level. */
static Obj path_object(Lower *l, const char *path) {
    size_t n = strcspn(path, ".");
    const char *name = intern(&l->s->names, path, n);
    Obj o = poison();
    if (!lookup_top(l, name, (Span){0}, &o)) {
        /* While an import line is being typed, these are what they always are. */
        if (strcmp(name, "tl") == 0)
            o = (Obj){.kind = OBJ_MODULE, .path = "triton.language"};
        else if (strcmp(name, "triton") == 0)
            o = (Obj){.kind = OBJ_MODULE, .path = "triton"};
    }
    for (path += n; *path == '.'; path += n) {
        path++;
        n = strcspn(path, ".");
        if (o.kind != OBJ_MODULE && o.kind != OBJ_SOURCE) return poison();
        o = attribute(l, o, intern(&l->s->names, path, n), (Span){0});
    }
    return o;
}

Obj symbols_object(SymbolIndex *x, const char *path) {
    Quiet q = quiet_begin(x->lower);
    Obj o = path_object(x->lower, path);
    quiet_end(x->lower, q);
    return o;
}

static void source_members(const SourceModule *m, MemberFn fn, void *ctx) {
    const AstFile *f = m->file;
    for (int i = 0; i < f->nfuncs; i++) fn(ctx, MEMBER_FUNCTION, f->func[i]->name, NULL);
    for (int i = 0; i < f->nclasses; i++) fn(ctx, MEMBER_VALUE, f->class_[i]->name, NULL);
    for (int i = 0; i < f->nglobals; i++)
        if (*f->global[i].name) fn(ctx, MEMBER_VALUE, f->global[i].name, NULL);
}

static void dtype_members(MemberFn fn, void *ctx) {
    static const char *const names[] = {
#define ELEM(id, tir, triton, bits, bytes, class) triton,
#include "ir/elem.def"
#undef ELEM
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char name[32];
        const char *prefix = names[i][0] == 'f' ? "float" : names[i][0] == 'b' ? "bfloat" : "";
        snprintf(name, sizeof name, "%s%s", prefix, names[i] + (*prefix ? 2 : 0));
        fn(ctx, MEMBER_DTYPE, name, NULL);
    }
}

static void builtin_members(Lower *l, char letter, MemberFn fn, void *ctx) {
    const char **names;
    int n = builtin_names(l, letter, &names);
    for (int i = 0; i < n; i++) {
        const Builtin *row = find_builtin(letter, names[i]);
        if (row && row->fn) fn(ctx, MEMBER_FUNCTION, names[i], row->params);
    }
}

void symbols_members(SymbolIndex *x, const char *path, MemberFn fn, void *ctx) {
    static const char *const of_tensors[] = {"shape", "dtype", "numel", "T", "type"};
    Lower *l = x->lower;
    Quiet q = quiet_begin(l);
    Obj o = path_object(l, path);
    if (o.kind == OBJ_SOURCE) {
        source_members(o.source, fn, ctx);
    } else if (o.kind == OBJ_MODULE) {
        char letter = module_letter(o.path);
        builtin_members(l, letter, fn, ctx);
        if (letter == 'L') dtype_members(fn, ctx);
        inner_modules(o.path, fn, ctx);
    } else {
        builtin_members(l, 'M', fn, ctx);
        for (size_t i = 0; i < sizeof of_tensors / sizeof *of_tensors; i++)
            fn(ctx, MEMBER_VALUE, of_tensors[i], NULL);
    }
    quiet_end(l, q);
}

const char *symbols_builtin(SymbolIndex *x, const Builtin *row, const char **params,
                            const char **why) {
    *params = row->fn ? row->params : NULL;
    *why = row->fn ? NULL : row->params;
    return builtin_text(x->lower, row);
}

const char *symbols_module_file(Obj module) {
    return module.kind == OBJ_SOURCE ? module.source->found.path : NULL;
}

const char *symbols_module_name(Obj module) {
    return module.kind == OBJ_SOURCE ? module.source->name : module.path;
}
