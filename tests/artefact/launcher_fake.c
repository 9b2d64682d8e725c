/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* launcher_fake.c: launchers that tilec made, on the fake driver (tests/runtime/fake_cuda.c):
 * which variant a launch takes, its grid, threads, shared memory and parameters, what is refused,
 * and that nothing is left when any call of the driver fails. launcher_test.sh makes the launchers.
 * Prints `N passed, N failed`. C11 and C++17. */
#include "kernels.h"
#include "matmul.h"
#include "names.h"
#include "sized.h"
#include "softmax.h"
#include "vector_add.h"

#include "tests/runtime/fake_cuda.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int passed, failed;
static FakeCuda fake;

static void check(const char *what, int good) {
    if (good) {
        passed++;
    } else {
        failed++;
        printf("launcher: %s\n", what);
    }
}

static void check_code(const char *what, int want, int got) {
    if (want == got) {
        passed++;
    } else {
        failed++;
        printf("launcher: %s: %d, not %d\n", what, got, want);
    }
}

/* Addresses that no kernel follows: the fake driver runs none. */
static void *at(uintptr_t address) {
    return (void *)address;
}

/* ---- a context, as the caller has it ---- */

typedef int (*Retain)(void **context, int device);
typedef int (*Release)(int device);
typedef int (*Push)(void *context);
typedef int (*Pop)(void **context);
static Retain retain;
static Release release;
static Push push;
static Pop pop;

static void *symbol(void *library, const char *name) {
    void *found = library ? dlsym(library, name) : NULL;
    if (found) return found;
    printf("launcher: %s is not in the fake driver\n", name);
    exit(1);
}

static void open_fake(void) {
    void *library = dlopen("libcuda.so.1", RTLD_NOW), *found;
    memcpy(&fake, symbol(library, "fake_cuda"), sizeof fake);
    memcpy(&retain, (found = symbol(library, "cuDevicePrimaryCtxRetain"), &found), sizeof found);
    memcpy(&release, (found = symbol(library, "cuDevicePrimaryCtxRelease_v2"), &found),
           sizeof found);
    memcpy(&push, (found = symbol(library, "cuCtxPushCurrent_v2"), &found), sizeof found);
    memcpy(&pop, (found = symbol(library, "cuCtxPopCurrent_v2"), &found), sizeof found);
}

/* ---- variants ---- */

static kernels_kernels kernels;

/* The warps that `which` ran with, which tell the variant; an error is returned as it is. */
static int variant(unsigned offset, int32_t n, int64_t m) {
    int r = which_launch(&kernels, NULL, (int32_t *)at(256 + offset), n, m);
    if (r) return r;
    FakeLaunch l = fake.last();
    if (l.nparams != 3 || l.param[0] != 256 + offset || (int32_t)l.param[1] != n ||
        (int64_t)l.param[2] != m || l.grid[0] != 1)
        return -999;
    return (int)l.block[0] / 32;
}

static void variants(void) {
    check_code("aligned, n a multiple of 16, m large", 1, variant(0, 32, 2000));
    check_code("the same with m small", 2, variant(0, 32, 999));
    check_code("misaligned", 4, variant(4, 32, 2000));
    check_code("n is one", 8, variant(0, 1, 2000));
    check_code("n is one, misaligned", 8, variant(4, 1, 5));
    check_code("n is neither", 16, variant(0, 33, 64));
    check_code("m is 0: its condition has no value", 4, variant(0, 33, 0));
    check_code("nothing holds but the general one", 4, variant(8, 33, 65));
    check_code("zero is a multiple of 16", 2, variant(16, 0, 0));
    int r = which_launch(&kernels, NULL, NULL, 1, 1);
    check("None is refused", r < 0);
    check("and the argument is named",
          strstr(kernels_error(r), "argument 1 (out_ptr)") && strstr(kernels_error(r), "is NULL"));
}

static void sizes(void) {
    static const struct {
        int32_t n;
        unsigned warps;
    } row[] = {{100, 1}, {128, 1}, {1000, 2}, {1024, 2}, {5000, 4}, {0, 1}, {-5, 1}};
    sized_kernels k;
    check_code("kernels for sizes", 0, sized_load(&k));
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        check_code("a size", 0, sized_launch(&k, NULL, (int32_t *)at(64), row[i].n));
        check("the nearest", fake.last().block[0] == row[i].warps * 32);
    }
    sized_unload(&k);
}

