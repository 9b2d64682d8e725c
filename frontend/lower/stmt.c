/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* stmt.c: statements: assignments, return, assert, and what is not supported. */
#include "frontend/lower/internal.h"

#include <string.h>

/* ---- assignment ---- */

static void name_values(Obj o, const char *name) {
    if (o.kind == OBJ_VALUE && !o.value->name) o.value->name = name;
    if (obj_is_structure(o))
        for (int i = 0; i < o.seq.n; i++) name_values(o.seq.at[i], name);
}

void assign_name(Lower *l, const char *name, Obj o, Span span) {
    if (!obj_is_structure(o)) name_values(o, name);
    bind_name(l, name, o, span);
}

/* The parts of o, one for each target, with Python's words where there are others; poison after an
 * error. */
static Obj unpack(Lower *l, const Expr *target, Obj o) {
    int n = target->nitems;
    if (obj_is_poison(o)) return poison();
    for (int i = 0; i < n && l->b.f; i++)
        if (target->item[i]->kind == EXPR_STARRED)
            return fail(l, E_UNPACK, target->item[i]->span,
                        "starred assignment targets are not supported");
    if (o.kind != OBJ_TUPLE)
        return fail(l, E_UNPACK, target->span, "cannot unpack non-iterable value: %s",
                    obj_what(l, o));
    if (o.seq.n > n)
        return fail(l, E_UNPACK, target->span, "too many values to unpack (expected %d)", n);
    if (o.seq.n < n)
        return fail(l, E_UNPACK, target->span, "not enough values to unpack (expected %d, got %d)",
                    n, o.seq.n);
    return o;
}

typedef void (*AssignFn)(Lower *l, const Expr *target, Obj o);

/* Outside kernels `a, *b = xs` gives b a list of what the others leave. */
static Obj gather_starred(Lower *l, const Expr *target, Obj o) {
    int n = target->nitems, at = 0;
    while (at < n && target->item[at]->kind != EXPR_STARRED) at++;
    if (l->b.f || at == n || o.kind != OBJ_TUPLE || o.seq.n < n - 1) return o;
    int rest = o.seq.n - (n - 1);
    Obj *part = arena_array(&l->s->arena, (size_t)n, sizeof *part);
    for (int i = 0; i < n; i++)
        part[i] = i < at    ? o.seq.at[i]
                  : i == at ? obj_tuple(l, o.seq.at + at, rest)
                            : o.seq.at[i + rest - 1];
    return obj_tuple(l, part, n);
}

static void assign_parts(Lower *l, const Expr *target, Obj o, AssignFn fn) {
    o = unpack(l, target, gather_starred(l, target, o));
    for (int i = 0; i < target->nitems; i++) {
        const Expr *part = target->item[i];
        bool nested = part->kind == EXPR_TUPLE || part->kind == EXPR_LIST;
        if (nested && l->b.f) newer(l, FEATURE_NESTED_TARGET, part->span);
        fn(l, part->kind == EXPR_STARRED ? part->left : part,
           o.kind == OBJ_TUPLE ? o.seq.at[i] : poison());
    }
}

void assign(Lower *l, const Expr *target, Obj o) {
    switch (target->kind) {
    case EXPR_NAME: assign_name(l, target->name, o, target->span); break;
    case EXPR_TUPLE:
    case EXPR_LIST: assign_parts(l, target, o, assign); break;
    case EXPR_SUBSCRIPT:
        fail(l, E_ITEM_ASSIGNED, target->span,
             "items cannot be assigned: a tensor is not changed in place");
        note(l, (Span){0}, "write to memory with tl.store, or choose elements with tl.where");
        break;
    case EXPR_ATTRIBUTE: assign_field(l, target, o); break;
    default: fail(l, E_ITEM_ASSIGNED, target->span, "this cannot be assigned to"); break;
    }
}

/* Whether `name: tl.constexpr` stands above, in this block or around it, for the next value. */
static bool take_declared(Lower *l, const char *name) {
    Names left = {0};
    const Names *all = &l->frame->declared;
    for (int i = 0; i < all->n; i++)
        if (all->at[i] != name) vec_push(&l->s->arena, &left, all->at[i]);
    bool found = left.n < all->n;
    if (found) l->frame->declared = left;
    return found;
}

