/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* software_pipeline.c: loads of a loop -> copies through the slices of shared buffers, started
 * num_stages - 1 iterations ahead.
 *
 *     for i: x = load p; store x -> b; dot b; p += d
 * becomes
 *     for s < S-1: copy p -> b[s]; commit; p += d             (as long as iteration s exists)
 *     for i: wait for the oldest copies' token; barrier; dot b[r]
 *            copy p -> b[w]; commit; p += d; r, w = next slices
 *     wait for all tokens
 *
 * The one idea: what an address is made of (its slice, and the carried values that the slice needs)
 * is cloned into a prefetch slice that runs S-1 iterations ahead of the loop's own. One
 * barrier per iteration is enough: the stage a copy overwrites was read before the barrier that
 * precedes it. For an iteration that does not exist nothing is copied. (Under a false mask the
 * hardware would fill its stage with zeros, which takes longer than the copy: the last iterations
 * of a loop of 16 were slower by a third.)
 *
 * Copied are the loads whose values dots take, as they are or after arithmetic, and all loads of a
 * loop that names its num_stages. A value that only dots read is read from its stage; another is
 * loaded from there into the registers it was in. Where lanes cannot copy 4 bytes at once the load
 * stays a load of the prefetch slice, and its value is stored into the stage when the body is done.
 *
 * Dots of warpgroups are asynchronous: see pipeline_dots.c. */
#include "passes/software_pipeline.h"
#include "ir/buffer.h"
#include "ir/target.h"
#include "passes/cost.h"
#include "passes/exchange.h"

#include <string.h>

/* ---- the prefetch slice ahead ---- */

/* mask, where there is one, and exists, in the layout of `like`. */
static Value *prefetch_mask(Pipeline *p, Builder *b, Value *mask, Value *exists,
                            const Value *like) {
    Value *on = exists;
    if (type_is_tile(like->type)) {
        on = ir_given(b, OP_SPLAT, exists, type_with_shape(type_scalar(EL_I1), like->type));
        on->layout = like->layout;
    }
    if (!mask) return on;
    on = ir_binary(b, OP_AND, p->map[mask->id] ? p->map[mask->id] : mask, on);
    on->layout = like->layout;
    return on;
}

/* A load as it is in an iteration ahead, which may not exist: then it reads nothing. */
static Value *prefetch_load(Pipeline *p, Builder *b, const Op *load, Value *exists) {
    Value *x[3] = {load->operand[0].value, NULL, ir_operand(load, 2)};
    const Value *r = load->result[0];
    b->span = load->span;
    x[1] = prefetch_mask(p, b, ir_operand(load, 1), exists, x[0]);
    x[0] = p->map[x[0]->id] ? p->map[x[0]->id] : x[0];
    if (!x[2]) { /* nobody looks at it, but it should be some number */
        x[2] = ir_op(b, OP_CONST, NULL, 0, &r->type, 1, 0)->result[0];
        ir_set_attr(p->s, x[2]->def, AT_VALUE, 0);
        x[2]->layout = r->layout;
    } else if (p->map[x[2]->id]) {
        x[2] = p->map[x[2]->id];
    }
    Op *copy = ir_op_like(b, load, x, 3, NULL);
    copy->result[0]->layout = r->layout;
    return copy->result[0];
}

static Value *slice(Builder *b, const Copy *c, Value *number) {
    Value *x[] = {c->slices, number};
    Type t = type_in_space(c->type, SPACE_SHARED);
    Value *v = ir_op(b, OP_BUFFER_SLICE, x, 2, &t, 1, 0)->result[0];
    v->layout = c->layout;
    return v;
}

/* Emits one iteration's addresses and copies at b. `args` are the prefetch slice's carried values
 * (by number, NULL where not needed); they are moved on. exists: does the iteration exist? likely:
 * it nearly always does, so that is left to the masks, for which ptxas needs no branches. *token:
 * of the copies. Returns the first of them. */
