/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* check.h: is an instruction what its row of insts.def says? */
#ifndef TILE_PTX_CHECK_H
#define TILE_PTX_CHECK_H

#include "ptx/machine/program.h"

/* What is wrong with it, and with which word; NULL: nothing. Elements of its vectors are in the
 * list. */
const char *ptx_check(const PtxProgram *p, const PtxOperand *elements, const PtxCode *c,
                      const char *types, const char *operands, PtxWord *word);

#endif
