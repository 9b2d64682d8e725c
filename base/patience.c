/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* patience.c: naps of a launch that waits for others (see patience.h). */
#define _POSIX_C_SOURCE 200809L /* clock_gettime, nanosleep */
#include "base/patience.h"

#include <time.h>

enum { FIRST_NAP_NS = 20000, LONGEST_NAP_NS = 2000000 };

static uint64_t clock_now(void) {
    struct timespec t;
    return clock_gettime(CLOCK_MONOTONIC, &t)
               ? 0
               : (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

bool patience_nap(Patience *p, uint32_t most_ms, uint64_t *slept) {
    uint64_t now = clock_now(), most = (uint64_t)(most_ms ? most_ms : PATIENCE_MS) * 1000000;
    if (!p->since) *p = (Patience){now, FIRST_NAP_NS};
    if (now - p->since > most) return false;
    nanosleep(&(struct timespec){.tv_nsec = (long)p->nap}, NULL);
    if (p->nap < LONGEST_NAP_NS) p->nap += p->nap / 4;
    if (slept) *slept = clock_now() - now;
    return true;
}
