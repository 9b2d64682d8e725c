/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fuzz_options.c: mutated options of a compilation, and expressions of a launch's grid.
 *
 * An input is lines NAME=VALUE, a field of tile_compile_options each, for a source that has a
 * kernel of each form. The outcome must agree with itself; `words` are a command line's, which is
 * read by the table of options and put into fields, too. */
#include "tests/fuzz/compiling.h"
#include "tools/compile_options.h"
#include "tools/options.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { TAKE, COMPILED };

enum { INPUT_MAX = 1 << 12, LINES_MAX = 64, WORDS_MAX = 32 };

static const char source[] =
    "import triton\n"
    "import triton.language as tl\n"
    "@triton.jit\n"
    "def add(x, y, n, BLOCK: tl.constexpr, ACT: tl.constexpr = 'relu'):\n"
    "    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
    "    v = tl.load(x + i, mask=i < n)\n"
    "    if ACT == 'relu':\n"
    "        v = tl.maximum(v, 0)\n"
    "    tl.store(y + i, v, mask=i < n)\n"
    "@triton.autotune(configs=[triton.Config({'B': 16}, num_warps=2), triton.Config({'B': 64})],\n"
    "                 key=['n'])\n"
    "@triton.heuristics({'EVEN': lambda args: args['n'] % 16 == 0})\n"
    "@triton.jit\n"
    "def tuned(p: '*fp32:16', n: 'i32', B: tl.constexpr, EVEN: tl.constexpr):\n"
    "    i = tl.arange(0, B)\n"
    "    tl.store(p + i, i * 1.0, mask=EVEN or i < n)\n"
    "@triton.jit\n"
    "def parts(t, d, s: 'i64', bias):\n"
    "    v = d.load([0, 0])\n"
    "    if bias is not None:\n"
    "        v += 1\n"
    "    d.store([0, 0], v)\n"
    "    tl.store(t[1], t[0])\n";

/* ---- lines -> fields ---- */

typedef struct Taken {
    tile_compile_options o;
    const char *define[LINES_MAX], *value[LINES_MAX];
    char *options; /* malloc'ed, of words */
} Taken;

static const struct {
    const char *name;
    size_t at;
} texts[] = {{"kernel", offsetof(tile_compile_options, kernel)},
             {"signature", offsetof(tile_compile_options, signature)},
             {"config_text", offsetof(tile_compile_options, config_text)},
             {"target", offsetof(tile_compile_options, target)},
             {"options", offsetof(tile_compile_options, options)},
             {"passes", offsetof(tile_compile_options, passes)},
             {"without", offsetof(tile_compile_options, without)},
             {"dump_after", offsetof(tile_compile_options, dump_after)},
             {"triton", offsetof(tile_compile_options, triton)},
             {"file_name", offsetof(tile_compile_options, file_name)}},
  numbers[] = {{"config", offsetof(tile_compile_options, config)},
               {"num_warps", offsetof(tile_compile_options, num_warps)},
               {"num_stages", offsetof(tile_compile_options, num_stages)},
               {"swizzle_grid", offsetof(tile_compile_options, swizzle_grid)},
               {"emit", offsetof(tile_compile_options, emit)},
               {"stats", offsetof(tile_compile_options, stats)},
               {"ignore_annotations", offsetof(tile_compile_options, ignore_annotations)},
               {"no_promises", offsetof(tile_compile_options, no_promises)},
               {"annotations_hold", offsetof(tile_compile_options, annotations_hold)},
               {"no_optimize", offsetof(tile_compile_options, no_optimize)},
               {"line_info", offsetof(tile_compile_options, line_info)},
               {"warnings_are_errors", offsetof(tile_compile_options, warnings_are_errors)}};

