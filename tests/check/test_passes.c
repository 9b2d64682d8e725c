/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_passes.c: passes keep the meaning of a kernel, and the driver does what its options say.
 *
 * Random kernels that store every value they make are run in the interpreter, as generated and
 * after each pass and after all of them; what they store must agree bit for bit (any NaN is as good
 * as another). Every row of fold.def is also run on its own pattern, with values that matter. */
#include "check/random_ir.h"
#include "ir/target.h"
#include "passes/pass.h"
#include "tests/run_suite.h"

#include <check.h>
#include <stdio.h>

static bool run_passes(Session *s, Module *m, const char *list) {
    PassOptions o = {.passes = list, .level = 1, .verify_each = true, .target = &target_table[0]};
    return passes_run(s, m, &o);
}

static const char *first_error(const Session *s) {
    return s->diags.first ? s->diags.first->text : "no message";
}

/* ---- random kernels ---- */

static const char *const lists[] = {
    "fold",
    "cse",
    "dce",
    "licm",
    "combine",
    "fold,fold",
    "fold,cse,dce,licm,combine,dce",
    "licm,cse,combine,fold,dce",
};
enum { LISTS = sizeof lists / sizeof lists[0] };

typedef struct Outcome {
    int64_t *out;
    uint8_t *written;
} Outcome;

static Outcome run_kernel(Session *s, const Module *m, int64_t room, InterpArg *args,
                          uint64_t seed) {
    Outcome o;
    size_t bytes = (size_t)room * sizeof *o.out;
    o.out = arena_array(&s->arena, (size_t)room, sizeof *o.out);
    o.written = arena_alloc(&s->arena, bytes);
    float in[GEN_IN_COUNT];
    random_input(in);
    args[0].p = (uint64_t)(uintptr_t)o.out;
    args[1].p = (uint64_t)(uintptr_t)in;
    InterpBuffer buffers[] = {{"out", (uint8_t *)o.out, bytes, o.written, false},
                              {"in", (uint8_t *)in, sizeof in, NULL, false}};
    InterpLaunch launch = {.module = m,
                           .func = m->funcs,
                           .arg = args,
                           .buffer = buffers,
                           .nbuffers = 2,
                           .grid = {2, 1, 1},
                           .checks = CHECK_BOUNDS | CHECK_ALIGN | CHECK_UNINIT};
    bool ok = interp_run(s, &launch);
    ck_assert_msg(ok, "seed %llu: %s", (unsigned long long)seed, first_error(s));
    return o;
}

static bool same_element(Type t, int64_t a, int64_t b) {
    if (a == b) return true;
    if (!type_is_float(t)) return false;
    uint64_t mask = ~UINT64_C(0) >> (64 - 8 * type_elem_bytes(t));
    return isnan(elem_to_double((Elem)t.elem, (uint64_t)a & mask)) &&
           isnan(elem_to_double((Elem)t.elem, (uint64_t)b & mask));
}

static void compare(const Gen *g, Outcome want, Outcome have, uint64_t seed, const char *list) {
    for (int i = 0; i < g->stored.n; i++) {
        const Stored *at = &g->stored.at[i];
        for (int64_t k = 0; k < type_numel(at->v->type); k++) {
            int64_t n = at->at + k;
            ck_assert_msg(want.written[n * 8] == have.written[n * 8],
                          "seed %llu: after %s value %u is stored or not", (unsigned long long)seed,
                          list, at->v->id);
            ck_assert_msg(same_element(at->v->type, want.out[n], have.out[n]),
                          "seed %llu: after %s value %u [%lld] is %llx, not %llx",
                          (unsigned long long)seed, list, at->v->id, (long long)k,
                          (long long)have.out[n], (long long)want.out[n]);
        }
    }
}

static void run_seed(uint64_t seed, long *changed) {
    Session s;
    if (setjmp(s.bail)) {
        ck_abort_msg("seed %llu: ran out of memory", (unsigned long long)seed);
        return;
    }
    session_init(&s);
    Gen g = {.wild = true};
    Module *m = ir_module(&s);
    random_kernel(&g, m, seed, 40);
    InterpArg args[GEN_PARAMS] = {{0}};
    random_args(&g, args);
    Outcome want = run_kernel(&s, m, g.room, args, seed);
    Buf text = buf_new(&s.arena);
    ir_print(m, &text);
    for (int i = 0; i < LISTS; i++) {
        Module *copy = ir_parse(&s, text.data, text.len);
        ck_assert_msg(copy, "seed %llu: %s", (unsigned long long)seed, first_error(&s));
        ck_assert_msg(run_passes(&s, copy, lists[i]), "seed %llu: %s: %s", (unsigned long long)seed,
                      lists[i], first_error(&s));
        compare(&g, want, run_kernel(&s, copy, g.room, args, seed), seed, lists[i]);
        Buf after = buf_new(&s.arena);
        ir_print(copy, &after);
        changed[i] += strcmp(after.data, text.data) != 0;
    }
    session_free(&s);
}

