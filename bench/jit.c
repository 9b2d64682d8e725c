/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* jit.c: what compiling at run time costs.
 *
 *   jit compile TARGET RUNS FILE KERNEL     milliseconds from source to PTX, in this process: of
 * the first compilation and the median of the others jit launch [DEVICE]                     a
 * variant of a small kernel: compiled, found on disk, found in memory; on a GPU also a launch,
 * beside tile_launch's
 *
 * `compile` is what jit.py holds against Triton; `launch` prints a table of its own. */
#include "bench.h"

#include <time.h>
#include <unistd.h>

enum { MOST_RUNS = 1000, LOOKUPS = 1000000, LAUNCHES = 20000 };

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* ---- compile ---- */

static int compile(const char *target, int runs, const char *file, const char *kernel) {
    static double ms[MOST_RUNS];
    size_t len, size = 0;
    char *text = bench_read(file, &len);
    if (!text || runs < 2 || runs > MOST_RUNS) {
        fprintf(stderr, "jit: cannot read %s, or not 2 to %d runs\n", file, MOST_RUNS);
        free(text);
        return 2;
    }
    tile_compile_options o = {.source = text,
                              .source_len = len,
                              .file_name = file,
                              .kernel = kernel,
                              .target = target,
                              .no_perf_notes = 1};
    tile_status st = TILE_OK;
    for (int i = 0; i < runs && !st; i++) {
        tile_compiled *c;
        double start = now_ms();
        st = tile_compile(&o, &c);
        ms[i] = now_ms() - start;
        tile_compiled_text(c, TILE_PART_OUTPUT, &size);
        if (st) fputs(tile_compiled_text(c, TILE_PART_DIAGNOSTICS, NULL), stderr);
        tile_compiled_free(c);
    }
    double first = ms[0];
    if (!st) printf("%.3f %.3f %zu\n", first, bench_median(ms + 1, runs - 1), size);
    free(text);
    return st ? 5 : 0;
}

/* ---- launch ---- */

static const char source[] = "import triton, triton.language as tl\n"
                             "# tile: grid = cdiv(n, BLOCK)\n"
                             "@triton.jit\n"
                             "def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr = 1024):\n"
                             "    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
                             "    x = tl.load(x_ptr + i, mask=i < n)\n"
                             "    y = tl.load(y_ptr + i, mask=i < n)\n"
                             "    tl.store(out_ptr + i, x + y, mask=i < n)\n";

/* Milliseconds until a new jit has the kernel for these arguments. */
static tile_status until_kernel(tile_context *ctx, const char *folder, const tile_arg *args,
                                double *ms, tile_jit **jit, tile_kernel **kernel) {
    tile_compile_options o = {.source = source, .source_len = sizeof source - 1};
    double start = now_ms();
    tile_status st = tile_jit_create(ctx, &o, folder, jit);
    if (!st) st = tile_jit_kernel(*jit, args, 4, kernel);
    *ms = now_ms() - start;
    return bench_report(ctx, st, "jit");
}

static tile_status time_launches(tile_context *ctx, tile_jit *jit, tile_kernel *kernel,
                                 const tile_arg *args, int through_jit, double *ns) {
    tile_grid one = {1, 1, 1};
    tile_status st = TILE_OK;
    double start = now_ms();
    for (int i = 0; i < LAUNCHES && !st; i++)
        st = through_jit ? tile_jit_launch(jit, &one, args, 4, NULL)
                         : tile_launch(kernel, &one, args, 4, NULL);
    *ns = (now_ms() - start) * 1e6 / LAUNCHES;
    if (!st) st = tile_synchronize(ctx);
    return bench_report(ctx, st, "launch");
}

static tile_status measure(tile_context *ctx, const char *folder) {
    tile_ptr p = 0;
    tile_jit *jit = NULL;
    tile_kernel *kernel = NULL;
    double cold, again, disk, ns[2] = {0};
    tile_status st = tile_alloc(ctx, 12288, &p);
    tile_arg args[] = {tile_typed_pointer(TILE_FP32, p), tile_typed_pointer(TILE_FP32, p + 4096),
                       tile_typed_pointer(TILE_FP32, p + 8192), tile_i32(1024)};
    if (!st) st = tile_fill(ctx, p, 0, 12288);
    if (!st) st = until_kernel(ctx, "", args, &cold, &jit, &kernel); /* LLVM starts, too */
    tile_jit_destroy(jit);
    if (!st) st = until_kernel(ctx, folder, args, &again, &jit, &kernel);
    tile_jit_destroy(jit);
    if (!st) st = until_kernel(ctx, folder, args, &disk, &jit, &kernel);
    if (st) return st;
    double start = now_ms();
    for (int i = 0; i < LOOKUPS; i++) {
        args[3].value.i = 16 * (i & 1023);
        st = tile_jit_kernel(jit, args, 4, &kernel);
    }
    double lookup = (now_ms() - start) * 1e6 / LOOKUPS;
    args[3].value.i = 1024;
    printf("%-34s %10.3f ms\n%-34s %10.3f ms\n%-34s %10.3f ms\n%-34s %10.1f ns\n",
           "first variant of a process", cold, "variant compiled", again, "variant from disk", disk,
           "variant in memory", lookup);
    if (strcmp(tile_context_target(ctx), "cpu")) {
        for (int warm = 0; warm < 2 && !st; warm++)
            for (int j = 0; j < 2 && !st; j++)
                st = time_launches(ctx, jit, kernel, args, j, &ns[j]);
        printf("%-34s %10.1f ns\n%-34s %10.1f ns\n", "tile_launch", ns[0], "tile_jit_launch",
               ns[1]);
    }
    tile_jit_destroy(jit);
    tile_free(ctx, p);
    return st;
}

static int launch(const char *device) {
    tile_context *ctx;
    const char *tmp = getenv("TMPDIR");
    char folder[200];
    snprintf(folder, sizeof folder, "%s/tile-bench-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    tile_status st = tile_context_create(device, &ctx);
    bench_report(ctx, st, device);
    int code = st == TILE_NO_DEVICE ? 77 : st ? 5 : 0;
    if (!code && !mkdtemp(folder)) code = 3;
    if (!code) {
        printf("%s\n", tile_context_device_name(ctx));
        code = measure(ctx, folder) ? 5 : 0;
        char command[sizeof folder + 16];
        snprintf(command, sizeof command, "rm -r '%s'", folder);
        if (system(command)) code = 3;
    }
    tile_context_destroy(ctx);
    return code;
}

int main(int argc, char **argv) {
    if (argc == 6 && strcmp(argv[1], "compile") == 0)
        return compile(argv[2], atoi(argv[3]), argv[4], argv[5]);
    if ((argc == 2 || argc == 3) && strcmp(argv[1], "launch") == 0)
        return launch(argc == 3 ? argv[2] : "cuda");
    fprintf(stderr, "usage: jit compile TARGET RUNS FILE KERNEL\n       jit launch [DEVICE]\n");
    return 2;
}
