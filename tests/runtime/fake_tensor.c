/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fake_tensor.c: DLPack's exchange functions of a library whose tensors are all the same, on the
 * first GPU of the fake driver: bench/launch.py times launches with them, where those of a real
 * library would need a GPU. */
#include "tile_dlpack.h"

int fake_tensor_describe(void *object, DLTensor *out);
int fake_tensor_stream(DLDeviceType device, int32_t index, void **stream);

int fake_tensor_describe(void *object, DLTensor *out) {
    static int64_t shape[1] = {1024}, strides[1] = {1};
    (void)object;
    *out = (DLTensor){.data = (void *)(uintptr_t)0x7000000,
                      .device = {kDLCUDA, 0},
                      .ndim = 1,
                      .dtype = {kDLFloat, 32, 1},
                      .shape = shape,
                      .strides = strides};
    return 0;
}

int fake_tensor_stream(DLDeviceType device, int32_t index, void **stream) {
    *stream = NULL;
    return device != kDLCUDA || index != 0;
}
