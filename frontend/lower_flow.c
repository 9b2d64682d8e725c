/* lower_flow.c: if, for and while -> structured operations, and the variables they carry.
 *
 * Variables become results: a name that a loop's body assigns and that existed before is carried
 * (region argument, yield, result); after an `if` a name whose value differs between the arms is a
 * result. The hard part is that results must be known when an operation is made, and are not until
 * its regions are. So regions are lowered into a provisional operation with no results, and their
 * blocks are moved into the final one. Tuples are carried leaf by leaf.
 *
 * An arm that returns ends the function: what follows the `if` (its Rest) is then lowered inside
 * the other arm, and the `if` yields the function's result. */
#include "frontend/lower_internal.h"

typedef VEC(Value *) Values;

static const char *gone_text(Lower *l, const char *what, Span span) {
    return arena_printf(&l->s->arena, "it is assigned only %s in line %u", what, span.line);
}

/* Puts the final operation where the provisional one stands and gives it the regions. */
static Op *finish_op(Lower *l, Op *draft, const Values *operands, const Values *like) {
    Type *types = arena_array(&l->s->arena, (size_t)like->n + 1, sizeof *types);
    for (int i = 0; i < like->n; i++) types[i] = like->at[i]->type;
    l->b.block = draft->block;
    l->b.span = draft->span;
    Op *op = ir_op(&l->b, draft->code, operands->at, operands->n, types, like->n, draft->nregions);
    for (int i = 0; i < op->nregions; i++) {
        Block *empty = op->region[i];
        op->region[i] = draft->region[i];
        op->region[i]->parent = op;
        draft->region[i] = empty;
    }
    ir_erase(draft);
    return op;
}

static void end_region(Lower *l, Block *block, const Values *values) {
    l->b.block = block;
    ir_op(&l->b, OP_YIELD, values->at, values->n, NULL, 0, 0);
}

/* ---- objects as lists of values ---- */

static bool holds_value(Obj o) {
    if (o.kind == OBJ_TUPLE)
        for (int i = 0; i < o.seq.n; i++)
            if (holds_value(o.seq.at[i])) return true;
    return o.kind == OBJ_VALUE;
}

static void leaves(Lower *l, Obj o, Values *out) {
    if (o.kind == OBJ_VALUE) vec_push(&l->s->arena, out, o.value);
    if (o.kind == OBJ_TUPLE)
        for (int i = 0; i < o.seq.n; i++) leaves(l, o.seq.at[i], out);
}

/* o with its values replaced by those at **next on. */
static Obj with_leaves(Lower *l, Obj o, Value *const **next) {
    if (o.kind == OBJ_VALUE) return obj_value(*(*next)++);
    if (o.kind != OBJ_TUPLE) return o;
    Obj t = obj_tuple(l, o.seq.at, o.seq.n);
    for (int i = 0; i < t.seq.n; i++) t.seq.at[i] = with_leaves(l, t.seq.at[i], next);
    return t;
}

static bool same_form(Obj a, Obj b) {
    if (a.kind == OBJ_VALUE && b.kind == OBJ_VALUE) return type_equal(a.value->type, b.value->type);
    if (a.kind == OBJ_TUPLE && b.kind == OBJ_TUPLE && a.seq.n == b.seq.n) {
        for (int i = 0; i < a.seq.n; i++)
            if (!same_form(a.seq.at[i], b.seq.at[i])) return false;
        return true;
    }
    return obj_same(a, b);
}

/* ---- if ---- */

typedef struct Arm {
    Block *block;
    Scope scope;
    bool returned;
    Obj result;
    Span result_span;
} Arm;

typedef struct Merge { /* of two arms: values that the `if` yields, pairwise */
    Arm *arm;
    Values value[2];
} Merge;

static void open_arm(Lower *l, Arm *arm, const Scope *scope) {
    l->b.block = arm->block;
    l->frame->scope = copy_scope(l, scope);
    l->frame->returned = false;
    l->frame->result = obj_none();
}

static void close_arm(Lower *l, Arm *arm) {
    arm->scope = l->frame->scope;
    arm->returned = l->frame->returned;
    arm->result = l->frame->result;
    arm->result_span = l->frame->result_span;
}

