/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* dce.c: the pass `dce`: what nothing depends on is removed.
 *
 * Everything is dead until something alive needs it. Alive at first: ops with an effect that keeps
 * them (effects.h) and the ops they are in. From there on, values: the operands of a live op, but
 * of control only those that decide its course; a value that leaves or goes round a region is alive
 * in all its places or in none. So a counter that only counts itself dies with its place in the
 * loop, and loops and branches shrink to what is needed. A store into a buffer is needed by who
 * reads the buffer. */
#include "ir/effects.h"
#include "passes/pass.h"
#include "passes/walk.h"

typedef struct Dce {
    Session *s;
    Func *f;
    bool *live_value;     /* by value id */
    const Op **live_op;   /* a set, hashed by address */
    uint32_t mask;        /* its size - 1 */
    VEC(Value *) waiting; /* live, their reasons not looked at */
} Dce;

/* ---- which ops are alive ---- */

static uint32_t slot_of(const Dce *d, const Op *op) {
    uint32_t i = (uint32_t)(((uintptr_t)op >> 4) * 2654435761u) & d->mask;
    while (d->live_op[i] && d->live_op[i] != op) i = (i + 1) & d->mask;
    return i;
}

/* op's one effect is on a buffer of the function: nobody but its readers can tell. */
static bool only_fills_buffer(const Op *op) {
    int buffer = op->code == OP_SHARED_STORE ? 1 : op->code == OP_SHARED_COUNT ? 0 : -1;
    return buffer >= 0 && op_is(op->operand[buffer].value, OP_BUFFER_ALLOC);
}

static void need(Dce *d, Value *v) {
    if (d->live_value[v->id]) return;
    d->live_value[v->id] = true;
    vec_push(&d->s->arena, &d->waiting, v);
}

static void need_operands(Dce *d, const Op *op, int from, int to) {
    for (int i = from; i < to; i++) need(d, op->operand[i].value);
}

static bool op_is_live(const Dce *d, const Op *op) {
    return d->live_op[slot_of(d, op)] == op;
}

/* op stays, and so does all it is in. */
static void keep(Dce *d, const Op *op) {
    for (; op; op = op->block->parent) {
        uint32_t i = slot_of(d, op);
        if (d->live_op[i]) return;
        d->live_op[i] = op;
        switch (op->code) {
        case OP_FOR: need_operands(d, op, 0, 3); break;
        case OP_IF: need_operands(d, op, 0, 1); break;
        case OP_WHILE: need_operands(d, op->region[0]->last, 0, 1); break;
        default:
            need_operands(d, op, 0, op->noperands);
            for (int r = 0; r < op->nregions; r++) /* reduce, scan: all of it or nothing */
                need_operands(d, op->region[r]->last, 0, op->region[r]->last->noperands);
        }
    }
}

/* ---- which values ---- */

/* Place i of the values that a loop or branch carries is alive. */
static void need_carried(Dce *d, const Op *op, int i) {
    switch (op->code) {
    case OP_FOR:
        need(d, op->operand[3 + i].value);
        need(d, op->region[0]->last->operand[i].value);
        break;
    case OP_IF:
        for (int r = 0; r < 2; r++) need(d, op->region[r]->last->operand[i].value);
        break;
    default: break;
    }
}

static void need_reasons(Dce *d, const Value *v) {
    const Op *op = v->def ? v->def : v->block->parent;
    if (!op) return; /* a parameter */
    keep(d, op);
    for (const Use *u = op->code == OP_BUFFER_ALLOC ? v->uses : NULL; u; u = u->next)
        if (only_fills_buffer(u->op)) keep(d, u->op);
    bool result = v->def != NULL;
    if (op->code == OP_FOR && (result || v->index > 0)) {
        need_carried(d, op, result ? v->index : v->index - 1);
    } else if (op->code == OP_IF) {
        need_carried(d, op, v->index);
    } else if (op->code == OP_WHILE) {
        if (!result && v->block == op->region[0]) { /* goes in, and round */
            need(d, op->operand[v->index].value);
            need(d, op->region[1]->last->operand[v->index].value);
        } else { /* comes out of the condition: to the body, and at last as a result */
            need(d, op->region[0]->last->operand[1 + v->index].value);
        }
    }
}

/* ---- taking the rest out ---- */

/* Keeps operands below `first` and those whose place is alive. */
static void shrink_operands(Dce *d, Op *op, int first, const bool *alive) {
    Value **kept = arena_array(&d->s->arena, (size_t)op->noperands, sizeof *kept);
    int n = 0;
    for (int i = 0; i < op->noperands; i++)
        if (i < first || alive[i - first]) kept[n++] = op->operand[i].value;
    if (n == op->noperands) return;
    Builder b = {.s = d->s, .f = d->f, .block = op->block, .before = op, .span = op->span};
    ir_op(&b, op->code, kept, n, NULL, 0, 0);
    ir_erase(op);
}

