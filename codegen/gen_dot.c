/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gen_dot.c: `dot`, on matrix instructions or multiply-adds, from operands in shared memory.
 *
 * Every matrix instruction of mma.def takes 32 bytes of K per row, whatever the element, or less;
 * so 16 rows of A, or 16 columns of B, for one instruction are what one ldmatrix brings. Where the
 * buffer's 16-byte runs lie otherwise than ldmatrix needs them, the same registers are loaded
 * element by element through the fragment's layout. */
#include "codegen/gen.h"

#include <string.h>

static int above(int bits, int used) {
    return bits > used ? bits - used : 0;
}

/* ---- operands of matrix instructions ---- */

typedef struct Fragments { /* of one operand */
    const MmaInfo *m;
    SharedView view;
    Type type;
    const Layout *buffer;
    Layout at;               /* of one load: lanes, and registers too when loaded by element */
    ConversionMap to_offset; /* from elements to the buffer's offsets */
    bool by_matrix, trans;
    int side_shift, k_shift, batch_shift; /* of the operand's dimensions in a flat index */
    int regs;                             /* what one load brings: 16 rows of A, 16 columns of B */
} Fragments;

enum { RUN_BYTES = 16 }; /* a row of a matrix as ldmatrix takes it */

/* Which 16-byte run each lane points at: the handbook's recipes for A and B in both majors. */
static void matrix_lanes(Fragments *f, int operand, int side, int k_dim) {
    Type t = f->type;
    int unit = log2_of(RUN_BYTES / type_elem_bytes(t));
    layout_push_dim(&f->at, IN_LANE, t, f->trans ? k_dim : side, 0, 3);
    if (operand == 0) layout_push_dim(&f->at, IN_LANE, t, side, 3, 1);
    layout_push_dim(&f->at, IN_LANE, t, k_dim, unit, 1);
    if (operand == 1) layout_push_dim(&f->at, IN_LANE, t, side, 3, 1);
}

/* What each register and lane holds of it: PTX ISA, "Matrix Fragments". */
static void element_lanes(Fragments *f, int operand, int side, int k_dim) {
    Type t = f->type;
    int pack = f->m->pack;
    bool two = f->m->k > 4 << pack; /* halves along K */
    layout_push_dim(&f->at, IN_REG, t, k_dim, 0, pack);
    if (operand == 0) layout_push_dim(&f->at, IN_REG, t, side, 3, 1);
    layout_push_dim(&f->at, IN_REG, t, k_dim, pack + 2, two);
    if (operand == 1) layout_push_dim(&f->at, IN_REG, t, side, 3, 1);
    layout_push_dim(&f->at, IN_LANE, t, k_dim, pack, 2);
    layout_push_dim(&f->at, IN_LANE, t, side, 0, 3);
}

/* `side` is the operand's dimension that is not K: rows of A, columns of B. */
static bool fragments_of(Gen *g, const Op *op, int operand, const MmaInfo *m, Fragments *f) {
    const Value *buffer = op->operand[operand].value;
    Type t = buffer->type;
    t = type_in_space(t, SPACE_REGISTER);
    memset(f, 0, sizeof *f);
    f->m = m;
    f->type = t;
    f->buffer = buffer->layout;
    int k_dim = t.rank - (operand == 0 ? 1 : 2), side = t.rank - (operand == 0 ? 2 : 1);
    f->side_shift = type_dim_shift(t, side);
    f->k_shift = type_dim_shift(t, k_dim);
    f->batch_shift = t.log2[side] + t.log2[k_dim];
    f->regs = operand == 0 ? m->ra : 2 * m->rb;
    /* A run must be adjacent in the buffer: along K, or for 16-bit elements along the side. */
    const uint32_t *basis = buffer->layout->basis[IN_OFFSET];
    int size = type_elem_bytes(t), run = log2_of(RUN_BYTES / size);
    f->trans = basis[0] != (uint32_t)1 << f->k_shift;
    f->by_matrix = size < 8 && (!f->trans || size == 2) && f->regs == 4 &&
                   t.log2[f->trans ? side : k_dim] >= run;
    for (int i = 0; i < run && f->by_matrix; i++)
        if (basis[i] != (uint32_t)1 << ((f->trans ? f->side_shift : f->k_shift) + i))
            f->by_matrix = false;
    f->at = layout_new(t);
    if (f->by_matrix)
        matrix_lanes(f, operand, side, k_dim);
    else
        element_lanes(f, operand, side, k_dim);
    int wm = (int)ir_attr_int(op, AT_WARPS_M, 0), wn = (int)ir_attr_int(op, AT_WARPS_N, 0);
    int frag = operand == 0 ? 4 : 3, mine = operand == 0 ? wm : wn;
    if (operand == 1)
        for (int i = 0; i < wm; i++) layout_push(&f->at, IN_WARP, 0);
    layout_push_dim(&f->at, IN_WARP, t, side, frag + above(t.log2[side], frag + mine), mine);
    if (!gen_shared_view(g, buffer, &f->at, &f->view)) return false;
    return layout_offset_map(t, buffer->layout, &f->to_offset);
}

