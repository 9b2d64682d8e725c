/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* one_kernel.c: see one_kernel.h. */
#include "tests/runtime/one_kernel.h"

#include <stdio.h>
#include <stdlib.h>

const FakeCuda *fake;
tile_context *ctx;
tile_module *module;
tile_kernel *kernel;

void open_gpu(void) {
    fake = fault_driver();
    fake->let_fail(0, 0, false);
    ck_assert_int_eq(tile_context_create("cuda", &ctx), TILE_OK);
    module = NULL;
}

void close_gpu(void) {
    tile_module_unload(module);
    tile_context_destroy(ctx);
    ck_assert_int_eq(fake->live(), 0);
    ck_assert_int_eq(fake->depth(), 0);
}

char *ptx_of(const char *target, const char *facts, const char *params, const char *declared) {
    char *text = malloc(8192);
    ck_assert_ptr_nonnull(text);
    snprintf(text, 8192,
             "// tilec manifest begin\n"
             "// {\"manifest\": 1, \"target\": \"%s\", \"kernels\": [{\"name\": \"k\",\n"
             "//   \"entry\": \"k\", \"num_stages\": 3, %s,\n"
             "//   \"params\": [%s]}]}\n"
             "// tilec manifest end\n"
             ".version 8.0\n.target %s\n.visible .entry k(\n%s\n)\n{\n ret;\n}\n",
             target, facts, params, target, declared);
    return text;
}

tile_status load(const char *facts, const char *params, const char *declared) {
    char *text = ptx_of("sm_80", facts, params, declared);
    tile_module_unload(module);
    module = NULL;
    tile_status st = tile_module_load(ctx, text, strlen(text), &module);
    free(text);
    if (!st) ck_assert_int_eq(tile_kernel_get(module, NULL, &kernel), TILE_OK);
    return st;
}
