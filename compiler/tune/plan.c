/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* plan.c: what there is to tune: the configs of a kernel's list or of a space, its parameters,
 * and the name of the bucket that a launch falls into (see tune.h). Everything is learnt through
 * tile_compile, whose answers are JSON. */
#include "compiler/tune/tune.h"

#include "base/text.h"
#include "compiler/compile.h"
#include "compiler/fields.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((format(printf, 3, 4))) static tile_status fail(TunePlan *p, tile_status status,
                                                              const char *fmt, ...) {
    char text[TUNE_TEXT];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    tune_line(text, p->why, sizeof p->why);
    return status;
}

static tile_status no_memory(TunePlan *p) {
    return fail(p, TILE_NO_MEMORY, "out of memory");
}

void tune_line(const char *from, char *text, size_t size) {
    size_t n = strcspn(from, "\n");
    if (n > size - 1) n = size - 1;
    n = utf8_valid_prefix(from, n);
    memmove(text, from, n);
    text[n] = '\0';
}

void tune_reason(const tile_compiled *c, char *text, size_t size) {
    const char *all = tile_compiled_text(c, TILE_PART_DIAGNOSTICS, NULL);
    const char *at = strstr(all, "error: ");
    tune_line(at ? at + strlen("error: ") : "it cannot be compiled", text, size);
}

/* ---- what the result depends on ---- */

static void hash_text(void *hash, const char *s, size_t n) {
    uint64_t *h = hash;
    for (size_t i = 0; i <= n; i++) { /* and a 0 behind each, so that ab, c differs from a, bc */
        *h ^= i < n ? (unsigned char)s[i] : 0;
        *h *= 1099511628211u;
    }
}

static void name_source(TunePlan *p) {
    snprintf(p->source, sizeof p->source, "%016llx", (unsigned long long)p->hash);
}

/* Equal for equal code, but for what the record states itself. */
static void hash_source(TunePlan *p) {
    const tile_compile_options *o = p->o;
    uint64_t h = 14695981039346656037u;
    hash_text(&h, TILE_VERSION, strlen(TILE_VERSION));
    hash_text(&h, o->source, o->source_len);
    fields_key(o, NO_TUNING, hash_text, &h);
    p->hash = h;
    name_source(p);
}

/* The modules that were read for it, what is in them and not where they lie: records are shared. */
static void hash_modules(TunePlan *p, const tile_compiled *c) {
    size_t len;
    const char *looked = compiled_looked(c, &len), *end = looked + len;
    while (looked < end) {
        const char *space = memchr(looked, ' ', (size_t)(end - looked));
        const char *stop = memchr(looked, '\n', (size_t)(end - looked));
        if (!space || !stop || space > stop) break;
        if (space > looked + 1) hash_text(&p->hash, looked, (size_t)(space - looked));
        looked = stop + 1;
    }
    name_source(p);
}

tile_compile_options plan_quiet(const tile_compile_options *o, tile_emit emit, const char *config) {
    tile_compile_options q = *o;
    q.emit = emit;
    q.config = 0;
    q.config_text = config;
    q.no_warnings = q.no_perf_notes = 1;
    q.color = q.time = q.stats = q.report = q.annotate = q.warnings_are_errors = 0;
    q.passes = q.dump_after = NULL;
    if (q.target && strcmp(q.target, "cpu") == 0) q.target = NULL; /* as records call it */
    return q;
}

tile_status plan_read(TunePlan *p, const tile_compile_options *o) {
    p->o = o;
    if (!o->source || o->input_is_tir)
        return fail(p, TILE_INVALID, "tuning needs the source: this is compiled already");
    tile_compile_options q = plan_quiet(o, TILE_EMIT_CONFIGS, NULL);
    tile_compiled *c;
    tile_status st = tile_compile(&q, &c);
    if (!c) return no_memory(p);
    if (st) {
        tune_reason(c, p->why, sizeof p->why);
        tile_compiled_free(c);
        return st;
    }
    hash_source(p);
    size_t len;
    const char *text = tile_compiled_text(c, TILE_PART_OUTPUT, &len);
    json_t *root = json_loadb(text, len, 0, NULL), *list = json_object_get(root, "kernels");
    if (json_array_size(list) == 1) p->kernel = json_incref(json_array_get(list, 0));
    bool several = json_array_size(list) > 1;
    json_decref(root);
    tile_compiled_free(c);
    if (several) return fail(p, TILE_INVALID, "the source has several kernels: name one");
    return p->kernel ? TILE_OK : no_memory(p);
}

