/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_layout.c: layouts against what they claim, hardware index by hardware index: the fragments
 * of the PTX manual, coverage, copies, shapes, drawings.
 *
 * The convention: the module under test works on basis vectors; every expectation here is worked
 * out by going through all of them, so that the two share no reasoning. */
#include "base/session.h"
#include "tests/check/layout_fixture.h"

/* ---- fragments ---- */

/* Where element i of a thread's fragment lies in one instruction's matrices, as the PTX manual
 * says it for m16n8k16 with 16-bit operands, k8 with tf32 and k32 with 8-bit ones. */
typedef struct At {
    int row, col;
} At;
typedef struct Fragment {
    int pack, a_count, b_count;
    At (*a)(int i, int lane);
    At (*b)(int i, int lane);
} Fragment;

static At a_16(int i, int lane) {
    int group = lane >> 2, thread = lane % 4;
    int row = i < 2 || (i >= 4 && i < 6) ? group : group + 8;
    int col = i < 4 ? thread * 2 + (i & 1) : thread * 2 + (i & 1) + 8;
    return (At){row, col};
}
static At b_16(int i, int lane) {
    int group = lane >> 2, thread = lane % 4;
    return (At){i < 2 ? thread * 2 + (i & 1) : thread * 2 + (i & 1) + 8, group};
}
static At a_tf32(int i, int lane) {
    int group = lane >> 2, thread = lane % 4;
    return (At){i == 0 || i == 2 ? group : group + 8, i == 0 || i == 1 ? thread : thread + 4};
}
static At b_tf32(int i, int lane) {
    return (At){i == 0 ? lane % 4 : lane % 4 + 4, lane >> 2};
}
static At a_8(int i, int lane) {
    int group = lane >> 2, thread = lane % 4;
    int row = i < 4 || (i >= 8 && i < 12) ? group : group + 8;
    return (At){row, i < 8 ? thread * 4 + (i & 3) : thread * 4 + (i & 3) + 16};
}
static At b_8(int i, int lane) {
    int group = lane >> 2, thread = lane % 4;
    return (At){i < 4 ? thread * 4 + (i & 3) : thread * 4 + (i & 3) + 16, group};
}
static At c_any(int i, int lane) {
    int group = lane >> 2, thread = lane % 4;
    return (At){i < 2 ? group : group + 8, thread * 2 + (i & 1)};
}

static const Fragment fragments[] = {
    {0, 4, 2, a_tf32, b_tf32}, {1, 8, 4, a_16, b_16}, {2, 16, 8, a_8, b_8}};

static int at_least_one(int n) {
    return n < 1 ? 1 : n;
}

/* A tile of 2^rows x 2^cols is covered by instructions of `hr` x `hc`; each warp of the grid has a
 * contiguous share, gone through with columns (or, for B, rows) first. A tile smaller than that
 * holds copies: the coordinate without its upper bits. */
static void check_fragment(const Layout *l, int rows, int cols, int hr, int hc, int count,
                           bool rows_first, int wr, int wc, bool warps_cols_first,
                           At (*where)(int i, int lane), const char *what) {
    int tr = at_least_one((1 << rows) / hr / (1 << wr));
    int tc = at_least_one((1 << cols) / hc / (1 << wc));
    SAME((int)l->bits[IN_LANE], 5, "%s: lanes", what);
    SAME((int)l->bits[IN_WARP], wr + wc, "%s: warps", what);
    SAME(1 << l->bits[IN_REG], count * tr * tc, "%s %dx%d: registers", what, 1 << rows, 1 << cols);
    for (int warp = 0; warp < 1 << (wr + wc); warp++)
        for (int lane = 0; lane < 32; lane++)
            for (int reg = 0; reg < count * tr * tc; reg++) {
                At in = where(reg % count, lane);
                int q = reg / count, qr = rows_first ? q % tr : q / tc,
                    qc = rows_first ? q / tr : q % tc;
                int mr = warps_cols_first ? warp >> wc : warp & ((1 << wr) - 1);
                int mc = warps_cols_first ? warp & ((1 << wc) - 1) : warp >> wr;
                int row = (in.row + hr * (qr + tr * mr)) & ((1 << rows) - 1);
                int col = (in.col + hc * (qc + tc * mc)) & ((1 << cols) - 1);
                uint32_t e = at(l, (uint32_t)reg, (uint32_t)lane, (uint32_t)warp);
                if (e != (uint32_t)((row << cols) + col))
                    ck_abort_msg("%s %dx%d, warps %dx%d: warp %d lane %d register %d holds (%u, "
                                 "%u) and should "
                                 "hold (%d, %d)",
                                 what, 1 << rows, 1 << cols, 1 << wr, 1 << wc, warp, lane, reg,
                                 e >> cols, e & (uint32_t)((1 << cols) - 1), row, col);
            }
}

