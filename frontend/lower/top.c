/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* top.c: a name at top level -> the definition of it that counts.
 *
 * Functions, globals and imports may define one name several times, each under conditions: `if`,
 * `try`, loops. As Python would have it, the last that runs counts, and what is evaluated on the
 * way sees the definitions above it alone. A condition is evaluated where that can be done
 * (host.c); where it cannot, and definitions that differ remain, the use of the name is an
 * error that names the condition, and -D settles it: a name of another module, or one whose value
 * is not known, has the value that -D gives. Nothing is guessed. */
#include "frontend/lower/internal.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef enum DefinitionKind {
    DEFINED_FUNC,
    DEFINED_GLOBAL,
    DEFINED_IMPORT,
    DEFINED_CLASS,
    DEFINED_STAR /* `from module import *`: perhaps */
} DefinitionKind;

typedef struct Definition {
    const char *name; /* interned */
    DefinitionKind kind;
    int index; /* in the file's list of its kind */
    int order;
    Guard *guard;
    int end; /* behind the last of this name in the module's list */
} Definition;

typedef VEC(Definition) Definitions;

Obj quietly(Lower *l, const Expr *e, int order) {
    bool muted = l->s->diags.muted;
    int at = l->at;
    l->at = order;
    l->s->diags.muted = true;
    Obj o = host_expr(l, e);
    l->s->diags.muted = muted;
    l->at = at;
    return o;
}

/* ---- modules that a `try` imports ---- */

/* What is there wherever Triton runs: Python's own modules, PyTorch, NumPy, what tells versions. */
bool always_there(const char *module) {
    static const char *const names[] = {
        "abc",       "ast",       "collections",   "contextlib", "copy",     "dataclasses",
        "enum",      "functools", "importlib",     "inspect",    "io",       "itertools",
        "json",      "logging",   "math",          "numpy",      "operator", "os",
        "packaging", "pathlib",   "pkg_resources", "platform",   "random",   "re",
        "string",    "sys",       "textwrap",      "threading",  "time",     "torch",
        "types",     "typing",    "warnings"};
    size_t n = strcspn(module, ".");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == n && memcmp(names[i], module, n) == 0) return true;
    return false;
}

/* Of what is always there nothing but the jit functions that PyTorch's compiler writes calls of. */
bool is_searched(const char *module) {
    static const char helpers[] = "torch._inductor";
    size_t n = sizeof helpers - 1;
    bool part = strncmp(module, helpers, n) == 0 && (!module[n] || module[n] == '.');
    return part || !always_there(module);
}

Known module_known(Lower *l, const char *name) {
    Obj given;
    if (given_value(l, name, (Span){0}, &given)) return obj_truth(given) ? KNOWN_TRUE : KNOWN_FALSE;
    bool there = always_there(name) || is_known_module(name) || module_there(l, name);
    return there ? KNOWN_TRUE : KNOWN_FALSE;
}

static Known import_known(Lower *l, const AstImport *im) {
    Obj given;
    if (given_value(l, im->module, (Span){0}, &given))
        return obj_truth(given) ? KNOWN_TRUE : KNOWN_FALSE;
    bool member = im->member && strcmp(im->member, "*") != 0;
    bool read =
        is_searched(im->module) && (imported_module(l, im) || (member && imported_member(l, im)));
    if (always_there(im->module) && !read) /* of PyTorch's members it depends on the version */
        return member && strncmp(im->module, "torch", 5) == 0 ? KNOWN_MAYBE : KNOWN_TRUE;
    if (!is_known_module(im->module) && !imported_module(l, im))
        return read ? KNOWN_TRUE : KNOWN_FALSE;
    if (!member) return KNOWN_TRUE;
    bool muted = l->s->diags.muted;
    l->s->diags.muted = true;
    l->lacking = false;
    bool there = !obj_is_poison(import_object(l, im, im->span));
    l->s->diags.muted = muted;
    return there ? KNOWN_TRUE : l->lacking ? KNOWN_FALSE : KNOWN_MAYBE;
}

/* ---- conditions ---- */

static Known condition_known(Lower *l, Guard *g);

