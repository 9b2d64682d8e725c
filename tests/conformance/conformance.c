/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* conformance.c: tile-conformance: every operator, literal, function and cast that Triton was asked
 * for (triton/README.md), asked again of tilec: the same dtype, the same values, the same refusals;
 * then the rules of the language, a kernel each (rules.c).
 *
 *   tile-conformance [--device=cpu|cuda[:N]] [--target=native|sm_80|…] [--root=FOLDER]
 *                    [--only=TEXT] [--rule=NAME] [--ptx=FOLDER] [--code=FOLDER]
 *                    [--passes=all|LIST] [--list] [--bits=FILE] [--same-bits=FILE]
 *
 * Rows over the same inputs become one kernel of up to 24 statements, each checked for its dtype by
 * a static_assert and stored through a pointer of that dtype. A kernel that does not compile is cut
 * up into its rows, so that the others still count. Rows that must be refused are compiled one by
 * one. --only takes the rows whose `x,y,expr` contain TEXT and no rules; --rule takes the rules
 * whose file name contains NAME and no rows; --ptx runs nothing and writes the PTX of all kernels
 * into FOLDER; --code compiles nothing and runs the PTX of rules that lies in FOLDER
 * (tests/run/corpus.h); --passes lets the CPU device run what these passes of the compiler (`all`:
 * the whole pipeline for --target) make of the tile IR; --list names every row that fails, not just
 * the first 50. --bits writes a hash of each row's results and of each rule's buffers, --same-bits
 * holds them against such a file (tests/run/bits.h): cases that it lacks, and its lines without a
 * case, are counted, and on a GPU they are failures. Ends with `N passed, N failed`; exit code 5
 * when a row failed, 77 when there is no device. */
#include "tests/conformance/rows.h"
#include "tests/conformance/rules.h"
#include "tests/run/bits.h"
#include "tests/run/corpus.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BATCH = 24, SOURCE = 1 << 14, MESSAGE = 600, ALIGN = 256 };

/* One kernel: the rows in it, and what became of it. */
typedef struct Job {
    const Row *row[BATCH];
    int nrows;
    tile_compiled *compiled;
    tile_status status;
} Job;

typedef struct Suite {
    Rows rows;
    tile_context *ctx;
    bool on_cpu, list;
    const char *target, *only, *rule, *ptx_folder, *passes, *code;
    Job *job;
    int njobs, next_job;
    pthread_mutex_t lock;
    tile_ptr inputs, outputs;
    Bits bits;
    int passed, failed, files;
} Suite;

/* The whole pipeline, as --passes takes it. */
static const char all_passes[] =
#define PASS(name, level, text) "," #name
#include "passes/passes.def"
#undef PASS
    ;

/* ---- counting ---- */

