/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fuzz_modules.c: mutated packages of modules that import each other.
 *
 * An input is a file system: a line `#= PATH`, and behind it the text of that file. The first is
 * compiled, and a reader gives it the others. Half of the inputs are the packages in tests/modules,
 * the others are made of random imports. What was read must be among the files. */
#include "tests/fuzz/compiling.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOWER, LOWERED };

enum { INPUT_MAX = 1 << 16, FILES_MAX = 64, PATH_BYTES = 4096 };

static const char mark[] = "#= ";

/* ---- the file system ---- */

typedef struct File {
    const char *path, *text;
    size_t path_len, len;
} File;

typedef struct Files {
    File at[FILES_MAX];
    int n;
} Files;

static const char *next_mark(const char *at, const char *end) {
    while (at < end) {
        if ((size_t)(end - at) >= sizeof mark - 1 && memcmp(at, mark, sizeof mark - 1) == 0)
            return at;
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        if (!newline) break;
        at = newline + 1;
    }
    return end;
}

static void split(const char *text, size_t n, Files *f) {
    const char *end = text + n, *at = next_mark(text, end);
    f->n = 0;
    while (at < end && f->n < FILES_MAX) {
        const char *path = at + sizeof mark - 1,
                   *newline = memchr(path, '\n', (size_t)(end - path));
        if (!newline) break;
        at = next_mark(newline + 1, end);
        f->at[f->n++] =
            (File){path, newline + 1, (size_t)(newline - path), (size_t)(at - newline) - 1};
    }
}

static const File *find(const Files *f, const char *path, size_t n) {
    for (int i = 0; i < f->n; i++)
        if (f->at[i].path_len == n && memcmp(f->at[i].path, path, n) == 0) return &f->at[i];
    return NULL;
}

static tile_status read_file(void *user, const char *path, size_t limit, char **text, size_t *len) {
    const File *file = find(user, path, strlen(path));
    if (!file) return TILE_NOT_FOUND;
    if (file->len > limit) return TILE_IO;
    if (!text) return TILE_OK;
    *text = malloc(file->len + 1);
    if (!*text) return TILE_NO_MEMORY;
    memcpy(*text, file->text, file->len);
    (*text)[file->len] = '\0';
    *len = file->len;
    return TILE_OK;
}

/* ---- inputs ---- */

static bool add_package(FuzzCorpus *c, const char *const *paths) {
    char *room = malloc(INPUT_MAX);
    size_t n = 0;
    bool ok = room != NULL;
    for (int i = 0; ok && paths[i]; i++) {
        char full[PATH_BYTES];
        size_t had = 0;
        snprintf(full, sizeof full, "%s/tests/modules/%s", c->root, paths[i]);
        n += (size_t)snprintf(room + n, INPUT_MAX - n, "%s%s\n", mark, paths[i]);
        ok = fuzz_read(full, room + n, INPUT_MAX - n, &had);
        n += had;
        if (n + PATH_BYTES > INPUT_MAX) ok = false;
    }
    ok = ok && fuzz_add(c, room, n);
    free(room);
    return ok;
}

static bool begin(FuzzCorpus *c) {
    static const char *const forms[] = {"forms/kernels.py",
                                        "forms/__init__.py",
                                        "forms/deep/__init__.py",
                                        "forms/deep/quad.py",
                                        "forms/ring_a.py",
                                        "forms/ring_b.py",
                                        "forms/scale.py",
                                        "forms/shapes.py",
                                        "forms/space/plain.tl",
                                        "elsewhere/extra.py",
                                        "elsewhere/lib/__init__.py",
                                        "elsewhere/lib/inner.py",
                                        NULL};
    static const char *const refused[] = {"refused/kernel.py",
                                          "refused/__init__.py",
                                          "refused/below.py",
                                          "refused/broken.py",
                                          "refused/round_a.py",
                                          "refused/round_b.py",
                                          NULL};
    return add_package(c, forms) && add_package(c, refused);
}

typedef struct Text {
    FuzzRandom *r;
    char *at;
    size_t len, most;
} Text;

static void put(Text *t, const char *format, const char *a, const char *b) {
    if (t->most - t->len < 100) return;
    t->len += (size_t)snprintf(t->at + t->len, t->most - t->len, format, a, b);
}

