/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* axis.c: a function -> for every value, how its elements run along each dimension (see axis.h).
 *
 * Elementwise ops follow axis_rules.c; here are constants, shape ops and control. Loops make it a
 * fixed point: what a loop carries is at first taken to be like its initial value, then met with
 * what comes round until nothing changes. A value not reached yet limits nothing. */
#include "ir/analysis/axis_rules.h"

#include <string.h>

static int dims_of(Type t) {
    return t.rank ? t.rank : 1;
}
static int64_t size_of(Type t, int dim) {
    return t.rank ? type_dim(t, dim) : 1;
}

/* ---- constants ---- */

static void set_constant(Fact *f, Type t, int64_t v) {
    f->axis.has_constant = true;
    f->axis.constant = v;
    f->nonneg = v >= 0 || !type_is_signed(t);
    for (int i = 0; i < dims_of(t); i++) {
        f->axis.contiguity[i] = 1;
        f->axis.divisibility[i] = low_bit(v);
        f->axis.constancy[i] = size_of(t, i);
    }
}

/* What survives without `fold`, whose business constants are: sums and products of indices. */
static bool constant_result(const Axis *a, const Op *op, int64_t *out) {
    int64_t x, y = 0;
    Type t = op->result[0]->type;
    if (!type_is_int(t) || !op->noperands || !axis_constant_operand(a, op, 0, &x)) return false;
    if (op->noperands > 1 && !axis_constant_operand(a, op, 1, &y)) return false;
    uint64_t r;
    switch (op->code) {
    case OP_ADD: r = (uint64_t)x + (uint64_t)y; break;
    case OP_SUB: r = (uint64_t)x - (uint64_t)y; break;
    case OP_MUL: r = (uint64_t)x * (uint64_t)y; break;
    case OP_CAST:
        if (type_is_bool(t) || !type_is_int(op->operand[0].value->type)) return false;
        r = (uint64_t)x;
        break;
    default: return false;
    }
    *out = elem_wrap((Elem)t.elem, (int64_t)r);
    return true;
}

/* ---- facts of whole values ---- */

static void know_nothing(Fact *f) {
    memset(f, 0, sizeof *f);
    for (int i = 0; i < TILE_MAX_RANK; i++)
        f->axis.contiguity[i] = f->axis.divisibility[i] = f->axis.constancy[i] = 1;
}

static void set_run(Fact *f, int dim, Run r) {
    f->axis.contiguity[dim] = r.c;
    f->axis.divisibility[dim] = r.d;
    f->axis.constancy[dim] = r.k;
}

/* Cuts what was claimed down to the shape, and spreads what holds of every element to the
 * dimensions where every element starts a run. */
static void settle(Fact *f, Type t) {
    int64_t all = 1, unit = unit_of(t);
    for (int i = 0; i < dims_of(t); i++) {
        Run r = {f->axis.contiguity[i], f->axis.divisibility[i], f->axis.constancy[i], unit};
        int64_t c = min64(r.c, size_of(t, i));
        Run cut = {c, every(r, c), min64(r.k, size_of(t, i)), unit};
        set_run(f, i, cut);
        all = max64(all, every(cut, 1));
    }
    for (int i = 0; i < dims_of(t); i++)
        f->axis.divisibility[i] = max64(f->axis.divisibility[i], all);
}

/* What holds of both. */
static void meet(Fact *f, const Fact *g, Type t) {
    int64_t unit = unit_of(t);
    for (int i = 0; i < dims_of(t); i++) {
        Run x = {f->axis.contiguity[i], f->axis.divisibility[i], f->axis.constancy[i], unit};
        Run y = {g->axis.contiguity[i], g->axis.divisibility[i], g->axis.constancy[i], unit};
        int64_t c = min64(x.c, y.c);
        set_run(f, i, (Run){c, min64(every(x, c), every(y, c)), min64(x.k, y.k), unit});
    }
    f->nonneg = f->nonneg && g->nonneg;
    if (!g->axis.has_constant || f->axis.constant != g->axis.constant) {
        f->axis.has_constant = false;
        f->axis.constant = 0;
    }
}

