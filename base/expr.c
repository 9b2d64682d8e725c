/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* expr.c: integer expressions -> postfix code, and running it (see expr.h).
 *
 * Recursive descent, one function a level of precedence. Each appends steps to the code and, once
 * something is wrong, does nothing more: `failed` is set and the first message stays. Every level
 * of nesting leaves at most three values waiting (of a sum, a product and a call), which bounds the
 * stack that running needs. */
#include "base/expr.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef enum OpKind {
    OP_CONST,
    OP_SLOT,
    OP_NEG,
    OP_ADD,
    OP_SUB,
    OP_MUL,
    OP_DIV, /* leaves no remainder */
    OP_FLOOR_DIV,
    OP_MOD,
    OP_CDIV,
    OP_MIN,
    OP_MAX,
    OP_END /* of one expression */
} OpKind;

enum { STACK = 3 * (EXPR_MAX_DEPTH + 2) };

typedef struct Reader {
    const char *text;
    size_t len, at;
    ExprLookup lookup;
    void *ctx;
    ExprError *err;
    ExprOp *op;
    int nops, max_ops;
    int depth;
    bool failed;
} Reader;

__attribute__((format(printf, 3, 4))) static int fail_at(ExprError *err, size_t at, const char *fmt,
                                                         ...) {
    err->at = at;
    err->of_value = false;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(err->text, sizeof err->text, fmt, ap);
    va_end(ap);
    return -1;
}

#define fail(r, at, ...)                                                                           \
    do {                                                                                           \
        if (!(r)->failed) fail_at((r)->err, (at), __VA_ARGS__);                                    \
        (r)->failed = true;                                                                        \
    } while (0)

static void emit(Reader *r, OpKind kind, size_t at, int64_t value) {
    if (r->failed) return;
    if (r->nops == r->max_ops)
        fail(r, at, "the expression has more than %d parts", r->max_ops);
    else
        r->op[r->nops++] = (ExprOp){(uint32_t)kind, (uint32_t)at, value};
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

static void sum(Reader *r);

static void number(Reader *r) {
    size_t start = r->at;
    int64_t v = 0;
    bool large = false;
    while (r->at < r->len && (is_digit(r->text[r->at]) || r->text[r->at] == '_')) {
        char c = r->text[r->at++];
        if (c == '_') continue;
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, c - '0', &v))
            large = true;
    }
    if (large) fail(r, start, "the value is too large");
    if (r->at < r->len && (is_name(r->text[r->at]) || r->text[r->at] == '.'))
        fail(r, start, "expected an integer");
    emit(r, OP_CONST, start, v);
}

static const struct {
    const char *name;
    OpKind kind;
    bool many; /* takes two or more, else two */
} function[] = {{"cdiv", OP_CDIV, false}, {"min", OP_MIN, true}, {"max", OP_MAX, true}};
enum { FUNCTIONS = sizeof function / sizeof *function };

/* After the opening parenthesis. */
static void call(Reader *r, size_t start, size_t fn) {
    sum(r);
    int n = 1;
    while (!r->failed && accept(r, ',')) {
        sum(r);
        emit(r, function[fn].kind, start, 0);
        n++;
    }
    if (!r->failed && !accept(r, ')')) fail(r, r->at, "expected ')' or ','");
    if (!function[fn].many && n != 2)
        fail(r, start, "%s takes 2 arguments, not %d", function[fn].name, n);
    if (n < 2) fail(r, start, "%s takes 2 arguments or more", function[fn].name);
}

static void name(Reader *r) {
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
        for (size_t i = 0; i < FUNCTIONS; i++)
            if (strlen(function[i].name) == end - last &&
                memcmp(function[i].name, r->text + last, end - last) == 0) {
                call(r, start, i);
                return;
            }
        fail(r, start, "there is no function '%.*s' here, only cdiv, min and max", len, s);
        return;
    }
    int64_t v = 0;
    switch (r->lookup ? r->lookup(r->ctx, s, end - start, &v) : EXPR_UNKNOWN) {
    case EXPR_UNKNOWN: fail(r, start, "unknown name '%.*s'", len, s); break;
    case EXPR_NOT_INTEGER: fail(r, start, "'%.*s' is not an integer", len, s); break;
    case EXPR_KNOWN: emit(r, OP_CONST, start, v); break;
    case EXPR_SLOT: emit(r, OP_SLOT, start, v); break;
    }
}

