/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* layout.c: linear algebra over F2 on layouts: build, apply, convert, judge (see layout.h).
 *
 * One algorithm carries it: a reduced basis that remembers of which inputs each vector is made.
 * Coverage, replicas, conversion maps and bank conflicts are all questions to it. */
#include "ir/layout.h"

#include <string.h>

/* ---- a reduced basis ---- */

typedef struct F2 { /* slot i: a vector whose top bit is i, if `tops` has that bit; made: the packed
                       hardware index that gives it */
    uint32_t vec[32];
    uint64_t made[32];
    uint32_t tops;
    int rank;
} F2;

static int top_bit(uint32_t v) { /* of what is not 0 */
    return 31 - __builtin_clz(v);
}

static uint32_t f2_reduce(const F2 *s, uint32_t v, uint64_t *made) {
    for (uint32_t hit; (hit = v & s->tops);) { /* clears that bit, and changes none above it */
        int i = top_bit(hit);
        v ^= s->vec[i];
        *made ^= s->made[i];
    }
    return v; /* 0: v is in the span, and made with the hardware index that gives it */
}

static bool f2_add(F2 *s, uint32_t v, uint64_t made) {
    v = f2_reduce(s, v, &made);
    if (!v) return false;
    int top = top_bit(v);
    s->tops |= (uint32_t)1 << top;
    s->vec[top] = v;
    s->made[top] = made;
    s->rank++;
    return true;
}

static const int hw_index_shift[IN_DIMS] = {0, HW_INDEX_LANE, HW_INDEX_WARP, HW_INDEX_BLOCK};
static const uint32_t hw_index_mask[IN_DIMS] = {0xFFFFF, 31, 31, 15};

uint64_t hw_index_pack(const uint32_t hw[IN_DIMS]) {
    uint64_t p = 0;
    for (int in = 0; in < IN_DIMS; in++)
        p |= (uint64_t)(hw[in] & hw_index_mask[in]) << hw_index_shift[in];
    return p;
}

uint32_t hw_index_part(uint64_t packed, LayoutIn in) {
    return (uint32_t)(packed >> hw_index_shift[in]) & hw_index_mask[in];
}

static uint64_t hw_index_bit(int in, int k) {
    return (uint64_t)1 << (hw_index_shift[in] + k);
}

/* ---- building ---- */

int type_dim_shift(Type t, int dim) {
    int shift = 0;
    for (int i = dim + 1; i < t.rank; i++) shift += t.log2[i];
    return shift;
}

Layout layout_new(Type t) {
    return (Layout){.out = (uint8_t)type_log2_numel(t)};
}

void layout_push(Layout *l, LayoutIn in, uint32_t basis) {
    if (l->bits[in] < LAYOUT_MAX_BITS) l->basis[in][l->bits[in]++] = basis;
}

void layout_push_dim(Layout *l, LayoutIn in, Type t, int dim, int from, int n) {
    int shift = type_dim_shift(t, dim);
    for (int i = from; i < from + n; i++)
        layout_push(l, in, i < t.log2[dim] ? (uint32_t)1 << (shift + i) : 0);
}

Layout layout_blocked(Type t, const int *order, int vec, int log2_warps) {
    Layout l = layout_new(t);
    int at = 0, bit = 0; /* next free bit: of dimension order[at] */
    int want[3] = {vec, LANE_BITS, log2_warps};
    for (int in = IN_REG; in <= IN_WARP; in++)
        for (int i = 0; i < want[in]; i++) {
            while (at < t.rank && bit >= t.log2[order[at]]) {
                if (in == IN_REG) break; /* a vector stays within one dimension */
                at++;
                bit = 0;
            }
            if (at < t.rank && bit < t.log2[order[at]]) {
                layout_push_dim(&l, (LayoutIn)in, t, order[at], bit, 1);
                bit++;
            } else if (in != IN_REG) {
                layout_push(&l, (LayoutIn)in, 0);
            }
        }
    for (; at < t.rank; at++, bit = 0)
        if (bit < t.log2[order[at]])
            layout_push_dim(&l, IN_REG, t, order[at], bit, t.log2[order[at]] - bit);
    return l;
}

