/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_axis.c: what axis analysis claims of a value is held against the values themselves.
 *
 * Random kernels run in the interpreter with random arguments that keep the parameters' promises;
 * every element of every value is looked at. Being right is not enough: the second half says how
 * much the analysis must find where it matters, in the shapes that real kernels have. */
#include "check/random_ir.h"
#include "ir/analysis/axis.h"
#include "tests/run_suite.h"

#include <check.h>
#include <stdio.h>

typedef struct Tally {
    long values, contiguous, divisible, constant_runs;
} Tally;

/* ---- the claims about one value ---- */

static int64_t dim_stride(Type t, int dim) {
    int64_t n = 1;
    for (int i = dim + 1; i < t.rank; i++) n *= type_dim(t, i);
    return n;
}

static void check_dim(const Value *v, const AxisInfo *info, int dim, const int64_t *at,
                      uint64_t seed) {
    Type t = v->type;
    int64_t size = t.rank ? type_dim(t, dim) : 1, stride = t.rank ? dim_stride(t, dim) : 1;
    int64_t unit = t.depth ? type_elem_bytes(type_pointee(t)) : 1;
    int64_t c = info->contiguity[dim], d = info->divisibility[dim], k = info->constancy[dim];
    ck_assert_msg(c >= 1 && c <= size && k >= 1 && k <= size, "seed %llu: value %u: runs beyond it",
                  (unsigned long long)seed, v->id);
    for (int64_t i = 0; i < type_numel(t); i++) {
        int64_t x = i / stride % size;
        if (x % c == 0)
            ck_assert_msg(at[i] % d == 0, "seed %llu: value %u [%lld] = %lld: no multiple of %lld",
                          (unsigned long long)seed, v->id, (long long)i, (long long)at[i],
                          (long long)d);
        else
            ck_assert_msg(at[i] == at[i - stride] + unit,
                          "seed %llu: value %u [%lld] = %lld after %lld: no run of %lld",
                          (unsigned long long)seed, v->id, (long long)i, (long long)at[i],
                          (long long)at[i - stride], (long long)c);
        if (x % k)
            ck_assert_msg(at[i] == at[i - stride],
                          "seed %llu: value %u [%lld] = %lld after %lld: not %lld equal ones",
                          (unsigned long long)seed, v->id, (long long)i, (long long)at[i],
                          (long long)at[i - stride], (long long)k);
        if (info->has_constant)
            ck_assert_msg(at[i] == info->constant, "seed %llu: value %u is not constant",
                          (unsigned long long)seed, v->id);
    }
}

static void check_value(const AxisTable *table, const Value *v, const int64_t *at, uint64_t seed,
                        Tally *tally) {
    const AxisInfo *info = axis_of(table, v);
    if (!info) return;
    tally->values++;
    for (int dim = 0; dim < (v->type.rank ? v->type.rank : 1); dim++) {
        check_dim(v, info, dim, at, seed);
        tally->contiguous += info->contiguity[dim] > 1;
        tally->divisible += info->divisibility[dim] > 1;
        tally->constant_runs += info->constancy[dim] > 1;
    }
}

static void run_seed(uint64_t seed, Tally *tally) {
    Session s;
    if (setjmp(s.bail)) {
        ck_abort_msg("seed %llu: ran out of memory", (unsigned long long)seed);
        return;
    }
    session_init(&s);
    Gen g = {.tame = true};
    Module *m = ir_module(&s);
    Func *f = random_kernel(&g, m, seed, 30);
    const char *wrong = ir_verify(&s, f, NULL);
    ck_assert_msg(!wrong, "seed %llu: %s", (unsigned long long)seed, wrong);
    AxisTable table = axis_analyse(&s, f);
    int64_t *out = arena_array(&s.arena, (size_t)g.room, sizeof *out);
    uint8_t *written = arena_alloc(&s.arena, (size_t)g.room * sizeof *out);
    float in[GEN_IN_COUNT];
    random_input(in);
    for (int round = 0; round < 3; round++) {
        InterpArg args[GEN_PARAMS] = {{0}};
        random_args(&g, args);
        args[0].p = (uint64_t)(uintptr_t)out;
        args[1].p = (uint64_t)(uintptr_t)in;
        memset(written, 0, (size_t)g.room * sizeof *out);
        InterpBuffer buffers[] = {
            {"out", (uint8_t *)out, (uint64_t)g.room * sizeof *out, written, false},
            {"in", (uint8_t *)in, sizeof in, NULL, false}};
        InterpLaunch launch = {.module = m,
                               .func = f,
                               .arg = args,
                               .buffer = buffers,
                               .nbuffers = 2,
                               .grid = {2, 1, 3}};
        bool ok = interp_run(&s, &launch);
        ck_assert_msg(ok, "seed %llu: %s", (unsigned long long)seed,
                      s.diags.first ? s.diags.first->text : "failed");
        for (int i = 0; i < g.stored.n; i++)
            if (written[g.stored.at[i].at * (int64_t)sizeof *out])
                check_value(&table, g.stored.at[i].v, out + g.stored.at[i].at, seed, tally);
    }
    session_free(&s);
}