static Op *prefetch_stage(Pipeline *p, Builder *b, Value *iv, Value **args, Value *stage,
                          Value *exists, bool likely, Value **token) {
    const Block *body = p->loop->region[0];
    memset(p->map, 0, p->size * sizeof *p->map);
    p->map[body->args[0]->id] = iv;
    for (int i = 0; i < p->loop->nresults; i++)
        if (p->carried[i]) p->map[body->args[1 + i]->id] = args[i];
    for (const Op *op = body->first; op; op = op->next) {
        if (op->nresults != 1 || !p->slice[op->result[0]->id]) continue;
        if (op->code == OP_LOAD)
            p->map[op->result[0]->id] = prefetch_load(p, b, op, exists);
        else
            ir_clone(b, op, p->map, p->size);
    }
    Value **on = arena_array(&p->s->arena, (size_t)p->copies.n, sizeof *on);
    for (int i = 0; i < p->copies.n; i++) {
        Copy *c = &p->copies.at[i];
        b->span = c->load->span;
        c->stage = slice(b, c, stage);
        if (c->plain)
            c->ahead = prefetch_load(p, b, c->load, exists);
        else if (likely)
            on[i] = prefetch_mask(p, b, ir_operand(c->load, 1), exists, c->load->operand[0].value);
        else if ((on[i] = ir_operand(c->load, 1)) && p->map[on[i]->id])
            on[i] = p->map[on[i]->id];
    }
    Op *first = NULL;
    Type token_type = type_token();
    Value **copied = arena_array(&p->s->arena, (size_t)p->copies.n, sizeof *copied);
    int n = 0;
    if (likely) exists = ir_const_int(b, type_scalar(EL_I1), 1);
    for (int i = 0; i < p->copies.n; i++) {
        Copy *c = &p->copies.at[i];
        if (c->plain) continue;
        Value *ptr = c->load->operand[0].value;
        Value *x[] = {p->map[ptr->id] ? p->map[ptr->id] : ptr, c->stage, exists, on[i]};
        b->span = c->load->span;
        Op *copy = ir_op(b, OP_ASYNC_COPY, x, on[i] ? 4 : 3, &token_type, 1, 0);
        copied[n++] = copy->result[0];
        if (!first) first = copy;
    }
    b->span = p->loop->span;
    Op *commit = ir_op(b, OP_ASYNC_COMMIT, copied, n, &token_type, 1, 0);
    *token = commit->result[0];
    for (int i = 0; i < p->loop->nresults; i++) {
        if (!p->carried[i]) continue;
        Value *next = body->last->operand[i].value;
        args[i] = p->map[next->id] ? p->map[next->id] : next;
    }
    return first ? first : commit;
}

/* What the prefetch slice loaded goes to its stages. */
static void prefetch_store(Pipeline *p, Builder *b) {
    for (int i = 0; i < p->copies.n; i++) {
        const Copy *c = &p->copies.at[i];
        if (c->plain) ir_binary(b, OP_SHARED_STORE, c->ahead, c->stage);
    }
}

static Value *scalar(Builder *b, Type t, int64_t v) {
    return ir_const_int(b, t, v);
}

/* How far a loop goes: as an unsigned number of the index's size, for what it walks over may be
 * longer than the index counts, and the index ahead may pass its type's end. */
typedef struct TripCount {
    Value *any;  /* there is an iteration */
    Value *last; /* the number of the last, from 0 */
} TripCount;

static TripCount trip_count_of(Pipeline *p, Builder *b) {
    Value *lo = p->loop->operand[0].value, *hi = p->loop->operand[1].value;
    int64_t step = 1;
    ir_int_constant(p->loop->operand[2].value, &step);
    Type t = type_with_elem(lo->type, type_elem_bytes(lo->type) == 8 ? EL_U64 : EL_U32);
    Value *from = step < 0 ? hi : lo, *to = step < 0 ? lo : hi;
    Value *way = ir_given(b, OP_BITCAST, ir_binary(b, OP_SUB, to, from), t);
    TripCount e = {ir_cmp(b, step < 0 ? PRED_GT : PRED_LT, lo, hi),
                   ir_binary(b, OP_SUB, way, scalar(b, t, 1))};
    if (step != 1 && step != -1)
        e.last = ir_binary(b, OP_DIV, e.last, scalar(b, t, step < 0 ? -step : step));
    return e;
}

