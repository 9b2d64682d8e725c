/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* expand_index.c: a pipelined loop within a loop -> where the prologue's index comes from.
 *
 * The prologue begins with the same index in each turn of the outer loop. What it makes of that
 * index alone, tiles of addresses and masks above all, `licm` and LLVM would make once and keep in
 * registers while the inner loop works. Where that is much it is made in each turn again: the
 * outer loop does not see that the index is the same. */
#include "ir/effects.h"
#include "passes/cost.h"
#include "passes/expand_pipeline.h"
#include "passes/walk.h"

/* Registers of 32 bits that a thread holds of what op makes; a tile spread along a dimension holds
 * what it was spread from. */
static int64_t words_of(const Op *op) {
    const Value *v = op->result[0];
    while (v->def && (v->def->code == OP_BROADCAST || v->def->code == OP_RESHAPE))
        v = v->def->operand[0].value;
    if (!v->type.rank || !v->layout || (!v->type.depth && type_elem_bits(v->type) == 1)) return 0;
    int64_t bytes = v->type.depth ? 8 : type_elem_bytes(v->type);
    return (bytes << v->layout->bits[IN_REG]) / 4;
}

/* Is op made of the index and of what is there before the outer loop, and of nothing else? */
static bool is_of_index(const Expand *x, const Op *op, const Op *outer, const bool *of_index) {
    bool any = false;
    if (!ir_is_pure(op) || op->nregions || op->nresults != 1) return false;
    for (int i = 0; i < op->noperands; i++) {
        const Value *v = op->operand[i].value;
        bool index = v == x->loop->region[0]->args[0] || of_index[v->id];
        if (!index && !ir_defined_outside(v, outer)) return false;
        any |= index;
    }
    return any;
}

bool index_is_made_again(const Expand *x) {
    const Op *outer = loop_around(x->loop);
    if (!outer || !ir_defined_outside(x->loop->operand[0].value, outer)) return false;
    bool *of_index = arena_array(&x->s->arena, x->t.values, sizeof *of_index);
    bool *counted = arena_array(&x->s->arena, x->t.values, sizeof *counted);
    int64_t words = 0;
    for (const Op *op = x->loop->region[0]->first; op; op = op->next) {
        bool own = is_of_index(x, op, outer, of_index);
        if (own) of_index[op->result[0]->id] = true;
        const ScheduleRow *row = op->nresults ? schedule_row(&x->t, op->result[0]) : NULL;
        for (int i = 0; !own && row && row->stage < x->t.last && i < op->noperands; i++) {
            Value *v = op->operand[i].value;
            if (!of_index[v->id] || counted[v->id]) continue;
            words += words_of(v->def);
            counted[v->id] = true;
        }
    }
    return words > COST_KEPT_INDEX_WORDS;
}
