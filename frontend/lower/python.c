/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* python.c: what Python outside kernels calls: its functions, those of `math`, and the methods of
 * strings, lists, dicts, sets and integers.
 *
 * Objects are values: a method that changes a list gives the changed list, and host.c binds the
 * name to it. A set has no order that a program may rely on, so what would show one is an error. */
#include "frontend/lower/internal.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

typedef VEC(Obj) Objs;

/* ---- sets ---- */

Obj unordered_elements(Lower *l, Obj o, Span span) {
    if (o.kind != OBJ_SET) return host_elements(l, o, span);
    o.kind = OBJ_TUPLE;
    return o;
}

Obj host_set(Lower *l, Obj elements) {
    Objs out = {0};
    for (int i = 0; i < elements.seq.n; i++) {
        int k = 0;
        while (k < out.n && !obj_equal(out.at[k], elements.seq.at[i])) k++;
        if (k == out.n) vec_push(&l->s->arena, &out, elements.seq.at[i]);
        if (!count_work(l, 1 + k / 8, (Span){0})) return poison();
    }
    Obj o = obj_tuple(l, out.at, out.n);
    o.kind = OBJ_SET;
    return o;
}

static Obj py_set(Lower *l, const Args *a, int64_t data) {
    (void)data;
    Obj in = unordered_elements(l, a->at[0], a->span);
    return obj_is_poison(in) ? in : host_set(l, in);
}

static bool contains(Obj set, Obj x) {
    for (int i = 0; i < set.seq.n; i++)
        if (obj_equal(set.seq.at[i], x)) return true;
    return false;
}

bool same_set(Obj x, Obj y) {
    bool same = x.seq.n == y.seq.n;
    for (int i = 0; i < x.seq.n && same; i++) same = contains(y, x.seq.at[i]);
    return same;
}

/* x | y, x & y, x - y, x ^ y of sets */
Obj set_binary(Lower *l, Operator op, Obj x, Obj y) {
    Objs out = {0};
    for (int i = 0; i < x.seq.n; i++)
        if (op == OPR_OR || contains(y, x.seq.at[i]) == (op == OPR_AND))
            vec_push(&l->s->arena, &out, x.seq.at[i]);
    for (int i = 0; i < y.seq.n && (op == OPR_OR || op == OPR_XOR); i++)
        if (!contains(x, y.seq.at[i])) vec_push(&l->s->arena, &out, y.seq.at[i]);
    Obj o = obj_tuple(l, out.at, out.n);
    o.kind = OBJ_SET;
    l->steps += (int64_t)x.seq.n * y.seq.n / 64;
    return o;
}

/* ---- sequences ---- */

typedef struct Sorting {
    Lower *l;
    const Obj *key;
    Span span;
    bool reverse, failed;
} Sorting;

static bool goes_before(Sorting *s, int x, int y) {
    Obj less = s->reverse ? const_compare(s->l, OPR_LT, s->key[y], s->key[x], s->span)
                          : const_compare(s->l, OPR_LT, s->key[x], s->key[y], s->span);
    s->failed = s->failed || obj_is_poison(less) || !count_work(s->l, 1, s->span);
    return !s->failed && obj_truth(less);
}

/* Sorts order[0..n) by merging; equal ones keep their places. */
static void merge_sort(Sorting *s, int *order, int *spare, int n) {
    for (int width = 1; width < n && !s->failed; width *= 2) {
        for (int from = 0; from < n; from += 2 * width) {
            int mid = from + width < n ? from + width : n;
            int end = from + 2 * width < n ? from + 2 * width : n;
            int x = from, y = mid;
            for (int k = from; k < end; k++) {
                bool right = x >= mid || (y < end && goes_before(s, order[y], order[x]));
                spare[k] = right ? order[y++] : order[x++];
            }
        }
        memcpy(order, spare, (size_t)n * sizeof *order);
    }
}