static int above(int bits, int used) {
    return bits > used ? bits - used : 0;
}

/* The outer dims of a batched tile go to registers, as the last bits. */
static void push_batch(Layout *l, Type t) {
    for (int d = t.rank - 3; d >= 0; d--) layout_push_dim(l, IN_REG, t, d, 0, t.log2[d]);
}

/* The 16 rows by 8 columns of accumulators that all matrix instructions are made of. */
static Layout fragment_c(Type t) {
    Layout l = layout_new(t);
    int row = t.rank - 2, col = t.rank - 1;
    layout_push_dim(&l, IN_REG, t, col, 0, 1);
    layout_push_dim(&l, IN_LANE, t, col, 1, 2);
    layout_push_dim(&l, IN_LANE, t, row, 0, 3);
    layout_push_dim(&l, IN_REG, t, row, 3, 1);
    return l;
}

Layout layout_mma_c(Type t, int wm, int wn) {
    Layout l = fragment_c(t);
    int row = t.rank - 2, col = t.rank - 1, m = t.log2[row], n = t.log2[col];
    layout_push_dim(&l, IN_REG, t, col, 3, above(n, 3 + wn));
    layout_push_dim(&l, IN_REG, t, row, 4, above(m, 4 + wm));
    int n0 = 3 + above(n, 3 + wn), m0 = 4 + above(m, 4 + wm);
    layout_push_dim(&l, IN_WARP, t, row, m0, wm);
    layout_push_dim(&l, IN_WARP, t, col, n0, wn);
    push_batch(&l, t);
    return l;
}

Layout layout_mma_a(Type t, int wm, int wn, int pack) {
    Layout l = layout_new(t);
    int row = t.rank - 2, col = t.rank - 1, m = t.log2[row], k = t.log2[col];
    layout_push_dim(&l, IN_REG, t, col, 0, pack);
    layout_push_dim(&l, IN_LANE, t, col, pack, 2);
    layout_push_dim(&l, IN_LANE, t, row, 0, 3);
    layout_push_dim(&l, IN_REG, t, row, 3, 1);
    layout_push_dim(&l, IN_REG, t, col, pack + 2, 1);
    layout_push_dim(&l, IN_REG, t, col, pack + 3, above(k, pack + 3));
    layout_push_dim(&l, IN_REG, t, row, 4, above(m, 4 + wm));
    layout_push_dim(&l, IN_WARP, t, row, 4 + above(m, 4 + wm), wm);
    for (int i = 0; i < wn; i++) layout_push(&l, IN_WARP, 0);
    push_batch(&l, t);
    return l;
}

Layout layout_mma_b(Type t, int wm, int wn, int pack) {
    Layout l = layout_new(t);
    int row = t.rank - 2, col = t.rank - 1, k = t.log2[row], n = t.log2[col];
    layout_push_dim(&l, IN_REG, t, row, 0, pack);
    layout_push_dim(&l, IN_LANE, t, row, pack, 2);
    layout_push_dim(&l, IN_LANE, t, col, 0, 3);
    layout_push_dim(&l, IN_REG, t, row, pack + 2, 1);
    layout_push_dim(&l, IN_REG, t, row, pack + 3, above(k, pack + 3));
    layout_push_dim(&l, IN_REG, t, col, 3, above(n, 3 + wn));
    for (int i = 0; i < wm; i++) layout_push(&l, IN_WARP, 0);
    layout_push_dim(&l, IN_WARP, t, col, 3 + above(n, 3 + wn), wn);
    push_batch(&l, t);
    return l;
}

Layout layout_wgmma_c(Type t, int gm, int gn) {
    Layout l = fragment_c(t);
    int row = t.rank - 2, col = t.rank - 1, m = t.log2[row], n = t.log2[col];
    layout_push_dim(&l, IN_REG, t, col, 3, above(n, 3 + gn));
    layout_push_dim(&l, IN_REG, t, row, 6, above(m, 6 + gm));
    layout_push_dim(&l, IN_WARP, t, row, 4, 2);
    layout_push_dim(&l, IN_WARP, t, row, 6 + above(m, 6 + gm), gm);
    layout_push_dim(&l, IN_WARP, t, col, 3 + above(n, 3 + gn), gn);
    return l;
}

