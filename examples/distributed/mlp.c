/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* mlp.c: a block of a transformer over many GPUs, as Megatron cuts it (Shoeybi et al. 2019):
 * y = leaky_relu(x @ W1) @ W2, where each rank has some columns of W1 and the same rows of W2. What
 * ranks make of W2 are parts of a sum: an all-reduce adds them.
 *
 *   mpirun -n RANKS mlp [--device=auto|cpu|cuda] [--reduce=peer|nccl|mpi] [--tokens=N] … [--bench]
 *
 * The block is cut in chunks of rows. While a chunk is added up, the products of the next one run:
 *   peer  a part goes to the rank that has its rows, which adds the parts and sends the sum to all:
 *         by copies in a second stream, which take no multiprocessor. Others' rows are worked out
 *         first, then this rank's own, in pieces: while one is sent, the next one is worked out
 *   nccl  ncclAllReduce of the pieces of a chunk, in a second stream; libnccl.so.2 is opened then
 *   mpi   MPI_Allreduce of them, by the host's memory, which waits for each
 *
 * The data are whole numbers small enough for every sum to be exact, so that y is the same bit for
 * bit as of one GPU, which rank 0 works out beside it, and some rows are worked out on the host. */
#include "nccl.h"
#include "ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHECKED_ROWS = 4 };

typedef struct Block {
    Ranks *r;
    int rank, ranks; /* of those that share the work: all, or rank 0 alone */
    long tokens, width, hidden, chunks, pieces;
    const char *reduce;
    tile_jit *up, *down, *add;
    tile_ptr x, w1, w2, h, y; /* w1 and w2: this rank's */
    tile_ptr made;            /* parts for others */
    Symmetric parts, sums, flags;
    Nccl nccl;
    MPI_Op add_halves;
} Block;

/* ---- data ---- */

static Weight first_weight(const Block *b) {
    return (Weight){b->width, 1};
}

static Weight second_weight(const Block *b) {
    return (Weight){b->hidden, 2};
}

static void fill(void *user, int measure) {
    Block *b = user;
    ElementFn *weights = measure ? NULL : weight;
    Weight w1 = first_weight(b), w2 = second_weight(b);
    long share = b->hidden / b->ranks;
    ranks_fill(b->r, b->x, b->tokens, b->width, 0, 0, measure ? NULL : input, NULL);
    ranks_fill(b->r, b->w1, b->width, share, 0, b->rank * share, weights, &w1);
    ranks_fill(b->r, b->w2, share, b->width, b->rank * share, 0, weights, &w2);
}

/* Row `row` of y, on the host. */
static void row_of_y(const Block *b, long row, int *h, int *y) {
    Weight w1 = first_weight(b), w2 = second_weight(b);
    for (long j = 0; j < b->hidden; j++) {
        int sum = 0;
        for (long k = first_row(&w1, j); k < b->width; k += b->width / NONZERO)
            sum += input(row, k, NULL) * weight(k, j, &w1);
        h[j] = sum < 0 ? sum / 100 : sum;
    }
    for (long j = 0; j < b->width; j++) {
        y[j] = 0;
        for (long k = first_row(&w2, j); k < b->hidden; k += b->hidden / NONZERO)
            y[j] += h[k] * weight(k, j, &w2);
    }
}

/* ---- the work ---- */

enum { PRODUCT_ARGS = 12 };

static void product_args(tile_arg *args, tile_ptr a, tile_ptr w, tile_ptr c, long m, long n,
                         long k) {
    *args++ = tile_typed_pointer(TILE_FP16, a);
    *args++ = tile_typed_pointer(TILE_FP16, w);
    *args++ = tile_typed_pointer(TILE_FP16, c);
    *args++ = tile_i32((int32_t)m);
    *args++ = tile_i32((int32_t)n);
    *args++ = tile_i32((int32_t)k);
    *args++ = tile_i32((int32_t)k);
    *args++ = tile_i32(1);
    *args++ = tile_i32((int32_t)n);
    *args++ = tile_i32(1);
    *args++ = tile_i32((int32_t)n);
    *args = tile_i32(1);
}

static void product(Block *b, tile_jit *jit, tile_ptr a, tile_ptr w, tile_ptr c, long m, long n,
                    long k) {
    tile_arg args[PRODUCT_ARGS];
    product_args(args, a, w, c, m, n, k);
    ranks_launch(b->r, jit, (tile_grid){0, 0, 0}, args, PRODUCT_ARGS, NULL);
}

