/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kernels.h: what fuzz targets ask of a module of tile IR. */
#ifndef TILE_TESTS_FUZZ_KERNELS_H
#define TILE_TESTS_FUZZ_KERNELS_H

#include "ir/ir.h"

/* The numbers of a target's stages that it goes through. */
typedef struct KernelStages {
    int check, optimise, run;
} KernelStages;

/* The module must be sound, print as it reads, stay sound through every pass, and run on the CPU
 * device in a small grid. The last stage; `reached` holds it, too, should the session bail out. */
int fuzz_module(Session *s, Module *m, KernelStages stages, volatile int *reached);

#endif
