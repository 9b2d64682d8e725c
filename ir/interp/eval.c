/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* eval.c: one lane of an elementwise op: bits in, bits out (see eval.h).
 *
 * Constants keep their bits in 64; the interpreter's loops want lanes as they lie in memory. All
 * that is done here is the way there and back. */
#include "ir/interp/eval.h"
#include "ir/effects.h"
#include "ir/interp/machine.h"

#include <string.h>

typedef union Lane {
    uint8_t u8;
    uint16_t u16;
    uint32_t u32;
    uint64_t u64;
} Lane;

static Lane lane_of(int64_t bits, Elem e) {
    Lane l = {.u64 = 0};
    switch (elem_info[e].bytes) {
    case 1: l.u8 = (uint8_t)bits; break;
    case 2: l.u16 = (uint16_t)bits; break;
    case 4: l.u32 = (uint32_t)bits; break;
    default: l.u64 = (uint64_t)bits; break;
    }
    return l;
}

static int64_t bits_of(Lane l, Elem e) {
    uint64_t bits = 0;
    switch (elem_info[e].bytes) {
    case 1: bits = l.u8; break;
    case 2: bits = l.u16; break;
    case 4: bits = l.u32; break;
    default: bits = l.u64; break;
    }
    return elem_info[e].class_ == ELEM_F ? (int64_t)bits : elem_wrap(e, (int64_t)bits);
}

bool ir_eval(const Op *op, const int64_t *operands, int64_t *result) {
    LaneOp lane;
    if (!op_is_pure_elementwise(op) || op->noperands < 1 || op->noperands > 3 ||
        !lane_op_find(op, &lane))
        return false;
    Lane in[3], out = {.u64 = 0};
    const void *src[3];
    for (int i = 0; i < 3; i++) {
        int k = i < op->noperands ? i : 0;
        in[i] = lane_of(operands[k], stored_elem(op->operand[k].value->type));
        src[i] = &in[i];
    }
    Elem e = stored_elem(op->result[0]->type);
    if (op->code == OP_CAST)
        lane_cast(e, &out, lane.elem, src[0], 1, (Rounding)lane.mode);
    else if (op->code == OP_BITCAST)
        out = in[0];
    else
        lane_op_run(&lane, op->noperands, &out, src, 1);
    *result = bits_of(out, e);
    return true;
}
