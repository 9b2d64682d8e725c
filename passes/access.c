/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* access.c: how wide each access of memory is, and by which instruction: attributes of the op, from
 * what axis analysis knows of its addresses and from its layouts. Code generation reads them. */
#include "passes/access.h"
#include "ir/analysis/alias.h"
#include "ir/effects.h"
#include "ir/fragment.h"
#include "ir/roles.h"
#include "ir/target.h"
#include "passes/cost.h"

static int least(int a, int b) {
    return a < b ? a : b;
}

/* What stood there before says nothing. */
static void set(const Accesses *a, Op *op, AttrId id, int64_t v) {
    if (v || ir_attr(op, id)) ir_set_attr(a->ctx->s, op, id, v);
}

/* One is what the absent attribute means. */
static void set_vector(const Accesses *a, Op *op, int log2) {
    if (log2 || ir_attr(op, AT_VECTOR)) ir_set_attr(a->ctx->s, op, AT_VECTOR, (int64_t)1 << log2);
}

/* ---- global memory ---- */

/* log2 of the registers in a row, under l, that op finds adjacent, aligned, under one mask: of a
 * tile of t, up to 16 bytes. */
static int adjacent(const Accesses *a, const Op *op, const Layout *l, Type t) {
    if (!l) return 0;
    const Value *ptr = op->operand[0].value;
    int dim = axis_fastest_dim(&a->axis, ptr);
    int may = log2_of(axis_access_width(&a->axis, ptr, ir_access_mask(op), dim));
    int widest = log2_of(16 / type_elem_bytes(t));
    return least(least(may, layout_vector_bits(l, t, dim)), widest);
}

static void load_or_store(Accesses *a, Op *op) {
    const Value *v = op->code == OP_LOAD ? op->result[0] : op->operand[1].value;
    set_vector(a, op, adjacent(a, op, v->layout, v->type));
    if (!v->layout) return;
    int widest = log2_of(16 / type_elem_bytes(v->type));
    int elements = type_log2_numel(v->type) - LANE_BITS - log2_of(warps_of_value(a->ctx->f, v));
    note_access(a, op, v->layout, v->type, 1 << (elements < 0 ? 0 : least(elements, widest)));
}

/* Floats that nobody wants back are added several at once: pairs of f16 in a word everywhere, all
 * else that is wider than an element by some GPUs; these take the larger and the smaller of floats
 * of 16 bits, too, in two words or more. */
static void atomic(const Accesses *a, Op *op) {
    const Value *r = op->result[0];
    Type t = type_element(r->type);
    int64_t rmw = ir_attr_int(op, AT_RMW, RMW_ADD);
    bool add = rmw == RMW_ADD, extreme = rmw == RMW_MAX || rmw == RMW_MIN;
    int vec = 0, bits = type_elem_bits(t);
    if (!ir_has_uses(r) && type_is_float(t) && (add ? bits < 64 : extreme && bits == 16))
        vec = adjacent(a, op, r->layout, r->type);
    if (!a->ctx->target->atomic_vectors) vec = add && t.elem == EL_F16 ? least(vec, 1) : 0;
    if (extreme && vec < 2) vec = 0;
    set_vector(a, op, vec);
}

enum { SECTOR = 32 }; /* bytes */

/* A lane's 16 bytes share their sector of 32, the unit of caches, with no bytes that go elsewhere
 * in the buffer. That is so where all that is added to the pointer of a parameter is a multiple of
 * 32 bytes at the start of each run along dim; that pointer itself is one from an allocator. */
