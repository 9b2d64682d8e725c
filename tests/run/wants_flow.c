/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* wants_flow.c: what the kernels of tests/run about control flow, calls, shapes and places in
 * memory must compute, in plain C. */
#include "tests/run/wants.h"

#include <string.h>

/* ---- control flow ---- */

static int32_t python_min(int32_t a, int32_t b) {
    return a < b ? a : b;
}

static int32_t python_max(int32_t a, int32_t b) {
    return a > b ? a : b;
}

static void want_program(int32_t n, int32_t *out, int32_t *tiles) {
    out[0] = out[1] = out[3] = out[5] = 0;
    for (int32_t i = 0; i < n; i++) out[0] += i * i;
    for (int32_t i = n; i > -n; i -= 3) out[1] = out[1] * 3 + i;
    int32_t count = 0, last = -1;
    for (int32_t i = 2; i < n; i += n / 4 + 1) {
        count++;
        last = i;
    }
    out[2] = count * 100 + last;
    for (int32_t x = n + 1; x != 1; x = x % 2 ? 3 * x + 1 : x / 2) out[3]++;
    out[4] = n < 3 ? 1 : n < 7 ? n * 10 : n == 9 ? -9 : 1000 + (n % 2 == 0 ? n : 0);
    for (int32_t i = 0; i < n; i++)
        for (int32_t j = i; j < n; j++)
            if ((i + j) % 3 == 0 && i != j) out[5] += i * j;
    out[6] = n > 5 ? 7 : n;
    int32_t a = 0, b = 1;
    for (int32_t i = 0; i < n; i++) {
        int32_t sum = a + b;
        a = b;
        b = sum;
    }
    out[7] = a;
    out[8] = n;
    out[9] = n > 4 || n == 1 ? n <= 8 : -1;
    for (int32_t k = 0; k < 16; k++) tiles[k] = python_max(n - k, 0);
}

void want_control(Slot *v) {
    const int32_t *in = v[0].data;
    int32_t *out = v[1].data, programs = (int32_t)v[2].value;
    for (int32_t p = 0; p < programs; p++)
        want_program(in[p], out + p * 10, out + programs * 10 + p * 16);
}

static void want_exits_of(int32_t n, int32_t *out) {
    out[0] = out[1] = out[2] = out[3] = out[5] = out[8] = out[10] = out[11] = 0;
    for (int32_t i = 0; i < 3 * n && (i % 3 == 1 || i <= n + 2); i++)
        if (i % 3 != 1) out[0] += i;
    for (int32_t x = n + 1; x != 1; x = x % 2 ? 3 * x + 1 : x / 2) out[1]++;
    for (int32_t i = 0; i < n && out[2] <= 300; i++)
        for (int32_t j = 0; j < n && i * j <= 20; j++)
            if ((i + j) % 2) out[2] += i + 2 * j;
    for (int32_t i = 8; i > -1 && (i == n || out[3] <= n); i -= 2)
        if (i != n) out[3] += i + 1;
    for (int32_t i = n; i > -n && out[5] >= 0; i -= 3) out[5] = out[5] * 3 + i;
    out[6] = n > 5 ? 5 : -1;
    out[7] = 2;
    int32_t step = n - 8, by = step ? step : 1, end = step ? 4 * step : 1;
    for (int32_t i = 0; by > 0 ? i < end : i > end; i += by) {
        if (n % 2 == 0 && i > 10) break;
        if (n % 2 == 0 && i < -10) continue;
        if (n % 2 && i == 7) break;
        out[8] += i + (n % 2 == 0);
    }
    for (out[9] = 2; out[9] < n && n % out[9];) out[9]++;
    if (n < 2) out[9] = n;
    do out[10] += n + 1;
    while (out[10] < 100 && (n > 13 || out[10] % 7 != 3));
}

void want_exits(Slot *v) {
    const int32_t *in = v[0].data;
    int32_t *out = v[1].data, programs = (int32_t)v[2].value;
    for (int32_t p = 0; p < programs; p++) {
        int32_t n = in[p], tile[16] = {0}, sum = 0;
        want_exits_of(n, out + p * 12);
        out[p * 12 + 4] = p;
        while (in[out[p * 12 + 4]] < 12 && out[p * 12 + 4] < programs - 1) out[p * 12 + 4]++;
        for (int32_t i = 0; i < n && sum <= 500; i++)
            for (int32_t k = 0; k < 16 && i % 4 != 3; k++) {
                tile[k] += python_max(k, i);
                sum += python_max(k, i);
            }
        memcpy(out + programs * 12 + p * 16, tile, sizeof tile);
    }
}

/* ---- calls and constants ---- */

typedef int32_t Choose(int32_t x);

static void want_calls(Slot *v, Choose *choose, Choose *cast) {
    const int32_t *in = v[0].data;
    int32_t *out = v[1].data, n = (int32_t)v[2].value;
    for (int32_t i = 0; i < n; i++) {
        int32_t x = in[i];
        out[i] = x / 7 * 2 + x % 7;
        out[n + i] = 7 * 3 + x;
        out[2 * n + i] = x % 5 * 1000 + x / 5;
        out[3 * n + i] = x * x * x;
        out[4 * n + i] = choose(x);
        out[5 * n + i] = cast(x);
    }
}

