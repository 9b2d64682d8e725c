/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tile.c: the steps that make whole tiles: constants, indices, elementwise operations, new
 * shapes, and the matrix product.
 *
 * Convention: data and taint move alike. Whatever copies lanes about is written over the size of a
 * lane and run once for the elements and, if there is taint, once more for it. */
#include "ir/interp/machine.h"

#include <math.h>
#include <string.h>

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

/* Fills n lanes of `size` bytes with the one at `from`, doubling what is there. */
static void fill_lanes(void *dst, const void *from, size_t size, int64_t n) {
    size_t all = (size_t)n * size, have = size;
    memcpy(dst, from, size);
    while (have < all) {
        size_t more = have < all - have ? have : all - have;
        memcpy((char *)dst + have, dst, more);
        have += more;
    }
}

static void put_bits(void *dst, size_t size, uint64_t bits) {
    switch (size) {
    case 1: *(uint8_t *)dst = (uint8_t)bits; break;
    case 2: *(uint16_t *)dst = (uint16_t)bits; break;
    case 4: *(uint32_t *)dst = (uint32_t)bits; break;
    default: *(uint64_t *)dst = bits; break;
    }
}

/* ---- made from nothing ---- */

bool step_const(Run *r, Program *p, const Step *st) {
    (void)r;
    const Op *op = st->op;
    Tile *d = &p->tile[st->dst[0]];
    size_t size = stored_bytes(op->result[0]->type);
    uint64_t bits = (uint64_t)ir_attr_int(op, AT_VALUE, 0);
    uint64_t lane = 0;
    put_bits(&lane, size, type_is_bool(op->result[0]->type) ? bits & 1 : bits);
    fill_lanes(d->data, &lane, size, step_width(p, st));
    d->tainted = false;
    return true;
}

bool step_arange(Run *r, Program *p, const Step *st) {
    (void)r;
    Tile *d = &p->tile[st->dst[0]];
    size_t size = stored_bytes(st->op->result[0]->type);
    uint64_t start = (uint64_t)ir_attr_int(st->op, AT_START, 0);
    for (int64_t i = 0; i < st->lanes; i++)
        put_bits(d->data + (size_t)i * size, size, start + (uint64_t)i);
    d->tainted = false;
    return true;
}

/* PROGRAM_ID, NUM_PROGRAMS and WORK_SIZE */
bool step_program_id(Run *r, Program *p, const Step *st) {
    int64_t axis = ir_attr_int(st->op, AT_AXIS, 0);
    bool id = st->op->code == OP_PROGRAM_ID;
    const InterpLaunch *l = r->launch;
    const uint32_t *of = id                                           ? p->id
                         : st->op->code == OP_WORK_SIZE && l->work[0] ? l->work
                                                                      : l->grid;
    Tile *d = &p->tile[st->dst[0]];
    uint32_t v = axis < 0 || axis > 2 ? !id : of[axis];
    put_bits(d->data, stored_bytes(st->op->result[0]->type), v);
    d->tainted = false;
    return true;
}

/* ---- elementwise ---- */

/* Wrapping is forgotten where bits are mixed on purpose: a hash is not an offset that went wrong.
 */
static bool forgets_wrapping(OpCode c) {
    return c == OP_AND || c == OP_XOR || c == OP_UMULHI || c == OP_CMP || c == OP_BITCAST;
}

static uint16_t lane_taint(const Tile *t, int64_t i) {
    return t->tainted ? t->taint[i] : 0;
}

/* The remainder by a power of two is the low bits, which wrapping leaves as they are. */
static bool keeps_low_bits(const Tile *by, int64_t i, size_t size) {
    uint64_t bits = 0;
    if (lane_taint(by, i)) return false;
    memcpy(&bits, by->data + (size_t)i * size, size);
    return bits && !(bits & (bits - 1));
}

/* x & y with a sound zero, or x | y with sound ones all over, does not depend on the other side. */
static bool decides(const Tile *t, int64_t i, OpCode c, size_t size, uint64_t ones) {
    if (lane_taint(t, i)) return false;
    uint64_t bits = 0;
    memcpy(&bits, t->data + (size_t)i * size, size);
    return c == OP_AND ? bits == 0 : bits == ones;
}