START_TEST(mma_fragments) {
    for (int rows = 0; rows <= 7; rows++)
        for (int cols = 0; cols <= 7; cols++)
            for (int wm = 0; wm <= 2; wm++)
                for (int wn = 0; wn <= 2; wn++) {
                    Type t = tile2(rows, cols);
                    Layout c = layout_mma_c(t, wm, wn);
                    check_fragment(&c, rows, cols, 16, 8, 4, false, wm, wn, false, c_any, "C");
                    for (size_t i = 0; i < sizeof fragments / sizeof *fragments; i++) {
                        const Fragment *f = &fragments[i];
                        /* Warps that share a row of sub-tiles have the same A: no column share. */
                        Layout a = layout_mma_a(t, wm, wn, f->pack),
                               b = layout_mma_b(t, wm, wn, f->pack);
                        for (int k = 0; k < wn; k++)
                            SAME(a.basis[IN_WARP][wm + k], 0u, "A: copies");
                        for (int k = 0; k < wm; k++) SAME(b.basis[IN_WARP][k], 0u, "B: copies");
                        memmove(b.basis[IN_WARP], b.basis[IN_WARP] + wm,
                                (size_t)wn * sizeof(uint32_t));
                        a.bits[IN_WARP] = (uint8_t)wm;
                        b.bits[IN_WARP] = (uint8_t)wn;
                        check_fragment(&a, rows, cols, 16, 8 << f->pack, f->a_count, false, wm, 0,
                                       false, f->a, "A");
                        check_fragment(&b, rows, cols, 8 << f->pack, 8, f->b_count, true, 0, wn,
                                       true, f->b, "B");
                    }
                }
}
END_TEST

/* The sum of wgmma: warp w of a warpgroup has rows 16 w on of each 64, in fragments as mma's;
 * warpgroups share out rows first, then columns, and each has its columns' share side by side. */
START_TEST(wgmma_sums) {
    for (int rows = 6; rows <= 8; rows++)
        for (int cols = 3; cols <= 7; cols++)
            for (int gm = 0; gm <= rows - 6; gm++)
                for (int gn = 0; gn <= cols - 3 && gn <= 2; gn++) {
                    Type t = tile2(rows, cols);
                    Layout l = layout_wgmma_c(t, gm, gn);
                    SAME((int)l.bits[IN_WARP], 2 + gm + gn, "warps");
                    SAME((int)l.bits[IN_REG], rows + cols - 5 - 2 - gm - gn, "registers");
                    int share = 1 << (cols - gn), lower = 1 << (rows - 6 - gm);
                    for (uint32_t warp = 0; warp < 4u << (gm + gn); warp++)
                        for (uint32_t lane = 0; lane < 32; lane++)
                            for (uint32_t reg = 0; reg < 1u << l.bits[IN_REG]; reg++) {
                                At in = c_any((int)reg & 3, (int)lane);
                                int block = (int)reg >> 2, group = (int)warp >> 2;
                                int across = share / 8, up = group & ((1 << gm) - 1);
                                int row = in.row + 16 * ((int)warp & 3) +
                                          64 * (block / across + lower * up);
                                int col = in.col + 8 * (block % across) + share * (group >> gm);
                                SAME(at(&l, reg, lane, warp), (uint32_t)((row << cols) + col),
                                     "%dx%d, groups %dx%d: warp %u lane %u register %u", 1 << rows,
                                     1 << cols, 1 << gm, 1 << gn, warp, lane, reg);
                            }
                }
}
END_TEST

/* What ldmatrix.x4.trans of 16-byte rows and prmt make of the lanes' places is A of wgmma, whose
 * rows 2r and 2r + 1 of 16 stand for rows r and r + 8: as its sum then has them. */
