/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* elementwise.c: the examples that touch each element once: copy, vector_add, rgb2grey; and offsets
 * beyond 32 bits.
 *
 * Every case runs with two poisons in the output: an element that was not written could look right
 * by chance with one of them, not with both. */
#include "tests/run/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const unsigned char poisons[] = {0xCD, 0xFF};
enum { NPOISONS = 2, MAX_INPUTS = 3 };

/* ---- one input or two, one output, n ---- */

typedef struct Elementwise {
    const char *name;
    Source source;
    tile_type type;
    size_t n;
    int inputs;
    Fill fill;
    void (*want)(tile_type t, size_t n, void **in, void *out);
} Elementwise;

static bool run_with_poison(Suite *s, const Elementwise *e, Array *array, const void *want,
                            unsigned char poison) {
    Arg args[MAX_INPUTS + 2];
    int nargs = 0;
    Array *out = &array[e->inputs];
    const char *why;
    if (!array_poison(s, out, poison)) return false;
    for (int i = 0; i <= e->inputs; i++) args[nargs++] = give_array(&array[i]);
    args[nargs++] = give_int(TILE_I32, (int64_t)e->n);
    const char *kind = e->source.unspecialised ? " unspecialised" : "";
    if (kernel_run(s, &e->source, NULL, args, nargs, &why)) {
        array_expect(s, out, want, "%s %s n=%zu%s", e->name, type_name(e->type), e->n, kind);
        return true;
    }
    suite_case(s, false, "%s %s n=%zu%s: %s", e->name, type_name(e->type), e->n, kind, why);
    return false;
}

static void run_elementwise(Suite *s, const Elementwise *e) {
    Array array[MAX_INPUTS + 1] = {{0}};
    void *host[MAX_INPUTS + 1] = {NULL};
    uint64_t state = e->n * 31 + (uint64_t)e->type;
    size_t bytes = e->n * type_size(e->type);
    /* Off a 16-byte boundary, so that the values do not ask for specialisation either. */
    size_t shift = e->source.unspecialised ? 1 : 0;
    bool ok = true;
    for (int i = 0; i <= e->inputs && ok; i++) {
        host[i] = suite_alloc(bytes);
        ok = array_make(s, &array[i], e->type, e->n, shift);
        if (i == e->inputs) break;
        fill(e->fill, e->type, host[i], e->n, &state);
        ok = ok && array_write(s, &array[i], host[i]);
    }
    if (ok) e->want(e->type, e->n, host, host[e->inputs]);
    for (int p = 0; ok && p < NPOISONS; p++)
        ok = run_with_poison(s, e, array, host[e->inputs], poisons[p]);
    for (int i = 0; ok && i < e->inputs; i++)
        array_expect(s, &array[i], host[i], "%s %s n=%zu: input %d afterwards", e->name,
                     type_name(e->type), e->n, i);
    for (int i = 0; i <= e->inputs; i++) {
        array_free(s, &array[i]);
        free(host[i]);
    }
}

static void want_copy(tile_type t, size_t n, void **in, void *out) {
    memcpy(out, in[0], n * type_size(t));
}

static void want_sum(tile_type t, size_t n, void **in, void *out) {
    for (size_t i = 0; i < n; i++)
        if (type_is_float(t)) /* a double holds enough bits that rounding twice is rounding once */
            value_set(t, out, i, value_get(t, in[0], i) + value_get(t, in[1], i));
        else
            bits_set(t, out, i, bits_get(t, in[0], i) + bits_get(t, in[1], i));
}

void run_copy(Suite *s) {
    static const tile_type types[] = {TILE_FP16, TILE_FP32, TILE_U8};
    static const size_t sizes[] = {1, 2, 1023, (1 << 20) + 7, 1 << 28};
    size_t count = s->size == SIZE_FULL ? 5 : s->size == SIZE_SMALL ? 4 : 3;
    for (int t = 0; t < 3; t++)
        for (size_t i = 0; i < count; i++)
            for (int plain = 0; plain < (sizes[i] > 1 << 24 ? 1 : 2); plain++) {
                Elementwise e = {.name = "copy",
                                 .source = {.file = "examples/copy.tl", .unspecialised = plain},
                                 .type = types[t],
                                 .n = sizes[i],
                                 .inputs = 1,
                                 .fill = FILL_PATTERN,
                                 .want = want_copy};
                run_elementwise(s, &e);
            }
    suite_group(s, "copy");
}

