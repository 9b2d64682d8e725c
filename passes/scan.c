/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* scan.c: `scan` along an axis that warps share -> scans within threads and warps, whose totals go
 * through shared memory.
 *
 * What comes before an element is worked out once for the whole run of registers it lies in, and
 * combined into its elements at the end: so the lowest bits of the axis, those that registers hold,
 * are scanned first, and from there on totals alone; where lanes hold the lowest bits, all those of
 * a warp. The axis above is cut in three,
 * [high, warps, low], by a reshape, which costs nothing: what comes before each place of low,
 * within a warp; the totals of that, of all warps in every thread, and what comes before each warp;
 * the same again for high, which warps may share, too. Scanned backwards, all of it is the other
 * way round. Combinations need not commute, and their region may hold control flow: two tiles are
 * combined by a scan over pairs of their elements. */
#include "passes/cost.h"
#include "passes/exchange.h"
#include "passes/layout_choice.h"
#include "passes/pass.h"

typedef struct Scan {
    PassCtx *ctx;
    const Op *op;
    Builder b;
    int n; /* operands */
    bool reverse;
} Scan;

/* One tile for each operand, of one shape and layout; seen as [outer, len, inner] of these
 * logarithms, of which len is the axis or a part of it. */
typedef struct Tiles {
    Value **at;
    const Layout *layout;
    int outer, len, inner;
} Tiles;

static Tiles new_tiles(Scan *s, int outer, int len, int inner, const Layout *l) {
    return (Tiles){arena_array(&s->ctx->s->arena, (size_t)s->n, sizeof(Value *)), l, outer, len,
                   inner};
}

static Type shape_of(Type elem, int outer, int len, int inner) {
    Type t = type_element(elem);
    t.rank = 3;
    t.log2[0] = (uint8_t)outer;
    t.log2[1] = (uint8_t)len;
    t.log2[2] = (uint8_t)inner;
    return t;
}

static Value *made(Value *v, const Layout *l) {
    v->layout = l;
    return v;
}

static Value *reshaped(Scan *s, Value *v, Type t) {
    if (op_is(v, OP_RESHAPE) && v->def->operand[0].value->layout == v->layout)
        v = v->def->operand[0].value;
    return type_equal(v->type, t) ? v : made(ir_given(&s->b, OP_RESHAPE, v, t), v->layout);
}

/* x with the same elements in the same order. */
static Tiles seen_as(Scan *s, Tiles x, int outer, int len, int inner) {
    Tiles y = new_tiles(s, outer, len, inner, x.layout);
    for (int i = 0; i < s->n; i++)
        y.at[i] = reshaped(s, x.at[i], shape_of(x.at[i]->type, outer, len, inner));
    return y;
}

/* v, which has one place along the middle dimension, repeated there, as l asks. */
static Value *repeated(Scan *s, Value *v, int len, const Layout *l) {
    Type t = v->type;
    t.log2[1] = (uint8_t)len;
    return len ? made(ir_given(&s->b, OP_BROADCAST, v, t), l) : v;
}

static Tiles repeated_all(Scan *s, Tiles x, int len, const Layout *l) {
    Tiles y = new_tiles(s, x.outer, len, x.inner, l);
    for (int i = 0; i < s->n; i++) y.at[i] = repeated(s, x.at[i], len, l);
    return y;
}

/* ---- parts of the scan ---- */

typedef enum Give { GIVE_SUMS = 0, GIVE_BEFORE = 1, GIVE_TOTALS = 2 } Give;

