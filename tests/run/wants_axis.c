/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* wants_axis.c: what tests/run/axis.tl and turn.tl must compute, in plain C. */
#include "tests/run/wants.h"

#include <string.h>

typedef struct Tile {
    tile_type t;
    const void *x;
    void *out;
    size_t h, w, n;
} Tile;

static double at(const Tile *v, size_t i) {
    return value_get(v->t, v->x, i);
}

/* `lines` lines of n elements, `step` apart, the first of each at line * next; from the last when
 * back. */
static void scan(const Tile *v, size_t part, size_t lines, size_t next, size_t n, size_t step,
                 bool back) {
    for (size_t line = 0; line < lines; line++) {
        double b = 0;
        for (size_t k = 0; k < n; k++) {
            size_t i = line * next + (back ? n - 1 - k : k) * step;
            b = b * (at(v, i) > 0 ? 1 : -1) + at(v, i);
            value_set(v->t, v->out, part * v->n + i, b);
        }
    }
}

static int32_t best(const Tile *v, size_t from, size_t step, size_t n, int sign) {
    size_t found = 0;
    for (size_t i = 1; i < n; i++)
        if (sign * at(v, from + i * step) > sign * at(v, from + found * step)) found = i;
    return (int32_t)found;
}

static void put(const Tile *v, size_t part, size_t i, double x) {
    value_set(v->t, v->out, part * v->n + i, x);
}

void want_axis(Slot *slot) {
    size_t w = (size_t)slot[4].value, n = slot[0].n, h = n / w;
    Tile v = {slot[0].type, slot[0].data, slot[2].data, h, w, n};
    const uint32_t *index = slot[1].data;
    int32_t *place = slot[3].data, *counts = place + w + h + 1;
    scan(&v, 0, w, 1, h, w, false);
    scan(&v, 1, w, 1, h, w, true);
    scan(&v, 2, h, w, w, 1, false);
    scan(&v, 3, h, w, w, 1, true);
    scan(&v, 4, 1, 0, n, 1, false);
    for (size_t j = 0; j < w; j++) place[j] = best(&v, j, w, h, 1);
    for (size_t i = 0; i < h; i++) place[w + i] = best(&v, i * w, 1, w, -1);
    place[w + h] = best(&v, 0, 1, n, 1);
    memset(counts, 0, 32 * sizeof *counts);
    for (size_t i = 0; i < n; i++) {
        size_t row = i / w, col = i % w;
        put(&v, 5, i, at(&v, (index[i] & (h - 1)) * w + col));
        put(&v, 6, i, at(&v, row * w + (index[i] & (w - 1))));
        put(&v, 7, i, at(&v, index[i] & (n - 1)));
        if ((index[i] & 63) < 32) counts[index[i] & 63]++;
        put(&v, 8, col * h + row, at(&v, i));
        put(&v, 9, col * h + row, -at(&v, i));
        put(&v, 10, i / 2 + i % 2 * (n / 2), at(&v, i));
        if (i < n / 2) put(&v, 11, i, at(&v, n / 2 + i) - at(&v, i));
    }
    memset((char *)v.out + (11 * n + n / 2) * type_size(v.t), 0xCD, (n - n / 2) * type_size(v.t));
}

void want_turn(Slot *slot) {
    size_t w = (size_t)slot[2].value, h = slot[0].n / w, size = type_size(slot[0].type);
    for (size_t i = 0; i < h; i++)
        for (size_t j = 0; j < w; j++)
            memcpy((char *)slot[1].data + (j * h + i) * size,
                   (char *)slot[0].data + (i * w + j) * size, size);
}
