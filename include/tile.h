/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tile.h: run tile kernels from C and C++, on a GPU or on the CPU, and compile them.
 *
 * This header is the manual. The first part, up to "compiling", is libtile_runtime: it needs libc
 * and, for a GPU, the driver's libcuda.so.1, which it opens when a context is made. The second part
 * is libtile_compiler, which a program that loads ready-made .ptx or .tir files does not need.
 *
 * A worked example: load vector_add.ptx (made by `tilec vector_add.tl`), add two vectors.
 *
 *     #include <stdio.h>
 *     #include "tile.h"
 *
 *     int main(void) {
 *         enum { N = 1000 };
 *         static float x[N], y[N], sum[N];
 *         for (int i = 0; i < N; i++) { x[i] = (float)i; y[i] = 1.0f; }
 *
 *         tile_context *ctx;
 *         tile_module *module = NULL;
 *         tile_kernel *kernel;
 *         tile_ptr dx = 0, dy = 0, dsum = 0;
 *         tile_status st = tile_context_create("cuda", &ctx);
 *         if (!st) st = tile_module_load_file(ctx, "vector_add.ptx", &module);
 *         if (!st) st = tile_kernel_get(module, NULL, &kernel);
 *         if (!st) st = tile_alloc(ctx, sizeof x, &dx);
 *         if (!st) st = tile_alloc(ctx, sizeof y, &dy);
 *         if (!st) st = tile_alloc(ctx, sizeof sum, &dsum);
 *         if (!st) st = tile_copy_to_device(ctx, dx, x, sizeof x);
 *         if (!st) st = tile_copy_to_device(ctx, dy, y, sizeof y);
 *         if (!st) {
 *             tile_arg args[] = {tile_pointer(dx), tile_pointer(dy), tile_pointer(dsum),
 *                                tile_i32(N)};
 *             st = tile_launch(kernel, NULL, args, 4, NULL);
 *         }
 *         if (!st) st = tile_copy_to_host(ctx, sum, dsum, sizeof sum);
 *         if (st) fprintf(stderr, "%s: %s\n", tile_status_text(st), tile_error(ctx));
 *         else printf("%g\n", sum[N - 1]);
 *         tile_module_unload(module);
 *         tile_context_destroy(ctx);
 *         return st != TILE_OK;
 *     }
 *
 * Rules that hold throughout. Every call that can fail returns a tile_status, and tile_error gives
 * the sentence that goes with it. The library never exits, prints or keeps global state. All
 * functions may be called from many threads at once, with the same context too; only destroying an
 * object must not overlap with its use. Pointers named `out` must not be NULL. Strings are UTF-8
 * and end in NUL. Sizes are bytes. Structs and enums only ever grow at their ends. */
#ifndef TILE_H
#define TILE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tile_context tile_context;   /* a device and the memory allocated on it */
typedef struct tile_module tile_module;     /* one loaded .ptx or .tir */
typedef struct tile_kernel tile_kernel;     /* one kernel of a module; lives as long as it */
typedef struct tile_event tile_event;       /* a moment in a stream's work */
typedef struct tile_bundle tile_bundle;     /* kernels made ahead of time, in several variants */
typedef struct tile_compiled tile_compiled; /* what tile_compile made */
typedef struct tile_jit tile_jit;           /* a kernel's source, compiled as launches ask for it */

/* An address in device memory; on the CPU device an address in this process. Addresses inside a
 * buffer are made by adding bytes. 0 is no memory: what a tensor without elements has. Kernels may
 * be launched with it, and must not use it. */
typedef uint64_t tile_ptr;

typedef enum tile_status {
    TILE_OK = 0,
    TILE_NO_MEMORY,     /* host or device memory ran out */
    TILE_INVALID,       /* a call was used wrongly: NULL, an unknown device name, a stream or an
                         * address that the driver does not know, … */
    TILE_NO_DEVICE,     /* no driver, no GPU, or one that is too old */
    TILE_FORKED,        /* the context was made by the parent of this process */
    TILE_IO,            /* a file could not be read */
    TILE_BAD_MODULE,    /* the file is not what tilec writes, or not for this device */
    TILE_NOT_FOUND,     /* no kernel of this name */
    TILE_BAD_LAUNCH,    /* arguments or grid do not fit the kernel */
    TILE_CHECK_FAILED,  /* the CPU device caught a mistake in the kernel */
    TILE_DEVICE_ERROR,  /* the driver reported an error; later calls may fail too */
    TILE_COMPILE_ERROR, /* the source cannot be compiled as asked */
    TILE_INTERNAL,      /* a bug in this library */
    TILE_UNSUPPORTED    /* this machine cannot do it: GPUs that do not reach each other's memory */
} tile_status;

/* A few words for a status ("out of memory"). Never NULL. */
const char *tile_status_text(tile_status status);
/* Its code, "R0001" of TILE_NO_MEMORY; docs/errors.md has what to do. "" of TILE_OK. */
const char *tile_status_code(tile_status status);
/* The version of this library, "0.1.0". */
const char *tile_version(void);

/* ---- contexts ---- */

/* Opens a device: "cuda" or "cuda:N" (GPU number N), "cpu", "ptx" (PTX run on the CPU; "ptx:sm_80":
 * as that target), or "auto" (the first GPU, else the CPU; tile_error then says why not a GPU).
 * NULL means "auto". A GPU is used through its primary context, which CUDA's runtime API and other
 * libraries in the process share. On failure *out is still set, to a context that serves only
 * tile_error and tile_context_destroy; it is NULL only after TILE_NO_MEMORY. TILE_NO_DEVICE,
 * TILE_INVALID. */
tile_status tile_context_create(const char *device, tile_context **out);
/* The same on a CUcontext of the caller's, which must outlive the result. */
tile_status tile_context_from_cuda(void *cu_context, tile_context **out);
/* Frees the context and all memory still allocated from it. Unload its modules and destroy its
 * events first. NULL is allowed. In a forked child only host memory is released. */
void tile_context_destroy(tile_context *ctx);
/* The sentence that goes with the last failure of a call that this thread made on ctx (or on its
 * modules, kernels and events); "" when there was none. May have several lines. Valid until this
 * thread's next failing call on ctx. */
const char *tile_error(const tile_context *ctx);
/* Keeps a sentence for tile_error and returns `status`: for libraries on top of this one, so that
 * their users ask in one place. */
tile_status tile_context_fail(tile_context *ctx, tile_status status, const char *text);
/* "NVIDIA H200", or "CPU (interpreter)". Lives as long as ctx. */
const char *tile_context_device_name(const tile_context *ctx);
/* The tilec target that suits this device best: "sm_80", "sm_90a", … (see tile_target_name); "cpu"
 * for the CPU device, which runs .tir. Lives as long as ctx. */
