/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fuzz_dlpack.c: hostile tensors of other libraries, in and out.
 *
 * An input is the fields of a DLTensor, its shape and strides, and what is wanted of it. It is
 * refused with a sentence and stays the caller's, or is what it said, goes out again as it came in,
 * and its deleter is called once. */
#include "tests/fuzz/driver.h"
#include "tests/fuzz/fuzz.h"
#include "tile.h"
#include "tile_dlpack.h"

#include <stdlib.h>
#include <string.h>

enum { TAKE, TAKEN, GIVEN };

enum { DIMS = TILE_MAX_NDIM + 2, MEMORY_BYTES = 4096 };

/* What an input begins with; the rest are shape and strides. */
typedef struct Fields {
    uint8_t legacy, device, code, bits, has_shape, has_strides, wants, place;
    uint32_t major;
    int32_t device_id, ndim;
    uint16_t lanes, want_type;
    uint64_t offset, flags, align, data;
    int32_t want_ndim;
    uint8_t contiguous, writable, context, padding;
} Fields;

static tile_context *context[2];
static tile_ptr memory[2]; /* of each */
static _Alignas(64) unsigned char host[MEMORY_BYTES];

static bool begin(FuzzCorpus *c) {
    static const int64_t sound[] = {8, 8, 8, 1}, strided[] = {4, 3, 2, 24, -8, 1},
                         hostile[] = {INT64_MAX, 2, INT64_MIN, -1};
    static const Fields first = {.device = kDLCPU,
                                 .code = kDLFloat,
                                 .bits = 32,
                                 .has_shape = 1,
                                 .has_strides = 1,
                                 .major = 1,
                                 .ndim = 2,
                                 .lanes = 1};
    const struct {
        const int64_t *dim;
        size_t bytes;
        int ndim;
    } seeds[] = {
        {sound, sizeof sound, 2}, {strided, sizeof strided, 3}, {hostile, sizeof hostile, 2}};
    if (!fuzz_driver()) return false;
    bool ok = !tile_context_create("cpu", &context[0]) && !tile_context_create("cuda", &context[1]);
    for (int i = 0; ok && i < 2; i++) ok = !tile_alloc(context[i], MEMORY_BYTES, &memory[i]);
    for (size_t i = 0; ok && i < 24; i++) {
        unsigned char bytes[sizeof(Fields) + sizeof strided];
        Fields f = first;
        f.ndim = seeds[i % 3].ndim;
        f.context = i / 3 % 2;
        f.device = f.context ? kDLCUDA : kDLCPU;
        f.legacy = i / 6 % 2;
        f.place = (uint8_t)(i / 12);
        f.has_strides = i % 5 != 0;
        memcpy(bytes, &f, sizeof f);
        memcpy(bytes + sizeof f, seeds[i % 3].dim, seeds[i % 3].bytes);
        ok = fuzz_add(c, (const char *)bytes, sizeof f + seeds[i % 3].bytes);
    }
    return ok;
}

static void end(void) {
    for (int i = 0; i < 2; i++) tile_context_destroy(context[i]);
}

static int deleted;
static void drop(DLManagedTensorVersioned *self) {
    (void)self;
    deleted++;
}
static void drop_legacy(DLManagedTensor *self) {
    (void)self;
    deleted++;
}
static void released(void *user) {
    ++*(int *)user;
}

/* Out again, as it came in. */
static bool give(tile_context *ctx, const tile_tensor *t, bool legacy) {
    DLManagedTensorVersioned *out = NULL;
    DLManagedTensor *old = NULL;
    int gone = 0;
    tile_status st = legacy ? tile_tensor_export_legacy(ctx, t, released, &gone, &old)
                            : tile_tensor_export(ctx, t, released, &gone, &out);
    if (st) {
        if (!*tile_error(ctx)) fuzz_wrong("refused without a word", tile_status_text(st));
        return false;
    }
    const DLTensor *d = legacy ? &old->dl_tensor : &out->dl_tensor;
    if (d->ndim != t->ndim) fuzz_wrong("another rank", NULL);
    for (int i = 0; i < t->ndim; i++)
        if (d->shape[i] != t->shape[i] || d->strides[i] != t->strides[i])
            fuzz_wrong("another shape", NULL);
    if (legacy)
        old->deleter(old);
    else
        out->deleter(out);
    if (gone != 1) fuzz_wrong("not released once", NULL);
    return true;
}

