/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fuzz_calls.c: sequences of calls of tile.h on the CPU device and the fake driver.
 *
 * An input is calls, a byte that says which and bytes that choose its operands: objects that are
 * there, ones that never were, ranges that reach out of a buffer, streams and events of another
 * context. Whatever tile.h leaves to the caller is kept: no object is used when it is gone. Each
 * call must come to a status, with a sentence where it fails; what was copied and filled must be
 * there when it is copied back; and in the end nothing may be left that was not given back. Calls
 * of the driver may be told to fail: then contents are not asked for. */
#include "tests/fuzz/driver.h"
#include "tests/fuzz/fuzz.h"
#include "tests/runtime/life.h"
#include "tile.h"
#include "tile_dlpack.h"

#include <stdlib.h>
#include <string.h>

enum { BEGUN, CALLED, FILLED, COMPARED };

enum {
    CONTEXTS = 4,
    BUFFERS = 4,    /* few, so that what was written is read */
    OBJECTS = 6,    /* of another kind */
    BYTES = 1024,   /* of a buffer, at most */
    HOST = 1 << 12, /* more than any range that is accepted */
    CALLS = 200
};

typedef struct Buffer {
    int context;
    tile_ptr at;
    size_t bytes;
    bool open;  /* there is one */
    bool known; /* all of it is as in `holds` */
    bool wrapped;
    unsigned char holds[BYTES];
} Buffer;

typedef struct Tensor {
    int context;
    tile_tensor *at;
    DLManagedTensorVersioned managed;
    int64_t shape[2];
} Tensor;

typedef struct Slot { /* a module, an event, a stream or a bundle */
    int context;
    void *at;
} Slot;

typedef struct State {
    const uint8_t *at, *end; /* of the input */
    tile_context *context[CONTEXTS];
    Buffer buffer[BUFFERS];
    Tensor tensor[OBJECTS];
    Slot module[OBJECTS], event[OBJECTS], stream[OBJECTS], bundle[OBJECTS];
    int held;     /* tensors whose deleter is to come */
    bool failing; /* the driver was told to fail */
    int reached;
} State;

static const char *const devices[CONTEXTS] = {"cpu", "cpu", "cuda:0", "cuda:1"};
static const FakeCuda *fake;
static unsigned char host[HOST], wrapped[BUFFERS * BYTES];

/* A driver may give out more than was asked for. */
static bool on_cpu(int context) {
    return context < 2;
}

/* ---- operands ---- */

static unsigned byte(State *s) {
    return s->at < s->end ? *s->at++ : 0;
}

static int any(State *s, int n) {
    return (int)(byte(s) % (unsigned)n);
}

static int any_context(State *s) {
    int i = any(s, CONTEXTS);
    if (!s->context[i] && tile_context_create(devices[i], &s->context[i])) {
        if (!s->failing) fuzz_wrong("a context", tile_error(s->context[i]));
    }
    return i;
}

/* A size or an offset: mostly `usual`, or one that fits. */
static size_t size(State *s, size_t usual, size_t most) {
    static const size_t hostile[] = {SIZE_MAX, SIZE_MAX / 2, (size_t)1 << 32, HOST, BYTES, 1};
    unsigned choice = byte(s);
    if (choice % 16 == 15) return hostile[byte(s) % 6];
    return choice % 2 ? usual : byte(s) * 7u % (most + 1);
}

static Buffer *any_buffer(State *s) {
    return &s->buffer[any(s, BUFFERS)];
}

static tile_ptr address(State *s, const Buffer *b, size_t offset) {
    static const tile_ptr nowhere[] = {0, 1, 256, UINT64_MAX, UINT64_MAX - 255};
    return byte(s) % 32 == 31 ? nowhere[byte(s) % 5] : b->at + offset;
}

/* A stream of any context, the default one, or none of the driver's. */
static void *any_stream(State *s) {
    unsigned choice = byte(s);
    if (choice % 8 < 4) return NULL;
    if (choice % 16 == 15) return host; /* the fake driver knows that it is none */
    return s->stream[choice / 16 % OBJECTS].at;
}