/* What is known of the blocks around something, up to but not including `end`. */
static Known known_below(Lower *l, Guard *g, const Guard *end) {
    Known all = KNOWN_TRUE;
    for (; g != end && all != KNOWN_FALSE; g = g->outer) {
        Known one = condition_known(l, g);
        if (one != KNOWN_TRUE) all = one;
    }
    return all;
}

/* Whether a block goes on behind a statement that stands under condition `runs`. */
static Known goes_on(Known so_far, Known runs, Known one) {
    if (runs == KNOWN_FALSE || one == KNOWN_TRUE) return so_far;
    return so_far == KNOWN_FALSE || (runs == KNOWN_TRUE && one == KNOWN_FALSE) ? KNOWN_FALSE
                                                                               : KNOWN_MAYBE;
}

static Known try_known(Lower *l, const Guard *g) {
    Known all = KNOWN_TRUE;
    for (int i = g->imports.from; i < g->imports.to; i++) {
        const AstImport *im = &l->here->file->import[i];
        all = goes_on(all, known_below(l, im->guard, g), import_known(l, im));
    }
    for (int i = g->globals.from; i < g->globals.to; i++) {
        const Global *global = global_value(l, i);
        Known one = !obj_is_poison(global->value) ? KNOWN_TRUE
                    : global->lacking             ? KNOWN_FALSE
                                                  : KNOWN_MAYBE;
        all = goes_on(all, known_below(l, l->here->file->global[i].guard, g), one);
    }
    return all;
}

static Known negated(Known k) {
    return k == KNOWN_TRUE ? KNOWN_FALSE : k == KNOWN_FALSE ? KNOWN_TRUE : k;
}

static Known if_known(Lower *l, const Guard *g) {
    Obj o = g->condition ? quietly(l, g->condition, g->order) : poison();
    if (!obj_is_const(o)) return KNOWN_MAYBE;
    return obj_truth(o) == g->wanted ? KNOWN_TRUE : KNOWN_FALSE;
}

static Known condition_known(Lower *l, Guard *g) {
    if (g->state != KNOWN_UNSEEN) return (Known)g->state;
    Reported silenced = l->silenced;
    bool lacking = l->lacking;
    Known k = KNOWN_MAYBE;
    g->state = KNOWN_MAYBE; /* also while it is being worked out */
    switch (g->kind) {
    case GUARD_IF: k = if_known(l, g); break;
    case GUARD_TRY: k = try_known(l, g); break;
    case GUARD_EXCEPT:
        k = condition_known(l, g->tried);
        if (g->wanted) k = negated(k);
        /* Which of several it is depends on how the block fails. */
        if (g->wanted && k == KNOWN_TRUE && g->tried->nexcepts > 1) k = KNOWN_MAYBE;
        break;
    case GUARD_LOOP: break;
    }
    g->state = (uint8_t)k;
    l->silenced = silenced;
    l->lacking = lacking;
    return k;
}

static Known guard_known(Lower *l, Guard *g) {
    return known_below(l, g, NULL);
}

/* ---- what -D says of names at top level ---- */

bool given_value(Lower *l, const char *name, Span span, Obj *out) {
    const char *text = find_define(l, name);
    if (text) *out = parse_value(l, text, strlen(text), span);
    return text != NULL;
}

bool is_given(Lower *l, const Expr *e) {
    return e->kind == EXPR_NAME && !find_binding(&l->frame->scope, e->name) &&
           find_define(l, e->name);
}

bool defined_at_top(const Lower *l, const char *name) {
    for (int i = 0; i < l->here->file->nglobals; i++)
        if (strcmp(l->here->file->global[i].name, name) == 0) return true;
    for (int i = 0; i < l->here->file->nimports; i++) {
        const AstImport *im = &l->here->file->import[i];
        size_t n = strlen(im->module), given = strlen(name), common = n < given ? n : given;
        if (strcmp(im->as, name) == 0) return true;
        bool ends = (n == given || (n < given ? name : im->module)[common] == '.');
        if (ends && memcmp(im->module, name, common) == 0) return true; /* foo.utils.IS_OK, foo */
    }
    return false;
}

