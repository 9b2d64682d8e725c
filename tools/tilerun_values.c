/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tilerun_values.c: parses NAME=VALUE arguments and turns them into kernel arguments (see
 * tilerun_values.h for the forms; tilerun_fill.c makes the contents of buffers). */
#include "tools/tilerun_values.h"
#include "tools/tilerun_fill.h"

#include "base/expr.h"
#include "ir/promise.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_LIMIT_GB = 64 };

__attribute__((format(printf, 2, 3))) static bool refuse(RunError *e, const char *fmt, ...) {
    e->io = false;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(e->text, sizeof e->text, fmt, ap);
    va_end(ap);
    return false;
}

/* ---- parsing ---- */

static char *copy(const char *s, size_t n) {
    char *t = malloc(n + 1);
    if (t) {
        memcpy(t, s, n);
        t[n] = '\0';
    }
    return t;
}

/* All of s[0..n) is a number, True or False. */
static bool parse_number(const char *s, size_t n, Number *out) {
    char text[64], *end;
    while (n && s[0] == ' ') s++, n--;
    while (n && s[n - 1] == ' ') n--;
    if (n == 0 || n >= sizeof text) return false;
    memcpy(text, s, n);
    text[n] = '\0';
    *out = (Number){0};
    if (strcmp(text, "True") == 0 || strcmp(text, "False") == 0) {
        out->is_bool = true;
        out->i = text[0] == 'T';
        out->f = (double)out->i;
        return true;
    }
    errno = 0;
    int base = text[0] == '0' && (text[1] | 32) == 'x' ? 16 : 10;
    out->i = strtoll(text, &end, base);
    out->f = (double)out->i;
    if (!*end && errno == 0) return true;
    if (!*end && errno == ERANGE && text[0] != '-') {
        errno = 0;
        unsigned long long u = strtoull(text, &end, base);
        if (errno == 0) {
            out->is_u64 = true;
            out->i = (int64_t)u;
            out->f = (double)u;
            return true;
        }
    }
    if (strspn(text, "+-0123456789.eEinfaINFAxX_") != n) return false;
    if (strspn(text, "+-0123456789") == n) return false; /* an integer, and too large */
    out->is_float = true;
    out->f = strtod(text, &end);
    return !*end;
}

static const struct {
    const char *name;
    int least, most; /* numbers in parentheses */
} fills[FILLS] = {
    [FILL_ZEROS] = {"zeros", 0, 0},     [FILL_EMPTY] = {"empty", 0, 0},
    [FILL_RAND] = {"rand", 0, 2},       [FILL_RANDN] = {"randn", 0, 1},
    [FILL_RANDINT] = {"randint", 2, 2}, [FILL_ARANGE] = {"arange", 0, 1},
    [FILL_FULL] = {"full", 1, 1},
};

/* The numbers between the parentheses at text[0..n). */
static bool parse_fill_args(RunValue *v, const char *text, size_t n, RunError *e) {
    while (n) {
        size_t len = 0;
        while (len < n && text[len] != ',') len++;
        if (v->nargs == 2 || !parse_number(text, len, &v->arg[v->nargs++]))
            return refuse(e, "'%.*s' is not a number", (int)len, text);
        text += len;
        n -= len;
        if (n) text++, n--;
    }
    return true;
}

/* word[(numbers)]:type[shape] */
static bool parse_fill(RunValue *v, const char *text, RunError *e) {
    size_t word = strcspn(text, "(:");
    int which = 0;
    while (which < FILLS &&
           (strlen(fills[which].name) != word || memcmp(fills[which].name, text, word) != 0))
        which++;
    if (which == FILLS && !text[strspn(text, "+-0123456789")] && *text)
        return refuse(e, "%s is beyond 64 bits", text);
    if (which == FILLS)
        return refuse(e,
                      "'%s' is no value: a number, None, @file.npy, or a buffer such as "
                      "zeros:fp32[1024] (zeros, empty, rand, randn, randint, arange, full)",
                      text);
    v->kind = VALUE_FILL;
    v->fill = (Fill)which;
    const char *p = text + word;
    if (*p == '(') {
        const char *close = strchr(p, ')');
        if (!close) return refuse(e, "')' is missing");
        if (!parse_fill_args(v, p + 1, (size_t)(close - p - 1), e)) return false;
        p = close + 1;
    }
    if (v->nargs < fills[which].least || v->nargs > fills[which].most ||
        (which == FILL_RAND && v->nargs == 1))
        return refuse(e, "%s does not take %d number%s", fills[which].name, v->nargs,
                      v->nargs == 1 ? "" : "s");
    if (*p++ != ':')
        return refuse(e, "a type and a shape have to follow, as in %s:fp32[1024]",
                      fills[which].name);
    size_t type = strcspn(p, "[");
    if (!elem_from_name(p, type, &v->elem))
        return refuse(e, "'%.*s' is not an element type", (int)type, p);
    p += type;
    size_t rest = strlen(p);
    if (*p != '[' || p[rest - 1] != ']')
        return refuse(e, "a shape in brackets has to follow the type, as in [1024]");
    v->typed = true;
    v->shape = copy(p + 1, rest - 2);
    return v->shape || refuse(e, "out of memory");
}

