/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fuzz_frontend.c: mutated kernels through the front end, the passes and the interpreter.
 *
 *   fuzz_frontend [--seconds=N] [--seed=S] [--alarm=N] [--slow=N] [--save=FOLDER]
 *                 [--corpus=ROOT] [--one=S [--input=FILE]] [FILE…]
 *
 * A corpus file is a list of words; an input is one file with a few words dropped, doubled, swapped
 * or replaced by words of any file. Whatever comes of it must be diagnostics or sound tile IR that
 * prints as it reads, stays sound through every pass, and runs on the CPU device in a small grid.
 * A sanitizer build finds the rest, and an alarm what takes N seconds of the processor.
 *
 * An input that fails is printed, and kept in FOLDER, with the command that repeats it: its text
 * and the seed that chose its kernel and types. --one alone makes the input again, which needs the
 * same corpus: ROOT's kernels (by default this folder's, or else those of the tree it was built
 * in). The hash at the start says which corpus it was. --slow reports what takes longer, and goes
 * on. */
#include "frontend/lower/lower.h"
#include "ir/triton.h"
#include "ir/interp/interp.h"
#include "ir/target.h"
#include "passes/pass.h"

#include <ctype.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum {
    INPUT_MAX = 1 << 18,
    WORDS_MAX = 1 << 16,
    FILES_MAX = 1024,
    SECONDS_MAX = 20, /* of the processor for one input, in a slow build */
    PATH_BYTES = 1024,
    REPORT_BYTES = 2 * PATH_BYTES,
    BUFFER_BYTES = 4096
};

typedef struct Word {
    const char *at;
    int n;
} Word;

typedef struct File {
    const char *path;
    char *text;
    Word *word;
    int nwords;
} File;

/* What is being done to an input. */
typedef enum Phase { PHASE_READ, PHASE_LOWER, PHASE_CHECK, PHASE_PASSES, PHASE_RUN, PHASES } Phase;

static const char *const phase_name[PHASES] = {"read", "lowered", "checked", "optimised", "run"};

typedef struct Fuzz {
    File file[FILES_MAX];
    int nfiles;
    uint64_t hash; /* of the files */
    const char *save;
    double alarm, slow; /* seconds of the processor; 0: none */
    Phase phase;
    clock_t entered;
    double cost[PHASES]; /* seconds of the processor for the present input */
    Word *word;          /* of the input being made */
    int nwords;
    char *input;
    size_t len;
    uint64_t state; /* of the random numbers */
    long ran, compiled, executed;
} Fuzz;

/* For the handler of signals: the input being worked on, what to say of it, where to keep it. */
static const char *volatile current_input;
static volatile size_t current_len;
static volatile sig_atomic_t current_phase;
static char current_report[REPORT_BYTES], current_path[PATH_BYTES];

