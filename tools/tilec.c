/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tilec.c: the compiler's command line: files of kernels in, one output file for each.
 *
 * Everything is compiled first, then everything is written beside its place, then everything is
 * renamed into place: when anything fails no output is left, not even of the inputs that were fine.
 * What it does beyond files and options is tile_compile's. */
#include "base/file.h"
#include "tile.h"
#include "tools/bundle.h"
#include "tools/compile_options.h"
#include "tools/crash.h"
#include "tools/messages.h"
#include "tools/response.h"
#include "tools/tilec_artefact.h"
#include "tools/tilec_cache.h"
#include "tools/tilec_deps.h"
#include "tools/tilec_explain.h"
#include "tools/tilec_lsp.h"
#include "tools/tilec_options.h"
#include "tools/tilec_ptxas.h"
#include "tools/tilec_report.h"
#include "tools/tilec_tuned.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum ExitCode { EXIT_DONE, EXIT_SOURCE, EXIT_USAGE, EXIT_FILES, EXIT_BUG };
enum { INPUT_LIMIT_MB = 8, MAX_FACTS = 64 };

static const char *const report_suffix[] = {".report.txt", ".report.json", ".html"};

enum { CONFIG_TEXT = 1000, MESSAGE_TEXT = 700 };

typedef struct Input {
    const char *path;
    char *text;
    char *output; /* where to; "-": standard output */
    tile_compiled *compiled;
    char *artefact; /* a header or cubin made of it; NULL: the compiler's output itself */
    size_t artefact_len;
    char *header_path, *header; /* of a launcher; its C file is the artefact */
    size_t header_len;
    FileDraft draft, header_draft;
    Deps deps;
    char *rule_path; /* of -MD; NULL: no rule is written */
    char *rule;
    FileDraft rule_draft;
    char config[CONFIG_TEXT]; /* of --config=auto */
} Input;

typedef struct Command {
    Messages messages;
    tile_compile_options o;
    const char **defines, **include;
    bool make;
    const char *make_file; /* -MF */
    char *options;         /* those of kernels, for o.options */
    char *facts;           /* of all --for, cut into: */
    const char *fact[MAX_FACTS];
    Input *input;
    int ninputs;
    const char *output; /* -o */
    ArtefactOptions artefact;
    const Kind *kind; /* NULL: not chosen yet */
    bool report;      /* instead of code: */
    tile_report_format report_format;
    bool compare, compare_all; /* instead of code; what stood before it: */
    tile_compile_options before;
    char *options_before;
    int inputs_before;
    const char *explain;   /* FILE:LINE */
    const char *reproduce; /* a bundle */
    bool lsp;
    bool native, forecast; /* forecast: --config=auto */
    char native_target[32];
    int worst; /* exit code so far */
} Command;

/* The kind of mistake that ends with this exit code, where nothing else is known of it. */
static Code kind_of_exit(int code) {
    return code == EXIT_USAGE   ? E_COMMAND_LINE
           : code == EXIT_FILES ? R_IO
           : code == EXIT_BUG   ? E_BUG
                                : R_NO_MEMORY;
}

static void complain(Command *c, int code, const char *text) {
    if (text) message(&c->messages, kind_of_exit(code), "%s", text);
    if (code > c->worst) c->worst = code;
}

static int usage(const Command *c, const char *before, const char *text, const char *after) {
    message(&c->messages, E_COMMAND_LINE, "%s%s%s", before, text, after);
    if (!c->messages.json) fputs("Try 'tilec --help'.\n", stderr);
    return EXIT_USAGE;
}

static bool ends_in(const char *s, const char *suffix) {
    size_t n = strlen(s), k = strlen(suffix);
    return n > k && strcmp(s + n - k, suffix) == 0;
}

/* ---- the command line ---- */

/* NAME=VALUE; where `dots`, also MODULE.NAME=VALUE. */
static bool is_define(const char *s, bool dots) {
    const char *p = s;
    while (isalnum((unsigned char)*p) || *p == '_' || (dots && *p == '.')) p++;
    return p > s && !isdigit((unsigned char)*s) && *p == '=';
}

