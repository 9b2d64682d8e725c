/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* report.c: a module after all passes, and its PTX -> facts of each kernel. */
#include "compiler/report/report.h"
#include "compiler/report/listing.h"
#include "compiler/report/mix.h"
#include "ir/analysis/alias.h"
#include "ir/func_attrs.h"
#include "ir/options.h"
#include "ir/roles.h"
#include "passes/live_words.h"
#include "passes/pass.h"
#include "ptx/live.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- what the parts ask ---- */

const char *report_line(const Report *r, Span span) {
    Arena *a = &r->s->arena;
    const Source *first = &r->s->source, *source = source_at(first, span.line);
    if (!span.line) return "no line";
    unsigned line = (unsigned)source_line_number(first, span.line);
    return source == first ? arena_printf(a, "line %u", line)
                           : arena_printf(a, "%s:%u", source_shown_name(first, source), line);
}

const char *report_source_place(const Report *r, Span span) {
    const Source *first = &r->s->source;
    if (!span.line) return "";
    return arena_printf(&r->s->arena, "%s:%u",
                        source_shown_name(first, source_at(first, span.line)),
                        (unsigned)source_line_number(first, span.line));
}

const char *report_pass(const Op *op) {
    return op->made_in > 0 && op->made_in <= pass_count ? pass_table[op->made_in - 1].name
                                                        : "lowering";
}

const char *report_param(const Func *f, const Value *pointer) {
    const Value *v = alias_underlying_object(pointer);
    for (int i = 0; v && i < f->nparams; i++)
        if (f->param[i].value == v) return f->param[i].name;
    return NULL;
}

/* What the copy engine moves to or from it: the parameter. */
static const char *moved_by_engine(const Report *r, const Func *f, const Value *buffer) {
    for (const Use *u = buffer->uses; u; u = u->next) {
        const Op *op = u->op;
        const char *inner = NULL;
        if (op->nresults && type_is_buffer(op->result[0]->type))
            inner = moved_by_engine(r, f, op->result[0]);
        if (inner) return inner;
        bool moves = op->code == OP_MBAR_DESC_LOAD || op->code == OP_ASYNC_DESC_LOAD ||
                     op_is_async_store(op);
        if (!moves || !op_is(op->operand[0].value, OP_MAKE_DESC)) continue;
        const char *name = report_param(f, op->operand[0].value->def->operand[0].value);
        if (name) return arena_printf(&r->s->arena, "block of %s", name);
    }
    return NULL;
}

const char *report_buffer(const Report *r, const Func *f, const Op *alloc) {
    const Value *v = alloc->result[0];
    if (v->name && v->name[0]) return v->name;
    if (v->type.space == SPACE_BARRIER) return "mbarriers";
    const char *moved = moved_by_engine(r, f, v);
    if (moved) return moved;
    Type tile = type_in_space(v->type, SPACE_REGISTER);
    tile.slices = 0;
    return arena_printf(&r->s->arena, "buffer of %s", type_text(&r->s->arena, tile));
}

int report_ptx_loop(const ReportKernel *k, const Op *loop) {
    for (int i = 0; i < k->ptx->loops.n; i++)
        if (k->ptx->loops.at[i].line == loop->listed) return i;
    return -1;
}

const char *report_note(const Report *r, Span span, const char *begin) {
    for (const Diag *d = r->s->diags.first; d; d = d->next)
        if (d->severity == DIAG_PERF && d->span.line == span.line && d->span.col == span.col &&
            strncmp(d->text, begin, strlen(begin)) == 0)
            return d->text;
    return NULL;
}

const Op *report_loop_around(const Op *op) {
    for (op = op->block->parent; op; op = op->block->parent)
        if (op->code == OP_FOR || op->code == OP_WHILE) return op;
    return NULL;
}

/* ---- a kernel ---- */

/* Of JSON: a whole number as one, a text without its quotes, all else as it is. */
static void put_json(Arena *a, Fact *in, const char *name, const char *json) {
    char *end;
    size_t n = strlen(json);
    errno = 0;
    long long v = strtoll(json, &end, 10);
    if (end != json && !*end && !errno)
        fact_number(a, in, name, v);
    else if (n > 2 && json[0] == '"' && !strchr(json, '\\'))
        fact_text(a, in, name, "%.*s", (int)(n - 2), json + 1);
    else
        fact_text(a, in, name, "%s", json);
}

