/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gen_async.c: copies from global to shared memory that run behind the program: cp.async.
 *
 * Each lane copies 4, 8 or 16 bytes with one instruction, or none where nothing is to be copied;
 * where the mask is off it reads nothing and the hardware fills the place with zeros. That is said
 * by a second predicate: a source size of 0 would say it too, for two instructions more. */
#include "codegen/gen.h"
#include "ir/buffer.h"

#include <stdio.h>

void gen_buffer_slice(Gen *g, const Op *op) {
    const Op *alloc = buffer_alloc(op->result[0]);
    int64_t bytes = buffer_stride(alloc);
    int64_t offset = ir_attr_int(alloc, AT_OFFSET, 0);
    LLVMValueRef base =
        LLVMConstAdd(LLVMConstPtrToInt(g->shared, g->i32), gen_i32(g, (uint32_t)offset));
    LLVMValueRef number = gen_scalar(g, op->operand[1].value);
    LLVMValueRef at = LLVMBuildMul(g->b, number, gen_i32(g, (uint32_t)bytes), "");
    gen_new_tile(g, op->result[0]).at[0] = LLVMBuildAdd(g->b, at, base, "");
}

static void memory_asm(Gen *g, const char *text, const char *constraints, LLVMValueRef *args,
                       int n) {
    gen_asm(g, text, constraints, LLVMVoidTypeInContext(g->c), args, n, ASM_ORDERED);
}

typedef struct Copies { /* what one instruction for each run of registers does */
    const Op *op;
    Tile ptr, mask;
    int vec, bytes;
    SharedView view;
    LLVMValueRef when; /* in this thread; NULL: always */
} Copies;

static void start_copies(Gen *g, Copies *c, const char *cache) {
    bool masked = c->mask.at != NULL;
    char text[96], constraints[32];
    snprintf(text, sizeof text, "%scp.async.%s.shared.global [$0], [$1], %d%s;",
             c->when ? "@$2 " : "", cache, c->bytes,
             !masked   ? ""
             : c->when ? ", $3"
                       : ", $2");
    snprintf(constraints, sizeof constraints, "r,l,%s%s~{memory}", c->when ? "b," : "",
             masked ? "b," : "");
    uint32_t broadcast = layout_broadcast_bits(c->op->operand[0].value->layout, IN_REG);
    for (int i = 0; i < c->ptr.n; i += 1 << c->vec) {
        if ((uint32_t)i & broadcast) continue;
        uint32_t hw[IN_DIMS] = {(uint32_t)i};
        uint32_t offset = hw_index_part(conversion_map_apply(&c->view.map, hw), IN_OFFSET);
        LLVMValueRef args[4] = {gen_shared_pointer(g, &c->view, offset), c->ptr.at[i]};
        int n = 2;
        args[0] = LLVMBuildPtrToInt(g->b, args[0], g->i32, "");
        if (c->when) args[n++] = c->when;
        if (masked) args[n++] = LLVMBuildNot(g->b, c->mask.at[i], "");
        memory_asm(g, text, constraints, args, n);
    }
}

enum { HALF_SECTOR = 16 }; /* bytes */

void gen_async_copy(Gen *g, const Op *op) {
    const Value *ptr = op->operand[0].value, *buffer = op->operand[1].value;
    const Value *mask = ir_operand(op, 3);
    Copies c = {.op = op, .ptr = gen_tile(g, ptr), .when = gen_scalar(g, op->operand[2].value)};
    if (LLVMIsAConstantInt(c.when) && LLVMConstIntGetZExtValue(c.when)) c.when = NULL;
    if (mask) c.mask = gen_tile(g, mask);
    LLVMValueRef first = ir_attr_int(op, AT_OWNER, 0) ? gen_owner(g, ptr) : NULL;
    if (first) c.when = c.when ? LLVMBuildAnd(g->b, c.when, first, "") : first;
    c.vec = log2_of(ir_attr_int(op, AT_VECTOR, 1));
    c.bytes = type_elem_bytes(type_pointee(ptr->type)) << c.vec;
    if (c.bytes < 4) {
        gen_error(g, E_GPU_LACKS, op,
                  "copies that run behind the program are of 4, 8 or 16 bytes, which follow each "
                  "other in memory and in the buffer; here %d do: load the tile and store it there",
                  c.bytes);
        return;
    }
    if (c.bytes > 16 || !ptr->layout || !gen_shared_view(g, buffer, ptr->layout, &c.view)) {
        gen_error(g, E_BUG, op,
                  "a copy of %d bytes per lane was left to code generation; this is a bug in "
                  "tilec",
                  c.bytes);
        return;
    }
    bool past = ir_attr_int(op, AT_CACHE, CACHE_CA) == CACHE_CG;
    if (!ir_attr_int(op, AT_BY_ROW, 0)) {
        start_copies(g, &c, past ? "cg" : "ca");
        return;
    }
    LLVMValueRef at = LLVMBuildPtrToInt(g->b, c.ptr.at[0], g->i64, "");
    at = LLVMBuildTrunc(g->b, at, g->i32, "");
    at = LLVMBuildAnd(g->b, at, gen_i32(g, HALF_SECTOR), "");
    at = gen_shuffle_from(g, at, gen_i32(g, 0));
    LLVMValueRef odd = LLVMBuildICmp(g->b, LLVMIntNE, at, gen_i32(g, 0), "");
    LLVMBasicBlockRef block[3];
    static const char *const names[] = {"splits", "whole", "copied"};
    for (int i = 0; i < 3; i++) block[i] = LLVMAppendBasicBlockInContext(g->c, g->func, names[i]);
    LLVMBuildCondBr(g->b, odd, block[0], block[1]);
    for (int i = 0; i < 2; i++) {
        LLVMPositionBuilderAtEnd(g->b, block[i]);
        c.view.ncache = 0;
        start_copies(g, &c, i ? "cg" : "ca");
        LLVMBuildBr(g->b, block[2]);
    }
    LLVMPositionBuilderAtEnd(g->b, block[2]);
}

void gen_async_commit(Gen *g, const Op *op) {
    (void)op;
    memory_asm(g, "cp.async.commit_group;", "~{memory}", NULL, 0);
}

void gen_async_wait(Gen *g, const Op *op) {
    char text[96];
    const Attr *stores = ir_attr(op, AT_STORES); /* of which one thread has any */
    if (ir_attr(op, AT_PENDING) || !stores) {
        snprintf(text, sizeof text, "cp.async.wait_group %d;", (int)ir_attr_int(op, AT_PENDING, 0));
        memory_asm(g, text, "~{memory}", NULL, 0);
    }
    if (!stores) return;
    snprintf(text, sizeof text, "cp.async.bulk.wait_group%s %d;",
             ir_attr_int(op, AT_READ, 0) ? ".read" : "", (int)stores->i);
    memory_asm(g, text, "~{memory}", NULL, 0);
}

/* A GPU that starts no grid before the one it depends on has ended needs to be told nothing. */
void gen_grid(Gen *g, const Op *op) {
    if (!g->o->target->dependent_launch) return;
    const char *text =
        op->code == OP_GRID_WAIT ? "griddepcontrol.wait;" : "griddepcontrol.launch_dependents;";
    gen_asm(g, text, "~{memory}", LLVMVoidTypeInContext(g->c), NULL, 0, ASM_ORDERED);
}
