/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* compile.c: a function's structured regions to the flat list of steps that a program runs.
 *
 * Convention: a value lives in one slot from its definition to its last use in its block, where a
 * use inside a nested region counts as one by the operation that has the region; then the slot is
 * free for the next value of the same size. What a region's arguments are set to is copied.
 * The hard part is those copies: `yield %b, %a` for arguments %a, %b overwrites one before it is
 * read, so a source that an earlier copy overwrites is saved first. */
#include "ir/interp/machine.h"
#include "ir/desc.h"
#include "ir/effects.h"
#include "ir/buffer.h"
#include "ir/roles.h"

#include <string.h>

typedef struct Compiler {
    Run *r;
    Arena *a;
    const Func *f;
    int *slot_of;             /* by value id; -1 */
    int *uses_left;           /* by value id */
    int *param_of;            /* by value id: the parameter a pointer comes from */
    SharedBuffer **shared;    /* by value id */
    VEC(int) holders;         /* by slot: how many values are kept in it */
    VEC(int) free;            /* slots nobody holds */
    VEC(const Value *) later; /* used up inside a region, of a block around it */
    const Block *block;
    int64_t width; /* capacity of a combining region's slots; 0: not in one */
    bool failed;
} Compiler;

static void fail(Compiler *c, const Op *op, const char *text) {
    if (!c->failed) diag(&c->r->s->diags, E_CPU_LACKS, op->span, "%s", text);
    c->failed = true;
}

/* ---- slots ---- */

static int new_slot(Compiler *c, size_t bytes, int64_t lanes) {
    Run *r = c->r;
    size_t whole = (bytes + 63) & ~(size_t)63;
    int slot = -1;
    for (int i = c->free.n - 1; i >= 0 && slot < 0; i--) {
        if (r->slots.at[c->free.at[i]].bytes != whole) continue;
        slot = c->free.at[i];
        c->free.at[i] = c->free.at[--c->free.n];
    }
    if (slot < 0) {
        slot = r->slots.n;
        vec_push(c->a, &r->slots, ((SlotInfo){.bytes = whole}));
        vec_push(c->a, &c->holders, 0);
    }
    if (lanes > r->slots.at[slot].lanes) r->slots.at[slot].lanes = lanes;
    c->holders.at[slot] = 1;
    return slot;
}

static int slot_for_type(Compiler *c, Type t) {
    if (t.space == SPACE_DESC) return new_slot(c, sizeof(DescValue), 1);
    if (type_is_buffer(t)) t = type_scalar(EL_I32); /* the number of a slice */
    int64_t lanes = c->width ? c->width : type_numel(t);
    return new_slot(c, (size_t)lanes * stored_bytes(t), lanes);
}

static void drop_slot(Compiler *c, int slot) {
    if (--c->holders.at[slot] == 0) vec_push(c->a, &c->free, slot);
}

static int define(Compiler *c, const Value *v) {
    return c->slot_of[v->id] = slot_for_type(c, v->type);
}

static void drop_value(Compiler *c, const Value *v) {
    int slot = c->slot_of[v->id];
    if (slot >= 0) drop_slot(c, slot);
}

/* op has been compiled: its operands are used once less. Arguments and parameters are dropped by
 * whoever made them, for a loop needs its arguments to the end. */
static void use_up(Compiler *c, const Op *op) {
    for (int i = 0; i < op->noperands; i++) {
        const Value *v = ir_operand(op, i);
        if (--c->uses_left[v->id] > 0 || !v->def) continue;
        if (v->def->block == c->block)
            drop_value(c, v);
        else
            vec_push(c->a, &c->later, v);
    }
    for (int i = 0; i < op->nresults; i++)
        if (c->uses_left[op->result[i]->id] == 0) drop_value(c, op->result[i]);
    if (!op->nregions) return;
    int kept = 0;
    for (int i = 0; i < c->later.n; i++) {
        const Value *v = c->later.at[i];
        if (v->def->block == c->block)
            drop_value(c, v);
        else
            c->later.at[kept++] = v;
    }
    c->later.n = kept;
}

