/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_file.c: whole files in and out (base/file.c) and command lines (tools/options.c). */
#define _XOPEN_SOURCE 700
#include "base/file.h"
#include "tests/run_suite.h"
#include "tests/scratch.h"
#include "tools/options.h"

#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <signal.h>

static char folder[SCRATCH_SIZE];

static void enter(void) {
    ck_assert_ptr_nonnull(mkdtemp(scratch(folder, "tile-file")));
    ck_assert_int_eq(chdir(folder), 0);
}

static int entries(void) {
    int n = 0;
    DIR *d = opendir(".");
    for (struct dirent *e; (e = readdir(d));)
        n += strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
    closedir(d);
    return n;
}

static void leave(void) {
    DIR *d = opendir(".");
    for (struct dirent *e; (e = readdir(d));)
        if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..")) remove(e->d_name);
    closedir(d);
    ck_assert_int_eq(chdir("/"), 0);
    ck_assert_int_eq(rmdir(folder), 0);
}

static void put(const char *path, const char *text, size_t n) {
    FileError e;
    ck_assert_msg(file_write(path, text, n, &e), "%s", e.text);
}

static void expect_content(const char *path, const char *want, size_t n) {
    FileError e;
    char *data;
    size_t len;
    ck_assert_msg(file_read(path, 1 << 20, &data, &len, &e), "%s", e.text);
    ck_assert_uint_eq(len, n);
    ck_assert_mem_eq(data, want, n);
    ck_assert_int_eq(data[len], 0);
    free(data);
}

START_TEST(what_is_written_is_read) {
    put("empty", "", 0);
    expect_content("empty", "", 0);
    put("zeros", "a\0b", 3);
    expect_content("zeros", "a\0b", 3);
    put("zeros", "longer than before", 18);
    expect_content("zeros", "longer than before", 18);
    ck_assert_int_eq(entries(), 2);
}
END_TEST

START_TEST(reading_stops_at_the_limit) {
    FileError e;
    char *data;
    size_t len;
    put("ten", "0123456789", 10);
    ck_assert(file_read("ten", 10, &data, &len, &e));
    free(data);
    ck_assert(!file_read("ten", 9, &data, &len, &e));
    ck_assert(e.too_large);
    ck_assert_ptr_nonnull(strstr(e.text, "larger than 9 bytes"));
    ck_assert(!file_read("/dev/zero", 100000, &data, &len, &e)); /* no size to look up first */
    ck_assert(e.too_large);
}
END_TEST

START_TEST(what_cannot_be_read_is_named) {
    FileError e;
    char *data;
    size_t len;
    ck_assert(!file_read("missing", 10, &data, &len, &e));
    ck_assert_str_eq(e.text, "cannot read 'missing': No such file or directory");
    ck_assert(!e.too_large);
    ck_assert(!file_read(".", 10, &data, &len, &e));
    ck_assert_str_eq(e.text, "cannot read '.': Is a directory");
}
END_TEST

START_TEST(a_discarded_draft_leaves_the_old_file) {
    FileError e;
    FileDraft d;
    put("x", "old", 3);
    ck_assert(file_draft(&d, "x", "new", 3, &e));
    ck_assert_int_eq(entries(), 2);
    file_discard(&d);
    ck_assert_int_eq(entries(), 1);
    expect_content("x", "old", 3);
}
END_TEST

START_TEST(a_failed_write_leaves_nothing) {
    FileError e;
    static char big[100000];
    put("x", "old", 3);
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &(struct rlimit){4096, RLIM_INFINITY}), 0);
    ck_assert(!file_write("x", big, sizeof big, &e));
    ck_assert(!file_write("y", big, sizeof big, &e));
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &(struct rlimit){RLIM_INFINITY, RLIM_INFINITY}), 0);
    ck_assert_str_eq(e.text, "cannot write 'y': File too large");
    expect_content("x", "old", 3);
    ck_assert_int_eq(entries(), 1);
    ck_assert(!file_write("no/such/folder", "x", 1, &e));
    ck_assert_int_eq(entries(), 1);
}
END_TEST

START_TEST(links_and_permissions_are_kept) {
    struct stat st;
    put("target", "old", 3);
    ck_assert_int_eq(chmod("target", 0640), 0);
    ck_assert_int_eq(symlink("target", "link"), 0);
    put("link", "new", 3);
    ck_assert_int_eq(lstat("link", &st), 0);
    ck_assert(S_ISLNK(st.st_mode));
    ck_assert_int_eq(stat("target", &st), 0);
    ck_assert_int_eq(st.st_mode & 07777, 0640);
    expect_content("target", "new", 3);
    ck_assert(file_same("link", "target"));
    ck_assert(!file_same("link", "missing"));
}
END_TEST

START_TEST(what_is_no_regular_file_is_written_directly) {
    FileError e;
    struct stat st;
    put("/dev/null", "x", 1);
    ck_assert_int_eq(stat("/dev/null", &st), 0);
    ck_assert(S_ISCHR(st.st_mode));
    ck_assert(!file_write("/dev/full", "x", 1, &e));
    ck_assert_str_eq(e.text, "cannot write '/dev/full': No space left on device");
    ck_assert_int_eq(entries(), 0);
}
END_TEST