Obj assign_decayed(Lower *l, const char *name, Obj o, Span span) {
    bool fixed = l->b.f && take_declared(l, name);
    if (!fixed && l->b.f) o = decay(l, o, span);
    assign_name(l, name, o, span);
    find_binding(&l->frame->scope, name)->fixed = fixed;
    return o;
}

/* An assignment in a kernel: numbers become tensors, except where a name is declared tl.constexpr.
 */
static void assign_and_decay(Lower *l, const Expr *target, Obj o) {
    if (target->kind == EXPR_NAME)
        assign_decayed(l, target->name, o, target->span);
    else if (target->kind == EXPR_TUPLE || target->kind == EXPR_LIST)
        assign_parts(l, target, o, assign_and_decay);
    else
        assign(l, target, o);
}

static void lower_assign(Lower *l, const Stmt *stmt) {
    Obj o = lower_expr(l, stmt->value);
    if (stmt->ntargets > 1) {
        fail(l, E_KERNEL_STATEMENT, stmt->span,
             "only one assignment in a statement: 'a = b = …' is not supported");
        o = poison();
    }
    for (int i = 0; i < stmt->ntargets; i++) assign_and_decay(l, stmt->target[i], o);
}

static bool is_constexpr_name(const Expr *e) {
    if (!e) return false;
    if (e->kind == EXPR_STRING)
        return strcmp(e->string, "constexpr") == 0 || strcmp(e->string, "tl.constexpr") == 0;
    if (e->kind == EXPR_SUBSCRIPT) return is_constexpr_name(e->left);
    return (e->kind == EXPR_NAME || e->kind == EXPR_ATTRIBUTE) && strcmp(e->name, "constexpr") == 0;
}

bool annotated_constexpr(const AstParam *p) {
    return is_constexpr_name(p->annotation);
}

/* X: tl.constexpr = … does not decay; without a value, the next assignment does not. Any other
 * annotation says nothing. */
static void lower_annotated(Lower *l, const Stmt *stmt) {
    const Expr *target = stmt->target[0];
    bool constant = is_constexpr_name(stmt->annotation);
    if (!constant) {
        if (stmt->value) lower_assign(l, stmt);
        return;
    }
    Obj o = stmt->value ? lower_expr(l, stmt->value) : obj_none();
    if (target->kind != EXPR_NAME) {
        fail(l, E_CONSTEXPR_CHANGED, target->span, "only a name can be declared tl.constexpr");
        return;
    }
    if (!stmt->value) {
        differs(l, CHANGE_DECLARATION, target->span, "the next value of '%s' stays a constant",
                target->name);
        if (!changed(l, CHANGE_DECLARATION)) return;
        take_declared(l, target->name); /* once is enough */
        vec_push(&l->s->arena, &l->frame->declared, target->name);
        return;
    }
    const Binding *old = find_binding(&l->frame->scope, target->name);
    bool once = !l->frame->loops; /* each round of an unrolled loop declares its own */
    if (once && old && old->fixed && !obj_same(old->obj, o) && !obj_is_poison(o)) {
        fail(l, E_CONSTEXPR_CHANGED, target->span,
             "'%s' is already defined: a constexpr cannot change", target->name);
        note(l, old->span, "it is defined here");
        o = poison();
    }
    assign_name(l, target->name, o, target->span);
    find_binding(&l->frame->scope, target->name)->fixed = true;
}

static void lower_augmented(Lower *l, const Stmt *stmt) {
    const Expr *target = stmt->target[0];
    if (target->kind != EXPR_NAME) {
        lower_expr(l, stmt->value);
        assign(l, target, poison());
        return;
    }
    Obj x = lower_expr(l, target), y = lower_expr(l, stmt->value);
    assign_decayed(l, target->name, binary(l, stmt->op, x, y, stmt->span), target->span);
}

/* ---- the others ---- */

static void lower_return(Lower *l, const Stmt *stmt) {
    Frame *f = l->frame;
    Obj o = stmt->value ? lower_expr(l, stmt->value) : obj_none();
    if (f->loops != f->unrolled) {
        fail(l, E_RETURN_IN_LOOP, stmt->span,
             "Cannot have `return` statements inside `while` or `for` statements in triton");
        note(l, (Span){0}, "leave the loop with 'break' and return behind it");
        return;
    }
    if (!f->caller && o.kind != OBJ_NONE && !obj_is_poison(o)) {
        fail(l, E_RETURNS_VALUE, stmt->span, "a kernel returns no value");
        note(l, (Span){0}, "results are written with tl.store");
    }
    o.returned = obj_is_number(o);
    f->result = changed(l, CHANGE_RETURN) ? o : decay(l, o, stmt->span);
    f->result_span = stmt->span;
    f->returned = true;
    f->finished = f->loops > 0;
}

