/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* config.c: the decorators that choose values, @triton.autotune and @triton.heuristics, and
 * the options of the kernel that come of them.
 *
 * They are Python outside the kernel (host.c). What they need and only a launch could tell is
 * no error until a value is missing: a list of configs that is not known leaves the constexprs to
 * -D, and so does a heuristic whose name -D gives. */
#include "frontend/lower/internal.h"

#include "ir/func_attrs.h"

#include <string.h>

static bool is_decorator(const Expr *d, const char *name) {
    const Expr *fn = d->kind == EXPR_CALL ? d->left : d;
    return (fn->kind == EXPR_NAME || fn->kind == EXPR_ATTRIBUTE) && strcmp(fn->name, name) == 0;
}

const Expr *find_decorator(const AstFunc *f, const char *name) {
    for (int i = 0; i < f->ndecorators; i++)
        if (is_decorator(f->decorator[i], name)) return f->decorator[i];
    return NULL;
}

/* The decorator's first argument, which may be given by name. */
static const Expr *first_argument(const Expr *d, const char *name) {
    if (d->kind != EXPR_CALL) return NULL;
    for (int i = 0; i < d->nkeywords; i++)
        if (d->keyword[i].name && strcmp(d->keyword[i].name, name) == 0) return d->keyword[i].value;
    return d->nitems ? d->item[0] : NULL;
}

void check_jit(Lower *l, const AstFunc *f) {
    static const char *const known[] = {"version",
                                        "repr",
                                        "launch_metadata",
                                        "do_not_specialize",
                                        "do_not_specialize_on_alignment",
                                        "debug",
                                        "noinline"};
    enum { KNOWN = sizeof known / sizeof *known };
    const Expr *d = find_decorator(f, "jit");
    for (int i = 0; d && d->kind == EXPR_CALL && i < d->nkeywords; i++) {
        const char *name = d->keyword[i].name;
        bool is = !name;
        for (int k = 0; k < KNOWN && !is; k++) is = strcmp(known[k], name) == 0;
        if (is) continue;
        fail(l, E_ARGUMENT_UNKNOWN, d->keyword[i].value->span, "@triton.jit has no parameter '%s'",
             name);
        suggest(l, name, known, KNOWN);
    }
}

/* Is parameter i in the list, by name or by number, that @triton.jit has under `key`? */
bool jit_lists(Lower *l, const AstFunc *f, const char *key, int i) {
    const Expr *d = find_decorator(f, "jit");
    for (int k = 0; d && d->kind == EXPR_CALL && k < d->nkeywords; k++) {
        if (!d->keyword[k].name || strcmp(d->keyword[k].name, key)) continue;
        Obj list = quietly(l, d->keyword[k].value, f->order);
        for (int e = 0; list.kind == OBJ_TUPLE && e < list.seq.n; e++) {
            Obj o = list.seq.at[e];
            if (o.kind == OBJ_INT && o.i == i) return true;
            if (o.kind == OBJ_STRING && strcmp(o.text.at, f->param[i].name) == 0) return true;
        }
    }
    return false;
}

bool jit_debugs(Lower *l, const AstFunc *f) {
    const Expr *d = find_decorator(f, "jit");
    for (int k = 0; d && d->kind == EXPR_CALL && k < d->nkeywords; k++)
        if (d->keyword[k].name && strcmp(d->keyword[k].name, "debug") == 0) {
            Obj o = quietly(l, d->keyword[k].value, f->order);
            return !obj_is_poison(o) && obj_truth(o);
        }
    return false;
}

/* What host code reads of a triton.Config: kwargs, num_warps and the other options. */
bool config_attribute(Obj config, const char *name, Obj *out) {
    if (strcmp(name, "kwargs") == 0) return *out = config.seq.at[CONFIG_DICT], true;
    if (strcmp(name, "num_ctas") == 0) return *out = config.seq.at[CONFIG_CTAS], true;
    KernelOption option = option_find(name, strlen(name));
    if (option == OPTIONS) return false;
    *out = config.seq.at[CONFIG_OPTION + (int)option];
    return true;
}

static bool has_param(const AstFunc *f, const char *name) {
    for (int i = 0; i < f->nparams; i++)
        if (strcmp(f->param[i].name, name) == 0) return true;
    return false;
}

