/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tilec_ptxas.h: what NVIDIA's assembler makes of PTX: machine code; registers, stack, spills. */
#ifndef TILE_TOOLS_TILEC_PTXAS_H
#define TILE_TOOLS_TILEC_PTXAS_H

#include "tile.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Assembles the PTX with the ptxas that PATH finds and prints a line for each kernel; nothing when
 * there is none. */
void ptxas_report(const char *ptx, size_t len, FILE *out);
/* The same into the n kernels, whose entries are given. False: there is none. What it warns of goes
 * to `warnings`, which may be NULL. */
bool ptxas_numbers(const char *ptx, size_t len, tile_assembled *kernels, int n, char version[32],
                   FILE *warnings);
/* The same for reports. */
const tile_assembler *ptxas_assembler(void);

typedef struct PtxasError {
    char text[1000]; /* a sentence */
    bool io;         /* a file could not be read or written */
} PtxasError;

/* The machine code, malloc'ed, *size bytes; NULL and an error: there is no ptxas in PATH and none
 * in $CUDA_HOME/bin, it refuses the PTX, or TMPDIR (/tmp) takes no files. */
char *ptxas_assemble(const char *ptx, size_t len, size_t *size, PtxasError *error);

#endif
