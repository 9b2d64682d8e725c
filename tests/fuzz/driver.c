/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* driver.c: the path of the fake driver -> the driver that the runtime finds. */
#include "tests/fuzz/driver.h"

#include <dlfcn.h>
#include <string.h>

const FakeCuda *fuzz_driver(void) {
    const FakeCuda *fake;
    void *library = dlopen(FAKE_CUDA, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    void *symbol = library ? dlsym(library, "fake_cuda") : NULL;
    if (!symbol) return NULL;
    memcpy(&fake, &symbol, sizeof fake); /* a variable, which holds what it shows */
    return fake;
}
