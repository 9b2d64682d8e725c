/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fake_cuda.c: a libcuda.so.1 on host memory: the entry points that the runtime uses, for tests on
 * machines without a GPU.
 *
 * It is stricter than the driver. A call without a current context, an address outside its
 * allocations, a handle that it never gave out or that was given back: each is refused. It counts
 * its calls, lets any of them fail, and knows what has not been given back (fake_book.c). A call
 * that gives something back does so even when it is made to fail: what a program can do no more
 * about is no leak. Kernels do not run (fake_launch.c). */
#include "tests/runtime/fake_inside.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEVICES = 2, MAX_DEPTH = 64, PTX_MAJOR = 9, PTX_MINOR = 0 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool initialized;
static int sm_major = 9, sm_minor = 0, can_cluster = 1, driver = 13000;
static bool peers = true, peer_enabled[DEVICES][DEVICES];
static Object primary[DEVICES];
static _Thread_local Object *stack[MAX_DEPTH];
static _Thread_local int depth;

/* ---- what tests ask ---- */

static long live(void) {
    long n = book_count();
    pthread_mutex_lock(&lock);
    for (int i = 0; i < DEVICES; i++) n += primary[i].uses;
    pthread_mutex_unlock(&lock);
    return n;
}

static void forget(void) {
    book_clear();
    for (int i = 0; i < DEVICES; i++) primary[i].uses = 0;
    memset(peer_enabled, 0, sizeof peer_enabled);
}

static int pushed(void) {
    return depth;
}

static void set_device(int major, int minor, int clusters) {
    sm_major = major;
    sm_minor = minor;
    can_cluster = clusters;
}

static void set_connected(bool yes) {
    peers = yes;
}

static void set_driver(int version) {
    driver = version;
}

extern const FakeCuda fake_cuda;
const FakeCuda fake_cuda = {book_let_fail, book_calls,      book_failed, live,
                            forget,        pushed,          fake_last,   set_device,
                            set_connected, fake_set_stream, set_driver,  fake_disturbed};

/* ---- devices and contexts ---- */

bool fake_initialized(void) {
    return atomic_load(&initialized);
}

bool fake_current(void) {
    return depth && stack[depth - 1];
}

CuResult fake_init(unsigned flags) {
    book_read_environment();
    BEGIN();
    if (flags) return INVALID_VALUE;
    atomic_store(&initialized, true);
    return CU_SUCCESS;
}

CuResult fake_driver_version(int *version) {
    BEGIN();
    *version = driver;
    return CU_SUCCESS;
}

static const struct {
    CuResult code;
    const char *name;
} names[] = {
#define ERR(number, name, status) {number, name},
#include "runtime/cuda_errors.def"
#undef ERR
};

CuResult fake_error_name(CuResult error, const char **text) {
    *text = NULL;
    BEGIN();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].code == error) *text = names[i].name;
    return *text ? CU_SUCCESS : INVALID_VALUE;
}

CuResult fake_error_string(CuResult error, const char **text) {
    *text = NULL;
    BEGIN();
    (void)error;
    *text = "the fake driver was told to fail";
    return CU_SUCCESS;
}

CuResult fake_device_count(int *count) {
    BEGIN();
    if (!atomic_load(&initialized)) return NOT_INITIALIZED;
    *count = DEVICES;
    return CU_SUCCESS;
}

CuResult fake_device_get(CuDevice *device, int ordinal) {
    BEGIN();
    if (ordinal < 0 || ordinal >= DEVICES) return INVALID_DEVICE;
    *device = ordinal;
    return CU_SUCCESS;
}

CuResult fake_device_name(char *name, int len, CuDevice device) {
    BEGIN();
    if (device < 0 || device >= DEVICES) return INVALID_DEVICE;
    snprintf(name, (size_t)len, "Fake GPU %d", device);
    return CU_SUCCESS;
}

