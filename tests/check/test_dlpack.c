/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_dlpack.c: tensors of other libraries on the CPU device: what is taken, what is refused and
 * why, who deletes what, and that kernels may touch the memory just as long as it is held. */
#include "runtime/runtime.h"
#include "tests/run_suite.h"
#include "tile_dlpack.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static tile_context *ctx;
static _Alignas(4096) float memory[64];
static int64_t shape[] = {4, 8}, strides[] = {8, 1};
static int deleted;

static void on_delete(DLManagedTensorVersioned *self) {
    deleted++;
    ck_assert_ptr_eq(self->manager_ctx, memory);
}

static void on_delete_legacy(DLManagedTensor *self) {
    deleted += 10;
    ck_assert_ptr_eq(self->manager_ctx, memory);
}

static DLManagedTensorVersioned good(void) {
    return (DLManagedTensorVersioned){.version = {DLPACK_MAJOR_VERSION, 9},
                                      .manager_ctx = memory,
                                      .deleter = on_delete,
                                      .dl_tensor = {.data = memory,
                                                    .device = {kDLCPU, 0},
                                                    .ndim = 2,
                                                    .dtype = {kDLFloat, 32, 1},
                                                    .shape = shape,
                                                    .strides = strides}};
}

static void open_cpu(void) {
    ck_assert_int_eq(tile_context_create("cpu", &ctx), TILE_OK);
}

static void close_cpu(void) {
    tile_context_destroy(ctx);
}

#define fails(call, words)                                                                         \
    do {                                                                                           \
        ck_assert_int_eq((call), TILE_INVALID);                                                    \
        ck_assert_msg(strstr(tile_error(ctx), (words)), "%s", tile_error(ctx));                    \
    } while (0)

START_TEST(in) {
    DLManagedTensorVersioned m = good();
    tile_tensor *t;
    m.flags = DLPACK_FLAG_BITMASK_READ_ONLY;
    m.dl_tensor.byte_offset = 16;
    ck_assert_int_eq(tile_tensor_import(ctx, &m, NULL, &t), TILE_OK);
    ck_assert(t->data == (uintptr_t)memory + 16 && t->type == TILE_FP32 && t->ndim == 2);
    ck_assert(t->shape[0] == 4 && t->shape[1] == 8 && t->strides[0] == 8 && t->strides[1] == 1);
    ck_assert_int_eq(t->read_only, 1);
    /* Held, it can be copied to and from; given back, no more. */
    float one = 1;
    ck_assert_int_eq(tile_copy_to_device(ctx, t->data, &one, 4), TILE_OK);
    ck_assert(memory[4] == 1);
    fails(tile_copy_to_device(ctx, t->data - 4, &one, 4), "do not lie in one buffer");
    fails(tile_free(ctx, t->data), "not the start of a buffer");
    tile_tensor_release(t);
    ck_assert_int_eq(deleted, 1);
    fails(tile_copy_to_device(ctx, (uintptr_t)memory + 16, &one, 4),
          "lie in a buffer that was freed");
    tile_tensor_release(NULL);
    /* The legacy struct; no strides: row by row. */
    DLManagedTensor old = {
        .dl_tensor = m.dl_tensor, .manager_ctx = memory, .deleter = on_delete_legacy};
    old.dl_tensor.strides = NULL;
    ck_assert_int_eq(tile_tensor_import_legacy(ctx, &old, NULL, &t), TILE_OK);
    ck_assert(t->strides[0] == 8 && t->strides[1] == 1 && !t->read_only);
    tile_tensor_release(t);
    ck_assert_int_eq(deleted, 11);
    /* No deleter is allowed. */
    m.deleter = NULL;
    ck_assert_int_eq(tile_tensor_import(ctx, &m, NULL, &t), TILE_OK);
    tile_tensor_release(t);
}
END_TEST

