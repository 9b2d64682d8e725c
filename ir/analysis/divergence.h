/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* divergence.h: which values may differ from program to program of a launch: those that are made of
 * a program's number, and what loops and branches on such values give. */
#ifndef TILE_IR_ANALYSIS_DIVERGENCE_H
#define TILE_IR_ANALYSIS_DIVERGENCE_H

#include "ir/ir.h"

/* By value id, 1: it may differ. places: the loop of a program that stays over its places of the
 * grid, whose turn is the same for the programs that are looked at, a cluster's; NULL: all of the
 * launch are. */
const uint8_t *divergence_analyse(Session *s, const Func *f, const Op *places);

/* What says in such a loop which place of the grid a program has. */
Value *divergence_place(const Op *places);

#endif
