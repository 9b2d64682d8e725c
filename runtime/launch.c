/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* launch.c: a caller's arguments and grid -> a launch, or the reason why not.
 *
 * A kernel was compiled under promises about its arguments (type, alignment, divisibility, one
 * value). All of them are checked here, for every device, before anything starts: a broken promise
 * on a GPU would be a silent wrong answer. A launch has to cost little more than the driver's own,
 * so what the promises come to is worked out when the module is loaded (launch_prepare); an
 * argument that passes that costs a few comparisons, and only one that does not is asked why. */
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

/* Takes an argument that keeps its promises. False: it has to be looked at more closely. */
static inline bool take_fast(const KernelParam *p, const tile_arg *a, InterpArg *out) {
    switch (p->check) {
    case ARG_POINTER:
        out->p = a->value.p;
        return a->type == TILE_POINTER && (a->value.p & p->mask) == 0;
    case ARG_INT:
        out->i = a->value.i;
        return a->type == p->type && a->value.i >= p->lo && a->value.i <= p->hi &&
               ((uint64_t)a->value.i & p->mask) == 0;
    case ARG_FLOAT:
        if (a->type != p->type) return false;
        out->f = elem_to_double(p->elem, elem_from_double(p->elem, a->value.f));
        return true;
    case ARG_NONE: out->p = 0; return true;
    case ARG_ASK: break;
    }
    return false;
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
    for (int i = 0; i < nargs; i++) {
        if (take_fast(&k->param[i], &args[i], &out[i])) continue;
        tile_status st = k->param[i].depth ? take_pointer(k, i, &args[i], &out[i])
                                           : take_number(k, i, &args[i], &out[i]);
        if (st) return st;
    }
    return TILE_OK;
}

static void prepare_param(KernelParam *p) {
    p->type = p->depth ? TILE_POINTER : (tile_type)((int)p->elem + 1);
    p->lo = INT64_MIN;
    p->hi = INT64_MAX;
    p->mask = (uint64_t)p->divisible - 1;
    bool power_of_2 = ((uint64_t)p->divisible & p->mask) == 0;
    if (p->depth) {
        p->check = p->none ? ARG_NONE : power_of_2 ? ARG_POINTER : ARG_ASK;
    } else if (elem_info[p->elem].class_ == ELEM_F) {
        p->check = ARG_FLOAT;
    } else {
        p->check = power_of_2 ? ARG_INT : ARG_ASK;
        int bits = elem_info[p->elem].bits;
        bool is_unsigned = p->elem == EL_I1 || elem_info[p->elem].class_ == ELEM_U;
        if (bits < 64) {
            p->lo = is_unsigned ? 0 : -((int64_t)1 << (bits - 1));
            p->hi = ((int64_t)1 << (is_unsigned ? bits : bits - 1)) - 1;
        }
        if (p->has_equals && int_fits(p->elem, p->equals)) p->lo = p->hi = p->equals;
        if (p->has_equals && !int_fits(p->elem, p->equals)) p->check = ARG_ASK;
    }
}

/* ---- the grid ---- */

/* `x_ptr.itemsize`: bytes of what a pointer parameter points to. */
static ExprName look_up_size(const tile_kernel *k, const char *name, size_t len, int64_t *value) {
    static const char suffix[] = ".itemsize";
    size_t n = sizeof suffix - 1;
    if (len <= n || memcmp(name + len - n, suffix, n) != 0) return EXPR_UNKNOWN;
    for (int i = 0; i < k->nparams; i++) {
        const KernelParam *p = &k->param[i];
        if (!p->depth || strlen(p->name) != len - n || memcmp(p->name, name, len - n) != 0)
            continue;
        *value = p->none ? 0 : p->depth > 1 ? 8 : elem_info[p->elem].bytes;
        return EXPR_KNOWN;
    }
    return EXPR_UNKNOWN;
}