/* Is there an iteration of this number? */
static Value *iteration_exists(Builder *b, TripCount e, int number) {
    if (number == 0) return e.any;
    Value *there = ir_cmp(b, PRED_GE, e.last, scalar(b, e.last->type, number));
    return ir_binary(b, OP_AND, there, e.any);
}

/* How many iterations there are beyond the first `ahead`. */
static Value *remaining_after(Builder *b, TripCount e, int ahead) {
    Type t = e.last->type;
    Value *left = ir_binary(b, OP_SUB, e.last, scalar(b, t, ahead - 1));
    return ir_op1(b, OP_SELECT, (Value *[]){iteration_exists(b, e, ahead), left, scalar(b, t, 0)},
                  3);
}

static Value *one_less(Builder *b, Value *left, Value *any) {
    Value *x[] = {any, ir_binary(b, OP_SUB, left, scalar(b, left->type, 1)), left};
    return ir_op1(b, OP_SELECT, x, 3);
}

/* Of two scalars the one of a program that is alone, or not. */
static Value *alone_or(const Pipeline *p, Builder *b, Value *alone, Value *else_) {
    return ir_op1(b, OP_SELECT, (Value *[]){p->alone, alone, else_}, 3);
}

static Value *next_stage(Builder *b, Value *stage, Value *stages) {
    Type i32 = type_scalar(EL_I32);
    Value *up = ir_binary(b, OP_ADD, stage, scalar(b, i32, 1));
    Value *end = ir_cmp(b, PRED_EQ, up, stages);
    Value *x[] = {end, scalar(b, i32, 0), up};
    return ir_op1(b, OP_SELECT, x, 3);
}

/* How many iterations ahead copies start with so many stages. */
static int ahead_with(const Pipeline *p, int stages) {
    return stages - 1 - p->slack;
}

void pipeline_land(Pipeline *p, Builder *b, int later) {
    Value *token = p->token[p->tokens - p->few + later];
    if (p->few < p->tokens) token = alone_or(p, b, p->token[later], token);
    ir_op(b, OP_ASYNC_WAIT, &token, 1, NULL, 0, 0);
    ir_op(b, OP_ASYNC_FENCE, NULL, 0, NULL, 0, 0);
}

/* ---- the new loop ---- */

static void alloc_slices(Pipeline *p, Builder *b, Copy *c) {
    c->type.slices = (uint16_t)p->stages;
    Op *alloc = ir_op(b, OP_BUFFER_ALLOC, NULL, 0, &c->type, 1, 0);
    if (p->alone) ir_set_attr(p->s, alloc, AT_ALONE, p->most);
    c->slices = alloc->result[0];
    c->slices->layout = c->layout;
    c->slices->name = c->load->result[0]->name;
}

/* The load's value now comes from its stage: dots read it there, others get it into registers. */
static void replace_load_by_stage(Pipeline *p, Builder *b, const Copy *c, Value *stage) {
    Value *r = c->load->result[0];
    if (c->store) {
        if (c->store->next->code == OP_ASYNC_FENCE) ir_erase(c->store->next);
        ir_erase(c->store);
        ir_replace_uses(c->buffer, stage);
        ir_erase(c->buffer->def);
        ir_erase(c->load);
        return;
    }
    b->span = c->load->span;
    Value *x = ir_given(b, OP_SHARED_LOAD, stage, r->type);
    x->layout = r->layout;
    x->name = r->name;
    if (c->load->noperands == 3 && !pipeline_is_zero(c->load->operand[2].value)) {
        /* The copy filled in zeros; the mask is worked out where the load was. */
        Builder there = {p->s, p->f, c->load->block, c->load, c->load->span};
        Value *s[] = {c->load->operand[1].value, x, c->load->operand[2].value};
        x = ir_op1(&there, OP_SELECT, s, 3);
        x->layout = r->layout;
    }
    ir_replace_uses(r, x);
    ir_erase(c->load);
}

