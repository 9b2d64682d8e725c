/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* await_counts.c: what waits wait for -> how many groups they let go on.
 *
 * The hardware has three queues, of groups of copies (cp.async), of copies to memory by descriptors
 * (cp.async.bulk), and of asynchronous dots (wgmma), and waits until all but the newest n of one
 * are done. A wait here names tokens, or dots' results; n is how many groups were begun since the
 * youngest of these, its age. So ages are what this pass works out: a group gets older by one with
 * each that is begun after it. What paths differ in counts as the younger, and a loop is gone
 * through until no argument gets younger by what comes round. A token may be of groups in several
 * queues. */
#include "ir/effects.h"
#include "passes/pass.h"

#include <string.h>

typedef enum Queue { COPIES, STORES, DOTS, QUEUES } Queue;
enum { MOST_DOTS = 7 };                    /* that wgmma.wait_group lets go on */
static const int64_t DONE = INT64_MIN / 2; /* when what is done began: its age is beyond any */
enum { LONG_AGO = 1 << 20 };

typedef struct Age { /* of what a value is of, in each queue */
    int64_t in[QUEUES];
} Age;

typedef struct Ages {
    PassCtx *ctx;
    int64_t begun[QUEUES]; /* groups, so far */
    int64_t dots_done;     /* as many of these are done: a wait behind another lets none of them go
                              on that cannot be */
    Age *since;            /* by value id: `begun` right after its group began, or DONE */
} Ages;

static const Age all_done = {{LONG_AGO, LONG_AGO, LONG_AGO}};

static Age age_of(const Ages *a, const Value *v) {
    Age age = all_done;
    for (int q = 0; q < QUEUES; q++) {
        int64_t n = a->begun[q] - a->since[v->id].in[q];
        if (n < LONG_AGO) age.in[q] = n;
    }
    return age;
}

static void set_age(Ages *a, const Value *v, Age age) {
    for (int q = 0; q < QUEUES; q++)
        a->since[v->id].in[q] = age.in[q] >= LONG_AGO ? DONE : a->begun[q] - age.in[q];
}

static void begin_group(Ages *a, Queue q, const Value *v) {
    Age age = all_done;
    a->begun[q]++;
    age.in[q] = 0;
    set_age(a, v, age);
}

static int64_t younger(int64_t x, int64_t y) {
    return x < y ? x : y;
}

/* In each queue the younger; *changed: x was older in one. */
static Age youngest(Age x, Age y, bool *changed) {
    for (int q = 0; q < QUEUES; q++) {
        *changed |= y.in[q] < x.in[q];
        x.in[q] = younger(x.in[q], y.in[q]);
    }
    return x;
}

/* How many groups may go on so that operands from `first` on are done; LONG_AGO: they are, as far
 * as is known. */
static int64_t count_for(const Ages *a, Queue q, const Op *op, int first, int64_t most) {
    int64_t n = LONG_AGO;
    for (int i = first; i < op->noperands; i++)
        n = younger(n, age_of(a, op->operand[i].value).in[q]);
    return n < LONG_AGO && n > most ? most : n;
}

static void set_count(Ages *a, Op *op, AttrId id, int64_t n) {
    ir_set_attr(a->ctx->s, op, id, n == LONG_AGO ? 0 : n);
}

static void visit_block(Ages *a, Block *b);

/* What a `while` goes on with, and ends with, is what its condition hands on. */
static void visit_test(Ages *a, Op *loop, Age *out) {
    const Op *end = loop->region[0]->last;
    for (int i = 0; i < loop->nresults; i++) out[i] = age_of(a, end->operand[1 + i].value);
    for (int i = 0; i < loop->nresults; i++) set_age(a, loop->region[1]->args[i], out[i]);
    visit_block(a, loop->region[1]);
}

/* The body, until no argument gets younger by what comes round. It may run not at all: what began
 * in it makes nobody else older. */
static void visit_loop(Ages *a, Op *loop) {
    bool counts = loop->code == OP_FOR;
    int first = counts ? 3 : 0, n = loop->noperands - first;
    Block *head = loop->region[0], *body = loop->region[loop->nregions - 1];
    Arena *arena = &a->ctx->s->arena;
    int64_t start[QUEUES];
    Age *age = arena_array(arena, (size_t)n + 1, sizeof *age);
    Age *out = counts ? age : arena_array(arena, (size_t)loop->nresults + 1, sizeof *out);
    memcpy(start, a->begun, sizeof start);
    for (int i = 0; i < n; i++) age[i] = age_of(a, loop->operand[first + i].value);
    for (bool again = true; again;) {
        again = false;
        memcpy(a->begun, start, sizeof start);
        a->dots_done = -LONG_AGO;
        for (int i = 0; i < n; i++) set_age(a, head->args[counts + i], age[i]);
        visit_block(a, head);
        if (!counts) visit_test(a, loop, out);
        for (int i = 0; i < n; i++)
            age[i] = youngest(age[i], age_of(a, body->last->operand[i].value), &again);
    }
    memcpy(a->begun, start, sizeof start);
    a->dots_done = -LONG_AGO;
    for (int i = 0; i < loop->nresults; i++) set_age(a, loop->result[i], out[i]);
}