/* A number, or the text of a config. */
static int config_option(Command *c, const char *text) {
    long v = 0;
    c->o.config_text = strchr(text, '=') ? text : NULL;
    c->forecast = strcmp(text, "auto") == 0;
    if (!c->o.config_text && !c->forecast && option_number(text, 0, 1000000, &v))
        return usage(c, "--config takes a whole number from 0 on, a config or auto, not '", text,
                     "'");
    c->o.config = (int)v;
    return EXIT_DONE;
}

/* "M=4096,N=4096" -> the options' values. */
/* Behind those of another --for. */
static int for_option(Command *c, const char *text) {
    size_t had = c->facts ? strlen(c->facts) : 0;
    char *all = realloc(c->facts, had + strlen(text) + 2);
    if (!all) return usage(c, "out of memory", "", "");
    c->facts = all;
    snprintf(all + had, strlen(text) + 2, "%s%s", had ? "," : "", text);
    return EXIT_DONE;
}

/* Cuts what --for says into words. */
static int read_facts(Command *c) {
    char *rest = c->facts, *word;
    while (rest && (word = strtok_r(rest, ",", &rest))) {
        if (!is_define(word, true))
            return usage(c, "--for takes NAME=VALUE,NAME=VALUE…, not '", word, "'");
        if (c->o.nvalues == MAX_FACTS) return usage(c, "--for takes 64 values at most", "", "");
        c->fact[c->o.nvalues++] = word;
    }
    return EXIT_DONE;
}

static int report_option(Command *c, const char *kind) {
    static const char *const words[] = {"text", "json", "html"};
    c->report = true;
    c->o.report = 1;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!kind || strcmp(kind, words[i]) == 0) {
            c->report_format = (tile_report_format)i;
            return EXIT_DONE;
        }
    return usage(c, "--report is text, json or html, not '", kind, "'");
}

/* What follows is of B alone. */
static int compare_option(Command *c, const char *what) {
    if (c->compare) return usage(c, "--compare is there twice", "", "");
    if (what && strcmp(what, "all"))
        return usage(c, "--compare is --compare or --compare=all", "", "");
    c->compare = true;
    c->compare_all = what != NULL;
    c->before = c->o;
    c->inputs_before = c->ninputs;
    c->options_before = c->options ? strdup(c->options) : NULL;
    if (c->options && !c->options_before) return usage(c, "out of memory", "", "");
    c->before.options = c->options_before;
    return EXIT_DONE;
}

static int take_option(Command *c, int id, const char *v) {
    switch (id) {
    case OPT_COMPARE: return compare_option(c, v);
    case OPT_EXPLAIN_PTX: c->explain = v; break;
    case OPT_REPRODUCE: c->reproduce = v; break;
    case OPT_LSP: c->lsp = true; break;
    case OPT_REPORT: return report_option(c, v);
    case OPT_OUTPUT: c->output = v; break;
    case OPT_EMIT:
        c->kind = tilec_kind(v);
        if (!c->kind)
            return usage(
                c,
                "--emit is ast, tir, layout, llvm, ptx, cubin, header, launcher, manifest or "
                "configs, not '",
                v, "'");
        break;
    case OPT_MAKE: c->make = true; break;
    case OPT_MAKE_FILE: c->make_file = v; break;
    case OPT_include: c->include[c->o.ninclude++] = v; break;
    case OPT_VARIANTS: c->artefact.variants = v; break;
    case OPT_EMBED: c->artefact.embed = v; break;
    case OPT_TUNING: c->artefact.tuning_file = v; break;
    case OPT_defines:
        if (!is_define(v, true)) return usage(c, "-D takes NAME=VALUE, not '", v, "'");
        c->defines[c->o.ndefines++] = v;
        break;
    case OPT_config: return config_option(c, v);
    case OPT_values: return for_option(c, v);
    case OPT_target:
        c->native = strcmp(v, "native") == 0;
        c->o.target = tile_target_name(v) ? tile_target_name(v) : v;
        break;
    case OPT_WARNING:
        if (strcmp(v, "error") == 0)
            c->o.warnings_are_errors = 1;
        else if (strcmp(v, "no-perf") == 0)
            c->o.no_perf_notes = 1;
        else if (strcmp(v, "no-warnings") == 0)
            c->o.no_warnings = 1;
        else if (strcmp(v, "triton") == 0)
            c->o.warn_triton = 1;
        else
            return usage(c, "-W is -Werror, -Wtriton, -Wno-perf or -Wno-warnings, not -W", v, "");
        break;
    case OPT_DIAGNOSTICS:
        if (!messages_form(&c->messages, v))
            return usage(c, "--diagnostics is text or json, not '", v, "'");
        break;
    case OPT_COLOR:
        c->o.color = option_color(v);
        if (c->o.color < 0) return usage(c, "--color is auto, always or never, not ", v, "");
        break;
    case OPT_CACHE:
    case OPT_EXPLAIN:
    case OPT_MANUAL:
    case OPT_HELP:
    case OPT_VERSION: break; /* handled where options are read: they end the program */
    default: {
        char why[OPTION_WHY];
        return compile_option_take(&c->o, &c->options, id, v, why) ? EXIT_DONE
                                                                   : usage(c, why, "", "");
    }
    }
    return EXIT_DONE;
}

