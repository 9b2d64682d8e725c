/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* lower.c: a parsed file -> a module of tile IR: which functions are kernels, and one after the
 * other.
 *
 * Errors do not stop it: a wrong expression becomes the poison object, which silences what depends
 * on it, and the next statement is looked at. A kernel with errors is left out of the module. */
#include "base/expr.h"
#include "frontend/lower/internal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- errors ---- */

Obj poison(void) {
    return (Obj){.kind = OBJ_POISON};
}

void flush_call_notes(Lower *l) {
    int shown = 0, more = 0;
    for (const Frame *f = l->chain; f; f = f->caller) {
        if (!f->call.line) continue;
        bool again =
            f != l->chain && f->caller && memcmp(&f->call, &f->caller->call, sizeof f->call) == 0;
        if (!again && shown++ < DIAG_CALL_NOTES)
            diag(&l->s->diags, CODE_NONE, f->call, "called from here");
        else
            more++;
    }
    if (more) diag(&l->s->diags, CODE_NONE, (Span){0}, "… through %d more calls", more);
    l->chain = NULL;
    for (SourceModule *m = l->chain_module; m && m->importer && !m->import_told; m = m->importer) {
        m->import_told = true;
        if (m->import.line)
            diag(&l->s->diags, CODE_NONE, m->import, "'%s' is imported here", m->name);
    }
    l->chain_module = NULL;
}

/* The module that a place is in; NULL: the first. */
static SourceModule *module_at(const Lower *l, Span span) {
    const Source *source = source_at(&l->s->source, span.line);
    SourceModule *m = source == &l->s->source ? NULL : l->modules;
    while (m && m->source != source) m = m->next;
    return m;
}

bool repeated(Lower *l, Span span, const char *text) {
    for (int i = 0; i < l->reported.n; i++) {
        const Reported *r = &l->reported.at[i];
        if (memcmp(&r->span, &span, sizeof span) == 0 && strcmp(r->text, text) == 0) return true;
    }
    vec_push(&l->s->arena, &l->reported, ((Reported){span, text}));
    return false;
}

Obj fail(Lower *l, Code code, Span span, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    const char *text = arena_vprintf(&l->s->arena, fmt, ap);
    va_end(ap);
    if (l->s->diags.muted && !l->silenced.text) l->silenced = (Reported){span, text};
    if (l->abandoned || l->s->diags.muted) return poison();
    if (l->library_call.line) { /* one error is enough, and it is the caller's */
        l->suppressed = l->library_failed;
        if (l->library_failed) return poison();
        l->library_failed = true;
        if (!span.line) span = l->library_call;
    }
    l->failed = true;
    flush_call_notes(l);
    l->suppressed = repeated(l, span, text);
    if (l->suppressed) return poison();
    diag(&l->s->diags, code, span, "%s", text);
    l->chain = l->frame;
    l->chain_module = module_at(l, span);
    if (l->s->diags.errors >= DIAG_MAX_ERRORS) l->abandoned = true;
    return poison();
}

/* The error before was said, so that something may be added to it. */
static bool reports(const Lower *l) {
    return !l->abandoned && !l->suppressed && !l->s->diags.muted;
}

void note(Lower *l, Span span, const char *fmt, ...) {
    if (!reports(l)) return;
    va_list ap;
    va_start(ap, fmt);
    const char *text = arena_vprintf(&l->s->arena, fmt, ap);
    va_end(ap);
    diag(&l->s->diags, CODE_NONE, span, "%s", text);
}

void suggest(Lower *l, const char *word, const char *const *names, int n) {
    if (!reports(l)) return; /* what is tried in silence may fail very often */
    const char *near = nearest_name(word, names, (size_t)n);
    if (near) note(l, (Span){0}, "did you mean '%s'?", near);
}

void suggest_param(Lower *l, const AstFunc *f, const char *word) {
    Names names = {0};
    for (int i = 0; i < f->nparams; i++) vec_push(&l->s->arena, &names, f->param[i].name);
    suggest(l, word, names.at, names.n);
}

void abandon(Lower *l, Code code, Span span, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    const char *text = arena_vprintf(&l->s->arena, fmt, ap);
    va_end(ap);
    bool muted = l->s->diags.muted;
    l->s->diags.muted = false;
    fail(l, code, span, "%s", text);
    flush_call_notes(l);
    l->s->diags.muted = muted;
    l->abandoned = true;
}

