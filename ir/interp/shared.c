/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* shared.c: a program's shared memory: whole tiles written into and read out of buffers.
 *
 * A buffer is bytes at its offset, so that buffers which passes put over each other really do
 * overwrite each other; element e lies where the buffer's layout says, in row-major order without
 * one. The threads of a program are not run here, so what could go wrong between them is proved
 * from the order of accesses instead: each byte knows who wrote it last, and who read it, and when.
 * An access is sound when its strand knows of these: a barrier lets the threads of a strand know of
 * each other, an mbarrier those who wait at it of those who arrived. Elements whose value must not
 * matter pass through: their bytes are as if nobody had written them. */
#include "ir/desc.h"
#include "ir/interp/machine.h"

#include <string.h>

SharedMemory shared_new(Arena *a, size_t bytes, int strands) {
    SharedMemory m = {.data = arena_alloc(a, bytes)};
    m.owner = arena_array(a, bytes, sizeof *m.owner);
    m.coming = arena_array(a, bytes, sizeof *m.coming);
    m.writer = arena_array(a, bytes, sizeof *m.writer);
    m.written = arena_array(a, bytes, sizeof *m.written);
    m.read = arena_array(a, (size_t)strands, sizeof *m.read);
    m.loaded = arena_array(a, (size_t)strands, sizeof *m.loaded);
    for (int i = 0; i < strands; i++) {
        m.read[i] = arena_array(a, bytes, sizeof **m.read);
        m.loaded[i] = arena_array(a, bytes, sizeof **m.loaded);
    }
    return m;
}

void shared_clear(const Run *r, Program *p) {
    size_t n = (size_t)r->shared_bytes;
    SharedMemory *m = &p->shared;
    memset(m->owner, 0, n * sizeof *m->owner);
    memset(m->coming, 0, n * sizeof *m->coming);
    memset(m->written, 0, n * sizeof *m->written);
    for (int i = 0; i < r->nstrands; i++) {
        memset(m->read[i], 0, n * sizeof **m->read);
        memset(m->loaded[i], 0, n * sizeof **m->loaded);
    }
}

/* ---- who knows of whom ---- */

/* The last write there, in that program's memory, is one that not all of p's strand know of. */
static bool write_unknown(const Program *p, const Program *of, int64_t at) {
    const SharedMemory *m = &of->shared;
    return m->written[at] && !strand_knows(p, m->writer[at], m->written[at]);
}

/* p's strand did this to the buffer, of which each warp has a part of its own, before the threads
 * of each met. What was stored without a value nobody owns. */
static bool met_in_warps(const Program *p, const SharedBuffer *b, int64_t at, uint32_t when) {
    uint16_t owner = p->shared.owner[at];
    return b && b->of_warps && (!owner || owner == b->number) &&
           when <= p->strand[p->current].met_in_warps;
}

/* A strand of that program that may still read there, for all that p's knows, which is to write
 * into b, if that is known; -1: none. */
static int reader_unknown(const Run *r, const Program *p, const Program *of, const SharedBuffer *b,
                          int64_t at) {
    for (int i = 0; i < r->nstrands; i++) {
        uint32_t when = of->shared.read[i][at];
        if (of == p && i == p->current && met_in_warps(p, b, at, when)) continue;
        if (!strand_knows(p, clock_of_strand(of, i), when)) return i;
    }
    return -1;
}

/* "race: role 'a' DID it, and nothing puts that before this", or of the strand's own threads. who:
 * a component of clocks. */
static bool report_unknown(Run *r, const Program *p, const Step *st, int who, const char *own,
                           const char *did, int64_t at) {
    Arena *a = &r->s->arena;
    const char *what = own, *where = "";
    const Program *of = p->cluster[who / clock_of_program(r)];
    int strand = who % clock_of_program(r), barrier = (strand - r->nstrands) / 2;
    if (of != p)
        where = arena_printf(a, " of program (%u, %u, %u)", of->id[0], of->id[1], of->id[2]);
    if (strand >= r->nstrands)
        what = arena_printf(a,
                            "a copy brought it, which came to barrier '%s'%s: nothing here waits "
                            "for that",
                            of->mbarrier[barrier].name, where);
    else if (of != p || strand != p->current)
        what = arena_printf(a, "race: %s%s %s it, and nothing puts that before this",
                            strand_name(r, strand), where, did);
    return report_shared(r, p, st, what, at);
}