/* What an output by this name holds; NULL when the name does not tell. */
static const Kind *kind_of_output(const char *path) {
    for (int i = 0; i < tilec_nkinds; i++)
        if (ends_in(path, tilec_kinds[i].suffix)) return &tilec_kinds[i];
    bool named = strchr(file_base_name(path), '.') != NULL;
    return named ? NULL : &tilec_kinds[0]; /* -, /dev/null and the like */
}

static char *default_output(const char *input, const char *suffix) {
    const char *base = file_base_name(input), *dot = strrchr(base, '.');
    size_t n = dot ? (size_t)(dot - base) : strlen(base), size = n + strlen(suffix) + 1;
    char *out = malloc(size);
    if (out) snprintf(out, size, "%.*s%s", (int)n, base, suffix);
    return out;
}

/* out.ptx -> out.d */
static int plan_rule(Command *c, Input *in) {
    if (!c->make && !c->make_file) return EXIT_DONE;
    if (c->make_file && c->ninputs > 1)
        return usage(c, "-MF takes one input; there are several: use -MD", "", "");
    if (!c->make_file && strcmp(in->output, "-") == 0)
        return usage(c, "-MD writes beside the output, which is a stream: use -MF FILE", "", "");
    const char *base = file_base_name(in->output), *dot = strrchr(base, '.');
    size_t n = dot ? (size_t)(dot - in->output) : strlen(in->output);
    in->rule_path = c->make_file ? strdup(c->make_file) : malloc(n + 3);
    if (!in->rule_path) {
        complain(c, EXIT_SOURCE, "out of memory");
        return EXIT_SOURCE;
    }
    if (!c->make_file) snprintf(in->rule_path, n + 3, "%.*s.d", (int)n, in->output);
    if (strcmp(in->rule_path, in->output) == 0 || file_same(in->rule_path, in->path))
        return usage(c, "the rule would replace '", in->rule_path, "': name another with -MF");
    return EXIT_DONE;
}

static bool has_variants(const Kind *kind) {
    return kind->artefact == HEADER || kind->artefact == LAUNCHER;
}

/* matmul.c -> matmul.h */
static int plan_header(Command *c, Input *in) {
    if (c->kind->artefact != LAUNCHER) return EXIT_DONE;
    if (!ends_in(in->output, ".c"))
        return usage(c, "a launcher is two files: name the one that ends in .c with -o, not '",
                     in->output, "'");
    if (strpbrk(file_base_name(in->output), "\"\\\n\r"))
        return usage(c, "a launcher includes its header by name, and no #include can name '",
                     file_base_name(in->output), "': name another with -o");
    in->header_path = strdup(in->output);
    if (!in->header_path) return usage(c, "out of memory", "", "");
    in->header_path[strlen(in->header_path) - 1] = 'h';
    return EXIT_DONE;
}

