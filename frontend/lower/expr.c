/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* expr.c: expressions -> objects, emitting tile IR where a tensor is involved. */
#include "frontend/lower/internal.h"

#include <string.h>

typedef VEC(Obj) Objs;

/* `*x` or `**x` among the items of a tuple, a list, a dict: what x holds. */
static bool spread(Lower *l, const Expr *e, ObjKind kind, Objs *out) {
    Obj o = lower_expr(l, e->left);
    if (kind == OBJ_TUPLE) o = host_elements(l, o, e->span);
    if (o.kind != kind && !obj_is_poison(o))
        o = fail(l, E_STAR_ARGUMENTS, e->span, "'**' needs a dict, not %s", obj_what(l, o));
    if (obj_is_poison(o)) return false;
    for (int i = 0; i < o.seq.n && out->n <= HOST_TUPLE_LIMIT; i++)
        vec_push(&l->s->arena, out, o.seq.at[i]);
    return true;
}

/* A later value of a key takes the place of the earlier one. */
static Obj unique_keys(Lower *l, const Objs *pairs, Span span) {
    Objs out = {0};
    for (int i = 0; i + 1 < pairs->n; i += 2) {
        int k = 0;
        while (k < out.n && !obj_equal(out.at[k], pairs->at[i])) k += 2;
        if (!count_work(l, 1 + k / 8, span)) return poison();
        if (k == out.n) {
            vec_push(&l->s->arena, &out, pairs->at[i]);
            vec_push(&l->s->arena, &out, pairs->at[i + 1]);
        }
        out.at[k + 1] = pairs->at[i + 1];
    }
    Obj o = obj_tuple(l, out.at, out.n);
    o.kind = OBJ_DICT;
    return o;
}

/* The error that a dict or a set, e, stands in a kernel. */
static bool in_kernel(Lower *l, const Expr *e) {
    if (!l->b.f) return false;
    bool set = e->kind == EXPR_SET || e->is_set;
    fail(l, E_KERNEL_EXPRESSION, e->span, "a %s is not supported in a kernel",
         set ? "set" : "dict");
    note(l, (Span){0}, "write a name for each value, or a tuple: (x, y)");
    return true;
}

static Obj lower_items(Lower *l, const Expr *e) {
    Objs out = {0};
    bool is_dict = e->kind == EXPR_DICT;
    for (int i = 0; i < e->nitems; i++) {
        const Expr *item = e->item[i];
        if (item->kind == EXPR_STARRED) {
            if (!spread(l, item, is_dict ? OBJ_DICT : OBJ_TUPLE, &out)) return poison();
            i += is_dict; /* no value stands behind `**x` */
        } else {
            vec_push(&l->s->arena, &out, lower_expr(l, item));
        }
    }
    return checked(l, is_dict ? unique_keys(l, &out, e->span) : obj_tuple(l, out.at, out.n),
                   e->span);
}

static Obj lower_fstring(Lower *l, const Expr *e) {
    Buf b = buf_new(&l->s->arena);
    for (int i = 0; i < e->nitems; i++) {
        Obj o = lower_expr(l, e->item[i]);
        if (obj_is_poison(o)) return poison();
        if (!obj_is_const(o))
            return fail(l, E_COMPILE_TIME, e->item[i]->span,
                        "an f-string takes compile-time values, not %s", obj_what(l, o));
        if (e->item[i]->has_format && !l->b.f)
            return fail(l, E_HOST_STATEMENT, e->item[i]->span,
                        "a format in an f-string, {x:>8}, is not evaluated "
                        "outside kernels");
        buf_puts(&b, e->item[i]->is_repr ? obj_repr(l, o) : obj_text(l, o));
        if (b.len > STRING_LIMIT) break;
    }
    return checked(l, obj_string(l, b.data), e->span);
}

/* Whether x alone is what `x and …` or `x or …` gives: it is known while compiling, and decides. */
static bool decides(Operator op, Obj x) {
    return x.kind != OBJ_VALUE && obj_truth(x) != (op == OPR_LOGICAL_AND);
}

/* `and`, `or` of two sides of which the first decides nothing; tensors are int1. */
static Obj join_sides(Lower *l, Operator op, Obj x, Obj y, Span span) {
    if (obj_is_poison(x) || obj_is_poison(y)) return poison();
    if (x.kind != OBJ_VALUE || decides(op, y)) return y;
    if (is_outside(l, x, span)) return poison();
    return y.kind == OBJ_VALUE ? logical(l, op, x.value, y.value, span) : x;
}

