/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* life.c: opens a device, loads modules, moves data, launches, waits, hands tensors around, and
 * gives everything back, also when a call on the way fails (see life.h). */
#include "tests/runtime/life.h"
#include "tests/runtime/faults.h"
#include "tile_dlpack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 64 };

typedef struct Program {
    bool cpu, ptx;             /* which device; neither: a GPU */
    tile_context *ctx, *other; /* another GPU's, or another of the CPU */
    void *stream;
    tile_module *module, *second;
    tile_kernel *kernel;
    tile_event *start, *end;
    tile_tensor *tensor, *legacy;
    DLManagedTensorVersioned versioned, *out;
    DLManagedTensor old;
    tile_ptr x, y;
    float in[N], got[N];
    int held;
} Program;

/* The two structs are the program's, on no heap; what is counted is that each is given back. */
static void drop(DLManagedTensorVersioned *self) {
    --*(int *)self->manager_ctx;
}

static void drop_legacy(DLManagedTensor *self) {
    --*(int *)self->manager_ctx;
}

static void released(void *user) {
    --*(int *)user;
}

#define TRY(call)                                                                                  \
    do {                                                                                           \
        l->status = (call);                                                                        \
        if (l->status) {                                                                           \
            l->step = #call;                                                                       \
            return;                                                                                \
        }                                                                                          \
    } while (0)

/* Tensors of "another library" over the buffer y, and one of ours for it. */
static void tensors(Program *p, Life *l) {
    static int64_t shape[] = {8, 8};
    DLTensor t = {.data = (void *)(uintptr_t)p->y,
                  .device = {p->cpu || p->ptx ? kDLCPU : kDLCUDA, 0},
                  .ndim = 2,
                  .dtype = {kDLFloat, 32, 1},
                  .shape = shape};
    tile_tensor_want want = {.type = TILE_FP32, .ndim = 2, .shape = shape, .contiguous = 1};
    p->versioned = (DLManagedTensorVersioned){
        .version = {1, 0}, .manager_ctx = &p->held, .deleter = drop, .dl_tensor = t};
    TRY(tile_tensor_import(p->ctx, &p->versioned, &want, &p->tensor));
    p->held++;
    p->old = (DLManagedTensor){.dl_tensor = t, .manager_ctx = &p->held, .deleter = drop_legacy};
    TRY(tile_tensor_import_legacy(p->ctx, &p->old, NULL, &p->legacy));
    p->held++;
    TRY(tile_tensor_export(p->ctx, p->tensor, released, &p->held, &p->out));
    p->held++;
}

/* From one context to another and back, by memory that other processes could open. */
static void peers(Program *p, Life *l) {
    tile_shared_handle handle;
    tile_ptr there, opened = 0;
    size_t bytes = 0;
    l->status = tile_context_create(p->cpu ? "cpu" : p->ptx ? "ptx" : "cuda:1", &p->other);
    l->step = "opening";
    if (l->status) return;
    TRY(tile_context_enable_peer(p->ctx, p->other));
    TRY(tile_context_enable_peer(p->ctx, p->other));
    TRY(tile_alloc_shared(p->other, sizeof p->in, &there));
    TRY(tile_stream_create(p->ctx, &p->stream));
    TRY(tile_copy_peer(p->other, there, p->ctx, p->x, sizeof p->in, NULL));
    TRY(tile_fill(p->ctx, p->x, 0, sizeof p->in));
    TRY(tile_copy_peer(p->ctx, p->x, p->other, there, sizeof p->in, p->stream));
    TRY(tile_synchronize_stream(p->ctx, p->stream));
    TRY(tile_shared_export(p->other, there, &handle));
    if (p->cpu || p->ptx) return; /* a process cannot open its own; the fake driver's can */
    TRY(tile_shared_open(p->ctx, &handle, sizeof handle, &opened, &bytes));
    if (bytes != sizeof p->in) l->result_wrong = true;
    TRY(tile_copy_on_device(p->ctx, p->x, opened, bytes, p->stream));
    TRY(tile_free(p->ctx, opened));
}

