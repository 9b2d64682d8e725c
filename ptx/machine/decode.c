/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* decode.c: a file of PTX as text -> programs for the machine: each instruction's row of insts.def,
 * its words, types and operands.
 *
 * What the machine does not know is an error with the line, before anything runs. */
#include "ir/target.h"
#include "ptx/machine/check.h"
#include "ptx/machine/decode.h"
#include "ptx/machine/exec.h"
#include "ptx/machine/floats.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Word {
    const char *name;
    uint8_t field;
    uint16_t value;
} Word;

static const Word words[] = {
#define FIELD(id)
#define WORD(name, field, value) {name, FIELD_##field, WORD_##field##_##value},
#define ALSO WORD
#include "ptx/machine/words.def"
#undef WORD
#undef FIELD
};

static const char *const fields[] = {
#define FIELD(id) #id,
#define WORD(name, field, value)
#include "ptx/machine/words.def"
#undef WORD
#undef FIELD
};

typedef struct Row {
    const char *name;
    PtxExec *exec;
    const char *types, *operands, *words;
    uint16_t traits;
} Row;

static const Row rows[] = {
#define INST(name, exec, types, operands, words, traits)                                           \
    {name, exec, types, operands, words, traits},
#include "ptx/machine/insts.def"
#undef INST
};

static const char *const specials[] = {
#define SPECIAL(id, name, value) name,
#include "ptx/machine/specials.def"
#undef SPECIAL
};

/* ---- operands ---- */

/* %r12 is the one of %r<20> with that number. */
static bool is_numbered(const Register *r, PtxWord name, int *number) {
    int digits = name.len - r->name.len;
    if (!r->count || digits < 1 || digits > 5) return false;
    if (!word_same(r->name, (PtxWord){name.text, r->name.len})) return false;
    const char *at = name.text + r->name.len;
    *number = 0;
    for (int i = 0; i < digits; i++) {
        if (!isdigit((unsigned char)at[i])) return false;
        *number = *number * 10 + (at[i] - '0');
    }
    return *number < r->count && (digits == 1 || at[0] != '0');
}

static int find_register(const Decoder *d, PtxWord name) {
    int number;
    for (int scope = d->inst->scope; scope >= 0; scope = d->k->outer.at[scope])
        for (int i = 0; i < d->registers.n; i++) {
            const Register *r = &d->registers.at[i];
            if (r->scope != scope) continue;
            if (!r->count && word_same(r->name, name)) return r->first;
            if (is_numbered(r, name, &number)) return r->first + number;
        }
    return -1;
}

static bool find_special(PtxWord name, PtxOperand *o) {
    for (size_t i = 0; i < sizeof specials / sizeof *specials; i++)
        if (ptx_is(name, specials[i])) {
            o->kind = OPERAND_SPECIAL;
            o->reg = (int)i;
            return true;
        }
    return false;
}

static bool read_plain(Decoder *d, PtxWord w, PtxOperand *o) {
    o->reg = find_register(d, w);
    if (o->reg >= 0) {
        o->kind = OPERAND_REGISTER;
        return true;
    }
    if (word_number(w, &o->value)) {
        o->kind = OPERAND_NUMBER;
        return true;
    }
    if (find_special(w, o)) return true;
    if (ptx_is(w, "WARP_SZ")) {
        o->kind = OPERAND_NUMBER;
        o->value = WARP;
        return true;
    }
    const PtxVariable *v = variable_named(d, d->inst->scope, w);
    if (v) {
        o->kind = OPERAND_SYMBOL;
        o->value = (int64_t)v->address;
        o->space = (uint8_t)(v->space == IN_PARAM && v->scope >= 0 ? IN_LOCAL : v->space);
        return true;
    }
    int label = ptx_find_label(d->k, d->inst->scope, w);
    if (label < 0) return false;
    o->kind = OPERAND_LABEL;
    o->n = d->k->labels.at[label].targets.len != 0;
    o->reg = o->n ? label : d->k->labels.at[label].inst;
    return true;
}

static PtxOperand read_operand(Decoder *d, PtxWord w);