Layout layout_wgmma_pairs(Type t, int gm, int gn) {
    Layout l = layout_wgmma_c(t, gm, gn);
    int row = type_dim_shift(t, t.rank - 2);
    l.basis[IN_REG][1] = l.basis[IN_REG][0];
    l.basis[IN_REG][0] = (uint32_t)1 << row;
    for (int k = 0; k < 3; k++) l.basis[IN_LANE][2 + k] = (uint32_t)2 << (row + k);
    return l;
}

/* Transposed, a lane gets two rows of K from a matrix: lanes 4r + c want 4c to 4c + 3, two from one
 * matrix and two from another. Which two from which is the other way round for c above 1, so that
 * the rows of a matrix are all different by 8. */
Layout layout_wgmma_pairs_a(Type t, int gm, int gn) {
    Layout l = layout_new(t);
    int row = t.rank - 2, shift = type_dim_shift(t, t.rank - 1), m = t.log2[row];
    static const uint32_t k_of[] = {1, 4, 8 | 2, 2, 16};
    for (int i = 0; i < 5; i++) layout_push(&l, IN_LANE, k_of[i] << shift);
    layout_push_dim(&l, IN_WARP, t, row, 4, 2);
    layout_push_dim(&l, IN_WARP, t, row, 6 + above(m, 6 + gm), gm);
    for (int i = 0; i < gn; i++) layout_push(&l, IN_WARP, 0);
    return l;
}

Layout layout_wgmma_a(Type t, int gm, int gn) {
    Layout l = layout_wgmma_c(t, gm, 0);
    for (int i = 0; i < gn; i++) layout_push(&l, IN_WARP, 0);
    return l;
}

Layout layout_row_major(Type t) {
    Layout l = layout_new(t);
    for (int i = 0; i < l.out; i++) layout_push(&l, IN_OFFSET, (uint32_t)1 << i);
    return l;
}

Layout layout_wgmma_shared(Type t, int fast, int elem_log2) {
    Layout l = layout_new(t);
    int slow = t.rank - 1 == fast ? t.rank - 2 : t.rank - 1, f = t.log2[fast];
    int span = f + elem_log2 < 7 ? f : 7 - elem_log2, bytes = span + elem_log2;
    layout_push_dim(&l, IN_OFFSET, t, fast, 0, span);
    layout_push_dim(&l, IN_OFFSET, t, slow, 0, t.log2[slow]);
    layout_push_dim(&l, IN_OFFSET, t, fast, span, f - span);
    int shift = type_dim_shift(t, fast), first = 7 - bytes;
    for (int i = 0; i < bytes - 4 && first + i < t.log2[slow]; i++)
        l.basis[IN_OFFSET][span + first + i] ^= (uint32_t)1 << (shift + 4 - elem_log2 + i);
    return l;
}

Layout layout_shared(Type t, const int *order, int vec, int per_phase, int phases) {
    Layout l = layout_new(t);
    for (int i = 0; i < t.rank; i++)
        layout_push_dim(&l, IN_OFFSET, t, order[i], 0, t.log2[order[i]]);
    if (t.rank < 2) return l;
    int fast = t.log2[order[0]], slow = t.log2[order[1]], shift = type_dim_shift(t, order[0]);
    for (int i = 0; i < phases && per_phase + i < slow && vec + i < fast; i++)
        l.basis[IN_OFFSET][fast + per_phase + i] ^= (uint32_t)1 << (shift + vec + i);
    return l;
}

