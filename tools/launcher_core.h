/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* launcher_core.h: what every launcher of tilec has, whatever its kernels are: the driver, what it
 * knows of kernels, loading them.
 *
 * The driver is opened when the kernels are loaded, so neither cuda.h nor a toolkit is needed. All
 * state belongs to the caller; load and unload alone change it, so that any number of threads may
 * launch. `tilec --emit=launcher` writes this text into each launcher, without the blocks between
 * #if LAUNCHER_ and #endif that its kernels have no need of, and other text for #pragma launcher.
 * C11 and C++17. */

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define UNUSED_ __attribute__((unused))

/* ---- the driver: the part of its API that is used, with types of our own ---- */

typedef struct Attribute {
    int id, unused;
    union {
        int yes;
        unsigned cluster[3];
        char room[64];
    } value;
} Attribute;
typedef struct Config {
    unsigned grid[3], block[3], shared;
    CUstream stream;
    Attribute *attribute;
    unsigned nattributes;
} Config;
typedef struct PoolProps {
    int kind, handles, place, device;
    char room[72];
} PoolProps;
/* What the hardware knows a tensor by. */
typedef struct __attribute__((aligned(64))) TensorMap {
    unsigned char bytes[128];
} TensorMap;

typedef struct Driver {
    void *library;
    int (*init)(unsigned flags);
    int (*version)(int *version);
    int (*ctx_current)(void **context);
    int (*ctx_push)(void *context);
    int (*ctx_pop)(void **context);
    int (*ctx_device)(int *device);
    int (*device_attribute)(int *value, int attribute, int device);
    int (*module_load)(void **module, const void *image, unsigned n, int *option, void **value);
    int (*module_unload)(void *module);
    int (*module_function)(void **function, void *module, const char *name);
    int (*function_get)(int *value, int attribute, void *function);
    int (*function_set)(void *function, int attribute, int value);
    int (*occupancy)(int *blocks, void *function, int threads, size_t shared);
    int (*launch)(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                  unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                  CUstream stream, void **params, void **extra);
    /* NULL where the driver is too old: */
    int (*launch_ex)(const Config *config, void *function, void **params, void **extra);
    int (*tensor_map)(TensorMap *map, int type, uint32_t rank, uint64_t address,
                      const uint64_t *sizes, const uint64_t *strides, const uint32_t *box,
                      const uint32_t *steps, int interleave, int swizzle, int promotion, int fill);
    int (*pool_create)(void **pool, const PoolProps *props);
    int (*pool_set)(void *pool, int attribute, void *value);
    int (*pool_destroy)(void *pool);
    int (*pool_alloc)(uint64_t *at, size_t bytes, void *pool, CUstream stream);
    int (*pool_free)(uint64_t at, CUstream stream);
} Driver;

/* In the order of the members; with the versions that the library exports. */
static const char *const symbols[] = {"cuInit",
                                      "cuDriverGetVersion",
                                      "cuCtxGetCurrent",
                                      "cuCtxPushCurrent_v2",
                                      "cuCtxPopCurrent_v2",
                                      "cuCtxGetDevice",
                                      "cuDeviceGetAttribute",
                                      "cuModuleLoadDataEx",
                                      "cuModuleUnload",
                                      "cuModuleGetFunction",
                                      "cuFuncGetAttribute",
                                      "cuFuncSetAttribute",
                                      "cuOccupancyMaxActiveBlocksPerMultiprocessor",
                                      "cuLaunchKernel",
                                      "cuLaunchKernelEx",
                                      "cuTensorMapEncodeTiled",
                                      "cuMemPoolCreate",
                                      "cuMemPoolSetAttribute",
                                      "cuMemPoolDestroy",
                                      "cuMemAllocFromPoolAsync",
                                      "cuMemFreeAsync"};
enum { SYMBOLS = sizeof symbols / sizeof *symbols, NEEDED = 14 };

enum {
    INVALID_VALUE = 1, /* results */
    INVALID_IMAGE = 200,
    NO_BINARY = 209,
    INVALID_PTX = 218,
    NO_COMPILER = 221,
    UNSUPPORTED_PTX = 222,

    MULTIPROCESSORS = 16, /* attributes of devices */
    CAPABILITY_MAJOR = 75,
    CAPABILITY_MINOR = 76,
    COOPERATIVE_LAUNCH = 95,
    MAX_SHARED = 97,
    CLUSTER_LAUNCH = 120,

    MAX_THREADS = 0, /* of functions */
    MAX_DYNAMIC_SHARED = 8,
    LARGE_CLUSTERS = 14,

    COOPERATIVE = 2, /* of launches */
    CLUSTER = 4,
    EARLY = 6, /* programmatic stream serialization */

    JIT_LOG = 5,
    JIT_LOG_BYTES = 6,

