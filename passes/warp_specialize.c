/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* warp_specialize.c: a program whose loops load blocks by descriptors for dots -> two roles: one
 * warp that starts the copies, and the warps there were, which do all else.
 *
 *     for k: a = desc_load A, m, k; b = desc_load B, k, n; acc = dot a, b, acc
 * becomes, of S stages with two mbarriers each,
 *     producer: for k: wait empty[s]; expect full[s]; start both copies to stage s of their buffers
 *     consumer: for k: wait full[s]; acc = dot as[s], bs[s], acc; wait for it; arrive at empty[s]
 * where s goes round the stages, and the parity of the barriers' phases turns with each round;
 * both go on through the loops around. The blocks that one dot takes are a group, with stages of
 * their own: k and v of attention are waited for apart. Dots of several loops that take like blocks
 * are one group: the first of one loop come while the dots of another still add. What dots take in
 * each turn of loops behind its load, as q, comes once, and is held until they are done. Where a
 * loop asks for it what threads read comes so, too, and what several dots take comes for each.
 *
 * Blocks that the dot's instruction takes otherwise are transposed in their stage
 * (warp_transpose.c).
 *
 * What the program polls before such loads is a group, too, of which nothing comes: a poller waits
 * for it and tells the others by the stage's full barrier.
 *
 * The producer is a copy of the program of which only the loops and what the copies' indices are
 * made of stay. */
#include "ir/analysis/alias.h"
#include "ir/desc.h"
#include "ir/effects.h"
#include "ir/roles.h"
#include "ir/target.h"
#include "passes/warp_specialize.h"

/* ---- what both share ---- */

Value *shared_buffer(Builder *b, Type t) {
    return ir_op(b, OP_BUFFER_ALLOC, NULL, 0, &t, 1, 0)->result[0];
}

Value *shared_barriers(Builder *b, int n, int count) {
    Value *v = shared_buffer(b, type_barrier(n));
    ir_set_attr(b->s, ir_op(b, OP_MBAR_INIT, &v, 1, NULL, 0, 0), AT_COUNT, count);
    return v;
}

/* The op of the block before which the dot has to be done: that needs its sum, be it for what it
 * holds; or makes what is in the next turn in the place of its operand 0, which it may read from
 * registers. */
static Op *first_need(const Op *dot) {
    const Block *b = dot->block;
    const Value *a = dot->operand[0].value, *sum = dot->result[0];
    bool carried = !a->def && a->block == b && a->index && b->parent && b->parent->code == OP_FOR;
    const Op *makes = carried ? b->last->operand[a->index - 1].value->def : NULL;
    Op *op = dot->next;
    for (; op != b->last && op != makes; op = op->next)
        for (const Use *u = sum->uses; u; u = u->next)
            if (u->op == op || ir_inside(u->op, op)) return op;
    return op;
}

/* Of stages of type t, operand i's of the group, as `from` brings them. */
static void make_buffer(Specialize *x, Builder *b, Group *g, int i, Type t, Loaded from) {
    const Op *desc = from.load->operand[0].value->def;
    int64_t live[TILE_MAX_RANK];
    t = type_in_space(t, SPACE_SHARED);
    for (int d = 0; d < t.rank; d++)
        live[d] = desc_live(desc, desc->result[0]->type, from.order[d]);
    t.slices = (uint16_t)g->stages;
    g->buffer[i] = shared_buffer(b, t);
    g->from = from;
    desc_set_live(x->s, g->buffer[i]->def, t, live);
}

static void make_dot_buffers(Specialize *x, Builder *b, Group *g) {
    Loaded from;
    for (int i = 0; i < 2; i++)
        if (loaded_beside(g->dot[0], i, &from))
            make_buffer(x, b, g, i, g->dot[0]->operand[i].value->type, from);
}

static void make_held_buffer(Specialize *x, Builder *b, Group *g) {
    Op *first, *last;
    Loaded from;
    int i;
    Value *v = held_operand(g->held, false, &i, &first, &last);
    if (loaded(v->uses->op, i, &from)) make_buffer(x, b, g, i, v->type, from);
}

static void make_read_buffer(Specialize *x, Builder *b, Group *g) {
    Loaded from = {.load = g->read, .as_it_is = true};
    Type t = g->read->result[0]->type;
    for (int d = 0; d < t.rank; d++) from.order[d] = d;
    make_buffer(x, b, g, 0, t, from);
}

