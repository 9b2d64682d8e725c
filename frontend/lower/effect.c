/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* effect.c: builtins that are there for what they do or promise, not for a value: printing,
 * assertions, barriers, inline assembly, and hints to axis analysis. */
#include "frontend/lower/internal.h"

#include <string.h>

/* ---- promises ---- */

/* data: the attribute. Counts that are no powers of two promise the largest power in them. */
Obj bi_hint(Lower *l, const Args *a, int64_t data) {
    Dims values;
    int log2[TILE_MAX_RANK];
    if (!arg_dims(l, a, 1, &values)) return poison();
    Obj o = a->at[0];
    if (obj_is_number(o)) return o;
    Value *x = arg_value(l, a, 0);
    if (!x) return poison();
    int n = x->type.rank ? x->type.rank : 1;
    if (values.n != n)
        return fail(l, E_HINT, a->where[1], "%s: %s has %d dimensions, not %d",
                    builtin_text(l, a->row), obj_what(l, o), x->type.rank, values.n);
    bool says_any = false;
    for (int i = 0; i < n; i++) {
        if (values.at[i] < 1) return arg_error(l, a, 1, "made of positive numbers");
        log2[i] = 0;
        while (log2[i] < 30 && !(values.at[i] >> log2[i] & 1)) log2[i]++;
        says_any = says_any || log2[i];
    }
    if (!says_any || (!x->type.depth && type_is_float(x->type))) return o;
    Value *r = ir_unary(&l->b, OP_HINT, x);
    ir_set_dims(l->s, r->def, (AttrId)data, log2, n);
    return obj_value(r);
}

Value *unhinted(Value *v) {
    while (op_is(v, OP_HINT)) v = v->def->operand[0].value;
    return v;
}

void keep_promise(Lower *l, Obj o) {
    if (o.kind != OBJ_VALUE || !op_is(o.value, OP_HINT)) return;
    for (int i = 0; i < l->frame->scope.n; i++) {
        Obj *named = &l->frame->scope.at[i].obj;
        for (Value *v = o.value; named->kind == OBJ_VALUE && op_is(v, OP_HINT);) {
            v = v->def->operand[0].value;
            if (named->value == v) named->value = o.value;
        }
    }
}

Obj bi_assume(Lower *l, const Args *a, int64_t data) {
    (void)data;
    Obj o = a->at[0];
    if (o.kind == OBJ_VALUE) {
        if (!type_is_bool(o.value->type)) return arg_error(l, a, 0, "a condition");
        ir_op(&l->b, OP_ASSUME, &o.value, 1, NULL, 0, 0);
        return obj_none();
    }
    if (!obj_is_const(o)) return arg_error(l, a, 0, "a condition");
    return obj_truth(o) ? obj_none()
                        : fail(l, E_ASSUME_FALSE, a->where[0], "tl.assume: this is never true");
}

/* ---- printing and checking ---- */

/* A prefix or message: text that can go through to a device, which is printable ASCII. */
static bool arg_message(Lower *l, const Args *a, int i, const char **out) {
    if (!arg_text(l, a, i, out)) return false;
    for (const char *c = *out; *c; c++)
        if ((*c < ' ' && *c != '\n' && *c != '\t') || *c > '~') {
            arg_error(l, a, i, "plain ASCII text");
            return false;
        }
    return true;
}

Obj bi_device_print(Lower *l, const Args *a, int64_t data) {
    (void)data;
    enum { MOST_VALUES = 31 }; /* vprintf on the device takes 32 arguments */
    const char *prefix;
    bool hex;
    if (a->at[0].kind != OBJ_STRING) return arg_error(l, a, 0, "a string, the prefix");
    if (!arg_message(l, a, 0, &prefix) || !arg_bool(l, a, 2, &hex)) return poison();
    Obj values = a->at[1];
    Value *operand[MOST_VALUES];
    if (values.seq.n > MOST_VALUES)
        return fail(l, E_ARGUMENT_LIMIT, a->span, "%s prints at most %d values",
                    builtin_text(l, a->row), MOST_VALUES);
    for (int i = 0; i < values.seq.n; i++) {
        Obj o = values.seq.at[i];
        if (o.kind != OBJ_VALUE && !obj_is_number(o))
            return fail(l, E_ARGUMENT_KIND, a->where[1],
                        "%s prints tensors and numbers behind its prefix, not %s",
                        builtin_text(l, a->row), obj_what(l, o));
        operand[i] = to_value(l, o, a->where[1]);
        if (!operand[i]) return poison();
    }
    Op *op = ir_op(&l->b, OP_PRINT, operand, values.seq.n, NULL, 0, 0);
    ir_set_text(l->s, op, AT_TEXT, prefix);
    if (hex) ir_set_attr(l->s, op, AT_HEX, 1);
    return obj_none();
}