/* A parameter's value comes with the launch: its slot is its number. */
static ExprName look_up(void *ctx, const char *name, size_t len, int64_t *value) {
    const tile_kernel *k = ctx;
    for (int i = 0; i < k->nparams; i++) {
        const KernelParam *p = &k->param[i];
        if (strlen(p->name) != len || memcmp(p->name, name, len) != 0) continue;
        *value = i;
        return p->depth || elem_info[p->elem].class_ == ELEM_F ? EXPR_NOT_INTEGER : EXPR_SLOT;
    }
    for (int i = 0; i < k->nconstexprs; i++) {
        const KernelConstexpr *c = &k->constexpr_[i];
        if (strlen(c->name) != len || memcmp(c->name, name, len) != 0) continue;
        *value = c->value;
        return c->is_int ? EXPR_KNOWN : EXPR_NOT_INTEGER;
    }
    return look_up_size(k, name, len, value);
}

/* Without code where one of them cannot be read. */
static void prepare_numbers(Session *s, tile_kernel *k) {
    ExprOp op[EXPR_MAX_OPS];
    ExprError e;
    Buf text = buf_new(&s->arena);
    for (int i = 0; i < k->nnumbers; i++)
        buf_printf(&text, "%s%s", i ? ", " : "", k->number[i].text);
    int nops = k->nnumbers ? expr_compile(text.data, text.len, look_up, k, op, EXPR_MAX_OPS,
                                          k->nnumbers, &e)
                           : 0;
    if (nops > 0) k->number_code = arena_copy(&s->arena, op, (size_t)nops * sizeof *op);
    k->number_ops = nops > 0 ? nops : 0;
}

void launch_prepare(Session *s, tile_kernel *k) {
    for (int i = 0; i < k->nparams; i++) prepare_param(&k->param[i]);
    k->plain = rt_cluster_size(k) == 1 && !k->cooperative;
    ExprOp op[EXPR_MAX_OPS];
    ExprError e;
    for (int i = 0; i < k->nmaps; i++) {
        KernelMap *m = &k->map[i];
        m->made = rt_made_maps(&s->arena);
        int nops = expr_compile(m->text, strlen(m->text), look_up, k, op, EXPR_MAX_OPS,
                                2 * m->rank + 1, &e);
        if (nops <= 0) continue;
        m->code = arena_copy(&s->arena, op, (size_t)nops * sizeof *op);
        m->nops = nops;
    }
    prepare_numbers(s, k);
    if (k->cluster_when && k->max_cluster) {
        int nops = expr_compile(k->cluster_when, strlen(k->cluster_when), look_up, k, op,
                                EXPR_MAX_OPS, 1, &e);
        if (nops > 0) k->cluster_code = arena_copy(&s->arena, op, (size_t)nops * sizeof *op);
        k->cluster_ops = nops > 0 ? nops : 0;
    }
    const char *iterations = k->split.iterations;
    if (iterations) {
        int nops =
            expr_compile(iterations, strlen(iterations), look_up, k, op, EXPR_MAX_OPS, 1, &e);
        if (nops > 0) k->split.code = arena_copy(&s->arena, op, (size_t)nops * sizeof *op);
        k->split.nops = nops > 0 ? nops : 0;
    }
    if (k->worth_places) {
        int nops = expr_compile(k->worth_places, strlen(k->worth_places), look_up, k, op,
                                EXPR_MAX_OPS, 1, &e);
        if (nops > 0) k->worth_code = arena_copy(&s->arena, op, (size_t)nops * sizeof *op);
        k->worth_ops = nops > 0 ? nops : 0;
    }
    if (k->conditions) {
        int nops = expr_compile_conditions(k->conditions, strlen(k->conditions), look_up, k, op,
                                           EXPR_MAX_OPS, &e);
        k->unusable |= nops < 0;
        if (nops > 0) k->condition_code = arena_copy(&s->arena, op, (size_t)nops * sizeof *op);
        k->condition_ops = nops > 0 ? nops : 0;
    }
    if (k->of) k->kept = rt_keep_numbers(&s->arena, k);
    if (!k->grid) return;
    int n = expr_compile(k->grid, strlen(k->grid), look_up, k, op, EXPR_MAX_OPS, 3, &e);
    if (n <= 0) return;
    k->grid_code = arena_copy(&s->arena, op, (size_t)n * sizeof *op);
    k->grid_ops = n;
}

