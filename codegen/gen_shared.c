/* gen_shared.c: tiles to and from shared memory, and `dot`.
 *
 * Everything here is one question: which offset of the buffer holds the element of this register,
 * lane and warp? The route from the register layout to the buffer's layout answers it, linearly:
 * (share of lane and warp) XOR (constant of the register). The constant is split in the bits that
 * the lane's share may flip, which need a XOR (few different ones, kept in a cache), and the rest,
 * which is a constant offset of the instruction. */
#include "codegen/gen.h"

#include <stdio.h>
#include <string.h>

static int log2_of(int64_t n) {
    int l = 0;
    while (((int64_t)2 << l) <= n) l++;
    return l;
}

bool gen_shared_view(Gen *g, const Value *buffer, const Layout *at, SharedView *view) {
    memset(view, 0, sizeof *view);
    if (!layout_route(at, buffer->layout, &view->route)) return false;
    view->elem_log2 = log2_of(type_elem_bytes(buffer->type));
    /* The offsets that lanes and warps add, in bytes, as a layout of their own. */
    Layout l = {.out = (uint8_t)(buffer->layout->bits[IN_OFFSET] + view->elem_log2)};
    for (int in = IN_LANE; in <= IN_WARP; in++)
        for (int k = 0; k < at->bits[in]; k++)
            layout_push(&l, (LayoutIn)in,
                        place_part(view->route.col[in][k], IN_OFFSET) << view->elem_log2);
    view->lane = gen_lane_part(g, &l, &view->mask);
    LLVMValueRef base = LLVMConstPtrToInt(g->shared, g->i32);
    int64_t offset = ir_attr_int(buffer->def, AT_OFFSET, 0);
    view->buffer = offset ? LLVMConstAdd(base, gen_i32(g, (uint32_t)offset)) : base;
    return true;
}

LLVMValueRef gen_shared_pointer(Gen *g, SharedView *v, uint32_t offset) {
    uint32_t bytes = offset << v->elem_log2, flip = bytes & v->mask, add = bytes & ~v->mask;
    LLVMValueRef address = NULL;
    for (int i = 0; i < v->ncache && !address; i++)
        if (v->cache[i].flip == flip) address = v->cache[i].address;
    if (!address) {
        LLVMValueRef lane = flip ? LLVMBuildXor(g->entry, v->lane, gen_i32(g, flip), "") : v->lane;
        address = LLVMBuildIntToPtr(g->entry, LLVMBuildAdd(g->entry, v->buffer, lane, ""),
                                    g->ptr_shared, "");
        if (v->ncache < 64) {
            v->cache[v->ncache].flip = flip;
            v->cache[v->ncache++].address = address;
        }
    }
    if (!add) return address;
    LLVMValueRef by = gen_i32(g, add);
    return LLVMBuildInBoundsGEP2(g->b, g->i8, address, &by, 1, "");
}

/* ---- whole tiles ---- */

typedef struct Access {
    int vec, bits, words; /* log2 elements; the register size and number of one access */
} Access;

static Access shared_access(Type t, const Layout *reg, const Layout *shared, int registers) {
    int size = type_elem_bytes(t), vec = layout_shared_vector_bits(reg, shared);
    int widest = log2_of(16 / size), most = log2_of(registers);
    if (vec > widest) vec = widest;
    if (vec > most) vec = most;
    int bytes = size << vec;
    if (bytes < 4) return (Access){vec, bytes * 8, 1};
    if (size == 8) return (Access){vec, 64, bytes / 8};
    return (Access){vec, 32, bytes / 4};
}

static LLVMTypeRef access_type(Gen *g, Access a) {
    LLVMTypeRef w = LLVMIntTypeInContext(g->c, (unsigned)a.bits);
    return a.words == 1 ? w : LLVMVectorType(w, (unsigned)a.words);
}

static unsigned access_bytes(Access a) {
    return (unsigned)(a.bits / 8 * a.words);
}