/* The scalar outside of the loop that all of a tile's elements are; NULL: there is none. */
static Value *uniform(const Pipeline *p, Builder *b, const Value *v) {
    Value *x = ir_repeated(v);
    int64_t bits;
    if (ir_int_constant(x, &bits)) return ir_const_int(b, type_element(x->type), bits);
    if (type_is_tile(x->type)) return NULL;
    return ir_defined_outside(x, p->loop) ? x : NULL;
}

/* Pointers that each iteration moves on by the same number are what they were before the loop, and
 * a number that is counted: one for all of them, that GPUs keep with what all threads share.
 * Puts at b the scalars that they move on by: bytes, in 64 bits. */
static void find_inductions(Pipeline *p, Builder *b) {
    const Block *body = p->loop->region[0];
    for (int i = 0; i < p->loop->nresults; i++) {
        const Value *v = body->args[1 + i], *next = body->last->operand[i].value;
        if (!p->carried[i] || !type_is_tile(v->type) || !op_is(next, OP_ADDPTR) ||
            next->def->operand[0].value != v)
            continue;
        Value *by = uniform(p, b, next->def->operand[1].value);
        Type i64 = type_scalar(EL_I64);
        if (!by) continue;
        if (!type_equal(by->type, i64)) by = ir_given(b, OP_CAST, by, i64);
        int64_t bytes = type_elem_bytes(type_element(type_pointee(v->type)));
        by = ir_binary(b, OP_MUL, by, ir_const_int(b, i64, bytes));
        p->induction[i] = ir_unary(b, OP_HINT, by);
        ir_set_attr(p->s, p->induction[i]->def, AT_UNIFORM, 1);
    }
}

/* Tiles that are not counted so would come out of the branch that starts more copies: registers. */
static bool all_inductions(const Pipeline *p) {
    for (int i = 0; i < p->loop->nresults; i++)
        if (p->carried[i] && !p->induction[i] && type_is_tile(p->loop->result[i]->type))
            return false;
    return true;
}

/* start moved on by so many bytes. */
static Value *strength_reduced(Pipeline *p, Builder *b, Value *start, Value *by) {
    Value *x[] = {start, ir_given(b, OP_SPLAT, by, type_with_shape(by->type, start->type))};
    x[1]->layout = start->layout;
    Value *v = ir_op1(b, OP_ADDPTR, x, 2);
    ir_set_attr(p->s, v->def, AT_BYTES, 1);
    v->layout = start->layout;
    v->name = start->name;
    return v;
}

/* Starts the copies of iterations from..to-1, of which the first has the index iv and the prefetch
 * slice's carried values; these move on. token: of each. Returns the index after them. */
static Value *emit_prologue(Pipeline *p, Builder *b, TripCount trip_count, Value *iv,
                            Value **carried, int from, int to, Value **token) {
    for (int s = from; s < to; s++) {
        prefetch_stage(p, b, iv, carried, scalar(b, type_scalar(EL_I32), s),
                       iteration_exists(b, trip_count, s), s == 0, &token[s]);
        prefetch_store(p, b);
        iv = ir_binary(b, OP_ADD, iv, p->loop->operand[2].value);
    }
    return iv;
}

/* The stages that only a program that is alone has. start: what the loop begins with for each of
 * the prefetch slice's values, as it is without them and then as it is. */
