/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_ir.c: the text of tile IR: what is printed reads back to the same bytes; damaged text is
 * refused with a place and a reason, or is sound; each rule of the verifier refuses what breaks it.
 *
 * Modules come from the .tir files of tests/, from random kernels before and after the passes, and,
 * for the rules, from a table of small bodies. */
#include "base/file.h"
#include "check/random_ir.h"
#include "ir/func_attrs.h"
#include "ir/target.h"
#include "passes/pass.h"
#include "tests/run_suite.h"

#include <check.h>
#include <dirent.h>
#include <limits.h>
#include <stdio.h>

static Session *new_session(void) {
    Session *s = malloc(sizeof *s);
    ck_assert_ptr_nonnull(s);
    return s;
}

static void end_session(Session *s) {
    session_free(s);
    free(s);
}

static char *all_said(Session *s) {
    Buf b = buf_new(&s->arena);
    diag_render(&s->diags, &(Source){.name = "test"}, false, &b);
    return b.data;
}

/* ---- printing and reading back ---- */

static void check_round_trip(Session *s, const Module *m, const char *what) {
    Buf first = buf_new(&s->arena), second = buf_new(&s->arena);
    ir_print(m, &first);
    Module *again = ir_parse(s, first.data, first.len);
    ck_assert_msg(again, "%s: %s\n%s", what, all_said(s), first.data);
    ir_print(again, &second);
    ck_assert_msg(first.len == second.len && memcmp(first.data, second.data, first.len) == 0,
                  "%s reads back as something else:\n%s\n%s", what, first.data, second.data);
}

static int check_file(const char *path) {
    Session *s = new_session();
    if (setjmp(s->bail)) ck_abort_msg("%s: out of memory", path);
    session_init(s);
    size_t len;
    char *text = NULL;
    FileError error;
    ck_assert_msg(file_read(path, 1 << 24, &text, &len, &error), "%s", error.text);
    Module *m = ir_parse(s, text, len);
    if (m) check_round_trip(s, m, path);
    /* A test of a mistake says so. */
    else
        ck_assert_msg(strstr(text, "error"), "%s: %s", path, all_said(s));
    bool sound = m != NULL;
    free(text);
    end_session(s);
    return sound;
}

static int check_folder(const char *folder) {
    int n = 0;
    DIR *d = opendir(folder);
    ck_assert_msg(d, "%s cannot be read", folder);
    for (const struct dirent *e; (e = readdir(d));) {
        char path[PATH_MAX];
        size_t len = strlen(e->d_name);
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (len > 4 && strcmp(e->d_name + len - 4, ".tir") == 0) {
            n += check_file(path);
        } else if (e->d_name[0] != '.') {
            DIR *inner = opendir(path);
            if (!inner) continue;
            closedir(inner);
            n += check_folder(path);
        }
    }
    closedir(d);
    return n;
}

START_TEST(files_read_back) {
    ck_assert_int_gt(check_folder(TILE_SOURCE_DIR "/tests"), 10);
}
END_TEST

/* A random kernel; with layouts, shared memory and barriers if `lowered`. */
static Module *random_module(Session *s, uint64_t seed, bool lowered) {
    Gen g = {.wild = true};
    Module *m = ir_module(s);
    Func *f = random_kernel(&g, m, seed, 30);
    f->num_warps = 1 << seed % 6;
    PassOptions o = {.level = 1, .target = &target_table[0]};
    if (lowered) ck_assert_msg(passes_run(s, m, &o), "%s", all_said(s));
    return m;
}

static void check_random(uint64_t seed) {
    Session *s = new_session();
    if (setjmp(s->bail)) ck_abort_msg("out of memory");
    session_init(s);
    char what[32];
    snprintf(what, sizeof what, "seed %llu", (unsigned long long)seed);
    check_round_trip(s, random_module(s, seed, seed % 2), what);
    end_session(s);
}

START_TEST(random_modules_read_back) {
    for (uint64_t seed = 1; seed <= 200; seed++) check_random(seed);
}
END_TEST

/* Everything a name, a string, a number and a place may look like. */
static const char odd_module[] =
    "kernel @\"two words\"(%x: ptr<f16> divisible=16 @3:1-5, %\"a b\": i32, %1: i64, one_: i32 "
    "one, "
    "\"no\\\"ne\": ptr<ptr<f32>> none @4:1-*) num_warps=1 num_stages=7 grid=\"cdiv(n, "
    "\\\"B\\\")\" "
    "grid=\"2\" grid=\"\\x01\\n\\t\\\\\" constexpr B=\"1024\" constexpr "
    "\"\\xc3\\xb6\"=\"\\\"\\\"\" shared=1024 "
    "target=\"sm_80\" @1:2-3 {\n"
    "  layout @L0 reg=[1,2] lane=[4,8,16,32,64] warp=[] block=[] out=7\n"
    "  %0: f32 = const value=-0x0p+0 @65535:65535-*\n"
    "  %2: f32 = const value=nan(0x7fc00001)\n"
    "  %3: f32 = const value=-inf\n"
    "  %a.1.2: f64 = const value=0x1.fffffffffffffp+1023\n"
    "  %a.1.2.1: i64 = const value=-9223372036854775808\n"
    "  %\"\\xe2\\x82\\xac\": u64 = const value=18446744073709551615\n"
    "  %4: f8e5 = const value=0x1p-16\n"
    "  %5: i32[128]@L0 = arange start=-64 end=64\n"
    "  %6: i32[128]@L0 = add %5, %5\n"
    "  return\n"
    "}\n"
    "\n"
    "source \"dir/\\xc3\\xa4.tl\" {\n"
    "  \"first line\\n\"\n"
    "  \"\\n\"\n"
    "  \"\\ttab \\x00 last, without a newline\"\n"
    "}\n";

