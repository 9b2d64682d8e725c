/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_faults.c: the life of a program while the n-th call of the driver fails with each error it
 * has, while the n-th allocation fails, while the n-th file operation fails, for every n; and
 * without parts of the driver. Each time: a status, a sentence, nothing lost. Leaks of host memory
 * are AddressSanitizer's to find, in the asan build. */
#include "tests/runtime/faults.h"
#include "tests/runtime/life.h"
#include "tests/scratch.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const FakeCuda *fake;
static char file[2][SCRATCH_SIZE]; /* of a GPU, of the CPU */
static int passed, failed;
static int (*create_context)(void **context, unsigned flags, int device);
static int (*destroy_context)(void *context);

static const struct {
    int code;
    const char *name;
    tile_status status;
} errors[] = {
#define ERR(number, name, status) {number, name, status},
#include "runtime/cuda_errors.def"
#undef ERR
};

static void check(bool good, const char *what, long n, const char *where, const Life *l) {
    passed += good;
    failed += !good;
    if (!good)
        printf("faults: %s, %ld (%s): %s at %s: %s%s\n", what, n, where,
               tile_status_text(l->status), l->step, l->text,
               l->result_wrong ? " (wrong result)" : "");
}

/* Every tensor was given back, no context is current that was not, and of the driver's things are
 * left at most `lost`. */
static bool clean(const Life *l, long lost) {
    long left = fake->live();
    fake->forget();
    return l->held == 0 && left <= lost && fake->depth() == 0;
}

/* Failures of these are no failure of the program: it ends, or there is another way. */
static bool may_go_unseen(const char *entry) {
    static const char *const list[] = {"fake_ctx_pop",
                                       "fake_error_name",
                                       "fake_error_string",
                                       "fake_module_unload",
                                       "fake_ctx_current",
                                       "fake_event_destroy",
                                       "fake_primary_release",
                                       "fake_mem_free",
                                       "fake_ipc_close",
                                       "fake_stream_destroy",
                                       "fake_device_attribute",
                                       "fake_driver_version",
                                       "fake_pool_create", /* no loop is shared out */
                                       "fake_pool_set_attribute",
                                       "fake_pool_destroy"};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        if (strcmp(list[i], entry) == 0) return true;
    return false;
}

/* The status that error i of `entry` should lead to. */
static bool status_fits(size_t i, const char *entry, tile_status st) {
    if (strcmp(entry, "fake_init") == 0 || strcmp(entry, "fake_device_count") == 0)
        return st == TILE_NO_DEVICE;
    if (strcmp(entry, "fake_module_function") == 0 && errors[i].code == 500)
        return st == TILE_BAD_MODULE;
    if (strcmp(entry, "fake_enable_peer") == 0 && errors[i].code == 704 && st == TILE_OK)
        return true;
    if (strcmp(entry, "fake_event_query") == 0 && errors[i].code == 600 && st == TILE_OK)
        return true;
    if (errors[i].status == TILE_INVALID)
        return st == TILE_INVALID || st == TILE_BAD_MODULE || st == TILE_BAD_LAUNCH;
    return st == errors[i].status;
}

/* A life on the GPU; `own`: in a CUcontext of the program's, which is current. */
static Life gpu_life(bool own) {
    void *cu = NULL;
    if (own && create_context(&cu, 0, 0)) exit(2);
    Life l = life_run("cuda", cu, file[0]);
    if (own) destroy_context(cu);
    return l;
}

/* Every call, every error; the call alone, or it and all later ones, as after a fault. */
static void driver_fails(bool own, bool on) {
    fake->let_fail(0, 0, false);
    Life l = gpu_life(own);
    long calls = fake->calls();
    check(l.status == TILE_OK && !l.result_wrong && clean(&l, 0) && calls > 50, "no fault", calls,
          "", &l);
    long work = l.calls; /* what comes after only gives back */
    for (long n = 1; n <= calls; n++) {
        bool good = true;
        const char *entry = "";
        for (size_t i = 0; good && i < sizeof errors / sizeof *errors; i++) {
            fake->let_fail(n, errors[i].code, on);
            l = gpu_life(own);
            entry = fake->failed();
            fake->let_fail(0, 0, false);
            /* What cannot be reached cannot be given back: one thing for a context that could not
             * be pushed, anything for a driver that does nothing any more. */
            good = entry != NULL && clean(&l, on ? LONG_MAX : strcmp(entry, "fake_ctx_push") == 0);
            if (!good) break;
            if (l.status == TILE_OK)
                good = n > work || may_go_unseen(entry) || status_fits(i, entry, TILE_OK);
            else if (!on || !may_go_unseen(entry))
                good = status_fits(i, entry, l.status) || may_go_unseen(entry);
            if (l.status) good = good && l.text[0];
        }
        check(good, on ? "driver fails from call" : "driver fails at call", n, entry ? entry : "",
              &l);
    }
}