static Obj lower_bool(Lower *l, const Expr *e) {
    Obj x = lower_expr(l, e->left);
    if (obj_is_poison(x) || is_foreign(l, x, e->left->span)) return poison();
    if (x.kind != OBJ_INSTANCE && decides(e->op, x)) return x;
    Obj y = lower_expr(l, e->right);
    if (is_foreign(l, y, e->right->span) || obj_is_poison(y)) return poison();
    if (x.kind == OBJ_INSTANCE || y.kind == OBJ_INSTANCE) {
        bool known_x = x.kind != OBJ_INSTANCE && x.kind != OBJ_VALUE;
        bool known_y = y.kind != OBJ_INSTANCE && y.kind != OBJ_VALUE;
        if (known_y) return decides(e->op, y) ? y : x;
        return known_x ? y : class_binary(l, e->op, x, y, e->op_span);
    }
    return join_sides(l, e->op, x, y, e->op_span);
}

/* `a < b < c` is `a < b and b < c`, with b evaluated once, and c not at all where the first is
 * known to be false. */
static Obj lower_compare(Lower *l, const Expr *e) {
    Obj x = lower_expr(l, e->left), all = obj_bool(true);
    if (e->nitems > 1 && l->b.f) newer(l, FEATURE_CHAIN, e->span);
    for (int i = 0; i < e->nitems && !obj_is_poison(all); i++) {
        Obj y = lower_expr(l, e->item[i]);
        Span span = e->nitems == 1 && e->op_span.line ? e->op_span : e->span;
        Obj one = compare(l, e->compare_op[i], x, y, span);
        if (decides(OPR_LOGICAL_AND, one) && !obj_is_poison(one)) return one;
        all = join_sides(l, OPR_LOGICAL_AND, all, one, span);
        x = y;
    }
    return all;
}

static Obj lower_ifexp(Lower *l, const Expr *e) {
    Obj c = lower_expr(l, e->cond);
    if (obj_is_poison(c) || is_no_condition(l, c, e->cond->span)) return poison();
    if (is_outside(l, c, e->cond->span)) return poison();
    if (c.kind == OBJ_VALUE) return lower_ternary(l, e, c);
    return lower_expr(l, obj_truth(c) ? e->left : e->right);
}

/* ---- subscripts ---- */

static Obj lower_slice(Lower *l, const Expr *e) {
    Obj part[3];
    const Expr *from[3] = {e->left, e->right, e->cond};
    for (int i = 0; i < 3; i++) part[i] = from[i] ? lower_expr(l, from[i]) : obj_none();
    Obj o = obj_tuple(l, part, 3);
    o.kind = OBJ_SLICE;
    return o;
}

static bool is_full_slice(Obj o) {
    if (o.kind != OBJ_SLICE) return false;
    for (int i = 0; i < 3; i++)
        if (o.seq.at[i].kind != OBJ_NONE) return false;
    return true;
}

/* x[:, None]: each None is a new dimension of size 1, each `:` keeps one. */
Obj index_value(Lower *l, Value *v, Obj index, Span span) {
    const Obj *at = index.kind == OBJ_TUPLE ? index.seq.at : &index;
    int n = index.kind == OBJ_TUPLE ? index.seq.n : 1, kept = 0;
    Type t = type_with_shape(v->type, (Type){0});
    for (int i = 0; i < n; i++) {
        bool is_new = at[i].kind == OBJ_NONE;
        if (!is_new && !is_full_slice(at[i])) {
            fail(l, E_INDEX, span,
                 "unsupported tensor index: elements of %s cannot be picked with [ ]",
                 type_user_text(&l->s->arena, v->type));
            note(l, (Span){0},
                 v->type.depth
                     ? "to read memory, write tl.load(pointer + offset)"
                     : "one element is tl.sum(tl.where(tl.arange(0, n) == i, x, 0)), or is "
                       "loaded by itself; ':' and None are allowed: x[:, None]");
            return poison();
        }
        if (!is_new && kept == v->type.rank) {
            differs(l, CHANGE_SUBSCRIPTS, span, "more ':' than dimensions are an error");
            if (!changed(l, CHANGE_SUBSCRIPTS) && i >= t.rank) continue;
        }
        if (t.rank == TILE_MAX_RANK || (!is_new && kept == v->type.rank) ||
            (i > t.rank && t.rank)) /* of a scalar, Triton adds the first wherever it stands */
            return fail(l, E_INDEX, span, "too many indices for %s",
                        type_user_text(&l->s->arena, v->type));
        t.log2[t.rank++] = is_new ? 0 : v->type.log2[kept++];
    }
    for (; kept < v->type.rank; kept++) {
        if (t.rank == TILE_MAX_RANK)
            return fail(l, E_RANK_LIMIT, span, "more than %d dimensions", TILE_MAX_RANK);
        t.log2[t.rank++] = v->type.log2[kept];
    }
    if (type_equal(t, v->type)) return obj_value(v);
    return obj_value(ir_given(&l->b, v->type.rank ? OP_RESHAPE : OP_SPLAT, v, t));
}

