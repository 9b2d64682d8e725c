/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* corpus.c: compile options -> tilec's arguments, in files that scripts/replay reads. */
#include "tests/run/corpus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static FILE *open_file(const char *folder, const char *name, const char *suffix, const char *mode) {
    char path[4096];
    int n = snprintf(path, sizeof path, "%s/%s.%s", folder, name, suffix);
    return n > 0 && n < (int)sizeof path ? fopen(path, mode) : NULL;
}

static FILE *create(const char *folder, const char *name, const char *suffix) {
    return open_file(folder, name, suffix, "wb");
}

static bool write_arguments(FILE *f, const char *title, const tile_compile_options *o) {
    bool ok = fprintf(f, "%s\n", title) > 0;
    if (o->target) ok &= fprintf(f, "--target=%s\n", o->target) > 0;
    if (o->kernel) ok &= fprintf(f, "--kernel=%s\n", o->kernel) > 0;
    if (o->signature) ok &= fprintf(f, "--signature=%s\n", o->signature) > 0;
    for (int i = 0; i < o->ndefines; i++) ok &= fprintf(f, "-D\n%s\n", o->defines[i]) > 0;
    if (o->config) ok &= fprintf(f, "--config=%d\n", o->config) > 0;
    if (o->num_warps) ok &= fprintf(f, "--num-warps=%d\n", o->num_warps) > 0;
    if (o->num_stages) ok &= fprintf(f, "--num-stages=%d\n", o->num_stages) > 0;
    if (o->triton) ok &= fprintf(f, "--triton=%s\n", o->triton) > 0;
    return ok;
}

bool corpus_write(const char *folder, const char *name, const char *title,
                  const tile_compile_options *o, const char *ptx, size_t size) {
    FILE *f = create(folder, name, "ptx");
    bool ok = f && fprintf(f, "// %s\n", title) > 0 && fwrite(ptx, 1, size, f) == size;
    if (f && fclose(f)) ok = false;
    f = create(folder, name, "tl");
    ok = ok && f && fwrite(o->source, 1, o->source_len, f) == o->source_len;
    if (f && fclose(f)) ok = false;
    f = create(folder, name, "args");
    ok = ok && f && write_arguments(f, title, o);
    if (f && fclose(f)) ok = false;
    return ok;
}

static uint64_t hash_of(const char *text) {
    uint64_t h = UINT64_C(0xCBF29CE484222325);
    for (; *text; text++) h = (h ^ (unsigned char)*text) * UINT64_C(0x100000001B3);
    return h;
}

char *corpus_code(const char *folder, const char *title, size_t *size) {
    char name[20];
    snprintf(name, sizeof name, "%016llx", (unsigned long long)hash_of(title));
    FILE *f = open_file(folder, name, "ptx", "rb");
    if (!f) return NULL;
    long end = fseek(f, 0, SEEK_END) ? -1 : ftell(f);
    char *text = end < 0 || fseek(f, 0, SEEK_SET) ? NULL : malloc((size_t)end + 1);
    *size = text ? fread(text, 1, (size_t)end, f) : 0;
    if (text) text[*size] = '\0';
    fclose(f);
    return text;
}