/* Brings both sides to one form, numbers becoming tensors; collects what differs. */
static bool merge_objects(Lower *l, Merge *m, Obj *a, Obj *b) {
    if (obj_same(*a, *b)) return true;
    if (a->kind == OBJ_TUPLE && b->kind == OBJ_TUPLE && a->seq.n == b->seq.n) {
        *a = obj_tuple(l, a->seq.at, a->seq.n);
        *b = obj_tuple(l, b->seq.at, b->seq.n);
        for (int i = 0; i < a->seq.n; i++)
            if (!merge_objects(l, m, &a->seq.at[i], &b->seq.at[i])) return false;
        return true;
    }
    Obj *side[2] = {a, b};
    for (int k = 0; k < 2; k++) {
        l->b.block = m->arm[k].block;
        *side[k] = decay(l, *side[k], (Span){0});
    }
    if (a->kind != OBJ_VALUE || !same_form(*a, *b)) return false;
    vec_push(&l->s->arena, &m->value[0], a->value);
    vec_push(&l->s->arena, &m->value[1], b->value);
    return true;
}

/* The object after the `if`: results stand where the sides differ. */
static Obj merged(Lower *l, Obj a, Obj b, Value *const **next) {
    if (obj_same(a, b)) return a;
    if (a.kind == OBJ_VALUE) return obj_value(*(*next)++);
    Obj t = obj_tuple(l, a.seq.at, a.seq.n);
    for (int i = 0; i < t.seq.n; i++) t.seq.at[i] = merged(l, a.seq.at[i], b.seq.at[i], next);
    return t;
}

static void merge_binding(Lower *l, Merge *m, Binding *a, Binding *b, Span where) {
    if (a->gone || b->gone) {
        if (!a->gone) *a = *b;
        return;
    }
    if (obj_is_poison(a->obj) || obj_is_poison(b->obj)) {
        a->obj = b->obj = poison();
        return;
    }
    Obj was[2] = {a->obj, b->obj};
    int n = m->value[0].n;
    if (!obj_same(a->obj, b->obj)) a->fixed = false;
    if (merge_objects(l, m, &a->obj, &b->obj)) return;
    m->value[0].n = m->value[1].n = n;
    a->gone = arena_printf(&l->s->arena,
                           "it is %s in one branch of the 'if' in line %u and %s in the "
                           "other",
                           obj_what(l, was[0]), where.line, obj_what(l, was[1]));
    a->obj = b->obj = poison();
}

/* Names of both arms, the first arm's order. A name that one arm alone has is gone. */
static Scope merge_scopes(Lower *l, Merge *m, Span where) {
    Scope out = m->arm[0].scope;
    for (int i = 0; i < out.n; i++) {
        Binding *a = &out.at[i], *b = find_binding(&m->arm[1].scope, a->name);
        if (b)
            merge_binding(l, m, a, b, where);
        else if (!a->gone && !obj_is_poison(a->obj)) {
            a->gone = gone_text(l, "in one branch of the 'if'", where);
            a->obj = poison();
        }
    }
    for (int i = 0; i < m->arm[1].scope.n; i++) {
        Binding b = m->arm[1].scope.at[i];
        if (find_binding(&out, b.name)) continue;
        if (!b.gone && !obj_is_poison(b.obj))
            b.gone = gone_text(l, "in one branch of the 'if'", where);
        b.obj = poison();
        vec_push(&l->s->arena, &out, b);
    }
    return out;
}

static void name_results(const Obj *o, const char *name) {
    if (o->kind == OBJ_VALUE && !o->value->name) o->value->name = name;
}

static Op *finish_if(Lower *l, Op *draft, Merge *m, Value *condition) {
    for (int k = 0; k < 2; k++) end_region(l, m->arm[k].block, &m->value[k]);
    Values operands = {0};
    vec_push(&l->s->arena, &operands, condition);
    return finish_op(l, draft, &operands, &m->value[0]);
}

/* Both arms have returned: the function's result is what the `if` yields. */
static void merge_returns(Lower *l, Op *draft, Merge *m, Value *condition) {
    Obj a = m->arm[0].result, b = m->arm[1].result;
    bool bad = obj_is_poison(a) || obj_is_poison(b);
    if (!bad && !merge_objects(l, m, &a, &b)) {
        fail(l, m->arm[1].result_span, "this function returns %s here and %s elsewhere",
             obj_what(l, m->arm[1].result), obj_what(l, m->arm[0].result));
        note(l, m->arm[0].result_span, "the other return");
        bad = true;
    }
    if (bad) m->value[0].n = m->value[1].n = 0;
    Value *const *next = finish_if(l, draft, m, condition)->result;
    l->frame->returned = true;
    l->frame->result = bad ? poison() : merged(l, a, b, &next);
}

