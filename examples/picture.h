/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* picture.h: PNG files as planes of bytes, as kernels like them, for the examples. */
#ifndef EXAMPLES_PICTURE_H
#define EXAMPLES_PICTURE_H

#include <png.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Picture {
    size_t w, h;
    uint8_t *planes; /* r, then g, then b, h * w bytes each */
} Picture;

/* Any 8-bit PNG (grey, palette, RGB, with alpha or without). 0, or an exit code after saying what
 * is wrong; p->planes is to be freed either way. */
static inline int picture_read(const char *path, Picture *p) {
    png_image image;
    memset(&image, 0, sizeof image);
    image.version = PNG_IMAGE_VERSION;
    if (!png_image_begin_read_from_file(&image, path)) {
        fprintf(stderr, "%s: %s\n", path, image.message);
        return 3;
    }
    image.format = PNG_FORMAT_RGB;
    p->w = image.width;
    p->h = image.height;
    size_t n = p->w * p->h;
    png_color black = {0, 0, 0}; /* behind what is transparent */
    uint8_t *rgb = malloc(PNG_IMAGE_SIZE(image));
    p->planes = malloc(n * 3);
    if (!rgb || !p->planes || !png_image_finish_read(&image, &black, rgb, 0, NULL)) {
        fprintf(stderr, "%s: %s\n", path, image.message[0] ? image.message : "out of memory");
        png_image_free(&image);
        free(rgb);
        return 3;
    }
    for (size_t i = 0; i < n; i++)
        for (size_t c = 0; c < 3; c++) p->planes[c * n + i] = rgb[i * 3 + c];
    free(rgb);
    return 0;
}

/* `planes` is 1 (grey) or 3. */
static inline int picture_write(const char *path, size_t w, size_t h, size_t planes,
                                const uint8_t *plane) {
    png_image image;
    memset(&image, 0, sizeof image);
    image.version = PNG_IMAGE_VERSION;
    image.width = (png_uint_32)w;
    image.height = (png_uint_32)h;
    image.format = planes == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
    uint8_t *pixels = malloc(w * h * planes);
    if (!pixels) {
        fprintf(stderr, "%s: out of memory\n", path);
        return 3;
    }
    for (size_t i = 0; i < w * h; i++)
        for (size_t c = 0; c < planes; c++) pixels[i * planes + c] = plane[c * w * h + i];
    int ok = png_image_write_to_file(&image, path, 0, pixels, 0, NULL);
    if (!ok) fprintf(stderr, "%s: %s\n", path, image.message);
    free(pixels);
    return ok ? 0 : 3;
}

#endif
