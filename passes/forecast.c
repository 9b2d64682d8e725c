/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* forecast.c: a kernel whose places of the grid are a loop of sums each -> numbers by which the
 * time of a launch can be told from its arguments (compiler/tune/forecast.c).
 *
 *     for k = 0 to cdiv(K, BK): acc = dot a, b, acc      cost_turns = "cdiv(K, BK)", and of a turn:
 *         cost_dots     clocks of the matrix units
 *         cost_wait     clocks that a program's warps wait besides, if they are alone
 *         cost_bytes    what it brings; cost_lines: the same where rows begin within lines
 *     store c, acc                                       cost_stored = bytes of a place's results
 *
 * What a turn of a program takes alone, and beside others, is not the same: so these are parts, and
 * no sum. A kernel of another form has no such numbers, and no forecast. */
#include "passes/forecast.h"

#include "ir/desc.h"
#include "ir/expression.h"
#include "ir/roles.h"
#include "ir/target.h"
#include "passes/cost.h"
#include "passes/layout_choice.h"
#include "passes/schedule.h"

#include <math.h>

static int64_t dot_columns(const Op *dot) {
    Type d = dot->result[0]->type;
    return ir_attr_int(dot, AT_COLUMNS, type_dim(d, d.rank - 1));
}

typedef struct DotBytes {
    const Func *f;
    double bytes; /* of first factors, times columns */
} DotBytes;

/* Of the warps that are there. */
static void add_bytes(Op *op, void *ctx) {
    DotBytes *d = ctx;
    if (op->code != OP_DOT) return;
    double warps =
        (double)warps_of_block(d->f, op->block) / (double)layout_warps_of_block(d->f, op->block);
    d->bytes += (double)type_bytes(op->operand[0].value->type) * (double)dot_columns(op) * warps;
}

double dots_clocks(const PassCtx *ctx, Block *b) {
    DotBytes d = {.f = ctx->f};
    ir_walk(b, add_bytes, &d);
    return d.bytes / (double)ctx->target->matrix_bytes;
}

typedef struct Forecast {
    PassCtx *ctx;
    Func *f;
    Op *loop; /* the only one that has dots */
    int dots;
    bool other;    /* something else takes time */
    bool by_mma;   /* not by the best instructions there are */
    double slower; /* how much the slowest of its dots is than the instruction's own rate */
    bool narrow;   /* columns are left out */
    int64_t sums, elements, bytes, stored;
    Buf lines, shared, within; /* expressions: of what is brought, is shared, begins within lines */
    bool lines_known;
} Forecast;

static bool is_places(const Op *op) {
    return op->code == OP_FOR && ir_attr_int(op, AT_PARALLEL, 0);
}

static void look_at_dot(Op *op, void *ctx) {
    Forecast *x = ctx;
    if (op->nregions && op->code != OP_FOR && op->code != OP_IF && op->code != OP_REDUCE)
        x->other = true;
    if (op->code != OP_DOT) return;
    Op *loop = op->block->parent;
    DotChoice d = choose_dot(op, x->f->num_warps, x->ctx->target);
    bool by_mma = x->ctx->target->wgmma && !d.wgmma;
    double slower = by_mma ? COST_MMA_TENTHS / 10.0 : 1;
    int64_t columns = dot_columns(op),
            rows = type_numel(op->result[0]->type) >>
                   op->result[0]->type.log2[op->result[0]->type.rank - 1];
    int64_t row = columns * type_elem_bytes(op->operand[1].value->type);
    bool part = ir_attr(op, AT_COLUMNS) != NULL;
    if (part && x->f->entry_of && row > COST_LINE_BYTES && row % COST_LINE_BYTES)
        slower *= COST_COLUMNS_TENTHS / 10.0;
    if (slower > x->slower) x->slower = slower;
    x->narrow |= part;
    x->by_mma |= by_mma;
    x->dots++;
    x->sums += rows * columns;
    x->elements += type_numel(op->result[0]->type);
    x->other |= !loop || loop->code != OP_FOR || is_places(loop) || dot_chained(op) < 0 ||
                (x->loop && x->loop != loop);
    x->loop = loop;
}

/* Bytes of a block as it comes: boxes are of whole lines. */
static int64_t brought(const Op *load) {
    Type t = load->result[0]->type;
    if (load->code != OP_DESC_LOAD) return type_bytes(t);
    const Op *desc = load->operand[0].value->def;
    int64_t row = desc_live(desc, desc->result[0]->type, t.rank - 1) * type_elem_bytes(t);
    int64_t all = desc_live_bytes(desc);
    return row > COST_LINE_BYTES
               ? all / row * ((row + COST_LINE_BYTES - 1) / COST_LINE_BYTES * COST_LINE_BYTES)
               : all;
}

bool put_bytes_into_line(const Op *desc, int d, Buf *out) {
    if (!ir_expression(desc_stride(desc, d), WITH_QUOTIENTS, out)) return false;
    buf_printf(out, " * %d %% %d", type_elem_bytes(desc->result[0]->type), COST_LINE_BYTES);
    return true;
}

/* 1 where rows begin within a line, of a descriptor's block. */
static bool put_within(const Op *load, Buf *out) {
    const Op *desc = load->operand[0].value->def;
    int rank = desc->result[0]->type.rank;
    buf_puts(out, "min(");
    if (rank < 2 || !put_bytes_into_line(desc, rank - 2, out)) return false;
    buf_puts(out, ", 1)");
    return true;
}

