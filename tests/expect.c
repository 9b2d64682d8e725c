/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* expect.c: directives of a test file into expectations, and an output against them (expect.h).
 *
 * The one hard idea is the position: matches move through the output from top to bottom, each CHECK
 * from where the one before it ended, and a CHECK-NOT waits for the next match to know its range.
 */
#include "tests/expect.h"

#include <ctype.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

static void *must(void *p) {
    if (p) return p;
    fputs("tile-test: out of memory\n", stderr);
    exit(3);
}

static char *copy(const char *s, size_t n) {
    char *p = must(malloc(n + 1));
    memcpy(p, s, n);
    p[n] = 0;
    return p;
}

static char *trimmed(const char *s, const char *end) {
    while (s < end && (*s == ' ' || *s == '\t')) s++;
    while (end > s && isspace((unsigned char)end[-1])) end--;
    return copy(s, (size_t)(end - s));
}

/* ---- reading ---- */

/* Behind the comment sign that starts the line, or NULL when another thing does. */
static const char *comment_body(const char *line, const char *end) {
    while (line < end && (*line == ' ' || *line == '\t')) line++;
    if (line < end && *line == '#') return line + 1;
    if (end - line >= 2 && line[0] == '/' && line[1] == '/') return line + 2;
    return NULL;
}

static bool starts(const char *s, const char *end, const char *word) {
    size_t n = strlen(word);
    return (size_t)(end - s) >= n && memcmp(s, word, n) == 0;
}

static bool add_check(Expectations *e, CheckKind kind, int count, int line, const char *s,
                      const char *end, FILE *why) {
    char *text = trimmed(s, end);
    if (!*text || e->nchecks == MAX_CHECKS) {
        fprintf(why, "  line %d: %s\n", line, *text ? "too many CHECK lines" : "an empty CHECK");
        free(text);
        return false;
    }
    e->check[e->nchecks++] = (Check){kind, count, line, text};
    return true;
}

/* A line that is all comment: RUN, EXIT, CHECK…, EXPECT. Sets *known when it was one. */
static bool read_directive(Expectations *e, const char *s, const char *end, int line, bool *known,
                           FILE *why) {
    while (s < end && *s == ' ') s++;
    *known = true;
    if (starts(s, end, "RUN:")) {
        if (e->nruns < MAX_RUNS)
            e->run[e->nruns++] = trimmed(s + 4, end);
        else
            return fprintf(why, "  line %d: too many RUN lines\n", line), false;
        return true;
    }
    if (starts(s, end, "EXIT:")) {
        e->exit_code = atoi(s + 5);
        return true;
    }
    if (starts(s, end, "CHECK:")) return add_check(e, CHECK_PLAIN, 1, line, s + 6, end, why);
    if (starts(s, end, "CHECK-NEXT:")) return add_check(e, CHECK_NEXT, 1, line, s + 11, end, why);
    if (starts(s, end, "CHECK-NOT:")) return add_check(e, CHECK_NOT, 0, line, s + 10, end, why);
    if (starts(s, end, "CHECK-COUNT-")) {
        char *colon;
        long n = strtol(s + 12, &colon, 10);
        if (*colon == ':' && n > 0 && n < 100000)
            return add_check(e, CHECK_PLAIN, (int)n, line, colon + 1, end, why);
    }
    if (starts(s, end, "CHECK-")) {
        fprintf(why, "  line %d: no such directive: %.*s\n", line, (int)(end - s), s);
        return false;
    }
    *known = false;
    return true;
}

static bool add_diag(Expectations *e, const char *severity, int line, char *text, FILE *why) {
    if (e->ndiags == MAX_DIAGS) {
        fprintf(why, "  line %d: too many expected diagnostics\n", line);
        free(text);
        return false;
    }
    e->diag[e->ndiags++] = (ExpectedDiag){severity, line, text, false};
    if (strcmp(severity, "error") == 0) e->wants_errors = true;
    return true;
}

