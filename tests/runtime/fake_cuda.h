/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fake_cuda.h: what tests may ask of the fake driver, beside the CUDA Driver API that it serves.
 *
 * FAKE_CUDA_FAIL="n:code" in the environment makes its n-th call fail with the code; a test that
 * has opened the library itself can say so here, again and again. */
#ifndef TILE_TESTS_FAKE_CUDA_H
#define TILE_TESTS_FAKE_CUDA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct FakeLaunch {
    unsigned grid[3], block[3], shared;
    unsigned cluster[3]; /* 0: not asked for */
    bool cooperative, early, graph;
    void *stream;
    int nparams;
    uint64_t param[32];
} FakeLaunch;

/* What may be said of a stream. */
typedef enum FakeStream {
    FAKE_ORDINARY,
    FAKE_CAPTURED,
    FAKE_GREEN,
    FAKE_WINDOW,
    FAKE_DOMAIN,
    FAKE_DOMAIN_MAP,
    FAKE_BEHIND /* not done with what is in it */
} FakeStream;

typedef struct FakeCuda {
    /* Counts calls from 1 again; number n (0: none) fails with `code`, and with `on` all after it.
     */
    void (*let_fail)(long n, int code, bool on);
    long (*calls)(void);
    const char *(*failed)(
        void); /* the entry point of the first call that was made to fail, or NULL */
    long (*live)(
        void); /* contexts, modules, memory, pools, streams, events, graphs not given back */
    void (*forget)(void);                               /* frees all of those */
    int (*depth)(void);                                 /* contexts that this thread has pushed */
    FakeLaunch (*last)(void);                           /* the last launch */
    void (*device)(int major, int minor, int clusters); /* what the GPU says it is */
    void (*connected)(bool yes);                        /* GPUs reach each other's memory */
    void (*stream)(void *stream, FakeStream is);
    void (*driver)(int version); /* of CUDA: 13000 */
    long (*disturbed)(void);     /* calls that would have ended captures of other threads */
} FakeCuda;

/* The one symbol to look up: fake_cuda. */

#endif
