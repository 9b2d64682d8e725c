/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* map.c: tl.map_elementwise: a function of scalars -> the region of a `map`, in which each element
 * goes its own way.
 *
 * A function without branches and loops becomes operations on whole tiles, of which passes know
 * more. With pack=n a call takes n neighbours: the tiles are split into those with the first of
 * each n, the second and so on, whose results are put together again. */
#include "frontend/lower/internal.h"
#include "ir/effects.h"

enum { PACK_LIMIT = 64, MAP_VALUES = 256 };

typedef struct Map {
    Span span;
    Type shape; /* of the whole tiles */
    int log2_pack;
    bool flat; /* neighbours are so in row-major order, beyond the last dimension */
    Value *in[MAP_VALUES], *out[MAP_VALUES]; /* parts; in the order of the function's arguments */
    int nin, nout;
    bool tuple; /* the function gives one */
} Map;

/* ---- parts of tiles ---- */

/* Of each 2^n neighbours of v the first, the second …; at[i * step] gets number i. */
static void split_parts(Lower *l, Value *v, int n, Value **at, int step) {
    if (n == 0) {
        *at = v;
        return;
    }
    Type t = v->type, half = v->type;
    half.log2[half.rank - 1]--;
    t.log2[t.rank - 1]--;
    t.log2[t.rank++] = 1;
    Value *pairs = ir_given(&l->b, OP_RESHAPE, v, t);
    Type types[] = {half, half};
    Op *op = ir_op(&l->b, OP_SPLIT, &pairs, 1, types, 2, 0);
    for (int i = 0; i < 2; i++) split_parts(l, op->result[i], n - 1, at + i * step, step * 2);
}

static Value *join_parts(Lower *l, Value *const *at, int n, int step) {
    if (n == 0) return *at;
    Value *half[] = {join_parts(l, at, n - 1, step * 2), join_parts(l, at + step, n - 1, step * 2)};
    Type t = half[0]->type, whole = half[0]->type;
    t.log2[t.rank++] = 1;
    whole.log2[whole.rank - 1]++;
    Value *pairs = ir_op(&l->b, OP_JOIN, half, 2, &t, 1, 0)->result[0];
    return ir_given(&l->b, OP_RESHAPE, pairs, whole);
}

static Value *flattened(Lower *l, Value *v, Type shape) {
    int64_t n = type_numel(shape);
    return ir_given(&l->b, OP_RESHAPE, v, type_with_shape(v->type, type_tile(EL_I1, 1, &n)));
}

/* ---- the function ---- */

/* Fills the region; false after an error. */
static bool call_scalar(Lower *l, Obj fn, Map *m, Block *region) {
    Obj args[MAP_VALUES];
    for (int i = 0; i < m->nin; i++)
        args[i] = obj_value(ir_block_arg(l->s, l->b.f, region, type_element(m->in[i]->type), NULL));
    l->unchecked++;
    Obj r = call_object(l, fn, args, m->nin, m->span);
    l->unchecked--;
    if (obj_is_poison(r)) return false;
    Obj one = obj_tuple(l, &r, 1), all = r.kind == OBJ_TUPLE ? r : one;
    int pack = 1 << m->log2_pack;
    m->tuple = r.kind == OBJ_TUPLE;
    if (r.kind == OBJ_NONE || !all.seq.n || all.seq.n % pack || all.seq.n > MAP_VALUES) {
        fail(l, E_MAP, m->span, "tl.map_elementwise: the function gives %d values, pack is %d",
             r.kind == OBJ_NONE ? 0 : all.seq.n, pack);
        return false;
    }
    m->nout = all.seq.n;
    for (int i = 0; i < m->nout; i++) {
        if (!(m->out[i] = to_value(l, all.seq.at[i], m->span))) return false;
        Type t = m->out[i]->type, first = m->out[i - i % pack]->type;
        if (!t.rank && type_equal(t, first)) continue;
        fail(l, E_MAP, m->span,
             "tl.map_elementwise: the function gives %s%s%s where a scalar is due",
             type_user_text(&l->s->arena, t), t.rank ? "" : " besides ",
             t.rank ? "" : type_user_text(&l->s->arena, first));
        return false;
    }
    ir_op(&l->b, OP_YIELD, m->out, m->nout, NULL, 0, 0);
    return true;
}

static bool only_computes(Lower *l, const Block *region) {
    const Op *op = ir_not_scalar_code(region);
    if (!op) return true;
    bool tile = op->nresults && op->result[0]->type.rank;
    fail(l, E_MAP, op->span,
         "tl.map_elementwise: its function computes with scalars, and does nothing else");
    note(l, (Span){0},
         tile ? "it makes a tile here, by '%s'" : "'%s' is for all elements, outside of it",
         op_info[op->code].text);
    return false;
}

static bool is_straight(const Block *region) {
    for (const Op *op = region->first; op != region->last; op = op->next)
        if (op->code != OP_CONST && (!op_is_pure_elementwise(op) || op->nresults != 1))
            return false;
    return true;
}

/* ---- a function without branches ---- */

/* The tile that v is in all elements; at: by id less the first id of the region. */
static Value *tile_of(Lower *l, const Map *m, Value *v, Value *const *at, uint32_t first) {
    Value *tile = v->id >= first ? at[v->id - first] : NULL;
    Type t = type_with_shape(v->type, m->in[0]->type);
    return tile ? tile : ir_given(&l->b, OP_SPLAT, v, t);
}