static Obj sorted(Lower *l, Obj in, Obj by, bool reverse, Span span) {
    in = unordered_elements(l, in, span);
    if (!obj_is_const(in)) return poison();
    int n = in.seq.n;
    Obj *key = arena_copy(&l->s->arena, in.seq.at, (size_t)n * sizeof *key);
    for (int i = 0; i < n && by.kind != OBJ_NONE; i++) {
        key[i] = call_object(l, by, &in.seq.at[i], 1, span);
        if (!obj_is_const(key[i])) return poison();
    }
    int *order = arena_array(&l->s->arena, (size_t)n + 1, sizeof *order);
    int *spare = arena_array(&l->s->arena, (size_t)n + 1, sizeof *spare);
    for (int i = 0; i < n; i++) order[i] = i;
    Sorting s = {.l = l, .key = key, .span = span, .reverse = reverse};
    merge_sort(&s, order, spare, n);
    if (s.failed) return poison();
    Obj out = obj_tuple(l, in.seq.at, n);
    for (int i = 0; i < n; i++) out.seq.at[i] = in.seq.at[order[i]];
    return out;
}

static Obj py_sorted(Lower *l, const Args *a, int64_t data) {
    (void)data;
    bool reverse;
    if (!arg_bool(l, a, 2, &reverse)) return poison();
    return sorted(l, a->at[0], a->at[1], reverse, a->span);
}

static Obj py_map(Lower *l, const Args *a, int64_t data) {
    (void)data;
    enum { MOST = 8 };
    Obj in[MOST], row[MOST], iterables = a->at[1];
    Objs out = {0};
    int n = iterables.seq.n, shortest = INT32_MAX;
    if (!n || n > MOST)
        return fail(l, E_ARGUMENT_KIND, a->span, "map takes a function and 1 to %d sequences",
                    MOST);
    for (int i = 0; i < n; i++) {
        in[i] = host_elements(l, iterables.seq.at[i], a->span);
        if (obj_is_poison(in[i])) return poison();
        if (in[i].seq.n < shortest) shortest = in[i].seq.n;
    }
    for (int k = 0; k < shortest; k++) {
        for (int i = 0; i < n; i++) row[i] = in[i].seq.at[k];
        Obj o = call_object(l, a->at[0], row, n, a->span);
        if (obj_is_poison(o) || !count_step(l, a->span)) return poison();
        vec_push(&l->s->arena, &out, o);
    }
    return checked(l, obj_tuple(l, out.at, out.n), a->span);
}

static Obj py_filter(Lower *l, const Args *a, int64_t data) {
    (void)data;
    Obj in = host_elements(l, a->at[1], a->span);
    Objs out = {0};
    if (obj_is_poison(in)) return in;
    for (int i = 0; i < in.seq.n; i++) {
        Obj keep = in.seq.at[i];
        if (a->at[0].kind != OBJ_NONE) keep = call_object(l, a->at[0], &keep, 1, a->span);
        if (!obj_is_const(keep) || !count_step(l, a->span)) return poison();
        if (obj_truth(keep)) vec_push(&l->s->arena, &out, in.seq.at[i]);
    }
    return obj_tuple(l, out.at, out.n);
}

static Obj py_sum(Lower *l, const Args *a, int64_t data) {
    (void)data;
    Obj in = unordered_elements(l, a->at[0], a->span), all = a->at[1];
    if (obj_is_poison(in)) return in;
    for (int i = 0; i < in.seq.n && !obj_is_poison(all); i++)
        all = binary(l, OPR_ADD, all, in.seq.at[i], a->span);
    return all;
}

/* itertools.chain */
static Obj py_chain(Lower *l, const Args *a, int64_t data) {
    (void)data;
    Objs out = {0};
    for (int i = 0; i < a->at[0].seq.n; i++) {
        Obj in = host_elements(l, a->at[0].seq.at[i], a->span);
        if (obj_is_poison(in)) return in;
        for (int k = 0; k < in.seq.n && out.n <= HOST_TUPLE_LIMIT; k++)
            vec_push(&l->s->arena, &out, in.seq.at[k]);
    }
    return checked(l, obj_tuple(l, out.at, out.n), a->span);
}

/* ---- numbers ---- */

/* data: '2' log2, '1' log10, 's' sqrt, 'e' exp, 'a' fabs */

static Obj py_math(Lower *l, const Args *a, int64_t data) {
    if (!obj_is_number(a->at[0])) return arg_error(l, a, 0, "a number");
    double x = obj_double(a->at[0]);
    bool root = data == 's', log = data == '2' || data == '1';
    if ((log && x <= 0) || (root && x < 0))
        return fail(l, E_ARITHMETIC, a->span, "math.%s of %s", a->row->name, obj_text(l, a->at[0]));
    return obj_float(data == '2'   ? log2(x)
                     : data == '1' ? log10(x)
                     : data == 's' ? sqrt(x)
                     : data == 'e' ? exp(x)
                                   : fabs(x));
}

