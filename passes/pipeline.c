/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* pipeline.c: a list of passes -> the passes, run in order over a module.
 *
 * Every row of passes.def is one entry of pass_table; a run is a list of entries, from the table by
 * optimisation level or from the names the user gave. Around each pass the driver does what is the
 * same for all: time it, verify what it left, dump the module. */
#include "passes/pass.h"

#include <string.h>
#include <time.h>

const PassInfo pass_table[] = {
#define PASS(name, level, doc) {#name, pass_##name, doc, level},
#define NAMED_PASS(name, doc) PASS(name, PASS_NAMED, doc)
#include "passes/passes.def"
#undef PASS
};
const int pass_count = sizeof pass_table / sizeof pass_table[0];

enum { MAX_LIST = 1000 }; /* passes in one --passes list */

/* The pass called name[0..n), NULL after an error that suggests the nearest. */
static const PassInfo *find_pass(Session *s, const char *name, size_t n) {
    const char **names = arena_array(&s->arena, (size_t)pass_count, sizeof *names);
    for (int i = 0; i < pass_count; i++) {
        names[i] = pass_table[i].name;
        if (strlen(names[i]) == n && memcmp(names[i], name, n) == 0) return &pass_table[i];
    }
    const char *word = arena_strndup(&s->arena, name, n);
    const char *near = nearest_name(word, names, (size_t)pass_count);
    diag(&s->diags, E_PASS, (Span){0}, "there is no pass '%s'%s%s%s", word,
         near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    return NULL;
}

typedef VEC(const PassInfo *) PassList;

static bool listed_passes(Session *s, const char *text, PassList *list) {
    while (*text) {
        size_t n = strcspn(text, ",");
        const PassInfo *p = find_pass(s, text, n);
        if (!p) return false;
        if (list->n == MAX_LIST) {
            diag(&s->diags, E_PASS, (Span){0}, "more than %d passes", MAX_LIST);
            return false;
        }
        vec_push(&s->arena, list, p);
        text += n;
        if (*text == ',') text++;
    }
    return true;
}

static bool choose_passes(Session *s, const PassOptions *o, PassList *list) {
    const PassInfo *stop = NULL;
    if (o->stop_before && !(stop = find_pass(s, o->stop_before, strlen(o->stop_before))))
        return false;
    if (o->dump_after && strcmp(o->dump_after, "all") != 0 &&
        !find_pass(s, o->dump_after, strlen(o->dump_after)))
        return false;
    if (o->passes) return listed_passes(s, o->passes, list);
    for (const PassInfo *p = pass_table; p < pass_table + pass_count && p != stop; p++)
        if (p->level <= o->level) vec_push(&s->arena, list, p);
    return true;
}

/* Is p's name one of the list's? */
static bool is_named(const char *list, const PassInfo *p) {
    size_t n = strlen(p->name);
    for (const char *at = list; at && *at; at += strcspn(at, ","), at += *at == ',')
        if (strcspn(at, ",") == n && memcmp(at, p->name, n) == 0) return true;
    return false;
}

/* False after a diagnostic: code generation needs one of them. */
static bool leave_out(Session *s, const char *without, PassList *list) {
    int kept = 0;
    for (int i = 0; i < list->n; i++) {
        const PassInfo *p = list->at[i];
        if (!is_named(without, p)) {
            list->at[kept++] = p;
        } else if (p->level == 0) {
            diag(&s->diags, E_PASS, (Span){0},
                 "pass '%s' cannot be left out: code generation needs what it makes", p->name);
            return false;
        }
    }
    list->n = kept;
    return true;
}

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static bool verified(Session *s, const Func *f, const PassInfo *p) {
    Span where = {0};
    const char *wrong = ir_verify(s, f, &where);
    if (!wrong) return true;
    diag(&s->diags, E_BUG, where, "after %s: %s; this is a bug in tilec", p->name, wrong);
    return false;
}

static void dump(const Module *m, const PassOptions *o, const PassInfo *p) {
    if (!o->dump || !o->dump_after) return;
    if (strcmp(o->dump_after, "all") != 0 && strcmp(o->dump_after, p->name) != 0) return;
    buf_printf(o->dump, "// after %s\n", p->name);
    ir_print(m, o->dump);
}

bool passes_run(Session *s, Module *m, PassOptions *o) {
    PassList list = {0};
    o->ntimings = 0;
    if (!choose_passes(s, o, &list) || !leave_out(s, o->without, &list)) return false;
    for (int i = 0; i < list.n; i++) {
        const PassInfo *p = list.at[i];
        int errors = s->diags.errors;
        double start = now_ms();
        s->step = (int)(p - pass_table) + 1;
        for (Func *f = m->funcs; f; f = f->next) {
            PassCtx ctx = {
                .s = s, .module = m, .f = f, .target = o->target, .warn_triton = o->warn_triton};
            p->run(&ctx);
        }
        if (o->timing) o->timing[o->ntimings++] = (PassTiming){p->name, now_ms() - start};
        if (s->diags.errors > errors) return false;
        for (Func *f = m->funcs; f && o->verify_each; f = f->next)
            if (!verified(s, f, p)) return false;
        dump(m, o, p);
    }
    return true;
}
