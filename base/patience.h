/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* patience.h: how the two machines that run kernels on the CPU wait for what other launches write,
 * of other threads or processes: by naps, the longer the longer it takes, up to a limit. */
#ifndef TILE_BASE_PATIENCE_H
#define TILE_BASE_PATIENCE_H

#include <stdbool.h>
#include <stdint.h>

enum { PATIENCE_MS = 300000 }; /* how long a launch waits for others to write */

typedef struct Patience {
    uint64_t since, nap; /* nanoseconds; since 0: it does not wait */
} Patience;

/* Sleeps a little; *slept (may be NULL) is how long that was, in nanoseconds. False: it has waited
 * for most_ms (0: PATIENCE_MS) since `since` was last set to 0. */
bool patience_nap(Patience *p, uint32_t most_ms, uint64_t *slept);

#endif
