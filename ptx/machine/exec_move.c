/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* exec_move.c: loads, stores, moves, addresses and jumps. */
#include "base/whole.h"
#include "ptx/machine/lanes.h"

#include <string.h>

/* ---- registers ---- */

static void move_whole(Warp *w, const PtxOperand *to, const PtxOperand *from, unsigned bits,
                       uint32_t mask) {
    uint64_t room[WARP];
    const uint64_t *v = lanes_of(w, from, room);
    uint64_t *d = w->reg[to->reg];
    uint32_t known = known_of(w, from);
    uint64_t have[WARP];
    EACH_LANE(mask & ~known, l) have[l] = bits_known(w, from, l);
    EACH_LANE(mask, l) d[l] = low_bits(v[l], bits);
    set_known(w, to->reg, mask, known);
    EACH_LANE(mask & ~known, l) set_bits_known(w, to->reg, l, have[l], bits);
}

/* mov.b64 %rd, {%r1, %r2} and back. */
PtxOutcome exec_mov(Warp *w, const PtxCode *c, uint32_t mask) {
    const PtxOperand *to = &c->operand[0], *from = &c->operand[1];
    unsigned bits = ptx_type[c->type[0]].bits;
    if (to->kind == OPERAND_VECTOR) {
        uint64_t room[WARP];
        const uint64_t *v = lanes_of(w, from, room);
        unsigned each = bits / to->n;
        uint64_t whole[WARP], have[WARP];
        memcpy(whole, v, sizeof whole); /* one of the parts may be the register itself */
        for (int l = 0; l < WARP; l++) have[l] = bits_known(w, from, l);
        for (int i = 0; i < to->n; i++) {
            const PtxOperand *e = element_of(w, to, i);
            if (e->kind != OPERAND_REGISTER) continue;
            EACH_LANE(mask, l) {
                w->reg[e->reg][l] = low_bits(whole[l] >> (each * (unsigned)i), each);
                set_bits_known(w, e->reg, l, low_bits(have[l] >> (each * (unsigned)i), each), each);
            }
        }
    } else if (from->kind == OPERAND_VECTOR) {
        unsigned each = bits / from->n;
        uint64_t whole[WARP] = {0}, have[WARP] = {0};
        for (int i = 0; i < from->n; i++) {
            const PtxOperand *e = element_of(w, from, i);
            EACH_LANE(mask, l) {
                whole[l] |= low_bits(lane_of(w, e, l), each) << (each * (unsigned)i);
                have[l] |= low_bits(bits_known(w, e, l), each) << (each * (unsigned)i);
            }
        }
        EACH_LANE(mask, l) {
            w->reg[to->reg][l] = whole[l];
            set_bits_known(w, to->reg, l, have[l], bits);
        }
    } else {
        move_whole(w, to, from, bits, mask);
    }
    return OUTCOME_NEXT;
}

PtxOutcome exec_selp(Warp *w, const PtxCode *c, uint32_t mask) {
    uint64_t room[3][WARP];
    const uint64_t *x = lanes_of(w, &c->operand[1], room[0]);
    const uint64_t *y = lanes_of(w, &c->operand[2], room[1]);
    const uint64_t *p = lanes_of(w, &c->operand[3], room[2]);
    uint64_t *d = w->reg[c->operand[0].reg];
    unsigned bits = ptx_type[c->type[0]].bits;
    uint32_t on = 0;
    EACH_LANE(mask, l) on |= (uint32_t)(p[l] & 1) << l;
    uint32_t known = (known_of(w, &c->operand[1]) & on) | (known_of(w, &c->operand[2]) & ~on);
    known &= known_of(w, &c->operand[3]);
    EACH_LANE(mask, l) d[l] = low_bits(p[l] & 1 ? x[l] : y[l], bits);
    set_known(w, c->operand[0].reg, mask, known);
    return OUTCOME_NEXT;
}

/* ---- loads and stores ---- */

static const PtxOperand *part(const Warp *w, const PtxOperand *o, int i) {
    return o->kind == OPERAND_VECTOR ? element_of(w, o, i) : o;
}