/* ---- the space ---- */

typedef struct Axis {
    const char *name;
    size_t len;
    const char *values; /* up to ';' */
    int count;
} Axis;

/* The text of the value with this number, up to a comma or the end of the axis. */
static const char *axis_value(const Axis *a, int which, size_t *len) {
    const char *s = a->values;
    for (; which > 0; which--) s += strcspn(s, ",;") + 1;
    *len = strcspn(s, ",;");
    return s;
}

static tile_status read_axis(TunePlan *p, const char *text, Axis *a) {
    size_t end = strcspn(text, ";");
    const char *equals = memchr(text, '=', end);
    text += strspn(text, " ");
    if (!equals || equals <= text)
        return fail(p, TILE_INVALID, "a space is NAME=VALUE,VALUE;NAME=VALUE…, not '%.*s'",
                    (int)(end < 200 ? end : 200), text);
    *a = (Axis){.name = text, .len = (size_t)(equals - text), .values = equals + 1, .count = 1};
    for (const char *s = a->values; *s && *s != ';'; s++) a->count += *s == ',';
    for (int i = 0; i < a->count; i++) {
        size_t len;
        axis_value(a, i, &len);
        if (!len) return fail(p, TILE_INVALID, "a value of the space is empty");
    }
    return TILE_OK;
}

enum { MAX_AXES = 32, CONFIG_TEXT = 2000 };

/* One combination: the last axis changes fastest. */
static tile_status add_combination(TunePlan *p, const Axis *axis, int naxes, int number) {
    char text[CONFIG_TEXT];
    size_t n = 0;
    int below = 1;
    for (int i = 0; i < naxes; i++) below *= axis[i].count;
    for (int i = 0; i < naxes; i++) {
        size_t len;
        below /= axis[i].count;
        const char *v = axis_value(&axis[i], number / below % axis[i].count, &len);
        if (n + (i != 0) + axis[i].len + len + 2 > sizeof text)
            return fail(p, TILE_INVALID, "a config of the space has more than %d characters",
                        CONFIG_TEXT - 1);
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%.*s=%.*s", i ? "," : "",
                              (int)axis[i].len, axis[i].name, (int)len, v);
    }
    bool added = json_array_append_new(p->space, json_string(text)) == 0;
    return added ? TILE_OK : fail(p, TILE_NO_MEMORY, "no memory for the space");
}

tile_status plan_space(TunePlan *p, const char *space) {
    Axis axis[MAX_AXES];
    int naxes = 0;
    long total = 1;
    while (*space) {
        if (naxes == MAX_AXES)
            return fail(p, TILE_INVALID, "a space has at most %d names", MAX_AXES);
        tile_status st = read_axis(p, space, &axis[naxes]);
        if (st) return st;
        total *= axis[naxes++].count;
        if (total > TUNE_MAX_CONFIGS)
            return fail(p, TILE_INVALID, "the space has more than %d configs", TUNE_MAX_CONFIGS);
        space += strcspn(space, ";");
        space += *space == ';';
    }
    if (!naxes) return fail(p, TILE_INVALID, "the space is empty");
    p->space = json_array();
    tile_status st = p->space ? TILE_OK : fail(p, TILE_NO_MEMORY, "no memory for the space");
    for (int i = 0; i < total && !st; i++) st = add_combination(p, axis, naxes, i);
    return st;
}

static json_t *configs_of(const TunePlan *p) {
    return p->space ? p->space : json_object_get(p->kernel, "configs");
}

int plan_configs(const TunePlan *p) {
    return (int)json_array_size(configs_of(p));
}

const char *plan_config(const TunePlan *p, int i) {
    return json_string_value(json_array_get(configs_of(p), (size_t)i));
}

const char *plan_name(const TunePlan *p) {
    return json_string_value(json_object_get(p->kernel, "name"));
}

/* ---- parameters ---- */