/* A scan along the middle: sums, or what comes before; in *totals, where asked for, its totals. */
static Tiles scan_middle(Scan *s, Tiles x, unsigned give, Tiles *totals) {
    int n = s->n, results = give & GIVE_TOTALS ? 2 * n : n;
    Type *types = arena_array(&s->ctx->s->arena, (size_t)results, sizeof *types);
    for (int i = 0; i < results; i++)
        types[i] = i < n ? x.at[i]->type : type_without_dim(types[i - n], 1);
    Op *op = ir_op(&s->b, OP_SCAN, x.at, n, types, results, 1);
    ir_set_attr(s->ctx->s, op, AT_AXIS, 1);
    if (s->reverse) ir_set_attr(s->ctx->s, op, AT_REVERSE, 1);
    if (give & GIVE_BEFORE) ir_set_attr(s->ctx->s, op, AT_EXCLUSIVE, 1);
    if (give & GIVE_TOTALS) ir_set_attr(s->ctx->s, op, AT_TOTALS, 1);
    ir_clone_region(&s->b, s->op->region[0], op->region[0]);
    Tiles y = new_tiles(s, x.outer, x.len, x.inner, x.layout);
    for (int i = 0; i < n; i++) y.at[i] = made(op->result[i], x.layout);
    if (!(give & GIVE_TOTALS)) return y;
    Layout kept = layout_without_dim(x.layout, x.at[0]->type, 1);
    layout_drop_replicas(&kept);
    *totals = new_tiles(s, x.outer, 0, x.inner, intern_layout(s->ctx->s, kept));
    for (int i = 0; i < n; i++) totals->at[i] = made(op->result[n + i], totals->layout);
    return y;
}

/* before combined with after, element by element. */
static Tiles combined(Scan *s, Tiles before, Tiles after) {
    int n = s->n;
    const Layout *l = intern_layout(s->ctx->s, layout_joined(before.layout));
    Value **pair = arena_array(&s->ctx->s->arena, (size_t)n, sizeof *pair);
    Type *types = arena_array(&s->ctx->s->arena, (size_t)n, sizeof *types);
    for (int i = 0; i < n; i++) {
        types[i] = before.at[i]->type;
        types[i].log2[types[i].rank++] = 1;
        pair[i] =
            made(ir_op(&s->b, OP_JOIN, (Value *[]){before.at[i], after.at[i]}, 2, &types[i], 1, 0)
                     ->result[0],
                 l);
    }
    Op *op = ir_op(&s->b, OP_SCAN, pair, n, types, n, 1);
    ir_set_attr(s->ctx->s, op, AT_AXIS, types[0].rank - 1);
    ir_clone_region(&s->b, s->op->region[0], op->region[0]);
    Tiles y = new_tiles(s, before.outer, before.len, before.inner, before.layout);
    for (int i = 0; i < n; i++) {
        made(op->result[i], l);
        Type half[2] = {before.at[i]->type, before.at[i]->type};
        Op *split = ir_op(&s->b, OP_SPLIT, &op->result[i], 1, half, 2, 0);
        made(split->result[0], before.layout);
        y.at[i] = made(split->result[1], before.layout);
    }
    return y;
}

/* Which elements of tiles like x, seen as [outer, len, inner], have others before them in len. */
static Value *has_before(Scan *s, Tiles x, int outer, int len, int inner) {
    Type t = shape_of(type_scalar(EL_I32), outer, len, inner), line = t;
    line.log2[0] = line.log2[2] = 0;
    Layout small = layout_before_broadcast(x.layout, t, line);
    layout_drop_replicas(&small);
    const Layout *l = intern_layout(s->ctx->s, small);
    Type numbers = type_tile(EL_I32, 1, (int64_t[]){(int64_t)1 << len});
    Op *range = ir_op(&s->b, OP_ARANGE, NULL, 0, &numbers, 1, 0);
    ir_set_attr(s->ctx->s, range, AT_START, 0);
    ir_set_attr(s->ctx->s, range, AT_END, (int64_t)1 << len);
    Value *first = ir_const_int(&s->b, numbers, s->reverse ? ((int64_t)1 << len) - 1 : 0);
    Value *c = ir_cmp(&s->b, PRED_NE, made(range->result[0], l), made(first, l));
    c = reshaped(s, made(c, l), type_with_elem(line, EL_I1));
    c = made(ir_given(&s->b, OP_BROADCAST, c, type_with_elem(t, EL_I1)), x.layout);
    return reshaped(s, c, type_with_elem(x.at[0]->type, EL_I1));
}

