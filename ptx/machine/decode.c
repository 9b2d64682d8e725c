/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* decode.c: a file of PTX as text -> programs for the machine: each instruction's row of insts.def,
 * its words, types and operands; registers numbered, variables laid out.
 *
 * What the machine does not know is an error with the line, before anything runs. */
#include "ir/target.h"
#include "ptx/machine/check.h"
#include "ptx/machine/exec.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const PtxTypeInfo ptx_type[PT_TYPES] = {
    {"", 0, ' '},
#define TYPE(id, name, bits, class) {name, bits, class},
#include "ptx/machine/types.def"
#undef TYPE
};

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

typedef struct Register { /* %p<8>: eight of them, or one with this name */
    PtxWord name;
    int count; /* 0: its name has no number */
    int scope, first;
    PtxType type;
} Register;

typedef struct Decoder {
    Session *s;
    PtxModule *m;
    PtxProgram *p;
    const PtxKernel *k;
    const PtxInst *inst;
    VEC(Register) registers;
    VEC(PtxOperand) operands;
    bool failed;
} Decoder;

enum {
    MOST_TEXT = 1 << 28,
    MOST_BYTES = 1 << 30,
    MOST_PARAM = 32764,       /* PTX ISA, "Kernel Function Parameter Attributes" */
    MOST_SHARED = 227 * 1024, /* of a target that is not known */
    MOST_LOCAL = 1 << 19,     /* CUDA C++ Programming Guide, "Technical Specifications" */
    MOST_REGISTERS = 1 << 16,
    MOST_NAMES = 1 << 12,
    MOST_DEPTH = 64,
    MOST_INSTS = 1 << 20,
    MOST_LABELS = 1 << 16,
    MOST_ERRORS = 20
};

static uint32_t line_of(const char *text, const char *place) {
    uint32_t n = 1;
    for (; text < place; text++) n += *text == '\n';
    return n;
}

uint32_t ptx_line(const PtxProgram *p, const PtxCode *c) {
    return line_of(p->text, c->inst->op.text);
}

/* So much of a word is shown. */
static int shown(int len) {
    enum { MOST = 80 };
    return len > MOST ? MOST : len;
}

static void fail(Decoder *d, const char *what, PtxWord word) {
    const PtxInst *inst = d->inst;
    d->failed = true;
    if (d->s->diags.errors >= MOST_ERRORS) return;
    uint32_t line = line_of(d->m->text, inst ? inst->op.text : word.text);
    if (inst)
        diag(&d->s->diags, DIAG_ERROR, (Span){0}, "PTX line %u: %s '%.*s' in '%.*s %.*s'", line,
             what, shown(word.len), word.text, shown(inst->op.len), inst->op.text,
             shown(inst->args.len), inst->args.text);
    else
        diag(&d->s->diags, DIAG_ERROR, (Span){0}, "PTX line %u: %s '%.*s'", line, what,
             shown(word.len), word.text);
}

static bool same(PtxWord a, PtxWord b) {
    return a.len == b.len && memcmp(a.text, b.text, (size_t)a.len) == 0;
}

/* ---- pieces of text ---- */

static PtxWord trim(PtxWord w) {
    while (w.len && isspace((unsigned char)w.text[0])) w.text++, w.len--;
    while (w.len && isspace((unsigned char)w.text[w.len - 1])) w.len--;
    return w;
}

/* The next piece of *rest up to a character that stands outside all brackets. */
static PtxWord next_piece(PtxWord *rest, char stop) {
    int depth = 0, n = 0;
    for (; n < rest->len; n++) {
        char c = rest->text[n];
        if (c == stop && depth == 0) break;
        depth += (c == '[' || c == '{' || c == '(') - (c == ']' || c == '}' || c == ')');
    }
    PtxWord piece = {rest->text, n};
    int skip = n < rest->len ? n + 1 : n;
    rest->text += skip;
    rest->len -= skip;
    return trim(piece);
}

