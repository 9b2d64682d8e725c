/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tilec_kernels.c: modules with their manifests -> what headers and launchers say of them in C:
 * their kernels, names that C and C++ take, types.
 *
 * Which variant a launch gets is decided when it is launched, so all variants of a kernel
 * must take the same arguments; here that is checked. */
#include "tools/tilec_kernels.h"

#include "base/text.h"
#include "base/file.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES_A_LINE = 24 };

/* ---- manifests ---- */

/* The JSON between the comment lines; the last such block, for machine code comes first. */
static json_t *read_manifest(const char *data, size_t size) {
    static const char begin[] = "// tilec manifest begin\n", stop[] = "// tilec manifest end\n";
    const size_t nbegin = sizeof begin - 1, nstop = sizeof stop - 1;
    size_t at = size;
    while (at >= nbegin && memcmp(data + at - nbegin, begin, nbegin)) at--;
    if (at < nbegin) return NULL;
    char *json = malloc(size - at + 1);
    size_t n = 0;
    for (bool ended = false; json && at < size && !ended;) {
        const char *line = data + at, *end = memchr(line, '\n', size - at);
        size_t len = end ? (size_t)(end - line) + 1 : size - at;
        ended = len == nstop && memcmp(line, stop, nstop) == 0;
        if (!ended && len > 3) {
            memcpy(json + n, line + 3, len - 3);
            n += len - 3;
        }
        at += len;
    }
    json_t *root = json ? json_loadb(json, n, 0, NULL) : NULL;
    free(json);
    return root;
}

const char *json_text(const json_t *o, const char *key) {
    const char *s = json_string_value(json_object_get(o, key));
    return s ? s : "";
}

static bool is_none(const json_t *param) {
    return json_is_true(json_object_get(param, "none"));
}

int header_is_general(const char *data, size_t size) {
    json_t *root = read_manifest(data, size), *kernel, *param;
    bool general = root != NULL;
    size_t i, k;
    json_array_foreach(json_object_get(root, "kernels"), i, kernel) {
        json_array_foreach(json_object_get(kernel, "params"), k, param) {
            if (json_object_get(param, "divisible") || json_object_get(param, "equals"))
                general = false;
        }
    }
    json_decref(root);
    return general;
}

/* The kernel of this name in an image; NULL. */
const json_t *writer_kernel(const Writer *w, int image, const char *name) {
    json_t *kernel;
    size_t i;
    json_array_foreach(json_object_get(w->manifest[image], "kernels"), i, kernel) {
        if (strcmp(json_text(kernel, "name"), name) == 0) return kernel;
    }
    return NULL;
}

/* The type that any image has for a parameter that another was compiled for None in. */
const char *writer_type(const Writer *w, const char *kernel, size_t param) {
    for (int i = 0; i < w->h->nimages; i++) {
        const json_t *k = writer_kernel(w, i, kernel);
        const json_t *p = json_array_get(json_object_get(k, "params"), param);
        if (p && !is_none(p)) return json_text(p, "type");
    }
    return "*i8";
}

/* All images have the kernel, with the same types. */
static bool check_kernel(Writer *w, const json_t *kernel) {
    const char *name = json_text(kernel, "name");
    size_t n = json_array_size(json_object_get(kernel, "params"));
    for (int i = 0; i < w->h->nimages; i++) {
        const json_t *other = writer_kernel(w, i, name);
        if (!other || json_array_size(json_object_get(other, "params")) != n) {
            snprintf(w->error, w->error_size, "variant %d has another kernel '%s', or none",
                     w->h->image[i].variant, name);
            return false;
        }
        for (size_t p = 0; p < n; p++) {
            const json_t *param = json_array_get(json_object_get(other, "params"), p);
            const char *want = writer_type(w, name, p), *has = json_text(param, "type");
            if (is_none(param) || strcmp(want, has) == 0) continue;
            snprintf(w->error, w->error_size,
                     "variant %d of '%s' takes %s as parameter '%s', and another %s: variants "
                     "differ in promises; kernels for other types go into a header of their own",
                     w->h->image[i].variant, name, has, json_text(param, "name"), want);
            return false;
        }
    }
    return true;
}

