/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* pipeline_dots.c: dots of a pipelined loop that are still in flight while the body goes on.
 *
 * The leading dots are those that need nothing the body worked out. They start first. Where they
 * only add to what goes round the loop (matmul) their wait is deferred by an iteration:
 *     wait for copies; barrier; start acc = a b + acc; wait for all but this one; barrier; copies
 * Where the body goes on with their results, the wait of a later dot whose result only goes round
 * the loop is deferred (attention), to that for the next iteration's leading ones:
 *     wait for copies; barrier; start s = q k; wait for s and acc; …; start acc = p v + acc * x;
 *     barrier; copies
 * Where none is deferred the copies' addresses are worked out behind the leading dots. The copies
 * overwrite the stage that the deferred dots of the iteration before read, so they come after the
 * wait for those and after a barrier, when all warps have waited.
 *
 * The next iteration's copies can be waited for, and fenced, while dots are in flight. When that is
 * done before this iteration's copies start, the second barrier tells all warps of both, and the
 * first goes:
 *     start acc = a b + acc; wait for copies; wait for all dots but this one; barrier; copies
 * These copies were started an iteration's dots earlier then, which is an iteration less for them:
 * worth it where that time is hidden.
 *
 * Where the SM has room for a slack stage, copies overwrite what the dots of two iterations before
 * read, which all warps have waited for when they come to the barrier. So copies start at once:
 *     wait for copies; barrier; start acc = a b + acc; copies; wait for all dots but this one
 *     wait for copies; barrier; start s = q k; copies; wait for s and acc; …; start acc = …
 * Starting copies takes as long as L2 takes to answer most of them. Here that time lies beside two
 * iterations' dots, and one in which L2 is slow is made up for in the next; in the other forms the
 * tensor cores stand still for each. */
#include "passes/software_pipeline.h"
#include "passes/cost.h"

/* Nothing overwrites what the dot reads from shared memory before its iteration, or the next one's
 * second barrier, is over: slices of the pipeline's buffers, and what no iteration writes. */
static bool may_be_in_flight(const Pipeline *p, const Op *dot) {
    if (!ir_attr(dot, AT_WGMMA)) return false;
    for (int i = 0; i < 2; i++) {
        const Value *v = dot->operand[i].value;
        bool safe = !type_is_buffer(v->type) || ir_defined_outside(v, p->loop);
        for (int k = 0; k < p->copies.n; k++) safe |= p->copies.at[k].buffer == v;
        if (!safe) return false;
    }
    return true;
}

/* The number of the carried value that is nothing but the dot's result; -1: none. */
static int carried_result(const Op *dot) {
    const Value *r = dot->result[0];
    const Op *yield = dot->block->last;
    if (!r->uses || r->uses->next || r->uses->op != yield) return -1;
    for (int i = 0; i < yield->noperands; i++)
        if (yield->operand[i].value == r) return i;
    return -1;
}

/* The dot adds to what it was in the iteration before, which nobody else looks at. */
static bool is_chained(const Op *dot, int carried) {
    const Value *acc = dot->operand[2].value;
    return acc == dot->block->args[1 + carried] && !acc->uses->next;
}

void pipeline_plan_dots(Pipeline *p) {
    const Block *body = p->loop->region[0];
    uint8_t *late = arena_alloc(&p->s->arena, p->size); /* by id: made of a dot of the body */
    for (const Op *op = body->first; op != body->last; op = op->next) {
        int i = op->code == OP_DOT && may_be_in_flight(p, op) ? carried_result(op) : -1;
        if (i >= 0 && !is_chained(op, i)) late[body->args[1 + i]->id] = 1;
    }
    int leads = 0;
    for (Op *op = body->first; op != body->last && !op->nregions; op = op->next) {
        bool is_late = op->code == OP_BARRIER;
        for (int i = 0; i < op->noperands; i++) is_late |= late[op->operand[i].value->id];
        if (is_late || (op->code == OP_DOT && !may_be_in_flight(p, op))) break;
        if (op->code != OP_DOT) continue;
        late[op->result[0]->id] = 1;
        p->first_mma = op;
        p->first_mmas = ++leads;
    }
    if (!p->first_mma) return;
    bool before = true, any = false;
    for (Op *op = body->first; op != body->last; op = op->next) {
        if (op->code != OP_DOT) continue;
        if (before) ir_set_attr(p->s, op, AT_ASYNC, 1);
        int i = may_be_in_flight(p, op) ? carried_result(op) : -1;
        if (i >= 0 && before && is_chained(op, i)) {
            p->deferred[i] = DEFER_RESULT;
            any = true;
        }
        if (i >= 0 && !before && !any) {
            ir_set_attr(p->s, op, AT_ASYNC, 1);
            p->deferred[i] = DEFER_ARG;
            p->last_mma = op;
        }
        if (op == p->first_mma) before = false;
    }
    if (!p->last_mma) p->last_mma = p->first_mma;
    p->lands_apart = p->last_mma != p->first_mma || any;
    for (int i = 0; i < p->copies.n; i++) p->lands_apart &= !p->copies.at[i].plain;
}

