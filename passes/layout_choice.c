/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* layout_choice.c: the wishes of memory accesses, dots and moves -> layouts (see layout_choice.h).
 *
 * Global memory wants neighbouring lanes at neighbouring addresses, up to 16 bytes each; a matrix
 * instruction wants its fragment; shared memory wants no two lanes of a phase in one bank. */
#include "passes/layout_choice.h"
#include "ir/effects.h"
#include "ir/roles.h"
#include "passes/cost.h"

Access choose_access(const AxisTable *axis, const Op *op) {
    const Value *ptr = ir_operand(op, 0);
    const Value *mask = ir_access_mask(op);
    int dim = axis_fastest_dim(axis, ptr);
    return (Access){dim, log2_of(axis_access_width(axis, ptr, mask, dim))};
}

static void order_from(Type t, int first, int *order) {
    int n = 0;
    order[n++] = first;
    for (int d = t.rank - 1; d >= 0; d--)
        if (d != first) order[n++] = d;
}

Layout choose_access_layout(Type t, Access a, int num_warps) {
    int order[TILE_MAX_RANK];
    order_from(t, a.dim, order);
    /* A vector must not leave threads without work: tiles are spread first, then widened. */
    int spare = type_log2_numel(t) - LANE_BITS - log2_of(num_warps);
    int vec = a.vec < spare ? a.vec : spare > 0 ? spare : 0;
    return layout_blocked(t, order, vec, log2_of(num_warps));
}

Layout choose_default_layout(Type t, int num_warps) {
    return choose_access_layout(t, (Access){t.rank - 1, 2}, num_warps);
}

/* log2 of the elements that follow each other in a lane's vector, then in lanes side by side. */
static int run_of_lanes(const Layout *l, Type t, int dim, int vec) {
    int shift = type_dim_shift(t, dim), run = vec;
    for (int k = 0; k < l->bits[IN_LANE] && l->basis[IN_LANE][k] == (uint32_t)1 << (shift + run);
         k++)
        run++;
    return run;
}

static int vector_of(const Layout *l, Type t, Access a) {
    int have = layout_vector_bits(l, t, a.dim);
    return have < a.vec ? have : a.vec;
}

bool store_layout_is_good(const Layout *l, Type t, Access a) {
    int bytes = type_elem_bytes(t), vec = vector_of(l, t, a), run = run_of_lanes(l, t, a.dim, vec);
    bool whole_lines = bytes << run >= 128, widest = vec == a.vec;
    return whole_lines || (widest && (bytes << vec >= 16 || run >= t.log2[a.dim]));
}

/* Which lanes have which part of a sector does not matter. */
bool store_layout_fills_sectors(const Layout *l, Type t, Access a, int least) {
    enum { SECTOR = 32 }; /* bytes of L2's lines */
    int bytes = type_elem_bytes(t), vec = vector_of(l, t, a), run = vec, k;
    LayoutIn in;
    while (bytes << run < SECTOR && layout_find_bit(l, t, a.dim, run, &in, &k) && in == IN_LANE)
        run++;
    return bytes << vec >= least && bytes << run >= SECTOR;
}

bool choose_access_within_warps(Type t, Access a, const Layout *held, Layout *out) {
    int warps = held->bits[IN_WARP];
    Layout want = choose_access_layout(t, a, 1 << warps);
    int vec = vector_of(&want, t, a);
    uint32_t others = 0, along = (((uint32_t)1 << t.log2[a.dim]) - 1) << type_dim_shift(t, a.dim);
    if (!warps || !layout_same_warps(held, held)) return false;
    for (int k = 0; k < warps; k++) others |= held->basis[IN_WARP][k];
    uint32_t mine = (((uint32_t)1 << held->out) - 1) & ~others;
    Layout l = layout_new(t);
    for (int i = 0; i < 2; i++)
        for (uint32_t left = mine & (i ? ~along : along); left; left &= left - 1) {
            bool lane = l.bits[IN_REG] >= vec && l.bits[IN_LANE] < LANE_BITS;
            layout_push(&l, lane ? IN_LANE : IN_REG, left & (0 - left));
        }
    for (int k = 0; k < warps; k++) layout_push(&l, IN_WARP, held->basis[IN_WARP][k]);
    *out = l;
    return l.bits[IN_LANE] == LANE_BITS && layout_vector_bits(&l, t, a.dim) >= vec &&
           run_of_lanes(&l, t, a.dim, vec) >= run_of_lanes(&want, t, a.dim, vec);
}

