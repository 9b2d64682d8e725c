/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* allocate.c: every shared buffer -> a byte offset, dead space used again.
 *
 * Ops are numbered in program order; a buffer lives from its first use to its last, and when a loop
 * encloses a use but not the allocation, through the whole loop. Buffers whose lives overlap get
 * disjoint space, the others may share; barriers (barrier.c, run after this) make sharing safe.
 * What a dot or a copy to memory reads behind the program lives until that is waited for; what a
 * copy fills that nobody reads, to the end.
 *
 * Buffers of several slices that one loop fills lie between each other: a stage of the loop, a
 * slice of each, the larger before the smaller, is one piece of memory, and the address of each
 * slice the first one's and a constant.
 *
 * A program goes one way at a branch whose condition no loop changes: what is used in that way
 * alone and what is used in the other alone may lie in one place, whatever lives when. What one
 * role of a program uses lives as long as any goes on, but beside what that role uses before and
 * after.
 *
 * What is used only where a program has an SM to itself is allocated when all else is, so that this
 * lies the same in a program launched with less memory. */
#include "ir/buffer.h"
#include "ir/effects.h"
#include "ir/target.h"
#include "passes/pass.h"

#include <string.h>

typedef enum Reader { STORES, DOTS, READERS } Reader; /* behind the program */

typedef struct Slot {
    Op *alloc;
    int first, last;
    const Block *role; /* it is this role's alone, which uses it from and to: */
    int role_first, role_last;
    int64_t bytes, offset;
    bool single;    /* used only where a program has an SM to itself */
    const Op *loop; /* that fills its slices */
    bool allocated;
    BranchWays inside;             /* of branches, are all accesses */
    bool filled, read;             /* by copies, and not read since; at all */
    const Block *started[READERS]; /* around all that may still read it; NULL: nothing does */
} Slot;

typedef struct Member { /* of a stage: one of the buffers that share a slot */
    Op *alloc;
    int slot;
    int64_t offset; /* interleave offset: bytes from where the stage begins */
} Member;

typedef struct Awaited { /* a wait for a copy into the buffer */
    const Op *wait;
    int slot;
} Awaited;

typedef struct Allocation {
    PassCtx *ctx;
    int *number; /* by id of a buffer's value: slot index + 1 */
    VEC(Awaited) awaited;
    uint8_t *seen; /* by value id: waits for what it is of are known */
    VEC(Slot) slots;
    VEC(Member) members;
    int clock;
} Allocation;

enum { SHARED_ALIGN = 128, SWIZZLE_ALIGN = 1024 };

static bool in_shared_memory(Type t) {
    return t.space == SPACE_SHARED || t.space == SPACE_BARRIER;
}

static bool holds_barriers(const Slot *s) {
    return s->alloc->result[0]->type.space == SPACE_BARRIER;
}

static void live(Slot *s, int from, int to) {
    if (from < s->first || s->first < 0) s->first = from;
    if (to > s->last) s->last = to;
}

static void use_buffer(Allocation *p, const Value *v, int from, int to) {
    live(&p->slots.at[p->number[v->id] - 1], from, to);
}

/* In the version of a loop for a program that has an SM to itself. */
static bool is_for_single(const Op *op) {
    for (const Block *b = op->block; b->parent; b = b->parent->block)
        if (b->parent->code == OP_IF && b == b->parent->region[0] &&
            op_is(b->parent->operand[0].value, OP_SINGLE_CTA))
            return true;
    return false;
}

/* The loop beside the allocation in which the buffer's slices are used; NULL: none. */
static const Op *loop_of(const Op *alloc) {
    for (const Use *u = alloc->result[0]->uses; u; u = u->next) {
        const Op *op = u->op;
        while (op->block != alloc->block) op = op->block->parent;
        if (op->code == OP_FOR || op->code == OP_WHILE || op->code == OP_WARPS) return op;
    }
    return NULL;
}

/* What all accesses through v are in; *some: there are such. */
static BranchWays ways_of_accesses(const Value *v, bool *some) {
    BranchWays all = {0};
    *some = false;
    for (const Use *u = v->uses; u; u = u->next) {
        bool is = true, through = u->op->code == OP_BUFFER_SLICE || buffer_is_view(u->op);
        BranchWays w = through ? ways_of_accesses(u->op->result[0], &is) : ir_ways_of(u->op);
        if (!is) continue;
        all = *some ? ways_of_both(&all, &w) : w;
        *some = true;
    }
    return all;
}

/* A buffer of several slices joins others of as many that its loop fills, where a program that uses
 * one may use the other. */
