/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* exec.h: the functions of insts.def. */
#ifndef TILE_PTX_EXEC_H
#define TILE_PTX_EXEC_H

#include "ptx/machine/warp.h"

#define INST(name, exec, types, operands, words, traits) PtxExec exec;
#include "ptx/machine/insts.def"
#undef INST

#endif
