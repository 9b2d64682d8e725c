/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gen_dot.c: `dot`, on matrix instructions or multiply-adds, from operands in shared memory, which
 * are read as the dot says, through the layouts of ir/fragment.h. */
#include "codegen/gen.h"
#include "ir/fragment.h"

#include <string.h>

static int above(int bits, int used) {
    return bits > used ? bits - used : 0;
}

/* ---- operands of matrix instructions ---- */

typedef struct Fragments { /* of one operand */
    const MmaInfo *m;
    SharedView view;
    Type type;
    Layout at;               /* of one load: lanes, and registers too when loaded by element */
    ConversionMap to_offset; /* from elements to the buffer's offsets */
    bool by_matrix, trans;
    int vec;                              /* log2 elements of one load, when by element */
    int side_shift, k_shift, batch_shift; /* of the operand's dimensions in a flat index */
    int regs;                             /* what one load brings: 16 rows of A, 16 columns of B */
} Fragments;

/* log2 of the elements of an operand that one instruction reads. */
static int width_of(const Op *dot, int operand) {
    const Attr *vectors = ir_attr(dot, AT_VECTORS);
    return vectors ? vectors->dims[operand] : 0;
}

/* `side` is the operand's dimension that is not K: rows of A, columns of B. */
static bool fragments_of(Gen *g, const Op *op, int operand, const MmaInfo *m, Fragments *f) {
    const Value *buffer = op->operand[operand].value;
    Type t = type_in_space(buffer->type, SPACE_REGISTER);
    memset(f, 0, sizeof *f);
    f->m = m;
    f->type = t;
    int k_dim = t.rank - (operand == 0 ? 1 : 2), side = t.rank - (operand == 0 ? 2 : 1);
    f->side_shift = type_dim_shift(t, side);
    f->k_shift = type_dim_shift(t, k_dim);
    f->batch_shift = t.log2[side] + t.log2[k_dim];
    f->regs = operand == 0 ? m->ra : 2 * m->rb;
    f->by_matrix = ir_attr_int(op, AT_LDMATRIX, 0) >> operand & 1;
    f->trans = fragment_is_transposed(op, operand);
    f->vec = width_of(op, operand);
    f->at = fragment_layout(op, operand);
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
        gen_shared_read(g, f->type, &f->view, &f->at, f->vec, offset, elem);
        if (f->m->a == EL_F64)
            memcpy(reg, elem, (size_t)f->regs * sizeof *reg);
        else
            gen_pack(g, f->type, elem, f->regs << f->m->pack, 32, reg);
        return;
    }
    gen_load_matrices(g, &f->view, offset, f->trans, reg);
}

/* ---- one matrix instruction ---- */

static char operand_letter(const MmaInfo *m) {
    return m->a == EL_F64 ? 'd' : 'r';
}

static char result_letter(const MmaInfo *m) {
    return m->c == EL_F64 ? 'd' : m->c == EL_F32 ? 'f' : 'r';
}

/* LLVM's own instruction, which takes its selection a tenth of the nodes that inline PTX takes;
 * NINTRINSICS: both LLVMs have none. */
static Intrinsic mma_intrinsic(const MmaInfo *m, bool saturate) {
    if (saturate || m->a != m->b) return NINTRINSICS;
    if (m->c == EL_I32) return m->a == EL_I8 ? INTRINSIC_MMA_S8 : NINTRINSICS;
    if (m->c != EL_F32) return NINTRINSICS;
    switch (m->a) {
    case EL_F16: return INTRINSIC_MMA_F16;
    case EL_BF16: return INTRINSIC_MMA_BF16;
    case EL_F32: return INTRINSIC_MMA_TF32;
    default: return NINTRINSICS;
    }
}

/* acc = a b + acc, by an instruction whose shares of A, B and C are ra, rb and rc registers. */
static void mma_call(Gen *g, const MmaInfo *m, bool saturate, const LLVMValueRef *a, int ra,
                     const LLVMValueRef *b, LLVMValueRef *acc, int rc) {
    Buf text = buf_new(&g->s->arena), constraints = buf_new(&g->s->arena);
    LLVMValueRef args[16];
    Intrinsic own = mma_intrinsic(m, saturate);
    int n = 0, at = 0;
    for (int i = 0; i < ra; i++) args[n++] = a[i];
    for (int i = 0; i < m->rb; i++) args[n++] = b[i];
    for (int i = 0; i < rc; i++) args[n++] = acc[i];
    if (own < NINTRINSICS) {
        LLVMValueRef v = gen_intrinsic(g, own, NULL, 0, args, n);
        gen_convergent(g, v);
        for (unsigned i = 0; i < (unsigned)rc; i++) acc[i] = LLVMBuildExtractValue(g->b, v, i, "");
        return;
    }
    const char *type = saturate ? strstr(m->text, ".s32") : NULL;
    if (type)
        buf_printf(&text, "%.*s.satfinite%s ", (int)(type - m->text), m->text, type);
    else
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
    LLVMTypeRef reg = m->c == EL_F64 ? g->f64 : m->c == EL_F32 ? g->f32 : g->i32;
    LLVMTypeRef fields[4] = {reg, reg, reg, reg};
    LLVMTypeRef ret = LLVMStructTypeInContext(g->c, fields, (unsigned)rc, 0);
    LLVMValueRef v =
        gen_asm(g, text.data, constraints.data, ret, args, n, ASM_PURE | ASM_CONVERGENT);
    for (unsigned i = 0; i < (unsigned)rc; i++) acc[i] = LLVMBuildExtractValue(g->b, v, i, "");
}