/* The registers of the sub-tile that begins at (side, k), in units of elements. */
static void load_fragment(Gen *g, Fragments *f, uint32_t batch, uint32_t side, uint32_t k,
                          LLVMValueRef *reg) {
    uint32_t element = batch << f->batch_shift | side << f->side_shift | k << f->k_shift;
    uint32_t offset = layout_element_offset(&f->to_offset, element);
    if (!f->by_matrix) {
        LLVMValueRef *elem =
            arena_array(&g->s->arena, (size_t)1 << f->at.bits[IN_REG], sizeof *elem);
        int vec = layout_shared_access_bits(&f->at, f->buffer, f->type);
        gen_shared_read(g, f->type, &f->view, &f->at, vec, offset, elem);
        if (f->m->a == EL_F64)
            memcpy(reg, elem, (size_t)f->regs * sizeof *reg);
        else
            gen_pack(g, f->type, elem, f->regs << f->m->pack, 32, reg);
        return;
    }
    LLVMValueRef p = gen_shared_pointer(g, &f->view, offset);
    Intrinsic load = f->trans ? INTRINSIC_LDMATRIX_TRANS : INTRINSIC_LDMATRIX;
    LLVMTypeRef overload = g->ptr_shared;
    LLVMValueRef v = gen_intrinsic(g, load, &overload, 1, &p, 1);
    for (unsigned i = 0; i < 4; i++) reg[i] = LLVMBuildExtractValue(g->b, v, i, "");
}

/* ---- one matrix instruction ---- */

static char operand_letter(const MmaInfo *m) {
    return m->a == EL_F64 ? 'd' : 'r';
}

static char result_letter(const MmaInfo *m) {
    return m->c == EL_F64 ? 'd' : m->c == EL_F32 ? 'f' : 'r';
}

/* acc = a b + acc, by an instruction whose shares of A, B and C are ra, rb and rc registers. */
static void mma_call(Gen *g, const MmaInfo *m, const LLVMValueRef *a, int ra, const LLVMValueRef *b,
                     LLVMValueRef *acc, int rc) {
    Buf text = buf_new(&g->s->arena), constraints = buf_new(&g->s->arena);
    LLVMValueRef args[16];
    int n = 0, at = 0;
    buf_printf(&text, "%s ", m->text);
    const int sizes[] = {rc, ra, m->rb, rc};
    for (int part = 0; part < 4; part++) {
        buf_puts(&text, part ? ", {" : "{");
        for (int i = 0; i < sizes[part]; i++)
            buf_printf(&text, i ? ", $%d" : "$%d", part == 3 ? i : at++);
        buf_putc(&text, '}');
    }
    buf_putc(&text, ';');
    for (int i = 0; i < rc; i++) buf_printf(&constraints, i ? ",=%c" : "=%c", result_letter(m));
    for (int i = 0; i < ra + m->rb; i++) buf_printf(&constraints, ",%c", operand_letter(m));
    for (int i = 0; i < rc; i++) buf_printf(&constraints, ",%d", i);
    for (int i = 0; i < ra; i++) args[n++] = a[i];
    for (int i = 0; i < m->rb; i++) args[n++] = b[i];
    for (int i = 0; i < rc; i++) args[n++] = acc[i];
    LLVMTypeRef reg = m->c == EL_F64 ? g->f64 : m->c == EL_F32 ? g->f32 : g->i32;
    LLVMTypeRef fields[4] = {reg, reg, reg, reg};
    LLVMTypeRef ret = LLVMStructTypeInContext(g->c, fields, (unsigned)rc, 0);
    LLVMValueRef v =
        gen_asm(g, text.data, constraints.data, ret, args, n, ASM_PURE | ASM_CONVERGENT);
    for (unsigned i = 0; i < (unsigned)rc; i++) acc[i] = LLVMBuildExtractValue(g->b, v, i, "");
}

