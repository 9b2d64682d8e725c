/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* report_memory.c: accesses of memory -> their width, the sectors and banks that a warp's request
 * takes; buffers -> a map of shared memory. */
#include "compiler/report/mix.h"
#include "compiler/report/report.h"
#include "ir/analysis/affine.h"
#include "ir/analysis/alias.h"
#include "ir/analysis/sectors.h"
#include "ir/buffer.h"
#include "ir/desc.h"
#include "ir/effects.h"
#include "ir/fragment.h"
#include "ir/roles.h"

#include <stdlib.h>
#include <string.h>

/* ---- global memory ---- */

typedef struct Memory {
    Report *r;
    ReportKernel *k;
    AxisTable axis;
    AffineTable affine;
    Fact *list;
} Memory;

/* The tile of numbers that an access moves, and its pointers; false: it is no access by pointers.
 */
static bool access_of(const Op *op, const Value **pointer, const Value **tile) {
    *pointer = ir_operand(op, 0);
    switch (op->code) {
    case OP_LOAD:
    case OP_ATOMIC:
    case OP_ATOMIC_CAS:
    case OP_ATOMIC_LOAD: *tile = op->result[0]; return true;
    case OP_STORE:
    case OP_ATOMIC_STORE: *tile = op->operand[1].value; return true;
    case OP_ASYNC_COPY: *tile = *pointer; return true;
    default: return false;
    }
}

static const char *of_what(const Memory *m, const Value *pointer) {
    const char *name = report_param(m->k->f, pointer);
    if (name) return name;
    const Value *v = alias_underlying_object(pointer);
    return v && op_is(v, OP_WORKSPACE) ? "the workspace" : "memory";
}

static void put_where(Memory *m, const Op *op, Fact *f) {
    Arena *a = &m->r->s->arena;
    const Op *loop = report_loop_around(op);
    int role = role_of_block(op->block);
    f->line = op->listed;
    f->at = report_line(m->r, op->span);
    if (loop) fact_place(a, f, "in_loop_at", report_line(m->r, loop->span));
    if (role >= 0) fact_text(a, f, "role", "%s", role_name(a, roles_of(m->k->f), role));
}

static void put_sectors(Memory *m, const Value *pointer, const Layout *l, int vector, Fact *f) {
    Arena *a = &m->r->s->arena;
    Sectors s = sectors_of(&m->axis, &m->affine, pointer, l, vector);
    if (!s.known) {
        fact_text(a, f, "sectors_per_request", "not known");
        fact_why(a, f->last, "the addresses are data, or strides of which nothing is promised");
        return;
    }
    double least = (double)s.least / s.requests;
    Fact *x = fact_real(a, f, "sectors_per_request", (double)s.touched / s.requests);
    fact_why(a, x, "its bytes would fill %.4g%s", least,
             s.most > s.touched ? "; where its rows begin at a sector, which is not promised" : "");
    if (s.most > s.touched) fact_real(a, f, "sectors_at_most", (double)s.most / s.requests);
}

static void put_pointer_access(Memory *m, const Op *op, const Value *pointer, const Value *tile) {
    Arena *a = &m->r->s->arena;
    Type t = type_pointee(pointer->type);
    int vector = (int)ir_attr_int(op, AT_VECTOR, 1), size = type_elem_bytes(t);
    const char *begin = op->code == OP_STORE ? "this store" : "this load";
    Fact *f = fact_item(a, m->list, "%s of %s", op_info[op->code].text, of_what(m, pointer));
    put_where(m, op, f);
    fact_text(a, f, "tile", "%s", type_text(a, t));
    Fact *width = fact_number(a, f, "bytes_per_lane", (int64_t)vector * size);
    const char *why = report_note(m->r, op->span, begin);
    if (why) fact_why(a, width, "%s", why);
    if (tile->layout) {
        int warps = warps_of_value(m->k->f, tile);
        fact_why(a,
                 fact_number(a, f, "requests_per_warp",
                             ((int64_t)1 << tile->layout->bits[IN_REG]) / vector),
                 "%lld elements, %d a lane at once, %d warp%s", (long long)type_numel(t), vector,
                 warps, warps == 1 ? "" : "s");
        put_sectors(m, pointer, tile->layout, vector, f);
    }
    fact_text(a, f, "masked", "%s", ir_access_mask(op) ? "yes" : "no");
    const Attr *cache = ir_attr(op, AT_CACHE), *evict = ir_attr(op, AT_EVICT);
    if (cache && cache->i) fact_text(a, f, "cache", "%s", attr_words(AT_CACHE)[cache->i]);
    if (evict && evict->i) fact_text(a, f, "evict", "%s", attr_words(AT_EVICT)[evict->i]);
}

