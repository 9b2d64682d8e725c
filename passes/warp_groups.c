/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* warp_groups.c: a program -> the groups of blocks that a warp of its own can bring its dots, and
 * of how many stages; or a note that says why there are none (see warp_specialize.h).
 *
 * That warp runs ahead of the rest. So the indices have to be scalars that no memory is read for,
 * and nothing that is done before a load may write what it reads, or wait for those who do. */
#include "ir/analysis/alias.h"
#include "ir/analysis/demand.h"
#include "ir/desc.h"
#include "ir/effects.h"
#include "ir/roles.h"
#include "ir/target.h"
#include "passes/layout_choice.h"
#include "passes/schedule.h"
#include "passes/warp_specialize.h"

#include <string.h>

enum { MOST_DEPTH = 200 };

/* Which of its operand's dimensions the result's are; those of one element are none, and may be
 * added and left out. False: it takes some apart. */
static bool moves_dims(const Op *op, int *from) {
    Type t = op->operand[0].value->type, to = op->result[0]->type;
    const Attr *order = op->code == OP_TRANS ? ir_attr(op, AT_ORDER) : NULL;
    int d = 0;
    for (int k = 0; k < to.rank; k++) {
        if (order) d = order->dims[k];
        from[k] = 0;
        if (!to.log2[k]) continue;
        while (!order && d < t.rank && !t.log2[d]) d++;
        if (d == t.rank || t.log2[d] != to.log2[k]) return false;
        from[k] = d++;
    }
    return order || d == t.rank || type_numel(t) == type_numel(to);
}

bool loaded(const Op *dot, int i, Loaded *out) {
    const Value *v = dot->operand[i].value;
    int from[TILE_MAX_RANK];
    *out = (Loaded){0};
    for (int d = 0; d < v->type.rank; d++) out->order[d] = d;
    while ((op_is(v, OP_TRANS) || op_is(v, OP_RESHAPE)) && out->nvia < MOST_VIA &&
           moves_dims(v->def, from)) {
        for (int d = 0; d < 2; d++) out->order[d] = from[out->order[d]];
        out->via[out->nvia++] = v->def;
        v = v->def->operand[0].value;
    }
    if (!op_is(v, OP_DESC_LOAD) || dot->operand[i].value->type.rank != 2) return false;
    out->load = v->def;
    out->as_it_is = v->type.rank == 2 && out->order[0] == 0;
    return true;
}

bool is_seen(const Op *op) {
    return ir_effects(op) & ~(unsigned)EFFECT_UNIQUE;
}

static bool are_scalar_work(Specialize *x, const Op *op, int n) {
    for (int i = 0; i < n; i++)
        if (!is_scalar_work(x, op->operand[i].value)) return false;
    return true;
}

/* A branch's result, by either way. */
static bool is_either(Specialize *x, const Value *v) {
    const Op *branch = v->def;
    return are_scalar_work(x, branch, 1) &&
           is_scalar_work(x, branch->region[0]->last->operand[v->index].value) &&
           is_scalar_work(x, branch->region[1]->last->operand[v->index].value);
}

/* A loop's index, what it carries or its result. */
static bool is_counted(Specialize *x, const Value *v, const Op *loop) {
    int carried = v->def ? v->index : v->index - 1;
    if (v->def && loop->code == OP_IF) return is_either(x, v);
    return loop->code == OP_FOR && are_scalar_work(x, loop, 3) &&
           (carried < 0 || (is_scalar_work(x, loop->operand[3 + carried].value) &&
                            is_scalar_work(x, loop->region[0]->last->operand[carried].value)));
}

/* What is looked at is taken to be so meanwhile, as a loop may carry it: where it comes out that it
 * is not, nothing of the answer is kept. */
bool is_scalar_work(Specialize *x, const Value *v) {
    const Op *op = v->def, *around = op && !op->nregions ? NULL : op ? op : v->block->parent;
    if (v->type.rank || x->depth == MOST_DEPTH || v->id >= x->nseen) return false;
    if (x->seen[v->id]) return true;
    x->seen[v->id] = 1;
    x->depth++;
    bool is = around ? is_counted(x, v, around)
                     : !op || (!is_seen(op) && are_scalar_work(x, op, op->noperands));
    x->depth--;
    if (!is && !x->depth) memset(x->seen, 0, x->nseen);
    return is;
}

/* The op that holds `op`, or is it, of what a program does for one place of the grid. */
static const Op *outermost(const Op *op) {
    for (const Op *at; (at = op->block->parent) && !ir_attr_int(at, AT_PARALLEL, 0);) op = at;
    return op;
}

