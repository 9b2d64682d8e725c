/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* page_places.c: a kernel and its grid -> for each program the block of the output that it writes,
 * as a row and a column of blocks.
 *
 * Sizes are chosen so that the grid is some blocks wide and high. For each program the scalar ops
 * behind the place of its largest store are computed: of a tile its first element, of a loop its
 * first iteration. Places in order are rows of blocks, one behind the other: the smallest step
 * between them leads along a row. Strides that the sizes do not give are set so far apart that rows
 * do not overlap. */
#include "base/expr.h"
#include "compiler/report/page.h"

#include <stdlib.h>
#include <string.h>

enum {
    AXES = 3,
    NAMES_MOST = 8,
    SIDE_LEAST = 16,
    SIDE_MOST = 48,
    PROGRAMS_MOST = 4096,
    SIZE_MOST_LOG2 = 24,
    DEPTH_MOST = 2000,
    STRIDE_FIRST = 18, /* log2 of a stride, and how far from the next */
    STRIDE_STEP = 13,
    STRIDES_MOST = 3
};

typedef struct Order {
    Page *p;
    const Func *f;
    const Op *store;
    int64_t *param; /* of each parameter: its value, */
    bool *in_grid;  /* whether the grid names it, */
    bool *touched;  /* whether the place does */
    int64_t grid[AXES], id[AXES];
    int64_t *value; /* by number of the value, */
    uint8_t *known; /* if it is: 1; 2: it cannot be */
    const char *why;
} Order;

/* ---- sizes ---- */

static ExprName look_up(void *ctx, const char *name, size_t len, int64_t *value) {
    Order *x = ctx;
    for (int i = 0; i < x->f->nparams; i++)
        if (strlen(x->f->param[i].name) == len && memcmp(x->f->param[i].name, name, len) == 0) {
            if (!type_is_int(x->f->param[i].type)) return EXPR_NOT_INTEGER;
            x->in_grid[i] = !x->f->param[i].is_one;
            *value = x->param[i];
            return EXPR_KNOWN;
        }
    for (int i = 0; i < x->f->nconstexprs; i++)
        if (strlen(x->f->constexpr_[i].name) == len &&
            memcmp(x->f->constexpr_[i].name, name, len) == 0) {
            char *end;
            *value = strtoll(x->f->constexpr_[i].json, &end, 10);
            return *end ? EXPR_NOT_INTEGER : EXPR_KNOWN;
        }
    return EXPR_UNKNOWN;
}

/* Programs of the grid; -1: its expressions have no value. */
static int64_t programs_of(Order *x) {
    int64_t all = 1;
    ExprError error;
    for (int i = 0; i < AXES; i++) {
        const char *text = x->f->grid[i];
        x->grid[i] = 1;
        if (text && !expr_eval(text, strlen(text), look_up, x, &x->grid[i], &error)) return -1;
        if (x->grid[i] < 0 || x->grid[i] > INT32_MAX || all > INT32_MAX) return -1;
        all *= x->grid[i];
    }
    return all;
}

/* The largest size of that parameter with which there are `side` programs at most. */
static int64_t size_for(Order *x, int param, int64_t side) {
    int64_t low = 1, high = (int64_t)1 << SIZE_MOST_LOG2;
    while (low < high) {
        int64_t middle = (low + high + 1) / 2;
        x->param[param] = middle;
        int64_t n = programs_of(x);
        if (n >= 0 && n <= side)
            low = middle;
        else
            high = middle - 1;
    }
    x->param[param] = 1;
    return low;
}

/* Programs that run at once. */
static int64_t wave_of(const Order *x) {
    const Fact *n =
        fact_named(fact_named(x->p->k->facts, "occupancy"), "programs_per_multiprocessor");
    return (n ? n->number : 1) * x->p->r->target->multiprocessors;
}

