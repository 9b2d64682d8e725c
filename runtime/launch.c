/* launch.c: a caller's arguments and grid -> a launch, or the reason why not.
 *
 * A kernel was compiled under promises about its arguments (type, alignment, divisibility, one
 * value). All of them are checked here, for every device, before anything starts: a broken promise
 * on a GPU would be a silent wrong answer. */
#include "base/expr.h"
#include "runtime/runtime.h"

#include <stdio.h>
#include <string.h>

static const char *type_name(tile_type t) {
    if (t == TILE_POINTER) return "a pointer";
    if (t == TILE_NONE) return "None";
    if (t >= TILE_I1 && t <= TILE_FP64) return elem_signature_name((Elem)(t - 1));
    return "something that is no type";
}

/* "argument 3 (M) of kernel 'matmul'" goes before what is wrong. */
static tile_status refuse(const tile_kernel *k, int i, const char *text) {
    return rt_fail(k->module->ctx, TILE_BAD_LAUNCH, "argument %d (%s) of kernel '%s': %s", i + 1,
                   k->param[i].name, k->name, text);
}

static tile_status take_pointer(const tile_kernel *k, int i, const tile_arg *a, InterpArg *out) {
    const KernelParam *p = &k->param[i];
    char text[200];
    if (p->none) {
        out->p = 0;
        return TILE_OK;
    }
    if (a->type == TILE_NONE)
        return refuse(k, i, "None, and the kernel was not compiled for None here");
    if (a->type != TILE_POINTER) {
        snprintf(text, sizeof text, "the kernel takes %s, not %s", p->type_text,
                 type_name(a->type));
        return refuse(k, i, text);
    }
    if (a->value.p == 0) return refuse(k, i, "the address is 0");
    if (a->value.p % (uint64_t)p->divisible) {
        snprintf(text, sizeof text,
                 "address 0x%llx is not a multiple of %lld bytes, as the kernel was compiled for",
                 (unsigned long long)a->value.p, (long long)p->divisible);
        return refuse(k, i, text);
    }
    out->p = a->value.p;
    return TILE_OK;
}

static bool int_fits(Elem e, int64_t v) {
    if (e == EL_I1) return v == 0 || v == 1;
    return elem_info[e].bits == 64 || elem_wrap(e, v) == v;
}

static tile_status take_number(const tile_kernel *k, int i, const tile_arg *a, InterpArg *out) {
    const KernelParam *p = &k->param[i];
    char text[200];
    if (a->type != (tile_type)((int)p->elem + 1)) {
        snprintf(text, sizeof text, "the kernel takes %s, not %s", p->type_text,
                 type_name(a->type));
        return refuse(k, i, text);
    }
    if (elem_info[p->elem].class_ == ELEM_F) {
        out->f = elem_to_double(p->elem, elem_from_double(p->elem, a->value.f));
        return TILE_OK;
    }
    int64_t v = a->value.i;
    if (!int_fits(p->elem, v))
        snprintf(text, sizeof text, "%lld does not fit %s", (long long)v, p->type_text);
    else if (p->has_equals && v != p->equals)
        snprintf(text, sizeof text, "the kernel was compiled for the value %lld, not %lld",
                 (long long)p->equals, (long long)v);
    else if (v % p->divisible)
        snprintf(text, sizeof text,
                 "%lld is not a multiple of %lld, as the kernel was compiled for", (long long)v,
                 (long long)p->divisible);
    else {
        out->i = v;
        return TILE_OK;
    }
    return refuse(k, i, text);
}

static tile_status take_args(const tile_kernel *k, const tile_arg *args, int nargs,
                             InterpArg *out) {
    if (nargs != k->nparams || (nargs > 0 && !args)) {
        char names[300];
        size_t n = 0;
        names[0] = '\0';
        for (int i = 0; i < k->nparams && n < sizeof names; i++) {
            int add =
                snprintf(names + n, sizeof names - n, "%s%s", i ? ", " : "", k->param[i].name);
            n += add > 0 ? (size_t)add : 0;
        }
        return rt_fail(k->module->ctx, TILE_BAD_LAUNCH,
                       "kernel '%s' takes %d argument%s (%s), not %d", k->name, k->nparams,
                       k->nparams == 1 ? "" : "s", names, args ? nargs : 0);
    }
    tile_status st = TILE_OK;
    for (int i = 0; i < nargs && !st; i++)
        st = k->param[i].depth ? take_pointer(k, i, &args[i], &out[i])
                               : take_number(k, i, &args[i], &out[i]);
    return st;
}

