/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* combine.c: the steps of REDUCE, SCAN and MAP around the steps of their region.
 *
 * Tiles are seen as [outer, len, inner], len being the axis. A reduction combines neighbours, pair
 * by pair, and halves len until it is 1: the order is kept, so a combination need only be
 * associative. A scan goes along the axis from one end.
 * The one idea: a region of plain arithmetic on scalars is run on all pairs at once, its slots
 * being as wide as that; a region with control flow is run on one pair at a time. Both are this
 * code, with another chunk. Between steps everything is in the program's counter and slots. */
#include "ir/interp/machine.h"

#include <string.h>

/* Lane q of a chunk is lane base + (q / inner) * stride + q % inner of the tile. */
typedef struct Pick {
    int64_t base, stride;
    int inner_log2;
} Pick;

static int64_t picked(const Pick *k, int64_t q) {
    return k->base + (q >> k->inner_log2) * k->stride + (q & (((int64_t)1 << k->inner_log2) - 1));
}

#define TAKE_LOOP(T)                                                                               \
    for (int64_t i = 0; i < n; i++) ((T *)dst)[i] = ((const T *)src)[picked(k, from + i)]
#define PUT_LOOP(T)                                                                                \
    for (int64_t i = 0; i < n; i++) ((T *)dst)[picked(k, from + i)] = ((const T *)src)[i]
#define BY_SIZE(LOOP)                                                                              \
    do {                                                                                           \
        switch (size) {                                                                            \
        case 1: LOOP(uint8_t); break;                                                              \
        case 2: LOOP(uint16_t); break;                                                             \
        case 4: LOOP(uint32_t); break;                                                             \
        default: LOOP(uint64_t); break;                                                            \
        }                                                                                          \
    } while (0)

static void take_lanes(void *dst, const void *src, size_t size, const Pick *k, int64_t from,
                       int64_t n) {
    BY_SIZE(TAKE_LOOP);
}

static void put_lanes(void *dst, const void *src, size_t size, const Pick *k, int64_t from,
                      int64_t n) {
    BY_SIZE(PUT_LOOP);
}

static void take(Run *r, Program *p, int dst, int src, size_t size, Pick k, int64_t from,
                 int64_t n) {
    const Tile *x = &p->tile[src];
    Tile *d = &p->tile[dst];
    take_lanes(d->data, x->data, size, &k, from, n);
    if (x->tainted) take_lanes(slot_taint(r, p, dst), x->taint, 2, &k, from, n);
    d->tainted = x->tainted;
}

static void put(Run *r, Program *p, int dst, int src, size_t size, Pick k, int64_t from, int64_t n,
                int64_t lanes_of_dst) {
    const Tile *x = &p->tile[src];
    Tile *d = &p->tile[dst];
    put_lanes(d->data, x->data, size, &k, from, n);
    if (!x->tainted && !d->tainted) return;
    uint16_t *taint = slot_taint(r, p, dst);
    if (!d->tainted) memset(taint, 0, (size_t)lanes_of_dst * sizeof *taint);
    if (x->tainted)
        put_lanes(taint, x->taint, 2, &k, from, n);
    else
        for (int64_t i = 0; i < n; i++) taint[picked(&k, from + i)] = 0;
    d->tainted = true;
}

static size_t size_of_operand(const Step *st, int i) {
    return stored_bytes(ir_operand(st->op, i)->type);
}

/* ---- reduce ---- */

/* src: operands; dst: work slots, which hold what is left, always compact */
bool step_reduce_start(Run *r, Program *p, const Step *st) {
    const Combine *c = st->detail;
    Pick all = {0};
    all.inner_log2 = TILE_MAX_LOG2;
    for (int i = 0; i < st->nsrc; i++)
        take(r, p, st->dst[i], st->src[i], size_of_operand(st, i), all, 0, st->lanes);
    p->counter[st->loop] = (Counter){.len = c->len};
    return true;
}

/* src: work slots; dst: the region's arguments, all a then all b; target: when nothing is left */
bool step_reduce_take(Run *r, Program *p, const Step *st) {
    const Combine *c = st->detail;
    Counter *n = &p->counter[st->loop];
    if (n->len == 1) {
        p->at = st->target;
        return true;
    }
    int64_t inner = (int64_t)1 << c->inner_log2, pairs = c->outer * (n->len / 2) * inner;
    n->chunk = c->vector ? pairs : 1;
    Pick a = {0, 2 * inner, c->inner_log2}, b = {inner, 2 * inner, c->inner_log2};
    for (int i = 0; i < st->nsrc; i++) {
        take(r, p, st->dst[i], st->src[i], size_of_operand(st, i), a, n->at, n->chunk);
        take(r, p, st->dst[st->nsrc + i], st->src[i], size_of_operand(st, i), b, n->at, n->chunk);
    }
    p->width = n->chunk;
    return true;
}

/* src: what the region yields; dst: work slots. Pair q becomes lane q: pairs before it are done, so
 * that lane is not needed any more. */
bool step_reduce_keep(Run *r, Program *p, const Step *st) {
    const Combine *c = st->detail;
    Counter *n = &p->counter[st->loop];
    Pick compact = {0};
    compact.inner_log2 = TILE_MAX_LOG2;
    for (int i = 0; i < st->nsrc; i++)
        put(r, p, st->dst[i], st->src[i], size_of_operand(st, i), compact, n->at, n->chunk,
            st->lanes);
    n->at += n->chunk;
    if (n->at == (c->outer * (n->len / 2)) << c->inner_log2) {
        n->at = 0;
        n->len /= 2;
    }
    p->at = st->target;
    return true;
}

