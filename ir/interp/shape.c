/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* shape.c: the steps that put elements of tiles in other places: join, split, gather; that
 * count them: histogram; and that check what the writer promised of them: hint.
 *
 * Convention: data and taint move alike, so whatever moves lanes is written over the size of a lane
 * and run once for the elements and, if there is taint, once more for it. */
#include "ir/interp/machine.h"

#include <inttypes.h>
#include <string.h>

static int64_t int_at(const Tile *t, Elem e, int64_t lane) {
    Tile one = {.data = t->data + (size_t)lane * (size_t)elem_info[e].bytes};
    return first_lane(&one, e);
}

static uint16_t taint_at(const Tile *t, int64_t lane) {
    return t->tainted ? t->taint[lane] : 0;
}

/* Every second lane of dst, from `first` on, is src's next. */
static void spread(char *dst, const char *src, size_t size, int64_t n, int first) {
    for (int64_t i = 0; i < n; i++)
        memcpy(dst + (size_t)(2 * i + first) * size, src + (size_t)i * size, size);
}

bool step_join(Run *r, Program *p, const Step *st) {
    Tile *d = &p->tile[st->dst[0]];
    size_t size = (size_t)elem_info[st->lane.result].bytes;
    int64_t n = st->lanes / 2;
    bool tainted = p->tile[st->src[0]].tainted || p->tile[st->src[1]].tainted;
    uint16_t *taint = tainted ? slot_taint(r, p, st->dst[0]) : NULL;
    if (tainted) memset(taint, 0, (size_t)st->lanes * sizeof *taint);
    for (int k = 0; k < 2; k++) {
        const Tile *x = &p->tile[st->src[k]];
        spread((char *)d->data, (const char *)x->data, size, n, k);
        if (x->tainted) spread((char *)taint, (const char *)x->taint, sizeof *taint, n, k);
    }
    d->tainted = tainted;
    return true;
}

static void collect(char *dst, const char *src, size_t size, int64_t n, int first) {
    for (int64_t i = 0; i < n; i++)
        memcpy(dst + (size_t)i * size, src + (size_t)(2 * i + first) * size, size);
}

bool step_split(Run *r, Program *p, const Step *st) {
    const Tile *x = &p->tile[st->src[0]];
    size_t size = (size_t)elem_info[st->lane.result].bytes;
    for (int k = 0; k < 2; k++) {
        Tile *d = &p->tile[st->dst[k]];
        collect((char *)d->data, (const char *)x->data, size, st->lanes, k);
        if (x->tainted)
            collect((char *)slot_taint(r, p, st->dst[k]), (const char *)x->taint, sizeof *x->taint,
                    st->lanes, k);
        d->tainted = x->tainted;
    }
    return true;
}

GatherView gather_view(const Op *op) {
    Type x = ir_operand(op, 0)->type, r = op->result[0]->type;
    int axis = (int)ir_attr_int(op, AT_AXIS, 0);
    return (GatherView){type_dim(r, axis), type_dim(x, axis),
                        (int64_t)1 << type_dim_shift(r, axis)};
}

bool gather_from(Run *r, const Program *p, const Step *st, const GatherView *v, int64_t i,
                 int64_t *from) {
    Type t = ir_operand(st->op, 1)->type;
    int64_t at = int_at(&p->tile[st->src[1]], stored_elem(t), i);
    *from = (i / v->inner / v->len * v->from_len + at) * v->inner + i % v->inner;
    if (at >= 0 && at < v->from_len) return true;
    diag(&r->s->diags, C_GATHER, st->op->span,
         "gather index %" PRId64 " is outside 0…%" PRId64 " in %s", at, v->from_len - 1,
         report_place(r, p, t, i));
    return false;
}

bool step_gather(Run *r, Program *p, const Step *st) {
    GatherView view = gather_view(st->op);
    const Tile *x = &p->tile[st->src[0]], *index = &p->tile[st->src[1]];
    Tile *d = &p->tile[st->dst[0]];
    size_t size = (size_t)elem_info[st->lane.result].bytes;
    bool tainted = x->tainted || index->tainted;
    uint16_t *taint = tainted ? slot_taint(r, p, st->dst[0]) : NULL;
    for (int64_t i = 0, from; i < st->lanes; i++) {
        if (!gather_from(r, p, st, &view, i, &from)) return false;
        memcpy(d->data + (size_t)i * size, x->data + (size_t)from * size, size);
        if (!tainted) continue;
        uint16_t of = taint_at(x, from), by = taint_at(index, i);
        taint[i] = of > by ? of : by;
    }
    d->tainted = tainted;
    return true;
}

