/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* memory.c: the addresses of a request -> where its bytes are, once they have been checked. */
#include "ptx/machine/race.h"

#include <string.h>

PtxSpace space_of(const PtxCode *c) {
    switch (c->field[FIELD_SPACE]) {
    case WORD_SPACE_GLOBAL: return IN_GLOBAL;
    case WORD_SPACE_SHARED: return IN_SHARED;
    case WORD_SPACE_SHARED_CLUSTER: return IN_SHARED_CLUSTER;
    case WORD_SPACE_LOCAL: return IN_LOCAL;
    case WORD_SPACE_PARAM: return IN_PARAM;
    case WORD_SPACE_CONST: return IN_CONST;
    default: return IN_GENERIC;
    }
}

bool access_addresses(Warp *w, const PtxCode *c, const PtxOperand *o, Access *a) {
    uint32_t unknown = a->mask & ~known_of(w, o);
    if (unknown && (w->cta->m->launch->checks & PTX_CHECK_UNINIT)) {
        machine_fail(w, c, __builtin_ctz(unknown), C_UNINIT, "%s, an address, is not known",
                     w->cta->m->program->register_name[o->reg]);
        return false;
    }
    bool narrow = a->space != IN_GENERIC && a->space != IN_GLOBAL && a->space != IN_CONST;
    for (int l = 0; l < WARP; l++) {
        a->address[l] = lane_of(w, o, l);
        if (narrow) a->address[l] = (uint32_t)a->address[l];
    }
    /* A parameter of a call is memory of the thread's own, whatever the instruction calls it. */
    if (a->space == IN_PARAM && o->space == IN_LOCAL) a->space = IN_LOCAL;
    return true;
}

static const char *verb(const Access *a) {
    return a->kind == ACCESS_READ ? "reads" : a->kind == ACCESS_WRITE ? "writes" : "updates";
}

static bool checks(const Warp *w, unsigned check) {
    return (w->cta->m->launch->checks & check) != 0;
}

/* The buffer whose bytes begin at or below the address, nearest. */
static const PtxBuffer *buffer_near(const PtxLaunch *l, uint64_t address) {
    const PtxBuffer *best = NULL;
    for (int i = 0; i < l->nbuffers; i++) {
        const PtxBuffer *b = &l->buffer[i];
        uint64_t base = (uint64_t)(uintptr_t)b->base;
        if (base > address) continue;
        if (address - base < b->bytes) return b;
        if (!best || base > (uint64_t)(uintptr_t)best->base) best = b;
    }
    return best;
}

static bool find_global(Warp *w, const PtxCode *c, Access *a, int l) {
    uint64_t at = a->address[l];
    const PtxBuffer *b = buffer_near(w->cta->m->launch, at);
    uint64_t offset = b ? at - (uint64_t)(uintptr_t)b->base : 0;
    if (b && offset < b->bytes && b->bytes - offset >= a->bytes) {
        a->data[l] = b->base + offset;
        a->known[l] = b->written ? b->written + offset : NULL;
        return true;
    }
    if (!checks(w, PTX_CHECK_BOUNDS)) {
        a->mask &= ~(UINT32_C(1) << l);
        return true;
    }
    if (b)
        machine_fail(w, c, l, C_BOUNDS,
                     "out of bounds: it %s %u bytes at byte %llu of '%s', which has %llu", verb(a),
                     a->bytes, (unsigned long long)offset, b->name ? b->name : "a buffer",
                     (unsigned long long)b->bytes);
    else
        machine_fail(w, c, l, C_BOUNDS,
                     "out of bounds: it %s %u bytes at 0x%llx, which lie in no buffer", verb(a),
                     a->bytes, (unsigned long long)at);
    return false;
}

static bool find_memory(Warp *w, const PtxCode *c, Access *a, int l, const Memory *m, uint64_t at,
                        const char *what) {
    if (at < m->bytes && m->bytes - at >= a->bytes) {
        a->data[l] = m->data + at;
        a->known[l] = m->known + at;
        return true;
    }
    machine_fail(w, c, l, C_BOUNDS,
                 "out of bounds: it %s %u bytes at byte %lld of %s, which has %llu", verb(a),
                 a->bytes, (long long)at, what, (unsigned long long)m->bytes);
    return false;
}

static bool find_shared(Warp *w, const PtxCode *c, Access *a, int l, uint64_t at) {
    uint64_t rank = at >> RANK_SHIFT;
    Cta *cta = w->cta;
    if (rank > (uint64_t)cta->m->cluster) {
        machine_fail(w, c, l, C_BOUNDS, "out of bounds: 0x%llx is no address of shared memory",
                     (unsigned long long)at);
        return false;
    }
    if (rank) cta = cta->cluster[rank - 1];
    at = (at & ((UINT64_C(1) << RANK_SHIFT) - 1)) - PTX_SHARED_BASE;
    if (!find_memory(w, c, a, l, &cta->shared, at, "shared memory")) return false;
    return a->barrier ? race_knows(w, c, l, cta, at, a->bytes) : race_access(w, c, l, cta, at, a);
}

static bool find_lane(Warp *w, const PtxCode *c, Access *a, int l) {
    uint64_t at = a->address[l];
    PtxSpace space = a->space;
    if (space == IN_GENERIC && (at & WINDOW_MASK)) {
        uint64_t window = at & WINDOW_MASK;
        space = window == WINDOW_SHARED ? IN_SHARED : window == WINDOW_LOCAL ? IN_LOCAL : IN_PARAM;
        at &= ~WINDOW_MASK;
    }
    switch (space) {
    case IN_SHARED:
    case IN_SHARED_CLUSTER: return find_shared(w, c, a, l, at);
    case IN_PARAM: return find_memory(w, c, a, l, &w->cta->m->param, at, "the parameters");
    case IN_LOCAL: {
        Memory none = {0};
        return find_memory(w, c, a, l, w->local ? &w->local[l] : &none, at, "local memory");
    }
    default: return find_global(w, c, a, l);
    }
}

bool access_shared(Warp *w, const PtxCode *c, const Access *a) {
    if (a->space == IN_SHARED || a->space == IN_SHARED_CLUSTER) return true;
    EACH_LANE(a->mask, l) {
        if (a->space == IN_GENERIC && (a->address[l] & WINDOW_MASK) == WINDOW_SHARED) continue;
        machine_fail(w, c, l, C_BOUNDS, "0x%llx is no address of shared memory",
                     (unsigned long long)a->address[l]);
        return false;
    }
    return true;
}

bool access_find(Warp *w, const PtxCode *c, Access *a) {
    EACH_LANE(a->mask, l) {
        if (checks(w, PTX_CHECK_ALIGN) && a->address[l] & (a->align - 1)) {
            machine_fail(w, c, l, C_ALIGN,
                         "misaligned: it %s %u bytes at 0x%llx, which must be a multiple of %u",
                         verb(a), a->bytes, (unsigned long long)a->address[l], a->align);
            return false;
        }
        if (!find_lane(w, c, a, l)) return false;
    }
    return true;
}