/* Vectors hold no vectors: their elements follow each other in the list. */
static void read_elements(Decoder *d, PtxWord list, PtxOperand *o) {
    enum { MOST = 255 };
    o->first = d->operands.n;
    while (list.len && o->n < MOST && !d->failed) {
        PtxWord one = word_piece(&list, ',');
        if (one.len && strchr("[({", one.text[0])) {
            decode_fail(d, "a vector in a vector:", one);
            return;
        }
        PtxOperand element = read_operand(d, one);
        vec_push(&d->s->arena, &d->operands, element);
        o->n++;
    }
    if (list.len && !d->failed) decode_fail(d, "a vector of more than 255 elements:", list);
}

/* [%rd1 + 16], [x], [%rd1, {%r1, %r2}] */
static void read_address(Decoder *d, PtxWord inside, PtxOperand *o) {
    PtxWord place = word_piece(&inside, ','), rest = place;
    PtxWord base = word_piece(&rest, '+');
    PtxOperand in = {.reg = -1, .second = -1};
    int64_t by = 0;
    if (!read_plain(d, base, &in) || (rest.len && !word_number(word_trim(rest), &by)) ||
        in.kind == OPERAND_SPECIAL || in.kind == OPERAND_LABEL) {
        decode_fail(d, "an address that is not understood:", place);
        return;
    }
    *o = in;
    o->kind = OPERAND_ADDRESS;
    o->value = (int64_t)((uint64_t)in.value + (uint64_t)by);
    inside = word_trim(inside);
    if (!inside.len) return;
    if (word_brackets(&inside, '{'))
        read_elements(d, inside, o);
    else
        decode_fail(d, "an address that is not understood:", place);
}

static PtxOperand read_operand(Decoder *d, PtxWord w) {
    PtxOperand o = {.reg = -1, .second = -1, .word = w};
    PtxWord inside = w;
    if (word_brackets(&inside, '[')) {
        read_address(d, inside, &o);
    } else if (word_brackets(&inside, '{') || word_brackets(&inside, '(')) {
        o.kind = OPERAND_VECTOR;
        read_elements(d, inside, &o);
    } else if (ptx_is(w, "_")) {
        o.kind = OPERAND_SINK;
    } else {
        PtxWord rest = w, first = word_piece(&rest, '|');
        if (first.len && first.text[0] == '!') {
            o.negated = true;
            first = word_trim((PtxWord){first.text + 1, first.len - 1});
        }
        bool ok = ptx_is(first, "_") || read_plain(d, first, &o);
        if (ptx_is(first, "_")) o.kind = OPERAND_SINK;
        rest = word_trim(rest);
        if (ok && rest.len && !ptx_is(rest, "_")) {
            o.second = find_register(d, rest);
            ok = o.second >= 0;
        }
        if (!ok && !(d->inst && ptx_begins(d->inst->op, "call")))
            decode_fail(d, "an operand that is not understood:", w);
    }
    o.word = w;
    return o;
}

/* ---- instructions ---- */

static const Row *find_row(PtxWord op, int *taken) {
    const Row *best = NULL;
    *taken = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int n = (int)strlen(rows[i].name);
        if (n > *taken && ptx_begins(op, rows[i].name)) {
            best = &rows[i];
            *taken = n;
        }
    }
    return best;
}

static bool read_shape(PtxWord w, PtxCode *c) {
    char text[16];
    int m = 0, n = 0, k = 0, used = 0;
    if (w.len < 2 || w.len >= (int)sizeof text || w.text[0] != 'm') return false;
    memcpy(text, w.text, (size_t)w.len);
    text[w.len] = '\0';
    if (sscanf(text, "m%4dn%4dk%4d%n", &m, &n, &k, &used) != 3 || used != w.len) return false;
    c->m = (uint16_t)m;
    c->n = (uint16_t)n;
    c->k = (uint16_t)k;
    return true;
}

static const Word *find_word(PtxWord w) {
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        int n = (int)strlen(words[i].name);
        bool family = words[i].name[n - 1] == '*';
        if (family ? w.len >= n && !memcmp(w.text, words[i].name, (size_t)n - 1)
                   : ptx_is(w, words[i].name))
            return &words[i];
    }
    return NULL;
}

