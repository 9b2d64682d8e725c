/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* ring_attention.c: attention over a sequence that is spread over GPUs. Each rank keeps its rows of
 * q; keys and values of the others come shard by shard, from the next rank's on, some heads at a
 * time, sent in a second stream while one kernel computes with those that are there. A number that
 * the stream writes behind each copy tells the kernel, which fills the GPU.
 *
 *   mpirun -n RANKS ring_attention [--device=auto|cpu|cuda] [--mask=full|causal] [--tokens=N] …
 *
 * ring_attention.tl is the kernel. The data are such that
 * scores are whole numbers to the base 2: every exponential is a power of two and every sum exact,
 * so the result is the same bit for bit as of one GPU, which rank 0 works out beside it. Some rows
 * are worked out on the host. */
#include "ranks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHECKED_ROWS = 4, EXACT_TOKENS = 65536 };

typedef struct Attention {
    Ranks *r;
    int rank, ranks; /* of those that share the work: all, or rank 0 alone */
    long tokens, heads, kv_heads, head, together; /* together: kv_heads of a copy */
    int causal;
    tile_jit *jit;
    Share all;           /* `kv` of all ranks */
    tile_ptr kv, q, out; /* of each rank's kv_heads keys and, behind them, values */
} Attention;

static long rows(const Attention *a) {
    return a->heads * (a->tokens / a->ranks);
}

static size_t bytes_of_head(const Attention *a) { /* of q, keys or values, of one rank */
    return (size_t)(a->tokens / a->ranks * a->head) * 2;
}

/* Where the keys of one of a rank's kv_heads lie. */
static size_t place(const Attention *a, long rank, long kv_head) {
    return (size_t)(rank * a->kv_heads + kv_head) * 2 * bytes_of_head(a);
}

/* ---- data: row g of the whole is row g / ranks of rank g % ranks ---- */

static uint64_t row_of_whole(const Attention *a, long row) {
    return (uint64_t)row * (uint64_t)a->ranks + (uint64_t)a->rank;
}

static long hot(const Attention *a, uint64_t row) { /* where a row of q has its one 1 */
    return (long)(scramble(row * 3 + 1) % (uint64_t)a->head);
}

static int key_of(uint64_t row, long column) {
    return (int)(scramble(row << 10 | (uint64_t)column) % 5) - 2;
}

static int value_of(uint64_t row, long column) {
    return (int)(scramble(row << 10 | (uint64_t)column | (uint64_t)1 << 60) % 17) - 8;
}

static int query(long row, long column, const void *user) {
    return column == hot(user, row_of_whole(user, row));
}

static int key(long row, long column, const void *user) {
    return key_of(row_of_whole(user, row), column);
}

static int value(long row, long column, const void *user) {
    return value_of(row_of_whole(user, row), column);
}

static void fill(void *user, int measure) {
    Attention *a = user;
    ranks_fill(a->r, a->q, rows(a), a->head, 0, 0, measure ? NULL : query, a);
    long each = a->tokens / a->ranks;
    for (long h = 0; h < a->kv_heads; h++) {
        tile_ptr at = a->kv + place(a, a->rank, h);
        ranks_fill(a->r, at, each, a->head, h * each, 0, measure ? NULL : key, a);
        ranks_fill(a->r, at + bytes_of_head(a), each, a->head, h * each, 0, measure ? NULL : value,
                   a);
    }
}

/* ---- the work ---- */

/* As many programs as run at once, to share out tiles that take equally long; {0}: a tile each. */
static tile_grid programs(const Attention *a, const tile_arg *args, int nargs) {
    enum { ON_CPU = 3 };
    tile_kernel *kernel = NULL;
    tile_kernel_info info;
    if (a->causal || a->ranks == 1) return (tile_grid){0, 0, 0};
    ranks_must(a->r, tile_jit_kernel(a->jit, args, nargs, &kernel), "a kernel");
    ranks_must(a->r, tile_kernel_describe(kernel, &info), "a kernel");
    int n = info.multiprocessors * info.resident_programs;
    return (tile_grid){n ? (uint32_t)n : ON_CPU, 1, 1};
}

static void launch(void *user) {
    Attention *a = user;
    tile_arg args[] = {tile_typed_pointer(TILE_FP16, a->q),
                       tile_typed_pointer(TILE_FP16, a->kv),
                       tile_typed_pointer(TILE_FP16, a->out),
                       tile_typed_pointer(TILE_I32, a->all.flags.mine),
                       tile_i32((int32_t)a->heads),
                       tile_i32((int32_t)a->kv_heads),
                       tile_i32((int32_t)(a->tokens / a->ranks)),
                       tile_f32(1),
                       tile_i32(a->rank),
                       tile_i32((int32_t)a->r->launches),
                       tile_i32((int32_t)a->together)};
    ranks_launch(a->r, a->jit, programs(a, args, 11), args, 11, NULL);
}

static void run(void *user) {
    Attention *a = user;
    if (a->ranks == 1) {
        launch(a);
        return;
    }
    a->r->launches++;
    ranks_beside(a->r, &a->all, launch, a);
}