static void count_uses(Compiler *c, const Block *b) {
    for (const Op *op = b->first; op; op = op->next) {
        for (int i = 0; i < op->noperands; i++) c->uses_left[ir_operand(op, i)->id]++;
        for (int i = 0; i < op->nregions; i++) count_uses(c, op->region[i]);
    }
}

/* ---- steps ---- */

static int emit(Compiler *c, const Step *st) {
    vec_push(c->a, &c->r->steps, *st);
    return c->r->steps.n - 1;
}

static Step *step_at(Compiler *c, int i) {
    return &c->r->steps.at[i];
}

static void set_target_here(Compiler *c, int step) {
    step_at(c, step)->target = c->r->steps.n;
}

static int *slots_of(Compiler *c, Value *const *v, int n) {
    int *at = arena_array(c->a, (size_t)n, sizeof *at);
    for (int i = 0; i < n; i++) at[i] = c->slot_of[v[i]->id];
    return at;
}

static int *slots_of_operands(Compiler *c, const Op *op, int first, int *n) {
    *n = op->noperands > first ? op->noperands - first : 0;
    int *at = arena_array(c->a, (size_t)*n, sizeof *at);
    for (int i = 0; i < *n; i++) at[i] = c->slot_of[ir_operand(op, first + i)->id];
    return at;
}

static int *one_slot(Compiler *c, int slot) {
    return arena_copy(c->a, &slot, sizeof slot);
}

static void emit_copy(Compiler *c, const Op *op, Type t, int dst, int src) {
    if (dst == src) return;
    if (type_is_buffer(t)) t = type_scalar(EL_I32);
    Step st = {.run = step_copy, .op = op, .nsrc = 1, .ndst = 1};
    st.lanes = c->width ? 0 : type_numel(t);
    st.src = one_slot(c, src);
    st.dst = one_slot(c, dst);
    st.lane.result = stored_elem(t);
    emit(c, &st);
}

/* Copies operands of `op` from `first` on to dst, as if all at once. */
static void emit_copies(Compiler *c, const Op *op, int first, const int *dst, int n) {
    int have;
    int *src = slots_of_operands(c, op, first, &have);
    VEC(int) saved = {0};
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++) {
            if (dst[k] != src[i] || dst[i] == src[i]) continue;
            Type t = ir_operand(op, first + i)->type;
            int slot = slot_for_type(c, t);
            vec_push(c->a, &saved, slot);
            emit_copy(c, op, t, slot, src[i]);
            src[i] = slot;
            break;
        }
    for (int i = 0; i < n; i++) emit_copy(c, op, ir_operand(op, first + i)->type, dst[i], src[i]);
    for (int i = 0; i < saved.n; i++) drop_slot(c, saved.at[i]);
}

static int emit_jump(Compiler *c, const Op *op, int target) {
    return emit(c, &(Step){.run = step_jump, .op = op, .target = target});
}

/* ---- structured operations ---- */

static void compile_op(Compiler *c, const Op *op);

/* The steps of a region up to its terminator, which is the caller's to act on, and then to pass to
 * leave_region. */
static const Op *enter_region(Compiler *c, const Block *b) {
    c->block = b;
    for (const Op *op = b->first; op && op != b->last && !c->failed; op = op->next)
        compile_op(c, op);
    c->block = b;
    return b->last;
}

static void leave_region(Compiler *c, const Block *b) {
    use_up(c, b->last);
    c->block = b->parent->block;
}

static int *define_all(Compiler *c, Value *const *v, int n) {
    for (int i = 0; i < n; i++) define(c, v[i]);
    return slots_of(c, v, n);
}

static void drop_args(Compiler *c, const Block *b) {
    for (int i = 0; i < b->nargs; i++) drop_value(c, b->args[i]);
}

