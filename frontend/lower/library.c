/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* library.c: builtins that are kernels' code themselves: stdlib.tl, libdevice.tl, special.tl -> a
 * call inlined like any other.
 *
 * The library's text is parsed with the session's names when the first such builtin is called. It
 * is a source without a name, so its syntax tree has no places: what goes wrong in it, and the
 * operations it makes, are placed at the call that brought it in. */
#include "frontend/lower/internal.h"

#include <string.h>

/* made of the files while building */
extern const char stdlib_text[], libdevice_text[], special_text[];
extern const size_t stdlib_text_size, libdevice_text_size, special_text_size;

static AstFile *parse_text(Lower *l, const char *text, size_t len) {
    Source user = l->s->source;
    l->s->source = (Source){.text = text, .len = len};
    AstFile *file = ast_parse(l->s);
    l->s->source = user;
    add_module(l, NULL, file);
    return file;
}

/* Part 0 is stdlib.tl, part 1 libdevice.tl, part 2 special.tl. Each knows the functions of those
 * before it, which stand behind its own. */
static const AstFile *library(Lower *l, int part) {
    if (l->library[part]) return l->library[part];
    const char *const texts[] = {stdlib_text, libdevice_text, special_text};
    const size_t sizes[] = {stdlib_text_size, libdevice_text_size, special_text_size};
    AstFile *own = parse_text(l, texts[part], sizes[part]);
    if (part == 0) return l->library[0] = own;
    const AstFile *base = library(l, part - 1);
    VEC(AstFunc *) all = {0};
    for (int i = 0; i < own->nfuncs; i++) vec_push(&l->s->arena, &all, own->func[i]);
    for (int i = 0; i < base->nfuncs; i++) vec_push(&l->s->arena, &all, base->func[i]);
    for (int i = 0; i < all.n; i++) all.at[i]->order = i;
    own->func = all.at;
    own->nfuncs = all.n;
    return l->library[part] = own;
}

static AstFunc *library_function(const AstFile *file, const char *name) {
    for (int i = 0; i < file->nfuncs; i++)
        if (strcmp(file->func[i]->name, name) == 0) return file->func[i];
    return NULL;
}

static void place(Op *op, void *span) {
    if (!op->span.line) op->span = *(const Span *)span;
}

/* Gives the operations behind `last` (NULL: all) of the current block the place of the call. */
static void place_behind(Lower *l, Op *last, Span span) {
    for (Op *op = last ? last->next : l->b.block->first; op; op = op->next) {
        place(op, &span);
        for (int i = 0; i < op->nregions; i++) ir_walk(op->region[i], place, &span);
    }
}

Obj library_call(Lower *l, const char *name, const Obj *args, int nargs, Span span) {
    const AstFile *own = NULL;
    Obj fn = {.kind = OBJ_FUNC};
    for (int part = 0; part < LIBRARY_PARTS && !fn.func; part++) {
        own = library(l, part);
        fn.func = library_function(own, name);
    }
    if (!fn.func) return fail(l, E_BUG, span, "'%s' is not in the library", name);
    Span outer = l->library_call;
    Op *last = l->b.block->last;
    if (!outer.line) {
        l->library_call = span;
        l->library_failed = false;
    }
    Obj result = call_object(l, fn, args, nargs, (Span){0});
    l->library_call = outer;
    if (!outer.line) place_behind(l, last, span);
    return l->library_failed ? poison() : result;
}

Obj bi_library(Lower *l, const Args *a, int64_t data) {
    const Builtin *outer = l->library_row;
    (void)data;
    if (!outer) l->library_row = a->row;
    Obj result = library_call(l, a->row->name, a->at, a->n, a->span);
    l->library_row = outer;
    return result;
}
