/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* launcher_launches.h: the rest of launcher_core.h: which variant a launch takes, by which entry,
 * as the runtime chooses (runtime/variants.c, launch.c, share.c), and what errors mean. */

/* ---- which variant ---- */

static bool keeps(const Param *p, int64_t v) {
    switch (p->kind) {
    case 'p': return v != 0 && (uint64_t)v % (uint64_t)p->divisible == 0;
    case '0': return v == 0;
    case '=': return v == p->equals && v % p->divisible == 0;
    case 'i': return v % p->divisible == 0;
    default: return true;
    }
}

/* The first argument that breaks a promise; -1. */
static int broken(const Kernel *k, const int64_t *v) {
    for (int i = 0; i < k->nparams; i++)
        if (!keeps(&k->param[i], v[i])) return i;
    return -1;
}

/* The first image that fits; when it names sizes, the nearest of those that fit, up to the first
 * that names none. NULL: *error says why. */
static const Kernel *choose(const State *s, int number, const int64_t *v, int *error) {
    const Kernel *best = NULL, *last = NULL;
    double least = 0;
    for (int i = 0; i < IMAGES; i++) {
        const Image *m = &images[i];
        const Kernel *k = &m->kernel[number];
        double far = 0; /* stays 0 where no sizes are named */
        if (!s->active[i]) continue;
        last = k;
        if (broken(k, v) >= 0 || (m->when && m->when[number] && !m->when[number](v, &far)))
            continue;
        if (far == 0) return best ? best : k;
        if (best && far >= least) continue;
        best = k;
        least = far;
    }
    if (best) return best;
    int i = last ? broken(last, v) : -1;
    *error = i < 0
                 ? NO_VARIANT
                 : FIRST_ARGUMENT - 2 * last->param[i].text - (last->param[i].kind == 'p' && !v[i]);
    return NULL;
}

/* ---- launching ---- */

typedef struct Asked {
    uint32_t work[3], programs[3]; /* what is asked for; what is launched */
    uint32_t cluster;              /* programs along x that run as one; 1: none */
    uint32_t split[3];             /* places 0: programs take whole ones */
} Asked;

#if LAUNCHER_SPLIT
enum { ITERATION_CLOCKS, LEAST_CLOCKS, PART_CLOCKS, MEET_CLOCKS };
#pragma launcher share_model
#endif

/* How many programs share out the places. False: they cannot. */
static bool share_out(const State *s, const Entry *e, const int64_t *v, Asked *a) {
    const Loaded *l = &s->entry[e->number];
    uint64_t all = (uint64_t)a->work[0] * a->work[1] * a->work[2], programs;
    uint64_t at_once = (uint64_t)s->multiprocessors * (uint64_t)(l->resident ? l->resident : 1);
    int64_t wanted = 0;
    memcpy(a->programs, a->work, sizeof a->programs);
    memset(a->split, 0, sizeof a->split);
    a->cluster = 1;
    if (!e->persistent) return true;
    if ((e->persistent < 2 && a->work[1] > 1) || (e->persistent < 3 && a->work[2] > 1) ||
        all > (uint64_t)1 << 30)
        return false;
    if (all > 1 && l->max_cluster && cluster_size(e) == 1 && !e->cooperative && e->cluster_when &&
        e->cluster_when(v, &wanted) && wanted && at_once >= (uint64_t)l->max_cluster)
        a->cluster = (uint32_t)l->max_cluster;
    at_once -= at_once % a->cluster;
    programs = all < at_once ? all + (a->cluster - all % a->cluster) % a->cluster : at_once;
    a->programs[0] = (uint32_t)programs;
    a->programs[1] = a->programs[2] = 1;
#if LAUNCHER_SPLIT
    int64_t iterations;
    Shares shares;
    if (e->split && s->pool && e->split->iterations(v, &iterations) &&
        share_places(e->split->clocks, s->multiprocessors, (int64_t)at_once, (int64_t)all,
                     iterations, a->cluster, &shares)) {
        a->programs[0] = (uint32_t)shares.programs;
        a->split[0] = (uint32_t)shares.places;
        a->split[1] = (uint32_t)shares.first;
        a->split[2] = (uint32_t)shares.share;
    }
#endif
    return true;
}

#if LAUNCHER_MAPS
/* What L2 fetches from memory for a request: two lines where no row begins within one. */
enum { LINE_BYTES = 128, FETCH_LINE = 2, FETCH_TWO_LINES = 3 };

