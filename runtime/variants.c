/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* variants.c: several compiled forms of the same kernels -> the first that the arguments of a
 * launch allow (tile_bundle of tile.h).
 *
 * Of each image that the device can run the manifest is read at once, which is cheap, and the code
 * is loaded when a launch first takes it, which on a GPU is not. Images are tried in the order of
 * their variants, of one variant the one made for the newest GPU first, machine code before PTX;
 * one that the driver refuses gives way to the next of its variant. Variants that were tuned for
 * sizes share most of their configs: images with the same bytes are loaded once. */
#include "base/expr.h"
#include "ir/target.h"
#include "base/json.h"
#include "runtime/runtime.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_IMAGES = 4096 };

/* An image's conditions, for one of its kernels: a launch does no work on text. */
typedef struct Rule {
    ExprOp *op;
    int nops; /* 0: no conditions; -1: the kernel has no such integers, they never hold */
} Rule;

typedef struct Choice {
    const tile_image *image;
    int rank; /* of its variant's images the highest goes first */
    tile_kernel *facts;
    Rule *rule; /* of each of them */
    int nfacts;
    struct Choice *same; /* the first with the same bytes, which has the module; it may be itself */
    _Atomic(tile_module *) module; /* NULL: not loaded yet */
    atomic_bool refused;           /* and there is another of its variant */
} Choice;

struct tile_bundle {
    tile_context *ctx;
    Session session; /* of the manifests */
    Choice *choice;
    int nchoices;
    pthread_mutex_t lock; /* held to load */
};

/* ---- which images ---- */

static bool is_cubin(const tile_image *image) {
    return image->size >= 4 && memcmp(image->data, "\177ELF", 4) == 0;
}

/* 0: not for this device. */
static int rank_of(const tile_context *ctx, const tile_image *image) {
    if (ctx->is_cpu) return strcmp(image->target, "cpu") == 0;
    const Target *t = target_find(image->target), *own = target_find(ctx->target);
    if (!t || !own) return 0;
    if (t != own && (is_cubin(image) || !target_runs(t, own->sm))) return 0;
    return t->sm * 2 + is_cubin(image);
}

static int by_preference(const void *a, const void *b) {
    const Choice *x = a, *y = b;
    if (x->image->variant != y->image->variant)
        return x->image->variant < y->image->variant ? -1 : 1;
    if (x->rank != y->rank) return x->rank > y->rank ? -1 : 1;
    return (x->image > y->image) - (x->image < y->image);
}

/* The kernels that the manifest tells of; NULL, or what is wrong. */
static const char *read_manifest(Session *s, Choice *c) {
    const char *data = c->image->data, *target, *wrong = "there is no manifest";
    size_t at = module_text_at(data, c->image->size), json_len, code;
    char *json;
    if (at == SIZE_MAX) return wrong;
    if (!module_head(data + at, c->image->size - at, &json, &json_len, &code)) session_starve(s);
    json_error_t e;
    bool starved = false;
    json_t *root = json_len ? json_of_text(json, json_len, JSON_ALLOW_NUL, &e, &starved) : NULL;
    free(json);
    if (starved) session_starve(s);
    if (root) wrong = manifest_kernels(s, root, &c->facts, &c->nfacts, &target);
    json_decref(root);
    return wrong;
}

static bool is_name(const char *name, const char *text, size_t len) {
    return strlen(name) == len && memcmp(name, text, len) == 0;
}

/* A parameter's value comes with the launch: its slot is its number. */
static ExprName look_up(void *ctx, const char *name, size_t len, int64_t *value) {
    const tile_kernel *k = ctx;
    for (int i = 0; i < k->nparams; i++) {
        if (!is_name(k->param[i].name, name, len)) continue;
        *value = i;
        bool whole = !k->param[i].depth && elem_info[k->param[i].elem].class_ != ELEM_F;
        return whole ? EXPR_SLOT : EXPR_NOT_INTEGER;
    }
    for (int i = 0; i < k->nconstexprs; i++) {
        if (!is_name(k->constexpr_[i].name, name, len)) continue;
        *value = k->constexpr_[i].value;
        return k->constexpr_[i].is_int ? EXPR_KNOWN : EXPR_NOT_INTEGER;
    }
    return EXPR_UNKNOWN;
}

