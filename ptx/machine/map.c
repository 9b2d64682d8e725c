/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* map.c: maps of tensors: what the host encodes, and what kernels make of them. */
#include "ptx/machine/map.h"

#include "ptx/machine/lanes.h"

#include <string.h>

enum { MOST_SWIZZLE = 3, INVALID = 1, MARK = 0x7074786D };

const char *map_fault(const Map *m) {
    if (m->mark != MARK || m->rank < 1 || m->rank > MAP_RANK || m->type >= PT_TYPES ||
        m->swizzle > MOST_SWIZZLE || m->fill > MAP_FILL_NAN)
        return "no map of a tensor";
    uint32_t bytes = map_element_bytes(m), row = m->box[0] * bytes;
    if (!bytes || bytes > sizeof(uint64_t)) return "no map of a tensor";
    if (m->fill == MAP_FILL_NAN && ptx_type[m->type].class != 'F')
        return "a map that fills integers with NaN";
    if (m->address % MAP_UNIT) return "a map whose address is no multiple of 16";
    for (int d = 0; d < m->rank; d++) {
        if (!m->size[d] || m->size[d] > UINT64_C(1) << 32)
            return "a map of a size other than 1 to 2^32";
        if (!m->box[d] || m->box[d] > MAP_BOX) return "a map whose box is not of 1 to 256 elements";
        if (d && (m->stride[d] % MAP_UNIT || m->stride[d] >> 40))
            return "a map with a stride that is no multiple of 16 below 2^40";
    }
    if (row % MAP_UNIT || (m->swizzle && row > (uint32_t)MAP_UNIT << m->swizzle))
        return "a map whose box is as wide as no row of its layout";
    return NULL;
}

int ptx_encode_map(void *map, int type, uint32_t rank, uint64_t address, const uint64_t *sizes,
                   const uint64_t *strides, const uint32_t *box, const uint32_t *element_strides,
                   int interleave, int swizzle, int l2_promotion, int fill) {
    /* CUtensorMapDataType; the last three are float32 with .ftz, tfloat32, tfloat32 with .ftz. */
    static const uint8_t types[] = {PT_U8,  PT_U16, PT_U32,  PT_S32, PT_U64,  PT_S64, PT_F16,
                                    PT_F32, PT_F64, PT_BF16, PT_F32, PT_TF32, PT_TF32};
    Map m = {.mark = MARK, .rank = (uint8_t)rank, .address = address};
    (void)l2_promotion;
    if (rank < 1 || rank > MAP_RANK || type < 0 || type >= (int)sizeof types || interleave ||
        swizzle < 0 || swizzle > MOST_SWIZZLE || fill < 0 || fill > MAP_FILL_NAN)
        return INVALID;
    m.type = types[type];
    m.swizzle = (uint8_t)swizzle;
    m.fill = (uint8_t)fill;
    for (uint32_t d = 0; d < rank; d++) {
        m.size[d] = sizes[d];
        m.box[d] = (uint16_t)(box[d] > MAP_BOX ? 0 : box[d]);
        m.stride[d] = d ? strides[d - 1] : 0;
        if (element_strides[d] != 1) return INVALID;
    }
    if (map_fault(&m)) return INVALID;
    memset(map, 0, MAP_BYTES);
    memcpy(map, &m, sizeof m);
    return 0;
}

/* ---- in kernels ---- */

typedef enum MapPart {
    PART_ADDRESS,
    PART_RANK,
    PART_BOX,
    PART_SIZE,
    PART_STRIDE,
    PART_ELEMENT_STRIDE,
    PART_TYPE,
    PART_INTERLEAVE,
    PART_SWIZZLE,
    PART_FILL
} MapPart;

/* The numbers of the ISA's table are not the driver's behind the first eight. */
static uint8_t type_numbered(uint64_t number) {
    static const uint8_t types[] = {PT_U8,  PT_U16, PT_U32, PT_S32,  PT_U64,  PT_S64, PT_F16,
                                    PT_F32, PT_F32, PT_F64, PT_BF16, PT_TF32, PT_TF32};
    return number < sizeof types ? types[number] : PT_NONE;
}

/* Of dimension d, where the part has one; false: there is no such value. */
static bool put_part(Map *m, MapPart part, uint64_t d, uint64_t value) {
    uint64_t strides = part == PART_STRIDE ? MAP_RANK - 1 : MAP_RANK;
    if (d >= strides) return false;
    switch (part) {
    case PART_ADDRESS: m->address = value; return true;
    case PART_RANK: m->rank = (uint8_t)(value + 1); return value < MAP_RANK;
    case PART_BOX: m->box[d] = (uint16_t)value; return value && value <= MAP_BOX;
    case PART_SIZE: m->size[d] = value; return value != 0;
    case PART_STRIDE: m->stride[d + 1] = value; return true;
    case PART_ELEMENT_STRIDE:
        return value == 1; /* no other is known here, as ptx_encode_map has it */
    case PART_TYPE: m->type = type_numbered(value); return m->type != PT_NONE;
    case PART_INTERLEAVE: return !value;
    case PART_SWIZZLE: m->swizzle = (uint8_t)value; return value <= MOST_SWIZZLE;
    case PART_FILL: m->fill = (uint8_t)value; return value <= MAP_FILL_NAN;
    }
    return false;
}