static void read_elements(Gen *g, Type t, SharedView *v, Access a, const Layout *at, uint32_t flip,
                          LLVMValueRef *elem) {
    int n = 1 << at->bits[IN_REG];
    for (int i = 0; i < n; i += 1 << a.vec) {
        uint32_t place[IN_DIMS] = {(uint32_t)i};
        uint32_t offset = place_part(route_apply(&v->route, place), IN_OFFSET) ^ flip;
        LLVMValueRef x =
            LLVMBuildLoad2(g->b, access_type(g, a), gen_shared_pointer(g, v, offset), "");
        LLVMSetAlignment(x, access_bytes(a));
        LLVMValueRef word[16];
        for (int w = 0; w < a.words; w++)
            word[w] =
                a.words == 1 ? x : LLVMBuildExtractElement(g->b, x, gen_i32(g, (uint32_t)w), "");
        gen_unpack(g, t, word, a.bits, &elem[i], 1 << a.vec);
    }
}

void gen_shared_load(Gen *g, const Op *op) {
    const Value *buffer = op->operand[0].value, *r = op->result[0];
    Tile out = gen_new_tile(g, r);
    SharedView v;
    if (!r->layout || !gen_shared_view(g, buffer, r->layout, &v)) {
        gen_error(g, op, "no way from the buffer to the tile's layout; this is a bug in tilec");
        for (int i = 0; i < out.n; i++) out.at[i] = LLVMGetPoison(gen_elem_type(g, r->type));
        return;
    }
    read_elements(g, r->type, &v, shared_access(r->type, r->layout, buffer->layout, out.n),
                  r->layout, 0, out.at);
}

void gen_shared_store(Gen *g, const Op *op) {
    const Value *x = op->operand[0].value, *buffer = op->operand[1].value;
    Tile in = gen_tile(g, x);
    SharedView v;
    if (!x->layout || !gen_shared_view(g, buffer, x->layout, &v)) {
        gen_error(g, op, "no way from the tile's layout to the buffer; this is a bug in tilec");
        return;
    }
    Access a = shared_access(x->type, x->layout, buffer->layout, in.n);
    uint32_t copies = layout_free_mask(x->layout, IN_REG);
    /* Copies of an element write the same value to the same place, which is harmless and needs no
     * predicate; copies within a thread are left out. */
    for (int i = 0; i < in.n; i += 1 << a.vec) {
        if ((uint32_t)i & copies) continue;
        uint32_t place[IN_DIMS] = {(uint32_t)i};
        uint32_t offset = place_part(route_apply(&v.route, place), IN_OFFSET);
        LLVMValueRef word[16], all;
        gen_pack(g, x->type, &in.at[i], 1 << a.vec, a.bits, word);
        all = word[0];
        if (a.words > 1) {
            all = LLVMGetPoison(access_type(g, a));
            for (int w = 0; w < a.words; w++)
                all = LLVMBuildInsertElement(g->b, all, word[w], gen_i32(g, (uint32_t)w), "");
        }
        LLVMSetAlignment(LLVMBuildStore(g->b, all, gen_shared_pointer(g, &v, offset)),
                         access_bytes(a));
    }
}

/* ---- dot on matrix instructions ---- */

/* One operand of a dot as ldmatrix reads it: four 8x8 matrices of 16-bit elements at once. */
typedef struct Fragments {
    SharedView view;
    const Value *buffer;
    Route to_offset; /* from elements to the buffer's offsets */
    bool trans;
    int row_shift, col_shift; /* of the operand's last two dimensions in a flat index */
} Fragments;

static int shift_of(Type t, int from_last) {
    return type_dim_shift(t, t.rank - 1 - from_last);
}

/* Which element row each lane addresses: handbook recipes for A and B in both majors, as lane bits.
 * `side` is the operand's dimension that is not K (rows of A, columns of B). */