/* Strides may be negative, zero and large; none of it may reach out of memory. */
START_TEST(strides_of_all_sorts) {
    DLManagedTensorVersioned m = good();
    tile_tensor *t;
    int64_t s[2] = {-8, 1};
    m.dl_tensor.strides = s;
    m.dl_tensor.byte_offset = 24 * sizeof(float);
    ck_assert_int_eq(tile_tensor_import(ctx, &m, NULL, &t), TILE_OK);
    char back[128];
    ck_assert_int_eq(tile_copy_to_host(ctx, back, (uintptr_t)memory, 128), TILE_OK);
    fails(tile_copy_to_host(ctx, back, (uintptr_t)memory, 132), "do not lie in one buffer");
    tile_tensor_release(t);
    s[0] = 0; /* a row that is repeated */
    ck_assert_int_eq(tile_tensor_import(ctx, &m, NULL, &t), TILE_OK);
    tile_tensor_release(t);
    static const int64_t bad[] = {INT64_MAX, INT64_MIN, INT64_MAX / 4, -((int64_t)1 << 60)};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        s[0] = bad[i];
        fails(tile_tensor_import(ctx, &m, NULL, &t), "memory");
        ck_assert_ptr_null(t);
    }
    /* Each end lies in 63 bits, what is between them does not. */
    int64_t apart[] = {2, 2}, *whole = m.dl_tensor.shape;
    m.dl_tensor.shape = apart;
    s[0] = -((int64_t)1 << 60), s[1] = (int64_t)1 << 60;
    m.dl_tensor.byte_offset = (uint64_t)1 << 62;
    fails(tile_tensor_import(ctx, &m, NULL, &t), "larger than memory");
    m.dl_tensor.shape = whole;
    int64_t large[] = {INT64_MAX, INT64_MAX};
    m.dl_tensor.shape = large;
    m.dl_tensor.strides = NULL;
    fails(tile_tensor_import(ctx, &m, NULL, &t), "larger than memory");
    /* An axis of no elements needs no memory, whatever the others say. */
    large[1] = 0;
    m.dl_tensor.data = NULL;
    ck_assert_int_eq(tile_tensor_import(ctx, &m, NULL, &t), TILE_OK);
    ck_assert_uint_eq(t->data, 0);
    tile_tensor_release(t);
    /* One number, no axes. */
    m = good();
    m.dl_tensor.ndim = 0;
    m.dl_tensor.shape = m.dl_tensor.strides = NULL;
    ck_assert_int_eq(tile_tensor_import(ctx, &m, NULL, &t), TILE_OK);
    tile_tensor_release(t);
    ck_assert_uint_eq(ctx->nbuffers, 0);
}
END_TEST

START_TEST(refused) {
    DLManagedTensorVersioned m;
    tile_tensor *t;
    int64_t negative[] = {4, -1};
    const struct {
        const char *words;
        int what;
    } cases[] = {
        {"of DLPack 2.9", 0},
        {"device 2:0", 1},
        {"device 10:3", 2},
        {"65 axes", 3},
        {"-1 axes", 4},
        {"the shape is NULL", 5},
        {"negative size", 6},
        {"code 2, 32 bits, 4 lanes", 7},
        {"code 5, 64 bits", 8},
        {"code 2, 8 bits", 9},
        {"data pointer is NULL", 10},
        {"not a multiple of an element's 4 bytes", 11},
        {"past the end of memory", 12},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        m = good();
        DLTensor *d = &m.dl_tensor;
        switch (cases[i].what) {
        case 0: m.version.major = 2; break;
        case 1: d->device.device_type = kDLCUDA; break;
        case 2: d->device = (DLDevice){kDLROCM, 3}; break;
        case 3: d->ndim = TILE_MAX_NDIM + 1; break;
        case 4: d->ndim = -1; break;
        case 5: d->shape = NULL; break;
        case 6: d->shape = negative; break;
        case 7: d->dtype.lanes = 4; break;
        case 8: d->dtype = (DLDataType){kDLComplex, 64, 1}; break;
        case 9: d->dtype = (DLDataType){kDLFloat, 8, 1}; break;
        case 10: d->data = NULL; break;
        case 11: d->byte_offset = 1; break;
        case 12: d->byte_offset = UINT64_MAX - 3; break;
        default: ck_abort();
        }
        fails(tile_tensor_import(ctx, &m, NULL, &t), cases[i].words);
        ck_assert_ptr_null(t);
    }
    fails(tile_tensor_import(ctx, NULL, NULL, &t), "NULL");
    fails(tile_tensor_import(ctx, &m, NULL, NULL), "NULL");
    fails(tile_tensor_import_legacy(ctx, NULL, NULL, &t), "NULL");
    ck_assert_int_eq(tile_tensor_import(NULL, &m, NULL, &t), TILE_INVALID);
    ck_assert_int_eq(deleted, 0); /* what is refused is still its owner's */
    ck_assert_uint_eq(ctx->nbuffers, 0);
}
END_TEST