/* Decides where each output goes, and refuses what would destroy something. */
static int plan_outputs(Command *c) {
    if (c->output && c->ninputs > 1)
        return usage(c, "-o takes one input; there are several", "", "");
    if (c->report && c->kind) return usage(c, "--report is instead of what --emit names", "", "");
    if (c->report && c->o.annotate)
        return usage(c, "--report is instead of PTX, which --annotate is of", "", "");
    if (c->report) c->kind = &tilec_kinds[0];
    bool page = c->report_format == TILE_REPORT_HTML;
    if (c->report && !page && !c->output && c->ninputs == 1) c->output = "-";
    if (!c->kind) c->kind = c->output ? kind_of_output(c->output) : &tilec_kinds[0];
    if (!c->kind)
        return usage(c, "what to write into '", c->output,
                     "'? Its suffix does not say: use --emit");
    c->o.emit = c->kind->emit;
    bool many = has_variants(c->kind);
    if (!many && (c->artefact.variants || c->artefact.embed))
        return usage(c, c->artefact.variants ? "--variants" : "--embed",
                     " is for --emit=header and --emit=launcher", "");
    if (!many && c->o.target && strchr(c->o.target, ','))
        return usage(c, "several targets are for --emit=header and --emit=launcher, not '",
                     c->o.target, "'");
    if (many && (c->o.stats || c->o.dump_after || c->o.time))
        return usage(c, "--stats, --dump-after and --time are of one output, not of a header", "",
                     "");
    for (int i = 0; i < c->ninputs; i++) {
        Input *in = &c->input[i];
        bool piped = strcmp(in->path, "-") == 0;
        const char *fixed = c->output ? c->output : piped ? "-" : NULL;
        const char *suffix = c->report ? report_suffix[c->report_format] : c->kind->suffix;
        in->output = fixed ? strdup(fixed) : default_output(in->path, suffix);
        if (!in->output) {
            complain(c, EXIT_SOURCE, "out of memory");
            return EXIT_SOURCE;
        }
        for (int k = 0; k < c->ninputs; k++)
            if (file_same(in->output, c->input[k].path) && file_regular(in->output))
                return usage(c, "the output would replace the input '", c->input[k].path,
                             "': name another with -o");
        int code = plan_rule(c, in);
        if (!code) code = plan_header(c, in);
        if (code) return code;
        for (int k = 0; k < i; k++)
            if (strcmp(in->output, c->input[k].output) == 0)
                return usage(c, "two inputs would both be written to '", in->output, "'");
    }
    return EXIT_DONE;
}

static int read_command(Command *c, int argc, char **argv) {
    OptionParser p = option_parser(tilec_rows, tilec_nrows, argc, argv);
    c->o.color = option_color("auto");
    for (int id; (id = option_next(&p)) != OPTION_END;) {
        int code = EXIT_DONE;
        if (id == OPTION_ERROR) return usage(c, p.error, "", "");
        if (id == OPTION_POSITIONAL)
            c->input[c->ninputs++].path = p.value;
        else
            code = take_option(c, id, p.value);
        if (code) return code;
    }
    int code = read_facts(c);
    if (code) return code;
    if (c->ninputs && c->lsp) return usage(c, "--lsp takes no file: the editor sends them", "", "");
    if (c->lsp && (c->output || c->kind || c->report || c->o.kernel))
        return usage(c, "--lsp takes no -o, --emit, --report or --kernel: it writes no file", "",
                     "");
    if (c->ninputs == 0 && (c->explain || c->reproduce || c->lsp)) return EXIT_DONE;
    if (c->ninputs == 0) return usage(c, "no input file", "", "");
    if (c->artefact.tuning_file && (c->o.config || c->o.config_text || c->forecast))
        return usage(c, "--config chooses a config, and so does --tuning", "", "");
    for (int i = 0, piped = 0; i < c->ninputs; i++) {
        const char *path = c->input[i].path;
        bool standard = strcmp(path, "-") == 0;
        if (!standard && !ends_in(path, ".tl") && !ends_in(path, ".py") && !ends_in(path, ".tir"))
            return usage(c, "the name of an input ends in .tl, .py or .tir, not '", path, "'");
        if (standard && piped++) return usage(c, "standard input is named twice", "", "");
    }
    if (c->compare || c->explain) return EXIT_DONE;
    return plan_outputs(c);
}

