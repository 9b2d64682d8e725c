/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* compile.c: compiles the file it is given with the installed compiler library and prints the PTX.
 */
#include "tile.h"

#include <stdio.h>

int main(int argc, char **argv) {
    static char source[10000];
    tile_compile_options options = {0};
    tile_compiled *compiled = NULL;
    FILE *f = argc == 2 ? fopen(argv[1], "rb") : NULL;
    if (!f) return 2;
    options.source = source;
    options.source_len = fread(source, 1, sizeof source, f);
    fclose(f);
    tile_status st = tile_compile(&options, &compiled);
    fputs(tile_compiled_text(compiled, TILE_PART_DIAGNOSTICS, NULL), stderr);
    fputs(tile_compiled_text(compiled, TILE_PART_OUTPUT, NULL), stdout);
    tile_compiled_free(compiled);
    return st != TILE_OK;
}
