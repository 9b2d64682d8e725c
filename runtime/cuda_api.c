/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_api.c: opens libcuda.so.1 and fills the table of its functions (see cuda_api.def).
 *
 * Each context opens the library for itself: the loader counts, and so the runtime needs no global
 * state. RTLD_NODELETE keeps the driver's code in place for its own exit handlers. */
#include "runtime/cuda_api.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *symbol;
    size_t offset; /* of the member in CudaApi */
    bool optional;
} functions[] = {
#define FN(symbol, member, params) {symbol, offsetof(CudaApi, member), false},
#define OPTIONAL(symbol, member, params) {symbol, offsetof(CudaApi, member), true},
#include "runtime/cuda_api.def"
#undef FN
};

bool cuda_api_open(CudaApi *api, char *error, size_t size) {
    memset(api, 0, sizeof *api);
    api->library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!api->library) {
        const char *why = dlerror();
        snprintf(error, size, "no CUDA driver: %s", why ? why : "libcuda.so.1 cannot be opened");
        return false;
    }
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *fn = dlsym(api->library, functions[i].symbol);
        if (!fn && !functions[i].optional) {
            snprintf(error, size, "the CUDA driver is too old: libcuda.so.1 has no %s",
                     functions[i].symbol);
            cuda_api_close(api);
            return false;
        }
        /* ISO C has no cast from an object pointer to a function pointer; POSIX gives both one
         * representation. */
        memcpy((char *)api + functions[i].offset, &fn, sizeof fn);
    }
    return true;
}

bool cuda_api_has_graphs(const CudaApi *api) {
    bool all = true;
#define FN(symbol, member, params)
#define OPTIONAL FN
#define GRAPH(symbol, member, params) all = all && api->member;
#include "runtime/cuda_api.def"
#undef FN
    return all;
}

void cuda_api_close(CudaApi *api) {
    if (api->library) dlclose(api->library);
    api->library = NULL;
}