static const char *const severities[] = {"error", "warning", "perf", "note"};

/* `# error: text` and `# error@+1: text` anywhere in the line, one or more of them. */
static bool read_diags(Expectations *e, const char *line, const char *end, int number, FILE *why) {
    for (const char *p = line; p < end; p++) {
        const char *body = comment_body(p, end);
        if (!body || (*p != '#' && *p != '/')) continue;
        while (body < end && *body == ' ') body++;
        for (int k = 0; k < 4; k++) {
            if (!starts(body, end, severities[k])) continue;
            const char *q = body + strlen(severities[k]);
            int at = number;
            if (q < end && *q == '@') {
                char *after;
                if (starts(q, end, "@none"))
                    at = 0, q += 5;
                else
                    at += (int)strtol(q + 1, &after, 10), q = after;
            }
            if (q == end || *q != ':') continue;
            const char *stop = q + 1;
            while (stop < end && !starts(stop, end, " # ") && !starts(stop, end, " // ")) stop++;
            if (!add_diag(e, severities[k], at, trimmed(q + 1, stop), why)) return false;
            p = stop - 1;
            break;
        }
    }
    return true;
}

/* The EXPECT block: every following line that is a comment. */
static void read_exact(Expectations *e, const char *begin, const char *sign, const char *all_end) {
    e->has_exact = true;
    snprintf(e->exact_prefix, sizeof e->exact_prefix, "%s", *sign == '#' ? "#" : "//");
    e->exact_begin = (size_t)(begin - e->text);
    const char *p = begin;
    while (p < all_end && starts(p, all_end, e->exact_prefix)) {
        const char *nl = memchr(p, '\n', (size_t)(all_end - p));
        p = nl ? nl + 1 : all_end;
    }
    e->exact_end = (size_t)(p - e->text);
}

bool expect_read(Expectations *e, char *text, size_t len, FILE *why) {
    *e = (Expectations){.text = text, .len = len, .exit_code = -1};
    const char *end = text + len;
    int number = 0;
    for (const char *line = text; line < end;) {
        const char *nl = memchr(line, '\n', (size_t)(end - line)), *stop = nl ? nl : end;
        const char *next = nl ? nl + 1 : end;
        const char *body = comment_body(line, stop);
        bool known = false;
        number++;
        if (body && !read_directive(e, body, stop, number, &known, why)) return false;
        if (body && !known) {
            const char *s = body;
            while (s < stop && *s == ' ') s++;
            if (starts(s, stop, "EXPECT:")) {
                read_exact(e, next, body - 1, end);
                for (const char *p = next; p < e->text + e->exact_end; p++) number += *p == '\n';
                line = e->text + e->exact_end;
                continue;
            }
        }
        if (!known && !read_diags(e, line, stop, number, why)) return false;
        line = next;
    }
    if (e->exit_code < 0) e->exit_code = e->wants_errors ? 1 : 0;
    return true;
}

void expect_free(Expectations *e) {
    for (int i = 0; i < e->nruns; i++) free(e->run[i]);
    for (int i = 0; i < e->nchecks; i++) free(e->check[i].text);
    for (int i = 0; i < e->ndiags; i++) free(e->diag[i].text);
    free(e->text);
    *e = (Expectations){0};
}

/* ---- matching ---- */

/* A CHECK's text as a regular expression: outside {{…}} every character means itself, and a run of
 * spaces any run of spaces. */
static bool compile_pattern(const char *text, regex_t *re) {
    size_t size = strlen(text) * 8 + 1, n = 0;
    char *out = must(malloc(size));
    for (const char *p = text; *p;) {
        const char *close = p[0] == '{' && p[1] == '{' ? strstr(p + 2, "}}") : NULL;
        if (close) {
            n += (size_t)snprintf(out + n, size - n, "(%.*s)", (int)(close - p - 2), p + 2);
            p = close + 2;
        } else if (*p == ' ' || *p == '\t') {
            n += (size_t)snprintf(out + n, size - n, "[ \t]+");
            while (*p == ' ' || *p == '\t') p++;
        } else {
            if (strchr("\\.[]{}()*+?^$|", *p)) out[n++] = '\\';
            out[n++] = *p++;
        }
    }
    out[n] = 0;
    bool ok = regcomp(re, out, REG_EXTENDED | REG_NEWLINE) == 0;
    free(out);
    return ok;
}

