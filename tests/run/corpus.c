/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* corpus.c: compile options -> tilec's arguments, in files that scripts/replay reads. */
#include "tests/run/corpus.h"

#include <stdio.h>
#include <string.h>

static FILE *create(const char *folder, const char *name, const char *suffix) {
    char path[4096];
    int n = snprintf(path, sizeof path, "%s/%s.%s", folder, name, suffix);
    return n > 0 && n < (int)sizeof path ? fopen(path, "wb") : NULL;
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
