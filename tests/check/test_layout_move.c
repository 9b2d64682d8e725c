/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_layout_move.c: moving tiles between layouts and through shared memory: swizzles,
 * conversion maps between thousands of pairs compared at every hardware index, bank conflicts
 * against a model of 32 banks, and the shared-memory layouts that passes choose. */
#include "passes/layout_choice.h"
#include "tests/check/layout_fixture.h"

/* ---- shared memory ---- */

/* In 16-byte chunks, the one at (row, chunk) lies at chunk ^ (row & 7) for rows of 128 bytes or
 * more, chunk ^ (row >> 1 & 3) for 64 and chunk ^ (row >> 2 & 1) for 32. */
START_TEST(swizzle_formula) {
    for (int elem = 0; elem <= 3; elem++)
        for (int row_bytes = 5; row_bytes <= 8; row_bytes++)
            for (int rows = 0; rows <= 6; rows++) {
                int cols = row_bytes - elem, order[] = {1, 0};
                int phases = row_bytes >= 7 ? 3 : row_bytes - 4,
                    per = row_bytes >= 7 ? 0 : 7 - row_bytes;
                Layout l = layout_shared(tile2(rows, cols), order, 4 - elem, per, phases);
                for (uint32_t offset = 0; offset < (uint32_t)1 << (rows + cols); offset++) {
                    uint32_t byte = offset << elem, row = byte >> row_bytes;
                    uint32_t chunk = byte >> 4 & (((uint32_t)1 << (row_bytes - 4)) - 1);
                    uint32_t x = row_bytes >= 7   ? row & 7
                                 : row_bytes == 6 ? row >> 1 & 3
                                                  : row >> 2 & 1;
                    uint32_t want = (byte ^ x << 4) >> elem;
                    SAME(layout_apply(&l, (uint32_t[IN_DIMS]){offset}), want,
                         "rows of %d bytes: offset %u, row %u, chunk %u", 1 << row_bytes, offset,
                         row, chunk);
                }
            }
}
END_TEST

static Layout random_shared(Type t) {
    int order[3];
    random_order(t.rank, order);
    return layout_shared(t, order, below(4), below(4), below(4));
}

/* Byte offset that a hardware index has in the buffer, found by looking for its element. */
static uint32_t *offsets_by_element(const Layout *shared) {
    uint32_t n = (uint32_t)1 << shared->out, *found = malloc(n * sizeof *found);
    ck_assert_ptr_nonnull(found);
    for (uint32_t o = 0; o < n; o++) found[layout_apply(shared, (uint32_t[IN_DIMS]){o})] = o;
    return found;
}

START_TEST(shared_vector_bits) {
    rng = 15;
    for (int i = 0; i < 3000; i++) {
        Type t = random_type(1 + below(3), 9);
        Layout l = random_layout(t, below(2)), s = random_shared(t);
        uint32_t *offset = offsets_by_element(&s);
        int best = 0;
        for (int n = 1; n <= l.bits[IN_REG]; n++) {
            bool runs = true;
            Walk w = {{0}};
            do {
                uint32_t r = w.hw[IN_REG], low = r & (((uint32_t)1 << n) - 1), start[IN_DIMS];
                memcpy(start, w.hw, sizeof start);
                start[IN_REG] = r - low;
                uint32_t o = offset[layout_apply(&l, start)];
                if ((o & (((uint32_t)1 << n) - 1)) || offset[layout_apply(&l, w.hw)] != o + low)
                    runs = false;
            } while (runs && walk_next(&w, &l));
            if (!runs) break;
            best = n;
        }
        free(offset);
        int got = layout_shared_vector_bits(&l, &s);
        SAME(got, best, "%d shared vector bits, should be %d", got, best);
    }
}
END_TEST

/* The most words of one bank that any group of lanes served together asks for: 32 lanes of up to 4
 * bytes, 16 of 8, 8 of 16; lanes that ask for the same word share it. */
