/* gen_async.c: copies from global to shared memory that run behind the program: cp.async.
 *
 * Each lane copies 4, 8 or 16 bytes with one instruction, or none where nothing is to be copied;
 * where the mask is off it reads nothing and the hardware fills the place with zeros. That is said
 * by a second predicate: a source size of 0 would say it too, for two instructions more. */
#include "codegen/gen.h"
#include "ir/scratch.h"

#include <stdio.h>

void gen_ring_slot(Gen *g, const Op *op) {
    const Value *ring = op->operand[0].value;
    int64_t bytes = ring_stride(ring->def);
    int64_t offset = ir_attr_int(ring->def, AT_OFFSET, 0);
    LLVMValueRef base =
        LLVMConstAdd(LLVMConstPtrToInt(g->shared, g->i32), gen_i32(g, (uint32_t)offset));
    LLVMValueRef slot = gen_scalar(g, op->operand[1].value);
    LLVMValueRef at = LLVMBuildMul(g->b, slot, gen_i32(g, (uint32_t)bytes), "");
    gen_new_tile(g, op->result[0]).at[0] = LLVMBuildAdd(g->b, at, base, "");
}

static void memory_asm(Gen *g, const char *text, const char *constraints, LLVMValueRef *args,
                       int n) {
    gen_asm(g, text, constraints, LLVMVoidTypeInContext(g->c), args, n, ASM_ORDERED);
}

enum { SECTOR = 32, LONG_ROW = 256 }; /* bytes */

/* May a lane's 16 bytes share their 32, the unit of caches, with another's that go elsewhere in the
 * buffer? They do not where all that is added to the pointer of a parameter is a multiple of 32
 * bytes at the start of each run along dim; that pointer itself is one from an allocator. */
static bool splits_sectors(const Gen *g, const Value *ptr, int dim) {
    for (;;) {
        ptr = ir_repeated(ptr);
        const Op *op = ptr->def;
        if (!op) { /* of a loop: as it begins */
            const Op *owner = ptr->block->parent;
            if (!owner || owner->code != OP_FOR || ptr->index < 1) return false;
            ptr = owner->operand[2 + ptr->index].value;
            continue;
        }
        if (op->code == OP_HINT) {
            ptr = op->operand[0].value;
            continue;
        }
        if (op->code != OP_ADDPTR) return false;
        const Value *by = op->operand[1].value;
        const AxisInfo *info = axis_of(&g->axis, by);
        int64_t unit = ir_attr_int(op, AT_BYTES, 0)
                           ? 1
                           : type_elem_bytes(type_element(type_pointee(ptr->type)));
        int at = dim < by->type.rank ? dim : 0;
        if (!info || info->divisibility[at] * unit % SECTOR) return true;
        ptr = op->operand[0].value;
    }
}

void gen_async_copy(Gen *g, const Op *op) {
    const Value *ptr = op->operand[0].value, *buffer = op->operand[1].value;
    const Value *mask = ir_operand(op, 3);
    Type t = type_pointee(ptr->type);
    Tile p = gen_tile(g, ptr), m = {0};
    if (mask) m = gen_tile(g, mask);
    int dim = axis_fastest_dim(&g->axis, ptr), size = type_elem_bytes(t);
    int vec = log2_of(axis_access_width(&g->axis, ptr, mask, dim));
    int have = layout_vector_bits(ptr->layout, t, dim);
    int shared = layout_shared_vector_bits(ptr->layout, buffer->layout);
    if (have < vec) vec = have;
    if (shared < vec) vec = shared;
    int bytes = size << vec;
    SharedView v;
    if (bytes < 4 || bytes > 16 || !gen_shared_view(g, buffer, ptr->layout, &v)) {
        gen_error(g, op,
                  "a copy of %d bytes per lane was left to code generation; this is a bug in "
                  "tilec",
                  bytes);
        return;
    }
    LLVMValueRef when = gen_scalar(g, op->operand[2].value);
    bool always = LLVMIsConstant(when) && LLVMConstIntGetZExtValue(when);
    /* Where copies share sectors, those past the first-level cache run at half their speed; those
     * through it at nearly the whole, which costs 8 % otherwise: worth it for the longer rows, of
     * which a product has more. (H200, fp16, 4096: rows 16 bytes longer 0.80 instead of 0.67 of the
     * exact shape. To choose at run time is slower: what a predicate turns off is not for nothing.)
     */
    bool split = bytes == 16 && (int64_t)size << ptr->type.log2[dim] >= LONG_ROW &&
                 splits_sectors(g, ptr, dim);
    char text[96], constraints[32];
    snprintf(text, sizeof text, "%scp.async.%s.shared.global [$0], [$1], %d%s;",
             always ? "" : "@$2 ", bytes == 16 && !split ? "cg" : "ca", bytes,
             !mask    ? ""
             : always ? ", $2"
                      : ", $3");
    snprintf(constraints, sizeof constraints, "r,l,%s%s~{memory}", always ? "" : "b,",
             mask ? "b," : "");
    uint32_t copies = layout_free_mask(ptr->layout, IN_REG);
    for (int i = 0; i < p.n; i += 1 << vec) {
        if ((uint32_t)i & copies) continue;
        uint32_t place[IN_DIMS] = {(uint32_t)i};
        uint32_t offset = place_part(route_apply(&v.route, place), IN_OFFSET);
        LLVMValueRef args[4] = {gen_shared_pointer(g, &v, offset), p.at[i]};
        int n = 2;
        args[0] = LLVMBuildPtrToInt(g->b, args[0], g->i32, "");
        if (!always) args[n++] = when;
        if (mask) args[n++] = LLVMBuildNot(g->b, m.at[i], "");
        memory_asm(g, text, constraints, args, n);
    }
}

void gen_async_commit(Gen *g, const Op *op) {
    (void)op;
    memory_asm(g, "cp.async.commit_group;", "~{memory}", NULL, 0);
}

void gen_async_wait(Gen *g, const Op *op) {
    char text[96];
    int pending = (int)ir_attr_int(op, AT_PENDING, 0);
    if (!op->noperands) {
        snprintf(text, sizeof text, "cp.async.wait_group %d;", pending);
        memory_asm(g, text, "~{memory}", NULL, 0);
        return;
    }
    /* To ptxas a wait under a predicate is one behind a branch: one, as the weaker may be made in
     * both cases. */
    LLVMValueRef alone = gen_scalar(g, op->operand[0].value);
    snprintf(text, sizeof text, "cp.async.wait_group %d;\n\t@!$0 cp.async.wait_group %d;",
             (int)ir_attr_int(op, AT_ALONE, 0), pending);
    memory_asm(g, text, "b,~{memory}", &alone, 1);
}