static int64_t clip(int64_t i, int64_t n, int64_t low, int64_t high) {
    if (i < 0) i += n;
    return i < low ? low : i > high ? high : i;
}

typedef struct Picks { /* of n elements: from, from + by, … before `end` */
    int64_t from, end, by;
} Picks;

static bool slice_picks(Lower *l, Obj slice, int64_t n, Span span, Picks *out) {
    for (int i = 0; i < 3; i++)
        if (slice.seq.at[i].kind != OBJ_NONE &&
            (slice.seq.at[i].kind != OBJ_INT || slice.seq.at[i].big))
            return fail(l, E_SLICE, span, "the bounds of a slice must be compile-time integers"),
                   false;
    Obj start = slice.seq.at[0], stop = slice.seq.at[1], step = slice.seq.at[2];
    int64_t by = step.kind == OBJ_NONE ? 1 : step.i;
    if (by == 0 || by > TUPLE_LIMIT || by < -TUPLE_LIMIT)
        return fail(l, E_SLICE, span, "a slice cannot have a step of %lld", (long long)by), false;
    int64_t low = by > 0 ? 0 : -1, high = by > 0 ? n : n - 1;
    out->from = start.kind == OBJ_NONE ? (by > 0 ? 0 : n - 1) : clip(start.i, n, low, high);
    out->end = stop.kind == OBJ_NONE ? (by > 0 ? n : -1) : clip(stop.i, n, low, high);
    out->by = by;
    return true;
}

static Obj slice_tuple(Lower *l, Obj o, Obj slice, Span span) {
    Picks p;
    VEC(Obj) picked = {0};
    if (!slice_picks(l, slice, o.seq.n, span, &p)) return poison();
    for (int64_t i = p.from; p.by > 0 ? i < p.end : i > p.end; i += p.by)
        vec_push(&l->s->arena, &picked, o.seq.at[i]);
    return obj_tuple(l, picked.at, picked.n);
}

/* Of text in ASCII, where a character is a byte. */
static Obj index_string(Lower *l, Obj o, Obj index, Span span) {
    int64_t n = (int64_t)o.text.n;
    for (int64_t i = 0; i < n; i++)
        if ((unsigned char)o.text.at[i] >= 0x80)
            return fail(l, E_INDEX, span, "only text in ASCII can be indexed");
    Picks p;
    if (index.kind == OBJ_INT) {
        p.from = !index.big && index.i < 0 ? index.i + n : index.i;
        if (index.big || p.from < 0 || p.from >= n)
            return fail(l, E_INDEX_RANGE, span, "index %s is outside a string of %lld",
                        obj_text(l, index), (long long)n);
        p.end = p.from + 1;
        p.by = 1;
    } else if (!slice_picks(l, index, n, span, &p)) {
        return poison();
    }
    Buf b = buf_new(&l->s->arena);
    buf_puts(&b, "");
    for (int64_t i = p.from; p.by > 0 ? i < p.end : i > p.end; i += p.by)
        buf_putc(&b, o.text.at[i]);
    return obj_string(l, b.data);
}

