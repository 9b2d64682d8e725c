/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tensor.c: the copy engine: blocks of tensors between global and shared memory, by maps (map.h;
 * PTX ISA, "cp.async.bulk.tensor", "Tensors").
 *
 * A block to shared memory lands when nobody can go on without; one to global memory is read when a
 * thread waits for that, and written when it waits for all, or its block has ended. */
#include "ptx/machine/async.h"
#include "ptx/machine/lanes.h"
#include "ptx/machine/map.h"
#include "ptx/machine/race.h"

#include <string.h>

/* ---- what an instruction asks for ---- */

typedef struct Block {    /* of a tensor, and where it is in shared memory */
    Map map;              /* rank 0: so many bytes from the map's address on */
    uint32_t plain;       /* those bytes */
    uint32_t each;        /* bytes of an element */
    int64_t at[MAP_RANK]; /* coordinates */
    uint64_t columns;     /* of a row, those that are copied */
    uint64_t shared;
    uint64_t barrier;   /* shared address; of loads */
    uint32_t ranks;     /* bits: blocks of the cluster that get it; of loads */
    uint32_t phase[16]; /* of each one's barrier */
    uint8_t *copy;      /* what has been read, of stores */
} Block;

static uint64_t whole_bytes(const Block *b) {
    const Map *m = &b->map;
    uint64_t n = m->rank ? b->each : b->plain;
    for (int d = 0; d < m->rank; d++) n *= m->box[d];
    return n;
}

/* Once check_shared has found that it fits. */
static uint32_t block_bytes(const Block *b) {
    return (uint32_t)whole_bytes(b);
}

/* Rows of so many bytes lie in units of 16 whose number is changed by that of the row. */
static uint64_t swizzled(const Map *m, uint64_t at) {
    uint64_t mask = (UINT64_C(1) << m->swizzle) - 1;
    return at ^ (at >> 7 & mask) << 4;
}

static bool read_map(Warp *w, const PtxCode *c, int lane, const PtxOperand *o, Block *b) {
    Access a = {.kind = ACCESS_READ,
                .space = IN_GENERIC,
                .bytes = MAP_BYTES,
                .align = 64,
                .mask = UINT32_C(1) << lane};
    if (!access_addresses(w, c, o, &a)) return false;
    if (o->space == IN_PARAM && o->reg < 0) a.address[lane] |= WINDOW_PARAM;
    if (!access_find(w, c, &a)) return false;
    if (a.mask) memcpy(&b->map, a.data[lane], sizeof b->map);
    static const uint16_t dims[] = {[WORD_DIM_ONE] = 1,
                                    [WORD_DIM_TWO] = 2,
                                    [WORD_DIM_THREE] = 3,
                                    [WORD_DIM_FOUR] = 4,
                                    [WORD_DIM_FIVE] = 5};
    uint16_t rank = dims[c->field[FIELD_DIM]];
    const char *why = map_fault(&b->map);
    if (why) {
        machine_fail(w, c, lane, C_DESCRIPTOR, "this is %s", why);
        return false;
    }
    if (b->map.rank != rank || o->n != rank) {
        machine_fail(w, c, lane, C_DESCRIPTOR, "this is no map of a tensor of rank %d", rank);
        return false;
    }
    b->each = map_element_bytes(&b->map);
    b->columns = b->map.size[0];
    for (int d = 0; d < rank; d++) {
        const PtxOperand *e = element_of(w, o, d);
        if (!(known_of(w, e) >> lane & 1)) {
            machine_fail(w, c, lane, C_UNINIT, "%.*s, a coordinate, is not known", e->word.len,
                         e->word.text);
            return false;
        }
        b->at[d] = (int32_t)lane_of(w, e, lane);
    }
    return true;
}

