/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* jit.c: a kernel out of a string that the program made up while it ran.
 *
 *   jit [--device=auto|cpu|cuda] [EXPRESSION]
 *
 * EXPRESSION is one of Python over x and y, tensors of floats: "tl.sqrt(x * x + y * y)". It becomes
 * part of a kernel's text, the text is compiled for the device, and the result is printed. A
 * mistake in the expression is reported as data: the program decides what to show. */
#include "tile.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 8 };

static const char before[] = "import triton\n"
                             "import triton.language as tl\n"
                             "# tile: grid = cdiv(n, BLOCK)\n"
                             "@triton.jit\n"
                             "def f(x_ptr: '*fp32:16', y_ptr: '*fp32:16', out_ptr: '*fp32:16',\n"
                             "      n: 'i32', BLOCK: tl.constexpr = 128):\n"
                             "    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
                             "    x = tl.load(x_ptr + i, mask=i < n)\n"
                             "    y = tl.load(y_ptr + i, mask=i < n)\n"
                             "    tl.store(out_ptr + i, ";
static const char after[] = ", mask=i < n)\n";

/* The kernel for this expression on this device; `compiled` keeps what the compiler had to say. */
static tile_status make_kernel(tile_context *ctx, const char *expression, tile_compiled **compiled,
                               tile_module **module, tile_kernel **kernel) {
    size_t size = sizeof before + sizeof after + strlen(expression);
    char *source = malloc(size);
    if (!source) return TILE_NO_MEMORY;
    snprintf(source, size, "%s%s%s", before, expression, after);
    int on_cpu = strcmp(tile_context_target(ctx), "cpu") == 0;
    tile_compile_options options = {0};
    options.source = source;
    options.source_len = strlen(source);
    options.file_name = "expression";
    options.target = on_cpu ? NULL : tile_context_target(ctx);
    options.emit = on_cpu ? TILE_EMIT_TIR : TILE_EMIT_PTX;
    options.no_perf_notes = 1;
    tile_status st = tile_compile(&options, compiled);
    free(source);
    if (st) return st;
    const char *text = tile_compiled_text(*compiled, TILE_PART_OUTPUT, &size);
    st = tile_module_load(ctx, text, size, module);
    return st ? st : tile_kernel_get(*module, NULL, kernel);
}

/* Each diagnostic, under the expression where it is in there. */
static void explain(const char *expression, const tile_compiled *compiled) {
    const char *line = strrchr(before, '\n') + 1;
    uint32_t indent = (uint32_t)strlen(line);
    const tile_diagnostic *d;
    int n = tile_compiled_diagnostics(compiled, &d);
    for (int i = 0; i < n; i++) {
        fprintf(stderr, "jit: %s\n", d[i].text);
        if (d[i].column > indent && d[i].column - indent <= strlen(expression))
            fprintf(stderr, "    %s\n    %*s\n", expression, (int)(d[i].column - indent), "^");
    }
}

static tile_status run(tile_context *ctx, tile_kernel *kernel) {
    float x[N], y[N], out[N];
    tile_ptr dx = 0, dy = 0, dout = 0;
    for (int i = 0; i < N; i++) {
        x[i] = (float)i;
        y[i] = 4;
    }
    tile_status st = tile_alloc(ctx, sizeof x, &dx);
    if (!st) st = tile_alloc(ctx, sizeof y, &dy);
    if (!st) st = tile_alloc(ctx, sizeof out, &dout);
    if (!st) st = tile_copy_to_device(ctx, dx, x, sizeof x);
    if (!st) st = tile_copy_to_device(ctx, dy, y, sizeof y);
    if (!st) {
        tile_arg args[] = {tile_pointer(dx), tile_pointer(dy), tile_pointer(dout), tile_i32(N)};
        st = tile_launch(kernel, NULL, args, 4, NULL);
    }
    if (!st) st = tile_copy_to_host(ctx, out, dout, sizeof out);
    for (int i = 0; !st && i < N; i++) printf("f(%g, %g) = %g\n", x[i], y[i], out[i]);
    tile_free(ctx, dx);
    tile_free(ctx, dy);
    tile_free(ctx, dout);
    return st;
}

int main(int argc, char **argv) {
    const char *device = "auto", *expression = "tl.sqrt(x * x + y * y)";
    for (int i = 1; i < argc; i++)
        if (strncmp(argv[i], "--device=", 9) == 0)
            device = argv[i] + 9;
        else
            expression = argv[i];
    tile_context *ctx = NULL;
    tile_compiled *compiled = NULL;
    tile_module *module = NULL;
    tile_kernel *kernel = NULL;
    tile_status st = tile_context_create(device, &ctx);
    if (!st) st = make_kernel(ctx, expression, &compiled, &module, &kernel);
    if (!st) st = run(ctx, kernel);
    if (st == TILE_COMPILE_ERROR)
        explain(expression, compiled);
    else if (st)
        fprintf(stderr, "jit: %s: %s\n", tile_status_text(st), tile_error(ctx));
    tile_compiled_free(compiled);
    tile_module_unload(module);
    tile_context_destroy(ctx);
    return st == TILE_OK ? 0 : st == TILE_COMPILE_ERROR ? 1 : 5;
}
