/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* mutant.c: the environment of a process -> which mutant it is, and where those that it reaches are
 * noted. Compiled into the rewritten tree alone, with MUTANTS, their number. */
#define _GNU_SOURCE
#include "mutant.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static unsigned char unasked[MUTANTS];
int mutant_chosen = -1;
unsigned char *mutant_reached = unasked;

__attribute__((constructor)) static void mutant_start(void) {
    const char *chosen = getenv("TILE_MUTANT"), *reached = getenv("TILE_MUTANT_REACHED");
    if (chosen) mutant_chosen = atoi(chosen);
    int file = reached ? open(reached, O_RDWR | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *map = mmap(NULL, MUTANTS, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (map != MAP_FAILED) mutant_reached = map;
    close(file);
}
