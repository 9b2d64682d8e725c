/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* faults.h: lets the n-th allocation, or the n-th file operation, of the tested library fail.
 *
 * The linker gives the tests' calls of malloc, open and the like to faults.c (--wrap). jansson's
 * allocations come here too, once fault_init has told it so. */
#ifndef TILE_TESTS_FAULTS_H
#define TILE_TESTS_FAULTS_H

#include "tests/runtime/fake_cuda.h"

typedef enum FaultKind { FAULT_MEMORY, FAULT_FILE } FaultKind;

void fault_init(void);
/* From now on calls of this kind are counted; number n (0: none) fails, and with `on` all later. */
void fault_arm(FaultKind kind, long n, bool on);
/* No more failures. The number of calls since fault_arm. */
long fault_disarm(void);
/* dlopen or dlsym does not find this name from now on; NULL: finds all. */
void fault_missing(const char *name);
/* Opens the fake driver; ends the test program when it is not there. */
const FakeCuda *fault_driver(void);
/* The address of a symbol of the fake driver, into *out. */
void fault_driver_symbol(const char *name, void *out, size_t size);

#endif