static void open_attention(void *user) {
    Attention *a = user;
    Ranks *r = a->r;
    const char *own = r->config ? r->config : "BM=128,BN=128,num_warps=8,num_stages=2";
    char config[2][300];
    for (int cpu = 0; cpu < 2; cpu++)
        snprintf(config[cpu], sizeof config[cpu], "%s,D=%ld,CAUSAL=%s,RANKS=%d",
                 cpu ? "BM=16,BN=16" : own, a->head, a->causal ? "True" : "False", a->ranks);
    a->jit = ranks_kernel(r, "distributed/ring_attention.tl", "ring_attention", NULL, config[0],
                          config[1]);
    size_t share = place(a, 1, 0), piece = place(a, 0, a->together);
    a->q = ranks_alloc(r, (size_t)a->heads * bytes_of_head(a));
    a->out = ranks_alloc(r, (size_t)a->heads * bytes_of_head(a));
    if (a->ranks > 1) a->all = ranks_share(r, share, piece, 1);
    a->kv = a->ranks > 1 ? a->all.data.mine : ranks_alloc(r, share);
}

static void close_attention(void *user) {
    Attention *a = user;
    ranks_must(a->r, tile_synchronize(a->r->ctx), "waiting");
    tile_jit_destroy(a->jit);
    if (a->ranks > 1) ranks_unshare(a->r, &a->all);
}

/* Some rows against the host's, up to the rounding of the last division. */
static long check_rows(const void *user, const uint16_t *out) {
    const Attention *a = user;
    long wrong = 0;
    for (int i = 0; i < CHECKED_ROWS; i++) {
        long head = (a->heads - 1) * i / (CHECKED_ROWS - 1);
        long token = (a->tokens - 1) * i / (CHECKED_ROWS - 1);
        long kv_head = head / (a->heads / a->kv_heads);
        uint64_t first = (uint64_t)(kv_head * a->tokens);
        uint64_t row = (uint64_t)(head * a->tokens + token);
        long seen = a->causal ? token + 1 : a->tokens;
        for (long d = 0; d < a->head; d++) {
            double sum = 0, total = 0;
            for (long j = 0; j < seen; j++) {
                double p = ldexp(1, key_of(first + (uint64_t)j, hot(a, row)));
                sum += p * value_of(first + (uint64_t)j, d);
                total += p;
            }
            double got = half_value(out[(long)row * a->head + d]), want = sum / total;
            if (!(fabs(got - want) <= ldexp(fabs(want), -10) + ldexp(1, -24)) && !wrong++)
                fprintf(stderr, "head %ld: out[%ld][%ld] is %g, and %g on the host\n", head, token,
                        d, got, want);
        }
    }
    return wrong;
}

int main(int argc, char **argv) {
    Ranks r;
    const char *mask = "full";
    Attention a = {.r = &r, .tokens = 96, .heads = 2, .head = 16, .together = 1};
    Option options[] = {{"tokens", &a.tokens, NULL, "of the sequence"},
                        {"heads", &a.heads, NULL, "of them"},
                        {"kv-heads", &a.kv_heads, NULL,
                         "heads of keys and values; as many as --heads, if not said"},
                        {"head", &a.head, NULL, "the size of a head, a power of two from 16"},
                        {"together", &a.together, NULL, "times the ranks: kv-heads of a copy"},
                        {"mask", NULL, &mask, "full, or causal"}};
    ranks_start(&r, &argc, &argv, "Attention whose keys and values go from rank to rank.", options,
                6);
    ranks_divides(&r, "tokens", a.tokens, 16 * r.size);
    if (a.head < 16 || a.head > 256 || (a.head & (a.head - 1)))
        ranks_refuse(&r, "--head=%ld: 16, 32, 64, 128 or 256 is wanted", a.head);
    if (a.tokens > EXACT_TOKENS)
        ranks_refuse(&r, "--tokens=%ld: sums are exact up to %d", a.tokens, EXACT_TOKENS);
    if (strcmp(mask, "full") && strcmp(mask, "causal"))
        ranks_refuse(&r, "--mask=%s: full or causal is wanted", mask);
    if (!a.kv_heads) a.kv_heads = a.heads;
    if (a.heads % a.kv_heads)
        ranks_refuse(&r, "--heads=%ld: a multiple of --kv-heads=%ld is wanted", a.heads,
                     a.kv_heads);
    a.together *= r.size; /* as many bytes, whatever the ranks */
    a.causal = strcmp(mask, "causal") == 0;
    a.rank = r.rank;
    a.ranks = r.size;
    Attention one = a;
    one.rank = 0;
    one.ranks = 1;
    double pairs = (double)a.tokens * (double)a.tokens / (a.causal ? 2 : 1);
    Trial t = {.name = "ring_attention",
               .all = &a,
               .one = &one,
               .open = open_attention,
               .fill = fill,
               .run = run,
               .close = close_attention,
               .check = check_rows,
               .result = "out",
               .of_all = &a.out,
               .of_one = &one.out,
               /* rows of all ranks that follow each other are one row of this matrix */
               .rows = rows(&a),
               .column = r.rank * a.head,
               .columns = a.head,
               .width = r.size * a.head,
               .flops = 4 * pairs * (double)a.heads * (double)a.head};
    char heads[60];
    snprintf(heads, sizeof heads, a.kv_heads < a.heads ? "%ld heads by %ld" : "%ld heads", a.heads,
             a.kv_heads);
    return ranks_end(&r,
                     ranks_try(&r, &t, "%s, %ld tokens, %s of %ld", mask, a.tokens, heads, a.head));
}