static int32_t doubled(int32_t x) {
    return x * 2;
}

static int32_t negated(int32_t x) {
    return -x;
}

static int32_t same(int32_t x) {
    return x;
}

void want_calls_double(Slot *v) {
    want_calls(v, doubled, same);
}

void want_calls_negate(Slot *v) {
    want_calls(v, negated, same);
}

static int32_t floor_div(int32_t a, int32_t b) {
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static void want_constants(Slot *v, int32_t a, int32_t b, int32_t name, int32_t given) {
    int32_t want[] = {floor_div(a, b),
                      a - floor_div(a, b) * b,
                      a / b,
                      a % b,
                      python_min(a, b) * 3 + python_max(python_max(a, b), 5),
                      1024 + a * 4 + 38 + (a & 6) + ~b,
                      floor_div(-a + 3, 4),
                      1 + 9 + 25 + 3 * 4,
                      name,
                      given,
                      6};
    memcpy(v[0].data, want, sizeof want);
}

void want_constants_left(Slot *v) {
    want_constants(v, -7, 2, 1, 0);
}

void want_constants_right(Slot *v) {
    want_constants(v, -13, 5, 2, 42);
}

/* ---- shapes ---- */

void want_shapes(Slot *v) {
    enum { H = 16, W = 32, SIZE = H * W };
    const int32_t *in = v[0].data;
    int32_t *out = v[1].data;
    for (size_t r = 0; r < H; r++)
        for (size_t c = 0; c < W; c++) {
            size_t at = r * W + c, turned = c * H + r, half = r / (H / 2), rest = r % (H / 2);
            int32_t x = in[at], row = in[c], col = in[r * W];
            out[turned] = x;
            out[SIZE + turned] = (int32_t)((uint32_t)x * 2);
            out[2 * SIZE + at] = (int32_t)((uint32_t)row * 3 + (uint32_t)col);
            out[3 * SIZE + at] = row;
            out[4 * SIZE + at] = x;
            out[5 * SIZE + turned] = x;
            out[6 * SIZE + at] = r >= c ? x : -1;
            out[7 * SIZE + at] = (int32_t)((uint32_t)row - (uint32_t)col);
            out[8 * SIZE + (c * 2 + half) * (H / 2) + rest] = x;
            out[9 * SIZE + at] = 5;
        }
}

/* ---- places in memory ---- */

void want_masks(Slot *v) {
    tile_type t = v[0].type;
    size_t n = (size_t)v[3].value, size = type_size(t);
    const char *in = v[0].data;
    char *out = v[2].data;
    for (size_t i = 0; i < n; i++) {
        bool keep = bits_get(v[1].type, v[1].data, i) != 0;
        value_set(t, out, i, 7);
        value_set(t, out, 4 * n + i, (double)(i % 128 + i / 128 * 128));
        if (type_size(t) == 1) bits_set(t, out, 4 * n + i, i);
        if (!keep) continue;
        memcpy(out + i * size, in + i * size, size);
        memcpy(out + (2 * n + i) * size, in + i * size, size);
        memcpy(out + (4 * n + i) * size, in + i * size, size);
    }
    if (bits_get(v[1].type, v[1].data, 0) != 2) return;
    for (size_t i = 0; i < n; i++) {
        if (type_is_float(t))
            value_set(t, out, 6 * n + i, (double)i);
        else
            bits_set(t, out, 6 * n + i, i);
    }
}

void want_walk(Slot *v) {
    enum { BR = 8, BC = 32 };
    const uint32_t *in = v[0].data;
    uint32_t *out = v[1].data;
    size_t rows = (size_t)v[2].value, cols = (size_t)v[3].value, stride = (size_t)v[4].value;
    for (size_t r = 0; r < BR; r++)
        for (size_t c = 0; c < cols; c++) {
            uint32_t total = 0;
            for (size_t i = r; i < rows; i += BR) total += in[i * stride + c];
            out[r * cols + c] = total;
        }
    uint32_t alternating = 0;
    for (size_t i = rows; i-- > 0;) alternating = in[i * stride] - alternating;
    for (size_t p = 0; p < (cols + BC - 1) / BC; p++) out[BR * cols + p] = alternating;
}

void want_gather(Slot *v) {
    const int32_t *src = v[0].data;
    int32_t *dst = v[2].data;
    size_t n = (size_t)v[3].value;
    size_t middle = type_size(v[1].type) == 1 && v[1].fill == FILL_BITS ? 144 : 128;
    for (size_t i = 0; i <= n; i++)
        dst[i] = src[middle + (size_t)bits_get(v[1].type, v[1].data, i < n ? i : 0)];
}

void want_grid(Slot *v) {
    int32_t *out = v[0].data;
    for (int32_t z = 0; z < 5; z++)
        for (int32_t y = 0; y < 3; y++)
            for (int32_t x = 0; x < 2; x++)
                for (int32_t k = 0; k < 4; k++) *out++ = x + y * 10 + z * 100 + 5000 + k * 10000;
}

void want_swizzle(Slot *v) {
    int32_t *out = v[0].data;
    for (size_t i = 0; i < v[0].n; i++) out[i] = (int32_t)i * 3 + 1;
}