tile_status rt_check_hidden(const tile_kernel *k) {
    bool all = k->nhidden <= k->nmaps + k->nnumbers + k->naxes + k->nsplit;
    if (all && k->naxes >= k->persistent && (!k->nsplit || k->nsplit == RT_SPLIT) &&
        (!k->nnumbers || k->number_code))
        return TILE_OK;
    return rt_fail(k->module->ctx, TILE_BAD_MODULE,
                   "kernel '%s' has hidden parameters, which this version of the runtime cannot "
                   "make",
                   k->name);
}

/* text NULL: the grid that the kernel states. */
static tile_status eval_grid(tile_kernel *k, const char *text, const InterpArg *arg,
                             tile_grid *grid) {
    tile_context *ctx = k->module->ctx;
    ExprOp own[EXPR_MAX_OPS];
    const ExprOp *op = text ? NULL : k->grid_code;
    int nops = k->grid_ops;
    int64_t size[3] = {1, 1, 1};
    ExprError e;
    if (!text) text = k->grid;
    if (!text)
        return rt_fail(ctx, TILE_BAD_LAUNCH,
                       "kernel '%s' states no grid (`# tile: grid = …` above it): give one",
                       k->name);
    if (!op) {
        nops = expr_compile(text, strlen(text), look_up, k, own, EXPR_MAX_OPS, 3, &e);
        op = own;
    }
    if (nops < 0 || expr_run(op, nops, rt_value_of_slot, arg, size, &e) < 0)
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

tile_status tile_kernel_value(tile_kernel *k, const char *expression, const tile_arg *args,
                              int nargs, int64_t *out) {
    if (!k || !expression || !out) return TILE_INVALID;
    InterpArg arg[RT_MAX_PARAMS];
    tile_status st = rt_enter(k->module->ctx);
    if (!st) st = take_args(k, args, nargs, arg);
    if (st) return st;
    ExprOp op[EXPR_MAX_OPS];
    ExprError e;
    int n = expr_compile(expression, strlen(expression), look_up, k, op, EXPR_MAX_OPS, 1, &e);
    if (n >= 0 && expr_run(op, n, rt_value_of_slot, arg, out, &e) == 1) return TILE_OK;
    return rt_fail(k->module->ctx, TILE_BAD_LAUNCH, "kernel '%s': %s: %s", k->name, expression,
                   e.text);
}

/* The programs that a launch is asked for, and its arguments. */
static tile_status take_launch(tile_kernel *k, const tile_grid *grid, const tile_arg *args,
                               int nargs, LaunchGrid *out, InterpArg *arg) {
    tile_context *ctx = k->module->ctx;
    tile_status st = rt_enter(ctx);
    if (!st) st = take_args(k, args, nargs, arg);
    if (!st && grid)
        out->work = *grid;
    else if (!st)
        st = eval_grid(k, NULL, arg, &out->work);
    if (st) return st;
    const tile_grid *g = &out->work;
    if (g->x <= INT32_MAX && g->y <= UINT16_MAX && g->z <= UINT16_MAX) return TILE_OK;
    return rt_fail(ctx, TILE_BAD_LAUNCH,
                   "a grid of %u x %u x %u programs: the limits are 2147483647, 65535, 65535", g->x,
                   g->y, g->z);
}

/* A grid without programs launches nothing. */
static tile_status launch(tile_kernel *k, const tile_grid *grid, const tile_arg *args, int nargs,
                          void *stream, EntryAsk *ask) {
    InterpArg arg[RT_MAX_PARAMS];
    LaunchGrid g = {.ask = ask};
    tile_status st = take_launch(k, grid, args, nargs, &g, arg);
    if (st || g.work.x == 0 || g.work.y == 0 || g.work.z == 0) return st;
    return rt_launch(k, &g, arg, stream);
}

tile_status tile_launch(tile_kernel *k, const tile_grid *grid, const tile_arg *args, int nargs,
                        void *stream) {
    return k ? launch(k, grid, args, nargs, stream, NULL) : TILE_INVALID;
}

tile_status tile_kernel_entry(tile_kernel *k, const tile_grid *grid, const tile_arg *args,
                              int nargs, tile_entry_fn see, void *user) {
    EntryAsk ask = {.see = see, .user = user};
    return k && see ? launch(k, grid, args, nargs, NULL, &ask) : TILE_INVALID;
}
