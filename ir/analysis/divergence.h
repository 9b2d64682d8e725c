/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* divergence.h: which values may differ from program to program of a launch: those that are made of
 * a program's number, and what loops and branches on such values give. */
#ifndef TILE_IR_ANALYSIS_DIVERGENCE_H
#define TILE_IR_ANALYSIS_DIVERGENCE_H

#include "ir/ir.h"

/* By value id, 1: it may differ. places: the loop of a program that stays over its places of the
 * grid, all of whose programs are looked at in the same turn of it; NULL: there is none. */
const uint8_t *divergence_analyse(Session *s, const Func *f, const Op *places);

#endif