/* @path or @path:type; a path may have a colon of its own. */
static bool parse_file(RunValue *v, const char *text, RunError *e) {
    v->kind = VALUE_FILE;
    size_t n = strlen(text);
    const char *colon = strrchr(text, ':');
    if (colon && elem_from_name(colon + 1, strlen(colon + 1), &v->elem)) {
        v->typed = true;
        n = (size_t)(colon - text);
    }
    if (n == 0) return refuse(e, "a file name has to follow the @");
    v->file = copy(text, n);
    return v->file || refuse(e, "out of memory");
}

static bool parse_scalar(RunValue *v, const char *text) {
    const char *colon = strchr(text, ':');
    size_t n = colon ? (size_t)(colon - text) : strlen(text);
    if (!parse_number(text, n, &v->number)) return false;
    v->kind = VALUE_NUMBER;
    const Number *x = &v->number;
    if (colon)
        v->typed = elem_from_name(colon + 1, strlen(colon + 1), &v->elem);
    else if (x->is_float)
        v->elem = EL_F32;
    else if (x->is_bool)
        v->elem = EL_I1;
    else if (x->is_u64)
        v->elem = EL_U64;
    else
        v->elem = x->i >= INT32_MIN && x->i <= INT32_MAX ? EL_I32 : EL_I64;
    return !colon || v->typed;
}

/* "tensordesc<[64, 64]>:" before a buffer; *text is moved behind it. */
static bool parse_block(RunValue *v, const char **text, RunError *e) {
    static const char word[] = "tensordesc<";
    if (strncmp(*text, word, sizeof word - 1) != 0) return true;
    const char *from = *text + sizeof word - 1, *end = strchr(from, '>');
    if (!end || end[1] != ':' || *from != '[')
        return refuse(e, "a descriptor is written tensordesc<[64, 64]>:zeros:fp16[256, 128]");
    v->block = copy(from, (size_t)(end - from));
    *text = end + 2;
    return v->block || refuse(e, "out of memory");
}

static bool parse_one(RunValue *v, const char *value, RunError *e) {
    if (strcmp(value, "None") == 0) {
        v->kind = VALUE_NONE;
        return true;
    }
    if (!parse_block(v, &value, e)) return false;
    bool ok;
    if (value[0] == '@')
        ok = parse_file(v, value + 1, e);
    else
        ok = parse_scalar(v, value) || parse_fill(v, value, e);
    if (ok && v->block && !value_is_buffer(v)) return refuse(e, "a descriptor is of a buffer");
    return ok;
}

int value_count(const char *text) {
    int n = 2;
    for (; *text; text++) n += *text == ',';
    return n;
}

typedef struct Tuple {
    RunValue *v;
    int most, n;
    int depth;
} Tuple;

/* Where the part ends: at a comma, or behind the end. */
static size_t part_length(const char *s, size_t n) {
    int depth = 0;
    size_t i = 0;
    for (; i < n && (depth || s[i] != ','); i++) {
        if (strchr("([<", s[i])) depth++;
        if (strchr(")]>", s[i])) depth--;
    }
    return i;
}