static bool choose_sizes(Order *x) {
    int names = 0, named[NAMES_MOST];
    int64_t size[NAMES_MOST], side = SIDE_LEAST;
    if (!x->f->grid[0] || programs_of(x) < 0) return false;
    for (int i = 0; i < x->f->nparams; i++)
        if (x->in_grid[i] && names < NAMES_MOST) named[names++] = i;
    if (!names) return false;
    while (side < SIDE_MOST && side * side < 2 * wave_of(x)) side++;
    for (int i = 0; i < names; i++) size[i] = size_for(x, named[i], names > 2 ? 8 : side);
    for (int i = 0; i < names; i++) x->param[named[i]] = size[i];
    int64_t n = programs_of(x);
    return n > 0 && n <= PROGRAMS_MOST;
}

/* ---- values ---- */

static bool compute(Order *x, const Value *v, int64_t *out, int depth);

/* Of what a region yields. */
static bool of_region(Order *x, const Block *b, int index, int64_t *out, int depth) {
    const Op *yield = b->last;
    if (!yield || yield->code != OP_YIELD || index >= yield->noperands) return false;
    return compute(x, yield->operand[index].value, out, depth);
}

/* Wraps, as the programs' numbers do; sizes are too small for that, but text may hold anything. */
static bool binary(const Op *op, int64_t a, int64_t b, int64_t *out) {
    uint64_t ua = (uint64_t)a, ub = (uint64_t)b;
    switch (op->code) {
    case OP_ADD: *out = (int64_t)(ua + ub); return true;
    case OP_SUB: *out = (int64_t)(ua - ub); return true;
    case OP_MUL: *out = (int64_t)(ua * ub); return true;
    case OP_DIV:
        if (b > 0) *out = a / b;
        return b > 0;
    case OP_REM:
        if (b > 0) *out = a % b;
        return b > 0;
    case OP_MIN: *out = a < b ? a : b; return true;
    case OP_MAX: *out = a > b ? a : b; return true;
    case OP_AND: *out = a & b; return true;
    case OP_OR: *out = a | b; return true;
    case OP_XOR: *out = a ^ b; return true;
    case OP_SHL:
        if (b >= 0 && b < 32) *out = (int64_t)(ua << b);
        return b >= 0 && b < 32;
    case OP_SHR:
        if (b >= 0 && b < 63 && a >= 0) *out = a >> b;
        return b >= 0 && b < 63 && a >= 0;
    case OP_CMP:
        switch ((Pred)ir_attr_int(op, AT_PRED, PRED_EQ)) {
        case PRED_EQ: *out = a == b; return true;
        case PRED_NE: *out = a != b; return true;
        case PRED_LT: *out = a < b; return true;
        case PRED_LE: *out = a <= b; return true;
        case PRED_GT: *out = a > b; return true;
        case PRED_GE: *out = a >= b; return true;
        }
        return false;
    case OP_ADDPTR: {
        int size =
            ir_attr_int(op, AT_BYTES, 0) ? 1 : type_elem_bytes(type_pointee(op->result[0]->type));
        *out = (int64_t)(ua + ub * (uint64_t)size);
        return true;
    }
    default: return false;
    }
}

