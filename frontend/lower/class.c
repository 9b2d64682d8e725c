/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* class.c: classes of a file -> objects with fields: aggregates and NamedTuples.
 *
 * An instance of an aggregate is OBJ_INSTANCE, its fields one after the other: what carries tuples
 * through loops, branches and calls carries it part by part. It never changes; __init__ runs on an
 * instance of unset fields. A NamedTuple's is a tuple whose parts have names. Other classes are
 * not known. A class is looked at when it is first used, like a global. */
#include "frontend/lower/internal.h"

#include <string.h>

/* ---- classes ---- */

static const char *last_name(const Expr *e) {
    if (e->kind == EXPR_CALL) e = e->left;
    return e->kind == EXPR_NAME || e->kind == EXPR_ATTRIBUTE ? e->name : "";
}

ClassKind class_kind(const AstClass *ast) {
    if (ast->is_aggregate) return CLASS_AGGREGATE;
    for (int i = 0; i < ast->nbases; i++)
        if (strcmp(last_name(ast->base[i]), "NamedTuple") == 0) return CLASS_NAMED_TUPLE;
    return CLASS_PLAIN;
}

static const char *known_name(Lower *l, const char *name) {
    return intern(&l->s->names, name, strlen(name));
}

static int find_field(const Class *c, const char *name) {
    for (int i = 0; i < c->nfields; i++)
        if (c->field[i].name == name) return i;
    return -1;
}

typedef VEC(Field) Fields;

/* A field of the same name keeps its place. */
static void add_field(Lower *l, Fields *fields, Field f) {
    for (int i = 0; i < fields->n; i++)
        if (fields->at[i].name == f.name) {
            if (!f.value) f.value = fields->at[i].value;
            fields->at[i] = f;
            return;
        }
    vec_push(&l->s->arena, fields, f);
}

/* e in a class's definition, evaluated without a word; poison: not known. */
static Obj where_it_stands(Lower *l, const AstClass *ast, const Expr *e) {
    Visit before = enter_file(l, ast->file);
    Obj o = quietly(l, e, ast->order);
    leave_module(l, before);
    return o;
}

/* The class and those that it inherits from, each before its own bases; false after an error. */
static bool find_order(Lower *l, Class *c, Span span) {
    const AstClass *ast = c->ast;
    VEC(const Class *) all = {0};
    vec_push(&l->s->arena, &all, c);
    for (int i = 0; i < ast->nbases && c->kind == CLASS_AGGREGATE; i++) {
        Obj base = where_it_stands(l, ast, ast->base[i]);
        if (base.kind != OBJ_CLASS || base.class_->kind != CLASS_AGGREGATE) {
            fail(l, E_AGGREGATE_BASE, ast->base[i]->span,
                 "Aggregates can only inherit from other aggregates, but got non-aggregate base: "
                 "%s",
                 base.kind == OBJ_CLASS ? base.class_->name : last_name(ast->base[i]));
            if (span.line) note(l, span, "class '%s' is used here", ast->name);
            return false;
        }
        for (int k = 0; k < base.class_->norder; k++) { /* what comes again goes to the end */
            const Class *one = base.class_->order[k];
            int kept = 0;
            for (int m = 0; m < all.n; m++)
                if (all.at[m] != one) all.at[kept++] = all.at[m];
            all.n = kept;
            vec_push(&l->s->arena, &all, one);
        }
    }
    c->order = all.at;
    c->norder = all.n;
    return true;
}

static void find_fields(Lower *l, Class *c) {
    Fields fields = {0};
    for (int i = c->norder - 1; i >= 0; i--) {
        const AstClass *ast = c->order[i]->ast;
        for (int k = 0; k < ast->nfields; k++)
            if (ast->field[k].annotation)
                add_field(l, &fields,
                          (Field){ast->field[k].name, ast->field[k].annotation, ast->field[k].value,
                                  ast});
    }
    c->field = fields.at;
    c->nfields = fields.n;
}

Obj class_object(Lower *l, const AstClass *ast, Span span) {
    Obj o = {.kind = OBJ_CLASS};
    for (int i = 0; i < l->classes.n; i++)
        if (l->classes.at[i]->ast == ast) {
            o.class_ = l->classes.at[i];
            return o;
        }
    if (!enter(l, span)) return poison();
    Class *c = arena_alloc(&l->s->arena, sizeof *c);
    *c = (Class){.ast = ast, .name = ast->name, .kind = class_kind(ast)};
    bool ok = find_order(l, c, span);
    leave(l);
    if (!ok) return poison();
    find_fields(l, c);
    c->number = l->classes.n + 1;
    vec_push(&l->s->arena, &l->classes, c);
    o.class_ = c;
    return o;
}

