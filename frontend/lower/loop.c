/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* loop.c: for and while -> structured operations, the variables they
 * carry, and the ways out.
 *
 * A name that the body assigns and that existed before is carried (region
 * argument, yield, result), unless it has no value at the end of the body, as
 * the index of a loop in there, and none reads what it had at its begin. break and continue end
 * their path through the body as return ends a function's (flow.c); a hidden variable, loop_stop,
 * says which it was. When it is known to be false at the end of the body, the
 * loop is as if there were no break; else the loop becomes a `while` that
 * carries `go`. */
#include "frontend/lower/flow.h"
#include "ir/effects.h"

/* No interned name is this one, so no kernel can name the variable. */
const char loop_stop[] = "stop";

/* ---- what a loop carries ---- */

typedef struct Carried {
    const char *name;
    Obj before;
    Span span;        /* where it was assigned before the loop */
    const char *lost; /* why it has no value from the end of the body on, or NULL */
    int leaf;         /* its first, among the loop's */
} Carried;

typedef struct Loop {
    VEC(Carried) var;
    Values init;      /* their leaves, in order */
    Names body_local; /* names that only the body assigns */
    Span span;
} Loop;

static void find_carried(Lower *l, Loop *loop, const Names *names) {
    for (int i = 0; i < names->n; i++) {
        Binding *b = find_binding(&l->frame->scope, names->at[i]);
        if (!b || b->undefined) {
            vec_push(&l->s->arena, &loop->body_local, names->at[i]);
            continue;
        }
        if (!b->fixed && (obj_is_number(b->obj) || holds_value(b->obj)))
            b->obj = decay(l, b->obj, b->span);
        Carried c = {.name = b->name, .before = b->obj, .span = b->span};
        vec_push(&l->s->arena, &loop->var, c);
        if (holds_value(b->obj)) leaves(l, b->obj, &loop->init);
    }
}

/* Binds the carried names to values (region arguments or results), in order. */
static void bind_carried(Lower *l, const Loop *loop, Value *const *values) {
    for (int i = 0; i < loop->var.n; i++) {
        const Carried *c = &loop->var.at[i];
        if (!holds_value(c->before)) continue;
        Binding *b = find_binding(&l->frame->scope, c->name);
        b->obj = with_leaves(l, c->before, &values);
        b->undefined = NULL;
        b->fixed = false;
        name_results(&b->obj, c->name);
    }
}

static void add_arguments(Lower *l, const Loop *loop, Block *block) {
    for (int i = 0; i < loop->init.n; i++)
        ir_block_arg(l->s, l->b.f, block, loop->init.at[i]->type, NULL);
}

typedef struct Turn { /* a region of a loop */
    Value *const *args;
    const Values *now; /* what it hands on, of these */
} Turn;

/* Whether something takes the leaf as it came in, but for what hands it on. */
static bool is_read(const Turn *t, int leaf) {
    const Value *arg = t->args[leaf];
    for (int k = 0; k < t->now->n; k++)
        if (k != leaf && t->now->at[k] == arg) return true;
    return ir_has_uses(arg);
}

static void refuse_carried(Lower *l, const Carried *c, Obj in, const char *sep, const char *becomes,
                           const char *where) {
    Span span = find_binding(&l->frame->scope, c->name)->span;
    fail(l, E_CARRIED, span, "loop-carried variable '%s' starts as %s and %s%s%s", c->name,
         obj_what(l, in), sep, becomes, where);
    note(l, c->span, "it starts here; a variable keeps its type through a loop");
}

/* Names without a value at the end of the body must not be read at its begin. */
static void refuse_lost(Lower *l, Loop *loop, const Turn *turns, int n) {
    for (int i = 0; i < loop->var.n; i++) {
        Carried *c = &loop->var.at[i];
        int leaf = c->leaf, end = i + 1 < loop->var.n ? loop->var.at[i + 1].leaf : loop->init.n;
        bool read = false;
        for (; c->lost && leaf < end; leaf++)
            for (int k = 0; k < n; k++) read |= is_read(&turns[k], leaf);
        if (!read) continue;
        refuse_carried(l, c, c->before, "has no one type: ", c->lost, "");
        c->lost = NULL;
    }
}

