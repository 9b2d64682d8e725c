/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tilerun_args.c: the command line of tilerun -> RunOptions. The table below is also its help. */
#include "tools/tilerun_args.h"
#include "tools/compile_options.h"
#include "tools/manual.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef enum OptionId {
    OPT_DEVICE = 1,
    OPT_GRID,
    OPT_CHECK,
    OPT_SAVE,
    OPT_TUNE,
    OPT_SPACE,
    OPT_MOST,
    OPT_TUNING,
    OPT_RETUNE,
    OPT_EXPECT,
    OPT_BENCH,
    OPT_COMPARE,
    OPT_COUNTS,
    OPT_JSON,
    OPT_SEED,
    OPT_COLOR,
    OPT_DIAGNOSTICS,
    OPT_MANUAL,
    OPT_HELP,
    OPT_VERSION
} OptionId;

static const OptionRow rows[] = {
    {NULL, 0, NULL, "Where it runs:", 0},
    {"device", 0, "DEVICE",
     "auto (default: the first GPU, else the CPU; says which), cpu, ptx, cuda or cuda:N",
     OPT_DEVICE},
    {"grid", 0, "EXPR[,EXPR[,EXPR]]",
     "how many programs, from the arguments and constexprs: 'cdiv(M,BM)*cdiv(N,BN)';\n"
     "default: the kernel's own `# tile: grid`",
     OPT_GRID},
    {"check", 0, "LIST",
     "what the CPU device and the PTX machine watch for: all (default), none, or some of\n"
     "bounds, align, overflow, uninit, races, undefined",
     OPT_CHECK},
    {NULL, 0, NULL, "How it is compiled:", 0},
#define ROW_BOTH(...) {__VA_ARGS__},
#define ROW_TILEC(...)
#define ROW_LOOK(...)
#define OPTION(kind, name, traits, programs, letter, long_name, arg, words, help, tilerun_help)    \
    ROW_##programs(long_name, letter, arg, tilerun_help, OPT_##name)
#define KERNEL_OPTION(home, name, attribute, least, most, absent, traits, long_name, arg, help)    \
    {long_name, 0, arg, help, OPT_##name},
#include "ir/options.def"
    {NULL, 0, NULL, "Which config is the fastest:", 0},
    {"tune", 0, NULL,
     "measure every config of the kernel's list for these arguments, then run the fastest;\n"
     "results are checked against each other, with the tolerance of --expect",
     OPT_TUNE},
    {"space", 0, "LISTS", "measure all combinations instead: 'BM=64,128;BN=64,128;num_warps=4,8'",
     OPT_SPACE},
    {"most", 0, "N",
     "of those that --tune would measure the N that a model of the GPU takes for the fastest",
     OPT_MOST},
    {"tuning", 0, "FILE",
     "where --tune keeps what it measured (JSON, shared by many runs, taken up again\n"
     "after an interruption); without --tune: run the fastest config it has",
     OPT_TUNING},
    {"retune", 0, NULL, "--tune, and measure also what FILE has already", OPT_RETUNE},
    {NULL, 0, NULL, "What comes out:", 0},
    {"save", 0, "NAME=FILE.npy", "write this buffer to a file after the run", OPT_SAVE},
    {"expect", 0, "NAME=FILE.npy[:T]",
     "compare this buffer with a file: passed, or exit code 5 when an element is off by more than\n"
     "T * (|expected| + their root mean square); default: 4 roundings of a float narrower\n"
     "than fp32, 256 of fp32 and fp64, 0 for integers",
     OPT_EXPECT},
    {"bench", 0, NULL,
     "run it many times, or once when that takes the CPU device half a second: the median\n"
     "time, and the rates that `# tile: flops = …` and `# tile: bytes = …` above the kernel\n"
     "give",
     OPT_BENCH},
    {"compare", 0, "[=all]",
     "run and time two: what stands before it, and the same with what follows it, options, or\n"
     "first another file: times, rates, and where what the compiler made of them differs, and\n"
     "why; =all: what is the same, too",
     OPT_COMPARE},
    {"counts", 0, NULL,
     "on the PTX machine: of each access of memory how often it is done, the sectors that it\n"
     "touches and the wavefronts that it takes",
     OPT_COUNTS},
    {"json", 0, NULL, "print what is known of the run, its times and comparisons as JSON",
     OPT_JSON},
    {"seed", 0, "N", "for random buffers; the default is 0", OPT_SEED},
    {"diagnostics", 0, "FORM", "messages as text (default), or json: an object a line",
     OPT_DIAGNOSTICS},
    {"color", 0, "WHEN", "auto (default), always or never", OPT_COLOR},
    {"manual", 0, "VIEW", "print the manual page (man), or how a shell completes (bash, zsh)",
     OPT_MANUAL},
    {"help", 'h', NULL, "print this", OPT_HELP},
    {"version", 0, NULL, "print the version", OPT_VERSION},
};
enum { ROWS = sizeof rows / sizeof *rows };

static void print_more(FILE *out) {
    fputs("Exit codes: 0 done; 1 the source cannot be compiled as asked; 2 the command line is "
          "wrong;\n3 a file cannot be read or written; 4 a bug in tilec; 5 a check or the launch "
          "failed.\n",
          out);
}

static int usage(const RunOptions *o, const char *text, const char *detail) {
    message(&o->messages, E_COMMAND_LINE, "%s%s%s%s", text, detail ? " '" : "",
            detail ? detail : "", detail ? "'" : "");
    return EXIT_USAGE;
}

/* How the program describes itself; `view` as manual_print has them. */
static int print_manual(const RunOptions *o, const char *view) {
    static const OptionWords words[] = {
        {OPT_DEVICE, "auto cpu cuda"},
        {OPT_CHECK, "all none bounds align overflow uninit races undefined"},
        {OPT_DIAGNOSTICS, "text json"},
        {OPT_COLOR, "auto always never"},
        {OPT_MANUAL, "man bash zsh"},
#define OPTION(kind, name, traits, programs, letter, long_name, arg, words, ...)                   \
    {OPT_##name, words},
#include "ir/options.def"
    };
    static const Manual manual = {
        .name = "tilerun",
        .summary = "runs a kernel from the command line",
        .synopsis = "FILE [options] NAME=VALUE…",
        .about =
            "FILE is a .tl or .py source, a .tir, or a .ptx made by tilec. A word @WORDS becomes "
            "the\nwords of that file.\n\n"
            "Values of the kernel's parameters:\n"
            "  5, 5:i64, 0.5, True, None     a number, of this type if one is given; None\n"
            "  @in.npy, @in.npy:bf16         a file; its bytes taken as another type of their "
            "size\n"
            "  zeros:fp16[1024,N]            a buffer; sizes may use the other arguments\n"
            "  empty:T[…]  full(V):T[…]  arange:T[…]  arange(START):T[…]\n"
            "  rand:T[…]  rand(LO,HI):T[…]  randint(LO,HI):T[…]  randn:T[…]  randn(SCALE):T[…]\n"
            "  pointers(rand:T[…], zeros:T[…]) a buffer of the addresses of buffers, NAME.0, "
            "NAME.1 …\n"
            "  (5, zeros:fp16[N], None)      a tuple; its parts are called NAME.0, NAME.1 …\n"
            "  tensordesc<[64, 64]>:rand:T[…] a descriptor of a buffer, in blocks of this size\n"
            "  T is i1 i8 … i64 u8 … u64 fp16 bf16 fp32 fp64 fp8e4nv fp8e5\n",
        .row = rows,
        .nrows = ROWS,
        .words = words,
        .nwords = sizeof words / sizeof *words,
        .more = print_more,
        .suffixes = "tl py tir ptx",
        .see_also = "tilec",
    };
    return manual_print(stdout, &manual, view) ? EXIT_DONE : usage(o, "--manual has no", view);
}

static int read_checks(const RunOptions *o, const char *text, unsigned *checks) {
    static const struct {
        const char *name;
        unsigned bits;
    } names[] = {
        {"all", TILE_CHECK_ALL},           {"none", 0},
        {"bounds", TILE_CHECK_BOUNDS},     {"align", TILE_CHECK_ALIGN},
        {"overflow", TILE_CHECK_OVERFLOW}, {"uninit", TILE_CHECK_UNINIT},
        {"races", TILE_CHECK_RACES},       {"undefined", TILE_CHECK_UNDEFINED},
    };
    *checks = 0;
    if (!*text) return usage(o, "--check names nothing; to watch for nothing, say none", NULL);
    while (*text) {
        size_t n = strcspn(text, ","), i = 0, count = sizeof names / sizeof *names;
        while (i < count && (strlen(names[i].name) != n || memcmp(names[i].name, text, n) != 0))
            i++;
        if (i == count) return usage(o, "--check has no", text);
        *checks |= names[i].bits;
        text += n + (text[n] == ',');
    }
    return -1;
}

static int read_number(const RunOptions *o, const char *option, const char *text, long least,
                       int *out) {
    long v;
    if (option_number(text, least, 1000000, &v)) {
        message(&o->messages, E_COMMAND_LINE, "%s takes a number from %ld on, not '%s'", option,
                least, text);
        return EXIT_USAGE;
    }
    *out = (int)v;
    return -1;
}

static int read_seed(const RunOptions *o, const char *text, uint64_t *out) {
    char *end;
    errno = 0;
    unsigned long long v = strtoull(text, &end, 0);
    if (errno || end == text || *end || *text == '-')
        return usage(o, "--seed takes a number, not", text);
    *out = v;
    return -1;
}

static int read_color(RunOptions *o, const char *text) {
    o->compile.color = option_color(text);
    return o->compile.color < 0 ? usage(o, "--color is auto, always or never, not", text) : -1;
}

static int read_config(RunOptions *o, const char *text) {
    tile_compile_options *c = &o->compile;
    c->config_text = strchr(text, '=') ? text : NULL;
    o->forecast = strcmp(text, "auto") == 0;
    return c->config_text || o->forecast ? -1 : read_number(o, "--config", text, 0, &c->config);
}

static int read_positional(RunOptions *o, const char *text) {
    if (!o->file) {
        o->file = text;
        return -1;
    }
    RunError error;
    RunValue *v = &o->value[o->nvalues];
    int n, before = o->nvalues;
    bool ok = value_parse(text, v, value_count(text), &n, &error);
    o->nvalues += n;
    if (!ok) return usage(o, error.text, NULL);
    for (int i = 0; i < before; i++)
        for (int k = 0; k < n; k++)
            if (strcmp(o->value[i].name, v[k].name) == 0)
                return usage(o, "given twice:", v[k].name);
    return -1;
}

static int read_option(RunOptions *o, int id, const char *value) {
    char why[OPTION_WHY];
    switch (id) {
    case OPT_DEVICE: o->device = value; return -1;
    case OPT_GRID: o->grid = value; return -1;
    case OPT_include: o->include[o->compile.ninclude++] = value; return -1;
    case OPT_defines: o->define[o->compile.ndefines++] = value; return -1;
    case OPT_config: return read_config(o, value);
    case OPT_target:
        o->compile.target = strcmp(value, "native") == 0 ? NULL
                            : tile_target_name(value)    ? tile_target_name(value)
                                                         : value;
        return -1;
    case OPT_CHECK: o->checks_given = true; return read_checks(o, value, &o->checks);
    case OPT_SAVE: o->save[o->nsaves++] = (Save){.text = value}; return -1;
    case OPT_TUNE: o->tune = true; return -1;
    case OPT_SPACE: o->space = value; return -1;
    case OPT_MOST: return read_number(o, "--most", value, 1, &o->most);
    case OPT_TUNING: o->tuning = value; return -1;
    case OPT_RETUNE: o->tune = o->retune = true; return -1;
    case OPT_EXPECT: o->expect[o->nexpects++] = (Expect){.text = value}; return -1;
    case OPT_BENCH: o->bench = true; return -1;
    case OPT_COMPARE:
        return usage(o, "--compare is there twice, or with another value than all", NULL);
    case OPT_COUNTS: o->counts = true; return -1;
    case OPT_JSON: o->json = true; return -1;
    case OPT_SEED: return read_seed(o, value, &o->seed);
    case OPT_DIAGNOSTICS:
        return messages_form(&o->messages, value)
                   ? -1
                   : usage(o, "--diagnostics is text or json, not", value);
    case OPT_COLOR: return read_color(o, value);
    case OPT_MANUAL: return print_manual(o, value);
    case OPT_HELP: return print_manual(o, "help");
    case OPT_VERSION: printf("tilerun %s\n", tile_version()); return EXIT_DONE;
    }
    return compile_option_take(&o->compile, &o->options, id, value, why) ? -1 : usage(o, why, NULL);
}

/* The buffer that NAME=… names, and what is behind the sign. */
static int match_buffer(const RunOptions *o, const char *option, const char *text, int *value,
                        const char **file) {
    char why[80];
    const char *eq = strchr(text, '=');
    snprintf(why, sizeof why, "%s takes NAME=FILE.npy, not", option);
    if (!eq || !eq[1]) return usage(o, why, text);
    *file = eq + 1;
    snprintf(why, sizeof why, "%s names no buffer of this command line:", option);
    for (*value = 0; *value < o->nvalues; ++*value) {
        const char *name = o->value[*value].name;
        if (strlen(name) == (size_t)(eq - text) && memcmp(name, text, strlen(name)) == 0) break;
    }
    bool found = *value < o->nvalues && value_is_buffer(&o->value[*value]);
    return found ? -1 : usage(o, why, text);
}

/* FILE.npy:TOLERANCE; the last colon of a path that no number follows is part of the path. */
static int split_tolerance(const RunOptions *o, Expect *e, const char *text) {
    const char *colon = strrchr(text, ':');
    char *end = NULL;
    if (colon && colon[1]) e->tolerance = strtod(colon + 1, &end);
    e->given = end && !*end;
    if (e->given && !(e->tolerance >= 0))
        return usage(o, "a tolerance is 0 or more, not", colon + 1);
    e->file = e->given ? strndup(text, (size_t)(colon - text)) : strdup(text);
    if (e->file) return -1;
    message(&o->messages, R_NO_MEMORY, "out of memory");
    return EXIT_RUN;
}

static int match_buffers(RunOptions *o) {
    int code = -1;
    for (int i = 0; code < 0 && i < o->nsaves; i++) {
        Save *s = &o->save[i];
        code = match_buffer(o, "--save", s->text, &s->value, &s->file);
    }
    for (int i = 0; code < 0 && i < o->nexpects; i++) {
        Expect *e = &o->expect[i];
        const char *file;
        code = match_buffer(o, "--expect", e->text, &e->value, &file);
        if (code < 0) code = split_tolerance(o, e, file);
    }
    return code;
}

bool run_words(Words *w, int argc, char **argv) {
    return words_expand(w, rows, ROWS, argc, argv);
}

int run_options_read(RunOptions *o, const Messages *m, int argc, char **argv) {
    *o = (RunOptions){.messages = *m, .device = "auto", .checks = TILE_CHECK_ALL};
    o->compile.color = option_color("auto");
    size_t most = (size_t)argc + 1; /* of anything */
    o->define = calloc(most, sizeof *o->define);
    o->compile.defines = o->define;
    o->include = calloc(most, sizeof *o->include);
    o->compile.include = o->include;
    o->compile.reader = tile_file_reader();
    size_t values = most;
    for (int i = 1; i < argc; i++) values += (size_t)value_count(argv[i]);
    o->value = calloc(values, sizeof *o->value);
    o->save = calloc(most, sizeof *o->save);
    o->expect = calloc(most, sizeof *o->expect);
    if (!o->define || !o->include || !o->value || !o->save || !o->expect) {
        message(&o->messages, R_NO_MEMORY, "out of memory");
        return EXIT_RUN;
    }
    OptionParser p = option_parser(rows, ROWS, argc, argv);
    int exit_code = -1;
    for (int id; exit_code < 0 && (id = option_next(&p)) != OPTION_END;) {
        if (id == OPTION_ERROR)
            exit_code = usage(o, p.error, NULL);
        else if (id == OPTION_POSITIONAL)
            exit_code = read_positional(o, p.value);
        else
            exit_code = read_option(o, id, p.value);
    }
    if (exit_code >= 0) return exit_code;
    if (!o->file) return usage(o, "which file? (see tilerun --help)", NULL);
    if (o->space && !o->tune) return usage(o, "--space is for --tune", NULL);
    if (o->most && !o->tune) return usage(o, "--most is for --tune", NULL);
    bool chosen = o->compile.config || o->compile.config_text || o->forecast;
    if (chosen && (o->tune || o->tuning))
        return usage(o, "--config chooses a config, and so do --tune and --tuning", NULL);
    return match_buffers(o);
}

void run_options_free(RunOptions *o) {
    for (int i = 0; o->value && i < o->nvalues; i++) value_free(&o->value[i]);
    free(o->define);
    free(o->include);
    free(o->options);
    free(o->value);
    for (int i = 0; o->expect && i < o->nexpects; i++) free(o->expect[i].file);
    free(o->expect);
    free(o->save);
}