/* Applies a permutation of flat index bits, given per dimension, to every basis vector. */
static uint32_t move_dims(uint32_t v, Type from, Type to, const uint8_t *order) {
    uint32_t r = 0;
    for (int i = 0; i < to.rank; i++) { /* dimension i of the result is order[i] of the operand */
        uint32_t part =
            v >> type_dim_shift(from, order[i]) & (((uint32_t)1 << from.log2[order[i]]) - 1);
        r |= part << type_dim_shift(to, i);
    }
    return r;
}

Layout layout_transposed(const Layout *l, Type t, const uint8_t *order) {
    Type to = t;
    for (int i = 0; i < t.rank; i++) to.log2[i] = t.log2[order[i]];
    Layout r = *l;
    for (int in = 0; in < IN_DIMS; in++)
        for (int k = 0; k < l->bits[in]; k++)
            r.basis[in][k] = move_dims(l->basis[in][k], t, to, order);
    return r;
}

Layout layout_without_dim(const Layout *l, Type t, int dim) {
    int shift = type_dim_shift(t, dim), bits = t.log2[dim];
    uint32_t low = ((uint32_t)1 << shift) - 1;
    Layout r = *l;
    r.out = (uint8_t)(l->out - bits);
    for (int in = 0; in < IN_DIMS; in++)
        for (int k = 0; k < l->bits[in]; k++) {
            uint32_t v = l->basis[in][k];
            r.basis[in][k] = (v & low) | (v >> (shift + bits) << shift);
        }
    return r;
}

Layout layout_before_broadcast(const Layout *l, Type result, Type operand) {
    Layout r = *l;
    Type t = result;
    for (int d = 0; d < result.rank; d++)
        if (operand.log2[d] != result.log2[d]) {
            r = layout_without_dim(&r, t, d);
            t.log2[d] = 0;
        }
    return r;
}

void layout_drop_replicas(Layout *l) {
    uint32_t broadcast = layout_broadcast_bits(l, IN_REG);
    int n = 0;
    for (int k = 0; k < l->bits[IN_REG]; k++)
        if (!(broadcast >> k & 1)) l->basis[IN_REG][n++] = l->basis[IN_REG][k];
    for (int k = n; k < l->bits[IN_REG]; k++) l->basis[IN_REG][k] = 0;
    l->bits[IN_REG] = (uint8_t)n;
}

/* ---- asking ---- */

uint32_t layout_apply(const Layout *l, const uint32_t hw[IN_DIMS]) {
    uint32_t v = 0;
    for (int in = 0; in < IN_DIMS; in++)
        for (int k = 0; k < l->bits[in]; k++)
            if (hw[in] >> k & 1) v ^= l->basis[in][k];
    return v;
}

bool layout_equal(const Layout *a, const Layout *b) {
    return memcmp(a, b, sizeof *a) == 0;
}

static F2 span_of(const Layout *l) {
    F2 s = {0};
    for (int in = 0; in < IN_DIMS; in++)
        for (int k = 0; k < l->bits[in]; k++) f2_add(&s, l->basis[in][k], hw_index_bit(in, k));
    return s;
}

bool layout_covers(const Layout *l) {
    return span_of(l).rank == l->out;
}

uint32_t layout_broadcast_bits(const Layout *l, LayoutIn want) {
    F2 s = {0};
    uint32_t mask = 0;
    for (int in = 0; in < IN_DIMS; in++)
        for (int k = 0; k < l->bits[in]; k++)
            if (!f2_add(&s, l->basis[in][k], 0) && in == (int)want) mask |= (uint32_t)1 << k;
    return mask;
}

int layout_vector_bits(const Layout *l, Type t, int dim) {
    int shift = type_dim_shift(t, dim), n = 0;
    while (n < l->bits[IN_REG] && n < t.log2[dim] &&
           l->basis[IN_REG][n] == (uint32_t)1 << (shift + n))
        n++;
    /* The run must start at a multiple of its length: nothing else may touch those bits. */
    for (int in = 0; in < IN_DIMS; in++)
        for (int k = in == IN_REG ? n : 0; k < l->bits[in]; k++)
            while (n && (l->basis[in][k] >> shift & (((uint32_t)1 << n) - 1))) n--;
    return n;
}