static void make_buffers(Specialize *x, Builder *b) {
    for (int k = 0; k < x->n; k++) {
        Group *g = &x->group[k];
        if (!g->waits)
            (g->held ? make_held_buffer : g->read ? make_read_buffer : make_dot_buffers)(x, b, g);
        g->full = shared_barriers(b, g->stages, 1 + (g->transposed ? TRANSPOSERS : 0));
        if (g->transposed) g->raw = shared_barriers(b, g->stages, 1);
        g->empty = shared_barriers(b, g->stages, arrivals_at_stage(x, g));
    }
    make_store_buffers(x, b);
    ir_op(b, x->f->max_cluster ? OP_CLUSTER_BARRIER : OP_BARRIER, NULL, 0, NULL, 0, 0);
}

Value *stage_slice(Builder *b, Value *of, Value *number) {
    Value *in[] = {of, number};
    Type t = of->type;
    t.slices = 0;
    return ir_op(b, OP_BUFFER_SLICE, in, 2, &t, 1, 0)->result[0];
}

Turn next_turn(Builder *b, Turn t, int stages) {
    Value *up = ir_binary(b, OP_ADD, t.stage, ir_const_int(b, index_type(), 1));
    Value *over = ir_cmp(b, PRED_EQ, up, ir_const_int(b, index_type(), stages));
    Value *flip = ir_binary(b, OP_XOR, t.phase, ir_const_int(b, index_type(), 1));
    Value *from = ir_op1(b, OP_SELECT, (Value *[]){over, ir_const_int(b, index_type(), 0), up}, 3);
    return (Turn){from, ir_op1(b, OP_SELECT, (Value *[]){over, flip, t.phase}, 3)};
}

/* ---- the roles ---- */

void wait_stage(Builder *b, Value *barriers, Turn t) {
    Value *in[] = {stage_slice(b, barriers, t.stage), t.phase};
    ir_op(b, OP_MBAR_WAIT, in, 2, NULL, 0, 0);
}

void arrive_at_stage(Builder *b, Value *barriers, Turn t) {
    Value *of = stage_slice(b, barriers, t.stage);
    ir_op(b, OP_MBAR_ARRIVE, &of, 1, NULL, 0, 0);
}

/* The program goes on with other work than dots while it is done: what it waits for to begin it
 * waits for once more before its end. That is there, but begins a basic block: ptxas waits for a
 * dot as early as it can, which in attention was before the softmax. */
static bool goes_on_beside(const Op *dot, const Op *need) {
    bool works = false;
    for (const Op *op = dot->next; op != need; op = op->next) {
        if (op->code == OP_DOT) return false;
        works |= type_is_tile(op->nresults ? op->result[0]->type : index_type());
    }
    return works;
}

/* Before the builder's place; what used the sum uses what was waited for. */
static void wait_for_dot(Builder *b, Value *sum) {
    Op *wait = ir_op(b, OP_DOT_WAIT, &sum, 1, &sum->type, 1, 0);
    ir_replace_uses(sum, wait->result[0]);
    ir_set_operand(wait, 0, sum);
}

/* The dot reads its stage, which is free again when it is done: waited for where its sum is needed,
 * so that another dot may go on beside it. */
static Turn consume(Specialize *x, const Group *g, Op *dot, Turn t) {
    Builder b = {x->s, x->f, dot->block, dot, dot->span};
    wait_stage(&b, g->full, t);
    for (int i = 0; i < 2; i++) {
        Loaded from;
        if (!g->buffer[i] || !loaded_beside(dot, i, &from)) continue;
        ir_set_operand(dot, i, stage_slice(&b, g->buffer[i], t.stage));
        for (int k = 0; k < from.nvia; k++) ir_erase(from.via[k]);
        ir_erase(from.load);
    }
    ir_set_attr(x->s, dot, AT_ASYNC, 1);
    b.before = first_need(dot);
    if (goes_on_beside(dot, b.before)) wait_stage(&b, g->full, t);
    wait_for_dot(&b, dot->result[0]);
    /* Threads read it, and a copy is the next to write it. */
    if (ir_attr_int(dot, AT_PAIRS, 0)) ir_op(&b, OP_ASYNC_FENCE, NULL, 0, NULL, 0, 0);
    leave_stage(x, &b, g, t);
    return next_turn(&b, t, g->stages);
}

