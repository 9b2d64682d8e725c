/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* warp_stores.c: a program's stores of blocks -> a role of one warp, which has the copy engine make
 * them out of shared memory, while the program goes on.
 *
 *     for t…: desc_store C, c, m, n
 * becomes, of two mbarriers for each part of the block and so many parts of its columns,
 *     consumer: for t…: wait empty; buffer = c; fence; arrive at full
 *     storer: for t…: wait full; async_desc_store C, buffer, m, n; await its read; arrive at empty
 *
 * A large block goes in two halves, so that the first is on its way while threads write the second.
 * One beside which the stages that were asked for have no room goes in parts that take each other's
 * place, of which threads wait for all but the first ones: a product of one round, or of rows that
 * begin within lines of memory, is faster for it (COST_HALVED_BYTES), one of short sums slower
 * where the next place's dots do not hide that (warp_epilogue.c).
 *
 * The consumer's warps do not wait for each other, and do not work out where the block goes: on an
 * H200 that, the barriers and starting the copy took half of what is between two tiles' products.
 * Others see the block when the grid is done, the program itself never knows: nothing else may
 * touch what it points into. */
#include "ir/analysis/alias.h"
#include "ir/desc.h"
#include "ir/effects.h"
#include "ir/roles.h"
#include "passes/cost.h"
#include "passes/warp_specialize.h"

typedef struct Look {
    const Op *store;
    bool alone; /* nothing else touches its tensor, or tells others what has been stored */
} Look;

static void look_around(Op *op, void *ctx) {
    Look *x = ctx;
    bool tells = op_is_atomic(op) || op->code == OP_INLINE_ASM || op->code == OP_GRID_LAUNCH;
    if (op == x->store || (!tells && !(ir_effects(op) & EFFECT_GLOBAL))) return;
    if (alias_is_of_workspace(op)) return;
    const Value *at = tells ? NULL : alias_underlying_object(op->operand[0].value);
    if (!at || at == alias_underlying_object(x->store->operand[0].value)) x->alone = false;
}

bool store_is_alone(const Func *f, const Op *store) {
    Look look = {store, alias_underlying_object(store->operand[0].value) != NULL};
    ir_walk(f->body, look_around, &look);
    return look.alone;
}

/* It is done once, or in a loop over places of the grid, which store in no order; maybe in one way
 * of a branch. The storer's warp can work out whether, and where. */
static bool is_anywhere(Specialize *x, const Op *store) {
    const Op *around = store->block->parent;
    for (int i = desc_first_index(store); i < store->noperands; i++)
        if (!is_scalar_work(x, store->operand[i].value)) return false;
    if (around && around->code == OP_IF) {
        if (!is_scalar_work(x, around->operand[0].value)) return false;
        around = around->block->parent;
        if (!around || !ir_attr_int(around, AT_PARALLEL, 0)) return false;
    }
    if (!around) return true;
    if (around->code != OP_FOR || !ir_attr_int(around, AT_PARALLEL, 0) || around->block->parent)
        return false;
    for (int i = 0; i < 3; i++)
        if (!is_scalar_work(x, around->operand[i].value)) return false;
    return true;
}

Value *store_buffer(Builder *b, const Op *store, int slices) {
    Type t = type_in_space(store->operand[1].value->type, SPACE_SHARED);
    t.slices = (uint16_t)slices;
    Value *buffer = shared_buffer(b, t);
    ir_copy_attr(b->s, store->operand[0].value->def, buffer->def, AT_LIVE);
    if (ir_attr(buffer->def, AT_LIVE)) ir_set_attr(b->s, buffer->def, AT_PACKED, 1);
    return buffer;
}

int64_t block_bytes(const Op *op) {
    return (desc_live_bytes(op->operand[0].value->def) + COST_STAGE_ALIGN - 1) / COST_STAGE_ALIGN *
           COST_STAGE_ALIGN;
}