/* The kernel as text, read again: its value of this attribute. */
static int64_t read_again(Session *s, const Module *m, const FuncAttr *a) {
    Buf out = buf_new(&s->arena);
    ir_print(m, &out);
    Module *again = ir_parse(s, out.data, out.len);
    ck_assert_msg(again, "%s: %s", out.data, all_said(s));
    return func_number(again->funcs, a);
}

START_TEST(every_number_of_a_kernel_reads_back) {
    Session *s = new_session();
    if (setjmp(s->bail)) ck_abort_msg("out of memory");
    session_init(s);
    for (int i = 0; i < func_attrs; i++) {
        const FuncAttr *a = &func_attr[i];
        if (a->kind != FUNC_ATTR_NUMBER) continue;
        Module *m = ir_module(s);
        Func *f = ir_func(m, "k");
        Builder b = {.s = s, .f = f, .block = f->body};
        ir_op(&b, OP_RETURN, NULL, 0, NULL, 0, 0);
        ck_assert_int_eq(func_number(f, a), a->absent);
        ck_assert_int_eq(read_again(s, m, a), a->absent);
        ck_assert_ptr_null(ir_verify(s, f, NULL));
        for (int end = 0; end < 2; end++) {
            int64_t v = end ? a->rule.most : a->rule.least;
            func_set_number(f, a, v);
            ck_assert_int_eq(read_again(s, m, a), v);
            ck_assert_ptr_null(ir_verify(s, f, NULL));
            func_set_number(f, a, end ? v + 1 : v - 1);
            const char *why = ir_verify(s, f, NULL);
            bool absent = func_number(f, a) == a->absent;
            ck_assert_msg(absent ? !why : why && strstr(why, a->text), "%s: %s", a->text, why);
        }
    }
    end_session(s);
}
END_TEST

START_TEST(options_of_kernels_are_attributes) {
    Session *s = new_session();
    if (setjmp(s->bail)) ck_abort_msg("out of memory");
    session_init(s);
    Func *f = ir_func(ir_module(s), "k");
    for (int i = 0; i < OPTIONS; i++) {
        ck_assert_int_eq(func_option(f, (KernelOption)i), option_info[i].absent);
        func_set_option(f, (KernelOption)i, 2 + i);
    }
    for (int i = 0; i < OPTIONS; i++) ck_assert_int_eq(func_option(f, (KernelOption)i), 2 + i);
    ck_assert_int_eq(f->num_warps, 2 + (int)OPTION_num_warps);
    end_session(s);
}
END_TEST

/* The values of num_warps and num_stages, or why there are none. */
static const struct {
    const char *text, *why;
    int warps, stages;
} lists[] = {
    {NULL, NULL, 0, 0},
    {"", NULL, 0, 0},
    {"num_warps=8", NULL, 8, 0},
    {"num_warps=8,num_stages=2,", NULL, 8, 2},
    {"num_warps=8,num_warps=2", NULL, 2, 0},
    {"num_stages=2,num_warps=-2", "num_warps must be 1, 2, 4, 8, 16 or 32, not -2", 0, 0},
    {"num_stages=4294967298", "num_stages must be between 1 and 16, not 4294967298", 0, 0},
    {"num_warps=0", "num_warps must be 1, 2, 4, 8, 16 or 32, not 0", 0, 0},
    {"num_warp=8", "there is no option 'num_warp'; did you mean 'num_warps'?", 0, 0},
    {"colour=8", "there is no option 'colour'", 0, 0},
    {"num_warps", "an option is NAME=VALUE, not 'num_warps'", 0, 0},
    {"=8", "there is no option ''", 0, 0},
    {"num_warps=", "num_warps takes a whole number, not ''", 0, 0},
    {"num_stages=1,num_warps=4x", "num_warps takes a whole number, not '4x'", 0, 0},
    {"num_warps=4 ,num_stages=1", "num_warps takes a whole number, not '4 '", 0, 0},
    {"num_warps= 4", "num_warps takes a whole number, not ' 4'", 0, 0},
    {"num_warps=99999999999999999999", "num_warps takes a whole number", 0, 0},
};

START_TEST(options_as_text) {
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        OptionValues v = {{0}};
        char why[OPTION_WHY] = "";
        bool ok = options_read(lists[i].text, &v, why);
        ck_assert_msg(ok == !lists[i].why, "%s: %s", lists[i].text, why);
        if (!ok) {
            ck_assert_msg(strstr(why, lists[i].why) == why, "%s: %s", lists[i].text, why);
            continue;
        }
        ck_assert_int_eq(v.at[OPTION_num_warps], lists[i].warps);
        ck_assert_int_eq(v.at[OPTION_num_stages], lists[i].stages);
    }
}
END_TEST

START_TEST(odd_names_and_numbers_read_back) {
    Session *s = new_session();
    if (setjmp(s->bail)) ck_abort_msg("out of memory");
    session_init(s);
    Module *m = ir_parse(s, odd_module, sizeof odd_module - 1);
    ck_assert_msg(m, "%s", all_said(s));
    Buf out = buf_new(&s->arena);
    ir_print(m, &out);
    ck_assert_str_eq(out.data, odd_module);
    ck_assert_uint_eq(m->source.len,
                      strlen("first line\n\n\ttab ") + 1 + strlen(" last, without a newline"));
    end_session(s);
}
END_TEST

/* ---- damage ---- */