/* math.log(x, base=e) */
static Obj py_log(Lower *l, const Args *a, int64_t data) {
    (void)data;
    if (!obj_is_number(a->at[0])) return arg_error(l, a, 0, "a number");
    double x = obj_double(a->at[0]);
    bool natural = a->at[1].kind == OBJ_NONE;
    if (!natural && !obj_is_number(a->at[1])) return arg_error(l, a, 1, "a number");
    double base = natural ? 1 : log(obj_double(a->at[1]));
    if (x <= 0 || !(base > 0))
        return fail(l, E_ARITHMETIC, a->span, "math.log of %s", obj_text(l, a->at[0]));
    return obj_float(log(x) / base);
}

/* data: 'c' ceil, 'f' floor, 't' trunc */
static Obj py_integer(Lower *l, const Args *a, int64_t data) {
    Obj o = a->at[0];
    if (!obj_is_number(o)) return arg_error(l, a, 0, "a number");
    if (o.kind != OBJ_FLOAT) return const_unary(l, OPR_POS, o, a->span);
    double v = data == 'c' ? ceil(o.f) : data == 'f' ? floor(o.f) : trunc(o.f);
    if (!(fabs(v) < 9.2e18))
        return fail(l, E_NUMBER_RANGE, a->span, "%s does not fit 64 bits", obj_text(l, o));
    return obj_int((int64_t)v);
}

/* round(x), round(x, digits): half to even. */
static Obj py_round(Lower *l, const Args *a, int64_t data) {
    (void)data;
    Obj o = a->at[0];
    if (!obj_is_number(o)) return arg_error(l, a, 0, "a number");
    if (o.kind != OBJ_FLOAT && a->at[1].kind == OBJ_NONE) return o;
    if (a->at[1].kind != OBJ_NONE)
        return fail(l, E_ARGUMENT_COUNT, a->span, "round() takes one number here");
    double v = nearbyint(o.f);
    if (!(fabs(v) < 9.2e18))
        return fail(l, E_NUMBER_RANGE, a->span, "%s does not fit 64 bits", obj_text(l, o));
    return obj_int((int64_t)v);
}

static Obj py_pow(Lower *l, const Args *a, int64_t data) {
    Obj o = binary(l, OPR_POW, a->at[0], a->at[1], a->span);
    return data && obj_is_number(o) ? obj_float(obj_double(o)) : o; /* math.pow gives a float */
}

static Obj py_abs(Lower *l, const Args *a, int64_t data) {
    (void)data;
    Obj o = a->at[0];
    if (!obj_is_number(o)) return arg_error(l, a, 0, "a number");
    return const_unary(l, obj_double(o) < 0 ? OPR_NEG : OPR_POS, o, a->span);
}

static Obj py_divmod(Lower *l, const Args *a, int64_t data) {
    (void)data;
    Obj pair[2] = {binary(l, OPR_FLOORDIV, a->at[0], a->at[1], a->span),
                   binary(l, OPR_MOD, a->at[0], a->at[1], a->span)};
    return obj_tuple(l, pair, 2);
}

/* math.gcd (data 0), math.prod (data 1) */
static Obj py_fold(Lower *l, const Args *a, int64_t data) {
    Obj all = data ? host_elements(l, a->at[0], a->span) : a->at[0];
    Obj out = obj_int(data != 0);
    if (obj_is_poison(all)) return all;
    for (int i = 0; i < all.seq.n && !obj_is_poison(out); i++) {
        Obj x = all.seq.at[i];
        if (data) {
            out = binary(l, OPR_MUL, out, x, a->span);
            continue;
        }
        if (x.kind != OBJ_INT || x.big) return arg_error(l, a, 0, "made of integers");
        uint64_t m = x.i < 0 ? 0 - (uint64_t)x.i : (uint64_t)x.i, n = (uint64_t)out.i;
        while (m) {
            uint64_t rest = n % m;
            n = m;
            m = rest;
        }
        out = obj_int((int64_t)n);
    }
    return out;
}

static Obj py_isnan(Lower *l, const Args *a, int64_t data) {
    if (!obj_is_number(a->at[0])) return arg_error(l, a, 0, "a number");
    double x = obj_double(a->at[0]);
    return obj_bool(data ? isinf(x) : isnan(x));
}

