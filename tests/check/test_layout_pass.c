/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_layout_pass.c: kernels compute the same with layouts, shared memory and barriers as without.
 *
 * The interpreter runs each random kernel as written and after the whole pipeline, where it
 * executes the trips through shared memory and proves that barriers order them; what is stored must
 * agree bit for bit. The code generator must take every such kernel, too. */
#include "codegen/codegen.h"
#include "ir/interp/interp.h"
#include "ir/target.h"
#include "passes/pass.h"
#include "tests/check/random_kernel.h"
#include "tests/run_suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

/* ---- running them ---- */

typedef struct Inputs {
    uint16_t f16[IN_COUNT];
    float f32[IN_COUNT];
    int32_t i32[IN_COUNT];
    uint8_t u8[IN_COUNT];
} Inputs;

static void fill_inputs(Inputs *in) {
    for (int i = 0; i < IN_COUNT; i++) {
        int v = (i * 37 + i / 64 * 5) % 7 - 3;
        in->f16[i] = (uint16_t)elem_from_double(EL_F16, v);
        in->f32[i] = (float)(v + i % 3);
        in->i32[i] = i % 61 - 30;
        in->u8[i] = (uint8_t)(i % 23);
    }
}

static char *all_said(Session *s) {
    Buf b = buf_new(&s->arena);
    diag_render(&s->diags, &(Source){.name = "random"}, false, &b);
    return b.data;
}

/* What the kernel stores; NULL after an error in s->diags. */
static float *run_kernel(Session *s, const Module *m, int64_t room, bool single, Inputs *in) {
    enum { NEVER = 0x7FC0DEAD };
    int64_t n = PROGRAMS * room;
    float *out = arena_array(&s->arena, (size_t)n + 1, sizeof *out);
    for (int64_t i = 0; i < n; i++) memcpy(&out[i], &(int){NEVER}, sizeof *out);
    InterpBuffer buffer[] = {{"a", (uint8_t *)in->f16, sizeof in->f16, NULL, false},
                             {"b", (uint8_t *)in->f32, sizeof in->f32, NULL, false},
                             {"c", (uint8_t *)in->i32, sizeof in->i32, NULL, false},
                             {"d", in->u8, sizeof in->u8, NULL, false},
                             {"out", (uint8_t *)out, (size_t)n * sizeof *out, NULL, false}};
    InterpArg args[PARAMS] = {{0}};
    for (int i = 0; i <= PARAM_OUT; i++) args[i].p = (uint64_t)(uintptr_t)buffer[i].base;
    args[PARAM_N].i = 16;
    args[PARAM_STRIDE].i = 1;
    args[PARAM_ROOM].i = room;
    InterpLaunch launch = {.module = m,
                           .func = m->funcs,
                           .arg = args,
                           .buffer = buffer,
                           .nbuffers = 5,
                           .grid = {PROGRAMS, 1, 1},
                           .single_cta = single,
                           .checks = CHECK_ALL & ~(unsigned)CHECK_UNDEFINED};
    return interp_run(s, &launch) ? out : NULL;
}

typedef struct Count {
    int of[OPS];
} Count;

static void count_op(Op *op, void *ctx) {
    ((Count *)ctx)->of[op->code]++;
}

static Count count_ops(const Module *m) {
    Count c = {{0}};
    ir_walk(m->funcs->body, count_op, &c);
    return c;
}

static bool run_pipeline(Session *s, Module *m, const Target *target, int level) {
    PassOptions o = {.level = level, .verify_each = true, .target = target};
    return passes_run(s, m, &o);
}