/* collections.namedtuple(name, fields) */
Obj named_tuple_class(Lower *l, const char *name, Obj fields, Span span) {
    AstClass *ast = arena_alloc(&l->s->arena, sizeof *ast);
    Class *c = arena_alloc(&l->s->arena, sizeof *c);
    Fields all = {0};
    *ast = (AstClass){.name = known_name(l, name), .span = span};
    for (int i = 0; i < fields.seq.n; i++) {
        if (fields.seq.at[i].kind != OBJ_STRING)
            return fail(l, E_ARGUMENT_KIND, span, "namedtuple() takes the names of fields");
        add_field(l, &all, (Field){.name = known_name(l, fields.seq.at[i].text.at)});
    }
    const Class **order = arena_array(&l->s->arena, 1, sizeof *order);
    order[0] = c;
    *c = (Class){.ast = ast,
                 .name = ast->name,
                 .kind = CLASS_NAMED_TUPLE,
                 .number = l->classes.n + 1,
                 .field = all.at,
                 .nfields = all.n,
                 .order = order,
                 .norder = 1};
    vec_push(&l->s->arena, &l->classes, c);
    Obj o = {.kind = OBJ_CLASS};
    o.class_ = c;
    return o;
}

/* The function of that name, or one that the class gives that name: `__radd__ = __add__`. */
static const AstFunc *own_method(const Class *c, const char *name) {
    for (int i = c->ast->nfields - 1; i >= 0; i--) {
        const AstField *f = &c->ast->field[i];
        if (f->name == name && !f->annotation && f->value && f->value->kind == EXPR_NAME)
            name = f->value->name;
    }
    for (int i = c->ast->nfuncs - 1; i >= 0; i--)
        if (c->ast->func[i]->name == name) return c->ast->func[i];
    return NULL;
}

static const AstFunc *find_method(const Class *c, const char *name) {
    const AstFunc *f = NULL;
    for (int i = 0; i < c->norder && !f; i++) f = own_method(c->order[i], name);
    return f;
}

static const Class *class_of(const Lower *l, Obj o) {
    bool has = obj_is_structure(o) && o.seq.of_class;
    return has ? l->classes.at[o.seq.of_class - 1] : NULL;
}

const char *class_name(Lower *l, Obj o) {
    const Class *c = class_of(l, o);
    return c ? c->name : NULL;
}

const char *field_name(Lower *l, Obj o, int i) {
    const Class *c = class_of(l, o);
    return c && i < c->nfields ? c->field[i].name : "";
}

static bool inherits(const Class *c, const Class *from) {
    for (int i = 0; i < c->norder; i++)
        if (c->order[i] == from) return true;
    return false;
}

bool instance_of(Lower *l, Obj o, const Class *class) {
    const Class *c = class_of(l, o);
    return c && inherits(c, class);
}

/* ---- making instances ---- */

static Obj new_instance(Lower *l, const Class *c, const Obj *field) {
    Obj o = obj_tuple(l, field, c->nfields);
    o.kind = c->kind == CLASS_AGGREGATE ? OBJ_INSTANCE : OBJ_TUPLE;
    o.seq.of_class = c->number;
    return o;
}

Obj named_tuple(Lower *l, const Class *c, const Obj *field) {
    return new_instance(l, c, field);
}

/* What a field's annotation stands for: a class, or poison when it is not known. A text is that of
 * an expression; of a path the last name counts. */
static Obj annotation_object(Lower *l, const Field *f) {
    if (f->annotation->kind != EXPR_STRING) return where_it_stands(l, f->owner, f->annotation);
    const char *dot = strrchr(f->annotation->string, '.');
    const char *name = dot ? dot + 1 : f->annotation->string;
    const Builtin *row = find_builtin('L', name);
    if (row) return (Obj){.kind = OBJ_BUILTIN, .builtin = {row, NULL}};
    Obj found;
    bool muted = l->s->diags.muted;
    Visit before = enter_file(l, f->owner->file);
    l->s->diags.muted = true;
    bool known = lookup_top(l, known_name(l, name), f->annotation->span, &found);
    l->s->diags.muted = muted;
    leave_module(l, before);
    return known ? found : poison();
}