/* What the body has made of the carried names; those that changed their form
 * are errors, and keep the value they came in with, as those do that have none. */
static Values carried_now(Lower *l, Loop *loop, Value *const *args) {
    Values now = {0};
    for (int i = 0; i < loop->var.n; i++) {
        Carried *c = &loop->var.at[i];
        const Binding *b = find_binding(&l->frame->scope, c->name);
        Obj in = with_leaves(l, c->before, &args), out = b->obj;
        bool poisoned = obj_is_poison(out) && !b->undefined;
        c->leaf = now.n;
        c->lost = holds_value(in) ? b->undefined : NULL;
        if (!poisoned && !b->undefined && same_form(in, out)) {
            leaves(l, out, &now);
            continue;
        }
        if (!poisoned && !c->lost && !obj_is_poison(in))
            refuse_carried(l, c, in, b->undefined ? "has no one type: " : "becomes ",
                           b->undefined ? b->undefined : obj_what(l, out),
                           b->undefined ? "" : " here");
        leaves(l, in, &now);
    }
    return now;
}

/* ---- break and continue ---- */

void lower_jump(Lower *l, const Stmt *stmt) {
    bool is_break = stmt->kind == STMT_BREAK;
    if (!l->frame->loops) {
        fail(l, E_BREAK, stmt->span, "'%s' outside a loop", is_break ? "break" : "continue");
        return;
    }
    if (is_break) bind_name(l, loop_stop, obj_bool(true), stmt->span);
    l->frame->returned = true;
}

/* Lowers the body at the builder's insertion point; tells whether the loop is to stop
 * after it. */
static Obj lower_body(Lower *l, const Stmt *stmt, const Continuation *then) {
    Names declared = l->frame->declared;
    bind_name(l, loop_stop, obj_bool(false), stmt->span);
    l->frame->loops++;
    lower_stmts(l, stmt->body, 0, then);
    l->frame->loops--;
    l->frame->declared = declared;
    l->frame->returned = l->frame->finished;
    l->b.span = stmt->span;
    return find_binding(&l->frame->scope, loop_stop)->obj;
}

static bool never(Obj stop) {
    return stop.kind == OBJ_BOOL && !stop.i;
}

static Value *truth(Lower *l, bool v) {
    return ir_const_int(&l->b, type_scalar(EL_I1), v);
}

static Value *both(Lower *l, Value *x, Value *y) {
    return ir_binary(&l->b, OP_AND, x, y);
}

/* Whether the loop goes on after its body. */
static Value *going(Lower *l, Obj stop) {
    if (stop.kind != OBJ_VALUE) return truth(l, !obj_truth(stop));
    return ir_binary(&l->b, OP_XOR, stop.value, truth(l, true));
}

/* After the loop: carried names have its results, body-local names are
 * undefined. */
static void close_loop(Lower *l, const Loop *loop, Scope before, Value *const *results) {
    Scope body = l->frame->scope;
    l->frame->scope = before;
    bind_carried(l, loop, results);
    for (int i = 0; i < loop->var.n; i++) {
        const Carried *c = &loop->var.at[i];
        Binding *b = find_binding(&l->frame->scope, c->name);
        const Binding *last = find_binding(&body, c->name);
        if (!holds_value(c->before) && last)
            b->obj = obj_same(last->obj, c->before) ? c->before : poison();
        else if (last && obj_is_poison(last->obj)) {
            b->obj = poison();
            b->undefined = c->lost;
            b->span = last->span;
        }
    }
    for (int i = 0; i < loop->body_local.n; i++) {
        const Binding *last = find_binding(&body, loop->body_local.at[i]);
        bind_name(l, loop->body_local.at[i], poison(), last ? last->span : loop->span);
        if (last && obj_is_poison(last->obj) && !last->undefined) continue;
        find_binding(&l->frame->scope, loop->body_local.at[i])->undefined =
            undefined_text(l, "inside the loop", loop->span);
    }
}