static uint64_t next(Fuzz *f) {
    f->state += 0x9e3779b97f4a7c15u;
    uint64_t z = f->state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static int below(Fuzz *f, int n) {
    return n > 0 ? (int)(next(f) % (uint64_t)n) : 0;
}

/* ---- the corpus ---- */

static bool is_word(char c) {
    return isalnum((unsigned char)c) || c == '_' || (c & 0x80);
}

/* Names, numbers, a newline with the indentation behind it, and all else one character each. */
static int split(const char *text, Word *out, int max) {
    int n = 0;
    while (*text && n < max) {
        int len = 1;
        if (is_word(*text)) {
            while (is_word(text[len])) len++;
        } else if (*text == '\n') {
            while (text[len] == ' ') len++;
        }
        out[n++] = (Word){text, len};
        text += len;
    }
    return n;
}

static void add_file(Fuzz *f, const char *path) {
    FILE *in = fopen(path, "rb");
    if (!in || f->nfiles == FILES_MAX) {
        if (in) fclose(in);
        return;
    }
    File *file = &f->file[f->nfiles];
    file->text = calloc(1, INPUT_MAX / 4);
    file->word = calloc(WORDS_MAX, sizeof *file->word);
    if (file->text && file->word) {
        size_t n = fread(file->text, 1, INPUT_MAX / 4 - 1, in);
        file->text[n] = '\0';
        file->nwords = split(file->text, file->word, WORDS_MAX / 2);
        Word *fit = realloc(file->word, (size_t)(file->nwords + 1) * sizeof *fit);
        if (fit) file->word = fit;
        file->path = path;
        f->nfiles += file->nwords > 0;
        for (size_t i = 0; i < n; i++)
            f->hash = (f->hash ^ (unsigned char)file->text[i]) * 0x100000001b3u;
    }
    fclose(in);
}

/* Inputs are made of files by their numbers, so that their order may not be that of a folder. */
static int by_path(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void add_corpus(Fuzz *f, const char *root, glob_t *found) {
    static const char *const patterns[] = {"tests/frontend/*.tl", "tests/frontend/*.py",
                                           "tests/run/*.tl", "tests/conformance/rules/*.tl",
                                           "examples/*.tl"};
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        char pattern[PATH_BYTES];
        snprintf(pattern, sizeof pattern, "%s/%s", root, patterns[i]);
        glob(pattern, GLOB_NOSORT | (i ? GLOB_APPEND : 0), NULL, found);
    }
    qsort(found->gl_pathv, found->gl_pathc, sizeof *found->gl_pathv, by_path);
    for (size_t i = 0; i < found->gl_pathc; i++) add_file(f, found->gl_pathv[i]);
}

/* ---- mutations ---- */

static void replace(Fuzz *f, int at, int gone, const Word *with, int n) {
    if (at + gone > f->nwords) gone = f->nwords - at;
    if (f->nwords - gone + n > WORDS_MAX) return;
    memmove(f->word + at + n, f->word + at + gone,
            (size_t)(f->nwords - at - gone) * sizeof *f->word);
    if (n) memcpy(f->word + at, with, (size_t)n * sizeof *with);
    f->nwords += n - gone;
}

static Word any_word(Fuzz *f) {
    const File *file = &f->file[below(f, f->nfiles)];
    return file->word[below(f, file->nwords)];
}

/* The place of a word like that at `at`: a name for a name, a number for a number. */
static int similar(Fuzz *f, int at) {
    for (int tries = 0; tries < 30; tries++) {
        int k = below(f, f->nwords);
        char a = *f->word[at].at, b = *f->word[k].at;
        if (!isdigit((unsigned char)a) == !isdigit((unsigned char)b) && is_word(a) == is_word(b))
            return k;
    }
    return at;
}

static void mutate(Fuzz *f) {
    static const char *const numbers[] = {"0",
                                          "1",
                                          "-1",
                                          "2",
                                          "3",
                                          "16",
                                          "1024",
                                          "1048576",
                                          "2147483647",
                                          "2147483648",
                                          "-9223372036854775808",
                                          "18446744073709551615",
                                          "0.0",
                                          "1e400",
                                          "None",
                                          "True"};
    static const char *const pieces[] = {
        "break",  "continue",    "return",    "while True:",        "tl.constexpr", "lambda x: x",
        "()",     "(1, (2, 3))", "[:, None]", ".to(tl.float16)",    "not ",         " if ",
        " else ", "*",           "**",        "[x for x in (1, 2)]"};
    if (!f->nwords) return;
    Word copy[64];
    int at = below(f, f->nwords), n = 1 + below(f, 8), k;
    switch (below(f, 12)) {
    case 0: replace(f, at, n, NULL, 0); break;
    case 1: /* doubled */
        if (n > f->nwords - at) n = f->nwords - at;
        memcpy(copy, f->word + at, (size_t)n * sizeof *copy);
        replace(f, at, 0, copy, n);
        break;
    case 2:
    case 3: /* two like words change places */
        k = similar(f, at);
        copy[0] = f->word[at];
        f->word[at] = f->word[k];
        f->word[k] = copy[0];
        break;
    case 4:
    case 5: f->word[at] = f->word[similar(f, at)]; break;
    case 6: f->word[at] = any_word(f); break;
    case 7: /* some words of another file */
    {
        const File *file = &f->file[below(f, f->nfiles)];
        int from = below(f, file->nwords), most = below(f, 2) ? 40 : 6;
        if (most > file->nwords - from) most = file->nwords - from;
        replace(f, at, below(f, 3), file->word + from, most);
        break;
    }
    case 8:
    case 9: /* a number becomes another */
        for (k = 0; k < 50 && !isdigit((unsigned char)*f->word[at].at); k++)
            at = below(f, f->nwords);
        k = below(f, (int)(sizeof numbers / sizeof *numbers));
        f->word[at] = (Word){numbers[k], (int)strlen(numbers[k])};
        break;
    default:
        k = below(f, (int)(sizeof pieces / sizeof *pieces));
        copy[0] = (Word){pieces[k], (int)strlen(pieces[k])};
        replace(f, at, below(f, 2), copy, 1);
        break;
    }
}

static void make_input(Fuzz *f, uint64_t seed) {
    f->state = seed;
    const File *file = &f->file[below(f, f->nfiles)];
    f->nwords = file->nwords;
    memcpy(f->word, file->word, (size_t)file->nwords * sizeof *f->word);
    for (int n = below(f, 3) ? 1 : 2 + below(f, 6); n > 0; n--) mutate(f);
    f->len = 0;
    for (int i = 0; i < f->nwords && f->len + (size_t)f->word[i].n < INPUT_MAX; i++) {
        memcpy(f->input + f->len, f->word[i].at, (size_t)f->word[i].n);
        f->len += (size_t)f->word[i].n;
    }
    if (f->len && below(f, 50) == 0) f->input[below(f, (int)f->len)] = (char)next(f);
    f->input[f->len] = '\0';
}

/* The input as a run has kept it. */
static bool read_input(Fuzz *f, const char *path) {
    FILE *in = fopen(path, "rb");
    if (!in) return false;
    f->len = fread(f->input, 1, INPUT_MAX, in);
    f->input[f->len] = '\0';
    return fclose(in) == 0;
}

/* ---- one input ---- */

static void enter(Fuzz *f, Phase phase) {
    clock_t now = clock();
    f->cost[f->phase] += (double)(now - f->entered) / CLOCKS_PER_SEC;
    f->entered = now;
    f->phase = phase;
    current_phase = (sig_atomic_t)phase;
}

/* Types and values for what no annotation gives. A file with several functions has one of them
 * chosen as the kernel, or all that can be. */
static void fill_options(Fuzz *f, Session *s, const AstFile *file, LowerOptions *o) {
    static const char *const values[] = {"16", "16", "32", "1", "True", "'relu'", "tl.float16"};
    Buf signature = buf_new(&s->arena);
    VEC(const char *) defines = {0};
    o->triton = below(f, 2) ? 0 : TRITON_OLDEST + below(f, TRITON_NEWEST - TRITON_OLDEST + 1);
    o->warn_triton = below(f, 2);
    if (!file->nfuncs || below(f, 4) == 0) return;
    const AstFunc *kernel = file->func[below(f, file->nfuncs)];
    o->kernel = kernel->name;
    for (int k = 0; k < kernel->nparams; k++) {
        const AstParam *p = &kernel->param[k];
        if (p->annotation && p->annotation->kind == EXPR_STRING) continue;
        if (p->annotation) {
            if (!p->default_)
                vec_push(&s->arena, &defines,
                         arena_printf(&s->arena, "%s=%s", p->name, values[below(f, 7)]));
            continue;
        }
        bool pointer = strstr(p->name, "ptr") || strlen(p->name) == 1;
        buf_printf(&signature, "%s%s=%s", signature.len ? "," : "", p->name,
                   pointer ? "*fp32" : "i32");
    }
    o->signature = signature.len ? signature.data : NULL;
    o->define = defines.at;
    o->ndefines = defines.n;
}

static void wrong(Session *s, const char *what, const char *detail) {
    fprintf(stderr, "%s: %s\n", what, detail ? detail : "");
    (void)s;
    abort();
}

static void verify(Session *s, const Func *f, const char *after) {
    Span where;
    const char *why = ir_verify(s, f, &where);
    if (why) wrong(s, after, why);
}

static void read_back(Session *s, const Module *m) {
    Buf once = buf_new(&s->arena), twice = buf_new(&s->arena);
    ir_print(m, &once);
    Module *again = ir_parse(s, once.data, once.len);
    if (!again) wrong(s, "printed tile IR does not parse", s->diags.last ? s->diags.last->text : 0);
    ir_print(again, &twice);
    if (strcmp(once.data, twice.data) != 0) wrong(s, "tile IR changes when read back", NULL);
}

/* Runs two programs; what a kernel does wrong there is a diagnostic. */
static void execute(Session *s, const Module *m, const Func *f) {
    InterpArg *arg = arena_array(&s->arena, (size_t)f->nparams + 1, sizeof *arg);
    InterpBuffer *buffer = arena_array(&s->arena, (size_t)f->nparams + 1, sizeof *buffer);
    InterpLaunch launch = {.module = m,
                           .func = f,
                           .arg = arg,
                           .buffer = buffer,
                           .grid = {2, 1, 1},
                           .checks = CHECK_ALL,
                           .max_steps = 2000};
    for (int i = 0; i < f->nparams; i++) {
        const Param *p = &f->param[i];
        if (p->is_none) continue;
        if (p->type.depth) {
            uint8_t *bytes = arena_alloc(&s->arena, BUFFER_BYTES);
            buffer[launch.nbuffers++] =
                (InterpBuffer){.name = p->name, .base = bytes, .bytes = BUFFER_BYTES};
            arg[i].p = (uint64_t)(uintptr_t)bytes;
        } else if (type_is_float(p->type)) {
            arg[i].f = 1.5;
        } else {
            arg[i].i = p->is_one ? 1 : p->divisible > 1 ? 16 : 3;
        }
    }
    interp_run(s, &launch);
}

/* How much a run of the function could take: the fuzzer runs small ones. */
static void add_numel(Op *op, void *total) {
    for (int i = 0; i < op->nresults; i++) *(int64_t *)total += type_numel(op->result[i]->type);
}

/* It is about the file as a whole, or about what was given beside it. */
static bool has_no_place(const Diag *d) {
    return strncmp(d->text, "there is no kernel", 18) == 0 || strncmp(d->text, "-D ", 3) == 0 ||
           strstr(d->text, "signature") || strncmp(d->text, "the file has", 12) == 0;
}

static void run_input(Fuzz *f) {
    Session s;
    if (setjmp(s.bail)) {
        session_free(&s);
        return;
    }
    session_init(&s);
    s.arena.limit = (size_t)512 << 20;
    s.source = (Source){.name = "input.tl", .text = f->input, .len = f->len};
    f->ran++;
    enter(f, PHASE_READ);
    AstFile *file = ast_parse(&s);
    Buf tree = buf_new(&s.arena), text = buf_new(&s.arena);
    ast_print(file, &tree);
    LowerOptions options = {.config = 0};
    fill_options(f, &s, file, &options);
    enter(f, PHASE_LOWER);
    Module *m = s.diags.errors ? NULL : lower_file(&s, file, &options);
    diag_render(&s.diags, &s.source, false, &text);
    if (strstr(text.data, "bug in tilec")) wrong(&s, "an internal error", text.data);
    for (const Diag *d = s.diags.first; d; d = d->next)
        if (d->severity != DIAG_NOTE && !d->span.line && !has_no_place(d))
            wrong(&s, "a message without a place", d->text);
    enter(f, PHASE_CHECK);
    if (!m && !s.diags.errors) wrong(&s, "no kernel and no error", NULL);
    for (const Func *k = m ? m->funcs : NULL; k; k = k->next) verify(&s, k, "after lowering");
    if (m && m->funcs && !s.diags.errors) {
        f->compiled++;
        read_back(&s, m);
        PassOptions passes = {.passes = "fold,cse,dce,licm,combine,fold,dce",
                              .level = 1,
                              .verify_each = true,
                              .target = &target_table[0]};
        enter(f, PHASE_PASSES);
        if (!passes_run(&s, m, &passes))
            wrong(&s, "a pass", s.diags.last ? s.diags.last->text : NULL);
        for (const Func *k = m->funcs; k; k = k->next) {
            int64_t total = 0;
            ir_walk(k->body, add_numel, &total);
            if (total > 20000) continue;
            f->executed++;
            enter(f, PHASE_RUN);
            execute(&s, m, k);
        }
    }
    session_free(&s);
}

/* ---- the program ---- */

static size_t length(const char *text) {
    size_t n = 0;
    while (text[n]) n++;
    return n;
}

/* Only calls that a handler may make: what it writes is ready before an input is tried. */
static void on_signal(int sig) {
    char number[] = "\nfuzz_frontend: signal   : the input is being ";
    number[23] = (char)('0' + sig / 10);
    number[24] = (char)('0' + sig % 10);
    const char *phase = phase_name[current_phase];
    ssize_t written = write(STDERR_FILENO, current_input, current_len);
    written = write(STDERR_FILENO, number, sizeof number - 1);
    written = write(STDERR_FILENO, phase, length(phase));
    written = write(STDERR_FILENO, current_report, length(current_report));
    int kept = *current_path ? open(current_path, O_WRONLY | O_CREAT | O_TRUNC, 0644) : -1;
    if (kept >= 0) written = write(kept, current_input, current_len);
    _exit(written > 0 ? 1 : 2);
}

/* AddressSanitizer's errors become the signal above. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) {
    return "abort_on_error=1:handle_segv=1:detect_leaks=1:allocator_may_return_null=1";
}

static void report_slow(const Fuzz *f) {
    double total = 0;
    for (int i = 0; i < PHASES; i++) total += f->cost[i];
    if (f->slow <= 0 || total < f->slow) return;
    printf("%.2f s (", total);
    for (int i = 0; i < PHASES; i++) printf("%s%s %.2f", i ? ", " : "", phase_name[i], f->cost[i]);
    printf(")%s", current_report);
    fflush(stdout);
    FILE *out = *current_path ? fopen(current_path, "wb") : NULL;
    if (out) {
        fwrite(f->input, 1, f->len, out);
        fclose(out);
    }
}

static void run_seed(Fuzz *f, uint64_t seed, const char *path) {
    if (!path) make_input(f, seed);
    f->state = ~seed; /* the choices of fill_options follow from the seed, however the text came */
    current_input = f->input;
    current_len = f->len;
    *current_path = '\0';
    if (f->save)
        snprintf(current_path, sizeof current_path, "%s/0x%016llx.tl", f->save,
                 (unsigned long long)seed);
    snprintf(current_report, sizeof current_report, "; corpus %016llx, --one=0x%016llx%s%s\n",
             (unsigned long long)f->hash, (unsigned long long)seed, f->save ? " --input=" : "",
             current_path);
    memset(f->cost, 0, sizeof f->cost);
    f->entered = clock();
    long seconds = (long)f->alarm, micros = (long)((f->alarm - (double)seconds) * 1e6);
    setitimer(ITIMER_PROF, &(struct itimerval){.it_value = {.tv_sec = seconds, .tv_usec = micros}},
              NULL);
    run_input(f);
    setitimer(ITIMER_PROF, &(struct itimerval){0}, NULL);
    enter(f, PHASE_READ);
    report_slow(f);
}