static void put_asked(Report *r, const Func *f, Fact *in) {
    Arena *a = &r->s->arena;
    Fact *config = fact_group(a, in, "config");
    for (int i = 0; i < f->nconstexprs; i++)
        put_json(a, config, f->constexpr_[i].name, f->constexpr_[i].json);
    Fact *options = fact_group(a, in, "options");
    for (int i = 0; i < OPTIONS; i++) {
        int v = func_option(f, (KernelOption)i);
        if (v) fact_number(a, options, option_info[i].name, v);
    }
    if (f->swizzled) fact_number(a, options, "swizzle_grid", f->swizzled);
}

static void put_launch(Report *r, const Func *f, Fact *in) {
    Arena *a = &r->s->arena;
    Buf grid = buf_new(a);
    int axes = 0;
    for (size_t i = 0; i < sizeof f->grid / sizeof *f->grid && f->grid[i]; i++)
        buf_printf(&grid, "%s%s", axes++ ? ", " : "", f->grid[i]);
    if (axes) fact_text(a, in, "grid", "%s", grid.data);
    int warps = warps_of_program(f);
    Fact *threads = fact_number(a, in, "threads", 32 * (int64_t)warps);
    if (roles_of(f)) {
        Buf who = buf_new(a);
        for (int i = 0; i < roles_of(f)->nregions; i++) {
            buf_printf(&who, "%s%s: %d warps", i ? ", " : "", role_name(a, roles_of(f), i),
                       role_warps(roles_of(f), i));
            if (role_registers(roles_of(f), i))
                buf_printf(&who, " of %d registers", role_registers(roles_of(f), i));
        }
        fact_why(a, threads, "%s", who.data);
    } else {
        fact_why(a, threads, "%d warp%s", warps, warps == 1 ? "" : "s");
    }
    if (f->persistent) fact_text(a, in, "programs", "stay for more than one place of the grid");
    if (f->max_cluster > 1)
        fact_text(a, in, "clusters", "of up to %d programs, which share what they load",
                  f->max_cluster);
    for (size_t i = 0; i < sizeof f->conditions / sizeof *f->conditions && f->conditions[i]; i++)
        fact_text(a, in, "if", "%s", f->conditions[i]);
    if (f->flops) fact_text(a, in, "flops", "%s", f->flops);
    if (f->bytes) fact_text(a, in, "bytes", "%s", f->bytes);
}

/* ---- tiles ---- */

static void put_bases(const Layout *l, Buf *out) {
    static const char *const part[IN_DIMS] = {"reg", "lane", "warp", "block"};
    for (int in = 0; in < IN_DIMS; in++) {
        if (!l->bits[in]) continue;
        buf_printf(out, "%s%s=[", out->len ? " " : "", part[in]);
        for (int i = 0; i < l->bits[in]; i++)
            buf_printf(out, "%s%u", i ? "," : "", l->basis[in][i]);
        buf_putc(out, ']');
    }
}

typedef struct Tile {
    Type type;
    const Layout *layout;
    uint32_t line;
} Tile;

typedef struct Tiles {
    Report *r;
    Fact *list;
    VEC(Tile) seen;
} Tiles;

/* Once for each layout and type of what is one in the source. */
static void put_tile(Tiles *x, const Op *op, const Value *v, const char *what) {
    Arena *a = &x->r->s->arena;
    Type t = v->type.depth ? type_pointee(v->type) : v->type;
    if (!v->layout || !v->type.rank || type_is_buffer(v->type)) return;
    for (int i = 0; i < x->seen.n; i++) {
        const Tile *o = &x->seen.at[i];
        if (o->layout == v->layout && type_equal(o->type, t) && o->line == op->span.line) return;
    }
    vec_push(a, &x->seen, ((Tile){t, v->layout, op->span.line}));
    Buf bases = buf_new(a);
    put_bases(v->layout, &bases);
    Fact *f = fact_item(a, x->list, "%s of %s", what, type_text(a, t));
    f->at = report_line(x->r, op->span);
    f->line = op->listed;
    fact_number(a, f, "elements_per_thread", (int64_t)1 << v->layout->bits[IN_REG]);
    fact_text(a, f, "layout", "%s", bases.data);
}