static Access access_of(const PtxCode *c, AccessKind kind, uint32_t mask) {
    uint32_t bytes = ptx_type[c->type[0]].bits / 8u * c->vector;
    unsigned sem = c->field[FIELD_SEM];
    return (Access){.kind = kind,
                    .space = space_of(c),
                    .bytes = bytes,
                    .align = bytes,
                    .mask = mask,
                    .orders = sem && sem != WORD_SEM_WEAK};
}

static bool all_known(const uint8_t *known, uint32_t n) {
    return !known || !memchr(known, 0, n);
}

PtxOutcome exec_ld(Warp *w, const PtxCode *c, uint32_t mask) {
    const PtxOperand *to = &c->operand[0];
    Access a = access_of(c, ACCESS_READ, mask);
    PtxTypeInfo t = ptx_type[c->type[0]];
    uint32_t each = t.bits / 8u;
    if (a.bytes > MOST_ACCESS)
        return machine_fail(w, c, __builtin_ctz(mask), C_BOUNDS, "it loads too much");
    if (!access_addresses(w, c, &c->operand[1], &a) || !access_find(w, c, &a)) return OUTCOME_FAIL;
    access_count(w, c, &a);
    for (int i = 0; i < c->vector; i++) {
        const PtxOperand *e = part(w, to, i);
        if (e->kind != OPERAND_REGISTER) continue;
        uint32_t known = 0;
        EACH_LANE(mask, l) {
            uint64_t v = 0;
            uint32_t at = each * (uint32_t)i;
            if (a.mask >> l & 1) {
                if (a.orders)
                    whole_read(&v, a.data[l] + at, each);
                else
                    memcpy(&v, a.data[l] + at, each);
                known |= (uint32_t)all_known(a.known[l] ? a.known[l] + at : NULL, each) << l;
            }
            if (t.class == 'S' && t.bits < 64 && v >> (t.bits - 1)) v |= ~UINT64_C(0) << t.bits;
            w->reg[e->reg][l] = v;
        }
        set_known(w, e->reg, mask, known);
        if (a.orders && a.mask) warp_polls(w, c, w->reg[e->reg][__builtin_ctz(a.mask)]);
    }
    return OUTCOME_NEXT;
}

/* Nobody may find in global memory what is not known. */
static bool check_stored(Warp *w, const PtxCode *c, const Access *a, PtxType type,
                         const PtxOperand *e) {
    uint32_t unknown = a->mask & ~known_of(w, e), bits = ptx_type[type].bits;
    EACH_LANE(unknown, l) /* of a wide register it may be the part that is stored */
    if (!low_bits(~bits_known(w, e, l), bits)) unknown &= ~(UINT32_C(1) << l);
    bool global = a->space == IN_GLOBAL || (a->space == IN_GENERIC && unknown &&
                                            !(a->address[__builtin_ctz(unknown)] & WINDOW_MASK));
    if (!unknown || !global || !(w->cta->m->launch->checks & PTX_CHECK_UNINIT)) return true;
    machine_fail(w, c, __builtin_ctz(unknown), C_UNINIT, "%.*s, which is stored, is not known",
                 e->word.len, e->word.text);
    return false;
}

