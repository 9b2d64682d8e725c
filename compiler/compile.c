/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* compile.c: source text -> whatever was asked for, through every phase in order: tile_compile of
 * tile.h, and so the whole of tilec but its command line.
 *
 *   source -> ast_parse -> lower_file --\
 *                                        > passes_run -> codegen_module -> manifest + text
 *   .tir   -> ir_parse ----------------/
 *
 * All memory of a compilation is one arena that is gone when tile_compile returns; what lasts, the
 * texts of the result, is copied out with malloc. Running out of memory, or a phase that gives up,
 * comes back here through the session's setjmp, with the diagnostics so far still worth showing. */
#include "tile.h"

#include "base/file.h"
#include "codegen/codegen.h"
#include "compiler/compile.h"
#include "compiler/report/drawing.h"
#include "compiler/fields.h"
#include "compiler/report/listing.h"
#include "compiler/manifest.h"
#include "compiler/reading.h"
#include "compiler/report/report.h"
#include "compiler/report/stats.h"
#include "frontend/syntax/ast.h"
#include "frontend/lower/lower.h"
#include "ir/func_attrs.h"
#include "ir/target.h"
#include "ir/triton.h"
#include "passes/pass.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PART_LOOKED = TILE_PART_FILES + 1, PARTS, MAX_PHASES = 8 };

struct tile_compiled {
    struct {
        char *text; /* NULL: empty */
        size_t len;
    } part[PARTS];
    tile_diagnostic *diagnostic; /* their texts and the file's name are in `words` */
    Code *code;                  /* of each */
    int ndiagnostics;
    char *words;
    struct Job *job; /* what its report is written from; or NULL */
};

typedef struct Phase {
    const char *name;
    double ms;
    size_t bytes; /* of the arena, handed out during the phase */
} Phase;

typedef struct Job {
    Session s;
    const tile_compile_options *o;
    uint8_t *value_asked; /* of each of the options' values; or NULL */
    OptionValues option;
    const Target *target;
    Module *m;
    tile_status status;
    Buf output, dump, stats;
    Report report; /* where it is asked for; with it the job lasts as long as its result */
    Reading reading;
    PassTiming *timing;
    int ntimings;
    Phase phase[MAX_PHASES];
    int nphases;
    double started;
    size_t used;
} Job;

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void phase_begin(Job *j, const char *name) {
    j->started = now_ms();
    j->used = j->s.arena.used;
    if (j->nphases < MAX_PHASES) j->phase[j->nphases].name = name;
}

static void phase_end(Job *j) {
    if (j->nphases == MAX_PHASES) return;
    j->phase[j->nphases].ms = now_ms() - j->started;
    j->phase[j->nphases++].bytes = j->s.arena.used - j->used;
}

/* An option's value is wrong: the caller's mistake, not the source's. */
static void invalid(Job *j, Code code, const char *fmt, const char *value) {
    diag(&j->s.diags, code, (Span){0}, fmt, value);
    j->status = TILE_INVALID;
}

/* Every name in the comma-separated list is a pass (or `also`, when that is not NULL). */
static void check_passes(Job *j, const char *list, const char *also) {
    const char **names = arena_array(&j->s.arena, (size_t)pass_count + 1, sizeof *names);
    for (int i = 0; i < pass_count; i++) names[i] = pass_table[i].name;
    names[pass_count] = also;
    while (list && *list) {
        size_t n = strcspn(list, ",");
        const char *word = arena_strndup(&j->s.arena, list, n);
        bool known = false;
        for (int i = 0; i <= pass_count; i++) known |= names[i] && strcmp(names[i], word) == 0;
        const char *near = known ? NULL : nearest_name(word, names, (size_t)pass_count + 1);
        if (near) word = arena_printf(&j->s.arena, "%s'; did you mean '%s", word, near);
        if (!known) invalid(j, E_PASS, "there is no pass '%s'", word);
        list += n + (list[n] == ',');
    }
}

static const tile_compile_options no_options; /* of a caller who gives NULL */

static void check_list(Job *j, const char *const *list, int n, const char *name) {
    int i = 0;
    while (list && i < n && list[i]) i++;
    if (n < 0 || i < n) /* one is NULL, or all are */
        invalid(j, E_OPTION, "%s",
                arena_printf(&j->s.arena, "%s[%d] is missing", name, n < 0 ? n : i));
}

