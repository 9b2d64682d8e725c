/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tilec_command.c: see tilec_command.h. What would destroy something, or says two things at once,
 * is refused before anything is read. */
#include "tools/tilec_command.h"

#include "base/text.h"
#include "tools/compile_options.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const report_suffix[] = {".report.txt", ".report.json", ".html"};

/* The kind of mistake that ends with this exit code, where nothing else is known of it. */
static Code kind_of_exit(int code) {
    return code == EXIT_USAGE   ? E_COMMAND_LINE
           : code == EXIT_FILES ? R_IO
           : code == EXIT_BUG   ? E_BUG
                                : R_NO_MEMORY;
}

void command_complain(Command *c, int code, const char *text) {
    if (text) message(&c->messages, kind_of_exit(code), "%s", text);
    if (code > c->worst) c->worst = code;
}

int command_usage(const Command *c, const char *before, const char *text, const char *after) {
    message(&c->messages, E_COMMAND_LINE, "%s%s%s", before, text, after);
    if (!c->messages.json) fputs("Try 'tilec --help'.\n", stderr);
    return EXIT_USAGE;
}

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
        return command_usage(c, "--config takes a whole number from 0 on, a config or auto, not '",
                             text, "'");
    c->o.config = (int)v;
    return EXIT_DONE;
}

/* Behind those of another --for. */
static int for_option(Command *c, const char *text) {
    size_t had = c->facts ? strlen(c->facts) : 0;
    char *all = realloc(c->facts, had + strlen(text) + 2);
    if (!all) return command_usage(c, "out of memory", "", "");
    c->facts = all;
    snprintf(all + had, strlen(text) + 2, "%s%s", had ? "," : "", text);
    return EXIT_DONE;
}

