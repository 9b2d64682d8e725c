/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fuzz_response.c: mutated files @FILE of a command line.
 *
 * An input is such a file. Its words must be those that it holds, or there is a sentence; a file
 * may name itself. */
#include "tests/fuzz/fuzz.h"
#include "tests/scratch.h"
#include "tools/response.h"

#include <string.h>

enum { READ, EXPANDED };

static char folder[SCRATCH_SIZE], path[SCRATCH_SIZE + 16], word[SCRATCH_SIZE + 17];

static bool begin(FuzzCorpus *c) {
    static const char *const seeds[] = {"--emit=ptx -o out.ptx 'a b' \"c\\\"d\" e\\ f\n",
                                        "--variants @FILE -D N=4\n-- @FILE\n",
                                        "@FILE @FILE",
                                        "'unclosed",
                                        "a\\",
                                        "\t\r\n\f x"};
    if (!mkdtemp(scratch(folder, "tile-fuzz"))) return false;
    snprintf(path, sizeof path, "%s/words", folder);
    snprintf(word, sizeof word, "@%s", path);
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++)
        if (!fuzz_add(c, seeds[i], strlen(seeds[i]))) return false;
    return true;
}

static void end(void) {
    scratch_empty(folder);
    rmdir(folder);
}

/* The input, with the file's own name where it says @FILE. */
static bool write_input(const uint8_t *data, size_t n) {
    static const char own[] = "@FILE";
    FILE *out = fopen(path, "wb");
    if (!out) return false;
    for (size_t i = 0; i < n; i++)
        if (n - i >= sizeof own - 1 && memcmp(data + i, own, sizeof own - 1) == 0) {
            fputs(word, out);
            i += sizeof own - 2;
        } else {
            fputc(data[i], out);
        }
    return fclose(out) == 0;
}

static int one(const uint8_t *data, size_t n) {
    static const OptionRow rows[] = {{"variants", 0, "TEXT", "help", 1},
                                     {NULL, 'D', "X", "help", 2}};
    static char program[] = "tilec";
    char *argv[] = {program, word, NULL};
    Words w;
    fuzz_choices(data, n);
    if (!write_input(data, n)) fuzz_wrong("cannot write", path);
    bool ok = words_expand(&w, rows, 2, 2, argv);
    if (!ok && !*w.error) fuzz_wrong("refused without a word", NULL);
    size_t bytes = 0;
    for (int i = 0; ok && i < w.argc; i++) bytes += strlen(w.argv[i]);
    if (ok && w.argv[w.argc]) fuzz_wrong("the words do not end in NULL", NULL);
    if (ok && bytes < strlen(program)) fuzz_wrong("the program's name is gone", NULL);
    words_free(&w);
    return ok ? EXPANDED : READ;
}

static const char *const pieces[] = {"@FILE",      "@",  "'", "\"", "\\",   "\\\n",        "--",
                                     "--variants", "-D", " ", "\t", "\xff", "--variants=", NULL};
static const char *const stages[] = {"read", "expanded", NULL};

const FuzzTarget fuzz_target = {.name = "response",
                                .suffix = ".words",
                                .most = 1 << 12,
                                .word = "-",
                                .pieces = pieces,
                                .stages = stages,
                                .begin = begin,
                                .end = end,
                                .one = one};
