/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* plan.c: kernel[grid](…) like one before it -> its launch, without the way through _jit.py.
 *
 * A plan is made after a launch, from what that found out. It serves calls that have the same
 * constants, options and globals, and arguments on the same device; whatever else comes takes the
 * long way, which decides and complains. */
#include "python/module.h"

/* What the tuples of a plan hold; borrowed from them. */
typedef struct Param {
    PyObject *name;
    PyObject *constant; /* NULL: none */
    PyObject *fallback; /* its default */
    int annotated; /* tile_type of a number; below 0, of what a pointer points to; 0: nothing */
} Param;
typedef struct Use {
    PyObject *dict, *name, *value;
} Use;

typedef struct Plan {
    PyObject_HEAD Jit *jit;
    PyObject *params;  /* (name, None or (constant,), default, annotated) each */
    PyObject *options; /* (name, value) each, all by name */
    PyObject *uses;    /* (dict, name, value) each */
    Param *param;      /* the same */
    Use *use;
    int nparams, nuses;
    PyObject *pointer; /* _args.array */
    PyObject *stream;  /* None, or a function that gives the current one */
    PyObject *explain; /* puts the places into an exception's text */
    int npositional, nnamed, nleaves;
    long index; /* of the GPU; -1: the host */
} Plan;

/* What kernels, and those around them, have in common: kernel[grid] is a Launcher. */
typedef struct Launchable {
    PyObject_HEAD State *state;
} Launchable;

typedef struct Launcher {
    PyObject_HEAD PyObject *kernel, *grid;
} Launcher;

/* ---- does it suit this call? ---- */

