/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* module.c: a .ptx, .cubin or .tir -> kernels that can be launched.
 *
 * A cubin is an ELF file; which of the other two it is shows after the comments at the head: PTX
 * begins with a directive (a dot). The manifest, in those comments, describes PTX, and stands
 * behind a cubin's code; tile IR says everything itself, so there the manifest is left alone. All
 * memory of a module is its session's arena. */
#include "base/file.h"
#include "base/json.h"
#include "runtime/runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MODULE_LIMIT_MB = 256 };

static bool line_is(const char *line, size_t n, const char *text) {
    while (n && (line[n - 1] == '\r' || line[n - 1] == ' ')) n--;
    return n == strlen(text) && memcmp(line, text, n) == 0;
}

bool module_head(const char *text, size_t len, char **json, size_t *json_len, size_t *code) {
    bool inside = false, ended = false;
    char *out = malloc(len + 1);
    if (!out) return false;
    size_t n = 0, at = 0;
    while (at < len) {
        const char *line = text + at, *stop = memchr(line, '\n', len - at);
        size_t size = stop ? (size_t)(stop - line) : len - at;
        size_t lead = 0;
        while (lead < size && (line[lead] == ' ' || line[lead] == '\t' || line[lead] == '\r'))
            lead++;
        if (lead < size && (size - lead < 2 || line[lead] != '/' || line[lead + 1] != '/')) break;
        at += size + (stop != NULL);
        if (line_is(line, size, "// tilec manifest end")) {
            ended = inside;
            inside = false;
        } else if (inside) {
            size_t skip = lead + (size - lead > 2 && line[lead + 2] == ' ' ? 3 : 2);
            if (size > skip) { /* a blank line has no slashes to skip */
                memcpy(out + n, line + skip, size - skip);
                n += size - skip;
            }
            out[n++] = '\n'; /* each line lost at least two characters, so there is room */
        } else if (!ended && line_is(line, size, "// tilec manifest begin")) {
            inside = true;
        }
    }
    *json = out;
    *json_len = ended ? n : 0;
    *code = at;
    return true;
}

size_t module_text_at(const char *data, size_t len) {
    static const char begin[] = "\n// tilec manifest begin\n";
    const size_t n = sizeof begin - 1;
    if (len < 4 || memcmp(data, "\177ELF", 4)) return 0;
    for (size_t at = len; at >= n; at--) /* machine code may hold the words, too: the last counts */
        if (memcmp(data + at - n, begin, n) == 0) return at - n + 1;
    return SIZE_MAX;
}

/* ---- loading ---- */

static tile_status out_of_memory(tile_context *ctx) {
    return rt_fail(ctx, TILE_NO_MEMORY, "no memory to load the module");
}

static tile_status take_tir(tile_module *m, const char *name, const char *text, size_t len) {
    Session *s = &m->session;
    s->source = (Source){.name = name, .text = text, .len = len};
    m->ir = ir_parse(s, text, len);
    const char *wrong = m->ir ? module_kernels(s, m->ir, &m->kernel, &m->nkernels) : NULL;
    if (wrong) return rt_fail(m->ctx, TILE_BAD_MODULE, "%s", wrong);
    if (m->ir) return TILE_OK;
    Buf message = buf_new(&s->arena);
    diag_render(&s->diags, &s->source, false, &message);
    while (message.len && message.data[message.len - 1] == '\n') message.data[--message.len] = '\0';
    return rt_fail(m->ctx, TILE_BAD_MODULE, "this is not sound tile IR:\n%s", message.data);
}

/* Fills the module's kernels: from `manifest` for PTX, from the text itself for tile IR (NULL). All
 * that may jump back out of the arena is below this. */