bool emit_assert(Lower *l, Obj condition, Obj mask, const char *text, Span span) {
    if (obj_is_const(condition) && obj_truth(condition)) return true;
    Value *c = to_value(l, condition, span);
    if (!c || (!type_is_int(c->type) && !type_is_float(c->type))) {
        if (c)
            fail(l, E_CONDITION, span, "an assertion takes a condition, not %s",
                 obj_what(l, condition));
        return false;
    }
    c = cast_value(l, c, type_scalar(EL_I1), false, span);
    if (mask.kind != OBJ_NONE) {
        Value *m = to_value(l, mask, span);
        m = m ? cast_value(l, m, type_scalar(EL_I1), false, span) : NULL;
        if (!m || !broadcast_pair(l, &c, &m, span)) return false;
        Value *off = ir_binary(&l->b, OP_XOR, m, ir_const_int(&l->b, m->type, -1));
        c = ir_binary(&l->b, OP_OR, c, off);
    }
    Op *op = ir_op(&l->b, OP_ASSERT, &c, 1, NULL, 0, 0);
    ir_set_text(l->s, op, AT_TEXT, text);
    return true;
}

Obj bi_device_assert(Lower *l, const Args *a, int64_t data) {
    (void)data;
    const char *text;
    if (!arg_message(l, a, 1, &text)) return poison();
    return emit_assert(l, a->at[0], a->at[2], text, a->span) ? obj_none() : poison();
}

/* Not in the library, nor in functions that combine elements: those may wrap. */
void check_overflow(Lower *l, Operator op, Value *x, Value *y, Span span) {
    Type t = type_element(x->type), wide = type_scalar(EL_I64);
    int bits = type_elem_bits(t);
    OpCode code = op == OPR_ADD ? OP_ADD : op == OPR_SUB ? OP_SUB : OP_MUL;
    if (!l->checks_overflow || l->unchecked || l->library_call.line || !type_is_int(t) ||
        bits >= 64 || (op != OPR_ADD && op != OPR_SUB && op != OPR_MUL))
        return;
    int64_t most = ((int64_t)1 << (bits - type_is_signed(t))) - 1;
    x = cast_value(l, x, wide, false, span), y = cast_value(l, y, wide, false, span);
    Value *r = ir_binary(&l->b, code, x, y);
    Value *low = ir_const_int(&l->b, r->type, type_is_signed(t) ? -most - 1 : 0);
    Value *fits = ir_binary(&l->b, OP_AND, ir_cmp(&l->b, PRED_GE, r, low),
                            ir_cmp(&l->b, PRED_LE, r, ir_const_int(&l->b, r->type, most)));
    emit_assert(l, obj_value(fits), obj_none(),
                arena_printf(&l->s->arena, "int%d overflow detected for operation %s", bits,
                             op_info[code].text),
                span);
}

/* x, which the writer says is 0 where the mask holds. */
Obj bi_expect_zero(Lower *l, const Args *a, int64_t data) {
    (void)data;
    Value *mask = arg_value(l, a, 1);
    Obj zero = mask ? compare(l, OPR_EQ, a->at[0], obj_int(0), a->span) : poison();
    if (obj_is_poison(zero)) return zero;
    const char *text = "expect_zero expected x == 0 where mask is true";
    return emit_assert(l, zero, obj_value(mask), text, a->span) ? a->at[0] : poison();
}

Obj bi_barrier(Lower *l, const Args *a, int64_t data) {
    (void)a, (void)data;
    ir_op(&l->b, OP_BARRIER, NULL, 0, NULL, 0, 0);
    return obj_none();
}

/* ---- inline assembly ---- */

enum { ASM_VALUES = 32 };

static Op *emit_asm(Lower *l, const char *text, const char *constraints, bool pure, int64_t pack,
                    Value *const *operand, int n, const Type *results, int nresults) {
    Op *op = ir_op(&l->b, OP_INLINE_ASM, operand, n, results, nresults, 0);
    ir_set_text(l->s, op, AT_TEXT, text);
    ir_set_text(l->s, op, AT_CONSTRAINTS, constraints);
    if (pure) ir_set_attr(l->s, op, AT_PURE, 1);
    if (pack != 1) ir_set_attr(l->s, op, AT_PACK, pack);
    return op;
}

