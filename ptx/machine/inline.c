/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* inline.c: calls of the file's functions -> their instructions, behind each call and in braces of
 * their own.
 *
 * A parameter is the caller's variable by another name: neither writes what the other reads while
 * the function runs. Who does not call goes on behind the function, and comes there last, so that
 * the lanes meet again. */
#include "ptx/machine/decode.h"

enum { MOST_CALLS = 32, RETURNS = -2 };

static const PtxKernel *find_function(const Decoder *d, PtxWord name) {
    for (int i = 0; i < d->m->file.functions.n; i++) {
        const PtxKernel *f = &d->m->file.functions.at[i];
        if (word_same(f->name, name)) return f;
    }
    return NULL;
}

/* call (results), name, (parameters) */
typedef struct Call {
    PtxWord list[2], name; /* without their parentheses; empty: none */
} Call;

static Call read_call(PtxWord args) {
    Call c = {{{"", 0}, {"", 0}}, {"", 0}}; /* no NULL: words are moved on in */
    while (args.len) {
        PtxWord piece = word_piece(&args, ',');
        if (word_brackets(&piece, '('))
            c.list[c.name.len != 0] = piece;
        else if (!c.name.len)
            c.name = piece;
    }
    return c;
}

/* Names of the list for the parameters from one on to another. */
static void bind(Decoder *d, const PtxKernel *f, int from, int to, PtxWord list, int caller,
                 int scope) {
    for (int i = from; i < to && !d->failed; i++) {
        Binding b = {f->params.at[i], word_piece(&list, ','), caller};
        b.formal.scope = scope;
        if (!b.actual.len) decode_fail(d, "the function takes more than", f->name);
        vec_push(&d->s->arena, &d->bindings, b);
    }
    if (list.len && !d->failed) decode_fail(d, "the function does not take", word_trim(list));
}

static bool has_room(Decoder *d, const PtxKernel *out) {
    bool fits = out->insts.n <= MOST_INSTS && out->outer.n <= MOST_INSTS &&
                out->labels.n <= MOST_LABELS && out->declarations.n <= MOST_INSTS &&
                d->bindings.n <= MOST_INSTS;
    if (!fits) decode_fail(d, "more than a million instructions:", out->name);
    return fits;
}

static void copy_body(Decoder *d, PtxKernel *out, const PtxKernel *k, int depth);

static void copy_call(Decoder *d, PtxKernel *out, int at, int depth) {
    PtxInst inst = out->insts.at[at];
    Call call = read_call(inst.args);
    const PtxKernel *f = find_function(d, call.name);
    if (!f) return;
    d->inst = &inst;
    if (depth == MOST_CALLS) decode_fail(d, "calls more than 32 deep:", call.name);
    bind(d, f, 0, f->nresults, call.list[0], inst.scope, out->outer.n);
    bind(d, f, f->nresults, f->params.n, call.list[1], inst.scope, out->outer.n);
    d->inst = NULL;
    if (!d->failed) copy_body(d, out, f, depth + 1);
    out->insts.at[at].back = out->insts.n;
}

static void copy_body(Decoder *d, PtxKernel *out, const PtxKernel *k, int depth) {
    Arena *a = &d->s->arena;
    int scope = out->outer.n, n = k->insts.n;
    int *place = arena_array(a, (size_t)n + 1, sizeof *place);
    for (int i = 0; i < k->outer.n; i++) {
        int outer = k->outer.at[i] < 0 ? -1 : k->outer.at[i] + scope;
        vec_push(a, &out->outer, outer);
    }
    for (int i = 0; i < k->declarations.n; i++) {
        PtxDeclaration decl = k->declarations.at[i];
        decl.scope += scope;
        vec_push(a, &out->declarations, decl);
    }
    for (int i = 0; i < n && !d->failed && has_room(d, out); i++) {
        PtxInst inst = k->insts.at[i];
        inst.scope += scope;
        if (depth && ptx_begins(inst.op, "ret")) inst.back = RETURNS;
        place[i] = out->insts.n;
        vec_push(a, &out->insts, inst);
        if (ptx_begins(inst.op, "call")) copy_call(d, out, place[i], depth);
    }
    place[n] = out->insts.n;
    for (int i = 0; i < n && !d->failed; i++) {
        PtxInst *inst = &out->insts.at[place[i]];
        if (inst->back == RETURNS) inst->back = place[n];
    }
    for (int i = 0; i < k->labels.n && !d->failed; i++) {
        PtxLabel label = k->labels.at[i];
        label.scope += scope;
        label.inst = place[label.inst];
        vec_push(a, &out->labels, label);
    }
}

const PtxKernel *inline_calls(Decoder *d, const PtxKernel *k) {
    if (!d->m->file.functions.n) return k;
    PtxKernel *out = arena_alloc(&d->s->arena, sizeof *out);
    out->name = k->name;
    for (int i = 0; i < k->params.n; i++) vec_push(&d->s->arena, &out->params, k->params.at[i]);
    copy_body(d, out, k, 0);
    return d->failed ? NULL : out;
}
