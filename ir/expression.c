/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* expression.c: an integer of a kernel -> text that a launch evaluates (see expression.h). */
#include "ir/expression.h"

#include <string.h>

enum { MOST_DEPTH = 16, MOST_TEXT = 2048 };

static const char *sign_of(const Op *op, Quotients q) {
    int64_t by;
    switch (op->code) {
    case OP_ADD: return "+";
    case OP_SUB: return "-";
    case OP_MUL: return "*";
    case OP_DIV:
        if (q == WITH_DIVISORS) return "//";
        return q && ir_int_constant(op->operand[1].value, &by) && by > 0 ? "//" : NULL;
    case OP_REM: return q == WITH_DIVISORS ? "%" : NULL;
    default: return NULL;
    }
}

static bool put(const Value *v, int depth, Quotients q, Buf *out) {
    int64_t number;
    const Op *op = v->def;
    if (depth > MOST_DEPTH || out->len > MOST_TEXT) return false;
    if (ir_int_constant(v, &number)) {
        buf_printf(out, number < 0 ? "(0 - %lld)" : "%lld",
                   (long long)(number < 0 ? -number : number));
        return number > INT32_MIN;
    }
    if (!op) {
        if (v->block->parent || !v->name || strchr(v->name, ',')) return false;
        buf_puts(out, v->name);
        return true;
    }
    if (op->code == OP_HINT || op->code == OP_LAUNCH_NUMBER)
        return put(op->operand[0].value, depth + 1, q, out);
    if (op->code == OP_CAST && type_is_int(op->operand[0].value->type) &&
        type_elem_bytes(v->type) >= type_elem_bytes(op->operand[0].value->type))
        return put(op->operand[0].value, depth + 1, q, out);
    if (op->code == OP_NEG) {
        buf_puts(out, "(0 - ");
        bool known = put(op->operand[0].value, depth + 1, q, out);
        buf_putc(out, ')');
        return known;
    }
    const char *sign = sign_of(op, q);
    if (!sign) return false;
    buf_putc(out, '(');
    if (!put(op->operand[0].value, depth + 1, q, out)) return false;
    buf_printf(out, " %s ", sign);
    if (!put(op->operand[1].value, depth + 1, q, out)) return false;
    buf_putc(out, ')');
    return true;
}

bool ir_expression(const Value *v, Quotients q, Buf *out) {
    return put(v, 0, q, out);
}

bool ir_ask(Func *f, const char *condition) {
    enum { MOST = sizeof f->conditions / sizeof *f->conditions };
    int i = 0;
    while (i < MOST && f->conditions[i] && strcmp(f->conditions[i], condition)) i++;
    if (i == MOST) return false;
    f->conditions[i] = condition;
    return true;
}

bool ir_ask_of(Session *s, Func *f, const Value *v, const char *form) {
    Buf text = buf_new(&s->arena);
    if (!ir_expression(v, WITH_DIVISORS, &text)) return false;
    return ir_ask(f, arena_printf(&s->arena, form, text.data));
}

/* last: of v itself nothing is asked; divided: v is. */
static bool ask_steps(Session *s, Func *f, const Value *v, bool last, bool divided, int depth) {
    const Op *op = v->def;
    int64_t number;
    if (ir_int_constant(v, &number)) return !divided || number >= 0;
    if (depth > MOST_DEPTH) return false;
    if (!op) return !divided || ir_ask_of(s, f, v, "%s >= 0");
    const Value *x = op->operand[0].value;
    if (op->code == OP_HINT || op->code == OP_CAST)
        return ask_steps(s, f, x, last, divided, depth + 1);
    const Value *y = ir_operand(op, 1);
    bool divides = op->code == OP_DIV;
    if (!y || !ask_steps(s, f, x, false, divides, depth + 1)) return false;
    if (divides && ir_int_constant(y, &number)) return number > 0;
    if (!ask_steps(s, f, y, false, false, depth + 1)) return false;
    if (divides) return ir_ask_of(s, f, y, "%s > 0");
    return last || (ir_ask_of(s, f, v, "%s >= 0") && ir_ask_of(s, f, v, "%s <= 2147483647"));
}

bool ir_ask_exact(Session *s, Func *f, const Value *v) {
    return ask_steps(s, f, v, false, false, 0);
}

bool ir_ask_steps(Session *s, Func *f, const Value *v) {
    return ask_steps(s, f, v, true, false, 0);
}
