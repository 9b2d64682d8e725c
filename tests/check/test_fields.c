/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_fields.c: every option of options.def is in the keys of tile_jit and of tuning unless its
 * row says otherwise, and lasts when it is copied. */
#include "base/session.h"
#include "compiler/fields.h"
#include "tests/run_suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char text[1 << 14];
static size_t used;

static void put(void *ctx, const char *more, size_t len) {
    (void)ctx;
    ck_assert_uint_lt(used + len, sizeof text);
    memcpy(text + used, more, len);
    used += len;
    text[used] = 0;
}

static const char *key(const tile_compile_options *o, unsigned without) {
    static char keys[2][sizeof text];
    static int which;
    used = 0;
    fields_key(o, without, put, NULL);
    which = !which;
    return strcpy(keys[which], text);
}

static bool differs(const tile_compile_options *a, const tile_compile_options *b,
                    unsigned without) {
    return strcmp(key(a, without), key(b, without)) != 0;
}

/* The field with another value: what = 1, 2, … */
static void set(tile_compile_options *o, const Field *f, int what) {
    static const char *const texts[] = {"one", "two"}, *const more[] = {"one", "two", "three"};
    static const char *const *const lists[] = {texts, more};
    const char *const *list = lists[what - 1];
    int n = what + 1;
    if (f->kind == FIELD_TEXT)
        memcpy((char *)o + f->offset, &texts[what - 1], sizeof texts[0]);
    else if (f->kind == FIELD_NUMBER)
        memcpy((char *)o + f->offset, &what, sizeof what);
    else
        memcpy((char *)o + f->offset, &list, sizeof list),
            memcpy((char *)o + f->count, &n, sizeof n);
}

static bool among(const char *name, const char *names) {
    char spaced[64];
    snprintf(spaced, sizeof spaced, " %s ", name);
    return strstr(names, spaced) != NULL;
}

/* What is in no key is listed here, too: a row that leaves its option out is no slip. */
static const char not_in_jit[] = " values color options ";
static const char not_in_tuning[] =
    " file_name kernel signature ignore_annotations values config config_text target emit "
    "line_info "
    "passes without dump_after verify_each time stats report annotate color warnings_are_errors "
    "no_warnings no_perf_notes "
    "annotations_hold warn_triton options include ";
static const char not_for_jit[] =
    " input_is_tir values emit line_info passes without dump_after time stats report annotate ";

START_TEST(every_field_is_in_the_keys) {
    ck_assert_int_gt(field_count, 25);
    for (int i = 0; i < field_count; i++) {
        const Field *f = &field_table[i];
        tile_compile_options none = {.source = NULL}, one = none, two = none;
        set(&one, f, 1);
        set(&two, f, 2);
        bool jit = !among(f->name, not_in_jit), tuning = !among(f->name, not_in_tuning);
        ck_assert_msg(differs(&none, &one, NO_KEY) == jit, "%s", f->name);
        ck_assert_msg(differs(&one, &two, NO_KEY) == jit, "%s", f->name);
        ck_assert_msg(differs(&none, &one, NO_TUNING) == tuning, "%s", f->name);
        ck_assert_msg(differs(&one, &two, NO_TUNING) == tuning, "%s", f->name);
        const char *given = fields_given(&one, NO_JIT);
        ck_assert_msg((given != NULL) == among(f->name, not_for_jit), "%s", f->name);
        if (given) ck_assert_str_eq(given, f->name);
    }
}
END_TEST

START_TEST(every_option_of_kernels_is_in_the_keys) {
    for (int i = 0; i < OPTIONS; i++) {
        char given[64], least[64];
        tile_compile_options none = {.source = NULL}, one = none, two = none;
        snprintf(least, sizeof least, "%s=%d", option_info[i].name, (int)option_info[i].rule.least);
        snprintf(given, sizeof given, "%s=%d", option_info[i].name, (int)option_info[i].rule.most);
        one.options = least;
        two.options = given;
        for (unsigned without = NO_JIT; without <= NO_TUNING; without *= 2) {
            ck_assert_msg(differs(&none, &two, without), "%s", given);
            ck_assert_msg(differs(&one, &two, without) == (strcmp(least, given) != 0), "%s", given);
        }
    }
    /* A field and its name are one option. */
    tile_compile_options field = {.num_warps = 8}, name = {.options = "num_warps=8"};
    ck_assert(!differs(&field, &name, NO_KEY) && !differs(&field, &name, NO_TUNING));
    name.num_warps = 2;
    ck_assert(!differs(&field, &name, NO_KEY) && !differs(&field, &name, NO_TUNING));
}
END_TEST

/* Texts that run together are told apart. */
START_TEST(keys_are_not_ambiguous) {
    static const char *const whole[] = {"A=1\nB=2"}, *const parts[] = {"A=1", "B=2"};
    tile_compile_options a = {.defines = whole, .ndefines = 1};
    tile_compile_options b = {.defines = parts, .ndefines = 2};
    ck_assert(differs(&a, &b, NO_KEY) && differs(&a, &b, NO_TUNING));
    tile_compile_options empty = {.signature = ""}, none = {.signature = NULL};
    ck_assert(differs(&empty, &none, NO_KEY));
}
END_TEST

START_TEST(what_is_kept_is_a_copy) {
    Session *s = calloc(1, sizeof *s);
    ck_assert_ptr_nonnull(s);
    if (setjmp(s->bail)) ck_abort_msg("out of memory");
    session_init(s);
    for (int i = 0; i < field_count; i++) {
        const Field *f = &field_table[i];
        tile_compile_options given = {.source = NULL}, copy;
        set(&given, f, 2);
        copy = given;
        fields_keep(&copy, &s->arena);
        ck_assert_msg(!differs(&given, &copy, 0), "%s", f->name);
        bool same = memcmp((char *)&given + f->offset, (char *)&copy + f->offset,
                           f->kind == FIELD_NUMBER ? sizeof(int) : sizeof(char *)) == 0;
        ck_assert_msg(same == (f->kind == FIELD_NUMBER), "%s", f->name);
    }
    session_free(s);
    free(s);
}
END_TEST

int main(void) {
    Suite *s = suite_create("fields");
    TCase *c = tcase_create("fields");
    tcase_add_test(c, every_field_is_in_the_keys);
    tcase_add_test(c, every_option_of_kernels_is_in_the_keys);
    tcase_add_test(c, keys_are_not_ambiguous);
    tcase_add_test(c, what_is_kept_is_a_copy);
    return run_suite(s, c);
}
