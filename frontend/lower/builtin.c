/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* builtin.c: the table of builtins: finding a row, binding a call's arguments to it.
 *
 * A row's parameters are the text Python would write. Handlers see the arguments in that order, all
 * of them filled in, and fetch each in the form they need; what does not fit is reported here, so
 * that every builtin says it the same way. */
#include "frontend/lower/internal.h"

#include <stdlib.h>
#include <string.h>

#define BUILTIN(name_, where_, params_, fn_, data_) {name_, where_, params_, fn_, data_},
#define REFUSED(name_, where_, why_) {name_, where_, why_, NULL, 0},
static const Builtin table[] = {
#include "frontend/builtins.def"
};
#undef BUILTIN
#undef REFUSED
enum { BUILTINS = sizeof table / sizeof *table };

const Builtin *find_builtin(char where, const char *name) {
    for (int i = 0; i < BUILTINS; i++)
        if (strcmp(table[i].name, name) == 0 && strchr(table[i].where, where)) return &table[i];
    return NULL;
}

int builtin_names(Lower *l, char where, const char ***out) {
    Names names = {0};
    for (int i = 0; i < BUILTINS; i++)
        if (where && strchr(table[i].where, where)) vec_push(&l->s->arena, &names, table[i].name);
    *out = names.at;
    return names.n;
}

const char *builtin_text(Lower *l, const Builtin *row) {
    static const struct {
        char letter;
        const char *prefix;
    } prefixes[] = {{'L', "tl."},
                    {'T', "triton."},
                    {'D', "libdevice."},
                    {'X', "tl.math."},
                    {'E', "tl.extra.cuda."},
                    {'G', "tl.target_info."},
                    {'A', "tl.extra."},
                    {'M', "."},
                    {'W', "."},
                    {'B', "."}};
    if (l->library_row) row = l->library_row;
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (strchr(row->where, prefixes[i].letter))
            return arena_printf(&l->s->arena, "%s%s", prefixes[i].prefix, row->name);
    return row->name;
}

/* ---- parameters ---- */

enum { PARAMS_MAX = 16 };
typedef struct ParamText {
    const char *name, *default_; /* default_: NULL when there is none */
    bool star, star_star;
} ParamText;

static int split_params(Lower *l, const char *text, ParamText *out) {
    int n = 0;
    while (*text && n < PARAMS_MAX) {
        text += strspn(text, " ,");
        out[n] = (ParamText){.star_star = strncmp(text, "**", 2) == 0};
        out[n].star = *text == '*' && !out[n].star_star;
        text += strspn(text, "*");
        size_t len = strcspn(text, "=,");
        out[n].name = arena_strndup(&l->s->arena, text, len);
        text += len;
        if (*text == '=') {
            text++;
            len = *text == '\'' ? strcspn(text + 1, "'") + 2 : strcspn(text, ",");
            out[n].default_ = arena_strndup(&l->s->arena, text, len);
            text += len;
        }
        n++;
    }
    return n;
}

static Obj default_object(Lower *l, const char *text) {
    if (strcmp(text, "None") == 0) return obj_none();
    if (strcmp(text, "True") == 0) return obj_bool(true);
    if (strcmp(text, "False") == 0) return obj_bool(false);
    if (strcmp(text, "()") == 0) return obj_tuple(l, NULL, 0);
    if (*text == '\'')
        return obj_string(l, arena_strndup(&l->s->arena, text + 1, strlen(text) - 2));
    return obj_int(strtoll(text, NULL, 10));
}

/* What a plain function of a class hands on, as Triton's own functions do. */
static bool is_of_compiler(const char *keyword) {
    return strcmp(keyword, "_semantic") == 0 || strcmp(keyword, "_generator") == 0 ||
           strcmp(keyword, "_builder") == 0;
}

static bool has_keyword(Lower *l, const Builtin *row, const ParamText *p, int n,
                        const Keyword *key) {
    Names names = {0};
    if (is_of_compiler(key->name)) return true;
    for (int i = 0; i < n; i++) {
        if (p[i].star_star || strcmp(p[i].name, key->name) == 0) return true;
        vec_push(&l->s->arena, &names, p[i].name);
    }
    fail(l, E_ARGUMENT_UNKNOWN, key->span, "%s has no parameter '%s'", builtin_text(l, row),
         key->name);
    suggest(l, key->name, names.at, names.n);
    return false;
}

void check_keywords(Lower *l, const Builtin *row, const Call *c) {
    ParamText params[PARAMS_MAX];
    int n = row->fn ? split_params(l, row->params, params) : 0;
    for (int k = 0; n && k < c->nkeywords; k++) has_keyword(l, row, params, n, &c->keyword[k]);
}

