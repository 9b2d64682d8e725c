/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* schedule.c: the pass `schedule`: loads of a loop -> copies into multi-buffers, and a schedule.
 *
 *     for i: x = load p; store x -> b; dot b; p += d
 * becomes, of S slices and with copies that start A iterations ahead,
 *     for i:                                                        stage
 *         copy p' -> b; commit; p' += d                             0
 *         wait for the copies; barrier                              A
 *         w = wait for (dot b)                                      A, and A + 1 the wait
 * where p' is p, carried along once more for the copies. What an address is made of, the prefetch
 * slice, is there twice: it runs ahead of the rest.
 *
 * Copied are the loads whose values dots take, as they are or after arithmetic, and all loads of a
 * loop that names its num_stages. A value that only dots read is read from the buffer; another is
 * loaded from there into the registers it was in. Where lanes cannot copy 4 bytes at once the load
 * stays a load of the prefetch slice, and its value is stored when the turn is done.
 *
 * Where no dot is in flight, a turn of the pipelined loop is
 *     wait for copies; barrier; copies; the rest
 * of which one barrier is enough: the slice that a copy overwrites was read before it. With dots in
 * flight (schedule_dots.c) the copies overwrite what the deferred dots of the iteration before
 * read, so they come after the wait for those, and after a barrier, when all warps have waited:
 *     wait for copies; barrier; start acc = a b + acc; wait for the dot before; barrier; copies
 *     wait for copies; barrier; start s = q k; wait for s and acc; ...; start acc = p v + acc * x;
 *         barrier; copies
 * Where none is deferred, copies start behind the leading dots.
 *
 * The next iteration's copies can be waited for while dots are in flight. Done before this
 * iteration's copies start, the second barrier tells all warps of both, and the first goes:
 *     start acc = a b + acc; wait for copies; wait for the dot before; barrier; copies
 * That is the wait for copies a stage earlier, and in a later cluster. These copies were started an
 * iteration's dots earlier then, which is an iteration less for them: worth it where that time is
 * hidden.
 *
 * Where there is room for a slack slice, one more than the stages between a copy and its use ask
 * for, copies overwrite what the dots of two iterations before read, which all warps have waited
 * for when they come to the barrier. So copies start at once:
 *     wait for copies; barrier; start acc = a b + acc; copies; wait for the dot before
 *     wait for copies; barrier; start s = q k; copies; wait for s and acc; ...; start acc = ...
 * Starting copies takes as long as L2 takes to answer most of them. Here that time lies beside two
 * iterations' dots, and one in which L2 is slow is made up for in the next; in the other forms the
 * tensor cores stand still for each.
 *
 * What the turn makes for its dots, and stores, has two slices where they fit: it is stored while
 * the dots of the turn before read the other one. The first barrier of a turn tells that these of
 * two turns before are done, another that what was stored is there:
 *     wait for copies; barrier; store b; barrier; start acc = a b + acc;
 *         wait for the dot before; copies
 *
 * Which form, and how many slices, is the cost model's choice (cost.c). A loop that has a schedule
 * keeps it. */
#include "ir/buffer.h"
#include "ir/roles.h"
#include "ir/target.h"
#include "passes/exchange.h"
#include "passes/schedule_plan.h"
#include "passes/walk.h"

#include <string.h>

/* ---- the body, with copies ---- */

/* v as the prefetch slice has it. */
static Value *in_prefetch(const Plan *p, Value *v) {
    return v->id < p->size && p->map[v->id] ? p->map[v->id] : v;
}

/* A buffer for the load's value: of one slice here, and so many of the pipelined loop. */
static void alloc_buffer(Plan *p, Builder *b, Copy *c) {
    b->span = p->loop->span;
    Op *alloc = ir_op(b, OP_BUFFER_ALLOC, NULL, 0, &c->type, 1, 0);
    ir_set_attr(p->s, alloc, AT_SLICES, p->choice.slices);
    alloc->result[0]->layout = c->layout;
    alloc->result[0]->name = c->load->result[0]->name;
    if (c->store) {
        if (c->store->next->code == OP_ASYNC_FENCE) ir_erase(c->store->next);
        ir_erase(c->store);
        ir_replace_uses(c->buffer, alloc->result[0]);
        ir_erase(c->buffer->def);
    }
    c->buffer = alloc->result[0];
    vec_push(&p->s->arena, &p->prefetch, alloc);
}

