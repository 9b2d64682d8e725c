/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fuzz_ptx.c: mutated PTX through the PTX machine.
 *
 *   fuzz_ptx [--seconds=N] [--seed=S] [--alarm=N] [--one=S] [FILE.ptx…]
 *
 * The corpus is what tilec emits for some kernels and what it does not (tests/machine/), or the
 * files. An input is one of them with a few
 * bytes, words, numbers or lines changed. It must be refused with messages that name a line, or
 * run, up to so many instructions, in a small grid: in the buffers it has, or to a message. A
 * sanitizer build finds the rest, and an alarm what takes N seconds of the processor. An input that
 * fails is printed with the command that repeats it. */
#include "ptx/machine/machine.h"
#include "tile.h"

#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum {
    INPUT_MAX = 1 << 19,
    FILES_MAX = 64,
    SECONDS_MAX = 20,
    STEPS_MAX = 20000,
    BUFFER_BYTES = 1 << 14,
    DYNAMIC_BYTES = 100 << 10,
    REPORT_BYTES = 1024
};

typedef struct Fuzz {
    char *file[FILES_MAX];
    size_t bytes[FILES_MAX];
    int nfiles;
    char *input;
    size_t len;
    uint64_t state;
    double alarm;
    long ran, loaded, finished;
} Fuzz;

/* For the handler of signals. */
static const char *volatile current_input;
static volatile size_t current_len;
static char current_report[REPORT_BYTES];

static uint64_t next(Fuzz *f) {
    f->state += 0x9e3779b97f4a7c15u;
    uint64_t z = f->state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static size_t below(Fuzz *f, size_t n) {
    return n ? (size_t)(next(f) % n) : 0;
}

/* ---- the corpus ---- */

static void add_text(Fuzz *f, const char *text, size_t n) {
    if (f->nfiles == FILES_MAX || !n || n >= INPUT_MAX / 2) return;
    char *copy = malloc(n + 1);
    if (!copy) return;
    memcpy(copy, text, n);
    copy[n] = '\0';
    f->file[f->nfiles] = copy;
    f->bytes[f->nfiles++] = n;
}

static char *read_file(const char *path, size_t *n) {
    char *text = malloc(INPUT_MAX);
    FILE *in = fopen(path, "rb");
    *n = text && in ? fread(text, 1, INPUT_MAX - 1, in) : 0;
    if (text) text[*n] = '\0';
    if (in) fclose(in);
    return text;
}

static void add_kernels(Fuzz *f) {
    static const struct {
        const char *file, *target, *options;
    } kernels[] = {
        {"examples/vector_add.tl", "sm_80", NULL},
        {"examples/softmax.tl", "sm_80", "num_warps=2"},
        {"examples/layer_norm.tl", "sm_90a", "num_warps=2"},
        {"examples/cumsum.tl", "sm_80", NULL},
        {"examples/dropout.tl", "sm_90a", NULL},
        {"examples/matmul.tl", "sm_80", "num_warps=4,num_stages=2"},
        {"examples/matmul.tl", "sm_90a", "num_warps=4,num_stages=2"},
        {"examples/matmul_int4.tl", "sm_80", NULL},
        {"examples/flash_attention.tl", "sm_80", NULL},
        {"examples/matmul_desc.tir", "sm_90a", NULL},
        {"examples/matmul_roles.tir", "sm_90a", NULL},
        {"examples/matmul_roles_cp.tir", "sm_90a", NULL},
        {"examples/matmul_persistent.tir", "sm_90a", NULL},
        {"examples/streamk.tl", "sm_80", NULL},
        {"examples/streamk.tl", "sm_90a", NULL},
        {"examples/rotary.tl", "sm_80", NULL},
    };
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        char path[REPORT_BYTES];
        size_t n;
        snprintf(path, sizeof path, "%s/%s", TILE_SOURCE_DIR, kernels[i].file);
        char *text = read_file(path, &n);
        tile_compile_options o = {.source = text,
                                  .source_len = n,
                                  .input_is_tir = strstr(path, ".tir") != NULL,
                                  .target = kernels[i].target,
                                  .options = kernels[i].options,
                                  .emit = TILE_EMIT_PTX};
        tile_compiled *c = NULL;
        if (n && tile_compile(&o, &c) == TILE_OK) {
            const char *ptx = tile_compiled_text(c, TILE_PART_OUTPUT, &n);
            add_text(f, ptx, n);
        }
        tile_compiled_free(c);
        free(text);
    }
    static const char *const written[] = {"calls", "maps", "words"};
    for (size_t i = 0; i < sizeof written / sizeof *written; i++) {
        char path[REPORT_BYTES];
        size_t n;
        snprintf(path, sizeof path, "%s/tests/machine/%s.ptx", TILE_SOURCE_DIR, written[i]);
        char *text = read_file(path, &n);
        if (text) add_text(f, text, n);
        free(text);
    }
}

