/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* buffers.c: a function's buffers -> where they lie in a program's shared memory. */
#include "ir/buffer.h"
#include "ir/desc.h"
#include "ir/interp/machine.h"

#include <string.h>

#define SHARED_LIMIT ((int64_t)64 << 20) /* far more than any target has */

typedef struct Buffers {
    Run *r;
    SharedBuffer **of; /* by value id */
    bool failed;
} Buffers;

static void fail(Buffers *c, const Op *op, const char *text) {
    if (!c->failed) diag(&c->r->s->diags, E_CPU_LACKS, op->span, "%s", text);
    c->failed = true;
}

static bool map_elements(Buffers *c, const Op *op, SharedBuffer *b) {
    const Layout *l = op->result[0]->layout;
    if (!l) return true;
    b->offset_of = arena_array(&c->r->s->arena, (size_t)b->lanes, sizeof *b->offset_of);
    uint8_t *held = arena_alloc(&c->r->s->arena, (size_t)b->lanes);
    if (l->bits[IN_OFFSET] > LAYOUT_MAX_BITS) return false;
    Packing packing = op->code == OP_BUFFER_ALLOC ? buffer_packing(op) : (Packing){0};
    for (uint32_t at = 0; at < 1u << l->bits[IN_OFFSET]; at++) {
        uint32_t element = 0;
        for (int i = 0; i < l->bits[IN_OFFSET]; i++)
            if (at >> i & 1) element ^= l->basis[IN_OFFSET][i];
        if (element >= b->lanes || at >= b->lanes || held[element]) return false;
        held[element] = 1;
        b->offset_of[element] = (uint32_t)buffer_packed(packing, at);
    }
    return !memchr(held, 0, (size_t)b->lanes);
}

/* What the value of a slice, and what loops and branches hand on of it, names is the whole buffer;
 * the value is a number. */
static void name_slices(Buffers *c, Value *const *v, int n) {
    for (int i = 0; i < n; i++) {
        const Op *alloc = type_is_buffer(v[i]->type) ? buffer_alloc(v[i]) : NULL;
        if (alloc) c->of[v[i]->id] = c->of[alloc->result[0]->id];
    }
}

/* The same bytes, whose elements are numbered otherwise. */
static void view_transposed(Buffers *c, const Op *op) {
    Arena *a = &c->r->s->arena;
    const SharedBuffer *of = c->of[op->operand[0].value->id];
    const Strides *from = plan_strided(a, op);
    if (!of) return;
    SharedBuffer *b = arena_copy(a, of, sizeof *of);
    uint32_t *offset_of = of->offset_of;
    if (!offset_of) {
        offset_of = arena_array(a, (size_t)of->lanes, sizeof *offset_of);
        for (uint32_t e = 0; e < of->lanes; e++) offset_of[e] = e;
    }
    b->offset_of = arena_array(a, (size_t)b->lanes, sizeof *b->offset_of);
    strided_copy(from, b->offset_of, offset_of, sizeof *offset_of);
    if (of->live) b->live = arena_alloc(a, (size_t)b->lanes);
    if (of->live) strided_copy(from, b->live, of->live, sizeof *of->live);
    c->of[op->result[0]->id] = b;
}

/* The same bytes, in the layout of the view. */
static void view_reinterpreted(Buffers *c, const Op *op) {
    const SharedBuffer *of = c->of[op->operand[0].value->id];
    if (!of) return;
    SharedBuffer *b = arena_copy(&c->r->s->arena, of, sizeof *of);
    b->offset_of = NULL;
    if (!map_elements(c, op, b)) fail(c, op, "the view's layout does not hold each element once");
    c->of[op->result[0]->id] = b;
}

uint8_t *live_elements(Arena *a, const Op *op, Type t) {
    uint8_t *live = arena_alloc(a, (size_t)type_numel(t));
    for (int64_t e = 0; e < type_numel(t); e++) live[e] = desc_is_live(op, t, e);
    return live;
}

static void lay_out_buffer(Op *op, void *ctx) {
    Buffers *c = ctx;
    Run *r = c->r;
    if (op->code == OP_BUFFER_TRANS)
        view_transposed(c, op);
    else if (op->code == OP_BUFFER_REINTERPRET)
        view_reinterpreted(c, op);
    else if (op->code != OP_BUFFER_ALLOC)
        name_slices(c, op->result, op->nresults);
    for (int i = 0; i < op->nregions; i++)
        name_slices(c, op->region[i]->args, op->region[i]->nargs);
    if (op->code != OP_BUFFER_ALLOC || c->failed) return;
    Type t = op->result[0]->type;
    if (t.space == SPACE_TENSOR) {
        fail(c, op, "the CPU device has no tensor memory");
        return;
    }
    SharedBuffer *b = arena_alloc(&c->r->s->arena, sizeof *b);
    *b = (SharedBuffer){.op = op,
                        .lanes = type_numel(t),
                        .number = (uint16_t)++r->nshared,
                        .of_warps = buffer_is_of_warps(op)};
    b->slices = buffer_slices(op);
    b->bytes =
        t.space == SPACE_SHARED ? buffer_slice_bytes(op) : b->lanes * (int64_t)stored_bytes(t);
    if (ir_attr(op, AT_LIVE))
        b->live = live_elements(&r->s->arena, op, type_in_space(t, SPACE_REGISTER));
    b->stride = ir_attr_int(op, AT_STRIDE, b->bytes);
    b->mbarrier = r->nmbarriers;
    if (t.space == SPACE_BARRIER) r->nmbarriers += (int)b->slices;
    b->at = ir_attr_int(op, AT_OFFSET, (r->shared_bytes + 15) & ~(int64_t)15);
    if (b->stride < b->bytes || b->stride > SHARED_LIMIT || b->at < 0 || b->at > SHARED_LIMIT) {
        fail(c, op, "more than 64 MB of shared memory, the limit");
        return;
    }
    int64_t all = (b->slices - 1) * b->stride + b->bytes;
    if (b->at > SHARED_LIMIT - all || r->nshared > UINT16_MAX)
        fail(c, op, "more than 64 MB of shared memory, the limit");
    else if (!map_elements(c, op, b))
        fail(c, op, "the buffer's layout does not hold each element once");
    if (b->at + all > r->shared_bytes && !c->failed) r->shared_bytes = b->at + all;
    c->of[op->result[0]->id] = b;
}

SharedBuffer **interp_buffers(Run *r) {
    const Func *f = r->launch->func;
    Buffers b = {.r = r, .of = arena_array(&r->s->arena, f->nvalues, sizeof *b.of)};
    ir_walk(f->body, lay_out_buffer, &b);
    return b.failed ? NULL : b.of;
}