/* An aggregate's field has what its annotation says; false after an error. */
static bool check_field(Lower *l, const Class *c, int i, Obj value, Span span) {
    const Field *f = &c->field[i];
    bool known = true, is = true;
    if (c->kind != CLASS_AGGREGATE || obj_is_poison(value)) return true;
    Obj class = annotation_object(l, f);
    if (obj_is_poison(class)) return true;
    is = is_instance(l, value, class, &known);
    if (is || !known) return true;
    fail(l, E_AGGREGATE_TYPE, span, "Expected %s for attribute '%s', got %s",
         class.kind == OBJ_CLASS ? class.class_->name : obj_text(l, class), f->name,
         obj_what(l, value));
    if (class.kind == OBJ_BUILTIN && strcmp(class.builtin.row->name, "tensor") == 0 &&
        obj_is_number(value))
        note(l, (Span){0}, "tl.to_tensor(x) makes a tensor of a number");
    return false;
}

static Obj field_default(Lower *l, const Field *f) {
    Visit before = enter_file(l, f->owner->file);
    l->at = f->owner->order;
    Obj o = host_expr(l, f->value);
    leave_module(l, before);
    return o;
}

/* The value that a call gives field i, or its default; *given tells which. */
static Obj field_value(Lower *l, const Class *c, const Call *call, int i) {
    const Field *f = &c->field[i];
    int keyword = 0;
    while (keyword < call->nkeywords && call->keyword[keyword].name != f->name) keyword++;
    bool named = keyword < call->nkeywords;
    if (i < call->nargs && named)
        return fail(l, E_ARGUMENT_TWICE, call->keyword[keyword].span,
                    "%s() got multiple values for argument '%s'", c->name, f->name);
    if (i < call->nargs) return call->arg[i];
    if (named) return call->keyword_value[keyword];
    if (f->value) return field_default(l, f);
    fail(l, E_ARGUMENT_MISSING, call->span, "%s() missing required argument: '%s'", c->name,
         f->name);
    note(l, c->ast->span, "the class is here");
    return poison();
}

/* The constructor that a class has without writing one. */
static Obj make_instance(Lower *l, const Class *c, const Call *call) {
    Names names = {0};
    for (int i = 0; i < c->nfields; i++) vec_push(&l->s->arena, &names, c->field[i].name);
    if (call->nargs > c->nfields)
        return fail(l, E_ARGUMENT_COUNT, call->where[c->nfields],
                    "%s() takes %d positional arguments but %d were given", c->name, c->nfields,
                    call->nargs);
    for (int i = 0; i < call->nkeywords; i++)
        if (find_field(c, call->keyword[i].name) < 0) {
            fail(l, E_ARGUMENT_UNKNOWN, call->keyword[i].span,
                 "%s() got an unexpected keyword argument '%s'", c->name, call->keyword[i].name);
            suggest(l, call->keyword[i].name, names.at, names.n);
            return poison();
        }
    Obj *value = arena_array(&l->s->arena, (size_t)c->nfields + 1, sizeof *value);
    bool ok = true;
    for (int i = 0; i < c->nfields; i++) {
        value[i] = field_value(l, c, call, i);
        Span span = i < call->nargs ? call->where[i] : call->span;
        ok = ok && !obj_is_poison(value[i]) && check_field(l, c, i, value[i], span);
    }
    return ok ? checked(l, new_instance(l, c, value), call->span) : poison();
}

/* Its own __init__ assigns the fields. */
static Obj run_init(Lower *l, const Class *c, const AstFunc *init, const Call *call) {
    if (is_jit(init)) {
        fail(l, E_AGGREGATE_INIT, init->span,
             "__init__ of an aggregate cannot be a @triton.jit function");
        note(l, (Span){0}, "write it without a decorator, or with @triton.constexpr_function");
        return poison();
    }
    if (!init->nparams)
        return fail(l, E_AGGREGATE_INIT, init->span, "__init__ needs a parameter for the instance");
    Obj *unset = arena_array(&l->s->arena, (size_t)c->nfields + 1, sizeof *unset);
    for (int i = 0; i < c->nfields; i++) unset[i] = (Obj){.kind = OBJ_UNSET};
    Obj *value = arena_array(&l->s->arena, (size_t)init->nparams + 1, sizeof *value);
    Call with = *call;
    with.nargs = call->nargs + 1;
    with.arg = arena_array(&l->s->arena, (size_t)with.nargs, sizeof(Obj));
    with.where = arena_array(&l->s->arena, (size_t)with.nargs, sizeof(Span));
    with.arg[0] = new_instance(l, c, unset);
    with.where[0] = call->name_span;
    for (int i = 0; i < call->nargs; i++) {
        with.arg[i + 1] = call->arg[i];
        with.where[i + 1] = call->where[i];
    }
    if (!bind_arguments(l, init, &with, NULL, value)) return poison();
    Obj made = host_method_call(l, init, value, true);
    if (made.kind == OBJ_POISON) return poison();
    if (class_of(l, made) != c)
        return fail(l, E_AGGREGATE_INIT, init->span, "__init__ gives '%s' another value",
                    init->param[0].name);
    if (obj_is_poison(made)) return poison();
    for (int i = 0; i < c->nfields; i++)
        if (made.seq.at[i].kind == OBJ_UNSET)
            return fail(l, E_AGGREGATE_INIT, call->span,
                        "constructor for %s did not initialize attribute '%s'", c->name,
                        c->field[i].name);
    return made;
}

