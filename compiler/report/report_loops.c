/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* report_loops.c: loops -> what an iteration of each does, and how its pipeline runs: the table
 * that people make by hand when they compare two kernels. */
#include "compiler/report/mix.h"
#include "compiler/report/report.h"
#include "ir/buffer.h"
#include "ir/effects.h"
#include "ir/fragment.h"
#include "ir/mma.h"
#include "ir/roles.h"
#include "passes/live_words.h"

#include <stdlib.h>
#include <string.h>

typedef struct Body { /* of a loop, without the loops inside it */
    int64_t copied;   /* bytes that copies bring into shared memory */
    int64_t flops, matrix_flops;
    int64_t loaded, stored; /* bytes of global memory, by other ways */
    int dots, waits, depth; /* depth: groups of copies that go on behind a wait, the fewest */
    int dots_pending;
    bool waits_mbarrier;
    VEC(const Op *) buffers; /* of several slots, that copies write, or dots and loads read */
    bool copies;             /* some into these */
    VEC(const Op *) dot;
} Body;

static int64_t tile_bytes(Type t) {
    return type_bytes(type_pointee(t));
}

static void add_buffer(Report *r, Body *b, const Value *v) {
    const Op *alloc = type_is_buffer(v->type) ? buffer_alloc(v) : NULL;
    if (!alloc || buffer_slices(alloc) < 2) return;
    for (int i = 0; i < b->buffers.n; i++)
        if (b->buffers.at[i] == alloc) return;
    vec_push(&r->s->arena, &b->buffers, alloc);
}

static int64_t dot_flops(const Op *dot) {
    Type a = dot->operand[0].value->type, c = dot->result[0]->type;
    return 2 * type_numel(c) * type_dim(a, a.rank - 1);
}

static void look_at_dot(Report *r, Body *b, const Op *op) {
    for (int i = 0; i < 2; i++) add_buffer(r, b, op->operand[i].value);
    b->dots++;
    b->flops += dot_flops(op);
    if (ir_attr(op, AT_MMA) || ir_attr(op, AT_WGMMA)) b->matrix_flops += dot_flops(op);
    vec_push(&r->s->arena, &b->dot, op);
}

static void look_at(Report *r, Body *b, const Block *block) {
    for (const Op *op = block->first; op; op = op->next) {
        switch (op->code) {
        case OP_ASYNC_COPY:
            b->copied += tile_bytes(op->operand[0].value->type);
            b->copies = true;
            add_buffer(r, b, op->operand[1].value);
            break;
        case OP_ASYNC_DESC_LOAD:
        case OP_MBAR_DESC_LOAD:
            b->copied += type_bytes(op->operand[1].value->type);
            b->copies = true;
            add_buffer(r, b, op->operand[1].value);
            break;
        case OP_ASYNC_WAIT: {
            int pending = (int)ir_attr_int(op, AT_PENDING, 0);
            if (!ir_attr(op, AT_STORES) && (!b->waits++ || pending < b->depth)) b->depth = pending;
            break;
        }
        case OP_MBAR_WAIT: b->waits_mbarrier = true; break;
        case OP_DOT: look_at_dot(r, b, op); break;
        case OP_SHARED_LOAD: add_buffer(r, b, op->operand[0].value); break;
        case OP_DOT_WAIT: b->dots_pending = (int)ir_attr_int(op, AT_PENDING, 0); break;
        case OP_LOAD: b->loaded += type_bytes(op->result[0]->type); break;
        case OP_STORE: b->stored += type_bytes(op->operand[1].value->type); break;
        case OP_IF:
            for (int i = 0; i < op->nregions; i++) look_at(r, b, op->region[i]);
            break;
        default: break;
        }
    }
}

/* ---- pipelines ---- */

