/* tilec_ptxas.h: what NVIDIA's assembler says of PTX: registers, stack, spills. */
#ifndef TILE_TOOLS_TILEC_PTXAS_H
#define TILE_TOOLS_TILEC_PTXAS_H

#include <stddef.h>
#include <stdio.h>

/* Assembles the PTX with the ptxas that PATH finds and prints a line for each kernel; nothing when
 * there is none. */
void ptxas_report(const char *ptx, size_t len, FILE *out);

#endif