/* Reads a damaged module: an error that says something, or a sound module that reads back. */
static bool check_damaged(const char *text, size_t len) {
    Session *s = new_session();
    if (setjmp(s->bail)) ck_abort_msg("out of memory");
    session_init(s);
    Module *m = ir_parse(s, text, len);
    if (m) {
        for (const Func *f = m->funcs; f; f = f->next) {
            const char *bad = ir_verify(s, f, NULL);
            ck_assert_msg(!bad, "read without an error, but: %s", bad);
        }
        check_round_trip(s, m, "a damaged module");
    } else {
        ck_assert_int_gt(s->diags.errors, 0);
        ck_assert_uint_gt(s->diags.first->span.line, 0);
        ck_assert_uint_gt(strlen(s->diags.first->text), 0);
    }
    end_session(s);
    return m != NULL;
}

static char *module_text(uint64_t seed, bool lowered, size_t *len) {
    Session *s = new_session();
    if (setjmp(s->bail)) ck_abort_msg("out of memory");
    session_init(s);
    Buf out = buf_new(&s->arena);
    ir_print(random_module(s, seed, lowered), &out);
    char *copy = malloc(out.len);
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, out.data, *len = out.len);
    end_session(s);
    return copy;
}

/* In memory of its own size, so that reading past the end is seen. */
static bool check_prefix(const char *text, size_t len) {
    char *copy = malloc(len ? len : 1);
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, text, len);
    bool sound = check_damaged(copy, len);
    free(copy);
    return sound;
}

START_TEST(every_truncation_is_refused) {
    size_t len;
    char *text = module_text(7, true, &len);
    for (size_t n = 0; n + 2 < len; n += n < 3000 || len - n < 300 ? 1 : 37)
        ck_assert_msg(!check_prefix(text, n), "the first %zu bytes are taken for a module", n);
    ck_assert(check_prefix(text, len));
    free(text);
    for (size_t n = 0; n < sizeof odd_module - 1; n++) check_prefix(odd_module, n);
}
END_TEST

START_TEST(damaged_bytes) {
    static const char *const pieces[] = {
        "%",       "@",      "\"",   "{",    "}",       "(",
        "[",       ",",      "=",    "-",    "0",       "9999999999999999999999",
        "inf",     "nan(",   "f8e5", "ptr<", "shared<", "1048576",
        "1048577", "\xff",   "\\x",  "//",   "\n",      " for ",
        " dot ",   "yield ", "@L0",  "@L99", "@1:2-3",  "0x1p+9999"};
    enum { PIECES = sizeof pieces / sizeof *pieces, ROUNDS = 4000 };
    int sound = 0;
    uint64_t rng = 99;
    for (uint64_t seed = 3; seed < 5; seed++) {
        size_t len;
        char *text = module_text(seed, seed % 2, &len);
        for (int round = 0; round < ROUNDS / 2; round++) {
            Gen g = {.rng = rng = rng * 6364136223846793005u + 1442695040888963407u};
            const char *piece = pieces[gen_below(&g, PIECES)];
            size_t at = (size_t)gen_below(&g, (int)len), cut = (size_t)gen_below(&g, 6),
                   add = strlen(piece);
            if (at + cut > len) cut = len - at;
            if (gen_chance(&g, 30)) add = 0;
            char *copy = malloc(len + add + 1);
            ck_assert_ptr_nonnull(copy);
            memcpy(copy, text, at);
            memcpy(copy + at, piece, add);
            memcpy(copy + at + add, text + at + cut, len - at - cut);
            if (gen_chance(&g, 30)) copy[gen_below(&g, (int)(len - cut))] = (char)gen_next(&g);
            sound += check_damaged(copy, len - cut + add);
            free(copy);
        }
        free(text);
    }
    ck_assert_int_gt(sound, 20); /* some damage is none: in a name, in a span */
    ck_assert_int_lt(sound, ROUNDS / 2);
}
END_TEST

/* ---- what is refused, and why ---- */

typedef struct Refused {
    const char *body, *why;
} Refused;