static uint16_t combined_taint(const Program *p, const Step *st, int64_t i, size_t size) {
    OpCode c = st->op->code;
    uint16_t taint = 0;
    for (int k = 0; k < st->nsrc; k++) {
        uint16_t t = lane_taint(&p->tile[st->src[k]], i);
        if (t > taint) taint = t;
    }
    if (!taint || taint >= ORIGIN_UNINIT) return taint;
    bool low = c == OP_REM && keeps_low_bits(&p->tile[st->src[1]], i, size);
    return low || forgets_wrapping(c) ? 0 : taint;
}

static void taint_lanes(Run *r, Program *p, const Step *st, int64_t n) {
    OpCode c = st->op->code;
    uint16_t *taint = slot_taint(r, p, st->dst[0]);
    const Tile *x = &p->tile[st->src[0]], *y = &p->tile[st->src[st->nsrc > 1 ? 1 : 0]];
    const Tile *z = &p->tile[st->src[st->nsrc - 1]];
    Type t = st->op->result[0]->type;
    size_t size = stored_bytes(t);
    uint64_t ones = ((uint64_t)2 << (type_elem_bits(t) - 1)) - 1;
    bool any = false;
    for (int64_t i = 0; i < n; i++) {
        if (c == OP_SELECT && !lane_taint(x, i))
            taint[i] = lane_taint(x->data[i] ? y : z, i);
        else if ((c == OP_AND || c == OP_OR) &&
                 (decides(x, i, c, size, ones) || decides(y, i, c, size, ones)))
            taint[i] = 0;
        else
            taint[i] = combined_taint(p, st, i, size);
        any |= taint[i] != 0;
    }
    p->tile[st->dst[0]].tainted = any;
}

/* The lanes that `which` finds are tainted from here on. */
static void begin_taint(Run *r, Program *p, const Step *st, const void *const *src, int64_t n,
                        bool (*which)(const Op *, const void *const *, int64_t, uint16_t *,
                                      uint16_t),
                        OriginKind kind) {
    Tile *d = &p->tile[st->dst[0]];
    if (!which(st->op, src, n, NULL, 0)) return;
    uint16_t *taint = slot_taint(r, p, st->dst[0]);
    if (!d->tainted) memset(taint, 0, (size_t)n * sizeof *taint);
    which(st->op, src, n, taint, run_origin(r, st->op, kind));
    d->tainted = true;
}

bool step_lanes(Run *r, Program *p, const Step *st) {
    const void *src[3] = {NULL};
    int64_t n = step_width(p, st);
    bool tainted = false;
    Tile *d = &p->tile[st->dst[0]];
    for (int k = 0; k < st->nsrc; k++) {
        src[k] = p->tile[st->src[k]].data;
        tainted |= p->tile[st->src[k]].tainted;
    }
    lane_op_run(&st->lane, st->nsrc, d->data, src, n);
    d->tainted = false;
    if (tainted) taint_lanes(r, p, st, n);
    if (st->lane.may_wrap && run_checks(r, CHECK_OVERFLOW))
        begin_taint(r, p, st, src, n, lane_op_wraps, ORIGIN_WRAPPED);
    if (st->lane.partial && run_checks(r, CHECK_UNDEFINED))
        begin_taint(r, p, st, src, n, lane_op_undefined, ORIGIN_UNDEFINED);
    return true;
}

/* ---- shape ---- */

bool step_splat(Run *r, Program *p, const Step *st) {
    const Tile *x = &p->tile[st->src[0]];
    Tile *d = &p->tile[st->dst[0]];
    int64_t n = step_width(p, st);
    fill_lanes(d->data, x->data, (size_t)elem_info[st->lane.result].bytes, n);
    if (x->tainted) fill_lanes(slot_taint(r, p, st->dst[0]), x->taint, sizeof *x->taint, n);
    d->tainted = x->tainted;
    return true;
}

#define STRIDED_ROW(T)                                                                             \
    for (int64_t i = 0; i < n; i++) ((T *)dst)[i] = ((const T *)src)[i * stride]

