/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tilerun.c: runs one kernel from the command line: a file and values in, buffers and times out.
 *
 *   source ──(types found from the values)── tile_compile ──▶ .ptx or .tir ──▶ tile_launch
 *
 * From a source, types and promises (`:16`, `:8`, `:1`) come from the values, as Triton's JIT does,
 * but for types that annotations give; a .tir or .ptx brings its own, and values are turned into
 * what it takes. All of this is the public API; the program only reads, prints and decides the exit
 * code. */
#include "base/file.h"
#include "tools/crash.h"
#include "tools/tilerun.h"

#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { INPUT_LIMIT_MB = 256 };

int exit_code(tile_status st) {
    switch (st) {
    case TILE_OK: return EXIT_DONE;
    case TILE_COMPILE_ERROR:
    case TILE_NOT_FOUND: return EXIT_SOURCE;
    case TILE_INVALID: return EXIT_USAGE;
    case TILE_IO: return EXIT_FILES;
    case TILE_INTERNAL: return EXIT_BUG;
    default: return EXIT_RUN;
    }
}

int complain(const Messages *m, int code, const char *text) {
    Code kind = code == EXIT_USAGE ? E_COMMAND_LINE : code == EXIT_FILES ? R_IO : R_NO_MEMORY;
    message(m, kind, "%s", text);
    return code;
}

/* What a rendered message says of itself, else the status's. */
static Code told_code(tile_status st, const char *text) {
    Code code = code_in_text(text);
    return code ? code : message_code(st);
}

int failed(const Run *r, tile_status st) {
    if (st == TILE_OK) return -1;
    const Messages *m = &r->o.messages;
    /* A check's message begins with the place in the kernel's source, as the compiler's do. */
    if (st != TILE_CHECK_FAILED)
        message(m, told_code(st, tile_error(r->ctx)), "%s: %s", tile_status_text(st),
                tile_error(r->ctx));
    else if (m->json)
        message(m, told_code(st, tile_error(r->ctx)), "%s", tile_error(r->ctx));
    else
        fprintf(stderr, "%s\n", tile_error(r->ctx));
    return exit_code(st);
}

double run_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- the steps; each returns -1 to go on, else the exit code ---- */

/* What the kernel prints; with --json standard output is for that alone. */
static void print_text(void *user, const char *text, size_t len) {
    Run *r = user;
    progress_clear(&r->progress);
    fwrite(text, 1, len, r->o.json ? stderr : stdout);
}

static int open_device(Run *r) {
    tile_status st = tile_context_create(r->o.device, &r->ctx);
    if (st) return failed(r, st);
    r->on_cpu = strcmp(tile_context_target(r->ctx), "cpu") == 0;
    r->on_machine = strncmp(r->o.device, "ptx", strlen("ptx")) == 0;
    if (strcmp(r->o.device, "auto") == 0) {
        if (r->on_cpu)
            message(&r->o.messages, N_DEVICE, "device: %s; %s", tile_context_device_name(r->ctx),
                    tile_error(r->ctx));
        else
            message(&r->o.messages, N_DEVICE, "device: %s (%s)", tile_context_device_name(r->ctx),
                    tile_context_target(r->ctx));
    }
    if (r->o.counts && !r->on_machine)
        return complain(&r->o.messages, EXIT_USAGE,
                        "--counts is for the PTX machine: --device=ptx");
    if (r->o.checks_given && !r->on_cpu && !r->on_machine)
        message(&r->o.messages, N_DEVICE, "--check has no effect on a GPU");
    tile_status checks = tile_context_set_checks(r->ctx, r->o.checks);
    st = checks ? checks : tile_context_set_print(r->ctx, print_text, r);
    progress_open(&r->progress);
    if (!st && r->progress.terminal)
        st = tile_context_set_progress(r->ctx, progress_launch, &r->progress);
    return failed(r, st);
}