const Value *report_tile(const Op *op, const char **what) {
    switch (op->code) {
    case OP_DOT: *what = "sum"; return op->result[0];
    case OP_LOAD: *what = "load"; return op->result[0];
    case OP_STORE: *what = "store"; return op->operand[1].value;
    case OP_ASYNC_COPY: *what = "copy"; return op->operand[0].value;
    case OP_REDUCE: *what = "reduction"; return op->operand[0].value;
    case OP_SHARED_LOAD: *what = "read of shared memory"; return op->result[0];
    default: return NULL;
    }
}

static void find_tile(Op *op, void *user) {
    const char *what;
    const Value *v = report_tile(op, &what);
    if (v) put_tile(user, op, v, what);
}

/* ---- registers, occupancy ---- */

typedef struct Held {
    Report *r;
    const Func *f;
    int64_t most;
    const Op *at;
} Held;

static void look_at_loop(Op *op, void *user) {
    Held *h = user;
    if (op->code != OP_FOR && op->code != OP_WHILE) return;
    int64_t words = live_words(h->r->s, h->f, op->region[op->nregions - 1]);
    if (words > h->most) h->most = words, h->at = op;
}

/* Registers that somebody will still read, of a thread, at the place of the PTX where they are the
 * most. */
static void put_alive(Report *r, const ReportKernel *k, Fact *in) {
    Arena *a = &r->s->arena;
    if (k->ptx->insts.n > PTX_LIVE_MOST) {
        fact_text(a, in, "alive_at_most", "not looked for");
        fact_why(a, in->last, "more than %d instructions", PTX_LIVE_MOST);
        return;
    }
    PtxLive live = ptx_live(a, k->ptx);
    if (live.where < 0) return;
    uint32_t line = k->ptx->insts.at[live.where].line;
    const Op *op = line < (uint32_t)r->op.n ? r->op.at[line] : NULL;
    Fact *f = fact_number(a, in, "alive_at_most", live.at_most);
    f->line = line;
    fact_why(a, f, "of a thread, before an instruction of %s%s%s",
             op ? op_info[op->code].text : "the kernel's begin", op ? " in " : "",
             op ? report_line(r, op->span) : "");
}

static void put_registers(Report *r, ReportKernel *k, const char *assembler) {
    Arena *a = &r->s->arena;
    Fact *in = fact_group(a, k->facts, "registers");
    Held h = {.r = r, .f = k->f};
    ir_walk(k->f->body, look_at_loop, &h);
    if (h.at)
        fact_why(a, fact_number(a, in, "for_tiles", h.most),
                 "of a thread, that the loop at %s holds at once", report_line(r, h.at->span));
    put_alive(r, k, in);
    if (!k->code.found) return;
    fact_why(a, fact_number(a, in, "registers", k->code.registers), "of a thread, by %s",
             assembler);
    fact_number(a, in, "spilled_bytes", k->code.spilled_bytes);
    fact_number(a, in, "stack_bytes", k->code.stack_bytes);
}

/* The GPU hands registers out to warps, so many of each thread at a time. */
static int64_t programs_of_registers(const Target *t, int registers, int warps) {
    enum { UNIT = 8 };
    int64_t each = (registers + UNIT - 1) / UNIT * UNIT;
    return t->registers / (each * 32 * warps);
}

