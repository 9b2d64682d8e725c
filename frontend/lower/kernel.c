/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kernel.c: a kernel's parameters: types from the signature or annotations, constexpr values
 * from -D, the signature, an autotune config, a heuristic or a default, in that order.
 *
 * Every parameter that is not a constexpr stays in the list, also one that is specialised away
 * (`:1`, None): a caller's arguments do not depend on what was compiled in. */
#include "frontend/lower/internal.h"

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
    bool constant = depth && t.n && *t.at == 'k'; /* *k…: a pointer to constant data */
    if (constant) t.at++, t.n--;
    Elem e;
    if (depth > POINTER_MAX_DEPTH || !t.n) return false;
    if (!elem_from_name(t.at, t.n, &e) && !elem_from_foreign_name(t.at, t.n, &e)) return false;
    *out = type_scalar(e);
    while (depth--) *out = type_pointer_to(*out);
    out->constant = constant;
    return true;
}

/* p: tl.const */
static bool annotated_const(const AstParam *p) {
    const Expr *e = p->annotation;
    return e && (e->kind == EXPR_NAME || e->kind == EXPR_ATTRIBUTE) &&
           strcmp(e->name, "const") == 0;
}

static bool parse_dtype(Text t, Type *out) {
    static const char *const prefixes[] = {"tl.", "triton.language."};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        size_t n = strlen(prefixes[i]);
        if (t.n > n && memcmp(t.at, prefixes[i], n) == 0) t = (Text){t.at + n, t.n - n};
    }
    return t.n && *t.at != '*' && parse_type(t.at, t.n, out);
}

