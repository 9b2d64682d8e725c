/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* call.c: calls: a jit function is inlined, a builtin handled by its row, a dtype converts.
 *
 * An argument that is known while compiling stays so inside the callee, annotated or not. */
#include "frontend/lower/internal.h"

#include <string.h>

typedef VEC(Keyword) Keywords;
typedef VEC(Obj) Objs;

/* `**dict` among the keywords of a call outside kernels; false after an error. */
static bool spread_keywords(Lower *l, const Keyword *from, Obj dict, Keywords *out, Objs *values) {
    bool texts = dict.kind == OBJ_DICT && !l->b.f;
    for (int i = 0; texts && i < dict.seq.n; i += 2) texts = dict.seq.at[i].kind == OBJ_STRING;
    if (!texts) {
        if (obj_is_poison(dict)) return false;
        if (l->b.f)
            fail(l, E_STAR_ARGUMENTS, from->span, "'**' is not supported in a call");
        else
            fail(l, E_STAR_ARGUMENTS, from->span, "'**' needs a dict of names, not %s",
                 obj_what(l, dict));
        return false;
    }
    for (int i = 0; i + 1 < dict.seq.n; i += 2) {
        Obj name = dict.seq.at[i];
        Keyword k = {intern(&l->s->names, name.text.at, name.text.n), from->value, from->span};
        vec_push(&l->s->arena, out, k);
        vec_push(&l->s->arena, values, dict.seq.at[i + 1]);
    }
    return true;
}

static bool evaluate_keywords(Lower *l, const Expr *e, Call *c) {
    Keywords keywords = {0};
    Objs values = {0};
    bool ok = true;
    for (int i = 0; i < e->nkeywords; i++) {
        Obj o = lower_expr(l, e->keyword[i].value);
        if (!e->keyword[i].name) {
            ok = spread_keywords(l, &e->keyword[i], o, &keywords, &values) && ok;
            continue;
        }
        ok = ok && !obj_is_poison(o);
        vec_push(&l->s->arena, &keywords, e->keyword[i]);
        vec_push(&l->s->arena, &values, o);
    }
    c->keyword = keywords.at;
    c->keyword_value = values.at;
    c->nkeywords = keywords.n;
    return ok;
}

static bool evaluate_arguments(Lower *l, const Expr *e, Call *c) {
    Arena *a = &l->s->arena;
    VEC(Obj) args = {0};
    VEC(Span) where = {0};
    bool ok = true;
    for (int i = 0; i < e->nitems; i++) {
        const Expr *item = e->item[i];
        bool star = item->kind == EXPR_STARRED;
        Obj o = lower_expr(l, star ? item->left : item);
        if (star && o.kind != OBJ_TUPLE && !obj_is_poison(o))
            o = fail(l, E_STAR_ARGUMENTS, item->span, "'*' needs a tuple, not %s", obj_what(l, o));
        ok &= !obj_is_poison(o);
        for (int k = 0; k < (star && o.kind == OBJ_TUPLE ? o.seq.n : 1); k++) {
            vec_push(a, &args, star && o.kind == OBJ_TUPLE ? o.seq.at[k] : o);
            vec_push(a, &where, item->span);
        }
    }
    c->arg = args.at;
    c->where = where.at;
    c->nargs = args.n;
    return evaluate_keywords(l, e, c) && ok;
}

static void look_at_call(Lower *l, Obj callee, const Call *c);

bool call_arguments(Lower *l, const Expr *e, Call *c) {
    *c = (Call){.span = e->span, .name_span = e->left->span};
    return evaluate_arguments(l, e, c);
}

