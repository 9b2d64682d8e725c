/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* host.c: Python outside kernels, as far as it decides what is compiled:
 * functions that build lists of autotune configs, lambdas of
 * @triton.heuristics, values of globals.
 *
 * All of it is known while compiling, so a statement is executed, not lowered:
 * loops run, `if` takes one branch, numbers stay numbers. Objects are values:
 * `list.append` binds the name to a longer list. A host function that asks
 * about the machine gets the answers of a CUDA one. */
#include "frontend/lower/internal.h"

#include <ctype.h>
#include <string.h>

typedef enum Flow { FLOW_NEXT, FLOW_BREAK, FLOW_CONTINUE, FLOW_RETURN, FLOW_FAILED } Flow;

static Flow run_stmts(Lower *l, StmtList list);

/* ---- evaluating outside the kernel ---- */

typedef struct Outside { /* what is put back afterwards */
    Frame frame;
    Func *func;
    bool any_global;
} Outside;

static void go_outside(Lower *l, Outside *o, const AstFunc *f) {
    *o = (Outside){
        .frame = {.caller = l->frame, .func = f}, .func = l->b.f, .any_global = l->any_global};
    l->frame = &o->frame;
    l->b.f = NULL;
    l->any_global = true;
}

static void come_back(Lower *l, const Outside *o) {
    flush_call_notes(l);
    l->frame = o->frame.caller;
    l->b.f = o->func;
    l->any_global = o->any_global;
}

Obj host_expr(Lower *l, const Expr *e) {
    Outside outside;
    go_outside(l, &outside, NULL);
    Obj o = lower_expr(l, e);
    come_back(l, &outside);
    return o;
}

typedef struct Run {
    const AstFunc *func;
    Obj *value;            /* of its parameters */
    const Lambda *closure; /* NULL: it stands at top level */
    bool in_place;         /* what it does with tensors becomes part of the kernel */
    bool constructs;
} Run;

static Obj run_function(Lower *l, const Run *run) {
    const AstFunc *f = run->func;
    if (l->inlined >= INLINE_LIMIT) {
        abandon(l, E_RECURSION, f->span, "'%s' calls itself more than %d deep", f->name,
                INLINE_LIMIT);
        return poison();
    }
    Outside outside;
    Visit before = enter_file(l, f->file);
    Func *func = l->b.f;
    go_outside(l, &outside, f);
    if (run->in_place) l->b.f = func;
    l->inlined++;
    if (run->closure) {
        Obj itself = {.kind = OBJ_LAMBDA};
        itself.lambda = run->closure;
        outside.frame.scope = copy_scope(l, &run->closure->scope);
        bind_name(l, f->name, itself, f->span);
    }
    for (int i = 0; i < f->nparams; i++) {
        run->value[i].grown = false;
        bind_name(l, f->param[i].name, run->value[i], f->param[i].span);
    }
    if (run->constructs) outside.frame.constructs = f->param[0].name;
    Flow flow = run_stmts(l, f->body);
    l->inlined--;
    Obj result = flow == FLOW_RETURN ? outside.frame.result : obj_none();
    if (run->constructs) result = find_binding(&outside.frame.scope, f->param[0].name)->obj;
    come_back(l, &outside);
    leave_module(l, before);
    return flow == FLOW_FAILED ? poison() : result;
}

Obj host_call(Lower *l, const AstFunc *f, Obj *value) {
    return run_function(l, &(Run){.func = f, .value = value});
}

Obj host_method_call(Lower *l, const AstFunc *f, Obj *value, bool constructs) {
    return run_function(l, &(Run){.func = f,
                                  .value = value,
                                  .in_place = !runs_at_compile_time(f),
                                  .constructs = constructs});
}

/* ---- lambdas and functions inside functions ---- */

Obj make_closure(Lower *l, const AstFunc *written) {
    AstFunc *f = arena_copy(&l->s->arena, written, sizeof *written);
    f->file = l->here->file;
    Obj *defaults = arena_array(&l->s->arena, (size_t)f->nparams + 1, sizeof *defaults);
    for (int i = 0; i < f->nparams; i++)
        if (f->param[i].default_) {
            defaults[i] = lower_expr(l, f->param[i].default_);
            if (obj_is_poison(defaults[i])) return poison();
        }
    Lambda *closure = arena_alloc(&l->s->arena, sizeof *closure);
    *closure = (Lambda){f, defaults, copy_scope(l, &l->frame->scope)};
    Obj o = {.kind = OBJ_LAMBDA};
    o.lambda = closure;
    return o;
}

