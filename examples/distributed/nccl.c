/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* nccl.c: libnccl.so.2 by dlopen (see nccl.h). NCCL works in the CUDA context that is current, so
 * the rank's is made that first, by the driver's own call. */
#include "nccl.h"

#include <dlfcn.h>
#include <string.h>

enum { NCCL_FLOAT16 = 6, NCCL_SUM = 0 }; /* as NCCL's ABI has them */

typedef struct NcclId { /* handed over as it is, not by its address */
    char bytes[128];
} NcclId;

/* A function by its name: POSIX gives both sorts of pointer one representation. */
static void find(const Ranks *r, void *library, const char *name, void *function) {
    void *found = dlsym(library, name);
    if (!found) ranks_fail(r, "there is no %s: the library is too old", name);
    memcpy(function, &found, sizeof found);
}

static void must(const Nccl *n, const Ranks *r, int result, const char *what) {
    if (result) ranks_fail(r, "%s: %s", what, n->error(result));
}

void nccl_open(Nccl *n, Ranks *r) {
    int (*set_current)(void *context);
    int (*unique_id)(NcclId * id);
    int (*init)(void **comm, int ranks, NcclId id, int rank);
    NcclId id = {{0}};
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    n->library = dlopen("libnccl.so.2", RTLD_NOW);
    if (!driver || !n->library)
        ranks_fail(r, "--reduce=nccl: %s; install libnccl2, or take --reduce=peer", dlerror());
    find(r, driver, "cuCtxSetCurrent", &set_current);
    find(r, n->library, "ncclGetUniqueId", &unique_id);
    find(r, n->library, "ncclCommInitRank", &init);
    find(r, n->library, "ncclCommDestroy", &n->destroy);
    find(r, n->library, "ncclAllReduce", &n->all_reduce);
    find(r, n->library, "ncclGetErrorString", &n->error);
    if (set_current(tile_context_cuda(r->ctx))) ranks_fail(r, "the CUDA context cannot be current");
    if (r->rank == 0) must(n, r, unique_id(&id), "ncclGetUniqueId");
    MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
    must(n, r, init(&n->comm, r->size, id, r->rank), "ncclCommInitRank");
}

void nccl_add_halves(Nccl *n, Ranks *r, tile_ptr at, size_t count, void *stream) {
    void *p = (void *)(uintptr_t)at;
    must(n, r, n->all_reduce(p, p, count, NCCL_FLOAT16, NCCL_SUM, n->comm, stream),
         "ncclAllReduce");
}

void nccl_close(Nccl *n) {
    if (n->comm) n->destroy(n->comm);
    n->comm = NULL;
}
