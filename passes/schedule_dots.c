/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* schedule_dots.c: dots of a pipelined loop that are still in flight while the body goes on.
 *
 * The leading dots are those that need nothing the body worked out. They start first. Where they
 * only add to what goes round the loop (matmul) their waits are deferred: they are a stage later,
 * in the next iteration's turn, behind its leading dots. Where the body goes on with their results,
 * these are waited for where they are used, and the wait of a later dot whose result only goes
 * round the loop is deferred (attention), to where the next iteration uses that. */
#include "ir/buffer.h"
#include "ir/target.h"
#include "passes/schedule_plan.h"

#include <string.h>

/* The one store that fills the buffer, in the body; NULL: something else writes it. */
static Op *only_store(const Plan *p, const Value *buffer) {
    Op *store = NULL;
    for (const Use *u = buffer->uses; u; u = u->next) {
        bool writes = u->op->code != OP_DOT && !buffer_is_view(u->op);
        if (!writes) continue;
        if (store || u->op->code != OP_SHARED_STORE) return NULL;
        store = u->op;
    }
    return store && store->block == p->loop->region[0] ? store : NULL;
}

static bool is_copied(const Plan *p, const Op *load) {
    for (int i = 0; i < p->copies.n; i++)
        if (p->copies.at[i].load == load) return true;
    return false;
}

/* What a turn loads without a copy waits in registers: beside a dot in flight that would be too
 * many. */
void plan_stored(Plan *p) {
    const Block *body = p->loop->region[0];
    uint8_t *late = arena_alloc(&p->s->arena, p->size); /* by id: made of a dot, or such a load */
    for (const Op *op = body->first; op != body->last; op = op->next) {
        bool is_late = op->code == OP_DOT || op->nregions;
        is_late |= op->code == OP_LOAD && !is_copied(p, op);
        for (int i = 0; i < op->noperands; i++) is_late |= late[op->operand[i].value->id];
        for (int i = 0; i < op->nresults; i++) late[op->result[i]->id] = is_late;
    }
    for (int i = 0; i < p->loop->nresults; i++) /* an accumulator, and what is worked out of it */
        if (late[body->last->operand[i].value->id]) late[body->args[1 + i]->id] = 1;
    for (Op *op = body->first; op != body->last; op = op->next) {
        if (op->code != OP_BUFFER_ALLOC || ir_attr(op, AT_SLICES)) continue;
        const Op *store = only_store(p, op->result[0]);
        bool made = store && !late[store->operand[0].value->id];
        for (int i = 0; i < p->copies.n; i++) made &= p->copies.at[i].buffer != op->result[0];
        if (made) vec_push(&p->s->arena, &p->stored, op->result[0]);
    }
}

void plan_stored_barriers(Plan *p, Block *body) {
    bool told = true; /* of all that is stored up to here */
    for (Op *op = body->first; op != body->last; op = op->next) {
        bool takes = false;
        for (int i = 0; i < p->stored.n; i++) {
            told &= op->code != OP_SHARED_STORE || op->operand[1].value != p->stored.at[i];
            for (int k = 0; op_is_async_dot(op) && k < 2; k++)
                takes |= buffer_of_view(op->operand[k].value) == p->stored.at[i];
        }
        if (!takes || told) continue;
        Builder b = {p->s, p->f, body, op, op->span};
        ir_op(&b, OP_BARRIER, NULL, 0, NULL, 0, 0);
        told = true;
    }
}

/* Asynchronous before this pass, as a role's dots are: these have their waits. */
static bool was_async(const Plan *p, const Op *dot) {
    for (int i = 0; i < p->started.n; i++)
        if (p->started.at[i] == dot) return false;
    return op_is_async_dot(dot);
}

/* Nothing overwrites what the dot reads from shared memory before its iteration, or the next one's
 * wait for it, is over: slices of the pipeline's buffers, and what no iteration writes. */
