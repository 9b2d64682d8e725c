/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* exec_control.c: lanes that hear of each other, jumps through tables, calls. */
#include "ptx/machine/lanes.h"

#include <stdio.h>
#include <string.h>

/* ---- within a warp ---- */

/* The lanes that take part, where all of them are here. */
static bool members_of(Warp *w, const PtxCode *c, uint32_t mask, const PtxOperand *o,
                       uint32_t *members, PtxOutcome *outcome) {
    *members = (uint32_t)lane_of(w, o, __builtin_ctz(mask));
    *outcome = OUTCOME_WAIT;
    EACH_LANE(mask, l) if ((uint32_t)lane_of(w, o, l) != *members || !(*members >> l & 1)) {
        *outcome = machine_fail(w, c, l, C_CONVERGENCE,
                                "the mask 0x%x is not that of all its lanes, or it is not in it",
                                *members);
        return false;
    }
    return !(*members & w->alive & ~mask);
}

PtxOutcome exec_activemask(Warp *w, const PtxCode *c, uint32_t mask) {
    EACH_LANE(mask, l) w->reg[c->operand[0].reg][l] = mask;
    return OUTCOME_NEXT;
}

PtxOutcome exec_warp_sync(Warp *w, const PtxCode *c, uint32_t mask) {
    uint32_t members;
    PtxOutcome o;
    return members_of(w, c, mask, &c->operand[0], &members, &o) ? OUTCOME_NEXT : o;
}

/* One of the lanes, the lowest: its number, and a predicate. */
PtxOutcome exec_elect(Warp *w, const PtxCode *c, uint32_t mask) {
    uint32_t members;
    PtxOutcome o;
    if (!members_of(w, c, mask, &c->operand[1], &members, &o)) return o;
    const PtxOperand *to = &c->operand[0];
    int first = __builtin_ctz(mask);
    EACH_LANE(mask, l) {
        if (to->kind == OPERAND_REGISTER) w->reg[to->reg][l] = (uint64_t)first;
        if (to->second >= 0) w->reg[to->second][l] = l == first;
    }
    return OUTCOME_NEXT;
}

/* PTX ISA, "shfl.sync": c holds the end of a segment, and above it the bits that name the segment.
 */
PtxOutcome exec_shfl(Warp *w, const PtxCode *c, uint32_t mask) {
    uint32_t members;
    PtxOutcome outcome;
    if (!members_of(w, c, mask, &c->operand[4], &members, &outcome)) return outcome;
    Lanes v;
    take_lanes(&v, w, c);
    const PtxOperand *to = &c->operand[0];
    uint32_t known = known_of(w, &c->operand[1]), now = 0;
    uint64_t out[WARP] = {0}, in_range[WARP] = {0};
    EACH_LANE(mask, l) {
        int b = (int)(v.b[l] & 31), end = (int)(v.c[l] & 31), segment = (int)(v.c[l] >> 8 & 31);
        int most = (l & segment) | (end & ~segment), least = l & segment, from;
        bool inside;
        switch (c->field[FIELD_MODE]) {
        case WORD_MODE_UP: from = l - b, inside = from >= most; break;
        case WORD_MODE_DOWN: from = l + b, inside = from <= most; break;
        case WORD_MODE_BFLY: from = l ^ b, inside = from <= most; break;
        case WORD_MODE_IDX: from = least | (b & ~segment), inside = from <= most; break;
        default: return not_known(w, c, mask);
        }
        if (!inside) from = l;
        if (!(mask >> from & 1))
            return machine_fail(w, c, l, C_CONVERGENCE, "it asks lane %d, which does not take part",
                                from);
        out[l] = (uint32_t)v.a[from];
        in_range[l] = inside;
        now |= (known >> from & 1) << l;
    }
    EACH_LANE(mask, l) {
        if (to->kind == OPERAND_REGISTER) w->reg[to->reg][l] = out[l];
        if (to->second >= 0) w->reg[to->second][l] = in_range[l];
    }
    if (to->kind == OPERAND_REGISTER) set_known(w, to->reg, mask, now);
    if (to->second >= 0) set_known(w, to->second, mask, mask);
    return OUTCOME_NEXT;
}

