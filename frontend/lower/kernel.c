/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kernel.c: a kernel's parameters: types from the signature or annotations, constexpr values
 * from -D, the signature, an autotune config, a heuristic or a default, in that order.
 *
 * Every parameter that is not a constexpr stays in the list, also one that is specialised away
 * (`:1`, None): a caller's arguments do not depend on what was compiled in. */
#include "frontend/lower/signature.h"

#include "ir/func_attrs.h"

#include <string.h>

/* ---- -D ---- */

const char *find_define(Lower *l, const char *name) {
    const char *value = NULL;
    for (int i = 0; i < l->options->ndefines; i++) { /* the last one counts */
        const char *d = l->options->define[i], *equals = strchr(d, '=');
        if (equals && text_is(text_trim((Text){d, (size_t)(equals - d)}), name)) value = equals + 1;
    }
    return value;
}

/* ---- what heuristics see of the arguments ---- */

typedef struct KernelParams {
    const AstFunc *f;
    Entry *entry;
    Argument *argument; /* of those that are no constexprs */
    Obj config;
    Obj *value;  /* of the constexprs found so far */
    char *state; /* of each: 0 not looked at, 1 being computed, 2 known */
} KernelParams;

static Obj constexpr_param(Lower *l, int i);

/* `name` among the values that a launch is known to pass; notes what is asked of it. */
static bool find_fact(Lower *l, const char *name, uint8_t asked, Text *value) {
    for (int i = 0; i < l->options->nvalues; i++) {
        const char *v = l->options->value[i], *equals = strchr(v, '=');
        if (!equals || !text_is(text_trim((Text){v, (size_t)(equals - v)}), name)) continue;
        *value = (Text){equals + 1, strlen(equals + 1)};
        if (l->options->value_asked) l->options->value_asked[i] |= asked;
        return true;
    }
    return false;
}

/* Of what promise_of gave; PROMISES: there is no such promise. */
static Promise read_promise(Lower *l, Text text) {
    if (text.n < 2) return PROMISE_NONE; /* "i32:" takes a promise back */
    Text word = text_trim((Text){text.at + 1, text.n - 1});
    const char *bare = arena_printf(&l->s->arena, ":%.*s", (int)word.n, word.at);
    return promise_find(bare, word.n + 1);
}

static bool no_type(Lower *l, const AstParam *p, const char *path, Text text) {
    fail(l, E_PARAMETER_TYPE, p->span, "'%.*s' is no type for parameter '%s'", (int)text.n, text.at,
         path);
    note(l, (Span){0},
         "types are i1 i8 i16 i32 i64 u8 u16 u32 u64 fp16 bf16 fp32 fp64 fp8e4nv fp8e5 fp8e4b15, "
         "pointers *T, with :16 or :8 (divisible by that) or :1 (equal to 1), tuples (i32, *T), "
         "and tensordesc<T[64, 64]>");
    return false;
}

/* What the annotation promises holds of what a launch passes; false after an error. */
static bool check_promise(Lower *l, const AstParam *p, const Argument *a) {
    Text said = promise_of(a->said);
    if (!l->options->annotations_hold || !said.n || !a->given.n || text_is(a->given, "None"))
        return true;
    Promise wanted = read_promise(l, said), kept = read_promise(l, promise_of(a->given));
    if (wanted == PROMISES) return no_type(l, p, a->path, a->said);
    if (wanted == PROMISE_NONE || kept == PROMISES || promise_covers(kept, wanted)) return true;
    Text fact;
    bool known = find_fact(l, a->path, VALUE_ASKED, &fact);
    fail(l, E_PROMISE, p->span, "the annotation of '%s' promises %s, and the argument%s%.*s is not",
         a->path, promise_info[wanted].doc, known ? " " : "", known ? (int)fact.n : 0,
         known ? fact.at : "");
    note(l, (Span){0}, "leave out '%.*s' in '%.*s', or pass another value", (int)said.n, said.at,
         (int)a->said.n, a->said.at);
    return false;
}

static bool is_none_leaf(const AstParam *p, const Argument *a) {
    bool absent = !a->text.n && a->path == p->name;
    return text_is(a->text, "None") || (absent && p->default_ && p->default_->kind == EXPR_NONE);
}