Obj lower_call(Lower *l, const Expr *e) {
    Call c = {.span = e->span, .name_span = e->left->span, .unused = e == l->statement};
    if (e->left->kind == EXPR_ATTRIBUTE && e->left->op_span.line) c.name_span = e->left->op_span;
    if (e->left->kind != EXPR_ATTRIBUTE) {
        Obj callee = lower_expr(l, e->left);
        bool ok = evaluate_arguments(l, e, &c);
        if (!ok) look_at_call(l, callee, &c);
        if (ok && !l->b.f && is_given(l, e->left)) return callee; /* -D gives what it returns */
        return ok && !obj_is_poison(callee) ? call(l, callee, &c) : poison();
    }
    Obj self = lower_expr(l, e->left->left), result;
    bool known = self.kind == OBJ_DICT || self.kind == OBJ_STRING || self.kind == OBJ_ARGS ||
                 (!l->b.f && (self.kind == OBJ_SET || self.kind == OBJ_INT ||
                              (self.kind == OBJ_TUPLE && !self.seq.of_class)));
    Obj callee = known ? self : attribute(l, self, e->left->name, c.name_span);
    if (!known) see(l, c.name_span, e->left->name, callee);
    bool ok = evaluate_arguments(l, e, &c);
    if (!ok) look_at_call(l, callee, &c);
    if (!ok || obj_is_poison(callee)) return poison();
    if (!known) return call(l, callee, &c);
    if (host_method(l, self, e->left->name, &c, &result)) return result;
    return fail(l, E_NO_METHOD, c.name_span, "%s has no method '%s' with these arguments",
                obj_what(l, self), e->left->name);
}

Obj call_object(Lower *l, Obj callee, const Obj *args, int nargs, Span span) {
    Arena *a = &l->s->arena;
    Call c = {.nargs = nargs, .span = span, .name_span = span};
    c.arg = arena_array(a, (size_t)nargs + 1, sizeof(Obj));
    c.where = arena_array(a, (size_t)nargs + 1, sizeof(Span));
    for (int i = 0; i < nargs; i++) {
        c.arg[i] = args[i];
        c.where[i] = span;
    }
    return call(l, callee, &c);
}

/* ---- jit functions ---- */

/* A default value is evaluated where the function is defined: at top level. */
Obj default_value(Lower *l, const AstFunc *f, const AstParam *p) {
    Visit before = enter_file(l, f->file);
    l->at = f->order;
    Obj o = host_expr(l, p->default_);
    leave_module(l, before);
    return o;
}

static int find_param(const AstFunc *f, const char *name) {
    for (int i = 0; i < f->nparams; i++)
        if (f->param[i].name == name && !f->param[i].is_star && !f->param[i].is_star_star) return i;
    return -1;
}

static bool no_such_parameter(Lower *l, const AstFunc *f, const Keyword *k) {
    fail(l, E_ARGUMENT_UNKNOWN, k->span, "%s() has no parameter '%s'", f->name, k->name);
    suggest_param(l, f, k->name);
    return false;
}

/* For symbols: what can be said of a call whose arguments are not known. */
static void look_at_call(Lower *l, Obj callee, const Call *c) {
    const AstFunc *f = callee.kind == OBJ_FUNC ? callee.func : NULL;
    int n = f ? f->nparams : 0;
    bool takes_all = n && f->param[n - 1].is_star_star;
    if (!l->options->symbols) return;
    if (callee.kind == OBJ_BUILTIN) check_keywords(l, callee.builtin.row, c);
    for (int i = 0; f && !takes_all && i < c->nkeywords; i++)
        if (find_param(f, c->keyword[i].name) < 0) no_such_parameter(l, f, &c->keyword[i]);
}

static bool bind_keywords(Lower *l, const AstFunc *f, const Call *c, Obj *value, bool *given) {
    for (int i = 0; i < c->nkeywords; i++) {
        const Keyword *k = &c->keyword[i];
        int p = find_param(f, k->name), all = f->nparams - 1;
        if (p < 0 && all >= 0 && f->param[all].is_star_star) { /* **kw takes what is left over */
            Obj pair[2] = {obj_string(l, k->name), c->keyword_value[i]};
            value[all] = concat(l, value[all], obj_tuple(l, pair, 2), k->span);
            if (obj_is_poison(value[all])) return false;
            continue;
        }
        if (p < 0) return no_such_parameter(l, f, k);
        if (given[p]) {
            fail(l, E_ARGUMENT_TWICE, k->span, "%s() is given '%s' twice", f->name, k->name);
            return false;
        }
        value[p] = c->keyword_value[i];
        given[p] = true;
    }
    return true;
}