bool histogram_bin(Run *r, const Program *p, const Step *st, int first, int64_t i, int64_t *bin,
                   uint16_t *worst) {
    const Tile *x = &p->tile[st->src[first]];
    const Tile *mask = st->nsrc > first + 1 ? &p->tile[st->src[first + 1]] : NULL;
    Type t = ir_operand(st->op, first)->type;
    *bin = -1;
    if (mask && taint_at(mask, i) >= ORIGIN_UNINIT)
        return report_taint(r, p, st, USED_MASK, mask->taint[i], t, i);
    if (mask && !mask->data[i]) return true;
    if (taint_at(x, i) > *worst) *worst = x->taint[i];
    int64_t value = int_at(x, stored_elem(t), i);
    if (value >= 0 && value < st->lanes)
        *bin = value;
    else if (run_checks(r, CHECK_UNDEFINED) && taint_at(x, i) < ORIGIN_UNINIT)
        return report_bin(r, p, st, t, value, i);
    return true;
}

bool step_histogram(Run *r, Program *p, const Step *st) {
    Tile *d = &p->tile[st->dst[0]];
    uint32_t *count = (uint32_t *)(void *)d->data;
    uint16_t worst = 0;
    memset(count, 0, (size_t)st->lanes * sizeof *count);
    int64_t n = type_numel(ir_operand(st->op, 0)->type);
    for (int64_t i = 0, bin; i < n; i++) {
        if (!histogram_bin(r, p, st, 0, i, &bin, &worst)) return false;
        if (bin >= 0) count[bin]++;
    }
    d->tainted = worst >= ORIGIN_UNINIT; /* which bin was counted is not known */
    for (int64_t i = 0; d->tainted && i < st->lanes; i++) slot_taint(r, p, st->dst[0])[i] = worst;
    return true;
}

/* ---- hints ---- */

/* What a hint promises along dimension d, as axis analysis means it: elements in aligned groups
 * of 2^contiguous count up by one, those in groups of 2^constant are equal, and the first of the
 * tile along d is a multiple of 2^divisible. A pointer's elements are its pointees, its
 * multiples bytes. */
typedef struct Promise {
    AttrId attr;
    const char *word;
} Promise;
/* Contiguity is not looked at: `max_contiguous(rm % M, BM)`, which public kernels have for rows
 * that wrap around and are not stored, is false and meant to be. */
static const Promise promises[] = {{AT_DIVISIBLE, "multiple_of"}, {AT_CONSTANT, "max_constancy"}};

static bool broken_promise(Run *r, const Program *p, const Step *st, const Promise *which,
                           int64_t promised, int64_t lane, int64_t value) {
    Type t = ir_operand(st->op, 0)->type;
    if (type_is_pointer(t))
        diag(&r->s->diags, C_PROMISE, st->op->span, "%s(%" PRId64 ") does not hold in %s",
             which->word, promised, report_place(r, p, t, lane));
    else
        diag(&r->s->diags, C_PROMISE, st->op->span,
             "%s(%" PRId64 ") does not hold: the element is %" PRId64 " in %s", which->word,
             promised, value, report_place(r, p, t, lane));
    return false;
}

/* Lanes are looked at along dimension d, whose neighbours are 2^below lanes apart. */
static bool check_promise(Run *r, const Program *p, const Step *st, const Promise *which, int d,
                          int below, int log2) {
    const Tile *x = &p->tile[st->src[0]];
    Type t = ir_operand(st->op, 0)->type;
    Elem e = stored_elem(t);
    uint64_t group = (uint64_t)1 << log2;
    uint64_t by = type_is_pointer(t) ? (uint64_t)type_elem_bytes(type_pointee(t)) : 1;
    if (which->attr == AT_CONSTANT) by = 0;
    int64_t n = step_width(p, st);
    for (int64_t i = 0; i < n; i++) {
        uint64_t along = t.rank ? (uint64_t)(i >> below) & (uint64_t)(type_dim(t, d) - 1) : 0;
        uint64_t v = (uint64_t)int_at(x, e, i);
        bool holds = true;
        if (taint_at(x, i)) continue;
        if (which->attr == AT_DIVISIBLE)
            holds = along || !(v & (group - 1));
        else if (along & (group - 1))
            holds = (uint64_t)elem_wrap(e, (int64_t)(v - by)) ==
                    (uint64_t)int_at(x, e, i - ((int64_t)1 << below));
        if (!holds) return broken_promise(r, p, st, which, (int64_t)group, i, (int64_t)v);
    }
    return true;
}

bool step_hint(Run *r, Program *p, const Step *st) {
    Type t = ir_operand(st->op, 0)->type;
    bool check = run_checks(r, CHECK_ALIGN) && !type_is_float(t) && !type_is_bool(t);
    for (size_t k = 0; check && k < sizeof promises / sizeof promises[0]; k++) {
        const Attr *a = ir_attr(st->op, promises[k].attr);
        int below = 0;
        for (int d = a ? a->ndims - 1 : -1; d >= 0; d--) {
            if (d >= t.rank && d > 0) continue;
            int log2 = a->dims[d] < 63 ? a->dims[d] : 63;
            if (log2 && !check_promise(r, p, st, &promises[k], d, below, log2)) return false;
            below += t.rank ? t.log2[d] : 0;
        }
    }
    return step_copy(r, p, st);
}