void run_vector_add(Suite *s) {
    static const tile_type types[] = {TILE_FP32, TILE_FP16, TILE_BF16, TILE_FP64,
                                      TILE_I32,  TILE_U8,   TILE_I64};
    /* Around the block of 1024: none, one, one less, all, one more, several and some, a prime. */
    static const size_t sizes[] = {0, 1, 1023, 1024, 1025, 3 * 1024 + 7, 98317};
    for (int t = 0; t < 7; t++)
        for (int i = 0; i < (s->size == SIZE_TINY ? 5 : 7); i++)
            for (int plain = 0; plain < 2; plain++) {
                Elementwise e = {
                    .name = "vector_add",
                    .source = {.file = "examples/vector_add.tl", .unspecialised = plain},
                    .type = types[t],
                    .n = sizes[i],
                    .inputs = 2,
                    .fill = FILL_BITS,
                    .want = want_sum};
                run_elementwise(s, &e);
            }
    suite_group(s, "vector_add");
}

/* ---- rgb2grey ---- */

static const double weight[] = {0.2989, 0.5870, 0.1140};

typedef struct Picture {
    tile_type type;
    size_t h, w;
    bool whole; /* the answer is one set of bits; else it has a bound */
    bool unspecialised;
} Picture;

/* The kernel's sum is in single precision, in any order and with or without fused multiply-add: at
 * most 3 products and 2 sums are rounded, each by 2^-24 of at most 255. Farther from a whole number
 * than that, dropping the fraction has one answer. */
static bool one_answer(double grey) {
    return fabs(grey - nearbyint(grey)) > 5 * 255 * 0x1p-24;
}

/* Pixels with an answer that holds bit for bit. Bytes: away from whole numbers. Floats: one colour
 * alone, so that nothing but one product is rounded. */
static void fill_picture(const Picture *p, void *data, uint64_t *state) {
    size_t n = p->h * p->w;
    if (!p->whole) {
        fill(FILL_BITS, p->type, data, 3 * n, state);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        double c[3];
        do {
            for (int k = 0; k < 3; k++) c[k] = (double)(random_bits(state) % 256);
            for (size_t k = 0; k < 3 && p->type != TILE_U8; k++) c[k] = k == i % 3 ? c[k] : 0;
        } while (p->type == TILE_U8 &&
                 !one_answer(weight[0] * c[0] + weight[1] * c[1] + weight[2] * c[2]));
        for (size_t k = 0; k < 3; k++) value_set(p->type, data, k * n + i, c[k]);
    }
}

static bool pixel_right(const Picture *p, const void *in, const void *out, size_t i) {
    double sum = 0, size = 0, got = value_get(p->type, out, i);
    float single = 0;
    for (size_t k = 0; k < 3; k++) {
        double c = value_get(p->type, in, k * p->h * p->w + i);
        sum += weight[k] * c;
        size += weight[k] * fabs(c);
        if (c != 0) single = (float)weight[k] * (float)c;
    }
    double next = nearbyint(sum); /* the whole number that the sum may fall on either side of */
    if (p->type == TILE_U8)
        return one_answer(sum) ? got == floor(sum) : got == next || got == next - 1;
    if (p->whole) return got == (double)single;
    /* Rounded: the weight, its product, two sums: four times 2^-24 of what was added up. */
    return fabs(got - sum) <= 4.01 * 0x1p-24 * size;
}

static void check_picture(Suite *s, const Picture *p, const void *in, const Array *out) {
    char name[100];
    snprintf(name, sizeof name, "rgb2grey %s %zux%zu %s%s", type_name(p->type), p->h, p->w,
             p->whole ? "bit for bit" : "with a bound", p->unspecialised ? " unspecialised" : "");
    const void *got = array_read(s, out, name);
    if (!got) return;
    size_t n = p->h * p->w, i = 0;
    while (i < n && pixel_right(p, in, got, i)) i++;
    suite_case(s, i == n, "%s: pixel %zu is %.9g", name, i, i < n ? value_get(p->type, got, i) : 0);
}

