/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* page.h: what the parts of a report's page share.
 *
 * The page is made of facts, the listing, the sources and the PTX; what a drawing needs besides is
 * asked of tile IR. Two threads may write pages of one report at once: nothing here changes it, and
 * memory is that of the output's arena. */
#ifndef TILE_COMPILER_REPORT_PAGE_H
#define TILE_COMPILER_REPORT_PAGE_H

#include "compiler/report/report.h"

typedef struct PageTile { /* a layout that is drawn already */
    const Layout *layout;
    Type type;
} PageTile;

typedef struct Page {
    const Report *r;
    const ReportKernel *k; /* the kernel whose facts are written now */
    Buf *out;
    VEC(PageTile) tiles; /* the n-th of them has the id Ln */
} Page;

/* Text between tags, or in an attribute's quotes. What is no character, or changes how those around
 * it are shown, is written out. */
void page_text(const char *text, size_t len, Buf *out);
void page_string(const char *text, Buf *out);

/* ---- drawings; of those that have nothing to show nothing is written ---- */
/* page_tiles.c: the first corner of a tile, coloured by the lanes that hold it. */
void page_tile(Page *p, const Fact *tile);
/* page_charts.c: buffers over the lines in which they are in use. */
void page_shared_map(Page *p, const Fact *shared);
void page_occupancy(Page *p);
void page_roofline(Page *p, const Fact *roofline);
/* page_pipeline.c: what a loop's iterations bring, wait for and use at the same time. */
void page_pipeline(Page *p, const Fact *loop);
typedef struct PagePlaces { /* what the programs of a grid write */
    const Op *store;
    int64_t programs, rows, columns;
    int64_t wave;      /* programs that run at once */
    int64_t *at;       /* of each program: its block, row by row */
    const char *sizes; /* "M = 3072, N = 3072": with what the grid was computed */
    const char *why;   /* not NULL: there is nothing to draw, and why */
} PagePlaces;
/* page_places.c: computes them, for sizes that it chooses. */
void page_places(Page *p, PagePlaces *out);
/* page_order.c: which blocks of its output a grid's programs write, by their numbers. */
void page_order(Page *p);

#endif
