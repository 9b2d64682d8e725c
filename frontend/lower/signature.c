/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* signature.c: the texts that describe a launch, -s, -D and annotations -> types, values and an
 * entry for each parameter.
 *
 * An entry names a parameter or one of its parts (`x.0`), or stands in a parameter's place. Commas
 * in brackets belong to tuples and descriptors. */
#include "frontend/lower/signature.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

Text text_trim(Text t) {
    while (t.n && strchr(" \t\n", *t.at)) t.at++, t.n--;
    while (t.n && strchr(" \t\n", t.at[t.n - 1])) t.n--;
    return t;
}

bool text_is(Text t, const char *s) {
    return strlen(s) == t.n && memcmp(s, t.at, t.n) == 0;
}

bool text_starts(Text t, const char *s) {
    size_t n = strlen(s);
    return t.n >= n && memcmp(s, t.at, n) == 0;
}

/* A quote opens where a value may begin: the one in `it's` is a letter. */
static bool opens_quote(Text t, size_t i) {
    if (t.at[i] != '\'' && t.at[i] != '"') return false;
    while (i && strchr(" \t\n", t.at[i - 1])) i--;
    return i == 0 || strchr("=,([", t.at[i - 1]);
}

static bool opens_bracket(Text t, size_t i) {
    static const char descriptor[] = "tensordesc";
    size_t n = sizeof descriptor - 1;
    if (t.at[i] == '<') return i >= n && memcmp(t.at + i - n, descriptor, n) == 0;
    return t.at[i] == '(' || t.at[i] == '[';
}

bool text_part(Text *rest, Text *part) {
    int depth = 0, angles = 0;
    char quote = 0;
    size_t i = 0;
    if (!rest->at) return false;
    for (; i < rest->n; i++) {
        char c = rest->at[i];
        if (quote) {
            if (c == quote) quote = 0;
        } else if (opens_quote(*rest, i)) {
            quote = c;
        } else if (opens_bracket(*rest, i)) {
            depth++;
            angles += c == '<';
        } else if (c == ')' || c == ']' || (c == '>' && angles)) {
            angles -= c == '>';
            depth -= depth > 0;
        } else if (c == ',' && !depth) {
            break;
        }
    }
    *part = text_trim((Text){rest->at, i});
    bool more = i < rest->n;
    *rest = more ? (Text){rest->at + i + 1, rest->n - i - 1} : (Text){NULL, 0};
    return true;
}

/* ---- types and values as text ---- */

bool parse_type(const char *text, size_t n, Type *out) {
    Text t = text_trim((Text){text, n});
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

static bool parse_dtype(Text t, Type *out) {
    static const char *const prefixes[] = {"tl.", "triton.language."};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        size_t n = strlen(prefixes[i]);
        if (text_starts(t, prefixes[i])) t = (Text){t.at + n, t.n - n};
    }
    return t.n && *t.at != '*' && parse_type(t.at, t.n, out);
}

static bool is_quoted(Text t) {
    return t.n >= 2 && (*t.at == '\'' || *t.at == '"') && t.at[t.n - 1] == *t.at;
}

static bool is_tuple(Text t) {
    return t.n >= 2 &&
           ((*t.at == '(' && t.at[t.n - 1] == ')') || (*t.at == '[' && t.at[t.n - 1] == ']'));
}

bool text_is_constant(Text t) {
    if (!t.n) return false;
    bool number = isdigit((unsigned char)*t.at) || strchr("+-.", *t.at);
    return number || is_quoted(t) || text_is(t, "True") || text_is(t, "False") || *t.at == '@';
}

/* "(4, 8)", "(4,)", "[]"; "(4)" is 4 */
static Obj parse_tuple(Lower *l, Text t, Span span) {
    VEC(Obj) all = {0};
    Text rest = {t.at + 1, t.n - 2}, part;
    bool comma = false;
    if (!enter(l, span)) return poison();
    while (text_part(&rest, &part)) {
        if (!part.n && !rest.at) break; /* nothing stands behind the last comma */
        vec_push(&l->s->arena, &all, parse_value(l, part.at, part.n, span));
        comma = comma || rest.at;
    }
    leave(l);
    if (all.n == 1 && !comma && *t.at == '(') return all.at[0];
    return checked(l, obj_tuple(l, all.at, all.n), span);
}

