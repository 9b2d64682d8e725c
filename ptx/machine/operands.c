/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* operands.c: what an operand is in the lanes of a warp. */
#include "ptx/machine/warp.h"

enum Special {
#define SPECIAL(id, name, value) SPECIAL_##id,
#include "ptx/machine/specials.def"
#undef SPECIAL
};

static uint64_t special(const Warp *w, int which, int l) {
    switch ((enum Special)which) {
#define SPECIAL(id, name, value)                                                                   \
    case SPECIAL_##id:                                                                             \
        return value;
#include "ptx/machine/specials.def"
#undef SPECIAL
    }
    return 0;
}

uint64_t lane_of(const Warp *w, const PtxOperand *o, int lane) {
    switch (o->kind) {
    case OPERAND_REGISTER: {
        uint64_t v = w->reg[o->reg][lane];
        return o->negated ? v ^ 1 : v;
    }
    case OPERAND_SPECIAL: return special(w, o->reg, lane);
    case OPERAND_ADDRESS: return (o->reg < 0 ? 0 : w->reg[o->reg][lane]) + (uint64_t)o->value;
    default: return (uint64_t)o->value;
    }
}

const uint64_t *lanes_of(const Warp *w, const PtxOperand *o, uint64_t *room) {
    if (o->kind == OPERAND_REGISTER && !o->negated) return w->reg[o->reg];
    for (int l = 0; l < WARP; l++) room[l] = lane_of(w, o, l);
    return room;
}

uint32_t known_of(const Warp *w, const PtxOperand *o) {
    if (o->kind == OPERAND_VECTOR) {
        uint32_t known = ALL_LANES;
        for (int i = 0; i < o->n; i++) known &= known_of(w, element_of(w, o, i));
        return known;
    }
    return (o->kind == OPERAND_REGISTER || o->kind == OPERAND_ADDRESS) && o->reg >= 0
               ? w->known[o->reg]
               : ALL_LANES;
}

uint64_t bits_known(const Warp *w, const PtxOperand *o, int lane) {
    if (known_of(w, o) >> lane & 1) return UINT64_MAX;
    return o->kind == OPERAND_REGISTER ? w->bits[o->reg][lane] : 0;
}
