/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_tuning.c: tuning files: what is kept, what is found, what is refused, and many processes on
 * one file of which some are killed. */
#include "base/file.h"
#include "tests/run_suite.h"
#include "tests/scratch.h"
#include "tile.h"

#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char folder[SCRATCH_SIZE];
static char path[SCRATCH_SIZE + 10];

static void in_folder(void) {
    ck_assert_ptr_nonnull(mkdtemp(scratch(folder, "tile-test")));
    snprintf(path, sizeof path, "%s/t.json", folder);
}

static void remove_folder(void) {
    char command[200];
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    ck_assert_int_eq(system(command), 0);
}

static tile_tuned record(const char *kernel, const char *key, const char *config, double ms) {
    return (tile_tuned){.kernel = kernel,
                        .device = "a GPU",
                        .target = "sm_80",
                        .types = "*fp16,i32",
                        .key = key,
                        .source = "1",
                        .config = config,
                        .median_ms = ms,
                        .low_ms = ms * 0.9,
                        .high_ms = ms * 1.1,
                        .runs = 10};
}

static tile_tuning *open_file(void) {
    tile_tuning *t;
    tile_status st = tile_tuning_open(path, &t);
    ck_assert_msg(st == TILE_OK, "%s", tile_tuning_error(t));
    return t;
}

static void add(tile_tuning *t, tile_tuned r) {
    ck_assert_msg(tile_tuning_add(t, &r) == TILE_OK, "%s", tile_tuning_error(t));
}

static void write_text(const char *text, size_t len) {
    FileError e;
    ck_assert_msg(file_write(path, text, len, &e), "%s", e.text);
}

static char *read_text(size_t *len) {
    char *text;
    FileError e;
    ck_assert_msg(file_read(path, 1 << 26, &text, len, &e), "%s", e.text);
    return text;
}

/* "B=1 B=2 …" of all records, in the file's order. */
static const char *configs(const tile_tuning *t) {
    static _Thread_local char text[1000];
    tile_tuned r;
    size_t n = 0;
    text[0] = '\0';
    for (int i = 0; tile_tuning_get(t, i, &r) == TILE_OK; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s%s", i ? " " : "", r.config,
                              r.failure ? "!" : "");
    return text;
}

START_TEST(records_are_sorted_and_replaced) {
    tile_tuning *t = open_file(), *again;
    tile_tuned bad = record("k", "n=1", "B=9", 0), r;
    bad.failure = "too \"much\" \xc3\xa9";
    add(t, bad);
    add(t, record("k", "n=1", "B=1", 3));
    add(t, record("k", "n=1", "B=2", 1));
    add(t, record("k", "n=1", "B=3", 2));
    ck_assert_str_eq(configs(t), "B=2 B=3 B=1 B=9!");
    again = open_file();
    ck_assert_str_eq(configs(again), "B=2 B=3 B=1 B=9!");
    ck_assert(tile_tuning_get(again, 3, &r) == TILE_OK);
    ck_assert_str_eq(r.failure, "too \"much\" \xc3\xa9");
    ck_assert(tile_tuning_get(again, 4, &r) == TILE_INVALID);
    ck_assert(tile_tuning_get(again, 1, &r) == TILE_OK);
    ck_assert(r.median_ms == 2 && r.low_ms == 1.8 && r.high_ms == 2.2 && r.runs == 10);
    add(again, record("k", "n=1", "B=1", 0.5));
    add(again, record("k", "n=1", "B=9", 4));
    ck_assert_str_eq(configs(again), "B=1 B=2 B=3 B=9");
    add(t, record("k", "n=1", "B=3", 0.25)); /* sees what was added elsewhere */
    ck_assert_str_eq(configs(t), "B=3 B=1 B=2 B=9");
    ck_assert_int_eq(tile_tuning_count(t), 4);
    tile_tuned other = record("k", "n=1", "B=7", 9);
    other.source = "2"; /* the others were measured of another source */
    add(t, other);
    ck_assert_str_eq(configs(t), "B=7");
    tile_tuning_close(t);
    tile_tuning_close(again);
}
END_TEST

