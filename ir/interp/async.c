/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* async.c: copies and dots that run behind the program: slices, groups, waits.
 *
 * A copy lands as late as it may: its bytes move when a wait asks for its group, and until then
 * they are under way, so that a read of them, or a write over them, is found, and a write over what
 * is copied. What an asynchronous dot reads is busy until a wait for it. So a pipelined program is
 * checked without a GPU. */
#include "ir/desc.h"
#include "ir/interp/machine.h"

#include <string.h>

struct AsyncCopy { /* in flight, or free for the next */
    AsyncCopy *next;
    const Step *st;
    const SharedBuffer *to;
    int64_t base;   /* of the slice */
    uint64_t group; /* how many groups of its strand came before it; the engine's: before its own */
    uint64_t number;  /* of its strand's */
    int strand;       /* who started it, */
    int64_t arrivals; /* at a barrier: no copy, but who arrives behind those before it, */
    uint32_t *clock;  /* knowing this */
    int64_t lanes, bytes, room, room_bytes;
    uint64_t *address;
    bool linear;              /* lanes go one behind the other, and are not the buffer's elements */
    uint8_t *active, *source; /* source: what was to be copied when it was started */
};

/* The first byte of the buffer as operand i of this step names it. */
int64_t shared_base(const Program *p, const Step *st, const SharedBuffer *b, int i) {
    if (b->slices < 2) return b->at;
    int64_t n = first_lane(&p->tile[st->src[i]], EL_I32);
    return b->at + (n < 0 || n >= b->slices ? 0 : n) * b->stride;
}

bool step_single_cta(Run *r, Program *p, const Step *st) {
    Tile *d = &p->tile[st->dst[0]];
    d->data[0] = r->launch->single_cta;
    d->tainted = false;
    return true;
}

/* Which slice the step's result is. */
static bool give_number(Program *p, const Step *st, int32_t n) {
    memcpy(p->tile[st->dst[0]].data, &n, sizeof n);
    p->tile[st->dst[0]].tainted = false;
    return true;
}

bool step_buffer_slice(Run *r, Program *p, const Step *st) {
    const SharedBuffer *b = st->detail;
    int32_t n = (int32_t)first_lane(&p->tile[st->src[1]], EL_I32);
    if (n < 0 || n >= b->slices)
        return report_shared(r, p, st, "no such slice of the buffer", b->at);
    return give_number(p, st, n);
}

bool step_buffer_view(Run *r, Program *p, const Step *st) {
    const SharedBuffer *b = st->detail;
    (void)r;
    return b->slices < 2 || give_number(p, st, (int32_t)first_lane(&p->tile[st->src[0]], EL_I32));
}

static AsyncCopy *new_copy(Run *r, int64_t lanes, int64_t bytes) {
    for (AsyncCopy **at = &r->free_copies; *at; at = &(*at)->next)
        if ((*at)->room >= lanes && (*at)->room_bytes >= bytes) {
            AsyncCopy *c = *at;
            *at = c->next;
            return c;
        }
    Arena *a = &r->s->arena;
    AsyncCopy *c = arena_alloc(a, sizeof *c);
    c->room = lanes;
    c->address = arena_array(a, (size_t)lanes, sizeof *c->address);
    c->active = arena_alloc(a, (size_t)lanes);
    c->room_bytes = bytes;
    c->source = arena_alloc(a, (size_t)bytes);
    c->clock = arena_array(a, 2 * (size_t)clock_components(r), sizeof *c->clock);
    return c;
}

AsyncCopy *async_copy_free(Run *r, AsyncCopy *c) {
    AsyncCopy *next = c->next;
    c->next = r->free_copies;
    r->free_copies = c;
    return next;
}

void async_drop_copies(Run *r, AsyncCopy **list) {
    while (*list) *list = async_copy_free(r, *list);
}

static void append(AsyncCopy **list, AsyncCopy *c) {
    while (*list) list = &(*list)->next;
    c->next = NULL;
    *list = c;
}

/* A copy that the strand starts, of as many lanes as the access has; its addresses and mask are to
 * be filled in. */
