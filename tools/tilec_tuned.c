/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tilec_tuned.c: a tuning file -> the config of each variant on each target; and of a variant that
 * is `tuned`, one variant for each size that the file has.
 *
 *   key "M=4096,N=64" -> conditions "M ~ 4096,N ~ 64": they always hold, and of the variants that
 *                        fit a launch takes the one whose sizes are nearest
 *
 * The sizes are those of all targets together. A target that has no times for one of them gets the
 * config of the nearest that it has, as a lookup in the file gives it; one that has no times at all
 * keeps the config that the options state. The CPU device, unless it was tuned itself, gets the
 * first target's. */
#include "tools/tilec_tuned.h"

#include "ir/target.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TARGETS = VARIANT_TARGETS + 1, CONDITIONS = 2000 };

/* What the file has for one variant. */
typedef struct Known {
    const TunedRequest *r;
    const Variant *v;
    bool has[TARGETS];
    tile_tuned on[TARGETS]; /* the nearest to --for; its first texts say which records count */
    const char *key[MAX_VARIANTS];
    int nkeys;
} Known;

static tile_status complain(const Messages *m, tile_status st, const char *what, const char *text) {
    message(m, message_code(st), "%s%s", what, text);
    return st;
}

/* NULL: nothing is made for it. */
static const char *target_name(const TunedRequest *r, int i) {
    if (i == VARIANT_TARGETS) return r->cpu ? "cpu" : NULL;
    return i < r->ntargets ? r->target[i] : NULL;
}

static bool same(const char *a, const char *b) {
    return strcmp(a, b) == 0;
}

/* found NULL: nothing was. */
static void tell(const TunedRequest *r, const char *target, const tile_tuned *found) {
    if (r->quiet) return;
    if (!found) {
        message(r->messages, N_CONFIG,
                "%s: %s: nothing was tuned there, the config is the options'", r->base->file_name,
                target);
        return;
    }
    const char *key = *found->key ? found->key : "all sizes";
    bool one = r->ntargets + r->cpu == 1;
    message(r->messages, N_CONFIG, "%s: %s%sconfig %s, tuned on %s for %s", r->base->file_name,
            one ? "" : target, one ? "" : ": ", found->config, found->device, key);
}

/* ---- which records ---- */

static tile_status find_kernel(Known *k) {
    const TunedRequest *r = k->r;
    bool any = false;
    for (int i = 0; i < TARGETS; i++) {
        if (!target_name(r, i)) continue;
        tile_compile_options o = variant_options(k->v, r->base, i);
        o.target = target_name(r, i);
        tile_status st = tile_tune_find(&o, r->tuning, NULL, &k->on[i]);
        if (st == TILE_INVALID)
            return complain(k->r->messages, st,
                            "--tuning is for one kernel of a source: choose it with --kernel", "");
        if (st != TILE_OK && st != TILE_NOT_FOUND) return st;
        k->has[i] = st == TILE_OK;
        any = any || k->has[i];
    }
    for (int i = 0; i < r->ntargets && any; i++)
        if (!k->has[i]) tell(r, r->target[i], NULL);
    if (any) return TILE_OK;
    char names[TARGETS * 64] = "";
    for (int i = 0, n = 0; i < TARGETS; i++)
        if (target_name(r, i))
            n += snprintf(names + n, sizeof names - (size_t)n, " %.62s", target_name(r, i));
    message(r->messages, E_TUNING, "%s: '%s' has no config for this kernel with these types on%s",
            r->base->file_name, r->file, names);
    return TILE_NOT_FOUND;
}

/* Failures are kept in the file, too: a size for which nothing but they are is none. */
static bool is_of(const tile_tuned *record, const tile_tuned *like) {
    return !record->failure && same(record->kernel, like->kernel) &&
           same(record->target, like->target) && same(record->types, like->types);
}

static tile_status add_key(Known *k, const char *key) {
    for (int i = 0; i < k->nkeys; i++)
        if (same(k->key[i], key)) return TILE_OK;
    if (k->nkeys == MAX_VARIANTS)
        return complain(
            k->r->messages, TILE_INVALID,
            "more than 64 sizes were tuned, and a header has 64 variants at most: ", k->r->file);
    k->key[k->nkeys++] = key;
    return TILE_OK;
}

/* The sizes on the GPUs, else those on the CPU device. */
static tile_status find_keys(Known *k) {
    const TunedRequest *r = k->r;
    tile_status st = TILE_OK;
    for (int t = 0; t < TARGETS; t++) {
        if (!k->has[t] || (t == VARIANT_TARGETS && k->nkeys)) continue;
        tile_tuned record;
        for (int i = 0; !st && tile_tuning_get(r->tuning, i, &record) == TILE_OK; i++)
            if (is_of(&record, &k->on[t])) st = add_key(k, record.key);
    }
    return st;
}