bool count_step(Lower *l, Span span) {
    if (l->abandoned) return false;
    if (++l->steps <= OPS_LIMIT && (!l->b.f || l->b.f->nvalues <= OPS_LIMIT)) return true;
    abandon(l, E_WORK_LIMIT, span,
            l->b.f ? "the kernel is too large: more than %d operations"
                   : "this runs for more than %d steps while compiling",
            OPS_LIMIT);
    return false;
}

bool count_work(Lower *l, int64_t units, Span span) {
    l->work += units;
    if (l->work < WORK_PER_STEP) return true;
    l->steps += l->work / WORK_PER_STEP - 1;
    l->work %= WORK_PER_STEP;
    return count_step(l, span);
}

bool enter(Lower *l, Span span) {
    if (l->abandoned) return false;
    if (l->depth >= LOWER_DEPTH_LIMIT) {
        abandon(l, E_NESTING_LIMIT, span,
                "expressions and calls are nested too deep: more than %d levels",
                LOWER_DEPTH_LIMIT);
        return false;
    }
    l->depth++;
    return true;
}

void leave(Lower *l) {
    l->depth--;
}

/* ---- which functions ---- */

bool is_jit(const AstFunc *f) {
    return find_decorator(f, "jit") != NULL;
}

typedef struct Mention { /* a jit function mentions a name */
    const char *name;
    const AstFunc *by;
} Mention;
typedef VEC(Mention) Mentions;

static int compare_mentions(const void *a, const void *b) {
    uintptr_t x = (uintptr_t)((const Mention *)a)->name, y = (uintptr_t)((const Mention *)b)->name;
    return (x > y) - (x < y);
}

static void add_mentions(Lower *l, Mentions *all, const AstFunc *f) {
    if (!is_jit(f) && !f->in_class) return;
    Names names = global_names(l, f);
    for (int k = 0; k < names.n; k++) vec_push(&l->s->arena, all, ((Mention){names.at[k], f}));
}

static Mentions all_mentions(Lower *l) {
    Mentions all = {0};
    const AstFile *file = l->here->file;
    for (int i = 0; i < file->nfuncs; i++) add_mentions(l, &all, file->func[i]);
    for (int i = 0; i < file->nclasses; i++)
        for (int k = 0; k < file->class_[i]->nfuncs; k++)
            add_mentions(l, &all, file->class_[i]->func[k]);
    if (all.n) qsort(all.at, (size_t)all.n, sizeof *all.at, compare_mentions);
    return all;
}

/* Another jit function calls f, or may. */
static bool is_called(const Mentions *all, const AstFunc *f) {
    Mention key = {f->name, f};
    const Mention *m =
        all->n ? bsearch(&key, all->at, (size_t)all->n, sizeof key, compare_mentions) : NULL;
    if (!m) return false;
    while (m > all->at && m[-1].name == f->name) m--;
    for (; m < all->at + all->n && m->name == f->name; m++)
        if (m->by != f) return true;
    return false;
}

typedef VEC(AstFunc *) Funcs;

/* Says of a kernel, or any, why it is none of the file's; false: there is none either. */
static bool say_why_none(Lower *l, const char *name) {
    const AstFile *file = l->here->file;
    for (int i = 0; i < file->nfuncs; i++) {
        const AstFunc *f = file->func[i];
        bool meant = is_jit(f) && (!name || strcmp(f->name, name) == 0);
        if (!meant || find_function(l, f->name)) continue;
        fail(l, E_NO_KERNEL, f->span, "kernel '%s' is not defined", f->name);
        say_why_left_out(l, f->guard);
        return true;
    }
    for (int i = 0; i < file->ninner; i++) {
        const AstInner *in = &file->inner[i];
        if (name && strcmp(in->name, name) != 0) continue;
        fail(l, E_NO_KERNEL, in->span, "kernel '%s' stands inside '%s'", in->name, in->in);
        note(l, in->in_span,
             "what it sees of this is not known before that runs: write the kernel "
             "at top level, or launch it from Python");
        return true;
    }
    return false;
}

static Funcs named_kernel(Lower *l, const char *name) {
    Funcs found = {0};
    Names names = {0};
    for (int i = 0; i < l->here->file->nfuncs; i++) {
        AstFunc *f = l->here->file->func[i];
        if (strcmp(f->name, name) != 0) {
            if (is_jit(f)) vec_push(&l->s->arena, &names, f->name);
            continue;
        }
        if (find_function(l, f->name) != f) continue; /* replaced by a later definition */
        if (is_jit(f))
            vec_push(&l->s->arena, &found, f);
        else
            fail(l, E_NO_KERNEL, f->span, "'%s' is not a kernel: it has no @triton.jit decorator",
                 name);
    }
    if (!found.n && !l->s->diags.errors && !say_why_none(l, name)) {
        fail(l, E_NO_KERNEL, (Span){0}, "there is no kernel '%s' in this file", name);
        suggest(l, name, names.at, names.n);
    }
    return found;
}

