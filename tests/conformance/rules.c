/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* rules.c: runs tests/conformance/rules/NAME.tl: a kernel and, in comments at the file's head, its
 * arguments and results, to passed or failed.
 *
 *   # types: T = i32 fp16          the kernel is run for each; `fp16:fp32` also says what U stands
 * for # warps: 1 8                   and for each of these; default 4 # with: N=4 OP=add constexprs
 *   # grid: 3 2                    programs; default 1
 *   # in x: T = 0 1 2.5 3*8 4..15  a buffer with values: numbers, a number so many times, a range
 *   # out y: i32 = 1 2 . ?         a buffer that must hold these afterwards: `.` as it was before
 *                                  (all bytes 0xCD), `?` anything
 *   # out y: fp32 near 1e-6 = 0.5  so far off, relative to the value or to 1
 *   # acc z: T = 0*4 -> 1 2 3 4    a buffer before and after
 *   # scalar n: i32 = 5            a number
 *   # none p                       None
 *   # on cpu: TEXT                 the CPU device refuses it, with TEXT in the message
 *
 * The arguments stand in the kernel's order. A line that begins with `#  ` continues the one
 * before. */
#include "tests/conformance/rules.h"

#include "tests/run/corpus.h"
#include "tests/run/values.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ARGS = 24, MAX_VALUES = 1 << 14, MAX_FILES = 1024, TEXT = 1 << 16, UNTOUCHED = 0xCD };

typedef enum ArgKind { ARG_IN, ARG_OUT, ARG_ACC, ARG_SCALAR, ARG_NONE } ArgKind;

typedef struct Arg {
    ArgKind kind;
    char name[32];
    tile_type type;
    double near;
    size_t n;
    unsigned char *before, *want;
    char *how; /* of each element of want: '=' this value, '.' as before, '?' anything */
    double number;
    tile_ptr ptr;
} Arg;

typedef struct Rule {
    const char *file;  /* without folder */
    char *text, *head; /* the source; its head with lines joined and `# ` cut off */
    tile_type t, u;    /* what T and U stand for in this case */
    int warps;
    char with[200];
    tile_grid grid;
    Arg arg[MAX_ARGS];
    int nargs;
    char what[160]; /* "flip.tl, T = i32, 4 warps" */
} Rule;

__attribute__((format(printf, 3, 4))) static void fail(RuleRun *run, const Rule *r,
                                                       const char *format, ...) {
    va_list ap;
    run->failed++;
    printf("FAILED: %s: ", r->what);
    va_start(ap, format);
    vprintf(format, ap);
    va_end(ap);
    printf("\n");
}

/* The files are part of this program: a mistake in one ends it. */
__attribute__((noreturn)) static void bad(const Rule *r, const char *what, const char *at) {
    fprintf(stderr, "tile-conformance: rules/%s: %s: %.60s\n", r->file, what, at);
    exit(4);
}

/* ---- the head of a file ---- */

static void *need(void *p) {
    if (p) return p;
    fprintf(stderr, "tile-conformance: out of memory\n");
    exit(3);
}

/* The comment lines at the file's head, one directive a line. */
static char *read_head(const char *text) {
    char *head = need(malloc(strlen(text) + 2)), *out = head;
    for (const char *p = text; *p == '#'; p += strcspn(p, "\n"), p += *p == '\n') {
        size_t n = strcspn(p, "\n");
        bool goes_on = n > 2 && p[1] == ' ' && p[2] == ' ';
        if (out > head) *out++ = goes_on ? ' ' : '\n';
        size_t skip = n > 1 ? 2 : 1;
        memcpy(out, p + skip, n - skip);
        out += n - skip;
    }
    *out = '\0';
    return head;
}

/* What stands behind `name:` on the directive's line, or NULL; *len is how long it is. */
static const char *directive(const Rule *r, const char *name, size_t *len) {
    size_t n = strlen(name);
    for (const char *p = r->head; p; p = strchr(p, '\n'), p = p ? p + 1 : NULL) {
        if (strncmp(p, name, n) || p[n] != ':') continue;
        p += n + 1;
        while (*p == ' ') p++;
        *len = strcspn(p, "\n");
        return p;
    }
    return NULL;
}

