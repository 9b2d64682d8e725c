/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* analysis.c: a document's text through the front end and the passes, and what they had to say as
 * findings (see analysis.h). */
#include "compiler/lsp/analysis.h"

#include "base/file.h"
#include "compiler/compile.h"
#include "ir/target.h"
#include "passes/pass.h"

#include <stdlib.h>
#include <string.h>

/* ---- the phases ---- */

/* Tile IR whose operations are of another source has places there. */
static void parse_tir(Analysis *a) {
    Module *m = ir_parse(&a->s, a->s.source.text, a->s.source.len);
    for (const Func *f = m && !a->s.diags.errors ? m->funcs : NULL; f; f = f->next) {
        Span where = {0};
        const char *why = ir_verify(&a->s, f, &where);
        if (why) diag(&a->s.diags, E_TIR_UNSOUND, m->own_source ? where : (Span){0}, "%s", why);
        if (why) break;
    }
}

static void run_passes(Analysis *a, const tile_compile_options *o, const Target *target) {
    PassOptions p = {.without = o->without,
                     .stop_before = "shared",
                     .level = o->no_optimize ? 0 : 1,
                     .warn_triton = o->warn_triton,
                     .target = target};
    a->has_layouts = passes_run(&a->s, a->module, &p) && !a->s.diags.errors;
}

static void lower(Analysis *a, const tile_compile_options *o) {
    const Target *target = target_find(o->target ? o->target : target_default()->name);
    LowerOptions *lower = &a->options; /* questions to the index go by them, too */
    *lower = compile_lower_options(o, target, &a->reading);
    lower->option = compile_kernel_options(o);
    lower->kernel = NULL;
    lower->symbols = &a->symbols;
    a->module = lower_file(&a->s, a->file, lower);
    if (a->symbols.unknown) return; /* only what is wrong is asked */
    symbols_walk(&a->symbols, a->file);
    a->has_symbols = true;
    if (a->module && a->module->funcs && !a->s.diags.errors) run_passes(a, o, target);
}

/* Everything that can jump to s.bail. */
static void attempt(Analysis *a, const tile_compile_options *o, const tile_reader *reader) {
    if (setjmp(a->s.bail)) {
        a->starved = a->s.out_of_memory;
        return;
    }
    a->s.diags.no_warnings = o->no_warnings;
    a->s.diags.no_perfs = o->no_perf_notes;
    a->s.diags.warnings_are_errors = o->warnings_are_errors && !o->no_warnings;
    reading_begin(&a->reading, &a->s.arena, reader);
    if (text_ends_in(a->s.source.name, ".tir")) {
        parse_tir(a);
        return;
    }
    a->file = ast_parse(&a->s);
    a->broken = a->s.diags.errors > 0;
    lower(a, o);
}

/* ---- findings ---- */

static bool in_document(const Analysis *a, Span span) {
    return span.line && source_at(&a->s.source, span.line) == &a->s.source;
}

/* Of an error in a module: the import that led there. */
static Span place_of(const Analysis *a, const Diag *d, const Diag *behind) {
    if (in_document(a, d->span)) return d->span;
    for (const Diag *x = d->next; x != behind; x = x->next)
        if (in_document(a, x->span)) return x->span;
    return (Span){1, 1, 1};
}

static const char *elsewhere(Analysis *a, const Diag *d) {
    if (!d->span.line || in_document(a, d->span)) return d->text;
    const Source *source = source_at(&a->s.source, d->span.line);
    return arena_printf(&a->s.arena, "%s:%u: %s", file_base_name(source->name),
                        source_line_number(&a->s.source, d->span.line), d->text);
}

/* The same error, where nothing is assumed. */
static bool says_too(const Analysis *other, const Diag *d) {
    for (const Diag *x = other->s.diags.first; x; x = x->next)
        if (x->severity == d->severity && memcmp(&x->span, &d->span, sizeof x->span) == 0 &&
            strcmp(x->text, d->text) == 0)
            return true;
    return false;
}

static const char *assumed_text(Analysis *a) {
    enum { SHOWN = 12 };
    Buf b = buf_new(&a->s.arena);
    for (int i = 0; i < a->symbols.assumed.n && i < SHOWN; i++) {
        const Assumption *x = &a->symbols.assumed.at[i];
        buf_printf(&b, "%s%s=%s", i ? ", " : "", x->name, x->what ? x->what : "?");
    }
    if (a->symbols.assumed.n > SHOWN) buf_puts(&b, ", …");
    return b.data;
}

static FindingSeverity severity_of(const Diag *d) {
    return d->severity == DIAG_ERROR     ? FOUND_ERROR
           : d->severity == DIAG_WARNING ? FOUND_WARNING
                                         : FOUND_INFORMATION;
}

/* d with its notes; returns what stands behind them. */
static const Diag *add_finding(Analysis *a, const Diag *d, const Analysis *other) {
    Arena *arena = &a->s.arena;
    VEC(Related) related = {0};
    const Diag *behind = d->next;
    while (behind && behind->severity == DIAG_NOTE) behind = behind->next;
    Finding f = {severity_of(d), place_of(a, d, behind), elsewhere(a, d), NULL, 0};
    if (!in_document(a, d->span) && d->span.line)
        vec_push(arena, &related, ((Related){d->span, d->text}));
    for (const Diag *x = d->next; x != behind; x = x->next)
        vec_push(arena, &related, ((Related){x->span, x->text}));
    if (f.severity == FOUND_ERROR && other && !says_too(other, d)) {
        f.severity = FOUND_WARNING;
        const char *text =
            arena_printf(arena, "found with what is assumed of parameters: %s", assumed_text(a));
        vec_push(arena, &related, ((Related){{0}, text}));
    }
    f.related = related.at;
    f.nrelated = related.n;
    vec_push(arena, &a->findings, f);
    return behind;
}