/* A 16x8 tile of accumulators: one instruction, or two that have half of the rows each. */
static void multiply_tile(Gen *g, const MmaInfo *m, const LLVMValueRef *a, const LLVMValueRef *b,
                          LLVMValueRef *acc) {
    if (m->m == 16) {
        mma_call(g, m, a, m->ra, b, acc, m->rc);
        return;
    }
    for (int half = 0; half < 2; half++) {
        LLVMValueRef rows[4];
        for (int i = 0; i < m->ra / 2; i++) rows[i] = a[2 * i + half]; /* rows alternate */
        mma_call(g, m, rows, m->ra / 2, b, &acc[half * m->rc / 2], m->rc / 2);
    }
}

/* ---- dot on matrix instructions ---- */

typedef struct Tiles { /* a warp's share of a product: mt x nt instructions, ks steps */
    int mt, nt, ks;
    LLVMValueRef *a[2], *b[2], *acc; /* fragments of this step of K and of the next */
} Tiles;

static void load_step(Gen *g, const MmaInfo *m, Tiles *w, Fragments *fa, Fragments *fb,
                      uint32_t batch, int k) {
    uint32_t at = (uint32_t)(k * m->k);
    for (int i = 0; i < w->mt; i++)
        load_fragment(g, fa, batch, (uint32_t)i * 16, at, &w->a[k & 1][i * m->ra]);
    for (int j = 0; j < w->nt; j += 2)
        load_fragment(g, fb, batch, (uint32_t)j * 8, at, &w->b[k & 1][j * m->rb]);
}

/* Fragments of one step of K are read while the step before is multiplied. */
static void multiply_batch(Gen *g, const MmaInfo *m, Tiles *w, Fragments *fa, Fragments *fb,
                           uint32_t batch) {
    load_step(g, m, w, fa, fb, batch, 0);
    for (int k = 0; k < w->ks; k++) {
        if (k + 1 < w->ks) load_step(g, m, w, fa, fb, batch, k + 1);
        for (int i = 0; i < w->mt; i++)
            for (int j = 0; j < w->nt; j++)
                multiply_tile(g, m, &w->a[k & 1][i * m->ra], &w->b[k & 1][j * m->rb],
                              &w->acc[(i * w->nt + j) * m->rc]);
    }
}

static bool dot_mma(Gen *g, const Op *op, const MmaInfo *m) {
    Type ta = op->operand[0].value->type, tc = op->result[0]->type;
    int wm = (int)ir_attr_int(op, AT_WARPS_M, 0), wn = (int)ir_attr_int(op, AT_WARPS_N, 0);
    Layout want = layout_mma_c(tc, wm, wn);
    Fragments fa, fb;
    if (!type_is_buffer(op->operand[0].value->type) ||
        !type_is_buffer(op->operand[1].value->type) || !op->result[0]->layout ||
        !layout_equal(&want, op->result[0]->layout) || !fragments_of(g, op, 0, m, &fa) ||
        !fragments_of(g, op, 1, m, &fb))
        return false;
    int r = tc.rank;
    Tiles w = {.mt = 1 << above(tc.log2[r - 2], 4 + wm),
               .nt = 1 << above(tc.log2[r - 1], 3 + wn),
               .ks = 1 << above(ta.log2[r - 1], log2_of(m->k))};
    Tile c = gen_tile(g, op->operand[2].value), d = gen_new_tile(g, op->result[0]);
    for (int i = 0; i < 2; i++) {
        w.a[i] = arena_array(&g->s->arena, (size_t)(w.mt * m->ra), sizeof(LLVMValueRef));
        w.b[i] =
            arena_array(&g->s->arena, (size_t)((w.nt + 1) / 2 * 2 * m->rb), sizeof(LLVMValueRef));
    }
    /* Accumulator registers, as layout_mma_c orders them: 2 columns, 2 row halves, then the tiles
     * along N, then along M, then the batch. f16 accumulators travel two columns to a register. */
    int rc = m->rc, tiles = w.mt * w.nt;
    w.acc = arena_array(&g->s->arena, (size_t)(tiles * rc), sizeof *w.acc);
    for (int at = 0; at < d.n; at += 4 * tiles) {
        for (int i = 0; i < tiles; i++) {
            if (rc == 4)
                memcpy(&w.acc[i * rc], &c.at[at + i * 4], 4 * sizeof *w.acc);
            else
                gen_pack(g, type_element(tc), &c.at[at + i * 4], 4, 32, &w.acc[i * rc]);
        }
        multiply_batch(g, m, &w, &fa, &fb, (uint32_t)(at / (4 * tiles)));
        for (int i = 0; i < tiles; i++) {
            if (rc == 4)
                memcpy(&d.at[at + i * 4], &w.acc[i * rc], 4 * sizeof *w.acc);
            else
                gen_unpack(g, type_element(tc), &w.acc[i * rc], 32, &d.at[at + i * 4], 4);
        }
    }
    return true;
}

