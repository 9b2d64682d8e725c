/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* module.h: what the files of the extension module share: its state, its types, its exceptions. */
#ifndef TILE_PYTHON_MODULE_H
#define TILE_PYTHON_MODULE_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030A0000 /* Python 3.10: one library serves it and all later ones */
#include <Python.h>

#include "tile.h"

#include <pthread.h>
#include <stdbool.h>

struct Exchange; /* tensor.c: how a library tells where its tensors are */

/* What the type of an argument offers. */
typedef struct Known {
    PyTypeObject *type;              /* NULL: the entry is free */
    const struct Exchange *exchange; /* NULL: not that */
    bool is_array;                   /* NumPy's __array_struct__, of something that has elements */
} Known;
enum { KNOWN = 8 };

typedef struct State {
    PyObject *error, *compilation, *launch, *check, *device; /* exceptions */
    PyTypeObject *context, *jit, *compiled, *plan, *launcher, *launchable;
    PyObject *array_struct; /* an attribute's name */
    struct Launcher *spare; /* memory of one that is gone, for the next; or NULL */
    Known known[KNOWN];
    unsigned oldest; /* of these: it makes room */
} State;

/* An object of type Context. Launches on the host's memory take turns: what one lets its kernel
 * touch must be forgotten before another says the same. */
typedef struct Context {
    PyObject_HEAD tile_context *ctx;
    pthread_mutex_t lock;
    bool on_host;     /* kernels use the host's memory */
    tile_ptr cleared; /* memory as large as a GPU's cache, or 0 */
    char *printed;    /* what kernels printed in this launch; under the lock */
    size_t printed_len;
    bool printed_cut; /* there was more */
} Context;

typedef struct Jit {
    PyObject_HEAD Context *context;
    tile_jit *jit;
    PyObject *tell;     /* called with what the compiler warns of in a variant */
    tile_kernel **told; /* variants whose warnings it has heard */
    int ntold;
} Jit;

typedef struct Range {
    uint64_t start, end;
    bool read_only;
    int arg;
} Range;

enum { FEW = 24 }; /* a launch of so many arguments needs no memory */

typedef struct Launch {
    tile_arg *args;
    Range *range; /* of the pointers, by where they start */
    tile_arg few_args[FEW];
    Range few_ranges[FEW];
    int nargs, nranges;
    tile_grid grid;
    bool has_grid;
    void *stream;
} Launch;

/* launch.c: a launch is begun with room for n arguments, filled, run and freed; freed, too, after
 * a failure, with an exception set. */
bool launch_init(Launch *l, Py_ssize_t n);
void launch_free(Launch *l);
/* A number, None, a number of a type as a tuple of two, or a pointer as one of five; a number of a
 * type, and the five of a pointer, themselves. */
bool launch_leaf(Launch *l, int i, PyObject *value, bool on_host);
bool launch_number(Launch *l, int i, PyObject *value, int type);
bool launch_pointer(Launch *l, int i, const uint64_t field[5], bool on_host);
bool launch_grid(PyObject *grid, Launch *l);
/* None; NULL: an exception is set. */
PyObject *launch_run(Jit *jit, Launch *l);
/* The same without the exception of a failure, and what the kernel printed in *printed. */
tile_status launch_start(Jit *jit, Launch *l, char **printed);
PyObject *launch_end(Jit *jit, const Launch *l, tile_status status, char *printed);

/* launcher.c: gives the spare one's memory back. */
void launcher_release(State *state);

/* The state of the module that an object's type is of. */
State *state_of(PyObject *self);

/* Sets the exception that suits the status; NULL, so that callers can return it. */
PyObject *raise_status(State *state, tile_status status, const char *text);
/* The same with what the context says of this thread's last failure. */
PyObject *raise_from(State *state, const tile_context *ctx, tile_status status);

/* Memory of an object of one of the types, and back. */
void *new_object(PyTypeObject *type);
void free_object(PyObject *self);

/* A tuple or list of texts as an array that lives as long as it; PyMem_Free frees it. False: an
 * exception is set. */
bool texts_of(PyObject *list, const char *what, const char ***out, int *n);

/* Of a pointer among a launch's arguments; _args.py has them, too. */
enum { POINTER_READ_ONLY = 1, POINTER_ON_HOST = 2 };

extern PyType_Spec context_spec, jit_spec, compiled_spec, plan_spec, launcher_spec, launchable_spec;
PyObject *compile(PyObject *module, PyObject *args, PyObject *kwargs);
PyObject *dlpack(PyObject *module, PyObject *capsule);
PyObject *exchanged(PyObject *module, PyObject *value);
PyObject *stream_of(PyObject *module, PyObject *args);
/* What launch_pointer takes, of an array with NumPy's __array_struct__. False: it is none, or not
 * as simple; no exception is set. */
bool array_pointer(State *state, PyObject *value, uint64_t field[5]);
/* The same of a tensor whose type has DLPack's exchange functions. 1: it has; 0: its type has none;
 * -1: an exception is set. *index: the GPU, -1 for the host's memory. */
int exchange_pointer(State *state, PyObject *value, uint64_t field[5], long *index,
                     const struct Exchange **exchange);
/* The stream that the library would use now on that GPU. False: an exception is set. */
bool exchange_stream(const struct Exchange *exchange, long index, void **stream);

#endif
