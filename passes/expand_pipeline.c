/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* expand_pipeline.c: the pass `expand_pipeline`: a loop and its schedule -> the pipelined loop.
 *
 *     for i: A stage 0; B stage 1; C stage 2; wait for C's dot stage 3
 * becomes
 *     A0; A1, B0                                      the prologue, as far as iterations exist
 *     for i: A(i+2), B(i+1), C(i), wait for C(i-1)    in the order of clusters
 *     wait for C(n-1)'s
 * All that it knows is when an op is done (schedule.h) and what ops need of each other; which ops
 * they are matters in few places: what may run for an iteration that does not exist is guarded
 * (expand_guard.c), and of a dot that goes on into the next turn, the wait hands on what the dots
 * of its chain have become by then.
 *
 * A value that an op needs so many turns later goes round the loop as often, tokens too. What the
 * loop carries anyway is carried once for each stage in which it is needed. Of a multi-buffer an
 * iteration has the slice of its number modulo theirs: a number for each stage that goes round
 * them. */
#include "passes/expand_pipeline.h"
#include "ir/effects.h"

#include <string.h>

static bool is_multi_buffer(const Op *op) {
    return op->code == OP_BUFFER_ALLOC && ir_attr(op, AT_SLICES);
}

static int slices_of(const Op *alloc) {
    return (int)ir_attr_int(alloc, AT_SLICES, 1);
}

static Value *index_of(const Expand *x) {
    return x->loop->region[0]->args[0];
}

/* ---- what is carried ---- */

static void need(Expand *x, const ScheduleRow *user, Value *v);

static Carry *find_carry(Expand *x, const Value *of, int stage, int turns) {
    for (int i = 0; i < x->carries.n; i++) {
        Carry *c = &x->carries.at[i];
        if (c->of == of && c->turns == turns && (turns || c->stage == stage)) return c;
    }
    return NULL;
}

/* An argument as iterations have it that are in this stage. */
static void need_argument(Expand *x, int carried, int stage) {
    Value *arg = x->loop->region[0]->args[1 + carried];
    if (find_carry(x, arg, stage, 0)) return;
    vec_push(&x->s->arena, &x->carries, ((Carry){.of = arg, .stage = stage}));
    ScheduleRow end = {.stage = stage, .time = x->t.n};
    need(x, &end, x->next[carried]);
}

/* The argument that v becomes in the next iteration; -1: none. */
static int argument_of(const Expand *x, const Value *v) {
    for (int i = 0; i < x->loop->nresults; i++)
        if (x->next[i] == v) return i;
    return -1;
}

/* What an op made so many turns ago. A turn ago, that may be an argument. */
static void need_made(Expand *x, Value *v, int turns) {
    int arg = turns == 1 ? argument_of(x, v) : -1;
    if (arg >= 0) {
        need_argument(x, arg, schedule_row(&x->t, v)->stage);
    } else if (!find_carry(x, v, 0, turns)) {
        vec_push(&x->s->arena, &x->carries, ((Carry){.of = v, .turns = turns}));
        if (turns > 1) need_made(x, v, turns - 1);
    }
}

/* What carries what need_made() asked for. */
static Carry *carry_of_made(Expand *x, const Value *v, int turns) {
    int arg = turns == 1 ? argument_of(x, v) : -1;
    return arg >= 0
               ? find_carry(x, x->loop->region[0]->args[1 + arg], schedule_row(&x->t, v)->stage, 0)
               : find_carry(x, v, 0, turns);
}

