/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gen_control.c: structured loops and branches -> LLVM basic blocks with a phi per register.
 *
 * A `for` is emitted already rotated: its condition is tested once before the body and then at the
 * body's end, which is the shape that LLVM's loop passes want and saves a jump per iteration. */
#include "codegen/gen.h"

static LLVMBasicBlockRef new_block(Gen *g, const char *name) {
    return LLVMAppendBasicBlockInContext(g->c, g->func, name);
}

static LLVMBasicBlockRef here(Gen *g) {
    return LLVMGetInsertBlock(g->b);
}

typedef struct Phis { /* of a tile's elements, or of words of several */
    const Value *v;
    LLVMValueRef *at;
    int n, bits; /* of a word; 0: of elements */
} Phis;

/* Dots take it out of registers, and nobody else. */
static bool is_fragment(const Value *v) {
    for (const Use *u = v->uses; u; u = u->next)
        if (u->op->code != OP_DOT || u != u->op->operand) return false;
    return v->uses && v->type.space == SPACE_REGISTER;
}

/* Phis for v in the current block. A dot's fragment is carried as the dot takes it: of its halves
 * ptxas carries registers apart, and moves them together in each turn. */
static Phis make_phis(Gen *g, const Value *v) {
    enum { WORD = 32 };
    Tile t = gen_new_tile(g, v);
    int size = type_elem_bytes(v->type) * 8;
    bool words = is_fragment(v) && size < WORD && t.n * size % WORD == 0;
    Phis p = {v, t.at, words ? t.n * size / WORD : t.n, words ? WORD : 0};
    if (words) p.at = arena_array(&g->s->arena, (size_t)p.n, sizeof *p.at);
    for (int i = 0; i < p.n; i++)
        p.at[i] = LLVMBuildPhi(g->b, words ? g->i32 : gen_elem_type(g, v->type), "");
    return p;
}

/* Behind all phis of the block. */
static void take_phis(Gen *g, const Phis *p, int n) {
    for (int i = 0; i < n; i++) {
        Tile t = gen_tile(g, p[i].v);
        if (p[i].bits) gen_unpack(g, type_element(p[i].v->type), p[i].at, p[i].bits, t.at, t.n);
    }
}

/* block ends already. */
static void add_incoming(Gen *g, const Phis *p, Tile from, LLVMBasicBlockRef block) {
    LLVMValueRef *in = from.at;
    if (p->bits) {
        LLVMBasicBlockRef now = here(g);
        in = arena_array(&g->s->arena, (size_t)p->n, sizeof *in);
        LLVMPositionBuilderBefore(g->b, LLVMGetBasicBlockTerminator(block));
        gen_pack(g, type_element(p->v->type), from.at, from.n, p->bits, in);
        LLVMPositionBuilderAtEnd(g->b, now);
    }
    for (int i = 0; i < p->n; i++) LLVMAddIncoming(p->at[i], &in[i], &block, 1);
}

static Phis *new_phis(Gen *g, int n) {
    return arena_array(&g->s->arena, (size_t)n, sizeof(Phis));
}

/* iv < hi, or iv > hi where the step is negative. */
static LLVMValueRef goes_on(Gen *g, const Op *op, LLVMValueRef iv, LLVMValueRef hi,
                            LLVMValueRef step) {
    bool is_signed = type_is_signed(op->operand[0].value->type);
    LLVMValueRef up = LLVMBuildICmp(g->b, is_signed ? LLVMIntSLT : LLVMIntULT, iv, hi, "");
    if (!is_signed) return up;
    LLVMValueRef down = LLVMBuildICmp(g->b, LLVMIntSGT, iv, hi, "");
    int64_t known;
    if (ir_int_constant(op->operand[2].value, &known)) return known < 0 ? down : up;
    LLVMValueRef negative =
        LLVMBuildICmp(g->b, LLVMIntSLT, step, LLVMConstNull(LLVMTypeOf(step)), "");
    return LLVMBuildSelect(g->b, negative, down, up, "");
}

/* What the index is compared with after an iteration: the next one is worked out afterwards, for it
 * may lie outside of the index's type when the loop ends. hi - step, or the type's end. */