START_TEST(random_kernels_keep_their_meaning) {
    enum { SEEDS = 150 };
    long changed[LISTS] = {0};
    for (uint64_t seed = 1; seed <= SEEDS; seed++) run_seed(seed, changed);
    for (int i = 0; i < LISTS; i++)
        ck_assert_msg(changed[i] > SEEDS / 20, "%s changed only %ld kernels of %d", lists[i],
                      changed[i], SEEDS);
}
END_TEST

/* ---- every row of fold.def ---- */

static const struct {
    const char *class_, *pattern;
} rows[] = {
#define FOLD(class_, pattern, result) {#class_, pattern},
#include "passes/fold.def"
#undef FOLD
};
enum { ROWS = sizeof rows / sizeof rows[0] };

typedef struct RowGen {
    Gen g;
    Value *letter[128];
    Elem x;   /* element of the pattern's values */
    int pick; /* which constants the capital letters stand for */
    const char *at;
} RowGen;

static Elem elem_for(const char *class_, const char *pattern, int n) {
    static const Elem ints[] = {EL_I32, EL_U8, EL_I64, EL_I1};
    static const Elem floats[] = {EL_F16, EL_F32, EL_F8E5M2, EL_F64};
    if (strncmp(pattern, "addptr", 6) == 0) return EL_I64;
    if (strcmp(class_, "FLOAT") == 0) return floats[n % 4];
    if (strcmp(class_, "BOOL") == 0) return EL_I1;
    if (strcmp(class_, "SIGNED") == 0) return n % 2 ? EL_I8 : EL_I32;
    if (strcmp(class_, "UNSIGNED") == 0) return n % 2 ? EL_U16 : EL_U64;
    return ints[n % 4];
}

static Value *row_tile(RowGen *r, Type t, uint64_t salt) {
    /* Elements that matter: 0, 1, -1, ends of the range; made of loads, so that nothing is known.
     */
    Builder *b = &r->g.b;
    Value *i = gen_range(&r->g, 0, 64);
    Type flat = i->type;
    Value *p = ir_given(b, OP_SPLAT, r->g.in, type_with_shape(r->g.in->type, flat));
    Value *k = ir_binary(b, OP_MUL, i, ir_const_int(b, flat, (int64_t)(2 * salt + 1)));
    k = ir_binary(b, OP_AND, ir_binary(b, OP_ADD, k, ir_const_int(b, flat, (int64_t)salt * 7)),
                  ir_const_int(b, flat, GEN_IN_COUNT - 1));
    Value *v = ir_op1(b, OP_LOAD, (Value *[]){ir_binary(b, OP_ADDPTR, p, k)}, 1);
    if (!type_is_float(t) || type_elem_bits(t) > 8) return ir_given(b, OP_CAST, v, t);
    /* By its bits: a conversion to fp8 makes no infinity. */
    return ir_given(b, OP_BITCAST, ir_given(b, OP_CAST, v, type_with_elem(t, EL_U8)), t);
}

/* Builds the pattern's tree; `as_bool`: an operand that must be a truth value. */
static Value *row_tree(RowGen *r, bool as_bool, bool as_pointer) {
    Builder *b = &r->g.b;
    int64_t n = 64;
    Type t = type_tile(as_bool ? EL_I1 : r->x, 1, &n);
    while (*r->at == ' ') r->at++;
    const char *at = r->at + (*r->at == '(');
    size_t len = strcspn(at, " ()");
    r->at = at + len;
    if (len == 1 && strchr("xyzmCD", *at)) {
        Value **v = &r->letter[(unsigned char)*at];
        if (*v) return *v;
        static const int64_t picks[][2] = {{3, 5}, {-1, 1}, {0, 7}, {2, -128}};
        if (*at == 'C' || *at == 'D')
            *v = ir_const_int(b, t, picks[r->pick][*at == 'D']);
        else if (as_pointer)
            *v = ir_given(b, OP_SPLAT, r->g.in, type_with_shape(r->g.in->type, t));
        else
            *v = row_tile(r, *at == 'm' ? type_with_elem(t, EL_I1) : t, (uint64_t)*at % 5);
        return *v;
    }
    if (*at == '-' || (*at >= '0' && *at <= '9'))
        return memchr(at, '.', len) ? ir_const_float(b, t, strtod(at, NULL))
                                    : ir_const_int(b, t, strtoll(at, NULL, 10));
    const char *dot = memchr(at, '.', len);
    size_t name = dot ? (size_t)(dot - at) : len;
    int code = 0;
    while (strlen(op_info[code].text) != name || memcmp(op_info[code].text, at, name) != 0) code++;
    Value *kid[3];
    int kids = 0;
    bool cmp = code == OP_CMP;
    while (*(r->at += strspn(r->at, " ")) && *r->at != ')') {
        kid[kids] = row_tree(r, (code == OP_SELECT && kids == 0) || (as_bool && !cmp),
                             code == OP_ADDPTR && kids == 0);
        kids++;
    }
    if (*r->at == ')') r->at++;
    Value *v = ir_op1(b, (OpCode)code, kid, kids);
    if (cmp) {
        const char *const *words = attr_words(AT_PRED);
        int pred = 0;
        while (strncmp(words[pred], dot + 1, 2) != 0) pred++;
        ir_set_attr(b->s, v->def, AT_PRED, pred);
    }
    return v;
}

