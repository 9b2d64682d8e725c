/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tilec_options.c: the options of tilec, the kinds of its output and what it says of itself. */
#include "tools/tilec_options.h"

#include "tools/compile_options.h"
#include "tools/manual.h"

#include <string.h>

const OptionRow tilec_rows[] = {
    {NULL, 0, NULL, "Output:", 0},
    {NULL, 'o', "FILE", "where to write; the suffix chooses the kind; - is standard output",
     OPT_OUTPUT},
    {"-MD", 0, NULL, "write which files were read, as a rule for make, beside the output: OUTPUT.d",
     OPT_MAKE},
    {"-MF", 0, "FILE", "-MD, into this file", OPT_MAKE_FILE},
    {"emit", 0, "KIND",
     "ast, tir, layout, llvm, ptx, cubin, header, launcher, manifest or configs; wins over the\n"
     "suffix. A cubin needs ptxas; a header has everything that a C or C++ program needs\n"
     "beside the runtime; a launcher is NAME.c and NAME.h, which need the CUDA driver alone",
     OPT_EMIT},
    {"variants", 0, "LIST",
     "of a header or launcher: 'M=:16,M >= 1024,config=3; num_warps=8': signature entries, "
     "config,\n"
     "options of kernels and conditions on arguments, or tuned: one for each\n"
     "size in the --tuning file. A launch takes the first that fits, of those with sizes the\n"
     "nearest; one without promises is added behind them. Or @FILE, one on a line",
     OPT_VARIANTS},
    {"embed", 0, "LIST",
     "what a header carries, of ptx, cubin and tir; default: ptx,tir. Of a launcher ptx and\n"
     "cubin; default: ptx",
     OPT_EMBED},
    {NULL, 0, NULL, "What to compile:", 0},
    {"tuning", 0, "FILE", "the fastest config that `tilerun --tune --tuning=FILE` found",
     OPT_TUNING},
#define ROW_BOTH(...) {__VA_ARGS__},
#define ROW_TILEC(...) {__VA_ARGS__},
#define ROW_LOOK(...)
#define OPTION(kind, name, traits, programs, letter, long_name, arg, words, help, tilerun_help)    \
    ROW_##programs(long_name, letter, arg, help, OPT_##name)
#define KERNEL_OPTION(home, name, attribute, least, most, absent, traits, long_name, arg, help)    \
    {long_name, 0, arg, help, OPT_##name},
#include "ir/options.def"
    {NULL, 0, NULL, "Looking inside:", 0},
    {"report", 0, "[=KIND]",
     "instead of code, what was made of each kernel and why, as text (default), json or html:\n"
     "layouts, accesses, pipelines, dots, shared memory, instructions of each loop, occupancy;\n"
     "text and json to standard output, if there is no -o, html as a page into INPUT.html",
     OPT_REPORT},
    {"compare", 0, "[=all]",
     "instead of code, where two reports differ, and why: of A and B in `--compare A B`, with\n"
     "the same options; or of what stands before it and the same with what follows it,\n"
     "another file or options: `matmul.tl --compare --num-stages=4`; =all: what is the same, too",
     OPT_COMPARE},
    {"explain-ptx", 0, "FILE:LINE",
     "instead of code, what an instruction of PTX does and which operation, pass and line of\n"
     "the source it is of: of a file written with --annotate, or of the input with its options",
     OPT_EXPLAIN_PTX},
    {"cache", 0, "[=WHAT]",
     "instead of compiling, what programs that compile when they launch keep on disk: list\n"
     "(default), json; pin:ID, so that one stays when room is made, unpin:ID; clear, of all that\n"
     "is not pinned, or clear:all. An id may be cut short",
     OPT_CACHE},
    {"reproduce", 0, "BUNDLE",
     "instead of a file, compile what a bug in tilec left behind: tilec-crash-….bundle, in the\n"
     "working directory or in $TILEC_CRASH_DIR; takes --dump-after, --verify and --time, and\n"
     "writes its output where -o says",
     OPT_REPRODUCE},
    {"lsp", 0, NULL,
     "instead of a file, serve an editor on standard input and output in the language server\n"
     "protocol: diagnostics while one types, types, layouts, definitions, completion; -D, -s, -I,\n"
     "--target and -W say with what sources are looked at",
     OPT_LSP},
#undef ROW_BOTH
#undef ROW_TILEC
#undef ROW_LOOK
#define ROW_BOTH(...)
#define ROW_TILEC(...)
#define ROW_LOOK(...) {__VA_ARGS__},
#define OPTION(kind, name, traits, programs, letter, long_name, arg, words, help, tilerun_help)    \
    ROW_##programs(long_name, letter, arg, help, OPT_##name)
#include "ir/options.def"
    {NULL, 0, NULL, "Messages:", 0},
    {NULL, 'W', "WHAT",
     "error: warnings are errors; no-perf, no-warnings: leave them out;\n"
     "triton: warn where versions of Triton differ on what the source means, or lack what it\n"
     "has, and where Triton would need a tl.debug_barrier",
     OPT_WARNING},
    {"explain", 0, "CODE|all",
     "what is behind the code that a message ends in, with a kernel that is wrong and one that is\n"
     "right; all: each code with its title",
     OPT_EXPLAIN},
    {"diagnostics", 0, "FORM", "text (default), or json: an object a line", OPT_DIAGNOSTICS},
    {"color", 0, "WHEN", "auto (default), always or never", OPT_COLOR},
    {"manual", 0, "VIEW", "print the manual page (man), or how a shell completes (bash, zsh)",
     OPT_MANUAL},
    {"help", 'h', NULL, "print this", OPT_HELP},
    {"version", 0, NULL, "print the version", OPT_VERSION},
};
const int tilec_nrows = sizeof tilec_rows / sizeof *tilec_rows;

const Kind tilec_kinds[] = {
    {"ptx", ".ptx", TILE_EMIT_PTX, PLAIN},
    {"cubin", ".cubin", TILE_EMIT_PTX, CUBIN},
    {"header", ".h", TILE_EMIT_PTX, HEADER},
    {"launcher", ".c", TILE_EMIT_PTX, LAUNCHER},
    {"llvm", ".ll", TILE_EMIT_LLVM, PLAIN},
    {"layout", ".layout.tir", TILE_EMIT_LAYOUT, PLAIN},
    {"tir", ".tir", TILE_EMIT_TIR, PLAIN},
    {"ast", ".ast", TILE_EMIT_AST, PLAIN},
    {"manifest", ".json", TILE_EMIT_MANIFEST, PLAIN},
    {"configs", ".configs.json", TILE_EMIT_CONFIGS, PLAIN},
};
const int tilec_nkinds = sizeof tilec_kinds / sizeof *tilec_kinds;

enum { MOST_HEEDED = 12 };

/* What an action heeds alone, or what of the rest it does not. */
static const struct Action {
    int action;
    bool alone;
    int id[MOST_HEEDED]; /* up to 0 */
} actions[] = {
    {OPT_CACHE, true, {OPT_CACHE, OPT_DIAGNOSTICS, OPT_COLOR}},
    {OPT_REPRODUCE,
     true,
     {OPT_REPRODUCE, OPT_OUTPUT, OPT_dump_after, OPT_verify_each, OPT_time, OPT_DIAGNOSTICS,
      OPT_COLOR}},
    {OPT_COMPARE,
     false,
     {OPT_EMIT, OPT_VARIANTS, OPT_EMBED, OPT_MAKE, OPT_MAKE_FILE, OPT_TUNING, OPT_dump_after,
      OPT_time, OPT_annotate}},
    {OPT_EXPLAIN_PTX,
     false,
     {OPT_EMIT, OPT_VARIANTS, OPT_EMBED, OPT_MAKE, OPT_MAKE_FILE, OPT_TUNING, OPT_dump_after,
      OPT_time, OPT_REPORT, OPT_COMPARE}},
};

static bool heeds(const struct Action *a, int id) {
    bool listed = false;
    for (int i = 0; i < MOST_HEEDED && a->id[i]; i++) listed |= a->id[i] == id;
    return listed == a->alone;
}

static const OptionRow *row_of(int id) {
    int i = 0;
    while (tilec_rows[i].id != id) i++;
    return &tilec_rows[i];
}

static void write_option(char out[64], int id) {
    const OptionRow *r = row_of(id);
    if (r->long_name)
        snprintf(out, 64, "%s%s", option_dashes(r), r->long_name);
    else
        snprintf(out, 64, "-%c", r->short_name);
}

bool tilec_stray(int argc, char **argv, char why[STRAY_WHY]) {
    const struct Action *a = NULL;
    OptionParser p = option_parser(tilec_rows, tilec_nrows, argc, argv);
    for (int id; !a && (id = option_next(&p)) != OPTION_END && id != OPTION_ERROR;)
        for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
            if (actions[i].action == id) a = &actions[i];
    if (!a) return false;
    char name[64], other[64];
    write_option(name, a->action);
    p = option_parser(tilec_rows, tilec_nrows, argc, argv);
    for (int id; (id = option_next(&p)) != OPTION_END && id != OPTION_ERROR;) {
        if (id == OPTION_POSITIONAL) {
            if (!a->alone) continue;
            bool attached = option_is_optional(row_of(a->action));
            snprintf(why, STRAY_WHY, "%s takes no other file, such as '%.100s'%s", name, p.value,
                     attached ? ": what it is to do is one word with it, --cache=list" : "");
            return true;
        }
        if (id == a->action || heeds(a, id)) continue;
        write_option(other, id);
        snprintf(why, STRAY_WHY, "%s has no effect beside %s", other, name);
        return true;
    }
    return false;
}

static const struct PassRow {
    const char *name, *doc;
} pass_rows[] = {
#define PASS(name, level, doc) {#name, doc},
#include "passes/passes.def"
#undef PASS
};

const Kind *tilec_kind(const char *name) {
    for (int i = 0; i < tilec_nkinds; i++)
        if (strcmp(tilec_kinds[i].name, name) == 0) return &tilec_kinds[i];
    return NULL;
}

static void print_more(FILE *out) {
    fputs("Passes, in the pipeline's order:\n", out);
    for (size_t i = 0; i < sizeof pass_rows / sizeof *pass_rows; i++)
        fprintf(out, "  %-22s  %s\n", pass_rows[i].name, pass_rows[i].doc);
    fputs("\nExit codes: 0 done; 1 the source cannot be compiled as asked; 2 the command line is\n"
          "wrong; 3 a file cannot be read or written; 4 a bug in tilec.\n",
          out);
}

bool tilec_manual(const char *view) {
    char emit[160] = "", all_passes[2048] = "all";
    for (size_t i = 0, n = 0; i < (size_t)tilec_nkinds && n < sizeof emit; i++)
        n += (size_t)snprintf(emit + n, sizeof emit - n, "%s%s", i ? " " : "", tilec_kinds[i].name);
    for (size_t i = 0, n = 3; i < sizeof pass_rows / sizeof *pass_rows && n < sizeof all_passes;
         i++)
        n += (size_t)snprintf(all_passes + n, sizeof all_passes - n, " %s", pass_rows[i].name);
    const OptionWords words[] = {
        {OPT_EMIT, emit},
        {OPT_passes, all_passes + 3},
        {OPT_without, all_passes + 3},
        {OPT_dump_after, all_passes},
#define OPTION(kind, name, traits, programs, letter, long_name, arg, words, ...)                   \
    {OPT_##name, words},
#include "ir/options.def"
        {OPT_WARNING, "error no-perf no-warnings triton"},
        {OPT_CACHE, "list json pin: unpin: clear clear:all"},
        {OPT_DIAGNOSTICS, "text json"},
        {OPT_COLOR, "auto always never"},
        {OPT_MANUAL, "man bash zsh"},
    };
    const Manual manual = {
        .name = "tilec",
        .summary = "compiles Triton-language kernels ahead of time",
        .synopsis = "[options] FILE…",
        .about =
            "FILE is a .tl, .py or .tir file, or - for standard input. Without -o the output "
            "goes to\n"
            "the working directory under the input's name: matmul.tl becomes matmul.ptx. A word "
            "@WORDS\nbecomes the words of that file.\n",
        .row = tilec_rows,
        .nrows = tilec_nrows,
        .words = words,
        .nwords = sizeof words / sizeof *words,
        .more = print_more,
        .suffixes = "tl py tir",
        .see_also = "tilerun",
    };
    return manual_print(stdout, &manual, view);
}