PtxOutcome exec_vote(Warp *w, const PtxCode *c, uint32_t mask) {
    uint32_t members, yes = 0;
    PtxOutcome o;
    if (!members_of(w, c, mask, &c->operand[2], &members, &o)) return o;
    EACH_LANE(mask, l) yes |= (uint32_t)(lane_of(w, &c->operand[1], l) & 1) << l;
    bool uniform = c->field[FIELD_UNIFORM] != 0, ballot = c->type[0] != PT_PRED;
    unsigned mode = c->field[FIELD_MODE];
    if (uniform ? mode != 0 : mode != WORD_MODE_ALL && mode != WORD_MODE_ANY && !ballot)
        return not_known(w, c, mask);
    if (ballot != (mode == WORD_MODE_BALLOT)) return not_known(w, c, mask);
    uint64_t r = uniform                                 ? yes == mask || !yes
                 : c->field[FIELD_MODE] == WORD_MODE_ALL ? yes == mask
                 : c->field[FIELD_MODE] == WORD_MODE_ANY ? yes != 0
                                                         : yes;
    EACH_LANE(mask, l) w->reg[c->operand[0].reg][l] = r;
    return OUTCOME_NEXT;
}

PtxOutcome exec_match(Warp *w, const PtxCode *c, uint32_t mask) {
    uint32_t members;
    PtxOutcome o;
    if (!members_of(w, c, mask, &c->operand[2], &members, &o)) return o;
    uint64_t room[WARP], bits = ptx_type[c->type[0]].bits == 32 ? UINT32_MAX : UINT64_MAX;
    const uint64_t *v = lanes_of(w, &c->operand[1], room);
    const PtxOperand *to = &c->operand[0];
    uint32_t r[WARP] = {0};
    EACH_LANE(mask, l) EACH_LANE(mask, k) r[l] |= (uint32_t)(((v[l] ^ v[k]) & bits) == 0) << k;
    EACH_LANE(mask, l) {
        bool all = r[l] == mask;
        w->reg[to->reg][l] = c->field[FIELD_MODE] == WORD_MODE_ALL && !all ? 0 : r[l];
        if (to->second >= 0) w->reg[to->second][l] = all;
    }
    return OUTCOME_NEXT;
}

PtxOutcome exec_redux(Warp *w, const PtxCode *c, uint32_t mask) {
    uint32_t members;
    PtxOutcome o;
    if (!members_of(w, c, mask, &c->operand[2], &members, &o)) return o;
    if (is_float(c)) return not_known(w, c, mask);
    bool is_signed = ptx_type[c->type[0]].class == 'S', first = true;
    uint32_t r = 0;
    EACH_LANE(mask, l) {
        uint32_t x = (uint32_t)lane_of(w, &c->operand[1], l);
        bool less = is_signed ? (int32_t)x < (int32_t)r : x < r;
        unsigned op = c->field[FIELD_OP];
        if (first)
            r = x;
        else if (op == WORD_OP_ADD)
            r += x;
        else if (op == WORD_OP_MIN || op == WORD_OP_MAX)
            r = less == (op == WORD_OP_MIN) ? x : r;
        else
            r = op == WORD_OP_AND ? r & x : op == WORD_OP_OR ? r | x : r ^ x;
        first = false;
    }
    EACH_LANE(mask, l) w->reg[c->operand[0].reg][l] = r;
    return OUTCOME_NEXT;
}

/* ---- jumps through a table ---- */

static PtxWord nth_name(PtxWord list, uint64_t n) {
    const char *at = list.text, *end = list.text + list.len;
    for (; n && at < end; at++) n -= *at == ',';
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\n')) at++;
    const char *stop = at;
    while (stop < end && !strchr(", \t\n", *stop)) stop++;
    return (PtxWord){at, (int)(stop - at)};
}

PtxOutcome exec_brx(Warp *w, const PtxCode *c, uint32_t mask) {
    const PtxKernel *k = w->cta->m->program->kernel;
    const PtxLabel *table = &k->labels.at[c->operand[1].reg];
    EACH_LANE(mask, l) {
        uint32_t i = (uint32_t)lane_of(w, &c->operand[0], l);
        int to = ptx_find_label(k, c->inst->scope, nth_name(table->targets, i));
        if (to < 0) return machine_fail(w, c, l, C_BOUNDS, "the table has no entry %u", i);
        w->pc[l] = k->labels.at[to].inst;
    }
    return OUTCOME_JUMPED;
}

PtxOutcome exec_nothing(Warp *w, const PtxCode *c, uint32_t mask) {
    (void)w, (void)c, (void)mask;
    return OUTCOME_NEXT;
}