/* seen: by value id, what has been looked at. */
static int dim_of_columns(const Value *v, uint8_t *seen, int depth) {
    enum { MOST_DEPTH = 64 };
    const Op *op = v->def;
    if (!op || v->type.rank != 2 || seen[v->id] || depth == MOST_DEPTH) return -1;
    seen[v->id] = 1;
    if (op->code == OP_FOR || op->code == OP_IF || op->code == OP_DOT) return 1;
    int found = -1;
    bool turned = op->code == OP_TRANS;
    for (int i = 0; i < op->noperands && found < 0 && (turned || op_is_pure_elementwise(op)); i++)
        found = dim_of_columns(op->operand[i].value, seen, depth + 1);
    return turned && found >= 0 && ir_attr(op, AT_ORDER)->dims[0] ? 1 - found : found;
}

int dim_of_sum_columns(const Specialize *x, const Value *v) {
    return dim_of_columns(v, arena_array(&x->s->arena, x->f->nvalues, sizeof(uint8_t)), 0);
}

/* The dimension along which the store's block can be cut into so many parts; -1: threads would have
 * to give each other elements for that, or lines of memory would be cut, too. */
static int dim_of_parts(const Specialize *x, const Op *store, int parts) {
    enum { ROWS = 16 }; /* of a warp */
    Type t = store->operand[1].value->type;
    int d = dim_of_sum_columns(x, store->operand[1].value);
    if (d < 0 || type_dim(t, d) < parts || type_dim(t, 1 - d) < ROWS * x->f->num_warps) return -1;
    const Op *desc = store->operand[0].value->def;
    int64_t size = type_dim(t, d) / parts, row = (d ? size : type_dim(t, 1)) * type_elem_bytes(t);
    /* What matters of the last part may be less, in boxes of their own: but these lie in parts of
     * one box only where those of all others do. */
    bool uneven = desc_live(desc, t, d) % size && desc_live(desc, t, 1 - d) < type_dim(t, 1 - d);
    return row < COST_LINE_BYTES || (uneven && row > COST_LINE_BYTES) ? -1 : d;
}

/* So many stages have room beside buffers of so many bytes. */
static bool leave_stages(const Specialize *x, int64_t bytes, int64_t stages) {
    int64_t turn = bytes_of_groups(x, ONE_STAGE);
    return x->f->num_warps >= COST_ROLES_CONSUMERS &&
           bytes + COST_STAGE_ALIGN + stages * turn <= x->ctx->target->max_shared;
}

static bool has_room_for(const Specialize *x, int64_t bytes) {
    return bytes <= COST_ROLES_REST || leave_stages(x, bytes, COST_STAGES_BESIDE);
}

/* Of a part, of which all matters, and of the rows beside it that a warpgroup stores with it. */
static int64_t part_bytes(const Op *store, int d) {
    enum { ROWS = 64 };
    const Op *desc = store->operand[0].value->def;
    Type t = desc->result[0]->type;
    int64_t rows = (desc_live(desc, t, 1 - d) + ROWS - 1) / ROWS * ROWS;
    if (rows > type_dim(t, 1 - d)) rows = type_dim(t, 1 - d);
    return rows * (type_dim(t, d) / STORE_PARTS) * type_elem_bytes(t);
}

/* A large block goes in halves, of which the second is written while the first is sent; one that
 * stages leave no room for in parts, through room for two of them, or for one. False: it has none.
 */
static bool find_parts(const Specialize *x, Store *st) {
    const Op *desc = st->op->operand[0].value->def;
    Type t = desc->result[0]->type;
    int64_t whole = block_bytes(st->op);
    bool held = cost_is_stored_as_held(st->op->operand[1].value->type);
    int asked = COST_STAGES_BESIDE, d = held ? -1 : dim_of_parts(x, st->op, STORE_PARTS);
    for (int i = 0; i < x->n; i++)
        if (x->group[i].stages > asked) asked = x->group[i].stages;
    int64_t sums = desc_live_bytes(desc) / type_elem_bytes(t) / (32 * x->consumers);
    if (sums > COST_PARTS_SUMS) d = -1;
    int64_t others = bytes_of_stores(x, st->op);
    bool room = has_room_for(x, others + whole);
    bool all = room && leave_stages(x, others + whole, asked);
    for (int stages = 2; stages && d >= 0 && !all; stages--) {
        int64_t bytes = stages * part_bytes(st->op, d);
        if (!leave_stages(x, others + bytes, room ? asked : COST_STAGES_BESIDE) || bytes > whole)
            continue;
        *st = (Store){.op = st->op, .bytes = bytes, .stages = stages, .cut = STORE_PARTS, .dim = d};
        return true;
    }
    if (!room) return false;
    d = whole < COST_HALVED_BYTES ? -1 : dim_of_parts(x, st->op, 2);
    bool halved = d >= 0 && desc_live(desc, t, d) == type_dim(t, d);
    st->bytes = whole;
    st->cut = st->stages = halved ? 2 : 1;
    st->dim = halved ? d : 0;
    return true;
}

