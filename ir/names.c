/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* names.c: open addressing over interned pointers (see names.h). */
#include "ir/names.h"

static struct NameSlot *probe(struct NameSlot *slot, size_t cap, const char *key) {
    uint64_t h = (uint64_t)(uintptr_t)key * 0x9E3779B97F4A7C15u;
    for (size_t i = (size_t)(h >> 32) & (cap - 1);; i = (i + 1) & (cap - 1))
        if (!slot[i].key || slot[i].key == key) return &slot[i];
}

struct NameSlot *names_at(NameMap *m, const char *key) {
    if (m->used * 2 >= m->cap) {
        size_t cap = m->cap ? m->cap * 2 : 64;
        struct NameSlot *slot = arena_array(m->arena, cap, sizeof *slot);
        for (size_t i = 0; i < m->cap; i++)
            if (m->slot[i].key) *probe(slot, cap, m->slot[i].key) = m->slot[i];
        m->slot = slot;
        m->cap = cap;
    }
    struct NameSlot *s = probe(m->slot, m->cap, key);
    if (!s->key) {
        s->key = key;
        m->used++;
    }
    return s;
}
