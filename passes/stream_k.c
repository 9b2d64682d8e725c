/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* stream_k.c: programs that take whole places of the grid, the last of which leave some programs
 * idle -> programs that share out the loops of sums of as many places as are too many for whole
 * rounds (after Stream-K: Osama, Merrill, Cecka, Garland, Owens 2023).
 *
 *     for t = places…: A; s = for k = 0 to S: s + …; B
 * becomes, of each program's items,
 *     for i: A; s = for k = k0 to k1: s + …
 *         if it is a part: store s; tell who waits
 *         else: for the parts of this place: wait until it is there; s = s + part
 *               B
 *
 * The launch says how (runtime/share.c). Of the first `places` places of the grid the iterations
 * from `first` on are numbered through, and programs begin with a `share` of them each, the
 * helpers, until there are none left, before they take whole places as all do. The last programs
 * end with one of these places, its first iterations, to which they add the parts in the order of
 * their iterations: the same launch gives the same bits. Nobody waits but at its end, and for
 * programs of lower numbers, which the GPU starts before it. A part lies in the workspace as
 * threads hold it.
 *
 * Where a launch runs programs as clusters, these share out the places that they take together: all
 * of that is of clusters in place of programs, and of as many places, one beside the other.
 * Programs of one have the same iterations of neighbouring places in each turn, so that they may
 * bring each other blocks (warp_multicast.c). One that has none of the last places goes on beside
 * the others with the last, of which it stores nothing.
 *
 * Programs that are at the same time at the same iteration read the same rows and columns, of
 * which a GPU's caches ask memory once: shares that each begin elsewhere, as Stream-K's, are half
 * as fast. So shares are few sizes, and helpers begin together. */
#include "ir/effects.h"
#include "ir/expression.h"
#include "ir/roles.h"
#include "passes/cost.h"
#include "passes/forecast.h"
#include "passes/pass.h"

enum { MOST_SUMS = 4, FLAG_BYTES = 128, FLAGS_AT_ONCE = 16 };

typedef struct StreamK {
    PassCtx *ctx;
    Session *s;
    Func *f;
    Op *places, *loop; /* over the grid; of sums */
    Value *cluster;    /* its number */
    int64_t step;
    int64_t at[MOST_SUMS]; /* where each sum's part begins; behind the last, the flag */
    int64_t flag;
} StreamK;

static Type i32(void) {
    return type_scalar(EL_I32);
}

static Type i64(void) {
    return type_scalar(EL_I64);
}

/* ---- is it to be? ---- */

static const char not_known[] =
    "how many iterations it has is not known at launch, or not the same for each place";

/* The op through which the value, if it is a sum, goes on; NULL: it is none. */
static Op *added_to(const Value *v) {
    const Use *u = v->uses;
    if (!u || u->next) return NULL;
    int which = (int)(u - u->op->operand);
    switch (u->op->code) {
    case OP_DOT: return which == 2 && !ir_attr_int(u->op, AT_SATURATE, 0) ? u->op : NULL;
    case OP_FMA: return which == 2 ? u->op : NULL;
    case OP_ADD: return u->op;
    default: return NULL;
    }
}

/* Each iteration adds something to what the loop carries there, whatever it is by now, dots among
 * it. */
static bool is_sum(const Op *loop, int carried) {
    const Block *body = loop->region[0];
    const Value *v = body->args[1 + carried];
    bool dots = false;
    if (!v->type.rank) return false;
    while (!v->uses || v->uses->next || v->uses->op != body->last) {
        const Op *op = added_to(v);
        if (!op || op->block != body) return false;
        dots |= op->code == OP_DOT;
        v = op->result[0];
    }
    return dots && v == body->last->operand[carried].value;
}

static void count_dots(Op *op, void *n) {
    *(int *)n += op->code == OP_DOT;
}

static int dots_in(Op *op) {
    int n = op->code == OP_DOT;
    for (int r = 0; r < op->nregions; r++) ir_walk(op->region[r], count_dots, &n);
    return n;
}

static void look_for_writes(Op *op, void *found) {
    *(bool *)found |= (ir_effects(op) & ~(unsigned)EFFECT_READS) != 0;
}