static Obj tuple_of(Lower *l, const Argument *a, const Obj *part) {
    return a->class_ ? named_tuple(l, a->class_, part) : obj_tuple(l, part, a->nparts);
}

/* An argument, or a part of one, as far as it is known. */
static Obj known_part(Lower *l, const AstParam *p, const Argument *a) {
    Obj o = {.kind = OBJ_UNKNOWN};
    Text text;
    if (a->kind == ARGUMENT_TUPLE) {
        Obj *part = arena_array(&l->s->arena, (size_t)a->nparts + 1, sizeof *part);
        for (int i = 0; i < a->nparts; i++) part[i] = known_part(l, p, &a->part[i]);
        return tuple_of(l, a, part);
    }
    if (find_fact(l, a->path, VALUE_ASKED, &text)) return parse_value(l, text.at, text.n, p->span);
    text = a->text;
    if (is_none_leaf(p, a)) return obj_none();
    if (text_is_constant(text)) return parse_value(l, text.at, text.n, p->span);
    if (!l->options->no_promises && text.n > 2 && memcmp(text.at + text.n - 2, ":1", 2) == 0)
        return obj_int(1);
    bool pointer = (text.n && *text.at == '*') || a->kind == ARGUMENT_DESCRIPTOR;
    if (!pointer) l->needs = a->path;
    o.is_pointer = pointer;
    o.path = a->path;
    return o;
}

Obj kernel_argument(Lower *l, const char *name, Span span) {
    KernelParams *k = l->params;
    for (int i = 0; k && i < k->f->nparams; i++) {
        const AstParam *p = &k->f->param[i];
        if (strcmp(p->name, name) != 0) continue;
        return annotated_constexpr(p) ? constexpr_param(l, i) : known_part(l, p, &k->argument[i]);
    }
    Obj value; /* what the config gives beyond the parameters, num_warps and the like */
    if (k && config_value(k->config, name, &value)) return value;
    KernelOption option = option_find(name, strlen(name));
    if (k && option < OPTIONS) return launch_option(l, k->f, k->config, option);
    return fail(l, E_UNKNOWN_PARAMETER, span, "'%s' has no parameter '%s'",
                k ? k->f->name : "the kernel", name);
}

/* ---- parameters ---- */

static bool has_text(const Source *source, const char *text) {
    const char *at = source->text, *end = at + source->len;
    size_t n = strlen(text);
    while ((at = memchr(at, *text, (size_t)(end - at))) && (size_t)(end - at) >= n) {
        if (memcmp(at, text, n) == 0) return true;
        at++;
    }
    return false;
}

static bool quotes(Lower *l, const Source *source, const char *name) {
    const char *quoted[] = {arena_printf(&l->s->arena, "\"%s\"", name),
                            arena_printf(&l->s->arena, "'%s'", name), "dict("};
    for (int i = 0; i < 3; i++)
        if (has_text(source, quoted[i])) return true;
    return false;
}

/* Configs that are not known may have a value for the name: some text could be a key of theirs. */
static bool may_be_in_configs(Lower *l, const char *name) {
    for (const SourceModule *m = l->modules; m; m = m->next)
        if (quotes(l, m->source ? m->source : &l->s->source, name)) return true;
    return false;
}

/* Nobody gives it a value. */
static bool is_missing(Lower *l, int i) {
    const KernelParams *k = l->params;
    const AstParam *p = &k->f->param[i];
    Obj o;
    return annotated_constexpr(p) && !k->state[i] && !p->default_ && !k->entry[i].text.n &&
           !given_value(l, p->name, p->span, &o) && !config_value(k->config, p->name, &o);
}

/* All that lack a value as p does, in one error. False: p is the only one, or heuristics may yet
 * have values. */
static bool report_all_missing(Lower *l, const AstParam *p) {
    KernelParams *k = l->params;
    const AstFunc *f = k->f;
    const AstParam **missing = arena_array(&l->s->arena, (size_t)f->nparams, sizeof *missing);
    int n = 0;
    if (p->default_ || k->config.kind == OBJ_POISON || find_decorator(f, "heuristics"))
        return false;
    for (int i = 0; i < f->nparams; i++)
        if (&f->param[i] == p || is_missing(l, i)) missing[n++] = &f->param[i];
    if (n < 2) return false;
    for (int i = 0; i < n; i++) {
        int at = (int)(missing[i] - f->param);
        k->value[at] = poison();
        k->state[at] = 2;
    }
    report_missing(l, f, missing, n);
    return true;
}

