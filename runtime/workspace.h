/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* workspace.h: memory that the programs of one launch hand each other parts of sums in. */
#ifndef TILE_RUNTIME_WORKSPACE_H
#define TILE_RUNTIME_WORKSPACE_H

#include "runtime/cuda_api.h"

#include <stdatomic.h>

typedef struct Workspaces {
    CuMemPool pool;         /* NULL: this driver or GPU has none, and no launch needs one */
    atomic_uint_fast64_t n; /* marks that were given */
    uint64_t seed;
} Workspaces;

/* With the GPU's context current, before the first launch. Without a pool launches do without. */
void workspaces_open(Workspaces *w, const CudaApi *api, CuDevice device);
void workspaces_close(Workspaces *w, const CudaApi *api);
/* So many bytes that are the stream's own from here on until they are given back there, and a mark
 * that no other launch has. */
CuResult workspace_take(Workspaces *w, const CudaApi *api, size_t bytes, CuStream stream, CuPtr *at,
                        uint64_t *mark);
CuResult workspace_give_back(const CudaApi *api, CuPtr at, CuStream stream);

#endif
