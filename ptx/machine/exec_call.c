/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* exec_call.c: calls: of the file's own functions, which stand behind them, and of the two that
 * every CUDA program has. vprintf takes a format and a block of arguments in the caller's memory,
 * each at a multiple of its size; __assertfail a text, a file, a line, a function and the size of a
 * character. */
#include "ptx/machine/lanes.h"

#include <stdio.h>
#include <string.h>

enum { MOST_FORMAT = 4096 };

/* So many bytes at the address, which lane l reads. */
static bool read_at(Warp *w, const PtxCode *c, int l, uint64_t address, void *to, uint32_t bytes) {
    Access a = {.kind = ACCESS_READ,
                .space = IN_GENERIC,
                .bytes = bytes,
                .align = 1,
                .mask = UINT32_C(1) << l};
    a.address[l] = address;
    if (!access_find(w, c, &a)) return false;
    memset(to, 0, bytes);
    if (a.mask) memcpy(to, a.data[l], bytes);
    return true;
}

/* The length of a conversion, flags, width, precision and length before its letter; 0: none that
 * is known: no %n, no * and no widths of more than three digits. */
static int conversion(const char *p) {
    enum { DIGITS = 3 };
    int n = 1;
    n += (int)strspn(p + n, "-+ #0");
    for (int part = 0; part < 2; part++) {
        if (part && p[n] != '.') break;
        n += part;
        int digits = (int)strspn(p + n, "0123456789");
        if (digits > DIGITS) return 0;
        n += digits;
    }
    int length = (int)strspn(p + n, "hljzt");
    n += length;
    return length <= 2 && p[n] && strchr("aAeEfFgGdiouxXcsp", p[n]) ? n + 1 : 0;
}

static bool read_text(Warp *w, const PtxCode *c, int l, uint64_t address, char *text) {
    for (int i = 0; i < MOST_FORMAT; i++) {
        if (!read_at(w, c, l, address + (uint64_t)i, &text[i], 1)) return false;
        if (!text[i]) return true;
    }
    machine_fail(w, c, l, E_PTX_REFUSED, "a text of more than %d bytes", MOST_FORMAT);
    return false;
}

/* One conversion, %…x: its argument out of the block, and what it prints. */
static bool print_one(Warp *w, const PtxCode *c, int l, const char *spec, int n, uint64_t block,
                      uint64_t *at, Buf *out) {
    char form[40], text[MOST_FORMAT];
    memcpy(form, spec, (size_t)n);
    form[n] = '\0';
    bool is_float = strchr("aAeEfFgG", form[n - 1]) != NULL;
    bool wide = is_float || strchr(form, 'l') || strchr("sp", form[n - 1]);
    uint32_t bytes = wide ? 8 : 4;
    uint64_t v = 0;
    double d;
    *at = (*at + bytes - 1) / bytes * bytes;
    if (!read_at(w, c, l, block + *at, &v, bytes)) return false;
    *at += bytes;
    if (form[n - 1] == 's') {
        if (!read_text(w, c, l, v, text)) return false;
        buf_puts(out, text);
        return true;
    }
    char with[48]; /* what the caller says of a length is known here */
    int k = 0;
    for (int i = 0; i < n - 1; i++)
        if (!strchr("hlLzjt", form[i])) with[k++] = form[i];
    if (!is_float && form[n - 1] != 'c') {
        memcpy(with + k, "ll", 2);
        k += 2;
    }
    with[k++] = form[n - 1] == 'p' ? 'x' : form[n - 1];
    with[k] = '\0';
    memcpy(&d, &v, sizeof d);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    if (is_float)
        buf_printf(out, with, d);
    else if (form[n - 1] == 'c')
        buf_printf(out, with, (int)(uint8_t)v);
    else if (strchr("di", form[n - 1]))
        buf_printf(out, with, wide ? (long long)v : (long long)(int32_t)v);
    else
        buf_printf(out, with, (unsigned long long)v);
#pragma GCC diagnostic pop
    return true;
}