/* A status that a call may come to, with the sentence of a failure. */
static bool came(State *s, int context, tile_status st) {
    s->reached = s->reached < CALLED ? CALLED : s->reached;
    if (st == TILE_OK) return true;
    if (st < TILE_OK || st > TILE_UNSUPPORTED) fuzz_wrong("no status", NULL);
    if (st == TILE_INTERNAL && !s->failing) fuzz_wrong("a bug", tile_error(s->context[context]));
    if (!s->context[context]) return false;
    if (!*tile_error(s->context[context]))
        fuzz_wrong("refused without a word", tile_status_text(st));
    return false;
}

/* A launch or a copy may have written anywhere. */
static void forget(State *s) {
    for (int i = 0; i < BUFFERS; i++) s->buffer[i].known = false;
}

/* Unless nothing was started. */
static void wrote_anywhere(State *s, int context, tile_status st) {
    came(s, context, st);
    if (st != TILE_BAD_LAUNCH) forget(s);
}

static Slot *free_slot(Slot *slots) {
    for (int i = 0; i < OBJECTS; i++)
        if (!slots[i].at) return &slots[i];
    return NULL;
}

/* ---- memory ---- */

static void add_buffer(State *s, Buffer *b, int context, tile_status st, size_t bytes) {
    b->open = came(s, context, st);
    b->context = context;
    b->bytes = bytes;
    b->known = bytes == 0;
    b->wrapped = false;
    if (!b->open) b->at = 0;
    if (b->open && bytes && !b->at) fuzz_wrong("memory at 0", NULL);
}

static void call_alloc(State *s) {
    int c = any_context(s);
    Buffer *b = any_buffer(s);
    size_t bytes = (byte(s) * 5u) % (BYTES + 1);
    bool shared = byte(s) % 4 == 0;
    if (b->open) return;
    tile_status st = shared ? tile_alloc_shared(s->context[c], bytes, &b->at)
                            : tile_alloc(s->context[c], bytes, &b->at);
    add_buffer(s, b, c, st, bytes);
}

static void call_wrap(State *s) {
    int c = any_context(s);
    Buffer *b = any_buffer(s);
    size_t offset = byte(s) * 4u, bytes = (byte(s) * 5u) % (BYTES + 1);
    if (b->open || offset + bytes > sizeof wrapped) return;
    tile_status st = tile_wrap(s->context[c], wrapped + offset, bytes, &b->at);
    add_buffer(s, b, c, st, bytes);
    b->wrapped = b->open;
    b->known = false; /* other contexts may wrap the same */
}

static void free_buffer(State *s, Buffer *b) {
    tile_status st = tile_free(s->context[b->context], b->at);
    if (st && !s->failing) fuzz_wrong("not freed", tile_error(s->context[b->context]));
    b->open = false;
}

static void call_free(State *s) {
    Buffer *b = any_buffer(s);
    int c = any_context(s);
    tile_ptr at = address(s, b, any(s, 2) ? 0 : 1);
    if (b->open && at == b->at && c == b->context) {
        for (int i = 0; i < OBJECTS; i++) /* held: it must outlive them */
            if (s->tensor[i].at && s->tensor[i].context == c) return;
        free_buffer(s, b);
        return;
    }
    for (int i = 0; i < BUFFERS; i++)
        if (s->buffer[i].open && s->buffer[i].at == at) return; /* somebody else's */
    if (came(s, c, tile_free(s->context[c], at)) && at) fuzz_wrong("freed what is none", NULL);
}

/* Whether a range lies in the buffer, for contents that are known. */
static bool inside(const Buffer *b, tile_ptr at, size_t bytes) {
    return b->open && at >= b->at && at - b->at <= b->bytes && bytes <= b->bytes - (at - b->at);
}

/* Another buffer has it, perhaps a peer's that wraps the same memory. */
static bool covered(const State *s, tile_ptr at, size_t bytes) {
    for (int i = 0; i < BUFFERS; i++)
        if (inside(&s->buffer[i], at, bytes)) return true;
    return false;
}

/* What was written is known where all of it was, or all else was. */
static void wrote(Buffer *b, tile_ptr at, const void *from, int value, size_t bytes) {
    if (b->wrapped || !inside(b, at, bytes)) return;
    if (bytes == b->bytes) b->known = true;
    if (from)
        memcpy(b->holds + (at - b->at), from, bytes);
    else
        memset(b->holds + (at - b->at), value, bytes);
}