static AsyncCopy *begin_copy(Run *r, Program *p, const Access *a, const SharedBuffer *to,
                             int64_t base) {
    Strand *s = strand_of(p);
    AsyncCopy *c = new_copy(r, a->lanes, a->lanes * (int64_t)a->size);
    c->st = a->st;
    c->to = to;
    c->base = base;
    c->group = s->copy_groups;
    c->number = s->copies_started++;
    c->strand = p->current;
    c->arrivals = 0;
    c->lanes = a->lanes;
    c->bytes = a->lanes * (int64_t)a->size;
    c->linear = false;
    return c;
}

/* What is to be copied, as it is now. */
static bool note_source(const Access *a, AsyncCopy *c) {
    const InterpBuffer *from = NULL;
    uint8_t *at = NULL;
    for (int64_t i = 0, n = 1; n; i += n) {
        if (!access_next_run(a, &i, a->lanes, &n, &from, &at)) return false;
        if (from) memcpy(c->source + (size_t)i * a->size, at, (size_t)n * a->size);
    }
    return true;
}

static bool start_copy(Run *r, Program *p, const Step *st) {
    if (!first_lane(&p->tile[st->src[2]], EL_I1)) return true;
    Access a = access_of(r, p, st, 3);
    const SharedBuffer *b = st->detail;
    AsyncCopy *c = begin_copy(r, p, &a, b, shared_base(p, st, b, 1));
    memcpy(c->address, a.address->data, (size_t)a.lanes * sizeof *c->address);
    if (a.mask)
        memcpy(c->active, a.mask->data, (size_t)a.lanes);
    else
        memset(c->active, 1, (size_t)a.lanes);
    append(&strand_of(p)->copies, c);
    return note_source(&a, c) && shared_claim(r, p, st, p, c->base, b->bytes);
}

/* A token is the number of its group, from 1; 0: of what is done. Copies to memory count apart, and
 * one by the engine has a token of its own until a group names it. */
static const uint64_t STORE_TOKEN = UINT64_C(1) << 63, COPY_TOKEN = UINT64_C(1) << 62;
static const uint64_t NO_GROUP = UINT64_MAX;

static void give_token(Program *p, const Step *st, uint64_t group) {
    Tile *d = &p->tile[st->dst[0]];
    memcpy(d->data, &group, sizeof group);
    d->tainted = false;
}

static uint64_t group_of_token(const Program *p, const Step *st, int i) {
    uint64_t group;
    memcpy(&group, p->tile[st->src[i]].data, sizeof group);
    return group;
}

/* A copy that is awaited itself is a group of its own (see await_counts.c). */
static bool is_group(const Op *copy) {
    for (const Use *u = copy->result[0]->uses; u; u = u->next)
        if (u->op->code != OP_ASYNC_COMMIT) return true;
    return false;
}

bool step_async_copy(Run *r, Program *p, const Step *st) {
    give_token(p, st, strand_of(p)->copy_groups + 1);
    bool ok = start_copy(r, p, st);
    strand_of(p)->copy_groups += is_group(st->op);
    return ok;
}

bool step_token_done(Run *r, Program *p, const Step *st) {
    (void)r;
    give_token(p, st, 0);
    return true;
}

/* A copy reads memory at any time between its start and the wait for it. */
static bool report_changed(Run *r, const Program *p, const Step *st) {
    diag(&r->s->diags, C_WAIT, st->op->span,
         "what this copy reads was written between its start and the wait for it, in %s",
         report_program(r, p));
    return false;
}

/* An access as the copy made it. */
static Access access_of_copy(Run *r, Program *p, const AsyncCopy *c, const Tile *address,
                             const Tile *mask) {
    Type elem = type_element(type_in_space(ir_operand(c->st->op, 1)->type, SPACE_REGISTER));
    return (Access){
        .r = r,
        .p = p,
        .st = c->st,
        .address = address,
        .mask = mask,
        .type = type_with_shape(type_pointer_to(elem), ir_operand(c->st->op, 1)->type),
        .size = stored_bytes(elem),
        .lanes = c->lanes,
    };
}

static int64_t offset_of(const AsyncCopy *c, int64_t lane) {
    return c->to->offset_of && !c->linear ? c->to->offset_of[lane] : lane;
}