static tile_type read_type(const Rule *r, const char *p, size_t n) {
    if (n == 1 && *p == 'T') return r->t;
    if (n == 1 && *p == 'U') return r->u;
    tile_type t = type_find(p, n);
    if (t == TILE_NONE) bad(r, "unknown type", p);
    return t;
}

static void put_value(tile_type t, unsigned char *data, size_t i, const char *text) {
    if (type_is_float(t))
        value_set(t, data, i, strtod(text, NULL));
    else
        bits_set(t, data, i,
                 *text == '-' ? (uint64_t)strtoll(text, NULL, 0) : strtoull(text, NULL, 0));
}

/* Values up to the end or to `->`; returns what stands there. */
static const char *read_values(const Rule *r, Arg *a, const char *p, const char *end,
                               unsigned char *data, char *how, size_t *n) {
    *n = 0;
    for (;;) {
        while (p < end && *p == ' ') p++;
        if (p >= end || strncmp(p, "->", 2) == 0) return p;
        size_t len = strcspn(p, " \n");
        char word[64], *star, *dots;
        if (len >= sizeof word) bad(r, "a long word", p);
        snprintf(word, sizeof word, "%.*s", (int)len, p);
        p += len;
        long times = (star = strchr(word, '*')) ? strtol(star + 1, NULL, 10) : 1;
        if (star) *star = '\0';
        long from = 0, to = times - 1;
        if ((dots = strstr(word, "..")))
            from = strtol(word, NULL, 10), to = strtol(dots + 2, NULL, 10);
        if (to < from || to - from >= MAX_VALUES - (long)*n) bad(r, "too many values", word);
        for (long v = from; v <= to; v++, ++*n) {
            char number[32];
            snprintf(number, sizeof number, "%ld", v);
            bool open = (*word == '.' || *word == '?') && !word[1] && how;
            if (how) how[*n] = open ? *word : '=';
            if (!open) put_value(a->type, data, *n, dots ? number : word);
        }
    }
}

/* `x: T near 1e-6 = values` behind the word that says which kind of argument it is. */
static void read_arg(Rule *r, ArgKind kind, const char *p, const char *end) {
    if (r->nargs == MAX_ARGS) bad(r, "too many arguments", p);
    Arg *a = &r->arg[r->nargs++];
    *a = (Arg){.kind = kind};
    size_t n = strcspn(p, ": \n");
    snprintf(a->name, sizeof a->name, "%.*s", (int)n, p);
    if (kind == ARG_NONE) return;
    p += n;
    while (*p == ':' || *p == ' ') p++;
    n = strcspn(p, " =\n");
    a->type = read_type(r, p, n);
    p += n;
    if (strncmp(p, " near ", 6) == 0) a->near = strtod(p + 6, NULL);
    p = memchr(p, '=', (size_t)(end - p));
    if (!p) bad(r, "no values", a->name);
    p++;
    if (kind == ARG_SCALAR) {
        a->number = strtod(p, NULL);
        return;
    }
    size_t room = MAX_VALUES * type_size(a->type), before;
    a->before = need(calloc(1, room));
    a->want = need(calloc(1, room));
    a->how = need(calloc(1, MAX_VALUES));
    if (kind != ARG_OUT) p = read_values(r, a, p, end, a->before, NULL, &before);
    if (kind == ARG_OUT) memset(a->before, UNTOUCHED, room);
    if (kind == ARG_IN) {
        a->n = before;
        memset(a->how, '.', a->n);
        return;
    }
    if (kind == ARG_ACC && strncmp(p, "->", 2)) bad(r, "no `->`", a->name);
    read_values(r, a, kind == ARG_ACC ? p + 2 : p, end, a->want, a->how, &a->n);
    if (kind == ARG_ACC && a->n != before) bad(r, "not as many values after as before", a->name);
}

/* `kind NAME:`, or `none NAME` and nothing more: other lines are prose. */
static bool is_arg(const char *line, const char *kind) {
    size_t n = strlen(kind);
    if (strncmp(line, kind, n) != 0) return false;
    line += n + strcspn(line + n, ": \n");
    return strcmp(kind, "none ") ? *line == ':' : *line == '\n' || !*line;
}