START_TEST(claims_hold) {
    Tally tally = {0};
    for (uint64_t seed = 1; seed <= 500; seed++) run_seed(seed, &tally);
    /* The claims that were held against values were no idle ones. */
    ck_assert_int_gt(tally.contiguous, tally.values / 20);
    ck_assert_int_gt(tally.divisible, tally.values / 4);
    ck_assert_int_gt(tally.constant_runs, tally.values / 8);
}
END_TEST

/* ---- how much must be found ---- */

typedef struct Expect {
    const char *name;
    int dim;
    int64_t c, d, k; /* 0: not looked at */
} Expect;

static void find_named(Op *op, void *ctx) {
    struct {
        const char *name;
        Value *found;
    } *want = ctx;
    for (int i = 0; i < op->nresults; i++)
        if (op->result[i]->name && strcmp(op->result[i]->name, want->name) == 0)
            want->found = op->result[i];
    for (int r = 0; r < op->nregions; r++)
        for (int i = 0; i < op->region[r]->nargs; i++) {
            Value *v = op->region[r]->args[i];
            if (v->name && strcmp(v->name, want->name) == 0) want->found = v;
        }
}

static Value *named(Func *f, const char *name) {
    struct {
        const char *name;
        Value *found;
    } want = {name, NULL};
    for (int i = 0; i < f->nparams; i++)
        if (f->param[i].value && strcmp(f->param[i].name, name) == 0)
            want.found = f->param[i].value;
    ir_walk(f->body, find_named, &want);
    ck_assert_msg(want.found, "there is no %%%s", name);
    return want.found;
}

static Func *parse(Session *s, const char *body) {
    char *text =
        arena_printf(&s->arena,
                     "kernel @k(%%p: ptr<f16> divisible=16, %%b: ptr<i8>, %%n: i32 divisible=16, "
                     "%%m: i32, %%u: u32 divisible=16) num_warps=4 num_stages=3 {\n%s\nreturn\n}\n",
                     body);
    Module *m = ir_parse(s, text, strlen(text));
    ck_assert_msg(m, "%s", s->diags.first ? s->diags.first->text : "?");
    return m->funcs;
}

static void expect_in(Session *s, const char *body, const Expect *e) {
    Func *f = parse(s, body);
    AxisTable table = axis_analyse(s, f);
    for (; e->name; e++) {
        const AxisInfo *info = axis_of(&table, named(f, e->name));
        ck_assert_msg(info, "nothing known of %%%s", e->name);
        int64_t have[] = {info->contiguity[e->dim], info->divisibility[e->dim],
                          info->constancy[e->dim]};
        int64_t want[] = {e->c, e->d, e->k};
        static const char *const what[] = {"contiguity", "divisibility", "constancy"};
        for (int i = 0; i < 3; i++)
            ck_assert_msg(!want[i] || have[i] == want[i], "%%%s: %s %lld, not %lld", e->name,
                          what[i], (long long)have[i], (long long)want[i]);
    }
}

static void expect_all(const char *body, const Expect *e) {
    Session s;
    if (setjmp(s.bail)) {
        ck_abort_msg("ran out of memory");
        return;
    }
    session_init(&s);
    expect_in(&s, body, e);
    session_free(&s);
}

