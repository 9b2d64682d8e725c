/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* matrix.c: matrix instructions of a warp and of a warpgroup: ldmatrix, stmatrix, movmatrix,
 * mma.sync, wgmma (PTX ISA, "Warp Level Matrix Multiply-Accumulate Instructions", "Asynchronous
 * Warpgroup Level Matrix Instructions").
 *
 * A register of a factor's fragment holds neighbours along K: lane l has, in register r, row l / 4
 * and so many elements from l % 4 on; the next registers are 8 rows, then 4 lanes' elements,
 * further on. */
#include "ptx/machine/async.h"
#include "ptx/machine/floats.h"
#include "ptx/machine/lanes.h"
#include "ptx/machine/race.h"

enum { ROWS = 8, QUAD = 4, MOST_K = 32, MOST_N = 256, MOST_M = 16 };

/* ---- 8x8 matrices of shared memory ---- */

static int matrices(const PtxCode *c) {
    return c->field[FIELD_COUNT] == WORD_COUNT_FOUR  ? 4
           : c->field[FIELD_COUNT] == WORD_COUNT_TWO ? 2
                                                     : 1;
}

static const PtxOperand *register_of(const Warp *w, const PtxOperand *o, int i) {
    return o->kind == OPERAND_VECTOR ? element_of(w, o, i) : o;
}

/* Lanes 8i to 8i + 7 have the addresses of matrix i's rows. */
static bool find_rows(Warp *w, const PtxCode *c, const PtxOperand *o, AccessKind kind,
                      uint8_t (*value)[2 * ROWS], uint32_t mask, Access *a) {
    enum { ROW_BYTES = 16 };
    int n = matrices(c);
    if (mask != ALL_LANES) {
        machine_fail(w, c, __builtin_ctz(mask), C_CONVERGENCE,
                     "not all threads of the warp are here");
        return false;
    }
    *a = (Access){.kind = kind, .space = space_of(c), .bytes = ROW_BYTES, .align = ROW_BYTES};
    for (int l = 0; value && l < WARP; l++) a->value[l] = value[l];
    a->mask = n == 4 ? ALL_LANES : (UINT32_C(1) << (n * ROWS)) - 1;
    return access_addresses(w, c, o, a) && access_shared(w, c, a) && access_find(w, c, a);
}

PtxOutcome exec_ldmatrix(Warp *w, const PtxCode *c, uint32_t mask) {
    Access a;
    bool trans = c->field[FIELD_TRANS] != 0;
    if (c->field[FIELD_SHAPE] != WORD_SHAPE_M8N8 || c->type[0] != PT_B16)
        return not_known(w, c, mask);
    if (!find_rows(w, c, &c->operand[1], ACCESS_READ, NULL, mask, &a)) return OUTCOME_FAIL;
    access_count(w, c, &a);
    for (int i = 0; i < matrices(c); i++) {
        const PtxOperand *to = register_of(w, &c->operand[0], i);
        uint32_t known = 0;
        for (int l = 0; l < WARP; l++) {
            uint16_t pair[2];
            bool is_known = true;
            for (int k = 0; k < 2; k++) {
                int row = trans ? 2 * (l % QUAD) + k : l / QUAD;
                int column = trans ? l / QUAD : 2 * (l % QUAD) + k, from = i * ROWS + row;
                memcpy(&pair[k], a.data[from] + 2 * column, 2);
                const uint8_t *has = a.known[from] + 2 * column;
                is_known &= has[0] && has[1];
            }
            w->reg[to->reg][l] = pair[0] | (uint64_t)pair[1] << 16;
            known |= (uint32_t)is_known << l;
        }
        set_known(w, to->reg, ALL_LANES, known);
    }
    return OUTCOME_NEXT;
}

PtxOutcome exec_stmatrix(Warp *w, const PtxCode *c, uint32_t mask) {
    Access a;
    bool trans = c->field[FIELD_TRANS] != 0;
    if (c->field[FIELD_SHAPE] != WORD_SHAPE_M8N8 || c->type[0] != PT_B16)
        return not_known(w, c, mask);
    uint8_t value[WARP][2 * ROWS], known[WARP][2 * ROWS];
    for (int i = 0; i < matrices(c); i++) {
        const PtxOperand *from = register_of(w, &c->operand[1], i);
        uint32_t has = known_of(w, from);
        for (int l = 0; l < WARP; l++) {
            uint64_t v = lane_of(w, from, l);
            for (int k = 0; k < 2; k++) {
                int row = trans ? 2 * (l % QUAD) + k : l / QUAD;
                int column = trans ? l / QUAD : 2 * (l % QUAD) + k, to = i * ROWS + row;
                uint16_t half = (uint16_t)(v >> (16 * k));
                memcpy(&value[to][2 * column], &half, 2);
                memset(&known[to][2 * column], has >> l & 1, 2);
            }
        }
    }
    if (!find_rows(w, c, &c->operand[0], ACCESS_WRITE, value, mask, &a)) return OUTCOME_FAIL;
    access_count(w, c, &a);
    EACH_LANE(a.mask, l) {
        memcpy(a.data[l], value[l], sizeof value[l]);
        memcpy(a.known[l], known[l], sizeof known[l]);
    }
    w->cta->m->changes++;
    return OUTCOME_NEXT;
}

PtxOutcome exec_movmatrix(Warp *w, const PtxCode *c, uint32_t mask) {
    uint64_t room[WARP], out[WARP];
    if (mask != ALL_LANES)
        return machine_fail(w, c, __builtin_ctz(mask), C_CONVERGENCE,
                            "not all threads of the warp are here");
    const uint64_t *v = lanes_of(w, &c->operand[1], room);
    for (int l = 0; l < WARP; l++) {
        out[l] = 0;
        for (int k = 0; k < 2; k++) {
            int row = 2 * (l % QUAD) + k, column = l / QUAD, from = row * QUAD + column / 2;
            out[l] |= (v[from] >> (16 * (column % 2)) & 0xFFFF) << (16 * k);
        }
    }
    uint32_t known = known_of(w, &c->operand[1]) == ALL_LANES ? ALL_LANES : 0;
    memcpy(w->reg[c->operand[0].reg], out, sizeof out);
    set_known(w, c->operand[0].reg, ALL_LANES, known);
    return OUTCOME_NEXT;
}

/* ---- products ---- */

typedef struct Product Product;
struct Product { /* of a warp: m rows of a, n columns of b */
    const PtxCode *c;
    PtxType d, a, b;
    int m, n, k;
    union {
        double f;
        int64_t i;
    } x[MOST_M][MOST_K], y[MOST_K][MOST_N], sum[MOST_M][MOST_N];
    bool is_float;
};

/* Bits of a factor's element as the hardware takes them. */
static double float_factor(PtxType t, uint64_t bits) {
    enum { IGNORED = 13 };
    if (t == PT_TF32) bits = bits >> IGNORED << IGNORED;
    return float_value(t, bits);
}

static int64_t int_factor(PtxType t, uint64_t bits) {
    return t == PT_S8 ? (int8_t)bits : (uint8_t)bits;
}

static unsigned bits_of(PtxType t) {
    return ptx_type[t].bits;
}

/* The fragment of a in registers: rows and columns from 0. */
static void take_a(Product *p, const Warp *w, const PtxOperand *o) {
    unsigned bits = bits_of(p->a), wide = bits > 32 ? bits : 32, each = wide / bits;
    int halves = p->m / ROWS;
    for (int r = 0; r < (o->kind == OPERAND_VECTOR ? o->n : 1); r++)
        for (int l = 0; l < WARP; l++) {
            uint64_t v = lane_of(w, register_of(w, o, r), l);
            for (unsigned e = 0; e < each; e++) {
                int row = l / QUAD + ROWS * (r % halves);
                int k = (int)each * (l % QUAD) + (int)e + QUAD * (int)each * (r / halves);
                if (p->is_float)
                    p->x[row][k].f = float_factor(p->a, v >> (bits * e));
                else
                    p->x[row][k].i = int_factor(p->a, v >> (bits * e));
            }
        }
}

static void take_b(Product *p, const Warp *w, const PtxOperand *o) {
    unsigned bits = bits_of(p->b), wide = bits > 32 ? bits : 32, each = wide / bits;
    for (int r = 0; r < (o->kind == OPERAND_VECTOR ? o->n : 1); r++)
        for (int l = 0; l < WARP; l++) {
            uint64_t v = lane_of(w, register_of(w, o, r), l);
            for (unsigned e = 0; e < each; e++) {
                int k = (int)each * (l % QUAD) + (int)e + QUAD * (int)each * r;
                if (p->is_float)
                    p->y[k][l / QUAD].f = float_factor(p->b, v >> (bits * e));
                else
                    p->y[k][l / QUAD].i = int_factor(p->b, v >> (bits * e));
            }
        }
}

/* Where the sum's fragment has what: of lane l, in register r, element e. */
typedef struct Place {
    int row, column;
} Place;

static Place place_of(PtxType t, int l, int r, int e) {
    int i = t == PT_F16 ? 2 * r + e : r; /* two to a register */
    return (Place){l / QUAD + ROWS * (i / 2 % 2), 2 * (l % QUAD) + i % 2 + ROWS * (i / 4)};
}

static void take_sum(Product *p, const Warp *w, const PtxOperand *o, PtxType t) {
    for (int r = 0; r < o->n; r++)
        for (int l = 0; l < WARP; l++) {
            uint64_t v = lane_of(w, element_of(w, o, r), l);
            for (int e = 0; e < (t == PT_F16 ? 2 : 1); e++) {
                Place at = place_of(t, l, r, e);
                if (p->is_float)
                    p->sum[at.row][at.column].f = float_value(t, v >> (16 * e));
                else
                    p->sum[at.row][at.column].i = (int32_t)v;
            }
        }
}

static uint64_t rounded_sum(const Product *p, Place at) {
    enum { MOST = 0x7FFFFFFF };
    if (!p->is_float) {
        int64_t v = p->sum[at.row][at.column].i;
        if (p->c->field[FIELD_SATURATE])
            v = v > MOST ? MOST : v < -(int64_t)MOST - 1 ? -(int64_t)MOST - 1 : v;
        return (uint32_t)v;
    }
    double v = p->sum[at.row][at.column].f;
    if (p->d == PT_F64) return of_f64(v);
    return p->d == PT_F32 ? of_f32((float)v) : elem_round(EL_F16, v, ROUND_NEAREST);
}

static void give_sum(const Product *p, Warp *w, const PtxOperand *o, uint32_t known) {
    for (int r = 0; r < o->n; r++) {
        const PtxOperand *to = element_of(w, o, r);
        if (to->kind != OPERAND_REGISTER) continue;
        for (int l = 0; l < WARP; l++) {
            uint64_t v = 0;
            for (int e = 0; e < (p->d == PT_F16 ? 2 : 1); e++)
                v |= rounded_sum(p, place_of(p->d, l, r, e)) << (16 * e);
            w->reg[to->reg][l] = v;
        }
        set_known(w, to->reg, ALL_LANES, known);
    }
}

/* Products are exact; their sum is as of doubles: nearer the truth than the tensor cores', which
 * cut off what lies below the largest of them. */
static void multiply(Product *p) {
    for (int i = 0; i < p->m; i++)
        for (int k = 0; k < p->k; k++)
            for (int j = 0; j < p->n; j++)
                if (!p->is_float)
                    p->sum[i][j].i += p->x[i][k].i * p->y[k][j].i;
                else if (p->d == PT_F64)
                    p->sum[i][j].f = fma(p->x[i][k].f, p->y[k][j].f, p->sum[i][j].f);
                else
                    p->sum[i][j].f += p->x[i][k].f * p->y[k][j].f;
}

static Product *new_product(Warp *w, const PtxCode *c) {
    Machine *m = w->cta->m;
    if (!m->product) m->product = arena_alloc(m->arena, sizeof *m->product);
    Product *p = m->product;
    p->c = c;
    p->d = (PtxType)c->type[0];
    p->a = (PtxType)c->type[1];
    p->b = (PtxType)c->type[2];
    p->m = c->m;
    p->n = c->n;
    p->k = c->k;
    p->is_float = ptx_type[p->d].class == 'F';
    return p;
}

static int registers_of(const PtxOperand *o) {
    return o->kind == OPERAND_VECTOR ? o->n : 1;
}

/* Fragments are of as many registers as their elements take. */
static bool is_whole(int rows, int columns, PtxType t, const PtxOperand *o) {
    int wide = bits_of(t) > 32 ? 64 : 32;
    return registers_of(o) * WARP * wide == rows * columns * (int)bits_of(t);
}

#define T(id) (UINT64_C(1) << PT_##id)
#define K(k) (UINT64_C(1) << (k))

typedef struct Form { /* products that there are: both factors are of a set of types */
    uint64_t factors, sums, k;
    uint8_t m;
} Form;

/* PTX ISA, "mma", "wgmma.mma_async": shapes by type. */
static const Form forms[] = {
    {T(F16), T(F16) | T(F32), K(8) | K(16), 16},
    {T(BF16), T(F32), K(8) | K(16), 16},
    {T(TF32), T(F32), K(4) | K(8), 16},
    {T(E4M3) | T(E5M2), T(F16) | T(F32), K(16) | K(32), 16},
    {T(S8) | T(U8), T(S32), K(16) | K(32), 16},
    {T(S8) | T(U8), T(S32), K(16), 8},
    {T(F64), T(F64), K(4) | K(8) | K(16), 16},
    {T(F64), T(F64), K(4), 8},
    {T(F16), T(F16) | T(F32), K(16), 64},
    {T(BF16), T(F32), K(16), 64},
    {T(TF32), T(F32), K(8), 64},
    {T(E4M3) | T(E5M2), T(F16) | T(F32), K(32), 64},
    {T(S8) | T(U8), T(S32), K(32), 64},
};

static bool has_form(const PtxCode *c) {
    uint64_t d = UINT64_C(1) << c->type[0];
    uint64_t factors = UINT64_C(1) << c->type[1] | UINT64_C(1) << c->type[2];
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if ((forms[i].sums & d) && !(factors & ~forms[i].factors) && forms[i].m == c->m &&
            c->k < 64 && (forms[i].k >> c->k & 1))
            return true;
    return false;
}

static bool is_whole_sum(int rows, int columns, PtxType t, const PtxOperand *o) {
    return registers_of(o) * WARP * (t == PT_F16 ? 2 : 1) == rows * columns;
}

PtxOutcome exec_mma(Warp *w, const PtxCode *c, uint32_t mask) {
    const PtxOperand *o = c->operand;
    if (mask != ALL_LANES)
        return machine_fail(w, c, __builtin_ctz(mask), C_CONVERGENCE,
                            "not all threads of the warp are here");
    if (!has_form(c) || c->m == 64 || c->n != 8 || c->type[3] != c->type[0] || c->field[FIELD_OP])
        return not_known(w, c, mask);
    Product *p = new_product(w, c);
    if (!is_whole(c->m, c->k, p->a, &o[1]) || !is_whole(c->k, c->n, p->b, &o[2]) ||
        !is_whole_sum(c->m, c->n, p->d, &o[0]) || !is_whole_sum(c->m, c->n, p->d, &o[3]))
        return not_known(w, c, mask);
    uint32_t known = known_of(w, &o[1]) & known_of(w, &o[2]) & known_of(w, &o[3]);
    take_a(p, w, &o[1]);
    take_b(p, w, &o[2]);
    take_sum(p, w, &o[3], (PtxType)c->type[3]);
    multiply(p);
    give_sum(p, w, &o[0], known == ALL_LANES ? ALL_LANES : 0);
    return OUTCOME_NEXT;
}

/* ---- of a warpgroup ---- */

typedef struct Descriptor { /* of a factor in shared memory (PTX ISA, "Matrix Descriptor Format") */
    uint64_t start, leading, stride; /* bytes */
    unsigned swizzle;                /* a row's bytes: 16, 32, 64, 128 */
    bool along_k;                    /* neighbours in memory are neighbours along K */
} Descriptor;

static Descriptor unpack(uint64_t v, bool along_k) {
    static const uint8_t width[] = {16, 128, 64, 32};
    enum { FIELD = 0x3FFF };
    return (Descriptor){.start = (v & FIELD) << 4,
                        .leading = (v >> 16 & FIELD) << 4,
                        .stride = (v >> 32 & FIELD) << 4,
                        .swizzle = width[v >> 62],
                        .along_k = along_k};
}

/* Where the element is that lies at `row` of M or N and at k. */
static uint64_t element_address(const Descriptor *d, int row, int k, unsigned bytes) {
    uint64_t in, along = (uint64_t)(d->along_k ? k : row) * bytes;
    uint64_t across = (uint64_t)(d->along_k ? row : k), width = d->swizzle;
    bool plain = width == 16;
    in = across % ROWS * width + along % width;
    if (d->along_k) /* groups of 8 rows; of 16 bytes, where rows are of no more */
        in += across / ROWS * d->stride +
              (plain ? along / width * d->leading : along / width * width);
    else if (plain)
        in += along / width * d->stride + across / ROWS * d->leading;
    else
        in += along / width * d->leading + across / ROWS * d->stride;
    uint64_t at = d->start + in;
    uint64_t mask = width / 16 - 1;
    return at ^ (at >> 7 & mask) << 4;
}

typedef struct Wgmma {
    Descriptor a, b;
    bool a_is_shared, adds;
    bool negate_a, negate_b;
} Wgmma;

static bool read_element(Warp *w, const PtxCode *c, uint64_t at, unsigned bytes, uint64_t *v) {
    const Memory *m = &w->cta->shared;
    uint64_t in = at - PTX_SHARED_BASE;
    *v = 0;
    if (at < PTX_SHARED_BASE || in + bytes > m->bytes) {
        machine_fail(w, c, 0, C_BOUNDS,
                     "out of bounds: it reads byte %lld of shared memory, which has %llu",
                     (long long)in, (unsigned long long)m->bytes);
        return false;
    }
    if (memchr(m->known + in, 0, bytes) && (w->cta->m->launch->checks & PTX_CHECK_UNINIT)) {
        machine_fail(w, c, 0, C_UNINIT,
                     "byte %llu of shared memory, which it multiplies, is not known",
                     (unsigned long long)in);
        return false;
    }
    memcpy(v, m->data + in, bytes);
    return true;
}

/* The warp's 16 rows of a, or b, out of shared memory. */
static bool read_factor(Product *p, Warp *w, const Descriptor *d, bool is_a, int first,
                        bool negate) {
    PtxType t = is_a ? p->a : p->b;
    unsigned bytes = bits_of(t) / 8;
    for (int row = 0; row < (is_a ? p->m : p->n); row++)
        for (int k = 0; k < p->k; k++) {
            uint64_t v;
            if (!read_element(w, p->c, element_address(d, first + row, k, bytes), bytes, &v))
                return false;
            if (!p->is_float) {
                int64_t i = int_factor(t, v);
                *(is_a ? &p->x[row][k].i : &p->y[k][row].i) = i;
                continue;
            }
            double f = float_factor(t, v);
            *(is_a ? &p->x[row][k].f : &p->y[k][row].f) = negate ? -f : f;
        }
    return true;
}

/* The units of 16 bytes that the factor is of, read from now on. */
static bool reads_factor(Warp *w, const PtxCode *c, const Descriptor *d, int first, int rows,
                         unsigned bytes) {
    enum { UNIT = 16 };
    int each = UNIT / (int)bytes;
    int across = d->along_k ? rows : c->k, along = d->along_k ? c->k : rows;
    for (int i = 0; i < across; i++)
        for (int j = 0; j < along; j += each) {
            uint64_t at = d->along_k ? element_address(d, first + i, j, bytes)
                                     : element_address(d, first + j, i, bytes);
            if (at < PTX_SHARED_BASE || at - PTX_SHARED_BASE + UNIT > w->cta->shared.bytes) {
                machine_fail(w, c, 0, C_BOUNDS,
                             "out of bounds: it reads byte %lld of shared memory, which has %llu",
                             (long long)at - PTX_SHARED_BASE,
                             (unsigned long long)w->cta->shared.bytes);
                return false;
            }
            if (!race_read(w, c, 0, at - PTX_SHARED_BASE, UNIT, AGENT_MMA)) return false;
        }
    return true;
}

/* Core matrices, of 8 rows of 16 bytes, are what it is read by. */
static void count_factor(PtxCount *count, const PtxCode *c, const Descriptor *d, int rows,
                         unsigned bytes) {
    int each = COUNT_UNIT / (int)bytes;
    int across = d->along_k ? rows : c->k, along = d->along_k ? c->k : rows;
    for (int i = 0; i < across; i += ROWS)
        for (int j = 0; j < along; j += each) {
            uint64_t unit[ROWS];
            for (int r = 0; r < ROWS; r++)
                unit[r] = d->along_k ? element_address(d, i + r, j, bytes)
                                     : element_address(d, j, i + r, bytes);
            count_units(count, unit, ROWS);
        }
}

/* The four warps' request is one: all of b, and of a the rows of all. */
static void count_wgmma(const Warp *w, const PtxCode *c, const Wgmma *g, unsigned bytes) {
    PtxCount *count = count_of(w, c);
    if (!count || w->number % QUAD) return;
    if (g->a_is_shared) count_factor(count, c, &g->a, QUAD * MOST_M, bytes);
    count_factor(count, c, &g->b, c->n, bytes);
    count->shared++;
}

static bool land_wgmma(Warp *w, Async *a, uint32_t mask) {
    const Wgmma *g = a->detail;
    const PtxCode *c = a->code;
    const PtxOperand *o = c->operand;
    Product *p = new_product(w, c);
    (void)mask;
    p->m = MOST_M;
    if (g->a_is_shared) {
        if (!read_factor(p, w, &g->a, true, w->number % QUAD * MOST_M, g->negate_a)) return false;
    } else {
        uint32_t known = known_of(w, &o[1]);
        if (known != ALL_LANES && (w->cta->m->launch->checks & PTX_CHECK_UNINIT)) {
            machine_fail(w, c, __builtin_ctz(~known), C_UNINIT,
                         "its factor in registers is not known");
            return false;
        }
        take_a(p, w, &o[1]);
        for (int i = 0; g->negate_a && p->is_float && i < p->m; i++)
            for (int k = 0; k < p->k; k++) p->x[i][k].f = -p->x[i][k].f;
    }
    if (!read_factor(p, w, &g->b, false, 0, g->negate_b)) return false;
    if (g->adds)
        take_sum(p, w, &o[0], p->d);
    else
        memset(p->sum, 0, sizeof p->sum);
    multiply(p);
    give_sum(p, w, &o[0], ALL_LANES);
    /* Of its own sums the next product needs no fence. */
    for (int i = 0; i < o[0].n; i++) {
        int reg = element_of(w, &o[0], i)->reg;
        w->written[reg] = 0;
        w->summing[reg] = false;
    }
    return true;
}

/* What other instructions have written to its registers it sees behind a wgmma.fence. */
static bool is_fenced(Warp *w, const PtxCode *c, const PtxOperand *o) {
    for (int i = 0; i < o->n; i++) {
        const PtxOperand *e = element_of(w, o, i);
        if (e->kind != OPERAND_REGISTER || !w->written[e->reg] || w->written[e->reg] < w->fenced)
            continue;
        machine_fail(w, c, 0, C_WAIT, "%.*s was written behind the last wgmma.fence", e->word.len,
                     e->word.text);
        return false;
    }
    return true;
}

PtxOutcome exec_wgmma_fence(Warp *w, const PtxCode *c, uint32_t mask) {
    (void)c, (void)mask;
    w->fenced = w->cta->m->time;
    return OUTCOME_NEXT;
}

static bool is_set(const Warp *w, const PtxOperand *o) {
    return (lane_of(w, o, 0) & 1) != 0;
}

/* wgmma.mma_async d, a, b, adds, scale-a, scale-b {, along-m, along-n} */
PtxOutcome exec_wgmma(Warp *w, const PtxCode *c, uint32_t mask) {
    const PtxOperand *o = c->operand;
    if (mask != ALL_LANES)
        return machine_fail(w, c, __builtin_ctz(mask), C_CONVERGENCE,
                            "not all threads of the warp are here");
    PtxType d = (PtxType)c->type[0], a = (PtxType)c->type[1];
    bool in_shared = o[1].kind != OPERAND_VECTOR;
    int wide = ptx_type[d].class != 'F' && c->n > 32 ? 16 : 8;
    if (!has_form(c) || c->m != 64 || c->n < 8 || c->n > MOST_N || c->n % wide ||
        !is_whole_sum(MOST_M, c->n, d, &o[0]) || (!in_shared && !is_whole(MOST_M, c->k, a, &o[1])))
        return not_known(w, c, mask);
    uint32_t known =
        known_of(w, &o[3]) & known_of(w, &o[2]) & (in_shared ? known_of(w, &o[1]) : ALL_LANES);
    if (known != ALL_LANES)
        return machine_fail(w, c, __builtin_ctz(~known), C_UNINIT,
                            "a descriptor, or whether it adds, is not known");
    bool float_ = ptx_type[d].class == 'F';
    Wgmma g = {.a_is_shared = in_shared, .adds = is_set(w, &o[3])};
    if (float_ && c->noperands > 5) {
        g.negate_a = o[4].value == -1;
        g.negate_b = o[5].value == -1;
    }
    /* Of a in registers there is no order to tell. */
    int last = in_shared ? 7 : 6;
    bool a_across = in_shared && c->noperands > last && o[6].value == 1;
    bool b_across = c->noperands > last && o[last].value == 1;
    g.a = unpack(lane_of(w, &o[1], 0), !a_across);
    g.b = unpack(lane_of(w, &o[2], 0), !b_across);
    if (g.adds) { /* what went on before may still be adding */
        for (int i = 0; i < o[0].n; i++) {
            int reg = element_of(w, &o[0], i)->reg;
            if (w->known[reg] != ALL_LANES && !w->summing[reg])
                return machine_fail(w, c, __builtin_ctz(~w->known[reg]), C_UNINIT,
                                    "the sum is not known");
        }
    }
    unsigned bytes = bits_of(a) / 8;
    if ((g.adds && !is_fenced(w, c, &o[0])) || (!in_shared && !is_fenced(w, c, &o[1])))
        return OUTCOME_FAIL;
    if ((in_shared && !reads_factor(w, c, &g.a, w->number % QUAD * MOST_M, MOST_M, bytes)) ||
        !reads_factor(w, c, &g.b, 0, c->n, bytes))
        return OUTCOME_FAIL;
    count_wgmma(w, c, &g, bytes);
    Async *s = async_start(w, c, GROUP_MMA, mask, land_wgmma, sizeof g);
    memcpy(s->detail, &g, sizeof g);
    for (int i = 0; i < o[0].n; i++) {
        int reg = element_of(w, &o[0], i)->reg;
        set_known(w, reg, ALL_LANES, 0);
        w->written[reg] = 0;
        w->summing[reg] = true;
    }
    return OUTCOME_NEXT;
}

PtxOutcome exec_wgmma_commit(Warp *w, const PtxCode *c, uint32_t mask) {
    (void)c;
    async_commit(w, GROUP_MMA, mask);
    return OUTCOME_NEXT;
}

PtxOutcome exec_wgmma_wait(Warp *w, const PtxCode *c, uint32_t mask) {
    return async_wait(w, GROUP_MMA, mask, (uint32_t)c->operand[0].value, false) ? OUTCOME_NEXT
                                                                                : OUTCOME_FAIL;
}