/* ---- the work ---- */

/* The target of the GPU that is there. */
static bool find_native(Command *c) {
    tile_context *ctx = NULL;
    tile_status st = tile_context_create("cuda", &ctx);
    if (st == TILE_OK)
        snprintf(c->native_target, sizeof c->native_target, "%s", tile_context_target(ctx));
    else
        message(&c->messages, message_code(st), "--target=native: %s: %s", tile_status_text(st),
                ctx ? tile_error(ctx) : "");
    tile_context_destroy(ctx);
    c->o.target = c->native_target;
    if (st != TILE_OK) complain(c, EXIT_SOURCE, NULL);
    return st == TILE_OK;
}

/* Python starts neither with a `//` comment nor with this word and sign. */
static bool looks_like_tir(const char *text) {
    text += strspn(text, " \t\r\n");
    return strncmp(text, "//", 2) == 0 || strncmp(text, "kernel @", 8) == 0 ||
           strncmp(text, "source \"", 8) == 0;
}

static int exit_code_of(tile_status st) {
    switch (st) {
    case TILE_OK: return EXIT_DONE;
    case TILE_INVALID: return EXIT_USAGE;
    case TILE_INTERNAL: return EXIT_BUG;
    case TILE_IO: return EXIT_FILES;
    default: return EXIT_SOURCE;
    }
}

/* A header, a launcher or a cubin; what there is to say has been printed. */
static void make_artefact(Command *c, Input *in, const tile_compile_options *o) {
    tile_status st;
    ArtefactOptions a = c->artefact;
    a.messages = &c->messages;
    a.compile = *o;
    a.targets = o->target;
    if (c->kind->artefact == HEADER) {
        st = artefact_header(&a, &in->artefact, &in->artefact_len);
    } else if (c->kind->artefact == LAUNCHER) {
        Artefact made = {0};
        st = artefact_launcher(&a, file_base_name(in->header_path), &made);
        in->artefact = made.text;
        in->artefact_len = made.len;
        in->header = made.header;
        in->header_len = made.header_len;
    } else {
        size_t len;
        const char *ptx = tile_compiled_text(in->compiled, TILE_PART_OUTPUT, &len);
        st = artefact_cubin(&c->messages, ptx, len, &in->artefact, &in->artefact_len);
    }
    complain(c, exit_code_of(st), NULL);
}

static const char *output_of(const Input *in, size_t *len) {
    if (!in->artefact) return tile_compiled_text(in->compiled, TILE_PART_OUTPUT, len);
    *len = in->artefact_len;
    return in->artefact;
}

/* A file that is not there is one without records to who measures; here it is a mistake. */
static bool open_tuning(Command *c) {
    if (access(c->artefact.tuning_file, F_OK)) {
        message(&c->messages, R_IO, "cannot read '%s': %s", c->artefact.tuning_file,
                strerror(errno));
        complain(c, EXIT_FILES, NULL);
        return false;
    }
    if (tile_tuning_open(c->artefact.tuning_file, &c->artefact.tuning) == TILE_OK) return true;
    complain(c, EXIT_FILES, tile_tuning_error(c->artefact.tuning));
    return false;
}

/* Into o, the config that the model chooses. */
static bool forecast_config(Command *c, Input *in, tile_compile_options *o) {
    char why[MESSAGE_TEXT] = "";
    tile_status st = tile_tune_forecast(o, NULL, 0, in->config, sizeof in->config, why, sizeof why);
    bool more = o->ndefines || o->options || o->num_warps || o->num_stages;
    if (!st) {
        o->config_text = in->config;
        message(&c->messages, N_CONFIG, "%s: config %s, by forecast%s", o->file_name, in->config,
                more ? "; what -D and options state stays as it is" : "");
        return true;
    }
    if (st == TILE_COMPILE_ERROR) return true; /* that is better told by the compilation */
    message(&c->messages, E_TUNING, "%s: --config=auto: %s", o->file_name, why);
    complain(c, EXIT_SOURCE, NULL);
    return false;
}