/* Its bytes come: written by that component of clocks at that time. */
static bool land(Run *r, Program *p, const AsyncCopy *c, int writer, uint32_t time) {
    const SharedBuffer *b = c->to;
    Tile address = {.data = (uint8_t *)c->address}, mask = {.data = c->active};
    Access a = access_of_copy(r, p, c, &address, &mask);
    memset(p->shared.coming + c->base, 0, (size_t)b->bytes * sizeof *p->shared.coming);
    for (int64_t e = 0; e < c->lanes; e++) { /* what no lane brings is zero */
        if (!c->linear && !shared_has(b, e)) continue;
        int64_t to = c->base + offset_of(c, e) * (int64_t)a.size;
        shared_landed(p, b, to, (int64_t)a.size, writer, time);
    }
    const InterpBuffer *from = NULL;
    uint8_t *at = NULL;
    p->last_read = c->st->op;
    p->reads++;
    for (int64_t i = 0, n;; i += n) {
        if (!access_next_run(&a, &i, a.lanes, &n, &from, &at)) return false;
        if (n == 0) return true;
        if (!from) continue;
        if (run_checks(r, CHECK_RACES) &&
            memcmp(c->source + (size_t)i * a.size, at, (size_t)n * a.size) != 0)
            return report_changed(r, p, c->st);
        uint64_t first = (uint64_t)(at - from->base);
        if (!races_access(&a, (int)(from - r->launch->buffer), first, (uint64_t)n * a.size,
                          RACE_READ))
            return false;
        for (int64_t e = i; e < i + n; e++) {
            int64_t to = c->base + offset_of(c, e) * (int64_t)a.size;
            memcpy(p->shared.data + to, at + (size_t)(e - i) * a.size, a.size);
            const uint8_t *written =
                from->written ? from->written + first + (size_t)(e - i) * a.size : NULL;
            if (written && memchr(written, 0, a.size))
                memset(p->shared.owner + to, 0, a.size * sizeof *p->shared.owner);
        }
    }
}

static bool is_engines(const AsyncCopy *c) {
    return c->st->op->code == OP_ASYNC_DESC_LOAD;
}

/* What the strand's threads began to copy before that one. */
static bool land_before(Run *r, Program *p, int strand, uint64_t number, int writer,
                        uint32_t time) {
    for (AsyncCopy **at = &p->strand[strand].copies; *at && (*at)->number < number;) {
        AsyncCopy *c = *at;
        if (is_engines(c)) {
            at = &c->next;
            continue;
        }
        bool ok = land(r, p, c, writer, time);
        *at = async_copy_free(r, c);
        if (!ok) return false;
    }
    return true;
}

bool step_async_commit(Run *r, Program *p, const Step *st) {
    Strand *s = strand_of(p);
    for (int i = 0; i < st->nsrc; i++)
        if (group_of_token(p, st, i) & STORE_TOKEN) {
            diag(&r->s->diags, C_WAIT, st->op->span,
                 "a group is of copies into buffers: wait for those to memory themselves, in %s",
                 report_program(r, p));
            return false;
        }
    for (AsyncCopy *c = s->copies; c; c = c->next)
        for (int i = 0; i < st->nsrc && is_engines(c); i++)
            if (group_of_token(p, st, i) == (COPY_TOKEN | c->number)) c->group = s->copy_groups;
    give_token(p, st, ++s->copy_groups);
    return true;
}

/* The newest group that the wait's tokens name, of copies or of stores. */
static uint64_t awaited_group(const Program *p, const Step *st, bool stores) {
    uint64_t newest = 0;
    for (int i = 0; i < st->nsrc; i++) {
        uint64_t group = group_of_token(p, st, i);
        if ((group & (STORE_TOKEN | COPY_TOKEN)) != (stores ? STORE_TOKEN : 0)) continue;
        if ((group & ~STORE_TOKEN) > newest) newest = group & ~STORE_TOKEN;
    }
    return newest;
}