const char *tile_target_name(const char *name) {
    const Target *t = name ? target_find(name) : NULL;
    return t ? t->name : NULL;
}

static bool check_options(Job *j) {
    const tile_compile_options *o = j->o;
    if (!o->source && (o->source_len || o == &no_options))
        invalid(j, E_OPTION, "there is no source: it is NULL%s", "");
    check_list(j, o->defines, o->ndefines, "defines");
    check_list(j, o->values, o->nvalues, "values");
    check_list(j, o->include, o->ninclude, "include");
    const char *target = o->target ? o->target : target_default()->name;
    j->target = target_find(target);
    if (!j->target) {
        Buf why = buf_new(&j->s.arena);
        target_explain(target, &why);
        diag(&j->s.diags, E_TARGET, (Span){0}, "%s", why.data);
        j->status = TILE_INVALID;
    }
    char why[OPTION_WHY];
    if (!fields_options(o, &j->option, why)) invalid(j, E_OPTION, "%s", why);
    if (o->triton && !triton_find(o->triton))
        invalid(j, E_OPTION, "the version of Triton is " TRITON_LIST ", not '%s'", o->triton);
    if (o->stats < 0 || o->stats > 2) invalid(j, E_OPTION, "stats are 0, 1 or 2%s", "");
    if (o->stats && o->emit != TILE_EMIT_PTX) invalid(j, E_OPTION, "stats are of PTX%s", "");
    if ((o->report || o->annotate) && o->emit != TILE_EMIT_PTX)
        invalid(j, E_OPTION, "%s is of PTX", o->report ? "a report" : "annotate");
    if ((o->report || o->annotate) && (o->stats || o->line_info))
        invalid(j, E_OPTION, "%s says what stats and line_info do: they do not go together",
                o->report ? "a report" : "annotate");
    check_passes(j, o->passes, NULL);
    check_passes(j, o->without, NULL);
    check_passes(j, o->dump_after, "all");
    if (o->config < 0) invalid(j, E_OPTION, "configs are counted from 0%s", "");
    return j->status == TILE_OK;
}

static bool check_text(Job *j) {
    size_t limit = (size_t)SOURCE_LIMIT_MB << 20, n = j->o->source_len;
    if (n > limit) {
        diag(&j->s.diags, E_SOURCE_LIMIT, (Span){0}, "the source is larger than %d MB, the limit",
             SOURCE_LIMIT_MB);
        return false;
    }
    const char *text = j->s.source.text;
    size_t valid = utf8_valid_prefix(text, n), start = valid;
    if (valid == n) return true;
    uint32_t line = 1;
    for (size_t i = 0; i < valid; i++) line += text[i] == '\n';
    while (start > 0 && text[start - 1] != '\n') start--;
    size_t col = valid - start + 1;
    if (col > SPAN_TO_LINE_END - 2) col = SPAN_TO_LINE_END - 2;
    diag(&j->s.diags, E_NOT_TEXT, (Span){line, (uint16_t)col, (uint16_t)(col + 1)},
         "the text is not UTF-8: byte 0x%02X", (unsigned char)text[valid]);
    return false;
}

/* ---- the phases; each returns false after a diagnostic ---- */

LowerOptions compile_lower_options(const tile_compile_options *o, const Target *target,
                                   Reading *reading) {
    return (LowerOptions){.kernel = o->kernel,
                          .signature = o->signature,
                          .define = o->defines,
                          .ndefines = o->ndefines,
                          .value = o->values,
                          .nvalues = o->nvalues,
                          .config = o->config,
                          .config_text = o->config_text,
                          .ignore_annotations = o->ignore_annotations,
                          .annotations_hold = o->annotations_hold,
                          .no_promises = o->no_promises,
                          .reader = reading_source(reading),
                          .include = o->include,
                          .ninclude = o->ninclude,
                          .debug = o->debug,
                          .capability = target->sm,
                          .triton = triton_find(o->triton),
                          .warn_triton = o->warn_triton};
}