/* Bodies of `kernel @k(%p: ptr<f32>, %n: i32, %c: i1, %h: f16)`, each followed by a return. */
static const Refused bodies[] = {
    /* operands */
    {"%x: i32 = add %n", "too few operands"},
    {"%x: i32 = neg %n, %n", "too many operands"},
    {"%x: i32 = and %h, %h", "operand 0 has the wrong kind: f16"},
    {"%x: f16 = fma %n, %n, %n", "operand 0 has the wrong kind: i32"},
    {"%x: ptr<f32> = addptr %n, %n", "operand 0 has the wrong kind: i32"},
    {"%x: ptr<f32> = add %p, %p", "operand 0 has the wrong kind: ptr<f32>"},
    {"%x: i32 = select %n, %n, %n", "operand 0 has the wrong kind: i32"},
    {"%x: i32 = add %n, %y", "%y is not defined here"},
    {"%x: i32 = add %x, %n", "%x is not defined here"},
    {"%n: i32 = neg %n", "%n is defined twice"},
    {"%x: i64 = cast %n\n  %y: i64 = add %x, %n", "operands 0 and 1 differ in type: i64 and i32"},
    {"%x: i32[4] = splat %n\n  %y: i1[4] = cmp %x, %n pred=lt", "differ in type: i32[4] and i32"},
    {"%x: i1[4] = splat %c\n  %y: i32 = select %x, %n, %n", "differ in shape: i1[4] and i32"},
    {"%x: i64 = cast %n\n  %y: i32 = select %c, %n, %x",
     "operands 1 and 2 differ in type: i32 and i64"},
    /* results */
    {"%x: i64 = add %n, %n", "the result is i64 and should be i32"},
    {"%x: i32 = cmp %n, %n pred=lt", "the result is i32 and should be i1"},
    {"%x: f16 = load %p", "the result is f16 and should be f32"},
    {"%x: i32, %y: i32 = add %n, %n", "expected 1 result(s), not 2"},
    {"add %n, %n", "expected 1 result(s), not 0"},
    {"%x: i32 = store %p, %n", "expected 0 result(s), not 1"},
    /* attributes */
    {"%x: i1 = cmp %n, %n", "attribute 'pred' is missing"},
    {"%x: i1 = cmp %n, %n pred=no", "'pred' takes no such value"},
    {"%x: i1 = cmp %n, %n pred=lt pred=lt", "attribute 'pred' is given twice"},
    {"%x: i32 = add %n, %n axis=0", "'add' has no attribute 'axis'"},
    {"%x: i32 = add %n, %n nothing=0", "'add' has no attribute 'nothing'"},
    {"%x: i8 = const value=128", "128 does not fit i8"},
    {"%x: u8 = const value=-1", "-1 does not fit u8"},
    {"%x: i64 = const value=9223372036854775808", "does not fit i64"},
    {"%x: i64 = const value=99999999999999999999999", "is not a 64-bit integer"},
    {"%x: ptr<f32> = const value=1", "a constant pointer is 0"},
    /* shapes */
    {"%x: i32[3] = splat %n", "dimension 3 is not a power of two"},
    {"%x: i32[2097152] = splat %n", "out of range"},
    {"%x: i32[1024,2048] = splat %n", "more than 2^20 elements"},
    {"%x: i32[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1] = splat %n", "more than 20 dimensions"},
    {"%x: i32[4] = arange start=0 end=5", "the result must be i32[end - start]"},
    {"%x: i64[4] = arange start=0 end=4", "the result must be i32[end - start]"},
    {"%x: i32[4] = arange start=9223372036854775807 end=-9223372036854775805", "i32[end - start]"},
    {"%x: i32 = program_id axis=3", "axis must be 0, 1 or 2"},
    {"%x: i64 = program_id axis=0", "the result must be i32"},
    {"%x: i32[4] = splat %n\n  %y: i32[8] = splat %x", "takes a scalar to a tile of its type"},
    {"%x: i64[4] = splat %n", "takes a scalar to a tile of its type"},
    {"%x: i32[4] = splat %n\n  %y: i32[8] = broadcast %x", "only dimensions of size 1 repeat"},
    {"%x: i32[4] = splat %n\n  %y: i32[4,4] = broadcast %x", "keeps element type and rank"},
    {"%x: i32[4] = splat %n\n  %y: i32[8] = reshape %x",
     "keeps element type and number of elements"},
    {"%x: i32[4,8] = splat %n\n  %y: i32[8,4] = trans %x order=[1]",
     "one order entry per dimension"},
    {"%x: i32[4,8] = splat %n\n  %y: i32[8,4] = trans %x order=[1,1]", "no permutation"},
    {"%x: i32[4,8] = splat %n\n  %y: i32[8,4] = trans %x order=[1,40]", "no permutation"},
    {"%x: i32[4,8] = splat %n\n  %y: i32[4,8] = trans %x order=[1,0]", "no permutation"},
    {"%x: i32[4] = cast %n", "keeps the shape"},
    {"%x: i32 = cast %p", "pointers convert to and from 64-bit integers only"},
    {"%x: ptr<f32> = cast %n", "pointers convert to and from 64-bit integers only"},
    {"%x: i16 = bitcast %n", "keeps the shape and the size"},
    /* memory */
    {"store %p, %n", "the value must be f32"},
    {"%x: f32 = load %p, %c, %n", "the other value must be f32"},
    {"%x: f32 = load %p cache=wb", "has no cache modifier 'wb'"},
    {"%x: f32 = load %p\n  store %p, %x cache=ca", "has no cache modifier 'ca'"},
    {"%x: i32 = buffer_alloc", "the result must be a buffer"},
    {"%x: shared<f32[4]> = buffer_alloc\n  %y: f32[8] = shared_load %x",
     "the result must be the tile of a shared buffer"},
    {"%x: shared<i32[4]> = buffer_alloc\n  shared_store %n, %x", "tile and buffer differ"},
    {"%x: shared<i32[4]> = buffer_alloc\n  %y: i32[4] = neg %x",
     "operand 0 has the wrong kind: shared<i32[4]>"},
    {"%x: shared<shared<i32[4]>> = buffer_alloc", "a buffer of a buffer"},
    {"%x: tensor<tensor<i32[4]>> = buffer_alloc", "a buffer of a buffer"},
    {"%x: tensor<i32[4]> = buffer_alloc\n  %y: i32[4] = shared_load %x",
     "the result must be the tile of a shared buffer"},
    {"%x: shared<0 x i32[4]> = buffer_alloc", "out of range: expected 1 to 1024"},
    {"%x: shared<1025 x i32[4]> = buffer_alloc", "out of range: expected 1 to 1024"},
    {"%x: shared<3 i32[4]> = buffer_alloc", "expected 'x'"},
    {"%x: shared<3 x i32[4]> = buffer_alloc slices=2", "of one slice 1 to 1024 are made"},
    {"%x: shared<i32[4]> = buffer_alloc slices=2000", "of one slice 1 to 1024 are made"},
    {"%x: shared<i32[4]> = buffer_alloc slices=0", "of one slice 1 to 1024 are made"},
    {"%x: i32 = add %n, %n stage=1 cluster=0", "only what a `for` is made of has a stage"},
    {"for %n, %n, %n { (%i: i32)\n yield stage=1 cluster=0\n }", "only what a `for` is made of"},
    {"for %n, %n, %n { (%i: i32)\n %x: i32 = add %n, %n stage=1\n yield\n }",
     "a stage and a cluster come together"},
    {"for %n, %n, %n { (%i: i32)\n %x: i32 = add %n, %n stage=-1 cluster=0\n yield\n }",
     "stages are 0 to 1024, clusters 0 to 65535"},
    {"for %n, %n, %n { (%i: i32)\n %x: i32 = add %n, %n stage=1 cluster=65536\n yield\n }",
     "stages are 0 to 1024, clusters 0 to 65535"},
    {"for %n, %n, %n { (%i: i32)\n %x: i32 = add %n, %n stage=1 cluster=0 role=1\n yield\n }",
     "role 0, all warps, is the only one yet"},
    {"%x: shared<3 x i32[4]> = buffer_alloc stride=15", "slices of 16 bytes do not lie so"},
    {"%x: shared<3 x i32[4]> = buffer_alloc stride=9000000000000000000",
     "slices of 16 bytes do not lie so"},
    {"%x: shared<3 x i32[4]> = buffer_alloc\n  %y: i32[4] = shared_load %x",
     "operand 0 is a buffer of 3 slices, one of which is to be named"},
    {"%x: shared<i32[4]> = buffer_alloc\n  %y: shared<i32[4]> = buffer_slice %x, %n",
     "operand 0 has no slices"},
    {"%x: shared<2 x i32[4]> = buffer_alloc\n  %y: shared<i32[8]> = buffer_slice %x, %n",
     "the result must be one slice of operand 0"},
    {"async_wait", "waits for no token and for no group"},
    {"async_wait %c pending=1", "operand 0 has the wrong kind: i1"},
    {"async_wait pending=-1", "0 to 1024 may be pending, not -1"},
    {"async_wait pending=1025", "0 to 1024 may be pending, not 1025"},
    {"%t: i32 = token_done", "the result must be a token"},
    {"%t: i32 = async_commit", "the result must be a token"},
    {"%t: token = token_done\n  %u: token = neg %t", "operand 0 has the wrong kind: token"},
    {"%t: shared<token> = buffer_alloc", "a buffer of tokens"},
    {"%x: f16[4] = splat %h\n  %y: f16[4] = dot_wait %x pending=8", "0 to 7 may be pending"},
    {"%x: shared<f32[4]> = buffer_alloc\n  %q: ptr<f32>[4] = splat %p\n  %t: i1[4] = splat %c\n"
     "  %u: token = async_copy %q, %x, %t",
     "whether it copies is a scalar"},
    {"%x: i32 = single_cta", "the result must be i1"},
    {"%x: f16[16,8] = splat %h\n  %y: f16[16,8] = dot %x, %x, %x", "shapes do not fit"},
    {"%x: f16[16] = splat %h\n  %y: f16[16] = dot %x, %x, %x", "shapes do not fit"},
    {"%x: f16[16,16] = splat %h\n  %y: f16[16,16] = dot %x, %x, %x warps_m=-2147483642",
     "warps cannot share it"},
    {"%x: f16[16,16] = splat %h\n  %y: f16[16,16] = dot %x, %x, %x warps_m=3 warps_n=3",
     "warps cannot share it"},
    /* structure */
    {"return", "must be the last of its block"},
    {"if %c {\n  yield\n  }", "needs 2 region(s)"},
    {"if %c {\n  yield\n  } {\n  yield\n  } {\n  yield\n  }", "needs 2 region(s)"},
    {"if %c {\n  } {\n  yield\n  }", "region 0 must end in 'yield'"},
    {"if %c {\n  return\n  } {\n  yield\n  }", "region 0 must end in 'yield'"},
    {"if %c {\n  yield\n  } {\n  yield %n\n  }", "0 values where 1 are expected"},
    {"%x: i32 = if %c {\n  yield %n\n  } {\n  yield %h\n  }", "value 0 is i32 and should be f16"},
    {"if %c { (%z: i32)\n  yield\n  } {\n  yield\n  }", "its regions take no arguments"},
    {"%x: i1[4] = splat %c\n  if %x {\n  yield\n  } {\n  yield\n  }",
     "the condition must be a scalar"},
    {"if %c {\n  %x: i32 = neg %n\n  yield\n  } {\n  yield\n  }\n  %y: i32 = neg %x",
     "not defined before its use"},
    {"%x: i32 = neg %n {\n  yield\n  }", "has no regions"},
    {"for %n, %n, %n {\n  yield\n  }", "bounds, step and index must have one type"},
    {"for %n, %n, %n { (%i: i64)\n  yield\n  }", "bounds, step and index must have one type"},
    {"for %n, %n, %n, %h { (%i: i32)\n  yield\n  }",
     "initial values: 1 values where 0 are expected"},
    {"for %n, %n, %n, %h { (%i: i32, %a: f16)\n  yield\n  }",
     "yield: 0 values where 1 are expected"},
    {"for %n, %n, %n, %h { (%i: i32, %a: f16)\n  yield %a\n  }",
     "results: 0 values where 1 are expected"},
    {"for %h, %h, %h { (%i: f16)\n  yield\n  }", "operand 0 has the wrong kind: f16"},
    {"while {\n  yield\n  } {\n  yield\n  }", "region 0 must end in 'condition'"},
    {"while %n { (%a: i32)\n  condition %c, %a\n  } { (%b: i32)\n  yield\n  }",
     "yield: 0 values where 1"},
    {"%x: i32[4] = splat %n\n  %y: i32 = reduce %x axis=1 { (%a: i32, %b: i32)\n  yield %a\n  }",
     "axis or shapes do not fit"},
    {"%x: i32[4] = splat %n\n  %y: i32 = reduce %x axis=0 { (%a: i32)\n  yield %a\n  }",
     "takes two of each operand and yields one"},
    {"%x: i32[4] = splat %n\n  %y: i32[4] = reduce %x axis=0 { (%a: i32, %b: i32)\n  yield %a\n  }",
     "result 0 should be i32"},
    {"%x: i32[4] = splat %n\n  %y: i32 = reduce %x axis=0 { (%a: i32, %b: i32)\n  yield %h\n  }",
     "works on scalars of the operands' types"},
    /* roles, barriers, descriptors */
    {"warps roles=\"a b\" num_warps=[1,1] {\n yield\n}", "as many names"},
    {"warps roles=\"a\" num_warps=[1,1] {\n yield\n}", "as many names"},
    {"warps roles=\"a b\" num_warps=[1] {\n yield\n}", "as many names"},
    {"warps roles=\"a\" num_warps=[3] {\n yield\n}", "power of two"},
    {"warps roles=\"a\" num_warps=[0] {\n yield\n}", "power of two"},
    {"warps roles=\"a b\" num_warps=[32,1] {\n yield\n} {\n yield\n}", "more than 32 warps"},
    {"warps roles=\"a\" num_warps=[1] {\n yield %n\n}", "takes and yields nothing"},
    {"warps roles=\"a\" num_warps=[4] registers=[20] {\n yield\n}", "24 to 240 registers"},
    {"warps roles=\"a\" num_warps=[1] registers=[40] {\n yield\n}", "whole warpgroups"},
    {"warps roles=\"a\" num_warps=[1] {\n yield\n}\nwarps roles=\"b\" num_warps=[1] {\n yield\n}",
     "a kernel has one"},
    {"%t: i32[4] = splat %n\nwarps roles=\"a\" num_warps=[1] {\n yield\n}", "tiles in them only"},
    {"barrier id=16 warps=4", "0 to 15"},
    {"barrier id=1 warps=5", "5 warps of the program's 4"},
    {"barrier id=1", "id and warps go together"},
    {"mbar_arrive %n", "operand 0 has the wrong kind"},
    {"%b: barrier<2> = buffer_alloc\nmbar_arrive %b", "one of which is to be named"},
    {"%b: barrier = buffer_alloc\nmbar_init %b count=0", "1 to 1048575 arrivals"},
    {"%b: barrier = buffer_alloc\nmbar_expect %b bytes=-1", "0 to 1048575 bytes"},
    {"%b: barrier = buffer_alloc\nmbar_wait %b, %c", "the phase is an i32"},
    {"%b: barrier<1025> = buffer_alloc", "expected 1 to 1024"},
    {"%d: desc<f32[4]> = make_desc %p, %n, %n", "the last stride must be 1"},
    {"%d: desc<f16[4]> = make_desc %p, %n, %n", "a pointer to the descriptor's elements"},
    {"%d: desc<f32[4,4]> = make_desc %p, %n, %n", "a size and a stride for each"},
    {"%d: f32[4] = make_desc %p, %n, %n", "the result must be a descriptor"},
    {"%x: shared<desc<f32[4]>> = buffer_alloc", "a buffer of descriptors"},
    {"%1: i32 = const value=1\n%d: desc<f32[4]> = make_desc %p, %n, %1\n%m: shared<f32[8]> = "
     "buffer_alloc\n%b: barrier = buffer_alloc\nasync_desc_load %d, %m, %b, %n",
     "of the descriptor's block"},
    {"%1: i32 = const value=1\n%d: desc<f32[4]> = make_desc %p, %n, %1\n%m: shared<f32[4]> = "
     "buffer_alloc\n%b: barrier = buffer_alloc\nasync_desc_load %d, %m, %b",
     "an index for each dimension"},
    /* text */
    {"%x: i32 = frobnicate %n", "unknown operation 'frobnicate'"},
    {"%x: q7 = neg %n", "expected a type"},
    {"%x: i32@L0 = neg %n", "no layout @L0"},
    {"%x: i32 = neg %n @1", "a place is written @line:col-end"},
    {"%: i32 = neg %n", "a name must follow '%'"},
    {"%\"x", "unterminated string"},
    {"%\"\\q\": i32 = neg %n", "unknown escape"},
};

