/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* warp.h: the state of a launch, shared by the files of ptx/machine/: blocks, their warps, and what
 * instructions are made of.
 *
 * The lanes of a warp that are at one place go on together; of several places the lowest is done
 * first, so that those that went apart meet again behind a branch. */
#ifndef TILE_PTX_WARP_H
#define TILE_PTX_WARP_H

#include "base/session.h"
#include "ptx/machine/machine.h"

enum {
    WARP = 32,
    MOST_ACCESS = 32,   /* bytes of a lane */
    TRAIT_MOVES = 16,   /* does its own account of what is known */
    TRAIT_NOTHING = 32, /* its first operand is none that it writes */
    TRAIT_WARP = 64 /* all lanes of a warp do it together: those that are here wait for others */
};

#define ALL_LANES UINT32_MAX
#define EACH_LANE(mask, l)                                                                         \
    for (int l = 0; l < WARP; l++)                                                                 \
        if ((mask) >> l & 1)

/* Windows of the generic addresses of memory that is not global. */
#define WINDOW_SHARED (UINT64_C(1) << 61)
#define WINDOW_LOCAL (UINT64_C(2) << 61)
#define WINDOW_PARAM (UINT64_C(3) << 61)
#define WINDOW_MASK (UINT64_C(3) << 61)
enum { RANK_SHIFT = 24 }; /* a shared::cluster address: rank + 1 above, 0: this block's own */

typedef struct Machine Machine;
typedef struct Cta Cta;
typedef struct Warp Warp;

typedef struct Memory {    /* shared, or a lane's local */
    uint8_t *data, *known; /* a byte each: was it written? */
    uint64_t bytes;
} Memory;

struct Warp {
    Cta *cta;
    int number; /* in its block */
    uint64_t (*reg)[WARP];
    uint32_t *known;        /* by register: lanes that have all of it */
    uint64_t (*bits)[WARP]; /* of those that have not: the bits that they do */
    bool *summing;          /* by register: a product on its way adds to it */
    uint64_t *written,
        fenced;   /* by register: m->time when an instruction wrote it; of wgmma.fence */
    int pc[WARP]; /* of lanes that are in no group that goes on now */
    uint32_t alive, blocked;
    uint32_t carry;      /* CC.CF, by lane */
    uint64_t blocked_at; /* m->changes when they were */
    uint32_t tid[WARP][3];
    Memory *local; /* by lane; NULL: none */
    struct AsyncState *async;
    const PtxCode *polled; /* the last access that might be a poll, what it found, and when */
    uint64_t found, polled_at;
    int polls; /* how often it has found the same, with nothing done meanwhile */
    uint64_t state, turn_at, turns; /* what it was in at the end of a turn (machine.c) */
    uint32_t spinning;              /* lanes that are blocked as they go round in a loop */
};

struct Cta {
    Machine *m;
    uint32_t id[3], in_cluster[3];
    int rank; /* in its cluster */
    Cta **cluster;
    Warp *warp;
    int nwarps;
    uint32_t nthreads;
    Memory shared;
    uint64_t shared_bytes;
    struct Barriers *barriers;
    struct Pending *pending; /* copies that have not landed */
    struct SharedRaces *races;
};

struct Machine {
    Session *s;
    const PtxLaunch *launch;
    const PtxProgram *program;
    Arena *arena; /* of the launch */
    uint32_t cluster_shape[3];
    int cluster;   /* blocks of one */
    uint64_t time; /* instructions so far */
    uint64_t max_steps;
    uint64_t changes;  /* of anything that another of its cluster may wait for */
    uint64_t progress; /* of what another cluster may: global memory, blocks that have ended */
    Memory param;
    struct Product *product; /* of matrices; made when one is needed */
};

/* ---- operands ---- */

/* What the operand is in all lanes: a register's own, or made in *room. */
const uint64_t *lanes_of(const Warp *w, const PtxOperand *o, uint64_t *room);
uint64_t lane_of(const Warp *w, const PtxOperand *o, int lane);
/* Lanes in which all of it is known. */
uint32_t known_of(const Warp *w, const PtxOperand *o);
static inline const PtxOperand *element_of(const Warp *w, const PtxOperand *o, int i) {
    return &w->cta->m->program->operands[o->first + i];
}