/* The 128 bytes there, of a lane, all of them known where they are read. False after a diagnostic.
 */
static bool find_map(Warp *w, const PtxCode *c, int lane, const PtxOperand *o, bool reads,
                     Access *a) {
    a->bytes = a->align = MAP_BYTES;
    a->mask = UINT32_C(1) << lane;
    if (!access_addresses(w, c, o, a) || !access_find(w, c, a)) return false;
    reads &= (w->cta->m->launch->checks & PTX_CHECK_UNINIT) != 0;
    if (!a->mask || !reads || !a->known[lane] || !memchr(a->known[lane], 0, MAP_BYTES)) return true;
    machine_fail(w, c, lane, C_UNINIT, "%.*s, a map of a tensor, is not known", o->word.len,
                 o->word.text);
    return false;
}

/* tensormap.replace.tile.PART [map], {dimension,} value. Of zeros it becomes
 * one whose parts have the number 0: of rank 1, of u8. */
static PtxOutcome replace(Warp *w, const PtxCode *c, uint32_t mask, MapPart part) {
    static const uint8_t zeros[MAP_BYTES];
    const PtxOperand *value = &c->operand[c->noperands - 1];
    uint64_t dimension = c->noperands > 2 ? (uint64_t)c->operand[1].value : 0;
    if (!c->field[FIELD_OBJECT]) return not_known(w, c, mask);
    EACH_LANE(mask, l) {
        Access a = {.kind = ACCESS_WRITE, .space = space_of(c)};
        uint64_t v = low_bits(lane_of(w, value, l), ptx_type[c->type[0]].bits);
        Map m;
        if (!find_map(w, c, l, &c->operand[0], true, &a)) return OUTCOME_FAIL;
        if (!a.mask) continue;
        if (!(known_of(w, value) >> l & 1))
            return machine_fail(w, c, l, C_UNINIT, "%.*s is not known", value->word.len,
                                value->word.text);
        memcpy(&m, a.data[l], sizeof m);
        if (!memcmp(a.data[l], zeros, MAP_BYTES)) m = (Map){.mark = MARK, .rank = 1, .type = PT_U8};
        if (m.mark != MARK)
            return machine_fail(w, c, l, C_DESCRIPTOR, "this is no map of a tensor");
        if (!put_part(&m, part, dimension, v))
            return machine_fail(w, c, l, C_DESCRIPTOR, "the machine knows no maps with %llu there",
                                (unsigned long long)v);
        memcpy(a.data[l], &m, sizeof m);
        access_changed(w, &a, l);
    }
    return OUTCOME_NEXT;
}

#define REPLACES(name, part)                                                                       \
    PtxOutcome name(Warp *w, const PtxCode *c, uint32_t mask) {                                    \
        return replace(w, c, mask, part);                                                          \
    }
REPLACES(exec_map_address, PART_ADDRESS)
REPLACES(exec_map_rank, PART_RANK)
REPLACES(exec_map_box, PART_BOX)
REPLACES(exec_map_size, PART_SIZE)
REPLACES(exec_map_stride, PART_STRIDE)
REPLACES(exec_map_element_stride, PART_ELEMENT_STRIDE)
REPLACES(exec_map_type, PART_TYPE)
REPLACES(exec_map_interleave, PART_INTERLEAVE)
REPLACES(exec_map_swizzle, PART_SWIZZLE)
REPLACES(exec_map_fill, PART_FILL)

/* tensormap.cp_fenceproxy [to], [from], 128: a warp copies one map out of shared memory. */
PtxOutcome exec_map_copy(Warp *w, const PtxCode *c, uint32_t mask) {
    int lane = __builtin_ctz(mask);
    Access from = {.kind = ACCESS_READ, .space = IN_SHARED};
    Access to = {.kind = ACCESS_WRITE, .space = IN_GLOBAL};
    if (c->field[FIELD_SPACE] != WORD_SPACE_GLOBAL || c->field[FIELD_SPACE2] != WORD_SPACE_SHARED ||
        !c->field[FIELD_PROXY] || c->field[FIELD_SEM] != WORD_SEM_RELEASE ||
        c->field[FIELD_SYNC] != WORD_SYNC_ALIGNED || c->operand[2].value != MAP_BYTES)
        return not_known(w, c, mask);
    if (!find_map(w, c, lane, &c->operand[1], true, &from)) return OUTCOME_FAIL;
    if (!find_map(w, c, lane, &c->operand[0], false, &to)) return OUTCOME_FAIL;
    EACH_LANE(mask, l)
    if (to.address[l] != to.address[lane] || from.address[l] != from.address[lane])
        return machine_fail(w, c, l, C_CONVERGENCE, "its addresses are not those of all lanes");
    if (!from.mask || !to.mask) return OUTCOME_NEXT;
    memcpy(to.data[lane], from.data[lane], MAP_BYTES);
    if (to.known[lane]) memcpy(to.known[lane], from.known[lane], MAP_BYTES);
    access_changed(w, &to, lane);
    return OUTCOME_NEXT;
}