/* The manifest lies in the comment lines at the head of tile IR. */
static json_t *manifest_of(const char *tir) {
    static const char end[] = "// tilec manifest end";
    const char *last = strstr(tir, end);
    char *json = last ? malloc((size_t)(last - tir) + 1) : NULL;
    if (!json) return NULL;
    size_t n = 0;
    tir += strcspn(tir, "\n") + 1; /* the begin line */
    while (tir < last) {
        size_t len = strcspn(tir, "\n");
        if (len > 3) {
            memcpy(json + n, tir + 3, len - 3);
            n += len - 3;
        }
        tir += len + 1;
    }
    json_t *root = json_loadb(json, n, 0, NULL);
    free(json);
    return root;
}

static bool make_types(TunePlan *p) {
    size_t size = 1, n = 0;
    for (size_t i = 0; i < json_array_size(p->params); i++) size += 32;
    p->types = calloc(size, 1);
    for (size_t i = 0; p->types && i < json_array_size(p->params); i++) {
        const char *type = json_string_value(json_object_get(json_array_get(p->params, i), "type"));
        n += (size_t)snprintf(p->types + n, size - n, "%s%.30s", i ? "," : "", type ? type : "");
    }
    return p->types != NULL;
}

tile_status plan_params(TunePlan *p) {
    int n = plan_configs(p);
    tile_status st = TILE_OK;
    for (int i = 0; i == 0 || i < n; i++) { /* without a list: as the source stands */
        tile_compile_options q = plan_quiet(p->o, TILE_EMIT_TIR, n ? plan_config(p, i) : NULL);
        tile_compiled *c;
        q.kernel = plan_name(p);
        st = tile_compile(&q, &c);
        if (!c) return no_memory(p);
        if (st && i == 0) tune_reason(c, p->why, sizeof p->why);
        json_t *root = st ? NULL : manifest_of(tile_compiled_text(c, TILE_PART_OUTPUT, NULL));
        json_t *kernel = json_array_get(json_object_get(root, "kernels"), 0);
        p->params = json_incref(json_object_get(kernel, "params"));
        json_decref(root);
        if (st) {
            tile_compiled_free(c);
        } else {
            hash_modules(p, c);
            p->lowered = c;
        }
        if (!st) return p->params && make_types(p) ? TILE_OK : no_memory(p);
    }
    return st;
}

/* ---- the bucket ---- */

static bool add_text(char **text, const char *more) {
    size_t n = *text ? strlen(*text) : 0, m = strlen(more);
    char *grown = realloc(*text, n + m + 1);
    if (!grown) return false;
    memcpy(grown + n, more, m + 1);
    *text = grown;
    return true;
}

static bool is_integer(const json_t *param) {
    const char *type = json_string_value(json_object_get(param, "type"));
    return type && (*type == 'i' || *type == 'u');
}

/* The key's arguments; where the kernel states no key, all integers. */
char *plan_key(const TunePlan *p, const char *(*value)(void *ctx, const char *name, int param),
               void *ctx) {
    const json_t *key = json_object_get(p->kernel, "key");
    bool stated = json_array_size(key) > 0, ok = true;
    size_t n = stated ? json_array_size(key) : json_array_size(p->params);
    char *text = calloc(1, 1);
    for (size_t i = 0; text && ok && i < n; i++) {
        const char *name;
        size_t at = i;
        if (stated) {
            name = json_string_value(json_array_get(key, i));
            for (at = 0; at < json_array_size(p->params); at++)
                if (strcmp(
                        json_string_value(json_object_get(json_array_get(p->params, at), "name")),
                        name) == 0)
                    break;
        } else {
            const json_t *param = json_array_get(p->params, i);
            if (!is_integer(param)) continue;
            name = json_string_value(json_object_get(param, "name"));
        }
        const char *v = value(ctx, name, (int)at);
        if (!v) continue;
        ok = (!*text || add_text(&text, ",")) && add_text(&text, name) && add_text(&text, "=") &&
             add_text(&text, v);
    }
    if (ok) return text;
    free(text);
    return NULL;
}

void plan_free(TunePlan *p) {
    json_decref(p->kernel);
    json_decref(p->params);
    json_decref(p->space);
    tile_compiled_free(p->lowered);
    free(p->types);
}