CuResult fake_device_attribute(int *value, int attribute, CuDevice device) {
    BEGIN();
    if (device < 0 || device >= DEVICES) return INVALID_DEVICE;
    switch (attribute) {
    case CU_DEVICE_CAPABILITY_MAJOR: *value = sm_major; break;
    case CU_DEVICE_CAPABILITY_MINOR: *value = sm_minor; break;
    case CU_DEVICE_MAX_SHARED_OPTIN: *value = 232448; break;
    case CU_DEVICE_MULTIPROCESSORS: *value = 132; break;
    case CU_DEVICE_COOPERATIVE_LAUNCH: *value = 1; break;
    case CU_DEVICE_FLUSH_REMOTE_WRITES: *value = can_cluster; break;
    case CU_DEVICE_CLUSTER_LAUNCH: *value = can_cluster; break;
    default: return INVALID_VALUE;
    }
    return CU_SUCCESS;
}

CuResult fake_primary_retain(CuContext *context, CuDevice device) {
    BEGIN();
    if (device < 0 || device >= DEVICES) return INVALID_DEVICE;
    pthread_mutex_lock(&lock);
    primary[device].uses++;
    pthread_mutex_unlock(&lock);
    *context = (CuContext)&primary[device];
    return CU_SUCCESS;
}

CuResult fake_primary_release(CuDevice device) {
    CuResult r = book_begin(__func__);
    if (device < 0 || device >= DEVICES) return INVALID_DEVICE;
    pthread_mutex_lock(&lock);
    bool held = primary[device].uses > 0;
    if (held) primary[device].uses--;
    pthread_mutex_unlock(&lock);
    return r ? r : held ? CU_SUCCESS : INVALID_CONTEXT;
}

static bool is_primary(const void *context) {
    for (int i = 0; i < DEVICES; i++)
        if (context == &primary[i]) return true;
    return false;
}

CuResult fake_ctx_push(CuContext context) {
    BEGIN();
    if (depth == MAX_DEPTH || (!is_primary(context) && !book_knows(context, CONTEXT)))
        return INVALID_CONTEXT;
    stack[depth++] = (Object *)context;
    return CU_SUCCESS;
}

CuResult fake_ctx_pop(CuContext *context) {
    CuResult r = book_begin(__func__);
    if (depth == 0) return INVALID_CONTEXT;
    *context = (CuContext)stack[--depth];
    return r;
}

CuResult fake_ctx_current(CuContext *context) {
    BEGIN();
    *context = depth ? (CuContext)stack[depth - 1] : NULL;
    return CU_SUCCESS;
}

CuResult fake_ctx_device(CuDevice *device) {
    BEGIN_HERE();
    *device = stack[depth - 1] == &primary[1] ? 1 : 0;
    return CU_SUCCESS;
}

CuResult fake_can_access_peer(int *can, CuDevice device, CuDevice peer) {
    BEGIN();
    if (device < 0 || device >= DEVICES || peer < 0 || peer >= DEVICES) return INVALID_DEVICE;
    *can = peers && device != peer;
    return CU_SUCCESS;
}

static int device_of(const void *context) {
    return context == &primary[1] ? 1 : 0;
}

CuResult fake_enable_peer(CuContext peer, unsigned flags) {
    BEGIN_HERE();
    if (flags) return INVALID_VALUE;
    if (!is_primary(peer) && !book_knows(peer, CONTEXT)) return INVALID_CONTEXT;
    int here = device_of(stack[depth - 1]), there = device_of(peer);
    if (!peers || here == there) return CU_ERROR_PEER_UNSUPPORTED;
    if (peer_enabled[here][there]) return CU_ERROR_PEER_ENABLED;
    peer_enabled[here][there] = true;
    return CU_SUCCESS;
}

CuResult fake_ctx_synchronize(void) {
    BEGIN_HERE();
    return CU_SUCCESS;
}

/* ---- memory ---- */

CuResult fake_mem_alloc(CuPtr *ptr, size_t bytes) {
    BEGIN_HERE();
    if (bytes == 0) return INVALID_VALUE;
    size_t whole = bytes > SIZE_MAX - 255 ? 0 : (bytes + 255) / 256 * 256;
    void *memory = whole && whole < (size_t)1 << 40 ? aligned_alloc(256, whole) : NULL;
    if (!memory || !book_add_memory(memory, bytes)) {
        free(memory);
        return CU_ERROR_OUT_OF_MEMORY;
    }
    *ptr = (CuPtr)(uintptr_t)memory;
    return CU_SUCCESS;
}