static void find_store(Op *op, void *ctx) {
    Specialize *x = ctx;
    Store st = {.op = op};
    Layout l;
    if (op->code != OP_DESC_STORE || op->operand[desc_first_index(op)].value->type.rank ||
        x->nstores == MOST_STORES || !desc_layout(op->operand[0].value->def, &l) ||
        !is_anywhere(x, op) || !find_parts(x, &st) || !store_is_alone(x->f, op))
        return;
    st.inside = ways_of_roles(x, op);
    x->store[x->nstores++] = st;
}

void find_stores(Specialize *x) {
    enum { OTHERS = 2 }; /* warps besides the consumer's */
    bool many = x->f->num_warps >= COST_STORER_WARPS && x->f->num_warps + OTHERS <= MAX_WARPS;
    if (x->n && !x->refused && many) ir_walk(x->f->body, find_store, x);
}

static void count_store(Op *op, void *n) {
    *(int *)n += op->code == OP_DESC_STORE;
}

bool stores_all(const Specialize *x) {
    int n = 0;
    ir_walk(x->f->body, count_store, &n);
    return n == x->nstores;
}

/* ---- parts ---- */

/* The tensor in blocks of a part each, of which so many along d matter. */
static Value *part_desc(const Specialize *x, const Store *st, int64_t live) {
    Op *desc = st->op->operand[0].value->def;
    Builder b = {x->s, x->f, desc->block, desc->next, desc->span};
    Type block = desc->result[0]->type;
    Value *in[1 + 2 * DESC_MAX_RANK];
    int64_t all[TILE_MAX_RANK];
    for (int i = 0; i < block.rank; i++) all[i] = i == st->dim ? live : desc_live(desc, block, i);
    for (int i = 0; i < desc->noperands; i++) in[i] = desc->operand[i].value;
    for (int n = st->cut; n > 1; n /= 2) block.log2[st->dim]--;
    Op *part = ir_op_like(&b, desc, in, desc->noperands, &block);
    ir_drop_attr(part, AT_LIVE);
    desc_set_live(x->s, part, block, all);
    return part->result[0];
}

/* Threads hold each part in registers of its own. */
void take_parts(Builder *b, Value *v, int d, int n, Value **part) {
    Type half = v->type, apart = v->type, last;
    if (n == 1) {
        *part = v;
        return;
    }
    half.log2[d]--;
    apart.rank = 3;
    apart.log2[d] = 1;
    apart.log2[d + 1] = half.log2[d];
    if (!d) apart.log2[2] = half.log2[1];
    last = apart;
    last.log2[0] = half.log2[0];
    last.log2[1] = half.log2[1];
    last.log2[2] = 1;
    Value *at_end = ir_given(b, OP_TRANS, ir_given(b, OP_RESHAPE, v, apart), last);
    ir_set_dims(b->s, at_end->def, AT_ORDER, d ? (const int[]){0, 2, 1} : (const int[]){1, 2, 0},
                3);
    Op *split = ir_op(b, OP_SPLIT, &at_end, 1, (Type[]){half, half}, 2, 0);
    take_parts(b, split->result[0], d, n / 2, part);
    take_parts(b, split->result[1], d, n / 2, part + n / 2);
}

