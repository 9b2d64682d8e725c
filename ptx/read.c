/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* read.c: PTX as LLVM writes it, inline assembly included -> instructions.
 *
 * Statements end in `;` and may span lines; braces nest, and labels belong to the braces that they
 * stand in. */
#include "ptx/read.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef struct Reader {
    Arena *a;
    const char *at, *end;
    PtxKernel *k;
    uint32_t line;
} Reader;

bool ptx_begins(PtxWord w, const char *word) {
    int n = (int)strlen(word);
    return w.len >= n && memcmp(w.text, word, (size_t)n) == 0 && (w.len == n || w.text[n] == '.');
}

bool ptx_is(PtxWord w, const char *word) {
    return w.len == (int)strlen(word) && memcmp(w.text, word, (size_t)w.len) == 0;
}

bool ptx_has_word(PtxWord w, const char *word) {
    for (const char *p = w.text, *end = p + w.len; p < end; p++)
        if ((p == w.text || p[-1] == '.') && ptx_begins((PtxWord){p, (int)(end - p)}, word))
            return true;
    return false;
}

/* ---- statements ---- */

static void skip_to(Reader *r, char c) {
    while (r->at < r->end && *r->at != c) r->at++;
    if (r->at < r->end) r->at++;
}

static void skip_space(Reader *r) {
    for (;;) {
        while (r->at < r->end && isspace((unsigned char)*r->at)) r->at++;
        if (r->end - r->at < 2 || r->at[0] != '/' || r->at[1] != '/') return;
        skip_to(r, '\n');
    }
}

static PtxWord read_word(Reader *r) {
    const char *start = r->at;
    while (r->at < r->end && !isspace((unsigned char)*r->at) && !strchr(";{}(,", *r->at)) {
        if (*r->at == ':' && (r->at + 1 == r->end || r->at[1] != ':')) break;
        r->at += *r->at == ':' ? 2 : 1; /* shared::cta */
        if (r->at > r->end) r->at = r->end;
    }
    return (PtxWord){start, (int)(r->at - start)};
}

static PtxWord read_rest(Reader *r) {
    skip_space(r);
    const char *start = r->at;
    skip_to(r, ';');
    const char *stop = r->at > start && r->at[-1] == ';' ? r->at - 1 : r->at;
    while (stop > start && isspace((unsigned char)stop[-1])) stop--;
    return (PtxWord){start, (int)(stop - start)};
}

static void read_line(Reader *r) {
    const char *p = r->at;
    skip_to(r, '\n');
    uint32_t number[2] = {0, 0}; /* file and line */
    for (int i = 0; i < 2; i++) {
        while (p < r->at && !isdigit((unsigned char)*p)) p++;
        for (; p < r->at && isdigit((unsigned char)*p); p++)
            number[i] = number[i] * 10 + (uint32_t)(*p - '0');
    }
    if (number[1]) r->line = number[1];
}

static PtxWord until_here(PtxWord begin, PtxWord rest) {
    return (PtxWord){begin.text, (int)(rest.text + rest.len - begin.text)};
}

static bool declares(PtxWord w) {
    return ptx_is(w, ".reg") || ptx_is(w, ".shared") || ptx_is(w, ".local") ||
           ptx_is(w, ".param") || ptx_is(w, ".global") || ptx_is(w, ".const");
}

static void read_directive(Reader *r, int scope) {
    PtxWord word = read_word(r);
    if (ptx_is(word, ".loc")) {
        read_line(r);
    } else {
        PtxDeclaration d = {until_here(word, read_rest(r)), scope};
        if (declares(word)) vec_push(r->a, &r->k->declarations, d);
    }
}

static void read_label(Reader *r, PtxWord name, int scope) {
    PtxLabel l = {name, {NULL, 0}, scope, r->k->insts.n};
    r->at++;
    skip_space(r);
    if (r->at < r->end && *r->at == '.') {
        const char *before = r->at;
        if (ptx_is(read_word(r), ".branchtargets"))
            l.targets = read_rest(r);
        else
            r->at = before;
    }
    vec_push(r->a, &r->k->labels, l);
}