static void need_slice(Expand *x, const Op *alloc, int stage) {
    for (int i = 0; i < x->slices.n; i++)
        if (x->slices.at[i].buffer == alloc->result[0] && x->slices.at[i].stage == stage) return;
    vec_push(&x->s->arena, &x->slices, ((Slice){alloc->result[0], stage, NULL}));
    for (int i = 0; i < x->rotations.n; i++)
        if (x->rotations.at[i].stage == stage && x->rotations.at[i].slices == slices_of(alloc))
            return;
    Rotation r = {.stage = stage, .slices = slices_of(alloc)};
    vec_push(&x->s->arena, &x->rotations, r);
    int i = x->rotations.n - 1; /* the last stage's first: readers before writers */
    for (; i > 0 && x->rotations.at[i - 1].stage < stage; i--)
        x->rotations.at[i] = x->rotations.at[i - 1];
    x->rotations.at[i] = r;
}

/* The turn's own value of v, which the loop carries on, is there for the user. */
static bool is_made_before(const ScheduleRow *def, const ScheduleRow *user) {
    return def && def->stage == user->stage + 1 && def->time < user->time;
}

/* The user, an op or the end of the turn, takes v. */
static void need(Expand *x, const ScheduleRow *user, Value *v) {
    int carried = schedule_carried(&x->t, v);
    const ScheduleRow *def = schedule_row(&x->t, v);
    if (carried >= 0) {
        if (!is_made_before(schedule_row(&x->t, schedule_next(&x->t, carried)), user))
            need_argument(x, carried, user->stage);
    } else if (v == index_of(x)) {
        x->stage[user->stage].indexed = true;
    } else if (def && is_multi_buffer(def->op)) {
        need_slice(x, def->op, user->stage);
    } else if (def && user->stage > def->stage) {
        need_made(x, v, user->stage - def->stage);
    }
}

static void need_operands(Expand *x, const ScheduleRow *user, const Op *op) {
    for (int i = 0; i < op->noperands; i++) need(x, user, op->operand[i].value);
    for (int r = 0; r < op->nregions; r++)
        for (const Op *in = op->region[r]->first; in; in = in->next) need_operands(x, user, in);
}

static void find_needs(Expand *x, Builder *b) {
    const Schedule *t = &x->t;
    for (int i = 0; i < x->loop->nresults; i++)
        if (ir_has_uses(x->loop->result[i]) &&
            !(schedule_row(t, schedule_next(t, i)) &&
              schedule_row(t, schedule_next(t, i))->stage > t->last))
            need_argument(x, i, t->last);
    for (int i = 0; i < t->n; i++) {
        const ScheduleRow *r = &t->row[t->order[i]];
        if (is_multi_buffer(r->op)) continue;
        need_operands(x, r, r->op);
        if (r->stage < t->last && op_is_guarded(r->op)) x->stage[r->stage].guards = true;
    }
    for (int i = 0; i < x->carries.n; i++) {
        Carry *c = &x->carries.at[i];
        if (!c->turns && c->stage < t->last)
            c->by = pointer_increment(t, b, schedule_carried(t, c->of));
    }
}

/* ---- the prologue ---- */

/* v, of an iteration of the prologue. */
static Value *value_in(Expand *x, Builder *b, Value *v, int iteration) {
    int carried = schedule_carried(&x->t, v);
    const ScheduleRow *def = schedule_row(&x->t, v);
    if (carried >= 0)
        return iteration == 0 ? x->loop->operand[3 + carried].value
                              : value_in(x, b, schedule_next(&x->t, carried), iteration - 1);
    if (v == index_of(x)) {
        int i = iteration;
        while (!x->index[i]) i--;
        for (; i < iteration; i++)
            x->index[i + 1] = ir_binary(b, OP_ADD, x->index[i], x->loop->operand[2].value);
        return x->index[iteration];
    }
    if (!def) return v;
    Value **made = &x->made[iteration][v->id];
    if (!*made) { /* only a slice is made when it is needed */
        Value *buffer = x->alloc[def - x->t.row];
        Value *in[] = {buffer,
                       ir_const_int(b, type_scalar(EL_I32), iteration % slices_of(def->op))};
        *made = ir_op(b, OP_BUFFER_SLICE, in, 2, &v->type, 1, 0)->result[0];
        (*made)->layout = v->layout;
    }
    return *made;
}