OptionValues compile_kernel_options(const tile_compile_options *o) {
    OptionValues values = {0};
    char why[OPTION_WHY];
    fields_options(o, &values, why);
    return values;
}

/* From text to tile IR. For the syntax tree, which is no IR, fills j->output and leaves j->m. */
static bool read_source(Job *j) {
    const tile_compile_options *o = j->o;
    if (o->input_is_tir) {
        if (o->emit == TILE_EMIT_AST) {
            invalid(j, E_OPTION, "tile IR has no syntax tree%s", "");
            return false;
        }
        if (o->emit == TILE_EMIT_CONFIGS) {
            invalid(j, E_OPTION, "tile IR has no configs to choose from%s", "");
            return false;
        }
        phase_begin(j, "parse");
        j->m = ir_parse(&j->s, o->source, o->source_len);
        phase_end(j);
        if (!j->m || j->s.diags.errors) return false;
        /* From here on, places are in the source that the tile IR came from, which may be itself:
         * then they are written only where lines are asked for. */
        j->m->own_source &= !o->line_info;
        const char *name = j->s.source.name;
        j->s.source = j->m->source;
        if (!j->s.source.text) j->s.source.name = name;
        return true;
    }
    phase_begin(j, "parse");
    AstFile *file = ast_parse(&j->s);
    phase_end(j);
    if (o->emit == TILE_EMIT_AST) {
        ast_print(file, &j->output);
        return !j->s.diags.errors;
    }
    if (j->s.diags.errors) return false;
    LowerOptions lower = compile_lower_options(o, j->target, &j->reading);
    lower.value_asked = j->value_asked;
    lower.sizes = o->emit < TILE_EMIT_TIR; /* tile IR as lowered has no order yet */
    lower.option = j->option;
    if (o->emit == TILE_EMIT_CONFIGS) return lower_configs(&j->s, file, &lower, &j->output);
    phase_begin(j, "lower");
    j->m = lower_file(&j->s, file, &lower);
    phase_end(j);
    /* With -g tile IR carries its source, so that the CPU device can show a line with a caret. */
    if (j->m) j->m->source = (Source){0};
    if (j->m && o->line_info)
        j->m->source = j->s.source, j->m->source.name = file_base_name(j->s.source.name);
    return j->m && !j->s.diags.errors;
}

/* Of a .tir, the kernel that --kernel names alone goes on. */
static bool select_kernel(Job *j) {
    const char *want = j->o->kernel;
    if (!j->o->input_is_tir || !want) return true;
    for (Func *f = j->m->funcs; f; f = f->next) {
        if (strcmp(f->name, want)) continue;
        f->next = NULL;
        f->entry_of = NULL; /* by itself it is a kernel like any */
        j->m->funcs = f;
        return true;
    }
    diag(&j->s.diags, E_NO_KERNEL, (Span){0}, "there is no kernel '%s' in this file", want);
    return false;
}

/* Of a .tir: the options that win over what it says. Lowering has seen to those of a source. */
static bool set_options(Job *j) {
    for (Func *f = j->o->input_is_tir ? j->m->funcs : NULL; f; f = f->next)
        for (int i = 0; i < OPTIONS; i++) {
            const OptionInfo *info = &option_info[i];
            int v = j->option.at[i], is = func_option(f, (KernelOption)i);
            if (!v || v == is) continue;
            if (info->traits & OPTION_LOWERED)
                diag(&j->s.diags, E_TIR_OPTION, f->span,
                     "kernel '%s' was lowered with %s=%d, which cannot change: compile its source",
                     f->name, info->name, is);
            else if (i == OPTION_swizzle_grid && f->swizzled)
                diag(&j->s.diags, E_TIR_OPTION, f->span,
                     "the grid of kernel '%s' is walked in groups of %d rows already", f->name,
                     f->swizzled);
            else
                func_set_option(f, (KernelOption)i, v);
        }
    return !j->s.diags.errors;
}

/* Tile IR that passes have worked on says for which target; going on for another would be wrong. */
static bool agree_on_target(Job *j) {
    for (Func *f = j->m->funcs; f; f = f->next) {
        if (f->target && !j->o->target && target_find(f->target))
            j->target = target_find(f->target);
        if (f->target && strcmp(f->target, j->target->name)) {
            diag(&j->s.diags, E_TIR_TARGET, (Span){0},
                 "this tile IR has been through passes for %s: it cannot go on for %s", f->target,
                 j->target->name);
            return false;
        }
    }
    if (j->o->emit == TILE_EMIT_TIR) return true;
    for (Func *f = j->m->funcs; f; f = f->next) f->target = j->target->name;
    return true;
}

