/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tilec_tables.c: manifests -> tables of C that launcher_core.h launches by: the code itself, what
 * each kernel promises, its entries and how to make their hidden parameters. Expressions become
 * functions of C, so that a launch reads no text.
 *
 * Names in the tables end in an underscore, which no parameter's name does. */
#include "tools/tilec_launcher.h"

#include "tile.h"

#include <string.h>

enum { PIECE = 4000, LINE = 1000 }; /* C11 promises literals of 4095 characters */

static long long number_of(const json_t *o, const char *key) {
    return json_integer_value(json_object_get(o, key));
}

const json_t *launcher_kernel(const Writer *w, int image, size_t k) {
    return writer_kernel(w, image, json_text(json_array_get(w->kernels, k), "name"));
}

/* The number of an image's code. */
static int code_of(const Writer *w, int image) {
    int n = 0;
    for (int i = 0; i < writer_first(w->h, image); i++) n += writer_first(w->h, i) == i;
    return n;
}

/* ---- expressions ---- */

/* Where the value begins that the step at `end` is the last of. */
static int begin_of(const ExprOp *op, int end) {
    const char *name;
    for (int wanted = 1;; end--) {
        ExprStep step = expr_step(&op[end], &name);
        wanted += step == STEP_BINARY ? 1 : step == STEP_UNARY ? 0 : -1;
        if (!wanted) return end;
    }
}

static void put_slot(FILE *out, const json_t *kernel, int64_t slot) {
    char name[C_NAME];
    const json_t *params = json_object_get(kernel, "params");
    c_parameter(json_text(json_array_get(params, (size_t)slot), "name"), name);
    fputs(name, out);
}

static void put_constant(FILE *out, int64_t v) {
    if (v == INT64_MIN)
        fputs("INT64_MIN", out);
    else if (v > INT32_MAX || v < -INT32_MAX)
        fprintf(out, "INT64_C(%lld)", (long long)v);
    else
        fprintf(out, "%lld", (long long)v);
}

static void put_value(FILE *out, const json_t *kernel, const ExprOp *op, int end) {
    const char *name;
    switch (expr_step(&op[end], &name)) {
    case STEP_PUSH: put_constant(out, op[end].value); break;
    case STEP_PUSH_SLOT: put_slot(out, kernel, op[end].value); break;
    case STEP_ENDS: break;
    case STEP_UNARY:
        fprintf(out, "%s_(", name);
        put_value(out, kernel, op, end - 1);
        fputs(", &bad_)", out);
        break;
    case STEP_BINARY: {
        int left = begin_of(op, end - 1) - 1;
        fprintf(out, "%s_(", name);
        put_value(out, kernel, op, left);
        fputs(", ", out);
        put_value(out, kernel, op, end - 1);
        fputs(", &bad_)", out);
    }
    }
}

/* Those parameters that the code reads, by their names. */
static void put_locals(FILE *out, const json_t *kernel, const ExprOp *op, int n) {
    const char *name;
    for (int i = 0; i < n; i++) {
        int before = 0;
        if (expr_step(&op[i], &name) != STEP_PUSH_SLOT) continue;
        while (expr_step(&op[before], &name) != STEP_PUSH_SLOT || op[before].value != op[i].value)
            before++;
        if (before < i) continue;
        fputs("    const int64_t ", out);
        put_slot(out, kernel, op[i].value);
        fprintf(out, " = v_[%lld];\n", (long long)op[i].value);
    }
}

static void *context_of(const json_t *kernel) {
    return (void *)(uintptr_t)kernel; /* writer_name only reads it */
}

