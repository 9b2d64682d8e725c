/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* shared.c: a program's shared memory: whole tiles written into and read out of buffers.
 *
 * A buffer is bytes at its offset, so that buffers which passes placed over each other really do
 * overwrite each other; element e lies where the buffer's layout says, in row-major order without
 * one. The threads of a program are not run here, so what could go wrong between them is proved
 * from the order of accesses instead: each byte knows whether it was written or read since the last
 * barrier, and by which buffer it was written last. Elements whose value must not matter pass
 * through: their bytes are as if nobody had written them. */
#include "ir/interp/machine.h"

#include <string.h>

static bool check_byte(Run *r, Program *p, const Step *st, const SharedBuffer *b, int64_t at,
                       bool store) {
    uint8_t state = p->shared_state[at];
    if (state & SHARED_COMING)
        return report_shared(r, p, st,
                             store ? "overwritten while a copy to it is under way"
                                   : "read before the copy to it has landed",
                             at);
    if (!store && (state & SHARED_WRITTEN))
        return report_shared(r, p, st, "missing barrier: read since written without one", at);
    if (store && (state & SHARED_READ))
        return report_shared(r, p, st, "missing barrier: overwritten since read without one", at);
    if (store && (state & SHARED_WRITTEN) && p->shared_owner[at] &&
        p->shared_owner[at] != b->number)
        return report_shared(r, p, st, "missing barrier: written twice without one", at);
    if (!store && p->shared_owner[at] && p->shared_owner[at] != b->number)
        return report_shared(r, p, st, "overlapping buffers: another buffer was written over this",
                             at);
    return true;
}

/* Checks n bytes and notes the access; one call for each element or, in row-major order, for all.
 */
static bool touch(Run *r, Program *p, const Step *st, const SharedBuffer *b, int64_t at, int64_t n,
                  bool store) {
    bool check = run_checks(r, CHECK_RACES);
    for (int64_t i = at; i < at + n; i++) {
        if (check && !check_byte(r, p, st, b, i, store)) return false;
        p->shared_state[i] |= store ? SHARED_WRITTEN : SHARED_READ;
        if (store) p->shared_owner[i] = b->number;
    }
    return true;
}

static int64_t element_at(const SharedBuffer *b, int64_t base, int64_t e, size_t size) {
    return base + (b->offset_of ? b->offset_of[e] : e) * (int64_t)size;
}

bool step_shared_store(Run *r, Program *p, const Step *st) {
    const SharedBuffer *b = st->detail;
    const Tile *x = &p->tile[st->src[0]];
    size_t size = stored_bytes(ir_operand(st->op, 0)->type);
    int64_t base = shared_base(p, st, b, 1);
    for (int64_t i = 0; i < b->lanes; i++) {
        int64_t at = element_at(b, base, i, size);
        if (!touch(r, p, st, b, at, (int64_t)size, true)) return false;
        memcpy(p->shared + at, x->data + (size_t)i * size, size);
        if (x->tainted && x->taint[i] >= ORIGIN_UNINIT)
            memset(p->shared_owner + at, 0, size * sizeof *p->shared_owner);
    }
    return true;
}

/* Element e of the buffer to lane i of the result; `origin` is its taint in any case. */
static bool load_element(Run *r, Program *p, const Step *st, int64_t base, int64_t e, int64_t i,
                         uint16_t origin) {
    const SharedBuffer *b = st->detail;
    Tile *d = &p->tile[st->dst[0]];
    size_t size = (size_t)elem_info[st->lane.result].bytes;
    int64_t at = element_at(b, base, e, size);
    if (!touch(r, p, st, b, at, (int64_t)size, false)) return false;
    memcpy(d->data + (size_t)i * size, p->shared + at, size);
    if (!p->shared_owner[at] && run_checks(r, CHECK_UNINIT))
        origin = run_origin(r, st->op, ORIGIN_UNWRITTEN);
    if (!origin && !d->tainted) return true;
    uint16_t *taint = slot_taint(r, p, st->dst[0]);
    if (!d->tainted) memset(taint, 0, (size_t)st->lanes * sizeof *taint);
    taint[i] = origin;
    d->tainted = true;
    return true;
}

bool step_shared_load(Run *r, Program *p, const Step *st) {
    const SharedBuffer *b = st->detail;
    int64_t base = shared_base(p, st, b, 0);
    p->tile[st->dst[0]].tainted = false;
    if (st->op->code == OP_DOT && ir_attr_int(st->op, AT_ASYNC, 0))
        async_dot_reads(p, base, b->bytes);
    for (int64_t i = 0; i < b->lanes; i++)
        if (!load_element(r, p, st, base, i, i, 0)) return false;
    return true;
}

bool step_shared_gather(Run *r, Program *p, const Step *st) {
    const Tile *index = &p->tile[st->src[1]];
    GatherView view = gather_view(st->op);
    int64_t base = shared_base(p, st, st->detail, 0);
    p->tile[st->dst[0]].tainted = false;
    for (int64_t i = 0, from; i < st->lanes; i++)
        if (!gather_from(r, p, st, &view, i, &from) ||
            !load_element(r, p, st, base, from, i, index->tainted ? index->taint[i] : 0))
            return false;
    return true;
}

/* Any bin may be counted in, so the whole buffer is read and written. */
bool step_shared_count(Run *r, Program *p, const Step *st) {
    const SharedBuffer *b = st->detail;
    size_t size = sizeof(uint32_t);
    int64_t base = shared_base(p, st, b, 0), n = type_numel(ir_operand(st->op, 1)->type);
    uint16_t worst = 0;
    for (int64_t at = base; at < base + b->bytes; at++) {
        if (run_checks(r, CHECK_RACES) &&
            (!check_byte(r, p, st, b, at, false) || !check_byte(r, p, st, b, at, true)))
            return false;
        p->shared_state[at] |= SHARED_READ | SHARED_WRITTEN;
    }
    for (int64_t i = 0, bin; i < n; i++) {
        uint32_t count;
        if (!histogram_bin(r, p, st, 1, i, &bin, &worst)) return false;
        if (bin < 0) continue;
        uint8_t *at = p->shared + element_at(b, base, bin, size);
        memcpy(&count, at, size);
        count++;
        memcpy(at, &count, size);
    }
    if (worst >= ORIGIN_UNINIT) /* which bin was counted is not known */
        memset(p->shared_owner + base, 0, (size_t)b->bytes * sizeof *p->shared_owner);
    return true;
}

bool step_barrier(Run *r, Program *p, const Step *st) {
    (void)st;
    for (int64_t i = 0; i < r->shared_bytes; i++) p->shared_state[i] &= SHARED_COMING;
    return true;
}

/* An operation with bytes of its own writes there, waits for all threads, and reads. What it does
 * to other operations is known from the order of that; its values do not pass through here. */
bool step_scratch(Run *r, Program *p, const Step *st) {
    const SharedBuffer *b = st->detail;
    if (!touch(r, p, st, b, b->at, b->bytes, true) || !step_barrier(r, p, st)) return false;
    return touch(r, p, st, b, b->at, b->bytes, false);
}
