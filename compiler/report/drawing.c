/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* drawing.c: every layout of a module, drawn (see drawing.h).
 *
 * Layouts are met in the order in which ir_print numbers them, arguments of a block before its ops
 * and an op before its regions, so the numbers here are those in the text. */
#include "compiler/report/drawing.h"

#include <string.h>

typedef struct Drawing {
    Session *s;
    Buf *out;
    VEC(const Layout *) seen;
} Drawing;

static void draw_value(Drawing *d, const Value *v) {
    if (!v->layout) return;
    for (int i = 0; i < d->seen.n; i++)
        if (d->seen.at[i] == v->layout) return;
    buf_printf(d->out, "//\n// @L%d:\n", d->seen.n);
    vec_push(&d->s->arena, &d->seen, v->layout);
    layout_draw(v->layout, v->type, type_is_buffer(v->type), "//   ", d->out);
}

static void draw_block(Drawing *d, const Block *b) {
    for (int i = 0; i < b->nargs; i++) draw_value(d, b->args[i]);
    for (const Op *op = b->first; op; op = op->next) {
        for (int i = 0; i < op->nresults; i++) draw_value(d, op->result[i]);
        for (int r = 0; r < op->nregions; r++) draw_block(d, op->region[r]);
    }
}

void draw_layouts(const Module *m, Buf *out) {
    for (const Func *f = m->funcs; f; f = f->next) {
        Drawing d = {.s = m->session, .out = out};
        buf_puts(out, "\n// layouts of ");
        buf_quote(out, f->name, strlen(f->name));
        buf_putc(out, '\n');
        draw_block(&d, f->body);
    }
}