/* The fact of op's operand i as far as it is known, met into *f; `any` says whether *f is set. */
static void meet_value(const Axis *a, Fact *f, bool *any, const Value *v) {
    const Fact *g = fact_of(a, v);
    if (!g) return;
    if (*any)
        meet(f, g, v->type);
    else
        *f = *g;
    *any = true;
}

static void store_fact(Axis *a, const Value *v, const Fact *f) {
    if (v->id < a->known) return;
    if (!a->fact[v->id]) a->fact[v->id] = arena_alloc(&a->s->arena, sizeof(Fact));
    *a->fact[v->id] = *f;
}

static void store_nothing(Axis *a, const Value *v) {
    Fact f;
    know_nothing(&f);
    store_fact(a, v, &f);
}

static bool same_fact(const Fact *f, const Fact *g) {
    const AxisInfo *x = &f->axis, *y = &g->axis;
    return memcmp(x->contiguity, y->contiguity, sizeof x->contiguity) == 0 &&
           memcmp(x->divisibility, y->divisibility, sizeof x->divisibility) == 0 &&
           memcmp(x->constancy, y->constancy, sizeof x->constancy) == 0 &&
           x->has_constant == y->has_constant && x->constant == y->constant &&
           f->nonneg == g->nonneg;
}

/* Sets the argument of a loop's region: never back to more than it was, so that this ends. */
static void store_arg(Axis *a, const Value *v, Fact f) {
    const Fact *old = fact_of(a, v);
    if (v->id < a->known) return;
    if (a->give_up)
        know_nothing(&f);
    else if (old)
        meet(&f, old, v->type);
    if (!old || !same_fact(old, &f)) {
        a->changed = true;
        store_fact(a, v, &f);
    }
}

/* ---- shapes ---- */

static void shape_splat(const Axis *a, const Op *op, Fact *f) {
    Run x = run_of(a, op->operand[0].value, 0);
    Type t = op->result[0]->type;
    for (int i = 0; i < dims_of(t); i++) set_run(f, i, (Run){1, x.d, size_of(t, i), 1});
}

static void shape_broadcast(const Axis *a, const Op *op, Fact *f) {
    const Value *v = op->operand[0].value;
    Type t = op->result[0]->type;
    for (int i = 0; i < dims_of(t); i++) {
        Run x = run_of(a, v, i);
        if (size_of(v->type, i) != size_of(t, i)) x.k = size_of(t, i);
        set_run(f, i, x);
    }
}

static void shape_trans(const Axis *a, const Op *op, Fact *f) {
    const Attr *order = ir_attr(op, AT_ORDER);
    for (int i = 0; i < op->result[0]->type.rank; i++)
        set_run(f, i, run_of(a, op->operand[0].value, order->dims[i]));
}

/* The dimension of t, of size over 1, that holds bit `bit` of the flat index; *low is its lowest
 * bit. -1 beyond the top. */
static int dim_at_bit(Type t, int bit, int *low) {
    int at = 0;
    for (int i = t.rank - 1; i >= 0; i--) {
        *low = at;
        at += t.log2[i];
        if (bit < at) return i;
    }
    return -1;
}

static int log2_up(int64_t v) {
    int n = 0;
    while (((int64_t)1 << n) < v) n++;
    return n;
}

/* Dimensions are stretches of bits of the flat index. Seen from the lowest bit of a new dimension,
 * an old one that starts at the same bit runs alike; of any, the bits that do not matter to the
 * value still do not, and when that is all of them, the next dimension up is looked at too. */
static void shape_reshape(const Axis *a, const Op *op, Fact *f) {
    const Value *v = op->operand[0].value;
    Type from = v->type, to = op->result[0]->type;
    for (int i = to.rank - 1, bit = 0; i >= 0; bit += to.log2[i--]) {
        Run r = {1, 1, 1, unit_of(from)};
        int low, old = dim_at_bit(from, bit, &low);
        if (old >= 0 && low == bit && to.log2[i]) {
            Run x = run_of(a, v, old);
            r.c = x.c; /* `settle` cuts it to size */
            r.d = x.d;
        }
        int at = bit;
        while (old >= 0 && at < bit + to.log2[i]) {
            int same = low + log2_up(run_of(a, v, old).k);
            at = same > at ? same : at;
            if (same < low + from.log2[old]) break;
            old = dim_at_bit(from, at, &low);
        }
        if (at > bit + to.log2[i]) at = bit + to.log2[i];
        r.k = (int64_t)1 << (at - bit);
        set_run(f, i, r);
    }
    int64_t all = 1; /* of every element, whatever its place */
    for (int i = 0; i < dims_of(from); i++) all = max64(all, every(run_of(a, v, i), 1));
    for (int i = 0; i < dims_of(to); i++)
        f->axis.divisibility[i] = max64(f->axis.divisibility[i], all);
}