/* ---- autotune ---- */

/* The configs of @triton.autotune, None when there are none, poison when they are not known. */
static Obj read_configs(Lower *l, const AstFunc *f) {
    const Expr *d = find_decorator(f, "autotune"), *list = d ? first_argument(d, "configs") : NULL;
    if (!list) return obj_none();
    l->silenced.text = NULL;
    Obj o = quietly(l, list, f->order);
    for (int i = 0; o.kind == OBJ_TUPLE && i < o.seq.n; i++)
        if (o.seq.at[i].kind != OBJ_CONFIG) o = poison();
    return o.kind == OBJ_TUPLE ? o : poison();
}

static Obj absent(KernelOption which) {
    return option_info[which].absent ? obj_int(option_info[which].absent) : obj_none();
}

/* triton.Config(…): its parameters are options by their names. Where None is given, nothing is. */
Obj bi_config(Lower *l, const Args *a, int64_t data) {
    (void)data;
    Obj part[CONFIG_PARTS];
    int64_t n;
    if (a->at[0].kind != OBJ_DICT) return arg_error(l, a, 0, "a dict");
    part[CONFIG_DICT] = a->at[0];
    for (int i = 0; i < OPTIONS; i++) part[CONFIG_OPTION + i] = obj_none();
    for (int i = 1; i < a->n; i++) {
        const char *name = arg_name(l, a, i);
        KernelOption option = option_find(name, strlen(name));
        bool ctas = strcmp(name, "num_ctas") == 0;
        if (strcmp(name, "ir_override") == 0 && a->at[i].kind != OBJ_NONE) {
            part[CONFIG_DICT] =
                with_item(l, part[CONFIG_DICT], obj_string(l, name), a->at[i], a->span);
            continue;
        }
        if ((option == OPTIONS && !ctas) || (a->at[i].kind == OBJ_NONE && !ctas)) continue;
        if (!arg_int(l, a, i, &n)) return poison();
        part[ctas ? CONFIG_CTAS : CONFIG_OPTION + (int)option] = obj_int(n);
    }
    Obj o = obj_tuple(l, part, CONFIG_PARTS);
    o.kind = OBJ_CONFIG;
    return o;
}

/* "BM=64,num_warps=8" -> the config that Config({"BM": 64}, num_warps=8) would be. */
static Obj config_from_text(Lower *l, const AstFunc *f, const char *text) {
    size_t parts = 1;
    for (const char *s = text; *s; s++) parts += *s == ',';
    Obj *pair = arena_array(&l->s->arena, 2 * parts, sizeof *pair);
    Obj part[CONFIG_PARTS] = {[CONFIG_CTAS] = obj_int(1)};
    for (int i = 0; i < OPTIONS; i++) part[CONFIG_OPTION + i] = absent((KernelOption)i);
    int n = 0;
    while (*text) {
        size_t len = strcspn(text, ",");
        const char *equals = memchr(text, '=', len);
        if (!equals || equals == text)
            return fail(l, E_CONFIG_TEXT, f->span, "'%.*s' in a config is not NAME=VALUE", (int)len,
                        text);
        const char *name = arena_strndup(&l->s->arena, text, (size_t)(equals - text));
        Obj value = parse_value(l, equals + 1, len - (size_t)(equals + 1 - text), f->span);
        KernelOption option = option_find(name, strlen(name));
        KernelOption flag = option_find_opposite(name, strlen(name));
        if (flag < OPTIONS && (value.kind == OBJ_INT || value.kind == OBJ_BOOL)) {
            value = obj_int(!obj_truth(value));
            option = flag;
        }
        if (option < OPTIONS && value.kind != OBJ_INT)
            return fail(l, E_CONFIG_TEXT, f->span, "%s in a config must be an integer", name);
        if (option < OPTIONS) {
            part[CONFIG_OPTION + (int)option] = value;
        } else {
            pair[n++] = obj_string(l, name);
            pair[n++] = value;
        }
        text += len + (text[len] == ',');
    }
    part[CONFIG_DICT] = obj_tuple(l, pair, n);
    part[CONFIG_DICT].kind = OBJ_DICT;
    Obj o = obj_tuple(l, part, CONFIG_PARTS);
    o.kind = OBJ_CONFIG;
    return o;
}

