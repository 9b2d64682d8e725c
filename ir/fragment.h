/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fragment.h: what each register and lane reads of a dot's operand in shared memory, in one step
 * along K: fragments of matrix instructions, slabs for multiply-adds. A warpgroup's dot reads its
 * operands itself. */
#ifndef TILE_IR_FRAGMENT_H
#define TILE_IR_FRAGMENT_H

#include "ir/ir.h"
#include "ir/layout.h"

/* Operands and result are laid out, and lanes read the operands from buffers. */
bool fragment_in_lanes(const Op *dot);
/* By matrix instructions: the operand's rows of 16 bytes lie in the buffer as ldmatrix takes them;
 * and which it has, rows along K or, transposed, along the other dimension. */
bool fragment_has_matrices(const Op *dot, int operand);
bool fragment_is_transposed(const Op *dot, int operand);
/* By multiply-adds: log2 of the elements along K of a step. Their number's bits are the first of a
 * register's, in the second operand with `n_first` the last. */
int fragment_slab_bits(const Op *dot);
/* As the attributes `ldmatrix` and `n_first` of the dot say: lanes and, but with ldmatrix,
 * registers; offsets are relative to the step's. */
Layout fragment_layout(const Op *dot, int operand);

#endif