/* ---- for ---- */

/* Variables that the body never changed need not be carried: their argument is
 * the initial value. Leaves in init and now, and the block's arguments, those
 * that stay; full[i] is the final value of leaf i, or NULL when it becomes a
 * result. */
static Value **drop_unchanged(Lower *l, Loop *loop, Values *now, Block *body, Values *init) {
    int n = loop->init.n, kept = 0;
    Value **full = arena_array(&l->s->arena, (size_t)n + 1, sizeof *full);
    Value **arg = arena_array(&l->s->arena, (size_t)n + 1, sizeof *arg);
    for (int i = 0; i < n; i++) {
        arg[i] = body->args[1 + i];
        if (now->at[i] == arg[i]) full[i] = loop->init.at[i];
    }
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++)
            if (full[k] && now->at[i] == arg[k]) now->at[i] = full[k];
    for (int i = 0; i < n; i++) {
        if (full[i]) {
            ir_replace_uses(arg[i], full[i]);
            continue;
        }
        now->at[kept++] = now->at[i];
        body->args[kept] = arg[i];
        arg[i]->index = kept;
        vec_push(&l->s->arena, init, loop->init.at[i]);
    }
    now->n = kept;
    body->nargs = 1 + kept;
    return full;
}

static Value *bound_value(Lower *l, Obj o, Elem e, Span span) {
    if (obj_is_number(o)) return number_value(l, o, type_scalar(e), span);
    return cast_value(l, o.value, type_scalar(e), false, span);
}

static bool integer_bound(Lower *l, Obj o, Span span, const char *which) {
    if ((o.kind == OBJ_VALUE || obj_is_number(o)) && type_is_int(obj_type(o)) && !obj_type(o).rank)
        return true;
    fail(l, E_RANGE, span, "the %s of a range must be a scalar integer, not %s", which,
         obj_what(l, o));
    return false;
}

/* Start, stop and step in the index's type; false after an error. */
static bool range_bounds(Lower *l, const Range *r, Span span, Value *out[3]) {
    const Obj bound[3] = {r->start, r->stop, r->step};
    static const char *const names[3] = {"start", "end", "step"};
    Elem e = EL_I1;
    for (int i = 0; i < 3; i++) {
        if (!integer_bound(l, bound[i], span, names[i])) return false;
        e = i ? promote_ints(e, (Elem)obj_type(bound[i]).elem) : (Elem)obj_type(bound[i]).elem;
    }
    if (e == EL_I1) e = EL_I32;
    if (r->step.kind == OBJ_INT && r->step.i == 0) {
        fail(l, E_RANGE, span, "the step of a range must not be 0");
        return false;
    }
    for (int i = 0; i < 3; i++)
        if (!(out[i] = bound_value(l, bound[i], e, span))) return false;
    return true;
}

static Op *finish_for(Lower *l, Op *draft, Value *const bound[3], const Values *now,
                      const Values *init) {
    Values operands = {0};
    for (int i = 0; i < 3; i++) vec_push(&l->s->arena, &operands, bound[i]);
    for (int i = 0; i < init->n; i++) vec_push(&l->s->arena, &operands, init->at[i]);
    end_region(l, draft->region[0], now);
    return finish_op(l, draft, &operands, now);
}

/* x < y for a loop that counts up, x > y for one that counts down. */
static Value *before_end(Lower *l, Value *step, Value *x, Value *y) {
    int64_t by;
    if (ir_int_constant(step, &by))
        return ir_cmp(&l->b, by > 0 || !type_is_signed(step->type) ? PRED_LT : PRED_GT, x, y);
    Value *up = ir_cmp(&l->b, PRED_GT, step, ir_const_int(&l->b, step->type, 0));
    Value *way[3] = {up, ir_cmp(&l->b, PRED_LT, x, y), ir_cmp(&l->b, PRED_GT, x, y)};
    return ir_op1(&l->b, OP_SELECT, way, 3);
}