static Value *deepen_prologue(Pipeline *p, Builder *b, TripCount trip_count, Value *iv,
                              Value **ahead, Value **start) {
    int n = p->loop->nresults, more = p->most - p->stages, at = 0;
    Value **in = arena_array(&p->s->arena, (size_t)n, sizeof *in);
    int all = n + 1 + p->tokens;
    Value **out = arena_array(&p->s->arena, (size_t)all, sizeof *out);
    Value **else_ = arena_array(&p->s->arena, (size_t)all, sizeof *else_);
    Type *types = arena_array(&p->s->arena, (size_t)all, sizeof *types);
    Value **token = arena_array(&p->s->arena, (size_t)p->tokens, sizeof *token);
    Type token_type = type_token();
    Value *done = ir_op(b, OP_TOKEN_DONE, NULL, 0, &token_type, 1, 0)->result[0];
    for (int i = 0; i < n; i++) {
        in[i] = ahead[i];
        if (!p->carried[i]) continue;
        else_[at] = start[i];
        types[at++] = start[i]->type;
    }
    else_[at] = iv;
    types[at++] = iv->type;
    for (int i = 0; i < p->tokens; i++) {
        int few = i - (p->tokens - p->few); /* those in flight are the newest */
        else_[at] = few < 0 ? done : p->token[few];
        types[at++] = token_type;
    }
    memcpy(token, p->token, (size_t)p->few * sizeof *token);
    Op *op = ir_op(b, OP_IF, &p->alone, 1, types, at, 2);
    Builder then = {p->s, p->f, op->region[0], NULL, b->span};
    Builder other = {p->s, p->f, op->region[1], NULL, b->span};
    Value *next = emit_prologue(p, &then, trip_count, iv, in, p->few, p->tokens, token);
    at = 0;
    for (int i = 0; i < n; i++) {
        if (!p->carried[i]) continue;
        Value *by = p->induction[i];
        out[at] = by ? ir_binary(&then, OP_MUL, by, scalar(&then, by->type, more)) : in[i];
        op->result[at]->layout = start[i]->layout;
        op->result[at]->name = start[i]->name;
        start[i] = op->result[at++];
    }
    Value *index = op->result[at];
    out[at++] = next;
    for (int i = 0; i < p->tokens; i++) {
        p->token[i] = op->result[at];
        out[at++] = token[i];
    }
    ir_op(&then, OP_YIELD, out, at, NULL, 0, 0);
    ir_op(&other, OP_YIELD, else_, at, NULL, 0, 0);
    return index;
}

/* Behind optimisation barriers: those of the values that are integers of so many bits. Of 32 are
 * the scalars that a pipeline carries beside the index. LLVM would work them out from it where they
 * are used, between matrix instructions, whose descriptors hold the uniform registers; where it
 * does not see the first it counts them. Of 64 are the numbers that the pointers move on by. LLVM
 * sees none of them, or it counts pointers, each on its own, or makes of them products that ptxas
 * multiplies out anew in each iteration: an IMAD.WIDE for each copy, between matrix instructions,
 * is 10 % of the time of 128x128x64. */
static void make_opaque(Pipeline *p, Builder *b, Value **v, int n, int bits) {
    for (int i = 0; i < n; i++) {
        Type t = v[i]->type;
        if (t.space || t.rank || t.depth || !type_is_int(t) || type_elem_bits(t) != bits) continue;
        const char *name = v[i]->name;
        v[i] = ir_unary(b, OP_HINT, v[i]);
        v[i]->name = name;
        ir_set_attr(p->s, v[i]->def, AT_OPAQUE, 1);
    }
}

