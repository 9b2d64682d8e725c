/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* ranks.c: a process for each GPU (see ranks.h). MPI starts the ranks, hands handles around and
 * says when all are there; data goes from GPU to GPU by addresses. */
#include "ranks.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- starting and ending ---- */

void ranks_fail(const Ranks *r, const char *format, ...) {
    char text[2000];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    fprintf(stderr, "rank %d: %s\n", r->rank, text);
    MPI_Abort(MPI_COMM_WORLD, 5);
    abort(); /* MPI_Abort does not come back */
}

void ranks_refuse(const Ranks *r, const char *format, ...) {
    va_list list;
    va_start(list, format);
    if (r->rank == 0) {
        vfprintf(stderr, format, list);
        fprintf(stderr, "\n");
    }
    va_end(list);
    MPI_Finalize();
    exit(2);
}

void ranks_must(Ranks *r, tile_status st, const char *what) {
    if (st) ranks_fail(r, "%s: %s: %s", what, tile_status_text(st), tile_error(r->ctx));
}

void ranks_divides(const Ranks *r, const char *name, long size, long by) {
    if (size % by)
        ranks_refuse(r, "--%s=%ld has to be a multiple of %ld with %d ranks", name, size, by,
                     r->size);
}

void ranks_counts(const Ranks *r, const char *name, long rows, long columns) {
    if (rows > INT32_MAX / columns)
        ranks_refuse(r, "%s: %ld times %ld elements; kernels here count up to %d", name, rows,
                     columns, INT32_MAX);
}

static void print_option(const Option *o) {
    char word[64];
    snprintf(word, sizeof word, "--%s=%s", o->name, o->text ? "WORD" : "N");
    printf("  %-20s %s", word, o->what);
    if (o->text)
        printf(" (%s)\n", *o->text);
    else if (*o->value)
        printf(" (%ld)\n", *o->value);
    else
        printf("\n");
}

static void usage(const Ranks *r, const char *program, const char *about, const Option *options,
                  int n) {
    if (r->rank) return;
    const char *name = strrchr(program, '/');
    printf("usage: mpirun -n RANKS %s [OPTION…]\n%s\n\n", name ? name + 1 : program, about);
    for (int i = 0; i < n; i++) print_option(&options[i]);
    printf("  %-20s %s\n  %-20s %s\n  %-20s %s\n  %-20s %s\n", "--device=WORD",
           "cuda: a GPU for each rank; cpu; auto: cuda or cpu; ptx: PTX run on the CPU (auto)",
           "--kernels=FOLDER", "where the examples' kernels are (examples)", "--config=TEXT",
           "tile sizes and options, as BM=128,num_warps=8", "--bench",
           "measure, after the check, beside one GPU");
}

/* 1: it is one of the options. */
static int read_option(Ranks *r, const char *word, const Option *options, int n) {
    for (int i = 0; i < n; i++) {
        size_t len = strlen(options[i].name);
        if (strncmp(word, "--", 2) || strncmp(word + 2, options[i].name, len) ||
            word[2 + len] != '=')
            continue;
        const char *text = word + 3 + len;
        char *end;
        if (options[i].text) {
            *options[i].text = text;
            return 1;
        }
        *options[i].value = strtol(text, &end, 10);
        if (!*text || *end || *options[i].value < 1 || *options[i].value > 1 << 24)
            ranks_refuse(r, "--%s=%s: a whole number from 1 to %d is wanted", options[i].name, text,
                         1 << 24);
        return 1;
    }
    return 0;
}