/* NAME(v_, to_): the values of the expressions in text. */
static void put_values(const Writer *w, const json_t *kernel, const char *name, const char *text) {
    ExprOp op[EXPR_MAX_OPS];
    ExprError ignored;
    const char *sign;
    int n = expr_compile(text, strlen(text), writer_name, context_of(kernel), op, EXPR_MAX_OPS, 32,
                         &ignored);
    fprintf(w->out, "\n/* ");
    c_comment(w->out, text);
    fprintf(
        w->out,
        " */\nstatic int %s(const int64_t *v_, int64_t *to_) {\n    int bad_ = %d;\n    (void)v_, "
        "(void)to_;\n",
        name, n <= 0);
    put_locals(w->out, kernel, op, n);
    for (int i = 0, to = 0; i < n; i++) {
        if (expr_step(&op[i], &sign) != STEP_ENDS) continue;
        fprintf(w->out, "    to_[%d] = ", to++);
        put_value(w->out, kernel, op, i - 1);
        fputs(";\n", w->out);
    }
    fputs("    return !bad_;\n}\n", w->out);
}

/* NAME(v_, far_): whether the conditions in text hold. */
static void put_conditions(const Writer *w, const json_t *kernel, const char *name,
                           const char *text) {
    ExprOp op[EXPR_MAX_OPS];
    ExprError ignored;
    const char *sign;
    int n = expr_compile_conditions(text, strlen(text), writer_name, context_of(kernel), op,
                                    EXPR_MAX_OPS, &ignored);
    fprintf(w->out, "\n/* ");
    c_comment(w->out, text);
    fprintf(
        w->out,
        " */\nstatic int %s(const int64_t *v_, double *far_) {\n    int bad_ = %d, holds_ = 1;\n"
        "    (void)v_, (void)far_;\n",
        name, n < 0);
    put_locals(w->out, kernel, op, n);
    for (int i = 0, left = 0, ends = 0; i < n; i++) {
        if (expr_step(&op[i], &sign) != STEP_ENDS) continue;
        if (++ends % 2) {
            left = i - 1;
            continue;
        }
        bool near = *sign == '~';
        fputs(near ? "    holds_ &= near_(far_, " : "    holds_ &= compare_(", w->out);
        put_value(w->out, kernel, op, left);
        fputs(", ", w->out);
        if (!near) fprintf(w->out, "\"%s\", ", sign);
        put_value(w->out, kernel, op, i - 1);
        fputs(");\n", w->out);
    }
    fputs("    return holds_ && !bad_;\n}\n", w->out);
}

/* Expressions of a list behind others, with commas between them. */
static void join(char *to, size_t size, const json_t *list) {
    const json_t *text;
    size_t i;
    json_array_foreach((json_t *)(uintptr_t)list, i, text) {
        size_t n = strlen(to);
        snprintf(to + n, size - n, "%s%s", n ? ", " : "", json_string_value(text));
    }
}

/* ---- entries ---- */

typedef struct Place { /* of an entry: the numbers that its names have */
    int code;
    size_t kernel;
    size_t entry; /* 0: the kernel's own */
} Place;

enum { TEXT = 16384, MOST_HIDDEN = 64 };

static bool is_kind(const json_t *hidden, const char *kind) {
    return strcmp(json_text(hidden, "kind"), kind) == 0;
}

static size_t count_kind(const json_t *entry, const char *kind) {
    const json_t *hidden;
    size_t i, n = 0;
    json_array_foreach(json_object_get(entry, "hidden"), i, hidden) {
        n += is_kind(hidden, kind);
    }
    return n;
}

static void name_place(char out[80], const char *what, const Place *at, const char *more) {
    snprintf(out, 80, "%s_%d_%zu_%zu%s_", what, at->code, at->kernel, at->entry, more);
}

static int parameter_number(const json_t *kernel, const char *name) {
    const json_t *param;
    size_t i;
    json_array_foreach(json_object_get(kernel, "params"), i, param) {
        if (strcmp(json_text(param, "name"), name) == 0) return (int)i;
    }
    return 0;
}

