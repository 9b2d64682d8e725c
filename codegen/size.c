/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* size.c: what is generated so far -> whether LLVM and ptxas translate it in seconds.
 *
 * Tiles lie in registers and every register is code of its own, so a tile that is too large, or too
 * much work on one, is code that takes minutes to translate and then spills. Both are errors at the
 * op that asks for most, before LLVM's passes see any of it. Counted are the instructions given to
 * LLVM, as they are made. */
#include "codegen/gen.h"
#include "ir/roles.h"

/* Measured on kernels of one kind grown step by step: beyond these LLVM takes more than seconds and
 * ptxas more than a minute, and more than half of the registers are spilled. The largest of some
 * 2,000 public kernels has 256 registers and 26,000 instructions. */
enum { MOST_REGISTERS = 1024, MOST_CARRIED = 4096, MOST_INSTRUCTIONS = 100000 };

static _Noreturn void too_large(Gen *g, const char *remedy) {
    diag(&g->s->diags, CODE_NONE, (Span){0}, "take %s or more warps than num_warps=%d", remedy,
         g->f->num_warps);
    session_bail(g->s);
}

/* Of a thread's registers of 32 bits a loop's variables alone take more than there are. */
static void note_spills(Gen *g, const Op *loop) {
    int warps = roles_of(g->f) ? 1 : g->f->num_warps; /* roles give each other registers */
    int most = target_thread_registers(g->o->target, warps);
    int64_t bits = 0;
    const Value *largest = NULL;
    for (int i = 0; i < loop->nresults; i++) {
        const Value *v = loop->result[i];
        if (v->type.space != SPACE_REGISTER || v->type.depth)
            continue; /* addresses are made from few registers */
        bits += (int64_t)gen_registers(v) * type_elem_bits(v->type);
        if (!largest || gen_registers(v) > gen_registers(largest)) largest = v;
    }
    if (bits / 32 <= most) return;
    diag(&g->s->diags, P_REGISTERS, loop->span,
         "what this loop carries takes %lld registers of each thread (%s: %s), and there are %d: "
         "the others spill to memory in every iteration. More warps than num_warps=%d, or a "
         "smaller tile, would fit",
         (long long)(bits / 32), largest->name ? largest->name : "a tile",
         type_user_text(&g->s->arena, largest->type), most, g->f->num_warps);
}

void gen_size_begin(Gen *g, const Op *op, SizeMark *mark) {
    int all = 0;
    for (int i = 0; i < op->nresults; i++) {
        const Value *v = op->result[i];
        int n = v->type.space != SPACE_REGISTER ? 0 : gen_registers(v);
        all += n;
        if (n <= MOST_REGISTERS) continue;
        gen_error(g, E_REGISTER_LIMIT, op,
                  "a tile of %s takes %d registers of each thread; at most %d may be had",
                  type_text(&g->s->arena, v->type), n, MOST_REGISTERS);
        too_large(g, "a smaller tile");
    }
    if (op_is_control_flow(op) && all > MOST_CARRIED) {
        gen_error(g, E_REGISTER_LIMIT, op,
                  "the variables that change in here take %d registers of each thread; at most %d "
                  "may be had",
                  all, MOST_CARRIED);
        too_large(g, "fewer variables, smaller tiles");
    }
    if (op->code == OP_FOR || op->code == OP_WHILE) note_spills(g, op);
    gen_size_mark(g, mark);
}

void gen_size_mark(Gen *g, SizeMark *mark) {
    mark->block = LLVMGetInsertBlock(g->b);
    mark->op = LLVMGetLastInstruction(mark->block);
    mark->end = LLVMGetLastBasicBlock(g->func);
    mark->instructions = g->instructions;
}

/* What an instruction costs LLVM: one of inline PTX is as much as its operands. */
static int64_t cost(LLVMValueRef i) {
    bool is_asm = LLVMIsACallInst(i) && LLVMIsAInlineAsm(LLVMGetCalledValue(i));
    return 1 + (is_asm ? (int64_t)LLVMGetNumArgOperands(i) : 0);
}

/* Blocks are appended, so what an op made lies behind the mark and in later blocks. */
static int64_t made_since(const SizeMark *mark) {
    int64_t n = 0;
    LLVMValueRef i =
        mark->op ? LLVMGetNextInstruction(mark->op) : LLVMGetFirstInstruction(mark->block);
    for (; i; i = LLVMGetNextInstruction(i)) n += cost(i);
    for (LLVMBasicBlockRef b = LLVMGetNextBasicBlock(mark->end); b; b = LLVMGetNextBasicBlock(b))
        for (i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i)) n += cost(i);
    return n;
}

int64_t gen_size_made(Gen *g, const SizeMark *mark) {
    int64_t n = made_since(mark);
    g->instructions = mark->instructions + n;
    return n;
}

void gen_size_end(Gen *g, const Op *op, const SizeMark *mark) {
    gen_size_is(g, op, gen_size_made(g, mark));
}

void gen_size_is(Gen *g, const Op *op, int64_t n) {
    const Op *owner = op; /* a reduction owns the operations that it combines by */
    while (owner->block->parent && !op_is_control_flow(owner->block->parent))
        owner = owner->block->parent;
    if (!op_is_control_flow(op) && n > g->most) {
        g->most = n;
        g->largest = owner;
    }
    if (g->instructions <= MOST_INSTRUCTIONS) return;
    gen_error(g, E_INSTRUCTION_LIMIT, owner == op ? g->largest : owner,
              "the kernel is more than %d instructions, and most of all here", MOST_INSTRUCTIONS);
    too_large(g, "smaller tiles, fewer repetitions by static_range");
}
