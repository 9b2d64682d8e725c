/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* plan.c: kernel[grid](…) like one before it -> its launch, without the way through _jit.py.
 *
 * A plan is made after a launch, from what that found out. It serves calls that have the same
 * names, constants, options and globals, and arguments on the same device; whatever else comes
 * takes the long way, which decides and complains. */
#include "python/plan.h"

/* What the tuples of a plan hold; borrowed from them. */
typedef struct Param {
    PyObject *name;
    PyObject *constant; /* NULL: none */
    PyObject *fallback; /* its default */
    int annotated; /* tile_type of a number; below 0, of what a pointer points to; 0: nothing */
    int at;        /* which value of the call it is; -1: its default */
} Param;
typedef struct Option {
    PyObject *value;
    int at;
} Option;
typedef struct Use {
    PyObject *dict, *name, *value;
} Use;

enum { HOST = -1, NO_TENSORS = -2 };

struct Plan {
    PyObject_HEAD State *state;
    Jit *jit;
    PyObject *params; /* (name, None or (constant,), default, annotated) each */
    PyObject *names;  /* what the call names, as it does: parameters and options */
    PyObject *values; /* what these are worth as options; None: a parameter's */
    PyObject *uses;   /* (dict, name, value) each */
    Param *param;     /* the same */
    Option *option;
    Use *use;
    int nparams, noptions, nuses;
    PyObject *pointer; /* _args.array */
    PyObject *stream;  /* None, or a function that gives the current one */
    PyObject *meta;    /* what a grid that is a function is given, but for arguments' values */
    PyObject *explain; /* puts the places into an exception's text */
    int npositional, nleaves;
    long index; /* of the GPU that has the tensors; HOST; NO_TENSORS: there are none */
};

/* ---- does it suit this call? ---- */

/* The same constant: 1 is not True, and not 1.0; 0.0 is not -0.0. */
static bool same(PyObject *a, PyObject *b) {
    if (a == b) return true;
    if (PyFloat_CheckExact(a) && PyFloat_CheckExact(b)) {
        double x = PyFloat_AsDouble(a), y = PyFloat_AsDouble(b);
        return memcmp(&x, &y, sizeof x) == 0;
    }
    if (Py_TYPE(a) != Py_TYPE(b) || !(PyLong_CheckExact(a) || PyUnicode_CheckExact(a)))
        return false;
    int equal = PyObject_RichCompareBool(a, b, Py_EQ);
    if (equal < 0) PyErr_Clear();
    return equal > 0;
}

static bool globals_are_the_same(const Plan *p) {
    for (const Use *use = p->use; use < p->use + p->nuses; use++)
        if (PyDict_GetItemWithError(use->dict, use->name) != use->value) return false;
    return true;
}

/* Mostly they are the same tuple, of the code that calls. */
static bool names_are(PyObject *names, PyObject *given) {
    if (names == given) return true;
    Py_ssize_t n = PyTuple_Size(names);
    if (n != (given ? PyTuple_Size(given) : 0)) return false;
    for (Py_ssize_t i = 0; i < n; i++)
        if (!same(PyTuple_GetItem(names, i), PyTuple_GetItem(given, i))) return false;
    return true;
}

static PyObject *value_of(const Param *param, const Call *call) {
    return param->at < 0 ? param->fallback : call->value[param->at];
}

bool plan_suits(const Plan *p, const Call *call) {
    if (call->npositional != p->npositional || !names_are(p->names, call->names)) return false;
    for (const Option *o = p->option; o < p->option + p->noptions; o++)
        if (!same(call->value[o->at], o->value)) return false;
    for (const Param *param = p->param; param < p->param + p->nparams; param++)
        if (param->constant && !same(value_of(param, call), param->constant)) return false;
    return globals_are_the_same(p);
}

/* ---- the launch ---- */

/* What the arguments of a launch have besides their leaves. */
typedef struct Beside {
    PyObject *keep; /* a list of what must live until the launch is over, or NULL */
    const struct Exchange *exchange; /* of a tensor, which knows the current stream */
} Beside;