/* A lambda is a function of one `return`. */
Obj make_lambda(Lower *l, const Expr *e) {
    if (l->b.f) {
        fail(l, E_KERNEL_EXPRESSION, e->span, "'lambda' is not supported in a kernel");
        note(l, (Span){0}, "write a function with @triton.jit above it");
        return poison();
    }
    Stmt *body = arena_alloc(&l->s->arena, sizeof *body), **at;
    AstFunc *f = arena_alloc(&l->s->arena, sizeof *f);
    at = arena_array(&l->s->arena, 1, sizeof *at);
    at[0] = body;
    *body = (Stmt){.kind = STMT_RETURN, .span = e->left->span, .value = e->left};
    *f = (AstFunc){.name = intern(&l->s->names, "lambda", 6),
                   .span = e->span,
                   .param = e->lambda_param,
                   .nparams = e->nlambda_params,
                   .body = {at, 1}};
    return make_closure(l, f);
}

Obj call_closure(Lower *l, const Lambda *closure, const Call *c) {
    const AstFunc *f = closure->func;
    Obj *value = arena_array(&l->s->arena, (size_t)f->nparams + 1, sizeof *value);
    if (!count_step(l, c->span) || !bind_arguments(l, f, c, closure->defaults, value))
        return poison();
    return run_function(l, &(Run){.func = f, .value = value, .closure = closure});
}

/* ---- statements ---- */

static Obj *name_object(Lower *l, const Expr *e) {
    Binding *b = e->kind == EXPR_NAME ? find_binding(&l->frame->scope, e->name) : NULL;
    return b ? &b->obj : NULL;
}

/* x at the end of a list. Storage made here has room up to the next power of two; `grown` says that
 * no other list uses that room. */
static bool append(Lower *l, Obj *list, Obj x, Span span) {
    int n = list->seq.n;
    if (list->weight + 1 + x.weight > HOST_TUPLE_LIMIT) {
        fail(l, E_SEQUENCE_LIMIT, span, "a list of more than %d elements", HOST_TUPLE_LIMIT);
        return false;
    }
    if (!list->grown || (n & (n - 1)) == 0) {
        Obj *at = arena_array(&l->s->arena, 2 * (size_t)n + 8, sizeof *at);
        if (n) memcpy(at, list->seq.at, (size_t)n * sizeof *at);
        list->seq.at = at;
        list->grown = true;
    }
    list->seq.at[list->seq.n++] = x;
    list->weight = (uint16_t)(list->weight + 1 + x.weight);
    return true;
}

/* dict[key] = value, list[index] = value */
static bool set_item(Lower *l, const Expr *target, Obj value) {
    Obj key = lower_expr(l, target->right), *object = name_object(l, target->left);
    if (obj_is_poison(key) || obj_is_poison(value)) return false;
    if (!object || (object->kind != OBJ_DICT && object->kind != OBJ_TUPLE)) {
        fail(l, E_HOST_STATEMENT, target->span, "items of this cannot be assigned");
        return false;
    }
    *object = with_item(l, *object, key, value, target->span);
    return !obj_is_poison(*object);
}

/* What becomes of name by name.append(x), name.update(…) and the like: true when e is one; *ok
 * tells how it went. */
static bool change_object(Lower *l, const Expr *e, bool *ok) {
    if (e->kind != EXPR_CALL || e->left->kind != EXPR_ATTRIBUTE) return false;
    const char *name = e->left->name;
    Obj *object = name_object(l, e->left->left);
    bool known = true;
    Call c;
    if (!object ||
        (object->kind != OBJ_TUPLE && object->kind != OBJ_DICT && object->kind != OBJ_SET))
        return false;
    if (!(*ok = call_arguments(l, e, &c))) return true;
    object = name_object(l, e->left->left); /* the scope may have moved */
    bool list = object->kind == OBJ_TUPLE && c.nargs == 1;
    if (list && strcmp(name, "append") == 0) {
        *ok = append(l, object, c.arg[0], e->span);
    } else if (list && strcmp(name, "extend") == 0) {
        Obj x = host_elements(l, c.arg[0], e->span);
        *ok = !obj_is_poison(x);
        for (int i = 0; *ok && i < x.seq.n; i++) *ok = append(l, object, x.seq.at[i], e->span);
    } else {
        Obj changed = python_change(l, *object, name, &c, &known);
        if (known) *name_object(l, e->left->left) = changed;
        *ok = known && !obj_is_poison(changed);
    }
    return known;
}