static void compile_for(Compiler *c, const Op *op) {
    const Block *body = op->region[0];
    int *results = define_all(c, op->result, op->nresults);
    int *args = define_all(c, body->args, body->nargs), carried = body->nargs - 1, n;
    int *bounds = slots_of_operands(c, op, 0, &n);
    Step st = {.op = op, .loop = c->r->ncounters++, .src = bounds, .nsrc = 3, .dst = args};
    st.ndst = 1;
    st.lane.elem = stored_elem(ir_operand(op, 0)->type);
    st.lanes = 1;
    st.run = step_for_start;
    emit(c, &st);
    emit_copies(c, op, 3, args + 1, carried);
    st.run = step_for_test;
    int head = emit(c, &st);
    const Op *yield = enter_region(c, body);
    if (!c->failed) emit_copies(c, yield, 0, args + 1, carried);
    leave_region(c, body);
    st.run = step_for_next;
    st.target = head;
    emit(c, &st);
    set_target_here(c, head);
    for (int i = 0; i < carried; i++)
        emit_copy(c, op, op->result[i]->type, results[i], args[1 + i]);
    drop_args(c, body);
}

static int emit_branch(Compiler *c, const Op *op) { /* on operand 0; where it goes is set later */
    Step st = {.run = step_branch, .op = op, .lanes = 1, .nsrc = 1};
    st.src = one_slot(c, c->slot_of[ir_operand(op, 0)->id]);
    return emit(c, &st);
}

static void compile_if(Compiler *c, const Op *op) {
    int *results = define_all(c, op->result, op->nresults);
    int branch = emit_branch(c, op), jump = -1;
    for (int i = 0; i < op->nregions && !c->failed; i++) {
        const Op *yield = enter_region(c, op->region[i]);
        if (!c->failed) emit_copies(c, yield, 0, results, op->nresults);
        leave_region(c, op->region[i]);
        if (i > 0) break;
        jump = emit_jump(c, op, 0);
        set_target_here(c, branch);
    }
    if (jump >= 0) set_target_here(c, jump);
}

static void compile_while(Compiler *c, const Op *op) {
    const Block *test = op->region[0], *body = op->region[1];
    int *results = define_all(c, op->result, op->nresults);
    int *args = define_all(c, test->args, test->nargs);
    int *body_args = define_all(c, body->args, body->nargs);
    emit_copies(c, op, 0, args, test->nargs);
    int head = c->r->steps.n;
    const Op *condition = enter_region(c, test);
    if (c->failed) return;
    int branch = emit_branch(c, condition);
    emit_copies(c, condition, 1, body_args, body->nargs);
    int around = emit_jump(c, op, 0);
    set_target_here(c, branch);
    emit_copies(c, condition, 1, results, op->nresults);
    int leave = emit_jump(c, op, 0);
    leave_region(c, test);
    set_target_here(c, around);
    const Op *yield = enter_region(c, body);
    if (c->failed) return;
    Step next = {.run = step_while_next, .op = op, .loop = c->r->ncounters++, .dst = args};
    next.src = slots_of_operands(c, yield, 0, &next.nsrc);
    next.ndst = test->nargs;
    emit(c, &next);
    emit_copies(c, yield, 0, args, test->nargs);
    leave_region(c, body);
    emit_jump(c, op, head);
    set_target_here(c, leave);
    drop_args(c, test);
    drop_args(c, body);
}

/* The roles run in turns, so no value of one may have the slot of another's. What they do not use
 * is free again behind all of them. */
static void compile_roles(Compiler *c, const Op *op) {
    int *start = arena_array(c->a, (size_t)op->nregions, sizeof *start);
    int *end = arena_array(c->a, (size_t)op->nregions, sizeof *end);
    int kept = c->free.n;
    int *free = arena_copy(c->a, c->free.at, (size_t)kept * sizeof *free);
    int roles = emit(c, &(Step){.run = step_roles, .op = op, .detail = start});
    for (int r = 0; r < op->nregions && !c->failed; r++) {
        c->free.n = 0;
        start[r] = c->r->steps.n;
        const Op *yield = enter_region(c, op->region[r]);
        if (c->failed) return;
        end[r] = emit(c, &(Step){.run = step_role_end, .op = yield});
        leave_region(c, op->region[r]);
    }
    for (int r = 0; r < op->nregions; r++) set_target_here(c, end[r]);
    set_target_here(c, roles);
    c->free.n = 0;
    for (int i = 0; i < kept; i++) vec_push(c->a, &c->free, free[i]);
}