/* A value, or the parts of a tuple; text is kept by who calls. */
static bool parse_parts(Tuple *t, const char *name, const char *s, size_t n, RunError *e) {
    enum { MOST_DEPTH = 16 };
    while (n && *s == ' ') s++, n--;
    while (n && s[n - 1] == ' ') n--;
    if (n < 2 || *s != '(' || s[n - 1] != ')') {
        if (t->n == t->most) return refuse(e, "too many parts");
        RunValue *v = &t->v[t->n++];
        size_t head = strlen(name);
        char *text = malloc(head + n + 2);
        *v = (RunValue){.name = copy(name, head), .text = text};
        if (!text || !v->name) return refuse(e, "out of memory");
        snprintf(text, head + n + 2, "%s=%.*s", name, (int)n, s);
        return parse_one(v, text + head + 1, e);
    }
    if (++t->depth > MOST_DEPTH)
        return refuse(e, "tuples inside each other: more than %d", MOST_DEPTH);
    s++, n -= 2;
    if (!n) return refuse(e, "a tuple without parts is no value: annotate the parameter, \"()\"");
    for (int i = 0; n; i++) {
        char part[300];
        size_t len = part_length(s, n);
        if (!i && len == n) return refuse(e, "a tuple of one part is written (5,)");
        int put = snprintf(part, sizeof part, "%s.%d", name, i);
        if (put < 0 || (size_t)put >= sizeof part) return refuse(e, "the name is too long");
        if (!parse_parts(t, part, s, len, e)) return false;
        s += len, n -= len;
        if (n) s++, n--;
        while (n && *s == ' ') s++, n--; /* nothing has to stand behind the last comma */
    }
    t->depth--;
    return true;
}

/* pointers(BUFFER, …): the buffers, and behind them one of their addresses. */
static bool parse_pointers(Tuple *t, const char *name, const char *s, size_t n, RunError *e) {
    int first = t->n;
    char part[300], parts[24];
    for (int i = 0; n; i++) {
        size_t len = part_length(s, n);
        int put = snprintf(part, sizeof part, "%s.%d", name, i);
        if (put < 0 || (size_t)put >= sizeof part) return refuse(e, "the name is too long");
        if (!parse_parts(t, part, s, len, e)) return false;
        if (t->n != first + i + 1 || !value_is_buffer(&t->v[t->n - 1]) || t->v[t->n - 1].block)
            return refuse(e, "pointers are of buffers, as in pointers(zeros:fp16[64], ones.npy)");
        t->v[t->n - 1].pointed = true;
        s += len, n -= len;
        if (n) s++, n--;
        while (n && *s == ' ') s++, n--;
    }
    if (t->n == t->most) return refuse(e, "too many parts");
    RunValue *v = &t->v[t->n++];
    *v = (RunValue){.name = copy(name, strlen(name)), .text = copy(name, strlen(name))};
    snprintf(parts, sizeof parts, "%d", t->n - 1 - first);
    v->kind = VALUE_FILL;
    v->fill = FILL_POINTERS;
    v->parts = t->n - 1 - first;
    v->elem = EL_I64;
    v->typed = true;
    v->shape = copy(parts, strlen(parts));
    if (!v->parts) return refuse(e, "pointers need a buffer to lead to");
    return (v->name && v->text && v->shape) || refuse(e, "out of memory");
}

bool value_point(RunValue *v, RunError *e) {
    free(v->data);
    v->data = calloc((size_t)v->parts, sizeof(int64_t));
    if (!v->data) return refuse(e, "%s: out of memory", v->name);
    for (int i = 0; i < v->parts; i++) {
        int64_t address = (int64_t)(v - v->parts + i)->ptr;
        memcpy(v->data + (size_t)i * sizeof address, &address, sizeof address);
    }
    return true;
}