static LLVMValueRef last_bound(Gen *g, const Op *op, LLVMValueRef hi, LLVMValueRef step) {
    LLVMTypeRef t = LLVMTypeOf(hi);
    LLVMValueRef x[] = {hi, step};
    bool is_signed = type_is_signed(op->operand[0].value->type);
    return gen_intrinsic(g, is_signed ? INTRINSIC_SSUB_SAT : INTRINSIC_USUB_SAT, &t, 1, x, 2);
}

/* From a start that is known and not negative, the next index is below 2^32, and compares with hi
 * without a sign: such a loop ptxas unrolls, as it does not where the index is compared before. */
static bool counts_below_2_32(const Op *loop) {
    int64_t lo, step;
    return type_is_signed(loop->operand[0].value->type) &&
           type_elem_bits(loop->operand[0].value->type) == 32 &&
           ir_int_constant(loop->operand[0].value, &lo) && lo >= 0 &&
           ir_int_constant(loop->operand[2].value, &step) && step > 0;
}

/* Tells ptxas to leave a loop as it is. ptxas 13.0.88 (and the 580 driver) unrolls a loop that
 * counts down to a negated bound, `range(m, -n, -3)`, and loses the bound's sign in the test before
 * the last turns: some are left out. Loops that may count down are few and small, so none is
 * unrolled; a `while` may be such a loop, too. */
static void forbid_unrolling(Gen *g, LLVMValueRef branch) {
    static const char name[] = "llvm.loop.unroll.disable", kind[] = "llvm.loop";
    LLVMMetadataRef text = LLVMMDStringInContext2(g->c, name, sizeof name - 1);
    LLVMMetadataRef self = LLVMTemporaryMDNode(g->c, NULL, 0);
    LLVMMetadataRef at[] = {self, LLVMMDNodeInContext2(g->c, &text, 1)};
    LLVMMetadataRef loop = LLVMMDNodeInContext2(g->c, at, 2); /* names itself, as loops do */
    LLVMMetadataReplaceAllUsesWith(self, loop);
    LLVMSetMetadata(branch, LLVMGetMDKindIDInContext(g->c, kind, sizeof kind - 1),
                    LLVMMetadataAsValue(g->c, loop));
}

static bool only_counts_up(const Op *loop) {
    int64_t step;
    return !type_is_signed(loop->operand[0].value->type) ||
           (ir_int_constant(loop->operand[2].value, &step) && step > 0);
}

void gen_for(Gen *g, const Op *op) {
    const Block *body = op->region[0];
    LLVMValueRef lo = gen_scalar(g, op->operand[0].value), hi = gen_scalar(g, op->operand[1].value);
    LLVMValueRef step = gen_scalar(g, op->operand[2].value);
    int64_t known;
    bool by_ones = ir_int_constant(op->operand[2].value, &known) && (known == 1 || known == -1);
    bool below = !by_ones && counts_below_2_32(op);
    LLVMValueRef bound = by_ones || below ? hi : last_bound(g, op, hi, step);
    LLVMBasicBlockRef before = here(g), loop = new_block(g, "loop"), done = new_block(g, "done");
    LLVMBuildCondBr(g->b, goes_on(g, op, lo, hi, step), loop, done);
    LLVMPositionBuilderAtEnd(g->b, loop);
    Phis iv = make_phis(g, body->args[0]), *carried = new_phis(g, op->nresults);
    LLVMAddIncoming(iv.at[0], &lo, &before, 1);
    for (int i = 0; i < op->nresults; i++) {
        carried[i] = make_phis(g, body->args[1 + i]);
        add_incoming(g, &carried[i], gen_tile(g, op->operand[3 + i].value), before);
    }
    take_phis(g, carried, op->nresults);
    gen_block(g, body);
    const Op *yield = body->last;
    gen_debug_at(g, op); /* counting and jumping back belong to the loop's own line */
    LLVMValueRef after = LLVMBuildAdd(g->b, iv.at[0], step, "");
    LLVMValueRef again = below ? LLVMBuildICmp(g->b, LLVMIntULT, after, hi, "")
                               : goes_on(g, op, by_ones ? after : iv.at[0], bound, step);
    LLVMBasicBlockRef end = here(g);
    LLVMValueRef back = LLVMBuildCondBr(g->b, again, loop, done);
    if (!only_counts_up(op)) forbid_unrolling(g, back);
    LLVMAddIncoming(iv.at[0], &after, &end, 1);
    for (int i = 0; i < yield->noperands; i++)
        add_incoming(g, &carried[i], gen_tile(g, yield->operand[i].value), end);
    LLVMPositionBuilderAtEnd(g->b, done);
    for (int i = 0; i < op->nresults; i++) {
        carried[i] = make_phis(g, op->result[i]);
        add_incoming(g, &carried[i], gen_tile(g, op->operand[3 + i].value), before);
        add_incoming(g, &carried[i], gen_tile(g, yield->operand[i].value), end);
    }
    take_phis(g, carried, op->nresults);
}