static void check_refused(const char *text, const char *why) {
    Session *s = new_session();
    if (setjmp(s->bail)) ck_abort_msg("out of memory");
    session_init(s);
    ck_assert_msg(!ir_parse(s, text, strlen(text)), "taken, but should be refused (%s):\n%s", why,
                  text);
    ck_assert_msg(strstr(all_said(s), why), "said\n%sand should say\n%s\nof\n%s", all_said(s), why,
                  text);
    ck_assert_int_eq(s->diags.errors, 1);
    end_session(s);
}

START_TEST(unsound_bodies_are_refused) {
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        char text[1024];
        snprintf(text, sizeof text,
                 "kernel @k(%%p: ptr<f32>, %%n: i32, %%c: i1, %%h: f16) num_warps=4 num_stages=3 "
                 "{\n  %s\n  return\n}\n",
                 bodies[i].body);
        check_refused(text, bodies[i].why);
    }
}
END_TEST

static const Refused modules[] = {
    {"", "there is no kernel in this file"},
    {"source \"x\" {\n}\n", "there is no kernel in this file"},
    {"function @f() {}", "expected 'kernel' or 'source'"},
    {"kernel @k() num_warps=4 num_stages=3 {\n}\n", "an empty block"},
    {"kernel @k() num_warps=4 num_stages=3 {\n  barrier\n}\n", "a block must end in a terminator"},
    {"kernel @k(%p: f32[4]) num_warps=4 num_stages=3 {\n  return\n}\n", "a parameter is a scalar"},
    {"kernel @k(p: i32) num_warps=4 num_stages=3 {\n  return\n}\n", "one and none go without"},
    {"kernel @k(%p: i32 one) num_warps=4 num_stages=3 {\n  return\n}\n", "one and none go without"},
    {"kernel @k(%p: i32, %p: i32) num_warps=4 num_stages=3 {\n  return\n}\n",
     "parameter 'p' is there twice"},
    {"kernel @k(%p: i32 divisible=3) num_warps=4 num_stages=3 {\n  return\n}\n",
     "must be a power of two"},
    {"kernel @k(%p: i32 divisible=0) num_warps=4 num_stages=3 {\n  return\n}\n", "out of range"},
    {"kernel @k() num_warps=0 num_stages=3 {\n  return\n}\n",
     "num_warps must be 1, 2, 4, 8, 16 or 32, not 0"},
    {"kernel @k() num_warps=3 num_stages=3 {\n  return\n}\n",
     "num_warps must be 1, 2, 4, 8, 16 or 32, not 3"},
    {"kernel @k() num_warps=4096 num_stages=3 {\n  return\n}\n", "not 4096"},
    {"kernel @k() num_warps=4 num_stages=17 {\n  return\n}\n",
     "num_stages must be between 1 and 16, not 17"},
    {"kernel @k() num_warps num_stages=3 {\n  return\n}\n", "expected '='"},
    {"kernel @k() target=4 {\n  return\n}\n", "expected a string"},
    {"kernel @k() colour=4 {\n  return\n}\n", "a kernel has no 'colour'"},
    {"kernel @k() grid=\"1\" grid=\"1\" grid=\"1\" grid=\"1\" {\n  return\n}\n",
     "a kernel has 'grid' at most 3 times"},
    {"kernel @k() num_warps=4 num_stages=3 {\n  return\n}\nkernel @k() num_warps=4 num_stages=3 "
     "{\n  return\n}\n",
     "kernel @k is there twice"},
    {"kernel @k() num_warps=4 num_stages=3 {\n  yield\n}\n", "does not end this kind of block"},
    /* layouts */
    {"kernel @k() num_warps=4 num_stages=3 {\n  layout @L1 reg=[] lane=[] warp=[] block=[] out=0\n "
     " return\n}\n",
     "layouts are numbered from @L0 in order"},
    {"kernel @k() num_warps=4 num_stages=3 {\n  layout @L0 reg=[4] lane=[] warp=[] block=[] "
     "out=2\n  return\n}\n",
     "a basis vector lies outside the tile"},
    {"kernel @k() num_warps=4 num_stages=3 {\n  layout @L0 "
     "reg=[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1] lane=[] "
     "warp=[] block=[] out=2\n  return\n}\n",
     "more than 20 bits"},
    {"kernel @k() num_warps=1 num_stages=3 {\n  layout @L0 reg=[1] lane=[2,0,0,0,0] warp=[] "
     "block=[] out=2\n"
     "  %x: i32[8]@L0 = const value=0\n  return\n}\n",
     "does not fit a tile of this size"},
    {"kernel @k() num_warps=4 num_stages=3 {\n  layout @L0 reg=[1] lane=[2,0,0,0,0] warp=[] "
     "block=[] out=2\n"
     "  %x: i32[4]@L0 = const value=0\n  return\n}\n",
     "the layout of value 0 is for other threads"},
    {"kernel @k() num_warps=1 num_stages=3 {\n  layout @L0 reg=[1] lane=[2,0,0,0] warp=[] block=[] "
     "out=2\n"
     "  %x: i32[4]@L0 = const value=0\n  return\n}\n",
     "the layout of value 0 is for other threads"},
    {"kernel @k() num_warps=1 num_stages=3 {\n  layout @L0 reg=[1] lane=[0,0,0,0,0] warp=[] "
     "block=[] out=2\n"
     "  %x: i32[4]@L0 = const value=0\n  return\n}\n",
     "the layout of value 0 leaves elements out"},
    {"kernel @k() num_warps=1 num_stages=3 {\n  layout @L0 reg=[1] lane=[2] warp=[] block=[] "
     "out=2\n"
     "  %x: shared<i32[4]>@L0 = buffer_alloc\n  return\n}\n",
     "the layout of value 0 is for other threads"},
    {"kernel @k(%p: ptr<i32>) num_warps=1 num_stages=3 {\n  layout @L0 reg=[1,2] lane=[0,0,0,0,0] "
     "warp=[] block=[] out=2\n  layout @L1 reg=[1,2] lane=[] warp=[] block=[] out=2\n  %q: "
     "ptr<i32>[4]@L0 = splat %p\n  %x: i32[4]@L0 = load %q\n  %t: i1 = const value=1\n  %b: "
     "shared<i32[4]>@L1 = buffer_alloc\n  %y: i32[4]@L0 = load %q vector=8\n  return\n}\n",
     "no 8 elements in a row"},
    {"kernel @k(%p: ptr<i32>) num_warps=1 num_stages=3 {\n  layout @L0 reg=[1,2] lane=[0,0,0,0,0] "
     "warp=[] block=[] out=2\n  layout @L1 reg=[1,2] lane=[] warp=[] block=[] out=2\n  %q: "
     "ptr<i32>[4]@L0 = splat %p\n  %x: i32[4]@L0 = load %q\n  %t: i1 = const value=1\n  %b: "
     "shared<i32[4]>@L1 = buffer_alloc\n  store %q, %x vector=3\n  return\n}\n",
     "no 3 elements in a row"},
    {"kernel @k(%p: ptr<i32>) num_warps=1 num_stages=3 {\n  layout @L0 reg=[1,2] lane=[0,0,0,0,0] "
     "warp=[] block=[] out=2\n  layout @L1 reg=[1,2] lane=[] warp=[] block=[] out=2\n  %q: "
     "ptr<i32>[4]@L0 = splat %p\n  %x: i32[4]@L0 = load %q\n  %t: i1 = const value=1\n  %b: "
     "shared<i32[4]>@L1 = buffer_alloc\n  %c: token = async_copy %q, %b, %t vector=4 cache=ca "
     "by_row=1\n  return\n}\n",
     "by_row is a way to copy with cache=cg"},
    {"kernel @k(%p: ptr<i32>) num_warps=1 num_stages=3 {\n  layout @L0 reg=[1,2] lane=[0,0,0,0,0] "
     "warp=[] block=[] out=2\n  layout @L1 reg=[1,2] lane=[] warp=[] block=[] out=2\n  %q: "
     "ptr<i32>[4]@L0 = splat %p\n  %x: i32[4]@L0 = load %q\n  %t: i1 = const value=1\n  %b: "
     "shared<i32[4]>@L1 = buffer_alloc\n  shared_store %x, %b matrix=1\n  return\n}\n",
     "threads do not hold matrices"},
    {"kernel @k(%p: ptr<i32>) num_warps=1 num_stages=3 {\n  layout @L0 reg=[1,2] lane=[0,0,0,0,0] "
     "warp=[] block=[] out=2\n  layout @L1 reg=[1,2] lane=[] warp=[] block=[] out=2\n  %q: "
     "ptr<i32>[4]@L0 = splat %p\n  %x: i32[4]@L0 = load %q\n  %t: i1 = const value=1\n  %b: "
     "shared<i32[4]>@L1 = buffer_alloc\n  %c: i1[4]@L0 = cmp %x, %x pred=eq redundant=4\n  "
     "return\n}\n",
     "there are fewer registers than 'redundant' says"},
    {"kernel @k() num_warps=1 num_stages=3 {\n  layout @L0 reg=[] lane=[0,0,0,0,0] warp=[] "
     "block=[] out=0\n"
     "  layout @L1 reg=[1,2] lane=[0,0,0,0,0] warp=[] block=[] out=2\n"
     "  %x: i32@L0 = const value=0\n  %y: i32[4]@L1 = const value=0\n  return\n}\n",
     "a scalar has a layout"},
    {"kernel @k() num_warps=1 num_stages=3 {\n  layout @L0 reg=[1] lane=[2,0,0,0,0] warp=[] "
     "block=[] out=2\n"
     "  %x: i32[4]@L0 = const value=0\n  %y: i32[4] = const value=0\n  return\n}\n",
     "has no layout"},
    {"kernel @k() num_warps=1 num_stages=3 {\n  layout @L0 reg=[1] lane=[2,0,0,0,0] warp=[] "
     "block=[] out=2\n"
     "  layout @L1 reg=[2] lane=[1,0,0,0,0] warp=[] block=[] out=2\n"
     "  %x: i32[4]@L0 = const value=0\n  %y: i32[4]@L1 = const value=0\n  %z: i32[4]@L0 = add %x, "
     "%y\n  return\n}\n",
     "operands 0 and 1 have different layouts"},
    {"kernel @k() num_warps=1 num_stages=3 {\n  layout @L0 reg=[1] lane=[2,0,0,0,0] warp=[] "
     "block=[] out=2\n"
     "  layout @L1 reg=[2] lane=[1,0,0,0,0] warp=[] block=[] out=2\n"
     "  %x: i32[4]@L0 = const value=0\n  %z: i32[4]@L1 = neg %x\n  return\n}\n",
     "the result's layout differs from the operands'"},
};

