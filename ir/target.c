/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* target.c: the name of a target, a GPU or a generation -> a row of the table of targets. */
#include "ir/target.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

const Target target_table[] = {
#define TARGET(id, name_, sm_, gpus_, cpu, feature, cpu_19, feature_19, version, shared, reserved, \
               regs, ...)                                                                          \
    {.name = name_,                                                                                \
     .sm = sm_,                                                                                    \
     .gpus = gpus_,                                                                                \
     .processor = cpu,                                                                             \
     .ptx_feature = feature,                                                                       \
     .processor_19 = cpu_19,                                                                       \
     .ptx_feature_19 = feature_19,                                                                 \
     .ptx_version = version,                                                                       \
     .max_shared = shared,                                                                         \
     .reserved_shared = reserved,                                                                  \
     .registers = regs,                                                                            \
     __VA_ARGS__},
#include "ir/target.def"
#undef TARGET
};
const int target_count = (int)(sizeof target_table / sizeof *target_table);

#define TARGET(id, name, ...) " " name
const char target_words[] = "native"
#include "ir/target.def"
    ;
const char target_help[] =
    "one of"
#include "ir/target.def"
    "\n(default: the first, whose code runs on every later GPU), or a GPU's name: "
    "'RTX 4090';\nnative: the GPU of this machine; of a header or launcher also several: "
    "sm_80,sm_90a";
#undef TARGET

static const struct {
    const char *name;
    int sm;
} gpus[] = {
#define GPU(name_, sm_) {name_, sm_},
#include "ir/gpus.def"
#undef GPU
};
enum { GPUS = sizeof gpus / sizeof *gpus };

const Target *target_default(void) {
    return &target_table[0];
}

bool target_runs(const Target *t, int sm) {
    return t->only_here ? t->sm == sm : t->sm <= sm;
}

int64_t target_programs(const Target *t, int64_t shared_bytes) {
    return (t->max_shared + t->reserved_shared) / (shared_bytes + t->reserved_shared);
}

int64_t target_programs_with_registers(const Target *t, int64_t shared_bytes, int64_t warps) {
    /* A sum of 64x64 in 4 warps with 64 registers spills 136 bytes. */
    enum { LANES = 32, ENOUGH_REGISTERS = 128 };
    int64_t n = target_programs(t, shared_bytes),
            fit = t->registers / (warps * LANES) / ENOUGH_REGISTERS;
    if (n > fit) n = fit;
    return n < 1 ? 1 : n;
}

int64_t target_registers_shared(const Target *t, int64_t programs, int64_t warps) {
    enum { LANES = 32, STEP = 8 };
    if (programs < 1) programs = 1;
    return t->registers / (programs * warps * LANES) / STEP * STEP;
}

int target_thread_registers(const Target *t, int warps) {
    enum { MOST_REGISTERS = 255, WARPGROUP = 4 };
    int64_t n = target_registers_shared(t, 1, (warps + WARPGROUP - 1) / WARPGROUP * WARPGROUP);
    return n < MOST_REGISTERS ? (int)n : MOST_REGISTERS;
}

const Target *target_best(int sm) {
    const Target *best = NULL;
    for (int i = 0; i < target_count; i++)
        if (target_runs(&target_table[i], sm) && (!best || target_table[i].sm > best->sm))
            best = &target_table[i];
    return best;
}

/* ---- names of GPUs ---- */

static bool is_separator(char c) {
    return c == ' ' || c == '-' || c == '_';
}

/* What follows `name` at the start of s, by letters and digits alone; NULL when s begins otherwise,
 * or goes on within a number. */
static const char *after(const char *s, const char *name) {
    for (;; s++, name++) {
        while (is_separator(*s)) s++;
        while (is_separator(*name)) name++;
        if (!*name) break;
        if (tolower((unsigned char)*s) != *name) return NULL;
    }
    bool within = isdigit((unsigned char)*s) && !is_separator(s[-1]);
    return within ? NULL : s;
}

static const char *without_maker(const char *s) {
    static const char *const maker[] = {"nvidia", "geforce", "quadro", "tesla", "jetson"};
    for (size_t i = 0; i < sizeof maker / sizeof *maker; i++) {
        const char *rest = after(s, maker[i]);
        if (rest) s = rest;
    }
    return s;
}

/* The compute capability times 10 of a GPU called so; 0: not known. */
static int gpu_sm(const char *name) {
    int sm = 0;
    size_t longest = 0;
    name = without_maker(name);
    for (int i = 0; i < GPUS; i++) {
        size_t n = strlen(gpus[i].name);
        if (n <= longest || !after(name, gpus[i].name)) continue;
        longest = n;
        sm = gpus[i].sm;
    }
    return sm;
}

const Target *target_find(const char *name) {
    for (int i = 0; i < target_count; i++)
        if (strcmp(target_table[i].name, name) == 0) return &target_table[i];
    return target_best(gpu_sm(name));
}

/* ---- what there is none of ---- */

/* 75 of "sm_75" and "sm_75a", also "sm75" and "compute_75"; 0: it is written otherwise. */
static int sm_number(const char *name) {
    const char *s = strncmp(name, "compute", 7) == 0 ? name + 7
                    : strncmp(name, "sm", 2) == 0    ? name + 2
                                                     : NULL;
    if (!s) return 0;
    s += *s == '_';
    size_t digits = strspn(s, "0123456789");
    return digits >= 2 && digits <= 3 && strlen(s) <= digits + 1 ? atoi(s) : 0;
}

static void list_targets(Buf *out) {
    for (int i = 0; i < target_count; i++)
        buf_printf(out, "%s%s", i ? ", " : "", target_table[i].name);
}

void target_explain(const char *name, Buf *out) {
    int sm = sm_number(name) ? sm_number(name) : gpu_sm(name);
    const Target *best = target_best(sm);
    if (sm && !best) {
        buf_printf(out,
                   "'%s' is too old: tilec's code stands on asynchronous copies (cp.async) and on "
                   "matrix instructions of bf16 and tf32, and sm_%d has none; they begin with %s",
                   name, sm, target_default()->name);
        return;
    }
    buf_printf(out, "unknown target '%s': ", name);
    for (int i = 0; i < target_count; i++) /* it may have a letter that we have not */
        if (target_table[i].sm == sm) best = &target_table[i];
    if (best) {
        buf_printf(out, "the nearest that serves it is %s", best->name);
        return;
    }
    const char *names[GPUS];
    for (int i = 0; i < GPUS; i++) names[i] = gpus[i].name;
    char small[32];
    size_t n = 0;
    for (const char *s = without_maker(name); *s && n + 1 < sizeof small; s++)
        small[n++] = (char)tolower((unsigned char)*s);
    small[n] = '\0';
    const char *near = nearest_name(small, names, GPUS);
    if (near) buf_printf(out, "did you mean '%s'? ", near);
    buf_puts(out, near ? "It is one of " : "it is one of ");
    list_targets(out);
    buf_puts(out, ", or a GPU's name such as 'RTX 4090'");
}