/* Loads that stay loads, of the prefetch slice: their values are stored when the turn is done. */
static void prefetch_load(Plan *p, Builder *b, Copy *c) {
    const Op *load = c->load;
    Value *x[3];
    for (int i = 0; i < load->noperands; i++) x[i] = in_prefetch(p, load->operand[i].value);
    b->span = load->span;
    Op *copy = ir_op_like(b, load, x, load->noperands, NULL);
    copy->result[0]->layout = load->result[0]->layout;
    c->prefetched = copy->result[0];
    vec_push(&p->s->arena, &p->prefetch, copy);
}

static Value *start_copy(Plan *p, Builder *b, const Copy *c, Value *always) {
    Value *mask = ir_operand(c->load, 1);
    Value *x[] = {in_prefetch(p, c->load->operand[0].value), c->buffer, always,
                  mask ? in_prefetch(p, mask) : NULL};
    Type token = type_token();
    b->span = c->load->span;
    Op *copy = ir_op(b, OP_ASYNC_COPY, x, mask ? 4 : 3, &token, 1, 0);
    vec_push(&p->s->arena, &p->start, copy);
    return copy->result[0];
}

/* What an iteration does ahead of the rest, and its wait for that. */
static void emit_prefetch(Plan *p, Builder *b, Value *always) {
    Arena *a = &p->s->arena;
    for (const Op *op = p->loop->region[0]->first; op; op = op->next)
        if (op->nresults == 1 && p->slice[op->result[0]->id])
            vec_push(a, &p->prefetch, ir_clone(b, op, p->map, p->size));
    for (int i = 0; i < p->copies.n; i++) alloc_buffer(p, b, &p->copies.at[i]);
    Value **copied = arena_array(a, (size_t)p->copies.n, sizeof *copied);
    int n = 0;
    for (int i = 0; i < p->copies.n; i++)
        if (p->copies.at[i].plain) prefetch_load(p, b, &p->copies.at[i]);
    for (int i = 0; i < p->copies.n; i++)
        if (!p->copies.at[i].plain) copied[n++] = start_copy(p, b, &p->copies.at[i], always);
    b->span = p->loop->span;
    Type token = type_token();
    Op *commit = ir_op(b, OP_ASYNC_COMMIT, copied, n, &token, 1, 0);
    vec_push(a, &p->start, commit);
    for (int i = 0; i < p->copies.n; i++) {
        const Copy *c = &p->copies.at[i];
        if (!c->plain) continue;
        ir_binary(b, OP_SHARED_STORE, c->prefetched, c->buffer);
        vec_push(a, &p->store, b->block->last);
    }
    vec_push(a, &p->land, ir_op(b, OP_ASYNC_WAIT, commit->result, 1, NULL, 0, 0));
    vec_push(a, &p->land, ir_op(b, OP_ASYNC_FENCE, NULL, 0, NULL, 0, 0));
    p->landed = ir_op(b, OP_BARRIER, NULL, 0, NULL, 0, 0);
}

/* Who wants the load's value, v or in another shape, in another layout reads the buffer so, where
 * it is wanted: until then it takes no registers. A reshape changes no element's number, by which
 * layouts go. */
static void read_as_converted(const Plan *p, const Copy *c, const Value *v) {
    for (const Use *u = v->uses, *next; u; u = next) {
        Op *op = u->op;
        next = u->next;
        if (op->block != c->load->block) continue;
        if (op->code == OP_RESHAPE) read_as_converted(p, c, op->result[0]);
        if (op->code != OP_CONVERT) continue;
        Builder b = {p->s, p->f, op->block, op, c->load->span};
        Value *to = op->result[0];
        Value *x = ir_given(&b, OP_SHARED_LOAD, c->buffer, c->load->result[0]->type);
        x->layout = to->layout;
        x->name = to->name;
        if (!type_equal(x->type, to->type)) {
            x = ir_given(&b, OP_RESHAPE, x, to->type);
            x->layout = to->layout;
        }
        ir_replace_uses(to, x);
        ir_erase(op);
    }
}