static Obj find_constexpr(Lower *l, const AstFunc *f, const AstParam *p, Entry entry, Obj config) {
    Obj o;
    if (given_value(l, p->name, p->span, &o)) return o;
    if (entry.text.n) return parse_value(l, entry.text.at, entry.text.n, p->span);
    if (config_value(config, p->name, &o)) return o;
    if (heuristic_value(l, f, p->name, &o)) {
        if (!obj_is_poison(o)) return o;
        if (l->options->symbols) return assumed_constexpr(l, f, p);
        note(l, p->span, "the value of this constexpr; -D %s=VALUE gives it one", p->name);
        return o;
    }
    bool open = config.kind == OBJ_POISON && may_be_in_configs(l, p->name);
    if (p->default_ && (!open || l->options->symbols)) return default_value(l, f, p);
    if (l->options->symbols) return assumed_constexpr(l, f, p);
    if (report_all_missing(l, p)) return poison();
    fail(l, E_CONSTEXPR_VALUE, p->span,
         p->default_ ? "the value of constexpr '%s' is not known" : "constexpr '%s' has no value",
         p->name);
    note(l, (Span){0}, "give it one with -D %s=VALUE", p->name);
    if (config.kind == OBJ_POISON && l->silenced.text)
        note(l, l->silenced.span, "the autotune configs are not known while compiling: %s",
             l->silenced.text);
    else if (config.kind == OBJ_POISON)
        note(l, f->span, "the autotune configs are not known while compiling");
    if (config.kind == OBJ_POISON) l->params->config = obj_none(); /* said once */
    return poison();
}

/* Heuristics may ask for a constexpr that stands further down. */
static Obj constexpr_param(Lower *l, int i) {
    KernelParams *k = l->params;
    const AstParam *p = &k->f->param[i];
    if (k->state[i] == 1)
        return fail(l, E_SELF_DEFINED, p->span, "the value of '%s' depends on itself", p->name);
    if (k->state[i] == 2) return k->value[i];
    k->state[i] = 1;
    k->value[i] = find_constexpr(l, k->f, p, k->entry[i], k->config);
    bool silent = l->s->diags.muted && obj_is_poison(k->value[i]); /* it is yet to be said why */
    k->state[i] = silent ? 0 : 2;
    return k->value[i];
}

static void add_constexpr(Lower *l, Func *out, const char *name, Obj o) {
    Buf json = buf_new(&l->s->arena);
    if (obj_json(o, &json))
        func_add_json(l->s, &out->constexpr_, &out->nconstexprs, name, json.data);
}

/* "*fp16:16" -> type and promise. */
static bool parse_param(Lower *l, Text t, Param *out) {
    const char *colon = colon_of(t);
    Text type = {t.at, colon ? (size_t)(colon - t.at) : t.n};
    out->divisible = 1;
    if (!parse_type(type.at, type.n, &out->type)) return false;
    if (!colon) return true;
    if (type_is_float(out->type)) return false;
    Promise which = read_promise(l, promise_of(t));
    if (which == PROMISES || (which == PROMISE_ONE && out->type.depth)) return false;
    out->is_one = which == PROMISE_ONE;
    if (!out->is_one) out->divisible = promise_info[which].divisible;
    return true;
}

/* Nothing is asked yet: that is for who goes by it. */
static ParamSize size_at_launch(Lower *l, const AstParam *p, const char *path, Type t) {
    const AstFunc *f = l->params->f;
    Text fact;
    if (!l->options->sizes || l->options->no_promises || !type_is_int(t) || type_is_bool(t) ||
        jit_lists(l, f, "do_not_specialize", (int)(p - f->param)) || !find_fact(l, path, 0, &fact))
        return SIZE_UNKNOWN;
    Obj o = parse_value(l, fact.at, fact.n, p->span);
    if (o.kind == OBJ_FLOAT) return SIZE_LARGE; /* so is an integer read that no int64 holds */
    return o.kind == OBJ_INT ? param_size(o.i) : SIZE_UNKNOWN;
}

typedef VEC(const AstParam *) Params;