static Funcs all_kernels(Lower *l) {
    Funcs found = {0};
    const AstFunc *returning = NULL; /* nobody calls it */
    Mentions mentions = all_mentions(l);
    int jits = 0;
    for (int i = 0; i < l->here->file->nfuncs; i++) {
        AstFunc *f = l->here->file->func[i];
        if (!is_jit(f) || find_function(l, f->name) != f) continue;
        jits++;
        if (is_called(&mentions, f) || (l->options->symbols && f->broken)) continue;
        if (!returns_value(l, f))
            vec_push(&l->s->arena, &found, f);
        else
            returning = f;
    }
    if (l->options->symbols) return found; /* helpers alone are no mistake while one writes */
    if (!found.n && !l->s->diags.errors && returning) {
        fail(l, E_RETURNS_VALUE, returning->span, "'%s' returns a value, and a kernel does not",
             returning->name);
        note(l, (Span){0},
             "write the result to memory, tl.store(pointer, x), instead of 'return x'");
    }
    if (!found.n && !l->s->diags.errors && !say_why_none(l, NULL)) {
        fail(l, E_NO_KERNEL, (Span){0}, "there is no kernel in this file");
        note(l, (Span){0},
             jits ? "every jit function is called by another or returns a value; choose "
                    "one with --kernel=NAME"
                  : "a kernel is a function with the decorator @triton.jit");
    }
    return found;
}

/* ---- # tile: grid = …, swizzle = …, flops = …, bytes = … ---- */

static bool known_in_grid(const AstFunc *f, const char *name, size_t n) {
    static const char *const functions[] = {"cdiv", "min", "max"};
    for (int i = 0; i < 3; i++)
        if (strlen(functions[i]) == n && memcmp(functions[i], name, n) == 0) return true;
    for (int i = 0; i < f->nparams; i++)
        if (strlen(f->param[i].name) == n && memcmp(f->param[i].name, name, n) == 0) return true;
    return false;
}

/* `x.0`, a part of a parameter; what `out` has is known once its parameters are lowered. */
static bool is_part(const Func *out, const char *path, size_t n) {
    for (int i = 0; i < out->nparams; i++)
        if (strlen(out->param[i].name) == n && memcmp(out->param[i].name, path, n) == 0)
            return true;
    for (int i = 0; i < out->nconstexprs; i++)
        if (strlen(out->constexpr_[i].name) == n && memcmp(out->constexpr_[i].name, path, n) == 0)
            return true;
    return false;
}

/* All are known; `attribute`: what may follow a parameter's name and a dot, or NULL. */
static bool check_names(Lower *l, const AstFunc *f, const Func *out, const char *text, Span span,
                        const char *what, const char *attribute) {
    bool all = true;
    size_t tail = attribute ? strlen(attribute) + 1 : 0; /* with its dot */
    for (const char *s = text; *s;) {
        size_t n = 0, root = 0;
        while (isalnum((unsigned char)s[n]) || s[n] == '_' || (n && s[n] == '.')) n++;
        while (root < n && s[root] != '.') root++;
        size_t path = n;
        if (tail && n > tail && s[n - tail] == '.' &&
            memcmp(s + n - tail + 1, attribute, tail - 1) == 0)
            path -= tail;
        bool known =
            known_in_grid(f, s, root) && (path == root || !out->nparams || is_part(out, s, path));
        if (n && !isdigit((unsigned char)*s) && !known) {
            const char *word = arena_strndup(&l->s->arena, s, n);
            fail(l, E_UNKNOWN_PARAMETER, span, "'%s' in the %s is no parameter of '%s'", word, what,
                 f->name);
            suggest_param(l, f, word);
            all = false;
        }
        s += n ? n : 1;
    }
    return all;
}

/* A launch reads the text as it stands: what it could not read is an error here. */
static void check_expression(Lower *l, const char *text, Span span, const char *what, int most) {
    ExprError e;
    if (expr_check(text, most, &e)) return;
    if (e.at)
        fail(l, E_GRID, span, "the %s cannot be read behind '%.*s': %s", what, (int)e.at, text,
             e.text);
    else
        fail(l, E_GRID, span, "the %s cannot be read: %s", what, e.text);
}