static tile_status take_kernels(tile_module *m, const char *name, const char *text, size_t len,
                                const json_t *manifest) {
    Session *s = &m->session;
    if (setjmp(s->bail)) {
        if (s->out_of_memory) return out_of_memory(m->ctx);
        const Diag *d = s->diags.first;
        return d ? rt_fail(m->ctx, TILE_BAD_MODULE, "%s [%s]", d->text, code_text(d->code))
                 : rt_fail(m->ctx, TILE_BAD_MODULE, "the module is too large");
    }
    session_init(s);
    tile_status st = TILE_OK;
    if (manifest) {
        const char *wrong = manifest_kernels(s, manifest, &m->kernel, &m->nkernels, &m->target);
        if (wrong) st = rt_fail(m->ctx, TILE_BAD_MODULE, "%s", wrong);
    } else {
        st = take_tir(m, name, text, len);
    }
    for (int i = 0; !st && i < m->nkernels; i++) {
        m->kernel[i].module = m;
        launch_prepare(s, &m->kernel[i]);
    }
    return st;
}

static tile_status parse_manifest(tile_context *ctx, const char *json, size_t len, json_t **out) {
    json_error_t e;
    bool starved;
    *out = json_of_text(json, len, JSON_ALLOW_NUL, &e, &starved);
    if (*out) return TILE_OK;
    if (starved) return out_of_memory(ctx);
    return rt_fail(ctx, TILE_BAD_MODULE, "the manifest is damaged: line %d: %s", e.line, e.text);
}

static tile_status load_text(tile_module *m, const char *name, const char *text, size_t len) {
    tile_context *ctx = m->ctx;
    char *json;
    size_t json_len, code;
    size_t at = module_text_at(text, len);
    bool is_cubin = at > 0;
    if (at == SIZE_MAX)
        return rt_fail(
            ctx, TILE_BAD_MODULE,
            "this cubin has no manifest at its end: it was not made by tilec, or was cut");
    if (memchr(text + at, '\0', len - at))
        return rt_fail(ctx, TILE_BAD_MODULE, "this is not text: neither PTX nor tile IR");
    if (!module_head(text + at, len - at, &json, &json_len, &code)) return out_of_memory(ctx);
    bool is_ptx = is_cubin || (code < len && text[code + strspn(text + code, " \t\r")] == '.');
    json_t *manifest = NULL;
    tile_status st = TILE_OK;
    if (code == len && !is_cubin) {
        st = rt_fail(ctx, TILE_BAD_MODULE, "there is no code in this module");
    } else if (is_ptx && json_len == 0) {
        st = rt_fail(ctx, TILE_BAD_MODULE,
                     "this %s has no manifest at its %s: it was not made by tilec, or was cut",
                     is_cubin ? "cubin" : "PTX", is_cubin ? "end" : "head");
    } else if (is_ptx) {
        st = parse_manifest(ctx, json, json_len, &manifest);
    }
    free(json);
    if (!st) st = take_kernels(m, name, text, len, manifest);
    json_decref(manifest);
    return st ? st : ctx->ops->load(m, text);
}

static tile_status load_named(tile_context *ctx, const char *name, const char *text, size_t size,
                              tile_module **out) {
    tile_module *m = calloc(1, sizeof *m);
    if (!m) return out_of_memory(ctx);
    m->ctx = ctx;
    tile_status st = load_text(m, name, text, size);
    if (st)
        tile_module_unload(m);
    else
        *out = m;
    return st;
}

tile_status tile_module_load(tile_context *ctx, const void *data, size_t size, tile_module **out) {
    tile_status st = rt_enter(ctx);
    if (st) return st;
    if (!out || !data) return rt_fail(ctx, TILE_INVALID, "tile_module_load: NULL");
    *out = NULL;
    if (size > (size_t)MODULE_LIMIT_MB << 20)
        return rt_fail(ctx, TILE_BAD_MODULE, "the module is larger than %d MB, the limit",
                       MODULE_LIMIT_MB);
    char *text = malloc(size + 1); /* the driver wants a NUL at the end */
    if (!text) return out_of_memory(ctx);
    memcpy(text, data, size);
    text[size] = '\0';
    st = load_named(ctx, "<module>", text, size, out);
    free(text);
    return st;
}