/* GPU number R for the rank that is number R on its host. */
static void open_device(Ranks *r, const char *device) {
    char name[32];
    int here = 0, all = 0;
    MPI_Comm host;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, r->rank, MPI_INFO_NULL, &host);
    MPI_Comm_rank(host, &here);
    MPI_Comm_size(host, &all);
    MPI_Comm_free(&host);
    if (all != r->size)
        ranks_fail(r,
                   "%d of %d ranks are on this host; all have to be, to reach each other's memory",
                   all, r->size);
    snprintf(name, sizeof name, "cuda:%d", here);
    int try_gpu = strcmp(device, "auto") == 0 || strcmp(device, "cuda") == 0;
    tile_status st = tile_context_create(try_gpu ? name : device, &r->ctx);
    int gpus = st == TILE_OK && try_gpu, least;
    MPI_Allreduce(&gpus, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (strcmp(device, "auto") == 0 && !least) { /* all or none */
        tile_context_destroy(r->ctx);
        st = tile_context_create("cpu", &r->ctx);
        device = "cpu";
    }
    ranks_must(r, st, device);
    r->on_gpu = tile_context_cuda(r->ctx) != NULL;
    r->device = r->on_gpu ? "cuda" : device;
    const char *blocking = getenv("CUDA_LAUNCH_BLOCKING");
    if (r->on_gpu && blocking && strcmp(blocking, "1") == 0)
        ranks_refuse(r, "CUDA_LAUNCH_BLOCKING=1: kernels that wait for what is sent behind their "
                        "launch would wait for ever");
    ranks_must(r, tile_stream_create(r->ctx, &r->beside), "a stream");
}

void ranks_start(Ranks *r, int *argc, char ***argv, const char *about, const Option *options,
                 int n) {
    const char *device = "auto";
    int help = 0;
    *r = (Ranks){.kernels = "examples"};
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &r->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &r->size);
    for (int i = 1; i < *argc; i++) {
        const char *word = (*argv)[i];
        if (strncmp(word, "--device=", 9) == 0)
            device = word + 9;
        else if (strncmp(word, "--kernels=", 10) == 0)
            r->kernels = word + 10;
        else if (strncmp(word, "--config=", 9) == 0)
            r->config = word + 9;
        else if (strcmp(word, "--bench") == 0)
            r->bench = 1;
        else if (strcmp(word, "--help") == 0)
            help = 1;
        else if (!read_option(r, word, options, n))
            ranks_refuse(r, "unknown option '%s': --help lists them", word);
    }
    if (help) {
        usage(r, (*argv)[0], about, options, n);
        MPI_Finalize();
        exit(0);
    }
    if (strcmp(device, "auto") && strcmp(device, "cpu") && strcmp(device, "cuda") &&
        strncmp(device, "ptx", 3))
        ranks_refuse(r, "--device=%s: auto, cuda, cpu or ptx is wanted", device);
    if (r->config && strlen(r->config) > MAX_CONFIG)
        ranks_refuse(r, "--config: at most %d bytes", MAX_CONFIG);
    if (r->size > MAX_RANKS) ranks_refuse(r, "at most %d ranks", MAX_RANKS);
    open_device(r, device);
}

int ranks_end(Ranks *r, long wrong) {
    tile_stream_destroy(r->ctx, r->beside);
    tile_context_destroy(r->ctx);
    MPI_Finalize();
    return wrong != 0;
}

void ranks_meet(Ranks *r) {
    ranks_must(r, tile_synchronize(r->ctx), "waiting");
    MPI_Barrier(MPI_COMM_WORLD);
}

/* ---- memory ---- */

tile_ptr ranks_alloc(Ranks *r, size_t bytes) {
    tile_ptr p;
    ranks_must(r, tile_alloc(r->ctx, bytes, &p), "memory");
    return p;
}