/* Operations with a step of their own; the rest are elementwise or structured. */
static StepFn *const step_fns[OPS] = {
    [OP_CONST] = step_const,
    [OP_ARANGE] = step_arange,
    [OP_PROGRAM_ID] = step_program_id,
    [OP_NUM_PROGRAMS] = step_program_id,
    [OP_WORK_SIZE] = step_program_id,
    [OP_STREAM_K] = step_launch_value,
    [OP_WORKSPACE] = step_launch_value,
    [OP_LAUNCH_MARK] = step_launch_value,
    [OP_FRAGMENT_STORE] = step_fragment_store,
    [OP_FRAGMENT_LOAD] = step_fragment_load,
    [OP_FRAGMENT_ADD] = step_fragment_add,
    [OP_MBAR_FRAGMENT_LOAD] = step_mbar_fragment_load,
    [OP_SINGLE_CTA] = step_single_cta,
    [OP_CLUSTER_RANK] = step_cluster_value,
    [OP_CLUSTER_SIZE] = step_cluster_value,
    [OP_CLUSTER_ID] = step_cluster_value,
    [OP_NUM_CLUSTERS] = step_cluster_value,
    [OP_CLUSTER_PLACE] = step_cluster_place,
    [OP_CLUSTER_BARRIER] = step_cluster_barrier,
    [OP_SPLAT] = step_splat,
    [OP_BROADCAST] = step_strided,
    [OP_TRANS] = step_strided,
    [OP_JOIN] = step_join,
    [OP_SPLIT] = step_split,
    [OP_GATHER] = step_gather,
    [OP_HISTOGRAM] = step_histogram,
    [OP_HINT] = step_hint,
    [OP_LAUNCH_NUMBER] = step_hint,
    [OP_DOT] = step_dot,
    [OP_LOAD] = step_load,
    [OP_STORE] = step_store,
    [OP_ATOMIC] = step_atomic,
    [OP_ATOMIC_CAS] = step_atomic_cas,
    [OP_ATOMIC_LOAD] = step_atomic_load,
    [OP_ATOMIC_STORE] = step_atomic,
    [OP_ATOMIC_POLL] = step_atomic_poll,
    [OP_GRID_WAIT] = step_nothing, /* grids run one after the other */
    [OP_GRID_LAUNCH] = step_nothing,
    [OP_INLINE_ASM] = step_inline_asm,
    [OP_PRINT] = step_print,
    [OP_ASSERT] = step_assert,
    [OP_ASSUME] = step_assert,
    [OP_SHARED_STORE] = step_shared_store,
    [OP_SHARED_LOAD] = step_shared_load,
    [OP_SHARED_GATHER] = step_shared_gather,
    [OP_SHARED_COUNT] = step_shared_count,
    [OP_BARRIER] = step_barrier,
    [OP_WARP_BARRIER] = step_warp_barrier,
    [OP_BUFFER_SLICE] = step_buffer_slice,
    [OP_BUFFER_TRANS] = step_buffer_view,
    [OP_BUFFER_REINTERPRET] = step_buffer_view,
    [OP_ASYNC_COPY] = step_async_copy,
    [OP_TOKEN_DONE] = step_token_done,
    [OP_ASYNC_COMMIT] = step_async_commit,
    [OP_ASYNC_WAIT] = step_async_wait,
    [OP_ASYNC_FENCE] = step_async_fence,
    [OP_ASYNC_ARRIVE] = step_async_arrive,
    [OP_MBAR_INIT] = step_mbar_init,
    [OP_MBAR_EXPECT] = step_mbar_expect,
    [OP_MBAR_ARRIVE] = step_mbar_arrive,
    [OP_MBAR_WAIT] = step_mbar_wait,
    [OP_ORDER_WAIT] = step_order_wait,
    [OP_ORDER_ARRIVE] = step_order_arrive,
    [OP_MAKE_DESC] = step_make_desc,
    [OP_ASYNC_DESC_LOAD] = step_async_desc_load,
    [OP_MBAR_DESC_LOAD] = step_mbar_desc_load,
    [OP_ASYNC_DESC_STORE] = step_async_desc_store,
    [OP_ASYNC_DESC_REDUCE] = step_async_desc_store,
    [OP_DESC_LOAD] = step_desc_load,
    [OP_DESC_STORE] = step_desc_store,
    [OP_DESC_REDUCE] = step_desc_reduce,
    [OP_DOT_WAIT] = step_dot_wait,
    [OP_RETURN] = step_return,
};

