/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* integers_source.c: a seed -> a kernel of random integer expressions, as text (see integers.c). */
#include "tests/fuzz/integers.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

const IntType int_types[TYPES] = {
    {"int8", "i8", TILE_I8, 8, true},       {"int16", "i16", TILE_I16, 16, true},
    {"int32", "i32", TILE_I32, 32, true},   {"int64", "i64", TILE_I64, 64, true},
    {"uint8", "u8", TILE_U8, 8, false},     {"uint16", "u16", TILE_U16, 16, false},
    {"uint32", "u32", TILE_U32, 32, false}, {"uint64", "u64", TILE_U64, 64, false}};

static uint32_t below(Writer *w, uint32_t n) {
    return (uint32_t)((random_bits(&w->rng) >> 20) % n);
}
static bool chance(Writer *w, uint32_t percent) {
    return below(w, 100) < percent;
}
static const IntType *any_type(Writer *w) {
    return &int_types[below(w, TYPES)];
}

__attribute__((format(printf, 2, 3))) static void put(Writer *w, const char *format, ...) {
    if (w->mute) return;
    va_list ap;
    va_start(ap, format);
    int n = vsnprintf(w->text + w->len, TEXT - w->len, format, ap);
    va_end(ap);
    if (n < 0 || (size_t)n >= TEXT - w->len) {
        fprintf(stderr, "tile-integers: a kernel is too long\n");
        exit(4);
    }
    w->len += (size_t)n;
}

static void expression(Writer *w, const IntType *t, int depth);

/* A number of type t that has a meaning as Python writes it there. */
static void literal(Writer *w, const IntType *t) {
    int64_t top = t->bits >= 32 ? INT32_MAX : ((int64_t)1 << (t->bits - t->is_signed)) - 1;
    switch (below(w, 4)) {
    case 0: put(w, "%d", (int)below(w, 4)); return;
    case 1:
        put(w, "%lld", (long long)((int64_t)1 << below(w, (uint32_t)t->bits < 32 ? 7 : 31)));
        return;
    case 2: put(w, "%lld", (long long)top); return;
    default:
        if (t->is_signed)
            put(w, "(%lld)", (long long)-(int64_t)below(w, 100) - (chance(w, 30) ? top - 99 : 0));
        else
            put(w, "%d", (int)below(w, 100));
    }
}

static void leaf(Writer *w, const IntType *t) {
    uint32_t kind = below(w, 100);
    if (w->carried && w->carried_type == t && kind < 40)
        put(w, "%s", w->carried);
    else if (w->in_loop && kind < 60)
        put(w, "tl.full((N,), k, tl.%s)", t->name);
    else if (kind < 70)
        put(w, "x%d_%s", (int)below(w, INPUTS), t->suffix);
    else if (kind < 85) {
        put(w, "tl.full((N,), ");
        literal(w, t);
        put(w, ", tl.%s)", t->name);
    } else
        put(w, "tl.full((N,), %s, tl.%s)", (const char *const[]){"n", "m", "h"}[below(w, SCALARS)],
            t->name);
}

/* (a OP b), (a OP literal) or f(a, b) of one type. */
static void binary(Writer *w, const IntType *t, int depth) {
    static const char *const names[] = {"+",          "-",          "*",          "&",
                                        "|",          "^",          "tl.minimum", "tl.maximum",
                                        "tl.minimum", "tl.maximum", "-",          "+"};
    const char *name = names[below(w, sizeof names / sizeof *names)];
    bool call = name[0] == 't', number = !call && chance(w, 20);
    put(w, call ? "%s(" : "(", name);
    expression(w, t, depth - 1);
    if (call)
        put(w, ", ");
    else
        put(w, " %s ", name);
    if (number)
        literal(w, t);
    else
        expression(w, t, depth - 1);
    put(w, ")");
}

static void unary(Writer *w, const IntType *t, int depth) {
    static const char *const before[] = {"(-", "(~", "tl.abs(", "(-"};
    put(w, "%s", before[below(w, 4)]);
    expression(w, t, depth - 1);
    put(w, ")");
}

static void condition(Writer *w, int depth) {
    static const char *const names[] = {"<", "<=", ">", ">=", "==", "!="};
    const IntType *t = any_type(w);
    put(w, "(");
    expression(w, t, depth - 1);
    put(w, " %s ", names[below(w, 6)]);
    expression(w, t, depth - 1);
    put(w, ")");
}

static void choose(Writer *w, const IntType *t, int depth) {
    put(w, "tl.where(");
    condition(w, depth);
    if (chance(w, 20)) {
        put(w, " %s ", chance(w, 50) ? "&" : "|");
        condition(w, depth);
    }
    put(w, ", ");
    expression(w, t, depth - 1);
    put(w, ", ");
    expression(w, t, depth - 1);
    put(w, ")");
}

static void shift(Writer *w, const IntType *t, int depth) {
    put(w, "(");
    expression(w, t, depth - 1);
    put(w, " %s ", chance(w, 50) ? "<<" : ">>");
    if (chance(w, 50))
        put(w, "%d)", (int)below(w, (uint32_t)t->bits));
    else {
        put(w, "(");
        expression(w, t, depth - 1);
        put(w, " & %d))", t->bits - 1);
    }
}

static void divide(Writer *w, const IntType *t, int depth) {
    if (t->bits == 64 && chance(w, 75)) { /* a hundred instructions each */
        shift(w, t, depth);
        return;
    }
    put(w, "(");
    expression(w, t, depth - 1);
    put(w, " %s ", chance(w, 50) ? "//" : "%");
    if (chance(w, 50))
        put(w, "%d)", 1 + (int)below(w, 100));
    else {
        put(w, "((");
        expression(w, t, depth - 1);
        put(w, " & %d) | 1))", chance(w, 50) ? 126 : 6);
    }
}