static void on_tiles(Lower *l, Map *m, const Op *map) {
    const Block *region = map->region[0];
    uint32_t first = region->args[0]->id;
    Value **at = arena_array(&l->s->arena, l->b.f->nvalues - first, sizeof *at);
    for (int i = 0; i < m->nin; i++) at[region->args[i]->id - first] = m->in[i];
    for (const Op *op = region->first; op != region->last; op = op->next) {
        Value *operand[8] = {NULL};
        Type t = type_with_shape(op->result[0]->type, m->in[0]->type);
        for (int i = 0; i < op->noperands; i++)
            operand[i] = tile_of(l, m, op->operand[i].value, at, first);
        Span outer = l->b.span;
        l->b.span = op->span;
        at[op->result[0]->id - first] =
            ir_op_like(&l->b, op, operand, op->noperands, &t)->result[0];
        l->b.span = outer;
    }
    for (int i = 0; i < m->nout; i++)
        m->out[i] = tile_of(l, m, region->last->operand[i].value, at, first);
}

/* ---- the call ---- */

/* m->in are tiles of one shape: m->out, after them. */
static bool map_tiles(Lower *l, Obj fn, Map *m) {
    Block *outer = l->b.block, *inner;
    Op *scratch = ir_op(&l->b, OP_MAP, m->in, m->nin, NULL, 0, 1);
    inner = l->b.block = scratch->region[0];
    bool ok = call_scalar(l, fn, m, inner) && only_computes(l, inner);
    l->b.block = outer;
    if (ok && is_straight(inner)) {
        on_tiles(l, m, scratch);
    } else if (ok) {
        Type types[MAP_VALUES];
        for (int i = 0; i < m->nout; i++)
            types[i] = type_with_shape(m->out[i]->type, m->in[0]->type);
        Op *map = ir_op(&l->b, OP_MAP, m->in, m->nin, types, m->nout, 1);
        ir_swap_regions(map, scratch);
        for (int i = 0; i < m->nout; i++) m->out[i] = map->result[i];
    }
    ir_erase(scratch);
    return ok;
}

/* The arguments in one shape, cut into parts. */
static bool map_inputs(Lower *l, const Args *a, Map *m) {
    Obj all = a->at[1];
    int pack = 1 << m->log2_pack, n = all.seq.n;
    if (!n) {
        fail(l, E_MAP, a->span, "tl.map_elementwise needs tensors");
        return false;
    }
    if (n * pack > MAP_VALUES) {
        fail(l, E_MAP, a->span, "tl.map_elementwise: its function may take %d arguments, not %d",
             MAP_VALUES, n * pack);
        return false;
    }
    Value *v[MAP_VALUES], *shape = NULL;
    for (int round = 0; round < 2; round++) /* the first takes the shape of all, then all do */
        for (int i = 0; i < n; i++) {
            if (!round && !(v[i] = to_value(l, all.seq.at[i], a->where[1]))) return false;
            if (!shape) shape = v[i];
            if (!broadcast_pair(l, &shape, &v[i], a->span)) return false;
        }
    m->shape = shape->type;
    if (!m->shape.rank && !m->log2_pack) {
        for (int i = 0; i < n; i++) m->in[m->nin++] = v[i];
        return true;
    }
    if (type_log2_numel(m->shape) < m->log2_pack || !m->shape.rank) {
        fail(l, E_MAP, a->where[2], "tl.map_elementwise: pack=%d of %s", pack,
             type_user_text(&l->s->arena, m->shape));
        return false;
    }
    m->flat = m->log2_pack &&
              (m->shape.log2[m->shape.rank - 1] < m->log2_pack || m->shape.rank == TILE_MAX_RANK);
    for (int i = 0; i < n; i++, m->nin += pack)
        split_parts(l, m->flat ? flattened(l, v[i], m->shape) : v[i], m->log2_pack, m->in + m->nin,
                    1);
    return true;
}

Obj bi_map_elementwise(Lower *l, const Args *a, int64_t data) {
    (void)data;
    int64_t pack;
    Obj fn = a->at[0];
    Map *m = arena_alloc(&l->s->arena, sizeof *m);
    m->span = a->span;
    if (!arg_int(l, a, 2, &pack)) return poison();
    if (pack < 1 || pack > PACK_LIMIT || (pack & (pack - 1)))
        return arg_error(l, a, 2, "a power of two up to 64");
    while (1 << m->log2_pack < pack) m->log2_pack++;
    if (fn.kind != OBJ_FUNC && fn.kind != OBJ_BUILTIN) return arg_error(l, a, 0, "a jit function");
    if (!map_inputs(l, a, m)) return poison();
    if (!m->shape.rank) {
        Obj args[MAP_VALUES];
        for (int i = 0; i < m->nin; i++) args[i] = obj_value(m->in[i]);
        return decay(l, call_object(l, fn, args, m->nin, a->span), a->span);
    }
    if (!map_tiles(l, fn, m)) return poison();
    Obj results[MAP_VALUES];
    int n = 0;
    for (int i = 0; i < m->nout; i += (int)pack) {
        Value *v = join_parts(l, m->out + i, m->log2_pack, 1);
        if (m->flat) v = ir_given(&l->b, OP_RESHAPE, v, type_with_shape(v->type, m->shape));
        results[n++] = obj_value(v);
    }
    return m->tuple ? obj_tuple(l, results, n) : results[0];
}
