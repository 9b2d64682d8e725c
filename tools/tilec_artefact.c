/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tilec_artefact.c: one source -> every variant for every device, then into one header, or a
 * launcher; PTX -> cubin.
 *
 *   variants (--variants, then the general one) x (targets -> .ptx or .cubin; cpu -> .tir) ->
 * header
 *
 * The general variant is compiled without promises, and is left out when the last one that was
 * asked for takes any arguments as it is. With --tuning each target has its own config of a
 * variant; what is the same as before is not compiled again, and its text is shared. */
#include "tools/tilec_artefact.h"

#include "base/file.h"
#include "ir/target.h"
#include "tools/compile_options.h"
#include "tools/crash.h"
#include "tools/tilec_header.h"
#include "tools/tilec_launcher.h"
#include "tools/tilec_ptxas.h"
#include "tools/tilec_tuned.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EMBED_PTX = 1, EMBED_CUBIN = 2, EMBED_TIR = 4, TARGET = 64 };

typedef struct Images {
    HeaderImage *at;
    char **text; /* what each points to, malloc'ed; NULL: another's text */
    tile_compile_options *of;
    int n, cap;
} Images;

typedef struct Work {
    const ArtefactOptions *a;
    const char *default_embed;
    int embed;
    char target[VARIANT_TARGETS][TARGET];
    int ntargets;
    Variants variants, general; /* general: none, or one */
    const char **label;
    Images images;
} Work;

static tile_status complain(const Messages *m, tile_status st, const char *what, const char *text) {
    message(m, message_code(st), "%s%s", what, text);
    return st;
}

static tile_status unmade(const Messages *m, const char *why) {
    message(m, E_ARTEFACT, "%s", why);
    return TILE_COMPILE_ERROR;
}

static tile_status no_memory(const Messages *m) {
    return complain(m, TILE_NO_MEMORY, "out of memory", "");
}

/* ---- what was asked for ---- */

static tile_status read_embed(Work *w) {
    static const struct {
        const char *name;
        int bit;
    } row[] = {{"ptx", EMBED_PTX}, {"cubin", EMBED_CUBIN}, {"tir", EMBED_TIR}};
    const char *s = w->a->embed ? w->a->embed : w->default_embed;
    for (size_t n; *s; s += n + (s[n] == ',')) {
        int bit = 0;
        n = strcspn(s, ",");
        for (size_t i = 0; i < sizeof row / sizeof *row; i++)
            if (strlen(row[i].name) == n && memcmp(s, row[i].name, n) == 0) bit = row[i].bit;
        if (!bit)
            return complain(w->a->messages, TILE_INVALID, "--embed is of ptx, cubin and tir, not ",
                            s);
        w->embed |= bit;
    }
    return w->embed ? TILE_OK : complain(w->a->messages, TILE_INVALID, "--embed names nothing", "");
}

static tile_status read_targets(Work *w) {
    const char *s = w->a->targets ? w->a->targets : target_default()->name;
    for (size_t n; *s; s += n + (s[n] == ',')) {
        n = strcspn(s, ",");
        if (w->ntargets == VARIANT_TARGETS)
            return complain(
                w->a->messages, TILE_INVALID,
                "--target takes 16 GPUs at most (write a second file for the rest): ", s);
        if (n >= TARGET)
            return complain(w->a->messages, TILE_INVALID, "--target: there is no such GPU: ", s);
        char *target = w->target[w->ntargets];
        snprintf(target, TARGET, "%.*s", (int)n, s);
        const char *known = tile_target_name(target);
        if (known) snprintf(target, TARGET, "%s", known);
        int had = 0;
        while (strcmp(w->target[had], target)) had++;
        w->ntargets += had == w->ntargets; /* named twice, it is made once */
    }
    return w->ntargets ? TILE_OK
                       : complain(w->a->messages, TILE_INVALID, "--target names nothing", "");
}

/* ---- images ---- */

/* The next image: of this text, which is taken over, or (NULL) of another image's. */
static tile_status add_image(Work *w, int variant, const tile_compile_options *o,
                             const char *target, char *text, const char *data, size_t size) {
    Images *m = &w->images;
    if (m->n == m->cap) {
        int cap = m->cap ? m->cap * 2 : 16;
        HeaderImage *at = realloc(m->at, (size_t)cap * sizeof *at);
        if (at) m->at = at;
        char **texts = realloc(m->text, (size_t)cap * sizeof *texts);
        if (texts) m->text = texts;
        tile_compile_options *of = realloc(m->of, (size_t)cap * sizeof *of);
        if (of) m->of = of;
        if (!at || !texts || !of) {
            free(text);
            return no_memory(w->a->messages);
        }
        m->cap = cap;
    }
    const char *when = variant < w->variants.n ? w->variants.at[variant].when : NULL;
    m->text[m->n] = text;
    m->of[m->n] = *o;
    m->at[m->n++] = (HeaderImage){variant, target, when, data, size};
    return TILE_OK;
}