static tile_ptr row_at(const Block *b, tile_ptr matrix, long row) {
    return matrix + (size_t)(row * b->width) * 2;
}

/* Of `rows` rows, those from `row` on that are added up while the next ones are worked out. */
static long piece_at(const Block *b, long row, long rows) {
    long piece = (rows + b->pieces - 1) / b->pieces;
    return piece < rows - row ? piece : rows - row;
}

static void first_layer(Block *b, long row, long rows) {
    product(b, b->up, row_at(b, b->x, row), b->w1, b->h, rows, b->hidden / b->ranks, b->width);
}

/* Rows of h from `row` on, of those of this chunk. */
static void second_layer(Block *b, long row, long rows, tile_ptr to) {
    long share = b->hidden / b->ranks;
    product(b, b->down, b->h + (size_t)(row * share) * 2, b->w2, to, rows, b->width, share);
}

/* Rows of this rank from `row` on, of those of the chunk `at` elements into its parts: the sum of
 * all ranks' parts, to all. */
static void add_and_send(Block *b, long chunk, size_t at, size_t n, size_t to_at) {
    Ranks *r = b->r;
    tile_ptr sum = b->sums.mine + to_at * 2;
    tile_arg args[] = {tile_typed_pointer(TILE_FP16, b->parts.mine + at * 2),
                       tile_typed_pointer(TILE_I32, b->flags.mine + (size_t)(chunk * b->ranks) * 4),
                       tile_typed_pointer(TILE_FP16, sum),
                       tile_i32((int32_t)n),
                       tile_i64(b->tokens / b->ranks * b->width),
                       tile_i32(b->rank),
                       tile_i32((int32_t)r->launches)};
    ranks_launch(r, b->add, (tile_grid){0, 0, 0}, args, 7, NULL);
    ranks_fork(r);
    for (int s = 1; s < b->ranks; s++) {
        int to = (b->rank + s) % b->ranks;
        ranks_send(r, b->sums.rank[to] + to_at * 2, sum, n * 2, 0);
    }
}

/* Every rank has `rows / ranks` rows of a chunk to add. Others' come first: they are on their way
 * while this rank's own are worked out. */
static void chunk_by_peers(Block *b, long chunk, long rows) {
    Ranks *r = b->r;
    long slice = rows / b->ranks;
    size_t part = (size_t)(b->tokens / b->ranks * b->width);
    size_t at = (size_t)(chunk * slice * b->width); /* of this chunk's rows, in a part */
    for (int s = 1; s < b->ranks; s++) {
        int to = (b->rank + s) % b->ranks;
        tile_ptr made = b->made + ((size_t)to * part + at) * 2;
        second_layer(b, to * slice, slice, made);
        ranks_fork(r);
        ranks_send(r, b->parts.rank[to] + ((size_t)b->rank * part + at) * 2, made,
                   (size_t)(slice * b->width) * 2,
                   b->flags.rank[to] + (size_t)(chunk * b->ranks + b->rank) * 4);
    }
    for (long row = 0, here; row < slice; row += here) {
        long own = b->rank * slice + row;
        here = piece_at(b, row, slice);
        size_t from = at + (size_t)(row * b->width);
        second_layer(b, own, here, b->parts.mine + ((size_t)b->rank * part + from) * 2);
        add_and_send(b, chunk, from, (size_t)(here * b->width),
                     (size_t)((chunk * rows + own) * b->width));
    }
}

/* How often every multiprocessor has something to do, in the second layer of so many rows; 0 on the
 * CPU. */
static long rounds(Block *b, long rows) {
    long share = b->hidden / b->ranks;
    tile_kernel *kernel = NULL;
    tile_kernel_info info;
    tile_grid grid;
    tile_arg args[PRODUCT_ARGS];
    product_args(args, b->h, b->w2, b->y, rows, b->width, share);
    ranks_must(b->r, tile_jit_kernel(b->down, args, PRODUCT_ARGS, &kernel), "a kernel");
    ranks_must(b->r, tile_kernel_describe(kernel, &info), "a kernel");
    ranks_must(b->r, tile_kernel_grid(kernel, NULL, args, PRODUCT_ARGS, &grid), "a kernel's grid");
    long n = (long)info.multiprocessors * info.resident_programs;
    return n ? ((long)grid.x * grid.y * grid.z + n - 1) / n : 0;
}

/* As many as no round more comes of, up to four. */
static long pieces_of(Block *b, long rows) {
    long n = 4;
    while (n > 1 && n * rounds(b, (rows + n - 1) / n) > rounds(b, rows)) n--;
    return n;
}

