/* wants.h: references of the kernels that are not arithmetic on elements; see wants_flow.c. */
#ifndef TILE_TESTS_WANTS_H
#define TILE_TESTS_WANTS_H

#include "tests/run/features.h"

Want want_control, want_calls_double, want_calls_negate, want_constants_left, want_constants_right;
Want want_shapes, want_masks, want_walk, want_gather, want_grid;

#endif