/* Threads' copies land in order, so those of older groups, too; the engine's as they are named. */
static bool is_awaited(const Program *p, const Step *st, const AsyncCopy *c, uint64_t until) {
    if (!is_engines(c)) return c->group < until && c->strand == p->current;
    for (int i = 0; i < st->nsrc; i++) {
        uint64_t token = group_of_token(p, st, i);
        if (token == (COPY_TOKEN | c->number) || (c->group != NO_GROUP && token == c->group + 1))
            return true;
    }
    return false;
}

/* What the engine brings all threads see that have waited for it. Before it brings more there a
 * barrier has to come, as if they had read it: one that still waits could miss a phase. */
static bool land_awaited(Run *r, Program *p, const Step *st, AsyncCopy **at, uint64_t until) {
    while (*at) {
        AsyncCopy *c = *at;
        if (!is_awaited(p, st, c, until)) {
            at = &c->next;
            continue;
        }
        bool ok =
            land(r, p, c, clock_of_strand(p, p->current), is_engines(c) ? 0 : strand_of(p)->now);
        if (is_engines(c)) shared_read_by(p, c->base, c->to->bytes);
        *at = async_copy_free(r, c);
        if (!ok) return false;
    }
    return true;
}

/* ---- what is read behind the program ---- */

static void begin_reading(Program *p, BusyBytes x) {
    Strand *s = strand_of(p);
    if (s->nbusy < MOST_BUSY) s->busy[s->nbusy++] = x; /* no pass leaves more in flight */
}

/* Dots, or stores, whose group is below `until` read no more. Other warps may not be as far: a
 * barrier has to come before the bytes change. */
static void end_reading(Program *p, bool stores, uint64_t until) {
    Strand *s = strand_of(p);
    int kept = 0;
    for (int i = 0; i < s->nbusy; i++) {
        BusyBytes x = s->busy[i];
        if (x.store != stores || x.group >= until)
            s->busy[kept++] = x;
        else
            shared_read_by(p, x.from, x.to - x.from);
    }
    s->nbusy = kept;
}

/* ---- waits ---- */

/* How many groups are to be done: those that tokens name, or as many as counted, which has to be
 * enough. */
static bool groups_done(Run *r, Program *p, const Step *st, bool stores, uint64_t *until) {
    uint64_t awaited = awaited_group(p, st, stores);
    uint64_t groups = stores ? strand_of(p)->stores : strand_of(p)->copy_groups;
    AttrId id = stores ? AT_STORES : AT_PENDING;
    *until = awaited;
    if (!ir_attr(st->op, id)) return true;
    uint64_t pending = (uint64_t)ir_attr_int(st->op, id, 0);
    *until = groups < pending ? 0 : groups - pending;
    if (awaited <= *until || !run_checks(r, CHECK_RACES)) return true;
    diag(&r->s->diags, C_WAIT, st->op->span,
         "this wait lets %d groups of %s go on, the one that it is for among them, in %s",
         (int)pending, stores ? "copies to memory" : "copies", report_program(r, p));
    return false;
}

bool step_async_wait(Run *r, Program *p, const Step *st) {
    uint64_t copies, stores;
    if (!groups_done(r, p, st, false, &copies) || !groups_done(r, p, st, true, &stores))
        return false;
    end_reading(p, true, stores);
    return land_awaited(r, p, st, &strand_of(p)->copies, copies) &&
           land_awaited(r, p, st, &p->strand[0].copies, copies); /* begun before there were roles */
}

/* ---- at barriers ---- */

bool step_async_arrive(Run *r, Program *p, const Step *st) {
    int barrier = mbarrier_number(r, p, st, p, st->detail, 0);
    if (barrier < 0) return false;
    AsyncCopy *c = new_copy(r, 0, 0);
    c->bytes = 0;
    c->st = st;
    c->strand = p->current;
    c->number = strand_of(p)->copies_started;
    c->arrivals = (int64_t)strand_warps(r, p) * 32;
    memcpy(c->clock, strand_of(p)->knows, 2 * (size_t)clock_components(r) * sizeof *c->clock);
    append(&p->mbarrier[barrier].copies, c);
    return true;
}