const char *tile_context_target(const tile_context *ctx);

/* The CUcontext that the context works in, for other CUDA code; NULL on the CPU device. */
void *tile_context_cuda(const tile_context *ctx);

/* What the CPU device watches for while a kernel runs; a GPU ignores it. */
enum {
    TILE_CHECK_BOUNDS = 1,   /* accesses outside every buffer */
    TILE_CHECK_ALIGN = 2,    /* addresses that are not a multiple of the element's size */
    TILE_CHECK_OVERFLOW = 4, /* 32-bit arithmetic that wrapped and became part of an address */
    TILE_CHECK_UNINIT = 8,   /* use of memory that nobody wrote, or of masked-off lanes */
    TILE_CHECK_RACES = 16,   /* two programs that touch one place without order */
    /* use of what no operation defines: an integer divided by 0 or shifted by its width or more; a
     * histogram's value outside its bins */
    TILE_CHECK_UNDEFINED = 32,
    TILE_CHECK_ALL = 63
};
/* Chooses the checks of later launches, TILE_CHECK_ bits; a new context has TILE_CHECK_ALL. An
 * access outside every buffer is never made, with or without the bounds check. */
tile_status tile_context_set_checks(tile_context *ctx, unsigned checks);
/* Where the CPU device sends what kernels print (device_print), a line at a time: `len` bytes that
 * end in a newline, and no NUL. It is called during tile_launch, and must not use ctx. NULL, as in
 * a new context: it is dropped. A GPU's driver writes to the process's standard output by itself.
 */
typedef void (*tile_print_fn)(void *user, const char *text, size_t len);
tile_status tile_context_set_print(tile_context *ctx, tile_print_fn print, void *user);
/* Who is told how far a launch on the CPU device has come: of its `programs`, how many have
 * `ended`. It is called during tile_launch, by the thread that launches, after each program and now
 * and then while one runs, so it should be quick; it must not use ctx, and it must stand being
 * called by several threads if several launch. NULL, as in a new context: nobody. A GPU tells
 * nothing while a kernel runs. */
typedef void (*tile_progress_fn)(void *user, uint64_t ended, uint64_t programs);
tile_status tile_context_set_progress(tile_context *ctx, tile_progress_fn progress, void *user);
/* What an instruction of a kernel has taken in a launch on the PTX machine: counted, not measured.
 * Requests are warps' accesses. */
typedef struct tile_count {
    const char *entry; /* the kernel's name in the PTX */
    const char *text;  /* the instruction, up to its semicolon: length bytes */
    size_t length;
    uint32_t ptx_line;     /* in the PTX that was loaded, from 1 */
    uint32_t line;         /* in the source; 0: not known */
    uint64_t warps, lanes; /* that did it */
    uint64_t global_requests, sectors,
        global_bytes; /* sectors: 32 bytes each, touched by requests */
    uint64_t shared_requests, wavefronts, least_wavefronts; /* the last: without bank conflicts */
    /* The innermost loop that it is in, in the order of their heads from 0, as `tilec --stats` has
     * them, and the loop around that; -1: none. */
    int loop, loop_around;
    uint32_t loop_line; /* in the source; 0: not known */
    int registers; /* of 32 bits, of a thread, that hold something still to be read before it; -1:
                    * nobody looked, in a kernel of more than 50,000 instructions */
} tile_count;
/* Who is told after a launch on the PTX machine of each instruction that it did, in the PTX's
 * order. It is called during tile_launch, and must not use ctx; texts are good as long as the
 * module is. NULL, as in a new context: nobody. Other devices tell nothing. */
typedef void (*tile_count_fn)(void *user, const tile_count *count);
tile_status tile_context_set_counts(tile_context *ctx, tile_count_fn counts, void *user);
/* 1: launches of several streams, or of other processes, run side by side on the GPU, so none may
 * take a multiprocessor's shared memory for itself (shared_bytes_single_cta of tile_kernel_info).
 * 0, as in a new context: a launch of few programs does, and pipelines its loops deeper. The CPU
 * device ignores it.
 */
tile_status tile_context_set_concurrent(tile_context *ctx, int concurrent);

enum { TILE_MAX_LAUNCH_GRAPHS = 1024 };
/* Of how many kernels, each in each of its streams, launches on a GPU may go as CUDA graphs of one
 * kernel, from the sixteenth on: the host is done with one in 1.5 to 2.5 us, and with
 * cuLaunchKernel's in 3.4 to 4.3 (H200, CUDA 13.0). They do where the GPU waits for the host, and
 * are as ever where the stream is behind, as the GPU is no quicker then: every 37 launches in it
 * that is looked at, by an event. 0, as in a new context: none. At most TILE_MAX_LAUNCH_GRAPHS,
 * else TILE_INVALID; after TILE_NO_MEMORY there are none. A call gives those up that there are,
 * also one with the same number.
 *
 * What runs, its order and its priority are the same. The first kernels have graphs, each of 113 KB
 * of the GPU's memory, until their module is unloaded, or 4096 launches of others have come since
 * their last. What differs: a profiler that shows graphs as a whole does not name the kernel; and
 * neither such a launch nor the next one starts before the one in front of it has ended
 * (programmatic dependent launch). Launches in clusters, of cooperative kernels, in streams that
 * are being captured, in some streams where more than 64 are in use, in streams of a green context
 * or, when the graph is made, with an access policy or memory domains of their own, and by drivers
 * before CUDA 13.0, never go so. Other devices ignore it. */
tile_status tile_context_set_launch_graphs(tile_context *ctx, int at_most);

/* ---- memory ---- */

/* Allocates device memory, aligned to 256 bytes, contents undefined (the CPU device knows that
 * nobody wrote it). bytes may be 0. TILE_NO_MEMORY. */
tile_status tile_alloc(tile_context *ctx, size_t bytes, tile_ptr *out);
/* CPU device only: lets kernels use the caller's memory, which counts as written. The memory stays
 * the caller's; tile_free makes the device forget it. TILE_INVALID on a GPU, or when it overlaps a
 * buffer that the device knows. */
tile_status tile_wrap(tile_context *ctx, void *host, size_t bytes, tile_ptr *out);
/* Frees what tile_alloc, tile_alloc_shared or tile_wrap gave, and closes what tile_shared_open
 * gave; wait for kernels that use it first. 0 is allowed. */
tile_status tile_free(tile_context *ctx, tile_ptr ptr);
/* Copies between the host and the device, after the work in the default stream, and return when the
 * host memory may be used again. Work in other streams has to be waited for by the caller. The CPU
 * device refuses ranges outside its buffers (TILE_INVALID). */
