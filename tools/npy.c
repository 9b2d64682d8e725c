/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* npy.c: NumPy's .npy format (see npy.h).
 *
 * The file is "\x93NUMPY", a version, the length of a header, and the header: a Python dict of
 * 'descr', 'fortran_order' and 'shape', read here by a small scanner that takes the keys in any
 * order. */
#include "tools/npy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- element types ---- */

static const struct {
    const char *descr; /* without the byte order */
    Elem elem;
} descrs[] = {
    {"b1", EL_I1},  {"i1", EL_I8},  {"i2", EL_I16}, {"i4", EL_I32}, {"i8", EL_I64}, {"u1", EL_U8},
    {"u2", EL_U16}, {"u4", EL_U32}, {"u8", EL_U64}, {"f2", EL_F16}, {"f4", EL_F32}, {"f8", EL_F64},
};
enum { DESCRS = sizeof descrs / sizeof *descrs };

static const char *descr_of(Elem e) {
    for (int i = 0; i < DESCRS; i++)
        if (descrs[i].elem == e) return descrs[i].descr;
    return elem_info[e].bytes == 1 ? "u1" : "u2"; /* fp8, bf16: their bits */
}

/* ---- reading ---- */

typedef struct Scanner {
    const char *p, *end;
    FileError *error;
    bool failed;
} Scanner;

static bool refuse(Scanner *s, const char *text) {
    if (!s->failed) snprintf(s->error->text, sizeof s->error->text, "%s", text);
    s->failed = true;
    return false;
}

static bool fail(Scanner *s, const char *text) {
    char whole[200];
    snprintf(whole, sizeof whole, "not a .npy file: %s", text);
    return refuse(s, whole);
}

static char peek(Scanner *s) {
    while (s->p < s->end && (*s->p == ' ' || *s->p == '\n' || *s->p == '\t')) s->p++;
    return s->p < s->end ? *s->p : '\0';
}

static bool accept(Scanner *s, char c) {
    if (peek(s) != c || s->p >= s->end) return false;
    s->p++;
    return true;
}

static bool expect(Scanner *s, char c) {
    return accept(s, c) || fail(s, "its header is damaged");
}

/* A quoted word of at most size - 1 characters. */
static bool scan_string(Scanner *s, char *out, size_t size) {
    char quote = peek(s);
    if (quote != '\'' && quote != '"') return fail(s, "its header is damaged");
    s->p++;
    size_t n = 0;
    for (; s->p < s->end && *s->p != quote; s->p++) {
        if (n + 1 == size) return fail(s, "its elements are of no simple type");
        out[n++] = *s->p;
    }
    out[n] = '\0';
    return expect(s, quote);
}

static bool scan_bool(Scanner *s, bool *out) {
    static const char *const word[] = {"False", "True"};
    peek(s);
    for (int i = 0; i < 2; i++) {
        size_t n = strlen(word[i]);
        if ((size_t)(s->end - s->p) >= n && memcmp(s->p, word[i], n) == 0) {
            s->p += n;
            *out = i == 1;
            return true;
        }
    }
    return fail(s, "its header is damaged");
}

static bool scan_shape(Scanner *s, NpyArray *a) {
    if (!expect(s, '(')) return false;
    a->rank = 0;
    while (!accept(s, ')')) {
        char c = peek(s);
        if (c < '0' || c > '9') return fail(s, "its shape is damaged");
        size_t v = 0;
        for (; s->p < s->end && *s->p >= '0' && *s->p <= '9'; s->p++)
            if (__builtin_mul_overflow(v, 10, &v) ||
                __builtin_add_overflow(v, (size_t)(*s->p - '0'), &v))
                return fail(s, "its shape is too large");
        if (a->rank == NPY_MAX_RANK) return fail(s, "it has more than 32 dimensions");
        a->dim[a->rank++] = v;
        if (!accept(s, ',') && peek(s) != ')') return fail(s, "its shape is damaged");
    }
    return true;
}

static bool take_descr(Scanner *s, const char *text, NpyArray *a) {
    if (text[0] == '>' && text[1] && text[2] != '1')
        return refuse(s, "its elements are big-endian; convert it first");
    const char *kind = text[0] && strchr("<|=>", text[0]) ? text + 1 : text;
    for (int i = 0; i < DESCRS; i++)
        if (strcmp(kind, descrs[i].descr) == 0) {
            a->elem = descrs[i].elem;
            return true;
        }
    char why[100];
    snprintf(why, sizeof why, "its element type '%.40s' is neither bool, integer nor float", text);
    return refuse(s, why);
}

