/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* compare.c: two trees of facts -> the rows in which they differ, with both reasons.
 *
 * Facts are matched by their names; those of a list by their titles, and what is left in their
 * order. A row that one side lacks has `-` there. */
#include "compiler/report/facts.h"

#include <string.h>

enum { NAME = 34, VALUE = 26, INDENT = 2 };

static bool is_inner(const Fact *f) {
    return f && (f->kind == FACT_GROUP || f->kind == FACT_LIST);
}

static bool same_text(const char *a, const char *b) {
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* ---- matching ---- */

typedef struct Pair {
    const Fact *a, *b;
} Pair;

typedef VEC(Pair) Pairs;

static const Fact *other_of(const Pairs *pairs, const Fact *b) {
    for (int i = 0; i < pairs->n; i++)
        if (pairs->at[i].b == b) return b;
    return NULL;
}

static void match(Arena *arena, const Fact *a, const Fact *b, Pairs *pairs) {
    bool list = (a ? a : b)->kind == FACT_LIST;
    for (const Fact *x = a ? a->first : NULL; x; x = x->next) {
        Pair p = {x, NULL};
        for (const Fact *y = b ? b->first : NULL; y && !p.b; y = y->next)
            if ((list ? same_text(x->text, y->text) : same_text(x->name, y->name)) &&
                !other_of(pairs, y))
                p.b = y;
        vec_push(arena, pairs, p);
    }
    for (const Fact *y = b ? b->first : NULL; y; y = y->next) {
        int i = 0;
        if (other_of(pairs, y)) continue;
        while (i < pairs->n && (!list || pairs->at[i].b)) i++;
        if (i < pairs->n)
            pairs->at[i].b = y;
        else
            vec_push(arena, pairs, ((Pair){NULL, y}));
    }
}

static bool is_equal(Arena *arena, Pair p) {
    const Fact *a = p.a, *b = p.b;
    if ((a ? a : b)->place) return true;
    if (!a || !b || a->kind != b->kind) return false;
    if (!is_inner(a))
        return a->number == b->number && a->real == b->real && same_text(a->text, b->text);
    if (!same_text(a->text, b->text)) return false;
    Pairs inside = {0};
    match(arena, a, b, &inside);
    for (int i = 0; i < inside.n; i++)
        if (!is_equal(arena, inside.at[i])) return false;
    return true;
}

/* ---- text ---- */

static void put_column(const char *text, size_t len, int width, Buf *out) {
    buf_write(out, text, len);
    buf_printf(out, "%*s", (int)len < width ? width - (int)len : 1, "");
}

static void put_cell(const Fact *f, Buf *out) {
    size_t start = out->len;
    if (f && !is_inner(f))
        fact_put_value(f, out);
    else
        buf_puts(out, f ? "" : "-");
    size_t used = out->len - start;
    buf_printf(out, "%*s", used < VALUE ? (int)(VALUE - used) : 1, "");
}

static void trim(Buf *out) {
    while (out->len && out->data[out->len - 1] == ' ') out->data[--out->len] = '\0';
}

static void put_name(const Fact *f, int depth, Buf *out) {
    size_t start = out->len;
    buf_printf(out, "%*s", INDENT * depth, "");
    for (const char *c = f->name ? f->name : f->text; *c; c++)
        buf_putc(out, f->name && *c == '_' ? ' ' : *c);
    if (f->at) buf_printf(out, ", %s", f->at);
    size_t used = out->len - start;
    buf_printf(out, "%*s", used < NAME ? (int)(NAME - used) : 1, "");
}

static void put_reason(const char *side, const Fact *f, int depth, Buf *out) {
    if (f && f->why) buf_printf(out, "%*s%s%s\n", INDENT * depth + 2 * INDENT, "", side, f->why);
}

static void put_pair(Pair p, int depth, bool all, Buf *out);

static void put_inside(const Fact *a, const Fact *b, int depth, bool all, Buf *out) {
    Pairs pairs = {0};
    match(out->arena, a, b, &pairs);
    for (int i = 0; i < pairs.n; i++) put_pair(pairs.at[i], depth, all, out);
}

static void put_pair(Pair p, int depth, bool all, Buf *out) {
    const Fact *f = p.a ? p.a : p.b;
    bool equal = is_equal(out->arena, p);
    if ((equal && !all) || (is_inner(f) && !f->first)) return;
    put_name(f, depth, out);
    if (is_inner(f)) {
        bool other = p.a && p.b && !same_text(p.a->text, p.b->text);
        if (other) /* two of a list that stand for each other */
            buf_printf(out, "| %s", p.b->text);
        if (p.a && p.b && p.b->at && (other || !same_text(p.a->at, p.b->at)))
            buf_printf(out, "%s%s", other ? ", " : "| ", p.b->at);
        if (!p.a || !p.b) buf_puts(out, p.a ? "only A" : "only B");
        trim(out);
        buf_putc(out, '\n');
        put_inside(p.a, p.b, depth + 1, all, out);
        return;
    }
    put_cell(p.a, out);
    put_cell(p.b, out);
    trim(out);
    buf_putc(out, '\n');
    if (equal) return;
    if (p.a && p.b && same_text(p.a->why, p.b->why)) return; /* that makes no difference */
    put_reason("A: ", p.a, depth, out);
    put_reason("B: ", p.b, depth, out);
}

void facts_compare_text(const Fact *a, const Fact *b, bool all, Buf *out) {
    put_column("", 0, NAME, out);
    put_column("A", 1, VALUE, out);
    buf_puts(out, "B\n");
    put_inside(a, b, 0, all, out);
}

/* ---- JSON ---- */

static void put_side(const char *key, const Fact *f, Buf *out) {
    if (!f) return;
    buf_printf(out, ", \"%s\": ", key);
    if (f->kind == FACT_NUMBER)
        buf_printf(out, "%lld", (long long)f->number);
    else if (f->kind == FACT_REAL)
        buf_printf(out, "%.9g", f->real);
    else
        facts_json_text(f->text ? f->text : "", f->text ? strlen(f->text) : 0, out);
    if (!f->why) return;
    buf_printf(out, ", \"%s_why\": ", key);
    facts_json_text(f->why, strlen(f->why), out);
}

/* Leaves alone, each with the way to it. */
static void put_leaves(Pair p, const char *path, int *n, Buf *out) {
    const Fact *f = p.a ? p.a : p.b;
    if (is_equal(out->arena, p)) return;
    const char *name = f->name ? f->name : f->text;
    const char *here = *path ? arena_printf(out->arena, "%s/%s", path, name) : name;
    if (is_inner(f)) {
        Pairs pairs = {0};
        match(out->arena, p.a, p.b, &pairs);
        for (int i = 0; i < pairs.n; i++) put_leaves(pairs.at[i], here, n, out);
        return;
    }
    buf_printf(out, "%s  {\"fact\": ", (*n)++ ? ",\n" : "\n");
    facts_json_text(here, strlen(here), out);
    put_side("a", p.a, out);
    put_side("b", p.b, out);
    buf_putc(out, '}');
}

void facts_compare_json(const Fact *a, const Fact *b, Buf *out) {
    Pairs pairs = {0};
    int n = 0;
    match(out->arena, a, b, &pairs);
    buf_putc(out, '[');
    for (int i = 0; i < pairs.n; i++) put_leaves(pairs.at[i], "", &n, out);
    buf_puts(out, n ? "\n]\n" : "]\n");
}