START_TEST(wgmma_pairs) {
    for (int rows = 6; rows <= 8; rows++)
        for (int gm = 0; gm <= rows - 6; gm++)
            for (int gn = 0; gn <= 1; gn++) {
                Type t = tile2(rows, 5), sum = tile2(rows, 4);
                Layout a = layout_wgmma_pairs_a(t, gm, gn), c = layout_wgmma_pairs(sum, gm, gn);
                Layout plain = layout_wgmma_c(sum, gm, gn);
                SAME((int)a.bits[IN_LANE], 5, "lanes");
                SAME((int)a.bits[IN_WARP], 2 + gm + gn, "warps");
                for (uint32_t warp = 0; warp < 4u << (gm + gn); warp++)
                    for (uint32_t lane = 0; lane < 32; lane++) {
                        uint32_t start = at(&plain, 0, 0, warp); /* where the warp's sums begin */
                        uint32_t from = at(&a, 0, lane, warp);
                        SAME(from >> 5, start >> 4, "warp %u lane %u: the row it begins with", warp,
                             lane);
                        /* Of matrix m lane 4r + c gets words of rows 2c and 2c + 1, pair r. */
                        uint32_t r = lane >> 2, col = lane & 3, seen = 0;
                        for (uint32_t m = 0; m < 4; m++)
                            for (uint32_t i = 0; i < 2; i++)
                                seen |= 1u << (at(&a, 0, 8 * m + 2 * col + i, warp) & 31);
                        SAME(at(&a, 0, 2 * col, warp) & 31, 4 * col + (col & 2), "the first pair");
                        SAME(seen, 0xfu << 4 * col | 0xfu << (16 + 4 * col), "steps of K");
                        for (uint32_t reg = 0; reg < 4; reg++)
                            SAME(at(&c, reg, lane, warp),
                                 start + ((2 * r + (reg & 1)) << 4) + 2 * col + (reg >> 1),
                                 "warp %u lane %u: sum %u", warp, lane, reg);
                    }
            }
}
END_TEST

/* A batched tile is its matrices one after the other, in registers. */
START_TEST(mma_batches) {
    Type one = tile2(5, 5), many = type_of(3, (int[]){2, 5, 5});
    Layout single = layout_mma_c(one, 1, 1), batch = layout_mma_c(many, 1, 1);
    SAME(batch.bits[IN_REG], single.bits[IN_REG] + 2, "registers");
    for (uint32_t b = 0; b < 4; b++)
        for (uint32_t reg = 0; reg < (uint32_t)1 << single.bits[IN_REG]; reg++)
            for (uint32_t lane = 0; lane < 32; lane++)
                for (uint32_t warp = 0; warp < 4; warp++)
                    SAME(at(&batch, reg | b << single.bits[IN_REG], lane, warp),
                         at(&single, reg, lane, warp) | b << 10, "batch %u register %u", b, reg);
}
END_TEST

/* ---- coverage and copies ---- */

static void check_copies(const Layout *l, const char *what) {
    enum { MOST = 1 << 12 };
    static uint8_t span[MOST], held[MOST];
    uint32_t n = (uint32_t)1 << l->out, mask[IN_DIMS];
    ck_assert_uint_le(n, MOST);
    memset(span, 0, n);
    span[0] = 1;
    uint32_t reached = 1;
    for (int in = 0; in < IN_DIMS; in++) {
        uint32_t free_bits = 0;
        for (int k = 0; k < l->bits[in]; k++) {
            uint32_t v = l->basis[in][k];
            if (span[v]) {
                free_bits |= (uint32_t)1 << k;
                continue;
            }
            for (uint32_t e = 0; e < n; e++)
                if (span[e] == 1) span[e ^ v] |= 2;
            for (uint32_t e = 0; e < n; e++) span[e] = span[e] != 0;
            reached *= 2;
        }
        mask[in] = layout_broadcast_bits(l, (LayoutIn)in);
        SAME(mask[in], free_bits, "%s: part %d: free mask %x, should be %x", what, in, mask[in],
             free_bits);
    }
    SAME(layout_covers(l), reached == n, "%s: covers", what);
    /* First copies alone hold every element exactly once. */
    memset(held, 0, n);
    Walk w = {{0}};
    do {
        bool first = true;
        for (int in = 0; in < IN_DIMS; in++) first = first && !(w.hw[in] & mask[in]);
        if (first && held[layout_apply(l, w.hw)]++)
            ck_abort_msg("%s: an element has two first copies", what);
    } while (walk_next(&w, l));
    for (uint32_t e = 0; e < n && reached == n; e++)
        if (!held[e]) ck_abort_msg("%s: element %u has no first copy", what, e);
    Layout few = *l;
    layout_drop_replicas(&few);
    SAME(layout_broadcast_bits(&few, IN_REG), 0u, "%s: copies left", what);
    SAME(layout_covers(&few), layout_covers(l), "%s: dropping copies lost elements", what);
}

