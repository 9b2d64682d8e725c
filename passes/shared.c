/* shared.c: `convert` that must cross warps -> a buffer in shared memory, a store and a load.
 *
 * Conversions that registers or a few shuffles can do stay as they are for code generation. The
 * buffer's swizzle is searched for so that neither side has bank conflicts. */
#include "passes/layout_choice.h"
#include "passes/pass.h"

enum {
    MOST_SHUFFLES = 16
}; /* of 32 bits in one conversion; a trip through memory costs about that */

static bool by_shuffles(const Value *from, const Value *to) {
    Route r;
    if (!layout_route(to->layout, from->layout, &r)) return false;
    int words = type_elem_bits(to->type) > 32 ? 1 : 0;
    return (1 << (r.bits[IN_REG] + route_shuffle_rank(&r) + words)) <= MOST_SHUFFLES;
}

static void lower_convert(Op *op, void *ctx_) {
    PassCtx *ctx = ctx_;
    if (op->code != OP_CONVERT) return;
    Value *from = op->operand[0].value, *to = op->result[0];
    MoveKind kind = layout_move_kind(to->layout, from->layout);
    if (kind == MOVE_NONE) {
        ir_replace_uses(to, from);
        ir_erase(op);
        ctx->changed = true;
        return;
    }
    if (kind == MOVE_REGISTERS || (kind == MOVE_SHUFFLE && by_shuffles(from, to))) return;
    Type t = to->type;
    Layout l = choose_move_shared(t, from->layout, to->layout);
    t.shared = 1;
    Builder b = {ctx->s, ctx->f, op->block, op, op->span};
    Value *buffer = ir_op(&b, OP_SHARED_ALLOC, NULL, 0, &t, 1, 0)->result[0];
    buffer->layout = arena_copy(&ctx->s->arena, &l, sizeof l);
    ir_binary(&b, OP_SHARED_STORE, from, buffer);
    Value *back = ir_given(&b, OP_SHARED_LOAD, buffer, to->type);
    back->layout = to->layout;
    back->name = to->name;
    ir_replace_uses(to, back);
    ir_erase(op);
    ctx->changed = true;
}

void pass_shared(PassCtx *ctx) {
    ir_walk(ctx->f->body, lower_convert, ctx);
}