START_TEST(wanted) {
    DLManagedTensorVersioned m = good();
    tile_tensor *t;
    static const int64_t any_rows[] = {-1, 8}, seven[] = {4, 7}, far[] = {16, -1};
    const struct {
        tile_tensor_want want;
        const char *words; /* NULL: as wanted */
    } cases[] = {
        {{0}, NULL},
        {{.type = TILE_FP32, .ndim = 2, .shape = any_rows, .strides = strides}, NULL},
        {{.contiguous = 1, .align = 64, .writable = 1}, NULL},
        {{.type = TILE_FP16}, "the elements are fp32, not fp16"},
        {{.type = (tile_type)99}, "the elements are fp32, not"},
        {{.ndim = 1}, "2 axes, not 1"},
        {{.shape = any_rows}, "2 axes, not 0"},
        {{.ndim = 2, .shape = seven}, "the size of axis 1 is 8, not 7"},
        {{.ndim = 2, .strides = far}, "the stride of axis 0 is 8, not 16"},
        {{.align = 4096}, "not a multiple of 4096 bytes"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        m.dl_tensor.data = memory + (cases[i].want.align == 4096 ? 16 : 0);
        if (cases[i].words) {
            fails(tile_tensor_import(ctx, &m, &cases[i].want, &t), cases[i].words);
        } else {
            ck_assert_int_eq(tile_tensor_import(ctx, &m, &cases[i].want, &t), TILE_OK);
            tile_tensor_release(t);
        }
    }
    m.flags = DLPACK_FLAG_BITMASK_READ_ONLY;
    fails(tile_tensor_import(ctx, &m, &(tile_tensor_want){.writable = 1}, &t), "only be read");
    int64_t gaps[] = {9, 1}, columns[] = {1, 4}, one[] = {1, 8};
    m.dl_tensor.strides = gaps;
    tile_tensor_want dense = {.contiguous = 1};
    fails(tile_tensor_import(ctx, &m, &dense, &t), "row by row");
    m.dl_tensor.strides = columns;
    fails(tile_tensor_import(ctx, &m, &dense, &t), "row by row");
    m.dl_tensor.strides = gaps; /* the stride of an axis of one element says nothing */
    m.dl_tensor.shape = one;
    ck_assert_int_eq(tile_tensor_import(ctx, &m, &dense, &t), TILE_OK);
    tile_tensor_release(t);
}
END_TEST

/* A view inside a tensor that is held is fine, in any order of giving back; half inside is not. */
START_TEST(views) {
    DLManagedTensorVersioned m = good();
    int64_t row[] = {8}, step[] = {1};
    tile_tensor *all, *view, *t;
    ck_assert_int_eq(tile_tensor_import(ctx, &m, NULL, &all), TILE_OK);
    DLManagedTensorVersioned v = good();
    v.dl_tensor.ndim = 1;
    v.dl_tensor.shape = row;
    v.dl_tensor.strides = step;
    v.dl_tensor.data = memory + 8;
    ck_assert_int_eq(tile_tensor_import(ctx, &v, NULL, &view), TILE_OK);
    v.dl_tensor.data = memory + 28;
    fails(tile_tensor_import(ctx, &v, NULL, &t), "overlaps");
    tile_tensor_release(all);
    float x = 3;
    ck_assert_int_eq(tile_copy_to_device(ctx, (uintptr_t)(memory + 8), &x, 4), TILE_OK);
    tile_tensor_release(view);
    ck_assert_uint_eq(ctx->nbuffers, 0);
    /* Inside a buffer of the device's own there is nothing to hold. */
    tile_ptr p;
    ck_assert_int_eq(tile_alloc(ctx, 64, &p), TILE_OK);
    v.dl_tensor.data = (void *)(uintptr_t)(p + 16);
    ck_assert_int_eq(tile_tensor_import(ctx, &v, NULL, &view), TILE_OK);
    tile_tensor_release(view);
    ck_assert_int_eq(tile_free(ctx, p), TILE_OK);
    ck_assert_int_eq(deleted, 3);
}
END_TEST

static void on_release(void *user) {
    ++*(int *)user;
}

START_TEST(out) {
    tile_ptr p;
    ck_assert_int_eq(tile_alloc(ctx, sizeof memory, &p), TILE_OK);
    int64_t size[] = {4, 8};
    tile_tensor t = {.data = p, .type = TILE_BF16, .ndim = 2, .shape = size, .read_only = 1};
    int released = 0;
    DLManagedTensorVersioned *m;
    ck_assert_int_eq(tile_tensor_export(ctx, &t, on_release, &released, &m), TILE_OK);
    size[0] = size[1] = -5; /* copied */
    const DLTensor *d = &m->dl_tensor;
    ck_assert(m->version.major == 1 && m->flags == DLPACK_FLAG_BITMASK_READ_ONLY);
    ck_assert(d->data == (void *)(uintptr_t)p && d->byte_offset == 0 && d->ndim == 2);
    ck_assert(d->device.device_type == kDLCPU && d->device.device_id == 0);
    ck_assert(d->dtype.code == kDLBfloat && d->dtype.bits == 16 && d->dtype.lanes == 1);
    ck_assert(d->shape[0] == 4 && d->shape[1] == 8 && d->strides[0] == 8 && d->strides[1] == 1);
    /* What goes out comes in. */
    tile_tensor *back;
    ck_assert_int_eq(tile_tensor_import(ctx, m, NULL, &back), TILE_OK);
    ck_assert(back->type == TILE_BF16 && back->data == p);
    ck_assert_int_eq(released, 0);
    tile_tensor_release(back);
    ck_assert_int_eq(released, 1);
    DLManagedTensor *old;
    size[0] = size[1] = 2;
    fails(tile_tensor_export_legacy(ctx, &t, NULL, NULL, &old), "only be read");
    t.read_only = 0;
    for (int type = TILE_I1; type <= TILE_FP64; type++) { /* every type there and back */
        t.type = (tile_type)type;
        ck_assert_int_eq(tile_tensor_export_legacy(ctx, &t, NULL, NULL, &old), TILE_OK);
        ck_assert_int_eq(tile_tensor_import_legacy(ctx, old, NULL, &back), TILE_OK);
        ck_assert_int_eq(back->type, type);
        tile_tensor_release(back);
    }
    t.type = TILE_POINTER;
    fails(tile_tensor_export(ctx, &t, NULL, NULL, &m), "not the type of an element");
    ck_assert_ptr_null(m);
    t.type = TILE_FP32;
    size[0] = 1000;
    fails(tile_tensor_export(ctx, &t, NULL, NULL, &m), "does not lie in memory");
    size[0] = -1;
    fails(tile_tensor_export(ctx, &t, NULL, NULL, &m), "negative size");
    size[0] = size[1] = INT64_MAX;
    fails(tile_tensor_export(ctx, &t, NULL, NULL, &m), "larger than memory");
    t.ndim = 65;
    fails(tile_tensor_export(ctx, &t, NULL, NULL, &m), "65 axes");
    t.ndim = 1;
    t.shape = NULL;
    fails(tile_tensor_export(ctx, &t, NULL, NULL, &m), "NULL");
    fails(tile_tensor_export(ctx, NULL, NULL, NULL, &m), "NULL");
    fails(tile_tensor_export(ctx, &t, NULL, NULL, NULL), "NULL");
}
END_TEST

int main(void) {
    Suite *s = suite_create("dlpack");
    TCase *t = tcase_create("dlpack");
    tcase_add_checked_fixture(t, open_cpu, close_cpu);
    tcase_add_test(t, in);
    tcase_add_test(t, strides_of_all_sorts);
    tcase_add_test(t, refused);
    tcase_add_test(t, wanted);
    tcase_add_test(t, views);
    tcase_add_test(t, out);
    return run_suite(s, t);
}