START_TEST(blocked_covers) {
    rng = 11;
    for (int i = 0; i < 3000; i++) {
        Type t = random_type(1 + below(3), 11);
        int order[3], vec = below(5), warps = below(4);
        random_order(t.rank, order);
        Layout l = layout_blocked(t, order, vec, warps);
        SAME(layout_covers(&l), true, "a blocked layout misses elements");
        SAME((int)l.bits[IN_LANE], 5, "lanes");
        SAME((int)l.bits[IN_WARP], warps, "warps");
        SAME(layout_broadcast_bits(&l, IN_REG), 0u, "registers hold copies");
        /* Copies only when there are more threads than elements. */
        int spare = type_log2_numel(t) - LANE_BITS - warps,
            had = t.log2[order[0]] < vec ? t.log2[order[0]] : vec;
        if (spare >= had)
            SAME(layout_broadcast_bits(&l, IN_LANE) | layout_broadcast_bits(&l, IN_WARP), 0u,
                 "needless copies");
        SAME(layout_vector_bits(&l, t, order[0]) >= had, true, "the vector is not along order[0]");
        check_copies(&l, "blocked");
    }
}
END_TEST

START_TEST(copies_of_all_kinds) {
    rng = 12;
    for (int i = 0; i < 3000; i++) {
        Type t = random_type(1 + below(3), 10);
        Layout l = random_layout(t, below(3));
        check_copies(&l, "random");
    }
    /* One that does not cover its tile. */
    Layout gap = layout_new(tile2(2, 2));
    layout_push(&gap, IN_REG, 1);
    layout_push(&gap, IN_LANE, 4);
    layout_push(&gap, IN_LANE, 5);
    SAME(layout_covers(&gap), false, "covers");
    check_copies(&gap, "gap");
}
END_TEST

/* ---- shapes ---- */

START_TEST(transposed_and_sliced) {
    rng = 13;
    for (int i = 0; i < 1500; i++) {
        Type t = random_type(3, 9), to = t, one = t;
        Layout l = random_base(t, below(3));
        int order[3], dim = below(3);
        uint8_t perm[3];
        random_order(3, order);
        for (int d = 0; d < 3; d++) {
            perm[d] = (uint8_t)order[d];
            to.log2[d] = t.log2[order[d]];
        }
        Layout moved = layout_transposed(&l, t, perm), slice = layout_without_dim(&l, t, dim);
        one.log2[dim] = 0;
        Layout before = layout_before_broadcast(&l, t, one);
        SAME((int)slice.out, l.out - t.log2[dim], "size of a slice");
        Walk w = {{0}};
        do {
            uint32_t e = layout_apply(&l, w.hw), m = layout_apply(&moved, w.hw), s = 0;
            for (int d = 0; d < 3; d++) {
                SAME(coordinate(m, to, d), coordinate(e, t, order[d]), "transposed");
                if (d != dim) s |= coordinate(e, t, d) << type_dim_shift(one, d);
            }
            SAME(layout_apply(&slice, w.hw), s, "sliced");
            SAME(layout_apply(&before, w.hw), s, "before a broadcast");
        } while (walk_next(&w, &l));
    }
}
END_TEST

/* A pair of elements beside each other comes into one thread, which holds no more of them for it.
 */
START_TEST(split_in_a_thread) {
    rng = 16;
    for (int i = 0; i < 1500; i++) {
        Type t = random_type(1 + below(3), 9);
        Layout l = random_layout(t, below(2)), without = l;
        layout_drop_replicas(&without);
        bool apart = false; /* some bit of the layout's has the other of a pair, and nothing else */
        for (int in = 0; in < IN_DIMS; in++)
            for (int k = 0; k < without.bits[in]; k++) apart |= without.basis[in][k] == 1;
        if (!apart) continue;
        Layout r = layout_splittable(&l), half = layout_half(&r);
        SAME(r.bits[IN_REG], without.bits[IN_REG] ? without.bits[IN_REG] : 1, "registers");
        SAME(layout_covers(&r), layout_covers(&l), "covers");
        SAME(layout_covers(&half), layout_covers(&l), "covers the halves");
        SAME((int)half.bits[IN_REG], r.bits[IN_REG] - 1, "registers of a half");
        int pairs = 0;
        for (int k = 0; k < r.bits[IN_REG]; k++) pairs += r.basis[IN_REG][k] == 1;
        SAME(pairs, 1, "a pair in a thread");
    }
}
END_TEST

