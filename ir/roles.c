/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* roles.c: a function's `warps` -> who runs what; the rules of roles and barriers (see
 * roles.h). */
#include "ir/roles.h"
#include "ir/effects.h"

#include <string.h>

const Op *roles_of(const Func *f) {
    return f->roles && f->roles->block ? f->roles : NULL;
}

static int number_of(const Op *op, AttrId id, int r, int absent) {
    const Attr *a = ir_attr(op, id);
    return a && r < a->ndims ? a->dims[r] : absent;
}

int role_warps(const Op *warps, int r) {
    return number_of(warps, AT_NUM_WARPS, r, 1);
}

int role_registers(const Op *warps, int r) {
    return number_of(warps, AT_REGISTERS, r, 0);
}

int role_first_warp(const Op *warps, int r) {
    int first = 0;
    for (int i = 0; i < r; i++) first += role_warps(warps, i);
    return first;
}

/* Word number r of the list, its length in *n; NULL: there are fewer. */
static const char *role_word(const Op *warps, int r, size_t *n) {
    const Attr *a = ir_attr(warps, AT_ROLES);
    for (const char *at = a ? a->text : ""; *at; at += *n) {
        at += strspn(at, " ");
        *n = strcspn(at, " ");
        if (*n && r-- == 0) return at;
    }
    return NULL;
}

const char *role_name(Arena *a, const Op *warps, int r) {
    size_t n;
    const char *word = role_word(warps, r, &n);
    return word ? arena_strndup(a, word, n) : arena_printf(a, "%d", r);
}

int role_of_block(const Block *b) {
    for (; b && b->parent; b = b->parent->block)
        if (b->parent->code == OP_WARPS)
            for (int r = 0; r < b->parent->nregions; r++)
                if (b->parent->region[r] == b) return r;
    return -1;
}

int warps_of_program(const Func *f) {
    const Op *warps = roles_of(f);
    int n = warps ? role_first_warp(warps, warps->nregions) : f->num_warps;
    bool groups = warps && ir_attr(warps, AT_REGISTERS);
    return groups ? (n + WARPGROUP - 1) / WARPGROUP * WARPGROUP : n;
}

int warps_of_block(const Func *f, const Block *b) {
    int role = role_of_block(b);
    return role < 0 ? warps_of_program(f) : role_warps(roles_of(f), role);
}

int layout_warps_of_block(const Func *f, const Block *b) {
    int role = role_of_block(b), n = 1;
    if (role < 0) return warps_of_program(f);
    while (n < role_warps(roles_of(f), role)) n *= 2;
    return n;
}

int barrier_id(const Op *barrier) {
    return (int)ir_attr_int(barrier, AT_ID, role_of_block(barrier->block) + 1);
}

int barrier_warps(const Func *f, const Op *barrier) {
    return (int)ir_attr_int(barrier, AT_WARPS, warps_of_block(f, barrier->block));
}

bool op_is_for_itself(const Op *op) {
    switch (op->code) {
    case OP_CONST:
    case OP_SPLAT:
    case OP_TRANS:
    case OP_FOR:
    case OP_IF:
    case OP_YIELD:
    case OP_SHARED_STORE:
    case OP_DESC_STORE:
    case OP_DOT_WAIT: return true;
    case OP_DOT: /* by warpgroups, of factors in shared memory */
        return type_is_buffer(op->operand[0].value->type) &&
               type_is_buffer(op->operand[1].value->type);
    default: return op_is_pure_elementwise(op);
    }
}

bool op_has_registers(const Op *op) {
    bool some = false;
    for (int i = 0; i < op->noperands + op->nresults; i++) {
        Type t =
            i < op->noperands ? op->operand[i].value->type : op->result[i - op->noperands]->type;
        some |= t.rank && t.space == SPACE_REGISTER;
    }
    return some;
}

/* ---- rules ---- */

bool role_shares_group(const Op *warps, int r) {
    return role_first_warp(warps, r) % WARPGROUP || role_warps(warps, r) % WARPGROUP;
}

static const char *verify_registers(Session *s, const Op *op, int r) {
    int n = role_registers(op, r), last = op->nregions - 1;
    if (!n) return NULL;
    if (n < ROLE_REGISTERS_LEAST || n > ROLE_REGISTERS_MOST || n % ROLE_REGISTERS_STEP)
        return arena_printf(&s->arena, "%d to %d registers in steps of %d, not %d",
                            ROLE_REGISTERS_LEAST, ROLE_REGISTERS_MOST, ROLE_REGISTERS_STEP, n);
    if (!role_shares_group(op, r)) return NULL;
    int group = role_first_warp(op, r) / WARPGROUP, end = role_first_warp(op, last + 1) - 1;
    if (end / WARPGROUP != group || role_registers(op, last) != n)
        return "registers are for whole warpgroups: a role of 4 warps or a multiple, that begins "
               "at such a multiple, or all roles of the last group";
    return NULL;
}