static void map_operands(Expand *x, Builder *b, const Op *op, int iteration) {
    for (int i = 0; i < op->noperands; i++) {
        Value *v = op->operand[i].value;
        if (schedule_row(&x->t, v) || v->block == x->loop->region[0])
            x->map[v->id] = value_in(x, b, v, iteration);
    }
    for (int r = 0; r < op->nregions; r++)
        for (const Op *in = op->region[r]->first; in; in = in->next)
            map_operands(x, b, in, iteration);
}

static void emit_in_prologue(Expand *x, Builder *b, const ScheduleRow *r, int iteration) {
    const Op *op = r->op;
    Op *copy;
    b->span = op->span;
    if (x->stage[r->stage].guards && !x->exists[iteration])
        x->exists[iteration] = iteration_exists(b, x->trips, iteration);
    map_operands(x, b, op, iteration);
    if (op_is_guarded(op)) {
        Value *in[GUARDED_MOST_OPERANDS];
        for (int i = 0; i < op->noperands; i++) {
            Value *v = op->operand[i].value;
            in[i] = x->map[v->id] ? x->map[v->id] : v;
        }
        copy = emit_guarded(b, op, in, x->exists[iteration], iteration == 0 || x->read_ahead);
    } else {
        copy = ir_clone(b, op, x->map, x->t.values);
    }
    schedule_clear(copy);
    for (int i = 0; i < op->nresults; i++) x->made[iteration][op->result[i]->id] = copy->result[i];
}

/* Nothing is ahead of the last stage but stage 0 and waits: then what starts is started before
 * anything is waited for. */
static bool starts_first(const Schedule *t) {
    for (int i = 0; i < t->n; i++) {
        const ScheduleRow *r = &t->row[i];
        bool waits = r->op->code == OP_ASYNC_WAIT || r->op->code == OP_ASYNC_FENCE ||
                     r->op->code == OP_BARRIER;
        if (r->stage > 0 && r->stage < t->last && !waits) return false;
    }
    return true;
}

static void emit_prologue(Expand *x, Builder *b) {
    const Schedule *t = &x->t;
    int passes = starts_first(t) ? 2 : 1;
    for (int time = 0; time < t->last; time++)
        for (int pass = 0; pass < passes; pass++)
            for (int i = 0; i < t->n; i++) {
                const ScheduleRow *r = &t->row[t->order[i]];
                if (r->stage >= t->last || r->stage > time || is_multi_buffer(r->op)) continue;
                if (passes == 1 || (r->stage == 0) == (pass == 0))
                    emit_in_prologue(x, b, r, time - r->stage);
            }
}

/* ---- the loop ---- */

static bool is_token(const Carry *c) {
    return type_is_token(c->of->type);
}

/* The loop carries, in this order: what it did, the rest, indices and counters, tokens. */
static int carry_rank(const Expand *x, const Carry *c) {
    if (is_token(c)) return 2;
    return c->turns || c->stage < x->t.last;
}

static void note_entry(Expand *x, Builder *b, Carry *c) {
    const ScheduleRow *def = schedule_row(&x->t, c->of);
    int iteration = x->t.last - (c->turns ? def->stage + c->turns : c->stage);
    c->entry = value_in(x, b, c->of, iteration);
}

/* What the loop begins with, in `in`; how many values. */
static int enter_loop(Expand *x, Builder *b, Value **in) {
    Type i32 = type_scalar(EL_I32);
    int n = 0, last = x->t.last;
    for (int i = 0; i < x->carries.n; i++) note_entry(x, b, &x->carries.at[i]);
    for (int rank = 0; rank < 3; rank++) {
        for (int i = 0; i < x->carries.n; i++) {
            Carry *c = &x->carries.at[i];
            if (carry_rank(x, c) != rank) continue;
            c->place = n;
            in[n++] = c->by ? ir_const_int(b, c->by->type, 0) : c->entry;
        }
        for (int s = 0; s < last && rank == 1; s++) {
            StageState *st = &x->stage[s];
            st->index_at = n;
            if (st->indexed) in[n++] = value_in(x, b, index_of(x), last - s);
            st->left_at = n;
            if (st->guards) in[n++] = remaining_after(b, x->trips, last - s);
        }
        for (int i = 0; i < x->rotations.n && rank == 1; i++) {
            Rotation *r = &x->rotations.at[i];
            r->place = n;
            in[n++] = ir_const_int(b, i32, (last - r->stage) % r->slices);
        }
    }
    make_opaque(b, in, n, 32);
    return n;
}