static bool run_assign(Lower *l, const Stmt *stmt) {
    if (!stmt->value) return true;
    Obj o = lower_expr(l, stmt->value);
    if (obj_is_poison(o)) return false;
    o.grown = false;
    for (int i = 0; i < stmt->ntargets; i++) {
        if (stmt->target[i]->kind == EXPR_SUBSCRIPT) {
            if (!set_item(l, stmt->target[i], o)) return false;
        } else {
            assign(l, stmt->target[i], o);
        }
    }
    return true;
}

static bool run_augmented(Lower *l, const Stmt *stmt) {
    const Expr *target = stmt->target[0];
    if (target->kind != EXPR_NAME && target->kind != EXPR_SUBSCRIPT) {
        fail(l, E_HOST_STATEMENT, stmt->span, "this assignment cannot be run while compiling");
        return false;
    }
    Obj x = lower_expr(l, target), y = lower_expr(l, stmt->value);
    Obj o = binary(l, stmt->op, x, y, stmt->span);
    if (target->kind == EXPR_SUBSCRIPT) return set_item(l, target, o);
    assign(l, stmt->target[0], o);
    return !obj_is_poison(o);
}

static Flow run_for(Lower *l, const Stmt *stmt) {
    Obj over = host_elements(l, lower_expr(l, stmt->value), stmt->value->span);
    if (obj_is_poison(over)) return FLOW_FAILED;
    for (int i = 0; i < over.seq.n; i++) {
        assign(l, stmt->target[0], over.seq.at[i]);
        Flow flow = run_stmts(l, stmt->body);
        if (flow == FLOW_BREAK) return FLOW_NEXT;
        if (flow == FLOW_RETURN || flow == FLOW_FAILED) return flow;
    }
    return run_stmts(l, stmt->orelse);
}

static Flow run_while(Lower *l, const Stmt *stmt) {
    for (;;) {
        Obj c = lower_expr(l, stmt->value);
        if (!obj_is_const(c) || !count_step(l, stmt->span)) return FLOW_FAILED;
        if (!obj_truth(c)) return run_stmts(l, stmt->orelse);
        Flow flow = run_stmts(l, stmt->body);
        if (flow == FLOW_BREAK) return FLOW_NEXT;
        if (flow == FLOW_RETURN || flow == FLOW_FAILED) return flow;
    }
}

/* Of other functions than those that kernels call, it is about the machine or the caller. */
static Flow run_assert(Lower *l, const Stmt *stmt) {
    if (!l->frame->func || !runs_at_compile_time(l->frame->func)) return FLOW_NEXT;
    Obj c = lower_expr(l, stmt->value), text = obj_string(l, "");
    if (!obj_is_const(c)) return FLOW_FAILED;
    if (obj_truth(c)) return FLOW_NEXT;
    if (stmt->message) text = lower_expr(l, stmt->message);
    if (!obj_is_poison(text))
        fail(l, E_ASSERTION, stmt->span, "assertion failed%s%s", *obj_text(l, text) ? ": " : "",
             obj_text(l, text));
    return FLOW_FAILED;
}

/* "ValueError: too big" */
static const char *raised_text(Lower *l, const Expr *e) {
    if (!e) return "an exception";
    const Expr *class = e->kind == EXPR_CALL ? e->left : e;
    Buf b = buf_new(&l->s->arena);
    buf_puts(&b, class->kind == EXPR_NAME || class->kind == EXPR_ATTRIBUTE ? class->name
                                                                           : "an exception");
    for (int i = 0; e->kind == EXPR_CALL && i < e->nitems; i++) {
        Obj o = lower_expr(l, e->item[i]);
        if (obj_is_const(o)) buf_printf(&b, "%s%s", i ? ", " : ": ", obj_text(l, o));
    }
    return b.data;
}

/* A `try` whose block can be run. What would happen if it could not, an exception or something that
 * is not known here, is not told apart, so no handler ever runs. */
static Flow run_try(Lower *l, const Stmt *stmt) {
    Flow flow = run_stmts(l, stmt->body);
    if (flow == FLOW_FAILED) return flow;
    if (flow == FLOW_NEXT) flow = run_stmts(l, stmt->orelse);
    Flow last = run_stmts(l, stmt->last);
    return last == FLOW_NEXT ? flow : last;
}

