/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* complete.c: a place that is being typed at -> names that may stand there; parameters of the call
 * that is being typed.
 *
 * A line that is being typed seldom parses, so what stands before the place is read as text:
 * "tl.lo" asks for members of what tl is; "lo" for names. Those of a function are of the last text
 * that parsed. */
#include "compiler/lsp/server.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum {
    WORD_LIMIT = 300,
    ITEM_FUNCTION = 3,
    ITEM_VARIABLE = 6,
    ITEM_CLASS = 7,
    ITEM_MODULE = 9,
    ITEM_KEYWORD = 14,
    ITEM_TYPE = 25
};

static bool is_word(char c) {
    return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

/* The dotted word that ends at `at`: "tl.math.ex", with an empty end behind a dot. */
static size_t word_before(const char *text, size_t at, char out[WORD_LIMIT]) {
    size_t from = at;
    while (from && (is_word(text[from - 1]) || text[from - 1] == '.')) from--;
    size_t n = at - from < WORD_LIMIT ? at - from : WORD_LIMIT - 1;
    memcpy(out, text + at - n, n);
    out[n] = '\0';
    return n;
}

/* ---- completion ---- */

typedef struct Items {
    json_t *out;
    Reply *reply;
    const char *start; /* what is typed already */
} Items;

static void add_item(Items *items, const char *name, int kind, const char *detail) {
    if (!name || strncmp(name, items->start, strlen(items->start)) != 0) return;
    if (json_array_size(items->out) >= PLACES_LIMIT) return;
    json_t *item = json_pack("{s:o, s:i}", "label", text_json(name, strlen(name)), "kind", kind);
    if (detail) reply_set(items->reply, item, "detail", text_json(detail, strlen(detail)));
    reply_add(items->reply, items->out, item);
}

static void add_member(void *ctx, MemberKind kind, const char *name, const char *signature) {
    static const int kinds[] = {ITEM_FUNCTION, ITEM_TYPE, ITEM_MODULE, ITEM_VARIABLE};
    char detail[400];
    if (signature) snprintf(detail, sizeof detail, "(%s)", signature);
    add_item(ctx, name, kinds[kind], signature ? detail : NULL);
}

/* The name of the `def` that the place is in: the nearest above that is further to the left; empty
 * at top level. */
static void function_around(const char *text, size_t at, char out[WORD_LIMIT]) {
    size_t start = at;
    *out = '\0';
    while (start && text[start - 1] != '\n') start--;
    size_t indent = 0;
    while (start + indent < at && (text[start + indent] == ' ' || text[start + indent] == '\t'))
        indent++;
    while (start && indent) {
        size_t end = start - 1;
        start = end;
        while (start && text[start - 1] != '\n') start--;
        size_t from = start;
        while (from < end && (text[from] == ' ' || text[from] == '\t')) from++;
        if (from == end || text[from] == '#' || from - start >= indent) continue;
        if (end - from > 4 && memcmp(text + from, "def ", 4) == 0) {
            size_t n = 0;
            for (from += 4; from + n < end && is_word(text[from + n]) && n + 1 < WORD_LIMIT; n++)
                out[n] = text[from + n];
            out[n] = '\0';
            return;
        }
        indent = from - start;
    }
}

/* Names that a function has, by what it is called: the latest text may not parse. */
static void add_names(const Analysis *a, const char *function, Items *items) {
    static const int kinds[] = {ITEM_VARIABLE, ITEM_VARIABLE, ITEM_FUNCTION,
                                ITEM_CLASS,    ITEM_VARIABLE, ITEM_MODULE};
    for (int i = 0; i < a->symbols.symbols.n; i++) {
        const Symbol *s = a->symbols.symbols.at[i];
        const AstFunc *in = s->room ? s->room->func : NULL;
        if (s->room && (!in || strcmp(in->name, function) != 0)) continue;
        if (!s->room || s->room->outer == NULL) add_item(items, s->name, kinds[s->kind], NULL);
    }
}

static void add_keywords(Items *items) {
    static const char *const words[] = {"and",    "assert", "break", "continue", "def",    "elif",
                                        "else",   "for",    "from",  "if",       "import", "in",
                                        "is",     "lambda", "not",   "or",       "pass",   "range",
                                        "return", "while",  "True",  "False",    "None"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        add_item(items, words[i], ITEM_KEYWORD, NULL);
}

json_t *feature_completion(Server *v, const json_t *params, Reply *r) {
    uint32_t line, col;
    Document *d = document_asked(v, params, r);
    if (!d || !document_place(d, params, r, &line, &col)) return NULL;
    Analysis *a = d->analysis;
    json_t *out = json_array();
    if (!a->has_symbols) return out;
    size_t len, at = 0;
    const char *text = d->text, *here = lines_at(&a->lines, line, &len);
    if (here) at = (size_t)(here - a->text) + col - 1;
    char word[WORD_LIMIT], function[WORD_LIMIT];
    word_before(text, at, word);
    char *dot = strrchr(word, '.');
    if (setjmp(a->s.bail)) {
        r->starved = a->s.out_of_memory;
        return out;
    }
    if (dot) {
        *dot = '\0';
        symbols_members(&a->symbols, word, add_member, &(Items){out, r, dot + 1});
        return out;
    }
    Items items = {out, r, word};
    const Analysis *names = d->whole && d->whole->has_symbols ? d->whole : a;
    function_around(text, at, function);
    add_names(names, function, &items);
    add_keywords(&items);
    return out;
}

/* ---- signatures ---- */

/* The bracket of the call around the place, and how many commas stand behind it; SIZE_MAX: none. */
static size_t call_around(const char *text, size_t at, int *commas) {
    enum { FAR = 4000 };
    int depth = 0;
    *commas = 0;
    for (size_t i = at; i && at - i < FAR; i--) {
        char c = text[i - 1];
        if (strchr(")]}", c) && c) depth++;
        if (c == ',' && !depth) ++*commas;
        if (!c || !strchr("([{", c)) continue;
        if (depth) {
            depth--;
            continue;
        }
        return c == '(' && i > 1 && is_word(text[i - 2]) ? i - 1 : SIZE_MAX;
    }
    return SIZE_MAX;
}

/* The parameters in a header's brackets, cut at the commas that no bracket encloses. */
static json_t *parameters_json(Reply *r, const char *header) {
    json_t *out = json_array();
    const char *at = strchr(header, '(');
    int depth = 0;
    for (const char *s = at ? at + 1 : "", *from = s; *s; s++) {
        if (*s == '(' || *s == '[') depth++;
        if ((*s == ')' || *s == ']') && depth) {
            depth--;
            continue;
        }
        if (depth || (*s != ',' && *s != ')')) continue;
        while (*from == ' ') from++;
        if (s > from)
            reply_add(r, out, json_pack("{s:o}", "label", text_json(from, (size_t)(s - from))));
        from = s + 1;
        if (*s == ')') break;
    }
    return out;
}

static const char *header_of(Analysis *a, Obj o) {
    const char *params, *why, *name;
    if (o.kind == OBJ_FUNC) return function_header(a, o.func);
    if (o.kind != OBJ_BUILTIN) return NULL;
    name = symbols_builtin(&a->symbols, o.builtin.row, &params, &why);
    return params ? arena_printf(&a->s.arena, "%s(%s)", name, params) : NULL;
}

json_t *feature_signature(Server *v, const json_t *params, Reply *r) {
    uint32_t line, col;
    Document *d = document_asked(v, params, r);
    if (!d || !document_place(d, params, r, &line, &col)) return NULL;
    Analysis *a = d->analysis;
    size_t len, at = 0;
    const char *here = lines_at(&a->lines, line, &len);
    if (!a->has_symbols || !here) return json_null();
    at = (size_t)(here - a->text) + col - 1;
    int commas;
    char word[WORD_LIMIT];
    size_t bracket = call_around(d->text, at, &commas);
    if (bracket == SIZE_MAX || !word_before(d->text, bracket, word)) return json_null();
    if (setjmp(a->s.bail)) return NULL;
    const char *header = header_of(a, symbols_object(&a->symbols, word));
    if (!header) return json_null();
    return json_pack("{s:[{s:o, s:o}], s:i, s:i}", "signatures", "label",
                     text_json(header, strlen(header)), "parameters", parameters_json(r, header),
                     "activeSignature", 0, "activeParameter", commas);
}