tile_status tile_copy_to_device(tile_context *ctx, tile_ptr to, const void *from, size_t bytes);
tile_status tile_copy_to_host(tile_context *ctx, void *to, tile_ptr from, size_t bytes);
/* Copies within the device, in order with the stream's work (NULL: the default stream). */
tile_status tile_copy_on_device(tile_context *ctx, tile_ptr to, tile_ptr from, size_t bytes,
                                void *stream);
/* Writes a number, in order with the stream's work: who sees it there sees what came before it,
 * too. No kernel does that: kernels that wait for it (tl.atomic_poll), or for data that copies
 * bring, may fill the GPU meanwhile. `to` is a multiple of 4. TILE_UNSUPPORTED: the driver is older
 * than CUDA 11.7. */
tile_status tile_stream_write_value(tile_context *ctx, void *stream, tile_ptr to, uint32_t value);
/* What comes behind it in the stream waits until the number there is `value`, or less than 2^31
 * more: counts may wrap. It sees what this GPU wrote before the number, and what others did where
 * the driver can tell (CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES); kernels that read what others
 * write wait for the number themselves. No multiprocessor is taken by that, either. The driver does
 * not know of this order: what writes the number has to be able to run meanwhile. `from` is a
 * multiple of 4. On the CPU device the call itself waits, for another thread or process:
 * TILE_CHECK_FAILED when the number has not come in 300 seconds. TILE_UNSUPPORTED as above. */
tile_status tile_stream_wait_value(tile_context *ctx, void *stream, tile_ptr from, uint32_t value);
/* Sets every byte, after the work in the default stream. */
tile_status tile_fill(tile_context *ctx, tile_ptr to, unsigned char value, size_t bytes);

/* ---- many GPUs ---- */

/* A program has a context for each GPU ("cuda:0", "cuda:1", …) and uses all of them from any
 * thread; docs/distributed.md is the page on it. The CPU device does the same: each context has
 * memory of its own, and reaches that of others by the calls below only. */

/* Lets kernels and copies of ctx use all memory of `peer`, now and later, by its addresses; the
 * other way round takes a second call. Kernels on the CPU device may wait for what another thread's
 * launch writes there. Already enabled, or the same GPU's primary context: TILE_OK.
 * TILE_UNSUPPORTED: the GPUs do not reach each other; tile_copy_peer works all the same.
 * TILE_INVALID: one is a GPU and the other is not, or ctx has TILE_MAX_PEERS already. `peer` may be
 * destroyed first: its memory is gone then. */
enum { TILE_MAX_PEERS = 64 };
tile_status tile_context_enable_peer(tile_context *ctx, tile_context *peer);
/* Copies from the memory of `source` to that of ctx, in order with the work of `stream`, which is
 * ctx's. Needs no tile_context_enable_peer: where GPUs do not reach each other the driver goes by
 * the host. TILE_INVALID: one is a GPU and the other is not. */
tile_status tile_copy_peer(tile_context *ctx, tile_ptr to, tile_context *source, tile_ptr from,
                           size_t bytes, void *stream);

/* As tile_alloc, memory that other processes of this host may use while this one has it. */
tile_status tile_alloc_shared(tile_context *ctx, size_t bytes, tile_ptr *out);
/* What such memory is known by: to be sent to another process as it is, by a pipe or MPI. */
typedef struct tile_shared_handle {
    unsigned char bytes[128];
} tile_shared_handle;
/* ptr: what tile_alloc_shared gave. TILE_INVALID: it is anything else. */
tile_status tile_shared_export(tile_context *ctx, tile_ptr ptr, tile_shared_handle *out);
/* Opens what another process exported, on the same sort of device, until tile_free; the other one
 * keeps it until then. `size` is that of the handle as it came, *bytes (may be NULL) that of the
 * memory. A GPU's context that opens another GPU's memory may use it as after
 * tile_context_enable_peer. The handle may come from anyone: what is no handle, or says what is not
 * so, is refused (TILE_INVALID); TILE_NOT_FOUND: the memory is gone, or its process may not be
 * looked into; TILE_UNSUPPORTED: the GPUs do not reach each other. A process uses its own memory by
 * its address, and cannot open it. */
tile_status tile_shared_open(tile_context *ctx, const void *handle, size_t size, tile_ptr *out,
                             size_t *bytes);

/* ---- modules and kernels ---- */

/* Loads a .ptx or .cubin (GPU) or .tir (CPU device); which it is is seen from the data. `data`
 * needs no NUL at its end and may go away after the call. After TILE_BAD_MODULE tile_error says
 * what is wrong: no manifest, code for another device, more shared memory than the GPU has, or the
 * driver's own messages. */
tile_status tile_module_load(tile_context *ctx, const void *data, size_t size, tile_module **out);
tile_status tile_module_load_file(tile_context *ctx, const char *path, tile_module **out);
/* Wait for its kernels first. NULL is allowed. */
void tile_module_unload(tile_module *module);
/* A kernel by its name in the source; NULL: the only kernel of the module. TILE_NOT_FOUND. */
tile_status tile_kernel_get(tile_module *module, const char *name, tile_kernel **out);

/* Element types, as signatures write them: i1 i8 i16 i32 i64 u8 u16 u32 u64 fp8e4nv fp8e5 fp16 bf16
 * fp32 fp64. */
typedef enum tile_type {
    TILE_I1 = 1,
    TILE_I8,
    TILE_I16,
    TILE_I32,
    TILE_I64,
    TILE_U8,
    TILE_U16,
    TILE_U32,
    TILE_U64,
    TILE_FP8E4NV,
    TILE_FP8E5,
    TILE_FP16,
    TILE_BF16,
    TILE_FP32,
    TILE_FP64,
    TILE_POINTER, /* any pointer */
    TILE_NONE     /* Python's None: for a pointer parameter compiled as None */
} tile_type;

typedef struct tile_kernel_info {
    const char *name;
    int num_params; /* arguments tile_launch takes */
    int num_warps;  /* a program is num_warps * 32 threads */
    int num_stages;
    size_t shared_bytes;   /* shared memory of one program */
    const char *grid;      /* "cdiv(n, BLOCK)", up to three joined by ", "; NULL when not stated */
    int registers;         /* per thread; GPU only, else 0 */
    size_t spill_bytes;    /* local memory of one thread; GPU only, else 0 */
    int resident_programs; /* that one multiprocessor runs at once; GPU only, else 0 */
    int multiprocessors;   /* of the GPU, else 0 */
    int cluster[3];        /* programs that are launched together along each axis; 1, 1, 1: alone */
    int cooperative;       /* all programs of a launch run at once and may wait for each other */
    const char *flops;     /* operations of one launch, "2*M*N*K"; NULL when not stated */
    const char *bytes;     /* bytes that a launch has to move; NULL when not stated */
    /* Shared memory of one program where the grid has no more programs than the GPU has
     * multiprocessors: what others do not use goes into deeper pipelines. */
    size_t shared_bytes_single_cta;
} tile_kernel_info;