static PtxWord next_token(PtxWord *rest) {
    *rest = trim(*rest);
    int n = 0;
    while (n < rest->len && !isspace((unsigned char)rest->text[n])) n++;
    PtxWord w = {rest->text, n};
    rest->text += n;
    rest->len -= n;
    *rest = trim(*rest);
    return w;
}

/* 12, 0x1F, 0b1, 0f3F800000, 0d…, -1, 12U; the bits. */
static bool parse_number(PtxWord w, int64_t *out) {
    char text[48], *end = text, *at = text;
    if (!w.len || w.len >= (int)sizeof text) return false;
    memcpy(text, w.text, (size_t)w.len);
    text[w.len] = '\0';
    bool negative = *at == '-';
    if (negative) at++;
    if (!isdigit((unsigned char)*at)) return false;
    if (at[0] == '0' && at[1] && strchr("fFdD", at[1])) {
        size_t digits = at[1] == 'f' || at[1] == 'F' ? 8 : 16;
        *out = (int64_t)strtoull(at + 2, &end, 16);
        return !*end && !negative && strlen(at + 2) == digits && isxdigit((unsigned char)at[2]);
    }
    bool binary = at[0] == '0' && (at[1] == 'b' || at[1] == 'B');
    if (binary && !isdigit((unsigned char)at[2])) return false;
    errno = 0;
    uint64_t v = binary ? strtoull(at + 2, &end, 2) : strtoull(at, &end, 0);
    if (*end == '.') { /* 1.5: a double */
        double x = strtod(text, &end);
        memcpy(out, &x, sizeof x);
        return !*end;
    }
    if (*end == 'U') end++;
    if (errno == ERANGE) return false;
    *out = (int64_t)(negative ? 0 - v : v);
    return !*end;
}

static PtxType find_type(PtxWord w) {
    for (int t = 1; t < PT_TYPES; t++)
        if (ptx_is(w, ptx_type[t].name)) return (PtxType)t;
    return PT_NONE;
}

/* ---- declarations ---- */

typedef struct Declared {
    PtxSpace space;
    PtxType type;
    uint32_t align;
    PtxWord name, init;
    int64_t count; /* elements; registers of a name; 0: [] */
    bool many;     /* it has <n> or [n] */
} Declared;

/* Text between brackets of this kind, without them. */
static bool take_brackets(PtxWord *w, char open) {
    char close = open == '<' ? '>' : open == '[' ? ']' : open == '{' ? '}' : ')';
    if (w->len < 2 || w->text[0] != open || w->text[w->len - 1] != close) return false;
    *w = trim((PtxWord){w->text + 1, w->len - 2});
    return true;
}

static PtxSpace space_named(PtxWord w) {
    return ptx_is(w, ".shared")   ? IN_SHARED
           : ptx_is(w, ".local")  ? IN_LOCAL
           : ptx_is(w, ".param")  ? IN_PARAM
           : ptx_is(w, ".const")  ? IN_CONST
           : ptx_is(w, ".global") ? IN_GLOBAL
                                  : IN_GENERIC;
}

/* One declarator, the directives before it read already. */
static bool read_declarator(PtxWord w, Declared *d) {
    PtxWord rest = w, name = next_piece(&rest, '=');
    d->init = trim(rest);
    d->count = 1;
    d->many = false;
    int n = 0;
    while (n < name.len && name.text[n] != '<' && name.text[n] != '[') n++;
    d->name = trim((PtxWord){name.text, n});
    if (n == name.len) return d->name.len > 0;
    PtxWord inside = {name.text + n, name.len - n};
    d->many = true;
    d->count = 0;
    if (!d->name.len || !take_brackets(&inside, name.text[n])) return false;
    return !inside.len ||
           (parse_number(inside, &d->count) && d->count > 0 && d->count <= MOST_BYTES);
}

