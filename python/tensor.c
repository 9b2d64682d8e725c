/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tensor.c: a DLPack capsule -> the five integers that launch.c takes, and the GPU's number. The
 * capsule stays the owner: its destructor gives the tensor back when the launch lets go of it. */
#include "python/module.h"

#include "tile_dlpack.h"

static const struct {
    uint8_t code, bits;
    tile_type type;
} types[] = {
    {kDLBool, 8, TILE_I1},           {kDLInt, 8, TILE_I8},
    {kDLInt, 16, TILE_I16},          {kDLInt, 32, TILE_I32},
    {kDLInt, 64, TILE_I64},          {kDLUInt, 8, TILE_U8},
    {kDLUInt, 16, TILE_U16},         {kDLUInt, 32, TILE_U32},
    {kDLUInt, 64, TILE_U64},         {kDLFloat, 16, TILE_FP16},
    {kDLBfloat, 16, TILE_BF16},      {kDLFloat, 32, TILE_FP32},
    {kDLFloat, 64, TILE_FP64},       {kDLFloat8_e4m3fn, 8, TILE_FP8E4NV},
    {kDLFloat8_e5m2, 8, TILE_FP8E5},
};

static PyObject *refuse(const char *why) {
    PyErr_Format(PyExc_ValueError, "DLPack: %s", why);
    return NULL;
}

/* The bytes before and behind the first element that the strides reach, which count `unit` bytes.
 * False: out of memory's bounds. */
static bool reach(int ndim, const int64_t *shape, const int64_t *strides, int64_t unit,
                  int64_t size, int64_t *before, int64_t *behind) {
    int64_t compact = 1;
    *before = 0;
    *behind = size;
    for (int i = 0; i < ndim; i++) /* whatever the strides are then */
        if (shape[i] == 0) return (*behind = 0), true;
    for (int i = ndim; i-- > 0;) {
        int64_t stride = strides ? strides[i] : compact, way;
        if (shape[i] < 0 || __builtin_mul_overflow(compact, shape[i], &compact) ||
            __builtin_mul_overflow(stride, shape[i] - 1, &way) ||
            __builtin_mul_overflow(way, unit, &way) ||
            (way < 0 ? __builtin_sub_overflow(*before, way, before)
                     : __builtin_add_overflow(*behind, way, behind)))
            return false;
    }
    return true;
}

/* The struct of NumPy's array interface. */
typedef struct ArrayStruct {
    int two, ndim;
    char kind;
    int size, flags;
    const Py_ssize_t *shape, *strides;
    void *data;
} ArrayStruct;
enum { ARRAY_NATIVE = 0x200, ARRAY_WRITABLE = 0x400 };

bool array_pointer(PyObject *value, uint64_t field[5]) {
    /* NumPy's numbers have the interface, too; floats of two bytes are of more than one kind. */
    if (!PyObject_HasAttrString((PyObject *)Py_TYPE(value), "__setitem__")) return false;
    PyObject *capsule = PyObject_GetAttrString(value, "__array_struct__");
    PyErr_Clear();
    const ArrayStruct *a =
        capsule && PyCapsule_IsValid(capsule, NULL) ? PyCapsule_GetPointer(capsule, NULL) : NULL;
    bool ok = a && a->two == 2 && (a->flags & ARRAY_NATIVE) && a->size <= 8 &&
              !(a->kind == 'f' && a->size == 2) && a->ndim >= 0 && a->ndim <= TILE_MAX_NDIM;
    if (ok) {
        uint8_t code = a->kind == 'f'   ? kDLFloat
                       : a->kind == 'i' ? kDLInt
                       : a->kind == 'u' ? kDLUInt
                       : a->kind == 'b' ? kDLBool
                                        : kDLComplex;
        size_t n = sizeof types / sizeof *types, i = 0;
        while (i < n && (types[i].code != code || types[i].bits != a->size * 8)) i++;
        int64_t shape[TILE_MAX_NDIM], strides[TILE_MAX_NDIM], before, behind;
        for (int d = 0; d < a->ndim; d++) {
            shape[d] = a->shape[d];
            strides[d] = a->strides ? a->strides[d] : 0;
        }
        uint64_t at = (uint64_t)(uintptr_t)a->data;
        ok = i < n && (a->strides || a->ndim == 0) &&
             reach(a->ndim, shape, strides, 1, a->size, &before, &behind);
        if (ok) {
            field[0] = at;
            field[1] = (uint64_t)types[i].type;
            field[2] = at - (uint64_t)before;
            field[3] = at + (uint64_t)behind;
            field[4] = POINTER_ON_HOST | (a->flags & ARRAY_WRITABLE ? 0 : POINTER_READ_ONLY);
        }
    }
    Py_XDECREF(capsule);
    return ok;
}

PyObject *dlpack(PyObject *module, PyObject *capsule) {
    const DLTensor *t;
    unsigned bits = 0;
    (void)module;
    if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
        DLManagedTensorVersioned *m = PyCapsule_GetPointer(capsule, "dltensor_versioned");
        if (m->version.major != DLPACK_MAJOR_VERSION) return refuse("another major version");
        if (m->flags & DLPACK_FLAG_BITMASK_READ_ONLY) bits |= POINTER_READ_ONLY;
        t = &m->dl_tensor;
    } else if (PyCapsule_IsValid(capsule, "dltensor")) {
        t = &((DLManagedTensor *)PyCapsule_GetPointer(capsule, "dltensor"))->dl_tensor;
    } else {
        PyErr_SetString(PyExc_TypeError, "__dlpack__ gave no capsule of a tensor");
        return NULL;
    }
    size_t n = sizeof types / sizeof *types, i = 0;
    while (i < n && (types[i].code != t->dtype.code || types[i].bits != t->dtype.bits)) i++;
    if (i == n || t->dtype.lanes != 1) return refuse("a kernel has no such elements");
    if (t->ndim < 0 || t->ndim > TILE_MAX_NDIM || (t->ndim && !t->shape)) return refuse("no shape");
    PyObject *index = NULL;
    if (t->device.device_type == kDLCPU || t->device.device_type == kDLCUDAHost) {
        bits |= POINTER_ON_HOST;
        index = Py_NewRef(Py_None);
    } else if (t->device.device_type == kDLCUDA || t->device.device_type == kDLCUDAManaged) {
        index = PyLong_FromLong(t->device.device_id);
    } else {
        return refuse("it is neither in the host's memory nor on a CUDA device");
    }
    int64_t before, behind;
    uint64_t address = (uint64_t)(uintptr_t)t->data + t->byte_offset;
    bool ok = reach(t->ndim, t->shape, t->strides, t->dtype.bits / 8, t->dtype.bits / 8, &before,
                    &behind) &&
              address >= (uint64_t)before && address <= UINT64_MAX - (uint64_t)behind;
    if (!ok) {
        Py_XDECREF(index);
        return refuse("its strides reach out of memory");
    }
    return Py_BuildValue("(KiKKI)N", (unsigned long long)address, (int)types[i].type,
                         (unsigned long long)(address - (uint64_t)before),
                         (unsigned long long)(address + (uint64_t)behind), bits, index);
}
