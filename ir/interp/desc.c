/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* desc.c: descriptors: the addresses of a block of their tensor, and loads, stores and reductions
 * of it, with the checks of every other access. */
#include "ir/desc.h"
#include "ir/interp/machine.h"

#include <math.h>
#include <string.h>

static const DescValue *desc_of(const Program *p, const Step *st) {
    return (const DescValue *)(const void *)p->tile[st->src[0]].data;
}

bool desc_scalars_known(Run *r, const Program *p, const Step *st, int first) {
    for (int i = first; i < st->nsrc; i++) {
        const Tile *x = &p->tile[st->src[i]];
        Type t = ir_operand(st->op, i)->type;
        if (!t.rank && x->tainted && x->taint[0])
            return report_taint(r, p, st, USED_ADDRESS, x->taint[0], t, 0);
    }
    return true;
}

bool step_make_desc(Run *r, Program *p, const Step *st) {
    Type t = st->op->result[0]->type;
    int64_t bytes = (int64_t)stored_bytes(type_element(t));
    DescValue d = {.base = (uint64_t)first_lane(&p->tile[st->src[0]], EL_U64)};
    if (!desc_scalars_known(r, p, st, 0)) return false;
    for (int i = 0; i < t.rank; i++) {
        const Value *size = desc_size(st->op, i), *stride = desc_stride(st->op, i);
        d.size[i] = first_lane(&p->tile[st->src[1 + i]], (Elem)size->type.elem);
        int64_t n = first_lane(&p->tile[st->src[1 + t.rank + i]], (Elem)stride->type.elem);
        d.stride[i] = (int64_t)((uint64_t)n * (uint64_t)bytes);
    }
    memcpy(p->tile[st->dst[0]].data, &d, sizeof d);
    p->tile[st->dst[0]].tainted = false;
    return true;
}

bool desc_fits_engine(Run *r, const Program *p, const Step *st, const DescValue *d) {
    const char *wrong = d->base % DESC_ALIGN ? "its address must be a multiple of 16 bytes" : NULL;
    int rank = ir_operand(st->op, 0)->type.rank;
    for (int i = 0; i < rank; i++) {
        if (d->size[i] < 1) wrong = "each of its sizes must be 1 or more";
        if (i + 1 < rank && (d->stride[i] % DESC_ALIGN || d->stride[i] <= 0))
            wrong = "its strides must be multiples of 16 bytes";
    }
    int64_t row = d->size[rank - 1] * d->stride[rank - 1];
    if (op_is_async_store(st->op) && row % DESC_ALIGN) wrong = DESC_STORED_ROWS;
    if (!wrong || !run_checks(r, CHECK_ALIGN)) return true;
    const Op *made = ir_operand(st->op, 0)->def;
    diag(&r->s->diags, C_DESCRIPTOR, made->span,
         "the copy engine takes no descriptor of this tensor in %s: %s", report_program(r, p),
         wrong);
    return false;
}

/* Element e of a tile of integers, whatever their type. */
static int64_t number_at(const Tile *x, Elem elem, int64_t e) {
    Tile one = {.data = x->data + e * elem_info[elem].bytes};
    return first_lane(&one, elem);
}

void desc_block(const Program *p, const Step *st, uint32_t checked, int64_t lanes,
                uint64_t *address, uint8_t *active) {
    int first = desc_first_index(st->op);
    const DescValue *d = desc_of(p, st);
    Type t = ir_operand(st->op, 0)->type;
    int rows = ir_operand(st->op, first)->type.rank; /* a tile of their numbers */
    uint8_t order[TILE_MAX_RANK];                    /* elements are counted in the buffer's */
    const Op *desc = ir_operand(st->op, 0)->def;
    bool all = !ir_attr(desc, AT_LIVE);
    desc_order(st->op, order);
    for (int64_t e = 0; e < lanes; e++) {
        int below = 0;
        address[e] = d->base;
        active[e] = 1;
        for (int dim = t.rank - 1, i; dim >= 0; dim--, below += t.log2[i]) {
            i = order[dim];
            int64_t in_block = (e >> below) & (dim ? type_dim(t, i) - 1 : INT64_MAX);
            const Value *index = ir_operand(st->op, first + i);
            const Tile *x = &p->tile[st->src[first + i]];
            uint64_t at = (uint64_t)number_at(x, (Elem)index->type.elem, i || !rows ? 0 : in_block);
            if (i || !rows) at += (uint64_t)in_block;
            if (!all) active[e] &= in_block < desc_live(desc, t, i);
            if (checked >> i & 1)
                active[e] &=
                    (int64_t)at < d->size[i] && ((int64_t)at >= 0 || desc_goes_on(desc, i));
            address[e] += at * (uint64_t)d->stride[i];
        }
    }
}