/* The region of the draft becomes the body of a `while` that carries (index,
 * variables…, go). An index that would wrap past the end of its type ends the
 * loop, as the end of the range would. */
static Op *finish_with_break(Lower *l, Op *draft, Value *const bound[3], const Values *now,
                             const Values *init, Obj stop) {
    Arena *a = &l->s->arena;
    Block *body = draft->region[0];
    Value *index = body->args[0];
    ir_block_arg(l->s, l->b.f, body, type_scalar(EL_I1), "go");
    l->b.block = body;
    Value *go = going(l, stop), *next = ir_binary(&l->b, OP_ADD, index, bound[2]);
    Values yields = {0}, inits = {0};
    vec_push(a, &yields, next);
    for (int i = 0; i < now->n; i++) vec_push(a, &yields, now->at[i]);
    vec_push(a, &yields, both(l, go, before_end(l, bound[2], index, next)));
    end_region(l, body, &yields);

    l->b.block = draft->block;
    vec_push(a, &inits, bound[0]);
    for (int i = 0; i < init->n; i++) vec_push(a, &inits, init->at[i]);
    vec_push(a, &inits, truth(l, true));
    Op *loop = ir_op(&l->b, OP_WHILE, NULL, 0, NULL, 0, 2);
    Block *test = loop->region[0];
    for (int i = 0; i < inits.n; i++)
        ir_block_arg(l->s, l->b.f, test, inits.at[i]->type, body->args[i]->name);
    loop->region[1] = body;
    body->parent = loop;
    draft->region[0] = ir_block(l->s, draft);
    ir_erase(draft);

    l->b.block = test;
    Values forward = {0};
    Value *inside = before_end(l, bound[2], test->args[0], bound[1]);
    vec_push(a, &forward, both(l, test->args[inits.n - 1], inside));
    for (int i = 0; i < inits.n; i++) vec_push(a, &forward, test->args[i]);
    ir_op(&l->b, OP_CONDITION, forward.at, forward.n, NULL, 0, 0);
    return finish_op(l, loop, &inits, &inits);
}

static void for_at_run_time(Lower *l, const Stmt *stmt, const Range *range) {
    Value *bound[3];
    Span span = stmt->value->span;
    if (!range || !range_bounds(l, range, span, bound)) /* look at the body all the same */
        for (int i = 0; i < 3; i++) bound[i] = ir_const_int(&l->b, type_scalar(EL_I32), i == 2);
    const char *index = stmt->target[0]->name;
    Names names = assigned_names(l, stmt->body, NULL);
    for (int i = 0; i < names.n; i++)
        if (names.at[i] == index) names.at[i--] = names.at[--names.n];
    Loop loop = {.span = stmt->span};
    find_carried(l, &loop, &names);
    vec_push(&l->s->arena, &loop.body_local, index);
    Scope before = copy_scope(l, &l->frame->scope);
    Op *draft = ir_op(&l->b, OP_FOR, bound, 3, NULL, 0, 1);
    Block *outer = l->b.block, *body = draft->region[0];
    ir_block_arg(l->s, l->b.f, body, bound[0]->type, index);
    add_arguments(l, &loop, body);
    Value **args = arena_copy(&l->s->arena, body->args + 1, sizeof *args * (size_t)loop.init.n);
    bind_name(l, index, obj_value(body->args[0]), stmt->target[0]->span);
    bind_carried(l, &loop, args);
    l->b.block = body;
    Obj stop = lower_body(l, stmt, NULL);
    Values now = carried_now(l, &loop, args), init = {0};
    refuse_lost(l, &loop, &(Turn){args, &now}, 1);
    Value **full = drop_unchanged(l, &loop, &now, body, &init);
    Value **result;
    if (never(stop)) {
        Op *op = finish_for(l, draft, bound, &now, &init);
        if (range && range->num_stages >= 0)
            ir_set_attr(l->s, op, AT_NUM_STAGES, range->num_stages);
        if (range && range->warp_specialize) ir_set_attr(l->s, op, AT_WARP_SPECIALIZE, 1);
        result = op->result;
    } else {
        result = finish_with_break(l, draft, bound, &now, &init, stop)->result + 1;
    }
    for (int i = 0, k = 0; i < loop.init.n; i++)
        if (!full[i]) full[i] = result[k++];
    l->b.block = outer;
    close_loop(l, &loop, before, full);
}