/* Why a role could not work out by itself whether it comes there; NULL: it can. */
static const char *why_not_known(Specialize *x, const Op *op) {
    for (const Op *at = op->block->parent; at; at = at->block->parent) {
        if (at->code != OP_FOR && at->code != OP_IF) return "it is not in `for` loops alone";
        if (!are_scalar_work(x, at, at->code == OP_FOR ? 3 : 1))
            return "a loop's bounds are not made of scalars alone, without reading memory";
    }
    return NULL;
}

/* No program that does the one comes to the other: they are two ways of a branch that no loop is
 * around. */
static bool is_other_way(const Op *a, const Op *b) {
    const Block *way = a->block;
    while (way->parent && !ir_inside(b, way->parent)) way = way->parent->block;
    if (!way->parent || way->parent->code != OP_IF) return false;
    for (const Op *at = b; at != way->parent; at = at->block->parent)
        if (at->block == way) return false;
    for (const Op *at = way->parent; at; at = at->block->parent)
        if (at->code != OP_IF) return false;
    return true;
}

/* What a role can poll by itself, where a loop asks for roles. */
static bool is_scalar_poll(Specialize *x, const Op *op) {
    return x->asked && op->code == OP_ATOMIC_POLL && op->noperands == 2 &&
           !op->operand[0].value->type.rank && !ir_has_uses(op->result[0]) &&
           are_scalar_work(x, op, 2) && !why_not_known(x, op);
}

static bool is_before(const Op *a, const Op *b) {
    for (const Op *op = a->next; op; op = op->next)
        if (op == b) return true;
    return false;
}

/* The op of the block that op is, or that holds it; NULL: none does. */
static Op *op_of_block(Op *op, const Block *b) {
    while (op && op->block != b) op = op->block->parent;
    return op;
}

typedef struct Ahead { /* what the load, or poll, is done ahead of */
    Specialize *x;
    const Op *op, *use, *blocker;
    bool behind; /* the walk is past the outermost loop that holds its use */
} Ahead;

/* What is stored orders nothing, so a poll may pass it; a load only where it reads other memory. */
static bool may_pass(const Op *ahead, const Op *op) {
    bool stores = op->code == OP_STORE || op->code == OP_DESC_STORE;
    return (ahead->code == OP_ATOMIC_POLL && stores) || alias_may_pass(ahead, op);
}

/* It tells others that the load is done, but who computes waits for that only where it is used. */
static bool tells_too_soon(const Ahead *a, Op *op) {
    const Op *at = op_orders(op) ? op_of_block(op, a->op->block) : NULL;
    return at && is_before(a->op, at) && is_before(at, a->use);
}

/* Polls stay in order among themselves, and whatever blocks one blocks the loads behind it, too. */
static void look_for_blocker(Op *op, void *ctx) {
    Ahead *a = ctx;
    const Op *last = outermost(a->use);
    a->behind |= op == last->next;
    bool blocks = !may_pass(a->op, op) || tells_too_soon(a, op);
    if (!a->behind && !a->blocker && blocks && !is_other_way(a->op, op) &&
        !is_scalar_poll(a->x, op))
        a->blocker = op;
}

static bool is_blocked(Specialize *x, const Op *op, const Op *use) {
    Ahead a = {.x = x, .op = op, .use = use};
    ir_walk(x->f->body, look_for_blocker, &a);
    return a.blocker;
}

bool is_wait_ahead(Specialize *x, const Op *op) {
    return is_scalar_poll(x, op) && !is_blocked(x, op, op);
}

/* use: the first op that waits for it. */
static const char *refuse_load(Specialize *x, const Op *load, const Op *use) {
    Layout l;
    if (!desc_layout(load->operand[0].value->def, &l)) return "the copy engine moves no such block";
    if (ir_attr(load->operand[0].value->def, AT_PADDING)) return "its block is padded with NaN";
    for (int i = 1; i < load->noperands; i++)
        if (!is_scalar_work(x, load->operand[i].value))
            return "its index is not made of scalars alone, without reading memory";
    const char *why = why_not_known(x, load);
    if (why) return why;
    return is_blocked(x, load, use)
               ? "the program before it, or a loop around it, writes memory that it may read, "
                 "or waits for others"
               : NULL;
}

static void refuse(Specialize *x, const Op *op, const char *why) {
    diag(&x->s->diags, P_ROLES, op->span, "no warp of its own brings this block: %s", why);
    x->refused = true;
}

bool loaded_beside(const Op *dot, int i, Loaded *out) {
    return loaded(dot, i, out) && out->load->block == dot->block;
}