static const char *verify_warps(Session *s, const Func *f, const Op *op) {
    const Attr *numbers = ir_attr(op, AT_NUM_WARPS), *registers = ir_attr(op, AT_REGISTERS);
    size_t n;
    if (op->block != f->body || roles_of(f) != op)
        return "a kernel has one, outside of loops and branches";
    if (op->nregions < 1 || op->nregions >= NAMED_BARRIERS)
        return arena_printf(&s->arena, "1 to %d roles", NAMED_BARRIERS - 1);
    if (numbers->ndims != op->nregions || (registers && registers->ndims != op->nregions) ||
        !role_word(op, op->nregions - 1, &n) || role_word(op, op->nregions, &n))
        return "as many names, numbers of warps and of registers as there are regions";
    for (int r = 0; r < op->nregions; r++) {
        int warps = role_warps(op, r);
        const Op *end = op->region[r]->last;
        if (warps < 1 || ((warps & (warps - 1)) && warps % WARPGROUP))
            return "a role's number of warps is a power of two, or of whole warpgroups";
        if (op->region[r]->nargs || !end || end->code != OP_YIELD || end->noperands)
            return "a role takes and yields nothing";
        const char *wrong = verify_registers(s, op, r);
        if (wrong) return wrong;
    }
    if (role_first_warp(op, op->nregions) > MAX_WARPS)
        return arena_printf(&s->arena, "more than %d warps", MAX_WARPS);
    return NULL;
}

static const char *verify_barrier(Session *s, const Func *f, const Op *op) {
    int64_t id = ir_attr_int(op, AT_ID, 0), warps = ir_attr_int(op, AT_WARPS, 1);
    if (id < 0 || id >= NAMED_BARRIERS)
        return arena_printf(&s->arena, "barriers have the ids 0 to %d", NAMED_BARRIERS - 1);
    if (warps < 1 || warps > warps_of_program(f))
        return arena_printf(&s->arena, "%lld warps of the program's %d", (long long)warps,
                            warps_of_program(f));
    if (!ir_attr(op, AT_ID) != !ir_attr(op, AT_WARPS)) return "id and warps go together";
    return NULL;
}

/* One that waits for its turn cannot come to a barrier where the one before it is. */
static const char *verify_order(Session *s, const Func *f, const Op *op) {
    int groups = warps_of_block(f, op->block) / WARPGROUP;
    if (role_of_block(op->block) < 0 || groups < 2)
        return "warpgroups of a role take turns, of two or more";
    if (op->operand[0].value->type.slices != groups)
        return arena_printf(&s->arena, "a barrier for each of %d warpgroups", groups);
    if (op->code == OP_ORDER_WAIT && !type_equal(op->operand[1].value->type, type_scalar(EL_I32)))
        return "the phase is an i32";
    for (const Op *in = op; op->code == OP_ORDER_WAIT && in && in->code != OP_ORDER_ARRIVE;
         in = in->next)
        if (in->code == OP_BARRIER) return "a barrier where the next warpgroup waits for this one";
    return NULL;
}

/* Elements stay with their threads under other numbers: what would not is converted before. */
static bool renumbers(const Op *op) {
    return op->code == OP_RESHAPE || op->code == OP_SPLIT;
}

const char *roles_verify(Session *s, const Func *f, const Op *op) {
    enum { MOST_ARRIVALS = (1 << 20) - 1 };
    int64_t count = ir_attr_int(op, AT_COUNT, 1), bytes = ir_attr_int(op, AT_BYTES, 1);
    if (roles_of(f) && role_of_block(op->block) < 0 && op->code != OP_WARPS)
        for (int i = 0; i < op->nresults; i++)
            if (op->result[i]->type.rank && op->result[i]->type.space == SPACE_REGISTER)
                return "a kernel with roles has tiles in them only";
    if (roles_of(f) && warps_of_block(f, op->block) < layout_warps_of_block(f, op->block) &&
        role_of_block(op->block) >= 0 && op_has_registers(op) && !op_is_for_itself(op) &&
        !renumbers(op))
        return "threads take elements from warps that its role does not have";
    switch (op->code) {
    case OP_WARPS: return verify_warps(s, f, op);
    case OP_BARRIER: return verify_barrier(s, f, op);
    case OP_CLUSTER_BARRIER:
        return role_of_block(op->block) < 0 ? NULL : "all threads come there: outside roles";
    case OP_ORDER_WAIT:
    case OP_ORDER_ARRIVE: return verify_order(s, f, op);
    case OP_MBAR_INIT:
        if (count < 1 || count > MOST_ARRIVALS)
            return arena_printf(&s->arena, "1 to %d arrivals", MOST_ARRIVALS);
        return NULL;
    case OP_MBAR_EXPECT:
        if (bytes < 0 || bytes > MOST_ARRIVALS)
            return arena_printf(&s->arena, "0 to %d bytes", MOST_ARRIVALS);
        return NULL;
    case OP_MBAR_ARRIVE:
        for (int i = 1; i < op->noperands; i++)
            if (!type_equal(op->operand[i].value->type, type_scalar(EL_I32)))
                return "ranks are i32";
        if (op->noperands - 1 > CLUSTER_PROGRAMS) return "more programs than a cluster has";
        return NULL;
    case OP_MBAR_WAIT:
        if (!type_equal(op->operand[1].value->type, type_scalar(EL_I32)))
            return "the phase is an i32";
        return NULL;
    default: return NULL;
    }
}