static int read_file(Run *r) {
    const RunOptions *o = &r->o;
    r->kind = text_ends_in(o->file, ".ptx")   ? FILE_PTX
              : text_ends_in(o->file, ".tir") ? FILE_TIR
                                              : FILE_SOURCE;
    const tile_compile_options *c = &o->compile;
    bool compiles = c->ndefines || c->options || c->config || c->config_text || o->forecast ||
                    o->tune || o->tuning;
    if (r->kind != FILE_SOURCE && compiles)
        return complain(&r->o.messages, EXIT_USAGE,
                        "-D, --config"
#define KERNEL_OPTION(home, name, attribute, least, most, absent, traits, long_name, ...)          \
    ", --" long_name
#include "ir/options.def"
                        " and tuning need a source; this file is compiled already");
    if (r->kind == FILE_PTX && c->debug)
        return complain(&r->o.messages, EXIT_USAGE,
                        "--debug is for what is compiled here; this is PTX already");
    FileError error;
    if (file_read(o->file, (size_t)INPUT_LIMIT_MB << 20, &r->text, &r->len, &error)) return -1;
    return complain(&r->o.messages, EXIT_FILES, error.text);
}

/* "a=*fp16:16,n=i32" from the values, malloc'ed. */
static char *make_signature(const RunOptions *o) {
    size_t size = 1, n = 0;
    for (int i = 0; i < o->nvalues; i++) size += strlen(o->value[i].text) + 40;
    char *text = calloc(size, 1);
    for (int i = 0; text && i < o->nvalues; i++)
        if (!value_signature(&o->value[i], text, size, &n)) {
            free(text);
            return NULL;
        }
    return text;
}

static void fill_options(const Run *r, const char *signature, char **fact, int nfacts,
                         tile_compile_options *out) {
    const RunOptions *o = &r->o;
    bool source = r->kind == FILE_SOURCE;
    *out = o->compile;
    out->source = r->text;
    out->source_len = r->len;
    out->file_name = o->file;
    out->input_is_tir = !source;
    out->signature = signature;
    out->ignore_annotations = out->annotations_hold = source;
    out->values = (const char *const *)fact;
    out->nvalues = nfacts;
    if (!out->target && !r->on_cpu) out->target = tile_context_target(r->ctx);
    out->emit = r->on_cpu ? TILE_EMIT_TIR : TILE_EMIT_PTX;
    /* So that a failed check shows its line. */
    out->line_info = out->no_perf_notes = r->on_cpu || r->on_machine;
    if (r->compared && !r->on_cpu) {
        out->line_info = out->no_perf_notes = 0; /* notes are reasons */
        out->report = 1;
    }
}

/* Source or tile IR -> what the device takes, in r->compiled. */
static int compile_with(Run *r, const tile_compile_options *options) {
    tile_status st = crash_compile(&r->o.messages, options, &r->compiled);
    if (!r->compiled) return complain(&r->o.messages, EXIT_RUN, "out of memory");
    if (!r->compared || st) messages_compiled(&r->o.messages, r->compiled);
    return st ? exit_code(st) : -1;
}

static int compile(Run *r) {
    bool source = r->kind == FILE_SOURCE;
    char *signature = make_signature(&r->o);
    char **fact = calloc((size_t)r->o.nvalues + 1, sizeof *fact);
    tile_compile_options options;
    int nfacts = 0, code = -1;
    if (!signature || !fact) code = complain(&r->o.messages, EXIT_RUN, "out of memory");
    for (int i = 0; code < 0 && source && i < r->o.nvalues; i++)
        if ((fact[nfacts] = value_fact(&r->o.value[i]))) nfacts++;
    if (code < 0) fill_options(r, source ? signature : NULL, fact, nfacts, &options);
    if (code < 0 && (r->o.tune || r->o.tuning || r->o.forecast)) {
        code = tune_config(r, &options);
        options.config_text = r->o.compile.config_text;
    }
    if (code < 0) code = compile_with(r, &options);
    for (int i = 0; i < nfacts; i++) free(fact[i]);
    free(fact);
    free(signature);
    return code;
}

static int load(Run *r) {
    if (r->kind == FILE_SOURCE || (r->kind == FILE_TIR && !r->on_cpu)) {
        int code = compile(r);
        if (code >= 0) return code;
    }
    const char *text = r->text;
    size_t len = r->len;
    if (r->compiled) text = tile_compiled_text(r->compiled, TILE_PART_OUTPUT, &len);
    tile_status st = tile_module_load(r->ctx, text, len, &r->module);
    if (!st) st = tile_kernel_get(r->module, r->o.compile.kernel, &r->kernel);
    if (!st) st = tile_kernel_describe(r->kernel, &r->info);
    return failed(r, st);
}