Symmetric ranks_symmetric(Ranks *r, size_t bytes) {
    Symmetric s = {0};
    tile_shared_handle mine, all[MAX_RANKS];
    ranks_must(r, tile_alloc_shared(r->ctx, bytes, &s.mine), "shared memory");
    ranks_must(r, tile_fill(r->ctx, s.mine, 0, bytes), "shared memory");
    ranks_must(r, tile_shared_export(r->ctx, s.mine, &mine), "shared memory");
    MPI_Allgather(&mine, sizeof mine, MPI_BYTE, all, sizeof mine, MPI_BYTE, MPI_COMM_WORLD);
    for (int i = 0; i < r->size; i++) {
        size_t got = bytes;
        s.rank[i] = s.mine;
        if (i != r->rank)
            ranks_must(r, tile_shared_open(r->ctx, &all[i], sizeof all[i], &s.rank[i], &got),
                       "another rank's memory");
        if (got != bytes) ranks_fail(r, "rank %d shares %zu bytes, not %zu", i, got, bytes);
    }
    ranks_meet(r);
    return s;
}

/* Who has opened memory closes it before its owner frees it. */
void ranks_release(Ranks *r, Symmetric *s) {
    ranks_meet(r);
    for (int i = 0; i < r->size; i++)
        if (i != r->rank) ranks_must(r, tile_free(r->ctx, s->rank[i]), "closing shared memory");
    ranks_meet(r);
    ranks_must(r, tile_free(r->ctx, s->mine), "freeing shared memory");
}

uint16_t half_of(double v) {
    _Float16 h = (_Float16)v;
    uint16_t bits;
    memcpy(&bits, &h, sizeof bits);
    return bits;
}

double half_value(uint16_t bits) {
    _Float16 h;
    memcpy(&h, &bits, sizeof h);
    return (double)h;
}

uint32_t scramble(uint64_t i) {
    i = (i ^ i >> 31) * 0x9E3779B97F4A7C15u;
    i = (i ^ i >> 29) * 0xBF58476D1CE4E5B9u;
    return (uint32_t)(i >> 32);
}

/* From 1/4 to 1, and their negatives. */
static uint16_t some_half(long i) {
    return (uint16_t)(0x3400 + (scramble((uint64_t)i) & 0x87FF));
}

void ranks_fill(Ranks *r, tile_ptr to, long rows, long columns, long row, long column,
                ElementFn *of, const void *user) {
    enum { AT_ONCE = 1 << 18 }; /* elements in a copy, of whole rows */
    long most = columns < AT_ONCE ? AT_ONCE / columns : 1;
    uint16_t *block = malloc((size_t)(most * columns) * sizeof *block);
    if (!block) ranks_fail(r, "no memory for a row of %ld elements", columns);
    for (long first = 0, n; first < rows; first += n) {
        n = rows - first < most ? rows - first : most;
        for (long k = 0; k < n * columns; k++) {
            long i = first + k / columns, j = k % columns;
            block[k] = of ? half_of(of(row + i, column + j, user)) : some_half(i % 7 * columns + j);
        }
        size_t at = (size_t)(first * columns) * 2, bytes = (size_t)(n * columns) * 2;
        ranks_must(r, tile_copy_to_device(r->ctx, to + at, block, bytes), "a copy");
    }
    free(block);
}

long first_row(const Weight *w, long column) {
    return (long)(scramble(w->seed + (uint64_t)column) % (uint64_t)(w->rows / NONZERO));
}

int weight(long row, long column, const void *of) {
    const Weight *w = of;
    if (row % (w->rows / NONZERO) != first_row(w, column)) return 0;
    return scramble(w->seed * 3 + (uint64_t)(row * 7919 + column)) & 1 ? 1 : -1;
}

int input(long row, long column, const void *seed) {
    (void)seed;
    return ((int)(scramble((uint64_t)row << 32 | (uint64_t)column) % 3) - 1) * 100;
}