static void put_pipeline(Report *r, const ReportKernel *k, const Op *loop, const Body *b,
                         Fact *in) {
    Arena *a = &r->s->arena;
    const char *why = report_note(r, loop->span, "this loop is not pipelined");
    const char *fewer = report_note(r, loop->span, "a stage of this loop");
    if (!b->buffers.n) {
        if (!b->dots && !why) return;
        Fact *f = fact_number(a, in, "stages", 1);
        if (why) fact_why(a, f, "%s", why);
        return;
    }
    Buf parts = buf_new(a);
    int64_t bytes = 0;
    int slices = 0;
    for (int i = 0; i < b->buffers.n; i++) {
        const Op *alloc = b->buffers.at[i];
        Type t = alloc->result[0]->type;
        int64_t one = buffer_slice_bytes(alloc);
        bytes += one;
        if (buffer_slices(alloc) > slices) slices = buffer_slices(alloc);
        Type tile = type_in_space(t, SPACE_REGISTER);
        tile.slices = 0;
        buf_printf(&parts, "%s%s %s = %lld", i ? " + " : "", report_buffer(r, k->f, alloc),
                   type_text(a, tile), (long long)one);
    }
    Fact *f = fact_number(a, in, "stages", slices);
    if (!b->copies)
        fact_why(a, f, "that others fill");
    else if (fewer)
        fact_why(a, f, "%s", fewer);
    else if (slices == k->f->num_stages)
        fact_why(a, f, "num_stages = %d", k->f->num_stages);
    else
        fact_why(a, f,
                 "num_stages = %d asks for that many at least; more fit beside the programs "
                 "that a multiprocessor holds",
                 k->f->num_stages);
    fact_why(a, fact_number(a, in, "stage_bytes", bytes), "%s", parts.data);
    fact_why(a, fact_number(a, in, "slots_bytes", bytes * slices), "%d slots of %lld bytes", slices,
             (long long)bytes);
    if (b->waits) {
        Fact *w = fact_number(a, in, "wait_depth", b->depth);
        fact_why(a, w,
                 "groups of copies still on their way behind the wait: of %d stages %d %s "
                 "what is read or written now",
                 slices, slices - b->depth, slices - b->depth == 1 ? "is" : "are");
    }
}

/* ---- dots ---- */

/* "wgmma.m64n64k16.f32.f16.f16" */
static const char *instruction_of(Report *r, const Op *dot, int *m, int *n, int *k) {
    Arena *a = &r->s->arena;
    *m = *n = *k = 0;
    if (ir_attr(dot, AT_WGMMA)) {
        const WgmmaInfo *w = wgmma_row((int)ir_attr_int(dot, AT_WGMMA, 0));
        *m = 64, *n = (int)wgmma_columns(dot), *k = w->k;
        if (ir_attr(dot, AT_COLUMNS)) *n = (int)ir_attr_int(dot, AT_COLUMNS, *n);
        return arena_printf(a, "wgmma.m64n%dk%d.%s", *n, *k, w->text);
    }
    if (!ir_attr(dot, AT_MMA)) return NULL;
    const MmaInfo *w = mma_row((int)ir_attr_int(dot, AT_MMA, 0));
    *m = w->m, *n = 8, *k = w->k;
    return arena_strdup(a, w->text);
}

static void put_dot(Report *r, const ReportKernel *kernel, const Op *dot, Fact *list) {
    Arena *a = &r->s->arena;
    Type ta = dot->operand[0].value->type, tb = dot->operand[1].value->type,
         tc = dot->result[0]->type;
    int m, n, k, warps = layout_warps_of_block(kernel->f, dot->block);
    int64_t rows = type_dim(tc, tc.rank - 2), columns = type_dim(tc, tc.rank - 1),
            depth = type_dim(ta, ta.rank - 1);
    const char *text = instruction_of(r, dot, &m, &n, &k);
    Fact *f = fact_item(a, list, "%lld x %lld x %lld", (long long)rows, (long long)columns,
                        (long long)depth);
    f->at = report_line(r, dot->span);
    f->line = dot->listed;
    fact_text(a, f, "operands", "%s, %s -> %s", elem_info[ta.elem].text, elem_info[tb.elem].text,
              elem_info[tc.elem].text);
    Fact *which = fact_text(a, f, "instruction", "%s", text ? text : "multiply-adds");
    const char *why = report_note(r, dot->span, "this dot is made of");
    if (why) fact_why(a, which, "%s", why);
    const char *const from[] = {"shared memory", "registers"};
    fact_text(a, f, "first_operand", "%s", from[!type_is_buffer(dot->operand[0].value->type)]);
    if (!text) return;
    int group = ir_attr(dot, AT_WGMMA) ? WARPGROUP : 1;
    int64_t batch = type_numel(tc) / (rows * columns);
    int64_t all = batch * ((rows + m - 1) / m) * ((columns + n - 1) / n) * ((depth + k - 1) / k);
    int64_t each = all * group / warps;
    Fact *count =
        fact_number(a, f, group > 1 ? "instructions_per_warpgroup" : "instructions_per_warp",
                    each > 0 ? each : 1);
    fact_why(a, count, "%lld x %lld x %lld of m%dn%dk%d over %d %s%s", (long long)rows,
             (long long)columns, (long long)depth, m, n, k, warps / group,
             group > 1 ? "warpgroup" : "warp", warps / group == 1 ? "" : "s");
}