int64_t wgmma_registers(int64_t columns) {
    enum { COLUMNS = 2 }; /* of 64 rows that a register of each of 128 threads holds */
    return columns / COLUMNS + COST_WGMMA_REGISTERS;
}

/* Warpgroups: four warps with 64 rows each, M split first. NULL, or why the dot does not suit them.
 */
static const char *choose_wgmma(DotChoice *d, const Op *dot, Type a, Type c, int num_warps,
                                const Target *target) {
    if (!d->wgmma) return "wgmma has no such element types";
    if (c.rank != 2) return "wgmma takes no batches";
    int m = c.log2[0], n = c.log2[1], k = a.log2[1];
    if (num_warps % 4) return "wgmma takes 4 warps or a multiple of 4";
    if (m < 6) return "wgmma takes 64 rows or more";
    if (k < log2_of(d->wgmma->k)) return "wgmma takes more columns of its first operand";
    for (int w = log2_of(num_warps) - 2; w > 0; w--)
        if (m - d->wm > 6)
            d->wm++;
        else
            d->wn++;
    int cols = n - d->wn; /* of a warpgroup: one instruction's N, whole swizzled blocks if split */
    if (cols < 3 || cols > 8 || (d->wn && cols < 6))
        return "wgmma takes 8 to 256 columns for 4 warps, or 64 to 256 where warps share rows";
    int64_t columns = type_dim(c, 1) >> d->wn;
    if (!d->wn) columns = wgmma_n(d->wgmma, ir_attr_int(dot, AT_COLUMNS, columns));
    if (wgmma_registers(columns) > target_thread_registers(target, num_warps))
        return "wgmma of so many columns takes more registers than threads of so many warps have";
    bool pairs = ir_attr_int(dot, AT_PAIRS, 0);
    d->acc = (pairs ? layout_wgmma_pairs : layout_wgmma_c)(c, d->wm, d->wn);
    return NULL;
}

int64_t wgmma_rows(const DotChoice *d, Type t, int64_t wanted) {
    enum { ROWS = 64 }; /* of a warpgroup's instruction */
    int64_t all = type_dim(t, 0), some = (wanted + ROWS - 1) / ROWS * ROWS;
    return !d->wn && (int64_t)ROWS << d->wm == all && some && some < all ? some : all;
}

DotChoice choose_dot(const Op *dot, int num_warps, const Target *target) {
    int sm = target->sm;
    Type a = ir_operand(dot, 0)->type, b = ir_operand(dot, 1)->type, c = ir_operand(dot, 2)->type;
    int m = c.log2[c.rank - 2], n = c.log2[c.rank - 1], k = a.log2[a.rank - 1];
    bool exact = a.elem == EL_F32 && !a.depth &&
                 ir_attr_int(dot, AT_PRECISION, PRECISION_TF32) == PRECISION_IEEE;
    const char *rounds =
        exact ? "no matrix instruction rounds as input_precision=\"ieee\" asks" : NULL;
    DotChoice g = {.wgmma = wgmma_find((Elem)a.elem, (Elem)b.elem, (Elem)c.elem), .why = rounds};
    if (target->wgmma && !exact) g.why = choose_wgmma(&g, dot, a, c, num_warps, target);
    if (target->wgmma && !g.why) return g;
    DotChoice d = {.mma = mma_find((Elem)a.elem, (Elem)b.elem, (Elem)c.elem, sm), .why = g.why};
    if (!d.mma)
        d.why = "no matrix instruction has such element types";
    else if (k < log2_of(d.mma->k))
        d.why = "matrix instructions take more columns of its first operand";
    if (d.mma && (exact || k < log2_of(d.mma->k))) d.mma = NULL;
    /* Give each factor of two of warps to the longer side of a warp's sub-tile; A and B are read
     * from shared memory once per warp along the other side, so square is best. */
    int tile_m = m, tile_n = n, min_m = d.mma ? 4 : 2, min_n = d.mma ? 3 : 5;
    for (int w = log2_of(num_warps); w > 0; w--) {
        bool can_m = tile_m > min_m, can_n = tile_n > min_n;
        if (can_m && (!can_n || tile_m >= tile_n)) {
            d.wm++;
            tile_m--;
        } else {
            d.wn++;
            tile_n--;
        }
    }
    if (d.mma) {
        d.acc = layout_mma_c(c, d.wm, d.wn);
        return d;
    }
    int row = c.rank - 2, col = c.rank - 1;
    d.acc = layout_new(c);
    layout_push_dim(&d.acc, IN_REG, c, col, 0, n < 2 ? n : 2);
    layout_push_dim(&d.acc, IN_LANE, c, col, 2, 3);
    layout_push_dim(&d.acc, IN_LANE, c, row, 0, 2);
    int rest_n = n > 5 + d.wn ? n - 5 - d.wn : 0, rest_m = m > 2 + d.wm ? m - 2 - d.wm : 0;
    layout_push_dim(&d.acc, IN_REG, c, col, 5, rest_n);
    layout_push_dim(&d.acc, IN_REG, c, row, 2, rest_m);
    layout_push_dim(&d.acc, IN_WARP, c, row, 2 + rest_m, d.wm);
    layout_push_dim(&d.acc, IN_WARP, c, col, 5 + rest_n, d.wn);
    for (int i = c.rank - 3; i >= 0; i--) layout_push_dim(&d.acc, IN_REG, c, i, 0, c.log2[i]);
    return d;
}

