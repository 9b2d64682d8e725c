/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* launcher_gpu.c: launchers of vector_add and matmul on a GPU, against results of the CPU: sizes of
 * both variants, rows that make clusters, misaligned addresses, several streams and threads, a
 * graph. The driver is all that it uses. Prints `N passed, N failed`; exit code 77 without a GPU.
 */
#include "matmul.h"
#include "vector_add.h"

#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 8, ROUNDS = 50, SKIPPED = 77 };

/* ---- what cuda.h would declare ---- */

static struct Driver {
    int (*init)(unsigned flags);
    int (*retain)(void **context, int device);
    int (*release)(int device);
    int (*set_current)(void *context);
    int (*synchronize)(void);
    int (*alloc)(uint64_t *at, size_t bytes);
    int (*free)(uint64_t at);
    int (*to_device)(uint64_t to, const void *from, size_t bytes);
    int (*to_host)(void *to, uint64_t from, size_t bytes);
    int (*stream_create)(CUstream *stream, unsigned flags);
    int (*stream_destroy)(CUstream stream);
    int (*stream_wait)(CUstream stream);
    int (*capture_begin)(CUstream stream, int mode);
    int (*capture_end)(CUstream stream, void **graph);
    int (*instantiate)(void **exec, void *graph, unsigned long long flags);
    int (*graph_launch)(void *exec, CUstream stream);
    int (*exec_destroy)(void *exec);
    int (*graph_destroy)(void *graph);
} cu;

static int open_driver(void) {
    static const char *const names[] = {"cuInit",
                                        "cuDevicePrimaryCtxRetain",
                                        "cuDevicePrimaryCtxRelease_v2",
                                        "cuCtxSetCurrent",
                                        "cuCtxSynchronize",
                                        "cuMemAlloc_v2",
                                        "cuMemFree_v2",
                                        "cuMemcpyHtoD_v2",
                                        "cuMemcpyDtoH_v2",
                                        "cuStreamCreate",
                                        "cuStreamDestroy_v2",
                                        "cuStreamSynchronize",
                                        "cuStreamBeginCapture_v2",
                                        "cuStreamEndCapture",
                                        "cuGraphInstantiateWithFlags",
                                        "cuGraphLaunch",
                                        "cuGraphExecDestroy",
                                        "cuGraphDestroy"};
    enum { NAMES = sizeof names / sizeof *names };
    _Static_assert(NAMES * sizeof(void *) == sizeof cu, "a name for each function");
    void *library = dlopen("libcuda.so.1", RTLD_NOW), *found[NAMES];
    for (int i = 0; i < NAMES; i++)
        if (!library || !(found[i] = dlsym(library, names[i]))) return 0;
    memcpy(&cu, found, sizeof found);
    return 1;
}

static int passed, failed;
static void *context;
static vector_add_kernels add;
static matmul_kernels mul;

static void check(const char *what, int good) {
    if (good) {
        passed++;
    } else {
        failed++;
        printf("launcher: %s\n", what);
    }
}

/* ---- sums ---- */

static float small_number(size_t i) {
    return (float)((int)(i * 2654435761u >> 16 & 255) - 128) / 64.0f;
}

/* Vectors that begin `shift` elements behind where memory does; a negative number of wrong ones: an
 * error. */
static long add_once(int32_t n, size_t shift, CUstream stream) {
    size_t count = (size_t)n + shift, bytes = count * sizeof(float);
    float *x = malloc(bytes), *y = malloc(bytes), *z = malloc(bytes);
    uint64_t p[3] = {0};
    long wrong = -1000;
    int r = !x || !y || !z;
    for (size_t i = 0; !r && i < count; i++) {
        x[i] = small_number(i);
        y[i] = small_number(i + 7);
    }
    for (int i = 0; i < 3 && !r; i++) r = cu.alloc(&p[i], bytes);
    if (!r) r = cu.to_device(p[0], x, bytes);
    if (!r) r = cu.to_device(p[1], y, bytes);
    if (!r) r = cu.synchronize(); /* the stream does not wait for such copies */
    if (!r)
        r = vector_add_launch(&add, stream, (float *)p[0] + shift, (float *)p[1] + shift,
                              (float *)p[2] + shift, n);
    if (r) printf("launcher: %s\n", vector_add_error(r));
    if (!r) r = cu.stream_wait(stream);
    if (!r) r = cu.to_host(z, p[2], bytes);
    if (!r) wrong = 0;
    for (size_t i = shift; !r && i < count; i++) wrong += z[i] != x[i] + y[i];
    for (int i = 0; i < 3; i++)
        if (p[i]) cu.free(p[i]);
    free(x);
    free(y);
    free(z);
    return wrong;
}