bool range_count(Lower *l, const Range *r, Span span, int64_t *count) {
    const Obj bound[3] = {r->start, r->stop, r->step};
    for (int i = 0; i < 3; i++) {
        if (bound[i].kind == OBJ_INT && !bound[i].big) continue;
        fail(l, E_COMPILE_TIME, span,
             "the bounds of an unrolled range must be compile-time integers, not %s",
             obj_what(l, bound[i]));
        note(l, (Span){0}, "a loop over tl.range runs as often as values at run time say");
        return false;
    }
    int64_t a = r->start.i, b = r->stop.i, step = r->step.i;
    if (step == 0) {
        fail(l, E_RANGE, span, "the step of a range must not be 0");
        return false;
    }
    bool runs = step > 0 ? a < b : a > b;
    uint64_t distance = !runs      ? 0
                        : step > 0 ? (uint64_t)b - (uint64_t)a
                                   : (uint64_t)a - (uint64_t)b;
    uint64_t by = step > 0 ? (uint64_t)step : 0 - (uint64_t)step;
    uint64_t n = distance / by + (distance % by != 0);
    if (n > UNROLL_LIMIT) {
        fail(l, E_UNROLL_LIMIT, span, "this unrolls %llu iterations; the limit is %d",
             (unsigned long long)n, UNROLL_LIMIT);
        return false;
    }
    *count = (int64_t)n;
    return true;
}

struct Rounds { /* of an unrolled loop, those that are left */
    const Stmt *stmt;
    const Range *range;
    int64_t count, next;
    int loops, unrolled; /* of the frame, around the loop */
    Obj stop;            /* of the loop around */
    const Continuation *then;
};
typedef struct Rounds Rounds;

typedef struct Round {
    const Rounds *of;
    const Continuation *then;
} Round;

static void lower_round(Lower *l, void *ctx, int arm) {
    const Round *round = ctx;
    const Rounds *r = round->of;
    const Expr *target = r->stmt->target[0];
    if (arm == 1) return; /* an earlier round has stopped the loop */
    bind_name(l, target->name, obj_int(r->range->start.i + (r->next - 1) * r->range->step.i),
              target->span);
    lower_body(l, r->stmt, round->then);
}

/* Rounds after one that may have stopped the loop stand under an `if`, side by
 * side. */
static void lower_rounds(Lower *l, const Rounds *rounds, Obj stop) {
    Frame *frame = l->frame;
    frame->loops = rounds->loops;
    frame->unrolled = rounds->unrolled + 1;
    for (int64_t i = rounds->next; i < rounds->count && !l->abandoned; i++) {
        if (stop.kind == OBJ_BOOL && stop.i) break;
        Rounds left = *rounds, none = *rounds;
        left.next = i + 1;
        none.next = rounds->count;
        Continuation go_on = {.rounds = &left, .after = rounds->then};
        Continuation leave_loop = {.rounds = &none, .after = rounds->then};
        Round round = {&left, &go_on};
        const Continuation *then[] = {&go_on, &leave_loop};
        if (stop.kind == OBJ_VALUE)
            lower_branches(l, going(l, stop), rounds->stmt->span, lower_round, &round, then);
        else
            lower_round(l, &round, 0);
        if (frame->finished) break;
        frame->returned = false;
        stop = find_binding(&frame->scope, loop_stop)->obj;
    }
    frame->unrolled = rounds->unrolled;
    frame->finished = frame->finished && frame->loops;
    bind_name(l, loop_stop, rounds->stop, rounds->stmt->span);
}