/* An allocation may fail where the library has another way; else the status says so. */
static void memory_fails(const char *device, const char *path, bool on) {
    fake->let_fail(0, 0, false);
    fault_arm(FAULT_MEMORY, 0, false);
    Life l = life_run(device, NULL, path);
    long count = fault_disarm();
    check(l.status == TILE_OK && clean(&l, 0) && count > 10, "memory, no fault", count, device, &l);
    int seen = 0;
    for (long n = 1; n <= count; n++) {
        fault_arm(FAULT_MEMORY, n, on);
        l = life_run(device, NULL, path);
        fault_disarm();
        bool good = clean(&l, 0) &&
                    (l.status == TILE_NO_MEMORY || (l.status == TILE_OK && !on && !l.result_wrong));
        if (l.status && strcmp(l.step, "opening") != 0) good = good && l.text[0];
        seen += l.status == TILE_NO_MEMORY;
        check(good, on ? "memory from allocation" : "memory at allocation", n, device, &l);
    }
    check(seen > 5, "failed allocations that were seen", seen, device, &l);
}

static void files_fail(const char *device, const char *path) {
    fault_arm(FAULT_FILE, 0, false);
    Life l = life_run(device, NULL, path);
    long count = fault_disarm();
    check(l.status == TILE_OK && count >= 3, "files, no fault", count, device, &l);
    for (long n = 1; n <= count; n++) {
        fault_arm(FAULT_FILE, n, false);
        l = life_run(device, NULL, path);
        fault_disarm();
        check(l.status == TILE_IO && strstr(l.text, path) && clean(&l, 0), "file operation", n,
              device, &l);
    }
}

/* A driver that is not there, or lacks an entry point. */
static void parts_missing(void) {
    fault_missing("libcuda.so.1");
    Life l = life_run("cuda", NULL, file[0]);
    check(l.status == TILE_NO_DEVICE && strstr(l.text, "no CUDA driver"), "missing", 0,
          "libcuda.so.1", &l);
    l = life_run("auto", NULL, file[1]);
    check(l.status == TILE_OK && !l.result_wrong, "missing, on to the CPU", 0, "", &l);
    static const struct {
        const char *symbol;
        tile_status want;
    } entries[] = {
#define FN(symbol, member, params) {symbol, TILE_NO_DEVICE},
#define OPTIONAL(symbol, member, params) {symbol, TILE_BAD_MODULE},
#define POOL(symbol, member, params) {symbol, TILE_OK},
#define GRAPH(symbol, member, params) {symbol, TILE_OK},
#define CALLED(symbol, member, params) {symbol, TILE_UNSUPPORTED},
#include "runtime/cuda_api.def"
#undef FN
    };
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        fault_missing(entries[i].symbol);
        l = life_run("cuda", NULL, file[0]);
        tile_status want = entries[i].want;
        bool said = want ? strstr(l.text, entries[i].symbol) != NULL : !l.result_wrong;
        check(l.status == want && said && clean(&l, 0), "missing", (long)i, entries[i].symbol, &l);
    }
    fault_missing(NULL);
}

static bool write_modules(void) {
    for (int cpu = 0; cpu < 2; cpu++) {
        int fd = mkstemp(scratch(file[cpu], "tile-life"));
        FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
        if (!f || fputs(life_module(cpu), f) < 0 || fclose(f)) return false;
    }
    return true;
}

int main(void) {
    fault_init();
    fake = fault_driver();
    if (!write_modules()) {
        fprintf(stderr, "cannot write %s\n", file[0]);
        return 2;
    }
    fault_driver_symbol("cuCtxCreate_v2", &create_context, sizeof create_context);
    fault_driver_symbol("cuCtxDestroy_v2", &destroy_context, sizeof destroy_context);
    for (int mode = 0; mode < 4; mode++) driver_fails(mode & 2, mode & 1);
    static const char *const devices[] = {"cuda", "cpu", "ptx"};
    for (int i = 0; i < 3; i++) {
        const char *path = file[strcmp(devices[i], "cpu") == 0];
        memory_fails(devices[i], path, false);
        memory_fails(devices[i], path, true);
        files_fail(devices[i], path);
    }
    parts_missing();
    for (int cpu = 0; cpu < 2; cpu++) unlink(file[cpu]);
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