static bool is_sector_aligned(const Accesses *a, const Value *ptr, int dim) {
    for (; ptr; ptr = alias_step(ptr)) {
        if (!op_is(ptr, OP_ADDPTR)) continue;
        const Op *op = ptr->def;
        const Value *by = op->operand[1].value;
        const AxisInfo *info = axis_of(&a->axis, by);
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
    uint32_t row = ((1u << ptr->type.log2[dim]) - 1) << type_dim_shift(ptr->type, dim);
    for (int k = 0; k < ptr->layout->bits[IN_LANE]; k++)
        if (ptr->layout->basis[IN_LANE][k] & ~row) return false;
    return true;
}

/* Copies of 16 bytes go past the first-level cache. There a sector whose halves do not go to one
 * aligned 32 bytes of the buffer is fetched for each half (ncu, 4096, rows of b an odd number of 16
 * bytes long: 67.1 million sectors from L2 instead of 50.3). Through it once, for more of shared
 * memory's time, which is 14 % where rows are aligned. So each warp asks where its row begins; its
 * other rows are taken to begin likewise, being an even number away. (H200, fp16, 4096: 0.94
 * instead of 0.80 of the aligned product; rows that are aligned cost nothing more. A predicate for
 * each copy would: one that is turned off is not for nothing. For warps that copy from several rows
 * the two ways cost the same.) */
static bool has_replicas(const Layout *l) {
    return layout_broadcast_bits(l, IN_LANE) || layout_broadcast_bits(l, IN_WARP);
}

static void async_copy(const Accesses *a, Op *op) {
    const Value *ptr = op->operand[0].value, *buffer = op->operand[1].value;
    if (!ptr->layout || !buffer->layout) return;
    Type t = type_pointee(ptr->type);
    int dim = axis_fastest_dim(&a->axis, ptr);
    int vec = least(adjacent(a, op, ptr->layout, t),
                    layout_shared_vector_bits(ptr->layout, buffer->layout));
    bool past = type_elem_bytes(t) << vec == 16;
    set_vector(a, op, vec);
    set(a, op, AT_CACHE, past ? CACHE_CG : CACHE_CA);
    set(a, op, AT_BY_ROW, past && one_row(ptr, dim) && !is_sector_aligned(a, ptr, dim));
    set(a, op, AT_OWNER, has_replicas(ptr->layout)); /* who else holds it would copy it again */
}

/* ---- shared memory ---- */

/* log2 of the elements that one access moves between the tile's registers and the buffer. */
static int shared_width(const Value *tile, const Value *buffer) {
    if (!tile->layout || !buffer->layout) return 0;
    return layout_shared_access_bits(tile->layout, buffer->layout, tile->type);
}

static void shared_load(const Accesses *a, Op *op) {
    set_vector(a, op, shared_width(op->result[0], op->operand[0].value));
}

/* One thread stores each element where it must, or that costs little. Replicas store the same
 * value, which is harmless, though a race to tools that look for them. */
static void shared_store(const Accesses *a, Op *op) {
    const Value *x = op->operand[0].value, *buffer = op->operand[1].value;
    int vec = shared_width(x, buffer);
    set_vector(a, op, vec);
    if (ir_attr_int(op, AT_OWNER, 0) || !x->layout != !buffer->layout) return;
    bool replicas = true, few = true;
    MatrixForm matrices = MATRIX_NONE;
    if (x->layout) {
        const Layout *l = x->layout;
        if (a->ctx->target->stmatrix) matrices = layout_matrix_form(l, buffer->layout, x->type);
        replicas = has_replicas(l);
        few = 1 << (l->bits[IN_REG] - vec) <= COST_MOST_OWNER_STORES;
    }
    if (matrices) set_vector(a, op, 0);
    set(a, op, AT_MATRIX, matrices);
    set(a, op, AT_OWNER, !matrices && replicas && few);
}

/* log2 of the elements of an operand that a lane finds in a row. */
static int operand_row(const Op *dot, int i) {
    const Value *buffer = dot->operand[i].value;
    Layout at = fragment_layout(dot, i);
    return layout_shared_vector_bits(&at, buffer->layout);
}

/* The second operand of multiply-adds is read along K where no more lie in a row along N. Operands
 * of matrix instructions are read by ldmatrix where they can be. */
static void dot(const Accesses *a, Op *op) {
    if (!fragment_in_lanes(op)) return;
    int matrices = 0, vectors[2] = {0};
    for (int i = 0; i < 2; i++) matrices |= fragment_has_matrices(op, i) << i;
    set(a, op, AT_LDMATRIX, matrices);
    set(a, op, AT_N_FIRST, 0);
    if (!ir_attr(op, AT_MMA)) {
        int along_k = operand_row(op, 1);
        set(a, op, AT_N_FIRST, 1);
        if (operand_row(op, 1) <= along_k) ir_drop_attr(op, AT_N_FIRST);
    }
    for (int i = 0; i < 2; i++) {
        int widest = log2_of(16 / type_elem_bytes(op->operand[i].value->type));
        if (!(matrices >> i & 1)) vectors[i] = least(operand_row(op, i), widest);
    }
    ir_drop_attr(op, AT_VECTORS);
    if (vectors[0] || vectors[1]) ir_set_dims(a->ctx->s, op, AT_VECTORS, vectors, 2);
}

/* ---- comparisons, divisions ---- */

/* Predicates are few: where comparisons must agree there is one. A division of integers is many
 * instructions. The register bits that do not change the result, for what axis analysis knows of
 * it: they move within runs of equal elements. */
static void note_redundant(const Accesses *a, Op *op) {
    const Value *v = op->result[0];
    const AxisInfo *info = axis_of(&a->axis, v);
    uint32_t within = 0, redundant = 0;
    for (int d = 0; info && d < v->type.rank; d++) {
        int64_t size = (int64_t)1 << v->type.log2[d];
        uint32_t run = (uint32_t)(info->constancy[d] < size ? info->constancy[d] : size);
        within |= (run - 1) << type_dim_shift(v->type, d);
    }
    for (int k = 0; info && v->layout && k < v->layout->bits[IN_REG]; k++)
        if (!(v->layout->basis[IN_REG][k] & ~within)) redundant |= (uint32_t)1 << k;
    set(a, op, AT_REDUNDANT, redundant);
}

static void visit(Op *op, void *a) {
    switch (op->code) {
    case OP_LOAD:
    case OP_STORE: load_or_store(a, op); break;
    case OP_ATOMIC: atomic(a, op); break;
    case OP_ASYNC_COPY: async_copy(a, op); break;
    case OP_SHARED_LOAD: shared_load(a, op); break;
    case OP_SHARED_STORE: shared_store(a, op); break;
    case OP_DOT: dot(a, op); break;
    case OP_CMP:
    case OP_DIV: note_redundant(a, op); break;
    default: break;
    }
}

void pass_access(PassCtx *ctx) {
    Accesses a = {.ctx = ctx, .axis = axis_analyse(ctx->s, ctx->f)};
    ir_walk(ctx->f->body, visit, &a);
    ctx->changed = true;
}
