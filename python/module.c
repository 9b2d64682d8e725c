/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* module.c: tile.h -> tilec._tilec, which the package's Python files use. Its types take what those
 * have checked and put in order; all the same no argument may bring the interpreter down. */
#include "python/module.h"

enum { TEXTS_AT_MOST = 65536 };

State *state_of(PyObject *self) {
    return PyType_GetModuleState(Py_TYPE(self));
}

/* A line of the text ends in a code, as the compiler's messages do: "… [E0201]". */
static bool has_code(const char *text) {
    enum { CODE = 5 };
    for (const char *at = strchr(text, '['); at; at = strchr(at + 1, '[')) {
        size_t digits = at[1] ? strspn(at + 2, "0123456789") : 0;
        if (strchr("ERWPC", at[1]) && digits == CODE - 1 && at[CODE + 1] == ']' &&
            strchr("\n", at[CODE + 2]))
            return true;
    }
    return false;
}

PyObject *raise_status(State *state, tile_status status, const char *text) {
    PyObject *type = state->error;
    if (status == TILE_NO_MEMORY) type = PyExc_MemoryError;
    if (status == TILE_COMPILE_ERROR) type = state->compilation;
    if (status == TILE_BAD_LAUNCH) type = state->launch;
    if (status == TILE_CHECK_FAILED) type = state->check;
    if (status == TILE_DEVICE_ERROR || status == TILE_NO_DEVICE || status == TILE_UNSUPPORTED)
        type = state->device;
    if (!text || !*text) text = tile_status_text(status);
    /* A message may quote a source that is no UTF-8. */
    PyObject *message = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
    if (message && !has_code(text)) {
        PyObject *said = PyUnicode_FromFormat("%U [%s]", message, tile_status_code(status));
        Py_DECREF(message);
        message = said;
    }
    if (message) PyErr_SetObject(type, message);
    Py_XDECREF(message);
    return NULL;
}

PyObject *raise_from(State *state, const tile_context *ctx, tile_status status) {
    return raise_status(state, status, ctx ? tile_error(ctx) : NULL);
}

void *new_object(PyTypeObject *type) {
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    return alloc(type, 0);
}

void free_object(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type); /* an object of a type made at run time holds it */
}

bool texts_of(PyObject *list, const char *what, const char ***out, int *n) {
    *out = NULL;
    *n = 0;
    if (!PyTuple_Check(list)) {
        PyErr_Format(PyExc_TypeError, "%s: a tuple of texts is wanted", what);
        return false;
    }
    Py_ssize_t size = PyTuple_Size(list);
    if (size < 0 || size > TEXTS_AT_MOST) {
        PyErr_Format(PyExc_ValueError, "%s: more than %d (the limit)", what, TEXTS_AT_MOST);
        return false;
    }
    const char **texts = PyMem_Malloc(((size_t)size + 1) * sizeof *texts);
    if (!texts) {
        PyErr_NoMemory();
        return false;
    }
    for (Py_ssize_t i = 0; i < size; i++) {
        PyObject *item = PyTuple_GetItem(list, i);
        Py_ssize_t len = 0;
        texts[i] = item ? PyUnicode_AsUTF8AndSize(item, &len) : NULL;
        if (texts[i] && strlen(texts[i]) != (size_t)len) {
            PyErr_Format(PyExc_ValueError, "%s: a text has a NUL in it", what);
            texts[i] = NULL;
        }
        if (!texts[i]) {
            PyMem_Free(texts);
            return false;
        }
    }
    *out = texts;
    *n = (int)size;
    return true;
}

/* ---- the module ---- */

/* In the stable ABI, and its only way to a buffer before 3.11, but gone from newer headers. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
PyAPI_FUNC(int) PyObject_AsReadBuffer(PyObject *object, const void **start, Py_ssize_t *len);

static PyObject *address(PyObject *module, PyObject *view) {
    const void *start = NULL;
    Py_ssize_t len = 0;
    int read_only = 0;
    (void)module;
    /* The caller's memoryview keeps the memory where it is. */
    if (!PyMemoryView_Check(view)) {
        PyErr_SetString(PyExc_TypeError, "a memoryview is wanted");
        return NULL;
    }
    PyObject *is_read_only = PyObject_GetAttrString(view, "readonly");
    if (!is_read_only) return NULL;
    read_only = PyObject_IsTrue(is_read_only);
    Py_DECREF(is_read_only);
    if (read_only < 0 || PyObject_AsReadBuffer(view, &start, &len)) return NULL;
    return Py_BuildValue("(Kni)", (unsigned long long)(uintptr_t)start, len, read_only);
}

static PyObject *is_number(PyObject *module, PyObject *args) {
    PyObject *value;
    int type;
    (void)module;
    if (!PyArg_ParseTuple(args, "iO:is_number", &type, &value)) return NULL;
    Launch l;
    bool is = launch_init(&l, 1) && launch_number(&l, 0, value, type);
    launch_free(&l);
    return PyBool_FromLong(is);
}

