/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tables.c: ops.def, attrs.def and math.def expanded into tables, and the readers of an attribute.
 * Everything that must know "which operations are there" reads op_info. */
#include "ir/effects.h"

#define C TRAIT_C
#define E TRAIT_E
#define S TRAIT_S
#define K TRAIT_K
#define T TRAIT_T
#define READS(operand) OP_READS(operand)
#define WRITES(operand) OP_WRITES(operand)
#define NONE EFFECT_NONE
#define UNIQUE EFFECT_UNIQUE
#define ORDERS EFFECT_ORDERS
#define OUTPUT EFFECT_OUTPUT
#define PROMISES EFFECT_PROMISES
#define ENDLESS EFFECT_ENDLESS
#define ENDS EFFECT_ENDS
#define ANY EFFECT_ANY
const OpInfo op_info[OPS] = {
#define OP(id, text, operands, attrs, result, traits, effects, doc)                                \
    [OP_##id] = {text, operands, attrs, RESULT_##result, traits, effects, doc},
#include "ir/ops.def"
#undef OP
};
#undef C
#undef E
#undef S
#undef K
#undef T
#undef READS
#undef WRITES
#undef NONE
#undef UNIQUE
#undef ORDERS
#undef OUTPUT
#undef PROMISES
#undef ENDLESS
#undef ENDS
#undef ANY

static const char *const pred_words[] = {"eq", "ne", "lt", "le", "gt", "ge", NULL};
static const char *const func_words[] = {
#define MATH(id, text, doc) text,
#include "ir/math.def"
    NULL};
static const char *const func2_words[] = {
#define MATH2(id, text, doc) text,
#include "ir/math.def"
    NULL};
static const char *const arith_words[] = {"add", "mul", "div", "fma", "sqrt", "cvt", NULL};
static const char *const direction_words[] = {"rz", "rm", "rp", NULL};
static const char *const rmw_words[] = {"add", "max", "min", "and", "or", "xor", "xchg", NULL};
static const char *const sem_words[] = {"acq_rel", "relaxed", "acquire", "release", NULL};
static const char *const scope_words[] = {"gpu", "cta", "sys", NULL};
static const char *const cache_words[] = {"none", "ca", "cg", "cs", "cv", "wb", "wt", NULL};
static const char *const evict_words[] = {"none", "first", "last", NULL};
static const char *const padding_words[] = {"zero", "nan", NULL};
static const char *const share_words[] = {"places", "first", "share", NULL};
static const char *const precision_words[] = {"tf32", "tf32x3", "ieee", "bf16x3", "bf16x6", NULL};

static const char *const mma_words[] = {
#define MMA(id, sm, a, b, c, m, k, pack, ra, rb, rc, text) #id,
#include "ir/mma.def"
#undef MMA
    NULL};

static const char *const wgmma_words[] = {
#define WGMMA(id, a, b, c, k, wide, majors, scales, text) #id,
#include "ir/wgmma.def"
#undef WGMMA
    NULL};

static const char *const *const words_of[ATTRS] = {
    [AT_PRED] = pred_words,   [AT_FUNC] = func_words,           [AT_CACHE] = cache_words,
    [AT_EVICT] = evict_words, [AT_PRECISION] = precision_words, [AT_MMA] = mma_words,
    [AT_WGMMA] = wgmma_words, [AT_FUNC2] = func2_words,         [AT_RMW] = rmw_words,
    [AT_SEM] = sem_words,     [AT_SCOPE] = scope_words,         [AT_PADDING] = padding_words,
    [AT_SHARE] = share_words, [AT_ARITH] = arith_words,         [AT_DIRECTION] = direction_words,
};

const AttrInfo attr_info[ATTRS] = {
#define ATTR(id, text, kind, doc) [AT_##id] = {text, ATTR_##kind},
#include "ir/attrs.def"
#undef ATTR
};

const char *const *attr_words(AttrId id) {
    return words_of[id];
}

const Attr *ir_attr(const Op *op, AttrId id) {
    for (int i = 0; i < op->nattrs; i++)
        if (op->attr[i].id == id) return &op->attr[i];
    return NULL;
}

int64_t ir_attr_int(const Op *op, AttrId id, int64_t absent) {
    const Attr *a = ir_attr(op, id);
    return a ? a->i : absent;
}