static void take_arguments(Expand *x) {
    Block *body = x->to->region[0];
    Value **arg = body->args + 1;
    body->args[0]->name = index_of(x)->name;
    for (int i = 0; i < x->carries.n; i++) {
        Carry *c = &x->carries.at[i];
        c->now = arg[c->place];
        if (!c->now->layout && !c->by) c->now->layout = c->of->layout;
    }
    for (int s = 0; s < x->t.last; s++) {
        x->stage[s].index = x->stage[s].indexed ? arg[x->stage[s].index_at] : NULL;
        x->stage[s].left = x->stage[s].guards ? arg[x->stage[s].left_at] : NULL;
    }
    x->stage[x->t.last].index = body->args[0];
    for (int i = 0; i < x->rotations.n; i++)
        x->rotations.at[i].number = arg[x->rotations.at[i].place];
}

/* v, as a user takes it in a turn. */
static Value *value_now(Expand *x, const ScheduleRow *user, Value *v) {
    int carried = schedule_carried(&x->t, v);
    if (carried >= 0) {
        Value *next = schedule_next(&x->t, carried);
        if (is_made_before(schedule_row(&x->t, next), user)) return x->now[next->id];
        return find_carry(x, v, user->stage, 0)->now;
    }
    if (v == index_of(x)) return x->stage[user->stage].index;
    const ScheduleRow *def = schedule_row(&x->t, v);
    if (!def) return v;
    if (is_multi_buffer(def->op)) {
        for (int i = 0; i < x->slices.n; i++)
            if (x->slices.at[i].buffer == v && x->slices.at[i].stage == user->stage)
                return x->slices.at[i].value;
    }
    int turns = user->stage - def->stage;
    return turns == 0 ? x->now[v->id] : carry_of_made(x, v, turns)->now;
}

/* The slice of the iteration that is in stage s, if that is the slice's. */
static void emit_slice(Expand *x, Builder *b, Slice *v, int s) {
    const ScheduleRow *def = schedule_row(&x->t, v->buffer);
    for (int k = 0; k < x->rotations.n && v->stage == s; k++) {
        const Rotation *r = &x->rotations.at[k];
        if (r->stage != s || r->slices != slices_of(def->op)) continue;
        Value *in[] = {x->alloc[def - x->t.row], r->number};
        v->value = ir_op(b, OP_BUFFER_SLICE, in, 2, &v->buffer->type, 1, 0)->result[0];
        v->value->layout = v->buffer->layout;
    }
}

/* Before the first op of a stage that needs more than to be in its place. */
static void begin_stage(Expand *x, Builder *b, int s) {
    StageState *st = &x->stage[s];
    b->span = x->loop->span;
    st->begun = true;
    if (st->left) st->exists = ir_cmp(b, PRED_NE, st->left, ir_const_int(b, st->left->type, 0));
    for (int i = 0; i < x->carries.n; i++) {
        Carry *c = &x->carries.at[i];
        if (!c->by || c->stage != s) continue;
        c->sum = c->now;
        c->now = pointer_moved(b, c->entry, c->sum);
    }
    for (int i = 0; i < x->slices.n; i++)
        if (schedule_row(&x->t, x->slices.at[i].buffer)->stage != s)
            emit_slice(x, b, &x->slices.at[i], s);
}