START_TEST(vector_bits) {
    rng = 14;
    for (int i = 0; i < 4000; i++) {
        Type t = random_type(1 + below(3), 9);
        Layout l = random_layout(t, below(2));
        for (int dim = 0; dim < t.rank; dim++) {
            /* The longest runs of registers that are, in every thread, aligned runs along dim. */
            int best = 0;
            for (int n = 1; n <= l.bits[IN_REG] && n <= t.log2[dim]; n++) {
                bool runs = true;
                Walk w = {{0}};
                do {
                    uint32_t r = w.hw[IN_REG], low = r & (((uint32_t)1 << n) - 1), start[IN_DIMS];
                    memcpy(start, w.hw, sizeof start);
                    start[IN_REG] = r - low;
                    uint32_t e = layout_apply(&l, start);
                    if (coordinate(e, t, dim) & (((uint32_t)1 << n) - 1))
                        runs = false;
                    else if (layout_apply(&l, w.hw) != e + (low << type_dim_shift(t, dim)))
                        runs = false;
                } while (runs && walk_next(&w, &l));
                if (!runs) break;
                best = n;
            }
            int got = layout_vector_bits(&l, t, dim);
            SAME(got, best, "dimension %d: %d vector bits, should be %d", dim, got, best);
        }
    }
}
END_TEST

START_TEST(full_layout_takes_no_more) {
    Layout l = layout_new(tile2(10, 10));
    for (int i = 0; i < LAYOUT_MAX_BITS + 5; i++) layout_push(&l, IN_REG, 1);
    ck_assert_int_eq(l.bits[IN_REG], LAYOUT_MAX_BITS);
}
END_TEST

/* ---- drawing ---- */

/* Puts what layout_draw wrote into `text`. */
static void draw(const Layout *l, Type t, bool shared, char *text, size_t size) {
    Session *s = malloc(sizeof *s);
    ck_assert_ptr_nonnull(s);
    if (setjmp(s->bail)) ck_abort_msg("out of memory");
    session_init(s);
    Buf out = buf_new(&s->arena);
    layout_draw(l, t, shared, "// ", &out);
    ck_assert_uint_lt(out.len, size);
    memcpy(text, out.data, out.len + 1);
    session_free(s);
    free(s);
}

START_TEST(kept_layouts_are_equal_when_their_addresses_are) {
    enum { MANY = 2000 };
    static const Layout *kept[MANY];
    static int same;
    Session *s = calloc(1, sizeof *s);
    if (setjmp(s->bail)) ck_abort_msg("the session bailed out");
    session_init(s);
    for (int i = 0; i < MANY; i++) {
        Type t = random_type(2, 6);
        Layout l = random_blocked(t, below(3));
        kept[i] = intern_layout(s, l);
        ck_assert(layout_equal(kept[i], &l) && kept[i] != &l);
        for (int k = 0; k < i; k++) {
            ck_assert((kept[k] == kept[i]) == layout_equal(kept[k], kept[i]));
            same += kept[k] == kept[i];
        }
    }
    ck_assert_int_gt(same, 0);
    session_free(s);
    free(s);
}
END_TEST