/* Adds the images that an earlier variant has of the same. False when there are none. */
static bool add_again(Work *w, int variant, const tile_compile_options *o, const char *target,
                      tile_status *st) {
    const Images *m = &w->images;
    bool found = false;
    for (int i = 0, n = m->n; i < n; i++) {
        HeaderImage e = m->at[i];
        if (*st || e.variant == variant || !m->text[i] || strcmp(e.target, target) ||
            !compile_options_same(&m->of[i], o))
            continue;
        *st = add_image(w, variant, o, target, NULL, e.data, e.size);
        found = true;
    }
    return found;
}

/* Compiles and shows what the compiler says: everything once, of what follows the errors. */
static tile_status compile(const Work *w, tile_compile_options o, tile_emit emit,
                           const char *target, char **text, size_t *len) {
    tile_compiled *c;
    bool first = w->images.n == 0;
    o.emit = emit;
    o.target = target;
    if (!first) o.no_warnings = o.no_perf_notes = 1;
    tile_status st = crash_compile(w->a->messages, &o, &c);
    if (!c) return no_memory(w->a->messages);
    messages_compiled(w->a->messages, c);
    const char *output = tile_compiled_text(c, TILE_PART_OUTPUT, len);
    *text = st ? NULL : malloc(*len + 1);
    if (*text) memcpy(*text, output, *len + 1);
    tile_compiled_free(c);
    return st || *text ? st : no_memory(w->a->messages);
}

/* The images of a variant for one GPU. */
static tile_status add_gpu(Work *w, int variant, const tile_compile_options *o,
                           const char *target) {
    char *text, *code;
    size_t len, size;
    tile_status st = TILE_OK;
    if (add_again(w, variant, o, target, &st)) return st;
    st = compile(w, *o, TILE_EMIT_PTX, target, &text, &len);
    if (st) return st;
    if (w->embed & EMBED_CUBIN) {
        st = artefact_cubin(w->a->messages, text, len, &code, &size);
        if (!st) st = add_image(w, variant, o, target, code, code, size);
    }
    if (!st && w->embed & EMBED_PTX) return add_image(w, variant, o, target, text, text, len);
    free(text);
    return st;
}

static tile_status add_variant(Work *w, int number, const Variant *v,
                               const tile_compile_options *base) {
    tile_status st = TILE_OK;
    for (int i = 0; !st && i < w->ntargets && w->embed & (EMBED_PTX | EMBED_CUBIN); i++) {
        tile_compile_options o = variant_options(v, base, i);
        st = add_gpu(w, number, &o, w->target[i]);
    }
    if (st || !(w->embed & EMBED_TIR)) return st;
    tile_compile_options o = variant_options(v, base, VARIANT_TARGETS);
    char *text;
    size_t len;
    if (add_again(w, number, &o, "cpu", &st)) return st;
    st = compile(w, o, TILE_EMIT_TIR, w->target[0], &text, &len);
    return st ? st : add_image(w, number, &o, "cpu", text, text, len);
}

static tile_status tune(Work *w, Variants *v, const tile_compile_options *base, int quiet) {
    const char *target[VARIANT_TARGETS];
    for (int i = 0; i < w->ntargets; i++) target[i] = w->target[i];
    TunedRequest r = {.messages = w->a->messages,
                      .base = base,
                      .tuning = w->a->tuning,
                      .file = w->a->tuning_file,
                      .target = target,
                      .ntargets = w->embed & (EMBED_PTX | EMBED_CUBIN) ? w->ntargets : 0,
                      .cpu = (w->embed & EMBED_TIR) != 0,
                      .quiet = quiet};
    return tuned_variants(&r, v);
}

static tile_status add_general(Work *w) {
    tile_compile_options general = w->a->compile;
    general.no_promises = 1;
    if (!variants_read(&w->general, NULL, &general))
        return complain(w->a->messages, TILE_NO_MEMORY, "", w->general.error);
    tile_status st = tune(w, &w->general, &general, 1);
    w->label[w->variants.n] = "without promises";
    return st ? st : add_variant(w, w->variants.n, &w->general.at[0], &general);
}

