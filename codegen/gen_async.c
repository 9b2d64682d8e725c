/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gen_async.c: copies from global to shared memory that run behind the program: cp.async.
 *
 * Each lane copies 4, 8 or 16 bytes with one instruction, or none where nothing is to be copied;
 * where the mask is off it reads nothing and the hardware fills the place with zeros. That is said
 * by a second predicate: a source size of 0 would say it too, for two instructions more. */
#include "codegen/gen.h"
#include "ir/analysis/alias.h"
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

enum { SECTOR = 32 }; /* bytes */

/* A lane's 16 bytes share their sector of 32, the unit of caches, with no bytes that go elsewhere
 * in the buffer. That is so where all that is added to the pointer of a parameter is a multiple of
 * 32 bytes at the start of each run along dim; that pointer itself is one from an allocator. */
static bool is_sector_aligned(const Gen *g, const Value *ptr, int dim) {
    for (; ptr; ptr = alias_step(ptr)) {
        if (!op_is(ptr, OP_ADDPTR)) continue;
        const Op *op = ptr->def;
        const Value *by = op->operand[1].value;
        const AxisInfo *info = axis_of(&g->axis, by);
        int64_t unit = ir_attr_int(op, AT_BYTES, 0)
                           ? 1
                           : type_elem_bytes(type_element(type_pointee(ptr->type)));
        int at = dim < by->type.rank ? dim : 0;
        if (!info || info->divisibility[at] * unit % SECTOR) return false;
    }
    return true;
}

/* All lanes of a warp copy from one row along dim. */
static bool one_row(const Value *ptr, int dim) {
    const Type t = ptr->type;
    int at = 0;
    for (int d = dim + 1; d < t.rank; d++) at += t.log2[d];
    uint32_t row = ((1u << t.log2[dim]) - 1) << at;
    for (int k = 0; k < ptr->layout->bits[IN_LANE]; k++)
        if (ptr->layout->basis[IN_LANE][k] & ~row) return false;
    return true;
}

typedef struct Copies { /* what one instruction for each run of registers does */
    const Op *op;
    Tile ptr, mask;
    int vec, bytes;
    SharedView view;
    LLVMValueRef when; /* NULL: always */
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

void gen_async_copy(Gen *g, const Op *op) {
    const Value *ptr = op->operand[0].value, *buffer = op->operand[1].value;
    const Value *mask = ir_operand(op, 3);
    Type t = type_pointee(ptr->type);
    Copies c = {.op = op, .ptr = gen_tile(g, ptr), .when = gen_scalar(g, op->operand[2].value)};
    if (LLVMIsAConstantInt(c.when) && LLVMConstIntGetZExtValue(c.when)) c.when = NULL;
    if (mask) c.mask = gen_tile(g, mask);
    int dim = axis_fastest_dim(&g->axis, ptr), size = type_elem_bytes(t);
    c.vec = log2_of(axis_access_width(&g->axis, ptr, mask, dim));
    int have = layout_vector_bits(ptr->layout, t, dim);
    int shared = layout_shared_vector_bits(ptr->layout, buffer->layout);
    if (have < c.vec) c.vec = have;
    if (shared < c.vec) c.vec = shared;
    c.bytes = size << c.vec;
    if (c.bytes < 4 || c.bytes > 16 || !gen_shared_view(g, buffer, ptr->layout, &c.view)) {
        gen_error(g, op,
                  "a copy of %d bytes per lane was left to code generation; this is a bug in "
                  "tilec",
                  c.bytes);
        return;
    }
    if (c.bytes < 16 || !one_row(ptr, dim) || is_sector_aligned(g, ptr, dim)) {
        start_copies(g, &c, c.bytes == 16 ? "cg" : "ca");
        return;
    }
    /* Past the first-level cache a sector whose halves do not go to one aligned 32 bytes of the
     * buffer is fetched for each half (ncu, 4096, rows of b an odd number of 16 bytes long: 67.1
     * million sectors from L2 instead of 50.3). Through it once, for more of shared memory's time,
     * which is 14 % where rows are aligned. So each warp asks where its row begins; its other rows
     * are taken to begin likewise, being an even number away. (H200, fp16, 4096: 0.94 instead of
     * 0.80 of the aligned product; rows that are aligned cost nothing more. A predicate for each
     * copy would: one that is turned off is not for nothing. For warps that copy from several rows
     * the two ways cost the same.) */
    LLVMValueRef at = LLVMBuildPtrToInt(g->b, c.ptr.at[0], g->i64, "");
    at = LLVMBuildTrunc(g->b, at, g->i32, "");
    at = LLVMBuildAnd(g->b, at, gen_i32(g, SECTOR / 2), "");
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
    int pending = (int)ir_attr_int(op, AT_PENDING, 0);
    if (!ir_attr(op, AT_ALONE)) {
        snprintf(text, sizeof text, "cp.async.wait_group %d;", pending);
        memory_asm(g, text, "~{memory}", NULL, 0);
        return;
    }
    /* To ptxas a wait under a predicate is one behind a branch: one, as the weaker may be made in
     * both cases. */
    LLVMValueRef alone = gen_scalar(g, ir_alone_condition(op));
    snprintf(text, sizeof text, "cp.async.wait_group %d;\n\t@!$0 cp.async.wait_group %d;",
             (int)ir_attr_int(op, AT_ALONE, 0), pending);
    memory_asm(g, text, "b,~{memory}", &alone, 1);
}