    STATIC_SHARED = 48 * 1024,
    EARLY_DRIVER = 12030, /* CUDA 12.3: older ones do not capture such launches */
    PORTABLE_CLUSTER = 8
};

static int open_driver(Driver *d) {
    void *found[SYMBOLS];
    memset(d, 0, sizeof *d);
    /* The driver has exit handlers of its own, which must find it in place. */
    d->library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!d->library) return NO_DRIVER;
    for (int i = 0; i < SYMBOLS; i++) {
        found[i] = dlsym(d->library, symbols[i]);
        if (!found[i] && i < NEEDED) return OLD_DRIVER;
    }
    memcpy((char *)d + offsetof(Driver, init), found, sizeof found);
    return 0;
}

/* ---- what a launcher knows of its kernels ---- */

typedef struct Param {
    char kind; /* 'p': pointer; '0': pointer that is NULL; '=': one value; 'i': integer; 'f' */
    int text;  /* the number of what is said of it */
    int64_t divisible, equals;
} Param;

typedef struct Map { /* of a tensor */
    int base;        /* the parameter that points to it */
    int type, bytes; /* of an element */
    int rank, swizzle, stored;
    uint32_t box[5];                              /* outermost first */
    int (*values)(const int64_t *v, int64_t *to); /* sizes, strides, offset; 0: there are none */
} Map;

typedef struct Split { /* how programs share out iterations */
    int64_t bytes;     /* of a program in the workspace */
    int (*iterations)(const int64_t *v, int64_t *to);
    int64_t clocks[4];
} Split;

typedef struct Entry {
    int number; /* in this file */
    const char *name;
    int warps, shared, shared_single; /* the latter where no two programs share a multiprocessor */
    int persistent, max_cluster, dependent, cooperative;
    unsigned cluster[3];
    int (*conditions)(const int64_t *v, double *far); /* NULL: none */
    int (*cluster_when)(const int64_t *v, int64_t *to);
    int (*worth_places)(const int64_t *v, int64_t *to); /* NULL: 1 */
    const Map *map;
    int nmaps, nnumbers;
    int (*numbers)(const int64_t *v, int64_t *to); /* that a launch works out; NULL: none */
    const char *wide;                              /* of each of them '8' or '4' bytes */
    const char
        *hidden; /* of each parameter behind the source's 'm'ap, 'n'umber, 'g'rid or 's'plit */
    const Split *split; /* NULL: there is none */
} Entry;

typedef struct Kernel {
    const Param *param;
    int nparams;
    int (*grid)(const int64_t *v, int64_t *to); /* NULL: not stated */
    const Entry *entry;                         /* its own, then further ones, the best first */
    int nentries;
} Kernel;

typedef struct Code {
    const char *const *text;    /* PTX in pieces, then NULL; or */
    const unsigned char *bytes; /* machine code */
    size_t size;
} Code;

typedef int (*When)(const int64_t *v, double *far);
typedef struct Image {
    int variant, capability, only_here, code; /* capability: times 10 */
    const Kernel *kernel;
    const When *when; /* of each kernel; NULL: it has no conditions */
} Image;

typedef struct Loaded { /* an entry */
    void *function;
    int resident; /* programs that a multiprocessor runs at once */
    int shared_single, max_cluster;
} Loaded;

typedef struct State {
    Driver driver;
    void *context;
    int device, capability, multiprocessors, max_shared, clusters, cooperative, early;
    void *module[CODES];
    int active[IMAGES]; /* images that launches are by */
    Loaded entry[ENTRIES];
#if LAUNCHER_SPLIT
    void *pool; /* NULL: programs take whole places */
    uint64_t seed, marks;
#endif
} State;

/* ---- expressions over a launch's arguments: 64 bits, Python's division; *bad: no value ---- */