static void if_at_run_time(Lower *l, const Stmt *stmt, Value *condition, const Rest *rest) {
    Frame *frame = l->frame;
    Scope before = frame->scope;
    Op *draft = ir_op(&l->b, OP_IF, &condition, 1, NULL, 0, 2);
    Block *outer = l->b.block;
    Arm arm[2] = {{.block = draft->region[0]}, {.block = draft->region[1]}};
    Merge m = {.arm = arm};
    for (int k = 0; k < 2; k++) {
        open_arm(l, &arm[k], &before);
        lower_stmts(l, k ? stmt->orelse : stmt->body, 0, rest);
        close_arm(l, &arm[k]);
    }
    if (arm[0].returned || arm[1].returned) {
        for (int k = 0; k < 2; k++) {
            if (arm[k].returned) continue;
            open_arm(l, &arm[k], &arm[k].scope);
            frame->result_span = stmt->span;
            lower_rest(l, rest);
            close_arm(l, &arm[k]);
        }
        frame->scope = before;
        l->b.span = stmt->span;
        merge_returns(l, draft, &m, condition);
        frame->result_span = stmt->span;
    } else {
        Scope out = merge_scopes(l, &m, stmt->span);
        l->b.span = stmt->span;
        Value *const *next = finish_if(l, draft, &m, condition)->result;
        for (int i = 0; i < out.n; i++) {
            const Binding *b = find_binding(&arm[1].scope, out.at[i].name);
            if (!b || out.at[i].gone) continue;
            out.at[i].obj = merged(l, out.at[i].obj, b->obj, &next);
            name_results(&out.at[i].obj, out.at[i].name);
        }
        frame->scope = out;
        frame->returned = false;
    }
    l->b.block = outer;
}

void lower_if(Lower *l, const Stmt *stmt, const Rest *rest) {
    Obj c = lower_expr(l, stmt->value);
    if (c.kind == OBJ_VALUE) {
        Value *condition = condition_value(l, c, stmt->value->span, "'if'");
        if (condition) {
            if_at_run_time(l, stmt, condition, rest);
            return;
        }
        c = poison();
    }
    if (obj_is_poison(c)) { /* which branch is meant is unknown: look at neither */
        for (int k = 0; k < 2; k++) {
            Names names = assigned_names(l, k ? stmt->orelse : stmt->body, NULL);
            for (int i = 0; i < names.n; i++) bind(l, names.at[i], poison(), stmt->span);
        }
        return;
    }
    lower_stmts(l, obj_truth(c) ? stmt->body : stmt->orelse, 0, rest);
}

Obj lower_ternary(Lower *l, const Expr *e, Obj c) {
    Value *condition = condition_value(l, c, e->cond->span, "'… if … else …'");
    if (!condition) return poison();
    Op *draft = ir_op(&l->b, OP_IF, &condition, 1, NULL, 0, 2);
    Block *outer = l->b.block;
    Arm arm[2] = {{.block = draft->region[0]}, {.block = draft->region[1]}};
    Merge m = {.arm = arm};
    Obj side[2], was[2];
    for (int k = 0; k < 2; k++) {
        l->b.block = arm[k].block;
        was[k] = side[k] = lower_expr(l, k ? e->right : e->left);
    }
    bool bad = obj_is_poison(side[0]) || obj_is_poison(side[1]);
    if (!bad && !merge_objects(l, &m, &side[0], &side[1])) {
        fail(l, e->span, "the two sides of this conditional expression differ: %s and %s",
             obj_what(l, was[0]), obj_what(l, was[1]));
        bad = true;
    }
    if (bad) m.value[0].n = m.value[1].n = 0;
    Value *const *next = finish_if(l, draft, &m, condition)->result;
    l->b.block = outer;
    return bad ? poison() : merged(l, side[0], side[1], &next);
}

/* ---- what a loop carries ---- */

typedef struct Carried {
    const char *name;
    Obj before;
    Span span; /* where it was assigned before the loop */
} Carried;

typedef struct Loop {
    VEC(Carried) var;
    Values init; /* their leaves, in order */
    Names fresh; /* names that only the body assigns */
    Span span;
} Loop;

