/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* launch.c: a grid and arguments -> tile_jit_launch. A pointer comes as a tuple of five integers:
 *
 *   address, tile_type of the elements, first byte, one past the last, POINTER_ bits
 *
 * and a number whose parameter is annotated with a type as a tuple of tile_type and number.
 *
 * A device that uses the host's memory is told of just these bytes, for this launch. Arguments may
 * overlap, so what overlaps becomes one buffer. Memory that may not be written is given as a copy,
 * and a kernel that changed the copy is an error: a store there would end the process. */
#include "python/module.h"

#include <stdlib.h>

enum { ARGUMENTS_AT_MOST = 4096 };

static bool integer_of(PyObject *value, int i, tile_arg *out) {
    int overflow = 0;
    long long v = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (v == -1 && PyErr_Occurred()) return false;
    if (overflow) {
        unsigned long long u = PyLong_AsUnsignedLongLong(value);
        if (PyErr_Occurred()) { /* below -2^63, or from 2^64 on */
            PyErr_Format(PyExc_OverflowError, "argument %d: %R does not fit 64 bits", i, value);
            return false;
        }
        *out = tile_int(TILE_U64, (int64_t)u);
    } else {
        *out = tile_int(v >= INT32_MIN && v <= INT32_MAX ? TILE_I32 : TILE_I64, v);
    }
    return true;
}

/* A number as a parameter's annotation wants it. False: it is none of that type; no exception is
 * set. */
bool launch_number(Launch *l, int i, PyObject *value, int type) {
    if (type == TILE_FP16 || type == TILE_BF16 || type == TILE_FP32 || type == TILE_FP64) {
        if (!PyFloat_Check(value) && !PyLong_Check(value)) return false;
        double v = PyFloat_AsDouble(value);
        l->args[i] = tile_float((tile_type)type, v);
        if (v != -1 || !PyErr_Occurred()) return true;
        PyErr_Clear(); /* too large */
        return false;
    }
    static const struct {
        int64_t low;
        uint64_t high;
    } range[] = {
        [TILE_I1] = {0, 1},
        [TILE_I8] = {INT8_MIN, INT8_MAX},
        [TILE_I16] = {INT16_MIN, INT16_MAX},
        [TILE_I32] = {INT32_MIN, INT32_MAX},
        [TILE_I64] = {INT64_MIN, INT64_MAX},
        [TILE_U8] = {0, UINT8_MAX},
        [TILE_U16] = {0, UINT16_MAX},
        [TILE_U32] = {0, UINT32_MAX},
        [TILE_U64] = {0, UINT64_MAX},
    };
    if (type < TILE_I1 || type > TILE_U64 || !PyLong_Check(value)) return false;
    int overflow = 0;
    int64_t v = PyLong_AsLongLongAndOverflow(value, &overflow);
    uint64_t u = overflow > 0 ? PyLong_AsUnsignedLongLong(value) : (uint64_t)v;
    bool ok = !PyErr_Occurred() && overflow >= 0 && (overflow > 0 || v >= range[type].low) &&
              ((!overflow && v < 0) || u <= range[type].high);
    PyErr_Clear();
    if (ok) l->args[i] = tile_int((tile_type)type, (int64_t)u);
    return ok;
}

bool launch_pointer(Launch *l, int i, const uint64_t field[5], bool on_host) {
    if (field[1] > TILE_FP64 || field[3] < field[2]) {
        PyErr_Format(PyExc_ValueError, "argument %d: no pointer", i);
        return false;
    }
    l->args[i] = tile_typed_pointer((tile_type)field[1], field[0]);
    if (!on_host == !(field[4] & POINTER_ON_HOST)) {
        if (on_host && field[3] > field[2])
            l->range[l->nranges++] = (Range){field[2], field[3], field[4] & POINTER_READ_ONLY, i};
        return true;
    }
    PyErr_Format(PyExc_ValueError, "argument %d lies in memory of %s, the kernel runs on %s", i,
                 on_host ? "a GPU" : "the host", on_host ? "the CPU" : "a GPU");
    return false;
}

static bool pointer_of(PyObject *tuple, int i, Launch *l, bool on_host) {
    uint64_t field[5];
    for (Py_ssize_t k = 0; k < 5; k++) {
        PyObject *item = PyTuple_GetItem(tuple, k);
        if (!item) return false;
        field[k] = PyLong_AsUnsignedLongLong(item);
        if (PyErr_Occurred()) return false;
    }
    return launch_pointer(l, i, field, on_host);
}