/* 1: added; 0: the long way has to decide; -1: an exception is set. */
static int add_pointer(const Plan *p, Launch *l, int i, PyObject *value, Beside *b) {
    if (PyTuple_Check(value)) return 0; /* an argument with parts */
    uint64_t field[5];
    long at;
    int has = exchange_pointer(p->state, value, field, &at, &b->exchange);
    if (has > 0 && at == p->index)
        return launch_pointer(l, i, field, p->jit->context->on_host) ? 1 : -1;
    if (has) {
        PyErr_Clear(); /* the long way complains with the argument's name */
        return 0;
    }
    if (p->index == HOST && array_pointer(p->state, value, field))
        return launch_pointer(l, i, field, p->jit->context->on_host) ? 1 : -1;
    if (!b->keep) b->keep = PyList_New(0);
    PyObject *what = b->keep ? PyUnicode_FromString("argument") : NULL;
    PyObject *found =
        what ? PyObject_CallFunctionObjArgs(p->pointer, value, what, b->keep, NULL) : NULL;
    Py_XDECREF(what);
    if (!found) {
        PyErr_Clear(); /* a number of NumPy, or a mistake */
        return 0;
    }
    int result = 0;
    PyObject *index =
        PyTuple_Check(found) && PyTuple_Size(found) == 2 ? PyTuple_GetItem(found, 1) : NULL;
    long on = index && index != Py_None ? PyLong_AsLong(index) : HOST;
    if (index && on == p->index && !PyErr_Occurred())
        result = launch_leaf(l, i, PyTuple_GetItem(found, 0), p->jit->context->on_host) ? 1 : -1;
    Py_DECREF(found);
    return result;
}

static bool is_number(PyObject *value) {
    return value == Py_None || PyLong_CheckExact(value) || PyFloat_CheckExact(value) ||
           PyBool_Check(value);
}

static int add_args(const Plan *p, Launch *l, const Call *call, Beside *b) {
    bool on_host = p->jit->context->on_host;
    int leaf = 0, tensors = 0;
    for (const Param *param = p->param; param < p->param + p->nparams; param++) {
        if (param->constant) continue;
        PyObject *value = value_of(param, call);
        int annotated = param->annotated, added;
        if (!is_number(value))
            added = annotated > 0 ? 0 : add_pointer(p, l, leaf, value, b);
        else if (annotated && value != Py_None)
            added = launch_number(l, leaf, value, annotated);
        else
            added = launch_leaf(l, leaf, value, on_host) ? 1 : -1;
        if (added != 1) return added;
        tensors += !is_number(value);
        if (annotated < 0 && l->args[leaf].type == TILE_POINTER) l->args[leaf].element = -annotated;
        leaf++;
    }
    return (tensors == 0) == (p->index == NO_TENSORS); /* they say on which device it is */
}

/* What a grid that is a function is given: all parameters and options. */
static PyObject *meta_of(const Plan *p, const Call *call) {
    PyObject *meta = PyDict_Copy(p->meta);
    bool ok = meta != NULL;
    for (int i = 0; ok && i < p->nparams; i++)
        if (!p->param[i].constant)
            ok = PyDict_SetItem(meta, p->param[i].name, value_of(&p->param[i], call)) == 0;
    if (!ok) Py_CLEAR(meta);
    return meta;
}

/* Constants and options of calls that a plan suits are the plan's own. */
static bool begin_meta(Plan *p) {
    p->meta = PyDict_New();
    bool ok = p->meta != NULL;
    for (int i = 0; ok && i < p->nparams; i++) {
        PyObject *constant = p->param[i].constant;
        ok = PyDict_SetItem(p->meta, p->param[i].name, constant ? constant : Py_None) == 0;
    }
    for (int i = 0; ok && i < p->noptions; i++)
        ok = PyDict_SetItem(p->meta, PyTuple_GetItem(p->names, p->option[i].at - p->npositional),
                            p->option[i].value) == 0;
    return ok;
}

/* A tuple; a new reference. NULL without an exception: the long way has to see. */
static PyObject *grid_of(const Plan *p, PyObject *grid, const Call *call) {
    if (PyTuple_CheckExact(grid)) return Py_NewRef(grid);
    if (PyLong_CheckExact(grid)) return PyTuple_Pack(1, grid);
    if (!PyCallable_Check(grid)) return NULL;
    PyObject *meta = meta_of(p, call), *result = NULL;
    if (meta) result = PyObject_CallFunctionObjArgs(grid, meta, NULL);
    Py_XDECREF(meta);
    if (result && PyLong_CheckExact(result)) {
        PyObject *one = PyTuple_Pack(1, result);
        Py_DECREF(result);
        result = one;
    } else if (result && PyList_CheckExact(result)) {
        PyObject *tuple = PyList_AsTuple(result);
        Py_DECREF(result);
        result = tuple;
    }
    return result;
}