/* "a b".split(), "a,b".split(",") */
static Obj split(Lower *l, const char *text, const char *by) {
    Objs out = {0};
    size_t n = *by ? strlen(by) : 0;
    for (const char *s = text;;) {
        if (!n) s += strspn(s, " \t\n");
        if (!n && !*s) break;
        const char *end = n ? strstr(s, by) : s + strcspn(s, " \t\n");
        if (!end) end = s + strlen(s);
        vec_push(&l->s->arena, &out,
                 obj_string(l, arena_strndup(&l->s->arena, s, (size_t)(end - s))));
        if (!*end) break;
        s = end + (n ? n : 1);
    }
    return obj_tuple(l, out.at, out.n);
}

/* The fields are a sequence of names, or one text of them. */
static Obj py_namedtuple(Lower *l, const Args *a, int64_t data) {
    (void)data;
    Obj names = a->at[1];
    if (a->at[0].kind != OBJ_STRING) return arg_error(l, a, 0, "a string");
    if (names.kind == OBJ_STRING) {
        char *text = arena_strndup(&l->s->arena, names.text.at, names.text.n);
        for (char *t = text; *t; t++)
            if (*t == ',') *t = ' ';
        names = split(l, text, "");
    }
    names = host_elements(l, names, a->span);
    return obj_is_poison(names) ? names : named_tuple_class(l, a->at[0].text.at, names, a->span);
}

static Obj py_callable(Lower *l, const Args *a, int64_t data) {
    (void)l, (void)data;
    ObjKind k = a->at[0].kind;
    return obj_bool(k == OBJ_FUNC || k == OBJ_LAMBDA || k == OBJ_BUILTIN || k == OBJ_CLASS ||
                    k == OBJ_METHOD);
}

static Obj py_nothing(Lower *l, const Args *a, int64_t data) {
    (void)l, (void)a, (void)data;
    return obj_none();
}

static const HostRow functions[] = {
    {"", {"sorted", "C", "iterable, key=None, reverse=False", py_sorted, 0}},
    {"", {"map", "C", "function, *iterables", py_map, 0}},
    {"", {"filter", "C", "function, iterable", py_filter, 0}},
    {"", {"sum", "C", "iterable, start=0", py_sum, 0}},
    {"", {"set", "C", "iterable=()", py_set, 0}},
    {"", {"frozenset", "C", "iterable=()", py_set, 0}},
    {"", {"round", "C", "number, ndigits=None", py_round, 0}},
    {"", {"abs", "C", "x", py_abs, 0}},
    {"", {"pow", "C", "base, exp", py_pow, 0}},
    {"", {"divmod", "C", "x, y", py_divmod, 0}},
    {"", {"callable", "C", "object", py_callable, 0}},
    {"", {"print", "C", "*args, **options", py_nothing, 0}},
    {"collections", {"namedtuple", "C", "typename, field_names", py_namedtuple, 0}},
    {"itertools", {"chain", "C", "*iterables", py_chain, 0}},
    {"math", {"log2", "C", "x", py_math, '2'}},
    {"math", {"log10", "C", "x", py_math, '1'}},
    {"math", {"log", "C", "x, base=None", py_log, 0}},
    {"math", {"sqrt", "C", "x", py_math, 's'}},
    {"math", {"exp", "C", "x", py_math, 'e'}},
    {"math", {"fabs", "C", "x", py_math, 'a'}},
    {"math", {"pow", "C", "x, y", py_pow, 1}},
    {"math", {"ceil", "C", "x", py_integer, 'c'}},
    {"math", {"floor", "C", "x", py_integer, 'f'}},
    {"math", {"trunc", "C", "x", py_integer, 't'}},
    {"math", {"gcd", "C", "*integers", py_fold, 0}},
    {"math", {"prod", "C", "iterable", py_fold, 1}},
    {"math", {"isnan", "C", "x", py_isnan, 0}},
    {"math", {"isinf", "C", "x", py_isnan, 1}},
};

Obj python_function(const char *module, const char *name) {
    return find_host_row(functions, sizeof functions / sizeof *functions, module, name);
}

/* ---- methods that give something ---- */