long ranks_compare(Ranks *r, const char *what, tile_ptr got, long rows, long column, long columns,
                   const uint16_t *want, long width) {
    uint16_t *mine = malloc((size_t)columns * 2), *theirs = malloc((size_t)width * 2);
    long wrong = 0;
    if (!mine || !theirs) ranks_fail(r, "no memory to compare with");
    for (long row = 0; row < rows; row++) {
        if (r->rank == 0) memcpy(theirs, want + row * width, (size_t)width * 2);
        MPI_Bcast(theirs, (int)width, MPI_UINT16_T, 0, MPI_COMM_WORLD);
        ranks_must(
            r,
            tile_copy_to_host(r->ctx, mine, got + (size_t)(row * columns) * 2, (size_t)columns * 2),
            "a copy");
        for (long j = 0; j < columns; j++) {
            if (mine[j] == theirs[column + j]) continue;
            if (!wrong++)
                fprintf(stderr, "rank %d: %s[%ld][%ld] is %g, and of one GPU %g\n", r->rank, what,
                        row, column + j, half_value(mine[j]), half_value(theirs[column + j]));
        }
    }
    free(mine);
    free(theirs);
    return wrong;
}

/* ---- kernels ---- */

tile_jit *ranks_kernel(Ranks *r, const char *file, const char *kernel, const char *signature,
                       const char *config, const char *small) {
    char path[1024];
    tile_jit *jit = NULL;
    tile_compile_options options = {0};
    FILE *f = snprintf(path, sizeof path, "%s/%s", r->kernels, file) < (int)sizeof path
                  ? fopen(path, "rb")
                  : NULL;
    long size = -1;
    if (f && fseek(f, 0, SEEK_END) == 0) size = ftell(f);
    char *source = size >= 0 && fseek(f, 0, SEEK_SET) == 0 ? malloc((size_t)size + 1) : NULL;
    if (!source || fread(source, 1, (size_t)size, f) != (size_t)size)
        ranks_fail(r, "cannot read %s: --kernels= says where the examples are", path);
    fclose(f);
    options.source = source;
    options.source_len = (size_t)size;
    options.file_name = path;
    options.kernel = kernel;
    options.signature = signature;
    options.config_text = r->on_gpu || r->config ? config : small;
    options.include = &r->kernels;
    options.ninclude = 1;
    options.reader = tile_file_reader();
    ranks_must(r, tile_jit_create(r->ctx, &options, NULL, &jit), kernel);
    free(source);
    return jit;
}

void ranks_launch(Ranks *r, tile_jit *jit, tile_grid grid, const tile_arg *args, int nargs,
                  void *stream) {
    ranks_must(r, tile_jit_launch(jit, grid.x ? &grid : NULL, args, nargs, stream), "a launch");
}

void ranks_send(Ranks *r, tile_ptr there, tile_ptr here, size_t bytes, tile_ptr flag) {
    ranks_must(r, tile_copy_on_device(r->ctx, there, here, bytes, r->beside),
               "a copy to another rank");
    if (flag)
        ranks_must(r, tile_stream_write_value(r->ctx, r->beside, flag, (uint32_t)r->launches),
                   "a number behind a copy");
}

void ranks_fork(Ranks *r) {
    tile_event *e = NULL;
    ranks_must(r, tile_event_record(r->ctx, NULL, &e), "an event");
    ranks_must(r, tile_event_order(e, r->beside), "an event");
    tile_event_destroy(e);
}

void ranks_join(Ranks *r) {
    tile_event *e = NULL;
    ranks_must(r, tile_event_record(r->ctx, r->beside, &e), "an event");
    ranks_must(r, tile_event_order(e, NULL), "an event");
    tile_event_destroy(e);
}

static long pieces(const Share *s) {
    return (long)((s->total + s->piece - 1) / s->piece);
}

Share ranks_share(Ranks *r, size_t total, size_t piece, int in_turns) {
    Share s = {.total = total, .piece = piece, .in_turns = in_turns};
    s.data = ranks_symmetric(r, total * (size_t)r->size);
    s.flags = ranks_symmetric(r, (size_t)(pieces(&s) * r->size) * 4);
    return s;
}

void ranks_unshare(Ranks *r, Share *s) {
    ranks_release(r, &s->data);
    ranks_release(r, &s->flags);
    *s = (Share){0};
}

