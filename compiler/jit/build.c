/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* build.c: a kernel's source and the arguments of a launch -> a loaded variant, out of the disk
 * cache or through the compiler.
 *
 *   arguments -> signature ("n=i32:16"), values -> key text -> disk? -> tile_compile -> disk,
 * module
 *
 * The key text is everything that the outcome depends on: which compiler, what for, the options,
 * the signature, the source. What heuristics, and the orders of tiles, asked of the arguments is
 * known only afterwards: an entry begins with those questions and the answers it was made for, and
 * other answers make another key. */
#include "compiler/jit/jit.h"

#include "compiler/jit/cache.h"
#include "compiler/compile.h"
#include "compiler/fields.h"
#include "compiler/reading.h"
#include "frontend/lower/lower.h"
#include "ir/ir.h"
#include "ir/triton.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const char compiler_digest[]; /* of the compiler's sources: digest.c, generated */

/* tile_type lists the elements in elem.def's order, from 1. */
static const char *type_name(unsigned type) {
    return elem_signature_name((Elem)(type - 1));
}

static bool is_float(tile_type t) {
    return t >= TILE_FP8E4NV && t <= TILE_FP64;
}

static bool on_cpu(const tile_jit *jit) {
    return strcmp(tile_context_target(jit->ctx), "cpu") == 0;
}

/* ---- creation ---- */

static void copy_options(tile_jit *jit, const tile_compile_options *from) {
    Arena *a = &jit->arena;
    tile_compile_options *o = &jit->options;
    *o = *from;
    o->source = arena_strndup(a, from->source ? from->source : "", from->source_len);
    fields_keep(o, a);
    if (tile_target_name(o->target)) o->target = tile_target_name(o->target);
    if (on_cpu(jit)) {
        o->emit = TILE_EMIT_TIR;
        o->line_info = 1; /* so that a failed check shows its line */
    } else if (!o->target) {
        o->target = arena_strdup(a, tile_context_target(jit->ctx));
    }
}

/* Everything that can jump to s->bail. */
static bool read_kernel(tile_jit *jit, const tile_compile_options *from, Session *s) {
    if (setjmp(s->bail)) return false;
    copy_options(jit, from);
    const tile_compile_options *o = &jit->options;
    s->source = (Source){
        .name = o->file_name ? o->file_name : "<source>", .text = o->source, .len = o->source_len};
    AstFile *file = ast_parse(s);
    if (s->diags.errors) return false;
    Reading reading;
    reading_begin(&reading, &s->arena, o->reader);
    const Target *target = o->target ? target_find(o->target) : NULL;
    LowerOptions lower = compile_lower_options(o, target ? target : target_default(), &reading);
    LaunchParam *param = NULL;
    int n = 0;
    const char *kernel = lower_launch_params(s, file, &lower, &param, &n);
    if (!kernel) return false;
    jit->kernel = arena_strdup(&jit->arena, kernel);
    jit->options.kernel = jit->kernel;
    jit->param = arena_array(&jit->arena, (size_t)n + 1, sizeof *jit->param);
    for (int i = 0; i < n; i++)
        jit->param[jit->nparams++] = (JitParam){
            arena_strdup(&jit->arena, param[i].name), param[i].any_value || o->no_promises,
            param[i].any_alignment, param[i].promised == PROMISE_8, param[i].typed};
    if (jit->nparams <= JIT_MAX_ARGS) return true;
    diag(&s->diags, E_PARAMETER_LIMIT, (Span){0}, "kernel '%s' has more than %d parameters", kernel,
         JIT_MAX_ARGS);
    return false;
}

static const char *rendered(Session *s) {
    if (setjmp(s->bail)) return NULL;
    Buf text = buf_new(&s->arena);
    diag_render(&s->diags, &s->source, false, &text);
    while (text.len && text.data[text.len - 1] == '\n') text.data[--text.len] = '\0';
    return text.data;
}

/* Mistakes in the text and the options, as tile_compile finds them. */
static tile_status check_source(const tile_jit *jit, const tile_compile_options *o) {
    tile_compile_options check = *o;
    tile_compiled *c;
    check.emit = TILE_EMIT_AST;
    tile_status st = tile_compile(&check, &c);
    if (st) tile_context_fail(jit->ctx, st, tile_compiled_text(c, TILE_PART_DIAGNOSTICS, NULL));
    tile_compiled_free(c);
    return st;
}

