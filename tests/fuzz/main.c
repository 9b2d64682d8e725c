/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* main.c: the program of a fuzz target: inputs by their numbers, or files -> "no failure".
 *
 *   fuzz_NAME [--seconds=N] [--runs=N] [--seed=S] [--alarm=N] [--slow=N] [--save=FOLDER]
 *             [--corpus=ROOT] [--one=NUMBER] [--choices=C] [--write=FOLDER] [FILE…]
 *
 * The files are tried, if there are any; else first those in tests/fuzz/regress/NAME/, each of
 * which has failed once, then inputs until the time is up or there were N. An input that fails is
 * printed where it is text, kept in --save's FOLDER, and named with the command that repeats it: a
 * file, or --one's number, which makes it again of the same corpus (the hash at the start says
 * which). --choices keeps what the target chose while its file is made smaller. A sanitizer build
 * finds more, and an alarm what takes N seconds of the processor. SIGINT or SIGTERM ends it with
 * the counts so far. --slow reports what takes longer, and goes on. --write leaves a corpus and a
 * dictionary for other fuzzers in FOLDER. */
#include "tests/fuzz/report.h"

#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

enum {
    PATH_BYTES = 4096,
    REPORT_BYTES = 2 * PATH_BYTES,
    SECONDS_MAX = 20, /* of the processor for one input, in a slow build */
    WRITTEN = 200     /* inputs beside the files of a corpus */
};

typedef struct Run {
    FuzzCorpus corpus;
    char *input; /* the room for one */
    char *tight; /* its copy, which ends where the memory does */
    size_t len;
    const char *save;
    double alarm, slow; /* seconds of the processor; slow 0: none */
    long tried, reached[FUZZ_STAGES];
} Run;

/* For the handler of signals: the input being tried, what to say of it, where to keep it. */
static const char *volatile current_input;
static volatile size_t current_len;
static char current_command[REPORT_BYTES], current_path[PATH_BYTES];
static volatile sig_atomic_t stopped; /* somebody asked */

/* Only calls that a handler may make. */
static void say(const char *text) {
    size_t n = 0;
    while (text[n]) n++;
    ssize_t written = write(STDERR_FILENO, text, n);
    (void)written;
}

static void on_signal(int sig) {
    char number[] = "signal   , ", choices[] = " --choices=0x0000000000000000";
    number[7] = (char)('0' + sig / 10);
    number[8] = (char)('0' + sig % 10);
    for (size_t i = 0; i < 16; i++)
        choices[sizeof choices - 2 - i] = "0123456789abcdef"[fuzz_progress.choices >> 4 * i & 15];
    ssize_t written = 0;
    if (fuzz_target.word) written = write(STDERR_FILENO, current_input, current_len);
    say("\nfuzz_"), say(fuzz_target.name), say(": "), say(number);
    say(sig == SIGPROF ? "it takes too long: " : "it fails: ");
    say(fuzz_target.stages[fuzz_progress.stage]), say("\n"), say(current_command), say(choices);
    say("\n");
    if (*current_path) say("kept in "), say(current_path), say("\n");
    int kept = *current_path ? open(current_path, O_WRONLY | O_CREAT | O_TRUNC, 0644) : -1;
    if (kept >= 0) written = write(kept, current_input, current_len);
    _exit(written >= 0 ? 1 : 2);
}

static void on_stop(int sig) {
    (void)sig;
    stopped = 1;
}

/* ---- one input ---- */

static void report_slow(const Run *r) {
    double total = 0;
    for (int i = 0; i < FUZZ_STAGES; i++) total += fuzz_progress.cost[i];
    if (r->slow <= 0 || total < r->slow) return;
    printf("%.2f s:", total);
    for (int i = 0; i < FUZZ_STAGES && fuzz_target.stages[i]; i++)
        printf(" %s %.2f", fuzz_target.stages[i], fuzz_progress.cost[i]);
    printf("; %s\n", current_command);
    fflush(stdout);
    FILE *out = *current_path ? fopen(current_path, "wb") : NULL;
    if (!out) return;
    fwrite(r->input, 1, r->len, out);
    fclose(out);
}

