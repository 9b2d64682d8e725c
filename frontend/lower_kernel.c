/* lower_kernel.c: a kernel's parameters: types from the signature or annotations, constexpr values
 * from -D, the signature, an autotune config or a default, in that order.
 *
 * Every parameter that is not a constexpr stays in the list, also one that is specialised away
 * (`:1`, None): a caller's arguments do not depend on what was compiled in. */
#include "frontend/lower_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct Text {
    const char *at;
    size_t n;
} Text;

static Text trim(Text t) {
    while (t.n && strchr(" \t\n", *t.at)) t.at++, t.n--;
    while (t.n && strchr(" \t\n", t.at[t.n - 1])) t.n--;
    return t;
}

static bool text_is(Text t, const char *s) {
    return strlen(s) == t.n && memcmp(s, t.at, t.n) == 0;
}

/* ---- types and values as text ---- */

bool parse_type(const char *text, size_t n, Type *out) {
    Text t = trim((Text){text, n});
    int depth = 0;
    for (; t.n && *t.at == '*'; t.at++, t.n--) depth++;
    if (depth && t.n && *t.at == 'k') t.at++, t.n--; /* *k…: a pointer to constant data */
    Elem e;
    if (depth > POINTER_MAX_DEPTH || !t.n || !elem_from_name(t.at, t.n, &e)) return false;
    *out = type_scalar(e);
    while (depth--) *out = type_pointer_to(*out);
    return true;
}

static bool parse_dtype(Text t, Type *out) {
    static const char *const prefixes[] = {"tl.", "triton.language."};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        size_t n = strlen(prefixes[i]);
        if (t.n > n && memcmp(t.at, prefixes[i], n) == 0) t = (Text){t.at + n, t.n - n};
    }
    return t.n && *t.at != '*' && parse_type(t.at, t.n, out);
}

/* A constexpr's value as -D and signatures give it. */
static Obj parse_value(Lower *l, Text t) {
    t = trim(t);
    const char *s = arena_strndup(&l->s->arena, t.at, t.n);
    Type type;
    char *end;
    if (t.n >= 2 && (*s == '\'' || *s == '"') && s[t.n - 1] == *s)
        return obj_string(l, arena_strndup(&l->s->arena, s + 1, t.n - 2));
    if (text_is(t, "True")) return obj_bool(true);
    if (text_is(t, "False")) return obj_bool(false);
    if (text_is(t, "None")) return obj_none();
    if (parse_dtype(t, &type)) return obj_dtype(l, type);
    errno = 0;
    long long i = strtoll(s, &end, strncmp(s + (*s == '-'), "0x", 2) == 0 ? 16 : 10);
    if (t.n && !*end && !errno) return obj_int(i);
    double d = strtod(s, &end);
    if (t.n && !*end) return obj_float(d);
    return obj_string(l, s);
}

/* ---- the signature ---- */

typedef struct Entry {
    Text name, text; /* name.n is 0: positional */
} Entry;
typedef VEC(Entry) Entries;

static Entries split_signature(Lower *l) {
    Entries out = {0};
    const char *s = l->options->signature;
    if (!s || !*s) return out;
    for (;;) {
        Text part = {s, strcspn(s, ",")};
        const char *equals = memchr(part.at, '=', part.n);
        Entry e = {.text = part};
        if (equals) {
            e.name = trim((Text){s, (size_t)(equals - s)});
            e.text = (Text){equals + 1, part.n - e.name.n};
            e.text.n = (size_t)(part.at + part.n - e.text.at);
        }
        e.text = trim(e.text);
        vec_push(&l->s->arena, &out, e);
        if (!s[part.n]) return out;
        s += part.n + 1;
    }
}

/* The signature's entry for each parameter of f; false after an error. */
static bool match_signature(Lower *l, const AstFunc *f, Entry **out) {
    Entries entries = split_signature(l);
    *out = arena_array(&l->s->arena, (size_t)f->nparams + 1, sizeof **out);
    int runtime = 0, positional = 0;
    for (int i = 0; i < f->nparams; i++) runtime += !annotated_constexpr(&f->param[i]);
    for (int i = 0; i < entries.n; i++) positional += !entries.at[i].name.n;
    if (positional && positional != entries.n) {
        fail(l, f->span, "the signature must name all parameters or none");
        return false;
    }
    if (positional && positional != f->nparams && positional != runtime) {
        fail(l, f->span,
             "the signature has %d entries; '%s' has %d parameters, %d of them no constexpr",
             positional, f->name, f->nparams, runtime);
        return false;
    }
    int next = 0;
    for (int i = 0; i < f->nparams && positional; i++)
        if (positional == f->nparams || !annotated_constexpr(&f->param[i]))
            (*out)[i] = entries.at[next++];
    for (int i = 0; i < f->nparams && !positional; i++)
        for (int k = 0; k < entries.n; k++)
            if (text_is(entries.at[k].name, f->param[i].name)) (*out)[i] = entries.at[k];
    return true;
}

/* ---- -D ---- */

