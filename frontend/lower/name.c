/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* name.c: names and attributes -> objects.
 *
 * A module is a dotted path; paths that Triton keeps for one and the same thing are made one here.
 * Imports bind names to modules or to a module's members; globals are evaluated when first used. */
#include "frontend/lower/internal.h"

#include <string.h>

/* Every module a kernel may use. letter: which rows of builtins.def are its members (0: none).
 * `same` names the path it is another name for. */
static const struct {
    const char *path, *same;
    char letter;
    const char *shown;
} modules[] = {
    {"triton", NULL, 'T', "triton"},
    {"triton.language", NULL, 'L', "tl"},
    {"triton.language.core", "triton.language", 0, NULL},
    {"triton.language.standard", "triton.language", 0, NULL},
    {"triton.language.math", NULL, 'X', "tl.math"},
    {"triton.language.target_info", NULL, 'G', "tl.target_info"},
    {"triton.language.extra", NULL, 'A', "tl.extra"},
    {"triton.language.random", "triton.language", 0, NULL},
    {"triton.language.libdevice", "triton.language.extra.libdevice", 0, NULL},
    {"triton.language.extra.cuda", NULL, 'E', "tl.extra.cuda"},
    {"triton.language.extra.cuda.utils", "triton.language.extra.cuda", 0, NULL},
    {"triton.language.extra.cuda.gdc", "triton.language.extra.cuda", 0, NULL},
    {"triton.language.extra.libdevice", NULL, 'D', "libdevice"},
    {"triton.language.extra.cuda.libdevice", "triton.language.extra.libdevice", 0, NULL},
    {"triton.language.PropagateNan", NULL, 0, "tl.PropagateNan"},
    {"math", NULL, 0, "math"},
    {"triton.runtime", NULL, 0, "triton.runtime"},
    {"triton.runtime.driver", NULL, 0, "triton.runtime.driver"},
    {"triton.runtime.driver.active", NULL, 0, "the driver"},
    {"triton.target", NULL, 0, "the target"}, /* what get_current_target() gives */
};
enum { MODULES = sizeof modules / sizeof *modules };

/* ---- scopes ---- */

Binding *find_binding(Scope *scope, const char *name) {
    for (int i = 0; i < scope->n; i++)
        if (scope->at[i].name == name) return &scope->at[i];
    return NULL;
}

void bind_name(Lower *l, const char *name, Obj o, Span span) {
    Binding *b = find_binding(&l->frame->scope, name);
    if (!b) {
        vec_push(&l->s->arena, &l->frame->scope, ((Binding){.name = name}));
        b = &l->frame->scope.at[l->frame->scope.n - 1];
    }
    *b = (Binding){.name = name, .obj = o, .span = span};
    if (name != loop_stop) see(l, span, name, o);
}

Scope copy_scope(Lower *l, const Scope *scope) {
    l->steps += scope->n / 8; /* many names times many branches is work, too */
    Scope c = {.n = scope->n, .cap = scope->n};
    c.at = arena_array(&l->s->arena, (size_t)scope->n, sizeof *c.at);
    if (scope->n) memcpy(c.at, scope->at, (size_t)scope->n * sizeof *c.at);
    return c;
}

/* ---- modules ---- */

static int module_index(const char *path) {
    for (int i = 0; i < MODULES; i++)
        if (strcmp(modules[i].path, path) == 0)
            return modules[i].same ? module_index(modules[i].same) : i;
    return -1;
}

bool is_known_module(const char *path) {
    return module_index(path) >= 0;
}

char module_letter(const char *path) {
    int i = module_index(path);
    return i < 0 ? '\0' : modules[i].letter;
}

void inner_modules(const char *path, MemberFn fn, void *ctx) {
    size_t n = strlen(path);
    for (int i = 0; i < MODULES; i++) {
        const char *inner = modules[i].path;
        if (strncmp(inner, path, n) == 0 && inner[n] == '.' && !strchr(inner + n + 1, '.'))
            fn(ctx, MEMBER_MODULE, inner + n + 1, NULL);
    }
}

static Obj module_object(const char *path) {
    int i = module_index(path);
    return (Obj){.kind = OBJ_MODULE, .path = i < 0 ? path : modules[i].path};
}

