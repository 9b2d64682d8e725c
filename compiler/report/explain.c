/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* explain.c: a line of annotated PTX -> what its instruction does, and of which operation, pass and
 * line of the source it is. */
#include "compiler/report/explain.h"
#include "ptx/read.h"

#include <ctype.h>
#include <string.h>

static const struct {
    const char *head, *part, *text;
} rows[] = {
#define EXPLAIN(head, part, text) {head, part, text},
#include "compiler/report/explain.def"
#undef EXPLAIN
};

const char *explain_instruction(PtxWord op) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (ptx_begins(op, rows[i].head) && (!*rows[i].part || ptx_has_word(op, rows[i].part)))
            return rows[i].text;
    return NULL;
}

typedef struct Line {
    const char *text;
    size_t len; /* without the newline */
} Line;

static Line trimmed(Line l) {
    while (l.len && isspace((unsigned char)*l.text)) l.text++, l.len--;
    while (l.len && isspace((unsigned char)l.text[l.len - 1])) l.len--;
    return l;
}

static bool begins(Line l, const char *word) {
    size_t n = strlen(word);
    return l.len >= n && memcmp(l.text, word, n) == 0;
}

/* The instruction that begins in the line; false: none does. */
static bool read_instruction(Line l, PtxWord *guard, PtxWord *op) {
    const char *p = l.text, *end = p + l.len;
    *guard = (PtxWord){p, 0};
    if (p < end && *p == '{') p++; /* of inline assembly */
    while (p < end && isspace((unsigned char)*p)) p++;
    if (p < end && *p == '@') {
        guard->text = ++p;
        while (p < end && !isspace((unsigned char)*p)) p++;
        guard->len = (int)(p - guard->text);
        while (p < end && isspace((unsigned char)*p)) p++;
    }
    op->text = p;
    if (p == end || !islower((unsigned char)*p)) return false;
    while (p < end && !isspace((unsigned char)*p) && *p != ';' && *p != '{' && *p != '[') p++;
    op->len = (int)(p - op->text);
    return true;
}

static void put(Buf *out, const char *name, const char *text, size_t len) {
    buf_printf(out, "  %-11s", name);
    buf_write(out, text, len);
    buf_putc(out, '\n');
}

/* "//~   IR 17, fold: %3: i32 = add %M, %2" */
static void put_operation(Line l, Buf *out) {
    const char *comma = memchr(l.text, ',', l.len), *colon = memchr(l.text, ':', l.len);
    if (!colon) return;
    const char *end = l.text + l.len, *text = colon + 1;
    while (text < end && *text == ' ') text++;
    put(out, "operation", text, (size_t)(end - text));
    const char *line = l.text + strlen("//~   IR ");
    if (comma && comma < colon) {
        while (++comma < colon && *comma == ' ') {
        }
        put(out, "made by", comma, (size_t)(colon - comma));
    }
    size_t digits = 0;
    while (line + digits < end && isdigit((unsigned char)line[digits])) digits++;
    put(out, "tile IR", line, digits);
}

bool explain_line(const char *ptx, size_t len, uint32_t line, Buf *out) {
    Line at = {0}, source = {0}, op = {0};
    PtxWord guard = {NULL, 0}, word = {NULL, 0};
    const char *p = ptx, *end = ptx + len;
    bool found = false;
    for (uint32_t n = 1; p < end && !found; n++) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        at = (Line){p, (size_t)((stop ? stop : end) - p)};
        if (begins(at, "//~   IR "))
            op = at;
        else if (begins(at, "//~ ") && at.len > 4 && at.text[4] != ' ')
            source = at, op = (Line){0};
        else if (begins(at, "}"))
            source = op = (Line){0};
        if (n >= line && begins(at, "}")) return false;
        p = stop ? stop + 1 : end;
        at = trimmed(at);
        found = n >= line && !begins(at, "//") && read_instruction(at, &guard, &word);
    }
    if (!found || !line) return false;
    put(out, "line", at.text, at.len);
    const char *does = explain_instruction(word);
    if (!does) does = "nothing is known here of what it does: see the PTX ISA";
    put(out, "does", does, strlen(does));
    if (guard.len) {
        bool opposite = guard.len && *guard.text == '!';
        buf_printf(out, "  %-11s%.*s %s\n", "only where", guard.len - opposite,
                   guard.text + opposite, opposite ? "does not hold" : "holds");
    }
    if (op.text) put_operation(op, out);
    if (source.text) put(out, "source", source.text + 4, source.len - 4);
    if (!op.text && !source.text) {
        static const char none[] = "of no operation alone: shared, or what the kernel begins with";
        put(out, "operation", none, sizeof none - 1);
    }
    return true;
}