bool value_parse(const char *text, RunValue *v, int most, int *n, RunError *e) {
    *e = (RunError){0};
    *n = 0;
    const char *eq = strchr(text, '=');
    size_t len = eq ? (size_t)(eq - text) : 0;
    bool name = len > 0 && (text[0] < '0' || text[0] > '9') && text[0] != '.';
    for (size_t i = 0; i < len; i++) {
        char c = text[i];
        name = name && ((c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') ||
                        c == '_' || c == '.' || (c & 0x80));
    }
    if (!name) return refuse(e, "'%s': arguments are given as NAME=VALUE", text);
    char *copied = copy(text, len);
    if (!copied) return refuse(e, "out of memory");
    RunError why = {0};
    Tuple t = {.v = v, .most = most};
    static const char pointers[] = "pointers(";
    const char *value = eq + 1;
    size_t size = strlen(value), head = sizeof pointers - 1;
    bool of_pointers = strncmp(value, pointers, head) == 0 && value[size - 1] == ')';
    bool ok = of_pointers ? parse_pointers(&t, copied, value + head, size - head - 1, &why)
                          : parse_parts(&t, copied, value, size, &why);
    *n = t.n;
    if (!ok) refuse(e, "%s: %s", t.n ? v[t.n - 1].name : copied, why.text);
    free(copied);
    return ok;
}

/* ---- making buffers ---- */

typedef struct Scope {
    const RunValue *value;
    int nvalues;
    const char *const *defines;
    int ndefines;
} Scope;

static ExprName look_up(void *ctx, const char *name, size_t len, int64_t *value) {
    const Scope *scope = ctx;
    for (int i = 0; i < scope->nvalues; i++) {
        const RunValue *v = &scope->value[i];
        if (strlen(v->name) != len || memcmp(v->name, name, len) != 0) continue;
        *value = v->number.i;
        bool whole = v->kind == VALUE_NUMBER && !v->number.is_float && !v->number.is_u64;
        return whole ? EXPR_KNOWN : EXPR_NOT_INTEGER;
    }
    for (int i = 0; i < scope->ndefines; i++) {
        const char *d = scope->defines[i];
        if (strncmp(d, name, len) != 0 || d[len] != '=') continue;
        Number x;
        const char *text = d + len + 1;
        if (!parse_number(text, strlen(text), &x) || x.is_float || x.is_u64)
            return EXPR_NOT_INTEGER;
        *value = x.i;
        return EXPR_KNOWN;
    }
    return EXPR_UNKNOWN;
}

static bool make_shape(RunValue *v, Scope *scope, RunError *e) {
    int64_t dim[NPY_MAX_RANK];
    ExprError wrong;
    int rank = 0;
    NpyArray *a = &v->array;
    if (v->shape[strspn(v->shape, " ")])
        rank =
            expr_eval_list(v->shape, strlen(v->shape), look_up, scope, dim, NPY_MAX_RANK, &wrong);
    if (rank < 0) return refuse(e, "%s: shape [%s]: %s", v->name, v->shape, wrong.text);
    a->rank = rank;
    a->elem = v->elem;
    for (int i = 0; i < rank; i++) {
        if (dim[i] < 0) return refuse(e, "%s: shape [%s]: a size is negative", v->name, v->shape);
        a->dim[i] = (size_t)dim[i];
    }
    if (!npy_bytes(a->dim, rank, (size_t)elem_info[v->elem].bytes, &a->bytes) ||
        a->bytes > SIZE_MAX / 4)
        return refuse(e, "%s: shape [%s] is too large", v->name, v->shape);
    return true;
}

static bool make_from_file(RunValue *v, RunError *e) {
    char *text;
    size_t len;
    FileError wrong;
    if (!file_read_as(v->file, NPY_BEGINS, (size_t)FILE_LIMIT_GB << 30, &text, &len, &wrong)) {
        refuse(e, "%s: %s", v->name, wrong.text);
        e->io = true;
        return false;
    }
    NpyArray a;
    if (!npy_parse(text, len, &a, &wrong)) {
        refuse(e, "%s: %s: %s", v->name, v->file, wrong.text);
        e->io = true;
        free(text);
        return false;
    }
    if (v->typed && elem_info[v->elem].bytes != elem_info[a.elem].bytes) {
        refuse(e, "%s: %s holds %s, which is not of the size of %s", v->name, v->file,
               elem_signature_name(a.elem), elem_signature_name(v->elem));
        free(text);
        return false;
    }
    if (v->typed) a.elem = v->elem;
    v->elem = a.elem;
    v->array = a;
    memmove(text, a.data, a.bytes); /* the header is done with */
    v->data = text;
    v->array.data = text;
    return true;
}

/* So that a buffer's numbers depend on its name and not on its place in the line. */
static uint64_t hash_name(const char *name) {
    uint64_t h = 1469598103934665603u;
    for (; *name; name++) h = (h ^ (unsigned char)*name) * 1099511628211u;
    return h;
}

bool value_make(RunValue *value, int nvalues, int which, const char *const *defines, int ndefines,
                uint64_t seed, RunError *e) {
    RunValue *v = &value[which];
    *e = (RunError){0};
    if (v->kind == VALUE_FILE) return make_from_file(v, e);
    Scope scope = {value, nvalues, defines, ndefines};
    if (!make_shape(v, &scope, e)) return false;
    if (v->fill == FILL_EMPTY || v->fill == FILL_ZEROS || v->fill == FILL_POINTERS ||
        v->array.bytes == 0)
        return true;
    v->data = malloc(v->array.bytes);
    if (!v->data) return refuse(e, "%s: no memory for %zu bytes", v->name, v->array.bytes);
    v->array.data = v->data;
    fill_elements(v, seed ^ hash_name(v->name));
    return true;
}

void value_free(RunValue *v) {
    free(v->name);
    free(v->text);
    free(v->block);
    free(v->file);
    free(v->shape);
    free(v->data);
}

/* ---- as arguments ---- */

char *value_fact(const RunValue *v) {
    if (v->kind != VALUE_NUMBER && v->kind != VALUE_NONE) return NULL;
    return copy(v->text, strcspn(v->text, ":")); /* without the type */
}

bool value_signature(const RunValue *v, char *text, size_t size, size_t *n) {
    const char *comma = *n ? "," : "", *promise = "";
    const char *type = elem_signature_name(v->elem);
    int put;
    if (v->pointed) return true;
    if (v->kind == VALUE_NONE) {
        put = snprintf(text + *n, size - *n, "%s%s=None", comma, v->name);
    } else if (v->block) {
        put =
            snprintf(text + *n, size - *n, "%s%s=tensordesc<%s%s>", comma, v->name, type, v->block);
    } else if (value_is_buffer(v)) { /* the runtime aligns all it allocates */
        put = snprintf(text + *n, size - *n, "%s%s=*%s:16", comma, v->name, type);
    } else {
        bool whole = elem_info[v->elem].class_ == ELEM_I || elem_info[v->elem].class_ == ELEM_U;
        if (whole) promise = promise_info[promise_kept((uint64_t)v->number.i, false)].text;
        put = snprintf(text + *n, size - *n, "%s%s=%s%s", comma, v->name, type, promise);
    }
    if (put < 0 || (size_t)put >= size - *n) return false;
    *n += (size_t)put;
    return true;
}

/* What of a descriptor the name says: "base", "shape.0", "strides.1"; NULL: it is of another. */
static const char *descriptor_part(const RunValue *v, const char *name) {
    size_t n = strlen(v->name);
    bool is = v->block && strncmp(name, v->name, n) == 0 && name[n] == '.';
    return is ? name + n + 1 : NULL;
}

bool value_is_for(const RunValue *v, const char *name) {
    return v->block ? descriptor_part(v, name) != NULL : strcmp(v->name, name) == 0;
}

/* A descriptor's buffer is contiguous. */
static bool descriptor_arg(const RunValue *v, const tile_kernel_param *p, tile_arg *out,
                           RunError *e) {
    const char *part = descriptor_part(v, p->name), *dot = strchr(part, '.');
    int64_t number = 1;
    int axis = dot ? (int)strtol(dot + 1, NULL, 10) : 0;
    if (p->type == TILE_POINTER) {
        *out = tile_pointer(v->ptr);
        return true;
    }
    if (!dot || axis < 0 || axis >= v->array.rank)
        return refuse(e, "%s: the kernel takes %s, and the buffer has %d dimensions", v->name,
                      p->name, v->array.rank);
    if (strncmp(part, "shape", 5) == 0)
        number = (int64_t)v->array.dim[axis];
    else
        for (int i = axis + 1; i < v->array.rank; i++) number *= (int64_t)v->array.dim[i];
    *out = tile_int(p->type, number);
    return true;
}

bool value_arg(const RunValue *v, const tile_kernel_param *p, tile_arg *out, RunError *e) {
    *e = (RunError){0};
    if (v->block) return descriptor_arg(v, p, out, e);
    if (p->none || v->kind == VALUE_NONE) {
        if (!p->none) return refuse(e, "%s: the kernel was not compiled for None here", v->name);
        *out = tile_none();
        return true;
    }
    if (value_is_buffer(v) != (p->type == TILE_POINTER))
        return refuse(e, "%s: the kernel takes %s, not a %s", v->name, p->type_text,
                      value_is_buffer(v) ? "buffer" : "number");
    /* tile_type lists the element types in the order of Elem, from 1. */
    tile_type type = (tile_type)((int)v->elem + 1);
    if (value_is_buffer(v)) {
        if (p->element != type && p->element != TILE_POINTER)
            return refuse(e, "%s: the kernel takes %s, and the buffer holds %s", v->name,
                          p->type_text, elem_signature_name(v->elem));
        *out = tile_pointer(v->ptr);
        return true;
    }
    bool to_float = p->type >= TILE_FP8E4NV && p->type <= TILE_FP64;
    if (v->typed && type != p->type)
        return refuse(e, "%s: the kernel takes %s, not %s", v->name, p->type_text,
                      elem_signature_name(v->elem));
    if (v->number.is_float && !to_float)
        return refuse(e, "%s: the kernel takes %s, and %s is no integer", v->name, p->type_text,
                      strchr(v->text, '=') + 1);
    *out = to_float ? tile_float(p->type, v->number.f) : tile_int(p->type, v->number.i);
    return true;
}