void gen_if(Gen *g, const Op *op) {
    LLVMBasicBlockRef arm[2] = {new_block(g, "then"), new_block(g, "else")}, end[2];
    LLVMBasicBlockRef done = new_block(g, "endif");
    LLVMBuildCondBr(g->b, gen_scalar(g, op->operand[0].value), arm[0], arm[1]);
    for (int r = 0; r < 2; r++) {
        LLVMPositionBuilderAtEnd(g->b, arm[r]);
        gen_block(g, op->region[r]);
        end[r] = here(g);
        LLVMBuildBr(g->b, done);
    }
    LLVMPositionBuilderAtEnd(g->b, done);
    Phis *phi = new_phis(g, op->nresults);
    for (int i = 0; i < op->nresults; i++) {
        phi[i] = make_phis(g, op->result[i]);
        for (int r = 0; r < 2; r++)
            add_incoming(g, &phi[i], gen_tile(g, op->region[r]->last->operand[i].value), end[r]);
    }
    take_phis(g, phi, op->nresults);
}

void gen_while(Gen *g, const Op *op) {
    const Block *test = op->region[0], *body = op->region[1];
    LLVMBasicBlockRef before = here(g), head = new_block(g, "while"), loop = new_block(g, "do");
    LLVMBasicBlockRef done = new_block(g, "done");
    LLVMBuildBr(g->b, head);
    LLVMPositionBuilderAtEnd(g->b, head);
    Phis *carried = new_phis(g, test->nargs);
    for (int i = 0; i < test->nargs; i++) {
        carried[i] = make_phis(g, test->args[i]);
        add_incoming(g, &carried[i], gen_tile(g, op->operand[i].value), before);
    }
    take_phis(g, carried, test->nargs);
    gen_block(g, test);
    const Op *cond = test->last;
    gen_debug_at(g, op);
    LLVMBuildCondBr(g->b, gen_scalar(g, cond->operand[0].value), loop, done);
    /* The condition's values dominate both the body and what follows. */
    for (int i = 0; i < body->nargs; i++) {
        g->tile[body->args[i]->id] = gen_tile(g, cond->operand[1 + i].value);
        g->tile[op->result[i]->id] = gen_tile(g, cond->operand[1 + i].value);
    }
    LLVMPositionBuilderAtEnd(g->b, loop);
    gen_block(g, body);
    LLVMBasicBlockRef end = here(g);
    gen_debug_at(g, op);
    forbid_unrolling(g, LLVMBuildBr(g->b, head));
    for (int i = 0; i < test->nargs; i++)
        add_incoming(g, &carried[i], gen_tile(g, body->last->operand[i].value), end);
    LLVMPositionBuilderAtEnd(g->b, done);
}

/* The region once for each register: lanes go their own ways in it, and meet behind it. */
void gen_map(Gen *g, const Op *op) {
    const Block *region = op->region[0];
    const Layout *l = op->operand[0].value->layout;
    uint32_t broadcast = l ? layout_broadcast_bits(l, IN_REG) : 0;
    Tile *out = arena_array(&g->s->arena, (size_t)op->nresults, sizeof *out);
    for (int i = 0; i < op->nresults; i++) out[i] = gen_new_tile(g, op->result[i]);
    for (int k = 0; k < out[0].n; k++) {
        uint32_t first = (uint32_t)k & ~broadcast;
        for (int i = 0; first != (uint32_t)k && i < op->nresults; i++)
            out[i].at[k] = out[i].at[first];
        if (first != (uint32_t)k) continue;
        for (int i = 0; i < op->noperands; i++)
            gen_new_tile(g, region->args[i]).at[0] = gen_tile(g, op->operand[i].value).at[k];
        gen_block(g, region);
        for (int i = 0; i < op->nresults; i++)
            out[i].at[k] = gen_scalar(g, region->last->operand[i].value);
    }
}