static bool fragments_of(Gen *g, const Op *op, int operand, Fragments *f) {
    const Value *buffer = op->operand[operand].value;
    Type t = buffer->type;
    t.shared = 0;
    memset(f, 0, sizeof *f);
    f->buffer = buffer;
    int k_dim = t.rank - (operand == 0 ? 1 : 2), side = t.rank - (operand == 0 ? 2 : 1);
    int wm = (int)ir_attr_int(op, AT_WARPS_M, 0), wn = (int)ir_attr_int(op, AT_WARPS_N, 0);
    /* Eight elements in a row must be adjacent in the buffer, along K or along the other side. */
    const uint32_t *basis = buffer->layout->basis[IN_OFFSET];
    f->trans = basis[0] != (uint32_t)1 << type_dim_shift(t, k_dim);
    int fast = f->trans ? side : k_dim;
    for (int i = 0; i < 3; i++)
        if (basis[i] != (uint32_t)1 << (type_dim_shift(t, fast) + i)) return false;
    Layout at = layout_new(t);
    int slow = f->trans ? k_dim : side;
    layout_push_dim(&at, IN_LANE, t, slow, 0, 3);
    if (operand == 0) {
        layout_push_dim(&at, IN_LANE, t, side, 3, 1);
        layout_push_dim(&at, IN_LANE, t, k_dim, 3, 1);
    } else {
        layout_push_dim(&at, IN_LANE, t, k_dim, 3, 1);
        layout_push_dim(&at, IN_LANE, t, side, 3, 1);
    }
    int frag = operand == 0 ? 4 : 3, bits = t.log2[side], mine = operand == 0 ? wm : wn;
    int rest = bits > frag + mine ? bits - frag - mine : 0;
    if (operand == 1)
        for (int i = 0; i < wm; i++) layout_push(&at, IN_WARP, 0);
    layout_push_dim(&at, IN_WARP, t, side, frag + rest, mine);
    if (!gen_shared_view(g, buffer, &at, &f->view)) return false;
    Layout all = layout_new(t);
    for (int i = 0; i < all.out; i++) layout_push(&all, IN_REG, (uint32_t)1 << i);
    f->row_shift = type_dim_shift(t, side);
    f->col_shift = type_dim_shift(t, k_dim);
    return layout_route(&all, buffer->layout, &f->to_offset);
}

/* The four registers of the 16x16 sub-tile at (side, k), in units of elements. */
static void load_fragment(Gen *g, Fragments *f, uint32_t side, uint32_t k, LLVMValueRef *reg) {
    uint32_t element[IN_DIMS] = {side << f->row_shift | k << f->col_shift};
    uint32_t offset = place_part(route_apply(&f->to_offset, element), IN_OFFSET);
    LLVMValueRef p = gen_shared_pointer(g, &f->view, offset);
    const char *name = f->trans ? "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.trans.b16"
                                : "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16";
    LLVMTypeRef overload = g->ptr_shared;
    LLVMValueRef v = gen_intrinsic(g, name, &overload, 1, &p, 1);
    for (unsigned i = 0; i < 4; i++) reg[i] = LLVMBuildExtractValue(g->b, v, i, "");
}

static LLVMValueRef mma_call(Gen *g, const MmaInfo *m, const LLVMValueRef *a, const LLVMValueRef *b,
                             const LLVMValueRef *c) {
    Buf text = buf_new(&g->s->arena), constraints = buf_new(&g->s->arena);
    char letter = m->c == EL_F32 ? 'f' : 'r';
    LLVMValueRef args[16];
    int n = 0, at = 0;
    buf_printf(&text, "%s ", m->text);
    const int sizes[] = {m->rc, m->ra, m->rb, m->rc};
    for (int part = 0; part < 4; part++) {
        buf_puts(&text, part ? ", {" : "{");
        for (int i = 0; i < sizes[part]; i++)
            buf_printf(&text, i ? ", $%d" : "$%d", part == 3 ? i : at++);
        buf_putc(&text, '}');
    }
    buf_putc(&text, ';');
    for (int i = 0; i < m->rc; i++) buf_printf(&constraints, i ? ",=%c" : "=%c", letter);
    for (int i = 0; i < m->ra + m->rb; i++) buf_puts(&constraints, ",r");
    for (int i = 0; i < m->rc; i++) buf_printf(&constraints, ",%d", i);
    for (int i = 0; i < m->ra; i++) args[n++] = a[i];
    for (int i = 0; i < m->rb; i++) args[n++] = b[i];
    for (int i = 0; i < m->rc; i++) args[n++] = c[i];
    LLVMTypeRef reg = m->c == EL_F32 ? g->f32 : g->i32, fields[4] = {reg, reg, reg, reg};
    LLVMTypeRef ret = LLVMStructTypeInContext(g->c, fields, (unsigned)m->rc, 0);
    return gen_asm(g, text.data, constraints.data, ret, args, n, ASM_PURE | ASM_CONVERGENT);
}

