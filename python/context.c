/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* context.c: a device's name -> an object of type Context, which keeps a tile_context. */
#include "python/module.h"

#include <stdlib.h>

enum { PRINTED_AT_MOST = 1 << 24 };

/* Kernels print without the interpreter's lock, so it is kept and written out after the launch. */
static void keep_printed(void *user, const char *text, size_t len) {
    Context *self = user;
    if (self->printed_cut) return;
    if (len > PRINTED_AT_MOST - self->printed_len) {
        static const char note[] = "... more than 16 MB in one launch: the rest is left out\n";
        self->printed_cut = true;
        text = note;
        len = sizeof note - 1;
    }
    char *longer = realloc(self->printed, self->printed_len + len + 1);
    if (!longer) return;
    memcpy(longer + self->printed_len, text, len);
    self->printed = longer;
    self->printed_len += len;
    longer[self->printed_len] = '\0';
}

static PyObject *context_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    const char *device;
    if (kwargs && PyDict_Size(kwargs)) {
        PyErr_SetString(PyExc_TypeError, "Context takes no arguments by name");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "s:Context", &device)) return NULL;
    Context *self = new_object(type);
    if (!self) return NULL;
    if (pthread_mutex_init(&self->lock, NULL)) {
        free_object((PyObject *)self);
        return PyErr_NoMemory();
    }
    tile_status st;
    Py_BEGIN_ALLOW_THREADS st = tile_context_create(device, &self->ctx);
    if (!st) st = tile_context_set_print(self->ctx, keep_printed, self);
    Py_END_ALLOW_THREADS if (st) {
        raise_from(state_of((PyObject *)self), self->ctx, st);
        Py_DECREF(self);
        return NULL;
    }
    const char *name = tile_context_device_name(self->ctx);
    self->on_host = tile_context_cuda(self->ctx) == NULL && name != NULL;
    return (PyObject *)self;
}

static void context_dealloc(PyObject *object) {
    Context *self = (Context *)object;
    if (self->ctx) {
        Py_BEGIN_ALLOW_THREADS tile_context_destroy(self->ctx);
        Py_END_ALLOW_THREADS
    }
    pthread_mutex_destroy(&self->lock);
    free(self->printed);
    free_object(object);
}

static PyObject *synchronize(PyObject *object, PyObject *args) {
    Context *self = (Context *)object;
    PyObject *stream = NULL;
    if (!PyArg_ParseTuple(args, "|O:synchronize", &stream)) return NULL;
    unsigned long long handle = 0;
    if (stream) {
        handle = PyLong_AsUnsignedLongLong(stream);
        if (PyErr_Occurred()) return NULL;
    }
    tile_status st;
    Py_BEGIN_ALLOW_THREADS st = stream
                                    ? tile_synchronize_stream(self->ctx, (void *)(uintptr_t)handle)
                                    : tile_synchronize(self->ctx);
    Py_END_ALLOW_THREADS if (st) return raise_from(state_of(object), self->ctx, st);
    Py_RETURN_NONE;
}

/* Overwrites what the GPU's cache holds, with more than it could; what is put into the stream next
 * arrives while that goes on, so that a kernel's time has nothing of the host's in it. */
static tile_status clear_cache(Context *self, void *stream) {
    enum { BYTES = 128 << 20 };
    tile_status st = TILE_OK;
    if (!self->cleared) st = tile_alloc(self->ctx, 2 * (size_t)BYTES, &self->cleared);
    return st ? st
              : tile_copy_on_device(self->ctx, self->cleared, self->cleared + BYTES, BYTES, stream);
}