/* The driver wants the innermost dimension first, and strides in bytes without that one. */
static int make_map(const Driver *d, const Map *m, const int64_t *v, TensorMap *out) {
    int64_t value[11];
    uint64_t size[5] = {0}, stride[5] = {0}, base;
    uint32_t box[5], step[5];
    if (!m->values(v, value)) return NO_MAP;
    base = (uint64_t)v[m->base] + (uint64_t)(value[2 * m->rank] * m->bytes);
    bool whole = base % LINE_BYTES == 0;
    if (base % 16) return NO_MAP;
    for (int i = 0; i < m->rank; i++) {
        int from = m->rank - 1 - i;
        int64_t by = value[m->rank + from];
        size[i] = (uint64_t)value[from];
        box[i] = m->box[from];
        step[i] = 1;
        if (value[from] < 1 || value[from] > INT32_MAX) return NO_MAP; /* indices have 32 bits */
        if (i == 0 ? by != 1 : by < 1 || by >> 40 || by * m->bytes % 16) return NO_MAP;
        if (i) stride[i - 1] = (uint64_t)(by * m->bytes);
        if (i && stride[i - 1] % LINE_BYTES) whole = false;
    }
    /* The engine stores whole 16 bytes, beyond a row's end, too. */
    if (m->stored && size[0] * (uint64_t)m->bytes % 16) return NO_MAP;
    int r = d->tensor_map(out, m->type, (uint32_t)m->rank, base, size, stride, box, step, 0,
                          m->swizzle, whole ? FETCH_TWO_LINES : FETCH_LINE, 0);
    return r == INVALID_VALUE ? NO_MAP : r;
}
#endif

/* A grid that leaves each multiprocessor to one program: deeper pipelines, an earlier start. */
static bool leaves_room(const State *s, const Asked *a, bool equal) {
    uint64_t most = (uint64_t)s->multiprocessors + equal;
    uint64_t plane = (uint64_t)a->programs[0] * a->programs[1];
    return plane < most && plane * a->programs[2] < most;
}

static int start(const State *s, const Entry *e, const Asked *a, int concurrent, void **param,
                 CUstream stream) {
    const Loaded *l = &s->entry[e->number];
    const uint32_t *grid = a->programs;
    bool plain = cluster_size(e) == 1 && !e->cooperative;
    bool early = plain && e->dependent && s->early && !e->split && leaves_room(s, a, false);
    bool single = l->shared_single && !concurrent && leaves_room(s, a, true);
    unsigned shared = (unsigned)(single ? l->shared_single : e->shared);
    unsigned threads = (unsigned)e->warps * 32;
    Attribute attribute[3];
    Config c;
    if (plain && a->cluster < 2 && !early)
        return s->driver.launch(l->function, grid[0], grid[1], grid[2], threads, 1, 1, shared,
                                stream, param, NULL);
    memset(attribute, 0, sizeof attribute);
    memset(&c, 0, sizeof c);
    memcpy(c.grid, grid, sizeof c.grid);
    c.block[0] = threads;
    c.block[1] = c.block[2] = 1;
    c.shared = shared;
    c.stream = stream;
    c.attribute = attribute;
    if (cluster_size(e) > 1 || a->cluster > 1) {
        attribute[0].id = CLUSTER;
        memcpy(attribute[0].value.cluster, e->cluster, sizeof e->cluster);
        if (a->cluster > 1) attribute[0].value.cluster[0] = a->cluster;
        c.nattributes++;
    }
    if (e->cooperative || early) {
        attribute[c.nattributes].id = early ? EARLY : COOPERATIVE;
        attribute[c.nattributes++].value.yes = 1;
    }
    return s->driver.launch_ex(&c, l->function, param, NULL);
}

#if LAUNCHER_SPLIT
/* 64 bits that lie in no workspace from before (splitmix64 of Steele, Lea and Flood); not 0. */
static uint64_t new_mark(State *s) {
    uint64_t x = s->seed + __atomic_fetch_add(&s->marks, 1, __ATOMIC_RELAXED);
    x *= 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return (x ^ x >> 31) | 1;
}
#endif

/* By this entry; NO_MAP: its maps cannot be made of these arguments. */
static int launch_entry(State *s, const Kernel *k, const Entry *e, Asked *a, int64_t *v,
                        int concurrent, CUstream stream) {
    void *param[PARAMS + 16 + 32 + 3 + 5];
    int n = 0, r = 0;
    for (; n < k->nparams; n++) param[n] = &v[n]; /* the low bytes are the argument */
    int64_t number[32];                           /* the low bytes are the parameter */
    if (e->numbers && !e->numbers(v, number)) return NO_MAP;
    for (int i = 0; i < e->nnumbers; i++)
        if (e->wide[i] == '4' && number[i] != (int32_t)number[i]) return NO_MAP;
#if LAUNCHER_MAPS
    TensorMap map[16];
    for (int i = 0; i < e->nmaps && !r; i++) r = make_map(&s->driver, &e->map[i], v, &map[i]);
#endif
#if LAUNCHER_SPLIT
    uint64_t workspace = 0, mark = 0;
#endif
    int maps = 0, numbers = 0, axes = 0;
    for (const char *kind = e->hidden; *kind; kind++) {
        if (*kind == 'n') param[n++] = &number[numbers++];
        if (*kind == 'g') param[n++] = &a->work[axes++];
#if LAUNCHER_MAPS
        if (*kind == 'm') param[n++] = &map[maps++];
#endif
#if LAUNCHER_SPLIT
        if (*kind != 's') continue;
        param[n++] = &workspace;
        param[n++] = &mark;
        for (int i = 0; i < 3; i++) param[n++] = &a->split[i];
#endif
    }
    (void)maps;
#if LAUNCHER_SPLIT
    if (!r && e->split && a->split[0]) {
        mark = new_mark(s);
        r = s->driver.pool_alloc(&workspace, (size_t)e->split->bytes * a->programs[0], s->pool,
                                 stream);
        if (r) workspace = 0;
    }
#endif
    if (!r) r = start(s, e, a, concurrent, param, stream);
#if LAUNCHER_SPLIT
    if (workspace) {
        int back = s->driver.pool_free(workspace, stream);
        if (!r) r = back;
    }
#endif
    return r;
}

