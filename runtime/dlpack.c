/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* dlpack.c: tensors of other libraries -> addresses for kernels, and back.
 *
 * What comes in is checked against the device and against what the caller wants before it is taken;
 * only then is it ours to delete. On the CPU device the memory of a tensor becomes a buffer that
 * kernels may touch, for as long as the tensor is held. */
#include "tile_dlpack.h"
#include "runtime/runtime.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    Elem elem;
    uint8_t code, bits;
} types[] = {
    {EL_I1, kDLBool, 8},
    {EL_I8, kDLInt, 8},
    {EL_I16, kDLInt, 16},
    {EL_I32, kDLInt, 32},
    {EL_I64, kDLInt, 64},
    {EL_U8, kDLUInt, 8},
    {EL_U16, kDLUInt, 16},
    {EL_U32, kDLUInt, 32},
    {EL_U64, kDLUInt, 64},
    {EL_F8E4M3, kDLFloat8_e4m3fn, 8},
    {EL_F8E5M2, kDLFloat8_e5m2, 8},
    {EL_F16, kDLFloat, 16},
    {EL_BF16, kDLBfloat, 16},
    {EL_F32, kDLFloat, 32},
    {EL_F64, kDLFloat, 64},
};
enum { TYPES = sizeof types / sizeof *types };

/* ---- where the elements lie ---- */

typedef struct Extent {
    int64_t low, high; /* bytes from the first element: [low, high) holds all */
} Extent;

/* False when they do not fit in memory, high - low included. Empty: low == high. */
static bool extent_of(const int64_t *shape, const int64_t *strides, int ndim, int64_t size,
                      Extent *out) {
    *out = (Extent){0, 0};
    for (int i = 0; i < ndim; i++)
        if (shape[i] == 0) return true;
    int64_t low = 0, high = 1;
    for (int i = 0; i < ndim; i++) {
        int64_t span;
        if (__builtin_mul_overflow(shape[i] - 1, strides[i], &span)) return false;
        if (__builtin_add_overflow(span < 0 ? low : high, span, span < 0 ? &low : &high))
            return false;
    }
    int64_t bytes;
    return !__builtin_mul_overflow(low, size, &out->low) &&
           !__builtin_mul_overflow(high, size, &out->high) &&
           !__builtin_sub_overflow(out->high, out->low, &bytes);
}

/* Row by row without gaps. False when the count of elements does not fit. */
static bool compact_strides(const int64_t *shape, int ndim, int64_t *strides) {
    int64_t step = 1;
    for (int i = ndim - 1; i >= 0; i--) {
        strides[i] = step;
        if (shape[i] > 1 && __builtin_mul_overflow(step, shape[i], &step)) return false;
    }
    return true;
}

/* An axis of at most one element may have any stride, and so may a tensor of none. */
static bool is_compact(const int64_t *shape, const int64_t *strides, int ndim) {
    int64_t step = 1;
    bool compact = true;
    for (int i = ndim - 1; i >= 0; i--) {
        if (shape[i] == 0) return true;
        if (shape[i] == 1) continue;
        compact = compact && strides[i] == step;
        if (__builtin_mul_overflow(step, shape[i], &step)) return false;
    }
    return compact;
}

/* ---- in ---- */

typedef struct Import {
    tile_tensor tensor; /* first: the caller has its address */
    tile_context *ctx;
    tile_ptr borrowed; /* the buffer of the CPU device that it lies in; 0: none */
    DLManagedTensorVersioned *managed;
    DLManagedTensor *legacy;
    int64_t dim[]; /* shape, then strides */
} Import;

static tile_status refuse(tile_context *ctx, const char *what) {
    return rt_fail(ctx, TILE_INVALID, "tile_tensor_import: %s", what);
}

static tile_status check_device(tile_context *ctx, DLDevice d) {
    bool here = ctx->on_host ? d.device_type == kDLCPU || d.device_type == kDLCUDAHost
                             : (d.device_type == kDLCUDA && d.device_id == ctx->ordinal) ||
                                   d.device_type == kDLCUDAManaged;
    if (here) return TILE_OK;
    return rt_fail(
        ctx, TILE_INVALID,
        "tile_tensor_import: the tensor is on DLPack's device %d:%d, not on this one (%s)",
        (int)d.device_type, (int)d.device_id, ctx->name);
}

