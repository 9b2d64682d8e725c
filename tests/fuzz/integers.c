/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* integers.c: tile-integers: random expressions of integers, on a device beside the interpreter.
 *
 *   tile-integers [--device=cpu|cuda[:N]] [--target=native|sm_80|…] [--expressions=N] [--seconds=N]
 *                 [--seed=S] [--jobs=N] [--one=S:E]
 *
 * A kernel, known by its seed, computes some dozens of expressions from tiles of every integer
 * type: operators, min and max, comparisons, shifts, divisions, casts, functions of bits,
 * reductions, loops of few turns with a counter that is -1, 0 and 1 in turn; a third of the numbers
 * are the ends of their types and powers of two. What nothing defines is left out: division by zero
 * and of the smallest by -1, shifts by the width. On a GPU, its results must be those of the same
 * source in the interpreter, bit for bit; on the CPU device, those of the tile IR after all passes
 * must, and all must become PTX. Ends after N expressions or seconds; N jobs share them. --one
 * keeps one expression of one kernel, and prints the source. Ends with `N passed, N failed`; exit
 * code 5 when an expression failed, 77 when there is no device. A kernel that does not end is one,
 * too. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "tests/run/values.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    TYPES = 8,
    INPUTS = 4, /* of each type */
    PER_KERNEL = 64,
    TEXT = 1 << 20,
    SCALARS = 3,
    PARAMS = 2 * TYPES + SCALARS,
    MOST_REPORTS = 20,
    KERNEL_SECONDS = 90
};

static const struct IntType {
    const char *name, *suffix;
    tile_type type;
    int bits;
    bool is_signed;
} types[TYPES] = {{"int8", "i8", TILE_I8, 8, true},       {"int16", "i16", TILE_I16, 16, true},
                  {"int32", "i32", TILE_I32, 32, true},   {"int64", "i64", TILE_I64, 64, true},
                  {"uint8", "u8", TILE_U8, 8, false},     {"uint16", "u16", TILE_U16, 16, false},
                  {"uint32", "u32", TILE_U32, 32, false}, {"uint64", "u64", TILE_U64, 64, false}};

typedef struct Writer { /* of a kernel's source */
    uint64_t rng;
    char text[TEXT];
    size_t len;
    bool mute;           /* what is written is dropped */
    bool in_loop;        /* `k` counts its turns */
    const char *carried; /* what the loop carries; NULL: nothing */
    const struct IntType *carried_type;
} Writer;

typedef struct Counts {
    long passed, failed;
} Counts;

typedef struct Progress { /* of a job, for who waits for it */
    pid_t pid;
    uint64_t seed; /* of the kernel that it is at */
    Counts counts;
} Progress;

typedef struct Job {
    const char *device, *target;
    uint64_t seed, step, only_seed;
    long kernels; /* to try */
    int only;     /* the one expression to keep; -1: all */
    bool show;    /* the source */
    double until; /* by the clock */
    Progress *progress;
    tile_context *cpu, *ctx;
    bool on_cpu;
} Job;

/* ---- the source ---- */

