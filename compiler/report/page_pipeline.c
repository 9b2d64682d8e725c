/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* page_pipeline.c: a pipelined loop -> its timeline: while iteration i works, the copies of a later
 * one are on their way. How many iterations later is counted: a loop's copies of the first ones
 * stand before it; a role that only copies goes as far as there are slots. */
#include "compiler/report/page.h"
#include "ir/buffer.h"
#include "ir/roles.h"

enum {
    ITERATIONS = 6,
    LEFT = 66,
    CELL_HEIGHT = 26,
    ROW = 34,
    TOP = 20,
    MOST_SLOTS = 32,
    WIDTH = 360
};

typedef struct Pipeline {
    const Op *loop;
    const Op *slots; /* what allocates the buffer whose slots go round */
    const Op *fills; /* a copy into it, in a loop */
    const Op *dot;
    int before; /* copies that fill slots before the loop */
} Pipeline;

/* The buffer that a copy fills; NULL: op is none. */
static const Op *filled(const Op *op) {
    switch (op->code) {
    case OP_ASYNC_COPY:
    case OP_ASYNC_DESC_LOAD:
    case OP_MBAR_DESC_LOAD: return buffer_alloc(op->operand[1].value);
    default: return NULL;
    }
}

static bool goes_round(const Op *alloc) {
    return alloc && buffer_slices(alloc) > 1 && alloc->result[0]->type.space != SPACE_BARRIER;
}

static const Op *read_from(const Op *op) {
    int n = op->code == OP_DOT ? 2 : op->code == OP_SHARED_LOAD ? 1 : 0;
    for (int i = 0; i < n; i++) {
        const Value *v = op->operand[i].value;
        const Op *alloc = type_is_buffer(v->type) ? buffer_alloc(v) : NULL;
        if (goes_round(alloc)) return alloc;
    }
    return NULL;
}

static void find_slots(Op *op, void *user) {
    Pipeline *x = user;
    if (report_loop_around(op) != x->loop) return;
    const Op *alloc = read_from(op);
    if (!x->slots && alloc) x->slots = alloc;
    if (op->code == OP_DOT && !x->dot) x->dot = op;
}

static void find_copies(Op *op, void *user) {
    Pipeline *x = user;
    if (filled(op) != x->slots) return;
    const Op *around = report_loop_around(op);
    if (around == x->loop || (around && role_of_block(op->block) != role_of_block(x->loop->block)))
        x->fills = op;
    else if (op->listed < x->loop->listed)
        x->before++;
}

static void put_cell(Buf *out, double x, int row, double width, int slot, const char *text) {
    int y = TOP + row * ROW;
    buf_printf(out,
               "<rect class=slot style=\"--hue:%d\" x=%.1f y=%d width=%.1f height=%d rx=3 />"
               "<text class=mid x=%.1f y=%d>%s</text>",
               slot * 360 / 7 % 360, x, y, width, CELL_HEIGHT, x + width / 2,
               y + CELL_HEIGHT / 2 + 4, text);
}

static void put_label(Buf *out, int row, const char *text) {
    buf_printf(out, "<text x=0 y=%d>", TOP + row * ROW + CELL_HEIGHT / 2 + 4);
    page_string(text, out);
    buf_puts(out, "</text>");
}

/* What is started before the loop, all of it in one column: small cells side by side. */
static void put_start(Buf *out, double x, double width, int ahead, int slots) {
    double each = width / (ahead ? ahead : 1);
    for (int i = 0; i < ahead; i++)
        put_cell(out, x + i * each, 0, each - 1, i % slots,
                 each > 7 ? arena_printf(out->arena, "%d", i) : "");
}

static const char *role_of(Page *p, const Op *op, const char *alone) {
    int role = role_of_block(op->block);
    return role < 0 ? alone : role_name(p->out->arena, roles_of(p->k->f), role);
}

static void draw(Page *p, const Pipeline *x, const Fact *facts) {
    Buf *out = p->out;
    Arena *a = out->arena;
    int slots = buffer_slices(x->slots);
    bool roles = x->fills && role_of_block(x->fills->block) != role_of_block(x->loop->block);
    int ahead = roles ? slots : x->before;
    bool in_flight = fact_named(facts, "dots_in_flight") != NULL;
    const Fact *depth = fact_named(facts, "wait_depth");
    double start = ahead > 3 ? 90 : 60, each = (WIDTH - LEFT - start) / ITERATIONS;
    buf_printf(out,
               "<figure><svg class=\"chart pipeline\" viewBox=\"0 0 %d %d\" role=img "
               "aria-label=\"timeline of the pipeline\"><text x=%d y=12>before</text>",
               WIDTH, TOP + 3 * ROW, LEFT);
    put_label(out, 0, role_of(p, x->fills, "copies"));
    put_label(out, 1, "waits for");
    put_label(out, 2, role_of(p, x->loop, x->dot ? "dots" : "reads"));
    put_start(out, LEFT, start, ahead, slots);
    for (int i = 0; i < ITERATIONS; i++) {
        double at = LEFT + start + i * each;
        const char *now = arena_printf(a, "%d", i);
        buf_printf(out, "<path class=grid d=\"M%.1f 4V%d\" /><text class=mid x=%.1f y=12>%d</text>",
                   at, TOP + 3 * ROW - 4, at + each / 2, i);
        put_cell(out, at + 2, 0, each - 4, (i + ahead) % slots, arena_printf(a, "%d", i + ahead));
        put_cell(out, at + 2, 1, each / 3, i % slots, now);
        put_cell(out, at + 2 + (in_flight ? each / 3 : 0), 2, each - 4, i % slots, now);
    }
    Buf caption = buf_new(a);
    buf_printf(&caption,
               "columns: iterations of the loop; numbers: the iteration that something is of; "
               "colours: the %d slots, which go round. ",
               slots);
    if (roles)
        buf_printf(&caption,
                   "The %s fills a slot as soon as it is free: up to %d iterations ahead.",
                   role_of(p, x->fills, "copies"), ahead);
    else
        buf_printf(&caption, "Beside iteration i run the copies of iteration i + %d.", ahead);
    if (depth)
        buf_printf(&caption, " Behind its wait %lld group%s of copies %s still on the way.",
                   (long long)depth->number, depth->number == 1 ? "" : "s",
                   depth->number == 1 ? "is" : "are");
    if (in_flight)
        buf_puts(&caption, " A dot goes on into the next iteration, which waits for it.");
    buf_puts(out, "</svg><figcaption>");
    page_text(caption.data, caption.len, out);
    buf_puts(out, "</figcaption></figure>\n");
}

void page_pipeline(Page *p, const Fact *loop) {
    const Fact *stages = fact_named(loop, "stages");
    Pipeline x = {.loop = loop->line < (uint32_t)p->r->op.n ? p->r->op.at[loop->line] : NULL};
    if (!x.loop || !stages || stages->number < 2) return;
    ir_walk(p->k->f->body, find_slots, &x);
    if (!x.slots) return;
    ir_walk(p->k->f->body, find_copies, &x);
    if (x.fills && (x.before || role_of_block(x.fills->block) >= 0) &&
        buffer_slices(x.slots) <= MOST_SLOTS)
        draw(p, &x, loop);
}