static void add_slices(Allocation *p, Op *alloc) {
    bool apart = alloc->result[0]->type.space == SPACE_BARRIER; /* not worth a stage's alignment */
    bool some;
    BranchWays inside = ways_of_accesses(alloc->result[0], &some);
    const Op *loop = apart ? NULL : loop_of(alloc);
    int i = p->slots.n;
    while (loop && i > 0) {
        Slot *s = &p->slots.at[--i];
        if (s->loop == loop && buffer_slices(s->alloc) == buffer_slices(alloc) &&
            !ways_exclude(&s->inside, &inside)) {
            vec_push(&p->ctx->s->arena, &p->members, ((Member){alloc, i, 0}));
            p->number[alloc->result[0]->id] = i + 1;
            s->inside = ways_of_both(&s->inside, &inside);
            return;
        }
    }
    Slot slot = {alloc, -1, -1, .single = is_for_single(alloc), .loop = loop, .inside = inside};
    vec_push(&p->ctx->s->arena, &p->slots, slot);
    p->number[alloc->result[0]->id] = p->slots.n;
    vec_push(&p->ctx->s->arena, &p->members, ((Member){alloc, p->slots.n - 1, 0}));
}

/* Larger slices first: sizes are powers of two, or multiples of what swizzles repeat after. */
static void lay_out_stage(Allocation *p, int slot) {
    Slot *s = &p->slots.at[slot];
    int64_t stride = 0;
    int n = 0;
    for (int i = 0; i < p->members.n; i++) {
        Member *m = &p->members.at[i];
        int64_t bytes = buffer_slice_bytes(m->alloc);
        if (m->slot != slot) continue;
        for (int k = 0; k < p->members.n; k++) {
            const Member *o = &p->members.at[k];
            int64_t other = buffer_slice_bytes(o->alloc);
            if (o->slot == slot && (other > bytes || (other == bytes && k < i))) m->offset += other;
        }
        stride += bytes;
        n++;
    }
    if (n > 1) stride = (stride + SWIZZLE_ALIGN - 1) / SWIZZLE_ALIGN * SWIZZLE_ALIGN;
    for (int i = 0; i < p->members.n && n > 1; i++)
        if (p->members.at[i].slot == slot)
            ir_set_attr(p->ctx->s, p->members.at[i].alloc, AT_STRIDE, stride);
    s->bytes = stride * buffer_slices(s->alloc);
}

static bool encloses(const Block *outer, const Block *b) {
    while (b && b != outer) b = b->parent ? b->parent->block : NULL;
    return b != NULL;
}

typedef struct Follow {
    Allocation *p;
    const Value *v;
    int slot;
} Follow;

static void find_waits(Allocation *p, const Value *v, int slot);

static void follow(Value *from, Value *to, void *ctx) {
    const Follow *f = ctx;
    if (from == f->v) find_waits(f->p, to, f->slot);
}

/* v is a token of a copy into the slot, or says which barrier it comes to. */
static void find_waits(Allocation *p, const Value *v, int slot) {
    Follow f = {p, v, slot};
    if (p->seen[v->id]) return;
    p->seen[v->id] = 1;
    for (const Use *u = v->uses; u; u = u->next) {
        const Op *op = u->op;
        switch (op->code) {
        case OP_ASYNC_COMMIT:
        case OP_BUFFER_SLICE:
        case OP_BUFFER_REINTERPRET:
        case OP_BUFFER_TRANS: find_waits(p, op->result[0], slot); break;
        case OP_YIELD:
        case OP_CONDITION: ir_each_flow(op->block->parent, follow, &f); break;
        case OP_ASYNC_WAIT:
        case OP_MBAR_WAIT: vec_push(&p->ctx->s->arena, &p->awaited, ((Awaited){op, slot})); break;
        default: ir_each_flow(op, follow, &f);
        }
    }
}

/* A copy into a slice may go on when its loop, and the last read of the buffer, have ended. */
static void note_copy(Allocation *p, const Op *op, int slot) {
    const Value *of = op->nresults ? op->result[0] : op->operand[2].value;
    if (!op->nresults && op_is(of, OP_BUFFER_SLICE)) of = of->def->operand[1].value;
    if (op_is(of, OP_CONST)) return; /* of other copies, too */
    memset(p->seen, 0, p->ctx->f->nvalues);
    find_waits(p, of, slot);
}

static void end_copies(Allocation *p, const Op *op, int now) {
    if (op->code != OP_ASYNC_WAIT && op->code != OP_MBAR_WAIT) return;
    for (int i = 0; i < p->awaited.n; i++)
        if (p->awaited.at[i].wait == op) live(&p->slots.at[p->awaited.at[i].slot], now, now);
}