/* XOR swizzle of rows of 2^row_log2 bytes in chunks of 16: the one that the matrix instructions of
 * later GPUs and their copy engine use too, for rows of 128, 64 and 32 bytes. */
static Layout swizzled(Type t, const int *order, int elem_log2) {
    int row = t.log2[order[0]] + elem_log2;
    int phases = row >= 7 ? 3 : row > 4 ? row - 4 : 0;
    return layout_shared(t, order, 4 - elem_log2, row >= 7 ? 0 : 7 - row, phases);
}

enum { LINE_LOG2 = 7 }; /* all banks: 128 bytes; address bits above do not choose a bank */

/* What one side of a move costs, in 64ths of a trip to the banks per register: an access of four
 * bytes a lane or less is one trip, one of 16 bytes is four; each conflict doubles them. To issue
 * an instruction is added. */
static int side_cost(const Layout *reg, const Layout *shared, int elem_log2) {
    int vec = layout_shared_vector_bits(reg, shared);
    if (vec > 4 - elem_log2) vec = 4 - elem_log2;
    int conflict = layout_bank_conflict(reg, shared, 1 << elem_log2, vec), bytes = elem_log2 + vec;
    return ((64 << conflict << (bytes > 2 ? bytes - 2 : 0)) + COST_ISSUE_ACCESS) >> vec;
}

/* An operand with the dimension `fast` contiguous, as the dot's instruction takes it. */
static Layout operand_shared(const Op *dot, Type t, int fast) {
    int elem = log2_of(type_elem_bytes(t)), order[TILE_MAX_RANK];
    if (ir_attr(dot, AT_WGMMA)) return layout_wgmma_shared(t, fast, elem);
    order_from(t, fast, order);
    return swizzled(t, order, elem);
}

Layout choose_operand_shared(const Op *dot, int operand, const Layout *from) {
    Type t = ir_operand(dot, operand)->type;
    t = type_in_space(t, SPACE_REGISTER);
    int fast = t.rank - 1, elem = log2_of(type_elem_bytes(t));
    const Attr *wgmma = ir_attr(dot, AT_WGMMA);
    if (operand == 0 && ir_attr_int(dot, AT_PAIRS, 0)) return operand_shared(dot, t, 0);
    /* Rows of at least 32 bytes, and along K where the instruction wants it so. */
    int k_dim = t.rank - (operand == 0 ? 1 : 2);
    bool majors = !wgmma || wgmma_row((int)wgmma->i)->majors;
    /* Keep the dimension contiguous that the registers hold contiguously; ldmatrix reads both. Of
     * elements that come one by one, the dimension that lanes walk: a column of 16-bit numbers
     * written into swizzled rows meets four banks at once. */
    int other = t.rank - 2;
    int along = layout_vector_bits(from, t, fast), across = layout_vector_bits(from, t, other);
    if (across > along) fast = other;
    if (across == along && elem == 1 && majors) {
        Layout rows = operand_shared(dot, t, fast), columns = operand_shared(dot, t, other);
        if (side_cost(from, &columns, elem) < side_cost(from, &rows, elem)) fast = other;
    }
    if (wgmma && (!majors || t.log2[fast] + elem < 5)) fast = k_dim;
    return operand_shared(dot, t, fast);
}

