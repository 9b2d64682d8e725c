/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* page_charts.c: facts of a kernel -> small drawings: the map of its shared memory, the programs
 * that a multiprocessor holds, the roofline. Each is WIDTH wide, which a phone shows as it is. */
#include "compiler/report/page.h"

#include <math.h>

enum { WIDTH = 360 };

static int64_t number_of(const Fact *in, const char *name, int64_t absent) {
    const Fact *f = fact_named(in, name);
    return f && f->kind == FACT_NUMBER ? f->number : absent;
}

static void open_chart(Buf *out, const char *class, double height, const char *label) {
    buf_printf(out,
               "<figure><svg class=\"chart %s\" viewBox=\"0 0 %d %.0f\" role=img "
               "aria-label=\"%s\">",
               class, WIDTH, height, label);
}

static void close_chart(Buf *out, const char *caption) {
    buf_puts(out, "</svg><figcaption>");
    page_string(caption, out);
    buf_puts(out, "</figcaption></figure>\n");
}

/* ---- shared memory ---- */

enum { MAP_LEFT = 52, MAP_TOP = 14, MAP_HEIGHT = 220, MAP_LEAST = 3, TEXT_HEIGHT = 12 };

typedef struct Map {
    int64_t bytes;        /* of the y axis */
    uint32_t first, last; /* lines of the x axis */
    double width;
} Map;

static double map_x(const Map *m, int64_t line) {
    return MAP_LEFT + m->width * (double)(line - m->first) / (double)(m->last - m->first + 1);
}

static double map_y(const Map *m, int64_t byte) {
    return MAP_TOP + (double)MAP_HEIGHT * (double)byte / (double)m->bytes;
}

static Map map_of(const Fact *shared, const Fact *buffers) {
    Map m = {
        .bytes = number_of(shared, "bytes", 0), .first = UINT32_MAX, .width = WIDTH - MAP_LEFT};
    for (const Fact *f = buffers->first; f; f = f->next) {
        int64_t end = number_of(f, "offset", 0) + number_of(f, "bytes", 0);
        uint32_t first = (uint32_t)number_of(f, "first_ir_line", 0);
        uint32_t last = (uint32_t)number_of(f, "last_ir_line", 0);
        if (end > m.bytes) m.bytes = end;
        if (first && first < m.first) m.first = first;
        if (last > m.last) m.last = last;
    }
    return m;
}

/* A rectangle for each slot; hue says which buffer, and the title all of it. */
static void put_buffer(const Map *m, const Fact *f, int number, Buf *out) {
    int64_t slots = number_of(f, "slots", 1), bytes = number_of(f, "slot_bytes", 0);
    int64_t offset = number_of(f, "offset", 0), stride = number_of(f, "slot_stride", bytes);
    int64_t first = number_of(f, "first_ir_line", 0), last = number_of(f, "last_ir_line", 0);
    if (!first || !bytes) return;
    double x = map_x(m, first), width = map_x(m, last + 1) - x;
    buf_printf(out, "<a href=\"#i%u\" class=buffer style=\"--hue:%d\">", f->line,
               number * 67 % 360);
    buf_puts(out, "<title>");
    page_string(f->text, out);
    buf_printf(out, ": %lld slot%s of %lld bytes from %lld on, IR lines %lld to %lld</title>",
               (long long)slots, slots == 1 ? "" : "s", (long long)bytes, (long long)offset,
               (long long)first, (long long)last);
    for (int64_t i = 0; i < slots; i++) {
        double y = map_y(m, offset + i * stride),
               height = map_y(m, offset + i * stride + bytes) - y;
        if (height < MAP_LEAST) height = MAP_LEAST;
        buf_printf(out, "<rect x=%.1f y=%.1f width=%.1f height=%.1f />", x, y,
                   width < MAP_LEAST ? (double)MAP_LEAST : width, height);
        if (height < TEXT_HEIGHT || width < 3 * TEXT_HEIGHT) continue;
        buf_printf(out, "<text x=%.1f y=%.1f>", x + 3, y + height / 2 + 4);
        int room = (int)(width / 7), n = 0; /* characters */
        while (f->text[n] && n < room && (unsigned char)f->text[n] < 0x80) n++;
        page_text(f->text, (size_t)n, out);
        if (slots > 1 && room > n + 3) buf_printf(out, " %lld", (long long)i);
        buf_puts(out, "</text>");
    }
    buf_puts(out, "</a>");
}

