/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fake_inside.h: what the files of the fake driver share. */
#ifndef TILE_TESTS_FAKE_INSIDE_H
#define TILE_TESTS_FAKE_INSIDE_H

#include "runtime/cuda_api.h"
#include "tests/runtime/fake_book.h"
#include "tests/runtime/fake_cuda.h"

enum {
    INVALID_VALUE = 1,
    NOT_INITIALIZED = 3,
    INVALID_DEVICE = 101,
    INVALID_CONTEXT = CU_ERROR_INVALID_CONTEXT,
    INVALID_PTX = 218,
    INVALID_HANDLE = 400,
    CAPTURE_UNSUPPORTED = 900,
    CAPTURE_INVALIDATED = 901
};

/* Every entry point is declared as the runtime declares it, so that the two cannot drift apart. */
#define FN(symbol, member, params)                                                                 \
    extern __typeof__(*((CudaApi *)0)->member) fake_##member __asm__(symbol);
#include "runtime/cuda_api.def"
#undef FN

/* cuInit was called; a context is current. */
bool fake_initialized(void);
bool fake_current(void);

/* For all but calls that give something back. */
#define BEGIN()                                                                                    \
    do {                                                                                           \
        CuResult begun = book_begin(__func__);                                                     \
        if (begun) return begun;                                                                   \
    } while (0)
#define BEGIN_HERE()                                                                               \
    BEGIN();                                                                                       \
    if (!fake_initialized()) return NOT_INITIALIZED;                                               \
    if (!fake_current()) return INVALID_CONTEXT

/* 1 and 2 are the driver's own. */
static inline bool is_stream(CuStream stream) {
    return (uintptr_t)stream <= 2 || book_knows(stream, STREAM);
}

/* fake_launch.c: of FakeCuda. */
FakeLaunch fake_last(void);
void fake_set_stream(void *stream, FakeStream is);
long fake_disturbed(void);

#endif