/* The load's value now comes from its buffer: dots read it there, others get it into registers. */
static void replace_load(Plan *p, Builder *b, const Copy *c) {
    Value *r = c->load->result[0];
    if (ir_has_uses(r)) {
        b->span = c->load->span;
        Value *x = ir_given(b, OP_SHARED_LOAD, c->buffer, r->type);
        x->layout = r->layout;
        x->name = r->name;
        if (c->load->noperands == 3 && !ir_is_zero(c->load->operand[2].value)) {
            /* The copy filled in zeros; the mask is worked out where the load was. */
            Builder there = {p->s, p->f, c->load->block, c->load, c->load->span};
            Value *s[] = {c->load->operand[1].value, x, c->load->operand[2].value};
            x = ir_op1(&there, OP_SELECT, s, 3);
            x->layout = r->layout;
        } else {
            read_as_converted(p, c, r);
        }
        ir_replace_uses(r, x);
    }
    ir_erase(c->load);
}

/* The loop, which carries what the prefetch slice needs once more for it. */
static Op *with_copies(Plan *p) {
    Op *old = p->loop;
    Block *was = old->region[0];
    int n = old->nresults, at = n;
    Builder b = {p->s, p->f, old->block, old, old->span};
    Value **in = arena_array(&p->s->arena, (size_t)n * 2, sizeof *in);
    for (int i = 0; i < n; i++) in[i] = old->operand[3 + i].value;
    for (int i = 0; i < n; i++)
        if (p->carried[i]) in[at++] = in[i];
    Value *always = ir_const_int(&b, type_scalar(EL_I1), 1);
    Op *loop =
        ir_for(&b, old->operand[0].value, old->operand[1].value, old->operand[2].value, in, at);
    Block *body = loop->region[0];
    Value **arg = body->args + 1, **out = in;
    body->args[0]->name = was->args[0]->name;
    p->map[was->args[0]->id] = body->args[0];
    at = n;
    for (int i = 0; i < n; i++) {
        if (!arg[i]->layout) arg[i]->layout = was->args[1 + i]->layout;
        if (p->carried[i]) p->map[was->args[1 + i]->id] = arg[at++];
    }
    Builder in_body = {p->s, p->f, body, NULL, old->span};
    emit_prefetch(p, &in_body, always);
    at = n;
    for (int i = 0; i < n; i++)
        if (p->carried[i]) out[at++] = in_prefetch(p, was->last->operand[i].value);
    for (int i = 0; i < p->copies.n; i++) replace_load(p, &in_body, &p->copies.at[i]);
    /* The rest of the body moves over as it is. */
    ir_replace_uses(was->args[0], body->args[0]);
    for (int i = 0; i < n; i++) ir_replace_uses(was->args[1 + i], arg[i]);
    Op *yield = was->last;
    while (was->first != yield) ir_append(body, was->first);
    for (int i = 0; i < n; i++) out[i] = yield->operand[i].value;
    ir_erase(yield);
    Op *end = ir_op(&in_body, OP_YIELD, out, at, NULL, 0, 0);
    if (p->first_mma) plan_dot_waits(p, body, out);
    if (p->first_mma) plan_stored_barriers(p, body);
    for (int i = 0; i < n; i++) {
        ir_set_operand(end, i, out[i]);
        ir_replace_uses(old->result[i], loop->result[i]);
    }
    ir_erase(old);
    return loop;
}

/* ---- the table ---- */

static void set_stage(Plan *p, const OpList *list, int stage) {
    for (int i = 0; i < list->n; i++) schedule_set(p->ctx, list->at[i], stage, 0);
}

static void then_all(Plan *p, OpList *turn, const OpList *list) {
    for (int i = 0; i < list->n; i++) vec_push(&p->s->arena, turn, list->at[i]);
}

static void then_one(Plan *p, OpList *turn, Op *op) {
    if (op) vec_push(&p->s->arena, turn, op);
}

/* The wait for copies, and the deferred waits that no op of the body asks for, behind the dots in
 * flight, and what these let go on. */
