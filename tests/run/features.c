/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* features.c: runs the rows of the table of features: parses a row's parameters, makes its buffers,
 * launches it, and compares every output with the reference or with another device. */
#include "tests/run/features.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { UNTOUCHED = 0xCD };

/* One row with its types filled in. */
typedef struct Instance {
    const Feature *f;
    tile_type t, u;
    Slot slot[MAX_SLOTS];
    int nslots;
    bool unspecialised;
    char name[120];
} Instance;

static const struct FillName {
    const char *name;
    Fill fill;
} fill_names[] = {{"bits", FILL_BITS},       {"small", FILL_SMALL}, {"whole", FILL_WHOLE},
                  {"divisor", FILL_DIVISOR}, {"log2", FILL_LOG2},   {"normal", FILL_NORMAL},
                  {"special", FILL_SPECIAL}, {"count", FILL_COUNT}};
enum { NFILLS = sizeof fill_names / sizeof *fill_names };

/* ---- a row's parameters ---- */

/* Reads one parameter; the first character behind it. The table is part of this program: a mistake
 * in it ends the program. */
static const char *read_slot(const Instance *in, const char *p, Slot *slot) {
    const char *start = p;
    *slot = (Slot){.is_output = *p == '>'};
    p += *p == '>';
    size_t len = 0;
    while (isalnum((unsigned char)p[len])) len++;
    slot->type = len == 1 && *p == 'T' ? in->t : len == 1 && *p == 'U' ? in->u : type_find(p, len);
    p += len;
    char *end = NULL;
    if (*p == '[') {
        slot->is_buffer = true;
        slot->n = (size_t)strtoull(p + 1, &end, 10);
        p = end + 1;
    } else if (*p == '=') {
        slot->value = strtoll(p + 1, &end, 0);
        p = end;
    }
    bool known = slot->type != TILE_NONE && end;
    if (*p == ':') {
        for (len = 1; isalnum((unsigned char)p[len]); len++) continue;
        int i = 0;
        while (i < NFILLS && (strlen(fill_names[i].name) != len - 1 ||
                              memcmp(fill_names[i].name, p + 1, len - 1) != 0))
            i++;
        known = known && i < NFILLS;
        slot->fill = known ? fill_names[i].fill : FILL_BITS;
        p += len;
    }
    if (known && (*p == '\0' || *p == ' ')) return p;
    fprintf(stderr, "tile-kernels: the table of features is wrong at: %s\n", start);
    exit(4);
}

static void make_slots(Instance *in, uint64_t seed) {
    in->nslots = 0;
    for (const char *p = in->f->params; *p;) {
        while (*p == ' ') p++;
        Slot *slot = &in->slot[in->nslots++];
        p = read_slot(in, p, slot);
        if (!slot->is_buffer) continue;
        size_t bytes = slot->n * type_size(slot->type);
        slot->data = suite_alloc(bytes);
        seed += 1000003;
        uint64_t state = seed;
        if (slot->is_output)
            memset(slot->data, UNTOUCHED, bytes);
        else
            fill(slot->fill, slot->type, slot->data, slot->n, &state);
    }
    in->f->want(in->slot);
}

static void free_slots(Instance *in) {
    for (int i = 0; i < in->nslots; i++) free(in->slot[i].data);
}

/* ---- running ---- */

static Source source_of(const Instance *in, char *path, size_t size) {
    snprintf(path, size, "tests/run/%s.tl", in->f->file);
    const char *warps = in->f->defines ? strstr(in->f->defines, "WARPS=") : NULL;
    return (Source){.file = path,
                    .defines = in->f->defines,
                    .unspecialised = in->unspecialised,
                    .num_warps = warps ? atoi(warps + strlen("WARPS=")) : 0};
}

/* Buffers for the slots of one instance, and the arguments with them. */
static bool make_arrays(Suite *s, const Instance *in, Array *array, Arg *arg) {
    for (int i = 0; i < in->nslots; i++) {
        const Slot *slot = &in->slot[i];
        if (!slot->is_buffer) {
            arg[i] = give_int(slot->type, slot->value);
            continue;
        }
        if (!array_make(s, &array[i], slot->type, slot->n, in->unspecialised ? 1 : 0) ||
            !array_poison(s, &array[i], UNTOUCHED) ||
            (!slot->is_output && !array_write(s, &array[i], slot->data)))
            return false;
        arg[i] = give_array(&array[i]);
    }
    return true;
}

static bool launch(Suite *s, const Instance *in, Array *array) {
    Arg arg[MAX_SLOTS];
    char path[200];
    const char *why = "";
    Source source = source_of(in, path, sizeof path);
    const tile_grid *grid = in->f->grid.x ? &in->f->grid : NULL;
    if (!make_arrays(s, in, array, arg)) return false;
    if (kernel_run(s, &source, grid, arg, in->nslots, &why)) return true;
    suite_case(s, false, "%s: %s", in->name, why);
    return false;
}

static bool near(const Feature *f, tile_type t, const void *got, const void *want, size_t i) {
    size_t size = type_size(t);
    if (memcmp((const char *)got + i * size, (const char *)want + i * size, size) == 0) return true;
    if (!type_is_float(t)) return false;
    double x = value_get(t, got, i), y = value_get(t, want, i);
    if (isnan(x) && isnan(y)) return true;
    int precision = t == TILE_FP16 ? 11 : t == TILE_BF16 ? 8 : t == TILE_FP32 ? 24 : 53;
    return fabs(x - y) <= ldexp(f->last_places, -precision) * fabs(y) + f->off;
}