static ExprName name_of_size(const json_t *kernel, const char *name, size_t len, int64_t *value) {
    static const char suffix[] = ".itemsize";
    const size_t n = sizeof suffix - 1;
    json_t *param;
    size_t i;
    if (len <= n || memcmp(name + len - n, suffix, n)) return EXPR_UNKNOWN;
    json_array_foreach(json_object_get(kernel, "params"), i, param) {
        const char *known = json_text(param, "name"), *type = json_text(param, "type");
        if (*type != '*' || strlen(known) != len - n || memcmp(known, name, len - n)) continue;
        const CType *of = c_type(type + 1);
        *value = is_none(param) ? 0 : of ? of->bytes : type[1] == '*' ? 8 : 1;
        return EXPR_KNOWN;
    }
    return EXPR_UNKNOWN;
}

ExprName writer_name(void *ctx, const char *name, size_t len, int64_t *value) {
    const json_t *kernel = ctx;
    json_t *param;
    size_t i;
    json_array_foreach(json_object_get(kernel, "params"), i, param) {
        const char *known = json_text(param, "name"), *type = json_text(param, "type");
        if (strlen(known) != len || memcmp(known, name, len)) continue;
        *value = (int64_t)i;
        return strchr("iu", *type) ? EXPR_SLOT : EXPR_NOT_INTEGER;
    }
    const json_t *constant = json_object_getn(json_object_get(kernel, "constexprs"), name, len);
    if (!constant) return name_of_size(kernel, name, len, value);
    *value = json_is_true(constant) ? 1 : json_integer_value(constant);
    return json_is_integer(constant) || json_is_boolean(constant) ? EXPR_KNOWN : EXPR_NOT_INTEGER;
}

typedef struct Condition {
    const json_t *kernel;
    bool strange; /* it has a name that the kernel has not, or no number of this name */
} Condition;

/* Any number will do: only the names are checked. */
static ExprName name_of_kernel(void *ctx, const char *name, size_t len, int64_t *value) {
    Condition *c = ctx;
    ExprName known = writer_name((void *)(uintptr_t)c->kernel, name, len, value);
    if (known != EXPR_SLOT && known != EXPR_KNOWN) c->strange = true;
    *value = 1;
    return EXPR_KNOWN;
}

/* A condition that no kernel can answer would leave its variant out of every launch. */
static bool check_conditions(Writer *w) {
    for (int i = 0; i < w->h->nimages; i++) {
        const HeaderImage *m = &w->h->image[i];
        bool known = !m->when;
        json_t *kernel;
        size_t k;
        ExprError ignored;
        ExprVerdict any;
        json_array_foreach(json_object_get(w->manifest[i], "kernels"), k, kernel) {
            Condition c = {.kernel = kernel};
            if (m->when) expr_judge(m->when, strlen(m->when), name_of_kernel, &c, &any, &ignored);
            known = known || !c.strange;
        }
        if (known) continue;
        snprintf(w->error, w->error_size,
                 "variant %d: no kernel has all of the integers that its condition names: %s",
                 m->variant, m->when);
        return false;
    }
    return true;
}

/* ---- names ---- */

void c_identifier(const char *text, size_t n, char out[C_NAME]) {
    size_t at = 0;
    if (n && isdigit((unsigned char)*text)) out[at++] = '_';
    for (size_t i = 0; i < n && at < C_NAME - 8; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c < 0x80 && (isalnum(c) || c == '_'))
            out[at++] = (char)c;
        else
            at += (size_t)snprintf(out + at, C_NAME - at, c < 0x80 ? "_" : "_x%02X", c);
    }
    out[at] = '\0';
}

/* What tile.h and the headers that it or a launcher includes are full of: the launch function needs
 * tile_pointer and int32_t for itself, and INT32_MAX is a macro. */
static bool in_headers(const char *s) {
    static const char *const begin[] = {"tile_", "TILE_", "RTLD_", "EXIT_", "FORMAT_"};
    for (size_t i = 0; i < sizeof begin / sizeof *begin; i++)
        if (strncmp(s, begin[i], strlen(begin[i])) == 0) return true;
    return text_ends_in(s, "_t") || text_ends_in(s, "_MAX") || text_ends_in(s, "_MIN");
}

/* A parameter's name in C and C++: what is a keyword of either or a name of headers, or ends in an
 * underscore as the header's own names do, or begins like those that are kept for compilers (_Bool,
 * __int128), gets one more. */
