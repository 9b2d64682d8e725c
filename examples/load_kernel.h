/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* load_kernel.h: a kernel from a file, for the examples: compiled now from a source, or made
 * ahead of time by tilec (.ptx for a GPU, .tir for the CPU). */
#ifndef EXAMPLES_LOAD_KERNEL_H
#define EXAMPLES_LOAD_KERNEL_H

#include "tile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline int ends_in(const char *name, const char *suffix) {
    size_t n = strlen(name), m = strlen(suffix);
    return n > m && strcmp(name + n - m, suffix) == 0;
}

/* The whole file, malloc'ed; NULL when it cannot be read. */
static inline char *read_text(const char *path, size_t *len) {
    FILE *f = fopen(path, "rb");
    char *text = NULL;
    long size = -1;
    if (f && fseek(f, 0, SEEK_END) == 0) size = ftell(f);
    if (size >= 0 && fseek(f, 0, SEEK_SET) == 0) text = malloc((size_t)size + 1);
    *len = text ? fread(text, 1, (size_t)size, f) : 0;
    if (f) fclose(f);
    return text;
}

/* Compiles the source for the context's device, with the types and promises of `signature`; NULL:
 * with those of its annotations. */
static inline tile_status compile_kernel(tile_context *ctx, const char *file, const char *signature,
                                         tile_module **module) {
    tile_compile_options options = {0};
    size_t size;
    char *source = read_text(file, &size);
    if (!source) {
        fprintf(stderr, "cannot read %s\n", file);
        return TILE_COMPILE_ERROR;
    }
    int on_cpu = strcmp(tile_context_target(ctx), "cpu") == 0;
    options.source = source;
    options.source_len = size;
    options.file_name = file;
    options.signature = signature;
    options.ignore_annotations = signature != NULL;
    options.target = on_cpu ? NULL : tile_context_target(ctx);
    options.line_info = on_cpu; /* so that a failed check shows its line */
    options.emit = on_cpu ? TILE_EMIT_TIR : TILE_EMIT_PTX;
    tile_compiled *compiled;
    tile_status st = tile_compile(&options, &compiled);
    if (compiled) fputs(tile_compiled_text(compiled, TILE_PART_DIAGNOSTICS, NULL), stderr);
    if (!st) {
        const char *text = tile_compiled_text(compiled, TILE_PART_OUTPUT, &size);
        st = tile_module_load(ctx, text, size, module);
    }
    tile_compiled_free(compiled);
    free(source);
    return st;
}

static inline tile_status load_module(tile_context *ctx, const char *file, const char *signature,
                                      tile_module **module) {
    return ends_in(file, ".ptx") || ends_in(file, ".tir")
               ? tile_module_load_file(ctx, file, module)
               : compile_kernel(ctx, file, signature, module);
}

static inline tile_status load_kernel(tile_context *ctx, const char *file, const char *signature,
                                      tile_module **module, tile_kernel **kernel) {
    tile_status st = load_module(ctx, file, signature, module);
    return st ? st : tile_kernel_get(*module, NULL, kernel);
}

/* Says why a call failed; a compile error has been printed already. */
static inline void report(const tile_context *ctx, tile_status st) {
    if (st != TILE_COMPILE_ERROR)
        fprintf(stderr, "%s: %s\n", tile_status_text(st), tile_error(ctx));
}

/* ":16" or ":1" where Triton's JIT would specialise for this value, else "". */
static inline const char *promise(long v) {
    return v == 1 ? ":1" : v % 16 == 0 ? ":16" : "";
}

#endif
