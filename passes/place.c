/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* place.c: every shared buffer -> a byte offset, dead space used again.
 *
 * Ops are numbered in program order; a buffer lives from its first use to its last, and when a loop
 * encloses a use but not the allocation, through the whole loop. What an op uses within itself
 * (ir/scratch.h) lives at that op only. Buffers whose lives overlap get
 * disjoint space, the others may share; barriers (barrier.c, run after this) make sharing safe.
 *
 * Rings that have more slots where a program is alone on its multiprocessor go last, above all that
 * lives with them: so launched with less memory, all but those slots is there. */
#include "ir/scratch.h"
#include "ir/target.h"
#include "passes/pass.h"

#include <string.h>

typedef struct Slot {
    Op *op; /* a shared_alloc, or an op that uses the bytes within itself */
    int first, last;
    int64_t bytes, offset;
    int64_t alone; /* bytes, where a program is alone */
    bool placed;
} Slot;

typedef struct Place {
    PassCtx *ctx;
    int *number; /* by id of a buffer's value: slot index + 1 */
    VEC(Slot) slots;
    VEC(Op *) between; /* rings that lie between the slots of another */
    int clock;
} Place;

enum { SHARED_ALIGN = 128, SWIZZLE_ALIGN = 1024 };

static void use_buffer(Place *p, const Value *v, int from, int to) {
    Slot *s = &p->slots.at[p->number[v->id] - 1];
    if (from < s->first || s->first < 0) s->first = from;
    if (to > s->last) s->last = to;
}

static void add(Place *p, Op *op, int lives, int64_t bytes, int64_t alone) {
    Slot slot = {op, lives, lives, bytes, 0, alone, false};
    vec_push(&p->ctx->s->arena, &p->slots, slot);
    if (lives < 0) p->number[op->result[0]->id] = p->slots.n;
}

static void number_block(Place *p, Block *b) {
    for (Op *op = b->first; op; op = op->next) {
        int start = p->clock++;
        if (op->code == OP_RING_ALLOC && op->noperands) {
            p->number[op->result[0]->id] = p->number[ring_first(op)->id];
            vec_push(&p->ctx->s->arena, &p->between, op);
        } else if (op->code == OP_RING_ALLOC) {
            add(p, op, -1, ring_bytes(op, false), ring_bytes(op, true));
        } else if (op->code == OP_SHARED_ALLOC) {
            const Type t = op->result[0]->type;
            int64_t bytes = type_bytes(t);
            add(p, op, -1, bytes, bytes);
        }
        int64_t scratch = scratch_bytes(op);
        if (scratch) add(p, op, start, scratch, scratch);
        if (op->code == OP_RING_SLOT) /* a use of it is a use of its ring */
            p->number[op->result[0]->id] = p->number[op->operand[0].value->id];
        for (int i = 0; i < op->noperands; i++)
            if (op->operand[i].value->type.shared)
                use_buffer(p, op->operand[i].value, start, start);
        for (int r = 0; r < op->nregions; r++) number_block(p, op->region[r]);
        p->clock++;
        /* A buffer allocated outside a loop and used in it lives through all of its iterations. */
        if (op->code == OP_FOR || op->code == OP_WHILE)
            for (int i = 0; i < p->slots.n; i++) {
                Slot *s = &p->slots.at[i];
                if (s->last >= start && !ir_inside(s->op, op))
                    use_buffer(p, s->op->result[0], start, p->clock);
            }
    }
}

static bool overlap(const Slot *a, const Slot *b) {
    return a->first <= b->last && b->first <= a->last;
}