static void put_map_row(const Writer *w, const json_t *kernel, const json_t *map,
                        const char *name) {
    const CType *t = c_type(json_text(map, "type"));
    const json_t *box = json_object_get(map, "box");
    long long swizzle = number_of(map, "swizzle");
    fprintf(w->out, "    {%d, %d, %d, %zu, %d, %d, {",
            parameter_number(kernel, json_text(map, "base")), t ? t->map : 0, t ? t->bytes : 1,
            json_array_size(box),
            swizzle == 32    ? 1
            : swizzle == 64  ? 2
            : swizzle == 128 ? 3
                             : 0,
            json_is_true(json_object_get(map, "stored")));
    for (size_t i = 0; i < 5; i++)
        fprintf(w->out, "%s%lld", i ? ", " : "",
                i < json_array_size(box) ? json_integer_value(json_array_get(box, i)) : 1);
    fprintf(w->out, "}, %s},\n", name);
}

static void put_maps(const Writer *w, const json_t *kernel, const json_t *entry, const Place *at) {
    const json_t *hidden;
    size_t i;
    char name[80], more[32], text[TEXT];
    if (!count_kind(entry, "tensor_map")) return;
    json_array_foreach(json_object_get(entry, "hidden"), i, hidden) {
        if (!is_kind(hidden, "tensor_map")) continue;
        snprintf(more, sizeof more, "_%zu", i);
        name_place(name, "map", at, more);
        *text = '\0';
        join(text, sizeof text, json_object_get(hidden, "sizes"));
        join(text, sizeof text, json_object_get(hidden, "strides"));
        size_t n = strlen(text);
        snprintf(text + n, sizeof text - n, ", %s", json_text(hidden, "offset"));
        put_values(w, kernel, name, text);
    }
    name_place(name, "maps", at, "");
    fprintf(w->out, "\nstatic const Map %s[] = {\n", name);
    json_array_foreach(json_object_get(entry, "hidden"), i, hidden) {
        if (!is_kind(hidden, "tensor_map")) continue;
        snprintf(more, sizeof more, "_%zu", i);
        name_place(name, "map", at, more);
        put_map_row(w, kernel, hidden, name);
    }
    fputs("};\n", w->out);
}

static void put_numbers(const Writer *w, const json_t *kernel, const json_t *entry,
                        const Place *at) {
    const json_t *hidden;
    size_t i;
    char name[80], text[TEXT] = "";
    json_array_foreach(json_object_get(entry, "hidden"), i, hidden) {
        size_t n = strlen(text);
        if (is_kind(hidden, "number"))
            snprintf(text + n, sizeof text - n, "%s%s", n ? ", " : "", json_text(hidden, "value"));
    }
    name_place(name, "numbers", at, "");
    if (*text) put_values(w, kernel, name, text);
}

static void put_split(const Writer *w, const json_t *kernel, const json_t *entry, const Place *at) {
    const json_t *hidden;
    size_t i;
    char name[80], split[80];
    long long bytes = 0;
    json_array_foreach(json_object_get(entry, "hidden"), i, hidden) {
        if (is_kind(hidden, "workspace")) bytes = number_of(hidden, "bytes");
        if (!is_kind(hidden, "stream_k")) continue;
        name_place(name, "iterations", at, "");
        name_place(split, "split", at, "");
        put_values(w, kernel, name, json_text(hidden, "iterations"));
        fprintf(w->out, "\nstatic const Split %s = {%lld, %s, {%lld, %lld, %lld, %lld}};\n", split,
                bytes, name, number_of(hidden, "iteration_clocks"),
                number_of(hidden, "least_clocks"), number_of(hidden, "part_clocks"),
                number_of(hidden, "meet_clocks"));
    }
}

/* How many places make an entry worth it, as an expression; "" where it always is. */
static const char *worth_of(const json_t *entry) {
    const char *text = json_text(entry, "worth_places");
    return *text ? text : number_of(entry, "min_places") > 1 ? "2" : "";
}