static bool check_shared(Warp *w, const PtxCode *c, int lane, const Block *b) {
    uint64_t in = b->shared & ((UINT64_C(1) << RANK_SHIFT) - 1);
    const Memory *m = &w->cta->shared;
    unsigned align = b->map.rank ? 128 : MAP_UNIT;
    if (in % align) {
        machine_fail(w, c, lane, C_ALIGN,
                     "misaligned: a block at 0x%llx, which must be a multiple of %u",
                     (unsigned long long)in, align);
        return false;
    }
    uint64_t bytes = whole_bytes(b), rows = b->map.swizzle ? (bytes + 127) / 128 * 128 : bytes;
    if (in >= PTX_SHARED_BASE && in - PTX_SHARED_BASE + rows <= m->bytes) return true;
    machine_fail(w, c, lane, C_BOUNDS,
                 "out of bounds: a block of %llu bytes at byte %lld of shared memory, which has "
                 "%llu",
                 (unsigned long long)bytes, (long long)in - PTX_SHARED_BASE,
                 (unsigned long long)m->bytes);
    return false;
}

/* Element n of the block: its offset in shared memory, and where it is in global memory; NULL: it
 * is outside the tensor. */
static uint64_t element_at(const Block *b, uint32_t n, uint64_t *address) {
    uint64_t in = b->shared & ((UINT64_C(1) << RANK_SHIFT) - 1);
    uint64_t offset = swizzled(&b->map, in + (uint64_t)n * b->each);
    *address = b->map.address + (b->map.rank ? 0 : n);
    for (int d = 0; d < b->map.rank; d++) {
        int64_t at = b->at[d] + (int64_t)(n % b->map.box[d]);
        n /= b->map.box[d];
        if (at < 0 || (uint64_t)at >= (d ? b->map.size[d] : b->columns)) *address = 0;
        if (*address) *address += (uint64_t)at * (d ? b->map.stride[d] : b->each);
    }
    return offset - PTX_SHARED_BASE;
}

static bool find_element(Warp *w, const PtxCode *c, int lane, AccessKind kind, uint64_t address,
                         uint32_t bytes, Access *a) {
    *a = (Access){
        .kind = kind, .space = IN_GLOBAL, .bytes = bytes, .align = 1, .mask = UINT32_C(1) << lane};
    a->address[lane] = address;
    return access_find(w, c, a);
}

/* ---- what it takes ---- */

/* The innermost row that begins with element n: what of it lies in the tensor; no bytes: nothing.
 */
static CountRange row_of(const Block *b, uint32_t n) {
    uint64_t begin = 0, end = 0;
    if (!b->map.rank) return (CountRange){b->map.address, b->plain};
    for (uint32_t i = n; i < n + b->map.box[0]; i++) {
        uint64_t address;
        element_at(b, i, &address);
        if (!address) continue;
        if (!end) begin = address;
        end = address + b->each;
    }
    return (CountRange){begin, end - begin};
}

/* The engine moves 128 bytes of a block at a time, where the swizzle has put them. */
static void count_block(const Warp *w, const PtxCode *c, const Block *b, int copies) {
    PtxCount *count = count_of(w, c);
    if (!count) return;
    uint32_t bytes = block_bytes(b), rows = 1;
    for (int d = 1; d < b->map.rank; d++) rows *= b->map.box[d];
    CountRange *range = arena_array(w->cta->m->arena, rows, sizeof *range);
    int n = 0;
    for (uint32_t i = 0; i < rows; i++) {
        range[n] = row_of(b, i * b->map.box[0]);
        n += range[n].bytes != 0;
    }
    count_ranges(count, range, n);
    for (uint32_t from = 0; from < bytes; from += COUNT_UNITS * COUNT_UNIT) {
        uint64_t unit[COUNT_UNITS], ignored;
        int units = 0;
        for (; units < COUNT_UNITS && from + (uint32_t)units * COUNT_UNIT < bytes; units++)
            unit[units] = element_at(b, (from + (uint32_t)units * COUNT_UNIT) / b->each, &ignored);
        for (int i = 0; i < copies; i++) count_units(count, unit, units);
    }
    count->shared += (uint64_t)copies;
}

/* ---- to shared memory ---- */

