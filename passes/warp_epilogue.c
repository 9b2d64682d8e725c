/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* warp_epilogue.c: a consumer that stores what it has summed up before it begins with the next
 * place of the grid -> one that stores it under the next place's dots.
 *
 *     for t…: acc = for k…: dot …; c = f(acc); store the parts of c
 * becomes
 *     for t…, c' = c of the place before:
 *         acc = for the first k…: in turn i: store part i of c', if there is one; dot …
 *         acc = for the other k…: dot …
 *         c = f(acc); store its parts, if no place follows, or too few turns
 *
 * Tensor cores wait while threads wait for the copy engine to read parts that others are to take
 * the place of: 1.5 us of a tile of 128x256 fp16 in four parts (H100), 6 % of 4096x4096x512 and 2
 * to 4 of sums of 1000 to 2300. Between two turns of one warpgroup the dots of the other go on.
 * What is to be stored stays in registers that long, so there must be enough of them. The storer
 * sees the same parts in the same order.
 *
 * Not where there is room for all parts at once: nobody waits, and in the first turns they are in
 * the way (2816x5120x1536 in 128x128x128 69.7 us, and 76.0 so; 4096x4096x512 in 128x256 of three
 * stages 32.5, 32.8). */
#include "ir/desc.h"
#include "ir/effects.h"
#include "ir/target.h"
#include "passes/cost.h"
#include "passes/role_registers.h"
#include "passes/warp_specialize.h"

typedef struct Epilogue {
    Specialize *x;
    Op *places, *sum; /* the loops over places, and in it over what is added up */
    Op *part[STORE_PARTS];
    int n, later;        /* of the n parts the last ones go under the next place's dots */
    int64_t begin, step; /* of the sum */
} Epilogue;

static void look_for_dot(Op *op, void *found) {
    *(bool *)found |= op->code == OP_DOT;
}

/* Turn i, as the sum's loop counts. */
static int64_t turn_of(const Epilogue *e, int i) {
    return e->begin + i * e->step;
}

/* All places have the same turns: as many as there are parts, or not. */
static bool is_counted(Epilogue *e) {
    const Op *sum = e->sum;
    return ir_int_constant(sum->operand[0].value, &e->begin) &&
           ir_int_constant(sum->operand[2].value, &e->step) && e->step > 0 &&
           ir_defined_outside(sum->operand[1].value, e->places) && e->begin >= 0 &&
           turn_of(e, STORE_PARTS) <= INT32_MAX;
}

static bool only_reads(const Op *op) {
    return !op->nregions && !(ir_effects(op) & ~(unsigned)EFFECT_READS);
}

/* A place is one sum, what is made of it, and the store of that. */
static bool find_epilogue(Epilogue *e, int mark) {
    for (Op *op = e->places->region[0]->first; op; op = op->next) {
        bool dots = false;
        for (int r = 0; r < op->nregions; r++) ir_walk(op->region[r], look_for_dot, &dots);
        if (dots && (e->sum || op->code != OP_FOR)) return false;
        if (dots) {
            e->sum = op;
        } else if (ir_attr_int(op, AT_ROLE, 0) == mark) {
            if (!e->sum || e->n == STORE_PARTS ||
                ir_defined_outside(op->operand[1].value, e->places))
                return false;
            e->part[e->n++] = op;
        } else if (e->sum && !(op_traits(op) & TRAIT_T) && !only_reads(op)) {
            return false;
        }
    }
    return e->n && is_counted(e);
}

/* Elements of a part that a thread has: of rows that do not matter, too, but where the warps that
 * have them are left out. */
static int64_t held_of_part(const Specialize *x, const Op *part) {
    Type t = part->operand[1].value->type;
    bool all = x->consumers == x->f->num_warps;
    int64_t live = desc_live_bytes(part->operand[0].value->def) / type_elem_bytes(t);
    return (all ? type_numel(t) : live) / (32 * x->consumers);
}

/* Registers of a thread with dots, of as many programs as a multiprocessor has room for. */
static int64_t registers_of_consumer(const Specialize *x) {
    const Target *sm = x->ctx->target;
    int64_t bytes = bytes_of_stores(x, NULL) + bytes_of_groups(x, ALL_STAGES);
    return role_registers_with_dots(sm, target_programs(sm, bytes), x->consumers);
}

/* How many of the last parts a thread has registers for, beside the next sum. */
static int parts_held(const Epilogue *e) {
    int64_t sums = 0, words[STORE_PARTS];
    for (int i = 0; i < e->n; i++) {
        int64_t held = held_of_part(e->x, e->part[i]);
        sums += held;
        words[i] = (held * type_elem_bytes(e->part[i]->operand[1].value->type) + 3) / 4;
    }
    int64_t left = registers_of_consumer(e->x) - sums - COST_EPILOGUE_BESIDE;
    int n = 0;
    while (n < e->n && (left -= words[e->n - 1 - n]) >= 0) n++;
    return n;
}