/* Plain arithmetic on scalars, which takes any number of lanes at once. */
static bool is_vector_region(const Block *b) {
    for (const Op *op = b->first; op != b->last; op = op->next) {
        bool plain = (op_traits(op) & TRAIT_E) && !step_fns[op->code];
        if ((!plain && op->code != OP_CONST) || op->result[0]->type.rank) return false;
    }
    return true;
}

/* Values from outside that a vector region uses get as many lanes as it is run on. Their own slots
 * are given back in old. */
static void widen_captured(Compiler *c, const Block *b, int *old) {
    for (const Op *op = b->first; op; op = op->next)
        for (int i = 0; i < op->noperands; i++) {
            const Value *v = ir_operand(op, i);
            if ((v->def ? v->def->block : v->block) == b || old[v->id] >= 0) continue;
            old[v->id] = c->slot_of[v->id];
            Step st = {.run = step_splat, .op = op, .nsrc = 1, .ndst = 1};
            st.src = one_slot(c, old[v->id]);
            st.dst = one_slot(c, define(c, v));
            st.lane.result = stored_elem(v->type);
            emit(c, &st);
        }
}

static void restore_captured(Compiler *c, int *old) {
    for (uint32_t i = 0; i < c->f->nvalues; i++) {
        if (old[i] < 0) continue;
        drop_slot(c, c->slot_of[i]);
        c->slot_of[i] = old[i];
    }
}

static int *no_slots(Compiler *c) {
    int *at = arena_array(c->a, c->f->nvalues, sizeof *at);
    for (uint32_t i = 0; i < c->f->nvalues; i++) at[i] = -1;
    return at;
}

/* The region of op, which has scalars, between a step that takes operands out of st->src and one
 * that puts what it yields into st->dst, at which it goes on with the first again; its number.
 * `width`: as many lanes at once; 0: one by one. -1 after a failure. */
static int compile_scalars(Compiler *c, const Op *op, Step st, StepFn *take, StepFn *keep,
                           int64_t width) {
    const Block *b = op->region[0];
    int *into = st.dst, ninto = st.ndst, *old = no_slots(c);
    c->width = width;
    st.dst = define_all(c, b->args, b->nargs), st.ndst = b->nargs;
    st.run = take;
    int head = emit(c, &st);
    if (width) widen_captured(c, b, old);
    const Op *yield = enter_region(c, b);
    if (c->failed) return -1;
    st.src = slots_of_operands(c, yield, 0, &st.nsrc), st.dst = into, st.ndst = ninto;
    st.run = keep, st.target = head;
    emit(c, &st);
    restore_captured(c, old);
    leave_region(c, b);
    c->width = 0;
    set_target_here(c, head);
    drop_args(c, b);
    return head;
}

/* REDUCE and SCAN. A reduction's work slots are shrunk step by step; a scan works in its results.
 */
