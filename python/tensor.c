/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tensor.c: an array or tensor of another library -> the five integers that launch.c takes, and the
 * GPU's number. NumPy's arrays by their struct; others by the functions that DLPack 1.3 lets a type
 * offer, which need no capsule; those without by a capsule, which stays the owner: its destructor
 * gives the tensor back when the launch lets go of it. */
#include "python/module.h"

#include "tile_dlpack.h"

/* What tensors are mostly of comes first. */
static const struct {
    uint8_t code, bits;
    tile_type type;
} types[] = {
    {kDLFloat, 32, TILE_FP32},       {kDLFloat, 16, TILE_FP16}, {kDLBfloat, 16, TILE_BF16},
    {kDLInt, 32, TILE_I32},          {kDLInt, 64, TILE_I64},    {kDLFloat8_e4m3fn, 8, TILE_FP8E4NV},
    {kDLFloat8_e5m2, 8, TILE_FP8E5}, {kDLUInt, 8, TILE_U8},     {kDLInt, 8, TILE_I8},
    {kDLBool, 8, TILE_I1},           {kDLFloat, 64, TILE_FP64}, {kDLInt, 16, TILE_I16},
    {kDLUInt, 16, TILE_U16},         {kDLUInt, 32, TILE_U32},   {kDLUInt, 64, TILE_U64},
};