/* Python's rules: positional, then keywords, then defaults; *args takes what is left over. */
bool bind_arguments(Lower *l, const AstFunc *f, const Call *c, const Obj *defaults, Obj *value) {
    bool *given = arena_alloc(&l->s->arena, (size_t)f->nparams + 1);
    int taken = 0;
    for (int i = 0; i < f->nparams; i++) {
        const AstParam *p = &f->param[i];
        if (p->keyword_only && l->b.f) newer(l, FEATURE_KEYWORD_ONLY, p->span);
        if (p->is_star) {
            if (l->b.f) newer(l, FEATURE_STAR_PARAMETER, p->span);
            value[i] = checked(l, obj_tuple(l, c->arg + taken, c->nargs - taken), c->span);
            if (obj_is_poison(value[i])) return false;
            given[i] = true;
            taken = c->nargs;
        } else if (p->is_star_star) {
            if (is_jit(f)) {
                fail(l, E_STAR_PARAMETER, p->span, "JIT functions do not support **%s parameters",
                     p->name);
                return false;
            }
            value[i] = obj_tuple(l, NULL, 0);
            value[i].kind = OBJ_DICT;
            given[i] = true;
        } else if (!p->keyword_only && taken < c->nargs) {
            value[i] = c->arg[taken++];
            given[i] = true;
        }
    }
    if (taken < c->nargs) {
        fail(l, E_ARGUMENT_COUNT, c->where[taken], "%s() takes %d arguments, not %d", f->name,
             taken, c->nargs);
        note(l, f->span, "it is defined here");
        return false;
    }
    if (!bind_keywords(l, f, c, value, given)) return false;
    for (int i = 0; i < f->nparams; i++) {
        if (given[i]) continue;
        if (!f->param[i].default_) {
            fail(l, E_ARGUMENT_MISSING, c->span, "%s() needs an argument for '%s'", f->name,
                 f->param[i].name);
            note(l, f->param[i].span, "the parameter is here");
            return false;
        }
        value[i] = defaults ? defaults[i] : default_value(l, f, &f->param[i]);
        if (obj_is_poison(value[i])) return false;
    }
    return true;
}

bool runs_at_compile_time(const AstFunc *f) {
    return find_decorator(f, "constexpr_function") || find_decorator(f, "constexpr");
}

/* A function that runs while compiling: any in host code; in a kernel one that says so. */
static bool runs_outside(Lower *l, const AstFunc *f) {
    return !is_jit(f) && (!l->b.f || runs_at_compile_time(f));
}

static Obj call_outside(Lower *l, const AstFunc *f, const Call *c) {
    Obj *value = arena_array(&l->s->arena, (size_t)f->nparams + 1, sizeof *value);
    if (!bind_arguments(l, f, c, NULL, value)) return poison();
    for (int i = 0; i < f->nparams; i++)
        if (!obj_is_const(value[i]) && value[i].kind != OBJ_INSTANCE) /* its constants are known */
            return fail(l, E_HOST_FUNCTION, c->span, "%s() runs while compiling; '%s' is %s",
                        f->name, f->param[i].name, obj_what(l, value[i]));
    Obj o = host_call(l, f, value);
    if (obj_is_poison(o) || obj_is_const(o)) return o;
    return fail(l, E_HOST_FUNCTION, c->span, "%s() runs while compiling and cannot return %s",
                f->name, obj_what(l, o));
}

/* A class's plain function, `def f(self)`. */
static Obj call_method_in_place(Lower *l, const AstFunc *f, const Call *c) {
    Obj *value = arena_array(&l->s->arena, (size_t)f->nparams + 1, sizeof *value);
    return bind_arguments(l, f, c, NULL, value) ? host_method_call(l, f, value, false) : poison();
}

static Obj inline_call(Lower *l, const AstFunc *f, const Call *c) {
    if (runs_outside(l, f)) return call_outside(l, f, c);
    if (!is_jit(f) && f->in_class) return call_method_in_place(l, f, c);
    if (!is_jit(f)) {
        fail(l, E_HOST_ONLY, c->name_span,
             "'%s' is not a jit function and cannot be called in a kernel", f->name);
        note(l, f->span, "it is defined here: put @triton.jit above it");
        return poison();
    }
    if (!l->b.f)
        return fail(l, E_KERNEL_ONLY, c->span, "'%s' can only be called in a kernel", f->name);
    if (l->inlined >= INLINE_LIMIT) {
        abandon(l, E_RECURSION, c->span, "inlined %d calls deep: is the recursion bounded?",
                INLINE_LIMIT);
        return poison();
    }
    Obj *value = arena_array(&l->s->arena, (size_t)f->nparams + 1, sizeof *value);
    if (!bind_arguments(l, f, c, NULL, value)) return poison();
    reach(l, f);
    Frame frame = {.caller = l->frame, .func = f, .call = c->span};
    Span span = l->b.span;
    Visit before = enter_file(l, f->file);
    l->frame = &frame;
    l->inlined++;
    for (int i = 0; i < f->nparams; i++) {
        bind_name(l, f->param[i].name, value[i], f->param[i].span);
        find_binding(&frame.scope, f->param[i].name)->fixed =
            annotated_constexpr(&f->param[i]) && obj_is_const(value[i]);
    }
    lower_stmts(l, f->body, 0, NULL);
    flush_call_notes(l);
    l->inlined--;
    l->frame = frame.caller;
    leave_module(l, before);
    l->b.span = span;
    return frame.returned ? frame.result : obj_none();
}