/* Of the lanes of the mask, those that have the register now. */
static inline void set_known(Warp *w, int reg, uint32_t mask, uint32_t known) {
    uint32_t without = mask & ~known;
    w->written[reg] = w->cta->m->time;
    w->known[reg] = (w->known[reg] & ~mask) | (known & mask);
    for (; without; without &= without - 1) w->bits[reg][__builtin_ctz(without)] = 0;
}
/* The bits of it that are known in a lane. */
uint64_t bits_known(const Warp *w, const PtxOperand *o, int lane);
/* The bits that are known of an instruction's result, where not all of its operands are. */
uint64_t result_known(const Warp *w, const PtxCode *c, int lane);
/* Of so many, those that are. */
static inline void set_bits_known(Warp *w, int reg, int lane, uint64_t known, unsigned bits) {
    uint64_t all = bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
    uint32_t on = UINT32_C(1) << lane;
    w->written[reg] = w->cta->m->time;
    w->known[reg] = (known & all) == all ? w->known[reg] | on : w->known[reg] & ~on;
    w->bits[reg][lane] = known;
}

/* Says what went wrong, where, and who it was: a lane of the warp. OUTCOME_FAIL. */
PtxOutcome machine_fail(Warp *w, const PtxCode *c, int lane, Code code, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

/* ---- memory ---- */

/* Who accesses: a warp's threads, or what they have started. */
typedef enum Agent {
    AGENT_THREADS,
    AGENT_COPY, /* cp.async */
    AGENT_BULK, /* the copy engine, for groups */
    AGENT_MMA,  /* wgmma */
    AGENT_INIT, /* its threads, where they make memory a barrier */
    AGENTS
} Agent;

/* What is known: of each agent of the cluster, up to when; and what of that the copy engine and the
 * tensor cores see. */
typedef struct Knowledge {
    uint32_t *of, *seen;
} Knowledge;

typedef enum AccessKind { ACCESS_READ, ACCESS_WRITE, ACCESS_ATOMIC } AccessKind;

typedef struct Access { /* a request of a warp: of each lane, so many bytes */
    AccessKind kind;
    Agent agent;
    bool barrier; /* of an mbarrier, which is for everyone to use */
    PtxSpace space;
    uint32_t bytes, align;
    uint32_t mask;
    bool orders; /* it is no plain access: atomic or ordered */
    uint64_t address[WARP];
    /* What is written, or NULL, where that comes later. Two who write the same are in nobody's
     * way. */
    const uint8_t *value[WARP];
    uint8_t *data[WARP], *known[WARP]; /* where that is; known NULL: all is */
} Access;

/* The addresses of the lanes: operand o of the instruction. False after a diagnostic. */
bool access_addresses(Warp *w, const PtxCode *c, const PtxOperand *o, Access *a);
/* All of them lie in shared memory, whose bytes are there and known or not. False after a
 * diagnostic. */
bool access_shared(Warp *w, const PtxCode *c, const Access *a);
/* Checks them and finds where they are. Lanes whose access is left out go from the mask. */
bool access_find(Warp *w, const PtxCode *c, Access *a);
/* Counts what the request has changed. */
static inline void access_changed(Warp *w, const Access *a, int lane) {
    w->cta->m->changes++;
    if (!(a->address[lane] & WINDOW_MASK) && (a->space == IN_GENERIC || a->space == IN_GLOBAL))
        w->cta->m->progress++;
}
/* It has found this: again, with nothing done meanwhile, and somebody else is to go on. */
void warp_polls(Warp *w, const PtxCode *c, uint64_t found);
/* Counts what the request takes (count.c). */
void access_count(const Warp *w, const PtxCode *c, const Access *a);
/* Where it is counted what the instruction takes; NULL: nobody asks. */
PtxCount *count_of(const Warp *w, const PtxCode *c);
/* Of units of 16 bytes of shared memory that are moved at once, up to 8: the wavefronts. */
enum { COUNT_UNIT = 16, COUNT_UNITS = 8 };
void count_units(PtxCount *c, const uint64_t *address, int n);
/* A request for such pieces of global memory, which are put in order. */
typedef struct CountRange {
    uint64_t begin, bytes;
} CountRange;
void count_ranges(PtxCount *c, CountRange *r, int n);
/* One element becomes what the operation makes of it and y, and z of a cas; what was there. */
uint64_t atomic_update(PtxType t, unsigned op, uint8_t *at, uint64_t y, uint64_t z, bool *changed);
/* Does a copy of such elements know the operation? */
bool atomic_reduces(PtxType t, unsigned op);
/* The space that the instruction says. */
PtxSpace space_of(const PtxCode *c);

#endif