/* Cuts at the commas that no parenthesis encloses. */
static void read_grid(Lower *l, const char *text, Span span, Func *out) {
    int n = 0, depth = 0;
    for (const char *start = text, *s = text;; s++) {
        if (*s == '(') depth++;
        if (*s == ')') depth--;
        if (*s && (*s != ',' || depth > 0)) continue;
        while (*start == ' ') start++;
        size_t len = (size_t)(s - start);
        while (len && start[len - 1] == ' ') len--;
        if (n == 3 || !len) {
            fail(l, E_GRID, span,
                 "a grid is one, two or three expressions with commas between them");
            return;
        }
        out->grid[n++] = arena_strndup(&l->s->arena, start, len);
        if (!*s) return;
        start = s + 1;
    }
}

/* Rows per group, digits alone. */
static void read_swizzle(Lower *l, const char *text, Span span, Func *out) {
    const NumberRule *rule = &option_info[OPTION_swizzle_grid].rule;
    int64_t rows = 0;
    const char *s = text;
    for (; isdigit((unsigned char)*s) && rows <= rule->most; s++) rows = rows * 10 + *s - '0';
    if (*s || !rule_allows(rule, rows))
        fail(l, E_GRID, span, "a grid is walked in groups of %lld to %lld rows, not '%s'",
             (long long)rule->least, (long long)rule->most, text);
    else
        out->swizzle = (int)rows;
}

/* How much one launch computes or moves: for the rates that a benchmark prints. */
static void read_flops(Lower *l, const char *text, Span span, Func *out) {
    (void)l, (void)span;
    out->flops = text;
}

static void read_bytes(Lower *l, const char *text, Span span, Func *out) {
    (void)l, (void)span;
    out->bytes = text;
}

static const struct {
    const char *key;
    void (*read)(Lower *l, const char *text, Span span, Func *out);
    const char *what, *attribute; /* of what the parameters' names are part; see check_names */
    int most;                     /* expressions */
} directive[] = {{"grid", read_grid, "grid", NULL, 3},
                 {"swizzle", read_swizzle, NULL, NULL, 0},
                 {"flops", read_flops, "number of operations", "itemsize", 1},
                 {"bytes", read_bytes, "number of bytes", "itemsize", 1}};
enum { DIRECTIVES = sizeof directive / sizeof *directive };

/* Names in them are those of parameters, whose parts are known by now. */
static void check_directives(Lower *l, const AstFunc *f, const Func *out) {
    for (int i = 0; i < f->ndirectives; i++)
        for (int k = 0; k < DIRECTIVES; k++) {
            const char *text = f->directive[i].text, *what = directive[k].what;
            Span span = f->directive[i].span;
            if (what && strcmp(f->directive[i].key, directive[k].key) == 0 &&
                check_names(l, f, out, text, span, what, directive[k].attribute))
                check_expression(l, text, span, what, directive[k].most);
        }
}

static void read_directives(Lower *l, const AstFunc *f, Func *out) {
    const char *keys[DIRECTIVES];
    for (int k = 0; k < DIRECTIVES; k++) keys[k] = directive[k].key;
    for (int i = 0; i < f->ndirectives; i++) {
        const char *key = f->directive[i].key;
        if (is_file_key(key)) continue;
        int k = 0;
        while (k < DIRECTIVES && strcmp(key, keys[k])) k++;
        if (k < DIRECTIVES) {
            directive[k].read(l, f->directive[i].text, f->directive[i].span, out);
        } else {
            fail(l, E_DIRECTIVE, f->directive[i].span, "'# tile: %s' is not known", key);
            suggest(l, key, keys, DIRECTIVES);
        }
    }
}

/* ---- one kernel ---- */

static bool lower_kernel(Lower *l, const AstFunc *f) {
    Func *out = ir_func(l->module, f->name);
    Frame frame = {.func = f};
    out->span = f->span;
    l->frame = &frame;
    l->b = (Builder){.s = l->s, .f = out, .block = out->body, .span = f->span};
    l->steps = 0;
    l->failed = false;
    read_directives(l, f, out);
    bool ok = lower_params(l, f, out);
    check_directives(l, f, out);
    if (ok) lower_stmts(l, f->body, 0, NULL);
    flush_call_notes(l);
    l->b.span = f->span;
    l->b.block = out->body;
    ir_op(&l->b, OP_RETURN, NULL, 0, NULL, 0, 0);
    if (!l->failed && !l->abandoned) pad_tiles(l, out);
    if (!l->failed && !l->abandoned) foresee_fusion(l, out);
    flush_call_notes(l); /* of what was found last: they look at this frame */
    l->frame = NULL;
    return !l->failed && !l->abandoned;
}

