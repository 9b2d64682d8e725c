/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* suite.c: counting, buffers with guard zones, and kernels compiled once per variant.
 *
 * A variant is a source with a signature and constexprs; the signature follows from the arguments
 * (a pointer's alignment, an integer's divisibility, the value 1). Variants form a list that is
 * searched by a key of all that went into them. */
#include "tests/run/suite.h"

#include "tests/run/corpus.h"
#include "tests/run/soak.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD = 512, MAX_DEFINES = 16, TEXT = 4096, TITLE = 400 };

struct Variant {
    Variant *next;
    int number;
    char *key, *file, *defines, *signature;
    char *entry; /* the kernel's name; NULL: the only one */
    int config, num_warps;
    bool compiled;
    int launched, wrong; /* times; cases that failed then */
    uint32_t inexact;    /* of its instructions (bits.h) */
    bool atomic, prints; /* its programs meet; it says something */
    char *error;         /* NULL when it can be launched */
    tile_module *module;
    tile_kernel *kernel;
};

/* ---- counting ---- */

void suite_case(Suite *s, bool ok, const char *format, ...) {
    if (ok) {
        s->group_passed++;
        return;
    }
    if (s->last) s->last->wrong++;
    /* A broken kernel fails everywhere: the first few say enough. */
    if (s->group_failed++ < 10 || s->code) {
        va_list ap;
        va_start(ap, format);
        printf("FAILED: ");
        vprintf(format, ap);
        printf("\n");
        va_end(ap);
    }
}

void suite_group(Suite *s, const char *format, ...) {
    if (s->group_passed + s->group_failed) {
        va_list ap;
        char name[200];
        va_start(ap, format);
        vsnprintf(name, sizeof name, format, ap);
        va_end(ap);
        printf("%-44s %5d passed %5d failed\n", name, s->group_passed, s->group_failed);
        fflush(stdout);
    }
    s->passed += s->group_passed;
    s->failed += s->group_failed;
    s->group_passed = s->group_failed = 0;
}

void *suite_alloc(size_t bytes) {
    void *p = malloc(bytes ? bytes : 1);
    if (p) return p;
    fprintf(stderr, "tile-kernels: out of memory (%zu bytes)\n", bytes);
    exit(3);
}

static bool check(Suite *s, tile_status st, const char *what) {
    if (!st) return true;
    suite_case(s, false, "%s: %s: %s", what, tile_status_text(st), tile_error(s->ctx));
    return false;
}

/* ---- buffers ---- */

void array_free(Suite *s, Array *a) {
    if (a->base) check(s, tile_free(s->ctx, a->base), "tile_free");
    a->base = 0;
    a->capacity = 0;
}

bool array_make(Suite *s, Array *a, tile_type type, size_t n, size_t shift) {
    size_t guard = s->on_cpu ? 0 : GUARD, size = type_size(type);
    a->type = type;
    a->n = n;
    a->shift = shift;
    a->bytes = n * size;
    a->before = guard + shift * size;
    a->total = a->before + a->bytes + guard;
    /* The CPU device's bounds are the allocation's, so there each size needs one of its own. */
    if (!a->base || a->capacity < a->total || s->on_cpu) {
        array_free(s, a);
        if (!check(s, tile_alloc(s->ctx, a->total, &a->base), "tile_alloc")) return false;
        a->capacity = a->total;
    }
    a->ptr = a->base + a->before;
    a->poison = 0;
    return array_poison(s, a, 0xCD);
}

bool array_poison(Suite *s, Array *a, unsigned char poison) {
    a->poison = poison;
    return check(s, tile_fill(s->ctx, a->base, poison, a->total), "tile_fill");
}

bool array_write(Suite *s, Array *a, const void *data) {
    return check(s, tile_copy_to_device(s->ctx, a->ptr, data, a->bytes), "tile_copy_to_device");
}

static bool all_bytes(const unsigned char *p, size_t n, unsigned char value) {
    for (size_t i = 0; i < n; i++)
        if (p[i] != value) return false;
    return true;
}

const void *array_read(Suite *s, const Array *a, const char *name) {
    if (s->scratch_size < a->total) {
        free(s->scratch);
        s->scratch = suite_alloc(a->total);
        s->scratch_size = a->total;
    }
    unsigned char *p = s->scratch;
    if (!check(s, tile_copy_to_host(s->ctx, p, a->base, a->total), "tile_copy_to_host"))
        return NULL;
    size_t behind = a->before + a->bytes;
    if (all_bytes(p, a->before, a->poison) && all_bytes(p + behind, a->total - behind, a->poison))
        return p + a->before;
    suite_case(s, false, "%s: memory outside the buffer was written", name);
    return NULL;
}