static bool check_byte(Run *r, Program *p, const Step *st, const SharedBuffer *b, int64_t at,
                       bool store) {
    const SharedMemory *m = &p->shared;
    bool unknown = write_unknown(p, p, at);
    int writer = m->writer[at], reader = store ? reader_unknown(r, p, p, b, at) : -1;
    if (writer == clock_of_strand(p, p->current) && met_in_warps(p, b, at, m->written[at]))
        unknown = false;
    if (m->coming[at])
        return report_shared(r, p, st,
                             store ? "overwritten while a copy to it is in flight"
                                   : "read before the copy to it has landed",
                             at);
    if (!store && unknown)
        return report_unknown(r, p, st, writer, "missing barrier: read since written without one",
                              "wrote", at);
    if (reader >= 0)
        return report_unknown(r, p, st, clock_of_strand(p, reader),
                              "missing barrier: overwritten since read without one", "reads", at);
    if (store && unknown &&
        (writer != clock_of_strand(p, p->current) || (m->owner[at] && m->owner[at] != b->number)))
        return report_unknown(r, p, st, writer, "missing barrier: written twice without one",
                              "wrote", at);
    if (!store && m->owner[at] && m->owner[at] != b->number)
        return report_shared(r, p, st, "overlapping buffers: another buffer was written over this",
                             at);
    return true;
}

/* Bytes that a unit reads or writes on its own: what threads wrote there needs a fence to be seen,
 * and not to come later. */
static bool check_fenced(Run *r, const Program *p, const Step *st, const Program *of, int64_t at) {
    const SharedMemory *m = &of->shared;
    int writer = m->writer[at];
    if (!m->written[at] || strand_knows(p, clock_components(r) + writer, m->written[at]))
        return true;
    return report_shared(
        r, p, st, "missing async_fence: threads wrote it, and no fence lets this see that", at);
}

/* Bytes that the copy engine is to write: the loads of threads that have arrived since may not have
 * got there yet. */
static bool check_settled(Run *r, const Program *p, const Step *st, const Program *of, int64_t at) {
    for (int s = 0; s < r->nstrands; s++)
        if (of->shared.loaded[s][at] > of->strand[s].settled)
            return report_shared(r, p, st,
                                 "missing async_fence: threads read it, and neither a fence nor a "
                                 "barrier lets this come behind",
                                 at);
    return true;
}

/* Warpgroups' products read shared memory on their own, others' operands are loaded by threads; and
 * the copy engine does. */
static bool reads_on_its_own(const Op *op) {
    return op_is_async_store(op) ||
           (op->code == OP_DOT && (ir_attr(op, AT_WGMMA) || ir_attr_int(op, AT_ASYNC, 0)));
}

/* No dot or copy that is in flight may read there. */
static bool check_idle(Run *r, const Program *p, const Step *st, const Program *of, int64_t from,
                       int64_t to) {
    for (int s = 0; s < r->nstrands; s++)
        for (int i = 0; i < of->strand[s].nbusy; i++) {
            const BusyBytes *x = &of->strand[s].busy[i];
            if (x->from >= to || from >= x->to) continue;
            return report_unknown(r, p, st, clock_of_strand(of, s),
                                  x->store ? "overwritten while a copy out of it may read it"
                                           : "overwritten while a dot may read it",
                                  x->store ? "has a copy in flight that reads"
                                           : "has a dot in flight that reads",
                                  from);
        }
    return true;
}

/* Checks n bytes and notes the access; one call for each element or, in row-major order, for all.
 */
static bool touch(Run *r, Program *p, const Step *st, const SharedBuffer *b, int64_t at, int64_t n,
                  bool store) {
    bool check = run_checks(r, CHECK_RACES), on_its_own = reads_on_its_own(st->op);
    SharedMemory *m = &p->shared;
    uint32_t now = strand_of(p)->now;
    if (store && check && !check_idle(r, p, st, p, at, at + n)) return false;
    for (int64_t i = at; i < at + n; i++) {
        if (check && !check_byte(r, p, st, b, i, store)) return false;
        if (check && on_its_own && !check_fenced(r, p, st, p, i)) return false;
        if (!store) {
            m->read[p->current][i] = now;
            if (!on_its_own) m->loaded[p->current][i] = now;
            continue;
        }
        m->written[i] = now;
        m->writer[i] = (uint16_t)clock_of_strand(p, p->current);
        m->owner[i] = b->number;
    }
    return true;
}

void shared_read_by(Program *p, int64_t from, int64_t bytes) {
    for (int64_t i = from; i < from + bytes; i++) p->shared.read[p->current][i] = strand_of(p)->now;
}

