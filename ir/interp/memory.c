/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* memory.c: loads and stores of the launch's buffers, with the checks of every access.
 *
 * Convention: an address is good when the element lies wholly in the buffer its parameter points
 * into, or, where an address's parameter is not known, in any buffer. The process is safe with all
 * checks off too: a load from nowhere gives 0 then, and a store to nowhere is dropped.
 * Lanes whose addresses follow one another are looked up and copied as one run. */
#include "base/whole.h"
#include "ir/interp/machine.h"

#include <string.h>

/* Bytes from `address` to the end of the buffer; 0 when it does not lie in it. */
static uint64_t bytes_from(const InterpBuffer *b, uint64_t address) {
    uint64_t at = address - (uint64_t)(uintptr_t)b->base;
    return at < b->bytes ? b->bytes - at : 0;
}

static const InterpBuffer *find_buffer(const Access *a, uint64_t address) {
    Run *r = a->r;
    const InterpLaunch *l = r->launch;
    int known = a->st->param < 0 ? -1 : r->param_buffer[a->st->param];
    if (known >= 0 && run_checks(r, CHECK_BOUNDS)) {
        const InterpBuffer *b = &l->buffer[known];
        return bytes_from(b, address) >= a->size ? b : NULL;
    }
    for (int i = -1; i < l->nbuffers; i++) {
        int at = i < 0 ? r->last_buffer : i;
        if (at >= l->nbuffers || bytes_from(&l->buffer[at], address) < a->size) continue;
        r->last_buffer = at;
        return &l->buffer[at];
    }
    return NULL;
}

static bool is_active(const Access *a, int64_t i) {
    return !a->mask || a->mask->data[i];
}

/* The lane's mask and address may be relied on. */
static bool check_lane(const Access *a, int64_t i) {
    if (a->mask && a->mask->tainted && a->mask->taint[i] >= ORIGIN_UNINIT)
        return report_taint(a->r, a->p, a->st, USED_MASK, a->mask->taint[i], a->type, i);
    if (a->address->tainted && a->address->taint[i] && is_active(a, i))
        return report_taint(a->r, a->p, a->st, USED_ADDRESS, a->address->taint[i], a->type, i);
    return true;
}

/* How many lanes from lane i on are active and one behind the other, at most `most`. */
static int64_t run_length(const Access *a, int64_t i, int64_t most) {
    const uint64_t *address = (const uint64_t *)(const void *)a->address->data;
    bool doubtful = a->address->tainted || (a->mask && a->mask->tainted);
    int64_t n = 1;
    if (most > a->lanes - i) most = a->lanes - i;
    while (n < most && !doubtful && is_active(a, i + n) &&
           address[i + n] == address[i] + (uint64_t)n * a->size)
        n++;
    return n;
}

bool access_next_run(const Access *a, int64_t *i, int64_t most, int64_t *n, const InterpBuffer **b,
                     uint8_t **at) {
    const uint64_t *address = (const uint64_t *)(const void *)a->address->data;
    for (*n = 0; *i < a->lanes; ++*i) {
        if (!check_lane(a, *i)) return false;
        if (is_active(a, *i)) break;
    }
    if (*i == a->lanes) return true;
    uint64_t first = address[*i];
    *b = find_buffer(a, first);
    if (!*b && run_checks(a->r, CHECK_BOUNDS)) return report_bounds(a->r, a->p, a->st, first, *i);
    if (first % a->size && run_checks(a->r, CHECK_ALIGN))
        return report_align(a->r, a->p, a->st, first, *i);
    *n = 1;
    if (!*b) return true;
    int64_t whole = (int64_t)(bytes_from(*b, first) / a->size);
    *n = run_length(a, *i, whole < most ? whole : most);
    *at = (*b)->base + (first - (uint64_t)(uintptr_t)(*b)->base);
    return true;
}

Access access_of(Run *r, Program *p, const Step *st, int mask_operand) {
    Type t = ir_operand(st->op, 0)->type;
    return (Access){
        .r = r,
        .p = p,
        .st = st,
        .address = &p->tile[st->src[0]],
        .value = st->nsrc > 1 ? &p->tile[st->src[1]] : NULL,
        .mask = st->nsrc > mask_operand ? &p->tile[st->src[mask_operand]] : NULL,
        .type = t,
        .size = stored_bytes(type_pointee(t)),
        .lanes = st->lanes,
    };
}

void access_mark(const Access *a, int64_t from, int64_t n, OriginKind kind) {
    Tile *d = &a->p->tile[a->st->dst[0]];
    uint16_t *taint = slot_taint(a->r, a->p, a->st->dst[0]);
    if (!d->tainted) memset(taint, 0, (size_t)a->lanes * sizeof *taint);
    uint16_t origin = run_origin(a->r, a->st->op, kind);
    for (int64_t i = from; i < from + n; i++) taint[i] = origin;
    d->tainted = true;
}