void array_expect(Suite *s, const Array *a, const void *want, const char *format, ...) {
    char name[400];
    va_list ap;
    va_start(ap, format);
    vsnprintf(name, sizeof name, format, ap);
    va_end(ap);
    const char *got = array_read(s, a, name);
    if (!got) return;
    size_t size = type_size(a->type), i = 0;
    bool same = memcmp(got, want, a->bytes) == 0;
    while (!same && memcmp(got + i * size, (const char *)want + i * size, size) == 0) i++;
    suite_case(s, same, "%s: element %zu of %zu is %.9g (0x%llx), not %.9g (0x%llx)", name, i, a->n,
               same ? 0 : value_get(a->type, got, i),
               same ? 0 : (unsigned long long)bits_get(a->type, got, i),
               same ? 0 : value_get(a->type, want, i),
               same ? 0 : (unsigned long long)bits_get(a->type, want, i));
}

/* ---- arguments ---- */

Arg give_array(Array *a) {
    return (Arg){a->type, true, tile_pointer(a->ptr), a};
}

Arg give_int(tile_type type, int64_t v) {
    return (Arg){type, false, tile_int(type, v), NULL};
}

Arg give_float(tile_type type, double v) {
    return (Arg){type, false, tile_float(type, v), NULL};
}

/* "*fp16:16, i32, i32:1", positional. */
static void signature(const Source *source, const Arg *args, int nargs, char *text, size_t size) {
    size_t n = 0;
    text[0] = '\0';
    for (int i = 0; i < nargs && n < size; i++) {
        const Arg *a = &args[i];
        int64_t v = a->is_pointer ? (int64_t)a->value.value.p : a->value.value.i;
        const char *promise = "";
        if (!source->unspecialised && (a->is_pointer || !type_is_float(a->type)))
            promise = !a->is_pointer && v == 1 ? ":1" : v % 16 == 0 ? ":16" : "";
        int add = snprintf(text + n, size - n, "%s%s%s%s", i ? ", " : "", a->is_pointer ? "*" : "",
                           type_name(a->type), promise);
        n += add > 0 ? (size_t)add : 0;
    }
}

/* ---- variants ---- */

static char *copy_text(const char *text) {
    char *p = suite_alloc(strlen(text) + 1);
    return strcpy(p, text);
}

static Variant *variant_find(Suite *s, const Source *source, const Arg *args, int nargs) {
    char text[1024], key[2048];
    const char *defines = source->defines ? source->defines : "";
    signature(source, args, nargs, text, sizeof text);
    snprintf(key, sizeof key, "%s|%s|%s|%s|config %d|%d warps", source->file,
             source->kernel ? source->kernel : "", defines, text, source->config,
             source->num_warps);
    for (Variant *v = s->variants; v; v = v->next)
        if (strcmp(v->key, key) == 0) return v;
    Variant *v = suite_alloc(sizeof *v);
    *v = (Variant){.next = s->variants,
                   .number = s->variants ? s->variants->number + 1 : 0,
                   .key = copy_text(key),
                   .file = copy_text(source->file),
                   .defines = copy_text(defines),
                   .signature = copy_text(text),
                   .entry = source->kernel ? copy_text(source->kernel) : NULL,
                   .config = source->config,
                   .num_warps = source->num_warps};
    s->variants = v;
    return v;
}

/* The file below the root, NUL-terminated. NULL when it cannot be read. */
static char *read_source(const Suite *s, const char *file, size_t *len) {
    char path[TEXT];
    snprintf(path, sizeof path, "%s/%s", s->root, file);
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    long size = fseek(f, 0, SEEK_END) ? -1 : ftell(f);
    if (size < 0 || fseek(f, 0, SEEK_SET)) {
        fclose(f);
        return NULL;
    }
    char *text = suite_alloc((size_t)size + 1);
    *len = fread(text, 1, (size_t)size, f);
    text[*len] = '\0';
    fclose(f);
    return text;
}

static bool write_ptx(const Suite *s, const Variant *v, const tile_compile_options *o,
                      const tile_compiled *compiled) {
    char name[20];
    size_t size;
    const char *text = tile_compiled_text(compiled, TILE_PART_OUTPUT, &size);
    snprintf(name, sizeof name, "%04d", v->number);
    return corpus_write(s->ptx_folder, name, v->key, o, text, size);
}

/* Source to PTX, which is in the folder for it if there is one, or tile IR; NULL and a message when
 * that fails. */