static void cut_store(Specialize *x, Store *st) {
    Op *store = st->op, *desc = store->operand[0].value->def;
    Builder b = {x->s, x->f, store->block, store, store->span};
    int at = desc_first_index(store) + st->dim;
    Type block = desc->result[0]->type;
    int64_t size = type_dim(block, st->dim) / st->cut, all = desc_live(desc, block, st->dim);
    Value *in[2 + DESC_MAX_RANK], *part[STORE_PARTS], *whole = part_desc(x, st, size);
    take_parts(&b, store->operand[1].value, st->dim, st->cut, part);
    for (int i = 0; i < store->noperands; i++) in[i] = store->operand[i].value;
    Value *index = in[at];
    for (int64_t i = 0, left = all; left > 0; i++, left -= size) {
        Value *by[] = {index, ir_const_int(&b, index->type, i * size)};
        in[0] = left < size ? part_desc(x, st, left) : whole;
        in[1] = part[i];
        in[at] = i ? ir_op1(&b, OP_ADD, by, 2) : index;
        st->part[st->nparts++] = ir_op_like(&b, store, in, store->noperands, NULL);
    }
    ir_erase(store);
}

void cut_stores(Specialize *x) {
    for (int k = 0; k < x->nstores; k++) {
        Store *st = &x->store[k];
        st->whole = st->op->operand[1].value;
        if (st->cut > 1)
            cut_store(x, st);
        else
            st->part[st->nparts++] = st->op;
    }
}

void make_store_buffers(Specialize *x, Builder *b) {
    for (int k = 0; k < x->nstores; k++) {
        Store *st = &x->store[k];
        st->buffer = store_buffer(b, st->part[0], st->stages);
        st->desc = st->part[0]->operand[0].value;
        if (st->part[st->nparts - 1]->operand[0].value != st->desc)
            ir_drop_attr(st->buffer->def, AT_PACKED); /* there are views of it */
        st->full = shared_barriers(b, st->stages, x->consumers);
        st->empty = shared_barriers(b, st->stages, 1);
    }
}

/* Where this part's block waits: of the last, of which less may matter, in boxes of its own. */
static Value *place_of_part(Builder *b, const Store *st, const Op *part, Turn t) {
    bool whole = part->operand[0].value == st->desc;
    return whole ? stage_slice(b, st->buffer, t.stage) : raw_stage(b, st->buffer, t);
}

Turn put_store(Specialize *x, Store *st, Op *op, Turn t) {
    Builder b = {x->s, x->f, op->block, op, op->span};
    Value *put[] = {op->operand[1].value, place_of_part(&b, st, op, t)};
    wait_stage(&b, st->empty, t);
    Op *store = ir_op(&b, OP_SHARED_STORE, put, 2, NULL, 0, 0);
    ir_copy_attr(x->s, op->operand[0].value->def, store, AT_LIVE);
    ir_op(&b, OP_ASYNC_FENCE, NULL, 0, NULL, 0, 0);
    arrive_at_stage(&b, st->full, t);
    t = next_turn(&b, t, st->stages);
    ir_erase(op);
    return t;
}

/* Behind the part by which all room is taken, or the last, the first of those that wait: the engine
 * has read it. */
static void give_back(Specialize *x, const Store *st, Builder *b) {
    int last = st->nsent - 1, first = st->nsent - st->stages;
    for (int i = first < 0 ? 0 : first; i <= (st->nsent == st->nparts ? last : first); i++) {
        ir_set_attr(x->s, ir_op(b, OP_ASYNC_WAIT, (Value *[]){st->sent[i]}, 1, NULL, 0, 0), AT_READ,
                    1);
        arrive_at_stage(b, st->empty, st->turn[i]);
    }
}

Turn send_store(Specialize *x, Store *st, Op *op, Turn t) {
    Builder b = {x->s, x->f, op->block, op, op->span};
    Value *in[2 + DESC_MAX_RANK];
    Type token = type_token();
    wait_stage(&b, st->full, t);
    in[0] = op->operand[0].value;
    in[1] = place_of_part(&b, st, op, t);
    for (int i = 2; i < op->noperands; i++) in[i] = op->operand[i].value;
    st->turn[st->nsent] = t;
    st->sent[st->nsent++] =
        ir_op(&b, OP_ASYNC_DESC_STORE, in, op->noperands, &token, 1, 0)->result[0];
    give_back(x, st, &b);
    t = next_turn(&b, t, st->stages);
    ir_erase(op);
    return t;
}
