/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* make_photo.c: draws a landscape and writes it as a PNG, for want of a photograph that is free to
 * give away: `make_photo photo.png [WIDTH HEIGHT]`. Hills are sums of waves, the lake mirrors what
 * is above it, and the evening sky is a gradient with a sun. */
#include <math.h>
#include <png.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Color {
    float r, g, b;
} Color;

static Color mix(Color a, Color b, float t) {
    t = t < 0 ? 0 : t > 1 ? 1 : t;
    return (Color){a.r + (b.r - a.r) * t, a.g + (b.g - a.g) * t, a.b + (b.b - a.b) * t};
}

/* The height of ridge number i at x in [0, 1]. */
static float ridge(int i, float x) {
    float phase = (float)i * 2.3f, y = 0, size = 0.07f;
    for (float f = 2.5f; f < 100; f *= 2.1f, size *= 0.48f)
        y += size * sinf(f * (x * 3 + phase) + 1.7f * phase);
    return 0.42f + 0.055f * (float)i + y * (1 - 0.12f * (float)i);
}

static Color sky(float x, float y) {
    Color c = mix((Color){40, 70, 140}, (Color){250, 170, 110}, y * 1.9f);
    float dx = x - 0.68f, dy = y - 0.3f, d = sqrtf(dx * dx * 1.8f + dy * dy);
    c = mix(c, (Color){255, 225, 170}, 0.8f * expf(-d * 7));
    return d < 0.045f ? (Color){255, 246, 220} : c;
}

/* What is seen at (x, y), y downwards, above the shore. */
static Color land(float x, float y) {
    enum { RIDGES = 4 };
    static const Color near = {22, 34, 28}, far = {120, 110, 140};
    for (int i = RIDGES - 1; i >= 0; i--) {
        float top = ridge(i, x);
        if (y < top) continue;
        Color c = mix(far, near, (float)i / (RIDGES - 1));
        return mix(c, (Color){190, 160, 150}, (y - top) * 1.5f * (float)(RIDGES - i) / RIDGES);
    }
    return sky(x, y);
}

static Color landscape(float x, float y) {
    const float shore = 0.68f;
    if (y < shore) return land(x, y);
    float depth = (y - shore) / (1 - shore);
    float wave = 0.004f * sinf(220 * depth * (1.4f - depth)) * (0.3f + depth);
    Color c = land(x + wave * 2, shore - (y - shore) * 1.3f + wave);
    return mix(c, (Color){25, 45, 80}, 0.25f + 0.4f * depth);
}

int main(int argc, char **argv) {
    long w = argc == 4 ? strtol(argv[2], NULL, 10) : 640;
    long h = argc == 4 ? strtol(argv[3], NULL, 10) : 480;
    if ((argc != 2 && argc != 4) || w < 1 || h < 1 || w > 16384 || h > 16384) {
        fprintf(stderr, "usage: make_photo FILE.png [WIDTH HEIGHT]\n");
        return 2;
    }
    uint8_t *pixels = malloc((size_t)w * (size_t)h * 3);
    if (!pixels) return 1;
    for (long y = 0; y < h; y++)
        for (long x = 0; x < w; x++) {
            Color c = landscape(((float)x + 0.5f) / (float)w, ((float)y + 0.5f) / (float)h);
            uint8_t *p = pixels + (y * w + x) * 3;
            p[0] = (uint8_t)c.r;
            p[1] = (uint8_t)c.g;
            p[2] = (uint8_t)c.b;
        }
    png_image image;
    memset(&image, 0, sizeof image);
    image.version = PNG_IMAGE_VERSION;
    image.width = (png_uint_32)w;
    image.height = (png_uint_32)h;
    image.format = PNG_FORMAT_RGB;
    int ok = png_image_write_to_file(&image, argv[1], 0, pixels, 0, NULL);
    if (!ok) fprintf(stderr, "%s: %s\n", argv[1], image.message);
    free(pixels);
    return ok ? 0 : 3;
}