Obj parse_value(Lower *l, const char *text, size_t n) {
    Text t = trim((Text){text, n});
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

/* Where the promise of a type begins, or NULL. */
static const char *colon_of(Text type) {
    return type.n ? memchr(type.at, ':', type.n) : NULL;
}

/* A type, less what it promises already, and the promise in `promise`, ":16". */
static Text with_promise(Lower *l, Text type, Text promise) {
    const char *colon = colon_of(type);
    if (colon) type.n = (size_t)(colon - type.at);
    const char *text =
        arena_printf(&l->s->arena, "%.*s%.*s", (int)type.n, type.at, (int)promise.n, promise.at);
    return (Text){text, strlen(text)};
}

/* The last entry of a name counts; one that begins with a colon is about the promise alone. */
static void take_entry(Lower *l, Entry entry, Entry *out) {
    bool promise = entry.text.n && *entry.text.at == ':';
    if (promise && out->text.n && *out->text.at != ':')
        out->text = with_promise(l, out->text, entry.text);
    else
        *out = entry;
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
            if (text_is(entries.at[k].name, f->param[i].name))
                take_entry(l, entries.at[k], &(*out)[i]);
    return true;
}

/* ---- -D ---- */

const char *find_define(Lower *l, const char *name) {
    const char *value = NULL;
    for (int i = 0; i < l->options->ndefines; i++) { /* the last one counts */
        const char *d = l->options->define[i], *equals = strchr(d, '=');
        if (equals && text_is(trim((Text){d, (size_t)(equals - d)}), name)) value = equals + 1;
    }
    return value;
}

/* ---- what heuristics see of the arguments ---- */

typedef struct KernelParams {
    const AstFunc *f;
    Entry *entry;
    Obj config;
    Obj *value;  /* of the constexprs found so far */
    char *state; /* of each: 0 not looked at, 1 being computed, 2 known */
} KernelParams;

static Obj constexpr_param(Lower *l, int i);

/* `name` among the values that a launch is known to pass; notes what is asked of it. */
static bool find_fact(Lower *l, const char *name, uint8_t asked, Text *value) {
    for (int i = 0; i < l->options->nvalues; i++) {
        const char *v = l->options->value[i], *equals = strchr(v, '=');
        if (!equals || !text_is(trim((Text){v, (size_t)(equals - v)}), name)) continue;
        *value = (Text){equals + 1, strlen(equals + 1)};
        if (l->options->value_asked) l->options->value_asked[i] |= asked;
        return true;
    }
    return false;
}

/* "*fp16:16"; empty when there is no annotation that is a text. */
static Text annotation_of(const AstParam *p) {
    if (!p->annotation || p->annotation->kind != EXPR_STRING) return (Text){"", 0};
    return trim((Text){p->annotation->string, p->annotation->string_len});
}

/* ":16"; empty when there is none. */
static Text promise_of(Text type) {
    const char *colon = colon_of(type);
    return colon ? (Text){colon, (size_t)(type.at + type.n - colon)} : (Text){"", 0};
}

/* Of what promise_of gave; PROMISES: there is no such promise. */
static Promise read_promise(Lower *l, Text text) {
    if (text.n < 2) return PROMISE_NONE; /* "i32:" takes a promise back */
    Text word = trim((Text){text.at + 1, text.n - 1});
    const char *bare = arena_printf(&l->s->arena, ":%.*s", (int)word.n, word.at);
    return promise_find(bare, word.n + 1);
}

Promise annotated_promise(Lower *l, const AstParam *p) {
    return read_promise(l, promise_of(annotation_of(p)));
}

static bool no_type(Lower *l, const AstParam *p, Text text) {
    fail(l, p->span, "'%.*s' is no type for parameter '%s'", (int)text.n, text.at, p->name);
    note(l, (Span){0},
         "types are i1 i8 i16 i32 i64 u8 u16 u32 u64 fp16 bf16 fp32 fp64 fp8e4nv fp8e5 fp8e4b15, "
         "pointers *T, with :16 or :8 (divisible by that) or :1 (equal to 1)");
    return false;
}

static Text param_text(Lower *l, const AstParam *p, Entry entry) {
    Text text = annotation_of(p);
    bool promise = entry.text.n && *entry.text.at == ':';
    bool hold = l->options->annotations_hold && entry.text.n && !text_is(entry.text, "None");
    if (!text.n || (!promise && !hold && (entry.text.n || l->options->ignore_annotations)))
        return entry.text;
    if (hold) entry.text = promise_of(entry.text);
    Type t;
    if (hold && parse_type(text.at, text.n, &t) && type_is_float(t)) return text;
    return promise || entry.text.n ? with_promise(l, text, entry.text) : text;
}

/* What the annotation promises holds of what a launch passes; false after an error. */
static bool check_promise(Lower *l, const AstParam *p, Entry entry) {
    Text said = promise_of(annotation_of(p));
    if (!l->options->annotations_hold || !said.n || !entry.text.n || text_is(entry.text, "None"))
        return true;
    Promise wanted = annotated_promise(l, p), kept = read_promise(l, promise_of(entry.text));
    if (wanted == PROMISES) return no_type(l, p, annotation_of(p));
    if (wanted == PROMISE_NONE || kept == PROMISES || promise_covers(kept, wanted)) return true;
    Text fact;
    bool known = find_fact(l, p->name, VALUE_ASKED, &fact);
    fail(l, p->span, "the annotation of '%s' promises %s, and the argument%s%.*s is not", p->name,
         promise_info[wanted].doc, known ? " " : "", known ? (int)fact.n : 0, known ? fact.at : "");
    note(l, (Span){0}, "leave out '%.*s' in '%.*s', or pass another value", (int)said.n, said.at,
         (int)annotation_of(p).n, annotation_of(p).at);
    return false;
}

static bool is_none_param(const AstParam *p, Text type) {
    return text_is(type, "None") || (!type.n && p->default_ && p->default_->kind == EXPR_NONE);
}

Obj kernel_argument(Lower *l, const char *name, Span span) {
    KernelParams *k = l->params;
    Obj o = {.kind = OBJ_UNKNOWN};
    for (int i = 0; k && i < k->f->nparams; i++) {
        const AstParam *p = &k->f->param[i];
        Text text;
        if (strcmp(p->name, name) != 0) continue;
        if (annotated_constexpr(p)) return constexpr_param(l, i);
        if (find_fact(l, name, VALUE_ASKED, &text)) return parse_value(l, text.at, text.n);
        text = param_text(l, p, k->entry[i]);
        if (is_none_param(p, text)) return obj_none();
        if (!l->options->no_promises && text.n > 2 && memcmp(text.at + text.n - 2, ":1", 2) == 0)
            return obj_int(1);
        bool pointer = text.n && *text.at == '*';
        if (!pointer) l->needs = p->name;
        o.is_pointer = pointer;
        o.path = p->name;
        return o;
    }
    Obj value; /* what the config gives beyond the parameters, num_warps and the like */
    if (k && config_value(k->config, name, &value)) return value;
    KernelOption option = option_find(name, strlen(name));
    if (k && option < OPTIONS) return launch_option(l, k->f, k->config, option);
    return fail(l, span, "'%s' has no parameter '%s'", k ? k->f->name : "the kernel", name);
}

/* ---- parameters ---- */

static Obj find_constexpr(Lower *l, const AstFunc *f, const AstParam *p, Entry entry, Obj config) {
    Obj o;
    if (given_value(l, p->name, &o)) return o;
    if (entry.text.n) return parse_value(l, entry.text.at, entry.text.n);
    if (config_value(config, p->name, &o)) return o;
    if (heuristic_value(l, f, p->name, &o)) {
        if (!obj_is_poison(o)) return o;
        note(l, p->span, "the value of this constexpr; -D %s=VALUE gives it one", p->name);
        return o;
    }
    if (p->default_) return default_value(l, f, p);
    fail(l, p->span, "constexpr '%s' has no value", p->name);
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
    if (k->state[i] == 1) return fail(l, p->span, "the value of '%s' depends on itself", p->name);
    if (k->state[i] == 2) return k->value[i];
    k->state[i] = 1;
    k->value[i] = find_constexpr(l, k->f, p, k->entry[i], k->config);
    k->state[i] = 2;
    return k->value[i];
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
static ParamSize size_at_launch(Lower *l, const AstParam *p, Type t) {
    const AstFunc *f = l->params->f;
    Text fact;
    if (!l->options->sizes || l->options->no_promises || !type_is_int(t) || type_is_bool(t) ||
        jit_lists(l, f, "do_not_specialize", (int)(p - f->param)) ||
        !find_fact(l, p->name, 0, &fact))
        return SIZE_UNKNOWN;
    Obj o = parse_value(l, fact.at, fact.n);
    if (o.kind == OBJ_FLOAT) return SIZE_LARGE; /* so is an integer read that no int64 holds */
    return o.kind == OBJ_INT ? param_size(o.i) : SIZE_UNKNOWN;
}

typedef VEC(const AstParam *) Params;

static Obj runtime_param(Lower *l, const AstParam *p, Entry entry, Func *out, Params *untyped) {
    Param param = {.name = p->name, .span = p->span, .divisible = 1};
    Text text = param_text(l, p, entry);
    if (!check_promise(l, p, entry)) return poison();
    if (is_none_param(p, text)) {
        param.is_none = true;
        param.type = type_pointer_to(type_scalar(EL_I8));
        ir_param(l->s, out, &param);
        return obj_none();
    }
    if (!text.n && l->options->ignore_annotations) {
        fail(l, p->span, "the argument for parameter '%s' is missing", p->name);
        note(l, (Span){0}, "give it as %s=VALUE: a number, or a buffer such as zeros:fp32[1024]",
             p->name);
        return poison();
    }
    if (!text.n || *text.at == ':') {
        vec_push(&l->s->arena, untyped, p);
        return poison();
    }
    if (!parse_param(l, text, &param)) {
        no_type(l, p, text);
        return poison();
    }
    if (!type_is_known(l, param.type, p->span)) return poison();
    if (l->options->no_promises) {
        param.divisible = 1;
        param.is_one = false;
    }
    if (param.type.elem == EL_F8E4B15 && !param.type.depth)
        return fail(l, p->span, "an argument cannot be an fp8e4b15: pass a pointer to it");
    if (param.type.depth && annotated_const(p)) param.type.constant = 1;
    if (!param.is_one) param.size = size_at_launch(l, p, param.type);
    Value *v = ir_param(l->s, out, &param);
    return v ? obj_value(v) : obj_int(1);
}

/* A constexpr has one value in each variant: there is nothing that a launch could leave open. */
static void check_specialized(Lower *l, const AstFunc *f, int i) {
    static const char *const keys[] = {"do_not_specialize", "do_not_specialize_on_alignment"};
    for (int k = 0; k < 2; k++) {
        if (!jit_lists(l, f, keys[k], i)) continue;
        fail(l, f->param[i].span, "'%s' is a constexpr and listed in %s", f->param[i].name,
             keys[k]);
        note(l, (Span){0}, "take tl.constexpr away, or the name from the list");
    }
}

bool lower_params(Lower *l, const AstFunc *f, Func *out) {
    KernelParams k = {.f = f, .config = choose_config(l, f)};
    if (l->failed || !match_signature(l, f, &k.entry)) return false;
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
            o = fail(l, p->span, "JIT functions do not support **%s parameters", p->name);
        } else if (p->is_star) {
            o = fail(l, p->span, "a kernel takes no '*%s'", p->name);
        } else if (annotated_constexpr(p)) {
            o = constexpr_param(l, i);
            check_specialized(l, f, i);
            if (!obj_is_poison(o)) add_constexpr(l, out, p->name, o);
        } else {
            o = runtime_param(l, p, k.entry[i], out, &untyped);
            if (find_define(l, p->name)) {
                fail(l, p->span, "-D %s: the parameter is not a constexpr", p->name);
                note(l, (Span){0}, "annotate it with tl.constexpr, or pass its value at launch");
            }
        }
        bind(l, p->name, o, p->span);
        find_binding(&l->frame->scope, p->name)->fixed = annotated_constexpr(p);
    }
    if (untyped.n) report_untyped(l, f, untyped.at, untyped.n);
    l->params = NULL;
    return true;
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
    for (int k = 0; k < n; k++)
        for (int i = 0; i < kernels[k]->nparams; i++) {
            if (text_is(name, kernels[k]->param[i].name)) return;
            vec_push(&l->s->arena, &names, kernels[k]->param[i].name);
        }
    const char *word = arena_strndup(&l->s->arena, name.at, name.n);
    if (strcmp(what, "-D") == 0 && named_in_modules(l, word)) return;
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
    for (const char *s = l->options->config_text; s && *s;) {
        size_t len = strcspn(s, ",");
        const char *equals = memchr(s, '=', len);
        Text name = trim((Text){s, equals ? (size_t)(equals - s) : 0});
        bool option = option_find(name.at, name.n) < OPTIONS ||
                      option_find_opposite(name.at, name.n) < OPTIONS;
        if (name.n && !option) check_name(l, kernels, n, name, "config");
        s += len + (s[len] == ',');
    }
    Entries entries = split_signature(l);
    for (int i = 0; i < l->options->nvalues; i++) {
        const char *v = l->options->value[i], *equals = strchr(v, '=');
        Text name = trim((Text){v, equals ? (size_t)(equals - v) : 0});
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
            fail(l, (Span){0}, "signature: no type follows '%.*s='", (int)e.name.n, e.name.at);
    }
}