static bool scan_header(Scanner *s, NpyArray *a, bool *fortran) {
    enum { DESCR = 1, ORDER = 2, SHAPE = 4, ALL = 7 };
    unsigned seen = 0;
    char key[20], descr[20];
    if (!expect(s, '{')) return false;
    while (!accept(s, '}')) {
        if (!scan_string(s, key, sizeof key) || !expect(s, ':')) return false;
        if (strcmp(key, "descr") == 0) {
            seen |= DESCR;
            if (peek(s) == '[') return fail(s, "its elements are records");
            if (!scan_string(s, descr, sizeof descr) || !take_descr(s, descr, a)) return false;
        } else if (strcmp(key, "fortran_order") == 0) {
            seen |= ORDER;
            if (!scan_bool(s, fortran)) return false;
        } else if (strcmp(key, "shape") == 0) {
            seen |= SHAPE;
            if (!scan_shape(s, a)) return false;
        } else {
            return fail(s, "its header has an unknown key");
        }
        if (!accept(s, ',') && peek(s) != '}') return fail(s, "its header is damaged");
    }
    return seen == ALL || fail(s, "its header is incomplete");
}

bool npy_bytes(const size_t *dim, int rank, size_t size, size_t *bytes) {
    *bytes = size;
    for (int i = 0; i < rank; i++)
        if (dim[i] == 0) return *bytes = 0, true;
    for (int i = 0; i < rank; i++)
        if (__builtin_mul_overflow(*bytes, dim[i], bytes)) return false;
    return true;
}

bool npy_parse(const char *text, size_t len, NpyArray *out, FileError *error) {
    *out = (NpyArray){0};
    *error = (FileError){0};
    Scanner s = {.p = text, .end = text + len, .error = error};
    if (len < 10 || memcmp(text, NPY_BEGINS, 6) != 0) return fail(&s, "it does not begin as one");
    const unsigned char *u = (const unsigned char *)text;
    int version = u[6];
    if (version < 1 || version > 3) return fail(&s, "its version is unknown");
    size_t start = version == 1 ? 10 : 12;
    if (len < start) return fail(&s, "it is cut short");
    size_t header = (size_t)u[8] | (size_t)u[9] << 8;
    if (version > 1) header |= (size_t)u[10] << 16 | (size_t)u[11] << 24;
    if (header > len - start) return fail(&s, "it is cut short");
    s.p = text + start;
    s.end = s.p + header;
    bool fortran = false;
    if (!scan_header(&s, out, &fortran)) return false;
    if (fortran && out->rank > 1)
        return refuse(&s, "it is in Fortran order; save numpy.ascontiguousarray of it");
    if (!npy_bytes(out->dim, out->rank, (size_t)elem_info[out->elem].bytes, &out->bytes))
        return fail(&s, "its shape is too large");
    out->data = text + start + header;
    if (len - start - header < out->bytes) return fail(&s, "it is cut short");
    if (len - start - header > out->bytes) return fail(&s, "it has more data than its shape says");
    return true;
}

/* ---- writing ---- */

char *npy_format(const NpyArray *a, size_t *len) {
    enum { ALIGN = 64, PREFIX = 10, HEADER_MAX = 64 + NPY_MAX_RANK * 24 };
    char header[HEADER_MAX + ALIGN];
    size_t n = 0;
    const char *descr = descr_of(a->elem);
    n +=
        (size_t)snprintf(header, HEADER_MAX, "{'descr': '%c%s', 'fortran_order': False, 'shape': (",
                         descr[1] == '1' ? '|' : '<', descr);
    for (int i = 0; i < a->rank; i++)
        n += (size_t)snprintf(header + n, HEADER_MAX - n, "%s%zu%s", i ? ", " : "", a->dim[i],
                              a->rank == 1 ? "," : "");
    n += (size_t)snprintf(header + n, HEADER_MAX - n, "), }");
    while ((PREFIX + n + 1) % ALIGN) header[n++] = ' '; /* data starts at a multiple of 64 */
    header[n++] = '\n';
    if (a->bytes > SIZE_MAX - PREFIX - n) return NULL;
    char *text = malloc(PREFIX + n + a->bytes);
    if (!text) return NULL;
    memcpy(text, "\x93NUMPY\x01", 7);
    text[7] = 0;
    text[8] = (char)(n & 0xFF);
    text[9] = (char)(n >> 8);
    memcpy(text + PREFIX, header, n);
    if (a->bytes) memcpy(text + PREFIX + n, a->data, a->bytes);
    *len = PREFIX + n + a->bytes;
    return text;
}
