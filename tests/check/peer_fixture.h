/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* peer_fixture.h: kernels that use other contexts' memory: a source -> a kernel on the CPU device,
 * for the suites on peers and on memory that processes share. */
#ifndef TILE_TESTS_PEER_FIXTURE_H
#define TILE_TESTS_PEER_FIXTURE_H

#include "tests/check/peer_kernels.h"
#include "tile.h"

#include <check.h>
#include <string.h>

typedef struct Peer {
    tile_context *ctx;
    tile_module *module;
} Peer;

static inline void peer_open(Peer *p, const char *device, const char *defines) {
    tile_status st = tile_context_create(device, &p->ctx);
    ck_assert_msg(st == TILE_OK, "%s", tile_error(p->ctx));
    int on_cpu = strcmp(tile_context_target(p->ctx), "cpu") == 0;
    tile_compile_options options = {0};
    options.source = peer_source;
    options.source_len = sizeof peer_source - 1;
    options.file_name = "peers.tl";
    options.target = on_cpu ? NULL : tile_context_target(p->ctx);
    options.emit = on_cpu ? TILE_EMIT_TIR : TILE_EMIT_PTX;
    options.config_text = defines;
    options.line_info = 1;
    options.no_perf_notes = 1;
    tile_compiled *compiled;
    st = tile_compile(&options, &compiled);
    ck_assert_msg(st == TILE_OK, "%s", tile_compiled_text(compiled, TILE_PART_DIAGNOSTICS, NULL));
    size_t size;
    const char *text = tile_compiled_text(compiled, TILE_PART_OUTPUT, &size);
    st = tile_module_load(p->ctx, text, size, &p->module);
    ck_assert_msg(st == TILE_OK, "%s", tile_error(p->ctx));
    tile_compiled_free(compiled);
}

static inline void peer_close(Peer *p) {
    tile_module_unload(p->module);
    tile_context_destroy(p->ctx);
}

static inline tile_status peer_run(const Peer *p, const char *name, const tile_arg *args, int n) {
    static const tile_grid one = {1, 1, 1};
    tile_kernel *k;
    tile_status st = tile_kernel_get(p->module, name, &k);
    return st ? st : tile_launch(k, &one, args, n, NULL);
}

/* PEER_N numbers from `first` on in new memory; its address. */
static inline tile_ptr peer_numbers(const Peer *p, int first, int shared) {
    int x[PEER_N];
    tile_ptr at;
    for (int i = 0; i < PEER_N; i++) x[i] = first + i;
    ck_assert_int_eq((shared ? tile_alloc_shared : tile_alloc)(p->ctx, sizeof x, &at), TILE_OK);
    ck_assert_int_eq(tile_copy_to_device(p->ctx, at, x, sizeof x), TILE_OK);
    return at;
}

static inline int peer_number(const Peer *p, tile_ptr at, int i) {
    int x = -1;
    ck_assert_int_eq(tile_copy_to_host(p->ctx, &x, at + (size_t)i * sizeof x, sizeof x), TILE_OK);
    return x;
}

static inline tile_status peer_copy(const Peer *p, tile_ptr to, tile_ptr from, int n) {
    tile_arg args[] = {tile_pointer(to), tile_pointer(from), tile_i32(n)};
    return peer_run(p, "copy", args, 3);
}

#endif
