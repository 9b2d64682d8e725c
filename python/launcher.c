/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* launcher.c: kernel[grid] -> an object of type Launcher; a call of it -> the plan that suits, else
 * the long way, the kernel's _launch. */
#include "python/plan.h"

#include <limits.h>
#include <stddef.h>
#include <structmember.h>

/* Calls by vector: Python's PEP 590. The stable ABI has its names from 3.12 on, and 3.10 and 3.11
 * lay it out alike. */
typedef PyObject *(*Vectorcall)(PyObject *callable, PyObject *const *args, size_t nargs,
                                PyObject *names);
enum { HAS_VECTORCALL = 1 << 11 };
static const size_t nargs_mask = ~((size_t)1 << (8 * sizeof(size_t) - 1));

/* What kernels, and those around them, have in common: kernel[grid] is a Launcher, and a call may
 * have a plan among `_plans`. */
typedef struct Launchable {
    PyObject_HEAD State *state;
    PyObject *plans; /* a tuple, or NULL */
    Py_ssize_t last; /* of the plans: the next one or the same is mostly what comes */
} Launchable;

typedef struct Launcher {
    PyObject_HEAD Launchable *kernel;
    PyObject *grid;
    State *state;
    Vectorcall call;
} Launcher;

/* ---- a call ---- */

static PyObject *launch_long(const Launcher *l, const Call *call) {
    PyObject *result = NULL, *args = PyTuple_New(call->npositional), *kwargs = PyDict_New();
    bool ok = args && kwargs;
    for (int i = 0; ok && i < call->npositional; i++)
        ok = PyTuple_SetItem(args, i, Py_NewRef(call->value[i])) == 0;
    for (Py_ssize_t i = 0, n = call->names ? PyTuple_Size(call->names) : 0; ok && i < n; i++)
        ok = PyDict_SetItem(kwargs, PyTuple_GetItem(call->names, i),
                            call->value[call->npositional + i]) == 0;
    if (ok)
        result =
            PyObject_CallMethod((PyObject *)l->kernel, "_launch", "OOO", l->grid, args, kwargs);
    Py_XDECREF(args);
    Py_XDECREF(kwargs);
    return result;
}

static PyObject *call_by_vector(PyObject *object, PyObject *const *args, size_t nargs,
                                PyObject *names) {
    Launcher *self = (Launcher *)object;
    nargs &= nargs_mask;
    if (nargs > INT_MAX / 2) return PyErr_NoMemory();
    Call call = {args, (int)nargs, names};
    PyObject *plans = self->kernel->plans, *result = NULL;
    bool decided = false;
    Py_ssize_t n = plans && PyTuple_CheckExact(plans) ? PyTuple_Size(plans) : 0;
    Py_XINCREF(plans); /* what a launch calls may make others */
    Py_ssize_t at = self->kernel->last;
    for (Py_ssize_t i = 0; i < n && !decided; i++, at++) {
        if (at >= n) at = 0;
        PyObject *plan = PyTuple_GetItem(plans, at);
        if (Py_TYPE(plan) != self->state->plan || !plan_suits((Plan *)plan, &call)) continue;
        self->kernel->last = at;
        result = plan_run((Plan *)plan, self->grid, &call, &decided);
    }
    Py_XDECREF(plans);
    if (decided) return result;
    PyErr_Clear();
    return launch_long(self, &call);
}

/* A tuple and a dict, as a program calls that has them. */
static PyObject *call_by_tuple(PyObject *object, PyObject *args, PyObject *kwargs) {
    Py_ssize_t npositional = PyTuple_Size(args), nnamed = kwargs ? PyDict_Size(kwargs) : 0;
    PyObject *names = PyTuple_New(nnamed), *result = NULL, *name, *value;
    PyObject **values = PyMem_Malloc(((size_t)(npositional + nnamed) + 1) * sizeof *values);
    bool ok = names && values;
    if (!ok) PyErr_NoMemory();
    for (Py_ssize_t i = 0; ok && i < npositional; i++) values[i] = PyTuple_GetItem(args, i);
    Py_ssize_t at = 0, k = 0;
    while (ok && nnamed && PyDict_Next(kwargs, &at, &name, &value)) {
        ok = PyTuple_SetItem(names, k, Py_NewRef(name)) == 0;
        values[npositional + k++] = value;
    }
    if (ok) result = call_by_vector(object, values, (size_t)npositional, names);
    PyMem_Free(values);
    Py_XDECREF(names);
    return result;
}