static void cast(Writer *w, const IntType *t, int depth) {
    const IntType *from = any_type(w);
    bool bits = from->bits == t->bits && chance(w, 30);
    expression(w, from, depth - 1);
    put(w, ".to(tl.%s%s)", t->name, bits ? ", bitcast=True" : "");
}

/* What there is for 32 bits alone, or for 32 and 64; cast to t. */
static void function(Writer *w, const IntType *t, int depth) {
    static const struct {
        const char *name;
        int arity;
        bool wide; /* for 64 bits, too */
        bool any;  /* signed as well as not */
    } list[] = {{"tl.umulhi", 2, true, true},        {"libdevice.popc", 1, true, true},
                {"libdevice.clz", 1, true, true},    {"libdevice.ffs", 1, true, true},
                {"libdevice.brev", 1, true, true},   {"libdevice.mulhi", 2, false, true},
                {"libdevice.mul24", 2, false, true}, {"libdevice.hadd", 2, false, true},
                {"libdevice.rhadd", 2, false, true}};
    uint32_t i = below(w, sizeof list / sizeof *list);
    bool is_signed = chance(w, 50), wide = list[i].wide && chance(w, 30);
    const IntType *of = &int_types[(is_signed ? 2 : 6) + wide];
    put(w, "%s(", list[i].name);
    for (int k = 0; k < list[i].arity; k++) {
        if (k) put(w, ", ");
        expression(w, of, depth - 1);
    }
    put(w, ").to(tl.%s)", t->name);
}

/* Something combined with what a whole tile comes to. */
static void reduction(Writer *w, const IntType *t, int depth) {
    static const char *const names[] = {"max", "min", "sum", "xor_sum", "max", "min"};
    const IntType *of = any_type(w);
    put(w, "(");
    expression(w, t, depth - 1);
    put(w, " + tl.%s(", names[below(w, 6)]);
    expression(w, of, depth - 1);
    put(w, ", axis=0).to(tl.%s))", t->name);
}

/* Minimums and maximums in a row, which GPUs do three at a time. */
static void extremes(Writer *w, const IntType *t, int depth) {
    const char *name = chance(w, 50) ? "tl.minimum" : "tl.maximum";
    int n = 2 + (int)below(w, 3);
    for (int i = 0; i < n; i++) put(w, "%s(", name);
    expression(w, t, depth - 2);
    for (int i = 0; i < n; i++) {
        put(w, ", ");
        if (chance(w, 50))
            unary(w, t, depth - 1);
        else
            expression(w, t, depth - 2);
        put(w, ")");
    }
}

static void expression(Writer *w, const IntType *t, int depth) {
    static const struct {
        uint32_t share;
        void (*write)(Writer *w, const IntType *t, int depth);
    } forms[] = {{39, binary}, {15, unary}, {11, choose},  {9, shift},
                 {5, divide},  {11, cast},  {3, function}, {1, reduction}};
    if (depth <= 0) {
        leaf(w, t);
        return;
    }
    uint32_t at = below(w, 100);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (at < forms[i].share) {
            forms[i].write(w, t, depth);
            return;
        }
        at -= forms[i].share;
    }
    extremes(w, t, depth);
}

/* Statements that leave one tile in v, and the store of it. */
static void statement(Writer *w, int number) {
    const IntType *t = any_type(w), *out = any_type(w);
    int depth = 3 + (int)below(w, 4); /* 3 to 6 */
    put(w, "    v = ");
    expression(w, t, depth);
    put(w, "\n");
    if (chance(w, 25)) {
        static const char *const turns[] = {"-1, 2", "3", "-2, n", "0, n, 2", "2, -2, -1"};
        put(w, "    for k in range(%s):\n        v = ", turns[below(w, 5)]);
        w->in_loop = true;
        w->carried = "v";
        w->carried_type = t;
        expression(w, t, 2 + (int)below(w, 2));
        w->in_loop = false;
        w->carried = NULL;
        put(w, "\n");
    }
    put(w, "    tl.store(o_%s + %d * N + i, v.to(tl.%s))\n", out->suffix, number, out->name);
}

/* The source of a kernel; *size and *warps are how it runs. */
void write_kernel(Writer *w, uint64_t seed, int only, int *size, int *warps) {
    w->rng = seed;
    w->rng = random_bits(&w->rng) ^ seed << 32; /* far from where other seeds begin */
    w->len = 0;
    *warps = 1 << below(w, 3);
    *size = 32 * *warps * (chance(w, 25) ? 4 : 1);
    put(w, "import triton\nimport triton.language as tl\n"
           "from triton.language.extra import libdevice\n\n\n@triton.jit\ndef k(");
    for (int i = 0; i < TYPES; i++)
        put(w, "p_%s: \"*%s:16\", o_%s: \"*%s:16\", ", int_types[i].suffix, int_types[i].suffix,
            int_types[i].suffix, int_types[i].suffix);
    put(w, "n: \"i32\", m: \"i64\", h: \"i16\", N: tl.constexpr = %d):\n", *size);
    put(w, "    i = tl.arange(0, N)\n");
    for (int i = 0; i < TYPES; i++)
        for (int k = 0; k < INPUTS; k++)
            put(w, "    x%d_%s = tl.load(p_%s + %d * N + i)\n", k, int_types[i].suffix,
                int_types[i].suffix, k);
    for (int e = 0; e < PER_KERNEL; e++) {
        w->mute = only >= 0 && e != only;
        statement(w, e);
    }
    w->mute = false;
}