tile_status jit_take_options(tile_jit *jit, const tile_compile_options *o) {
    const char *other = fields_given(o, NO_JIT);
    if (other) {
        char text[100];
        snprintf(text, sizeof text, "tile_jit_create does not take the option %s", other);
        return tile_context_fail(jit->ctx, TILE_INVALID, text);
    }
    tile_status st = check_source(jit, o);
    if (st) return st;
    Session *s = calloc(1, sizeof *s);
    if (!s) return tile_context_fail(jit->ctx, TILE_NO_MEMORY, "no memory to read the source");
    session_init(s);
    arena_init(&jit->arena, 0, &s->bail);
    if (!read_kernel(jit, o, s)) {
        const char *text = s->diags.errors ? rendered(s) : NULL;
        st = text ? TILE_COMPILE_ERROR : TILE_NO_MEMORY;
        tile_context_fail(jit->ctx, st, text ? text : "no memory to read the source");
    }
    jit->arena.oom = NULL; /* from here on it only holds */
    session_free(s);
    free(s);
    return st;
}

/* ---- one variant ---- */

typedef struct Making {
    tile_jit *jit;
    Variant *v;
    const tile_arg *args;
    Arena arena;
    jmp_buf oom;
    tile_compile_options o;
    const char **value; /* facts for heuristics */
    int *value_param;   /* which parameter each is of */
    Buf key;
    char *cached;            /* malloc'ed */
    tile_compiled *compiled; /* or */
    const char *text;        /* of the module, in one of them */
    size_t len;
} Making;

/* "n=i32:16", by the argument's byte in the key. */
static void put_type(const JitParam *p, uint8_t key, Buf *out) {
    unsigned type = key & KEY_TYPE;
    const char *promise = promise_info[key >> KEY_PROMISE_SHIFT & (KEY_PROMISES - 1)].text;
    bool pointer = key & KEY_POINTER, known = type >= TILE_I1 && type <= TILE_FP64;

    buf_printf(out, "%s%s=", out->len ? "," : "", p->name);
    if (!pointer && type == TILE_NONE)
        buf_puts(out, "None");
    else if (known)
        buf_printf(out, "%s%s%s", pointer ? "*" : "", type_name(type), promise);
    else if (pointer && !type)
        buf_puts(out, *promise ? promise : ":"); /* the type is stated elsewhere */
    else
        buf_puts(out, "?"); /* no tile_type: no type, the compiler says */
}

/* What Python would see as the argument's value; NULL for a pointer, which has none. */
static const char *fact_of(Making *m, const char *name, const tile_arg *a) {
    Arena *arena = &m->arena;
    if (a->type == TILE_NONE) return arena_printf(arena, "%s=None", name);
    if (a->type == TILE_I1)
        return arena_printf(arena, "%s=%s", name, a->value.i ? "True" : "False");
    if (a->type == TILE_U64) return arena_printf(arena, "%s=%" PRIu64, name, (uint64_t)a->value.i);
    if (a->type > TILE_I1 && a->type < TILE_U64)
        return arena_printf(arena, "%s=%" PRId64, name, a->value.i);
    if (!is_float(a->type)) return NULL;
    const char *digits = arena_printf(arena, "%.17g", a->value.f);
    bool whole = strspn(digits, "-0123456789") == strlen(digits); /* would read as an int */
    return arena_printf(arena, "%s=%s%s", name, digits, whole ? ".0" : "");
}

static void put_key(void *key, const char *text, size_t len) {
    buf_write(key, text, len);
}

static void describe(Making *m) {
    tile_jit *jit = m->jit;
    size_t n = (size_t)jit->nparams + 1;
    Buf signature = buf_new(&m->arena);
    if (jit->options.signature) buf_puts(&signature, jit->options.signature);
    m->o = jit->options;
    m->value = arena_array(&m->arena, n, sizeof *m->value);
    m->value_param = arena_array(&m->arena, n, sizeof *m->value_param);
    for (int i = 0; i < jit->nparams; i++) {
        put_type(&jit->param[i], m->v->key[i], &signature);
        const char *fact = fact_of(m, jit->param[i].name, &m->args[i]);
        if (!fact) continue;
        m->value_param[m->o.nvalues] = i;
        m->value[m->o.nvalues++] = fact;
    }
    m->o.signature = signature.data ? signature.data : "";
    m->o.values = m->value;
    m->key = buf_new(&m->arena);
    buf_printf(&m->key, "%s\n", compiler_digest);
    fields_key(&m->o, NO_KEY, put_key, &m->key);
    buf_write(&m->key, m->o.source, m->o.source_len);
}

/* ---- the questions, at the head of an entry: "2 0=4:16 3~4:1\n", ~ where the size was asked ----
 */