/* The directives of a declaration; *rest: the declarators. */
static bool read_directives(PtxWord text, Declared *d, PtxWord *rest) {
    *d = (Declared){.align = 0};
    *rest = trim(text);
    bool first = true;
    while (rest->len && rest->text[0] == '.') {
        PtxWord w = next_token(rest), behind_dot = {w.text + 1, w.len - 1};
        int64_t n;
        if (first) {
            d->space = space_named(w);
        } else if (ptx_is(w, ".align")) {
            if (!parse_number(next_token(rest), &n) || n < 1 || n > 4096 || (n & (n - 1)))
                return false;
            d->align = d->align ? d->align : (uint32_t)n;
            if (d->type) d->align = 0; /* of what it points to */
        } else if (!d->type && find_type(behind_dot)) {
            d->type = find_type(behind_dot);
        } else if (!d->type || (!ptx_is(w, ".ptr") && !space_named(w))) {
            return false;
        }
        first = false;
    }
    return d->type != PT_NONE;
}

static bool is_register_type(PtxType t) {
    unsigned bits = ptx_type[t].bits;
    return bits == 1 || bits == 16 || bits == 32 || bits == 64;
}

static void declare_registers(Decoder *d, PtxDeclaration decl) {
    Declared r;
    PtxWord rest;
    if (!read_directives(decl.text, &r, &rest)) {
        fail(d, "a declaration that is not understood:", decl.text);
        return;
    }
    while (rest.len && !d->failed) {
        PtxWord one = next_piece(&rest, ',');
        if (!read_declarator(one, &r) || r.init.len || !r.count || !is_register_type(r.type)) {
            fail(d, "a declaration that is not understood:", decl.text);
            return;
        }
        if (r.count + d->p->nregisters > MOST_REGISTERS || d->registers.n == MOST_NAMES) {
            fail(d, "a kernel has 65536 registers at most, of 4096 names:", decl.text);
            return;
        }
        Register reg = {r.name, r.many ? (int)r.count : 0, decl.scope, d->p->nregisters, r.type};
        vec_push(&d->s->arena, &d->registers, reg);
        d->p->nregisters += (int)r.count;
    }
}

static uint64_t round_up(uint64_t n, uint64_t to) {
    return (n + to - 1) / to * to;
}

/* Each kind of memory has its own end, from which the next variable goes on. */
static void declare_variable(Decoder *d, PtxDeclaration decl, int scope, uint64_t *end,
                             uint32_t most) {
    Declared r;
    PtxWord rest;
    if (!read_directives(decl.text, &r, &rest) || !read_declarator(rest, &r) || r.type == PT_PRED) {
        fail(d, "a declaration that is not understood:", decl.text);
        return;
    }
    if (d->p->variables.n == MOST_NAMES) {
        fail(d, "a kernel has 4096 variables at most:", decl.text);
        return;
    }
    uint64_t size = ptx_type[r.type].bits / 8u;
    PtxVariable v = {.name = r.name,
                     .scope = scope,
                     .space = r.space,
                     .align = r.align ? r.align : (uint32_t)(size ? size : 1),
                     .bytes = size * (uint64_t)r.count};
    *end = round_up(*end, v.align);
    v.address = *end;
    *end += v.bytes;
    if (*end > most) fail(d, arena_printf(&d->s->arena, "more than %u bytes:", most), decl.text);
    vec_push(&d->s->arena, &d->p->variables, v);
}