static void visit_if(Ages *a, Op *op) {
    int64_t start[QUEUES], end[2][QUEUES];
    bool changed = false;
    Age *age = arena_array(&a->ctx->s->arena, (size_t)op->nresults, sizeof *age);
    memcpy(start, a->begun, sizeof start);
    for (int i = 0; i < op->nresults; i++) age[i] = all_done;
    for (int r = 0; r < 2; r++) {
        memcpy(a->begun, start, sizeof start);
        a->dots_done = -LONG_AGO;
        visit_block(a, op->region[r]);
        memcpy(end[r], a->begun, sizeof start);
        for (int i = 0; i < op->nresults; i++)
            age[i] = youngest(age[i], age_of(a, op->region[r]->last->operand[i].value), &changed);
    }
    a->dots_done = -LONG_AGO;
    for (int q = 0; q < QUEUES; q++) a->begun[q] = younger(end[0][q], end[1][q]);
    for (int i = 0; i < op->nresults; i++) set_age(a, op->result[i], age[i]);
}

/* Each role has queues of its own. */
static void visit_roles(Ages *a, Op *op) {
    int64_t start[QUEUES];
    memcpy(start, a->begun, sizeof start);
    for (int r = 0; r < op->nregions; r++) {
        a->dots_done = -LONG_AGO;
        visit_block(a, op->region[r]);
        memcpy(a->begun, start, sizeof start);
    }
    a->dots_done = -LONG_AGO;
}

/* Either token may be the one. */
static void visit_select(Ages *a, const Op *op) {
    Age x = age_of(a, op->operand[1].value), y = age_of(a, op->operand[2].value);
    bool changed = false;
    set_age(a, op->result[0], youngest(x, y, &changed));
}

static void visit_commit(Ages *a, Op *op) {
    if (count_for(a, STORES, op, 0, TYPE_MAX_SLICES) < LONG_AGO)
        diag(&a->ctx->s->diags, E_WAIT, op->span,
             "a group is of copies into buffers: wait for those to memory themselves");
    begin_group(a, COPIES, op->result[0]);
}

/* In the queues of what its tokens are of; where all that is done, of copies. */
static void visit_wait(Ages *a, Op *op) {
    int64_t copies = count_for(a, COPIES, op, 0, TYPE_MAX_SLICES);
    int64_t stores = count_for(a, STORES, op, 0, TYPE_MAX_SLICES);
    ir_drop_attr(op, AT_STORES); /* of a turn before */
    ir_drop_attr(op, AT_PENDING);
    if (stores < LONG_AGO) set_count(a, op, AT_STORES, stores);
    if (copies < LONG_AGO || stores == LONG_AGO) set_count(a, op, AT_PENDING, copies);
}

static void visit_dot_wait(Ages *a, Op *op) {
    int64_t pending = count_for(a, DOTS, op, op->noperands > 1, MOST_DOTS);
    pending = younger(pending, a->begun[DOTS] - a->dots_done);
    a->dots_done = a->begun[DOTS] - pending;
    Age age = age_of(a, op->operand[0].value);
    set_count(a, op, AT_PENDING, pending);
    if (age.in[DOTS] >= pending) age.in[DOTS] = LONG_AGO;
    set_age(a, op->result[0], age);
}

static void visit_block(Ages *a, Block *b) {
    for (Op *op = b->first; op; op = op->next) {
        switch (op->code) {
        case OP_FOR:
        case OP_WHILE: visit_loop(a, op); break;
        case OP_IF: visit_if(a, op); break;
        case OP_WARPS: visit_roles(a, op); break;
        case OP_ASYNC_COMMIT: visit_commit(a, op); break;
        case OP_ASYNC_DESC_STORE:
        case OP_ASYNC_DESC_REDUCE: begin_group(a, STORES, op->result[0]); break;
        case OP_DOT:
            if (ir_attr_int(op, AT_ASYNC, 0)) begin_group(a, DOTS, op->result[0]);
            break;
        case OP_SELECT:
            if (type_is_token(op->result[0]->type)) visit_select(a, op);
            break;
        case OP_ASYNC_WAIT:
            if (op->noperands) visit_wait(a, op);
            break;
        case OP_DOT_WAIT: visit_dot_wait(a, op); break;
        default: break;
        }
    }
}

/* A copy that is awaited itself is a group of its own: it is begun right behind it. */
static void commit_by_itself(Op *op, void *ctx_) {
    PassCtx *ctx = ctx_;
    if (op->code != OP_ASYNC_COPY) return;
    Value *token = op->result[0];
    bool awaited = false;
    for (const Use *u = token->uses; u; u = u->next) awaited |= u->op->code != OP_ASYNC_COMMIT;
    if (!awaited) return;
    Builder b = {ctx->s, ctx->f, op->block, op->next, op->span};
    Op *commit = ir_op(&b, OP_ASYNC_COMMIT, NULL, 0, &token->type, 1, 0);
    ir_replace_uses(token, commit->result[0]);
    ctx->changed = true;
}

static void look_for_wait(Op *op, void *found) {
    *(bool *)found |= op->code == OP_ASYNC_WAIT || op->code == OP_DOT_WAIT;
}

void pass_await_counts(PassCtx *ctx) {
    bool any = false;
    ir_walk(ctx->f->body, look_for_wait, &any);
    if (!any) return;
    ir_walk(ctx->f->body, commit_by_itself, ctx);
    Ages a = {.ctx = ctx};
    a.since = arena_array(&ctx->s->arena, ctx->f->nvalues, sizeof *a.since);
    for (uint32_t i = 0; i < ctx->f->nvalues; i++) a.since[i] = (Age){{DONE, DONE, DONE}};
    visit_block(&a, ctx->f->body);
    ctx->changed = true;
}