/* The other way; false when a value would not read back. */
static bool config_text(Lower *l, Obj config, Buf *out) {
    Obj dict = config.seq.at[CONFIG_DICT];
    for (int i = 0; i + 1 < dict.seq.n; i += 2) {
        Obj name = dict.seq.at[i], v = dict.seq.at[i + 1];
        const char *text = obj_text(l, v), *quote = v.kind == OBJ_STRING ? "'" : "";
        bool plain = obj_is_number(v) || v.kind == OBJ_STRING || v.kind == OBJ_NONE ||
                     (v.kind == OBJ_DTYPE && !v.type->depth);
        if (name.kind != OBJ_STRING || !plain || strpbrk(text, ",'")) return false;
        buf_printf(out, "%s%s=%s%s%s", out->len ? "," : "", name.text.at, quote, text, quote);
    }
    for (int i = 0; i < OPTIONS; i++) {
        Obj v = config.seq.at[CONFIG_OPTION + i];
        if (v.kind != OBJ_INT) continue;
        buf_printf(out, "%s%s=%lld", out->len ? "," : "", option_info[i].name, (long long)v.i);
    }
    return true;
}

/* What stands in the decorator under this name, or at this place; NULL: nothing. */
static const Expr *autotune_argument(const AstFunc *f, const char *name, int at) {
    const Expr *d = find_decorator(f, "autotune");
    if (!d || d->kind != EXPR_CALL) return NULL;
    for (int i = 0; i < d->nkeywords; i++)
        if (d->keyword[i].name && strcmp(d->keyword[i].name, name) == 0) return d->keyword[i].value;
    return at < d->nitems ? d->item[at] : NULL;
}

/* What names arguments must name arguments: else a misspelt key tunes once and never again. */
void check_autotune(Lower *l, const AstFunc *f) {
    static const struct {
        const char *name;
        int at;
    } lists[] = {{"key", 1}, {"reset_to_zero", 3}, {"restore_value", 4}};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        const Expr *e = autotune_argument(f, lists[i].name, lists[i].at);
        Obj names = e ? quietly(l, e, f->order) : obj_none();
        for (int k = 0; names.kind == OBJ_TUPLE && k < names.seq.n; k++) {
            Obj name = names.seq.at[k];
            if (name.kind != OBJ_STRING || has_param(f, name.text.at)) continue;
            differs(l, CHANGE_AUTOTUNE_NAMES, e->span, "'%s' in %s is no argument of '%s'",
                    name.text.at, lists[i].name, f->name);
            if (!changed(l, CHANGE_AUTOTUNE_NAMES)) continue;
            fail(l, E_UNKNOWN_PARAMETER, e->span, "%s names '%s', which is no argument of '%s'",
                 lists[i].name, name.text.at, f->name);
            suggest_param(l, f, name.text.at);
        }
    }
}

/* The names that the decorator's `key` lists. */
static void put_key(Lower *l, const AstFunc *f, Buf *out) {
    const Expr *e = autotune_argument(f, "key", 1);
    Obj key = e ? quietly(l, e, f->order) : obj_none();
    bool first = true;
    for (int i = 0; key.kind == OBJ_TUPLE && i < key.seq.n; i++) {
        if (key.seq.at[i].kind != OBJ_STRING) continue;
        if (!first) buf_puts(out, ", ");
        obj_json(key.seq.at[i], out);
        first = false;
    }
}

bool list_configs(Lower *l, const AstFunc *f, Buf *out) {
    Obj configs = read_configs(l, f);
    buf_puts(out, "{\"name\": ");
    obj_json(obj_string(l, f->name), out);
    buf_puts(out, ", \"key\": [");
    put_key(l, f, out);
    buf_puts(out, "], \"configs\": [");
    if (configs.kind == OBJ_POISON) {
        fail(l, E_CONFIGS_UNKNOWN, f->span,
             "the autotune configs of '%s' are not known while compiling", f->name);
        return false;
    }
    for (int i = 0; configs.kind == OBJ_TUPLE && i < configs.seq.n; i++) {
        Buf text = buf_new(&l->s->arena);
        if (!config_text(l, configs.seq.at[i], &text)) {
            fail(l, E_CONFIG_TEXT, f->span,
                 "config %d of '%s' has a value that is no number, name or dtype", i, f->name);
            return false;
        }
        buf_puts(out, i ? ",\n   " : "\n   ");
        obj_json(obj_string(l, text.data), out);
    }
    buf_puts(out, "]}");
    return true;
}