void c_parameter(const char *name, char out[C_NAME]) {
    static const char *const taken[] = {
        "alignas",       "alignof",     "and",          "asm",
        "auto",          "bool",        "break",        "case",
        "catch",         "char",        "class",        "compl",
        "concept",       "const",       "constexpr",    "continue",
        "default",       "delete",      "do",           "double",
        "else",          "enum",        "explicit",     "export",
        "extern",        "false",       "float",        "for",
        "friend",        "goto",        "if",           "inline",
        "int",           "long",        "mutable",      "namespace",
        "new",           "noexcept",    "not",          "nullptr",
        "operator",      "or",          "private",      "protected",
        "public",        "register",    "requires",     "restrict",
        "return",        "short",       "signed",       "sizeof",
        "static",        "struct",      "switch",       "template",
        "this",          "throw",       "true",         "try",
        "typedef",       "typeid",      "typename",     "typeof",
        "union",         "unsigned",    "using",        "virtual",
        "void",          "volatile",    "while",        "xor",
        "linux",         "unix",        "NULL",         "INFINITY",
        "NAN",           "bitand",      "bitor",        "co_await",
        "co_return",     "co_yield",    "consteval",    "constinit",
        "const_cast",    "decltype",    "dynamic_cast", "reinterpret_cast",
        "static_assert", "static_cast", "thread_local", "wchar_t",
        "char8_t",       "char16_t",    "char32_t",     "and_eq",
        "not_eq",        "or_eq",       "xor_eq",       "I",
        "errno",         "assert",      "typeof_unqual"};
    c_identifier(name, strlen(name), out);
    size_t n = strlen(out);
    bool kept = out[0] == '_' && (out[1] == '_' || isupper((unsigned char)out[1]));
    bool add = kept || text_ends_in(out, "_") || in_headers(out);
    for (size_t i = 0; i < sizeof taken / sizeof *taken && !add; i++)
        add = strcmp(out, taken[i]) == 0;
    if (add && n + 1 < C_NAME) strcpy(out + n, "_");
}

/* `x.0` and `x_0` are one name in C. */
static bool check_parameter_names(Writer *w, const json_t *kernel) {
    const json_t *params = json_object_get(kernel, "params");
    char name[C_NAME], other[C_NAME];
    for (size_t i = 0; i < json_array_size(params); i++) {
        c_parameter(json_text(json_array_get(params, i), "name"), name);
        for (size_t k = 0; k < i; k++) {
            c_parameter(json_text(json_array_get(params, k), "name"), other);
            if (strcmp(name, other) != 0) continue;
            snprintf(w->error, w->error_size,
                     "the parameters '%s' and '%s' of '%s' are both '%s' in C: rename one",
                     json_text(json_array_get(params, k), "name"),
                     json_text(json_array_get(params, i), "name"), json_text(kernel, "name"), name);
            return false;
        }
    }
    return true;
}

/* As a string of C: bytes beyond ASCII in octal, which ends after three digits. */
void c_string(FILE *out, const char *s, size_t n) {
    fputc('"', out);
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c == '"' || c == '\\')
            fprintf(out, "\\%c", c);
        else if (c == '\n' || c == '\t')
            fputs(c == '\n' ? "\\n" : "\\t", out);
        else if (c == '?' || c < 0x20 || c >= 0x7F) /* no trigraphs */
            fprintf(out, "\\%03o", c);
        else
            fputc(c, out);
    }
    fputc('"', out);
}

/* Inside a comment: nothing may end it. */
void c_comment(FILE *out, const char *s) {
    for (; *s; s++)
        if (*s == '*' && s[1] == '/')
            fputs("* ", out);
        else if (*s == '/' && s[1] == '*')
            fputs("/ ", out);
        else
            fputc((unsigned char)*s < 0x20 ? ' ' : *s, out);
}

/* ---- types ---- */

static const CType c_types[] = {
    {"i1", "int", "tile_int", "TILE_I1", "0 != ", 1, 0, "void"},
    {"i8", "int8_t", "tile_int", "TILE_I8", "", 1, 0, "int8_t"},
    {"i16", "int16_t", "tile_int", "TILE_I16", "", 2, 1, "int16_t"},
    {"i32", "int32_t", "tile_int", "TILE_I32", "", 4, 3, "int32_t"},
    {"i64", "int64_t", "tile_int", "TILE_I64", "", 8, 5, "int64_t"},
    {"u8", "uint8_t", "tile_int", "TILE_U8", "", 1, 0, "uint8_t"},
    {"u16", "uint16_t", "tile_int", "TILE_U16", "", 2, 1, "uint16_t"},
    {"u32", "uint32_t", "tile_int", "TILE_U32", "", 4, 2, "uint32_t"},
    {"u64", "uint64_t", "tile_int", "TILE_U64", "(int64_t)", 8, 4, "uint64_t"},
    {"fp8e4nv", "float", "tile_float", "TILE_FP8E4NV", "(double)", 1, 0, "void"},
    {"fp8e5", "float", "tile_float", "TILE_FP8E5", "(double)", 1, 0, "void"},
    {"fp16", "float", "tile_float", "TILE_FP16", "(double)", 2, 6, "void"},
    {"bf16", "float", "tile_float", "TILE_BF16", "(double)", 2, 9, "void"},
    {"fp32", "float", "tile_float", "TILE_FP32", "(double)", 4, 7, "float"},
    {"fp64", "double", "tile_float", "TILE_FP64", "", 8, 8, "double"},
};