static uint64_t bits(double v) {
    uint64_t u;
    memcpy(&u, &v, sizeof u);
    return u;
}

static void every_type(void) {
    double *p = (double *)at(4096);
    int r = na_xC3_xAFve_launch_grid(&kernels, NULL, 3, 2, 1, p, 5, -128, -32768, 255, 65535,
                                     4294967295u, 9007199254740992u, 1.5f, -2.5f, 0.1f, -1e-300,
                                     448.0f, 57344.0f, NULL);
    FakeLaunch l = fake.last();
    check_code("every type", 0, r);
    check("a grid of the caller's", l.grid[0] == 3 && l.grid[1] == 2 && l.grid[2] == 1);
    /* The fake driver does not read an fp16, which is no number in PTX. */
    static const uint64_t want[] = {4096,       1, 0x80,   0x8000,     255, 65535, 4294967295u,
                                    1ull << 53, 0, 0xc020, 0x3dcccccd, 0,   0x7e,  0x7b};
    for (int i = 0; i < 14; i++)
        check("a value arrives",
              (i == 11 ? l.param[i] == bits(-1e-300) : l.param[i] == want[i]) && l.nparams == 15);
    check_code("a grid that is too large", KERNELS_BAD_GRID,
               na_xC3_xAFve_launch_grid(&kernels, NULL, 1, 65536, 1, p, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                                        0, 0, 0, 0, NULL));
    check_code("an empty grid", 0,
               na_xC3_xAFve_launch_grid(&kernels, NULL, 1, 0, 1, p, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                                        0, 0, NULL));
}

static void parts(void) {
    int32_t *p = (int32_t *)at(64), *q = (int32_t *)at(512);
    check_code("parts", 0, parts_launch(&kernels, NULL, q, 7, p, 4, 1));
    FakeLaunch l = fake.last();
    check("of a tuple and a descriptor", l.grid[0] == 3 && l.param[0] == 512 && l.param[1] == 7 &&
                                             l.param[2] == 64 && l.param[3] == 4 &&
                                             l.param[4] == 1);
    check_code("a negative grid", KERNELS_BAD_GRID, parts_launch(&kernels, NULL, q, -7, p, 4, 1));
    check_code("the general variant takes any stride", 0,
               parts_launch(&kernels, NULL, q, 7, p, 4, 2));
    int r = parts_launch(&kernels, NULL, q, 7, NULL, 4, 1);
    check("a part that is NULL", strstr(kernels_error(r), "argument 3 (d.base)") != NULL);
}

/* ---- kernels of the examples ---- */

static void examples(void) {
    vector_add_kernels v;
    softmax_kernels s;
    names_kernels n;
    check_code("vector_add", 0, vector_add_load(&v));
    check_code("softmax", 0, softmax_load(&s));
    check_code("names", 0, names_load(&n));
    float *p = (float *)at(1024), *q = (float *)at(2048);
    check_code("a launch", 0, vector_add_launch(&v, NULL, p, p, q, 5000));
    FakeLaunch l = fake.last();
    check("its grid", l.grid[0] == 5 && l.grid[1] == 1 && l.block[0] == 128);
    check("it starts early", l.early);
    check_code("nothing to do", 0, vector_add_launch(&v, NULL, p, p, q, 0));
    check_code("a row a program", 0, softmax_launch(&s, NULL, p, q, 77, 64, 64, 64));
    check_code("of them so many", 77, (int)fake.last().grid[0]);
    check_code("another kernel of the file", 0,
               softmax_online_launch(&s, NULL, p, q, 5, 65, 65, 65));
    check_code("a row each", 5, (int)fake.last().grid[0]);
    check_code("strange names", 0,
               tile_launch_launch(&n, NULL, (int32_t *)at(64), 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                                  0, 0, 0, 0));
    check_code("in the grid", 9, (int)fake.last().grid[0]);
    check_code("no parameters", 0, nothing_launch_grid(&n, NULL, 1, 1, 1));
    vector_add_unload(&v);
    check_code("not loaded", VECTOR_ADD_NOT_LOADED, vector_add_launch(&v, NULL, p, p, q, 5000));
    vector_add_unload(&v);
    softmax_unload(&s);
    names_unload(&n);
}