static void shape_arange(const Axis *a, const Op *op, Fact *f) {
    (void)a;
    int64_t start = ir_attr_int(op, AT_START, 0), n = type_numel(op->result[0]->type);
    if (n == 1)
        set_constant(f, op->result[0]->type, start);
    else
        set_run(f, 0, (Run){n, low_bit(start), 1, 1});
    f->nonneg = start >= 0;
}

static void constant_fact(const Axis *a, const Op *op, Fact *f) {
    (void)a;
    Type t = op->result[0]->type;
    int64_t v = ir_attr_int(op, AT_VALUE, 0);
    set_constant(f, t, v);
    if (!type_is_float(t)) return;
    f->axis.has_constant = f->nonneg = false;
    f->axis.constant = 0;
    for (int i = 0; i < dims_of(t); i++) f->axis.divisibility[i] = 1;
}

static void shape_same(const Axis *a, const Op *op, Fact *f) {
    *f = *fact_of(a, op->operand[0].value);
}

/* What one store put into a buffer is what comes out of it. */
static void shape_shared(const Axis *a, const Op *op, Fact *f) {
    const Op *store = NULL;
    for (const Use *u = op->operand[0].value->uses; u; u = u->next) {
        if (u->op->code == OP_SHARED_LOAD) continue;
        if (u->op->code != OP_SHARED_STORE || store) return;
        store = u->op;
    }
    const Fact *stored = store ? fact_of(a, store->operand[0].value) : NULL;
    if (stored) *f = *stored;
}

static const struct {
    void (*apply)(const Axis *a, const Op *op, Fact *f);
    bool moves; /* only moves elements about: what holds of all of them stays */
} shape_table[OPS] = {
    [OP_CONST] = {constant_fact, false}, [OP_ARANGE] = {shape_arange, false},
    [OP_SPLAT] = {shape_splat, true},    [OP_BROADCAST] = {shape_broadcast, true},
    [OP_TRANS] = {shape_trans, true},    [OP_RESHAPE] = {shape_reshape, true},
    [OP_CONVERT] = {shape_same, true},   [OP_SHARED_LOAD] = {shape_shared, false},
};

/* ---- operations ---- */

static void visit_plain(Axis *a, const Op *op) {
    const Value *r = op->result[0];
    Type t = r->type;
    Fact f;
    if (r->id < a->known) return;
    know_nothing(&f);
    const Fact *first = op->noperands ? fact_of(a, op->operand[0].value) : NULL;
    int64_t v;
    if (shape_table[op->code].apply) {
        bool moves = shape_table[op->code].moves;
        if (!moves || first) shape_table[op->code].apply(a, op, &f);
        if (moves && first) {
            f.nonneg = first->nonneg;
            if (first->axis.has_constant) set_constant(&f, t, first->axis.constant);
        }
    } else if (constant_result(a, op, &v)) {
        set_constant(&f, t, v);
    } else if (axis_has_rule(op)) {
        for (int i = 0; i < dims_of(t); i++) set_run(&f, i, axis_rule(a, op, i));
        f.nonneg = axis_result_nonneg(a, op);
    }
    settle(&f, t);
    store_fact(a, r, &f);
}