static void behind_dots(Plan *p, OpList *turn) {
    bool slack = p->choice.slices - 1 > p->choice.ahead;
    if (p->choice.lands_ahead) then_all(p, turn, &p->land);
    for (int i = 0; i < p->late.n; i++)
        if (!p->before.at[i]) then_one(p, turn, p->late.at[i]);
    if (p->late.n && !slack) {
        then_one(p, turn, p->choice.lands_ahead ? p->landed : p->free);
        then_all(p, turn, &p->start);
    }
}

/* All that is done in a turn, in order. Rows that have a stage by now are in groups. */
static OpList order_turn(Plan *p, const Block *body) {
    OpList turn = {0};
    bool slack = p->choice.slices - 1 > p->choice.ahead, behind = false;
    if (!p->choice.lands_ahead) {
        then_all(p, &turn, &p->land);
        then_one(p, &turn, p->landed);
    }
    then_all(p, &turn, &p->prefetch);
    if (!p->first_mma) then_all(p, &turn, &p->start);
    for (Op *op = body->first; op != body->last; op = op->next) {
        if (ir_attr(op, AT_STAGE)) continue;
        if (behind && op->code != OP_DOT_WAIT) {
            behind_dots(p, &turn);
            behind = false;
        }
        for (int i = 0; i < p->late.n; i++)
            if (p->before.at[i] == op) then_one(p, &turn, p->late.at[i]);
        then_one(p, &turn, op);
        if (p->first_mma && op == (slack ? p->first_mma : p->last_mma) && (slack || !p->late.n))
            then_all(p, &turn, &p->start);
        if (p->first_mma && op == p->last_mma) behind = true;
    }
    if (behind) behind_dots(p, &turn);
    then_all(p, &turn, &p->store);
    return turn;
}

/* A new cluster begins with each stage, and where the turn goes back to what is written above. */
static void write_table(Plan *p, Op *loop) {
    Block *body = loop->region[0];
    int last = p->choice.ahead, lands = last - p->choice.lands_ahead, cluster = 0;
    set_stage(p, &p->prefetch, 0);
    set_stage(p, &p->start, 0);
    set_stage(p, &p->store, 0);
    set_stage(p, &p->land, lands);
    set_stage(p, &p->late, last + 1);
    schedule_set(p->ctx, p->landed, lands, 0);
    if (p->late.n && !p->choice.lands_ahead && p->choice.slices - 1 == last) {
        Builder b = {p->s, p->f, body, p->late.at[p->late.n - 1]->next, loop->span};
        p->free = ir_op(&b, OP_BARRIER, NULL, 0, NULL, 0, 0);
        schedule_set(p->ctx, p->free, last, 0);
    }
    OpList turn = order_turn(p, body);
    int64_t at = 0, before = -1;
    for (Op *op = body->first; op != body->last; op = op->next) {
        if (!ir_attr(op, AT_STAGE)) schedule_set(p->ctx, op, last, 0);
        ir_set_attr(p->s, op, AT_CLUSTER, at++); /* until the next loop: its number */
    }
    for (int i = 0; i < turn.n; i++) {
        Op *op = turn.at[i];
        at = ir_attr_int(op, AT_CLUSTER, 0);
        if (i && (at < before ||
                  ir_attr_int(op, AT_STAGE, 0) != ir_attr_int(turn.at[i - 1], AT_STAGE, 0)))
            cluster++;
        before = at;
        ir_set_attr(p->s, op, AT_CLUSTER, cluster);
    }
}

/* ---- a program that has an SM to itself ---- */

/* The loop with so many more slices, and copies that start as many iterations earlier. */
static void deepen(Plan *p, Op *loop, int more) {
    for (Op *op = loop->region[0]->first; op; op = op->next) {
        int stage = (int)ir_attr_int(op, AT_STAGE, 0);
        if (stage) ir_set_attr(p->s, op, AT_STAGE, stage + more);
        if (ir_attr(op, AT_SLICES))
            ir_set_attr(p->s, op, AT_SLICES, ir_attr_int(op, AT_SLICES, 0) + more);
    }
}

/* if single: the loop with more slices; else the loop. Which it is, is known when it is launched.
 */