static void report_untyped_part(Lower *l, const AstParam *p, const Argument *a, Params *untyped) {
    bool launched = !a->text.n && l->options->ignore_annotations;
    if (!launched && a->path == p->name) {
        vec_push(&l->s->arena, untyped, p);
        return;
    }
    fail(l, E_UNTYPED, p->span,
         launched ? "the argument for parameter '%s' is missing" : "'%s' has no type", a->path);
    note(l, (Span){0},
         launched ? "give it as %s=VALUE: a number, or a buffer such as zeros:fp32[1024]"
                  : "give it one in the signature: %s=i32, or *fp32",
         a->path);
}

/* p: tl.const */
static bool annotated_const(const AstParam *p) {
    const Expr *e = p->annotation;
    return e && (e->kind == EXPR_NAME || e->kind == EXPR_ATTRIBUTE) &&
           strcmp(e->name, "const") == 0;
}

/* A constant of the signature: nothing that a launch passes. */
static Obj constant_leaf(Lower *l, const AstParam *p, const Argument *a, Func *out) {
    Obj o = parse_value(l, a->text.at, a->text.n, p->span);
    if (o.kind == OBJ_STRING && !strchr("'\"", *a->text.at))
        return fail(l, E_PARAMETER_TYPE, p->span,
                    "'%.*s' is neither a type nor a constant for '%s'", (int)a->text.n, a->text.at,
                    a->path);
    if (!obj_is_poison(o)) add_constexpr(l, out, a->path, o);
    return o;
}

static Obj runtime_leaf(Lower *l, const AstParam *p, const Argument *a, Func *out,
                        Params *untyped) {
    Param param = {.name = a->path, .span = p->span, .divisible = 1};
    Text text = a->text;
    if (!check_promise(l, p, a)) return poison();
    if (is_none_leaf(p, a)) {
        param.is_none = true;
        param.type = type_pointer_to(type_scalar(EL_I8));
        ir_param(l->s, out, &param);
        return obj_none();
    }
    bool open = !text.n || *text.at == ':';
    if (open && l->options->symbols && a->path == p->name) {
        const char *type = assumed_type(l, l->params->f, p);
        if (!type) return poison();
        text = (Text){type, strlen(type)};
    } else if (open) {
        report_untyped_part(l, p, a, untyped);
        return poison();
    }
    if (text_is_constant(text)) return constant_leaf(l, p, a, out);
    if (!parse_param(l, text, &param)) {
        no_type(l, p, a->path, text);
        return poison();
    }
    if (!type_is_known(l, param.type, p->span)) return poison();
    if (param.divisible < a->divisible) param.divisible = a->divisible;
    if (l->options->no_promises) {
        param.divisible = 1;
        param.is_one = false;
    }
    if (param.type.elem == EL_F8E4B15 && !param.type.depth)
        return fail(l, E_PARAMETER_TYPE, p->span,
                    "an argument cannot be an fp8e4b15: pass a pointer to it");
    if (param.type.depth && annotated_const(p)) param.type.constant = 1;
    if (!param.is_one) param.size = size_at_launch(l, p, a->path, param.type);
    Value *v = ir_param(l->s, out, &param);
    return v ? obj_value(v) : obj_int(1);
}

static Obj runtime_argument(Lower *l, const AstParam *p, const Argument *a, Func *out,
                            Params *untyped) {
    if (a->kind == ARGUMENT_LEAF) return runtime_leaf(l, p, a, out, untyped);
    Obj *part = arena_array(&l->s->arena, (size_t)a->nparts + 1, sizeof *part);
    for (int i = 0; i < a->nparts; i++) {
        part[i] = runtime_argument(l, p, &a->part[i], out, untyped);
        if (obj_is_poison(part[i])) return poison();
    }
    if (a->kind == ARGUMENT_TUPLE) return tuple_of(l, a, part);
    return descriptor_argument(l, a, part, p->span);
}