static void read_rules(Session *s, Choice *c) {
    const char *when = c->image->when;
    c->rule = arena_array(&s->arena, (size_t)c->nfacts + 1, sizeof *c->rule);
    for (int i = 0; when && *when && i < c->nfacts; i++) {
        ExprOp op[EXPR_MAX_OPS];
        ExprError ignored;
        int n = expr_compile_conditions(when, strlen(when), look_up, &c->facts[i], op, EXPR_MAX_OPS,
                                        &ignored);
        Rule *rule = &c->rule[i];
        *rule = (Rule){.nops = n};
        if (n <= 0) continue;
        rule->op = arena_array(&s->arena, (size_t)n, sizeof *op);
        memcpy(rule->op, op, (size_t)n * sizeof *op);
    }
}

static void find_same(tile_bundle *b) {
    for (int i = 0; i < b->nchoices; i++) {
        Choice *c = &b->choice[i], *first = b->choice;
        while (first->image->data != c->image->data || first->image->size != c->image->size)
            first++;
        c->same = first;
    }
}

/* Everything that can jump to the session's bail. */
static tile_status take_images(tile_bundle *b, const tile_image *images, int n) {
    Session *s = &b->session;
    if (setjmp(s->bail))
        return rt_fail(b->ctx, s->out_of_memory ? TILE_NO_MEMORY : TILE_BAD_MODULE,
                       s->out_of_memory ? "no memory for the kernels" : "the kernels are too many");
    session_init(s);
    b->choice = arena_array(&s->arena, (size_t)n + 1, sizeof *b->choice);
    for (int i = 0; i < n; i++) {
        if (!images[i].target || !images[i].data)
            return rt_fail(b->ctx, TILE_INVALID, "image %d: NULL", i);
        int rank = rank_of(b->ctx, &images[i]);
        if (!rank) continue;
        Choice *c = &b->choice[b->nchoices];
        c->image = &images[i];
        c->rank = rank;
        const char *wrong = read_manifest(s, c);
        if (wrong)
            return rt_fail(b->ctx, TILE_BAD_MODULE, "variant %d for %s: %s", images[i].variant,
                           images[i].target, wrong);
        read_rules(s, c);
        b->nchoices++;
    }
    if (!b->nchoices)
        return rt_fail(b->ctx, TILE_BAD_MODULE, "none of the kernels' images is for %s (%s)",
                       b->ctx->name, b->ctx->target);
    qsort(b->choice, (size_t)b->nchoices, sizeof *b->choice, by_preference);
    find_same(b);
    return TILE_OK;
}

tile_status tile_bundle_create(tile_context *ctx, const tile_image *images, int nimages,
                               tile_bundle **out) {
    tile_status st = rt_enter(ctx);
    if (st) return st;
    if (nimages > MAX_IMAGES)
        return rt_fail(ctx, TILE_INVALID, "tile_bundle_create: %d images: the limit is %d", nimages,
                       MAX_IMAGES);
    if (!out || !images || nimages < 1)
        return rt_fail(ctx, TILE_INVALID, "tile_bundle_create: NULL, or no images");
    *out = NULL;
    tile_bundle *b = calloc(1, sizeof *b);
    if (!b) return rt_fail(ctx, TILE_NO_MEMORY, "no memory for the kernels");
    if (pthread_mutex_init(&b->lock, NULL)) {
        free(b);
        return rt_fail(ctx, TILE_NO_MEMORY, "no memory for a lock");
    }
    b->ctx = ctx;
    st = take_images(b, images, nimages);
    if (st)
        tile_bundle_destroy(b);
    else
        *out = b;
    return st;
}

void tile_bundle_destroy(tile_bundle *b) {
    if (!b) return;
    for (int i = 0; i < b->nchoices; i++) tile_module_unload(atomic_load(&b->choice[i].module));
    pthread_mutex_destroy(&b->lock);
    session_free(&b->session);
    free(b);
}

/* ---- which of them for these arguments ---- */

/* The value is what the kernel was compiled for; whether it fits the type is tile_launch's. */
static bool keeps(const KernelParam *p, const tile_arg *a) {
    if (p->none) return a->type == TILE_NONE || (a->type == TILE_POINTER && !a->value.p);
    if (p->depth) return a->type == TILE_POINTER && a->value.p % (uint64_t)p->divisible == 0;
    if (a->type != (tile_type)((int)p->elem + 1)) return false;
    if (elem_info[p->elem].class_ == ELEM_F) return true;
    return (!p->has_equals || a->value.i == p->equals) && a->value.i % p->divisible == 0;
}

/* NULL: the kernel is not in this image. */
static const tile_kernel *facts_of(const Choice *c, const char *name) {
    for (int i = 0; i < c->nfacts; i++)
        if (name ? strcmp(c->facts[i].name, name) == 0 : c->nfacts == 1) return &c->facts[i];
    return NULL;
}