static bool of_op(Order *x, const Op *op, int index, int64_t *out, int depth) {
    int64_t a, b;
    uint64_t axis = (uint64_t)ir_attr_int(op, AT_AXIS, 0) % AXES;
    switch (op->code) {
    case OP_CONST: return ir_int_constant(op->result[0], out);
    case OP_ARANGE: *out = ir_attr_int(op, AT_START, 0); return true;
    case OP_PROGRAM_ID: *out = x->id[axis]; return true;
    case OP_NUM_PROGRAMS:
    case OP_WORK_SIZE: *out = x->grid[axis]; return true;
    case OP_CLUSTER_ID: *out = x->id[0]; return true;
    case OP_NUM_CLUSTERS: *out = x->grid[0]; return true;
    case OP_CLUSTER_PLACE: *out = 1; return index || compute(x, op->operand[0].value, out, depth);
    case OP_CLUSTER_RANK: *out = 0; return true;
    case OP_CLUSTER_SIZE: *out = 1; return true;
    case OP_SINGLE_CTA: *out = 0; return true;
    case OP_SPLAT:
    case OP_BROADCAST:
    case OP_RESHAPE:
    case OP_TRANS:
    case OP_HINT:
    case OP_LAUNCH_NUMBER:
    case OP_CAST:
    case OP_BITCAST: return compute(x, op->operand[0].value, out, depth);
    case OP_SELECT:
        return compute(x, op->operand[0].value, &a, depth) &&
               compute(x, op->operand[a ? 1 : 2].value, out, depth);
    case OP_IF:
        return compute(x, op->operand[0].value, &a, depth) && op->nregions == 2 &&
               of_region(x, op->region[a ? 0 : 1], index, out, depth);
    default:
        return op->noperands == 2 && compute(x, op->operand[0].value, &a, depth) &&
               compute(x, op->operand[1].value, &b, depth) && binary(op, a, b, out);
    }
}

/* An argument of a loop, in its first iteration; a parameter. */
static bool of_argument(Order *x, const Value *v, int64_t *out, int depth) {
    for (int i = 0; i < x->f->nparams; i++)
        if (x->f->param[i].value == v) {
            x->touched[i] = true;
            *out = type_is_pointer(v->type) ? 0 : x->param[i];
            return true;
        }
    const Op *loop = v->block ? v->block->parent : NULL;
    if (!loop || loop->code != OP_FOR) return false;
    int operand = v->index ? v->index + 2 : 0;
    return operand < loop->noperands && compute(x, loop->operand[operand].value, out, depth);
}

static bool compute(Order *x, const Value *v, int64_t *out, int depth) {
    if (depth > DEPTH_MOST || x->known[v->id] == 2) return false;
    if (!x->known[v->id]) {
        bool ok = v->def ? of_op(x, v->def, v->index, &x->value[v->id], depth + 1)
                         : of_argument(x, v, &x->value[v->id], depth + 1);
        x->known[v->id] = ok ? 1 : 2;
        if (!ok) {
            if (!x->why && v->def)
                x->why = arena_printf(x->p->out->arena, "it depends on what IR line %u gives (%s)",
                                      v->def->listed, op_info[v->def->code].text);
            return false;
        }
    }
    *out = x->value[v->id];
    return true;
}

/* ---- places ---- */

static bool is_desc_store(const Op *op) {
    return op->code == OP_ASYNC_DESC_STORE || op->code == OP_DESC_STORE;
}

static int64_t stored(const Op *op) {
    return type_numel(op->operand[1].value->type);
}

static void find_store(Op *op, void *user) {
    Order *x = user;
    bool pointers = op->code == OP_STORE && type_is_tile(op->operand[0].value->type);
    if ((pointers || is_desc_store(op)) && (!x->store || stored(op) > stored(x->store)))
        x->store = op;
}

/* Where the program begins to write: a number that grows with the place. */
static bool place_of(Order *x, int64_t program, int64_t *out) {
    for (int i = 0; i < AXES; i++) {
        x->id[i] = program % x->grid[i];
        program /= x->grid[i];
    }
    memset(x->known, 0, x->f->nvalues);
    if (!is_desc_store(x->store)) return compute(x, x->store->operand[0].value, out, 0);
    *out = 0;
    for (int i = 2; i < x->store->noperands; i++) {
        int64_t index;
        if (!compute(x, x->store->operand[i].value, &index, 0)) return false;
        *out = (int64_t)(((uint64_t)*out << STRIDE_FIRST) + (uint64_t)index);
    }
    return true;
}