static void fail_row(Suite *s, const Row *r, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void fail_row(Suite *s, const Row *r, const char *format, ...) {
    va_list ap;
    s->failed++;
    if (s->failed == 51 && !s->list) printf("… --list shows the rest\n");
    if (s->failed > 50 && !s->list) return;
    printf("FAILED: row %d: %s, %s: %s: ", r->line, type_name(r->x), type_name(r->y), r->expr);
    va_start(ap, format);
    vprintf(format, ap);
    va_end(ap);
    printf("\n");
}

/* The first line of the diagnostics, without the place. */
static const char *first_error(const tile_compiled *c, char *buffer, size_t size) {
    const char *text = tile_compiled_text(c, TILE_PART_DIAGNOSTICS, NULL);
    const char *error = strstr(text, "error: ");
    if (error) text = error;
    snprintf(buffer, size, "%.*s", (int)strcspn(text, "\n"), text);
    return buffer;
}

/* ---- sources ---- */

static const char *triton_name(tile_type t) {
    static const char *const names[] = {[TILE_I1] = "int1",
                                        [TILE_I8] = "int8",
                                        [TILE_I16] = "int16",
                                        [TILE_I32] = "int32",
                                        [TILE_I64] = "int64",
                                        [TILE_U8] = "uint8",
                                        [TILE_U16] = "uint16",
                                        [TILE_U32] = "uint32",
                                        [TILE_U64] = "uint64",
                                        [TILE_FP8E5] = "float8e5",
                                        [TILE_FP8E4NV] = "float8e4nv",
                                        [TILE_FP16] = "float16",
                                        [TILE_BF16] = "bfloat16",
                                        [TILE_FP32] = "float32",
                                        [TILE_FP64] = "float64"};
    return names[t];
}

__attribute__((format(printf, 2, 3))) static void put(char *text, const char *format, ...) {
    size_t n = strlen(text);
    va_list ap;
    va_start(ap, format);
    vsnprintf(text + n, SOURCE - n, format, ap);
    va_end(ap);
}

/* The kernel of a job and its signature, SOURCE bytes each. */
static void write_source(const Job *j, char *text, char *signature) {
    const Row *first = j->row[0];
    text[0] = signature[0] = '\0';
    put(text,
        "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef rows(x_ptr, y_ptr");
    put(signature, "*%s, *%s", type_name(first->x), type_name(first->y));
    for (int i = 0; i < j->nrows; i++) {
        put(text, ", out%d", i);
        put(signature, ", *%s", type_name(j->row[i]->result));
    }
    put(text, "):\n    i = tl.arange(0, %zu)\n    x = tl.load(x_ptr + i)\n", first->n);
    put(text, "    y = tl.load(y_ptr + i)\n");
    for (int i = 0; i < j->nrows; i++) {
        put(text, "    r%d = %s\n", i, j->row[i]->expr);
        if (j->row[i]->expect != EXPECT_REFUSAL)
            put(text, "    tl.static_assert(r%d.dtype == tl.%s)\n", i,
                triton_name(j->row[i]->result));
        put(text, "    tl.store(out%d + i, r%d)\n", i, i);
    }
}

/* How to compile a job; `text` has room for twice SOURCE bytes. */
static tile_compile_options job_options(const Suite *s, const Job *j, char *text) {
    char *signature = text + SOURCE;
    write_source(j, text, signature);
    bool tir = s->on_cpu || j->row[0]->expect == EXPECT_REFUSAL;
    return (tile_compile_options){.source = text,
                                  .source_len = strlen(text),
                                  .file_name = "rows.tl",
                                  .signature = signature,
                                  .ignore_annotations = 1,
                                  .target = s->on_cpu && !s->passes ? NULL : s->target,
                                  .passes = s->on_cpu ? s->passes : NULL,
                                  .emit = tir ? TILE_EMIT_TIR : TILE_EMIT_PTX,
                                  .no_perf_notes = 1,
                                  .triton = "3.6"}; /* which the rows are of */
}

static void compile_job(const Suite *s, Job *j) {
    char *text = calloc(2, SOURCE);
    if (!text) {
        j->status = TILE_NO_MEMORY;
        return;
    }
    tile_compile_options options = job_options(s, j, text);
    j->status = tile_compile(&options, &j->compiled);
    free(text);
}

static void *compile_some(void *context) {
    Suite *s = context;
    for (;;) {
        pthread_mutex_lock(&s->lock);
        int i = s->next_job < s->njobs ? s->next_job++ : -1;
        pthread_mutex_unlock(&s->lock);
        if (i < 0) return NULL;
        compile_job(s, &s->job[i]);
    }
}

static void compile_all(Suite *s) {
    pthread_t thread[32];
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int n = 0;
    while (n < 32 && n + 1 < cores && !pthread_create(&thread[n], NULL, compile_some, s)) n++;
    compile_some(s);
    for (int i = 0; i < n; i++) pthread_join(thread[i], NULL);
}

/* ---- running ---- */

static size_t room(const Row *r) {
    return (r->n * type_size(r->result) + ALIGN - 1) / ALIGN * ALIGN;
}

/* Loads and launches; the outputs, one behind the other as room() has them, or NULL and a text. */
static unsigned char *run_job(Suite *s, const Job *j, char *why, size_t why_size) {
    tile_module *module = NULL;
    tile_kernel *kernel = NULL;
    tile_arg arg[BATCH + 2];
    size_t size, total = 0;
    const char *text = tile_compiled_text(j->compiled, TILE_PART_OUTPUT, &size);
    for (int i = 0; i < j->nrows; i++) total += room(j->row[i]);
    unsigned char *got = malloc(total);
    tile_status st = got ? tile_module_load(s->ctx, text, size, &module) : TILE_NO_MEMORY;
    if (!st) st = tile_kernel_get(module, NULL, &kernel);
    if (!st) st = tile_fill(s->ctx, s->outputs, 0xCD, total);
    arg[0] = tile_pointer(s->inputs + j->row[0]->x_at);
    arg[1] = tile_pointer(s->inputs + j->row[0]->y_at);
    size_t at = 0;
    for (int i = 0; i < j->nrows; i++) {
        arg[i + 2] = tile_pointer(s->outputs + at);
        at += room(j->row[i]);
    }
    const tile_grid one = {1, 1, 1};
    if (!st) st = tile_launch(kernel, &one, arg, j->nrows + 2, NULL);
    if (!st) st = tile_synchronize(s->ctx);
    if (!st) st = tile_copy_to_host(s->ctx, got, s->outputs, total);
    tile_module_unload(module);
    if (!st) return got;
    const char *error = tile_error(s->ctx);
    snprintf(why, why_size, "%s: %.*s", tile_status_text(st), (int)strcspn(error, "\n"), error);
    free(got);
    return NULL;
}

/* Of the row alone, not of those that share its kernel. */
static uint32_t inexact_of(const Suite *s, const Row *r) {
    Job one = {.row = {r}, .nrows = 1};
    compile_job(s, &one);
    uint32_t inexact =
        one.status ? 0 : bits_inexact(tile_compiled_text(one.compiled, TILE_PART_OUTPUT, NULL));
    tile_compiled_free(one.compiled);
    return inexact;
}

static void hold_bits(Suite *s, const Row *r, const unsigned char *got, uint32_t inexact) {
    char title[MESSAGE], why[BITS_WHY];
    snprintf(title, sizeof title, "%s, %s: %s", type_name(r->x), type_name(r->y), r->expr);
    uint64_t hash = BITS_START;
    size_t size = type_size(r->result);
    for (size_t i = 0; i < r->n; i++)
        if (!row_leaves_open(&s->rows, r, i)) hash = bits_hash(hash, got + i * size, size);
    if (inexact && s->bits.write) inexact = inexact_of(s, r);
    BitsVerdict verdict = bits_case(&s->bits, title, hash, inexact, why);
    if (verdict == BITS_DIFFER)
        fail_row(s, r, "%s", why);
    else
        s->passed += verdict == BITS_SAME;
}

static void judge_job(Suite *s, const Job *j, const unsigned char *got) {
    char text[MESSAGE];
    bool bits = bits_wanted(&s->bits);
    const char *code = tile_compiled_text(j->compiled, TILE_PART_OUTPUT, NULL);
    uint32_t inexact = bits && !s->on_cpu ? bits_inexact(code) : 0;
    for (int i = 0; i < j->nrows; i++) {
        if (bits) hold_bits(s, j->row[i], got, inexact);
        if (row_agrees(&s->rows, j->row[i], got, text, sizeof text))
            s->passed++;
        else
            fail_row(s, j->row[i], "%s", text);
        got += room(j->row[i]);
    }
}

static void write_ptx(Suite *s, const Job *j) {
    char name[20], title[200], *source = calloc(2, SOURCE);
    const Row *first = j->row[0];
    size_t size;
    const char *text = tile_compiled_text(j->compiled, TILE_PART_OUTPUT, &size);
    snprintf(name, sizeof name, "%04d", s->files++);
    snprintf(title, sizeof title, "%s, %s: %.150s ...", type_name(first->x), type_name(first->y),
             first->expr);
    bool ok = source != NULL;
    if (ok) {
        tile_compile_options options = job_options(s, j, source);
        ok = corpus_write(s->ptx_folder, name, title, &options, text, size);
    }
    free(source);
    for (int i = 0; i < j->nrows; i++) {
        if (ok)
            s->passed++;
        else
            fail_row(s, j->row[i], "%s/%s.ptx cannot be written", s->ptx_folder, name);
    }
}

/* What must be refused was: with a diagnostic. */
static void judge_refusal(Suite *s, const Job *j) {
    char text[MESSAGE];
    bool refused = j->status == TILE_COMPILE_ERROR &&
                   strstr(tile_compiled_text(j->compiled, TILE_PART_DIAGNOSTICS, NULL), "error: ");
    if (refused)
        s->passed++;
    else if (!j->status)
        fail_row(s, j->row[0], "this must be refused");
    else
        fail_row(s, j->row[0], "%s: %s", tile_status_text(j->status),
                 first_error(j->compiled, text, sizeof text));
}

static void finish_job(Suite *s, Job *j);

static void finish_rows(Suite *s, const Job *j) {
    for (int i = 0; i < j->nrows; i++) {
        Job one = {.row = {j->row[i]}, .nrows = 1};
        compile_job(s, &one);
        finish_job(s, &one);
    }
}

static void finish_job(Suite *s, Job *j) {
    char text[MESSAGE];
    const Row *first = j->row[0];
    if (first->expect == EXPECT_REFUSAL) {
        judge_refusal(s, j);
    } else if (j->status && j->nrows > 1) {
        finish_rows(s, j);
    } else if (j->status == TILE_COMPILE_ERROR && first->expect == EXPECT_EITHER) {
        s->passed++;
    } else if (j->status) {
        fail_row(s, first, "%s: %s", tile_status_text(j->status),
                 first_error(j->compiled, text, sizeof text));
    } else if (s->ptx_folder) {
        write_ptx(s, j);
    } else {
        unsigned char *got = run_job(s, j, text, sizeof text);
        if (got)
            judge_job(s, j, got);
        else if (j->nrows > 1)
            finish_rows(s, j);
        else
            fail_row(s, first, "%s", text);
        free(got);
    }
    tile_compiled_free(j->compiled);
    j->compiled = NULL;
}

/* ---- all rows ---- */

static bool wanted(const Suite *s, const Row *r) {
    char text[200];
    snprintf(text, sizeof text, "%s,%s,%s", type_name(r->x), type_name(r->y), r->expr);
    return !s->only || strstr(text, s->only);
}

/* Rows that one kernel may hold have the same inputs and are expected to compile. */
static bool goes_with(const Job *j, const Row *r) {
    const Row *a = j->row[0];
    return j->nrows < BATCH && a->expect == EXPECT_VALUES && r->expect == EXPECT_VALUES &&
           a->x == r->x && a->y == r->y && a->x_at == r->x_at && a->y_at == r->y_at && a->n == r->n;
}

static void make_jobs(Suite *s) {
    for (int i = 0; i < s->rows.count; i++) {
        const Row *r = &s->rows.row[i];
        if (!wanted(s, r)) continue;
        int at = s->njobs; /* the last kernels may still have room */
        for (int k = s->njobs - 1; k >= 0 && k >= s->njobs - 64 && at == s->njobs; k--)
            if (goes_with(&s->job[k], r)) at = k;
        if (at == s->njobs) s->njobs++;
        s->job[at].row[s->job[at].nrows++] = r;
    }
}

static tile_status open_device(Suite *s, const char *device) {
    tile_status st = tile_context_create(device, &s->ctx);
    /* What no operation defines both devices do alike, and some tests hold them to it. */
    if (!st) st = tile_context_set_checks(s->ctx, TILE_CHECK_ALL & ~TILE_CHECK_UNDEFINED);
    if (st) return st;
    s->on_cpu = strcmp(tile_context_target(s->ctx), "cpu") == 0 && !s->ptx_folder;
    if (strcmp(s->target, "native") == 0)
        s->target = s->ptx_folder || s->passes ? "sm_80" : tile_context_target(s->ctx);
    st = tile_alloc(s->ctx, s->rows.data_size, &s->inputs);
    if (!st) st = tile_copy_to_device(s->ctx, s->inputs, s->rows.data, s->rows.data_size);
    if (!st) st = tile_alloc(s->ctx, BATCH * 64 * 1024, &s->outputs);
    return st;
}

static void run_rows(Suite *s) {
    make_jobs(s);
    compile_all(s);
    for (int i = 0; i < s->njobs; i++) finish_job(s, &s->job[i]);
    printf("%-44s %5d passed %5d failed\n", "what Triton computes", s->passed, s->failed);
}

static bool run_rules(Suite *s, const char *root) {
    RuleRun run = {.ctx = s->ctx,
                   .on_cpu = s->on_cpu,
                   .root = root,
                   .target = s->target,
                   .only = s->rule,
                   .ptx_folder = s->ptx_folder,
                   .passes = s->passes,
                   .bits = bits_wanted(&s->bits) ? &s->bits : NULL,
                   .code = s->code};
    if (!rules_run(&run)) return false;
    printf("%-44s %5d passed %5d failed\n", "the rules", run.passed, run.failed);
    s->passed += run.passed;
    s->failed += run.failed;
    return true;
}

static const char *option(const char *arg, const char *name) {
    size_t n = strlen(name);
    return strncmp(arg, name, n) == 0 ? arg + n : NULL;
}

static int run(Suite *s, const char *root, const char *device) {
    char why[4200], folder[4096];
    snprintf(folder, sizeof folder, "%s/tests/conformance/triton", root);
    if (!rows_read(&s->rows, folder, why, sizeof why)) {
        fprintf(stderr, "tile-conformance: %s\n", why);
        return 2;
    }
    s->job = calloc((size_t)s->rows.count + 1, sizeof *s->job);
    if (!s->job) {
        fprintf(stderr, "tile-conformance: out of memory\n");
        return 3;
    }
    tile_status st = open_device(s, device);
    if (st) {
        fprintf(stderr, "tile-conformance: %s: %s: %s\n", device, tile_status_text(st),
                s->ctx ? tile_error(s->ctx) : "");
        return st == TILE_NO_DEVICE ? 77 : 5;
    }
    printf("%s, code for %s\n", tile_context_device_name(s->ctx), s->target);
    s->bits.target = s->target;
    if (!bits_open(&s->bits, "tile-conformance")) return 2;
    if (!s->rule && !s->code) run_rows(s);
    if (!s->only && !run_rules(s, root)) return 2;
    bool whole = strncmp(device, "cuda", 4) == 0 && !s->rule && !s->only;
    s->failed += bits_close(&s->bits, "tile-conformance", whole);
    printf("%d passed, %d failed\n", s->passed, s->failed);
    return s->failed || !s->passed ? 5 : 0;
}

int main(int argc, char **argv) {
    const char *device = "cpu", *root = ".", *v;
    Suite s = {.target = "native", .lock = PTHREAD_MUTEX_INITIALIZER};
    for (int i = 1; i < argc; i++) {
        if ((v = option(argv[i], "--device=")))
            device = v;
        else if ((v = option(argv[i], "--target=")))
            s.target = v;
        else if ((v = option(argv[i], "--root=")))
            root = v;
        else if ((v = option(argv[i], "--only=")))
            s.only = v;
        else if ((v = option(argv[i], "--rule=")))
            s.rule = v;
        else if ((v = option(argv[i], "--ptx=")))
            s.ptx_folder = v;
        else if ((v = option(argv[i], "--code=")))
            s.code = v;
        else if ((v = option(argv[i], "--bits=")))
            s.bits.write = v;
        else if ((v = option(argv[i], "--same-bits=")))
            s.bits.same = v;
        else if ((v = option(argv[i], "--passes=")))
            s.passes = strcmp(v, "all") ? v : all_passes + 1;
        else if (strcmp(argv[i], "--list") == 0)
            s.list = true;
        else {
            fprintf(stderr, "tile-conformance: unknown argument %s\n", argv[i]);
            return 2;
        }
    }
    if (bits_wanted(&s.bits) && (s.ptx_folder || s.code)) {
        fprintf(stderr, "tile-conformance: bits are of launches of its own code\n");
        return 2;
    }
    int code = run(&s, root, device);
    if (s.outputs) tile_free(s.ctx, s.outputs);
    if (s.inputs) tile_free(s.ctx, s.inputs);
    if (s.ctx) tile_context_destroy(s.ctx);
    free(s.job);
    rows_free(&s.rows);
    return code;
}