/* Whether entry i of a shape or of strides is as wanted. */
static tile_status check_dims(tile_context *ctx, const char *what, const int64_t *have,
                              const int64_t *want, int ndim) {
    for (int i = 0; want && i < ndim; i++)
        if (want[i] >= 0 && want[i] != have[i])
            return rt_fail(ctx, TILE_INVALID,
                           "tile_tensor_import: the %s of axis %d is %" PRId64 ", not %" PRId64,
                           what, i, have[i], want[i]);
    return TILE_OK;
}

static tile_status check_wanted(tile_context *ctx, const tile_tensor *t,
                                const tile_tensor_want *want) {
    if (want->type && want->type != t->type)
        return rt_fail(ctx, TILE_INVALID, "tile_tensor_import: the elements are %s, not %s",
                       elem_signature_name((Elem)(t->type - 1)),
                       want->type >= TILE_I1 && want->type <= TILE_FP64
                           ? elem_signature_name((Elem)(want->type - 1))
                           : "of the type that is wanted, which is none");
    if ((want->ndim || want->shape || want->strides) && want->ndim != t->ndim)
        return rt_fail(ctx, TILE_INVALID, "tile_tensor_import: the tensor has %d axes, not %d",
                       t->ndim, want->ndim);
    tile_status st = check_dims(ctx, "size", t->shape, want->shape, t->ndim);
    if (!st) st = check_dims(ctx, "stride", t->strides, want->strides, t->ndim);
    if (st) return st;
    if (want->contiguous && !is_compact(t->shape, t->strides, t->ndim))
        return refuse(ctx, "the elements do not lie row by row without gaps");
    if (want->writable && t->read_only) return refuse(ctx, "the tensor may only be read");
    if (want->align > 1 && t->data % want->align)
        return rt_fail(ctx, TILE_INVALID,
                       "tile_tensor_import: address 0x%" PRIx64 " is not a multiple of %zu bytes",
                       t->data, want->align);
    return TILE_OK;
}

/* Fills in->tensor from `t`, whose ndim is sound. */
static tile_status take_tensor(tile_context *ctx, const DLTensor *t, Import *in) {
    tile_tensor *out = &in->tensor;
    int64_t *shape = in->dim, *strides = in->dim + t->ndim;
    size_t type = 0;
    while (type < TYPES && (types[type].code != t->dtype.code || types[type].bits != t->dtype.bits))
        type++;
    if (type == TYPES || t->dtype.lanes != 1)
        return rt_fail(ctx, TILE_INVALID,
                       "tile_tensor_import: kernels have no type for DLPack's code %d, %d bits, "
                       "%d lanes",
                       t->dtype.code, t->dtype.bits, t->dtype.lanes);
    int64_t size = types[type].bits / 8;
    for (int i = 0; i < t->ndim; i++) {
        shape[i] = t->shape[i];
        if (shape[i] < 0) return refuse(ctx, "an axis has a negative size");
    }
    if (!t->strides && !compact_strides(shape, t->ndim, strides))
        return refuse(ctx, "the tensor is larger than memory");
    for (int i = 0; t->strides && i < t->ndim; i++) strides[i] = t->strides[i];
    Extent e;
    if (!extent_of(shape, strides, t->ndim, size, &e))
        return refuse(ctx, "the tensor is larger than memory");
    *out = (tile_tensor){.type = (tile_type)((int)types[type].elem + 1),
                         .ndim = t->ndim,
                         .shape = shape,
                         .strides = strides};
    tile_ptr base = (tile_ptr)(uintptr_t)t->data;
    if (e.low == e.high && !t->data) return TILE_OK; /* nothing there, and no address needed */
    if (!t->data) return refuse(ctx, "the data pointer is NULL");
    tile_ptr end;
    if (__builtin_add_overflow(base, t->byte_offset, &out->data) ||
        out->data < (uint64_t)0 - (uint64_t)e.low ||
        __builtin_add_overflow(out->data, (uint64_t)e.high, &end))
        return refuse(ctx, "the tensor reaches past the end of memory");
    if (out->data % (uint64_t)size)
        return rt_fail(ctx, TILE_INVALID,
                       "tile_tensor_import: address 0x%" PRIx64
                       " is not a multiple of an element's %d bytes",
                       out->data, (int)size);
    if (!ctx->on_host || e.low == e.high) return TILE_OK;
    return rt_borrow(ctx, out->data + (uint64_t)e.low, (size_t)(e.high - e.low), &in->borrowed);
}

