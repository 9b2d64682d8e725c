/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* flow.c: if and conditional expressions -> structured operations, and
 * the variables they change.
 *
 * After an `if`, a name whose value differs between the arms is a result of the
 * operation; tuples go leaf by leaf. A name that one arm alone has is
 * undefined.
 *
 * An arm that ends (by return; in a loop's body by break or continue) takes no
 * part in what follows: the statements after the `if` (its Continuation) are
 * lowered inside the other arm. At the end of a function the `if` then yields
 * the function's result; at the end of a loop's body it yields the variables as
 * usual. Where an arm returns from unrolled loops, what follows are their other
 * rounds and what stands behind them. */
#include "frontend/lower/flow.h"

const char *undefined_text(Lower *l, const char *what, Span span) {
    return arena_printf(&l->s->arena, "it is assigned only %s in line %u", what, span.line);
}

Op *finish_op(Lower *l, Op *draft, const Values *operands, const Values *like) {
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

void end_region(Lower *l, Block *block, const Values *values) {
    l->b.block = block;
    ir_op(&l->b, OP_YIELD, values->at, values->n, NULL, 0, 0);
}

/* ---- objects as lists of values ---- */

bool holds_value(Obj o) {
    if (obj_is_structure(o))
        for (int i = 0; i < o.seq.n; i++)
            if (holds_value(o.seq.at[i])) return true;
    return o.kind == OBJ_VALUE;
}

void leaves(Lower *l, Obj o, Values *out) {
    if (o.kind == OBJ_VALUE) vec_push(&l->s->arena, out, o.value);
    if (obj_is_structure(o))
        for (int i = 0; i < o.seq.n; i++) leaves(l, o.seq.at[i], out);
}

Obj with_leaves(Lower *l, Obj o, Value *const **next) {
    if (o.kind == OBJ_VALUE) return obj_value(*(*next)++);
    if (!obj_is_structure(o)) return o;
    Obj t = copy_structure(l, o);
    for (int i = 0; i < t.seq.n; i++) t.seq.at[i] = with_leaves(l, t.seq.at[i], next);
    return t;
}

/* Two tuples of one length, or two instances of one class. */
static bool same_structure(Obj a, Obj b) {
    return a.kind == b.kind && obj_is_structure(a) && a.seq.n == b.seq.n &&
           a.seq.of_class == b.seq.of_class;
}

bool same_form(Obj a, Obj b) {
    if (a.kind == OBJ_VALUE && b.kind == OBJ_VALUE) return type_equal(a.value->type, b.value->type);
    if (same_structure(a, b)) {
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
    bool returned, finished;
    Obj result;
    Span result_span;
} Arm;

typedef struct Merge { /* of two arms: values that the `if` yields, pairwise */
    Arm *arm;
    Values value[2];
    Span span;
} Merge;

static void open_arm(Lower *l, Arm *arm, const Scope *scope, Names declared) {
    l->b.block = arm->block;
    l->frame->declared = declared;
    l->frame->scope = copy_scope(l, scope);
    l->frame->returned = l->frame->finished = false;
    l->frame->result = obj_none();
}

static void close_arm(Lower *l, Arm *arm) {
    arm->scope = l->frame->scope;
    arm->returned = l->frame->returned;
    arm->finished = l->frame->finished;
    arm->result = l->frame->result;
    arm->result_span = l->frame->result_span;
}

/* Brings both sides to one form, numbers becoming tensors unless they are fields of instances;
 * collects what differs. */
static bool merge_parts(Lower *l, Merge *m, Obj *a, Obj *b, bool keep) {
    if (obj_same(*a, *b)) return true;
    if (a->kind == OBJ_VALUE && b->kind == OBJ_VALUE && unhinted(a->value) == unhinted(b->value)) {
        a->value = b->value = unhinted(a->value); /* what one arm promises holds in it alone */
        return true;
    }
    if (same_structure(*a, *b)) {
        *a = copy_structure(l, *a);
        *b = copy_structure(l, *b);
        for (int i = 0; i < a->seq.n; i++)
            if (!merge_parts(l, m, &a->seq.at[i], &b->seq.at[i], keep || a->kind == OBJ_INSTANCE))
                return false;
        return true;
    }
    Obj *side[2] = {a, b};
    for (int k = 0; k < 2 && !keep; k++) {
        l->b.block = m->arm[k].block;
        *side[k] = decay(l, *side[k], m->span);
    }
    if (a->kind != OBJ_VALUE || !same_form(*a, *b)) return false;
    vec_push(&l->s->arena, &m->value[0], a->value);
    vec_push(&l->s->arena, &m->value[1], b->value);
    return true;
}

static bool merge_objects(Lower *l, Merge *m, Obj *a, Obj *b) {
    return merge_parts(l, m, a, b, false);
}

/* The object after the `if`: results stand where the sides differ. */
static Obj merged(Lower *l, Obj a, Obj b, Value *const **next) {
    if (obj_same(a, b)) return a;
    if (a.kind == OBJ_VALUE) return obj_value(*(*next)++);
    Obj t = copy_structure(l, a);
    for (int i = 0; i < t.seq.n; i++) t.seq.at[i] = merged(l, a.seq.at[i], b.seq.at[i], next);
    return t;
}

static void merge_binding(Lower *l, Merge *m, Binding *a, Binding *b, Span where) {
    if (a->undefined || b->undefined) {
        if (!a->undefined) *a = *b;
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
    a->undefined = arena_printf(&l->s->arena,
                                "Mismatched type for %s: it is %s in one branch of the 'if' in "
                                "line %u and %s in the other",
                                a->name, obj_what(l, was[0]), where.line, obj_what(l, was[1]));
    a->obj = b->obj = poison();
}

/* The binding of a name whose place in another copy of the scope is `at`, if it has stayed there.
 */
static Binding *twin(Scope *scope, int at, const char *name) {
    if (at < scope->n && scope->at[at].name == name) return &scope->at[at];
    return find_binding(scope, name);
}

/* Names of both arms, the first arm's order. A name that one arm alone has is
 * undefined. */
static Scope merge_scopes(Lower *l, Merge *m, Span where) {
    Scope out = m->arm[0].scope;
    for (int i = 0; i < out.n; i++) {
        Binding *a = &out.at[i], *b = twin(&m->arm[1].scope, i, a->name);
        if (b)
            merge_binding(l, m, a, b, where);
        else if (!a->undefined && !obj_is_poison(a->obj)) {
            a->undefined = undefined_text(l, "in one branch of the 'if'", where);
            a->obj = poison();
        }
    }
    for (int i = 0; i < m->arm[1].scope.n; i++) {
        Binding b = m->arm[1].scope.at[i];
        if (twin(&out, i, b.name)) continue;
        if (!b.undefined && !obj_is_poison(b.obj))
            b.undefined = undefined_text(l, "in one branch of the 'if'", where);
        b.obj = poison();
        vec_push(&l->s->arena, &out, b);
    }
    return out;
}

void name_results(const Obj *o, const char *name) {
    if (o->kind == OBJ_VALUE && !o->value->name) o->value->name = name;
}

static Op *finish_if(Lower *l, Op *draft, Merge *m, Value *condition) {
    for (int k = 0; k < 2; k++) end_region(l, m->arm[k].block, &m->value[k]);
    Values operands = {0};
    vec_push(&l->s->arena, &operands, condition);
    return finish_op(l, draft, &operands, &m->value[0]);
}

Obj any_value(Lower *l, Obj like, Span span) {
    if (like.kind == OBJ_VALUE) {
        Type t = like.value->type, bits = type_with_elem(t, EL_I64);
        Value *zero = ir_const_int(&l->b, t.depth ? bits : t, 0);
        return obj_value(t.depth ? cast_value(l, zero, type_element(t), false, span) : zero);
    }
    if (!obj_is_structure(like)) return like;
    Obj t = copy_structure(l, like);
    for (int i = 0; i < t.seq.n; i++) t.seq.at[i] = any_value(l, t.seq.at[i], span);
    return t;
}

/* The function's result is what the `if` yields. An arm that ended without `return` has no say in
 * its type. */
static void merge_returns(Lower *l, Op *draft, Merge *m, Value *condition) {
    for (int k = 0; k < 2; k++) {
        if (m->arm[k].returned || !m->arm[1 - k].returned) continue;
        l->b.block = m->arm[k].block;
        m->arm[k].result = any_value(l, m->arm[1 - k].result, m->span);
    }
    Obj a = m->arm[0].result, b = m->arm[1].result;
    bool bad = obj_is_poison(a) || obj_is_poison(b);
    if (!bad && !merge_objects(l, m, &a, &b)) {
        fail(l, E_RETURN_TYPES, m->arm[1].result_span,
             "Return type mismatch: %s here and %s elsewhere", obj_what(l, m->arm[1].result),
             obj_what(l, m->arm[0].result));
        note(l, m->arm[0].result_span, "the other return");
        bad = true;
    }
    if (bad) m->value[0].n = m->value[1].n = 0;
    Value *const *next = finish_if(l, draft, m, condition)->result;
    l->frame->returned = true;
    l->frame->result = bad ? poison() : merged(l, a, b, &next);
}

/* Neither arm has returned: names get the values that the `if` yields. */
static void merge_names(Lower *l, Op *draft, Merge *m, Value *condition, Span span) {
    Scope out = merge_scopes(l, m, span);
    l->b.span = span;
    Value *const *next = finish_if(l, draft, m, condition)->result;
    for (int i = 0; i < out.n; i++) {
        const Binding *b = twin(&m->arm[1].scope, i, out.at[i].name);
        if (!b || out.at[i].undefined) continue;
        out.at[i].obj = merged(l, out.at[i].obj, b->obj, &next);
        name_results(&out.at[i].obj, out.at[i].name);
    }
    l->frame->scope = out;
}

/* What is left of the function behind an arm of an `if` in unrolled loops. An arm that ended by
 * break or continue goes on with the next round. */
static void lower_rest(Lower *l, Arm *arm, Names declared, const Continuation *then) {
    Frame *frame = l->frame;
    int loops = frame->loops, unrolled = frame->unrolled;
    bool jumped = arm->returned;
    open_arm(l, arm, &arm->scope, declared);
    frame->returned = jumped;
    lower_continuation(l, then, true);
    frame->loops = loops;
    frame->unrolled = unrolled;
    close_arm(l, arm);
}

/* One arm has returned from unrolled loops: what follows them is lowered in the other. */
static void finish_loops(Lower *l, Arm *arm, Names declared, const Continuation *const *then,
                         Span span) {
    for (int k = 0; k < 2; k++) {
        if (arm[k].finished) continue;
        l->frame->result_span = span;
        lower_rest(l, &arm[k], declared, then[k]);
    }
}

/* An arm that goes on while the other has ended. */
static void lower_others(Lower *l, Arm *arm, Names declared, const Continuation *const *then,
                         Span span) {
    for (int k = 0; k < 2; k++) {
        if (arm[k].returned) continue;
        open_arm(l, &arm[k], &arm[k].scope, declared);
        l->frame->result_span = span;
        lower_continuation(l, then[k], !l->frame->loops);
        close_arm(l, &arm[k]);
    }
}

void lower_branches(Lower *l, Value *condition, Span span, ArmFn fn, void *ctx,
                    const Continuation *const *then) {
    Frame *frame = l->frame;
    Scope before = frame->scope;
    Names declared = frame->declared;
    Op *draft = ir_op(&l->b, OP_IF, &condition, 1, NULL, 0, 2);
    Block *outer = l->b.block;
    Arm arm[2] = {{.block = draft->region[0]}, {.block = draft->region[1]}};
    Merge m = {.arm = arm, .span = span};
    for (int k = 0; k < 2; k++) {
        open_arm(l, &arm[k], &before, declared);
        fn(l, ctx, k);
        close_arm(l, &arm[k]);
    }
    bool ended = arm[0].returned || arm[1].returned;
    if (ended && !arm[0].finished && !arm[1].finished) lower_others(l, arm, declared, then, span);
    bool finished = arm[0].finished || arm[1].finished; /* perhaps by what was lowered last */
    if (finished) finish_loops(l, arm, declared, then, span);
    if (finished || (ended && !frame->loops)) {
        frame->scope = before;
        l->b.span = span;
        merge_returns(l, draft, &m, condition);
        frame->result_span = span;
    } else {
        merge_names(l, draft, &m, condition, span);
        frame->returned = ended;
    }
    frame->finished = finished;
    frame->declared = declared;
    l->b.block = outer;
}

typedef struct IfArms {
    const Stmt *stmt;
    const Continuation *then;
} IfArms;

static void lower_if_arm(Lower *l, void *ctx, int arm) {
    const IfArms *arms = ctx;
    lower_stmts(l, arm ? arms->stmt->orelse : arms->stmt->body, 0, arms->then);
}

static void if_at_run_time(Lower *l, const Stmt *stmt, Value *condition, const Continuation *then) {
    IfArms arms = {stmt, then};
    const Continuation *both[] = {then, then};
    lower_branches(l, condition, stmt->span, lower_if_arm, &arms, both);
}

void lower_if(Lower *l, const Stmt *stmt, const Continuation *then) {
    Obj c = lower_expr(l, stmt->value);
    if (c.kind == OBJ_VALUE) {
        Value *condition = condition_value(l, c, true, stmt->value->span, "'if'");
        if (condition) {
            if_at_run_time(l, stmt, condition, then);
            return;
        }
        c = poison();
    }
    if (is_no_condition(l, c, stmt->value->span)) c = poison();
    if (obj_is_poison(c)) { /* which branch is meant is unknown: look at neither */
        for (int k = 0; k < 2; k++) {
            Names names = assigned_names(l, k ? stmt->orelse : stmt->body, NULL);
            for (int i = 0; i < names.n; i++) bind_name(l, names.at[i], poison(), stmt->span);
        }
        return;
    }
    lower_stmts(l, obj_truth(c) ? stmt->body : stmt->orelse, 0, then);
}

Obj lower_ternary(Lower *l, const Expr *e, Obj c) {
    Value *condition = condition_value(l, c, false, e->cond->span, "'… if … else …'");
    if (!condition) return poison();
    Op *draft = ir_op(&l->b, OP_IF, &condition, 1, NULL, 0, 2);
    Block *outer = l->b.block;
    Arm arm[2] = {{.block = draft->region[0]}, {.block = draft->region[1]}};
    Merge m = {.arm = arm, .span = e->span};
    Obj side[2], was[2];
    Scope before = l->frame->scope;
    for (int k = 0; k < 2; k++) { /* what := names in a side is known in it alone */
        l->b.block = arm[k].block;
        l->frame->scope = copy_scope(l, &before);
        was[k] = side[k] = lower_expr(l, k ? e->right : e->left);
    }
    l->frame->scope = before;
    bool bad = obj_is_poison(side[0]) || obj_is_poison(side[1]);
    if (!bad && !merge_objects(l, &m, &side[0], &side[1])) {
        fail(l, E_TERNARY_TYPES, e->span,
             "Ternary expression with dynamic condition has inconsistent types %s and %s",
             obj_what(l, was[0]), obj_what(l, was[1]));
        bad = true;
    }
    if (bad) m.value[0].n = m.value[1].n = 0;
    Value *const *next = finish_if(l, draft, &m, condition)->result;
    l->b.block = outer;
    return bad ? poison() : merged(l, side[0], side[1], &next);
}