Obj class_call(Lower *l, const Class *c, const Call *call) {
    if (c->kind == CLASS_AGGREGATE && l->b.f) newer(l, FEATURE_AGGREGATE, call->name_span);
    const AstFunc *init =
        c->kind == CLASS_AGGREGATE ? own_method(c, known_name(l, "__init__")) : NULL;
    return init ? run_init(l, c, init, call) : make_instance(l, c, call);
}

Obj bi_aggregate_replace(Lower *l, const Args *a, int64_t data) {
    (void)data;
    Obj o = a->at[0], changes = a->at[1];
    if (o.kind != OBJ_INSTANCE)
        return fail(l, E_ARGUMENT_KIND, a->where[0],
                    "aggregate_replace() expects an aggregate instance, got %s", obj_what(l, o));
    const Class *c = class_of(l, o);
    Obj copy = copy_structure(l, o);
    for (int i = 0; i + 1 < changes.seq.n; i += 2) {
        const char *name = known_name(l, changes.seq.at[i].text.at);
        int field = find_field(c, name);
        if (field < 0)
            return fail(l, E_NO_ATTRIBUTE, a->span, "%s has no field '%s'", c->name, name);
        copy.seq.at[field] = changes.seq.at[i + 1];
        if (!check_field(l, c, field, changes.seq.at[i + 1], a->span)) return poison();
    }
    return checked(l, copy_structure(l, copy), a->span);
}

/* ---- fields and methods ---- */

static Obj bound_method(Lower *l, const AstFunc *f, Obj self) {
    Obj o = {.kind = OBJ_METHOD};
    o.method.func = f;
    o.method.self = arena_copy(&l->s->arena, &self, sizeof self);
    return o;
}

bool class_attribute(Lower *l, Obj o, const char *name, Span span, Obj *out) {
    const Class *c = o.kind == OBJ_CLASS ? o.class_ : class_of(l, o);
    if (!c) return false;
    int field = o.kind == OBJ_CLASS ? -1 : find_field(c, name);
    if (field >= 0) {
        *out = o.seq.at[field];
        if (out->kind == OBJ_UNSET)
            *out = fail(l, E_AGGREGATE_INIT, span, "'%s' has no value yet", name);
        return true;
    }
    if (o.kind == OBJ_TUPLE) return false;
    const AstFunc *f = find_method(c, name);
    bool bound = f && o.kind == OBJ_INSTANCE && !find_decorator(f, "staticmethod");
    *out = bound ? bound_method(l, f, o) : (Obj){.kind = OBJ_FUNC, .func = f};
    if (f) return true;
    Names names = {0};
    for (int i = 0; i < c->nfields; i++) vec_push(&l->s->arena, &names, c->field[i].name);
    for (int i = 0; i < c->ast->nfuncs; i++) vec_push(&l->s->arena, &names, c->ast->func[i]->name);
    *out = fail(l, E_NO_ATTRIBUTE, span, "%s has no attribute '%s'", c->name, name);
    suggest(l, name, names.at, names.n);
    return true;
}

void assign_field(Lower *l, const Expr *target, Obj value) {
    const Expr *left = target->left;
    bool constructs = left->kind == EXPR_NAME && left->name == l->frame->constructs;
    Binding *b = left->kind == EXPR_NAME ? find_binding(&l->frame->scope, left->name) : NULL;
    const Class *c = b ? class_of(l, b->obj) : NULL;
    if (!c || c->kind != CLASS_AGGREGATE) {
        fail(l, E_ATTRIBUTE_ASSIGNED, target->span, "attributes cannot be assigned in a kernel");
        return;
    }
    if (!constructs) {
        fail(l, E_ATTRIBUTE_ASSIGNED, target->span,
             "cannot assign to field '%s' on immutable aggregate %s", target->name, c->name);
        note(l, (Span){0}, "use tl.aggregate_replace() to construct a modified copy");
        return;
    }
    int field = find_field(c, target->name);
    if (field < 0) {
        fail(l, E_NO_ATTRIBUTE, target->span, "%s has no attribute '%s'", c->name, target->name);
        return;
    }
    if (!check_field(l, c, field, value, target->span)) value = poison();
    Obj copy = copy_structure(l, b->obj);
    copy.seq.at[field] = value;
    b->obj = copy_structure(l, copy);
}