static bool verify_all(Job *j, const char *after) {
    for (const Func *f = j->m->funcs; f; f = f->next) {
        Span where = {0};
        const char *why = ir_verify(&j->s, f, &where);
        if (!why) continue;
        if (j->o->input_is_tir)
            diag(&j->s.diags, E_TIR_UNSOUND, where, "%s", why);
        else
            diag(&j->s.diags, E_BUG, where, "bug in tilec: after %s: %s", after, why);
        if (!j->o->input_is_tir) j->status = TILE_INTERNAL;
        return false;
    }
    return true;
}

/* What runs for which kind: tile IR is shown as lowered unless passes are named; layouts are shown
 * before anything is laid out in shared memory. */
static bool run_passes(Job *j) {
    const tile_compile_options *o = j->o;
    if (o->emit == TILE_EMIT_TIR && !o->passes && !o->dump_after) return true;
    size_t npasses = (size_t)pass_count;
    if (o->passes) {
        npasses = 1;
        for (const char *c = o->passes; *c; c++) npasses += *c == ',';
    }
    j->timing = arena_array(&j->s.arena, npasses, sizeof *j->timing);
    PassOptions p = {.passes = o->passes,
                     .without = o->without,
                     .dump_after = o->dump_after,
                     .stop_before = o->emit == TILE_EMIT_LAYOUT ? "shared" : NULL,
                     .level = o->no_optimize ? 0 : 1,
                     .verify_each = o->verify_each,
                     .warn_triton = o->warn_triton,
                     .target = j->target,
                     .dump = &j->dump,
                     .timing = o->time ? j->timing : NULL};
    phase_begin(j, "passes");
    bool ok = passes_run(&j->s, j->m, &p);
    phase_end(j);
    j->ntimings = p.ntimings;
    return ok && !j->s.diags.errors;
}

/* The kernels' names in the PTX, in the module's order: PTX does not allow every name. */
static const char **entry_names(Job *j) {
    int n = 0;
    for (const Func *f = j->m->funcs; f; f = f->next) n++;
    const char **names = arena_array(&j->s.arena, (size_t)n + 1, sizeof *names);
    n = 0;
    for (const Func *f = j->m->funcs; f; f = f->next)
        names[n++] = codegen_entry_name(&j->s, f->name);
    return names;
}

static bool generate(Job *j) {
    const tile_compile_options *o = j->o;
    bool llvm = o->emit == TILE_EMIT_LLVM;
    const char **entries = entry_names(j);
    if (o->emit == TILE_EMIT_MANIFEST)
        return manifest_write(j->m, j->target->name, entries, &j->output);
    bool report = o->report || o->annotate;
    CodegenOptions c = {.target = j->target,
                        .level = o->no_optimize ? 0 : 1,
                        .lines = report                     ? LINES_IR
                                 : o->line_info || o->stats ? LINES_SOURCE
                                                            : LINES_NONE,
                        .debug = o->debug,
                        .source = &j->s.source};
    Buf ptx = buf_new(&j->s.arena);
    j->report = (Report){.s = &j->s, .m = j->m, .target = j->target};
    if (o->report) j->report.assembler = o->assembler;
    j->report.listing = buf_new(&j->s.arena);
    if (report) ir_print_listing(j->m, &j->report.listing);
    phase_begin(j, "codegen");
    bool ok = codegen_module(&j->s, j->m, &c, llvm ? &j->output : NULL, llvm ? NULL : &ptx);
    phase_end(j);
    if (!ok || j->s.diags.errors) return false;
    if (llvm) return true;
    if (!manifest_write_comment(j->m, j->target->name, entries, &j->output)) return false;
    if (report)
        report_make(&j->report, entries, &ptx, &j->output), j->report.ptx = j->output.data;
    else if (o->line_info)
        listing_annotate(&j->s.source, &ptx, &j->output);
    else if (o->stats)
        listing_strip(&ptx, &j->output);
    else
        buf_write(&j->output, ptx.data, ptx.len);
    if (o->annotate) {
        Buf plain = j->output;
        j->output = buf_new(&j->s.arena);
        report_annotate(&j->report, &plain, &j->output);
    }
    if (o->stats) stats_write(j->m, entries, &ptx, o->stats == 2, &j->stats);
    for (size_t i = 0; i < j->output.len; i++) {
        if ((unsigned char)j->output.data[i] < 0x80) continue;
        diag(&j->s.diags, E_BUG, (Span){0}, "bug in tilec: a byte of the PTX is not ASCII");
        j->status = TILE_INTERNAL;
        return false;
    }
    return true;
}

