/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* check.c: an instruction's types and operands against its row of insts.def, which says what each
 * is. What passes here the functions of the instructions take without another look. */
#include "ptx/machine/check.h"

#include <string.h>

/* ---- types ---- */

#define T(id) (UINT64_C(1) << PT_##id)
#define BOTH(bits) (T(U##bits) | T(S##bits))

typedef struct Set {
    char letter;
    uint64_t types;
} Set;

static const Set sets[] = {
    {'i', BOTH(16) | BOTH(32) | BOTH(64)},
    {'I', BOTH(32) | BOTH(64)},
    {'2', T(U16X2) | T(S16X2)},
    {'b', T(B16) | T(B32) | T(B64)},
    {'B', T(B32) | T(B64)},
    {'f', T(F16) | T(F16X2) | T(BF16) | T(BF16X2) | T(F32) | T(F64)},
    {'F', T(F32) | T(F64)},
    {'8', T(B8) | BOTH(8)},
    {'p', T(PRED)},
    {'w', T(B32) | BOTH(32)},
    {'W', T(B32)},
    {'q', T(B64)},
    {'c', /* what is converted */
     BOTH(8) | BOTH(16) | BOTH(32) | BOTH(64) | T(F16) | T(F16X2) | T(BF16) | T(BF16X2) | T(TF32) |
         T(F32) | T(F64) | T(E4M3X2) | T(E5M2X2)},
    {'x', ~UINT64_C(0)},
};

static uint64_t set_of(char letter) {
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        if (sets[i].letter == letter) return sets[i].types;
    return 0;
}

static const char *check_types(const PtxCode *c, const char *types) {
    int n = 0;
    for (const char *at = types; *at; n++) {
        uint64_t may = 0;
        for (; *at && *at != ' '; at++) may |= set_of(*at);
        if (*at) at++;
        if (n >= c->ntypes) return "too few types:";
        if (!(may >> c->type[n] & 1)) return "the machine knows no such type of";
    }
    return c->ntypes > n ? "too many types:" : NULL;
}

/* ---- operands ---- */

typedef struct Form { /* one operand of a row */
    char role, type;
    bool optional, wider, sink, pair, some, by_vector, by_count, vector;
} Form;

typedef struct Checker {
    const PtxProgram *p;
    const PtxOperand *elements;
    const PtxCode *c;
    PtxWord word; /* what is wrong */
} Checker;

/* The next form at *at, which goes on to the one behind it. */
static Form read_form(const char **at) {
    Form f = {.role = *(*at)++};
    for (; **at && **at != ' '; (*at)++) switch (**at) {
        case '?': f.optional = true; break;
        case '>': f.wider = true; break;
        case '_': f.sink = true; break;
        case '|': f.pair = true; break;
        case '*': f.by_vector = true; break;
        case '#': f.by_count = true; break;
        case '{': f.vector = true; break;
        case '+': f.some = true; break;
        default: f.type = **at;
        }
    while (**at == ' ') (*at)++;
    return f;
}

/* What a register of it has to be; bits 0: anything but a predicate. */
static PtxTypeInfo type_of(const PtxCode *c, const Form *f) {
    switch (f->type) {
    case '0':
    case '1':
    case '2':
    case '3': return ptx_type[c->type[f->type - '0']];
    case 'x': {
        PtxTypeInfo t = ptx_type[c->type[0]];
        if (c->field[FIELD_PART] == WORD_PART_WIDE) t.bits = (uint8_t)(2 * t.bits);
        return t;
    }
    case 'h': return ptx_type[PT_B16];
    case 'w': return ptx_type[PT_B32];
    case 'q': return ptx_type[PT_B64];
    case 'p': return ptx_type[PT_PRED];
    default: return ptx_type[PT_NONE];
    }
}

static bool is_integer(char class) {
    return class == 'S' || class == 'U';
}

/* PTX ISA, "Operand Types and Sizes": bits go with all of their size, integers with each other. */
static const char *check_register(const Checker *x, int reg, PtxTypeInfo t, bool wider) {
    PtxTypeInfo has = ptx_type[x->p->register_type[reg]];
    if (!t.bits) return NULL;
    if ((has.class == 'P') != (t.class == 'P'))
        return t.class == 'P' ? "no predicate:" : "a predicate where none belongs:";
    if (has.bits < t.bits) return "a register that is narrower than the type:";
    if (has.bits > t.bits && !wider) return "a register that is wider than the type:";
    bool fits = has.class == t.class || has.class == 'B' || t.class == 'B' ||
                (is_integer(has.class) && is_integer(t.class));
    return fits ? NULL : "a register of another type:";
}

/* One value, of an operand or of a vector in one. */
static const char *check_value(Checker *x, const PtxOperand *o, const Form *f, PtxTypeInfo t) {
    bool writes = f->role == 'd';
    x->word = o->word;
    if (o->negated && (writes || t.class != 'P' || o->kind != OPERAND_REGISTER))
        return "only predicates are negated:";
    switch (o->kind) {
    case OPERAND_REGISTER: return check_register(x, o->reg, t, f->wider);
    case OPERAND_SINK: return writes && f->sink ? NULL : "there has to be something:";
    case OPERAND_NUMBER:
    case OPERAND_SPECIAL:
    case OPERAND_SYMBOL: return writes ? "no register:" : NULL;
    case OPERAND_VECTOR: return "a vector where one value belongs:";
    default: return writes ? "no register:" : "no value:";
    }
}

