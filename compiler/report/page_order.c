/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* page_order.c: the blocks that a grid's programs write -> a drawing of the output, coloured by the
 * programs' numbers, and how many rows and columns of blocks run at once: what the L2 cache holds
 * for them. */
#include "compiler/report/page.h"

enum { SHADES = 24, CELL_LEAST = 4, CELL_MOST = 20, WIDTH = 360 };

static int64_t count_marked(const bool *mark, int64_t n) {
    int64_t all = 0;
    for (int64_t i = 0; i < n; i++) all += mark[i];
    return all;
}

static void touched_by(const PagePlaces *d, int64_t programs, Arena *a, int64_t *rows,
                       int64_t *columns) {
    bool *row = arena_array(a, (size_t)d->rows, sizeof *row);
    bool *column = arena_array(a, (size_t)d->columns, sizeof *column);
    for (int64_t i = 0; i < programs && i < d->programs; i++)
        row[d->at[i] / d->columns] = column[d->at[i] % d->columns] = true;
    *rows = count_marked(row, d->rows), *columns = count_marked(column, d->columns);
}

static void put_blocks(const PagePlaces *d, Buf *out) {
    int cell = (int)(WIDTH / d->columns);
    cell = cell > CELL_MOST ? CELL_MOST : cell < CELL_LEAST ? CELL_LEAST : cell;
    buf_printf(out,
               "<figure><svg class=\"chart order\" style=\"max-width:%lldpx\" viewBox=\"-1 -1 %lld "
               "%lld\" role=img "
               "aria-label=\"blocks of the output by the programs that write them\">",
               (long long)(d->columns * cell * 3 / 2), (long long)(d->columns * cell + 2),
               (long long)(d->rows * cell + 2));
    for (int64_t shade = 0, i = 0; shade < SHADES; shade++) {
        int64_t end = d->programs * (shade + 1) / SHADES, from = i;
        if (i == end) continue;
        buf_printf(out, "<path class=block style=\"--part:%lld\" d=\"", (long long)shade);
        for (; i < end; i++)
            buf_printf(out, "M%lld %lldh%dv%dh-%dz", (long long)(d->at[i] % d->columns * cell),
                       (long long)(d->at[i] / d->columns * cell), cell, cell, cell);
        buf_printf(out, "\"><title>programs %lld to %lld</title></path>", (long long)from,
                   (long long)end - 1);
    }
    buf_puts(out, "<path class=wave d=\"");
    bool *in = arena_array(out->arena, (size_t)(d->rows * d->columns), sizeof *in);
    for (int64_t i = 0; i < d->programs && i < d->wave; i++) in[d->at[i]] = true;
    for (int64_t i = 0; i < d->rows * d->columns; i++) {
        int64_t row = i / d->columns, column = i % d->columns;
        if (in[i] != (column && in[i - 1]))
            buf_printf(out, "M%lld %lldv%d", (long long)column * cell, (long long)row * cell, cell);
        if (in[i] != (row && in[i - d->columns]))
            buf_printf(out, "M%lld %lldh%d", (long long)column * cell, (long long)row * cell, cell);
        if (in[i] && column == d->columns - 1)
            buf_printf(out, "M%lld %lldv%d", (long long)(column + 1) * cell, (long long)row * cell,
                       cell);
        if (in[i] && row == d->rows - 1)
            buf_printf(out, "M%lld %lldh%d", (long long)column * cell, (long long)(row + 1) * cell,
                       cell);
    }
    buf_puts(out, "\"/></svg>");
}

typedef struct Product { /* the dots of a kernel */
    const Op *dot;
    bool others; /* of more than one line of the source */
} Product;

static void find_dot(Op *op, void *user) {
    Product *x = user;
    if (op->code != OP_DOT) return;
    x->others |= x->dot && x->dot->span.line != op->span.line;
    x->dot = op;
}

/* What one step of the sum brings into the L2 cache, where the output is the sum of one product. */
static void put_footprint(const Page *p, const PagePlaces *d, int64_t rows, int64_t columns,
                          int64_t all_rows, int64_t all_columns, Buf *out) {
    Product product = {0};
    ir_walk(p->k->f->body, find_dot, &product);
    const Op *dot = product.dot;
    if (!dot || product.others ||
        type_numel(d->store->operand[1].value->type) != type_numel(dot->result[0]->type))
        return;
    int64_t a = type_bytes(type_in_space(dot->operand[0].value->type, SPACE_REGISTER));
    int64_t b = type_bytes(type_in_space(dot->operand[1].value->type, SPACE_REGISTER));
    buf_printf(out,
               " So a step along the sums brings %lld blocks of the first factor and %lld of the "
               "second, %lld bytes; row by row it would be %lld and %lld, %lld bytes.",
               (long long)rows, (long long)columns, (long long)(rows * a + columns * b),
               (long long)all_rows, (long long)all_columns,
               (long long)(all_rows * a + all_columns * b));
}

void page_order(Page *p) {
    Buf *out = p->out;
    PagePlaces d;
    int64_t rows, columns;
    page_places(p, &d);
    buf_puts(out, "<section><h3>order of programs</h3>\n");
    if (d.why) {
        buf_puts(out, "<p>Not drawn: ");
        page_string(d.why, out);
        buf_puts(out, ".</p></section>\n");
        return;
    }
    int64_t wave = d.wave < d.programs ? d.wave : d.programs;
    touched_by(&d, wave, out->arena, &rows, &columns);
    put_blocks(&d, out);
    buf_printf(out, "<figcaption>%lld x %lld blocks of the output, for ", (long long)d.rows,
               (long long)d.columns);
    page_string(d.sizes, out);
    buf_printf(out,
               ": from blue, the first programs, by red to yellow, the last. Inside the line the "
               "%lld programs that run at once, at first, on %d multiprocessors: they are in %lld "
               "rows and %lld columns.",
               (long long)wave, p->r->target->multiprocessors, (long long)rows, (long long)columns);
    put_footprint(p, &d, rows, columns, (wave + d.columns - 1) / d.columns,
                  wave < d.columns ? wave : d.columns, out);
    buf_puts(out, "</figcaption></figure></section>\n");
}