static void add_halves(void *in, void *sum, int *n, MPI_Datatype *type) {
    const uint16_t *a = in;
    uint16_t *s = sum;
    (void)type;
    for (int i = 0; i < *n; i++) s[i] = half_of(half_value(a[i]) + half_value(s[i]));
}

static void add_by_host(Block *b, tile_ptr at, size_t elements) {
    Ranks *r = b->r;
    uint16_t *host = malloc(elements * 2);
    if (!host) ranks_fail(r, "no memory for rows");
    ranks_must(r, tile_copy_to_host(r->ctx, host, at, elements * 2), "a copy");
    MPI_Allreduce(MPI_IN_PLACE, host, (int)elements, MPI_UINT16_T, b->add_halves, MPI_COMM_WORLD);
    ranks_must(r, tile_copy_to_device(r->ctx, at, host, elements * 2), "a copy");
    free(host);
}

/* A chunk from row `first` on, in pieces. */
static void chunk_by_library(Block *b, long first, long rows) {
    Ranks *r = b->r;
    for (long row = 0, here; row < rows; row += here) {
        here = piece_at(b, row, rows);
        tile_ptr at = row_at(b, b->y, first + row);
        size_t elements = (size_t)(here * b->width);
        second_layer(b, row, here, at);
        if (strcmp(b->reduce, "mpi") == 0) {
            add_by_host(b, at, elements);
            continue;
        }
        ranks_fork(r);
        nccl_add_halves(&b->nccl, r, at, elements, r->beside);
    }
}

static void run(void *user) {
    Block *b = user;
    Ranks *r = b->r;
    long rows = b->tokens / b->chunks;
    if (b->ranks == 1) {
        first_layer(b, 0, b->tokens);
        second_layer(b, 0, b->tokens, b->y);
        return;
    }
    r->launches++;
    for (long c = 0; c < b->chunks; c++) {
        first_layer(b, c * rows, rows);
        if (strcmp(b->reduce, "peer") == 0)
            chunk_by_peers(b, c, rows);
        else
            chunk_by_library(b, c * rows, rows);
    }
    ranks_join(r);
}

/* ---- all of it ---- */

static void make_kernels(Block *b) {
    static const char own[] = "BM=128,BN=256,BK=64,GROUP_M=8,num_warps=8,num_stages=3";
    const char *gpu = b->r->config ? b->r->config : own;
    static const char cpu[] = "BM=32,BN=32,BK=32";
    char up[2][300], down[300], add[60];
    const char *more = b->ranks > 1 && strcmp(b->reduce, "nccl") == 0 ? ",single_entry=1" : "";
    /* NCCL's kernels want multiprocessors, so none of ours may hold all of them to its end. */
    snprintf(up[0], sizeof up[0], "%s,ACTIVATION=leaky_relu%s", gpu, more);
    snprintf(up[1], sizeof up[1], "%s,ACTIVATION=leaky_relu", cpu);
    snprintf(down, sizeof down, "%s%s", gpu, more);
    b->up = ranks_kernel(b->r, "matmul.tl", "matmul", NULL, up[0], up[1]);
    b->down = ranks_kernel(b->r, "matmul.tl", "matmul", NULL, down, cpu);
    snprintf(add, sizeof add, "RANKS=%d", b->ranks);
    b->add = ranks_kernel(b->r, "distributed/all_reduce.tl", "add_parts", NULL, add, add);
}

static void open_block(void *user) {
    Block *b = user;
    Ranks *r = b->r;
    long share = b->hidden / b->ranks;
    size_t y_bytes = (size_t)(b->tokens * b->width) * 2;
    make_kernels(b);
    b->x = ranks_alloc(r, y_bytes);
    b->w1 = ranks_alloc(r, (size_t)(b->width * share) * 2);
    b->w2 = ranks_alloc(r, (size_t)(b->width * share) * 2);
    b->h = ranks_alloc(r, (size_t)(b->tokens / (b->ranks > 1 ? b->chunks : 1) * share) * 2);
    if (b->ranks > 1 && strcmp(b->reduce, "peer") == 0) {
        b->parts = ranks_symmetric(r, y_bytes);
        b->sums = ranks_symmetric(r, y_bytes);
        b->flags = ranks_symmetric(r, (size_t)(b->chunks * b->ranks) * 4);
        b->made = ranks_alloc(r, y_bytes);
        b->y = b->sums.mine;
        if (!b->pieces) b->pieces = pieces_of(b, b->tokens / b->chunks / b->ranks);
        return;
    }
    b->y = ranks_alloc(r, y_bytes);
    if (!b->pieces) b->pieces = pieces_of(b, b->tokens / b->chunks);
    if (b->ranks > 1 && strcmp(b->reduce, "nccl") == 0) nccl_open(&b->nccl, r);
    if (b->ranks > 1 && strcmp(b->reduce, "mpi") == 0) MPI_Op_create(add_halves, 1, &b->add_halves);
}