static int make_value(Run *r, int i) {
    RunOptions *o = &r->o;
    RunError error;
    if (value_make(o->value, o->nvalues, i, o->define, o->compile.ndefines, o->seed, &error))
        return -1;
    return complain(&r->o.messages, error.io ? EXIT_FILES : EXIT_USAGE, error.text);
}

/* Before the kernel is compiled: a file says which type its elements have. */
static int read_buffers(Run *r) {
    int code = -1;
    for (int i = 0; code < 0 && i < r->o.nvalues; i++)
        if (r->o.value[i].kind == VALUE_FILE) code = make_value(r, i);
    return code;
}

static int make_buffers(Run *r) {
    RunOptions *o = &r->o;
    for (int i = 0; i < o->nvalues; i++) {
        RunValue *v = &o->value[i];
        if (!value_is_buffer(v) || v->ptr) continue;
        int code = v->kind == VALUE_FILL ? make_value(r, i) : -1;
        if (code >= 0) return code;
        RunError error;
        if (v->fill == FILL_POINTERS && !value_point(v, &error))
            return complain(&r->o.messages, EXIT_RUN, error.text);
        tile_status st = tile_alloc(r->ctx, v->array.bytes, &v->ptr);
        if (!st && v->data) st = tile_copy_to_device(r->ctx, v->ptr, v->data, v->array.bytes);
        if (!st && v->fill == FILL_ZEROS && !v->data)
            st = tile_fill(r->ctx, v->ptr, 0, v->array.bytes);
        if (st) return failed(r, st);
        free(v->data);
        v->data = NULL;
    }
    return -1;
}

/* One that the kernel was compiled for may be left out. */
int run_bind(const Run *r, tile_kernel *kernel, const tile_kernel_info *info, tile_arg *arg) {
    const RunOptions *o = &r->o;
    bool *used = calloc((size_t)o->nvalues + 1, sizeof *used);
    int code = used ? -1 : complain(&r->o.messages, EXIT_RUN, "out of memory");
    for (int i = 0; code < 0 && i < info->num_params; i++) {
        tile_kernel_param p;
        RunError error;
        tile_kernel_get_param(kernel, i, &p);
        int which = 0;
        while (which < o->nvalues && !value_is_for(&o->value[which], p.name)) which++;
        if (which < o->nvalues) {
            used[which] = true;
            if (!value_arg(&o->value[which], &p, &arg[i], &error))
                code = complain(&r->o.messages, EXIT_USAGE, error.text);
        } else if (p.none) {
            arg[i] = tile_none();
        } else if (p.has_equals) {
            arg[i] = tile_int(p.type, p.equals);
        } else {
            message(&o->messages, E_COMMAND_LINE,
                    "the argument for parameter %s (%s) of kernel '%s' is missing: add "
                    "%s=%s",
                    p.name, p.type_text, info->name, p.name,
                    p.type == TILE_POINTER ? "zeros:TYPE[SIZE], or another buffer" : "VALUE");
            code = EXIT_USAGE;
        }
    }
    for (int i = 0; code < 0 && i < o->nvalues; i++)
        if (!used[i] && !o->value[i].pointed) {
            message(&o->messages, E_COMMAND_LINE, "kernel '%s' has no parameter %s", info->name,
                    o->value[i].name);
            code = EXIT_USAGE;
        }
    free(used);
    return code;
}

static int make_args(Run *r) {
    r->arg = calloc((size_t)r->info.num_params + 1, sizeof *r->arg);
    if (!r->arg) return complain(&r->o.messages, EXIT_RUN, "out of memory");
    return run_bind(r, r->kernel, &r->info, r->arg);
}

static int launch(Run *r, tile_grid *grid) {
    int n = r->info.num_params;
    tile_status st = tile_kernel_grid(r->kernel, r->o.grid, r->arg, n, grid);
    if (st) return failed(r, st);
    progress_start(&r->progress, "running");
    st = tile_launch(r->kernel, grid, r->arg, n, NULL);
    if (!st) st = tile_synchronize(r->ctx);
    progress_stop(&r->progress);
    return failed(r, st);
}