static void read_args(Rule *r) {
    static const char *const kinds[] = {"in ", "out ", "acc ", "scalar ", "none "};
    r->nargs = 0;
    for (const char *p = r->head; p; p = strchr(p, '\n'), p = p ? p + 1 : NULL)
        for (int k = 0; k < 5; k++)
            if (is_arg(p, kinds[k]))
                read_arg(r, (ArgKind)k, p + strlen(kinds[k]), p + strcspn(p, "\n"));
}

static void free_args(Rule *r) {
    for (int i = 0; i < r->nargs; i++) {
        free(r->arg[i].before);
        free(r->arg[i].want);
        free(r->arg[i].how);
    }
}

/* ---- running ---- */

/* What a launch promises of the argument, as Triton's does. */
static const char *promise(const Arg *a) {
    if (a->kind == ARG_SCALAR && type_is_float(a->type)) return "";
    if (a->kind == ARG_SCALAR && a->number == 1) return ":1";
    if (a->kind == ARG_SCALAR && fmod(a->number, 16) != 0) return "";
    return a->kind == ARG_NONE ? "" : ":16";
}

typedef struct Options { /* and what they point to */
    tile_compile_options o;
    char signature[1024], with[200];
    const char *define[16];
} Options;

static void set_options(const RuleRun *run, const Rule *r, Options *out) {
    char *signature = out->signature, *with = out->with, *save = NULL;
    int ndefines = 0;
    signature[0] = '\0';
    for (int i = 0; i < r->nargs; i++) {
        const Arg *a = &r->arg[i];
        size_t n = strlen(signature);
        bool is_buffer = a->kind < ARG_SCALAR;
        snprintf(signature + n, sizeof out->signature - n, "%s%s=%s%s%s", i ? ", " : "", a->name,
                 is_buffer ? "*" : "", a->kind == ARG_NONE ? "None" : type_name(a->type),
                 promise(a));
    }
    snprintf(with, sizeof out->with, "%s", r->with);
    for (char *d = strtok_r(with, " ", &save); d && ndefines < 16; d = strtok_r(NULL, " ", &save))
        out->define[ndefines++] = d;
    bool tir = run->on_cpu && !run->ptx_folder;
    out->o = (tile_compile_options){.source = r->text,
                                    .source_len = strlen(r->text),
                                    .file_name = r->file,
                                    .signature = signature,
                                    .ignore_annotations = 1,
                                    .defines = out->define,
                                    .ndefines = ndefines,
                                    .num_warps = r->warps,
                                    .target = tir && !run->passes ? NULL : run->target,
                                    .passes = tir ? run->passes : NULL,
                                    .emit = tir ? TILE_EMIT_TIR : TILE_EMIT_PTX,
                                    .no_perf_notes = 1};
}

static bool is_right(const Arg *a, const unsigned char *got, size_t i) {
    size_t size = type_size(a->type);
    if (a->how[i] == '?') return true;
    const unsigned char *want = a->how[i] == '.' ? a->before : a->want;
    if (memcmp(got + i * size, want + i * size, size) == 0) return true;
    if (a->how[i] == '.' || !type_is_float(a->type)) return false;
    double x = value_get(a->type, got, i), y = value_get(a->type, want, i);
    return (isnan(x) && isnan(y)) || fabs(x - y) <= a->near * fmax(1, fabs(y));
}

static void judge(RuleRun *run, Rule *r) {
    unsigned char *got = need(malloc(MAX_VALUES * 8));
    for (int k = 0; k < r->nargs; k++) {
        Arg *a = &r->arg[k];
        if (a->kind >= ARG_SCALAR) continue;
        tile_status st = tile_copy_to_host(run->ctx, got, a->ptr, a->n * type_size(a->type));
        size_t i = 0;
        while (!st && i < a->n && is_right(a, got, i)) i++;
        if (!st && i == a->n) {
            run->passed++;
            continue;
        }
        if (st)
            fail(run, r, "%s", tile_error(run->ctx));
        else
            fail(run, r, "%s[%zu] is %.17g (0x%llx), not %.17g", a->name, i,
                 value_get(a->type, got, i), (unsigned long long)bits_get(a->type, got, i),
                 value_get(a->type, a->how[i] == '.' ? a->before : a->want, i));
    }
    free(got);
}

