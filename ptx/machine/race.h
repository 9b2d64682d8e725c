/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* race.h: who knows of whose accesses of shared memory. */
#ifndef TILE_PTX_RACE_H
#define TILE_PTX_RACE_H

#include "ptx/machine/warp.h"

void race_begin(Cta *cta);
/* The access of one lane at an offset of that block's shared memory. False after a diagnostic. */
bool race_access(Warp *w, const PtxCode *c, int lane, Cta *of, uint64_t at, const Access *a);
bool race_read(Warp *w, const PtxCode *c, int lane, uint64_t at, uint32_t bytes, Agent agent);
/* Does the warp know who wrote there last? Of a barrier, which is for everyone to use. */
bool race_knows(Warp *w, const PtxCode *c, int lane, Cta *of, uint64_t at, uint32_t bytes);

/* A new one, of nothing. */
Knowledge race_knowledge(Cta *cta);
/* What the warp knows is added to k, and it goes on to another time of its own. */
void race_release(Warp *w, Knowledge *k);
void race_acquire(Warp *w, const Knowledge *k);
void race_join(const Cta *cta, Knowledge *k, const Knowledge *more);
void race_forget(const Cta *cta, Knowledge *k);
/* The warp knows of what its own agent did up to that time. */
void race_landed(Warp *w, Agent agent, uint32_t time);
/* fence.mbarrier_init: barriers made up to now are known to who comes to the cluster's barrier,
 * though that is relaxed. */
void race_fence_init(Warp *w);
void race_release_init(Warp *w, Knowledge *k);
/* What the warp's agent did up to that time is known there. */
void race_tell(Warp *w, Knowledge *k, Agent agent, uint32_t time);
uint32_t race_time(const Warp *w, int lane, Agent agent);
/* fence.proxy.async */
void race_fence(Warp *w);
/* A copy that comes to a barrier writes there, from now on; when it has come the barrier knows. */
bool race_coming(Warp *w, const PtxCode *c, int lane, Cta *of, uint64_t at, uint32_t bytes,
                 int barrier, uint32_t time);
void race_came(const Cta *of, Knowledge *k, int barrier, uint32_t time);

enum { RACE_BARRIERS = 64 }; /* of a block, that are told apart */

#endif
