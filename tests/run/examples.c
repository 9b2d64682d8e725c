/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* examples.c: the launches behind examples.h, and the list of the examples' groups. */
#include "tests/run/examples.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { NAN_BYTE = 0xFF };

/* ---- a case ---- */

void example_begin(Example *x, const char *file, const char *kernel, int num_warps,
                   const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    vsnprintf(x->name, sizeof x->name, format, ap);
    va_end(ap);
    x->source = (Source){.file = file, .kernel = kernel, .num_warps = num_warps};
    x->defines[0] = '\0';
    x->nargs = x->nbuffers = 0;
    x->ok = true;
    x->state = 7;
    for (const char *p = x->name; *p; p++) x->state = x->state * 31 + (unsigned char)*p;
}

void example_define(Example *x, const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    vsnprintf(x->defines, sizeof x->defines, format, ap);
    va_end(ap);
    x->source.defines = x->defines;
}

void example_unspecialised(Example *x, bool plain) {
    size_t n = strlen(x->name);
    x->source.unspecialised = plain;
    if (plain) snprintf(x->name + n, sizeof x->name - n, ", unspecialised");
}

void example_kernel(Example *x, const char *kernel) {
    x->source.kernel = kernel;
    x->nargs = 0;
}

void example_again(Example *x, int buffer) {
    x->arg[x->nargs++] = give_array(&x->buffer[buffer].array);
}

/* The next buffer, with room on both sides; the device's only when something will run. */
static Buffer *new_buffer(Example *x, tile_type type, size_t n) {
    Buffer *b = &x->buffer[x->nbuffers++];
    size_t shift = x->source.unspecialised ? 1 : 0;
    *b = (Buffer){.array = {.type = type, .n = n, .ptr = 256 + shift * type_size(type)}};
    if (!x->expecting) {
        b->host = suite_alloc(n * type_size(type));
        b->value = suite_alloc(n * sizeof(double));
        x->ok = x->ok && array_make(x->s, &b->array, type, n, shift) &&
                array_poison(x->s, &b->array, NAN_BYTE);
    }
    x->arg[x->nargs++] = give_array(&b->array);
    return b;
}

static const double *write_buffer(Example *x, Buffer *b) {
    for (size_t i = 0; i < b->array.n; i++) b->value[i] = value_get(b->array.type, b->host, i);
    x->ok = x->ok && array_write(x->s, &b->array, b->host);
    return b->value;
}

const double *example_in(Example *x, tile_type type, size_t n, Fill how) {
    Buffer *b = new_buffer(x, type, n);
    if (x->expecting) return NULL;
    fill(how, type, b->host, n, &x->state);
    return write_buffer(x, b);
}

const double *example_values(Example *x, tile_type type, size_t n, const double *values) {
    Buffer *b = new_buffer(x, type, n);
    if (x->expecting) return NULL;
    for (size_t i = 0; i < n; i++) value_set(type, b->host, i, values[i]);
    return write_buffer(x, b);
}

void example_zeros(Example *x, tile_type type, size_t n) {
    Buffer *b = new_buffer(x, type, n);
    if (x->expecting) return;
    memset(b->host, 0, n * type_size(type));
    write_buffer(x, b);
}

int example_out(Example *x, tile_type type, size_t n) {
    new_buffer(x, type, n);
    return x->nbuffers - 1;
}

void example_int(Example *x, int64_t v) {
    x->arg[x->nargs++] = give_int(TILE_I32, v);
}

void example_float(Example *x, double v) {
    x->arg[x->nargs++] = give_float(TILE_FP32, v);
}

bool example_run(Example *x, const tile_grid *grid) {
    const char *why = "";
    if (x->expecting) {
        variant_expect(x->s, &x->source, x->arg, x->nargs);
        return false;
    }
    if (x->ok && kernel_run(x->s, &x->source, grid, x->arg, x->nargs, &why)) return true;
    suite_case(x->s, false, "%s: %s", x->name, why);
    return false;
}

