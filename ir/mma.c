/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* mma.c: the table of matrix instructions (see mma.h). */
#include "ir/mma.h"

static const MmaInfo mma_table[] = {
#define MMA(id, sm, a, b, c, m, k, pack, ra, rb, rc, text)                                         \
    {sm, EL_##a, EL_##b, EL_##c, m, k, pack, ra, rb, rc, text},
#include "ir/mma.def"
#undef MMA
};

const MmaInfo *mma_find(Elem a, Elem b, Elem c, int sm) {
    for (size_t i = 0; i < sizeof mma_table / sizeof *mma_table; i++) {
        const MmaInfo *m = &mma_table[i];
        if (m->a == a && m->b == b && m->c == c && m->sm <= sm) return m;
    }
    return NULL;
}

const MmaInfo *mma_row(int row) {
    return &mma_table[row];
}
int mma_index(const MmaInfo *m) {
    return (int)(m - mma_table);
}

static const WgmmaInfo wgmma_table[] = {
#define WGMMA(id, a, b, c, k, wide, majors, scales, text)                                          \
    {EL_##a, EL_##b, EL_##c, k, wide, majors, scales, text},
#include "ir/wgmma.def"
#undef WGMMA
};

const WgmmaInfo *wgmma_find(Elem a, Elem b, Elem c) {
    for (size_t i = 0; i < sizeof wgmma_table / sizeof *wgmma_table; i++) {
        const WgmmaInfo *w = &wgmma_table[i];
        if (w->a == a && w->b == b && w->c == c) return w;
    }
    return NULL;
}

const WgmmaInfo *wgmma_row(int row) {
    return &wgmma_table[row];
}

int64_t wgmma_columns(const Op *dot) {
    Type t = dot->result[0]->type;
    return (int64_t)1 << (t.log2[t.rank - 1] - ir_attr_int(dot, AT_WARPS_N, 0));
}

int64_t wgmma_n(const WgmmaInfo *w, int64_t columns) {
    enum { UNIT = 8, NARROW = 32 };
    int64_t of = columns > NARROW ? w->wide : UNIT;
    return (columns + of - 1) / of * of;
}

int wgmma_index(const WgmmaInfo *w) {
    return (int)(w - wgmma_table);
}