/* Is the field one that the row's words may set? */
static bool has_field(const Row *row, int field) {
    size_t n = strlen(fields[field]);
    for (const char *p = row->words; (p = strstr(p, fields[field])); p += n)
        if ((p == row->words || p[-1] == ' ') && (p[n] == ' ' || !p[n])) return true;
    return false;
}

static void read_word(Decoder *d, const Row *row, PtxWord w, PtxCode *c) {
    PtxType t = word_type(w);
    if (t) {
        if (c->ntypes == PTX_MOST_TYPES)
            decode_fail(d, "too many types:", w);
        else
            c->type[c->ntypes++] = (uint8_t)t;
        return;
    }
    if (ptx_is(w, "v2") || ptx_is(w, "v4") || ptx_is(w, "v8")) {
        c->vector = (uint8_t)(w.text[1] - '0');
        return;
    }
    if (read_shape(w, c)) return;
    const Word *word = find_word(w);
    if (!word) {
        decode_fail(d, "the machine does not know the word", w);
        return;
    }
    int field = word->field;
    if (c->field[field] && (field == FIELD_SPACE || field == FIELD_LAYOUT)) field++;
    if (!has_field(row, field)) {
        decode_fail(d, "the machine does not know, of this instruction, the word", w);
        return;
    }
    c->field[field] = word->value;
}

/* How a number is written: 'f' 0f3F800000, 'd' as a double, 1.5 or 0d…; 0: whole. */
static char fraction_of(const PtxOperand *o) {
    PtxWord w = o->word;
    if (o->kind != OPERAND_NUMBER || !w.len) return 0;
    if (w.text[0] == '-') w.text++, w.len--;
    if (w.len > 1 && w.text[0] == '0' && isalpha((unsigned char)w.text[1]) && w.text[1] != 'e' &&
        w.text[1] != 'E') {
        char form = (char)tolower((unsigned char)w.text[1]);
        return form == 'f' || form == 'd' ? form : 0;
    }
    for (int i = 0; i < w.len; i++)
        if (strchr(".eE", w.text[i])) return 'd';
    return 0;
}

/* A fraction becomes what the type that it is read as has: the last one. */
static void settle_fraction(Decoder *d, const PtxCode *c, PtxOperand *o) {
    char form = fraction_of(o);
    PtxType t = c->ntypes ? (PtxType)c->type[c->ntypes - 1] : PT_NONE;
    if (form == 'd' && t == PT_F32)
        o->value = (int64_t)of_f32((float)as_f64((uint64_t)o->value));
    else if (form == 'f' && t == PT_F64)
        o->value = (int64_t)of_f64((double)as_f32((uint64_t)o->value));
    else if (form == 'd' && t && ptx_type[t].bits < 64)
        decode_fail(d, "a double where none belongs:", o->word);
}