static bool only_reads(Op *op) {
    bool more = ir_effects(op) & ~(unsigned)EFFECT_READS;
    for (int r = 0; r < op->nregions; r++) ir_walk(op->region[r], look_for_writes, &more);
    return !more;
}

/* The one loop of the body that has dots; NULL: there is none, or *why something is in its way. */
static Op *find_loop(const StreamK *x, const char **why) {
    Op *found = NULL;
    for (Op *op = x->places->region[0]->first; op; op = op->next) {
        if (!found && !only_reads(op)) *why = "what comes before it is seen by others";
        if (!dots_in(op)) continue;
        if (op->code != OP_FOR || found) *why = "there are dots elsewhere, too";
        found = op;
    }
    return found;
}

static const char *refuse(StreamK *x) {
    const char *why = NULL;
    Op *loop = x->loop = find_loop(x, &why);
    if (!loop || why) return why ? why : "it has no loop of dots";
    for (int i = 0; i < 3; i++)
        if (!ir_defined_outside(loop->operand[i].value, x->places)) return not_known;
    if (!ir_int_constant(loop->operand[2].value, &x->step) || x->step < 1 ||
        loop->operand[0].value->type.elem != EL_I32)
        return "its loop does not count upwards in steps of one number";
    if (loop->nresults > MOST_SUMS) return "it has more than four sums";
    for (int i = 0; i < loop->nresults; i++) {
        if (!is_sum(loop, i)) return "its loop carries more than sums of dots";
        Type t = loop->result[i]->type;
        if (type_bytes(t) % FLAG_BYTES) return "a sum is too small";
        x->at[i] = x->flag;
        x->flag += type_bytes(t);
    }
    return NULL;
}

/* ---- numbers ---- */

static Value *number(Builder *b, int64_t v) {
    return ir_const_int(b, i32(), v);
}

static Value *choose(Builder *b, Value *condition, Value *yes, Value *no) {
    return ir_op1(b, OP_SELECT, (Value *[]){condition, yes, no}, 3);
}

static Value *add(Builder *b, Value *x, Value *y) {
    return ir_binary(b, OP_ADD, x, y);
}

static Value *sub(Builder *b, Value *x, Value *y) {
    return ir_binary(b, OP_SUB, x, y);
}

static Value *mul(Builder *b, Value *x, Value *y) {
    return ir_binary(b, OP_MUL, x, y);
}

static Value *quotient(Builder *b, Value *x, Value *y) {
    return ir_binary(b, OP_DIV, x, y);
}

/* What a program does, worked out before its items. Places are those of a cluster, which are one
 * for each of its programs. */
typedef struct Share {
    Value *n, *S;                  /* iterations of a place; 1 at least */
    Value *clusters, *all;         /* how many; their places */
    Value *places, *first, *share; /* as the launch says */
    Value *divides, *ratio; /* int1: a place is several helpers'; how many, or a helper's places */
    Value *parts;           /* minus so many has it; items count from there, through 0, */
    Value *items;           /* from where on its own places are, up to here */
    Value *helper;          /* its number, in the order of the iterations that are cut off */
    Value *end, *k0, *k1;   /* behind the places that they are of; iterations of each */
    Value *last;            /* the place that it ends with; below 0: none */
    Value *workspace, *mark;
} Share;

static Value *launch_value(Builder *b, OpCode code, Type t) {
    return ir_op(b, code, NULL, 0, &t, 1, 0)->result[0];
}

/* How often the loop of sums runs; below 1: not at all. */
static Value *iterations(const StreamK *x, Builder *b) {
    Value *lo = x->loop->operand[0].value, *hi = x->loop->operand[1].value;
    int64_t first;
    Value *n = ir_int_constant(lo, &first) && !first ? hi : sub(b, hi, lo);
    if (x->step > 1) n = quotient(b, add(b, n, number(b, x->step - 1)), number(b, x->step));
    return n;
}

/* A launch has to know it, too. */
static bool is_known_at_launch(StreamK *x, Value *n) {
    Buf ignored = buf_new(&x->s->arena);
    return ir_expression(n, WITH_QUOTIENTS, &ignored);
}