START_TEST(unsound_modules_are_refused) {
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++)
        check_refused(modules[i].body, modules[i].why);
}
END_TEST

/* Regions nested n deep. */
static char *nested(int n) {
    static const char head[] = "kernel @k(%c: i1) num_warps=4 num_stages=3 {\n";
    static const char open[] = "if %c {\n", close[] = "yield\n} {\nyield\n}\n",
                      tail[] = "return\n}\n";
    size_t size = sizeof head + sizeof tail + (size_t)n * (sizeof open + sizeof close);
    char *text = malloc(size), *p = text;
    ck_assert_ptr_nonnull(text);
    p += sprintf(p, "%s", head);
    for (int i = 0; i < n; i++) p += sprintf(p, "%s", open);
    for (int i = 0; i < n; i++) p += sprintf(p, "%s", close);
    sprintf(p, "%s", tail);
    return text;
}

START_TEST(depth_has_a_limit) {
    char *text = nested(200);
    ck_assert(check_damaged(text, strlen(text)));
    free(text);
    text = nested(201);
    check_refused(text, "regions are nested more than 200 deep");
    free(text);
    text = nested(100000);
    check_refused(text, "regions are nested more than 200 deep");
    free(text);
}
END_TEST

START_TEST(pointers_have_a_limit) {
    enum { DEEP = 100000 };
    static const char head[] = "kernel @k(%p: ";
    char *text = malloc(DEEP * 4 + sizeof head);
    ck_assert_ptr_nonnull(text);
    memcpy(text, head, sizeof head - 1);
    for (int i = 0; i < DEEP; i++) memcpy(text + sizeof head - 1 + i * 4, "ptr<", 4);
    text[sizeof head - 1 + DEEP * 4] = 0;
    check_refused(text, "expected a type");
    free(text);
}
END_TEST

int main(void) {
    (void)random_args, (void)random_input; /* nothing is run here */
    Suite *s = suite_create("ir text");
    TCase *c = tcase_create("ir text");
    tcase_set_timeout(c, 120);
    tcase_add_test(c, files_read_back);
    tcase_add_test(c, random_modules_read_back);
    tcase_add_test(c, every_number_of_a_kernel_reads_back);
    tcase_add_test(c, options_of_kernels_are_attributes);
    tcase_add_test(c, options_as_text);
    tcase_add_test(c, odd_names_and_numbers_read_back);
    tcase_add_test(c, every_truncation_is_refused);
    tcase_add_test(c, damaged_bytes);
    tcase_add_test(c, unsound_bodies_are_refused);
    tcase_add_test(c, unsound_modules_are_refused);
    tcase_add_test(c, depth_has_a_limit);
    tcase_add_test(c, pointers_have_a_limit);
    return run_suite(s, c);
}