static void take_operands(Expand *x, const ScheduleRow *user, Op *op) {
    for (int i = 0; i < op->noperands; i++) {
        Value *v = op->operand[i].value;
        if (schedule_row(&x->t, v) || v->block == x->loop->region[0])
            ir_set_operand(op, i, value_now(x, user, v));
    }
    for (int r = 0; r < op->nregions; r++)
        for (Op *in = op->region[r]->first; in; in = in->next) take_operands(x, user, in);
}

/* The dot of this turn that adds to what v was a turn ago, where nobody else looks at that. */
static Op *chained_dot(const Expand *x, const Value *v) {
    int dots = 0;
    Op *dot = NULL;
    for (const Use *u = v->uses; u; u = u->next) {
        if (u->op->block != x->to->region[0] || u->op->code == OP_DOT_WAIT) continue;
        dot = u->op;
        dots += op_is_async_dot(dot) && u == &dot->operand[2] ? 1 : 2;
    }
    return dots == 1 ? dot : NULL;
}

/* A wait for a dot of the turn before. When a dot of this one adds to it already, that one's result
 * goes on from here. */
static void emit_deferred(Expand *x, Builder *b, const ScheduleRow *r) {
    Op *op = r->op;
    Value *dot = op->operand[0].value;
    take_operands(x, r, op);
    const Op *chained = chained_dot(x, op->operand[0].value);
    if (!chained) {
        ir_append(b->block, op);
        x->now[op->result[0]->id] = op->result[0];
        return;
    }
    int n = op->noperands;
    Value **in = arena_array(&x->s->arena, (size_t)n + 1, sizeof *in);
    in[0] = x->now[dot->id];
    for (int i = n > 1; i < n; i++) in[n > 1 ? i : 1] = op->operand[i].value;
    b->span = op->span;
    Value *w = ir_op1(b, OP_DOT_WAIT, in, n > 1 ? n : 2);
    w->layout = op->result[0]->layout;
    w->name = op->result[0]->name;
    x->now[dot->id] = w;
    ir_erase(op);
}

static void emit_row(Expand *x, Builder *b, const ScheduleRow *r) {
    Op *op = r->op;
    StageState *st = &x->stage[r->stage];
    bool waits = op->code == OP_ASYNC_WAIT || op->code == OP_ASYNC_FENCE || op->code == OP_DOT_WAIT;
    if (!st->begun && !waits) begin_stage(x, b, r->stage);
    if (is_multi_buffer(op)) {
        for (int i = 0; i < x->slices.n; i++)
            if (x->slices.at[i].buffer == op->result[0])
                emit_slice(x, b, &x->slices.at[i], r->stage);
        return;
    }
    schedule_clear(op);
    if (r->stage > x->t.last) {
        emit_deferred(x, b, r);
        return;
    }
    take_operands(x, r, op);
    if (r->stage < x->t.last && op_is_guarded(op)) {
        Value *in[GUARDED_MOST_OPERANDS];
        for (int i = 0; i < op->noperands; i++) in[i] = op->operand[i].value;
        Op *guarded = emit_guarded(b, op, in, st->exists, x->read_ahead);
        x->now[op->result[0]->id] = guarded->result[0];
        return;
    }
    ir_append(b->block, op);
    for (int i = 0; i < op->nresults; i++) x->now[op->result[i]->id] = op->result[i];
}