/* NULL: a pointer. */
const CType *c_type(const char *tile) {
    for (size_t i = 0; i < sizeof c_types / sizeof *c_types; i++)
        if (strcmp(c_types[i].tile, tile) == 0) return &c_types[i];
    return NULL;
}

/* The first image that has the same text: theirs is one array. */
int writer_first(const Header *h, int image) {
    int i = 0;
    while (h->image[i].data != h->image[image].data) i++;
    return i;
}

void writer_variants(const Writer *w) {
    const Header *h = w->h;
    if (h->nvariants > 1) {
        fprintf(w->out, " A launch takes the first variant whose\n"
                        " * promises and conditions its arguments keep:\n");
        for (int i = 0; i < h->nvariants; i++) {
            const char *label = h->label[i] + strspn(h->label[i], " \t\n");
            fprintf(w->out, " *   %d: ", i);
            c_comment(w->out, *label ? label : "as the source has it");
            if (i + 1 < h->nvariants) fputc('\n', w->out);
        }
    }
}

void writer_signature(const Writer *w, const json_t *kernel) {
    const char *name = json_text(kernel, "name");
    const json_t *params = json_object_get(kernel, "params"),
                 *grid = json_object_get(kernel, "grid");
    fprintf(w->out, "\n/* ");
    c_comment(w->out, name);
    fputc('(', w->out);
    for (size_t i = 0; i < json_array_size(params); i++) {
        fprintf(w->out, "%s", i ? ", " : "");
        c_comment(w->out, json_text(json_array_get(params, i), "name"));
        fprintf(w->out, ": ");
        c_comment(w->out, writer_type(w, name, i));
    }
    fprintf(w->out, ")");
    for (size_t i = 0; i < json_array_size(grid); i++) {
        fprintf(w->out, i ? ", " : "; its grid: ");
        c_comment(w->out, json_string_value(json_array_get(grid, i)));
    }
    fprintf(w->out, " */\n");
}

void writer_bytes(const Writer *w, const char *name, const char *data, size_t size) {
    fprintf(w->out, "\nstatic const unsigned char %s[%zu] = {", name, size);
    for (size_t k = 0; k < size; k++)
        fprintf(w->out, "%s%u,", k % BYTES_A_LINE ? "" : "\n", (unsigned char)data[k]);
    fprintf(w->out, "\n};\n");
}

/* ---- the whole ---- */

static bool check(Writer *w) {
    const Header *h = w->h;
    json_t *kernel;
    size_t k;
    for (int i = 0; i < h->nimages; i++) {
        w->manifest[i] = read_manifest(h->image[i].data, h->image[i].size);
        if (w->manifest[i]) continue;
        snprintf(w->error, w->error_size, "out of memory, or a module without a manifest");
        return false;
    }
    w->kernels = json_object_get(w->manifest[h->nimages - 1], "kernels");
    json_array_foreach(w->kernels, k, kernel) {
        if (!check_kernel(w, kernel) || !check_parameter_names(w, kernel)) return false;
    }
    return check_conditions(w);
}

char *writer_text(const Header *h, void (*write)(Writer *w, void *ctx), void *ctx, size_t *len,
                  char *error, size_t error_size) {
    char *text = NULL;
    Writer w = {.h = h, .error = error, .error_size = error_size};
    const char *base = file_base_name(h->source), *dot = strrchr(base, '.');
    c_identifier(base, dot && dot > base ? (size_t)(dot - base) : strlen(base), w.prefix);
    for (size_t i = 0; i <= strlen(w.prefix); i++)
        w.upper[i] = (char)toupper((unsigned char)w.prefix[i]);
    snprintf(error, error_size, "out of memory");
    w.manifest = calloc((size_t)h->nimages + 1, sizeof *w.manifest);
    w.out = w.manifest ? open_memstream(&text, len) : NULL;
    bool ok = w.out && check(&w);
    if (ok) write(&w, ctx);
    if (w.out && (ferror(w.out) | fclose(w.out))) ok = false;
    for (int i = 0; w.manifest && i < h->nimages; i++) json_decref(w.manifest[i]);
    free(w.manifest);
    if (ok) return text;
    free(text);
    return NULL;
}