static Value *at_least_one(Builder *b, Value *v) {
    return ir_binary(b, OP_MAX, v, number(b, 1));
}

/* What a launch weighs (runtime/share.c). */
static void say_clocks(const StreamK *x, Op *op) {
    TurnClocks turn = turn_clocks(x->ctx, x->loop->region[0]);
    double least = turn.least > COST_ITERATION_CLOCKS ? turn.least : COST_ITERATION_CLOCKS;
    int64_t clocks[] = {(int64_t)turn.busy + 1, (int64_t)least,
                        COST_PART_CLOCKS + x->flag / COST_PART_CLOCK_BYTES, COST_MEET_CLOCKS};
    for (int i = 0; i < 4; i++)
        ir_set_attr(x->s, op, AT_ITERATION_CLOCKS + i,
                    clocks[i] < MOST_CLOCKS ? clocks[i] : MOST_CLOCKS);
}

static Value *given(const StreamK *x, const Share *h, Builder *b, StreamKShare which) {
    Value *n = h->n;
    Op *op = ir_op(b, OP_STREAM_K, &n, 1, (Type[]){i32()}, 1, 0);
    ir_set_attr(x->s, op, AT_SHARE, which);
    if (which == STREAM_K_PLACES) say_clocks(x, op);
    return op->result[0];
}

/* What is cut off a place is so many helpers', or a helper has what is cut off of so many: one
 * quotient says which, and how many. A program's first copies wait for all that is worked out here.
 *
 * Where each place is several helpers', those of one turn of all places come one after the other:
 * neighbours, who share paths to memory, read the same. 512x512x16384 in tiles of 128x64, 4 shares
 * of each sum: 22.6 us for all but meeting, where one place's helpers are neighbours 35.4. */
static void share_parts(const StreamK *x, Builder *b, Share *h) {
    Value *one = number(b, 1), *zero = number(b, 0), *at = x->cluster;
    Value *share = at_least_one(b, h->share), *rest = at_least_one(b, sub(b, h->S, h->first));
    h->divides = ir_cmp(b, PRED_LE, share, rest);
    h->ratio = quotient(b, choose(b, h->divides, rest, share), choose(b, h->divides, share, rest));
    Value *turn = quotient(b, at, at_least_one(b, h->places));
    Value *place = sub(b, at, mul(b, turn, h->places)), *first = mul(b, at, h->ratio);
    Value *some = ir_binary(b, OP_AND, ir_cmp(b, PRED_LT, turn, h->ratio),
                            ir_cmp(b, PRED_GT, h->places, zero));
    Value *left = ir_binary(b, OP_MAX, sub(b, h->places, first), zero);
    Value *n =
        choose(b, h->divides, choose(b, some, one, zero), ir_binary(b, OP_MIN, left, h->ratio));
    h->helper = choose(b, h->divides, add(b, mul(b, place, h->ratio), turn), at);
    h->parts = sub(b, zero, n);
    h->end = add(b, choose(b, h->divides, place, first), n);
    h->k0 = choose(b, h->divides, add(b, h->first, mul(b, turn, share)), h->first);
    h->k1 = choose(b, h->divides, add(b, h->k0, share), h->S);
}

/* Of a launch without clusters they are the grid's. */
static Value *places_of_clusters(const StreamK *x, Builder *b) {
    Value *all = x->places->operand[1].value, *one = number(b, 1);
    Value *size = launch_value(b, OP_CLUSTER_SIZE, i32());
    Value *up = add(b, all, number(b, CLUSTER_PROGRAMS - 1));
    return choose(b, ir_cmp(b, PRED_GT, size, one), quotient(b, up, number(b, CLUSTER_PROGRAMS)),
                  all);
}

