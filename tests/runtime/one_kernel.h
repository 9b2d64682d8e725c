/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* one_kernel.h: a module of one kernel on the fake driver, by what its manifest says. */
#ifndef TILE_TESTS_ONE_KERNEL_H
#define TILE_TESTS_ONE_KERNEL_H

#include "tests/runtime/faults.h"
#include "tile.h"

#include <check.h>
#include <string.h>

/* Of the test that runs. */
extern const FakeCuda *fake;
extern tile_context *ctx;
extern tile_module *module; /* the last that was loaded; NULL: none */
extern tile_kernel *kernel; /* its kernel */

/* The fixture: a context, and at the end nothing that is not given back. */
void open_gpu(void);
void close_gpu(void);

/* PTX around one kernel's manifest and the declarations of its parameters, malloc'ed. */
char *ptx_of(const char *target, const char *facts, const char *params, const char *declared);
/* Loads that instead of the last module. */
tile_status load(const char *facts, const char *params, const char *declared);

#define PLAIN "\"num_warps\": 4, \"shared\": 0"

#define fails(call, status, words)                                                                 \
    do {                                                                                           \
        ck_assert_int_eq((call), (status));                                                        \
        ck_assert_msg(strstr(tile_error(ctx), (words)), "%s", tile_error(ctx));                    \
    } while (0)

#endif