static void show(const Command *c, const tile_compiled *compiled) {
    fputs(tile_compiled_text(compiled, TILE_PART_DUMP, NULL), stderr);
    if (!c->report || report_has_news(compiled)) messages_compiled(&c->messages, compiled);
    fputs(tile_compiled_text(compiled, TILE_PART_TIMES, NULL), stderr);
    fputs(tile_compiled_text(compiled, TILE_PART_STATS, NULL), stderr);
}

static void compile_input(Command *c, Input *in) {
    FileError error;
    size_t len = 0;
    if (!file_read(in->path, (size_t)INPUT_LIMIT_MB << 20, &in->text, &len, &error)) {
        if (error.too_large) message(&c->messages, E_SOURCE_LIMIT, "%s", error.text);
        complain(c, error.too_large ? EXIT_SOURCE : EXIT_FILES,
                 error.too_large ? NULL : error.text);
        return;
    }
    bool piped = strcmp(in->path, "-") == 0;
    tile_compile_options o = c->o;
    deps_begin(&in->deps);
    o.reader = &in->deps.reader;
    o.assembler = ptxas_assembler();
    o.source = in->text;
    o.source_len = len;
    o.file_name = piped ? "<stdin>" : in->path;
    o.input_is_tir = piped ? looks_like_tir(in->text) : ends_in(in->path, ".tir");
    if (has_variants(c->kind)) {
        if (c->forecast) {
            complain(c, EXIT_USAGE,
                     "a header's configs are those of its --variants, not --config=auto");
            return;
        }
        make_artefact(c, in, &o);
        return;
    }
    if (c->forecast && !forecast_config(c, in, &o)) return;
    tile_status st = c->artefact.tuning ? tuned_config(&c->messages, c->artefact.tuning,
                                                       c->artefact.tuning_file, &o)
                                        : TILE_OK;
    if (st) {
        complain(c, exit_code_of(st), NULL);
        return;
    }
    if (c->report) o.no_perf_notes = 0; /* they are reasons */
    st = crash_compile(&c->messages, &o, &in->compiled);
    if (st == TILE_NO_MEMORY) complain(c, EXIT_SOURCE, "the compilation needs too much memory");
    show(c, in->compiled);
    if (o.stats == 1 && st == TILE_OK) {
        const char *ptx = tile_compiled_text(in->compiled, TILE_PART_OUTPUT, &len);
        ptxas_report(ptx, len, stderr);
    }
    complain(c, exit_code_of(st), NULL);
    if (c->report && st == TILE_OK)
        complain(c,
                 exit_code_of(tile_report_write(in->compiled, c->report_format, &in->artefact,
                                                &in->artefact_len)),
                 NULL);
    if (c->kind->artefact == CUBIN && st == TILE_OK) make_artefact(c, in, &o);
}

static bool write_standard_output(const char *text, size_t len, FileError *error) {
    return file_write_fd(STDOUT_FILENO, "standard output", text, len, error);
}

static void write_outputs(Command *c) {
    FileError error;
    for (int i = 0; i < c->ninputs && !c->worst; i++) {
        Input *in = &c->input[i];
        size_t len;
        const char *text = output_of(in, &len);
        if (strcmp(in->output, "-") && !file_draft(&in->draft, in->output, text, len, &error))
            complain(c, EXIT_FILES, error.text);
        if (in->header_path && !c->worst &&
            !file_draft(&in->header_draft, in->header_path, in->header, in->header_len, &error))
            complain(c, EXIT_FILES, error.text);
        if (!in->rule_path || c->worst) continue;
        in->rule = deps_rule(&in->deps, in->output, in->path);
        if (!in->rule)
            complain(c, EXIT_FILES, "out of memory");
        else if (!file_draft(&in->rule_draft, in->rule_path, in->rule, strlen(in->rule), &error))
            complain(c, EXIT_FILES, error.text);
    }
    for (int i = 0; i < c->ninputs && !c->worst; i++) {
        Input *in = &c->input[i];
        size_t len;
        const char *text = output_of(in, &len);
        bool ok = strcmp(in->output, "-") ? file_commit(&in->draft, &error)
                                          : write_standard_output(text, len, &error);
        if (ok && in->header_path) ok = file_commit(&in->header_draft, &error);
        if (!ok) complain(c, EXIT_FILES, error.text);
        if (ok && in->rule_path && !file_commit(&in->rule_draft, &error))
            complain(c, EXIT_FILES, error.text);
    }
}

