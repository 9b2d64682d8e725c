/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* forecast.h: what a loop of dots takes, for those who weigh one way against another. */
#ifndef TILE_PASSES_FORECAST_H
#define TILE_PASSES_FORECAST_H

#include "passes/pass.h"

/* Clocks of a multiprocessor that the dots of the block take, if all else is there in time. */
double dots_clocks(const PassCtx *ctx, Block *b);
/* What things take that go on at once, each so many clocks: little more than the longest of them.
 */
double at_once_clocks(const double *clocks, int n);
typedef struct TurnClocks {
    double busy;  /* of a multiprocessor, that programs on it share */
    double least; /* with nobody beside it, where others copy than who computes */
} TurnClocks;
/* Of a turn of the loop of dots. */
TurnClocks turn_clocks(const PassCtx *ctx, Block *body);
/* How far into a line of memory rows begin along dimension d, in bytes: an expression of a launch's
 * arguments. False: it is none, and what was written is of no use. */
bool put_bytes_into_line(const Op *desc, int d, Buf *out);
/* The numbers of ctx->f, whatever it has. */
void forecast(PassCtx *ctx);
/* cost_lines of a kernel whose loads are by descriptors, launched in no clusters. */
const char *forecast_lines(PassCtx *ctx);

#endif