static bool run(Job *j) {
    if (!check_options(j) || !check_text(j) || !read_source(j)) return false;
    if (j->o->emit == TILE_EMIT_AST || j->o->emit == TILE_EMIT_CONFIGS) return true;
    if (!select_kernel(j) || !set_options(j) || !agree_on_target(j) || !verify_all(j, "lowering"))
        return false;
    if (!run_passes(j) || !verify_all(j, "the passes")) return false;
    switch (j->o->emit) {
    case TILE_EMIT_TIR:
        if (!manifest_write_comment(j->m, "cpu", NULL, &j->output)) return false;
        ir_print(j->m, &j->output);
        return true;
    case TILE_EMIT_LAYOUT:
        ir_print(j->m, &j->output);
        draw_layouts(j->m, &j->output);
        return true;
    case TILE_EMIT_MANIFEST:
    case TILE_EMIT_LLVM:
    case TILE_EMIT_PTX: return generate(j);
    default: invalid(j, E_OPTION, "there is no such kind of output%s", ""); return false;
    }
}

/* ---- the result ---- */

static void render_times(Job *j, Buf *out) {
    double total = 0;
    for (int i = 0; i < j->nphases; i++) {
        Phase *p = &j->phase[i];
        total += p->ms;
        buf_printf(out, "%-24s %8.2f ms %10zu bytes\n", p->name, p->ms, p->bytes);
        if (strcmp(p->name, "passes")) continue;
        for (int k = 0; k < j->ntimings; k++)
            buf_printf(out, "  %-22s %8.2f ms\n", j->timing[k].name, j->timing[k].ms);
    }
    buf_printf(out, "%-24s %8.2f ms %10zu bytes\n", "in all", total, j->s.arena.used);
}

static bool keep(tile_compiled *c, tile_part part, const Buf *text) {
    if (!text->len) return true;
    char *copy = malloc(text->len + 1);
    if (!copy) return false;
    memcpy(copy, text->data, text->len + 1);
    c->part[part].text = copy;
    c->part[part].len = text->len;
    return true;
}

_Static_assert((int)TILE_SEVERITY_ERROR == (int)DIAG_ERROR &&
                   (int)TILE_SEVERITY_WARNING == (int)DIAG_WARNING &&
                   (int)TILE_SEVERITY_PERF == (int)DIAG_PERF &&
                   (int)TILE_SEVERITY_NOTE == (int)DIAG_NOTE,
               "tile_severity is Severity");

/* The last column of a span, one past it, where the line itself is known. */
static uint32_t end_column(const Source *source, Span span, uint32_t column) {
    size_t len;
    if (span.end != SPAN_TO_LINE_END) return span.end > column ? span.end : column + 1;
    return source_line(source, span.line, &len) && len >= column ? (uint32_t)len + 1 : column + 1;
}

