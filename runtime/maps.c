/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* maps.c: what a kernel's manifest says of its tensor maps, and a launch's arguments -> the maps:
 * the 128 bytes by which the copy engine knows a tensor in memory (CUDA driver API, "Tensor Map
 * Object Management"). Those of the last tensors are kept: encoding one takes longer than finding
 * it. */
#include "ir/desc.h"
#include "runtime/cuda_api.h"
#include "runtime/runtime.h"

#include <stdio.h>
#include <string.h>

enum { MOST_STRIDE_LOG2 = 40 };

/* CUtensorMapDataType of an element; the copy engine has no other use for its kind. */
static int data_type(Elem e) {
    switch (e) {
    case EL_F16: return 6;
    case EL_F32: return 7;
    case EL_F64: return 8;
    case EL_BF16: return 9;
    case EL_I16:
    case EL_U16: return 1;
    case EL_U32: return 2;
    case EL_I32: return 3;
    case EL_U64: return 4;
    case EL_I64: return 5;
    default: return 0; /* bytes */
    }
}

/* CUtensorMapSwizzle: by the bytes of a row. */
static int swizzle_mode(int bytes) {
    return bytes == 32 ? 1 : bytes == 64 ? 2 : bytes == 128 ? 3 : 0;
}

/* ---- maps that were made before ---- */

enum { KEY_WORDS = 1 + 2 * RT_MAP_RANK, KEPT = 16 };

typedef struct MadeMap {
    uint64_t key[KEY_WORDS]; /* address, sizes, strides; address 0: none */
    uint8_t bytes[sizeof(TensorMap)];
} MadeMap;

struct MadeMaps {
    atomic_flag busy; /* a launch that finds it so makes its map itself */
    MadeMap map[KEPT];
    int next;
};

MadeMaps *rt_made_maps(Arena *a) {
    MadeMaps *made = arena_alloc(a, sizeof *made);
    atomic_flag_clear(&made->busy);
    return made;
}

/* Copies the map that the key is of out of what is kept, or puts it there, in the oldest one's
 * place. False: it is not there. */
static bool exchange(MadeMaps *made, const uint64_t *key, TensorMap *map, bool keep) {
    if (!made || atomic_flag_test_and_set_explicit(&made->busy, memory_order_acquire)) return false;
    int at = keep ? made->next : 0;
    while (!keep && at < KEPT && memcmp(made->map[at].key, key, sizeof made->map[at].key)) at++;
    if (keep) {
        memcpy(made->map[at].key, key, sizeof made->map[at].key);
        memcpy(made->map[at].bytes, map->bytes, sizeof map->bytes);
        made->next = (at + 1) % KEPT;
    } else if (at < KEPT) {
        memcpy(map->bytes, made->map[at].bytes, sizeof map->bytes);
    }
    atomic_flag_clear_explicit(&made->busy, memory_order_release);
    return at < KEPT;
}

/* ---- making one ---- */

/* What L2 fetches from memory for a request: a line, or two beside each other, where no row begins
 * within a line. The next block along a row has the other one. */
enum { LINE_BYTES = 128, FETCH_LINE = 2, FETCH_TWO_LINES = 3 };

const char *rt_make_map(EncodeMap *encode, const tile_kernel *k, int i, const InterpArg *arg,
                        TensorMap *out, char *buffer, size_t room, int *driver) {
    const KernelMap *m = &k->map[i];
    int64_t v[2 * RT_MAP_RANK + 1], bytes = elem_info[m->elem].bytes, offset;
    ExprError e;
    if (!m->code) return "they cannot be worked out";
    if (expr_run(m->code, m->nops, rt_value_of_slot, arg, v, &e) < 0) {
        snprintf(buffer, room, "%s", e.text);
        return buffer;
    }
    if (__builtin_mul_overflow(v[2 * m->rank], bytes, &offset))
        return "its first element lies outside of all memory";
    uint64_t base = arg[m->base].p + (uint64_t)offset;
    uint64_t key[KEY_WORDS] = {base}, *size = key + 1, *stride = size + RT_MAP_RANK;
    uint32_t box[RT_MAP_RANK], step[RT_MAP_RANK];
    bool whole = base % LINE_BYTES == 0;
    if (base % DESC_ALIGN) return "its address must be a multiple of 16 bytes";
    for (int d = 0; d < m->rank; d++) { /* the driver has the innermost first */
        int from = m->rank - 1 - d;
        int64_t by = v[m->rank + from];
        size[d] = (uint64_t)v[from];
        box[d] = m->box[from];
        step[d] = 1;
        if (v[from] < 1 || v[from] > INT32_MAX) /* indices are of 32 bits */
            return "each size must be from 1 to 2^31 - 1";
        if (d == 0 ? by != 1 : by < 1 || by >> MOST_STRIDE_LOG2 || by * bytes % DESC_ALIGN)
            return "strides must be multiples of 16 bytes, the last 1";
        if (d) stride[d - 1] = (uint64_t)(by * bytes);
        if (d) whole &= stride[d - 1] % LINE_BYTES == 0;
    }
    if (m->stored && size[0] * (uint64_t)bytes % DESC_ALIGN) return DESC_STORED_ROWS;
    if (exchange(m->made, key, out, false)) return NULL;
    CuResult r = encode(out->bytes, data_type(m->elem), (uint32_t)m->rank, base, size, stride, box,
                        step, 0, swizzle_mode(m->swizzle), whole ? FETCH_TWO_LINES : FETCH_LINE, 0);
    if (r == CU_ERROR_INVALID_VALUE) return "the driver refuses it";
    *driver = (int)r;
    if (!r) exchange(m->made, key, out, true);
    return NULL;
}