static uint32_t below(Writer *w, uint32_t n) {
    return (uint32_t)((random_bits(&w->rng) >> 20) % n);
}
static bool chance(Writer *w, uint32_t percent) {
    return below(w, 100) < percent;
}
static const struct IntType *any_type(Writer *w) {
    return &types[below(w, TYPES)];
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

static void expression(Writer *w, const struct IntType *t, int depth);

/* A number of type t that has a meaning as Python writes it there. */
static void literal(Writer *w, const struct IntType *t) {
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

static void leaf(Writer *w, const struct IntType *t) {
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
static void binary(Writer *w, const struct IntType *t, int depth) {
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

static void unary(Writer *w, const struct IntType *t, int depth) {
    static const char *const before[] = {"(-", "(~", "tl.abs(", "(-"};
    put(w, "%s", before[below(w, 4)]);
    expression(w, t, depth - 1);
    put(w, ")");
}

static void condition(Writer *w, int depth) {
    static const char *const names[] = {"<", "<=", ">", ">=", "==", "!="};
    const struct IntType *t = any_type(w);
    put(w, "(");
    expression(w, t, depth - 1);
    put(w, " %s ", names[below(w, 6)]);
    expression(w, t, depth - 1);
    put(w, ")");
}

static void choose(Writer *w, const struct IntType *t, int depth) {
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

static void shift(Writer *w, const struct IntType *t, int depth) {
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

static void divide(Writer *w, const struct IntType *t, int depth) {
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

static void cast(Writer *w, const struct IntType *t, int depth) {
    const struct IntType *from = any_type(w);
    bool bits = from->bits == t->bits && chance(w, 30);
    expression(w, from, depth - 1);
    put(w, ".to(tl.%s%s)", t->name, bits ? ", bitcast=True" : "");
}

/* What there is for 32 bits alone, or for 32 and 64; cast to t. */
static void function(Writer *w, const struct IntType *t, int depth) {
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
    const struct IntType *of = &types[(is_signed ? 2 : 6) + wide];
    put(w, "%s(", list[i].name);
    for (int k = 0; k < list[i].arity; k++) {
        if (k) put(w, ", ");
        expression(w, of, depth - 1);
    }
    put(w, ").to(tl.%s)", t->name);
}

/* Something combined with what a whole tile comes to. */
static void reduction(Writer *w, const struct IntType *t, int depth) {
    static const char *const names[] = {"max", "min", "sum", "xor_sum", "max", "min"};
    const struct IntType *of = any_type(w);
    put(w, "(");
    expression(w, t, depth - 1);
    put(w, " + tl.%s(", names[below(w, 6)]);
    expression(w, of, depth - 1);
    put(w, ", axis=0).to(tl.%s))", t->name);
}

/* Minimums and maximums in a row, which GPUs do three at a time. */
static void extremes(Writer *w, const struct IntType *t, int depth) {
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

static void expression(Writer *w, const struct IntType *t, int depth) {
    static const struct {
        uint32_t share;
        void (*write)(Writer *w, const struct IntType *t, int depth);
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
    const struct IntType *t = any_type(w), *out = any_type(w);
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
static void write_kernel(Writer *w, uint64_t seed, int only, int *size, int *warps) {
    w->rng = seed;
    w->rng = random_bits(&w->rng) ^ seed << 32; /* far from where other seeds begin */
    w->len = 0;
    *warps = 1 << below(w, 3);
    *size = 32 * *warps * (chance(w, 25) ? 4 : 1);
    put(w, "import triton\nimport triton.language as tl\n"
           "from triton.language.extra import libdevice\n\n\n@triton.jit\ndef k(");
    for (int i = 0; i < TYPES; i++)
        put(w, "p_%s: \"*%s:16\", o_%s: \"*%s:16\", ", types[i].suffix, types[i].suffix,
            types[i].suffix, types[i].suffix);
    put(w, "n: \"i32\", m: \"i64\", h: \"i16\", N: tl.constexpr = %d):\n", *size);
    put(w, "    i = tl.arange(0, N)\n");
    for (int i = 0; i < TYPES; i++)
        for (int k = 0; k < INPUTS; k++)
            put(w, "    x%d_%s = tl.load(p_%s + %d * N + i)\n", k, types[i].suffix, types[i].suffix,
                k);
    for (int e = 0; e < PER_KERNEL; e++) {
        w->mute = only >= 0 && e != only;
        statement(w, e);
    }
    w->mute = false;
}

/* ---- running ---- */

/* Some of the ends of a type, powers of two and what is next to them, and any bits. */
static uint64_t number(uint64_t *rng) {
    uint64_t r = random_bits(rng), bit = (uint64_t)1 << (r >> 8 & 63);
    switch (r & 15) {
    case 0: return 0;
    case 1: return 1;
    case 2: return UINT64_MAX;
    case 3: return bit;
    case 4: return bit - 1;
    case 5: return 0 - bit;
    case 6: return (uint64_t)1 << ((8 << (r >> 16 & 3)) - 1); /* the smallest of a signed type */
    case 7: return r >> 32 & 7;
    default: return random_bits(rng);
    }
}

typedef struct Memory { /* of one kernel */
    int size;
    void *in[TYPES];
    tile_arg scalar[SCALARS];
} Memory;

static size_t in_bytes(int type, int size) {
    return (size_t)(INPUTS * size * types[type].bits / 8);
}
static size_t out_bytes(int type, int size) {
    return (size_t)(PER_KERNEL * size * types[type].bits / 8);
}

static void *need(void *p) {
    if (p) return p;
    fprintf(stderr, "tile-integers: out of memory\n");
    exit(3);
}

static void make_memory(Memory *m, uint64_t seed, int size) {
    uint64_t rng = seed * 0xD1342543DE82EF95u + 7;
    m->size = size;
    for (int t = 0; t < TYPES; t++) {
        m->in[t] = need(malloc(in_bytes(t, size)));
        for (int i = 0; i < INPUTS * size; i++)
            bits_set(types[t].type, m->in[t], (size_t)i, number(&rng));
    }
    m->scalar[0] = tile_i32((int32_t)(random_bits(&rng) >> 40 & 7)); /* turns of loops */
    m->scalar[1] = tile_i64((int64_t)number(&rng));
    m->scalar[2] = tile_int(TILE_I16, (int16_t)number(&rng));
}

/* Compiles and runs the source; out[type] gets what it stored. NULL, or what went wrong. */
static const char *run(tile_context *ctx, const tile_compile_options *o, const Memory *m,
                       void **out) {
    static char message[4096];
    tile_compiled *compiled = NULL;
    tile_module *module = NULL;
    tile_kernel *kernel;
    tile_arg args[PARAMS];
    tile_ptr ptr[2 * TYPES] = {0};
    size_t size;
    message[0] = '\0';
    tile_status st = tile_compile(o, &compiled);
    if (st) {
        snprintf(message, sizeof message, "%s",
                 tile_compiled_text(compiled, TILE_PART_DIAGNOSTICS, NULL));
        tile_compiled_free(compiled);
        return message;
    }
    const char *text = tile_compiled_text(compiled, TILE_PART_OUTPUT, &size);
    st = tile_module_load(ctx, text, size, &module);
    tile_compiled_free(compiled);
    if (!st) st = tile_kernel_get(module, NULL, &kernel);
    for (int t = 0; t < TYPES && !st; t++) {
        st = tile_alloc(ctx, in_bytes(t, m->size), &ptr[2 * t]);
        if (!st) st = tile_copy_to_device(ctx, ptr[2 * t], m->in[t], in_bytes(t, m->size));
        if (!st) st = tile_alloc(ctx, out_bytes(t, m->size), &ptr[2 * t + 1]);
        if (!st) st = tile_fill(ctx, ptr[2 * t + 1], 0, out_bytes(t, m->size));
        args[2 * t] = tile_pointer(ptr[2 * t]);
        args[2 * t + 1] = tile_pointer(ptr[2 * t + 1]);
    }
    memcpy(args + (size_t)2 * TYPES, m->scalar, sizeof m->scalar);
    tile_grid one = {1, 1, 1};
    if (!st) st = tile_launch(kernel, &one, args, PARAMS, NULL);
    if (!st) st = tile_synchronize(ctx);
    for (int t = 0; t < TYPES && !st; t++)
        st = tile_copy_to_host(ctx, out[t], ptr[2 * t + 1], out_bytes(t, m->size));
    if (st) snprintf(message, sizeof message, "%s: %s", tile_status_text(st), tile_error(ctx));
    tile_module_unload(module);
    for (int i = 0; i < 2 * TYPES; i++) tile_free(ctx, ptr[i]);
    return st ? message : NULL;
}

/* The whole pipeline, as --passes takes it. */
static const char all_passes[] =
#define PASS(name, level, text) "," #name
#include "passes/passes.def"
#undef PASS
    ;

/* The type that expression e differs in, and the element; -1: none. */
static int differs(void **want, void **got, int size, int e, int *element) {
    for (int t = 0; t < TYPES; t++)
        for (int i = 0; i < size; i++) {
            size_t at = (size_t)e * (size_t)size + (size_t)i;
            if (bits_get(types[t].type, want[t], at) == bits_get(types[t].type, got[t], at))
                continue;
            *element = i;
            return t;
        }
    return -1;
}

/* Whether the source becomes PTX, for one target and the other in turn if none is named; what ptxas
 * makes of it a GPU has to say. */
static const char *assemble(tile_compile_options o, uint64_t seed) {
    static const char *const targets[] = {"sm_80", "sm_90a"};
    tile_compiled *out = NULL;
    if (!o.target) o.target = targets[seed % 2];
    o.passes = NULL;
    o.emit = TILE_EMIT_PTX;
    tile_status st = tile_compile(&o, &out);
    tile_compiled_free(out);
    return st ? "it becomes no PTX" : NULL;
}

static void try_kernel(Job *j, Writer *w, uint64_t seed) {
    int size, warps;
    j->progress->seed = seed;
    alarm(KERNEL_SECONDS); /* a loop may be endless on the device, or compile without end */
    write_kernel(w, seed, j->only, &size, &warps);
    if (j->show) fputs(w->text, stdout);
    Memory m;
    make_memory(&m, seed, size);
    void *want[TYPES], *got[TYPES];
    for (int t = 0; t < TYPES; t++) {
        want[t] = need(malloc(out_bytes(t, size)));
        got[t] = need(malloc(out_bytes(t, size)));
    }
    tile_compile_options o = {.source = w->text,
                              .source_len = w->len,
                              .file_name = "integers.tl",
                              .num_warps = warps,
                              .emit = TILE_EMIT_TIR,
                              .no_perf_notes = 1};
    const char *wrong = run(j->cpu, &o, &m, want);
    if (!wrong) {
        o.target = j->target;
        if (j->on_cpu) {
            o.passes = all_passes + 1;
            o.verify_each = 1;
        } else
            o.emit = TILE_EMIT_PTX;
        wrong = run(j->ctx, &o, &m, got);
        if (!wrong && j->on_cpu) wrong = assemble(o, seed);
    }
    int bad = 0;
    for (int e = 0; e < PER_KERNEL && !wrong; e++) {
        int i = 0, t = differs(want, got, size, e, &i);
        if (t < 0) continue;
        size_t at = (size_t)e * (size_t)size + (size_t)i;
        if (j->progress->counts.failed++ < MOST_REPORTS)
            printf("--one=%llu:%d: element %d is %lld, not %lld (stored as %s; %d elements, %d "
                   "warps)\n",
                   (unsigned long long)seed, e, i, (long long)bits_get(types[t].type, got[t], at),
                   (long long)bits_get(types[t].type, want[t], at), types[t].name, size, warps);
        bad++;
    }
    if (wrong) {
        printf("--one=%llu:-1: %s\n", (unsigned long long)seed, wrong);
        j->progress->counts.failed++;
    } else
        j->progress->counts.passed += (j->only >= 0 ? 1 : PER_KERNEL) - bad;
    fflush(stdout);
    for (int t = 0; t < TYPES; t++) {
        free(want[t]);
        free(got[t]);
        free(m.in[t]);
    }
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* An exit code. */
static int work(Job *j) {
    tile_status st = tile_context_create("cpu", &j->cpu);
    if (!st) st = tile_context_create(j->device, &j->ctx);
    if (st) {
        fprintf(stderr, "tile-integers: %s: %s\n", j->device, j->ctx ? tile_error(j->ctx) : "");
        return st == TILE_NO_DEVICE ? 77 : 5;
    }
    j->on_cpu = strcmp(tile_context_target(j->ctx), "cpu") == 0;
    if (strcmp(j->target, "native") == 0)
        j->target = j->on_cpu ? NULL : tile_context_target(j->ctx);
    Writer *w = need(malloc(sizeof *w));
    memset(w, 0, sizeof *w);
    for (long i = 0; i < j->kernels && now() < j->until; i++)
        try_kernel(j, w, j->seed + (uint64_t)i * j->step);
    free(w);
    tile_context_destroy(j->ctx);
    tile_context_destroy(j->cpu);
    return 0;
}

static int usage(const char *what) {
    fprintf(stderr,
            "tile-integers: %s\nusage: tile-integers [--device=cpu|cuda[:N]] "
            "[--target=native|sm_80|...] [--expressions=N] [--seconds=N] [--seed=S] [--jobs=N] "
            "[--one=S:E]\n",
            what);
    return 2;
}

static const char *option(const char *arg, const char *name) {
    size_t n = strlen(name);
    return strncmp(arg, name, n) == 0 ? arg + n : NULL;
}

int main(int argc, char **argv) {
    Job j = {.device = "cpu", .target = "native", .seed = 1, .step = 1, .only = -1};
    long expressions = 0, jobs = 1;
    double seconds = 0;
    const char *v;
    for (int i = 1; i < argc; i++) {
        if ((v = option(argv[i], "--device=")))
            j.device = v;
        else if ((v = option(argv[i], "--target=")))
            j.target = v;
        else if ((v = option(argv[i], "--expressions=")))
            expressions = strtol(v, NULL, 10);
        else if ((v = option(argv[i], "--seconds=")))
            seconds = strtod(v, NULL);
        else if ((v = option(argv[i], "--seed=")))
            j.seed = strtoull(v, NULL, 10);
        else if ((v = option(argv[i], "--jobs=")))
            jobs = strtol(v, NULL, 10);
        else if ((v = option(argv[i], "--one=")) && strchr(v, ':')) {
            j.seed = strtoull(v, NULL, 10);
            j.only = (int)strtol(strchr(v, ':') + 1, NULL, 10);
            expressions = 1;
            j.show = true;
        } else
            return usage(argv[i]);
    }
    if (jobs < 1 || jobs > 256 || expressions < 0 || seconds < 0) return usage("a number is wrong");
    if (!expressions && seconds == 0) expressions = 100L * PER_KERNEL;
    long kernels = (expressions + PER_KERNEL - 1) / PER_KERNEL;
    j.until = now() + (seconds > 0 ? seconds : 1e9);
    /* Jobs are processes: a driver compiles for one thread of a process at a time. */
    Progress *progress = mmap(NULL, (size_t)jobs * sizeof *progress, PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (progress == MAP_FAILED) return 3;
    for (long n = 0; n < jobs; n++) {
        Job mine = j;
        mine.seed = j.seed + (uint64_t)n;
        mine.step = (uint64_t)jobs;
        mine.kernels = expressions ? (kernels - n + jobs - 1) / jobs : INT32_MAX;
        mine.progress = &progress[n];
        pid_t pid = fork();
        if (pid == 0) _exit(work(&mine));
        progress[n].pid = pid;
    }
    int code = 0, status;
    for (pid_t pid; (pid = wait(&status)) > 0;) {
        int exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 5;
        code = exit_code > code ? exit_code : code;
        long n = 0;
        while (n < jobs && progress[n].pid != pid) n++;
        if (n == jobs || WIFEXITED(status)) continue;
        printf("--one=%llu:-1: signal %d (%d: no end within %d s)\n",
               (unsigned long long)progress[n].seed, WTERMSIG(status), SIGALRM, KERNEL_SECONDS);
        progress[n].counts.failed++;
    }
    Counts all = {0};
    for (long n = 0; n < jobs; n++) {
        all.passed += progress[n].counts.passed;
        all.failed += progress[n].counts.failed;
    }
    printf("%ld passed, %ld failed\n", all.passed, all.failed);
    return code ? code : all.failed ? 5 : 0;
}
