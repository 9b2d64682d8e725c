/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_response.c: words @FILE of a command line: quoting, nesting, limits, and what is no such
 * word. */
#include "tools/response.c"

#include "tests/scratch.h"

/* After it: check.h has a macro named fail. */
#include "tests/run_suite.h"

#include <check.h>

static const OptionRow rows[] = {
    {NULL, 0, NULL, "Heading:", 0},        {"variants", 0, "LIST", "a list", 1},
    {NULL, 'o', "FILE", "where to", 2},    {"-MF", 0, "FILE", "a file", 3},
    {"report", 0, "[=KIND]", "a kind", 4}, {"flag", 'f', NULL, "a flag", 5},
};

static char folder[SCRATCH_SIZE];

static void setup(void) {
    ck_assert_ptr_nonnull(mkdtemp(scratch(folder, "tile-response")));
    ck_assert_int_eq(chdir(folder), 0);
}

static void teardown(void) {
    scratch_empty(folder);
    rmdir(folder);
}

static void put(const char *name, const char *text, size_t len) {
    FileError e;
    ck_assert_msg(file_write(name, text, len, &e), "%s", e.text);
}

static bool expand(Words *w, char **argv) {
    int argc = 0;
    while (argv[argc]) argc++;
    return words_expand(w, rows, sizeof rows / sizeof *rows, argc, argv);
}
#define EXPAND(w, ...) expand(w, (char *[]){"tilec", __VA_ARGS__, NULL})

/* The words but the program's, each between brackets. */
static const char *shown(const Words *w) {
    static char text[2000];
    size_t n = 0;
    text[0] = '\0';
    for (int i = 1; i < w->argc; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "[%s]", w->argv[i]);
    ck_assert_ptr_null(w->argv[w->argc]);
    return text;
}

static void reads(const char *text, const char *expected) {
    Words w;
    put("f", text, strlen(text));
    ck_assert_msg(EXPAND(&w, "a", "@f", "z"), "%s", w.error);
    ck_assert_str_eq(shown(&w) + 3, expected);
    words_free(&w);
}

START_TEST(words_are_cut_as_gcc_cuts_them) {
    reads("", "[z]");
    reads(" \t\r\n\v\f", "[z]");
    reads("b", "[b][z]");
    reads("b c\nd\r\n e ", "[b][c][d][e][z]");
    reads("'b c' \"d e\"", "[b c][d e][z]");
    reads("'' \"\"", "[][][z]");
    reads("x'b 'y\" c\"", "[xb y c][z]");
    reads("'\"' \"'\"", "[\"]['][z]");
    reads("b\\ c \\' \\\" \\\\", "[b c]['][\"][\\][z]");
    reads("'\\'' \"\\\"\" '\\\\'", "['][\"][\\][z]");
    reads("b\\", "[b\\][z]");
    reads("'new\nline'", "[new\nline][z]");
    reads("# no comment", "[#][no][comment][z]");
}
END_TEST

START_TEST(values_and_the_rest_stay) {
    Words w;
    put("f", "in", 2);
    ck_assert(EXPAND(&w, "--variants", "@f", "-o", "@f", "-MF", "@f", "--report", "@f", "-f", "@f",
                     "--flag", "@f", "--variants=@f", "x=@f", "@f", "--", "@f", "@no"));
    ck_assert_str_eq(shown(&w), "[--variants][@f][-o][@f][-MF][@f][--report][in][-f][in][--flag]"
                                "[in][--variants=@f][x=@f][in][--][@f][@no]");
    words_free(&w);
    put("o", "-o", 2); /* its value is behind the file */
    put("d", "-- @f", 5);
    ck_assert(EXPAND(&w, "@o", "@f", "@o", "--", "@f", "@d", "@f"));
    ck_assert_str_eq(shown(&w), "[-o][@f][-o][--][in][--][@f][@f]");
    words_free(&w);
}
END_TEST

static void refused(const char *word, const char *why, bool unread) {
    Words w;
    ck_assert(!EXPAND(&w, (char *)(uintptr_t)word));
    ck_assert_msg(strstr(w.error, why) != NULL, "%s", w.error);
    ck_assert_int_eq(w.unread, unread);
    words_free(&w);
}

START_TEST(mistakes_are_named) {
    refused("@", "@: names no file", false);
    refused("@missing", "cannot read 'missing': No such file", true);
    refused("@.", "cannot read '.': Is a directory", true);
    put("open", "a 'b c", 6);
    refused("@open", "@open: a quote is not closed", false);
    put("nul", "a\0b", 3);
    refused("@nul", "@nul: has a NUL", false);
    put("self", "x @self", 7);
    refused("@self", "@self: 16 files name each other", false);
    put("two", "@two @two", 9);
    refused("@two", "@two: 16 files name each other", false);
}
END_TEST

START_TEST(sizes_have_limits) {
    Words w;
    char *much = malloc(MOST_BYTES + 2);
    ck_assert_ptr_nonnull(much);
    memset(much, ' ', MOST_BYTES + 2);
    put("big", much, MOST_BYTES + 1);
    refused("@big", "@big: such files are larger than 8 MB", false);
    put("half", much, MOST_BYTES / 2 + 1);
    ck_assert(EXPAND(&w, "@half"));
    words_free(&w);
    ck_assert(!EXPAND(&w, "@half", "@half"));
    ck_assert_ptr_nonnull(strstr(w.error, "larger than 8 MB together"));
    words_free(&w);
    for (int i = 0; i < MOST_BYTES; i += 2) much[i] = 'x';
    put("words", much, MOST_BYTES);
    refused("@words", "more than a million words", false);
    put("none", "", 0);
    for (int i = 0; i < 5000; i++) memcpy(much + 6 * i, "@none ", 6);
    put("many", much, 6 * 5000);
    refused("@many", "@none: that is file number 4097", false);
    free(much);
    /* 15 files, each of which names the next. */
    for (int i = 0; i < 15; i++) {
        char name[16], text[16];
        snprintf(name, sizeof name, "n%d", i);
        snprintf(text, sizeof text, i < 14 ? "@n%d" : "end", i + 1);
        put(name, text, strlen(text));
    }
    ck_assert_msg(EXPAND(&w, "@n0"), "%s", w.error);
    ck_assert_str_eq(shown(&w), "[end]");
    words_free(&w);
}
END_TEST

int main(void) {
    TCase *t = tcase_create("response");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, words_are_cut_as_gcc_cuts_them);
    tcase_add_test(t, values_and_the_rest_stay);
    tcase_add_test(t, mistakes_are_named);
    tcase_add_test(t, sizes_have_limits);
    return run_suite(suite_create("response"), t);
}