static const char indices[] =
    "%pid: i32 = program_id axis=0\n%c64: i32 = const value=64\n%base: i32 = mul %pid, %c64\n"
    "%r: i32[64] = arange start=0 end=64\n%bs: i32[64] = splat %base\n%offs: i32[64] = add %bs, "
    "%r\n"
    "%ns: i32[64] = splat %n\n%ms: i32[64] = splat %m\n";

static void expect_with_indices(const char *more, const Expect *e) {
    char body[4096];
    snprintf(body, sizeof body, "%s%s", indices, more);
    expect_all(body, e);
}

START_TEST(program_and_block_offsets) {
    expect_with_indices("%rev: i32[64] = sub %ns, %r\n%twice: i32[64] = add %offs, %offs\n"
                        "%by: i32[64] = mul %offs, %ns\n",
                        (Expect[]){{"base", 0, 1, 64, 1},
                                   {"offs", 0, 64, 64, 1},
                                   {"ns", 0, 1, 16, 64},
                                   {"rev", 0, 1, 1, 1},
                                   {"twice", 0, 1, 0, 1},
                                   {"by", 0, 1, 16, 1},
                                   {0}});
}
END_TEST

START_TEST(remainders_and_quotients) {
    expect_with_indices("%w: i32[64] = rem %offs, %ns\n%q: i32[64] = div %offs, %ns\n%wm: i32[64] "
                        "= rem %offs, %ms\n"
                        "%neg: i32[64] = add %ms, %r\n%wn: i32[64] = rem %neg, %ns\n"
                        "%c16: i32[64] = const value=16\n%below: i32[64] = sub %r, %c16\n"
                        "%wb: i32[64] = rem %below, %c16\n%qb: i32[64] = div %below, %c16\n"
                        "%c8: i32[64] = const value=8\n%q8: i32[64] = div %offs, %c8\n%w8: i32[64] "
                        "= rem %offs, %c8\n",
                        (Expect[]){{"w", 0, 16, 16, 1},
                                   {"q", 0, 1, 1, 16},
                                   {"wm", 0, 1, 1, 1},
                                   {"wn", 0, 1, 1, 1}, /* may start below 0 */
                                   {"below", 0, 64, 16, 1},
                                   {"wb", 0, 1, 1, 1},
                                   {"qb", 0, 1, 1, 1},
                                   {"q8", 0, 1, 1, 8},
                                   {"w8", 0, 8, 8, 1},
                                   {0}});
}
END_TEST

START_TEST(masks_are_equal_over_runs) {
    expect_with_indices(
        "%lt: i1[64] = cmp %offs, %ns pred=lt\n%ge: i1[64] = cmp %offs, %ns pred=ge\n"
        "%le: i1[64] = cmp %offs, %ns pred=le\n%gt: i1[64] = cmp %offs, %ns pred=gt\n"
        "%rlt: i1[64] = cmp %ns, %offs pred=lt\n%rgt: i1[64] = cmp %ns, %offs pred=gt\n"
        "%eq: i1[64] = cmp %offs, %ns pred=eq\n%lm: i1[64] = cmp %offs, %ms pred=lt\n"
        "%both: i1[64] = and %lt, %ge\n%c31: i32[64] = const value=31\n"
        "%le31: i1[64] = cmp %offs, %c31 pred=le\n%len: i1[64] = cmp %offs, %offs pred=le\n",
        (Expect[]){{"lt", 0, 1, 0, 16},
                   {"ge", 0, 1, 0, 16},
                   {"le", 0, 1, 0, 1},
                   {"gt", 0, 1, 0, 1},
                   {"rlt", 0, 1, 0, 1},
                   {"rgt", 0, 1, 0, 16},
                   {"eq", 0, 1, 0, 1},
                   {"lm", 0, 1, 0, 1},
                   {"both", 0, 1, 0, 16},
                   {"le31", 0, 1, 0, 32},
                   {"len", 0, 1, 0, 64},
                   {0}});
}
END_TEST