/* Whether op starts to read a buffer that it reads until it is waited for. */
static bool reads_behind(const Op *op, Reader *who) {
    *who = op->code == OP_DOT ? DOTS : STORES;
    return op_is_async_store(op) || (op->code == OP_DOT && ir_attr_int(op, AT_ASYNC, 0));
}

static void note_access(Allocation *p, int slot, const Op *op, int i) {
    Reader who;
    Slot *s = &p->slots.at[slot];
    unsigned effects = ir_operand_effects(op, i);
    bool reads = effects & EFFECT_READS_SHARED;
    bool fills = op->code == OP_ASYNC_COPY || op->code == OP_MBAR_DESC_LOAD ||
                 op->code == OP_MBAR_FRAGMENT_LOAD;
    bool slices = s->alloc->result[0]->type.slices > 0;
    s->read |= reads;
    s->filled |= fills;
    if (fills && i == 1 && slices) note_copy(p, op, slot);
    if (reads && !slices) s->filled = false;
    if (!reads || !reads_behind(op, &who)) return;
    const Block *around = s->started[who] ? s->started[who] : op->block;
    while (!encloses(around, op->block)) around = around->parent->block;
    s->started[who] = around;
}

/* Buffers that are read until here, and maybe for longer. */
static void wait_for_readers(Allocation *p, const Op *op, int now) {
    bool dots = op->code == OP_DOT_WAIT;
    if (!dots && (op->code != OP_ASYNC_WAIT || !ir_attr(op, AT_STORES))) return;
    Reader who = dots ? DOTS : STORES;
    bool all = !ir_attr_int(op, dots ? AT_PENDING : AT_STORES, 0);
    for (int i = 0; i < p->slots.n; i++) {
        Slot *s = &p->slots.at[i];
        if (!s->started[who]) continue;
        live(s, now, now);
        if (all && encloses(op->block, s->started[who])) s->started[who] = NULL;
    }
}

/* What goes on at a loop's end goes on at its start. */
static bool read_round(const Slot *s, const Op *loop) {
    bool round = false;
    for (int who = 0; who < READERS; who++)
        round |= s->started[who] && encloses(loop->region[loop->nregions - 1], s->started[who]);
    return round;
}

static void live_while_in_flight(Allocation *p) {
    for (int i = 0; i < p->slots.n; i++) {
        Slot *s = &p->slots.at[i];
        bool slices = s->alloc->result[0]->type.slices > 0; /* some may be read later than others */
        if (!s->started[STORES] && !s->started[DOTS] && (!s->filled || (slices && s->read)))
            continue;
        live(s, p->clock, p->clock);
        s->role = NULL;
    }
}

/* Other roles go on beside what one role does, but its own buffers come one after the other. */
static void note_role(Slot *s, const Op *roles) {
    const Block *b = s->alloc->block;
    while (b && b->parent != roles) b = b->parent ? b->parent->block : NULL;
    s->role = b;
    s->role_first = s->first;
    s->role_last = s->last;
}

static void number_block(Allocation *p, Block *b) {
    for (Op *op = b->first; op; op = op->next) {
        int start = p->clock++;
        if (op->code == OP_BUFFER_ALLOC && in_shared_memory(op->result[0]->type)) {
            add_slices(p, op);
            /* What addresses are made of on the way to the first copy would need barriers there. */
            if (op->result[0]->type.slices) use_buffer(p, op->result[0], start, start);
        }
        if (op->code == OP_BUFFER_SLICE || buffer_is_view(op))
            /* a use of it is a use of its buffer */
            p->number[op->result[0]->id] = p->number[op->operand[0].value->id];
        for (int i = 0; i < op->noperands; i++)
            if (in_shared_memory(op->operand[i].value->type)) {
                use_buffer(p, op->operand[i].value, start, start);
                note_access(p, p->number[op->operand[i].value->id] - 1, op, i);
            }
        wait_for_readers(p, op, start);
        end_copies(p, op, start);
        for (int r = 0; r < op->nregions; r++) number_block(p, op->region[r]);
        p->clock++;
        /* A buffer allocated outside a loop and used in it lives through all of its iterations;
         * what one role uses, as long as any goes on. */
        bool roles = op->code == OP_WARPS;
        if (op->code == OP_FOR || op->code == OP_WHILE || roles)
            for (int i = 0; i < p->slots.n; i++) {
                Slot *s = &p->slots.at[i];
                if (roles) note_role(s, op);
                if (s->last >= start && (roles || !ir_inside(s->alloc, op) || read_round(s, op)))
                    live(s, start, p->clock);
            }
    }
}

static bool overlap(const Slot *a, const Slot *b) {
    bool beside = a->first <= b->last && b->first <= a->last;
    if (a->role && a->role == b->role)
        beside = a->role_first <= b->role_last && b->role_first <= a->role_last;
    return beside && !ways_exclude(&a->inside, &b->inside);
}

