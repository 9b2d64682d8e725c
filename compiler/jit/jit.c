/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* jit.c: arguments of a launch -> the variant of the kernel that was compiled for such arguments.
 *
 * Variants hang in buckets by the hash of their key. They are only ever added, at the head of a
 * bucket, whole: whoever reads needs no lock, and goes from a head that an acquire load gave along
 * links that never change. A thread that finds none adds one under the lock, marked as being built,
 * and builds it with the lock let go; others that come for it wait for its state to change.
 *
 * A kernel whose arguments come in ever other kinds must not fill the memory. With
 * JIT_FINE_VARIANTS of them what is not there yet is made as Triton would make it, for multiples of
 * 16 and ones alone; with JIT_MAX_VARIANTS it is an error. */
#include "compiler/jit/jit.h"

#include "compiler/jit/cache.h"
#include "ir/ir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- keys ---- */

static bool is_integer(tile_type t) {
    return t >= TILE_I8 && t <= TILE_U64; /* a bool is never specialised */
}

/* As `p` would have it; where not `fine`, multiples of 8 that nobody promised are numbers like all
 * others. */
static uint8_t key_of(const JitParam *p, const tile_arg *a, bool fine) {
    bool pointer = a->type == TILE_POINTER;
    unsigned key = (unsigned)(pointer ? a->element : (int)a->type) & KEY_TYPE;
    if (pointer) key |= KEY_POINTER;
    if (p->any_value || (!pointer && !is_integer(a->type))) return (uint8_t)key;
    uint64_t v = pointer ? a->value.p : (uint64_t)a->value.i;
    Promise promise = promise_kept(v, pointer);
    if (promise != PROMISE_ONE && p->any_alignment) promise = PROMISE_NONE;
    if (promise == PROMISE_ONE && p->typed) promise = PROMISE_NONE;
    if (promise == PROMISE_8 && !fine && !p->eights) promise = PROMISE_NONE;
    return (uint8_t)(key | (unsigned)promise << KEY_PROMISE_SHIFT);
}

/* The bits that a heuristic's question about an argument is answered from. */
static uint64_t value_bits(const tile_arg *a) {
    uint64_t bits = 0;
    if (a->type == TILE_POINTER)
        bits = a->value.p != 0;
    else if (a->type >= TILE_FP8E4NV && a->type <= TILE_FP64)
        memcpy(&bits, &a->value.f, sizeof bits);
    else if (a->type != TILE_NONE)
        bits = (uint64_t)a->value.i;
    return bits;
}

Asked jit_answer(const Asked *question, const tile_arg *args) {
    const tile_arg *a = &args[question->param];
    Asked answer = *question;
    answer.type = a->type;
    if (!question->size)
        answer.bits = value_bits(a);
    else if (a->type == TILE_U64 && a->value.i < 0)
        answer.bits = SIZE_LARGE;
    else
        answer.bits = param_size(a->value.i);
    return answer;
}

static void make_key(const tile_jit *jit, const tile_arg *args, bool fine, uint8_t *key) {
    for (int i = 0; i < jit->nparams; i++) key[i] = key_of(&jit->param[i], &args[i], fine);
}

static unsigned bucket_of(const uint8_t *key, int n) {
    uint32_t h = 2166136261u; /* FNV-1a */
    for (int i = 0; i < n; i++) h = (h ^ key[i]) * 16777619u;
    return (h ^ h >> 16) % JIT_BUCKETS;
}

/* What the variant was built from, beyond its key, is as these arguments have it. */
static bool agrees(const Variant *v, const tile_arg *args) {
    for (int i = 0; i < v->nasked; i++) {
        Asked answer = jit_answer(&v->asked[i], args);
        if (answer.type != v->asked[i].type || answer.bits != v->asked[i].bits) return false;
    }
    return true;
}