static int conflict_by_banks(const Layout *l, const uint32_t *offset, int elem_bytes, int vec,
                             uint32_t warp) {
    int bytes = elem_bytes << vec, lanes = bytes <= 4 ? 32 : bytes == 8 ? 16 : 8, worst = 0;
    for (int first = 0; first < 32; first += lanes)
        for (uint32_t reg = 0; reg < (uint32_t)1 << l->bits[IN_REG]; reg += (uint32_t)1 << vec) {
            uint32_t words[32 * 4];
            int n = 0, in_bank[32] = {0};
            for (int lane = first; lane < first + lanes; lane++) {
                uint32_t byte = offset[at(l, reg, (uint32_t)lane, warp)] * (uint32_t)elem_bytes;
                for (uint32_t b = byte; b < byte + (uint32_t)bytes; b++) {
                    bool known = false;
                    for (int k = 0; k < n; k++) known |= words[k] == b / 4;
                    if (!known) words[n++] = b / 4;
                }
            }
            for (int k = 0; k < n; k++) in_bank[words[k] % 32]++;
            for (int k = 0; k < 32; k++) worst = in_bank[k] > worst ? in_bank[k] : worst;
        }
    return worst;
}

static int check_banks(const Layout *l, const Layout *s, int elem_bytes) {
    uint32_t *offset = offsets_by_element(s);
    int may = layout_shared_vector_bits(l, s), done = 0;
    for (int vec = 0; vec <= may && elem_bytes << vec <= 16; vec++, done++) {
        int want = conflict_by_banks(l, offset, elem_bytes, vec, 0),
            got = layout_bank_conflict(l, s, elem_bytes, vec);
        SAME(1 << got, want, "%d-byte elements, vectors of %d: %d-way, should be %d-way",
             elem_bytes, 1 << vec, 1 << got, want);
        if (l->bits[IN_WARP])
            SAME(conflict_by_banks(l, offset, elem_bytes, vec, 1), want, "another warp");
    }
    free(offset);
    return done;
}

START_TEST(bank_conflicts) {
    rng = 16;
    int done = 0;
    for (int elem = 0; elem <= 3; elem++) /* of the layouts that programs have, all swizzles */
        for (int rows = 4; rows <= 6; rows += 2)
            for (int cols = 3; cols <= 6; cols++)
                for (int phases = 0; phases <= 3; phases++)
                    for (int per = 0; per <= 2; per++)
                        for (int turned = 0; turned < 2; turned++) {
                            Type t = tile2(rows, cols);
                            int order[] = {!turned, turned}, rows_first[] = {1, 0},
                                cols_first[] = {0, 1};
                            Layout s = layout_shared(t, order, 4 - elem, per, phases);
                            Layout l[] = {layout_mma_c(t, 0, 0),
                                          layout_mma_a(t, 0, 0, 1),
                                          layout_mma_b(t, 0, 0, 1),
                                          layout_blocked(t, rows_first, 4 - elem, 1),
                                          layout_blocked(t, cols_first, 2, 0),
                                          layout_blocked(t, rows_first, 0, 0)};
                            for (size_t i = 0; i < sizeof l / sizeof *l; i++)
                                done += check_banks(&l[i], &s, 1 << elem);
                        }
    for (int i = 0; i < 2000; i++) {
        Type t = random_type(1 + below(3), 9);
        Layout l = random_layout(t, below(2)), s = random_shared(t);
        done += check_banks(&l, &s, 1 << below(4));
    }
    ck_assert_int_gt(done, 6000);
}
END_TEST

/* The figures that the handbook measured: plain rows of 128 bytes are read 8-way by ldmatrix, whose
 * eight lanes take 16 bytes each of eight rows; swizzled ones freely. */
START_TEST(known_conflicts) {
    Type t = tile2(6, 6);
    int order[] = {1, 0};
    Layout rows = layout_new(t);
    layout_push_dim(&rows, IN_REG, t, 1, 0, 3);
    layout_push_dim(&rows, IN_LANE, t, 0, 0, 5);
    layout_push_dim(&rows, IN_REG, t, 1, 3, 3);
    layout_push_dim(&rows, IN_REG, t, 0, 5, 1);
    Layout plain = layout_shared(t, order, 3, 0, 0), swizzled = layout_shared(t, order, 3, 0, 3);
    ck_assert_int_eq(layout_bank_conflict(&rows, &plain, 2, 3), 3);
    ck_assert_int_eq(layout_bank_conflict(&rows, &swizzled, 2, 3), 0);
    Layout acc = layout_mma_c(t, 0, 0); /* a pair of f16 a lane */
    ck_assert_int_eq(layout_bank_conflict(&acc, &plain, 2, 1), 3);
    ck_assert_int_eq(layout_bank_conflict(&acc, &swizzled, 2, 1), 0);
}
END_TEST

/* ---- routes ---- */

/* What it takes at the least: each hardware index's source found by looking, for `from` without
 * copies. */
