/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* ring_attention.c: attention over a sequence that is spread over GPUs. Each rank keeps its rows of
 * q; keys and values of the others pass by, shard by shard, from the next rank's on, each copied in
 * a second stream while the shard before is computed with.
 *
 *   mpirun -n RANKS ring_attention [--device=auto|cpu|cuda] [--mask=full|causal] [--tokens=N] …
 *
 * ring_attention.tl says how a step goes on where the one before ended. The data are such that
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
    long tokens, heads, head;
    int causal;
    tile_jit *step[2][2]; /* by: it is the first, the last */
    Symmetric shard;      /* keys, and behind them values; of one rank `kv` alone */
    tile_ptr kv, q, out, sums, totals, tops, next[2];
} Attention;

static long rows(const Attention *a) {
    return a->heads * (a->tokens / a->ranks);
}

static size_t bytes(const Attention *a) {
    return (size_t)(rows(a) * a->head) * 2;
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
    ranks_fill(a->r, a->kv, rows(a), a->head, 0, 0, measure ? NULL : key, a);
    ranks_fill(a->r, a->kv + bytes(a), rows(a), a->head, 0, 0, measure ? NULL : value, a);
}

/* ---- the work ---- */

static void launch(Attention *a, int step, tile_ptr kv) {
    int owner = (a->rank + step) % a->ranks;
    tile_jit *jit = a->step[step == 0][step == a->ranks - 1];
    tile_arg args[] = {tile_typed_pointer(TILE_FP16, a->q),
                       tile_typed_pointer(TILE_FP16, kv),
                       tile_typed_pointer(TILE_FP16, kv + bytes(a)),
                       tile_typed_pointer(TILE_FP16, a->out),
                       tile_typed_pointer(TILE_FP32, a->sums),
                       tile_typed_pointer(TILE_FP32, a->totals),
                       tile_typed_pointer(TILE_FP32, a->tops),
                       tile_i32((int32_t)a->heads),
                       tile_i32((int32_t)(a->tokens / a->ranks)),
                       tile_f32(1),
                       tile_i32(a->causal && owner > a->rank ? -1 : 0)};
    ranks_launch(a->r, jit, (tile_grid){0, 0, 0}, args, 11, NULL);
}

static void run(void *user) {
    Attention *a = user;
    Ranks *r = a->r;
    tile_ptr kv = a->kv;
    for (int s = 0; s < a->ranks; s++) {
        tile_ptr next = a->next[s % 2];
        if (s + 1 < a->ranks) { /* the step before this has read what lies there */
            ranks_order(r, NULL, r->beside);
            ranks_must(r,
                       tile_copy_on_device(r->ctx, next,
                                           a->shard.rank[(a->rank + s + 1) % a->ranks],
                                           2 * bytes(a), r->beside),
                       "a copy from another rank");
        }
        launch(a, s, kv);
        if (s + 1 < a->ranks) ranks_order(r, r->beside, NULL);
        kv = next;
    }
}

static tile_jit *step_kernel(const Attention *a, int first, int last) {
    static const char *const word[] = {"False", "True"};
    const char *own = a->r->config ? a->r->config : "BM=128,BN=128,num_warps=8,num_stages=2";
    char config[2][300];
    for (int cpu = 0; cpu < 2; cpu++)
        snprintf(config[cpu], sizeof config[cpu], "%s,D=%ld,CAUSAL=%s,FIRST=%s,LAST=%s",
                 cpu ? "BM=16,BN=16" : own, a->head, word[a->causal], word[first], word[last]);
    return ranks_kernel(a->r, "distributed/ring_attention.tl", "ring_attention", config[0],
                        config[1]);
}

static void open_attention(void *user) {
    Attention *a = user;
    Ranks *r = a->r;
    for (int first = 0; first < 2; first++)
        for (int last = 0; last < 2; last++) a->step[first][last] = step_kernel(a, first, last);
    a->q = ranks_alloc(r, bytes(a));
    a->out = ranks_alloc(r, bytes(a));
    a->sums = ranks_alloc(r, 2 * bytes(a));
    a->totals = ranks_alloc(r, (size_t)rows(a) * 4);
    a->tops = ranks_alloc(r, (size_t)rows(a) * 4);
    if (a->ranks == 1) {
        a->kv = ranks_alloc(r, 2 * bytes(a));
        return;
    }
    a->shard = ranks_symmetric(r, 2 * bytes(a));
    a->kv = a->shard.mine;
    for (int i = 0; i < 2; i++) a->next[i] = ranks_alloc(r, 2 * bytes(a));
}

static void close_attention(void *user) {
    Attention *a = user;
    ranks_must(a->r, tile_synchronize(a->r->ctx), "waiting");
    for (int i = 0; i < 4; i++) tile_jit_destroy(a->step[i / 2][i % 2]);
    if (a->shard.mine) ranks_release(a->r, &a->shard);
}

/* Some rows against the host's, up to the rounding of the last division. */
static long check_rows(const void *user, const uint16_t *out) {
    const Attention *a = user;
    long wrong = 0;
    for (int i = 0; i < CHECKED_ROWS; i++) {
        long head = (a->heads - 1) * i / (CHECKED_ROWS - 1);
        long token = (a->tokens - 1) * i / (CHECKED_ROWS - 1);
        uint64_t first = (uint64_t)(head * a->tokens), row = first + (uint64_t)token;
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
    Attention a = {.r = &r, .tokens = 96, .heads = 2, .head = 16};
    Option options[] = {{"tokens", &a.tokens, NULL, "of the sequence"},
                        {"heads", &a.heads, NULL, "of them"},
                        {"head", &a.head, NULL, "the size of a head, a power of two from 16"},
                        {"mask", NULL, &mask, "full, or causal"}};
    ranks_start(&r, &argc, &argv, "Attention whose keys and values go from rank to rank.", options,
                4);
    ranks_divides(&r, "tokens", a.tokens, 16 * r.size);
    if (a.head < 16 || a.head > 256 || (a.head & (a.head - 1)))
        ranks_refuse(&r, "--head=%ld: 16, 32, 64, 128 or 256 is wanted", a.head);
    if (a.tokens > EXACT_TOKENS)
        ranks_refuse(&r, "--tokens=%ld: sums are exact up to %d", a.tokens, EXACT_TOKENS);
    if (strcmp(mask, "full") && strcmp(mask, "causal"))
        ranks_refuse(&r, "--mask=%s: full or causal is wanted", mask);
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
    return ranks_end(
        &r, ranks_try(&r, &t, "%s, %ld tokens, %ld heads of %ld", mask, a.tokens, a.heads, a.head));
}