static const char *line_end(const char *s) {
    const char *nl = strchr(s, '\n');
    return nl ? nl : s + strlen(s);
}

static void show_around(const char *at, FILE *why) {
    fprintf(why, "    searched from here:\n");
    for (int i = 0; i < 6 && *at; i++) {
        const char *end = line_end(at);
        fprintf(why, "      | %.*s\n", (int)(end - at), at);
        at = *end ? end + 1 : end;
    }
}

/* Finds the pattern at or after `from` and before `to` (NULL: the end). */
static bool find(const regex_t *re, const char *from, const char *to, const char **begin,
                 const char **end) {
    regmatch_t m[1];
    if (regexec(re, from, 1, m, 0)) return false;
    if (to && from + m[0].rm_so >= to) return false;
    *begin = from + m[0].rm_so;
    *end = from + m[0].rm_eo;
    return true;
}

/* CHECK-NOTs number first..last-1 against the range between two matches. */
static bool none_between(Expectations *e, int first, int last, const char *from, const char *to,
                         FILE *why) {
    bool ok = true;
    for (int i = first; i < last; i++) {
        regex_t re;
        const char *begin, *end;
        if (!compile_pattern(e->check[i].text, &re)) {
            fprintf(why, "  line %d: bad pattern: %s\n", e->check[i].line, e->check[i].text);
            ok = false;
            continue;
        }
        if (find(&re, from, to, &begin, &end)) {
            fprintf(why, "  line %d: CHECK-NOT matched: %s\n", e->check[i].line, e->check[i].text);
            show_around(begin, why);
            ok = false;
        }
        regfree(&re);
    }
    return ok;
}

/* One positive check from *at, which moves behind the match. */
static bool hold_one(const Check *c, const char **at, const char **match, FILE *why) {
    regex_t re;
    if (!compile_pattern(c->text, &re)) {
        fprintf(why, "  line %d: bad pattern: %s\n", c->line, c->text);
        return false;
    }
    bool ok = true;
    *match = NULL;
    for (int k = 0; k < c->count && ok; k++) {
        const char *from = *at, *to = NULL, *begin, *end;
        if (c->kind == CHECK_NEXT) {
            from = line_end(from);
            if (*from) from++;
            to = line_end(from) + 1;
        }
        ok = find(&re, from, to, &begin, &end);
        if (!ok) {
            fprintf(why, "  line %d: %s not found%s: %s\n", c->line,
                    c->kind == CHECK_NEXT ? "CHECK-NEXT" : "CHECK",
                    c->count > 1 ? " often enough" : "", c->text);
            show_around(from, why);
            break;
        }
        if (!*match) *match = begin;
        *at = end > begin || !*end ? end : end + 1;
    }
    regfree(&re);
    return ok;
}

static bool hold_checks(Expectations *e, const char *output, FILE *why) {
    const char *at = output;
    bool ok = true;
    int pending = 0; /* first CHECK-NOT since the last match */
    for (int i = 0; i < e->nchecks; i++) {
        if (e->check[i].kind == CHECK_NOT) continue;
        const char *from = at, *match;
        if (!hold_one(&e->check[i], &at, &match, why)) return false;
        ok &= none_between(e, pending, i, from, match, why);
        pending = i + 1;
    }
    return none_between(e, pending, e->nchecks, at, NULL, why) && ok;
}