/* Of piece n of rank `of`, in memory of rank `in`. */
static tile_ptr flag_of(const Share *s, int in, int of, long n) {
    return s->flags.rank[in] + (tile_ptr)(of * pieces(s) + n) * 4;
}

/* Piece n, to the rank so many steps before this one: as long as all are equally far, no two send
 * to the same, and each has those of the next rank first. */
static void send_piece(Ranks *r, const Share *s, int step, long n) {
    int to = (r->rank - step + r->size) % r->size;
    size_t first = (size_t)n * s->piece, at = (size_t)r->rank * s->total + first;
    size_t bytes = s->piece < s->total - first ? s->piece : s->total - first;
    ranks_send(r, s->data.rank[to] + at, s->data.mine + at, bytes, flag_of(s, to, r->rank, n));
}

static void send_by_rank(Ranks *r, const Share *s) {
    for (int step = 1; step < r->size; step++)
        for (long n = 0; n < pieces(s); n++) send_piece(r, s, step, n);
}

/* Each goes when the one has come that was sent here meanwhile, so that ranks stay equally far: who
 * is ahead would send to a rank that still gets something from another. Of two ranks there is no
 * other. */
static void send_in_turns(Ranks *r, const Share *s) {
    tile_ptr before = 0;
    for (long n = 0; n < pieces(s); n++)
        for (int step = 1; step < r->size; step++) {
            if (before && r->size > 2)
                ranks_must(r,
                           tile_stream_wait_value(r->ctx, r->beside, before, (uint32_t)r->launches),
                           "waiting for a copy");
            send_piece(r, s, step, n);
            before = flag_of(s, r->rank, (r->rank + step) % r->size, n);
        }
}

static void send_all(Ranks *r, const Share *s) {
    if (s->in_turns)
        send_in_turns(r, s);
    else
        send_by_rank(r, s);
}

typedef struct Sending {
    Ranks *r;
    const Share *s;
} Sending;

static void nap(int times) {
    nanosleep(&(struct timespec){times / 50, times % 50 * 20000000L}, NULL);
}

static void *send_later(void *work) {
    const Sending *w = work;
    if (w->r->late) nap(1); /* the kernel begins */
    send_all(w->r, w->s);
    return NULL;
}

/* Copies are asked for when the kernel has begun, which has this rank's own to begin with. On the
 * CPU a launch is over when it returns: another thread sends. */
void ranks_beside(Ranks *r, const Share *s, WorkFn *launch, void *user) {
    pthread_t other;
    if (!r->on_gpu && pthread_create(&other, NULL, send_later, &(Sending){r, s}))
        ranks_fail(r, "no thread to send from");
    launch(user);
    if (r->on_gpu)
        send_all(r, s);
    else
        pthread_join(other, NULL);
    ranks_join(r);
}

/* ---- time ---- */

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *time, int n) {
    qsort(time, (size_t)n, sizeof *time, by_size);
    return time[n / 2];
}

/* A number in each rank's memory that its streams wait for: all of a run has been asked for when
 * rank 0 lets it begin, as behind other work. What the host's calls take is not counted. */
typedef struct Gate {
    Symmetric number;
    void *stream; /* rank 0 writes the numbers in; NULL: runs begin as they are asked for */
    uint32_t runs;
} Gate;

static Gate open_gate(Ranks *r) {
    Gate g = {.number = ranks_symmetric(r, sizeof(uint32_t))};
    ranks_must(r, tile_stream_create(r->ctx, &g.stream), "a stream");
    return g;
}

static void close_gate(Ranks *r, Gate *g) {
    if (!g->stream) return;
    tile_stream_destroy(r->ctx, g->stream);
    ranks_release(r, &g->number);
}

static void wait_for_gate(Ranks *r, const Gate *g) {
    ranks_must(r, tile_stream_wait_value(r->ctx, NULL, g->number.mine, g->runs), "a gate");
    ranks_fork(r);
}