static bool take_keyword(Lower *l, Args *a, const ParamText *p, const Call *c, int k) {
    const Keyword *key = &c->keyword[k];
    if (!has_keyword(l, a->row, p, a->n, key)) return false;
    for (int i = 0; i < a->n; i++) {
        if (p[i].star_star) {
            Obj pair[2] = {obj_string(l, key->name), c->keyword_value[k]};
            a->at[i] = concat(l, a->at[i], obj_tuple(l, pair, 2), key->span);
            return !obj_is_poison(a->at[i]);
        }
        if (strcmp(p[i].name, key->name) != 0) continue;
        if (a->given[i]) {
            fail(l, E_ARGUMENT_TWICE, key->span, "%s: '%s' is given twice", builtin_text(l, a->row),
                 key->name);
            return false;
        }
        a->at[i] = c->keyword_value[k];
        a->where[i] = key->value->span;
        return a->given[i] = true;
    }
    return true; /* it is of the compiler */
}

static bool bind_row(Lower *l, Args *a, const ParamText *p, const Obj *self, const Call *c) {
    int next = 0;
    for (int i = 0; i < a->n; i++)
        if (p[i].star_star) {
            a->at[i] = obj_tuple(l, NULL, 0);
            a->at[i].kind = OBJ_DICT;
            a->given[i] = true;
        }
    if (self) {
        a->at[0] = *self;
        a->given[0] = true;
        next = 1;
    }
    for (int i = 0; i < c->nargs; i++) {
        if (next == a->n || p[next].star || p[next].star_star) break;
        a->at[next] = c->arg[i];
        a->where[next] = c->where[i];
        a->given[next++] = true;
    }
    a->npositional = next;
    int rest = c->nargs - (next - (self != NULL));
    if (next < a->n && p[next].star && rest > 0) {
        a->at[next] = obj_tuple(l, c->arg + c->nargs - rest, rest);
        a->where[next] = c->where[c->nargs - rest];
        a->given[next] = true;
    } else if (rest > 0) {
        fail(l, E_ARGUMENT_COUNT, c->where[c->nargs - rest],
             "%s takes at most %d arguments, not %d", builtin_text(l, a->row),
             a->n - (self != NULL), c->nargs);
        return false;
    }
    for (int k = 0; k < c->nkeywords; k++)
        if (!take_keyword(l, a, p, c, k)) return false;
    for (int i = 0; i < a->n; i++) {
        if (a->given[i]) continue;
        if (!p[i].default_ && !p[i].star) {
            fail(l, E_ARGUMENT_MISSING, c->span, "%s needs an argument for '%s'",
                 builtin_text(l, a->row), p[i].name);
            return false;
        }
        a->at[i] = p[i].star ? obj_tuple(l, NULL, 0) : default_object(l, p[i].default_);
    }
    return true;
}

Obj call_builtin(Lower *l, const Builtin *row, const Obj *self, const Call *c) {
    if (is_refused(l, (Obj){.kind = OBJ_BUILTIN, .builtin = {row, NULL}}, c->name_span))
        return poison();
    if (!l->b.f && !strchr(row->where, 'C'))
        return fail(l, E_KERNEL_ONLY, c->name_span, "%s can only be called in a kernel",
                    builtin_text(l, row));
    ParamText params[PARAMS_MAX];
    Args a = {.row = row, .span = c->span, .name_span = c->name_span};
    a.n = split_params(l, row->params, params);
    a.at = arena_array(&l->s->arena, PARAMS_MAX, sizeof(Obj));
    a.where = arena_array(&l->s->arena, PARAMS_MAX, sizeof(Span));
    a.given = arena_array(&l->s->arena, PARAMS_MAX, sizeof(bool));
    for (int i = 0; i < a.n; i++) a.where[i] = c->span;
    if (!bind_row(l, &a, params, self, c)) return poison();
    for (int i = 0; i < a.n; i++)
        if (is_foreign(l, a.at[i], a.where[i])) return poison();
    newer_words(l, &a);
    return row->fn(l, &a, row->data);
}

/* ---- arguments in the form a handler needs ---- */

const char *arg_name(Lower *l, const Args *a, int i) {
    ParamText params[PARAMS_MAX];
    split_params(l, a->row->params, params);
    return params[i].name;
}

bool is_refused(Lower *l, Obj o, Span span) {
    if (o.kind != OBJ_BUILTIN || o.builtin.row->fn) return false;
    fail(l, E_UNSUPPORTED_BUILTIN, span, "%s is not supported: %s", builtin_text(l, o.builtin.row),
         o.builtin.row->params);
    return true;
}

