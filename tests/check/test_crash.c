/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_crash.c: what a bug in the compiler leaves behind. The linker puts a tile_compile that has
 * bugs in the place of the real one (--wrap); what it leaves is compiled again by tilec. */
#define _XOPEN_SOURCE 700 /* sigaltstack */
#include "tools/bundle.c"
#include "tools/crash.c"
#include "tools/messages.c"

#include "tests/run_suite.h"
#include "tests/scratch.h"

#include <check.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

typedef enum Bug { NO_BUG, SEGV, ABORT, DEEP, INTERNAL, INTERRUPT, BUGS } Bug;
static Bug bug;

tile_status __real_tile_compile(const tile_compile_options *options, tile_compiled **out);
tile_status __wrap_tile_compile(const tile_compile_options *options, tile_compiled **out);

static int deep(volatile char *above) {
    volatile char frame[4096];
    frame[0] = *above;
    return bug == DEEP ? deep(frame) + frame[0] : 0;
}

/* The bug shows when the modules have been read. */
tile_status __wrap_tile_compile(const tile_compile_options *options, tile_compiled **out) {
    tile_status st = __real_tile_compile(options, out);
    char c = 1;
    if (bug == SEGV) raise(SIGSEGV);
    if (bug == ABORT) abort();
    if (bug == DEEP) return (tile_status)deep(&c);
    if (bug == INTERRUPT) raise(SIGHUP);
    return bug == INTERNAL ? TILE_INTERNAL : st;
}

static const char source[] = "import triton, triton.language as tl\n"
                             "from part import half\n"
                             "@triton.jit\n"
                             "def k(p: '*fp32:16', B: tl.constexpr, C: tl.constexpr = 1):\n"
                             "    i = tl.arange(0, B)\n"
                             "    tl.store(p + i, half(tl.load(p + i)) + C)\n";
static const char part[] = "import triton\n"
                           "@triton.jit\n"
                           "def half(x):\n"
                           "    return x * 0.5\n";

static char folder[SCRATCH_SIZE], modules[SCRATCH_SIZE], bundle[400], path[400];
static const char *const defines[] = {"B=64", "C=7"};
static const char *include[1];
static tile_compile_options options;

static void put(const char *at, const char *name, const char *text, size_t len) {
    FileError e;
    snprintf(path, sizeof path, "%s/%s", at, name);
    ck_assert_msg(file_write(path, text, len, &e), "%s", e.text);
}

static void setup(void) {
    ck_assert_ptr_nonnull(mkdtemp(scratch(folder, "tile-crash")));
    ck_assert_ptr_nonnull(mkdtemp(scratch(modules, "tile-crash-modules")));
    ck_assert_int_eq(chdir(folder), 0);
    unsetenv("TILEC_CRASH_DIR");
    put(modules, "part.py", part, strlen(part));
    include[0] = modules;
    options = (tile_compile_options){.source = source,
                                     .source_len = strlen(source),
                                     .file_name = "k.tl",
                                     .defines = defines,
                                     .ndefines = 2,
                                     .include = include,
                                     .ninclude = 1,
                                     .target = "sm_90a",
                                     .num_warps = 2,
                                     .options = "maxnreg=64",
                                     .no_perf_notes = 1,
                                     .reader = tile_file_reader()};
}

static void teardown(void) {
    scratch_empty(folder);
    scratch_empty(modules);
    rmdir(folder);
    rmdir(modules);
}

/* What is in the folder; its last bundle is `bundle`. */
static int files(const char *at) {
    int n = 0;
    DIR *d = opendir(at);
    for (struct dirent *e; d && (e = readdir(d));) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        snprintf(bundle, sizeof bundle, "%s/%s", at, e->d_name);
        n++;
    }
    if (d) closedir(d);
    return n;
}

/* Compiles in a process with the bug; how that ended, and in `said` what it said. */
static int crashes(Bug which, bool json, char said[4000]) {
    put(folder, "said", "", 0);
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        const Messages m = {"tilec", "error: ", json};
        const struct rlimit none = {0, 0};
        tile_compiled *c = NULL;
        setrlimit(RLIMIT_CORE, &none);
        for (int i = 0; i < SIGNALS; i++) signal(signals[i].number, SIG_DFL); /* not Check's */
        if (!freopen("said", "w", stderr)) _exit(99);
        bug = which;
        tile_status st = crash_compile(&m, &options, &c);
        _exit(100 + (int)st);
    }
    int status;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    FILE *f = fopen("said", "r");
    said[fread(said, 1, 3999, f)] = '\0';
    fclose(f);
    unlink("said");
    return status;
}

static char *compiled_text(const tile_compile_options *o) {
    tile_compiled *c;
    ck_assert_int_eq(__real_tile_compile(o, &c), TILE_OK);
    char *text = strdup(tile_compiled_text(c, TILE_PART_OUTPUT, NULL));
    tile_compiled_free(c);
    return text;
}

static int tilec(const char *words, char *out, size_t size) {
    char command[1000];
    snprintf(command, sizeof command, "%s/bin/tilec %s", TILE_BINARY_DIR, words);
    FILE *p = popen(command, "r");
    ck_assert_ptr_nonnull(p);
    out[fread(out, 1, size - 1, p)] = '\0';
    return WEXITSTATUS(pclose(p));
}

