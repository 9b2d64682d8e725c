/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* warp_transpose.c: blocks that lie otherwise than a dot's instruction takes them -> a role of four
 * warps that transpose them in their stage.
 *
 *     producer: for k: wait empty[s]; start copies: b to bs[s] and raw[s], a to as[s] and full[s]
 *     transposer: for k: wait raw[s]; x = bs[s] as the engine wrote it; barrier; bs[s] = x; fence;
 *                        arrive at full[s]
 *     consumer: for k: wait full[s]; acc = dot as[s], bs[s], acc; wait for it; arrive at empty[s]
 *
 * So a stage is one buffer in two layouts, and costs no more than where nothing is transposed: all
 * of a block is in the transposers' registers before any of it is stored. They work on one stage
 * while the dot of another goes on, which only needs a stage more. */
#include "ir/desc.h"
#include "passes/cost.h"
#include "passes/layout_choice.h"
#include "passes/warp_specialize.h"

static bool is_whole(const Op *load) {
    const Op *desc = load->operand[0].value->def;
    Type block = desc->result[0]->type;
    for (int d = 0; d < block.rank; d++)
        if (desc_live(desc, block, d) < (int64_t)1 << block.log2[d]) return false;
    return true;
}

bool lies_across(const Specialize *x, const Op *dot, int i, const Loaded *from) {
    DotChoice d = choose_dot(dot, x->f->num_warps, x->ctx->target);
    Type block = from->load->operand[0].value->type;
    bool by_threads = i == 0 && ir_attr_int(dot, AT_PAIRS, 0);
    return d.wgmma && !d.wgmma->majors && !by_threads &&
           from->order[i == 0 ? 1 : 0] != block.rank - 1;
}

/* All blocks of the load's descriptor, which the engine writes in one way, go to dots beside them,
 * as operands that lie across. */
static bool is_for_such_alone(const Specialize *x, const Op *load) {
    for (const Use *u = load->operand[0].value->uses; u; u = u->next) {
        const Value *v = u->op->nresults ? u->op->result[0] : NULL;
        while (v && v->uses && !v->uses->next &&
               (v->uses->op->code == OP_TRANS || v->uses->op->code == OP_RESHAPE))
            v = v->uses->op->result[0];
        const Use *at =
            u->op->code == OP_DESC_LOAD && v && v->uses && !v->uses->next ? v->uses : NULL;
        int i = at ? (int)(at - at->op->operand) : 2;
        Loaded from;
        if (i > 1 || at->op->code != OP_DOT || !loaded_beside(at->op, i, &from) ||
            !lies_across(x, at->op, i, &from))
            return false;
    }
    return true;
}

const char *refuse_transposing(const Specialize *x, const Op *dot, const Loaded *from) {
    DotChoice d = choose_dot(dot, x->f->num_warps, x->ctx->target);
    if (!is_whole(from->load))
        return "its dot takes it along K, and others transpose whole blocks only";
    if (!is_for_such_alone(x, from->load))
        return "its dot takes it along K, and others take blocks of the same tensor as they lie";
    if (x->f->num_warps != COST_TRANSPOSED_WARPS ||
        1 << (dot->result[0]->type.log2[1] - d.wn) > COST_ROLES_FEW_COLUMNS)
        return arena_printf(&x->s->arena,
                            "its dot takes it along K, and others transpose it where %d warps "
                            "compute, by instructions of up to %d columns: 256x128 is such a tile",
                            COST_TRANSPOSED_WARPS, COST_ROLES_FEW_COLUMNS);
    return NULL;
}

Value *raw_stage(Builder *b, Value *of, Turn t) {
    Value *slice = stage_slice(b, of, t.stage);
    return ir_op(b, OP_BUFFER_REINTERPRET, &slice, 1, &slice->type, 1, 0)->result[0];
}

static void keep(Specialize *x, Op *op) {
    vec_push(&x->s->arena, &x->kept, op);
}

Turn transpose_blocks(Specialize *x, const Group *g, Op *dot, Turn t) {
    Builder b = {x->s, x->f, dot->block, dot, dot->span};
    Value *read[2] = {NULL, NULL};
    if (g->transposed) wait_stage(&b, g->raw, t);
    for (int i = 0; i < 2; i++) {
        if (!(g->transposed >> i & 1)) continue;
        Value *raw = raw_stage(&b, g->buffer[i], t);
        read[i] = ir_given(&b, OP_SHARED_LOAD, raw, type_in_space(raw->type, SPACE_REGISTER));
        keep(x, read[i]->def);
    }
    if (g->transposed) keep(x, ir_op(&b, OP_BARRIER, NULL, 0, NULL, 0, 0));
    for (int i = 0; i < 2; i++) {
        if (!read[i]) continue;
        ir_binary(&b, OP_SHARED_STORE, read[i], stage_slice(&b, g->buffer[i], t.stage));
        keep(x, dot->prev);
    }
    if (g->transposed) {
        keep(x, ir_op(&b, OP_ASYNC_FENCE, NULL, 0, NULL, 0, 0));
        arrive_at_stage(&b, g->full, t);
        t = next_turn(&b, t, g->stages);
    }
    ir_replace_uses(dot->result[0], dot->operand[2].value);
    ir_erase(dot);
    return t;
}

Turn leave_part(Specialize *x, const Group *g, Op *part, Turn t) {
    Builder b = {x->s, x->f, part->block, part, part->span};
    int chunks = 0;
    if (g->transposed) buffer_of_part(g, part, &chunks);
    for (int i = 0; i < chunks; i++) {
        Value *before = ir_binary(&b, OP_XOR, t.phase, ir_const_int(&b, index_type(), 1));
        wait_stage(&b, g->empty, (Turn){t.stage, before});
        arrive_at_stage(&b, g->full, t);
        t = next_turn(&b, t, g->stages);
    }
    ir_replace_uses(part->result[0], part->operand[1].value);
    ir_erase(part);
    return t;
}