/* The same constant: 1 is not True, and not 1.0. */
static bool same(PyObject *a, PyObject *b) {
    if (a == b) return true;
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

/* The argument for parameter i; NULL: not given, so that its default counts. Borrowed. */
static PyObject *given(const Plan *p, int i, PyObject *args, PyObject *kwargs) {
    if (i < p->npositional) return PyTuple_GetItem(args, i);
    return kwargs ? PyDict_GetItemWithError(kwargs, p->param[i].name) : NULL;
}

static bool suits(const Plan *p, PyObject *args, PyObject *kwargs) {
    if (PyTuple_Size(args) != p->npositional || (kwargs ? PyDict_Size(kwargs) : 0) != p->nnamed)
        return false;
    Py_ssize_t noptions = PyTuple_Size(p->options), found = noptions;
    for (Py_ssize_t i = 0; i < noptions; i++) {
        PyObject *option = PyTuple_GetItem(p->options, i);
        PyObject *value = PyDict_GetItemWithError(kwargs, PyTuple_GetItem(option, 0));
        if (!value || !same(value, PyTuple_GetItem(option, 1))) return false;
    }
    for (int i = 0; i < p->nparams; i++) {
        const Param *param = &p->param[i];
        if (i < p->npositional && !param->constant) continue;
        PyObject *value = given(p, i, args, kwargs);
        if (value && i >= p->npositional) found++;
        if (param->constant && !same(value ? value : param->fallback, param->constant))
            return false;
    }
    return found == p->nnamed && globals_are_the_same(p);
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
    State *state = state_of((PyObject *)p);
    int has = exchange_pointer(state, value, field, &at, &b->exchange);
    if (has > 0 && at == p->index)
        return launch_pointer(l, i, field, p->jit->context->on_host) ? 1 : -1;
    if (has) {
        PyErr_Clear(); /* the long way complains with the argument's name */
        return 0;
    }
    if (p->index == -1 && array_pointer(state, value, field))
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
    long on = index == Py_None ? -1 : index ? PyLong_AsLong(index) : -2;
    if (on == p->index && !PyErr_Occurred())
        result = launch_leaf(l, i, PyTuple_GetItem(found, 0), p->jit->context->on_host) ? 1 : -1;
    Py_DECREF(found);
    return result;
}

static bool is_number(PyObject *value) {
    return value == Py_None || PyLong_CheckExact(value) || PyFloat_CheckExact(value) ||
           PyBool_Check(value);
}

static int add_args(const Plan *p, Launch *l, PyObject *args, PyObject *kwargs, Beside *b) {
    bool on_host = p->jit->context->on_host;
    int leaf = 0;
    for (int i = 0; i < p->nparams; i++) {
        const Param *param = &p->param[i];
        if (param->constant) continue;
        PyObject *value = given(p, i, args, kwargs);
        if (!value) value = param->fallback;
        int annotated = param->annotated, added;
        if (!is_number(value))
            added = annotated > 0 ? 0 : add_pointer(p, l, leaf, value, b);
        else if (annotated && value != Py_None)
            added = launch_number(l, leaf, value, annotated);
        else
            added = launch_leaf(l, leaf, value, on_host) ? 1 : -1;
        if (added != 1) return added;
        if (annotated < 0 && l->args[leaf].type == TILE_POINTER) l->args[leaf].element = -annotated;
        leaf++;
    }
    return 1;
}

/* A function of the meta-parameters gives the grid; a new reference. */
static PyObject *grid_of(const Plan *p, PyObject *grid, PyObject *args, PyObject *kwargs) {
    if (PyTuple_CheckExact(grid)) return Py_NewRef(grid);
    if (PyLong_CheckExact(grid)) return PyTuple_Pack(1, grid);
    if (!PyCallable_Check(grid)) return NULL;
    PyObject *meta = kwargs ? PyDict_Copy(kwargs) : PyDict_New(), *result = NULL;
    bool ok = meta != NULL;
    for (int i = 0; ok && i < p->nparams; i++) {
        PyObject *value = given(p, i, args, kwargs);
        ok = PyDict_SetItem(meta, p->param[i].name, value ? value : p->param[i].fallback) == 0;
    }
    if (ok) result = PyObject_CallFunctionObjArgs(grid, meta, NULL);
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
    State *state = state_of((PyObject *)p);
    if (!PyErr_ExceptionMatches(state->error)) return;
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

/* The result, or NULL; *decided: it is one, else the long way is left to try. */
static PyObject *run(const Plan *p, PyObject *grid, PyObject *args, PyObject *kwargs,
                     bool *decided) {
    PyObject *result = NULL, *axes = NULL;
    Beside b = {NULL, NULL};
    Launch l;
    *decided = true;
    if (launch_init(&l, p->nleaves)) {
        int added = add_args(p, &l, args, kwargs, &b);
        *decided = added != 0;
        if (added == 1) {
            axes = grid_of(p, grid, args, kwargs);
            *decided = axes || PyErr_Occurred();
        }
        if (axes && launch_grid(axes, &l) && choose_stream(p, &b, &l.stream)) {
            char *printed;
            tile_status status = launch_start(p->jit, &l, &printed);
            /* A child of fork needs a context of its own. */
            *decided = status != TILE_FORKED;
            if (*decided) result = launch_end(p->jit, status, printed);
        }
    }
    launch_free(&l);
    Py_XDECREF(b.keep);
    Py_XDECREF(axes);
    if (!result && *decided) put_places_in(p);
    return result;
}

static PyObject *launcher_call(PyObject *object, PyObject *args, PyObject *kwargs) {
    Launcher *self = (Launcher *)object;
    State *state = state_of(object);
    PyObject *plans = PyObject_GetAttr(self->kernel, state->plans), *result = NULL;
    bool decided = false;
    if (!plans) return NULL;
    for (Py_ssize_t i = 0, n = PyTuple_Check(plans) ? PyTuple_Size(plans) : 0; i < n && !decided;
         i++) {
        PyObject *plan = PyTuple_GetItem(plans, i);
        if (Py_TYPE(plan) == state->plan && suits((Plan *)plan, args, kwargs))
            result = run((Plan *)plan, self->grid, args, kwargs, &decided);
    }
    Py_DECREF(plans);
    if (decided) return result;
    PyErr_Clear();
    PyObject *named = kwargs ? Py_NewRef(kwargs) : PyDict_New();
    if (named)
        result = PyObject_CallMethod(self->kernel, "_launch", "OOO", self->grid, args, named);
    Py_XDECREF(named);
    return result;
}

/* ---- the types ---- */

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

static PyObject *plan_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    State *state = PyType_GetModuleState(type);
    PyObject *jit, *params, *options, *uses, *pointer, *stream, *explain;
    int npositional, nnamed;
    long index;
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "O!O!O!O!OOOiil:Plan", state->jit, &jit, &PyTuple_Type, &params,
                          &PyTuple_Type, &options, &PyTuple_Type, &uses, &pointer, &stream,
                          &explain, &npositional, &nnamed, &index))
        return NULL;
    bool sound = all_tuples(params, 4, 0) && all_tuples(options, 2, 0) && all_tuples(uses, 3, 1) &&
                 npositional >= 0 && npositional <= PyTuple_Size(params) &&
                 nnamed >= PyTuple_Size(options);
    int nleaves = 0;
    for (Py_ssize_t i = 0; sound && i < PyTuple_Size(params); i++) {
        PyObject *constant = PyTuple_GetItem(PyTuple_GetItem(params, i), 1);
        nleaves += constant == Py_None;
        sound = (constant == Py_None || (PyTuple_Check(constant) && PyTuple_Size(constant) == 1)) &&
                PyLong_CheckExact(PyTuple_GetItem(PyTuple_GetItem(params, i), 3));
    }
    for (Py_ssize_t i = 0; sound && i < PyTuple_Size(uses); i++)
        sound = PyDict_Check(PyTuple_GetItem(PyTuple_GetItem(uses, i), 0));
    if (!sound) {
        PyErr_SetString(PyExc_ValueError, "this is no plan");
        return NULL;
    }
    Plan *self = new_object(type);
    if (!self) return NULL;
    self->nparams = (int)PyTuple_Size(params);
    self->nuses = (int)PyTuple_Size(uses);
    self->param = PyMem_Malloc(((size_t)self->nparams + 1) * sizeof *self->param);
    self->use = PyMem_Malloc(((size_t)self->nuses + 1) * sizeof *self->use);
    if (!self->param || !self->use) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    for (int i = 0; i < self->nparams; i++) {
        PyObject *param = PyTuple_GetItem(params, i), *constant = PyTuple_GetItem(param, 1);
        self->param[i] = (Param){
            PyTuple_GetItem(param, 0), constant == Py_None ? NULL : PyTuple_GetItem(constant, 0),
            PyTuple_GetItem(param, 2), (int)PyLong_AsLong(PyTuple_GetItem(param, 3))};
    }
    PyErr_Clear(); /* an annotation that is no int is none */
    for (int i = 0; i < self->nuses; i++) {
        PyObject *use = PyTuple_GetItem(uses, i);
        self->use[i] =
            (Use){PyTuple_GetItem(use, 0), PyTuple_GetItem(use, 1), PyTuple_GetItem(use, 2)};
    }
    self->jit = (Jit *)Py_NewRef(jit);
    self->params = Py_NewRef(params);
    self->options = Py_NewRef(options);
    self->uses = Py_NewRef(uses);
    self->pointer = Py_NewRef(pointer);
    self->stream = Py_NewRef(stream);
    self->explain = Py_NewRef(explain);
    self->npositional = npositional;
    self->nnamed = nnamed;
    self->nleaves = nleaves;
    self->index = index;
    return (PyObject *)self;
}