UNUSED_ static int64_t add_(int64_t x, int64_t y, int *bad) {
    int64_t v;
    if (__builtin_add_overflow(x, y, &v)) *bad = 1;
    return v;
}
UNUSED_ static int64_t sub_(int64_t x, int64_t y, int *bad) {
    int64_t v;
    if (__builtin_sub_overflow(x, y, &v)) *bad = 1;
    return v;
}
UNUSED_ static int64_t mul_(int64_t x, int64_t y, int *bad) {
    int64_t v;
    if (__builtin_mul_overflow(x, y, &v)) *bad = 1;
    return v;
}
UNUSED_ static int64_t neg_(int64_t x, int *bad) {
    return sub_(0, x, bad);
}
UNUSED_ static int64_t floordiv_(int64_t x, int64_t y, int *bad) {
    if (y == 0 || (y == -1 && x == INT64_MIN)) {
        *bad = 1;
        return 0;
    }
    return x / y - (x % y != 0 && (x % y < 0) != (y < 0));
}
UNUSED_ static int64_t mod_(int64_t x, int64_t y, int *bad) {
    int64_t q = floordiv_(x, y, bad);
    return *bad ? 0 : x - q * y;
}
UNUSED_ static int64_t cdiv_(int64_t x, int64_t y, int *bad) {
    int64_t q = floordiv_(x, y, bad);
    return *bad ? 0 : q + (x % y != 0);
}
UNUSED_ static int64_t div_(int64_t x, int64_t y, int *bad) {
    int64_t q = floordiv_(x, y, bad);
    if (!*bad && x % y != 0) *bad = 1;
    return q;
}
UNUSED_ static int64_t min_(int64_t x, int64_t y, int *bad) {
    (void)bad;
    return y < x ? y : x;
}
UNUSED_ static int64_t max_(int64_t x, int64_t y, int *bad) {
    (void)bad;
    return y > x ? y : x;
}
UNUSED_ static int compare_(int64_t x, const char *sign, int64_t y) {
    bool equal = sign[1] == '=' && x == y;
    return equal ? *sign != '!' : *sign == '<' ? x < y : *sign == '>' ? x > y : *sign == '!';
}
/* How many times a size is another: what lies between them in doublings, without a logarithm. */
UNUSED_ static double ratio_(int64_t x, int64_t y) {
    double a = (double)(x > 0 ? x : 0) + 1, b = (double)(y > 0 ? y : 0) + 1;
    return a > b ? a / b : b / a;
}

UNUSED_ static int near_(double *far, int64_t x, int64_t y) {
    double ratio = ratio_(x, y);
    *far = *far > 0 ? *far * ratio : ratio;
    return 1;
}

#pragma launcher tables

/* ---- loading ---- */

static unsigned cluster_size(const Entry *e) {
    return e->cluster[0] * e->cluster[1] * e->cluster[2];
}

static int load_entry(State *s, void *module, const Entry *e) {
    const Driver *d = &s->driver;
    Loaded *l = &s->entry[e->number];
    bool special = cluster_size(e) > 1 || e->cooperative;
    int threads = 0, most, r;
    if ((cluster_size(e) > 1 && !s->clusters) || (e->cooperative && !s->cooperative) ||
        (special && !d->launch_ex) || (e->nmaps && !d->tensor_map))
        return UNABLE;
    if (e->shared > s->max_shared) return TOO_LARGE;
    l->shared_single = e->shared_single > s->max_shared ? 0 : e->shared_single;
    l->max_cluster = s->clusters && d->launch_ex ? e->max_cluster : 0;
    most = l->shared_single ? l->shared_single : e->shared;
    r = d->module_function(&l->function, module, e->name);
    if (!r && most > STATIC_SHARED) r = d->function_set(l->function, MAX_DYNAMIC_SHARED, most);
    if (!r) r = d->function_get(&threads, MAX_THREADS, l->function);
    if (!r && e->warps * 32 > threads) r = TOO_LARGE;
    if (!r && cluster_size(e) > PORTABLE_CLUSTER)
        r = d->function_set(l->function, LARGE_CLUSTERS, 1);
    if (!r) r = d->occupancy(&l->resident, l->function, e->warps * 32, (size_t)e->shared);
    if (r) l->function = NULL;
    return r;
}

static int load_code(State *s, int number, char *log, size_t room) {
    const Code *c = &codes[number];
    const void *image = c->bytes;
    char *joined = NULL;
    int option[] = {JIT_LOG, JIT_LOG_BYTES};
    void *value[] = {log, (void *)(uintptr_t)room}; /* the driver takes numbers so */
    if (s->module[number]) return 0;
    if (c->text) {
        size_t n = 0;
        joined = (char *)malloc(c->size + 1);
        if (!joined) return NO_MEMORY;
        for (const char *const *piece = c->text; *piece; piece++) {
            size_t len = strlen(*piece);
            memcpy(joined + n, *piece, len);
            n += len;
        }
        joined[n] = '\0';
        image = joined;
    }
    int r = s->driver.module_load(&s->module[number], image, 2, option, value);
    if (r) s->module[number] = NULL;
    log[room - 1] = '\0';
    free(joined);
    return r;
}

/* Another image of the variant may do. */
static bool is_refusal(int r) {
    return r == INVALID_VALUE || r == INVALID_IMAGE || r == NO_BINARY || r == INVALID_PTX ||
           r == NO_COMPILER || r == UNSUPPORTED_PTX || r == UNABLE || r == TOO_LARGE;
}

static int load_image(State *s, int i, char *log, size_t room) {
    const Image *m = &images[i];
    int r = load_code(s, m->code, log, room);
    for (int k = 0; !r && k < KERNELS; k++) {
        const Kernel *kernel = &m->kernel[k];
        for (int e = 0; !r && e < kernel->nentries; e++) {
            const Entry *entry = &kernel->entry[e];
            if (s->entry[entry->number].function) continue; /* variants share code */
            r = load_entry(s, s->module[m->code], entry);
            if (e && is_refusal(r)) r = 0; /* launches do without it */
        }
    }
    s->active[i] = !r;
    return r;
}

