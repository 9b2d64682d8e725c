/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* await_phases.c: copies by descriptors, and waits for their tokens -> mbarriers and their phases.
 *
 * A group of such copies ends a phase of an mbarrier: one arrival, and the group's bytes; a group
 * whose condition does not hold ends none, and its token is of nothing. The function has an array
 * of them, one for each slice of the buffers that groups are known by (the first copy's) and for
 * each role that fills it, so a token is a number in it, its slot. Which phase of it a wait is for
 * one number says that goes through the function with the control flow: bit i is the parity of the
 * phase that the last group of slot i ends; all are 1 before, as of a phase that has ended. A wait
 * for a group whose slot was filled again waits for that one, which is more than it asks for and
 * never less.
 *
 * That a slice is not filled again before its last group has landed is what every schedule and the
 * interpreter check anyway; so is that no thread is two phases behind. Tokens of cp.async and of
 * copies to memory are left to await_counts.c; one that may be of either is waited for as both. */
#include "ir/buffer.h"
#include "ir/roles.h"
#include "passes/pass.h"

#include <string.h>

enum { COUNTED = 1, BY_ENGINE = 2, MOST_SLOTS = 32 };

typedef struct SlotBase {
    const Op *buffer;
    int role; /* that fills it: each counts phases of its own */
    int first;
} SlotBase;

typedef struct Token {
    uint8_t kind; /* what it may be of: groups that await_counts counts, copies by the engine */
    Value *slot;  /* i32, of the engine's */
} Token;

typedef struct Group { /* of copies, and what waits for the rest of it name instead */
    Op *op, **copy;
    int n;
    Value *left;
} Group;

typedef struct Phases {
    PassCtx *ctx;
    Arena *a;
    VEC(Token) token; /* by value id */
    VEC(SlotBase) base;
    VEC(Group) groups;
    int slots, nothing;     /* nothing: one that is never filled, or -1 */
    Value *barriers, *done; /* a token of what is done */
    bool any;               /* copy by a descriptor */
    bool changed;           /* some token's kind, in this round */
} Phases;

static Type i32(void) {
    return type_scalar(EL_I32);
}

static void refuse(Phases *p, const Op *op, const char *why) {
    diag(&p->ctx->s->diags, E_WAIT, op->span, "%s", why);
}

static Token *token_of(Phases *p, const Value *v) {
    while ((uint32_t)p->token.n <= v->id) vec_push(p->a, &p->token, (Token){0});
    return &p->token.at[v->id];
}

/* ---- what tokens are of ---- */

static bool join(Phases *p, const Value *to, unsigned kind) {
    if (!type_is_token(to->type)) return false;
    Token *t = token_of(p, to);
    unsigned was = t->kind;
    t->kind |= (uint8_t)kind;
    return t->kind != was;
}

static void join_flow(Value *from, Value *to, void *ctx) {
    Phases *p = ctx;
    p->changed |= join(p, to, token_of(p, from)->kind);
}

static void find_kind(Op *op, void *ctx) {
    Phases *p = ctx;
    ir_each_flow(op, join_flow, p);
    if (op->code == OP_ASYNC_DESC_LOAD) p->changed |= join(p, op->result[0], BY_ENGINE);
    if (op->code == OP_ASYNC_COPY || op_is_async_store(op) ||
        (op->code == OP_ASYNC_COMMIT && !op->noperands))
        p->changed |= join(p, op->result[0], COUNTED);
    for (int i = 0; i < op->noperands && op->code == OP_ASYNC_COMMIT; i++)
        join_flow(op->operand[i].value, op->result[0], p);
}

static void find_kinds(Phases *p) {
    do {
        p->changed = false;
        ir_walk(p->ctx->f->body, find_kind, p);
    } while (p->changed);
}

static bool is_engines(Phases *p, const Value *v) {
    return type_is_token(v->type) && token_of(p, v)->kind & BY_ENGINE;
}

/* ---- slots ---- */

static int first_slot(Phases *p, const Op *buffer, int role) {
    for (int i = 0; i < p->base.n; i++)
        if (p->base.at[i].buffer == buffer && p->base.at[i].role == role)
            return p->base.at[i].first;
    vec_push(p->a, &p->base, ((SlotBase){buffer, role, p->slots}));
    p->slots += buffer_slices(buffer);
    return p->base.at[p->base.n - 1].first;
}

/* A slot whose barrier no group comes to: who waits there goes on, however often others were filled
 * since. */
static Value *nothing_slot(Phases *p, Builder *b) {
    if (p->nothing < 0) p->nothing = p->slots++;
    return ir_const_int(b, i32(), p->nothing);
}

static Value *slot_of(Phases *p, Builder *b, const Value *v) {
    Value *slot = token_of(p, v)->slot;
    return slot ? slot : nothing_slot(p, b);
}

static Value *slot_value(Phases *p, Builder *b, const Op *copy) {
    const Value *slice = copy->operand[1].value;
    int first = first_slot(p, buffer_alloc(slice), role_of_block(copy->block));
    Value *base = ir_const_int(b, i32(), first);
    if (slice->def->code != OP_BUFFER_SLICE) return base;
    Value *number = slice->def->operand[1].value;
    if (!type_equal(number->type, i32())) number = ir_given(b, OP_CAST, number, i32());
    return first ? ir_binary(b, OP_ADD, number, base) : number;
}

static Value *barrier_at(Phases *p, Builder *b, Value *slot) {
    Value *in[] = {p->barriers, slot};
    Type t = type_barrier(0);
    return ir_op(b, OP_BUFFER_SLICE, in, 2, &t, 1, 0)->result[0];
}

/* ---- groups ---- */

static int64_t copied_bytes(const Op *copy) {
    return type_bytes(type_in_space(copy->operand[1].value->type, SPACE_REGISTER));
}

/* Equal for sure: one value, or made alike, as of conditions with one more each. */
static bool same_condition(const Value *x, const Value *y, int depth) {
    int64_t n, m;
    if (x == y) return true;
    if (ir_int_constant(x, &n) && ir_int_constant(y, &m)) return n == m;
    return depth && op_is(x, OP_AND) && op_is(y, OP_AND) &&
           same_condition(x->def->operand[0].value, y->def->operand[0].value, depth - 1) &&
           same_condition(x->def->operand[1].value, y->def->operand[1].value, depth - 1);
}

/* The copies of the group, by descriptors; -1 after an error. */
static int copies_of(Phases *p, const Op *group, Op **copy) {
    enum { DEEP = 4 };
    int n = 0;
    for (int i = 0; i < group->noperands; i++) {
        Value *v = group->operand[i].value;
        if (!is_engines(p, v)) continue;
        Op *op = v->def;
        if (!op || op->code != OP_ASYNC_DESC_LOAD || op->block != group->block || v->uses->next) {
            refuse(p, group, "a copy by a descriptor is of one group, where it is started");
            return -1;
        }
        if (n && !same_condition(op->operand[2].value, copy[0]->operand[2].value, DEEP)) {
            refuse(p, op, "the copies by descriptors of one group are under one condition");
            return -1;
        }
        copy[n++] = op;
    }
    return n;
}

/* The barrier expects the group's bytes, then they are on their way. */
static void start_group(Phases *p, Builder *b, Op *const *copy, int n, Value *slot) {
    int64_t bytes = 0;
    for (int i = 0; i < n; i++) bytes += copied_bytes(copy[i]);
    Value *full = barrier_at(p, b, slot);
    ir_set_attr(b->s, ir_op(b, OP_MBAR_EXPECT, &full, 1, NULL, 0, 0), AT_BYTES, bytes);
    for (int i = 0; i < n; i++) {
        const Op *op = copy[i];
        Value **x = arena_array(p->a, (size_t)op->noperands, sizeof *x);
        for (int k = 0; k < op->noperands; k++) x[k] = op->operand[k].value;
        x[2] = full;
        b->span = op->span;
        ir_op(b, OP_MBAR_DESC_LOAD, x, op->noperands, NULL, 0, 0);
    }
}

/* The group starts here, if its condition holds; *slot: what its token is of then, and the result
 * the bit of the phases that changes. */
static Value *emit_group(Phases *p, Builder *b, Op *const *copy, int n, Value **slot) {
    Value *on = copy[0]->operand[2].value, *none = ir_const_int(b, i32(), 0);
    Value *bit = ir_binary(b, OP_SHL, ir_const_int(b, i32(), 1), *slot);
    int64_t always;
    if (ir_int_constant(on, &always)) {
        Builder here = *b;
        if (always) start_group(p, &here, copy, n, *slot);
        if (!always) *slot = nothing_slot(p, b);
        return always ? bit : none;
    }
    Op *test = ir_op(b, OP_IF, &on, 1, NULL, 0, 2);
    for (int r = 0; r < 2; r++) {
        Builder in = {b->s, b->f, test->region[r], NULL, b->span};
        if (r == 0) start_group(p, &in, copy, n, *slot);
        ir_op(&in, OP_YIELD, NULL, 0, NULL, 0, 0);
    }
    *slot = ir_op1(b, OP_SELECT, (Value *[]){on, *slot, nothing_slot(p, b)}, 3);
    return ir_op1(b, OP_SELECT, (Value *[]){on, bit, none}, 3);
}

/* A group of copies by descriptors, maybe of others, too; the phases behind it. */
static Value *lower_group(Phases *p, Op *group, Value *phases) {
    Op **copy = arena_array(p->a, (size_t)group->noperands + 1, sizeof *copy);
    int n = copies_of(p, group, copy), kept = 0;
    if (n <= 0) return phases;
    Builder b = {p->ctx->s, p->ctx->f, group->block, group, group->span};
    Value *slot = slot_value(p, &b, copy[0]), *left = p->done;
    Value *bit = emit_group(p, &b, copy, n, &slot);
    Value **rest = arena_array(p->a, (size_t)group->noperands, sizeof *rest);
    for (int i = 0; i < group->noperands; i++)
        if (!is_engines(p, group->operand[i].value)) rest[kept++] = group->operand[i].value;
    Type t = type_token();
    if (kept) left = ir_op(&b, OP_ASYNC_COMMIT, rest, kept, &t, 1, 0)->result[0];
    token_of(p, group->result[0])->slot = slot;
    vec_push(p->a, &p->groups, ((Group){group, copy, n, left}));
    return ir_binary(&b, OP_XOR, phases, bit);
}

static void lower_wait(Phases *p, Op *op, Value *phases) {
    Builder b = {p->ctx->s, p->ctx->f, op->block, op, op->span};
    Value **rest = arena_array(p->a, (size_t)op->noperands + 1, sizeof *rest);
    int kept = 0;
    for (int i = 0; i < op->noperands; i++) {
        Value *v = op->operand[i].value;
        if (!is_engines(p, v) || token_of(p, v)->kind & COUNTED) rest[kept++] = v;
        if (!is_engines(p, v)) continue;
        Value *slot = slot_of(p, &b, v);
        Value *in[] = {barrier_at(p, &b, slot), ir_binary(&b, OP_SHR, phases, slot)};
        ir_op(&b, OP_MBAR_WAIT, in, 2, NULL, 0, 0);
    }
    if (kept == op->noperands) return;
    if (kept) ir_op_like(&b, op, rest, kept, NULL);
    ir_erase(op);
}

/* ---- control flow ---- */

typedef struct More { /* what goes through an op with regions besides what did: phases, slots */
    Value **in;
    const Value **of; /* the token whose slot it is; NULL: the phases */
    int n;
} More;

static void look_for_copy(Op *op, void *found) {
    *(bool *)found |= op->code == OP_ASYNC_DESC_LOAD;
}

static More more_of(Phases *p, Op *op, Value *const *tokens, int n) {
    More m = {.in = arena_array(p->a, (size_t)n + 1, sizeof *m.in),
              .of = arena_array(p->a, (size_t)n + 1, sizeof *m.of)};
    bool copies = false;
    for (int r = 0; r < op->nregions; r++) ir_walk(op->region[r], look_for_copy, &copies);
    if (copies) m.of[m.n++] = NULL;
    for (int i = 0; i < n; i++)
        if (is_engines(p, tokens[i])) m.of[m.n++] = tokens[i];
    return m;
}

static Value *lower_block(Phases *p, Block *b, Value *phases);

/* What the region ends with for each. */
static void hand_on(Phases *p, const Op *op, const More *m, Block *body, Value *phases) {
    Op *yield = body->last;
    Builder b = {p->ctx->s, p->ctx->f, body, yield, yield->span};
    for (int i = 0; i < m->n; i++) {
        int at = 0;
        while (m->of[i] && op->result[at] != m->of[i]) at++;
        m->in[i] = m->of[i] ? slot_of(p, &b, yield->operand[at].value) : phases;
    }
    ir_yield_more(p->ctx->s, p->ctx->f, yield, m->in, m->n);
}

/* The results of an op that was made anew stand for those of the old one, the rest for what goes
 * through besides; the phases behind it. */
static Value *take_results(Phases *p, Op *old, Op *op, const More *m, Value *phases) {
    for (int i = 0; i < old->nresults; i++) {
        Value *v = op->result[i], *was = old->result[i];
        v->layout = was->layout;
        v->name = was->name;
        if (type_is_token(v->type)) join(p, v, token_of(p, was)->kind);
        for (int k = 0; k < m->n; k++)
            if (m->of[k] == was) token_of(p, v)->slot = op->result[old->nresults + k];
        ir_replace_uses(was, v);
    }
    return m->n && !m->of[0] ? op->result[old->nresults] : phases;
}

static Value *lower_for(Phases *p, Op *loop, Value *phases) {
    More m = more_of(p, loop, loop->result, loop->nresults);
    if (!m.n) {
        lower_block(p, loop->region[0], phases);
        return phases;
    }
    int n = loop->nresults;
    Builder b = {p->ctx->s, p->ctx->f, loop->block, loop, loop->span};
    for (int k = 0; k < m.n; k++)
        m.in[k] = m.of[k] ? slot_of(p, &b, loop->operand[3 + m.of[k]->index].value) : phases;
    Op *op = ir_for_more(p->ctx->s, p->ctx->f, loop, m.in, m.n);
    Block *was = loop->region[0], *body = op->region[0];
    for (int i = 0; i <= n; i++)
        if (type_is_token(body->args[i]->type))
            join(p, body->args[i], token_of(p, was->args[i])->kind);
    for (int k = 0; k < m.n; k++)
        if (m.of[k]) token_of(p, body->args[1 + m.of[k]->index])->slot = body->args[1 + n + k];
    Value *end = lower_block(p, body, m.of[0] ? phases : body->args[1 + n]);
    hand_on(p, loop, &m, body, end);
    phases = take_results(p, loop, op, &m, phases);
    ir_erase(loop);
    return phases;
}

static Value *lower_if(Phases *p, Op *op, Value *phases) {
    More m = more_of(p, op, op->result, op->nresults);
    Type *types = arena_array(p->a, (size_t)(op->nresults + m.n), sizeof *types);
    for (int i = 0; i < op->nresults + m.n; i++)
        types[i] = i < op->nresults ? op->result[i]->type : i32();
    for (int r = 0; r < 2; r++) {
        Value *end = lower_block(p, op->region[r], phases);
        if (m.n) hand_on(p, op, &m, op->region[r], end);
    }
    if (!m.n) return phases;
    Builder b = {p->ctx->s, p->ctx->f, op->block, op, op->span};
    Value *condition = op->operand[0].value;
    Op *wider = ir_op(&b, OP_IF, &condition, 1, types, op->nresults + m.n, 2);
    for (int r = 0; r < 2; r++)
        while (op->region[r]->first) ir_append(wider->region[r], op->region[r]->first);
    phases = take_results(p, op, wider, &m, phases);
    ir_erase(op);
    return phases;
}

static void lower_select(Phases *p, Op *op) {
    if (!is_engines(p, op->result[0])) return;
    Builder b = {p->ctx->s, p->ctx->f, op->block, op, op->span};
    Value *in[] = {op->operand[0].value, slot_of(p, &b, op->operand[1].value),
                   slot_of(p, &b, op->operand[2].value)};
    token_of(p, op->result[0])->slot = ir_op1(&b, OP_SELECT, in, 3);
}

/* Only what began before it may be awaited in it. */
static void lower_while(Phases *p, Op *op, Value *phases) {
    int n = more_of(p, op, op->result, op->nresults).n;
    for (int r = 0; r < op->nregions; r++)
        for (int i = 0; i < op->region[r]->nargs; i++) n += is_engines(p, op->region[r]->args[i]);
    if (n) refuse(p, op, "copies by descriptors are awaited in `for` loops alone, not in `while`");
    for (int r = 0; r < op->nregions && !n; r++) lower_block(p, op->region[r], phases);
}

/* The phases as the block leaves them. */
static Value *lower_block(Phases *p, Block *b, Value *phases) {
    for (Op *op = b->first, *next; op; op = next) {
        next = op->next;
        switch (op->code) {
        case OP_ASYNC_COMMIT: phases = lower_group(p, op, phases); break;
        case OP_ASYNC_WAIT: lower_wait(p, op, phases); break;
        case OP_SELECT: lower_select(p, op); break;
        case OP_FOR: phases = lower_for(p, op, phases); break;
        case OP_IF: phases = lower_if(p, op, phases); break;
        case OP_WHILE: lower_while(p, op, phases); break;
        case OP_WARPS: /* each for itself: what one has started another cannot name */
            for (int r = 0; r < op->nregions; r++) lower_block(p, op->region[r], phases);
            break;
        default: break;
        }
    }
    return phases;
}

/* ---- the whole ---- */

/* A copy that is awaited itself, or by nobody, is a group of its own. */
static void commit_by_itself(Op *op, void *ctx) {
    Phases *p = ctx;
    if (op->code != OP_ASYNC_DESC_LOAD) return;
    Value *token = op->result[0];
    p->any = true;
    for (const Use *u = token->uses; u; u = u->next)
        if (u->op->code == OP_ASYNC_COMMIT) return;
    Builder b = {p->ctx->s, p->ctx->f, op->block, op->next, op->span};
    Op *commit = ir_op(&b, OP_ASYNC_COMMIT, &token, 1, &token->type, 1, 0);
    ir_replace_uses(token, commit->result[0]);
    ir_set_operand(commit, 0, token);
}

/* Before all else: the barriers, how many is known later, and the phases, none of which goes on. */
static Value *make_barriers(Phases *p) {
    Block *body = p->ctx->f->body;
    Builder b = {p->ctx->s, p->ctx->f, body, body->first, body->first->span};
    Type t = type_barrier(1), token = type_token();
    p->barriers = ir_op(&b, OP_BUFFER_ALLOC, NULL, 0, &t, 1, 0)->result[0];
    ir_set_attr(p->ctx->s, ir_op(&b, OP_MBAR_INIT, &p->barriers, 1, NULL, 0, 0), AT_COUNT, 1);
    ir_op(&b, OP_BARRIER, NULL, 0, NULL, 0, 0);
    p->done = ir_op(&b, OP_TOKEN_DONE, NULL, 0, &token, 1, 0)->result[0];
    return ir_const_int(&b, i32(), -1);
}

/* The groups and their copies go: others have taken their places. */
static void sweep(Phases *p) {
    for (int i = 0; i < p->groups.n; i++) {
        Group *g = &p->groups.at[i];
        ir_replace_uses(g->op->result[0], g->left);
        ir_erase(g->op);
        for (int k = 0; k < g->n; k++) ir_erase(g->copy[k]);
    }
}

void pass_await_phases(PassCtx *ctx) {
    Phases p = {.ctx = ctx, .a = &ctx->s->arena, .nothing = -1};
    ir_walk(ctx->f->body, commit_by_itself, &p);
    if (!p.any) return;
    find_kinds(&p);
    lower_block(&p, ctx->f->body, make_barriers(&p));
    sweep(&p);
    p.barriers->type = type_barrier(p.slots ? p.slots : 1);
    if (p.slots > MOST_SLOTS)
        refuse(&p, ctx->f->body->first,
               arena_printf(p.a,
                            "copies by descriptors need %d mbarriers, one for each slice that a "
                            "role fills; the limit is %d",
                            p.slots, MOST_SLOTS));
    ctx->changed = true;
}