/* The functions and tables that an entry's row names. */
static void put_entry(const Writer *w, const json_t *kernel, const json_t *entry, const Place *at) {
    char name[80], text[TEXT] = "";
    const json_t *conditions = json_object_get(entry, "conditions");
    const char *when = json_text(entry, "cluster_when");
    put_maps(w, kernel, entry, at);
    put_numbers(w, kernel, entry, at);
    put_split(w, kernel, entry, at);
    join(text, sizeof text, conditions);
    name_place(name, "conditions", at, "");
    if (*text) put_conditions(w, kernel, name, text);
    name_place(name, "cluster", at, "");
    if (*when) put_values(w, kernel, name, when);
    name_place(name, "worth", at, "");
    if (*worth_of(entry)) put_values(w, kernel, name, worth_of(entry));
}

/* A letter for each hidden parameter (launcher_core.h); the bytes of each number. How many these
 * are.
 */
static size_t kinds_of(const json_t *entry, char *wide, char *hidden) {
    const json_t *x;
    size_t i, n = 0, to = 0;
    json_array_foreach(json_object_get(entry, "hidden"), i, x) {
        bool number = is_kind(x, "number");
        if (to == MOST_HIDDEN) break;
        if (number) wide[n++] = strcmp(json_text(x, "type"), "i64") ? '4' : '8';
        if (is_kind(x, "mark") || is_kind(x, "stream_k")) continue; /* of the workspace's split */
        hidden[to++] = number                     ? 'n'
                       : is_kind(x, "tensor_map") ? 'm'
                       : is_kind(x, "grid")       ? 'g'
                                                  : 's';
    }
    wide[n] = hidden[to] = '\0';
    return n;
}

static void put_entry_row(const Writer *w, const json_t *entry, const Place *at, int number) {
    char conditions[80], cluster[80], worth[80], maps[80], numbers[80], split[81];
    char wide[MOST_HIDDEN + 1], hidden[MOST_HIDDEN + 1];
    size_t n = kinds_of(entry, wide, hidden);
    const json_t *clusters = json_object_get(entry, "cluster");
    const char *name = json_text(entry, "entry");
    size_t nmaps = count_kind(entry, "tensor_map");
    name_place(conditions, "conditions", at, "");
    name_place(cluster, "cluster", at, "");
    name_place(worth, "worth", at, "");
    name_place(maps, "maps", at, "");
    name_place(numbers, "numbers", at, "");
    *split = '&';
    name_place(split + 1, "split", at, "");
    fprintf(w->out, "    {%d, ", number);
    c_string(w->out, name, strlen(name));
    fprintf(w->out, ", %lld, %lld, %lld, %lld, %lld, %lld, %d, {", number_of(entry, "num_warps"),
            number_of(entry, "shared"), number_of(entry, "shared_single_cta"),
            number_of(entry, "persistent"), number_of(entry, "max_cluster"),
            number_of(entry, "dependent_launch"),
            json_is_true(json_object_get(entry, "cooperative")));
    for (size_t i = 0; i < 3; i++)
        fprintf(w->out, "%s%lld", i ? ", " : "", json_integer_value(json_array_get(clusters, i)));
    fprintf(w->out, "}, %s, %s, %s, %s, %zu, %zu, %s, \"%s\", \"%s\", %s},\n",
            json_array_size(json_object_get(entry, "conditions")) ? conditions : "NULL",
            *json_text(entry, "cluster_when") ? cluster : "NULL", *worth_of(entry) ? worth : "NULL",
            nmaps ? maps : "NULL", nmaps, n, n ? numbers : "NULL", wide, hidden,
            count_kind(entry, "stream_k") ? split : "NULL");
}

/* The row of a kernel: its own entry, then the others. */
static const json_t *entry_at(const json_t *kernel, size_t i) {
    return i ? json_array_get(json_object_get(kernel, "entries"), i - 1) : kernel;
}
static size_t entries_of(const json_t *kernel) {
    return 1 + json_array_size(json_object_get(kernel, "entries"));
}

/* ---- kernels ---- */

int launcher_first_text(const Writer *w, const json_t *kernel) {
    json_t *other;
    size_t i, n = 0;
    json_array_foreach(w->kernels, i, other) {
        if (strcmp(json_text(other, "name"), json_text(kernel, "name")) == 0) break;
        n += json_array_size(json_object_get(other, "params"));
    }
    return (int)n;
}