static bool may_be_in_flight(const Plan *p, const Op *dot) {
    if (!ir_attr(dot, AT_WGMMA) || was_async(p, dot)) return false;
    for (int i = 0; i < 2; i++) {
        const Value *v = buffer_of_view(dot->operand[i].value);
        bool safe = !type_is_buffer(v->type) || ir_defined_outside(v, p->loop);
        for (int k = 0; k < p->copies.n; k++) safe |= p->copies.at[k].buffer == v;
        for (int k = 0; k < p->stored.n; k++) safe |= p->stored.at[k] == v;
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

bool feeds_dot(const Value *v, int i) {
    for (const Use *u = v->uses; u; u = u->next) {
        bool moves = u->op->code == OP_TRANS || u->op->code == OP_RESHAPE;
        bool takes = u->op->code == OP_DOT && (i < 0 || u == &u->op->operand[i]);
        if (takes || (moves && feeds_dot(u->op->result[0], i))) return true;
    }
    return false;
}

int dot_chained(const Op *dot) {
    int i = dot->block->parent && dot->block->parent->code == OP_FOR ? carried_result(dot) : -1;
    return i >= 0 && is_chained(dot, i) ? i : -1;
}

/* Finds the leading dots: sets p->first_mma to the last of them. */
static void find_leading(Plan *p) {
    const Block *body = p->loop->region[0];
    uint8_t *late = arena_alloc(&p->s->arena, p->size); /* by id: made of a dot of the body */
    for (const Op *op = body->first; op != body->last; op = op->next) {
        int i = op->code == OP_DOT && may_be_in_flight(p, op) ? carried_result(op) : -1;
        if (i >= 0 && !is_chained(op, i)) late[body->args[1 + i]->id] = 1;
    }
    for (Op *op = body->first; op != body->last && !op->nregions; op = op->next) {
        bool is_late = op->code == OP_BARRIER;
        for (int i = 0; i < op->noperands; i++) is_late |= late[op->operand[i].value->id];
        if (is_late || (op->code == OP_DOT && !may_be_in_flight(p, op))) break;
        if (op->code != OP_DOT) continue;
        late[op->result[0]->id] = 1;
        p->first_mma = op;
    }
}

static void start_only(Plan *p, Op *dot) {
    if (ir_attr(dot, AT_ASYNC)) return;
    ir_set_attr(p->s, dot, AT_ASYNC, 1);
    vec_push(&p->s->arena, &p->started, dot);
}

static void plan_with_stored(Plan *p, LoopCost *cost) {
    const Block *body = p->loop->region[0];
    find_leading(p);
    if (!p->first_mma) return;
    bool leads = true;
    for (Op *op = body->first; op != body->last; op = op->next) {
        if (op->code != OP_DOT) continue;
        if (leads) start_only(p, op);
        int i = may_be_in_flight(p, op) ? carried_result(op) : -1;
        if (i >= 0 && leads && is_chained(op, i)) {
            p->deferred[i] = 1;
            p->sums = true;
        }
        if (i >= 0 && !leads && !p->sums) {
            start_only(p, op);
            p->deferred[i] = 1;
            p->last_mma = op;
        }
        if (op == p->first_mma) leads = false;
    }
    cost->results_later = p->last_mma != NULL;
    cost->in_flight = cost->results_later || p->sums;
    if (!p->last_mma) p->last_mma = p->first_mma;
    for (int i = 0; i < p->copies.n; i++) cost->in_flight &= !p->copies.at[i].plain;
}

static bool dots_are_in_flight(const Plan *p, const Value *buffer) {
    for (const Use *u = buffer->uses; u; u = u->next) {
        bool view = u->op->code == OP_BUFFER_TRANS;
        if ((view && !dots_are_in_flight(p, u->op->result[0])) ||
            (u->op->code == OP_DOT && (!op_is_async_dot(u->op) || was_async(p, u->op))))
            return false;
    }
    return true;
}

/* Leaves out what some dot reads that is done before the turn is; true: there was any. */
static bool drop_read_at_once(Plan *p) {
    int n = 0, had = p->stored.n;
    for (int i = 0; i < had; i++)
        if (dots_are_in_flight(p, p->stored.at[i])) p->stored.at[n++] = p->stored.at[i];
    p->stored.n = n;
    return n < had;
}

static void forget_dots(Plan *p, LoopCost *cost) {
    for (int i = 0; i < p->started.n; i++) ir_drop_attr(p->started.at[i], AT_ASYNC);
    memset(p->deferred, 0, (size_t)p->loop->nresults);
    p->started.n = 0;
    p->first_mma = p->last_mma = NULL;
    p->sums = cost->results_later = cost->in_flight = false;
}

/* A dot is in flight for what it reads has two slices, and that has them where all its dots are. */
void plan_dots(Plan *p, LoopCost *cost) {
    plan_with_stored(p, cost);
    while (drop_read_at_once(p)) {
        forget_dots(p, cost);
        plan_with_stored(p, cost);
    }
}

static Value *wait_for(Plan *p, Op *before, Value *v, Value *const *others, int n) {
    Builder b = {p->s, p->f, before->block, before, p->first_mma->span};
    Value **x = arena_array(&p->s->arena, (size_t)n + 1, sizeof *x);
    x[0] = v;
    for (int i = 0; i < n; i++) x[1 + i] = others[i];
    Value *w = ir_op1(&b, OP_DOT_WAIT, x, n + 1);
    w->layout = v->layout;
    w->name = v->name;
    return w;
}

/* The newest dot that is in flight before `at`. */
static Value *newest_before(const Op *at) {
    const Op *op = at->prev;
    while (!op_is_async_dot(op)) op = op->prev;
    return op->result[0];
}

/* The first op from `at` on that looks at v; the one behind the last dot in flight at the latest,
 * or NULL where that is no reason. */
static Op *first_use(const Plan *p, const Value *v, Op *at, bool latest) {
    for (; at; at = at->next) {
        if (at == p->last_mma->next) return latest ? at : NULL;
        for (const Use *u = v->uses; u; u = u->next)
            if ((u->op == at && at->code != OP_DOT_WAIT) || ir_inside(u->op, at)) return at;
    }
    return NULL;
}

/* A leading dot's result is waited for where it is used, and what was started before that. */
static void wait_where_used(Plan *p, const Op *dot) {
    Value *v = dot->result[0];
    Op *at = first_use(p, v, dot->next, true);
    Value *newest = newest_before(at), *both[] = {v, newest};
    Value *w = wait_for(p, at, v, both, newest != v ? 2 : 0);
    for (Use *u = v->uses, *next; u; u = next) {
        next = u->next;
        if (u->op->code != OP_DOT_WAIT) ir_set_operand(u->op, (int)(u - u->op->operand), w);
    }
}

void plan_dot_waits(Plan *p, Block *body, Value **out) {
    Arena *a = &p->s->arena;
    int n = p->loop->nresults, ndeferred = 0;
    Value **dots = arena_array(a, (size_t)n, sizeof *dots);
    for (int i = 0; i < n; i++)
        if (p->deferred[i]) dots[ndeferred++] = out[i];
    Op *behind = p->last_mma->next;
    for (int i = 0; i < n; i++) {
        if (!p->deferred[i]) continue;
        Op *before = p->sums ? NULL : first_use(p, body->args[1 + i], body->first, false);
        out[i] = wait_for(p, behind, out[i], dots, p->sums && ndeferred > 1 ? ndeferred : 0);
        vec_push(a, &p->late, out[i]->def);
        vec_push(a, &p->before, before);
    }
    for (Op *op = body->first;; op = op->next) {
        bool waited_for = op->code != OP_DOT;
        for (int i = 0; i < ndeferred; i++) waited_for |= dots[i] == op->result[0];
        if (!waited_for) wait_where_used(p, op);
        if (op == p->first_mma) break;
    }
}