/* Checks and takes; *out is NULL after a failure. */
static tile_status import(tile_context *ctx, const DLTensor *t, bool read_only,
                          const tile_tensor_want *want, Import **out) {
    static const tile_tensor_want anything = {0};
    *out = NULL;
    if (t->ndim < 0 || t->ndim > TILE_MAX_NDIM)
        return rt_fail(ctx, TILE_INVALID, "tile_tensor_import: %d axes: the limit is %d",
                       (int)t->ndim, TILE_MAX_NDIM);
    if (t->ndim && !t->shape) return refuse(ctx, "the shape is NULL");
    tile_status st = check_device(ctx, t->device);
    if (st) return st;
    Import *in = calloc(1, sizeof *in + 2 * (size_t)t->ndim * sizeof *in->dim);
    if (!in) return rt_fail(ctx, TILE_NO_MEMORY, "no memory for a tensor");
    in->ctx = ctx;
    st = take_tensor(ctx, t, in);
    in->tensor.read_only = read_only;
    if (!st) st = check_wanted(ctx, &in->tensor, want ? want : &anything);
    if (!st) {
        *out = in;
        return TILE_OK;
    }
    if (in->borrowed) rt_give_back(ctx, in->borrowed);
    free(in);
    return st;
}

tile_status tile_tensor_import(tile_context *ctx, struct DLManagedTensorVersioned *managed,
                               const tile_tensor_want *want, tile_tensor **out) {
    tile_status st = rt_enter(ctx);
    if (st) return st;
    if (!managed || !out) return refuse(ctx, "NULL");
    *out = NULL;
    if (managed->version.major != DLPACK_MAJOR_VERSION)
        return rt_fail(ctx, TILE_INVALID,
                       "tile_tensor_import: the tensor is of DLPack %" PRIu32 ".%" PRIu32
                       ", and this library reads version %d",
                       managed->version.major, managed->version.minor, DLPACK_MAJOR_VERSION);
    Import *in;
    st = import(ctx, &managed->dl_tensor, (managed->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0,
                want, &in);
    if (st) return st;
    in->managed = managed;
    *out = &in->tensor;
    return TILE_OK;
}

tile_status tile_tensor_import_legacy(tile_context *ctx, struct DLManagedTensor *managed,
                                      const tile_tensor_want *want, tile_tensor **out) {
    tile_status st = rt_enter(ctx);
    if (st) return st;
    if (!managed || !out) return refuse(ctx, "NULL");
    *out = NULL;
    Import *in;
    st = import(ctx, &managed->dl_tensor, false, want, &in);
    if (st) return st;
    in->legacy = managed;
    *out = &in->tensor;
    return TILE_OK;
}

void tile_tensor_release(tile_tensor *tensor) {
    if (!tensor) return;
    Import *in = (Import *)tensor;
    if (!rt_forked(in->ctx)) { /* what the owner holds may be the parent's device memory */
        if (in->borrowed) rt_give_back(in->ctx, in->borrowed);
        if (in->managed && in->managed->deleter) in->managed->deleter(in->managed);
        if (in->legacy && in->legacy->deleter) in->legacy->deleter(in->legacy);
    }
    free(in);
}

/* ---- out ---- */

typedef struct Export {
    DLManagedTensorVersioned managed;
    DLManagedTensor legacy;
    tile_release_fn release;
    void *user;
    int64_t dim[]; /* shape, then strides */
} Export;

static void delete_export(Export *e) {
    if (e->release) e->release(e->user);
    free(e);
}

static void delete_managed(DLManagedTensorVersioned *self) {
    delete_export(self->manager_ctx);
}

static void delete_legacy(DLManagedTensor *self) {
    delete_export(self->manager_ctx);
}

static tile_status describe_tensor(tile_context *ctx, const tile_tensor *t, Export *e,
                                   DLTensor *out) {
    int64_t *shape = e->dim, *strides = e->dim + t->ndim;
    size_t type = 0;
    while (type < TYPES && (int)types[type].elem + 1 != (int)t->type) type++;
    if (type == TYPES)
        return rt_fail(ctx, TILE_INVALID, "tile_tensor_export: %d is not the type of an element",
                       (int)t->type);
    for (int i = 0; i < t->ndim; i++) {
        shape[i] = t->shape[i];
        if (shape[i] < 0)
            return rt_fail(ctx, TILE_INVALID, "tile_tensor_export: axis %d has a negative size", i);
    }
    Extent extent;
    bool fits = t->strides || compact_strides(shape, t->ndim, strides);
    for (int i = 0; t->strides && i < t->ndim; i++) strides[i] = t->strides[i];
    if (!fits || !extent_of(shape, strides, t->ndim, types[type].bits / 8, &extent))
        return rt_fail(ctx, TILE_INVALID, "tile_tensor_export: the tensor is larger than memory");
    bool empty = extent.low == extent.high;
    Buffer b;
    if (!empty &&
        (!t->data || (ctx->on_host && !rt_find_buffer(ctx, t->data + (uint64_t)extent.low,
                                                      (size_t)(extent.high - extent.low), &b))))
        return rt_fail(ctx, TILE_INVALID,
                       "tile_tensor_export: the tensor does not lie in memory of this device");
    *out = (DLTensor){
        .data = empty ? NULL : (void *)(uintptr_t)t->data,
        .device = {ctx->on_host ? kDLCPU : kDLCUDA, ctx->on_host ? 0 : (int32_t)ctx->ordinal},
        .ndim = t->ndim,
        .dtype = {types[type].code, types[type].bits, 1},
        .shape = shape,
        .strides = strides,
    };
    return TILE_OK;
}

static tile_status export(tile_context *ctx, const tile_tensor *t, tile_release_fn release,
                          void *user, Export **out) {
    if (!t || (t->ndim && !t->shape)) return rt_fail(ctx, TILE_INVALID, "tile_tensor_export: NULL");
    if (t->ndim < 0 || t->ndim > TILE_MAX_NDIM)
        return rt_fail(ctx, TILE_INVALID, "tile_tensor_export: %d axes: the limit is %d", t->ndim,
                       TILE_MAX_NDIM);
    Export *e = calloc(1, sizeof *e + 2 * (size_t)t->ndim * sizeof *e->dim);
    if (!e) return rt_fail(ctx, TILE_NO_MEMORY, "no memory for a tensor");
    DLTensor described = {0};
    tile_status st = describe_tensor(ctx, t, e, &described);
    if (st) {
        free(e);
        return st;
    }
    e->release = release;
    e->user = user;
    e->managed = (DLManagedTensorVersioned){
        .version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION},
        .manager_ctx = e,
        .deleter = delete_managed,
        .flags = t->read_only ? DLPACK_FLAG_BITMASK_READ_ONLY : 0,
        .dl_tensor = described,
    };
    e->legacy =
        (DLManagedTensor){.dl_tensor = described, .manager_ctx = e, .deleter = delete_legacy};
    *out = e;
    return TILE_OK;
}

tile_status tile_tensor_export(tile_context *ctx, const tile_tensor *tensor,
                               tile_release_fn release, void *user,
                               struct DLManagedTensorVersioned **out) {
    tile_status st = rt_enter(ctx);
    if (st) return st;
    if (!out) return rt_fail(ctx, TILE_INVALID, "tile_tensor_export: NULL");
    *out = NULL;
    Export *e = NULL;
    st = export(ctx, tensor, release, user, &e);
    if (!st) *out = &e->managed;
    return st;
}

tile_status tile_tensor_export_legacy(tile_context *ctx, const tile_tensor *tensor,
                                      tile_release_fn release, void *user,
                                      struct DLManagedTensor **out) {
    tile_status st = rt_enter(ctx);
    if (st) return st;
    if (!out) return rt_fail(ctx, TILE_INVALID, "tile_tensor_export: NULL");
    *out = NULL;
    if (tensor && tensor->read_only)
        return rt_fail(ctx, TILE_INVALID,
                       "tile_tensor_export_legacy: it cannot say that a tensor may only be read");
    Export *e = NULL;
    st = export(ctx, tensor, release, user, &e);
    if (!st) *out = &e->legacy;
    return st;
}