static void shrink_args(Block *b, int first, const bool *alive) {
    int n = first;
    for (int i = first; i < b->nargs; i++)
        if (alive[i - first]) {
            b->args[n] = b->args[i];
            b->args[n]->index = n;
            n++;
        }
    b->nargs = n;
}

/* Which places of what a region's terminator hands on are alive: results of its op, or for the end
 * of a while, what its first region takes. */
static bool *alive_places(Dce *d, const Op *op, int region) {
    bool round = op->code == OP_WHILE && region == 1;
    int n = round ? op->noperands : op->nresults;
    bool *alive = arena_alloc(&d->s->arena, (size_t)n);
    for (int i = 0; i < n; i++) {
        if (!round) alive[i] = d->live_value[op->result[i]->id];
        if (round) alive[i] = d->live_value[op->region[0]->args[i]->id];
        if (op->code == OP_FOR) alive[i] |= d->live_value[op->region[0]->args[1 + i]->id];
        if (op->code == OP_WHILE && !round) alive[i] |= d->live_value[op->region[1]->args[i]->id];
    }
    return alive;
}

static bool all(const bool *alive, int n) {
    int i = 0;
    while (i < n && alive[i]) i++;
    return i == n;
}

/* op is replaced by the same with fewer results, and operands from `first` on; its regions move
 * over. Their terminators have shrunk already. */
static bool shrink_control(Dce *d, Op *op) {
    bool *out = alive_places(d, op, 0), *in = alive_places(d, op, op->nregions - 1);
    int first = op->code == OP_FOR ? 3 : op->code == OP_IF ? 1 : 0;
    bool carries = op->code != OP_IF;
    if (all(out, op->nresults) && (!carries || all(in, op->noperands - first))) return false;
    Arena *a = &d->s->arena;
    Value **operands = arena_array(a, (size_t)op->noperands, sizeof *operands);
    Type *types = arena_array(a, (size_t)op->nresults, sizeof *types);
    int nin = 0, nout = 0;
    for (int i = 0; i < op->noperands; i++)
        if (i < first || in[i - first]) operands[nin++] = op->operand[i].value;
    for (int i = 0; i < op->nresults; i++)
        if (out[i]) types[nout++] = op->result[i]->type;
    Builder b = {.s = d->s, .f = d->f, .block = op->block, .before = op, .span = op->span};
    Op *small = ir_op(&b, op->code, operands, nin, types, nout, 0);
    small->attr = op->attr;
    small->nattrs = op->nattrs;
    small->region = op->region;
    small->nregions = op->nregions;
    op->nregions = 0;
    for (int r = 0; r < small->nregions; r++) small->region[r]->parent = small;
    if (op->code == OP_FOR) shrink_args(small->region[0], 1, in);
    if (op->code == OP_WHILE) {
        shrink_args(small->region[0], 0, in);
        shrink_args(small->region[1], 0, out);
    }
    for (int i = 0, k = 0; i < op->nresults; i++) {
        if (!out[i]) continue;
        small->result[k]->name = op->result[i]->name;
        small->result[k]->layout = op->result[i]->layout;
        ir_replace_uses(op->result[i], small->result[k++]);
    }
    ir_erase(op);
    return true;
}

/* What is left of op: false when all of it. */
static bool trim(Dce *d, Op *op) {
    const Op *parent = op->block->parent;
    if (op_traits(op) & TRAIT_T) { /* dead with its region, or loses what its op loses */
        if (parent && op_is_live(d, parent) && op_is_control_flow(parent))
            shrink_operands(d, op, op->code == OP_CONDITION,
                            alive_places(d, parent, op->block == parent->region[0] ? 0 : 1));
        return false;
    }
    if (op_is_live(d, op)) return op_is_control_flow(op) && shrink_control(d, op);
    ir_erase(op);
    return true;
}

void pass_dce(PassCtx *ctx) {
    Dce d = {.s = ctx->s, .f = ctx->f};
    VEC(Op *) ops = {0};
    for (Op *op = ctx->f->body->first; op; op = op_next(op)) vec_push(&ctx->s->arena, &ops, op);
    uint32_t slots = 64;
    while (slots / 2 < (uint32_t)ops.n) slots *= 2;
    d.mask = slots - 1;
    d.live_op = arena_array(&ctx->s->arena, slots, sizeof *d.live_op);
    d.live_value = arena_array(&ctx->s->arena, ctx->f->nvalues, sizeof *d.live_value);
    for (int i = 0; i < ops.n; i++)
        if ((ir_effects(ops.at[i]) & EFFECT_KEEPS) && !only_fills_buffer(ops.at[i]))
            keep(&d, ops.at[i]);
    while (d.waiting.n) need_reasons(&d, d.waiting.at[--d.waiting.n]);
    /* From the end: by the time an op is looked at, nothing dead uses it any more. */
    for (int i = ops.n - 1; i >= 0; i--)
        if (trim(&d, ops.at[i])) ctx->changed = true;
}