PtxOutcome exec_st(Warp *w, const PtxCode *c, uint32_t mask) {
    const PtxOperand *from = &c->operand[1];
    Access a = access_of(c, ACCESS_WRITE, mask);
    uint32_t each = ptx_type[c->type[0]].bits / 8u;
    uint8_t value[WARP][MOST_ACCESS];
    if (a.bytes > MOST_ACCESS)
        return machine_fail(w, c, __builtin_ctz(mask), C_BOUNDS, "it stores too much");
    for (int i = 0; i < c->vector; i++) EACH_LANE(mask, l) {
            uint64_t v = lane_of(w, part(w, from, i), l);
            memcpy(value[l] + each * (uint32_t)i, &v, each);
            a.value[l] = value[l];
        }
    if (!access_addresses(w, c, &c->operand[0], &a) || !access_find(w, c, &a)) return OUTCOME_FAIL;
    access_count(w, c, &a);
    for (int i = 0; i < c->vector; i++) {
        const PtxOperand *e = part(w, from, i);
        uint32_t known = known_of(w, e);
        if (!check_stored(w, c, &a, (PtxType)c->type[0], e)) return OUTCOME_FAIL;
        EACH_LANE(a.mask, l) {
            const uint8_t *v = value[l] + each * (uint32_t)i;
            uint8_t *at = a.data[l] + each * (uint32_t)i;
            if (memcmp(at, v, each)) access_changed(w, &a, l);
            memcpy(at, v, each);
            if (a.known[l]) {
                uint8_t *mark = a.known[l] + each * (uint32_t)i;
                uint64_t have = known >> l & 1 ? UINT64_MAX : bits_known(w, e, l);
                for (uint32_t b = 0; b < each; b++)
                    mark[b] = (have >> (8 * (b & 7)) & UINT8_MAX) == UINT8_MAX;
            }
        }
    }
    return OUTCOME_NEXT;
}

/* ---- addresses ---- */

/* A generic address from one of a space, or with .to back. */
PtxOutcome exec_cvta(Warp *w, const PtxCode *c, uint32_t mask) {
    uint64_t room[WARP];
    const uint64_t *v = lanes_of(w, &c->operand[1], room);
    PtxSpace space = space_of(c);
    if (space == IN_PARAM && c->operand[1].space == IN_LOCAL) space = IN_LOCAL;
    bool shared = space == IN_SHARED || space == IN_SHARED_CLUSTER;
    uint64_t window = shared              ? WINDOW_SHARED
                      : space == IN_LOCAL ? WINDOW_LOCAL
                      : space == IN_PARAM ? WINDOW_PARAM
                                          : 0;
    bool to = c->field[FIELD_TO] != 0;
    EACH_LANE(mask, l)
    w->reg[c->operand[0].reg][l] = to ? v[l] & ~window : v[l] | window;
    return OUTCOME_NEXT;
}

/* Does a generic address lie in the space's window? */
PtxOutcome exec_isspacep(Warp *w, const PtxCode *c, uint32_t mask) {
    uint64_t room[WARP];
    const uint64_t *v = lanes_of(w, &c->operand[1], room);
    PtxSpace space = space_of(c);
    EACH_LANE(mask, l) {
        uint64_t window = v[l] & WINDOW_MASK;
        bool own = !((v[l] & ~WINDOW_MASK) >> RANK_SHIFT); /* not another block's */
        bool is = space == IN_GLOBAL           ? !window
                  : space == IN_SHARED         ? window == WINDOW_SHARED && own
                  : space == IN_SHARED_CLUSTER ? window == WINDOW_SHARED
                  : space == IN_LOCAL          ? window == WINDOW_LOCAL
                                               : space == IN_PARAM && window == WINDOW_PARAM;
        w->reg[c->operand[0].reg][l] = is;
    }
    return OUTCOME_NEXT;
}

/* What caches are asked to do, 64 bits that mean nothing here. */
PtxOutcome exec_policy(Warp *w, const PtxCode *c, uint32_t mask) {
    EACH_LANE(mask, l) w->reg[c->operand[0].reg][l] = 0;
    return OUTCOME_NEXT;
}

/* ---- jumps ---- */

PtxOutcome exec_bra(Warp *w, const PtxCode *c, uint32_t mask) {
    EACH_LANE(mask, l) w->pc[l] = c->operand[0].reg;
    return OUTCOME_JUMPED;
}

/* Of a function back to behind its call. */
PtxOutcome exec_ret(Warp *w, const PtxCode *c, uint32_t mask) {
    if (c->inst->back >= 0) {
        EACH_LANE(mask, l) w->pc[l] = c->inst->back;
        return OUTCOME_JUMPED;
    }
    w->alive &= ~mask;
    w->cta->m->changes++;
    return OUTCOME_JUMPED;
}

PtxOutcome exec_trap(Warp *w, const PtxCode *c, uint32_t mask) {
    return machine_fail(w, c, __builtin_ctz(mask), C_ASSERT, "it stops here");
}