/* The list as the caller sees it: an array, and one block with all its texts. */
static bool keep_diagnostics(const Job *j, tile_compiled *c) {
    size_t n = 0, bytes = 0;
    for (const Source *f = &j->s.source; f; f = f->next) bytes += strlen(f->name) + 1;
    for (const Diag *x = j->s.diags.first; x; x = x->next, n++) bytes += strlen(x->text) + 1;
    if (!n) return true;
    c->diagnostic = calloc(n, sizeof *c->diagnostic);
    c->code = calloc(n, sizeof *c->code);
    c->words = malloc(bytes);
    if (!c->diagnostic || !c->code || !c->words) return false;
    char *at = c->words;
    for (const Source *f = &j->s.source; f; f = f->next) at = stpcpy(at, f->name) + 1;
    tile_diagnostic *owner = NULL;
    for (const Diag *x = j->s.diags.first; x; x = x->next) {
        c->code[c->ndiagnostics] = x->code;
        tile_diagnostic *d = &c->diagnostic[c->ndiagnostics++];
        *d = (tile_diagnostic){.severity = (tile_severity)x->severity, .text = at};
        at = stpcpy(at, x->text) + 1;
        if (x->span.line) {
            d->file = c->words;
            for (const Source *f = &j->s.source; f != source_at(f, x->span.line); f = f->next)
                d->file += strlen(d->file) + 1;
            d->line = source_line_number(&j->s.source, x->span.line);
            d->column = x->span.col ? x->span.col : 1; /* tile IR may say what it likes */
            d->end_column = end_column(&j->s.source, x->span, d->column);
        }
        if (x->code)
            owner = d;
        else if (owner)
            owner->notes++;
    }
    return true;
}

/* Renders the diagnostics and copies out what lasts. False when memory runs out. */
static bool finish(Job *j, tile_compiled *c, bool succeeded) {
    if (setjmp(j->s.bail)) return false;
    Buf text = buf_new(&j->s.arena), times = buf_new(&j->s.arena);
    diag_render(&j->s.diags, &j->s.source, j->o->color, &text);
    if (j->o->time) render_times(j, &times);
    return keep_diagnostics(j, c) && keep(c, TILE_PART_DIAGNOSTICS, &text) &&
           keep(c, TILE_PART_TIMES, &times) && keep(c, TILE_PART_DUMP, &j->dump) &&
           keep(c, TILE_PART_STATS, &j->stats) && keep(c, TILE_PART_FILES, &j->reading.files) &&
           keep(c, (tile_part)PART_LOOKED, &j->reading.looked) &&
           (!succeeded || keep(c, TILE_PART_OUTPUT, &j->output));
}

static Source source_of(const tile_compile_options *o) {
    return (Source){.name = o->file_name ? o->file_name : "<source>",
                    .text = o->source ? o->source : "",
                    .len = o->source ? o->source_len : 0};
}

/* Whose sizes the orders of tiles went by. */
static void note_sizes(Job *j) {
    for (const Func *f = j->m && j->value_asked ? j->m->funcs : NULL; f; f = f->next)
        for (int i = 0; i < f->nparams; i++)
            for (int k = 0; k < j->o->nvalues && f->param[i].size_asked; k++) {
                const char *value = j->o->values[k], *name = f->param[i].name;
                size_t n = strlen(name);
                if (strncmp(value, name, n) == 0 && value[n] == '=')
                    j->value_asked[k] |= SIZE_ASKED;
            }
}

/* Everything that can jump to s.bail. */
static bool attempt(Job *j) {
    if (setjmp(j->s.bail)) return false;
    const tile_compile_options *o = j->o;
    j->s.source = source_of(o);
    j->s.diags.warnings_are_errors = o->warnings_are_errors && !o->no_warnings;
    j->s.diags.no_warnings = o->no_warnings;
    j->s.diags.no_perfs = o->no_perf_notes;
    j->output = buf_new(&j->s.arena);
    j->dump = buf_new(&j->s.arena);
    j->stats = buf_new(&j->s.arena);
    reading_begin(&j->reading, &j->s.arena, o->reader);
    bool succeeded = run(j);
    note_sizes(j);
    return succeeded;
}

tile_status tile_compile(const tile_compile_options *options, tile_compiled **out) {
    return compile_noting(options, NULL, out);
}

