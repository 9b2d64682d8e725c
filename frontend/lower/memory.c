/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* memory.c: builtins that touch memory or the grid: load, store, program_id.
 *
 * The argument 0 of an access is a pointer, a tile of pointers, or a block pointer, of which
 * descriptor.c knows. */
#include "frontend/lower/internal.h"

#include <string.h>

static const char *user(Lower *l, Type t) {
    return type_user_text(&l->s->arena, t);
}

Obj bi_program(Lower *l, const Args *a, int64_t data) {
    int64_t axis;
    if (!arg_int(l, a, 0, &axis)) return poison();
    if (axis < 0 || axis > 2)
        return fail(l, E_AXIS, a->where[0], "%s axis must be 0, 1, or 2 but got %lld", a->row->name,
                    (long long)axis);
    Type t = type_scalar(EL_I32);
    Op *op = ir_op(&l->b, (OpCode)data, NULL, 0, &t, 1, 0);
    ir_set_attr(l->s, op, AT_AXIS, axis);
    return obj_value(op->result[0]);
}

/* One of a few words, as the value of an enum; "" is 0. */
bool arg_word(Lower *l, const Args *a, int i, const char *const *words, int64_t *out) {
    const char *text;
    if (!arg_text(l, a, i, &text)) return false;
    Buf b = buf_new(&l->s->arena);
    for (*out = 0; words[*out]; ++*out) {
        if (strcmp(words[*out], text) == 0) return true;
        if (*words[*out]) buf_printf(&b, "%s'%s'", b.len ? ", " : "one of ", words[*out]);
    }
    arg_error(l, a, i, b.data);
    return false;
}

/* How an access treats caches: arguments i and i + 1. */
typedef struct CachePolicy {
    int64_t cache, evict;
} CachePolicy;

static bool arg_policy(Lower *l, const Args *a, int i, bool load, CachePolicy *out) {
    static const char *const evict_words[] = {"", "evict_first", "evict_last", "evict_normal",
                                              NULL};
    const char *text, *const *words = attr_words(AT_CACHE);
    if (!arg_text(l, a, i, &text) || !arg_word(l, a, i + 1, evict_words, &out->evict)) return false;
    const char *word = *text == '.' ? text + 1 : text;
    if (out->evict > EVICT_LAST) {
        newer(l, FEATURE_CACHE_WORD, a->where[i + 1]);
        out->evict = EVICT_NONE;
    }
    if (*text && (*text != '.' || (load && strcmp(word, "cs") == 0)))
        newer(l, FEATURE_CACHE_WORD, a->where[i]);
    out->cache = CACHE_NONE;
    if (!*text) return true;
    for (int k = 1; words[k]; k++)
        if (strcmp(words[k], word) == 0) out->cache = k;
    bool fits = load ? out->cache < CACHE_WB : out->cache != CACHE_CA && out->cache != CACHE_CV;
    if (out->cache != CACHE_NONE && fits) return true;
    arg_error(l, a, i,
              load ? "one of '.ca', '.cg', '.cs', '.cv'" : "one of '.wb', '.cg', '.cs', '.wt'");
    return false;
}

static void set_policy(Lower *l, Op *op, CachePolicy p) {
    if (p.cache) ir_set_attr(l->s, op, AT_CACHE, p.cache);
    if (p.evict) ir_set_attr(l->s, op, AT_EVICT, p.evict);
}

Value *pointer_arg(Lower *l, const Args *a) {
    Value *p = arg_value(l, a, 0);
    if (p && !p->type.depth) {
        fail(l, E_POINTER_NEEDED, a->where[0], "%s needs a pointer, not %s",
             builtin_text(l, a->row), user(l, p->type));
        return NULL;
    }
    return p;
}

bool may_write(Lower *l, const Args *a, Type p) {
    if (!p.constant) return true;
    fail(l, E_CONSTANT_POINTER, a->where[0], "%s: Cannot store to a constant pointer, %s",
         builtin_text(l, a->row), user(l, type_element(p)));
    note(l, (Span){0},
         "its parameter is tl.const, or *k… in the signature: without that it is written");
    return false;
}

/* Arguments of block pointers, which plain pointers do not take. */
static bool no_boundary(Lower *l, const Args *a, int i) {
    if (a->at[i].kind == OBJ_NONE || !obj_truth(a->at[i])) return true;
    fail(l, E_BLOCK_POINTER, a->where[i], "%s: '%s' is for block pointers", builtin_text(l, a->row),
         arg_name(l, a, i));
    return false;
}