static Tiles select_all(Scan *s, Value *c, Tiles x, Tiles y) {
    Tiles z = new_tiles(s, x.outer, x.len, x.inner, x.layout);
    for (int i = 0; i < s->n; i++) {
        Value *of[] = {c, x.at[i], y.at[i]};
        z.at[i] = made(ir_op1(&s->b, OP_SELECT, of, 3), x.layout);
    }
    return z;
}

/* ---- between warps ---- */

/* The bits of x's axis that are held by `in`, the first run of them: *low of them are below. */
static int first_run(Tiles x, LayoutIn in, int *low) {
    Type t = shape_of(type_scalar(EL_I1), x.outer, x.len, x.inner);
    LayoutIn held;
    int n = 0, k;
    *low = 0;
    while (*low < x.len && layout_find_bit(x.layout, t, 1, *low, &held, &k) && held != in) ++*low;
    while (*low + n < x.len && layout_find_bit(x.layout, t, 1, *low + n, &held, &k) && held == in)
        n++;
    return n;
}

/* How x is held, whose len warps hold, in every warp: by the lowest registers, or, of many warps,
 * by lanes that hold nothing of their own. */
static const Layout *in_all_warps(Scan *s, Tiles x) {
    Layout l = *x.layout;
    uint32_t len = (((uint32_t)1 << x.len) - 1) << x.inner;
    int placed = 0;
    if (1 << x.len >= COST_MANY_TOTALS)
        for (int k = 0; k < l.bits[IN_LANE] && placed < x.len; k++)
            if (!l.basis[IN_LANE][k]) l.basis[IN_LANE][k] = (uint32_t)1 << (x.inner + placed++);
    l.bits[IN_REG] = 0;
    for (int i = placed; i < x.len; i++) layout_push(&l, IN_REG, (uint32_t)1 << (x.inner + i));
    for (int k = 0; k < x.layout->bits[IN_REG]; k++)
        layout_push(&l, IN_REG, x.layout->basis[IN_REG][k]);
    for (int k = 0; k < l.bits[IN_WARP]; k++)
        if (l.basis[IN_WARP][k] & len) l.basis[IN_WARP][k] = 0;
    return intern_layout(s->ctx->s, l);
}

/* A buffer for x in which len is contiguous, to be read whole; else warps, lanes, registers. */
static Layout side_by_side(Tiles x) {
    Layout l = {.out = x.layout->out};
    uint32_t held = (((uint32_t)1 << x.len) - 1) << x.inner;
    for (int i = 0; i < x.len; i++) layout_push(&l, IN_OFFSET, (uint32_t)1 << (x.inner + i));
    for (int in = IN_WARP; in >= IN_REG; in--)
        for (int k = 0; k < x.layout->bits[in]; k++) {
            uint32_t v = x.layout->basis[in][k];
            if (v & ~held) layout_push(&l, IN_OFFSET, v);
            held |= v;
        }
    return l;
}

/* What comes before each element of x along its axis; the first has any value. *totals: of each
 * axis, NULL: not asked for. */
static Tiles all_before(Scan *s, Tiles x, Tiles *totals) {
    int low, warps = first_run(x, IN_WARP, &low), high = x.len - low - warps;
    if (!warps) return scan_middle(s, x, GIVE_BEFORE | (totals ? GIVE_TOTALS : 0), totals);
    Tiles in_low = {0}, sums = x;
    if (low)
        in_low = scan_middle(s, seen_as(s, x, x.outer + high + warps, low, x.inner),
                             GIVE_BEFORE | GIVE_TOTALS, &sums);
    sums = seen_as(s, sums, x.outer + high, warps, x.inner);
    Tiles all = new_tiles(s, sums.outer, warps, sums.inner, in_all_warps(s, sums)), above = {0};
    Layout through = side_by_side(sums);
    exchange_tiles(&s->b, sums.at, s->n, &through, all.layout, all.at);
    unsigned give = GIVE_BEFORE | (high || totals ? GIVE_TOTALS : 0);
    Tiles every = scan_middle(s, all, give, &above), before = every;
    before.layout = sums.layout;
    for (int i = 0; i < s->n; i++)
        before.at[i] = made(ir_unary(&s->b, OP_CONVERT, every.at[i]), sums.layout);
    if (totals && !high) *totals = above;
    if (high) {
        Tiles in_high = all_before(s, seen_as(s, above, x.outer, high, x.inner), totals);
        in_high =
            repeated_all(s, seen_as(s, in_high, x.outer + high, 0, x.inner), warps, before.layout);
        Tiles both = combined(s, in_high, before);
        both = select_all(s, has_before(s, before, x.outer + high, warps, x.inner), both, in_high);
        before = select_all(s, has_before(s, before, x.outer, high, warps + x.inner), both, before);
    }
    if (!low) return seen_as(s, before, x.outer, x.len, x.inner);
    before = repeated_all(s, seen_as(s, before, x.outer + high + warps, 0, x.inner), low, x.layout);
    Tiles both = combined(s, before, in_low);
    both = select_all(s, has_before(s, in_low, in_low.outer, low, x.inner), both, before);
    Value *later = has_before(s, in_low, x.outer, high + warps, low + x.inner);
    return seen_as(s, select_all(s, later, both, in_low), x.outer, x.len, x.inner);
}

