/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* runner.c: tile-test: runs data files and prints `N passed, N failed` (what they may say is in
 * expect.h).
 *
 *   tile-test [--bless] [--jobs=N] [--tools=DIR]… [-v] FILE|FOLDER…
 *
 * Files of a folder are tests when they hold a RUN line. A command's first word is looked up in the
 * --tools folders (default: where tile-test is), nowhere else, and is executed without a shell.
 * Each test runs in a process of its own, as many at once as there are cores, in an empty folder
 * that is removed afterwards. */
#define _XOPEN_SOURCE 700 /* nftw, realpath */
#include "tests/expect.h"
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_JOBS = 64, MAX_WORDS = 256, MAX_TOOLS = 8, SECONDS = 120, TEST_LIMIT = 64 << 20 };
enum Verdict { PASSED = 0, FAILED = 1, SKIPPED = 77 };

typedef struct Names {
    char **at;
    int n, cap;
} Names;

typedef struct Settings {
    char tools[MAX_TOOLS][PATH_MAX];
    int ntools;
    bool bless, verbose;
} Settings;

typedef struct Text {
    char *data;
    size_t len, cap;
} Text;

static void *must(void *p) {
    if (p) return p;
    fputs("tile-test: out of memory\n", stderr);
    exit(3);
}

static void append(Text *t, const char *s, size_t n) {
    if (t->len + n + 1 > t->cap) {
        t->cap = (t->len + n + 1) * 2;
        t->data = must(realloc(t->data, t->cap));
    }
    memcpy(t->data + t->len, s, n);
    t->len += n;
    t->data[t->len] = 0;
}

static char *replace(const char *s, const char *what, const char *with) {
    Text out = {0};
    append(&out, "", 0);
    for (const char *hit; *what && (hit = strstr(s, what)); s = hit + strlen(what)) {
        append(&out, s, (size_t)(hit - s));
        append(&out, with, strlen(with));
    }
    append(&out, s, strlen(s));
    return out.data;
}

static void add_name(Names *v, const char *s) {
    if (v->n == v->cap) {
        v->cap = v->cap ? v->cap * 2 : 64;
        v->at = must(realloc(v->at, (size_t)v->cap * sizeof *v->at));
    }
    v->at[v->n++] = must(strdup(s));
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* ---- one command ---- */

/* Splits a command in place. Quotes keep words together and are removed. -1: a quote never closed.
 */
static int split(char *s, char **word) {
    int n = 0;
    while (*s) {
        while (*s == ' ') s++;
        if (!*s) break;
        if (n == MAX_WORDS - 1) return -1;
        char *out = s, quote = 0;
        word[n++] = out;
        for (; *s && (quote || *s != ' '); s++) {
            if (quote ? *s == quote : *s == '\'' || *s == '"')
                quote = quote ? 0 : *s;
            else
                *out++ = *s;
        }
        if (quote) return -1;
        if (*s) s++;
        *out = 0;
    }
    word[n] = NULL;
    return n;
}

static char *substitute(const char *word, const char *file, const char *folder) {
    Text out = {0};
    append(&out, "", 0);
    for (; *word; word++) {
        if (word[0] == '%' && word[1] == 's')
            append(&out, file, strlen(file)), word++;
        else if (word[0] == '%' && word[1] == 't')
            append(&out, folder, strlen(folder)), word++;
        else if (word[0] == '%' && word[1] == 'd')
            append(&out, file, (size_t)(file_base_name(file) - file - 1)), word++;
        else
            append(&out, word, 1);
    }
    return out.data;
}

static bool find_tool(const Settings *set, const char *name, char *path, size_t size) {
    for (int i = 0; i < set->ntools; i++) {
        int n = snprintf(path, size, "%s/%s", set->tools[i], name);
        if (n > 0 && (size_t)n < size && access(path, X_OK) == 0) return true;
    }
    return false;
}

/* Reads the command's output until it ends or its time is up; true in time. */
static bool drain(int fd, Text *output) {
    struct timespec start, now;
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (;;) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        long left = SECONDS - (long)(now.tv_sec - start.tv_sec);
        struct pollfd p = {.fd = fd, .events = POLLIN};
        if (left <= 0 || poll(&p, 1, (int)left * 1000) == 0) return false;
        char block[16384];
        ssize_t n = read(fd, block, sizeof block);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return true;
        if (output->len + (size_t)n > TEST_LIMIT) return false;
        append(output, block, (size_t)n);
    }
}

/* Runs one command in `folder`, appending what it prints. Its exit code; 128 + N after signal N;
 * -1 when it cannot be run. */
