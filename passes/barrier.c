/* barrier.c: puts a barrier where a thread may meet shared memory that another still uses.
 *
 * Going through the program in order, it keeps which bytes were read and which written since the
 * last barrier. A read of written bytes, or a write of read or written ones, needs a barrier before
 * it, which forgets all; but what a dot reads or a copy writes that nobody has waited for goes on
 * behind a barrier, too. Accesses of a loop's rings among each other are left to the pass that made
 * them (software_pipeline.c). Loops are gone through until the state at their end adds nothing to
 * the state at their start. Conservative within a thread: it may not know that the bytes are its
 * own. An op that uses shared memory within itself writes, waits for all threads, and reads: to
 * what is before it, it is a write, to what follows a barrier and a read. */
#include "ir/scratch.h"
#include "passes/pass.h"

#include <string.h>

typedef struct Interval {
    int64_t from, to;
    bool written;
    const Value *ring; /* NULL: no ring */
    bool under_way;    /* by a dot or a copy not waited for yet: no barrier ends that */
} Interval;

typedef struct Pending { /* what happened since the last barrier, or goes on */
    Interval *at;
    int n, cap;
} Pending;

static void note(PassCtx *ctx, Pending *p, Interval x) {
    for (int i = 0; i < p->n; i++)
        if (p->at[i].from <= x.from && x.to <= p->at[i].to && p->at[i].written == x.written &&
            p->at[i].ring == x.ring && p->at[i].under_way == x.under_way)
            return;
    vec_push(&ctx->s->arena, p, x);
}

static bool clashes(const Pending *p, Interval x) {
    for (int i = 0; i < p->n; i++)
        if (p->at[i].from < x.to && x.from < p->at[i].to && (p->at[i].written || x.written) &&
            !(x.ring && p->at[i].ring == x.ring))
            return true;
    return false;
}

static void merge(PassCtx *ctx, Pending *into, const Pending *from) {
    for (int i = 0; i < from->n; i++) note(ctx, into, from->at[i]);
}

static Pending copy_of(PassCtx *ctx, const Pending *p) {
    Pending c = {0};
    merge(ctx, &c, p);
    return c;
}

/* What a barrier ends. */
static void forget(Pending *p) {
    int kept = 0;
    for (int i = 0; i < p->n; i++)
        if (p->at[i].under_way) p->at[kept++] = p->at[i];
    p->n = kept;
}

/* All dots, or all copies, have been waited for by this thread: others' may still be under way. */
static void done(Pending *p, bool copies) {
    for (int i = 0; i < p->n; i++)
        if (p->at[i].written == copies) p->at[i].under_way = false;
}

static bool waits_for_all(const Op *op) {
    return (op->code == OP_DOT_WAIT || op->code == OP_ASYNC_WAIT) &&
           !ir_attr_int(op, AT_PENDING, 0) && !ir_attr_int(op, AT_ALONE, 0);
}

static Interval interval_of(const Value *buffer, bool written) {
    if (op_is(buffer, OP_RING_SLOT)) buffer = buffer->def->operand[0].value;
    const Op *def = buffer->def;
    bool ring = def->code == OP_RING_ALLOC;
    int64_t at = ir_attr_int(def, AT_OFFSET, 0);
    int64_t bytes = type_numel(buffer->type) * type_elem_bytes(buffer->type);
    /* From its first slot's begin to its last one's end, between which others' slots may lie. */
    if (ring) bytes += ring_bytes(def, true) - ring_stride(def);
    return (Interval){at, at + bytes, written, ring ? ring_first(def) : NULL, false};
}

static Interval scratch_of(const Op *op, bool written) {
    int64_t at = ir_attr_int(op, AT_OFFSET, 0);
    return (Interval){at, at + scratch_bytes(op), written, NULL, false};
}

/* The loop that fills the ring begins, maybe not for the first time, as in another loop: what was
 * there is to it like any other's. */
static void renew(Pending *p, const Value *ring) {
    for (int i = 0; i < p->n; i++)
        if (p->at[i].ring == ring) p->at[i].ring = NULL;
}

static void visit_block(PassCtx *ctx, Block *b, Pending *p);

static void visit_regions(PassCtx *ctx, Op *op, Pending *p) {
    if (op->code == OP_IF) {
        Pending other = copy_of(ctx, p);
        visit_block(ctx, op->region[0], p);
        visit_block(ctx, op->region[1], &other);
        merge(ctx, p, &other);
        return;
    }
    /* A loop: its body may run after itself, or not at all. */
    for (int before = -1; before != p->n;) {
        before = p->n;
        Pending end = copy_of(ctx, p);
        for (int r = 0; r < op->nregions; r++) visit_block(ctx, op->region[r], &end);
        merge(ctx, p, &end);
    }
}

static bool writes_shared(const Op *op) {
    return op->code == OP_SHARED_STORE || op->code == OP_ASYNC_COPY;
}

static void visit_block(PassCtx *ctx, Block *b, Pending *p) {
    for (Op *op = b->first; op; op = op->next) {
        if (op->code == OP_BARRIER) forget(p);
        if (waits_for_all(op)) done(p, op->code == OP_ASYNC_WAIT);
        if (op->code == OP_RING_ALLOC && !op->noperands) renew(p, op->result[0]);
        if (op->code == OP_RING_SLOT || op->code == OP_RING_ALLOC) continue; /* only says where */
        bool within = scratch_bytes(op) > 0;
        bool clash = within && clashes(p, scratch_of(op, true));
        for (int i = 0; i < op->noperands; i++)
            if (op->operand[i].value->type.shared &&
                clashes(p, interval_of(op->operand[i].value, writes_shared(op))))
                clash = true;
        if (clash) {
            Builder build = {ctx->s, ctx->f, b, op, op->span};
            ir_op(&build, OP_BARRIER, NULL, 0, NULL, 0, 0);
            forget(p);
            ctx->changed = true;
        }
        if (within) {
            forget(p);
            note(ctx, p, scratch_of(op, false));
        }
        for (int i = 0; i < op->noperands; i++)
            if (op->operand[i].value->type.shared) {
                Interval x = interval_of(op->operand[i].value, writes_shared(op));
                x.under_way = op->code == OP_ASYNC_COPY || ir_attr_int(op, AT_ASYNC, 0);
                note(ctx, p, x);
            }
        if (op->nregions) visit_regions(ctx, op, p);
    }
}

void pass_barrier(PassCtx *ctx) {
    Pending p = {0};
    visit_block(ctx, ctx->f->body, &p);
}