static void mark_unwritten(const Access *a, int64_t from, int64_t n, const uint8_t *written) {
    for (int64_t i = 0; i < n; i++)
        if (memchr(written + (size_t)i * a->size, 0, a->size))
            access_mark(a, from + i, 1, ORIGIN_UNWRITTEN);
}

/* What the load gives where nothing is loaded: `other`, else zeros that must not matter. */
static void fill_rest(const Access *a, Tile *d) {
    size_t all = (size_t)a->lanes * a->size;
    d->tainted = false;
    if (a->st->nsrc > 2) {
        const Tile *other = &a->p->tile[a->st->src[2]];
        memcpy(d->data, other->data, all);
        if (other->tainted)
            memcpy(slot_taint(a->r, a->p, a->st->dst[0]), other->taint,
                   (size_t)a->lanes * sizeof *other->taint);
        d->tainted = other->tainted;
    } else if (a->mask) {
        memset(d->data, 0, all);
        if (!run_checks(a->r, CHECK_UNINIT)) return;
        for (int64_t i = 0, n; i < a->lanes; i += n) {
            bool active = is_active(a, i);
            for (n = 1; i + n < a->lanes && is_active(a, i + n) == active;) n++;
            if (!active) access_mark(a, i, n, ORIGIN_MASKED_OFF);
        }
    }
}

static int buffer_number(const Access *a, const InterpBuffer *b) {
    return (int)(b - a->r->launch->buffer);
}

bool access_load(const Access *a, Tile *d) {
    bool uninit = run_checks(a->r, CHECK_UNINIT), is_bool = type_is_bool(type_pointee(a->type));
    const InterpBuffer *b = NULL;
    uint8_t *at = NULL;
    a->p->last_read = a->st->op;
    a->p->reads++;
    bool is_volatile = ir_attr(a->st->op, AT_VOLATILE) != NULL;
    if (is_volatile) a->p->polls++;
    for (int64_t i = 0, n;; i += n) {
        if (!access_next_run(a, &i, a->lanes, &n, &b, &at)) return false;
        if (n == 0) return true;
        uint8_t *to = d->data + (size_t)i * a->size;
        size_t bytes = (size_t)n * a->size;
        if (b && !races_access(a, buffer_number(a, b), (uint64_t)(at - b->base), bytes, RACE_READ))
            return false;
        if (b && b->foreign) a->p->foreign_reads++;
        if (!b)
            memset(to, 0, bytes);
        else if (b->foreign && is_volatile)
            for (size_t k = 0; k < bytes; k += a->size) whole_read(to + k, at + k, a->size);
        else
            memcpy(to, at, bytes);
        for (size_t k = 0; is_bool && k < bytes; k++) to[k] = to[k] != 0;
        if (d->tainted) memset(d->taint + i, 0, (size_t)n * sizeof *d->taint);
        if (!uninit || !b || !b->written) continue;
        const uint8_t *written = b->written + (at - b->base);
        if (memchr(written, 0, bytes)) mark_unwritten(a, i, n, written);
    }
}

bool step_load(Run *r, Program *p, const Step *st) {
    Access a = access_of(r, p, st, 1);
    Tile *d = &p->tile[st->dst[0]];
    fill_rest(&a, d);
    return access_load(&a, d);
}

bool access_store(const Access *a, const Tile *value) {
    const InterpBuffer *b = NULL;
    uint8_t *at = NULL;
    bool looked = false;
    a->p->writes++;
    a->r->changes++;
    for (int64_t i = 0, n;; i += n) {
        if (!access_next_run(a, &i, a->lanes, &n, &b, &at)) return false;
        if (n == 0) return true;
        if (!looked && n < a->lanes && !races_within(a, value)) return false;
        looked = true;
        for (int64_t k = i; value->tainted && k < i + n; k++)
            if (value->taint[k] >= ORIGIN_UNINIT)
                return report_taint(a->r, a->p, a->st, USED_STORED, value->taint[k], a->type, k);
        if (!b) continue;
        uint64_t bytes = (uint64_t)n * a->size;
        if (!races_access(a, buffer_number(a, b), (uint64_t)(at - b->base), bytes, RACE_WRITE))
            return false;
        memcpy(at, value->data + (size_t)i * a->size, (size_t)n * a->size);
        if (b->written) memset(b->written + (at - b->base), 1, (size_t)n * a->size);
    }
}

bool step_store(Run *r, Program *p, const Step *st) {
    Access a = access_of(r, p, st, 2);
    return access_store(&a, &p->tile[st->src[1]]);
}