static void call_write(State *s) {
    Buffer *b = any_buffer(s);
    size_t offset = size(s, 0, b->bytes), bytes = size(s, b->bytes, b->bytes);
    tile_ptr at = address(s, b, offset);
    int c = b->context, value = (int)byte(s);
    bool fill = byte(s) % 2;
    if (!b->open) return;
    memset(host, value + 1, sizeof host);
    host[0] = (unsigned char)value;
    tile_status st = fill ? tile_fill(s->context[c], at, (unsigned char)value, bytes)
                          : tile_copy_to_device(s->context[c], at, host, bytes);
    bool ok = came(s, c, st);
    if (ok && bytes && at && !inside(b, at, bytes)) {
        if (!covered(s, at, bytes) && on_cpu(c)) fuzz_wrong("written out of every buffer", NULL);
        forget(s);
    }
    if (ok) wrote(b, at, fill ? NULL : host, value, bytes);
    if (s->failing) forget(s);
    if (ok && b->known && s->reached < FILLED) s->reached = FILLED;
}

static void call_read(State *s) {
    Buffer *b = any_buffer(s);
    size_t offset = size(s, 0, b->bytes), bytes = size(s, b->bytes, b->bytes);
    tile_ptr at = address(s, b, offset);
    if (!b->open) return;
    if (!came(s, b->context, tile_copy_to_host(s->context[b->context], host, at, bytes))) return;
    if (!b->known || !bytes || !inside(b, at, bytes)) return;
    if (memcmp(host, b->holds + (at - b->at), bytes)) fuzz_wrong("a buffer has changed", NULL);
    s->reached = COMPARED;
}

static void call_move(State *s) {
    Buffer *to = any_buffer(s), *from = any_buffer(s);
    size_t bytes = size(s, to->bytes, to->bytes);
    void *stream = any_stream(s);
    tile_status st;
    if (!to->open || !from->open || bytes > BYTES) return;
    if (to->context == from->context && byte(s) % 2)
        st = tile_copy_on_device(s->context[to->context], to->at, from->at, bytes, stream);
    else
        st = tile_copy_peer(s->context[to->context], to->at, s->context[from->context], from->at,
                            bytes, stream);
    bool fits = bytes <= to->bytes && bytes <= from->bytes;
    bool ok = came(s, to->context, st);
    bool there = covered(s, to->at, bytes) && covered(s, from->at, bytes);
    if (ok && !there && bytes && on_cpu(to->context)) fuzz_wrong("copied out of a buffer", NULL);
    if (ok && !fits) forget(s);
    if (st || s->failing || !from->known || !fits)
        to->known = to->known && st && !s->failing;
    else
        wrote(to, to->at, from->holds, 0, bytes);
}

static void call_peer(State *s) {
    int a = any_context(s), b = any_context(s);
    came(s, a, tile_context_enable_peer(s->context[a], s->context[b]));
}

/* A handle as it was given, or changed. */
static void call_share(State *s) {
    Buffer *b = any_buffer(s), *into = any_buffer(s);
    int c = any_context(s);
    tile_shared_handle handle = {{0}};
    size_t bytes = 0, n = sizeof handle;
    tile_ptr at = 0;
    if (b->open) came(s, b->context, tile_shared_export(s->context[b->context], b->at, &handle));
    if (byte(s) % 2) handle.bytes[byte(s) % n] ^= (unsigned char)(1 + byte(s));
    if (byte(s) % 8 == 7) n = byte(s);
    if (into->open) return;
    if (n > sizeof handle) n = sizeof handle;
    if (!came(s, c, tile_shared_open(s->context[c], &handle, n, &at, &bytes))) return;
    came(s, c, tile_free(s->context[c], at));
}

/* ---- modules ---- */

static void unload(State *s, Slot *m) {
    (void)s;
    tile_module_unload(m->at);
    m->at = NULL;
}

static void call_load(State *s) {
    int c = any_context(s);
    Slot *m = free_slot(s->module);
    bool cpu = byte(s) % 8 ? on_cpu(c) : byte(s) % 2;
    const char *text = life_module(cpu);
    size_t len = strlen(text);
    tile_module *made = NULL;
    if (byte(s) % 8 == 0) len = len * byte(s) / 256;
    if (!m) return;
    if (came(s, c, tile_module_load(s->context[c], text, len, &made))) {
        if (cpu != on_cpu(c)) fuzz_wrong("loaded what is for another device", NULL);
        *m = (Slot){c, made};
    }
}

static void call_unload(State *s) {
    unload(s, &s->module[any(s, OBJECTS)]);
}

