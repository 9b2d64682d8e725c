/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* warp_multicast.c: blocks that two programs take in the same turn -> one copy, to both of them.
 *
 *     producer: for k: wait empty[s]; expect full[s]; start both copies
 *     consumer: for k: wait full[s]; acc = dot as[s], bs[s], acc; wait for it; arrive at empty[s]
 * becomes, where a launch runs programs 2i and 2i + 1 as a cluster,
 *     producer: for k: wait empty[s]; expect full[s]; start a's copy;
 *               if the neighbour takes b's block, too: each other turn start its copy to both
 *               else start b's copy
 *     consumer: … arrive at empty[s], here and at the neighbour's
 *
 * An empty barrier counts the warps of both programs: a stage is free when both have left it, so
 * nobody has to know what is shared when. They go the same number of turns for a place of the grid,
 * and the one of even rank has a place as long as the other has. In a place that the neighbour has
 * none beside, and where there is no cluster, a warp arrives twice at its own. Programs that share
 * out sums (stream_k.c) go on side by side to the end.
 *
 * What a program's neighbour takes is worked out as the program works out its own: from the place
 * beside its own. */
#include "ir/analysis/axis.h"
#include "ir/analysis/divergence.h"
#include "ir/desc.h"
#include "ir/effects.h"
#include "ir/roles.h"
#include "ir/target.h"
#include "passes/cost.h"
#include "passes/forecast.h"
#include "passes/warp_specialize.h"

#include <string.h>

Op *loop_over_places(const Block *b) {
    for (Op *op = b->first; op; op = op->next)
        if (op->code == OP_FOR && ir_attr_int(op, AT_PARALLEL, 0)) return op;
    return NULL;
}

enum { MOST_DEPTH = 100, MOST_OPERANDS = 3 };

/* What it is for a neighbour is worked out by the same op. Not what inline assembly asks of this
 * program's multiprocessor. */
static bool is_worked_out(const Op *op) {
    return op && !op->nregions && op->nresults == 1 && op->noperands &&
           op->noperands <= MOST_OPERANDS && ir_is_pure(op) && op->code != OP_INLINE_ASM;
}

/* ---- is it to be? ---- */

typedef struct Judge {
    Specialize *x;
    const Op *places;
    const Value *place; /* a program's */
    const uint8_t *differs;
    uint8_t *known; /* by value id: what is_known found, 1 + that; 0: not asked yet */
    AxisTable axis;
    Buf when;
    bool never, some; /* some block may be shared */
} Judge;

/* All programs do it as often in each place. */
static bool is_as_often(const Judge *j, const Op *op) {
    const Op *at = op->block->parent;
    for (; at && at != j->places; at = at->block->parent) {
        if (at->code != OP_FOR && at->code != OP_IF) return false;
        for (int i = 0; i < (at->code == OP_FOR ? 3 : 1); i++)
            if (j->differs[at->operand[i].value->id]) return false;
    }
    return at;
}

/* A neighbour's v can be worked out. */
static bool is_known(const Judge *j, const Value *v, int depth) {
    if (v == j->place || !j->differs[v->id]) return true;
    if (j->known[v->id] || depth == MOST_DEPTH) return j->known[v->id] > 1;
    bool known = is_worked_out(v->def);
    for (int i = 0; known && i < v->def->noperands; i++)
        known = is_known(j, v->def->operand[i].value, depth + 1);
    j->known[v->id] = 1 + known;
    return known;
}

static bool may_be_shared(const Judge *j, const Op *load) {
    for (int i = 1; i < load->noperands; i++)
        if (!is_known(j, load->operand[i].value, 0)) return false;
    return true;
}

static void add_term(Judge *j, const char *term) {
    if (j->when.len && strstr(j->when.data, term)) return;
    buf_printf(&j->when, "%s%s", j->when.len ? " + " : "", term);
}

/* Blocks beside each other along a row begin within lines: those of 160 halves do. */
static bool begins_within(const Value *index, int bytes) {
    int64_t by = 1;
    for (int i = 0; i < 2 && op_is(index, OP_MUL); i++)
        if (ir_int_constant(index->def->operand[i].value, &by) && by > 0)
            return by % COST_LINE_BYTES * bytes % COST_LINE_BYTES &&
                   (by > COST_LINE_BYTES || COST_LINE_BYTES % (by * bytes));
    return false;
}

