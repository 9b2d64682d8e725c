/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tilec_launcher.c: compiled kernels -> C that launches them by the CUDA driver alone: a header
 * with a typed function for each kernel, and a file with the code (tilec_tables.c) behind what
 * every launcher has (launcher_core.h, which is part of tilec as text). Clean in C11 and C++17.
 *
 * Like a header for the runtime (tilec_header.c) it holds all variants, and a launch takes the
 * first that fits; unlike that it is no use without a GPU. */
#include "tools/tilec_launcher.h"

#include "base/file.h"
#include "tile.h"

#include <string.h>

extern const char launcher_core_text[], launcher_launches_text[], launcher_share_text[],
    launcher_round_text[];

/* From -1 down. Behind them come two for each parameter: that it breaks a promise, that it is NULL.
 */
static const struct {
    const char *name, *text;
} errors[] = {
    {"NO_DRIVER", "there is no CUDA driver: libcuda.so.1 cannot be opened"},
    {"OLD_DRIVER", "the CUDA driver is too old: it lacks a function"},
    {"NO_CONTEXT", "no CUDA context is current: kernels are loaded into the one that is"},
    {"NO_IMAGE", "none of the kernels' code is for this GPU"},
    {"NO_MEMORY", "out of memory"},
    {"NOT_LOADED", "the kernels are not loaded"},
    {"UNABLE", "this GPU or its driver lacks what the kernel needs: clusters, cooperative launches "
               "or tensor maps"},
    {"TOO_LARGE", "a program needs more shared memory or threads than this GPU has"},
    {"NO_VARIANT", "no variant's conditions hold for these arguments"},
    {"BAD_GRID",
     "the grid has no value, is larger than 2147483647, 65535, 65535, or does not divide "
     "into clusters"},
    {"NO_MAP",
     "there is no descriptor of these sizes and strides: addresses, strides and rows that "
     "are stored must be multiples of 16 bytes"},
};
enum { ERRORS = sizeof errors / sizeof *errors, FIRST_ARGUMENT = -100 };

/* ---- functions ---- */

static bool is_read_only(const Writer *w, const char *kernel, size_t param) {
    for (int i = 0; i < w->h->nimages; i++) {
        const json_t *params = json_object_get(writer_kernel(w, i, kernel), "params");
        const json_t *p = json_array_get(params, param);
        if (!json_is_true(json_object_get(p, "none")) &&
            !json_is_true(json_object_get(p, "read_only")))
            return false;
    }
    return true;
}

static void put_parameter(const Writer *w, const char *kernel, size_t i, const json_t *param) {
    const char *type = writer_type(w, kernel, i);
    const CType *t = c_type(type), *to = *type == '*' ? c_type(type + 1) : NULL;
    char name[C_NAME];
    c_parameter(json_text(param, "name"), name);
    fputs(i % 4 ? ", " : ",\n    ", w->out); /* four on a line */
    if (t)
        fprintf(w->out, "%s %s", t->c, name);
    else
        fprintf(w->out, "%s%s *%s", is_read_only(w, kernel, i) ? "const " : "",
                to ? to->memory : "void", name);
}

static void put_argument(const Writer *w, const char *kernel, size_t i, const json_t *param) {
    const char *type = writer_type(w, kernel, i);
    char name[C_NAME];
    c_parameter(json_text(param, "name"), name);
    if (*type == '*')
        fprintf(w->out, "(int64_t)(uintptr_t)%s", name);
    else if (strcmp(type, "i1") == 0)
        fprintf(w->out, "%s != 0", name);
    else if (strchr("iu", *type))
        fprintf(w->out, "(int64_t)%s", name);
    else
        fprintf(w->out, "of_%s_(%s)", type, name);
}

/* NAME_launch, when the source states a grid, and NAME_launch_grid with one from the caller. */
static void put_head(const Writer *w, const json_t *kernel, bool own_grid) {
    const char *name = json_text(kernel, "name");
    const json_t *params = json_object_get(kernel, "params");
    char c_name[C_NAME];
    c_identifier(name, strlen(name), c_name);
    fprintf(w->out, "int %s_launch%s(const %s_kernels *kernels_, CUstream stream_", c_name,
            own_grid ? "" : "_grid", w->prefix);
    if (!own_grid) fprintf(w->out, ", unsigned grid_x_, unsigned grid_y_, unsigned grid_z_");
    for (size_t i = 0; i < json_array_size(params); i++)
        put_parameter(w, name, i, json_array_get(params, i));
    fputc(')', w->out);
}

static void put_function(const Writer *w, const json_t *kernel, size_t number, bool own_grid) {
    const char *name = json_text(kernel, "name");
    const json_t *params = json_object_get(kernel, "params");
    size_t n = json_array_size(params);
    fputc('\n', w->out);
    put_head(w, kernel, own_grid);
    fputs(" {\n    int64_t v_[] = {", w->out);
    for (size_t i = 0; i < n; i++) {
        fputs(i % 4 ? ", " : i ? ",\n                    " : "", w->out);
        put_argument(w, name, i, json_array_get(params, i));
    }
    fputs(n ? "};\n" : "0};\n", w->out);
    if (!own_grid) fputs("    const unsigned grid_[3] = {grid_x_, grid_y_, grid_z_};\n", w->out);
    fprintf(w->out,
            "    return launch_(kernels_->state, %zu, %s, v_, kernels_->concurrent, stream_);\n}\n",
            number, own_grid ? "NULL" : "grid_");
}

