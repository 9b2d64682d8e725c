/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kernels.c: tile-kernels: kernels compiled from their sources and run on a device, their results
 * compared with references in plain C.
 *
 *   tile-kernels [--device=cpu|cuda[:N]] [--target=native|sm_80|…] [--size=tiny|small|full]
 *                [--kernel=NAME] [--root=FOLDER] [--diff] [--ptx=FOLDER] [--code=FOLDER]
 *                [--passes=all|LIST] [--bits=FILE] [--same-bits=FILE] [--soak=LAUNCHES]
 *
 * NAME is a group (copy, matmul, features, …), one feature kernel (tests/run/NAME.tl) or one of the
 * examples that examples.c lists. --root is the folder with examples/ and tests/run/, by default
 * the working directory.
 * --diff runs the feature kernels on the CPU device and on the device named and compares all
 * buffers. --ptx runs nothing: it compiles the feature kernels and the examples for --target and
 * writes their PTX into FOLDER. --code compiles nothing: it runs the PTX that lies in FOLDER
 * (corpus.h), and ends with a line for each kernel. --passes lets the CPU device run what these
 * passes of the compiler
 * (`all`: the whole pipeline for --target) make of the tile IR. --bits writes a line for each
 * launch, with a hash of what it left in its buffers; --same-bits holds launches against such a
 * file (bits.h): cases that it lacks, and its lines without a case, are counted, and on a GPU they
 * are failures. --soak then repeats a launch of each kernel, mixed and in four streams,
 * LAUNCHES in all (soak.h). Ends with `N passed, N failed`; exit code 5 when a case failed, 77 when
 * there is no device. */
#include "tests/run/soak.h"
#include "tests/run/suite.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct Group {
    const char *name;
    void (*run)(Suite *s);
} groups[] = {
    {"copy", run_copy},         {"rgb2grey", run_rgb2grey}, {"vector_add", run_vector_add},
    {"features", run_features}, {"far", run_far},           {"matmul", run_matmul},
    {"examples", run_examples}};
enum { NGROUPS = sizeof groups / sizeof *groups };

/* The whole pipeline, as --passes takes it. */
static const char all_passes[] =
#define PASS(name, level, text) "," #name
#include "passes/passes.def"
#undef PASS
    ;

static int usage(const char *what) {
    fprintf(stderr,
            "tile-kernels: %s\nusage: tile-kernels [--device=cpu|cuda[:N]] "
            "[--target=native|sm_80|...] [--size=tiny|small|full] [--kernel=NAME] "
            "[--root=FOLDER] [--diff] [--ptx=FOLDER] [--code=FOLDER] [--passes=all|LIST] "
            "[--bits=FILE] [--same-bits=FILE] [--soak=LAUNCHES]\n",
            what);
    return 2;
}

static const char *option(const char *arg, const char *name) {
    size_t n = strlen(name);
    return strncmp(arg, name, n) == 0 ? arg + n : NULL;
}

static int no_device(const Suite *s, const char *device, tile_status st) {
    fprintf(stderr, "tile-kernels: %s: %s: %s\n", device, tile_status_text(st),
            s->ctx ? tile_error(s->ctx) : "");
    tile_context_destroy(s->ctx);
    return st == TILE_NO_DEVICE ? 77 : 5;
}

static bool wanted(const Suite *s, const struct Group *g) {
    if ((s->ptx_folder || s->code) && g->run != run_features && g->run != run_examples)
        return false;
    if (!s->only || strcmp(s->only, g->name) == 0) return true;
    return (g->run == run_features && feature_exists(s->only)) ||
           (g->run == run_examples && example_exists(s->only));
}

static tile_status open_device(Suite *s, const char *device) {
    tile_status st = tile_context_create(device, &s->ctx);
    /* What no operation defines both devices do alike, and some tests hold them to it. */
    if (!st) st = tile_context_set_checks(s->ctx, TILE_CHECK_ALL & ~TILE_CHECK_UNDEFINED);
    if (st) return st;
    s->on_cpu = strcmp(tile_context_target(s->ctx), "cpu") == 0;
    if (strcmp(s->target, "native") == 0)
        s->target = s->ptx_folder || s->passes ? "sm_80" : tile_context_target(s->ctx);
    if (s->ptx_folder) s->on_cpu = false;
    return TILE_OK;
}

