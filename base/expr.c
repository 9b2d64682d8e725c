/* expr.c: evaluates integer expressions straight from their text (see expr.h).
 *
 * Recursive descent, one function a level of precedence. Each returns a value and, once something
 * is wrong, does nothing more: `failed` is set and the first message stays. */
#include "base/expr.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct Reader {
    const char *text;
    size_t len, at;
    ExprLookup lookup;
    void *ctx;
    ExprError *err;
    int depth;
    bool failed;
} Reader;

__attribute__((format(printf, 3, 4))) static int64_t fail(Reader *r, size_t at, const char *fmt,
                                                          ...) {
    if (r->failed) return 0;
    r->failed = true;
    r->err->at = at;
    r->err->of_value = false;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(r->err->text, sizeof r->err->text, fmt, ap);
    va_end(ap);
    return 0;
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
static bool is_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c & 0x80);
}

static char peek(Reader *r) {
    while (r->at < r->len && (r->text[r->at] == ' ' || r->text[r->at] == '\t')) r->at++;
    return r->at < r->len ? r->text[r->at] : '\0';
}

static bool accept(Reader *r, char c) {
    if (peek(r) != c || r->at >= r->len) return false;
    r->at++;
    return true;
}

/* What is wrong is due to the values. */
static int64_t no_value(Reader *r, size_t at, const char *text) {
    bool first = !r->failed;
    fail(r, at, "%s", text);
    if (first) r->err->of_value = true;
    return 0;
}

static int64_t overflow(Reader *r, size_t at) {
    return no_value(r, at, "the value is too large");
}

static int64_t divide(Reader *r, size_t at, int64_t x, int64_t y, int64_t *rest) {
    *rest = 0;
    if (y == 0) return no_value(r, at, "division by zero");
    if (y == -1) return x == INT64_MIN ? overflow(r, at) : -x;
    int64_t q = x / y;
    *rest = x % y;
    if (*rest != 0 && (*rest < 0) != (y < 0)) { /* C rounds toward zero, Python down */
        q--;
        *rest += y;
    }
    return q;
}

static int64_t sum(Reader *r);

static int64_t number(Reader *r) {
    size_t start = r->at;
    int64_t v = 0;
    while (r->at < r->len && (is_digit(r->text[r->at]) || r->text[r->at] == '_')) {
        char c = r->text[r->at++];
        if (c == '_') continue;
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, c - '0', &v))
            return overflow(r, start);
    }
    if (r->at < r->len && (is_name(r->text[r->at]) || r->text[r->at] == '.'))
        return fail(r, start, "expected an integer");
    return v;
}

typedef enum Function { FN_CDIV, FN_MIN, FN_MAX, FUNCTIONS } Function;
static const char *const function_name[FUNCTIONS] = {"cdiv", "min", "max"};

/* After the opening parenthesis. */
static int64_t call(Reader *r, size_t start, Function fn) {
    int64_t v = sum(r);
    int n = 1;
    while (!r->failed && accept(r, ',')) {
        int64_t w = sum(r), rest;
        n++;
        if (r->failed) return 0;
        if (fn == FN_MIN)
            v = w < v ? w : v;
        else if (fn == FN_MAX)
            v = w > v ? w : v;
        else if (n == 2) {
            v = divide(r, start, v, w, &rest);
            if (rest != 0) v++; /* the quotient was rounded down, so there is room */
        }
    }
    if (!r->failed && !accept(r, ')')) return fail(r, r->at, "expected ')' or ','");
    if (fn == FN_CDIV && n != 2) return fail(r, start, "cdiv takes 2 arguments, not %d", n);
    if (n < 2) return fail(r, start, "%s takes 2 arguments or more", function_name[fn]);
    return v;
}

static int64_t name(Reader *r) {
    size_t start = r->at, last = r->at; /* of the last part of a dotted name */
    while (r->at < r->len) {
        char c = r->text[r->at];
        if (c == '.')
            last = r->at + 1;
        else if (!is_name(c) && !is_digit(c))
            break;
        r->at++;
    }
    const char *s = r->text + start;
    int len = (int)(r->at - start < 80 ? r->at - start : 80);
    size_t end = r->at;
    if (accept(r, '(')) { /* triton.cdiv and tl.cdiv are cdiv */
        for (int i = 0; i < FUNCTIONS; i++)
            if (strlen(function_name[i]) == end - last &&
                memcmp(function_name[i], r->text + last, end - last) == 0)
                return call(r, start, (Function)i);
        return fail(r, start, "there is no function '%.*s' here, only cdiv, min and max", len, s);
    }
    int64_t v = 0;
    ExprName known = r->lookup ? r->lookup(r->ctx, s, end - start, &v) : EXPR_UNKNOWN;
    if (known == EXPR_UNKNOWN) return fail(r, start, "unknown name '%.*s'", len, s);
    if (known == EXPR_NOT_INTEGER) return fail(r, start, "'%.*s' is not an integer", len, s);
    return v;
}