Obj choose_config(Lower *l, const AstFunc *f) {
    if (l->options->config_text) return config_from_text(l, f, l->options->config_text);
    Obj configs = read_configs(l, f);
    int want = l->options->config;
    if (configs.kind == OBJ_TUPLE && want >= 0 && want < configs.seq.n) return configs.seq.at[want];
    if (configs.kind == OBJ_TUPLE)
        return fail(l, E_CONFIG_NUMBER, f->span, "there is no config %d: '%s' has %d", want,
                    f->name, configs.seq.n);
    if (want > 0)
        return fail(l, configs.kind == OBJ_NONE ? E_CONFIG_NUMBER : E_CONFIGS_UNKNOWN, f->span,
                    configs.kind == OBJ_NONE ? "'%s' has no autotune configs"
                                             : "the autotune configs of '%s' are not known "
                                               "while compiling",
                    f->name);
    return configs;
}

bool config_value(Obj config, const char *name, Obj *out) {
    if (config.kind != OBJ_CONFIG) return false;
    Obj dict = config.seq.at[CONFIG_DICT];
    for (int i = 0; i + 1 < dict.seq.n; i += 2)
        if (dict.seq.at[i].kind == OBJ_STRING && strcmp(dict.seq.at[i].text.at, name) == 0)
            return *out = dict.seq.at[i + 1], true;
    return false;
}

/* None when the config leaves it open. Its dict may name an option, too, as Triton's may. */
static Obj config_option(Obj config, const AstFunc *f, KernelOption which) {
    const char *name = option_info[which].name;
    const char *opposite = option_opposite[which];
    Obj o = config.kind == OBJ_CONFIG ? config.seq.at[CONFIG_OPTION + (int)which] : obj_none(), no;
    if (!has_param(f, name)) config_value(config, name, &o);
    bool told = opposite && !has_param(f, opposite) && config_value(config, opposite, &no);
    if (told && (no.kind == OBJ_BOOL || no.kind == OBJ_INT)) o = obj_int(!obj_truth(no));
    return o;
}

/* ---- heuristics ---- */

/* What the dict of one @triton.heuristics holds for `name`: a function of the arguments. */
static bool find_heuristic(Lower *l, const AstFunc *f, const Expr *d, const char *name, Obj *out) {
    const Expr *dict = first_argument(d, "values");
    Obj o = dict ? quietly(l, dict, f->order) : obj_none();
    for (int i = 0; o.kind == OBJ_DICT && i + 1 < o.seq.n; i += 2)
        if (o.seq.at[i].kind == OBJ_STRING && strcmp(o.seq.at[i].text.at, name) == 0)
            return *out = o.seq.at[i + 1], true;
    return false;
}

static Obj ask(Lower *l, Obj heuristic, const Expr *d) {
    Obj args = {.kind = OBJ_ARGS};
    Func *f = l->b.f;
    l->b.f = NULL;
    Obj o = call_object(l, heuristic, &args, 1, d->span);
    l->b.f = f;
    return o;
}

bool heuristic_value(Lower *l, const AstFunc *f, const char *name, Obj *out) {
    for (int i = 0; i < f->ndecorators; i++) {
        const Expr *d = f->decorator[i];
        Obj heuristic;
        if (!is_decorator(d, "heuristics") || !find_heuristic(l, f, d, name, &heuristic)) continue;
        bool muted = l->s->diags.muted;
        l->needs = NULL;
        l->s->diags.muted = true;
        *out = ask(l, heuristic, d);
        l->s->diags.muted = muted;
        if (!l->needs && obj_is_const(*out) && out->kind != OBJ_UNKNOWN) return true;
        if (l->options->symbols)
            *out = poison(); /* a launch settles it */
        else if (l->needs)
            *out = fail(l, E_HEURISTIC, d->span,
                        "heuristic '%s' needs the value of '%s', known at launch only", name,
                        l->needs);
        else if (out->kind == OBJ_UNKNOWN ||
                 (!muted && !obj_is_poison(*out = ask(l, heuristic, d))))
            *out =
                fail(l, E_HEURISTIC, d->span, "heuristic '%s' gives %s", name, obj_what(l, *out));
        else
            *out = poison();
        return true;
    }
    return false;
}