/* ---- scan ---- */

/* src: operands; dst: results, combined in place */
bool step_scan_start(Run *r, Program *p, const Step *st) {
    Pick all = {0};
    all.inner_log2 = TILE_MAX_LOG2;
    for (int i = 0; i < st->nsrc; i++)
        take(r, p, st->dst[i], st->src[i], size_of_operand(st, i), all, 0, st->lanes);
    p->counter[st->loop] = (Counter){.len = 1}; /* this many along the axis are done */
    return true;
}

/* The place along the axis of what comes i-th. */
static Pick scan_pick(const Combine *c, int64_t i) {
    int64_t place = c->reverse ? c->len - 1 - i : i;
    return (Pick){place << c->inner_log2, c->len << c->inner_log2, c->inner_log2};
}

bool step_scan_take(Run *r, Program *p, const Step *st) {
    const Combine *c = st->detail;
    Counter *n = &p->counter[st->loop];
    if (n->len == c->len) {
        p->at = st->target;
        return true;
    }
    n->chunk = c->vector ? c->outer << c->inner_log2 : 1;
    for (int i = 0; i < st->nsrc; i++) {
        take(r, p, st->dst[i], st->src[i], size_of_operand(st, i), scan_pick(c, n->len - 1), n->at,
             n->chunk);
        take(r, p, st->dst[st->nsrc + i], st->src[i], size_of_operand(st, i), scan_pick(c, n->len),
             n->at, n->chunk);
    }
    p->width = n->chunk;
    return true;
}

bool step_scan_keep(Run *r, Program *p, const Step *st) {
    const Combine *c = st->detail;
    Counter *n = &p->counter[st->loop];
    for (int i = 0; i < st->nsrc; i++)
        put(r, p, st->dst[i], st->src[i], size_of_operand(st, i), scan_pick(c, n->len), n->at,
            n->chunk, st->lanes);
    n->at += n->chunk;
    if (n->at == c->outer << c->inner_log2) {
        n->at = 0;
        n->len++;
    }
    p->at = st->target;
    return true;
}

/* Each element along the axis, from the last on, becomes the one before it. */
static void shift(Tile *d, const Combine *c, size_t size) {
    for (int64_t i = c->len - 1; i > 0; i--) {
        Pick to = scan_pick(c, i), from = scan_pick(c, i - 1);
        for (int64_t q = 0; q < c->outer << c->inner_log2; q++) {
            int64_t at = picked(&to, q), of = picked(&from, q);
            memcpy(d->data + (size_t)at * size, d->data + (size_t)of * size, size);
            if (d->tainted) d->taint[at] = d->taint[of];
        }
    }
}

/* dst: results, and totals where asked for */
bool step_scan_finish(Run *r, Program *p, const Step *st) {
    const Combine *c = st->detail;
    int n = st->op->noperands;
    for (int i = 0; i < n; i++) {
        size_t size = size_of_operand(st, i);
        if (st->ndst > n)
            take(r, p, st->dst[n + i], st->dst[i], size, scan_pick(c, c->len - 1), 0,
                 c->outer << c->inner_log2);
        if (ir_attr_int(st->op, AT_EXCLUSIVE, 0)) shift(&p->tile[st->dst[i]], c, size);
    }
    return true;
}

/* ---- map ---- */

static const Pick in_order = {.inner_log2 = TILE_MAX_LOG2};

bool step_map_start(Run *r, Program *p, const Step *st) {
    (void)r;
    const MapPlan *plan = st->detail;
    p->counter[st->loop] = (Counter){0};
    p->map = plan->vector ? NULL : st;
    for (int i = 0; i < st->op->nresults; i++) p->tile[plan->results[i]].tainted = false;
    return true;
}

/* src: operands; dst: the region's arguments; target: when all elements are done */
bool step_map_take(Run *r, Program *p, const Step *st) {
    const MapPlan *plan = st->detail;
    Counter *n = &p->counter[st->loop];
    if (n->at == st->lanes) {
        p->map = NULL;
        p->at = st->target;
        return true;
    }
    n->chunk = plan->vector ? st->lanes : 1;
    for (int i = 0; i < st->nsrc; i++)
        take(r, p, st->dst[i], st->src[i], size_of_operand(st, i), in_order, n->at, n->chunk);
    p->width = n->chunk;
    return true;
}

/* src: what the region yields; dst: results */
bool step_map_keep(Run *r, Program *p, const Step *st) {
    Counter *n = &p->counter[st->loop];
    for (int i = 0; i < st->nsrc; i++)
        put(r, p, st->dst[i], st->src[i], stored_bytes(st->op->result[i]->type), in_order, n->at,
            n->chunk, st->lanes);
    n->at += n->chunk;
    p->at = st->target;
    return true;
}

bool branch_unknown(Run *r, Program *p, const Step *st, TaintUse use, uint16_t taint, Type tile) {
    if (!p->map) return report_taint(r, p, st, use, taint, tile, 0);
    const MapPlan *plan = p->map->detail;
    Counter *n = &p->counter[p->map->loop];
    for (int i = 0; i < p->map->op->nresults; i++) {
        size_t size = stored_bytes(p->map->op->result[i]->type);
        Tile *d = &p->tile[plan->results[i]];
        uint16_t *at = slot_taint(r, p, plan->results[i]);
        memset(d->data + (size_t)n->at * size, 0, size);
        if (!d->tainted) memset(at, 0, (size_t)p->map->lanes * sizeof *at);
        at[n->at] = taint;
        d->tainted = true;
    }
    n->at++;
    p->at = plan->head;
    return true;
}
