/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fuzz_ptx.c: mutated PTX through its reader and the PTX machine.
 *
 * The corpus is what tilec emits for some kernels and what it does not (tests/machine/). An input
 * must be refused with messages that name a line, or run, up to so many instructions, in a small
 * grid: in the buffers it has, or to a message. */
#include "ptx/machine/machine.h"
#include "tests/fuzz/fuzz.h"
#include "tile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOAD, RUN, END };

enum {
    INPUT_MAX = 1 << 19,
    STEPS_MAX = 20000,
    BUFFER_BYTES = 1 << 14,
    DYNAMIC_BYTES = 100 << 10,
    PATH_BYTES = 4096
};

static bool begin(FuzzCorpus *c) {
    static const struct {
        const char *file, *target, *options;
    } kernels[] = {
        {"examples/vector_add.tl", "sm_80", NULL},
        {"examples/softmax.tl", "sm_80", "num_warps=2"},
        {"examples/layer_norm.tl", "sm_90a", "num_warps=2"},
        {"examples/cumsum.tl", "sm_80", NULL},
        {"examples/dropout.tl", "sm_90a", NULL},
        {"examples/matmul.tl", "sm_80", "num_warps=4,num_stages=2"},
        {"examples/matmul.tl", "sm_90a", "num_warps=4,num_stages=2"},
        {"examples/matmul_int4.tl", "sm_80", NULL},
        {"examples/flash_attention.tl", "sm_80", NULL},
        {"examples/matmul_desc.tir", "sm_90a", NULL},
        {"examples/matmul_roles.tir", "sm_90a", NULL},
        {"examples/matmul_roles_cp.tir", "sm_90a", NULL},
        {"examples/matmul_persistent.tir", "sm_90a", NULL},
        {"examples/streamk.tl", "sm_80", NULL},
        {"examples/streamk.tl", "sm_90a", NULL},
        {"examples/rotary.tl", "sm_80", NULL},
    };
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        char path[PATH_BYTES], *text = malloc(INPUT_MAX);
        size_t n = 0;
        snprintf(path, sizeof path, "%s/%s", c->root, kernels[i].file);
        if (!text || !fuzz_read(path, text, INPUT_MAX, &n)) n = 0;
        tile_compile_options o = {.source = text,
                                  .source_len = n,
                                  .input_is_tir = strstr(path, ".tir") != NULL,
                                  .target = kernels[i].target,
                                  .options = kernels[i].options,
                                  .emit = TILE_EMIT_PTX};
        tile_compiled *made = NULL;
        bool ok = n && tile_compile(&o, &made) == TILE_OK;
        const char *ptx = tile_compiled_text(made, TILE_PART_OUTPUT, &n);
        ok = ok && fuzz_add(c, ptx, n);
        tile_compiled_free(made);
        free(text);
        if (!ok) return false;
    }
    return true;
}

/* The number behind a directive; 0: it has none. */
static uint32_t number_behind(const char *text, const char *directive) {
    const char *at = strstr(text, directive);
    return at ? (uint32_t)strtoul(at + strlen(directive), NULL, 10) : 0;
}

static void print(void *user, const char *text, size_t len) {
    (void)user, (void)text, (void)len;
}

