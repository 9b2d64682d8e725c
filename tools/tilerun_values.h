/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tilerun_values.h: NAME=VALUE arguments of tilerun's command line -> numbers and filled buffers.
 *
 *   5  5:i64  0.5  True  None          numbers, None
 *   @in.npy  @in.npy:bf16              a file, its bytes taken as another type of the same size
 *   zeros:fp16[1024, N]  empty:…       a buffer; sizes are expressions over the other arguments
 *   rand:…  rand(lo, hi):…             uniform; integers: over the whole type, or in [lo, hi)
 *   randn:…  randn(scale):…            normal
 *   randint(lo, hi):…                  whole numbers in [lo, hi), also of a float type
 *   arange:…  arange(start):…          start, start + 1, …
 *   full(v):…                          v everywhere
 *   (5, zeros:fp16[N], None)           a tuple: its parts are values of their own, NAME.0, NAME.1 …
 *   pointers(zeros:…, randn:…)          a buffer of the addresses of buffers, which are NAME.0,
 * NAME.1 … tensordesc<[64, 64]>:zeros:…       a descriptor of a buffer, with this block; or <[64,
 * 64], nan>
 *
 * Values are parsed first and filled later, for sizes may name arguments that come after. */
#ifndef TILE_TOOLS_TILERUN_VALUES_H
#define TILE_TOOLS_TILERUN_VALUES_H

#include "tile.h"
#include "ir/type.h"
#include "tools/npy.h"

typedef enum Fill {
    FILL_ZEROS,
    FILL_EMPTY,
    FILL_RAND,
    FILL_RANDN,
    FILL_RANDINT,
    FILL_ARANGE,
    FILL_FULL,
    FILLS,
    FILL_POINTERS = FILLS /* the values before it, `parts` of them */
} Fill;

typedef enum ValueKind { VALUE_NUMBER, VALUE_NONE, VALUE_FILE, VALUE_FILL } ValueKind;

typedef struct Number {
    bool is_float, is_bool;
    bool is_u64; /* above INT64_MAX, its bits in i */
    int64_t i;
    double f; /* set for integers too */
} Number;

typedef struct RunValue {
    char *text; /* "NAME=VALUE" */
    char *name;
    ValueKind kind;
    bool typed; /* a type was written */
    Elem elem;  /* the type written, or of the file; of a bare number what the launch gives it */
    Number number;
    Fill fill;
    Number arg[2];
    int nargs;
    int parts;      /* of FILL_POINTERS */
    bool pointed;   /* no argument: a FILL_POINTERS leads to it */
    char *file;     /* VALUE_FILE: the path, then the text of the file */
    char *shape;    /* VALUE_FILL: between the brackets */
    char *block;    /* of a descriptor: between < and >; or NULL */
    NpyArray array; /* shape and size; data once there is some */
    char *data;     /* malloc'ed elements; NULL: zeros, or empty */
    tile_ptr ptr;   /* on the device */
} RunValue;

/* Why a value is refused, and whether it is the fault of a file (exit code 3). */
typedef struct RunError {
    bool io;
    char text[600];
} RunError;

/* "NAME=VALUE" -> v[0], v[1] …, *n of them, one unless it is a tuple; at most `most`. Nothing is
 * read or filled yet. False: *error says why. */
bool value_parse(const char *text, RunValue *v, int most, int *n, RunError *error);
/* The most values that a text may be. */
int value_count(const char *text);
static inline bool value_is_buffer(const RunValue *v) {
    return v->kind == VALUE_FILE || v->kind == VALUE_FILL;
}
/* Gives buffer value[which] its shape and contents. Sizes may use the other values' integers and
 * the integers among the `defines` ("NAME=VALUE"). Equal seeds give equal numbers. */
bool value_make(RunValue *value, int nvalues, int which, const char *const *defines, int ndefines,
                uint64_t seed, RunError *error);
/* The addresses that `pointers`, which comes behind its parts, holds: these are on the device. */
bool value_point(RunValue *pointers, RunError *error);
void value_free(RunValue *v);
/* Appends "name=*fp16:16", as Triton's JIT would specialise this value, to text[*n..size). */
bool value_signature(const RunValue *v, char *text, size_t size, size_t *n);
/* "name=5": what a heuristic may know of a number or None, malloc'ed. NULL: nothing, or no memory.
 */
char *value_fact(const RunValue *v);
/* The value that is, or has, the argument of this name: `x`, or `x.shape.0` of a descriptor. */
bool value_is_for(const RunValue *v, const char *name);
/* The argument for a kernel's parameter. */
bool value_arg(const RunValue *v, const tile_kernel_param *p, tile_arg *out, RunError *error);

#endif