static PyObject *timed(PyObject *object, PyObject *args) {
    Context *self = (Context *)object;
    PyObject *function, *stream, *result = NULL;
    int clear;
    if (!PyArg_ParseTuple(args, "OOp:timed", &function, &stream, &clear)) return NULL;
    void *handle = (void *)(uintptr_t)PyLong_AsUnsignedLongLong(stream);
    if (PyErr_Occurred()) return NULL;
    tile_event *start = NULL, *end = NULL;
    double milliseconds = 0;
    tile_status st = TILE_OK;
    Py_BEGIN_ALLOW_THREADS if (clear && !self->on_host) st = clear_cache(self, handle);
    if (!st) st = tile_event_record(self->ctx, handle, &start);
    Py_END_ALLOW_THREADS if (!st) result = PyObject_CallNoArgs(function);
    if (result) {
        Py_BEGIN_ALLOW_THREADS st = tile_event_record(self->ctx, handle, &end);
        if (!st) st = tile_event_elapsed(start, end, &milliseconds);
        Py_END_ALLOW_THREADS
    }
    if (st) raise_from(state_of(object), self->ctx, st);
    bool ok = result && !st;
    Py_XDECREF(result);
    tile_event_destroy(start);
    tile_event_destroy(end);
    return ok ? PyFloat_FromDouble(milliseconds) : NULL;
}

static PyObject *set_checks(PyObject *object, PyObject *args) {
    Context *self = (Context *)object;
    int checks;
    if (!PyArg_ParseTuple(args, "i:set_checks", &checks)) return NULL;
    if (checks < 0) return raise_status(state_of(object), TILE_INVALID, "checks: a sum of bits");
    tile_status st = tile_context_set_checks(self->ctx, (unsigned)checks);
    if (st) return raise_from(state_of(object), self->ctx, st);
    Py_RETURN_NONE;
}

static PyObject *set_launch_graphs(PyObject *object, PyObject *args) {
    Context *self = (Context *)object;
    int at_most;
    if (!PyArg_ParseTuple(args, "i:set_launch_graphs", &at_most)) return NULL;
    tile_status st;
    Py_BEGIN_ALLOW_THREADS st = tile_context_set_launch_graphs(self->ctx, at_most);
    Py_END_ALLOW_THREADS if (st) return raise_from(state_of(object), self->ctx, st);
    Py_RETURN_NONE;
}

static PyObject *name_of(PyObject *object, void *unused) {
    (void)unused;
    return PyUnicode_FromString(tile_context_device_name(((Context *)object)->ctx));
}

static PyObject *target_of(PyObject *object, void *unused) {
    (void)unused;
    return PyUnicode_FromString(tile_context_target(((Context *)object)->ctx));
}

static PyObject *on_host(PyObject *object, void *unused) {
    (void)unused;
    return PyBool_FromLong(((Context *)object)->on_host);
}

static PyMethodDef methods[] = {
    {"synchronize", synchronize, METH_VARARGS,
     PyDoc_STR("Waits for the device, or for one stream.")},
    {"timed", timed, METH_VARARGS,
     PyDoc_STR("timed(function, stream, clear): milliseconds between events before and behind "
               "function(); clear: a GPU's cache is overwritten first.")},
    {"set_checks", set_checks, METH_VARARGS, PyDoc_STR("TILE_CHECK_ bits, for the CPU device.")},
    {"set_launch_graphs", set_launch_graphs, METH_VARARGS,
     PyDoc_STR("How many kernels are launched as CUDA graphs, on a GPU.")},
    {NULL, NULL, 0, NULL},
};
static PyGetSetDef fields[] = {
    {"name", name_of, NULL, PyDoc_STR("\"NVIDIA H200\", \"CPU (interpreter)\""), NULL},
    {"target", target_of, NULL, PyDoc_STR("What to compile for: \"sm_90a\", \"cpu\""), NULL},
    {"on_host", on_host, NULL, PyDoc_STR("Kernels use the host's memory."), NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyType_Slot slots[] = {
    {Py_tp_new, (void *)context_new},
    {Py_tp_dealloc, (void *)context_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_getset, fields},
    {0, NULL},
};
PyType_Spec context_spec = {
    .name = "tilec._tilec.Context",
    .basicsize = sizeof(Context),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};
