/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* math_expand.c: the text of an expansion -> ops.
 *
 *   body  = { names "=" expr ";" } "return" expr { "," expr } ";"
 *   names = NAME { "," NAME }           several: what a function of the table returns
 *   expr  = Python's, of  < <= > >= == !=  |  ^  &  << >>  + -  * /  unary -  calls  numbers
 *
 * Every operator is one op, every value has the shape of the operands. A number takes the type of
 * what it meets. Calls: fma select abs min max (NaN wins) umulhi div_rn; poly(x, c0, c1, …) =
 * c0 + c1 x + … with one fma for each c; i32 u32 i64 u64 f32 f64 convert, as_i32 … reinterpret;
 * the functions with an instruction (math_is_native); mul(x, y), a product that is not contracted
 * with a sum, as fma(x, y, -0.0). Any other is a function of the table, for the type of the first
 * operand, whose ops come in place of the call. repeat(n, f, a, …; x, …) is a loop of n times
 * a, … = f(a, …, x, …); branch(c, f, g; x, …) is f(x, …) where c holds and g(x, …) where it does
 * not, for each element by itself; g is right for all. */
#include "passes/math.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LOCALS = 96, MAX_ARGS = 32, MAX_RETURNS = 4, MAX_NESTING = 8 };

typedef struct Term { /* a value, or a number that waits for its type */
    Value *v;
    bool whole;
    int64_t i;
    double f;
} Term;

typedef struct Local {
    const char *name;
    size_t n;
    Value *v;
} Local;

typedef struct Expander {
    Builder *b;
    const MathFn *fn;
    Type shape;
    const char *at;
    Local local[MAX_LOCALS];
    int nlocals, depth;
    Value *result[MAX_RETURNS];
    int nresults;
    bool failed;
} Expander;

static Term none(Expander *e) {
    if (!e->failed)
        diag(&e->b->s->diags, E_BUG, e->b->span,
             "math: %s is malformed at '%.20s'; this is a bug in tilec", e->fn->name, e->at);
    e->failed = true;
    return (Term){.v = NULL};
}

static Term term(Value *v) {
    return (Term){.v = v};
}

/* ---- words ---- */

static void skip(Expander *e) {
    e->at += strspn(e->at, " ");
}

static bool accept(Expander *e, const char *word) {
    skip(e);
    size_t n = strlen(word);
    if (strncmp(e->at, word, n) != 0) return false;
    if (isalnum((unsigned char)word[n - 1]) && isalnum((unsigned char)e->at[n])) return false;
    e->at += n;
    return true;
}

static size_t name_length(const char *p) {
    size_t n = 0;
    if (!isalpha((unsigned char)*p)) return 0;
    while (isalnum((unsigned char)p[n]) || p[n] == '_') n++;
    return n;
}

static bool is_word(const char *p, size_t n, const char *word) {
    return strlen(word) == n && memcmp(p, word, n) == 0;
}

/* ---- types ---- */

static Type shaped(const Expander *e, Elem elem) {
    return type_with_elem(e->shape, elem);
}

static Value *typed(Expander *e, Term x, Type t) {
    if (x.v) return x.v;
    return x.whole ? ir_const_int(e->b, t, x.i) : ir_const_float(e->b, t, x.f);
}

/* Numbers among x take the type of the first value; false when there is none. */
static bool settle(Expander *e, const Term *x, int n, Value **out) {
    const Value *with = NULL;
    for (int i = 0; i < n && !with; i++) with = x[i].v;
    for (int i = 0; i < n && with; i++) out[i] = typed(e, x[i], with->type);
    return with != NULL;
}

