/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* life.h: the life of a program that uses the runtime, from opening a device to giving everything
 * back, with every call checked. Tests run it while something fails. */
#ifndef TILE_TESTS_LIFE_H
#define TILE_TESTS_LIFE_H

#include "tile.h"

#include <stdbool.h>

typedef struct Life {
    tile_status status; /* of the first call that failed; the program ended there */
    const char *step;   /* that call */
    char text[600];     /* its tile_error */
    bool result_wrong;  /* it went well, and computed something else */
    long calls;         /* of the fake driver, until everything is given back */
    int held;           /* tensors whose deleter was not called */
} Life;

/* device: "cpu", "cuda", "ptx"; cu_context, when not NULL, is used instead. file: a module of this
 * device, as life_module writes it. */
Life life_run(const char *device, void *cu_context, const char *file);
/* The text of the module that a life on the CPU device loads, or on the others. */
const char *life_module(bool cpu);

#endif