static Obj join(Lower *l, Obj by, Obj parts, Span span) {
    Buf b = buf_new(&l->s->arena);
    parts = host_elements(l, parts, span);
    for (int i = 0; i < parts.seq.n && parts.kind == OBJ_TUPLE && b.len <= STRING_LIMIT; i++) {
        if (parts.seq.at[i].kind != OBJ_STRING) return poison();
        if (i) buf_puts(&b, by.text.at);
        buf_puts(&b, parts.seq.at[i].text.at);
    }
    return obj_is_poison(parts) ? parts : checked(l, obj_string(l, b.data ? b.data : ""), span);
}

static Obj replace(Lower *l, Obj self, Obj from, Obj to, Span span) {
    Buf b = buf_new(&l->s->arena);
    const char *s = self.text.at, *hit;
    if (!from.text.n) return poison();
    for (; (hit = strstr(s, from.text.at)) && b.len <= STRING_LIMIT; s = hit + from.text.n) {
        buf_write(&b, s, (size_t)(hit - s));
        buf_puts(&b, to.text.at);
    }
    buf_puts(&b, s);
    return checked(l, obj_string(l, b.data), span);
}

static Obj strip(Lower *l, Obj self) {
    const char *s = self.text.at;
    size_t n = self.text.n;
    while (n && isspace((unsigned char)*s)) s++, n--;
    while (n && isspace((unsigned char)s[n - 1])) n--;
    return obj_string(l, arena_strndup(&l->s->arena, s, n));
}

static Obj string_method(Lower *l, Obj self, const char *name, const Call *c) {
    bool text = true;
    for (int i = 0; i < c->nargs; i++) text = text && c->arg[i].kind == OBJ_STRING;
    if (strcmp(name, "split") == 0 && c->nargs <= 1 && text && (!c->nargs || c->arg[0].text.n))
        return split(l, self.text.at, c->nargs ? c->arg[0].text.at : "");
    if (strcmp(name, "join") == 0 && c->nargs == 1) return join(l, self, c->arg[0], c->span);
    if (strcmp(name, "replace") == 0 && c->nargs == 2 && text)
        return replace(l, self, c->arg[0], c->arg[1], c->span);
    if (strcmp(name, "strip") == 0 && !c->nargs) return strip(l, self);
    if (strcmp(name, "isdigit") == 0 && !c->nargs)
        return obj_bool(self.text.n && strspn(self.text.at, "0123456789") == self.text.n);
    if (strcmp(name, "count") == 0 && c->nargs == 1 && text && c->arg[0].text.n) {
        int64_t n = 0;
        for (const char *s = self.text.at; (s = strstr(s, c->arg[0].text.at)); n++)
            s += c->arg[0].text.n;
        return obj_int(n);
    }
    return poison();
}

static Obj list_method(Lower *l, Obj self, const char *name, const Call *c) {
    if (strcmp(name, "copy") == 0 && !c->nargs) return self;
    if (c->nargs != 1) return poison();
    int64_t n = 0;
    for (int i = 0; i < self.seq.n; i++) {
        bool same = obj_equal(self.seq.at[i], c->arg[0]);
        if (same && strcmp(name, "index") == 0) return obj_int(i);
        n += same;
    }
    (void)l;
    return strcmp(name, "count") == 0 ? obj_int(n) : poison();
}

Obj python_method(Lower *l, Obj self, const char *name, const Call *c) {
    if (self.kind == OBJ_STRING) return string_method(l, self, name, c);
    if (self.kind == OBJ_TUPLE) return list_method(l, self, name, c);
    bool bits = self.kind == OBJ_INT && strcmp(name, "bit_length") == 0 && !c->nargs;
    if (!bits) return poison();
    uint64_t m = self.big || self.i >= 0 ? (uint64_t)self.i : 0 - (uint64_t)self.i;
    int64_t n = 0;
    for (; m; m >>= 1) n++;
    return obj_int(n);
}

/* ---- methods that change a list, a dict or a set ---- */

/* dict[key] = value */
static Obj with_key(Lower *l, Obj dict, Obj key, Obj value, Span span) {
    int place = dict_place(dict, key);
    if (place >= 0) {
        dict.seq.at = arena_copy(&l->s->arena, dict.seq.at, (size_t)dict.seq.n * sizeof(Obj));
        dict.seq.at[place + 1] = value;
        dict = checked(l, obj_tuple(l, dict.seq.at, dict.seq.n), span);
        if (dict.kind == OBJ_TUPLE) dict.kind = OBJ_DICT;
        return dict;
    }
    Obj pair[2] = {key, value};
    return concat(l, dict, obj_tuple(l, pair, 2), span);
}