/* The same call with one more argument in front. */
static Call with_self(Lower *l, const Obj *self, const Call *c) {
    Call out = *c;
    out.nargs = c->nargs + 1;
    out.arg = arena_array(&l->s->arena, (size_t)out.nargs, sizeof(Obj));
    out.where = arena_array(&l->s->arena, (size_t)out.nargs, sizeof(Span));
    out.arg[0] = *self;
    out.where[0] = c->name_span;
    for (int i = 0; i < c->nargs; i++) {
        out.arg[i + 1] = c->arg[i];
        out.where[i + 1] = c->where[i];
    }
    return out;
}

/* A call that is a statement, of what has no other effect than its result. */
static bool drops_result(Lower *l, Obj callee, const Call *c) {
    const Expr *why = NULL;
    const char *name = NULL;
    if (callee.kind == OBJ_BUILTIN && strchr(callee.builtin.row->where, 'U'))
        name = builtin_text(l, callee.builtin.row);
    const AstFunc *func = callee.kind == OBJ_FUNC     ? callee.func
                          : callee.kind == OBJ_METHOD ? callee.method.func
                                                      : NULL;
    if (func && (why = find_decorator(func, "must_use_result"))) name = func->name;
    if (!c->unused || !name) return false;
    bool words = why && why->kind == EXPR_CALL && why->nitems && why->item[0]->kind == EXPR_STRING;
    fail(l, E_UNUSED_RESULT, c->span, "The result of %s is not being used.%s%s", name,
         words ? " " : "", words ? why->item[0]->string : "");
    if (!words) note(l, (Span){0}, "it has no effect but its result: assign that to a variable");
    return true;
}

Obj call(Lower *l, Obj callee, const Call *c) {
    if (drops_result(l, callee, c)) return poison();
    switch (callee.kind) {
    case OBJ_CLASS: return class_call(l, callee.class_, c);
    case OBJ_METHOD: {
        Call bound = with_self(l, callee.method.self, c);
        return inline_call(l, callee.method.func, &bound);
    }
    case OBJ_INSTANCE: {
        Obj method = attribute(l, callee, intern(&l->s->names, "__call__", 8), c->name_span);
        return obj_is_poison(method) ? method : call(l, method, c);
    }
    case OBJ_FUNC: return inline_call(l, callee.func, c);
    case OBJ_LAMBDA: return call_closure(l, callee.lambda, c);
    case OBJ_BUILTIN:
        if (!l->b.f && callee.builtin.row == host_function("", "dict").builtin.row)
            return host_dict(l, c);
        return call_builtin(l, callee.builtin.row, callee.builtin.self, c);
    case OBJ_DTYPE: {
        if (c->nargs != 1 || c->nkeywords)
            return fail(l, E_ARGUMENT_COUNT, c->span, "%s() converts one value",
                        obj_text(l, callee));
        if (!type_is_known(l, *callee.type, c->name_span)) return poison();
        Value *v = is_outside(l, c->arg[0], c->span) ? NULL : to_value(l, c->arg[0], c->span);
        return v ? obj_value(cast_value(l, v, *callee.type, false, c->span)) : poison();
    }
    case OBJ_MODULE:
    case OBJ_SOURCE:
        return fail(l, E_NOT_CALLABLE, c->name_span, "'%s' is a module and cannot be called",
                    callee.kind == OBJ_SOURCE ? callee.source->name : callee.path);
    case OBJ_FOREIGN: return is_foreign(l, callee, c->name_span), poison();
    default:
        return fail(l, E_NOT_CALLABLE, c->name_span, "%s cannot be called", obj_what(l, callee));
    }
}