static void put_asked(const Asked *asked, int n, Buf *out) {
    buf_printf(out, "%d", n);
    for (int i = 0; i < n; i++)
        buf_printf(out, " %d%c%d:%" PRIu64, asked[i].param, asked[i].size ? '~' : '=',
                   (int)asked[i].type, asked[i].bits);
    buf_putc(out, '\n');
}

/* Reads them into v; the text behind them, or NULL when an entry is not one of ours after all. */
static char *take_asked(Making *m, char *at) {
    char *end;
    long n = strtol(at, &end, 10);
    if (end == at || n < 0 || n > m->jit->nparams) return NULL;
    m->v->asked = n ? calloc((size_t)n, sizeof *m->v->asked) : NULL;
    if (n && !m->v->asked) return NULL;
    for (m->v->nasked = 0; m->v->nasked < n; m->v->nasked++) {
        int param, type, used = 0;
        char what;
        uint64_t bits;
        if (sscanf(end, " %d%c%d:%" SCNu64 "%n", &param, &what, &type, &bits, &used) != 4 ||
            param < 0 || param >= m->jit->nparams || (what != '=' && what != '~'))
            return NULL;
        m->v->asked[m->v->nasked] = (Asked){param, what == '~', (tile_type)type, bits};
        end += used;
    }
    return *end == '\n' ? end + 1 : NULL;
}

static void forget(Variant *v) {
    tile_compiled_free(v->said);
    v->said = NULL;
    free(v->asked);
    v->asked = NULL;
    v->nasked = 0;
}

/* The same questions, answered by these arguments. True when the answers are the same, too. */
static bool answer(Making *m) {
    bool same = true;
    for (int i = 0; i < m->v->nasked; i++) {
        Asked *q = &m->v->asked[i], answer = jit_answer(q, m->args);
        same = same && q->type == answer.type && q->bits == answer.bits;
        *q = answer;
    }
    return same;
}

/* ---- the files that were looked at for it, "117\n" and so many bytes of lines (reading.h) ---- */

static void put_looked(const tile_compiled *c, Buf *out) {
    size_t len;
    const char *looked = compiled_looked(c, &len);
    buf_printf(out, "%zu\n", len);
    buf_write(out, looked, len);
}

/* The text behind them; NULL when an entry is not one of ours, or was made of other files. */
static char *pass_looked(Making *m, char *at, const char *end) {
    char *from;
    size_t n = strtoul(at, &from, 10);
    if (from == at || *from != '\n' || n > (size_t)(end - from - 1)) return NULL;
    return reading_same(m->o.reader, from + 1, n) ? from + 1 + n : NULL;
}

/* ---- and behind them what the compiler said: "1\n1 W0001 7 5 9 20 4 this is
 * not used yetk.tl\n"; a note has - for a code ---- */

static void put_said(const tile_compiled *c, Buf *out) {
    const tile_diagnostic *d;
    int n = tile_compiled_diagnostics(c, &d);
    const Code *code = compiled_codes(c);
    buf_printf(out, "%d\n", n);
    for (; n > 0; n--, d++, code++)
        buf_printf(out, "%d %s %u %u %u %zu %zu %s%s\n", (int)d->severity,
                   *code ? code_text(*code) : "-", d->line, d->column, d->end_column,
                   strlen(d->text), d->file ? strlen(d->file) : 0, d->text, d->file ? d->file : "");
}

/* Reads them into v; the text behind them, or NULL. The entry is cut where texts end. */
static const char *take_said(Making *m, char *at, const char *end) {
    int n, used = 0;
    if (sscanf(at, "%d%n", &n, &used) != 1 || n < 0 || at[used] != '\n' || n > end - at)
        return NULL;
    at += used + 1;
    tile_diagnostic *said = arena_array(&m->arena, (size_t)n + 1, sizeof *said);
    Code *code = arena_array(&m->arena, (size_t)n + 1, sizeof *code);
    for (int i = 0; i < n; i++) {
        tile_diagnostic *d = &said[i];
        unsigned severity;
        char word[CODE_TEXT + 1];
        size_t len, file;
        used = 0;
        if (sscanf(at, "%u %5s %u %u %u %zu %zu%n", &severity, word, &d->line, &d->column,
                   &d->end_column, &len, &file, &used) != 7 ||
            severity > TILE_SEVERITY_NOTE || end - at < used + 2 ||
            len > (size_t)(end - at - used - 2) || file > (size_t)(end - at - used - 2) - len)
            return NULL;
        d->severity = (tile_severity)severity;
        code[i] = code_find(word, strlen(word));
        d->text = arena_strndup(&m->arena, at + used + 1, len);
        at += (size_t)used + 1 + len;
        if (file) d->file = arena_strndup(&m->arena, at, file);
        at += file;
        if (*at++ != '\n') return NULL;
    }
    if (n && !(m->v->said = compiled_recall(&m->o, said, code, n))) return NULL;
    return at;
}

