/* tilec_ptxas.h: what NVIDIA's assembler makes of PTX: machine code; registers, stack, spills. */
#ifndef TILE_TOOLS_TILEC_PTXAS_H
#define TILE_TOOLS_TILEC_PTXAS_H

#include <stddef.h>
#include <stdio.h>

/* Assembles the PTX with the ptxas that PATH finds and prints a line for each kernel; nothing when
 * there is none. */
void ptxas_report(const char *ptx, size_t len, FILE *out);

/* The machine code, malloc'ed, *size bytes; NULL with a sentence in error[]: there is no ptxas in
 * PATH and none in $CUDA_HOME/bin, or it refuses the PTX. */
char *ptxas_assemble(const char *ptx, size_t len, size_t *size, char *error, size_t error_size);

#endif
