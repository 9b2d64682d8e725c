/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* wants.h: references of the kernels that are not arithmetic on elements; see wants_flow.c. */
#ifndef TILE_TESTS_WANTS_H
#define TILE_TESTS_WANTS_H

#include "tests/run/features.h"

Want want_control, want_exits, want_calls_double, want_calls_negate, want_constants_left,
    want_constants_right;
Want want_shapes, want_masks, want_walk, want_gather, want_grid, want_swizzle;

/* wants_builtins.c */
Want want_axis, want_turn;
Want want_sort, want_moves, want_extremes, want_scan, want_histogram, want_random, want_atomics;
Want want_block_pointer, want_descriptor, want_libdevice, want_libdevice_floats, want_batch,
    want_stdlib;
/* wants_machine.c */
Want want_dot_types, want_dot_batch, want_atomic_numbers, want_atomic_extremes,
    want_atomic_extremes_fp32, want_atomic_extremes_fp64, want_atomic_bits, want_lock,
    want_casts_to_fp8, want_pipeline, want_advance, want_sectors, want_again, want_between;

#endif