static void check_seed(uint64_t seed, Inputs *in, Count *total) {
    Session *s = malloc(sizeof *s);
    ck_assert_ptr_nonnull(s);
    if (setjmp(s->bail)) ck_abort_msg("seed %llu: ran out of memory", (unsigned long long)seed);
    session_init(s);
    Kernel k = {0};
    Module *m = make_kernel(s, &k, seed);
    float *want = run_kernel(s, m, k.room, false, in);
    ck_assert_msg(want, "seed %llu: as written: %s", (unsigned long long)seed, all_said(s));
    Buf text = buf_new(&s->arena);
    ir_print(m, &text);
    for (int level = 0; level < 2; level++) {
        /* With little shared memory, tiles cross it in parts. */
        Target target = target_table[seed % (uint64_t)target_count];
        if (seed % 3 == 0) target.max_shared = SMALL_SHARED;
        Module *copy = ir_parse(s, text.data, text.len);
        ck_assert_msg(copy, "seed %llu: %s", (unsigned long long)seed, all_said(s));
        ck_assert_msg(run_pipeline(s, copy, &target, level), "seed %llu -O%d: %s",
                      (unsigned long long)seed, level, all_said(s));
        float *have = run_kernel(s, copy, k.room, seed % 2, in);
        ck_assert_msg(have, "seed %llu -O%d: %s", (unsigned long long)seed, level, all_said(s));
        for (int64_t i = 0; i < PROGRAMS * k.room; i++)
            if (memcmp(&want[i], &have[i], sizeof *want) != 0)
                ck_abort_msg("seed %llu -O%d: out[%lld] is %g, not %g", (unsigned long long)seed,
                             level, (long long)i, (double)have[i], (double)want[i]);
        Count c = count_ops(copy);
        for (int i = 0; i < OPS; i++) total->of[i] += c.of[i];
        CodegenOptions options = {.target = &target, .level = level};
        Buf ptx = buf_new(&s->arena);
        ck_assert_msg(codegen_module(s, copy, &options, NULL, &ptx), "seed %llu -O%d: %s",
                      (unsigned long long)seed, level, all_said(s));
        ck_assert_ptr_nonnull(strstr(ptx.data, ".entry random("));
    }
    session_free(s);
    free(s);
}

static void check_seeds(uint64_t from, uint64_t to) {
    Inputs *in = malloc(sizeof *in);
    ck_assert_ptr_nonnull(in);
    fill_inputs(in);
    Count total = {{0}};
    for (uint64_t seed = from; seed < to; seed++) check_seed(seed, in, &total);
    free(in);
    /* What is to be shown must have happened. */
    static const OpCode wanted[] = {OP_BUFFER_ALLOC, OP_SHARED_STORE,  OP_SHARED_LOAD,  OP_BARRIER,
                                    OP_DOT,          OP_CONVERT,       OP_FOR,          OP_IF,
                                    OP_WHILE,        OP_TRANS,         OP_RESHAPE,      OP_JOIN,
                                    OP_SPLIT,        OP_SHARED_GATHER, OP_SHARED_COUNT, OP_REDUCE,
                                    OP_SCAN};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        ck_assert_msg(total.of[wanted[i]] > (int)(to - from) / 4, "only %d '%s' in all kernels",
                      total.of[wanted[i]], op_info[wanted[i]].text);
}

START_TEST(pipeline_keeps_meaning) {
    check_seeds(1, 70);
}
END_TEST

/* ---- barriers ---- */

/* A product in a loop that one program does not enter, its transpose added to it, and a tile turned
 * round in one arm of a branch: buffers are filled and read again and again, and dead ones are
 * written over. */