/* Threads read the block: its stage is free as soon as they have. */
static Turn consume_read(Specialize *x, const Group *g, Op *load, Turn t) {
    Builder b = {x->s, x->f, load->block, load, load->span};
    wait_stage(&b, g->full, t);
    Value *from = stage_slice(&b, g->buffer[0], t.stage), *v = load->result[0];
    Value *there = ir_op(&b, OP_SHARED_LOAD, &from, 1, &v->type, 1, 0)->result[0];
    there->name = v->name;
    ir_replace_uses(v, there);
    /* Threads read it, and a copy is the next to write it. */
    ir_op(&b, OP_ASYNC_FENCE, NULL, 0, NULL, 0, 0);
    arrive_at_stage(&b, g->empty, t);
    return next_turn(&b, t, g->stages);
}

/* The dots read the block that is held, which is free again behind the last of them. */
static Turn consume_held(Specialize *x, const Group *g, Op *load, Turn t) {
    Op *first, *last;
    int i;
    const Value *v = held_operand(load, false, &i, &first, &last);
    bool by_threads = false;
    Builder b = {x->s, x->f, load->block, first, load->span};
    wait_stage(&b, g->full, t);
    Value *held = stage_slice(&b, g->buffer[i], t.stage);
    while (v->uses) {
        by_threads |= !ir_attr_int(v->uses->op, AT_ASYNC, 0);
        ir_set_operand(v->uses->op, i, held);
    }
    b.before = last->next;
    if (by_threads) ir_op(&b, OP_ASYNC_FENCE, NULL, 0, NULL, 0, 0);
    arrive_at_stage(&b, g->empty, t);
    return next_turn(&b, t, g->stages);
}

static Turn consume_load(Specialize *x, const Group *g, Op *load, Turn t) {
    return (g->read ? consume_read : consume_held)(x, g, load, t);
}

int64_t start_copy(Specialize *x, Builder *b, const Loaded *from, Value *to, Value *full,
                   bool multicast) {
    const Op *load = from->load;
    Value *in[3 + DESC_MAX_RANK];
    in[0] = load->operand[0].value;
    in[1] = to;
    in[2] = full;
    for (int k = 1; k < load->noperands; k++) in[2 + k] = load->operand[k].value;
    b->span = load->span;
    Op *copy = ir_op(b, OP_MBAR_DESC_LOAD, in, 2 + load->noperands, NULL, 0, 0);
    if (!from->as_it_is) ir_set_dims(x->s, copy, AT_ORDER, from->order, 2);
    if (multicast) ir_set_attr(x->s, copy, AT_MULTICAST, 1);
    return desc_live_bytes(load->operand[0].value->def);
}

/* Starts the copies of the blocks that are transposed, or of the others. */
static void bring(Specialize *x, Builder *b, const Group *g, const Op *dot, Turn t, bool raw) {
    Value *full = stage_slice(b, raw ? g->raw : g->full, t.stage);
    int64_t bytes = 0;
    Op *expect = ir_op(b, OP_MBAR_EXPECT, &full, 1, NULL, 0, 0);
    for (int i = 0; i < 2; i++) {
        Loaded from;
        if (!g->buffer[i] || !loaded_beside(dot, i, &from) || (g->transposed >> i & 1) != raw)
            continue;
        Value *to = raw ? raw_stage(b, g->buffer[i], t) : stage_slice(b, g->buffer[i], t.stage);
        bytes += start_shared_copy(x, b, g, &from, to, full, t);
    }
    ir_set_attr(x->s, expect, AT_BYTES, bytes);
}

/* The copies start in place of the dot, and nothing is added. */
static Turn produce(Specialize *x, const Group *g, Op *dot, Turn t) {
    Builder b = {x->s, x->f, dot->block, dot, dot->span};
    wait_stage(&b, g->empty, t);
    if (g->transposed) bring(x, &b, g, dot, t, true);
    bring(x, &b, g, dot, t, false);
    ir_replace_uses(dot->result[0], dot->operand[2].value);
    t = next_turn(&b, t, g->stages);
    ir_erase(dot);
    return t;
}