static bool dtype_name(const char *name, Type *out) {
    static const char *const prefixes[] = {"int", "uint", "float", "bfloat"};
    Elem e;
    if (strcmp(name, "pi32_t") == 0) return *out = type_pointer_to(type_scalar(EL_I32)), true;
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0 &&
            (elem_from_name(name, strlen(name), &e) ||
             elem_from_foreign_name(name, strlen(name), &e)))
            return *out = type_scalar(e), true;
    return false;
}

static Obj unknown_member(Lower *l, int m, const char *name, Span span) {
    l->lacking = true;
    fail(l, E_NOT_IN_MODULE, span, "%s has no '%s'", modules[m].shown, name);
    if (modules[m].letter == 'L' && advise(l, ADVICE_TL, name)) return poison();
    const char **names;
    int n = builtin_names(l, modules[m].letter, &names);
    suggest(l, name, names, n);
    return poison();
}

bool is_foreign(Lower *l, Obj x, Span span) {
    if (x.kind != OBJ_FOREIGN) return false;
    fail(l, E_MODULE_NOT_READ, span, "'%s' comes from a module that is not read", x.path);
    note(l, (Span){0}, "-D %s=VALUE gives it a value", x.path);
    return true;
}

/* What may be asked of other modules; of all else there nothing is known. */
static Obj outside_kernels(Lower *l, const char *path, int m, const char *name) {
    const char *inner = arena_printf(&l->s->arena, "%s.%s", path, name);
    Obj given;
    if (m < 0 && given_value(l, inner, (Span){0}, &given)) return given;
    if (host_constant(l, path, name, &given)) return given;
    bool own = strcmp(path, "builtins") == 0; /* Python's, by their module */
    Obj f = host_function(own ? "" : path, name);
    const Builtin *row = own && f.kind == OBJ_POISON ? find_builtin('P', name) : NULL;
    if (row) return (Obj){.kind = OBJ_BUILTIN, .builtin = {row, NULL}};
    if (f.kind != OBJ_POISON || m >= 0) return f;
    if (!l->b.f) return (Obj){.kind = OBJ_FOREIGN, .path = inner};
    return host_module(inner) ? (Obj){.kind = OBJ_MODULE, .path = inner} : f;
}

static Obj module_attribute(Lower *l, const char *path, const char *name, Span span) {
    int m = module_index(path);
    const char *inner = arena_printf(&l->s->arena, "%s.%s", path, name);
    if (module_index(inner) >= 0) return module_object(inner);
    SourceModule *part = m < 0 ? module_named(l, inner, span) : NULL; /* of a folder of modules */
    if (part) return obj_source(part);
    Obj found = outside_kernels(l, path, m, name);
    if (found.kind != OBJ_POISON) return found;
    if (m < 0 && l->path.reader.read && !always_there(path))
        return folder_missing(l, path, name, span);
    if (m < 0) {
        fail(l, E_HOST_ONLY, span, "'%s' cannot be used in a kernel", inner);
        note(l, (Span){0},
             "a kernel can use modules of Triton's, math, and modules with kernels; -D %s=VALUE "
             "gives it a value",
             inner);
        return poison();
    }
    Type t;
    if (modules[m].letter == 'L' && dtype_name(name, &t)) return obj_dtype(l, t);
    const Builtin *row = modules[m].letter ? find_builtin(modules[m].letter, name) : NULL;
    if (row) return (Obj){.kind = OBJ_BUILTIN, .builtin = {row, NULL}};
    return unknown_member(l, m, name, span);
}

/* ---- names at top level ---- */

/* Said once for each import: what is not there is often used all over a kernel. */
static Obj missing_import(Lower *l, const AstImport *im, Span span) {
    l->failed |= !l->s->diags.muted;
    for (int i = 0; i < l->missing.n; i++)
        if (l->missing.at[i] == im) return poison();
    if (!l->s->diags.muted) vec_push(&l->s->arena, &l->missing, im);
    return module_missing(l, im, span);
}

/* A name that projects give Triton where they hand it on: whatever stands in their way, an absent
 * module or conditions, a kernel means Triton. */
static bool names_triton(const AstImport *im, Obj *out) {
    bool language = strcmp(im->as, "tl") == 0 || strcmp(im->member, "tl") == 0;
    if (!language && strcmp(im->as, "triton") != 0) return false;
    *out = module_object(language ? "triton.language" : "triton");
    return true;
}

