/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* forecast.c: the configs of a kernel and the arguments of a launch -> the config that a model of
 * the GPU takes for the fastest. Nothing is run: each config is compiled, and its manifest has the
 * numbers (passes/forecast.c).
 *
 *   launch = start + rounds * place + what is left of the grid
 *   place  = turns * turn + what is stored, which in programs that stay lies under the next place
 *   turn   = the norm of 4 of what bounds it: the matrix units, a program's own waits, the latency
 *            of memory over the slices in flight, the bytes that all programs ask for at once
 *
 * in clocks of a multiprocessor. Times of two entries are compared, so what they have in common,
 * as the tensors' way from memory, is left out. */
#include "compiler/tune/tune.h"

#include "base/expr.h"
#include "ir/ir.h"
#include "ir/target.h"
#include "passes/cost.h"
#include "passes/forecast.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Launch { /* of one config */
    const tile_compile_options *o;
    const char *grid; /* the caller's; NULL: the kernel's */
    const Target *target;
    int multiprocessors;
    const json_t *kernel; /* of its manifest */
    double places;
    char *why; /* TUNE_TEXT bytes */
} Launch;

/* ---- numbers ---- */

static bool is_name(const char *text, const char *name, size_t len) {
    return text && strlen(text) == len && memcmp(text, name, len) == 0;
}

/* What the parameter takes. */
static bool fits(const json_t *param, int64_t v) {
    const char *type = json_string_value(json_object_get(param, "type"));
    Elem elem;
    return !type || !elem_from_name(type, strlen(type), &elem) || elem_info[elem].bits == 64 ||
           elem_wrap(elem, v) == v;
}

static const json_t *param_named(const Launch *l, const char *name, size_t len) {
    size_t i;
    json_t *p;
    json_array_foreach(
        json_object_get(l->kernel, "params"), i,
        p) if (is_name(json_string_value(json_object_get(p, "name")), name, len)) return p;
    return NULL;
}

/* A constexpr, which no launch gives, or an argument that is given or promised. */
static ExprName look_up(void *ctx, const char *name, size_t len, int64_t *value) {
    const Launch *l = ctx;
    const char *key;
    json_t *v;
    json_object_foreach(json_object_get(l->kernel, "constexprs"), key, v) {
        if (!is_name(key, name, len)) continue;
        *value = json_integer_value(v);
        return json_is_integer(v) ? EXPR_KNOWN : EXPR_NOT_INTEGER;
    }
    const json_t *p = param_named(l, name, len), *equals = json_object_get(p, "equals");
    for (int k = 0; k < l->o->nvalues; k++) {
        const char *text = l->o->values[k], *end = strchr(text, '=');
        char *stop;
        if (!end || (size_t)(end - text) != len || memcmp(text, name, len) != 0) continue;
        errno = 0;
        *value = strtoll(end + 1, &stop, 10);
        bool is = stop != end + 1 && !*stop && !errno && fits(p, *value);
        return is ? EXPR_KNOWN : EXPR_NOT_INTEGER;
    }
    *value = json_integer_value(equals);
    return equals ? EXPR_KNOWN : EXPR_UNKNOWN;
}

/* False: text is NULL, or something in it is not known; *e says what. */
static bool worth(const Launch *l, const char *text, int64_t *value, ExprError *e) {
    return text && expr_eval(text, strlen(text), look_up, (void *)(uintptr_t)l, value, e);
}

static double number(const json_t *o, const char *name, double absent) {
    const json_t *v = json_object_get(o, name);
    return v ? (double)json_integer_value(v) : absent;
}

static const char *text_of(const json_t *o, const char *name) {
    return json_string_value(json_object_get(o, name));
}

/* ---- the model ---- */

typedef struct Entry {
    bool stays; /* its programs take several places */
    double dots, wait, bytes, stored, sums, turns, groups, latency;
    double resident; /* programs on a multiprocessor */
} Entry;

static double at_least(double x, double least) {
    return x > least ? x : least;
}

static double at_most(double x, double most) {
    return x < most ? x : most;
}

/* With so many programs on a multiprocessor, and in all. */
static double turn_of(const Launch *l, const Entry *e, double here, double all) {
    double bytes = all * e->bytes / (COST_MULTIPROCESSOR_BYTES * (double)l->multiprocessors);
    double clocks[] = {here * e->dots, e->dots / e->groups + e->wait, e->latency, bytes};
    return at_once_clocks(clocks, 4);
}

static double place_of(const Launch *l, const Entry *e, double here, double all) {
    double ends = e->stays ? here * e->sums * COST_SUM_TENTHS / 10.0 : 0;
    return e->turns * turn_of(l, e, here, all) + ends;
}

static double stores_of(const Entry *e, double here) {
    return here * e->stored / COST_STORED_BYTES;
}