/* What goes round: each carried value as it is for the next turn. */
static void end_turn(Expand *x, Builder *b, Value **out, int n) {
    ScheduleRow end = {.time = x->t.n};
    b->span = x->loop->span;
    for (int i = 0; i < x->carries.n; i++) {
        const Carry *c = &x->carries.at[i];
        int carried = schedule_carried(&x->t, c->of);
        end.stage = c->stage;
        if (c->by)
            out[c->place] = ir_binary(b, OP_ADD, c->sum, c->by);
        else if (carried >= 0)
            out[c->place] = value_now(x, &end, x->next[carried]);
        else if (c->turns > 1)
            out[c->place] = carry_of_made(x, c->of, c->turns - 1)->now;
        else
            out[c->place] = x->now[c->of->id];
    }
    for (int s = 0; s < x->t.last; s++) {
        const StageState *st = &x->stage[s];
        if (st->indexed)
            out[st->index_at] = ir_binary(b, OP_ADD, st->index, x->loop->operand[2].value);
        if (st->guards) out[st->left_at] = one_less(b, st->left, st->exists);
    }
    for (int i = 0; i < x->rotations.n; i++) {
        const Rotation *r = &x->rotations.at[i];
        out[r->place] = next_slice(b, r->number, r->slices);
    }
    make_opaque(b, out, n, 64);
    ir_op(b, OP_YIELD, out, n, NULL, 0, 0);
}

/* ---- after the loop ---- */

/* v, as the last turn leaves it, for an op that is done a turn later. */
static Value *value_after(Expand *x, Value *v) {
    const ScheduleRow *def = schedule_row(&x->t, v);
    if (!def) return v;
    return x->to->result[carry_of_made(x, v, 1)->place];
}

/* Waits of the last turn's dots, and for what was started and is not awaited in any turn. waits:
 * the ops as they were, for those of rows that are behind the last stage. */
static void leave_loop(Expand *x, Builder *b, Value **const *waits) {
    Arena *a = &x->s->arena;
    const Schedule *t = &x->t;
    int ntokens = 0;
    Value **tokens = arena_array(a, (size_t)x->carries.n, sizeof *tokens);
    b->span = x->loop->span;
    for (int i = 0; i < x->loop->nresults; i++) {
        Value *next = schedule_next(t, i);
        const ScheduleRow *r = schedule_row(t, next);
        if (r && r->stage > t->last) continue;
        if (ir_has_uses(x->loop->result[i]))
            ir_replace_uses(
                x->loop->result[i],
                x->to->result[find_carry(x, x->loop->region[0]->args[1 + i], t->last, 0)->place]);
    }
    for (int i = 0; i < t->n; i++) {
        const ScheduleRow *r = &t->row[t->order[i]];
        if (r->stage <= t->last) continue;
        int k = (int)(r - t->row), n = 0;
        Value **in = arena_array(a, (size_t)t->n, sizeof *in), *w;
        for (Value **v = waits[k]; *v; v++) in[n++] = value_after(x, *v);
        w = ir_op1(b, OP_DOT_WAIT, in, n);
        w->layout = in[0]->layout;
        w->name = in[0]->name;
        for (int c = 0; c < x->loop->nresults; c++)
            if (schedule_row(t, schedule_next(t, c)) == r) ir_replace_uses(x->loop->result[c], w);
    }
    for (int i = 0; i < x->carries.n; i++)
        if (is_token(&x->carries.at[i])) tokens[ntokens++] = x->to->result[x->carries.at[i].place];
    if (ntokens) ir_op(b, OP_ASYNC_WAIT, tokens, ntokens, NULL, 0, 0);
}

/* The operands of the rows behind the last stage, each list with NULL at its end. */
static Value ***deferred_operands(Expand *x) {
    Value ***all = arena_array(&x->s->arena, (size_t)x->t.n, sizeof *all);
    for (int i = 0; i < x->t.n; i++) {
        const Op *op = x->t.row[i].op;
        if (x->t.row[i].stage <= x->t.last) continue;
        all[i] = arena_array(&x->s->arena, (size_t)op->noperands + 1, sizeof **all);
        for (int k = 0; k < op->noperands; k++) all[i][k] = op->operand[k].value;
    }
    return all;
}

/* ---- the whole ---- */

