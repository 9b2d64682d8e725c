/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* shared.c: `convert` that must cross warps -> a buffer in shared memory, a store and a load.
 *
 * Conversions that registers, or a few choices among them or shuffles, can do stay as they are for
 * code generation. The buffer's swizzle is searched for so that neither side has bank conflicts. A
 * tile that would take most of a program's shared memory goes in two halves,
 * one after the other through the same place, split at a bit of the index that registers hold,
 * which moves nothing. */
#include "ir/roles.h"
#include "ir/target.h"
#include "passes/cost.h"
#include "passes/exchange.h"
#include "passes/layout_choice.h"
#include "passes/pass.h"

static bool within_warps(const Value *from, const Value *to, MoveKind kind) {
    ConversionMap r;
    if (!layout_conversion_map(to->layout, from->layout, &r)) return false;
    int words = type_elem_bits(to->type) > 32 ? 1 : 0;
    int rank = conversion_map_rank(&r, kind == MOVE_PICK ? IN_WARP : IN_LANE);
    return (1 << (r.bits[IN_REG] + rank + words)) <=
           (kind == MOVE_PICK ? COST_MOST_PICKS : COST_MOST_SHUFFLES);
}

int64_t warp_exchange_bytes(int64_t bytes, int warps) {
    return bytes / warps > COST_WARP_EXCHANGE ? bytes / 2 : bytes;
}

bool convert_exchanges(const Op *op) {
    const Value *from = op->operand[0].value, *to = op->result[0];
    MoveKind kind = layout_move_kind(to->layout, from->layout);
    if (kind == MOVE_NONE || kind == MOVE_REGISTERS) return false;
    return kind == MOVE_SHARED || !within_warps(from, to, kind);
}

void exchange_tiles(Builder *b, Value *const *x, int n, const Layout *through, const Layout *to,
                    Value **out) {
    Value **buffer = arena_array(&b->s->arena, (size_t)n, sizeof *buffer);
    for (int i = 0; i < n; i++) {
        Type type = type_in_space(x[i]->type, SPACE_SHARED);
        buffer[i] = ir_op(b, OP_BUFFER_ALLOC, NULL, 0, &type, 1, 0)->result[0];
        buffer[i]->layout = intern_layout(b->s, *through);
    }
    for (int i = 0; i < n; i++) ir_binary(b, OP_SHARED_STORE, x[i], buffer[i]);
    for (int i = 0; i < n; i++) {
        out[i] = ir_given(b, OP_SHARED_LOAD, buffer[i], x[i]->type);
        out[i]->layout = to;
    }
}

static void convert_through(PassCtx *ctx, Op *op, Value **place);

static uint32_t held_by(const Layout *l, LayoutIn in) {
    uint32_t held = 0;
    for (int k = 0; k < l->bits[in]; k++) held |= l->basis[in][k];
    return held;
}

/* The highest bit of the index that registers hold before; after, too, if there is one, else warps:
 * each warp then reads both halves and keeps one. -1: none. */
static int bit_to_split(const Layout *from, const Layout *to) {
    for (int in = IN_REG; in <= IN_WARP; in += IN_WARP - IN_REG) {
        uint32_t both = held_by(from, IN_REG) & held_by(to, (LayoutIn)in);
        for (int bit = from->out - 1; bit >= 0; bit--)
            if (both >> bit & 1) return bit;
    }
    return -1;
}

/* The conversion as two of half the size: index bit `bit` made the last dimension, split off, and
 * joined again. The other dimensions stay as they are, but that the bit's is cut in two there. */