static void lower_assert(Lower *l, const Stmt *stmt) {
    Obj o = lower_expr(l, stmt->value);
    Obj text = stmt->message ? lower_expr(l, stmt->message) : obj_string(l, "");
    if (obj_is_poison(o) || obj_is_poison(text)) return;
    if (o.kind == OBJ_VALUE) {
        Value *v = cast_value(l, o.value, type_scalar(EL_I1), false, stmt->value->span);
        if (!v) return;
        Op *op = ir_op(&l->b, OP_ASSERT, &v, 1, NULL, 0, 0);
        ir_set_text(l->s, op, AT_TEXT, obj_text(l, text));
        return;
    }
    if (!obj_is_const(o) || obj_truth(o)) return;
    fail(l, E_ASSERTION, stmt->span, "assertion failed%s%s",
         text.kind == OBJ_STRING && text.text.n ? ": " : "", obj_text(l, text));
}

static void lower_stmt(Lower *l, const Stmt *stmt, const Continuation *then) {
    l->b.span = stmt->span;
    switch (stmt->kind) {
    case STMT_EXPR: /* `...` fills an empty body */
        l->statement = stmt->value;
        if (stmt->value->kind != EXPR_ELLIPSIS) keep_promise(l, lower_expr(l, stmt->value));
        break;
    case STMT_ASSIGN: lower_assign(l, stmt); break;
    case STMT_AUGASSIGN: lower_augmented(l, stmt); break;
    case STMT_ANNASSIGN: lower_annotated(l, stmt); break;
    case STMT_IF: lower_if(l, stmt, then); break;
    case STMT_FOR: lower_for(l, stmt, then); break;
    case STMT_WHILE: lower_while(l, stmt); break;
    case STMT_RETURN: lower_return(l, stmt); break;
    case STMT_ASSERT: lower_assert(l, stmt); break;
    case STMT_PASS: break;
    case STMT_IMPORT:
        fail(l, E_KERNEL_STATEMENT, stmt->span, "'import' is not supported in a kernel");
        advise(l, ADVICE_STATEMENT, "import");
        break;
    case STMT_RAISE:
        fail(l, E_KERNEL_STATEMENT, stmt->span, "'raise' is not supported in a kernel");
        advise(l, ADVICE_STATEMENT, "raise");
        break;
    case STMT_BREAK:
    case STMT_CONTINUE: lower_jump(l, stmt); break;
    case STMT_DEF:
        fail(l, E_KERNEL_STATEMENT, stmt->span, "a nested function in a kernel is not supported");
        note(l, (Span){0}, "define it at top level, with @triton.jit above it");
        break;
    case STMT_TRY:
    case STMT_UNSUPPORTED:
        fail(l, E_KERNEL_STATEMENT, stmt->span, "'%s' is not supported in a kernel", stmt->name);
        advise(l, ADVICE_STATEMENT, stmt->name);
        break;
    }
}

void lower_stmts(Lower *l, StmtList list, int from, const Continuation *then) {
    for (int i = from; i < list.n && !l->frame->returned; i++) {
        const Stmt *stmt = list.at[i];
        if (!count_step(l, stmt->span) || !enter(l, stmt->span)) return;
        Continuation after = {.list = list, .next = i + 1, .after = then};
        lower_stmt(l, stmt, &after);
        flush_call_notes(l);
        leave(l);
    }
}

void lower_continuation(Lower *l, const Continuation *then, bool whole) {
    Frame *f = l->frame;
    for (; then && !f->finished && (whole || !then->rounds); then = then->after) {
        bool jumped = f->returned && f->loops && whole; /* to the next round, or out of the loop */
        if (f->returned && !jumped) return;
        if (jumped && !then->rounds) continue;
        f->returned = false;
        if (then->rounds)
            continue_rounds(l, then->rounds);
        else
            lower_stmts(l, then->list, then->next, then->after);
    }
}