static int arguments(State *s, tile_arg *arg) {
    static const int64_t numbers[] = {0, 1, 7, 8, 64, 128, -1, INT32_MAX, INT64_MIN};
    for (int i = 0; i < 4; i++) {
        const Buffer *b = any_buffer(s);
        arg[i] = tile_pointer(address(s, b, byte(s) % 8 ? 0 : 4));
    }
    if (byte(s) % 16 < 15) {
        arg[2] = tile_i32((int32_t)numbers[byte(s) % 8]);
        arg[3] = tile_f32(0.5f);
    } else {
        arg[byte(s) % 4] = tile_int((tile_type)(byte(s) % 20), numbers[byte(s) % 9]);
    }
    return byte(s) % 16 < 14 ? 4 : (int)(byte(s) % 6) - 1;
}

static void count_takers(void *user, const char *entry, const char *why_not) {
    if (!entry || !*entry || (why_not && !*why_not)) fuzz_wrong("an entry without a word", entry);
    *(int *)user += !why_not;
}

static void call_launch(State *s) {
    static const char *const names[] = {"copy",    "copy",   "copy", NULL,
                                        "special", "mapped", "sums", "none"};
    static const char *const expressions[] = {"n", "cdiv(n, B)",   "n // 0",     "n * n * n * n",
                                              "(", "min(n, 8), 2", "1, 2, 3, 4", "x.itemsize",
                                              ""};
    const Slot *m = &s->module[any(s, OBJECTS)];
    tile_kernel *k = NULL;
    tile_kernel_info info;
    tile_kernel_param p;
    tile_arg arg[4];
    tile_grid grid = {byte(s) % 9, 1, byte(s) % 16 == 15 ? 70000 : 1};
    int64_t value;
    if (!m->at || !came(s, m->context, tile_kernel_get(m->at, names[byte(s) % 8], &k))) return;
    if (tile_kernel_describe(k, &info)) fuzz_wrong("a kernel without a description", NULL);
    int index = (int)byte(s) % 8 - 1;
    if ((tile_kernel_get_param(k, index, &p) == TILE_OK) != (index >= 0 && index < info.num_params))
        fuzz_wrong("a parameter that is none", NULL);
    int n = arguments(s, arg);
    if (info.num_params < n) n = info.num_params; /* sums(n), mapped(x, n) */
    if (n == 1 || n == 2) arg[n - 1] = tile_i32(64);
    const char *expression = expressions[byte(s) % 9];
    came(s, m->context, tile_kernel_value(k, expression, arg, n, &value));
    tile_grid given, own;
    if (came(s, m->context, tile_kernel_grid(k, expression, arg, n, &given)) && given.x <= 64)
        grid.x = given.x;
    int takes = 0;
    bool asked = came(s, m->context, tile_kernel_entry(k, &grid, arg, n, count_takers, &takes));
    if (takes != (asked && grid.x > 0)) fuzz_wrong("a launch takes one entry", NULL);
    /* What is refused without a grid is refused with one, too; a large one would take long. */
    bool states = came(s, m->context, tile_kernel_grid(k, NULL, arg, n, &own)) && own.x <= 64;
    wrote_anywhere(s, m->context,
                   tile_launch(k, states && byte(s) % 2 ? NULL : &grid, arg, n, any_stream(s)));
}

static void call_bundle(State *s) {
    static const char *const conditions[] = {NULL, "n >= 64", "n ~ 64", "n % 0 == 0", "(", "m > 1"};
    int c = any_context(s);
    Slot *b = &s->bundle[any(s, OBJECTS)];
    tile_image image[3];
    tile_bundle *made = NULL;
    int n = any(s, 4);
    for (int i = 0; i < 3; i++) {
        bool cpu = byte(s) % 2;
        const char *text = life_module(cpu);
        image[i] = (tile_image){cpu ? "cpu" : "sm_80", any(s, 3), conditions[byte(s) % 6], text,
                                byte(s) % 8 ? strlen(text) : byte(s)};
    }
    if (!b->at) {
        if (came(s, c, tile_bundle_create(s->context[c], image, n, &made))) *b = (Slot){c, made};
        return;
    }
    tile_arg arg[4];
    tile_grid grid = {byte(s) % 9, 1, 1};
    tile_kernel *k;
    n = arguments(s, arg);
    const char *name = byte(s) % 4 ? "copy" : "none";
    came(s, b->context, tile_bundle_kernel(b->at, name, arg, n, &k));
    wrote_anywhere(s, b->context, tile_bundle_launch(b->at, name, &grid, arg, n, any_stream(s)));
    if (byte(s) % 2) return;
    tile_bundle_destroy(b->at);
    b->at = NULL;
}