static const char busy_kernel[] =
    "kernel @busy(%a: ptr<f16> divisible=16, %out: ptr<f32> divisible=16) num_warps=4 num_stages=3 "
    "{\n"
    "  %zero: i32 = const value=0\n"
    "  %one: i32 = const value=1\n"
    "  %four: i32 = const value=4\n"
    "  %i: i32[32] = arange start=0 end=32\n"
    "  %row: i32[32,1] = reshape %i\n"
    "  %col: i32[1,32] = reshape %i\n"
    "  %width: i32[32,1] = const value=32\n"
    "  %below: i32[32,1] = mul %row, %width\n"
    "  %x: i32[32,32] = broadcast %below\n"
    "  %y: i32[32,32] = broadcast %col\n"
    "  %at: i32[32,32] = add %x, %y\n"
    "  %as: ptr<f16>[32,32] = splat %a\n"
    "  %p: ptr<f16>[32,32] = addptr %as, %at\n"
    "  %pid: i32 = program_id axis=0\n"
    "  %size: i32 = const value=1024\n"
    "  %before: i32 = mul %pid, %size\n"
    "  %mine: ptr<f32> = addptr %out, %before\n"
    "  %os: ptr<f32>[32,32] = splat %mine\n"
    "  %q: ptr<f32>[32,32] = addptr %os, %at\n"
    "  %n: i32 = mul %pid, %four\n"
    "  %none: f32[32,32] = const value=0x0p+0\n"
    "  %sum: f32[32,32] = for %zero, %n, %one, %none { (%k: i32, %acc: f32[32,32])\n"
    "    %v: f16[32,32] = load %p\n"
    "    %u: f16[32,32] = add %v, %v\n"
    "    %d: f32[32,32] = dot %u, %v, %acc\n"
    "    yield %d\n"
    "  }\n"
    "  %turned: f32[32,32] = trans %sum order=[1,0]\n"
    "  %both: f32[32,32] = add %sum, %turned\n"
    "  %odd: i1 = cmp %pid, %zero pred=ne\n"
    "  %r: f32[32,32] = if %odd {\n"
    "    %t: f32[32,32] = trans %both order=[1,0]\n"
    "    %s: f32[32,32] = add %t, %both\n"
    "    yield %s\n"
    "  } {\n"
    "    yield %both\n"
    "  }\n"
    "  store %q, %r\n"
    "  return\n"
    "}\n";

typedef struct Nth {
    int n;
    Op *found;
} Nth;

static void find_barrier(Op *op, void *ctx) {
    Nth *nth = ctx;
    if (op->code == OP_BARRIER && nth->n-- == 0) nth->found = op;
}

/* Runs busy_kernel through the pipeline and, with its barrier number `without` removed, in the
 * interpreter. Returns what was said, in malloc'ed memory; sets *barriers to how many there were.
 */
static char *run_busy(int without, int *barriers) {
    Session *s = malloc(sizeof *s);
    ck_assert_ptr_nonnull(s);
    if (setjmp(s->bail)) ck_abort_msg("out of memory");
    session_init(s);
    Module *m = ir_parse(s, busy_kernel, sizeof busy_kernel - 1);
    ck_assert_msg(m && run_pipeline(s, m, &target_table[0], 1), "%s", all_said(s));
    *barriers = count_ops(m).of[OP_BARRIER];
    if (without >= 0) {
        Nth nth = {without, NULL};
        ir_walk(m->funcs->body, find_barrier, &nth);
        ck_assert_ptr_nonnull(nth.found);
        ir_erase(nth.found);
    }
    s->diags.first = s->diags.last = NULL; /* notes on performance are not what the run says */
    uint16_t a[1024];
    float out[2048];
    for (int i = 0; i < 1024; i++) a[i] = (uint16_t)elem_from_double(EL_F16, i % 5);
    InterpBuffer buffer[] = {{"a", (uint8_t *)a, sizeof a, NULL, false},
                             {"out", (uint8_t *)out, sizeof out, NULL, false}};
    InterpArg args[] = {{.p = (uint64_t)(uintptr_t)a}, {.p = (uint64_t)(uintptr_t)out}};
    InterpLaunch launch = {.module = m,
                           .func = m->funcs,
                           .arg = args,
                           .buffer = buffer,
                           .nbuffers = 2,
                           .grid = {2, 1, 1},
                           .checks = CHECK_ALL & ~(unsigned)CHECK_UNDEFINED};
    interp_run(s, &launch);
    char *said = strdup(all_said(s));
    session_free(s);
    free(s);
    return said;
}

START_TEST(every_barrier_is_needed) {
    int n, again;
    char *said = run_busy(-1, &n);
    ck_assert_str_eq(said, "");
    free(said);
    ck_assert_int_ge(n, 5);
    for (int i = 0; i < n; i++) {
        said = run_busy(i, &again);
        ck_assert_msg(strstr(said, "missing barrier") != NULL, "without barrier %d of %d: '%s'", i,
                      n, said);
        free(said);
    }
}
END_TEST

int main(void) {
    Suite *s = suite_create("layout pass");
    TCase *c = tcase_create("layout pass");
    tcase_set_timeout(c, 240);
    tcase_add_test(c, pipeline_keeps_meaning);
    tcase_add_test(c, every_barrier_is_needed);
    return run_suite(s, c);
}