/* One entry of the cache; false when there is none. */
static bool look(Making *m) {
    size_t size;
    free(m->cached);
    forget(m->v);
    m->cached = cache_get(m->jit->folder, (CacheText){m->key.data, m->key.len}, &size);
    char *rest = m->cached ? take_asked(m, m->cached) : NULL;
    if (rest) rest = pass_looked(m, rest, m->cached + size);
    m->text = rest ? take_said(m, rest, m->cached + size) : NULL;
    if (m->text) m->len = size - (size_t)(m->text - m->cached);
    return m->text != NULL;
}

static void extend_key(Making *m) {
    buf_puts(&m->key, "\nasked ");
    put_asked(m->v->asked, m->v->nasked, &m->key);
}

static bool find_on_disk(Making *m) {
    if (!m->jit->folder || !look(m)) return false;
    if (answer(m)) return true;
    extend_key(m); /* this one, or what is compiled now, is kept under other answers */
    return look(m) && answer(m);
}

/* ---- compiling ---- */

static tile_status compile(Making *m) {
    Variant *v = m->v;
    tile_jit *jit = m->jit;
    uint8_t *asked = arena_array(&m->arena, (size_t)m->o.nvalues + 1, sizeof *asked);
    tile_status st = compile_noting(&m->o, asked, &m->compiled);
    forget(v);
    v->asked = calloc((size_t)m->o.nvalues + 1, sizeof *v->asked);
    if (!m->compiled || !v->asked)
        return tile_context_fail(jit->ctx, TILE_NO_MEMORY, "no memory to compile the kernel");
    for (int i = 0; i < m->o.nvalues; i++) /* who knows the value knows its size */
        if (asked[i])
            v->asked[v->nasked++] =
                (Asked){.param = m->value_param[i], .size = asked[i] == SIZE_ASKED};
    answer(m);
    if (st) {
        size_t n;
        const char *text = tile_compiled_text(m->compiled, TILE_PART_DIAGNOSTICS, &n);
        while (n && text[n - 1] == '\n') n--;
        v->text = strndup(text, n);
        v->said = m->compiled;
        m->compiled = NULL;
        return tile_context_fail(jit->ctx, st, v->text);
    }
    const tile_diagnostic *said;
    int nsaid = tile_compiled_diagnostics(m->compiled, &said);
    if (nsaid && /* without the module's text */
        !(v->said = compiled_recall(&m->o, said, compiled_codes(m->compiled), nsaid)))
        return tile_context_fail(jit->ctx, TILE_NO_MEMORY, "no memory to compile the kernel");
    m->text = tile_compiled_text(m->compiled, TILE_PART_OUTPUT, &m->len);
    if (!jit->folder) return TILE_OK;
    Buf entry = buf_new(&m->arena);
    put_asked(v->asked, v->nasked, &entry);
    put_looked(m->compiled, &entry);
    put_said(m->compiled, &entry);
    buf_write(&entry, m->text, m->len);
    cache_put(jit->folder, (CacheText){m->key.data, m->key.len}, (CacheText){entry.data, entry.len},
              jit->limit);
    return TILE_OK;
}

/* Everything that can jump to m->oom. */
static tile_status make(Making *m) {
    if (setjmp(m->oom))
        return tile_context_fail(m->jit->ctx, TILE_NO_MEMORY, "no memory to compile the kernel");
    describe(m);
    Variant *v = m->v;
    v->from_disk = find_on_disk(m);
    tile_status st = v->from_disk ? TILE_OK : compile(m);
    if (!st) st = tile_module_load(m->jit->ctx, m->text, m->len, &v->module);
    if (!st) st = tile_kernel_get(v->module, NULL, &v->kernel);
    if (st) { /* another try starts anew */
        tile_module_unload(v->module);
        v->module = NULL;
    }
    return st;
}

void jit_build(tile_jit *jit, Variant *v, const tile_arg *args) {
    Making *m = calloc(1, sizeof *m);
    if (!m) {
        v->status = tile_context_fail(jit->ctx, TILE_NO_MEMORY, "no memory to compile the kernel");
        return;
    }
    m->jit = jit;
    m->v = v;
    m->args = args;
    arena_init(&m->arena, 0, &m->oom);
    v->status = make(m);
    arena_free(&m->arena);
    tile_compiled_free(m->compiled);
    free(m->cached);
    free(m);
}