static bool same_number(const Op *a, const Op *b, AttrId id) {
    return ir_attr_int(a, id, 0) == ir_attr_int(b, id, 0);
}

/* One instruction makes both, which wants their operands in one layout. */
static bool are_alike(const Op *a, const Op *b) {
    bool same = same_number(a, b, AT_PRECISION) && same_number(a, b, AT_COLUMNS);
    for (int i = 0; i < 3; i++)
        same &= type_equal(a->operand[i].value->type, b->operand[i].value->type);
    return same;
}

/* Their blocks are of one shape, and lie in a buffer in one way. */
static bool take_alike(const Op *a, const Op *b) {
    if (a->block == b->block || !are_alike(a, b)) return false;
    for (int i = 0; i < 2; i++) {
        Loaded x, y;
        bool first = loaded_beside(a, i, &x), second = loaded_beside(b, i, &y);
        if (first != second) return false;
        if (!first) continue;
        const Op *from = x.load->operand[0].value->def, *to = y.load->operand[0].value->def;
        Type block = from->result[0]->type;
        if (!type_equal(block, to->result[0]->type) || memcmp(x.order, y.order, sizeof x.order))
            return false;
        for (int d = 0; d < block.rank; d++)
            if (desc_live(from, block, d) != desc_live(to, block, d)) return false;
    }
    return true;
}

static Group *group_of_such(Specialize *x, const Op *dot, int stages) {
    for (int k = 0; k < x->n; k++) {
        Group *g = &x->group[k];
        bool alike = g->stages == stages && g->ndots && g->ndots < MOST_DOTS;
        for (int i = 0; i < g->ndots && alike; i++) alike = take_alike(g->dot[i], dot);
        if (alike) return g;
    }
    return NULL;
}

/* Of its loop, or of the one beside it that goes on with it. */
static int stages_asked(const Specialize *x, const Op *dot) {
    const Op *loop = dot->block->parent;
    for (const Op *at = dot->block->first; at && (!loop || loop->code != OP_FOR); at = at->next)
        if (at->code == OP_FOR) loop = at;
    return (int)(loop ? ir_attr_int(loop, AT_NUM_STAGES, x->f->num_stages) : x->f->num_stages);
}

static bool is_asked(const Op *loop) {
    return loop && loop->code == OP_FOR && ir_attr_int(loop, AT_WARP_SPECIALIZE, 0);
}

/* A block that several dots take in one turn, each maybe the other way round, comes for each of
 * them, where the loop asks for it: one buffer lies in one way. */
static void separate(Op *dot, void *ctx) {
    Specialize *x = ctx;
    if (dot->code != OP_DOT || !is_asked(dot->block->parent)) return;
    Builder b = {x->s, x->f, dot->block, dot, dot->span};
    for (int i = 0; i < 2; i++) {
        Loaded from;
        if (!loaded_beside(dot, i, &from)) continue;
        bool several = from.load->result[0]->uses->next;
        for (int k = 0; k < from.nvia; k++) several |= from.via[k]->result[0]->uses->next != NULL;
        if (!several) continue;
        Value *v = ir_clone(&b, from.load, NULL, 0)->result[0];
        for (int k = from.nvia - 1; k >= 0; k--) {
            Op *via = ir_clone(&b, from.via[k], NULL, 0);
            ir_set_operand(via, 0, v);
            v = via->result[0];
        }
        ir_set_operand(dot, i, v);
        for (int k = 0; k < from.nvia && !ir_has_uses(from.via[k]->result[0]); k++)
            ir_erase(from.via[k]);
        if (!ir_has_uses(from.load->result[0])) ir_erase(from.load);
    }
}

/* ---- warps that consume ---- */

typedef struct Idle {
    Specialize *x;
    int64_t warps; /* that have rows of some sum that are wanted */
    bool none;     /* threads exchange or read something, or a sum is otherwise shared out */
} Idle;

/* Each warp does it for its own elements, or will: what dots take is to come in shared memory. */
static bool is_for_itself(const Op *op) {
    Loaded from;
    if (op->code == OP_DOT) return loaded_beside(op, 0, &from) && loaded_beside(op, 1, &from);
    return op_is_for_itself(op) || (op->code == OP_DESC_LOAD && feeds_dot(op->result[0], -1));
}