/* The manifest says which leaves an argument with parts has. */
static Obj runtime_param(Lower *l, const AstParam *p, const Argument *a, Func *out,
                         Params *untyped) {
    if (a->kind != ARGUMENT_LEAF) {
        Buf json = buf_new(&l->s->arena);
        argument_json(l, a, &json);
        func_add_json(l->s, &out->argument, &out->narguments, p->name, json.data);
    }
    Obj o = runtime_argument(l, p, a, out, untyped);
    if (out->nparams <= TILE_MAX_PARAMS) return o;
    out->nparams = TILE_MAX_PARAMS;
    return fail(l, E_PARAMETER_LIMIT, p->span, "a kernel has at most %d parameters",
                TILE_MAX_PARAMS);
}

/* A constexpr has one value in each variant: there is nothing that a launch could leave open. */
static void check_specialized(Lower *l, const AstFunc *f, int i) {
    static const char *const keys[] = {"do_not_specialize", "do_not_specialize_on_alignment"};
    for (int k = 0; k < 2; k++) {
        if (!jit_lists(l, f, keys[k], i)) continue;
        fail(l, E_CONSTEXPR_LISTED, f->param[i].span, "'%s' is a constexpr and listed in %s",
             f->param[i].name, keys[k]);
        note(l, (Span){0}, "take tl.constexpr away, or the name from the list");
    }
}

bool lower_params(Lower *l, const AstFunc *f, Func *out) {
    KernelParams k = {.f = f, .config = choose_config(l, f)};
    Entries entries = split_signature(l);
    if (l->failed || !match_signature(l, f, &entries, &k.entry)) return false;
    k.argument = read_arguments(l, f, k.entry, &entries);
    if (!k.argument) return false;
    k.value = arena_array(&l->s->arena, (size_t)f->nparams + 1, sizeof(Obj));
    k.state = arena_alloc(&l->s->arena, (size_t)f->nparams + 1);
    l->params = &k;
    check_autotune(l, f);
    check_jit(l, f);
    launch_options(l, f, k.config, out);
    out->debug = jit_debugs(l, f);
    l->checks_overflow = out->debug || l->options->debug;
    Params untyped = {0};
    for (int i = 0; i < f->nparams; i++) {
        const AstParam *p = &f->param[i];
        Obj o;
        if (p->keyword_only) newer(l, FEATURE_KEYWORD_ONLY, p->span);
        if (p->is_star_star) {
            o = fail(l, E_STAR_PARAMETER, p->span, "JIT functions do not support **%s parameters",
                     p->name);
        } else if (p->is_star) {
            o = fail(l, E_STAR_PARAMETER, p->span, "a kernel takes no '*%s'", p->name);
        } else if (annotated_constexpr(p)) {
            o = constexpr_param(l, i);
            check_specialized(l, f, i);
            if (!obj_is_poison(o)) add_constexpr(l, out, p->name, o);
        } else {
            o = runtime_param(l, p, &k.argument[i], out, &untyped);
            if (find_define(l, p->name)) {
                fail(l, E_DEFINE, p->span, "-D %s: the parameter is not a constexpr", p->name);
                note(l, (Span){0}, "annotate it with tl.constexpr, or pass its value at launch");
            }
        }
        bind_name(l, p->name, o, p->span);
        find_binding(&l->frame->scope, p->name)->fixed = annotated_constexpr(p);
    }
    if (untyped.n) report_untyped(l, f, untyped.at, untyped.n);
    l->params = NULL;
    return true;
}

/* ---- what a launch passes ---- */

typedef VEC(LaunchParam) LaunchParams;

static void add_launch_params(Lower *l, const Argument *a, LaunchParam like, LaunchParams *out) {
    like.name = a->path;
    like.promised = read_promise(l, promise_of(a->said));
    Type type;
    Text given = a->given;
    like.typed = like.whole && given.n && *given.at != ':' && parse_type(given.at, given.n, &type);
    if (is_passed(a)) vec_push(&l->s->arena, out, like);
    like.whole = false;
    for (int i = 0; i < a->nparts; i++) add_launch_params(l, &a->part[i], like, out);
}

bool launch_params(Lower *l, const AstFunc *f, LaunchParam **out, int *n) {
    Entries entries = split_signature(l);
    Entry *entry;
    if (!match_signature(l, f, &entries, &entry)) return false;
    Argument *argument = read_arguments(l, f, entry, &entries);
    LaunchParams all = {0};
    for (int i = 0; argument && i < f->nparams; i++)
        if (!annotated_constexpr(&f->param[i]))
            add_launch_params(
                l, &argument[i],
                (LaunchParam){.any_value = jit_lists(l, f, "do_not_specialize", i),
                              .any_alignment = jit_lists(l, f, "do_not_specialize_on_alignment", i),
                              .whole = true},
                &all);
    *out = all.at;
    *n = all.n;
    return argument != NULL;
}