/* ---- conversion maps ---- */

bool layout_conversion_map(const Layout *at, const Layout *from, ConversionMap *r) {
    F2 s = span_of(from);
    *r = (ConversionMap){{0}, {{0}}};
    for (int in = 0; in < IN_DIMS; in++) {
        r->bits[in] = at->bits[in];
        for (int k = 0; k < at->bits[in]; k++) {
            uint32_t want = at->basis[in][k];
            /* Where both hold the element at the same hardware index it stays: replicas do not
             * move. */
            if (k < from->bits[in] && from->basis[in][k] == want) {
                r->col[in][k] = hw_index_bit(in, k);
                continue;
            }
            if (f2_reduce(&s, want, &r->col[in][k])) return false;
            /* A warp takes what all hold from its own threads. */
            if (in == IN_WARP && k < from->bits[in] && !from->basis[in][k])
                r->col[in][k] |= hw_index_bit(in, k);
        }
    }
    return true;
}

bool layout_offset_map(Type t, const Layout *shared, ConversionMap *r) {
    Layout all = layout_new(t);
    for (int i = 0; i < all.out; i++) layout_push(&all, IN_REG, (uint32_t)1 << i);
    return layout_conversion_map(&all, shared, r);
}

uint64_t conversion_map_apply(const ConversionMap *r, const uint32_t hw[IN_DIMS]) {
    uint64_t p = 0;
    for (int in = 0; in < IN_DIMS; in++)
        for (int k = 0; k < r->bits[in]; k++)
            if (hw[in] >> k & 1) p ^= r->col[in][k];
    return p;
}

uint32_t layout_element_offset(const ConversionMap *r, uint32_t element) {
    uint32_t hw[IN_DIMS] = {element};
    return hw_index_part(conversion_map_apply(r, hw), IN_OFFSET);
}

MoveKind layout_move_kind(const Layout *at, const Layout *from) {
    ConversionMap r;
    if (!layout_conversion_map(at, from, &r)) return MOVE_IMPOSSIBLE;
    MoveKind kind = at->bits[IN_REG] == from->bits[IN_REG] ? MOVE_NONE : MOVE_REGISTERS;
    bool picks = false;
    for (int in = 0; in < IN_DIMS; in++)
        for (int k = 0; k < r.bits[in]; k++) {
            uint64_t c = r.col[in][k], stay = hw_index_bit(in, k);
            if (c == stay) continue;
            MoveKind need = MOVE_REGISTERS;
            if (in == IN_LANE || (in == IN_REG && hw_index_part(c, IN_LANE))) need = MOVE_SHUFFLE;
            if (in == IN_WARP && !hw_index_part(c ^ stay, IN_WARP) && !hw_index_part(c, IN_LANE))
                need = MOVE_PICK;
            else if (in == IN_WARP || in == IN_BLOCK || hw_index_part(c, IN_WARP) ||
                     hw_index_part(c, IN_BLOCK))
                need = MOVE_SHARED;
            picks |= need == MOVE_PICK;
            if (need > kind) kind = need;
        }
    return picks && kind == MOVE_SHUFFLE ? MOVE_SHARED : kind;
}

int conversion_map_rank(const ConversionMap *r, LayoutIn by) {
    F2 s = {0};
    for (int k = 0; k < r->bits[by]; k++) f2_add(&s, hw_index_part(r->col[by][k], IN_REG), 0);
    return s.rank;
}

/* ---- shared memory ---- */

int layout_bank_conflict(const Layout *reg, const Layout *shared, int elem_bytes, int vec) {
    ConversionMap r;
    if (!layout_conversion_map(reg, shared, &r)) return LANE_BITS;
    int elem_log2 = 0;
    while (1 << elem_log2 < elem_bytes) elem_log2++;
    int bytes_log2 = elem_log2 + vec;
    /* A warp's access is served 128 bytes at a time: 8 lanes of 16 bytes, 16 of 8, or all 32. */
    int lanes = bytes_log2 <= 2 ? LANE_BITS : bytes_log2 >= 4 ? 3 : 4;
    int unit = bytes_log2 > 2 ? bytes_log2 : 2; /* log2 bytes of one access, at least a bank */
    F2 units = {0}, banks = {0};
    for (int k = 0; k < lanes && k < r.bits[IN_LANE]; k++) {
        uint32_t byte = hw_index_part(r.col[IN_LANE][k], IN_OFFSET) << elem_log2;
        f2_add(&units, byte >> unit, 0);
        f2_add(&banks, (byte & 127) >> unit, 0);
    }
    return units.rank - banks.rank;
}