static void let_all_begin(Ranks *r, const Gate *g) {
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < r->size && r->rank == 0; i++)
        ranks_must(r, tile_stream_write_value(r->ctx, g->stream, g->number.rank[i], g->runs),
                   "a gate");
}

/* Milliseconds from when all ranks begin to where the slowest of those that run it has ended. */
static double time_once(Ranks *r, Gate *g, WorkFn *work, void *user, int runs_here) {
    tile_event *start = NULL, *end = NULL;
    double ms = 0;
    ranks_meet(r);
    g->runs++;
    if (runs_here) {
        if (g->stream) wait_for_gate(r, g);
        ranks_must(r, tile_event_record(r->ctx, NULL, &start), "an event");
        work(user);
        ranks_must(r, tile_event_record(r->ctx, NULL, &end), "an event");
    }
    if (g->stream) let_all_begin(r, g);
    if (runs_here) ranks_must(r, tile_event_elapsed(start, end, &ms), "an event");
    MPI_Allreduce(MPI_IN_PLACE, &ms, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    tile_event_destroy(start);
    tile_event_destroy(end);
    return ms;
}

/* ---- an example ---- */

/* In turns, so that both find the GPU as warm. */
static void measure(Ranks *r, const Trial *t) {
    enum { WARM = 4, RUNS = 20, WARM_ON_CPU = 1, RUNS_ON_CPU = 3 };
    int warm = r->on_gpu ? WARM : WARM_ON_CPU, runs = r->on_gpu ? RUNS : RUNS_ON_CPU;
    double one[RUNS], all[RUNS];
    Gate g = {0};
    if (r->on_gpu && !t->by_host) g = open_gate(r);
    t->fill(t->all, 1);
    if (r->rank == 0) t->fill(t->one, 1);
    for (int i = -warm; i < runs; i++) {
        double one_ms = time_once(r, &g, t->run, t->one, r->rank == 0);
        double all_ms = time_once(r, &g, t->run, t->all, 1);
        if (i < 0) continue;
        one[i] = one_ms;
        all[i] = all_ms;
    }
    close_gate(r, &g);
    double one_ms = median(one, runs), all_ms = median(all, runs);
    if (r->rank == 0)
        printf("%s: one %.3f ms, %.1f TFLOPS; %d ranks %.3f ms, %.1f TFLOPS; "
               "%.3f of %d times as fast\n",
               t->name, one_ms, t->flops / one_ms * 1e-9, r->size, all_ms, t->flops / all_ms * 1e-9,
               one_ms / all_ms / r->size, r->size);
}

long ranks_try(Ranks *r, const Trial *t, const char *format, ...) {
    size_t bytes = (size_t)(t->rows * t->width) * 2;
    uint16_t *want = r->rank ? NULL : malloc(bytes);
    long here = 0, wrong;
    t->open(t->all);
    r->late = !r->on_gpu;
    for (int measure = 1; measure >= 0; measure--) {
        t->fill(t->all, measure);
        ranks_meet(r);
        if (r->late) nap(r->rank);
        t->run(t->all);
        ranks_meet(r);
    }
    r->late = 0;
    if (r->rank == 0) {
        if (!want) ranks_fail(r, "no memory for the result");
        t->open(t->one);
        t->fill(t->one, 0);
        t->run(t->one);
        ranks_must(r, tile_copy_to_host(r->ctx, want, *t->of_one, bytes), "a copy");
        here += t->check(t->one, want);
    }
    here += ranks_compare(r, t->result, *t->of_all, t->rows, t->column, t->columns, want, t->width);
    MPI_Allreduce(&here, &wrong, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (r->rank == 0) {
        va_list list;
        va_start(list, format);
        printf("%s, %d ranks, %s, ", t->name, r->size, r->device);
        vprintf(format, list);
        printf(": %s\n", wrong ? "WRONG" : "the same as one");
        va_end(list);
    }
    if (r->bench) measure(r, t);
    if (r->rank == 0) t->close(t->one);
    t->close(t->all);
    free(want);
    return wrong;
}
