/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* graphs.h: launches that come again and again, as CUDA graphs of one kernel. */
#ifndef TILE_RUNTIME_GRAPHS_H
#define TILE_RUNTIME_GRAPHS_H

#include "runtime/cuda_api.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

typedef struct LaunchGraphs {
    pthread_mutex_t lock;
    _Atomic(struct GraphTable *) table; /* NULL: none is kept, and the lock is not taken */
} LaunchGraphs;

/* False: there is no such lock. */
bool graphs_open(LaunchGraphs *g);
/* api NULL: the context is gone, and what was in it. */
void graphs_close(LaunchGraphs *g, const CudaApi *api);
/* At most so many, none of which is there yet. False: no memory, and none is kept. */
bool graphs_keep(LaunchGraphs *g, const CudaApi *api, int ngraphs);
/* The function is unloaded next. */
void graphs_forget(LaunchGraphs *g, const CudaApi *api, CuFunction function);
/* Launches the kernel, whose context is current. False: nothing is launched, and cuLaunchKernel has
 * to. */
bool graphs_launch(LaunchGraphs *g, const CudaApi *api, const CuKernelNode *kernel,
                   CuStream stream);

#endif