/* A tile's bits of two dimensions, as threads come to hold them. */
typedef struct Square {
    Layout read, write;
    uint32_t along[2]; /* bases of the dimensions' bits 0, along K first */
    uint32_t left[2];  /* their bits that nobody holds yet */
} Square;

static void hold(Square *q, LayoutIn in, uint32_t basis) {
    layout_push(&q->read, in, basis);
    layout_push(&q->write, in, basis);
}

/* The basis of the dimension's lowest bit from `from` on that nobody holds; 0: none is left. */
static uint32_t lowest_left(const Square *q, int which, uint32_t from) {
    uint32_t left = q->left[which] & ~(from - 1);
    return q->along[which] * (left & (0 - left));
}

static void take(Square *q, LayoutIn in, int which) {
    uint32_t basis = lowest_left(q, which, 1);
    if (!basis) basis = lowest_left(q, which = 1 - which, 1);
    q->left[which] &= q->left[which] - 1;
    hold(q, in, basis);
}

/* Lanes by a way each: the next bit along K, of the other dimension, or both, of which the former
 * is somebody else's, too: where one dimension alone tells banks apart when the tile is read, and
 * the other when it is written. */
static bool give_lanes(Square *q, int ways) {
    enum { ALONG_K, OTHER, BOTH, WAYS };
    uint32_t mixed = 1;
    for (int i = 0; i < LANE_BITS; i++, ways /= WAYS) {
        int way = ways % WAYS;
        uint32_t k = lowest_left(q, 0, mixed);
        if (!lowest_left(q, way != ALONG_K, 1) || (way == BOTH && !k)) return false;
        if (way == BOTH) {
            hold(q, IN_LANE, lowest_left(q, 1, 1) | k);
            q->left[1] &= q->left[1] - 1;
            mixed = k / q->along[0] << 1;
        } else {
            take(q, IN_LANE, way);
        }
    }
    return true;
}

bool dot_transposes(const Op *dot, int operand, const Layout *from) {
    const Attr *wgmma = ir_attr(dot, AT_WGMMA);
    Type t = type_in_space(ir_operand(dot, operand)->type, SPACE_REGISTER);
    int k_dim = operand == 0 ? 1 : 0;
    return wgmma && !wgmma_row((int)wgmma->i)->majors &&
           layout_vector_bits(from, t, k_dim) < layout_vector_bits(from, t, 1 - k_dim);
}

bool choose_transposing(Type t, int k_dim, int num_warps, Layout *read, Layout *write) {
    enum { WORD = 2, VECTOR = 4 }; /* log2 bytes: of memory's rows, and of the instruction's */
    int elem = log2_of(type_elem_bytes(t)), other = 1 - k_dim;
    int word = WORD - elem, vector = VECTOR - elem, warps = log2_of(num_warps);
    int spare = type_log2_numel(t) - word - LANE_BITS - warps;
    if (vector > spare) vector = spare; /* of a small tile */
    if (word < 0 || vector < word || t.log2[other] < word || t.log2[k_dim] < vector) return false;
    Layout comes = layout_wgmma_shared(t, other, elem), goes = layout_wgmma_shared(t, k_dim, elem);
    int best = INT32_MAX;
    for (int ways = 0; ways < 243; ways++) { /* three for each lane bit */
        Square q = {.read = layout_new(t), .write = layout_new(t)};
        q.along[0] = 1u << type_dim_shift(t, k_dim);
        q.along[1] = 1u << type_dim_shift(t, other);
        q.left[0] = (1u << t.log2[k_dim]) - (1u << vector);
        q.left[1] = (1u << t.log2[other]) - (1u << word);
        layout_push_dim(&q.read, IN_REG, t, other, 0, word);
        layout_push_dim(&q.read, IN_REG, t, k_dim, 0, vector);
        layout_push_dim(&q.write, IN_REG, t, k_dim, 0, vector);
        layout_push_dim(&q.write, IN_REG, t, other, 0, word);
        if (!give_lanes(&q, ways)) continue;
        for (int i = 0; i < warps; i++) take(&q, IN_WARP, 1);
        while (q.left[0] | q.left[1]) take(&q, IN_REG, 1);
        int cost = side_cost(&q.read, &comes, elem) + side_cost(&q.write, &goes, elem);
        if (cost >= best) continue;
        best = cost;
        *read = q.read;
        *write = q.write;
    }
    return best < INT32_MAX;
}