static void close_block(void *user) {
    Block *b = user;
    Ranks *r = b->r;
    ranks_must(r, tile_synchronize(r->ctx), "waiting");
    tile_jit_destroy(b->up);
    tile_jit_destroy(b->down);
    tile_jit_destroy(b->add);
    if (b->parts.mine) {
        ranks_release(r, &b->parts);
        ranks_release(r, &b->sums);
        ranks_release(r, &b->flags);
    }
    if (b->add_halves) MPI_Op_free(&b->add_halves);
    nccl_close(&b->nccl);
}

/* Some rows against the host's. */
static long check_rows(const void *user, const uint16_t *y) {
    const Block *b = user;
    long wrong = 0;
    int *h = malloc((size_t)b->hidden * sizeof *h), *row = malloc((size_t)b->width * sizeof *row);
    if (!h || !row) ranks_fail(b->r, "no memory for a row");
    for (int i = 0; i < CHECKED_ROWS; i++) {
        long at = (b->tokens - 1) * i / (CHECKED_ROWS - 1);
        row_of_y(b, at, h, row);
        for (long j = 0; j < b->width; j++) {
            double got = half_value(y[at * b->width + j]);
            if (got == row[j]) continue;
            if (!wrong++)
                fprintf(stderr, "y[%ld][%ld] is %g, and %d on the host\n", at, j, got, row[j]);
        }
    }
    free(h);
    free(row);
    return wrong;
}

int main(int argc, char **argv) {
    Ranks r;
    Block b = {.r = &r, .tokens = 128, .width = 64, .hidden = 256, .chunks = 4, .reduce = "auto"};
    Option options[] = {
        {"tokens", &b.tokens, NULL, "rows of x"},
        {"width", &b.width, NULL, "columns of x and y"},
        {"hidden", &b.hidden, NULL, "columns of W1"},
        {"chunks", &b.chunks, NULL, "of rows, that are added up one by one"},
        {"pieces", &b.pieces, NULL,
         "of a chunk's rows, added up one by one; peer: of a rank's; without it as many as keep "
         "the GPU busy, up to 4"},
        {"reduce", NULL, &b.reduce, "peer, nccl, mpi; auto: peer"}};
    ranks_start(&r, &argc, &argv, "A tensor-parallel MLP block with an overlapped all-reduce.",
                options, 6);
    if (strcmp(b.reduce, "auto") == 0) b.reduce = "peer";
    if (strcmp(b.reduce, "peer") && strcmp(b.reduce, "nccl") && strcmp(b.reduce, "mpi"))
        ranks_refuse(&r, "--reduce=%s: auto, peer, nccl or mpi is wanted", b.reduce);
    if (strcmp(b.reduce, "nccl") == 0 && !r.on_gpu)
        ranks_refuse(&r, "--reduce=nccl needs a GPU for each rank: peer and mpi do without");
    ranks_divides(&r, "tokens", b.tokens, b.chunks * r.size);
    ranks_divides(&r, "hidden", b.hidden, 16 * r.size);
    ranks_divides(&r, "width", b.width, 16);
    ranks_counts(&r, "x and y", b.tokens, b.width);
    ranks_counts(&r, "h", b.tokens, b.hidden);
    ranks_counts(&r, "W1 and W2", b.width, b.hidden);
    b.rank = r.rank;
    b.ranks = r.size;
    Block one = b;
    one.rank = 0;
    one.ranks = 1;
    Trial t = {.name = "mlp",
               .all = &b,
               .one = &one,
               .open = open_block,
               .fill = fill,
               .run = run,
               .by_host = strcmp(b.reduce, "mpi") == 0,
               .close = close_block,
               .check = check_rows,
               .result = "y",
               .of_all = &b.y,
               .of_one = &one.y,
               .rows = b.tokens,
               .columns = b.width,
               .width = b.width,
               .flops = 4.0 * (double)b.tokens * (double)b.width * (double)b.hidden};
    return ranks_end(&r,
                     ranks_try(&r, &t, "%s, %ldx%ldx%ld", b.reduce, b.tokens, b.width, b.hidden));
}