static double launch_of(const Launch *l, const Entry *e) {
    double mps = (double)l->multiprocessors, at_once = mps * e->resident;
    double rounds = floor(l->places / at_once), left = l->places - rounds * at_once;
    double here = ceil(left / mps), store = stores_of(e, e->resident);
    double place = place_of(l, e, e->resident, at_once), all;
    /* The GPU does not fill its multiprocessors evenly. */
    if (left > mps && here < e->resident) here++;
    all = rounds * (e->stays ? at_least(place, store) : place + store);
    if (left > 0)
        all += place_of(l, e, here, left) + stores_of(e, here);
    else if (e->stays)
        all += store;
    return all + (e->stays ? COST_START_STAYING : COST_START_OWN);
}

/* ---- entries ---- */

static Entry entry_of(const Launch *l, const json_t *o) {
    enum { REGISTERS_BESIDE = 56, REGISTERS_STEP = 8 };
    double warps = number(o, "num_warps", 4), own = number(l->kernel, "num_warps", 4);
    double stages = number(l->kernel, "num_stages", 2);
    int64_t lines;
    ExprError ignored;
    Entry e = {.stays = json_object_get(o, "persistent") != NULL,
               .dots = number(o, "cost_dots", 1),
               .wait = number(o, "cost_wait", 0),
               .bytes = number(o, "cost_bytes", 0),
               .stored = number(o, "cost_stored", 0),
               .sums = number(o, "cost_sums", 0),
               .groups = at_least(own / 4, 1), /* warps of a warpgroup */
               .latency = COST_LATENCY / at_least(stages - 1, 1)};
    if (worth(l, text_of(o, "cost_lines"), &lines, &ignored)) e.bytes = (double)lines;
    double registers = e.sums + REGISTERS_BESIDE + REGISTERS_STEP - 1;
    registers -= fmod(registers, REGISTERS_STEP);
    double by_shared = (double)target_programs(l->target, (int64_t)number(o, "shared", 0));
    double by_registers = floor((double)l->target->registers / (registers * 32 * warps));
    e.resident = at_most(at_most(by_shared, by_registers), floor(COST_MOST_WARPS / warps));
    e.resident = at_least(e.resident, 1);
    return e;
}

/* The copy engine takes the tensors, as far as their strides are known. */
static bool has_maps(const Launch *l, const json_t *o) {
    enum { ALIGN = 16 };
    size_t i, d;
    json_t *h, *stride;
    ExprError ignored;
    json_array_foreach(json_object_get(o, "hidden"), i, h) {
        json_t *strides = json_object_get(h, "strides");
        const char *type = text_of(h, "type");
        Elem elem;
        if (!type || !elem_from_name(type, strlen(type), &elem)) continue;
        json_array_foreach(strides, d, stride) {
            int64_t v;
            if (d + 1 < json_array_size(strides) &&
                worth(l, json_string_value(stride), &v, &ignored) &&
                v % ALIGN * elem_info[elem].bytes % ALIGN)
                return false;
        }
    }
    return true;
}

static tile_status not_known(Launch *l, const ExprError *e) {
    bool missing = strstr(e->text, "unknown name") != NULL;
    snprintf(l->why, TUNE_TEXT, "%s%s", e->text,
             missing ? ": say which sizes launches have (--for=NAME=VALUE,…)" : "");
    return TILE_NOT_FOUND;
}

/* The product of expressions for the grid's axes. */
static tile_status count_axes(Launch *l, const char *text) {
    int64_t size[3];
    ExprError e = {.text = ""};
    int n = expr_eval_list(text, strlen(text), look_up, l, size, 3, &e);
    if (n < 0) return not_known(l, &e);
    for (int i = 0; i < n; i++) {
        if (size[i] < 1) {
            snprintf(l->why, TUNE_TEXT, "with these sizes the grid, %s, is %lld", text,
                     (long long)size[i]);
            return TILE_NOT_FOUND;
        }
        l->places *= (double)size[i];
    }
    return TILE_OK;
}

/* By the caller's grid, else the one that the kernel states. */
static tile_status count_places(Launch *l) {
    const json_t *grid = json_object_get(l->kernel, "grid");
    tile_status st = TILE_OK;
    l->places = 1;
    if (l->grid) return count_axes(l, l->grid);
    for (size_t i = 0; !st && i < json_array_size(grid); i++)
        st = count_axes(l, json_string_value(json_array_get(grid, i)));
    if (json_array_size(grid)) return st;
    snprintf(l->why, TUNE_TEXT, "the kernel states no grid (`# tile: grid = …` above it)");
    return TILE_NOT_FOUND;
}