/* A scalar pointer takes scalars only. False after an error; *mask NULL: None. */
static bool arg_mask(Lower *l, const Args *a, int i, const Value *p, Value **mask) {
    *mask = NULL;
    if (a->at[i].kind == OBJ_NONE) return true;
    Value *m = arg_value(l, a, i);
    if (!m) return false;
    if (!type_is_bool(m->type)) {
        fail(l, E_MASK, a->where[i], "%s: the mask must be int1, not %s", builtin_text(l, a->row),
             user(l, m->type));
        note(l, (Span){0}, "a mask comes from a comparison: mask=offsets < n");
        return false;
    }
    if (!p->type.rank && m->type.rank) {
        fail(l, E_MASK, a->where[i], "%s: the pointer is a scalar, the mask is %s",
             builtin_text(l, a->row), user(l, m->type));
        return false;
    }
    *mask = m;
    return true;
}

bool fit_mask(Lower *l, const Args *a, int i, Value **p, Value **mask) {
    return arg_mask(l, a, i, *p, mask) && (!*mask || broadcast_pair(l, p, mask, a->where[i]));
}

/* What would be written to one place several times is refused. */
bool fit_write_mask(Lower *l, const Args *a, int i, Value *p, Value **mask) {
    Value *wide = p;
    if (!may_write(l, a, p->type) || !arg_mask(l, a, i, p, mask)) return false;
    if (!*mask) return true;
    if (!broadcast_pair(l, &wide, mask, a->where[i])) return false;
    if (type_same_shape(wide->type, p->type)) return true;
    fail(l, E_MASK, a->where[0],
         "%s: the mask is %s: expected pointer argument to have this shape, not %s",
         builtin_text(l, a->row), user(l, (*mask)->type), user(l, p->type));
    return false;
}

Value *fit_value(Lower *l, const Args *a, int i, Type p) {
    Type elem = type_element(type_pointee(p));
    Obj o = a->at[i];
    /* A number is a tensor of its own type here and then cast: integers wrap, floats round twice.
     */
    if (o.kind == OBJ_FLOAT && type_is_float(elem)) {
        o = positive_zero(l, o, a->where[i]);
        if (obj_type(o).elem == EL_F32) o.f = (double)(float)o.f;
        return ir_const_float(&l->b, type_pointee(p), o.f);
    }
    if (obj_is_number(o) && o.kind != OBJ_FLOAT && !elem.depth)
        return ir_const_int(&l->b, type_pointee(p), type_is_bool(elem) ? o.i != 0 : o.i);
    Value *v = arg_value(l, a, i);
    if (!v) return NULL;
    if (!p.rank && v->type.rank) {
        fail(l, E_SCALAR_POINTER, a->where[i], "%s: the pointer is a scalar, '%s' is %s",
             builtin_text(l, a->row), arg_name(l, a, i), user(l, v->type));
        return NULL;
    }
    Value *x = broadcast_value(l, v, p, a->where[i]);
    return x ? cast_value(l, x, elem, false, a->where[i]) : NULL;
}

/* Block pointers say themselves what may be read. */
static bool no_mask(Lower *l, const Args *a, int i) {
    if (a->at[i].kind == OBJ_NONE) return true;
    fail(l, E_BLOCK_POINTER, a->where[i], "%s: '%s' is not for block pointers",
         builtin_text(l, a->row), arg_name(l, a, i));
    note(l, (Span){0}, "name the dimensions to check: boundary_check=(0, 1)");
    return false;
}

/* Whether a load through a block pointer gives NaN outside. Without padding_option that is
 * undefined in Triton, and zeros here: kernels count on it. */
static bool block_padding(Lower *l, const Args *a, Type value, bool *nan) {
    static const char *const words[] = {"", "zero", "nan", NULL};
    int64_t padding;
    if (!arg_word(l, a, 4, words, &padding)) return false;
    if (padding == 2 && !type_is_float(value)) {
        fail(l, E_NAN_PADDING, a->where[4], "tl.load: padding with NaN needs floats, not %s",
             user(l, value));
        return false;
    }
    *nan = padding == 2;
    return true;
}

static Op *load_block(Lower *l, const Args *a) {
    bool nan;
    if (!no_mask(l, a, 1) || !no_mask(l, a, 2) || !block_pointer(l, a) ||
        !block_padding(l, a, type_pointee(descriptor_block(a->at[0])), &nan))
        return NULL;
    return block_pointer_access(l, a, 3, nan, NULL);
}