/* Tile IR may say that a lane holds what lies along the axis and across: it is scanned in a layout
 * in which who holds an element tells where that is. */
static void make_plain(PassCtx *ctx, Op *op) {
    const Value *first = op->operand[0].value;
    if (layout_is_plain(first->layout)) return;
    Access along = {(int)ir_attr_int(op, AT_AXIS, 0), 0};
    Layout plain = choose_access_layout(first->type, along, 1 << first->layout->bits[IN_WARP]);
    const Layout *l = intern_layout(ctx->s, plain);
    Builder before = {ctx->s, ctx->f, op->block, op, op->span}, after = before;
    after.before = op->next;
    for (int i = 0; i < op->noperands; i++) {
        Value *x = made(ir_unary(&before, OP_CONVERT, op->operand[i].value), l), *y = op->result[i];
        Value *back = made(ir_unary(&after, OP_CONVERT, y), y->layout);
        ir_replace_uses(y, back);
        ir_set_operand(back->def, 0, y);
        ir_set_operand(op, i, x);
        y->layout = l;
    }
}

static void split(Op *op, void *ctx_) {
    PassCtx *ctx = ctx_;
    const Value *first = op->noperands ? op->operand[0].value : NULL;
    if (op->code != OP_SCAN || !first->layout || op->nresults != op->noperands) return;
    make_plain(ctx, op);
    first = op->operand[0].value;
    int axis = (int)ir_attr_int(op, AT_AXIS, 0), inner = type_dim_shift(first->type, axis), low,
        within;
    Scan s = {.ctx = ctx, .op = op, .n = op->noperands};
    s.b = (Builder){ctx->s, ctx->f, op->block, op, op->span};
    s.reverse = ir_attr_int(op, AT_REVERSE, 0);
    int len = first->type.log2[axis], outer = type_log2_numel(first->type) - len - inner;
    Tiles x = new_tiles(&s, outer, len, inner, first->layout);
    for (int i = 0; i < s.n; i++) x.at[i] = op->operand[i].value;
    if (!first_run(x, IN_WARP, &within)) return;
    int run = first_run(x, IN_REG, &low), above = len - (low ? within : run);
    Tiles y = seen_as(&s, x, outer + above, len - above, inner), sums = y;
    if (above < len) y = scan_middle(&s, y, GIVE_TOTALS, &sums);
    sums = all_before(&s, seen_as(&s, sums, outer, above, inner), NULL);
    sums = repeated_all(&s, seen_as(&s, sums, outer + above, 0, inner), len - above, y.layout);
    Value *later = has_before(&s, y, outer, above, len - above + inner);
    y = select_all(&s, later, combined(&s, sums, y), y);
    for (int i = 0; i < s.n; i++) {
        Value *r = reshaped(&s, y.at[i], op->result[i]->type);
        r->name = op->result[i]->name;
        ir_replace_uses(op->result[i], r);
    }
    ir_erase(op);
    ctx->changed = true;
}

void pass_scan(PassCtx *ctx) {
    ir_walk(ctx->f->body, split, ctx);
}