static void put_occupancy(Report *r, ReportKernel *k) {
    Arena *a = &r->s->arena;
    const Target *t = r->target;
    Fact *in = fact_group(a, k->facts, "occupancy");
    int64_t bytes = k->f->shared_bytes > 0 ? k->f->shared_bytes : 0;
    int warps = warps_of_program(k->f);
    const struct {
        const char *name;
        int64_t programs;
        const char *why;
    } limit[] = {
        {"by_threads", t->threads / (32 * warps),
         arena_printf(a, "%d threads each, of %d", 32 * warps, t->threads)},
        {"by_programs", t->programs, "of any kind"},
        {"by_shared_memory", target_programs(t, bytes),
         arena_printf(a, "%lld bytes each, and %lld besides", (long long)bytes,
                      (long long)t->reserved_shared)},
        {"by_registers",
         k->code.found ? programs_of_registers(t, k->code.registers, warps) : INT64_MAX,
         arena_printf(a, "%d of each thread, of %lld", k->code.registers, (long long)t->registers)},
    };
    enum { LIMITS = sizeof limit / sizeof *limit };
    int least = 0;
    for (int i = 1; i < LIMITS; i++)
        if (limit[i].programs < limit[least].programs) least = i;
    int64_t most = limit[least].programs;
    Fact *f = fact_number(a, in, "programs_per_multiprocessor", most);
    fact_why(a, f, "%s: %s", limit[least].name, limit[least].why);
    fact_number(a, in, "warps_per_multiprocessor", most * warps);
    for (int i = 0; i < LIMITS; i++)
        if (limit[i].programs != INT64_MAX)
            fact_why(a, fact_number(a, in, limit[i].name, limit[i].programs), "%s", limit[i].why);
    if (!k->code.found && most)
        fact_why(
            a, fact_number(a, in, "registers_for_that", t->registers / (most * warps * 32) / 8 * 8),
            "of a thread: with more there are fewer programs");
}

static void put_roofline(Report *r, ReportKernel *k) {
    Arena *a = &r->s->arena;
    const Target *t = r->target;
    const Fact *loops = fact_named(k->facts, "loops"), *best = NULL;
    for (const Fact *l = loops->first; l; l = l->next) {
        const Fact *flops = fact_named(l, "flops"), *had = best ? fact_named(best, "flops") : NULL;
        if (flops && fact_named(l, "flops_per_byte") && (!had || flops->number > had->number))
            best = l;
    }
    if (!best || !t->memory_gbs) return;
    Fact *in = fact_group(a, k->facts, "roofline");
    const Fact *dots = fact_named(best, "dots");
    int bytes = 2; /* of an operand's element */
    if (dots && dots->first) {
        const Op *dot = r->op.at[dots->first->line];
        bytes = type_elem_bytes(type_element(dot->operand[0].value->type));
    }
    double tflops = 2.0 * (double)t->matrix_bytes / bytes * t->multiprocessors * t->mhz / 1e6;
    double ridge = tflops * 1e3 / t->memory_gbs;
    double intensity = fact_named(best, "flops_per_byte")->real;
    fact_why(a, fact_real(a, in, "most_tflops", tflops), "%d multiprocessors at %d MHz",
             t->multiprocessors, t->mhz);
    fact_number(a, in, "memory_gb_per_second", t->memory_gbs);
    fact_why(a, fact_real(a, in, "ridge_flops_per_byte", ridge),
             "where memory and matrix instructions take the same time");
    fact_why(a, fact_real(a, in, "flops_per_byte", intensity),
             "of one program's loop; programs that find the others' blocks in the L2 cache bring "
             "less from memory");
}

static void put_kernel(Report *r, ReportKernel *k, const char *assembler, Fact *list) {
    Arena *a = &r->s->arena;
    const Func *f = k->f;
    Fact *in = k->facts = fact_item(a, list, "kernel %s", k->entry);
    fact_place(a, in, "source", report_source_place(r, f->span));
    if (f->entry_of)
        fact_text(a, in, "stands_for", "%s, in launches that keep its conditions", f->entry_of);
    put_asked(r, f, in);
    put_launch(r, f, in);
    report_loops(r, k);
    report_accesses(r, k);
    report_shared_memory(r, k);
    Tiles tiles = {.r = r, .list = fact_list(a, in, "tiles")};
    ir_walk(f->body, find_tile, &tiles);
    put_registers(r, k, assembler);
    put_occupancy(r, k);
    put_roofline(r, k);
    Mix mix = mix_of_loop(r->s, k->ptx, -1);
    mix_facts(r->s, &mix, fact_group(a, in, "instructions"));
}