static void put_params(const Writer *w, const json_t *kernel, const Place *at) {
    const json_t *param;
    size_t i;
    int text = launcher_first_text(w, kernel);
    if (!json_array_size(json_object_get(kernel, "params"))) return;
    fprintf(w->out, "\nstatic const Param params_%d_%zu_[] = {\n", at->code, at->kernel);
    json_array_foreach(json_object_get(kernel, "params"), i, param) {
        long long divisible = number_of(param, "divisible");
        char kind = json_is_true(json_object_get(param, "none")) ? '0'
                    : *json_text(param, "type") == '*'           ? 'p'
                    : !strchr("iu", *json_text(param, "type"))   ? 'f'
                    : json_object_get(param, "equals")           ? '='
                                                                 : 'i';
        fprintf(w->out, "    {'%c', %d, %lld, %lld}, /* ", kind, text + (int)i,
                divisible ? divisible : 1, number_of(param, "equals"));
        c_comment(w->out, json_text(param, "name"));
        fputs(" */\n", w->out);
    }
    fputs("};\n", w->out);
}

static void put_kernel(const Writer *w, const json_t *kernel, Place at, int *number) {
    char text[TEXT] = "", name[80];
    put_params(w, kernel, &at);
    join(text, sizeof text, json_object_get(kernel, "grid"));
    name_place(name, "grid", &at, "");
    if (*text) put_values(w, kernel, name, text);
    size_t n = entries_of(kernel);
    for (at.entry = 0; at.entry < n; at.entry++)
        put_entry(w, kernel, entry_at(kernel, at.entry), &at);
    fprintf(w->out, "\nstatic const Entry entries_%d_%zu_[] = {\n", at.code, at.kernel);
    for (at.entry = 0; at.entry < n; at.entry++)
        put_entry_row(w, entry_at(kernel, at.entry), &at, (*number)++);
    fputs("};\n", w->out);
}

static void put_kernel_row(const Writer *w, const json_t *kernel, Place at) {
    char grid[80], params[80];
    size_t n = json_array_size(json_object_get(kernel, "params"));
    name_place(grid, "grid", &at, "");
    snprintf(params, sizeof params, "params_%d_%zu_", at.code, at.kernel);
    fprintf(w->out, "    {%s, %zu, %s, entries_%d_%zu_, %zu},\n", n ? params : "NULL", n,
            json_array_size(json_object_get(kernel, "grid")) ? grid : "NULL", at.code, at.kernel,
            entries_of(kernel));
}

/* ---- code ---- */

/* A line of PTX is a literal; so many literals are one that none is longer than C11 promises. */
static void put_ptx(const Writer *w, int code, const char *text, size_t size) {
    size_t piece = 0;
    fprintf(w->out, "\nstatic const char *const ptx_%d_[] = {\n", code);
    for (size_t at = 0, n; at < size; at += n) {
        const char *end = memchr(text + at, '\n', size - at);
        n = end ? (size_t)(end - text) + 1 - at : size - at;
        if (n > LINE) n = LINE;
        if (piece + n > PIECE) {
            fputs(",\n", w->out);
            piece = 0;
        } else if (piece) {
            fputc('\n', w->out);
        }
        piece += n;
        fputs("    ", w->out);
        c_string(w->out, text + at, n);
    }
    fputs(",\n    NULL};\n", w->out);
}

/* Of PTX what stands behind its manifest: that is in the tables. */
static void put_code(const Writer *w, int image, int code) {
    static const char end[] = "// tilec manifest end\n";
    const HeaderImage *m = &w->h->image[image];
    char name[40];
    if (memcmp(m->data, "\177ELF", 4) == 0) {
        snprintf(name, sizeof name, "cubin_%d_", code);
        writer_bytes(w, name, m->data, m->size);
        return;
    }
    const char *text = strstr(m->data, end);
    text = text ? text + sizeof end - 1 : m->data;
    put_ptx(w, code, text, m->size - (size_t)(text - m->data));
}