static void primary(Reader *r) {
    if (r->failed) return;
    if (++r->depth > EXPR_MAX_DEPTH) fail(r, r->at, "nested deeper than %d", EXPR_MAX_DEPTH);
    if (r->failed) return;
    char c = peek(r);
    size_t at = r->at;
    if (accept(r, '-')) {
        primary(r);
        emit(r, OP_NEG, at, 0);
    } else if (accept(r, '+')) {
        primary(r);
    } else if (accept(r, '(')) {
        sum(r);
        if (!r->failed && !accept(r, ')')) fail(r, r->at, "expected ')'");
    } else if (is_digit(c)) {
        number(r);
    } else if (is_name(c)) {
        name(r);
    } else {
        fail(r, at, r->at < r->len ? "expected a number or a name" : "the expression ends here");
    }
    r->depth--;
}

static void product(Reader *r) {
    primary(r);
    while (!r->failed) {
        char op = peek(r);
        size_t at = r->at;
        if (op != '*' && op != '/' && op != '%') break;
        r->at++;
        bool floor_division = op == '/' && r->at < r->len && r->text[r->at] == '/';
        if (floor_division) r->at++;
        primary(r);
        emit(r,
             op == '*'        ? OP_MUL
             : op == '%'      ? OP_MOD
             : floor_division ? OP_FLOOR_DIV
                              : OP_DIV,
             at, 0);
    }
}

static void sum(Reader *r) {
    product(r);
    while (!r->failed) {
        char op = peek(r);
        size_t at = r->at;
        if (op != '+' && op != '-') break;
        r->at++;
        product(r);
        emit(r, op == '+' ? OP_ADD : OP_SUB, at, 0);
    }
}

static Reader reader_of(const char *text, size_t len, ExprLookup lookup, void *ctx, ExprOp *op,
                        int max_ops, ExprError *err) {
    Reader r = {text, len, .lookup = lookup, .ctx = ctx, .err = err, .op = op, .max_ops = max_ops};
    if (len > UINT32_MAX) fail(&r, 0, "the expression is too long");
    return r;
}

static void unexpected(Reader *r) {
    char c = r->text[r->at];
    if (c >= ' ' && c <= '~')
        fail(r, r->at, "unexpected '%c'", c);
    else
        fail(r, r->at, "unexpected byte 0x%02x", (unsigned char)c);
}

int expr_compile(const char *text, size_t len, ExprLookup lookup, void *ctx, ExprOp *op,
                 int max_ops, int max, ExprError *err) {
    Reader r = reader_of(text, len, lookup, ctx, op, max_ops, err);
    int n = 0;
    do {
        if (n > 0 && peek(&r) == '\0' && r.at >= r.len) break; /* a trailing comma, as in a tuple */
        if (n == max) fail(&r, r.at, "more than %d expression%s", max, max == 1 ? "" : "s");
        sum(&r);
        emit(&r, OP_END, r.at, 0);
        if (r.failed) return -1;
        n++;
    } while (accept(&r, ','));
    peek(&r);
    if (r.at < r.len) unexpected(&r);
    if (r.failed) return -1;
    return r.nops;
}

/* A slot of no number: the code is not run. */
static ExprName any_name(void *ctx, const char *name, size_t len, int64_t *value) {
    (void)ctx, (void)name, (void)len;
    *value = 0;
    return EXPR_SLOT;
}

bool expr_check(const char *text, int max, ExprError *err) {
    ExprOp op[EXPR_MAX_OPS];
    size_t len = strlen(text);
    return (max ? expr_compile(text, len, any_name, NULL, op, EXPR_MAX_OPS, max, err)
                : expr_compile_conditions(text, len, any_name, NULL, op, EXPR_MAX_OPS, err)) >= 0;
}