/* ---- one loop ---- */

/* The branch that holds only for a program alone on its multiprocessor, around op: 1 its first
 * region, 2 the other, 0: there is none. */
static int single_cta_side(const Op *op) {
    for (; op; op = op->block->parent) {
        const Op *parent = op->block->parent;
        if (parent && parent->code == OP_IF && op_is(parent->operand[0].value, OP_SINGLE_CTA))
            return op->block == parent->region[0] ? 1 : 2;
    }
    return 0;
}

static void put_title(Report *r, const ReportKernel *k, const Op *loop, Buf *out) {
    int role = role_of_block(loop->block), side = single_cta_side(loop);
    buf_puts(out, "loop");
    if (role >= 0) buf_printf(out, " of the %s", role_name(&r->s->arena, roles_of(k->f), role));
    if (side)
        buf_puts(out, side == 1 ? " of a program that has its multiprocessor to itself"
                                : " of programs that share a multiprocessor");
}

/* ---- what an iteration is made of ---- */

typedef bool Wanted(const PtxInst *x);

typedef struct LineCount {
    const char *at;
    int n;
} LineCount;

static int by_count(const void *a, const void *b) {
    const LineCount *x = a, *y = b;
    return x->n != y->n ? y->n - x->n : strcmp(x->at, y->at);
}

/* "line 45: 4, line 46: 2": the lines of the source that they are of. */
static const char *by_lines(Report *r, const ReportKernel *k, int loop, Wanted *wanted) {
    Arena *a = &r->s->arena;
    VEC(LineCount) lines = {0};
    Buf out = buf_new(a);
    for (int i = 0; i < k->ptx->insts.n; i++) {
        const PtxInst *x = &k->ptx->insts.at[i];
        if (x->loop != loop || !wanted(x)) continue;
        const Op *op = x->line < (uint32_t)r->op.n ? r->op.at[x->line] : NULL;
        const char *at = op ? report_line(r, op->span) : "no line";
        int n = 0;
        while (n < lines.n && strcmp(lines.at[n].at, at)) n++;
        if (n == lines.n) vec_push(a, &lines, ((LineCount){at, 0}));
        lines.at[n].n++;
    }
    if (lines.n) qsort(lines.at, (size_t)lines.n, sizeof *lines.at, by_count);
    for (int i = 0; i < lines.n; i++)
        buf_printf(&out, "%s%s: %d", i ? ", " : "", lines.at[i].at, lines.at[i].n);
    return out.len ? out.data : NULL;
}

static bool is_any(const PtxInst *x) {
    (void)x;
    return true;
}

static bool is_comparison(const PtxInst *x) {
    return ptx_begins(x->op, "setp");
}

static bool is_masked(const PtxInst *x) {
    return x->guard.len && !ptx_begins(x->op, "bra");
}

static bool is_barrier(const PtxInst *x) {
    return ptx_begins(x->op, "bar") || ptx_begins(x->op, "barrier");
}

static bool is_copy(const PtxInst *x) {
    return ptx_begins(x->op, "cp.async.ca") || ptx_begins(x->op, "cp.async.cg");
}

static bool is_tma_load(const PtxInst *x) {
    return ptx_begins(x->op, "cp.async.bulk.tensor") && !ptx_has_word(x->op, "bulk_group");
}

static bool is_tma_store(const PtxInst *x) {
    return ptx_begins(x->op, "cp.async.bulk.tensor") && ptx_has_word(x->op, "bulk_group");
}

static bool is_matrix_load(const PtxInst *x) {
    return ptx_begins(x->op, "ldmatrix");
}