static void put_places_in(const Plan *p) {
    PyObject *type, *value, *traceback;
    if (!PyErr_ExceptionMatches(p->state->error)) return;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    PyObject *done = PyObject_CallFunctionObjArgs(p->explain, value, NULL);
    if (!done) PyErr_Clear();
    Py_XDECREF(done);
    PyErr_Restore(type, value, traceback);
}

/* The stream to launch in. False: an exception is set. */
static bool choose_stream(const Plan *p, const Beside *b, void **stream) {
    if (p->stream == Py_None) return true;
    if (b->exchange) return exchange_stream(b->exchange, p->index, stream);
    PyObject *number = PyObject_CallNoArgs(p->stream);
    if (number) *stream = (void *)(uintptr_t)PyLong_AsUnsignedLongLong(number);
    Py_XDECREF(number);
    return !PyErr_Occurred();
}

PyObject *plan_run(const Plan *p, PyObject *grid, const Call *call, bool *decided) {
    PyObject *result = NULL, *axes = NULL;
    Beside b = {NULL, NULL};
    Launch l;
    *decided = true;
    if (launch_init(&l, p->nleaves)) {
        int added = add_args(p, &l, call, &b);
        *decided = added != 0;
        if (added == 1) {
            axes = grid_of(p, grid, call);
            *decided = axes || PyErr_Occurred();
        }
        if (axes && launch_grid(axes, &l) && choose_stream(p, &b, &l.stream)) {
            char *printed;
            tile_status status = launch_start(p->jit, &l, &printed);
            /* A child of fork needs a context of its own. */
            *decided = status != TILE_FORKED;
            if (*decided) result = launch_end(p->jit, &l, status, printed);
        }
    }
    launch_free(&l);
    Py_XDECREF(b.keep);
    Py_XDECREF(axes);
    if (!result && *decided) put_places_in(p);
    return result;
}

/* ---- the type ---- */

/* Tuples of `size` with the name in the place `name`. */
static bool all_tuples(PyObject *tuple, Py_ssize_t size, Py_ssize_t name) {
    for (Py_ssize_t i = 0, n = PyTuple_Size(tuple); i < n; i++) {
        PyObject *item = PyTuple_GetItem(tuple, i);
        if (!PyTuple_Check(item) || PyTuple_Size(item) != size ||
            !PyUnicode_CheckExact(PyTuple_GetItem(item, name)))
            return false;
    }
    return true;
}

static bool is_sound(PyObject *params, PyObject *names, PyObject *values, PyObject *uses,
                     int npositional) {
    Py_ssize_t nnames = PyTuple_Size(names);
    if (!all_tuples(params, 4, 0) || !all_tuples(uses, 3, 1) || PyTuple_Size(values) != nnames ||
        npositional < 0 || npositional > PyTuple_Size(params) || nnames > 65536)
        return false;
    for (Py_ssize_t i = 0; i < nnames; i++)
        if (!PyUnicode_CheckExact(PyTuple_GetItem(names, i))) return false;
    for (Py_ssize_t i = 0; i < PyTuple_Size(params); i++) {
        PyObject *param = PyTuple_GetItem(params, i), *constant = PyTuple_GetItem(param, 1);
        if (constant != Py_None && !(PyTuple_Check(constant) && PyTuple_Size(constant) == 1))
            return false;
        if (!PyLong_CheckExact(PyTuple_GetItem(param, 3))) return false;
    }
    for (Py_ssize_t i = 0; i < PyTuple_Size(uses); i++)
        if (!PyDict_Check(PyTuple_GetItem(PyTuple_GetItem(uses, i), 0))) return false;
    return true;
}

/* Where the call has the parameter's value. */
static int place_of(const Plan *p, int i, PyObject *name) {
    if (i < p->npositional) return i;
    for (Py_ssize_t k = 0; k < PyTuple_Size(p->names); k++)
        if (same(PyTuple_GetItem(p->names, k), name)) return p->npositional + (int)k;
    return -1;
}

