/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cost.c: facts of a loop and of the GPU -> the form of its pipeline (see cost.def, schedule.c). */
#include "passes/cost.h"

int64_t cost_share_of(const Target *sm, int64_t programs) {
    return (sm->max_shared + sm->reserved_shared) / programs - sm->reserved_shared;
}

int64_t cost_programs(const LoopCost *c, int slices) {
    const Target *sm = c->target;
    int64_t registers = (int64_t)COST_OTHER_REGISTERS * c->threads + c->carried / 4;
    int64_t bytes = c->others + slices * c->iteration;
    int64_t by_registers = sm->registers / registers;
    int64_t by_memory = target_programs(sm, bytes);
    return by_registers < by_memory ? by_registers : by_memory;
}

/* Is one slice slack? Copies then overwrite what the dots of two iterations before read, and need
 * not wait for any. May take one more. */
static bool takes_slack(const LoopCost *c, int *slices) {
    if (!c->in_flight) return false;
    if (c->results_later) return *slices >= COST_LEAST_FOR_RESULTS;
    if (cost_programs(c, *slices) > 1 || *slices < COST_LEAST_FOR_SUMS - 1) return false;
    if (c->others + (*slices + 1) * c->iteration <= c->target->max_shared) ++*slices;
    return *slices >= COST_LEAST_FOR_SUMS;
}

/* Where programs share an SM, one that has it to itself could have their memory too: twice the
 * slices (64x128x64 at 1024: 6 slices 9.5 us, 4 slices 10.6, 3 slices 12.4). That is a second loop
 * to compile, a seventh of the time for a matmul, as much again for attention, whose iterations are
 * long enough for the copies as it is: so for warpgroups' dots that only add up. */
static int more_when_single(const LoopCost *c, int slices) {
    int64_t fit = (c->target->max_shared - c->others) / c->iteration;
    int most = slices * 2 < COST_MOST_SLICES ? slices * 2 : COST_MOST_SLICES;
    if (!c->for_dots || !c->in_flight || c->results_later || cost_programs(c, slices) < 2) return 0;
    if (most > fit) most = (int)fit;
    return most > slices ? most - slices : 0;
}

LoopChoice cost_choose(const LoopCost *c, int slices) {
    int64_t programs = cost_programs(c, slices);
    if (c->in_flight && slices == COST_ENOUGH_SLICES - 1) {
        if (programs <= COST_FEW_PROGRAMS && cost_programs(c, slices - 1) > programs)
            slices--;
        else if (programs > 1 && cost_programs(c, slices + 1) == programs)
            slices++;
    }
    bool slack = takes_slack(c, &slices);
    bool lands_ahead = c->in_flight && !slack && slices >= COST_ENOUGH_SLICES;
    return (LoopChoice){.slices = slices,
                        .more = more_when_single(c, slices),
                        .ahead = slices - 1 - slack,
                        .lands_ahead = lands_ahead};
}