/* `how` repeats it. */
static void try_input(Run *r, const char *how) {
    snprintf(current_command, sizeof current_command, "fuzz_%s %s", fuzz_target.name, how);
    uint8_t *data = (uint8_t *)r->tight + fuzz_target.most - r->len;
    memcpy(data, r->input, r->len);
    current_input = r->input;
    current_len = r->len;
    fuzz_progress.timed = r->slow > 0;
    memset(fuzz_progress.cost, 0, sizeof fuzz_progress.cost);
    fuzz_progress.entered = clock();
    fuzz_progress.stage = 0;
    long seconds = (long)r->alarm, micros = (long)((r->alarm - (double)seconds) * 1e6);
    setitimer(ITIMER_PROF, &(struct itimerval){.it_value = {.tv_sec = seconds, .tv_usec = micros}},
              NULL);
    int reached = fuzz_target.one(data, r->len);
    setitimer(ITIMER_PROF, &(struct itimerval){0}, NULL);
    fuzz_stage(0);
    report_slow(r);
    r->tried++;
    for (int i = 1; i <= reached && i < FUZZ_STAGES; i++) r->reached[i]++;
}

static void try_number(Run *r, uint64_t number) {
    char how[64];
    r->len = fuzz_make(number, &r->corpus, r->input, fuzz_target.most);
    *current_path = '\0';
    if (r->save)
        snprintf(current_path, sizeof current_path, "%s/0x%016llx%s", r->save,
                 (unsigned long long)number, fuzz_target.suffix);
    snprintf(how, sizeof how, "--one=0x%016llx (corpus %016llx)", (unsigned long long)number,
             (unsigned long long)r->corpus.hash);
    try_input(r, how);
}

static bool try_file(Run *r, const char *path) {
    *current_path = '\0';
    if (!fuzz_read(path, r->input, fuzz_target.most, &r->len)) {
        fprintf(stderr, "fuzz_%s: cannot read '%s'\n", fuzz_target.name, path);
        return false;
    }
    try_input(r, path);
    return true;
}