tile_status compile_noting(const tile_compile_options *options, uint8_t *value_asked,
                           tile_compiled **out) {
    if (!out) return TILE_INVALID;
    *out = calloc(1, sizeof **out);
    Job *j = calloc(1, sizeof *j);
    if (!*out || !j) {
        free(*out);
        free(j);
        *out = NULL;
        return TILE_NO_MEMORY;
    }
    j->o = options ? options : &no_options;
    j->value_asked = value_asked;
    session_init(&j->s);
    bool succeeded = attempt(j);
    bool starved = !succeeded && !j->s.diags.errors && j->s.out_of_memory;
    tile_status status = succeeded              ? TILE_OK
                         : j->status != TILE_OK ? j->status
                         : starved              ? TILE_NO_MEMORY
                                                : TILE_COMPILE_ERROR;
    if (starved || !finish(j, *out, succeeded)) {
        tile_compiled_free(*out);
        *out = NULL;
        status = TILE_NO_MEMORY;
    }
    if (*out && status == TILE_OK && j->o->report) {
        (*out)->job = j;
        j->o = &no_options; /* the caller's are the caller's */
        return status;
    }
    session_free(&j->s);
    free(j);
    return status;
}

/* As a Span has it. */
static uint16_t column(uint32_t n) {
    return n < SPAN_TO_LINE_END ? (uint16_t)n : SPAN_TO_LINE_END;
}

/* The lines before those of a file: the source's are known, of a module's only the name. */
static bool lines_before(Job *j, const char *file, uint32_t *before) {
    enum { ROOM = SOURCE_LIMIT_MB << 20 }; /* lines that a module may have */
    Source *last = &j->s.source;
    while (last->next && strcmp(last->name, file)) last = last->next;
    *before = last->before;
    if (strcmp(last->name, file) == 0) return true;
    *before += last == &j->s.source ? source_lines_up_to(last) : ROOM;
    if (*before > UINT32_MAX - 2 * ROOM) return false;
    last->next = arena_alloc(&j->s.arena, sizeof *last->next);
    *last->next = (Source){.name = file, .before = *before};
    return true;
}

static void say_again(Job *j, const tile_diagnostic *d, Code code) {
    Span span = {0};
    uint32_t before;
    if (d->file && d->line && lines_before(j, d->file, &before))
        span = (Span){before + d->line, column(d->column), column(d->end_column)};
    diag_again(&j->s.diags, (Severity)d->severity, code, span, d->text);
}

static bool recall(Job *j, const tile_diagnostic *said, const Code *code, int n) {
    if (setjmp(j->s.bail)) return false;
    j->output = j->dump = j->stats = buf_new(&j->s.arena);
    reading_begin(&j->reading, &j->s.arena, NULL);
    for (int i = 0; i < n; i++) say_again(j, &said[i], code[i]);
    return true;
}

tile_compiled *compiled_recall(const tile_compile_options *options, const tile_diagnostic *said,
                               const Code *code, int n) {
    tile_compiled *c = calloc(1, sizeof *c);
    Job *j = calloc(1, sizeof *j);
    bool ok = c && j;
    if (ok) {
        j->o = options;
        session_init(&j->s);
        j->s.source = source_of(options);
        ok = recall(j, said, code, n) && finish(j, c, false);
        session_free(&j->s);
    }
    free(j);
    if (ok) return c;
    tile_compiled_free(c);
    return NULL;
}

const char *tile_compiled_text(const tile_compiled *c, tile_part part, size_t *size) {
    bool has = c && (int)part >= 0 && (int)part < PARTS && c->part[part].text;
    if (size) *size = has ? c->part[part].len : 0;
    return has ? c->part[part].text : "";
}

const Report *compiled_report(const tile_compiled *c) {
    return c && c->job ? &c->job->report : NULL;
}

const char *compiled_looked(const tile_compiled *c, size_t *size) {
    return tile_compiled_text(c, (tile_part)PART_LOOKED, size);
}

int tile_compiled_diagnostics(const tile_compiled *c, const tile_diagnostic **out) {
    if (out) *out = c ? c->diagnostic : NULL;
    return c ? c->ndiagnostics : 0;
}

const Code *compiled_codes(const tile_compiled *c) {
    return c->code;
}

const char *tile_compiled_code(const tile_compiled *c, int diagnostic) {
    bool has = c && diagnostic >= 0 && diagnostic < c->ndiagnostics;
    return has ? code_text(c->code[diagnostic]) : "";
}

void tile_compiled_free(tile_compiled *c) {
    if (!c) return;
    free(c->diagnostic);
    free(c->code);
    free(c->words);
    if (c->job) session_free(&c->job->s);
    free(c->job);
    for (int i = 0; i < PARTS; i++) free(c->part[i].text);
    free(c);
}
