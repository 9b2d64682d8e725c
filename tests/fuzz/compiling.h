/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* compiling.h: what fuzz targets ask of a compilation through tile.h. */
#ifndef TILE_TESTS_FUZZ_COMPILING_H
#define TILE_TESTS_FUZZ_COMPILING_H

#include "frontend/syntax/ast.h"
#include "tests/fuzz/fuzz.h"
#include "tile.h"

/* What an input is compiled with where its annotations do not say. */
typedef struct FuzzKernel {
    const char *kernel, *signature; /* NULL: not said */
    const char *const *define;
    int ndefines;
} FuzzKernel;

/* A kernel of the file, and types and values of its parameters; all in the session's arena. */
FuzzKernel fuzz_kernel_of(FuzzRandom *r, Session *s, const AstFile *file);
/* The same of a text. False: it has none. */
bool fuzz_kernel(FuzzRandom *r, Session *s, const char *text, size_t len, FuzzKernel *out);

/* Compiles, and holds the status, the diagnostics and the output against each other and against
 * tile.h. Free *out, which may be NULL. */
tile_status fuzz_compile(const tile_compile_options *o, tile_compiled **out);

#endif