static void declare(Decoder *d) {
    PtxProgram *p = d->p;
    char target[32];
    PtxWord named = d->m->file.target;
    snprintf(target, sizeof target, "%.*s", named.len, named.len ? named.text : "");
    const Target *t = target_find(target);
    p->most_shared = t ? (uint32_t)t->max_shared : MOST_SHARED;
    uint64_t shared = PTX_SHARED_BASE, local = 0;
    uint32_t most = PTX_SHARED_BASE + p->most_shared;
    for (int i = 0; i < d->k->params.n; i++)
        declare_variable(d, d->k->params.at[i], -2, &p->param_bytes, MOST_PARAM);
    p->nparams = p->variables.n;
    for (int i = 0; i < d->k->declarations.n; i++) {
        PtxDeclaration decl = d->k->declarations.at[i];
        PtxWord rest = decl.text;
        PtxSpace space = space_named(next_token(&rest));
        if (space == IN_GENERIC)
            declare_registers(d, decl);
        else /* parameters of calls are memory of a thread's own, too */
            declare_variable(d, decl, decl.scope, space == IN_SHARED ? &shared : &local,
                             space == IN_SHARED ? most : MOST_LOCAL);
    }
    PtxVariable *dynamic = NULL;
    for (int i = 0; i < d->m->file.declarations.n; i++) {
        PtxDeclaration decl = d->m->file.declarations.at[i];
        int at = p->variables.n;
        PtxWord rest = decl.text;
        PtxSpace space = space_named(next_token(&rest));
        uint64_t ignored = 0;
        declare_variable(d, decl, -1, space == IN_SHARED ? &shared : &ignored,
                         space == IN_SHARED ? most : MOST_BYTES);
        if (d->failed) return;
        PtxVariable *v = &p->variables.at[at];
        if (space == IN_SHARED && !v->bytes && (!dynamic || v->align > dynamic->align)) dynamic = v;
        if (space == IN_GLOBAL || space == IN_CONST)
            v->address = (uint64_t)(uintptr_t)d->m->global[i].base;
    }
    if (dynamic) { /* behind all others */
        shared = round_up(shared, dynamic->align);
        for (int i = 0; i < p->variables.n; i++) {
            PtxVariable *v = &p->variables.at[i];
            if (v->space == IN_SHARED && !v->bytes) v->address = shared;
        }
    }
    p->static_shared = shared - PTX_SHARED_BASE;
    p->local_bytes = local;
}

/* Memory for the file's own variables, with what they begin as. */
static bool make_globals(Decoder *d) {
    PtxModule *m = d->m;
    uint64_t all = 0;
    m->nglobals = m->file.declarations.n;
    m->global = arena_array(&d->s->arena, (size_t)m->nglobals + 1, sizeof *m->global);
    for (int i = 0; i < m->nglobals; i++) {
        Declared r;
        PtxWord rest;
        if (!read_directives(m->file.declarations.at[i].text, &r, &rest) ||
            !read_declarator(rest, &r)) {
            fail(d, "a declaration that is not understood:", m->file.declarations.at[i].text);
            return false;
        }
        if (r.space != IN_GLOBAL && r.space != IN_CONST) continue;
        size_t size = ptx_type[r.type].bits / 8u, align = r.align > 16 ? r.align : 16;
        size_t bytes = size * (size_t)r.count;
        if (!size || size > sizeof(int64_t) || (all += bytes) > MOST_BYTES) {
            fail(d, "a variable too large, or of a type that memory has not:",
                 m->file.declarations.at[i].text);
            return false;
        }
        uint8_t *base = arena_alloc(&d->s->arena, bytes + align);
        base += (align - (uintptr_t)base % align) % align;
        m->global[i] =
            (PtxBuffer){.name = arena_strndup(&d->s->arena, r.name.text, (size_t)r.name.len),
                        .base = base,
                        .bytes = bytes};
        PtxWord list = r.init;
        take_brackets(&list, '{');
        for (size_t at = 0; list.len && at < bytes; at += size) {
            int64_t v;
            PtxWord one = next_piece(&list, ',');
            if (!parse_number(one, &v)) {
                fail(d, "an initial value that is not understood:", one);
                return false;
            }
            memcpy(base + at, &v, size);
        }
    }
    return true;
}

/* ---- operands ---- */

/* %r12 is the one of %r<20> with that number. */
static bool is_numbered(const Register *r, PtxWord name, int *number) {
    int digits = name.len - r->name.len;
    if (!r->count || digits < 1 || digits > 5) return false;
    if (!same(r->name, (PtxWord){name.text, r->name.len})) return false;
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
            if (!r->count && same(r->name, name)) return r->first;
            if (is_numbered(r, name, &number)) return r->first + number;
        }
    return -1;
}

