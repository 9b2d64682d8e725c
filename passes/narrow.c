/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* narrow.c: dots some of whose columns nobody stores -> dots that compute the others alone, by
 * matrix instructions of so many columns. A tile of 176 columns is one of 256 with masks: it fits
 * 132 multiprocessors where one of 128 or 256 does not. */
#include "ir/analysis/demand.h"
#include "passes/pass.h"

static void narrow(Op *op, void *ctx_) {
    enum { UNIT = 8 }; /* columns of an instruction come in eights */
    PassCtx *ctx = ctx_;
    if (op->code != OP_DOT || op->result[0]->type.rank != 2 || ir_attr(op, AT_COLUMNS)) return;
    int64_t all = type_dim(op->result[0]->type, 1);
    int64_t n = demand_of(ctx->s, ctx->f, op->result[0], 1);
    n = (n + UNIT - 1) / UNIT * UNIT;
    if (n <= 0 || n >= all) return;
    ir_set_attr(ctx->s, op, AT_COLUMNS, n);
    ctx->changed = true;
}

void pass_narrow(PassCtx *ctx) {
    ir_walk(ctx->f->body, narrow, ctx);
}