static MoveKind kind_by_places(const Layout *to, const Layout *from) {
    enum { MOST = 1 << 10 };
    static uint64_t source[MOST];
    Walk w = {{0}};
    do {
        source[layout_apply(from, w.hw)] = hw_index_pack(w.hw);
    } while (walk_next(&w, from));
    MoveKind kind = to->bits[IN_REG] == from->bits[IN_REG] ? MOVE_NONE : MOVE_REGISTERS;
    memset(&w, 0, sizeof w);
    do {
        uint64_t p = source[layout_apply(to, w.hw)];
        uint64_t q = source[at(to, w.hw[IN_REG], 0, 0)],
                 r = source[at(to, w.hw[IN_REG], w.hw[IN_LANE], 0)];
        MoveKind need = MOVE_NONE;
        if (p != hw_index_pack(w.hw)) need = MOVE_REGISTERS;
        bool own_lane = hw_index_part(p, IN_LANE) == w.hw[IN_LANE];
        if (!own_lane || hw_index_part(p, IN_REG) != hw_index_part(q, IN_REG)) need = MOVE_SHUFFLE;
        bool own_warp = hw_index_part(p, IN_WARP) == w.hw[IN_WARP];
        if (!own_warp || hw_index_part(p, IN_LANE) != hw_index_part(r, IN_LANE) ||
            hw_index_part(p, IN_REG) != hw_index_part(r, IN_REG))
            need = MOVE_SHARED;
        if (need > kind) kind = need;
    } while (walk_next(&w, to));
    return kind;
}

static bool has_copies(const Layout *l) {
    return layout_broadcast_bits(l, IN_REG) || layout_broadcast_bits(l, IN_LANE) ||
           layout_broadcast_bits(l, IN_WARP);
}

START_TEST(routes) {
    rng = 17;
    int kinds[MOVE_IMPOSSIBLE + 1] = {0}, exact = 0;
    for (int i = 0; i < 6000; i++) {
        Type t = random_type(1 + below(3), 10);
        int warps = below(3);
        Layout to = random_layout(t, warps), from = random_layout(t, warps);
        if (below(10) == 0)
            to = from;
        else if (below(8) == 0) { /* the same registers in another order */
            to = from;
            if (to.bits[IN_REG] > 1) {
                uint32_t v = to.basis[IN_REG][0];
                to.basis[IN_REG][0] = to.basis[IN_REG][to.bits[IN_REG] - 1];
                to.basis[IN_REG][to.bits[IN_REG] - 1] = v;
            }
        } else if (warps && below(8) == 0) { /* all warps hold what each had a part of */
            from = to;
            layout_push(&from, IN_REG, from.basis[IN_WARP][0]);
            from.basis[IN_WARP][0] = 0;
        }
        ConversionMap r;
        SAME(layout_conversion_map(&to, &from, &r), true,
             "no route between layouts that hold everything");
        MoveKind kind = layout_move_kind(&to, &from);
        kinds[kind]++;
        Walk w = {{0}};
        do {
            uint64_t p = conversion_map_apply(&r, w.hw);
            uint32_t hw[IN_DIMS];
            for (int in = 0; in < IN_DIMS; in++) {
                hw[in] = hw_index_part(p, (LayoutIn)in);
                SAME(hw[in] >> from.bits[in] && hw[in] != w.hw[in], false,
                     "a hardware index that is not there");
            }
            SAME(layout_apply(&from, hw), layout_apply(&to, w.hw),
                 "the route leads to another element");
            bool same_warp = hw[IN_WARP] == w.hw[IN_WARP], same_lane = hw[IN_LANE] == w.hw[IN_LANE];
            if (kind < MOVE_SHARED)
                SAME(same_warp, true, "another warp in a move of kind %d", kind);
            if (kind < MOVE_SHUFFLE)
                SAME(same_lane, true, "another lane in a move of kind %d", kind);
            if (kind < MOVE_REGISTERS)
                SAME(hw[IN_REG], w.hw[IN_REG], "another register in no move");
        } while (walk_next(&w, &to));
        if (has_copies(&to) || has_copies(&from)) continue;
        exact++;
        MoveKind want = kind_by_places(&to, &from);
        SAME(kind, want, "a move of kind %d, should be %d", kind, want);
    }
    ck_assert_int_gt(exact, 300);
    for (int k = MOVE_NONE; k < MOVE_IMPOSSIBLE; k++) ck_assert_int_gt(kinds[k], 50);
}
END_TEST