static void sums(void) {
    static const int32_t sizes[] = {1, 1000, 1024, 4096, 1000003};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        check("a sum", add_once(sizes[i], 0, NULL) == 0);
        check("a sum of what is not aligned", add_once(sizes[i], 1, NULL) == 0);
    }
    check("of nothing",
          vector_add_launch(&add, NULL, (float *)16, (float *)16, (float *)16, 0) == 0);
    int r = vector_add_launch(&add, NULL, NULL, (float *)16, (float *)16, 5);
    check("None is refused", r <= VECTOR_ADD_FIRST_ARGUMENT);
}

static void *many_sums(void *wrong) {
    CUstream stream = NULL;
    *(long *)wrong = -1;
    if (cu.set_current(context) || cu.stream_create(&stream, 1)) return NULL;
    *(long *)wrong = 0;
    for (int i = 0; i < ROUNDS; i++) *(long *)wrong += add_once(5000 + i, (size_t)i % 2, stream);
    cu.stream_destroy(stream);
    return NULL;
}

static void threads(void) {
    pthread_t thread[THREADS];
    long wrong[THREADS];
    int started[THREADS];
    for (int i = 0; i < THREADS; i++)
        started[i] = !pthread_create(&thread[i], NULL, many_sums, &wrong[i]);
    for (int i = 0; i < THREADS; i++) {
        if (started[i]) pthread_join(thread[i], NULL);
        check("sums of a thread", started[i] && wrong[i] == 0);
    }
}

/* ---- products ---- */

/* Whole numbers from -2 to 2: sums of products are exact in fp32, and below 2048 in fp16. */
static int digit(size_t i) {
    return (int)(i * 2654435761u >> 13 & 1023) % 5 - 2;
}
static uint16_t half(int v) {
    static const uint16_t bits[] = {0xC000, 0xBC00, 0, 0x3C00, 0x4000};
    return bits[v + 2];
}
static float of_half(uint16_t h) {
    int exponent = h >> 10 & 31, fraction = h & 1023;
    float v =
        exponent ? ldexpf((float)(1024 + fraction), exponent - 25) : ldexpf((float)fraction, -24);
    return h >> 15 ? -v : v;
}

typedef struct Product {
    int32_t m, n, k, pad;
    uint64_t a, b, c; /* on the device */
    uint16_t *x, *y, *z;
} Product;

static size_t bytes_of(int32_t rows, int32_t row) {
    return (size_t)rows * (size_t)row * sizeof(uint16_t);
}

static int open_product(Product *p) {
    int32_t x_row = p->k + p->pad, y_row = p->n + p->pad;
    size_t x = bytes_of(p->m, x_row), y = bytes_of(p->k, y_row), z = bytes_of(p->m, p->n);
    p->x = malloc(x);
    p->y = malloc(y);
    p->z = malloc(z);
    int r = !p->x || !p->y || !p->z;
    for (size_t i = 0; !r && i < x / 2; i++) p->x[i] = half(digit(i));
    for (size_t i = 0; !r && i < y / 2; i++) p->y[i] = half(digit(i + 12345));
    if (!r) memset(p->z, 0xFF, z);
    if (!r) r = cu.alloc(&p->a, x);
    if (!r) r = cu.alloc(&p->b, y);
    if (!r) r = cu.alloc(&p->c, z);
    if (!r) r = cu.to_device(p->a, p->x, x);
    if (!r) r = cu.to_device(p->b, p->y, y);
    if (!r) r = cu.to_device(p->c, p->z, z);
    return r ? r : cu.synchronize(); /* streams do not wait for such copies */
}

