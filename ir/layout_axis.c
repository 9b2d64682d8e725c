/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* layout_axis.c: layouts seen along one dimension: who holds which bit of it, and what becomes of a
 * layout when a last dimension of two comes or goes (join, split).
 *
 * All of it is bookkeeping on basis vectors of a single bit: a last dimension of two is bit 0 of
 * the flat index, so adding or removing it shifts every vector by one. */
#include "ir/layout.h"

#include <string.h>

bool layout_is_plain(const Layout *l) {
    uint32_t seen = 0;
    for (int in = 0; in < IN_DIMS; in++)
        for (int k = 0; k < l->bits[in]; k++) {
            uint32_t v = l->basis[in][k];
            if ((v & (v - 1)) || (seen & v)) return false;
            seen |= v;
        }
    return true;
}

bool layout_same_warps(const Layout *a, const Layout *b) {
    bool same = a->bits[IN_WARP] == b->bits[IN_WARP] && layout_is_plain(a) && layout_is_plain(b);
    for (int k = 0; k < a->bits[IN_WARP]; k++)
        same = same && a->basis[IN_WARP][k] && a->basis[IN_WARP][k] == b->basis[IN_WARP][k];
    return same;
}

static bool find(const Layout *l, uint32_t image, LayoutIn *in, int *k) {
    for (int i = 0; i < IN_DIMS; i++)
        for (int j = 0; j < l->bits[i]; j++)
            if (l->basis[i][j] == image) {
                *in = (LayoutIn)i;
                *k = j;
                return true;
            }
    return false;
}

bool layout_find_bit(const Layout *l, Type t, int dim, int bit, LayoutIn *in, int *k) {
    return find(l, (uint32_t)1 << (type_dim_shift(t, dim) + bit), in, k);
}

static void remove_register(Layout *l, int k) {
    int last = --l->bits[IN_REG];
    memmove(&l->basis[IN_REG][k], &l->basis[IN_REG][k + 1],
            (size_t)(last - k) * sizeof l->basis[IN_REG][0]);
    l->basis[IN_REG][last] = 0;
}

Layout layout_joined(const Layout *l) {
    Layout r = {.out = (uint8_t)(l->out + 1)};
    layout_push(&r, IN_REG, 1);
    for (int in = 0; in < IN_DIMS; in++)
        for (int k = 0; k < l->bits[in]; k++) layout_push(&r, (LayoutIn)in, l->basis[in][k] << 1);
    return r;
}

Layout layout_before_join(const Layout *l) {
    Layout r = *l;
    r.out--;
    for (int in = 0; in < IN_DIMS; in++)
        for (int k = 0; k < l->bits[in]; k++) r.basis[in][k] = l->basis[in][k] >> 1;
    layout_drop_replicas(&r);
    return r;
}

/* The lane or warp that held the bit takes over what the last register bit held instead, so that
 * the move needs no more registers; when no register bit is left to give it holds replicas. */
Layout layout_splittable(const Layout *l) {
    Layout r = *l;
    layout_drop_replicas(&r);
    LayoutIn in = IN_REG;
    int k = 0;
    if (find(l, 1, &in, &k) && in == IN_REG) return r;
    bool held = find(l, 1, &in, &k);
    int give = r.bits[IN_REG] - 1; /* none of them is of replicas any more */
    if (give < 0) {
        if (held) r.basis[in][k] = 0;
        layout_push(&r, IN_REG, 1);
        return r;
    }
    if (held) r.basis[in][k] = r.basis[IN_REG][give];
    r.basis[IN_REG][give] = 1;
    return r;
}

Layout layout_half(const Layout *l) {
    Layout r = *l;
    LayoutIn in = IN_REG;
    int k = 0;
    if (find(l, 1, &in, &k) && in == IN_REG) remove_register(&r, k);
    r.out--;
    for (int i = 0; i < IN_DIMS; i++)
        for (int j = 0; j < r.bits[i]; j++) r.basis[i][j] >>= 1;
    return r;
}