/* All buffers, without the elements that may be anything. */
static void hold_bits(RuleRun *run, Rule *r, const char *code) {
    char title[200], why[BITS_WHY];
    uint64_t hash = BITS_START;
    unsigned char *got = need(malloc(MAX_VALUES * 8));
    tile_status st = TILE_OK;
    for (int k = 0; k < r->nargs && !st; k++) {
        const Arg *a = &r->arg[k];
        if (a->kind >= ARG_SCALAR) continue;
        size_t size = type_size(a->type);
        st = tile_copy_to_host(run->ctx, got, a->ptr, a->n * size);
        for (size_t i = 0; i < a->n && !st; i++)
            if (a->how[i] != '?') hash = bits_hash(hash, got + i * size, size);
    }
    free(got);
    snprintf(title, sizeof title, "rule %s", r->what);
    uint32_t inexact = run->on_cpu ? 0 : bits_inexact(code);
    BitsVerdict verdict = st ? BITS_OPEN : bits_case(run->bits, title, hash, inexact, why);
    if (st)
        fail(run, r, "%s", tile_error(run->ctx));
    else if (verdict == BITS_DIFFER)
        fail(run, r, "%s", why);
    else
        run->passed += verdict == BITS_SAME;
}

static tile_status launch(RuleRun *run, Rule *r, const char *code, size_t size) {
    tile_module *module = NULL;
    tile_kernel *kernel = NULL;
    tile_arg arg[MAX_ARGS];
    tile_status st = tile_module_load(run->ctx, code, size, &module);
    if (!st) st = tile_kernel_get(module, NULL, &kernel);
    for (int i = 0; i < r->nargs; i++) {
        Arg *a = &r->arg[i];
        size_t bytes = a->n * (a->kind < ARG_SCALAR ? type_size(a->type) : 0);
        if (a->kind < ARG_SCALAR && !st) st = tile_alloc(run->ctx, bytes, &a->ptr);
        if (a->kind < ARG_SCALAR && !st)
            st = tile_copy_to_device(run->ctx, a->ptr, a->before, bytes);
        arg[i] = a->kind == ARG_NONE      ? tile_none()
                 : a->kind != ARG_SCALAR  ? tile_pointer(a->ptr)
                 : type_is_float(a->type) ? tile_float(a->type, a->number)
                                          : tile_int(a->type, (int64_t)a->number);
    }
    if (!st) st = tile_launch(kernel, &r->grid, arg, r->nargs, NULL);
    if (!st) st = tile_synchronize(run->ctx);
    if (!st && run->bits) hold_bits(run, r, code);
    size_t len = 0;
    const char *refusal = run->on_cpu ? directive(r, "on cpu", &len) : NULL;
    char text[200];
    snprintf(text, sizeof text, "%.*s", (int)len, refusal ? refusal : "");
    if (refusal && st && strstr(tile_error(run->ctx), text))
        run->passed++;
    else if (refusal)
        fail(run, r, "the CPU device must refuse this: %s", tile_error(run->ctx));
    else if (st)
        fail(run, r, "%s: %s", tile_status_text(st), tile_error(run->ctx));
    else
        judge(run, r);
    for (int i = 0; i < r->nargs; i++)
        if (r->arg[i].kind < ARG_SCALAR) tile_free(run->ctx, r->arg[i].ptr);
    tile_module_unload(module);
    return st;
}

static void write_ptx(RuleRun *run, Rule *r, const tile_compile_options *o, const char *code,
                      size_t size) {
    char name[20];
    snprintf(name, sizeof name, "rule%04d", run->files++);
    if (corpus_write(run->ptx_folder, name, r->what, o, code, size))
        run->passed++;
    else
        fail(run, r, "%s/%s.ptx cannot be written", run->ptx_folder, name);
}