/* What is between the braces of a kernel, from behind the first to behind the last. */
static void read_body(Reader *r) {
    int scope = 0;
    vec_push(r->a, &r->k->outer, -1);
    while (scope >= 0) {
        skip_space(r);
        if (r->at == r->end) return;
        char c = *r->at;
        if (c == '{') {
            vec_push(r->a, &r->k->outer, scope);
            scope = r->k->outer.n - 1;
            r->at++;
        } else if (c == '}') {
            scope = r->k->outer.at[scope];
            r->at++;
        } else if (c == ';' || c == ',' || c == '(') {
            r->at++;
        } else if (c == '.') {
            read_directive(r, scope);
        } else {
            PtxInst i = {.line = r->line, .scope = scope, .loop = -1, .back = -1};
            if (c == '@') {
                r->at++;
                i.guard = read_word(r);
                skip_space(r);
            }
            i.op = read_word(r);
            if (r->at < r->end && *r->at == ':') {
                read_label(r, i.op, scope);
                continue;
            }
            i.args = read_rest(r);
            vec_push(r->a, &r->k->insts, i);
        }
    }
}

int ptx_find_label(const PtxKernel *k, int scope, PtxWord name) {
    for (; scope >= 0; scope = k->outer.at[scope])
        for (int i = 0; i < k->labels.n; i++) {
            const PtxLabel *l = &k->labels.at[i];
            if (l->scope == scope && l->name.len == name.len &&
                memcmp(l->name.text, name.text, (size_t)name.len) == 0)
                return i;
        }
    return -1;
}

/* ---- files ---- */

/* What is between the parentheses: declarations with commas between them. */
static void read_params(Reader *r) {
    skip_space(r);
    if (r->at == r->end || *r->at != '(') return;
    while (r->at < r->end && *r->at != ')') {
        r->at++;
        skip_space(r);
        const char *begin = r->at;
        while (r->at < r->end && *r->at != ',' && *r->at != ')') r->at++;
        const char *stop = r->at;
        while (stop > begin && isspace((unsigned char)stop[-1])) stop--;
        PtxDeclaration d = {{begin, (int)(stop - begin)}, -1};
        if (d.text.len) vec_push(r->a, &r->k->params, d);
    }
    if (r->at < r->end) r->at++;
}

static void read_kernel(Reader *r, PtxFile *file) {
    PtxKernel k = {.name = {NULL, 0}};
    skip_space(r);
    k.name = read_word(r);
    *r = (Reader){.a = r->a, .at = r->at, .end = r->end, .k = &k};
    read_params(r);
    skip_to(r, '{');
    read_body(r);
    vec_push(r->a, &file->kernels, k);
}

/* .func (results) name (params) { }, or ; where its body stands elsewhere. */
static void read_function(Reader *r, PtxFile *file) {
    PtxKernel k = {.name = {NULL, 0}};
    *r = (Reader){.a = r->a, .at = r->at, .end = r->end, .k = &k};
    read_params(r);
    k.nresults = k.params.n;
    skip_space(r);
    k.name = read_word(r);
    read_params(r);
    for (skip_space(r); r->at < r->end && *r->at != '{' && *r->at != ';'; skip_space(r)) r->at++;
    bool has_body = r->at < r->end && *r->at == '{';
    if (r->at < r->end) r->at++;
    if (!has_body) return;
    read_body(r);
    vec_push(r->a, &file->functions, k);
}

PtxFile ptx_read(Arena *a, const char *text, size_t len) {
    PtxFile file = {0};
    Reader r = {.a = a, .at = text, .end = text + len};
    while (r.at < r.end) {
        skip_space(&r);
        PtxWord word = read_word(&r);
        if (!word.len && r.at < r.end) r.at++;
        if (ptx_is(word, ".entry")) {
            read_kernel(&r, &file);
        } else if (ptx_is(word, ".func")) {
            read_function(&r, &file);
        } else if (ptx_is(word, ".target")) {
            skip_space(&r);
            file.target = read_word(&r);
        } else if (ptx_is(word, ".shared") || ptx_is(word, ".global") || ptx_is(word, ".const")) {
            PtxDeclaration d = {until_here(word, read_rest(&r)), -1};
            vec_push(a, &file.declarations, d);
        }
    }
    return file;
}
