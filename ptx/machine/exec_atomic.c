/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* exec_atomic.c: atom and red (PTX ISA, "Parallel Synchronization and Communication Instructions"):
 * the lanes of a warp one after the other. */
#include "base/whole.h"
#include "ptx/machine/floats.h"
#include "ptx/machine/lanes.h"

static uint64_t float_sum(PtxType t, uint64_t x, uint64_t y) {
    if (t == PT_F64) return of_f64(as_f64(x) + as_f64(y));
    if (t == PT_F32) return of_f32(as_f32(x) + as_f32(y));
    double sum = float_value(t, x) + float_value(t, y);
    return elem_round(float_elem(t), sum, ROUND_NEAREST);
}

static uint64_t float_of_two(PtxType t, unsigned op, uint64_t x, uint64_t y) {
    if (op == WORD_OP_ADD) return float_sum(t, x, y);
    double a = float_value(t, x), b = float_value(t, y);
    if (isnan(a) || isnan(b)) return isnan(a) ? y : x;
    return (a < b) == (op == WORD_OP_MIN) ? x : y;
}

/* What becomes of x, with y, and z of a cas. */
static uint64_t updated(PtxType t, unsigned op, uint64_t x, uint64_t y, uint64_t z) {
    PtxTypeInfo info = ptx_type[t];
    if (info.class == 'F' && op != WORD_OP_EXCH && op != WORD_OP_CAS)
        return float_of_two(t, op, x, y);
    int64_t a = extended(t, x), b = extended(t, y);
    bool less = info.class == 'S' ? a < b : (uint64_t)a < (uint64_t)b;
    switch (op) {
    case WORD_OP_ADD: return (uint64_t)a + (uint64_t)b;
    case WORD_OP_MIN: return less ? x : y;
    case WORD_OP_MAX: return less ? y : x;
    case WORD_OP_AND: return x & y;
    case WORD_OP_OR: return x | y;
    case WORD_OP_XOR: return x ^ y;
    case WORD_OP_INC: return (uint64_t)a >= (uint64_t)b ? 0 : (uint64_t)a + 1;
    case WORD_OP_DEC: return !a || (uint64_t)a > (uint64_t)b ? (uint64_t)b : (uint64_t)a - 1;
    case WORD_OP_CAS: return a == b ? z : x;
    default: return y;
    }
}

/* PTX ISA, "cp.reduce.async.bulk": what each operation is of; s64 is summed as u64 is. */
bool atomic_reduces(PtxType t, unsigned op) {
    PtxTypeInfo info = ptx_type[t];
    bool whole = info.class != 'F' && info.bits >= 32;
    switch (op) {
    case WORD_OP_ADD: return whole || info.class == 'F';
    case WORD_OP_MIN:
    case WORD_OP_MAX: return whole || t == PT_F16 || t == PT_BF16;
    case WORD_OP_INC:
    case WORD_OP_DEC: return t == PT_U32;
    case WORD_OP_AND:
    case WORD_OP_OR:
    case WORD_OP_XOR: return whole;
    default: return false;
    }
}

uint64_t atomic_update(PtxType t, unsigned op, uint8_t *at, uint64_t y, uint64_t z, bool *changed) {
    PtxTypeInfo info = ptx_type[t];
    bool pair = t == PT_F16X2 || t == PT_BF16X2;
    uint64_t x, r;
    do { /* another launch may come in between */
        x = r = 0;
        whole_read(&x, at, info.bits / 8u);
        if (pair)
            r = float_of_two(t, op, x & 0xFFFF, y & 0xFFFF) | float_of_two(t, op, x >> 16, y >> 16)
                                                                  << 16;
        else
            r = updated(t, op, x, y, z);
    } while (!whole_swap(at, &x, &r, info.bits / 8u));
    *changed = memcmp(&x, &r, info.bits / 8u) != 0;
    return x;
}

static PtxOutcome atomic(Warp *w, const PtxCode *c, uint32_t mask, const PtxOperand *to) {
    int first = to != NULL;
    PtxType t = (PtxType)c->type[0];
    uint32_t each = ptx_type[t].bits / 8u, bytes = each * c->vector;
    Access a = {.kind = ACCESS_ATOMIC,
                .space = space_of(c),
                .bytes = bytes,
                .align = bytes,
                .mask = mask,
                .orders = true};
    const PtxOperand *from = &c->operand[first + 1], *other = &c->operand[first + 2];
    unsigned op = c->field[FIELD_OP];
    bool number = op == WORD_OP_ADD || op == WORD_OP_MIN || op == WORD_OP_MAX;
    bool pair = t == PT_F16X2 || t == PT_BF16X2;
    if (!op || c->noperands < first + 2 + (op == WORD_OP_CAS) || bytes > 16 ||
        (is_float(c) && !number && (pair || (op != WORD_OP_EXCH && op != WORD_OP_CAS))) ||
        (c->vector > 1 && op == WORD_OP_CAS))
        return not_known(w, c, mask);
    if (op != WORD_OP_CAS) other = from;
    if (!access_addresses(w, c, &c->operand[first], &a) || !access_find(w, c, &a))
        return OUTCOME_FAIL;
    access_count(w, c, &a);
    for (int i = 0; i < c->vector; i++) {
        bool vector = from->kind == OPERAND_VECTOR;
        const PtxOperand *e = vector ? element_of(w, from, i) : from;
        const PtxOperand *d = to && to->kind == OPERAND_VECTOR ? element_of(w, to, i) : to;
        uint32_t unknown = a.mask & ~(known_of(w, e) & known_of(w, other));
        if (unknown && (w->cta->m->launch->checks & PTX_CHECK_UNINIT))
            return machine_fail(w, c, __builtin_ctz(unknown), C_UNINIT, "%.*s is not known",
                                e->word.len, e->word.text);
        EACH_LANE(a.mask, l) {
            uint8_t *known = a.known[l] ? a.known[l] + each * (uint32_t)i : NULL;
            if (known && memchr(known, 0, each) && (w->cta->m->launch->checks & PTX_CHECK_UNINIT))
                return machine_fail(w, c, l, C_UNINIT, "nobody has written what it updates");
            bool changed;
            uint64_t was = atomic_update(t, op, a.data[l] + each * (uint32_t)i, lane_of(w, e, l),
                                         lane_of(w, other, l), &changed);
            if (changed)
                access_changed(w, &a, l);
            else
                warp_polls(w, c, was);
            if (d && d->kind == OPERAND_REGISTER) w->reg[d->reg][l] = was;
        }
        if (d && d->kind == OPERAND_REGISTER) w->known[d->reg] |= mask;
    }
    return OUTCOME_NEXT;
}

PtxOutcome exec_atom(Warp *w, const PtxCode *c, uint32_t mask) {
    return atomic(w, c, mask, &c->operand[0]);
}

PtxOutcome exec_red(Warp *w, const PtxCode *c, uint32_t mask) {
    return atomic(w, c, mask, NULL);
}