START_TEST(the_nearest_bucket_is_found) {
    tile_tuning *t;
    tile_tuned out, like = {.kernel = "k"};
    ck_assert(tile_tuning_open(NULL, &t) == TILE_OK);
    add(t, record("k", "M=4096,N=4096", "B=1", 1));
    add(t, record("k", "M=4096.,N=4096", "B=6", 1)); /* as nobody writes it but by hand */
    add(t, record("k", "M=128,N=4096", "B=2", 1));
    add(t, record("k", "M=1,N=x", "B=3", 1));
    add(t, record("other", "M=2,N=2", "B=4", 1));
    tile_tuned failed = record("k", "M=300,N=300", "B=5", 1);
    failed.failure = "no";
    add(t, failed);
    static const struct {
        const char *key, *config;
    } near[] = {
        {"M=4096,N=4096", "B=1"}, {"M=8192,N=100000", "B=1"}, {"M=4,N=4", "B=2"},
        {"M=300,N=4096", "B=2"},  {"M=1,N=x", "B=3"},         {NULL, "B=1"},
        {"M=300,N=300", "B=2"},   {"M=4096.,N=4096", "B=6"},
    };
    for (size_t i = 0; i < sizeof near / sizeof *near; i++) {
        like.key = near[i].key;
        ck_assert(tile_tuning_find(t, &like, &out) == TILE_OK);
        ck_assert_msg(strcmp(out.config, near[i].config) == 0, "%zu: %s", i, out.config);
    }
    static const char *const apart[] = {"M=4096", "N=4096,M=4096", "M=4096,N=4096,K=1", "x",
                                        "M=-1,N=2"};
    for (size_t i = 0; i < sizeof apart / sizeof *apart; i++) {
        like.key = apart[i];
        ck_assert_msg(tile_tuning_find(t, &like, &out) == TILE_NOT_FOUND, "%s", apart[i]);
    }
    like = (tile_tuned){.kernel = "k", .target = "sm_90a"};
    ck_assert(tile_tuning_find(t, &like, &out) == TILE_NOT_FOUND);
    like = (tile_tuned){.kernel = "k", .types = "*fp16,i32", .device = "a GPU", .target = "sm_80"};
    ck_assert(tile_tuning_find(t, &like, &out) == TILE_OK);
    tile_tuning_close(t);
}
END_TEST

START_TEST(unknown_fields_stay) {
    static const char text[] =
        "{\"tuning\": 1, \"made\": \"by hand\", \"entries\": [{\"kernel\": \"k\", \"device\": \"a "
        "GPU\", \"target\": \"sm_80\", \"types\": \"*fp16,i32\", \"key\": \"n=1\", \"source\": "
        "\"1\", \"note\": [1, 2], \"configs\": [{\"config\": \"B=1\", \"ms\": 1, \"low\": 1, "
        "\"high\": 1, \"runs\": 1, \"clock\": 1980}]}]}";
    write_text(text, sizeof text - 1);
    tile_tuning *t = open_file();
    add(t, record("k", "n=1", "B=2", 2));
    tile_tuning_close(t);
    size_t len;
    char *now = read_text(&len);
    ck_assert(strstr(now, "\"made\": \"by hand\"") && strstr(now, "\"note\": [1, 2]") &&
              strstr(now, "\"clock\": 1980") && strstr(now, "B=2"));
    free(now);
}
END_TEST

START_TEST(incomplete_records_are_refused) {
    tile_tuning *t = open_file();
    tile_tuned r = record("k", "n=1", "B=1", 1);
    r.key = NULL;
    ck_assert(tile_tuning_add(t, &r) == TILE_INVALID);
    r = record("k", "n=1", "B=1", -1);
    ck_assert(tile_tuning_add(t, &r) == TILE_INVALID);
    r = record("k", "n=1", "B=\xff", 1);
    ck_assert(tile_tuning_add(t, &r) == TILE_INVALID);
    ck_assert_str_eq(tile_tuning_error(t), "a text of the record is not UTF-8");
    r = record("k\n", "n=1", "B=1", 1);
    ck_assert(tile_tuning_add(t, &r) == TILE_INVALID);
    ck_assert_str_eq(tile_tuning_error(t), "a text of the record has a control character");
    ck_assert_int_eq(tile_tuning_count(t), 0);
    tile_tuning_close(t);
}
END_TEST

