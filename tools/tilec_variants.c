/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tilec_variants.c: one line of text -> what each variant of an artefact is compiled with.
 *
 *   variants = variant { ";" variant }
 *   variant  = item { "," item }      commas inside parentheses belong to an item
 *   item     = NAME "=" entry         of a signature: a type, a promise alone (":16"), a value
 *            | "config=" N | an option of kernels "=" N
 *            | "tuned"                it becomes as many variants as there are tuned sizes
 *            | condition              EXPR OP EXPR, OP one of < <= > >= == != ~ */
#include "tools/tilec_variants.h"

#include "base/expr.h"
#include "tools/compile_options.h"
#include "tools/options.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Appends `len` bytes of text, after a comma when there is something already. */
static bool append(char **to, const char *text, size_t len) {
    size_t had = *to ? strlen(*to) : 0;
    char *grown = realloc(*to, had + len + 3);
    if (!grown) return false;
    if (had) grown[had++] = ',';
    memcpy(grown + had, text, len);
    grown[had + len] = '\0';
    *to = grown;
    return true;
}

static bool is_condition(const char *s, size_t n) {
    const char *equals = memchr(s, '=', n);
    return memchr(s, '<', n) || memchr(s, '>', n) || memchr(s, '!', n) || memchr(s, '~', n) ||
           (equals && equals + 1 < s + n && equals[1] == '=');
}

static ExprName any_name(void *ctx, const char *name, size_t len, int64_t *value) {
    (void)ctx, (void)name, (void)len;
    *value = 1;
    return EXPR_KNOWN;
}

/* Values come with the launch; here the form is checked. */
static bool check_condition(Variants *v, const char *s, size_t n) {
    ExprError e;
    ExprVerdict any;
    if (expr_judge(s, n, any_name, NULL, &any, &e) || e.of_value) return true;
    snprintf(v->error, sizeof v->error, "the condition '%.*s': %s", (int)(n < 100 ? n : 100), s,
             e.text);
    return false;
}

static bool no_memory(Variants *v) {
    snprintf(v->error, sizeof v->error, "out of memory");
    return false;
}

/* "config=3" and options; 0: not one of them, -1: one with a bad number, 1: taken. */
static int take_number(Variants *v, Variant *out, const char *s, size_t n) {
    size_t name = (size_t)((const char *)memchr(s, '=', n) - s);
    char item[80];
    snprintf(item, sizeof item, "%.*s", (int)n, s);
    if (name == 6 && memcmp(s, "config", name) == 0) {
        long value;
        if (option_number(item + 7, 0, 1000000, &value)) {
            snprintf(v->error, sizeof v->error, "config takes a whole number, not '%s'", item + 7);
            return -1;
        }
        out->config = (int)value;
        return 1;
    }
    if (option_find(s, name) == OPTIONS && option_find_opposite(s, name) == OPTIONS) return 0;
    char why[OPTION_WHY];
    OptionValues any;
    if (!options_read(item, &any, why)) {
        snprintf(v->error, sizeof v->error, "%s", why);
        return -1;
    }
    return append(&out->options, s, n) ? 1 : (no_memory(v), -1);
}

static bool take_item(Variants *v, Variant *out, const char *s, size_t n) {
    while (n && strchr(" \t\n", *s)) s++, n--;
    while (n && strchr(" \t\n", s[n - 1])) n--;
    if (!n) return true;
    if (is_condition(s, n)) {
        out->exact = out->exact || !memchr(s, '~', n);
        return check_condition(v, s, n) && (append(&out->when, s, n) || no_memory(v));
    }
    if (n == 5 && memcmp(s, "tuned", n) == 0) {
        out->tuned = 1;
        return true;
    }
    if (!memchr(s, '=', n)) {
        snprintf(v->error, sizeof v->error,
                 "'%.*s' is none of NAME=TYPE, NAME=:16, NAME=VALUE, config=N, an option such as "
                 "num_warps=N, tuned and a condition such as M >= 1024",
                 (int)(n < 60 ? n : 60), s);
        return false;
    }
    int number = take_number(v, out, s, n);
    return number ? number > 0 : append(&out->signature, s, n) || no_memory(v);
}

/* A new one at the end, with nothing in it; NULL with the error filled. */
static Variant *add(Variants *v) {
    if (v->n == MAX_VARIANTS) {
        snprintf(v->error, sizeof v->error, "there are more than %d variants (the limit)",
                 MAX_VARIANTS);
        return NULL;
    }
    Variant *grown = realloc(v->at, ((size_t)v->n + 1) * sizeof *grown);
    if (!grown) {
        no_memory(v);
        return NULL;
    }
    v->at = grown;
    Variant *out = &v->at[v->n++];
    *out = (Variant){.config = -1};
    return out;
}

static bool take_variant(Variants *v, const char *s, size_t n, const tile_compile_options *base) {
    Variant *out = add(v);
    if (!out) return false;
    out->text = strndup(s, n);
    if (!out->text) return no_memory(v);
    const char *signature = base->signature, *options = base->options;
    if (signature && *signature && !append(&out->signature, signature, strlen(signature)))
        return no_memory(v);
    if (options && !append(&out->options, options, strlen(options))) return no_memory(v);
    int depth = 0;
    size_t start = 0;
    for (size_t i = 0; i <= n; i++) {
        if (i < n && s[i] == '(') depth++;
        if (i < n && s[i] == ')') depth--;
        if (i < n && (s[i] != ',' || depth > 0)) continue;
        if (!take_item(v, out, s + start, i - start)) return false;
        start = i + 1;
    }
    return true;
}

int variants_add(Variants *to, const Variant *v, const char *when, const char *text) {
    if (*when && !check_condition(to, when, strlen(when))) return false;
    Variant *out = add(to);
    if (!out) return false;
    *out = *v;
    out->text = strdup(text);
    out->signature = v->signature ? strdup(v->signature) : NULL;
    out->options = v->options ? strdup(v->options) : NULL;
    out->when = v->when ? strdup(v->when) : NULL;
    if (!out->text || (v->signature && !out->signature) || (v->options && !out->options) ||
        (v->when && !out->when) || (*when && !append(&out->when, when, strlen(when))))
        return no_memory(to);
    return true;
}

int variants_read(Variants *v, const char *list, const tile_compile_options *base) {
    *v = (Variants){.at = NULL};
    if (!list) return take_variant(v, "", 0, base);
    for (;;) {
        size_t n = strcspn(list, ";");
        bool blank = strspn(list, " \t\n") >= n;
        if (!blank && !take_variant(v, list, n, base)) return false;
        if (!list[n]) break;
        list += n + 1;
    }
    if (v->n) return true;
    snprintf(v->error, sizeof v->error, "there is none");
    return false;
}

void variants_free(Variants *v) {
    for (int i = 0; i < v->n; i++) {
        free(v->at[i].text);
        free(v->at[i].signature);
        free(v->at[i].options);
        free(v->at[i].when);
    }
    free(v->at);
    v->at = NULL;
    v->n = 0;
}

tile_compile_options variant_options(const Variant *v, const tile_compile_options *base,
                                     int target) {
    tile_compile_options o = *base;
    if (v->signature) o.signature = v->signature;
    if (v->config >= 0) {
        o.config = v->config;
        o.config_text = NULL;
    } else if (v->config_for[target]) {
        o.config_text = v->config_for[target];
    }
    if (v->options) o.options = v->options;
    return o;
}
