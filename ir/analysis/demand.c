/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* demand.c: uses of a tile -> how much of it they need (see demand.h).
 *
 * What a store needs its mask says, if that bounds the numbers of the tile's elements by a
 * constant; of what is made element by element as much is needed as of the result; a dot's rows
 * come of its first operand's rows, its columns of the second's columns. Round a loop it is the
 * most that any turn needs: a value that is being looked at needs no more for its own sake. */
#include "ir/analysis/demand.h"
#include "ir/analysis/block.h"
#include "ir/desc.h"
#include "ir/effects.h"

enum { MOST_DEPTH = 200 };

typedef struct Walk {
    Session *s;
    uint8_t *seen; /* by value id: a bit for each dimension */
    int depth;
} Walk;

static int64_t of_value(Walk *w, const Value *v, int dim);

static int64_t larger(int64_t x, int64_t y) {
    return x > y ? x : y;
}

static int64_t of_store(Walk *w, const Op *store, int dim, int64_t all) {
    BlockBound at[BLOCK_MOST_BOUNDS];
    const Value *mask = ir_operand(store, 2);
    int n = mask ? block_bounds(w->s, mask, at) : -1;
    for (int i = 0; i < n; i++) {
        int64_t live;
        if (at[i].dim == dim && !at[i].from && poly_is_constant(&at[i].limit, &live) && live >= 0 &&
            live < all)
            all = live;
    }
    return all;
}

/* What the op needs of its operand i along a dimension of so many elements. */
static int64_t of_use(Walk *w, const Op *op, int i, int dim, int64_t all) {
    const Op *around = op->block->parent;
    switch (op->code) {
    case OP_STORE: return i == 1 ? of_store(w, op, dim, all) : all;
    case OP_DESC_STORE:
        return i == 1 ? desc_live(op->operand[0].value->def, op->operand[1].value->type, dim) : all;
    case OP_TRANS: return of_value(w, op->result[0], ir_trans_dim(op, dim));
    case OP_DOT: return i == 2 || i == dim ? of_value(w, op->result[0], dim) : all;
    case OP_FOR:
        if (i < 3) return all;
        return larger(of_value(w, op->result[i - 3], dim),
                      of_value(w, op->region[0]->args[i - 2], dim));
    case OP_YIELD:
        if (!around || (around->code != OP_FOR && around->code != OP_IF)) return all;
        all = of_value(w, around->result[i], dim);
        return around->code == OP_IF
                   ? all
                   : larger(all, of_value(w, around->region[0]->args[1 + i], dim));
    default: return op_is_pure_elementwise(op) ? of_value(w, op->result[0], dim) : all;
    }
}

static int64_t of_value(Walk *w, const Value *v, int dim) {
    int64_t all = type_dim(v->type, dim), most = 0;
    if (w->seen[v->id] >> dim & 1) return 0;
    if (w->depth == MOST_DEPTH) return all;
    w->seen[v->id] |= (uint8_t)(1 << dim);
    w->depth++;
    for (const Use *u = v->uses; most < all && u; u = u->next)
        most = larger(most, of_use(w, u->op, (int)(u - u->op->operand), dim, all));
    w->depth--;
    return most;
}

int64_t demand_of(Session *s, const Func *f, const Value *v, int dim) {
    enum { DIMS = 8 }; /* that `seen` has bits for */
    if (dim >= DIMS) return type_dim(v->type, dim);
    Walk w = {.s = s, .seen = arena_alloc(&s->arena, f->nvalues)};
    return of_value(&w, v, dim);
}