static tile_compiled *translate(const Suite *s, const Variant *v, char *error) {
    char defines[1024], *save = NULL;
    const char *define[MAX_DEFINES];
    int n = 0;
    snprintf(defines, sizeof defines, "%s", v->defines);
    for (char *d = strtok_r(defines, " ", &save); d && n < MAX_DEFINES;
         d = strtok_r(NULL, " ", &save))
        define[n++] = d;
    size_t len = 0;
    char *text = read_source(s, v->file, &len);
    if (!text) {
        snprintf(error, TEXT, "the file cannot be read");
        return NULL;
    }
    tile_compile_options options = {.source = text,
                                    .source_len = len,
                                    .file_name = v->file,
                                    .kernel = v->entry,
                                    .signature = v->signature,
                                    .ignore_annotations = 1,
                                    .defines = define,
                                    .ndefines = n,
                                    .config = v->config,
                                    .num_warps = v->num_warps,
                                    .target = s->on_cpu && !s->passes ? NULL : s->target,
                                    .passes = s->on_cpu ? s->passes : NULL,
                                    .verify_each = s->passes != NULL,
                                    .emit = s->on_cpu ? TILE_EMIT_TIR : TILE_EMIT_PTX,
                                    .line_info = s->on_cpu,
                                    .no_perf_notes = 1};
    tile_compiled *compiled = NULL;
    tile_status st = tile_compile(&options, &compiled);
    bool written = st || !s->ptx_folder || write_ptx(s, v, &options, compiled);
    free(text);
    if (!written) snprintf(error, TEXT, "it cannot be written");
    if (!st) return compiled;
    snprintf(error, TEXT, "%s: %s", tile_status_text(st),
             tile_compiled_text(compiled, TILE_PART_DIAGNOSTICS, NULL));
    tile_compiled_free(compiled);
    return NULL;
}

static void compile(const Suite *s, Variant *v) {
    char error[TEXT] = "", *code = NULL;
    size_t size;
    tile_compiled *compiled = NULL;
    const char *text;
    if (s->code) {
        text = code = corpus_code(s->code, v->key, &size);
        if (!code) snprintf(error, sizeof error, "no code for it");
    } else {
        compiled = translate(s, v, error);
        text = compiled ? tile_compiled_text(compiled, TILE_PART_OUTPUT, &size) : NULL;
    }
    if (text && !s->ptx_folder) {
        tile_status st = tile_module_load(s->ctx, text, size, &v->module);
        if (!st) st = tile_kernel_get(v->module, NULL, &v->kernel);
        if (st) snprintf(error, sizeof error, "%s: %s", tile_status_text(st), tile_error(s->ctx));
    }
    if (text && s->bits && !s->on_cpu) v->inexact = bits_inexact(text);
    if (text && s->soak) {
        v->atomic = strstr(text, "atom") || strstr(text, "red.");
        v->prints = strstr(text, "print") != NULL;
    }
    tile_compiled_free(compiled);
    free(code);
    if (error[0]) v->error = copy_text(error);
    v->compiled = true;
}

void variant_expect(Suite *s, const Source *source, const Arg *args, int nargs) {
    variant_find(s, source, args, nargs);
}

typedef struct Work {
    Suite *s;
    Variant *next;
    pthread_mutex_t lock;
} Work;

static void *compile_some(void *context) {
    Work *w = context;
    for (;;) {
        pthread_mutex_lock(&w->lock);
        while (w->next && w->next->compiled) w->next = w->next->next;
        Variant *v = w->next;
        if (v) w->next = v->next;
        pthread_mutex_unlock(&w->lock);
        if (!v) return NULL;
        compile(w->s, v);
    }
}

void variants_compile(Suite *s) {
    pthread_t thread[64];
    Work w = {.s = s, .next = s->variants};
    int n = 0;
    pthread_mutex_init(&w.lock, NULL);
    while (n < s->threads - 1 && n < 64 && !pthread_create(&thread[n], NULL, compile_some, &w)) n++;
    compile_some(&w);
    for (int i = 0; i < n; i++) pthread_join(thread[i], NULL);
    pthread_mutex_destroy(&w.lock);
}

void variants_report(Suite *s) {
    for (const Variant *v = s->variants; v; v = v->next)
        suite_case(s, v->compiled && !v->error, "%s: %s", v->key, v->error ? v->error : "");
    suite_group(s, "compiled for %s", s->target);
}

void variants_list(const Suite *s) {
    for (const Variant *v = s->variants; v; v = v->next)
        printf("variant %s: %d launched, %d wrong%s%s\n", v->key, v->launched, v->wrong,
               v->error ? ", refused: " : "", v->error ? v->error : "");
}