/* By the entry that the launch would take. TILE_NOT_FOUND: it cannot be told, *why says why. */
static tile_status clocks_of(Launch *l, double *clocks) {
    const json_t *entries = json_object_get(l->kernel, "entries"), *chosen = l->kernel;
    json_t *o;
    size_t i;
    int64_t turns;
    ExprError e = {.text = ""};
    if (!json_object_get(l->kernel, "cost_turns")) {
        snprintf(l->why, TUNE_TEXT,
                 "its places of the grid are not one loop of sums of dots each, which is all that "
                 "there is a model of: measure them (tilerun --tune)");
        return TILE_NOT_FOUND;
    }
    tile_status st = count_places(l);
    if (st) return st;
    if (!worth(l, text_of(l->kernel, "cost_turns"), &turns, &e)) return not_known(l, &e);
    if (turns < 0) turns = 0; /* a loop that does not go round */
    json_array_foreach(entries, i, o) {
        Entry further = entry_of(l, o);
        double programs = (double)l->multiprocessors * further.resident;
        int64_t least = (int64_t)number(o, "min_places", 1);
        const char *better = text_of(o, "worth_places");
        if (!json_object_get(o, "persistent") || !has_maps(l, o) ||
            (better && !worth(l, better, &least, &e)) ||
            l->places <= programs * (double)(least - 1))
            continue;
        chosen = o;
        break;
    }
    Entry entry = entry_of(l, chosen);
    entry.turns = (double)turns;
    *clocks = launch_of(l, &entry);
    return TILE_OK;
}

/* ---- the configs ---- */

/* TILE_COMPILE_ERROR: such a config is none. */
static tile_status clocks_of_config(const TunePlan *plan, Launch *l, const char *config,
                                    double *clocks) {
    tile_compile_options q = plan_quiet(plan->o, TILE_EMIT_MANIFEST, config);
    tile_compiled *c;
    size_t len;
    q.kernel = plan_name(plan);
    tile_status st = tile_compile(&q, &c);
    if (!c) return TILE_NO_MEMORY;
    if (st) {
        tune_reason(c, l->why, TUNE_TEXT);
        tile_compiled_free(c);
        return st;
    }
    const char *text = tile_compiled_text(c, TILE_PART_OUTPUT, &len);
    json_t *root = json_loadb(text, len, 0, NULL);
    l->kernel = json_array_get(json_object_get(root, "kernels"), 0);
    if (number(l->kernel, "shared", 0) > (double)l->target->max_shared) {
        snprintf(l->why, TUNE_TEXT, "more shared memory than the GPU has");
        st = TILE_COMPILE_ERROR;
    } else {
        st = l->kernel ? clocks_of(l, clocks) : TILE_NO_MEMORY;
    }
    json_decref(root);
    tile_compiled_free(c);
    return st;
}

tile_status forecast_clocks(TunePlan *plan, const tile_compile_options *values, const char *grid,
                            int multiprocessors, double *clocks) {
    const char *name = plan->o->target;
    const Target *target = name && strcmp(name, "cpu") ? target_find(name) : target_default();
    Launch l = {.o = values, .grid = grid, .target = target, .why = plan->why};
    int n = plan_configs(plan), told = 0;
    tile_status last = TILE_OK;
    if (!n || !target) {
        snprintf(plan->why, TUNE_TEXT,
                 n ? "there is no GPU '%s' to have a model of"
                   : "the kernel has no list of configs",
                 name);
        return n ? TILE_INVALID : TILE_NOT_FOUND;
    }
    l.multiprocessors = multiprocessors ? multiprocessors : target->multiprocessors;
    for (int i = 0; i < n; i++) {
        clocks[i] = INFINITY;
        tile_status st = clocks_of_config(plan, &l, plan_config(plan, i), &clocks[i]);
        if (st == TILE_NO_MEMORY || st == TILE_NOT_FOUND) return st;
        told += !st;
        if (st) last = st;
    }
    return told ? TILE_OK : last;
}

static tile_status best_config(TunePlan *plan, const char *grid, int multiprocessors,
                               const char **config) {
    int n = plan_configs(plan), best = 0;
    double *clocks = calloc((size_t)n + 1, sizeof *clocks);
    tile_status st =
        clocks ? forecast_clocks(plan, plan->o, grid, multiprocessors, clocks) : TILE_NO_MEMORY;
    for (int i = 1; !st && i < n; i++)
        if (clocks[i] < clocks[best]) best = i;
    *config = st ? NULL : plan_config(plan, best);
    free(clocks);
    return st;
}

tile_status tile_tune_forecast(const tile_compile_options *options, const char *grid,
                               int multiprocessors, char *config, size_t size, char *message,
                               size_t message_size) {
    TunePlan plan = {.o = options};
    const char *found = NULL;
    bool sound = options && config && size && multiprocessors >= 0;
    tile_status st = sound ? plan_read(&plan, options) : TILE_INVALID;
    if (!st) st = best_config(&plan, grid, multiprocessors, &found);
    if (!st && strlen(found) >= size) {
        snprintf(plan.why, TUNE_TEXT, "there is no room for '%s'", found);
        st = TILE_INVALID;
    }
    if (!st) memcpy(config, found, strlen(found) + 1);
    if (st && message && message_size)
        tune_line(*plan.why ? plan.why : tile_status_text(st), message, message_size);
    plan_free(&plan);
    return st;
}