static void expand_pipeline(Pipeline *p) {
    Op *old = p->loop;
    Block *was = old->region[0];
    Arena *a = &p->s->arena;
    int n = old->nresults, extra = 0;
    Builder b = {p->s, p->f, old->block, old, old->span};
    find_inductions(p, &b);
    if (p->most && all_inductions(p)) {
        Type i1 = type_scalar(EL_I1);
        p->alone = ir_op(&b, OP_ALONE, NULL, 0, &i1, 1, 0)->result[0];
    }
    for (int i = 0; i < p->copies.n; i++) alloc_slices(p, &b, &p->copies.at[i]);
    Value **ahead = arena_array(a, (size_t)n, sizeof *ahead);
    for (int i = 0; i < n; i++) ahead[i] = old->operand[3 + i].value;
    Type i32 = type_scalar(EL_I32);
    Value *lo = old->operand[0].value, *step = old->operand[2].value, *iv = lo;
    TripCount trip_count = trip_count_of(p, &b);
    int far = ahead_with(p, p->stages), farther = p->alone ? ahead_with(p, p->most) : far;
    p->few = far;
    p->tokens = farther;
    p->token = arena_array(a, (size_t)farther, sizeof *p->token);
    iv = emit_prologue(p, &b, trip_count, iv, ahead, 0, far, p->token);
    Value **start = arena_array(a, (size_t)n, sizeof *start), *left, *write;
    for (int i = 0; i < n; i++)
        start[i] = p->induction[i] ? scalar(&b, p->induction[i]->type, 0) : ahead[i];
    left = remaining_after(&b, trip_count, far);
    write = scalar(&b, i32, far);
    Value *stages = scalar(&b, i32, p->stages);
    if (p->alone) {
        iv = deepen_prologue(p, &b, trip_count, iv, ahead, start);
        left = alone_or(p, &b, remaining_after(&b, trip_count, farther), left);
        write = alone_or(p, &b, scalar(&b, i32, farther), write);
        stages = alone_or(p, &b, scalar(&b, i32, p->most), stages);
    }
    if (p->lands_first) {
        pipeline_land(p, &b, 0);
        ir_op(&b, OP_BARRIER, NULL, 0, NULL, 0, 0);
    }
    /* Carried: what was, the prefetch slice's values, its index, how many iterations it has to go,
     * the stages read and written next, and the tokens of the copies in flight. */
    Value **in = arena_array(a, (size_t)(2 * n + 4 + p->tokens), sizeof *in);
    for (int i = 0; i < n; i++) in[i] = old->operand[3 + i].value;
    int at = n;
    for (int i = 0; i < n; i++)
        if (p->carried[i]) in[at++] = start[i];
    in[at++] = iv;
    in[at++] = left;
    in[at++] = scalar(&b, i32, 0);
    in[at++] = write;
    for (int i = 0; i < p->tokens; i++) in[at++] = p->token[i];
    extra = at - n;
    make_opaque(p, &b, in, at, 32);
    Op *loop = ir_for(&b, lo, old->operand[1].value, step, in, at);
    Block *body = loop->region[0];
    Value *index = body->args[0], **arg = body->args + 1;
    index->name = was->args[0]->name;
    Value **mine = arena_array(a, (size_t)n, sizeof *mine);
    at = n;
    Value **count = arena_array(a, (size_t)n, sizeof *count);
    for (int i = 0; i < n; i++) {
        mine[i] = p->carried[i] ? arg[at++] : NULL;
        if (p->induction[i]) count[i] = mine[i];
        if (!arg[i]->layout) arg[i]->layout = was->args[1 + i]->layout;
    }
    Value *index_ahead = arg[at], *read = arg[at + 2];
    left = arg[at + 1], write = arg[at + 3];
    memcpy(p->token, arg + at + 4, (size_t)p->tokens * sizeof *p->token);
    Builder in_body = {p->s, p->f, body, NULL, old->span};
    if (!p->lands_first) pipeline_land(p, &in_body, 0);
    /* What dots make of the stages' addresses need not wait for the barrier. */
    Value **from = arena_array(a, (size_t)p->copies.n, sizeof *from);
    for (int i = 0; i < p->copies.n; i++) from[i] = slice(&in_body, &p->copies.at[i], read);
    if (!p->lands_first) ir_op(&in_body, OP_BARRIER, NULL, 0, NULL, 0, 0);
    Value *exists = ir_cmp(&in_body, PRED_NE, left, scalar(&in_body, left->type, 0));
    for (int i = 0; i < n; i++)
        if (count[i]) mine[i] = strength_reduced(p, &in_body, ahead[i], count[i]);
    Value *token;
    Op *copies = prefetch_stage(p, &in_body, index_ahead, mine, write, exists, false, &token);
    Op *commit = body->last;
    for (int i = 0; i < p->copies.n; i++)
        replace_load_by_stage(p, &in_body, &p->copies.at[i], from[i]);
    /* The rest of the body moves over as it is. */
    ir_replace_uses(was->args[0], index);
    for (int i = 0; i < n; i++) ir_replace_uses(was->args[1 + i], arg[i]);
    Op *yield = was->last;
    while (was->first != yield) ir_append(body, was->first);
    Value **out = arena_array(a, (size_t)(n + extra), sizeof *out);
    for (int i = 0; i < n; i++) out[i] = yield->operand[i].value;
    ir_erase(yield);
    if (p->first_mma) pipeline_place_waits(p, body, arg, out, copies, commit);
    prefetch_store(p, &in_body);
    at = n;
    for (int i = 0; i < n; i++)
        if (p->carried[i])
            out[at++] = count[i] ? ir_binary(&in_body, OP_ADD, count[i], p->induction[i]) : mine[i];
    out[at++] = ir_binary(&in_body, OP_ADD, index_ahead, step);
    out[at++] = one_less(&in_body, left, exists);
    out[at++] = next_stage(&in_body, read, stages);
    out[at++] = next_stage(&in_body, write, stages);
    for (int i = 0; i + 1 < p->tokens; i++) out[at++] = p->token[i + 1];
    out[at++] = token;
    make_opaque(p, &in_body, out, at, 64);
    ir_op(&in_body, OP_YIELD, out, at, NULL, 0, 0);
    Value **deferred_result = arena_array(a, (size_t)n, sizeof *deferred_result);
    int ndeferred = pipeline_deferred(p, loop->result, deferred_result);
    for (int i = 0; i < n; i++) {
        Value *r = loop->result[i];
        if (p->deferred[i]) r = pipeline_wait_dot(p, &b, r, deferred_result, ndeferred);
        ir_replace_uses(old->result[i], r);
    }
    ir_op(&b, OP_ASYNC_WAIT, loop->result + n + extra - p->tokens, p->tokens, NULL, 0, 0);
    ir_erase(old);
}

