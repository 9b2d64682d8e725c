/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fragment.c: a dot and the buffers it reads -> layouts of one step (see fragment.h).
 *
 * Every matrix instruction of mma.def takes 32 bytes of K per row, whatever the element, or less;
 * so 16 rows of A, or 16 columns of B, for one instruction are what one ldmatrix brings. Where the
 * buffer's 16-byte runs lie otherwise than ldmatrix needs them, the same registers are loaded
 * element by element. */
#include "ir/fragment.h"
#include "ir/mma.h"

enum { RUN_BYTES = 16 }; /* a row of a matrix as ldmatrix takes it */

static Type operand_type(const Op *dot, int operand) {
    return type_in_space(dot->operand[operand].value->type, SPACE_REGISTER);
}

static int k_dim_of(Type t, int operand) {
    return t.rank - (operand == 0 ? 1 : 2);
}

/* The dimension that is not K: rows of A, columns of B. */
static int side_of(Type t, int operand) {
    return t.rank - (operand == 0 ? 2 : 1);
}

bool fragment_in_lanes(const Op *dot) {
    if (ir_attr(dot, AT_WGMMA) || !dot->result[0]->layout) return false;
    for (int i = 0; i < 2; i++) {
        const Value *v = dot->operand[i].value;
        if (v->type.space != SPACE_SHARED || !v->layout || v->type.rank < 2) return false;
    }
    return true;
}

/* ---- matrix instructions ---- */

static const MmaInfo *instruction(const Op *dot) {
    return mma_row((int)ir_attr_int(dot, AT_MMA, 0));
}

bool fragment_is_transposed(const Op *dot, int operand) {
    Type t = operand_type(dot, operand);
    const Layout *buffer = dot->operand[operand].value->layout;
    return buffer->basis[IN_OFFSET][0] != (uint32_t)1 << type_dim_shift(t, k_dim_of(t, operand));
}

bool fragment_has_matrices(const Op *dot, int operand) {
    if (!ir_attr(dot, AT_MMA)) return false;
    Type t = operand_type(dot, operand);
    const MmaInfo *m = instruction(dot);
    bool transposed = fragment_is_transposed(dot, operand);
    int dim = transposed ? side_of(t, operand) : k_dim_of(t, operand), size = type_elem_bytes(t);
    int registers = operand == 0 ? m->ra : 2 * m->rb, run = log2_of(RUN_BYTES / size);
    if (size == 8 || (transposed && size != 2) || registers != 4 || t.log2[dim] < run) return false;
    const uint32_t *basis = dot->operand[operand].value->layout->basis[IN_OFFSET];
    for (int i = 0; i < run; i++)
        if (basis[i] != (uint32_t)1 << (type_dim_shift(t, dim) + i)) return false;
    return true;
}

/* Which 16-byte run each lane points at: the handbook's recipes for A and B in both majors. */
static void matrix_lanes(Layout *l, Type t, int operand, bool transposed) {
    int side = side_of(t, operand), k_dim = k_dim_of(t, operand);
    int unit = log2_of(RUN_BYTES / type_elem_bytes(t));
    layout_push_dim(l, IN_LANE, t, transposed ? k_dim : side, 0, 3);
    if (operand == 0) layout_push_dim(l, IN_LANE, t, side, 3, 1);
    layout_push_dim(l, IN_LANE, t, k_dim, unit, 1);
    if (operand == 1) layout_push_dim(l, IN_LANE, t, side, 3, 1);
}

/* What each register and lane holds of it: PTX ISA, "Matrix Fragments". */
static void element_lanes(Layout *l, Type t, int operand, const MmaInfo *m) {
    int side = side_of(t, operand), k_dim = k_dim_of(t, operand), pack = m->pack;
    bool two = m->k > 4 << pack; /* halves along K */
    layout_push_dim(l, IN_REG, t, k_dim, 0, pack);
    if (operand == 0) layout_push_dim(l, IN_REG, t, side, 3, 1);
    layout_push_dim(l, IN_REG, t, k_dim, pack + 2, two);
    if (operand == 1) layout_push_dim(l, IN_REG, t, side, 3, 1);
    layout_push_dim(l, IN_LANE, t, k_dim, pack, 2);
    layout_push_dim(l, IN_LANE, t, side, 0, 3);
}

static Layout mma_fragment(const Op *dot, int operand) {
    Type t = operand_type(dot, operand);
    Layout l = layout_new(t);
    if (ir_attr_int(dot, AT_LDMATRIX, 0) >> operand & 1)
        matrix_lanes(&l, t, operand, fragment_is_transposed(dot, operand));
    else
        element_lanes(&l, t, operand, instruction(dot));
    int wm = (int)ir_attr_int(dot, AT_WARPS_M, 0), wn = (int)ir_attr_int(dot, AT_WARPS_N, 0);
    int side = side_of(t, operand), size = t.log2[side];
    int own = operand == 0 ? 4 : 3, mine = operand == 0 ? wm : wn;
    for (int i = 0; operand == 1 && i < wm; i++) layout_push(&l, IN_WARP, 0);
    layout_push_dim(&l, IN_WARP, t, side, size > own + mine ? size - mine : own, mine);
    return l;
}

/* ---- multiply-adds ---- */

int fragment_slab_bits(const Op *dot) {
    Type a = operand_type(dot, 0);
    int slab = log2_of(16 / type_elem_bytes(a)), k = a.log2[a.rank - 1];
    return slab < k ? slab : k;
}

/* Registers walk K, if K is contiguous, then the rows or columns that the thread's accumulators
 * have; where N is contiguous instead, reading N first is wide. */
static Layout slab_layout(const Op *dot, int operand) {
    const Layout *acc = dot->result[0]->layout;
    Type tc = dot->result[0]->type, t = operand_type(dot, operand);
    int r = tc.rank, side = side_of(t, operand), slab = fragment_slab_bits(dot);
    bool last = operand == 1 && ir_attr_int(dot, AT_N_FIRST, 0);
    Layout l = layout_new(t);
    uint32_t keep = ((uint32_t)1 << tc.log2[side]) - 1;
    if (!last) layout_push_dim(&l, IN_REG, t, k_dim_of(t, operand), 0, slab);
    for (int in = IN_REG; in <= IN_WARP; in++) {
        for (int k = 0; k < acc->bits[in]; k++) {
            uint32_t row = acc->basis[in][k] >> type_dim_shift(tc, side) & keep;
            uint32_t image = row << type_dim_shift(t, side);
            for (int d = 0; d + 2 < r; d++) { /* batch dimensions are the same on both sides */
                uint32_t part =
                    acc->basis[in][k] >> type_dim_shift(tc, d) & (((uint32_t)1 << tc.log2[d]) - 1);
                image |= part << type_dim_shift(t, d);
            }
            if (in != IN_REG || image) layout_push(&l, (LayoutIn)in, image);
        }
        if (in == IN_REG && last) layout_push_dim(&l, IN_REG, t, k_dim_of(t, operand), 0, slab);
    }
    return l;
}

Layout fragment_layout(const Op *dot, int operand) {
    return ir_attr(dot, AT_MMA) ? mma_fragment(dot, operand) : slab_layout(dot, operand);
}
