/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* compile.c: a source and options -> tile_compile -> an object of type Compiled with its texts. */
#include "python/module.h"

#include <stdlib.h>

typedef struct Compiled {
    PyObject_HEAD tile_compiled *compiled;
} Compiled;

PyObject *compile(PyObject *module, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"source", "file", "kernel", "signature", "defines", "options",
                            "target", "emit", "stats",  "report",    NULL};
    State *state = PyModule_GetState(module);
    tile_compile_options o = {0};
    PyObject *defines;
    Py_ssize_t len;
    int emit;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "s#sszOzzipp:compile", names, &o.source, &len,
                                     &o.file_name, &o.kernel, &o.signature, &defines, &o.options,
                                     &o.target, &emit, &o.stats, &o.report))
        return NULL;
    if (emit < TILE_EMIT_PTX || emit > TILE_EMIT_CONFIGS) {
        PyErr_SetString(PyExc_ValueError, "emit: there is no such output");
        return NULL;
    }
    const char **texts;
    if (!texts_of(defines, "defines", &texts, &o.ndefines)) return NULL;
    o.source_len = (size_t)len;
    o.defines = texts;
    o.ignore_annotations = 1;
    o.emit = (tile_emit)emit;
    Compiled *self = new_object(state->compiled);
    if (self) {
        tile_status st;
        Py_BEGIN_ALLOW_THREADS st = tile_compile(&o, &self->compiled);
        Py_END_ALLOW_THREADS if (st) {
            const char *text = NULL;
            if (self->compiled)
                text = tile_compiled_text(self->compiled, TILE_PART_DIAGNOSTICS, NULL);
            raise_status(state, st, text);
            Py_DECREF(self);
            self = NULL;
        }
    }
    PyMem_Free(texts);
    return (PyObject *)self;
}

static void compiled_dealloc(PyObject *object) {
    tile_compiled_free(((Compiled *)object)->compiled);
    free_object(object);
}

static PyObject *no_objects(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    (void)type;
    (void)args;
    (void)kwargs;
    PyErr_SetString(PyExc_TypeError, "tilec.compile makes these");
    return NULL;
}

static PyObject *text(PyObject *object, PyObject *args) {
    int part;
    size_t len = 0;
    if (!PyArg_ParseTuple(args, "i:text", &part)) return NULL;
    if (part < TILE_PART_OUTPUT || part > TILE_PART_FILES) {
        PyErr_SetString(PyExc_ValueError, "there is no such part");
        return NULL;
    }
    const char *t = tile_compiled_text(((Compiled *)object)->compiled, (tile_part)part, &len);
    return PyUnicode_DecodeUTF8(t, (Py_ssize_t)len, "replace");
}

static PyObject *report(PyObject *object, PyObject *args) {
    int format;
    char *written = NULL;
    size_t len = 0;
    if (!PyArg_ParseTuple(args, "i:report", &format)) return NULL;
    if (format < TILE_REPORT_TEXT || format > TILE_REPORT_HTML) {
        PyErr_SetString(PyExc_ValueError, "there is no such format");
        return NULL;
    }
    tile_status st;
    Py_BEGIN_ALLOW_THREADS st = tile_report_write(((Compiled *)object)->compiled,
                                                  (tile_report_format)format, &written, &len);
    Py_END_ALLOW_THREADS if (st) return raise_status(state_of(object), st, NULL);
    PyObject *result = PyUnicode_DecodeUTF8(written, (Py_ssize_t)len, "replace");
    free(written);
    return result;
}

static PyMethodDef methods[] = {
    {"text", text, METH_VARARGS, PyDoc_STR("A part, by its number in tile.h.")},
    {"report", report, METH_VARARGS, PyDoc_STR("The report, by its format's number in tile.h.")},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot slots[] = {
    {Py_tp_new, (void *)no_objects},
    {Py_tp_dealloc, (void *)compiled_dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};
PyType_Spec compiled_spec = {
    .name = "tilec._tilec.Compiled",
    .basicsize = sizeof(Compiled),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};