static void put_code_rows(const Writer *w) {
    const Header *h = w->h;
    fprintf(w->out, "\nstatic const Code codes[CODES] = {\n");
    for (int i = 0, code = 0; i < h->nimages; i++) {
        if (writer_first(h, i) < i) continue;
        bool binary = memcmp(h->image[i].data, "\177ELF", 4) == 0;
        if (binary)
            fprintf(w->out, "    {NULL, cubin_%d_, sizeof cubin_%d_},\n", code, code);
        else
            fprintf(w->out, "    {ptx_%d_, NULL, %zu},\n", code, h->image[i].size);
        code++;
    }
    fputs("};\n", w->out);
}

static void put_image_rows(const Writer *w) {
    const Header *h = w->h;
    for (int i = 0; i < h->nimages; i++) {
        const char *when = h->image[i].when;
        char name[80];
        if (!when) continue;
        for (size_t k = 0; k < json_array_size(w->kernels); k++) {
            snprintf(name, sizeof name, "when_%d_%zu_", i, k);
            put_conditions(w, launcher_kernel(w, i, k), name, when);
        }
        fprintf(w->out, "\nstatic const When when_%d_[KERNELS] = {", i);
        for (size_t k = 0; k < json_array_size(w->kernels); k++)
            fprintf(w->out, "%swhen_%d_%zu_", k ? ", " : "", i, k);
        fputs("};\n", w->out);
    }
    fprintf(w->out, "\nstatic const Image images[IMAGES] = {\n");
    for (int i = 0; i < h->nimages; i++) {
        const char *target = h->image[i].target;
        int sm = 0;
        char letter = ' ', when[32];
        sscanf(target, "sm_%d%c", &sm, &letter);
        snprintf(when, sizeof when, "when_%d_", i);
        int code = code_of(w, i);
        fprintf(w->out, "    {%d, %d, %d, %d, kernels_%d_, %s}, /* %s */\n", h->image[i].variant,
                sm, letter == 'a', code, code, h->image[i].when ? when : "NULL", target);
    }
    fputs("};\n", w->out);
}

/* ---- all of it ---- */

LauncherNeeds launcher_needs(const Writer *w) {
    LauncherNeeds n = {.params = 1};
    for (int i = 0; i < w->h->nimages; i++) {
        bool first = writer_first(w->h, i) == i;
        n.codes += first;
        for (size_t k = 0; k < json_array_size(w->kernels); k++) {
            const json_t *kernel = launcher_kernel(w, i, k), *param;
            const json_t *params = json_object_get(kernel, "params");
            size_t p;
            if ((int)json_array_size(params) > n.params) n.params = (int)json_array_size(params);
            json_array_foreach((json_t *)(uintptr_t)params, p, param) {
                const CType *t = c_type(json_text(param, "type"));
                n.floats |= t && strcmp(t->maker, "tile_float") == 0 && t->bytes < 4;
            }
            if (first) n.entries += (int)entries_of(kernel);
            for (size_t e = 0; e < entries_of(kernel); e++) {
                n.maps |= count_kind(entry_at(kernel, e), "tensor_map") > 0;
                n.split |= count_kind(entry_at(kernel, e), "stream_k") > 0;
            }
        }
    }
    return n;
}

void launcher_tables(Writer *w) {
    int number = 0;
    for (int i = 0, code = 0; i < w->h->nimages; i++) {
        if (writer_first(w->h, i) < i) continue;
        put_code(w, i, code);
        for (size_t k = 0; k < json_array_size(w->kernels); k++)
            put_kernel(w, launcher_kernel(w, i, k), (Place){code, k, 0}, &number);
        fprintf(w->out, "\nstatic const Kernel kernels_%d_[KERNELS] = {\n", code);
        for (size_t k = 0; k < json_array_size(w->kernels); k++)
            put_kernel_row(w, launcher_kernel(w, i, k), (Place){code, k, 0});
        fputs("};\n", w->out);
        code++;
    }
    put_code_rows(w);
    put_image_rows(w);
}