static bool refuse(const char *why) {
    PyErr_Format(PyExc_ValueError, "DLPack: %s", why);
    return false;
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

/* ---- what a type offers ---- */

/* DLPack 1.3's DLPackExchangeAPI, which types have as __dlpack_c_exchange_api__: what is not used
 * here has no types. */
typedef struct Exchange {
    DLPackVersion version;
    const struct Exchange *older; /* of another major version */
    void (*allocate)(void);
    void (*take)(void);
    void (*give)(void);
    int (*describe)(void *object, DLTensor *out); /* what it says is the object's */
    int (*current_stream)(DLDeviceType device, int32_t index, void **stream);
} Exchange;

static const Exchange *find_exchange(PyTypeObject *type) {
    PyObject *capsule = PyObject_GetAttrString((PyObject *)type, "__dlpack_c_exchange_api__");
    const Exchange *e = NULL;
    if (capsule && PyCapsule_IsValid(capsule, "dlpack_exchange_api"))
        e = PyCapsule_GetPointer(capsule, "dlpack_exchange_api");
    PyErr_Clear();
    while (e && e->version.major != DLPACK_MAJOR_VERSION) e = e->older;
    Py_XDECREF(capsule); /* the struct lives as long as the process */
    return e && e->describe ? e : NULL;
}

static const Known *known_of(State *s, PyTypeObject *type) {
    for (unsigned i = 0; i < KNOWN; i++)
        if (s->known[i].type == type) return &s->known[i];
    const Exchange *exchange = find_exchange(type);
    bool is_array = !exchange && PyObject_HasAttrString((PyObject *)type, "__setitem__") &&
                    PyObject_HasAttrString((PyObject *)type, "__array_struct__");
    Known *k = &s->known[s->oldest++ % KNOWN];
    PyTypeObject *gone = k->type;
    *k = (Known){(PyTypeObject *)Py_NewRef((PyObject *)type), exchange, is_array};
    Py_XDECREF((PyObject *)gone);
    return k;
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

bool array_pointer(State *state, PyObject *value, uint64_t field[5]) {
    /* NumPy's numbers have the interface, too; floats of two bytes are of more than one kind. */
    if (!known_of(state, Py_TYPE(value))->is_array) return false;
    PyObject *capsule = PyObject_GetAttr(value, state->array_struct);
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

/* ---- DLPack ---- */

/* The five of a DLTensor, but for what the owner says of writing. False: an exception is set. */
static bool tensor_pointer(const DLTensor *t, uint64_t field[5], long *index) {
    size_t n = sizeof types / sizeof *types, i = 0;
    while (i < n && (types[i].code != t->dtype.code || types[i].bits != t->dtype.bits)) i++;
    if (i == n || t->dtype.lanes != 1) return refuse("a kernel has no such elements");
    if (t->ndim < 0 || t->ndim > TILE_MAX_NDIM || (t->ndim && !t->shape)) return refuse("no shape");
    DLDeviceType device = t->device.device_type;
    bool on_host = device == kDLCPU || device == kDLCUDAHost;
    if (!on_host && device != kDLCUDA && device != kDLCUDAManaged)
        return refuse("it is neither in the host's memory nor on a CUDA device");
    if (!on_host && t->device.device_id < 0) return refuse("its device has no number");
    /* Only launches on the host's memory ask which bytes there are. */
    int64_t before = 0, behind = 1;
    uint64_t address = (uint64_t)(uintptr_t)t->data + t->byte_offset;
    if ((on_host || !address) && !reach(t->ndim, t->shape, t->strides, t->dtype.bits / 8,
                                        t->dtype.bits / 8, &before, &behind))
        return refuse("its strides reach out of memory");
    if (address < (uint64_t)before || address > UINT64_MAX - (uint64_t)behind)
        return refuse("its strides reach out of memory");
    if (!address && behind) return refuse("its elements are nowhere");
    field[0] = address;
    field[1] = (uint64_t)types[i].type;
    field[2] = address - (uint64_t)before;
    field[3] = address + (uint64_t)behind;
    field[4] = on_host ? POINTER_ON_HOST : 0;
    *index = on_host ? -1 : t->device.device_id;
    return true;
}

static PyObject *pointer_and_index(const uint64_t field[5], long index) {
    PyObject *number = index < 0 ? Py_NewRef(Py_None) : PyLong_FromLong(index);
    if (!number) return NULL;
    return Py_BuildValue("(KiKKI)N", (unsigned long long)field[0], (int)field[1],
                         (unsigned long long)field[2], (unsigned long long)field[3],
                         (unsigned)field[4], number);
}

PyObject *dlpack(PyObject *module, PyObject *capsule) {
    const DLTensor *t;
    unsigned bits = 0;
    uint64_t field[5];
    long index;
    (void)module;
    if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
        DLManagedTensorVersioned *m = PyCapsule_GetPointer(capsule, "dltensor_versioned");
        if (m->version.major != DLPACK_MAJOR_VERSION) {
            refuse("another major version");
            return NULL;
        }
        if (m->flags & DLPACK_FLAG_BITMASK_READ_ONLY) bits |= POINTER_READ_ONLY;
        t = &m->dl_tensor;
    } else if (PyCapsule_IsValid(capsule, "dltensor")) {
        t = &((DLManagedTensor *)PyCapsule_GetPointer(capsule, "dltensor"))->dl_tensor;
    } else {
        PyErr_SetString(PyExc_TypeError, "__dlpack__ gave no capsule of a tensor");
        return NULL;
    }
    if (!tensor_pointer(t, field, &index)) return NULL;
    field[4] |= bits;
    return pointer_and_index(field, index);
}

int exchange_pointer(State *state, PyObject *value, uint64_t field[5], long *index,
                     const Exchange **exchange) {
    const Exchange *e = known_of(state, Py_TYPE(value))->exchange;
    DLTensor t;
    if (!e) return 0;
    *exchange = e;
    if (e->describe(value, &t)) {
        if (!PyErr_Occurred()) refuse("its owner does not say where it is");
        return -1;
    }
    return tensor_pointer(&t, field, index) ? 1 : -1;
}

bool exchange_stream(const Exchange *e, long index, void **stream) {
    *stream = NULL;
    if (!e->current_stream || !e->current_stream(kDLCUDA, (int32_t)index, stream)) return true;
    if (!PyErr_Occurred()) refuse("its owner does not say which stream is the current one");
    return false;
}

PyObject *exchanged(PyObject *module, PyObject *value) {
    const Exchange *e;
    uint64_t field[5];
    long index;
    int has = exchange_pointer(PyModule_GetState(module), value, field, &index, &e);
    if (has == 0) return Py_NewRef(Py_None);
    return has > 0 ? pointer_and_index(field, index) : NULL;
}

PyObject *stream_of(PyObject *module, PyObject *args) {
    PyObject *value;
    int index;
    void *stream;
    if (!PyArg_ParseTuple(args, "Oi:stream_of", &value, &index)) return NULL;
    const Exchange *e = known_of(PyModule_GetState(module), Py_TYPE(value))->exchange;
    if (!e || !e->current_stream) return Py_NewRef(Py_None);
    if (!exchange_stream(e, index, &stream)) return NULL;
    return PyLong_FromUnsignedLongLong((unsigned long long)(uintptr_t)stream);
}
