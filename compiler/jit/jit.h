/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* jit.h: what lies behind tile_jit: jit.c finds variants, build.c makes them. */
#ifndef TILE_COMPILER_JIT_H
#define TILE_COMPILER_JIT_H

#include "base/text.h"
#include "ir/promise.h"
#include "ir/type.h"
#include "tile.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

enum {
    JIT_MAX_ARGS = TILE_MAX_PARAMS,
    JIT_FINE_VARIANTS = 64, /* from here on multiples of 8 make no more of them */
    JIT_MAX_VARIANTS = 4096,
    JIT_BUCKETS = 64
};

/* A parameter that a launch passes. */
typedef struct JitParam {
    const char *name;
    bool any_value, any_alignment; /* do_not_specialize, do_not_specialize_on_alignment */
    bool eights;                   /* its annotation promises multiples of 8 */
    bool typed;                    /* the signature gives its type: 1 is a number like others */
} JitParam;

/* What the variant depends on, beyond its key: a value, or whether it is a small number. */
typedef struct Asked {
    int param;
    bool size;
    tile_type type;
    uint64_t bits;
} Asked;

typedef enum VariantState {
    VARIANT_BUILDING, /* by some thread; the others wait */
    VARIANT_READY,
    VARIANT_FAILED, /* and would again: `text` says why */
    VARIANT_RETRY   /* failed for want of something; whoever needs it next tries again */
} VariantState;

typedef struct Variant {
    struct Variant *next; /* in its bucket */
    _Atomic(VariantState) state;
    bool from_disk;
    tile_module *module;
    tile_kernel *kernel;
    tile_status status;
    char *text;
    tile_compiled *said; /* its diagnostics; NULL: none */
    Asked *asked;
    int nasked;
    int nargs;
    uint8_t key[]; /* one byte for each argument */
} Variant;

struct tile_jit {
    tile_context *ctx;
    pid_t pid;
    Arena arena; /* of the options' texts and the parameters; nothing is added after creation */
    tile_compile_options options;
    const char *kernel;
    JitParam *param;
    int nparams;
    char *folder; /* of the disk cache; NULL: none */
    uint64_t limit;
    pthread_mutex_t lock; /* guards adding variants and the change of their states */
    pthread_cond_t built;
    _Atomic(Variant *) bucket[JIT_BUCKETS]; /* read without the lock */
    atomic_int variants, from_disk;         /* that were made */
    atomic_int added;                       /* and those that failed, or are being built */
};

/* How an argument appears in keys: the type, for a pointer the element, 5 bits; the Promise that it
 * keeps, 2 bits; whether it is a pointer. */
enum { KEY_TYPE = 31, KEY_PROMISE_SHIFT = 5, KEY_PROMISES = 4, KEY_POINTER = 128 };
_Static_assert((int)PROMISES <= (int)KEY_PROMISES, "a key has two bits for a promise");

/* The question answered by other arguments. */
Asked jit_answer(const Asked *question, const tile_arg *args);
/* Fills jit->options, ->kernel and ->param; false with the reason kept for tile_error. */
tile_status jit_take_options(tile_jit *jit, const tile_compile_options *options);
/* Compiles (or finds on disk) and loads. Fills all of v but its state; a failure is v->status, and
 * v->text where the same would come again. */
void jit_build(tile_jit *jit, Variant *v, const tile_arg *args);

#endif