/* A kernel has plans, and they lead to its function and so back to it. */
static int plan_traverse(PyObject *object, visitproc visit, void *arg) {
    Plan *self = (Plan *)object;
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->params);
    Py_VISIT(self->options);
    Py_VISIT(self->uses);
    Py_VISIT(self->pointer);
    Py_VISIT(self->stream);
    Py_VISIT(self->explain);
    return 0;
}

static void plan_dealloc(PyObject *object) {
    Plan *self = (Plan *)object;
    PyObject_GC_UnTrack(object);
    PyMem_Free(self->param);
    PyMem_Free(self->use);
    Py_XDECREF(self->jit);
    Py_XDECREF(self->params);
    Py_XDECREF(self->options);
    Py_XDECREF(self->uses);
    Py_XDECREF(self->pointer);
    Py_XDECREF(self->stream);
    Py_XDECREF(self->explain);
    free_object(object);
}

static PyObject *new_launcher(PyTypeObject *type, PyObject *kernel, PyObject *grid) {
    Launcher *self = new_object(type);
    if (!self) return NULL;
    self->kernel = Py_NewRef(kernel);
    self->grid = Py_NewRef(grid);
    return (PyObject *)self;
}

static PyObject *launcher_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *kernel, *grid;
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "OO:Launcher", &kernel, &grid)) return NULL;
    return new_launcher(type, kernel, grid);
}

/* kernel[grid] */
static PyObject *subscript(PyObject *kernel, PyObject *grid) {
    return new_launcher(((Launchable *)kernel)->state->launcher, kernel, grid);
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

static void launcher_dealloc(PyObject *object) {
    Launcher *self = (Launcher *)object;
    Py_XDECREF(self->kernel);
    Py_XDECREF(self->grid);
    free_object(object);
}

static PyType_Slot plan_slots[] = {
    {Py_tp_new, (void *)plan_new},
    {Py_tp_dealloc, (void *)plan_dealloc},
    {Py_tp_traverse, (void *)plan_traverse},
    {0, NULL},
};
PyType_Spec plan_spec = {
    .name = "tilec._tilec.Plan",
    .basicsize = sizeof(Plan),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = plan_slots,
};
static PyType_Slot launcher_slots[] = {{Py_tp_new, (void *)launcher_new},
                                       {Py_tp_dealloc, (void *)launcher_dealloc},
                                       {Py_tp_call, (void *)launcher_call},
                                       {0, NULL}};
PyType_Spec launcher_spec = {
    .name = "tilec._tilec.Launcher",
    .basicsize = sizeof(Launcher),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = launcher_slots,
};
static PyType_Slot launchable_slots[] = {
    {Py_tp_new, (void *)launchable_new}, {Py_mp_subscript, (void *)subscript}, {0, NULL}};
PyType_Spec launchable_spec = {
    .name = "tilec._tilec.Launchable",
    .basicsize = sizeof(Launchable),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = launchable_slots,
};