/* The lowest offset at which slot i clears every placed slot that lives at the same time. */
static int64_t fit(const Place *p, int i) {
    const Slot *s = &p->slots.at[i];
    int64_t align = s->bytes >= SWIZZLE_ALIGN ? SWIZZLE_ALIGN : SHARED_ALIGN, at = 0;
    for (bool moved = true; moved;) {
        moved = false;
        for (int j = 0; j < p->slots.n; j++) {
            const Slot *o = &p->slots.at[j];
            if (!o->placed || !overlap(s, o) || at + s->bytes <= o->offset ||
                o->offset + o->bytes <= at)
                continue;
            at = (o->offset + o->bytes + align - 1) / align * align;
            moved = true;
        }
    }
    return at;
}

/* The lowest offset of slot i above all placed slots that live at the same time. */
static int64_t above(const Place *p, int i) {
    int64_t at = 0;
    for (int j = 0; j < p->slots.n; j++) {
        const Slot *o = &p->slots.at[j];
        if (o->placed && overlap(&p->slots.at[i], o) && o->offset + o->alone > at)
            at = o->offset + o->alone;
    }
    return (at + SWIZZLE_ALIGN - 1) / SWIZZLE_ALIGN * SWIZZLE_ALIGN;
}

/* Code for the oldest target is what is made for GPUs that are not known; some later ones have less
 * shared memory. */
static void note_smaller(const PassCtx *ctx, int64_t bytes) {
    const Target *own = ctx->target;
    Buf names = buf_new(&ctx->s->arena);
    int64_t most = 0;
    if (own != &target_table[0]) return;
    for (int i = 0; i < target_count; i++) {
        const Target *t = &target_table[i];
        if (t == own || !target_runs(own, t->sm) || bytes <= t->max_shared) continue;
        buf_printf(&names, "%s%s", names.len ? ", " : "", t->name);
        if (t->max_shared > most) most = t->max_shared;
    }
    if (names.len)
        diag(&ctx->s->diags, DIAG_PERF, ctx->f->span,
             "kernel '%s' needs %lld bytes of shared memory: more than %lld, which some GPUs have "
             "on which code for %s runs otherwise (%s). --target names the GPU; smaller blocks "
             "would "
             "need less",
             ctx->f->name, (long long)bytes, (long long)most, own->name, names.data);
}

void pass_place(PassCtx *ctx) {
    Place p = {.ctx = ctx};
    p.number = arena_array(&ctx->s->arena, ctx->f->nvalues, sizeof *p.number);
    number_block(&p, ctx->f->body);
    int64_t total = 0, alone = 0;
    bool deeper = false;
    for (int more = 0; more <= 1; more++)
        for (int i = 0; i < p.slots.n; i++) {
            Slot *s = &p.slots.at[i];
            if ((s->alone > s->bytes) != (more == 1)) continue;
            deeper |= more == 1;
            s->offset = more ? above(&p, i) : fit(&p, i);
            s->placed = true;
            if (s->offset + s->bytes > total) total = s->offset + s->bytes;
            if (s->offset + s->alone > alone) alone = s->offset + s->alone;
            ir_set_attr(ctx->s, s->op, AT_OFFSET, s->offset);
        }
    for (int i = 0; i < p.between.n; i++) {
        Op *op = p.between.at[i];
        int64_t offset = p.slots.at[p.number[op->result[0]->id] - 1].offset;
        ir_set_attr(ctx->s, op, AT_OFFSET, offset + ir_attr_int(op, AT_WITHIN, 0));
    }
    ctx->f->shared_bytes = total;
    /* Where other buffers need as much at another time, alone is total: then it always is. */
    ctx->f->shared_alone = deeper && alone <= ctx->target->max_shared ? alone : 0;
    if (total > ctx->target->max_shared)
        diag(
            &ctx->s->diags, DIAG_PERF, ctx->f->span,
            "kernel '%s' needs %lld bytes of shared memory; %s has %lld per program, so loading it "
            "there will be refused. Smaller blocks would need less",
            ctx->f->name, (long long)total, ctx->target->name, (long long)ctx->target->max_shared);
    else
        note_smaller(ctx, total);
    ctx->changed = true;
}