static bool set_strides(Order *x) {
    int64_t place;
    int n = 0;
    if (!place_of(x, 0, &place)) return false;
    for (int i = 0; i < x->f->nparams; i++) {
        const Param *p = &x->f->param[i];
        if (!x->touched[i] || x->in_grid[i] || p->is_one || !type_is_int(p->type)) continue;
        if (n == STRIDES_MOST) {
            x->why = "it depends on more strides than are told apart here";
            return false;
        }
        x->param[i] = (int64_t)1 << (STRIDE_FIRST + STRIDE_STEP * n++);
    }
    return true;
}

static int by_number(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* Places in order, each once; *columns: how many follow each other by the smallest step. */
static int64_t sort_places(int64_t *place, int64_t n, int64_t *columns) {
    int64_t each = 0, step = INT64_MAX, run = 1;
    qsort(place, (size_t)n, sizeof *place, by_number);
    for (int64_t i = 0; i < n; i++)
        if (!each || place[i] != place[each - 1]) place[each++] = place[i];
    for (int64_t i = 1; i < each; i++)
        if (place[i] - place[i - 1] < step) step = place[i] - place[i - 1];
    while (run < each && place[run] - place[run - 1] == step) run++;
    for (int64_t i = 1; i < each; i++)
        if ((place[i] - place[i - 1] == step) == (i % run == 0)) return 0;
    *columns = run;
    return each % run ? 0 : each;
}

/* "M = 3072, N = 3072" */
static const char *sizes_text(const Order *x) {
    Buf out = buf_new(x->p->out->arena);
    for (int i = 0; i < x->f->nparams; i++)
        if (x->in_grid[i])
            buf_printf(&out, "%s%s = %lld", out.len ? ", " : "", x->f->param[i].name,
                       (long long)x->param[i]);
    return out.data;
}

static bool find_places(Order *x, PagePlaces *d) {
    Arena *a = x->p->out->arena;
    d->programs = programs_of(x);
    d->at = arena_array(a, (size_t)d->programs, sizeof *d->at);
    int64_t *place = arena_array(a, (size_t)d->programs, sizeof *place);
    if (!set_strides(x)) return false;
    for (int64_t i = 0; i < d->programs; i++) {
        if (!place_of(x, i, &d->at[i])) return false;
        place[i] = d->at[i];
    }
    int64_t n = sort_places(place, d->programs, &d->columns);
    if (!n) {
        x->why = "blocks do not lie in rows of the same length";
        return false;
    }
    for (int64_t i = 0; i < d->programs; i++) {
        const int64_t *found = bsearch(&d->at[i], place, (size_t)n, sizeof *place, by_number);
        d->at[i] = found - place;
    }
    d->rows = n / d->columns;
    return true;
}

void page_places(Page *p, PagePlaces *out) {
    const Func *f = p->k->f;
    Arena *a = p->out->arena;
    Order x = {.p = p, .f = f};
    size_t params = (size_t)f->nparams + 1, values = (size_t)f->nvalues + 1;
    x.param = arena_array(a, params, sizeof *x.param);
    x.in_grid = arena_array(a, params, sizeof *x.in_grid);
    x.touched = arena_array(a, params, sizeof *x.touched);
    x.value = arena_array(a, values, sizeof *x.value);
    x.known = arena_array(a, values, sizeof *x.known);
    for (int i = 0; i < f->nparams; i++) x.param[i] = 1;
    ir_walk(f->body, find_store, &x);
    *out = (PagePlaces){.store = x.store, .wave = wave_of(&x)};
    if (f->persistent)
        out->why = "programs stay for more than one place of the grid";
    else if (!x.store)
        out->why = "no tile is stored";
    else if (!choose_sizes(&x))
        out->why = "the grid says no sizes that could be chosen";
    else if (!find_places(&x, out))
        out->why = x.why ? x.why : "the place of a program's output is not known";
    else if (out->rows == 1 || out->columns == 1)
        out->why = "the output is one row of blocks";
    out->sizes = sizes_text(&x);
}