/* ---- definitions ---- */

/* By name, the last one first. */
static int compare_definitions(const void *a, const void *b) {
    const Definition *x = a, *y = b;
    if (x->name != y->name) return (uintptr_t)x->name < (uintptr_t)y->name ? -1 : 1;
    return (x->order < y->order) - (x->order > y->order);
}

static void index_module(Lower *l, SourceModule *m) {
    const AstFile *f = m->file;
    int room = f->nfuncs + f->nglobals + f->nimports + f->nclasses, n = 0;
    Definition *at = arena_array(&l->s->arena, (size_t)room + 1, sizeof *at);
    for (int i = 0; i < f->nfuncs; i++)
        at[n++] = (Definition){f->func[i]->name,  DEFINED_FUNC,      i,
                               f->func[i]->order, f->func[i]->guard, 0};
    for (int i = 0; i < f->nglobals; i++)
        at[n++] = (Definition){f->global[i].name,  DEFINED_GLOBAL,     i,
                               f->global[i].order, f->global[i].guard, 0};
    for (int i = 0; i < f->nclasses; i++) /* of others nothing is known */
        if (class_kind(f->class_[i]) != CLASS_PLAIN)
            at[n++] = (Definition){f->class_[i]->name,  DEFINED_CLASS,       i,
                                   f->class_[i]->order, f->class_[i]->guard, 0};
    for (int i = 0; i < f->nimports; i++) {
        const AstImport *im = &f->import[i];
        bool star = im->member && strcmp(im->member, "*") == 0;
        at[n++] =
            (Definition){im->as, star ? DEFINED_STAR : DEFINED_IMPORT, i, im->order, im->guard, 0};
    }
    qsort(at, (size_t)n, sizeof *at, compare_definitions);
    for (int i = n - 1; i >= 0; i--)
        at[i].end = i + 1 < n && at[i + 1].name == at[i].name ? at[i + 1].end : i + 1;
    m->definition = at;
    m->ndefinitions = n;
    m->indexed = true;
}

/* The definitions of a name that are there yet, the last one first; *n of them. */
static const Definition *definitions(Lower *l, const char *name, int *n) {
    SourceModule *m = l->here;
    if (!m->indexed) index_module(l, m);
    int low = 0, high = m->ndefinitions;
    while (low < high) {
        int mid = low + (high - low) / 2;
        const Definition *d = &m->definition[mid];
        bool before = d->name != name ? (uintptr_t)d->name < (uintptr_t)name : d->order >= l->at;
        if (before)
            low = mid + 1;
        else
            high = mid;
    }
    *n =
        low < m->ndefinitions && m->definition[low].name == name ? m->definition[low].end - low : 0;
    return m->definition + low;
}

/* ---- star imports ---- */

/* A list of texts that the module calls __all__, if it can be told. */
static bool listed(Lower *l, SourceModule *m, const char *name, bool *known) {
    Obj all;
    bool muted = l->s->diags.muted, any_global = l->any_global;
    l->s->diags.muted = l->any_global = true;
    *known = lookup_in(l, m, intern(&l->s->names, "__all__", 7), (Span){0}, &all) &&
             all.kind == OBJ_TUPLE;
    l->s->diags.muted = muted;
    l->any_global = any_global;
    for (int i = 0; *known && i < all.seq.n; i++)
        if (all.seq.at[i].kind == OBJ_STRING && strcmp(all.seq.at[i].text.at, name) == 0)
            return true;
    return false;
}

/* What a star import gives the name; false: nothing. Asked for in silence. */
static bool star_object(Lower *l, const AstImport *im, const char *name, Span span, Obj *out) {
    *out = poison();
    if (is_known_module(im->module)) {
        *out = import_member(l, im->module, name, span);
        return !obj_is_poison(*out);
    }
    SourceModule *m = imported_module(l, im);
    bool all;
    if (!m || strcmp(name, "__all__") == 0 || !lookup_in(l, m, name, span, out)) return false;
    bool in_list = listed(l, m, name, &all);
    return all ? in_list : name[0] != '_';
}