void variants_free(Suite *s) {
    for (Variant *v = s->variants, *next; v; v = next) {
        next = v->next;
        tile_module_unload(v->module);
        free(v->key);
        free(v->file);
        free(v->defines);
        free(v->signature);
        free(v->entry);
        free(v->error);
        free(v);
    }
    s->variants = NULL;
}

/* "run/scan fp32 fp32[2560], 7; H=16 W=32; unspecialised": the source, the sizes of the buffers and
 * the numbers. What has no place in it tells two cases by their order (bits.h). */
static void title_of(const Source *source, const Arg *args, int nargs, char *text, size_t size) {
    const char *file = source->file, *comma = "";
    if (strncmp(file, "tests/", 6) == 0) file += 6;
    size_t n = (size_t)snprintf(text, size, "%.*s%s%s ", (int)strcspn(file, "."), file,
                                source->kernel ? ":" : "", source->kernel ? source->kernel : "");
    for (int i = 0; i < nargs && n < size; i++, comma = ", ") {
        const Arg *a = &args[i];
        const char *type = type_name(a->type);
        int add = a->is_pointer
                      ? snprintf(text + n, size - n, "%s%s[%zu]", comma, type, a->array->n)
                  : type_is_float(a->type)
                      ? snprintf(text + n, size - n, "%s%.9g", comma, a->value.value.f)
                      : snprintf(text + n, size - n, "%s%lld", comma, (long long)a->value.value.i);
        n += add > 0 ? (size_t)add : 0;
    }
    bool defines = source->defines && *source->defines;
    char config[24] = "", warps[24] = "";
    if (source->config) snprintf(config, sizeof config, "; config %d", source->config);
    if (source->num_warps) snprintf(warps, sizeof warps, "; %d warps", source->num_warps);
    if (n < size)
        snprintf(text + n, size - n, "%s%s%s%s%s", defines ? "; " : "",
                 defines ? source->defines : "", source->unspecialised ? "; unspecialised" : "",
                 config, warps);
}

/* An address is another one each time: what lies there counts. */
static bool hash_array(Suite *s, const Array *a, const char *title, uint64_t *hash) {
    for (const Array *to = a->leads_to; to; to = to->next)
        if (!hash_array(s, to, title, hash)) return false;
    const void *got = a->leads_to ? NULL : array_read(s, a, title);
    if (got) *hash = bits_hash(*hash, got, a->bytes);
    return got || a->leads_to;
}

static void hold_bits(Suite *s, const Source *source, const Arg *args, int nargs) {
    char title[TITLE], why[BITS_WHY];
    uint64_t hash = BITS_START;
    uint32_t inexact = s->last->inexact;
    title_of(source, args, nargs, title, sizeof title);
    for (int i = 0; i < nargs; i++) /* what it reads may be another launch's */
        if (args[i].is_pointer) inexact |= args[i].array->inexact;
    for (int i = 0; i < nargs; i++)
        if (args[i].is_pointer) args[i].array->inexact = inexact;
    for (int i = 0; i < nargs; i++)
        if (args[i].is_pointer && !hash_array(s, args[i].array, title, &hash)) return;
    BitsVerdict verdict = bits_case(s->bits, title, hash, inexact, why);
    if (verdict != BITS_OPEN) suite_case(s, verdict == BITS_SAME, "%s", why);
}

static void soak_launch(Suite *s, const Variant *v, const Source *source, const tile_grid *grid,
                        const Arg *args, int nargs) {
    char name[TITLE];
    snprintf(name, sizeof name, "%s%s%s", source->file, source->kernel ? ":" : "",
             source->kernel ? source->kernel : "");
    SoakLaunch l = {.name = name,
                    .kernel = v->kernel,
                    .grid = grid,
                    .args = args,
                    .nargs = nargs,
                    .by_order = v->atomic};
    soak_before(s, &l);
}

bool kernel_run(Suite *s, const Source *source, const tile_grid *grid, const Arg *args, int nargs,
                const char **why) {
    Variant *v = variant_find(s, source, args, nargs);
    tile_arg value[64];
    if (!v->compiled) compile(s, v);
    *why = v->error;
    s->last = v;
    if (v->error) return false;
    v->launched++;
    for (int i = 0; i < nargs; i++) value[i] = args[i].value;
    if (s->soak && !v->prints) soak_launch(s, v, source, grid, args, nargs);
    tile_status st = tile_launch(v->kernel, grid, value, nargs, NULL);
    if (!st) st = tile_synchronize(s->ctx);
    *why = st ? tile_error(s->ctx) : NULL;
    if (s->soak) soak_after(s, !st);
    if (!st && s->bits) hold_bits(s, source, args, nargs);
    return !st;
}