/* ---- mutations ---- */

static void replace(Fuzz *f, size_t at, size_t gone, const char *with, size_t n) {
    if (at > f->len) at = f->len;
    if (gone > f->len - at) gone = f->len - at;
    if (f->len - gone + n >= INPUT_MAX) return;
    memmove(f->input + at + n, f->input + at + gone, f->len - at - gone);
    memcpy(f->input + at, with, n);
    f->len += n - gone;
}

static bool is_word(char c) {
    return isalnum((unsigned char)c) || c == '_' || c == '%' || c == '$';
}

/* The word that the place lies in, or one character. */
static size_t word_at(const char *text, size_t len, size_t *at) {
    size_t n = 1;
    while (*at && is_word(text[*at]) && is_word(text[*at - 1])) --*at;
    while (is_word(text[*at]) && *at + n < len && is_word(text[*at + n])) n++;
    return n;
}

static size_t line_at(const char *text, size_t len, size_t *at) {
    size_t n = 0;
    while (*at && text[*at - 1] != '\n') --*at;
    while (*at + n < len && text[*at + n] != '\n') n++;
    return *at + n < len ? n + 1 : n;
}

/* A word of any file that begins as this one does. */
static size_t other_word(Fuzz *f, char first, const char **word) {
    size_t n = 1;
    for (int tries = 0; tries < 40; tries++) {
        int i = (int)below(f, (size_t)f->nfiles);
        size_t at = below(f, f->bytes[i]);
        n = word_at(f->file[i], f->bytes[i], &at);
        *word = f->file[i] + at;
        bool digit = isdigit((unsigned char)first);
        if (digit ? isdigit((unsigned char)**word) : **word == first || tries > 20) break;
    }
    return n;
}

static void mutate(Fuzz *f) {
    static const char *const numbers[] = {"0",
                                          "1",
                                          "2",
                                          "3",
                                          "4",
                                          "8",
                                          "15",
                                          "16",
                                          "31",
                                          "32",
                                          "63",
                                          "64",
                                          "127",
                                          "128",
                                          "255",
                                          "256",
                                          "1023",
                                          "65535",
                                          "2147483647",
                                          "2147483648",
                                          "4294967295",
                                          "-1",
                                          "-8",
                                          "-2147483648",
                                          "9223372036854775807",
                                          "18446744073709551615",
                                          "0x1000000",
                                          "0f7FC00000"};
    static const char *const pieces[] = {"_",
                                         "{",
                                         "}",
                                         "[",
                                         "]",
                                         "(",
                                         ")",
                                         ";",
                                         ",",
                                         "|%p1",
                                         "!",
                                         ":",
                                         ".v2",
                                         ".v4",
                                         ".b64",
                                         ".b128",
                                         ".f16x2",
                                         ".pred",
                                         ".global",
                                         ".shared::cluster",
                                         ".param",
                                         "%tid.x",
                                         "{%r1, %r2}",
                                         "[%rd1, {%r1, %r2}]",
                                         "L: bra L;\n",
                                         "bar.sync 0;\n",
                                         "ret;\n",
                                         ".reg .b32 %q<3>;\n",
                                         ".branchtargets"};
    size_t at = below(f, f->len), n, k;
    char copy[4096];
    const char *word = "";
    switch (below(f, 12)) {
    case 0: /* a byte */
        if (f->len) f->input[at] = (char)(below(f, 2) ? next(f) : 32 + below(f, 95));
        break;
    case 1: /* a line goes */
        n = line_at(f->input, f->len, &at);
        replace(f, at, n, "", 0);
        break;
    case 2: /* a line comes, of any file */
    {
        int i = (int)below(f, (size_t)f->nfiles);
        size_t from = below(f, f->bytes[i]);
        n = line_at(f->file[i], f->bytes[i], &from);
        line_at(f->input, f->len, &at);
        replace(f, at, 0, f->file[i] + from, n);
        break;
    }
    case 3: /* a line moves */
        n = line_at(f->input, f->len, &at);
        if (n > sizeof copy) n = sizeof copy;
        memcpy(copy, f->input + at, n);
        k = below(f, f->len);
        line_at(f->input, f->len, &k);
        if (below(f, 2)) replace(f, at, n, "", 0);
        replace(f, k, 0, copy, n);
        break;
    case 4: /* a word goes */
        n = word_at(f->input, f->len, &at);
        replace(f, at, n, "", 0);
        break;
    case 5: /* a number */
    case 6:
        for (k = 0; k < 60 && !isdigit((unsigned char)f->input[at]); k++) at = below(f, f->len);
        while (at && isdigit((unsigned char)f->input[at - 1])) at--;
        for (n = 0; isdigit((unsigned char)f->input[at + n]);) n++;
        k = below(f, sizeof numbers / sizeof *numbers);
        replace(f, at, n, numbers[k], strlen(numbers[k]));
        break;
    case 7: /* a piece */
        k = below(f, sizeof pieces / sizeof *pieces);
        n = below(f, 2) ? word_at(f->input, f->len, &at) : 0;
        replace(f, at, n, pieces[k], strlen(pieces[k]));
        break;
    default: /* a word like it */
        n = word_at(f->input, f->len, &at);
        k = other_word(f, f->input[at], &word);
        replace(f, at, n, word, k);
    }
    f->input[f->len] = '\0';
}