static void look_for_idle(Op *op, void *ctx) {
    Idle *idle = ctx;
    const Specialize *x = idle->x;
    idle->none |= op_has_registers(op) && !is_for_itself(op);
    if (op->code != OP_DOT || idle->none) return;
    Type t = op->result[0]->type;
    DotChoice d = choose_dot(op, x->f->num_warps, x->ctx->target);
    int64_t rows = type_dim(t, 0), wanted = demand_of(x->s, x->f, op->result[0], 0);
    if (d.wgmma && t.rank == 2) rows = wgmma_rows(&d, t, wanted);
    idle->none |= !d.wgmma || rows == type_dim(t, 0);
    int64_t warps = x->f->num_warps * rows / type_dim(t, 0);
    if (warps > idle->warps) idle->warps = warps;
}

int warps_that_consume(Specialize *x) {
    Idle idle = {.x = x};
    ir_walk(x->f->body, look_for_idle, &idle);
    return idle.none || !idle.warps ? x->f->num_warps : (int)idle.warps;
}

/* The block's dimension is read up to `read`. Where nothing says where the tensor ends, what a mask
 * leaves out of the block may be nobody's. */
static void bring(Specialize *x, const Op *load, int dim, int64_t read) {
    Op *desc = load->operand[0].value->def;
    Type t = desc->result[0]->type;
    int64_t live[TILE_MAX_RANK], size;
    for (int d = 0; d < t.rank; d++) live[d] = desc_live(desc, t, d);
    if (read <= live[dim]) return;
    if (ir_int_constant(desc_size(desc, dim), &size) && size == DESC_UNBOUNDED) {
        refuse(x, load,
               "an instruction reads more of its block than the program does, and its "
               "mask does not say where the tensor ends");
        return;
    }
    live[dim] = read;
    ir_drop_attr(desc, AT_LIVE);
    desc_set_live(x->s, desc, t, live);
}

/* What is not wanted of a block comes where it is read all the same: an instruction reads all rows
 * of its first factor, and the columns that it has; threads read all. A stage without it would end
 * before that. */
static void bring_what_is_read(Op *op, void *ctx) {
    Specialize *x = ctx;
    Loaded from;
    if (op->code == OP_DESC_LOAD && !feeds_dot(op->result[0], -1)) {
        Type t = op->operand[0].value->type;
        for (int d = 0; d < t.rank; d++) bring(x, op, d, type_dim(t, d));
    }
    if (op->code != OP_DOT || op->result[0]->type.rank != 2) return;
    Type t = op->result[0]->type;
    DotChoice d = choose_dot(op, x->f->num_warps, x->ctx->target);
    int64_t columns = type_dim(t, 1), rows = type_dim(t, 0) * x->consumers / x->f->num_warps;
    if (d.wgmma && !d.wn) columns = wgmma_n(d.wgmma, ir_attr_int(op, AT_COLUMNS, columns));
    for (int i = 0; i < 2; i++)
        if (loaded(op, i, &from)) bring(x, from.load, from.order[i], i ? columns : rows);
}

/* A load of a loop that asks for it, of what threads read: rows of numbers, say. */
static void find_read(Op *op, void *ctx) {
    Specialize *x = ctx;
    if (op->code != OP_DESC_LOAD || !x->n || x->refused || !is_asked(op->block->parent)) return;
    if (feeds_dot(op->result[0], -1) || x->n == MOST_GROUPS || refuse_load(x, op, op)) return;
    x->group[x->n++] = (Group){.read = op,
                               .inside = ways_of_roles(x, op),
                               .stages = x->group[0].stages,
                               .bytes = block_bytes(op)};
}

static void find_group(Op *op, void *ctx) {
    Specialize *x = ctx;
    if (op->code == OP_WARPS || op->code == OP_BUFFER_ALLOC) x->refused = true; /* it has its own */
    if (op->code != OP_DOT || x->refused) return;
    static const char *const more = "more than a dot reads what it loads";
    Group g = {.dot = {op}, .ndots = 1, .inside = ways_of_roles(x, op)};
    for (int i = 0; i < 2; i++) {
        Loaded from;
        const char *why = NULL;
        if (!loaded_beside(op, i, &from)) continue; /* others: find_held */
        why = from.load->result[0]->uses->next ? more : refuse_load(x, from.load, op);
        for (int k = 0; k < from.nvia; k++)
            if (from.via[k]->block != op->block || from.via[k]->result[0]->uses->next) why = more;
        bool across = lies_across(x, op, i, &from);
        if (across && !why) why = refuse_transposing(x, op, &from);
        if (across) g.transposed |= 1u << i;
        if (why) {
            refuse(x, from.load, why);
            return;
        }
        g.bytes += block_bytes(from.load);
    }
    if (!g.bytes) return;
    g.stages = stages_asked(x, op);
    if (g.transposed && g.stages >= LEAST_STAGES) g.stages++; /* the one that is being transposed */
    Group *like = group_of_such(x, op, g.stages);
    if (like) {
        like->dot[like->ndots++] = op;
        like->inside = ways_of_both(&like->inside, &g.inside);
        return;
    }
    if (x->n == MOST_GROUPS) {
        diag(&x->s->diags, P_ROLES, op->span,
             "no warp of its own brings blocks: more than %d dots take them", MOST_GROUPS);
        x->refused = true;
        return;
    }
    x->group[x->n++] = g;
}