void continue_rounds(Lower *l, const Rounds *left) {
    lower_rounds(l, left, find_binding(&l->frame->scope, loop_stop)->obj);
}

static void unroll(Lower *l, const Stmt *stmt, const Range *range, const Continuation *then) {
    Rounds all = {.stmt = stmt, .range = range, .then = then};
    if (!range_count(l, range, stmt->value->span, &all.count)) return;
    const Binding *outer = find_binding(&l->frame->scope, loop_stop);
    all.loops = l->frame->loops;
    all.unrolled = l->frame->unrolled;
    all.stop = outer ? outer->obj : obj_bool(false);
    lower_rounds(l, &all, obj_bool(false));
}

void lower_for(Lower *l, const Stmt *stmt, const Continuation *then) {
    Obj over = lower_expr(l, stmt->value);
    if (over.kind != OBJ_RANGE && !obj_is_poison(over))
        over =
            fail(l, E_RANGE, stmt->value->span,
                 "'for' runs over range, tl.range or tl.static_range, not %s", obj_what(l, over));
    if (stmt->orelse.n) fail(l, E_LOOP_FORM, stmt->span, "'else' after a loop is not supported");
    if (stmt->target[0]->kind != EXPR_NAME) {
        fail(l, E_LOOP_FORM, stmt->target[0]->span, "the index of a loop must be a name");
        return;
    }
    if (over.kind == OBJ_RANGE && over.range->is_static)
        unroll(l, stmt, over.range, then);
    else
        for_at_run_time(l, stmt, over.kind == OBJ_RANGE ? over.range : NULL);
}

/* ---- while ---- */

static bool is_pure_block(const Block *b) {
    for (const Op *op = b->first; op; op = op->next)
        if (!(op_traits(op) & TRAIT_T) && !ir_is_pure(op)) return false;
    return true;
}

/* The test of a loop with break: after a break the condition is not evaluated
 * again. `test` holds the condition alone, with `forward` being what it hands
 * on; the result is the whole test. */
static Block *guarded_test(Lower *l, Op *draft, Block *test, const Values *forward) {
    Arena *a = &l->s->arena;
    int n = test->nargs;
    Block *out = test;
    Values now = {0};
    Value *go;
    if (is_pure_block(test)) {
        go = ir_block_arg(l->s, l->b.f, test, type_scalar(EL_I1), "go");
        l->b.block = test;
        vec_push(a, &now, both(l, go, forward->at[0]));
        for (int i = 0; i < n; i++) vec_push(a, &now, forward->at[1 + i]);
    } else {
        out = ir_block(l->s, draft);
        for (int i = 0; i < n; i++)
            ir_replace_uses(test->args[i], ir_block_arg(l->s, l->b.f, out, test->args[i]->type,
                                                        test->args[i]->name));
        go = ir_block_arg(l->s, l->b.f, out, type_scalar(EL_I1), "go");
        test->nargs = 0;
        l->b.block = out;
        Op *guard = ir_op(&l->b, OP_IF, &go, 1, NULL, 0, 2);
        guard->region[0] = test;
        test->parent = guard;
        Values yields = {0}, otherwise = {0}, operands = {0};
        for (int i = 0; i <= n; i++) { /* forwarded arguments are those of `out` by now */
            Value *v = forward->at[i];
            for (int k = 0; k < n; k++)
                if (v == test->args[k]) v = out->args[k];
            vec_push(a, &yields, v);
        }
        end_region(l, test, &yields);
        l->b.block = guard->region[1];
        vec_push(a, &otherwise, truth(l, false));
        for (int i = 0; i < n; i++) vec_push(a, &otherwise, out->args[i]);
        end_region(l, guard->region[1], &otherwise);
        vec_push(a, &operands, go);
        guard = finish_op(l, guard, &operands, &otherwise);
        for (int i = 0; i <= n; i++) vec_push(a, &now, guard->result[i]);
        l->b.block = out;
    }
    vec_push(a, &now, go);
    ir_op(&l->b, OP_CONDITION, now.at, now.n, NULL, 0, 0);
    return out;
}