static bool land_load(Cta *cta, Arrival *x) {
    Block *b = x->detail;
    /* What an H100 fills with: the ISA says no more than that it is NaN. */
    static const uint16_t outside[][4] = {{0}, [MAP_FILL_NAN] = {0x7FF7, 0x7FF7, 0x7FF7, 0x7FF7}};
    uint32_t each = b->each, n = block_bytes(b) / each;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t address, at = element_at(b, i, &address);
        const uint8_t *from = (const uint8_t *)outside[b->map.fill], *known = NULL;
        Access a = {0};
        if (address) {
            if (!find_element(x->warp, x->code, x->lane, ACCESS_READ, address, each, &a))
                return false;
            if (a.mask) {
                from = a.data[x->lane];
                known = a.known[x->lane];
            }
        }
        for (int r = 0; r < cta->m->cluster; r++) {
            if (!(b->ranks >> r & 1)) continue;
            Memory *to = &cta->cluster[r]->shared;
            memcpy(to->data + at, from, each);
            if (known)
                memcpy(to->known + at, known, each);
            else
                memset(to->known + at, 1, each);
        }
    }
    uint64_t barrier = b->barrier & ((UINT64_C(1) << RANK_SHIFT) - 1);
    for (int r = 0; r < cta->m->cluster; r++)
        if ((b->ranks >> r & 1) && !mbarrier_complete(x->warp, x->code, x->lane, cta->cluster[r],
                                                      barrier, block_bytes(b), b->phase[r]))
            return false;
    return true;
}

/* An address of shared::cluster: the block's rank, and the address in it. */
static uint32_t rank_of(const Warp *w, uint64_t address) {
    uint64_t rank = address >> RANK_SHIFT & UINT8_MAX;
    return rank ? (uint32_t)rank - 1 : (uint32_t)w->cta->rank;
}

/* From so many bytes of global memory on. */
static bool read_plain(Warp *w, const PtxCode *c, int lane, const PtxOperand *from,
                       const PtxOperand *bytes, Block *b) {
    b->map = (Map){.type = PT_U8, .address = lane_of(w, from, lane)};
    b->each = 1;
    b->plain = (uint32_t)lane_of(w, bytes, lane);
    if (b->plain && b->plain % MAP_UNIT == 0 && b->map.address % MAP_UNIT == 0) return true;
    machine_fail(w, c, lane, C_ALIGN,
                 "misaligned: %u bytes at 0x%llx, which must be multiples of 16", b->plain,
                 (unsigned long long)b->map.address);
    return false;
}

/* [to], [map, {…}], [barrier] {, ranks}; or [to], [from], bytes, [barrier] {, ranks} */
static bool start_load(Warp *w, const PtxCode *c, int lane) {
    bool plain = !c->field[FIELD_DIM];
    Block b = {.shared = (uint32_t)lane_of(w, &c->operand[0], lane),
               .barrier = (uint32_t)lane_of(w, &c->operand[2 + plain], lane)};
    uint32_t rank = rank_of(w, b.shared);
    if (!(plain ? read_plain(w, c, lane, &c->operand[1], &c->operand[2], &b)
                : read_map(w, c, lane, &c->operand[1], &b)) ||
        !check_shared(w, c, lane, &b))
        return false;
    b.ranks = c->field[FIELD_MULTICAST] ? (uint16_t)lane_of(w, &c->operand[3 + plain], lane)
              : rank < 32               ? UINT32_C(1) << rank
                                        : 0;
    if (!b.ranks || b.ranks >> w->cta->m->cluster) {
        machine_fail(w, c, lane, C_CLUSTER, "0x%x names blocks that the cluster has not", b.ranks);
        return false;
    }
    uint64_t at = (b.shared & ((UINT64_C(1) << RANK_SHIFT) - 1)) - PTX_SHARED_BASE;
    uint64_t barrier = b.barrier & ((UINT64_C(1) << RANK_SHIFT) - 1);
    for (int r = 0; r < w->cta->m->cluster; r++) {
        Cta *to = w->cta->cluster[r];
        if (!(b.ranks >> r & 1)) continue;
        if (!mbarrier_coming(w, c, lane, to, barrier, at, block_bytes(&b), &b.phase[r]))
            return false;
        memset(to->shared.known + at, 0, block_bytes(&b));
    }
    count_block(w, c, &b, __builtin_popcount(b.ranks));
    Arrival x = {.warp = w, .code = c, .lane = lane, .land = land_load};
    x.detail = arena_copy(w->cta->m->arena, &b, sizeof b);
    async_send(w->cta, x);
    return true;
}

