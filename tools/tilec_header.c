/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tilec_header.c: modules and their manifests -> C that is clean in C11, C23 and C++: the modules
 * as arrays of bytes (string literals have limits), a function that hands them to the runtime, and
 * for each kernel functions with a parameter of C for each of its own.
 *
 * Which variant a launch gets is the runtime's decision (tile_bundle). */
#include "tools/tilec_header.h"

#include "base/file.h"
#include "tile.h"
#include "tools/tilec_kernels.h"

#include <string.h>

/* ---- the text ---- */

static void put_head(Writer *w) {
    const Header *h = w->h;
    fprintf(w->out, "/* Kernels of ");
    c_comment(w->out, file_base_name(h->source));
    fprintf(w->out,
            ", made by tilec %s (--emit=header); do not edit.\n *\n"
            " *     tile_bundle *kernels;\n"
            " *     tile_status st = %s_load(ctx, &kernels);\n"
            " *     if (!st) st = NAME_launch(kernels, ARGUMENTS, stream);\n"
            " *     tile_bundle_destroy(kernels);\n *\n"
            " * It needs libtile_runtime alone. A pointer of 0 stands for None.",
            tile_version(), w->prefix);
    writer_variants(w);
    fprintf(w->out,
            " */\n#ifndef TILE_KERNELS_%s_H\n#define TILE_KERNELS_%s_H\n\n"
            "#include \"tile.h\"\n\n#include <stddef.h>\n#include <stdint.h>\n",
            w->upper, w->upper);
}

static void put_images(Writer *w) {
    const Header *h = w->h;
    for (int i = 0; i < h->nimages; i++) {
        const HeaderImage *m = &h->image[i];
        if (writer_first(h, i) < i) continue;
        char name[C_NAME + 32];
        snprintf(name, sizeof name, "%s_image_%d", w->prefix, i);
        writer_bytes(w, name, m->data, m->size);
    }
    fprintf(w->out,
            "\n/* Gives the kernels to the device of ctx. tile_bundle_destroy takes them back. */\n"
            "static inline tile_status %s_load(tile_context *ctx, tile_bundle **out) {\n"
            "    static const tile_image images[%d] = {\n",
            w->prefix, h->nimages);
    for (int i = 0; i < h->nimages; i++) {
        fprintf(w->out, "        {");
        c_string(w->out, h->image[i].target, strlen(h->image[i].target));
        fprintf(w->out, ", %d, ", h->image[i].variant);
        if (h->image[i].when)
            c_string(w->out, h->image[i].when, strlen(h->image[i].when));
        else
            fprintf(w->out, "NULL");
        int bytes = writer_first(h, i);
        fprintf(w->out, ", %s_image_%d, sizeof %s_image_%d},\n", w->prefix, bytes, w->prefix,
                bytes);
    }
    fprintf(w->out, "    };\n    return tile_bundle_create(ctx, images, %d, out);\n}\n",
            h->nimages);
}

static void put_parameters(Writer *w, const char *kernel, const json_t *params) {
    for (size_t i = 0; i < json_array_size(params); i++) {
        char name[C_NAME];
        const CType *t = c_type(writer_type(w, kernel, i));
        c_parameter(json_text(json_array_get(params, i), "name"), name);
        fprintf(w->out, "%s %s, ", t ? t->c : "tile_ptr", name);
    }
}

static void put_arguments(Writer *w, const char *kernel, const json_t *params) {
    size_t n = json_array_size(params);
    if (n) fprintf(w->out, "    tile_arg args_[%zu];\n", n);
    for (size_t i = 0; i < n; i++) {
        char name[C_NAME];
        const CType *t = c_type(writer_type(w, kernel, i));
        c_parameter(json_text(json_array_get(params, i), "name"), name);
        if (t)
            fprintf(w->out, "    args_[%zu] = %s(%s, %s%s);\n", i, t->maker, t->type, t->cast,
                    name);
        else
            fprintf(w->out, "    args_[%zu] = %s ? tile_pointer(%s) : tile_none();\n", i, name,
                    name);
    }
}

/* NAME_launch, when the source states a grid, and NAME_launch_grid with a grid from the caller. */
static void put_function(Writer *w, const json_t *kernel, bool own_grid) {
    const char *name = json_text(kernel, "name");
    const json_t *params = json_object_get(kernel, "params");
    size_t n = json_array_size(params);
    char c_name[C_NAME];
    c_identifier(name, strlen(name), c_name);
    fprintf(w->out, "static inline tile_status %s_launch%s(tile_bundle *kernels_, ", c_name,
            own_grid ? "" : "_grid");
    if (!own_grid) fprintf(w->out, "tile_grid grid_, ");
    put_parameters(w, name, params);
    fprintf(w->out, "void *stream_) {\n");
    put_arguments(w, name, params);
    fprintf(w->out, "    return tile_bundle_launch(kernels_, ");
    c_string(w->out, name, strlen(name));
    fprintf(w->out, ", %s, %s, %zu, stream_);\n}\n", own_grid ? "NULL" : "&grid_",
            n ? "args_" : "NULL", n);
}

static void put_kernel(Writer *w, const json_t *kernel) {
    const json_t *grid = json_object_get(kernel, "grid");
    writer_signature(w, kernel);
    if (json_array_size(grid)) put_function(w, kernel, true);
    put_function(w, kernel, false);
}

static void write_header(Writer *w, void *unused) {
    json_t *kernel;
    size_t i;
    (void)unused;
    put_head(w);
    put_images(w);
    json_array_foreach(w->kernels, i, kernel) {
        put_kernel(w, kernel);
    }
    fprintf(w->out, "\n#endif\n");
}

char *header_text(const Header *h, size_t *len, char *error, size_t error_size) {
    return writer_text(h, write_header, NULL, len, error, error_size);
}