static void version_by_occupancy(Plan *p) {
    Op *loop = p->loop;
    Builder b = {p->s, p->f, loop->block, loop, loop->span};
    Type i1 = type_scalar(EL_I1);
    Value *single = ir_op(&b, OP_SINGLE_CTA, NULL, 0, &i1, 1, 0)->result[0];
    deepen(p, ir_version(p->s, p->f, loop, single, NULL), p->choice.more);
}

/* ---- which loops ---- */

static void look_for_dot(Op *op, void *found) {
    if (op->code == OP_DOT) *(bool *)found = true;
}

typedef struct Room { /* shared memory that the loop needs besides its stages */
    const Plan *p;
    int64_t bytes, scratch;
} Room;

static bool lies_behind(const Op *op, const Op *at) {
    for (const Op *o = at->next; o; o = o->next)
        if (o == op || ir_inside(op, o)) return true;
    return false;
}

/* Does the buffer need its bytes while the loop runs: for the loop, for what follows it, or for
 * the next turn of a loop around it (allocate.c)? */
static bool lives_with(const Value *v, const Op *loop) {
    for (const Op *at = loop; at; at = at->block->parent) {
        bool turns = at->code == OP_FOR || at->code == OP_WHILE;
        if (ir_inside(v->def, at) || lies_behind(v->def, at)) continue;
        for (const Use *u = v->uses; u; u = u->next)
            if ((turns && ir_inside(u->op, at)) || lies_behind(u->op, at)) return true;
    }
    return false;
}

static void look_for_room(Op *op, void *ctx) {
    Room *room = ctx;
    const Op *loop = room->p->loop;
    bool within = ir_inside(op, loop);
    int64_t scratch = within ? exchange_bytes(op) : 0;
    if (scratch > room->scratch) room->scratch = scratch;
    if (within && op->code == OP_CONVERT && convert_exchanges(op)) {
        scratch = type_bytes(op->result[0]->type);
        if (scratch > room->scratch) room->scratch = scratch;
    }
    if (op->code != OP_BUFFER_ALLOC) return;
    const Value *v = op->result[0];
    for (int i = 0; i < room->p->copies.n; i++)
        if (room->p->copies.at[i].buffer == v) return;
    if (within || lives_with(v, loop)) room->bytes += type_bytes(v->type) * buffer_slices(op);
}

/* As many slices as were asked for, or as fit; 0: not two. */
static int slices_that_fit(const Plan *p, const LoopCost *c, int asked) {
    int64_t most = c->target->max_shared - c->others;
    int slices = asked;
    if (c->iteration * slices > most) slices = most < c->iteration ? 0 : (int)(most / c->iteration);
    if (slices < asked)
        diag(&p->s->diags, P_STAGES, p->loop->span,
             "a stage of this loop takes %lld bytes of shared memory, of which %s has %lld for it: "
             "%d stage%s instead of %d",
             (long long)c->iteration, c->target->name, (long long)(most < 0 ? 0 : most),
             slices < 2 ? 1 : slices, slices < 2 ? "" : "s", asked);
    return slices < 2 ? 0 : slices;
}

/* What the cost model is told: what the loop has in registers and in shared memory. */
static LoopCost cost_of(Plan *p) {
    LoopCost c = {.target = p->ctx->target, .threads = warps_of_block(p->f, p->loop->block) * 32};
    Room room = {.p = p};
    ir_walk(p->f->body, look_for_room, &room);
    c.others = room.bytes + room.scratch;
    bool plain = false;
    for (int i = 0; i < p->copies.n; i++) {
        c.iteration += type_bytes(p->copies.at[i].type);
        c.for_dots |= p->copies.at[i].store != NULL;
        plain |= p->copies.at[i].plain;
    }
    c.for_dots &= !plain;
    if (p->copies.n > 1)
        c.iteration = (c.iteration + COST_STAGE_ALIGN - 1) / COST_STAGE_ALIGN * COST_STAGE_ALIGN;
    for (int i = 0; i < p->loop->nresults; i++) {
        Type t = p->loop->result[i]->type;
        if (type_is_tile(t) && !t.depth) c.carried += type_bytes(t);
    }
    return c;
}

static void look_for_load(Op *op, void *found) {
    if (op->code == OP_LOAD && op->result[0]->layout) *(bool *)found = true;
}

