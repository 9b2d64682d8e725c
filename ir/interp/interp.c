/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* interp.c: sets programs up and moves them about: the entry of a launch, the start of a program,
 * the steps of control flow. Which program goes on when is sched.c's.
 *
 * Convention: a step returns false after a diagnostic, and that ends the run. Control flow is
 * assignment to the program's position; a loop's index is in its counter.
 * All memory is taken before a program's first step, apart from room for taint, which most runs
 * never need, and for races. */
#include "ir/interp/machine.h"

#include <string.h>

/* ---- taint ---- */

uint16_t *slot_taint(Run *r, Program *p, int slot) {
    Tile *t = &p->tile[slot];
    if (!t->taint) {
        size_t lanes = (size_t)r->slots.at[slot].lanes;
        t->taint = arena_array(&r->s->arena, lanes, sizeof *t->taint);
    }
    return t->taint;
}

uint16_t run_origin(Run *r, const Op *op, OriginKind kind) {
    int at = r->origins.n - 1;
    while (at >= 0 && (r->origins.at[at].op != op || r->origins.at[at].kind != kind)) at--;
    if (at < 0 && r->origins.n < ORIGINS_MAX) {
        at = r->origins.n;
        vec_push(&r->s->arena, &r->origins, ((Origin){op, kind}));
    } else if (at < 0) {
        for (at = 0; at < r->origins.n - 1 && r->origins.at[at].kind != kind;) at++;
    }
    return (uint16_t)((at + 1) | (kind == ORIGIN_WRAPPED ? 0 : ORIGIN_UNINIT));
}

static bool uninit(const Tile *t) {
    return t->tainted && t->taint[0] >= ORIGIN_UNINIT;
}

/* ---- control ---- */

int64_t first_lane(const Tile *t, Elem e) {
    switch (e) {
    case EL_I8: return *(const int8_t *)(const void *)t->data;
    case EL_I16: return *(const int16_t *)(const void *)t->data;
    case EL_I32: return *(const int32_t *)(const void *)t->data;
    case EL_U16: return *(const uint16_t *)(const void *)t->data;
    case EL_U32: return *(const uint32_t *)(const void *)t->data;
    case EL_I64:
    case EL_U64: return *(const int64_t *)(const void *)t->data;
    default: return t->data[0];
    }
}

bool step_nothing(Run *r, Program *p, const Step *st) {
    (void)r, (void)p, (void)st;
    return true;
}

bool step_copy(Run *r, Program *p, const Step *st) {
    const Tile *x = &p->tile[st->src[0]];
    Tile *d = &p->tile[st->dst[0]];
    size_t n = (size_t)step_width(p, st);
    memcpy(d->data, x->data, n * (size_t)elem_info[st->lane.result].bytes);
    if (x->tainted) memcpy(slot_taint(r, p, st->dst[0]), x->taint, n * sizeof *x->taint);
    d->tainted = x->tainted;
    return true;
}

bool step_jump(Run *r, Program *p, const Step *st) {
    (void)r;
    p->at = st->target;
    return true;
}

bool step_branch(Run *r, Program *p, const Step *st) {
    const Tile *x = &p->tile[st->src[0]];
    if (uninit(x)) return branch_unknown(r, p, st, USED_BRANCH, x->taint[0], type_scalar(EL_I1));
    if (!x->data[0]) p->at = st->target;
    return true;
}

bool step_return(Run *r, Program *p, const Step *st) {
    p->state = PROGRAM_DONE;
    return async_all_awaited(r, p, st);
}

/* for: src are first index, bound and step; the index is the counter's `at`. */

bool step_for_start(Run *r, Program *p, const Step *st) {
    for (int i = 0; i < st->nsrc; i++) {
        const Tile *x = &p->tile[st->src[i]];
        if (uninit(x))
            return branch_unknown(r, p, st, USED_BOUND, x->taint[0], type_scalar(EL_I32));
    }
    if (first_lane(&p->tile[st->src[2]], st->lane.elem) == 0) {
        diag(&r->s->diags, C_STEP, st->op->span, "the step of this loop is 0 in %s",
             report_program(r, p));
        return false;
    }
    p->counter[st->loop] = (Counter){.at = first_lane(&p->tile[st->src[0]], st->lane.elem)};
    return true;
}

bool step_for_test(Run *r, Program *p, const Step *st) {
    (void)r;
    Elem e = st->lane.elem;
    const Counter *c = &p->counter[st->loop];
    int64_t bound = first_lane(&p->tile[st->src[1]], e), step = first_lane(&p->tile[st->src[2]], e);
    bool more = e == EL_U64 ? (uint64_t)c->at < (uint64_t)bound
                : step > 0  ? c->at < bound
                            : c->at > bound;
    if (!more || c->past) {
        p->at = st->target;
        return true;
    }
    Tile *index = &p->tile[st->dst[0]];
    lane_cast(e, index->data, EL_I64, &c->at, 1, ROUND_NEAREST);
    index->tainted = false;
    return true;
}