static Obj lower_subscript(Lower *l, const Expr *e) {
    Obj o = lower_expr(l, e->left), index = lower_expr(l, e->right);
    if (obj_is_poison(o) || obj_is_poison(index)) return poison();
    if (is_outside(l, o, e->span)) return poison();
    if (o.kind == OBJ_VALUE) return index_value(l, o.value, index, e->span);
    if (o.kind == OBJ_INSTANCE) {
        Obj method = attribute(l, o, intern(&l->s->names, "__getitem__", 11), e->span);
        return obj_is_poison(method) ? method : call_object(l, method, &index, 1, e->span);
    }
    if (o.kind == OBJ_STRING && (index.kind == OBJ_INT || index.kind == OBJ_SLICE))
        return index_string(l, o, index, e->span);
    if (o.kind == OBJ_TUPLE && index.kind == OBJ_SLICE) return slice_tuple(l, o, index, e->span);
    if (o.kind == OBJ_TUPLE && index.kind == OBJ_INT) {
        int64_t i = !index.big && index.i < 0 ? index.i + o.seq.n : index.i;
        if (!index.big && i >= 0 && i < o.seq.n) return o.seq.at[i];
        return fail(l, E_INDEX_RANGE, e->span, "index %s is outside a tuple of %d",
                    obj_text(l, index), o.seq.n);
    }
    if (o.kind == OBJ_FOREIGN && strcmp(o.path, "os.environ") == 0) {
        Obj given;
        if (host_environ(l, index, &given)) return given;
        const char *name = obj_text(l, index);
        return fail(l, E_ENVIRONMENT, e->span,
                    "environment variable '%s' has no default here; -D %s=VALUE gives it one", name,
                    name);
    }
    if (o.kind == OBJ_ARGS && index.kind == OBJ_STRING)
        return kernel_argument(l, index.text.at, e->span);
    if (o.kind == OBJ_DICT) {
        int place = dict_place(o, index);
        if (place >= 0) return o.seq.at[place + 1];
        return fail(l, E_INDEX_RANGE, e->span, "the dict has no key %s", obj_what(l, index));
    }
    if (obj_is_number(o)) {
        Value *v = to_value(l, o, e->span);
        return v ? index_value(l, v, index, e->span) : poison();
    }
    return fail(l, E_INDEX, e->span, "%s cannot be indexed with %s", obj_what(l, o),
                obj_what(l, index));
}

/* ---- comprehensions ---- */

/* Whether all the conditions of one clause hold; false in *ok after an error. */
static bool selected(Lower *l, const Expr *e, bool *ok) {
    if (e->nitems && l->b.f)
        differs(l, CHANGE_COMPREHENSION, e->item[0]->span,
                "the 'if' of a comprehension chooses, as it does here; it was left out");
    for (int i = 0; i < e->nitems && *ok; i++) {
        Obj keep = lower_expr(l, e->item[i]);
        if (keep.kind == OBJ_VALUE)
            keep = fail(l, E_COMPILE_TIME, e->item[i]->span,
                        "this condition must be known while compiling");
        *ok = !obj_is_poison(keep) && !is_foreign(l, keep, e->item[i]->span);
        if (*ok && !obj_truth(keep)) return false;
    }
    return *ok;
}

/* One clause, `for … in … if …`: a later clause is its item, and adds to the same list. */
static bool comprehend(Lower *l, const Expr *e, Objs *made, int *weight) {
    Obj over = lower_expr(l, e->cond);
    over = e->is_set ? unordered_elements(l, over, e->cond->span)
                     : host_elements(l, over, e->cond->span);
    if (e->right->kind != EXPR_NAME && l->b.f)
        newer(l, FEATURE_COMPREHENSION_TARGET, e->right->span);
    bool ok = !obj_is_poison(over) && enter(l, e->span);
    if (!ok) return false;
    /* Beyond the limit all clauses end: checked() will say so. */
    for (int i = 0; ok && i < over.seq.n && *weight <= HOST_TUPLE_LIMIT; i++) {
        ok = count_step(l, e->span);
        assign(l, e->right, over.seq.at[i]);
        if (!ok || !selected(l, e, &ok)) continue;
        if (e->left->kind == EXPR_LISTCOMP && e->left->is_inner_for) {
            ok = comprehend(l, e->left, made, weight);
            continue;
        }
        Obj item = lower_expr(l, e->left);
        ok = !obj_is_poison(item);
        vec_push(&l->s->arena, made, item);
        *weight += 1 + item.weight;
    }
    leave(l);
    return ok;
}

static Obj comprehended_dict(Lower *l, const Objs *made, Span span) {
    Objs pairs = {0};
    for (int i = 0; i < made->n; i++)
        for (int k = 0; k < 2; k++) vec_push(&l->s->arena, &pairs, made->at[i].seq.at[k]);
    return checked(l, unique_keys(l, &pairs, span), span);
}

static Obj lower_comprehension(Lower *l, const Expr *e) {
    if ((e->is_set || e->is_dict) && in_kernel(l, e)) return poison();
    Scope outer = copy_scope(l, &l->frame->scope);
    Objs made = {0};
    int weight = 1;
    bool ok = comprehend(l, e, &made, &weight);
    Scope inner = l->frame->scope;
    l->frame->scope = outer;
    Names named = assigned_names(l, (StmtList){0}, e); /* by :=, and these stay */
    for (int i = 0; i < named.n; i++) {
        const Binding *b = find_binding(&inner, named.at[i]);
        if (b) bind_name(l, named.at[i], b->obj, b->span);
    }
    if (!ok) return poison();
    if (e->is_dict) return comprehended_dict(l, &made, e->span);
    Obj o = checked(l, obj_tuple(l, made.at, made.n), e->span);
    return e->is_set && o.kind == OBJ_TUPLE ? host_set(l, o) : o;
}