static PtxCode decode(Decoder *d, const PtxInst *inst) {
    PtxCode c = {.inst = inst, .guard = -1, .vector = 1};
    d->inst = inst;
    d->failed = false;
    int taken;
    const Row *row = find_row(inst->op, &taken);
    if (!row) {
        decode_fail(d, "the machine does not know the instruction", inst->op);
        return c;
    }
    c.exec = row->exec;
    c.traits = row->traits;
    PtxWord rest = {inst->op.text + taken, inst->op.len - taken};
    while (rest.len && !d->failed) {
        rest.text++, rest.len--; /* the dot */
        int n = 0;
        while (n < rest.len && rest.text[n] != '.') n++;
        read_word(d, row, (PtxWord){rest.text, n}, &c);
        rest.text += n, rest.len -= n;
    }
    if (inst->guard.len) {
        PtxWord g = inst->guard;
        c.guard_not = g.text[0] == '!';
        if (c.guard_not) g.text++, g.len--;
        c.guard = find_register(d, g);
        if (c.guard < 0 || d->p->register_type[c.guard] != PT_PRED)
            decode_fail(d, "no predicate:", inst->guard);
    }
    PtxWord args = inst->args;
    PtxOperand operand[PTX_MOST_OPERANDS + 1];
    int n = 0;
    while (args.len && n <= PTX_MOST_OPERANDS && !d->failed)
        operand[n++] = read_operand(d, word_piece(&args, ','));
    if (n > PTX_MOST_OPERANDS && !d->failed) decode_fail(d, "too many operands:", inst->args);
    for (int i = 0; i < n && !d->failed; i++) {
        settle_fraction(d, &c, &operand[i]);
        for (int k = 0; operand[i].kind == OPERAND_VECTOR && k < operand[i].n && !d->failed; k++)
            settle_fraction(d, &c, &d->operands.at[operand[i].first + k]);
    }
    c.operand = arena_copy(&d->s->arena, operand, sizeof *operand * (size_t)(n ? n : 1));
    c.noperands = n;
    if (d->failed) return c;
    PtxWord word;
    const char *why = ptx_check(d->p, d->operands.at, &c, row->types, row->operands, &word);
    if (!why && c.exec == exec_call && inst->back < 0) why = call_fault(&c, &word);
    if (why) decode_fail(d, why, word);
    if (c.exec == exec_call && inst->back >= 0) c.guard_not = !c.guard_not;
    return c;
}

/* Names are looked up brace by brace, and places by number. */
static bool is_small(Decoder *d) {
    const PtxKernel *k = d->k;
    int *depth = arena_array(&d->s->arena, (size_t)k->outer.n + 1, sizeof *depth);
    for (int i = 0; i < k->outer.n; i++) {
        depth[i] = k->outer.at[i] < 0 ? 1 : depth[k->outer.at[i]] + 1;
        if (depth[i] > MOST_DEPTH) decode_fail(d, "more than 64 braces in each other:", k->name);
        if (d->failed) return false;
    }
    if (k->insts.n > MOST_INSTS) decode_fail(d, "more than a million instructions:", k->name);
    if (k->labels.n > MOST_LABELS) decode_fail(d, "more than 65536 labels:", k->name);
    return !d->failed;
}

static bool decode_kernel(Decoder *d, const PtxKernel *k, PtxProgram *p) {
    *d = (Decoder){.s = d->s, .m = d->m, .p = p, .k = k};
    k = d->k = inline_calls(d, k);
    if (!k) return false;
    *p = (PtxProgram){.text = d->m->text, .kernel = k, .ncode = k->insts.n};
    p->name = arena_strndup(&d->s->arena, k->name.text, (size_t)k->name.len);
    declare_all(d);
    name_registers(d);
    if (d->failed || !is_small(d)) return false;
    p->code = arena_array(&d->s->arena, (size_t)p->ncode + 1, sizeof *p->code);
    for (int i = 0; i < p->ncode && d->s->diags.errors < MOST_ERRORS; i++)
        p->code[i] = decode(d, &k->insts.at[i]);
    p->operands = d->operands.at;
    return !d->s->diags.errors;
}

PtxModule *ptx_load(Session *s, const char *text, size_t len) {
    PtxModule *m = arena_alloc(&s->arena, sizeof *m);
    if (len > MOST_TEXT) {
        diag(&s->diags, E_PTX_REFUSED, (Span){0}, "the PTX is of more than %d bytes", MOST_TEXT);
        return NULL;
    }
    *m = (PtxModule){.s = s, .text = text, .file = ptx_read(&s->arena, text, len)};
    Decoder d = {.s = s, .m = m};
    if (!declare_globals(&d)) return NULL;
    m->nprograms = m->file.kernels.n;
    m->program = arena_array(&s->arena, (size_t)m->nprograms + 1, sizeof *m->program);
    for (int i = 0; i < m->nprograms; i++)
        decode_kernel(&d, &m->file.kernels.at[i], &m->program[i]);
    if (s->diags.errors >= MOST_ERRORS)
        diag(&s->diags, CODE_NONE, (Span){0},
             "the PTX machine: that is %d errors: the rest of the PTX is not looked at",
             MOST_ERRORS);
    return s->diags.errors ? NULL : m;
}