void example_check(Example *x, int buffer, const double *want, const double *bound) {
    const Buffer *b = &x->buffer[buffer];
    tile_type t = b->array.type;
    const void *got = array_read(x->s, &b->array, x->name);
    if (!got) return;
    size_t i = 0;
    for (; i < b->array.n; i++) {
        double have = value_get(t, got, i);
        bool right = bound ? fabs(have - want[i]) <= bound[i] : have == value_round(t, want[i]);
        if (!right && !(isnan(have) && isnan(want[i]))) break;
    }
    bool right = i == b->array.n;
    suite_case(x->s, right, "%s: parameter %d: element %zu is %.9g, not %.9g within %.3g", x->name,
               buffer, i, right ? 0 : value_get(t, got, i), right ? 0 : want[i],
               right || !bound ? 0 : bound[i]);
}

void example_end(Example *x) {
    for (int i = 0; i < x->nbuffers; i++) {
        array_free(x->s, &x->buffer[i].array);
        free(x->buffer[i].host);
        free(x->buffer[i].value);
    }
    x->nbuffers = 0;
}

bool example_has_warps(const Example *x) {
    return !x->s->on_cpu && x->s->size != SIZE_TINY;
}

/* ---- what the references share ---- */

void example_sizes(size_t block, size_t size[NSIZES]) {
    size_t sizes[NSIZES] = {0, 1, block - 1, block, block + 1, 3 * block + 7, 97};
    memcpy(size, sizes, sizeof sizes);
}

size_t next_power_of_2(size_t n) {
    size_t p = 1;
    while (p < n) p *= 2;
    return p;
}

double rounding(tile_type t, double v) {
    switch (t) {
    case TILE_FP16: return ldexp(fabs(v), -11) + 0x1p-25;
    case TILE_BF16: return ldexp(fabs(v), -8) + 0x1p-126;
    default: return ldexp(fabs(v), -24) + 0x1p-126; /* a GPU may make 0 of what is smaller */
    }
}

double sum_error(size_t n) {
    return ((double)n / 32 + 16) * 0x1p-24;
}

double exp_error(double x) {
    return 0x1p-22 + fabs(x) * 0x1p-23;
}

/* ---- the groups ---- */

static const struct Row {
    const char *name;
    ExampleCases *cases;
} rows[] = {
    {"swizzle2d_demo", cases_swizzle2d_demo},
    {"rgb2grey_dims", cases_rgb2grey_dims},
    {"softmax", cases_softmax},
    {"layer_norm", cases_layer_norm},
    {"rms_norm", cases_rms_norm},
    {"cross_entropy", cases_cross_entropy},
    {"cumsum", cases_cumsum},
    {"dropout", cases_dropout},
    {"swiglu", cases_swiglu},
    {"rotary", cases_rotary},
    {"matmuls", cases_matmuls},
    {"streamk", cases_streamk},
    {"grouped_gemm", cases_grouped_gemm},
    {"matmul_int4", cases_matmul_int4},
    {"flash_attention", cases_flash_attention},
};
enum { NROWS = sizeof rows / sizeof *rows };

bool example_exists(const char *name) {
    for (int i = 0; i < NROWS; i++)
        if (strcmp(rows[i].name, name) == 0) return true;
    return false;
}

static bool wanted(const Suite *s, const struct Row *row) {
    return !s->only || strcmp(s->only, "examples") == 0 || strcmp(s->only, row->name) == 0;
}

void run_examples(Suite *s) {
    Example *x = suite_alloc(sizeof *x);
    *x = (Example){.s = s, .expecting = true};
    for (int i = 0; i < NROWS; i++)
        if (wanted(s, &rows[i])) rows[i].cases(x);
    variants_compile(s);
    x->expecting = false;
    for (int i = 0; i < NROWS && !s->ptx_folder; i++)
        if (wanted(s, &rows[i])) {
            rows[i].cases(x);
            suite_group(s, "example %s", rows[i].name);
        }
    free(x);
}