static void compile_combine(Compiler *c, const Op *op) {
    const Block *b = op->region[0];
    bool reduce = op->code == OP_REDUCE;
    Type t = ir_operand(op, 0)->type;
    int axis = (int)ir_attr_int(op, AT_AXIS, 0), inner = 0, n = op->noperands, nsrc;
    for (int i = axis + 1; i < t.rank; i++) inner += t.log2[i];
    Combine *plan = arena_alloc(c->a, sizeof *plan);
    *plan = (Combine){.len = type_dim(t, axis), .inner_log2 = inner};
    plan->outer = type_numel(t) / plan->len >> inner;
    plan->vector = is_vector_region(b);
    plan->reverse = ir_attr_int(op, AT_REVERSE, 0) != 0;

    int *operands = slots_of_operands(c, op, 0, &nsrc);
    int *results = define_all(c, op->result, op->nresults), *work = results;
    if (reduce) {
        work = arena_array(c->a, (size_t)n, sizeof *work);
        for (int i = 0; i < n; i++) work[i] = slot_for_type(c, ir_operand(op, i)->type);
    }
    Step st = {.op = op, .lanes = type_numel(t), .loop = c->r->ncounters++, .detail = plan};
    st.src = operands, st.nsrc = nsrc, st.dst = work, st.ndst = n;
    st.run = reduce ? step_reduce_start : step_scan_start;
    emit(c, &st);

    int64_t at_once = type_numel(t) / plan->len * (reduce ? (plan->len + 1) / 2 : 1);
    st.src = work, st.nsrc = n;
    if (compile_scalars(c, op, st, reduce ? step_reduce_take : step_scan_take,
                        reduce ? step_reduce_keep : step_scan_keep, plan->vector ? at_once : 0) < 0)
        return;
    st.run = step_scan_finish, st.dst = results, st.ndst = op->nresults;
    if (!reduce) emit(c, &st);
    for (int i = 0; reduce && i < n; i++) {
        emit_copy(c, op, op->result[i]->type, results[i], work[i]);
        drop_slot(c, work[i]);
    }
}

static void compile_map(Compiler *c, const Op *op) {
    MapPlan *plan = arena_alloc(c->a, sizeof *plan);
    plan->vector = is_vector_region(op->region[0]);
    Step st = {.op = op, .loop = c->r->ncounters++, .detail = plan, .ndst = op->nresults};
    st.lanes = type_numel(ir_operand(op, 0)->type);
    st.src = slots_of_operands(c, op, 0, &st.nsrc);
    st.dst = plan->results = define_all(c, op->result, op->nresults);
    st.run = step_map_start;
    emit(c, &st);
    plan->head =
        compile_scalars(c, op, st, step_map_take, step_map_keep, plan->vector ? st.lanes : 0);
}

/* ---- plain operations ---- */

/* A matrix product may take operands out of shared memory: they are loaded just before it. */
static int load_operand(Compiler *c, const Op *op, const Value *v) {
    Type t = type_in_space(v->type, SPACE_REGISTER);
    Step st = {.run = step_shared_load, .op = op, .lanes = type_numel(t), .ndst = 1};
    st.detail = c->shared[v->id];
    st.lane.result = stored_elem(t);
    if (c->slot_of[v->id] >= 0) { /* one of several slices */
        st.src = one_slot(c, c->slot_of[v->id]);
        st.nsrc = 1;
    }
    int slot = slot_for_type(c, t);
    st.dst = one_slot(c, slot);
    emit(c, &st);
    return slot;
}

/* An operation on memory: its number, and the parameter its address comes from. */
static void note_access(Compiler *c, const Op *op, Step *st) {
    Run *r = c->r;
    st->param = c->param_of[ir_operand(op, 0)->id];
    st->access = r->naccesses++;
    if (op->code != OP_STORE && op->code != OP_DESC_STORE && op->code != OP_FRAGMENT_STORE) return;
    if (st->param >= 0)
        r->param_stored[st->param] = true;
    else
        r->stores_anywhere = true;
}

static const char *plan_of_desc(Compiler *c, const Op *op, const void **detail) {
    bool fragment = op->code == OP_MBAR_FRAGMENT_LOAD;
    if (!op->noperands || (ir_operand(op, 0)->type.space != SPACE_DESC && !fragment)) return NULL;
    DescPlan *plan = arena_alloc(c->a, sizeof *plan);
    *detail = plan;
    if (fragment) {
        plan->buffer = c->shared[ir_operand(op, 1)->id];
        plan->barrier = c->shared[ir_operand(op, 2)->id];
        return NULL;
    }
    if (desc_moves_buffer(op)) plan->buffer = c->shared[ir_operand(op, 1)->id];
    if (op->code == OP_MBAR_DESC_LOAD) plan->barrier = c->shared[ir_operand(op, 2)->id];
    bool fills = desc_moves_buffer(op) && !op_is_async_store(op); /* it lands later */
    return fills ? NULL : desc_plan(c->a, op, &plan->tile);
}

