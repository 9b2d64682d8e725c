/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_npy.c: .npy files: round trips of every element type, and headers that lie. */
#include "tools/npy.c"

/* After it: check.h has a macro named fail. */
#include "tests/run_suite.h"

#include <check.h>

static NpyArray parse(const char *text, size_t len) {
    NpyArray a;
    FileError e;
    ck_assert_msg(npy_parse(text, len, &a, &e), "%s", e.text);
    return a;
}

START_TEST(round_trips) {
    static const size_t shapes[][3] = {{0, 0, 0}, {5, 0, 0}, {2, 3, 0}, {4, 1, 2}, {0, 7, 2}};
    static const int ranks[] = {0, 1, 2, 3, 3};
    char data[1024];
    for (size_t i = 0; i < sizeof data; i++) data[i] = (char)(i * 7 + 3);
    NpyArray a = {.elem = (Elem)_i, .data = data};
    for (int s = 0; s < 5; s++) {
        a.rank = ranks[s];
        memcpy(a.dim, shapes[s], sizeof shapes[s]);
        ck_assert(npy_bytes(a.dim, a.rank, (size_t)elem_info[a.elem].bytes, &a.bytes));
        size_t len;
        char *text = npy_format(&a, &len);
        ck_assert_ptr_nonnull(text);
        NpyArray b = parse(text, len);
        ck_assert_int_eq(elem_info[b.elem].bytes, elem_info[a.elem].bytes);
        if (a.elem != EL_BF16 && !elem_is_fp8(a.elem)) ck_assert_int_eq((int)b.elem, (int)a.elem);
        ck_assert_int_eq(b.rank, a.rank);
        for (int d = 0; d < a.rank; d++) ck_assert_uint_eq(b.dim[d], a.dim[d]);
        ck_assert_uint_eq(b.bytes, a.bytes);
        ck_assert_int_eq(memcmp(b.data, a.data, a.bytes), 0);
        ck_assert_uint_eq((size_t)(b.data - text) % 64, 0);
        /* Cut anywhere, it is refused; so is a byte too many. */
        for (size_t n = 0; n < len; n++) {
            FileError e;
            char *cut = malloc(n ? n : 1); /* of its exact size, for the address sanitizer */
            ck_assert_ptr_nonnull(cut);
            memcpy(cut, text, n);
            ck_assert(!npy_parse(cut, n, &b, &e));
            ck_assert(e.text[0]);
            free(cut);
        }
        free(text);
    }
}
END_TEST

/* A file of version 1 with this header and `bytes` of data. */
static bool parse_header(const char *header, size_t bytes, NpyArray *a, FileError *e) {
    static char text[70000];
    size_t n = strlen(header);
    memcpy(text, "\x93NUMPY\x01", 7);
    text[7] = 0;
    text[8] = (char)(n & 255);
    text[9] = (char)(n >> 8);
    memcpy(text + 10, header, n);
    memset(text + 10 + n, 1, bytes);
    return npy_parse(text, 10 + n + bytes, a, e);
}

static const struct {
    const char *header;
    size_t bytes;
    const char *error; /* NULL: it is fine */
} headers[] = {
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", 24, NULL},
    {"{\"shape\":(2,3),\"fortran_order\":False,\"descr\":\"<f4\"}", 24, NULL},
    {"{'descr': '=i4', 'fortran_order': True, 'shape': (3,), }  \n", 12, NULL},
    {"{'descr': '>u1', 'fortran_order': False, 'shape': (3,)}", 3, NULL},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", 23, "cut short"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", 25, "more data"},
    {"{'descr': '>f4', 'fortran_order': False, 'shape': (2,)}", 8, "big-endian"},
    {"{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }", 24, "Fortran"},
    {"{'descr': '<c8', 'fortran_order': False, 'shape': (2,)}", 16, "neither bool"},
    {"{'descr': '<U44444444444444444444444', 'fortran_order': False, 'shape': ()}", 4, "no simple"},
    {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}", 8, "records"},
    {"{'descr': '', 'fortran_order': False, 'shape': (2,)}", 8, "neither bool"},
    {"{'descr': '<f4', 'fortran_order': 0, 'shape': (2,)}", 8, "damaged"},
    {"{'descr': '<f4', 'fortran_order': False}", 8, "incomplete"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}", 8, "shape is damaged"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2 3)}", 8, "shape is damaged"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,}", 8, "shape is damaged"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", 8, "too large"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", 8, "too large"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904,)}", 8, "too large"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (0, 99999999999)}", 0, NULL},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,"
     "1,1,1,1,1,1,1,1,1,1,1,1,1)}",
     4, "32 dimensions"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'x': 1}", 8, "unknown key"},
    {"{'descr", 8, "damaged"},
    {"{", 8, "damaged"},
    {"", 8, "damaged"},
};

START_TEST(lying_headers) {
    NpyArray a;
    FileError e = {0};
    bool ok = parse_header(headers[_i].header, headers[_i].bytes, &a, &e);
    if (!headers[_i].error)
        ck_assert_msg(ok, "%s: %s", headers[_i].header, e.text);
    else
        ck_assert_msg(!ok && strstr(e.text, headers[_i].error), "%s: %s", headers[_i].header,
                      e.text);
}
END_TEST

START_TEST(versions) {
    static const char header[] = "{'descr':'<i2','fortran_order':False,'shape':(1,)}";
    char text[200];
    size_t n = sizeof header - 1;
    for (int version = 0; version < 5; version++) {
        memcpy(text, "\x93NUMPY", 6);
        text[6] = (char)version;
        text[7] = 0;
        memset(text + 8, 0, 4);
        text[8] = (char)n;
        size_t start = version == 1 ? 10 : 12;
        memcpy(text + start, header, n);
        text[start + n] = 5;
        text[start + n + 1] = 1;
        NpyArray a;
        FileError e;
        bool ok = npy_parse(text, start + n + 2, &a, &e);
        ck_assert_int_eq(ok, version >= 1 && version <= 3);
        if (ok) ck_assert_int_eq(a.data[0], 5);
    }
    /* A header longer than the file can hold. */
    memcpy(text, "\x93NUMPY\x02\0\xff\xff\xff\xff", 12);
    NpyArray a;
    FileError e;
    ck_assert(!npy_parse(text, sizeof text, &a, &e));
}
END_TEST

int main(void) {
    Suite *s = suite_create("npy");
    TCase *t = tcase_create("npy");
    tcase_add_loop_test(t, round_trips, 0, ELEMS);
    tcase_add_loop_test(t, lying_headers, 0, (int)(sizeof headers / sizeof *headers));
    tcase_add_test(t, versions);
    return run_suite(s, t);
}