/* Cuts what --for says into words. */
static int read_facts(Command *c) {
    char *rest = c->facts, *word;
    while (rest && (word = strtok_r(rest, ",", &rest))) {
        if (!is_define(word, true))
            return command_usage(c, "--for takes NAME=VALUE,NAME=VALUE…, not '", word, "'");
        if (c->o.nvalues == MAX_FACTS)
            return command_usage(c, "--for takes 64 values at most", "", "");
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
    return command_usage(c, "--report is text, json or html, not '", kind, "'");
}

/* What follows is of B alone. */
static int compare_option(Command *c, const char *what) {
    if (c->compare) return command_usage(c, "--compare is there twice", "", "");
    if (what && strcmp(what, "all"))
        return command_usage(c, "--compare is --compare or --compare=all", "", "");
    c->compare = true;
    c->compare_all = what != NULL;
    c->before = c->o;
    c->inputs_before = c->ninputs;
    c->options_before = c->options ? strdup(c->options) : NULL;
    if (c->options && !c->options_before) return command_usage(c, "out of memory", "", "");
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
            return command_usage(
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
        if (!is_define(v, true)) return command_usage(c, "-D takes NAME=VALUE, not '", v, "'");
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
            return command_usage(c, "-W is -Werror, -Wtriton, -Wno-perf or -Wno-warnings, not -W",
                                 v, "");
        break;
    case OPT_DIAGNOSTICS:
        if (!messages_form(&c->messages, v))
            return command_usage(c, "--diagnostics is text or json, not '", v, "'");
        break;
    case OPT_COLOR:
        c->o.color = option_color(v);
        if (c->o.color < 0)
            return command_usage(c, "--color is auto, always or never, not ", v, "");
        break;
    case OPT_CACHE:
    case OPT_EXPLAIN:
    case OPT_MANUAL:
    case OPT_HELP:
    case OPT_VERSION: break; /* handled where options are read: they end the program */
    default: {
        char why[OPTION_WHY];
        return compile_option_take(&c->o, &c->options, id, v, why) ? EXIT_DONE
                                                                   : command_usage(c, why, "", "");
    }
    }
    return EXIT_DONE;
}

/* What an output by this name holds; NULL when the name does not tell. */
static const Kind *kind_of_output(const char *path) {
    for (int i = 0; i < tilec_nkinds; i++)
        if (text_ends_in(path, tilec_kinds[i].suffix)) return &tilec_kinds[i];
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
        return command_usage(c, "-MF takes one input; there are several: use -MD", "", "");
    if (!c->make_file && strcmp(in->output, "-") == 0)
        return command_usage(c, "-MD writes beside the output, which is a stream: use -MF FILE", "",
                             "");
    const char *base = file_base_name(in->output), *dot = strrchr(base, '.');
    size_t n = dot ? (size_t)(dot - in->output) : strlen(in->output);
    in->rule_path = c->make_file ? strdup(c->make_file) : malloc(n + 3);
    if (!in->rule_path) {
        command_complain(c, EXIT_SOURCE, "out of memory");
        return EXIT_SOURCE;
    }
    if (!c->make_file) snprintf(in->rule_path, n + 3, "%.*s.d", (int)n, in->output);
    if (strcmp(in->rule_path, in->output) == 0 || file_same(in->rule_path, in->path))
        return command_usage(c, "the rule would replace '", in->rule_path,
                             "': name another with -MF");
    return EXIT_DONE;
}

bool has_variants(const Kind *kind) {
    return kind->artefact == HEADER || kind->artefact == LAUNCHER;
}

/* matmul.c -> matmul.h */
static int plan_header(Command *c, Input *in) {
    if (c->kind->artefact != LAUNCHER) return EXIT_DONE;
    if (!text_ends_in(in->output, ".c"))
        return command_usage(c,
                             "a launcher is two files: name the one that ends in .c with -o, not '",
                             in->output, "'");
    if (strpbrk(file_base_name(in->output), "\"\\\n\r"))
        return command_usage(c,
                             "a launcher includes its header by name, and no #include can name '",
                             file_base_name(in->output), "': name another with -o");
    in->header_path = strdup(in->output);
    if (!in->header_path) return command_usage(c, "out of memory", "", "");
    in->header_path[strlen(in->header_path) - 1] = 'h';
    return EXIT_DONE;
}

/* Decides where each output goes, and refuses what would destroy something. */
static int plan_outputs(Command *c) {
    if (c->output && c->ninputs > 1)
        return command_usage(c, "-o takes one input; there are several", "", "");
    if (c->report && c->kind)
        return command_usage(c, "--report is instead of what --emit names", "", "");
    if (c->report && c->o.annotate)
        return command_usage(c, "--report is instead of PTX, which --annotate is of", "", "");
    if (c->report) c->kind = &tilec_kinds[0];
    bool page = c->report_format == TILE_REPORT_HTML;
    if (c->report && !page && !c->output && c->ninputs == 1) c->output = "-";
    if (!c->kind) c->kind = c->output ? kind_of_output(c->output) : &tilec_kinds[0];
    if (!c->kind)
        return command_usage(c, "what to write into '", c->output,
                             "'? Its suffix does not say: use --emit");
    c->o.emit = c->kind->emit;
    bool many = has_variants(c->kind);
    if (!many && (c->artefact.variants || c->artefact.embed))
        return command_usage(c, c->artefact.variants ? "--variants" : "--embed",
                             " is for --emit=header and --emit=launcher", "");
    if (!many && c->o.target && strchr(c->o.target, ','))
        return command_usage(c, "several targets are for --emit=header and --emit=launcher, not '",
                             c->o.target, "'");
    if (many && (c->o.stats || c->o.dump_after || c->o.time))
        return command_usage(
            c, "--stats, --dump-after and --time are of one output, not of a header", "", "");
    for (int i = 0; i < c->ninputs; i++) {
        Input *in = &c->input[i];
        bool piped = strcmp(in->path, "-") == 0;
        const char *fixed = c->output ? c->output : piped ? "-" : NULL;
        const char *suffix = c->report ? report_suffix[c->report_format] : c->kind->suffix;
        in->output = fixed ? strdup(fixed) : default_output(in->path, suffix);
        if (!in->output) {
            command_complain(c, EXIT_SOURCE, "out of memory");
            return EXIT_SOURCE;
        }
        for (int k = 0; k < c->ninputs; k++)
            if (file_same(in->output, c->input[k].path) && file_regular(in->output))
                return command_usage(c, "the output would replace the input '", c->input[k].path,
                                     "': name another with -o");
        int code = plan_rule(c, in);
        if (!code) code = plan_header(c, in);
        if (code) return code;
        for (int k = 0; k < i; k++)
            if (strcmp(in->output, c->input[k].output) == 0)
                return command_usage(c, "two inputs would both be written to '", in->output, "'");
    }
    return EXIT_DONE;
}

int command_read(Command *c, int argc, char **argv) {
    OptionParser p = option_parser(tilec_rows, tilec_nrows, argc, argv);
    c->o.color = option_color("auto");
    for (int id; (id = option_next(&p)) != OPTION_END;) {
        int code = EXIT_DONE;
        if (id == OPTION_ERROR) return command_usage(c, p.error, "", "");
        if (id == OPTION_POSITIONAL)
            c->input[c->ninputs++].path = p.value;
        else
            code = take_option(c, id, p.value);
        if (code) return code;
    }
    int code = read_facts(c);
    if (code) return code;
    if (c->ninputs && c->lsp)
        return command_usage(c, "--lsp takes no file: the editor sends them", "", "");
    if (c->lsp && (c->output || c->kind || c->report || c->o.kernel))
        return command_usage(
            c, "--lsp takes no -o, --emit, --report or --kernel: it writes no file", "", "");
    if (c->ninputs == 0 && (c->explain || c->reproduce || c->lsp)) return EXIT_DONE;
    if (c->ninputs == 0) return command_usage(c, "no input file", "", "");
    if (c->artefact.tuning_file && (c->o.config || c->o.config_text || c->forecast))
        return command_usage(c, "--config chooses a config, and so does --tuning", "", "");
    for (int i = 0, piped = 0; i < c->ninputs; i++) {
        const char *path = c->input[i].path;
        bool standard = strcmp(path, "-") == 0;
        if (!standard && !text_ends_in(path, ".tl") && !text_ends_in(path, ".py") &&
            !text_ends_in(path, ".tir"))
            return command_usage(c, "the name of an input ends in .tl, .py or .tir, not '", path,
                                 "'");
        if (standard && piped++) return command_usage(c, "standard input is named twice", "", "");
    }
    if (c->compare || c->explain) return EXIT_DONE;
    return plan_outputs(c);
}

void command_free(Command *c, int argc) {
    for (int i = 0; c->input && i <= argc; i++) {
        Input *in = &c->input[i];
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
    tile_tuning_close(c->artefact.tuning);
    free(c->facts);
    free(c->options);
    free(c->options_before);
    free(c->input);
    free(c->include);
    free(c->defines);
}