static bool typed_number(PyObject *tuple, int i, Launch *l) {
    PyObject *type = PyTuple_GetItem(tuple, 0);
    if (PyLong_Check(type) &&
        launch_number(l, i, PyTuple_GetItem(tuple, 1), (int)PyLong_AsLong(type)))
        return true;
    PyErr_Clear();
    PyErr_Format(PyExc_ValueError, "argument %d is no number of its type", i);
    return false;
}

bool launch_leaf(Launch *l, int i, PyObject *value, bool on_host) {
    if (PyLong_CheckExact(value)) return integer_of(value, i, &l->args[i]);
    if (value == Py_None)
        l->args[i] = tile_none();
    else if (PyBool_Check(value))
        l->args[i] = tile_int(TILE_I1, value == Py_True);
    else if (PyFloat_Check(value))
        l->args[i] = tile_float(TILE_FP32, PyFloat_AsDouble(value));
    else if (PyLong_Check(value))
        return integer_of(value, i, &l->args[i]);
    else if (PyTuple_Check(value) && PyTuple_Size(value) == 5)
        return pointer_of(value, i, l, on_host);
    else if (PyTuple_Check(value) && PyTuple_Size(value) == 2)
        return typed_number(value, i, l);
    else {
        PyErr_Format(PyExc_TypeError, "argument %d cannot be passed to a kernel", i);
        return false;
    }
    return true;
}

bool launch_init(Launch *l, Py_ssize_t n) {
    l->args = l->few_args;
    l->range = l->few_ranges;
    l->nranges = 0;
    l->nargs = (int)n;
    l->has_grid = false;
    l->stream = NULL;
    if (n >= 0 && n <= FEW) return true;
    l->args = NULL;
    l->range = NULL;
    if (n < 0 || n > ARGUMENTS_AT_MOST) {
        PyErr_Format(PyExc_ValueError, "a launch takes %d arguments at most", ARGUMENTS_AT_MOST);
        return false;
    }
    l->args = PyMem_Malloc((size_t)n * sizeof *l->args);
    l->range = PyMem_Malloc((size_t)n * sizeof *l->range);
    if (l->args && l->range) return true;
    PyErr_NoMemory();
    return false;
}

void launch_free(Launch *l) {
    if (l->args != l->few_args) PyMem_Free(l->args);
    if (l->range != l->few_ranges) PyMem_Free(l->range);
}

static bool read_args(PyObject *tuple, Launch *l, bool on_host) {
    if (!launch_init(l, PyTuple_Size(tuple))) return false;
    for (int i = 0; i < l->nargs; i++) {
        PyObject *value = PyTuple_GetItem(tuple, i);
        if (!value || !launch_leaf(l, i, value, on_host)) return false;
    }
    return true;
}

bool launch_grid(PyObject *grid, Launch *l) {
    l->has_grid = grid != Py_None;
    if (!l->has_grid) return true;
    Py_ssize_t n = PyTuple_Check(grid) ? PyTuple_Size(grid) : -1;
    if (n < 1 || n > 3) {
        PyErr_SetString(PyExc_TypeError, "a grid is a tuple of one to three integers");
        return false;
    }
    uint32_t axis[3] = {1, 1, 1};
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = PyTuple_GetItem(grid, i);
        if (!item) return false;
        long long v = PyLong_AsLongLong(item);
        bool wrong = v == -1 && PyErr_Occurred();
        if (wrong && !PyErr_ExceptionMatches(PyExc_OverflowError)) {
            PyErr_Format(PyExc_TypeError,
                         "axis %d of the grid is %R: a grid is one to three integers", (int)i,
                         item);
            return false;
        }
        if (v < 0 || v > INT32_MAX) {
            PyErr_Format(PyExc_ValueError, "axis %d of the grid is not between 0 and 2147483647",
                         (int)i);
            return false;
        }
        axis[i] = (uint32_t)v;
    }
    l->grid = (tile_grid){axis[0], axis[1], axis[2]};
    return true;
}

/* ---- the host's memory; without the interpreter's lock from here on ---- */

