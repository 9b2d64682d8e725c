/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_compile_options.c: the options of options.def on a command line, each row, and when two
 * compilations ask for the same. */
#include "compiler/fields.h"
#include "tests/run_suite.h"
#include "tools/compile_options.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    int id;
    KernelOption option;
    const char *long_name, *arg;
} kernel_rows[] = {
#define KERNEL_OPTION(home, name, attribute, least, most, absent, traits, long_name, arg, help)    \
    {OPT_##name, OPTION_##name, long_name, arg},
#include "ir/options.def"
};

START_TEST(options_of_kernels_are_taken) {
    char *options = NULL, why[OPTION_WHY], wanted[256] = "", bad[64];
    tile_compile_options o = {.source = NULL};
    for (int i = 0; i < OPTIONS; i++) {
        const OptionInfo *info = &option_info[kernel_rows[i].option];
        char least[24];
        snprintf(least, sizeof least, "%d", (int)info->rule.least);
        const char *value = kernel_rows[i].arg ? least : NULL, *arg = kernel_rows[i].arg;
        char word[32];
        if (arg && strchr(arg, '|')) { /* its first word */
            snprintf(word, sizeof word, "%.*s", (int)strcspn(arg, "|"), arg);
            value = word;
        }
        ck_assert_msg(compile_option_take(&o, &options, kernel_rows[i].id, value, why), "%s", why);
        snprintf(wanted + strlen(wanted), sizeof wanted - strlen(wanted), "%s%s=%s", i ? "," : "",
                 info->name, kernel_rows[i].arg ? least : "1");
        ck_assert_str_eq(o.options, wanted);
        if (!kernel_rows[i].arg || strchr(kernel_rows[i].arg, '|')) continue;
        snprintf(bad, sizeof bad, "%d", (int)info->rule.least - 1);
        const char *const none[] = {"", "four", "4 ", "+4", "0x4", "4.0", bad};
        for (size_t k = 0; k < sizeof none / sizeof *none; k++) {
            ck_assert(!compile_option_take(&o, &options, kernel_rows[i].id, none[k], why));
            ck_assert_msg(strstr(why, kernel_rows[i].long_name) && strstr(why, "whole number"),
                          "%s", why);
        }
        ck_assert_str_eq(o.options, wanted); /* what is refused changes nothing */
    }
    OptionValues v = {{0}};
    ck_assert_msg(options_read(o.options, &v, why), "%s", why);
    free(options);
}
END_TEST

START_TEST(fields_are_taken) {
    char *options = NULL, why[OPTION_WHY] = "";
    tile_compile_options o = {.source = NULL};
    static const char text[] = "text";
    ck_assert(compile_option_take(&o, &options, OPT_kernel, text, why));
    ck_assert(compile_option_take(&o, &options, OPT_passes, text, why));
    ck_assert(compile_option_take(&o, &options, OPT_triton, text, why));
    ck_assert(o.kernel == text && o.passes == text && o.triton == text && !o.signature);
    ck_assert(compile_option_take(&o, &options, OPT_debug, NULL, why));
    ck_assert(compile_option_take(&o, &options, OPT_stats, NULL, why));
    ck_assert(o.debug == 1 && o.stats == 1 && !o.time && !o.options);
    ck_assert(compile_option_take(&o, &options, OPT_no_optimize, "0", why));
    ck_assert_int_eq(o.no_optimize, 1);
    ck_assert(compile_option_take(&o, &options, OPT_no_optimize, "1", why));
    ck_assert_int_eq(o.no_optimize, 0);
    ck_assert(compile_option_take(&o, &options, OPT_verify_each, "each", why));
    ck_assert_int_eq(o.verify_each, 1);
    ck_assert(!compile_option_take(&o, &options, OPT_no_optimize, "2", why));
    ck_assert_str_eq(why, "-O is -O1 or -O0, not -O2");
    ck_assert(!compile_option_take(&o, &options, OPT_verify_each, "eac", why));
    ck_assert_str_eq(why, "--verify is none or each, not 'eac'");
    ck_assert(!compile_option_take(&o, &options, COMPILE_OPTION_IDS, "1", why));
}
END_TEST

/* The field with another value: what = 1, 2, … */
static void set(tile_compile_options *o, const Field *f, int what, const char *const *texts) {
    int n = what;
    if (f->kind == FIELD_TEXT)
        memcpy((char *)o + f->offset, &texts[what - 1], sizeof texts[0]);
    else if (f->kind == FIELD_NUMBER)
        memcpy((char *)o + f->offset, &what, sizeof what);
    else {
        memcpy((char *)o + f->offset, &texts, sizeof texts);
        memcpy((char *)o + f->count, &n, sizeof n);
    }
}

START_TEST(every_field_is_compared) {
    static const char *const texts[] = {"one", "two"};
    char one[] = "one", two[] = "two";
    const char *const copies[] = {one, two};
    for (int i = 0; i < field_count; i++) {
        tile_compile_options none = {.source = NULL}, a = none, b = none, c = none;
        set(&a, &field_table[i], 1, texts);
        set(&b, &field_table[i], 2, texts);
        set(&c, &field_table[i], 2, copies);
        ck_assert_msg(!compile_options_same(&none, &a), "%s", field_table[i].name);
        ck_assert_msg(!compile_options_same(&a, &b), "%s", field_table[i].name);
        ck_assert_msg(compile_options_same(&b, &c), "%s", field_table[i].name);
    }
    tile_compile_options warps = {.num_warps = 8}, none = {.num_warps = 0};
    ck_assert(!compile_options_same(&warps, &none));
}
END_TEST

int main(void) {
    Suite *s = suite_create("compile options");
    TCase *c = tcase_create("compile options");
    tcase_add_test(c, options_of_kernels_are_taken);
    tcase_add_test(c, fields_are_taken);
    tcase_add_test(c, every_field_is_compared);
    return run_suite(s, c);
}