/* Modules a to d, and e in a package below, that import of each other what there may be. */
static size_t make(FuzzRandom *r, const FuzzCorpus *c, char *room, size_t most) {
    static const char *const paths[] = {"p/k.py",          "p/a.py",   "p/b.py", "p/__init__.py",
                                        "p/q/__init__.py", "p/q/e.py", "d.py"};
    static const char *const modules[] = {"a", "b", "q", "q.e", "", "d", "k", "nowhere"};
    static const char *const names[] = {"f", "g", "N", "*", "C", "e", "_h", "a"};
    static const char *const forms[] = {
        "from .%s import %s\n",
        "from ..%s import %s\n",
        "from p.%s import %s\n",
        "from %s import %s as g\n",
        "import p.%s, %s\n",
        "import p.%s as %s\n",
        "from ...%s import (%s, f)\n",
        "try:\n    from .%s import %s\nexcept ImportError:\n    g = 1\n"};
    static const char *const bodies[] = {"@triton.jit\ndef %s(x):\n    return x + %s(x)\n",
                                         "%s = tl.constexpr(%s)\n",
                                         "@triton.jit\ndef %s(x):\n    return %s.f(x)\n",
                                         "__all__ = ['%s', '%s']\n",
                                         "@triton.aggregate\nclass %s:\n    x: tl.tensor\n    def "
                                         "%s(self):\n        return self.x\n",
                                         "%s = %s\n"};
    Text t = {r, room, 0, most};
    (void)c;
    if (!fuzz_below(r, 2)) return 0;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        put(&t, "%s%s\nimport triton\nimport triton.language as tl\n", mark, paths[i]);
        for (size_t k = fuzz_below(r, 4); k > 0; k--)
            put(&t, forms[fuzz_below(r, 8)], modules[fuzz_below(r, 8)], names[fuzz_below(r, 8)]);
        for (size_t k = fuzz_below(r, 3); k > 0; k--)
            put(&t, bodies[fuzz_below(r, 6)], names[fuzz_below(r, 8)], names[fuzz_below(r, 8)]);
        if (!i)
            put(&t, "@triton.jit\ndef kernel(out: '*i32'):\n    tl.store(out, %s(%s))\n",
                names[fuzz_below(r, 3)], names[fuzz_below(r, 8)]);
    }
    return t.len;
}

/* ---- one input ---- */

static int one(const uint8_t *data, size_t n) {
    static const char *const include[] = {"elsewhere", "lib"};
    FuzzRandom r = fuzz_choices(data, n);
    Files files;
    char name[PATH_BYTES];
    tile_compiled *c = NULL;
    split((const char *)data, n, &files);
    if (!files.n) return LOWER;
    const File *first = &files.at[0];
    snprintf(name, sizeof name, "%.*s", (int)(first->path_len < 1000 ? first->path_len : 1000),
             first->path);
    const tile_reader reader = {read_file, &files};
    const tile_compile_options o = {.source = first->text,
                                    .source_len = first->len,
                                    .file_name = name,
                                    .include = include,
                                    .ninclude = (int)fuzz_below(&r, 3),
                                    .emit = fuzz_below(&r, 8) ? TILE_EMIT_TIR : TILE_EMIT_CONFIGS,
                                    .warn_triton = 1,
                                    .reader = &reader};
    bool ok = fuzz_compile(&o, &c) == TILE_OK;
    const char *read = tile_compiled_text(c, TILE_PART_FILES, NULL);
    for (const char *at = read, *end; (end = strchr(at, '\n')); at = end + 1)
        if (!find(&files, at, (size_t)(end - at))) fuzz_wrong("read what there is not", at);
    tile_compiled_free(c);
    return ok ? LOWERED : LOWER;
}

static const char *const pieces[] = {"from . import ",
                                     "from .. import ",
                                     "from .a import *",
                                     "import ",
                                     " as ",
                                     "__all__",
                                     "\n#= p/a.py\n",
                                     "\n#= p/q/e.py\n",
                                     "try:",
                                     "except ImportError:",
                                     "@triton.jit",
                                     "tl.constexpr",
                                     "....",
                                     "/../",
                                     NULL};
static const char *const stages[] = {"read", "lowered", NULL};

const FuzzTarget fuzz_target = {.name = "modules",
                                .suffix = ".files",
                                .most = INPUT_MAX,
                                .word = "",
                                .pieces = pieces,
                                .stages = stages,
                                .begin = begin,
                                .make = make,
                                .one = one};