static void strided_row(void *dst, const void *src, size_t size, int64_t n, int64_t stride) {
    if (stride == 1) {
        memcpy(dst, src, (size_t)n * size);
    } else if (stride == 0) {
        fill_lanes(dst, src, size, n);
    } else {
        switch (size) {
        case 1: STRIDED_ROW(uint8_t); break;
        case 2: STRIDED_ROW(uint16_t); break;
        case 4: STRIDED_ROW(uint32_t); break;
        default: STRIDED_ROW(uint64_t); break;
        }
    }
}

/* Walks the outer dimensions as an odometer; the innermost is one row. */
void strided_copy(const Strides *s, void *dst, const void *src, size_t size) {
    int64_t at[TILE_MAX_RANK] = {0}, from = 0;
    int last = s->rank - 1;
    for (char *d = dst;; d += (size_t)s->dim[last] * size) {
        strided_row(d, (const char *)src + (size_t)from * size, size, s->dim[last],
                    s->stride[last]);
        int k = last - 1;
        for (; k >= 0; k--) {
            from += s->stride[k];
            if (++at[k] < s->dim[k]) break;
            from -= s->dim[k] * s->stride[k];
            at[k] = 0;
        }
        if (k < 0) return;
    }
}

/* BROADCAST and TRANS */
bool step_strided(Run *r, Program *p, const Step *st) {
    const Tile *x = &p->tile[st->src[0]];
    Tile *d = &p->tile[st->dst[0]];
    strided_copy(st->detail, d->data, x->data, (size_t)elem_info[st->lane.result].bytes);
    if (x->tainted) strided_copy(st->detail, slot_taint(r, p, st->dst[0]), x->taint, 2);
    d->tainted = x->tainted;
    return true;
}

/* ---- matrix product ---- */

/* c[m,n] += a[m,k] * b[k,n], each element's sum in increasing k. */
#define DOT_LOOP(T)                                                                                \
    do {                                                                                           \
        const T *x = a, *y = b;                                                                    \
        T *sum = c;                                                                                \
        for (int64_t i = 0; i < d->m; i++)                                                         \
            for (int64_t k = 0; k < d->k; k++) {                                                   \
                const T f = x[i * d->k + k];                                                       \
                for (int64_t j = 0; j < d->n; j++) sum[i * d->n + j] += f * y[k * d->n + j];       \
            }                                                                                      \
    } while (0)

/* The same of int8, stopping at the ends of int32 where the matrix instruction does. */
static void dot_add_saturating(const DotPlan *d, int32_t *c, const int32_t *a, const int32_t *b) {
    enum { STEP = 32 };
    for (int64_t i = 0; i < d->m; i++)
        for (int64_t j = 0; j < d->n; j++) {
            int64_t sum = c[i * d->n + j];
            for (int64_t k = 0; k < d->k; k++) {
                sum += (int64_t)a[i * d->k + k] * b[k * d->n + j];
                if ((k + 1) % STEP && k + 1 < d->k) continue;
                sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
            }
            c[i * d->n + j] = (int32_t)sum;
        }
}

static void dot_add(const DotPlan *d, void *c, const void *a, const void *b) {
    if (d->saturates)
        dot_add_saturating(d, c, a, b);
    else if (d->work == EL_F32)
        DOT_LOOP(float);
    else if (d->work == EL_F64)
        DOT_LOOP(double);
    else
        DOT_LOOP(uint32_t);
}

/* x without its low bits; a NaN or infinity as it is. */
static float shorten(float x, const DotSplit *s) {
    uint32_t u;
    if (!isfinite(x)) return x;
    memcpy(&u, &x, sizeof u);
    if (s->nearest) u += (1u << (s->dropped - 1)) - 1 + (u >> s->dropped & 1);
    u &= UINT32_MAX << s->dropped;
    memcpy(&x, &u, sizeof x);
    return x;
}