START_TEST(names_as_long_as_may_be) {
    char name[256];
    memset(name, 'n', 255);
    name[255] = 0;
    put(name, "x", 1);
    expect_content(name, "x", 1);
    ck_assert_int_eq(entries(), 1);
}
END_TEST

/* ---- options ---- */

enum { NUMBER = 1, FLAG, DEFINE, ONLY_LONG };
static const OptionRow rows[] = {
    {NULL, 0, NULL, "Heading:", 0},
    {"number", 'n', "N", "a number", NUMBER},
    {"flag", 'f', NULL, "a flag", FLAG},
    {NULL, 'D', "X=Y", "a definition", DEFINE},
    {"only-long", 0, "V", "no letter", ONLY_LONG},
};

/* Parses the words and writes what comes out as "id:value " … into one string. */
static const char *parsed(int argc, const char **words) {
    static char out[1024];
    char *argv[16] = {(char *)"program"};
    memcpy(argv + 1, words, (size_t)argc * sizeof *words);
    OptionParser p = option_parser(rows, sizeof rows / sizeof *rows, argc + 1, argv);
    size_t n = 0;
    out[0] = 0;
    for (int id; (id = option_next(&p)) != OPTION_END;) {
        if (id == OPTION_ERROR) return snprintf(out, sizeof out, "%s", p.error), out;
        n += (size_t)snprintf(out + n, sizeof out - n, "%d:%s ", id, p.value ? p.value : "");
    }
    return out;
}
#define PARSED(...)                                                                                \
    parsed((int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)),                          \
           (const char *[]){__VA_ARGS__})

START_TEST(options_in_all_their_forms) {
    ck_assert_str_eq(PARSED("--number=1", "--number", "2", "-n3", "-n", "4"), "1:1 1:2 1:3 1:4 ");
    ck_assert_str_eq(PARSED("--flag", "-f", "file", "-DA=B=C"), "2: 2: -1:file 3:A=B=C ");
    ck_assert_str_eq(PARSED("-", "--", "--flag", "-x"), "-1:- -1:--flag -1:-x ");
    ck_assert_str_eq(PARSED("--only-long=", "--number=-5"), "4: 1:-5 ");
}
END_TEST

START_TEST(mistakes_in_options_are_named) {
    ck_assert_str_eq(PARSED("--numbr=1"), "unknown option --numbr; did you mean --number?");
    ck_assert_str_eq(PARSED("--zzzzzz"), "unknown option --zzzzzz");
    ck_assert_str_eq(PARSED("-x"), "unknown option -x");
    ck_assert_str_eq(PARSED("--number"), "--number needs a value (N)");
    ck_assert_str_eq(PARSED("-D"), "-D needs a value (X=Y)");
    ck_assert_str_eq(PARSED("--flag=1"), "--flag takes no value");
    ck_assert_str_eq(PARSED("-f1"), "--flag takes no value");
    char *longest = malloc(100001);
    memset(longest, '-', 100000);
    longest[100000] = 0;
    ck_assert_int_lt((int)strlen(PARSED(longest)), 512);
    free(longest);
}
END_TEST

START_TEST(help_shows_every_row) {
    char *text = NULL;
    size_t n;
    FILE *f = open_memstream(&text, &n);
    option_print_help(f, rows, sizeof rows / sizeof *rows);
    fclose(f);
    ck_assert_str_eq(text, "Heading:\n"
                           "  -n, --number=N          a number\n"
                           "  -f, --flag              a flag\n"
                           "  -D X=Y                  a definition\n"
                           "  --only-long=V           no letter\n");
    free(text);
}
END_TEST

START_TEST(numbers) {
    long v = 7;
    ck_assert_int_eq(option_number("12", 0, 12, &v), 0);
    ck_assert_int_eq(v, 12);
    static const char *const bad[] = {"", "13", "-1", "1x", "x", "99999999999999999999", "1.5"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_int_eq(option_number(bad[i], 0, 12, &v), -1);
    ck_assert_int_eq(v, 12);
}
END_TEST

int main(void) {
    Suite *s = suite_create("file");
    TCase *files = tcase_create("files"), *options = tcase_create("options");
    tcase_add_checked_fixture(files, enter, leave);
    tcase_add_test(files, what_is_written_is_read);
    tcase_add_test(files, reading_stops_at_the_limit);
    tcase_add_test(files, what_cannot_be_read_is_named);
    tcase_add_test(files, a_discarded_draft_leaves_the_old_file);
    tcase_add_test(files, a_failed_write_leaves_nothing);
    tcase_add_test(files, links_and_permissions_are_kept);
    tcase_add_test(files, what_is_no_regular_file_is_written_directly);
    tcase_add_test(files, names_as_long_as_may_be);
    tcase_add_test(options, options_in_all_their_forms);
    tcase_add_test(options, mistakes_in_options_are_named);
    tcase_add_test(options, help_shows_every_row);
    tcase_add_test(options, numbers);
    suite_add_tcase(s, files);
    return run_suite(s, options);
}
