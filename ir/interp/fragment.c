/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fragment.c: tiles in memory as threads hold them, and what else the programs of one launch share:
 * here a fragment lies in row-major order, since nobody but a fragment_load of the same tile may
 * know. */
#include "ir/interp/machine.h"

#include <string.h>

enum { FRAGMENT_ALIGN = 16 };

struct FragmentPlan {
    Tile address;
    uint16_t *taint;
    Type pointers; /* to the tile's elements */
};

const void *fragment_plan(Arena *a, const Op *op) {
    FragmentPlan *plan = arena_alloc(a, sizeof *plan);
    plan->pointers = type_pointer_to(ir_operand(op, 1)->type);
    int64_t lanes = type_numel(plan->pointers);
    plan->address.data = arena_alloc(a, (size_t)lanes * sizeof(uint64_t));
    plan->address.taint = arena_array(a, (size_t)lanes, sizeof *plan->taint);
    return plan;
}

/* False: the address may not be relied on, or is no multiple of 16. */
static bool begin(Run *r, Program *p, const Step *st, Access *a) {
    /* A step that goes on has the plan's tiles to itself. */
    FragmentPlan *plan = (FragmentPlan *)st->detail;
    const Tile *base = &p->tile[st->src[0]];
    uint64_t at = (uint64_t)first_lane(base, EL_U64);
    uint64_t *address = (uint64_t *)(void *)plan->address.data;
    int64_t lanes = type_numel(plan->pointers);
    size_t size = stored_bytes(type_pointee(plan->pointers));
    for (int64_t i = 0; i < lanes; i++) address[i] = at + (uint64_t)i * size;
    plan->address.tainted = base->tainted && base->taint[0];
    for (int64_t i = 0; plan->address.tainted && i < lanes; i++)
        plan->address.taint[i] = base->taint[0];
    *a = (Access){.r = r,
                  .p = p,
                  .st = st,
                  .address = &plan->address,
                  .value = &p->tile[st->src[1]],
                  .type = plan->pointers,
                  .size = size,
                  .lanes = lanes};
    return at % FRAGMENT_ALIGN == 0 || !run_checks(r, CHECK_ALIGN) || report_align(r, p, st, at, 0);
}

bool step_fragment_store(Run *r, Program *p, const Step *st) {
    Access a;
    return begin(r, p, st, &a) && access_store(&a, a.value);
}

bool step_fragment_load(Run *r, Program *p, const Step *st) {
    Access a;
    Tile *d = &p->tile[st->dst[0]];
    if (!begin(r, p, st, &a)) return false;
    d->tainted = false;
    return access_load(&a, d);
}

typedef struct FragmentAdd {
    const SharedBuffer *buffer;
    size_t size;         /* of the buffer's elements */
    int64_t lanes, from; /* of the tile: what is added to */
    LaneOp add;
    uint8_t *part;
} FragmentAdd;

const void *fragment_add_plan(Arena *a, const Op *op, const SharedBuffer *buffer) {
    FragmentAdd *x = arena_alloc(a, sizeof *x);
    Type t = ir_operand(op, 0)->type;
    x->buffer = buffer;
    x->size = stored_bytes(type_in_space(ir_operand(op, 1)->type, SPACE_REGISTER));
    x->lanes = type_numel(t) / ir_attr_int(op, AT_CHUNKS, 1);
    x->from = x->lanes * ir_attr_int(op, AT_CHUNK, 0);
    x->part = arena_alloc(a, (size_t)x->lanes * stored_bytes(t));
    lane_op_of(OP_ADD, stored_elem(t), &x->add);
    return x;
}

bool step_fragment_add(Run *r, Program *p, const Step *st) {
    const FragmentAdd *x = st->detail;
    size_t size = stored_bytes(ir_operand(st->op, 0)->type);
    int64_t lanes = x->lanes * (int64_t)size / (int64_t)x->size;
    Tile *d = &p->tile[st->dst[0]];
    if (!step_copy(r, p, st) || !shared_take(r, p, st, x->buffer, x->size, lanes, NULL, x->part))
        return false;
    uint8_t *to = d->data + (size_t)x->from * size;
    const void *const src[] = {to, x->part};
    lane_op_run(&x->add, 2, to, src, x->lanes);
    return true;
}

/* STREAM_K, WORKSPACE and LAUNCH_MARK */
bool step_launch_value(Run *r, Program *p, const Step *st) {
    const InterpLaunch *l = r->launch;
    Tile *d = &p->tile[st->dst[0]];
    int64_t share = ir_attr_int(st->op, AT_SHARE, STREAM_K_PLACES);
    if (st->op->code == OP_STREAM_K)
        memcpy(d->data, &l->stream_k[share], sizeof l->stream_k[share]);
    else if (st->op->code == OP_WORKSPACE)
        memcpy(d->data, &l->workspace, sizeof l->workspace);
    else
        memcpy(d->data, &l->mark, sizeof l->mark);
    d->tainted = false;
    return true;
}