/* ---- running ---- */

/* Python's division. False when there is no result. */
static bool divide(int64_t x, int64_t y, int64_t *q, int64_t *rest) {
    *rest = 0;
    if (y == 0 || (y == -1 && x == INT64_MIN)) return false;
    *q = x / y;
    *rest = x % y;
    if (*rest != 0 && (*rest < 0) != (y < 0)) { /* C rounds toward zero, Python down */
        --*q;
        *rest += y;
    }
    return true;
}

/* x and y, the second popped -> *v. False with *err filled. */
static bool apply(const ExprOp *op, int64_t x, int64_t y, int64_t *v, ExprError *err) {
    int64_t rest;
    bool fits = true;
    switch ((OpKind)op->kind) {
    case OP_ADD: fits = !__builtin_add_overflow(x, y, v); break;
    case OP_SUB: fits = !__builtin_sub_overflow(x, y, v); break;
    case OP_MUL: fits = !__builtin_mul_overflow(x, y, v); break;
    case OP_MIN: *v = y < x ? y : x; break;
    case OP_MAX: *v = y > x ? y : x; break;
    default:
        if (y == 0) return fail_at(err, op->at, "division by zero") >= 0;
        fits = divide(x, y, v, &rest);
        if (fits && op->kind == OP_DIV && rest != 0)
            return fail_at(err, op->at, "%lld / %lld is not an integer; // rounds down",
                           (long long)x, (long long)y) >= 0;
        if (op->kind == OP_MOD)
            *v = rest;
        else if (op->kind == OP_CDIV && rest != 0)
            ++*v; /* the quotient was rounded down, so there is room */
    }
    return fits || fail_at(err, op->at, "the value is too large") >= 0;
}

static int run(const ExprOp *op, int nops, int64_t (*slot)(const void *ctx, int64_t number),
               const void *ctx, int64_t *out, ExprError *err) {
    int64_t stack[STACK];
    int sp = 0, n = 0;
    for (int i = 0; i < nops; i++) {
        const ExprOp *o = &op[i];
        switch ((OpKind)o->kind) {
        case OP_CONST: stack[sp++] = o->value; break;
        case OP_SLOT: stack[sp++] = slot(ctx, o->value); break;
        case OP_END: out[n++] = stack[--sp]; break;
        case OP_NEG:
            if (stack[sp - 1] == INT64_MIN) return fail_at(err, o->at, "the value is too large");
            stack[sp - 1] = -stack[sp - 1];
            break;
        default:
            sp--;
            if (!apply(o, stack[sp - 1], stack[sp], &stack[sp - 1], err)) return -1;
        }
    }
    return n;
}

int expr_run(const ExprOp *op, int nops, int64_t (*slot)(const void *ctx, int64_t number),
             const void *ctx, int64_t *out, ExprError *err) {
    int n = run(op, nops, slot, ctx, out, err);
    if (n < 0) err->of_value = true;
    return n;
}

int expr_eval_list(const char *text, size_t len, ExprLookup lookup, void *ctx, int64_t *out,
                   int max, ExprError *err) {
    ExprOp op[EXPR_MAX_OPS];
    int n = expr_compile(text, len, lookup, ctx, op, EXPR_MAX_OPS, max, err);
    return n < 0 ? -1 : expr_run(op, n, NULL, NULL, out, err);
}

bool expr_eval(const char *text, size_t len, ExprLookup lookup, void *ctx, int64_t *out,
               ExprError *err) {
    return expr_eval_list(text, len, lookup, ctx, out, 1, err) == 1;
}

/* ---- conditions ---- */

/* Of a comparison, the outcomes that satisfy it; of NEAR there is none that does not. */
enum { BELOW = 1, EQUAL = 2, ABOVE = 4, NEAR = 8 };

static const struct {
    const char *sign;
    int outcomes;
} signs[] = {{"<=", BELOW | EQUAL}, {">=", EQUAL | ABOVE}, {"==", EQUAL}, {"!=", BELOW | ABOVE},
             {"<", BELOW},          {">", ABOVE},          {"~", NEAR}};