static void check(const tile_tensor *t, const DLTensor *d, const tile_tensor_want *want) {
    if (t->ndim != d->ndim || t->ndim > TILE_MAX_NDIM || t->type < TILE_I1 || t->type > TILE_FP64)
        fuzz_wrong("a tensor that is none", NULL);
    for (int i = 0; i < t->ndim; i++)
        if (t->shape[i] != d->shape[i] || t->shape[i] < 0 ||
            (d->strides && t->strides[i] != d->strides[i]))
            fuzz_wrong("another shape", NULL);
    if (want->type && want->type != t->type) fuzz_wrong("not the type that is wanted", NULL);
    if (want->ndim && want->ndim != t->ndim) fuzz_wrong("not the rank that is wanted", NULL);
    if (want->align > 1 && t->data % want->align) fuzz_wrong("not aligned as wanted", NULL);
    if (want->writable && t->read_only) fuzz_wrong("not to be written", NULL);
}

static int one(const uint8_t *data, size_t n) {
    Fields f = {.legacy = 0};
    int64_t dim[2 * DIMS] = {0}, asked[2 * DIMS];
    fuzz_choices(data, n);
    memcpy(&f, data, n < sizeof f ? n : sizeof f);
    if (n > sizeof f)
        memcpy(dim, data + sizeof f, n - sizeof f < sizeof dim ? n - sizeof f : sizeof dim);
    tile_context *ctx = context[f.context % 2];
    /* What is read beyond a rank that is refused would be seen: both are as long as they may be. */
    int axes = f.ndim < 0 ? 0 : f.ndim > DIMS ? DIMS : f.ndim;
    int64_t *shape = malloc((size_t)axes * sizeof *shape + 1);
    int64_t *strides = malloc((size_t)axes * sizeof *strides + 1);
    if (!shape || !strides) fuzz_wrong("no memory", NULL);
    memcpy(shape, dim, (size_t)axes * sizeof *shape);
    memcpy(strides, dim + axes, (size_t)axes * sizeof *strides);
    const uint64_t places[] = {(uint64_t)(uintptr_t)host, memory[f.context % 2], 0, f.data,
                               (uint64_t)(uintptr_t)host + MEMORY_BYTES / 2};
    DLTensor t = {.data = (void *)(uintptr_t)places[f.place % 5],
                  .device = {(DLDeviceType)f.device, f.device_id},
                  .ndim = f.ndim,
                  .dtype = {f.code, f.bits, f.lanes},
                  .shape = f.has_shape ? shape : NULL,
                  .strides = f.has_strides ? strides : NULL,
                  .byte_offset = f.offset};
    memcpy(asked, dim, sizeof asked);
    tile_tensor_want want = {.type = (tile_type)f.want_type,
                             .ndim = f.want_ndim % DIMS,
                             .contiguous = f.contiguous,
                             .writable = f.writable,
                             .align = (size_t)f.align};
    if (f.wants & 2) want.shape = asked;
    if (f.wants & 4) want.strides = asked + axes;
    if (want.ndim < 0 || !(f.wants & 1)) want = (tile_tensor_want){0};
    DLManagedTensorVersioned managed = {
        .version = {f.major, 0}, .deleter = drop, .flags = f.flags, .dl_tensor = t};
    DLManagedTensor old = {.dl_tensor = t, .deleter = drop_legacy};
    tile_tensor *taken = NULL;
    deleted = 0;
    tile_status st = f.legacy % 2 ? tile_tensor_import_legacy(ctx, &old, &want, &taken)
                                  : tile_tensor_import(ctx, &managed, &want, &taken);
    int reached = TAKE;
    if (st) {
        if (!*tile_error(ctx)) fuzz_wrong("refused without a word", tile_status_text(st));
        if (taken) fuzz_wrong("a tensor and an error", tile_error(ctx));
    } else {
        check(taken, &t, &want);
        reached = give(ctx, taken, f.legacy & 2) ? GIVEN : TAKEN;
        tile_tensor_release(taken);
    }
    if (deleted != !st) fuzz_wrong("not deleted once", NULL);
    free(shape);
    free(strides);
    return reached;
}

static const char *const stages[] = {"taken", "imported", "exported", NULL};

const FuzzTarget fuzz_target = {.name = "dlpack",
                                .suffix = ".tensor",
                                .most = sizeof(Fields) + 2 * DIMS * sizeof(int64_t),
                                .stages = stages,
                                .begin = begin,
                                .end = end,
                                .one = one};
