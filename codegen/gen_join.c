/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gen_join.c: join and split: tiles with a last dimension of two made and taken apart.
 *
 * That dimension is bit 0 of the flat index. Where a register bit holds it, nothing moves: values
 * are renamed. A join may also be held in a layout where lanes or warps hold it; they then choose.
 */
#include "codegen/gen.h"

#include <string.h>

static void poison(Gen *g, const Op *op, Tile t, Type type) {
    gen_error(g, E_BUG, op, "a tile's layout does not suit '%s'; this is a bug in tilec",
              op_info[op->code].text);
    for (int i = 0; i < t.n; i++) t.at[i] = LLVMGetPoison(gen_elem_type(g, type));
}

void gen_join(Gen *g, const Op *op) {
    const Value *r = op->result[0];
    Tile out = gen_new_tile(g, r), part[2];
    Layout l = r->layout ? *r->layout : layout_new(r->type), at = l;
    at.out--;
    for (int in = 0; in < IN_DIMS; in++)
        for (int k = 0; k < at.bits[in]; k++) at.basis[in][k] >>= 1;
    for (int i = 0; i < 2; i++) {
        const Value *x = op->operand[i].value;
        Layout from = x->layout ? *x->layout : layout_new(x->type);
        part[i] = (Tile){arena_array(&g->s->arena, (size_t)out.n, sizeof *out.at), out.n};
        if (!type_is_tile(x->type)) { /* every thread has it */
            for (int k = 0; k < out.n; k++) part[i].at[k] = gen_tile(g, x).at[0];
            continue;
        }
        if (!gen_move(g, &at, &from, gen_tile(g, x), &part[i])) {
            poison(g, op, out, r->type);
            return;
        }
    }
    uint32_t mask;
    LLVMValueRef lane = gen_lane_part(g, &l, &mask), upper = NULL;
    if (mask & 1) {
        upper = LLVMBuildAnd(g->entry, lane, gen_i32(g, 1), "");
        upper = LLVMBuildICmp(g->entry, LLVMIntNE, upper, gen_i32(g, 0), "");
    }
    for (int i = 0; i < out.n; i++) {
        uint32_t hw[IN_DIMS] = {(uint32_t)i}, which = layout_apply(&l, hw) & 1;
        out.at[i] = part[which].at[i];
        if (upper) out.at[i] = LLVMBuildSelect(g->b, upper, part[1 - which].at[i], out.at[i], "");
    }
}

void gen_split(Gen *g, const Op *op) {
    const Value *x = op->operand[0].value;
    Tile in = gen_tile(g, x);
    Layout l = x->layout ? *x->layout : layout_new(x->type);
    int bit = 0;
    while (bit < l.bits[IN_REG] && l.basis[IN_REG][bit] != 1) bit++;
    for (int half = 0; half < 2; half++) {
        Tile out = gen_new_tile(g, op->result[half]);
        if (bit == l.bits[IN_REG] || out.n * 2 != in.n) {
            poison(g, op, out, op->result[half]->type);
            continue;
        }
        uint32_t below = ((uint32_t)1 << bit) - 1;
        for (int i = 0; i < out.n; i++) {
            uint32_t r = (uint32_t)i;
            out.at[i] = in.at[(r & below) | (r & ~below) << 1 | (uint32_t)half << bit];
        }
    }
}