/* ---- to global memory ---- */

static bool read_store(Warp *w, Async *a) {
    Block *b = a->detail;
    const Memory *from = &w->cta->shared;
    uint32_t each = b->each, n = block_bytes(b) / each;
    int lane = __builtin_ctz(a->mask);
    b->copy = arena_alloc(w->cta->m->arena, (size_t)n * each);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t address, at = element_at(b, i, &address);
        if (!address) continue;
        if (memchr(from->known + at, 0, each) && (w->cta->m->launch->checks & PTX_CHECK_UNINIT)) {
            machine_fail(w, a->code, lane, C_UNINIT,
                         "byte %llu of shared memory, which is stored, is not known",
                         (unsigned long long)at);
            return false;
        }
        memcpy(b->copy + (size_t)i * each, from->data + at, each);
    }
    return true;
}

/* What is stored, or what the operation makes of it and of what is there. False after a
 * diagnostic. */
static bool store_element(Warp *w, const PtxCode *c, int lane, const Block *b, const Access *to,
                          const uint8_t *from) {
    uint8_t *known = to->known[lane];
    unsigned op = c->field[FIELD_OP];
    uint64_t y = 0;
    bool changed = true;
    if (op && known && memchr(known, 0, b->each) &&
        (w->cta->m->launch->checks & PTX_CHECK_UNINIT)) {
        machine_fail(w, c, lane, C_UNINIT, "nobody has written what it updates");
        return false;
    }
    memcpy(&y, from, b->each);
    if (op)
        atomic_update((PtxType)b->map.type, op, to->data[lane], y, 0, &changed);
    else
        memcpy(to->data[lane], from, b->each);
    if (known) memset(known, 1, b->each);
    if (changed) access_changed(w, to, lane);
    return true;
}

static bool land_store(Warp *w, Async *a, uint32_t mask) {
    const Block *b = a->detail;
    uint32_t each = b->each, n = block_bytes(b) / each;
    int lane = __builtin_ctz(mask);
    AccessKind kind = a->code->field[FIELD_OP] ? ACCESS_ATOMIC : ACCESS_WRITE;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t address;
        Access to;
        element_at(b, i, &address);
        if (!address) continue;
        if (!find_element(w, a->code, lane, kind, address, each, &to)) return false;
        const uint8_t *from = b->copy + (size_t)i * each;
        if (to.mask && !store_element(w, a->code, lane, b, &to, from)) return false;
    }
    return true;
}

/* As an H100 has it: what is stored begins inside the tensor, at a unit of 16 bytes, and the last
 * unit of a row is written to its end. */
static bool store_whole_units(Warp *w, const PtxCode *c, int lane, Block *b) {
    for (int d = 0; d < b->map.rank; d++)
        if (b->at[d] < 0) {
            machine_fail(w, c, lane, C_DESCRIPTOR,
                         "it stores from coordinate %lld on, and must not begin below 0",
                         (long long)b->at[d]);
            return false;
        }
    if (b->at[0] * (int64_t)b->each % MAP_UNIT) {
        machine_fail(w, c, lane, C_ALIGN,
                     "misaligned: it stores from byte %lld of a row on, which must be a "
                     "multiple of 16",
                     (long long)b->at[0] * (int64_t)b->each);
        return false;
    }
    b->columns = (b->columns * b->each + MAP_UNIT - 1) / MAP_UNIT * MAP_UNIT / b->each;
    return true;
}