CuResult fake_mem_free(CuPtr ptr) {
    CuResult r = book_begin(__func__);
    if (depth == 0) return INVALID_CONTEXT;
    bool mine = book_take((void *)(uintptr_t)ptr, MEMORY);
    return r ? r : mine ? CU_SUCCESS : INVALID_VALUE;
}

CuResult fake_pool_create(CuMemPool *pool, const CuMemPoolProps *props) {
    BEGIN_HERE();
    if (props->kind != CU_MEM_PINNED || props->place != CU_MEM_DEVICE || props->device < 0 ||
        props->device >= DEVICES)
        return INVALID_VALUE;
    Object *o = book_add(POOL, NULL);
    *pool = (CuMemPool)o;
    return o ? CU_SUCCESS : CU_ERROR_OUT_OF_MEMORY;
}

CuResult fake_pool_set_attribute(CuMemPool pool, int attribute, void *value) {
    BEGIN_HERE();
    (void)value;
    return attribute == CU_POOL_KEEPS && book_knows(pool, POOL) ? CU_SUCCESS : INVALID_VALUE;
}

CuResult fake_pool_destroy(CuMemPool pool) {
    CuResult r = book_begin(__func__);
    if (depth == 0) return INVALID_CONTEXT;
    bool mine = book_take(pool, POOL);
    return r ? r : mine ? CU_SUCCESS : INVALID_HANDLE;
}

CuResult fake_pool_alloc(CuPtr *ptr, size_t bytes, CuMemPool pool, CuStream stream) {
    if (!book_knows(pool, POOL) || !is_stream(stream)) return INVALID_HANDLE;
    return fake_mem_alloc(ptr, bytes);
}

CuResult fake_pool_free(CuPtr ptr, CuStream stream) {
    if (!is_stream(stream)) return INVALID_HANDLE;
    return fake_mem_free(ptr);
}

CuResult fake_copy_in(CuPtr to, const void *from, size_t bytes) {
    BEGIN_HERE();
    if (!book_inside(to, bytes)) return INVALID_VALUE;
    memcpy((void *)(uintptr_t)to, from, bytes);
    return CU_SUCCESS;
}

CuResult fake_copy_out(void *to, CuPtr from, size_t bytes) {
    BEGIN_HERE();
    if (!book_inside(from, bytes)) return INVALID_VALUE;
    memcpy(to, (const void *)(uintptr_t)from, bytes);
    return CU_SUCCESS;
}