static const PtxVariable *find_variable(const Decoder *d, PtxWord name) {
    for (int scope = d->inst->scope; scope >= -2;
         scope = scope < 0 ? scope - 1 : d->k->outer.at[scope])
        for (int i = 0; i < d->p->variables.n; i++) {
            const PtxVariable *v = &d->p->variables.at[i];
            if (v->scope == scope && same(v->name, name)) return v;
        }
    return NULL;
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
    if (parse_number(w, &o->value)) {
        o->kind = OPERAND_NUMBER;
        return true;
    }
    if (find_special(w, o)) return true;
    if (ptx_is(w, "WARP_SZ")) {
        o->kind = OPERAND_NUMBER;
        o->value = WARP;
        return true;
    }
    const PtxVariable *v = find_variable(d, w);
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
        PtxWord one = next_piece(&list, ',');
        if (one.len && strchr("[({", one.text[0])) {
            fail(d, "a vector in a vector:", one);
            return;
        }
        PtxOperand element = read_operand(d, one);
        vec_push(&d->s->arena, &d->operands, element);
        o->n++;
    }
    if (list.len && !d->failed) fail(d, "a vector of more than 255 elements:", list);
}

/* [%rd1 + 16], [x], [%rd1, {%r1, %r2}] */
static void read_address(Decoder *d, PtxWord inside, PtxOperand *o) {
    PtxWord place = next_piece(&inside, ','), rest = place;
    PtxWord base = next_piece(&rest, '+');
    PtxOperand in = {.reg = -1, .second = -1};
    int64_t by = 0;
    if (!read_plain(d, base, &in) || (rest.len && !parse_number(trim(rest), &by)) ||
        in.kind == OPERAND_SPECIAL || in.kind == OPERAND_LABEL) {
        fail(d, "an address that is not understood:", place);
        return;
    }
    *o = in;
    o->kind = OPERAND_ADDRESS;
    o->value = (int64_t)((uint64_t)in.value + (uint64_t)by);
    inside = trim(inside);
    if (!inside.len) return;
    if (take_brackets(&inside, '{'))
        read_elements(d, inside, o);
    else
        fail(d, "an address that is not understood:", place);
}