static void share_out(const StreamK *x, Builder *b, Share *h) {
    Value *one = number(b, 1), *zero = number(b, 0);
    h->clusters = launch_value(b, OP_NUM_CLUSTERS, i32());
    h->all = places_of_clusters(x, b);
    h->S = at_least_one(b, h->n);
    /* Of a loop that does not run nothing is shared out. */
    Value *runs = ir_cmp(b, PRED_GT, h->n, zero);
    h->places = choose(b, runs, given(x, h, b, STREAM_K_PLACES), zero);
    h->first = given(x, h, b, STREAM_K_FIRST);
    h->share = given(x, h, b, STREAM_K_SHARE);
    share_parts(x, b, h);
    Value *whole = sub(b, sub(b, h->all, h->places), x->cluster);
    whole = quotient(b, add(b, whole, sub(b, h->clusters, one)), h->clusters);
    h->last = sub(b, x->cluster, sub(b, h->clusters, h->places));
    Value *ends = choose(b, ir_cmp(b, PRED_GE, h->last, zero), one, zero);
    h->items = add(b, whole, ends);
}

/* ---- items ---- */

typedef struct Item {
    Value *places, *k0, *k1; /* the cluster's; iterations of it, of S */
    Value *place, *there;    /* this program's; int1: it has one */
    Value *part;             /* int1: it is one of another program's place */
    Value *ends;             /* int1: it is the place of which others have parts */
} Item;

static Item item_of(const StreamK *x, const Share *h, Builder *b, Value *i) {
    Value *zero = number(b, 0), *part = ir_cmp(b, PRED_LT, i, zero), *out[3];
    Value *ends = ir_binary(b, OP_AND, ir_cmp(b, PRED_GE, h->last, zero),
                            ir_cmp(b, PRED_EQ, add(b, i, number(b, 1)), h->items));
    Op *branch = ir_op(b, OP_IF, &part, 1, (Type[]){i32(), i32(), i32()}, 3, 2);
    Builder then = {x->s, x->f, branch->region[0], NULL, b->span};
    Builder other = {x->s, x->f, branch->region[1], NULL, b->span};
    out[0] = add(&then, h->end, i);
    out[1] = h->k0;
    out[2] = h->k1;
    ir_op(&then, OP_YIELD, out, 3, NULL, 0, 0);
    Value *whole = mul(&other, i, h->clusters);
    whole = add(&other, add(&other, h->places, x->cluster), whole);
    out[0] = choose(&other, ends, h->last, whole);
    out[1] = zero;
    out[2] = choose(&other, ends, h->first, h->S);
    ir_op(&other, OP_YIELD, out, 3, NULL, 0, 0);
    Value *of[] = {branch->result[0], x->places->operand[1].value};
    Op *own = ir_op(b, OP_CLUSTER_PLACE, of, 2, (Type[]){i32(), type_scalar(EL_I1)}, 2, 0);
    return (Item){of[0], branch->result[1], branch->result[2], own->result[0], own->result[1], part,
                  ends};
}

/* The loop's index where iteration number n begins. */
static Value *index_at(const StreamK *x, Builder *b, Value *n) {
    int64_t first;
    Value *lo = x->loop->operand[0].value, *by = n;
    if (x->step > 1) by = mul(b, n, number(b, x->step));
    return ir_int_constant(lo, &first) && !first ? by : add(b, lo, by);
}

/* The loop goes over the item's iterations alone, and a part begins with 0. */
static void cut_loop(const StreamK *x, const Share *h, const Item *item) {
    Op *loop = x->loop;
    Builder at = {x->s, x->f, loop->block, loop, loop->span}, *b = &at;
    Value *end = index_at(x, b, item->k1), *hi = loop->operand[1].value;
    Value *from = index_at(x, b, item->k0);
    end = choose(b, ir_cmp(b, PRED_LT, item->k1, h->S), end, hi);
    for (int i = 0; i < loop->nresults; i++) {
        Value *begin = loop->operand[3 + i].value;
        if (ir_is_zero(begin)) continue;
        Value *part = ir_given(b, OP_SPLAT, item->part, type_with_elem(begin->type, EL_I1));
        Value *zero = ir_const_int(b, begin->type, 0);
        ir_set_operand(loop, 3 + i, choose(b, part, zero, begin));
    }
    ir_set_operand(loop, 0, from);
    ir_set_operand(loop, 1, end);
}

/* ---- parts ---- */