/* The variant for the key and, as far as it is known which values count, for the values. */
static Variant *find(tile_jit *jit, unsigned bucket, const uint8_t *key, const tile_arg *args,
                     VariantState *state) {
    Variant *v = atomic_load_explicit(&jit->bucket[bucket], memory_order_acquire);
    for (; v; v = v->next) {
        if (v->nargs != jit->nparams || memcmp(v->key, key, (size_t)v->nargs)) continue;
        *state = atomic_load_explicit(&v->state, memory_order_acquire);
        if (*state == VARIANT_BUILDING || *state == VARIANT_RETRY || agrees(v, args)) return v;
    }
    return NULL;
}

/* ---- building once ---- */

static Variant *add(tile_jit *jit, unsigned bucket, const uint8_t *key) {
    Variant *v = calloc(1, sizeof *v + (size_t)jit->nparams);
    if (!v) return NULL;
    v->nargs = jit->nparams;
    memcpy(v->key, key, (size_t)v->nargs);
    atomic_init(&v->state, VARIANT_BUILDING);
    v->next = atomic_load_explicit(&jit->bucket[bucket], memory_order_relaxed);
    atomic_store_explicit(&jit->bucket[bucket], v, memory_order_release);
    atomic_fetch_add(&jit->added, 1);
    return v;
}

static VariantState build(tile_jit *jit, Variant *v, const tile_arg *args) {
    jit_build(jit, v, args);
    VariantState state = v->status == TILE_OK ? VARIANT_READY
                         : v->text            ? VARIANT_FAILED
                                              : VARIANT_RETRY;
    if (state == VARIANT_READY) {
        atomic_fetch_add(&jit->variants, 1);
        atomic_fetch_add(&jit->from_disk, v->from_disk);
    }
    pthread_mutex_lock(&jit->lock);
    atomic_store_explicit(&v->state, state, memory_order_release);
    pthread_cond_broadcast(&jit->built);
    pthread_mutex_unlock(&jit->lock);
    return state;
}

static tile_status refuse_more(tile_jit *jit) {
    char text[400];
    snprintf(
        text, sizeof text,
        "kernel '%.100s' has %d variants, the most that a tile_jit keeps: name arguments whose "
        "values do not matter in do_not_specialize, and see what its heuristics ask for; "
        "tile_jit_destroy frees them",
        jit->kernel, JIT_MAX_VARIANTS);
    return tile_context_fail(jit->ctx, TILE_BAD_LAUNCH, text);
}

/* Waits for the variant, or builds it. */
static tile_status find_or_build(tile_jit *jit, unsigned bucket, const uint8_t *key,
                                 const tile_arg *args, const Variant **out) {
    VariantState state = VARIANT_RETRY;
    pthread_mutex_lock(&jit->lock);
    Variant *v = find(jit, bucket, key, args, &state);
    while (v && state == VARIANT_BUILDING) {
        pthread_cond_wait(&jit->built, &jit->lock);
        v = find(jit, bucket, key, args, &state);
    }
    bool mine = !v || state == VARIANT_RETRY;
    bool full = !v && atomic_load(&jit->added) == JIT_MAX_VARIANTS;
    if (!v && !full)
        v = add(jit, bucket, key);
    else if (v && mine)
        atomic_store_explicit(&v->state, VARIANT_BUILDING, memory_order_relaxed);
    pthread_mutex_unlock(&jit->lock);
    if (full) return refuse_more(jit);
    if (!v) return tile_context_fail(jit->ctx, TILE_NO_MEMORY, "no memory to compile the kernel");
    if (mine) state = build(jit, v, args);
    *out = v;
    if (state == VARIANT_FAILED) return tile_context_fail(jit->ctx, v->status, v->text);
    return v->status;
}

/* ---- the interface ---- */

static tile_status refuse_count(tile_jit *jit, int nargs) {
    char text[700];
    size_t n = 0;
    int put = snprintf(text, sizeof text, "kernel '%.100s' takes %d argument%s (", jit->kernel,
                       jit->nparams, jit->nparams == 1 ? "" : "s");
    n = (size_t)put;
    for (int i = 0; i < jit->nparams && n < sizeof text - 110; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%.100s", i ? ", " : "",
                              jit->param[i].name);
    if (n < sizeof text) snprintf(text + n, sizeof text - n, "), not %d", nargs);
    return tile_context_fail(jit->ctx, TILE_BAD_LAUNCH, text);
}

