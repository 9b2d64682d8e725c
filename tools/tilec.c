/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tilec.c: the compiler's command line: files of kernels in, one output file for each.
 *
 * Everything is compiled first, then everything is written beside its place, then everything is
 * renamed into place: when anything fails no output is left, not even of the inputs that were fine.
 * What it does beyond files and options is tile_compile's. */
#include "base/text.h"
#include "tools/bundle.h"
#include "tools/crash.h"
#include "tools/response.h"
#include "tools/tilec_cache.h"
#include "tools/tilec_command.h"
#include "tools/tilec_explain.h"
#include "tools/tilec_lsp.h"
#include "tools/tilec_options.h"
#include "tools/tilec_ptxas.h"
#include "tools/tilec_report.h"
#include "tools/tilec_tuned.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { INPUT_LIMIT_MB = 8, MESSAGE_TEXT = 700 };

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
    if (st != TILE_OK) command_complain(c, EXIT_SOURCE, NULL);
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
    command_complain(c, exit_code_of(st), NULL);
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
        command_complain(c, EXIT_FILES, NULL);
        return false;
    }
    if (tile_tuning_open(c->artefact.tuning_file, &c->artefact.tuning) == TILE_OK) return true;
    command_complain(c, EXIT_FILES, tile_tuning_error(c->artefact.tuning));
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
    command_complain(c, EXIT_SOURCE, NULL);
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
        command_complain(c, error.too_large ? EXIT_SOURCE : EXIT_FILES,
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
    o.input_is_tir = piped ? looks_like_tir(in->text) : text_ends_in(in->path, ".tir");
    if (has_variants(c->kind)) {
        if (c->forecast) {
            command_complain(c, EXIT_USAGE,
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
        command_complain(c, exit_code_of(st), NULL);
        return;
    }
    if (c->report) o.no_perf_notes = 0; /* they are reasons */
    st = crash_compile(&c->messages, &o, &in->compiled);
    if (st == TILE_NO_MEMORY)
        command_complain(c, EXIT_SOURCE, "the compilation needs too much memory");
    show(c, in->compiled);
    if (o.stats == 1 && st == TILE_OK) {
        const char *ptx = tile_compiled_text(in->compiled, TILE_PART_OUTPUT, &len);
        ptxas_report(ptx, len, stderr);
    }
    command_complain(c, exit_code_of(st), NULL);
    if (c->report && st == TILE_OK)
        command_complain(c,
                         exit_code_of(tile_report_write(in->compiled, c->report_format,
                                                        &in->artefact, &in->artefact_len)),
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
            command_complain(c, EXIT_FILES, error.text);
        if (in->header_path && !c->worst &&
            !file_draft(&in->header_draft, in->header_path, in->header, in->header_len, &error))
            command_complain(c, EXIT_FILES, error.text);
        if (!in->rule_path || c->worst) continue;
        in->rule = deps_rule(&in->deps, in->output, in->path);
        if (!in->rule)
            command_complain(c, EXIT_FILES, "out of memory");
        else if (!file_draft(&in->rule_draft, in->rule_path, in->rule, strlen(in->rule), &error))
            command_complain(c, EXIT_FILES, error.text);
    }
    for (int i = 0; i < c->ninputs && !c->worst; i++) {
        Input *in = &c->input[i];
        size_t len;
        const char *text = output_of(in, &len);
        bool ok = strcmp(in->output, "-") ? file_commit(&in->draft, &error)
                                          : write_standard_output(text, len, &error);
        if (ok && in->header_path) ok = file_commit(&in->header_draft, &error);
        if (!ok) command_complain(c, EXIT_FILES, error.text);
        if (ok && in->rule_path && !file_commit(&in->rule_draft, &error))
            command_complain(c, EXIT_FILES, error.text);
    }
}

static int print_and_free(Command *c, tile_status st, char *text, size_t len) {
    FileError error;
    FileDraft draft = {0};
    command_complain(c, exit_code_of(st), NULL);
    bool ok = true;
    if (!st && c->output && strcmp(c->output, "-"))
        ok = file_draft(&draft, c->output, text, len, &error) && file_commit(&draft, &error);
    else if (!st)
        ok = write_standard_output(text, len, &error);
    if (!ok) command_complain(c, EXIT_FILES, error.text);
    free(text);
    return c->worst;
}

static int compare(Command *c) {
    char *text;
    size_t len = 0;
    int before = c->inputs_before, after = c->ninputs - before;
    bool both = before == 0; /* the options are of A and B */
    if (!(both ? after == 2 : before == 1 && after <= 1))
        return command_usage(
            c,
            "--compare takes two files: A B behind it, or one before it and, for another "
            "file, one behind it",
            "", "");
    if (c->report_format == TILE_REPORT_HTML)
        return command_usage(c, "--compare is text or json, not html", "", "");
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
    if (c->ninputs > 1) return command_usage(c, "--explain-ptx takes one source, or none", "", "");
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
        command_complain(c, exit_code_of(st), why);
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
    if (st == TILE_NO_MEMORY)
        command_complain(c, EXIT_SOURCE, "the compilation needs too much memory");
    show(c, compiled);
    const char *output = tile_compiled_text(compiled, TILE_PART_OUTPUT, &len);
    if (!st && c->output && !(text = malloc(len + 1))) st = TILE_NO_MEMORY;
    if (text) memcpy(text, output, len + 1);
    tile_compiled_free(compiled);
    bundle_free(&b);
    if (text) return print_and_free(c, st, text, len);
    command_complain(c, exit_code_of(st), NULL);
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
        if (id == OPT_MANUAL)
            return command_usage(c, "--manual is man, bash or zsh, not '", p.value, "'");
        if (id == OPT_EXPLAIN) return exit_code_of(explain_command(&c->messages, p.value));
        if (id == OPT_CACHE && tilec_stray(argc, argv, why)) return command_usage(c, why, "", "");
        if (id == OPT_CACHE) return cache_exit(cache_command(&c->messages, p.value));
        if (id == OPT_VERSION) return printf("tilec %s\n", tile_version()) < 0 ? EXIT_FILES : 0;
    }
    int code = command_read(c, argc, argv);
    if (code) return code;
    if (tilec_stray(argc, argv, why)) return command_usage(c, why, "", "");
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
    command_free(&c, argc);
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