/* The operands of a load: pointer, mask, other. */
static bool load_operands(Lower *l, const Args *a, Value **operand) {
    Value *p = pointer_arg(l, a), *mask;
    if (!p || !fit_mask(l, a, 1, &p, &mask) || !no_boundary(l, a, 3) || !no_boundary(l, a, 4))
        return false;
    operand[0] = p;
    operand[1] = mask;
    if (a->at[2].kind == OBJ_NONE) return true;
    if (!mask) {
        fail(l, E_OTHER_WITHOUT_MASK, a->where[2], "tl.load: 'other' needs a mask");
        return false;
    }
    return (operand[2] = fit_value(l, a, 2, p->type)) != NULL;
}

static Op *load(Lower *l, Value *const *operand) {
    return ir_op1(&l->b, OP_LOAD, operand, operand[2] ? 3 : operand[1] ? 2 : 1)->def;
}

/* Behind the first arguments Triton 3.9 wants names. A block pointer, which it does not have, keeps
 * the places of versions that do. */
static bool named_rest(Lower *l, const Args *a, int most) {
    if (a->npositional <= most || obj_is_descriptor(a->at[0])) return true;
    differs(l, CHANGE_POSITIONAL, a->where[most], "'%s' is given by name", arg_name(l, a, most));
    if (!changed(l, CHANGE_POSITIONAL)) return true;
    fail(l, E_BY_NAME, a->where[most], "%s: '%s' is given by name", builtin_text(l, a->row),
         arg_name(l, a, most));
    return false;
}

Obj bi_load(Lower *l, const Args *a, int64_t data) {
    (void)data;
    CachePolicy policy;
    bool is_volatile;
    Value *operand[3] = {0};
    bool block = obj_is_descriptor(a->at[0]);
    if (!named_rest(l, a, 3)) return poison();
    if ((!block && !load_operands(l, a, operand)) || !arg_policy(l, a, 5, true, &policy) ||
        !arg_bool(l, a, 7, &is_volatile))
        return poison();
    Op *op = block ? load_block(l, a) : load(l, operand);
    if (!op) return poison();
    set_policy(l, op, policy);
    if (is_volatile) ir_set_attr(l->s, op, AT_VOLATILE, 1);
    return obj_value(op->result[0]);
}

static Op *store_block(Lower *l, const Args *a) {
    if (!no_mask(l, a, 2) || !block_pointer(l, a) || !may_write(l, a, descriptor_block(a->at[0])))
        return NULL;
    Value *v = fit_value(l, a, 1, descriptor_block(a->at[0]));
    return v ? block_pointer_access(l, a, 3, false, v) : NULL;
}

/* What is stored through a pointer to int1 that is not int1: its low byte before Triton 3.9, since
 * then whether it is 0. Then the pointer is one to bytes. */
static Value *byte_pointer(Lower *l, const Args *a, Value *p) {
    Obj o = a->at[1];
    bool is_bit = type_is_bool(obj_is_number(o) || o.kind == OBJ_VALUE ? obj_type(o) : p->type) ||
                  (o.kind == OBJ_INT && !o.big && (o.i == 0 || o.i == 1));
    if (!type_is_bool(type_element(type_pointee(p->type))) || is_bit) return p;
    differs(l, CHANGE_BOOL_STORE, a->where[1],
            "%s is stored as 1 if it is not 0, and was as its lowest byte", obj_what(l, o));
    if (changed(l, CHANGE_BOOL_STORE)) return p;
    return bitcast_value(l, p, type_pointer_to(type_scalar(EL_I8)), a->span);
}

static Op *store(Lower *l, const Args *a) {
    Value *p = pointer_arg(l, a), *mask;
    p = p && may_write(l, a, p->type) ? byte_pointer(l, a, p) : NULL;
    if (!p || !fit_write_mask(l, a, 2, p, &mask) || !no_boundary(l, a, 3)) return NULL;
    Value *operand[] = {p, fit_value(l, a, 1, p->type), mask};
    return operand[1] ? ir_op(&l->b, OP_STORE, operand, mask ? 3 : 2, NULL, 0, 0) : NULL;
}

Obj bi_store(Lower *l, const Args *a, int64_t data) {
    (void)data;
    CachePolicy policy;
    bool block = obj_is_descriptor(a->at[0]);
    if (!named_rest(l, a, 3) || !arg_policy(l, a, 4, false, &policy)) return poison();
    Op *op = block ? store_block(l, a) : store(l, a);
    if (!op) return poison();
    set_policy(l, op, policy);
    return obj_none();
}