/* ---- the types ---- */

/* Most live for one call: the memory of one is kept for the next. */
static PyObject *new_launcher(State *state, PyObject *kernel, PyObject *grid) {
    Launcher *self = state->spare;
    if (self)
        PyObject_Init((PyObject *)self, state->launcher);
    else
        self = new_object(state->launcher);
    if (!self) return NULL;
    state->spare = NULL;
    self->kernel = (Launchable *)Py_NewRef(kernel);
    self->grid = Py_NewRef(grid);
    self->state = state;
    self->call = call_by_vector;
    return (PyObject *)self;
}

void launcher_release(State *state) {
    PyObject_Free(state->spare);
    state->spare = NULL;
}

static PyObject *launcher_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *kernel, *grid;
    (void)kwargs;
    State *state = PyType_GetModuleState(type);
    if (!PyArg_ParseTuple(args, "O!O:Launcher", state->launchable, &kernel, &grid)) return NULL;
    return new_launcher(state, kernel, grid);
}

static void launcher_dealloc(PyObject *object) {
    Launcher *self = (Launcher *)object;
    PyTypeObject *type = Py_TYPE(object);
    State *state = self->state;
    bool keep = state && !state->spare && state->launcher == type;
    Py_XDECREF(self->kernel);
    Py_XDECREF(self->grid);
    if (!keep || state->spare) { /* another may have gone with the kernel */
        free_object(object);
        return;
    }
    state->spare = self;
    Py_DECREF(type);
}

/* kernel[grid] */
static PyObject *subscript(PyObject *kernel, PyObject *grid) {
    return new_launcher(((Launchable *)kernel)->state, kernel, grid);
}

/* The module's state is that of the base type, which is the last to have the slot. */
static PyObject *launchable_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    (void)args;
    (void)kwargs;
    PyTypeObject *base = type;
    for (PyTypeObject *t = type; t && PyType_GetSlot(t, Py_mp_subscript) == (void *)subscript;
         t = PyType_GetSlot(t, Py_tp_base))
        base = t;
    State *state = PyType_GetModuleState(base);
    Launchable *self = state ? new_object(type) : NULL;
    if (self) self->state = state;
    return (PyObject *)self;
}

static int launchable_traverse(PyObject *object, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(((Launchable *)object)->plans);
    return 0;
}

static int launchable_clear(PyObject *object) {
    Py_CLEAR(((Launchable *)object)->plans);
    return 0;
}

static void launchable_dealloc(PyObject *object) {
    PyObject_GC_UnTrack(object);
    launchable_clear(object);
    free_object(object);
}

static PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Launcher, call), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};
static PyType_Slot launcher_slots[] = {{Py_tp_new, (void *)launcher_new},
                                       {Py_tp_dealloc, (void *)launcher_dealloc},
                                       {Py_tp_call, (void *)call_by_tuple},
                                       {Py_tp_members, members},
                                       {0, NULL}};
PyType_Spec launcher_spec = {
    .name = "tilec._tilec.Launcher",
    .basicsize = sizeof(Launcher),
    .flags = Py_TPFLAGS_DEFAULT | HAS_VECTORCALL,
    .slots = launcher_slots,
};
static PyMemberDef launchable_members[] = {
    {"_plans", T_OBJECT_EX, offsetof(Launchable, plans), 0, NULL},
    {NULL, 0, 0, 0, NULL},
};
static PyType_Slot launchable_slots[] = {{Py_tp_new, (void *)launchable_new},
                                         {Py_tp_dealloc, (void *)launchable_dealloc},
                                         {Py_tp_traverse, (void *)launchable_traverse},
                                         {Py_tp_clear, (void *)launchable_clear},
                                         {Py_tp_members, launchable_members},
                                         {Py_mp_subscript, (void *)subscript},
                                         {0, NULL}};
PyType_Spec launchable_spec = {
    .name = "tilec._tilec.Launchable",
    .basicsize = sizeof(Launchable),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .slots = launchable_slots,
};