static int execute(const Settings *set, char **word, const char *folder, Text *output, FILE *why) {
    char path[PATH_MAX];
    int fds[2];
    if (!find_tool(set, word[0], path, sizeof path)) {
        fprintf(why, "  no such tool: %s\n", word[0]);
        return -1;
    }
    if (pipe(fds)) return -1;
    pid_t pid = fork();
    if (pid == 0) {
        int null = open("/dev/null", O_RDONLY);
        setpgid(0, 0);
        dup2(null, 0);
        dup2(fds[1], 1);
        dup2(fds[1], 2);
        close(fds[0]);
        if (chdir(folder) == 0) execv(path, word);
        _exit(127);
    }
    close(fds[1]);
    if (pid < 0) return -1;
    bool in_time = drain(fds[0], output);
    close(fds[0]);
    if (!in_time) {
        fprintf(why, "  stopped: it ran for %d seconds or printed %d MB\n", SECONDS,
                TEST_LIMIT >> 20);
        kill(-pid, SIGKILL);
        kill(pid, SIGKILL);
    }
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
    if (!in_time) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* ---- one test ---- */

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at) {
    (void)st, (void)type, (void)at;
    return remove(path);
}

/* Names of what lies in the folder: only temporary files, or everything. */
static bool report_leftovers(const char *folder, bool all, FILE *why) {
    DIR *dir = opendir(folder);
    bool clean = dir != NULL;
    for (struct dirent *e; dir && (e = readdir(dir));) {
        const char *name = e->d_name;
        size_t n = strlen(name);
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) continue;
        if (!all && name[0] != '.' && !(n > 4 && strcmp(name + n - 4, ".tmp") == 0)) continue;
        fprintf(why, "  left behind: %s\n", name);
        clean = false;
    }
    if (dir) closedir(dir);
    return clean;
}

/* Text files that the commands left, behind their output. */
static void append_files(const char *folder, Text *output) {
    struct dirent **entry;
    int n = scandir(folder, &entry, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        char path[PATH_MAX], *text;
        FileError error;
        size_t len;
        int size = snprintf(path, sizeof path, "%s/%s", folder, entry[i]->d_name);
        if (size > 0 && size < PATH_MAX && file_regular(path) &&
            file_read(path, TEST_LIMIT, &text, &len, &error)) {
            if (!memchr(text, 0, len)) append(output, text, len);
            free(text);
        }
        free(entry[i]);
    }
    if (n >= 0) free(entry);
}

static int run_commands(const Settings *set, const Expectations *e, const char *file,
                        const char *folder, Text *output, FILE *why) {
    for (int i = 0; i < e->nruns; i++) {
        char *word[MAX_WORDS], *line = must(strdup(e->run[i]));
        int n = split(line, word), want = i == e->nruns - 1 ? e->exit_code : 0;
        if (n < 1) {
            fprintf(why, "  not a command: %s\n", e->run[i]);
            free(line);
            return FAILED;
        }
        for (int k = 0; k < n; k++) word[k] = substitute(word[k], file, folder);
        int code = execute(set, word, folder, output, why);
        for (int k = 0; k < n; k++) free(word[k]);
        free(line);
        if (code == SKIPPED) return SKIPPED;
        if (code != want) {
            fprintf(why, "  exit code %d, expected %d: %s\n", code, want, e->run[i]);
            return FAILED;
        }
    }
    return PASSED;
}

static bool bless(const char *file, const Expectations *e, const char *output) {
    char *text = expect_bless(e, output);
    FileError error;
    bool ok = strcmp(text, e->text) == 0 || file_write(file, text, strlen(text), &error);
    free(text);
    return ok;
}

/* Runs in a process of its own; what it prints is shown when the test fails. */
static int run_test(const Settings *set, const char *file, FILE *why) {
    FileError error;
    Expectations e;
    char *text;
    size_t len;
    if (!file_read(file, TEST_LIMIT, &text, &len, &error)) {
        fprintf(why, "  %s\n", error.text);
        return FAILED;
    }
    if (!expect_read(&e, text, len, why)) return FAILED;
    const char *tmp = getenv("TMPDIR");
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s/tile-test.XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp(folder)) {
        fprintf(why, "  cannot make a folder in %s\n", folder);
        return FAILED;
    }
    Text raw = {0};
    append(&raw, "", 0);
    int verdict = run_commands(set, &e, file, folder, &raw, why);
    append_files(folder, &raw);
    char *home = must(strndup(file, (size_t)(file_base_name(file) - file)));
    char *named = replace(raw.data, file, "%s"), *moved = replace(named, home, "%d/");
    char *output = replace(moved, folder, "%t");
    if (verdict == PASSED && set->bless && e.has_exact) {
        if (!bless(file, &e, output)) verdict = FAILED;
    } else if (verdict != SKIPPED && !expect_hold(&e, output, why))
        verdict = FAILED;
    if (!report_leftovers(folder, e.exit_code != 0, why)) verdict = FAILED;
    if (verdict == FAILED) {
        fprintf(why, "  output:\n");
        int lines = 0;
        for (char *s = output, *nl; *s && lines < 40; s = nl ? nl + 1 : s + strlen(s), lines++) {
            nl = strchr(s, '\n');
            fprintf(why, "    | %.*s\n", (int)(nl ? nl - s : (long)strlen(s)), s);
        }
    }
    nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    free(raw.data), free(named), free(output);
    expect_free(&e);
    return verdict;
}

/* ---- all tests ---- */

