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