static tile_status add_variants(Work *w) {
    const Variants *v = &w->variants;
    tile_status st = TILE_OK;
    w->label = calloc((size_t)v->n + 1, sizeof *w->label);
    if (!w->label) return no_memory(w->a->messages);
    for (int i = 0; !st && i < v->n; i++) {
        w->label[i] = v->at[i].text;
        st = add_variant(w, i, &v->at[i], &w->a->compile);
    }
    if (st) return st;
    const HeaderImage *last = &w->images.at[w->images.n - 1];
    bool any_arguments = !v->at[v->n - 1].exact && header_is_general(last->data, last->size);
    return any_arguments ? TILE_OK : add_general(w);
}

/* --variants=@FILE: a variant on a line, comments from # on. Malloc'ed; NULL after complaining. */
static char *read_variants_file(const Messages *m, const char *path) {
    enum { LIMIT = 1 << 20 };
    FileError error;
    char *text;
    size_t len;
    if (!file_read(path, LIMIT, &text, &len, &error)) {
        complain(m, TILE_IO, "", error.text);
        return NULL;
    }
    bool comment = false;
    for (size_t i = 0; i < len; i++) {
        bool end = text[i] == '\n';
        comment = !end && (comment || text[i] == '#');
        if (end) text[i] = ';';
        if (comment) text[i] = ' ';
    }
    return text;
}

static tile_status read_variants(Work *w) {
    const char *list = w->a->variants;
    char *file = NULL;
    if (list && *list == '@' && !(file = read_variants_file(w->a->messages, list + 1)))
        return TILE_IO;
    int ok = variants_read(&w->variants, file ? file : list, &w->a->compile);
    free(file);
    return ok ? TILE_OK : complain(w->a->messages, TILE_INVALID, "--variants: ", w->variants.error);
}

static tile_status make(Work *w, Header *h) {
    tile_status st = read_embed(w);
    if (!st) st = read_targets(w);
    if (!st) st = read_variants(w);
    if (!st) st = tune(w, &w->variants, &w->a->compile, 0);
    if (!st) st = add_variants(w);
    if (st) return st;
    const HeaderImage *last = &w->images.at[w->images.n - 1];
    const char *name = w->a->compile.file_name;
    *h = (Header){.source = name && *name != '<' ? name : "kernels",
                  .label = w->label,
                  .nvariants = last->variant + 1,
                  .image = w->images.at,
                  .nimages = w->images.n};
    return TILE_OK;
}

static void free_work(Work *w) {
    for (int i = 0; i < w->images.n; i++) free(w->images.text[i]);
    free(w->images.text);
    free(w->images.of);
    free(w->images.at);
    free(w->label);
    variants_free(&w->variants);
    variants_free(&w->general);
}

tile_status artefact_header(const ArtefactOptions *a, char **text, size_t *len) {
    Work w = {.a = a, .default_embed = "ptx,tir"};
    Header h;
    char error[600];
    *text = NULL;
    tile_status st = make(&w, &h);
    if (!st && !(*text = header_text(&h, len, error, sizeof error)))
        st = unmade(a->messages, error);
    free_work(&w);
    return st;
}

tile_status artefact_launcher(const ArtefactOptions *a, const char *name, Artefact *out) {
    Work w = {.a = a, .default_embed = "ptx"};
    Header h;
    char error[600];
    tile_status st = make(&w, &h);
    if (!st && w.embed & EMBED_TIR)
        st = complain(a->messages, TILE_INVALID,
                      "a launcher is for GPUs: its --embed is of ptx and cubin", "");
    if (!st) {
        out->text = launcher_text(&h, name, &out->len, error, sizeof error);
        out->header = launcher_header(&h, &out->header_len, error, sizeof error);
        if (!out->text || !out->header) st = unmade(a->messages, error);
    }
    free_work(&w);
    return st;
}

/* ---- cubin ---- */

/* The manifest's comment lines, which stand at the head of PTX from tilec. */
static size_t manifest_length(const char *ptx) {
    static const char end[] = "// tilec manifest end\n";
    const char *at = strstr(ptx, end);
    return at ? (size_t)(at - ptx) + sizeof end - 1 : 0;
}

tile_status artefact_cubin(const Messages *m, const char *ptx, size_t ptx_len, char **text,
                           size_t *len) {
    PtxasError error;
    size_t n, tail = manifest_length(ptx);
    char *code = ptxas_assemble(ptx, ptx_len, &n, &error);
    *text = NULL;
    if (!code) {
        message(m, error.io ? R_IO : E_PTXAS, "%s", error.text);
        return error.io ? TILE_IO : TILE_NOT_FOUND;
    }
    char *grown = realloc(code, n + tail + 2);
    if (!grown) {
        free(code);
        return no_memory(m);
    }
    grown[n] = '\n';
    memcpy(grown + n + 1, ptx, tail);
    *text = grown;
    *len = n + 1 + tail;
    return TILE_OK;
}
