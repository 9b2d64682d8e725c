/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* sectors.c: addresses of a tile, and who holds which element -> sectors of global memory that a
 * warp's requests touch (see sectors.h). */
#include "ir/analysis/sectors.h"

enum { WARP_LANES = 1 << LANE_BITS };

/* Where an element lies, up to what is the same for all of them: runs of neighbours in memory, and
 * the byte in it. Two runs are taken to have no sector in common. */
typedef struct Place {
    int64_t run, byte;
} Place;

typedef struct Rule { /* how elements become places */
    Type t;
    const Affine *affine; /* of one stride for each dimension; or NULL: */
    const AxisInfo *axis;
    int fast, size;
} Rule;

static Place place_of(const Rule *x, uint32_t element) {
    Place p = {0, 0};
    for (int d = 0; d < x->t.rank; d++) {
        int64_t i = element >> type_dim_shift(x->t, d) & (type_dim(x->t, d) - 1);
        if (x->affine) {
            p.byte += i * x->affine->stride[d];
        } else if (d == x->fast) {
            int64_t c = x->axis->contiguity[d], same = x->axis->constancy[d];
            p.run = (p.run << x->t.log2[d]) | (c > 1 ? i / c : i / same);
            p.byte = c > 1 ? i % c * x->size : 0;
        } else {
            p.run = (p.run << x->t.log2[d]) | i / x->axis->constancy[d];
        }
    }
    return p;
}

static int64_t floor_sector(int64_t byte) {
    return (byte - (byte & (SECTOR - 1))) / SECTOR;
}

/* Sectors that the places of one run touch, all of them moved on by so many bytes. */
static int touched_by(const Place *seen, int n, int64_t run, int64_t by, int bytes) {
    int64_t touched[WARP_LANES * 2];
    int sectors = 0;
    for (int k = 0; k < n; k++) {
        int64_t begin = seen[k].byte + by;
        if (seen[k].run != run) continue;
        for (int64_t s = floor_sector(begin); s <= floor_sector(begin + bytes - 1); s++) {
            int i = 0;
            while (i < sectors && touched[i] != s) i++;
            if (i == sectors) touched[sectors++] = s;
        }
    }
    return sectors;
}

/* Adds a request, of runs that begin at multiples of so many bytes. */
static void add_request(const Rule *x, const Layout *l, uint32_t reg, int vector, int64_t multiple,
                        Sectors *out) {
    Place seen[WARP_LANES];
    int n = 0, bytes = vector * x->size;
    for (uint32_t lane = 0; lane < WARP_LANES; lane++) {
        uint32_t hw[IN_DIMS] = {[IN_REG] = reg, [IN_LANE] = lane};
        Place p = place_of(x, layout_apply(l, hw));
        bool had = false;
        for (int i = 0; i < n; i++) had |= seen[i].run == p.run && seen[i].byte == p.byte;
        if (!had) seen[n++] = p;
    }
    for (int i = 0; i < n; i++) {
        bool had = false;
        for (int k = 0; k < i; k++) had |= seen[k].run == seen[i].run;
        if (had) continue;
        int most = 0, aligned = touched_by(seen, n, seen[i].run, 0, bytes);
        for (int64_t by = 0; by < SECTOR; by += multiple) {
            int sectors = touched_by(seen, n, seen[i].run, by, bytes);
            if (sectors > most) most = sectors;
        }
        out->touched += aligned;
        out->most += most;
    }
    out->requests++;
    out->least += (n * bytes + SECTOR - 1) / SECTOR;
}

Sectors sectors_of(const AxisTable *axis, const AffineTable *affine, const Value *pointer,
                   const Layout *l, int vector) {
    Rule x = {.t = pointer->type, .size = type_elem_bytes(type_pointee(pointer->type))};
    Sectors out = {.known = false};
    const Affine *form = affine_of(affine, pointer);
    x.fast = axis_fastest_dim(axis, pointer);
    x.axis = axis_of(axis, pointer);
    if (form && form->strided) x.affine = form;
    if (!x.affine) {
        if (!x.axis || x.fast >= x.t.rank) return out;
        bool runs = x.axis->contiguity[x.fast] > 1;
        for (int d = 0; d < x.t.rank; d++) runs |= x.axis->constancy[d] > 1;
        if (!runs) return out;
    }
    int64_t divisible = x.axis && x.fast < x.t.rank ? x.axis->divisibility[x.fast] : 1;
    if (divisible < x.size) divisible = x.size; /* an element lies at a multiple of its size */
    out.known = true;
    for (uint32_t reg = 0; reg < (uint32_t)1 << l->bits[IN_REG]; reg += (uint32_t)vector)
        add_request(&x, l, reg, vector, divisible, &out);
    return out;
}