static int print_and_free(Command *c, tile_status st, char *text, size_t len) {
    FileError error;
    FileDraft draft = {0};
    complain(c, exit_code_of(st), NULL);
    bool ok = true;
    if (!st && c->output && strcmp(c->output, "-"))
        ok = file_draft(&draft, c->output, text, len, &error) && file_commit(&draft, &error);
    else if (!st)
        ok = write_standard_output(text, len, &error);
    if (!ok) complain(c, EXIT_FILES, error.text);
    free(text);
    return c->worst;
}

static int compare(Command *c) {
    char *text;
    size_t len = 0;
    int before = c->inputs_before, after = c->ninputs - before;
    bool both = before == 0; /* the options are of A and B */
    if (!(both ? after == 2 : before == 1 && after <= 1))
        return usage(c,
                     "--compare takes two files: A B behind it, or one before it and, for another "
                     "file, one behind it",
                     "", "");
    if (c->report_format == TILE_REPORT_HTML)
        return usage(c, "--compare is text or json, not html", "", "");
    const char *path[2] = {c->input[0].path, c->input[c->ninputs - 1].path};
    tile_compile_options option[2] = {both ? c->o : c->before, c->o};
    option[0].values = option[1].values = c->o.values;
    option[0].nvalues = option[1].nvalues;
    tile_status st = report_compare_files(&c->messages, option, path, c->report_format,
                                          c->compare_all, &text, &len);
    return print_and_free(c, st, text, len);
}

static int explain(Command *c) {
    char *text;
    size_t len = 0;
    if (c->ninputs > 1) return usage(c, "--explain-ptx takes one source, or none", "", "");
    const char *path = c->ninputs ? c->input[0].path : NULL;
    tile_status st = report_explain_place(&c->messages, c->explain, &c->o, path, &text, &len);
    return print_and_free(c, st, text, len);
}

/* Not by crash_compile: one bundle is enough. */
static int reproduce(Command *c) {
    Bundle b;
    char why[BUNDLE_WHY], *text = NULL;
    size_t len = 0;
    tile_status st = bundle_read(&b, c->reproduce, why);
    if (st) {
        complain(c, exit_code_of(st), why);
        bundle_free(&b);
        return c->worst;
    }
    tile_compile_options *o = &b.options;
    tile_compiled *compiled;
    message(&c->messages, N_BUNDLE, "%s: of version %s; this is %s", c->reproduce, b.version,
            tile_version());
    o->color = c->o.color;
    if (c->o.dump_after) o->dump_after = c->o.dump_after;
    if (c->o.verify_each) o->verify_each = 1;
    if (c->o.time) o->time = 1;
    st = tile_compile(o, &compiled);
    if (st == TILE_NO_MEMORY) complain(c, EXIT_SOURCE, "the compilation needs too much memory");
    show(c, compiled);
    const char *output = tile_compiled_text(compiled, TILE_PART_OUTPUT, &len);
    if (!st && c->output && !(text = malloc(len + 1))) st = TILE_NO_MEMORY;
    if (text) memcpy(text, output, len + 1);
    tile_compiled_free(compiled);
    bundle_free(&b);
    if (text) return print_and_free(c, st, text, len);
    complain(c, exit_code_of(st), NULL);
    return c->worst;
}

/* As the protocol has it, an exit that was not announced is 1. */
static int serve_editor(Command *c) {
    bool orderly;
    tile_status st = lsp_command(&c->messages, &c->o, &orderly);
    return st ? exit_code_of(st) : orderly ? EXIT_DONE : EXIT_SOURCE;
}