static void visit_loop(Axis *a, const Op *op) {
    const Block *b = op->region[0];
    const Op *back = op->region[op->nregions - 1]->last;
    int first = 0, skip = 0;
    if (op->code == OP_FOR) {
        Fact f;
        know_nothing(&f);
        Run lo = run_of(a, op->operand[0].value, 0), step = run_of(a, op->operand[2].value, 0);
        f.axis.divisibility[0] = min64(lo.d, step.d);
        f.nonneg = axis_nonneg_operand(a, op, 0) && axis_nonneg_operand(a, op, 2);
        store_arg(a, b->args[0], f);
        first = 3;
        skip = 1;
    }
    for (int i = 0; first + i < op->noperands; i++) {
        Fact f;
        bool any = false;
        know_nothing(&f);
        meet_value(a, &f, &any, op->operand[first + i].value);
        meet_value(a, &f, &any, back->operand[i].value);
        store_arg(a, b->args[skip + i], f);
    }
}

/* At a terminator all that can reach the results of its op is known as well as it will be. */
static void visit_terminator(Axis *a, const Op *t) {
    const Op *op = t->block->parent;
    if (!op) return;
    if (op->code == OP_WHILE && t->code == OP_CONDITION) {
        for (int i = 0; i < op->nresults; i++) {
            const Fact *f = fact_of(a, t->operand[1 + i].value);
            store_arg(a, op->region[1]->args[i], *f);
            store_fact(a, op->result[i], f);
        }
    } else if (op->code == OP_FOR || op->code == OP_IF) {
        for (int i = 0; i < op->nresults; i++) {
            Fact f;
            bool any = false;
            know_nothing(&f);
            if (op->code == OP_FOR) meet_value(a, &f, &any, op->operand[3 + i].value);
            for (int r = 0; r < op->nregions; r++)
                meet_value(a, &f, &any, op->region[r]->last->operand[i].value);
            store_fact(a, op->result[i], &f);
        }
    } else if (op->code == OP_REDUCE || op->code == OP_SCAN || op->code == OP_MAP) {
        for (int i = 0; i < op->nresults; i++) store_nothing(a, op->result[i]);
    }
}

static void visit(Op *op, void *ctx) {
    Axis *a = ctx;
    if (op_traits(op) & TRAIT_T) {
        visit_terminator(a, op);
    } else if (op->code == OP_FOR || op->code == OP_WHILE) {
        visit_loop(a, op);
    } else if (op->nregions) {
        for (int r = 0; r < op->nregions; r++)
            for (int i = 0; i < op->region[r]->nargs; i++) store_nothing(a, op->region[r]->args[i]);
    } else if (op->nresults == 1) {
        visit_plain(a, op);
    } else {
        for (int i = 0; i < op->nresults; i++) store_nothing(a, op->result[i]);
    }
}

static void analyse(Session *s, const Func *f, bool guess, Fact **fact, uint32_t known) {
    enum { PATIENCE = 64 }; /* rounds before loop-carried values are given up on */
    Axis a = {.s = s, .f = f, .guess = guess, .fact = fact, .known = known};
    for (int i = 0; i < f->nparams; i++) {
        const Param *p = &f->param[i];
        if (!p->value || p->value->id < known) continue;
        store_nothing(&a, p->value);
        Fact *of = fact[p->value->id];
        of->axis.divisibility[0] = low_bit(p->divisible > 1 ? p->divisible : 1);
        of->nonneg = type_is_int(p->type) && !type_is_signed(p->type);
    }
    int round = 0;
    do {
        a.changed = false;
        a.give_up = round++ >= PATIENCE;
        ir_walk(f->body, visit, &a);
    } while (a.changed);
}

/* ---- questions ---- */

const AxisInfo *axis_of(const AxisTable *t, const Value *v) {
    return v->id < t->n && t->fact[v->id] ? &t->fact[v->id]->axis : NULL;
}

int64_t axis_access_width(const AxisTable *t, const Value *ptr, const Value *mask, int dim) {
    enum { WIDEST_BYTES = 16 };
    const AxisInfo *p = axis_of(t, ptr);
    if (!p) return 1;
    int64_t bytes = unit_of(ptr->type);
    int64_t width = min64(p->contiguity[dim], p->divisibility[dim] / bytes);
    width = min64(width, WIDEST_BYTES / bytes);
    if (mask) {
        const AxisInfo *m = axis_of(t, mask);
        width = min64(width, m ? m->constancy[dim] : 1);
    }
    return max64(width, 1);
}

/* ---- how far apart neighbours are ---- */

enum { FAR = 1 << 30, STEPS_LOOKED = 64 };

