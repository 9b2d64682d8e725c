/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fuzz_manifest.c: mutated manifests, of PTX whose kernels do nothing.
 *
 * The corpus is what tilec writes at the head of some kernels' PTX. A module is refused with a
 * sentence, or all that is said of its kernels holds together, and they are launched, on the fake
 * driver or the PTX machine, with arguments that fit and with some that do not. */
#include "runtime/runtime.h"
#include "tests/fuzz/driver.h"
#include "tests/fuzz/fuzz.h"
#include "tile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOAD, LOADED, LAUNCHED };

enum { INPUT_MAX = 1 << 14, CODE_MAX = 1 << 13, SOURCE_MAX = 1 << 17, BUFFER_BYTES = 1 << 12 };

static const FakeCuda *fake;
static tile_context *context[2]; /* the fake driver's, the PTX machine's */
static tile_ptr buffer[2];
static long live; /* what the driver has given out between inputs */
static char code[CODE_MAX];

/* ---- the corpus ---- */

/* The manifest's lines, and an entry without a body for each in the code. */
static bool add_manifest(FuzzCorpus *c, const char *ptx, size_t *used) {
    static const char last[] = "// tilec manifest end\n", entry[] = ".visible .entry ";
    const char *end = strstr(ptx, last);
    if (!end || !fuzz_add(c, ptx, (size_t)(end - ptx) + sizeof last - 1)) return false;
    for (const char *at = end; (at = strstr(at, entry)); at++) {
        at += sizeof entry - 1;
        size_t n = strcspn(at, "(");
        *used += (size_t)snprintf(code + *used, CODE_MAX - *used, "%s%.*s()\n{\n ret;\n}\n", entry,
                                  (int)n, at);
    }
    return *used < CODE_MAX;
}

static bool compile(FuzzCorpus *c, const char *file, const char *target, char *room, size_t *used) {
    char path[4096];
    size_t n;
    tile_compiled *made = NULL;
    snprintf(path, sizeof path, "%s/examples/%s", c->root, file);
    if (!fuzz_read(path, room, SOURCE_MAX, &n)) return false;
    tile_compile_options o = {.source = room,
                              .source_len = n,
                              .input_is_tir = strstr(file, ".tir") != NULL,
                              .target = target};
    bool ok = tile_compile(&o, &made) == TILE_OK &&
              add_manifest(c, tile_compiled_text(made, TILE_PART_OUTPUT, NULL), used);
    tile_compiled_free(made);
    return ok;
}

static bool begin(FuzzCorpus *c) {
    static const struct {
        const char *file, *target;
    } kernels[] = {{"vector_add.tl", "sm_80"},    {"matmul.tl", "sm_90a"},
                   {"streamk.tl", "sm_80"},       {"streamk.tl", "sm_90a"},
                   {"matmul_desc.tir", "sm_90a"}, {"matmul_persistent.tir", "sm_90a"},
                   {"layer_norm.tl", "sm_80"},    {"dropout.tl", "sm_80"}};
    char *room = malloc(SOURCE_MAX);
    size_t used = (size_t)snprintf(code, CODE_MAX, ".version 7.8\n.target sm_80\n");
    bool ok = room != NULL;
    for (size_t i = 0; ok && i < sizeof kernels / sizeof *kernels; i++)
        ok = compile(c, kernels[i].file, kernels[i].target, room, &used);
    free(room);
    fake = fuzz_driver();
    if (!ok || !fake) return false;
    fake->device(9, 0, 1);
    ok = !tile_context_create("cuda", &context[0]) && !tile_context_create("ptx", &context[1]);
    for (int i = 0; ok && i < 2; i++)
        ok = !tile_alloc(context[i], BUFFER_BYTES, &buffer[i]) &&
             !tile_fill(context[i], buffer[i], 0, BUFFER_BYTES);
    live = ok ? fake->live() : 0;
    return ok;
}

static void end(void) {
    for (int i = 0; i < 2; i++) tile_context_destroy(context[i]);
    if (fake && fake->live()) fuzz_wrong("the driver misses something", NULL);
}

/* ---- one input ---- */

static tile_arg argument(FuzzRandom *r, const tile_kernel_param *p, tile_ptr memory) {
    int64_t small = (int64_t)fuzz_below(r, 4) * 16;
    if (!fuzz_below(r, 40)) return tile_int((tile_type)fuzz_below(r, 20), (int64_t)fuzz_next(r));
    if (p->none) return tile_none();
    if (p->type == TILE_POINTER) return tile_pointer(memory);
    if (p->type >= TILE_FP8E4NV) return tile_float(p->type, 1.5);
    return tile_int(p->type, p->has_equals                            ? p->equals
                             : p->divisible > 1 && p->divisible < 256 ? p->divisible
                                                                      : small);
}

static void see_entry(void *user, const char *entry, const char *why_not) {
    const char **taken = user;
    if (*taken || (why_not && !*why_not)) fuzz_wrong("entries are told in order", entry);
    if (!why_not) *taken = entry;
}