static void alloc_buffers(Expand *x, Builder *b) {
    for (int i = 0; i < x->t.n; i++) {
        const Op *op = x->t.row[i].op;
        if (!is_multi_buffer(op)) continue;
        Type type = op->result[0]->type;
        type.slices = (uint16_t)slices_of(op);
        x->alloc[i] = ir_op(b, OP_BUFFER_ALLOC, NULL, 0, &type, 1, 0)->result[0];
        x->alloc[i]->layout = op->result[0]->layout;
        x->alloc[i]->name = op->result[0]->name;
    }
}

/* Some op reads a multi-buffer ahead of the last stage: there has to be something in it. */
static bool reads_ahead(const Schedule *t) {
    for (int i = 0; i < t->n; i++) {
        const Op *op = t->row[i].op;
        for (int k = 0; k < op->noperands && t->row[i].stage < t->last; k++)
            if (ir_operand_effects(op, k) & EFFECT_READS_SHARED) return true;
    }
    return false;
}

static Expand begin(PassCtx *ctx, Op *loop) {
    Arena *a = &ctx->s->arena;
    Expand x = {.ctx = ctx, .s = ctx->s, .f = ctx->f, .loop = loop};
    x.t = schedule_of(ctx, loop);
    x.read_ahead = reads_ahead(&x.t);
    size_t iterations = (size_t)x.t.last + 1;
    x.stage = arena_array(a, iterations + 1, sizeof *x.stage);
    x.alloc = arena_array(a, (size_t)x.t.n, sizeof *x.alloc);
    x.made = arena_array(a, iterations, sizeof *x.made);
    for (size_t i = 0; i < iterations; i++)
        x.made[i] = arena_array(a, x.t.values, sizeof *x.made[i]);
    x.index = arena_array(a, iterations, sizeof *x.index);
    x.exists = arena_array(a, iterations, sizeof *x.exists);
    x.map = arena_array(a, x.t.values, sizeof *x.map);
    x.now = arena_array(a, x.t.values, sizeof *x.now);
    x.next = arena_array(a, (size_t)loop->nresults, sizeof *x.next);
    for (int i = 0; i < loop->nresults; i++) {
        x.next[i] = schedule_next(&x.t, i);
        const ScheduleRow *r = schedule_row(&x.t, x.next[i]);
        if (r && r->stage > x.t.last) x.next[i] = r->op->operand[0].value;
    }
    return x;
}

static void expand(Expand *x) {
    Op *old = x->loop;
    Builder b = {x->s, x->f, old->block, old, old->span};
    find_needs(x, &b);
    alloc_buffers(x, &b);
    x->trips = trip_count_of(old, &b);
    x->index[0] = old->operand[0].value;
    if (index_is_made_again(x)) make_opaque(&b, x->index, 1, 32);
    emit_prologue(x, &b);
    b.span = old->span;
    int room = x->carries.n + 2 * (x->t.last + 1) + x->rotations.n;
    Value **in = arena_array(&x->s->arena, (size_t)room, sizeof *in);
    int n = enter_loop(x, &b, in);
    x->to = ir_for(&b, old->operand[0].value, old->operand[1].value, old->operand[2].value, in, n);
    take_arguments(x);
    Value ***waits = deferred_operands(x);
    Builder in_body = {x->s, x->f, x->to->region[0], NULL, old->span};
    for (int i = 0; i < x->t.n; i++) emit_row(x, &in_body, &x->t.row[x->t.order[i]]);
    for (int s = 0; s <= x->t.last; s++)
        if (!x->stage[s].begun) begin_stage(x, &in_body, s);
    end_turn(x, &in_body, in, n);
    leave_loop(x, &b, waits);
    ir_erase(old);
}

static void visit(Op *loop, void *ctx_) {
    PassCtx *ctx = ctx_;
    if (!loop_is_scheduled(loop)) return;
    Expand x = begin(ctx, loop);
    if (!schedule_check(ctx, &x.t)) return;
    expand(&x);
    ctx->changed = true;
}

void pass_expand_pipeline(PassCtx *ctx) {
    ir_walk(ctx->f->body, visit, ctx);
}