Layout choose_move_shared(Type t, const Layout *from, const Layout *to) {
    int order[TILE_MAX_RANK], elem_log2 = log2_of(type_elem_bytes(t));
    int best = INT32_MAX;
    Layout found = layout_new(t);
    for (int fast = t.rank - 1; fast >= 0 && fast >= t.rank - 2; fast--) {
        order_from(t, fast, order);
        int row = t.log2[fast], rows = t.rank > 1 ? t.log2[order[1]] : 0;
        for (int vec = 0; elem_log2 + vec < LINE_LOG2; vec++)
            for (int per = 0; per == 0 || per < rows; per++)
                for (int phases = per > 0; elem_log2 + vec + phases <= LINE_LOG2; phases++) {
                    if (phases > 0 && (vec + phases > row || per + phases > rows))
                        break; /* as before */
                    Layout s = layout_shared(t, order, vec, per, phases);
                    int cost = side_cost(from, &s, elem_log2) + side_cost(to, &s, elem_log2) +
                               (phases > 0);
                    if (cost < best) {
                        best = cost;
                        found = s;
                    }
                }
    }
    return found;
}

void mark_dot_inputs(const Block *b, uint8_t *marks) {
    for (const Op *op = b->last; op; op = op->prev) {
        for (int r = op->nregions - 1; r >= 0; r--) mark_dot_inputs(op->region[r], marks);
        bool wanted = op->code == OP_DOT;
        for (int i = 0; i < op->nresults; i++) wanted |= marks[op->result[i]->id];
        if (!wanted || op->code == OP_LOAD || op->nregions) continue;
        int n = op->code == OP_DOT ? 2 : op->noperands;
        for (int i = 0; i < n; i++) marks[op->operand[i].value->id] = 1;
    }
}

bool will_be_copied(const PassCtx *ctx, const Op *load) {
    const Op *loop = load->block->parent;
    return ctx->target->async_copy && loop && loop->code == OP_FOR &&
           ir_attr_int(loop, AT_NUM_STAGES, ctx->f->num_stages) > 1;
}

/* A load that works where a dot's results lie is a few bytes of a row here and there, and of a row
 * that all share the same in many threads. What the pass schedule will copy through shared memory
 * anyway is copied as memory likes it, and read from there as it is wanted. */
bool choose_copied(const PassCtx *ctx, const AxisTable *axis, const Op *load, const Layout *l,
                   Layout *own) {
    const Value *r = load->result[0];
    if (!will_be_copied(ctx, load)) return false;
    Access x = choose_access(axis, load);
    *own = choose_access_layout(r->type, x, warps_of_value(ctx->f, r));
    int run = layout_vector_bits(own, r->type, x.dim);
    bool copies = type_elem_bytes(r->type) << run >= COST_LEAST_COPY_BYTES;
    return (copies && own->bits[IN_REG] < l->bits[IN_REG]) ||
           run > layout_vector_bits(l, r->type, x.dim);
}

Value *copy_for_dot_before(const Value *v, const Block *block, const Layout *l) {
    for (const Use *u = v->uses; u; u = u->next) {
        if (u->op->code != OP_SHARED_STORE || u->op->block != block) continue;
        /* One that the copy engine stores from, further on, has no layout yet. */
        Value *buffer = u->op->operand[1].value;
        if (buffer->layout && layout_equal(buffer->layout, l)) return buffer;
    }
    return NULL;
}