static bool print(Warp *w, const PtxCode *c, int l, uint64_t format, uint64_t block) {
    Machine *m = w->cta->m;
    char text[MOST_FORMAT];
    Buf out = buf_new(&m->s->arena);
    uint64_t at = 0;
    if (!read_text(w, c, l, format, text)) return false;
    for (const char *p = text; *p; p++) {
        if (*p != '%') {
            buf_putc(&out, *p);
        } else if (p[1] == '%') {
            buf_putc(&out, *p++);
        } else {
            int n = conversion(p);
            if (!n) {
                machine_fail(w, c, l, E_PTX_REFUSED,
                             "it prints '%.20s', which the machine does not know", p);
                return false;
            }
            if (!print_one(w, c, l, p, n, block, &at, &out)) return false;
            p += n - 1;
        }
    }
    if (m->launch->print) m->launch->print(m->launch->print_user, out.data, out.len);
    return true;
}

static bool give_result(Warp *w, const PtxCode *c, int l, const PtxOperand *to) {
    const int32_t one = 1;
    Access a = {.kind = ACCESS_WRITE,
                .space = IN_LOCAL,
                .bytes = sizeof one,
                .align = 1,
                .mask = UINT32_C(1) << l};
    a.address[l] = (uint64_t)to->value;
    if (!access_find(w, c, &a)) return false;
    memcpy(a.data[l], &one, sizeof one);
    memset(a.known[l], 1, sizeof one);
    return true;
}

typedef struct Outside {
    const char *name;
    int results, takes;
} Outside;

static const Outside outside[] = {{"vprintf", 1, 2}, {"__assertfail", 0, 5}};

static const PtxOperand *function_of(const PtxCode *c) {
    return &c->operand[c->operand[0].kind == OPERAND_VECTOR];
}

const char *call_fault(const PtxCode *c, PtxWord *word) {
    const PtxOperand *name = function_of(c), *end = c->operand + c->noperands;
    int results = name > c->operand ? c->operand->n : 0, takes = name + 1 < end ? name[1].n : 0;
    *word = name->word;
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++) {
        const Outside *f = &outside[i];
        if (!ptx_is(name->word, f->name)) continue;
        return takes == f->takes && results <= f->results ? NULL : "not what the function takes:";
    }
    return "there is no function";
}

/* What lane l gives for so many parameters. */
static bool read_given(Warp *w, const PtxCode *c, int l, uint64_t *v, int n) {
    const PtxOperand *given = function_of(c) + 1;
    for (int i = 0; i < n; i++) {
        uint64_t at = WINDOW_LOCAL | (uint64_t)element_of(w, given, i)->value;
        if (!read_at(w, c, l, at, &v[i], sizeof *v)) return false;
    }
    return true;
}

static PtxOutcome fail_assertion(Warp *w, const PtxCode *c, int l) {
    enum { TEXT, FILE_NAME, LINE, GIVEN };
    char text[MOST_FORMAT], file[MOST_FORMAT];
    uint64_t v[GIVEN] = {0};
    const PtxOperand *line = element_of(w, function_of(c) + 1, LINE);
    if (!read_given(w, c, l, v, LINE) || !read_text(w, c, l, v[TEXT], text) ||
        !read_text(w, c, l, v[FILE_NAME], file) ||
        !read_at(w, c, l, WINDOW_LOCAL | (uint64_t)line->value, &v[LINE], sizeof(uint32_t)))
        return OUTCOME_FAIL;
    return machine_fail(w, c, l, C_ASSERT, "assertion failed: %.200s, line %u of %.200s", text,
                        (uint32_t)v[LINE], file);
}

/* Of one whose function stands behind it the condition is the opposite: who does not call jumps. */
PtxOutcome exec_call(Warp *w, const PtxCode *c, uint32_t mask) {
    if (c->inst->back >= 0 && c->guard < 0) return OUTCOME_NEXT;
    if (c->inst->back >= 0) {
        EACH_LANE(mask, l) w->pc[l] = c->inst->back;
        return OUTCOME_JUMPED;
    }
    if (!ptx_is(function_of(c)->word, "vprintf")) return fail_assertion(w, c, __builtin_ctz(mask));
    EACH_LANE(mask, l) {
        uint64_t v[2];
        if (!read_given(w, c, l, v, 2) || !print(w, c, l, v[0], v[1])) return OUTCOME_FAIL;
        bool gives = c->operand[0].kind == OPERAND_VECTOR && c->operand[0].n;
        if (gives && !give_result(w, c, l, element_of(w, &c->operand[0], 0))) return OUTCOME_FAIL;
    }
    return OUTCOME_NEXT;
}
