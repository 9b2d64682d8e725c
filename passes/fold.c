/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fold.c: the pass `fold`: constants and identities worked out, in one canonical form.
 *
 * In order, for each op: constant operands move to the right, all-constant ops are evaluated (by
 * the interpreter's own loops, ir/interp/eval.h), then the rows of fold.def, then what depends on
 * types and shapes (fold_cast.c, fold_shape.c), masks that are known, comparisons that ranges
 * decide and quotients that they narrow (fold_range.c), and control (fold_control.c). The canonical
 * form: tiles that hold one number are CONST of a tile type; one scalar everywhere is SPLAT; work
 * is done before elements are repeated; constants are on the right and next to each other.
 *
 * Why it ends: every change takes an op away, or lifts an elementwise op above a shape op, joins
 * two constants or narrows a quotient; nothing ever does the opposite. Ops are swept in order, what
 * is new at once, until a sweep changes nothing. A budget in proportion to the function bounds the
 * work all the same. */
#include "passes/fold.h"
#include "ir/interp/eval.h"
#include "ir/effects.h"
#include "passes/walk.h"

#include <math.h>
#include <string.h>

bool fold_replace(Op *op, Value *with) {
    Value *old = op->result[0];
    if (!with->name) with->name = old->name;
    ir_replace_uses(old, with);
    ir_erase(op);
    return true;
}

Value *fold_same_op(Fold *fold, const Op *op, Value *const *operands, Type result) {
    return ir_op_like(&fold->b, op, operands, op->noperands, &result)->result[0];
}

bool fold_constant(const Value *v, int64_t *bits) {
    if (!op_is(v, OP_CONST)) return false;
    *bits = ir_attr_int(v->def, AT_VALUE, 0);
    return true;
}

/* ---- constants ---- */

/* Functions whose last bit is a matter of the C library stay for the target to work out. */
static bool exact_function(const Op *op) {
    int64_t func2 = ir_attr_int(op, AT_FUNC2, 0);
    if (op->code == OP_MATH2) return func2 == MATH2_FMOD || func2 == MATH2_COPYSIGN;
    if (op->code != OP_MATH) return true;
    switch (ir_attr_int(op, AT_FUNC, 0)) {
    case MATH_SQRT_RN:
    case MATH_FLOOR:
    case MATH_CEIL:
    case MATH_TRUNC:
    case MATH_RINT:
    case MATH_ROUND: return true;
    default: return false;
    }
}

static bool is_nan(Type t, int64_t bits) {
    return type_is_float(t) && isnan(elem_to_double((Elem)t.elem, (uint64_t)bits));
}

static bool fold_to_constant(Fold *fold, Op *op) {
    int64_t in[3], out;
    if (!op_is_pure_elementwise(op) || op->noperands < 1 || op->noperands > 3) return false;
    Type t = op->result[0]->type;
    if (type_is_pointer(t)) return false; /* a constant pointer is 0 and nothing else */
    for (int i = 0; i < op->noperands; i++)
        if (!fold_constant(op->operand[i].value, &in[i])) return false;
    if (!exact_function(op) || !ir_eval(op, in, &out)) return false;
    if (is_nan(t, out)) return false; /* whose bits are the target's choice */
    return fold_replace(op, ir_const_bits(&fold->b, t, out));
}

/* Constants to the right: changes op in place. */
static void canonical_order(Fold *fold, Op *op) {
    static const Pred mirrored[] = {[PRED_EQ] = PRED_EQ, [PRED_NE] = PRED_NE, [PRED_LT] = PRED_GT,
                                    [PRED_LE] = PRED_GE, [PRED_GT] = PRED_LT, [PRED_GE] = PRED_LE};
    bool cmp = op->code == OP_CMP;
    if (op->noperands != 2 || !(cmp || (op_traits(op) & TRAIT_C))) return;
    Value *x = op->operand[0].value, *y = op->operand[1].value;
    if (!op_is(x, OP_CONST) || op_is(y, OP_CONST)) return;
    int64_t pred = ir_attr_int(op, AT_PRED, PRED_EQ);
    if (cmp && (pred < PRED_EQ || pred > PRED_GE)) return;
    ir_set_operand(op, 0, y);
    ir_set_operand(op, 1, x);
    if (cmp) ir_set_attr(fold->s, op, AT_PRED, mirrored[pred]);
}

/* ---- memory and pointers ---- */

/* A mask that always or never holds. */
static bool fold_mask(Fold *fold, Op *op) {
    int at = op->code == OP_LOAD ? 1 : op->code == OP_STORE ? 2 : 0;
    int64_t mask;
    if (!at || op->noperands <= at || !fold_constant(op->operand[at].value, &mask)) return false;
    bool store = op->code == OP_STORE;
    if (mask == 0 && store) {
        ir_erase(op);
        return true;
    }
    if (mask == 0)
        return op->noperands == 3 && !ir_attr_int(op, AT_VOLATILE, 0) &&
               fold_replace(op, op->operand[2].value);
    Value *operands[] = {op->operand[0].value, store ? op->operand[1].value : NULL};
    Op *bare = ir_op_like(&fold->b, op, operands, at, NULL);
    if (!store) return fold_replace(op, bare->result[0]);
    ir_erase(op);
    return true;
}

/* (p + C) + D elements, as one offset; both are added as 64-bit numbers, so their sum must be one.
 */
static bool fold_addptr(Fold *fold, Op *op) {
    int64_t c, d;
    if (op->code != OP_ADDPTR || !op_is(op->operand[0].value, OP_ADDPTR)) return false;
    const Op *inner = op->operand[0].value->def;
    if (ir_attr_int(op, AT_BYTES, 0) != ir_attr_int(inner, AT_BYTES, 0)) return false;
    Value *first = inner->operand[1].value, *second = op->operand[1].value;
    if (!fold_constant(first, &c) || !fold_constant(second, &d)) return false;
    if (first->type.elem == EL_U64 || second->type.elem == EL_U64) return false;
    if (d > 0 ? c > INT64_MAX - d : c < INT64_MIN - d) return false;
    Type wide = type_with_elem(second->type, EL_I64), type = second->type;
    if (!type_equal(first->type, type) || elem_wrap((Elem)type.elem, c + d) != c + d) type = wide;
    Value *operands[] = {inner->operand[0].value, ir_const_int(&fold->b, type, c + d)};
    return fold_replace(op, fold_same_op(fold, op, operands, op->result[0]->type));
}

/* ---- the sweep ---- */

static bool unused(const Op *op) {
    for (int i = 0; i < op->nresults; i++)
        if (ir_has_uses(op->result[i])) return false;
    return !op_is_control_flow(op) && !ir_effects(op);
}

static bool fold_op(Fold *fold, Op *op) {
    if (op_traits(op) & TRAIT_T) return false;
    if (unused(op)) return false; /* what `dce` will drop is not worth folding */
    fold->b =
        (Builder){.s = fold->s, .f = fold->f, .block = op->block, .before = op, .span = op->span};
    if (op->nregions) return fold_control(fold, op);
    /* Once layouts are assigned, tiles cannot be put in place of each other by value alone. */
    for (int i = 0; i < op->nresults; i++)
        if (op->result[i]->layout) return false;
    for (int i = 0; i < op->noperands; i++)
        if (op->operand[i].value->layout) return false;
    canonical_order(fold, op);
    if (op->nresults > 1) return false;
    return fold_mask(fold, op) ||
           (op->nresults == 1 &&
            (fold_to_constant(fold, op) || fold_by_rules(fold, op) || fold_cast(fold, op) ||
             fold_addptr(fold, op) || fold_shape(fold, op) || fold_comparison(fold, op) ||
             fold_quotient(fold, op)));
}

void pass_fold(PassCtx *ctx) {
    enum { CHANGES_PER_VALUE = 64 };
    Fold fold = {.s = ctx->s, .f = ctx->f};
    fold.rules = fold_parse_rules(ctx->s);
    if (!fold.rules) return;
    int64_t budget = CHANGES_PER_VALUE * ((int64_t)ctx->f->nvalues + 1);
    for (bool again = true; again;) {
        again = false;
        for (Op *op = ctx->f->body->first; op && budget > 0;) {
            Op *prev = op->prev;
            Block *block = op->block;
            if (fold_op(&fold, op)) {
                op = prev ? prev->next : block->first; /* the first of what is new */
                ctx->changed = again = true;
                budget--;
            } else {
                op = op_next(op);
            }
        }
    }
}