static PtxOperand read_operand(Decoder *d, PtxWord w) {
    PtxOperand o = {.reg = -1, .second = -1, .word = w};
    PtxWord inside = w;
    if (take_brackets(&inside, '[')) {
        read_address(d, inside, &o);
    } else if (take_brackets(&inside, '{') || take_brackets(&inside, '(')) {
        o.kind = OPERAND_VECTOR;
        read_elements(d, inside, &o);
    } else if (ptx_is(w, "_")) {
        o.kind = OPERAND_SINK;
    } else {
        PtxWord rest = w, first = next_piece(&rest, '|');
        if (first.len && first.text[0] == '!') {
            o.negated = true;
            first = trim((PtxWord){first.text + 1, first.len - 1});
        }
        bool ok = ptx_is(first, "_") || read_plain(d, first, &o);
        if (ptx_is(first, "_")) o.kind = OPERAND_SINK;
        rest = trim(rest);
        if (ok && rest.len && !ptx_is(rest, "_")) {
            o.second = find_register(d, rest);
            ok = o.second >= 0;
        }
        if (!ok && !(d->inst && ptx_begins(d->inst->op, "call")))
            fail(d, "an operand that is not understood:", w);
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
    PtxType t = find_type(w);
    if (t) {
        if (c->ntypes == PTX_MOST_TYPES)
            fail(d, "too many types:", w);
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
        fail(d, "the machine does not know the word", w);
        return;
    }
    int field = word->field;
    if (c->field[field] && (field == FIELD_SPACE || field == FIELD_LAYOUT)) field++;
    if (!has_field(row, field)) {
        fail(d, "the machine does not know, of this instruction, the word", w);
        return;
    }
    c->field[field] = word->value;
}

static PtxCode decode(Decoder *d, const PtxInst *inst) {
    PtxCode c = {.inst = inst, .guard = -1, .vector = 1};
    d->inst = inst;
    d->failed = false;
    int taken;
    const Row *row = find_row(inst->op, &taken);
    if (!row) {
        fail(d, "the machine does not know the instruction", inst->op);
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
            fail(d, "no predicate:", inst->guard);
    }
    PtxWord args = inst->args;
    PtxOperand operand[PTX_MOST_OPERANDS + 1];
    int n = 0;
    while (args.len && n <= PTX_MOST_OPERANDS && !d->failed)
        operand[n++] = read_operand(d, next_piece(&args, ','));
    if (n > PTX_MOST_OPERANDS && !d->failed) fail(d, "too many operands:", inst->args);
    c.operand = arena_copy(&d->s->arena, operand, sizeof *operand * (size_t)(n ? n : 1));
    c.noperands = n;
    if (d->failed) return c;
    PtxWord word;
    const char *why = ptx_check(d->p, d->operands.at, &c, row->types, row->operands, &word);
    if (why) fail(d, why, word);
    return c;
}

static void name_registers(Decoder *d) {
    PtxProgram *p = d->p;
    p->register_name = arena_array(&d->s->arena, (size_t)p->nregisters + 1, sizeof(char *));
    p->register_type = arena_alloc(&d->s->arena, (size_t)p->nregisters + 1);
    for (int i = 0; i < d->registers.n; i++) {
        const Register *r = &d->registers.at[i];
        for (int k = 0; k < (r->count ? r->count : 1); k++) {
            p->register_type[r->first + k] = (uint8_t)r->type;
            p->register_name[r->first + k] =
                r->count ? arena_printf(&d->s->arena, "%.*s%d", r->name.len, r->name.text, k)
                         : arena_strndup(&d->s->arena, r->name.text, (size_t)r->name.len);
        }
    }
}

/* Names are looked up brace by brace, and places by number. */
static bool is_small(Decoder *d) {
    const PtxKernel *k = d->k;
    int *depth = arena_array(&d->s->arena, (size_t)k->outer.n + 1, sizeof *depth);
    for (int i = 0; i < k->outer.n; i++) {
        depth[i] = k->outer.at[i] < 0 ? 1 : depth[k->outer.at[i]] + 1;
        if (depth[i] > MOST_DEPTH) fail(d, "more than 64 braces in each other:", k->name);
        if (d->failed) return false;
    }
    if (k->insts.n > MOST_INSTS) fail(d, "more than a million instructions:", k->name);
    if (k->labels.n > MOST_LABELS) fail(d, "more than 65536 labels:", k->name);
    return !d->failed;
}

static bool decode_kernel(Decoder *d, const PtxKernel *k, PtxProgram *p) {
    *d = (Decoder){.s = d->s, .m = d->m, .p = p, .k = k};
    *p = (PtxProgram){.text = d->m->text, .kernel = k, .ncode = k->insts.n};
    p->name = arena_strndup(&d->s->arena, k->name.text, (size_t)k->name.len);
    declare(d);
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
        diag(&s->diags, DIAG_ERROR, (Span){0}, "the PTX is of more than %d bytes", MOST_TEXT);
        return NULL;
    }
    *m = (PtxModule){.s = s, .text = text, .file = ptx_read(&s->arena, text, len)};
    Decoder d = {.s = s, .m = m};
    if (!make_globals(&d)) return NULL;
    m->nprograms = m->file.kernels.n;
    m->program = arena_array(&s->arena, (size_t)m->nprograms + 1, sizeof *m->program);
    for (int i = 0; i < m->nprograms; i++)
        decode_kernel(&d, &m->file.kernels.at[i], &m->program[i]);
    return s->diags.errors ? NULL : m;
}