/* A 16x8 tile of accumulators: one instruction, or two that have half of the rows each. */
static void multiply_tile(Gen *g, const MmaInfo *m, bool saturate, const LLVMValueRef *a,
                          const LLVMValueRef *b, LLVMValueRef *acc) {
    if (m->m == 16) {
        mma_call(g, m, saturate, a, m->ra, b, acc, m->rc);
        return;
    }
    for (int half = 0; half < 2; half++) {
        LLVMValueRef rows[4];
        for (int i = 0; i < m->ra / 2; i++) rows[i] = a[2 * i + half]; /* rows alternate */
        mma_call(g, m, saturate, rows, m->ra / 2, b, &acc[half * m->rc / 2], m->rc / 2);
    }
}

/* ---- dot on matrix instructions ---- */

typedef struct Tiles { /* a warp's share of a product: mt x nt instructions, ks steps */
    int mt, nt, ks;
    LLVMValueRef *a[2], *b[2], *acc; /* fragments of this step of K and of the next */
    bool saturate;
} Tiles;

/* A fragment, in the types that the instruction has for it: each register serves many of them. */
static void load_operand(Gen *g, const Tiles *w, Fragments *f, uint32_t batch, int side, int k,
                         LLVMValueRef *reg) {
    load_fragment(g, f, batch, (uint32_t)side, (uint32_t)(k * f->m->k), reg);
    if (mma_intrinsic(f->m, w->saturate) != INTRINSIC_MMA_F16) return;
    LLVMTypeRef pair = LLVMVectorType(g->f16, 2);
    for (int i = 0; i < f->regs; i++) reg[i] = LLVMBuildBitCast(g->b, reg[i], pair, "");
}

static void load_step(Gen *g, const MmaInfo *m, Tiles *w, Fragments *fa, Fragments *fb,
                      uint32_t batch, int k) {
    for (int i = 0; i < w->mt; i++)
        load_operand(g, w, fa, batch, i * 16, k, &w->a[k & 1][i * m->ra]);
    for (int j = 0; j < w->nt; j += 2)
        load_operand(g, w, fb, batch, j * 8, k, &w->b[k & 1][j * m->rb]);
}

/* Fragments of one step of K are read while the step before is multiplied. */
static void multiply_batch(Gen *g, const MmaInfo *m, Tiles *w, Fragments *fa, Fragments *fb,
                           uint32_t batch) {
    load_step(g, m, w, fa, fb, batch, 0);
    for (int k = 0; k < w->ks; k++) {
        if (k + 1 < w->ks) load_step(g, m, w, fa, fb, batch, k + 1);
        for (int i = 0; i < w->mt; i++)
            for (int j = 0; j < w->nt; j++)
                multiply_tile(g, m, w->saturate, &w->a[k & 1][i * m->ra], &w->b[k & 1][j * m->rb],
                              &w->acc[(i * w->nt + j) * m->rc]);
    }
}

static bool dot_mma(Gen *g, const Op *op, const MmaInfo *m) {
    Type ta = op->operand[0].value->type, tc = op->result[0]->type;
    int wm = (int)ir_attr_int(op, AT_WARPS_M, 0), wn = (int)ir_attr_int(op, AT_WARPS_N, 0);
    Layout want = layout_mma_c(tc, wm, wn);
    Fragments fa, fb;
    if (!fragment_in_lanes(op) || !layout_equal(&want, op->result[0]->layout) ||
        !fragments_of(g, op, 0, m, &fa) || !fragments_of(g, op, 1, m, &fb))
        return false;
    int r = tc.rank;
    Tiles w = {.mt = 1 << above(tc.log2[r - 2], 4 + wm),
               .nt = 1 << above(tc.log2[r - 1], 3 + wn),
               .ks = 1 << above(ta.log2[r - 1], log2_of(m->k)),
               .saturate = ir_attr_int(op, AT_SATURATE, 0)};
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
    if (!fragment_in_lanes(op)) return false;
    const Layout *acc = op->result[0]->layout;
    ta = type_in_space(ta, SPACE_REGISTER);
    tb = type_in_space(tb, SPACE_REGISTER);
    int r = tc.rank, k_log2 = ta.log2[r - 1], slab = fragment_slab_bits(op);
    Layout la = fragment_layout(op, 0), lb = fragment_layout(op, 1);
    int nb = lb.bits[IN_REG];
    bool n_first = ir_attr_int(op, AT_N_FIRST, 0);
    SharedView sa, sb;
    if (!gen_shared_view(g, va, &la, &sa) || !gen_shared_view(g, vb, &lb, &sb)) return false;
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
        gen_shared_read(g, ta, &sa, &la, width_of(op, 0), at_a, ea);
        gen_shared_read(g, tb, &sb, &lb, width_of(op, 1), at_b, eb);
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
    if (ir_attr_int(op, AT_SATURATE, 0) && !mma && !ir_attr(op, AT_WGMMA))
        gen_error(g, E_SATURATE, op,
                  "no matrix instruction takes this dot, and none else saturates: leave out "
                  "--saturate-int8, or make both sides 16 or more");
    bool done = ir_attr(op, AT_WGMMA) ? gen_dot_wgmma(g, op)
                : mma                 ? dot_mma(g, op, mma_row((int)mma->i))
                                      : dot_fma(g, op);
    if (done) return;
    gen_error(g, E_BUG, op, "the dot's operands are not laid out for it; this is a bug in tilec");
    Tile d = gen_new_tile(g, op->result[0]);
    for (int i = 0; i < d.n; i++) d.at[i] = LLVMGetPoison(gen_elem_type(g, op->result[0]->type));
}