/* Words of a command line, with the rows that both programs have of options.def. */
static void take_words(Taken *t, char *line) {
    static const OptionRow rows[] = {
#define OPTION(kind, name, traits, programs, letter, long_name, arg, words, help, run_help)        \
    {long_name, letter, arg, help, OPT_##name},
#define KERNEL_OPTION(home, name, attribute, least, most, absent, traits, long_name, arg, help)    \
    {long_name, 0, arg, help, OPT_##name},
#include "ir/options.def"
    };
    char *argv[WORDS_MAX + 2] = {line}, why[OPTION_WHY];
    int argc = 1, id;
    for (char *at = line, *word; argc <= WORDS_MAX && (word = strtok_r(at, " ", &at));)
        argv[argc++] = word;
    OptionParser p = option_parser(rows, sizeof rows / sizeof *rows, argc, argv);
    while ((id = option_next(&p)) != OPTION_END) {
        if (id == OPTION_ERROR) {
            if (!*p.error) fuzz_wrong("refused without a word", line);
            break;
        }
        if (id == OPTION_POSITIONAL || id == OPT_config || id == OPT_target || id == OPT_defines ||
            id == OPT_values || id == OPT_include)
            continue;
        *why = '\0';
        if (!compile_option_take(&t->o, &t->options, id, p.value, why)) {
            if (!*why) fuzz_wrong("a value refused without a word", p.value);
            break;
        }
    }
}

static void take_line(Taken *t, char *line) {
    char *value = strchr(line, '=');
    if (!value) return;
    *value++ = '\0';
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strcmp(texts[i].name, line) == 0)
            memcpy((char *)&t->o + texts[i].at, &value, sizeof value);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (strcmp(numbers[i].name, line) == 0) {
            int number = (int)strtol(value, NULL, 0);
            memcpy((char *)&t->o + numbers[i].at, &number, sizeof number);
        }
    if (strcmp(line, "define") == 0 && t->o.ndefines < LINES_MAX)
        t->define[t->o.ndefines++] = value;
    if (strcmp(line, "value") == 0 && t->o.nvalues < LINES_MAX) t->value[t->o.nvalues++] = value;
    if (strcmp(line, "words") == 0) take_words(t, value);
}

static int one(const uint8_t *data, size_t n) {
    char text[INPUT_MAX + 1];
    tile_compiled *c = NULL;
    Taken t = {.o = {.source = source,
                     .source_len = sizeof source - 1,
                     .emit = TILE_EMIT_TIR,
                     .verify_each = 1}};
    t.o.defines = t.define;
    t.o.values = t.value;
    fuzz_choices(data, n);
    memcpy(text, data, n);
    text[n] = '\0';
    for (char *at = text, *line; (line = strtok_r(at, "\n", &at));) take_line(&t, line);
    if (t.options && !t.o.options) t.o.options = t.options;
    bool ok = fuzz_compile(&t.o, &c) == TILE_OK;
    tile_compiled_free(c);
    free(t.options);
    return ok ? COMPILED : TAKE;
}

/* ---- inputs ---- */

static const char *const seeds[] = {
    "kernel=add\nsignature=x=*fp32:16,y=*fp32,n=i32\ndefine=BLOCK=64\ndefine=ACT=None\n",
    "kernel=add\nsignature=*fp16:16, *bf16:8, i64\nconfig_text=BLOCK=128,num_warps=8\n",
    "kernel=tuned\nconfig=1\nvalue=n=32\nemit=5\ntarget=sm_90a\n",
    "kernel=tuned\nconfig_text=B=32,num_warps=1,num_stages=2\nvalue=n=7\nemit=6\n",
    "kernel=parts\nsignature=t=(i32,*i32:16),d=tensordesc<fp16[16,64]>,bias=None\nemit=0\n",
    "kernel=parts\nsignature=t=(i32,*i32),d=tensordesc<fp16[8,8]>,s=:,bias=i32\noptions=num_warps="
    "2\n",
    "kernel=add\nsignature=x=*fp32,y=*fp32,n=1\ndefine=BLOCK=16\npasses=fold,cse\ndump_after=all\n",
    "kernel=tuned\nwithout=licm,fold\nemit=2\ntarget=H100\ntriton=3.6\nvalue=n=1\n",
    "kernel=add\nsignature=x=*u8,y=*i8,n=i32:16\nwords=-D BLOCK=8 --num-warps 4 --num-stages=2 -O0 "
    "-g\n",
    "words=--signature *fp32,*fp32,i32 --kernel add --triton=3.7 --stats=json "
    "--Werror\ndefine=BLOCK=4\n"};

static bool begin(FuzzCorpus *c) {
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++)
        if (!fuzz_add(c, seeds[i], strlen(seeds[i]))) return false;
    return true;
}

static const char *const pieces[] = {"i1",          "u64",          "fp8e4nv",      "fp64",
                                     "*fp16",       "**i8",         ":16",          ":8",
                                     ":1",          ":0",           ":-16",         "None",
                                     "True",        "(i32,*i8)",    "((i32,),)",    "()",
                                     "tensordesc<", "[16,16]",      "[0]",          ",,",
                                     "=",           "x.0=",         "num_warps",    "num_stages",
                                     "maxnreg",     "num_ctas",     "sm_75",        "sm_100a",
                                     "cpu",         "hopper",       "NVIDIA A100",  "all",
                                     "pipeline",    "schedule",     "layout",       "--",
                                     "-o",          "--signature=", "--emit=ptx",   "\"a\"",
                                     "'b'",         "tl.float16",   "3.5",          "1e9",
                                     "define=",     "value=n=",     "emit=1\n",     "emit=3\n",
                                     "\xc3\xa9",    "0x10",         "inf",          "nan",
                                     "-0.0",        "kernel=\n",    "signature=\n", NULL};
static const char *const stages[] = {"taken", "compiled", NULL};

const FuzzTarget fuzz_target = {.name = "options",
                                .suffix = ".options",
                                .most = INPUT_MAX,
                                .word = "",
                                .pieces = pieces,
                                .stages = stages,
                                .begin = begin,
                                .one = one};