static bool star_gives(Lower *l, const AstImport *im, const char *name) {
    bool muted = l->s->diags.muted, any_global = l->any_global;
    Reported silenced = l->silenced;
    Obj ignored;
    l->s->diags.muted = l->any_global = true;
    bool gives = star_object(l, im, name, (Span){0}, &ignored);
    l->s->diags.muted = muted;
    l->any_global = any_global;
    l->silenced = silenced;
    return gives;
}

/* The definitions of a name and the star imports that may define it, the last one first. */
static Definitions candidates(Lower *l, const char *name) {
    Definitions both = {0};
    int n, nstars, i = 0, k = 0;
    const Definition *all = definitions(l, name, &n);
    const Definition *star = definitions(l, intern(&l->s->names, "*", 1), &nstars);
    while (i < n || k < nstars) {
        bool take_star = k < nstars && (i == n || star[k].order > all[i].order);
        vec_push(&l->s->arena, &both, take_star ? star[k++] : all[i++]);
    }
    return both;
}

/* ---- a condition that is not known, and how to settle it ---- */

static const char *unknown_part(Lower *l, const Expr *e);

/* What the conditions are about that decide which `name` is meant; else the name itself. */
static const char *unknown_behind(Lower *l, const char *name) {
    int n;
    const Definition *all = definitions(l, name, &n);
    for (int i = 0; i < n; i++)
        for (const Guard *g = all[i].guard; g; g = g->outer) {
            if (g->state != KNOWN_MAYBE || g->kind != GUARD_IF || !g->condition) continue;
            int at = l->at;
            l->at = g->order;
            const char *found = unknown_part(l, g->condition);
            l->at = at;
            if (found) return found;
        }
    return n ? name : NULL;
}

/* The name in e to give a value to: one that has none. */
static const char *unknown_part(Lower *l, const Expr *e) {
    if (!enter(l, e->span)) return NULL;
    Obj o = quietly(l, e, l->at);
    const char *found = NULL;
    const Expr *part[] = {e->left, e->right, e->cond};
    if (o.kind == OBJ_FOREIGN)
        found = e->kind == EXPR_NAME ? e->name : o.path;
    else if (!obj_is_const(o) && e->kind == EXPR_NAME)
        found = unknown_behind(l, e->name);
    else if (!obj_is_const(o)) {
        for (int i = 0; i < 3 && !found; i++)
            if (part[i]) found = unknown_part(l, part[i]);
        for (int i = 0; i < e->nitems && !found; i++) found = unknown_part(l, e->item[i]);
        for (int i = 0; i < e->nkeywords && !found; i++)
            found = unknown_part(l, e->keyword[i].value);
    }
    leave(l);
    return found;
}

/* The first import of the block of which so much is known. */
static const char *import_of_which(Lower *l, const Guard *try, Known known) {
    for (int i = try->imports.from; i < try->imports.to; i++)
        if (import_known(l, &l->here->file->import[i]) == known)
            return l->here->file->import[i].module;
    return NULL;
}

static void say_how_to_settle(Lower *l, const Guard *g, const char *name) {
    const char *unknown = NULL;
    while (g && g->state != KNOWN_MAYBE) g = g->outer;
    if (!g) return;
    const Guard *try = g->kind == GUARD_EXCEPT ? g->tried : g;
    switch (g->kind) {
    case GUARD_IF:
        note(l, g->span, "this condition decides");
        if (g->condition) {
            int at = l->at;
            l->at = g->order;
            unknown = unknown_part(l, g->condition);
            l->at = at;
        }
        if (unknown)
            note(l, (Span){0},
                 "-D %s=True, or False, settles it; so does another value it may have", unknown);
        break;
    case GUARD_TRY:
    case GUARD_EXCEPT:
        unknown = import_of_which(l, try, KNOWN_MAYBE);
        note(l, try->span, "it depends on whether this block fails");
        if (unknown)
            note(l, (Span){0},
                 "-D %s=True says that the module can be imported, False that it cannot", unknown);
        break;
    case GUARD_LOOP: note(l, g->span, "it depends on this loop"); break;
    }
    if (!unknown) note(l, (Span){0}, "-D %s=VALUE settles it, if it is a number or a name", name);
}

