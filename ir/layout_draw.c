/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* layout_draw.c: a layout -> comment lines a person can check against the PTX manual.
 *
 * Each cell of the drawing is one element of the tile and says who holds it: warp.lane.register
 * (the replica with the smallest hardware index), or its offset for a tile in shared memory. */
#include "ir/layout.h"

#include <string.h>

enum { DRAW_ROWS = 16, DRAW_COLS = 32 };

/* Coordinates of a basis vector, as the dimension and step it walks: (row, col, …). */
static void draw_vector(Buf *out, uint32_t v, Type t) {
    buf_putc(out, '(');
    for (int d = 0; d < t.rank; d++)
        buf_printf(out, "%s%u", d ? "," : "",
                   v >> type_dim_shift(t, d) & (((uint32_t)1 << t.log2[d]) - 1));
    buf_putc(out, ')');
}

static void draw_bases(const Layout *l, Type t, bool shared, Buf *out) {
    static const char *const part[IN_DIMS] = {"reg", "lane", "warp", "block"};
    for (int in = 0; in < IN_DIMS; in++) {
        if (!l->bits[in]) continue;
        buf_printf(out, " %s=[", shared ? "offset" : part[in]);
        for (int k = 0; k < l->bits[in]; k++) {
            if (k) buf_putc(out, ' ');
            draw_vector(out, l->basis[in][k], t);
        }
        buf_putc(out, ']');
    }
}

static void draw_cell(const Layout *l, uint32_t element, bool shared, Buf *out) {
    /* A layout whose one register bit holds this element: routing it asks where the element is. */
    Layout find = {.out = l->out};
    layout_push(&find, IN_REG, element);
    ConversionMap r;
    if (!layout_conversion_map(&find, l, &r)) {
        buf_puts(out, shared ? "       -" : "         -");
        return;
    }
    uint64_t p = element ? r.col[IN_REG][0] : 0;
    if (shared)
        buf_printf(out, " %7u", hw_index_part(p, IN_OFFSET));
    else
        buf_printf(out, " %9s",
                   arena_printf(out->arena, "%u.%02u.%u", hw_index_part(p, IN_WARP),
                                hw_index_part(p, IN_LANE), hw_index_part(p, IN_REG)));
}

void layout_draw(const Layout *l, Type t, bool shared, const char *prefix, Buf *out) {
    buf_puts(out, prefix);
    t = type_in_space(t, SPACE_REGISTER);
    type_print(out, t);
    draw_bases(l, t, shared, out);
    buf_putc(out, '\n');
    if (t.rank < 1 || t.rank > 2) return;
    int64_t rows = t.rank == 2 ? type_dim(t, 0) : 1, cols = type_dim(t, t.rank - 1);
    buf_printf(out, "%sheld by %s:\n", prefix, shared ? "offset" : "warp.lane.register");
    for (int64_t i = 0; i < rows && i < DRAW_ROWS; i++) {
        buf_puts(out, prefix);
        for (int64_t j = 0; j < cols && j < DRAW_COLS; j++)
            draw_cell(l, (uint32_t)(i * cols + j), shared, out);
        buf_puts(out, cols > DRAW_COLS ? " ...\n" : "\n");
    }
    if (rows > DRAW_ROWS) buf_printf(out, "%s...\n", prefix);
}