static bool promised(const tile_kernel *k, const tile_arg *args, int nargs) {
    if (nargs != k->nparams) return false;
    for (int i = 0; i < nargs; i++)
        if (!keeps(&k->param[i], &args[i])) return false;
    return true;
}

static int64_t value_of_slot(const void *ctx, int64_t number) {
    const tile_arg *args = ctx;
    return args[number].value.i;
}

/* A condition without a value, a division by zero say, does not hold. */
static bool conditions_hold(const Choice *c, const tile_kernel *k, const tile_arg *args,
                            ExprVerdict *verdict) {
    const Rule *rule = &c->rule[k - c->facts];
    ExprError ignored;
    *verdict = (ExprVerdict){.holds = true};
    if (!rule->nops) return true;
    return rule->nops > 0 &&
           expr_test(rule->op, rule->nops, value_of_slot, args, verdict, &ignored) &&
           verdict->holds;
}

/* The first that fits; when it names sizes, the one with the nearest sizes of those that fit, up to
 * the first that names none. *last: the last one that has the kernel at all. */
static Choice *choose(tile_bundle *b, const char *name, const tile_arg *args, int nargs,
                      Choice **last) {
    Choice *best = NULL;
    double least = INFINITY;
    *last = NULL;
    for (int i = 0; i < b->nchoices; i++) {
        Choice *c = &b->choice[i];
        const tile_kernel *k = facts_of(c, name);
        ExprVerdict verdict;
        if (!k || atomic_load_explicit(&c->refused, memory_order_relaxed)) continue;
        *last = c;
        if (!promised(k, args, nargs) || !conditions_hold(c, k, args, &verdict)) continue;
        if (!verdict.has_sizes) return best ? best : c;
        if (best && verdict.doublings >= least) continue;
        best = c;
        least = verdict.doublings;
    }
    return best;
}

/* The choice's module, loaded by one thread. */
static tile_status load(tile_bundle *b, Choice *c, tile_module **out) {
    c = c->same;
    *out = atomic_load_explicit(&c->module, memory_order_acquire);
    if (*out) return TILE_OK;
    if (rt_enter(b->ctx)) return rt_enter(b->ctx); /* in a forked child the lock may never open */
    tile_status st = TILE_OK;
    pthread_mutex_lock(&b->lock);
    *out = atomic_load_explicit(&c->module, memory_order_relaxed);
    if (!*out) st = tile_module_load(b->ctx, c->image->data, c->image->size, out);
    if (!st) atomic_store_explicit(&c->module, *out, memory_order_release);
    pthread_mutex_unlock(&b->lock);
    return st;
}

tile_status tile_bundle_kernel(tile_bundle *b, const char *name, const tile_arg *args, int nargs,
                               tile_kernel **out) {
    if (!b || !out) return TILE_INVALID;
    *out = NULL;
    if (nargs < 0 || (nargs && !args))
        return rt_fail(b->ctx, TILE_INVALID, "tile_bundle_kernel: the arguments are NULL");
    Choice *last = NULL, *end = b->choice + b->nchoices;
    tile_module *module;
    for (Choice *c; (c = choose(b, name, args, nargs, &last));) {
        tile_status st = load(b, c, &module);
        bool another = c + 1 < end && c[1].image->variant == c->image->variant;
        if (st != TILE_BAD_MODULE || !another)
            return st ? st : tile_kernel_get(module, facts_of(c, name)->name, out);
        atomic_store_explicit(&c->refused, true, memory_order_relaxed);
    }
    if (!last)
        return rt_fail(b->ctx, TILE_NOT_FOUND, "there is no kernel '%.200s' among these variants",
                       name ? name : "(one alone)");
    const tile_kernel *k = facts_of(last, name);
    if (promised(k, args, nargs))
        return rt_fail(b->ctx, TILE_BAD_LAUNCH,
                       "kernel '%s' has no variant for these arguments: not even %s holds", k->name,
                       last->image->when);
    /* The launch will say which argument it is. */
    tile_status st = load(b, last, &module);
    if (!st) st = tile_kernel_get(module, k->name, out);
    tile_grid grid;
    if (!st) st = tile_kernel_grid(*out, "1", args, nargs, &grid);
    *out = NULL;
    return st ? st
              : rt_fail(b->ctx, TILE_BAD_LAUNCH, "kernel '%s' has no variant for these arguments",
                        k->name);
}

tile_status tile_bundle_launch(tile_bundle *b, const char *name, const tile_grid *grid,
                               const tile_arg *args, int nargs, void *stream) {
    tile_kernel *kernel;
    tile_status st = tile_bundle_kernel(b, name, args, nargs, &kernel);
    return st ? st : tile_launch(kernel, grid, args, nargs, stream);
}