static bool is_matrix(const PtxInst *x) {
    return ptx_begins(x->op, "mma") || ptx_begins(x->op, "wgmma.mma_async");
}

static bool is_mbarrier_wait(const PtxInst *x) {
    return ptx_begins(x->op, "mbarrier.try_wait") || ptx_begins(x->op, "mbarrier.test_wait");
}

/* The rows of the table, in its order; without what there is none of, unless it says `always`. */
static const struct {
    const char *name;
    Wanted *wanted;
    bool always;
} counted[] = {
    {"copies", is_copy, false},
    {"tma_loads", is_tma_load, false},
    {"tma_stores", is_tma_store, false},
    {"matrix_loads", is_matrix_load, false},
    {"matrix_instructions", is_matrix, false},
    {"barriers", is_barrier, true},
    {"mbarrier_waits", is_mbarrier_wait, false},
    {"comparisons", is_comparison, true},
    {"masked_instructions", is_masked, true},
    {"instructions", is_any, true},
};

static void put_counts(Report *r, const ReportKernel *k, int loop, const Body *b, int warps,
                       Fact *in) {
    Arena *a = &r->s->arena;
    Mix mix = mix_of_loop(r->s, k->ptx, loop);
    for (size_t c = 0; c < sizeof counted / sizeof *counted; c++) {
        int n = 0;
        for (int i = 0; i < k->ptx->insts.n; i++)
            n += k->ptx->insts.at[i].loop == loop && counted[c].wanted(&k->ptx->insts.at[i]);
        if (!n && !counted[c].always) continue;
        Fact *f = fact_number(a, in, counted[c].name, n);
        if (counted[c].wanted == is_copy)
            fact_why(a, f, "of a thread: %lld bytes by %d threads", (long long)b->copied,
                     32 * warps);
        else if (n)
            f->why = by_lines(r, k, loop, counted[c].wanted);
    }
    mix_facts(r->s, &mix, fact_group(a, in, "by_kind"));
}

/* ---- one loop ---- */

static void put_loop(Report *r, ReportKernel *k, const Op *loop, Fact *list) {
    Arena *a = &r->s->arena;
    Buf title = buf_new(a);
    Body b = {0};
    int number = report_ptx_loop(k, loop);
    look_at(r, &b, loop->region[loop->nregions - 1]);
    put_title(r, k, loop, &title);
    Fact *f = fact_item(a, list, "%s", title.data);
    f->at = report_line(r, loop->span);
    f->line = loop->listed;
    int warps = warps_of_block(k->f, loop->region[0]);
    fact_number(a, f, "warps", warps);
    if (number < 0) {
        fact_text(a, f, "code", "no loop: its iterations follow each other, or none is left");
        return;
    }
    put_pipeline(r, k, loop, &b, f);
    int64_t sums = sum_words(loop->region[loop->nregions - 1]);
    if (sums) {
        const char *why = report_note(r, loop->span, "the sums of this loop");
        if (!why) why = report_note(r, loop->span, "what this loop carries");
        fact_why(a, fact_number(a, f, "accumulator_registers", sums), "%s",
                 why ? why : "of a thread");
    }
    if (b.dots_pending) fact_number(a, f, "dots_in_flight", b.dots_pending);
    Fact *dots = fact_list(a, f, "dots");
    for (int i = 0; i < b.dot.n; i++) put_dot(r, k, b.dot.at[i], dots);
    if (b.flops) {
        int64_t bytes = b.copied + b.loaded;
        fact_number(a, f, "flops", b.flops);
        if (bytes) {
            fact_number(a, f, "bytes_from_memory", bytes);
            fact_why(a, fact_real(a, f, "flops_per_byte", (double)b.flops / (double)bytes),
                     "of what it brings, each time");
        }
    }
    put_counts(r, k, number, &b, warps, f);
}

static void find_loops(Report *r, ReportKernel *k, const Block *b, Fact *list) {
    for (const Op *op = b->first; op; op = op->next) {
        if (op->code == OP_FOR || op->code == OP_WHILE) put_loop(r, k, op, list);
        for (int i = 0; i < op->nregions; i++) find_loops(r, k, op->region[i], list);
    }
}

void report_loops(Report *r, ReportKernel *k) {
    find_loops(r, k, k->f->body, fact_list(&r->s->arena, k->facts, "loops"));
}