/* One hint for each kernel, with what settles it. */
static void add_assumptions(Analysis *a) {
    const Assumption *at = a->symbols.assumed.at;
    int n = a->symbols.assumed.n;
    for (int i = 0; i < n;) {
        Buf types = buf_new(&a->s.arena), values = buf_new(&a->s.arena);
        int first = i;
        const char *unknown = NULL;
        for (; i < n && at[i].func == at[first].func; i++) {
            Buf *b = at[i].is_type ? &types : &values;
            if (at[i].what) buf_printf(b, "%s%s=%s", b->len ? ", " : "", at[i].name, at[i].what);
            if (!at[i].what) unknown = at[i].name;
        }
        Buf text = buf_new(&a->s.arena);
        if (types.len)
            buf_printf(&text,
                       "A launch gives these parameters their types; checked here with %s. "
                       "Annotations (%s: \"%s\") or tilec's -s say other ones.",
                       types.data, at[first].name, at[first].what ? at[first].what : "i32");
        if (values.len)
            buf_printf(&text,
                       "%sA launch gives these constexprs their values; checked here with %s. "
                       "Defaults or tilec's -D say other ones.",
                       text.len ? "\n" : "", values.data);
        if (unknown)
            buf_printf(&text, "%sWhat '%s' is cannot be guessed: tilec's -D %s=VALUE says it.",
                       text.len ? "\n" : "", unknown, unknown);
        vec_push(&a->s.arena, &a->findings,
                 ((Finding){FOUND_HINT, at[first].span, text.data, NULL, 0}));
    }
}

static void add_findings(Analysis *a, const Analysis *other) {
    if (setjmp(a->s.bail)) {
        a->starved = true;
        return;
    }
    bool assumes = a->symbols.assumed.n > 0;
    for (const Diag *d = a->s.diags.first; d;) {
        bool perf = d->severity == DIAG_PERF; /* of what is assumed, it says little */
        const Diag *behind = d->next;
        while (behind && behind->severity == DIAG_NOTE) behind = behind->next;
        d = (perf && assumes) || d->severity == DIAG_NOTE ? behind : add_finding(a, d, other);
    }
    add_assumptions(a);
}

/* ---- an analysis ---- */

static Analysis *analysis_new(const char *name, const char *text, size_t len) {
    Analysis *a = calloc(1, sizeof *a);
    if (!a) return NULL;
    session_init(&a->s);
    size_t n = strlen(name) + 1;
    a->text = malloc(len + 1 + n);
    if (!a->text) {
        analysis_free(a);
        return NULL;
    }
    memcpy(a->text, text, len);
    a->text[len] = '\0';
    memcpy(a->text + len + 1, name, n);
    a->s.source = (Source){.name = a->text + len + 1, .text = a->text, .len = len};
    if (lines_make(&a->lines, &a->s.source)) return a;
    analysis_free(a);
    return NULL;
}

Analysis *analysis_make(const tile_compile_options *o, const tile_reader *reader, const char *name,
                        const char *text, size_t len) {
    Analysis *a = analysis_new(name, text, len), *other = NULL;
    if (!a) return NULL;
    attempt(a, o, reader);
    if (a->s.diags.errors && a->symbols.assumed.n) {
        other = analysis_new(name, text, len);
        if (other) other->symbols.unknown = true;
        if (other) attempt(other, o, reader);
        if (!other || other->starved) a->starved = true; /* which error stands is not known */
    }
    add_findings(a, other);
    analysis_free(other);
    a->first_used = a->s.arena.used;
    return a;
}

void analysis_free(Analysis *a) {
    if (!a) return;
    session_free(&a->s);
    free(a->lines.start);
    free(a->text);
    free(a);
}

bool analysis_asked_for(const Analysis *a, const char *path) {
    const char *at = a->reading.looked.data;
    size_t n = strlen(path);
    while (at && *at) { /* "DIGEST PATH\n" */
        const char *space = strchr(at, ' '), *stop = strchr(at, '\n');
        if (!space || !stop || space > stop) return false;
        if ((size_t)(stop - space - 1) == n && memcmp(space + 1, path, n) == 0) return true;
        at = stop + 1;
    }
    return false;
}

/* ---- values with layouts ---- */

typedef struct Search {
    const Seen *seen;
    const char *name;
    const Value *found, *named;
} Search;

static bool fits(const Search *s, const Value *v) {
    const Type *t = &s->seen->type;
    return v->layout && v->type.elem == t->elem && v->type.depth == t->depth &&
           v->type.rank == t->rank && memcmp(v->type.log2, t->log2, sizeof t->log2) == 0;
}

static void look_at(Search *s, const Value *v, Span span) {
    if (!fits(s, v)) return;
    if (!s->found && s->seen->made.line && memcmp(&span, &s->seen->made, sizeof span) == 0)
        s->found = v;
    if (!s->named && s->name && v->name && strcmp(v->name, s->name) == 0) s->named = v;
}

static void search_op(Op *op, void *ctx) {
    Search *s = ctx;
    for (int i = 0; i < op->nresults; i++) look_at(s, op->result[i], op->span);
    for (int r = 0; r < op->nregions; r++)
        for (int i = 0; i < op->region[r]->nargs; i++)
            look_at(s, op->region[r]->args[i], (Span){0});
}

const Value *analysis_value(const Analysis *a, const Seen *seen, const char *name) {
    Search s = {.seen = seen, .name = name};
    if (!a->has_layouts || !seen->is_value || !seen->type.rank) return NULL;
    for (const Func *f = a->module->funcs; f; f = f->next) ir_walk(f->body, search_op, &s);
    return s.found ? s.found : s.named;
}