static int save(Run *r) {
    for (int i = 0; i < r->o.nsaves; i++) {
        const Save *s = &r->o.save[i];
        RunValue *v = &r->o.value[s->value];
        char *data = malloc(v->array.bytes + 1);
        if (!data) return complain(&r->o.messages, EXIT_RUN, "out of memory");
        tile_status st = tile_copy_to_host(r->ctx, data, v->ptr, v->array.bytes);
        NpyArray a = v->array;
        a.data = data;
        size_t len = 0;
        char *text = st ? NULL : npy_format(&a, &len);
        FileError error;
        int code = -1;
        if (st)
            code = failed(r, st);
        else if (!text)
            code = complain(&r->o.messages, EXIT_RUN, "out of memory");
        else if (!file_write(s->file, text, len, &error))
            code = complain(&r->o.messages, EXIT_FILES, error.text);
        free(text);
        free(data);
        if (code >= 0) return code;
    }
    return -1;
}

/* Everything up to the launch's own report; what there is to expect is known then. */
static int prepare(Run *r, tile_grid *grid) {
    int code = read_file(r);
    if (code < 0) code = open_device(r);
    if (code < 0) code = read_buffers(r);
    if (code < 0) code = report_begin(r);
    if (code < 0 && r->o.tune) code = make_buffers(r); /* tuning launches */
    if (code < 0) code = load(r);
    if (code < 0) code = make_buffers(r);
    if (code < 0) code = make_args(r);
    if (code < 0) code = report_counts(r);
    if (code < 0) code = launch(r, grid);
    if (code < 0) code = report_counted(r);
    if (code < 0) code = report_launch(r, grid);
    return code < 0 ? save(r) : code;
}

static void end(Run *r) {
    json_decref(r->report);
    tile_module_unload(r->module);
    tile_context_destroy(r->ctx);
    tile_compiled_free(r->compiled);
    free(r->text);
    free(r->arg);
    free(r->tuned);
    run_options_free(&r->o);
}

static int run_one(const Messages *m, int argc, char **argv) {
    Run r = {.ctx = NULL};
    tile_grid grid = {1, 1, 1};
    int code = run_options_read(&r.o, m, argc, argv);
    if (code < 0) code = prepare(&r, &grid);
    int wrong = code < 0 ? report_expected(&r) : -1; /* which is worth timing all the same */
    if (code < 0 && (wrong < 0 || wrong == EXIT_RUN) && r.o.bench) code = report_bench(&r, &grid);
    if (code < 0) code = report_end(&r);
    if (code < 0) code = wrong;
    end(&r);
    return code;
}

/* Both are launched before either is timed, so that neither finds the GPU colder. */
static int run_two(const Messages *m, const Pair *pair) {
    Run side[2] = {{.ctx = NULL}, {.ctx = NULL}};
    tile_grid grid[2] = {{1, 1, 1}, {1, 1, 1}};
    int code = -1;
    bool json = false;
    for (int i = 0; code < 0 && i < 2; i++) {
        code = run_options_read(&side[i].o, m, pair->argc[i], pair->argv[i]);
        json = side[i].o.json;
        side[i].o.json = side[i].compared = true;
        if (code < 0) code = prepare(&side[i], &grid[i]);
    }
    for (int i = 0; code < 0 && i < 2; i++) code = report_bench(&side[i], &grid[i]);
    if (code < 0) code = report_both(&side[0], &side[1], json, pair->all);
    for (int i = 0; i < 2; i++) end(&side[i]);
    return code;
}

static int tilerun(const Messages *m, int argc, char **argv) {
    Pair pair;
    int two = pair_read(m, &pair, argc, argv), code = two;
    if (two < 0) code = pair.two ? run_two(m, &pair) : run_one(m, argc, argv);
    pair_free(&pair);
    return code;
}

int main(int argc, char **argv) {
    signal(SIGXFSZ, SIG_IGN); /* a file-size limit is an error of write(), to be cleaned up after */
    Words w;
    bool expanded = run_words(&w, argc, argv);
    Messages m = {"tilerun", "", messages_json(argc, argv) || messages_json(w.argc, w.argv)};
    int code = expanded ? tilerun(&m, w.argc, w.argv)
                        : complain(&m, w.unread ? EXIT_FILES : EXIT_USAGE, w.error);
    words_free(&w);
    if (fflush(stdout)) code = complain(&m, EXIT_FILES, "cannot write to standard output");
    return code < 0 ? EXIT_DONE : code;
}
