/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* exec.h: the functions of insts.def. */
#ifndef TILE_PTX_EXEC_H
#define TILE_PTX_EXEC_H

#include "ptx/machine/warp.h"

#define INST(name, exec, types, operands, words, traits) PtxExec exec;
#include "ptx/machine/insts.def"
#undef INST

/* What is wrong with a call of none of the file's functions, and where; NULL: nothing. */
const char *call_fault(const PtxCode *c, PtxWord *word);

#endif