/* The bundle alone, without the modules' folder, becomes the same PTX. */
static void is_reproduced(const char *message) {
    static char out[1 << 20];
    char words[600], why[BUNDLE_WHY], *expected = compiled_text(&options);
    struct stat st;
    Bundle b;
    ck_assert_msg(bundle_read(&b, bundle, why) == TILE_OK, "%s", why);
    ck_assert_str_eq(b.version, tile_version());
    ck_assert_str_eq(b.message, message);
    bundle_free(&b);
    ck_assert_int_eq(stat(bundle, &st), 0);
    ck_assert_int_eq(st.st_mode & 0777, 0600);
    scratch_empty(modules);
    snprintf(words, sizeof words, "--reproduce %s -o - 2>/dev/null", bundle);
    ck_assert_int_eq(tilec(words, out, sizeof out), 0);
    ck_assert_str_eq(out, expected);
    free(expected);
}

START_TEST(signals_leave_a_bundle) {
    static const int number[] = {[SEGV] = SIGSEGV, [ABORT] = SIGABRT, [DEEP] = SIGSEGV};
    char said[4000];
    int status = crashes((Bug)_i, false, said);
    ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == number[_i], "status %d", status);
    ck_assert_int_eq(files(folder), 1);
    ck_assert_msg(strncmp(said, "tilec: error: this is a bug in tilec: './tilec-crash-", 53) == 0,
                  "%s", said);
    is_reproduced(_i == ABORT ? "SIGABRT" : "SIGSEGV");
}
END_TEST

START_TEST(internal_errors_leave_a_bundle) {
    char said[4000];
    int status = crashes(INTERNAL, true, said);
    ck_assert_int_eq(WEXITSTATUS(status), 100 + TILE_INTERNAL);
    ck_assert_int_eq(files(folder), 1);
    ck_assert_msg(
        strstr(said, "{\"severity\": \"error\", \"code\": \"E0001\", \"text\": \"this is a bug") ==
            said,
        "%s", said);
    is_reproduced("");
}
END_TEST

START_TEST(nothing_else_does) {
    char said[4000];
    int status = crashes(NO_BUG, false, said);
    ck_assert_int_eq(WEXITSTATUS(status), 100 + TILE_OK);
    status = crashes(INTERRUPT, false, said);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGHUP);
    setenv("TILEC_CRASH_DIR", "", 1);
    status = crashes(SEGV, false, said);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    ck_assert_str_eq(said, "");
    options.source = "def";
    options.source_len = 3;
    unsetenv("TILEC_CRASH_DIR");
    status = crashes(NO_BUG, false, said);
    ck_assert_int_eq(WEXITSTATUS(status), 100 + TILE_COMPILE_ERROR);
    ck_assert_int_eq(files(folder), 0);
}
END_TEST

/* All of it or nothing: no folder, and no room. */
START_TEST(what_cannot_be_written_is_not_there) {
    char said[4000];
    setenv("TILEC_CRASH_DIR", "/nowhere", 1);
    int status = crashes(SEGV, false, said);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    ck_assert_msg(strstr(said, "could not be written") != NULL, "%s", said);
    setenv("TILEC_CRASH_DIR", modules, 1);
    struct rlimit old, small = {200, 200};
    getrlimit(RLIMIT_FSIZE, &old);
    small.rlim_max = old.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    status = crashes(INTERNAL, false, said);
    setrlimit(RLIMIT_FSIZE, &old);
    ck_assert_int_eq(WEXITSTATUS(status), 100 + TILE_INTERNAL);
    ck_assert_int_eq(files(modules), 1); /* part.py */
    ck_assert_int_eq(files(folder), 0);
    status = crashes(SEGV, false, said); /* and where it says */
    ck_assert_int_eq(files(folder), 0);
    ck_assert_int_eq(files(modules), 2);
}
END_TEST

/* Cut anywhere, or with any byte changed, it is refused or read: no more than that. */
START_TEST(damaged_bundles) {
    char said[4000], why[BUNDLE_WHY], *text;
    size_t len;
    FileError e;
    crashes(SEGV, false, said);
    ck_assert_int_eq(files(folder), 1);
    ck_assert(file_read(bundle, 1 << 20, &text, &len, &e));
    for (size_t n = 0; n < len; n++) {
        Bundle b;
        put(folder, "cut", text, n);
        ck_assert_int_eq(bundle_read(&b, "cut", why), TILE_INVALID);
        bundle_free(&b);
        char was = text[n];
        for (int k = 0; k < 3; k++) {
            text[n] = "9\n-"[k];
            put(folder, "changed", text, len);
            bundle_read(&b, "changed", why);
            bundle_free(&b);
        }
        text[n] = was;
    }
    free(text);
    put(folder, "other", "import", 6);
    ck_assert_int_eq(tilec("--reproduce other 2>&1", said, sizeof said), 2);
    ck_assert_str_eq(said, "tilec: error: 'other' is no bundle of tilec [E0002]\n");
    ck_assert_int_eq(tilec("--reproduce none 2>&1", said, sizeof said), 3);
    ck_assert_int_eq(tilec("--reproduce other k.tl 2>&1", said, sizeof said), 2);
}
END_TEST

int main(void) {
    TCase *t = tcase_create("crash");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, signals_leave_a_bundle, SEGV, DEEP + 1);
    tcase_add_test(t, internal_errors_leave_a_bundle);
    tcase_add_test(t, nothing_else_does);
    tcase_add_test(t, what_cannot_be_written_is_not_there);
    tcase_add_test(t, damaged_bundles);
    return run_suite(suite_create("crash"), t);
}