static void make_input(Fuzz *f, uint64_t seed) {
    f->state = seed;
    int i = (int)below(f, (size_t)f->nfiles);
    memcpy(f->input, f->file[i], f->bytes[i] + 1);
    f->len = f->bytes[i];
    for (size_t n = below(f, 3) ? 1 : 2 + below(f, 6); n > 0; n--) mutate(f);
}

/* ---- one input ---- */

static void wrong(const char *what, const char *detail) {
    fprintf(stderr, "%s: %s\n", what, detail ? detail : "");
    abort();
}

/* The number behind a directive; 0: it has none. */
static uint32_t number_behind(const char *text, const char *directive) {
    const char *at = strstr(text, directive);
    return at ? (uint32_t)strtoul(at + strlen(directive), NULL, 10) : 0;
}

static void print(void *user, const char *text, size_t len) {
    (void)user, (void)text, (void)len;
}

/* Pointers are to buffers that hold small numbers; numbers are small; the rest are maps. */
static void run_program(Fuzz *f, Session *s, const PtxModule *m, const PtxProgram *p) {
    static const uint64_t sizes[] = {64, 64}, strides[] = {128};
    static const uint32_t boxes[] = {64, 16}, ones[] = {1, 1};
    const void **param = arena_array(&s->arena, (size_t)p->nparams + 1, sizeof *param);
    PtxBuffer *buffer =
        arena_array(&s->arena, (size_t)(p->nparams + m->nglobals) + 1, sizeof *buffer);
    int n = 0;
    for (int i = 0; i < p->nparams; i++) {
        size_t bytes = (size_t)p->variables.at[i].bytes;
        uint8_t *value = arena_alloc(&s->arena, bytes + 128);
        uint8_t *memory = arena_alloc(&s->arena, BUFFER_BYTES + 256);
        memory += (256 - (uintptr_t)memory % 256) % 256;
        for (int k = 0; k < BUFFER_BYTES; k += 4) memory[k] = (uint8_t)(k / 4 % 7);
        uint64_t address = (uint64_t)(uintptr_t)memory;
        uint32_t small = (uint32_t[]){1, 16, 64, 3}[below(f, 4)];
        if (bytes == 128)
            ptx_encode_map(value, 6, 2, address, sizes, strides, boxes, ones, 0, 3, 0, 0);
        else if (bytes == 8)
            memcpy(value, &address, 8);
        else
            memcpy(value, &small, bytes < 4 ? bytes : 4);
        param[i] = value;
        buffer[n++] = (PtxBuffer){.name = "buffer", .base = memory, .bytes = BUFFER_BYTES};
    }
    for (int i = 0; i < m->nglobals; i++)
        if (m->global[i].base) buffer[n++] = m->global[i];
    uint32_t threads = number_behind(m->text, ".reqntid");
    if (!threads) threads = number_behind(m->text, ".maxntid");
    uint32_t cluster = number_behind(m->text, ".reqnctapercluster");
    PtxLaunch launch = {.program = p,
                        .param = param,
                        .grid = {cluster ? cluster : 2, 1, 1},
                        .block = {threads ? threads : 128, 1, 1},
                        .cluster = {cluster, 0, 0},
                        .dynamic_shared = DYNAMIC_BYTES,
                        .buffer = buffer,
                        .nbuffers = n,
                        .checks = below(f, 2) ? PTX_CHECK_ALL : (unsigned)below(f, 16),
                        .max_steps = STEPS_MAX,
                        .print = print};
    bool ok = ptx_run(s, &launch);
    if (ok == (s->diags.errors != 0)) wrong("a run says one thing and its messages another", NULL);
    f->finished += ok;
}

