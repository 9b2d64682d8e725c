/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* plan.h: calls of kernels, and plans for them: what launcher.c asks of plan.c. */
#ifndef TILE_PYTHON_PLAN_H
#define TILE_PYTHON_PLAN_H

#include "python/module.h"

/* What a call gives: values by position, then those of the names. All borrowed. */
typedef struct Call {
    PyObject *const *value;
    int npositional;
    PyObject *names; /* a tuple, or NULL */
} Call;

typedef struct Plan Plan;

bool plan_suits(const Plan *plan, const Call *call);
/* The result, or NULL; *decided: it is one, else the long way is left to try. */
PyObject *plan_run(const Plan *plan, PyObject *grid, const Call *call, bool *decided);

#endif