bool async_land_at(Run *r, Program *p, const Step *st, int barrier) {
    Mbarrier *m = &p->mbarrier[barrier];
    AsyncCopy *c = m->copies;
    int writer = clock_of_mbarrier(r, p, barrier, !c->arrivals);
    int64_t arrivals = c->arrivals, bytes = c->bytes;
    m->copies = c->next;
    bool ok = arrivals
                  ? land_before(r, p, c->strand, c->number, writer, m->phase + 1) &&
                        mbarrier_arrive(r, p, st, barrier, arrivals, c->clock)
                  : land(r, p, c, writer, m->phase + 1) && mbarrier_bytes(r, p, st, barrier, bytes);
    async_copy_free(r, c);
    return ok;
}

/* The copy engine takes the block; else false after a report. */
static bool engine_takes(Run *r, const Program *p, const Step *st) {
    int first = desc_first_index(st->op);
    const DescValue *d = (const DescValue *)(const void *)p->tile[st->src[0]].data;
    int64_t size = (int64_t)stored_bytes(ir_operand(st->op, 0)->type);
    if (!desc_scalars_known(r, p, st, first) || !desc_fits_engine(r, p, st, d)) return false;
    int64_t inner = first_lane(&p->tile[st->src[st->nsrc - 1]], EL_I32) * size;
    if (inner % DESC_ALIGN == 0 || !run_checks(r, CHECK_ALIGN)) return true;
    diag(&r->s->diags, C_ALIGN, st->op->span,
         "misaligned: the block begins %lld bytes into its row in %s: that must be a multiple "
         "of %d",
         (long long)inner, report_program(r, p), DESC_ALIGN);
    return false;
}

/* The copy engine starts on the block, which lands in the program's shared memory with those of the
 * list. */
static bool start_desc_copy(Run *r, Program *p, const Step *st, Program *of, const SharedBuffer *to,
                            AsyncCopy **list) {
    if (!engine_takes(r, p, st)) return false;
    Access a = {.st = st, .lanes = to->lanes, .size = stored_bytes(ir_operand(st->op, 0)->type)};
    AsyncCopy *c = begin_copy(r, p, &a, to, shared_base(p, st, to, 1));
    desc_block(p, st, UINT32_MAX, c->lanes, c->address, c->active);
    c->bytes = desc_live_bytes(ir_operand(st->op, 0)->def);
    c->group = NO_GROUP;
    append(list, c);
    Tile address = {.data = (uint8_t *)c->address}, mask = {.data = c->active};
    a = access_of_copy(r, p, c, &address, &mask);
    return note_source(&a, c) && shared_claim(r, p, st, of, c->base, to->bytes);
}

bool step_async_desc_load(Run *r, Program *p, const Step *st) {
    Strand *s = strand_of(p);
    const DescPlan *plan = st->detail;
    give_token(p, st, COPY_TOKEN | s->copies_started);
    if (first_lane(&p->tile[st->src[2]], EL_I1))
        return start_desc_copy(r, p, st, p, plan->buffer, &s->copies);
    s->copies_started++; /* the next has another token */
    return true;
}

bool step_mbar_desc_load(Run *r, Program *p, const Step *st) {
    const DescPlan *plan = st->detail;
    bool all = ir_attr_int(st->op, AT_MULTICAST, 0);
    for (int rank = 0; rank < (all ? r->cluster : 1); rank++) {
        Program *of = all ? cluster_program(r, p, st, rank) : p;
        int barrier = of ? mbarrier_number(r, p, st, of, plan->barrier, 2) : -1;
        if (barrier < 0 ||
            !start_desc_copy(r, p, st, of, plan->buffer, &of->mbarrier[barrier].copies))
            return false;
        if (of != p) r->changes++;
    }
    return true;
}