/* ---- streams and events ---- */

static void call_stream(State *s) {
    int c = any_context(s);
    Slot *slot = &s->stream[any(s, OBJECTS)];
    void *made = NULL;
    if (!slot->at) {
        if (came(s, c, tile_stream_create(s->context[c], &made))) *slot = (Slot){c, made};
    } else if (byte(s) % 2) {
        came(s, slot->context, tile_synchronize_stream(s->context[slot->context], slot->at));
    } else {
        came(s, slot->context, tile_stream_destroy(s->context[slot->context], slot->at));
        slot->at = NULL;
    }
}

static void call_event(State *s) {
    int c = any_context(s), done;
    Slot *e = &s->event[any(s, OBJECTS)], *other = &s->event[any(s, OBJECTS)];
    double ms;
    tile_event *event = e->at;
    switch (byte(s) % 7) {
    case 0:
    case 1:
        if (event) c = e->context;
        came(s, c, tile_event_record(s->context[c], any_stream(s), &event));
        *e = (Slot){c, event};
        break;
    case 2:
        if (event) came(s, e->context, tile_event_wait(event));
        break;
    case 3:
        if (event && came(s, e->context, tile_event_done(event, &done)) && done != 0 && done != 1)
            fuzz_wrong("neither done nor not", NULL);
        break;
    case 4:
        if (event) came(s, e->context, tile_event_order(event, any_stream(s)));
        break;
    case 5:
        if (event && other->at && came(s, e->context, tile_event_elapsed(event, other->at, &ms)) &&
            ms != ms)
            fuzz_wrong("no time", NULL);
        break;
    default: tile_event_destroy(event); e->at = NULL;
    }
}

/* ---- tensors ---- */

static void drop(DLManagedTensorVersioned *self) {
    --*(int *)self->manager_ctx;
}

static void call_tensor(State *s) {
    Tensor *t = &s->tensor[any(s, OBJECTS)];
    const Buffer *b = any_buffer(s);
    int c = b->context;
    if (t->at) {
        DLManagedTensorVersioned *out;
        if (byte(s) % 2 &&
            came(s, t->context,
                 tile_tensor_export(s->context[t->context], t->at, NULL, NULL, &out)))
            out->deleter(out);
        tile_tensor_release(t->at);
        t->at = NULL;
        return;
    }
    t->shape[0] = byte(s) % 16;
    t->shape[1] = byte(s) % 20;
    t->managed =
        (DLManagedTensorVersioned){.version = {1, 0},
                                   .manager_ctx = &s->held,
                                   .deleter = drop,
                                   .dl_tensor = {.data = (void *)(uintptr_t)b->at,
                                                 .device = {on_cpu(c) ? kDLCPU : kDLCUDA, c == 3},
                                                 .ndim = 2,
                                                 .dtype = {kDLFloat, 32, 1},
                                                 .shape = t->shape,
                                                 .byte_offset = byte(s) % 8 ? 0 : byte(s)}};
    /* The caller's memory: what it describes must be there. */
    size_t bytes = (size_t)(t->shape[0] * t->shape[1]) * 4 + t->managed.dl_tensor.byte_offset;
    if (!b->open || bytes > b->bytes) return;
    t->context = c;
    if (came(s, c, tile_tensor_import(s->context[c], &t->managed, NULL, &t->at))) s->held++;
}

/* ---- contexts ---- */

static void ignore_text(void *user, const char *text, size_t len) {
    (void)user, (void)text, (void)len;
}
static void ignore_progress(void *user, uint64_t ended, uint64_t programs) {
    (void)user;
    if (ended > programs) fuzz_wrong("more programs have ended than there are", NULL);
}
static void ignore_count(void *user, const tile_count *count) {
    (void)user, (void)count;
}

