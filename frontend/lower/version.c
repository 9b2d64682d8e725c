/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* version.c: which version of Triton a text is written for, what that changes of its meaning
 * (changes.def), and what -Wtriton says where versions differ, or lack what is used (newer.def).
 *
 * A version belongs to a file: the options' wins over what its directive says; a file that says
 * nothing has the first one's. The library's own text has the version that its directive says,
 * whoever calls it. */
#include "frontend/lower/internal.h"

#include "ir/triton.h"

#include <string.h>

static const uint16_t first_version[CHANGES] = {
#define CHANGE(name, since, ...) [CHANGE_##name] = since,
#include "frontend/changes.def"
#undef CHANGE
};

static const char key[] = "triton"; /* of the directive */

static const Directive *said_by(const AstFile *file) {
    for (int i = 0; i < file->ndirectives; i++) {
        const Directive *d = &file->directive[i];
        if (d->key && strcmp(d->key, key) == 0 && triton_find(d->text)) return d;
    }
    return NULL;
}

static bool is_library(const Lower *l) {
    return !l->here->name;
}

int triton_version(const Lower *l) {
    int own = is_library(l) || !l->options->triton ? l->here->triton : 0;
    return own ? own : is_library(l) ? TRITON_NEWEST : l->triton;
}

bool changed(const Lower *l, Change which) {
    return triton_version(l) >= first_version[which];
}

bool is_file_key(const char *name) {
    return strcmp(name, key) == 0;
}

int version_said(const AstFile *file) {
    const Directive *d = said_by(file);
    return d ? triton_find(d->text) : 0;
}

void check_version(Lower *l, const SourceModule *m) {
    const Directive *first = said_by(m->file);
    for (int i = 0; i < m->file->ndirectives; i++) {
        const Directive *d = &m->file->directive[i];
        if (!d->key || !is_file_key(d->key)) continue;
        if (!triton_find(d->text))
            fail(l, E_TRITON_VERSION, d->span, "the version of Triton is " TRITON_LIST ", not '%s'",
                 d->text);
        else if (strcmp(first->text, d->text)) {
            fail(l, E_TRITON_VERSION, d->span, "a file is written for one version of Triton");
            note(l, first->span, "this line says %s", first->text);
        }
    }
}

void open_version(Lower *l) {
    const AstFile *file = l->first->file;
    for (int i = 0; i < file->ndirectives; i++) {
        const Directive *d = &file->directive[i];
        if (d->key && !d->of_function && !is_file_key(d->key))
            diag(&l->s->diags, W_DIRECTIVE_LOST, d->span,
                 "'# tile: %s' stands above no function, and says nothing", d->key);
    }
    check_version(l, l->first);
    int said = l->first->triton;
    l->triton = l->options->triton ? l->options->triton : said ? said : TRITON_NEWEST;
}

/* ---- -Wtriton ---- */

bool watches(const Lower *l) {
    return l->options->warn_triton && !l->s->diags.muted && !l->abandoned && !is_library(l);
}

/* Once at one place, however often the text there is lowered. */
static void warn(Lower *l, Code code, Span span, const char *text) {
    flush_call_notes(l);
    l->suppressed = repeated(l, span, text);
    if (l->suppressed) return;
    diag(&l->s->diags, code, span, "%s", text);
    l->chain = l->frame;
}

void has_no_effect(Lower *l, Span span, const char *text) {
    if (!l->s->diags.muted && !l->abandoned && !is_library(l)) warn(l, W_OPTION_LOST, span, text);
}

void differs(Lower *l, Change which, Span span, const char *fmt, ...) {
    if (!watches(l)) return;
    va_list ap;
    va_start(ap, fmt);
    const char *how = arena_vprintf(&l->s->arena, fmt, ap);
    va_end(ap);
    int since = first_version[which];
    warn(
        l, W_TRITON_CHANGED, span,
        arena_printf(&l->s->arena, "Triton %d.%d changed this: %s", since / 100, since % 100, how));
}

/* A sum or difference of floats with a product of which nothing else is made. */
static void find_fusion(Op *op, void *ctx) {
    const Op **found = ctx;
    bool sum = op->code == OP_ADD || op->code == OP_SUB;
    if (*found || !sum || !type_is_float(op->result[0]->type)) return;
    for (int i = 0; i < 2; i++) {
        const Value *x = op->operand[i].value;
        bool once = x->uses && !x->uses->next;
        if (x->def && x->def->code == OP_MUL && once) *found = op;
    }
}

void foresee_fusion(Lower *l, Func *f) {
    const Op *found = NULL;
    if (!watches(l) || f->no_fp_fusion) return;
    ir_walk(f->body, find_fusion, &found);
    if (!found) return;
    warn(l, W_TRITON_CHANGED, found->span,
         "Triton 3.10 will change this: a product and a sum are rounded one by one, and were one "
         "fma");
    diag(&l->s->diags, CODE_NONE, (Span){0},
         "enable_fp_fusion=False in a config, or --no-fp-fusion, does so now");
}

static void lacks(Lower *l, int since, Span span, const char *what) {
    int version = triton_version(l);
    if (version >= since || !watches(l)) return;
    warn(l, W_TRITON_LACKS, span,
         arena_printf(&l->s->arena, "Triton %d.%d does not have %s, which %d.%d has", version / 100,
                      version % 100, what, since / 100, since % 100));
}

void beyond_triton(Lower *l, Span span, const char *what) {
    if (watches(l))
        warn(l, W_TRITON_LACKS, span,
             arena_printf(&l->s->arena, "no version of Triton has %s", what));
}

void newer(Lower *l, Feature which, Span span) {
    static const struct {
        int since;
        const char *text;
    } rows[] = {
#define FEATURE(name, since, text) {since, text},
#include "frontend/newer.def"
    };
    lacks(l, rows[which].since, span, rows[which].text);
}

void newer_words(Lower *l, const Args *a) {
    static const struct {
        const char *name, *parameter;
        int since;
    } rows[] = {
#define WORD(name, parameter, since) {name, parameter, since},
#include "frontend/newer.def"
    };
    bool of_triton = strchr(a->row->where, 'L') || strchr(a->row->where, 'M');
    for (size_t i = 0; of_triton && i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(rows[i].name, a->row->name) != 0) continue;
        const char *what = builtin_text(l, a->row), *parameter = rows[i].parameter;
        bool without = *parameter == '-';
        parameter += without;
        int at = 0;
        while (*parameter && at < a->n && strcmp(arg_name(l, a, at), parameter) != 0) at++;
        if (*parameter && (at == a->n || a->given[at] == without)) continue;
        if (*parameter)
            what = without ? arena_printf(&l->s->arena, "%s without '%s'", what, parameter)
                           : arena_printf(&l->s->arena, "'%s' of %s", parameter, what);
        lacks(l, rows[i].since, *parameter && !without ? a->where[at] : a->name_span, what);
    }
}
