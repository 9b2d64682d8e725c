/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* min_places.c: a further entry -> for which launches it is worth it, where the kernel's own has
 * loads as wide: how many places of the grid some program is to have, an expression of the
 * arguments.
 *
 *     2       it starts later, and takes the next place's blocks while it stores: products of 256
 *             to 1024 in one place each take 0.88 to 0.91 of the time by the kernel's own (H200)
 *     1       where long sums' rows begin within lines of memory, which programs of a cluster bring
 *             each other: 1040^3 10.5 us, by its own 12.9
 *     never   where a long sum's block goes beyond the end of the tensor in whole rows: the copy
 *             engine asks for all of them at one place, 16x32768x8192 in 128x128 230 us, and 178
 *
 * All of it is the launch's to work out: what the rows are is not known before. */
#include "passes/min_places.h"

#include "ir/analysis/axis.h"
#include "ir/desc.h"
#include "ir/expression.h"
#include "passes/cost.h"

#include <string.h>

/* ---- the kernel's own copies ---- */

typedef struct Wide {
    AxisTable axis;
    bool all, narrow; /* narrow: some dot's columns are fewer than its block's */
} Wide;

/* Rows that are known to begin at multiples of 16 bytes. */
static void look_at_rows(Op *op, void *ctx) {
    Wide *w = ctx;
    w->narrow |= op->code == OP_DOT && ir_attr(op, AT_COLUMNS);
    if (op->code != OP_DESC_LOAD) return;
    const Op *desc = op->operand[0].value->def;
    Type t = desc->result[0]->type;
    for (int d = 0; d + 1 < t.rank; d++) {
        const AxisInfo *stride = axis_of(&w->axis, desc_stride(desc, d));
        int64_t known = stride ? stride->divisibility[0] : 1;
        w->all &= known * type_elem_bytes(t) % DESC_ALIGN == 0;
    }
}

/* Its threads would copy columns that nobody needs (1536, 128x160 in 8 warps: 19.9 us, and 17.0 by
 * the further entry; 64x96 in 4 at 768 8.5, and 9.0). */
bool copies_as_well(const PassCtx *ctx) {
    Wide w = {.axis = axis_analyse(ctx->s, ctx->f), .all = true};
    ir_walk(ctx->f->body, look_at_rows, &w);
    return w.all && !(w.narrow && ctx->f->num_warps >= COST_ROLES_CONSUMERS);
}

/* ---- what a launch is known by ---- */

enum { PLACES_NEVER = 1 << 30 }; /* as many as there may be */

typedef struct Rows {
    Session *s;
    Buf few;        /* an expression: 1 where a tensor's rows end within the only block of them */
    int64_t column; /* bytes of K in a turn */
} Rows;

static const Op *loop_around(const Op *op) {
    const Op *at = op->block->parent;
    while (at && at->code != OP_FOR) at = at->block->parent;
    return at && !ir_attr_int(at, AT_PARALLEL, 0) ? at : NULL;
}

static void add_few(Rows *r, const Op *desc, int dim, int64_t live) {
    Buf size = buf_new(&r->s->arena), term = buf_new(&r->s->arena);
    int64_t ignored;
    const Value *v = desc_size(desc, dim);
    if (ir_int_constant(v, &ignored) || !ir_expression(v, WITH_QUOTIENTS, &size)) return;
    int64_t from = live < COST_FEW_ROWS ? live : COST_FEW_ROWS;
    buf_printf(&term, "1 - min(%s // %lld, 1)", size.data, (long long)from);
    if (r->few.len && strstr(r->few.data, term.data)) return;
    Buf all = buf_new(&r->s->arena);
    if (r->few.len)
        buf_printf(&all, "max(%s, %s)", r->few.data, term.data);
    else
        buf_puts(&all, term.data);
    r->few = all;
}

/* Rows that all turns of a loop bring of the same places: the dimensions of a tensor that it does
 * not go along, but the innermost, of which the copy engine leaves out what there is not. */
static void look_at_box(Op *op, void *ctx) {
    enum { INDEX = 3 }; /* behind the descriptor, the buffer and the barrier */
    Rows *r = ctx;
    const Op *loop = loop_around(op);
    if (op->code == OP_DOT && loop) {
        Type a = op->operand[0].value->type;
        r->column = type_dim(a, a.rank - 1) * type_elem_bytes(a);
    }
    if (op->code != OP_MBAR_DESC_LOAD || !loop) return;
    const Op *desc = op->operand[0].value->def;
    Type t = desc->result[0]->type;
    for (int d = 0; d + 1 < t.rank; d++) {
        int64_t live = desc_live(desc, t, d);
        if (live > 1 && ir_defined_outside(op->operand[INDEX + d].value, loop))
            add_few(r, desc, d, live);
    }
}

const char *worth_places(const PassCtx *ctx) {
    const Func *f = ctx->f;
    Rows r = {.s = ctx->s, .few = buf_new(&ctx->s->arena)};
    ir_walk(f->body, look_at_box, &r);
    bool shares = f->max_cluster && f->cluster_when;
    if (!f->cost_turns || !r.column || !(shares || r.few.len)) return NULL;
    Buf sum = buf_new(&ctx->s->arena), out = buf_new(&ctx->s->arena); /* sum: 1 where it is long */
    buf_printf(&sum, "min(%s * %lld // %d, 1)", f->cost_turns, (long long)r.column,
               COST_LONG_SUM_BYTES);
    if (r.few.len) buf_puts(&out, "max(");
    buf_puts(&out, "2");
    if (shares) buf_printf(&out, " - min(%s, 1) * %s", f->cluster_when, sum.data);
    if (r.few.len) buf_printf(&out, ", %d * (%s) * %s)", PLACES_NEVER, r.few.data, sum.data);
    return out.data;
}
