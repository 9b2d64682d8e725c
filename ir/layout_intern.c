/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* layout_intern.c: layouts -> one address for each that is different. */
#include "ir/layout.h"

#include <string.h>

typedef struct LayoutTable { /* open addressing; never more than half full */
    const Layout **at;
    uint32_t mask, n;
} LayoutTable;

static uint64_t hash(const Layout *l) {
    uint64_t h = l->out;
    for (int in = 0; in < IN_DIMS; in++) {
        h = (h ^ l->bits[in]) * 0x9E3779B97F4A7C15u;
        for (int k = 0; k < l->bits[in]; k++) h = (h ^ l->basis[in][k]) * 0x9E3779B97F4A7C15u;
        h ^= h >> 29;
    }
    return h;
}

static const Layout **slot_of(const LayoutTable *t, const Layout *l) {
    uint32_t i = (uint32_t)hash(l) & t->mask;
    while (t->at[i] && !layout_equal(t->at[i], l)) i = (i + 1) & t->mask;
    return &t->at[i];
}

static void grow(Session *s, LayoutTable *t) {
    LayoutTable old = *t;
    t->mask = old.at ? 2 * old.mask + 1 : 63;
    t->at = arena_array(&s->arena, (size_t)t->mask + 1, sizeof *t->at);
    for (uint32_t i = 0; old.at && i <= old.mask; i++)
        if (old.at[i]) *slot_of(t, old.at[i]) = old.at[i];
}

const Layout *intern_layout(Session *s, Layout l) {
    if (!s->layouts) s->layouts = arena_alloc(&s->arena, sizeof *s->layouts);
    LayoutTable *t = s->layouts;
    if (!t->at || 2 * t->n > t->mask) grow(s, t);
    const Layout **slot = slot_of(t, &l);
    if (!*slot) {
        *slot = arena_copy(&s->arena, &l, sizeof l);
        t->n++;
    }
    return *slot;
}