START_TEST(impossible_routes) {
    Type t = tile2(3, 3);
    int order[] = {1, 0};
    Layout whole = layout_blocked(t, order, 1, 0), part = whole;
    part.basis[IN_LANE][2] = 0;
    ConversionMap r;
    SAME(layout_conversion_map(&whole, &part, &r), false, "a route to elements nobody has");
    SAME(layout_move_kind(&whole, &part), MOVE_IMPOSSIBLE, "kind");
    SAME(layout_conversion_map(&part, &whole, &r), true, "a route to fewer elements");
}
END_TEST

/* How many registers of one lane the others ask for at once, by counting. */
START_TEST(shuffle_rank) {
    rng = 18;
    for (int i = 0; i < 2000; i++) {
        Type t = random_type(2, 10);
        Layout to = random_layout(t, 0), from = random_layout(t, 0);
        ConversionMap r;
        ck_assert(layout_conversion_map(&to, &from, &r));
        uint32_t seen[32];
        int n = 0;
        for (uint32_t lane = 0; lane < 32; lane++) {
            uint32_t reg =
                hw_index_part(conversion_map_apply(&r, (uint32_t[IN_DIMS]){0, lane}), IN_REG);
            bool known = false;
            for (int k = 0; k < n; k++) known |= seen[k] == reg;
            if (!known) seen[n++] = reg;
        }
        SAME(1 << conversion_map_rank(&r, IN_LANE), n, "shuffle rank %d for %d registers",
             conversion_map_rank(&r, IN_LANE), n);
    }
}
END_TEST

START_TEST(packed_places) {
    uint32_t most[IN_DIMS] = {(1 << 20) - 1, 31, 31, 15};
    for (int in = 0; in < IN_DIMS; in++) {
        uint32_t hw[IN_DIMS] = {0};
        hw[in] = most[in];
        for (int other = 0; other < IN_DIMS; other++)
            ck_assert_uint_eq(hw_index_part(hw_index_pack(hw), (LayoutIn)other), hw[other]);
    }
}
END_TEST

/* ---- what passes choose ---- */

/* The moves that programs make most: an accumulator or a tile as loaded to one that is stored in
 * whole rows or columns. Accumulator and rows are free of conflicts on both sides. Where a tile is
 * turned round one side may be 2-way: its 16 bytes fill banks that the other's lanes all leave out.
 */
START_TEST(chosen_moves_are_free) {
    static const Elem elems[] = {EL_I8, EL_F16, EL_F32};
    for (size_t e = 0; e < sizeof elems / sizeof *elems; e++)
        for (int rows = 5; rows <= 7; rows++)
            for (int cols = 5; cols <= 7; cols++)
                for (int warps = 0; warps <= 3; warps++) {
                    Type t = tile2(rows, cols);
                    t.elem = (uint8_t)elems[e];
                    int bytes = type_elem_bytes(t), wide = log2_of(16 / bytes);
                    int by_row[] = {1, 0}, by_col[] = {0, 1};
                    Layout row = layout_blocked(t, by_row, wide, warps),
                           col = layout_blocked(t, by_col, wide, warps);
                    Layout acc = layout_mma_c(t, warps - warps / 2, warps / 2);
                    const Layout *pairs[][2] = {
                        {&acc, &row}, {&row, &acc}, {&row, &col}, {&col, &row}, {&acc, &col}};
                    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
                        Layout s = choose_move_shared(t, pairs[i][0], pairs[i][1]);
                        SAME(layout_covers(&s), true, "the buffer lacks elements");
                        for (int side = 0; side < 2; side++) {
                            int vec = layout_shared_vector_bits(pairs[i][side], &s);
                            if (vec > wide) vec = wide;
                            int conflict = layout_bank_conflict(pairs[i][side], &s, bytes, vec);
                            SAME(conflict > (i >= 2), false,
                                 "%dx%d, %d bytes, %d warps, pair %d side %d: %d-way", 1 << rows,
                                 1 << cols, bytes, 1 << warps, (int)i, side, 1 << conflict);
                        }
                    }
                }
}
END_TEST

int main(void) {
    TCase *c = tcase_create("layout moves");
    tcase_set_timeout(c, 120);
    tcase_add_test(c, swizzle_formula);
    tcase_add_test(c, shared_vector_bits);
    tcase_add_test(c, bank_conflicts);
    tcase_add_test(c, known_conflicts);
    tcase_add_test(c, routes);
    tcase_add_test(c, impossible_routes);
    tcase_add_test(c, shuffle_rank);
    tcase_add_test(c, packed_places);
    tcase_add_test(c, chosen_moves_are_free);
    return run_tests("layout moves", c);
}