/* The number for each element of a tile like that; itself where that is none. */
static Value *spread(Builder *b, Value *number, Type like) {
    return like.rank ? ir_given(b, OP_SPLAT, number, type_with_shape(number->type, like)) : number;
}

/* This program's share of the part of a helper, or of each of a tile of them, in a cluster's
 * places, from byte `at` on: going on along all iterations, with each part one of the two goes up
 * by one. */
static Value *part_at(const StreamK *x, const Share *h, Builder *b, Value *helper, Value *places,
                      int64_t at) {
    enum { UNIT = 8 };
    Type like = helper->type, wide = type_with_elem(like, EL_I64);
    Value *size = launch_value(b, OP_CLUSTER_SIZE, i32());
    Value *own = mul(b, add(b, helper, spread(b, places, like)), spread(b, size, like));
    own = add(b, own, spread(b, launch_value(b, OP_CLUSTER_RANK, i32()), like));
    Value *n = ir_given(b, OP_CAST, own, wide);
    Value *by = mul(b, n, ir_const_int(b, wide, (x->flag + FLAG_BYTES) / UNIT));
    if (at) by = add(b, by, ir_const_int(b, wide, at / UNIT));
    return ir_binary(b, OP_ADDPTR, spread(b, h->workspace, like), by);
}

static void tell(Builder *b, Value *flag, Value *mark, Sem sem) {
    Op *op = ir_op(b, OP_ATOMIC_STORE, (Value *[]){flag, mark}, 2, NULL, 0, 0);
    ir_set_attr(b->s, op, AT_SEM, sem);
}

/* The sum, 0 in columns that its dots leave out: nobody is to wonder what these are. */
static Value *whole_sum(const StreamK *x, Builder *b, int i) {
    Value *sum = x->loop->result[i];
    const Value *v = x->loop->region[0]->last->operand[i].value;
    while (v->def && v->def->code == OP_ADD) v = v->def->operand[0].value;
    int64_t all = type_dim(sum->type, sum->type.rank - 1), n = all;
    if (op_is(v, OP_DOT)) n = ir_attr_int(v->def, AT_COLUMNS, all);
    if (n == all) return sum;
    Type line = type_tile(EL_I32, 1, &all), row = type_with_shape(line, sum->type);
    Op *range = ir_op(b, OP_ARANGE, NULL, 0, &line, 1, 0);
    ir_set_attr(b->s, range, AT_START, 0);
    ir_set_attr(b->s, range, AT_END, all);
    Value *there = ir_cmp(b, PRED_LT, range->result[0], ir_const_int(b, line, n));
    for (int d = 0; d + 1 < row.rank; d++) row.log2[d] = 0;
    there = ir_given(b, OP_RESHAPE, there, type_with_elem(row, EL_I1));
    there = ir_given(b, OP_BROADCAST, there, type_with_elem(sum->type, EL_I1));
    return choose(b, there, sum, ir_const_int(b, sum->type, 0));
}

static void hand_on(const StreamK *x, const Share *h, Builder *b, const Item *item) {
    for (int i = 0; i < x->loop->nresults; i++) {
        Value *to = part_at(x, h, b, h->helper, item->places, x->at[i]);
        ir_op(b, OP_FRAGMENT_STORE, (Value *[]){to, whole_sum(x, b, i)}, 2, NULL, 0, 0);
    }
    tell(b, part_at(x, h, b, h->helper, item->places, x->flag), h->mark, SEM_RELEASE);
}

/* The helpers that have parts of the place that a program ends with. */
static void find_helpers(const Share *h, Builder *b, Value **from, Value **to) {
    Value *first = mul(b, h->last, h->ratio), *only = quotient(b, h->last, h->ratio);
    *from = choose(b, h->divides, first, only);
    *to = add(b, *from, choose(b, h->divides, h->ratio, number(b, 1)));
}

/* Loops over the flags of helpers from `from` to `to`, so many at a time; the flags of one turn,
 * and behind the last helper's that once more. */