/* A value that `name` does not have for a `try` that fails, as most do where a module is not there.
 */
static void say_what_fails(Lower *l, const char *name) {
    for (int i = 0; i < l->here->file->nglobals; i++) {
        const AstGlobal *global = &l->here->file->global[i];
        const Guard *g = global->guard;
        if (strcmp(global->name, name) != 0) continue;
        while (g && (g->state != KNOWN_FALSE || g->kind != GUARD_TRY)) g = g->outer;
        const char *lacks = g ? import_of_which(l, g, KNOWN_FALSE) : NULL;
        if (!lacks) continue;
        note(l, g->span, "this block fails where it imports '%s'", lacks);
        note(l, (Span){0}, "-D %s=True says that that can be imported", lacks);
        return;
    }
}

void say_why_left_out(Lower *l, const Guard *g) {
    while (g && g->state != KNOWN_FALSE) g = g->outer;
    if (!g) return;
    const Guard *try = g->kind == GUARD_EXCEPT ? g->tried : g;
    if (g->kind == GUARD_IF)
        note(l, g->span, "it is defined where this is %s: it is not, for sm_%d and Triton %d.%d",
             g->wanted ? "true" : "false", l->options->capability, triton_version(l) / 100,
             triton_version(l) % 100);
    else
        note(l, try->span, "it is defined where this block %s",
             g->kind == GUARD_EXCEPT && g->wanted ? "fails" : "does not fail");
    if (g->kind == GUARD_IF && g->condition && g->condition->kind == EXPR_NAME)
        say_what_fails(l, g->condition->name);
}

bool is_left_out(Lower *l, Guard *g) {
    return guard_known(l, g) == KNOWN_FALSE;
}

bool say_why_name_left_out(Lower *l, const char *name) {
    int n;
    const Definition *all = definitions(l, name, &n);
    for (int i = 0; i < n; i++) {
        if (!is_left_out(l, all[i].guard)) continue;
        say_why_left_out(l, all[i].guard);
        return true;
    }
    return false;
}

/* d is defined under a condition that is not known. */
static Obj undecided(Lower *l, const Definition *d, const char *name, Span span) {
    fail(l, E_GLOBAL_UNKNOWN, span, "which '%s' is meant is not known while compiling", name);
    say_how_to_settle(l, d->guard, name);
    return poison();
}

/* ---- which of them counts ---- */

static Obj definition_object(Lower *l, const Definition *d, Span span) {
    switch (d->kind) {
    case DEFINED_FUNC: {
        const AstFunc *f = l->here->file->func[d->index];
        if (f->broken && (l->options->symbols || report_parse(l, l->here))) return poison();
        return (Obj){.kind = OBJ_FUNC, .func = f};
    }
    case DEFINED_GLOBAL: return global_object(l, d->index, span);
    case DEFINED_CLASS: return class_object(l, l->here->file->class_[d->index], span);
    case DEFINED_IMPORT: return import_object(l, &l->here->file->import[d->index], span);
    case DEFINED_STAR: break; /* see named_object() */
    }
    return poison();
}

static Obj named_object(Lower *l, const Definition *d, const char *name, Span span) {
    Obj o;
    if (d->kind != DEFINED_STAR) return definition_object(l, d, span);
    star_object(l, &l->here->file->import[d->index], name, span, &o);
    return o;
}

static Obj quiet_object(Lower *l, const Definition *d, const char *name) {
    bool muted = l->s->diags.muted, any_global = l->any_global;
    Reported silenced = l->silenced;
    l->s->diags.muted = l->any_global = true;
    Obj o = named_object(l, d, name, (Span){0});
    l->s->diags.muted = muted;
    l->any_global = any_global;
    l->silenced = silenced;
    return o;
}

/* Of two definitions that may count, a kernel can only have been written for one: a jit function
 * and not Python's, which it cannot call; Triton's module and not the None that stands for its
 * absence. */