/* ---- the grid ---- */

typedef struct Names {
    const tile_kernel *k;
    const InterpArg *arg;
} Names;

static ExprName look_up(void *ctx, const char *name, size_t len, int64_t *value) {
    const Names *names = ctx;
    const tile_kernel *k = names->k;
    for (int i = 0; i < k->nparams; i++) {
        const KernelParam *p = &k->param[i];
        if (strlen(p->name) != len || memcmp(p->name, name, len) != 0) continue;
        *value = names->arg[i].i;
        return p->depth || elem_info[p->elem].class_ == ELEM_F ? EXPR_NOT_INTEGER : EXPR_KNOWN;
    }
    for (int i = 0; i < k->nconstexprs; i++) {
        const KernelConstexpr *c = &k->constexpr_[i];
        if (strlen(c->name) != len || memcmp(c->name, name, len) != 0) continue;
        *value = c->value;
        return c->is_int ? EXPR_KNOWN : EXPR_NOT_INTEGER;
    }
    return EXPR_UNKNOWN;
}

static tile_status eval_grid(const tile_kernel *k, const char *text, const InterpArg *arg,
                             tile_grid *grid) {
    tile_context *ctx = k->module->ctx;
    if (!text) text = k->grid;
    if (!text)
        return rt_fail(ctx, TILE_BAD_LAUNCH,
                       "kernel '%s' states no grid (`# tile: grid = …` above it): give one",
                       k->name);
    int64_t size[3] = {1, 1, 1};
    ExprError e;
    Names names = {k, arg};
    if (expr_eval_list(text, strlen(text), look_up, &names, size, 3, &e) < 0)
        return rt_fail(ctx, TILE_BAD_LAUNCH, "the grid of kernel '%s', %s: %s", k->name, text,
                       e.text);
    for (int i = 0; i < 3; i++)
        if (size[i] < 0 || size[i] > UINT32_MAX)
            return rt_fail(ctx, TILE_BAD_LAUNCH, "the grid of kernel '%s', %s, comes to %lld",
                           k->name, text, (long long)size[i]);
    *grid = (tile_grid){(uint32_t)size[0], (uint32_t)size[1], (uint32_t)size[2]};
    return TILE_OK;
}

tile_status tile_kernel_grid(tile_kernel *k, const char *expression, const tile_arg *args,
                             int nargs, tile_grid *out) {
    if (!k || !out) return TILE_INVALID;
    InterpArg arg[RT_MAX_PARAMS];
    tile_status st = rt_enter(k->module->ctx);
    if (!st) st = take_args(k, args, nargs, arg);
    return st ? st : eval_grid(k, expression, arg, out);
}

tile_status tile_launch(tile_kernel *k, const tile_grid *grid, const tile_arg *args, int nargs,
                        void *stream) {
    if (!k) return TILE_INVALID;
    tile_context *ctx = k->module->ctx;
    InterpArg arg[RT_MAX_PARAMS];
    tile_grid own;
    tile_status st = rt_enter(ctx);
    if (!st) st = take_args(k, args, nargs, arg);
    if (!st && grid)
        own = *grid;
    else if (!st)
        st = eval_grid(k, NULL, arg, &own);
    if (st) return st;
    if (own.x > INT32_MAX || own.y > UINT16_MAX || own.z > UINT16_MAX)
        return rt_fail(ctx, TILE_BAD_LAUNCH,
                       "a grid of %u x %u x %u programs: the limits are 2147483647, 65535, 65535",
                       own.x, own.y, own.z);
    if (own.x == 0 || own.y == 0 || own.z == 0) return TILE_OK;
    return ctx->ops->launch(k, &own, arg, stream);
}