typedef struct Stride {
    const AxisTable *t;
    int steps;   /* left */
    bool launch; /* by the sizes of a launch, too */
} Stride;

/* Past what gives each element the scalar; NULL for what is no parameter. */
static Param *param_behind(const Stride *s, const Value *v) {
    enum { DEEP = 8 };
    for (int i = 0; i < DEEP && v->def; i++) {
        OpCode code = v->def->code;
        if (code != OP_CAST && code != OP_SPLAT && code != OP_BROADCAST && code != OP_RESHAPE &&
            code != OP_CONVERT)
            return NULL;
        v = v->def->operand[0].value;
    }
    for (int i = 0; i < s->t->nparams; i++)
        if (s->t->param[i].value == v) return &s->t->param[i];
    return NULL;
}

static int64_t multiple_of(Stride *s, const Value *v);

/* The same by what the launch passes: 16 for what is no less, which keeps neighbours as far apart.
 */
static int64_t multiple_at_launch(Stride *s, const Value *v, int64_t known) {
    if (known >= SIZE_LARGE_LEAST || s->steps-- <= 0) return known;
    if (v->def && v->def->code == OP_MUL)
        return max64(known, min64(multiple_of(s, v->def->operand[0].value) *
                                      multiple_of(s, v->def->operand[1].value),
                                  FAR));
    Param *p = param_behind(s, v);
    if (!p || p->size == SIZE_UNKNOWN) return known;
    p->size_asked = true;
    return p->size == SIZE_LARGE ? max64(known, SIZE_LARGE_LEAST) : known;
}

/* What a scalar or an element of a tile is a multiple of. */
static int64_t multiple_of(Stride *s, const Value *v) {
    const AxisInfo *a = axis_of(s->t, v);
    if (!a) return 1;
    if (a->has_constant) return a->constant ? low_bit(a->constant) : FAR;
    int64_t least = FAR;
    for (int i = 0; i < dims_of(v->type); i++)
        least = min64(least, a->contiguity[i] == 1 ? a->divisibility[i] : 1);
    if (s->launch) least = multiple_at_launch(s, v, least);
    return least;
}

static bool same_along(const Stride *s, const Value *v, int dim) {
    const AxisInfo *a = axis_of(s->t, v);
    return !v->type.rank || v->type.log2[dim] == 0 ||
           (a && a->constancy[dim] >= type_dim(v->type, dim));
}

static int64_t stride_of(Stride *s, const Value *v, int dim);

/* Of a result whose dimensions are the operand's, with others of one element between them. */
static int64_t stride_of_reshape(Stride *s, const Op *op, int dim) {
    const Value *x = op->operand[0].value;
    Type from = x->type, to = op->result[0]->type;
    int k = 0;
    for (int i = 0; i <= dim; i++) {
        if (to.log2[i] == 0) continue;
        while (k < from.rank && from.log2[k] == 0) k++;
        if (k == from.rank || from.log2[k] != to.log2[i]) return 1;
        if (i == dim) return stride_of(s, x, k);
        k++;
    }
    return FAR;
}

/* A power of two that divides the distance of neighbours along a dimension, in elements; FAR: they
 * are equal. 1 where nothing is known. */
static int64_t stride_of(Stride *s, const Value *v, int dim) {
    if (same_along(s, v, dim)) return FAR;
    const Op *op = v->def;
    if (s->steps-- <= 0) return 1;
    if (!op) { /* a loop's: what enters it; what a turn adds is the same for all, mostly */
        const Op *loop = v->block ? v->block->parent : NULL;
        int first = loop && loop->code == OP_FOR ? 3 : 0, skip = first ? 1 : 0;
        bool carried = loop && (first || loop->code == OP_WHILE) && v->index >= skip;
        int which = first + v->index - skip;
        const Value *init = carried && which < loop->noperands ? loop->operand[which].value : NULL;
        return init ? stride_of(s, init, dim) : 1;
    }
    const Value *x = op->noperands ? op->operand[0].value : NULL;
    const Value *y = op->noperands > 1 ? op->operand[1].value : NULL;
    switch (op->code) {
    case OP_ADD:
    case OP_SUB:
    case OP_ADDPTR: return min64(stride_of(s, x, dim), stride_of(s, y, dim));
    case OP_MUL:
        if (same_along(s, y, dim)) return min64(stride_of(s, x, dim) * multiple_of(s, y), FAR);
        if (same_along(s, x, dim)) return min64(stride_of(s, y, dim) * multiple_of(s, x), FAR);
        return 1;
    case OP_CAST:
    case OP_BROADCAST:
    case OP_CONVERT: return stride_of(s, x, dim);
    case OP_RESHAPE: return stride_of_reshape(s, op, dim);
    default: return 1;
    }
}