static int above(int bits, int used) {
    return bits > used ? bits - used : 0;
}

static bool dot_mma(Gen *g, const Op *op, const MmaInfo *m) {
    Type ta = op->operand[0].value->type, tc = op->result[0]->type;
    int wm = (int)ir_attr_int(op, AT_WARPS_M, 0), wn = (int)ir_attr_int(op, AT_WARPS_N, 0);
    Layout want = layout_mma_c(tc, wm, wn);
    Fragments fa, fb;
    if (!op->operand[0].value->type.shared || !op->operand[1].value->type.shared ||
        !op->result[0]->layout || !layout_equal(&want, op->result[0]->layout) ||
        !fragments_of(g, op, 0, &fa) || !fragments_of(g, op, 1, &fb))
        return false;
    int r = tc.rank, mt = 1 << above(tc.log2[r - 2], 4 + wm),
        nt = 1 << above(tc.log2[r - 1], 3 + wn);
    int ks = 1 << above(ta.log2[r - 1], log2_of(m->k));
    Tile c = gen_tile(g, op->operand[2].value), d = gen_new_tile(g, op->result[0]);
    /* Accumulator registers, as layout_mma_c orders them: 2 columns, 2 row halves, then the tiles
     * along N, then along M. f16 accumulators travel two columns to a register. */
    int rc = m->rc, per = 4 / rc;
    LLVMValueRef *acc = arena_array(&g->s->arena, (size_t)(mt * nt * rc), sizeof *acc);
    for (int i = 0; i < mt * nt; i++) {
        if (per == 1)
            memcpy(&acc[i * rc], &c.at[i * 4], 4 * sizeof *acc);
        else
            gen_pack(g, type_element(tc), &c.at[i * 4], 4, 32, &acc[i * rc]);
    }
    LLVMValueRef *a = arena_array(&g->s->arena, (size_t)mt * 4, sizeof *a);
    LLVMValueRef *b = arena_array(&g->s->arena, (size_t)(nt + 1) / 2 * 4, sizeof *b);
    for (int k = 0; k < ks; k++) {
        for (int i = 0; i < mt; i++)
            load_fragment(g, &fa, (uint32_t)i * 16, (uint32_t)(k * m->k), &a[i * 4]);
        for (int j = 0; j < nt; j += 2)
            load_fragment(g, &fb, (uint32_t)j * 8, (uint32_t)(k * m->k), &b[j * 2]);
        for (int i = 0; i < mt; i++)
            for (int j = 0; j < nt; j++) {
                LLVMValueRef *at = &acc[(i * nt + j) * rc];
                LLVMValueRef v = mma_call(g, m, &a[i * 4], &b[j * 2], at);
                for (unsigned e = 0; e < (unsigned)rc; e++)
                    at[e] = LLVMBuildExtractValue(g->b, v, e, "");
            }
    }
    for (int i = 0; i < mt * nt; i++) {
        if (per == 1)
            memcpy(&d.at[i * 4], &acc[i * rc], 4 * sizeof *acc);
        else
            gen_unpack(g, type_element(tc), &acc[i * rc], 32, &d.at[i * 4], 4);
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
    return gen_intrinsic(g, "llvm.fma", &t, 1, x, 3);
}

static bool dot_fma(Gen *g, const Op *op) {
    const Value *va = op->operand[0].value, *vb = op->operand[1].value;
    Type tc = op->result[0]->type, ta = va->type, tb = vb->type;
    const Layout *acc = op->result[0]->layout;
    if (!ta.shared || !tb.shared || !acc) return false;
    ta.shared = tb.shared = 0;
    int r = tc.rank, k_log2 = ta.log2[r - 1];
    int slab = log2_of(16 / type_elem_bytes(ta));
    if (slab > k_log2) slab = k_log2;
    Layout la = slab_layout(acc, tc, ta, 0, slab), lb = slab_layout(acc, tc, tb, 1, slab);
    SharedView sa, sb;
    if (!gen_shared_view(g, va, &la, &sa) || !gen_shared_view(g, vb, &lb, &sb)) return false;
    Access xa = shared_access(ta, &la, va->layout, 1 << la.bits[IN_REG]);
    /* B's registers are ordered K first; where N is contiguous instead, reading N first is wide. */
    Layout lb_n = lb;
    for (int k = 0; k < slab; k++) {
        memmove(&lb_n.basis[IN_REG][0], &lb_n.basis[IN_REG][1],
                (size_t)(lb.bits[IN_REG] - 1) * sizeof(uint32_t));
        lb_n.basis[IN_REG][lb.bits[IN_REG] - 1] = lb.basis[IN_REG][k];
    }
    int nb = lb.bits[IN_REG];
    Access xb = shared_access(tb, &lb, vb->layout, 1 << nb),
           xn = shared_access(tb, &lb_n, vb->layout, 1 << nb);
    bool n_first = xn.vec > xb.vec;
    if (n_first && !gen_shared_view(g, vb, &lb_n, &sb)) return false;
    Tile c = gen_tile(g, op->operand[2].value), d = gen_new_tile(g, op->result[0]);
    Type wide = type_element(tc);
    for (int i = 0; i < d.n; i++) d.at[i] = gen_widen(g, c.at[i], wide);
    LLVMValueRef *ea = arena_array(&g->s->arena, (size_t)1 << la.bits[IN_REG], sizeof *ea);
    LLVMValueRef *eb = arena_array(&g->s->arena, (size_t)1 << nb, sizeof *eb);
    Layout find_a = layout_new(ta), find_b = layout_new(tb);
    Route ra, rb;
    for (int i = 0; i < find_a.out; i++) layout_push(&find_a, IN_REG, (uint32_t)1 << i);
    for (int i = 0; i < find_b.out; i++) layout_push(&find_b, IN_REG, (uint32_t)1 << i);
    if (!layout_route(&find_a, va->layout, &ra) || !layout_route(&find_b, vb->layout, &rb))
        return false;
    Type to = type_is_float(tc) && tc.elem != EL_F64 ? type_scalar(EL_F32) : wide;
    for (int k = 0; k < 1 << k_log2; k += 1 << slab) {
        uint32_t pa[IN_DIMS] = {(uint32_t)k << shift_of(ta, 0)},
                 pb[IN_DIMS] = {(uint32_t)k << shift_of(tb, 1)};
        read_elements(g, ta, &sa, xa, &la, place_part(route_apply(&ra, pa), IN_OFFSET), ea);
        read_elements(g, tb, &sb, n_first ? xn : xb, n_first ? &lb_n : &lb,
                      place_part(route_apply(&rb, pb), IN_OFFSET), eb);
        for (int i = 0; i < 1 << la.bits[IN_REG]; i++)
            ea[i] = gen_convert(g, op, ea[i], type_element(ta), to, false);
        for (int i = 0; i < 1 << nb; i++)
            eb[i] = gen_convert(g, op, eb[i], type_element(tb), to, false);
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
    bool done = mma ? dot_mma(g, op, mma_row((int)mma->i)) : dot_fma(g, op);
    if (done) return;
    gen_error(g, op, "the dot's operands are not laid out for it; this is a bug in tilec");
    Tile d = gen_new_tile(g, op->result[0]);
    for (int i = 0; i < d.n; i++) d.at[i] = LLVMGetPoison(gen_elem_type(g, op->result[0]->type));
}