START_TEST(bits) {
    expect_with_indices(
        "%m15: i32[64] = const value=15\n%low: i32[64] = and %offs, %m15\n"
        "%h: i32[64] = const value=-16\n%high: i32[64] = and %offs, %h\n"
        "%c4: i32[64] = const value=4\n%down: i32[64] = shr %offs, %c4\n%up: i32[64] = shl %offs, "
        "%c4\n"
        "%or: i32[64] = or %ns, %r\n%xor: i32[64] = xor %r, %ns\n%neg: i32[64] = neg %ns\n",
        (Expect[]){{"low", 0, 16, 16, 1},
                   {"high", 0, 1, 16, 16},
                   {"down", 0, 1, 1, 16},
                   {"up", 0, 1, 16, 1},
                   {"or", 0, 16, 16, 1},
                   {"xor", 0, 16, 16, 1},
                   {"neg", 0, 1, 16, 64},
                   {0}});
}
END_TEST

START_TEST(choices) {
    expect_with_indices(
        "%lt: i1[64] = cmp %offs, %ns pred=lt\n%lm: i1[64] = cmp %offs, %ms pred=lt\n"
        "%s16: i32[64] = select %lt, %offs, %r\n%s1: i32[64] = select %lm, %offs, %r\n"
        "%sk: i32[64] = select %lt, %ns, %bs\n%mx: i32[64] = max %ns, %bs\n",
        (Expect[]){{"s16", 0, 16, 16, 1},
                   {"s1", 0, 1, 1, 1},
                   {"sk", 0, 1, 16, 16},
                   {"mx", 0, 1, 16, 64},
                   {0}});
}
END_TEST

START_TEST(shapes) {
    expect_with_indices(
        "%row: i32[1,64] = reshape %offs\n%col: i32[64,1] = reshape %offs\n"
        "%bb: i32[8,64] = broadcast %row\n%t: i32[64,8] = trans %bb order=[1,0]\n"
        "%s: i32[8,8] = reshape %offs\n%f: i32[512] = reshape %bb\n%ms2: i32[4,16] = reshape %ns\n"
        "%sm: i32[4,2,64] = reshape %bb\n",
        (Expect[]){{"row", 1, 64, 64, 1},
                   {"row", 0, 1, 1, 1},
                   {"col", 0, 64, 64, 1},
                   {"bb", 0, 1, 1, 8},
                   {"bb", 1, 64, 64, 1},
                   {"t", 0, 64, 64, 1},
                   {"t", 1, 1, 1, 8},
                   {"s", 1, 8, 8, 1},
                   {"s", 0, 1, 1, 1},
                   {"f", 0, 64, 64, 1},
                   {"ms2", 0, 1, 16, 4},
                   {"ms2", 1, 1, 16, 16},
                   {"sm", 0, 1, 1, 4},
                   {"sm", 1, 1, 1, 2},
                   {"sm", 2, 64, 64, 1},
                   {0}});
}
END_TEST

START_TEST(pointers_and_loops) {
    expect_with_indices(
        "%ps: ptr<f16>[64] = splat %p\n%pp: ptr<f16>[64] = addptr %ps, %offs\n"
        "%pn: ptr<f16>[64] = addptr %pp, %ns\n%pm: ptr<f16>[64] = addptr %pp, %ms\n"
        "%zero: i32 = const value=0\n%step: i32 = const value=32\n"
        "%after: ptr<f16>[64], %x: i32[64] = for %zero, %m, %step, %pp, %ns { (%i: i32, %cur: "
        "ptr<f16>[64], %y: i32[64])\n"
        "%left: i32 = sub %n, %i\n%lefts: i32[64] = splat %left\n%mask: i1[64] = cmp %r, %lefts "
        "pred=lt\n"
        "%steps: i32[64] = splat %step\n%nextp: ptr<f16>[64] = addptr %cur, %steps\n"
        "%c4: i32[64] = const value=4\n%z: i32[64] = add %y, %c4\n"
        "yield %nextp, %z\n}\n"
        "%big: i64[64] = cast %offs\n%small: i16[64] = cast %offs\n%addr: i64[64] = cast %pp\n",
        (Expect[]){{"ps", 0, 1, 16, 64},
                   {"pp", 0, 64, 16, 1},
                   {"pn", 0, 64, 16, 1},
                   {"pm", 0, 64, 2, 1},
                   {"i", 0, 1, 32, 1},
                   {"cur", 0, 64, 16, 1},
                   {"after", 0, 64, 16, 1},
                   {"left", 0, 1, 16, 1},
                   {"mask", 0, 1, 0, 16},
                   {"y", 0, 1, 4, 64},
                   {"x", 0, 1, 4, 64},
                   {"big", 0, 64, 64, 1},
                   {"small", 0, 64, 64, 1},
                   {"addr", 0, 1, 2, 1},
                   {0}});
}
END_TEST