static void end_region(Builder *b) {
    ir_op(b, OP_YIELD, NULL, 0, NULL, 0, 0);
}

/* A branch without results, and builders for its two ways. */
static Op *branch_on(Builder *b, Value *on, Builder in[2]) {
    Op *branch = ir_op(b, OP_IF, &on, 1, NULL, 0, 2);
    for (int r = 0; r < 2; r++) in[r] = (Builder){b->s, b->f, branch->region[r], NULL, b->span};
    return branch;
}

/* Where it goes is the storer's to know. */
static void store_later(const Epilogue *e, Builder *b, int i, Value *part) {
    const Op *store = e->part[i];
    Value *in[2 + DESC_MAX_RANK] = {store->operand[0].value, part};
    for (int k = 2; k < store->noperands; k++)
        in[k] = ir_const_int(b, store->operand[k].value->type, 0);
    ir_op_like(b, store, in, store->noperands, NULL);
}

/* The sum's first turns, as many as there are parts, in a loop of their own in front of the rest: a
 * look whether there is a part costs short turns 10 %. */
static Op *first_turns(const Epilogue *e) {
    Specialize *x = e->x;
    Op *sum = e->sum;
    Builder b = {x->s, x->f, sum->block, sum, sum->span};
    Value *end = ir_const_int(&b, sum->operand[1].value->type, turn_of(e, e->later));
    end = ir_binary(&b, OP_MIN, sum->operand[1].value, end);
    return split_loop(x, sum, end, end);
}

static void store_in_turns(const Epilogue *e, Value *pending, Value *const *part) {
    Block *body = first_turns(e)->region[0];
    Builder b = {e->x->s, e->x->f, body, body->first, e->sum->span}, in[2], one[2];
    Value *turn = body->args[0];
    branch_on(&b, pending, in);
    for (int i = 0; i < e->later; i++) {
        int k = e->n - e->later + i;
        Value *at = ir_const_int(&in[0], turn->type, turn_of(e, i));
        branch_on(&in[0], ir_cmp(&in[0], PRED_EQ, turn, at), one);
        store_later(e, &one[0], k, part[k]);
        end_region(&one[0]);
        end_region(&one[1]);
    }
    end_region(&in[0]);
    end_region(&in[1]);
}

/* Whether this place stores the last parts itself; the first ones it does in any case. */
static Value *store_at_once(const Epilogue *e) {
    Op *places = e->places, *sum = e->sum;
    Builder before = {e->x->s, e->x->f, places->block, places, sum->span}, in[2];
    Value *end = sum->operand[1].value;
    Value *last = ir_const_int(&before, end->type, turn_of(e, e->later - 1));
    Value *too_few = ir_cmp(&before, PRED_GE, last, end);
    Block *body = places->region[0];
    Builder b = {e->x->s, e->x->f, body, body->last, e->part[0]->span};
    for (int i = 0; i < e->n - e->later; i++) ir_move_before(e->part[i], body->last);
    Value *left = ir_binary(&b, OP_SUB, places->operand[1].value, body->args[0]);
    Value *none_follows = ir_cmp(&b, PRED_LE, left, places->operand[2].value);
    Value *now = ir_binary(&b, OP_OR, too_few, none_follows);
    branch_on(&b, now, in);
    for (int i = e->n - e->later; i < e->n; i++) ir_append(in[0].block, e->part[i]);
    end_region(&in[0]);
    end_region(&in[1]);
    return now;
}

void defer_epilogue(Specialize *x, Block *consumer) {
    const Store *st = &x->store[0];
    Epilogue e = {.x = x, .places = loop_over_places(consumer)};
    Value *part[STORE_PARTS];
    if (x->nstores != 1 || st->nparts <= st->stages || !e.places || !find_epilogue(&e, x->n + 1) ||
        e.n < st->nparts || !(e.later = parts_held(&e)))
        return;
    Builder before = {x->s, x->f, e.places->block, e.places, e.places->span};
    Value *first[2] = {ir_op(&before, OP_CONST, NULL, 0, &st->whole->type, 1, 0)->result[0],
                       ir_const_int(&before, type_scalar(EL_I1), 0)};
    ir_set_attr(x->s, first[0]->def, AT_VALUE, 0);
    int had = e.places->nresults;
    e.places = ir_for_widen(x->s, x->f, e.places, first, 2);
    Block *body = e.places->region[0];
    Builder at_begin = {x->s, x->f, body, body->first, e.sum->span};
    take_parts(&at_begin, body->args[1 + had], st->dim, st->cut, part);
    store_in_turns(&e, body->args[2 + had], part);
    Value *now = store_at_once(&e);
    Builder b = {x->s, x->f, body, body->last, e.sum->span};
    Value *later = ir_binary(&b, OP_XOR, now, ir_const_int(&b, now->type, 1));
    ir_yield_more(x->s, x->f, body->last, (Value *[]){st->whole, later}, 2);
}
