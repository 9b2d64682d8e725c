/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* reports.c: reports that compilations have kept, or annotated PTX -> texts for the caller:
 * tile_report_write, tile_report_compare and tile_report_explain of tile.h. */
#include "tile.h"

#include "compiler/compile.h"
#include "compiler/report/explain.h"
#include "compiler/report/report.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

typedef struct Asked { /* of a report, or of two; or of PTX */
    const Report *a, *b;
    tile_report_format format;
    bool all;
    const char *ptx;
    size_t len;
    uint32_t line;
} Asked;

/* What is written of reports, for the caller to free. Its memory is that of a session of its own:
 * two threads may ask at once. */
static tile_status write_report(const Asked *asked, void (*write)(const Asked *asked, Buf *out),
                                char **text, size_t *len) {
    Session *s = calloc(1, sizeof *s);
    tile_status volatile st = TILE_NO_MEMORY;
    if (!s) return st;
    session_init(s);
    if (!setjmp(s->bail)) {
        Buf out = buf_new(&s->arena);
        write(asked, &out);
        *text = malloc(out.len + 1);
        if (*text) {
            memcpy(*text, out.data, out.len + 1);
            if (len) *len = out.len;
            st = TILE_OK;
        }
    }
    session_free(s);
    free(s);
    return st;
}

static bool is_format(tile_report_format format) {
    return format >= TILE_REPORT_TEXT && format <= TILE_REPORT_HTML;
}

static void write_one(const Asked *x, Buf *out) {
    static void (*const write[])(const Report *r, Buf *out) = {report_write_text, report_write_json,
                                                               report_write_html};
    write[x->format](x->a, out);
}

tile_status tile_report_write(const tile_compiled *c, tile_report_format format, char **text,
                              size_t *len) {
    if (text) *text = NULL;
    Asked x = {.a = compiled_report(c), .format = format};
    if (!text || !x.a || !is_format(format)) return TILE_INVALID;
    return write_report(&x, write_one, text, len);
}

static void write_both(const Asked *x, Buf *out) {
    if (x->format == TILE_REPORT_JSON)
        report_compare_json(x->a, x->b, out);
    else
        report_compare_text(x->a, x->b, x->all, out);
}

tile_status tile_report_compare(const tile_compiled *a, const tile_compiled *b,
                                tile_report_format format, int all, char **text, size_t *len) {
    if (text) *text = NULL;
    Asked x = {.a = compiled_report(a), .b = compiled_report(b), .format = format, .all = all != 0};
    if (!text || !x.a || !x.b || format > TILE_REPORT_JSON || !is_format(format))
        return TILE_INVALID;
    return write_report(&x, write_both, text, len);
}

static void write_line(const Asked *x, Buf *out) {
    explain_line(x->ptx, x->len, x->line, out);
}

tile_status tile_report_explain(const char *ptx, size_t ptx_len, uint32_t line, char **text,
                                size_t *len) {
    if (text) *text = NULL;
    if (!text || !ptx) return TILE_INVALID;
    Asked x = {.ptx = ptx, .len = ptx_len, .line = line};
    size_t n;
    tile_status st = write_report(&x, write_line, text, &n);
    if (st) return st;
    if (len) *len = n;
    if (n) return TILE_OK;
    free(*text);
    *text = NULL;
    return TILE_NOT_FOUND;
}
