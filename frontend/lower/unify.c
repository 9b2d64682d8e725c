/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* unify.c: operands -> values of one type and shape.
 *
 * A number takes part in `+` by its kind alone (see promote()). Comparisons and the functions of
 * several numbers do the same since Triton 3.9; before, a number was a tensor of its own type
 * first, so that fp16 > 0.1 compared in fp32. */
#include "frontend/lower/internal.h"

#include <math.h>

/* What is to be unified, and what for. */
typedef struct Unify {
    const Obj *x;
    int n;
    bool div;   /* promotes as a division */
    bool widen; /* bf16 counts as fp32 */
    bool decay; /* a number that a function returned counts as a tensor */
    const char *what;
    Span span;
} Unify;

static Elem operand_elem(const Unify *u, int i) {
    Elem e = (Elem)obj_type(u->x[i]).elem;
    return u->widen && e == EL_BF16 && u->x[i].kind == OBJ_VALUE ? EL_F32 : e;
}

static bool are_operands(Lower *l, const Unify *u) {
    for (int i = 0; i < u->n; i++) {
        bool fits = is_operand(u->x[i]) && !obj_type(u->x[i]).depth;
        if (!fits) return wrong_operands(l, u->what, u->x[0], u->x[i ? i : 1], u->span);
    }
    return true;
}

/* The tensors' type and the numbers', each by themselves, then both. */
static bool common_elem(Lower *l, const Unify *u, Elem *out) {
    Elem of[2] = {EL_I1, EL_I1};
    bool seen[2] = {false, false};
    for (int i = 0; i < u->n; i++) {
        bool number = obj_is_number(u->x[i]) && !(u->decay && u->x[i].returned);
        Elem e = operand_elem(u, i);
        if (!seen[number])
            of[number] = e;
        else if (!promote(l, of[number], number, e, number, u->div, u->what, u->span, &of[number]))
            return false;
        seen[number] = true;
    }
    *out = of[seen[1]];
    return !(seen[0] && seen[1]) ||
           promote(l, of[0], false, of[1], true, u->div, u->what, u->span, out);
}

/* Each number as a tensor of its own type. */
static bool typed_elem(Lower *l, const Unify *u, Elem *out) {
    *out = operand_elem(u, 0);
    for (int i = 1; i < u->n; i++)
        if (!promote(l, *out, false, operand_elem(u, i), false, u->div, u->what, u->span, out))
            return false;
    return true;
}

/* A number as a tensor of its own type, then as element `e`. */
static Value *typed_number(Lower *l, Obj o, Elem e, Type shape, Span span) {
    Elem own = number_elem(o);
    Type to = type_with_shape(type_scalar(e), shape);
    bool exact = o.kind != OBJ_FLOAT &&
                 (elem_info[e].class_ == ELEM_F ? fabs(obj_double(o)) < 1e15 : int_fits(o, e));
    if (exact || own == e) return number_value(l, o, to, span);
    Value *v = to_value(l, o, span);
    v = v ? cast_value(l, v, type_scalar(e), false, span) : NULL;
    return v ? broadcast_value(l, v, shape, span) : NULL;
}

/* A number as element `e`, which tensors have; before that, whether it can be. */
static bool number_fits(const Unify *u, Obj number, Elem e) {
    bool all = true; /* numbers */
    for (int i = 0; i < u->n; i++) all = all && obj_is_number(u->x[i]);
    return all || elem_info[e].class_ != ELEM_U || obj_double(number) >= 0;
}

static Value *common_number(Lower *l, const Unify *u, Obj o, Elem e, Type shape) {
    if (number_fits(u, o, e))
        return number_value(l, o, type_with_shape(type_scalar(e), shape), u->span);
    fail(l, E_NUMBER_RANGE, u->span, "'%s' of a negative number and %s", u->what,
         type_user_text(&l->s->arena, type_with_shape(type_scalar(e), shape)));
    return NULL;
}

/* All as element `e`, in one shape; constants are made in the shape of a tensor. */
static bool bring(Lower *l, const Unify *u, Elem e, bool typed, Value **v) {
    Type shape = type_scalar(e);
    for (int i = 0; i < u->n; i++)
        if (u->x[i].kind == OBJ_VALUE && u->x[i].value->type.rank >= shape.rank)
            shape = u->x[i].value->type;
    for (int i = 0; i < u->n; i++) {
        Obj o = u->x[i];
        if (o.kind == OBJ_VALUE)
            v[i] = cast_value(l, o.value, type_scalar(e), false, u->span);
        else
            v[i] = typed ? typed_number(l, o, e, shape, u->span) : common_number(l, u, o, e, shape);
        if (!v[i]) return false;
    }
    for (int i = 1; i < u->n; i++)
        for (int k = 0; k < i; k++)
            if (!broadcast_pair(l, &v[k], &v[i], u->span)) return false;
    return true;
}

