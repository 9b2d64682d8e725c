/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* lanes.h: the operands of an instruction by lane, and what arithmetic of integers and of floats
 * have in common. A register holds the low bits of what it is; those above are 0, or the sign of a
 * number that is read in no other width. */
#ifndef TILE_PTX_LANES_H
#define TILE_PTX_LANES_H

#include "ptx/machine/exec.h"

typedef struct Lanes { /* operands of an instruction, and where its result goes */
    const uint64_t *a, *b, *c;
    uint64_t *d;
    uint64_t room[3][WARP];
} Lanes;

static inline void take_lanes(Lanes *x, const Warp *w, const PtxCode *c) {
    const PtxOperand *o = c->operand;
    x->a = c->noperands > 1 ? lanes_of(w, &o[1], x->room[0]) : x->room[0];
    x->b = c->noperands > 2 ? lanes_of(w, &o[2], x->room[1]) : x->a;
    x->c = c->noperands > 3 ? lanes_of(w, &o[3], x->room[2]) : x->b;
    x->d = o[0].kind == OPERAND_REGISTER ? w->reg[o[0].reg] : x->room[0];
}

static inline uint64_t low_bits(uint64_t v, unsigned bits) {
    return bits >= 64 ? v : v & ((UINT64_C(1) << bits) - 1);
}

/* The value of so many bits, in 64. */
static inline int64_t extend(uint64_t v, unsigned bits, bool is_signed) {
    unsigned up = 64 - bits;
    return is_signed ? (int64_t)(v << up) >> up : (int64_t)(v << up >> up);
}

static inline int64_t extended(PtxType t, uint64_t v) {
    return extend(v, ptx_type[t].bits, ptx_type[t].class == 'S');
}

static inline bool is_float(const PtxCode *c) {
    return ptx_type[c->type[0]].class == 'F';
}

/* What the instruction cannot mean, as far as the machine knows. */
static inline PtxOutcome not_known(Warp *w, const PtxCode *c, uint32_t mask) {
    return machine_fail(w, c, __builtin_ctz(mask), E_PTX_REFUSED,
                        "the machine does not know this form");
}

/* The same instructions of floats (exec_float.c). */
typedef enum FloatOp {
    FLOAT_ADD,
    FLOAT_SUB,
    FLOAT_MUL,
    FLOAT_DIV,
    FLOAT_FMA,
    FLOAT_MIN,
    FLOAT_MAX,
    FLOAT_ABS,
    FLOAT_NEG,
    FLOAT_SQRT,
    FLOAT_RSQRT,
    FLOAT_RCP,
    FLOAT_EX2,
    FLOAT_LG2,
    FLOAT_SIN,
    FLOAT_COS,
    FLOAT_TANH,
    FLOAT_COPYSIGN
} FloatOp;
PtxOutcome float_lanes(Warp *w, const PtxCode *c, uint32_t mask, FloatOp op);

#endif