/* Bytes of memory, as elements of the buffer one behind the other. */
bool step_mbar_fragment_load(Run *r, Program *p, const Step *st) {
    const DescPlan *plan = st->detail;
    const SharedBuffer *to = plan->buffer;
    const Tile *from = &p->tile[st->src[0]];
    size_t size = stored_bytes(type_in_space(ir_operand(st->op, 1)->type, SPACE_REGISTER));
    uint64_t at = (uint64_t)first_lane(from, EL_U64);
    int64_t bytes = ir_attr_int(st->op, AT_BYTES, 0), lanes = bytes / (int64_t)size;
    int barrier = mbarrier_number(r, p, st, p, plan->barrier, 2);
    if (barrier < 0) return false;
    Type pointer = ir_operand(st->op, 0)->type;
    if (from->tainted && from->taint[0])
        return report_taint(r, p, st, USED_ADDRESS, from->taint[0], pointer, 0);
    if (at % DESC_ALIGN && run_checks(r, CHECK_ALIGN)) return report_align(r, p, st, at, 0);
    Access a = {.st = st, .lanes = lanes, .size = size};
    AsyncCopy *c = begin_copy(r, p, &a, to, shared_base(p, st, to, 1));
    for (int64_t i = 0; i < lanes; i++) c->address[i] = at + (uint64_t)i * size;
    memset(c->active, 1, (size_t)lanes);
    c->linear = true;
    c->group = NO_GROUP;
    append(&p->mbarrier[barrier].copies, c);
    Tile address = {.data = (uint8_t *)c->address}, mask = {.data = c->active};
    a = access_of_copy(r, p, c, &address, &mask);
    return note_source(&a, c) && shared_claim(r, p, st, p, c->base, bytes);
}

/* ---- dots, and copies to memory ---- */

void async_dot_reads(Program *p, int64_t from, int64_t bytes) {
    begin_reading(p, (BusyBytes){from, from + bytes, strand_of(p)->dot_groups, false});
}

/* What the engine copies to memory is there at once, and its buffer read until it is awaited. */
bool step_async_desc_store(Run *r, Program *p, const Step *st) {
    const DescPlan *plan = st->detail;
    int64_t base = shared_base(p, st, plan->buffer, 1);
    Strand *s = strand_of(p);
    begin_reading(p, (BusyBytes){base, base + plan->buffer->bytes, s->stores, true});
    give_token(p, st, STORE_TOKEN | ++s->stores);
    return engine_takes(r, p, st) && desc_store_block(r, p, st, plan);
}

bool async_all_awaited(Run *r, const Program *p, const Step *st) {
    const char *left = NULL;
    for (int i = 0; i < r->nstrands && run_checks(r, CHECK_RACES); i++) {
        for (int k = 0; k < p->strand[i].nbusy; k++)
            if (p->strand[i].busy[k].store) left = "out of";
        for (const AsyncCopy *c = p->strand[i].copies; c; c = c->next)
            if (c->st->op->code == OP_ASYNC_DESC_LOAD) left = "into";
    }
    for (int i = 0; i < r->nmbarriers && run_checks(r, CHECK_RACES); i++)
        for (const AsyncCopy *c = p->mbarrier[i].copies; c; c = c->next)
            if (!c->arrivals) left = "into";
    if (!left) return true;
    diag(&r->s->diags, C_WAIT, st->op->span,
         "%s ends while the copy engine still copies %s its shared memory: nothing waits for that",
         report_program(r, p), left);
    return false;
}

bool step_async_dot(Run *r, Program *p, const Step *st) {
    strand_of(p)->dot_groups++;
    return step_dot(r, p, st);
}

bool step_dot_wait(Run *r, Program *p, const Step *st) {
    uint64_t pending = (uint64_t)ir_attr_int(st->op, AT_PENDING, 0);
    uint64_t groups = strand_of(p)->dot_groups;
    end_reading(p, false, groups < pending ? 0 : groups - pending);
    return step_copy(r, p, st);
}

/* What all these threads know to be written is visible to units that read on their own. */
bool step_async_fence(Run *r, Program *p, const Step *st) {
    Strand *s = strand_of(p);
    if (ir_attr_int(st->op, AT_GLOBAL, 0)) return true; /* nobody looks there at who has fenced */
    int n = clock_components(r);
    for (int i = 0; i < n; i++)
        if (s->knows[n + i] < s->knows[i]) s->knows[n + i] = s->knows[i];
    s->settled = s->now;
    s->knows[n + clock_of_strand(p, p->current)] = s->now++;
    return true;
}
