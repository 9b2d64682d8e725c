/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fuzz_cache.c: mutated entries of tile_jit's cache.
 *
 * An input is the text of an entry: the questions that were asked, the files that were looked at,
 * what was said, the module. Without a hash that fits, or otherwise damaged, the entry must be as
 * good as none: the launch gives what it always gives. With a hash that fits it is somebody's who
 * may write there: then nothing but a status comes of it. */
#include "tests/fuzz/fuzz.h"
#include "tests/scratch.h"
#include "tile.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { READ, LAUNCHED, RIGHT };

enum { INPUT_MAX = 1 << 14, ENTRY_MAX = 1 << 16, N = 16 };

static const char source[] = "import triton, triton.language as tl\n"
                             "@triton.heuristics({'EVEN': lambda args: args['n'] % 2 == 0})\n"
                             "@triton.jit\n"
                             "def twice(p: '*fp32', n, B: tl.constexpr, EVEN: tl.constexpr):\n"
                             "    i = tl.arange(0, B)\n"
                             "    unused = tl.load(p)\n"
                             "    tl.store(p + i, tl.load(p + i, mask=i < n) * 2, mask=i < n)\n";

/* As cache.c has it. */
typedef struct Head {
    char magic[16];
    uint64_t key_len, text_len, hash[2];
} Head;

static char folder[SCRATCH_SIZE], path[2 * SCRATCH_SIZE + 300];
static tile_context *ctx;
static tile_ptr memory;
static char entry[ENTRY_MAX]; /* as it was made: its head and its key */
static size_t key_end, entry_len;

/* A launch by way of the cache: its status, and whether the result is right. */
static tile_status launch(bool *right, int *from_disk) {
    static const char *const define[] = {"B=16"};
    const tile_compile_options o = {
        .source = source, .source_len = sizeof source - 1, .defines = define, .ndefines = 1};
    const tile_arg args[] = {tile_pointer(memory), tile_i32(N)};
    const tile_grid grid = {1, 1, 1};
    float in[N], out[N];
    tile_jit *jit = NULL;
    for (int i = 0; i < N; i++) in[i] = (float)i;
    if (tile_copy_to_device(ctx, memory, in, sizeof in)) fuzz_wrong("copying", tile_error(ctx));
    tile_status st = tile_jit_create(ctx, &o, folder, &jit);
    if (st) fuzz_wrong("creating", tile_error(ctx));
    st = tile_jit_launch(jit, &grid, args, 2, NULL);
    const tile_compiled *said = NULL;
    const tile_diagnostic *d;
    tile_status told = tile_jit_diagnostics(jit, args, 2, &said);
    for (int i = told ? 0 : tile_compiled_diagnostics(said, &d); i > 0; i--)
        if (!d[i - 1].text || !tile_compiled_code(said, i - 1)) fuzz_wrong("what was said", NULL);
    int variants;
    tile_jit_counts(jit, &variants, from_disk);
    tile_jit_destroy(jit);
    if (tile_copy_to_host(ctx, out, memory, sizeof out)) fuzz_wrong("copying", tile_error(ctx));
    *right = !st;
    for (int i = 0; i < N; i++) *right = *right && out[i] == 2.0f * (float)i;
    return st;
}

static void see(void *user, const tile_jit_cached *e) {
    char *id = user;
    if (!e->id || !e->kernel || !e->signature || !e->options) fuzz_wrong("a text is NULL", NULL);
    snprintf(id, 65, "%.64s", e->id);
}

static bool begin(FuzzCorpus *c) {
    char id[65] = "";
    bool right;
    int from_disk;
    Head head;
    if (!mkdtemp(scratch(folder, "tile-fuzz")) || tile_context_create("cpu", &ctx) ||
        tile_alloc(ctx, N * sizeof(float), &memory) || launch(&right, &from_disk) || !right ||
        tile_jit_cache_list(folder, see, id))
        return false;
    snprintf(path, sizeof path, "%s/%s.tilec", folder, id);
    if (!fuzz_read(path, entry, sizeof entry, &entry_len)) return false;
    memcpy(&head, entry, sizeof head);
    key_end = sizeof head + (size_t)head.key_len;
    if (launch(&right, &from_disk) || !right || from_disk != 1) return false;
    return fuzz_add(c, entry + key_end, entry_len - key_end);
}

static void end(void) {
    tile_context_destroy(ctx);
    scratch_empty(folder);
    rmdir(folder);
}

static int one(const uint8_t *data, size_t n) {
    FuzzRandom r = fuzz_choices(data, n);
    char made[ENTRY_MAX], id[65] = "";
    Head head;
    size_t len = key_end + n;
    bool as_made = n == entry_len - key_end && memcmp(data, entry + key_end, n) == 0;
    bool fits = fuzz_below(&r, 3) != 0, right;
    if (len > sizeof made) return READ;
    memcpy(made, entry, key_end);
    memcpy(made + key_end, data, n);
    memcpy(&head, made, sizeof head);
    if (fits) {
        XXH128_hash_t h =
            XXH3_128bits_withSeed(made + sizeof head, len - sizeof head, head.key_len);
        head.text_len = n;
        head.hash[0] = h.low64;
        head.hash[1] = h.high64;
        memcpy(made, &head, sizeof head);
    } else if (fuzz_below(&r, 2)) { /* the head or the key is damaged, too, or it is cut */
        size_t at = fuzz_below(&r, key_end);
        if (fuzz_below(&r, 4))
            made[at] = (char)(made[at] ^ 1 << fuzz_below(&r, 8));
        else
            len = at;
        as_made = false;
    }
    FILE *out = fopen(path, "wb");
    if (!out || fwrite(made, 1, len, out) != len || fclose(out)) fuzz_wrong("cannot write", path);
    if (tile_jit_cache_list(folder, see, id)) fuzz_wrong("not listed", NULL);
    int from_disk = 0;
    tile_status st = launch(&right, &from_disk);
    if (!fits && (st || !right)) fuzz_wrong("a damaged entry counts", tile_error(ctx));
    if (!fits && from_disk && !as_made) fuzz_wrong("a damaged entry is used", NULL);
    if (st && !*tile_error(ctx)) fuzz_wrong("refused without a word", tile_status_text(st));
    return right ? RIGHT : st ? READ : LAUNCHED;
}

static const char *const pieces[] = {"0\n",       "1 1=4:16\n",
                                     "1 0~4:1\n", " 1=99:18446744073709551615",
                                     "-1\n",      "999999999",
                                     "\n",        "1 W0001 1 1 1 4 0 text\n",
                                     "0 -",       "%x",
                                     "func @f(",  "f32",
                                     "i64",       "load",
                                     "store",     "[16]",
                                     "[1048576]", "18446744073709551615",
                                     NULL};
static const char *const stages[] = {"read", "launched", "right", NULL};

const FuzzTarget fuzz_target = {.name = "cache",
                                .suffix = ".entry",
                                .most = INPUT_MAX,
                                .word = "%@.",
                                .pieces = pieces,
                                .stages = stages,
                                .begin = begin,
                                .end = end,
                                .one = one};