static void compile_plain(Compiler *c, const Op *op) {
    Step st = {.run = step_fns[op->code], .op = op, .param = INTERP_NO_PARAM};
    bool gives = op->nresults && !type_is_token(op->result[0]->type);
    Type of = gives               ? op->result[0]->type
              : op->noperands > 0 ? ir_operand(op, 0)->type
                                  : type_scalar(EL_I1);
    st.lanes = c->width ? 0 : type_numel(of);
    st.lane.result = stored_elem(of);
    if (!st.run) {
        st.run = step_lanes;
        if (!(op_traits(op) & TRAIT_E) || op->nresults != 1 || op->noperands > 3 ||
            !lane_op_find(op, &st.lane)) {
            fail(c, op,
                 arena_printf(c->a, "the CPU has no '%s' for these types", op_info[op->code].text));
            return;
        }
    }
    st.src = slots_of_operands(c, op, 0, &st.nsrc);
    VEC(int) loaded = {0};
    for (int i = 0; i < op->noperands; i++) {
        const Value *v = ir_operand(op, i);
        if (!type_is_buffer(v->type)) continue;
        st.detail = c->shared[v->id];
        if (op->code != OP_DOT) continue;
        vec_push(c->a, &loaded, st.src[i] = load_operand(c, op, v));
    }
    st.dst = define_all(c, op->result, op->nresults);
    st.ndst = op->nresults;
    if (op->noperands && ir_operand_effects(op, 0) & EFFECT_GLOBAL) note_access(c, op, &st);
    if (op->code == OP_ATOMIC_POLL) st.loop = c->r->ncounters++;
    const char *wrong = interp_plan(c->r, op, &st.detail);
    if (!wrong && op->code != OP_MAKE_DESC) wrong = plan_of_desc(c, op, &st.detail);
    if (wrong) fail(c, op, wrong);
    if (op->code == OP_DOT && ir_attr_int(op, AT_ASYNC, 0)) st.run = step_async_dot;
    emit(c, &st);
    for (int i = 0; i < loaded.n; i++) drop_slot(c, loaded.at[i]);
}

static void compile_op(Compiler *c, const Op *op) {
    switch (op->code) {
    case OP_FOR: compile_for(c, op); break;
    case OP_IF: compile_if(c, op); break;
    case OP_WHILE: compile_while(c, op); break;
    case OP_REDUCE:
    case OP_SCAN: compile_combine(c, op); break;
    case OP_MAP: compile_map(c, op); break;
    case OP_RESHAPE:
    case OP_CONVERT: { /* the same elements in the same order: the same slot */
        int slot = c->slot_of[ir_operand(op, 0)->id];
        c->slot_of[op->result[0]->id] = slot;
        c->holders.at[slot]++;
        break;
    }
    case OP_WARPS: compile_roles(c, op); break;
    case OP_BUFFER_ALLOC: break;
    default: compile_plain(c, op); break;
    }
    if (!c->failed) use_up(c, op);
}

bool interp_compile(Run *r) {
    const Func *f = r->launch->func;
    Compiler c = {.r = r, .a = &r->s->arena, .f = f};
    size_t n = f->nvalues;
    c.slot_of = no_slots(&c);
    c.uses_left = arena_array(c.a, n, sizeof *c.uses_left);
    r->param_slot = arena_array(c.a, (size_t)f->nparams, sizeof *r->param_slot);
    r->param_stored = arena_array(c.a, (size_t)f->nparams, sizeof *r->param_stored);
    for (int i = 0; i < f->nparams; i++) {
        const Value *v = f->param[i].value;
        r->param_slot[i] = -1;
        if (!v || v->def) continue;
        r->param_slot[i] = define(&c, v);
    }
    r->roles = roles_of(f);
    r->nstrands = 1 + (r->roles ? r->roles->nregions : 0);
    c.param_of = interp_trace(r);
    if (!c.param_of) return false; /* nested too deep for what follows */
    count_uses(&c, f->body);
    c.shared = interp_buffers(r);
    if (!c.shared) return false;
    c.block = f->body;
    for (const Op *op = f->body->first; op && !c.failed; op = op->next) compile_op(&c, op);
    return !c.failed;
}