static int count_code(const Func *f, OpCode code) {
    int n = 0;
    for (const Op *op = f->body->first; op; op = op->next) n += op->code == code;
    return n;
}

/* In `xor (cmp …) -1` the root is a truth value though x is not. */
static bool root_is_bool(const char *pattern) {
    return strncmp(pattern, "xor (cmp", 8) == 0;
}

static void run_row(int row, int variant) {
    Session s;
    if (setjmp(s.bail)) {
        ck_abort_msg("ran out of memory");
        return;
    }
    session_init(&s);
    Module *m = ir_module(&s);
    RowGen r = {.x = elem_for(rows[row].class_, rows[row].pattern, variant),
                .pick = variant,
                .at = rows[row].pattern};
    Func *f = random_kernel(&r.g, m, 1, 0);
    Op *end = f->body->last;
    r.g.b.before = end;
    Value *root = row_tree(&r, root_is_bool(rows[row].pattern), false);
    gen_store(&r.g, root);
    const char *wrong = ir_verify(&s, f, NULL);
    ck_assert_msg(!wrong, "%s: %s", rows[row].pattern, wrong);
    InterpArg args[GEN_PARAMS] = {{0}};
    random_args(&r.g, args);
    Outcome want = run_kernel(&s, m, r.g.room, args, (uint64_t)row);
    OpCode code = root->def->code;
    int before = count_code(f, code);
    ck_assert_msg(run_passes(&s, m, "fold,dce"), "%s: %s", rows[row].pattern, first_error(&s));
    compare(&r.g, want, run_kernel(&s, m, r.g.room, args, (uint64_t)row), (uint64_t)row,
            rows[row].pattern);
    Buf after = buf_new(&s.arena);
    ir_print(m, &after);
    /* With other constants an inner op may fold by another row, and leave the root as it is. */
    ck_assert_msg(variant != 0 || root->def->block == NULL,
                  "the row '%s' did not fold (%d %s before):\n%s", rows[row].pattern, before,
                  op_info[code].text, after.data);
    session_free(&s);
}

START_TEST(every_row_folds_and_is_right) {
    for (int row = 0; row < ROWS; row++)
        for (int variant = 0; variant < 4; variant++) run_row(row, variant);
}
END_TEST

/* ---- conversions of conversions ---- */

/* Every way from one element type over a second to a third, from values that matter. */
static void run_casts(Elem from) {
    Session s;
    if (setjmp(s.bail)) {
        ck_abort_msg("ran out of memory");
        return;
    }
    session_init(&s);
    Module *m = ir_module(&s);
    RowGen r = {.x = from};
    Func *f = random_kernel(&r.g, m, 1, 0);
    r.g.b.before = f->body->last;
    Value *x = row_tile(&r, type_tile(from, 1, (int64_t[]){64}), 0);
    for (Elem mid = EL_I1; mid < ELEMS; mid++)
        for (Elem to = EL_I1; to < ELEMS; to++) {
            Value *v = ir_given(&r.g.b, OP_CAST, x, type_with_elem(x->type, mid));
            gen_store(&r.g, ir_given(&r.g.b, OP_CAST, v, type_with_elem(x->type, to)));
        }
    InterpArg args[GEN_PARAMS] = {{0}};
    random_args(&r.g, args);
    Outcome want = run_kernel(&s, m, r.g.room, args, from);
    int before = count_code(f, OP_CAST);
    ck_assert_msg(run_passes(&s, m, "fold,dce"), "%s", first_error(&s));
    compare(&r.g, want, run_kernel(&s, m, r.g.room, args, from), from, elem_info[from].text);
    ck_assert_int_lt(count_code(f, OP_CAST), before);
    session_free(&s);
}

START_TEST(conversions_of_conversions) {
    for (Elem from = EL_I1; from < ELEMS; from++) run_casts(from);
}
END_TEST