void pipeline_plan_stages(Pipeline *p, int64_t others) {
    LoopCost c = {.target = p->ctx->target, .threads = p->f->num_warps * 32, .others = others};
    c.iteration = p->stage_bytes;
    c.in_flight = p->lands_apart;
    c.results_later = p->last_mma != p->first_mma;
    for (int i = 0; i < p->loop->nresults; i++) {
        Type t = p->loop->result[i]->type;
        if (type_is_tile(t) && !t.depth) c.carried += type_bytes(t);
    }
    bool plain = false;
    for (int i = 0; i < p->copies.n; i++) {
        c.for_dots |= p->copies.at[i].store != NULL;
        plain |= p->copies.at[i].plain;
    }
    c.for_dots &= !plain;
    LoopChoice choice = cost_choose(&c, p->stages);
    p->stages = choice.slices;
    p->slack = choice.slices - 1 > choice.ahead;
    p->lands_first = choice.lands_ahead;
    if (choice.more) p->most = choice.slices + choice.more;
}

Value *pipeline_wait_dot(Pipeline *p, Builder *b, Value *v, Value *const *others, int n) {
    Value **x = arena_array(&p->s->arena, (size_t)n + 1, sizeof *x);
    x[0] = v;
    for (int i = 0; i < n; i++) x[1 + i] = others[i];
    Value *w = ir_op1(b, OP_DOT_WAIT, x, n + 1);
    w->layout = v->layout;
    w->name = v->name;
    return w;
}

int pipeline_deferred(const Pipeline *p, Value *const *values, Value **out) {
    int n = 0;
    for (int i = 0; i < p->loop->nresults; i++)
        if (p->deferred[i]) out[n++] = values[i];
    return n;
}

/* The newest dot that is in flight before `at`; NULL: none of the body is. */
static Value *newest_before(const Op *at) {
    const Op *op = at->prev;
    while (op && !(op->code == OP_DOT && ir_attr_int(op, AT_ASYNC, 0))) op = op->prev;
    return op ? op->result[0] : NULL;
}

/* It asks whether the value's dot is done, and does not look at the value. */
static bool names_only(const Use *u) {
    return u->op->code == OP_DOT_WAIT && u != &u->op->operand[0];
}

/* Before the first op that looks at v it is waited for, and whatever else is in flight. */
static Value *wait_where_used(Pipeline *p, Value *v, Op *from) {
    Op *at = from;
    for (; at; at = at->next) {
        bool found = at == p->last_mma->next;
        for (const Use *u = v->uses; u && !found; u = u->next)
            found = (u->op == at && !names_only(u)) || ir_inside(u->op, at);
        if (found) break;
    }
    Builder b = {p->s, p->f, from->block, at, p->first_mma->span};
    Value *newest = newest_before(at), *both[] = {v, newest};
    Value *w = pipeline_wait_dot(p, &b, v, both, newest && newest != v ? 2 : 0);
    for (Use *u = v->uses, *next; u; u = next) {
        next = u->next;
        if (u->op != w->def && !names_only(u)) ir_set_operand(u->op, (int)(u - u->op->operand), w);
    }
    return w;
}

void pipeline_place_waits(Pipeline *p, Block *body, Value **arg, Value **out, Op *first, Op *last) {
    Op *place = p->last_mma->next;
    bool any = false;
    Builder behind = {p->s, p->f, body, place, p->first_mma->span};
    Value **before = arena_array(&p->s->arena, (size_t)p->loop->nresults, sizeof *before);
    int nbefore = pipeline_deferred(p, arg, before);
    if (p->lands_first) pipeline_land(p, &behind, 1);
    for (int i = 0; i < p->loop->nresults; i++) {
        if (!p->deferred[i]) continue;
        any = true;
        if (p->deferred[i] == DEFER_RESULT) {
            Builder b = {p->s, p->f, body, place, p->first_mma->span};
            out[i] = pipeline_wait_dot(p, &b, out[i], before, nbefore);
        } else {
            Value *w = wait_where_used(p, arg[i], body->first);
            if (out[i] == arg[i]) out[i] = w;
        }
    }
    for (Op *op = body->first;; op = op->next) {
        bool goes_round = false;
        for (int i = 0; op->code == OP_DOT && i < p->loop->nresults; i++)
            goes_round |=
                p->deferred[i] == DEFER_RESULT && out[i]->def->operand[0].value == op->result[0];
        if (op->code == OP_DOT && !goes_round) wait_where_used(p, op->result[0], op->next);
        if (op == p->first_mma) break;
    }
    if (p->slack) { /* before any wait */
        place = p->first_mma->next;
    } else if (any) {
        Builder b = {p->s, p->f, body, place, p->first_mma->span};
        ir_op(&b, OP_BARRIER, NULL, 0, NULL, 0, 0);
    } else { /* no dot reads the stage any more */
        place = p->last_mma->next;
    }
    Op *behind_copies = last->next;
    for (Op *op = first, *next; op != behind_copies; op = next) {
        next = op->next;
        if (place)
            ir_move_before(op, place);
        else
            ir_append(body, op);
    }
}