static Value *flags_of(const StreamK *x, const Share *h, Builder *b, Value *places, Value *from,
                       Value *to, Builder *in) {
    int64_t many = FLAGS_AT_ONCE;
    Type line = type_tile(EL_I32, 1, &many);
    Op *loop = ir_for(b, from, to, number(b, many), NULL, 0);
    *in = (Builder){x->s, x->f, loop->region[0], NULL, b->span};
    Op *range = ir_op(in, OP_ARANGE, NULL, 0, &line, 1, 0);
    ir_set_attr(x->s, range, AT_START, 0);
    ir_set_attr(x->s, range, AT_END, many);
    Value *helper = add(in, spread(in, loop->region[0]->args[0], line), range->result[0]);
    Value *last = spread(in, sub(in, to, number(in, 1)), line);
    return part_at(x, h, in, ir_binary(in, OP_MIN, helper, last), places, x->flag);
}

/* Waits until all these parts are there: one after the other, each with a fence for the copy
 * engine, is slower, and they come at one time. */
static void await_parts(const StreamK *x, const Share *h, Builder *b, Value *places, Value *from,
                        Value *to) {
    Builder in;
    Value *flags = flags_of(x, h, b, places, from, to, &in);
    Value *of[] = {flags, spread(&in, h->mark, flags->type)};
    Type there = type_with_elem(of[1]->type, EL_I1);
    Op *poll = ir_op(&in, OP_ATOMIC_POLL, of, 2, &there, 1, 0);
    ir_set_attr(x->s, poll, AT_SEM, SEM_ACQUIRE);
    ir_op(&in, OP_YIELD, NULL, 0, NULL, 0, 0);
    /* Threads of other programs wrote them, and the copy engine reads them. Who reads a stage has a
     * fence of its own: one of both memories here takes 800 cycles. */
    ir_set_attr(x->s, ir_op(b, OP_ASYNC_FENCE, NULL, 0, NULL, 0, 0), AT_GLOBAL, 1);
}

/* Flags are cleared: a launch may be made again on the same workspace with the same mark. */
static void clear_flags(const StreamK *x, const Share *h, Builder *b, Value *places, Value *from,
                        Value *to) {
    Builder in;
    Value *flags = flags_of(x, h, b, places, from, to, &in);
    tell(&in, flags, ir_const_int(&in, type_with_shape(i64(), flags->type), 0), SEM_RELAXED);
    ir_op(&in, OP_YIELD, NULL, 0, NULL, 0, 0);
}

/* Adds the parts of the place that the program ends with, when all are there; the sums. */
static void add_parts(const StreamK *x, const Share *h, Builder *b, const Item *item, Value **sum) {
    int n = x->loop->nresults;
    Type type[MOST_SUMS];
    for (int i = 0; i < n; i++) type[i] = x->loop->result[i]->type;
    Value *ends = item->ends, *from, *to;
    Op *branch = ir_op(b, OP_IF, &ends, 1, type, n, 2);
    Builder then = {x->s, x->f, branch->region[0], NULL, b->span};
    Builder other = {x->s, x->f, branch->region[1], NULL, b->span};
    find_helpers(h, &then, &from, &to);
    await_parts(x, h, &then, item->places, from, to);
    Op *loop = ir_for(&then, from, to, number(&then, 1), x->loop->result, n);
    Block *body = loop->region[0];
    Builder in = {x->s, x->f, body, NULL, b->span};
    Value *helper = body->args[0], *out[MOST_SUMS];
    for (int i = 0; i < n; i++) {
        Value *of[] = {part_at(x, h, &in, helper, item->places, x->at[i]), body->args[1 + i]};
        out[i] = add(&in, body->args[1 + i], ir_op1(&in, OP_FRAGMENT_LOAD, of, 2));
    }
    ir_op(&in, OP_YIELD, out, n, NULL, 0, 0);
    clear_flags(x, h, &then, item->places, from, to);
    ir_op(&then, OP_YIELD, loop->result, n, NULL, 0, 0);
    ir_op(&other, OP_YIELD, x->loop->result, n, NULL, 0, 0);
    for (int i = 0; i < n; i++) sum[i] = branch->result[i];
}

static void end_arm(Builder *arm) {
    ir_op(arm, OP_YIELD, NULL, 0, NULL, 0, 0);
}