static bool find_define(Lower *l, const char *name, Text *value) {
    bool found = false;
    for (int i = 0; i < l->options->ndefines; i++) {
        const char *d = l->options->define[i], *equals = strchr(d, '=');
        if (!equals || !text_is(trim((Text){d, (size_t)(equals - d)}), name)) continue;
        *value = (Text){equals + 1, strlen(equals + 1)};
        found = true; /* the last one counts */
    }
    return found;
}

/* ---- autotune ---- */

const Expr *find_decorator(const AstFunc *f, const char *name) {
    for (int i = 0; i < f->ndecorators; i++) {
        const Expr *d = f->decorator[i];
        const Expr *fn = d->kind == EXPR_CALL ? d->left : d;
        if ((fn->kind == EXPR_NAME || fn->kind == EXPR_ATTRIBUTE) && strcmp(fn->name, name) == 0)
            return d;
    }
    return NULL;
}

/* The configs of @triton.autotune, or none when they are not known while compiling. */
static Obj read_configs(Lower *l, const AstFunc *f) {
    const Expr *d = find_decorator(f, "autotune"), *list = NULL;
    if (!d || d->kind != EXPR_CALL) return obj_none();
    if (d->nitems) list = d->item[0];
    for (int i = 0; i < d->nkeywords; i++)
        if (d->keyword[i].name && strcmp(d->keyword[i].name, "configs") == 0)
            list = d->keyword[i].value;
    if (!list) return obj_none();
    Frame top = {.caller = l->frame};
    Func *func = l->b.f;
    bool muted = l->s->diags.muted;
    l->frame = &top;
    l->b.f = NULL;
    l->s->diags.muted = l->any_global = true;
    Obj o = lower_expr(l, list);
    l->s->diags.muted = muted;
    l->any_global = false;
    l->b.f = func;
    l->frame = top.caller;
    for (int i = 0; o.kind == OBJ_TUPLE && i < o.seq.n; i++)
        if (o.seq.at[i].kind != OBJ_CONFIG) o = poison();
    return o.kind == OBJ_TUPLE ? o : poison();
}

static Obj choose_config(Lower *l, const AstFunc *f) {
    Obj configs = read_configs(l, f);
    int want = l->options->config;
    if (configs.kind == OBJ_TUPLE && want >= 0 && want < configs.seq.n) return configs.seq.at[want];
    if (configs.kind == OBJ_TUPLE)
        return fail(l, f->span, "there is no config %d: '%s' has %d", want, f->name, configs.seq.n);
    if (want > 0)
        return fail(l, f->span,
                    configs.kind == OBJ_NONE ? "'%s' has no autotune configs"
                                             : "the autotune configs of '%s' are not known "
                                               "while compiling",
                    f->name);
    return configs;
}

static bool config_value(Obj config, const char *name, Obj *out) {
    if (config.kind != OBJ_CONFIG) return false;
    Obj dict = config.seq.at[0];
    for (int i = 0; i + 1 < dict.seq.n; i += 2)
        if (dict.seq.at[i].kind == OBJ_STRING && strcmp(dict.seq.at[i].text.at, name) == 0)
            return *out = dict.seq.at[i + 1], true;
    return false;
}

static void launch_options(Lower *l, const AstFunc *f, Obj config, Func *out) {
    int64_t warps = out->num_warps, stages = out->num_stages;
    if (config.kind == OBJ_CONFIG) {
        warps = config.seq.at[1].i;
        stages = config.seq.at[2].i;
    }
    if (l->options->num_warps) warps = l->options->num_warps;
    if (l->options->num_stages) stages = l->options->num_stages;
    if (warps < 1 || warps > 32 || (warps & (warps - 1)))
        fail(l, f->span, "num_warps is %lld and must be 1, 2, 4, 8, 16 or 32", (long long)warps);
    else
        out->num_warps = (int)warps;
    if (stages < 1 || stages > STAGES_LIMIT)
        fail(l, f->span, "num_stages is %lld and must be between 1 and %d", (long long)stages,
             STAGES_LIMIT);
    else
        out->num_stages = (int)stages;
}

/* ---- parameters ---- */

static Obj constexpr_param(Lower *l, const AstFunc *f, const AstParam *p, Entry entry, Obj config) {
    Text text;
    Obj o;
    if (find_define(l, p->name, &text)) return parse_value(l, text);
    if (entry.text.n) return parse_value(l, entry.text);
    if (config_value(config, p->name, &o)) return o;
    if (p->default_) return default_value(l, p);
    fail(l, p->span, "constexpr '%s' has no value", p->name);
    note(l, (Span){0}, "give it one with -D %s=VALUE", p->name);
    if (config.kind == OBJ_POISON)
        note(l, f->span, "the list of autotune configs is not known while compiling");
    if (find_decorator(f, "heuristics"))
        note(l, f->span, "values of @triton.heuristics are not computed here");
    return poison();
}