/* ---- which loops ---- */

static void look_for_loop(Op *op, void *found) {
    if (op->code == OP_FOR || op->code == OP_WHILE) *(bool *)found = true;
}

static void look_for_dot(Op *op, void *found) {
    if (op->code == OP_DOT) *(bool *)found = true;
}

typedef struct Room { /* shared memory that the loop needs besides its stages */
    const Pipeline *p;
    int64_t bytes, scratch;
} Room;

static bool lies_behind(const Op *op, const Op *at) {
    for (const Op *o = at->next; o; o = o->next)
        if (o == op || ir_inside(op, o)) return true;
    return false;
}

/* Does the buffer need its bytes while the loop runs: for the loop, for what follows it, or for
 * the next turn of a loop around it (place.c)? */
static bool lives_with(const Value *v, const Op *loop) {
    for (const Op *at = loop; at; at = at->block->parent) {
        bool turns = at->code == OP_FOR || at->code == OP_WHILE;
        if (ir_inside(v->def, at) || lies_behind(v->def, at)) continue;
        for (const Use *u = v->uses; u; u = u->next)
            if ((turns && ir_inside(u->op, at)) || lies_behind(u->op, at)) return true;
    }
    return false;
}

static void look_for_room(Op *op, void *ctx) {
    Room *room = ctx;
    const Op *loop = room->p->loop;
    bool within = ir_inside(op, loop);
    int64_t scratch = within ? exchange_bytes(op) : 0;
    if (scratch > room->scratch) room->scratch = scratch;
    if (within && op->code == OP_CONVERT &&
        layout_move_kind(op->result[0]->layout, op->operand[0].value->layout) == MOVE_SHARED) {
        scratch = type_bytes(op->result[0]->type);
        if (scratch > room->scratch) room->scratch = scratch;
    }
    if (op->code != OP_BUFFER_ALLOC) return;
    const Value *v = op->result[0];
    for (int i = 0; i < room->p->copies.n; i++)
        if (room->p->copies.at[i].buffer == v) return;
    if (within || lives_with(v, loop))
        room->bytes += type_bytes(v->type) * buffer_slices(op, false);
}