/* Splits n floats into parts, each short of what the ones before lack; part k is at x + k * n. */
static void split_floats(float *x, int64_t n, const DotSplit *s) {
    for (int64_t i = 0; i < n; i++) {
        float rest = x[i];
        for (int k = 0; k < s->parts; k++) {
            float part = shorten(rest, s);
            x[k * n + i] = part;
            rest = isfinite(part) ? rest - part : 0;
        }
    }
}

static void dot_taint(Run *r, Program *p, const Step *st, const DotPlan *d) {
    const Tile *a = &p->tile[st->src[0]], *b = &p->tile[st->src[1]], *c = &p->tile[st->src[2]];
    uint16_t *taint = slot_taint(r, p, st->dst[0]);
    for (int64_t g = 0; g < d->batch; g++) {
        memset(d->row, 0, (size_t)d->m * sizeof *d->row);
        memset(d->col, 0, (size_t)d->n * sizeof *d->col);
        for (int64_t k = 0; k < d->k; k++) {
            for (int64_t i = 0; i < d->m; i++) {
                uint16_t t = lane_taint(a, (g * d->m + i) * d->k + k);
                if (t > d->row[i]) d->row[i] = t;
            }
            for (int64_t j = 0; j < d->n; j++) {
                uint16_t t = lane_taint(b, (g * d->k + k) * d->n + j);
                if (t > d->col[j]) d->col[j] = t;
            }
        }
        for (int64_t i = 0; i < d->m; i++)
            for (int64_t j = 0; j < d->n; j++) {
                int64_t at = (g * d->m + i) * d->n + j;
                uint16_t t = d->row[i] > d->col[j] ? d->row[i] : d->col[j], u = lane_taint(c, at);
                taint[at] = t > u ? t : u;
            }
    }
}

/* What the dot takes for zeros of its first factor. */
static void leave_out(const DotPlan *d, int64_t live) {
    size_t size = (size_t)elem_info[d->work].bytes;
    if (live < 0) live = 0;
    for (int64_t row = 0; row < d->batch * d->m && live < d->k; row++)
        memset((char *)d->a + (size_t)(row * d->k + live) * size, 0, (size_t)(d->k - live) * size);
}

bool step_dot(Run *r, Program *p, const Step *st) {
    const DotPlan *d = st->detail;
    const Tile *a = &p->tile[st->src[0]], *b = &p->tile[st->src[1]], *c = &p->tile[st->src[2]];
    Tile *result = &p->tile[st->dst[0]];
    Elem from = stored_elem(ir_operand(st->op, 0)->type), to = st->lane.result;
    int64_t na = d->batch * d->m * d->k, nb = d->batch * d->k * d->n, nc = d->batch * d->m * d->n;
    size_t size = (size_t)elem_info[d->work].bytes;
    lane_cast(d->work, d->a, from, a->data, na, ROUND_NEAREST);
    lane_cast(d->work, d->b, stored_elem(ir_operand(st->op, 1)->type), b->data, nb, ROUND_NEAREST);
    if (st->nsrc > 3) leave_out(d, first_lane(&p->tile[st->src[3]], EL_I32));
    char *sum = d->sum ? d->sum : (void *)result->data;
    lane_cast(d->work, sum, to, c->data, nc, ROUND_NEAREST);

    const DotSplit *split = d->split && d->split->parts ? d->split : NULL;
    int products = split ? split->products : 1;
    if (split) {
        split_floats(d->a, na, split);
        split_floats(d->b, nb, split);
    }
    for (int64_t g = 0; g < d->batch; g++)
        for (int k = 0; k < products; k++) {
            int64_t x = g * d->m * d->k + (split ? split->pair[k][0] * na : 0);
            int64_t y = g * d->k * d->n + (split ? split->pair[k][1] * nb : 0);
            dot_add(d, sum + (size_t)(g * d->m * d->n) * size,
                    (const char *)d->a + (size_t)x * size, (const char *)d->b + (size_t)y * size);
        }
    if (d->sum) lane_cast(to, result->data, d->work, d->sum, nc, ROUND_NEAREST);
    bool tainted = a->tainted || b->tainted || c->tainted;
    if (tainted) dot_taint(r, p, st, d);
    result->tainted = tainted;
    return true;
}