static int product(const matmul_kernels *k, uintptr_t a, int m, int n, int depth) {
    return matmul_launch(k, NULL, at(a), at(1 << 20), at(1 << 21), m, n, depth, depth, 1, n, 1, n,
                         1);
}

static void products(void) {
    matmul_kernels k;
    check_code("matmul", 0, matmul_load(&k));
    check_code("a large product", 0, product(&k, 4096, 4096, 4096, 4096));
    FakeLaunch l = fake.last();
    check("programs stay", l.grid[0] == 132 && l.block[0] == 384 && l.shared > 48 * 1024);
    check("the hidden parameters", l.nparams == 26 && l.param[12] == 512 && l.param[13] == 128);
    check_code("a small one", 0, product(&k, 4096, 128, 128, 64));
    l = fake.last();
    check("the kernel's own entry", l.nparams == 12 && l.grid[0] == 4);
    unsigned alone = l.shared;
    k.concurrent = 1;
    check_code("beside others", 0, product(&k, 4096, 128, 128, 64));
    check("takes less shared memory", fake.last().shared < alone);
    check_code("misaligned", 0, product(&k, 4098, 4096, 4096, 4096));
    check("the general variant", fake.last().grid[0] == 64 * 64 && fake.last().nparams == 12);
    matmul_unload(&k);
    fake.device(8, 0, 0);
    check_code("on an A100", 0, matmul_load(&k));
    check_code("a product there", 0, product(&k, 4096, 4096, 4096, 4096));
    check("has no maps", fake.last().nparams == 12 && fake.last().grid[0] == 32 * 16);
    matmul_unload(&k);
    fake.device(7, 5, 0);
    check_code("on an older GPU", MATMUL_NO_IMAGE, matmul_load(&k));
    fake.device(9, 0, 1);
}

/* ---- failures ---- */

static int use_all(void) {
    matmul_kernels k;
    int r = matmul_load(&k), one;
    if (!r) r = product(&k, 4096, 128, 128, 64);
    /* The context need not be current in a launch. */
    void *old = NULL;
    pop(&old);
    if (!r) r = product(&k, 4096, 4096, 4096, 4096);
    one = push(old);
    if (!r) r = one;
    matmul_unload(&k);
    return r;
}

static void failures(void) {
    static const int codes[] = {1, 2, 201, 218, 700, 999};
    long before = fake.live(), calls;
    int depth = fake.depth();
    fake.let_fail(0, 0, false);
    check_code("nothing fails", 0, use_all());
    calls = fake.calls();
    check("calls were counted", calls > 30);
    for (size_t c = 0; c < sizeof codes / sizeof *codes; c++) {
        for (long n = 1; n <= calls; n++) {
            fake.let_fail(n, codes[c], false);
            int r = use_all();
            const char *name = fake.failed();
            fake.let_fail(0, 0, false);
            if (fake.depth() < depth) { /* pushing was the call that failed */
                void *context;
                retain(&context, 0);
                push(context);
                release(0);
            }
            if (fake.live() == before && fake.depth() == depth && (r == 0 || r == codes[c])) {
                passed++;
                continue;
            }
            failed++;
            printf("launcher: call %ld, %s, fails with %d: %d, %ld left\n", n, name ? name : "?",
                   codes[c], r, fake.live() - before);
        }
    }
    fake.let_fail(0, 0, false);
    check("a driver's result in words", strstr(matmul_error(2), "the fake driver") != NULL);
    check("no error in words", strcmp(matmul_error(0), "no error") == 0);
    for (int e = 1; e < 400; e++) check("each in words", matmul_error(-e) != NULL);
}

int main(void) {
    void *context = NULL;
    open_fake();
    check_code("no context", KERNELS_NO_CONTEXT, kernels_load(&kernels));
    check("in words", strstr(kernels_error(KERNELS_NO_CONTEXT), "no CUDA context") != NULL);
    retain(&context, 0);
    push(context);
    long before = fake.live();
    check_code("load", 0, kernels_load(&kernels));
    if (kernels.state) {
        variants();
        sizes();
        every_type();
        parts();
    }
    kernels_unload(&kernels);
    examples();
    products();
    failures();
    check("nothing is left", fake.live() == before);
    pop(&context);
    release(0);
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
