/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* async.h: what goes on beside the threads: groups of copies and of matrix products, copies that
 * come to barriers. Each lands when somebody waits for it, or when nobody can go on without; what
 * it will write is not known until then. */
#ifndef TILE_PTX_ASYNC_H
#define TILE_PTX_ASYNC_H

#include "ptx/machine/warp.h"

/* The kinds of groups that a thread commits and waits for. */
typedef enum GroupKind { GROUP_COPY, GROUP_BULK, GROUP_MMA, GROUP_KINDS } GroupKind;

typedef struct Async Async;
/* Does it, for the lanes of the mask. False after a diagnostic. */
typedef bool AsyncLand(Warp *w, Async *a, uint32_t mask);
/* Takes what it reads out of shared memory, and leaves the rest for later. */
typedef bool AsyncRead(Warp *w, Async *a);

struct Async { /* something on its way */
    const PtxCode *code;
    AsyncLand *land;
    AsyncRead *read;      /* NULL: it reads nothing before it lands */
    uint32_t mask;        /* lanes for which it has not landed */
    uint32_t group[WARP]; /* by lane: committed as the n-th of its kind */
    uint64_t since;       /* m->time when it set out */
    bool was_read;
    void *detail; /* its own */
    size_t bytes; /* of that */
};

typedef struct Spare { /* details that may be used again, all of one size */
    size_t bytes;
    VEC(void *) list;
} Spare;

/* Of a warp: what is on its way, in order. */
typedef struct AsyncState {
    struct {
        VEC(Async) going;
        uint32_t committed[WARP]; /* groups, by lane */
        Spare spare;
    } kind[GROUP_KINDS];
    uint64_t waits_for[17]; /* phase of a named barrier, + 1, or the cluster's; 0: not arrived */
} AsyncState;

void async_begin(Cta *cta);
/* Something of the warp's, in the group that its lanes will commit next. */
Async *async_start(Warp *w, const PtxCode *c, GroupKind kind, uint32_t mask, AsyncLand *land,
                   size_t detail);
/* The groups but the last `left` of each lane have landed then. */
bool async_wait(Warp *w, GroupKind kind, uint32_t mask, uint32_t left, bool read_only);
/* What set out before that time has landed then. */
bool async_finish(Warp *w, GroupKind kind, uint32_t mask, uint64_t before);
void async_commit(Warp *w, GroupKind kind, uint32_t mask);

/* A copy that comes to a barrier, of no thread any more. */
typedef struct Arrival Arrival;
typedef bool ArrivalLand(Cta *cta, Arrival *a);
struct Arrival {
    Warp *warp; /* who asked for it: for messages */
    const PtxCode *code;
    int lane;
    ArrivalLand *land;
    void *detail;
};
void async_send(Cta *cta, Arrival a);
/* Lands the oldest one of this block. False after a diagnostic. */
bool async_land(Cta *cta, bool *landed);
/* All threads have ended. */
bool async_end(Cta *cta);

/* ---- mbarriers ---- */

/* So many bytes have come to the barrier at the shared address of a block. */
bool mbarrier_complete(Warp *w, const PtxCode *c, int lane, Cta *cta, uint64_t at, int64_t bytes,
                       uint32_t phase);
/* One arrival at the barrier there, of a lane whose copies have landed. */
bool mbarrier_arrive_late(Warp *w, const PtxCode *c, int lane, uint64_t address, uint32_t time);
/* A copy to so many bytes of the block's shared memory sets out, to come to the barrier there:
 * which phase of it that is. False after a diagnostic. */
bool mbarrier_coming(Warp *w, const PtxCode *c, int lane, Cta *cta, uint64_t barrier, uint64_t at,
                     uint32_t bytes, uint32_t *phase);

#endif