static void put_desc_access(Memory *m, const Op *op) {
    Arena *a = &m->r->s->arena;
    const Value *v = op->operand[0].value;
    const Op *desc = op_is(v, OP_MAKE_DESC) ? v->def : NULL;
    Fact *f = fact_item(a, m->list, "%s of %s", op_info[op->code].text,
                        desc ? of_what(m, desc->operand[0].value) : "a descriptor");
    put_where(m, op, f);
    Type t = type_in_space(v->type, SPACE_REGISTER);
    fact_text(a, f, "tile", "%s", type_text(a, t));
    fact_text(a, f, "by", "the copy engine (TMA)");
    DescBox box;
    if (!desc || !v->layout || desc_boxes(desc, v->layout, &box)) return;
    fact_number(a, f, "boxes", box.boxes);
    fact_number(a, f, "swizzle_bytes", box.swizzle);
    int64_t row = (int64_t)box.dim[t.rank - 1] * type_elem_bytes(t);
    fact_why(a, fact_number(a, f, "bytes_of_a_row", row), "of a box");
}

static void put_access(Op *op, void *user) {
    Memory *m = user;
    const Value *pointer, *tile;
    if (access_of(op, &pointer, &tile) && type_is_pointer(pointer->type))
        put_pointer_access(m, op, pointer, tile);
    else if (op->code == OP_ASYNC_DESC_LOAD || op->code == OP_MBAR_DESC_LOAD ||
             op_is_async_store(op))
        put_desc_access(m, op);
    else
        return;
    fact_merge_last(&m->r->s->arena, m->list);
}

void report_accesses(Report *r, ReportKernel *k) {
    Memory m = {.r = r,
                .k = k,
                .axis = axis_analyse(r->s, k->f),
                .affine = affine_analyse(r->s, k->f),
                .list = fact_list(&r->s->arena, k->facts, "global_memory")};
    ir_walk(k->f->body, put_access, &m);
}

/* ---- shared memory ---- */

/* Some offset's bit moves more than one of the element's. */
static bool is_swizzled(const Layout *l) {
    for (int i = 0; i < l->bits[IN_OFFSET]; i++)
        if (l->basis[IN_OFFSET][i] & (l->basis[IN_OFFSET][i] - 1)) return true;
    return false;
}

static uint32_t last_line(const Block *b) {
    uint32_t line = 0;
    for (const Op *op = b->first; op; op = op->next) {
        if (op->listed > line) line = op->listed;
        for (int i = 0; i < op->nregions; i++) {
            uint32_t inner = last_line(op->region[i]);
            if (inner > line) line = inner;
        }
    }
    return line;
}

typedef struct Uses { /* of a buffer: the lines of the ops that name it */
    uint32_t first, last;
} Uses;

/* A loop around a use that the buffer's own op is not in goes on using it up to its end. */
static void add_uses(const Value *v, const Op *alloc, Uses *u) {
    for (const Use *use = v->uses; use; use = use->next) {
        const Op *op = use->op, *at = op;
        uint32_t line = op->listed;
        for (const Block *b = op->block; b && b != alloc->block && b->parent;
             b = b->parent->block) {
            at = b->parent;
            if (at->code == OP_FOR || at->code == OP_WHILE) line = last_line(at->region[0]);
        }
        if (!u->first || op->listed < u->first) u->first = op->listed;
        if (line > u->last) u->last = line;
        for (int i = 0; i < op->nresults; i++)
            if (type_is_buffer(op->result[i]->type)) add_uses(op->result[i], alloc, u);
    }
}

static void put_buffer(Memory *m, const Op *alloc) {
    Arena *a = &m->r->s->arena;
    const Value *v = alloc->result[0];
    Type one = v->type;
    one.slices = 0;
    int slices = buffer_slices(alloc);
    Uses uses = {0, 0};
    add_uses(v, alloc, &uses);
    Fact *f = fact_item(a, m->list, "%s", report_buffer(m->r, m->k->f, alloc));
    f->line = alloc->listed;
    f->at = report_line(m->r, alloc->span);
    if (slices > 1) fact_number(a, f, "slots", slices);
    fact_text(a, f, "holds", "%s", type_text(a, one));
    fact_number(a, f, "offset", ir_attr_int(alloc, AT_OFFSET, 0));
    fact_number(a, f, "slot_bytes", buffer_slice_bytes(alloc));
    if (slices > 1) fact_number(a, f, "slot_stride", buffer_stride(alloc));
    fact_number(a, f, "bytes", buffer_bytes(alloc));
    fact_number(a, f, "first_ir_line", uses.first)->place = true;
    fact_number(a, f, "last_ir_line", uses.last)->place = true;
    if (v->layout) fact_text(a, f, "swizzled", "%s", is_swizzled(v->layout) ? "yes" : "no");
}