typedef struct tile_kernel_param {
    const char *name;
    const char *type_text; /* "*fp16", "i32" */
    tile_type type;        /* TILE_POINTER for pointers */
    tile_type element;     /* what a pointer points to (TILE_POINTER: to a pointer); else == type */
    int64_t divisible;     /* the argument must be a multiple of this: bytes for an address; or 1 */
    int has_equals;        /* the kernel was compiled for one value only: */
    int64_t equals;        /* this */
    int none;              /* the kernel was compiled for None; any argument is ignored */
} tile_kernel_param;

/* Both structs point into the kernel. TILE_INVALID when there is no such parameter. */
tile_status tile_kernel_describe(const tile_kernel *kernel, tile_kernel_info *out);
tile_status tile_kernel_get_param(const tile_kernel *kernel, int index, tile_kernel_param *out);

/* ---- launching ---- */

/* One argument. Use the functions below to make one: tile_i32(5), tile_pointer(p). */
typedef struct tile_arg {
    tile_type type;
    int element; /* of a pointer: the tile_type it points to; 0: not said. For tile_jit_launch */
    union {
        int64_t i;  /* integers */
        double f;   /* floats, rounded to the type when launched */
        tile_ptr p; /* TILE_POINTER */
    } value;
} tile_arg;

static inline tile_arg tile_int(tile_type type, int64_t v) {
    tile_arg a;
    a.type = type;
    a.element = 0;
    a.value.i = v;
    return a;
}
static inline tile_arg tile_float(tile_type type, double v) {
    tile_arg a;
    a.type = type;
    a.element = 0;
    a.value.f = v;
    return a;
}
static inline tile_arg tile_pointer(tile_ptr p) {
    tile_arg a;
    a.type = TILE_POINTER;
    a.element = 0;
    a.value.p = p;
    return a;
}
static inline tile_arg tile_typed_pointer(tile_type element, tile_ptr p) {
    tile_arg a = tile_pointer(p);
    a.element = (int)element;
    return a;
}
static inline tile_arg tile_i32(int32_t v) {
    return tile_int(TILE_I32, v);
}
static inline tile_arg tile_i64(int64_t v) {
    return tile_int(TILE_I64, v);
}
static inline tile_arg tile_f32(float v) {
    return tile_float(TILE_FP32, v);
}
static inline tile_arg tile_none(void) {
    return tile_int(TILE_NONE, 0);
}

typedef struct tile_grid {
    uint32_t x, y, z; /* programs along each axis: x up to 2^31 - 1, y and z up to 65535 */
} tile_grid;

/* Starts a kernel over a grid of programs. grid NULL: the grid that the kernel's source states,
 * worked out from the arguments and constexprs. A grid with a 0 in it runs nothing. args: one for
 * each parameter, in the source's order, also those that the kernel was specialised for. stream: a
 * CUstream, NULL for the default stream; the CPU device ignores it.
 * Nothing starts unless every argument has the parameter's type (an integer or float exactly, any
 * pointer for a pointer), fits it, and keeps the promises the kernel was compiled with (alignment,
 * divisibility, equal to 1): TILE_BAD_LAUNCH names the argument. A pointer of a tensor without
 * elements may be 0.
 * A kernel that runs in clusters takes a grid that they divide; a cooperative one takes at most
 * resident_programs * multiprocessors programs on a GPU.
 * On a GPU this returns at once, and a fault in the kernel shows in a later call. The CPU device
 * returns when the kernel has run; TILE_CHECK_FAILED comes with the source line and a caret. */
tile_status tile_launch(tile_kernel *kernel, const tile_grid *grid, const tile_arg *args, int nargs,
                        void *stream);
/* Which entry of the kernel's PTX such a launch takes: what the source says, or a further one that
 * computes the same, mostly faster. Nothing is launched. `see` is told of each entry that the
 * launch is asked of, in order: why it is not for it, a sentence; or NULL: it takes it, and is the
 * last. Names are tile_kernel_get's; texts are good during the call. A launch that finds no memory
 * for a workspace may yet take a later entry; one without programs takes none. Errors are
 * tile_launch's. */
typedef void (*tile_entry_fn)(void *user, const char *entry, const char *why_not);
tile_status tile_kernel_entry(tile_kernel *kernel, const tile_grid *grid, const tile_arg *args,
                              int nargs, tile_entry_fn see, void *user);
/* The grid that tile_launch would use for these arguments, or the one that `expression` gives (up
 * to three, separated by commas, over the kernel's integer parameters and constexprs: + - * // %
 * cdiv min max). TILE_BAD_LAUNCH. */
tile_status tile_kernel_grid(tile_kernel *kernel, const char *expression, const tile_arg *args,
                             int nargs, tile_grid *out);
/* The value of one such expression, which may also use `name.itemsize`, the size of what a pointer
 * parameter points to. TILE_BAD_LAUNCH. */
tile_status tile_kernel_value(tile_kernel *kernel, const char *expression, const tile_arg *args,
                              int nargs, int64_t *out);
/* Waits for all work of the context's device. */
tile_status tile_synchronize(tile_context *ctx);

/* A stream, whose work goes on beside that of all others, the default stream's too. NULL on the CPU
 * device, which does all work at once. */
tile_status tile_stream_create(tile_context *ctx, void **out);
/* Of what tile_stream_create gave, before the context is destroyed; its work still ends. NULL is
 * allowed. */
tile_status tile_stream_destroy(tile_context *ctx, void *stream);
/* Waits for the work of one stream (NULL: the default stream). */
tile_status tile_synchronize_stream(tile_context *ctx, void *stream);

/* Marks the place that the stream (NULL: default) has come to. *event must be NULL, then an event
 * is made, or an event to use again. */
tile_status tile_event_record(tile_context *ctx, void *stream, tile_event **event);
/* Waits until the stream has come to the event. */
tile_status tile_event_wait(tile_event *event);
/* The same without waiting: *done is 1 when it has, else 0. */
tile_status tile_event_done(tile_event *event, int *done);
/* What is put into `stream` from now on waits for the event, which may be of another stream. */
tile_status tile_event_order(tile_event *event, void *stream);
/* Waits for both and gives the time between them. */
tile_status tile_event_elapsed(tile_event *start, tile_event *end, double *milliseconds);
void tile_event_destroy(tile_event *event);

/* ---- kernels made ahead of time ---- */

