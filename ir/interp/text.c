/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* text.c: the steps that have to do with text: print, assert and assume, and inline
 * assembly, whose text this machine cannot run.
 *
 * Convention: print writes a line per element, `pid (0, 0, 0) idx (3) prefix: 1.500000`, the same
 * as generated code does: a scalar's idx is empty, and of several tiles each says which operand it
 * is. Lines go to the launch's callback. */
#include "ir/interp/machine.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { LINE_MAX_BYTES = 1024 };

typedef struct Line {
    char text[LINE_MAX_BYTES];
    size_t len;
} Line;

static void add(Line *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void add(Line *l, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    size_t room = sizeof l->text - l->len;
    int n = vsnprintf(l->text + l->len, room, fmt, ap);
    va_end(ap);
    l->len += n < 0 ? 0 : (size_t)n < room ? (size_t)n : room - 1;
}

static void send(const Run *r, Line *l) {
    if (l->len == sizeof l->text - 1) { /* cut off, which is seen, but still a line */
        l->len--;
        memcpy(l->text + l->len - 3, "...", 3);
    }
    l->text[l->len++] = '\n';
    r->launch->print(r->launch->print_user, l->text, l->len);
    l->len = 0;
}

static int decimal_digits(int64_t x) {
    int n = 1;
    while (x /= 10) n++;
    return n;
}

static void add_index(Line *l, Type t, int64_t lane) {
    int below = type_log2_numel(t);
    add(l, " idx (");
    for (int i = 0; i < t.rank; i++) {
        below -= t.log2[i];
        add(l, "%s%*" PRId64, i ? ", " : "", decimal_digits(type_dim(t, i) - 1),
            (lane >> below) & (type_dim(t, i) - 1));
    }
    add(l, ")");
}

/* It begins with a space and before values ends in ": ", whichever of these the writer put there.
 */
static void add_prefix(Line *l, const char *text, bool values) {
    size_t n = strlen(text);
    while (n && text[n - 1] == ' ') n--;
    if (n && text[n - 1] == ':') n--;
    add(l, "%s%.*s%s", n && text[0] != ' ' ? " " : "",
        (int)(n < LINE_MAX_BYTES ? n : LINE_MAX_BYTES), text, values ? ": " : "");
}

static void add_value(Line *l, const Tile *x, Type t, int64_t lane, bool hex) {
    Elem e = stored_elem(t);
    size_t size = (size_t)elem_info[e].bytes;
    Tile one = {.data = x->data + (size_t)lane * size};
    uint64_t bits = 0;
    memcpy(&bits, one.data, size);
    bool is_float = type_is_float(t);
    if (hex && is_float && type_elem_bits(t) > 8)
        add(l, "%a", elem_to_double(e, bits));
    else if (type_is_pointer(t) || hex)
        add(l, "0x%0*" PRIx64, (type_elem_bits(t) + 3) / 4, bits);
    else if (is_float)
        add(l, "%f", elem_to_double(e, bits));
    else if (e == EL_U64)
        add(l, "%" PRIu64, bits);
    else
        add(l, "%" PRId64, first_lane(&one, e));
}

bool step_print(Run *r, Program *p, const Step *st) {
    const Attr *text = ir_attr(st->op, AT_TEXT);
    const char *prefix = text && text->text ? text->text : "";
    bool hex = ir_attr_int(st->op, AT_HEX, 0) != 0;
    Line l = {.len = 0};
    p->writes++;
    if (!r->launch->print) return true;
    for (int k = 0; k < st->nsrc || (k == 0 && !st->nsrc); k++) {
        Type t = st->nsrc ? ir_operand(st->op, k)->type : type_scalar(EL_I1);
        for (int64_t i = 0; i < type_numel(t); i++) {
            add(&l, "pid (%u, %u, %u)", (unsigned)p->id[0], (unsigned)p->id[1], (unsigned)p->id[2]);
            if (st->nsrc) add_index(&l, t, i);
            add_prefix(&l, prefix, st->nsrc > 0);
            if (st->nsrc > 1) add(&l, "(operand %d) ", k);
            if (st->nsrc) add_value(&l, &p->tile[st->src[k]], t, i, hex);
            send(r, &l);
        }
    }
    return true;
}

bool step_assert(Run *r, Program *p, const Step *st) {
    const Tile *x = &p->tile[st->src[0]];
    const Attr *text = ir_attr(st->op, AT_TEXT);
    const char *what = st->op->code == OP_ASSUME ? "tl.assume does not hold" : "assertion failed";
    Type t = ir_operand(st->op, 0)->type;
    for (int64_t i = 0; i < st->lanes; i++) {
        if (x->tainted && x->taint[i] >= ORIGIN_UNINIT)
            return report_taint(r, p, st, USED_ASSERTED, x->taint[i], t, i);
        if (x->data[i]) continue;
        bool said = text && text->text && *text->text;
        diag(&r->s->diags, C_ASSERT, st->op->span, "%s%s%s in %s", what, said ? ": " : "",
             said ? text->text : "", report_place(r, p, t, i));
        return false;
    }
    return true;
}

bool step_inline_asm(Run *r, Program *p, const Step *st) {
    diag(&r->s->diags, E_CPU_LACKS, st->op->span,
         "inline assembly runs on GPUs only, and %s came to some on the CPU", report_program(r, p));
    return false;
}