/* Of somebody else: what there is none of has not been asked for. */
static void run_code(RuleRun *run, Rule *r) {
    size_t size;
    read_args(r);
    char *code = corpus_code(run->code, r->what, &size);
    if (code) launch(run, r, code, size);
    free(code);
    free_args(r);
}

static void run_once(RuleRun *run, Rule *r) {
    size_t size;
    Options options;
    tile_compiled *compiled = NULL;
    read_args(r);
    set_options(run, r, &options);
    tile_compile(&options.o, &compiled);
    const char *code = tile_compiled_text(compiled, TILE_PART_OUTPUT, &size);
    if (!size)
        fail(run, r, "%s", tile_compiled_text(compiled, TILE_PART_DIAGNOSTICS, NULL));
    else if (run->ptx_folder)
        write_ptx(run, r, &options.o, code, size);
    else
        launch(run, r, code, size);
    tile_compiled_free(compiled);
    free_args(r);
}

/* ---- all files ---- */

/* For each number of warps. */
static void run_type(RuleRun *run, Rule *r, const char *types) {
    size_t len = 0;
    const char *warps = directive(r, "warps", &len);
    char *next;
    for (long n = warps ? strtol(warps, &next, 10) : 4; n;
         n = warps ? strtol(next, &next, 10) : 0) {
        r->warps = (int)n;
        snprintf(r->what, sizeof r->what, "%s%s%.*s, %ld warp%s", r->file, types ? ", T = " : "",
                 types ? (int)strcspn(types, " \n") : 0, types ? types : "", n, n > 1 ? "s" : "");
        (run->code ? run_code : run_once)(run, r);
        if (warps && next >= warps + len) return;
    }
}

static void run_rule(RuleRun *run, Rule *r) {
    size_t len = 0;
    const char *p = directive(r, "with", &len);
    snprintf(r->with, sizeof r->with, "%.*s", p ? (int)len : 0, p ? p : "");
    r->grid = (tile_grid){1, 1, 1};
    p = directive(r, "grid", &len);
    if (p) sscanf(p, "%u %u %u", &r->grid.x, &r->grid.y, &r->grid.z);
    p = directive(r, "types", &len);
    if (!p) {
        run_type(run, r, NULL);
        return;
    }
    const char *end = p + len;
    p = memchr(p, '=', len);
    if (!p) bad(r, "no types", r->head);
    for (p++;; p += strcspn(p, " \n")) {
        while (p < end && *p == ' ') p++;
        if (p >= end) return;
        size_t n = strcspn(p, ": \n");
        r->t = r->u = read_type(r, p, n);
        if (p[n] == ':') r->u = read_type(r, p + n + 1, strcspn(p + n + 1, " \n"));
        run_type(run, r, p);
    }
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static char *read_text(const char *folder, const char *file) {
    char path[4400];
    snprintf(path, sizeof path, "%s/%s", folder, file);
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    char *text = need(calloc(1, TEXT));
    size_t n = fread(text, 1, TEXT - 1, f);
    text[n] = '\0';
    fclose(f);
    return text;
}

bool rules_run(RuleRun *run) {
    char folder[4096], *name[MAX_FILES];
    int n = 0;
    snprintf(folder, sizeof folder, "%s/tests/conformance/rules", run->root);
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir && n < MAX_FILES && (e = readdir(dir));) {
        size_t len = strlen(e->d_name);
        if (len > 3 && strcmp(e->d_name + len - 3, ".tl") == 0)
            name[n++] = strcpy(need(malloc(len + 1)), e->d_name);
    }
    if (dir) closedir(dir);
    qsort(name, (size_t)n, sizeof *name, by_name);
    for (int i = 0; i < n; i++) {
        Rule r = {.file = name[i], .text = read_text(folder, name[i])};
        if (r.text && !strstr(r.text, "RUN:") && (!run->only || strstr(name[i], run->only))) {
            r.head = read_head(r.text);
            run_rule(run, &r);
            free(r.head);
        }
        free(r.text);
        free(name[i]);
    }
    if (!n) fprintf(stderr, "tile-conformance: %s: no files: %s\n", folder, strerror(errno));
    return n > 0;
}