/* One module inside a program: what `tilec --emit=header` writes into C. */
typedef struct tile_image {
    const char *target; /* "sm_80", …, or "cpu" */
    int variant;        /* images of one number are the same kernels for other devices */
    const char *when;   /* "M >= 1024, K % 64 == 0": for these arguments only; NULL: for any;
                         * "M ~ 4096, N ~ 64": for any, and made for these sizes */
    const void *data;   /* .ptx, .cubin or .tir; it must outlive the bundle */
    size_t size;
} tile_image;

/* Takes the images that suit the context's device; each is loaded when a launch first needs it.
 * Variants come in the order of their numbers. TILE_BAD_MODULE: none suits the device, or one is
 * damaged. */
tile_status tile_bundle_create(tile_context *ctx, const tile_image *images, int nimages,
                               tile_bundle **out);
/* The first variant of the kernel whose promises (types, alignment, divisibility, equal to 1, None)
 * and conditions the arguments keep; when that one names sizes, the nearest of those that do, up to
 * the first that does not. When they keep none's, TILE_BAD_LAUNCH, and tile_error says
 * what the last variant, the most general one by custom, has against them. */
tile_status tile_bundle_kernel(tile_bundle *bundle, const char *name, const tile_arg *args,
                               int nargs, tile_kernel **out);
/* tile_launch of that variant. */
tile_status tile_bundle_launch(tile_bundle *bundle, const char *name, const tile_grid *grid,
                               const tile_arg *args, int nargs, void *stream);
/* Wait for its kernels first. NULL is allowed. */
void tile_bundle_destroy(tile_bundle *bundle);

/* ---- tensors of other libraries (DLPack) ---- */

/* tile_dlpack.h, or the specification's own dlpack.h, defines these two. */
struct DLManagedTensorVersioned;
struct DLManagedTensor; /* from before DLPack 1 */

enum { TILE_MAX_NDIM = 64 };

/* Elements on a device. */
typedef struct tile_tensor {
    tile_ptr data;          /* the first element; 0 is possible where there is none */
    tile_type type;         /* of an element; a bool is an i1 in a byte */
    int ndim;               /* axes, 0 to TILE_MAX_NDIM */
    const int64_t *shape;   /* elements along each axis */
    const int64_t *strides; /* from one to the next, in elements; may be negative */
    int read_only;          /* the owner asks that nobody writes to it */
} tile_tensor;

/* What a tensor has to be like. Fill with zeros first: zero and NULL are "anything". */
typedef struct tile_tensor_want {
    tile_type type;
    int ndim;               /* must be set with shape or strides */
    const int64_t *shape;   /* ndim sizes; a negative one is "any" */
    const int64_t *strides; /* ndim strides; a negative one is "any" */
    int contiguous;         /* row by row without gaps */
    int writable;
    size_t align; /* data is a multiple of so many bytes: a parameter's `divisible` */
} tile_tensor_want;

/* Takes a tensor that another library made; give its data to kernels as tile_pointer(t->data).
 * Checked are the version, device, element type, that it lies within memory and at a multiple of an
 * element's size, and what `want` (NULL: nothing more) says; TILE_INVALID says what is wrong, and
 * the tensor is still the caller's. After TILE_OK it is deleted by tile_tensor_release, which must
 * come before its context is destroyed. The data must be there when a kernel reads it: work of the
 * other library in another stream has to be waited for (tile_event_order). The CPU device lets
 * kernels use the memory as long as the tensor is held; one that overlaps a buffer or another
 * tensor is refused unless it lies wholly inside, so import the larger first. */
tile_status tile_tensor_import(tile_context *ctx, struct DLManagedTensorVersioned *managed,
                               const tile_tensor_want *want, tile_tensor **out);
tile_status tile_tensor_import_legacy(tile_context *ctx, struct DLManagedTensor *managed,
                                      const tile_tensor_want *want, tile_tensor **out);
/* Gives it back to its owner; wait for kernels that use it first. NULL is allowed. In a forked
 * child only the struct is freed. */
void tile_tensor_release(tile_tensor *tensor);

/* Called when the other library needs an exported tensor no more, from whichever thread that is. */
typedef void (*tile_release_fn)(void *user);
/* Describes device memory for another library, whose deleter call ends in release(user); NULL: the
 * memory outlives the tensor in another way. Shape and strides are copied (strides NULL: row by row
 * without gaps). TILE_INVALID when the tensor is not sound, or on the CPU device outside the
 * buffers that it knows. */
tile_status tile_tensor_export(tile_context *ctx, const tile_tensor *tensor,
                               tile_release_fn release, void *user,
                               struct DLManagedTensorVersioned **out);
tile_status tile_tensor_export_legacy(tile_context *ctx, const tile_tensor *tensor,
                                      tile_release_fn release, void *user,
                                      struct DLManagedTensor **out);

/* ---- tuning files ---- */

/* What was measured of one config of a kernel. The first five texts say of which kernel, where, and
 * for which arguments; texts of a result are valid until the next tile_tuning_add. */
typedef struct tile_tuned {
    const char *kernel;
    const char *device;  /* tile_context_device_name: "NVIDIA H200" */
    const char *target;  /* what it was compiled for: "sm_90a" */
    const char *types;   /* of the parameters, in their order: "*fp16,*fp16,*fp16,i32,i32,i32" */
    const char *key;     /* the values of the autotune key: "M=4096,N=4096,K=4096" */
    const char *source;  /* a hash of the source; times of another source are dropped */
    const char *config;  /* "BM=64,BN=64,num_warps=8,num_stages=3" */
    const char *failure; /* why there is no time; NULL: there is one */
    double median_ms;    /* of `runs` launches */
    double low_ms;       /* between this */
    double high_ms; /* and this the median lies, with 95 % confidence (of 5 runs 94, of 3 75) */
    int runs;
} tile_tuned;

typedef struct tile_tuning tile_tuning;

/* Opens a tuning file (JSON; docs/tuning.md); one that does not exist is empty. path NULL: nothing
 * is kept. After a failure *out serves tile_tuning_error and tile_tuning_close; it is NULL only
 * after TILE_NO_MEMORY. TILE_IO: it cannot be read, or is no tuning file. */
tile_status tile_tuning_open(const char *path, tile_tuning **out);
/* NULL is allowed. */
void tile_tuning_close(tile_tuning *tuning);
/* The sentence that goes with the last failure. */
const char *tile_tuning_error(const tile_tuning *tuning);
/* Adds a record, or replaces the one of the same config, in the file at once: what other processes
 * have added meanwhile stays, and is known here afterwards. One thread at a time. */