static void find_buffer(Op *op, void *user) {
    if (op->code == OP_BUFFER_ALLOC) put_buffer(user, op);
}

static void put_conflict(Memory *m, const Op *op, const char *what, const Value *buffer,
                         const Layout *lanes, int vector) {
    Arena *a = &m->r->s->arena;
    const Op *alloc = buffer_alloc(buffer);
    int size = type_elem_bytes(buffer->type), ways;
    if (!lanes || !buffer->layout) return;
    ways = 1 << layout_bank_conflict(lanes, buffer->layout, size, vector);
    Fact *f = fact_item(a, m->list, "%s %s", what,
                        alloc ? report_buffer(m->r, m->k->f, alloc) : "a buffer");
    put_where(m, op, f);
    fact_number(a, f, "bytes_per_lane", (int64_t)size << vector);
    Fact *w = fact_number(a, f, "ways", ways);
    if (ways > 1) fact_why(a, w, "so many lanes want another word of the same bank");
    fact_merge_last(a, m->list);
}

/* A matrix's rows, or columns, of 16 bytes, which a lane each names. */
static Layout matrix_rows(const Layout *l, MatrixForm form) {
    Layout all = layout_matrix_rows(l, form), rows = {.out = l->out};
    for (int i = 0; i < MATRIX_PAIR + MATRIX_QUAD; i++)
        layout_push(&rows, IN_LANE, all.basis[IN_LANE][i]);
    return rows;
}

static void put_operands(Memory *m, const Op *dot) {
    if (!fragment_in_lanes(dot)) return;
    const Attr *vectors = ir_attr(dot, AT_VECTORS);
    for (int i = 0; i < 2; i++) {
        const Value *buffer = dot->operand[i].value;
        Layout at = fragment_layout(dot, i);
        bool matrices = ir_attr_int(dot, AT_LDMATRIX, 0) >> i & 1;
        int row = log2_of(16 / type_elem_bytes(buffer->type));
        put_conflict(m, dot, matrices ? "ldmatrix of" : "ld of", buffer, &at,
                     matrices  ? row
                     : vectors ? vectors->dims[i]
                               : 0);
    }
}

static void find_access(Op *op, void *user) {
    Memory *m = user;
    int vector = log2_of(ir_attr_int(op, AT_VECTOR, 1));
    const Value *x = ir_operand(op, 0), *y = ir_operand(op, 1);
    switch (op->code) {
    case OP_SHARED_LOAD: put_conflict(m, op, "ld of", x, op->result[0]->layout, vector); break;
    case OP_SHARED_STORE:
        if (ir_attr_int(op, AT_MATRIX, MATRIX_NONE) && x->layout) {
            MatrixForm form = (MatrixForm)ir_attr_int(op, AT_MATRIX, MATRIX_NONE);
            Layout rows = matrix_rows(x->layout, form);
            put_conflict(m, op, "stmatrix to", y, &rows, 3);
        } else {
            put_conflict(m, op, "st to", y, x->layout, vector);
        }
        break;
    case OP_ASYNC_COPY: put_conflict(m, op, "cp.async to", y, x->layout, vector); break;
    case OP_DOT: put_operands(m, op); break;
    default: break;
    }
}

void report_shared_memory(Report *r, ReportKernel *k) {
    Arena *a = &r->s->arena;
    Memory m = {.r = r, .k = k};
    Fact *shared = fact_group(a, k->facts, "shared_memory");
    fact_number(a, shared, "bytes", k->f->shared_bytes > 0 ? k->f->shared_bytes : 0);
    if (k->f->shared_single_cta)
        fact_why(a, fact_number(a, shared, "bytes_alone", k->f->shared_single_cta),
                 "of a program that has its multiprocessor to itself");
    m.list = fact_list(a, shared, "buffers");
    ir_walk(k->f->body, find_buffer, &m);
    m.list = fact_list(a, shared, "accesses");
    ir_walk(k->f->body, find_access, &m);
}
