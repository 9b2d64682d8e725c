/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gpu_driver.h: what tests on a real driver capture and run graphs with, by the names that the
 * driver exports; the tests include it once. */
#ifndef TILE_TESTS_GPU_DRIVER_H
#define TILE_TESTS_GPU_DRIVER_H

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

static struct {
    int (*stream_create)(void **, unsigned), (*stream_destroy)(void *);
    int (*capture_begin)(void *, int), (*capture_end)(void *, void **);
    int (*instantiate)(void **, void *, unsigned long long), (*launch)(void *, void *);
    int (*graph_destroy)(void *), (*exec_destroy)(void *), (*push)(void *), (*pop)(void **);
} cu;

/* 0: the driver is not there, or lacks one of them. */
static int open_driver(void) {
    const struct {
        const char *name;
        void *to;
    } entry[] = {{"cuStreamCreate", &cu.stream_create},
                 {"cuStreamDestroy_v2", &cu.stream_destroy},
                 {"cuStreamBeginCapture_v2", &cu.capture_begin},
                 {"cuStreamEndCapture", &cu.capture_end},
                 {"cuGraphInstantiateWithFlags", &cu.instantiate},
                 {"cuGraphLaunch", &cu.launch},
                 {"cuGraphDestroy", &cu.graph_destroy},
                 {"cuGraphExecDestroy", &cu.exec_destroy},
                 {"cuCtxPushCurrent_v2", &cu.push},
                 {"cuCtxPopCurrent_v2", &cu.pop}};
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    for (size_t i = 0; i < sizeof entry / sizeof *entry; i++) {
        void *symbol = library ? dlsym(library, entry[i].name) : NULL;
        if (!symbol) return 0;
        memcpy(entry[i].to, &symbol, sizeof symbol);
    }
    return 1;
}

#endif