/* ---- all of them ---- */

static Obj lower_kind(Lower *l, const Expr *e) {
    switch (e->kind) {
    case EXPR_NAME: return lookup_name(l, e->name, e->span);
    case EXPR_INT: {
        Obj o = obj_int(e->integer);
        o.big = e->integer_is_u64;
        return o;
    }
    case EXPR_FLOAT: return obj_float(e->number);
    case EXPR_STRING: {
        Obj o = {.kind = OBJ_STRING};
        o.text.at = arena_strndup(&l->s->arena, e->string, e->string_len);
        o.text.n = strlen(o.text.at);
        return o;
    }
    case EXPR_FSTRING: return lower_fstring(l, e);
    case EXPR_TRUE: return obj_bool(true);
    case EXPR_FALSE: return obj_bool(false);
    case EXPR_NONE: return obj_none();
    case EXPR_ELLIPSIS:
        return fail(l, E_KERNEL_EXPRESSION, e->span, "'...' is not supported in a kernel");
    case EXPR_TUPLE:
    case EXPR_LIST: return lower_items(l, e);
    case EXPR_DICT: return in_kernel(l, e) ? poison() : lower_items(l, e);
    case EXPR_SET: {
        if (in_kernel(l, e)) return poison();
        Obj o = lower_items(l, e);
        return o.kind == OBJ_TUPLE ? host_set(l, o) : o;
    }
    case EXPR_UNARY: return unary(l, e->op, lower_expr(l, e->left), e->span);
    case EXPR_BINARY: {
        Obj x = lower_expr(l, e->left), y = lower_expr(l, e->right);
        return binary(l, e->op, x, y, e->op_span.line ? e->op_span : e->span);
    }
    case EXPR_BOOL: return lower_bool(l, e);
    case EXPR_COMPARE: return lower_compare(l, e);
    case EXPR_TERNARY: return lower_ifexp(l, e);
    case EXPR_CALL: return lower_call(l, e);
    case EXPR_ATTRIBUTE:
        return attribute(l, lower_expr(l, e->left), e->name,
                         e->op_span.line ? e->op_span : e->span);
    case EXPR_SUBSCRIPT: return lower_subscript(l, e);
    case EXPR_SLICE: return lower_slice(l, e);
    case EXPR_STARRED:
        return fail(l, E_STAR_ARGUMENTS, e->span,
                    "'*' is only supported in the arguments of a call");
    case EXPR_LAMBDA: return make_lambda(l, e);
    case EXPR_LISTCOMP: return lower_comprehension(l, e);
    case EXPR_WALRUS:
        if (l->b.f) newer(l, FEATURE_WALRUS, e->span);
        return assign_decayed(l, e->name, lower_expr(l, e->left), e->span);
    }
    return poison();
}

/* A call's result shows at its callee's name. */
static void see_expr(Lower *l, const Expr *e, Obj o) {
    switch (e->kind) {
    case EXPR_NAME: see(l, e->span, e->name, o); break;
    case EXPR_ATTRIBUTE:
        if (e->op_span.line) see(l, e->op_span, e->name, o);
        break;
    case EXPR_CALL:
        if (e->left->kind == EXPR_NAME) see(l, e->left->span, e->left->name, o);
        if (e->left->kind == EXPR_ATTRIBUTE && e->left->op_span.line)
            see(l, e->left->op_span, e->left->name, o);
        break;
    case EXPR_BINARY:
    case EXPR_COMPARE:
    case EXPR_BOOL:
        if (e->op_span.line) see(l, e->op_span, NULL, o);
        break;
    default: break;
    }
}

Obj lower_expr(Lower *l, const Expr *e) {
    if (!enter(l, e->span)) return poison();
    Span outer = l->b.span;
    l->b.span = e->span;
    Obj o = lower_kind(l, e);
    if (l->options->symbols) see_expr(l, e, o);
    l->b.span = outer;
    leave(l);
    /* Whoever gets a tuple or a string may look through all of it. */
    int64_t size = o.kind == OBJ_STRING ? (int64_t)o.text.n / 16 : o.weight / 4;
    return count_work(l, 1 + size, e->span) ? o : poison();
}