/* `%s:12:5: error: text` or `%s: error: text` (line 0). */
static bool read_reported(const char *s, const char *end, int *line, const char **severity,
                          const char **text) {
    if (!starts(s, end, "%s:")) return false;
    s += 3;
    *line = 0;
    if (isdigit((unsigned char)*s)) {
        char *after;
        *line = (int)strtol(s, &after, 10);
        if (*after != ':') return false;
        strtol(after + 1, &after, 10);
        if (*after != ':') return false;
        s = after + 1;
    }
    while (s < end && *s == ' ') s++;
    for (int k = 0; k < 4; k++) {
        size_t n = strlen(severities[k]);
        if (!starts(s, end, severities[k]) || s[n] != ':') continue;
        *severity = severities[k];
        *text = s + n + 1;
        return true;
    }
    return false;
}

static bool contains(const char *s, const char *end, const char *word) {
    size_t n = strlen(word);
    for (; (size_t)(end - s) >= n; s++)
        if (memcmp(s, word, n) == 0) return true;
    return false;
}

static bool hold_diags(Expectations *e, const char *output, FILE *why) {
    bool ok = true;
    for (const char *s = output; *s;) {
        const char *end = line_end(s), *severity, *text;
        int line;
        if (read_reported(s, end, &line, &severity, &text)) {
            bool expected = false;
            for (int i = 0; i < e->ndiags && !expected; i++) {
                ExpectedDiag *d = &e->diag[i];
                if (d->met || d->severity != severity || d->line != line) continue;
                if (contains(text, end, d->text)) expected = d->met = true;
            }
            if (!expected && e->wants_errors && strcmp(severity, "error") == 0) {
                fprintf(why, "  not expected: %.*s\n", (int)(end - s), s);
                ok = false;
            }
        }
        s = *end ? end + 1 : end;
    }
    for (int i = 0; i < e->ndiags; i++) {
        ExpectedDiag *d = &e->diag[i];
        if (d->met) continue;
        fprintf(why, "  line %d: not reported: %s: %s\n", d->line, d->severity, d->text);
        ok = false;
    }
    return ok;
}

/* `output` as comment lines with the given sign. malloc'ed. */
static char *as_comment(const char *output, const char *sign) {
    size_t lines = 1;
    for (const char *s = output; *s; s++) lines += *s == '\n';
    size_t size = strlen(output) + lines * 4 + 2, n = 0;
    char *out = must(malloc(size));
    out[0] = 0;
    for (const char *s = output; *s;) {
        const char *end = line_end(s);
        n += (size_t)snprintf(out + n, size - n, "%s%s%.*s\n", sign, end > s ? " " : "",
                              (int)(end - s), s);
        s = *end ? end + 1 : end;
    }
    return out;
}

static bool hold_exact(const Expectations *e, const char *output, FILE *why) {
    char *want = copy(e->text + e->exact_begin, e->exact_end - e->exact_begin);
    char *have = as_comment(output, e->exact_prefix);
    const char *w = want, *h = have;
    bool same = strcmp(w, h) == 0;
    for (int line = 1, shown = 0; !same && (*w || *h) && shown < 10; line++) {
        const char *we = line_end(w), *he = line_end(h);
        if (we - w != he - h || memcmp(w, h, (size_t)(we - w))) {
            fprintf(why, "  output line %d\n    - %.*s\n    + %.*s\n", line, (int)(we - w), w,
                    (int)(he - h), h);
            shown++;
        }
        w = *we ? we + 1 : we;
        h = *he ? he + 1 : he;
    }
    free(want);
    free(have);
    return same;
}

bool expect_hold(Expectations *e, const char *output, FILE *why) {
    bool ok = hold_checks(e, output, why);
    ok &= hold_diags(e, output, why);
    if (e->has_exact) ok &= hold_exact(e, output, why);
    return ok;
}

char *expect_bless(const Expectations *e, const char *output) {
    char *block = as_comment(output, e->exact_prefix);
    size_t size = e->len + strlen(block) + 1;
    char *out = must(malloc(size));
    snprintf(out, size, "%.*s%s%s", (int)e->exact_begin, e->text, block, e->text + e->exact_end);
    free(block);
    return out;
}