/* What is held comes once, what threads read each turn. */
static Turn produce_load(Specialize *x, const Group *g, Op *load, Turn t) {
    Builder b = {x->s, x->f, load->block, load, load->span};
    wait_stage(&b, g->empty, t);
    Value *full = stage_slice(&b, g->full, t.stage);
    Loaded from = g->from;
    from.load = load;
    Op *expect = ir_op(&b, OP_MBAR_EXPECT, &full, 1, NULL, 0, 0);
    Value *buffer = g->buffer[0] ? g->buffer[0] : g->buffer[1];
    Value *to = stage_slice(&b, buffer, t.stage);
    ir_set_attr(x->s, expect, AT_BYTES, start_copy(x, &b, &from, to, full, false));
    return next_turn(&b, t, g->stages);
}

/* ---- waits ---- */

/* What is waited for is so when the poller has seen it: what others wrote before is there for whom
 * it tells, too. */
static Turn consume_wait(Specialize *x, const Group *g, Op *poll, Turn t) {
    Builder b = {x->s, x->f, poll->block, poll, poll->span};
    wait_stage(&b, g->full, t);
    arrive_at_stage(&b, g->empty, t);
    t = next_turn(&b, t, g->stages);
    ir_erase(poll);
    return t;
}

/* The poll takes a microsecond or two, so a warp of its own does it, turns ahead. What others wrote
 * before is there for threads then; the copy engine reads it behind a fence. */
static Turn poll_ahead(Specialize *x, const Group *g, Op *poll, Turn t) {
    Builder b = {x->s, x->f, poll->block, poll, poll->span};
    wait_stage(&b, g->empty, t);
    b.before = poll->next;
    Op *fence = ir_op(&b, OP_ASYNC_FENCE, NULL, 0, NULL, 0, 0);
    ir_set_attr(x->s, fence, AT_GLOBAL, 1);
    vec_push(&x->s->arena, &x->kept, poll);
    vec_push(&x->s->arena, &x->kept, fence);
    arrive_at_stage(&b, g->full, t);
    return next_turn(&b, t, g->stages);
}

/* ---- parts of sums ---- */

Value *buffer_of_part(const Group *g, const Op *part, int *chunks) {
    Value *b = g->buffer[0];
    if (!b || (g->buffer[1] && type_bytes(g->buffer[1]->type) > type_bytes(b->type)))
        b = g->buffer[1];
    Type t = b->type;
    t.slices = 0;
    int64_t live = type_elem_bytes(t), room = 1, all = type_bytes(part->result[0]->type);
    for (int d = 0; d < t.rank; d++) live *= desc_live(b->def, t, d);
    while (room <= live / 2) room *= 2;
    *chunks = all > room ? (int)(all / room) : 1;
    return b;
}

/* The sum with the part, as its chunks come. That the part is there is the producer's to know. */
static Turn consume_part(Specialize *x, const Group *g, Op *part, Turn t) {
    Op *add = part->result[0]->uses->op;
    Builder b = {x->s, x->f, part->block, part, part->span};
    Value *sum = part->operand[1].value;
    int chunks;
    Value *buffer = buffer_of_part(g, part, &chunks);
    for (int i = 0; i < chunks; i++) {
        wait_stage(&b, g->full, t);
        sum = ir_binary(&b, OP_FRAGMENT_ADD, sum, stage_slice(&b, buffer, t.stage));
        ir_set_attr(x->s, sum->def, AT_CHUNK, i);
        ir_set_attr(x->s, sum->def, AT_CHUNKS, chunks);
        /* Threads read it, and a copy is the next to write it. */
        ir_op(&b, OP_ASYNC_FENCE, NULL, 0, NULL, 0, 0);
        leave_stage(x, &b, g, t);
        t = next_turn(&b, t, g->stages);
    }
    ir_replace_uses(add->result[0], sum);
    ir_erase(add);
    ir_erase(part);
    return t;
}