static void find_carried(Lower *l, Loop *loop, const Names *names) {
    for (int i = 0; i < names->n; i++) {
        Binding *b = find_binding(&l->frame->scope, names->at[i]);
        if (!b || b->gone) {
            vec_push(&l->s->arena, &loop->fresh, names->at[i]);
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
        b->gone = NULL;
        b->fixed = false;
        name_results(&b->obj, c->name);
    }
}

static void add_arguments(Lower *l, const Loop *loop, Block *block) {
    for (int i = 0; i < loop->init.n; i++)
        ir_block_arg(l->s, l->b.f, block, loop->init.at[i]->type, NULL);
}

/* What the body has made of the carried names; those that changed their form are errors, and keep
 * the value they came in with. */
static Values carried_now(Lower *l, Loop *loop, Value *const *args) {
    Values now = {0};
    for (int i = 0; i < loop->var.n; i++) {
        Carried *c = &loop->var.at[i];
        const Binding *b = find_binding(&l->frame->scope, c->name);
        Obj in = with_leaves(l, c->before, &args), out = b->obj;
        bool poisoned = obj_is_poison(out) && !b->gone;
        if (!poisoned && !b->gone && same_form(in, out)) {
            leaves(l, out, &now);
            continue;
        }
        if (!poisoned && !obj_is_poison(in)) {
            const char *becomes = b->gone ? b->gone : obj_what(l, out);
            const char *sep = b->gone ? "has no one type: " : "becomes ";
            fail(l, b->span, "loop-carried variable '%s' starts as %s and %s%s%s", c->name,
                 obj_what(l, in), sep, becomes, b->gone ? "" : " here");
            note(l, c->span, "it starts here; a variable keeps its type through a loop");
        }
        leaves(l, in, &now);
    }
    return now;
}

/* After the loop: carried names have its results, the body's own names are gone. */
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
        else if (last && obj_is_poison(last->obj))
            b->obj = poison();
    }
    for (int i = 0; i < loop->fresh.n; i++) {
        const Binding *last = find_binding(&body, loop->fresh.at[i]);
        bind(l, loop->fresh.at[i], poison(), last ? last->span : loop->span);
        if (last && obj_is_poison(last->obj) && !last->gone) continue;
        find_binding(&l->frame->scope, loop->fresh.at[i])->gone =
            gone_text(l, "inside the loop", loop->span);
    }
}

/* ---- for ---- */

/* Variables that the body never changed need not be carried: their argument is the initial value.
 * Leaves in init and now, and the block's arguments, those that stay; full[i] is the final value of
 * leaf i, or NULL when it becomes a result. */
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
    fail(l, span, "the %s of a range must be a scalar integer, not %s", which, obj_what(l, o));
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
        fail(l, span, "the step of a range must not be 0");
        return false;
    }
    for (int i = 0; i < 3; i++)
        if (!(out[i] = bound_value(l, bound[i], e, span))) return false;
    return true;
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
    vec_push(&l->s->arena, &loop.fresh, index);
    Scope before = copy_scope(l, &l->frame->scope);
    Op *draft = ir_op(&l->b, OP_FOR, bound, 3, NULL, 0, 1);
    Block *outer = l->b.block, *body = draft->region[0];
    ir_block_arg(l->s, l->b.f, body, bound[0]->type, index);
    add_arguments(l, &loop, body);
    Value **args = arena_copy(&l->s->arena, body->args + 1, sizeof *args * (size_t)loop.init.n);
    bind(l, index, obj_value(body->args[0]), stmt->target[0]->span);
    bind_carried(l, &loop, args);
    l->b.block = body;
    l->frame->loops++;
    lower_stmts(l, stmt->body, 0, NULL);
    l->frame->loops--;
    l->b.span = stmt->span;
    Values now = carried_now(l, &loop, args), operands = {0};
    for (int i = 0; i < 3; i++) vec_push(&l->s->arena, &operands, bound[i]);
    Value **full = drop_unchanged(l, &loop, &now, body, &operands);
    end_region(l, body, &now);
    Op *op = finish_op(l, draft, &operands, &now);
    if (range && range->num_stages >= 0) ir_set_attr(l->s, op, AT_NUM_STAGES, range->num_stages);
    for (int i = 0, k = 0; i < loop.init.n; i++)
        if (!full[i]) full[i] = op->result[k++];
    l->b.block = outer;
    close_loop(l, &loop, before, full);
}