/* A stage is a slice of each copy's buffer; place.c puts them together. */
static void plan_stage(Pipeline *p) {
    int64_t all = 0;
    for (int i = 0; i < p->copies.n; i++) all += type_bytes(p->copies.at[i].type);
    p->stage_bytes =
        p->copies.n > 1 ? (all + COST_STAGE_ALIGN - 1) / COST_STAGE_ALIGN * COST_STAGE_ALIGN : all;
}

/* As many stages as were asked for, or as fit. */
static bool limit_stages(Pipeline *p, int64_t others) {
    int64_t most = p->ctx->target->max_shared - others, stage = p->stage_bytes;
    int asked = p->stages;
    if (stage * p->stages > most) p->stages = most < stage ? 0 : (int)(most / stage);
    if (p->stages < asked)
        diag(&p->s->diags, DIAG_PERF, p->loop->span,
             "a stage of this loop takes %lld bytes of shared memory, of which %s has %lld for it: "
             "%d stage%s instead of %d",
             (long long)stage, p->ctx->target->name, (long long)(most < 0 ? 0 : most),
             p->stages < 2 ? 1 : p->stages, p->stages < 2 ? "" : "s", asked);
    return p->stages >= 2;
}

static void look_for_load(Op *op, void *found) {
    if (op->code == OP_LOAD && op->result[0]->layout) *(bool *)found = true;
}

/* A loop that was to be pipelined, and why it is not: where no load of it has said so. */
static void refuse_loop(PassCtx *ctx, const Op *loop, const char *why) {
    diag(&ctx->s->diags, DIAG_PERF, loop->span, "this loop is not pipelined: %s", why);
}

static void visit(Op *loop, void *ctx_) {
    PassCtx *ctx = ctx_;
    if (loop->code != OP_FOR && loop->code != OP_WHILE) return;
    Block *turn = loop->region[loop->nregions - 1];
    bool inner = false, dot = false, load = false;
    ir_walk(turn, look_for_loop, &inner);
    ir_walk(turn, look_for_dot, &dot);
    ir_walk(turn, look_for_load, &load);
    bool asked = ir_attr(loop, AT_NUM_STAGES) != NULL;
    int stages = (int)ir_attr_int(loop, AT_NUM_STAGES, dot ? ctx->f->num_stages : 1);
    int64_t step;
    if (stages < 2 || !load || !ctx->target->async_copy) return;
    if (inner) { /* around a pipelined loop it is as it should be */
        if (asked) refuse_loop(ctx, loop, "there is a loop inside it");
        return;
    }
    if (loop->code == OP_WHILE || !ir_int_constant(loop->operand[2].value, &step)) {
        refuse_loop(ctx, loop,
                    loop->code == OP_WHILE ? "only `for` loops are"
                                           : "its step is not known while compiling");
        return;
    }
    Arena *a = &ctx->s->arena;
    Pipeline p = {.ctx = ctx, .s = ctx->s, .f = ctx->f, .loop = loop, .stages = stages};
    p.size = ctx->f->nvalues;
    p.axis = axis_analyse(ctx->s, ctx->f);
    p.slice = arena_alloc(a, p.size);
    p.for_dots = arena_alloc(a, p.size);
    p.worked_on = arena_alloc(a, p.size);
    p.carried = arena_alloc(a, (size_t)loop->nresults);
    p.induction = arena_array(a, (size_t)loop->nresults, sizeof *p.induction);
    p.map = arena_array(a, p.size, sizeof *p.map);
    pipeline_find_copies(&p, asked);
    if (!p.copies.n && !p.refused)
        refuse_loop(ctx, loop, "no load of its body, outside of branches, goes into a dot");
    Room room = {.p = &p};
    ir_walk(p.f->body, look_for_room, &room);
    plan_stage(&p);
    int64_t others = room.bytes + room.scratch;
    if (!p.copies.n || !limit_stages(&p, others)) return;
    p.deferred = arena_alloc(a, (size_t)loop->nresults);
    pipeline_plan_dots(&p);
    pipeline_plan_stages(&p, others);
    expand_pipeline(&p);
    ctx->changed = true;
}

void pass_software_pipeline(PassCtx *ctx) {
    ir_walk(ctx->f->body, visit, ctx);
}
