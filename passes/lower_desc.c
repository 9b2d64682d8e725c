/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* lower_desc.c: loads, stores and reductions of a descriptor's blocks -> those of tiles of pointers
 * under masks.
 *
 * A launch gives an entry what its source names, which no tensor map is: so the copy engine takes
 * only what tile IR names as its own, `mbar_desc_load`. */
#include "ir/desc.h"
#include "passes/pass.h"

static void lower(Op *op, void *ctx_) {
    PassCtx *ctx = ctx_;
    bool load = op->code == OP_DESC_LOAD, reduce = op->code == OP_DESC_REDUCE;
    if (!load && !reduce && op->code != OP_DESC_STORE) return;
    const Op *desc = op->operand[0].value->def;
    Builder b = {ctx->s, ctx->f, op->block, op, op->span};
    Value *index[TILE_MAX_RANK], *operand[3];
    int first = desc_first_index(op);
    for (int i = first; i < op->noperands; i++) index[i - first] = op->operand[i].value;
    desc_pointers(&b, desc, index, desc_checked_dims(op), &operand[0], &operand[first]);
    int n = operand[first] ? first + 1 : first;
    if (!load) operand[1] = op->operand[1].value;
    if (load && n > 1) operand[n++] = desc_padding(&b, desc, op->result[0]->type);
    Type t = type_pointee(operand[0]->type);
    Op *r = ir_op(&b,
                  load     ? OP_LOAD
                  : reduce ? OP_ATOMIC
                           : OP_STORE,
                  operand, n, &t, load || reduce, 0);
    ir_copy_attr(ctx->s, op, r, AT_CACHE);
    ir_copy_attr(ctx->s, op, r, AT_EVICT);
    ir_copy_attr(ctx->s, op, r, AT_VOLATILE);
    ir_copy_attr(ctx->s, op, r, AT_RMW);
    if (reduce) ir_set_attr(ctx->s, r, AT_SEM, SEM_RELAXED);
    if (load) {
        r->result[0]->name = op->result[0]->name;
        ir_replace_uses(op->result[0], r->result[0]);
    }
    ir_erase(op);
    ctx->changed = true;
}

static void drop_unused(Op *op, void *ctx_) {
    PassCtx *ctx = ctx_;
    if (op->code != OP_MAKE_DESC || ir_has_uses(op->result[0])) return;
    ir_erase(op);
    ctx->changed = true;
}

void pass_lower_desc(PassCtx *ctx) {
    ir_walk(ctx->f->body, lower, ctx);
    ir_walk(ctx->f->body, drop_unused, ctx);
}