/* ---- hostile files ---- */

#define ENTRY(configs)                                                                             \
    "{\"tuning\": 1, \"entries\": [{\"kernel\": \"k\", \"device\": \"d\", \"target\": \"t\", "     \
    "\"types\": \"\", \"key\": \"\", \"source\": \"\", \"configs\": " configs "}]}"
#define CONFIG(rest) ENTRY("[{\"config\": \"B=1\", " rest "}]")
static const struct {
    const char *text, *words;
} hostile[] = {
    {"x", "not a tuning file: line 1"},
    {"[]", "'tuning' must be its version"},
    {"{\"tuning\": \"1\", \"entries\": []}", "'tuning' must be its version"},
    {"{\"tuning\": 2, \"entries\": []}", "version 2, and this library reads version 1"},
    {"{\"tuning\": 1}", "'entries' must be a list"},
    {"{\"tuning\": 1, \"entries\": {}}", "'entries' must be a list"},
    {"{\"tuning\": 1, \"entries\": [5]}", "entry 0: 'kernel'"},
    {"{\"tuning\": 1, \"tuning\": 1, \"entries\": []}", "duplicate"},
    {"{\"tuning\": 99999999999999999999, \"entries\": []}", "too big integer"},
    {ENTRY("5"), "'configs' must be a list"},
    {ENTRY("[5]"), "'config' must be a string"},
    {CONFIG("\"failed\": 5"), "'failed' must be a string"},
    {CONFIG("\"ms\": 1, \"low\": 1, \"runs\": 1"), "must be numbers"},
    {CONFIG("\"ms\": -1, \"low\": 1, \"high\": 1, \"runs\": 1"), "must be numbers"},
    {CONFIG("\"ms\": 1e999, \"low\": 1, \"high\": 1, \"runs\": 1"), "real number overflow"},
    {CONFIG("\"ms\": 1, \"low\": 1, \"high\": 1, \"runs\": 0"), "'runs' must be"},
    {CONFIG("\"ms\": 1, \"low\": 1, \"high\": 1, \"runs\": 1e3"), "'runs' must be"},
    {CONFIG("\"failed\": \"\xff\""), "unable to decode byte 0xff"},
    {CONFIG("\"failed\": \"\\u0000\""), "\\u0000"},
    {ENTRY("[{\"config\": \"B=1\\u001b[2J\"}]"), "'config' has a control character"},
    {"{\"tuning\": 1, \"entries\": [{\"kernel\": \"k\", \"device\": \"\\u001b[2J\", \"target\": "
     "\"t\", \"types\": \"\", \"key\": \"\", \"source\": \"\", \"configs\": []}]}",
     "entry 0: a text has a control character"},
};

static void refused(const char *text, size_t len, const char *words) {
    tile_tuning *t;
    tile_tuned r = record("k", "n=1", "B=1", 1);
    write_text(text, len);
    ck_assert(tile_tuning_open(path, &t) == TILE_IO);
    ck_assert_msg(strstr(tile_tuning_error(t), words), "%.80s: %s", text, tile_tuning_error(t));
    ck_assert(tile_tuning_add(t, &r) == TILE_IO); /* and never replaced */
    tile_tuning_close(t);
    size_t now;
    char *left = read_text(&now);
    ck_assert(now == len && memcmp(left, text, len) == 0);
    free(left);
}

START_TEST(hostile_files_are_refused) {
    refused(hostile[_i].text, strlen(hostile[_i].text), hostile[_i].words);
}
END_TEST

START_TEST(deep_nesting_is_refused) {
    size_t n = 1000000;
    char *text = malloc(n);
    memset(text, '[', n);
    refused(text, n, "depth");
    free(text);
}
END_TEST