/* All operands in one shape. */
static bool asm_operands(Lower *l, const Args *a, Value **operand, int *n) {
    Obj all = a->at[2], one = obj_tuple(l, &all, 1);
    if (all.kind != OBJ_TUPLE) all = one;
    *n = all.seq.n;
    if (*n > ASM_VALUES) {
        fail(l, E_ARGUMENT_LIMIT, a->where[2], "%s takes at most %d values",
             builtin_text(l, a->row), ASM_VALUES);
        return false;
    }
    for (int i = 0; i < *n; i++)
        if (!(operand[i] = to_value(l, all.seq.at[i], a->where[2]))) return false;
    for (int i = 1; i < *n; i++) /* the first grows to the shape of all … */
        if (!broadcast_pair(l, &operand[0], &operand[i], a->span)) return false;
    for (int i = 1; i < *n; i++) /* … and the others follow */
        if (!(operand[i] = broadcast_value(l, operand[i], operand[0]->type, a->span))) return false;
    return true;
}

/* Constraints without the blanks and line breaks that writers put between them. */
static const char *without_blanks(Lower *l, const char *text) {
    Buf b = buf_new(&l->s->arena);
    for (; *text; text++)
        if (!strchr(" \t\r\n", *text)) buf_putc(&b, *text);
    return b.len ? b.data : "";
}

Obj bi_inline_asm(Lower *l, const Args *a, int64_t data) {
    (void)data;
    const char *text, *constraints;
    Value *operand[ASM_VALUES];
    Type results[ASM_VALUES];
    bool pure;
    int64_t pack;
    int n;
    if (!arg_text(l, a, 0, &text) || !arg_text(l, a, 1, &constraints) ||
        !asm_operands(l, a, operand, &n) || !arg_bool(l, a, 4, &pure) || !arg_int(l, a, 5, &pack))
        return poison();
    Obj types = a->at[3], one = obj_tuple(l, &types, 1);
    bool several = types.kind == OBJ_TUPLE;
    if (!several) types = one;
    if (!types.seq.n || types.seq.n > ASM_VALUES) return arg_error(l, a, 3, "one or more dtypes");
    Type shape = n ? operand[0]->type : (Type){0};
    for (int i = 0; i < types.seq.n; i++) {
        if (types.seq.at[i].kind != OBJ_DTYPE) return arg_error(l, a, 3, "one or more dtypes");
        if (!type_is_known(l, *types.seq.at[i].type, a->where[3])) return poison();
        results[i] = type_with_shape(type_element(*types.seq.at[i].type), shape);
    }
    if (pack < 1 || (pack & (pack - 1)) || pack > type_numel(shape))
        return arg_error(l, a, 5, "a power of two, at most the number of elements");
    Op *op = emit_asm(l, text, without_blanks(l, constraints), pure, pack, operand, n, results,
                      types.seq.n);
    if (!several) return obj_value(op->result[0]);
    Obj *made = arena_array(&l->s->arena, (size_t)op->nresults, sizeof *made);
    for (int i = 0; i < op->nresults; i++) made[i] = obj_value(op->result[i]);
    return obj_tuple(l, made, op->nresults);
}

/* ---- tl.extra.cuda ---- */

static const struct {
    const char *text, *constraints;
    uint8_t elem;
    bool pure;
} special[] = {
    {"mov.u64 $0, %globaltimer;", "=l", EL_I64, false},
    {"mov.u32 $0, %smid;", "=r", EL_I32, true},
};

Obj bi_special_register(Lower *l, const Args *a, int64_t data) {
    (void)a;
    Type t = type_scalar((Elem)special[data].elem);
    Op *op = emit_asm(l, special[data].text, special[data].constraints, special[data].pure, 1, NULL,
                      0, &t, 1);
    return obj_value(op->result[0]);
}

/* The grids before and behind this one, where a launch lets them overlap. */
Obj bi_grid(Lower *l, const Args *a, int64_t data) {
    (void)a;
    ir_op(&l->b, (OpCode)data, NULL, 0, NULL, 0, 0);
    return obj_none();
}

/* data: threads in each of what is counted. */
Obj bi_num_warps(Lower *l, const Args *a, int64_t data) {
    (void)a;
    return obj_int(l->b.f->num_warps * data);
}