/* list[index] = value */
static Obj with_element(Lower *l, Obj list, Obj index, Obj value, Span span) {
    int64_t i = index.kind == OBJ_INT && !index.big ? index.i : INT64_MAX;
    if (i < 0) i += list.seq.n;
    if (i < 0 || i >= list.seq.n)
        return fail(l, E_INDEX_RANGE, span, "index %s is outside a list of %d", obj_text(l, index),
                    list.seq.n);
    Obj copy = obj_tuple(l, list.seq.at, list.seq.n);
    copy.seq.at[i] = value;
    return checked(l, obj_tuple(l, copy.seq.at, copy.seq.n), span);
}

Obj with_item(Lower *l, Obj object, Obj key, Obj value, Span span) {
    return object.kind == OBJ_DICT ? with_key(l, object, key, value, span)
                                   : with_element(l, object, key, value, span);
}

/* d.update(other, a=1) */
static Obj updated(Lower *l, Obj dict, const Call *c) {
    Obj more = c->nargs ? c->arg[0] : dict;
    if (c->nargs > 1 || more.kind != OBJ_DICT)
        return fail(l, E_ARGUMENT_KIND, c->span, "update() takes keywords, or one dict");
    if (!c->nargs) more.seq.n = 0;
    for (int i = 0; i + 1 < more.seq.n && dict.kind == OBJ_DICT; i += 2)
        dict = with_key(l, dict, more.seq.at[i], more.seq.at[i + 1], c->span);
    for (int i = 0; i < c->nkeywords && dict.kind == OBJ_DICT; i++)
        dict = with_key(l, dict, obj_string(l, c->keyword[i].name), c->keyword_value[i], c->span);
    return dict;
}

static int64_t place(Obj self, Obj at, int64_t most) {
    int64_t i = at.i < 0 ? at.i + self.seq.n : at.i;
    return i < 0 ? 0 : i > most ? most : i;
}

static Obj inserted(Lower *l, Obj self, int64_t at, Obj x) {
    Objs out = {0};
    for (int i = 0; i <= self.seq.n; i++) {
        if (i == at) vec_push(&l->s->arena, &out, x);
        if (i < self.seq.n) vec_push(&l->s->arena, &out, self.seq.at[i]);
    }
    l->steps += self.seq.n / 8;
    return obj_tuple(l, out.at, out.n);
}

static Obj change_list(Lower *l, Obj self, const char *name, const Call *c, bool *known) {
    *known = true;
    if (strcmp(name, "insert") == 0 && c->nargs == 2 && c->arg[0].kind == OBJ_INT)
        return checked(l, inserted(l, self, place(self, c->arg[0], self.seq.n), c->arg[1]),
                       c->span);
    if (strcmp(name, "sort") == 0 && !c->nargs) {
        Obj by = obj_none(), reverse = obj_bool(false);
        for (int i = 0; i < c->nkeywords; i++) {
            if (strcmp(c->keyword[i].name, "key") == 0) by = c->keyword_value[i];
            if (strcmp(c->keyword[i].name, "reverse") == 0) reverse = c->keyword_value[i];
        }
        return sorted(l, self, by, obj_truth(reverse), c->span);
    }
    if (strcmp(name, "reverse") == 0 && !c->nargs) {
        Obj out = obj_tuple(l, self.seq.at, self.seq.n);
        for (int i = 0; i < self.seq.n; i++) out.seq.at[i] = self.seq.at[self.seq.n - 1 - i];
        return out;
    }
    *known = false;
    return poison();
}

Obj python_change(Lower *l, Obj self, const char *name, const Call *c, bool *known) {
    if (self.kind == OBJ_TUPLE) return change_list(l, self, name, c, known);
    *known = true;
    if (self.kind == OBJ_DICT && strcmp(name, "update") == 0) return updated(l, self, c);
    if (self.kind == OBJ_SET && strcmp(name, "add") == 0 && c->nargs == 1)
        return contains(self, c->arg[0])
                   ? self
                   : set_binary(l, OPR_OR, self, host_set(l, obj_tuple(l, c->arg, 1)));
    if (self.kind == OBJ_SET && strcmp(name, "update") == 0 && c->nargs == 1) {
        Obj more = unordered_elements(l, c->arg[0], c->span);
        return obj_is_poison(more) ? more : set_binary(l, OPR_OR, self, host_set(l, more));
    }
    *known = false;
    return poison();
}
