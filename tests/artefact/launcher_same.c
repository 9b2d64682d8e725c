/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* launcher_same.c: the same launches by a launcher and by libtile with a header of the same
 * options, on the fake driver: grid, clusters, threads, shared memory, parameters and whether they
 * start early must be the same. The two declare the same names, so this file is compiled twice:
 * with BY_HEADER for libtile. Prints `N passed, N failed`. */
#include <stdint.h>

typedef struct Case { /* a product of m, n, k; rows of factors are `pad` longer than they need be */
    uintptr_t a, b, c;
    int32_t m, n, k, pad;
} Case;

extern int by_header(Case x);
extern void close_header(void);

#ifdef BY_HEADER

#include "header/matmul.h"

static tile_context *ctx;
static tile_bundle *bundle;

int by_header(Case x) {
    tile_status st = TILE_OK;
    if (!ctx) st = tile_context_create("cuda", &ctx);
    if (!st && !bundle) st = matmul_load(ctx, &bundle);
    if (!st)
        st = matmul_launch(bundle, x.a, x.b, x.c, x.m, x.n, x.k, x.k + x.pad, 1, x.n + x.pad, 1,
                           x.n, 1, NULL);
    return st != TILE_OK;
}

void close_header(void) {
    tile_bundle_destroy(bundle);
    tile_context_destroy(ctx);
    bundle = NULL;
    ctx = NULL;
}

#else

#include "matmul.h"
#include "tests/runtime/fake_cuda.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CASES = 20000, OWN = 12, SPLIT = 5 }; /* the last ones are how sums are shared out */

static int by_launcher(const matmul_kernels *k, Case x) {
    return matmul_launch(k, NULL, (void *)x.a, (void *)x.b, (void *)x.c, x.m, x.n, x.k, x.k + x.pad,
                         1, x.n + x.pad, 1, x.n, 1) != 0;
}

static uint64_t seed;
static int32_t random_below(int32_t most) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (int32_t)((seed >> 33) % (uint64_t)most);
}

static int32_t size(void) {
    int32_t n = 1 + random_below(1 << (1 + random_below(13)));
    return random_below(4) ? (n + 15) / 16 * 16 : n;
}

/* Where parts of sums are handed in, and by what mark they are known, is each one's own. */
static int same(FakeLaunch x, FakeLaunch y) {
    for (int i = x.nparams - SPLIT; x.nparams > OWN && i < x.nparams - SPLIT + 2; i++)
        if ((x.param[i] != 0) == (y.param[i] != 0)) x.param[i] = y.param[i];
    for (int i = 0; i < 3; i++)
        if (x.grid[i] != y.grid[i] || x.block[i] != y.block[i] || x.cluster[i] != y.cluster[i])
            return 0;
    return x.shared == y.shared && x.cooperative == y.cooperative && x.early == y.early &&
           x.nparams == y.nparams &&
           memcmp(x.param, y.param, (size_t)x.nparams * sizeof *x.param) == 0;
}

int main(void) {
    void *library = dlopen("libcuda.so.1", RTLD_NOW), *context = NULL;
    void *found[4] = {NULL};
    static const char *const names[] = {"fake_cuda", "cuDevicePrimaryCtxRetain",
                                        "cuCtxPushCurrent_v2", "cuDevicePrimaryCtxRelease_v2"};
    int (*retain)(void **context, int device), (*push)(void *context), (*release)(int device);
    for (int i = 0; library && i < 4; i++) found[i] = dlsym(library, names[i]);
    if (!found[0] || !found[1] || !found[2] || !found[3]) return 1;
    const FakeCuda *fake = found[0];
    memcpy(&retain, &found[1], sizeof retain);
    memcpy(&push, &found[2], sizeof push);
    memcpy(&release, &found[3], sizeof release);
    int passed = 0, failed = 0, shared_out = 0, clusters = 0, further = 0, alone = 0;
    matmul_kernels kernels;
    retain(&context, 0);
    push(context);
    for (int gpu = 0; gpu < 3; gpu++) {
        fake->device(gpu == 1 ? 8 : 9, 0, gpu != 2);
        if (matmul_load(&kernels)) return 1;
        for (int i = 0; i < CASES; i++) {
            Case x = {4096, 1 << 20, 1 << 21, size(), size(), size(), random_below(3) * 16};
            if (random_below(8) == 0) x.a += 2;
            if (random_below(16) == 0) x.pad = 1;
            if (random_below(64) == 0) x.c = 0;
            int theirs = by_header(x);
            FakeLaunch want = fake->last();
            int ours = by_launcher(&kernels, x);
            FakeLaunch got = fake->last();
            further += got.nparams > OWN;
            clusters += got.cluster[0] > 1;
            alone += !theirs && got.nparams == OWN && got.shared > 0;
            shared_out += got.nparams > OWN && got.param[got.nparams - SPLIT] != 0;
            if (ours == theirs && same(want, got)) {
                passed++;
                continue;
            }
            if (failed++ < 5)
                printf("launcher: %d, not %d: of %d %d %d, rows %d longer: %u programs, not %u\n",
                       ours, theirs, x.m, x.n, x.k, x.pad, got.grid[0], want.grid[0]);
        }
        matmul_unload(&kernels);
        close_header();
    }
    release(0);
    if (fake->live()) printf("launcher: %ld things are left\n", fake->live());
    printf("%d by further entries, %d in clusters, %d shared out, %d by the kernel's own\n",
           further, clusters, shared_out, alone);
    passed += !fake->live();
    failed += fake->live() || !further || !alone || !(clusters || shared_out);
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}

#endif