typedef struct Copy {
    unsigned char *memory, *bytes; /* malloc'ed; the copy in it, as aligned as what it is of */
    const unsigned char *of;
    size_t len;
} Copy;

static int by_start(const void *a, const void *b) {
    const Range *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

/* A copy for the pointers of ranges `first` to `last`, which all are read-only. */
static bool copy_for(Launch *l, int first, int last, uint64_t end, Copy *c) {
    enum { ALIGNED = 256 };
    uint64_t start = l->range[first].start;
    c->len = (size_t)(end - start);
    c->memory = malloc(c->len + 2 * ALIGNED);
    if (!c->memory) return false;
    uintptr_t base = ((uintptr_t)c->memory + ALIGNED - 1) / ALIGNED * ALIGNED;
    c->bytes = c->memory + (base - (uintptr_t)c->memory) + start % ALIGNED;
    c->of = (const unsigned char *)(uintptr_t)start;
    memcpy(c->bytes, c->of, c->len);
    for (int i = first; i < last; i++) {
        tile_arg *a = &l->args[l->range[i].arg];
        a->value.p += (uint64_t)(uintptr_t)c->bytes - start;
    }
    return true;
}

/* Takes the pointers that overlap with range i; the next range that does not, and where they end.
 */
static int overlapping(const Launch *l, int i, uint64_t *end, bool *read_only) {
    *end = l->range[i].end;
    *read_only = l->range[i].read_only;
    for (i++; i < l->nranges && l->range[i].start < *end; i++) {
        if (l->range[i].end > *end) *end = l->range[i].end;
        *read_only = *read_only && l->range[i].read_only;
    }
    return i;
}

static tile_status start(const Jit *jit, Launch *l) {
    return tile_jit_launch(jit->jit, l->has_grid ? &l->grid : NULL, l->args, l->nargs, l->stream);
}

static tile_status start_on_host(const Jit *jit, Launch *l) {
    tile_context *ctx = jit->context->ctx;
    tile_status st = TILE_OK;
    Copy *copy = calloc((size_t)l->nranges + 1, sizeof *copy);
    tile_ptr *known = calloc((size_t)l->nranges + 1, sizeof *known);
    int ncopies = 0, nknown = 0;
    if (!copy || !known) st = tile_context_fail(ctx, TILE_NO_MEMORY, "no memory for a launch");
    qsort(l->range, (size_t)l->nranges, sizeof *l->range, by_start);
    for (int i = 0, next; !st && i < l->nranges; i = next) {
        uint64_t end;
        bool read_only;
        next = overlapping(l, i, &end, &read_only);
        void *memory = (void *)(uintptr_t)l->range[i].start;
        size_t len = (size_t)(end - l->range[i].start);
        if (read_only && copy_for(l, i, next, end, &copy[ncopies]))
            memory = copy[ncopies++].bytes;
        else if (read_only)
            st = tile_context_fail(ctx, TILE_NO_MEMORY, "no memory to copy what is read-only");
        if (!st) st = tile_wrap(ctx, memory, len, &known[nknown]);
        if (!st) nknown++;
    }
    if (!st) st = start(jit, l);
    for (int i = 0; i < nknown; i++) { /* a failure is what was said first */
        tile_status freed = tile_free(ctx, known[i]);
        if (!st) st = freed;
    }
    for (int i = 0; i < ncopies; i++) {
        if (!st && memcmp(copy[i].bytes, copy[i].of, copy[i].len) != 0)
            st = tile_context_fail(ctx, TILE_BAD_LAUNCH,
                                   "the kernel writes to an argument that is read-only");
        free(copy[i].memory);
    }
    free(copy);
    free(known);
    return st;
}

/* What the kernel printed goes where Python's print would write it. */
static bool show(char *printed) {
    PyObject *out = printed ? PySys_GetObject("stdout") : NULL; /* borrowed */
    bool ok = true;
    if (out && out != Py_None) {
        PyObject *text = PyUnicode_DecodeUTF8(printed, (Py_ssize_t)strlen(printed), "replace");
        Py_INCREF(out);
        ok = text && PyFile_WriteObject(text, out, Py_PRINT_RAW) == 0;
        Py_DECREF(out);
        Py_XDECREF(text);
    }
    free(printed);
    return ok;
}

tile_status launch_start(Jit *jit, Launch *l, char **printed) {
    Context *context = jit->context;
    tile_status st;
    *printed = NULL;
    Py_BEGIN_ALLOW_THREADS if (context->on_host) {
        /* There is nothing to wait for; but a child of fork, whose lock a thread of its parent may
         * have had, learns that it is one. */
        st = tile_synchronize(context->ctx);
        if (!st) {
            pthread_mutex_lock(&context->lock);
            st = start_on_host(jit, l);
            *printed = context->printed;
            context->printed = NULL;
            context->printed_len = 0;
            context->printed_cut = false;
            pthread_mutex_unlock(&context->lock);
        }
    }
    else {
        st = start(jit, l);
    }
    Py_END_ALLOW_THREADS return st;
}

/* A warning of the compiler's, and where it is, is for Python's warnings. */
static bool tell(const Jit *jit, const tile_diagnostic *d, const char *code) {
    PyObject *done = PyObject_CallFunction(jit->tell, "sIIss", d->file ? d->file : "", d->line,
                                           d->column, d->text, code);
    Py_XDECREF(done);
    return done != NULL;
}

/* The variant has not been heard of; it has from now on. False, too, where there is no memory. */
static bool is_new(Jit *jit, tile_kernel *variant) {
    for (int i = 0; i < jit->ntold; i++)
        if (jit->told[i] == variant) return false;
    tile_kernel **more = realloc(jit->told, (size_t)(jit->ntold + 1) * sizeof *more);
    if (!more) return false;
    jit->told = more;
    jit->told[jit->ntold++] = variant;
    return true;
}

/* What was said of the launch's variant, once: other threads may have made others meanwhile. */
static bool tell_warnings(Jit *jit, const Launch *l) {
    int variants;
    tile_jit_counts(jit->jit, &variants, NULL);
    if (variants == jit->ntold || jit->tell == Py_None) return true;
    tile_kernel *variant = NULL;
    const tile_compiled *said = NULL;
    if (tile_jit_kernel(jit->jit, l->args, l->nargs, &variant) || !is_new(jit, variant))
        return true;
    const tile_diagnostic *d;
    tile_jit_diagnostics(jit->jit, l->args, l->nargs, &said);
    for (int i = 0, n = tile_compiled_diagnostics(said, &d); i < n; i++)
        if (d[i].severity == TILE_SEVERITY_WARNING &&
            !tell(jit, &d[i], tile_compiled_code(said, i)))
            return false;
    return true;
}

PyObject *launch_end(Jit *jit, const Launch *l, tile_status status, char *printed) {
    if (!show(printed)) return NULL;
    if (status) return raise_from(state_of((PyObject *)jit), jit->context->ctx, status);
    return tell_warnings(jit, l) ? Py_NewRef(Py_None) : NULL;
}

PyObject *launch_run(Jit *jit, Launch *l) {
    char *printed;
    tile_status status = launch_start(jit, l, &printed);
    return launch_end(jit, l, status, printed);
}

static PyObject *launch(PyObject *object, PyObject *args) {
    Jit *self = (Jit *)object;
    PyObject *grid, *list, *stream, *result = NULL;
    if (!PyArg_ParseTuple(args, "OO!O!:launch", &grid, &PyTuple_Type, &list, &PyLong_Type, &stream))
        return NULL;
    void *handle = (void *)(uintptr_t)PyLong_AsUnsignedLongLong(stream);
    if (PyErr_Occurred()) return NULL;
    Launch l;
    if (read_args(list, &l, self->context->on_host) && launch_grid(grid, &l)) {
        l.stream = handle;
        result = launch_run(self, &l);
    }
    launch_free(&l);
    return result;
}

/* ---- asking which entry a launch takes ---- */

typedef struct Entries {
    PyObject *name, *not_by; /* name NULL: none yet; not_by NULL: an exception is set */
} Entries;

static void see_entry(void *user, const char *entry, const char *why_not) {
    Entries *e = user;
    if (!e->not_by) return;
    PyObject *text = PyUnicode_FromString(why_not ? why_not : entry);
    bool kept = text && (!why_not || PyDict_SetItemString(e->not_by, entry, text) == 0);
    if (!kept) Py_CLEAR(e->not_by);
    if (kept && !why_not)
        e->name = text;
    else
        Py_XDECREF(text);
}

/* May compile. */
static tile_status variant_of(const Jit *jit, const Launch *l, tile_kernel **out) {
    tile_status st;
    Py_BEGIN_ALLOW_THREADS st = tile_jit_kernel(jit->jit, l->args, l->nargs, out);
    Py_END_ALLOW_THREADS return st;
}

static PyObject *ask_entry(const Jit *jit, const Launch *l) {
    const tile_grid *grid = l->has_grid ? &l->grid : NULL;
    Entries e = {NULL, PyDict_New()};
    tile_kernel *kernel;
    tile_status st = variant_of(jit, l, &kernel);
    if (!st) st = tile_kernel_entry(kernel, grid, l->args, l->nargs, see_entry, &e);
    if (st) raise_from(state_of((PyObject *)jit), jit->context->ctx, st);
    if (!e.name) e.name = Py_NewRef(Py_None); /* there are no programs */
    PyObject *result = st || !e.not_by ? NULL : PyTuple_Pack(2, e.name, e.not_by);
    Py_XDECREF(e.name);
    Py_XDECREF(e.not_by);
    return result;
}

static PyObject *entry(PyObject *object, PyObject *args) {
    const Jit *self = (const Jit *)object;
    PyObject *grid, *list, *result = NULL;
    if (!PyArg_ParseTuple(args, "OO!:entry", &grid, &PyTuple_Type, &list)) return NULL;
    Launch l;
    if (read_args(list, &l, self->context->on_host) && launch_grid(grid, &l))
        result = ask_entry(self, &l);
    launch_free(&l);
    return result;
}

/* ---- the type ---- */

static PyObject *jit_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"context", "source",  "file",   "kernel", "signature",
                            "defines", "options", "folder", "tell",   NULL};
    PyObject *context, *defines, *heard = Py_None;
    const char *source, *file, *kernel, *signature, *options, *folder;
    Py_ssize_t len;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "Os#sszOzz|O:Jit", names, &context, &source,
                                     &len, &file, &kernel, &signature, &defines, &options, &folder,
                                     &heard))
        return NULL;
    State *state = PyType_GetModuleState(type);
    if (!PyObject_TypeCheck(context, state->context)) {
        PyErr_SetString(PyExc_TypeError, "context: a Context is wanted");
        return NULL;
    }
    tile_compile_options o = {0};
    const char **texts;
    if (!texts_of(defines, "defines", &texts, &o.ndefines)) return NULL;
    Jit *self = new_object(type);
    if (self) {
        self->context = (Context *)Py_NewRef(context);
        self->tell = Py_NewRef(heard);
        o.source = source;
        o.source_len = (size_t)len;
        o.file_name = file;
        o.kernel = kernel;
        o.signature = signature;
        o.ignore_annotations = 1;
        o.defines = texts;
        o.options = options;
        tile_context *ctx = self->context->ctx;
        tile_status st;
        Py_BEGIN_ALLOW_THREADS st = tile_jit_create(ctx, &o, folder, &self->jit);
        Py_END_ALLOW_THREADS if (st) {
            raise_from(state, ctx, st);
            Py_DECREF(self);
            self = NULL;
        }
    }
    PyMem_Free(texts);
    return (PyObject *)self;
}

static void jit_dealloc(PyObject *object) {
    Jit *self = (Jit *)object;
    tile_jit_destroy(self->jit);
    Py_XDECREF(self->tell);
    free(self->told);
    Py_XDECREF(self->context);
    free_object(object);
}

static PyObject *counts(PyObject *object, PyObject *unused) {
    int variants, from_disk;
    (void)unused;
    tile_jit_counts(((Jit *)object)->jit, &variants, &from_disk);
    return Py_BuildValue("(ii)", variants, from_disk);
}

static PyMethodDef methods[] = {
    {"launch", launch, METH_VARARGS, PyDoc_STR("launch(grid, args, stream)")},
    {"entry", entry, METH_VARARGS, PyDoc_STR("entry(grid, args)")},
    {"counts", counts, METH_NOARGS, PyDoc_STR("Variants in memory, and how many were on disk.")},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot slots[] = {
    {Py_tp_new, (void *)jit_new},
    {Py_tp_dealloc, (void *)jit_dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};
PyType_Spec jit_spec = {
    .name = "tilec._tilec.Jit",
    .basicsize = sizeof(Jit),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};