/* `from module import member` of a module that is read, or of a folder of modules. */
static bool source_member(Lower *l, const AstImport *im, Span span, Obj *out) {
    SourceModule *m = imported_module(l, im), *inner;
    Obj triton;
    bool may_be_triton = names_triton(im, &triton);
    bool muted = l->s->diags.muted;
    l->s->diags.muted |= may_be_triton;
    bool there = m && lookup_in(l, m, im->member, span, out);
    l->s->diags.muted = muted;
    if (!there && (inner = imported_member(l, im))) *out = obj_source(inner), there = true;
    if (may_be_triton && (!there || (out->kind != OBJ_MODULE && out->kind != OBJ_SOURCE)))
        *out = triton, there = true;
    if (there || !m) return there;
    *out = name_missing(l, m, im->member, span);
    return true;
}

Obj import_member(Lower *l, const char *path, const char *name, Span span) {
    const char *inner = arena_printf(&l->s->arena, "%s.%s", path, name);
    if (module_index(inner) >= 0) return module_object(inner);
    return module_attribute(l, path, name, span);
}

Obj import_object(Lower *l, const AstImport *im, Span span) {
    const char *path = im->module;
    if (!im->member) {
        SourceModule *m = imported_module(l, im);
        return m ? obj_source(m) : module_object(path);
    }
    const char *inner = arena_printf(&l->s->arena, "%s.%s", path, im->member);
    if (module_index(inner) >= 0) return module_object(inner);
    if (module_index(path) >= 0) return module_attribute(l, path, im->member, span);
    Obj found;
    if (is_searched(path) && source_member(l, im, span, &found)) return found;
    found = outside_kernels(l, path, -1, im->member);
    return obj_is_poison(found) ? missing_import(l, im, span) : found;
}

const Global *global_value(Lower *l, int index) {
    const AstGlobal *g = &l->here->file->global[index];
    Global *global = &l->here->global[index];
    if (global->state != GLOBAL_UNSEEN) return global;
    Reported silenced = l->silenced;
    global->state = GLOBAL_BUSY;
    l->silenced.text = NULL;
    l->lacking = false;
    global->value = g->value ? quietly(l, g->value, g->order) : poison();
    global->value.grown = false;
    global->why = l->silenced;
    global->lacking = l->lacking;
    global->state = GLOBAL_KNOWN;
    l->silenced = silenced;
    return global;
}

/* The value of NAME = … at top level. A plain number there is no constant for a kernel, as in
 * Triton; functions, dtypes, modules and tl.constexpr(…) are. */
Obj global_object(Lower *l, int index, Span span) {
    const AstGlobal *g = &l->here->file->global[index];
    if (l->here->global[index].state == GLOBAL_BUSY)
        return fail(l, E_SELF_DEFINED, span, "global '%s' is defined by itself", g->name);
    bool inside_kernel = l->frame && l->frame->func && !l->any_global;
    const Global *global = global_value(l, index);
    Obj o = global->value;
    if (obj_is_poison(o) || (inside_kernel && o.kind == OBJ_FOREIGN)) {
        if (l->s->diags.muted && !l->silenced.text) l->silenced = global->why;
        fail(l, E_GLOBAL_UNKNOWN, span, "the value of global '%s' is not known while compiling",
             g->name);
        note(l, g->span, "it is assigned here; -D %s=VALUE gives it one", g->name);
        if (global->why.text) note(l, global->why.span, "%s", global->why.text);
        if (o.kind == OBJ_FOREIGN)
            note(l, (Span){0}, "it is '%s', of a module that is not read; -I DIR adds a folder",
                 o.path);
        return poison();
    }
    bool usable = o.kind == OBJ_FUNC || o.kind == OBJ_CLASS || o.kind == OBJ_INSTANCE ||
                  o.kind == OBJ_BUILTIN || o.kind == OBJ_DTYPE || o.kind == OBJ_MODULE ||
                  o.kind == OBJ_SOURCE || o.constant;
    if (inside_kernel && !usable) {
        fail(l, E_GLOBAL_NOT_CONSTEXPR, span, "Cannot access global variable '%s' in a kernel",
             g->name);
        note(l, g->span, "to make it a constant, write %s = tl.constexpr(%s)", g->name,
             obj_what(l, o));
        return poison();
    }
    return o;
}

/* What the file calls triton.language. */
static const char *language_name(const Lower *l) {
    for (int i = 0; i < l->here->file->nimports; i++) {
        const AstImport *im = &l->here->file->import[i];
        if (!im->member && im->module && strcmp(im->module, "triton.language") == 0 &&
            !strchr(im->as, '.'))
            return im->as;
    }
    return "tl";
}