tile_status tile_module_load_file(tile_context *ctx, const char *path, tile_module **out) {
    tile_status st = rt_enter(ctx);
    if (st) return st;
    if (!out || !path) return rt_fail(ctx, TILE_INVALID, "tile_module_load_file: NULL");
    *out = NULL;
    char *text;
    size_t size;
    FileError error;
    if (!file_read(path, (size_t)MODULE_LIMIT_MB << 20, &text, &size, &error))
        return rt_fail(ctx, error.out_of_memory ? TILE_NO_MEMORY : TILE_IO, "%s", error.text);
    st = load_named(ctx, path, text, size, out);
    free(text);
    return st;
}

void tile_module_unload(tile_module *m) {
    if (!m) return;
    if (rt_enter(m->ctx) == TILE_OK) m->ctx->ops->unload(m);
    session_free(&m->session);
    free(m);
}

/* ---- kernels ---- */

tile_status tile_kernel_get(tile_module *m, const char *name, tile_kernel **out) {
    if (!m || !out) return TILE_INVALID;
    *out = NULL;
    tile_status st = rt_enter(m->ctx);
    if (st) return st;
    int own = 0; /* kernels of the source */
    for (int i = 0; i < m->nkernels; i++) own += !m->kernel[i].of;
    for (int i = 0; i < m->nkernels; i++)
        if (name ? strcmp(m->kernel[i].name, name) == 0 : own == 1 && !m->kernel[i].of) {
            *out = &m->kernel[i];
            return TILE_OK;
        }
    char list[400] = "";
    size_t n = 0;
    for (int i = 0; i < m->nkernels && n < sizeof list; i++) {
        int add = snprintf(list + n, sizeof list - n, "%s%s", i ? ", " : "", m->kernel[i].name);
        n += add > 0 ? (size_t)add : 0;
    }
    if (!name)
        return rt_fail(m->ctx, TILE_NOT_FOUND, "the module has several kernels (%s): name one",
                       list);
    return rt_fail(m->ctx, TILE_NOT_FOUND, "there is no kernel '%.200s' in the module; it has %s",
                   name, list);
}

tile_status tile_kernel_describe(const tile_kernel *k, tile_kernel_info *out) {
    if (!k || !out) return TILE_INVALID;
    *out = (tile_kernel_info){
        .name = k->name,
        .num_params = k->nparams,
        .num_warps = k->num_warps,
        .num_stages = k->num_stages,
        .shared_bytes = (size_t)k->shared,
        .grid = k->grid,
        .registers = k->registers,
        .spill_bytes = k->spill_bytes,
        .resident_programs = k->resident,
        .multiprocessors = k->module->ctx->multiprocessors,
        .cluster = {(int)k->cluster[0], (int)k->cluster[1], (int)k->cluster[2]},
        .cooperative = k->cooperative,
        .flops = k->flops,
        .bytes = k->bytes,
        .shared_bytes_single_cta =
            (size_t)(k->shared_single_cta ? k->shared_single_cta : k->shared),
    };
    return TILE_OK;
}

/* tile_type lists the elements in elem.def's order. */
_Static_assert((int)TILE_I1 == (int)EL_I1 + 1 && (int)TILE_I64 == (int)EL_I64 + 1 &&
                   (int)TILE_U64 == (int)EL_U64 + 1 && (int)TILE_FP8E4NV == (int)EL_F8E4M3 + 1 &&
                   (int)TILE_FP16 == (int)EL_F16 + 1 && (int)TILE_FP64 == (int)EL_F64 + 1,
               "tile_type follows elem.def");

tile_status tile_kernel_get_param(const tile_kernel *k, int index, tile_kernel_param *out) {
    if (!k || !out) return TILE_INVALID;
    if (index < 0 || index >= k->nparams) return TILE_INVALID;
    const KernelParam *p = &k->param[index];
    /* What stands behind fp64 no host has: a pointer to it is one to bytes. */
    tile_type elem = p->elem > EL_F64 ? TILE_U8 : (tile_type)((int)p->elem + 1);
    *out = (tile_kernel_param){
        .name = p->name,
        .type_text = p->type_text,
        .type = p->depth ? TILE_POINTER : elem,
        .element = p->depth > 1 ? TILE_POINTER : elem,
        .divisible = p->divisible,
        .has_equals = p->has_equals,
        .equals = p->equals,
        .none = p->none,
    };
    return TILE_OK;
}