tile_status tile_tuning_add(tile_tuning *tuning, const tile_tuned *record);
/* The records: of one kernel, device and key together, the fastest first, failures last. */
int tile_tuning_count(const tile_tuning *tuning);
tile_status tile_tuning_get(const tile_tuning *tuning, int index, tile_tuned *out);
/* The fastest config for like->kernel and, as far as they are not NULL, its device, target, types
 * and key. Is there nothing for that key, the nearest by size counts: out->key says which.
 * TILE_NOT_FOUND. */
tile_status tile_tuning_find(const tile_tuning *tuning, const tile_tuned *like, tile_tuned *out);

/* ---- compiling (libtile_compiler) ---- */

typedef enum tile_emit {
    TILE_EMIT_PTX = 0,
    TILE_EMIT_LLVM,     /* LLVM IR */
    TILE_EMIT_LAYOUT,   /* tile IR with layouts */
    TILE_EMIT_TIR,      /* tile IR as lowered: what the CPU device runs */
    TILE_EMIT_AST,      /* the syntax tree */
    TILE_EMIT_MANIFEST, /* JSON: names, parameters, launch facts */
    TILE_EMIT_CONFIGS /* JSON: each kernel's autotune key and configs, as config_text takes them */
} tile_emit;

/* How modules that a source imports are read: the compiler opens no file itself. Two threads may
 * call it at once where two compile. */
typedef struct tile_reader {
    /* Puts the whole file into *text, malloc'ed, which the compiler frees. text NULL: only tells
     * whether the file is there. TILE_NOT_FOUND: it is not; TILE_IO: it cannot be read, or is
     * longer than `limit` bytes; TILE_NO_MEMORY. */
    tile_status (*read)(void *user, const char *path, size_t limit, char **text, size_t *len);
    void *user;
} tile_reader;
/* Reads regular files of the file system. */
const tile_reader *tile_file_reader(void);

/* What the machine code of a kernel takes of a thread. */
typedef struct tile_assembled {
    const char *entry; /* its name in the PTX: given */
    int found;         /* 0: nothing is said of it */
    int registers;
    int stack_bytes, spilled_bytes, read_back_bytes; /* written to memory, read from there */
} tile_assembled;

/* How PTX becomes machine code, for reports alone: the compiler starts no program itself. */
typedef struct tile_assembler {
    /* Fills in what it knows of the n kernels, and in `version` who says it ("ptxas 13.0"). */
    void (*assemble)(void *user, const char *ptx, size_t len, tile_assembled *kernels, int n,
                     char version[32]);
    void *user;
} tile_assembler;

/* How to compile. Fill with zeros first: zero and NULL are the defaults. */
typedef struct tile_compile_options {
    const char *source; /* the text of a .tl or .py file (or of a .tir, see input_is_tir) */
    size_t source_len;
    const char *file_name;  /* for messages; NULL: "<source>" */
    int input_is_tir;       /* the text is tile IR */
    const char *kernel;     /* NULL: the jit functions no other calls and that return no value */
    const char *signature;  /* "a_ptr=*fp16:16,M=i32,bias=None" or positional; NULL: annotations.
                             * The last entry of a name counts; "M=:16" changes the promise alone,
                             * and "M=:" takes it back. "x=(i32,*fp16)" is a tuple, whose parts are
                             * parameters x.0 and x.1, "d=tensordesc<fp16[64,64]>" a descriptor:
                             * d.base, d.shape.0 …, d.strides.0 … */
    int ignore_annotations; /* types come from the signature alone, as in a launch from source */
    const char *const *defines; /* "NAME=VALUE" each, as tilec's -D */
    int ndefines;
    const char *const *values; /* "NAME=VALUE" each: arguments of the launch that are known already,
                                * for functions of @triton.heuristics that ask for them, and
                                * for orders of tiles: which strides are small */
    int nvalues;
    int config;              /* which autotune config, from 0 */
    const char *config_text; /* "BM=64,BN=64,num_warps=8,num_stages=3": a config that need not be in
                              * the list; NULL: `config` */
    int num_warps;           /* 0: the config's or the default, 4 */
    int num_stages;          /* 0: the config's or the default, 3 */
    int swizzle_grid;   /* a 2-D grid is walked in groups of so many rows, 1 to 65535; 0: as the
                         * source says, `# tile: swizzle = G`. The CPU device walks in its own order
                         */
    const char *target; /* "sm_80" (when NULL), "sm_90a", …, or a GPU: see tile_target_name */
    tile_emit emit;
    int no_optimize;    /* -O0: only the passes that code generation needs */
    int line_info;      /* -g: source lines in the PTX, as directives and as comments (the code
                         * is the same); the source itself in tile IR, so that a failed check
                         * can show the line */
    int debug;          /* device_assert is checked on GPUs, too; the CPU device always does; and
                         * + - * of integers below 64 bits may not wrap */
    const char *passes; /* comma-separated names instead of the pipeline */
    const char *dump_after; /* a pass's name or "all": keeps the tile IR after it */
    int verify_each;        /* check the tile IR after every pass */
    int time;               /* keep how long each phase took */
    int stats;              /* keep what the PTX is made of, 1 as text, 2 as JSON; of no other kind
                             * of output */
    int color;              /* diagnostics with terminal colours */
    int warnings_are_errors;
    int no_warnings;   /* leave out warnings */
    int no_perf_notes; /* leave out `perf:` notes */
    int no_promises; /* leave out :16, :8 and :1, wherever they are stated: any argument will do */
    int annotations_hold; /* an annotated parameter has that type, and the promises of both: an
                           * annotation that promises more than the signature is an error. As in
                           * Triton, where the signature says what a launch passes */
    int warn_triton;      /* warn where versions of Triton differ on what is written, or lack it,
                           * and where Triton needs more than that: a tl.debug_barrier between what
                           * threads of one program store and load */
    const char *options;  /* options of kernels by their names, "num_warps=8,num_stages=2"
                           * (docs/options.md lists them). They win over num_warps and the other
                           * fields, and the last of a name counts. NULL: none */
    const char *const *include; /* folders in which modules are looked for, behind the one above
                                 * `file_name` that is the root of its package */
    int ninclude;
    const tile_reader *reader; /* NULL: nothing is read, and importing a module but Triton's is an
                                * error once its name is used. Must outlive a tile_jit */
    const char *triton;  /* "3.6", "3.7", "3.8" or "3.9": the version of Triton that the source is
                          * written for, where they differ on what it means. It wins over a line
                          * `# tile: triton = 3.6` in the source; NULL: as that says, else the
                          * newest. Tile IR has no version */
    const char *without; /* comma-separated names of passes that the pipeline goes without; of those
                          * that code generation needs none may be */
    int report;          /* keep what tile_report_write and the like write; of PTX alone */
    int annotate;        /* above each run of instructions of the PTX, lines that begin with `//~`:
                          * the source, the operation of tile IR and its pass. Without them it is
                          * the PTX byte for byte */
    const tile_assembler *assembler; /* for a report: registers and spills. NULL: it says how many
                                      * registers hold something, which may be fewer or more */
} tile_compile_options;