static Obj unknown_name(Lower *l, const char *name, Span span) {
    Arena *a = &l->s->arena;
    Names names = {0};
    for (int i = 0; i < l->frame->scope.n; i++)
        if (!l->frame->scope.at[i].undefined && l->frame->scope.at[i].name != loop_stop)
            vec_push(a, &names, l->frame->scope.at[i].name);
    const AstFile *file = l->here->file;
    for (int i = 0; i < file->nfuncs; i++) vec_push(a, &names, file->func[i]->name);
    for (int i = 0; i < file->nimports; i++) vec_push(a, &names, file->import[i].as);
    for (int i = 0; i < file->nglobals; i++) vec_push(a, &names, file->global[i].name);
    for (int i = 0; i < file->nclasses; i++) vec_push(a, &names, file->class_[i]->name);
    for (int i = 0; i < file->nclasses; i++)
        if (file->class_[i]->name == name && class_kind(file->class_[i]) == CLASS_PLAIN) {
            fail(l, E_HOST_ONLY, span, "'%s' is a Python class and cannot be used in a kernel",
                 name);
            note(l, file->class_[i]->span,
                 "it is defined here; kernels use aggregates (@triton.aggregate) and NamedTuples");
            return poison();
        }
    const char **python;
    int n = builtin_names(l, 'P', &python);
    for (int i = 0; i < n; i++) vec_push(a, &names, python[i]);
    fail(l, E_UNDEFINED_NAME, span, "name '%s' is not defined", name);
    if (say_why_name_left_out(l, name)) return poison();
    if (advise(l, ADVICE_NAME, name)) return poison();
    Type ignored;
    if (find_builtin('L', name) || dtype_name(name, &ignored))
        note(l, (Span){0}, "did you mean '%s.%s'?", language_name(l), name);
    else
        suggest(l, name, names.at, names.n);
    return poison();
}

Obj lookup_name(Lower *l, const char *name, Span span) {
    Binding *b = find_binding(&l->frame->scope, name);
    count_work(l, l->frame->scope.n / 64, span);
    if (b && b->undefined) {
        fail(l, E_NO_VALUE, span, "'%s' has no value here: %s", name, b->undefined);
        if (b->span.line) note(l, b->span, "'%s' is assigned here", name);
        return poison();
    }
    if (b) return b->obj;
    Obj top;
    if (lookup_top(l, name, span, &top)) return top;
    if (!l->b.f && strcmp(name, "__name__") == 0)
        return obj_string(l, "kernels"); /* not __main__ */
    if (strcmp(name, "NotImplemented") == 0)
        return (Obj){.kind = OBJ_MODULE, .path = "NotImplemented"};
    const Builtin *row = find_builtin('P', name);
    Obj host = l->b.f ? poison() : host_function("", name);
    if (host.kind == OBJ_BUILTIN) return host;
    if (row) return (Obj){.kind = OBJ_BUILTIN, .builtin = {row, NULL}};
    return unknown_name(l, name, span);
}

/* ---- attributes ---- */

Obj shape_tuple(Lower *l, Type t) {
    Obj dims[TILE_MAX_RANK];
    for (int i = 0; i < t.rank; i++) dims[i] = obj_int(type_size(t, i));
    return obj_tuple(l, dims, t.rank);
}

static Obj method(Lower *l, Obj self, char letter, const char *name, Span span) {
    const Builtin *row = find_builtin(letter, name);
    if (row) {
        Obj *copy = arena_copy(&l->s->arena, &self, sizeof self);
        return (Obj){.kind = OBJ_BUILTIN, .builtin = {row, copy}};
    }
    fail(l, E_NO_ATTRIBUTE, span, "%s has no attribute '%s'", obj_what(l, self), name);
    if (advise(l, self.kind == OBJ_TUPLE ? ADVICE_LIST : ADVICE_TENSOR, name)) return poison();
    const char **names;
    int n = builtin_names(l, letter, &names);
    suggest(l, name, names, n);
    return poison();
}

static int64_t numel(Type t) {
    int64_t n = 1;
    for (int i = 0; i < t.rank; i++) n *= type_size(t, i);
    return n;
}