/* ---- what becomes of them ---- */

/* "M=4096,N=64" -> "M ~ 4096,N ~ 64". False when it is of another form. */
static bool conditions_of(const char *key, char when[CONDITIONS]) {
    size_t n = 0;
    *when = '\0';
    while (*key) {
        size_t len = strcspn(key, ","), name = strcspn(key, "=");
        const char *value = key + name + 1;
        if (!name || name >= len || n + len + 5 > CONDITIONS) return false;
        size_t sign = *value == '-', digits = strspn(value + sign, "0123456789");
        if (!digits || name + 1 + sign + digits != len) return false;
        n += (size_t)snprintf(when + n, CONDITIONS - n, "%s%.*s ~ %.*s", n ? "," : "", (int)name,
                              key, (int)(sign + digits), value);
        key += len + (key[len] == ',');
    }
    return true;
}

/* Fills out->config_for: the nearest to this key, or (NULL) to --for. */
static void take_configs(const Known *k, const char *key, Variant *out) {
    const TunedRequest *r = k->r;
    const char *first = NULL;
    for (int i = 0; i < TARGETS; i++) {
        tile_tuned like = k->on[i], found = like;
        like.device = like.source = NULL;
        like.key = key;
        bool has = k->has[i] && (!key || tile_tuning_find(r->tuning, &like, &found) == TILE_OK);
        if (has) tell(r, target_name(r, i), &found);
        if (has && !first) first = found.config;
        out->config_for[i] = has ? found.config : i == VARIANT_TARGETS ? first : NULL;
    }
}

static tile_status add_tuned(const Known *k, const char *key, Variants *to) {
    char when[CONDITIONS], *text = NULL;
    if (!conditions_of(key, when)) {
        message(k->r->messages, E_TUNING,
                "'%s': a launch cannot be compared with the key '%.200s', which is no "
                "list of NAME=INTEGER",
                k->r->file, key);
        return TILE_INVALID;
    }
    size_t len = strlen(k->v->text) + strlen(key) + 4;
    text = malloc(len);
    if (text) snprintf(text, len, *key ? "%s (%s)" : "%s", k->v->text, key);
    Variant v = *k->v;
    take_configs(k, key, &v);
    tile_status st = TILE_OK;
    if (!text || !variants_add(to, &v, when, text))
        st = complain(k->r->messages, TILE_INVALID,
                      "--variants: ", text ? to->error : "out of memory");
    free(text);
    return st;
}

static tile_status resolve(const TunedRequest *r, const Variant *v, Variants *to) {
    Known k = {.r = r, .v = v};
    Variant own = *v;
    if (v->tuned && v->config >= 0)
        return complain(r->messages, TILE_INVALID,
                        "--variants: config chooses, and so does tuned: ", v->text);
    tile_status st = v->config >= 0 ? TILE_OK : find_kernel(&k);
    if (st == TILE_COMPILE_ERROR) st = TILE_OK; /* better told by the compilation that follows */
    if (!st && v->tuned) st = find_keys(&k);
    for (int i = 0; !st && v->tuned && i < k.nkeys; i++) st = add_tuned(&k, k.key[i], to);
    if (st || k.nkeys) return st;
    take_configs(&k, NULL, &own);
    return variants_add(to, &own, "", v->text)
               ? TILE_OK
               : complain(r->messages, TILE_INVALID, "--variants: ", to->error);
}

tile_status tuned_variants(const TunedRequest *r, Variants *v) {
    Variants out = {0};
    tile_status st = TILE_OK;
    for (int i = 0; i < v->n && !r->tuning; i++)
        if (v->at[i].tuned)
            return complain(r->messages, TILE_INVALID, "--variants: 'tuned' is for --tuning=FILE",
                            "");
    if (!r->tuning) return TILE_OK;
    for (int i = 0; i < v->n && !st; i++) st = resolve(r, &v->at[i], &out);
    variants_free(v);
    *v = out;
    return st;
}

tile_status tuned_config(const Messages *m, const tile_tuning *tuning, const char *file,
                         tile_compile_options *o) {
    const char *target = o->target ? o->target : target_default()->name;
    TunedRequest r = {
        .messages = m, .base = o, .tuning = tuning, .file = file, .target = &target, .ntargets = 1};
    Variants v;
    if (!variants_read(&v, NULL, o)) {
        variants_free(&v);
        return complain(m, TILE_NO_MEMORY, v.error, "");
    }
    tile_status st = tuned_variants(&r, &v);
    if (!st) o->config_text = v.at[0].config_for[0];
    variants_free(&v);
    return st;
}