/* The target for a name: "sm_90a" for itself, "H100", "hopper" and "NVIDIA H100 80GB HBM3". NULL
 * when there is none; compiling for it says why, and what would do. A static string. */
const char *tile_target_name(const char *name);

/* Compiles. *out holds the results and, also after TILE_COMPILE_ERROR, the diagnostics; it is NULL
 * only after TILE_NO_MEMORY. Free it with tile_compiled_free. TILE_INVALID: an option's value is
 * wrong (an unknown target, pass or config, a NULL where there must be something), with a
 * diagnostic that says which. Two threads may
 * compile at once. */
tile_status tile_compile(const tile_compile_options *options, tile_compiled **out);

typedef enum tile_part {
    TILE_PART_OUTPUT = 0,  /* what `emit` asked for; empty after an error */
    TILE_PART_DIAGNOSTICS, /* `file:line:col: error: text`, source line and caret */
    TILE_PART_DUMP,        /* for dump_after */
    TILE_PART_TIMES,       /* for time: a table */
    TILE_PART_STATS,       /* for stats: instructions by kind, of each kernel and each loop */
    TILE_PART_FILES        /* the modules that were read, a path a line */
} tile_part;
/* The text, NUL-terminated (the NUL is not in *size), "" when there is none. size may be NULL.
 * Lives as long as the result. */
const char *tile_compiled_text(const tile_compiled *compiled, tile_part part, size_t *size);

/* ---- reports (libtile_compiler) ---- */

typedef enum tile_report_format {
    TILE_REPORT_TEXT = 0, /* for people: a fact a line, and why it is so */
    TILE_REPORT_JSON,     /* docs/report.md says what is in it */
    TILE_REPORT_HTML      /* one page for a browser, which needs nothing else */
} tile_report_format;

/* What the compiler made of each kernel: of a result of tile_compile with options.report. *text is
 * malloc'ed, NUL-terminated (the NUL is not in *len, which may be NULL): free it. TILE_INVALID: no
 * report was kept. */
tile_status tile_report_write(const tile_compiled *compiled, tile_report_format format, char **text,
                              size_t *len);

/* Two of these beside each other: the facts that differ, what they are in both, and why; `all`: the
 * others, too (of text). Not as a page. In JSON a list of {"fact", "a", "b", "a_why", "b_why"},
 * without what one of them lacks. */
tile_status tile_report_compare(const tile_compiled *a, const tile_compiled *b,
                                tile_report_format format, int all, char **text, size_t *len);

/* What the instruction in a line of PTX does and is of: the operation of tile IR, the pass that
 * made it, the line of the source. ptx: as options.annotate has it; its lines `//~` count, too. Of
 * a line without an instruction: the next one. TILE_NOT_FOUND: there is none in that kernel. */
tile_status tile_report_explain(const char *ptx, size_t ptx_len, uint32_t line, char **text,
                                size_t *len);

typedef enum tile_severity {
    TILE_SEVERITY_ERROR = 0,
    TILE_SEVERITY_WARNING,
    TILE_SEVERITY_PERF, /* correct, and slower than it could be: why */
    TILE_SEVERITY_NOTE /* belongs to the one before it that is no note; with a code, stands alone */
} tile_severity;

/* One thing that the compiler has to say. Lines and columns count from 1, columns in bytes. */
typedef struct tile_diagnostic {
    tile_severity severity;
    const char *text;    /* one sentence, without the place */
    const char *file;    /* NULL: no place is known, and the numbers are 0 */
    uint32_t line;       /* all of a span is in one line */
    uint32_t column;     /* of its first byte */
    uint32_t end_column; /* one past its last */
    int notes;           /* so many of the following are notes on this one */
} tile_diagnostic;

/* The same diagnostics as data, in the order of the text: their number, and in *diagnostics (which
 * may be NULL) an array of them that lives as long as the result. */
int tile_compiled_diagnostics(const tile_compiled *compiled, const tile_diagnostic **diagnostics);
/* The kind of the diagnostic of this number in the array: "E0201" of an error, "W…" of a warning,
 * "P…" of a perf note, "N…" of a note that stands alone, "" of another note. `tilec
 * --explain=E0201` and docs/errors.md say what is behind it; a code never gets another meaning. */
const char *tile_compiled_code(const tile_compiled *compiled, int diagnostic);
void tile_compiled_free(tile_compiled *compiled);

/* ---- a language server (libtile_compiler) ---- */

/* Where a language server's messages come from and go to. */
typedef struct tile_stream {
    /* Up to `room` bytes: their number, which is 0 at the end; -1: there are none now (wait 0), or
     * reading failed. */
    ptrdiff_t (*read)(void *user, char *to, size_t room, int wait);
    /* All of them; else not 0. */
    int (*write)(void *user, const char *bytes, size_t len);
    void *user;
} tile_stream;

/* Serves an editor over a stream in the language server protocol, until it says exit or the stream
 * ends: docs/editor.md says with what. The options are those that sources are looked at with:
 * target, defines, signature and include count, and what leaves out warnings. *shut_down, which may
 * be NULL: it asked to shut down first, as it should. TILE_INVALID: an option's value is wrong, and
 * *why (which may be NULL, else free it) says which; TILE_IO: what came were no messages, or an
 * answer could not be written. */
tile_status tile_language_server(const tile_compile_options *options, const tile_stream *stream,
                                 int *shut_down, tile_compiled **why);

/* ---- compiling when launched (libtile_compiler) ---- */

/* Keeps a kernel's source, to be compiled for the context's device whenever a launch needs a
 * variant that is not there yet. All options count but input_is_tir, values, emit, line_info,
 * passes, dump_after, time and stats, which must be zero; kernel may be NULL where there is only
 * one. All of it is copied. Compiled variants stay in memory, and on disk in `cache_folder`; NULL:
 * in $TILEC_CACHE, else $XDG_CACHE_HOME/tilec, else ~/.cache/tilec; "": not on disk. The folder is
 * kept below $TILEC_CACHE_MB megabytes (512). TILE_COMPILE_ERROR: there is no such kernel, or its
 * file has mistakes that show at once; tile_error has the diagnostics. */
tile_status tile_jit_create(tile_context *ctx, const tile_compile_options *options,
                            const char *cache_folder, tile_jit **out);