/* The better of a variant's images has more; 0: it is not for this GPU. */
static int rank_of(const State *s, const Image *m) {
    bool binary = codes[m->code].bytes != NULL;
    bool same = binary ? m->capability / 10 == s->capability / 10 : true;
    bool runs = m->only_here ? m->capability == s->capability : m->capability <= s->capability;
    return same && runs ? m->capability * 2 + binary : 0;
}

/* Images stand in the order of their variants: of each the best that the driver takes. */
static int load_images(State *s, char *log, size_t room) {
    bool any = false;
    for (int first = 0, end; first < IMAGES; first = end) {
        bool tried[IMAGES] = {false};
        int r = 0, best;
        for (end = first; end < IMAGES && images[end].variant == images[first].variant;) end++;
        do {
            best = -1;
            for (int i = first; i < end; i++)
                if (!tried[i] && rank_of(s, &images[i]) &&
                    (best < 0 || rank_of(s, &images[i]) > rank_of(s, &images[best])))
                    best = i;
            if (best < 0) break;
            tried[best] = any = true;
            r = load_image(s, best, log, room);
        } while (is_refusal(r));
        if (r) return r;
    }
    return any ? 0 : NO_IMAGE;
}

static int ask_device(State *s) {
    const Driver *d = &s->driver;
    int major = 0, minor = 0, version = 0;
    int r = d->ctx_device(&s->device);
    if (!r) r = d->device_attribute(&major, CAPABILITY_MAJOR, s->device);
    if (!r) r = d->device_attribute(&minor, CAPABILITY_MINOR, s->device);
    if (!r) r = d->device_attribute(&s->max_shared, MAX_SHARED, s->device);
    if (!r) r = d->device_attribute(&s->multiprocessors, MULTIPROCESSORS, s->device);
    if (!r) r = d->device_attribute(&s->cooperative, COOPERATIVE_LAUNCH, s->device);
    /* A driver from before clusters does not know the question. */
    if (!r && d->device_attribute(&s->clusters, CLUSTER_LAUNCH, s->device)) s->clusters = 0;
    s->capability = major * 10 + minor;
    s->early = d->launch_ex && !d->version(&version) && version >= EARLY_DRIVER;
    return r;
}

#if LAUNCHER_SPLIT
/* What launches hand parts of sums in. Without a pool they do without. */
static void open_pool(State *s) {
    const Driver *d = &s->driver;
    enum { PINNED = 1, ON_DEVICE = 1, KEEPS = 4 };
    PoolProps props;
    uint64_t all = UINT64_MAX;
    if (!d->pool_create || !d->pool_set || !d->pool_destroy || !d->pool_alloc || !d->pool_free)
        return;
    memset(&props, 0, sizeof props);
    props.kind = PINNED;
    props.place = ON_DEVICE;
    props.device = s->device;
    s->seed = (uint64_t)time(NULL) * 1000000000u ^ (uint64_t)(uintptr_t)s;
    if (d->pool_create(&s->pool, &props)) s->pool = NULL;
    if (s->pool && d->pool_set(s->pool, KEEPS, &all)) {
        d->pool_destroy(s->pool);
        s->pool = NULL;
    }
}
#endif

static void unload_all(State *s) {
    const Driver *d = &s->driver;
    void *current = NULL;
    bool push = s->context && (d->ctx_current(&current) || current != s->context);
    if (push) push = !d->ctx_push(s->context); /* where that fails there is no more to be done */
    for (int i = 0; i < CODES; i++)
        if (s->module[i]) d->module_unload(s->module[i]);
#if LAUNCHER_SPLIT
    if (s->pool) d->pool_destroy(s->pool);
#endif
    if (push) d->ctx_pop(&current);
    if (d->library) dlclose(d->library);
    free(s);
}

/* Into the context that is current. */
static int load_all(void **out, char *log, size_t room) {
    State *s = (State *)calloc(1, sizeof *s);
    *out = NULL;
    *log = '\0';
    if (!s) return NO_MEMORY;
    int r = open_driver(&s->driver);
    if (!r) r = s->driver.init(0);
    if (!r) r = s->driver.ctx_current(&s->context);
    if (!r && !s->context) r = NO_CONTEXT;
    if (!r) r = ask_device(s);
    if (!r) r = load_images(s, log, room);
    if (r) {
        unload_all(s);
        return r;
    }
#if LAUNCHER_SPLIT
    open_pool(s);
#endif
    *log = '\0'; /* what was said of code that others stand for */
    *out = s;
    return 0;
}

#pragma launcher launches
