/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* page_tiles.c: the layout of a tile -> its first corner as a drawing: an element is coloured by
 * the lane that holds it, and lines are drawn between warps. */
#include "compiler/report/page.h"
#include "ir/roles.h"

#include <string.h>

enum { CORNER = 32, CELL = 10, LANES = 1 << LANE_BITS, NOBODY = 0xFFFF };

typedef struct Corner {
    int rows, columns;               /* that are drawn */
    uint16_t owner[CORNER * CORNER]; /* lane, and above it the warp */
} Corner;

/* The element of the tile at a place of the corner: of a tile of one dimension rows follow each
 * other, of more than two it is the first of the others. */
static int64_t element_at(Type t, const Corner *c, int row, int column) {
    if (t.rank == 1) return (int64_t)row * c->columns + column;
    return ((int64_t)row << type_dim_shift(t, t.rank - 2)) +
           ((int64_t)column << type_dim_shift(t, t.rank - 1));
}

static int at_most(int64_t n) {
    return n < CORNER ? (int)n : CORNER;
}

/* Who has each element: of several the first. */
static void find_owners(const Layout *l, Type t, Corner *c) {
    int64_t numel = type_numel(t);
    c->columns = at_most(type_dim(t, t.rank - 1));
    c->rows = at_most(t.rank == 1 ? numel / c->columns : type_dim(t, t.rank - 2));
    memset(c->owner, 0xFF, sizeof c->owner);
    uint32_t registers = (uint32_t)1 << l->bits[IN_REG], warps = (uint32_t)1 << l->bits[IN_WARP];
    uint32_t lanes = (uint32_t)1 << l->bits[IN_LANE];
    for (uint32_t warp = 0; warp < warps; warp++)
        for (uint32_t lane = 0; lane < lanes; lane++)
            for (uint32_t reg = 0; reg < registers; reg++) {
                uint32_t hw[IN_DIMS] = {[IN_REG] = reg, [IN_LANE] = lane, [IN_WARP] = warp};
                int64_t e = layout_apply(l, hw), row, column;
                if (t.rank == 1) {
                    row = e / c->columns, column = e % c->columns;
                } else {
                    int shift = type_dim_shift(t, t.rank - 2);
                    column = e >> type_dim_shift(t, t.rank - 1) & (type_dim(t, t.rank - 1) - 1);
                    row = e >> shift & (type_dim(t, t.rank - 2) - 1);
                }
                if (row >= c->rows || column >= c->columns ||
                    element_at(t, c, (int)row, (int)column) != e)
                    continue;
                int64_t at = row * CORNER + column;
                if (c->owner[at] != NOBODY) continue;
                c->owner[at] = (uint16_t)(warp << LANE_BITS | lane);
            }
}

static int owner_at(const Corner *c, int row, int column) {
    if (row < 0 || column < 0 || row >= c->rows || column >= c->columns) return NOBODY;
    return c->owner[row * CORNER + column];
}

static int warp_at(const Corner *c, int row, int column) {
    return owner_at(c, row, column) >> LANE_BITS;
}

/* Elements side by side of one lane, from a column on. */
static int run_at(const Corner *c, int row, int column) {
    int n = 1;
    while (column + n < c->columns && owner_at(c, row, column + n) == owner_at(c, row, column)) n++;
    return n;
}

static void put_lane(const Corner *c, int lane, Buf *out) {
    bool any = false;
    for (int row = 0; row < c->rows; row++)
        for (int column = 0, n; column < c->columns; column += n) {
            n = run_at(c, row, column);
            int owner = owner_at(c, row, column);
            if (owner == NOBODY || owner % LANES != lane) continue;
            if (!any) buf_printf(out, "<path class=lane style=\"--lane:%d\" d=\"", lane);
            any = true;
            buf_printf(out, "M%d %dh%dv%dh-%dz", column * CELL, row * CELL, n * CELL, CELL,
                       n * CELL);
        }
    if (any) buf_printf(out, "\"><title>lane %d</title></path>", lane);
}

