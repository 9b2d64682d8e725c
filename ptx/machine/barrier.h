/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* barrier.h: the barriers of a block and a cluster. */
#ifndef TILE_PTX_BARRIER_H
#define TILE_PTX_BARRIER_H

#include "ptx/machine/warp.h"

void barriers_begin(Cta *cta);

#endif