/* ---- names that no kernel has ---- */

/* A line has the word, and asks for an environment variable. */
static bool asks_for(Lower *l, const Source *source, const char *word) {
    const char *at = source->text, *end = at + source->len;
    while (at && at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t n = (size_t)((stop ? stop : end) - at);
        if (memchr(at, '"', n) || memchr(at, '\'', n)) {
            const char *line = arena_strndup(&l->s->arena, at, n);
            if (strstr(line, "env") && strstr(line, word)) return true;
        }
        at = stop ? stop + 1 : NULL;
    }
    return false;
}

/* A module that was read since defines the name, or asks for it, between quotes: an environment
 * variable. */
static bool named_in_modules(Lower *l, const char *name) {
    const char *quoted[] = {arena_printf(&l->s->arena, "\"%s\"", name),
                            arena_printf(&l->s->arena, "'%s'", name)};
    for (SourceModule *m = l->modules; m; m = m->next) {
        Visit before = enter_module(l, m);
        bool there = defined_at_top(l, name);
        leave_module(l, before);
        for (int i = 0; m->source && i < 2 && !there; i++)
            there = asks_for(l, m->source, quoted[i]);
        if (there) return true;
    }
    return false;
}

static void check_name(Lower *l, AstFunc *const *kernels, int n, Text name, const char *what) {
    Names names = {0};
    const char *dot = memchr(name.at, '.', name.n); /* a part of a parameter */
    Text root = {name.at, dot ? (size_t)(dot - name.at) : name.n};
    for (int k = 0; k < n; k++)
        for (int i = 0; i < kernels[k]->nparams; i++) {
            if (text_is(root, kernels[k]->param[i].name)) return;
            vec_push(&l->s->arena, &names, kernels[k]->param[i].name);
        }
    const char *word = arena_strndup(&l->s->arena, name.at, name.n);
    if (strcmp(what, "-D") == 0 && named_in_modules(l, word)) return;
    fail(l, E_UNKNOWN_PARAMETER, (Span){0}, "%s: no kernel has a parameter '%s'", what, word);
    suggest(l, word, names.at, names.n);
}

void check_unknown_names(Lower *l, AstFunc *const *kernels, int n) {
    for (int i = 0; i < l->options->ndefines; i++) {
        const char *d = l->options->define[i], *equals = strchr(d, '=');
        if (!equals)
            fail(l, E_DEFINE, (Span){0}, "-D %s: write -D NAME=VALUE", d);
        else
            check_name(l, kernels, n, text_trim((Text){d, (size_t)(equals - d)}), "-D");
    }
    for (const char *s = l->options->config_text; s && *s;) {
        size_t len = strcspn(s, ",");
        const char *equals = memchr(s, '=', len);
        Text name = text_trim((Text){s, equals ? (size_t)(equals - s) : 0});
        bool option = option_find(name.at, name.n) < OPTIONS ||
                      option_find_opposite(name.at, name.n) < OPTIONS;
        if (name.n && !option) check_name(l, kernels, n, name, "config");
        s += len + (s[len] == ',');
    }
    Entries entries = split_signature(l);
    for (int i = 0; i < l->options->nvalues; i++) {
        const char *v = l->options->value[i], *equals = strchr(v, '=');
        Text name = text_trim((Text){v, equals ? (size_t)(equals - v) : 0});
        bool again = !name.n;
        for (int k = 0; k < entries.n && !again; k++) {
            Text other = entries.at[k].name;
            again = other.n == name.n && memcmp(other.at, name.at, name.n) == 0;
        }
        if (!again) check_name(l, kernels, n, name, "--for");
    }
    for (int i = 0; i < entries.n; i++) {
        Entry e = entries.at[i];
        if (e.name.n) check_name(l, kernels, n, e.name, "signature");
        if (e.name.n && !e.text.n)
            fail(l, E_SIGNATURE, (Span){0}, "signature: no type follows '%.*s='", (int)e.name.n,
                 e.name.at);
    }
}