bool shared_claim(Run *r, Program *p, const Step *st, Program *to, int64_t from, int64_t bytes) {
    if (!run_checks(r, CHECK_RACES)) return true;
    bool engine = st->op->code != OP_ASYNC_COPY;
    if (!check_idle(r, p, st, to, from, from + bytes)) return false;
    for (int64_t i = from; i < from + bytes; i++) {
        int reader = reader_unknown(r, p, to, NULL, i);
        if (reader >= 0)
            return report_unknown(r, p, st, clock_of_strand(to, reader),
                                  "missing barrier: overwritten since read without one", "reads",
                                  i);
        if (to->shared.coming[i] || write_unknown(p, to, i))
            return report_shared(r, p, st, "overwritten before it was read", i);
        if (engine && (!check_fenced(r, p, st, to, i) || !check_settled(r, p, st, to, i)))
            return false;
        to->shared.coming[i] = (uint16_t)(p->current + 1);
    }
    return true;
}

void shared_landed(Program *p, const SharedBuffer *b, int64_t at, int64_t bytes, int writer,
                   uint32_t time) {
    SharedMemory *m = &p->shared;
    for (int64_t i = at; i < at + bytes; i++) {
        m->data[i] = 0;
        m->coming[i] = 0;
        m->owner[i] = b->number;
        m->writer[i] = (uint16_t)writer;
        m->written[i] = time;
    }
}

/* ---- steps ---- */

static int64_t element_at(const SharedBuffer *b, int64_t base, int64_t e, size_t size) {
    return base + (b->offset_of ? b->offset_of[e] : e) * (int64_t)size;
}

bool step_shared_store(Run *r, Program *p, const Step *st) {
    const SharedBuffer *b = st->detail;
    const Tile *x = &p->tile[st->src[0]];
    Type t = ir_operand(st->op, 0)->type;
    size_t size = stored_bytes(t);
    int64_t base = shared_base(p, st, b, 1);
    bool all = !ir_attr(st->op, AT_LIVE);
    for (int64_t i = 0; i < b->lanes; i++) {
        int64_t at = element_at(b, base, i, size);
        if (!shared_has(b, i) || (!all && !desc_is_live(st->op, t, i))) continue;
        if (!touch(r, p, st, b, at, (int64_t)size, true)) return false;
        memcpy(p->shared.data + at, x->data + (size_t)i * size, size);
        if (x->tainted && x->taint[i] >= ORIGIN_UNINIT)
            memset(p->shared.owner + at, 0, size * sizeof *p->shared.owner);
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
    bool there = shared_has(b, e);
    if (there && !touch(r, p, st, b, at, (int64_t)size, false)) return false;
    if (there) memcpy(d->data + (size_t)i * size, p->shared.data + at, size);
    if ((!there || !p->shared.owner[at]) && run_checks(r, CHECK_UNINIT))
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

bool shared_take(Run *r, Program *p, const Step *st, const SharedBuffer *b, size_t size,
                 int64_t lanes, const uint8_t *marked, uint8_t *to) {
    int64_t base = shared_base(p, st, b, 1);
    for (int64_t i = 0; i < lanes; i++) {
        int64_t at = marked ? element_at(b, base, i, size) : base + i * (int64_t)size;
        if (marked && !marked[i]) continue;
        if (!touch(r, p, st, b, at, (int64_t)size, false)) return false;
        if (!p->shared.owner[at] && run_checks(r, CHECK_UNINIT))
            return report_shared(r, p, st, "uninitialised: nobody has written what is copied", at);
        memcpy(to + (size_t)i * size, p->shared.data + at, size);
    }
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
        p->shared.read[p->current][at] = strand_of(p)->now;
        p->shared.written[at] = strand_of(p)->now;
        p->shared.writer[at] = (uint16_t)clock_of_strand(p, p->current);
    }
    for (int64_t i = 0, bin; i < n; i++) {
        uint32_t count;
        if (!histogram_bin(r, p, st, 1, i, &bin, &worst)) return false;
        if (bin < 0) continue;
        uint8_t *at = p->shared.data + element_at(b, base, bin, size);
        memcpy(&count, at, size);
        count++;
        memcpy(at, &count, size);
    }
    if (worst >= ORIGIN_UNINIT) /* which bin was counted is not known */
        memset(p->shared.owner + base, 0, (size_t)b->bytes * sizeof *p->shared.owner);
    return true;
}