static Obj value_attribute(Lower *l, Obj o, const char *name, Span span) {
    Type t = obj_type(o);
    if (strcmp(name, "shape") == 0) return shape_tuple(l, t);
    if (strcmp(name, "dtype") == 0) return obj_dtype(l, type_element(t));
    if (strcmp(name, "numel") == 0) return obj_int(numel(t));
    if (strcmp(name, "T") == 0) {
        Obj self = method(l, o, 'M', "trans", span);
        return obj_is_poison(self) ? self : call_object(l, self, NULL, 0, span);
    }
    return method(l, o, 'M', name, span);
}

static Obj dtype_attribute(Lower *l, Obj o, const char *name, Span span) {
    Type t = *o.type;
    if (strcmp(name, "element_ty") == 0) {
        if (t.rank) return obj_dtype(l, type_element(t));
        if (t.depth) return obj_dtype(l, type_pointee(t));
        fail(l, E_NO_ATTRIBUTE, span, "%s is no pointer and has no element_ty",
             type_user_text(&l->s->arena, t));
        return poison();
    }
    if (strcmp(name, "value") == 0) return o; /* of a constexpr */
    if (strcmp(name, "scalar") == 0) return obj_dtype(l, type_element(t));
    if (strcmp(name, "shape") == 0) return shape_tuple(l, t);
    if (strcmp(name, "numel") == 0 && t.rank) return obj_int(numel(t));
    if (strcmp(name, "nbytes") == 0 && t.rank) return obj_int(numel(t) * (type_elem_bits(t) / 8));
    if (strcmp(name, "name") == 0) return obj_string(l, type_user_text(&l->s->arena, t));
    if (strcmp(name, "primitive_bitwidth") == 0 || strcmp(name, "int_bitwidth") == 0)
        return obj_int(type_elem_bits(t));
    if (strcmp(name, "itemsize") == 0) return obj_int(type_elem_bytes(t));
    if (strcmp(name, "cache_key_part") == 0) return obj_string(l, type_user_text(&l->s->arena, t));
    if (strcmp(name, "value") == 0) return o;
    Obj format;
    if (float_format_of(t, name, &format)) return format;
    return method(l, o, 'Y', name, span);
}

static Obj source_attribute(Lower *l, SourceModule *m, const char *name, Span span) {
    Obj o;
    if (lookup_in(l, m, name, span, &o)) return o;
    SourceModule *inner = submodule(l, m, name, span);
    return inner ? obj_source(inner) : name_missing(l, m, name, span);
}

bool is_outside(Lower *l, Obj x, Span span) {
    if (x.kind != OBJ_VALUE || l->b.f) return false;
    fail(l, E_KERNEL_ONLY, span, "%s cannot be computed with outside a kernel", obj_what(l, x));
    return true;
}

Obj attribute(Lower *l, Obj o, const char *name, Span span) {
    Obj found;
    if (obj_is_descriptor(o)) return descriptor_attribute(l, o, name, span);
    if (class_attribute(l, o, name, span, &found)) return found;
    if (strcmp(name, "type") == 0 && has_type(o)) return type_object(l, o);
    switch (o.kind) {
    case OBJ_POISON: return o;
    case OBJ_MODULE:
    case OBJ_FOREIGN: return module_attribute(l, o.path, name, span);
    case OBJ_SOURCE: return source_attribute(l, o.source, name, span);
    case OBJ_VALUE: return value_attribute(l, o, name, span);
    case OBJ_DTYPE: return dtype_attribute(l, o, name, span);
    case OBJ_CONFIG:
        if (config_attribute(o, name, &found)) return found;
        return fail(l, E_NO_ATTRIBUTE, span, "a triton.Config has no attribute '%s' here", name);
    case OBJ_BOOL:
    case OBJ_INT:
    case OBJ_FLOAT:
        if (strcmp(name, "value") == 0) return o;
        return value_attribute(l, o, name, span);
    case OBJ_BUILTIN:
        if (is_refused(l, o, span)) return poison();
        /* fall through */
    default:
        if (strcmp(name, "value") == 0 && o.kind == OBJ_CONSTEXPR_TYPE) return *o.of;
        if (strcmp(name, "value") == 0 && has_type(o) && obj_is_const(o)) return o;
        fail(l, E_NO_ATTRIBUTE, span, "%s has no attribute '%s'", obj_what(l, o), name);
        if (o.kind == OBJ_NONE) note(l, (Span){0}, "test it with 'is not None' first");
        if (o.kind == OBJ_TUPLE) advise(l, ADVICE_LIST, name);
        return poison();
    }
}