enum { SIGNS = sizeof signs / sizeof *signs };

/* One of the signs, as outcomes; 0: none of them. */
static int comparison(Reader *r) {
    peek(r);
    for (size_t i = 0; i < SIGNS; i++) {
        size_t n = strlen(signs[i].sign);
        if (r->len - r->at < n || memcmp(r->text + r->at, signs[i].sign, n)) continue;
        r->at += n;
        return signs[i].outcomes;
    }
    fail(r, r->at, "expected a comparison: < <= > >= == != or ~");
    return 0;
}

ExprStep expr_step(const ExprOp *op, const char **name) {
    static const char *const names[] = {
        [OP_NEG] = "neg", [OP_ADD] = "add",   [OP_SUB] = "sub",
        [OP_MUL] = "mul", [OP_DIV] = "div",   [OP_FLOOR_DIV] = "floordiv",
        [OP_MOD] = "mod", [OP_CDIV] = "cdiv", [OP_MIN] = "min",
        [OP_MAX] = "max", [OP_END] = ""};
    *name = op->kind <= OP_END ? names[op->kind] : NULL;
    for (size_t i = 0; op->kind == OP_END && i < SIGNS; i++)
        if (op->value == signs[i].outcomes) *name = signs[i].sign;
    return op->kind == OP_CONST  ? STEP_PUSH
           : op->kind == OP_SLOT ? STEP_PUSH_SLOT
           : op->kind == OP_NEG  ? STEP_UNARY
           : op->kind == OP_END  ? STEP_ENDS
                                 : STEP_BINARY;
}

int expr_compile_conditions(const char *text, size_t len, ExprLookup lookup, void *ctx, ExprOp *op,
                            int max_ops, ExprError *err) {
    if (max_ops > EXPR_MAX_OPS) max_ops = EXPR_MAX_OPS; /* as expr_test has room for */
    Reader r = reader_of(text, len, lookup, ctx, op, max_ops, err);
    do {
        sum(&r);
        emit(&r, OP_END, r.at, 0);
        int outcomes = r.failed ? 0 : comparison(&r);
        sum(&r);
        emit(&r, OP_END, r.at, outcomes);
        if (r.failed) return -1;
    } while (accept(&r, ','));
    peek(&r);
    if (r.at < r.len) unexpected(&r);
    return r.failed ? -1 : r.nops;
}

double expr_doublings(double x, double y) {
    return fabs(log2(((x > 0 ? x : 0) + 1) / ((y > 0 ? y : 0) + 1)));
}

bool expr_test(const ExprOp *op, int nops, int64_t (*slot)(const void *ctx, int64_t number),
               const void *ctx, ExprVerdict *out, ExprError *err) {
    int64_t value[EXPR_MAX_OPS / 2]; /* an expression has an end and something before it */
    *out = (ExprVerdict){.holds = true};
    if (expr_run(op, nops, slot, ctx, value, err) < 0) return false;
    for (int i = 0, n = 0; i < nops; i++) {
        if (op[i].kind != OP_END || ++n % 2) continue;
        int64_t x = value[n - 2], y = value[n - 1];
        out->has_sizes = out->has_sizes || op[i].value == NEAR;
        if (op[i].value == NEAR)
            out->doublings += expr_doublings((double)x, (double)y);
        else if (out->holds && !(op[i].value & (x < y ? BELOW : x == y ? EQUAL : ABOVE)))
            out->holds = false, out->first = n / 2 - 1, out->left = x, out->right = y;
    }
    return true;
}

bool expr_judge(const char *text, size_t len, ExprLookup lookup, void *ctx, ExprVerdict *out,
                ExprError *err) {
    ExprOp op[EXPR_MAX_OPS];
    int n = expr_compile_conditions(text, len, lookup, ctx, op, EXPR_MAX_OPS, err);
    return n >= 0 && expr_test(op, n, NULL, NULL, out, err);
}