Obj arg_error(Lower *l, const Args *a, int i, const char *expected) {
    if (is_refused(l, a->at[i], a->where[i])) return poison();
    fail(l, E_ARGUMENT_KIND, a->where[i], "%s: '%s' must be %s, not %s", builtin_text(l, a->row),
         arg_name(l, a, i), expected, obj_what(l, a->at[i]));
    if (a->at[i].kind == OBJ_VALUE && !a->at[i].value->type.rank &&
        strstr(expected, "compile-time"))
        note(l, (Span){0},
             "a number that is assigned to a variable becomes a tensor; declare it "
             "with 'name: tl.constexpr = …' to keep it a constant");
    return poison();
}

bool arg_int(Lower *l, const Args *a, int i, int64_t *out) {
    Obj o = a->at[i];
    *out = o.i;
    if ((o.kind == OBJ_INT && !o.big) || o.kind == OBJ_BOOL) return true;
    arg_error(l, a, i, "a compile-time integer");
    return false;
}

bool arg_bool(Lower *l, const Args *a, int i, bool *out) {
    Obj o = a->at[i];
    if (!obj_is_const(o)) {
        arg_error(l, a, i, "a compile-time True or False");
        return false;
    }
    *out = obj_truth(o);
    return true;
}

bool arg_text(Lower *l, const Args *a, int i, const char **out) {
    Obj o = a->at[i];
    *out = "";
    if (o.kind == OBJ_NONE) return true;
    if (o.kind == OBJ_STRING) return *out = o.text.at, true;
    arg_error(l, a, i, "a string");
    return false;
}

bool arg_type(Lower *l, const Args *a, int i, Type *out) {
    Obj o = a->at[i];
    if (o.kind == OBJ_DTYPE)
        return *out = type_element(*o.type), type_is_known(l, *out, a->where[i]);
    if (o.kind == OBJ_STRING && parse_type(o.text.at, o.text.n, out)) return true;
    arg_error(l, a, i, "a dtype");
    return false;
}

bool arg_dims(Lower *l, const Args *a, int i, Dims *out) {
    Obj o = a->at[i];
    *out = (Dims){0};
    if (o.kind == OBJ_TUPLE && o.seq.n == 1 && o.seq.at[0].kind == OBJ_TUPLE) o = o.seq.at[0];
    int n = o.kind == OBJ_TUPLE ? o.seq.n : 1;
    for (int k = 0; k < n; k++) {
        Obj d = o.kind == OBJ_TUPLE ? o.seq.at[k] : o;
        if (d.kind != OBJ_INT || d.big) {
            Args one = *a; /* the error is about this one element */
            Obj at[PARAMS_MAX];
            memcpy(at, a->at, sizeof(Obj) * (size_t)a->n);
            at[i] = d;
            one.at = at;
            arg_error(l, &one, i, "made of compile-time integers");
            return false;
        }
        vec_push(&l->s->arena, out, d.i);
    }
    return true;
}

Value *arg_value(Lower *l, const Args *a, int i) {
    Obj o = a->at[i];
    if (o.kind == OBJ_VALUE) return o.value;
    if (obj_is_number(o)) return to_value(l, o, a->where[i]);
    arg_error(l, a, i, "a tensor");
    return NULL;
}

bool check_dims(Lower *l, const Args *a, int i, const Dims *dims) {
    int log2 = 0;
    const char *fn = builtin_text(l, a->row);
    if (dims->n > TILE_MAX_RANK) {
        fail(l, E_RANK_LIMIT, a->where[i], "%s: a tile has at most %d dimensions", fn,
             TILE_MAX_RANK);
        return false;
    }
    for (int k = 0; k < dims->n; k++) {
        int64_t d = dims->at[k];
        if (!type_fits_dim(d)) {
            fail(l, E_POWER_OF_TWO, a->where[i], "Shape element %d must be a power of 2", k);
            note(l, (Span){0}, "it is %lld, in a call of %s", (long long)d, fn);
            return false;
        }
        while (d > 1 && log2 <= TILE_MAX_LOG2) d = (d + 1) / 2, log2++;
    }
    if (log2 > TILE_MAX_LOG2) {
        fail(l, E_TILE_LIMIT, a->where[i], "%s: a tile has at most %d elements", fn,
             1 << TILE_MAX_LOG2);
        return false;
    }
    return true;
}

bool arg_shape(Lower *l, const Args *a, int i, Type elem, Type *out) {
    Dims dims;
    if (!arg_dims(l, a, i, &dims) || !check_dims(l, a, i, &dims)) return false;
    *out = type_with_shape(elem, type_tile(EL_I1, dims.n, dims.at));
    return true;
}