/* The lowest offset at which slot i clears every allocated slot that lives at the same time. */
static int64_t fit(const Allocation *p, int i) {
    const Slot *s = &p->slots.at[i];
    int64_t align = s->bytes >= SWIZZLE_ALIGN ? SWIZZLE_ALIGN : SHARED_ALIGN, at = 0;
    for (bool moved = true; moved;) {
        moved = false;
        for (int j = 0; j < p->slots.n; j++) {
            const Slot *o = &p->slots.at[j];
            if (!o->allocated || !overlap(s, o) || at + s->bytes <= o->offset ||
                o->offset + o->bytes <= at)
                continue;
            at = (o->offset + o->bytes + align - 1) / align * align;
            moved = true;
        }
    }
    return at;
}

/* Code for the oldest target is what is made for GPUs that are not known; some later ones have less
 * shared memory. */
static void note_smaller(const PassCtx *ctx, int64_t bytes) {
    const Target *own = ctx->target;
    Buf names = buf_new(&ctx->s->arena);
    int64_t most = 0;
    if (own != target_default()) return;
    for (int i = 0; i < target_count; i++) {
        const Target *t = &target_table[i];
        if (t == own || !target_runs(own, t->sm) || bytes <= t->max_shared) continue;
        buf_printf(&names, "%s%s", names.len ? ", " : "", t->name);
        if (t->max_shared > most) most = t->max_shared;
    }
    if (names.len)
        diag(&ctx->s->diags, P_SHARED, ctx->f->span,
             "kernel '%s' needs %lld bytes of shared memory: more than %lld, which some GPUs have "
             "on which code for %s runs otherwise (%s). --target names the GPU; smaller blocks "
             "would "
             "need less",
             ctx->f->name, (long long)bytes, (long long)most, own->name, names.data);
}

/* Threads store of what matters and of what does not by one instruction: there is room for both. */
static void make_room(Op *store, void *ctx) {
    const PassCtx *p = ctx;
    if (store->code != OP_SHARED_STORE || stores_what_matters(p->f, store)) return;
    const Op *alloc = buffer_alloc(store->operand[1].value);
    if (!alloc || !ir_attr(alloc, AT_LIVE)) return;
    ir_drop_attr(alloc->result[0]->def, AT_PACKED);
    ir_drop_attr(alloc->result[0]->def, AT_LIVE);
}

void pass_allocate(PassCtx *ctx) {
    Allocation p = {.ctx = ctx};
    ir_walk(ctx->f->body, make_room, ctx);
    p.number = arena_array(&ctx->s->arena, ctx->f->nvalues, sizeof *p.number);
    p.seen = arena_alloc(&ctx->s->arena, ctx->f->nvalues);
    number_block(&p, ctx->f->body);
    live_while_in_flight(&p);
    int64_t total = 0, single = 0;
    for (int i = 0; i < p.slots.n; i++) lay_out_stage(&p, i);
    for (int i = 0; i < p.slots.n; i++) /* nothing else may be written over an mbarrier */
        if (holds_barriers(&p.slots.at[i])) live(&p.slots.at[i], 0, p.clock);
    for (int round = 0; round <= 2; round++)
        for (int i = 0; i < p.slots.n; i++) {
            Slot *s = &p.slots.at[i];
            if ((s->single ? 2 : holds_barriers(s)) != round) continue; /* few bytes last */
            s->offset = fit(&p, i);
            s->allocated = true;
            int64_t *end = s->single ? &single : &total;
            if (s->offset + s->bytes > *end) *end = s->offset + s->bytes;
        }
    for (int i = 0; i < p.members.n; i++) {
        const Member *m = &p.members.at[i];
        ir_set_attr(ctx->s, m->alloc, AT_OFFSET, p.slots.at[m->slot].offset + m->offset);
    }
    ctx->f->shared_bytes = total;
    /* Where the rest needs as much at another time it is always there. */
    ctx->f->shared_single_cta = single && single < total ? total : single;
    if (ctx->f->shared_single_cta > ctx->target->max_shared) ctx->f->shared_single_cta = 0;
    bool dropped = total > ctx->target->max_shared && ctx->f->entry_of; /* entries.c says so */
    if (total > ctx->target->max_shared && !dropped)
        diag(
            &ctx->s->diags, P_SHARED, ctx->f->span,
            "kernel '%s' needs %lld bytes of shared memory; %s has %lld per program, so loading it "
            "there will be refused. Smaller blocks would need less",
            ctx->f->name, (long long)total, ctx->target->name, (long long)ctx->target->max_shared);
    else if (!dropped)
        note_smaller(ctx, total);
    ctx->changed = true;
}