/* Its chunks are brought, once it is there. */
static Turn produce_part(Specialize *x, const Group *g, Op *part, Turn t) {
    Builder b = {x->s, x->f, part->block, part, part->span};
    int chunks;
    Value *buffer = buffer_of_part(g, part, &chunks), *from = part->operand[0].value;
    int64_t bytes = type_bytes(part->result[0]->type) / chunks;
    for (int i = 0; i < chunks; i++) {
        wait_stage(&b, g->empty, t);
        Value *full = stage_slice(&b, g->full, t.stage);
        ir_set_attr(x->s, ir_op(&b, OP_MBAR_EXPECT, &full, 1, NULL, 0, 0), AT_BYTES, bytes);
        Value *by[] = {from, ir_const_int(&b, type_scalar(EL_I64), i * bytes)}, *at = from;
        if (i) {
            at = ir_op1(&b, OP_ADDPTR, by, 2);
            ir_set_attr(x->s, at->def, AT_BYTES, 1);
        }
        Value *in[] = {at, stage_slice(&b, buffer, t.stage), full};
        ir_set_attr(x->s, ir_op(&b, OP_MBAR_FRAGMENT_LOAD, in, 3, NULL, 0, 0), AT_BYTES, bytes);
        t = next_turn(&b, t, g->stages);
    }
    ir_replace_uses(part->result[0], part->operand[1].value);
    ir_erase(part);
    return t;
}

typedef Turn RoleFn(Specialize *x, const Group *g, Op *dot, Turn t);
typedef Turn StoreFn(Specialize *x, Store *st, Op *op, Turn t);

typedef struct Role { /* what it does instead of these; NULL: that is no business of its */
    const char *name;
    int warps;
    RoleFn *dot, *part, *load, *wait;
    StoreFn *store;
    int phase, store_phase, wait_phase; /* of the barriers that it waits for first */
} Role;

static const Op *find_marked(const Op *op, int mark) {
    if (ir_attr_int(op, AT_ROLE, 0) == mark) return op;
    for (int r = 0; r < op->nregions; r++)
        for (const Op *in = op->region[r]->first; in; in = in->next) {
            const Op *found = find_marked(in, mark);
            if (found) return found;
        }
    return NULL;
}

static Turn thread_turns(Specialize *x, int k, Block *b, Turn t, const Role *role);

/* The loop carries the turn, too. */
static Turn thread_loop(Specialize *x, int k, Op *loop, Turn t, const Role *role) {
    int n = loop->nresults;
    Op *to = ir_for_widen(x->s, x->f, loop, (Value *[]){t.stage, t.phase}, 2);
    Block *body = to->region[0];
    t = thread_turns(x, k, body, (Turn){body->args[1 + n], body->args[2 + n]}, role);
    ir_yield_more(x->s, x->f, body->last, (Value *[]){t.stage, t.phase}, 2);
    return (Turn){to->result[n], to->result[n + 1]};
}

/* Either way it goes on from there. */
static Turn thread_branch(Specialize *x, int k, Op *branch, Turn t, const Role *role) {
    const Type types[] = {index_type(), index_type()};
    int n = branch->nresults;
    Op *to = ir_if_widen(x->s, x->f, branch, types, 2);
    for (int r = 0; r < 2; r++) {
        Turn end = thread_turns(x, k, to->region[r], t, role);
        ir_yield_more(x->s, x->f, to->region[r]->last, (Value *[]){end.stage, end.phase}, 2);
    }
    return (Turn){to->result[n], to->result[n + 1]};
}

/* Finds what is group k's in the block and does the role's part there; the turn behind it. */
static Turn thread_turns(Specialize *x, int k, Block *b, Turn t, const Role *role) {
    for (Op *op = b->first, *next; op; op = next) {
        next = op->next;
        if (!find_marked(op, k + 1)) continue;
        if (op->code == OP_FOR) {
            t = thread_loop(x, k, op, t, role);
        } else if (op->code == OP_IF) {
            t = thread_branch(x, k, op, t, role);
        } else {
            bool part = op->code == OP_FRAGMENT_LOAD;
            ir_drop_attr(op, AT_ROLE);
            RoleFn *fn = part                         ? role->part
                         : op->code == OP_DESC_LOAD   ? role->load
                         : op->code == OP_ATOMIC_POLL ? role->wait
                                                      : role->dot;
            if (k < x->n && !fn) continue;
            t = k >= x->n ? role->store(x, &x->store[k - x->n], op, t) : fn(x, &x->group[k], op, t);
            if (part) return t; /* a block has one, and what followed may have gone with it */
        }
    }
    return t;
}

