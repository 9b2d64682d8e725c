/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fuzz_npy.c: mutated .npy files through tilerun's reader.
 *
 * An input is refused with a sentence, or describes an array that lies in it, and which reads the
 * same when it is written again. */
#include "tests/fuzz/fuzz.h"
#include "tools/npy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { READ, PARSED };

static bool same(const NpyArray *a, const NpyArray *b) {
    return a->elem == b->elem && a->rank == b->rank && a->bytes == b->bytes &&
           memcmp(a->dim, b->dim, (size_t)a->rank * sizeof *a->dim) == 0 &&
           memcmp(a->data, b->data, a->bytes) == 0;
}

static int one(const uint8_t *data, size_t n) {
    const char *text = (const char *)data;
    NpyArray a = {.rank = 0}, b = {.rank = 0};
    FileError error = {.text = ""};
    size_t bytes, len;
    fuzz_choices(data, n);
    if (!npy_parse(text, n, &a, &error)) {
        if (!*error.text) fuzz_wrong("refused without a word", NULL);
        return READ;
    }
    if (a.rank < 0 || a.rank > NPY_MAX_RANK) fuzz_wrong("a rank", NULL);
    if (!npy_bytes(a.dim, a.rank, (size_t)type_elem_bytes(type_scalar(a.elem)), &bytes) ||
        bytes != a.bytes)
        fuzz_wrong("the shape and the bytes differ", NULL);
    if (a.data < text || a.bytes > n || a.data > text + n - a.bytes)
        fuzz_wrong("data that is not in the file", NULL);
    char *again = npy_format(&a, &len);
    if (!again || !npy_parse(again, len, &b, &error)) fuzz_wrong("written, not read", error.text);
    if (!same(&a, &b)) fuzz_wrong("it changes when written", NULL);
    free(again);
    return PARSED;
}

/* A file as NumPy writes it, nearly. */
static size_t make(FuzzRandom *r, const FuzzCorpus *c, char *room, size_t most) {
    static const char *const types[] = {"|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8",
                                        "<u8", "<f2", "<f4", "<f8", ">f4", "=i4", "<c8", "|V2"};
    static const char *const shapes[] = {"()",       "(3,)",   "(2, 3)", "(0,)",
                                         "(1,1,1,)", "(4, 0)", "(16)",   "(2L, 3L)"};
    (void)c;
    char head[256];
    int version = 1 + (int)fuzz_below(r, 3);
    size_t lead = version == 1 ? 10 : 12;
    int n = snprintf(head, sizeof head, "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }",
                     types[fuzz_below(r, 16)], fuzz_below(r, 8) ? "False" : "True",
                     shapes[fuzz_below(r, 8)]);
    size_t size = (lead + (size_t)n + 1 + 63) / 64 * 64 - lead, data = fuzz_below(r, 8) ? 48 : 0;
    if (lead + size + data > most) return 0;
    memset(room, ' ', lead + size);
    memcpy(room, NPY_BEGINS, 6);
    room[6] = (char)version;
    room[7] = 0;
    for (size_t i = 8; i < lead; i++) room[i] = (char)(size >> 8 * (i - 8));
    memcpy(room + lead, head, (size_t)n);
    room[lead + size - 1] = '\n';
    for (size_t i = 0; i < data; i++) room[lead + size + i] = (char)fuzz_next(r);
    return lead + size + data;
}

static const char *const pieces[] = {NPY_BEGINS,
                                     "'descr'",
                                     "'fortran_order'",
                                     "'shape'",
                                     "True",
                                     "False",
                                     "None",
                                     "(3,)",
                                     "(-1,)",
                                     "(0, 18446744073709551615)",
                                     "'<f4'",
                                     "{",
                                     "}",
                                     ", ",
                                     ": ",
                                     "\"",
                                     "\\",
                                     "()",
                                     "[3]",
                                     "1L",
                                     "4294967296",
                                     NULL};
static const char *const stages[] = {"read", "parsed", NULL};

const FuzzTarget fuzz_target = {.name = "npy",
                                .suffix = ".npy",
                                .most = 1 << 12,
                                .pieces = pieces,
                                .stages = stages,
                                .make = make,
                                .one = one};