/* Cut anywhere, and with any byte changed: refused or read, never worse. */
START_TEST(damaged_files_do_no_harm) {
    tile_tuning *t = open_file();
    add(t, record("k", "n=1", "B=1", 1));
    tile_tuned bad = record("k", "n=2", "B=1", 1);
    bad.failure = "why";
    add(t, bad);
    tile_tuning_close(t);
    size_t len;
    char *text = read_text(&len);
    int refusals = 0;
    for (size_t cut = 1; cut + 1 < len; cut++) {
        write_text(text, cut);
        refusals += tile_tuning_open(path, &t) == TILE_IO;
        tile_tuning_close(t);
    }
    ck_assert_int_eq(refusals, (int)len - 2);
    for (size_t at = 0; at < len; at++) {
        static const char with[] = {'0', '"', '{', ']', '\xff', '\0'};
        char was = text[at];
        text[at] = with[at % sizeof with];
        write_text(text, len);
        tile_status st = tile_tuning_open(path, &t);
        ck_assert(st == TILE_OK || (st == TILE_IO && *tile_tuning_error(t)));
        tile_tuned r;
        for (int i = 0; st == TILE_OK && tile_tuning_get(t, i, &r) == TILE_OK; i++)
            ck_assert(r.kernel && r.config && (r.failure || r.runs > 0));
        tile_tuning_close(t);
        text[at] = was;
    }
    free(text);
}
END_TEST

START_TEST(places_that_are_no_files) {
    tile_tuning *t;
    tile_tuned r = record("k", "n=1", "B=1", 1);
    ck_assert(tile_tuning_open(folder, &t) == TILE_IO);
    tile_tuning_close(t);
    ck_assert(tile_tuning_open("/no/such/folder/t.json", &t) == TILE_OK); /* empty so far */
    ck_assert(tile_tuning_add(t, &r) == TILE_IO);
    ck_assert_msg(strstr(tile_tuning_error(t), "No such file"), "%s", tile_tuning_error(t));
    tile_tuning_close(t);
    ck_assert(tile_tuning_open("/dev/null", &t) == TILE_OK);
    ck_assert(tile_tuning_add(t, &r) == TILE_IO);
    tile_tuning_close(t);
    write_text("", 0); /* left by a process that was killed before it wrote */
    t = open_file();
    add(t, r);
    ck_assert_int_eq(tile_tuning_count(t), 1);
    tile_tuning_close(t);
}
END_TEST

/* How many files the folder has. */
static int files_there(void) {
    DIR *d = opendir(folder);
    int n = 0;
    ck_assert_ptr_nonnull(d);
    for (struct dirent *e; (e = readdir(d));) n += e->d_name[0] != '.' || strlen(e->d_name) > 2;
    closedir(d);
    return n;
}

/* Writing, and opening, that fails: the file is as it was, and nothing is left beside it. */
START_TEST(failing_files) {
    tile_tuning *t = open_file();
    add(t, record("k", "n=1", "B=1", 1));
    size_t len, now;
    char *text = read_text(&len), *left;
    tile_tuned r = record("k", "n=1", "B=2", 1);
    struct rlimit old, small = {.rlim_cur = len - 10, .rlim_max = RLIM_INFINITY};
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &old), 0);
    small.rlim_max = old.rlim_max;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    tile_status st = tile_tuning_add(t, &r);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &old), 0);
    ck_assert(st == TILE_IO);
    ck_assert_msg(strstr(tile_tuning_error(t), "File too large"), "%s", tile_tuning_error(t));
    ck_assert_str_eq(configs(t), "B=1");
    ck_assert_int_eq(files_there(), 1);
    left = read_text(&now);
    ck_assert(now == len && memcmp(left, text, len) == 0);
    free(left);
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &old), 0);
    for (rlim_t files = 0; files < 32; files++) {
        small = (struct rlimit){files, old.rlim_max};
        ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &small), 0);
        st = tile_tuning_add(t, &r);
        ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &old), 0);
        ck_assert(files > 0 || st == TILE_IO);
        ck_assert_msg(st == TILE_OK || strstr(tile_tuning_error(t), "Too many open files"), "%s",
                      tile_tuning_error(t));
        ck_assert_int_eq(files_there(), 1);
    }
    ck_assert(st == TILE_OK);
    ck_assert_str_eq(configs(t), "B=1 B=2");
    free(text);
    tile_tuning_close(t);
}
END_TEST