static Flow run_stmt(Lower *l, const Stmt *stmt) {
    bool ok = true;
    switch (stmt->kind) {
    case STMT_EXPR:
        if (stmt->value->kind == EXPR_ELLIPSIS) return FLOW_NEXT;
        if (!change_object(l, stmt->value, &ok)) ok = !obj_is_poison(lower_expr(l, stmt->value));
        return ok ? FLOW_NEXT : FLOW_FAILED;
    case STMT_ASSIGN:
    case STMT_ANNASSIGN: return run_assign(l, stmt) ? FLOW_NEXT : FLOW_FAILED;
    case STMT_AUGASSIGN: return run_augmented(l, stmt) ? FLOW_NEXT : FLOW_FAILED;
    case STMT_IF: {
        Obj c = lower_expr(l, stmt->value);
        if (c.kind == OBJ_VALUE)
            fail(l, E_COMPILE_TIME, stmt->value->span,
                 "this condition must be known while compiling");
        if (!obj_is_const(c)) return FLOW_FAILED;
        return run_stmts(l, obj_truth(c) ? stmt->body : stmt->orelse);
    }
    case STMT_FOR: return run_for(l, stmt);
    case STMT_WHILE: return run_while(l, stmt);
    case STMT_RETURN:
        l->frame->result = stmt->value ? lower_expr(l, stmt->value) : obj_none();
        return obj_is_poison(l->frame->result) ? FLOW_FAILED : FLOW_RETURN;
    case STMT_BREAK: return FLOW_BREAK;
    case STMT_CONTINUE: return FLOW_CONTINUE;
    case STMT_ASSERT: return run_assert(l, stmt);
    case STMT_RAISE:
        fail(l, E_RAISED, stmt->span, "this raises %s", raised_text(l, stmt->value));
        return FLOW_FAILED;
    case STMT_PASS: return FLOW_NEXT;
    case STMT_DEF: {
        Obj f = make_closure(l, stmt->func);
        bind_name(l, stmt->func->name, f, stmt->span);
        return obj_is_poison(f) ? FLOW_FAILED : FLOW_NEXT;
    }
    case STMT_IMPORT:
        for (int i = 0; i < stmt->nimports; i++) {
            const AstImport *im = &stmt->import[i];
            Obj o = import_object(l, im, im->span);
            if (obj_is_poison(o)) return FLOW_FAILED;
            bind_name(l, im->as, o, im->span);
        }
        return FLOW_NEXT;
    case STMT_TRY: return run_try(l, stmt);
    case STMT_UNSUPPORTED: break;
    }
    fail(l, E_HOST_STATEMENT, stmt->span, "this statement cannot be run while compiling");
    return FLOW_FAILED;
}

static Flow run_stmts(Lower *l, StmtList list) {
    Flow flow = FLOW_NEXT;
    for (int i = 0; i < list.n && flow == FLOW_NEXT; i++) {
        if (!count_step(l, list.at[i]->span) || !enter(l, list.at[i]->span)) return FLOW_FAILED;
        flow = run_stmt(l, list.at[i]);
        leave(l);
    }
    return flow;
}

/* ---- sequences ---- */

/* What a host loop or a comprehension runs over, as a tuple. */
Obj host_elements(Lower *l, Obj o, Span span) {
    if (o.kind == OBJ_TUPLE || obj_is_poison(o)) return o;
    if (o.kind == OBJ_DICT) {
        Obj *key = arena_array(&l->s->arena, (size_t)o.seq.n + 1, sizeof *key);
        for (int i = 0; i + 1 < o.seq.n; i += 2) key[i / 2] = o.seq.at[i];
        return obj_tuple(l, key, o.seq.n / 2);
    }
    if (o.kind == OBJ_SET) {
        fail(l, E_HOST_STATEMENT, span, "the order of a set is not known");
        note(l, (Span){0}, "sorted(…) gives it one");
        return poison();
    }
    if (o.kind != OBJ_RANGE)
        return fail(l, E_ARGUMENT_KIND, span, "expected a tuple, a list or a range, not %s",
                    obj_what(l, o));
    int64_t count;
    if (!range_count(l, o.range, span, &count) || !count_work(l, count, span)) return poison();
    Obj *at = arena_array(&l->s->arena, (size_t)count + 1, sizeof *at);
    for (int64_t i = 0; i < count; i++) at[i] = obj_int(o.range->start.i + i * o.range->step.i);
    return obj_tuple(l, at, (int)count);
}