/* ---- dot on ordinary units ---- */

/* The layout in which a thread reads what it needs of an operand for a slab of K: registers walk K
 * (slab bits, if K is contiguous), then the rows or columns its accumulators have. */
static Layout slab_layout(const Layout *acc, Type tc, Type t, int operand, int slab) {
    int r = tc.rank, side_c = r - (operand == 0 ? 2 : 1), side = r - (operand == 0 ? 2 : 1);
    int k_dim = r - (operand == 0 ? 1 : 2);
    Layout l = layout_new(t);
    uint32_t keep = (((uint32_t)1 << tc.log2[side_c]) - 1);
    if (slab > 0) layout_push_dim(&l, IN_REG, t, k_dim, 0, slab);
    for (int in = IN_REG; in <= IN_WARP; in++)
        for (int k = 0; k < acc->bits[in]; k++) {
            uint32_t row = acc->basis[in][k] >> type_dim_shift(tc, side_c) & keep;
            uint32_t image = row << type_dim_shift(t, side);
            for (int d = 0; d + 2 < r; d++) { /* batch dimensions are the same on both sides */
                uint32_t part =
                    acc->basis[in][k] >> type_dim_shift(tc, d) & (((uint32_t)1 << tc.log2[d]) - 1);
                image |= part << type_dim_shift(t, d);
            }
            if (in != IN_REG || image) layout_push(&l, (LayoutIn)in, image);
        }
    return l;
}

/* For accumulator register i: which register of the slab holds its row (or column). */
static int slab_register(const Layout *acc, Type tc, int slab, int operand, int i) {
    int side = tc.rank - (operand == 0 ? 2 : 1), n = slab, reg = 0;
    uint32_t keep = (((uint32_t)1 << tc.log2[side]) - 1) << type_dim_shift(tc, side);
    for (int d = 0; d + 2 < tc.rank; d++)
        keep |= (((uint32_t)1 << tc.log2[d]) - 1) << type_dim_shift(tc, d);
    for (int k = 0; k < acc->bits[IN_REG]; k++) {
        if (!(acc->basis[IN_REG][k] & keep)) continue;
        if (i >> k & 1) reg |= 1 << n;
        n++;
    }
    return reg;
}

static LLVMValueRef multiply_add(Gen *g, Type tc, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c) {
    if (!type_is_float(tc)) return LLVMBuildAdd(g->b, LLVMBuildMul(g->b, a, b, ""), c, "");
    LLVMValueRef x[] = {a, b, c};
    LLVMTypeRef t = LLVMTypeOf(a);
    return gen_intrinsic(g, INTRINSIC_FMA, &t, 1, x, 3);
}