bool range_count(Lower *l, const Range *r, Span span, int64_t *count) {
    const Obj bound[3] = {r->start, r->stop, r->step};
    for (int i = 0; i < 3; i++) {
        if (bound[i].kind == OBJ_INT && !bound[i].big) continue;
        fail(l, span, "the bounds of an unrolled range must be compile-time integers, not %s",
             obj_what(l, bound[i]));
        return false;
    }
    int64_t a = r->start.i, b = r->stop.i, step = r->step.i;
    if (step == 0) {
        fail(l, span, "the step of a range must not be 0");
        return false;
    }
    bool runs = step > 0 ? a < b : a > b;
    uint64_t distance = !runs      ? 0
                        : step > 0 ? (uint64_t)b - (uint64_t)a
                                   : (uint64_t)a - (uint64_t)b;
    uint64_t by = step > 0 ? (uint64_t)step : 0 - (uint64_t)step;
    uint64_t n = distance / by + (distance % by != 0);
    if (n > UNROLL_LIMIT) {
        fail(l, span, "this unrolls %llu iterations; the limit is %d", (unsigned long long)n,
             UNROLL_LIMIT);
        return false;
    }
    *count = (int64_t)n;
    return true;
}

static void unroll(Lower *l, const Stmt *stmt, const Range *range) {
    int64_t count;
    if (!range_count(l, range, stmt->value->span, &count)) return;
    l->frame->loops++;
    for (int64_t i = 0; i < count && !l->abandoned; i++) {
        bind(l, stmt->target[0]->name, obj_int(range->start.i + i * range->step.i),
             stmt->target[0]->span);
        lower_stmts(l, stmt->body, 0, NULL);
    }
    l->frame->loops--;
}

void lower_for(Lower *l, const Stmt *stmt) {
    Obj over = lower_expr(l, stmt->value);
    if (over.kind != OBJ_RANGE && !obj_is_poison(over))
        over =
            fail(l, stmt->value->span, "'for' runs over range, tl.range or tl.static_range, not %s",
                 obj_what(l, over));
    if (stmt->orelse.n) fail(l, stmt->span, "'else' after a loop is not supported");
    if (stmt->target[0]->kind != EXPR_NAME) {
        fail(l, stmt->target[0]->span, "the index of a loop must be a name");
        return;
    }
    if (over.kind == OBJ_RANGE && over.range->is_static)
        unroll(l, stmt, over.range);
    else
        for_at_run_time(l, stmt, over.kind == OBJ_RANGE ? over.range : NULL);
}

/* ---- while ---- */

void lower_while(Lower *l, const Stmt *stmt) {
    if (stmt->orelse.n) fail(l, stmt->span, "'else' after a loop is not supported");
    Names names = assigned_names(l, stmt->body, stmt->value);
    Loop loop = {.span = stmt->span};
    find_carried(l, &loop, &names);
    Scope before = copy_scope(l, &l->frame->scope);
    Op *draft = ir_op(&l->b, OP_WHILE, NULL, 0, NULL, 0, 2);
    Block *outer = l->b.block, *test = draft->region[0], *body = draft->region[1];
    add_arguments(l, &loop, test);
    add_arguments(l, &loop, body);
    bind_carried(l, &loop, test->args);
    l->b.block = test;
    Obj c = lower_expr(l, stmt->value);
    if (obj_is_const(c)) {
        if (obj_truth(c)) fail(l, stmt->value->span, "this condition never becomes false");
        ir_erase(draft);
        l->frame->scope = before;
        l->b.block = outer;
        return;
    }
    Value *condition =
        obj_is_poison(c) ? NULL : condition_value(l, c, stmt->value->span, "'while'");
    if (!condition) condition = ir_const_int(&l->b, type_scalar(EL_I1), 0);
    Values forward = {0}, tested = carried_now(l, &loop, test->args);
    vec_push(&l->s->arena, &forward, condition);
    for (int i = 0; i < tested.n; i++) vec_push(&l->s->arena, &forward, tested.at[i]);
    l->b.block = test;
    ir_op(&l->b, OP_CONDITION, forward.at, forward.n, NULL, 0, 0);

    bind_carried(l, &loop, body->args);
    l->b.block = body;
    l->frame->loops++;
    lower_stmts(l, stmt->body, 0, NULL);
    l->frame->loops--;
    l->b.span = stmt->span;
    Values now = carried_now(l, &loop, body->args);
    end_region(l, body, &now);
    Op *op = finish_op(l, draft, &loop.init, &loop.init);
    l->b.block = outer;
    close_loop(l, &loop, before, op->result);
}