/* Marks are the numbers of groups, then of stores, from 1. */
static void make_role(Specialize *x, Block *b, const Role *role) {
    meet_neighbours(x, b);
    for (int k = 0; k < x->n + x->nstores; k++) {
        bool store = k >= x->n, waits = !store && x->group[k].waits;
        if (store ? !role->store : waits ? !role->wait : !role->dot) continue;
        Builder at = {x->s, x->f, b, b->first, b->first->span};
        int phase = store ? role->store_phase : waits ? role->wait_phase : role->phase;
        Turn t = {ir_const_int(&at, index_type(), 0), ir_const_int(&at, index_type(), phase)};
        thread_turns(x, k, b, t, role);
    }
}

/* The op's results are those of no op any more: what they were for is the consumer's. */
static void drop(Op *op, Specialize *x) {
    Builder b = {x->s, x->f, op->block, op, op->span};
    for (int i = 0; i < op->nresults; i++)
        if (ir_has_uses(op->result[i]))
            ir_replace_uses(op->result[i], ir_const_int(&b, op->result[i]->type, 0));
    ir_erase(op);
}

/* What is seen from outside, what threads do for each other, and loops that may not end are the
 * consumer's to do. */
static void drop_effects(Op *op, void *ctx) {
    Specialize *x = ctx;
    bool own = op->code == OP_MBAR_WAIT || op->code == OP_MBAR_EXPECT ||
               op->code == OP_MBAR_DESC_LOAD || op->code == OP_MBAR_FRAGMENT_LOAD ||
               op->code == OP_MBAR_ARRIVE || op->code == OP_ASYNC_DESC_STORE ||
               op->code == OP_ASYNC_WAIT || op_traits(op) & TRAIT_T;
    for (int i = 0; i < x->kept.n && !own; i++) own = x->kept.at[i] == op;
    if (!own && is_seen(op)) drop(op, x);
}

enum { WAIT_FOR_PARTS = -1 }; /* a mark that is no group's and no store's */

/* Of the workspace who computes writes parts, and tells of them; all else there is who copies'. */
static void mark_wait(Op *op, void *ctx) {
    Specialize *x = ctx;
    bool parts = op->code == OP_ASYNC_FENCE && ir_attr_int(op, AT_GLOBAL, 0);
    if (op_is_atomic(op) && alias_is_of_workspace(op))
        parts = ir_attr_int(op, AT_SEM, SEM_ACQ_REL) != SEM_RELEASE;
    if (parts || is_wait_ahead(x, op))
        ir_set_attr(x->s, op, AT_ROLE, parts ? WAIT_FOR_PARTS : x->n);
}

static void find_wait(Op *op, void *ctx) {
    Specialize *x = ctx;
    if (ir_attr_int(op, AT_ROLE, 0) < 0) vec_push(&x->s->arena, &x->waits, op);
}

/* That parts are there is known to who copies, who alone waits for them. */
static void wait_for_parts(Specialize *x, Block *b, bool copies) {
    x->waits.n = 0;
    ir_walk(b, find_wait, x);
    for (int i = 0; i < x->waits.n; i++) {
        ir_drop_attr(x->waits.at[i], AT_ROLE);
        if (copies)
            vec_push(&x->s->arena, &x->kept, x->waits.at[i]);
        else
            ir_erase(x->waits.at[i]);
    }
}

