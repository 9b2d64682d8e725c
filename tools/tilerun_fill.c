/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tilerun_fill.c: numbers into a buffer: constants, ranges and random numbers of any element type.
 *
 * Random numbers are xoshiro256++ seeded by splitmix64, so they are the same on every machine; a
 * normal one comes from two uniform ones (Box and Muller), which give two. */
#include "tools/tilerun_fill.h"

#include "ir/ir.h"

#include <math.h>
#include <string.h>

typedef struct Random {
    uint64_t s[4];
    double spare; /* the second of a pair of normal numbers */
    bool has_spare;
} Random;

static uint64_t splitmix(uint64_t *x) {
    uint64_t z = *x += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

static Random random_from(uint64_t seed) {
    Random r = {.has_spare = false};
    for (int i = 0; i < 4; i++) r.s[i] = splitmix(&seed);
    return r;
}

static uint64_t rotate(uint64_t x, int k) {
    return x << k | x >> (64 - k);
}

static uint64_t next(Random *r) {
    uint64_t *s = r->s, result = rotate(s[0] + s[3], 23) + s[0], t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate(s[3], 45);
    return result;
}

/* In [0, 1), with 53 bits. */
static double uniform(Random *r) {
    return (double)(next(r) >> 11) * 0x1p-53;
}

static double normal(Random *r) {
    if (r->has_spare) {
        r->has_spare = false;
        return r->spare;
    }
    double u = 1.0 - uniform(r), angle = 6.283185307179586 * uniform(r); /* u is not 0 */
    double radius = sqrt(-2.0 * log(u));
    r->spare = radius * sin(angle);
    r->has_spare = true;
    return radius * cos(angle);
}

/* A whole number in [lo, hi), or lo when that is empty. */
static int64_t whole(Random *r, int64_t lo, int64_t hi) {
    if (hi <= lo) return lo;
    uint64_t range = (uint64_t)hi - (uint64_t)lo;
    return (int64_t)((uint64_t)lo + next(r) % range);
}

static int64_t as_int(const Number *x) {
    if (!x->is_float) return x->i;
    return x->f > -9e18 && x->f < 9e18 ? (int64_t)x->f : 0;
}

static void store(char *to, Elem e, bool is_float, double f, int64_t i) {
    uint64_t bits;
    if (elem_info[e].class_ == ELEM_F)
        bits = elem_from_double(e, is_float ? f : (double)i);
    else if (e == EL_I1)
        bits = is_float ? f != 0 : i & 1;
    else
        bits = (uint64_t)(is_float ? (f > -9e18 && f < 9e18 ? (int64_t)f : 0) : i);
    /* Little-endian: the low bytes are the element. */
    memcpy(to, &bits, (size_t)elem_info[e].bytes);
}

void fill_elements(RunValue *v, uint64_t seed) {
    Random r = random_from(seed);
    size_t size = (size_t)elem_info[v->elem].bytes, n = v->array.bytes / size;
    bool float_elem = elem_info[v->elem].class_ == ELEM_F;
    const Number *a = &v->arg[0], *b = &v->arg[1];
    double scale = v->nargs ? a->f : 1.0;
    for (size_t i = 0; i < n; i++) {
        char *to = v->data + i * size;
        switch (v->fill) {
        case FILL_RAND:
            if (v->nargs == 2 && !float_elem)
                store(to, v->elem, false, 0, whole(&r, as_int(a), as_int(b)));
            else if (v->nargs == 2)
                store(to, v->elem, true, a->f + (b->f - a->f) * uniform(&r), 0);
            else if (float_elem)
                store(to, v->elem, true, uniform(&r), 0);
            else
                store(to, v->elem, false, 0, (int64_t)next(&r));
            break;
        case FILL_RANDN: store(to, v->elem, true, scale * normal(&r), 0); break;
        case FILL_RANDINT: store(to, v->elem, false, 0, whole(&r, as_int(a), as_int(b))); break;
        case FILL_ARANGE:
            if (a->is_float)
                store(to, v->elem, true, a->f + (double)i, 0);
            else
                store(to, v->elem, false, 0, (int64_t)((uint64_t)a->i + i));
            break;
        case FILL_FULL: store(to, v->elem, a->is_float, a->f, a->i); break;
        case FILL_ZEROS:
        case FILL_EMPTY:
        case FILLS: memset(to, 0, size); break;
        }
    }
}