/* The number as a value of element e, by way of `own`. */
static double as_elem(Obj o, Elem own, Elem e) {
    double v = obj_double(o);
    if (elem_info[own].class_ == ELEM_F) v = elem_to_double(own, elem_from_double(own, v));
    return elem_info[e].class_ == ELEM_F ? elem_to_double(e, elem_from_double(e, v)) : v;
}

/* Says, for -Wtriton, where a returned number counted for more as a tensor: before Triton 3.7. */
static void compare_returned(Lower *l, const Unify *u) {
    Unify before = *u;
    Elem was, is;
    const Obj *number = u->x[0].returned ? &u->x[0] : &u->x[1];
    if (!number->returned || !watches(l)) return;
    bool muted = l->s->diags.muted;
    before.decay = true;
    l->s->diags.muted = true;
    bool both = common_elem(l, &before, &was) && common_elem(l, u, &is);
    l->s->diags.muted = muted;
    if (!both) return;
    double a = as_elem(*number, number_elem(*number), was), b = as_elem(*number, is, is);
    if (was != is || a != b)
        differs(l, CHANGE_RETURN, u->span,
                "a returned number stays one: '%s' is in %s with %.9g, and was in %s with %.9g",
                u->what, elem_info[is].triton, b, elem_info[was].triton, a);
}

bool unify_operands(Lower *l, Obj x, Obj y, bool div, const char *what, Span span, Value **vx,
                    Value **vy) {
    Obj both[2] = {x, y};
    Unify u = {.x = both, .n = 2, .div = div, .what = what, .span = span};
    Value *v[2];
    Elem e;
    if (!are_operands(l, &u)) return false;
    compare_returned(l, &u);
    if (!common_elem(l, &u, &e) || !bring(l, &u, e, false, v)) return false;
    *vx = v[0];
    *vy = v[1];
    return true;
}

bool unify_typed(Lower *l, Obj x, Obj y, const char *what, Span span, Value **vx, Value **vy) {
    Obj both[2] = {x, y};
    Unify u = {.x = both, .n = 2, .what = what, .span = span};
    Value *v[2];
    Elem e;
    if (!are_operands(l, &u) || !typed_elem(l, &u, &e) || !bring(l, &u, e, true, v)) return false;
    *vx = v[0];
    *vy = v[1];
    return true;
}

/* ---- what Triton 3.9 changed ---- */

/* Says, for -Wtriton, if both rules do not give the same. */
static void compare_rules(Lower *l, const Unify *u, Operands kind) {
    Unify before = *u, now = *u;
    Elem was, is;
    bool muted = l->s->diags.muted;
    if (!watches(l)) return;
    before.widen = kind == ORDERED;
    now.widen = false;
    l->s->diags.muted = true;
    bool both = typed_elem(l, &before, &was) && common_elem(l, &now, &is);
    l->s->diags.muted = muted;
    if (!both) return; /* an error, or what Triton learned */
    bool same = kind == COMPARED || was == is, any = false;
    for (int i = 0; i < u->n; i++) {
        Obj o = u->x[i];
        if (o.kind == OBJ_VALUE) continue;
        any = true;
        if (elem_info[is].class_ == ELEM_F) {
            double a = as_elem(o, number_elem(o), was), b = as_elem(o, is, is);
            if (a == b || (isnan(a) && isnan(b))) continue;
            differs(l, CHANGE_NUMBER, u->span,
                    "'%s' is in %s, where %s is %.9g, and was in %s, where it is %.9g", u->what,
                    elem_info[is].triton, obj_text(l, o), b, elem_info[was].triton, a);
            return;
        }
        if (number_fits(u, o, is) && int_fits(o, is)) continue;
        differs(l, CHANGE_NUMBER, u->span, "'%s' is in %s, where %s is an error, and was in %s",
                u->what, elem_info[is].triton, obj_text(l, o), elem_info[was].triton);
        return;
    }
    if (!same)
        differs(l, any ? CHANGE_NUMBER : CHANGE_BF16, u->span, "'%s' gives %s and gave %s", u->what,
                elem_info[is].triton, elem_info[was].triton);
}

bool unify_numbers(Lower *l, const Obj *x, int n, Operands kind, const char *what, Span span,
                   Value **v) {
    bool typed = !changed(l, CHANGE_NUMBER);
    Unify u = {.x = x, .n = n, .what = what, .span = span};
    u.widen = kind == ORDERED && !changed(l, CHANGE_BF16);
    Elem e;
    if (!are_operands(l, &u)) return false;
    compare_rules(l, &u, kind);
    if (!(typed ? typed_elem(l, &u, &e) : common_elem(l, &u, &e))) return false;
    if (bring(l, &u, e, typed, v)) return true;
    if (!typed)
        note(l, (Span){0},
             "a number takes the tensor's type; before Triton 3.9 it widened it here");
    return false;
}