static const char *check_elements(Checker *x, const PtxOperand *o, const Form *f, PtxTypeInfo t) {
    for (int i = 0; i < o->n; i++) {
        const PtxOperand *e = &x->elements[o->first + i];
        const char *why = check_value(x, e, f, t);
        if (!why && e->second >= 0) why = "a pair where one value belongs:";
        if (why) return why;
    }
    return NULL;
}

static int count_of(const PtxCode *c) {
    return c->field[FIELD_COUNT] == WORD_COUNT_FOUR  ? 4
           : c->field[FIELD_COUNT] == WORD_COUNT_TWO ? 2
                                                     : 1;
}

/* A register or a number, or as many as there have to be. */
static const char *check_values(Checker *x, const PtxOperand *o, const Form *f) {
    PtxTypeInfo t = type_of(x->c, f);
    int n = f->by_vector ? x->c->vector : f->by_count ? count_of(x->c) : 1;
    bool is_vector = o->kind == OPERAND_VECTOR;
    if (o->second >= 0 && !f->pair) return "a pair where one value belongs:";
    if (o->second >= 0 && x->p->register_type[o->second] != PT_PRED) return "no predicate:";
    if (f->vector || (f->some && is_vector)) {
        if (!is_vector || !o->n) return "no vector:";
        return check_elements(x, o, f, t);
    }
    if (f->by_vector || f->by_count) {
        if ((n > 1 && !is_vector) || (is_vector && o->n != n)) return "a vector of another length:";
        if (is_vector) return check_elements(x, o, f, t);
    }
    if (f->some && o->kind == OPERAND_SINK) return "there has to be something:";
    return check_value(x, o, f, t);
}

/* mov of parts: each has its share of the bits. */
static const char *check_parts(Checker *x, const PtxOperand *o, const Form *f) {
    PtxTypeInfo t = type_of(x->c, f);
    if (o->kind != OPERAND_VECTOR) return check_values(x, o, f);
    if (o->n < 1 || t.bits % o->n || t.bits / o->n < 8) return "a vector of another length:";
    t = (PtxTypeInfo){"", (uint8_t)(t.bits / o->n), 'B'};
    return check_elements(x, o, f, t);
}

static const char *check_address(Checker *x, const PtxOperand *o, bool coordinates) {
    static const uint8_t dims[] = {[WORD_DIM_ONE - WORD_DIM_ONE] = 1,
                                   [WORD_DIM_TWO - WORD_DIM_ONE] = 2,
                                   [WORD_DIM_THREE - WORD_DIM_ONE] = 3,
                                   [WORD_DIM_FOUR - WORD_DIM_ONE] = 4,
                                   [WORD_DIM_FIVE - WORD_DIM_ONE] = 5};
    static const Form coordinate = {.role = 's', .type = 'w'};
    unsigned dim = x->c->field[FIELD_DIM];
    if (o->kind != OPERAND_ADDRESS) return "no address:";
    if (o->n != (coordinates && dim ? dims[dim - WORD_DIM_ONE] : 0))
        return "another number of coordinates:";
    if (o->reg >= 0) {
        PtxTypeInfo has = ptx_type[x->p->register_type[o->reg]];
        if (has.bits < 32 || has.class == 'F') return "a register that holds no address:";
    }
    return check_elements(x, o, &coordinate, ptx_type[PT_B32]);
}

/* (retval0) and (param0, param1) of a call. */
static const char *check_variables(const Checker *x, const PtxOperand *o) {
    if (o->kind != OPERAND_VECTOR) return "no list of variables:";
    for (int i = 0; i < o->n; i++) {
        const PtxOperand *e = &x->elements[o->first + i];
        if (e->kind != OPERAND_SYMBOL || e->space != IN_LOCAL) return "no list of variables:";
    }
    return NULL;
}

static const char *check_operand(Checker *x, const PtxOperand *o, const Form *f) {
    bool is_mov = f->some && x->c->ntypes == 1;
    x->word = o->word;
    switch (f->role) {
    case 'd':
    case 's': return is_mov ? check_parts(x, o, f) : check_values(x, o, f);
    case 'n': return o->kind == OPERAND_NUMBER ? NULL : "no number:";
    case 'a': return check_address(x, o, false);
    case 'm': return check_address(x, o, true);
    case 'l': return o->kind == OPERAND_LABEL && !o->n ? NULL : "no label to go to:";
    case 't': return o->kind == OPERAND_LABEL && o->n ? NULL : "no table of labels:";
    case 'f': return o->kind == OPERAND_VECTOR ? "no function:" : NULL;
    case 'c': return check_variables(x, o);
    default: return NULL;
    }
}

/* One of the forms, up to a slash. */
static const char *check_form(Checker *x, const char **at) {
    int n = 0;
    const char *why = NULL;
    while (**at && **at != '/') {
        Form f = read_form(at);
        bool left_out = n >= x->c->noperands;
        if (why || (left_out && f.optional)) continue;
        if (left_out) {
            x->word = x->c->inst->args;
            why = "too few operands:";
            continue;
        }
        why = check_operand(x, &x->c->operand[n++], &f);
    }
    if (why || n == x->c->noperands) return why;
    x->word = x->c->operand[n].word;
    return "too many operands:";
}

const char *ptx_check(const PtxProgram *p, const PtxOperand *elements, const PtxCode *c,
                      const char *types, const char *operands, PtxWord *word) {
    Checker x = {p, elements, c, c->inst->op};
    const char *why = check_types(c, types);
    *word = x.word;
    if (why) return why;
    for (const char *at = operands;;) {
        why = check_form(&x, &at);
        *word = x.word;
        if (!why || !*at) return why;
        at += 2; /* the slash */
    }
}