static void add_load(Op *op, void *ctx) {
    Forecast *x = ctx;
    if (op->code != OP_LOAD && op->code != OP_DESC_LOAD) return;
    int64_t bytes = brought(op);
    x->bytes += bytes;
    if (op->code != OP_DESC_LOAD) {
        x->lines_known = false;
        return;
    }
    Buf within = buf_new(&x->ctx->s->arena);
    /* The second factor is what neighbours share, where they go along M. */
    bool shared = x->ctx->target->multicast && feeds_dot(op->result[0], 1);
    x->lines_known &= put_within(op, &within);
    buf_printf(&x->within, "%s%s", x->within.len ? " + " : "", within.data);
    buf_printf(shared ? &x->shared : &x->lines, "%s%lld * (%d + %d * %s) // %d",
               (shared ? x->shared : x->lines).len ? " + " : "", (long long)bytes, COST_LINES_WHOLE,
               COST_LINES_MORE, within.data, COST_LINES_WHOLE);
}

/* clusters: in launches that form some each program brings half of what both take. */
static const char *all_lines(Forecast *x, bool clusters) {
    if (!x->lines_known || !x->within.len) return NULL;
    Buf all = buf_new(&x->ctx->s->arena);
    if (x->lines.len) buf_puts(&all, x->lines.data);
    if (x->shared.len) buf_printf(&all, "%s(%s)", all.len ? " + " : "", x->shared.data);
    if (x->shared.len && clusters) buf_printf(&all, " // (1 + min(%s, 1))", x->within.data);
    return all.data;
}

static void add_brought(Op *op, void *bytes) {
    if (op->code == OP_LOAD || op->code == OP_DESC_LOAD) *(double *)bytes += (double)brought(op);
}

double at_once_clocks(const double *clocks, int n) {
    double all = 0;
    for (int i = 0; i < n; i++) all += clocks[i] * clocks[i] * clocks[i] * clocks[i];
    return sqrt(sqrt(all));
}

TurnClocks turn_clocks(const PassCtx *ctx, Block *body) {
    double bytes = 0, dots = dots_clocks(ctx, body), groups = ctx->f->num_warps / WARPGROUP;
    ir_walk(body, add_brought, &bytes);
    double clocks[] = {dots, bytes / COST_MULTIPROCESSOR_BYTES,
                       dots / (groups > 1 ? groups : 1) + COST_WAIT_ROLES};
    return (TurnClocks){at_once_clocks(clocks, 2), at_once_clocks(clocks, 3)};
}

static void add_store(Op *op, void *ctx) {
    Forecast *x = ctx;
    if (op->code == OP_STORE || op->code == OP_DESC_STORE)
        x->stored += type_bytes(op->operand[1].value->type);
    x->other |= op->code == OP_WHILE || op->code == OP_WARPS;
}

/* How often the loop goes round. */
static bool put_turns(const Op *loop, Buf *out) {
    int64_t from, step;
    if (!ir_int_constant(loop->operand[0].value, &from) || from != 0 ||
        !ir_int_constant(loop->operand[2].value, &step) || step < 1)
        return false;
    if (step > 1) buf_puts(out, "cdiv(");
    if (!ir_expression(loop->operand[1].value, WITH_QUOTIENTS, out)) return false;
    if (step > 1) buf_printf(out, ", %lld)", (long long)step);
    return true;
}

/* Fills in what x has no more than a kernel and empty buffers for. False: there is no model. */
static bool look(Forecast *x, Buf *turns) {
    ir_walk(x->f->body, look_at_dot, x);
    if (x->other || !x->dots || !put_turns(x->loop, turns)) return false;
    for (const Op *at = x->loop->block->parent; at; at = at->block->parent)
        if (!is_places(at)) return false; /* how often all of it is done is not known */
    ir_walk(x->f->body, add_store, x);
    ir_walk(x->loop->region[0], add_load, x);
    return !x->other;
}

static Forecast forecast_of(PassCtx *ctx) {
    Arena *a = &ctx->s->arena;
    return (Forecast){.ctx = ctx,
                      .f = ctx->f,
                      .slower = 1,
                      .lines_known = true,
                      .lines = buf_new(a),
                      .shared = buf_new(a),
                      .within = buf_new(a)};
}

const char *forecast_lines(PassCtx *ctx) {
    Forecast x = forecast_of(ctx);
    Buf turns = buf_new(&ctx->s->arena);
    return look(&x, &turns) ? all_lines(&x, false) : NULL;
}

void forecast(PassCtx *ctx) {
    Func *f = ctx->f;
    Forecast x = forecast_of(ctx);
    Buf turns = buf_new(&ctx->s->arena);
    f->cost_turns = f->cost_lines = NULL;
    if (!look(&x, &turns)) return;
    int threads = f->num_warps * 32;
    f->cost_turns = turns.data;
    f->cost_dots = (int64_t)(dots_clocks(ctx, x.loop->region[0]) * x.slower) + 1;
    f->cost_wait = f->entry_of ? COST_WAIT_ROLES
                               : COST_WAIT_OWN + (x.narrow ? COST_WAIT_NARROW : 0) +
                                     (x.by_mma ? COST_WAIT_MMA : 0);
    f->cost_bytes = x.bytes;
    f->cost_stored = (int64_t)((double)x.stored * (double)x.sums / (double)x.elements);
    f->cost_sums = x.sums / threads;
    f->cost_lines = all_lines(&x, f->entry_of != NULL);
}

/* Of tile IR that has them already they stay: its entries may be made. */
void pass_forecast(PassCtx *ctx) {
    if (!ctx->f->cost_turns && !ctx->f->entry_of) forecast(ctx);
}