static bool launch(FuzzRandom *r, tile_context *ctx, tile_kernel *k, tile_ptr memory) {
    tile_kernel_info info;
    tile_kernel_param p;
    tile_grid grid = {2, 1, 1}, own;
    int64_t value;
    if (tile_kernel_describe(k, &info) || !info.name || info.num_params < 0)
        fuzz_wrong("a kernel that is not described", tile_error(ctx));
    tile_arg *arg = calloc((size_t)info.num_params + 1, sizeof *arg);
    for (int i = 0; arg && i < info.num_params; i++) {
        if (tile_kernel_get_param(k, i, &p) || !p.name || !p.type_text || p.divisible < 1)
            fuzz_wrong("a parameter that is not described", info.name);
        arg[i] = argument(r, &p, memory);
    }
    if (!tile_kernel_get_param(k, info.num_params, &p)) fuzz_wrong("one parameter more", NULL);
    const char *const ask[] = {info.flops, info.bytes};
    for (int i = 0; arg && i < 2; i++)
        if (ask[i]) tile_kernel_value(k, ask[i], arg, info.num_params, &value);
    bool states = tile_kernel_grid(k, NULL, arg, info.num_params, &own) == TILE_OK;
    const char *taken = NULL;
    tile_status asked = tile_kernel_entry(k, &grid, arg, info.num_params, see_entry, &taken);
    if (asked ? !*tile_error(ctx) : !taken) fuzz_wrong("no entry and no error", info.name);
    bool small = states && (uint64_t)own.x * own.y * own.z < 64 && own.x < 64 && own.y < 64;
    tile_status st = tile_launch(k, small && fuzz_below(r, 2) ? NULL : &grid, arg,
                                 info.num_params - !fuzz_below(r, 40), NULL);
    if (st && !*tile_error(ctx)) fuzz_wrong("refused without a word", tile_status_text(st));
    free(arg);
    return st == TILE_OK;
}

static int one(const uint8_t *data, size_t n) {
    FuzzRandom r = fuzz_choices(data, n);
    char *text = malloc(n + CODE_MAX + 1);
    tile_module *m = NULL;
    int which = fuzz_below(&r, 3) == 0, reached = LOAD;
    tile_context *ctx = context[which];
    if (!text) return LOAD;
    memcpy(text, data, n);
    size_t len = n + (size_t)snprintf(text + n, CODE_MAX, "\n%s", code);
    tile_status st = tile_module_load(ctx, text, len, &m);
    free(text);
    if (st && !*tile_error(ctx)) fuzz_wrong("refused without a word", tile_status_text(st));
    if (st && m) fuzz_wrong("a module and an error", tile_error(ctx));
    if (!st) fuzz_stage(reached = LOADED);
    for (int i = 0; !st && i < m->nkernels; i++) {
        tile_kernel *k;
        if (tile_kernel_get(m, m->kernel[i].name, &k))
            fuzz_wrong("a kernel that is not found", m->kernel[i].name);
        if (launch(&r, ctx, k, buffer[which])) reached = LAUNCHED;
    }
    tile_synchronize(ctx);
    tile_module_unload(m);
    if (fake->live() != live) fuzz_wrong("the driver misses something", NULL);
    return reached;
}

static const char *const pieces[] = {"\"name\"",
                                     "\"type\"",
                                     "\"divisible\": 16",
                                     "\"equals\": 1",
                                     "\"none\": true",
                                     "\"params\"",
                                     "\"kernels\"",
                                     "\"entry\"",
                                     "\"shared\": 0",
                                     "\"num_warps\": 4",
                                     "\"cluster\"",
                                     "[2, 1, 1]",
                                     "\"grid\"",
                                     "\"cdiv(n, 16)\"",
                                     "\"hidden\"",
                                     "\"entries\"",
                                     "\"constexprs\"",
                                     "\"cooperative\": true",
                                     "\"*fp16\"",
                                     "\"i32\"",
                                     "\"fp64\"",
                                     "\"**i8\"",
                                     "null",
                                     "true",
                                     "{}",
                                     "[]",
                                     "1e3",
                                     "99999999999",
                                     "\"flops\": \"2*n\"",
                                     "\\u0000",
                                     "\\u001b",
                                     "\n// ",
                                     "\"maps\"",
                                     "\"n // 0\"",
                                     "\"target\": \"sm_90a\"",
                                     "\"bytes\"",
                                     "n.itemsize",
                                     "// tilec manifest end\n",
                                     NULL};
static const char *const stages[] = {"loaded", "described", "launched", NULL};

const FuzzTarget fuzz_target = {.name = "manifest",
                                .suffix = ".ptx",
                                .most = INPUT_MAX,
                                .word = "",
                                .pieces = pieces,
                                .stages = stages,
                                .begin = begin,
                                .end = end,
                                .one = one};