static const char *option(const char *arg, const char *name) {
    size_t n = strlen(name);
    return strncmp(arg, name, n) == 0 ? arg + n : NULL;
}

int main(int argc, char **argv) {
    static Fuzz f = {.alarm = SECONDS_MAX, .hash = 0xcbf29ce484222325u};
    glob_t found = {0};
    double seconds = 10;
    uint64_t seed = 1, one = 0;
    const char *v, *input = NULL;
    const char *root = access("tests/frontend", F_OK) == 0 ? "." : TILE_SOURCE_DIR;
    for (int i = 1; i < argc; i++) {
        if ((v = option(argv[i], "--seconds=")))
            seconds = strtod(v, NULL);
        else if ((v = option(argv[i], "--seed=")))
            seed = strtoull(v, NULL, 0);
        else if ((v = option(argv[i], "--one=")))
            one = strtoull(v, NULL, 0);
        else if ((v = option(argv[i], "--alarm=")))
            f.alarm = strtod(v, NULL);
        else if ((v = option(argv[i], "--slow=")))
            f.slow = strtod(v, NULL);
        else if ((v = option(argv[i], "--save=")))
            f.save = v;
        else if ((v = option(argv[i], "--corpus=")))
            root = v;
        else if ((v = option(argv[i], "--input=")))
            input = v;
        else
            add_file(&f, argv[i]);
    }
    if (!f.nfiles) add_corpus(&f, root, &found);
    f.word = calloc(WORDS_MAX, sizeof *f.word);
    f.input = malloc(INPUT_MAX + 1);
    if (!f.nfiles || !f.word || !f.input) {
        fprintf(stderr, "fuzz_frontend: no corpus\n");
        return 3;
    }
    static const int signals[] = {SIGABRT, SIGPROF, SIGBUS, SIGFPE, SIGILL, SIGSEGV};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) signal(signals[i], on_signal);
    if (one) {
        if (!input) make_input(&f, one);
        if (input && !read_input(&f, input)) {
            fprintf(stderr, "fuzz_frontend: cannot read %s\n", input);
            return 3;
        }
        fwrite(f.input, 1, f.len, stdout);
        fflush(stdout);
        run_seed(&f, one, input);
    }
    printf("%d files, corpus %016llx\n", f.nfiles, (unsigned long long)f.hash);
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (uint64_t i = 0; !one; i++) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        double t =
            (double)(now.tv_sec - begin.tv_sec) + 1e-9 * (double)(now.tv_nsec - begin.tv_nsec);
        if (t > seconds) break;
        run_seed(&f, (seed << 40) + i + 1, NULL);
    }
    if (found.gl_pathc) globfree(&found);
    for (int i = 0; i < f.nfiles; i++) {
        free(f.file[i].text);
        free(f.file[i].word);
    }
    free(f.word);
    free(f.input);
    printf("%ld inputs, %ld of them compile, %ld kernels run: no failure\n", f.ran, f.compiled,
           f.executed);
    return 0;
}