/* ---- options ---- */

Obj launch_option(Lower *l, const AstFunc *f, Obj config, KernelOption which) {
    if (l->options->option.at[which]) return obj_int(l->options->option.at[which]);
    Obj o = config_option(config, f, which);
    return o.kind == OBJ_NONE ? absent(which) : o;
}

static void set_option(Lower *l, const AstFunc *f, Obj config, KernelOption which, Func *out) {
    const OptionInfo *info = &option_info[which];
    char why[OPTION_WHY];
    Obj o = config_option(config, f, which), heuristic;
    bool told = heuristic_value(l, f, info->name, &heuristic);
    if (told && heuristic.kind != OBJ_POISON && heuristic.kind != OBJ_NONE) o = heuristic;
    if (l->options->option.at[which]) o = obj_int(l->options->option.at[which]);
    bool off = option_opposite[which] && o.kind == OBJ_INT && !o.i; /* a flag that is not set */
    if (o.kind == OBJ_NONE || off) return;
    if (o.kind != OBJ_INT)
        fail(l, E_OPTION, f->span, "%s must be an integer, not %s", info->name, obj_what(l, o));
    else if (!option_check(which, o.i, why))
        fail(l, E_OPTION, f->span, "%s", why);
    else
        func_set_option(out, which, (int)o.i);
}

/* Is there a row of launch_options.def, which lets this value stand? */
static bool check_launch_option(Lower *l, const AstFunc *f, const char *name, Obj value) {
    static const struct {
        const char *name, *usual, *why; /* usual NULL: any value */
    } rows[] = {
#define LAUNCH_ADVICE(name, why) {name, NULL, why},
#define LAUNCH_REFUSED(name, usual, why) {name, usual, why},
#include "frontend/launch_options.def"
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(rows[i].name, name) != 0) continue;
        const char *text = obj_text(l, value);
        if (!rows[i].usual || value.kind == OBJ_NONE || strcmp(text, rows[i].usual) == 0)
            return true;
        fail(l, E_CONFIG_OPTION, f->span, "a config of '%s' has %s=%s, which is not supported",
             f->name, name, text);
        note(l, (Span){0}, "%s", rows[i].why);
        return true;
    }
    return false;
}

/* What a config's dict holds is an argument, an option, or one of Triton's. */
static void check_config(Lower *l, const AstFunc *f, Obj config) {
    Obj dict = config.kind == OBJ_CONFIG ? config.seq.at[CONFIG_DICT] : obj_none();
    for (int i = 0; dict.kind == OBJ_DICT && i + 1 < dict.seq.n; i += 2) {
        Obj name = dict.seq.at[i];
        if (name.kind != OBJ_STRING || has_param(f, name.text.at)) continue;
        const char *s = name.text.at;
        bool ours =
            option_find(s, strlen(s)) < OPTIONS || option_find_opposite(s, strlen(s)) < OPTIONS;
        if (ours || l->options->config_text || check_launch_option(l, f, s, dict.seq.at[i + 1]))
            continue;
        diag(&l->s->diags, W_CONFIG_LOST, f->span,
             "a config of '%s' has '%s', which is no argument and no option: it is left out",
             f->name, s);
    }
}

void launch_options(Lower *l, const AstFunc *f, Obj config, Func *out) {
    check_config(l, f, config);
    int64_t ctas = config.kind == OBJ_CONFIG ? config.seq.at[CONFIG_CTAS].i : 1;
    if (ctas > 1) {
        diag(&l->s->diags, W_CONFIG_LOST, f->span,
             "the config of '%s' asks for num_ctas=%lld, which is ignored", f->name,
             (long long)ctas);
        diag(&l->s->diags, CODE_NONE, (Span){0},
             "programs run without clusters here; the results are the same");
    }
    for (int i = 0; i < OPTIONS; i++) set_option(l, f, config, (KernelOption)i, out);
}