/* From the tuples. False: there is no memory. */
static bool spread_out(Plan *p) {
    Py_ssize_t nnames = PyTuple_Size(p->names);
    p->param = PyMem_Calloc((size_t)PyTuple_Size(p->params) + 1, sizeof *p->param);
    p->option = PyMem_Calloc((size_t)nnames + 1, sizeof *p->option);
    p->use = PyMem_Calloc((size_t)PyTuple_Size(p->uses) + 1, sizeof *p->use);
    if (!p->param || !p->option || !p->use) return false;
    for (; p->nparams < PyTuple_Size(p->params); p->nparams++) {
        PyObject *param = PyTuple_GetItem(p->params, p->nparams);
        PyObject *name = PyTuple_GetItem(param, 0), *constant = PyTuple_GetItem(param, 1);
        p->param[p->nparams] =
            (Param){name, constant == Py_None ? NULL : PyTuple_GetItem(constant, 0),
                    PyTuple_GetItem(param, 2), (int)PyLong_AsLong(PyTuple_GetItem(param, 3)),
                    place_of(p, p->nparams, name)};
        p->nleaves += constant == Py_None;
    }
    PyErr_Clear(); /* an annotation that is no int is none */
    for (Py_ssize_t k = 0; k < nnames; k++)
        if (PyTuple_GetItem(p->values, k) != Py_None)
            p->option[p->noptions++] =
                (Option){PyTuple_GetItem(p->values, k), p->npositional + (int)k};
    for (; p->nuses < PyTuple_Size(p->uses); p->nuses++) {
        PyObject *use = PyTuple_GetItem(p->uses, p->nuses);
        p->use[p->nuses] =
            (Use){PyTuple_GetItem(use, 0), PyTuple_GetItem(use, 1), PyTuple_GetItem(use, 2)};
    }
    return begin_meta(p);
}

static PyObject *plan_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    State *state = PyType_GetModuleState(type);
    PyObject *jit, *params, *names, *values, *uses, *pointer, *stream, *explain;
    int npositional;
    long index;
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "O!O!O!O!O!OOOil:Plan", state->jit, &jit, &PyTuple_Type, &params,
                          &PyTuple_Type, &names, &PyTuple_Type, &values, &PyTuple_Type, &uses,
                          &pointer, &stream, &explain, &npositional, &index))
        return NULL;
    if (!is_sound(params, names, values, uses, npositional)) {
        PyErr_SetString(PyExc_ValueError, "this is no plan");
        return NULL;
    }
    Plan *self = new_object(type);
    if (!self) return NULL;
    self->state = state;
    self->jit = (Jit *)Py_NewRef(jit);
    self->params = Py_NewRef(params);
    self->names = Py_NewRef(names);
    self->values = Py_NewRef(values);
    self->uses = Py_NewRef(uses);
    self->pointer = Py_NewRef(pointer);
    self->stream = Py_NewRef(stream);
    self->explain = Py_NewRef(explain);
    self->npositional = npositional;
    self->index = index;
    if (spread_out(self)) return (PyObject *)self;
    Py_DECREF(self);
    return PyErr_NoMemory();
}

/* A kernel has plans, and they lead to its function and so back to it. */
static int plan_traverse(PyObject *object, visitproc visit, void *arg) {
    Plan *self = (Plan *)object;
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->params);
    Py_VISIT(self->values);
    Py_VISIT(self->uses);
    Py_VISIT(self->pointer);
    Py_VISIT(self->stream);
    Py_VISIT(self->explain);
    Py_VISIT(self->meta);
    return 0;
}

static void plan_dealloc(PyObject *object) {
    Plan *self = (Plan *)object;
    PyObject_GC_UnTrack(object);
    PyMem_Free(self->param);
    PyMem_Free(self->option);
    PyMem_Free(self->use);
    Py_XDECREF(self->jit);
    Py_XDECREF(self->params);
    Py_XDECREF(self->names);
    Py_XDECREF(self->values);
    Py_XDECREF(self->uses);
    Py_XDECREF(self->pointer);
    Py_XDECREF(self->stream);
    Py_XDECREF(self->explain);
    Py_XDECREF(self->meta);
    free_object(object);
}

static PyType_Slot slots[] = {
    {Py_tp_new, (void *)plan_new},
    {Py_tp_dealloc, (void *)plan_dealloc},
    {Py_tp_traverse, (void *)plan_traverse},
    {0, NULL},
};
PyType_Spec plan_spec = {
    .name = "tilec._tilec.Plan",
    .basicsize = sizeof(Plan),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = slots,
};
