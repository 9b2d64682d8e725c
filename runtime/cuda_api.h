/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_api.h: the part of the CUDA Driver API that the runtime uses, with types of our own.
 *
 * No cuda.h is needed to build. Handles are opaque pointers and results plain ints, as in the
 * driver's ABI; the numbers below are the driver's. */
#ifndef TILE_RUNTIME_CUDA_API_H
#define TILE_RUNTIME_CUDA_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef int CuResult;
typedef int CuDevice;
typedef uint64_t CuPtr;
typedef struct CuContextRec *CuContext;
typedef struct CuModuleRec *CuModule;
typedef struct CuFunctionRec *CuFunction;
typedef struct CuStreamRec *CuStream;
typedef struct CuEventRec *CuEvent;
typedef struct CuMemPoolRec *CuMemPool;
typedef struct CuGraphRec *CuGraph;
typedef struct CuGraphNodeRec *CuGraphNode;
typedef struct CuGraphExecRec *CuGraphExec;
typedef struct CuGreenContextRec *CuGreenContext;

/* What another process opens memory by; handed over as it is, not by its address. */
typedef struct CuIpcHandle {
    char bytes[64];
} CuIpcHandle;

/* One attribute of a launch, and a launch with attributes. */
typedef struct CuLaunchAttribute {
    int id; /* CU_LAUNCH_ */
    int unused;
    union {
        int cooperative, early;
        unsigned cluster[3];
        char room[64];
    } value;
} CuLaunchAttribute;
typedef struct CuLaunchConfig {
    unsigned grid[3], block[3], shared_bytes;
    CuStream stream;
    CuLaunchAttribute *attribute;
    unsigned nattributes;
} CuLaunchConfig;

/* A launch as a node of a graph. */
typedef struct CuKernelNode {
    CuFunction function;
    unsigned grid[3], block[3], shared_bytes;
    void **params, **extra;
    void *kernel; /* where there is no function */
    CuContext context;
} CuKernelNode;

/* What a stream says of the launches in it (CU_STREAM_). */
typedef union CuStreamAttribute {
    struct {
        void *base;
        size_t bytes; /* 0: no window */
    } access_policy;
    int sync_domain;
    uint8_t sync_domains[2]; /* of launches, and of those to other domains */
    char room[64];
} CuStreamAttribute;

/* Where a pool's memory is, and nothing else: the rest is 0. */
typedef struct CuMemPoolProps {
    int kind, handles, place, device; /* CU_MEM_PINNED, 0, CU_MEM_DEVICE */
    char room[72];
} CuMemPoolProps;

enum {
    CU_SUCCESS = 0,
    CU_ERROR_INVALID_VALUE = 1,
    CU_ERROR_OUT_OF_MEMORY = 2,
    CU_ERROR_NO_DEVICE = 100,
    CU_ERROR_INVALID_CONTEXT = 201,
    CU_ERROR_PEER_UNSUPPORTED = 217,
    CU_ERROR_UNSUPPORTED_PTX_VERSION = 222,
    CU_ERROR_NOT_FOUND = 500,
    CU_ERROR_NOT_READY = 600,
    CU_ERROR_PEER_ENABLED = 704,

    CU_STREAM_NON_BLOCKING = 1, /* it does not wait for the default stream */
    CU_STREAM_ACCESS_POLICY = 1,
    CU_STREAM_SYNC_DOMAIN_MAP = 9,
    CU_STREAM_SYNC_DOMAIN = 10,
    CU_EVENT_NO_TIMING = 2,
    CU_CAPTURE_NONE = 0,
    CU_CAPTURE_RELAXED = 2, /* of a thread: what it calls disturbs nobody's capture */
    CU_IPC_LAZY_PEERS = 1,  /* memory of another GPU is reached as after cuCtxEnablePeerAccess */

    CU_DEVICE_MULTIPROCESSORS = 16,
    CU_DEVICE_CAPABILITY_MAJOR = 75,
    CU_DEVICE_CAPABILITY_MINOR = 76,
    CU_DEVICE_COOPERATIVE_LAUNCH = 95,
    CU_DEVICE_MAX_SHARED_OPTIN = 97,
    CU_DEVICE_FLUSH_REMOTE_WRITES = 98,
    CU_DEVICE_CLUSTER_LAUNCH = 120,

    CU_FUNC_MAX_THREADS_PER_BLOCK = 0,
    CU_FUNC_LOCAL_BYTES = 3,
    CU_FUNC_NUM_REGS = 4,
    CU_FUNC_MAX_DYNAMIC_SHARED = 8,
    CU_FUNC_LARGE_CLUSTERS = 14, /* more than every GPU with clusters takes */

    CU_LAUNCH_COOPERATIVE = 2,
    CU_LAUNCH_CLUSTER = 4,
    CU_LAUNCH_EARLY = 6, /* programmatic stream serialization */

    CU_MEM_PINNED = 1,
    CU_MEM_DEVICE = 1,
    CU_POOL_KEEPS = 4, /* bytes that it does not give back when nobody has them */

    CU_JIT_ERROR_LOG_BUFFER = 5,
    CU_JIT_ERROR_LOG_BYTES = 6
};

typedef struct CudaApi {
    void *library;
#define FN(symbol, member, params) CuResult(*member) params;
#include "runtime/cuda_api.def"
#undef FN
} CudaApi;

/* Opens the driver's library. False with a sentence in `error` that says what is missing. */
bool cuda_api_open(CudaApi *api, char *error, size_t size);
void cuda_api_close(CudaApi *api);
/* It has all that graphs.c needs. */
bool cuda_api_has_graphs(const CudaApi *api);

#endif