/* ---- the header ---- */

static void put_errors(const Writer *w, const char *prefix) {
    fputs("enum {\n", w->out);
    for (int i = 0; i < ERRORS; i++)
        fprintf(w->out, "    %s%s = %d,\n", prefix, errors[i].name, -1 - i);
    fprintf(w->out, "    %sFIRST_ARGUMENT = %d\n};\n", prefix, FIRST_ARGUMENT);
}

static void write_header(Writer *w, void *unused) {
    char prefix[C_NAME + 1];
    json_t *kernel;
    size_t i;
    (void)unused;
    fputs("/* Kernels of ", w->out);
    c_comment(w->out, file_base_name(w->h->source));
    fprintf(w->out,
            ", made by tilec %s (--emit=launcher); do not edit.\n *\n"
            " *     %s_kernels k;\n"
            " *     int error = %s_load(&k); // into the CUDA context that is current\n"
            " *     if (!error) error = NAME_launch(&k, stream, ARGUMENTS);\n"
            " *     if (error) puts(%s_error(error));\n"
            " *     %s_unload(&k);\n *\n"
            " * It needs the CUDA driver alone. Pointers are the device's, NULL stands for None.",
            tile_version(), w->prefix, w->prefix, w->prefix, w->prefix);
    writer_variants(w);
    fprintf(w->out,
            " */\n#ifndef TILE_LAUNCHER_%s_H\n#define TILE_LAUNCHER_%s_H\n\n#include <stdint.h>\n\n"
            "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"
            "/* As cuda.h has it; a cudaStream_t is one, too. */\n"
            "typedef struct CUstream_st *CUstream;\n\n"
            "/* The caller's. Any number of threads may launch between load and unload. */\n"
            "typedef struct %s_kernels {\n"
            "    void *state;    /* NULL: not loaded */\n"
            "    int concurrent; /* the caller may set it behind load: launches share\n"
            "                     * multiprocessors with others, and leave shared memory to them "
            "*/\n"
            "    char log[1000]; /* what the driver's compiler said, where load failed by it */\n"
            "} %s_kernels;\n\n"
            "/* What the functions return, besides 0 and the driver's results, which are above 0. "
            "From\n"
            " * FIRST_ARGUMENT down an argument breaks a promise that the kernel was compiled for. "
            "*/\n",
            w->upper, w->upper, w->prefix, w->prefix);
    snprintf(prefix, sizeof prefix, "%s_", w->upper);
    put_errors(w, prefix);
    fprintf(w->out,
            "const char *%s_error(int error); /* what it means: a sentence */\n\n"
            "/* All of the kernels, for the GPU of the current context. */\n"
            "int %s_load(%s_kernels *kernels);\nvoid %s_unload(%s_kernels *kernels);\n",
            w->prefix, w->prefix, w->prefix, w->prefix, w->prefix);
    json_array_foreach(w->kernels, i, kernel) {
        writer_signature(w, kernel);
        if (json_array_size(json_object_get(kernel, "grid"))) {
            put_head(w, kernel, true);
            fputs(";\n", w->out);
        }
        put_head(w, kernel, false);
        fputs(";\n", w->out);
    }
    fputs("\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n", w->out);
}

/* ---- the file ---- */

/* Behind the lines that say what the text is in tilec's own sources. */
static const char *body_of(const char *text) {
    const char *end = strstr(text, "*/\n\n");
    return end ? end + 4 : text;
}

static void put_core(Writer *w, const LauncherNeeds *needs, const char *core);