/* The lane's number on runs that have room for it. */
static void put_numbers(const Corner *c, Buf *out) {
    for (int row = 0; row < c->rows; row++)
        for (int column = 0, n; column < c->columns; column += n) {
            n = run_at(c, row, column);
            if (n > 1 && owner_at(c, row, column) != NOBODY)
                buf_printf(out, "<text x=%d y=%d>%d</text>", column * CELL + n * CELL / 2,
                           row * CELL + 8, owner_at(c, row, column) % LANES);
        }
}

static void put_warps(const Corner *c, Buf *out) {
    buf_puts(out, "<path class=warp d=\"");
    for (int row = 0; row < c->rows; row++)
        for (int column = 0; column < c->columns; column++) {
            int warp = warp_at(c, row, column);
            if (warp != warp_at(c, row, column - 1))
                buf_printf(out, "M%d %dv%d", column * CELL, row * CELL, CELL);
            if (warp != warp_at(c, row - 1, column))
                buf_printf(out, "M%d %dh%d", column * CELL, row * CELL, CELL);
        }
    buf_printf(out, "M%d 0V%dH0\"/>", c->columns * CELL, c->rows * CELL);
}

/* Which warps have a part of it is not to be seen: that is said. */
static void put_caption(const Corner *c, Type t, Buf *out) {
    int64_t numel = type_numel(t), shown = (int64_t)c->rows * c->columns;
    bool warps[MAX_WARPS] = {false};
    int n = 0;
    buf_puts(out, "<figcaption>");
    if (shown == numel)
        buf_puts(out, "all elements");
    else if (t.rank == 1)
        buf_printf(out, "elements 0 to %lld of %lld, %d in a row", (long long)shown - 1,
                   (long long)numel, c->columns);
    else
        buf_printf(out, "the first %d x %d of %lld x %lld elements", c->rows, c->columns,
                   (long long)type_dim(t, t.rank - 2), (long long)type_dim(t, t.rank - 1));
    if (t.rank > 2) buf_puts(out, ", at 0 of the dimensions before");
    for (int i = 0; i < CORNER * CORNER; i++) {
        int row = i / CORNER, column = i % CORNER, owner = owner_at(c, row, column);
        if (owner == NOBODY) continue;
        int warp = owner >> LANE_BITS;
        if (warp < MAX_WARPS && !warps[warp]) {
            warps[warp] = true;
            buf_printf(out, "%s%d", n++ ? ", " : "; numbers are lanes, of warp ", warp);
        }
    }
    buf_puts(out, "</figcaption>");
}

static void draw(const Layout *l, Type t, int number, Buf *out) {
    Corner *c = arena_alloc(out->arena, sizeof *c);
    find_owners(l, t, c);
    buf_printf(out,
               "<figure id=L%d><svg class=tile viewBox=\"-1 -1 %d %d\" role=img "
               "aria-label=\"lanes that hold the tile\">",
               number, c->columns * CELL + 2, c->rows * CELL + 2);
    for (int lane = 0; lane < LANES; lane++) put_lane(c, lane, out);
    put_warps(c, out);
    put_numbers(c, out);
    buf_puts(out, "</svg>");
    put_caption(c, t, out);
    buf_puts(out, "</figure>\n");
}

void page_tile(Page *p, const Fact *tile) {
    const Op *op = tile->line < (uint32_t)p->r->op.n ? p->r->op.at[tile->line] : NULL;
    const char *what;
    const Value *v = op ? report_tile(op, &what) : NULL;
    if (!v || !v->layout) return;
    Type t = v->type.depth ? type_pointee(v->type) : v->type;
    for (int i = 0; i < p->tiles.n; i++)
        if (p->tiles.at[i].layout == v->layout && type_same_shape(p->tiles.at[i].type, t)) {
            buf_printf(p->out, "<p>held as <a href=\"#L%d\">that drawn above</a></p>\n", i);
            return;
        }
    draw(v->layout, t, p->tiles.n, p->out);
    vec_push(p->out->arena, &p->tiles, ((PageTile){v->layout, t}));
}
