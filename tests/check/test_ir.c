/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_ir.c: the text of tile IR: what is printed reads back to the same bytes; damaged text is
 * refused with a place and a reason, or is sound. (Each rule of the verifier: test_ir_refused.c.)
 *
 * Modules come from the .tir files of tests/, and from random kernels before and after the passes.
 */
#include "base/file.h"
#include "check/ir_fixture.h"
#include "check/random_ir.h"
#include "ir/func_attrs.h"
#include "ir/target.h"
#include "passes/pass.h"
#include "tests/run_suite.h"

#include <check.h>
#include <dirent.h>
#include <limits.h>
#include <stdio.h>

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
        } else if (e->d_name[0] != '.' && strcmp(e->d_name, "regress")) { /* fuzz targets' bytes */
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
    "\"no\\\"ne\": ptr<ptr<f32>> none @4:1-*) num_warps=1 num_stages=7 grid=\"cdiv(n, B)\" "
    "grid=\"2\" grid=\"(\\tn - 1) * \\xc3\\xb6\" constexpr B=\"1024\" constexpr "
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
    {"enable_fp_fusion=0,num_warps=2,enable_fp_fusion=1", NULL, 2, 0},
    {"enable_fp_fusion=2", "enable_fp_fusion must be 0 or 1, not 2", 0, 0},
    {"enable_fp_fusion=no", "enable_fp_fusion takes a whole number, not 'no'", 0, 0},
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
        ck_assert_int_eq(v.at[OPTION_no_fp_fusion], 0);
    }
    OptionValues v = {{0}};
    char why[OPTION_WHY];
    ck_assert(options_read("enable_fp_fusion=0", &v, why));
    ck_assert_int_eq(v.at[OPTION_no_fp_fusion], 1);
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
    return run_suite(s, c);
}