static void split(Specialize *x) {
    Func *f = x->f;
    Op *from = f->body->first, *end = f->body->last;
    for (Op *op = from; op; op = op->next)
        if (op->code == OP_MAKE_DESC) from = op->next;
    Builder b = {x->s, f, f->body, from, end->span};
    plan_rows(x, from);
    cut_stores(x);
    ir_walk(f->body, mark_wait, x);
    for (int k = 0; k < x->n; k++) {
        for (int i = 0; i < x->group[k].ndots; i++)
            ir_set_attr(x->s, x->group[k].dot[i], AT_ROLE, k + 1);
        if (x->group[k].part) ir_set_attr(x->s, x->group[k].part, AT_ROLE, k + 1);
        if (x->group[k].held) ir_set_attr(x->s, x->group[k].held, AT_ROLE, k + 1);
        if (x->group[k].read) ir_set_attr(x->s, x->group[k].read, AT_ROLE, k + 1);
    }
    for (int k = 0; k < x->nstores; k++)
        for (int i = 0; i < x->store[k].nparts; i++)
            ir_set_attr(x->s, x->store[k].part[i], AT_ROLE, x->n + k + 1);
    make_buffers(x, &b);
    b.before = end;
    bool transposes = false;
    for (int k = 0; k < x->n; k++) transposes |= x->group[k].transposed != 0;
    /* Whole warpgroups first. */
    const Role role[] = {
        {.name = "consumer",
         .warps = x->consumers,
         .dot = consume,
         .part = consume_part,
         .load = consume_load,
         .wait = consume_wait,
         .store = put_store,
         .store_phase = 1},
        {.name = "transposer", .warps = TRANSPOSERS, .dot = transpose_blocks, .part = leave_part},
        {.name = "producer",
         .warps = 1,
         .dot = produce,
         .part = produce_part,
         .load = produce_load,
         .wait = consume_wait,
         .phase = 1},
        {.name = "storer", .warps = 1, .store = send_store},
        {.name = "poller", .warps = 1, .wait = poll_ahead, .wait_phase = 1}};
    const bool there[] = {true, transposes, true, x->nstores > 0, x->group[x->n - 1].waits};
    enum { ROLES = sizeof role / sizeof *role };
    int n = 0, warps[ROLES];
    const char *names = "";
    const Role *of[ROLES];
    for (int i = 0; i < ROLES; i++) {
        if (!there[i]) continue;
        names = arena_printf(&x->s->arena, "%s%s%s", names, n ? " " : "", role[i].name);
        warps[n] = role[i].warps;
        of[n++] = &role[i];
    }
    Op *roles = ir_op(&b, OP_WARPS, NULL, 0, NULL, 0, n);
    ir_set_text(x->s, roles, AT_ROLES, names);
    ir_set_dims(x->s, roles, AT_NUM_WARPS, warps, n);
    /* Until here the neighbour may write to this program's shared memory. */
    if (f->max_cluster) ir_op(&b, OP_CLUSTER_BARRIER, NULL, 0, NULL, 0, 0);
    const uint8_t *kept = share_conditions(x, from, roles);
    while (from != roles) {
        Op *next = from->next;
        if (!from->nresults || !kept[from->result[0]->id]) ir_append(roles->region[0], from);
        from = next;
    }
    Builder in = {x->s, f, roles->region[0], NULL, end->span};
    ir_op(&in, OP_YIELD, NULL, 0, NULL, 0, 0);
    for (int r = 1; r < n; r++) ir_clone_region(&in, roles->region[0], roles->region[r]);
    for (int r = 0; r < n; r++) {
        x->kept.n = 0;
        Block *way[2] = {roles->region[r]};
        int ways = r ? 1 : split_rows(x, roles->region[r], way);
        if (!r) defer_epilogue(x, way[ways - 1]);
        if (!r) split_tails(x, roles->region[r]);
        for (int i = 0; i < ways; i++) make_role(x, way[i], of[r]);
        wait_for_parts(x, roles->region[r], of[r]->dot == produce);
        if (r) ir_walk(roles->region[r], drop_effects, x);
        if (of[r]->store == send_store) leave_rows(x, roles->region[r]);
    }
}

static void look_for_asked(Op *op, void *ctx) {
    Specialize *x = ctx;
    x->asked |= op->code == OP_FOR && ir_attr_int(op, AT_WARP_SPECIALIZE, 0);
}

static void find_all(Specialize *x, int consumers) {
    x->consumers = consumers;
    x->n = x->nstores = 0;
    find_groups(x);
    find_stores(x);
}

void pass_warp_specialize(PassCtx *ctx) {
    Specialize x = {.ctx = ctx, .s = ctx->s, .f = ctx->f};
    x.nseen = ctx->f->nvalues;
    x.seen = arena_alloc(&ctx->s->arena, x.nseen);
    if (!ctx->target->tma) return;
    ir_walk(ctx->f->body, look_for_asked, &x);
    find_all(&x, warps_that_consume(&x));
    if (!x.refused && x.consumers < ctx->f->num_warps && !stores_all(&x))
        find_all(&x, ctx->f->num_warps);
    if (!x.refused) find_neighbours(&x);
    if (x.refused || !x.n || !has_room(&x)) return;
    split(&x);
    pass_dce(ctx);
    ctx->changed = true;
}