static void work(Program *p, Life *l, const char *file) {
    uint32_t number;
    const char *text = life_module(p->cpu);
    TRY(tile_module_load(p->ctx, text, strlen(text), &p->module));
    TRY(tile_module_load_file(p->ctx, file, &p->second));
    TRY(tile_kernel_get(p->second, "copy", &p->kernel));
    TRY(tile_alloc(p->ctx, sizeof p->in, &p->x));
    TRY(tile_alloc(p->ctx, sizeof p->in, &p->y));
    for (int i = 0; i < N; i++) p->in[i] = (float)i;
    TRY(tile_copy_to_device(p->ctx, p->x, p->in, sizeof p->in));
    TRY(tile_fill(p->ctx, p->y, 0, sizeof p->in));
    peers(p, l);
    if (l->status) return;
    TRY(tile_event_record(p->ctx, NULL, &p->start));
    tile_arg args[] = {tile_pointer(p->x), tile_pointer(p->y), tile_i32(N), tile_f32(0.5f)};
    TRY(tile_launch(p->kernel, NULL, args, 4, NULL));
    tile_grid grid;
    TRY(tile_kernel_grid(p->kernel, "n // 8, 1", args, 4, &grid));
    TRY(tile_launch(p->kernel, &grid, args, 4, NULL));
    if (!p->cpu && !p->ptx) {
        tile_kernel *special, *mapped, *sums;
        TRY(tile_kernel_get(p->module, "special", &special));
        TRY(tile_launch(special, NULL, NULL, 0, NULL));
        TRY(tile_kernel_get(p->module, "mapped", &mapped));
        tile_arg mapped_args[] = {tile_pointer(p->x), tile_i32(N)};
        TRY(tile_launch(mapped, NULL, mapped_args, 2, NULL));
        TRY(tile_kernel_get(p->module, "sums", &sums));
        tile_arg iterations = tile_i32(N);
        TRY(tile_launch(sums, NULL, &iterations, 1, NULL));
    }
    TRY(tile_event_record(p->ctx, NULL, &p->end));
    int done = 0;
    TRY(tile_event_done(p->end, &done));
    TRY(tile_event_order(p->start, NULL));
    TRY(tile_event_wait(p->end));
    double ms = -1;
    TRY(tile_event_elapsed(p->start, p->end, &ms));
    if (ms < 0) l->result_wrong = true;
    tensors(p, l);
    if (l->status) return;
    args[1] = tile_pointer(p->tensor->data);
    TRY(tile_launch(p->kernel, NULL, args, 4, NULL));
    if (!p->cpu && !p->ptx) /* the fake driver runs no kernels */
        TRY(tile_copy_on_device(p->ctx, p->y, p->x, sizeof p->in, NULL));
    memcpy(&number, p->in, sizeof number);
    TRY(tile_stream_write_value(p->ctx, NULL, p->y, number)); /* what is there */
    TRY(tile_stream_wait_value(p->ctx, NULL, p->y, number));
    TRY(tile_synchronize_stream(p->ctx, NULL));
    TRY(tile_synchronize(p->ctx));
    TRY(tile_copy_to_host(p->ctx, p->got, p->y, sizeof p->got));
    if (memcmp(p->got, p->in, sizeof p->in)) l->result_wrong = true;
    TRY(tile_context_set_launch_graphs(p->ctx, 2)); /* test_graphs has launches that fail */
    TRY(tile_free(p->ctx, p->x));
}

Life life_run(const char *device, void *cu_context, const char *file) {
    Program p = {0};
    Life life = {0}, *l = &life;
    life.status = cu_context ? tile_context_from_cuda(cu_context, &p.ctx)
                             : tile_context_create(device, &p.ctx);
    life.step = "opening";
    p.cpu = !life.status && strcmp(tile_context_target(p.ctx), "cpu") == 0;
    p.ptx = strcmp(device, "ptx") == 0;
    if (!life.status) work(&p, l, file);
    if (life.status) { /* who has failed says why */
        const char *text = p.ctx ? tile_error(p.ctx) : "";
        snprintf(life.text, sizeof life.text, "%s", *text || !p.other ? text : tile_error(p.other));
    }
    life.calls = fault_driver()->calls();
    if (p.out) p.out->deleter(p.out);
    tile_tensor_release(p.tensor);
    tile_tensor_release(p.legacy);
    tile_event_destroy(p.start);
    tile_event_destroy(p.end);
    tile_module_unload(p.module);
    tile_module_unload(p.second);
    if (p.stream) tile_stream_destroy(p.ctx, p.stream);
    tile_context_destroy(p.ctx);
    tile_context_destroy(p.other);
    life.held = p.held;
    return life;
}