/* How much further apart neighbours are along `there` than along `here`. The launch is asked where
 * they are not equal along either. */
static int64_t further(const AxisTable *t, const Value *ptr, int there, int here) {
    int64_t far = 0, near = 0;
    for (int launch = 0; launch < 2 && far < FAR && near < FAR; launch++) {
        Stride a = {t, STEPS_LOOKED, launch}, b = {t, STEPS_LOOKED, launch};
        far = stride_of(&a, ptr, there);
        near = stride_of(&b, ptr, here);
    }
    return far - near;
}

static int find_fastest_dim(const AxisTable *t, const Value *ptr) {
    const AxisInfo *p = axis_of(t, ptr);
    const Fact *guess = p && t->guess ? t->guess[ptr->id] : NULL;
    int best = dims_of(ptr->type) - 1;
    for (int i = best - 1; p && i >= 0; i--) {
        int64_t more = p->contiguity[i] - p->contiguity[best];
        if (!more && guess) more = guess->axis.contiguity[i] - guess->axis.contiguity[best];
        if (!more && p->contiguity[i] == 1) more = further(t, ptr, best, i);
        if (more > 0) best = i;
    }
    return best;
}

int axis_fastest_dim(const AxisTable *t, const Value *ptr) {
    if (ptr->id < t->n && t->fastest[ptr->id]) return t->fastest[ptr->id] - 1;
    return find_fastest_dim(t, ptr);
}

/* ---- the analysis ---- */

/* Found before a pass takes the operations apart that the pointers are made of. */
static void find_order(Op *op, void *table) {
    AxisTable *t = table;
    const Value *ptr = op->noperands ? op->operand[0].value : NULL;
    if (ptr && ptr->type.rank && ptr->type.depth && !t->fastest[ptr->id])
        t->fastest[ptr->id] = (uint8_t)(1 + find_fastest_dim(t, ptr));
}

static void find_division(Op *op, void *found) {
    bool divides = op->code == OP_DIV || op->code == OP_REM;
    if (divides && op->result[0]->type.rank && type_is_int(op->result[0]->type))
        *(bool *)found = true;
}

/* Its first n entries, and 0 behind them. */
static void *grown(Session *s, const void *old, uint32_t n, uint32_t room, size_t size) {
    void *made = arena_array(&s->arena, room, size);
    if (n) memcpy(made, old, n * size);
    return made;
}

void axis_extend(Session *s, const Func *f, AxisTable *t) {
    uint32_t known = t->n;
    bool divides = t->guess != NULL;
    if (known == f->nvalues) return;
    if (f->nvalues > t->room) {
        t->room = known ? f->nvalues + f->nvalues / 2 : f->nvalues;
        t->fact = grown(s, t->fact, known, t->room, sizeof *t->fact);
        t->fastest = grown(s, t->fastest, known, t->room, sizeof *t->fastest);
        if (divides) t->guess = grown(s, t->guess, known, t->room, sizeof *t->guess);
    }
    t->n = f->nvalues;
    t->param = f->param;
    t->nparams = f->nparams;
    analyse(s, f, false, t->fact, known);
    if (!divides) ir_walk(f->body, find_division, &divides);
    if (divides && !t->guess) {
        t->guess = arena_array(&s->arena, t->room, sizeof *t->guess);
        known = 0;
    }
    if (divides) analyse(s, f, true, t->guess, known);
    ir_walk(f->body, find_order, t);
}

AxisTable axis_analyse(Session *s, const Func *f) {
    AxisTable t = {.n = 0};
    axis_extend(s, f, &t);
    return t;
}