/* An id that is not there is a mistake of the command line. */
static int cache_exit(tile_status st) {
    return st == TILE_NOT_FOUND ? EXIT_USAGE : exit_code_of(st);
}

static int run(Command *c, int argc, char **argv) {
    char why[STRAY_WHY];
    OptionParser p = option_parser(tilec_rows, tilec_nrows, argc, argv);
    for (int id; (id = option_next(&p)) != OPTION_END && id != OPTION_ERROR;) {
        if (id == OPT_HELP) return tilec_manual("help") ? EXIT_DONE : EXIT_BUG;
        if (id == OPT_MANUAL && tilec_manual(p.value)) return EXIT_DONE;
        if (id == OPT_MANUAL) return usage(c, "--manual is man, bash or zsh, not '", p.value, "'");
        if (id == OPT_EXPLAIN) return exit_code_of(explain_command(&c->messages, p.value));
        if (id == OPT_CACHE && tilec_stray(argc, argv, why)) return usage(c, why, "", "");
        if (id == OPT_CACHE) return cache_exit(cache_command(&c->messages, p.value));
        if (id == OPT_VERSION) return printf("tilec %s\n", tile_version()) < 0 ? EXIT_FILES : 0;
    }
    int code = read_command(c, argc, argv);
    if (code) return code;
    if (tilec_stray(argc, argv, why)) return usage(c, why, "", "");
    if (c->native && !find_native(c)) return c->worst;
    if (c->explain) return explain(c);
    if (c->reproduce) return reproduce(c);
    if (c->lsp) return serve_editor(c);
    if (c->compare) return compare(c);
    if (c->artefact.tuning_file && !open_tuning(c)) return c->worst;
    for (int i = 0; i < c->ninputs; i++) compile_input(c, &c->input[i]);
    write_outputs(c);
    return c->worst;
}

static int tilec(int argc, char **argv) {
    Command c = {.messages = {"tilec", "error: ", messages_json(argc, argv)},
                 .defines = calloc((size_t)argc + 1, sizeof *c.defines),
                 .include = calloc((size_t)argc + 1, sizeof *c.include),
                 .input = calloc((size_t)argc + 1, sizeof *c.input)};
    int code = EXIT_SOURCE;
    if (c.defines && c.include && c.input) {
        c.o.defines = c.defines;
        c.o.include = c.include;
        c.o.values = c.fact;
        code = run(&c, argc, argv);
    }
    for (int i = 0; c.input && i <= argc; i++) {
        Input *in = &c.input[i];
        if (in->draft.path) file_discard(&in->draft);
        if (in->rule_draft.path) file_discard(&in->rule_draft);
        if (in->header_draft.path) file_discard(&in->header_draft);
        free(in->header_path);
        free(in->header);
        free(in->rule_path);
        free(in->rule);
        deps_free(&in->deps);
        tile_compiled_free(in->compiled);
        free(in->artefact);
        free(in->output);
        free(in->text);
    }
    tile_tuning_close(c.artefact.tuning);
    free(c.facts);
    free(c.options);
    free(c.options_before);
    free(c.input);
    free(c.include);
    free(c.defines);
    if (fflush(stdout) || ferror(stdout)) {
        message(&c.messages, R_IO, "cannot write standard output");
        if (code == EXIT_DONE) code = EXIT_FILES;
    }
    return code;
}

int main(int argc, char **argv) {
    signal(SIGXFSZ, SIG_IGN); /* a file-size limit is an error of write(), to be cleaned up after */
    Words w;
    bool expanded = words_expand(&w, tilec_rows, tilec_nrows, argc, argv);
    int code = w.unread ? EXIT_FILES : EXIT_USAGE;
    if (expanded) {
        code = tilec(w.argc, w.argv);
    } else {
        Messages m = {"tilec",
                      "error: ", messages_json(argc, argv) || messages_json(w.argc, w.argv)};
        message(&m, w.unread ? R_IO : E_COMMAND_LINE, "%s", w.error);
    }
    words_free(&w);
    return code;
}