static void call_context(State *s) {
    int c = any_context(s);
    tile_context *ctx = s->context[c];
    switch (byte(s) % 9) {
    case 0: came(s, c, tile_context_set_checks(ctx, byte(s))); break;
    case 1: came(s, c, tile_context_set_print(ctx, byte(s) % 2 ? ignore_text : NULL, NULL)); break;
    case 2:
        came(s, c, tile_context_set_progress(ctx, byte(s) % 2 ? ignore_progress : NULL, NULL));
        break;
    case 3:
        came(s, c, tile_context_set_counts(ctx, byte(s) % 2 ? ignore_count : NULL, NULL));
        break;
    case 4: came(s, c, tile_context_set_concurrent(ctx, (int)byte(s) % 3)); break;
    case 5: came(s, c, tile_synchronize(ctx)); break;
    case 6: came(s, c, tile_context_fail(ctx, TILE_IO, "a sentence")); break;
    case 7: came(s, c, tile_context_set_launch_graphs(ctx, (int)byte(s) % 32 - 1)); break;
    default:
        if (!tile_context_device_name(ctx) || !tile_context_target(ctx))
            fuzz_wrong("a device without a name", NULL);
    }
}

/* Destroys a context and all that must go before it. */
static void close_context(State *s, int c) {
    for (int i = 0; i < OBJECTS; i++) {
        if (s->tensor[i].at && s->tensor[i].context == c) {
            tile_tensor_release(s->tensor[i].at);
            s->tensor[i].at = NULL;
        }
        if (s->module[i].at && s->module[i].context == c) unload(s, &s->module[i]);
        if (s->bundle[i].at && s->bundle[i].context == c) {
            tile_bundle_destroy(s->bundle[i].at);
            s->bundle[i].at = NULL;
        }
        if (s->event[i].at && s->event[i].context == c) {
            tile_event_destroy(s->event[i].at);
            s->event[i].at = NULL;
        }
        if (s->stream[i].at && s->stream[i].context == c) {
            tile_stream_destroy(s->context[c], s->stream[i].at);
            s->stream[i].at = NULL;
        }
    }
    for (int i = 0; i < BUFFERS; i++)
        if (s->buffer[i].context == c) s->buffer[i].open = false; /* freed with it */
    tile_context_destroy(s->context[c]);
    s->context[c] = NULL;
}

static void call_close(State *s) {
    int c = any(s, CONTEXTS);
    if (byte(s) % 4 == 0) close_context(s, c);
}

static void call_fail(State *s) {
    static const int codes[] = {2, 1, 700, 719, 999, 201, 304};
    if (byte(s) % 64) return; /* most sequences go without */
    fake->let_fail(1 + (long)byte(s) % 30, codes[byte(s) % 7], byte(s) % 8 == 7);
    s->failing = true;
}

static void (*const calls[])(State *s) = {
    call_alloc, call_alloc,  call_wrap,   call_free,    call_write,  call_write,
    call_read,  call_read,   call_move,   call_peer,    call_share,  call_load,
    call_load,  call_unload, call_launch, call_launch,  call_bundle, call_stream,
    call_event, call_event,  call_tensor, call_context, call_close,  call_fail};

static int one(const uint8_t *data, size_t n) {
    static State s;
    memset(&s, 0, sizeof s);
    s.at = data;
    s.end = data + n;
    fuzz_choices(data, n);
    fake->let_fail(0, 0, false);
    for (int i = 0; i < CALLS && s.at < s.end; i++)
        calls[byte(&s) % (sizeof calls / sizeof *calls)](&s);
    fake->let_fail(0, 0, false);
    for (int c = 0; c < CONTEXTS; c++) close_context(&s, c);
    if (s.held) fuzz_wrong("a tensor was not given back", NULL);
    if (fake->live() && !s.failing) fuzz_wrong("the driver misses something", NULL);
    if (fake->live()) fake->forget();
    return s.reached;
}

/* ---- inputs ---- */

static bool begin(FuzzCorpus *c) {
    (void)c;
    fake = fuzz_driver();
    return fake != NULL;
}

static size_t make(FuzzRandom *r, const FuzzCorpus *c, char *room, size_t most) {
    size_t n = 50 + fuzz_below(r, 1000);
    (void)c;
    if (n > most) n = most;
    for (size_t i = 0; i < n; i++) room[i] = (char)fuzz_next(r);
    return n;
}

static const char *const stages[] = {"begun", "called", "filled", "compared", NULL};

const FuzzTarget fuzz_target = {.name = "calls",
                                .suffix = ".calls",
                                .most = 1 << 11,
                                .stages = stages,
                                .begin = begin,
                                .make = make,
                                .one = one};