/* A further entry takes this launch, and had better. */
static bool stands_in(const State *s, const Entry *e, const int64_t *v, Asked *a) {
    double far = 0;
    int64_t least = 1;
    if (!s->entry[e->number].function || !share_out(s, e, v, a)) return false;
    uint64_t places = (uint64_t)a->work[0] * a->work[1] * a->work[2];
    uint64_t each = (places + a->programs[0] - 1) / a->programs[0];
    if ((e->conditions && !e->conditions(v, &far)) ||
        (e->worth_places && !e->worth_places(v, &least)))
        return false;
    bool few = least > 1 && each < (uint64_t)least;
    return !e->persistent || !few || a->split[0];
}

static int launch_kernel(State *s, const Kernel *k, Asked *a, int64_t *v, int concurrent,
                         CUstream stream) {
    const Entry *own = k->entry;
    for (int i = 1; i < k->nentries; i++) {
        if (!stands_in(s, own + i, v, a)) continue;
        int r = launch_entry(s, k, own + i, a, v, concurrent, stream);
        if (r != NO_MAP) return r;
    }
    if (a->work[0] % own->cluster[0] || a->work[1] % own->cluster[1] ||
        a->work[2] % own->cluster[2] || !share_out(s, own, v, a))
        return BAD_GRID;
    return launch_entry(s, k, own, a, v, concurrent, stream);
}

/* grid NULL: the kernel's own. */
static int launch_(void *state, int number, const unsigned *grid, int64_t *v, int concurrent,
                   CUstream stream) {
    State *s = (State *)state;
    int64_t size[3] = {1, 1, 1};
    int r = NO_VARIANT;
    Asked a;
    if (!s) return NOT_LOADED;
    const Kernel *k = choose(s, number, v, &r);
    if (!k) return r;
    for (int i = 0; grid && i < 3; i++) size[i] = grid[i];
    if (!grid && (!k->grid || !k->grid(v, size))) return BAD_GRID;
    for (int i = 0; i < 3; i++) {
        if (size[i] < 0 || size[i] > (i ? UINT16_MAX : INT32_MAX)) return BAD_GRID;
        a.work[i] = (uint32_t)size[i];
    }
    if (!size[0] || !size[1] || !size[2]) return 0;
    void *current = NULL;
    bool push = s->driver.ctx_current(&current) || current != s->context;
    r = push ? s->driver.ctx_push(s->context) : 0;
    if (r) return r;
    r = launch_kernel(s, k, &a, v, concurrent, stream);
    if (push) s->driver.ctx_pop(&current);
    return r;
}

/* ---- arguments and errors ---- */

UNUSED_ static int64_t of_fp32_(float v) {
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}
UNUSED_ static int64_t of_fp64_(double v) {
    int64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}
#if LAUNCHER_FLOATS
typedef enum Rounding { ROUND_NEAREST, ROUND_ZERO } Rounding;
#pragma launcher number_round
#define SMALL_(name, row)                                                                          \
    UNUSED_ static int64_t name(float v) {                                                         \
        static const Format format = row;                                                          \
        return round_double(&format, (double)v, ROUND_NEAREST);                                    \
    }
SMALL_(of_fp16_, FORMAT_F16)
SMALL_(of_bf16_, FORMAT_BF16)
SMALL_(of_fp8e4nv_, FORMAT_F8E4M3)
SMALL_(of_fp8e5_, FORMAT_F8E5M2)
#endif

/* The driver's own sentence for a result; it stays open, as it does for launches. */
static const char *driver_text(int result) {
    int (*ask)(int result, const char **text) = NULL;
    const char *text = NULL;
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    void *found = library ? dlsym(library, "cuGetErrorString") : NULL;
    memcpy(&ask, &found, sizeof found);
    if (!ask || ask(result, &text)) text = NULL;
    if (library) dlclose(library);
    return text ? text : "an error of the CUDA driver";
}