int layout_shared_vector_bits(const Layout *reg, const Layout *shared) {
    ConversionMap r;
    if (!layout_conversion_map(reg, shared, &r)) return 0;
    int n = 0;
    while (n < r.bits[IN_REG] && r.col[IN_REG][n] == (uint64_t)1 << n) n++;
    /* The rest of the address must keep those low bits clear. */
    for (int in = 0; in < IN_DIMS; in++)
        for (int k = in == IN_REG ? n : 0; k < r.bits[in]; k++)
            while (n && (r.col[in][k] & (((uint64_t)1 << n) - 1))) n--;
    return n;
}

int layout_shared_access_bits(const Layout *reg, const Layout *shared, Type t) {
    int vec = layout_shared_vector_bits(reg, shared), widest = log2_of(16 / type_elem_bytes(t));
    return vec < widest ? vec : widest;
}

/* The registers' and lanes' bits that are the elements within what lies whole, and the three that
 * number it within its matrix. */
static LayoutIn matrix_bit(MatrixForm form, bool within, int k, int *bit) {
    bool pair = within == (form == MATRIX_ROWS);
    *bit = !pair ? MATRIX_QUAD + k : k < MATRIX_PAIR ? k : k - MATRIX_PAIR;
    return pair && k < MATRIX_PAIR ? IN_REG : IN_LANE;
}

static bool lies_whole(const ConversionMap *r, MatrixForm form) {
    enum { SIDE = MATRIX_PAIR + MATRIX_QUAD };
    uint32_t within = 0, all = 0;
    for (int k = 0; k < SIDE; k++) {
        int bit;
        LayoutIn in = matrix_bit(form, true, k, &bit);
        uint32_t offset = hw_index_part(r->col[in][bit], IN_OFFSET);
        if (offset != 1u << k) return false;
        within |= offset;
    }
    for (int in = IN_REG; in <= IN_WARP; in++)
        for (int k = 0; k < r->bits[in]; k++) {
            uint32_t offset = hw_index_part(r->col[in][k], IN_OFFSET);
            if (offset & within && offset & ~within) return false;
            all += offset & within; /* each once */
        }
    return all == within;
}

MatrixForm layout_matrix_form(const Layout *reg, const Layout *shared, Type t) {
    ConversionMap r;
    if (type_elem_bits(t) != 16 || t.depth || reg->bits[IN_REG] < MATRIX_PAIR + MATRIX_FOUR ||
        reg->bits[IN_LANE] != LANE_BITS || layout_broadcast_bits(reg, IN_REG) ||
        !layout_conversion_map(reg, shared, &r))
        return MATRIX_NONE;
    return lies_whole(&r, MATRIX_ROWS)      ? MATRIX_ROWS
           : lies_whole(&r, MATRIX_COLUMNS) ? MATRIX_COLUMNS
                                            : MATRIX_NONE;
}

Layout layout_matrix_rows(const Layout *reg, MatrixForm form) {
    Layout rows = *reg;
    rows.bits[IN_LANE] = 0;
    for (int k = 0; k < MATRIX_PAIR + MATRIX_QUAD; k++) {
        int bit;
        LayoutIn in = matrix_bit(form, false, k, &bit);
        layout_push(&rows, IN_LANE, reg->basis[in][bit]);
    }
    for (int k = 0; k < MATRIX_FOUR; k++)
        layout_push(&rows, IN_LANE, reg->basis[IN_REG][MATRIX_PAIR + k]);
    return rows;
}