static int64_t primary(Reader *r) {
    if (r->failed) return 0;
    if (++r->depth > EXPR_MAX_DEPTH) return fail(r, r->at, "nested deeper than %d", EXPR_MAX_DEPTH);
    char c = peek(r);
    size_t at = r->at;
    int64_t v;
    if (accept(r, '-')) {
        v = primary(r);
        v = v == INT64_MIN ? overflow(r, at) : -v;
    } else if (accept(r, '+')) {
        v = primary(r);
    } else if (accept(r, '(')) {
        v = sum(r);
        if (!r->failed && !accept(r, ')')) fail(r, r->at, "expected ')'");
    } else if (is_digit(c)) {
        v = number(r);
    } else if (is_name(c)) {
        v = name(r);
    } else {
        v = fail(r, at,
                 r->at < r->len ? "expected a number or a name" : "the expression ends here");
    }
    r->depth--;
    return v;
}

static int64_t product(Reader *r) {
    int64_t v = primary(r);
    while (!r->failed) {
        char op = peek(r);
        size_t at = r->at;
        if (op != '*' && op != '/' && op != '%') break;
        r->at++;
        bool floor_division = op == '/' && r->at < r->len && r->text[r->at] == '/';
        if (floor_division) r->at++;
        int64_t w = primary(r), rest;
        if (r->failed) break;
        if (op == '*') {
            if (__builtin_mul_overflow(v, w, &v)) return overflow(r, at);
            continue;
        }
        int64_t q = divide(r, at, v, w, &rest);
        if (op == '/' && !floor_division && rest != 0) {
            fail(r, at, "%lld / %lld is not an integer; // rounds down", (long long)v,
                 (long long)w);
            r->err->of_value = true;
            return 0;
        }
        v = op == '%' ? rest : q;
    }
    return v;
}

static int64_t sum(Reader *r) {
    int64_t v = product(r);
    while (!r->failed) {
        char op = peek(r);
        size_t at = r->at;
        if (op != '+' && op != '-') break;
        r->at++;
        int64_t w = product(r);
        if (op == '+' ? __builtin_add_overflow(v, w, &v) : __builtin_sub_overflow(v, w, &v))
            return overflow(r, at);
    }
    return v;
}

int expr_eval_list(const char *text, size_t len, ExprLookup lookup, void *ctx, int64_t *out,
                   int max, ExprError *err) {
    Reader r = {.text = text, .len = len, .lookup = lookup, .ctx = ctx, .err = err};
    int n = 0;
    do {
        if (n > 0 && peek(&r) == '\0' && r.at >= r.len) break; /* a trailing comma, as in a tuple */
        if (n == max) fail(&r, r.at, "more than %d expression%s", max, max == 1 ? "" : "s");
        int64_t v = sum(&r);
        if (r.failed) return -1;
        out[n++] = v;
    } while (accept(&r, ','));
    peek(&r);
    if (r.at < r.len) {
        fail(&r, r.at, "unexpected '%.1s'", r.text + r.at);
        return -1;
    }
    return n;
}

bool expr_eval(const char *text, size_t len, ExprLookup lookup, void *ctx, int64_t *out,
               ExprError *err) {
    return expr_eval_list(text, len, lookup, ctx, out, 1, err) == 1;
}

/* <, <=, >, >=, ==, != as the outcomes that satisfy it: below 1, equal 2, above 4; 0: none of them.
 */
static int comparison(Reader *r) {
    static const struct {
        const char *sign;
        int outcomes;
    } row[] = {{"<=", 1 | 2}, {">=", 2 | 4}, {"==", 2}, {"!=", 1 | 4}, {"<", 1}, {">", 4}};
    peek(r);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        size_t n = strlen(row[i].sign);
        if (r->len - r->at < n || memcmp(r->text + r->at, row[i].sign, n)) continue;
        r->at += n;
        return row[i].outcomes;
    }
    fail(r, r->at, "expected a comparison: < <= > >= == !=");
    return 0;
}

bool expr_holds(const char *text, size_t len, ExprLookup lookup, void *ctx, bool *holds,
                ExprError *err) {
    Reader r = {.text = text, .len = len, .lookup = lookup, .ctx = ctx, .err = err};
    *holds = true;
    do {
        int64_t v = sum(&r);
        int outcomes = r.failed ? 0 : comparison(&r);
        int64_t w = sum(&r);
        if (r.failed) return false;
        *holds = *holds && (outcomes & (v < w ? 1 : v == w ? 2 : 4));
    } while (accept(&r, ','));
    peek(&r);
    if (r.at < r.len) fail(&r, r.at, "unexpected '%.1s'", r.text + r.at);
    return !r.failed;
}