/* Each of a call's positional arguments as a tuple; false after an error. */
static bool sequences(Lower *l, const Args *a, Obj *out) {
    *out = obj_tuple(l, a->at[0].seq.at, a->at[0].seq.n);
    for (int i = 0; i < out->seq.n; i++) {
        out->seq.at[i] = host_elements(l, out->seq.at[i], a->span);
        if (obj_is_poison(out->seq.at[i])) return false;
    }
    return true;
}

static Obj host_product(Lower *l, const Args *a, int64_t data) {
    (void)data;
    enum { LIMIT = 16 };
    Obj in, row[LIMIT];
    int n = a->at[0].seq.n, at[LIMIT] = {0};
    VEC(Obj) out = {0};
    if (n > LIMIT)
        return fail(l, E_SEQUENCE_LIMIT, a->span, "product of more than %d sequences", LIMIT);
    if (!sequences(l, a, &in)) return poison();
    for (int i = 0; i < n; i++)
        if (!in.seq.at[i].seq.n) return obj_tuple(l, NULL, 0);
    for (;;) {
        for (int i = 0; i < n; i++) row[i] = in.seq.at[i].seq.at[at[i]];
        vec_push(&l->s->arena, &out, obj_tuple(l, row, n));
        if (out.n > HOST_TUPLE_LIMIT || !count_step(l, a->span))
            return fail(l, E_SEQUENCE_LIMIT, a->span, "a product of more than %d elements",
                        HOST_TUPLE_LIMIT);
        int i = n - 1;
        while (i >= 0 && ++at[i] == in.seq.at[i].seq.n) at[i--] = 0;
        if (i < 0) return checked(l, obj_tuple(l, out.at, out.n), a->span);
    }
}

static Obj host_zip(Lower *l, const Args *a, int64_t data) {
    (void)data;
    Obj in;
    VEC(Obj) out = {0};
    if (!sequences(l, a, &in)) return poison();
    int n = in.seq.n, shortest = n ? in.seq.at[0].seq.n : 0;
    for (int i = 1; i < n; i++)
        if (in.seq.at[i].seq.n < shortest) shortest = in.seq.at[i].seq.n;
    for (int k = 0; k < shortest; k++) {
        Obj row = obj_tuple(l, in.seq.at, n);
        for (int i = 0; i < n; i++) row.seq.at[i] = in.seq.at[i].seq.at[k];
        row = obj_tuple(l, row.seq.at, n);
        vec_push(&l->s->arena, &out, row);
    }
    return checked(l, obj_tuple(l, out.at, out.n), a->span);
}

static Obj host_enumerate(Lower *l, const Args *a, int64_t data) {
    (void)data;
    Obj in = host_elements(l, a->at[0], a->span);
    VEC(Obj) out = {0};
    for (int i = 0; in.kind == OBJ_TUPLE && i < in.seq.n; i++) {
        Obj pair[2] = {obj_int(i), in.seq.at[i]};
        vec_push(&l->s->arena, &out, obj_tuple(l, pair, 2));
    }
    return obj_is_poison(in) ? in : checked(l, obj_tuple(l, out.at, out.n), a->span);
}

static Obj host_reversed(Lower *l, const Args *a, int64_t data) {
    (void)data;
    Obj in = host_elements(l, a->at[0], a->span);
    if (obj_is_poison(in)) return in;
    Obj out = obj_tuple(l, in.seq.at, in.seq.n);
    for (int i = 0; i < in.seq.n; i++) out.seq.at[i] = in.seq.at[in.seq.n - 1 - i];
    return out;
}

/* any (data 1), all (data 0) */
static Obj host_any(Lower *l, const Args *a, int64_t data) {
    Obj in = host_elements(l, a->at[0], a->span);
    if (!obj_is_const(in)) return poison();
    for (int i = 0; i < in.seq.n; i++)
        if (obj_truth(in.seq.at[i]) == (data != 0)) return obj_bool(data != 0);
    return obj_bool(data == 0);
}

static const HostRow functions[] = {
    {"", {"zip", "C", "*iterables", host_zip, 0}},
    {"", {"dict", "C", "", NULL, 0}}, /* see host_dict() */
    {"", {"enumerate", "C", "iterable", host_enumerate, 0}},
    {"", {"reversed", "C", "iterable", host_reversed, 0}},
    {"", {"any", "C", "iterable", host_any, 1}},
    {"", {"all", "C", "iterable", host_any, 0}},
    {"itertools", {"product", "C", "*iterables", host_product, 0}},
};