/* Pointers are to buffers that hold small numbers; numbers are small; the rest are maps. */
static bool run_program(FuzzRandom *r, Session *s, const PtxModule *m, const PtxProgram *p,
                        const char *text) {
    static const uint64_t sizes[] = {64, 64}, strides[] = {128};
    static const uint32_t boxes[] = {64, 16}, ones[] = {1, 1};
    const void **param = arena_array(&s->arena, (size_t)p->nparams + 1, sizeof *param);
    PtxBuffer *buffer =
        arena_array(&s->arena, (size_t)(p->nparams + m->nglobals) + 1, sizeof *buffer);
    int n = 0;
    for (int i = 0; i < p->nparams; i++) {
        size_t bytes = (size_t)p->variables.at[i].bytes;
        uint8_t *value = arena_alloc(&s->arena, bytes + 128);
        uint8_t *memory = arena_alloc(&s->arena, BUFFER_BYTES + 256);
        memory += (256 - (uintptr_t)memory % 256) % 256;
        for (int k = 0; k < BUFFER_BYTES; k += 4) memory[k] = (uint8_t)(k / 4 % 7);
        uint64_t address = (uint64_t)(uintptr_t)memory;
        uint32_t small = (uint32_t[]){1, 16, 64, 3}[fuzz_below(r, 4)];
        if (bytes == 128)
            ptx_encode_map(value, 6, 2, address, sizes, strides, boxes, ones, 0, 3, 0, 0);
        else if (bytes == 8)
            memcpy(value, &address, 8);
        else
            memcpy(value, &small, bytes < 4 ? bytes : 4);
        param[i] = value;
        buffer[n++] = (PtxBuffer){.name = "buffer", .base = memory, .bytes = BUFFER_BYTES};
    }
    for (int i = 0; i < m->nglobals; i++)
        if (m->global[i].base) buffer[n++] = m->global[i];
    uint32_t threads = number_behind(text, ".reqntid");
    if (!threads) threads = number_behind(text, ".maxntid");
    uint32_t cluster = number_behind(text, ".reqnctapercluster");
    PtxLaunch launch = {.program = p,
                        .param = param,
                        .grid = {cluster ? cluster : 2, 1, 1},
                        .block = {threads ? threads : 128, 1, 1},
                        .cluster = {cluster, 0, 0},
                        .dynamic_shared = DYNAMIC_BYTES,
                        .buffer = buffer,
                        .nbuffers = n,
                        .checks = fuzz_below(r, 2) ? PTX_CHECK_ALL : (unsigned)fuzz_below(r, 16),
                        .max_steps = STEPS_MAX,
                        .print = print};
    bool ok = ptx_run(s, &launch);
    if (ok == (s->diags.errors != 0))
        fuzz_wrong("a run says one thing and its messages another", NULL);
    return ok;
}

static int one(const uint8_t *data, size_t n) {
    Session s;
    volatile int reached = LOAD;
    if (setjmp(s.bail)) {
        session_free(&s);
        return reached;
    }
    session_init(&s);
    s.arena.limit = (size_t)512 << 20;
    FuzzRandom r = fuzz_choices(data, n);
    const PtxModule *m = ptx_load(&s, (const char *)data, n);
    if (!m && !s.diags.errors) fuzz_wrong("no module and no error", NULL);
    if (m && s.diags.errors) fuzz_wrong("a module and an error", s.diags.first->text);
    if (m && m->nprograms) {
        fuzz_stage(RUN);
        reached = RUN;
        const PtxProgram *p = &m->program[fuzz_below(&r, (size_t)m->nprograms)];
        const char *text = arena_strndup(&s.arena, (const char *)data, n);
        if (run_program(&r, &s, m, p, text)) reached = END;
    }
    for (const Diag *d = s.diags.first; d; d = d->next)
        if (strncmp(d->text, "PTX line ", 9) != 0 && strncmp(d->text, "the PTX machine: ", 17) != 0)
            fuzz_wrong("a message without a line", d->text);
    session_free(&s);
    return reached;
}

static const char *const corpus[] = {"tests/machine/calls.ptx", "tests/machine/maps.ptx",
                                     "tests/machine/words.ptx", NULL};
static const char *const pieces[] = {"_",
                                     "{",
                                     "}",
                                     "[",
                                     "]",
                                     "(",
                                     ")",
                                     ";",
                                     ",",
                                     "|%p1",
                                     "!",
                                     ":",
                                     ".v2",
                                     ".v4",
                                     ".b64",
                                     ".b128",
                                     ".f16x2",
                                     ".pred",
                                     ".global",
                                     ".shared::cluster",
                                     ".param",
                                     "%tid.x",
                                     "{%r1, %r2}",
                                     "[%rd1, {%r1, %r2}]",
                                     "L: bra L;\n",
                                     "bar.sync 0;\n",
                                     "ret;\n",
                                     ".reg .b32 %q<3>;\n",
                                     ".branchtargets",
                                     NULL};
static const char *const stages[] = {"read", "run", "ended", NULL};

const FuzzTarget fuzz_target = {.name = "ptx",
                                .suffix = ".ptx",
                                .most = INPUT_MAX,
                                .word = "%$",
                                .corpus = corpus,
                                .pieces = pieces,
                                .stages = stages,
                                .begin = begin,
                                .one = one};