/* Adds what is not 0 where rows begin within a line of memory. A launch works that out. */
static void add_rows(Judge *j, const Op *load) {
    const Op *desc = load->operand[0].value->def;
    Type t = desc->result[0]->type;
    int bytes = type_elem_bytes(t);
    if (begins_within(load->operand[load->noperands - 1].value, bytes)) add_term(j, "(1)");
    for (int d = 0; d + 1 < t.rank; d++) {
        const Value *stride = desc_stride(desc, d);
        const AxisInfo *known = axis_of(&j->axis, stride);
        Buf term = buf_new(&j->x->s->arena);
        if (known && known->divisibility[0] * bytes % COST_LINE_BYTES == 0) continue;
        if (!put_bytes_into_line(desc, d, &term)) {
            j->never = true;
            return;
        }
        add_term(j, term.data);
    }
}

static void judge_neighbours(Specialize *x) {
    Func *f = x->f;
    Judge j = {.x = x, .places = loop_over_places(f->body), .when = buf_new(&x->s->arena)};
    if (!f->entry_of || !f->persistent || !j.places || !x->ctx->target->multicast) return;
    j.differs = divergence_analyse(x->s, f, j.places);
    j.place = divergence_place(j.places);
    j.known = arena_alloc(&x->s->arena, f->nvalues);
    j.axis = axis_analyse(x->s, f);
    for (int k = 0; k < x->n; k++) {
        const Group *g = &x->group[k];
        if (g->part && !is_as_often(&j, g->part)) return;
        for (int n = 0; n < g->ndots; n++) {
            if (!is_as_often(&j, g->dot[n])) return;
            for (int i = 0; i < 2; i++) {
                Loaded from;
                if (!loaded_beside(g->dot[n], i, &from)) continue;
                add_rows(&j, from.load);
                j.some |= may_be_shared(&j, from.load);
            }
        }
    }
    if (j.never || !j.some || !j.when.len) return;
    f->max_cluster = CLUSTER_PROGRAMS;
    f->cluster_when = j.when.data;
}

/* Where no launch forms clusters each program is one. */
static void leave_alone(Op *op, void *ctx) {
    const Specialize *x = ctx;
    Builder b = {x->s, x->f, op->block, op, op->span};
    Type i32 = index_type();
    switch (op->code) {
    case OP_CLUSTER_ID:
    case OP_NUM_CLUSTERS:
        op->code = op->code == OP_CLUSTER_ID ? OP_PROGRAM_ID : OP_NUM_PROGRAMS;
        ir_set_attr(x->s, op, AT_AXIS, 0);
        return;
    case OP_CLUSTER_RANK:
    case OP_CLUSTER_SIZE:
        ir_replace_uses(op->result[0], ir_const_int(&b, i32, op->code == OP_CLUSTER_SIZE));
        break;
    case OP_CLUSTER_PLACE:
        ir_replace_uses(op->result[0], op->operand[0].value);
        ir_replace_uses(op->result[1], ir_const_int(&b, type_scalar(EL_I1), 1));
        break;
    default: return;
    }
    ir_erase(op);
}

void find_neighbours(Specialize *x) {
    judge_neighbours(x);
    if (!x->f->max_cluster) ir_walk(x->f->body, leave_alone, x);
}

/* ---- in a role ---- */

static Value *both(Builder *b, Value *x, Value *y) {
    return ir_binary(b, OP_AND, x, y);
}

/* Programs that take places of a cluster go on beside each other in all turns; of others one may
 * have no place any more. */
