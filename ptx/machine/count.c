/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* count.c: a request of a warp -> the sectors of global memory, or the wavefronts of shared memory,
 * that it takes.
 *
 * Shared memory has 32 banks of 4 bytes. A wavefront serves one word of each; lanes that want the
 * same word share it. Requests of 8 and 16 bytes a lane are served by halves and quarters of the
 * warp. What is no lane's is served by units of 16 bytes, as many at once as take all banks. */
#include "ptx/machine/warp.h"

#include <stdlib.h>

enum { SECTOR = 32, BANKS = 32, WORD = 4, ROW = BANKS * WORD };

static bool is_shared(const Access *a, int lane) {
    if (a->space == IN_GENERIC) return (a->address[lane] & WINDOW_MASK) == WINDOW_SHARED;
    return a->space == IN_SHARED || a->space == IN_SHARED_CLUSTER;
}

static bool is_global(const Access *a, int lane) {
    if (a->space == IN_GENERIC) return !(a->address[lane] & WINDOW_MASK);
    return a->space == IN_GLOBAL || a->space == IN_CONST;
}

/* Adds v to the set; is it new? */
static bool add(uint64_t *set, int *n, uint64_t v) {
    for (int i = 0; i < *n; i++)
        if (set[i] == v) return false;
    set[(*n)++] = v;
    return true;
}

static void count_global(const Access *a, uint32_t mask, PtxCount *c) {
    uint64_t sector[WARP * 2 * (MOST_ACCESS / SECTOR + 1)];
    int n = 0;
    EACH_LANE(mask, l) {
        uint64_t last = (a->address[l] + a->bytes - 1) / SECTOR;
        for (uint64_t s = a->address[l] / SECTOR; s <= last; s++) add(sector, &n, s);
    }
    c->global++;
    c->sectors += (uint64_t)n;
    c->global_bytes += (uint64_t)a->bytes * (uint64_t)__builtin_popcount(mask);
}

/* Of the lanes of one part of the warp, so many bytes each. */
static uint64_t wavefronts_of(const uint64_t *address, uint32_t bytes, uint32_t mask) {
    uint64_t word[WARP * 2 * (MOST_ACCESS / WORD + 1)];
    int n = 0, ways[BANKS] = {0}, most = 0;
    EACH_LANE(mask, l) {
        uint64_t last = (address[l] + bytes - 1) / WORD;
        for (uint64_t w = address[l] / WORD; w <= last; w++) {
            if (!add(word, &n, w)) continue;
            int used = ++ways[w % BANKS];
            if (used > most) most = used;
        }
    }
    return (uint64_t)most;
}

/* Do lanes of the mask whose numbers differ in that bit want the same? */
static bool same_beside(const Access *a, uint32_t mask, int bit) {
    EACH_LANE(mask, l)
    if ((mask >> (l ^ bit) & 1) && a->address[l] != a->address[l ^ bit]) return false;
    return true;
}

static uint32_t lanes_from(int first, int n) {
    return (n == WARP ? ALL_LANES : (UINT32_C(1) << n) - 1) << first;
}

/* By parts of so many lanes; two that are neighbours may be served as one. */
static void count_shared(const Access *a, uint32_t mask, PtxCount *c) {
    int parts = a->bytes > WORD ? (int)a->bytes / WORD : 1, lanes = WARP / parts;
    c->shared++;
    if (parts == 1) {
        c->wavefronts += wavefronts_of(a->address, a->bytes, mask);
        c->least_wavefronts++;
        return;
    }
    for (int first = 0; first < WARP; first += 2 * lanes) {
        uint32_t both = mask & lanes_from(first, 2 * lanes);
        bool at_once = same_beside(a, both, 1) || same_beside(a, both, 2);
        for (int i = 0; i < (at_once ? 1 : 2); i++) {
            uint32_t of = at_once ? both : mask & lanes_from(first + i * lanes, lanes);
            if (!of) continue;
            c->wavefronts += wavefronts_of(a->address, a->bytes, of);
            c->least_wavefronts++;
        }
    }
}

PtxCount *count_of(const Warp *w, const PtxCode *c) {
    const Machine *m = w->cta->m;
    return m->launch->count ? &m->launch->count[c - m->program->code] : NULL;
}

void access_count(const Warp *w, const PtxCode *c, const Access *a) {
    PtxCount *count = count_of(w, c);
    if (!count || a->bytes > MOST_ACCESS) return;
    uint32_t shared = 0, global = 0;
    EACH_LANE(a->mask, l) {
        shared |= (uint32_t)is_shared(a, l) << l;
        global |= (uint32_t)is_global(a, l) << l;
    }
    if (global) count_global(a, global, count);
    if (shared) count_shared(a, shared, count);
}

void count_units(PtxCount *c, const uint64_t *address, int n) {
    c->wavefronts += wavefronts_of(address, COUNT_UNIT, (UINT32_C(1) << n) - 1);
    c->least_wavefronts += (uint64_t)(n * COUNT_UNIT + ROW - 1) / ROW;
}

static int by_begin(const void *a, const void *b) {
    const CountRange *x = a, *y = b;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

void count_ranges(PtxCount *c, CountRange *r, int n) {
    uint64_t next = 0; /* the sectors below have been counted */
    qsort(r, (size_t)n, sizeof *r, by_begin);
    for (int i = 0; i < n; i++) {
        uint64_t begin = r[i].begin / SECTOR, end = (r[i].begin + r[i].bytes - 1) / SECTOR + 1;
        if (begin < next) begin = next;
        if (end > begin) c->sectors += end - begin;
        if (end > next) next = end;
        c->global_bytes += r[i].bytes;
    }
    c->global++;
}