/* What the writer promises holds; what the analysis knows beyond that stays. */
START_TEST(hints) {
    expect_with_indices("%wrapped: i32[64] = rem %offs, %ms\n"
                        "%starts: i32[64] = hint %wrapped divisible=[6]\n"
                        "%runs: i32[64] = hint %starts contiguous=[6]\n"
                        "%ps: ptr<f16>[64] = splat %p\n%pp: ptr<f16>[64] = addptr %ps, %runs\n"
                        "%weaker: i32[64] = hint %offs contiguous=[2]\n"
                        "%column: i32[64,1] = reshape %ms\n%square: i32[64,8] = broadcast %column\n"
                        "%rows: i32[64,8] = hint %square constant=[4,0]\n"
                        "%stride: i32 = hint %m divisible=[3]\n",
                        (Expect[]){{"runs", 0, 64, 64, 1},
                                   {"pp", 0, 64, 16, 1},
                                   {"weaker", 0, 64, 64, 1},
                                   {"rows", 0, 1, 1, 64},
                                   {"rows", 1, 1, 1, 8},
                                   {"stride", 0, 1, 8, 1},
                                   {0}});
}
END_TEST

START_TEST(access_width) {
    Session s;
    if (setjmp(s.bail)) {
        ck_abort_msg("ran out of memory");
        return;
    }
    session_init(&s);
    char body[4096];
    snprintf(body, sizeof body, "%s%s", indices,
             "%ps: ptr<f16>[64] = splat %p\n%pp: ptr<f16>[64] = addptr %ps, %offs\n"
             "%one: i32[64] = const value=1\n%po: ptr<f16>[64] = addptr %pp, %one\n"
             "%c4: i32[64] = const value=4\n%p4: ptr<f16>[64] = addptr %pp, %c4\n"
             "%c8: i32[64] = const value=8\n%c16: i32[64] = const value=16\n"
             "%q8: ptr<f16>[64] = addptr %pp, %c8 bytes=1\n"
             "%q16: ptr<f16>[64] = addptr %pp, %c16 bytes=1\n"
             "%qo: ptr<f16>[64] = addptr %ps, %offs bytes=1\n"
             "%bs2: ptr<i8>[64] = splat %b\n%bp: ptr<i8>[64] = addptr %bs2, %offs\n"
             "%mn: i1[64] = cmp %offs, %ns pred=lt\n%mm: i1[64] = cmp %offs, %ms pred=lt\n"
             "%e: ptr<f16>[64,1] = reshape %pp\n%eb: ptr<f16>[64,4] = broadcast %e\n"
             "%rem: i32[64] = rem %offs, %ms\n%quo: i32[64] = div %offs, %ms\n"
             "%pr: ptr<f16>[64] = addptr %ps, %rem\n%pr1: ptr<f16>[64,1] = reshape %pr\n"
             "%prb: ptr<f16>[64,4] = broadcast %pr1\n%row: i32[64] = mul %quo, %ms\n"
             "%sum: i32[64] = add %rem, %row\n%pd: ptr<f16>[64] = addptr %ps, %sum\n"
             "%pd1: ptr<f16>[64,1] = reshape %pd\n%pdb: ptr<f16>[64,4] = broadcast %pd1\n"
             "%quo1: i32[64,1] = reshape %quo\n%quob: i32[64,4] = broadcast %quo1\n"
             "%pq: ptr<f16>[64,4] = splat %p\n%pqb: ptr<f16>[64,4] = addptr %pq, %quob\n");
    Func *f = parse(&s, body);
    AxisTable t = axis_analyse(&s, f);
    const struct {
        const char *ptr, *mask;
        int64_t width;
    } cases[] = {{"pp", NULL, 8}, {"pp", "mn", 8}, {"pp", "mm", 1},  {"po", NULL, 1},
                 {"p4", NULL, 4}, {"q8", NULL, 4}, {"q16", NULL, 8}, {"qo", NULL, 1},
                 {"ps", NULL, 1}, {"bp", NULL, 1}, {"p", NULL, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const Value *mask = cases[i].mask ? named(f, cases[i].mask) : NULL;
        int64_t width = axis_access_width(&t, named(f, cases[i].ptr), mask, 0);
        ck_assert_msg(width == cases[i].width, "%s by %s: %lld, not %lld", cases[i].ptr,
                      cases[i].mask ? cases[i].mask : "no mask", (long long)width,
                      (long long)cases[i].width);
    }
    ck_assert_int_eq(axis_fastest_dim(&t, named(f, "eb")), 0);
    ck_assert_int_eq(axis_fastest_dim(&t, named(f, "pp")), 0);
    /* A remainder by what is not known may be cut anywhere, but its neighbours are likely so. */
    ck_assert_int_eq(axis_access_width(&t, named(f, "prb"), NULL, 0), 1);
    ck_assert_int_eq(axis_fastest_dim(&t, named(f, "prb")), 0);
    ck_assert_int_eq(axis_access_width(&t, named(f, "pdb"), NULL, 0), 1);
    ck_assert_int_eq(axis_fastest_dim(&t, named(f, "pdb")), 0);
    /* Of a quotient nothing is known, and along the other dimension all are the same. */
    ck_assert_int_eq(axis_fastest_dim(&t, named(f, "pqb")), 0);
    session_free(&s);
}
END_TEST

/* What is made later is known as if it had been there, be it of what was or of what is new; and
 * the first quotient comes with it. */
START_TEST(functions_grow) {
    enum { ROUNDS = 40 };
    Session s;
    session_init(&s);
    if (setjmp(s.bail)) ck_abort();
    Func *f = parse(&s, "%offs: i32[64] = arange start=0 end=64\n%ps: ptr<f16>[64] = splat %p\n"
                        "%po: ptr<f16>[64] = addptr %ps, %offs\n");
    AxisTable grown = axis_analyse(&s, f);
    Value *ptr = named(f, "po"), *index = named(f, "offs");
    Builder b = {.s = &s, .f = f, .block = f->body, .before = f->body->last};
    for (int i = 0; i < ROUNDS; i++) {
        Value *by = ir_const_int(&b, index->type, 8 + 8 * (i % 3));
        index = ir_binary(&b, i % 4 == 3 ? OP_DIV : i % 2 ? OP_MUL : OP_ADD, index, by);
        ptr = ir_binary(&b, OP_ADDPTR, ptr, index);
        axis_extend(&s, f, &grown);
        AxisTable whole = axis_analyse(&s, f);
        ck_assert_uint_eq(grown.n, f->nvalues);
        ck_assert_mem_eq(axis_of(&grown, ptr), axis_of(&whole, ptr), sizeof(AxisInfo));
        ck_assert_mem_eq(axis_of(&grown, index), axis_of(&whole, index), sizeof(AxisInfo));
        ck_assert_int_eq(!grown.guess, !whole.guess);
        ck_assert_int_eq(axis_fastest_dim(&grown, ptr), axis_fastest_dim(&whole, ptr));
    }
    session_free(&s);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("axis");
    TCase *tc = tcase_create("axis");
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, claims_hold);
    tcase_add_test(tc, functions_grow);
    tcase_add_test(tc, program_and_block_offsets);
    tcase_add_test(tc, remainders_and_quotients);
    tcase_add_test(tc, masks_are_equal_over_runs);
    tcase_add_test(tc, bits);
    tcase_add_test(tc, choices);
    tcase_add_test(tc, shapes);
    tcase_add_test(tc, pointers_and_loops);
    tcase_add_test(tc, hints);
    tcase_add_test(tc, access_width);
    return run_suite(suite, tc);
}
