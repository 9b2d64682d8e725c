/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fuzz_compile.c: kernels, random ones and mutated ones, and tile IR through the whole compiler.
 *
 * One half of the inputs are kernels of random integer expressions (integers_source.c), the others
 * files of the tree, sources and tile IR as lowered or between passes. What comes out must be
 * diagnostics, or PTX that the runtime loads. */
#include "tests/fuzz/compiling.h"
#include "tests/fuzz/integers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COMPILE, COMPILED, LOADED };

enum { INPUT_MAX = 1 << 17 };

static bool has(const char *text, size_t len, const char *word) {
    size_t n = strlen(word);
    for (size_t i = 0; i + n <= len; i++)
        if (memcmp(text + i, word, n) == 0) return true;
    return false;
}

static const char *const targets[] = {"sm_80", "sm_90a", "sm_86", "sm_89"};
enum { TARGETS = sizeof targets / sizeof *targets };
static tile_context *device[TARGETS];
static Writer *writer;

static bool begin(FuzzCorpus *c) {
    (void)c;
    writer = calloc(1, sizeof *writer);
    for (int i = 0; i < TARGETS; i++) {
        char name[32];
        snprintf(name, sizeof name, "ptx:%s", targets[i]);
        if (tile_context_create(name, &device[i])) return false;
    }
    return writer != NULL;
}

static void end(void) {
    for (int i = 0; i < TARGETS; i++) tile_context_destroy(device[i]);
    free(writer);
}

/* One expression of a random kernel; more take seconds under sanitizers. */
static size_t make(FuzzRandom *r, const FuzzCorpus *c, char *room, size_t most) {
    int size, warps;
    (void)c;
    if (fuzz_below(r, 2)) return 0;
    write_kernel(writer, fuzz_next(r), (int)fuzz_below(r, PER_KERNEL), &size, &warps);
    if (writer->len > most) return 0;
    memcpy(room, writer->text, writer->len);
    return writer->len;
}

static int one(const uint8_t *data, size_t n) {
    FuzzRandom r = fuzz_choices(data, n);
    Session s;
    FuzzKernel kernel;
    tile_compiled *c = NULL;
    tile_module *m = NULL;
    size_t target = fuzz_below(&r, 8) ? fuzz_below(&r, 2) : fuzz_below(&r, TARGETS), len;
    bool tir = has((const char *)data, n, "kernel @");
    bool found = fuzz_kernel(&r, &s, tir ? "" : (const char *)data, tir ? 0 : n, &kernel);
    tile_compile_options o = {.source = (const char *)data,
                              .source_len = n,
                              .input_is_tir = tir,
                              .target = targets[target],
                              .num_warps = fuzz_below(&r, 3) ? 0 : 1 << fuzz_below(&r, 4),
                              .num_stages = fuzz_below(&r, 3) ? 0 : 1 + (int)fuzz_below(&r, 5),
                              .no_optimize = !fuzz_below(&r, 8),
                              .line_info = !fuzz_below(&r, 4),
                              .debug = !fuzz_below(&r, 8),
                              .stats = fuzz_below(&r, 4) ? 0 : 1 + (int)fuzz_below(&r, 2),
                              .report = !fuzz_below(&r, 8),
                              .annotate = !fuzz_below(&r, 8),
                              .warn_triton = !fuzz_below(&r, 4),
                              .verify_each = 1};
    if (found)
        o.kernel = kernel.kernel, o.signature = kernel.signature, o.defines = kernel.define,
        o.ndefines = kernel.ndefines;
    int reached = COMPILE;
    if (fuzz_compile(&o, &c) == TILE_OK) {
        fuzz_stage(reached = COMPILED);
        const char *ptx = tile_compiled_text(c, TILE_PART_OUTPUT, &len);
        bool ours = !has((const char *)data, n, "asm"); /* the machine knows what tilec emits */
        if (tile_module_load(device[target], ptx, len, &m) != TILE_OK && ours) {
            const char *why = tile_error(device[target]);
            bool too_large = strstr(why, "a kernel has ") != NULL; /* for the machine */
            if (!too_large) fuzz_wrong("PTX that does not load", why);
        }
        tile_module_unload(m);
        reached = LOADED;
    }
    tile_compiled_free(c);
    session_free(&s);
    return reached;
}

static const char *const corpus[] = {"tests/run/*.tl",
                                     "tests/conformance/rules/*.tl",
                                     "examples/*.tl",
                                     "tests/codegen/*.tl",
                                     "tests/passes/*.tir",
                                     "tests/codegen/*.tir",
                                     "tests/layout/*.tir",
                                     "examples/*.tir",
                                     NULL};
static const char *const pieces[] = {"tl.dot(",      "tl.sum(",   ", axis=0)", "tl.where(",
                                     "tl.arange(",   "tl.load(",  "mask=",     ".to(tl.float16)",
                                     ".T",           "[None, :]", "tl.trans(", "tl.reshape(",
                                     "num_stages=4", "range(",    "while ",    NULL};
static const char *const stages[] = {"compiled", "came to PTX", "loaded", NULL};

const FuzzTarget fuzz_target = {.name = "compile",
                                .suffix = ".tl",
                                .most = INPUT_MAX,
                                .word = "",
                                .corpus = corpus,
                                .pieces = pieces,
                                .stages = stages,
                                .begin = begin,
                                .end = end,
                                .make = make,
                                .one = one};