/* tile_launch of the variant for these arguments, which are those of the parameters that are not
 * constexprs, part by part. As in Triton, a variant is made for the arguments' types, for which
 * addresses and integers are multiples of 16 or else of 8, and for which integers are 1, unless the
 * kernel says do_not_specialize; for the values that its heuristics ask for; and for which strides
 * are below 16, where the order of a tile's elements depends on it. From 64 variants on multiples
 * of 8 make no more of them. A pointer's type is that of tile_typed_pointer, else the one in the
 * signature or the annotation. The first launch that needs a variant compiles it, others that need
 * it at the same time wait, and later ones find it without a lock. TILE_COMPILE_ERROR: tile_error
 * has the diagnostics. TILE_BAD_LAUNCH: it would be variant number 4097. */
tile_status tile_jit_launch(tile_jit *jit, const tile_grid *grid, const tile_arg *args, int nargs,
                            void *stream);
/* The variant itself, compiled if need be; it lives as long as the jit. */
tile_status tile_jit_kernel(tile_jit *jit, const tile_arg *args, int nargs, tile_kernel **out);
/* What the compiler said of the variant, which is compiled if need be: warnings and `perf:` notes,
 * or after TILE_COMPILE_ERROR, which comes here too, the errors. *out is for
 * tile_compiled_diagnostics and tile_compiled_text (TILE_PART_DIAGNOSTICS alone), which take NULL,
 * too: there is nothing to say. It lives as long as the jit and must not be freed. A variant from
 * disk says what was said when it was compiled. */
tile_status tile_jit_diagnostics(tile_jit *jit, const tile_arg *args, int nargs,
                                 const tile_compiled **out);
/* How many variants there are in memory, and how many of them came from disk. */
void tile_jit_counts(const tile_jit *jit, int *variants, int *from_disk);
/* Wait for its kernels first. NULL is allowed. */
void tile_jit_destroy(tile_jit *jit);

/* A variant on disk. Its texts are "" where it is not usable. */
typedef struct tile_jit_cached {
    const char *id; /* names it: hexadecimal digits */
    const char *kernel, *target, *signature, *file;
    const char *options; /* the other ones, "BM=64 num_warps=8" */
    uint64_t bytes;
    int64_t made, used; /* seconds since 1970; made 0: the file system does not say */
    int pinned;         /* it stays when room is made */
    int usable;         /* 0: another version of the compiler made it, or it is damaged */
} tile_jit_cached;

/* What a cache holds, the variant that was used last first. Other processes may use the cache
 * meanwhile. The folder as in tile_jit_create; TILE_NOT_FOUND: there is none, or it is one that is
 * not used. */
tile_status tile_jit_cache_list(const char *cache_folder,
                                void (*see)(void *user, const tile_jit_cached *entry), void *user);
/* Keeps the variant whose id begins so from being removed to make room, or (0) no longer does.
 * TILE_NOT_FOUND: there is none; TILE_INVALID: there are several. */
tile_status tile_jit_cache_pin(const char *cache_folder, const char *id, int pinned);
/* Removes what is not pinned, and with `all` everything. How many that were, and their size; both
 * may be NULL. */
tile_status tile_jit_cache_clear(const char *cache_folder, int all, int *removed, uint64_t *bytes);

/* ---- tuning (libtile_compiler) ---- */

typedef struct tile_tune_progress {
    int done, total;          /* steps: each config is checked, then timed */
    double seconds, left;     /* since the start; to the end, -1 while that cannot be told */
    const tile_tuned *record; /* what has just been measured, or failed; NULL: a check is done */
    double best_ms;           /* 0: nothing is measured yet */
    int launches;             /* that are still to come, at least */
} tile_tune_progress;

/* What to tune, and how. Fill with zeros first. */
typedef struct tile_tune_options {
    /* The source and how it is compiled. The kernel has to be named when there are several; configs
     * and `emit` are chosen here; `defines` win over a config's values. */
    const tile_compile_options *compile;
    const char *space; /* "BM=64,128;num_warps=4,8": all combinations; NULL: the kernel's list */
    const char *grid;  /* as tile_kernel_grid takes it; NULL: what the source states */
    /* Fills in the kernel's arguments and how many bytes the buffer behind each pointer has: those
     * are put back before each check, and compared. Called once; the kernel, which is good for
     * tile_kernel_get_param, is gone afterwards. Anything but TILE_OK ends the tuning. */
    tile_status (*bind)(void *user, tile_kernel *kernel, tile_arg *args, size_t *bytes);
    void (*progress)(void *user, const tile_tune_progress *progress); /* may be NULL */
    void *user;
    int again;        /* measure also what has a record */
    int threads;      /* that compile; 0: one for each core */
    int most;         /* configs are measured: those that a model takes for the fastest; 0: all.
                       * TILE_NOT_FOUND as of tile_tune_forecast, where there is no model */
    double budget_ms; /* for timing one config; 0: 100 */
    double tolerance; /* results may differ by this * (|value| + root mean square of all); 0: 4
                       * roundings of floats narrower than fp32, 256 of fp32 and fp64 */
    char *message;    /* after a failure: why; NULL: not wanted */
    size_t message_size;
} tile_tune_options;

/* Measures every config of a kernel for these arguments: compiles them on all cores, checks that
 * results agree, times the launches, and keeps a record of each in `tuning` as soon as it is known.
 * Configs that fail keep their reason; those that have a record of this source already are not
 * measured again, so a tuning that was interrupted goes on. *best is the fastest; its texts are
 * those of `tuning`. The buffers are as before at the end. TILE_NOT_FOUND: every config failed. */
tile_status tile_tune(tile_context *ctx, const tile_tune_options *options, tile_tuning *tuning,
                      tile_tuned *best);
/* The fastest known config for a compilation: by the kernel, the parameters' types, options->target
 * (which may be "cpu" here; unless NULL), the device's name (unless NULL), and the bucket that
 * options->values name, else the nearest one: out->key. Its `config` is for options->config_text.
 * TILE_NOT_FOUND; TILE_INVALID: there are several kernels, or no source. */
tile_status tile_tune_find(const tile_compile_options *options, const tile_tuning *tuning,
                           const char *device, tile_tuned *out);

/* The config of a kernel's list that a model of the GPU takes for the fastest, for a launch with
 * the integers that options->values name: "BM=64,BN=64,num_warps=8", for options->config_text.
 * Nothing is run. multiprocessors: of the GPU; 0: as many as the largest of options->target has.
 * TILE_NOT_FOUND: there is no model of such a kernel, or something in its grid or its loop is not
 * among the values; TILE_INVALID: as for tile_tune_find, or it does not fit `size`. message: why.
 */
tile_status tile_tune_forecast(const tile_compile_options *options, const char *grid,
                               int multiprocessors, char *config, size_t size, char *message,
                               size_t message_size);

#ifdef __cplusplus
}
#endif
#endif