void meet_neighbours(Specialize *x, Block *role) {
    x->beside = (Neighbours){0};
    Op *places = x->f->max_cluster ? loop_over_places(role) : NULL;
    if (!places) return;
    Neighbours *n = &x->beside;
    Value *place = divergence_place(places);
    Op *of = place->def; /* CLUSTER_PLACE, or NULL */
    Block *body = places->region[0];
    Builder at = {x->s, x->f, body, of ? of->next : body->first, places->span}, *b = &at;
    Type i32 = index_type();
    Value *one = ir_const_int(b, i32, 1);
    Value *all = of ? of->operand[1].value : places->operand[1].value;
    n->rank = ir_op(b, OP_CLUSTER_RANK, NULL, 0, &i32, 1, 0)->result[0];
    n->size = ir_op(b, OP_CLUSTER_SIZE, NULL, 0, &i32, 1, 0)->result[0];
    Value *first = of ? ir_binary(b, OP_MUL, of->operand[0].value, n->size)
                      : ir_binary(b, OP_SUB, place, n->rank);
    Value *most = ir_binary(b, OP_SUB, n->size, one);
    Value *last_there = of ? NULL : ir_cmp(b, PRED_LT, ir_binary(b, OP_ADD, first, most), all);
    n->all_there = ir_cmp(b, PRED_GT, n->size, one);
    if (!of) n->all_there = both(b, last_there, n->all_there);
    for (int i = 0; i < CLUSTER_PROGRAMS; i++) {
        Value *number = ir_const_int(b, i32, i), *its = ir_binary(b, OP_ADD, first, number);
        Value *is_there = ir_cmp(b, PRED_LT, number, n->size);
        if (!of) is_there = both(b, is_there, ir_cmp(b, PRED_LT, its, all));
        n->told[i] = ir_op1(b, OP_SELECT, (Value *[]){is_there, number, n->rank}, 3);
    }
    for (int i = 0; i < CLUSTER_PROGRAMS - 1; i++) {
        Value *by = ir_binary(b, OP_ADD, n->rank, ir_const_int(b, i32, i + 1));
        n->other[i] = ir_binary(b, OP_ADD, first, ir_binary(b, OP_AND, by, most));
        if (of) n->other[i] = ir_binary(b, OP_MIN, n->other[i], ir_binary(b, OP_SUB, all, one));
    }
}

int arrivals_at_stage(const Specialize *x, const Group *g) {
    if (g->waits) return x->consumers + 1; /* and who copies */
    return x->consumers * (g->ndots && x->f->max_cluster ? CLUSTER_PROGRAMS : 1);
}

void leave_stage(Specialize *x, Builder *b, const Group *g, Turn t) {
    Value *in[1 + CLUSTER_PROGRAMS] = {stage_slice(b, g->empty, t.stage)};
    for (int i = 0; i < CLUSTER_PROGRAMS; i++) in[1 + i] = x->beside.told[i];
    ir_op(b, OP_MBAR_ARRIVE, in, x->beside.rank ? 1 + CLUSTER_PROGRAMS : 1, NULL, 0, 0);
}

static Builder begin_arm(Op *branch, int r, const Builder *b) {
    return (Builder){b->s, b->f, branch->region[r], NULL, b->span};
}

static void end_arm(Builder *in) {
    ir_op(in, OP_YIELD, NULL, 0, NULL, 0, 0);
}

typedef struct Its {        /* what a program of the cluster has */
    const uint8_t *differs; /* by value id: it may be another than this program's */
    Value **at;             /* by value id; NULL: not worked out yet */
    uint32_t known;         /* ids below are */
    Builder *b;             /* where it is worked out */
    const Op *taking;       /* behind that: what takes the block, or the loop around it */
} Its;

/* v as that program has it; NULL: that is not known there. */
static Value *its_value(const Its *n, Value *v, int depth) {
    Op *op = v->def;
    if (v->id >= n->known) return NULL;
    if (n->at[v->id]) return n->at[v->id];
    if (!n->differs[v->id] && ir_defined_outside(v, n->taking)) return v;
    if (!is_worked_out(op) || depth == MOST_DEPTH) return NULL;
    Value *in[MOST_OPERANDS];
    for (int i = 0; i < op->noperands; i++)
        if (!(in[i] = its_value(n, op->operand[i].value, depth + 1))) return NULL;
    return n->at[v->id] = ir_op_like(n->b, op, in, op->noperands, NULL)->result[0];
}

/* Adds to *all whether that neighbour takes this block, too; false: that is not known. */
static bool add_takes_too(const Op *load, const Its *own, const Its *its, Value **all) {
    for (int i = 1; i < load->noperands; i++) {
        Value *v = load->operand[i].value;
        if (v->id < its->known && !its->differs[v->id]) continue;
        Value *x = ir_defined_outside(v, own->taking) ? v : its_value(own, v, 0);
        Value *y = its_value(its, v, 0);
        if (!x || !y) return false;
        Value *equal = ir_cmp(its->b, PRED_EQ, x, y);
        *all = *all ? ir_binary(its->b, OP_AND, *all, equal) : equal;
    }
    return true;
}