static bool cannot_be_meant(Lower *l, const Definition *d, const Definition *other,
                            const char *name) {
    if (d->kind == DEFINED_FUNC && !is_jit(l->here->file->func[d->index]))
        return other->kind == DEFINED_FUNC && is_jit(l->here->file->func[other->index]);
    if (d->kind == DEFINED_FUNC || other->kind == DEFINED_FUNC) return false;
    Obj x = quiet_object(l, d, name), y = quiet_object(l, other, name);
    return x.kind == OBJ_NONE && y.kind == OBJ_MODULE && is_known_module(y.path);
}

/* The definitions that may count, the last one first: one, or several under conditions that are not
 * known. */
static Definitions possible(Lower *l, const char *name, bool functions_alone, bool in_kernel) {
    Definitions left = {0};
    Known known = KNOWN_MAYBE;
    Definitions both = candidates(l, name);
    const Definition *all = both.at;
    int n = both.n, seen = 0;
    /* Conditions often look at the definition before: from the first on, none waits for another. */
    while (seen < n && all[seen].guard && all[seen].guard->state == KNOWN_UNSEEN) seen++;
    while (seen-- > 0) guard_known(l, all[seen].guard);
    for (int i = 0; i < n && known != KNOWN_TRUE; i++) {
        const Definition *d = &all[i];
        if (functions_alone && d->kind != DEFINED_FUNC) continue;
        known = guard_known(l, d->guard);
        if (known != KNOWN_FALSE && d->kind == DEFINED_STAR &&
            !star_gives(l, &l->here->file->import[d->index], name))
            known = KNOWN_FALSE;
        if (known == KNOWN_FALSE) continue;
        Definition *last = left.n ? &left.at[left.n - 1] : NULL;
        if (last && in_kernel && cannot_be_meant(l, d, last, name)) continue;
        if (last && in_kernel && cannot_be_meant(l, last, d, name))
            *last = *d;
        else
            vec_push(&l->s->arena, &left, *d);
    }
    return left;
}

const AstFunc *find_function(Lower *l, const char *name) {
    Definitions left = possible(l, name, true, true);
    if (!left.n) return NULL;
    const AstFunc *f = l->here->file->func[left.at[0].index];
    if (left.n > 1) undecided(l, &left.at[0], name, f->span);
    return f;
}

/* The one object that all of them are; poison when they differ. */
static Obj common_object(Lower *l, const Definitions *left, const char *name) {
    Obj o = quiet_object(l, &left->at[0], name);
    for (int i = 1; i < left->n; i++)
        if (!obj_same(o, quiet_object(l, &left->at[i], name))) return poison();
    return o;
}

bool lookup_top(Lower *l, const char *name, Span span, Obj *out) {
    Definitions left = possible(l, name, false, l->b.f && !l->any_global);
    if (!left.n) return false;
    bool value = false;
    for (int i = 0; i < left.n; i++) value |= left.at[i].kind != DEFINED_FUNC;
    Obj o =
        value && (left.n > 1 || find_define(l, name)) ? common_object(l, &left, name) : poison();
    bool known = !obj_is_poison(o) && o.kind != OBJ_FOREIGN;
    if (!known && value && given_value(l, name, span, out)) return true;
    if (left.n > 1 && !known)
        *out = undecided(l, &left.at[0], name, span);
    else
        *out = named_object(l, &left.at[0], name, span);
    return true;
}

bool lookup_in(Lower *l, SourceModule *m, const char *name, Span span, Obj *out) {
    for (const Lookup *x = l->lookup; x; x = x->outer)
        if (x->in == m && x->name == name) return false; /* round in a circle */
    if (l->lookups >= IMPORT_CHAIN_LIMIT) {
        abandon(l, E_IMPORT_LIMIT, span, "'%s' is handed on by more than %d modules", name,
                IMPORT_CHAIN_LIMIT);
        *out = poison();
        return true;
    }
    Lookup here = {m, name, l->lookup};
    l->lookup = &here;
    l->lookups++;
    Visit before = enter_module(l, m);
    if (m == before.here) l->at = INT32_MAX;
    bool there = lookup_top(l, name, span, out);
    leave_module(l, before);
    l->lookups--;
    l->lookup = here.outer;
    return there;
}
