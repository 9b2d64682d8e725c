/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* layout_fixture.h: random types and layouts, and going through all hardware indices of one (shared
 * by test_layout*.c). */
#ifndef TILE_TESTS_LAYOUT_FIXTURE_H
#define TILE_TESTS_LAYOUT_FIXTURE_H

#include "ir/layout.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define SAME(got, want, ...)                                                                       \
    do {                                                                                           \
        if ((got) != (want)) ck_abort_msg(__VA_ARGS__);                                            \
    } while (0)

/* ---- random types and layouts ---- */

static uint64_t rng = 1;

static inline int below(int n) {
    rng ^= rng << 13;
    rng ^= rng >> 7;
    rng ^= rng << 17;
    return (int)((rng * 0x2545F4914F6CDD1Du >> 33) % (uint64_t)n);
}

static inline Type type_of(int rank, const int *log2) {
    Type t = {.elem = EL_F16, .rank = (uint8_t)rank};
    for (int i = 0; i < rank; i++) t.log2[i] = (uint8_t)log2[i];
    return t;
}

static inline Type tile2(int rows, int cols) {
    return type_of(2, (int[]){rows, cols});
}

static inline Type random_type(int rank, int most) {
    int log2[3] = {0};
    for (int left = below(most + 1), tries = 0; left > 0 && tries < 30; tries++) {
        int d = below(rank), n = 1 + below(left);
        if (log2[d] + n > 9) continue;
        log2[d] += n;
        left -= n;
    }
    return type_of(rank, log2);
}

static inline void random_order(int rank, int *order) {
    for (int i = 0; i < rank; i++) order[i] = i;
    for (int i = rank - 1; i > 0; i--) {
        int k = below(i + 1), o = order[i];
        order[i] = order[k];
        order[k] = o;
    }
}

static inline Layout random_blocked(Type t, int warps) {
    int order[3];
    random_order(t.rank, order);
    return layout_blocked(t, order, below(5), warps);
}

static inline Layout random_mma(Type t, int warps) {
    int wm = below(warps + 1), wn = warps - wm, pack = below(3);
    switch (below(3)) {
    case 0: return layout_mma_a(t, wm, wn, pack);
    case 1: return layout_mma_b(t, wm, wn, pack);
    default: return layout_mma_c(t, wm, wn);
    }
}

static inline uint32_t dims_of(Type t) {
    return ((uint32_t)1 << type_log2_numel(t)) - 1;
}

/* Any vectors at all, then whatever they do not reach as further registers. */
static inline Layout random_wild(Type t, int warps) {
    Layout l = layout_new(t);
    int n[3] = {below(4), LANE_BITS, warps};
    for (int in = 0; in < 3; in++)
        for (int k = 0; k < n[in]; k++)
            layout_push(&l, (LayoutIn)in, (uint32_t)below(1 << 20) & dims_of(t));
    for (int k = 0; k < l.out && !layout_covers(&l); k++) layout_push(&l, IN_REG, (uint32_t)1 << k);
    return l;
}

static inline Layout random_base(Type t, int warps) {
    if (t.rank >= 2 && below(2)) return random_mma(t, warps);
    return below(6) ? random_blocked(t, warps) : random_wild(t, warps);
}

/* Also what shape operations make of layouts: slices, transposes, operands of broadcasts. */
static inline Layout random_layout(Type t, int warps) {
    Type parent = t;
    int order[3], dim = below(t.rank + 1);
    uint8_t perm[3], back[3];
    switch (below(4)) {
    case 0: { /* a slice of a tile with one dimension more */
        if (t.rank == 3) break;
        for (int i = t.rank; i > dim; i--) parent.log2[i] = parent.log2[i - 1];
        parent.log2[dim] = (uint8_t)below(4);
        parent.rank++;
        Layout l = random_base(parent, warps);
        return layout_without_dim(&l, parent, dim);
    }
    case 1: {
        random_order(t.rank, order);
        for (int i = 0; i < t.rank; i++) perm[i] = (uint8_t)order[i];
        for (int i = 0; i < t.rank; i++) back[perm[i]] = (uint8_t)i;
        for (int i = 0; i < t.rank; i++) parent.log2[i] = t.log2[back[i]];
        Layout l = random_base(parent, warps);
        return layout_transposed(&l, parent, perm);
    }
    case 2: { /* held so that a broadcast of it is held as l */
        for (int i = 0; i < t.rank; i++)
            if (t.log2[i] == 0) parent.log2[i] = (uint8_t)below(4);
        Layout l = random_base(parent, warps);
        l = layout_before_broadcast(&l, parent, t);
        if (below(2)) layout_drop_replicas(&l);
        return l;
    }
    default: break;
    }
    return random_base(t, warps);
}

/* ---- going through hardware indices ---- */

typedef struct Walk {
    uint32_t hw[IN_DIMS];
} Walk;

static inline bool walk_next(Walk *w, const Layout *l) {
    for (int in = 0; in < IN_DIMS; in++) {
        if (++w->hw[in] < (uint32_t)1 << l->bits[in]) return true;
        w->hw[in] = 0;
    }
    return false;
}

static inline uint32_t at(const Layout *l, uint32_t reg, uint32_t lane, uint32_t warp) {
    return layout_apply(l, (uint32_t[IN_DIMS]){reg, lane, warp, 0});
}

static inline uint32_t coordinate(uint32_t element, Type t, int dim) {
    return element >> type_dim_shift(t, dim) & (((uint32_t)1 << t.log2[dim]) - 1);
}

static inline int run_tests(const char *name, TCase *c) {
    Suite *s = suite_create(name);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