/* The condition, in region 0; NULL when it is known to be false from the start.
 */
static Value *lower_condition(Lower *l, const Stmt *stmt, bool *endless) {
    Obj c = lower_expr(l, stmt->value);
    *endless = obj_is_const(c) && obj_truth(c);
    if (obj_is_const(c)) return *endless ? truth(l, true) : NULL;
    if (c.kind == OBJ_VALUE && !type_is_bool(c.value->type))
        newer(l, FEATURE_WHILE_INTEGER, stmt->value->span);
    Value *v = obj_is_poison(c) ? NULL : condition_value(l, c, false, stmt->value->span, "'while'");
    return v ? v : truth(l, false);
}

/* What the loop begins with, in front of it: anything where nothing takes it, or a loop around this
 * one would take what it has there. */
static Values begin_with(Lower *l, const Loop *loop, Op *draft) {
    Values init = {0};
    l->b.block = draft->block;
    l->b.before = draft;
    for (int i = 0; i < loop->var.n; i++) {
        const Carried *c = &loop->var.at[i];
        leaves(l, c->lost ? any_value(l, c->before, c->span) : c->before, &init);
    }
    l->b.before = NULL;
    return init;
}

void lower_while(Lower *l, const Stmt *stmt) {
    if (stmt->orelse.n) fail(l, E_LOOP_FORM, stmt->span, "'else' after a loop is not supported");
    Names names = assigned_names(l, stmt->body, stmt->value);
    Loop loop = {.span = stmt->span};
    find_carried(l, &loop, &names);
    Scope before = copy_scope(l, &l->frame->scope);
    Op *draft = ir_op(&l->b, OP_WHILE, NULL, 0, NULL, 0, 2);
    Block *outer = l->b.block, *test = draft->region[0], *body = draft->region[1];
    bool endless;
    add_arguments(l, &loop, test);
    add_arguments(l, &loop, body);
    bind_carried(l, &loop, test->args);
    l->b.block = test;
    Value *condition = lower_condition(l, stmt, &endless);
    if (!condition) {
        ir_erase(draft);
        l->frame->scope = before;
        l->b.block = outer;
        return;
    }
    Values forward = {0}, tested = carried_now(l, &loop, test->args);
    vec_push(&l->s->arena, &forward, condition);
    for (int i = 0; i < tested.n; i++) vec_push(&l->s->arena, &forward, tested.at[i]);

    bind_carried(l, &loop, body->args);
    l->b.block = body;
    Obj stop = lower_body(l, stmt, NULL);
    Values now = carried_now(l, &loop, body->args);
    refuse_lost(l, &loop, (Turn[]){{test->args, &tested}, {body->args, &now}}, 2);
    Values init = begin_with(l, &loop, draft);
    l->b.block = body;
    if (never(stop)) {
        if (endless) {
            fail(l, E_ENDLESS, stmt->value->span, "this condition never becomes false");
            note(l, (Span){0},
                 "leave the loop with 'break', or compare with what the body changes");
        }
        l->b.block = test;
        ir_op(&l->b, OP_CONDITION, forward.at, forward.n, NULL, 0, 0);
    } else {
        ir_block_arg(l->s, l->b.f, body, type_scalar(EL_I1), "go");
        l->b.block = body;
        vec_push(&l->s->arena, &now, going(l, stop));
        draft->region[0] = guarded_test(l, draft, test, &forward);
        l->b.block = draft->block;
        vec_push(&l->s->arena, &init, truth(l, true));
    }
    end_region(l, body, &now);
    Op *op = finish_op(l, draft, &init, &init);
    l->b.block = outer;
    close_loop(l, &loop, before, op->result);
}