static bool elem_of(const char *p, size_t n, Elem *out) {
    static const struct {
        const char *name;
        Elem elem;
    } names[] = {{"i32", EL_I32}, {"u32", EL_U32}, {"f32", EL_F32},
                 {"i64", EL_I64}, {"u64", EL_U64}, {"f64", EL_F64}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (is_word(p, n, names[i].name)) return *out = names[i].elem, true;
    return false;
}

/* ---- calls ---- */

static Value *poly(Expander *e, Term *x, int n) {
    Value *at = x[0].v;
    if (!at || n < 2) return NULL;
    Value *sum = typed(e, x[n - 1], at->type);
    for (int i = n - 2; i >= 1; i--) {
        Value *fma[] = {sum, at, typed(e, x[i], at->type)};
        sum = ir_op1(e->b, OP_FMA, fma, 3);
    }
    return sum;
}

static Value *select_op(Expander *e, Term *x, int n) {
    Value *v[3];
    if (n != 3 || !x[0].v || !settle(e, x + 1, 2, v + 1)) return NULL;
    v[0] = x[0].v;
    return ir_op1(e->b, OP_SELECT, v, 3);
}

static const struct OpName {
    const char *name;
    OpCode code;
    int noperands;
} op_names[] = {{"fma", OP_FMA, 3}, {"abs", OP_ABS, 1},       {"min", OP_MIN, 2},
                {"max", OP_MAX, 2}, {"umulhi", OP_UMULHI, 2}, {"div_rn", OP_DIV_RN, 2},
                {"mul", OP_FMA, 2}};

/* One op by its name; false when it is none. */
static bool call_op(Expander *e, const char *name, size_t n, Term *x, int nx, Value **out) {
    for (size_t i = 0; i < sizeof op_names / sizeof *op_names; i++) {
        const struct OpName *row = &op_names[i];
        if (!is_word(name, n, row->name)) continue;
        Value *v[3];
        *out = NULL;
        if (nx != row->noperands || !settle(e, x, nx, v)) return true;
        if (row->code == OP_FMA && nx == 2) v[2] = ir_const_float(e->b, v[0]->type, -0.0);
        *out = ir_op1(e->b, row->code, v, row->code == OP_FMA ? 3 : nx);
        if ((row->code == OP_MIN || row->code == OP_MAX) && type_is_float(v[0]->type))
            ir_set_attr(e->b->s, (*out)->def, AT_NAN, 1);
        return true;
    }
    for (MathFunc f = 0; f < MATHS; f++) {
        if (!is_word(name, n, attr_words(AT_FUNC)[f]) || nx != 1 || !x[0].v ||
            !math_is_native((Elem)x[0].v->type.elem, f))
            continue;
        *out = ir_unary(e->b, OP_MATH, x[0].v);
        ir_set_attr(e->b->s, (*out)->def, AT_FUNC, (int64_t)f);
        return true;
    }
    return false;
}

static bool run(Expander *e, Value *const *args, int nargs);

/* A function of the table: its ops here, its results in e->result. */
static bool call_table(Expander *e, const char *name, size_t n, Term *x, int nx) {
    Value *v[MAX_ARGS];
    if (!settle(e, x, nx, v) || e->depth == MAX_NESTING) return false;
    const MathFn *fn = math_find((Elem)v[0]->type.elem, name, n);
    if (!fn) return false;
    Expander inner = {.b = e->b, .fn = fn, .shape = e->shape, .depth = e->depth + 1};
    bool ok = run(&inner, v, nx);
    e->nresults = inner.nresults;
    memcpy(e->result, inner.result, sizeof e->result);
    e->failed |= inner.failed;
    return ok;
}

static Term expression(Expander *e, int level);

/* Expressions between commas; how many, 0 after an error. */
static int list(Expander *e, Term *x, int room) {
    int n = 0;
    do {
        if (n == room) return 0;
        x[n++] = expression(e, 0);
        if (e->failed) return 0;
    } while (accept(e, ","));
    return n;
}

/* repeat( has been read. */
static Term repeat(Expander *e) {
    Term times = expression(e, 0), x[MAX_ARGS];
    Value *v[MAX_ARGS], *range[3];
    if (e->failed || times.v || !accept(e, ",")) return none(e);
    skip(e);
    const char *name = e->at;
    size_t n = name_length(name);
    e->at += n;
    int carried = accept(e, ",") ? list(e, x, MAX_RETURNS) : 0, all = carried;
    if (carried && accept(e, ";")) all += list(e, x + carried, MAX_ARGS - carried);
    if (!carried || !settle(e, x, all, v) || !accept(e, ")")) return none(e);
    const MathFn *fn = math_find((Elem)v[0]->type.elem, name, n);
    if (!fn || e->depth == MAX_NESTING) return none(e);
    for (int i = 0; i < 3; i++)
        range[i] = ir_const_int(e->b, type_scalar(EL_I32), i == 1 ? times.i : i / 2);
    Op *loop = ir_for(e->b, range[0], range[1], range[2], v, carried);
    Builder b = {e->b->s, e->b->f, loop->region[0], NULL, e->b->span};
    for (int i = 0; i < carried; i++) v[i] = b.block->args[1 + i];
    Expander inner = {.b = &b, .fn = fn, .shape = e->shape, .depth = e->depth + 1};
    if (!run(&inner, v, all) || inner.nresults != carried) return none(e);
    ir_op(&b, OP_YIELD, inner.result, carried, NULL, 0, 0);
    memcpy(e->result, loop->result, (size_t)carried * sizeof(Value *));
    e->nresults = carried;
    return term(e->result[0]);
}

/* The name of a function of the table, for elem. */
static const MathFn *function_named(Expander *e, Elem elem) {
    skip(e);
    const char *name = e->at;
    size_t n = name_length(name);
    e->at += n;
    return math_find(elem, name, n);
}

/* One arm: what fn makes of the scalars v, handed on by the region. */
static bool arm(Expander *e, Block *region, const MathFn *fn, Value *const *v, int n) {
    Builder b = {e->b->s, e->b->f, region, NULL, e->b->span};
    Expander inner = {.b = &b, .fn = fn, .shape = v[0]->type, .depth = e->depth + 1};
    if (!run(&inner, v, n)) return false;
    ir_op(&b, OP_YIELD, inner.result, inner.nresults, NULL, 0, 0);
    e->nresults = inner.nresults;
    memcpy(e->result, inner.result, sizeof e->result);
    return true;
}

static Op *map_over(Expander *e, Value *const *v, int n, const Type *results, int nresults) {
    Op *map = ir_op(e->b, OP_MAP, v, n, results, nresults, 1);
    for (int i = 0; i < n; i++)
        ir_block_arg(e->b->s, e->b->f, map->region[0], type_element(v[i]->type), NULL);
    return map;
}

/* v[0]: the condition, v[1] … v[n]: tiles of one shape. The types of results are known when the
 * arms are made, so the regions move from an op without results to one with them, twice. */
static bool branch_of_tiles(Expander *e, const MathFn *const *fn, Value *const *v, int n) {
    Type types[2][MAX_RETURNS];
    Op *map = map_over(e, v, n + 1, NULL, 0);
    Value **arg = map->region[0]->args;
    Builder b = {e->b->s, e->b->f, map->region[0], NULL, e->b->span};
    Op *test = ir_op(&b, OP_IF, arg, 1, NULL, 0, 2);
    for (int i = 0; i < 2; i++)
        if (!arm(e, test->region[i], fn[i], arg + 1, n)) return false;
    int results = e->nresults;
    for (int i = 0; i < results; i++) {
        types[0][i] = e->result[i]->type;
        types[1][i] = shaped(e, (Elem)e->result[i]->type.elem);
    }
    Op *made = map_over(e, v, n + 1, types[1], results);
    Op *chosen = ir_op(&b, OP_IF, arg, 1, types[0], results, 2);
    ir_swap_regions(chosen, test);
    ir_erase(test);
    ir_op(&b, OP_YIELD, chosen->result, results, NULL, 0, 0);
    ir_swap_regions(made, map);
    ir_erase(map);
    memcpy(e->result, made->result, (size_t)results * sizeof(Value *));
    return true;
}

/* branch( has been read. */
static Term branch(Expander *e) {
    Term c = expression(e, 0), x[MAX_ARGS];
    Value *v[1 + MAX_ARGS] = {c.v};
    const MathFn *fn[2];
    for (int i = 0; i < 2; i++) {
        if (e->failed || !accept(e, ",")) return none(e);
        fn[i] = function_named(e, (Elem)e->shape.elem);
    }
    int n = accept(e, ";") ? list(e, x, MAX_ARGS) : 0;
    if (!c.v || !n || !fn[0] || !fn[1] || !settle(e, x, n, v + 1) || !accept(e, ")") ||
        e->depth == MAX_NESTING)
        return none(e);
    if (!e->shape.rank) {
        Expander inner = {.b = e->b, .fn = fn[1], .shape = e->shape, .depth = e->depth + 1};
        if (!run(&inner, v + 1, n)) return none(e);
        e->nresults = inner.nresults;
        memcpy(e->result, inner.result, sizeof e->result);
    } else if (!branch_of_tiles(e, fn, v, n)) {
        return none(e);
    }
    return term(e->result[0]);
}

static Term call(Expander *e, const char *name, size_t n) {
    Term x[MAX_ARGS];
    Elem elem;
    Value *v = NULL;
    if (is_word(name, n, "repeat")) return repeat(e);
    if (is_word(name, n, "branch")) return branch(e);
    int nx = list(e, x, MAX_ARGS);
    if (!nx || !accept(e, ")")) return none(e);
    e->nresults = 1;
    if (elem_of(name, n, &elem)) {
        if (!x[0].v)
            v = typed(e, x[0], shaped(e, elem));
        else
            v = x[0].v->type.elem == elem ? x[0].v
                                          : ir_given(e->b, OP_CAST, x[0].v, shaped(e, elem));
    } else if (n > 3 && memcmp(name, "as_", 3) == 0 && elem_of(name + 3, n - 3, &elem)) {
        if (x[0].v) v = ir_given(e->b, OP_BITCAST, x[0].v, shaped(e, elem));
    } else if (is_word(name, n, "poly")) {
        v = poly(e, x, nx);
    } else if (is_word(name, n, "select")) {
        v = select_op(e, x, nx);
    } else if (!call_op(e, name, n, x, nx, &v)) {
        if (!call_table(e, name, n, x, nx)) return none(e);
        return term(e->result[0]);
    }
    if (!v) return none(e);
    e->result[0] = v;
    return term(v);
}

/* ---- expressions ---- */

static Term number(Expander *e) {
    char *end, *whole_end;
    Term x = {.f = strtod(e->at, &end)};
    uint64_t bits = strtoull(e->at, &whole_end, 0);
    if (end == e->at) return none(e);
    x.whole = whole_end >= end || strncmp(e->at, "0x", 2) == 0;
    x.i = (int64_t)bits;
    e->at = x.whole ? whole_end : end;
    return x;
}

static Term primary(Expander *e) {
    skip(e);
    if (accept(e, "(")) {
        Term x = expression(e, 0);
        return accept(e, ")") ? x : none(e);
    }
    if (accept(e, "-")) {
        Term x = primary(e);
        if (e->failed) return x;
        if (x.v) return term(ir_unary(e->b, OP_NEG, x.v));
        return (Term){.whole = x.whole, .i = (int64_t)(0 - (uint64_t)x.i), .f = -x.f};
    }
    const char *name = e->at;
    size_t n = name_length(name);
    if (n == 0) return number(e);
    if (is_word(name, n, "inf") || is_word(name, n, "nan")) return number(e);
    e->at += n;
    if (*e->at == '(') {
        e->at++;
        return call(e, name, n);
    }
    for (int i = e->nlocals; i-- > 0;)
        if (e->local[i].n == n && memcmp(e->local[i].name, name, n) == 0)
            return term(e->local[i].v);
    e->at = name;
    return none(e);
}

static const struct Operator {
    const char *text; /* one that begins another comes after it */
    int level;
    OpCode code;
    Pred pred;
} operators[] = {
    {"<<", 4, OP_SHL, 0},       {">>", 4, OP_SHR, 0},       {"<=", 0, OP_CMP, PRED_LE},
    {">=", 0, OP_CMP, PRED_GE}, {"==", 0, OP_CMP, PRED_EQ}, {"!=", 0, OP_CMP, PRED_NE},
    {"<", 0, OP_CMP, PRED_LT},  {">", 0, OP_CMP, PRED_GT},  {"|", 1, OP_OR, 0},
    {"^", 2, OP_XOR, 0},        {"&", 3, OP_AND, 0},        {"+", 5, OP_ADD, 0},
    {"-", 5, OP_SUB, 0},        {"*", 6, OP_MUL, 0},        {"/", 6, OP_DIV, 0},
};
enum { OPERATORS = sizeof operators / sizeof operators[0], LEVELS = 7 };

static Term expression(Expander *e, int level) {
    if (level == LEVELS) return primary(e);
    Term x = expression(e, level + 1);
    while (!e->failed) {
        const struct Operator *op = NULL;
        skip(e);
        for (int i = 0; i < OPERATORS && !op; i++)
            if (strncmp(e->at, operators[i].text, strlen(operators[i].text)) == 0)
                op = &operators[i];
        if (!op || op->level != level) break;
        e->at += strlen(op->text);
        Term pair[2] = {x, expression(e, level + 1)};
        Value *v[2];
        if (e->failed || !settle(e, pair, 2, v)) return none(e);
        x = term(op->code == OP_CMP ? ir_cmp(e->b, op->pred, v[0], v[1])
                                    : ir_binary(e->b, op->code, v[0], v[1]));
    }
    return x;
}

/* ---- statements ---- */

static bool define(Expander *e, const char *name, size_t n, Value *v) {
    if (e->nlocals == MAX_LOCALS) return false;
    e->local[e->nlocals++] = (Local){name, n, v};
    return true;
}

static bool assignment(Expander *e) {
    const char *name[MAX_RETURNS];
    size_t len[MAX_RETURNS];
    int n = 0;
    do {
        skip(e);
        if (n == MAX_RETURNS || !(len[n] = name_length(e->at))) return false;
        name[n] = e->at;
        e->at += len[n++];
    } while (accept(e, ","));
    if (!accept(e, "=")) return false;
    Term x = expression(e, 0);
    if (e->failed || !x.v || (n > 1 && n != e->nresults)) return false;
    if (n == 1) return define(e, name[0], len[0], x.v);
    for (int i = 0; i < n; i++)
        if (!define(e, name[i], len[i], e->result[i])) return false;
    return true;
}

static bool finish(Expander *e) {
    Value *v[MAX_RETURNS];
    int n = 0;
    do {
        Term x = expression(e, 0);
        if (e->failed || n == MAX_RETURNS || !x.v) return false;
        v[n++] = x.v;
    } while (accept(e, ","));
    memcpy(e->result, v, (size_t)n * sizeof *v);
    e->nresults = n;
    return accept(e, ";");
}

static bool run(Expander *e, Value *const *args, int nargs) {
    int n = 0;
    for (e->at = e->fn->params; *e->at; n++) {
        skip(e);
        size_t len = name_length(e->at);
        if (n == nargs || !len || !define(e, e->at, len, args[n])) return none(e).v != NULL;
        e->at += len;
    }
    e->at = e->fn->body;
    while (n == nargs && !accept(e, "return"))
        if (!assignment(e) || !accept(e, ";")) return none(e).v != NULL;
    if (n != nargs || !finish(e)) return none(e).v != NULL;
    return true;
}

Value *math_expand(Builder *b, const MathFn *fn, Value *const *args, int nargs) {
    Expander e = {.b = b, .fn = fn, .shape = args[0]->type};
    return run(&e, args, nargs) ? e.result[0] : NULL;
}