static void remove_func(Module *m, const Func *f) {
    for (Func **at = &m->funcs; *at; at = &(*at)->next)
        if (*at == f) {
            *at = f->next;
            return;
        }
}

/* A jit function that no kernel has come to, for symbols: of its parameters nothing is known, so
 * what is wrong is wrong whatever it is given. */
static void look_at_helper(Lower *l, const AstFunc *f) {
    Func *out = ir_func(l->module, f->name);
    Frame outer = {.func = f}, frame = {.caller = &outer, .func = f};
    l->frame = &frame;
    l->b = (Builder){.s = l->s, .f = out, .block = out->body, .span = f->span};
    l->steps = 0;
    for (int i = 0; i < f->nparams; i++)
        if (f->param[i].name) bind_name(l, f->param[i].name, poison(), f->param[i].span);
    lower_stmts(l, f->body, 0, NULL);
    flush_call_notes(l);
    l->frame = NULL;
    remove_func(l->module, out);
}

static void look_at_helpers(Lower *l) {
    for (int i = 0; i < l->here->file->nfuncs && !l->abandoned; i++) {
        const AstFunc *f = l->here->file->func[i];
        if (is_jit(f) && !f->broken && !is_reached(l, f) && !is_left_out(l, f->guard))
            look_at_helper(l, f);
    }
}

static void open_file(Lower *l, Session *s, AstFile *file, const LowerOptions *options,
                      Frame *top) {
    *l = (Lower){.s = s, .options = options, .frame = top, .at = INT32_MAX};
    l->module = ir_module(s);
    l->module->source = s->source;
    l->here = l->first = add_first_module(l, file);
    open_version(l);
}

const char *lower_launch_params(Session *s, AstFile *file, const LowerOptions *options,
                                LaunchParam **out, int *n) {
    Lower l;
    Frame top = {0};
    open_file(&l, s, file, options, &top);
    Funcs kernels = options->kernel ? named_kernel(&l, options->kernel) : all_kernels(&l);
    if (kernels.n > 1) {
        fail(&l, E_SEVERAL_KERNELS, kernels.at[1]->span, "there are several kernels: name one");
        note(&l, kernels.at[0]->span, "'%s' is another", kernels.at[0]->name);
    }
    if (s->diags.errors || kernels.n != 1) return NULL;
    const AstFunc *f = kernels.at[0];
    return launch_params(&l, f, out, n) ? f->name : NULL;
}

Module *lower_file(Session *s, AstFile *file, const LowerOptions *options) {
    Lower *l = arena_alloc(&s->arena, sizeof *l); /* symbols are asked for later */
    Frame *top = arena_alloc(&s->arena, sizeof *top);
    open_file(l, s, file, options, top);
    if (options->symbols) options->symbols->lower = l;
    Funcs kernels = options->kernel ? named_kernel(l, options->kernel) : all_kernels(l);
    for (int i = 0; i < kernels.n && !l->abandoned; i++) {
        reach(l, kernels.at[i]);
        bool ok = lower_kernel(l, kernels.at[i]);
        if (ok) continue;
        const Func *f = l->module->funcs;
        while (f->next) f = f->next;
        remove_func(l->module, f);
    }
    if (options->symbols)
        look_at_helpers(l);
    else if (kernels.n && !l->abandoned)
        check_unknown_names(l, kernels.at, kernels.n);
    l->frame = top;
    return kernels.n ? l->module : NULL;
}

bool lower_configs(Session *s, AstFile *file, const LowerOptions *options, Buf *out) {
    Lower l;
    Frame top = {0};
    open_file(&l, s, file, options, &top);
    Funcs kernels = options->kernel ? named_kernel(&l, options->kernel) : all_kernels(&l);
    buf_puts(out, "{\"kernels\": [");
    for (int i = 0; i < kernels.n; i++) {
        buf_puts(out, i ? ",\n  " : "\n  ");
        if (!list_configs(&l, kernels.at[i], out)) return false;
    }
    buf_puts(out, "]}\n");
    return kernels.n > 0;
}