/* 1 and 2 are the driver's two default streams. */
CuResult fake_copy_within(CuPtr to, CuPtr from, size_t bytes, CuStream stream) {
    BEGIN_HERE();
    if (!is_stream(stream)) return INVALID_HANDLE;
    if (!book_inside(to, bytes) || !book_inside(from, bytes)) return INVALID_VALUE;
    memmove((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
    return CU_SUCCESS;
}

CuResult fake_write_value(CuStream stream, CuPtr to, uint32_t value, unsigned flags) {
    BEGIN_HERE();
    if (!is_stream(stream)) return INVALID_HANDLE;
    if (flags || to % sizeof value || !book_inside(to, sizeof value)) return INVALID_VALUE;
    memcpy((void *)(uintptr_t)to, &value, sizeof value);
    return CU_SUCCESS;
}

/* It would be waiting for ever. */
CuResult fake_wait_value(CuStream stream, CuPtr from, uint32_t value, unsigned flags) {
    uint32_t got;
    BEGIN_HERE();
    if (!is_stream(stream)) return INVALID_HANDLE;
    if (flags & ~(can_cluster ? 1U << 30 : 0)) return INVALID_VALUE;
    if (from % sizeof value || !book_inside(from, sizeof value)) return INVALID_VALUE;
    memcpy(&got, (const void *)(uintptr_t)from, sizeof got);
    return got - value <= INT32_MAX ? CU_SUCCESS : INVALID_VALUE;
}

CuResult fake_copy_peer(CuPtr to, CuContext to_context, CuPtr from, CuContext from_context,
                        size_t bytes, CuStream stream) {
    if (!is_primary(to_context) && !book_knows(to_context, CONTEXT)) return INVALID_CONTEXT;
    if (!is_primary(from_context) && !book_knows(from_context, CONTEXT)) return INVALID_CONTEXT;
    return fake_copy_within(to, from, bytes, stream);
}

/* ---- memory of other processes: here of this one, opened once more at the same address ---- */

static const char ipc_magic[] = "fake";

CuResult fake_ipc_get(CuIpcHandle *handle, CuPtr ptr) {
    BEGIN_HERE();
    CuPtr start;
    size_t bytes;
    if (!book_range(ptr, &start, &bytes) || start != ptr) return INVALID_VALUE;
    memset(handle, 0, sizeof *handle);
    memcpy(handle->bytes, ipc_magic, sizeof ipc_magic);
    memcpy(handle->bytes + 8, &ptr, sizeof ptr);
    return CU_SUCCESS;
}

CuResult fake_ipc_open(CuPtr *ptr, CuIpcHandle handle, unsigned flags) {
    BEGIN_HERE();
    CuPtr start, at;
    size_t bytes;
    memcpy(&at, handle.bytes + 8, sizeof at);
    if (flags != CU_IPC_LAZY_PEERS || memcmp(handle.bytes, ipc_magic, sizeof ipc_magic) ||
        !book_range(at, &start, &bytes) || start != at)
        return INVALID_VALUE;
    if (!peers) return CU_ERROR_PEER_UNSUPPORTED;
    if (!book_add_opened(at)) return CU_ERROR_OUT_OF_MEMORY;
    *ptr = at;
    return CU_SUCCESS;
}

CuResult fake_ipc_close(CuPtr ptr) {
    CuResult r = book_begin(__func__);
    if (depth == 0) return INVALID_CONTEXT;
    bool open = book_take((void *)(uintptr_t)ptr, OPENED);
    return r ? r : open ? CU_SUCCESS : INVALID_VALUE;
}

CuResult fake_address_range(CuPtr *start, size_t *bytes, CuPtr ptr) {
    BEGIN_HERE();
    return book_range(ptr, start, bytes) ? CU_SUCCESS : INVALID_VALUE;
}

CuResult fake_fill(CuPtr to, unsigned char value, size_t bytes) {
    BEGIN_HERE();
    if (!book_inside(to, bytes)) return INVALID_VALUE;
    memset((void *)(uintptr_t)to, value, bytes);
    return CU_SUCCESS;
}

/* ---- modules ---- */

/* What the driver's compiler says goes where the options say. */
static CuResult refuse(CuResult r, unsigned noptions, const int *option, void **value,
                       const char *what) {
    char *log = NULL;
    size_t size = 0;
    for (unsigned i = 0; i < noptions; i++) {
        if (option[i] == CU_JIT_ERROR_LOG_BUFFER) log = value[i];
        if (option[i] == CU_JIT_ERROR_LOG_BYTES) size = (size_t)(uintptr_t)value[i];
    }
    if (log && size) snprintf(log, size, "ptxas application ptx input, %s\n", what);
    return r;
}

CuResult fake_module_load(CuModule *module, const void *image, unsigned noptions, int *option,
                          void **value) {
    BEGIN_HERE();
    const char *text = image, *at = strstr(text, ".version ");
    int major = 0, minor = 0;
    if (!at || sscanf(at, ".version %d.%d", &major, &minor) != 2 || !strstr(text, ".target sm_"))
        return refuse(INVALID_PTX, noptions, option, value, "line 1; fatal : Missing .version");
    if (major > PTX_MAJOR || (major == PTX_MAJOR && minor > PTX_MINOR))
        return refuse(CU_ERROR_UNSUPPORTED_PTX_VERSION, noptions, option, value,
                      "line 1; fatal : Unsupported .version");
    Object *o = book_add(MODULE, NULL);
    if (!o) return CU_ERROR_OUT_OF_MEMORY;
    o->text = strdup(text);
    *module = (CuModule)o;
    return CU_SUCCESS;
}

CuResult fake_module_unload(CuModule module) {
    CuResult r = book_begin(__func__);
    if (!book_knows(module, MODULE)) return INVALID_HANDLE;
    book_take_functions((const Object *)module);
    book_take(module, MODULE);
    return r;
}

/* The bytes of each parameter of the entry whose list starts at `at`. */
static void read_params(Object *f, const char *at) {
    static const char *const key = ".param ";
    const char *end = strchr(at, ')');
    while ((at = strstr(at, key)) && at < end && f->nparams < 32) {
        at += strlen(key);
        f->size[f->nparams++] = (size_t)strtol(at + 2, NULL, 10) / 8; /* .u64 */
    }
}

CuResult fake_module_function(CuFunction *function, CuModule module, const char *name) {
    BEGIN_HERE();
    if (!book_knows(module, MODULE)) return INVALID_HANDLE;
    char key[300];
    int n = snprintf(key, sizeof key, ".entry %s(", name);
    const char *at = strstr(((Object *)module)->text, key);
    if (!at) return CU_ERROR_NOT_FOUND;
    Object *f = book_add(FUNCTION, (Object *)module);
    if (!f) return CU_ERROR_OUT_OF_MEMORY;
    f->dynamic_shared = 48 * 1024;
    read_params(f, at + n);
    *function = (CuFunction)f;
    return CU_SUCCESS;
}

CuResult fake_function_attribute(int *value, int attribute, CuFunction function) {
    BEGIN();
    if (!book_knows(function, FUNCTION)) return INVALID_HANDLE;
    switch (attribute) {
    case CU_FUNC_NUM_REGS: *value = 40; break;
    case CU_FUNC_LOCAL_BYTES: *value = 8; break;
    case CU_FUNC_MAX_THREADS_PER_BLOCK: *value = 1024; break;
    default: return INVALID_VALUE;
    }
    return CU_SUCCESS;
}

CuResult fake_function_set_attribute(CuFunction function, int attribute, int value) {
    BEGIN();
    if (!book_knows(function, FUNCTION)) return INVALID_HANDLE;
    Object *f = (Object *)function;
    if (attribute == CU_FUNC_MAX_DYNAMIC_SHARED)
        f->dynamic_shared = value;
    else if (attribute == CU_FUNC_LARGE_CLUSTERS)
        f->large_clusters = value != 0;
    else
        return INVALID_VALUE;
    return CU_SUCCESS;
}

CuResult fake_occupancy(int *blocks, CuFunction function, int threads, size_t dynamic_shared) {
    BEGIN_HERE();
    if (!book_knows(function, FUNCTION) || threads < 1 || threads > 1024) return INVALID_VALUE;
    int by_shared = dynamic_shared ? (int)(232448 / dynamic_shared) : 32;
    int by_threads = 2048 / threads;
    *blocks = by_shared < by_threads ? by_shared : by_threads;
    return CU_SUCCESS;
}

/* ---- what a program of the caller's does for itself ---- */

extern CuResult cuCtxCreate_v2(CuContext *context, unsigned flags, CuDevice device);
CuResult cuCtxCreate_v2(CuContext *context, unsigned flags, CuDevice device) {
    if (flags || device < 0 || device >= DEVICES) return INVALID_VALUE;
    Object *o = book_add(CONTEXT, NULL);
    if (!o) return CU_ERROR_OUT_OF_MEMORY;
    if (depth < MAX_DEPTH) stack[depth++] = o; /* it is current from now on */
    *context = (CuContext)o;
    return CU_SUCCESS;
}

extern CuResult cuCtxDestroy_v2(CuContext context);
CuResult cuCtxDestroy_v2(CuContext context) {
    if (depth && stack[depth - 1] == (Object *)context) depth--;
    return book_take(context, CONTEXT) ? CU_SUCCESS : INVALID_CONTEXT;
}