/* ---- operators ---- */

static const struct {
    const char *forward, *reflected;
} methods[OPERATORS] = {
    [OPR_ADD] = {"__add__", "__radd__"},
    [OPR_SUB] = {"__sub__", "__rsub__"},
    [OPR_MUL] = {"__mul__", "__rmul__"},
    [OPR_DIV] = {"__truediv__", "__rtruediv__"},
    [OPR_FLOORDIV] = {"__floordiv__", "__rfloordiv__"},
    [OPR_MOD] = {"__mod__", "__rmod__"},
    [OPR_POW] = {"__pow__", "__rpow__"},
    [OPR_MATMUL] = {"__matmul__", "__rmatmul__"},
    [OPR_SHL] = {"__lshift__", "__rlshift__"},
    [OPR_SHR] = {"__rshift__", "__rrshift__"},
    [OPR_AND] = {"__and__", "__rand__"},
    [OPR_OR] = {"__or__", "__ror__"},
    [OPR_XOR] = {"__xor__", "__rxor__"},
    [OPR_EQ] = {"__eq__", "__eq__"},
    [OPR_NE] = {"__ne__", "__ne__"},
    [OPR_LT] = {"__lt__", "__gt__"},
    [OPR_LE] = {"__le__", "__ge__"},
    [OPR_GT] = {"__gt__", "__lt__"},
    [OPR_GE] = {"__ge__", "__le__"},
    [OPR_LOGICAL_AND] = {"logical_and", "logical_and"},
    [OPR_LOGICAL_OR] = {"logical_or", "logical_or"},
    [OPR_NEG] = {"__neg__", NULL},
    [OPR_POS] = {"__pos__", NULL},
    [OPR_NOT] = {"__not__", NULL},
    [OPR_INVERT] = {"__invert__", NULL},
};

static bool is_not_implemented(Obj o) {
    return o.kind == OBJ_MODULE && strcmp(o.path, "NotImplemented") == 0;
}

/* Calls the method of an instance; false when it has none, or one that does not know the other. */
static bool try_method(Lower *l, Obj self, const char *name, const Obj *other, Span span,
                       Obj *out) {
    const Class *c = self.kind == OBJ_INSTANCE ? class_of(l, self) : NULL;
    const AstFunc *f = c && name ? find_method(c, known_name(l, name)) : NULL;
    if (!f) return false;
    *out = call_object(l, bound_method(l, f, self), other, other != NULL, span);
    return !is_not_implemented(*out);
}

/* What Python calls the class of o. */
static const char *type_name(Lower *l, Obj o) {
    static const char *const names[] = {
        [OBJ_NONE] = "NoneType",    [OBJ_BOOL] = "bool",
        [OBJ_INT] = "int",          [OBJ_FLOAT] = "float",
        [OBJ_STRING] = "str",       [OBJ_DTYPE] = "dtype",
        [OBJ_TUPLE] = "tuple",      [OBJ_VALUE] = "tensor",
        [OBJ_FUNC] = "JITFunction", [OBJ_CONSTEXPR_TYPE] = "constexpr_type"};
    if (o.kind == OBJ_INSTANCE) return class_name(l, o);
    bool known = (size_t)o.kind < sizeof names / sizeof *names && names[o.kind];
    return known ? names[o.kind] : "object";
}

Obj class_binary(Lower *l, Operator op, Obj x, Obj y, Span span) {
    const Class *cx = x.kind == OBJ_INSTANCE ? class_of(l, x) : NULL;
    const Class *cy = y.kind == OBJ_INSTANCE ? class_of(l, y) : NULL;
    bool right_first = cx && cy && cx != cy && inherits(cy, cx);
    Obj out;
    for (int k = 0; k < 2; k++) {
        bool right = (k == 1) != right_first;
        const char *name = right ? methods[op].reflected : methods[op].forward;
        if (try_method(l, right ? y : x, name, right ? &x : &y, span, &out)) return out;
    }
    return fail(l, E_OPERANDS, span, "unsupported operand type(s) for %s: '%s' and '%s'",
                operator_text[op], type_name(l, x), type_name(l, y));
}

Obj class_unary(Lower *l, Operator op, Obj x, Span span) {
    Obj out;
    if (try_method(l, x, methods[op].forward, NULL, span, &out)) return out;
    return fail(l, E_OPERANDS, span, "unary operator '%s' is not implemented on type %s",
                operator_text[op], type_name(l, x));
}