/* What stands for a line of the core. */
static void put_instead(Writer *w, const LauncherNeeds *needs, const char *name) {
    static const struct {
        const char *name, *text;
    } row[] = {{"launches", launcher_launches_text},
               {"share_model", launcher_share_text},
               {"number_round", launcher_round_text}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        if (strncmp(name, row[i].name, strlen(row[i].name)) == 0) put_core(w, needs, row[i].text);
    if (strncmp(name, "tables", 6)) return;
    fputs("/* ---- the kernels ---- */\n", w->out);
    launcher_tables(w);
}

/* Without blocks that nobody needs, and with other texts where it says so. */
static void put_core(Writer *w, const LauncherNeeds *needs, const char *core) {
    static const char when[] = "#if LAUNCHER_", pragma[] = "#pragma launcher ";
    bool leave_out = false, inside = false;
    for (const char *at = body_of(core), *next; *at; at = next) {
        const char *end = strchr(at, '\n'), *word = at + sizeof when - 1;
        next = end ? end + 1 : at + strlen(at);
        if (strncmp(at, when, sizeof when - 1) == 0) {
            inside = true;
            leave_out = strncmp(word, "MAPS", 4) == 0    ? !needs->maps
                        : strncmp(word, "SPLIT", 5) == 0 ? !needs->split
                                                         : !needs->floats;
        } else if (inside && strncmp(at, "#endif", 6) == 0) {
            inside = leave_out = false;
        } else if (!leave_out && strncmp(at, pragma, sizeof pragma - 1) == 0) {
            put_instead(w, needs, at + sizeof pragma - 1);
        } else if (!leave_out) {
            fwrite(at, 1, (size_t)(next - at), w->out);
        }
    }
}

static void put_text(const Writer *w, const char *text) {
    fputs("        ", w->out);
    c_string(w->out, text, strlen(text));
    fputs(",\n", w->out);
}

/* What can be wrong with an argument, by the most general variant's promises; "" where nothing can,
 * twice: that it breaks one, that it is NULL. */
static void put_promise(const Writer *w, const json_t *kernel, size_t i, const json_t *param) {
    bool pointer = *json_text(param, "type") == '*';
    bool none = json_is_true(json_object_get(param, "none"));
    const json_t *divisible = json_object_get(param, "divisible"),
                 *equals = json_object_get(param, "equals");
    char what[400];
    size_t n = (size_t)snprintf(what, sizeof what, "argument %zu (%.100s) of kernel '%.100s' ",
                                i + 1, json_text(param, "name"), json_text(kernel, "name"));
    if (none)
        snprintf(what + n, sizeof what - n, "must be NULL");
    else if (equals)
        snprintf(what + n, sizeof what - n, "must be %lld", (long long)json_integer_value(equals));
    else if (divisible)
        snprintf(what + n, sizeof what - n, "must be a multiple of %lld%s",
                 (long long)json_integer_value(divisible), pointer ? " bytes" : "");
    put_text(w, none || equals || divisible ? what : "");
    snprintf(what + n, sizeof what - n, "is NULL, and the kernel was not compiled for None there");
    put_text(w, pointer && !none ? what : "");
}

static void put_error_function(const Writer *w) {
    json_t *kernel, *param;
    size_t k, i;
    fprintf(w->out, "\nconst char *%s_error(int error) {\n    static const char *const own[] = {\n",
            w->prefix);
    for (int e = 0; e < ERRORS; e++) put_text(w, errors[e].text);
    fputs("    };\n    static const char *const argument[] = {\n", w->out);
    json_array_foreach(w->kernels, k, kernel) {
        json_array_foreach(json_object_get(kernel, "params"), i, param) {
            put_promise(w, kernel, i, param);
        }
    }
    fputs("        \"\"};\n"
          "    const int arguments = (int)(sizeof argument / sizeof *argument) - 1;\n"
          "    if (error > 0) return driver_text(error);\n"
          "    if (error == 0) return \"no error\";\n"
          "    if (error > FIRST_ARGUMENT && -error <= (int)(sizeof own / sizeof *own))\n"
          "        return own[-error - 1];\n"
          "    if (error > FIRST_ARGUMENT || FIRST_ARGUMENT - error >= arguments)\n"
          "        return \"there is no such error\";\n"
          "    return argument[FIRST_ARGUMENT - error];\n}\n",
          w->out);
}

static void write_file(Writer *w, void *header) {
    const LauncherNeeds needs = launcher_needs(w);
    json_t *kernel;
    size_t i;
    fputs("/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */\n/* Kernels of ", w->out);
    c_comment(w->out, file_base_name(w->h->source));
    fprintf(w->out,
            ", made by tilec %s (--emit=launcher); do not edit. C11 and C++17;\n"
            " * it needs the CUDA driver when it runs, and nothing of tilec's. */\n#include ",
            tile_version());
    c_string(w->out, header, strlen(header));
    fprintf(w->out,
            "\n\nenum { IMAGES = %d, CODES = %d, KERNELS = %zu, ENTRIES = %d, PARAMS = %d };\n",
            w->h->nimages, needs.codes, json_array_size(w->kernels), needs.entries, needs.params);
    put_errors(w, "");
    fputc('\n', w->out);
    put_core(w, &needs, launcher_core_text);
    fprintf(w->out,
            "\n/* ---- what the header has ---- */\n\n"
            "int %s_load(%s_kernels *kernels) {\n    kernels->concurrent = 0;\n"
            "    return load_all(&kernels->state, kernels->log, sizeof kernels->log);\n}\n\n"
            "void %s_unload(%s_kernels *kernels) {\n"
            "    if (kernels->state) unload_all((State *)kernels->state);\n"
            "    kernels->state = NULL;\n}\n",
            w->prefix, w->prefix, w->prefix, w->prefix);
    put_error_function(w);
    json_array_foreach(w->kernels, i, kernel) {
        if (json_array_size(json_object_get(kernel, "grid"))) put_function(w, kernel, i, true);
        put_function(w, kernel, i, false);
    }
}

char *launcher_text(const Header *h, const char *header, size_t *len, char *error, size_t size) {
    return writer_text(h, write_file, (void *)(uintptr_t)header, len, error, size);
}

char *launcher_header(const Header *h, size_t *len, char *error, size_t size) {
    return writer_text(h, write_header, NULL, len, error, size);
}