static void run_picture(Suite *s, const Picture *p) {
    size_t n = p->h * p->w, shift = p->unspecialised ? 1 : 0;
    Array in = {0}, out = {0};
    Source source = {.file = "examples/rgb2grey.tl", .unspecialised = p->unspecialised};
    void *data = suite_alloc(3 * n * type_size(p->type));
    uint64_t state = n + (uint64_t)p->type;
    const char *why;
    fill_picture(p, data, &state);
    bool ok = array_make(s, &in, p->type, 3 * n, shift) && array_write(s, &in, data) &&
              array_make(s, &out, p->type, n, shift);
    /* 0xFF makes NaNs of floats, and none is a right answer; bytes need both. */
    for (int i = p->type == TILE_U8 ? 0 : 1; ok && i < NPOISONS; i++) {
        ok = array_poison(s, &out, poisons[i]);
        Arg args[] = {give_array(&in), give_array(&out), give_int(TILE_I32, (int64_t)p->h),
                      give_int(TILE_I32, (int64_t)p->w)};
        if (ok && kernel_run(s, &source, NULL, args, 4, &why))
            check_picture(s, p, data, &out);
        else if (ok)
            suite_case(s, false, "rgb2grey %s %zux%zu: %s", type_name(p->type), p->h, p->w, why);
    }
    array_free(s, &in);
    array_free(s, &out);
    free(data);
}

void run_rgb2grey(Suite *s) {
    static const tile_type types[] = {TILE_U8, TILE_FP32};
    static const size_t sizes[][2] = {{1, 1}, {7, 5}, {33, 1025}, {1080, 1920}, {4320, 7680}};
    int count = s->size == SIZE_FULL ? 5 : s->size == SIZE_SMALL ? 4 : 3;
    for (int t = 0; t < 2; t++)
        for (int i = 0; i < count; i++)
            for (int kind = 0; kind < 4; kind++) {
                Picture p = {types[t], sizes[i][0], sizes[i][1], kind & 1, kind >> 1};
                if (i < 3 || !p.unspecialised) run_picture(s, &p);
            }
    suite_group(s, "rgb2grey");
}

/* ---- far away ---- */

/* Three programs, each with a block that many bytes after the last: byte offsets past 2^31 and past
 * 2^32 on a GPU. */
void run_far(Suite *s) {
    enum { BLOCK = 1024, PROGRAMS = 3 };
    int64_t stride = s->size == SIZE_FULL && !s->on_cpu ? ((int64_t)1 << 31) + 48 : 3 * BLOCK + 48;
    size_t bytes = (size_t)(stride * (PROGRAMS - 1)) + BLOCK;
    Array in = {0}, out = {0};
    Source source = {.file = "tests/run/far.tl", .defines = "BLOCK=1024"};
    const char *why = "";
    uint8_t data[BLOCK], got[BLOCK];
    tile_grid grid = {PROGRAMS, 1, 1};
    bool ok = array_make(s, &in, TILE_U8, bytes, 0) && array_make(s, &out, TILE_U8, bytes, 0);
    for (uint64_t p = 0; ok && p < PROGRAMS; p++) {
        fill(FILL_BITS, TILE_U8, data, BLOCK, &(uint64_t){p});
        ok = !tile_copy_to_device(s->ctx, in.ptr + p * (uint64_t)stride, data, BLOCK);
    }
    Arg args[] = {give_array(&in), give_array(&out), give_int(TILE_I64, stride)};
    ok = ok && kernel_run(s, &source, &grid, args, 3, &why);
    suite_case(s, ok, "far: %s", why);
    for (uint64_t p = 0; ok && p < PROGRAMS; p++) {
        fill(FILL_BITS, TILE_U8, data, BLOCK, &(uint64_t){p});
        for (int i = 0; i < BLOCK; i++) data[i]++;
        ok = !tile_copy_to_host(s->ctx, got, out.ptr + p * (uint64_t)stride, BLOCK) &&
             memcmp(got, data, BLOCK) == 0;
        suite_case(s, ok, "far: block %d is wrong", (int)p);
    }
    array_free(s, &in);
    array_free(s, &out);
    suite_group(s, "far: offsets %s", stride > INT32_MAX ? "past 2^32" : "in 64 bits");
}