static Op *branch_if(const StreamK *x, Builder *b, Value *condition, Builder *then) {
    Op *branch = ir_op(b, OP_IF, &condition, 1, NULL, 0, 2);
    Builder other = {x->s, x->f, branch->region[1], NULL, b->span};
    *then = (Builder){x->s, x->f, branch->region[0], NULL, b->span};
    end_arm(&other);
    return branch;
}

/* What follows the loop is done once for each place, with the sum of all its parts. */
static void meet(const StreamK *x, const Share *h, const Item *item) {
    Op *loop = x->loop, *rest = loop->next, *yield = loop->block->last;
    Builder b = {x->s, x->f, loop->block, rest, loop->span}, arm;
    Value *sum[MOST_SUMS], *stand_in[MOST_SUMS], *no = ir_const_int(&b, type_scalar(EL_I1), 0);
    int n = loop->nresults;
    /* What used the loop's results uses the sums, which are made of these. */
    for (int i = 0; i < n; i++) {
        stand_in[i] = ir_const_int(&b, loop->result[i]->type, 0);
        ir_replace_uses(loop->result[i], stand_in[i]);
    }
    branch_if(x, &b, item->part, &arm);
    hand_on(x, h, &arm, item);
    end_arm(&arm);
    add_parts(x, h, &b, item, sum);
    for (int i = 0; i < n; i++) {
        ir_replace_uses(stand_in[i], sum[i]);
        ir_erase(stand_in[i]->def);
    }
    branch_if(x, &b, choose(&b, item->part, no, item->there), &arm);
    for (Op *op = rest, *next; op != yield; op = next) {
        next = op->next;
        ir_append(arm.block, op);
    }
    end_arm(&arm);
}

/* NULL, or why not. */
static const char *split(StreamK *x) {
    Func *f = x->f;
    Op *places = x->places;
    Share h = {0};
    Builder b = {x->s, f, places->block, places, places->span};
    x->cluster = launch_value(&b, OP_CLUSTER_ID, i32());
    h.n = iterations(x, &b);
    if (!is_known_at_launch(x, h.n)) return not_known;
    Builder top = {x->s, f, f->body, f->body->first, places->span};
    h.mark = launch_value(&top, OP_LAUNCH_MARK, i64());
    h.workspace = launch_value(&top, OP_WORKSPACE, type_pointer_to(i64()));
    ir_set_attr(x->s, h.workspace->def, AT_BYTES, x->flag + FLAG_BYTES);
    share_out(x, &b, &h);
    Op *items = ir_for(&b, h.parts, h.items, number(&b, 1), NULL, 0);
    ir_set_attr(x->s, items, AT_PARALLEL, 1);
    Block *body = items->region[0], *was = places->region[0];
    Builder in = {x->s, f, body, NULL, places->span};
    Item item = item_of(x, &h, &in, body->args[0]);
    item.place->name = was->args[0]->name;
    ir_replace_uses(was->args[0], item.place);
    cut_loop(x, &h, &item);
    while (was->first) ir_append(body, was->first);
    ir_erase(places);
    meet(x, &h, &item);
    x->ctx->changed = true;
    return NULL;
}

static void find_places(Op *op, void *ctx) {
    StreamK *x = ctx;
    if (op->block == x->f->body && ir_attr_int(op, AT_PARALLEL, 0) &&
        op_is(op->operand[0].value, OP_PROGRAM_ID) && op_is(op->operand[2].value, OP_NUM_PROGRAMS))
        x->places = op;
}

void pass_stream_k(PassCtx *ctx) {
    enum { AUTO = 1 };
    StreamK x = {.ctx = ctx, .s = ctx->s, .f = ctx->f};
    if (ctx->f->stream_k != AUTO || !ctx->f->persistent) return;
    ir_walk(ctx->f->body, find_places, &x);
    if (!x.places) return;
    const char *why = refuse(&x);
    if (!why) why = split(&x);
    if (!why) return;
    diag(&ctx->s->diags, P_STREAM_K, x.loop ? x.loop->span : ctx->f->span,
         "programs do not share out the iterations of kernel '%s': %s",
         ctx->f->entry_of ? ctx->f->entry_of : ctx->f->name, why);
}