void page_shared_map(Page *p, const Fact *shared) {
    const Fact *buffers = fact_named(shared, "buffers");
    if (!buffers || !buffers->first) return;
    Map m = map_of(shared, buffers);
    if (!m.bytes || m.first > m.last) return;
    open_chart(p->out, "map", MAP_TOP + MAP_HEIGHT + 22, "map of shared memory");
    for (int i = 0; i <= 4; i++) {
        int64_t byte = m.bytes * i / 4;
        buf_printf(p->out,
                   "<path class=grid d=\"M%d %.1fH%d\" /><text class=scale x=%d y=%.1f>%lld</text>",
                   MAP_LEFT, map_y(&m, byte), WIDTH, MAP_LEFT - 4, map_y(&m, byte) + 4,
                   (long long)byte);
    }
    int number = 0;
    for (const Fact *f = buffers->first; f; f = f->next) put_buffer(&m, f, number++, p->out);
    buf_printf(p->out, "<text x=%d y=%d>IR line %u</text><text class=scale x=%d y=%d>%u</text>",
               MAP_LEFT, MAP_TOP + MAP_HEIGHT + 15, m.first, WIDTH - 2, MAP_TOP + MAP_HEIGHT + 15,
               m.last);
    close_chart(p->out, "offset in bytes downward, lines of tile IR to the right: a buffer lies "
                        "where and while it is in use; places that others use before or after "
                        "are shared");
}

/* ---- occupancy ---- */

enum { BAR = 14, BAR_ROW = 38, MOST_PARTS = 64, REGISTER_UNIT = 8 };

/* `each` of `all`, n times. */
static void put_bar(Buf *out, int row, const char *what, int64_t n, int64_t each, int64_t all) {
    int top = row * BAR_ROW + 14;
    double part = all ? (double)WIDTH * (double)each / (double)all : 0;
    buf_printf(out, "<text x=0 y=%d>%s: %lld x %lld of %lld</text>", top, what, (long long)n,
               (long long)each, (long long)all);
    buf_printf(out, "<rect class=track x=0 y=%d width=%d height=%d />", top + 4, WIDTH, BAR);
    for (int64_t i = 0; i < n && i < MOST_PARTS; i++)
        buf_printf(out, "<rect class=part x=%.1f y=%d width=%.1f height=%d />", (double)i * part,
                   top + 4, part > 1.5 ? part - 1 : part, BAR);
}

void page_occupancy(Page *p) {
    const Fact *facts = p->k->facts;
    const Target *t = p->r->target;
    int64_t n = number_of(fact_named(facts, "occupancy"), "programs_per_multiprocessor", 0);
    int64_t bytes = number_of(fact_named(facts, "shared_memory"), "bytes", 0);
    const Fact *of_registers = fact_named(facts, "registers");
    int64_t registers = number_of(of_registers, "registers", 0); /* by an assembler */
    const char *which = registers ? "registers" : "registers for tiles";
    int64_t threads = number_of(facts, "threads", 0);
    if (registers)
        registers = (registers + REGISTER_UNIT - 1) / REGISTER_UNIT * REGISTER_UNIT;
    else
        registers = number_of(of_registers, "for_tiles", 0);
    int rows = registers ? 4 : 3;
    if (!n) return;
    open_chart(p->out, "bars", BAR_ROW * rows, "what a multiprocessor's programs take of it");
    put_bar(p->out, 0, "programs", n, 1, t->programs);
    put_bar(p->out, 1, "threads", n, threads, t->threads);
    put_bar(p->out, 2, "bytes of shared memory", n, bytes + t->reserved_shared,
            t->max_shared + t->reserved_shared);
    if (registers) put_bar(p->out, 3, which, n, registers * threads, t->registers);
    close_chart(p->out, "a part for each program that a multiprocessor holds at once");
}