static bool has_run_line(const char *file) {
    FileError error;
    Expectations e;
    char *text;
    size_t len;
    if (!file_read(file, TEST_LIMIT, &text, &len, &error)) return false;
    FILE *nowhere = fopen("/dev/null", "w");
    bool sound = expect_read(&e, text, len, nowhere), is_test = !sound || e.nruns > 0;
    if (nowhere) fclose(nowhere);
    expect_free(&e);
    return is_test;
}

static void collect(Names *files, const char *path) {
    static const char *const suffixes[] = {".tl", ".py", ".tir", ".test"};
    struct dirent **entry;
    int n = scandir(path, &entry, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        char inner[PATH_MAX];
        const char *name = entry[i]->d_name, *dot = strrchr(name, '.');
        struct stat st;
        bool whole = (size_t)snprintf(inner, sizeof inner, "%s/%s", path, name) < sizeof inner;
        if (name[0] != '.' && whole && stat(inner, &st) == 0) {
            if (S_ISDIR(st.st_mode)) collect(files, inner);
            for (size_t k = 0; dot && S_ISREG(st.st_mode) && k < 4; k++)
                if (strcmp(dot, suffixes[k]) == 0 && has_run_line(inner)) add_name(files, inner);
        }
        free(entry[i]);
    }
    if (n >= 0) free(entry);
}

typedef struct Running {
    pid_t pid;
    int file; /* index of the test */
    FILE *report;
} Running;

static void show(const Running *r, const char *file, int verdict, bool verbose) {
    if (verdict == PASSED && !verbose) return;
    printf("%s %s\n", verdict == PASSED ? "pass" : verdict == SKIPPED ? "skip" : "FAIL", file);
    rewind(r->report);
    char block[4096];
    for (size_t n; verdict == FAILED && (n = fread(block, 1, sizeof block, r->report)) > 0;)
        fwrite(block, 1, n, stdout);
}

static void run_all(const Settings *set, const Names *files, int jobs, int count[3]) {
    Running running[MAX_JOBS];
    int active = 0, next = 0;
    while (next < files->n || active) {
        while (next < files->n && active < jobs) {
            Running r = {.file = next, .report = must(tmpfile())};
            fflush(stdout);
            r.pid = fork();
            if (r.pid == 0) {
                int verdict = run_test(set, files->at[next], r.report);
                fflush(r.report);
                _exit(verdict);
            }
            next++;
            running[active++] = r;
        }
        int status;
        pid_t pid = waitpid(-1, &status, 0);
        for (int i = 0; i < active; i++) {
            if (running[i].pid != pid) continue;
            int verdict = WIFEXITED(status) ? WEXITSTATUS(status) : FAILED;
            if (verdict != PASSED && verdict != SKIPPED) verdict = FAILED;
            count[verdict == PASSED ? 0 : verdict == FAILED ? 1 : 2]++;
            show(&running[i], files->at[running[i].file], verdict, set->verbose);
            fclose(running[i].report);
            running[i] = running[--active];
            break;
        }
    }
}

static const char *option_value(const char *arg, const char *name) {
    size_t n = strlen(name);
    return strncmp(arg, name, n) == 0 ? arg + n : NULL;
}

int main(int argc, char **argv) {
    Settings set = {0};
    Names files = {0};
    long jobs = sysconf(_SC_NPROCESSORS_ONLN);
    for (int i = 1; i < argc; i++) {
        const char *value;
        struct stat st;
        char whole[PATH_MAX];
        if (strcmp(argv[i], "--bless") == 0)
            set.bless = true;
        else if (strcmp(argv[i], "-v") == 0)
            set.verbose = true;
        else if ((value = option_value(argv[i], "--jobs=")))
            jobs = atol(value);
        else if ((value = option_value(argv[i], "--tools=")) && set.ntools < MAX_TOOLS) {
            if (realpath(value, set.tools[set.ntools])) set.ntools++;
        } else if (argv[i][0] == '-' || !realpath(argv[i], whole) || stat(whole, &st)) {
            fprintf(stderr, "tile-test: no such option or file: %s\n", argv[i]);
            return 2;
        } else if (S_ISDIR(st.st_mode))
            collect(&files, whole);
        else
            add_name(&files, whole);
    }
    char self[PATH_MAX] = {0};
    if (set.ntools < MAX_TOOLS && readlink("/proc/self/exe", self, sizeof self - 1) > 0) {
        memcpy(set.tools[set.ntools], self, sizeof self);
        char *slash = strrchr(set.tools[set.ntools++], '/');
        if (slash) *slash = 0;
    }
    setenv("NO_COLOR", "1", 1);
    if (files.n) qsort(files.at, (size_t)files.n, sizeof *files.at, by_name);
    int count[3] = {0};
    run_all(&set, &files, jobs < 1 ? 1 : jobs > MAX_JOBS ? MAX_JOBS : (int)jobs, count);
    printf("%d passed, %d failed", count[0], count[1]);
    if (count[2]) printf(", %d skipped", count[2]);
    printf("\n");
    for (int i = 0; i < files.n; i++) free(files.at[i]);
    free(files.at);
    return count[1] || count[0] + count[2] == 0;
}