static tile_status variant_for(tile_jit *jit, const tile_arg *args, int nargs,
                               const Variant **out) {
    if (nargs != jit->nparams || (nargs && !args)) return refuse_count(jit, args ? nargs : 0);
    uint8_t key[JIT_MAX_ARGS];
    VariantState state = VARIANT_RETRY;
    unsigned bucket = 0;
    for (int fine = 1; fine >= 0; fine--) {
        make_key(jit, args, fine, key);
        bucket = bucket_of(key, nargs);
        *out = find(jit, bucket, key, args, &state);
        if (*out && state == VARIANT_READY) return TILE_OK;
        if (*out || atomic_load(&jit->added) < JIT_FINE_VARIANTS) break;
    }
    *out = NULL;
    if (jit->pid != getpid()) return TILE_FORKED; /* the lock may never open here */
    return find_or_build(jit, bucket, key, args, out);
}

tile_status tile_jit_kernel(tile_jit *jit, const tile_arg *args, int nargs, tile_kernel **out) {
    if (!jit || !out) return TILE_INVALID;
    const Variant *v = NULL;
    tile_status st = variant_for(jit, args, nargs, &v);
    *out = st ? NULL : v->kernel;
    return st;
}

tile_status tile_jit_diagnostics(tile_jit *jit, const tile_arg *args, int nargs,
                                 const tile_compiled **out) {
    if (!jit || !out) return TILE_INVALID;
    const Variant *v = NULL;
    tile_status st = variant_for(jit, args, nargs, &v);
    *out = v && (!st || v->text) ? v->said : NULL; /* of one that is tried again it may change */
    return st;
}

tile_status tile_jit_launch(tile_jit *jit, const tile_grid *grid, const tile_arg *args, int nargs,
                            void *stream) {
    tile_kernel *kernel;
    tile_status st = tile_jit_kernel(jit, args, nargs, &kernel);
    return st ? st : tile_launch(kernel, grid, args, nargs, stream);
}

void tile_jit_counts(const tile_jit *jit, int *variants, int *from_disk) {
    if (variants) *variants = jit ? atomic_load(&jit->variants) : 0;
    if (from_disk) *from_disk = jit ? atomic_load(&jit->from_disk) : 0;
}

tile_status tile_jit_create(tile_context *ctx, const tile_compile_options *options,
                            const char *cache_folder, tile_jit **out) {
    if (!ctx || !options || !out) return TILE_INVALID;
    *out = NULL;
    if (!*tile_context_target(ctx)) return TILE_INVALID; /* never opened */
    tile_jit *jit = calloc(1, sizeof *jit);
    if (!jit) return tile_context_fail(ctx, TILE_NO_MEMORY, "no memory for the kernel's source");
    jit->ctx = ctx;
    jit->pid = getpid();
    bool locks = pthread_mutex_init(&jit->lock, NULL) == 0;
    if (locks && pthread_cond_init(&jit->built, NULL)) {
        pthread_mutex_destroy(&jit->lock);
        locks = false;
    }
    if (!locks) {
        free(jit);
        return tile_context_fail(ctx, TILE_NO_MEMORY, "no memory for a lock");
    }
    tile_status st = jit_take_options(jit, options);
    if (st) {
        tile_jit_destroy(jit);
        return st;
    }
    jit->folder = cache_open(cache_folder, &jit->limit);
    *out = jit;
    return TILE_OK;
}

void tile_jit_destroy(tile_jit *jit) {
    if (!jit) return;
    for (int i = 0; i < JIT_BUCKETS; i++)
        for (Variant *v = atomic_load(&jit->bucket[i]), *next; v; v = next) {
            next = v->next;
            tile_module_unload(v->module);
            free(v->asked);
            free(v->text);
            tile_compiled_free(v->said);
            free(v);
        }
    pthread_cond_destroy(&jit->built);
    pthread_mutex_destroy(&jit->lock);
    arena_free(&jit->arena);
    free(jit->folder);
    free(jit);
}