static PyObject *version(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
    return PyUnicode_FromString(tile_version());
}

static PyMethodDef methods[] = {
    {"compile", (PyCFunction)(void (*)(void))compile, METH_VARARGS | METH_KEYWORDS,
     PyDoc_STR("What tile_compile makes of a source.")},
    {"address", address, METH_O, PyDoc_STR("(address, bytes, read-only) of a memoryview.")},
    {"dlpack", dlpack, METH_O, PyDoc_STR("A pointer, and the GPU's number, of a capsule.")},
    {"exchanged", exchanged, METH_O,
     PyDoc_STR("The same of a tensor whose type has DLPack's exchange functions, else None.")},
    {"stream_of", stream_of, METH_VARARGS,
     PyDoc_STR("The stream that the library of a tensor uses now on a GPU; None: it says none.")},
    {"is_number", is_number, METH_VARARGS, PyDoc_STR("Is it a number of a tile_type?")},
    {"version", version, METH_NOARGS, PyDoc_STR("The version of the libraries.")},
    {NULL, NULL, 0, NULL},
};

static bool add_error(PyObject *module, const char *name, const char *doc, PyObject *base,
                      PyObject **out) {
    *out = PyErr_NewExceptionWithDoc(name, doc, base, NULL);
    return *out && PyModule_AddObjectRef(module, strchr(name, '.') + 1, *out) == 0;
}

static bool add_type(PyObject *module, PyType_Spec *spec, PyTypeObject **out) {
    *out = (PyTypeObject *)PyType_FromModuleAndSpec(module, spec, NULL);
    return *out && PyModule_AddType(module, *out) == 0;
}

static int start(PyObject *module) {
    State *s = PyModule_GetState(module);
    bool ok =
        add_error(module, "tilec.Error", "What the compiler or the runtime refuses.", NULL,
                  &s->error) &&
        add_error(module, "tilec.CompilationError",
                  "The kernel cannot be compiled: file, line and a caret under the place.",
                  s->error, &s->compilation) &&
        add_error(module, "tilec.LaunchError", "Arguments or grid do not fit the kernel.", s->error,
                  &s->launch) &&
        add_error(module, "tilec.CheckError", "The CPU device caught a mistake in the kernel.",
                  s->launch, &s->check) &&
        add_error(module, "tilec.DeviceError", "There is no such device, or its driver failed.",
                  s->error, &s->device) &&
        add_type(module, &context_spec, &s->context) && add_type(module, &jit_spec, &s->jit) &&
        add_type(module, &compiled_spec, &s->compiled) && add_type(module, &plan_spec, &s->plan) &&
        add_type(module, &launcher_spec, &s->launcher) &&
        add_type(module, &launchable_spec, &s->launchable) &&
        (s->array_struct = PyUnicode_InternFromString("__array_struct__")) != NULL;
    return ok ? 0 : -1;
}

static int visit_state(PyObject *module, visitproc visit, void *arg) {
    State *s = PyModule_GetState(module);
    if (!s) return 0;
    Py_VISIT(s->error);
    Py_VISIT(s->compilation);
    Py_VISIT(s->launch);
    Py_VISIT(s->check);
    Py_VISIT(s->device);
    Py_VISIT(s->context);
    Py_VISIT(s->jit);
    Py_VISIT(s->compiled);
    Py_VISIT(s->plan);
    Py_VISIT(s->launcher);
    Py_VISIT(s->launchable);
    for (int i = 0; i < KNOWN; i++) Py_VISIT(s->known[i].type);
    return 0;
}

static int clear_state(PyObject *module) {
    State *s = PyModule_GetState(module);
    if (!s) return 0;
    Py_CLEAR(s->error);
    Py_CLEAR(s->compilation);
    Py_CLEAR(s->launch);
    Py_CLEAR(s->check);
    Py_CLEAR(s->device);
    Py_CLEAR(s->context);
    Py_CLEAR(s->jit);
    Py_CLEAR(s->compiled);
    Py_CLEAR(s->plan);
    launcher_release(s);
    Py_CLEAR(s->launcher);
    Py_CLEAR(s->launchable);
    Py_CLEAR(s->array_struct);
    for (int i = 0; i < KNOWN; i++) Py_CLEAR(s->known[i].type);
    return 0;
}

static void free_state(void *module) {
    clear_state(module);
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)start}, {0, NULL}};
static PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "tilec._tilec",
    .m_doc = "tile.h for the package tilec.",
    .m_size = sizeof(State),
    .m_methods = methods,
    .m_slots = slots,
    .m_traverse = visit_state,
    .m_clear = clear_state,
    .m_free = free_state,
};

PyMODINIT_FUNC PyInit__tilec(void);
PyMODINIT_FUNC PyInit__tilec(void) {
    return PyModuleDef_Init(&definition);
}