Obj find_host_row(const HostRow *rows, int n, const char *module, const char *name) {
    for (int i = 0; i < n; i++)
        if (strcmp(rows[i].module, module) == 0 && strcmp(rows[i].row.name, name) == 0)
            return (Obj){.kind = OBJ_BUILTIN, .builtin = {&rows[i].row, NULL}};
    return poison();
}

Obj host_function(const char *module, const char *name) {
    Obj o = find_host_row(functions, sizeof functions / sizeof *functions, module, name);
    if (o.kind == OBJ_POISON) o = machine_function(module, name);
    return o.kind == OBJ_POISON ? python_function(module, name) : o;
}

/* ---- methods of objects that are known while compiling ---- */

static Obj dict_part(Lower *l, Obj dict, char part) { /* keys, values, items */
    VEC(Obj) out = {0};
    for (int i = 0; i + 1 < dict.seq.n; i += 2)
        vec_push(&l->s->arena, &out,
                 part == 'i' ? obj_tuple(l, dict.seq.at + i, 2) : dict.seq.at[i + (part == 'v')]);
    return obj_tuple(l, out.at, out.n);
}

static Obj dict_method(Lower *l, Obj self, const char *name, const Call *c) {
    if (strcmp(name, "get") == 0 && (c->nargs == 1 || c->nargs == 2)) {
        int place = dict_place(self, c->arg[0]);
        if (place >= 0) return self.seq.at[place + 1];
        return c->nargs == 2 ? c->arg[1] : obj_none();
    }
    static const char *const parts[] = {"keys", "values", "items"};
    for (int i = 0; i < 3 && !c->nargs; i++)
        if (strcmp(name, parts[i]) == 0) return dict_part(l, self, *name);
    if (strcmp(name, "copy") == 0 && !c->nargs) return self;
    return poison();
}

static Obj string_method(Lower *l, Obj self, const char *name, const Call *c) {
    bool one = c->nargs == 1 && c->arg[0].kind == OBJ_STRING;
    size_t n = one ? c->arg[0].text.n : 0;
    if (one && strcmp(name, "startswith") == 0)
        return obj_bool(strncmp(self.text.at, c->arg[0].text.at, n) == 0);
    if (one && strcmp(name, "endswith") == 0)
        return obj_bool(self.text.n >= n &&
                        strcmp(self.text.at + self.text.n - n, c->arg[0].text.at) == 0);
    bool lower = strcmp(name, "lower") == 0;
    if (c->nargs || (!lower && strcmp(name, "upper") != 0)) return poison();
    char *text = arena_strndup(&l->s->arena, self.text.at, self.text.n);
    for (char *t = text; *t; t++)
        *t = (char)(lower ? tolower((unsigned char)*t) : toupper((unsigned char)*t));
    return obj_string(l, text);
}

bool host_method(Lower *l, Obj self, const char *name, const Call *c, Obj *out) {
    *out = poison();
    if (self.kind == OBJ_STRING && strcmp(name, "format") == 0) {
        *out = format_string(l, self, c);
        return out->kind != OBJ_POISON;
    }
    if (c->nkeywords) return false;
    if (self.kind == OBJ_DICT) *out = dict_method(l, self, name, c);
    if (self.kind == OBJ_STRING) *out = string_method(l, self, name, c);
    if (self.kind == OBJ_ARGS && strcmp(name, "get") == 0 && c->nargs >= 1 &&
        c->arg[0].kind == OBJ_STRING)
        *out = kernel_argument(l, c->arg[0].text.at, c->span);
    if (out->kind == OBJ_POISON) *out = python_method(l, self, name, c);
    return out->kind != OBJ_POISON;
}

/* dict(a=1, b=2), dict(other, a=1); a row of the table would have to name its keywords. */
Obj host_dict(Lower *l, const Call *c) {
    Obj dict = obj_tuple(l, NULL, 0);
    if (c->nargs > 1 || (c->nargs && c->arg[0].kind != OBJ_DICT))
        return fail(l, E_ARGUMENT_KIND, c->span, "dict() takes keywords, or one dict");
    if (c->nargs) dict = c->arg[0];
    dict.kind = OBJ_DICT;
    for (int i = 0; i < c->nkeywords; i++) {
        Obj pair[2] = {obj_string(l, c->keyword[i].name), c->keyword_value[i]};
        dict = concat(l, dict, obj_tuple(l, pair, 2), c->span);
        if (obj_is_poison(dict)) return dict;
    }
    return dict;
}