/* ---- the driver ---- */

static const char small[] = "kernel @k(%p: ptr<i32>) num_warps=4 num_stages=3 {\n"
                            "  %a: i32 = const value=2\n"
                            "  %b: i32 = add %a, %a\n"
                            "  %unused: i32 = mul %b, %b\n"
                            "  store %p, %b\n"
                            "  return\n"
                            "}\n";

typedef struct DriverCase {
    const char *passes, *dump, *stop;
    int level;
    const char *has, *lacks; /* in what is dumped, and then printed or said */
} DriverCase;

static void drive(Session *s, const DriverCase *c, Buf *text) {
    Module *m = ir_parse(s, small, strlen(small));
    ck_assert(m != NULL);
    PassOptions o = {.passes = c->passes,
                     .dump_after = c->dump,
                     .stop_before = c->stop,
                     .level = c->level,
                     .verify_each = true,
                     .target = &target_table[0],
                     .dump = text};
    PassTiming timing[64];
    o.timing = timing;
    bool ok = passes_run(s, m, &o);
    for (int i = 0; i < o.ntimings; i++) buf_printf(text, "ran %s\n", timing[i].name);
    if (ok)
        ir_print(m, text);
    else
        diag_render(&s->diags, NULL, false, text);
}

static void run_driver(const DriverCase *c) {
    Session s;
    if (setjmp(s.bail)) {
        ck_abort_msg("ran out of memory");
        return;
    }
    session_init(&s);
    Buf text = buf_new(&s.arena);
    drive(&s, c, &text);
    ck_assert_msg(strstr(text.data, c->has), "no '%s' in:\n%s", c->has, text.data);
    ck_assert_msg(!c->lacks || !strstr(text.data, c->lacks), "'%s' in:\n%s", c->lacks, text.data);
    session_free(&s);
}

START_TEST(driver_options) {
    static const DriverCase cases[] = {
        {"", NULL, NULL, 1, "%b: i32 = add", "ran"},
        {"fold", NULL, NULL, 1, "value=4", "ran dce"},
        {"fold,dce", NULL, NULL, 0, "ran dce", "unused"},
        {"dce,fold", "dce", NULL, 1, "// after dce\n", "// after fold"},
        {"dce,fold", "all", NULL, 1, "// after fold\n", NULL},
        {NULL, NULL, "layout", 1, "ran combine", "ran layout"},
        {NULL, NULL, "dot", 0, "%b: i32 = add", "ran fold"},
        {"fold,licn", NULL, NULL, 1, "there is no pass 'licn'; did you mean 'licm'?", "kernel"},
        {NULL, "cs", NULL, 1, "there is no pass 'cs'", "kernel"},
        {NULL, NULL, "xyzzy", 1, "there is no pass 'xyzzy'", "kernel"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) run_driver(&cases[i]);
}
END_TEST

/* A chain as deep as this is folded, merged and dropped without recursion, in time. */
START_TEST(deep_chains) {
    enum { DEEP = 100000 };
    Session s;
    if (setjmp(s.bail)) {
        ck_abort_msg("ran out of memory");
        return;
    }
    session_init(&s);
    Module *m = ir_module(&s);
    Func *f = ir_func(m, "deep");
    Type t = type_scalar(EL_I32);
    Value *x = ir_param(&s, f, &(Param){.name = "x", .type = t, .divisible = 1});
    Value *p = ir_param(&s, f, &(Param){.name = "p", .type = type_pointer_to(t), .divisible = 1});
    Builder b = {.s = &s, .f = f, .block = f->body};
    Value *v = x;
    for (int i = 0; i < DEEP; i++) v = ir_binary(&b, OP_ADD, v, ir_const_int(&b, t, 1));
    ir_op(&b, OP_STORE, (Value *[]){p, v}, 2, NULL, 0, 0);
    ir_op(&b, OP_RETURN, NULL, 0, NULL, 0, 0);
    ck_assert(run_passes(&s, m, "cse,fold,cse,dce"));
    ck_assert_int_eq(count_code(f, OP_ADD), 1);
    ck_assert_int_eq(count_code(f, OP_CONST), 1);
    int64_t c = 0;
    ck_assert(ir_int_constant(ir_operand(f->body->last->prev->operand[1].value->def, 1), &c));
    ck_assert_int_eq(c, DEEP);
    session_free(&s);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("passes");
    TCase *tc = tcase_create("passes");
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, random_kernels_keep_their_meaning);
    tcase_add_test(tc, every_row_folds_and_is_right);
    tcase_add_test(tc, conversions_of_conversions);
    tcase_add_test(tc, driver_options);
    tcase_add_test(tc, deep_chains);
    return run_suite(suite, tc);
}
