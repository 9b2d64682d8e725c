/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* exec_int.c: arithmetic of integers and bits (PTX ISA, "Integer Arithmetic Instructions", "Logic
 * and Shift Instructions"). */
#include "ptx/machine/lanes.h"

enum { BYTE = 8 };

static bool is_signed(const PtxCode *c) {
    return ptx_type[c->type[0]].class == 'S';
}

/* ---- carries ---- */

/* x + y, or x - y, with what is carried into it; .cc keeps what is carried out. */
static uint64_t carried(Warp *w, const PtxCode *c, int l, uint64_t x, uint64_t y, bool in,
                        bool subtracts) {
    unsigned bits = ptx_type[c->type[0]].bits;
    unsigned __int128 a = low_bits(x, bits), b = low_bits(y, bits), r;
    b += in ? w->carry >> l & 1 : 0;
    r = subtracts ? a - b : a + b;
    if (c->field[FIELD_CARRY])
        w->carry = (w->carry & ~(UINT32_C(1) << l)) | (uint32_t)(r >> bits & 1) << l;
    return low_bits((uint64_t)r, bits);
}

static PtxOutcome carry_lanes(Warp *w, const PtxCode *c, uint32_t mask, bool in, bool subtracts) {
    Lanes v;
    take_lanes(&v, w, c);
    EACH_LANE(mask, l) v.d[l] = carried(w, c, l, v.a[l], v.b[l], in, subtracts);
    return OUTCOME_NEXT;
}

PtxOutcome exec_addc(Warp *w, const PtxCode *c, uint32_t mask) {
    return carry_lanes(w, c, mask, true, false);
}

PtxOutcome exec_subc(Warp *w, const PtxCode *c, uint32_t mask) {
    return carry_lanes(w, c, mask, true, true);
}

/* ---- the four operations ---- */

static bool is_pair(const PtxCode *c) {
    return c->type[0] == PT_U16X2 || c->type[0] == PT_S16X2;
}

static uint64_t pair_of(uint64_t low, uint64_t high) {
    enum { HALF = 16 };
    return (uint16_t)low | (uint32_t)(uint16_t)high << HALF;
}

/* There is no such subtraction. */
static PtxOutcome add_pairs(Warp *w, const PtxCode *c, uint32_t mask) {
    Lanes v;
    if (c->field[FIELD_CARRY]) return not_known(w, c, mask);
    take_lanes(&v, w, c);
    EACH_LANE(mask, l) v.d[l] = pair_of(v.a[l] + v.b[l], (v.a[l] >> 16) + (v.b[l] >> 16));
    return OUTCOME_NEXT;
}

/* Of s32 alone: what lies beyond is its least or its most. */
static PtxOutcome saturate_lanes(Warp *w, const PtxCode *c, uint32_t mask, bool subtracts) {
    Lanes v;
    if (c->type[0] != PT_S32 || c->field[FIELD_CARRY]) return not_known(w, c, mask);
    take_lanes(&v, w, c);
    EACH_LANE(mask, l) {
        int64_t x = (int32_t)v.a[l], y = (int32_t)v.b[l], r = subtracts ? x - y : x + y;
        v.d[l] = (uint32_t)(r < INT32_MIN ? INT32_MIN : r > INT32_MAX ? INT32_MAX : r);
    }
    return OUTCOME_NEXT;
}

#define ADDITIVE(name, operator, op)                                                               \
    PtxOutcome name(Warp *w, const PtxCode *c, uint32_t mask) {                                    \
        Lanes v;                                                                                   \
        if (is_float(c)) return float_lanes(w, c, mask, op);                                       \
        if (c->field[FIELD_SATURATE]) return saturate_lanes(w, c, mask, op == FLOAT_SUB);          \
        if (is_pair(c)) return add_pairs(w, c, mask);                                              \
        if (c->field[FIELD_CARRY]) return carry_lanes(w, c, mask, false, op == FLOAT_SUB);         \
        take_lanes(&v, w, c);                                                                      \
        switch (ptx_type[c->type[0]].bits) {                                                       \
        case 16: EACH_LANE(mask, l) v.d[l] = (uint16_t)(v.a[l] operator v.b[l]); break;            \
        case 32: EACH_LANE(mask, l) v.d[l] = (uint32_t)(v.a[l] operator v.b[l]); break;            \
        default: EACH_LANE(mask, l) v.d[l] = v.a[l] operator v.b[l];                               \
        }                                                                                          \
        return OUTCOME_NEXT;                                                                       \
    }
ADDITIVE(exec_add, +, FLOAT_ADD)
ADDITIVE(exec_sub, -, FLOAT_SUB)

/* The part of x * y that the instruction names, + z. */
static uint64_t multiply(const PtxCode *c, uint64_t x, uint64_t y, uint64_t z) {
    unsigned bits = ptx_type[c->type[0]].bits;
    bool s = is_signed(c);
    int64_t a = extend(x, bits, s), b = extend(y, bits, s);
    __int128 product =
        s ? (__int128)a * b : (__int128)((unsigned __int128)(uint64_t)a * (uint64_t)b);
    switch (c->field[FIELD_PART]) {
    case WORD_PART_HI: return low_bits((uint64_t)(product >> bits) + z, bits);
    case WORD_PART_WIDE: return low_bits((uint64_t)product + z, 2 * bits);
    default: return low_bits((uint64_t)product + z, bits);
    }
}

/* .lo, .hi or .wide; there is nothing twice as wide as 64 bits. */
static bool has_part(const PtxCode *c) {
    unsigned part = c->field[FIELD_PART];
    return part && (part != WORD_PART_WIDE || ptx_type[c->type[0]].bits < 64);
}

PtxOutcome exec_mul(Warp *w, const PtxCode *c, uint32_t mask) {
    Lanes v;
    if (is_float(c)) return float_lanes(w, c, mask, FLOAT_MUL);
    if (!has_part(c)) return not_known(w, c, mask);
    take_lanes(&v, w, c);
    EACH_LANE(mask, l) v.d[l] = multiply(c, v.a[l], v.b[l], 0);
    return OUTCOME_NEXT;
}

PtxOutcome exec_mad(Warp *w, const PtxCode *c, uint32_t mask) {
    Lanes v;
    if (is_float(c)) return float_lanes(w, c, mask, FLOAT_FMA);
    if (c->field[FIELD_SATURATE] || !has_part(c)) return not_known(w, c, mask);
    take_lanes(&v, w, c);
    bool carries = c->field[FIELD_CARRY] != 0;
    EACH_LANE(mask, l)
    v.d[l] = carries ? carried(w, c, l, multiply(c, v.a[l], v.b[l], 0), v.c[l], false, false)
                     : multiply(c, v.a[l], v.b[l], v.c[l]);
    return OUTCOME_NEXT;
}

PtxOutcome exec_madc(Warp *w, const PtxCode *c, uint32_t mask) {
    Lanes v;
    take_lanes(&v, w, c);
    EACH_LANE(mask, l)
    v.d[l] = carried(w, c, l, multiply(c, v.a[l], v.b[l], 0), v.c[l], true, false);
    return OUTCOME_NEXT;
}

/* The low or the high 32 of the 48 bits of a product of 24 bits each, + z. */
static uint64_t multiply_24(const PtxCode *c, uint64_t x, uint64_t y, uint64_t z) {
    enum { FACTOR = 24, HIGH = 16 };
    bool s = is_signed(c);
    uint64_t product = (uint64_t)extend(x, FACTOR, s) * (uint64_t)extend(y, FACTOR, s);
    return (uint32_t)((c->field[FIELD_PART] == WORD_PART_HI ? product >> HIGH : product) + z);
}

PtxOutcome exec_mul24(Warp *w, const PtxCode *c, uint32_t mask) {
    Lanes v;
    take_lanes(&v, w, c);
    EACH_LANE(mask, l) v.d[l] = multiply_24(c, v.a[l], v.b[l], 0);
    return OUTCOME_NEXT;
}

PtxOutcome exec_mad24(Warp *w, const PtxCode *c, uint32_t mask) {
    Lanes v;
    if (c->field[FIELD_SATURATE]) return not_known(w, c, mask);
    take_lanes(&v, w, c);
    EACH_LANE(mask, l) v.d[l] = multiply_24(c, v.a[l], v.b[l], v.c[l]);
    return OUTCOME_NEXT;
}

/* Products of n parts of two words, the first of x `wide` bits each, + z. */
static PtxOutcome dot_lanes(Warp *w, const PtxCode *c, uint32_t mask, unsigned n) {
    Lanes v;
    take_lanes(&v, w, c);
    bool sx = is_signed(c), sy = ptx_type[c->type[1]].class == 'S';
    unsigned wide = 32 / n, from = n == 2 && c->field[FIELD_PART] == WORD_PART_HI ? 2 * BYTE : 0;
    EACH_LANE(mask, l) {
        uint64_t r = v.c[l];
        for (unsigned i = 0; i < n; i++)
            r += (uint64_t)extend(v.a[l] >> (wide * i), wide, sx) *
                 (uint64_t)extend(v.b[l] >> (from + BYTE * i), BYTE, sy);
        v.d[l] = (uint32_t)r;
    }
    return OUTCOME_NEXT;
}

PtxOutcome exec_dp4a(Warp *w, const PtxCode *c, uint32_t mask) {
    return dot_lanes(w, c, mask, 4);
}

PtxOutcome exec_dp2a(Warp *w, const PtxCode *c, uint32_t mask) {
    return dot_lanes(w, c, mask, 2);
}

/* A quotient by 0 is all ones on the hardware, a remainder the dividend; the ISA leaves both open.
 */
static void divide(int64_t x, int64_t y, bool is_signed, uint64_t *quotient, uint64_t *rest) {
    uint64_t ux = (uint64_t)x, uy = (uint64_t)y;
    *quotient = !y ? UINT64_MAX : !is_signed ? ux / uy : y == -1 ? 0 - ux : (uint64_t)(x / y);
    *rest = !y ? ux : !is_signed ? ux % uy : y == -1 ? 0 : (uint64_t)(x % y);
}

static void divide_lanes(Warp *w, const PtxCode *c, uint32_t mask, bool rest) {
    Lanes v;
    take_lanes(&v, w, c);
    unsigned bits = ptx_type[c->type[0]].bits;
    bool s = is_signed(c);
    EACH_LANE(mask, l) {
        uint64_t both[2];
        divide(extend(v.a[l], bits, s), extend(v.b[l], bits, s), s, &both[0], &both[1]);
        v.d[l] = low_bits(both[rest], bits);
    }
}

PtxOutcome exec_div(Warp *w, const PtxCode *c, uint32_t mask) {
    if (is_float(c)) return float_lanes(w, c, mask, FLOAT_DIV);
    divide_lanes(w, c, mask, false);
    return OUTCOME_NEXT;
}

PtxOutcome exec_rem(Warp *w, const PtxCode *c, uint32_t mask) {
    divide_lanes(w, c, mask, true);
    return OUTCOME_NEXT;
}

/* ---- the larger, the smaller, without a sign ---- */

static uint64_t chosen(const PtxCode *c, uint64_t a, uint64_t b, unsigned bits, bool larger) {
    bool s = is_signed(c);
    int64_t x = extend(a, bits, s), y = extend(b, bits, s);
    bool less = s ? x < y : (uint64_t)x < (uint64_t)y;
    int64_t r = less == larger ? y : x;
    return c->field[FIELD_RELU] && r < 0 ? 0 : low_bits((uint64_t)r, bits);
}

/* .relu is of s32 and s16x2 alone. */
static PtxOutcome choose_lanes(Warp *w, const PtxCode *c, uint32_t mask, bool larger) {
    Lanes v;
    if (c->field[FIELD_RELU] && c->type[0] != PT_S32 && c->type[0] != PT_S16X2)
        return not_known(w, c, mask);
    take_lanes(&v, w, c);
    unsigned bits = is_pair(c) ? 16 : ptx_type[c->type[0]].bits;
    EACH_LANE(mask, l) {
        uint64_t r = chosen(c, v.a[l], v.b[l], bits, larger);
        v.d[l] =
            is_pair(c) ? pair_of(r, chosen(c, v.a[l] >> bits, v.b[l] >> bits, bits, larger)) : r;
    }
    return OUTCOME_NEXT;
}

/* .xorsign and .abs come together, of floats but those of 64 bits. */
static PtxOutcome choose(Warp *w, const PtxCode *c, uint32_t mask, bool larger) {
    bool sign = c->field[FIELD_XORSIGN], magnitude = c->field[FIELD_MAGNITUDE];
    if (sign != magnitude || (sign && (!is_float(c) || c->type[0] == PT_F64)))
        return not_known(w, c, mask);
    if (is_float(c)) return float_lanes(w, c, mask, larger ? FLOAT_MAX : FLOAT_MIN);
    return choose_lanes(w, c, mask, larger);
}

PtxOutcome exec_min(Warp *w, const PtxCode *c, uint32_t mask) {
    return choose(w, c, mask, false);
}

PtxOutcome exec_max(Warp *w, const PtxCode *c, uint32_t mask) {
    return choose(w, c, mask, true);
}

PtxOutcome exec_abs(Warp *w, const PtxCode *c, uint32_t mask) {
    Lanes v;
    if (is_float(c)) return float_lanes(w, c, mask, FLOAT_ABS);
    take_lanes(&v, w, c);
    unsigned bits = ptx_type[c->type[0]].bits;
    EACH_LANE(mask, l) {
        int64_t x = extend(v.a[l], bits, true);
        v.d[l] = low_bits(x < 0 ? 0 - (uint64_t)x : (uint64_t)x, bits);
    }
    return OUTCOME_NEXT;
}

/* The distance of two, + a third. */
PtxOutcome exec_sad(Warp *w, const PtxCode *c, uint32_t mask) {
    Lanes v;
    take_lanes(&v, w, c);
    unsigned bits = ptx_type[c->type[0]].bits;
    bool s = is_signed(c);
    EACH_LANE(mask, l) {
        int64_t x = extend(v.a[l], bits, s), y = extend(v.b[l], bits, s);
        bool less = s ? x < y : (uint64_t)x < (uint64_t)y;
        uint64_t apart = less ? (uint64_t)y - (uint64_t)x : (uint64_t)x - (uint64_t)y;
        v.d[l] = low_bits(apart + v.c[l], bits);
    }
    return OUTCOME_NEXT;
}

PtxOutcome exec_neg(Warp *w, const PtxCode *c, uint32_t mask) {
    Lanes v;
    if (is_float(c)) return float_lanes(w, c, mask, FLOAT_NEG);
    take_lanes(&v, w, c);
    EACH_LANE(mask, l) v.d[l] = low_bits(0 - v.a[l], ptx_type[c->type[0]].bits);
    return OUTCOME_NEXT;
}

/* ---- bits ---- */

static uint64_t shift_right(const PtxCode *c, uint64_t x, uint32_t by, unsigned bits) {
    int64_t v = extend(x, bits, is_signed(c));
    if (is_signed(c)) return (uint64_t)(v >> (by < 63 ? by : 63));
    return by >= bits ? 0 : (uint64_t)v >> by;
}

static uint64_t reversed(uint64_t x, unsigned bits) {
    uint64_t r = 0;
    for (unsigned i = 0; i < bits; i++) r |= (x >> i & 1) << (bits - 1 - i);
    return r;
}

/* So many bits from a position on; of a signed one the last there is goes on. */
static uint64_t field_of(const PtxCode *c, uint64_t x, uint64_t from, uint64_t n, unsigned bits) {
    if (!n) return 0;
    uint64_t top = from + n - 1 < bits - 1 ? from + n - 1 : bits - 1;
    uint64_t sign = is_signed(c) ? x >> top & 1 : 0, r = 0;
    for (unsigned i = 0; i < bits; i++)
        r |= (i < n && from + i < bits ? x >> (from + i) & 1 : sign) << i;
    return r;
}

/* Each of four bytes is one of eight, or its sign. In a mode the selector is one of the mode's
 * four. */
static uint64_t permuted(const PtxCode *c, uint32_t x, uint32_t y, uint32_t selector) {
    static const uint16_t of_mode[][4] = {
        [WORD_PERMUTE_F4E - WORD_PERMUTE_F4E] = {0x3210, 0x4321, 0x5432, 0x6543},
        [WORD_PERMUTE_B4E - WORD_PERMUTE_F4E] = {0x5670, 0x6701, 0x7012, 0x0123},
        [WORD_PERMUTE_RC8 - WORD_PERMUTE_F4E] = {0x0000, 0x1111, 0x2222, 0x3333},
        [WORD_PERMUTE_ECL - WORD_PERMUTE_F4E] = {0x3210, 0x3211, 0x3222, 0x3333},
        [WORD_PERMUTE_ECR - WORD_PERMUTE_F4E] = {0x0000, 0x1110, 0x2210, 0x3210},
        [WORD_PERMUTE_RC16 - WORD_PERMUTE_F4E] = {0x1010, 0x3232, 0x1010, 0x3232}};
    unsigned mode = c->field[FIELD_PERMUTE];
    if (mode) selector = of_mode[mode - WORD_PERMUTE_F4E][selector & 3];
    uint64_t from = (uint64_t)y << 32 | x, r = 0;
    for (unsigned i = 0; i < 4; i++) {
        uint32_t s = selector >> (4 * i) & 15;
        uint64_t byte = from >> (BYTE * (s & 7)) & 255;
        if (s & 8) byte = byte & 128 ? 255 : 0;
        r |= byte << (BYTE * i);
    }
    return r;
}

#define BITWISE(name, EXPRESSION)                                                                  \
    PtxOutcome name(Warp *w, const PtxCode *c, uint32_t mask) {                                    \
        Lanes v;                                                                                   \
        take_lanes(&v, w, c);                                                                      \
        unsigned bits = ptx_type[c->type[0]].bits;                                                 \
        EACH_LANE(mask, l) {                                                                       \
            uint64_t x = v.a[l], y = v.b[l], z = v.c[l];                                           \
            (void)y, (void)z;                                                                      \
            v.d[l] = low_bits(EXPRESSION, bits);                                                   \
        }                                                                                          \
        return OUTCOME_NEXT;                                                                       \
    }
BITWISE(exec_and, x &y)
BITWISE(exec_or, x | y)
BITWISE(exec_xor, x ^ y)
BITWISE(exec_not, ~x)
BITWISE(exec_cnot, low_bits(x, bits) == 0)
/* Shifts by more than the width leave nothing, or the sign. */
BITWISE(exec_shl, (uint32_t)y >= bits ? 0 : x << (uint32_t)y)
BITWISE(exec_shr, shift_right(c, x, (uint32_t)y, bits))
BITWISE(exec_popc, (uint64_t)__builtin_popcountll(low_bits(x, bits)))
BITWISE(exec_clz,
        low_bits(x, bits) ? (uint64_t)__builtin_clzll(low_bits(x, bits)) - (64 - bits) : bits)
BITWISE(exec_brev, reversed(x, bits))
BITWISE(exec_bfe, field_of(c, x, y & 255, z & 255, bits))
BITWISE(exec_prmt, permuted(c, (uint32_t)x, (uint32_t)y, (uint32_t)z))

PtxOutcome exec_bfi(Warp *w, const PtxCode *c, uint32_t mask) {
    uint64_t room[4][WARP];
    const uint64_t *x[4];
    unsigned bits = ptx_type[c->type[0]].bits;
    for (int i = 0; i < 4; i++) x[i] = lanes_of(w, &c->operand[1 + i], room[i]);
    EACH_LANE(mask, l) {
        uint64_t from = x[2][l] & 255, n = x[3][l] & 255, r = low_bits(x[1][l], bits);
        for (uint64_t i = 0; i < n && from + i < bits; i++)
            r = (r & ~(UINT64_C(1) << (from + i))) | (x[0][l] >> i & 1) << (from + i);
        w->reg[c->operand[0].reg][l] = r;
    }
    return OUTCOME_NEXT;
}

PtxOutcome exec_bfind(Warp *w, const PtxCode *c, uint32_t mask) {
    Lanes v;
    take_lanes(&v, w, c);
    unsigned bits = ptx_type[c->type[0]].bits;
    EACH_LANE(mask, l) {
        int64_t x = extend(v.a[l], bits, is_signed(c));
        uint64_t of = low_bits((uint64_t)(is_signed(c) && x < 0 ? ~x : x), bits);
        uint32_t at = of ? 63 - (uint32_t)__builtin_clzll(of) : UINT32_MAX;
        v.d[l] = of && c->field[FIELD_SHIFT] ? bits - 1 - at : at;
    }
    return OUTCOME_NEXT;
}

PtxOutcome exec_lop3(Warp *w, const PtxCode *c, uint32_t mask) {
    Lanes v;
    if (c->field[FIELD_OP]) return not_known(w, c, mask);
    take_lanes(&v, w, c);
    uint64_t table = (uint64_t)c->operand[4].value;
    EACH_LANE(mask, l) {
        uint64_t r = 0;
        for (unsigned i = 0; i < 32; i++) {
            uint64_t at = (v.a[l] >> i & 1) << 2 | (v.b[l] >> i & 1) << 1 | (v.c[l] >> i & 1);
            r |= (table >> at & 1) << i;
        }
        v.d[l] = r;
    }
    return OUTCOME_NEXT;
}

/* shf.l, shf.r: two words shifted as one, which the first two operands are, low and high. */
PtxOutcome exec_shf(Warp *w, const PtxCode *c, uint32_t mask) {
    Lanes v;
    take_lanes(&v, w, c);
    bool left = ptx_begins((PtxWord){c->inst->op.text + 4, c->inst->op.len - 4}, "l");
    bool wraps = c->field[FIELD_MODE] == WORD_MODE_WRAP;
    EACH_LANE(mask, l) {
        uint64_t both = v.b[l] << 32 | (uint32_t)v.a[l];
        uint32_t n = (uint32_t)v.c[l];
        n = wraps ? n & 31 : n < 32 ? n : 32;
        v.d[l] = (uint32_t)(left ? both << n >> 32 : both >> n);
    }
    return OUTCOME_NEXT;
}

/* ---- what is known ---- */

/* The results of bitwise instructions for the eight values of three bits; 0: it is none. */
static unsigned truth_table(const PtxCode *c) {
    return c->exec == exec_and    ? 0xC0
           : c->exec == exec_or   ? 0xFC
           : c->exec == exec_xor  ? 0x3C
           : c->exec == exec_not  ? 0x0F
           : c->exec == exec_lop3 ? (unsigned)c->operand[4].value & 255
                                  : 0;
}

/* Is the result the same for every value of the bits that are not known? */
static uint64_t bitwise_known(unsigned table, const uint64_t *value, const uint64_t *have) {
    uint64_t known = 0;
    for (unsigned bit = 0; bit < 64; bit++) {
        unsigned open = 0, at = 0, seen = 0;
        for (unsigned i = 0; i < 3; i++) {
            at = at << 1 | (unsigned)(value[i] >> bit & 1);
            open = open << 1 | (unsigned)(~have[i] >> bit & 1);
        }
        for (unsigned k = 0; k < 8; k++)
            if (!((k ^ at) & ~open & 7)) seen |= 1u << (table >> k & 1);
        known |= (uint64_t)(seen != 3) << bit;
    }
    return known;
}

/* Of x shifted: what comes in is a zero, or what the top bit is. */
static uint64_t shifted_known(const PtxCode *c, uint64_t have, uint64_t by) {
    unsigned bits = ptx_type[c->type[0]].bits;
    if (by >= bits) return c->exec == exec_shr && is_signed(c) ? 0 : UINT64_MAX;
    if (c->exec == exec_shl) return have << by | ((UINT64_C(1) << by) - 1);
    uint64_t top = is_signed(c) ? low_bits(have, bits) >> (bits - 1) : 1;
    return low_bits(have, bits) >> by | (top ? ~low_bits(UINT64_MAX, bits - (unsigned)by) : 0);
}

/* Do the low bits of the result come from none but the low bits of the operands? */
static bool is_of_low_bits(const PtxCode *c) {
    if (is_float(c) || c->field[FIELD_SATURATE]) return false;
    bool product = c->exec == exec_mul || c->exec == exec_mad;
    return c->exec == exec_add || c->exec == exec_sub ||
           (product && c->field[FIELD_PART] != WORD_PART_HI) ||
           (c->exec == exec_cvt && ptx_type[c->type[1]].class != 'F');
}

static bool is_pair_of_floats(PtxType t) {
    return t == PT_F16X2 || t == PT_BF16X2 || t == PT_E4M3X2 || t == PT_E5M2X2;
}

/* A pair is converted of two numbers, the first for its upper half, or half by half of another. */
static uint64_t halves_known(const PtxCode *c, const uint64_t *have) {
    unsigned to = ptx_type[c->type[0]].bits / 2u, from = ptx_type[c->type[1]].bits;
    bool two = c->noperands > 2;
    if (!two) from /= 2;
    bool high = !low_bits(~(two ? have[0] : have[0] >> from), from);
    bool low = !low_bits(~have[two], from);
    return low_bits(low ? UINT64_MAX : 0, to) | (high ? UINT64_MAX << to : 0);
}

/* Of a field put into a word, whose place and width must be known: the field's bits and the word's.
 */
static uint64_t inserted_known(const Warp *w, const PtxCode *c, int lane) {
    for (int i = 3; i <= 4; i++) {
        const PtxOperand *o = &c->operand[i];
        bool overwritten = o->kind == OPERAND_REGISTER && o->reg == c->operand[0].reg;
        if (overwritten || (uint32_t)~bits_known(w, o, lane)) return 0;
    }
    uint64_t from = lane_of(w, &c->operand[3], lane) & 255, n = lane_of(w, &c->operand[4], lane);
    uint64_t field = low_bits(UINT64_MAX, (n & 255) < 64 ? (unsigned)(n & 255) : 64);
    if (from >= 64) return bits_known(w, &c->operand[2], lane);
    return (bits_known(w, &c->operand[2], lane) & ~(field << from)) |
           (bits_known(w, &c->operand[1], lane) & field) << from;
}

uint64_t result_known(const Warp *w, const PtxCode *c, int lane) {
    enum { HALF = 0xFFFF };
    uint64_t value[3] = {0}, have[3] = {UINT64_MAX, UINT64_MAX, UINT64_MAX};
    bool overwritten = false; /* the result may lie where an operand was, whose value is gone */
    for (int i = 0; i < 3 && i + 1 < c->noperands; i++) {
        const PtxOperand *o = &c->operand[i + 1];
        value[i] = lane_of(w, o, lane);
        have[i] = bits_known(w, o, lane);
        overwritten |= o->kind == OPERAND_REGISTER && o->reg == c->operand[0].reg;
    }
    uint64_t all = have[0] & have[1] & have[2];
    unsigned table = truth_table(c);
    if (table) return overwritten ? all : bitwise_known(table, value, have);
    if (c->exec == exec_bfi) return inserted_known(w, c, lane);
    if (c->exec == exec_prmt)
        return overwritten || (uint32_t)~have[2]
                   ? 0
                   : permuted(c, (uint32_t)have[0], (uint32_t)have[1], (uint32_t)value[2]);
    if (c->exec == exec_shl || c->exec == exec_shr)
        return (uint32_t)~have[1] ? 0 : shifted_known(c, have[0], (uint32_t)value[1]);
    if (c->ntypes == 1 && (c->type[0] == PT_F16X2 || c->type[0] == PT_BF16X2))
        return ((all & HALF) == HALF ? (uint64_t)HALF : 0) |
               ((all >> 16 & HALF) == HALF ? (uint64_t)HALF << 16 : 0);
    if (c->exec == exec_cvt && is_pair_of_floats((PtxType)c->type[0])) return halves_known(c, have);
    if (!is_of_low_bits(c)) return 0;
    if (c->exec == exec_cvt && !low_bits(~all, ptx_type[c->type[1]].bits)) return UINT64_MAX;
    /* Up to the first that is not: a carry goes no further down. */
    return all & ~(all + 1);
}