/* "@relu", "@tl.math.tanh": what the file has under this name. */
static Obj parse_name(Lower *l, Text t, Span span) {
    Obj o = poison();
    Text rest = {t.at + 1, t.n - 1};
    const char *dot = memchr(rest.at, '.', rest.n);
    size_t n = dot ? (size_t)(dot - rest.at) : rest.n;
    const char *name = intern(&l->s->names, rest.at, n);
    if (!enter(l, span)) return poison();
    if (!lookup_top(l, name, span, &o))
        fail(l, E_SIGNATURE, span, "@%s: the file has nothing of this name", name);
    while (n < rest.n && !obj_is_poison(o)) {
        rest = (Text){rest.at + n + 1, rest.n - n - 1};
        dot = memchr(rest.at, '.', rest.n);
        n = dot ? (size_t)(dot - rest.at) : rest.n;
        o = attribute(l, o, intern(&l->s->names, rest.at, n), span);
    }
    leave(l);
    return o;
}

Obj parse_value(Lower *l, const char *text, size_t n, Span span) {
    Text t = text_trim((Text){text, n});
    const char *s = arena_strndup(&l->s->arena, t.at, t.n);
    Type type;
    char *end;
    if (is_quoted(t)) return obj_string(l, arena_strndup(&l->s->arena, s + 1, t.n - 2));
    if (is_tuple(t)) return parse_tuple(l, t, span);
    if (t.n > 1 && *t.at == '@') return parse_name(l, t, span);
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

Entry entry_of(Text part) {
    size_t name = 0;
    while (name < part.n && !strchr("=([<'\"", part.at[name])) name++;
    if (name == part.n || part.at[name] != '=') return (Entry){.text = part};
    return (Entry){.name = text_trim((Text){part.at, name}),
                   .text = text_trim((Text){part.at + name + 1, part.n - name - 1})};
}

Entries split_signature(Lower *l) {
    Entries out = {0};
    const char *s = l->options->signature;
    Text rest = {s, s ? strlen(s) : 0}, part;
    if (!rest.n) return out;
    while (text_part(&rest, &part)) vec_push(&l->s->arena, &out, entry_of(part));
    return out;
}

const char *colon_of(Text type) {
    return type.n ? memchr(type.at, ':', type.n) : NULL;
}

Text promise_of(Text type) {
    const char *colon = colon_of(type);
    return colon ? (Text){colon, (size_t)(type.at + type.n - colon)} : (Text){"", 0};
}

Text with_promise(Lower *l, Text type, Text promise) {
    const char *colon = colon_of(type);
    if (colon) type.n = (size_t)(colon - type.at);
    const char *text =
        arena_printf(&l->s->arena, "%.*s%.*s", (int)type.n, type.at, (int)promise.n, promise.at);
    return (Text){text, strlen(text)};
}

void take_entry(Lower *l, Entry entry, Entry *out) {
    bool promise = entry.text.n && *entry.text.at == ':';
    if (promise && out->text.n && *out->text.at != ':')
        out->text = with_promise(l, out->text, entry.text);
    else
        *out = entry;
}

bool match_signature(Lower *l, const AstFunc *f, const Entries *entries, Entry **out) {
    *out = arena_array(&l->s->arena, (size_t)f->nparams + 1, sizeof **out);
    int runtime = 0, positional = 0;
    for (int i = 0; i < f->nparams; i++) runtime += !annotated_constexpr(&f->param[i]);
    for (int i = 0; i < entries->n; i++) positional += !entries->at[i].name.n;
    if (positional && positional != entries->n) {
        fail(l, E_SIGNATURE, f->span, "the signature must name all parameters or none");
        return false;
    }
    if (positional && positional != f->nparams && positional != runtime) {
        fail(l, E_SIGNATURE, f->span,
             "the signature has %d entries; '%s' has %d parameters, %d of them no constexpr",
             positional, f->name, f->nparams, runtime);
        return false;
    }
    int next = 0;
    for (int i = 0; i < f->nparams && positional; i++)
        if (positional == f->nparams || !annotated_constexpr(&f->param[i]))
            (*out)[i] = entries->at[next++];
    for (int i = 0; i < f->nparams && !positional; i++)
        for (int k = 0; k < entries->n; k++)
            if (text_is(entries->at[k].name, f->param[i].name))
                take_entry(l, entries->at[k], &(*out)[i]);
    return true;
}