static void run_input(Fuzz *f) {
    static Session s;
    if (setjmp(s.bail)) {
        session_free(&s);
        return;
    }
    session_init(&s);
    s.arena.limit = (size_t)512 << 20;
    f->ran++;
    const PtxModule *m = ptx_load(&s, f->input, f->len);
    if (!m && !s.diags.errors) wrong("no module and no error", NULL);
    if (m && s.diags.errors) wrong("a module and an error", s.diags.first->text);
    if (m && m->nprograms) {
        f->loaded++;
        run_program(f, &s, m, &m->program[below(f, (size_t)m->nprograms)]);
    }
    for (const Diag *d = s.diags.first; d; d = d->next)
        if (strncmp(d->text, "PTX line ", 9) != 0 && strncmp(d->text, "the PTX machine: ", 17) != 0)
            wrong("a message without a line", d->text);
    session_free(&s);
}

/* ---- failures ---- */

static void on_signal(int number) {
    const char *what = number == SIGPROF ? "took too long\n" : "failed\n";
    ssize_t written = write(1, current_input, current_len);
    written = write(2, what, strlen(what));
    written = write(2, current_report, strlen(current_report));
    _exit(written > 0 ? 1 : 2);
}

const char *__asan_default_options(void);
const char *__asan_default_options(void) {
    return "abort_on_error=1:handle_segv=1:detect_leaks=1:allocator_may_return_null=1";
}

static void run_seed(Fuzz *f, uint64_t seed) {
    make_input(f, seed);
    current_input = f->input;
    current_len = f->len;
    snprintf(current_report, sizeof current_report, "--one=0x%016llx\n", (unsigned long long)seed);
    long seconds = (long)f->alarm;
    setitimer(ITIMER_PROF, &(struct itimerval){.it_value = {.tv_sec = seconds}}, NULL);
    run_input(f);
    setitimer(ITIMER_PROF, &(struct itimerval){0}, NULL);
}

static const char *option(const char *arg, const char *name) {
    size_t n = strlen(name);
    return strncmp(arg, name, n) == 0 ? arg + n : NULL;
}

int main(int argc, char **argv) {
    static Fuzz f = {.alarm = SECONDS_MAX};
    double seconds = 10;
    uint64_t seed = 1, one = 0;
    const char *v;
    for (int i = 1; i < argc; i++) {
        size_t n;
        if ((v = option(argv[i], "--seconds="))) {
            seconds = strtod(v, NULL);
        } else if ((v = option(argv[i], "--seed="))) {
            seed = strtoull(v, NULL, 0);
        } else if ((v = option(argv[i], "--one="))) {
            one = strtoull(v, NULL, 0);
        } else if ((v = option(argv[i], "--alarm="))) {
            f.alarm = strtod(v, NULL);
        } else {
            char *text = read_file(argv[i], &n);
            if (text) add_text(&f, text, n);
            free(text);
        }
    }
    if (!f.nfiles) add_kernels(&f);
    f.input = malloc(INPUT_MAX + 1);
    if (!f.nfiles || !f.input) {
        fprintf(stderr, "fuzz_ptx: no corpus\n");
        return 3;
    }
    static const int signals[] = {SIGABRT, SIGPROF, SIGBUS, SIGFPE, SIGILL, SIGSEGV};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) signal(signals[i], on_signal);
    printf("%d files\n", f.nfiles);
    fflush(stdout);
    time_t begin = time(NULL);
    for (uint64_t i = 0; !one && (double)(time(NULL) - begin) < seconds; i++)
        run_seed(&f, (seed << 40) + i + 1);
    if (one) run_seed(&f, one);
    for (int i = 0; i < f.nfiles; i++) free(f.file[i]);
    free(f.input);
    printf("%ld inputs, %ld of them load, %ld run to their end: no failure\n", f.ran, f.loaded,
           f.finished);
    return 0;
}