static void add_constexpr(Lower *l, Func *out, const char *name, Obj o) {
    Buf json = buf_new(&l->s->arena);
    if (!obj_json(o, &json)) return;
    ConstexprInfo *all = arena_array(&l->s->arena, (size_t)out->nconstexprs + 1, sizeof *all);
    if (out->nconstexprs) memcpy(all, out->constexpr_, (size_t)out->nconstexprs * sizeof *all);
    all[out->nconstexprs++] = (ConstexprInfo){.name = name, .json = json.data};
    out->constexpr_ = all;
}

/* "*fp16:16" -> type and promise. */
static bool parse_param(Text t, Param *out) {
    const char *colon = memchr(t.at, ':', t.n);
    Text type = {t.at, colon ? (size_t)(colon - t.at) : t.n};
    out->divisible = 1;
    if (!parse_type(type.at, type.n, &out->type)) return false;
    if (!colon) return true;
    Text promise = trim((Text){colon + 1, (size_t)(t.at + t.n - colon - 1)});
    if (type_is_float(out->type)) return false;
    out->is_one = text_is(promise, "1") && !out->type.depth;
    if (text_is(promise, "16")) out->divisible = 16;
    return out->is_one || out->divisible == 16;
}

static Obj runtime_param(Lower *l, const AstParam *p, Entry entry, Func *out) {
    Param param = {.name = p->name, .span = p->span, .divisible = 1};
    Text text = entry.text;
    bool annotated = p->annotation && p->annotation->kind == EXPR_STRING;
    if (!text.n && annotated && !l->options->ignore_annotations)
        text = trim((Text){p->annotation->string, p->annotation->string_len});
    bool none_default = p->default_ && p->default_->kind == EXPR_NONE;
    if (text_is(text, "None") || (!text.n && none_default)) {
        param.is_none = true;
        param.type = type_pointer_to(type_scalar(EL_I8));
        ir_param(l->s, out, &param);
        return obj_none();
    }
    if (!text.n) {
        fail(l, p->span, "parameter '%s' has no type", p->name);
        note(l, (Span){0}, "annotate it (%s: \"*fp32:16\" or \"i32\") or give a --signature",
             p->name);
        return poison();
    }
    if (!parse_param(text, &param)) {
        fail(l, p->span, "'%.*s' is no type for parameter '%s'", (int)text.n, text.at, p->name);
        note(l, (Span){0},
             "types are i1 i8 i16 i32 i64 u8 u16 u32 u64 fp16 bf16 fp32 fp64 fp8e4nv "
             "fp8e5, pointers *T, with :16 (divisible by 16) or :1 (equal to 1)");
        return poison();
    }
    Value *v = ir_param(l->s, out, &param);
    return v ? obj_value(v) : obj_int(1);
}

bool lower_params(Lower *l, const AstFunc *f, Func *out) {
    Entry *entry;
    Obj config = choose_config(l, f);
    launch_options(l, f, config, out);
    if (!match_signature(l, f, &entry)) return false;
    for (int i = 0; i < f->nparams; i++) {
        const AstParam *p = &f->param[i];
        Obj o;
        Text ignored;
        if (p->is_star || p->is_star_star) {
            o = fail(l, p->span, "a kernel takes no '*%s'", p->name);
        } else if (annotated_constexpr(p)) {
            o = constexpr_param(l, f, p, entry[i], config);
            if (!obj_is_poison(o)) add_constexpr(l, out, p->name, o);
        } else {
            o = runtime_param(l, p, entry[i], out);
            if (find_define(l, p->name, &ignored)) {
                fail(l, p->span, "-D %s: the parameter is not a constexpr", p->name);
                note(l, (Span){0}, "annotate it with tl.constexpr, or pass its value at launch");
            }
        }
        bind(l, p->name, o, p->span);
        find_binding(&l->frame->scope, p->name)->fixed = annotated_constexpr(p);
    }
    return true;
}

/* ---- names that no kernel has ---- */

static void check_name(Lower *l, AstFunc *const *kernels, int n, Text name, const char *what) {
    Names names = {0};
    for (int k = 0; k < n; k++)
        for (int i = 0; i < kernels[k]->nparams; i++) {
            if (text_is(name, kernels[k]->param[i].name)) return;
            vec_push(&l->s->arena, &names, kernels[k]->param[i].name);
        }
    const char *word = arena_strndup(&l->s->arena, name.at, name.n);
    fail(l, (Span){0}, "%s: no kernel has a parameter '%s'", what, word);
    suggest(l, word, names.at, names.n);
}

void check_unknown_names(Lower *l, AstFunc *const *kernels, int n) {
    for (int i = 0; i < l->options->ndefines; i++) {
        const char *d = l->options->define[i], *equals = strchr(d, '=');
        if (!equals)
            fail(l, (Span){0}, "-D %s: write -D NAME=VALUE", d);
        else
            check_name(l, kernels, n, trim((Text){d, (size_t)(equals - d)}), "-D");
    }
    Entries entries = split_signature(l);
    for (int i = 0; i < entries.n; i++)
        if (entries.at[i].name.n) check_name(l, kernels, n, entries.at[i].name, "signature");
}