/* What a block's addresses and mask, and what a buffer holds, are kept in while its step goes on.
 */
struct DescTile {
    Tile address, mask, value, old;
    uint16_t *taint;
    uint32_t checked;
    Type pointers;
    AtomicPlan atomic;
};

Type desc_pointer_type(const Op *op) {
    Value *row = ir_operand(op, desc_first_index(op));
    return type_pointer_to(desc_tile(ir_operand(op, 0)->type, &row));
}

const char *desc_plan(Arena *a, const Op *op, DescTile **plan) {
    DescTile *d = arena_alloc(a, sizeof *d);
    d->pointers = desc_pointer_type(op);
    int64_t lanes = type_numel(d->pointers);
    d->address.data = arena_alloc(a, (size_t)lanes * sizeof(uint64_t));
    d->mask.data = arena_alloc(a, (size_t)lanes);
    d->address.taint = arena_array(a, (size_t)lanes, sizeof *d->address.taint);
    d->checked = desc_checked_dims(op);
    *plan = d;
    Elem elem = stored_elem(type_pointee(d->pointers));
    if (op_is_async_store(op)) {
        Type t = type_in_space(ir_operand(op, 1)->type, SPACE_REGISTER);
        d->value.data = arena_alloc(a, (size_t)type_bytes(t));
    }
    if (!ir_attr(op, AT_RMW)) return NULL;
    d->old.data = arena_alloc(a, (size_t)lanes * stored_bytes(type_pointee(d->pointers)));
    return atomic_plan(op, elem, SEM_RELAXED, &d->atomic);
}

/* The row numbers' taint is that of what lies in the rows. */
static void taint_rows(const Tile *rows, int64_t nrows, DescTile *d, int64_t lanes) {
    d->address.tainted = rows->tainted;
    for (int64_t e = 0; rows->tainted && e < lanes; e++)
        d->address.taint[e] = rows->taint[e / (lanes / nrows)];
}

static bool access_of_desc(Run *r, Program *p, const Step *st, DescTile *d, Access *out) {
    int first = desc_first_index(st->op);
    int64_t lanes = type_numel(d->pointers);
    Type index = ir_operand(st->op, first)->type;
    if (!desc_scalars_known(r, p, st, first)) return false;
    desc_block(p, st, d->checked, lanes, (uint64_t *)(void *)d->address.data, d->mask.data);
    d->address.tainted = false;
    if (index.rank) taint_rows(&p->tile[st->src[first]], type_numel(index), d, lanes);
    *out = (Access){
        .r = r,
        .p = p,
        .st = st,
        .address = &d->address,
        .mask = &d->mask,
        .value = d->value.data ? &d->value : &p->tile[st->src[1]],
        .old = d->old.data ? &d->old : NULL,
        .type = d->pointers,
        .size = stored_bytes(type_pointee(d->pointers)),
        .lanes = lanes,
    };
    return true;
}

bool step_desc_load(Run *r, Program *p, const Step *st) {
    Access a;
    Tile *d = &p->tile[st->dst[0]];
    const Op *desc = ir_operand(st->op, 0)->def;
    const DescPlan *plan = st->detail;
    if (!access_of_desc(r, p, st, plan->tile, &a)) return false;
    memset(d->data, 0, (size_t)a.lanes * a.size);
    if (ir_attr_int(desc, AT_PADDING, PADDING_ZERO) == PADDING_NAN) {
        uint64_t nan = elem_from_double((Elem)ir_operand(st->op, 0)->type.elem, (double)NAN);
        for (int64_t i = 0; i < a.lanes; i++) memcpy(d->data + (size_t)i * a.size, &nan, a.size);
    }
    d->tainted = false;
    return access_load(&a, d);
}

bool step_desc_store(Run *r, Program *p, const Step *st) {
    Access a;
    const DescPlan *plan = st->detail;
    return access_of_desc(r, p, st, plan->tile, &a) && access_store(&a, a.value);
}

bool step_desc_reduce(Run *r, Program *p, const Step *st) {
    Access a;
    const DescPlan *plan = st->detail;
    return access_of_desc(r, p, st, plan->tile, &a) && access_atomic(&a, &plan->tile->atomic);
}

bool desc_store_block(Run *r, Program *p, const Step *st, const DescPlan *plan) {
    Access a;
    size_t size = stored_bytes(ir_operand(st->op, 0)->type);
    /* What lies beyond the tensor is not stored, and need not be known. */
    return access_of_desc(r, p, st, plan->tile, &a) &&
           shared_take(r, p, st, plan->buffer, size, plan->buffer->lanes, plan->tile->mask.data,
                       plan->tile->value.data) &&
           (ir_attr(st->op, AT_RMW) ? access_atomic(&a, &plan->tile->atomic)
                                    : access_store(&a, a.value));
}