/* ---- many processes ---- */

enum { PROCESSES = 16, RECORDS = 30, KILLS = 60 };

/* Adds its records, and says so of each behind its back: a byte in a pipe. */
static void worker(int number, int from, int said) {
    tile_tuning *t;
    if (tile_tuning_open(path, &t)) _exit(1);
    for (int i = from; i < RECORDS; i++) {
        char kernel[20], config[20];
        snprintf(kernel, sizeof kernel, "k%d", number % 4);
        snprintf(config, sizeof config, "P=%d,B=%d", number, i);
        tile_tuned r = record(kernel, "n=1", config, 1 + i);
        if (tile_tuning_add(t, &r)) _exit(2);
        unsigned char word[2] = {(unsigned char)number, (unsigned char)i};
        if (write(said, word, 2) != 2) _exit(3);
    }
    tile_tuning_close(t);
    _exit(0);
}

/* What the workers have said so far: how many records of each are stored. */
static void listen(int from, int *stored) {
    unsigned char word[2];
    while (read(from, word, 2) == 2) {
        ck_assert_int_eq(word[1], stored[word[0]]);
        stored[word[0]]++;
    }
}

/* A worker that is killed is followed by one that begins where it stopped speaking, so a record
 * that was stored and then lost is made by nobody again. */
START_TEST(no_record_is_lost_when_processes_are_killed) {
    int ends[2], kills = 0, running = PROCESSES, stored[PROCESSES] = {0};
    pid_t pid[PROCESSES];
    unsigned seed = 1;
    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
    for (int p = 0; p < PROCESSES; p++)
        if ((pid[p] = fork()) == 0) worker(p, 0, ends[1]);
    while (running) {
        struct timespec pause = {.tv_nsec = 2000000};
        nanosleep(&pause, NULL);
        int victim = rand_r(&seed) % PROCESSES;
        if (kills < KILLS && pid[victim] > 0) {
            kill(pid[victim], SIGKILL);
            kills++;
        }
        for (int p = 0; p < PROCESSES; p++) {
            int status;
            if (pid[p] <= 0 || waitpid(pid[p], &status, WNOHANG) != pid[p]) continue;
            listen(ends[0], stored);
            if (WIFEXITED(status)) {
                ck_assert_int_eq(WEXITSTATUS(status), 0);
                pid[p] = 0;
                running--;
            } else if ((pid[p] = fork()) == 0) {
                worker(p, stored[p], ends[1]);
            }
        }
        tile_tuning *t = open_file(); /* whole at every moment */
        tile_tuning_close(t);
    }
    close(ends[0]);
    close(ends[1]);
    ck_assert_int_ge(kills, 10);
    tile_tuning *t = open_file();
    int number, i;
    tile_tuned r;
    for (int k = 0; tile_tuning_get(t, k, &r) == TILE_OK; k++) {
        ck_assert_int_eq(sscanf(r.config, "P=%d,B=%d", &number, &i), 2);
        ck_assert(r.median_ms == 1 + i);
    }
    ck_assert_int_eq(tile_tuning_count(t), PROCESSES * RECORDS);
    tile_tuning_close(t);
}
END_TEST

int main(void) {
    Suite *s = suite_create("tuning");
    TCase *t = tcase_create("tuning");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, in_folder, remove_folder);
    tcase_add_test(t, records_are_sorted_and_replaced);
    tcase_add_test(t, the_nearest_bucket_is_found);
    tcase_add_test(t, unknown_fields_stay);
    tcase_add_test(t, incomplete_records_are_refused);
    tcase_add_loop_test(t, hostile_files_are_refused, 0, (int)(sizeof hostile / sizeof *hostile));
    tcase_add_test(t, deep_nesting_is_refused);
    tcase_add_test(t, damaged_files_do_no_harm);
    tcase_add_test(t, places_that_are_no_files);
    tcase_add_test(t, failing_files);
    tcase_add_test(t, no_record_is_lost_when_processes_are_killed);
    return run_suite(s, t);
}