static bool dot_fma(Gen *g, const Op *op) {
    const Value *va = op->operand[0].value, *vb = op->operand[1].value;
    Type tc = op->result[0]->type, ta = va->type, tb = vb->type;
    const Layout *acc = op->result[0]->layout;
    if (!type_is_buffer(ta) || !type_is_buffer(tb) || !acc) return false;
    ta = type_in_space(ta, SPACE_REGISTER);
    tb = type_in_space(tb, SPACE_REGISTER);
    int r = tc.rank, k_log2 = ta.log2[r - 1];
    int slab = log2_of(16 / type_elem_bytes(ta));
    if (slab > k_log2) slab = k_log2;
    Layout la = slab_layout(acc, tc, ta, 0, slab), lb = slab_layout(acc, tc, tb, 1, slab);
    SharedView sa, sb;
    if (!gen_shared_view(g, va, &la, &sa) || !gen_shared_view(g, vb, &lb, &sb)) return false;
    /* B's registers are ordered K first; where N is contiguous instead, reading N first is wide. */
    Layout lb_n = lb;
    for (int k = 0; k < slab; k++) {
        memmove(&lb_n.basis[IN_REG][0], &lb_n.basis[IN_REG][1],
                (size_t)(lb.bits[IN_REG] - 1) * sizeof(uint32_t));
        lb_n.basis[IN_REG][lb.bits[IN_REG] - 1] = lb.basis[IN_REG][k];
    }
    int nb = lb.bits[IN_REG];
    bool n_first =
        layout_shared_vector_bits(&lb_n, vb->layout) > layout_shared_vector_bits(&lb, vb->layout);
    if (n_first && !gen_shared_view(g, vb, &lb_n, &sb)) return false;
    Tile c = gen_tile(g, op->operand[2].value), d = gen_new_tile(g, op->result[0]);
    Type wide = type_element(tc);
    for (int i = 0; i < d.n; i++) d.at[i] = gen_widen(g, c.at[i], wide);
    LLVMValueRef *ea = arena_array(&g->s->arena, (size_t)1 << la.bits[IN_REG], sizeof *ea);
    LLVMValueRef *eb = arena_array(&g->s->arena, (size_t)1 << nb, sizeof *eb);
    ConversionMap ra, rb;
    if (!layout_offset_map(ta, va->layout, &ra) || !layout_offset_map(tb, vb->layout, &rb))
        return false;
    Type to = type_is_float(tc) && tc.elem != EL_F64 ? type_scalar(EL_F32) : wide;
    for (int k = 0; k < 1 << k_log2; k += 1 << slab) {
        /* Else ptxas reads many slabs ahead and runs out of registers. */
        LLVMValueRef all_lanes = LLVMConstInt(g->i32, UINT32_MAX, 0);
        if (k) gen_intrinsic(g, INTRINSIC_WARP_BARRIER, NULL, 0, &all_lanes, 1);
        uint32_t at_a = layout_element_offset(&ra, (uint32_t)k << type_dim_shift(ta, r - 1));
        uint32_t at_b = layout_element_offset(&rb, (uint32_t)k << type_dim_shift(tb, r - 2));
        gen_shared_read(g, ta, &sa, &la, layout_shared_access_bits(&la, va->layout, ta), at_a, ea);
        const Layout *lb_is = n_first ? &lb_n : &lb;
        gen_shared_read(g, tb, &sb, lb_is, layout_shared_access_bits(lb_is, vb->layout, tb), at_b,
                        eb);
        for (int i = 0; i < 1 << la.bits[IN_REG]; i++)
            ea[i] = gen_convert(g, ea[i], type_element(ta), to, false);
        for (int i = 0; i < 1 << nb; i++)
            eb[i] = gen_convert(g, eb[i], type_element(tb), to, false);
        for (int kk = 0; kk < 1 << slab; kk++)
            for (int i = 0; i < d.n; i++) {
                int x = slab_register(acc, tc, slab, 0, i) | kk;
                int y = slab_register(acc, tc, slab, 1, i) | kk;
                if (n_first) y = (y >> slab) | (kk << (nb - slab));
                d.at[i] = multiply_add(g, tc, ea[x], eb[y], d.at[i]);
            }
    }
    for (int i = 0; i < d.n; i++) d.at[i] = gen_narrow(g, d.at[i], wide);
    return true;
}

void gen_dot(Gen *g, const Op *op) {
    const Attr *mma = ir_attr(op, AT_MMA);
    bool done = ir_attr(op, AT_WGMMA) ? gen_dot_wgmma(g, op)
                : mma                 ? dot_mma(g, op, mma_row((int)mma->i))
                                      : dot_fma(g, op);
    if (done) return;
    gen_error(g, op, "the dot's operands are not laid out for it; this is a bug in tilec");
    Tile d = gen_new_tile(g, op->result[0]);
    for (int i = 0; i < d.n; i++) d.at[i] = LLVMGetPoison(gen_elem_type(g, op->result[0]->type));
}
