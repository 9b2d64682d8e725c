/* place.c: every shared buffer -> a byte offset, dead space used again.
 *
 * Ops are numbered in program order; a buffer lives from its first use to its last, and when a loop
 * encloses a use but not the allocation, through the whole loop. What an op uses within itself
 * (ir/scratch.h) lives at that op only. Buffers whose lives overlap get
 * disjoint space, the others may share; barriers (barrier.c, run after this) make sharing safe. */
#include "ir/scratch.h"
#include "ir/target.h"
#include "passes/pass.h"

#include <string.h>

typedef struct Slot {
    Op *op; /* a shared_alloc, or an op that uses the bytes within itself */
    int first, last;
    int64_t bytes, offset;
} Slot;

typedef struct Place {
    PassCtx *ctx;
    int *number; /* by id of a buffer's value: slot index + 1 */
    VEC(Slot) slots;
    int clock;
} Place;

enum { SHARED_ALIGN = 128, SWIZZLE_ALIGN = 1024 };

static void use_buffer(Place *p, const Value *v, int from, int to) {
    Slot *s = &p->slots.at[p->number[v->id] - 1];
    if (from < s->first || s->first < 0) s->first = from;
    if (to > s->last) s->last = to;
}

static void number_block(Place *p, Block *b) {
    for (Op *op = b->first; op; op = op->next) {
        int start = p->clock++;
        if (op->code == OP_SHARED_ALLOC || op->code == OP_RING_ALLOC) {
            Value *v = op->result[0];
            int64_t bytes = type_numel(v->type) * type_elem_bytes(v->type);
            bytes *= ir_attr_int(op, AT_SLOTS, 1);
            Slot slot = {op, -1, -1, bytes, 0};
            vec_push(&p->ctx->s->arena, &p->slots, slot);
            p->number[v->id] = p->slots.n;
        }
        int64_t scratch = scratch_bytes(op);
        if (scratch) {
            Slot slot = {op, start, start, scratch, 0};
            vec_push(&p->ctx->s->arena, &p->slots, slot);
        }
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
        for (int j = 0; j < i; j++) {
            const Slot *o = &p->slots.at[j];
            if (!overlap(s, o) || at + s->bytes <= o->offset || o->offset + o->bytes <= at)
                continue;
            at = (o->offset + o->bytes + align - 1) / align * align;
            moved = true;
        }
    }
    return at;
}

void pass_place(PassCtx *ctx) {
    Place p = {.ctx = ctx};
    p.number = arena_array(&ctx->s->arena, ctx->f->nvalues, sizeof *p.number);
    number_block(&p, ctx->f->body);
    int64_t total = 0;
    for (int i = 0; i < p.slots.n; i++) {
        Slot *s = &p.slots.at[i];
        s->offset = fit(&p, i);
        if (s->offset + s->bytes > total) total = s->offset + s->bytes;
        ir_set_attr(ctx->s, s->op, AT_OFFSET, s->offset);
    }
    ctx->f->shared_bytes = total;
    if (total > ctx->target->max_shared)
        diag(
            &ctx->s->diags, DIAG_PERF, ctx->f->span,
            "kernel '%s' needs %lld bytes of shared memory; %s has %lld per program, so loading it "
            "there will be refused. Smaller blocks would need less",
            ctx->f->name, (long long)total, ctx->target->name, (long long)ctx->target->max_shared);
    ctx->changed = true;
}