bool step_for_next(Run *r, Program *p, const Step *st) {
    (void)r;
    Elem e = st->lane.elem;
    Counter *c = &p->counter[st->loop];
    uint64_t step = (uint64_t)first_lane(&p->tile[st->src[2]], e);
    int64_t before = c->at, after = (int64_t)((uint64_t)before + step);
    /* Narrower indices have room in 64 bits: one beyond its type is beyond every bound. */
    c->past =
        e == EL_U64 ? (uint64_t)after < (uint64_t)before : ((int64_t)step > 0) != (after > before);
    c->at = after;
    p->at = st->target;
    return true;
}

/* ---- programs ---- */

Program *program_new(Run *r) {
    Arena *a = &r->s->arena;
    size_t before = a->used;
    Program *p = arena_alloc(a, sizeof *p);
    p->tile = arena_array(a, (size_t)r->slots.n, sizeof *p->tile);
    for (int i = 0; i < r->slots.n; i++) p->tile[i].data = arena_alloc(a, r->slots.at[i].bytes);
    p->counter = arena_array(a, (size_t)r->ncounters, sizeof *p->counter);
    p->tag = arena_array(a, (size_t)r->naccesses, sizeof *p->tag);
    p->shared = shared_new(a, (size_t)r->shared_bytes, r->nstrands);
    strands_new(r, p);
    r->program_bytes = a->used - before;
    return p;
}

static void set_argument(Tile *t, Type type, InterpArg arg) {
    Elem e = stored_elem(type);
    uint64_t bits = type_is_pointer(type)           ? arg.p
                    : elem_info[e].class_ == ELEM_F ? elem_from_double(e, arg.f)
                                                    : (uint64_t)elem_wrap(e, arg.i);
    lane_cast(elem_info[e].bytes == 1   ? EL_U8
              : elem_info[e].bytes == 2 ? EL_U16
              : elem_info[e].bytes == 4 ? EL_U32
                                        : EL_U64,
              t->data, EL_U64, &bits, 1, ROUND_NEAREST);
    t->tainted = false;
}

void program_start(Run *r, Program *p, uint32_t x, uint32_t y, uint32_t z) {
    const InterpLaunch *l = r->launch;
    p->id[0] = x, p->id[1] = y, p->id[2] = z;
    p->number = (uint32_t)((z * (uint64_t)l->grid[1] + y) * l->grid[0] + x);
    p->at = 0;
    p->steps = 0;
    p->last_read = NULL;
    p->map = NULL;
    p->knows = NULL;
    p->clock = 1;
    memset(p->tag, 0, (size_t)r->naccesses * sizeof *p->tag);
    for (int i = 0; i < l->func->nparams; i++)
        if (r->param_slot[i] >= 0)
            set_argument(&p->tile[r->param_slot[i]], l->func->param[i].type, l->arg[i]);
    shared_clear(r, p);
    strands_start(r, p);
}

/* Which buffer a pointer argument lies in: of several, the one that has the parameter's name. A
 * pointer to a buffer's end is in it too if the names agree. */
static int buffer_of(const InterpLaunch *l, const Param *param, uint64_t address) {
    int found = -1;
    for (int i = 0; i < l->nbuffers; i++) {
        const InterpBuffer *b = &l->buffer[i];
        uint64_t at = address - (uint64_t)(uintptr_t)b->base;
        bool named = b->name && param->name && strcmp(b->name, param->name) == 0;
        if (named && at <= b->bytes) return i;
        if (found < 0 && at < b->bytes) found = i;
    }
    return found;
}

static void find_buffers(Run *r) {
    const InterpLaunch *l = r->launch;
    int n = l->func->nparams;
    r->param_buffer = arena_array(&r->s->arena, (size_t)n, sizeof *r->param_buffer);
    for (int i = 0; i < n; i++) {
        const Param *p = &l->func->param[i];
        bool pointer = type_is_pointer(p->type) && !p->is_none && r->param_slot[i] >= 0;
        r->param_buffer[i] = pointer ? buffer_of(l, p, l->arg[i].p) : -1;
    }
}

bool interp_run(Session *s, const InterpLaunch *launch) {
    Span where = launch->func->span;
    const char *unsound = ir_verify(s, launch->func, &where);
    if (unsound) {
        diag(&s->diags, E_TIR_UNSOUND, where, "%s", unsound);
        return false;
    }
    Run r = {.s = s, .launch = launch, .cluster = launch->cluster ? (int)launch->cluster : 1};
    if (launch->cluster > CLUSTER_PROGRAMS || launch->grid[0] % (uint32_t)r.cluster) {
        diag(&s->diags, C_CLUSTER, where,
             "clusters have 1 to %d programs on the CPU, and divide the grid's along x",
             CLUSTER_PROGRAMS);
        return false;
    }
    if (!interp_compile(&r)) return false;
    find_buffers(&r);
    races_init(&r);
    return interp_schedule(&r);
}