static Its its_of(const Specialize *x, const Its *like, const Value *place, Value *its_place) {
    Its its = *like;
    its.at = arena_array(&x->s->arena, its.known, sizeof *its.at);
    its.at[place->id] = its_place;
    return its;
}

/* A branch in front of `taking`, whether there is a neighbour to look at, with a result more than
 * the one made there for another block had. */
static Op *branch_before(Specialize *x, Op *taking) {
    Neighbours *n = &x->beside;
    Type bit = type_scalar(EL_I1);
    if (n->branch && n->branch == taking->prev)
        return n->branch = ir_if_widen(x->s, x->f, n->branch, &bit, 1);
    Builder b = {x->s, x->f, taking->block, taking, taking->span};
    n->branch = ir_op(&b, OP_IF, (Value *[]){n->all_there}, 1, &bit, 1, 2);
    for (int r = 0; r < 2; r++) {
        Builder arm = begin_arm(n->branch, r, &b);
        end_arm(&arm);
    }
    return n->branch;
}

/* Whether all of the cluster take this block in this turn; NULL: that is not known. Where there is
 * no cluster nothing is worked out: a program's first copies wait for this. Nor of places beyond
 * the grid: a quotient there might be none. */
static Value *all_take(Specialize *x, Op *load) {
    const Neighbours *n = &x->beside;
    Op *taking = load;
    while (!ir_attr_int(taking->block->parent, AT_PARALLEL, 0)) taking = taking->block->parent;
    Block *body = taking->block;
    Its like = {divergence_analyse(x->s, x->f, body->parent), NULL, x->f->nvalues, NULL, taking};
    Op *branch = branch_before(x, taking),
       *end[] = {branch->region[0]->last, branch->region[1]->last};
    Builder there = {x->s, x->f, branch->region[0], end[0], taking->span};
    Builder alone = {x->s, x->f, branch->region[1], end[1], taking->span};
    like.b = &there;
    Value *place = divergence_place(body->parent);
    Value *all = NULL, *no = ir_const_int(&alone, type_scalar(EL_I1), 0);
    Its own = its_of(x, &like, place, place);
    bool known = true;
    for (int i = 0; known && i < CLUSTER_PROGRAMS - 1; i++) {
        Its its = its_of(x, &like, place, n->other[i]);
        known = add_takes_too(load, &own, &its, &all);
    }
    if (!known || !all) all = ir_const_int(&there, no->type, known);
    ir_yield_more(x->s, x->f, end[0], &all, 1);
    ir_yield_more(x->s, x->f, end[1], &no, 1);
    return known ? branch->result[branch->nresults - 1] : NULL;
}

/* They bring it in turns, by the number of the turn among those of two rounds of the stages: this
 * is one of the program's own. */
static Value *is_own_turn(Specialize *x, Builder *b, const Group *g, Turn t) {
    Type i32 = index_type();
    Value *round = ir_binary(b, OP_MUL, t.phase, ir_const_int(b, i32, g->stages));
    Value *turn = ir_binary(b, OP_ADD, t.stage, round), *one = ir_const_int(b, i32, 1);
    Value *of = ir_binary(b, OP_AND, turn, ir_binary(b, OP_SUB, x->beside.size, one));
    return ir_cmp(b, PRED_EQ, of, x->beside.rank);
}

int64_t start_shared_copy(Specialize *x, Builder *b, const Group *g, const Loaded *from, Value *to,
                          Value *full, Turn t) {
    Value *all = x->beside.rank ? all_take(x, from->load) : NULL;
    if (!all) return start_copy(x, b, from, to, full, false);
    Value *own = is_own_turn(x, b, g, t);
    Op *branch = ir_op(b, OP_IF, &all, 1, NULL, 0, 2);
    Builder shared = begin_arm(branch, 0, b), alone = begin_arm(branch, 1, b);
    Op *inner = ir_op(&shared, OP_IF, &own, 1, NULL, 0, 2);
    Builder in = begin_arm(inner, 0, b), out = begin_arm(inner, 1, b);
    start_copy(x, &in, from, to, full, true);
    int64_t bytes = start_copy(x, &alone, from, to, full, false);
    end_arm(&in);
    end_arm(&out);
    end_arm(&shared);
    end_arm(&alone);
    return bytes;
}