/* Every element, and one case for each buffer. */
static void compare(Suite *s, const Instance *in, const Slot *slot, const void *got,
                    const void *want) {
    size_t i = 0;
    while (i < slot->n && near(in->f, slot->type, got, want, i)) i++;
    bool right = i == slot->n;
    suite_case(s, right, "%s: parameter %d: element %zu is %.17g, not %.17g", in->name,
               (int)(slot - in->slot), i, right ? 0 : value_get(slot->type, got, i),
               right ? 0 : value_get(slot->type, want, i));
}

static void run_instance(Suite *s, Instance *in) {
    Array array[MAX_SLOTS] = {{0}};
    make_slots(in, 17);
    bool ran = launch(s, in, array);
    for (int i = 0; i < in->nslots && ran; i++) {
        const void *got = in->slot[i].is_buffer ? array_read(s, &array[i], in->name) : NULL;
        if (got) compare(s, in, &in->slot[i], got, in->slot[i].data);
    }
    for (int i = 0; i < in->nslots; i++) array_free(s, &array[i]);
    free_slots(in);
}

/* Both devices get the same inputs; what they leave in the buffers must agree. */
static void diff_instance(Suite *cpu, Suite *gpu, Instance *in) {
    for (uint64_t seed = 100; seed < 104; seed++) {
        Array on_cpu[MAX_SLOTS] = {{0}}, on_gpu[MAX_SLOTS] = {{0}};
        make_slots(in, seed);
        bool ran = launch(cpu, in, on_cpu) && launch(gpu, in, on_gpu);
        for (int i = 0; i < in->nslots && ran; i++) {
            if (!in->slot[i].is_buffer) continue;
            const void *got = array_read(gpu, &on_gpu[i], in->name);
            const void *want = array_read(cpu, &on_cpu[i], in->name);
            if (got && want) compare(gpu, in, &in->slot[i], got, want);
        }
        for (int i = 0; i < in->nslots; i++) {
            array_free(cpu, &on_cpu[i]);
            array_free(gpu, &on_gpu[i]);
        }
        free_slots(in);
        gpu->group_failed += cpu->group_failed;
        cpu->group_failed = 0;
    }
}

/* ---- all instances ---- */

/* The next word of a list of types; TILE_NONE at its end. An empty list has one word. */
static tile_type next_type(const char **list) {
    while (**list == ' ') ++*list;
    size_t len = strcspn(*list, " ");
    tile_type t = len ? type_find(*list, len) : TILE_NONE;
    *list += len;
    return t;
}

bool feature_exists(const char *file) {
    for (int row = 0; row < feature_count; row++)
        if (strcmp(features[row].file, file) == 0) return true;
    return false;
}

typedef void Visit(void *context, Instance *in);

static void each_instance(Suite *s, Visit *visit, void *context, bool by_row) {
    for (int row = 0; row < feature_count; row++) {
        const Feature *f = &features[row];
        if (s->only && strcmp(s->only, "features") != 0 && strcmp(s->only, f->file) != 0) continue;
        const char *ts = f->types ? f->types : "i32";
        for (tile_type t; (t = next_type(&ts)) != TILE_NONE;) {
            const char *us = f->other_types ? f->other_types : "i32";
            for (tile_type u; (u = next_type(&us)) != TILE_NONE;)
                for (int plain = 0; plain < (f->other_types ? 1 : 2); plain++) {
                    Instance in = {.f = f, .t = t, .u = u, .unspecialised = plain};
                    snprintf(in.name, sizeof in.name, "%s%s%s%s%s%s%s", f->file,
                             f->defines ? " " : "", f->defines ? f->defines : "",
                             f->types ? " " : "", f->types ? type_name(t) : "",
                             f->other_types ? " " : "", f->other_types ? type_name(u) : "");
                    visit(context, &in);
                }
        }
        bool last = row + 1 == feature_count || strcmp(features[row + 1].file, f->file) != 0;
        if (by_row && last) suite_group(s, "%s", f->file);
    }
}

static void visit_expect(void *context, Instance *in) {
    Suite *s = context;
    Arg arg[MAX_SLOTS];
    char path[200];
    Source source = source_of(in, path, sizeof path);
    make_slots(in, 0);
    for (int i = 0; i < in->nslots; i++) {
        const Slot *slot = &in->slot[i];
        Array some = {.type = slot->type, .ptr = 256};
        if (in->unspecialised) some.ptr += type_size(slot->type);
        arg[i] = slot->is_buffer ? give_array(&some) : give_int(slot->type, slot->value);
    }
    variant_expect(s, &source, arg, in->nslots);
    free_slots(in);
}

static void visit_run(void *context, Instance *in) {
    run_instance(context, in);
}

void run_features(Suite *s) {
    each_instance(s, visit_expect, s, false);
    variants_compile(s);
    if (!s->ptx_folder) each_instance(s, visit_run, s, true);
}

static void visit_diff(void *context, Instance *in) {
    Suite **pair = context;
    diff_instance(pair[0], pair[1], in);
}

void run_diff(Suite *cpu, Suite *gpu) {
    Suite *pair[] = {cpu, gpu};
    each_instance(cpu, visit_expect, cpu, false);
    variants_compile(cpu);
    each_instance(gpu, visit_expect, gpu, false);
    variants_compile(gpu);
    each_instance(gpu, visit_diff, pair, false);
    suite_group(gpu, "the CPU device and this one agree");
}
