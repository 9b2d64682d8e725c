/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* mutant.h: what the mutants of a rewritten file ask (tests/mutants/kinds.py writes the calls):
 * whether they are the one that TILE_MUTANT names. TILE_MUTANT_REACHED names a file with a byte for
 * each, in which those are set that were reached, by all processes that have it in their
 * environment. */
#ifndef TILE_TESTS_MUTANT_H
#define TILE_TESTS_MUTANT_H

extern int mutant_chosen;             /* -1: none */
extern unsigned char *mutant_reached; /* of each mutant; never NULL */

static inline int mutant_is(int number) {
    return mutant_chosen == number;
}

/* Where the mutant's value is not the right one's: only there it counts as reached. */
static inline int mutant_on(int number, int differs) {
    if (!differs) return 0;
    mutant_reached[number] = 1;
    return mutant_chosen == number;
}

#endif