Value *held_operand(const Op *load, bool alike, int *i, Op **first, Op **last) {
    Value *v = load->result[0];
    int from[TILE_MAX_RANK];
    while (v->uses && !v->uses->next && v->uses->op->block == load->block &&
           (v->uses->op->code == OP_TRANS || v->uses->op->code == OP_RESHAPE) &&
           moves_dims(v->uses->op, from))
        v = v->uses->op->result[0];
    *i = v->uses ? (int)(v->uses - v->uses->op->operand) : 2;
    *first = *last = NULL;
    for (const Use *u = v->uses; u; u = u->next) {
        Op *in = op_of_block(u->op, load->block);
        if (u->op->code != OP_DOT || *i > 1 || u != &u->op->operand[*i] || !in || in == u->op ||
            (alike && !are_alike(u->op, v->uses->op)))
            return NULL;
        *first = !*first || is_before(in, *first) ? in : *first;
        *last = !*last || is_before(*last, in) ? in : *last;
    }
    return *first ? v : NULL;
}

/* A load before loops whose dots take its block in each turn. */
static void find_held(Op *op, void *ctx) {
    Specialize *x = ctx;
    Op *first, *last;
    int i;
    bool some = op->code == OP_DESC_LOAD && x->n && x->n < MOST_GROUPS && !x->refused;
    const Value *v = some ? held_operand(op, true, &i, &first, &last) : NULL;
    if (!v || v->type.rank != 2 || refuse_load(x, op, first)) return;
    x->group[x->n++] =
        (Group){.held = op, .inside = ways_of_roles(x, op), .stages = 1, .bytes = block_bytes(op)};
}

/* The sum of a dot, by a loop's result; NULL: it is none. */
static const Op *dot_of_sum(const Value *v) {
    const Op *loop = v->def;
    if (!loop || loop->code != OP_FOR) return NULL;
    for (v = loop->region[0]->last->operand[v->index].value; v->def; v = v->def->operand[0].value) {
        if (v->def->code == OP_DOT) return v->def;
        if (v->def->code != OP_ADD) return NULL;
    }
    return NULL;
}

/* What the dots of a group add to goes on with parts that are loaded. */
static void find_part(Op *op, void *ctx) {
    Specialize *x = ctx;
    if (op->code != OP_FRAGMENT_LOAD || x->refused) return;
    const Value *sum = op->operand[1].value, *part = op->result[0];
    const Op *loop = sum->def ? NULL : sum->block->parent;
    const Op *dot = loop && loop->code == OP_FOR && sum->index
                        ? dot_of_sum(loop->operand[2 + sum->index].value)
                        : NULL;
    bool added = part->uses && !part->uses->next && part->uses->op->code == OP_ADD;
    for (int k = 0; k < x->n && dot && added; k++)
        if (x->group[k].dot[0] == dot && x->group[k].ndots == 1 && !x->group[k].part) {
            x->group[k].part = op;
            return;
        }
    refuse(x, op, "it is a part of another sum than a dot's");
}

static void find_wait(Op *op, void *ctx) {
    Specialize *x = ctx;
    Group *g = &x->group[x->n];
    if (!g->waits && is_wait_ahead(x, op)) *g = (Group){.waits = true, .stages = LEAST_STAGES};
}

/* All waits are one group: they are in one order for all roles. */
static void find_waits(Specialize *x) {
    x->group[x->n] = (Group){0};
    ir_walk(x->f->body, find_wait, x);
    x->n += x->group[x->n].waits;
}

void find_groups(Specialize *x) {
    ir_walk(x->f->body, separate, x);
    ir_walk(x->f->body, bring_what_is_read, x);
    ir_walk(x->f->body, find_group, x);
    ir_walk(x->f->body, find_part, x);
    ir_walk(x->f->body, find_read, x);
    ir_walk(x->f->body, find_held, x);
    if (x->n && !x->refused) find_waits(x);
    if (x->n && !x->refused && x->f->num_warps >= MAX_WARPS)
        refuse(x, x->group[0].dot[0], "a program has 32 warps at most, and all are asked for");
}