/* [map, {…}], [from]; or [to], [from], bytes */
static bool start_store(Warp *w, const PtxCode *c, int lane) {
    Block b = {.shared = (uint32_t)lane_of(w, &c->operand[1], lane)};
    if (!(c->field[FIELD_DIM] ? read_map(w, c, lane, &c->operand[0], &b)
                              : read_plain(w, c, lane, &c->operand[0], &c->operand[2], &b)) ||
        !check_shared(w, c, lane, &b) || !store_whole_units(w, c, lane, &b))
        return false;
    unsigned op = c->field[FIELD_OP];
    if (op && !atomic_reduces((PtxType)b.map.type, op)) {
        machine_fail(w, c, lane, C_DESCRIPTOR, "the machine knows no such operation of a map of %s",
                     ptx_type[b.map.type].name);
        return false;
    }
    uint64_t at = (b.shared & ((UINT64_C(1) << RANK_SHIFT) - 1)) - PTX_SHARED_BASE;
    if (!race_read(w, c, lane, at, block_bytes(&b), AGENT_BULK)) return false;
    count_block(w, c, &b, 1);
    Async *a = async_start(w, c, GROUP_BULK, UINT32_C(1) << lane, land_store, sizeof b);
    a->read = read_store;
    memcpy(a->detail, &b, sizeof b);
    return true;
}

typedef bool StartCopy(Warp *w, const PtxCode *c, int lane);

/* Of each lane, where all that it says is known. */
static PtxOutcome start_copies(Warp *w, const PtxCode *c, uint32_t mask, StartCopy *start) {
    for (int i = 0; i < c->noperands; i++) {
        uint32_t unknown = mask & ~known_of(w, &c->operand[i]);
        if (unknown)
            return machine_fail(w, c, __builtin_ctz(unknown), C_UNINIT, "%.*s is not known",
                                c->operand[i].word.len, c->operand[i].word.text);
    }
    EACH_LANE(mask, l)
    if (!start(w, c, l)) return OUTCOME_FAIL;
    return OUTCOME_NEXT;
}

/* cp.async.bulk, cp.async.bulk.tensor */
PtxOutcome exec_bulk(Warp *w, const PtxCode *c, uint32_t mask) {
    bool stores = c->field[FIELD_COMPLETES] == WORD_COMPLETES_GROUP;
    bool tensor = ptx_begins(c->inst->op, "cp.async.bulk.tensor");
    int least = (stores ? 2 : 3) + !tensor + (c->field[FIELD_MULTICAST] != 0);
    if (!c->field[FIELD_COMPLETES] || tensor != (c->field[FIELD_DIM] != 0))
        return not_known(w, c, mask);
    if (stores != (c->field[FIELD_SPACE] == WORD_SPACE_GLOBAL) || c->noperands < least)
        return not_known(w, c, mask);
    return start_copies(w, c, mask, stores ? start_store : start_load);
}

/* cp.reduce.async.bulk.tensor */
PtxOutcome exec_bulk_reduce(Warp *w, const PtxCode *c, uint32_t mask) {
    if (!c->field[FIELD_OP] || !c->field[FIELD_DIM] ||
        c->field[FIELD_COMPLETES] != WORD_COMPLETES_GROUP ||
        c->field[FIELD_SPACE] != WORD_SPACE_GLOBAL)
        return not_known(w, c, mask);
    return start_copies(w, c, mask, start_store);
}

PtxOutcome exec_bulk_commit(Warp *w, const PtxCode *c, uint32_t mask) {
    (void)c;
    async_commit(w, GROUP_BULK, mask);
    return OUTCOME_NEXT;
}

PtxOutcome exec_bulk_wait(Warp *w, const PtxCode *c, uint32_t mask) {
    bool ok =
        async_wait(w, GROUP_BULK, mask, (uint32_t)c->operand[0].value, c->field[FIELD_READ] != 0);
    return ok ? OUTCOME_NEXT : OUTCOME_FAIL;
}