/* ---- roofline ---- */

enum { ROOF_LEFT = 44, ROOF_RIGHT = WIDTH - 16, ROOF_TOP = 8, ROOF_HEIGHT = 150 };

typedef struct Roof {
    double tflops, gbs;            /* the two limits */
    double low, high, least, most; /* logarithms of the axes' ends */
} Roof;

static double roof_x(const Roof *f, double intensity) {
    return ROOF_LEFT + (ROOF_RIGHT - ROOF_LEFT) * (log2(intensity) - f->low) / (f->high - f->low);
}

static double roof_y(const Roof *f, double tflops) {
    return ROOF_TOP + ROOF_HEIGHT * (f->most - log2(tflops)) / (f->most - f->least);
}

static double attainable(const Roof *f, double intensity) {
    double by_memory = intensity * f->gbs / 1e3;
    return by_memory < f->tflops ? by_memory : f->tflops;
}

static double real_of(const Fact *in, const char *name) {
    const Fact *f = fact_named(in, name);
    return !f ? 0 : f->kind == FACT_REAL ? f->real : (double)f->number;
}

void page_roofline(Page *p, const Fact *roofline) {
    double intensity = real_of(roofline, "flops_per_byte");
    double ridge = real_of(roofline, "ridge_flops_per_byte");
    Roof f = {.tflops = real_of(roofline, "most_tflops"),
              .gbs = real_of(roofline, "memory_gb_per_second")};
    if (!(intensity > 0) || !(ridge > 0) || !(f.tflops > 0) || !(f.gbs > 0)) return;
    f.low = floor(log2(intensity < ridge ? intensity : ridge)) - 2;
    f.high = ceil(log2(intensity > ridge ? intensity : ridge)) + 2;
    f.least = floor(log2(attainable(&f, exp2(f.low))));
    f.most = ceil(log2(f.tflops)) + 1;
    double point = attainable(&f, intensity), x = roof_x(&f, intensity);
    int bottom = ROOF_TOP + ROOF_HEIGHT;
    open_chart(p->out, "roof", bottom + 32, "roofline");
    for (int e = (int)f.low; e <= (int)f.high; e += f.high - f.low > 8 ? 2 : 1)
        buf_printf(
            p->out, "<path class=grid d=\"M%.1f %dV%d\" /><text class=mid x=%.1f y=%d>%g</text>",
            roof_x(&f, exp2(e)), ROOF_TOP, bottom, roof_x(&f, exp2(e)), bottom + 14, exp2(e));
    for (int e = (int)f.least; e <= (int)f.most; e += f.most - f.least > 6 ? 2 : 1)
        buf_printf(p->out,
                   "<path class=grid d=\"M%d %.1fH%d\" /><text class=scale x=%d y=%.1f>%g</text>",
                   ROOF_LEFT, roof_y(&f, exp2(e)), ROOF_RIGHT, ROOF_LEFT - 4,
                   roof_y(&f, exp2(e)) + 4, exp2(e));
    buf_printf(p->out, "<path class=limit d=\"M%.1f %.1fL%.1f %.1fH%d\" />",
               roof_x(&f, exp2(f.low)), roof_y(&f, attainable(&f, exp2(f.low))), roof_x(&f, ridge),
               roof_y(&f, f.tflops), ROOF_RIGHT);
    buf_printf(p->out, "<path class=mark d=\"M%.1f %dV%.1f\" /><circle cx=%.1f cy=%.1f r=5 />", x,
               bottom, roof_y(&f, point), x, roof_y(&f, point));
    buf_printf(p->out, "<text class=mid x=%d y=%d>flops for each byte of memory</text>",
               (ROOF_RIGHT + ROOF_LEFT) / 2, bottom + 28);
    close_chart(p->out,
                arena_printf(p->out->arena,
                             "TFLOPS upward: a loop of %.4g flops for each byte reaches no "
                             "more than %.4g TFLOPS if all its bytes come from memory; from "
                             "%.4g on the matrix units are the limit, at %.4g",
                             intensity, point, ridge, f.tflops));
}