static int launch_product(const Product *p, CUstream stream) {
    int r = matmul_launch(&mul, stream, (void *)p->a, (void *)p->b, (void *)p->c, p->m, p->n, p->k,
                          p->k + p->pad, 1, p->n + p->pad, 1, p->n, 1);
    if (r) printf("launcher: %s\n", matmul_error(r));
    return r;
}

/* Some rows, each of all its columns, and the last one. */
static long check_product(Product *p) {
    long wrong = 0;
    size_t x_row = (size_t)(p->k + p->pad), y_row = (size_t)(p->n + p->pad);
    if (cu.synchronize() || cu.to_host(p->z, p->c, bytes_of(p->m, p->n))) return -1;
    int32_t step = p->m > 16 ? p->m / 16 : 1;
    for (int32_t at = 0; at < p->m + step; at += step) {
        size_t i = (size_t)(at < p->m ? at : p->m - 1);
        for (size_t j = 0; j < (size_t)p->n; j++) {
            int sum = 0;
            for (size_t k = 0; k < (size_t)p->k; k++)
                sum += digit(i * x_row + k) * digit(k * y_row + j + 12345);
            float got = of_half(p->z[i * (size_t)p->n + j]);
            wrong += !(fabsf(got - (float)sum) <= fabsf((float)sum) / 1024);
        }
    }
    return wrong;
}

static void close_product(Product *p) {
    if (p->a) cu.free(p->a);
    if (p->b) cu.free(p->b);
    if (p->c) cu.free(p->c);
    free(p->x);
    free(p->y);
    free(p->z);
}

static void products(void) {
    static const int32_t sizes[][4] = {
        {64, 64, 64, 0},      {17, 33, 5, 0},       {128, 256, 64, 0},     {1024, 1024, 1024, 0},
        {4096, 2048, 512, 0}, {4096, 4096, 256, 8}, {2048, 4096, 256, 16}, {1025, 1040, 1040, 0},
        {3000, 2992, 400, 0}, {1500, 1501, 77, 1}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        Product p = {.m = sizes[i][0], .n = sizes[i][1], .k = sizes[i][2], .pad = sizes[i][3]};
        char what[80];
        snprintf(what, sizeof what, "a product of %d %d %d, rows %d longer", p.m, p.n, p.k, p.pad);
        check(what, !open_product(&p) && !launch_product(&p, NULL) && check_product(&p) == 0);
        close_product(&p);
    }
}

/* Launches in a graph, which is run twice. */
static void graph(void) {
    Product p = {.m = 2048, .n = 2048, .k = 256};
    CUstream stream = NULL;
    void *made = NULL, *exec = NULL;
    int r = open_product(&p);
    if (!r) r = cu.stream_create(&stream, 1);
    if (!r) r = cu.capture_begin(stream, 2);
    if (!r) r = launch_product(&p, stream);
    if (!r) r = launch_product(&p, stream);
    if (!r) r = cu.capture_end(stream, &made);
    if (!r) r = cu.instantiate(&exec, made, 0);
    for (int i = 0; i < 2 && !r; i++) r = cu.graph_launch(exec, stream);
    check("products in a graph", !r && check_product(&p) == 0);
    if (exec) cu.exec_destroy(exec);
    if (made) cu.graph_destroy(made);
    if (stream) cu.stream_destroy(stream);
    close_product(&p);
}

int main(void) {
    if (!open_driver() || cu.init(0) || cu.retain(&context, 0)) {
        printf("launcher: no GPU\n");
        return SKIPPED;
    }
    check("no context", vector_add_load(&add) == VECTOR_ADD_NO_CONTEXT);
    cu.set_current(context);
    int r = vector_add_load(&add);
    if (!r) r = matmul_load(&mul);
    check("the kernels are loaded", r == 0);
    if (r) {
        printf("launcher: %s\n%s%s\n", matmul_error(r), add.log, mul.log);
    } else {
        sums();
        threads();
        products();
        graph();
        matmul_unload(&mul);
    }
    vector_add_unload(&add);
    check("the context is whole", cu.synchronize() == 0);
    cu.release(0);
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