static int try_regressions(Run *r) {
    char pattern[PATH_BYTES];
    glob_t found = {0};
    int n = 0;
    snprintf(pattern, sizeof pattern, "%s/tests/fuzz/regress/%s/*", r->corpus.root,
             fuzz_target.name);
    if (glob(pattern, 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++) n += try_file(r, found.gl_pathv[i]);
    globfree(&found);
    return n;
}

/* ---- for other fuzzers ---- */

static bool write_file(const char *folder, const char *name, const char *text, size_t n) {
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s%s", folder, name, fuzz_target.suffix);
    FILE *out = fopen(path, "wb");
    bool ok = out && fwrite(text, 1, n, out) == n;
    return out && fclose(out) == 0 && ok;
}

/* FOLDER/NAME.dict, and FOLDER/corpus/. */
static bool write_all(Run *r, const char *folder) {
    char path[PATH_BYTES], name[64];
    bool ok = true;
    snprintf(path, sizeof path, "%s/%s.dict", folder, fuzz_target.name);
    FILE *out = fopen(path, "w");
    if (!out) return false;
    fprintf(out, "# words of fuzz_%s\n\"\\x00\"\n", fuzz_target.name); /* an empty one is refused */
    for (int i = 0; fuzz_target.pieces && fuzz_target.pieces[i]; i++) {
        fputc('"', out);
        for (const char *c = fuzz_target.pieces[i]; *c; c++)
            if (*c == '"' || *c == '\\' || (unsigned char)*c < 32 || (unsigned char)*c > 126)
                fprintf(out, "\\x%02X", (unsigned char)*c);
            else
                fputc(*c, out);
        fputs("\"\n", out);
    }
    ok = fclose(out) == 0;
    snprintf(path, sizeof path, "%s/corpus", folder);
    for (int i = 0; i < r->corpus.nfiles; i++) {
        snprintf(name, sizeof name, "file-%04d", i);
        ok = write_file(path, name, r->corpus.file[i].text, r->corpus.file[i].len) && ok;
    }
    for (int i = 0; i < WRITTEN; i++) {
        snprintf(name, sizeof name, "made-%04d", i);
        r->len = fuzz_make((uint64_t)i + 1, &r->corpus, r->input, fuzz_target.most);
        ok = write_file(path, name, r->input, r->len) && ok;
    }
    return ok;
}

/* ---- the program ---- */

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static const char *option(const char *arg, const char *name) {
    size_t n = strlen(name);
    return strncmp(arg, name, n) == 0 ? arg + n : NULL;
}

static int usage(const char *arg) {
    fprintf(stderr, "fuzz_%s: there is no option '%s'; tests/fuzz/main.c has them\n",
            fuzz_target.name, arg);
    return 2;
}

int main(int argc, char **argv) {
    static Run r = {.alarm = SECONDS_MAX};
    double seconds = 10;
    long runs = -1;
    uint64_t seed = 1, one = 0;
    const char *v, *root = NULL, *folder = NULL;
    int files = 0;
    for (int i = 1; i < argc; i++) {
        if ((v = option(argv[i], "--seconds="))) {
            seconds = strtod(v, NULL);
        } else if ((v = option(argv[i], "--runs="))) {
            runs = strtol(v, NULL, 10);
        } else if ((v = option(argv[i], "--seed="))) {
            seed = strtoull(v, NULL, 0);
        } else if ((v = option(argv[i], "--one="))) {
            one = strtoull(v, NULL, 0);
        } else if ((v = option(argv[i], "--choices="))) {
            fuzz_progress.fixed = true;
            fuzz_progress.choices = strtoull(v, NULL, 0);
        } else if ((v = option(argv[i], "--alarm="))) {
            r.alarm = strtod(v, NULL);
        } else if ((v = option(argv[i], "--slow="))) {
            r.slow = strtod(v, NULL);
        } else if ((v = option(argv[i], "--save="))) {
            r.save = v;
        } else if ((v = option(argv[i], "--corpus="))) {
            root = v;
        } else if ((v = option(argv[i], "--write="))) {
            folder = v;
        } else if (argv[i][0] == '-') {
            return usage(argv[i]);
        } else {
            argv[++files] = argv[i];
        }
    }
    r.input = malloc(fuzz_target.most);
    r.tight = malloc(fuzz_target.most);
    if (!r.input || !r.tight || !fuzz_corpus_open(&r.corpus, root)) {
        fprintf(stderr, "fuzz_%s: no corpus\n", fuzz_target.name);
        return 3;
    }
    if (folder && !write_all(&r, folder)) {
        fprintf(stderr, "fuzz_%s: cannot write '%s/corpus'\n", fuzz_target.name, folder);
        return 4;
    }
    static const int signals[] = {SIGABRT, SIGPROF, SIGBUS, SIGFPE, SIGILL, SIGSEGV};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) signal(signals[i], on_signal);
    /* It stays: `timeout` sends its signal twice, and signal() would take back the handler. */
    const struct sigaction stop = {.sa_handler = on_stop, .sa_flags = SA_RESTART};
    sigaction(SIGINT, &stop, NULL);
    sigaction(SIGTERM, &stop, NULL);
    int code = 0, regressions = 0;
    double begin = now();
    for (int i = 1; i <= files; i++) code = try_file(&r, argv[i]) ? code : 4;
    if (!files && !one && !folder) {
        regressions = try_regressions(&r);
        printf("%d files, corpus %016llx, %d regressions\n", r.corpus.nfiles,
               (unsigned long long)r.corpus.hash, regressions);
        fflush(stdout);
        for (long i = 0; !stopped && (runs >= 0 ? i < runs : now() - begin < seconds); i++)
            try_number(&r, (seed << 40) + (uint64_t)i + 1);
    }
    if (one) try_number(&r, one);
    printf("%ld inputs in %.1f s", r.tried, now() - begin);
    for (int i = 1; i < FUZZ_STAGES && fuzz_target.stages[i]; i++)
        printf(", %ld %s", r.reached[i], fuzz_target.stages[i]);
    printf(": no failure\n");
    fuzz_corpus_close(&r.corpus);
    free(r.input);
    free(r.tight);
    return code;
}