static void convert_halves(PassCtx *ctx, Op *op, int bit, Value **place) {
    int order[TILE_MAX_RANK], back[TILE_MAX_RANK], d = 0, at = 0;
    uint8_t order8[TILE_MAX_RANK];
    Value *from = op->operand[0].value, *to = op->result[0];
    Builder b = {ctx->s, ctx->f, op->block, op, op->span};
    Type t = to->type, cut = t; /* [..., high, 2, low, ...], and turned [..., high, low, ..., 2] */
    while (bit < type_dim_shift(t, d)) d++;
    int low = bit - type_dim_shift(t, d);
    cut.rank = (uint8_t)(t.rank + 2);
    for (int i = 0; i < t.rank; i++) {
        if (i != d) {
            cut.log2[at++] = t.log2[i];
            continue;
        }
        cut.log2[at++] = (uint8_t)(t.log2[d] - low - 1);
        cut.log2[at++] = 1;
        cut.log2[at++] = (uint8_t)low;
    }
    Type turned = cut, half = cut;
    for (int i = 0; i < cut.rank; i++) {
        order[i] = i + 1 == cut.rank ? d + 1 : i + (i > d);
        order8[i] = (uint8_t)order[i];
        turned.log2[i] = cut.log2[order[i]];
    }
    for (int i = 0; i < cut.rank; i++) back[order[i]] = i;
    half = turned;
    half.log2[half.rank - 1] = 0;
    half.rank--;
    Value *x = ir_given(&b, OP_RESHAPE, from, cut);
    x->layout = from->layout;
    x = ir_given(&b, OP_TRANS, x, turned);
    ir_set_dims(ctx->s, x->def, AT_ORDER, order, cut.rank);
    x->layout = intern_layout(ctx->s, layout_transposed(from->layout, cut, order8));
    Layout want = layout_transposed(to->layout, cut, order8);
    Op *split = ir_op(&b, OP_SPLIT, &x, 1, (Type[]){half, half}, 2, 0), *convert[2];
    const Layout *held = intern_layout(ctx->s, layout_half(x->layout)),
                 *asked = intern_layout(ctx->s, layout_half(&want));
    Value *part[2];
    for (int i = 0; i < 2; i++) split->result[i]->layout = held;
    for (int i = 0; i < 2; i++) {
        part[i] = ir_unary(&b, OP_CONVERT, split->result[i]);
        part[i]->layout = asked;
        convert[i] = part[i]->def;
    }
    x = ir_op(&b, OP_JOIN, part, 2, &turned, 1, 0)->result[0];
    x->layout = intern_layout(ctx->s, want);
    x = ir_given(&b, OP_TRANS, x, cut);
    ir_set_dims(ctx->s, x->def, AT_ORDER, back, cut.rank);
    x->layout = to->layout;
    x = ir_given(&b, OP_RESHAPE, x, to->type);
    x->layout = to->layout;
    x->name = to->name;
    ir_replace_uses(to, x);
    ir_erase(op);
    for (int i = 0; i < 2; i++) convert_through(ctx, convert[i], place);
}

/* Where roles leave little room a conversion by which warps give each other nothing goes in halves
 * of whole rows of lanes: no thread waits long for one. */
static bool is_large(const PassCtx *ctx, const Layout *from, const Value *to, int bit) {
    int64_t bytes = type_bytes(to->type);
    int warps = 1 << to->layout->bits[IN_WARP];
    bool rows = (uint32_t)1 << bit > held_by(to->layout, IN_LANE);
    return bytes * 100 > ctx->target->max_shared * COST_MOST_EXCHANGE_PERCENT ||
           (roles_of(ctx->f) && warp_exchange_bytes(bytes, warps) < bytes && rows &&
            layout_same_warps(from, to->layout));
}

/* place: the buffer through which parts of a tile go one after the other; NULL: none is made yet.
 */
static void convert_through(PassCtx *ctx, Op *op, Value **place) {
    Value *from = op->operand[0].value, *to = op->result[0];
    if (layout_move_kind(to->layout, from->layout) == MOVE_NONE) {
        ir_replace_uses(to, from);
        ir_erase(op);
        ctx->changed = true;
        return;
    }
    if (!convert_exchanges(op)) return;
    Type t = to->type;
    int bit = bit_to_split(from->layout, to->layout);
    if (bit >= 0 && is_large(ctx, from->layout, to, bit) && layout_is_plain(from->layout) &&
        layout_is_plain(to->layout)) {
        convert_halves(ctx, op, bit, place);
        ctx->changed = true;
        return;
    }
    Builder b = {ctx->s, ctx->f, op->block, op, op->span};
    Type shared = type_in_space(t, SPACE_SHARED);
    if (!*place) {
        *place = ir_op(&b, OP_BUFFER_ALLOC, NULL, 0, &shared, 1, 0)->result[0];
        (*place)->layout = intern_layout(ctx->s, choose_move_shared(t, from->layout, to->layout));
    }
    ir_binary(&b, OP_SHARED_STORE, from, *place);
    Value *back = ir_given(&b, OP_SHARED_LOAD, *place, t);
    back->layout = to->layout;
    back->name = to->name;
    ir_replace_uses(to, back);
    ir_erase(op);
    ctx->changed = true;
}

static void lower_convert(Op *op, void *ctx) {
    Value *place = NULL;
    if (op->code == OP_CONVERT) convert_through(ctx, op, &place);
}

void pass_shared(PassCtx *ctx) {
    ir_walk(ctx->f->body, lower_convert, ctx);
}
