/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* corpus.c: patterns of a target -> the files that inputs are made of. */
#include "tests/fuzz/fuzz.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 };

bool fuzz_read(const char *path, char *room, size_t most, size_t *n) {
    FILE *in = fopen(path, "rb");
    if (!in) return false;
    *n = fread(room, 1, most, in);
    bool read = !ferror(in);
    return fclose(in) == 0 && read;
}

bool fuzz_add(FuzzCorpus *c, const char *text, size_t n) {
    FuzzFile *file = realloc(c->file, ((size_t)c->nfiles + 1) * sizeof *file);
    if (file) c->file = file;
    char *copy = file && n ? malloc(n) : NULL;
    if (!copy) return false;
    memcpy(copy, text, n);
    for (size_t i = 0; i < n; i++) c->hash = (c->hash ^ (unsigned char)text[i]) * 0x100000001b3u;
    c->file[c->nfiles++] = (FuzzFile){copy, n};
    return true;
}

static bool add_path(FuzzCorpus *c, const char *path) {
    size_t n, most = fuzz_target.most / 2; /* there is room to grow */
    char *text = malloc(most + 1);
    bool fits = text && fuzz_read(path, text, most + 1, &n) && n <= most && fuzz_add(c, text, n);
    free(text);
    return fits;
}

/* Inputs are made of files by their numbers, so their order may not be that of a folder. */
bool fuzz_corpus_open(FuzzCorpus *c, const char *root) {
    if (!root) root = access("tests/fuzz", F_OK) == 0 ? "." : TILE_SOURCE_DIR;
    *c = (FuzzCorpus){.hash = 0xcbf29ce484222325u, .root = root};
    for (int i = 0; fuzz_target.corpus && fuzz_target.corpus[i]; i++) {
        char pattern[PATH_BYTES];
        glob_t found = {0};
        snprintf(pattern, sizeof pattern, "%s/%s", root, fuzz_target.corpus[i]);
        if (glob(pattern, 0, NULL, &found) == 0)
            for (size_t k = 0; k < found.gl_pathc; k++) add_path(c, found.gl_pathv[k]);
        globfree(&found);
    }
    if (fuzz_target.begin && !fuzz_target.begin(c)) return false;
    return c->nfiles || fuzz_target.make;
}

void fuzz_corpus_close(FuzzCorpus *c) {
    if (fuzz_target.end) fuzz_target.end();
    for (int i = 0; i < c->nfiles; i++) free(c->file[i].text);
    free(c->file);
}