START_TEST(drawing_of_an_accumulator) {
    Type t = tile2(4, 3);
    t.elem = EL_F32;
    Layout acc = layout_mma_c(t, 0, 0);
    char text[4096];
    draw(&acc, t, false, text, sizeof text);
    ck_assert_str_eq(
        text,
        "// f32[16,8] reg=[(0,1) (8,0)] lane=[(0,2) (0,4) (1,0) (2,0) (4,0)]\n"
        "// held by warp.lane.register:\n"
        "//     0.00.0    0.00.1    0.01.0    0.01.1    0.02.0    0.02.1    0.03.0    0.03.1\n"
        "//     0.04.0    0.04.1    0.05.0    0.05.1    0.06.0    0.06.1    0.07.0    0.07.1\n"
        "//     0.08.0    0.08.1    0.09.0    0.09.1    0.10.0    0.10.1    0.11.0    0.11.1\n"
        "//     0.12.0    0.12.1    0.13.0    0.13.1    0.14.0    0.14.1    0.15.0    0.15.1\n"
        "//     0.16.0    0.16.1    0.17.0    0.17.1    0.18.0    0.18.1    0.19.0    0.19.1\n"
        "//     0.20.0    0.20.1    0.21.0    0.21.1    0.22.0    0.22.1    0.23.0    0.23.1\n"
        "//     0.24.0    0.24.1    0.25.0    0.25.1    0.26.0    0.26.1    0.27.0    0.27.1\n"
        "//     0.28.0    0.28.1    0.29.0    0.29.1    0.30.0    0.30.1    0.31.0    0.31.1\n"
        "//     0.00.2    0.00.3    0.01.2    0.01.3    0.02.2    0.02.3    0.03.2    0.03.3\n"
        "//     0.04.2    0.04.3    0.05.2    0.05.3    0.06.2    0.06.3    0.07.2    0.07.3\n"
        "//     0.08.2    0.08.3    0.09.2    0.09.3    0.10.2    0.10.3    0.11.2    0.11.3\n"
        "//     0.12.2    0.12.3    0.13.2    0.13.3    0.14.2    0.14.3    0.15.2    0.15.3\n"
        "//     0.16.2    0.16.3    0.17.2    0.17.3    0.18.2    0.18.3    0.19.2    0.19.3\n"
        "//     0.20.2    0.20.3    0.21.2    0.21.3    0.22.2    0.22.3    0.23.2    0.23.3\n"
        "//     0.24.2    0.24.3    0.25.2    0.25.3    0.26.2    0.26.3    0.27.2    0.27.3\n"
        "//     0.28.2    0.28.3    0.29.2    0.29.3    0.30.2    0.30.3    0.31.2    0.31.3\n");
}
END_TEST

/* Chunks of eight, permuted by the row: its first 32 columns, where the drawing ends. */
START_TEST(drawing_of_a_swizzle) {
    static const char head[] =
        "// f16[8,64] offset=[(0,1) (0,2) (0,4) (0,8) (0,16) (0,32) (1,8) (2,16) (4,32)]\n"
        "// held by offset:\n";
    Type t = tile2(3, 6);
    int order[] = {1, 0};
    Layout swizzled = layout_shared(t, order, 3, 0, 3);
    t = type_in_space(t, SPACE_SHARED);
    char text[8192], *p = text;
    draw(&swizzled, t, true, text, sizeof text);
    ck_assert_msg(strncmp(p, head, sizeof head - 1) == 0, "%s", p);
    p += sizeof head - 1;
    for (long row = 0; row < 8; row++, p += 5) {
        ck_assert_msg(strncmp(p, "//", 2) == 0, "row %ld: %s", row, p);
        p += 2;
        for (long col = 0; col < 32; col++)
            ck_assert_int_eq(strtol(p, &p, 10), row * 64 + ((col / 8 ^ row) * 8 + col % 8));
        ck_assert_msg(strncmp(p, " ...\n", 5) == 0, "row %ld: %s", row, p);
    }
    ck_assert_str_eq(p, "");
}
END_TEST

START_TEST(drawing_of_a_gap) { /* an element that nobody holds */
    Type t = tile2(0, 2);
    Layout l = layout_new(t);
    layout_push(&l, IN_LANE, 2);
    char text[512];
    draw(&l, t, false, text, sizeof text);
    ck_assert_str_eq(text, "// f16[1,4] lane=[(0,2)]\n"
                           "// held by warp.lane.register:\n"
                           "//     0.00.0         -    0.01.0         -\n");
}
END_TEST

int main(void) {
    TCase *c = tcase_create("layout");
    tcase_set_timeout(c, 120);
    tcase_add_test(c, mma_fragments);
    tcase_add_test(c, wgmma_sums);
    tcase_add_test(c, wgmma_pairs);
    tcase_add_test(c, mma_batches);
    tcase_add_test(c, blocked_covers);
    tcase_add_test(c, copies_of_all_kinds);
    tcase_add_test(c, transposed_and_sliced);
    tcase_add_test(c, split_in_a_thread);
    tcase_add_test(c, vector_bits);
    tcase_add_test(c, full_layout_takes_no_more);
    tcase_add_test(c, kept_layouts_are_equal_when_their_addresses_are);
    tcase_add_test(c, drawing_of_an_accumulator);
    tcase_add_test(c, drawing_of_a_swizzle);
    tcase_add_test(c, drawing_of_a_gap);
    return run_tests("layout", c);
}