/* A loop that was to be pipelined, and why it is not: where no load of it has said so. */
static void refuse_loop(PassCtx *ctx, const Op *loop, const char *why) {
    diag(&ctx->s->diags, P_PIPELINE, loop->span, "this loop is not pipelined: %s", why);
}

/* A second slice of what a turn stores for its dots is worth a stage, but not one of few. */
static void leave_single(Plan *p, const LoopCost *c, int slices) {
    int64_t more = 0;
    int least = slices < COST_LEAST_BESIDE_STORED ? slices : COST_LEAST_BESIDE_STORED;
    for (int i = 0; i < p->stored.n; i++) more += type_bytes(p->stored.at[i]->type);
    if (c->others + more + c->iteration * least > c->target->max_shared) p->stored.n = 0;
}

static int give_two_slices(Plan *p, LoopCost *c, int slices) {
    for (int i = 0; i < p->stored.n; i++) {
        ir_set_attr(p->s, p->stored.at[i]->def, AT_SLICES, 2);
        c->others += type_bytes(p->stored.at[i]->type);
    }
    return p->stored.n ? slices_that_fit(p, c, slices) : slices;
}

typedef struct Scheduling {
    PassCtx *ctx;
    AxisTable axis; /* extended for each loop */
} Scheduling;

static void schedule_loop(Scheduling *x, Op *loop, int slices, bool all) {
    PassCtx *ctx = x->ctx;
    Arena *a = &ctx->s->arena;
    axis_extend(ctx->s, ctx->f, &x->axis);
    Plan p = {.ctx = ctx, .s = ctx->s, .f = ctx->f, .loop = loop, .axis = &x->axis};
    p.size = ctx->f->nvalues;
    p.slice = arena_alloc(a, p.size);
    p.for_dots = arena_alloc(a, p.size);
    p.worked_on = arena_alloc(a, p.size);
    p.carried = arena_alloc(a, (size_t)loop->nresults);
    p.deferred = arena_alloc(a, (size_t)loop->nresults);
    p.map = arena_array(a, p.size, sizeof *p.map);
    plan_copies(&p, all);
    if (!p.copies.n && !p.refused)
        refuse_loop(ctx, loop, "no load of its body, outside of branches, goes into a dot");
    LoopCost cost = cost_of(&p);
    slices = p.copies.n ? slices_that_fit(&p, &cost, slices) : 0;
    if (!slices) return;
    plan_stored(&p);
    leave_single(&p, &cost, slices);
    plan_dots(&p, &cost);
    slices = give_two_slices(&p, &cost, slices);
    p.choice = cost_choose(&cost, slices);
    p.loop = with_copies(&p);
    write_table(&p, p.loop);
    if (p.choice.more) version_by_occupancy(&p);
    ctx->changed = true;
}

static void visit(Op *loop, void *scheduling) {
    PassCtx *ctx = ((Scheduling *)scheduling)->ctx;
    if ((loop->code != OP_FOR && loop->code != OP_WHILE) || loop_is_scheduled(loop)) return;
    Block *turn = loop->region[loop->nregions - 1];
    bool inner = false, dot = false, load = false;
    ir_walk(turn, look_for_loop, &inner);
    ir_walk(turn, look_for_dot, &dot);
    ir_walk(turn, look_for_load, &load);
    bool asked = ir_attr(loop, AT_NUM_STAGES) != NULL;
    int stages = (int)ir_attr_int(loop, AT_NUM_STAGES, dot ? ctx->f->num_stages : 1);
    if (stages < 2 || !load || !ctx->target->async_copy) return;
    if (inner) { /* around a pipelined loop it is as it should be */
        if (asked) refuse_loop(ctx, loop, "there is a loop inside it");
        return;
    }
    if (loop->code == OP_WHILE) {
        refuse_loop(ctx, loop, "only `for` loops are");
        return;
    }
    schedule_loop(scheduling, loop, stages, asked);
}

void pass_schedule(PassCtx *ctx) {
    Scheduling x = {.ctx = ctx};
    ir_walk(ctx->f->body, visit, &x);
    if (ctx->changed) pass_dce(ctx); /* addresses that only the loads used */
}