static void close_device(Suite *s) {
    variants_free(s);
    tile_context_destroy(s->ctx);
    free(s->scratch);
}

static int diff(Suite *gpu) {
    Suite cpu = *gpu;
    cpu.target = "native";
    cpu.passes = NULL;
    cpu.ctx = NULL;
    tile_status st = open_device(&cpu, "cpu");
    if (st) return no_device(&cpu, "cpu", st);
    run_diff(&cpu, gpu);
    close_device(&cpu);
    return 0;
}

int main(int argc, char **argv) {
    const char *device = "cpu", *v;
    bool want_diff = false;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    Bits bits = {0};
    Soak soak = {0};
    Suite s = {.root = ".", .size = SIZE_SMALL, .target = "native"};
    s.threads = cores < 1 ? 1 : cores > 32 ? 32 : (int)cores;
    for (int i = 1; i < argc; i++) {
        if ((v = option(argv[i], "--device=")))
            device = v;
        else if ((v = option(argv[i], "--target=")))
            s.target = v;
        else if ((v = option(argv[i], "--kernel=")))
            s.only = v;
        else if ((v = option(argv[i], "--root=")))
            s.root = v;
        else if (strcmp(argv[i], "--size=tiny") == 0)
            s.size = SIZE_TINY;
        else if (strcmp(argv[i], "--size=small") == 0)
            s.size = SIZE_SMALL;
        else if (strcmp(argv[i], "--size=full") == 0)
            s.size = SIZE_FULL;
        else if ((v = option(argv[i], "--ptx=")))
            s.ptx_folder = v;
        else if ((v = option(argv[i], "--code=")))
            s.code = v;
        else if ((v = option(argv[i], "--bits=")))
            bits.write = v;
        else if ((v = option(argv[i], "--same-bits=")))
            bits.same = v;
        else if ((v = option(argv[i], "--soak=")))
            soak.launches = strtol(v, NULL, 10);
        else if ((v = option(argv[i], "--passes=")))
            s.passes = strcmp(v, "all") ? v : all_passes + 1;
        else if (strcmp(argv[i], "--diff") == 0)
            want_diff = true;
        else
            return usage(argv[i]);
    }
    if (bits_wanted(&bits) && (want_diff || s.ptx_folder || s.code))
        return usage("bits are of the launches of one device, of its own code");
    if (soak.launches < 0 || (soak.launches && (want_diff || s.ptx_folder || s.code)))
        return usage("--soak takes how many launches of one device");
    if (soak.launches) s.soak = &soak;
    int ngroups = 0;
    for (int i = 0; i < NGROUPS; i++) ngroups += wanted(&s, &groups[i]);
    if (!ngroups) return usage("there are no such kernels");

    tile_status st = open_device(&s, device);
    if (st) return no_device(&s, device, st);
    printf("%s, code for %s\n", tile_context_device_name(s.ctx), s.target);
    bits.target = s.target;
    if (bits_wanted(&bits)) s.bits = &bits;
    if (!bits_open(&bits, "tile-kernels")) {
        close_device(&s);
        return 2;
    }
    int code = want_diff ? diff(&s) : 0;
    for (int i = 0; i < NGROUPS && !want_diff; i++)
        if (wanted(&s, &groups[i])) groups[i].run(&s);
    if (s.soak) soak_run(&s);
    if (s.ptx_folder) variants_report(&s);
    if (s.code) variants_list(&s);
    bool whole = strncmp(device, "cuda", 4) == 0 && !s.only;
    s.failed += bits_close(&bits, "tile-kernels", whole);
    printf("%d passed, %d failed\n", s.passed, s.failed);
    if (s.soak) soak_free(&s);
    close_device(&s);
    return code ? code : s.failed || !s.passed ? 5 : 0;
}