/* ---- the report ---- */

static void note_op(Op *op, void *user) {
    Report *r = user;
    while (r->op.n <= (int)op->listed) vec_push(&r->s->arena, &r->op, NULL);
    r->op.at[op->listed] = op;
}

static void put_notes(Report *r) {
    Arena *a = &r->s->arena;
    Fact *list = fact_list(a, r->root, "notes");
    for (const Diag *d = r->s->diags.first; d; d = d->next)
        if (d->severity == DIAG_PERF)
            fact_item(a, list, "%s: %s", report_line(r, d->span), d->text);
}

/* What it says of each kernel of the PTX. */
static void ask_assembler(Report *r, const Buf *ptx, char version[32]) {
    int n = r->kernels.n;
    tile_assembled *code = arena_array(&r->s->arena, (size_t)n, sizeof *code);
    for (int i = 0; i < n; i++) code[i].entry = r->kernels.at[i].entry;
    if (!r->assembler || !n) return;
    r->assembler->assemble(r->assembler->user, ptx->data, ptx->len, code, n, version);
    for (int i = 0; i < n; i++) r->kernels.at[i].code = code[i];
}

typedef struct DotLines {
    Arena *a;
    VEC(uint32_t) at;
} DotLines;

static void note_dot(Op *op, void *ctx) {
    DotLines *d = ctx;
    if (op->code == OP_DOT) vec_push(d->a, &d->at, op->listed);
}

/* A dot may go through its steps of K in a loop of its own, which is none of tile IR's: they are
 * counted where the dot is. */
static void fold_steps(Arena *a, const Func *f, PtxKernel *k) {
    DotLines dots = {.a = a};
    ir_walk(f->body, note_dot, &dots);
    bool *steps = arena_array(a, (size_t)k->loops.n + 1, sizeof *steps);
    for (int i = 0; i < k->loops.n; i++)
        for (int d = 0; d < dots.at.n; d++) steps[i] |= k->loops.at[i].line == dots.at.at[d];
    for (int i = 0; i < k->insts.n; i++) {
        int *loop = &k->insts.at[i].loop;
        if (*loop >= 0 && steps[*loop]) *loop = k->loops.at[*loop].parent;
    }
}

void report_make(Report *r, const char *const *entry, const Buf *lined, Buf *out) {
    Arena *a = &r->s->arena;
    PtxFile *file = arena_alloc(a, sizeof *file);
    Source *source = &r->s->source; /* whose text is the caller's, and may go before the report */
    if (source->text) source->text = arena_strndup(a, source->text, source->len);
    for (const Func *f = r->m->funcs; f; f = f->next) ir_walk(f->body, note_op, r);
    for (size_t i = 0; i < out->len; i++)
        if (out->data[i] == '\n') vec_push(a, &r->line, 0);
    *file = ptx_read(a, lined->data, lined->len);
    listing_strip(lined, out);
    listing_lines(lined, a, &r->line);
    r->root = fact_group(a, NULL, NULL);
    fact_text(a, r->root, "tilec", "%s", tile_version());
    fact_text(a, r->root, "file", "%s", source_shown_name(&r->s->source, &r->s->source));
    fact_text(a, r->root, "target", "%s", r->target->name);
    fact_why(a, r->root->last, "%s", r->target->gpus);
    Fact *list = fact_list(a, r->root, "kernels");
    int n = 0;
    for (const Func *f = r->m->funcs; f; f = f->next, n++) {
        ReportKernel k = {.f = f, .entry = entry[n]};
        for (int i = 0; i < file->kernels.n && !k.ptx; i++) {
            if (!ptx_is(file->kernels.at[i].name, entry[n])) continue;
            ptx_find_loops(a, &file->kernels.at[i]);
            fold_steps(a, f, &file->kernels.at[i]);
            k.ptx = &file->kernels.at[i];
        }
        if (k.ptx) vec_push(a, &r->kernels, k);
    }
    char version[32] = "";
    ask_assembler(r, out, version);
    for (int i = 0; i < r->kernels.n; i++)
        put_kernel(r, &r->kernels.at[i], arena_strdup(a, version), list);
    put_notes(r);
}
